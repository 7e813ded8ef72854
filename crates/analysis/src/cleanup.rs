//! Simpler control flow: branches that are decided, blocks that cannot be reached, blocks that do nothing.
//!
//! The steps repeat until nothing changes:
//!
//! 1. a branch on a constant, or with all targets equal, becomes a jump;
//! 2. unreachable blocks go, and phis lose the arguments that came from them;
//! 3. phis of a single operand go (`fold.rs`);
//! 4. a block is appended to its predecessor if they always follow each other;
//! 5. jumps to a block that only jumps on, or only tests a phi of constants, go straight on (`thread_jumps.rs`);
//! 6. ways that join only to part again on the same condition do not join (`known_branch.rs`).
//!
//! At the end the blocks are put into reverse post-order. Natural loops stay natural: no step makes a new way into one.

use crate::{fold, known_branch, rewrite, thread_jumps};
use selvedge_ir::{Block, Cfg, EntityRef, Function, InstKind, Operand};

/// Simplifies the control flow of a function; whether anything changed.
pub fn run(func: &mut Function) -> bool {
    if func.is_declaration() {
        return false;
    }
    let mut changed = false;
    loop {
        let mut again = decide_branches(func);
        again |= remove_unreachable(func);
        again |= fold::run(func);
        again |= merge_blocks(func);
        again |= thread_jumps::run(func);
        again |= known_branch::run(func);
        if !again {
            break;
        }
        changed = true;
    }
    changed | sort_blocks(func)
}

/// Step 1.
fn decide_branches(func: &mut Function) -> bool {
    let mut changed = false;
    for block in func.blocks.keys() {
        let Some(inst) = func.terminator(block) else {
            continue;
        };
        let Some(dest) = decided(&func.insts[inst].kind) else {
            continue;
        };
        let before = func.insts[inst].kind.successors();
        func.insts[inst].kind = InstKind::Br { dest };
        for lost in before.into_iter().filter(|&succ| succ != dest) {
            rewrite::remove_pred(func, lost, block);
        }
        changed = true;
    }
    changed
}

/// Where a branch always goes, if that is known and it is not a plain jump already.
fn decided(kind: &InstKind) -> Option<Block> {
    match kind {
        InstKind::CondBr { cond: Operand::Const(bits), then_dest, else_dest } => {
            Some(if *bits == 0 { *else_dest } else { *then_dest })
        }
        InstKind::Switch { value: Operand::Const(bits), cases, default, .. } => {
            Some(cases.iter().find(|(case, _)| case == bits).map_or(*default, |&(_, dest)| dest))
        }
        InstKind::CondBr { then_dest, else_dest, .. } if then_dest == else_dest => Some(*then_dest),
        InstKind::Switch { cases, default, .. } if cases.iter().all(|(_, dest)| dest == default) => Some(*default),
        _ => None,
    }
}

/// Step 2.
pub fn remove_unreachable(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    let reachable: Vec<Block> = func.blocks.keys().filter(|&block| cfg.is_reachable(block)).collect();
    if reachable.len() == func.blocks.len() {
        return false;
    }
    rewrite::keep_blocks(func, &reachable);
    true
}

/// Step 4. A block with phis waits until step 3 has replaced them.
fn merge_blocks(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    let mut merged = vec![false; func.blocks.len()];
    for &block in cfg.reverse_post_order() {
        // Follows the chain of blocks behind this one; a block that was appended elsewhere has no terminator left.
        while let Some(inst) = func.terminator(block) {
            let InstKind::Br { dest } = func.insts[inst].kind else {
                break;
            };
            let has_phis = func.phis(dest).next().is_some();
            if cfg.preds(dest).len() != 1 || dest == func.entry() || dest == block || has_phis {
                break;
            }
            func.blocks[block].insts.pop();
            let rest = std::mem::take(&mut func.blocks[dest].insts);
            func.blocks[block].insts.extend(rest);
            if func.blocks[block].name.is_empty() {
                func.blocks[block].name = std::mem::take(&mut func.blocks[dest].name);
            }
            for succ in func.successors(block) {
                rewrite::rename_pred(func, succ, dest, block);
            }
            merged[dest.index()] = true;
        }
    }
    if !merged.contains(&true) {
        return false;
    }
    let kept: Vec<Block> = func.blocks.keys().filter(|block| !merged[block.index()]).collect();
    rewrite::keep_blocks(func, &kept);
    true
}

fn sort_blocks(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    let sorted = cfg.reverse_post_order().iter().copied().eq(func.blocks.keys());
    if !sorted {
        rewrite::keep_blocks(func, cfg.reverse_post_order());
    }
    !sorted
}

//! Branches whose outcome the way to them decides.
//!
//! A compare-and-exchange compiles to two branches on its success flag: one that stores the found value into the
//! expected one if it failed, and one in the program's own `if` or `while`. Between them the two ways join and part again:
//!
//! ```text
//! a:    condbr ok, join, fail          a:    condbr ok, yes, fail
//! fail: ...                            fail: ...
//!       br join                 =>           br no
//! join: v = phi [a: x], [fail: y]      yes:  ... x ...
//!       condbr ok, yes, no             no:   ... y ...
//! ```
//!
//! The block `join` goes if it holds only phis and a branch on a condition that is known on each of its two ways in.
//! Its phis must have uses on one side only of the branch each, where they become the argument from the way that leads
//! there; otherwise they would need new phis, and the block stays. A loop header stays too, so loops remain natural.

use crate::rewrite;
use selvedge_ir::{Block, Cfg, Dominators, Function, Inst, InstKind, Operand, Value};

/// How many blocks to look up for a condition.
const LOOK_BACK: usize = 8;

/// Removes joins between branches on the same condition from a function without unreachable blocks; whether there were
/// any. The joins become unreachable.
pub fn run(func: &mut Function) -> bool {
    let mut changed = false;
    // One at a time: the graph is different afterwards.
    while let Some(join) = find(func) {
        pass_by(func, &join);
        changed = true;
    }
    changed
}

/// A block that can be passed by.
struct Join {
    block: Block,
    /// Where control comes from and where it then always goes.
    ways: [(Block, Block); 2],
    /// Operands to replace.
    uses: Vec<Use>,
}

/// A use of a phi of the join.
struct Use {
    inst: Inst,
    /// The predecessor that the operand belongs to, if the instruction is a phi itself.
    pred: Option<Block>,
    value: Value,
    /// What the operand becomes.
    new: Operand,
}

fn find(func: &Function) -> Option<Join> {
    let cfg = Cfg::new(func);
    let candidate = |block: Block| known_ways(func, &cfg, block).map(|ways| (block, ways));
    let candidates: Vec<_> = cfg.reverse_post_order().iter().filter_map(|&block| candidate(block)).collect();
    if candidates.is_empty() {
        return None;
    }
    let dominators = Dominators::new(&cfg);
    candidates.into_iter().find_map(|(block, ways)| {
        let is_header = cfg.preds(block).iter().any(|&pred| dominators.dominates(block, pred));
        if is_header {
            return None;
        }
        let uses = uses_of_phis(func, &cfg, &dominators, block, ways)?;
        Some(Join { block, ways, uses })
    })
}

/// The two ways through a block of phis and a branch, if each predecessor decides it differently.
fn known_ways(func: &Function, cfg: &Cfg, block: Block) -> Option<[(Block, Block); 2]> {
    let InstKind::CondBr { cond, then_dest, else_dest } = func.insts[func.terminator(block)?].kind else {
        return None;
    };
    let only_phis = func.phis(block).count() + 1 == func.blocks[block].insts.len();
    let own = func.phis(block).any(|phi| cond == Operand::Value(func.result(phi)));
    let [p, q] = *cfg.preds(block) else {
        return None;
    };
    if !only_phis || own || then_dest == else_dest || then_dest == block || else_dest == block {
        return None;
    }
    let dest = |pred| known(func, cfg, cond, pred, block).map(|truth| if truth { then_dest } else { else_dest });
    let (p_dest, q_dest) = (dest(p)?, dest(q)?);
    // A predecessor that jumps to its destination anyway would need two arguments in the phis there.
    let twice = |pred, dest| cfg.succs(pred).contains(&dest);
    (p_dest != q_dest && !twice(p, p_dest) && !twice(q, q_dest)).then_some([(p, p_dest), (q, q_dest)])
}

/// Whether the condition holds when control goes from `pred` to `block`, if that follows from a branch above.
fn known(func: &Function, cfg: &Cfg, cond: Operand, pred: Block, block: Block) -> Option<bool> {
    let (mut from, mut to) = (pred, block);
    for _ in 0..LOOK_BACK {
        if let InstKind::CondBr { cond: tested, then_dest, else_dest } = func.insts[func.terminator(from)?].kind
            && tested == cond
            && then_dest != else_dest
        {
            return Some(then_dest == to);
        }
        let [above] = *cfg.preds(from) else {
            return None;
        };
        (from, to) = (above, from);
    }
    None
}

/// What every use of the phis becomes; none if some use belongs to neither side.
fn uses_of_phis(
    func: &Function,
    cfg: &Cfg,
    dominators: &Dominators,
    block: Block,
    ways: [(Block, Block); 2],
) -> Option<Vec<Use>> {
    let phis: Vec<Value> = func.phis(block).map(|phi| func.result(phi)).collect();
    let args = ways.map(|(pred, _)| rewrite::phi_args_from(func, block, pred));
    // The way by which control came to a place behind the branch.
    let way_to = |place: Block| {
        ways.iter().position(|&(_, dest)| *cfg.preds(dest) == [block] && dominators.dominates(dest, place))
    };
    let mut uses = Vec::new();
    for (user_block, inst) in func.placed_insts().filter(|&(user_block, _)| cfg.is_reachable(user_block)) {
        let mut note = |operand: Operand, pred: Option<Block>| {
            let Operand::Value(value) = operand else {
                return Some(());
            };
            let Some(n) = phis.iter().position(|&phi| phi == value) else {
                return Some(());
            };
            let way = match pred {
                Some(pred) if pred == block => ways.iter().position(|&(_, dest)| dest == user_block)?,
                Some(pred) => way_to(pred)?,
                None => way_to(user_block)?,
            };
            uses.push(Use { inst, pred, value, new: args[way][n] });
            Some(())
        };
        match &func.insts[inst].kind {
            InstKind::Phi { args, .. } => {
                for &(pred, operand) in args {
                    note(operand, Some(pred))?;
                }
            }
            kind => {
                for operand in kind.operands() {
                    note(operand, None)?;
                }
            }
        }
    }
    Some(uses)
}

fn pass_by(func: &mut Function, join: &Join) {
    for &Use { inst, pred, value, new } in &join.uses {
        let replace = |operand: &mut Operand| {
            if *operand == Operand::Value(value) {
                *operand = new;
            }
        };
        match (&mut func.insts[inst].kind, pred) {
            (InstKind::Phi { args, .. }, Some(pred)) => {
                args.iter_mut().filter(|(from, _)| *from == pred).for_each(|(_, operand)| replace(operand));
            }
            (kind, _) => kind.map_operands(|mut operand| {
                replace(&mut operand);
                operand
            }),
        }
    }
    for (pred, dest) in join.ways {
        let wanted = rewrite::phi_args_from(func, dest, join.block);
        rewrite::add_pred(func, dest, pred, &wanted);
        rewrite::remove_pred(func, dest, join.block);
        if let Some(inst) = func.terminator(pred) {
            func.insts[inst].kind.map_successors(|succ| if succ == join.block { dest } else { succ });
        }
    }
    // Nothing jumps to it any more; it must not look like a predecessor of its old successors either.
    if let Some(inst) = func.terminator(join.block) {
        func.insts[inst].kind = InstKind::Unreachable;
    }
    let phis: Vec<Inst> = func.phis(join.block).collect();
    func.blocks[join.block].insts.retain(|inst| !phis.contains(inst));
}

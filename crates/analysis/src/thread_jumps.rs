//! Jump threading: a jump to a block that decides nothing goes where that block would go.
//!
//! Two kinds of blocks are jumped over:
//!
//! 1. a *forwarder* holds nothing but a jump;
//! 2. a *test of a phi* holds one phi and a branch on it, which nothing else uses. It is what a compiler without
//!    optimisation makes of `a && b`: a predecessor that brings a constant knows where it will go.
//!
//! Both keep values where they were defined: the block jumped over defines nothing that is used elsewhere, so whatever
//! dominates it dominates the predecessors that now pass it by. Loops stay as they are:
//!
//! - a test that is a loop header is not jumped over, since that could make a second way into the loop;
//! - a forwarder that closes a loop for several predecessors stays, so that the loop keeps a single latch;
//! - a forwarder that is the header of a loop around another loop stays, so that the two do not become one.

use crate::rewrite;
use selvedge_ir::{Block, Cfg, Dominators, EntityVec, Function, InstKind, Operand, Value};

/// Threads jumps through a function without unreachable blocks; whether anything changed. Blocks that are passed by may
/// become unreachable.
pub fn run(func: &mut Function) -> bool {
    let mut changed = false;
    while Round::new(func).run(func) {
        changed = true;
    }
    changed
}

/// One round over the blocks. What it knows was computed at its start, so it leaves blocks alone whose neighbours have
/// changed since.
struct Round {
    cfg: Cfg,
    dominators: Dominators,
    use_counts: EntityVec<Value, u32>,
    touched: EntityVec<Block, bool>,
}

impl Round {
    fn new(func: &Function) -> Round {
        let cfg = Cfg::new(func);
        let mut use_counts: EntityVec<Value, u32> = func.values.keys().map(|_| 0).collect();
        for (_, inst) in func.placed_insts() {
            func.insts[inst].kind.used_values().into_iter().for_each(|value| use_counts[value] += 1);
        }
        let touched = func.blocks.keys().map(|_| false).collect();
        Round { dominators: Dominators::new(&cfg), cfg, use_counts, touched }
    }

    fn run(mut self, func: &mut Function) -> bool {
        let blocks: Vec<Block> = self.cfg.reverse_post_order()[1..].to_vec();
        let mut changed = false;
        for block in blocks {
            let neighbours = self.cfg.preds(block).iter().chain(self.cfg.succs(block));
            if neighbours.chain([&block]).any(|&near| self.touched[near]) {
                continue;
            }
            let passed = self.pass_forwarder(func, block) || self.pass_test(func, block);
            if passed {
                let neighbours = self.cfg.preds(block).iter().chain(self.cfg.succs(block));
                neighbours.chain([&block]).for_each(|&near| self.touched[near] = true);
                changed = true;
            }
        }
        changed
    }

    fn is_header(&self, block: Block) -> bool {
        self.cfg.preds(block).iter().any(|&pred| self.dominators.dominates(block, pred))
    }

    fn pass_forwarder(&self, func: &mut Function, block: Block) -> bool {
        let [inst] = func.blocks[block].insts[..] else {
            return false;
        };
        let InstKind::Br { dest } = func.insts[inst].kind else {
            return false;
        };
        let closes_loop = self.dominators.dominates(dest, block);
        let only_latch = closes_loop && self.cfg.preds(block).len() > 1;
        let outer_header = self.is_header(block) && self.is_header(dest);
        if dest == block || only_latch || outer_header {
            return false;
        }
        let mut changed = false;
        for &pred in self.cfg.preds(block).iter().filter(|&&pred| self.cfg.is_reachable(pred)) {
            changed |= redirect(func, pred, block, dest);
        }
        changed
    }

    fn pass_test(&self, func: &mut Function, block: Block) -> bool {
        let [phi, branch] = func.blocks[block].insts[..] else {
            return false;
        };
        let InstKind::Phi { args, .. } = &func.insts[phi].kind else {
            return false;
        };
        let InstKind::CondBr { cond, then_dest, else_dest } = func.insts[branch].kind else {
            return false;
        };
        let value = func.result(phi);
        if self.is_header(block) || cond != Operand::Value(value) || self.use_counts[value] > 1 {
            return false;
        }
        let known: Vec<(Block, Block)> = args
            .iter()
            .filter_map(|&(pred, arg)| match arg {
                Operand::Const(bits) => Some((pred, if bits == 0 { else_dest } else { then_dest })),
                _ => None,
            })
            .collect();
        let mut changed = false;
        for (pred, dest) in known {
            changed |= redirect(func, pred, block, dest);
        }
        changed
    }
}

/// Lets `pred` jump to `dest`, a successor of `block`, wherever it jumped to `block`. Not possible if it jumps to `dest`
/// already and the phis there would have to tell the two ways apart.
fn redirect(func: &mut Function, pred: Block, block: Block, dest: Block) -> bool {
    let wanted = rewrite::phi_args_from(func, dest, block);
    if func.successors(pred).contains(&dest) {
        if rewrite::phi_args_from(func, dest, pred) != wanted {
            return false;
        }
    } else {
        rewrite::add_pred(func, dest, pred, &wanted);
    }
    rewrite::remove_pred(func, block, pred);
    if let Some(inst) = func.terminator(pred) {
        func.insts[inst].kind.map_successors(|succ| if succ == block { dest } else { succ });
    }
    true
}

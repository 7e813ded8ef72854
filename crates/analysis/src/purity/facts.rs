//! What is known at a place: conditions of the branches, assumptions and awaits that lead to it.
//!
//! Everything that dominates a place has happened when control is there, and the values that were compared are still the
//! same, since a value cannot be computed again without coming by the comparison again. Facts serve to leave out of an
//! inserted assumption what is known anyway, so that often a single comparison remains, which can become an await; and to
//! remove branches that an assumption has decided, so that a loop whose every iteration but the last is pure is no loop
//! any more for the loops around it.

use super::forward_purity::out_edges;
use super::guards::{bits_comparison, guard};
use super::purity_condition::{Condition, Conjunction, TooLarge};
use crate::rewrite;
use selvedge_ir::{Block, Cfg, Dominators, Function, Inst, InstKind, Operand};

/// How far up the dominator tree facts are collected.
const MAX_STEPS: usize = 64;

/// What is known at a place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// All of these hold.
    pub known: Conjunction,
    /// Each of these holds in one of several ways.
    pub clauses: Vec<Condition>,
}

impl Facts {
    /// What is known in a block before its n-th instruction.
    pub fn at(func: &Function, cfg: &Cfg, dominators: &Dominators, block: Block, n: usize) -> Facts {
        let mut facts = Facts::default();
        facts.add_insts(func, &func.blocks[block].insts[..n]);
        let mut block = block;
        for _ in 0..MAX_STEPS {
            let mut preds = cfg.preds(block).iter().copied().filter(|&pred| cfg.is_reachable(pred));
            let next = match (preds.next(), preds.next()) {
                (Some(pred), None) => {
                    facts.add_edge(func, pred, block);
                    Some(pred)
                }
                _ => dominators.immediate(block),
            };
            let Some(next) = next.filter(|&next| next != block) else { break };
            facts.add_insts(func, &func.blocks[next].insts);
            block = next;
        }
        facts
    }

    fn add_insts(&mut self, func: &Function, insts: &[Inst]) {
        for &inst in insts {
            let data = &func.insts[inst];
            let condition = match data.kind {
                InstKind::Assume { cond, .. } => guard(func, cond, true),
                InstKind::Await { ty, until, mask, operand, .. } => {
                    let value = data.results.first().map_or(Operand::Undef, |&value| Operand::Value(value));
                    bits_comparison(func, until, ty, (value, mask), operand)
                }
                _ => continue,
            };
            self.add(condition);
        }
    }

    fn add_edge(&mut self, func: &Function, from: Block, to: Block) {
        let Ok(edges) = out_edges(func, from) else { return };
        for (succ, taken) in edges {
            if succ == to {
                self.add(Ok(taken));
            }
        }
    }

    fn add(&mut self, condition: Result<Condition, TooLarge>) {
        let Ok(condition) = condition else { return };
        match condition.single() {
            Some(all) => {
                for &atom in &all.atoms {
                    // Where facts contradict each other, control never comes; it does not matter what is known.
                    self.known.add(atom);
                }
            }
            None if condition.is_never() => {}
            None => self.clauses.push(condition),
        }
    }

    /// Whether a conjunction cannot hold here.
    pub fn exclude(&self, conjunction: &Conjunction) -> bool {
        let Some(both) = self.known.and(conjunction) else { return true };
        let is_excluded = |way: &Conjunction| both.and(way).is_none();
        self.clauses.iter().any(|clause| clause.disjuncts.iter().all(is_excluded))
    }
}

/// Makes branches that are decided by what is known jumps; whether there were any.
pub fn decide_branches(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    let dominators = Dominators::new(&cfg);
    let mut decided: Vec<(Block, Block, Block)> = Vec::new();
    for &block in cfg.reverse_post_order() {
        let Some(last) = func.terminator(block) else { continue };
        let InstKind::CondBr { then_dest, else_dest, .. } = func.insts[last].kind else { continue };
        let Ok(edges) = out_edges(func, block) else { continue };
        let facts = Facts::at(func, &cfg, &dominators, block, func.blocks[block].insts.len() - 1);
        let is_excluded = |dest: Block| {
            let edge = edges.iter().find(|(succ, _)| *succ == dest);
            edge.is_some_and(|(_, taken)| taken.disjuncts.iter().all(|way| facts.exclude(way)))
        };
        match (is_excluded(then_dest), is_excluded(else_dest)) {
            (true, false) => decided.push((block, else_dest, then_dest)),
            (false, true) => decided.push((block, then_dest, else_dest)),
            // Nothing is decided, or control never comes here.
            _ => {}
        }
    }
    for &(block, dest, lost) in &decided {
        let last = func.terminator(block).expect("the block has a terminator");
        func.insts[last].kind = InstKind::Br { dest };
        rewrite::remove_pred(func, lost, block);
    }
    !decided.is_empty()
}

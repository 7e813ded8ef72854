//! Constant folding: applies the rules of `peephole.rs` until none applies.

use crate::peephole::{Simpler, simplify};
use crate::rewrite::{self, Replacements};
use selvedge_ir::{Cfg, Function, Inst};
use std::collections::HashSet;

/// How often to go over a function. Each round strictly simplifies; real code needs two or three.
const ROUNDS: usize = 16;

/// Simplifies the instructions of a function; whether anything changed.
pub fn run(func: &mut Function) -> bool {
    if func.is_declaration() {
        return false;
    }
    let mut changed = false;
    for _ in 0..ROUNDS {
        if !round(func) {
            break;
        }
        changed = true;
    }
    changed
}

/// One round over the reachable blocks, definitions before their uses where there is no loop.
fn round(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    let mut replacements = Replacements::new(func);
    let mut replaced: HashSet<Inst> = HashSet::new();
    let mut changed = false;
    for &block in cfg.reverse_post_order() {
        for n in 0..func.blocks[block].insts.len() {
            let inst = func.blocks[block].insts[n];
            func.insts[inst].kind.map_operands(|operand| replacements.resolve(operand));
            while let Some(simpler) = simplify(func, &func.insts[inst].kind, &func.insts[inst].results) {
                changed = true;
                match simpler {
                    Simpler::Inst(kind) => func.insts[inst].kind = kind,
                    Simpler::Operands(operands) => {
                        debug_assert!(operands.len() == func.insts[inst].results.len(), "one operand per result");
                        for (&result, operand) in func.insts[inst].results.iter().zip(operands) {
                            replacements.set(result, operand);
                        }
                        replaced.insert(inst);
                        break;
                    }
                }
            }
        }
    }
    rewrite::remove_insts(func, |inst| replaced.contains(&inst));
    replacements.apply(func);
    changed
}

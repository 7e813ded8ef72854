//! Dead code: computations whose results nobody needs.
//!
//! An instruction is removed if nobody would notice: it only computes ([`InstKind::is_pure`]), or it divides by a constant
//! for which division cannot fail, or it makes a stack object that nothing refers to. Loads, stores, atomics and calls
//! stay even if their result is unused: they are events, and may be errors. What is needed is found from the
//! instructions that stay, so that circles of phis that only feed each other go as well.

use crate::rewrite;
use selvedge_ir::{BinaryOp, EntityVec, Function, Inst, InstKind, Operand, ValueDef, eval};

/// Objects up to this size may disappear; making a larger one may be an error that the machine has to see.
const SMALL_OBJECT: u64 = 1 << 20;

/// Removes dead code; whether there was any.
pub fn run(func: &mut Function) -> bool {
    let mut needed: EntityVec<Inst, bool> = func.insts.keys().map(|_| false).collect();
    let mut work: Vec<Inst> = Vec::new();
    for (_, inst) in func.placed_insts() {
        if !is_removable(&func.insts[inst].kind) {
            needed[inst] = true;
            work.push(inst);
        }
    }
    while let Some(inst) = work.pop() {
        for value in func.insts[inst].kind.used_values() {
            if let ValueDef::Result(def, _) = func.values[value].def
                && !std::mem::replace(&mut needed[def], true)
            {
                work.push(def);
            }
        }
    }
    rewrite::remove_insts(func, |inst| !needed[inst])
}

/// Whether nobody notices if the instruction is not executed, given that its results are not used.
pub fn is_removable(kind: &InstKind) -> bool {
    match kind {
        InstKind::Alloca { size: Operand::Const(size), .. } => *size <= SMALL_OBJECT,
        InstKind::Binary { op, ty, b: Operand::Const(divisor), .. } if !kind.is_pure() => {
            let signed = matches!(op, BinaryOp::SDiv | BinaryOp::SRem);
            *divisor != 0 && !(signed && eval::sign_extend(*ty, *divisor) == -1)
        }
        _ => kind.is_pure(),
    }
}

//! Awaits that wait for a change: until what an address holds differs from what the same iteration has read there before.
//!
//! ```c
//! for (;;) {
//!     seen = knocks;
//!     if (it_is_my_turn())
//!         break;
//!     while (knocks == seen)
//!         ;
//! }
//! ```
//!
//! When such a loop is back at its header, its local state is as before, so by the letter the iteration is pure. But it
//! has come to its end only because another thread has written in the meantime. There can be no more of these iterations
//! than there are writes, so that they need not be cut off; and to cut them off would leave an execution behind in which
//! the thread is blocked although it would have gone on. So an iteration that has come by such an await does not count as
//! pure, neither here nor in the machine (`pure_iteration.rs`).
//!
//! An await that compares with something else can be passed any number of times: loops around it are cut off behind it.

use super::guards::definition;
use crate::Loop;
use selvedge_ir::{AwaitKind, CmpOp, Function, Inst, InstKind, Operand, ValueDef};

/// How deep the computations of two addresses are compared.
const MAX_DEPTH: usize = 6;

/// Whether an instruction waits until what it reads differs from what the same iteration of a loop has read there.
pub fn waits_for_change(func: &Function, this: &Loop, inst: Inst) -> bool {
    let InstKind::Await { access: AwaitKind::Load, ty, addr, until, mask, operand, .. } = func.insts[inst].kind else {
        return false;
    };
    if mask & ty.mask() != ty.mask() {
        return false;
    }
    let irreflexive = matches!(until, CmpOp::Ne | CmpOp::Ult | CmpOp::Ugt | CmpOp::Slt | CmpOp::Sgt);
    let Operand::Value(value) = operand else { return false };
    let ValueDef::Result(read, 0) = func.values[value].def else { return false };
    let is_here = || this.blocks.iter().any(|&block| func.blocks[block].insts.contains(&read));
    irreflexive && address_read(&func.insts[read].kind) == Some(addr) && is_here()
}

/// If an await compares with what was read at an address that is computed alike, the address of that read: afterwards the
/// two have the same address for all to see.
pub fn address_of_first_read(func: &Function, addr: Operand, operand: Operand) -> Option<Operand> {
    let (kind, result) = definition(func, operand)?;
    let first = address_read(kind).filter(|_| result == 0)?;
    computed_alike(func, first, addr, MAX_DEPTH).then_some(first)
}

fn address_read(kind: &InstKind) -> Option<Operand> {
    match *kind {
        InstKind::Load { addr, .. } | InstKind::Await { access: AwaitKind::Load, addr, .. } => Some(addr),
        _ => None,
    }
}

/// Whether two operands are the same, or computed from the same by the same operations.
fn computed_alike(func: &Function, a: Operand, b: Operand, depth: usize) -> bool {
    if a == b {
        return true;
    }
    let (Some((x, _)), Some((y, _))) = (definition(func, a), definition(func, b)) else { return false };
    let pairs = match (x, y) {
        (
            InstKind::PtrAdd { base, index, scale, offset },
            InstKind::PtrAdd { base: other_base, index: other_index, scale: other_scale, offset: other_offset },
        ) if (scale, offset) == (other_scale, other_offset) => [(*base, *other_base), (*index, *other_index)],
        (
            InstKind::Binary { op, ty, a, b },
            InstKind::Binary { op: other_op, ty: other_ty, a: other_a, b: other_b },
        ) if (op, ty) == (other_op, other_ty) => [(*a, *other_a), (*b, *other_b)],
        (
            InstKind::Cast { op, from, to, a },
            InstKind::Cast { op: other_op, from: other_from, to: other_to, a: other_a },
        ) if (op, from, to) == (other_op, other_from, other_to) => [(*a, *other_a); 2],
        _ => return false,
    };
    depth > 0 && pairs.into_iter().all(|(a, b)| computed_alike(func, a, b, depth - 1))
}

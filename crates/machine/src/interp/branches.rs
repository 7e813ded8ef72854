//! Conditional branches, most of them fused with the comparison that they depend on.
//!
//! There are instructions for few comparisons: equal, less, and greater than a constant. The others come down to those
//! by exchanging operands or the two ways to go.

use super::code::{Ins, Pc, Reg, Src};
use super::compile::Encoder;
use super::select::Root;
use selvedge_ir::{CmpOp, InstKind, Operand, Type, eval};

impl Encoder<'_> {
    /// Emits a conditional branch.
    pub(super) fn branch(&mut self, cond: Operand, then: Pc, other: Pc) {
        if let Root::Value(value) = self.selection.root(cond)
            && let Some((def, &InstKind::Cmp { op, ty, a, b })) = self.selection.definition(value)
            && self.selection.is_fused(def)
        {
            return self.fused_branch(op, ty, (a, b), then, other);
        }
        match self.source(cond) {
            Src::Const(bits) => self.emit(Ins::Jump { to: if bits & 1 == 1 { then } else { other } }),
            Src::Reg(cond) => self.emit(Ins::Branch { cond, then, other }),
        }
    }

    /// Brings a comparison into one of the forms that there are instructions for: equal, less, greater than a constant.
    fn fused_branch(&mut self, op: CmpOp, ty: Type, (a, b): (Operand, Operand), then: Pc, other: Pc) {
        let (a, b) = (self.source(a), self.source(b));
        let (op, a, b) = if matches!(a, Src::Const(_)) { (mirrored(op), b, a) } else { (op, a, b) };
        let (op, then, other) = match op {
            CmpOp::Ne => (CmpOp::Eq, other, then),
            CmpOp::Ule => (CmpOp::Ugt, other, then),
            CmpOp::Uge => (CmpOp::Ult, other, then),
            CmpOp::Sle => (CmpOp::Sgt, other, then),
            CmpOp::Sge => (CmpOp::Slt, other, then),
            _ => (op, then, other),
        };
        let a = self.load_constant(a);
        if let Src::Const(k) = b
            && let Some(ins) = branch_constant(op, ty, (a, k), then, other)
        {
            return self.emit(ins);
        }
        let b = self.load_constant(b);
        let wide = ty.bits() == 64;
        self.emit(match op {
            CmpOp::Eq => Ins::BrEq { a, b, then, other },
            CmpOp::Ult => Ins::BrUlt { a, b, then, other },
            CmpOp::Ugt => Ins::BrUlt { a: b, b: a, then, other },
            CmpOp::Slt if wide => Ins::BrSlt64 { a, b, then, other },
            CmpOp::Slt => Ins::BrSlt32 { a, b, then, other },
            _ if wide => Ins::BrSlt64 { a: b, b: a, then, other },
            _ => Ins::BrSlt32 { a: b, b: a, then, other },
        });
    }
}

/// `a op b` as `b op' a`.
fn mirrored(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Ult => CmpOp::Ugt,
        CmpOp::Ule => CmpOp::Uge,
        CmpOp::Ugt => CmpOp::Ult,
        CmpOp::Uge => CmpOp::Ule,
        CmpOp::Slt => CmpOp::Sgt,
        CmpOp::Sle => CmpOp::Sge,
        CmpOp::Sgt => CmpOp::Slt,
        CmpOp::Sge => CmpOp::Sle,
        other => other,
    }
}

fn branch_constant(op: CmpOp, ty: Type, (a, k): (Reg, u64), then: Pc, other: Pc) -> Option<Ins> {
    let unsigned = u16::try_from(k);
    let signed = i16::try_from(eval::sign_extend(ty, k));
    let wide = ty.bits() == 64;
    Some(match op {
        CmpOp::Eq => Ins::BrEqK { a, k: unsigned.ok()?, then, other },
        CmpOp::Ult => Ins::BrUltK { a, k: unsigned.ok()?, then, other },
        CmpOp::Ugt => Ins::BrUgtK { a, k: unsigned.ok()?, then, other },
        CmpOp::Slt if wide => Ins::BrSlt64K { a, k: signed.ok()?, then, other },
        CmpOp::Slt => Ins::BrSlt32K { a, k: signed.ok()?, then, other },
        CmpOp::Sgt if wide => Ins::BrSgt64K { a, k: signed.ok()?, then, other },
        CmpOp::Sgt => Ins::BrSgt32K { a, k: signed.ok()?, then, other },
        _ => return None,
    })
}

//! Operators, with the meaning that `selvedge_ir::eval` gives them.

use super::objects::unsupported;
use super::path::{Ending, Path};
use super::run::At;
use super::{Builder, Unsupported};
use crate::program::ErrorKind;
use crate::term::Term;
use selvedge_ir::{BinaryOp, CastOp, CmpOp, Intrinsic, Type};

impl Builder<'_> {
    /// `a op b`. A division that has no result is an error of the program.
    #[expect(clippy::too_many_arguments, reason = "an operator and the way to it")]
    pub(super) fn binary(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        op: BinaryOp,
        ty: Type,
        a: Term,
        b: Term,
    ) -> Result<Term, Unsupported> {
        if ty.is_float() {
            return Err(unsupported("floating-point arithmetic", at.loc));
        }
        let bits = ty.bits() as u8;
        if matches!(op, BinaryOp::UDiv | BinaryOp::SDiv | BinaryOp::URem | BinaryOp::SRem) {
            self.division(path, todo, at, op, a, b);
            if path.ending != Ending::Running {
                return Ok(a);
            }
        }
        let t = &mut self.terms;
        Ok(match op {
            BinaryOp::Add => t.add(a, b),
            BinaryOp::Sub => t.sub(a, b),
            BinaryOp::Mul => t.mul(a, b),
            BinaryOp::UDiv => t.udiv(a, b),
            BinaryOp::SDiv => t.sdiv(a, b),
            BinaryOp::URem => t.urem(a, b),
            BinaryOp::SRem => t.srem(a, b),
            BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr => {
                // A shift by the width or more takes the amount modulo the width.
                let width = t.number(u64::from(bits), bits);
                let amount = if bits == 1 { t.number(0, 1) } else { t.urem(b, width) };
                match op {
                    BinaryOp::Shl => t.shl(a, amount),
                    BinaryOp::LShr => t.lshr(a, amount),
                    _ => t.ashr(a, amount),
                }
            }
            BinaryOp::And => t.and(a, b),
            BinaryOp::Or => t.or(a, b),
            BinaryOp::Xor => t.xor(a, b),
            _ => return Err(unsupported("floating-point arithmetic", at.loc)),
        })
    }

    fn division(&mut self, path: &mut Path, todo: &mut Vec<Path>, at: At, op: BinaryOp, a: Term, b: Term) {
        let bits = self.terms.bits(a);
        let zero = self.terms.number(0, bits);
        let by_zero = self.terms.eq(b, zero);
        self.error_if(path, todo, by_zero, (ErrorKind::Arithmetic, "division by zero"), at.loc);
        if path.ending == Ending::Running && matches!(op, BinaryOp::SDiv | BinaryOp::SRem) {
            let min = self.terms.number(1 << (bits - 1), bits);
            let minus_one = self.terms.number(u64::MAX, bits);
            let (least, negates) = (self.terms.eq(a, min), self.terms.eq(b, minus_one));
            let overflows = self.terms.and(least, negates);
            self.error_if(path, todo, overflows, (ErrorKind::Arithmetic, "signed division overflow"), at.loc);
        }
    }

    /// `a op b` as one bit.
    pub(super) fn compare(&mut self, at: At, op: CmpOp, a: Term, b: Term) -> Result<Term, Unsupported> {
        let t = &mut self.terms;
        Ok(match op {
            CmpOp::Eq => t.eq(a, b),
            CmpOp::Ne => t.ne(a, b),
            CmpOp::Ult => t.ult(a, b),
            CmpOp::Ule => t.ule(a, b),
            CmpOp::Ugt => t.ult(b, a),
            CmpOp::Uge => t.ule(b, a),
            CmpOp::Slt => t.slt(a, b),
            CmpOp::Sle => t.sle(a, b),
            CmpOp::Sgt => t.slt(b, a),
            CmpOp::Sge => t.sle(b, a),
            _ => return Err(unsupported("floating point in a condition", at.loc)),
        })
    }

    /// A conversion.
    pub(super) fn cast(&mut self, at: At, op: CastOp, from: Type, to: Type, a: Term) -> Result<Term, Unsupported> {
        let bits = to.bits() as u8;
        let t = &mut self.terms;
        Ok(match op {
            CastOp::Trunc => t.extract(0, bits, a),
            CastOp::ZExt => t.zext(a, bits),
            CastOp::SExt => t.sext(a, bits),
            CastOp::PtrToInt | CastOp::IntToPtr if bits < from.bits() as u8 => t.extract(0, bits, a),
            CastOp::PtrToInt | CastOp::IntToPtr => t.zext(a, bits),
            CastOp::Bitcast => a,
            _ => return Err(unsupported("floating-point arithmetic", at.loc)),
        })
    }

    /// A computation that has no operator of its own.
    pub(super) fn intrinsic(&mut self, at: At, op: Intrinsic, args: &[Term]) -> Result<Vec<Term>, Unsupported> {
        let t = &mut self.terms;
        let (a, b) = match args {
            [a, b, ..] => (*a, *b),
            [a] => (*a, *a),
            [] => return Err(unsupported(format!("the intrinsic {op:?}"), at.loc)),
        };
        let bits = t.bits(a);
        let picked = match op {
            Intrinsic::SMax | Intrinsic::SMin => {
                let less = t.slt(a, b);
                if op == Intrinsic::SMax { t.ite(less, b, a) } else { t.ite(less, a, b) }
            }
            Intrinsic::UMax | Intrinsic::UMin => {
                let less = t.ult(a, b);
                if op == Intrinsic::UMax { t.ite(less, b, a) } else { t.ite(less, a, b) }
            }
            Intrinsic::Abs => {
                let zero = t.number(0, bits);
                let negative = t.slt(a, zero);
                let minus = t.sub(zero, a);
                t.ite(negative, minus, a)
            }
            _ => return Err(unsupported(format!("the intrinsic {op:?}"), at.loc)),
        };
        Ok(vec![picked])
    }
}

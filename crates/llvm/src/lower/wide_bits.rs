//! Intrinsics on integers wider than 64 bits: choices by comparison, and counts of bits from those of the limbs.

use super::function::{FunctionLowering, Scalars};
use super::{Lowered, unsupported};
use crate::types::{Type, TypeId};
use ir::Operand::Const;
use selvedge_ir as ir;
use smallvec::smallvec;

impl FunctionLowering<'_, '_, '_> {
    /// An intrinsic applied to limbs; `values` are its operands.
    pub(super) fn wide_intrinsic(&mut self, op: ir::Intrinsic, ty: TypeId, values: &[Scalars]) -> Lowered<Scalars> {
        use ir::Intrinsic::{Abs, Bswap, Ctlz, Ctpop, Cttz, SMax, SMin, UMax, UMin};
        let &Type::Int(bits) = self.unit.module.types.get(ty) else {
            return unsupported(format!("`{}` on vectors of wide integers", op.name()));
        };
        let whole = bits % 64 == 0;
        match op {
            SMax => self.wide_choice(ir::CmpOp::Sgt, ty, &values[0], &values[1]),
            SMin => self.wide_choice(ir::CmpOp::Slt, ty, &values[0], &values[1]),
            UMax => self.wide_choice(ir::CmpOp::Ugt, ty, &values[0], &values[1]),
            UMin => self.wide_choice(ir::CmpOp::Ult, ty, &values[0], &values[1]),
            Abs => {
                let zero: Scalars = smallvec![Const(0); values[0].len()];
                let negated = self.arithmetic(crate::ast::BinaryOp::Sub, ty, &zero, &values[0])?;
                self.wide_choice(ir::CmpOp::Sgt, ty, &values[0], &negated)
            }
            Ctpop => Ok(self.wide_population(bits, &values[0])),
            Ctlz if whole => Ok(self.wide_zeros(op, values[0].iter().rev().copied().collect())),
            Cttz if whole => Ok(self.wide_zeros(op, values[0].clone())),
            Bswap if whole => Ok(values[0].iter().rev().map(|&limb| self.limb_intrinsic(Bswap, limb)).collect()),
            _ => unsupported(format!("`{}` on integers of {bits} bits", op.name())),
        }
    }

    /// `a op b ? a : b`.
    fn wide_choice(&mut self, op: ir::CmpOp, ty: TypeId, a: &Scalars, b: &Scalars) -> Lowered<Scalars> {
        let cond = self.wide_compare(op, ty, a, b)?;
        self.choose(ty, &[cond], a, b)
    }

    fn limb_intrinsic(&mut self, op: ir::Intrinsic, limb: ir::Operand) -> ir::Operand {
        self.emit1(ir::InstKind::Intrinsic { op, ty: ir::Type::I64, args: vec![limb] }, ir::Type::I64)
    }

    /// A small number as a wide one.
    fn widened(&mut self, bits: u32, low: ir::Operand) -> Scalars {
        let mut all: Scalars = smallvec![Const(0); bits.div_ceil(64) as usize];
        all[0] = low;
        all
    }

    fn wide_population(&mut self, bits: u32, limbs: &Scalars) -> Scalars {
        let mut sum = Const(0);
        for (n, &limb) in limbs.iter().enumerate() {
            let width = (bits - 64 * n as u32).min(64);
            let full = self.resize(ir::Type::Int(width as u8), ir::Type::I64, limb);
            let count = self.limb_intrinsic(ir::Intrinsic::Ctpop, full);
            sum = self.binary(ir::BinaryOp::Add, ir::Type::I64, sum, count);
        }
        self.widened(bits, sum)
    }

    /// Counts zeros through limbs in the given order: a limb counts only if all before it are zero.
    fn wide_zeros(&mut self, op: ir::Intrinsic, limbs: Scalars) -> Scalars {
        let bits = 64 * limbs.len() as u32;
        let mut count = Const(u64::from(bits));
        for (n, &limb) in limbs.iter().enumerate().rev() {
            let own = self.limb_intrinsic(op, limb);
            let own = self.binary(ir::BinaryOp::Add, ir::Type::I64, own, Const(64 * n as u64));
            let zero = self.cmp(ir::CmpOp::Eq, ir::Type::I64, limb, Const(0));
            count = self.select(ir::Type::I64, zero, count, own);
        }
        self.widened(bits, count)
    }
}

//! Integers wider than 64 bits, as limbs.
//!
//! They come from `__int128`, `_BitInt`, and from bit-fields, whose storage units clang up to 18 reads as one integer of
//! any width (`i88`, `i96`). A value of width N is `ceil(N / 64)` limbs, the lowest first; the last limb has the
//! remaining bits and no others. Addition carries by comparison; multiplication is by 32-bit digits, so that no product
//! overflows 64 bits; a shift by an unknown amount is a cascade of shifts by powers of two; division is long division,
//! in a loop of its own.

use super::function::{FunctionLowering, Scalars};
use super::{Lowered, unsupported};
use crate::ast::{BinaryOp, CastOp};
use crate::types::{Type, TypeId};
use ir::Operand::Const;
use selvedge_ir as ir;
use smallvec::smallvec;

/// Beyond this the code would be absurdly long.
const MAX_BITS: u32 = 1024;

/// The type of the n-th limb of an integer.
fn limb(bits: u32, n: usize) -> ir::Type {
    let left = bits - 64 * n as u32;
    ir::Type::Int(left.min(64) as u8)
}

impl FunctionLowering<'_, '_, '_> {
    fn int_bits(&self, ty: TypeId) -> Lowered<u32> {
        match *self.unit.module.types.get(ty) {
            Type::Int(bits) if bits <= MAX_BITS => Ok(bits),
            _ => unsupported(format!("arithmetic on `{}`", self.unit.module.types.display(ty))),
        }
    }

    /// `a op b` on limbs.
    pub(super) fn wide_binary(
        &mut self,
        op: BinaryOp,
        ty: TypeId,
        a: &[ir::Operand],
        b: &[ir::Operand],
    ) -> Lowered<Scalars> {
        let bits = self.int_bits(ty)?;
        match op {
            BinaryOp::And => Ok(self.limbwise(ir::BinaryOp::And, bits, a, b)),
            BinaryOp::Or => Ok(self.limbwise(ir::BinaryOp::Or, bits, a, b)),
            BinaryOp::Xor => Ok(self.limbwise(ir::BinaryOp::Xor, bits, a, b)),
            BinaryOp::Add => Ok(self.wide_add(bits, a, b)),
            BinaryOp::Sub => Ok(self.wide_sub(bits, a, b)),
            BinaryOp::Mul => Ok(self.wide_mul(bits, a, b)),
            BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr => Ok(self.wide_shift(op, bits, a, b)),
            BinaryOp::UDiv => Ok(self.wide_divide(bits, a, b).0),
            BinaryOp::URem => Ok(self.wide_divide(bits, a, b).1),
            BinaryOp::SDiv | BinaryOp::SRem => Ok(self.wide_divide_signed(op, bits, a, b)),
            _ => unsupported("floating-point arithmetic on wide integers"),
        }
    }

    fn limbwise(&mut self, op: ir::BinaryOp, bits: u32, a: &[ir::Operand], b: &[ir::Operand]) -> Scalars {
        (0..a.len()).map(|n| self.binary(op, limb(bits, n), a[n], b[n])).collect()
    }

    fn wide_add(&mut self, bits: u32, a: &[ir::Operand], b: &[ir::Operand]) -> Scalars {
        let mut carry = Const(0);
        let mut sum = Scalars::new();
        for n in 0..a.len() {
            let ty = limb(bits, n);
            let partial = self.binary(ir::BinaryOp::Add, ty, a[n], b[n]);
            let carried = self.resize(ir::Type::I1, ty, carry);
            let total = self.binary(ir::BinaryOp::Add, ty, partial, carried);
            let first = self.cmp(ir::CmpOp::Ult, ty, partial, a[n]);
            let second = self.cmp(ir::CmpOp::Ult, ty, total, partial);
            carry = self.binary(ir::BinaryOp::Or, ir::Type::I1, first, second);
            sum.push(total);
        }
        sum
    }

    fn wide_sub(&mut self, bits: u32, a: &[ir::Operand], b: &[ir::Operand]) -> Scalars {
        let mut borrow = Const(0);
        let mut difference = Scalars::new();
        for n in 0..a.len() {
            let ty = limb(bits, n);
            let partial = self.binary(ir::BinaryOp::Sub, ty, a[n], b[n]);
            let borrowed = self.resize(ir::Type::I1, ty, borrow);
            let total = self.binary(ir::BinaryOp::Sub, ty, partial, borrowed);
            let first = self.cmp(ir::CmpOp::Ult, ty, a[n], b[n]);
            let second = self.cmp(ir::CmpOp::Ult, ty, partial, borrowed);
            borrow = self.binary(ir::BinaryOp::Or, ir::Type::I1, first, second);
            difference.push(total);
        }
        difference
    }

    /// 32-bit digits, each in an `i64`.
    fn digits(&mut self, bits: u32, a: &[ir::Operand]) -> Vec<ir::Operand> {
        let mut digits = Vec::new();
        for (n, &a) in a.iter().enumerate() {
            let full = self.resize(limb(bits, n), ir::Type::I64, a);
            digits.push(self.binary(ir::BinaryOp::And, ir::Type::I64, full, Const(0xffff_ffff)));
            digits.push(self.binary(ir::BinaryOp::LShr, ir::Type::I64, full, Const(32)));
        }
        digits
    }

    fn wide_mul(&mut self, bits: u32, a: &[ir::Operand], b: &[ir::Operand]) -> Scalars {
        let i64 = ir::Type::I64;
        let (x, y) = (self.digits(bits, a), self.digits(bits, b));
        let mut product = vec![Const(0); x.len()];
        for i in 0..x.len() {
            let mut carry = Const(0);
            for j in 0..x.len() - i {
                // digit * digit + digit + digit never exceeds 64 bits.
                let mut t = self.binary(ir::BinaryOp::Mul, i64, x[i], y[j]);
                t = self.binary(ir::BinaryOp::Add, i64, t, product[i + j]);
                t = self.binary(ir::BinaryOp::Add, i64, t, carry);
                product[i + j] = self.binary(ir::BinaryOp::And, i64, t, Const(0xffff_ffff));
                carry = self.binary(ir::BinaryOp::LShr, i64, t, Const(32));
            }
        }
        (0..a.len())
            .map(|n| {
                let high = self.binary(ir::BinaryOp::Shl, i64, product[2 * n + 1], Const(32));
                let full = self.binary(ir::BinaryOp::Or, i64, high, product[2 * n]);
                self.resize(i64, limb(bits, n), full)
            })
            .collect()
    }

    /// Full 64-bit limbs, the last one extended.
    fn full_limbs(&mut self, bits: u32, a: &[ir::Operand], signed: bool) -> Scalars {
        (0..a.len())
            .map(|n| {
                let from = limb(bits, n);
                if signed {
                    self.resize_signed(from, ir::Type::I64, a[n])
                } else {
                    self.resize(from, ir::Type::I64, a[n])
                }
            })
            .collect()
    }

    fn cut_limbs(&mut self, bits: u32, full: &[ir::Operand]) -> Scalars {
        (0..full.len()).map(|n| self.resize(ir::Type::I64, limb(bits, n), full[n])).collect()
    }

    /// Shifts full limbs by a known amount; `fill` is what comes in at the top.
    fn shift_by(&mut self, op: BinaryOp, a: &[ir::Operand], amount: u32, fill: ir::Operand) -> Scalars {
        let i64 = ir::Type::I64;
        let (whole, part) = ((amount / 64) as usize, u64::from(amount % 64));
        let left = op == BinaryOp::Shl;
        let at = |n: isize| -> ir::Operand {
            match usize::try_from(n) {
                Ok(n) if n < a.len() => a[n],
                Ok(_) => fill,
                Err(_) => Const(0),
            }
        };
        let mut out = Scalars::new();
        for n in 0..a.len() as isize {
            let near = if left { at(n - whole as isize) } else { at(n + whole as isize) };
            if part == 0 {
                out.push(near);
                continue;
            }
            let far = if left { at(n - whole as isize - 1) } else { at(n + whole as isize + 1) };
            let (near_op, far_op) =
                if left { (ir::BinaryOp::Shl, ir::BinaryOp::LShr) } else { (ir::BinaryOp::LShr, ir::BinaryOp::Shl) };
            let near = self.binary(near_op, i64, near, Const(part));
            let far = self.binary(far_op, i64, far, Const(64 - part));
            out.push(self.binary(ir::BinaryOp::Or, i64, near, far));
        }
        out
    }

    fn wide_shift(&mut self, op: BinaryOp, bits: u32, a: &[ir::Operand], b: &[ir::Operand]) -> Scalars {
        let signed = op == BinaryOp::AShr;
        let mut full = self.full_limbs(bits, a, signed);
        let fill = match full.last() {
            Some(&top) if signed => self.binary(ir::BinaryOp::AShr, ir::Type::I64, top, Const(63)),
            _ => Const(0),
        };
        if let Const(amount) = b[0] {
            let amount = u32::try_from(amount).unwrap_or(bits).min(bits);
            full = self.shift_by(op, &full, amount, fill);
            return self.cut_limbs(bits, &full);
        }
        // An amount of the width or more is undefined, so the low limb says it all.
        let stages = 32 - (bits - 1).leading_zeros();
        for stage in 0..stages {
            let shifted = self.shift_by(op, &full, 1 << stage, fill);
            let bit = self.binary(ir::BinaryOp::LShr, ir::Type::I64, b[0], Const(u64::from(stage)));
            let bit = self.cast(ir::CastOp::Trunc, ir::Type::I64, ir::Type::I1, bit);
            full = (0..full.len()).map(|n| self.select(ir::Type::I64, bit, shifted[n], full[n])).collect();
        }
        self.cut_limbs(bits, &full)
    }

    /// Comparison of limbs.
    pub(super) fn wide_compare(
        &mut self,
        op: ir::CmpOp,
        ty: TypeId,
        a: &[ir::Operand],
        b: &[ir::Operand],
    ) -> Lowered<ir::Operand> {
        let bits = self.int_bits(ty)?;
        Ok(self.compare_limbs(op, bits, a, b))
    }

    fn compare_limbs(&mut self, op: ir::CmpOp, bits: u32, a: &[ir::Operand], b: &[ir::Operand]) -> ir::Operand {
        use ir::CmpOp::{Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
        let i1 = ir::Type::I1;
        if matches!(op, Eq | Ne) {
            let (join, start) = if op == Eq { (ir::BinaryOp::And, 1) } else { (ir::BinaryOp::Or, 0) };
            return (0..a.len()).fold(Const(start), |all, n| {
                let one = self.cmp(op, limb(bits, n), a[n], b[n]);
                self.binary(join, i1, all, one)
            });
        }
        // Strict comparison of the higher limbs decides; where they are equal, the lower ones do.
        let (strict, unsigned, strict_unsigned) = match op {
            Ult => (Ult, Ult, Ult),
            Ule => (Ult, Ule, Ult),
            Ugt => (Ugt, Ugt, Ugt),
            Uge => (Ugt, Uge, Ugt),
            Slt => (Slt, Ult, Ult),
            Sle => (Slt, Ule, Ult),
            Sgt => (Sgt, Ugt, Ugt),
            Sge => (Sgt, Uge, Ugt),
            other => (other, other, other),
        };
        let mut result = self.cmp(unsigned, limb(bits, 0), a[0], b[0]);
        for n in 1..a.len() {
            let ty = limb(bits, n);
            let decide = if n + 1 == a.len() { strict } else { strict_unsigned };
            let above = self.cmp(decide, ty, a[n], b[n]);
            let equal = self.cmp(Eq, ty, a[n], b[n]);
            let below = self.binary(ir::BinaryOp::And, i1, equal, result);
            result = self.binary(ir::BinaryOp::Or, i1, above, below);
        }
        result
    }

    /// Conversions in which one side is wide.
    pub(super) fn wide_convert(&mut self, op: CastOp, from: TypeId, to: TypeId, a: &[ir::Operand]) -> Lowered<Scalars> {
        let types = &self.unit.module.types;
        let width = |ty: TypeId| match *types.get(ty) {
            Type::Int(bits) => Some(bits),
            Type::Pointer(_) => Some(64),
            _ => None,
        };
        let (Some(from_bits), Some(to_bits)) = (width(from), width(to)) else {
            return unsupported("a conversion between floating point and integers wider than 64 bits");
        };
        let signed = op == CastOp::SExt;
        let mut full = match op {
            CastOp::PtrToInt => {
                smallvec![self.cast(ir::CastOp::PtrToInt, ir::Type::Ptr, ir::Type::I64, a[0])]
            }
            _ => self.full_limbs(from_bits, a, signed),
        };
        let fill = match full.last() {
            Some(&top) if signed => self.binary(ir::BinaryOp::AShr, ir::Type::I64, top, Const(63)),
            _ => Const(0),
        };
        full.resize(to_bits.div_ceil(64) as usize, fill);
        if op == CastOp::IntToPtr {
            return Ok(smallvec![self.cast(ir::CastOp::IntToPtr, ir::Type::I64, ir::Type::Ptr, full[0])]);
        }
        Ok(self.cut_limbs(to_bits, &full))
    }

    /// Quotient and remainder by long division: one bit of the dividend enters the remainder in each round.
    fn wide_divide(&mut self, bits: u32, a: &[ir::Operand], b: &[ir::Operand]) -> (Scalars, Scalars) {
        let i64 = ir::Type::I64;
        let count = a.len();
        let (dividend, divisor) = (self.full_limbs(bits, a, false), self.full_limbs(bits, b, false));
        // Division by zero is the same error as for narrow integers.
        let any = (1..count).fold(divisor[0], |any, n| self.binary(ir::BinaryOp::Or, i64, any, divisor[n]));
        self.emit1(ir::InstKind::Binary { op: ir::BinaryOp::UDiv, ty: i64, a: Const(1), b: any }, i64);
        let before = self.block;
        let head = self.f.add_block("");
        let done = self.f.add_block("");
        self.emit(ir::InstKind::Br { dest: head }, &[]);
        self.block = head;
        // State: round, then the limbs of the dividend (becoming the quotient) and of the remainder.
        let phi = |this: &mut Self| this.emit1(ir::InstKind::Phi { ty: i64, args: Vec::new() }, i64);
        let round = phi(self);
        let quotient: Scalars = (0..count).map(|_| phi(self)).collect();
        let remainder: Scalars = (0..count).map(|_| phi(self)).collect();
        let top = self.binary(ir::BinaryOp::LShr, i64, quotient[count - 1], Const(63));
        let mut next_remainder = self.shift_by(BinaryOp::Shl, &remainder, 1, Const(0));
        next_remainder[0] = self.binary(ir::BinaryOp::Or, i64, next_remainder[0], top);
        // The bit that leaves the remainder at the top makes it larger than any divisor.
        let over = self.binary(ir::BinaryOp::LShr, i64, remainder[count - 1], Const(63));
        let over = self.cast(ir::CastOp::Trunc, i64, ir::Type::I1, over);
        let full_bits = 64 * count as u32;
        let fits = self.compare_limbs(ir::CmpOp::Uge, full_bits, &next_remainder, &divisor);
        let fits = self.binary(ir::BinaryOp::Or, ir::Type::I1, fits, over);
        let less = self.wide_sub(full_bits, &next_remainder, &divisor);
        let kept: Scalars = (0..count).map(|n| self.select(i64, fits, less[n], next_remainder[n])).collect();
        let mut next_quotient = self.shift_by(BinaryOp::Shl, &quotient, 1, Const(0));
        let digit = self.resize(ir::Type::I1, i64, fits);
        next_quotient[0] = self.binary(ir::BinaryOp::Or, i64, next_quotient[0], digit);
        let next_round = self.binary(ir::BinaryOp::Add, i64, round, Const(1));
        let more = self.cmp(ir::CmpOp::Ult, i64, next_round, Const(u64::from(full_bits)));
        self.emit(ir::InstKind::CondBr { cond: more, then_dest: head, else_dest: done }, &[]);
        let zero: Scalars = smallvec![Const(0); count];
        let starts = std::iter::once(Const(0)).chain(dividend).chain(zero);
        let nexts = std::iter::once(next_round).chain(next_quotient.clone()).chain(kept.clone());
        for (place, (start, next)) in starts.zip(nexts).enumerate() {
            let inst = self.f.blocks[head].insts[place];
            self.f.insts[inst].kind = ir::InstKind::Phi { ty: i64, args: vec![(before, start), (head, next)] };
        }
        self.block = done;
        (self.cut_limbs(bits, &next_quotient), self.cut_limbs(bits, &kept))
    }

    fn wide_negate_if(&mut self, bits: u32, negative: ir::Operand, a: &[ir::Operand]) -> Scalars {
        let zero: Scalars = smallvec![Const(0); a.len()];
        let negated = self.wide_sub(bits, &zero, a);
        (0..a.len()).map(|n| self.select(limb(bits, n), negative, negated[n], a[n])).collect()
    }

    fn wide_divide_signed(&mut self, op: BinaryOp, bits: u32, a: &[ir::Operand], b: &[ir::Operand]) -> Scalars {
        let last = a.len() - 1;
        let a_negative = self.cmp(ir::CmpOp::Slt, limb(bits, last), a[last], Const(0));
        let b_negative = self.cmp(ir::CmpOp::Slt, limb(bits, last), b[last], Const(0));
        let (a, b) = (self.wide_negate_if(bits, a_negative, a), self.wide_negate_if(bits, b_negative, b));
        let (quotient, remainder) = self.wide_divide(bits, &a, &b);
        if op == BinaryOp::SRem {
            return self.wide_negate_if(bits, a_negative, &remainder);
        }
        let negative = self.binary(ir::BinaryOp::Xor, ir::Type::I1, a_negative, b_negative);
        self.wide_negate_if(bits, negative, &quotient)
    }

    /// A result and whether it overflowed.
    pub(super) fn wide_overflow(
        &mut self,
        op: ir::Intrinsic,
        ty: TypeId,
        a: &[ir::Operand],
        b: &[ir::Operand],
    ) -> Lowered<Scalars> {
        let bits = self.int_bits(ty)?;
        let (mut result, overflow) = match op {
            ir::Intrinsic::UAddOverflow => {
                let sum = self.wide_add(bits, a, b);
                let overflow = self.compare_limbs(ir::CmpOp::Ult, bits, &sum, a);
                (sum, overflow)
            }
            ir::Intrinsic::USubOverflow => (self.wide_sub(bits, a, b), self.compare_limbs(ir::CmpOp::Ult, bits, a, b)),
            ir::Intrinsic::SAddOverflow => {
                // Overflow: both operands differ in sign from the sum.
                let sum = self.wide_add(bits, a, b);
                let (x, y) = (self.sign_differs(bits, a, &sum), self.sign_differs(bits, b, &sum));
                let overflow = self.binary(ir::BinaryOp::And, ir::Type::I1, x, y);
                (sum, overflow)
            }
            ir::Intrinsic::SSubOverflow => {
                // Overflow: the operands differ in sign, and the difference differs from the first.
                let difference = self.wide_sub(bits, a, b);
                let (x, y) = (self.sign_differs(bits, a, b), self.sign_differs(bits, a, &difference));
                let overflow = self.binary(ir::BinaryOp::And, ir::Type::I1, x, y);
                (difference, overflow)
            }
            ir::Intrinsic::SMulOverflow | ir::Intrinsic::UMulOverflow => {
                self.wide_mul_overflow(bits, op == ir::Intrinsic::SMulOverflow, a, b)
            }
            _ => return unsupported(format!("`{}` on wide integers", op.name())),
        };
        result.push(overflow);
        Ok(result)
    }

    fn sign_differs(&mut self, bits: u32, a: &[ir::Operand], b: &[ir::Operand]) -> ir::Operand {
        let last = a.len() - 1;
        let top = limb(bits, last);
        let both = self.binary(ir::BinaryOp::Xor, top, a[last], b[last]);
        self.cmp(ir::CmpOp::Slt, top, both, Const(0))
    }

    /// Multiplies in twice the width: it overflows if the upper half says more than the lower half extended.
    fn wide_mul_overflow(
        &mut self,
        bits: u32,
        signed: bool,
        a: &[ir::Operand],
        b: &[ir::Operand],
    ) -> (Scalars, ir::Operand) {
        let count = a.len();
        let double = 128 * count as u32;
        let (x, y) = (self.extended(bits, double, signed, a), self.extended(bits, double, signed, b));
        let product = self.wide_mul(double, &x, &y);
        let result = self.cut_limbs(bits, &product[..count]);
        let again = self.extended(bits, double, signed, &result);
        let overflow = self.compare_limbs(ir::CmpOp::Ne, double, &product, &again);
        (result, overflow)
    }

    /// Limbs of a greater width, which is a multiple of 64.
    fn extended(&mut self, bits: u32, to: u32, signed: bool, a: &[ir::Operand]) -> Scalars {
        let mut full = self.full_limbs(bits, a, signed);
        let fill = match full.last() {
            Some(&top) if signed => self.binary(ir::BinaryOp::AShr, ir::Type::I64, top, Const(63)),
            _ => Const(0),
        };
        full.resize((to / 64) as usize, fill);
        full
    }
}

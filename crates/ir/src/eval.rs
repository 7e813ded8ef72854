//! What every operator computes, on bare bits.
//!
//! There is one evaluator, and both the constant folder and the interpreter call it: a program can therefore not
//! change its meaning because a pass computed something ahead of time. A value is the `u64` that a register holds,
//! already cut to the width of its type ([`Type::mask`]); every function expects that of its operands and keeps it
//! for its result.
//!
//! Only integer division can fail ([`EvalError`]); everything else is total. Where C and LLVM leave a result open, the
//! choice made here is fixed and close to what x86-64 does without optimisation:
//!
//! 1. A shift by at least the width of the type takes the amount modulo the width.
//! 2. A conversion from floating point that does not fit takes the nearest integer that does; NaN gives 0.
//! 3. `ctlz` and `cttz` of 0 give the width.
//!
//! A float operator on a type that is not a floating-point type reads its operands as `f64`; the verifier refuses such
//! instructions, so this only keeps the functions total.

use crate::{BinaryOp, CastOp, CmpOp, Intrinsic, RmwOp, Type};
use std::fmt;

/// Why an operator has no result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EvalError {
    /// Integer division or remainder by zero.
    DivisionByZero,
    /// The smallest signed integer divided by -1.
    DivisionOverflow,
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EvalError::DivisionByZero => "division by zero",
            EvalError::DivisionOverflow => "signed division overflow",
        })
    }
}

impl std::error::Error for EvalError {}

/// The value of these bits as a signed integer of this type.
#[inline]
pub fn sign_extend(ty: Type, bits: u64) -> i64 {
    let shift = 64u32.wrapping_sub(ty.bits()) & 63;
    ((bits << shift) as i64) >> shift
}

/// `a op b`.
#[inline]
pub fn binary(op: BinaryOp, ty: Type, a: u64, b: u64) -> Result<u64, EvalError> {
    let value = match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::UDiv => a.checked_div(b).ok_or(EvalError::DivisionByZero)?,
        BinaryOp::URem => a.checked_rem(b).ok_or(EvalError::DivisionByZero)?,
        BinaryOp::SDiv => signed_division(ty, a, b, i64::wrapping_div)?,
        BinaryOp::SRem => signed_division(ty, a, b, i64::wrapping_rem)?,
        BinaryOp::Shl => a << shift_amount(ty, b),
        BinaryOp::LShr => a >> shift_amount(ty, b),
        BinaryOp::AShr => (sign_extend(ty, a) >> shift_amount(ty, b)) as u64,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::FAdd => float2(ty, a, b, |x, y| x + y, |x, y| x + y),
        BinaryOp::FSub => float2(ty, a, b, |x, y| x - y, |x, y| x - y),
        BinaryOp::FMul => float2(ty, a, b, |x, y| x * y, |x, y| x * y),
        BinaryOp::FDiv => float2(ty, a, b, |x, y| x / y, |x, y| x / y),
        BinaryOp::FRem => float2(ty, a, b, |x, y| x % y, |x, y| x % y),
    };
    Ok(value & ty.mask())
}

#[inline]
fn signed_division(ty: Type, a: u64, b: u64, divide: fn(i64, i64) -> i64) -> Result<u64, EvalError> {
    let (x, y) = (sign_extend(ty, a), sign_extend(ty, b));
    if y == 0 {
        return Err(EvalError::DivisionByZero);
    }
    if y == -1 && x == smallest(ty) {
        return Err(EvalError::DivisionOverflow);
    }
    Ok(divide(x, y) as u64)
}

/// The amount of a shift, below the width of the type.
#[inline]
fn shift_amount(ty: Type, b: u64) -> u32 {
    let width = ty.bits();
    if b < u64::from(width) { b as u32 } else { (b % u64::from(width.max(1))) as u32 }
}

/// The smallest signed integer of a type.
#[inline]
fn smallest(ty: Type) -> i64 {
    -1i64 << (ty.bits().wrapping_sub(1) & 63)
}

/// The largest signed integer of a type.
#[inline]
fn largest(ty: Type) -> i64 {
    !smallest(ty)
}

/// Floating-point negation: only the sign bit changes, also of NaN and zero.
#[inline]
pub fn fneg(ty: Type, a: u64) -> u64 {
    a ^ sign_bit(ty)
}

#[inline]
fn sign_bit(ty: Type) -> u64 {
    1u64 << (ty.bits().wrapping_sub(1) & 63)
}

/// `a op b` as a truth value.
#[inline]
pub fn cmp(op: CmpOp, ty: Type, a: u64, b: u64) -> bool {
    match op {
        CmpOp::Eq => a == b,
        CmpOp::Ne => a != b,
        CmpOp::Ult => a < b,
        CmpOp::Ule => a <= b,
        CmpOp::Ugt => a > b,
        CmpOp::Uge => a >= b,
        CmpOp::Slt => sign_extend(ty, a) < sign_extend(ty, b),
        CmpOp::Sle => sign_extend(ty, a) <= sign_extend(ty, b),
        CmpOp::Sgt => sign_extend(ty, a) > sign_extend(ty, b),
        CmpOp::Sge => sign_extend(ty, a) >= sign_extend(ty, b),
        _ => float_cmp(op, to_f64(ty, a), to_f64(ty, b)),
    }
}

/// Comparing after widening to `f64` is exact.
#[inline]
fn float_cmp(op: CmpOp, x: f64, y: f64) -> bool {
    let unordered = x.is_nan() || y.is_nan();
    match op {
        CmpOp::FOeq => x == y,
        CmpOp::FOgt => x > y,
        CmpOp::FOge => x >= y,
        CmpOp::FOlt => x < y,
        CmpOp::FOle => x <= y,
        CmpOp::FOne => !unordered && x != y,
        CmpOp::FOrd => !unordered,
        CmpOp::FUeq => unordered || x == y,
        CmpOp::FUgt => unordered || x > y,
        CmpOp::FUge => unordered || x >= y,
        CmpOp::FUlt => unordered || x < y,
        CmpOp::FUle => unordered || x <= y,
        CmpOp::FUne => x != y,
        CmpOp::FUno => unordered,
        CmpOp::FTrue => true,
        _ => {
            debug_assert!(op == CmpOp::FFalse, "integer comparisons never come here");
            false
        }
    }
}

/// A conversion.
#[inline]
pub fn cast(op: CastOp, from: Type, to: Type, a: u64) -> u64 {
    let value = match op {
        CastOp::Trunc | CastOp::ZExt | CastOp::PtrToInt | CastOp::IntToPtr | CastOp::Bitcast => a,
        CastOp::SExt => sign_extend(from, a) as u64,
        CastOp::FpTrunc | CastOp::FpExt => from_f64(to, to_f64(from, a)),
        CastOp::FpToUi => (to_f64(from, a) as u64).min(to.mask()),
        CastOp::FpToSi => (to_f64(from, a) as i64).clamp(smallest(to), largest(to)) as u64,
        CastOp::UiToFp => match to {
            Type::F32 => u64::from((a as f32).to_bits()),
            _ => (a as f64).to_bits(),
        },
        CastOp::SiToFp => match to {
            Type::F32 => u64::from((sign_extend(from, a) as f32).to_bits()),
            _ => (sign_extend(from, a) as f64).to_bits(),
        },
    };
    value & to.mask()
}

/// `base + index * scale + offset`.
#[inline]
pub fn ptr_add(base: u64, index: u64, scale: i64, offset: i64) -> u64 {
    base.wrapping_add(index.wrapping_mul(scale as u64)).wrapping_add(offset as u64)
}

/// What an atomic read-modify-write puts where `old` was.
#[inline]
pub fn rmw(op: RmwOp, ty: Type, old: u64, value: u64) -> u64 {
    let new = match op {
        RmwOp::Xchg => value,
        RmwOp::Add => old.wrapping_add(value),
        RmwOp::Sub => old.wrapping_sub(value),
        RmwOp::And => old & value,
        RmwOp::Nand => !(old & value),
        RmwOp::Or => old | value,
        RmwOp::Xor => old ^ value,
        RmwOp::Max => sign_extend(ty, old).max(sign_extend(ty, value)) as u64,
        RmwOp::Min => sign_extend(ty, old).min(sign_extend(ty, value)) as u64,
        RmwOp::UMax => old.max(value),
        RmwOp::UMin => old.min(value),
        RmwOp::FAdd => float2(ty, old, value, |x, y| x + y, |x, y| x + y),
        RmwOp::FSub => float2(ty, old, value, |x, y| x - y, |x, y| x - y),
    };
    new & ty.mask()
}

/// An intrinsic. Operands behind its arity ([`Intrinsic::arity`]) are not looked at. The second part is the overflow
/// flag of those intrinsics that yield one, and false for the others.
#[inline]
pub fn intrinsic(op: Intrinsic, ty: Type, [a, b, c]: [u64; 3]) -> (u64, bool) {
    let width = ty.bits();
    let pad = 64u32.saturating_sub(width);
    let (value, overflow) = match op {
        Intrinsic::Ctpop => (u64::from(a.count_ones()), false),
        Intrinsic::Ctlz => (u64::from(a.leading_zeros().saturating_sub(pad)), false),
        Intrinsic::Cttz => (u64::from(a.trailing_zeros().min(width)), false),
        Intrinsic::Bswap => (a.swap_bytes() >> (pad & 63), false),
        Intrinsic::BitReverse => (a.reverse_bits() >> (pad & 63), false),
        Intrinsic::Abs => (sign_extend(ty, a).wrapping_abs() as u64, false),
        Intrinsic::SMax => (rmw(RmwOp::Max, ty, a, b), false),
        Intrinsic::SMin => (rmw(RmwOp::Min, ty, a, b), false),
        Intrinsic::UMax => (a.max(b), false),
        Intrinsic::UMin => (a.min(b), false),
        Intrinsic::Fshl => (funnel_left(ty, a, b, shift_amount(ty, c)), false),
        Intrinsic::Fshr => (funnel_right(ty, a, b, shift_amount(ty, c)), false),
        Intrinsic::SAddOverflow => signed(ty, a, b, |x, y| x + y),
        Intrinsic::UAddOverflow => unsigned(ty, a, b, |x, y| x + y),
        Intrinsic::SSubOverflow => signed(ty, a, b, |x, y| x - y),
        Intrinsic::USubOverflow => unsigned(ty, a, b, |x, y| x - y),
        Intrinsic::SMulOverflow => signed(ty, a, b, |x, y| x * y),
        Intrinsic::UMulOverflow => (a.wrapping_mul(b), u128::from(a) * u128::from(b) > u128::from(ty.mask())),
        Intrinsic::SAddSat => (saturate_signed(ty, a, b, |x, y| x + y), false),
        Intrinsic::UAddSat => (saturate_unsigned(ty, a, b, |x, y| x + y), false),
        Intrinsic::SSubSat => (saturate_signed(ty, a, b, |x, y| x - y), false),
        Intrinsic::USubSat => (saturate_unsigned(ty, a, b, |x, y| x - y), false),
        _ => (float_intrinsic(op, ty, a, b, c), false),
    };
    (value & ty.mask(), overflow)
}

#[inline]
fn funnel_left(ty: Type, a: u64, b: u64, amount: u32) -> u64 {
    if amount == 0 { a } else { (a << amount) | (b >> (ty.bits() - amount)) }
}

#[inline]
fn funnel_right(ty: Type, a: u64, b: u64, amount: u32) -> u64 {
    if amount == 0 { b } else { (a << (ty.bits() - amount)) | (b >> amount) }
}

/// Computes exactly, in twice the width, and says whether the result left the signed range of the type.
#[inline]
fn signed(ty: Type, a: u64, b: u64, compute: fn(i128, i128) -> i128) -> (u64, bool) {
    let exact = compute(i128::from(sign_extend(ty, a)), i128::from(sign_extend(ty, b)));
    let fits = (i128::from(smallest(ty))..=i128::from(largest(ty))).contains(&exact);
    (exact as u64, !fits)
}

#[inline]
fn unsigned(ty: Type, a: u64, b: u64, compute: fn(i128, i128) -> i128) -> (u64, bool) {
    let exact = compute(i128::from(a), i128::from(b));
    (exact as u64, !(0..=i128::from(ty.mask())).contains(&exact))
}

#[inline]
fn saturate_signed(ty: Type, a: u64, b: u64, compute: fn(i128, i128) -> i128) -> u64 {
    let exact = compute(i128::from(sign_extend(ty, a)), i128::from(sign_extend(ty, b)));
    exact.clamp(i128::from(smallest(ty)), i128::from(largest(ty))) as u64
}

#[inline]
fn saturate_unsigned(ty: Type, a: u64, b: u64, compute: fn(i128, i128) -> i128) -> u64 {
    compute(i128::from(a), i128::from(b)).clamp(0, i128::from(ty.mask())) as u64
}

fn float_intrinsic(op: Intrinsic, ty: Type, a: u64, b: u64, c: u64) -> u64 {
    match op {
        Intrinsic::FAbs => a & !sign_bit(ty),
        Intrinsic::CopySign => (a & !sign_bit(ty)) | (b & sign_bit(ty)),
        Intrinsic::IsFpClass => u64::from(is_fp_class(ty, a, b)),
        Intrinsic::Sqrt => float1(ty, a, f32::sqrt, f64::sqrt),
        Intrinsic::Floor => float1(ty, a, f32::floor, f64::floor),
        Intrinsic::Ceil => float1(ty, a, f32::ceil, f64::ceil),
        Intrinsic::FTrunc => float1(ty, a, f32::trunc, f64::trunc),
        Intrinsic::Round => float1(ty, a, f32::round, f64::round),
        Intrinsic::RoundEven => float1(ty, a, f32::round_ties_even, f64::round_ties_even),
        Intrinsic::Exp => float1(ty, a, f32::exp, f64::exp),
        Intrinsic::Log => float1(ty, a, f32::ln, f64::ln),
        Intrinsic::Sin => float1(ty, a, f32::sin, f64::sin),
        Intrinsic::Cos => float1(ty, a, f32::cos, f64::cos),
        Intrinsic::Pow => float2(ty, a, b, f32::powf, f64::powf),
        Intrinsic::FMin => float2(ty, a, b, f32::min, f64::min),
        Intrinsic::FMax => float2(ty, a, b, f32::max, f64::max),
        Intrinsic::Fma => match ty {
            Type::F32 => u64::from(f32_of(a).mul_add(f32_of(b), f32_of(c)).to_bits()),
            _ => f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)).to_bits(),
        },
        Intrinsic::FMulAdd => match ty {
            Type::F32 => u64::from((f32_of(a) * f32_of(b) + f32_of(c)).to_bits()),
            _ => (f64::from_bits(a) * f64::from_bits(b) + f64::from_bits(c)).to_bits(),
        },
        _ => unreachable!("`{op:?}` is an integer intrinsic and was handled before"),
    }
}

/// The bits of the mask are those of `llvm.is.fpclass`.
fn is_fp_class(ty: Type, a: u64, mask: u64) -> bool {
    use std::num::FpCategory;
    let (category, negative, quiet) = match ty {
        Type::F32 => (f32_of(a).classify(), f32_of(a).is_sign_negative(), a >> 22 & 1 == 1),
        _ => (f64::from_bits(a).classify(), f64::from_bits(a).is_sign_negative(), a >> 51 & 1 == 1),
    };
    let bit = match (category, negative) {
        (FpCategory::Nan, _) => u32::from(quiet),
        (FpCategory::Infinite, true) => 2,
        (FpCategory::Normal, true) => 3,
        (FpCategory::Subnormal, true) => 4,
        (FpCategory::Zero, true) => 5,
        (FpCategory::Zero, false) => 6,
        (FpCategory::Subnormal, false) => 7,
        (FpCategory::Normal, false) => 8,
        (FpCategory::Infinite, false) => 9,
    };
    mask >> bit & 1 == 1
}

#[inline]
fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

#[inline]
fn to_f64(ty: Type, bits: u64) -> f64 {
    match ty {
        Type::F32 => f64::from(f32_of(bits)),
        _ => f64::from_bits(bits),
    }
}

#[inline]
fn from_f64(ty: Type, value: f64) -> u64 {
    match ty {
        Type::F32 => u64::from((value as f32).to_bits()),
        _ => value.to_bits(),
    }
}

#[inline]
fn float1(ty: Type, a: u64, single: fn(f32) -> f32, double: fn(f64) -> f64) -> u64 {
    match ty {
        Type::F32 => u64::from(single(f32_of(a)).to_bits()),
        _ => double(f64::from_bits(a)).to_bits(),
    }
}

#[inline]
fn float2(ty: Type, a: u64, b: u64, single: fn(f32, f32) -> f32, double: fn(f64, f64) -> f64) -> u64 {
    match ty {
        Type::F32 => u64::from(single(f32_of(a), f32_of(b)).to_bits()),
        _ => double(f64::from_bits(a), f64::from_bits(b)).to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const I8: Type = Type::Int(8);
    const I24: Type = Type::Int(24);

    fn b8(op: BinaryOp, a: i16, b: i16) -> Result<u64, EvalError> {
        binary(op, I8, a as u64 & 0xff, b as u64 & 0xff)
    }

    /// Every 8-bit operation, against Rust's own `i8` and `u8`.
    #[test]
    fn eight_bit_arithmetic_agrees_with_rust() {
        for a in 0..=255u8 {
            for b in 0..=255u8 {
                let run = |op| binary(op, I8, a.into(), b.into());
                let (s, t) = (a as i8, b as i8);
                assert_eq!(run(BinaryOp::Add), Ok(a.wrapping_add(b).into()));
                assert_eq!(run(BinaryOp::Sub), Ok(a.wrapping_sub(b).into()));
                assert_eq!(run(BinaryOp::Mul), Ok(a.wrapping_mul(b).into()));
                assert_eq!(run(BinaryOp::UDiv).ok(), a.checked_div(b).map(u64::from));
                assert_eq!(run(BinaryOp::URem).ok(), a.checked_rem(b).map(u64::from));
                assert_eq!(run(BinaryOp::SDiv).ok(), s.checked_div(t).map(|x| x as u8 as u64));
                assert_eq!(run(BinaryOp::SRem).ok(), s.checked_rem(t).map(|x| x as u8 as u64));
                assert_eq!(run(BinaryOp::Shl), Ok(a.wrapping_shl(b.into()).into()));
                assert_eq!(run(BinaryOp::LShr), Ok(a.wrapping_shr(b.into()).into()));
                assert_eq!(run(BinaryOp::AShr), Ok(s.wrapping_shr(b.into()) as u8 as u64));
                let ask = |op| cmp(op, I8, a.into(), b.into());
                assert_eq!(ask(CmpOp::Ult), a < b);
                assert_eq!(ask(CmpOp::Uge), a >= b);
                assert_eq!(ask(CmpOp::Slt), s < t);
                assert_eq!(ask(CmpOp::Sle), s <= t);
                assert_eq!(ask(CmpOp::Sgt), s > t);
                assert_eq!(ask(CmpOp::Sge), s >= t);
            }
        }
    }

    /// Every 8-bit integer intrinsic with two operands, against Rust's own `i8` and `u8`.
    #[test]
    fn eight_bit_intrinsics_agree_with_rust() {
        for a in 0..=255u8 {
            for b in 0..=255u8 {
                let run = |op| intrinsic(op, I8, [a.into(), b.into(), 0]);
                let (s, t) = (a as i8, b as i8);
                let bits = |(x, o): (i8, bool)| (u64::from(x as u8), o);
                let ubits = |(x, o): (u8, bool)| (u64::from(x), o);
                assert_eq!(run(Intrinsic::SAddOverflow), bits(s.overflowing_add(t)));
                assert_eq!(run(Intrinsic::SSubOverflow), bits(s.overflowing_sub(t)));
                assert_eq!(run(Intrinsic::SMulOverflow), bits(s.overflowing_mul(t)));
                assert_eq!(run(Intrinsic::UAddOverflow), ubits(a.overflowing_add(b)));
                assert_eq!(run(Intrinsic::USubOverflow), ubits(a.overflowing_sub(b)));
                assert_eq!(run(Intrinsic::UMulOverflow), ubits(a.overflowing_mul(b)));
                assert_eq!(run(Intrinsic::SAddSat), bits((s.saturating_add(t), false)));
                assert_eq!(run(Intrinsic::SSubSat), bits((s.saturating_sub(t), false)));
                assert_eq!(run(Intrinsic::UAddSat), ubits((a.saturating_add(b), false)));
                assert_eq!(run(Intrinsic::USubSat), ubits((a.saturating_sub(b), false)));
                assert_eq!(run(Intrinsic::SMax), bits((s.max(t), false)));
                assert_eq!(run(Intrinsic::UMin), ubits((a.min(b), false)));
            }
            let run = |op| intrinsic(op, I8, [a.into(), 0, 0]).0;
            assert_eq!(run(Intrinsic::Ctpop), a.count_ones().into());
            assert_eq!(run(Intrinsic::Ctlz), a.leading_zeros().into());
            assert_eq!(run(Intrinsic::Cttz), a.trailing_zeros().into());
            assert_eq!(run(Intrinsic::BitReverse), a.reverse_bits().into());
            assert_eq!(run(Intrinsic::Abs), (a as i8).wrapping_abs() as u8 as u64);
            for amount in 0..=255u8 {
                let rotate = |op| intrinsic(op, I8, [a.into(), a.into(), amount.into()]).0;
                assert_eq!(rotate(Intrinsic::Fshl), a.rotate_left(amount.into()).into());
                assert_eq!(rotate(Intrinsic::Fshr), a.rotate_right(amount.into()).into());
            }
        }
    }

    #[test]
    fn division_errors_are_told_apart() {
        assert_eq!(b8(BinaryOp::SDiv, 1, 0), Err(EvalError::DivisionByZero));
        assert_eq!(b8(BinaryOp::SDiv, -128, -1), Err(EvalError::DivisionOverflow));
        assert_eq!(b8(BinaryOp::SRem, -128, -1), Err(EvalError::DivisionOverflow));
        assert_eq!(binary(BinaryOp::SDiv, Type::I64, i64::MIN as u64, u64::MAX), Err(EvalError::DivisionOverflow));
    }

    #[test]
    fn odd_widths_stay_within_their_mask() {
        assert_eq!(binary(BinaryOp::Add, I24, 0xff_ffff, 1), Ok(0));
        assert_eq!(binary(BinaryOp::SDiv, I24, 0xff_fffe, 2), Ok(0xff_ffff));
        assert_eq!(binary(BinaryOp::Shl, I24, 1, 24), Ok(1));
        assert_eq!(intrinsic(Intrinsic::Bswap, I24, [0x01_0203, 0, 0]).0, 0x03_0201);
        assert_eq!(rmw(RmwOp::Nand, Type::I1, 1, 1), 0);
        assert_eq!(sign_extend(Type::I1, 1), -1);
    }

    #[test]
    fn casts_keep_to_the_target_width() {
        assert_eq!(cast(CastOp::SExt, I8, Type::I32, 0x80), 0xffff_ff80);
        assert_eq!(cast(CastOp::ZExt, I8, Type::I32, 0x80), 0x80);
        assert_eq!(cast(CastOp::Trunc, Type::I64, I8, 0x1234), 0x34);
        assert_eq!(cast(CastOp::FpToSi, Type::F64, I8, (-1e9f64).to_bits()), 0x80);
        assert_eq!(cast(CastOp::FpToUi, Type::F64, I8, 300f64.to_bits()), 0xff);
        assert_eq!(cast(CastOp::FpToSi, Type::F32, Type::I32, u64::from((-3.7f32).to_bits())), -3i32 as u32 as u64);
        assert_eq!(cast(CastOp::SiToFp, I8, Type::F32, 0xff), u64::from((-1f32).to_bits()));
        assert_eq!(cast(CastOp::UiToFp, Type::I64, Type::F64, u64::MAX), 18446744073709551615f64.to_bits());
        assert_eq!(cast(CastOp::FpTrunc, Type::F64, Type::F32, 0.1f64.to_bits()), u64::from(0.1f32.to_bits()));
    }

    #[test]
    fn unordered_comparisons_are_true_on_nan() {
        let (nan, one) = (f64::NAN.to_bits(), 1f64.to_bits());
        for &op in CmpOp::ALL.iter().filter(|op| op.name().starts_with('f')) {
            let expected = op.name().starts_with("fu") || op == CmpOp::FTrue;
            assert_eq!(cmp(op, Type::F64, nan, one), expected, "{op}");
            assert_eq!(cmp(op, Type::F64, one, nan), expected, "{op}");
        }
        assert!(cmp(CmpOp::FOeq, Type::F64, 0f64.to_bits(), (-0f64).to_bits()));
        assert!(!cmp(CmpOp::FOne, Type::F64, one, one));
    }

    #[test]
    fn float_classes_follow_the_mask_of_llvm() {
        let class = |x: f64| {
            (0..10).filter(move |bit| intrinsic(Intrinsic::IsFpClass, Type::F64, [x.to_bits(), 1 << bit, 0]).0 == 1)
        };
        let only = |x: f64| class(x).collect::<Vec<u32>>();
        assert_eq!(only(f64::NAN), [1]);
        assert_eq!(only(f64::from_bits(0x7ff0_0000_0000_0001)), [0]);
        assert_eq!(only(f64::NEG_INFINITY), [2]);
        assert_eq!(only(-1.0), [3]);
        assert_eq!(only(-f64::from_bits(1)), [4]);
        assert_eq!(only(-0.0), [5]);
        assert_eq!(only(0.0), [6]);
        assert_eq!(only(f64::from_bits(1)), [7]);
        assert_eq!(only(1.0), [8]);
        assert_eq!(only(f64::INFINITY), [9]);
    }

    #[test]
    fn sign_operations_touch_only_the_sign() {
        assert_eq!(fneg(Type::F32, 0), 0x8000_0000);
        assert_eq!(intrinsic(Intrinsic::FAbs, Type::F64, [(-2f64).to_bits(), 0, 0]).0, 2f64.to_bits());
        assert_eq!(intrinsic(Intrinsic::CopySign, Type::F32, [0x3f80_0000, 0x8000_0000, 0]).0, 0xbf80_0000);
    }

    #[test]
    fn read_modify_write_computes_the_new_value() {
        assert_eq!(rmw(RmwOp::Max, I8, 0x80, 0x01), 0x01);
        assert_eq!(rmw(RmwOp::UMax, I8, 0x80, 0x01), 0x80);
        assert_eq!(rmw(RmwOp::Sub, I8, 0, 1), 0xff);
        assert_eq!(
            rmw(RmwOp::FAdd, Type::F32, u64::from(1f32.to_bits()), u64::from(2f32.to_bits())),
            u64::from(3f32.to_bits())
        );
        assert_eq!(ptr_add(100, u64::MAX, 8, 4), 96);
    }

    /// The result of any operator on any operands fits its type: registers never hold stray high bits.
    #[test]
    fn results_never_leave_the_mask() {
        let mut seed = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        for _ in 0..20_000 {
            let ty = [Type::Int((next() % 64 + 1) as u8), Type::Ptr, Type::F32, Type::F64][(next() % 4) as usize];
            let (a, b, c) = (next() & ty.mask(), next() & ty.mask(), next() & ty.mask());
            for &op in BinaryOp::ALL {
                assert!(binary(op, ty, a, b).unwrap_or(0) <= ty.mask());
            }
            for &op in RmwOp::ALL {
                assert!(rmw(op, ty, a, b) <= ty.mask());
            }
            for &op in Intrinsic::ALL {
                assert!(intrinsic(op, ty, [a, b, c]).0 <= ty.mask());
            }
            for &op in CastOp::ALL {
                assert!(cast(op, ty, Type::Int(7), a) <= 0x7f);
            }
        }
    }
}

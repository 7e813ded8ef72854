//! Conditions from truth values: what must hold for a branch to be taken.
//!
//! A truth value is traced back through negations, conjunctions, disjunctions, selections and widenings to comparisons,
//! so that conditions speak of the values that were loaded. That a compare-and-exchange succeeded is the same as that its
//! old value is the expected one; saying it so lets a loop that carries the observed value be seen through. What cannot be
//! traced back is a comparison of the truth value itself.

use super::purity_condition::{Condition, Literal, TooLarge, inverse};
use selvedge_ir::{AwaitKind, BinaryOp, CastOp, CmpOp, Function, InstKind, Operand, Type, ValueDef, eval};

/// How deep a truth value is traced back.
const MAX_DEPTH: usize = 12;

/// The condition that a truth value is true (or false).
pub fn guard(func: &Function, operand: Operand, truth: bool) -> Result<Condition, TooLarge> {
    traced(func, operand, truth, MAX_DEPTH)
}

/// The condition that a comparison holds.
pub fn comparison(func: &Function, op: CmpOp, ty: Type, a: Operand, b: Operand) -> Result<Condition, TooLarge> {
    masked_comparison(func, op, ty, a, u64::MAX, b, MAX_DEPTH)
}

/// The condition that a comparison of some bits holds.
pub fn bits_comparison(
    func: &Function,
    op: CmpOp,
    ty: Type,
    (a, mask): (Operand, u64),
    b: Operand,
) -> Result<Condition, TooLarge> {
    masked_comparison(func, op, ty, a, mask, b, MAX_DEPTH)
}

/// The instruction that defines an operand, and which of its results it is.
pub fn definition(func: &Function, operand: Operand) -> Option<(&InstKind, u32)> {
    match operand {
        Operand::Value(value) => match func.values[value].def {
            ValueDef::Result(inst, n) => Some((&func.insts[inst].kind, n)),
            ValueDef::Param(_) => None,
        },
        _ => None,
    }
}

fn traced(func: &Function, operand: Operand, truth: bool, depth: usize) -> Result<Condition, TooLarge> {
    let itself = || {
        let op = if truth { CmpOp::Ne } else { CmpOp::Eq };
        Ok(Condition::literal(Literal::new(Type::I1, operand, 1, op, Operand::Const(0))))
    };
    let operand_is = |holds: bool| if holds == truth { Condition::always() } else { Condition::never() };
    match operand {
        Operand::Const(bits) => return Ok(operand_is(bits & 1 == 1)),
        Operand::Undef => return Ok(operand_is(false)),
        _ if depth == 0 => return itself(),
        _ => {}
    }
    let Some((kind, result)) = definition(func, operand) else { return itself() };
    let both = |a: Operand, b: Operand| -> Result<Condition, TooLarge> {
        traced(func, a, true, depth - 1)?.and(&traced(func, b, true, depth - 1)?)
    };
    let neither = |a: Operand, b: Operand| -> Result<Condition, TooLarge> {
        traced(func, a, false, depth - 1)?.and(&traced(func, b, false, depth - 1)?)
    };
    let either = |a: Operand, b: Operand, truth: bool| -> Result<Condition, TooLarge> {
        traced(func, a, truth, depth - 1)?.or(traced(func, b, truth, depth - 1)?)
    };
    match *kind {
        InstKind::Cmp { op, ty, a, b } if !ty.is_float() => {
            let op = if truth { op } else { inverse(op) };
            masked_comparison(func, op, ty, a, u64::MAX, b, depth - 1)
        }
        InstKind::Cas { ty, expected, .. } | InstKind::Await { access: AwaitKind::Cas { expected, .. }, ty, .. }
            if result == 1 =>
        {
            let op = if truth { CmpOp::Eq } else { CmpOp::Ne };
            let Some(old) = first_result(func, operand) else { return itself() };
            masked_comparison(func, op, ty, old, u64::MAX, expected, depth - 1)
        }
        InstKind::Binary { op: BinaryOp::Xor, ty: Type::I1, a, b: Operand::Const(1) } => {
            traced(func, a, !truth, depth - 1)
        }
        InstKind::Binary { op: BinaryOp::And, ty: Type::I1, a, b } if truth => both(a, b),
        InstKind::Binary { op: BinaryOp::And, ty: Type::I1, a, b } => either(a, b, false),
        InstKind::Binary { op: BinaryOp::Or, ty: Type::I1, a, b } if truth => either(a, b, true),
        InstKind::Binary { op: BinaryOp::Or, ty: Type::I1, a, b } => neither(a, b),
        InstKind::Select { ty: Type::I1, cond, a, b } => {
            let chosen = traced(func, cond, true, depth - 1)?.and(&traced(func, a, truth, depth - 1)?)?;
            let other = traced(func, cond, false, depth - 1)?.and(&traced(func, b, truth, depth - 1)?)?;
            chosen.or(other)
        }
        InstKind::Cast { op: CastOp::Trunc, from, to: Type::I1, a } => {
            let op = if truth { CmpOp::Ne } else { CmpOp::Eq };
            masked_comparison(func, op, from, a, 1, Operand::Const(0), depth - 1)
        }
        _ => itself(),
    }
}

/// The first result of the instruction that defines an operand.
fn first_result(func: &Function, operand: Operand) -> Option<Operand> {
    let Operand::Value(value) = operand else { return None };
    match func.values[value].def {
        ValueDef::Result(inst, _) => func.insts[inst].results.first().copied().map(Operand::Value),
        ValueDef::Param(_) => None,
    }
}

/// Looks through conversions of the left side as long as the right side is a constant that can be converted back.
fn masked_comparison(
    func: &Function,
    op: CmpOp,
    ty: Type,
    a: Operand,
    mask: u64,
    b: Operand,
    depth: usize,
) -> Result<Condition, TooLarge> {
    if let Some((ty, a, b)) = without_casts(func, ty, a, b) {
        return masked_comparison(func, op, ty, a, mask, b, depth);
    }
    let found = || Ok(Condition::literal(Literal::new(ty, a, mask, op, b)));
    let mask = mask & ty.mask();
    let whole = mask == ty.mask();
    let Operand::Const(k) = b else {
        return match (a, whole) {
            (Operand::Const(_), true) => {
                masked_comparison(func, super::purity_condition::mirrored(op), ty, b, u64::MAX, a, depth)
            }
            _ => found(),
        };
    };
    if depth == 0 {
        return found();
    }
    if ty == Type::I1 && matches!(op, CmpOp::Eq | CmpOp::Ne) {
        return traced(func, a, (k & 1 == 1) == (op == CmpOp::Eq), depth - 1);
    }
    let known = |known: bool| Ok(if known { Condition::always() } else { Condition::never() });
    let signed = matches!(op, CmpOp::Slt | CmpOp::Sle | CmpOp::Sgt | CmpOp::Sge);
    let equality = matches!(op, CmpOp::Eq | CmpOp::Ne);
    let Some((kind, _)) = definition(func, a) else { return found() };
    match *kind {
        InstKind::Cast { op: CastOp::ZExt, from, a: narrow, .. } if whole => {
            // The widened value is between 0 and the mask of the narrow type, whichever way it is compared.
            if signed && eval::sign_extend(ty, k) < 0 {
                return known(matches!(op, CmpOp::Sgt | CmpOp::Sge));
            }
            if k > from.mask() {
                return known(matches!(op, CmpOp::Ne | CmpOp::Ult | CmpOp::Ule | CmpOp::Slt | CmpOp::Sle));
            }
            masked_comparison(func, unsigned(op), from, narrow, u64::MAX, b, depth - 1)
        }
        InstKind::Cast { op: CastOp::SExt, from, a: narrow, .. } if whole && (signed || equality) => {
            let fits = eval::sign_extend(from, k & from.mask()) == eval::sign_extend(ty, k);
            match fits {
                true => masked_comparison(func, op, from, narrow, u64::MAX, Operand::Const(k & from.mask()), depth - 1),
                false if equality => known(op == CmpOp::Ne),
                false => known((eval::sign_extend(ty, k) > 0) == matches!(op, CmpOp::Slt | CmpOp::Sle)),
            }
        }
        InstKind::Cast { op: CastOp::Trunc, from, a: wide, .. } if !signed => {
            masked_comparison(func, op, from, wide, mask, b, depth - 1)
        }
        InstKind::Binary { op: BinaryOp::And, a: inner, b: Operand::Const(bits), .. }
            if !signed || whole && bits <= ty.mask() >> 1 && eval::sign_extend(ty, k) >= 0 =>
        {
            masked_comparison(func, unsigned(op), ty, inner, mask & bits, b, depth - 1)
        }
        InstKind::Binary { op: BinaryOp::Xor, a: inner, b: Operand::Const(bits), .. } if whole && equality => {
            masked_comparison(func, op, ty, inner, u64::MAX, Operand::Const(k ^ bits), depth - 1)
        }
        InstKind::Binary { op: BinaryOp::Add, a: inner, b: Operand::Const(bits), .. } if whole && equality => {
            let k = k.wrapping_sub(bits) & ty.mask();
            masked_comparison(func, op, ty, inner, u64::MAX, Operand::Const(k), depth - 1)
        }
        InstKind::Binary { op: BinaryOp::Sub, a: inner, b: Operand::Const(bits), .. } if whole && equality => {
            let k = k.wrapping_add(bits) & ty.mask();
            masked_comparison(func, op, ty, inner, u64::MAX, Operand::Const(k), depth - 1)
        }
        // `x - y == 0` and `x ^ y == 0` ask whether the two are equal.
        InstKind::Binary { op: BinaryOp::Sub | BinaryOp::Xor, a: x, b: y, .. } if whole && equality && k == 0 => {
            masked_comparison(func, op, ty, x, u64::MAX, y, depth - 1)
        }
        _ => found(),
    }
}

/// A comparison of pointers that were loaded as integers, or of integers that were pointers, as a comparison of what
/// they were at first. The two sides may then be of different types of the same width: the comparison is one of integers.
fn without_casts(func: &Function, ty: Type, a: Operand, b: Operand) -> Option<(Type, Operand, Operand)> {
    if !matches!(ty, Type::Ptr | Type::I64) {
        return None;
    }
    let (x, y) = (original(func, a), original(func, b));
    let is_pointer = |operand: Operand| func.operand_type(operand).is_none_or(|ty| ty == Type::Ptr);
    let both_constant = func.operand_type(x).is_none() && func.operand_type(y).is_none();
    let new = match is_pointer(x) && is_pointer(y) {
        _ if both_constant => ty,
        true => Type::Ptr,
        false => Type::I64,
    };
    (new != ty || x != a || y != b).then_some((new, x, y))
}

/// The value of 64 bits that another one is a mere conversion of.
pub fn original(func: &Function, operand: Operand) -> Operand {
    let mut operand = operand;
    for _ in 0..MAX_DEPTH {
        match definition(func, operand) {
            Some((&InstKind::Cast { op: CastOp::IntToPtr, from: Type::I64, a, .. }, _))
            | Some((&InstKind::Cast { op: CastOp::PtrToInt, to: Type::I64, a, .. }, _)) => operand = a,
            _ => break,
        }
    }
    operand
}

fn unsigned(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Slt => CmpOp::Ult,
        CmpOp::Sle => CmpOp::Ule,
        CmpOp::Sgt => CmpOp::Ugt,
        CmpOp::Sge => CmpOp::Uge,
        other => other,
    }
}

//! Arithmetic: integers without bound, floats that never overflow silently.

use super::{Native, Pure, Raised, Row, badarg, error};
use crate::atom::Atom;
use crate::term::Term;
use num_bigint::BigInt;
use num_traits::{FromPrimitive, Signed, ToPrimitive, Zero};

/// Integers of more bits are refused.
const BIT_LIMIT: u64 = 1 << 26;

pub(super) const TABLE: &[Row<Native>] = &[
    ("erlang", "+", 2, |args| binary(args, i64::checked_add, |a, b| a + b, |a, b| a + b)),
    ("erlang", "-", 2, |args| binary(args, i64::checked_sub, |a, b| a - b, |a, b| a - b)),
    ("erlang", "*", 2, multiply),
    ("erlang", "+", 1, |args| number(&args[0]).map(|_| args[0].clone())),
    ("erlang", "-", 1, |args| {
        if let Term::Float(value) = args[0] {
            return Ok(Term::Float(-value));
        }
        binary(&[Term::Int(0), args[0].clone()], i64::checked_sub, |a, b| a - b, |a, b| a - b)
    }),
    ("erlang", "/", 2, divide),
    ("erlang", "div", 2, |args| whole(args, i64::checked_div, |a, b| a / b)),
    ("erlang", "rem", 2, |args| whole(args, i64::checked_rem, |a, b| a % b)),
    ("erlang", "band", 2, |args| bitwise(args, |a, b| a & b, |a, b| a & b)),
    ("erlang", "bor", 2, |args| bitwise(args, |a, b| a | b, |a, b| a | b)),
    ("erlang", "bxor", 2, |args| bitwise(args, |a, b| a ^ b, |a, b| a ^ b)),
    ("erlang", "bnot", 1, |args| match &args[0] {
        Term::Int(value) => Ok(Term::Int(!value)),
        other => Ok(Term::integer(!integer(other)?)),
    }),
    ("erlang", "bsl", 2, |args| shift(&args[0], &args[1], true)),
    ("erlang", "bsr", 2, |args| shift(&args[0], &args[1], false)),
    ("erlang", "abs", 1, absolute),
    ("erlang", "float", 1, |args| Ok(Term::Float(to_float(&args[0]).map_err(as_badarg)?))),
    ("erlang", "trunc", 1, |args| rounded(args, f64::trunc)),
    ("erlang", "round", 1, |args| rounded(args, f64::round)),
    ("erlang", "floor", 1, |args| rounded(args, f64::floor)),
    ("erlang", "ceil", 1, |args| rounded(args, f64::ceil)),
    ("math", "pi", 0, |_| Ok(Term::Float(std::f64::consts::PI))),
    ("math", "sqrt", 1, |args| unary_float(args, f64::sqrt)),
    ("math", "exp", 1, |args| unary_float(args, f64::exp)),
    ("math", "log", 1, |args| unary_float(args, f64::ln)),
    ("math", "log2", 1, |args| unary_float(args, f64::log2)),
    ("math", "log10", 1, |args| unary_float(args, f64::log10)),
    ("math", "sin", 1, |args| unary_float(args, f64::sin)),
    ("math", "cos", 1, |args| unary_float(args, f64::cos)),
    ("math", "tan", 1, |args| unary_float(args, f64::tan)),
    ("math", "atan", 1, |args| unary_float(args, f64::atan)),
    ("math", "floor", 1, |args| unary_float(args, f64::floor)),
    ("math", "ceil", 1, |args| unary_float(args, f64::ceil)),
    ("math", "pow", 2, |args| finite(to_float(&args[0])?.powf(to_float(&args[1])?))),
    ("math", "atan2", 2, |args| finite(to_float(&args[0])?.atan2(to_float(&args[1])?))),
    ("math", "fmod", 2, |args| finite(to_float(&args[0])? % to_float(&args[1])?)),
];

fn badarith<T>() -> Result<T, Box<Raised>> {
    error(Term::Atom(Atom::BADARITH))
}

fn as_badarg(_: Box<Raised>) -> Box<Raised> {
    Box::new(Raised { class: Atom::ERROR, reason: Term::Atom(Atom::BADARG) })
}

fn number(term: &Term) -> Result<(), Box<Raised>> {
    match term {
        Term::Int(_) | Term::Big(_) | Term::Float(_) => Ok(()),
        _ => badarith(),
    }
}

fn finite(value: f64) -> Pure {
    if value.is_finite() { Ok(Term::Float(value)) } else { badarith() }
}

/// Any integer.
fn integer(term: &Term) -> Result<BigInt, Box<Raised>> {
    match term {
        Term::Int(value) => Ok(BigInt::from(*value)),
        Term::Big(value) => Ok((**value).clone()),
        _ => badarith(),
    }
}

/// Any number as a float, if there is one near it.
fn to_float(term: &Term) -> Result<f64, Box<Raised>> {
    match term {
        #[allow(clippy::cast_precision_loss)]
        Term::Int(value) => Ok(*value as f64),
        Term::Big(value) => value.to_f64().filter(|value| value.is_finite()).map_or_else(badarith, Ok),
        Term::Float(value) => Ok(*value),
        _ => badarith(),
    }
}

fn binary(
    args: &[Term],
    small: fn(i64, i64) -> Option<i64>,
    big: fn(BigInt, BigInt) -> BigInt,
    float: fn(f64, f64) -> f64,
) -> Pure {
    match (&args[0], &args[1]) {
        (Term::Int(a), Term::Int(b)) => match small(*a, *b) {
            Some(value) => Ok(Term::Int(value)),
            None => Ok(Term::integer(big(BigInt::from(*a), BigInt::from(*b)))),
        },
        (Term::Float(_), _) | (_, Term::Float(_)) => finite(float(to_float(&args[0])?, to_float(&args[1])?)),
        (a, b) => Ok(Term::integer(big(integer(a)?, integer(b)?))),
    }
}

fn multiply(args: &[Term]) -> Pure {
    if let (Term::Big(a), Term::Big(b)) = (&args[0], &args[1])
        && a.bits() + b.bits() > BIT_LIMIT
    {
        return error(Term::Atom(Atom::SYSTEM_LIMIT));
    }
    binary(args, i64::checked_mul, |a, b| a * b, |a, b| a * b)
}

fn divide(args: &[Term]) -> Pure {
    let (a, b) = (to_float(&args[0])?, to_float(&args[1])?);
    if b == 0.0 { badarith() } else { finite(a / b) }
}

fn whole(args: &[Term], small: fn(i64, i64) -> Option<i64>, big: fn(BigInt, BigInt) -> BigInt) -> Pure {
    if let (Term::Int(a), Term::Int(b)) = (&args[0], &args[1])
        && let Some(value) = small(*a, *b)
    {
        return Ok(Term::Int(value));
    }
    let (a, b) = (integer(&args[0])?, integer(&args[1])?);
    if b.is_zero() { badarith() } else { Ok(Term::integer(big(a, b))) }
}

fn bitwise(args: &[Term], small: fn(i64, i64) -> i64, big: fn(BigInt, BigInt) -> BigInt) -> Pure {
    match (&args[0], &args[1]) {
        (Term::Int(a), Term::Int(b)) => Ok(Term::Int(small(*a, *b))),
        (a, b) => Ok(Term::integer(big(integer(a)?, integer(b)?))),
    }
}

fn shift(value: &Term, by: &Term, left: bool) -> Pure {
    let value = integer(value)?;
    let by = integer(by)?;
    let left = left != by.is_negative();
    let Some(by) = by.abs().to_u64() else {
        return match (left, value.is_zero()) {
            (true, false) => error(Term::Atom(Atom::SYSTEM_LIMIT)),
            _ => Ok(Term::Int(if value.is_negative() && !left { -1 } else { 0 })),
        };
    };
    if left {
        if !value.is_zero() && value.bits().saturating_add(by) > BIT_LIMIT {
            return error(Term::Atom(Atom::SYSTEM_LIMIT));
        }
        return Ok(if value.is_zero() { Term::Int(0) } else { Term::integer(value << by) });
    }
    // Beyond all bits only the sign is left.
    let by = by.min(value.bits() + 1);
    Ok(Term::integer(value >> by))
}

fn absolute(args: &[Term]) -> Pure {
    match &args[0] {
        Term::Float(value) => Ok(Term::Float(value.abs())),
        Term::Int(_) | Term::Big(_) => Ok(Term::integer(integer(&args[0])?.abs())),
        _ => badarg(),
    }
}

fn rounded(args: &[Term], round: fn(f64) -> f64) -> Pure {
    match &args[0] {
        Term::Float(value) => Ok(Term::integer(BigInt::from_f64(round(*value)).expect("floats are finite"))),
        Term::Int(_) | Term::Big(_) => Ok(args[0].clone()),
        _ => badarg(),
    }
}

fn unary_float(args: &[Term], function: fn(f64) -> f64) -> Pure {
    finite(function(to_float(&args[0])?))
}

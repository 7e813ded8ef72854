//! The functions by which programs talk to a checker: those of the software verification competition, and harmless ones
//! of other tools.
//!
//! `__VERIFIER_nondet_*` is a choice among the numbers of the range that the user gives, cut to what the type can hold.
//! Without a range it is an error, since all values of a type are too many to be tried; a boolean needs none.
//!
//! Atomic sections may be nested; only the outermost begins and ends one.

use super::Step;
use super::call::{Answer, Call, Pause, models};
use super::facts::ATOMIC;
use crate::{Op, ViolationKind};

models! {
    "__VERIFIER_assume" | "assume" | "__VERIFIER_assume_if_not" / 1 => assume,
    "__VERIFIER_assert" / 1 => assert,
    "__VERIFIER_error" | "reach_error" / 0 => |c| c.violation(ViolationKind::Assertion, "the error function is reached"),
    "__VERIFIER_atomic_begin" / 0 => atomic_begin,
    "__VERIFIER_atomic_end" / 0 => atomic_end,
    "__VERIFIER_nondet_bool" | "__VERIFIER_nondet__Bool" / 0 => |c| c.op(Op::Choose { alternatives: 2 }),
    "__VERIFIER_nondet_char" / 0 => |c| nondet(c, "char", 8, true),
    "__VERIFIER_nondet_uchar" | "__VERIFIER_nondet_unsigned_char" | "__VERIFIER_nondet_u8" / 0 => |c| nondet(c, "uchar", 8, false),
    "__VERIFIER_nondet_short" / 0 => |c| nondet(c, "short", 16, true),
    "__VERIFIER_nondet_ushort" | "__VERIFIER_nondet_unsigned_short" | "__VERIFIER_nondet_u16" / 0 => |c| nondet(c, "ushort", 16, false),
    "__VERIFIER_nondet_int" / 0 => |c| nondet(c, "int", 32, true),
    "__VERIFIER_nondet_uint" | "__VERIFIER_nondet_unsigned" | "__VERIFIER_nondet_unsigned_int" | "__VERIFIER_nondet_u32" / 0 => |c| nondet(c, "uint", 32, false),
    "__VERIFIER_nondet_long" | "__VERIFIER_nondet_longlong" | "__VERIFIER_nondet_loff_t" / 0 => |c| nondet(c, "long", 64, true),
    "__VERIFIER_nondet_ulong" | "__VERIFIER_nondet_ulonglong" | "__VERIFIER_nondet_unsigned_long" | "__VERIFIER_nondet_size_t" | "__VERIFIER_nondet_u64" / 0 => |c| nondet(c, "ulong", 64, false),
    "__VERIFIER_nondet_pointer" / 0 => |c| nondet(c, "pointer", 64, false),
    "__VERIFIER_nondet_float" / 0 => |c| nondet(c, "float", 64, true).map(|n| u64::from((n as i64 as f32).to_bits())),
    "__VERIFIER_nondet_double" / 0 => |c| nondet(c, "double", 64, true).map(|n| (n as i64 as f64).to_bits()),
    "__VERIFIER_spin_start" | "__VERIFIER_spin_end" | "__VERIFIER_loop_begin" | "__VERIFIER_loop_bound"
        | "__VERIFIER_local_write" | "__VERIFIER_final_write" | "__VERIFIER_annotate_begin" | "__VERIFIER_annotate_end" / 0 => |_| Ok(0),
}

fn assume(call: &mut Call<'_>) -> Answer {
    match call.arg(0) {
        0 => Err(Pause::Step(Step::Block)),
        _ => Ok(0),
    }
}

fn assert(call: &mut Call<'_>) -> Answer {
    match call.arg(0) {
        0 => call.violation(ViolationKind::Assertion, "the argument of `__VERIFIER_assert` is false"),
        _ => Ok(0),
    }
}

fn atomic_begin(call: &mut Call<'_>) -> Answer {
    let depth = call.fact(ATOMIC.0, ATOMIC.1)?;
    if depth == 0 {
        call.op(Op::AtomicBegin)?;
    }
    call.set_fact(ATOMIC.0, ATOMIC.1, depth + 1)?;
    Ok(0)
}

fn atomic_end(call: &mut Call<'_>) -> Answer {
    match call.fact(ATOMIC.0, ATOMIC.1)? {
        0 => call.violation(ViolationKind::LockMisuse, "`__VERIFIER_atomic_end` without `__VERIFIER_atomic_begin`"),
        depth => {
            call.set_fact(ATOMIC.0, ATOMIC.1, depth - 1)?;
            if depth == 1 {
                call.op(Op::AtomicEnd)?;
            }
            Ok(0)
        }
    }
}

/// A number of the range, as a register of `bits` bits.
fn nondet(call: &mut Call<'_>, name: &str, bits: u32, signed: bool) -> Answer {
    let Some((low, high)) = call.host.options().nondet else {
        return call.unsupported(format!(
            "`__VERIFIER_nondet_{name}` without a range of values to try (give one with --nondet LOW..HIGH)"
        ));
    };
    let (least, most) = match (bits, signed) {
        (64, true) => (i64::MIN, i64::MAX),
        (64, false) => (0, i64::MAX),
        (_, true) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        (_, false) => (0, (1 << bits) - 1),
    };
    let (low, high) = (low.max(least), high.min(most));
    let count = i128::from(high) - i128::from(low) + 1;
    if count <= 0 {
        return call
            .unsupported(format!("`__VERIFIER_nondet_{name}` with a range of values that has none of its type"));
    }
    let Ok(alternatives) = u32::try_from(count) else {
        return call.unsupported(format!("`__VERIFIER_nondet_{name}` with {count} values to try"));
    };
    let chosen = if alternatives == 1 { 0 } else { call.op(Op::Choose { alternatives })? };
    Ok(crate::truncate(low.wrapping_add(chosen as i64) as u64, (bits / 8) as u8))
}

#[cfg(test)]
mod tests {
    use crate::models::Step;
    use crate::models::testing::Fake;
    use crate::{Op, ViolationKind};

    #[test]
    fn numbers_come_from_the_part_of_the_range_that_the_type_has() {
        let choose = |alternatives| vec![Op::Choose { alternatives }];
        let mut host = Fake::new();
        assert!(host.unsupported("__VERIFIER_nondet_int", &[]).contains("__VERIFIER_nondet_int"));
        host.options.nondet = Some((-3, 300));
        host.outcomes = vec![1, 1, 1, 1];
        assert_eq!(host.int("__VERIFIER_nondet_int", &[]), -2);
        assert_eq!(host.call("__VERIFIER_nondet_uint", &[]), 1);
        assert_eq!(host.call("__VERIFIER_nondet_char", &[]), 0xfe);
        assert_eq!(f64::from_bits(host.call("__VERIFIER_nondet_double", &[])), -2.0);
        assert_eq!(host.ops, [choose(304), choose(301), choose(131), choose(304)].concat());
        host.options.nondet = Some((-2, -1));
        assert!(host.unsupported("__VERIFIER_nondet_ulong", &[]).contains("none"));
    }

    #[test]
    fn assumptions_block_and_assertions_fail() {
        let mut host = Fake::new();
        assert!(matches!(host.run("__VERIFIER_assume", &[0]), Ok(Step::Block)));
        assert_eq!(host.call("__VERIFIER_assume", &[1]), 0);
        assert_eq!(host.violation("__VERIFIER_assert", &[0]).0, ViolationKind::Assertion);
        assert_eq!(host.violation("reach_error", &[]).0, ViolationKind::Assertion);
    }

    #[test]
    fn nested_sections_are_one() {
        let mut host = Fake::new();
        for name in ["begin", "begin", "end", "end"] {
            host.call(&format!("__VERIFIER_atomic_{name}"), &[]);
        }
        assert_eq!(host.ops, [Op::AtomicBegin, Op::AtomicEnd]);
        assert_eq!(host.violation("__VERIFIER_atomic_end", &[]).0, ViolationKind::LockMisuse);
    }
}

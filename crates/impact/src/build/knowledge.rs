//! What is known about a value at a location: a number, an address within an object, or nothing.
//!
//! An address with a variable part must not become just any variable: nobody could say any more which object it points
//! into. It is kept as `base + stride * variable`.

use super::objects::{Memory, gcd};
use super::path::{Path, Slot};
use crate::term::{Term, Terms};
use std::collections::BTreeMap;

/// What is known about a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Knowledge {
    /// It is this number.
    Number(u64),
    /// It is an address: a number plus a multiple of another number.
    Scaled(u64, u64),
    /// Nothing.
    Unknown,
}

/// What is known at a location.
pub(super) type Known = BTreeMap<Slot, Knowledge>;

impl Knowledge {
    /// What a term shows.
    fn of(terms: &Terms, memory: &Memory, term: Term) -> Knowledge {
        if let Some(number) = terms.constant(term) {
            return Knowledge::Number(number);
        }
        let (constant, parts) = terms.linear(term);
        let stride = parts.iter().map(|&(f, _)| (f as i64).unsigned_abs()).reduce(gcd);
        match stride {
            Some(stride) if terms.bits(term) == 64 && memory.find(terms, term).is_some() => {
                Knowledge::Scaled(constant, stride)
            }
            _ => Knowledge::Unknown,
        }
    }

    /// What is known if it is one or the other.
    fn join(self, other: Knowledge, memory: &Memory) -> Knowledge {
        if self == other {
            return self;
        }
        let parts = |k: Knowledge| match k {
            Knowledge::Number(n) => Some((n, 0)),
            Knowledge::Scaled(n, stride) => Some((n, stride)),
            Knowledge::Unknown => None,
        };
        let (Some((a, s)), Some((b, t))) = (parts(self), parts(other)) else { return Knowledge::Unknown };
        if memory.object_at(a).is_none() || memory.object_at(a) != memory.object_at(b) {
            return Knowledge::Unknown;
        }
        Knowledge::Scaled(a, gcd(gcd(s, t), (a.wrapping_sub(b) as i64).unsigned_abs()))
    }
}

/// What a path knows at its end.
pub(super) fn at_end(terms: &Terms, memory: &Memory, path: &Path) -> Known {
    path.env.iter().map(|(&slot, &term)| (slot, Knowledge::of(terms, memory, term))).collect()
}

/// What is known where two ways meet. A value that is not there on one of them is not used behind (every definition comes
/// before its uses); a cell of memory that is not there has its first value.
pub(super) fn join(known: &Known, arriving: &Known, memory: &Memory) -> Known {
    let mut joined = Known::new();
    for (&slot, &one) in known {
        match arriving.get(&slot) {
            Some(&other) => {
                joined.insert(slot, one.join(other, memory));
            }
            None if matches!(slot, Slot::Cell(_)) => {
                joined.insert(slot, Knowledge::Unknown);
            }
            None => {}
        }
    }
    for &slot in arriving.keys().filter(|slot| matches!(slot, Slot::Cell(_))) {
        joined.entry(slot).or_insert(Knowledge::Unknown);
    }
    joined
}

/// The value of the variable behind some knowledge, when the value itself is a term; none if no variable is needed.
pub(super) fn variable_part(terms: &mut Terms, knowledge: Knowledge, term: Term) -> Option<Term> {
    match knowledge {
        Knowledge::Number(_) => None,
        Knowledge::Unknown => Some(term),
        Knowledge::Scaled(base, stride) => {
            let (constant, parts) = terms.linear(term);
            let divided = |f: u64| (f as i64 / stride as i64) as u64;
            let parts: Vec<(u64, Term)> = parts.iter().map(|&(f, t)| (divided(f), t)).collect();
            Some(terms.sum(divided(constant.wrapping_sub(base)), &parts, 64))
        }
    }
}

//! Binary relations over the events of one execution, as bit matrices, with the operators that axioms are written in.
//!
//! | in papers | here |
//! |---|---|
//! | `a ∪ b`, `a ∩ b`, `a \ b` | `a \| b`, `a & b`, `a - b` |
//! | `a ; b` | `a.seq(b)` |
//! | `[A]` | `Relation::on(A)` |
//! | `A × B` | `Relation::product(A, B)` |
//! | `a?`, `a+`, `a*` | `a.opt()`, `a.plus()`, `a.star()` |
//! | `a⁻¹` | `a.inverse()` |
//!
//! Sets and relations know how many events there are, so that they need not look at more.

use std::ops::{BitAnd, BitOr, Sub};

/// An execution has at most this many events, initial writes included.
pub const MAX_EVENTS: usize = 64;

/// A set of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Set {
    bits: u64,
    events: usize,
}

impl Set {
    /// The empty set, of so many events.
    pub fn new(events: usize) -> Set {
        assert!(events <= MAX_EVENTS, "an execution has at most {MAX_EVENTS} events");
        Set { bits: 0, events }
    }

    /// Adds an event.
    pub fn insert(&mut self, event: usize) {
        debug_assert!(event < self.events, "there is such an event");
        self.bits |= 1 << event;
    }

    /// Whether an event is in it.
    pub fn contains(self, event: usize) -> bool {
        self.bits >> event & 1 == 1
    }

    /// Whether there is nothing in it.
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// The events in it.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        ones(self.bits)
    }
}

/// The places of the ones.
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros() as usize;
        (bits != 0).then(|| {
            bits &= bits - 1;
            place
        })
    })
}

impl BitOr for Set {
    type Output = Set;
    fn bitor(self, other: Set) -> Set {
        Set { bits: self.bits | other.bits, ..self }
    }
}

impl BitAnd for Set {
    type Output = Set;
    fn bitand(self, other: Set) -> Set {
        Set { bits: self.bits & other.bits, ..self }
    }
}

impl Sub for Set {
    type Output = Set;
    fn sub(self, other: Set) -> Set {
        Set { bits: self.bits & !other.bits, ..self }
    }
}

/// A relation: row `a` has bit `b` iff `a` is related to `b`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Relation {
    rows: [u64; MAX_EVENTS],
    events: usize,
}

impl Relation {
    /// The empty relation, of so many events.
    pub fn new(events: usize) -> Relation {
        assert!(events <= MAX_EVENTS, "an execution has at most {MAX_EVENTS} events");
        Relation { rows: [0; MAX_EVENTS], events }
    }

    /// The identity on a set.
    pub fn on(set: Set) -> Relation {
        let mut result = Relation::new(set.events);
        set.iter().for_each(|event| result.insert(event, event));
        result
    }

    /// Everything in one set to everything in another.
    pub fn product(from: Set, to: Set) -> Relation {
        let mut result = Relation::new(from.events);
        from.iter().for_each(|event| result.rows[event] = to.bits);
        result
    }

    /// Relates two events.
    pub fn insert(&mut self, from: usize, to: usize) {
        debug_assert!(from < self.events && to < self.events, "there are such events");
        self.rows[from] |= 1 << to;
    }

    /// Whether two events are related.
    pub fn contains(&self, from: usize, to: usize) -> bool {
        self.rows[from] >> to & 1 == 1
    }

    /// All related pairs.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let rows = self.rows[..self.events].iter().enumerate();
        rows.flat_map(|(from, &row)| ones(row).map(move |to| (from, to)))
    }

    /// One after the other: `a ; b`.
    pub fn seq(mut self, other: Relation) -> Relation {
        for row in &mut self.rows[..self.events] {
            *row = ones(*row).fold(0, |to, middle| to | other.rows[middle]);
        }
        self
    }

    /// The pairs the other way round.
    pub fn inverse(self) -> Relation {
        let mut result = Relation::new(self.events);
        self.pairs().for_each(|(from, to)| result.insert(to, from));
        result
    }

    /// The reflexive closure.
    pub fn opt(mut self) -> Relation {
        (0..self.events).for_each(|event| self.insert(event, event));
        self
    }

    /// The transitive closure (Warshall, "A theorem on Boolean matrices", 1962).
    pub fn plus(mut self) -> Relation {
        for middle in 0..self.events {
            let onwards = self.rows[middle];
            if onwards != 0 {
                let rows = self.rows[..self.events].iter_mut();
                rows.filter(|row| **row >> middle & 1 == 1).for_each(|row| *row |= onwards);
            }
        }
        self
    }

    /// The reflexive and transitive closure.
    pub fn star(self) -> Relation {
        self.plus().opt()
    }

    /// Whether no event is related to itself.
    pub fn is_irreflexive(&self) -> bool {
        (0..self.events).all(|event| !self.contains(event, event))
    }

    /// Whether there is no way from an event back to itself.
    pub fn is_acyclic(&self) -> bool {
        self.plus().is_irreflexive()
    }

    /// Whether nothing is related.
    pub fn is_empty(&self) -> bool {
        self.rows[..self.events].iter().all(|&row| row == 0)
    }

    fn zip(mut self, other: Relation, op: impl Fn(u64, u64) -> u64) -> Relation {
        self.rows[..self.events].iter_mut().zip(other.rows).for_each(|(row, other)| *row = op(*row, other));
        self
    }
}

impl BitOr for Relation {
    type Output = Relation;
    fn bitor(self, other: Relation) -> Relation {
        self.zip(other, |a, b| a | b)
    }
}

impl BitAnd for Relation {
    type Output = Relation;
    fn bitand(self, other: Relation) -> Relation {
        self.zip(other, |a, b| a & b)
    }
}

impl Sub for Relation {
    type Output = Relation;
    fn sub(self, other: Relation) -> Relation {
        self.zip(other, |a, b| a & !b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(pairs: &[(usize, usize)]) -> Relation {
        let mut result = Relation::new(64);
        pairs.iter().for_each(|&(from, to)| result.insert(from, to));
        result
    }

    fn set(events: &[usize]) -> Set {
        let mut result = Set::new(64);
        events.iter().for_each(|&event| result.insert(event));
        result
    }

    #[test]
    fn operators_are_those_of_relation_algebra() {
        let (a, b) = (relation(&[(0, 1), (1, 2), (63, 0)]), relation(&[(1, 2), (2, 5)]));
        assert_eq!(a | b, relation(&[(0, 1), (1, 2), (63, 0), (2, 5)]));
        assert_eq!(a & b, relation(&[(1, 2)]));
        assert_eq!(a - b, relation(&[(0, 1), (63, 0)]));
        assert_eq!(a.seq(b), relation(&[(0, 2), (1, 5)]));
        assert_eq!(a.inverse(), relation(&[(1, 0), (2, 1), (0, 63)]));
        assert_eq!(a.plus(), relation(&[(0, 1), (0, 2), (1, 2), (63, 0), (63, 1), (63, 2)]));
        assert_eq!(a.star(), a.plus() | Relation::new(64).opt());
        assert_eq!(Relation::on(set(&[1])).seq(a), relation(&[(1, 2)]));
        assert_eq!(Relation::product(set(&[0, 3]), set(&[1])), relation(&[(0, 1), (3, 1)]));
        assert_eq!((set(&[1, 2]) - set(&[2])) | (set(&[3, 4]) & set(&[4])), set(&[1, 4]));
    }

    #[test]
    fn cycles_of_any_length_are_found() {
        assert!(relation(&[(0, 1), (1, 2), (0, 2)]).is_acyclic());
        assert!(!relation(&[(0, 1), (1, 2), (2, 0)]).is_acyclic());
        assert!(!relation(&[(7, 7)]).is_acyclic());
        assert!(relation(&[(0, 1), (1, 0)]).is_irreflexive());
    }
}

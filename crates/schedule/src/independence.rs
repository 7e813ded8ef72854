//! When two transitions are independent.
//!
//! Definition 18 of the paper asks for transitions that commute and neither enable nor disable each other. What is known of
//! a transition is what it accesses: two transitions of different threads are independent if neither writes what the other
//! accesses. A lock, an assumption or a barrier reads or writes what decides whether it blocks, so that the
//! second half of the definition follows from the first.

use crate::Access;

/// How much of what is known is used: the levels of optimisation of section 5.5.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Precision {
    /// Opt0: nothing; all transitions depend on each other, and a section schedule is a total order.
    Order,
    /// Opt1: objects.
    Objects,
    /// Opt2: bytes of objects, so that accesses to distinct cells of an array are independent.
    Bytes,
}

/// Whether transitions of different threads with these accesses are dependent: R1 ∦ R2.
pub fn dependent(a: &[Access], b: &[Access], precision: Precision) -> bool {
    match precision {
        Precision::Order => true,
        Precision::Objects => conflict(a, b, |x, y| x.object == y.object),
        Precision::Bytes => conflict(a, b, |x, y| x.object == y.object && overlap(x.bytes, y.bytes)),
    }
}

fn conflict(a: &[Access], b: &[Access], same: impl Fn(&Access, &Access) -> bool) -> bool {
    a.iter().any(|x| b.iter().any(|y| (x.write || y.write) && same(x, y)))
}

fn overlap(a: Option<(u64, u64)>, b: Option<(u64, u64)>) -> bool {
    match (a, b) {
        (Some((start, end)), Some((other, other_end))) => start < other_end && other < end,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectId;
    use selvedge_ir::EntityRef;

    fn access(object: usize, bytes: Option<(u64, u64)>, write: bool) -> [Access; 1] {
        [Access { object: ObjectId::new(object), bytes, write }]
    }

    #[test]
    fn two_reads_commute_and_a_write_does_not() {
        let (read, write) = (access(0, None, false), access(0, None, true));
        assert!(!dependent(&read, &read, Precision::Objects));
        assert!(dependent(&read, &write, Precision::Objects));
        assert!(!dependent(&write, &access(1, None, true), Precision::Objects));
        assert!(dependent(&read, &[], Precision::Order));
    }

    #[test]
    fn distinct_cells_are_independent_only_where_bytes_count() {
        let (low, high) = (access(0, Some((0, 4)), true), access(0, Some((4, 8)), true));
        assert!(dependent(&low, &high, Precision::Objects));
        assert!(!dependent(&low, &high, Precision::Bytes));
        assert!(dependent(&low, &access(0, None, false), Precision::Bytes));
        assert!(dependent(&low, &access(0, Some((3, 5)), false), Precision::Bytes));
    }
}

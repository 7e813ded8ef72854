//! Weak initials (Def. 3 of the await paper) and redundancy with respect to a sleep set.
//!
//! A thread `p` is a weak initial of `v` after `E` if the next event of `p` is independent with all events of `v` that
//! precede it, or with all of `v` if `p` is not in it. Then some extension of `E.v` is equivalent to some extension of
//! `E.p`: exploring `v` after `p` has been explored would be redundant.

use crate::action::{ANY, Action, Sections};

/// Whether and where a thread is a weak initial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Initial {
    /// It is not.
    No,
    /// It is, and it is not in the sequence.
    NotIn,
    /// It is, and its first event is at this position.
    At(usize),
}

/// Whether the thread that makes this step is a weak initial of `v`.
#[inline]
pub fn weak_initial(step: &Action, v: &[Action], sections: &Sections) -> Initial {
    for (position, other) in v.iter().enumerate() {
        if other.thread == step.thread {
            return if same_choice(step.choice, other.choice) { Initial::At(position) } else { Initial::No };
        }
        if sections.conflict(&step.footprint, &other.footprint) {
            return Initial::No;
        }
    }
    Initial::NotIn
}

/// A step with another alternative is another step. One whose alternative is not chosen yet stands for all of them.
#[inline]
fn same_choice(a: u32, b: u32) -> bool {
    a == b || a == ANY || b == ANY
}

/// Whether `v` is redundant with respect to a sleep set: some sleeping step is a weak initial of it
/// (the negation of Alg. 1, ll. 6 and 21).
#[inline]
pub fn redundant(sleep: &[Action], v: &[Action], sections: &Sections) -> bool {
    sleep.iter().any(|step| weak_initial(step, v, sections) != Initial::No)
}

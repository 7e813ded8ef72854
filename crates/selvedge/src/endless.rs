//! Loops that only look, and never come back to where they were.
//!
//! A loop that waits ends an execution where it comes back to a state in which it was (`spin.rs`), and there are loops that never
//! do: they count their looks, put a new value where the old one was, or push something to a list and pop it again. Nobody is told
//! of that as long as they wait, but to anybody who looks at memory every iteration is another one. So there would be an
//! execution for every number of iterations, each longer than the one before, without an end.
//!
//! A thread *only looks* as long as it loads, fails to exchange something, takes locks and gives them back, chooses, frees
//! memory, counts references, and otherwise leaves what it writes as it was by the end of each iteration. (A word is as it was
//! if all that the thread has added to it is nothing: others may add to it as well.) If a thread has come round [`OFTEN`] times in
//! one execution since it last did anything else, the place where it comes round is *marked*, and the exploration starts again.
//! From then on a thread that comes to such a place is cut off when it has come back there [`ROUNDS`](crate::spin::ROUNDS) times
//! since it last did anything else, and has found nothing new since it was last there, whatever has become of its memory.
//!
//! That loses executions, and the verdict says so: nobody knows what the thread would do next. It may count, and give up at some
//! number; then it is explored to its end if it does so before it has come round so often. For the same reason a thread that
//! is cut off here is never in a livelock. If no execution comes to its end, all is explored once more with [`MOST_OFTEN`] in the
//! place of [`OFTEN`]; and if that does not help, it is a failure of its own.
//!
//! What is counted depends on nothing but what the thread itself does, so it is the same in whatever order the steps of an
//! execution are made.

use crate::runtime::At;
use crate::spin::is_quiet;
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_machine::{Access, Addr, Op, Outcome, Purpose, ThreadId, truncate};
use std::panic::Location;

/// So often a thread comes round before the place is marked.
const OFTEN: u32 = 128;
/// The same if no execution comes to its end otherwise.
pub(crate) const MOST_OFTEN: u32 = 1024;

/// The places where threads come round and round. (Another thread may come there in another loop, through a function that both
/// call.)
#[derive(Default)]
pub(crate) struct Endless {
    places: FxHashSet<(ThreadId, Location<'static>)>,
    takes_longer: bool,
}

impl Endless {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether a place is one of them.
    pub fn marks(&self, thread: ThreadId, at: At) -> bool {
        !self.places.is_empty() && self.places.contains(&(thread, *at))
    }

    /// Whether so many rounds are many.
    pub fn is_often(&self, rounds: u32) -> bool {
        rounds >= if self.takes_longer { MOST_OFTEN } else { OFTEN }
    }

    /// Marks a place; whether that is news.
    pub fn mark(&mut self, thread: ThreadId, at: At) -> bool {
        self.places.insert((thread, *at))
    }

    /// Forgets all, and waits longer from now on; whether that is news.
    pub fn takes_longer(&mut self) -> bool {
        self.places.clear();
        !std::mem::replace(&mut self.takes_longer, true)
    }
}

/// How long a thread has only looked.
#[derive(Default)]
pub(crate) struct Looks {
    /// Where it has come round, since it last did anything else. It may do so at several places in one iteration.
    places: Vec<Place>,
    /// What it has written, and what it has last read.
    written: FxHashMap<Addr, Written>,
    read: FxHashMap<Addr, u64>,
    /// How many operations it has performed.
    performed: u32,
}

/// A place where a thread comes round.
struct Place {
    at: At,
    /// How often.
    rounds: u32,
    /// As things were when it was last there.
    added: FxHashMap<Addr, u64>,
    read: FxHashMap<Addr, u64>,
    performed: u32,
}

/// A word that a thread has written.
#[derive(Clone, Copy)]
struct Written {
    last: u64,
    /// What it has added, in all.
    sum: u64,
}

impl Looks {
    /// Whether the thread has only looked since it came round somewhere.
    pub fn is_on(&self) -> bool {
        !self.places.is_empty()
    }

    /// The thread performs an operation. `is_aside` tells of which words it makes no difference that they are written: locks that
    /// are tried, and counts of references.
    pub fn performed(&mut self, op: &Op, outcome: Outcome, is_aside: impl Fn(Addr) -> bool) {
        self.performed += 1;
        if let Op::Access(access @ Access { purpose: Purpose::Data | Purpose::Sync, .. }) = op
            && access.reads()
            && !is_aside(access.addr)
        {
            self.read.insert(access.addr, outcome);
        }
        if is_quiet(op, outcome) {
            return;
        }
        match op {
            Op::Choose { .. } | Op::Free { .. } => {}
            Op::Access(Access { purpose: Purpose::Lock | Purpose::Unlock, .. }) => {}
            Op::Access(access) if is_aside(access.addr) => {}
            Op::Access(access) if access.written(outcome).is_some() => {
                let last = truncate(access.written(outcome).unwrap_or_default(), access.size);
                let known = self.written.get(&access.addr).copied();
                let found = if access.reads() { Some(outcome) } else { known.map(|known| known.last) };
                // Otherwise it is not known what was there before. In the next iteration it is.
                self.places.retain(|_| found.is_some());
                let added = found.map_or(0, |found| last.wrapping_sub(found));
                let sum = known.map_or(0, |known| known.sum).wrapping_add(added);
                self.written.insert(access.addr, Written { last, sum });
            }
            _ => {
                self.places.clear();
                self.written.clear();
            }
        }
    }

    /// The thread is at the end of an iteration: how often it has come round there. It has not if it has performed nothing (as a
    /// loop that waits longer and longer between two looks), and it begins anew if it has changed something.
    pub fn comes_round(&mut self, at: At) -> u32 {
        let performed = self.performed;
        let sums = self.written.iter().filter(|(_, word)| word.sum != 0);
        let added: FxHashMap<Addr, u64> = sums.map(|(addr, word)| (*addr, word.sum)).collect();
        let Some(place) = self.places.iter_mut().find(|place| place.at == at) else {
            self.places.push(Place { at, rounds: 1, added, read: self.read.clone(), performed });
            return 1;
        };
        if place.performed != performed {
            // Where somebody else has written something new, it may do something about that.
            let finds_news = place.read.iter().any(|(addr, old)| self.read.get(addr).is_some_and(|new| new != old));
            place.rounds = if place.added == added && !finds_news { place.rounds + 1 } else { 1 };
            (place.added, place.performed) = (added, performed);
            place.read.clone_from(&self.read);
        }
        place.rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_ir::{Order, RmwOp};
    use selvedge_machine::AccessKind;

    fn access(kind: AccessKind) -> Op {
        Op::Access(Access::new(Addr(64), 8, Order::AcqRel, kind))
    }

    fn add(operand: u64) -> Op {
        access(AccessKind::Rmw { op: RmwOp::Add, operand, used: true })
    }

    /// How often a thread has come round that does the same in every iteration.
    fn rounds(iteration: &[(Op, Outcome)]) -> u32 {
        let (mut looks, at) = (Looks::default(), Location::caller());
        let rounds = [0; 5].map(|_| {
            iteration.iter().for_each(|(op, outcome)| looks.performed(op, *outcome, |_| false));
            looks.comes_round(at)
        });
        rounds[4]
    }

    #[test]
    fn what_is_as_it_was_at_the_end_of_each_iteration_is_a_look() {
        let store = |value| (access(AccessKind::Store { value }), 0);
        let exchange = (access(AccessKind::Cas { expected: 0, new: 1, failure: Order::Relaxed }), 0);
        assert_eq!(rounds(&[(access(AccessKind::Load), 3)]), 5);
        assert_eq!(rounds(&[(add(1), 7), (add(u64::MAX), 9)]), 5, "others have added something in between");
        assert_eq!(rounds(&[exchange, store(0)]), 5);
        assert_eq!(
            rounds(&[store(1), store(0)]),
            5,
            "the first store is none, and comes before the end of an iteration"
        );
        assert_eq!(rounds(&[(add(1), 7)]), 1);
        assert_eq!(rounds(&[(Op::AtomicBegin, 0), (Op::AtomicEnd, 0)]), 1);
    }

    #[test]
    fn rounds_without_an_operation_do_not_count_nor_do_other_places() {
        let (mut looks, here, there) = (Looks::default(), Location::caller(), Location::caller());
        let load = access(AccessKind::Load);
        assert_eq!([here, here, there].map(|at| looks.comes_round(at)), [1, 1, 1]);
        looks.performed(&load, 0, |_| false);
        assert_eq!([here, here, there].map(|at| looks.comes_round(at)), [2, 2, 2]);
    }
}

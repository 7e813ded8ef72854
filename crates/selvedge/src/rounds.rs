//! Loops that wait for others and do not say so.
//!
//! In `while !flag.load(Acquire) {}` no `hint::spin_loop` tells where an iteration ends, so there would be an execution for
//! every number of iterations. But a thread that performs the same operation at the same place many times and changes
//! nothing in between is likely to be in such a loop. The place is then *marked*, and the exploration starts again: from now
//! on, a thread yields before it performs an operation there, as if `spin_loop` stood before it.
//!
//! To yield means nothing to the model. That a thread comes back to where it yields in the state in which it was there
//! before, having changed nothing, is a pure cycle wherever it yields (`spin.rs`), and what is a pure cycle is found out by
//! looking at its whole state. So it does no harm to mark a place in vain; it takes time only.
//!
//! If the thread counts its iterations, its states differ, and the loop may still never end. The bound on the length of an
//! execution is met then, and the operation that was performed most often is what is reported.

use crate::machine::awaits::is_look;
use crate::runtime::{self, At};
use crate::spin::is_quiet;
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_machine::{Addr, Op, Outcome, Purpose, ThreadId};
use std::panic::Location;

/// A place is marked when a thread has come there so often and has changed nothing.
const OFTEN: u32 = 24;

/// The places at which threads have come to the same operation again and again.
#[derive(Default)]
pub(crate) struct Unmarked {
    places: FxHashSet<Location<'static>>,
    /// The same by address: a place may have several, and to compare names of files takes time.
    known: FxHashMap<usize, bool>,
    longest: Option<Longest>,
}

/// The operation that a thread has performed most often without a change.
#[derive(Clone, Copy)]
pub(crate) struct Longest {
    pub rounds: u32,
    pub thread: ThreadId,
    pub op: Op,
    pub at: At,
}

impl Unmarked {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether threads yield before an operation.
    pub fn marks(&mut self, op: &Op, at: At) -> bool {
        let Unmarked { places, known, .. } = self;
        !places.is_empty()
            && waits(op).is_some()
            && *known.entry(std::ptr::from_ref(at).addr()).or_insert_with(|| places.contains(at))
    }

    /// A thread has come to an operation so many times; whether its place is marked now.
    fn came(&mut self, now: Longest) -> bool {
        if self.longest.is_none_or(|longest| longest.rounds < now.rounds) {
            self.longest = Some(now);
        }
        let is_new = self.places.insert(*now.at);
        if is_new {
            self.known.clear();
        }
        is_new
    }

    /// What was performed most often, if that was often.
    pub fn longest(&self) -> Option<Longest> {
        self.longest
    }

    /// The exploration starts.
    pub fn forget_longest(&mut self) {
        self.longest = None;
    }
}

/// How often a thread has come to its places since it last changed something.
#[derive(Default)]
pub(crate) struct Rounds {
    places: Vec<(usize, Addr, u32)>,
}

impl Rounds {
    /// The thread has performed an operation. Whether the exploration has to start again, since its place is marked now.
    pub fn performed(&mut self, op: &Op, at: At, outcome: Outcome, thread: ThreadId) -> bool {
        let is_lock = matches!(op, Op::Access(access) if matches!(access.purpose, Purpose::Lock | Purpose::Unlock));
        if !is_lock && !is_quiet(op, outcome) && !matches!(op, Op::Choose { .. }) {
            self.places.clear();
            return false;
        }
        let Some(addr) = waits(op) else { return false };
        let place = std::ptr::from_ref(at).addr();
        let Some((.., rounds)) = self.places.iter_mut().find(|(at, of, _)| (*at, *of) == (place, addr)) else {
            self.places.push((place, addr, 1));
            return false;
        };
        *rounds += 1;
        let now = Longest { rounds: *rounds, thread, op: *op, at };
        now.rounds >= OFTEN && runtime::shared(|shared| shared.unmarked.came(now) && mark(&mut shared.restart))
    }
}

fn mark(restart: &mut bool) -> bool {
    *restart = true;
    true
}

/// The object of an operation that a loop could wait with.
fn waits(op: &Op) -> Option<Addr> {
    match op {
        Op::Access(access) if access.purpose == Purpose::Lock || is_look(access) => Some(access.addr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_ir::Order;
    use selvedge_machine::{Access, AccessKind};

    #[test]
    fn only_what_a_loop_could_wait_with_is_marked() {
        let at = Location::caller();
        let access = |order, kind| Op::Access(Access::new(Addr(64), 1, order, kind));
        let load = access(Order::Acquire, AccessKind::Load);
        let mut unmarked = Unmarked::default();
        assert!(!unmarked.marks(&load, at));
        let now = Longest { rounds: OFTEN, thread: selvedge_machine::main_thread(), op: load, at };
        assert!(unmarked.came(now) && !unmarked.came(now), "it is news once");
        assert!(unmarked.marks(&load, at) && !unmarked.marks(&load, Location::caller()));
        assert!(!unmarked.marks(&access(Order::Release, AccessKind::Store { value: 1 }), at));
        assert!(!unmarked.marks(&access(Order::Plain, AccessKind::Load), at));
    }
}

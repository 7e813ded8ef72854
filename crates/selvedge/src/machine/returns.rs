//! Looks that fail, after which the thread is in another state than before, but in one that makes no difference.
//!
//! A look that fails is a pure cycle only if the thread comes back in the state that it was in (`awaits.rs`). Often it
//! does not, the first time: compilers make a copy of the operation for the first look of a loop, and without optimisation
//! what was looked at last is left in a place on the stack that is written anew before it is read again.
//!
//! So there is a second way to see that nothing is lost if the look is not made. Let S be the state before it, and let W be
//! the values with which looks were found to fail there, U those with which the thread goes on. Every sequence of values of
//! W leads from S to some state; there must be few of these, in all of them the thread stands at the same operation at the
//! same place, and memory is as it was. Told a value of U in any of them, the thread must do what it does if it is told
//! that in S: come to the same operation in the same state, or come to its end, with the same memory. If it comes to the same
//! store, but something else is still on its stack, it is told that it has stored, and so on: what comes of that is known.
//!
//! Now let G be an execution in which the thread makes looks that fail, with values of W, and one that does not, with a
//! value of U. In G without the looks that fail, the thread is in S when it reads the value of U, and goes on as it does
//! in G. The rest is as in `spin.rs`.
//!
//! All of that is looked at whenever the engine asks about a value: with all values that it has asked about before if the
//! thread had been told the same. What depends on what others have left in memory is thereby looked at for each pair of values
//! in every past in which both can be read, when the second of them is asked for. If it ever does not hold, the exploration
//! starts again, and at this place only looks that come back in the same state fail.

use super::RustMachine;
use super::awaits::Look;
use super::snapshot::{Snapshot, cannot_be_put_back};
use crate::coroutine::Came;
use crate::runtime::{self, At, Yielded};
use crate::spin::is_quiet;
use rustc_hash::FxHasher;
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, AccessKind, Op, Outcome, ThreadId};
use std::hash::{Hash, Hasher};

/// More values and states are not looked at.
const MOST: usize = 16;
/// Nor more stores that a thread makes after it has gone on.
const LONGEST: usize = 16;
/// Nor more pasts.
const MOST_PASTS: usize = 1 << 16;

/// With which values a thread was found to look again, and to go on.
#[derive(Default)]
pub(super) struct Values {
    fails: Vec<Outcome>,
    goes_on: Vec<Outcome>,
}

/// What a thread has come to.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    /// A number for what it is.
    came: u64,
    stands: Option<(Op, At)>,
    /// Numbers for what has changed on stacks and in memory.
    stack: u64,
    memory: u64,
}

impl Place {
    /// Whether only the stack is another one.
    fn differs_in_stack(&self, other: &Place) -> bool {
        Place { stack: other.stack, ..*self } == *other
    }

    /// Whether the outcome of the operation is known.
    fn stores(&self) -> bool {
        let is_store = |access: &Access| matches!(access.kind, AccessKind::Store { .. }) && access.until.is_none();
        match self.stands {
            Some((Op::Access(access), _)) => is_store(&access),
            Some((Op::Fence { .. }, _)) => true,
            _ => false,
        }
    }
}

impl RustMachine {
    /// Tells a thread a value, as [`RustMachine::look`] does, where looks may come back in another state.
    pub(super) fn look_otherwise(&mut self, thread: ThreadId, value: Outcome) -> Look {
        let mut here = std::mem::take(&mut self.tries.here);
        let mut look = Look::Matters;
        if self.save_thread(thread, &mut here, None) {
            self.starts_trial();
            look = self.try_look(thread, value, &here);
            self.ends_trial();
            self.stale |= !self.put_thread_back(&here);
        }
        self.tries.here = here;
        look
    }

    fn try_look(&mut self, thread: ThreadId, value: Outcome, here: &Snapshot) -> Look {
        let before = self.place(thread, 0, here);
        let quiet = before.stands.is_some_and(|(op, _)| is_quiet(&op, value));
        let fails = match quiet.then(|| self.tell_look(thread, value)).flatten() {
            None => false,
            Some(came) => match self.place(thread, came, here) {
                now if now.differs_in_stack(&before) => true,
                now if now.stands == before.stands => return Look::Matters,
                _ => return Look::Elsewhere,
            },
        };
        let key = (self.told(thread), thread);
        let asked = self.returns.len();
        let values = self.returns.entry(key).or_default();
        let (same, other) = if fails { (&mut values.fails, &values.goes_on) } else { (&mut values.goes_on, &values.fails) };
        if other.contains(&value) {
            return Look::Elsewhere;
        }
        if !same.contains(&value) {
            same.push(value);
        }
        if asked == MOST_PASTS || same.len() > MOST {
            return Look::Matters;
        }
        let Values { fails: failing, goes_on } = std::mem::take(values);
        let same = self.makes_no_difference(thread, &before, (&failing, &goes_on), here);
        self.returns.insert(key, Values { fails: failing, goes_on });
        match same {
            true if fails => Look::ComesBack,
            true => Look::GoesOn,
            false => Look::Matters,
        }
    }

    /// Whether a thread goes on in the same way, whatever looks have failed before.
    fn makes_no_difference(
        &mut self,
        thread: ThreadId,
        before: &Place,
        (fails, goes_on): (&[Outcome], &[Outcome]),
        here: &Snapshot,
    ) -> bool {
        if fails.is_empty() {
            return true;
        }
        let Some(states) = self.states_after(thread, before, fails, here) else { return false };
        goes_on.iter().all(|&value| {
            let Some(wanted) = self.go_on_from(thread, (&[], value), here) else { return false };
            states[1..].iter().all(|(looks, _)| {
                self.go_on_from(thread, (looks, value), here).is_some_and(|found| comes_to_the_same(&wanted, &found))
            })
        })
    }

    /// The states in which a thread can be after looks that fail, and such looks.
    fn states_after(
        &mut self,
        thread: ThreadId,
        before: &Place,
        fails: &[Outcome],
        here: &Snapshot,
    ) -> Option<Vec<(Vec<Outcome>, u64)>> {
        let mut states = vec![(Vec::new(), before.stack)];
        let mut next = 0;
        while next < states.len() {
            for &value in fails {
                let mut looks: Vec<Outcome> = states[next].0.clone();
                looks.push(value);
                let now = self.after(thread, &looks, here)?;
                if !now.differs_in_stack(before) || states.len() == MOST {
                    return None;
                }
                if !states.iter().any(|(_, stack)| *stack == now.stack) {
                    states.push((looks, now.stack));
                }
            }
            next += 1;
        }
        Some(states)
    }

    /// Lets a thread make looks that fail: where it is then, if all of them do.
    fn after(&mut self, thread: ThreadId, looks: &[Outcome], here: &Snapshot) -> Option<Place> {
        if !self.put_thread_back(here) {
            return None;
        }
        let all_fail = looks.iter().all(|&value| self.tell_look(thread, value) == Some(0));
        all_fail.then(|| self.place(thread, 0, here))
    }

    /// Lets a thread go on after looks that have failed: what it comes to, up to the first operation whose outcome is not
    /// known.
    fn go_on_from(
        &mut self,
        thread: ThreadId,
        (looks, value): (&[Outcome], Outcome),
        here: &Snapshot,
    ) -> Option<Vec<Place>> {
        self.after(thread, looks, here)?;
        let mut came = self.tell_once(thread, value);
        let mut places = vec![self.place(thread, came, here)];
        while places.len() < LONGEST && places.last().is_some_and(Place::stores) {
            came = self.tell_once(thread, 0);
            places.push(self.place(thread, came, here));
        }
        Some(places)
    }

    /// Tells a thread what it finds when it looks. If it comes by `spin_loop`, what it comes to then.
    fn tell_look(&mut self, thread: ThreadId, value: Outcome) -> Option<u64> {
        if self.tell_once(thread, value) != YIELDS {
            return None;
        }
        Some(match self.tell_once(thread, 0) {
            OPERATION => 0,
            other => other,
        })
    }

    /// Runs a thread until it is suspended. A number for what it comes to.
    fn tell_once(&mut self, thread: ThreadId, outcome: Outcome) -> u64 {
        let Some(slot) = &mut self.slots[thread.index()] else { return OTHER };
        runtime::repeats(false);
        let came = self.pool.resume(&mut slot.strand, outcome);
        cannot_be_put_back(&came);
        match &came {
            Came::Op => OPERATION,
            Came::To(Yielded::Yields { .. }) => YIELDS,
            Came::To(_) => OTHER,
            Came::End => ENDED,
            Came::Panic(panic) => {
                let mut hasher = FxHasher::default();
                panic.0.hash(&mut hasher);
                hasher.finish() | 1 << 63
            }
        }
    }

    /// Where a thread is.
    fn place(&self, thread: ThreadId, came: u64, here: &Snapshot) -> Place {
        let (stack, memory) = self.differences(here);
        Place { came, stands: self.stands_at(thread), stack, memory }
    }
}

const OPERATION: u64 = 1;
const YIELDS: u64 = 2;
const ENDED: u64 = 3;
/// It cannot go on.
const OTHER: u64 = 4;

/// Whether a thread comes to the same state on two ways, and to the same on the way there.
fn comes_to_the_same(one: &[Place], other: &[Place]) -> bool {
    for (one, other) in one.iter().zip(other) {
        if one == other {
            return one.came == OPERATION || one.came == ENDED;
        }
        if !one.differs_in_stack(other) {
            return false;
        }
    }
    false
}

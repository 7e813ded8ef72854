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
//! All of that is looked at whenever the engine asks about a value: with the values that it has asked about before if the
//! thread had been told the same. But a thread is told nothing that nobody has written in the present run, since it could not
//! have been prepared for it (the value may be a pointer). What has been left out for that is made up for: G without the
//! looks that fail has the same writes as G, and it is explored. When that is at its end, all values that have been written
//! are known. Either those of W among them have been tried out together with the value that the thread has gone on with,
//! or one of them will be found to be in W later, and then they have to be tried out at once. If not, or if something ever does
//! not hold, the exploration starts again, and at this place only looks that come back in the same state fail.
//!
//! The thread is put back (`snapshot.rs`) as long as it has not changed memory. If it has, that may be memory which somebody
//! outside of the model knows of (a test that collects what it has seen), and to put it back would not be safe: then everything is
//! run again instead each time, and what is compared does not depend on where things lie in memory.

use super::RustMachine;
use super::attempts::{Before, Trace};
use super::awaits::Look;
use super::past::written;
use super::snapshot::{Snapshot, cannot_be_put_back};
use crate::coroutine::Came;
use crate::runtime::{self, At, Yielded};
use crate::script::Step;
use crate::spin::is_quiet;
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, AccessKind, Addr, Op, Outcome, ThreadId, main_thread};

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
    /// A value with which it goes on, and those with which looks were made before that and failed: it makes no difference.
    tried: Vec<(Outcome, Vec<Outcome>)>,
    /// The same where an execution has ended, with all values that were there.
    ended: Vec<(Outcome, Vec<Outcome>)>,
}

impl Values {
    /// Whether it was tried out that looks with some of these values make no difference to a thread that goes on with one.
    fn makes_no_difference(&self, goes_on: Outcome, there: &[Outcome]) -> bool {
        let fails: Vec<Outcome> = there.iter().copied().filter(|value| self.fails.contains(value)).collect();
        let tried = |(value, looks): &(Outcome, Vec<Outcome>)| {
            *value == goes_on && fails.iter().all(|value| looks.contains(value))
        };
        fails.is_empty() || self.tried.iter().any(tried)
    }

    fn note_tried(&mut self, goes_on: Outcome, fails: &[Outcome]) {
        if !self.makes_no_difference(goes_on, fails) {
            self.tried.push((goes_on, fails.to_vec()));
        }
    }
}

/// A thread that is asked what it does, and the state that it is in before that.
struct Asked {
    thread: ThreadId,
    /// The value that the engine asks about.
    value: Outcome,
    here: Snapshot,
    /// Whether everything is run again instead of putting the thread back.
    again: bool,
    /// What memory looked like then.
    before: Before,
}

/// What a thread has come to.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    came: u64,
    stands: Option<(Op, At)>,
    trace: Trace,
}

/// What `Place::came` says.
const OPERATION: u64 = 1;
const YIELDS: u64 = 2;
const ENDED: u64 = 3;
/// It cannot go on.
const OTHER: u64 = 4;

impl Place {
    /// Whether only the stack is another one.
    fn differs_in_stack(&self, other: &Place) -> bool {
        Place { trace: Trace { stack: other.trace.stack, ..self.trace }, ..*self } == *other
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
        let size = self.slots[thread.index()].as_ref().map_or(0, |slot| slot.strand.depth(slot.strand.low()));
        if runtime::shared(|shared| shared.must_clear(size)) {
            return Look::GoesOn;
        }
        let mut here = std::mem::take(&mut self.tries.here);
        if !self.save_thread(thread, &mut here, None) {
            self.tries.here = here;
            return Look::Matters;
        }
        let mut asked = Asked { thread, value, here, again: false, before: Before::default() };
        self.starts_trial();
        let look = self.try_look(&mut asked, value);
        if !self.back_in_place(&mut asked) {
            runtime::shared(|shared| shared.tries_out = false);
            self.stale = true;
        }
        self.ends_trial();
        self.tries.here = asked.here;
        look
    }

    fn try_look(&mut self, asked: &mut Asked, value: Outcome) -> Look {
        let before = self.place(asked, OPERATION);
        let quiet = before.stands.is_some_and(|(op, _)| is_quiet(&op, value));
        let fails = match quiet.then(|| self.tell_look(asked.thread, value)).flatten() {
            None => false,
            Some(came) => match self.place(asked, came) {
                now if now.differs_in_stack(&before) => true,
                now if now.stands == before.stands => return Look::Matters,
                _ => return Look::Elsewhere,
            },
        };
        let key = (self.told(asked.thread), asked.thread);
        let pasts = self.returns.len();
        let values = self.returns.entry(key).or_default();
        let (same, other) = match fails {
            true => (&mut values.fails, &values.goes_on),
            false => (&mut values.goes_on, &values.fails),
        };
        if other.contains(&value) {
            return Look::Elsewhere;
        }
        if !same.contains(&value) {
            same.push(value);
        }
        if pasts == MOST_PASTS || same.len() > MOST {
            return Look::Matters;
        }
        let mut values = std::mem::take(values);
        let same = self.makes_no_difference(asked, &before, &mut values)
            && values.ended.iter().all(|(value, there)| values.makes_no_difference(*value, there));
        self.returns.insert(key, values);
        match same {
            true if fails => Look::ComesBack,
            true => Look::GoesOn,
            false => Look::Matters,
        }
    }

    /// Whether a thread goes on in the same way, whatever looks have failed before.
    fn makes_no_difference(&mut self, asked: &mut Asked, before: &Place, values: &mut Values) -> bool {
        let Some((Op::Access(access), _)) = before.stands else { return false };
        // What others have not written they have not prepared either: a pointer may lead nowhere, and a number to what is not
        // there yet.
        let there = self.values_of(access.addr);
        let is_there = |value: &Outcome| *value == asked.value || there.contains(value);
        let fails: Vec<Outcome> = values.fails.iter().copied().filter(is_there).collect();
        let goes_on: Vec<Outcome> = values.goes_on.iter().copied().filter(is_there).collect();
        if fails.is_empty() {
            return true;
        }
        let Some(states) = self.states_after(asked, before, &fails) else { return false };
        goes_on.into_iter().all(|value| {
            // If it turns out on the way that the thread cannot be put back, once more.
            let was_put_back = !asked.again;
            let mut same = self.goes_on_in_the_same_way(asked, &states[1..], value);
            if was_put_back && asked.again {
                same = self.goes_on_in_the_same_way(asked, &states[1..], value);
            }
            if same {
                values.note_tried(value, &fails);
            }
            same
        })
    }

    /// The values that a word has had in this run.
    fn values_of(&self, addr: Addr) -> Vec<Outcome> {
        let first = self.tries.inits.get(&addr).copied();
        let written = self.steps[..self.made].iter().filter_map(|step| written(step, addr));
        let mut values: Vec<Outcome> = written.chain(first).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    /// An execution has ended: what has been written in it makes no difference to threads that have gone on after a look.
    pub(super) fn looks_have_ended(&mut self) {
        if self.returns.is_empty() {
            return;
        }
        self.told(main_thread());
        for n in 0..self.made {
            let Step { thread, op: Op::Access(access), outcome, at: Some(at), .. } = self.steps[n] else { continue };
            if !access.spins {
                continue;
            }
            let (key, there) = ((self.told_until(n, thread), thread), self.values_of(access.addr));
            let Some(values) = self.returns.get_mut(&key) else { continue };
            if !values.makes_no_difference(outcome, &there) {
                runtime::shared(|shared| shared.restart |= shared.awaits.looked(at, Look::Matters));
            } else if !values.ended.iter().any(|(value, known)| (*value, known) == (outcome, &there)) {
                values.ended.push((outcome, there));
            }
        }
    }

    fn goes_on_in_the_same_way(&mut self, asked: &mut Asked, states: &[(Vec<Outcome>, Trace)], value: Outcome) -> bool {
        let Some(wanted) = self.go_on_from(asked, &[], value) else { return false };
        states.iter().all(|(looks, _)| {
            self.go_on_from(asked, looks, value).is_some_and(|found| comes_to_the_same(&wanted, &found))
        })
    }

    /// The states in which a thread can be after looks that fail, and such looks.
    fn states_after(
        &mut self,
        asked: &mut Asked,
        before: &Place,
        fails: &[Outcome],
    ) -> Option<Vec<(Vec<Outcome>, Trace)>> {
        let mut states = vec![(Vec::new(), before.trace)];
        let mut next = 0;
        while next < states.len() {
            for &value in fails {
                let mut looks: Vec<Outcome> = states[next].0.clone();
                looks.push(value);
                if asked.again || !self.back_in_place(asked) || !self.all_fail(asked, &looks) {
                    return None;
                }
                let now = self.place(asked, OPERATION);
                if !now.differs_in_stack(before) || states.len() == MOST {
                    return None;
                }
                if !states.iter().any(|(_, trace)| *trace == now.trace) {
                    states.push((looks, now.trace));
                }
            }
            next += 1;
        }
        Some(states)
    }

    /// Lets a thread go on after looks that have failed: what it comes to, up to the first operation whose outcome is not
    /// known.
    fn go_on_from(&mut self, asked: &mut Asked, looks: &[Outcome], value: Outcome) -> Option<Vec<Place>> {
        if !self.back_in_place(asked) {
            self.run_again().ok()?;
            let blocks = runtime::shared(|shared| shared.blocks.contents());
            asked.before = Before { blocks, stacks: self.other_stacks(asked.thread) };
            self.compared.real = false;
        }
        if !self.all_fail(asked, looks) {
            return None;
        }
        let mut came = self.tell_once(asked.thread, value);
        let mut places = vec![self.place(asked, came)];
        while places.len() < LONGEST && places.last().is_some_and(Place::stores) {
            came = self.tell_once(asked.thread, 0);
            places.push(self.place(asked, came));
        }
        Some(places)
    }

    /// Puts a thread back, unless everything is run again.
    fn back_in_place(&mut self, asked: &mut Asked) -> bool {
        if !asked.again && (self.has_touched(&asked.here) || !self.put_thread_back(&asked.here)) {
            asked.again = true;
            self.ends_trial();
            self.compared.real = false;
            runtime::shared(|shared| shared.tries_out = true);
        }
        !asked.again
    }

    /// Lets a thread make looks; whether all of them fail.
    fn all_fail(&mut self, asked: &Asked, looks: &[Outcome]) -> bool {
        looks.iter().all(|&value| self.tell_look(asked.thread, value) == Some(OPERATION))
    }

    /// Tells a thread what it finds when it looks. If it comes by `spin_loop`, what it comes to then.
    fn tell_look(&mut self, thread: ThreadId, value: Outcome) -> Option<u64> {
        (self.tell_once(thread, value) == YIELDS).then(|| self.tell_once(thread, 0))
    }

    /// Runs a thread until it is suspended; a number for what it comes to.
    fn tell_once(&mut self, thread: ThreadId, outcome: Outcome) -> u64 {
        let Some(slot) = &mut self.slots[thread.index()] else { return OTHER };
        runtime::repeats(false);
        let came = self.pool.resume(&mut slot.strand, outcome);
        cannot_be_put_back(&came);
        runtime::shared(|shared| shared.met.clear());
        match &came {
            Came::Op => OPERATION,
            Came::To(Yielded::Yields { .. }) => YIELDS,
            Came::To(_) => OTHER,
            Came::End => ENDED,
            Came::Panic(_) => OTHER,
        }
    }

    /// Where a thread is.
    fn place(&mut self, asked: &Asked, came: u64) -> Place {
        let trace = if asked.again {
            self.trace(asked.thread, &asked.before)
        } else {
            let (stack, memory) = self.differences(&asked.here);
            Trace { stack, memory }
        };
        Place { came, stands: self.stands_at(asked.thread), trace }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_count_that_were_tried_out_together() {
        let mut values = Values { fails: vec![0, 1], ..Values::default() };
        values.note_tried(3, &[0]);
        assert!(values.makes_no_difference(3, &[0, 3]));
        assert!(!values.makes_no_difference(3, &[0, 1, 3]), "looks that find 1 were not tried out");
        assert!(!values.makes_no_difference(4, &[0, 4]), "4 was not");
        assert!(values.makes_no_difference(4, &[2, 4]), "no look fails");
        values.note_tried(3, &[1]);
        assert!(!values.makes_no_difference(3, &[0, 1, 3]), "the one may matter after the other");
        values.note_tried(3, &[0, 1]);
        assert!(values.makes_no_difference(3, &[0, 1, 3]));
    }
}

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
//! that in S: come to the same operation in the same state, or come to its end, with the same memory. If it comes to the same store,
//! or to a look into the same cell, but something else is still on its stack, it is told that it has done that, and so on: nothing
//! else can come of it.
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
//! When the thread then goes on in an execution, that is looked at once more, with what others have left in memory there: they
//! need not be as far as they were when the value was asked about.
//!
//! A value may be written, or be found to fail, only after that, and what is in memory may make a difference then: what is left to
//! be tried out in the end is what `owed.rs` is about.
//!
//! What comes of it depends on nothing but the values and the situation that the thread is in (`situation.rs`), so it is
//! looked at once for each of these: what others do elsewhere makes no difference.
//!
//! The thread is put back (`snapshot.rs`) as long as it has not changed memory which somebody outside of the model may have
//! got to know of meanwhile (a test that collects what it has seen): to put that back would not be safe. Then everything is
//! run again instead each time, and what is compared does not depend on where things lie in memory. A collection outside of
//! the model that takes up something new writes it to memory that is allocated for it, or that has been before. So nothing is
//! put back if something was allocated. Nor is it if something was written, with few exceptions: the contents of cells that
//! own nothing, and what a thread returns, are announced by the library when they are written; and that a reference is
//! dropped makes a count one less.

use super::RustMachine;
use super::attempts::Before;
use super::awaits::{Ahead, Look};
use super::owed::{Going, Owed};
use super::past::written;
use super::relayed;
use super::trial::{Asked, OPERATION, Place, Stacks, found};
use crate::number::Number;
use crate::runtime::{self, At};
use crate::script::Step;
use crate::spin::is_quiet;
use crate::virtual_address::may_be_virtual;
use rustc_hash::FxHashMap;
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, Addr, Op, Outcome, Stop, ThreadId, main_thread};
use std::hash::{Hash, Hasher};

/// More values are not looked at.
const MOST: usize = 16;
/// Nor more pasts.
const MOST_PASTS: usize = 1 << 16;

/// So often a look is tried out, or an attempt, if the thread cannot be put back. That may be chance: memory outside of the model is
/// looked at (`outside.rs`), and somebody else may have changed it meanwhile, on another thread of the operating system.
pub(super) const TIMES: u32 = 3;

/// What is known of looks that may come back in another state.
#[derive(Default)]
pub(super) struct Returns {
    /// By threads, and numbers for what they have been told before.
    values: FxHashMap<(u64, ThreadId), Values>,
    /// Whether looks were found to fail, if that makes no difference, by numbers for what that depends on.
    shown: FxHashMap<u64, bool>,
    /// The values with which looks were found to fail, by the addresses of their places, whoever has looked.
    fails_at: FxHashMap<usize, Vec<Outcome>>,
    /// What has to be tried out before everything has been explored.
    pub(super) owed: Owed,
}

/// With which values a thread was found to look again, and to go on.
#[derive(Default)]
struct Values {
    fails: Vec<Outcome>,
    goes_on: Vec<Outcome>,
    /// A value with which it goes on, and those with which looks were made before that and failed: it makes no difference.
    tried: Vec<(Outcome, Vec<Outcome>)>,
    /// The same where an execution has ended, with all values that were there.
    ended: Vec<(Outcome, Vec<Outcome>)>,
    /// Looks that fail lead to another look at the word, which may find whatever is there.
    relayed: bool,
    /// Looks may also fail for no reason.
    weak: bool,
}

impl Values {
    /// Whether it was tried out that looks with some of these values make no difference to a thread that goes on with one.
    fn makes_no_difference(&self, goes_on: Outcome, there: &[Outcome]) -> bool {
        let fails: Vec<Outcome> = there.iter().copied().filter(|value| self.may_fail(*value)).collect();
        let found = if self.relayed { there } else { &fails };
        let tried = |(value, looks): &(Outcome, Vec<Outcome>)| {
            *value == goes_on && found.iter().all(|value| looks.contains(value))
        };
        fails.is_empty() || self.tried.iter().any(tried)
    }

    /// Whether a look may fail with a value, be it for no reason.
    fn may_fail(&self, value: Outcome) -> bool {
        self.fails.contains(&value) || self.weak && self.goes_on.contains(&value)
    }

    /// The values of both kinds that are there, or are asked about now.
    fn there(&self, there: &[Outcome], asked: Outcome) -> [Vec<Outcome>; 2] {
        let is_there = |value: &Outcome| *value == asked || there.contains(value);
        [&self.fails, &self.goes_on].map(|values| values.iter().copied().filter(is_there).collect())
    }

    fn note_tried(&mut self, goes_on: Outcome, fails: &[Outcome]) {
        if !self.makes_no_difference(goes_on, fails) {
            self.tried.push((goes_on, fails.to_vec()));
        }
    }
}

impl Returns {
    /// Whether no look has failed yet.
    fn is_first(&self, past: (u64, ThreadId)) -> bool {
        self.values.get(&past).is_none_or(|values| values.fails.is_empty())
    }

    /// A look was found to fail, or not to. Or else what is wrong: it was found otherwise before, or there are too many values.
    pub(super) fn note(&mut self, past: (u64, ThreadId), value: Outcome, fails: bool) -> Result<(), Look> {
        let pasts = self.values.len();
        let values = self.values.entry(past).or_default();
        let (same, other) = match fails {
            true => (&mut values.fails, &values.goes_on),
            false => (&mut values.goes_on, &values.fails),
        };
        if other.contains(&value) {
            return Err(Look::Elsewhere);
        }
        if !same.contains(&value) {
            same.push(value);
        }
        if pasts == MOST_PASTS || same.len() > MOST {
            return Err(Look::Matters);
        }
        Ok(())
    }

    /// Whether a value was asked about.
    pub(super) fn knows(&self, past: (u64, ThreadId), value: Outcome) -> bool {
        let knows = |values: &Values| values.fails.contains(&value) || values.goes_on.contains(&value);
        self.values.get(&past).is_some_and(knows)
    }
}

impl RustMachine {
    /// Whether a thread that is told a value goes on, which need not be tried out: it writes, and no look has failed before.
    pub(super) fn goes_on_at_once(&mut self, thread: ThreadId, value: Outcome) -> bool {
        let past = (self.told(thread), thread);
        let writes = !is_quiet(&self.states[thread.index()].op, value);
        writes
            && !self.waits_weakly(thread)
            && self.returns.is_first(past)
            && self.returns.note(past, value, false).is_ok()
    }

    /// A thread goes on after a look in an execution. When it was asked about the value, others may have been further than they
    /// are now, or not as far, and have left something else in memory: looks that fail must make no difference with what
    /// there is now.
    pub(super) fn goes_on_after_look(&mut self, thread: ThreadId, value: Outcome, at: At) -> Result<(), Stop> {
        let (may_differ, may_come_to_differ) = runtime::shared(|shared| match shared.once {
            true => (false, false),
            false => (shared.may_differ(at), shared.may_come_to_differ(at)),
        });
        if may_come_to_differ {
            let going = self.going(thread, value);
            self.returns.owed.goes_on(self.made, going);
        }
        let past = (self.told(thread), thread);
        if may_differ {
            self.asks_what_fails_elsewhere(thread, past, value, at)?;
        }
        if !may_differ || self.returns.is_first(past) && !self.waits_weakly(thread) {
            return Ok(());
        }
        let look = match self.look_otherwise(thread, value) {
            // With what there is now it looks again.
            Look::ComesBack => Look::Elsewhere,
            look => look,
        };
        self.has_looked(thread, at, look)
    }

    /// A thread goes on after a look. With values that others have found there and looked again it may do so too: if they have
    /// been written, that is tried out now, rather than found later in another situation (`owed.rs`).
    fn asks_what_fails_elsewhere(
        &mut self,
        thread: ThreadId,
        past: (u64, ThreadId),
        value: Outcome,
        at: At,
    ) -> Result<(), Stop> {
        let Op::Access(access) = self.states[thread.index()].op else { return Ok(()) };
        let Some(fails) = self.returns.fails_at.get(&std::ptr::from_ref(at).addr()) else { return Ok(()) };
        let is_new = |other: &Outcome| *other != value && !self.returns.knows(past, *other);
        let mut asked: Vec<Outcome> = fails.iter().copied().filter(is_new).collect();
        if !asked.is_empty() {
            let there = self.values_of(access.addr);
            asked.retain(|value| there.contains(value));
        }
        for value in asked {
            if self.stale {
                self.run_again()?;
            }
            let look = self.look_otherwise(thread, value);
            self.has_looked(thread, at, look)?;
        }
        if self.stale { self.run_again() } else { Ok(()) }
    }

    /// What has come of a look while a thread goes on.
    fn has_looked(&mut self, thread: ThreadId, at: At, look: Look) -> Result<(), Stop> {
        let restart = runtime::shared(|shared| {
            shared.restart |= shared.awaits.looked(at, look);
            shared.restart
        });
        if restart { self.starts_again(thread) } else { Ok(()) }
    }

    /// The same if it has gone on when it was asked about the value, as no look had come back yet.
    pub(super) fn has_gone_on_after_look(&mut self, ahead: &Ahead) {
        if let Some(going) = ahead.going {
            self.returns.owed.goes_on(self.made, going);
        }
    }

    /// How a thread that stands at a look goes on with a value.
    pub(super) fn going(&mut self, thread: ThreadId, value: Outcome) -> Going {
        let past = (self.told(thread), thread);
        let [fails, _] = self.values_there(past, value);
        self.goings(past, &[value], &fails)[0]
    }

    /// The values with which a thread that stands at a look was found to fail and to go on, as far as they are there.
    fn values_there(&self, past: (u64, ThreadId), asked: Outcome) -> [Vec<Outcome>; 2] {
        let Op::Access(Access { addr, .. }) = self.states[past.1.index()].op else { return Default::default() };
        let there = self.values_of(addr);
        self.returns.values.get(&past).map(|values| values.there(&there, asked)).unwrap_or_default()
    }

    /// The places where looks have still to be tried out.
    pub(super) fn unsettled(&self) -> Vec<At> {
        let fails = |past| {
            let values = self.returns.values.get(&past);
            let Some(values) = values else { return (Vec::new(), false) };
            let weakly = values.goes_on.iter().filter(|_| values.weak);
            (values.fails.iter().chain(weakly).copied().collect(), values.relayed)
        };
        self.returns.owed.places(fails)
    }

    /// Notes that a thread goes on where no look has come back yet: one may do so in another state later.
    pub(super) fn notes_going_on(&mut self, thread: ThreadId, value: Outcome) {
        let past = (self.told(thread), thread);
        // There may be too many values: that will be found again when it is asked whether it makes a difference.
        let _ = self.returns.note(past, value, false);
    }

    /// Tells a thread a value, as [`RustMachine::look`] does, where looks may come back in another state.
    pub(super) fn look_otherwise(&mut self, thread: ThreadId, value: Outcome) -> Look {
        let size = self.slots[thread.index()].as_ref().map_or(0, |slot| slot.strand.depth(slot.strand.low()));
        if runtime::shared(|shared| shared.must_clear(size)) {
            return Look::GoesOn;
        }
        let past = (self.told(thread), thread);
        let key = self.returns.knows(past, value).then(|| self.look_key(past, value));
        if let Some(&fails) = key.and_then(|key| self.returns.shown.get(&key)) {
            return match self.returns.note(past, value, fails) {
                Err(wrong) => wrong,
                Ok(()) if fails => Look::ComesBack,
                Ok(()) => Look::GoesOn,
            };
        }
        for _ in 1..TIMES {
            let (look, was_in_place) = self.look_in_place(thread, value, past, key);
            if was_in_place || matches!(look, Look::ComesBack | Look::GoesOn) || self.run_again().is_err() {
                return look;
            }
        }
        self.look_in_place(thread, value, past, key).0
    }

    /// The same if it has to be tried out, and whether nothing was in the way of that.
    fn look_in_place(
        &mut self,
        thread: ThreadId,
        value: Outcome,
        past: (u64, ThreadId),
        key: Option<u64>,
    ) -> (Look, bool) {
        let mut here = std::mem::take(&mut self.tries.here);
        if !self.save_thread(thread, &mut here, None) {
            self.tries.here = here;
            return (Look::Matters, true);
        }
        let looks = Some(Vec::new());
        let (relay, weak) = (self.relay_of(thread), self.waits_weakly(thread));
        let before = Before::default();
        let mut asked = Asked { thread, value, relay, weak, here, again: false, before, looks, seen: None };
        self.starts_trial();
        let look = self.try_look(&mut asked, past, key);
        let was_in_place = !asked.again;
        if !self.back_in_place(&mut asked) {
            runtime::shared(|shared| shared.tries_out = false);
            self.stale = true;
        }
        self.ends_trial();
        self.tries.here = asked.here;
        (look, was_in_place)
    }

    /// A number for all that a look depends on.
    fn look_key(&self, past: (u64, ThreadId), value: Outcome) -> u64 {
        let told = self.values_there(past, value);
        let mut hasher = Number::default();
        (past, value, &told).hash(&mut hasher);
        self.hash_relayed(past.1, &mut hasher);
        hasher.write_u64(self.situation(past.1, told.into_iter().flatten().chain([value])));
        hasher.finish()
    }

    fn try_look(&mut self, asked: &mut Asked, past: (u64, ThreadId), key: Option<u64>) -> Look {
        let value = asked.value;
        let before = self.place(asked, OPERATION);
        if (asked.relay.is_some() || asked.weak)
            && let Err(wrong) = self.ask_about_all(asked, &before, past)
        {
            return wrong;
        }
        let [fails, mut goes_on] = self.values_there(past, value);
        if !goes_on.contains(&value) {
            goes_on.push(value);
        }
        let mut goings = self.goings(past, &goes_on, &fails);
        if may_be_virtual(value) && !fails.contains(&value) {
            goings.extend(self.goings(past, &goes_on, &[&fails[..], &[value]].concat()));
        }
        let quiet = before.stands.is_some_and(|(op, _)| is_quiet(&op, value));
        let fails = match quiet.then(|| self.tell_look(asked, found(value))).flatten() {
            None => false,
            Some(came) => {
                let now = self.place(asked, came);
                asked.seen = Some((vec![found(value)], now));
                match now {
                    now if now.differs_in_stack(&before) || asked.is_relayed(&now, &before) => true,
                    now if now.stands == before.stands => return Look::Matters,
                    now => return relayed::where_to(&before, &now),
                }
            }
        };
        if let Err(wrong) = self.returns.note(past, value, fails) {
            return wrong;
        }
        if let Some((_, at)) = before.stands.filter(|_| fails) {
            let known = self.returns.fails_at.entry(std::ptr::from_ref(at).addr()).or_default();
            if known.len() < MOST && !known.contains(&value) {
                known.push(value);
            }
        }
        let mut values = self.returns.values.remove(&past).unwrap_or_default();
        (values.relayed, values.weak) = (asked.relay.is_some(), asked.weak);
        if asked.weak
            && let Some((_, at)) = before.stands
        {
            runtime::shared(|shared| shared.awaits.tries_weakly(at));
        }
        let same = self.makes_no_difference(asked, &before, &mut values, &goings)
            && values.ended.iter().all(|(value, there)| values.makes_no_difference(*value, there));
        self.returns.values.insert(past, values);
        if !same {
            return if asked.weak { Look::Chooses } else { Look::Matters };
        }
        if self.back_in_place(asked) {
            if self.returns.shown.len() == MOST_PASTS {
                self.returns.shown.clear();
            }
            let key = key.unwrap_or_else(|| self.look_key(past, value));
            self.returns.shown.insert(key, fails);
        }
        if fails { Look::ComesBack } else { Look::GoesOn }
    }

    /// Whether a thread goes on in the same way, whatever looks have failed before.
    fn makes_no_difference(
        &mut self,
        asked: &mut Asked,
        before: &Place,
        values: &mut Values,
        goings: &[Going],
    ) -> bool {
        let Some((Op::Access(access), _)) = before.stands else { return false };
        // What others have not written they have not prepared either: a pointer may lead nowhere, and a number to what is not
        // there yet.
        let mut there = self.values_of(access.addr);
        let [fails, goes_on] = values.there(&there, asked.value);
        if fails.is_empty() && !asked.weak {
            return true;
        }
        if !there.contains(&asked.value) {
            there.push(asked.value);
        }
        let Some(states) = self.states_after(asked, before, &fails, &goes_on) else { return false };
        let weakly = goes_on.iter().filter(|_| values.weak && !values.relayed);
        let found = if values.relayed { there } else { fails.iter().chain(weakly).copied().collect() };
        goes_on.iter().copied().all(|value| {
            let same = self.goes_on_in_the_same_way(asked, &states[1..], value, Stacks::AtTheEnd);
            // It goes wrong in the end: then states may have been the same before that.
            let same = same
                .or_else(|| self.goes_on_in_the_same_way(asked, &states[1..], value, Stacks::Everywhere))
                .unwrap_or(false);
            if same {
                values.note_tried(value, &found);
                let going = goings.iter().find(|going| going.value == value && going.is_with(&fails));
                going.into_iter().for_each(|going| self.returns.owed.tried(*going, &found));
            }
            same
        })
    }

    /// What is in a word at first. Those of channels and of the ends of threads are not met: they are zero.
    pub(super) fn first_value(&self, addr: Addr) -> Outcome {
        self.tries.inits.get(&addr).copied().unwrap_or_default()
    }

    /// The values that a word has had in this run.
    pub(super) fn values_of(&self, addr: Addr) -> Vec<Outcome> {
        self.values_until(self.made, addr)
    }

    /// The values that it has had before a step.
    pub(super) fn values_until(&self, n: usize, addr: Addr) -> Vec<Outcome> {
        let first = Some(self.first_value(addr));
        let written = self.steps[..n].iter().filter_map(|step| written(step, addr));
        let mut values = Vec::new();
        for value in first.into_iter().chain(written) {
            if let Err(n) = values.binary_search(&value) {
                values.insert(n, value);
            }
        }
        values
    }

    /// An execution has ended: what has been written in it makes no difference to threads that have gone on after a look.
    pub(super) fn looks_have_ended(&mut self) {
        if self.returns.values.is_empty() {
            return;
        }
        self.told(main_thread());
        let mut sources = None;
        for n in 0..self.made {
            let Step { thread, op: Op::Access(access), outcome, at: Some(at), .. } = self.steps[n] else { continue };
            if !access.spins || !runtime::shared(|shared| shared.may_come_to_differ(at)) {
                continue;
            }
            let key = (self.told_until(n, thread), thread);
            if !self.returns.values.contains_key(&key) {
                continue;
            }
            let mut there = self.values_of(access.addr);
            let found = |there: &[Outcome], sources: &mut _| self.found_before(n, access.addr, there, sources);
            let going = self.returns.owed.going(n).map(|going| (going, found(&there, &mut sources)));
            if self.returns.values.get(&key).is_some_and(|values| values.weak && values.relayed) {
                // Looks may fail with all that is there: of that, only what can have been there before.
                there = found(&there, &mut sources);
            }
            let Some(values) = self.returns.values.get_mut(&key) else { continue };
            if !values.makes_no_difference(outcome, &there) {
                runtime::shared(|shared| shared.restart |= shared.awaits.looked(at, Look::Matters));
                continue;
            }
            if let Some((going, before)) = going
                && !self.returns.owed.ended(going, at, &before)
            {
                runtime::shared(|shared| shared.restart |= shared.awaits.looked(at, Look::Matters));
            }
            if !values.ended.iter().any(|(value, known)| (*value, known) == (outcome, &there)) {
                values.ended.push((outcome, there));
            }
        }
    }
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

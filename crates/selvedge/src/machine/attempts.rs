//! What an attempt that fails would have left: it is tried out. `retry.rs` says what that is for, and why it is enough.
//!
//! A thread that stands at the exchange is put back to where its attempt began (`snapshot.rs`) and makes an attempt that fails.
//! If it is then where a new attempt begins, as it was when the first one did, or where it is if it loads what the exchange has
//! found, then nothing is left. If not, it makes attempts that fail, and then the one that it has made; what there is then is
//! compared with what there is without them. If it was not kept there, or others have done something since, everything is run
//! again once to come there. If that does not show that nothing is left, everything is run again for every attempt that is
//! tried out, and what is compared does not depend on where things lie in memory.

use super::RustMachine;
use super::past::Past;
use super::retries::{Attempt, is_same_load};
use super::snapshot::cannot_be_put_back;
use crate::coroutine::Came;
use crate::number::Number;
use crate::retry::Then;
use crate::runtime::{self, At, Pending, Yielded};
use crate::script::Step;
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, AccessKind, Addr, Op, Outcome, ThreadId, truncate};
use std::hash::{Hash, Hasher};

/// More attempts are not tried out for one exchange, nor longer ones.
const MOST_ATTEMPTS: usize = 512;
const LONGEST: usize = 64;
/// Nor more that fail one after the other.
const MOST_FAILS: usize = 4;

/// What a thread comes to: an operation, or its end.
const OPERATION: u64 = 1;
const ENDED: u64 = 3;

/// How many attempts fail that are tried out.
#[derive(Clone, Copy)]
enum Fails {
    /// One, and nothing follows.
    One,
    /// So many before the one that was made.
    Before(usize),
}

/// What memory looks like before an attempt: that of the model, and the stacks of the other threads.
#[derive(Default)]
pub(super) struct Before {
    pub blocks: Vec<Vec<u64>>,
    pub stacks: Vec<Vec<u64>>,
}

/// Numbers for what attempts have left: for stacks (all of the thread's own, and what has changed in others), and for what
/// has changed in memory. They are the same in other runs: addresses are not part of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(super) struct Trace {
    pub stack: u64,
    pub memory: u64,
}

/// What has come of attempts that were tried out.
enum Tried<'a> {
    /// They have failed, and if they leave no trace, these steps follow. And a number for the state before the last has failed.
    Fails(&'a [Step], u64),
    /// They do not, with these values.
    Succeeds,
    /// They could not be tried out.
    Unknown,
}

impl RustMachine {
    /// Tries attempts out by putting the thread back to where the one that was made began. Nothing is known if it does not
    /// show that all are pure: what is compared are bytes.
    pub(super) fn all_are_pure_in_place(&mut self, attempt: &Attempt, past: &Past) -> bool {
        let alone = self.steps[attempt.start..self.made].iter().all(|step| step.thread == attempt.thread);
        // A thread that has ended cannot be put back any more.
        let ended = attempt.stands.is_none();
        if ended || !alone || attempt.made < self.made || !self.tries.start.is_of(attempt.thread, attempt.start) {
            return self.all_are_pure_once_again(attempt, past);
        }
        if !self.keep_end(attempt.thread) {
            return false;
        }
        self.starts_trial();
        let pure = self.nothing_is_left(attempt, past) || self.all_are_pure(attempt, past);
        self.ends_trial();
        self.tries.in_place = false;
        self.stale |= !self.put_back_to_end();
        pure
    }

    /// The same if the thread was not kept there, or others have done something since: everything is run again once, the
    /// attempt last, and the thread is kept where it begins.
    pub(super) fn all_are_pure_once_again(&mut self, attempt: &Attempt, past: &Past) -> bool {
        if runtime::shared(|shared| shared.restart) {
            return false;
        }
        runtime::shared(|shared| shared.tries_out = true);
        let mut start = std::mem::take(&mut self.tries.start);
        let there = self.run_all_but(attempt) && self.save_thread(attempt.thread, &mut start, None);
        self.tries.start = start;
        self.starts_trial();
        self.tries.in_place = true;
        let pure = there && (self.nothing_is_left(attempt, past) || self.all_are_pure_up_to_end(attempt, past));
        self.ends_trial();
        self.tries.in_place = false;
        self.tries.start.forget();
        self.stale = true;
        pure
    }

    /// The same if something is left: the thread is kept where the attempt ends, too, if it does not end there itself.
    fn all_are_pure_up_to_end(&mut self, attempt: &Attempt, past: &Past) -> bool {
        self.put_back_to_start(attempt).is_some()
            && self.makes(attempt, &attempt.steps)
            && self.keep_end(attempt.thread)
            && self.all_are_pure(attempt, past)
    }

    /// Keeps a thread that has made an attempt, so that others can be tried out in place.
    fn keep_end(&mut self, thread: ThreadId) -> bool {
        let (start, mut end) = (std::mem::take(&mut self.tries.start), std::mem::take(&mut self.tries.end));
        let saved = self.save_thread(thread, &mut end, Some(&start));
        (self.tries.start, self.tries.end) = (start, end);
        (self.tries.in_place, self.tries.at_end) = (saved, saved);
        saved
    }

    /// Tries attempts out by running everything again each time.
    pub(super) fn all_are_pure_again(&mut self, attempt: &Attempt, past: &Past) -> bool {
        if runtime::shared(|shared| shared.restart) {
            return false;
        }
        runtime::shared(|shared| shared.tries_out = true);
        let pure = self.all_are_pure(attempt, past);
        runtime::shared(|shared| shared.tries_out = false);
        self.stale = true;
        pure
    }

    /// Puts a thread back to where the attempt began.
    fn put_back_to_start(&mut self, attempt: &Attempt) -> Option<Before> {
        let start = std::mem::take(&mut self.tries.start);
        let back = self.put_thread_back(&start);
        self.tries.start = start;
        self.tries.at_end = false;
        let stands = self.stands_at(attempt.thread).filter(|(op, _)| *op == attempt.steps[0].op);
        stands.filter(|_| back).map(|_| Before::default())
    }

    /// Puts a thread back to where the attempt has ended that it has made.
    fn put_back_to_end(&mut self) -> bool {
        let end = std::mem::take(&mut self.tries.end);
        let back = self.tries.at_end || self.put_thread_back(&end);
        self.tries.end = end;
        back
    }

    /// Tries out all attempts that could have failed before this one: one, and as long as there is something new, more of them.
    /// Whether nothing new is left after some number of them.
    ///
    /// There are two things that could be new: what is left where the attempt ends that was made, and the state in which the
    /// last one comes to the exchange that fails. What is left at the end does not say all: something may be overwritten on
    /// the way, or not be told to others yet.
    fn all_are_pure(&mut self, attempt: &Attempt, past: &Past) -> bool {
        let Some(wanted) = self.without_failures(attempt, RustMachine::trace) else { return false };
        let mut success = None;
        let (mut known, mut states) = (vec![wanted], FxHashSet::default());
        for fails in 1..=MOST_FAILS {
            let before_these = (known.len(), states.len());
            let all = self.each(attempt, past, Fails::Before(fails), |machine, (steps, state), before| {
                states.insert(state);
                let Some(left) = machine.follow(attempt, steps, before) else { return false };
                if known.contains(&left) {
                    return true;
                }
                known.push(left);
                if attempt.leaves {
                    return false;
                }
                let found = machine.succeed(attempt.thread, before);
                // What follows is asked for only if need be: it is no execution yet.
                let success = success.get_or_insert_with(|| machine.without_failures(attempt, RustMachine::succeed));
                *success == Some(found)
            });
            if !all || (known.len(), states.len()) == before_these {
                return all;
            }
        }
        false
    }

    /// Whether the thread is, right after any attempt that fails, where it is without it, in the same state: where attempts
    /// begin, or where it has been told what it has loaded.
    ///
    /// Then nothing is left whatever follows, and there is no need to try out more than one. Let G be an execution with
    /// attempts that fail, the first of them with an exchange that finds u. Up to there nothing has failed, so that it was looked
    /// at what could have failed before the attempt of this thread that finds u: the thread goes on as in G without the
    /// first, and there are fewer in that.
    fn nothing_is_left(&mut self, attempt: &Attempt, past: &Past) -> bool {
        let then = attempt.exchange.then;
        if then == Then::LoadsElsewhere || self.run_again_to(attempt).is_none() {
            return false;
        }
        self.tries.came = OPERATION;
        if then == Then::GoesOn {
            self.tell(attempt.thread, attempt.steps[0].outcome);
        }
        let is_at = |machine: &RustMachine| {
            (machine.tries.came, machine.stands_at(attempt.thread), machine.trace_since_start())
        };
        let wanted = is_at(self);
        matches!(wanted.0, OPERATION | ENDED)
            && self.each(attempt, past, Fails::One, |machine, _, _| wanted == is_at(machine))
    }

    /// What a thread that is tried out in place has left since its attempt began.
    fn trace_since_start(&self) -> Trace {
        let (stack, memory) = self.differences(&self.tries.start);
        Trace { stack, memory }
    }

    /// What the attempt leads to that was made.
    fn without_failures<T>(&mut self, attempt: &Attempt, f: fn(&mut RustMachine, ThreadId, &Before) -> T) -> Option<T> {
        if self.tries.in_place {
            let there = self.put_back_to_end();
            self.tries.at_end = there;
            return there.then(|| f(self, attempt.thread, &Before::default()));
        }
        let before = self.run_again_to(attempt)?;
        self.follow(attempt, &attempt.steps, &before)?;
        Some(f(self, attempt.thread, &before))
    }

    /// Lets attempts fail in all ways before this one, so many each time; whether all leave something that is right.
    fn each(
        &mut self,
        attempt: &Attempt,
        past: &Past,
        fails: Fails,
        mut is_right: impl FnMut(&mut RustMachine, (&[Step], u64), &Before) -> bool,
    ) -> bool {
        let mut choices = Choices::default();
        for _ in 0..MOST_ATTEMPTS {
            choices.next = 0;
            let Some(before) = self.run_again_to(attempt) else { return false };
            match self.try_out(attempt, past, fails, (&mut choices, &before)) {
                Tried::Succeeds => {}
                Tried::Unknown => return false,
                Tried::Fails(steps, state) => {
                    if !is_right(self, (steps, state), &before) {
                        return false;
                    }
                }
            }
            if !choices.advance() {
                return true;
            }
        }
        false
    }

    /// Lets a thread make the steps of the attempt that was made; what that has left, if it makes them.
    fn follow(&mut self, attempt: &Attempt, steps: &[Step], before: &Before) -> Option<Trace> {
        self.makes(attempt, steps).then(|| self.trace(attempt.thread, before))
    }

    /// The same; whether it makes them.
    fn makes(&mut self, attempt: &Attempt, steps: &[Step]) -> bool {
        let thread = attempt.thread;
        for step in steps {
            let Some((op, at)) = self.stands_at(thread) else { return false };
            let same = op == step.op && Some(at) == step.at;
            if !same && !loads_elsewhere(attempt, &op, step.outcome) {
                return false;
            }
            self.tell(thread, step.outcome);
        }
        self.stands_at(thread) == attempt.stands && (attempt.stands.is_some() || self.tries.came == ENDED)
    }

    /// Lets the exchange succeed that a thread stands at: where the thread comes to, and what there is then.
    fn succeed(&mut self, thread: ThreadId, before: &Before) -> (u64, Option<(Op, At)>, Trace) {
        self.tries.at_end = false;
        let Some((Op::Access(Access { kind: AccessKind::Cas { expected, .. }, size, .. }), _)) = self.stands_at(thread)
        else {
            unreachable!("an attempt ends with an exchange")
        };
        let came = self.tell(thread, truncate(expected, size));
        (came, self.stands_at(thread), self.trace(thread, before))
    }

    /// Lets attempts fail, so many, before the one that was made.
    fn try_out<'a>(
        &mut self,
        attempt: &'a Attempt,
        past: &Past,
        how: Fails,
        (choices, before): (&mut Choices, &Before),
    ) -> Tried<'a> {
        let thread = attempt.thread;
        let fails = if let Fails::Before(fails) = how { fails } else { 1 };
        let mut stored: FxHashMap<Addr, u64> = FxHashMap::default();
        let (mut failed, mut came, mut state) = (0, 0, 0);
        // The word whose exchange comes next, if the value that it expects is known.
        let mut word = None;
        // What the thread may still find in the word of the exchange, from which on.
        let mut oldest = 0;
        for _ in 0..LONGEST {
            let Some((op, at)) = self.stands_at(thread) else {
                // It has ended, without an exchange; or it has gone wrong.
                return if came == ENDED { Tried::Succeeds } else { Tried::Unknown };
            };
            let Op::Access(access) = op else { return Tried::Succeeds };
            let outcome = match access.kind {
                AccessKind::Cas { expected, .. } if at == attempt.at && access.confirms => {
                    let expected = truncate(expected, access.size);
                    failed += 1;
                    let goes_on = attempt.exchange.then == Then::GoesOn;
                    let mut values = self.values(attempt, past, access.addr, oldest);
                    if !attempt.is_weak() {
                        values.retain(|&(_, value)| value != expected);
                    }
                    if goes_on && failed == fails {
                        values.retain(|&(_, value)| value == attempt.steps[0].outcome);
                    }
                    let Some((place, found)) = choices.choose(&values) else { return Tried::Succeeds };
                    oldest = place;
                    if failed == fails && matches!(how, Fails::Before(_)) {
                        let mut hasher = Number::default();
                        (self.trace(thread, before), expected).hash(&mut hasher);
                        state = hasher.finish();
                    }
                    word = goes_on.then_some(access.addr);
                    if goes_on {
                        opens(attempt, found);
                    }
                    runtime::fails(found == expected);
                    found
                }
                AccessKind::Load => {
                    if !self.may_look(attempt, &access, at) {
                        return Tried::Unknown;
                    }
                    let own = stored.get(&access.addr).copied();
                    let mut values = own.map_or_else(Vec::new, |own| vec![(0, own)]);
                    if own.is_none() {
                        if !self.may_find(attempt, past, access.addr) {
                            return Tried::Unknown;
                        }
                        values = self.values(attempt, past, access.addr, oldest);
                        if values.is_empty() {
                            return Tried::Unknown;
                        }
                    }
                    if past.is_ordered(access.addr) && at == attempt.exchange.load && !attempt.is_weak() {
                        // What is newest is what the exchange finds at last: it would not fail.
                        values.retain(|&(place, _)| place + 1 < past.end());
                    }
                    let Some((place, value)) = choices.choose(&values) else { return Tried::Succeeds };
                    if past.is_ordered(access.addr) {
                        oldest = place;
                    }
                    let elsewhere = failed > 0 && loads_elsewhere(attempt, &op, value);
                    if elsewhere || at == attempt.exchange.load {
                        word = Some(access.addr);
                    }
                    value
                }
                AccessKind::Store { value } if self.leaves_no_trace(thread, &op) => {
                    // Others could see it, or it would be what the exchange finds (`retry.rs`).
                    if word.is_none_or(|word| word == access.addr) {
                        return Tried::Unknown;
                    }
                    stored.insert(access.addr, truncate(value, access.size));
                    0
                }
                // It comes to something else, as an attempt that is explored does.
                _ => return Tried::Succeeds,
            };
            came = self.tell(thread, outcome);
            runtime::fails(false);
            if failed == fails {
                if !stored.keys().all(|&addr| attempt.overwrites(addr)) {
                    return Tried::Unknown;
                }
                let first = usize::from(attempt.exchange.then == Then::GoesOn);
                return Tried::Fails(&attempt.steps[first..], state);
            }
        }
        Tried::Unknown
    }

    /// Whether an attempt may load this on its way: the load that it begins with, its own objects, or what nobody frees.
    fn may_look(&self, attempt: &Attempt, access: &Access, at: At) -> bool {
        let own = runtime::shared(|shared| shared.places.is_of(access.addr, attempt.thread));
        if own || at == attempt.exchange.load {
            return true;
        }
        runtime::shared(|shared| {
            if let Some(block) = shared.places.block_of(access.addr) {
                shared.retries.looks_into(block, attempt.at);
            }
        });
        access.order.is_atomic()
    }

    /// Runs everything again but an attempt; what memory then looks like.
    fn run_again_to(&mut self, attempt: &Attempt) -> Option<Before> {
        if self.tries.in_place {
            return self.put_back_to_start(attempt);
        }
        if !self.run_all_but(attempt) {
            return None;
        }
        let blocks = runtime::shared(|shared| shared.blocks.contents());
        Some(Before { blocks, stacks: self.other_stacks(attempt.thread) })
    }

    /// Runs everything again but an attempt; whether the thread then stands where it begins.
    fn run_all_but(&mut self, attempt: &Attempt) -> bool {
        let others = |(n, step): &(usize, &Step)| step.thread != attempt.thread || *n < attempt.start;
        let steps: Vec<Step> =
            self.steps[..attempt.made].iter().enumerate().filter(others).map(|(_, step)| *step).collect();
        let made = std::mem::replace(&mut self.made, steps.len());
        let kept = std::mem::replace(&mut self.steps, steps);
        let again = self.run_again();
        self.steps = kept;
        self.made = made;
        again.is_ok() && self.stands_at(attempt.thread).is_some_and(|(op, _)| op == attempt.steps[0].op)
    }

    /// The stacks of all threads but one.
    pub(super) fn other_stacks(&self, thread: ThreadId) -> Vec<Vec<u64>> {
        let others = self.slots.iter().enumerate().filter(|(n, _)| *n != thread.index());
        others.map(|(_, slot)| slot.as_ref().map_or_else(Vec::new, |slot| slot.strand.at_rest().to_vec())).collect()
    }

    /// What a thread that is tried out stands at.
    pub(super) fn stands_at(&self, thread: ThreadId) -> Option<(Op, At)> {
        let slot = self.slots.get(thread.index())?.as_ref()?;
        slot.strand.pending().map(Pending::op_and_place)
    }

    /// Tells a thread that is tried out the outcome of the operation that it stands at. A number for what it comes to.
    fn tell(&mut self, thread: ThreadId, outcome: Outcome) -> u64 {
        let Some(slot) = &mut self.slots[thread.index()] else { return 0 };
        runtime::repeats(false);
        let mut came = self.pool.resume(&mut slot.strand, outcome);
        for _ in 0..LONGEST {
            let Came::To(Yielded::Yields { .. }) = came else { break };
            came = self.pool.resume(&mut slot.strand, 0);
        }
        cannot_be_put_back(&came);
        #[cfg(test)]
        runtime::shared(|shared| shared.restart |= crate::interrupted::is_now());
        let what = match &came {
            Came::Op => OPERATION,
            Came::To(_) => 2,
            Came::End => ENDED,
            Came::Panic(panic) => {
                let mut hasher = Number::default();
                panic.0.hash(&mut hasher);
                hasher.finish()
            }
        };
        runtime::take_panic();
        runtime::take_aside();
        runtime::take_updating();
        runtime::shared(|shared| shared.met.clear());
        self.tries.came = what;
        what
    }

    /// What a thread that is tried out has left since memory looked like that.
    pub(super) fn trace(&mut self, thread: ThreadId, before: &Before) -> Trace {
        if self.tries.in_place {
            // Most often it is where the attempt has ended, or nearly: there is least to be compared with that.
            let (stack, memory) = self.differences(&self.tries.end);
            return Trace { stack, memory };
        }
        let engine = self.pool.engine(runtime::shared(|shared| shared.top));
        let mut hasher = Number::default();
        let strand = self.slots[thread.index()].as_ref().map(|slot| &slot.strand);
        let strand = strand.filter(|strand| strand.pending().is_some());
        let image = strand.map_or_else(Vec::new, |strand| strand.image(strand.low(), &engine));
        runtime::shared(|shared| image.iter().for_each(|&word| hasher.write_u64(shared.known_as(word))));
        let others = self.other_stacks(thread);
        runtime::shared(|shared| {
            for (n, (now, before)) in others.iter().zip(&before.stacks).enumerate() {
                for (m, (&now, &before)) in now.iter().zip(before).enumerate() {
                    if now != before {
                        (n, m, shared.known_as(now)).hash(&mut hasher);
                    }
                }
            }
            Trace { stack: hasher.finish(), memory: shared.changes(&before.blocks) }
        })
    }
}

/// What a thread is about to be told begins an attempt that its exchange confirms.
fn opens(attempt: &Attempt, value: u64) {
    let Some(access) = attempt.load() else { return };
    runtime::shared(|shared| {
        shared.per_thread(attempt.thread).open = shared.retries.goes_on_with(&access, attempt.at, value);
    });
}

/// If a thread that is tried out stands at the load of its attempt, but elsewhere, it begins one.
fn loads_elsewhere(attempt: &Attempt, op: &Op, value: u64) -> bool {
    let Op::Access(load) = attempt.steps[0].op else { return false };
    let begins = attempt.exchange.then == Then::LoadsElsewhere && is_same_load(op, &load);
    if begins {
        opens(attempt, value);
    }
    begins
}

/// Which of several values were chosen, in the order in which that was asked.
#[derive(Default)]
struct Choices {
    taken: Vec<(usize, usize)>,
    next: usize,
}

impl Choices {
    /// One of some values; none if there is none.
    fn choose<T: Copy>(&mut self, values: &[T]) -> Option<T> {
        if self.next == self.taken.len() {
            self.taken.push((0, values.len()));
        }
        let (taken, _) = self.taken[self.next];
        self.next += 1;
        values.get(taken).copied()
    }

    /// Goes on to the next choice; whether there is one.
    fn advance(&mut self) -> bool {
        self.taken.truncate(self.next);
        while let Some((taken, count)) = self.taken.last_mut() {
            *taken += 1;
            if *taken < *count {
                return true;
            }
            self.taken.pop();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Builder;
    use crate::sync::atomic::AtomicUsize;
    use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
    use crate::thread;
    use std::sync::Arc;

    /// In these tests, whatever is found to be pure in place is tried out by running all again, too (`look_at_attempts`).
    fn explore(threads: usize, each: fn(&AtomicUsize, &AtomicUsize)) -> u64 {
        let mut builder = Builder::new();
        builder.spurious = false;
        let stats = builder.explore(move || {
            let x = Arc::new([const { AtomicUsize::new(0) }; 2]);
            let handles: Vec<_> = (0..threads)
                .map(|_| {
                    let x = Arc::clone(&x);
                    thread::spawn(move || each(&x[0], &x[1]))
                })
                .collect();
            handles.into_iter().for_each(|handle| handle.join().unwrap());
            assert_eq!(x[0].load(Relaxed), threads);
        });
        assert_eq!(stats.failure, None);
        stats.complete
    }

    #[test]
    fn both_ways_of_trying_attempts_out_agree() {
        let with_what_was_found = explore(3, |x, _| {
            let own = Box::new(AtomicUsize::new(0));
            let mut old = x.load(Relaxed);
            loop {
                own.store(old, Relaxed);
                match x.compare_exchange(old, old + 1, AcqRel, Relaxed) {
                    Ok(_) => break,
                    Err(now) => old = now,
                }
            }
        });
        let from_the_start = explore(3, |x, y| {
            loop {
                let old = x.load(Acquire);
                let other = y.load(Relaxed);
                if x.compare_exchange(old, old + 1 + other, AcqRel, Relaxed).is_ok() {
                    break;
                }
            }
        });
        // Without optimisation the compiler leaves things on the stack.
        assert!(with_what_was_found >= 6 && from_the_start >= 6, "{with_what_was_found}, {from_the_start}");
    }
}

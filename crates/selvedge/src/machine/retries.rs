//! Loops that try an exchange again: how they are found, and when attempts are looked at. `retry.rs` says what it is for, and
//! why it is enough.

mod later;

use super::awaits::is_look;
use super::returns::TIMES;
use super::snapshot::Snapshot;
use super::{RustMachine, State, TRIED, past};
use crate::retry::{Exchange, Retries, Speculates, Then, is_load, sees_no_more};
use crate::runtime::{self, At};
use crate::script::Step;
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, AccessKind, Addr, Machine, Op, Outcome, Status, Stop, ThreadId, truncate};
use std::collections::BTreeSet;

/// What the machine keeps for loops that try again.
#[derive(Default)]
pub(super) struct Tries {
    /// With which values loads were found to be speculative.
    speculates: FxHashMap<(u64, ThreadId, Outcome), bool>,
    /// Exchanges that threads come to after they have loaded some value and stored to objects of their own.
    pub behind_stores: FxHashMap<(u64, ThreadId, Outcome), Option<Access>>,
    /// First values of objects.
    pub inits: FxHashMap<Addr, u64>,
    /// Numbers for what threads have been told, by step, as far as they are known (`past.rs`).
    pub told: Vec<u64>,
    /// Beginnings of attempts that had not to be tried out (`RustMachine::beginning`).
    beginnings: FxHashSet<u64>,
    /// A thread that was about to begin an attempt, and the same at its end.
    pub start: Snapshot,
    pub end: Snapshot,
    /// Whether attempts are tried out by putting a thread back to where this one began, and whether it is still where this
    /// one has ended.
    pub in_place: bool,
    pub at_end: bool,
    /// A thread that is asked what it does next.
    pub here: Snapshot,
    /// Words that attempts which could have failed load, and the one that was made does not, by its number (`Past::number`).
    elsewhere: FxHashMap<u64, BTreeSet<Addr>>,
    /// Attempts of the present run that may have to be looked at again when somebody writes to such a word, and their numbers.
    attempts: Vec<(Attempt, u64)>,
    /// A number for what a thread that is tried out has come to.
    pub came: u64,
}

/// The attempt at whose end a thread stands.
#[derive(Clone)]
pub(super) struct Attempt {
    pub thread: ThreadId,
    pub exchange: Exchange,
    /// Where the exchange is.
    pub at: At,
    /// What the thread stands at: the exchange; or what comes after the load, if there is no exchange with what that has found;
    /// none if it has ended.
    pub stands: Option<(Op, At)>,
    /// Whether it has left the loop without an exchange.
    pub leaves: bool,
    /// The step that it begins with, of all steps, how many there were at its end, and its own steps.
    pub start: usize,
    pub made: usize,
    pub steps: Vec<Step>,
}

impl Attempt {
    /// The load that it begins with.
    pub fn load(&self) -> Option<Access> {
        let step = self.steps.iter().find(|step| step.at == Some(self.exchange.load))?;
        if let Op::Access(access) = step.op { Some(access) } else { None }
    }

    /// Whether its exchange may fail for no reason.
    pub fn is_weak(&self) -> bool {
        runtime::shared(|shared| shared.retries.is_weak(self.at))
    }

    /// Whether it accesses a word.
    pub fn accesses(&self, addr: Addr) -> bool {
        self.steps.iter().any(|step| matches!(step.op, Op::Access(access) if access.addr == addr))
    }

    /// What its load has found.
    pub fn loaded(&self) -> Option<u64> {
        self.steps.iter().rfind(|step| step.at == Some(self.exchange.load)).map(|step| step.outcome)
    }

    /// Whether a store is the first thing that the attempt does with an object.
    pub fn overwrites(&self, addr: Addr) -> bool {
        let to = |step: &&Step| matches!(step.op, Op::Access(access) if access.addr == addr);
        let first = self.steps.iter().find(to).map(|step| step.op);
        matches!(first, Some(Op::Access(Access { kind: AccessKind::Store { .. }, .. })))
    }
}

/// An exchange without marks, and what it expects.
fn plain_exchange(op: &Op) -> Option<(Access, u64)> {
    match op {
        Op::Access(access @ Access { kind: AccessKind::Cas { expected, .. }, .. })
            if access.until.is_none() && !access.confirms && !access.spins =>
        {
            Some((*access, truncate(*expected, access.size)))
        }
        _ => None,
    }
}

/// Whether an operation is a store to an object of the thread itself, with which nobody synchronises.
pub(super) fn is_kept_back(thread: ThreadId, op: &Op) -> bool {
    let Op::Access(Access { kind: AccessKind::Store { .. }, addr, order, .. }) = op else { return false };
    !order.releases() && runtime::shared(|shared| shared.places.is_of(*addr, thread))
}

/// Whether an operation is a certain load, marks aside.
pub(super) fn is_same_load(op: &Op, load: &Access) -> bool {
    let plain = |access: &Access| Access { speculative: None, spins: false, ..*access };
    matches!(op, Op::Access(access) if plain(access) == plain(load))
}

impl RustMachine {
    /// Whether there is something to look for when a thread has made a step: loops are known, or an exchange may show one.
    #[inline]
    pub(super) fn may_retry(&self, thread: ThreadId, made: &Op) -> bool {
        let is_exchange = |op: &Op| matches!(op, Op::Access(Access { kind: AccessKind::Cas { .. }, .. }));
        let (on, known) =
            runtime::shared_untidily(|shared| (shared.retries.on && !shared.once, !shared.retries.is_empty()));
        on && (known || is_exchange(made) || is_exchange(&self.states[thread.index()].op))
    }

    /// A thread has made a step and stands at its next one: looks for loops, and at attempts that could have failed.
    pub(super) fn look_for_retries(
        &mut self,
        thread: ThreadId,
        made: &Op,
        at: At,
        outcome: Outcome,
    ) -> Result<(), Stop> {
        if runtime::shared(|shared| shared.looks_into_freed()) {
            return self.starts_again(thread);
        }
        self.look_again(made, outcome)?;
        let state = &self.states[thread.index()];
        if state.status == Status::Finished {
            let unexpected = runtime::shared(|shared| {
                let open = shared.per_thread(thread).open.take();
                shared.retries.ends(open)
            });
            if unexpected {
                return self.starts_again(thread);
            }
            self.look_at_leaving(thread, made, at)?;
            return self.look_at_passing(thread, made);
        }
        if state.status != Status::Ready {
            return Ok(());
        }
        if self.learns(thread, made, at, outcome) {
            return self.starts_again(thread);
        }
        let stands = matches!(self.states[thread.index()].op, Op::Access(access) if access.confirms);
        if !stands {
            self.look_at_leaving(thread, made, at)?;
            self.look_at_passing(thread, made)?;
            return if self.foresees(thread) { self.starts_again(thread) } else { Ok(()) };
        }
        let State { op, at: Some(at), .. } = self.states[thread.index()] else { return Ok(()) };
        let Some(exchange) = runtime::shared(|shared| shared.retries.exchange(at)) else {
            // It is that of an update: with it, other loops are left.
            return self.look_at_passing(thread, made);
        };
        match self.attempt_of(thread, (at, exchange), Some((op, at)), false) {
            Some(attempt) => self.look_at_attempts(&attempt)?,
            None => return self.gives_up(thread, at),
        }
        self.look_at_passing(thread, made)
    }

    /// An attempt that fails leaves a trace; or what it would do cannot be tried out, since the thread has done something on the
    /// way from where a loop that goes back would go back to.
    fn gives_up(&mut self, thread: ThreadId, exchange: At) -> Result<(), Stop> {
        runtime::shared(|shared| shared.retries.leaves_trace(exchange));
        self.starts_again(thread)
    }

    pub(super) fn starts_again(&mut self, thread: ThreadId) -> Result<(), Stop> {
        runtime::shared(|shared| shared.restart = true);
        self.states[thread.index()].status = Status::Stopped;
        Err(*runtime::starts_again())
    }

    /// Whether a step is an exchange that has failed and shows a loop that was not known.
    fn learns(&mut self, thread: ThreadId, made: &Op, at: At, found: Outcome) -> bool {
        let Some((access, expected)) = plain_exchange(made) else { return false };
        if found == expected || runtime::shared(|shared| shared.retries.knows(at)) {
            return false;
        }
        let (next, next_at) = (self.states[thread.index()].op, self.states[thread.index()].at);
        self.shows_loop(thread, (&access, at), self.made - 1, (next, next_at))
    }

    /// Whether a thread that stands at an exchange would show a loop if it failed: that need not be waited for. It is told
    /// another value that has been in the word.
    fn foresees(&mut self, thread: ThreadId) -> bool {
        let State { op, at: Some(at), .. } = self.states[thread.index()] else { return false };
        let Some((access, expected)) = plain_exchange(&op) else { return false };
        if runtime::shared(|shared| shared.retries.knows(at) || shared.retries.is_foreseen(at))
            || self.loaded_for(thread, &access, self.made).is_none()
        {
            return false;
        }
        let Some(other) = self.other_value(access.addr, expected) else { return false };
        runtime::shared(|shared| shared.retries.foresees(at));
        match self.comes_to_if(thread, other) {
            Some(Some((next, next_at))) => self.shows_loop(thread, (&access, at), self.made, (next, Some(next_at))),
            _ => false,
        }
    }

    /// Another value that has been in a word, the newest one.
    fn other_value(&self, addr: Addr, than: u64) -> Option<u64> {
        let written = self.steps[..self.made].iter().rev().filter_map(|step| past::written(step, addr));
        written.chain(self.tries.inits.get(&addr).copied()).find(|&value| value != than)
    }

    /// The load of a thread that has found what an exchange expects, if it has done nothing since that leaves a trace: which
    /// step it is.
    fn loaded_for(&self, thread: ThreadId, exchange: &Access, until: usize) -> Option<usize> {
        let AccessKind::Cas { expected, .. } = exchange.kind else { return None };
        let own = self.steps[..until].iter().enumerate().rev().filter(|(_, step)| step.thread == thread);
        for (n, step) in own.take_while(|(_, step)| step.at.is_some() && self.leaves_no_trace(thread, &step.op)) {
            let Op::Access(other) = step.op else { break };
            if other.addr == exchange.addr && other.kind != AccessKind::Load {
                // The exchange would find what the thread itself has stored.
                return None;
            }
            if other.kind == AccessKind::Load && (other.addr, other.size) == (exchange.addr, exchange.size) {
                // A load that waits is no attempt (`relayed.rs`).
                let is_it = step.outcome == truncate(expected, exchange.size) && is_look(&other) && !other.spins;
                return is_it.then_some(n);
            }
        }
        None
    }

    /// Whether an exchange that fails after so many steps, so that its thread comes to an operation, shows a loop.
    fn shows_loop(
        &mut self,
        thread: ThreadId,
        (exchange, at): (&Access, At),
        until: usize,
        (next, next_at): (Op, Option<At>),
    ) -> bool {
        let Some(n) = self.loaded_for(thread, exchange, until) else { return false };
        let AccessKind::Cas { failure, .. } = exchange.kind else { return false };
        let Step { op: Op::Access(access), at: Some(load), .. } = self.steps[n] else { return false };
        let own = |step: &&Step| step.thread == thread;
        let way =
            self.steps[n + 1..until].iter().filter(own).filter_map(|step| step.at).chain([at]).collect::<Vec<At>>();
        // What is stored before the load could be seen by others, and overwritten by them before it is stored again.
        let before = self.steps[..=n].iter().rev().filter(own);
        let before = before.take_while(|step| step.at.is_some() && is_load(&step.op));
        let back = before.filter(|step| step.op == next && step.at == next_at).find_map(|step| step.at);
        let goes_on = sees_no_more(access.order, failure);
        let then = match back {
            Some(place) => Then::Back(place),
            None if is_same_load(&next, &access) => Then::LoadsElsewhere,
            None if !is_load(&next) && !next_at.is_some_and(|at| way.contains(&at)) => return false,
            None if goes_on => Then::GoesOn,
            None => return false,
        };
        let may_go_on = goes_on && then != Then::GoesOn;
        let speculates = self.seems_to_speculate(load, at, &way);
        // Stacks will be looked at, and have to be cleared for that: so that this does not take another start.
        let size = self.deepest();
        runtime::shared(|shared| {
            shared.blocks.freed_early.get_or_insert_default();
            let learned = shared.retries.learn(at, (load, then, may_go_on), way, speculates);
            if learned {
                shared.must_clear(size);
            }
            learned
        })
    }

    /// With which values a load seems to be speculative, after what threads have done up to now that have come from it: so
    /// that it need not turn out later that it is not.
    fn seems_to_speculate(&self, load: At, exchange: At, way: &[At]) -> Speculates {
        let steps = &self.steps[..self.made];
        let loads = steps.iter().enumerate().filter(|(_, step)| step.at == Some(load));
        let all = loads.map(|(n, Step { thread, .. })| {
            let state = &self.states[thread.index()];
            let pending = (state.status == Status::Ready).then_some((state.op, state.at));
            let after = steps[n + 1..].iter().filter(|step| step.thread == *thread).map(|step| (step.op, step.at));
            let mut first = None;
            for (op, at) in after.chain(pending) {
                let on_way = *first.get_or_insert(at.is_some_and(|at| way.contains(&at)));
                match self.leaves_no_trace(*thread, &op) {
                    true => {}
                    false if at == Some(exchange) => return Speculates::Always,
                    false if on_way => return Speculates::Never,
                    false => return Speculates::Sometimes,
                }
            }
            match first {
                None if state.status == Status::Finished => Speculates::Sometimes,
                _ => Speculates::Always,
            }
        });
        all.max().unwrap_or_default()
    }

    /// A thread stands at a load with which attempts begin: whether it does not go on to the exchange with some value that
    /// has been in the word. Then everything starts again, as it would later.
    fn is_irregular_load(&mut self, thread: ThreadId, start: &Snapshot) -> bool {
        let State { op: Op::Access(access), at: Some(load), .. } = self.states[thread.index()] else { return false };
        let written = self.steps[..self.made].iter().filter_map(|step| past::written(step, access.addr));
        let values: Vec<u64> = written.chain(self.tries.inits.get(&access.addr).copied()).collect();
        for value in values {
            if !runtime::shared(|shared| shared.retries.is_to_be_tried(load, value)) {
                continue;
            }
            let Some(next) = self.come_to(thread, value, start) else { return false };
            let on_way = next.is_some_and(|(op, at)| {
                self.leaves_no_trace(thread, &op) || runtime::shared(|shared| shared.retries.is_on_way(load, at))
            });
            if !on_way {
                runtime::shared(|shared| shared.retries.is_sometimes(load));
                return true;
            }
        }
        false
    }

    /// A thread is about to be told the outcome of an operation with which an attempt may begin. It is kept, so that attempts
    /// can be tried out that would have failed, unless those before such an attempt will hardly have to be: if it has to be
    /// put back after all, everything is run again.
    pub(super) fn may_begin_attempt(&mut self, thread: ThreadId, outcome: Outcome) -> Result<(), Stop> {
        let op = self.states[thread.index()].op;
        let beginning = self.beginning(self.made, thread, &op, outcome);
        if self.tries.beginnings.contains(&beginning) || self.is_first_attempt(thread) {
            self.tries.start.forget();
            return Ok(());
        }
        let mut start = std::mem::take(&mut self.tries.start);
        let irregular = self.save_thread(thread, &mut start, None) && self.is_irregular_load(thread, &start);
        self.tries.start = start;
        if irregular { self.starts_again(thread) } else { Ok(()) }
    }

    /// Whether a thread stands at the load of an attempt before which none can have failed: there was never anything else in the
    /// word, and nothing fails for no reason.
    fn is_first_attempt(&self, thread: ThreadId) -> bool {
        let State { op: Op::Access(access), at: Some(at), .. } = self.states[thread.index()] else { return false };
        let Some(&first) = self.tries.inits.get(&access.addr) else { return false };
        let retries =
            |retries: &Retries| retries.is_load(at) && retries.begins_with_load(at) && !retries.is_weak_after(at);
        runtime::shared(|shared| retries(&shared.retries))
            && self.steps[..self.made]
                .iter()
                .all(|step| past::written(step, access.addr).is_none_or(|new| new == first))
    }

    /// Whether an operation is a load, or a store to an object of the thread itself.
    pub(super) fn leaves_no_trace(&self, thread: ThreadId, op: &Op) -> bool {
        match op {
            Op::Access(Access { kind: AccessKind::Load, .. }) => true,
            Op::Access(Access { kind: AccessKind::Store { .. }, addr, .. }) => {
                runtime::shared(|shared| shared.places.is_of(*addr, thread))
            }
            _ => false,
        }
    }

    /// The last attempt of a thread, at whose end it stands at something.
    fn attempt_of(
        &self,
        thread: ThreadId,
        (at, exchange): (At, Exchange),
        stands: Option<(Op, At)>,
        leaves: bool,
    ) -> Option<Attempt> {
        let mut start = None;
        let mut loaded = false;
        let mut stored: Vec<Addr> = Vec::new();
        for (n, step) in self.steps[..self.made].iter().enumerate().rev().filter(|(_, step)| step.thread == thread) {
            let Op::Access(access) = step.op else { break };
            // Stores come between the load and the exchange, and not to the word that is exchanged.
            let may_be = is_load(&step.op) || !loaded && self.leaves_no_trace(thread, &step.op);
            let is_it = step.at == Some(exchange.load);
            if !may_be || is_it && stored.contains(&access.addr) {
                break;
            }
            if !is_load(&step.op) {
                stored.push(access.addr);
            }
            loaded |= is_it;
            if loaded && step.at == Some(exchange.first()) {
                start = Some(n);
                break;
            }
        }
        let start = start?;
        let steps = self.steps[start..self.made].iter().filter(|step| step.thread == thread).copied().collect();
        Some(Attempt { thread, exchange, at, stands, leaves, start, made: self.made, steps })
    }

    /// Looks at the attempts that could have failed before this one.
    fn look_at_attempts(&mut self, attempt: &Attempt) -> Result<(), Stop> {
        if !self.may_have_failed(attempt) {
            self.need_not_be_tried_out(attempt);
            return Ok(());
        }
        let Some(past) = self.past_of(attempt) else {
            self.need_not_be_tried_out(attempt);
            return Ok(());
        };
        let key = self.key(attempt, &past);
        if runtime::shared(|shared| shared.retries.looked.contains(&key)) {
            self.need_not_be_tried_out(attempt);
            self.keep_attempt(attempt, &past);
            return Ok(());
        }
        let size = self.deepest();
        if runtime::shared(|shared| shared.must_clear(size)) {
            return self.starts_again(attempt.thread);
        }
        let in_place = self.all_are_pure_in_place(attempt, &past);
        let pure = in_place && !cfg!(test)
            || self.all_are_pure_again(attempt, &past)
            || (1..TIMES).any(|_| self.all_are_pure_once_again(attempt, &past));
        let starts_again = runtime::shared(|shared| shared.restart);
        debug_assert!(
            pure || !in_place || starts_again,
            "what is tried out in place is pure if it is so when all is run again"
        );
        if runtime::shared(|shared| shared.restart) {
            return self.starts_again(attempt.thread);
        }
        if !pure {
            return self.gives_up(attempt.thread, attempt.at);
        }
        // By now it is known which words are loaded elsewhere.
        let key = self.key(attempt, &past);
        runtime::shared(|shared| {
            let looked = &mut shared.retries.looked;
            if looked.len() == TRIED {
                looked.clear();
            }
            looked.insert(key);
            shared.retries.leaves_no_trace(attempt.at);
        });
        self.need_not_be_tried_out(attempt);
        self.keep_attempt(attempt, &past);
        Ok(())
    }

    /// It was known, or is from now on, what attempts leave that fail before this one: the next time that one begins like it, its
    /// thread need not be kept there.
    fn need_not_be_tried_out(&mut self, attempt: &Attempt) {
        let Step { op, outcome, .. } = attempt.steps[0];
        let beginning = self.beginning(attempt.start, attempt.thread, &op, outcome);
        if self.tries.beginnings.len() == TRIED {
            self.tries.beginnings.clear();
        }
        self.tries.beginnings.insert(beginning);
    }

    /// How much is in use of the stack that is deepest.
    fn deepest(&self) -> usize {
        let waiting = self.slots.iter().flatten().filter(|slot| slot.strand.pending().is_some());
        waiting.map(|slot| slot.strand.depth(slot.strand.low())).max().unwrap_or(0)
    }

    /// Whether a load with which an attempt may begin does so with a value: the thread then comes to something that is on
    /// the way to the exchange.
    pub(super) fn begins_attempt(&mut self, thread: ThreadId, value: u64) -> Option<bool> {
        let load = self.states[thread.index()].at?;
        if !runtime::shared(|shared| shared.retries.is_load(load)) {
            return None;
        }
        let key = (self.past(), thread, value);
        if let Some(&known) = self.tries.speculates.get(&key) {
            return Some(known);
        }
        let next = self.next_place_if(thread, value);
        let begins = next.is_some_and(|next| runtime::shared(|shared| shared.retries.is_on_way(load, next)));
        if self.tries.speculates.len() == TRIED {
            self.tries.speculates.clear();
        }
        self.tries.speculates.insert(key, begins);
        Some(begins)
    }

    /// Where a thread would perform its next operation if it were told an outcome.
    fn next_place_if(&mut self, thread: ThreadId, outcome: Outcome) -> Option<At> {
        if let Some(found) = self.comes_to_if(thread, outcome) {
            return found.map(|(_, at)| at);
        }
        self.mark();
        let goes_on = self.resume(thread, outcome).is_ok() && self.status(thread) == Status::Ready;
        let next = self.state(thread).at.filter(|_| goes_on);
        self.undo();
        next
    }
}

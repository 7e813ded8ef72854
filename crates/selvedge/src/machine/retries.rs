//! Loops that try an exchange again: how they are found, and when attempts are looked at. `retry.rs` says what it is for, and
//! why it is enough.

use super::snapshot::Snapshot;
use super::{RustMachine, TRIED};
use crate::retry::{Exchange, Then, sees_no_more};
use crate::runtime::{self, At};
use crate::script::Step;
use rustc_hash::FxHashMap;
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, AccessKind, Addr, Machine, Op, Outcome, Status, Stop, ThreadId, truncate};

/// What the machine keeps for loops that try again.
#[derive(Default)]
pub(super) struct Tries {
    /// With which values loads were found to be speculative.
    speculates: FxHashMap<(u64, ThreadId, Outcome), bool>,
    /// First values of objects.
    pub inits: FxHashMap<Addr, u64>,
    /// Numbers for what threads have been told, by step, as far as they are known (`past.rs`).
    pub told: Vec<u64>,
    /// A thread that was about to begin an attempt, and the same at its end.
    pub start: Snapshot,
    pub end: Snapshot,
    /// Whether attempts are tried out by putting a thread back to where this one began, and whether it is still where this
    /// one has ended.
    pub in_place: bool,
    pub at_end: bool,
    /// A thread that is asked what it does next.
    pub here: Snapshot,
}

/// The attempt at whose end a thread stands.
pub(super) struct Attempt {
    pub thread: ThreadId,
    pub exchange: Exchange,
    /// The exchange.
    pub op: Op,
    pub at: At,
    /// The step that it begins with, of all steps; and its own steps.
    pub start: usize,
    pub steps: Vec<Step>,
}

impl Attempt {
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

/// Whether an operation is a load, marks aside.
pub(super) fn is_same_load(op: &Op, load: &Access) -> bool {
    let plain = |access: &Access| Access { speculative: None, spins: false, ..*access };
    matches!(op, Op::Access(access) if plain(access) == plain(load))
}

impl RustMachine {
    /// A thread has made a step and stands at its next one: looks for loops, and at attempts that could have failed.
    pub(super) fn look_for_retries(
        &mut self,
        thread: ThreadId,
        made: &Op,
        at: At,
        outcome: Outcome,
    ) -> Result<(), Stop> {
        let state = &self.states[thread.index()];
        if state.status == Status::Finished {
            let unexpected = runtime::shared(|shared| {
                let open = shared.per_thread(thread).open.take();
                shared.retries.ends(open)
            });
            return if unexpected { self.starts_again(thread) } else { Ok(()) };
        }
        if state.status != Status::Ready {
            return Ok(());
        }
        if self.learns(thread, made, at, outcome) {
            return self.starts_again(thread);
        }
        let stands = matches!(self.states[thread.index()].op, Op::Access(access) if access.confirms);
        if stands && let Some(attempt) = self.attempt(thread) {
            return self.look_at_attempts(&attempt);
        }
        Ok(())
    }

    fn starts_again(&mut self, thread: ThreadId) -> Result<(), Stop> {
        runtime::shared(|shared| shared.restart = true);
        self.states[thread.index()].status = Status::Stopped;
        Err(*runtime::starts_again())
    }

    /// Whether a step is an exchange that has failed and shows a loop that was not known.
    fn learns(&mut self, thread: ThreadId, made: &Op, at: At, found: Outcome) -> bool {
        let Op::Access(access @ Access { kind: AccessKind::Cas { expected, failure, .. }, .. }) = made else {
            return false;
        };
        let expected = truncate(*expected, access.size);
        let plain = access.until.is_none() && !access.confirms && !access.spins;
        if !plain || found == expected || runtime::shared(|shared| shared.retries.knows(at)) {
            return false;
        }
        let (next, next_at) = (self.states[thread.index()].op, self.states[thread.index()].at);
        let mut way = vec![at];
        let mut load: Option<(At, Access)> = None;
        let mut back = None;
        for step in self.steps[..self.made - 1].iter().rev().filter(|step| step.thread == thread) {
            let Op::Access(other) = step.op else { break };
            let (true, Some(place)) = (self.leaves_no_trace(thread, &step.op), step.at) else { break };
            let same = other.kind == AccessKind::Load && (other.addr, other.size) == (access.addr, access.size);
            if load.is_none() && same {
                if step.outcome != expected || !super::awaits::is_look(&other) {
                    break;
                }
                load = Some((place, other));
            } else if load.is_none() {
                way.push(place);
            }
            if load.is_some() && step.op == next && Some(place) == next_at {
                back = Some(place);
                break;
            }
        }
        let Some((load, access)) = load else { return false };
        let then = match back {
            Some(place) => Then::Back(place),
            None if is_same_load(&next, &access) => Then::LoadsElsewhere,
            None if sees_no_more(access.order, *failure) => Then::GoesOn,
            None => return false,
        };
        // Stacks will be looked at, and have to be cleared for that: so that this does not take another start.
        let size = self.deepest();
        runtime::shared(|shared| {
            shared.blocks.freed_early.get_or_insert_default();
            shared.retries.learn(at, (load, then), way);
            shared.must_clear(size);
        });
        true
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

    /// The attempt at whose end a thread stands.
    fn attempt(&self, thread: ThreadId) -> Option<Attempt> {
        let (op, at) = (self.states[thread.index()].op, self.states[thread.index()].at?);
        let exchange = runtime::shared(|shared| shared.retries.exchange(at))?;
        let mut start = None;
        let mut loaded = false;
        for (n, step) in self.steps[..self.made].iter().enumerate().rev().filter(|(_, step)| step.thread == thread) {
            if !self.leaves_no_trace(thread, &step.op) {
                break;
            }
            loaded |= step.at == Some(exchange.load);
            if loaded && step.at == Some(exchange.first()) {
                start = Some(n);
                break;
            }
        }
        let start = start?;
        let steps = self.steps[start..self.made].iter().filter(|step| step.thread == thread).copied().collect();
        Some(Attempt { thread, exchange, op, at, start, steps })
    }

    /// Looks at the attempts that could have failed before this one.
    fn look_at_attempts(&mut self, attempt: &Attempt) -> Result<(), Stop> {
        if !self.may_have_failed(attempt) {
            return Ok(());
        }
        let Some(past) = self.past_of(attempt) else { return Ok(()) };
        let key = past.key(attempt);
        if runtime::shared(|shared| shared.retries.looked.contains(&key)) {
            return Ok(());
        }
        let size = self.deepest();
        if runtime::shared(|shared| shared.must_clear(size)) {
            return self.starts_again(attempt.thread);
        }
        let pure = self.all_are_pure_in_place(attempt, &past) || self.all_are_pure_again(attempt, &past);
        if runtime::shared(|shared| shared.restart) {
            return self.starts_again(attempt.thread);
        }
        if !pure {
            runtime::shared(|shared| shared.retries.leaves_trace(attempt.at));
            return self.starts_again(attempt.thread);
        }
        runtime::shared(|shared| {
            let looked = &mut shared.retries.looked;
            if looked.len() == TRIED {
                looked.clear();
            }
            looked.insert(key);
        });
        Ok(())
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

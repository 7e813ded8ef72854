//! What was found about threads that came to the end of an iteration holds.
//!
//! Whether a thread has come back as it was is seen from memory, and there may be something in memory that is not the model's. A
//! log that outlives runs, as tests keep one for when something fails, is reallocated in some runs and not in others, and is
//! then a block that the thread writes to in every iteration. Or a word on a stack is taken for a pointer in some runs only
//! (`churn.rs`). To let a thread go on for such a reason is never wrong. But engines make the same steps several times, and
//! rely on it that the thread then waits again, or goes on again: one that was not scheduled since it waited, and goes on now,
//! would seem to wait for ever.
//!
//! So the first time decides. The second time is known by what the thread has been told since it was created, and how often it
//! has come round since. But that does not say all: it may look at memory that others have written before they released a lock.
//! So every step gets a number for all that may happen before it:
//!
//! - what its thread was told before it, and its outcome;
//! - the step before it that has written to the same object, whoever has made it, and with that all those before, one of which
//!   is the one that it reads from;
//! - the last step of a thread that is joined.
//!
//! With equal numbers, threads find the same in all memory that they may look at, unless there is a data race.

use super::awaits::number_of;
use super::{RustMachine, State, TRIED};
use crate::number::mix;
use crate::runtime;
use crate::script::Step;
use crate::spin::Cycle;
use rustc_hash::FxHashMap;
use selvedge_ir::EntityRef;
use selvedge_machine::{Addr, Op, Status, ThreadId};

/// What was found when threads came to the end of an iteration.
#[derive(Default)]
pub(super) struct CameRound {
    /// By what had happened before, and how often the thread had come there since.
    found: FxHashMap<(u64, ThreadId, u32), Option<Cycle>>,
    /// The numbers of steps.
    numbers: Vec<u64>,
}

impl CameRound {
    /// What was found when the thread was there before, be it a cycle or none; the first time, what was found now.
    pub fn as_before(&mut self, now: Option<Cycle>, states: &[State], key: (u64, ThreadId, u32)) -> Option<Cycle> {
        let thread = key.1;
        let repeated = runtime::shared_untidily(|shared| {
            let script = &shared.script;
            script.repeats.then(|| script.steps[script.next..script.end].iter().any(|step| step.thread == thread))
        });
        if let Some(goes_on) = repeated {
            // If the thread does not go on in the run that is repeated, nobody asks why.
            let state = states.get(thread.index());
            let has_gone_on = || state.is_some_and(|it| matches!(it.status, Status::Ready | Status::Finished));
            return if goes_on || has_gone_on() { None } else { now };
        }
        if self.found.len() == TRIED {
            self.found.clear();
        }
        *self.found.entry(key).or_insert(now)
    }

    /// Steps are taken back.
    pub fn forget(&mut self, made: usize) {
        self.numbers.truncate(made);
    }
}

impl RustMachine {
    /// A number for all that may have happened before what a thread does now. (In a run that is repeated, nobody asks.)
    pub(super) fn happened(&mut self, thread: ThreadId) -> u64 {
        if runtime::shared_untidily(|shared| shared.script.repeats) {
            return 0;
        }
        for n in self.came_round.numbers.len()..self.made {
            let step = &self.steps[n];
            let mut number = mix(self.happened_until(n, step.thread), step.outcome);
            if let Op::Join { thread } = step.op {
                number = mix(number, self.happened_until(n, thread));
            }
            if let Some(object) = object(&step.op) {
                let last = self.steps[..n].iter().rposition(|other| writes(other, object));
                number = mix(number, last.map_or(0, |last| self.came_round.numbers[last]));
            }
            self.came_round.numbers.push(number);
        }
        self.happened_until(self.made, thread)
    }

    /// The same for what happened before a step.
    fn happened_until(&self, n: usize, thread: ThreadId) -> u64 {
        number_of(&self.steps[..n], &self.came_round.numbers, thread)
    }
}

/// The object that an operation is to.
fn object(op: &Op) -> Option<Addr> {
    match *op {
        Op::Access(access) => Some(access.addr),
        Op::CondWait { cond } | Op::CondWake { cond, .. } | Op::CondSignal { cond } | Op::CondBroadcast { cond } => {
            Some(cond)
        }
        Op::Free { addr, .. } => Some(addr),
        Op::Fence { .. } | Op::Spawn { .. } | Op::Join { .. } | Op::Choose { .. } | Op::AtomicBegin | Op::AtomicEnd => {
            None
        }
    }
}

/// Whether a step has written to an object. An exchange that has failed has not: it may have come before or after others that
/// have not either.
fn writes(step: &Step, to: Addr) -> bool {
    match step.op {
        Op::Access(access) => access.addr == to && access.written(step.outcome).is_some(),
        ref op => object(op) == Some(to),
    }
}

//! Threads that come to operations of a run that is being repeated (`machine/again.rs`): they go on by themselves as long as the
//! next step is their own.

use super::Shared;
use crate::request::Request;
use crate::retry::Standing;
use crate::runtime::At;
use crate::script::Step;
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, Op, Outcome, ThreadId};

/// What becomes of a thread that comes to an operation of a run that is being repeated.
pub(crate) enum Repeat {
    /// It is not its turn.
    No,
    /// It goes on by itself with this outcome.
    Told(Outcome),
    /// The operation was not expected: the exploration has to start again.
    Unexpected,
}

impl Shared {
    /// A thread comes to an operation of a run that is being repeated: the outcome, if it goes on by itself.
    #[inline]
    pub fn repeat(&mut self, thread: ThreadId, request: &Request, at: At) -> Option<Outcome> {
        let &Step { now, outcome, request, .. } = self.script.take(thread, request, at)?;
        self.frees.uses(thread, &request);
        self.repeats_step(now);
        Some(outcome)
    }

    /// A thread goes on by itself. As if the machine had been asked: the memory knows what was met before.
    #[inline]
    fn repeats_step(&mut self, now: u32) {
        self.blocks.now = now;
        self.repeated += 1;
        self.met.clear();
    }

    /// The same if operations get marks: the operation is marked first, and what is known of its thread's attempt changes as
    /// it would if the thread were asked.
    pub fn repeat_marked(&mut self, thread: ThreadId, request: &Request, at: At) -> Repeat {
        let is_turn = self.script.is_turn_of(thread);
        if !is_turn || !self.unmarked.is_empty() && self.unmarked.marks(&request.op(), at) {
            return Repeat::No;
        }
        let before = self.per_thread.get(thread.index()).and_then(|own| own.open);
        if before.is_none()
            && let Some(&Step { op, outcome, now, request, .. }) = self.script.take_marked(thread, request, at)
        {
            self.frees.uses(thread, &request);
            // No attempt has to be confirmed: the marks are those that it got before.
            self.repeats_step(now);
            if matches!(op, Op::Access(Access { speculative: Some(_), .. })) {
                self.per_thread(thread);
                self.retries.performed(&mut self.per_thread[thread.index()].open, &op, at, outcome);
            }
            return Repeat::Told(outcome);
        }
        let Standing::Op(op) = self.comes_to(thread, request.op(), at) else { return Repeat::Unexpected };
        let outcome = self.repeat(thread, &Request::from(&op), at);
        if !self.retries.is_empty() {
            let open = &mut self.per_thread[thread.index()].open;
            match outcome {
                Some(outcome) => self.retries.performed(open, &op, at, outcome),
                None => *open = before,
            }
        }
        outcome.map_or(Repeat::No, Repeat::Told)
    }
}

//! The steps of a run, by which it can be repeated.
//!
//! When a run is repeated, what its operations tell their threads is known. To suspend a thread for every one of them
//! would cost more than all else, so a thread that comes to an operation looks into the script by itself: if the next step
//! is its own, it takes the outcome and goes on. The order of steps is the same as ever; the machine is asked only where
//! the script goes on with another thread, where a thread is created, and at the end.

use crate::runtime::At;
use selvedge_machine::{Op, Outcome, ThreadId};

/// One step of a run.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub thread: ThreadId,
    pub op: Op,
    pub outcome: Outcome,
    /// The engine's time.
    pub now: u32,
    /// Where it stands in the source.
    pub at: Option<At>,
}

impl Step {
    /// Whether this is the operation. The same code performs it, so its place is at the same address.
    #[inline]
    pub fn is(&self, op: &Op, at: At) -> bool {
        self.is_at(at) && self.op == *op
    }

    /// Whether this is the operation, which has got no marks yet, if it needs none but those that this one has: it confirms
    /// nothing.
    #[inline]
    fn is_but_for_marks(&self, op: &Op, at: At) -> bool {
        let same = match (&self.op, op) {
            (Op::Access(known), Op::Access(access)) => {
                let plain = (known.addr, known.size, known.order, known.purpose, known.raw);
                plain == (access.addr, access.size, access.order, access.purpose, access.raw)
                    && known.kind == access.kind
                    && known.until == access.until
                    && !known.confirms
            }
            (known, op) => known == op,
        };
        same && self.is_at(at)
    }

    #[inline]
    fn is_at(&self, at: At) -> bool {
        self.at.is_none_or(|known| std::ptr::eq(known, at))
    }
}

/// The steps that are being repeated.
#[derive(Default)]
pub(crate) struct Script {
    pub steps: Vec<Step>,
    /// The step that comes next, and the end of those that are repeated.
    pub next: usize,
    pub end: usize,
}

impl Script {
    /// Whether the next step is one that a thread makes by itself.
    #[inline]
    pub fn is_turn_of(&self, thread: ThreadId) -> bool {
        self.next < self.end && self.steps[self.next].thread == thread
    }

    /// A thread comes to an operation: the step that it is, if it is the next one. The machine has to know of new threads.
    #[inline]
    pub fn take(&mut self, thread: ThreadId, op: &Op, at: At) -> Option<&Step> {
        self.take_if(thread, op, |step| step.is(op, at))
    }

    /// The same if the operation has got no marks yet: the step has them.
    #[inline]
    pub fn take_marked(&mut self, thread: ThreadId, op: &Op, at: At) -> Option<&Step> {
        self.take_if(thread, op, |step| step.is_but_for_marks(op, at))
    }

    #[inline]
    fn take_if(&mut self, thread: ThreadId, op: &Op, same: impl FnOnce(&Step) -> bool) -> Option<&Step> {
        if self.next >= self.end {
            return None;
        }
        let step = &self.steps[self.next];
        let is_next = step.thread == thread && !matches!(op, Op::Spawn { .. }) && same(step);
        is_next.then(|| {
            self.next += 1;
            step
        })
    }

    /// Where the step stands that was repeated last, if it was this thread's.
    pub fn last_of(&self, thread: ThreadId) -> Option<At> {
        let step = self.steps[..self.end].get(self.next.checked_sub(1)?)?;
        step.at.filter(|_| step.thread == thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_ir::{EntityRef, Order};
    use std::panic::Location;

    #[test]
    fn a_thread_takes_only_the_next_step_and_only_its_own() {
        let [main, other] = [0, 1].map(ThreadId::new);
        let (fence, choice) = (Op::Fence { order: Order::SeqCst }, Op::Choose { alternatives: 2 });
        let step = |thread, op, outcome| Step { thread, op, outcome, now: 0, at: None };
        let spawn = Op::Spawn { child: other };
        let steps = vec![step(main, fence, 0), step(main, choice, 1), step(other, fence, 0), step(main, spawn, 0)];
        let mut script = Script { steps, next: 0, end: 4 };
        let here = Location::caller();
        let mut take = |thread, op| script.take(thread, &op, here).map(|step| step.outcome);
        assert_eq!(take(other, fence), None);
        assert_eq!(take(main, choice), None, "the fence comes first");
        assert_eq!(take(main, fence), Some(0));
        assert_eq!(take(main, choice), Some(1));
        assert_eq!(take(main, fence), None, "it is the other thread's turn");
        assert_eq!(take(other, fence), Some(0));
        assert_eq!(take(main, spawn), None, "the machine makes the child");
        script.end = 3;
        assert!(script.take(main, &fence, here).is_none(), "the script is at its end");
    }

    #[test]
    fn the_same_operation_elsewhere_is_another_step() {
        let (main, fence) = (ThreadId::new(0), Op::Fence { order: Order::SeqCst });
        let (here, there) = (Location::caller(), fence_at());
        let steps = vec![Step { thread: main, op: fence, outcome: 0, now: 0, at: Some(here) }];
        let mut script = Script { steps, next: 0, end: 1 };
        assert!(script.take(main, &fence, there).is_none());
        assert!(script.take(main, &fence, here).is_some());
    }

    #[track_caller]
    fn fence_at() -> At {
        Location::caller()
    }
}

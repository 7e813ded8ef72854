//! The steps of a run, by which it can be repeated.
//!
//! When a run is repeated, what its operations tell their threads is known. To suspend a thread for every one of them
//! would cost more than all else, so a thread that comes to an operation looks into the script by itself: if the next step
//! is its own, it takes the outcome and goes on. The order of steps is the same as ever; the machine is asked only where
//! the script goes on with another thread, where a thread is created, and at the end.

use crate::request::Request;
use crate::runtime::At;
use selvedge_machine::{Op, Outcome, ThreadId};

/// One step of a run.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub thread: ThreadId,
    pub op: Op,
    /// The operation as the thread hands it over, which is quicker to compare.
    pub request: Request,
    pub outcome: Outcome,
    /// The engine's time.
    pub now: u32,
    /// Where it stands in the source.
    pub at: Option<At>,
    /// Whether it was seen that the thread has changed nothing around itself from there to its next operation.
    pub stays: bool,
}

impl Step {
    /// A step.
    #[cfg(test)]
    pub fn new(thread: ThreadId, op: Op, outcome: Outcome, now: u32, at: Option<At>) -> Step {
        Step { thread, op, request: Request::from(&op), outcome, now, at, stays: false }
    }

    /// Whether this is the operation. The same code performs it, so its place is at the same address.
    #[inline]
    pub fn is(&self, request: &Request, at: At) -> bool {
        self.is_at(at) && self.request == *request
    }

    /// Whether this is the operation, which has got no marks yet, if it needs none but those that this one has: it confirms
    /// nothing.
    #[inline]
    fn is_but_for_marks(&self, request: &Request, at: At) -> bool {
        self.is_at(at) && self.request.is_but_for_marks(request)
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
    /// Whether there are any, though they may not come before something else.
    pub repeats: bool,
}

impl Script {
    /// Whether the next step is one that a thread makes by itself.
    #[inline]
    pub fn is_turn_of(&self, thread: ThreadId) -> bool {
        self.next < self.end && self.steps[self.next].thread == thread
    }

    /// A thread comes to an operation: the step that it is, if it is the next one. The machine has to know of new threads.
    #[inline]
    pub fn take(&mut self, thread: ThreadId, request: &Request, at: At) -> Option<&Step> {
        self.take_if(thread, |step| step.is(request, at))
    }

    /// The same if the operation has got no marks yet: the step has them.
    #[inline]
    pub fn take_marked(&mut self, thread: ThreadId, request: &Request, at: At) -> Option<&Step> {
        self.take_if(thread, |step| step.is_but_for_marks(request, at))
    }

    #[inline]
    fn take_if(&mut self, thread: ThreadId, same: impl FnOnce(&Step) -> bool) -> Option<&Step> {
        if self.next >= self.end {
            return None;
        }
        let step = &self.steps[self.next];
        let is_next = step.thread == thread && !step.request.spawns() && same(step);
        is_next.then(|| {
            self.next += 1;
            step
        })
    }

    /// Whether the thread that has repeated the last step changes nothing around itself until its next operation.
    pub fn stays(&self) -> bool {
        let last = self.next.checked_sub(1);
        last.and_then(|last| self.steps[..self.end].get(last)).is_some_and(|step| step.stays)
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
        let step = |thread, op, outcome| Step::new(thread, op, outcome, 0, None);
        let spawn = Op::Spawn { child: other };
        let steps = vec![step(main, fence, 0), step(main, choice, 1), step(other, fence, 0), step(main, spawn, 0)];
        let mut script = Script { steps, end: 4, ..Script::default() };
        let here = Location::caller();
        let mut take = |thread, op: Op| script.take(thread, &Request::from(&op), here).map(|step| step.outcome);
        assert_eq!(take(other, fence), None);
        assert_eq!(take(main, choice), None, "the fence comes first");
        assert_eq!(take(main, fence), Some(0));
        assert_eq!(take(main, choice), Some(1));
        assert_eq!(take(main, fence), None, "it is the other thread's turn");
        assert_eq!(take(other, fence), Some(0));
        assert_eq!(take(main, spawn), None, "the machine makes the child");
        script.end = 3;
        assert!(script.take(main, &Request::from(&fence), here).is_none(), "the script is at its end");
    }

    #[test]
    fn the_same_operation_elsewhere_is_another_step() {
        let (main, fence) = (ThreadId::new(0), Op::Fence { order: Order::SeqCst });
        let (here, there) = (Location::caller(), fence_at());
        let steps = vec![Step::new(main, fence, 0, 0, Some(here))];
        let mut script = Script { steps, end: 1, ..Script::default() };
        assert!(script.take(main, &Request::from(&fence), there).is_none());
        assert!(script.take(main, &Request::from(&fence), here).is_some());
    }

    #[track_caller]
    fn fence_at() -> At {
        Location::caller()
    }
}

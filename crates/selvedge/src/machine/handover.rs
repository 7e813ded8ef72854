//! Threads that spin under locks: has anybody had the lock since?
//!
//! A thread that takes a lock, looks at what it protects and gives it back, again and again (`spin.rs`), comes to the same
//! end for ever if what it looks at stays as it is. Engines see the values of atomics, and know whether they are up to date;
//! they do not see what a lock protects. But that changes only while somebody holds the lock. So if nobody has taken one of
//! the locks of the iteration after the thread, then all that it has seen there is up to date.
//!
//! Whoever has taken a lock in an iteration of a loop in which he spins himself, and is left in now, has changed nothing. If
//! somebody else has had the lock, it may be that nothing has changed; but that the thread begins an iteration after that is
//! another execution, and a livelock is reported there.
//!
//! Steps are in an order in which nobody reads what was not written yet. Whoever takes a lock reads from who has given
//! it back, so in this order locks are handed over as in the execution.

use super::{RustMachine, is_tried};
use crate::script::Step;
use crate::spin::is_quiet;
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, Addr, Op, Purpose, Status, ThreadId};

/// The lock that a step takes, if it does. To try is an exchange like any other, and takes the lock if it changes something.
fn taken_by(step: &Step) -> Option<Addr> {
    match step.op {
        Op::Access(Access { purpose: Purpose::Lock, addr, .. }) => Some(addr),
        Op::Access(Access { purpose: Purpose::Data, addr, .. }) if !is_quiet(&step.op, step.outcome) => {
            is_tried(addr).then_some(addr)
        }
        _ => None,
    }
}

impl RustMachine {
    /// Whether somebody who may have changed something has had a lock since a thread has had it in its newest steps.
    pub(super) fn others_came_since(&self, thread: ThreadId, steps: u32) -> bool {
        // How many steps of each thread, from the newest on, are of an iteration in which it spins.
        let left_of = |thread: ThreadId| match self.state(thread) {
            state if state.status == Status::AssumeBlocked => state.spins.map_or(0, |iteration| iteration.steps),
            _ => 0,
        };
        let mut left: Vec<u32> = (0..self.states.len()).map(|thread| left_of(ThreadId::new(thread))).collect();
        left[thread.index()] = steps;
        // Locks that somebody has had who may have changed something.
        let mut had = Vec::new();
        for step in self.steps[..self.made].iter().rev() {
            let left = &mut left[step.thread.index()];
            let is_of_iteration = *left > 0;
            *left = left.saturating_sub(1);
            if step.thread == thread && !is_of_iteration {
                return false;
            }
            let Some(addr) = taken_by(step) else { continue };
            match step.thread == thread {
                true if had.contains(&addr) => return true,
                false if !is_of_iteration => had.push(addr),
                _ => {}
            }
        }
        false
    }

    /// Whether a thread has accessed a word in its newest steps.
    pub(super) fn has_looked_at(&self, thread: ThreadId, steps: u32, addr: Addr) -> bool {
        let own = self.steps[..self.made].iter().rev().filter(|step| step.thread == thread).take(steps as usize);
        own.filter_map(accessed).any(|other| other == addr)
    }
}

/// The word that a step accesses.
fn accessed(step: &Step) -> Option<Addr> {
    if let Op::Access(Access { addr, .. }) = step.op { Some(addr) } else { None }
}

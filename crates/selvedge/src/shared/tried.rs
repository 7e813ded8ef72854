//! Locks that threads try to take, and what becomes of threads that come round (`spin.rs`).

use super::Shared;
use crate::spin::{Cycle, Iteration, Waits};
use selvedge_machine::{Addr, ThreadId};
use std::collections::hash_map::Entry;

impl Shared {
    /// Somebody tries to take a lock. Whether that is news which makes a difference.
    pub fn tries(&mut self, lock: Addr, thread: ThreadId) -> bool {
        let is_news = match self.tried.entry(lock) {
            Entry::Vacant(entry) => {
                entry.insert(Some(thread));
                true
            }
            Entry::Occupied(mut entry) => {
                let is_other = entry.get().is_some_and(|first| first != thread);
                if is_other {
                    entry.insert(None);
                }
                is_other
            }
        };
        is_news && self.spins_with_locks
    }

    /// Whether somebody tries to take a lock.
    pub fn is_tried(&self, lock: Addr) -> bool {
        self.tried.contains_key(&lock)
    }

    /// Whether somebody else does than this thread.
    pub fn is_tried_by_others(&self, lock: Addr, thread: ThreadId) -> bool {
        self.all_are_tried || self.tried.get(&lock).is_some_and(|only| *only != Some(thread))
    }

    /// A thread has come round: the iteration that it might make forever.
    pub fn comes_round(&mut self, cycle: Cycle) -> Option<Iteration> {
        match cycle {
            Cycle::Pure(iteration) => {
                self.spins_with_locks |= iteration.locks;
                Some(iteration)
            }
            Cycle::Chooses { locks } => {
                self.spins_with_locks |= locks;
                // A pass without them tells what becomes of a loop in which something fails for no reason.
                self.left_out.choices |= !self.config.spurious;
                None
            }
            Cycle::InVain(iteration) => {
                self.left_out.rounds = true;
                Some(iteration)
            }
            Cycle::Holds(iteration) => {
                self.left_out.holds = true;
                Some(iteration)
            }
            Cycle::Endless => {
                self.left_out.endless = true;
                None
            }
            Cycle::Repeats(iteration) => {
                self.left_out.repeats = true;
                Some(iteration)
            }
            Cycle::Adds => {
                self.left_out.adds = true;
                self.finds(Waits { add: true, ..Waits::default() });
                None
            }
            Cycle::Noticed(iteration) => {
                self.left_out.noticed = true;
                Some(iteration)
            }
        }
    }
}

//! Expand, Expand_Thread, Schedule_Thread, Skip (algorithms 2 and 5 of the paper).
//!
//! Deviations:
//!
//! 1. Schedule_Thread passes over threads that are not active, and if all active ones are to be skipped, it takes one of
//!    them all the same: more than necessary may always be explored.
//! 2. Behind a back jump, it does not take the next thread by number but the one that has waited longest. As long as all
//!    are enabled, that is the same; but a thread that was disabled when its turn came does not wait for a whole round,
//!    which would close an unfair cycle.
//! 3. Threads that are disabled on the path to a node come last.

use crate::art::NodeId;
use crate::program::{LocationId, ThreadId, TransitionId};
use crate::verifier::Verifier;
use selvedge_ir::EntityRef;

impl Verifier {
    /// Function Expand(v): expands the thread whose turn it is. Whether there was one.
    pub(crate) fn expand(&mut self, v: NodeId) -> bool {
        match self.schedule_thread(v) {
            Some(thread) => {
                self.expand_thread(thread, v);
                true
            }
            None => false,
        }
    }

    /// Function Expand_Thread(T, v).
    pub(crate) fn expand_thread(&mut self, thread: ThreadId, v: NodeId) {
        debug_assert!(!self.art.nodes[v].expanded.has(thread), "a thread is expanded once");
        self.art.nodes[v].expanded.add(thread);
        let transitions: Vec<TransitionId> = self.transitions(v, thread).to_vec();
        let mut made = Vec::new();
        for transition in transitions {
            made.push(self.add_child(v, transition));
        }
        // Errors come first: the labels that exclude them are wanted for coverings. The work list is taken from its end.
        made.sort_by_key(|&child| (self.is_error(child), std::cmp::Reverse(child)));
        self.work.extend(made);
    }

    /// Function Schedule_Thread(v): the same thread again, or behind a back jump the one that has waited longest.
    pub(crate) fn schedule_thread(&mut self, v: NodeId) -> Option<ThreadId> {
        let mut open: Vec<ThreadId> = self.program.threads.keys().collect();
        open.retain(|&t| {
            self.is_active(v, t) && !self.art.nodes[v].expanded.has(t) && !self.art.nodes[v].unsure.has(t)
        });
        let last = self.last_turns(v);
        let same = match self.art.nodes[v].parent {
            Some(edge) if !self.program.transitions[edge.transition].back_jump => Some(edge.thread),
            _ => None,
        };
        open.sort_by_key(|&t| (Some(t) != same, last[t.index()], t));
        let wanted: Vec<ThreadId> = open.iter().copied().filter(|&t| !self.skip(v, t)).collect();
        let goes_on = wanted.iter().copied().find(|&t| !self.is_disabled_on_path(v, t));
        goes_on.or(wanted.first().copied()).or(open.first().copied())
    }

    /// When each thread has moved last on the way to a node; 0 if never.
    fn last_turns(&self, v: NodeId) -> Vec<usize> {
        let mut last = vec![0; self.program.threads.len()];
        for node in self.art.upwards(v) {
            if let Some(edge) = self.art.nodes[node].parent {
                let turn = &mut last[edge.thread.index()];
                *turn = (*turn).max(self.art.nodes[node].depth);
            }
        }
        last
    }

    /// Function Skip(v, T): whether T was as well scheduled before the last step, and need not be scheduled behind it.
    pub(crate) fn skip(&self, v: NodeId, thread: ThreadId) -> bool {
        if !self.skipping || self.not_skipped.contains(&(v, thread)) {
            return false;
        }
        let Some(edge) = self.art.nodes[v].parent else { return false };
        let last = &self.program.transitions[edge.transition];
        thread < edge.thread
            && !last.back_jump
            && self.all_independent(self.art.nodes[v].locations[thread.index()], edge.transition)
    }

    /// Transitions(v)_T ∥ {a'}.
    fn all_independent(&self, location: LocationId, last: TransitionId) -> bool {
        self.program.from(location).iter().all(|&r| self.program.independent(r, last))
    }
}

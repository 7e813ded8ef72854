//! The fairness condition on coverings (definition 31, line 11 of algorithm 2).
//!
//! fair(c) asks that every thread that is active somewhere in a cycle c moves in c. A new edge v ▷ w closes an unfair cycle
//! just if, for some thread T, v is reached from w without a step of T through nodes at one of which T is active. So for
//! each T, the edges of T are left out, and the nodes between w and v are looked at. This finds closed walks as well as
//! simple cycles; that is what an infinite execution can do.
//!
//! A thread that waits for the end of another one that has not ended is not active: it is not enabled.

use crate::art::NodeId;
use crate::program::ThreadId;
use crate::verifier::Verifier;
use rustc_hash::FxHashSet;

impl Verifier {
    /// Whether every cycle that v ▷ w closes is fair.
    pub(crate) fn covering_is_fair(&self, v: NodeId, w: NodeId) -> bool {
        if !self.reaches(w, v) {
            return true;
        }
        self.program.threads.keys().all(|thread| !self.unfair_to(thread, v, w))
    }

    fn reaches(&self, w: NodeId, v: NodeId) -> bool {
        self.forward(w, v, None).contains(&v)
    }

    /// Whether v is reached from w without a step of a thread that is active on the way.
    fn unfair_to(&self, thread: ThreadId, v: NodeId, w: NodeId) -> bool {
        let ahead = self.forward(w, v, Some(thread));
        if !ahead.contains(&v) {
            return false;
        }
        // Backwards from v, within what is reached from w.
        let mut between = FxHashSet::default();
        let mut todo = vec![v];
        while let Some(node) = todo.pop() {
            if !ahead.contains(&node) || !between.insert(node) {
                continue;
            }
            if self.is_active(node, thread) {
                return true;
            }
            let data = &self.art.nodes[node];
            todo.extend(data.covers.iter().filter(|&&x| !self.art.nodes[x].unfairly));
            if let Some(edge) = data.parent
                && edge.thread != thread
            {
                todo.push(edge.from);
            }
        }
        false
    }

    /// The nodes that are reached from w over tree and covering edges, without the edges of a thread. Beyond v nothing is
    /// looked at.
    fn forward(&self, w: NodeId, v: NodeId, without: Option<ThreadId>) -> FxHashSet<NodeId> {
        let mut seen = FxHashSet::default();
        let mut todo = vec![w];
        while let Some(node) = todo.pop() {
            if !seen.insert(node) || node == v {
                continue;
            }
            let data = &self.art.nodes[node];
            if let Some(by) = data.covered_by {
                if !data.unfairly {
                    todo.push(by);
                }
                continue;
            }
            todo.extend(data.children.iter().copied().filter(|&child| {
                let edge = self.art.nodes[child].parent.expect("a child has a parent");
                Some(edge.thread) != without && !self.is_false(child)
            }));
        }
        seen
    }
}

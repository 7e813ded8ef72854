//! The fairness condition on coverings (definition 31, line 11 of algorithm 2).
//!
//! fair(c) asks that every thread that is active somewhere in a cycle c moves in c. A new edge v ▷ w closes an unfair cycle
//! just if, for some thread T, v is reached from w without a step of T through nodes at one of which T is active. This
//! finds closed walks as well as simple cycles; that is what an infinite execution can do.
//!
//! All threads are looked at together. For each node n, *ahead*(n) is the set of threads T such that n is reached from w
//! without a step of T, and *behind*(n) that of those such that v is reached from n without one; both are least fixed
//! points. The covering is unfair just if some T that is active at some n is in both.
//!
//! A thread that waits for the end of another one that has not ended is not active: it is not enabled.

use crate::art::{NodeId, ThreadSet};
use crate::verifier::Verifier;
use rustc_hash::FxHashMap;

impl Verifier {
    /// Whether every cycle that v ▷ w closes is fair.
    pub(crate) fn covering_is_fair(&self, v: NodeId, w: NodeId) -> bool {
        let ahead = self.ahead(w, v);
        let Some(&left_out) = ahead.get(&v) else { return true };
        let mut behind: FxHashMap<NodeId, ThreadSet> = FxHashMap::default();
        let mut todo = vec![(v, left_out)];
        while let Some((node, threads)) = todo.pop() {
            // Within what is reached from w.
            let threads = threads.and(ahead.get(&node).copied().unwrap_or_default());
            let known = behind.entry(node).or_default();
            let new = threads.without(*known);
            if new.is_empty() {
                continue;
            }
            *known = known.or(new);
            if new.iter().any(|thread| self.is_active(node, thread)) {
                return false;
            }
            let data = &self.art.nodes[node];
            todo.extend(data.covers.iter().filter(|&&x| !self.art.nodes[x].unfairly).map(|&x| (x, new)));
            if let Some(edge) = data.parent {
                todo.push((edge.from, new.without(ThreadSet::of(edge.thread))));
            }
        }
        true
    }

    /// The nodes that are reached from w over tree and covering edges, each with the threads that need not move on the
    /// way. Beyond v nothing is looked at.
    fn ahead(&self, w: NodeId, v: NodeId) -> FxHashMap<NodeId, ThreadSet> {
        let mut ahead: FxHashMap<NodeId, ThreadSet> = FxHashMap::default();
        let all = ThreadSet::all(self.program.threads.len());
        let mut todo = vec![(w, all)];
        while let Some((node, threads)) = todo.pop() {
            let known = ahead.entry(node).or_default();
            let new = threads.without(*known);
            if new.is_empty() {
                continue;
            }
            *known = known.or(new);
            if node == v {
                continue;
            }
            let data = &self.art.nodes[node];
            if let Some(by) = data.covered_by {
                if !data.unfairly {
                    todo.push((by, new));
                }
                continue;
            }
            for &child in &data.children {
                let edge = self.art.nodes[child].parent.expect("a child has a parent");
                if !self.is_false(child) {
                    todo.push((child, new.without(ThreadSet::of(edge.thread))));
                }
            }
        }
        ahead
    }
}

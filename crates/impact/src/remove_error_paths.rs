//! Remove_Error_Paths (line 9 of algorithm 1): the largest part of the tree under which every execution is safe.
//!
//! A node is *good* if it is covered by a good node, or has nothing left to do, or some thread is surely enabled there, is
//! fully expanded, and leads to good nodes only. This is the largest set with that property: all are taken for good, and
//! those that are not are removed until nothing changes, from the errors upwards. Cycles of the part are cycles of the
//! tree, so they are fair.

use crate::art::{Label, NodeId, ThreadSet};
use crate::program::ThreadId;
use crate::verifier::Verifier;
use selvedge_ir::{EntityRef, EntityVec};
use std::rc::Rc;

/// A safe incomplete verification result: for every node that executions may come to, the threads that may go on.
///
/// It holds together with the labels and coverings that the tree had when it was given out. The tree goes on to change: a
/// covering is taken back, another node takes its place. So a result keeps its own; only the edges are read in the tree,
/// where they stay for ever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ivr {
    /// Nobody for nodes that are not part of it, that are covered, or at which nothing is left to do.
    pub permitted: EntityVec<NodeId, ThreadSet>,
    /// Whether a node is part of it.
    pub nodes: EntityVec<NodeId, bool>,
    /// The node that covers it.
    pub covered_by: EntityVec<NodeId, Option<NodeId>>,
    /// φ(v).
    pub labels: EntityVec<NodeId, Rc<Label>>,
}

impl Ivr {
    /// How many nodes it has.
    pub fn len(&self) -> usize {
        self.nodes.values().filter(|&&part| part).count()
    }

    /// Whether it permits nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Verifier {
    /// Remove_Error_Paths(A); none if nothing is left.
    pub fn remove_error_paths(&self) -> Option<Ivr> {
        debug_assert!(
            self.art.nodes.keys().all(|v| self.covering_stands(v)),
            "a covering leads to a node that goes on"
        );
        let mut good: EntityVec<NodeId, bool> = self.art.nodes.keys().map(|_| true).collect();
        loop {
            let mut changed = false;
            // Children have larger numbers than their parents, so one round from the end settles all but coverings.
            for node in self.art.nodes.keys().rev() {
                if good[node] && !self.is_good(node, &good) {
                    good[node] = false;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        good[self.art.root()].then(|| self.reachable_part(&good))
    }

    /// Definition 25: a covering node is at the same place and is not covered; and what was found to be unreachable covers
    /// only what is.
    fn covering_stands(&self, v: NodeId) -> bool {
        self.art.nodes[v].covered_by.is_none_or(|w| {
            let by = &self.art.nodes[w];
            let apart = by.covers.contains(&v) && !self.art.is_hidden(w);
            apart && by.locations == self.art.nodes[v].locations && (self.is_false(v) || !self.is_false(w))
        })
    }

    fn is_good(&self, node: NodeId, good: &EntityVec<NodeId, bool>) -> bool {
        let data = &self.art.nodes[node];
        if self.is_false(node) {
            return true;
        }
        if data.finding.is_some() || self.is_error(node) {
            return false;
        }
        if let Some(by) = data.covered_by {
            return good[by] && !data.unfairly;
        }
        self.is_terminal(node) || data.expanded.iter().any(|thread| self.is_permitted(node, thread, good))
    }

    /// The nodes from which no schedule leads on, whatever is found out later: every thread is expanded, and each may be
    /// disabled or leads to such a node.
    pub(crate) fn doomed(&self) -> EntityVec<NodeId, bool> {
        let mut hope: EntityVec<NodeId, bool> = self.art.nodes.keys().map(|_| true).collect();
        // Children have larger numbers than their parents.
        for node in self.art.nodes.keys().rev() {
            let data = &self.art.nodes[node];
            let all_expanded = || self.program.threads.keys().all(|t| data.expanded.has(t) || !self.is_active(node, t));
            // An error that was not looked at yet may turn out not to be reached.
            hope[node] = if self.is_false(node) || (self.is_error(node) && data.finding.is_none()) {
                true
            } else if data.finding.is_some() {
                false
            } else {
                let untried = data.covered_by.is_some() || self.is_terminal(node) || !all_expanded();
                untried || data.expanded.iter().any(|thread| self.is_permitted(node, thread, &hope))
            };
        }
        hope.values().map(|&hope| !hope).collect()
    }

    fn is_permitted(&self, node: NodeId, thread: ThreadId, good: &EntityVec<NodeId, bool>) -> bool {
        let data = &self.art.nodes[node];
        let sure = data.sure.has(thread) || !self.may_block(data.locations[thread.index()]);
        sure && self.art.by(node, thread).all(|child| good[child])
    }

    fn reachable_part(&self, good: &EntityVec<NodeId, bool>) -> Ivr {
        let mut nodes: EntityVec<NodeId, bool> = self.art.nodes.keys().map(|_| false).collect();
        let mut permitted: EntityVec<NodeId, ThreadSet> = self.art.nodes.keys().map(|_| ThreadSet::default()).collect();
        let mut todo = vec![self.art.root()];
        while let Some(node) = todo.pop() {
            if std::mem::replace(&mut nodes[node], true) || self.is_false(node) {
                continue;
            }
            if let Some(by) = self.art.nodes[node].covered_by {
                todo.push(by);
                continue;
            }
            if self.is_terminal(node) {
                continue;
            }
            for thread in self.art.nodes[node].expanded.iter() {
                if self.is_permitted(node, thread, good) {
                    permitted[node].add(thread);
                    todo.extend(self.art.by(node, thread));
                }
            }
        }
        debug_assert!(nodes.keys().all(|n| !nodes[n] || good[n] || n.index() > 0), "only good nodes are left");
        let covered_by = self.art.nodes.values().map(|node| node.covered_by).collect();
        let labels = self.art.nodes.values().map(|node| Rc::clone(&node.label)).collect();
        Ivr { permitted, nodes, covered_by, labels }
    }
}

//! Abstract reachability trees (definition 3 of the paper).
//!
//! | paper | here |
//! |---|---|
//! | A = (V, ε, →, ▷) | [`Art`]; ε is node 0 |
//! | v →(T,R) w | [`Node::parent`] of w, and w in [`Node::children`] of v |
//! | v ▷ w | [`Node::covered_by`] |
//! | φ(v) | [`Node::label`]: a set of conjuncts; `false` alone if the node is not reachable |
//! | l(v) | [`Node::locations`] |
//!
//! A node also keeps its symbolic state: what every variable is there, over the inputs of the path from the root. That is
//! the strongest postcondition of the path; φ(v) is weaker.

use crate::program::{LocationId, ThreadId, TransitionId};
use crate::term::{State, Term};
use selvedge_ir::{EntityRef, EntityVec, entity};
use std::collections::BTreeSet;
use std::rc::Rc;

entity! {
    /// A node.
    NodeId, "n"
}

/// A set of threads.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ThreadSet(u64);

impl ThreadSet {
    /// One thread.
    pub fn of(thread: ThreadId) -> ThreadSet {
        ThreadSet(1 << thread.index())
    }

    /// The first threads, so many of them.
    pub fn all(count: usize) -> ThreadSet {
        ThreadSet(u64::MAX.checked_shl(count as u32).map_or(u64::MAX, |rest| !rest))
    }

    /// Those that are in both.
    pub fn and(self, other: ThreadSet) -> ThreadSet {
        ThreadSet(self.0 & other.0)
    }

    /// Those that are in one of them.
    pub fn or(self, other: ThreadSet) -> ThreadSet {
        ThreadSet(self.0 | other.0)
    }

    /// Those that are not in the other.
    pub fn without(self, other: ThreadSet) -> ThreadSet {
        ThreadSet(self.0 & !other.0)
    }

    /// Whether a thread is in it.
    pub fn has(self, thread: ThreadId) -> bool {
        self.0 >> thread.index() & 1 == 1
    }

    /// Adds a thread.
    pub fn add(&mut self, thread: ThreadId) {
        self.0 |= 1 << thread.index();
    }

    /// Whether nobody is in it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// All of them.
    pub fn iter(self) -> impl Iterator<Item = ThreadId> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let lowest = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(ThreadId::new(lowest))
        })
    }
}

/// The conjuncts of a state formula.
pub type Label = BTreeSet<Term>;

/// What was found out about a node that is no ordinary state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finding {
    /// The error location is reached by a feasible path.
    Error,
    /// A state is reached by a feasible path in which no thread can go on.
    Deadlock,
}

/// An edge to a node: who moved, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// v.
    pub from: NodeId,
    /// T.
    pub thread: ThreadId,
    /// R.
    pub transition: TransitionId,
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// The edge by which it is reached; none for the root.
    pub parent: Option<Edge>,
    /// l(v).
    pub locations: Vec<LocationId>,
    /// φ(v). Safe results share it as it was when they were given out.
    pub label: Rc<Label>,
    /// The nodes behind its edges, in the order of expansion.
    pub children: Vec<NodeId>,
    /// The threads that are expanded, each by all of its transitions.
    pub expanded: ThreadSet,
    /// The threads that φ(v) proves to be enabled.
    pub sure: ThreadSet,
    /// The threads that are enabled in some states of the node only.
    pub unsure: ThreadSet,
    /// Whether every thread was tried, and none leads on from here in all states.
    pub dead_end: bool,
    /// The node that covers it.
    pub covered_by: Option<NodeId>,
    /// Whether the covering closes an unfair cycle: then it counts for what can go wrong, but not for schedules.
    pub unfairly: bool,
    /// The nodes that it covers.
    pub covers: Vec<NodeId>,
    /// How far it is from the root.
    pub depth: usize,
    /// What was found here.
    pub finding: Option<Finding>,
    /// Whether rewriting alone shows that no execution takes the path.
    pub infeasible: bool,
    /// What every variable is, over the inputs of the path.
    pub state: Rc<State>,
    /// The guard of the edge to this node, over the inputs of the path.
    pub guard: Vec<Term>,
}

/// A tree.
#[derive(Clone, Default, Debug)]
pub struct Art {
    /// The nodes, in the order in which they were made.
    pub nodes: EntityVec<NodeId, Node>,
}

impl Art {
    /// ε.
    pub fn root(&self) -> NodeId {
        NodeId::new(0)
    }

    /// The path from the root to a node, both included.
    pub fn path(&self, node: NodeId) -> Vec<NodeId> {
        let mut path: Vec<NodeId> = self.upwards(node).collect();
        path.reverse();
        path
    }

    /// A node and its ancestors, up to the root.
    pub fn upwards(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(Some(node), |&n| self.nodes[n].parent.map(|edge| edge.from))
    }

    /// Whether a node or one of its ancestors is covered: then it need not be looked at.
    pub fn is_hidden(&self, node: NodeId) -> bool {
        self.upwards(node).any(|n| self.nodes[n].covered_by.is_some())
    }

    /// [`Art::is_hidden`] for all nodes at once: they come after their parents.
    pub fn hidden(&self) -> EntityVec<NodeId, bool> {
        let mut hidden: EntityVec<NodeId, bool> = EntityVec::new();
        for node in self.nodes.values() {
            let above = node.parent.is_some_and(|edge| hidden[edge.from]);
            hidden.push(above || node.covered_by.is_some());
        }
        hidden
    }

    /// The nearest common ancestor.
    pub fn meet(&self, a: NodeId, b: NodeId) -> NodeId {
        let (mut a, mut b) = (a, b);
        while a != b {
            let deeper = if self.nodes[a].depth >= self.nodes[b].depth { &mut a } else { &mut b };
            *deeper = self.nodes[*deeper].parent.expect("the root is an ancestor of all").from;
        }
        a
    }

    /// v and everything below it.
    pub fn subtree(&self, node: NodeId) -> Vec<NodeId> {
        let mut all = vec![node];
        let mut n = 0;
        while n < all.len() {
            all.extend(&self.nodes[all[n]].children);
            n += 1;
        }
        all
    }

    /// The children that a thread leads to.
    pub fn by(&self, node: NodeId, thread: ThreadId) -> impl Iterator<Item = NodeId> + '_ {
        let children = self.nodes[node].children.iter().copied();
        children.filter(move |&child| self.nodes[child].parent.is_some_and(|edge| edge.thread == thread))
    }
}

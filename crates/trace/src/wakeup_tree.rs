//! Wakeup trees (Abdulla et al., POPL 2014, Def. 6.2; `insert` of Alg. 1 of the await paper, ll. 34-45).
//!
//! One arena holds the trees of all prefixes of the present execution: the tree of `E.p` is the subtree of the tree of
//! `E` under `p` (Alg. 1, l. 30), so a node of the arena is the root of some prefix's tree. Children are ordered by the
//! time at which they were added; the leftmost is explored first.

use crate::action::{Action, Dependence};
use crate::weak_initials::{Initial, Sleeper, weak_initial};
use selvedge_ir::{EntityRef, entity};

entity! {
    /// A node of the wakeup trees.
    Node, "n"
}

const NONE: u32 = u32::MAX;

struct NodeData<A> {
    action: A,
    first_child: u32,
    next_sibling: u32,
}

/// The wakeup trees of all prefixes of the present execution. What leads to a node is an action of some engine.
pub struct WakeupTree<A = Action> {
    nodes: Vec<NodeData<A>>,
    free: Vec<u32>,
}

impl<A> Default for WakeupTree<A> {
    fn default() -> WakeupTree<A> {
        WakeupTree { nodes: Vec::new(), free: Vec::new() }
    }
}

impl<A> WakeupTree<A> {
    /// A new node with this action, outside any tree.
    pub fn make(&mut self, action: A) -> Node {
        let data = NodeData { action, first_child: NONE, next_sibling: NONE };
        match self.free.pop() {
            Some(n) => {
                self.nodes[n as usize] = data;
                Node::new(n as usize)
            }
            None => {
                self.nodes.push(data);
                Node::new(self.nodes.len() - 1)
            }
        }
    }

    /// The action that leads to a node.
    pub fn action(&self, node: Node) -> &A {
        &self.nodes[node.index()].action
    }

    /// Replaces the action that leads to a node, when it has been executed and is known exactly.
    pub fn set_action(&mut self, node: Node, action: A) {
        self.nodes[node.index()].action = action;
    }

    /// The leftmost child.
    pub fn first_child(&self, node: Node) -> Option<Node> {
        named(self.nodes[node.index()].first_child)
    }

    /// The sibling to the right.
    pub fn next_sibling(&self, node: Node) -> Option<Node> {
        named(self.nodes[node.index()].next_sibling)
    }

    /// All children from left to right.
    pub fn children(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        std::iter::successors(self.first_child(node), |&child| self.next_sibling(child))
    }

    /// Adds a new rightmost child.
    pub fn add_child(&mut self, parent: Node, action: A) -> Node {
        let child = self.make(action);
        match self.children(parent).last() {
            Some(last) => self.nodes[last.index()].next_sibling = child.index() as u32,
            None => self.nodes[parent.index()].first_child = child.index() as u32,
        }
        child
    }

    /// Adds a sibling directly to the right of a node.
    pub fn add_sibling(&mut self, node: Node, action: A) -> Node {
        let sibling = self.make(action);
        self.nodes[sibling.index()].next_sibling = self.nodes[node.index()].next_sibling;
        self.nodes[node.index()].next_sibling = sibling.index() as u32;
        sibling
    }

    /// Removes the leftmost child, whose subtree has been explored, and everything below it.
    pub fn remove_first_child(&mut self, parent: Node) {
        let child = self.nodes[parent.index()].first_child;
        debug_assert_ne!(child, NONE, "the branch that was explored is the leftmost child");
        self.nodes[parent.index()].first_child = self.nodes[child as usize].next_sibling;
        debug_assert_eq!(self.nodes[child as usize].first_child, NONE, "a branch is removed when all below it is done");
        self.free.push(child);
    }

    /// How many nodes are in use; for checks that memory does not grow.
    pub fn size(&self) -> usize {
        self.nodes.len() - self.free.len()
    }
}

impl WakeupTree {
    /// Inserts a sequence that is not redundant (Alg. 1, `insert`). `v` is consumed. Returns whether the tree grew.
    pub fn insert(&mut self, root: Node, v: &mut Vec<Action>, dependence: &Dependence) -> bool {
        let mut u = root; // l. 35
        'descend: loop {
            let mut next = self.first_child(u); // l. 36
            while let Some(child) = next {
                // l. 38: if p is a weak initial of v after E'.u
                match weak_initial(Sleeper::new(*self.action(child)), v, dependence) {
                    Initial::No => next = self.next_sibling(child),
                    Initial::NotIn => return false, // l. 39: p not in v
                    Initial::At(position) => {
                        v.remove(position); // l. 39: v := v \ p
                        if v.is_empty() {
                            return false;
                        }
                        u = child; // l. 40
                        if self.first_child(u).is_none() {
                            return false; // l. 41: u is a leaf
                        }
                        continue 'descend; // l. 42
                    }
                }
            }
            break;
        }
        // l. 43: add v as a new rightmost descendant of u
        for action in v.drain(..) {
            u = self.add_child(u, action);
        }
        true
    }
}

fn named(n: u32) -> Option<Node> {
    (n != NONE).then(|| Node::new(n as usize))
}

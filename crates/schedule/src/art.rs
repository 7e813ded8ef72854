//! The published abstract reachability tree: what the verifier hands on.
//!
//! Definition 3 of the paper, as plain data with a JSON form. The verifier has its own tree, with formulas; this one keeps
//! what is needed to schedule a program, and words for people.
//!
//! | paper | here |
//! |---|---|
//! | A = (V, ε, →, ▷) | [`PublishedArt`] |
//! | T, a thread | [`ThreadId`] |
//! | R, a transition from l to l' | [`Transition`] |
//! | v ∈ V with l(v) and φ(v) | [`Node`]; φ(v) is text, except that it says whether φ(v) is false |
//! | v →(T,R) w | [`Edge`] |
//! | v ▷ w | [`Node::covered_by`] |
//!
//! What the publisher promises, and what cannot be seen in the data alone: the tree is well-labelled, safe and
//! deadlock-free, and admits fairness; [`PublishedArt::transitions`] has *all* transitions of every thread, also those that
//! no edge uses (a thread is fully expanded at a node if each of its transitions from its location there has an edge); the
//! accesses of a transition name everything shared that it reads or writes. [`crate::validate()`] checks the rest.

use crate::Site;
use selvedge_ir::{EntityRef, entity};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The version of the format. A file of another version is refused.
pub const FORMAT: u32 = 1;

/// Declares an index that is a plain number in JSON.
macro_rules! index {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        entity! { $(#[$doc])* $name, $prefix }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_u32(self.index() as u32)
            }
        }

        impl<'d> Deserialize<'d> for $name {
            fn deserialize<D: Deserializer<'d>>(from: D) -> Result<$name, D::Error> {
                let index = u32::deserialize(from)?;
                if index == u32::MAX {
                    return Err(serde::de::Error::custom("the number is too large"));
                }
                Ok($name::new(index as usize))
            }
        }
    };
}

index! {
    /// A thread; the position in [`PublishedArt::threads`].
    ThreadId, "t"
}
index! {
    /// A local location of a thread. Numbers mean nothing except that they are equal or not.
    LocationId, "l"
}
index! {
    /// A transition; the position in [`PublishedArt::transitions`].
    TransitionId, "r"
}
index! {
    /// A node; the position in [`PublishedArt::nodes`].
    NodeId, "n"
}
index! {
    /// A shared object; the position in [`PublishedArt::objects`].
    ObjectId, "o"
}

/// An abstract reachability tree as the verifier publishes it: an incomplete verification result.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedArt {
    /// [`FORMAT`].
    pub format: u32,
    /// The program.
    pub program: Program,
    /// Which of the verifier's results this is, from 1.
    pub iteration: u32,
    /// The threads.
    pub threads: Vec<Thread>,
    /// Shared objects: variables, arrays, mutexes, barriers.
    pub objects: Vec<Object>,
    /// All transitions of all threads.
    pub transitions: Vec<Transition>,
    /// The nodes; the first one is the root, and a child stands behind its parent.
    pub nodes: Vec<Node>,
}

/// Which program a tree belongs to.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The files, as they were named.
    pub inputs: Vec<String>,
    /// Macros, `NAME` or `NAME=VALUE`.
    pub defines: Vec<String>,
    /// Directories with header files.
    pub include_dirs: Vec<String>,
    /// Further flags of clang.
    pub clang_flags: Vec<String>,
    /// Hash of the prepared module's text.
    pub hash: String,
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// A name for people.
    pub name: String,
    /// Linkage name of the function that it runs.
    pub function: String,
    /// How it comes into being.
    pub start: Start,
}

/// How a thread comes into being.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// It is the one that the program starts with.
    Main,
    /// By the n-th thread creation of the main thread, from 0. Which call that is must not depend on the schedule.
    Created(u32),
    /// By the n-th thread creation of another thread, from 0.
    CreatedBy(ThreadId, u32),
}

/// A shared object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// A name for people.
    pub name: String,
}

/// A transition R of a thread from l to l'.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transition {
    /// The thread.
    pub thread: ThreadId,
    /// l.
    pub from: LocationId,
    /// l'.
    pub to: LocationId,
    /// The instructions that make it up and that another thread could notice or that decide where control goes, in
    /// order: an access and the branches behind it, say, or those of an atomic block. None if nothing is named; it is then
    /// the only transition from its location that leads to a node that can be reached.
    pub steps: Vec<Step>,
    /// What it reads and writes of the shared objects, synchronisation objects included (an operation on one writes it).
    pub accesses: Vec<Access>,
    /// The thread that it creates, whose location changes as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawns: Option<ThreadId>,
    /// Whether it may block: lock, wait for a barrier, a condition or another thread, `assume`.
    pub may_block: bool,
    /// For people: `count = count + 1`, `[count < 5]`.
    pub text: String,
}

/// An instruction that is executed in a transition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The instruction.
    pub site: Site,
    /// What it does.
    pub kind: StepKind,
}

/// What an instruction does in a transition.
///
/// Operations that block in the middle are two steps at the same instruction, each in a transition of its own: a wait for
/// a condition variable is `CondWait` (the mutex is released) and `CondWake` (it is taken again), a barrier is
/// `BarrierArrive` and `BarrierLeave`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// Atomic read-modify-write or compare-and-exchange.
    Rmw,
    /// Memory fence.
    Fence,
    /// Acquires a mutex.
    Lock,
    /// Tries to acquire a mutex.
    TryLock,
    /// Releases a mutex.
    Unlock,
    /// Arrives at a barrier.
    BarrierArrive,
    /// Leaves a barrier.
    BarrierLeave,
    /// Starts to wait for a condition variable.
    CondWait,
    /// Goes on after it was woken.
    CondWake,
    /// Wakes one waiting thread.
    CondSignal,
    /// Wakes all waiting threads.
    CondBroadcast,
    /// Starts an atomic block.
    AtomicBegin,
    /// Ends an atomic block.
    AtomicEnd,
    /// Reads an input.
    Nondet,
    /// Passes an assumption.
    Assume,
    /// A branch goes to its n-th successor, as `InstKind::successors` counts them.
    Branch(u32),
    /// Creates a thread.
    Spawn,
    /// Waits for the end of a thread.
    Join,
    /// Any other call that the verifier looks at.
    Call,
    /// One of several accesses of an instruction that copies or fills a block of memory: others may come between.
    Piece,
    /// A function returns whose variables other threads may use.
    Return,
    /// The thread or the process ends: the return from the thread's function, or a call that ends it.
    Exit,
}

impl StepKind {
    /// Whether it only serves to keep threads apart or to let them wait for each other. Under a schedule it has nothing
    /// to do: footnote 4 of the paper. Trying a lock is not such an operation, since its result is looked at.
    pub fn is_synchronisation(self) -> bool {
        matches!(
            self,
            StepKind::Lock
                | StepKind::Unlock
                | StepKind::BarrierArrive
                | StepKind::BarrierLeave
                | StepKind::CondWait
                | StepKind::CondWake
                | StepKind::CondSignal
                | StepKind::CondBroadcast
                | StepKind::AtomicBegin
                | StepKind::AtomicEnd
        )
    }

    /// Whether another thread could notice it: all but what a thread decides or is told by itself.
    pub fn is_noticed(self) -> bool {
        !matches!(self, StepKind::Branch(_) | StepKind::Nondet | StepKind::Assume)
    }
}

/// A read or write of a shared object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// The object.
    pub object: ObjectId,
    /// The bytes of it that are touched at most, as start and end; none if nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<(u64, u64)>,
    /// Whether it writes.
    pub write: bool,
}

/// A node of the tree.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// l(v): the location of each thread.
    pub locations: Vec<LocationId>,
    /// φ(v), for people.
    pub label: String,
    /// Whether φ(v) is false. Such a node is never reached and has no edges.
    #[serde(default, skip_serializing_if = "is_false")]
    pub infeasible: bool,
    /// Whether the process has ended: no thread goes on, wherever it is.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ended: bool,
    /// The node that covers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered_by: Option<NodeId>,
    /// Edges to its children. All edges of a thread that is fully expanded, or none of it: what is left of other threads
    /// is not published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<Edge>,
}

/// An edge v →(T,R) w; the thread is that of the transition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// R.
    pub transition: TransitionId,
    /// w.
    pub to: NodeId,
    /// What the transition accesses when it is taken at v, if more is known there than in general (which cell of an
    /// array, say).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accesses: Option<Vec<Access>>,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl PublishedArt {
    /// ε.
    pub fn root(&self) -> NodeId {
        NodeId::new(0)
    }

    /// A node.
    pub fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node.index()]
    }

    /// A transition.
    pub fn transition(&self, transition: TransitionId) -> &Transition {
        &self.transitions[transition.index()]
    }

    /// The thread of an edge.
    pub fn thread_of(&self, edge: &Edge) -> ThreadId {
        self.transition(edge.transition).thread
    }

    /// What an edge accesses.
    pub fn accesses<'a>(&'a self, edge: &'a Edge) -> &'a [Access] {
        edge.accesses.as_deref().unwrap_or(&self.transition(edge.transition).accesses)
    }

    /// All threads.
    pub fn thread_ids(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.threads.len()).map(ThreadId::new)
    }

    /// All nodes.
    pub fn node_ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId::new)
    }

    /// Where an execution that reaches a node goes on: at the node that covers it, if one does.
    pub fn uncovered(&self, node: NodeId) -> NodeId {
        self.node(node).covered_by.unwrap_or(node)
    }

    /// *Transitions*(l): the transitions of a thread from a location.
    pub fn transitions_from(
        &self,
        thread: ThreadId,
        location: LocationId,
    ) -> impl Iterator<Item = TransitionId> + use<'_> {
        let from = move |transition: &Transition| transition.thread == thread && transition.from == location;
        let all = self.transitions.iter().enumerate();
        all.filter(move |(_, transition)| from(transition)).map(|(n, _)| TransitionId::new(n))
    }

    /// The threads that are expanded at a node, in the order of its edges.
    pub fn expanded(&self, node: NodeId) -> Vec<ThreadId> {
        let mut threads = Vec::new();
        for edge in &self.node(node).edges {
            let thread = self.thread_of(edge);
            if !threads.contains(&thread) {
                threads.push(thread);
            }
        }
        threads
    }

    /// *branching*(v) (Definition 32): a thread has several edges at the node. Children that are never reached do not
    /// count.
    pub fn branching(&self, node: NodeId) -> bool {
        let feasible = |edge: &&Edge| !self.node(edge.to).infeasible;
        let edges: Vec<&Edge> = self.node(node).edges.iter().filter(feasible).collect();
        edges
            .iter()
            .enumerate()
            .any(|(n, edge)| edges[n + 1..].iter().any(|other| self.thread_of(edge) == self.thread_of(other)))
    }
}

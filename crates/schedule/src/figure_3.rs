//! The example of figure 3, by hand, for tests.
//!
//!     T1: while true: x := 1; if y = 0: y := 1        T2: while true: x := 0
//!
//! The tree: ε →T1 v1 →T2 v2 →T1(read y) v3, which branches to v4 (y = 0) and v5 (y ≠ 0); v4 →T1(y := 1) v6. The nodes
//! v5 and v6 are covered by ε.

use crate::{
    Access, Edge, FORMAT, LocationId, Node, NodeId, Object, ObjectId, Program, PublishedArt, Site, Start, Step,
    StepKind, Thread, ThreadId, Transition, TransitionId,
};
use selvedge_ir::EntityRef;

/// A transition of one step at a site of its own.
fn transition(
    n: usize,
    thread: usize,
    [from, to]: [usize; 2],
    kind: StepKind,
    access: Option<(usize, bool)>,
) -> Transition {
    let site = Site { function: format!("t{thread}"), inst: n as u32, line: 0 };
    let access = access.map(|(object, write)| Access { object: ObjectId::new(object), bytes: None, write });
    Transition {
        thread: ThreadId::new(thread),
        from: LocationId::new(from),
        to: LocationId::new(to),
        steps: vec![Step { site, kind }],
        accesses: access.into_iter().collect(),
        spawns: None,
        may_block: false,
        text: String::new(),
    }
}

/// A node by the locations of its threads, its edges (transition, child) and the node that covers it.
pub fn node(locations: &[usize], edges: &[(usize, usize)], covered_by: Option<usize>) -> Node {
    let edge =
        |&(r, to): &(usize, usize)| Edge { transition: TransitionId::new(r), to: NodeId::new(to), accesses: None };
    Node {
        locations: locations.iter().map(|&l| LocationId::new(l)).collect(),
        label: String::new(),
        infeasible: false,
        ended: false,
        covered_by: covered_by.map(NodeId::new),
        edges: edges.iter().map(edge).collect(),
    }
}

/// The tree of figure 3a.
pub fn figure_3() -> PublishedArt {
    let thread = |n: u32| Thread { name: format!("T{}", n + 1), function: format!("t{n}"), start: Start::Created(n) };
    let (x, y) = (0, 1);
    PublishedArt {
        format: FORMAT,
        program: Program::default(),
        iteration: 1,
        threads: (0..2).map(thread).collect(),
        objects: ["x", "y"].map(|name| Object { name: name.to_owned() }).to_vec(),
        transitions: vec![
            transition(0, 0, [0, 1], StepKind::Store, Some((x, true))),
            transition(1, 0, [1, 2], StepKind::Load, Some((y, false))),
            transition(2, 0, [2, 3], StepKind::Branch(0), None),
            transition(3, 0, [2, 0], StepKind::Branch(1), None),
            transition(4, 0, [3, 0], StepKind::Store, Some((y, true))),
            transition(5, 1, [0, 0], StepKind::Store, Some((x, true))),
        ],
        nodes: vec![
            node(&[0, 0], &[(0, 1)], None),
            node(&[1, 0], &[(5, 2)], None),
            node(&[1, 0], &[(1, 3)], None),
            node(&[2, 0], &[(2, 4), (3, 5)], None),
            node(&[3, 0], &[(4, 6)], None),
            node(&[0, 0], &[], Some(0)),
            node(&[0, 0], &[], Some(0)),
        ],
    }
}

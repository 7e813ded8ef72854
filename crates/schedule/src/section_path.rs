//! Section paths: branching-free paths through a tree.
//!
//! Definition 33. A section path starts anywhere, its first transition may be one of several, and behind that every node
//! has one way on. It follows edges; where a node is covered it goes on at the node that covers it.

use crate::{Edge, NodeId, PublishedArt};

/// A section path v0 →R0 v1 → ... → vn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SectionPath {
    /// v0.
    pub start: NodeId,
    /// The edges, each by the node that it leaves and its number there.
    pub edges: Vec<(NodeId, usize)>,
    /// vn, which is not covered.
    pub end: NodeId,
}

impl SectionPath {
    /// The edges themselves.
    pub fn edges<'a>(&'a self, art: &'a PublishedArt) -> impl Iterator<Item = &'a Edge> {
        self.edges.iter().map(|&(node, n)| &art.node(node).edges[n])
    }
}

/// The section path that leaves `start` by its n-th edge and goes on until `stops` says so, at a branching node, or where
/// nothing comes next.
pub fn section_path(
    art: &PublishedArt,
    start: NodeId,
    first: usize,
    mut stops: impl FnMut(NodeId) -> bool,
) -> SectionPath {
    let mut edges = vec![(start, first)];
    let mut end = art.uncovered(art.node(start).edges[first].to);
    while !stops(end) && !art.branching(end) {
        let Some(next) = only_edge(art, end) else {
            break;
        };
        edges.push((end, next));
        end = art.uncovered(art.node(end).edges[next].to);
    }
    SectionPath { start, edges, end }
}

/// The edge that leads on from a node that is not branching: that of its first thread.
pub fn only_edge(art: &PublishedArt, node: NodeId) -> Option<usize> {
    art.node(node).edges.iter().position(|edge| !art.node(edge.to).infeasible)
}

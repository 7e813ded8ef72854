//! Program schedules: section schedules connected to a graph.
//!
//! Definition 36. The nodes are the root and all branching nodes of the tree, and so many others that every cycle has
//! one; each edge is a section that starts with a transition of the thread that moves first at the node. An
//! execution keeps to a program schedule if it keeps to one section schedule after the other, all events of one before the
//! first event of the next (Definition 37).
//!
//! | paper | here |
//! |---|---|
//! | Σ = (VΣ, →Σ) | [`ProgramSchedule`] |
//! | v ∈ VΣ | [`ScheduleNode`] |
//! | v →(σ,T,R) w | [`Section`] |
//!
//! The tree must have one thread at each node, as [`crate::independently_fair()`] leaves it.

use crate::independence::Precision;
use crate::section_path::{SectionPath, only_edge, section_path};
use crate::section_schedule::{SectionSchedule, is_event, section_schedule};
use crate::{NodeId, PublishedArt, ThreadId};
use selvedge_ir::{EntityRef, entity};
use std::collections::{HashMap, HashSet};

entity! {
    /// A node of a program schedule.
    ScheduleNodeId, "s"
}

/// A program schedule Σ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramSchedule {
    /// VΣ; the first is ε.
    pub nodes: Vec<ScheduleNode>,
}

/// A node of a program schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScheduleNode {
    /// The node of the tree.
    pub node: NodeId,
    /// The thread that decides which section comes next, if any does: it has the first event of each of them.
    pub leader: Option<ThreadId>,
    /// The sections that start here; none where no thread can do anything more.
    pub sections: Vec<Section>,
}

/// An edge of a program schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// π.
    pub path: SectionPath,
    /// σ(π).
    pub schedule: SectionSchedule,
    /// Where it leads.
    pub to: ScheduleNodeId,
}

/// How a program schedule is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// What counts as dependent.
    pub precision: Precision,
    /// How many sections are made one where no branch is between them; at least 1.
    pub replicate: usize,
    /// Whether operations of synchronisation are left out.
    pub omit_synchronisation: bool,
}

/// The program schedule of a tree that admits fairness.
pub fn program_schedule(art: &PublishedArt, options: Options) -> ProgramSchedule {
    let boundaries = boundaries(art);
    let mut numbers: HashMap<NodeId, ScheduleNodeId> = HashMap::new();
    let mut order = Vec::new();
    let mut number = |node: NodeId, order: &mut Vec<NodeId>| {
        *numbers.entry(node).or_insert_with(|| {
            order.push(node);
            ScheduleNodeId::new(order.len() - 1)
        })
    };
    number(next_event(art, art.uncovered(art.root()), options), &mut order);
    let mut nodes = Vec::new();
    while let Some(&node) = order.get(nodes.len()) {
        let mut sections = Vec::new();
        for first in first_edges(art, node) {
            let mut passed = 0;
            let path = section_path(art, node, first, |at| {
                passed += usize::from(boundaries.contains(&at));
                passed >= options.replicate.max(1)
            });
            let schedule = section_schedule(art, &path, options.precision, options.omit_synchronisation);
            let to = number(next_event(art, path.end, options), &mut order);
            sections.push(Section { path, schedule, to });
        }
        // Nobody executes a section without events: nothing comes behind it, or the node would not be here.
        sections.retain(|section: &Section| !section.schedule.events.is_empty());
        let leader = sections.first().map(|section| section.schedule.events[0].thread);
        nodes.push(ScheduleNode { node, leader, sections });
    }
    ProgramSchedule { nodes }
}

/// VΣ: the root, branching nodes, and nodes that cover others, since every cycle of a tree goes through one.
fn boundaries(art: &PublishedArt) -> HashSet<NodeId> {
    let covering = art.nodes.iter().filter_map(|node| node.covered_by);
    let branching = art.node_ids().filter(|&node| art.branching(node));
    covering.chain(branching).chain([art.root()]).collect()
}

/// The first node at or behind this one where somebody executes something, if there is a way without branches.
fn next_event(art: &PublishedArt, mut node: NodeId, options: Options) -> NodeId {
    for _ in 0..art.nodes.len() {
        let edge = only_edge(art, node).map(|n| &art.node(node).edges[n]);
        match edge {
            Some(edge) if !art.branching(node) && !is_event(art, edge, options.omit_synchronisation) => {
                node = art.uncovered(edge.to);
            }
            _ => break,
        }
    }
    node
}

/// The edges of the first thread at a node that can be taken.
fn first_edges(art: &PublishedArt, node: NodeId) -> Vec<usize> {
    let edges = &art.node(node).edges;
    let Some(thread) = edges.first().map(|edge| art.thread_of(edge)) else {
        return Vec::new();
    };
    let taken = |n: &usize| art.thread_of(&edges[*n]) == thread && !art.node(edges[*n].to).infeasible;
    (0..edges.len()).filter(taken).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure_3::figure_3;

    fn lengths(schedule: &ProgramSchedule) -> Vec<Vec<(usize, usize)>> {
        let section = |s: &Section| (s.schedule.events.len(), s.to.index());
        schedule.nodes.iter().map(|node| node.sections.iter().map(section).collect()).collect()
    }

    #[test]
    fn figure_3_has_the_three_sections_of_the_paper() {
        let schedule = program_schedule(
            &figure_3(),
            Options { precision: Precision::Objects, replicate: 1, omit_synchronisation: false },
        );
        assert_eq!(lengths(&schedule), [vec![(3, 1)], vec![(2, 0), (1, 0)]]);
        assert_eq!(schedule.nodes[1].leader, Some(ThreadId::new(0)));
    }

    #[test]
    fn sections_are_replicated_up_to_the_next_branch() {
        let schedule = program_schedule(
            &figure_3(),
            Options { precision: Precision::Objects, replicate: 8, omit_synchronisation: false },
        );
        // From v3: y := 1 or not, then x := 1, x := 0, read y.
        assert_eq!(lengths(&schedule), [vec![(3, 1)], vec![(5, 1), (4, 1)]]);
    }
}

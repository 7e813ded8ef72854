//! Program schedules: section schedules connected to a graph.
//!
//! Definition 36. The nodes are the root and all branching nodes of the tree, those at which several threads may go on, and
//! so many others that every cycle has one; each edge is a section that starts with a transition of a thread that
//! moves first at the node. An execution keeps to a program schedule if it keeps to one section schedule after the other,
//! all events of one before the first event of the next (Definition 37).
//!
//! | paper | here |
//! |---|---|
//! | Σ = (VΣ, →Σ) | [`ProgramSchedule`] |
//! | v ∈ VΣ | [`ScheduleNode`] |
//! | v →(σ,T,R) w | [`Section`], in the [`Offer`] of T |
//!
//! Definition 36 asks for the sections of one thread at each node. Where the tree has several, all of them are kept: the
//! node is *open*, and who runs the program chooses, fairly (Lemma 7). [`crate::independently_fair()`] leaves one thread at each
//! node.

use crate::events::{Events, Silent};
use crate::independence::Precision;
use crate::section_path::{SectionPath, only_edge, section_path};
use crate::section_schedule::{SectionSchedule, section_schedule};
use crate::{NodeId, PublishedArt, ThreadId};
use selvedge_ir::{EntityRef, entity};
use std::collections::{HashMap, HashSet};
use thiserror::Error;

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
    /// The threads that may go on; none where no thread can do anything more.
    pub offers: Vec<Offer>,
}

impl ScheduleNode {
    /// All sections that start here.
    pub fn sections(&self) -> impl Iterator<Item = &Section> {
        self.offers.iter().flat_map(|offer| &offer.sections)
    }
}

/// How a thread may go on at a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offer {
    /// The thread, which decides which of its sections it is: it has the first event of each.
    pub leader: ThreadId,
    /// The sections.
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
    /// What becomes of transitions that no other thread could notice.
    pub silent: Silent,
}

/// A tree leaves a choice between threads that cannot be seen when the program runs: one of them would do nothing that is
/// executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("at {0}, several threads may go on, and one of them does nothing that is executed")]
pub struct Unseen(pub NodeId);

/// The program schedule of a tree that admits fairness.
pub fn program_schedule(art: &PublishedArt, options: Options) -> Result<ProgramSchedule, Unseen> {
    let boundaries = boundaries(art);
    let events = Events::new(art, options.omit_synchronisation, options.silent);
    let mut numbers: HashMap<NodeId, ScheduleNodeId> = HashMap::new();
    let mut order = Vec::new();
    let mut number = |node: NodeId, order: &mut Vec<NodeId>| {
        *numbers.entry(node).or_insert_with(|| {
            order.push(node);
            ScheduleNodeId::new(order.len() - 1)
        })
    };
    number(next_event(art, art.uncovered(art.root()), &events), &mut order);
    let mut nodes = Vec::new();
    while let Some(&node) = order.get(nodes.len()) {
        let mut offers = Vec::new();
        for start in starts(art, node, &events)? {
            let mut sections = Vec::new();
            for first in start.edges {
                let mut passed = 0;
                let path = section_path(art, start.node, first, |at| {
                    passed += usize::from(boundaries.contains(&at));
                    passed >= options.replicate.max(1) || is_open(art, at)
                });
                let schedule = section_schedule(art, &path, options.precision, &events);
                let to = number(next_event(art, path.end, &events), &mut order);
                sections.push(Section { path, schedule, to });
            }
            // Nobody executes a section without events: nothing comes behind it, or the node would not be here.
            sections.retain(|section: &Section| !section.schedule.events.is_empty());
            if let Some(leader) = sections.first().map(|section| section.schedule.events[0].thread) {
                offers.push(Offer { leader, sections });
            }
        }
        nodes.push(ScheduleNode { node, offers });
    }
    Ok(ProgramSchedule { nodes })
}

/// Whether several threads may go on at a node.
pub fn is_open(art: &PublishedArt, node: NodeId) -> bool {
    let mut threads = feasible(art, node).map(|n| art.thread_of(&art.node(node).edges[n]));
    threads.next().is_some_and(|first| threads.any(|other| other != first))
}

fn feasible(art: &PublishedArt, node: NodeId) -> impl Iterator<Item = usize> + '_ {
    let edges = &art.node(node).edges;
    (0..edges.len()).filter(|&n| !art.node(edges[n].to).infeasible)
}

/// Where the sections of a thread start.
struct Start {
    node: NodeId,
    edges: Vec<usize>,
}

/// The starts of all threads that may go on at a node. At an open node, what a thread does first and nobody executes (it takes
/// a lock that is left out, say) is done as soon as it is chosen.
fn starts(art: &PublishedArt, node: NodeId, events: &Events) -> Result<Vec<Start>, Unseen> {
    let edges = &art.node(node).edges;
    let mut starts: Vec<Start> = Vec::new();
    if !is_open(art, node) {
        let edges: Vec<usize> = feasible(art, node).collect();
        return Ok(if edges.is_empty() { Vec::new() } else { vec![Start { node, edges }] });
    }
    for thread in art.expanded(node) {
        let own: Vec<usize> = feasible(art, node).filter(|&n| art.thread_of(&edges[n]) == thread).collect();
        let start = match own[..] {
            [] => continue,
            [only] if !events.has(edges[only].transition) => {
                let behind = next_event(art, art.uncovered(edges[only].to), events);
                let is_own = |n: usize| art.thread_of(&art.node(behind).edges[n]) == thread;
                let edges: Vec<usize> = feasible(art, behind).collect();
                if edges.is_empty() || is_open(art, behind) || !edges.iter().all(|&n| is_own(n)) {
                    return Err(Unseen(node));
                }
                Start { node: behind, edges }
            }
            _ => Start { node, edges: own },
        };
        starts.push(start);
    }
    // The first edge of a section is executed, or it is the only one: then somebody else may have the first event.
    for start in &starts {
        if start.edges.iter().any(|&n| !events.has(art.node(start.node).edges[n].transition)) {
            return Err(Unseen(node));
        }
    }
    Ok(starts)
}

/// VΣ: the root, branching nodes, and nodes that cover others, since every cycle of a tree goes through one; open nodes
/// end a section in any case.
fn boundaries(art: &PublishedArt) -> HashSet<NodeId> {
    let covering = art.nodes.iter().filter_map(|node| node.covered_by);
    let branching = art.node_ids().filter(|&node| art.branching(node));
    covering.chain(branching).chain([art.root()]).collect()
}

/// The first node at or behind this one where somebody executes something, if there is a way without branches.
fn next_event(art: &PublishedArt, mut node: NodeId, events: &Events) -> NodeId {
    for _ in 0..art.nodes.len() {
        let edge = only_edge(art, node).map(|n| &art.node(node).edges[n]);
        match edge {
            Some(edge) if !art.branching(node) && !is_open(art, node) && !events.has(edge.transition) => {
                node = art.uncovered(edge.to);
            }
            _ => break,
        }
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure_3::{figure_3, node};
    use crate::{Edge, StepKind, TransitionId};

    fn lengths(schedule: &ProgramSchedule) -> Vec<Vec<(usize, usize)>> {
        let section = |s: &Section| (s.schedule.events.len(), s.to.index());
        schedule.nodes.iter().map(|node| node.sections().map(section).collect()).collect()
    }

    #[test]
    fn figure_3_has_the_three_sections_of_the_paper() {
        let schedule = program_schedule(
            &figure_3(),
            Options { precision: Precision::Objects, replicate: 1, omit_synchronisation: false, silent: Silent::Kept },
        )
        .expect("one thread at each node");
        assert_eq!(lengths(&schedule), [vec![(3, 1)], vec![(2, 0), (1, 0)]]);
        assert_eq!(schedule.nodes[1].offers[0].leader, ThreadId::new(0));
    }

    #[test]
    fn sections_are_replicated_up_to_the_next_branch() {
        let schedule = program_schedule(
            &figure_3(),
            Options { precision: Precision::Objects, replicate: 8, omit_synchronisation: false, silent: Silent::Kept },
        )
        .expect("one thread at each node");
        // From v3: y := 1 or not, then x := 1, x := 0, read y.
        assert_eq!(lengths(&schedule), [vec![(3, 1)], vec![(5, 1), (4, 1)]]);
    }

    #[test]
    fn at_an_open_node_each_thread_has_its_own_sections() {
        let mut art = figure_3();
        // At the root T2 may go round alone as well.
        art.nodes[0].edges.push(Edge { transition: TransitionId::new(5), to: NodeId::new(7), accesses: None });
        art.nodes.push(node(&[0, 0], &[], Some(0)));
        let options =
            Options { precision: Precision::Objects, replicate: 8, omit_synchronisation: false, silent: Silent::Kept };
        let schedule = program_schedule(&art, options).expect("both are seen");
        // The root ends every section, however often they are replicated.
        assert_eq!(lengths(&schedule), [vec![(3, 1), (1, 0)], vec![(2, 0), (1, 0)]]);
        let leaders: Vec<usize> = schedule.nodes[0].offers.iter().map(|offer| offer.leader.index()).collect();
        assert_eq!(leaders, [0, 1]);
    }

    #[test]
    fn a_choice_that_nobody_sees_is_refused() {
        let mut art = figure_3();
        art.nodes[0].edges.push(Edge { transition: TransitionId::new(5), to: NodeId::new(7), accesses: None });
        art.nodes.push(node(&[0, 0], &[], Some(0)));
        art.transitions[5].steps[0].kind = StepKind::Unlock;
        let options =
            Options { precision: Precision::Objects, replicate: 1, omit_synchronisation: true, silent: Silent::Kept };
        assert_eq!(program_schedule(&art, options), Err(Unseen(NodeId::new(0))));
    }
}

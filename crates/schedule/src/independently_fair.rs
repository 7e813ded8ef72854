//! From a tree that admits fairness to one that is fair whatever is done: Algorithm 4.
//!
//! A tree that admits fairness may offer several threads at a node, and whoever schedules must not always choose the
//! same one. The result is a tree of copies, A', that offers one thread at each node, and in which every cycle is fair by
//! itself. It permits a part of the executions of A.
//!
//! | paper | here |
//! |---|---|
//! | W | the work list of `independently_fair` |
//! | A' | `Copies::art` |
//! | v can be independently-fair covered by w ∈ A' | `Copies::fair_cover` |
//! | an exit node of the cycle that has not yet been expanded | `Copies::longest_ago`: the thread whose turn it is |
//!
//! Deviations.
//! 1. The algorithm walks once round a cycle that is not fair and then leaves it by an exit not taken so far. Here this is
//!    said as a rule for every node: of the threads that are expanded at it, the one goes on that has not moved for longest
//!    on the path from the root (the scheduler of Lemma 7, with "longest ago" for "least often": it has
//!    finitely many states). After one round of an unfair cycle that is the thread which leaves it.
//! 2. One thread per node remains, so that threads need not agree at run time on who goes first.
//! 3. The thread that has just moved may go on for a while where it has the choice (`stay`), since every change from one
//!    thread to another costs time when the program is run. Then the argument below does not hold; the result is looked at,
//!    and if it is not fair, the tree is made again without.
//!
//! A copy may be covered by another one of the same node with the same *order*: the threads by their last move. Every cycle is
//! then fair. For if T were offered in it and did not move, another thread X was chosen there, because it had not
//! moved for longer than T; it moved, and at the end of the cycle the order is the same again, which needs a move of T.

use crate::{Edge, Node, NodeId, PublishedArt, ThreadId};
use selvedge_ir::EntityRef;
use std::collections::HashMap;

/// A tree that admits fairness has too many orders of its threads to unfold them.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a fair part of the tree has more than {0} nodes")]
pub struct TooLarge(usize);

/// More copies than this are not made.
const MOST: usize = 1 << 20;

/// Algorithm 4. The tree must admit fairness. A thread may go on so many times although another one could.
pub fn independently_fair(art: &PublishedArt, stay: u32) -> Result<PublishedArt, TooLarge> {
    debug_assert_eq!(crate::fairness::admits_fairness(art), Ok(()), "Algorithm 4 wants a tree that admits fairness");
    if art.node_ids().all(|node| art.expanded(node).len() <= 1) {
        return Ok(art.clone());
    }
    if stay > 0
        && let Ok(fair) = unfolded(art, stay)
        && crate::fairness::is_fair(&fair).is_ok()
    {
        return Ok(fair);
    }
    let fair = unfolded(art, 0)?;
    debug_assert_eq!(crate::fairness::is_fair(&fair), Ok(()), "the result of Algorithm 4 is fair");
    Ok(fair)
}

fn unfolded(art: &PublishedArt, stay: u32) -> Result<PublishedArt, TooLarge> {
    let mut copies = Copies {
        source: art,
        art: PublishedArt { nodes: Vec::new(), ..art.clone() },
        from: Vec::new(),
        states: HashMap::new(),
    };
    let mut work = vec![copies.add(art.root(), Vec::new(), 0)];
    while let Some(v) = work.pop() {
        if copies.from.len() > MOST {
            return Err(TooLarge(MOST));
        }
        let Origin { original, order, stayed } = copies.from[v.index()].clone();
        if art.node(original).infeasible {
            continue;
        }
        if let Some(w) = copies.fair_cover(v) {
            copies.art.nodes[v.index()].covered_by = Some(w);
            continue;
        }
        let offered = art.expanded(original);
        let last = order.last().copied().filter(|last| offered.len() > 1 && stayed < stay && offered.contains(last));
        let Some(thread) = last.or_else(|| copies.longest_ago(v)) else {
            continue;
        };
        let stayed = match last {
            Some(_) => stayed + 1,
            None if order.last() == Some(&thread) => stayed,
            None => 0,
        };
        let moved: Vec<ThreadId> = order.into_iter().filter(|&other| other != thread).chain([thread]).collect();
        for edge in art.node(original).edges.iter().filter(|edge| art.thread_of(edge) == thread) {
            let child = copies.add(edge.to, moved.clone(), stayed);
            copies.art.nodes[v.index()].edges.push(Edge { to: child, ..edge.clone() });
            work.push(child);
        }
    }
    Ok(copies.art)
}

/// A' with what is known of each of its nodes.
struct Copies<'a> {
    source: &'a PublishedArt,
    art: PublishedArt,
    from: Vec<Origin>,
    /// The copies that are not covered.
    states: HashMap<Origin, NodeId>,
}

/// What a copy stands for.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Origin {
    /// The node of A, the one that covers it if it is covered.
    original: NodeId,
    /// The threads that have moved on the path to it, by their last move, the latest last.
    order: Vec<ThreadId>,
    /// How often the last one of them went on although another one could.
    stayed: u32,
}

impl Copies<'_> {
    fn add(&mut self, node: NodeId, order: Vec<ThreadId>, stayed: u32) -> NodeId {
        let copy = NodeId::new(self.from.len());
        let original = self.source.uncovered(node);
        self.from.push(Origin { original, order, stayed });
        let source = self.source.node(original);
        self.art.nodes.push(Node { edges: Vec::new(), covered_by: None, ..source.clone() });
        copy
    }

    /// Another copy of the same node in the same state, or nothing: then v is the one for others to come.
    fn fair_cover(&mut self, v: NodeId) -> Option<NodeId> {
        let state = self.from[v.index()].clone();
        let first = *self.states.entry(state).or_insert(v);
        (first != v).then_some(first)
    }

    /// Of the threads that are expanded at v, the one that has not moved for longest on the path to v.
    fn longest_ago(&self, v: NodeId) -> Option<ThreadId> {
        let Origin { original, order, .. } = &self.from[v.index()];
        let last_move = |thread: &ThreadId| order.iter().position(|other| other == thread);
        // `None`, never, is the smallest.
        self.source.expanded(*original).into_iter().min_by_key(|thread| (last_move(thread), *thread))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TransitionId;
    use crate::fairness::is_fair;
    use crate::figure_3::{figure_3, node};

    #[test]
    fn a_tree_with_one_thread_per_node_stays_as_it_is() {
        let fair = independently_fair(&figure_3(), 0).expect("small");
        assert_eq!(fair.nodes.len(), figure_3().nodes.len());
        assert_eq!(is_fair(&fair), Ok(()));
    }

    #[test]
    fn a_thread_that_may_go_round_alone_leaves_its_cycle_to_the_other() {
        let mut art = figure_3();
        let alone = Edge { transition: TransitionId::new(5), to: NodeId::new(7), accesses: None };
        art.nodes[0].edges.push(alone);
        art.nodes.push(node(&[0, 0], &[], Some(0)));
        assert!(is_fair(&art).is_err());
        for stay in [0, 3] {
            let fair = independently_fair(&art, stay).expect("small");
            crate::validate(&fair).expect("it is a tree");
            assert_eq!(is_fair(&fair), Ok(()));
        }
    }

    #[test]
    fn a_thread_stays_for_as_long_as_it_may_and_no_longer() {
        let mut art = figure_3();
        // Each thread may always make its one step.
        art.transitions[0].to = art.transitions[0].from;
        let loops = |covered_by| node(&[0, 0], &[], Some(covered_by));
        art.nodes = vec![node(&[0, 0], &[(0, 1), (5, 2)], None), loops(0), loops(0)];
        for (stay, turns) in [(0, "1212"), (1, "112211"), (3, "11112222")] {
            let fair = independently_fair(&art, stay).expect("small");
            assert_eq!(is_fair(&fair), Ok(()));
            let mut at = fair.root();
            let mut taken = String::new();
            while taken.len() < turns.len() {
                let edge = &fair.node(at).edges[0];
                taken += if fair.thread_of(edge).index() == 0 { "1" } else { "2" };
                at = fair.uncovered(edge.to);
            }
            assert_eq!(taken, turns);
        }
    }
}

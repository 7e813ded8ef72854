//! Whether a tree admits fairness, and whether it is fair.
//!
//! Definitions 4 and 5 (30 and 31) speak of every cycle of edges and covers. Cycles are not enumerated: a tree does *not*
//! admit fairness because of a thread T if there is a cycle through nodes at none of which T is expanded, although T has a
//! transition at one of them. Such a cycle exists if and only if the graph without the nodes at which T is expanded
//! has a strongly connected component, not a single node, with such a node. For a fair tree, edges of T are left out
//! instead of nodes.
//!
//! Where a thread may block, the tree does not say whether it is enabled (a main thread that waits for others that
//! never end is not): such nodes do not count. What is left out there was for the verifier to look at.

use crate::{NodeId, PublishedArt, ThreadId};
use selvedge_ir::EntityRef;

/// A thread that a cycle leaves out, and a node of the cycle at which it could move.
pub type Unfair = (ThreadId, NodeId);

/// Definition 4: whether every cycle has, for every thread that could move in it, a node where that thread is expanded.
pub fn admits_fairness(art: &PublishedArt) -> Result<(), Unfair> {
    each_thread(art, |thread| {
        let passes = |node: NodeId| !art.expanded(node).contains(&thread);
        let graph = Graph::of(art, |node, target| passes(node) && passes(target), |_| true);
        unfair_node(art, thread, &graph)
    })
}

/// Definition 5, fair(c) for all cycles c: whether every thread that could move in a cycle moves in it.
pub fn is_fair(art: &PublishedArt) -> Result<(), Unfair> {
    each_thread(art, |thread| {
        let graph = Graph::of(art, |_, _| true, |edge| art.thread_of(edge) != thread);
        unfair_node(art, thread, &graph)
    })
}

fn each_thread(art: &PublishedArt, look: impl Fn(ThreadId) -> Option<NodeId>) -> Result<(), Unfair> {
    match art.thread_ids().find_map(|thread| look(thread).map(|node| (thread, node))) {
        Some(unfair) => Err(unfair),
        None => Ok(()),
    }
}

fn unfair_node(art: &PublishedArt, thread: ThreadId, graph: &Graph) -> Option<NodeId> {
    let could_move = |node: &NodeId| {
        let location = art.node(*node).locations[thread.index()];
        art.transitions_from(thread, location).any(|r| {
            let transition = art.transition(r);
            !transition.may_block && !transition.steps.is_empty()
        })
    };
    graph.cyclic().into_iter().find(could_move)
}

/// The graph (V, ▷ ∪ →), or a part of it.
struct Graph {
    targets: Vec<Vec<usize>>,
}

impl Graph {
    fn of(
        art: &PublishedArt,
        kept: impl Fn(NodeId, NodeId) -> bool,
        edge_kept: impl Fn(&crate::Edge) -> bool,
    ) -> Graph {
        let mut targets = vec![Vec::new(); art.nodes.len()];
        for id in art.node_ids() {
            let node = art.node(id);
            let edges = node.edges.iter().filter(|edge| edge_kept(edge)).map(|edge| edge.to);
            // A covered node is never left by its own edges: executions go on at the node that covers it.
            let all: Vec<NodeId> = match node.covered_by {
                Some(by) => vec![by],
                None => edges.collect(),
            };
            targets[id.index()] = all.into_iter().filter(|&to| kept(id, to)).map(EntityRef::index).collect();
        }
        Graph { targets }
    }

    /// The nodes that lie on a cycle: Tarjan's strongly connected components, without recursion.
    fn cyclic(&self) -> Vec<NodeId> {
        let count = self.targets.len();
        let (mut index, mut low) = (vec![usize::MAX; count], vec![0; count]);
        let (mut on_stack, mut stack, mut next) = (vec![false; count], Vec::new(), 0);
        let mut cyclic = Vec::new();
        for root in 0..count {
            let mut calls = if index[root] == usize::MAX { vec![(root, 0)] } else { Vec::new() };
            while let Some(&(v, done)) = calls.last() {
                if done == 0 {
                    (index[v], low[v], on_stack[v]) = (next, next, true);
                    next += 1;
                    stack.push(v);
                }
                let fresh = self.targets[v][done..].iter().position(|&w| index[w] == usize::MAX);
                let seen_until = fresh.map_or(self.targets[v].len(), |skip| done + skip);
                for &w in self.targets[v][done..seen_until].iter().filter(|&&w| on_stack[w]) {
                    low[v] = low[v].min(index[w]);
                }
                if fresh.is_some() {
                    calls.last_mut().expect("v is on it").1 = seen_until + 1;
                    calls.push((self.targets[v][seen_until], 0));
                    continue;
                }
                calls.pop();
                if let Some(&(parent, _)) = calls.last() {
                    low[parent] = low[parent].min(low[v]);
                }
                if low[v] == index[v] {
                    let start = stack.iter().rposition(|&w| w == v).expect("v is on the stack");
                    let component = stack.split_off(start);
                    component.iter().for_each(|&w| on_stack[w] = false);
                    if component.len() > 1 || self.targets[v].contains(&v) {
                        cyclic.extend(component.into_iter().map(NodeId::new));
                    }
                }
            }
        }
        cyclic
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure_3::{figure_3, node};
    use crate::{Edge, TransitionId};

    #[test]
    fn the_tree_of_figure_3_is_fair() {
        assert_eq!(admits_fairness(&figure_3()), Ok(()));
        assert_eq!(is_fair(&figure_3()), Ok(()));
    }

    #[test]
    fn a_cycle_of_one_thread_is_not_fair() {
        let mut art = figure_3();
        // T2 alone, forever.
        art.nodes = vec![node(&[0, 0], &[(5, 1)], None), node(&[0, 0], &[], Some(0))];
        assert_eq!(admits_fairness(&art).map_err(|(thread, _)| thread), Err(ThreadId::new(0)));
        assert!(is_fair(&art).is_err());
    }

    #[test]
    fn a_thread_that_is_expanded_but_not_taken_admits_fairness_only() {
        let mut art = figure_3();
        // At the root T2 may go round alone, or T1 begins its round.
        let alone = Edge { transition: TransitionId::new(5), to: NodeId::new(7), accesses: None };
        art.nodes[0].edges.push(alone);
        art.nodes.push(node(&[0, 0], &[], Some(0)));
        crate::validate(&art).expect("it is a tree");
        assert_eq!(admits_fairness(&art), Ok(()));
        assert_eq!(is_fair(&art).map_err(|(thread, _)| thread), Err(ThreadId::new(0)));
    }
}

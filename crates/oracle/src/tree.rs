//! Whether a safe result of the verifier is one: naive, and without its solver.
//!
//! A tree claims that every execution under it is safe, never stuck and fair, for all inputs. What can be seen in the tree
//! alone is looked at completely: every permitted thread is expanded by all of its transitions, coverings are between nodes
//! at the same locations, and no cycle leaves out a thread that is active in it. What speaks of all states is tried on
//! many: executions under the tree with a few values for each input, where every label has to hold, some permitted thread
//! has to be enabled and no error may be; and random states, for each edge and covering on its own.

use crate::automata;
use crate::concrete::Concrete;
use crate::generate::Rng;
use selvedge_impact::art::{Label, Node as ArtNode, NodeId};
use selvedge_impact::iterate::Counterexample;
use selvedge_impact::program::{Place, Program, ThreadId, TransitionData, TransitionId};
use selvedge_impact::remove_error_paths::Ivr;
use selvedge_impact::term::{Node, Term, Terms};
use selvedge_impact::verifier::Verifier;
use selvedge_ir::EntityRef;
use std::collections::{BTreeSet, HashSet, VecDeque};

/// Inputs that are tried.
pub(crate) const INPUTS: [u64; 4] = [0, 1, u64::MAX, 3];
/// Random states for each edge.
const SAMPLES: usize = 60;

/// Checks a safe result, with at most so many steps of executions. The error says what is wrong.
pub fn check_tree(verifier: &Verifier, ivr: &Ivr, steps: usize) -> Result<(), String> {
    let tree = Tree { verifier, ivr };
    tree.structure()?;
    tree.fairness()?;
    let reached = tree.executions(steps)?;
    tree.samples(&reached)
}

/// Checks a counterexample: with its inputs its path is an execution, and it ends in an error or where nobody can go on.
pub fn check_counterexample(verifier: &Verifier, found: &Counterexample) -> Result<(), String> {
    let program = &verifier.program;
    let mut state = Concrete::initial(program);
    for node in verifier.art.path(found.node) {
        let Some(edge) = verifier.art.nodes[node].parent else { continue };
        let taken = &program.transitions[edge.transition].inputs;
        let values: Vec<u64> = verifier
            .instances_at(node)
            .iter()
            .map(|&symbol| found.inputs.values.get(&symbol).copied().unwrap_or(0))
            .collect();
        let input = |symbol| taken.iter().position(|&s| s == symbol).and_then(|n| values.get(n)).copied().unwrap_or(0);
        let after = state.after(program, edge.transition, input);
        state = after.ok_or_else(|| format!("the step to {node} of a counterexample is not possible"))?;
    }
    let locations = &verifier.art.nodes[found.node].locations;
    let wrong = locations.iter().any(|&l| program.locations[l].place == Place::Error);
    let stuck = || automata::is_stuck(program, locations, &state);
    match found.error.is_some() {
        true if !wrong => Err("a counterexample ends in no error".to_owned()),
        false if !stuck() => Err("a thread can go on in a deadlock".to_owned()),
        _ => Ok(()),
    }
}

pub(crate) struct Tree<'a> {
    pub(crate) verifier: &'a Verifier,
    pub(crate) ivr: &'a Ivr,
}

impl Tree<'_> {
    fn node(&self, node: NodeId) -> &ArtNode {
        &self.verifier.art.nodes[node]
    }

    fn label(&self, node: NodeId) -> &Label {
        &self.ivr.labels[node]
    }

    pub(crate) fn program(&self) -> &Program {
        &self.verifier.program
    }

    fn terms(&self) -> &Terms {
        &self.verifier.program.terms
    }

    fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.ivr.nodes.keys().filter(|&node| self.ivr.nodes[node] && !self.is_false(node))
    }

    fn is_false(&self, node: NodeId) -> bool {
        self.label(node).iter().any(|&term| *self.terms().node(term) == Node::Const(0))
    }

    fn transition(&self, id: TransitionId) -> &TransitionData {
        &self.verifier.program.transitions[id]
    }

    fn place(&self, node: NodeId, thread: ThreadId) -> Place {
        self.verifier.program.locations[self.node(node).locations[thread.index()]].place
    }

    fn threads(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.verifier.program.threads.keys()
    }

    fn from(&self, node: NodeId, thread: ThreadId) -> &[TransitionId] {
        &self.verifier.program.locations[self.node(node).locations[thread.index()]].transitions
    }

    /// Whether a thread has something to do, apart from waiting for the end of one that has not ended.
    fn is_active(&self, node: NodeId, thread: ThreadId) -> bool {
        let ended = |other: ThreadId| self.place(node, other) == Place::End;
        let transitions = self.from(node, thread);
        !transitions.is_empty() && transitions.iter().all(|&r| self.transition(r).joins.is_none_or(ended))
    }

    fn has_ended(&self, node: NodeId) -> bool {
        let places: Vec<Place> = self.threads().map(|thread| self.place(node, thread)).collect();
        places.contains(&Place::Exit) || !places.contains(&Place::Code)
    }

    fn children(&self, node: NodeId, thread: ThreadId) -> Vec<(TransitionId, NodeId)> {
        let edge_of = |&child: &NodeId| (self.node(child).parent.expect("a child has a parent"), child);
        let edges = self.node(node).children.iter().map(edge_of);
        edges.filter(|(edge, _)| edge.thread == thread).map(|(edge, child)| (edge.transition, child)).collect()
    }

    fn structure(&self) -> Result<(), String> {
        let root = NodeId::new(0);
        if !self.ivr.nodes[root] || self.is_false(root) {
            return Err("the root is not part of it".to_owned());
        }
        for node in self.nodes() {
            if let Some(by) = self.ivr.covered_by[node] {
                let other = self.node(by);
                if !self.ivr.nodes[by] || self.is_false(by) || self.ivr.covered_by[by].is_some() {
                    return Err(format!("{node} is covered by {by}, which leads nowhere"));
                }
                if other.locations != self.node(node).locations {
                    return Err(format!("{node} is covered by {by}, which is elsewhere"));
                }
                continue;
            }
            if self.threads().any(|thread| self.place(node, thread) == Place::Error) {
                return Err(format!("{node} is an error"));
            }
            if self.has_ended(node) {
                continue;
            }
            if self.ivr.permitted[node].is_empty() {
                return Err(format!("nobody may go on at {node}"));
            }
            for thread in self.ivr.permitted[node].iter() {
                self.expansion(node, thread)?;
            }
        }
        Ok(())
    }

    /// A permitted thread has each of its transitions once, and each leads to where it says.
    fn expansion(&self, node: NodeId, thread: ThreadId) -> Result<(), String> {
        if !self.is_active(node, thread) {
            return Err(format!("{thread} may go on at {node}, but cannot"));
        }
        let children = self.children(node, thread);
        let mut taken: Vec<TransitionId> = children.iter().map(|&(r, _)| r).collect();
        let mut all = self.from(node, thread).to_vec();
        taken.sort_unstable();
        all.sort_unstable();
        if taken != all {
            return Err(format!("{thread} is not fully expanded at {node}"));
        }
        for (r, child) in children {
            let data = self.transition(r);
            let mut expected = self.node(node).locations.clone();
            expected[thread.index()] = data.to;
            if let Some(spawned) = data.spawns {
                expected[spawned.index()] = self.verifier.program.threads[spawned].entry;
            }
            if expected != self.node(child).locations || !self.ivr.nodes[child] {
                return Err(format!("the edge from {node} to {child} is no step"));
            }
        }
        Ok(())
    }

    /// For each thread: without its edges, no node at which it is active is on a cycle.
    fn fairness(&self) -> Result<(), String> {
        for thread in self.threads() {
            for node in self.nodes().filter(|&node| self.is_active(node, thread)) {
                if self.returns(node, thread) {
                    return Err(format!("a cycle through {node} leaves out {thread}, which is active there"));
                }
            }
        }
        Ok(())
    }

    fn returns(&self, start: NodeId, without: ThreadId) -> bool {
        let mut seen = BTreeSet::new();
        let mut todo = self.successors(start, without);
        while let Some(node) = todo.pop() {
            if node == start {
                return true;
            }
            if seen.insert(node) {
                todo.extend(self.successors(node, without));
            }
        }
        false
    }

    fn successors(&self, node: NodeId, without: ThreadId) -> Vec<NodeId> {
        if let Some(by) = self.ivr.covered_by[node] {
            return vec![by];
        }
        let threads = self.ivr.permitted[node].iter().filter(|&thread| thread != without);
        let behind = threads.flat_map(|thread| self.children(node, thread));
        behind.map(|(_, child)| child).filter(|&child| !self.is_false(child)).collect()
    }

    /// Executions under the tree, breadth first; what states were met at which nodes.
    fn executions(&self, steps: usize) -> Result<Vec<(NodeId, Concrete)>, String> {
        let start = (NodeId::new(0), Concrete::initial(self.program()));
        let mut seen: HashSet<(NodeId, Concrete)> = HashSet::from([start.clone()]);
        let mut todo = VecDeque::from([start]);
        let mut met = Vec::new();
        while let Some((node, state)) = todo.pop_front() {
            if met.len() >= steps {
                break;
            }
            met.push((node, state.clone()));
            if let Some(&wrong) = self.label(node).iter().find(|&&term| self.value(&state, term) != 1) {
                return Err(format!("`{}` does not hold at {node}", self.terms().text(wrong)));
            }
            if let Some(by) = self.ivr.covered_by[node] {
                if seen.insert((by, state.clone())) {
                    todo.push_back((by, state));
                }
                continue;
            }
            for thread in self.ivr.permitted[node].iter() {
                for input in INPUTS {
                    let (child, after) = self.step(node, &state, thread, input)?;
                    if seen.insert((child, after.clone())) {
                        todo.push_back((child, after));
                    }
                }
            }
        }
        Ok(met)
    }

    /// The one step that a permitted thread makes.
    fn step(&self, node: NodeId, state: &Concrete, thread: ThreadId, input: u64) -> Result<(NodeId, Concrete), String> {
        let mut found = None;
        for (r, child) in self.children(node, thread) {
            if let Some(after) = state.after(self.program(), r, |_| input) {
                if found.is_some() {
                    return Err(format!("two transitions of {thread} are enabled at {node}"));
                }
                if self.transition(r).error.is_some() {
                    return Err(format!("{thread} runs into an error at {node}"));
                }
                found = Some((child, after));
            }
        }
        found.ok_or_else(|| format!("{thread} is permitted at {node}, but waits"))
    }

    /// On random states: an edge leads from its label to that of its end, coverings go from stronger to weaker labels.
    fn samples(&self, reached: &[(NodeId, Concrete)]) -> Result<(), String> {
        let mut rng = Rng::new(7);
        for node in self.nodes() {
            let own: Vec<&Concrete> = reached.iter().filter(|(n, _)| *n == node).map(|(_, s)| s).take(5).collect();
            for _ in 0..SAMPLES {
                let state = self.random(&mut rng, &own);
                if self.label(node).iter().any(|&term| self.value(&state, term) != 1) {
                    continue;
                }
                if let Some(by) = self.ivr.covered_by[node] {
                    self.holds(by, &state, &format!("the covering of {node}"))?;
                    continue;
                }
                for thread in self.ivr.permitted[node].iter() {
                    let (child, after) = self.step(node, &state, thread, rng.pick(&INPUTS))?;
                    self.holds(child, &after, &format!("the edge from {node}"))?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn holds(&self, node: NodeId, state: &Concrete, by: &str) -> Result<(), String> {
        match self.label(node).iter().find(|&&term| self.value(state, term) != 1) {
            None => Ok(()),
            Some(&wrong) => Err(format!("`{}` does not hold at {node} by {by}", self.terms().text(wrong))),
        }
    }

    /// A state near one that was reached, or any.
    pub(crate) fn random(&self, rng: &mut Rng, near: &[&Concrete]) -> Concrete {
        let mut state = if near.is_empty() { Concrete::initial(self.program()) } else { (*rng.pick(near)).clone() };
        // With many changes, few states have the label of their node.
        let chance = rng.pick(&[3, 15]);
        for (symbol, data) in self.terms().symbols.iter() {
            if !data.input && !data.array && rng.percent(chance) {
                let value = rng.pick(&[0, 1, 2, 3, 4, 5, 6, u64::MAX, 1 << 31, (1 << 31) - 1, 999, 1000, 1001]);
                state.set(self.terms(), symbol, value);
            }
        }
        state
    }

    fn value(&self, state: &Concrete, term: Term) -> u64 {
        state.value(self.terms(), term)
    }
}

//! Whether a safe result of the verifier is one: naive, and without its solver.
//!
//! A tree claims that every execution under it is safe, never stuck and fair, for all inputs. What can be seen in the tree
//! alone is looked at completely: every permitted thread is expanded by all of its transitions, coverings are between nodes
//! at the same locations, and no cycle leaves out a thread that is active in it. What speaks of all states is tried on
//! many: executions under the tree with a few values for each input, where every label has to hold, some permitted thread
//! has to be enabled and no error may be; and random states, for each edge and covering on its own.
//!
//! The value of a term is computed here once more, by other code than the verifier's.

use crate::generate::Rng;
use selvedge_impact::art::{Label, Node as ArtNode, NodeId};
use selvedge_impact::program::{Place, ThreadId, TransitionData, TransitionId};
use selvedge_impact::remove_error_paths::Ivr;
use selvedge_impact::term::{ArrayBase, Node, Op, Symbol, Term, Terms};
use selvedge_impact::verifier::Verifier;
use selvedge_ir::EntityRef;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

/// Inputs that are tried.
const INPUTS: [u64; 4] = [0, 1, u64::MAX, 3];
/// Random states for each edge.
const SAMPLES: usize = 60;

/// A state: what every variable and every element is that is not 0.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Concrete {
    values: BTreeMap<Symbol, u64>,
    elements: BTreeMap<(Symbol, u64), u64>,
}

/// Checks a safe result, with at most so many steps of executions. The error says what is wrong.
pub fn check_tree(verifier: &Verifier, ivr: &Ivr, steps: usize) -> Result<(), String> {
    let tree = Tree { verifier, ivr };
    tree.structure()?;
    tree.fairness()?;
    let reached = tree.executions(steps)?;
    tree.samples(&reached)
}

struct Tree<'a> {
    verifier: &'a Verifier,
    ivr: &'a Ivr,
}

impl Tree<'_> {
    fn node(&self, node: NodeId) -> &ArtNode {
        &self.verifier.art.nodes[node]
    }

    fn label(&self, node: NodeId) -> &Label {
        &self.ivr.labels[node]
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
        let start = (NodeId::new(0), self.initial());
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
            let with = self.with_inputs(state, r, input);
            if self.transition(r).guard.iter().all(|&term| self.value(&with, term) == 1) {
                if found.is_some() {
                    return Err(format!("two transitions of {thread} are enabled at {node}"));
                }
                if self.transition(r).error.is_some() {
                    return Err(format!("{thread} runs into an error at {node}"));
                }
                found = Some((child, self.after(&with, state, r)));
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

    fn holds(&self, node: NodeId, state: &Concrete, by: &str) -> Result<(), String> {
        match self.label(node).iter().find(|&&term| self.value(state, term) != 1) {
            None => Ok(()),
            Some(&wrong) => Err(format!("`{}` does not hold at {node} by {by}", self.terms().text(wrong))),
        }
    }

    /// A state near one that was reached, or any.
    fn random(&self, rng: &mut Rng, near: &[&Concrete]) -> Concrete {
        let mut state = if near.is_empty() { self.initial() } else { (*rng.pick(near)).clone() };
        for (symbol, data) in self.terms().symbols.iter() {
            if !data.input && !data.array && rng.percent(15) {
                let value = rng.pick(&[0, 1, 2, 3, 4, 5, 6, u64::MAX, 1 << 31, (1 << 31) - 1, 999, 1000, 1001]);
                state.values.insert(symbol, value & ones(data.bits));
            }
        }
        state
    }

    fn initial(&self) -> Concrete {
        let mut state = Concrete::default();
        let initial = &self.verifier.program.initial;
        for (&symbol, &term) in &initial.values {
            if let Node::Const(value) = *self.terms().node(term) {
                state.values.insert(symbol, value);
            }
        }
        for (&symbol, array) in &initial.arrays {
            if let ArrayBase::Fixed(fixed) = array.base {
                let elements = self.terms().fixed[fixed].1.iter().enumerate();
                state.elements.extend(elements.map(|(n, &value)| ((symbol, n as u64), value)));
            }
        }
        state
    }

    fn with_inputs(&self, state: &Concrete, r: TransitionId, input: u64) -> Concrete {
        let mut with = state.clone();
        for &symbol in &self.transition(r).inputs {
            with.values.insert(symbol, input & ones(self.terms().symbols[symbol].bits));
        }
        with
    }

    fn after(&self, with: &Concrete, state: &Concrete, r: TransitionId) -> Concrete {
        let mut after = state.clone();
        for &(symbol, term) in &self.transition(r).updates {
            after.values.insert(symbol, self.value(with, term));
        }
        for (array, writes) in &self.transition(r).writes {
            for &(index, value) in writes {
                after.elements.insert((*array, self.value(with, index)), self.value(with, value));
            }
        }
        after
    }

    fn value(&self, state: &Concrete, term: Term) -> u64 {
        value(self.terms(), state, term)
    }
}

fn ones(bits: u8) -> u64 {
    u64::MAX >> (64 - u32::from(bits))
}

fn as_signed(value: u64, bits: u8) -> i128 {
    let value = i128::from(value);
    if value >> (bits - 1) & 1 == 1 { value - (1 << bits) } else { value }
}

/// The value of a term, step by step as it is written.
fn value(terms: &Terms, state: &Concrete, term: Term) -> u64 {
    let bits = terms.bits(term);
    let of = |inner: Term| value(terms, state, inner);
    let raw: u64 = match terms.node(term) {
        Node::Const(number) => *number,
        Node::Var(symbol) => state.values.get(symbol).copied().unwrap_or(0),
        Node::Select(array, index) => state.elements.get(&(*array, of(*index))).copied().unwrap_or(0),
        Node::Sum(constant, parts) => {
            let total = parts.iter().fold(u128::from(*constant), |sum, &(factor, part)| {
                sum.wrapping_add(u128::from(factor).wrapping_mul(u128::from(of(part))))
            });
            total as u64
        }
        Node::Binary(op, a, b) => operator(*op, of(*a), of(*b), bits),
        Node::Not(a) => ones(bits) - of(*a),
        Node::Eq(a, b) => u64::from(of(*a) == of(*b)),
        Node::Ult(a, b) => u64::from(of(*a) < of(*b)),
        Node::Slt(a, b) => {
            let width = terms.bits(*a);
            u64::from(as_signed(of(*a), width) < as_signed(of(*b), width))
        }
        Node::Ite(condition, a, b) => of(if of(*condition) == 1 { *a } else { *b }),
        Node::ZExt(a) => of(*a),
        Node::SExt(a) => as_signed(of(*a), terms.bits(*a)) as u64,
        Node::Extract(low, a) => of(*a) >> low,
    };
    raw & ones(bits)
}

fn operator(op: Op, a: u64, b: u64, bits: u8) -> u64 {
    let far = b >= u64::from(bits);
    match op {
        Op::Mul => a.wrapping_mul(b),
        Op::UDiv if b == 0 => ones(bits),
        Op::UDiv => a / b,
        Op::URem if b == 0 => a,
        Op::URem => a % b,
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Shl => {
            if far {
                0
            } else {
                a << b
            }
        }
        Op::LShr => {
            if far {
                0
            } else {
                a >> b
            }
        }
        Op::AShr => (as_signed(a, bits) >> b.min(64)) as u64,
    }
}

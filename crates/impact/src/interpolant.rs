//! Interpolants: weakest preconditions along a path, sliced by an unsatisfiable core.
//!
//! If a path cannot end in a state that violates a goal, some of its guards contradict that; the others are left out. What
//! remains of the path is a conjunction N_n = {¬goal}, and going back over a transition R,
//! N_(i-1) = {c\[R\] : c ∈ N_i} ∪ {guards of R in the core}. A_i = ¬N_i is an interpolant: it holds wherever the path leads,
//! it is preserved along the path, and A_n is the goal. It is one conjunct of a label (a clause).
//!
//! A conjunct that mentions an input of R speaks of something that is not there yet before R. It is left out if the rest
//! still contradicts the path so far, by guards that may be others than before; an input that equals a term is replaced by it; one that is only compared with
//! numbers is tried in each range. Otherwise the verification gives up.

use crate::art::NodeId;
use crate::program::TransitionId;
use crate::solver::Answer;
use crate::term::{Node, State, Symbol, Term, Terms, Valuation};
use crate::verifier::{Halt, Verifier};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The most ranges that an input may have.
const REPRESENTATIVES: usize = 64;

/// A guard on a path: the node behind it, by its place on the path, and its place among the guards of that edge.
type Owner = (usize, usize);

/// A path as formulas: from a node on, where only its label is known, or from the root, where everything is.
pub(crate) struct PathFormula {
    /// v_0, ..., v_n.
    pub(crate) nodes: Vec<NodeId>,
    /// Whether v_0 is the root and its state is known.
    from_root: bool,
    /// What is known at v_0.
    base: Vec<Term>,
    /// The guards of the edges, over the state at v_0, without those that rewriting shows to hold.
    guards: Vec<(Owner, Term)>,
    /// How the inputs of the edge to each node are called.
    names: Vec<State>,
}

/// Conjuncts and guards that contradict each other.
type Reason = (Vec<Term>, Vec<Owner>);

/// A_0, ..., A_n; what is true everywhere is left out at the start: the first belongs to node `from`.
pub(crate) struct Interpolant {
    pub(crate) from: usize,
    pub(crate) formulas: Vec<Term>,
}

impl Verifier {
    /// The path from the root to a node.
    pub(crate) fn path_from_root(&self, node: NodeId) -> PathFormula {
        let nodes = self.art.path(node);
        let mut guards = Vec::new();
        for (n, &node) in nodes.iter().enumerate() {
            let of_node = self.art.nodes[node].guard.iter().enumerate();
            guards.extend(of_node.filter(|(_, g)| !self.program.terms.is_true(**g)).map(|(k, &g)| ((n, k), g)));
        }
        PathFormula { nodes, from_root: true, base: Vec::new(), guards, names: Vec::new() }
    }

    /// The path from a node to one below it. Of the first only its label is known. Guards are taken back over the edges
    /// before them, as weakest preconditions: that is the same as the state behind the edges, and what was taken back
    /// over an edge once need not be computed again on another path.
    pub(crate) fn path_from(&mut self, start: NodeId, node: NodeId) -> PathFormula {
        let mut nodes: Vec<NodeId> = self.art.upwards(node).take_while(|&n| n != start).collect();
        nodes.push(start);
        nodes.reverse();
        let base = self.art.nodes[start].label.iter().copied().collect();
        let names = self.names(&nodes);
        let mut guards: Vec<(Owner, Term)> = Vec::new();
        for n in (1..nodes.len()).rev() {
            let transition = self.edge_to(nodes[n]);
            guards.iter_mut().for_each(|(_, guard)| *guard = self.before(transition, *guard));
            let own = self.program.transitions[transition].guard.iter().enumerate();
            guards.extend(own.map(|(k, &guard)| ((n, k), guard)));
            if !names[n].values.is_empty() {
                let terms = &mut self.program.terms;
                guards.iter_mut().for_each(|(_, guard)| *guard = names[n].apply(terms, *guard));
            }
            guards.retain(|&(_, guard)| !self.program.terms.is_true(guard));
        }
        guards.sort_by_key(|&(owner, _)| owner);
        PathFormula { nodes, from_root: false, base, guards, names }
    }

    /// Names for the inputs along a path, by how often each is taken behind it: alike for paths that end alike.
    fn names(&mut self, nodes: &[NodeId]) -> Vec<State> {
        let mut names = vec![State::default(); nodes.len()];
        let mut taken: FxHashMap<Symbol, u32> = FxHashMap::default();
        for n in (1..nodes.len()).rev() {
            let transition = self.edge_to(nodes[n]);
            for input in self.program.transitions[transition].inputs.clone() {
                let count = taken.entry(input).or_default();
                let instance = self.instance(input, *count);
                *count += 1;
                names[n].values.insert(input, self.program.terms.var(instance));
            }
        }
        names
    }

    fn edge_to(&self, node: NodeId) -> TransitionId {
        self.art.nodes[node].parent.expect("it is not the first of the path").transition
    }

    /// A formula at the end of a path, over the state at its start.
    fn at_start(&mut self, path: &PathFormula, mut formula: Term) -> Term {
        if path.from_root {
            let last = *path.nodes.last().expect("a path has a node");
            let state = Rc::clone(&self.art.nodes[last].state);
            return state.apply(&mut self.program.terms, formula);
        }
        for n in (1..path.nodes.len()).rev() {
            formula = self.before(self.edge_to(path.nodes[n]), formula);
            if !path.names[n].values.is_empty() {
                formula = path.names[n].apply(&mut self.program.terms, formula);
            }
        }
        formula
    }

    /// Whether a goal holds at the end of the path from the root, or a valuation in which it fails.
    pub(crate) fn holds_behind_root(&mut self, path: &PathFormula, goal: Term) -> Result<Option<Valuation>, Halt> {
        let bad = self.program.terms.not(goal);
        let mut conjuncts = vec![self.at_start(path, bad)];
        conjuncts.extend(path.guards.iter().map(|&(_, guard)| guard));
        match self.ask(&conjuncts)? {
            Answer::Unsat(_) => Ok(None),
            Answer::Sat(valuation) => Ok(Some(valuation)),
            Answer::Unknown => Err(Halt::Solver),
        }
    }

    /// The interpolant that proves a goal at the end of a path; none if it is not reason enough.
    pub(crate) fn interpolate(&mut self, path: &PathFormula, goal: Term) -> Result<Option<Interpolant>, Halt> {
        let bad = self.program.terms.not(goal);
        // The goal first: if it holds by itself, no guard is needed.
        let mut conjuncts = vec![self.at_start(path, bad)];
        conjuncts.extend(&path.base);
        let first_guard = conjuncts.len();
        conjuncts.extend(path.guards.iter().map(|&(_, guard)| guard));
        let Answer::Unsat(core) = self.ask(&conjuncts)? else { return Ok(None) };
        let needed = core.iter().filter(|&&n| n >= first_guard).map(|&n| path.guards[n - first_guard].0).collect();
        let bad = if core.contains(&0) { vec![bad] } else { Vec::new() };
        Ok(Some(self.backwards(path, bad, needed)?))
    }

    /// N_n, ..., N_0 for the guards in the core, as their negations.
    fn backwards(&mut self, path: &PathFormula, bad: Vec<Term>, mut needed: Vec<Owner>) -> Result<Interpolant, Halt> {
        let last = path.nodes.len() - 1;
        let mut now = bad;
        let mut formulas = Vec::new();
        let mut n = last;
        loop {
            // Inputs come from the edge that was passed, or from the goal.
            if n == last || !self.program.transitions[self.edge_to(path.nodes[n + 1])].inputs.is_empty() {
                self.project(path, n, &mut now, &mut needed)?;
            }
            debug_assert!(self.inputs(&now).is_empty(), "an input is not there before it is taken");
            let all = self.program.terms.all(&now);
            let formula = self.program.terms.not(all);
            if self.program.terms.is_true(formula) {
                n += 1;
                break;
            }
            formulas.push(formula);
            if n == 0 {
                break;
            }
            let transition = self.edge_to(path.nodes[n]);
            now.iter_mut().for_each(|c| *c = self.before(transition, *c));
            let guard = &self.program.transitions[transition].guard;
            now.extend(needed.iter().filter(|(m, _)| *m == n).map(|&(_, k)| guard[k]));
            // A guard that is an equation with a number says what a variable is: nothing else need be said about it.
            now.sort_unstable();
            now.dedup();
            now.retain(|&c| !self.program.terms.is_true(c));
            n -= 1;
        }
        formulas.reverse();
        Ok(Interpolant { from: n, formulas })
    }

    /// Removes inputs from N_n. Without some of its conjuncts, other guards may be needed.
    fn project(
        &mut self,
        path: &PathFormula,
        n: usize,
        now: &mut Vec<Term>,
        needed: &mut Vec<Owner>,
    ) -> Result<(), Halt> {
        let mut inputs = self.inputs(now);
        if inputs.is_empty() {
            return Ok(());
        }
        // An input that equals something is replaced by it.
        while let Some((input, term)) = inputs.iter().find_map(|&input| self.equation(now, input).map(|t| (input, t))) {
            let mut replace = State::default();
            replace.values.insert(input, term);
            let terms = &mut self.program.terms;
            *now = now.iter().map(|&c| replace.apply(terms, c)).collect();
            now.retain(|&c| !self.program.terms.is_true(c));
            inputs = self.inputs(now);
        }
        if inputs.is_empty() {
            return Ok(());
        }
        let speaks_of_inputs = |terms: &Terms, c: Term| terms.symbols_of(c).iter().any(|s| inputs.contains(s));
        let (with, without): (Vec<Term>, Vec<Term>) =
            now.iter().partition(|&&c| speaks_of_inputs(&self.program.terms, c));
        if let Some(reason) = self.contradicts(path, n, &without)? {
            (*now, *needed) = reason;
            return Ok(());
        }
        let Some(some_input) = self.for_some_input(&with, &inputs) else { return Err(Halt::Projection) };
        *now = without;
        now.push(some_input);
        Ok(())
    }

    /// Whether the path up to its n-th node contradicts conjuncts there: which of them, and by which guards.
    fn contradicts(&mut self, path: &PathFormula, n: usize, now: &[Term]) -> Result<Option<Reason>, Halt> {
        let (first, last) = (path.nodes[0], path.nodes[n]);
        let part = if path.from_root { self.path_from_root(last) } else { self.path_from(first, last) };
        let mut conjuncts: Vec<Term> = now.iter().map(|&c| self.at_start(&part, c)).collect();
        conjuncts.extend(&part.base);
        let first_guard = conjuncts.len();
        conjuncts.extend(part.guards.iter().map(|&(_, guard)| guard));
        let Answer::Unsat(core) = self.ask(&conjuncts)? else { return Ok(None) };
        let of_now = core.iter().filter_map(|&c| now.get(c).copied()).collect();
        let guards = core.iter().filter(|&&c| c >= first_guard).map(|&c| part.guards[c - first_guard].0).collect();
        Ok(Some((of_now, guards)))
    }

    /// Whether some inputs fulfil all conjuncts, as a formula without them. Inputs that are only compared with numbers fall
    /// into few ranges, and one number of each range stands for all.
    fn for_some_input(&mut self, conjuncts: &[Term], inputs: &[Symbol]) -> Option<Term> {
        let mut formula = self.program.terms.all(conjuncts);
        for &input in inputs {
            let numbers = self.representatives(formula, input)?;
            let mut cases = Vec::new();
            for number in numbers {
                let mut replace = State::default();
                let value = self.program.terms.number(number, self.program.terms.symbols[input].bits);
                replace.values.insert(input, value);
                cases.push(replace.apply(&mut self.program.terms, formula));
            }
            formula = self.program.terms.any(&cases);
        }
        Some(formula)
    }

    /// A number of each range of an input that comparisons with numbers tell apart; none if it is used otherwise.
    fn representatives(&mut self, formula: Term, input: Symbol) -> Option<Vec<u64>> {
        let variable = self.program.terms.var(input);
        let bits = self.program.terms.bits(variable);
        let terms = &self.program.terms;
        let mut numbers = vec![0, 1 << (bits - 1)];
        let mut seen = FxHashSet::default();
        let mut todo = vec![formula];
        while let Some(term) = todo.pop() {
            if !seen.insert(term) {
                continue;
            }
            match *terms.node(term) {
                Node::Eq(a, b) | Node::Ult(a, b) | Node::Slt(a, b) if a == variable || b == variable => {
                    let number = terms.constant(if a == variable { b } else { a })?;
                    numbers.extend([number, number.wrapping_add(1), number.wrapping_sub(1)]);
                }
                _ if term == variable => return (bits == 1).then(|| vec![0, 1]),
                _ => todo.extend(terms.children(term)),
            }
        }
        numbers.iter_mut().for_each(|number| *number &= crate::term::mask(bits));
        numbers.sort_unstable();
        numbers.dedup();
        (numbers.len() <= REPRESENTATIVES).then_some(numbers)
    }

    fn inputs(&self, conjuncts: &[Term]) -> Vec<Symbol> {
        let terms = &self.program.terms;
        let mut all: Vec<Symbol> = conjuncts.iter().flat_map(|&c| terms.symbols_of(c)).collect();
        all.retain(|&symbol| terms.symbols[symbol].input);
        all.sort_unstable();
        all.dedup();
        all
    }

    /// A term that some conjunct says an input is equal to.
    fn equation(&mut self, conjuncts: &[Term], input: Symbol) -> Option<Term> {
        let variable = self.program.terms.var(input);
        for &conjunct in conjuncts {
            let terms = &self.program.terms;
            if conjunct == variable {
                return Some(self.program.terms.bool(true));
            }
            match *terms.node(conjunct) {
                Node::Not(inner) if inner == variable => return Some(self.program.terms.bool(false)),
                Node::Eq(left, right) => {
                    let bits = terms.bits(left);
                    let (constant, parts) = terms.linear(left);
                    let Some(&(factor, _)) = parts.iter().find(|&&(_, t)| t == variable) else { continue };
                    let others: Vec<(u64, Term)> = parts.iter().copied().filter(|&(_, t)| t != variable).collect();
                    let mentions = others.iter().any(|&(_, t)| terms.symbols_of(t).contains(&input));
                    let minus_one = crate::term::mask(bits);
                    if mentions || (factor != 1 && factor != minus_one) {
                        continue;
                    }
                    // factor * input = right - constant - others.
                    let sign = if factor == 1 { 1 } else { u64::MAX };
                    let mut sum = vec![(sign, right)];
                    sum.extend(others.iter().map(|&(f, t)| (f.wrapping_mul(sign).wrapping_neg(), t)));
                    let constant = constant.wrapping_mul(sign).wrapping_neg();
                    return Some(self.program.terms.sum(constant, &sum, bits));
                }
                _ => {}
            }
        }
        None
    }
}

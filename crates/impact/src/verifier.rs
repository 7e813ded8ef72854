//! The state of a verification, and small questions about it that many algorithms ask.

use crate::art::{Art, Edge, Node, NodeId};
use crate::program::{LocationId, Place, Program, ThreadId, TransitionId};
use crate::solver::{Answer, Solver};
use crate::term::{State, Symbol, Term, Valuation};
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_ir::EntityRef;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Why a verification stops before it has an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halt {
    /// The solver gave up on a question.
    Solver,
    /// An input could not be removed from a formula.
    Projection,
    /// The time is up.
    Time,
    /// The user.
    Interrupted,
    /// The tree is too large.
    Nodes,
    /// Nothing goes wrong, and yet no schedule goes on: an assumption never holds.
    Stuck,
}

/// Limits of a verification.
#[derive(Clone, Default, Debug)]
pub struct Limits {
    /// When to stop.
    pub deadline: Option<Instant>,
    /// Becomes true when the user interrupts.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// The most nodes.
    pub nodes: Option<usize>,
}

impl Limits {
    /// Whether it is time to stop.
    pub fn poll(&self) -> Result<(), Halt> {
        if self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Halt::Interrupted);
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Halt::Time);
        }
        Ok(())
    }
}

/// A verification.
pub struct Verifier {
    /// The program.
    pub program: Program,
    /// A.
    pub art: Art,
    /// The solver.
    pub solver: Box<dyn Solver>,
    /// Limits.
    pub limits: Limits,
    /// W, the nodes to be looked at; the last one comes first.
    pub(crate) work: Vec<NodeId>,
    /// The part of W that no feasible path leads to; it is looked at when the rest is done.
    pub(crate) infeasible_work: Vec<NodeId>,
    /// I: threads that must not be skipped at a node.
    pub(crate) not_skipped: FxHashSet<(NodeId, ThreadId)>,
    /// The nodes at each global location, in the order in which they were made.
    pub(crate) at_locations: FxHashMap<Vec<LocationId>, Vec<NodeId>>,
    /// Instances of inputs: which input, and how often the path has taken it before.
    pub(crate) instances: FxHashMap<(Symbol, u32), Symbol>,
    /// Weakest preconditions that were computed before.
    pub(crate) effects: FxHashMap<TransitionId, Effect>,
    /// Questions that were asked before: the conjuncts, sorted, and the answer, with a core as terms.
    answers: FxHashMap<Box<[Term]>, Known>,
    /// Whether a covering may be unfair: everything is to be looked at, and there is a safe schedule already.
    pub(crate) unfair_coverings: bool,
    /// Whether partial-order reduction is used: as long as there may be a safe schedule with it.
    pub(crate) skipping: bool,
    /// How many nodes are there that a feasible path leads to, as far as rewriting shows.
    pub(crate) feasible: usize,
    /// How many nodes were explored that no feasible path leads to.
    pub(crate) unwound_in_vain: usize,
    /// Nodes that were left over by an iteration, to be looked at by a later one whatever is known about the step to them.
    pub(crate) late: FxHashSet<NodeId>,
}

/// A transition as a substitution, and what it makes of terms.
#[derive(Default)]
pub(crate) struct Effect {
    state: State,
    memo: FxHashMap<Term, Term>,
}

/// An answer that is kept.
#[derive(Clone)]
enum Known {
    Sat(Rc<Valuation>),
    Unsat(Rc<[Term]>),
}

impl Verifier {
    /// A verification with a tree that has only its root.
    pub fn new(program: Program, solver: Box<dyn Solver>, limits: Limits) -> Verifier {
        let root = Node {
            parent: None,
            locations: program.initial_locations(),
            label: Rc::default(),
            children: Vec::new(),
            expanded: Default::default(),
            sure: Default::default(),
            unsure: Default::default(),
            dead_end: false,
            covered_by: None,
            unfairly: false,
            covers: Vec::new(),
            depth: 0,
            finding: None,
            infeasible: false,
            state: Rc::new(program.initial.clone()),
            guard: Vec::new(),
        };
        let mut verifier = Verifier {
            program,
            art: Art::default(),
            solver,
            limits,
            work: Vec::new(),
            infeasible_work: Vec::new(),
            not_skipped: FxHashSet::default(),
            at_locations: FxHashMap::default(),
            instances: FxHashMap::default(),
            effects: FxHashMap::default(),
            answers: FxHashMap::default(),
            unfair_coverings: false,
            skipping: true,
            feasible: 0,
            unwound_in_vain: 0,
            late: FxHashSet::default(),
        };
        verifier.add(root);
        verifier
    }

    fn add(&mut self, node: Node) -> NodeId {
        let locations = node.locations.clone();
        self.feasible += usize::from(!node.infeasible);
        let id = self.art.nodes.push(node);
        self.at_locations.entry(locations).or_default().push(id);
        id
    }

    /// Whether it is time to stop.
    pub(crate) fn poll(&self) -> Result<(), Halt> {
        self.limits.poll()?;
        if self.limits.nodes.is_some_and(|most| self.art.nodes.len() > most) {
            return Err(Halt::Nodes);
        }
        Ok(())
    }

    /// Asks the solver, unless it was asked before; an unknown answer ends the verification.
    pub(crate) fn ask(&mut self, conjuncts: &[Term]) -> Result<Answer, Halt> {
        let mut question: Vec<Term> = conjuncts.iter().copied().filter(|&c| !self.program.terms.is_true(c)).collect();
        question.sort_unstable();
        question.dedup();
        match self.answers.get(question.as_slice()) {
            Some(Known::Sat(valuation)) => return Ok(Answer::Sat(Valuation::clone(valuation))),
            Some(Known::Unsat(core)) => {
                let place = |term: &Term| conjuncts.iter().position(|c| c == term).expect("it is part of the question");
                return Ok(Answer::Unsat(core.iter().map(place).collect()));
            }
            None => {}
        }
        let answer = self.solver.check(&mut self.program.terms, conjuncts);
        let known = match &answer {
            Answer::Unknown => {
                self.poll()?;
                return Err(Halt::Solver);
            }
            Answer::Sat(valuation) => Known::Sat(Rc::new(valuation.clone())),
            Answer::Unsat(core) => Known::Unsat(core.iter().map(|&n| conjuncts[n]).collect()),
        };
        self.answers.insert(question.into_boxed_slice(), known);
        Ok(answer)
    }

    /// A formula behind a transition, over the state before it: what has to hold there.
    pub(crate) fn before(&mut self, transition: TransitionId, formula: Term) -> Term {
        let program = &mut self.program;
        let effect = self.effects.entry(transition).or_insert_with(|| {
            let (state, memo) = (program.effect(transition), FxHashMap::default());
            Effect { state, memo }
        });
        effect.state.apply_with(&mut program.terms, formula, &mut effect.memo)
    }

    /// A new node behind an edge, with the state of the path to it.
    pub(crate) fn add_child(&mut self, from: NodeId, transition: TransitionId) -> NodeId {
        let data = &self.program.transitions[transition];
        let (thread, to, spawns) = (data.thread, data.to, data.spawns);
        let parent = &self.art.nodes[from];
        let mut locations = parent.locations.clone();
        locations[thread.index()] = to;
        if let Some(child) = spawns {
            locations[child.index()] = self.program.threads[child].entry;
        }
        let depth = parent.depth + 1;
        let (before, hopeless) = (Rc::clone(&parent.state), parent.infeasible);
        let (state, guard) = self.step(&before, transition, Some(from));
        let infeasible = hopeless || guard.iter().any(|&g| self.program.terms.is_false(g));
        let node = Node {
            parent: Some(Edge { from, thread, transition }),
            locations,
            label: Rc::default(),
            children: Vec::new(),
            expanded: Default::default(),
            sure: Default::default(),
            unsure: Default::default(),
            dead_end: false,
            covered_by: None,
            unfairly: false,
            covers: Vec::new(),
            depth,
            finding: None,
            infeasible,
            state: Rc::new(state),
            guard,
        };
        let id = self.add(node);
        self.art.nodes[from].children.push(id);
        id
    }

    /// The state after a transition, and its guard, over what the state before is over. Inputs get names of their own: by
    /// the path that leads to `from`, if it is given.
    pub(crate) fn step(
        &mut self,
        before: &State,
        transition: TransitionId,
        from: Option<NodeId>,
    ) -> (State, Vec<Term>) {
        let inputs = self.program.transitions[transition].inputs.clone();
        let mut with_inputs = before.clone();
        for &input in &inputs {
            let occurrence = from.map_or(0, |from| self.occurrence(from, input));
            let instance = self.instance(input, occurrence);
            let term = self.program.terms.var(instance);
            with_inputs.values.insert(input, term);
        }
        let data = &self.program.transitions[transition];
        let (guard, updates, writes) = (data.guard.clone(), data.updates.clone(), data.writes.clone());
        let mut memo = FxHashMap::default();
        let terms = &mut self.program.terms;
        let guard = guard.iter().map(|&g| with_inputs.apply_with(terms, g, &mut memo)).collect();
        let mut after = before.clone();
        for &(symbol, term) in &updates {
            let value = with_inputs.apply_with(terms, term, &mut memo);
            after.values.insert(symbol, value);
        }
        for (array, new) in &writes {
            let mut value = before.array(*array);
            for &(index, element) in new {
                let index = with_inputs.apply_with(terms, index, &mut memo);
                let element = with_inputs.apply_with(terms, element, &mut memo);
                // An older write to the same index is gone.
                value.writes.retain(|&(at, _)| at != index);
                value.writes.push((index, element));
            }
            after.arrays.insert(*array, value);
        }
        (after, guard)
    }

    /// The inputs that the step to a node takes, as the formulas of its path name them.
    pub fn instances_at(&self, node: NodeId) -> Vec<Symbol> {
        let Some(edge) = self.art.nodes[node].parent else { return Vec::new() };
        let inputs = &self.program.transitions[edge.transition].inputs;
        let instance = |&input: &Symbol| self.instances.get(&(input, self.occurrence(edge.from, input))).copied();
        inputs.iter().filter_map(instance).collect()
    }

    /// How often a path has taken an input. Transitions that branch on an input share it, so they are counted together.
    fn occurrence(&self, node: NodeId, input: Symbol) -> u32 {
        let takes = |&n: &NodeId| {
            let edge = self.art.nodes[n].parent;
            edge.is_some_and(|edge| self.program.transitions[edge.transition].inputs.contains(&input))
        };
        self.art.upwards(node).filter(takes).count() as u32
    }

    pub(crate) fn instance(&mut self, input: Symbol, occurrence: u32) -> Symbol {
        if let Some(&symbol) = self.instances.get(&(input, occurrence)) {
            return symbol;
        }
        let data = self.program.terms.symbols[input].clone();
        let symbol = self.program.terms.symbol(format!("{}#{occurrence}", data.name), data.bits, false, true);
        self.instances.insert((input, occurrence), symbol);
        symbol
    }

    /// The place of a thread at a node.
    pub(crate) fn place(&self, node: NodeId, thread: ThreadId) -> Place {
        self.program.locations[self.art.nodes[node].locations[thread.index()]].place
    }

    /// The transitions of a thread at a node.
    pub(crate) fn transitions(&self, node: NodeId, thread: ThreadId) -> &[TransitionId] {
        self.program.from(self.art.nodes[node].locations[thread.index()])
    }

    /// Whether a thread could go on as far as locations say: it has transitions, and does not wait for the end of a thread
    /// that has not ended.
    pub fn is_active(&self, node: NodeId, thread: ThreadId) -> bool {
        let transitions = self.transitions(node, thread);
        let waits = |&r: &TransitionId| {
            let joined = self.program.transitions[r].joins;
            joined.is_some_and(|other| self.place(node, other) != Place::End)
        };
        !transitions.is_empty() && !transitions.iter().any(waits)
    }

    /// Whether nothing is left to be done at a node: the process or all threads have ended.
    pub fn is_terminal(&self, node: NodeId) -> bool {
        let mut places = self.program.threads.keys().map(|thread| self.place(node, thread));
        let mut running = false;
        for place in &mut places {
            match place {
                Place::Exit => return true,
                Place::Code => running = true,
                Place::Unborn | Place::End | Place::Error => {}
            }
        }
        !running
    }

    /// Whether a node is at the error location.
    pub fn is_error(&self, node: NodeId) -> bool {
        self.program.threads.keys().any(|thread| self.place(node, thread) == Place::Error)
    }

    /// Whether φ(v) is false.
    pub fn is_false(&self, node: NodeId) -> bool {
        self.art.nodes[node].label.iter().any(|&term| self.program.terms.is_false(term))
    }

    /// What has to hold so that a thread can go on at its location: the disjunction of its guards.
    pub(crate) fn enabled(&mut self, location: LocationId) -> Term {
        let guards: Vec<Vec<Term>> =
            self.program.from(location).iter().map(|&r| self.program.transitions[r].guard.clone()).collect();
        let terms = &mut self.program.terms;
        let all: Vec<Term> = guards.iter().map(|guard| terms.all(guard)).collect();
        terms.any(&all)
    }

    /// Whether a thread may block at a location.
    pub fn may_block(&self, location: LocationId) -> bool {
        self.program.from(location).iter().any(|&r| self.program.transitions[r].may_block)
    }
}

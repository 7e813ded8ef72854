//! Turns that other threads could take as well: from a fair tree to one that admits fairness (definition 4 of the paper).
//!
//! An iteration explores one schedule, and yields a tree that is fair: each of its cycles has steps of every thread, so that at
//! most of its nodes one thread goes on. When a program runs under it, every turn of another thread costs a change of
//! threads. For that a weaker demand is enough: that every thread is *expanded* somewhere on each cycle. Whoever runs the
//! program then sees to it that nobody is left out for ever (Lemma 7).
//!
//! So, when a result is published, its *turn nodes* are looked at: nodes on a cycle that are reached by a back jump, over a
//! covering perhaps, or all that are reached by one if the result has no such cycle. From such a node v, a *turn* of another
//! thread T is T alone from v until its back jump, or its end. It is added if it is proved that from all states of φ(v),
//! whatever the inputs are,
//!
//! - T is enabled wherever it may block, and runs into no error;
//! - it comes to φ(w) for a node w of the result at the same locations: a turn node, v itself if possible, or any node if T
//!   has ended.
//!
//! What is known of a node of the turn is φ(v) and the path behind it, which is stronger than any label that would be
//! written there; the node at its end is covered by w. A turn node is opened to all threads that are active there, or to none:
//! then every cycle through it has them all expanded. A cycle that was not there before goes through a turn, so through
//! such a node; and which threads are active does not change on a cycle, unless one waits for another: who is created or has
//! ended stays so. What is published is looked at once more as a whole.
//!
//! A result without cycles counts what is left to do (files in a queue, say), and it does not matter which
//! thread does it: the turn of another one comes to the same node as that of the one whose turn it was.
//!
//! This is no part of the paper's algorithms, which find the same in later iterations, one step of one thread at a time.

use crate::art::NodeId;
use crate::program::{LocationId, Place, ThreadId, TransitionId};
use crate::remove_error_paths::Ivr;
use crate::solver::Answer;
use crate::term::{State, Symbol, Term};
use crate::verifier::{Halt, Verifier};
use rustc_hash::FxHashSet;
use selvedge_ir::EntityRef;
use selvedge_schedule as to;
use std::rc::Rc;

/// At most so many turn nodes are looked at.
const MOST_NODES: usize = 64;
/// How a program is run that leaves open who goes on: everybody who may has to be seen.
const RUN: to::Options = to::Options {
    precision: to::Precision::Bytes,
    replicate: 1,
    omit_synchronisation: true,
    silent: to::Silent::Omitted,
};
/// A turn with more steps, on all of its paths together, is not added.
const MOST_STEPS: usize = 96;

/// A node of a turn.
struct Turn {
    /// The edge to it: from which node of the turn (none: from the turn node), and by which transition.
    from: Option<usize>,
    transition: TransitionId,
    end: End,
}

/// What a node of a turn is.
enum End {
    /// T goes on.
    Goes,
    /// No execution comes here.
    Never,
    /// T is through, and this turn node covers it.
    Covered(NodeId),
}

/// Where a path of a turn has come to.
struct Path {
    node: Option<usize>,
    location: LocationId,
    /// Over the state at the turn node.
    state: Rc<State>,
    /// φ(v) and the guards of the path.
    known: Vec<Term>,
    inputs: Vec<Symbol>,
}

impl Verifier {
    /// A published result with the turns that other threads could take as well. If time runs out, it stays as it is.
    pub fn open_turns(&mut self, ivr: &Ivr, published: to::PublishedArt) -> to::PublishedArt {
        let mut art = published.clone();
        let nodes = self.turn_nodes(ivr);
        for &v in &nodes {
            match self.turns_at(ivr, v, &nodes) {
                Ok(Some(turns)) => turns.iter().for_each(|turn| self.add_turn(ivr, &mut art, v, turn)),
                Ok(None) | Err(Halt::Solver) => {}
                Err(_) => break,
            }
        }
        if can_be_run(&art) { art } else { published }
    }

    /// The nodes of a result that are reached by a back jump, or cover one that is: those on cycles, if there are any.
    fn turn_nodes(&self, ivr: &Ivr) -> Vec<NodeId> {
        let behind_back_jump = |v: NodeId| {
            let edge = self.art.nodes[v].parent;
            edge.is_some_and(|edge| self.program.transitions[edge.transition].back_jump)
        };
        let reached = ivr.nodes.keys().filter(|&v| ivr.nodes[v] && behind_back_jump(v));
        let ends: FxHashSet<NodeId> = reached.map(|v| ivr.covered_by[v].unwrap_or(v)).collect();
        let open = |v: &NodeId| ends.contains(v) && !ivr.permitted[*v].is_empty();
        let all = ivr.nodes.keys().filter(open);
        let (on_cycles, others): (Vec<NodeId>, Vec<NodeId>) = all.partition(|&v| self.is_on_cycle(ivr, v));
        let mut nodes = if on_cycles.is_empty() { others } else { on_cycles };
        nodes.truncate(MOST_NODES);
        nodes
    }

    fn is_on_cycle(&self, ivr: &Ivr, v: NodeId) -> bool {
        let mut seen = FxHashSet::default();
        let mut todo = vec![v];
        while let Some(node) = todo.pop() {
            let next: Vec<NodeId> = match ivr.covered_by[node] {
                Some(by) => vec![by],
                None => ivr.permitted[node].iter().flat_map(|thread| self.art.by(node, thread)).collect(),
            };
            for node in next {
                if node == v {
                    return true;
                }
                if seen.insert(node) {
                    todo.push(node);
                }
            }
        }
        false
    }

    /// The turns of all active threads that do not go on at v anyway; none if one of them has no turn there.
    fn turns_at(&mut self, ivr: &Ivr, v: NodeId, nodes: &[NodeId]) -> Result<Option<Vec<Vec<Turn>>>, Halt> {
        let threads: Vec<ThreadId> = self.program.threads.keys().collect();
        let mut turns = Vec::new();
        for thread in threads {
            if !self.is_active(v, thread) || ivr.permitted[v].has(thread) {
                continue;
            }
            match self.turn(ivr, v, thread, nodes)? {
                Some(turn) => turns.push(turn),
                None => return Ok(None),
            }
        }
        Ok(Some(turns))
    }

    /// The turn of a thread at v, if it is proved.
    fn turn(&mut self, ivr: &Ivr, v: NodeId, thread: ThreadId, nodes: &[NodeId]) -> Result<Option<Vec<Turn>>, Halt> {
        let mut turn: Vec<Turn> = Vec::new();
        let mut open = vec![Path {
            node: None,
            location: self.art.nodes[v].locations[thread.index()],
            state: Rc::new(State::default()),
            known: ivr.labels[v].iter().copied().collect(),
            inputs: Vec::new(),
        }];
        while let Some(path) = open.pop() {
            self.poll()?;
            if !self.surely_enabled(&path)? {
                return Ok(None);
            }
            for transition in self.program.from(path.location).to_vec() {
                let data = &self.program.transitions[transition];
                // An input that is taken twice would need two names.
                let twice = data.inputs.iter().any(|input| path.inputs.contains(input));
                if turn.len() >= MOST_STEPS || twice || data.spawns.is_some() || data.joins.is_some() {
                    return Ok(None);
                }
                let (to, back_jump) = (data.to, data.back_jump);
                let inputs = path.inputs.iter().chain(&data.inputs).copied().collect();
                let (state, guard) = self.step(&path.state, transition, None);
                let known: Vec<Term> = path.known.iter().chain(&guard).copied().collect();
                let node = turn.len();
                turn.push(Turn { from: path.node, transition, end: End::Goes });
                if !self.may_hold(&known)? {
                    turn[node].end = End::Never;
                    continue;
                }
                let after = Path { node: Some(node), location: to, state: Rc::new(state), known, inputs };
                let place = self.program.locations[to].place;
                if back_jump || place == Place::End {
                    match self.comes_back(ivr, v, thread, nodes, &after)? {
                        Some(w) => turn[node].end = End::Covered(w),
                        None => return Ok(None),
                    }
                } else if place == Place::Code {
                    open.push(after);
                } else {
                    // An error, or the end of the process.
                    return Ok(None);
                }
            }
        }
        Ok(Some(turn))
    }

    /// Whether the thread can go on in all states at the end of a path.
    fn surely_enabled(&mut self, path: &Path) -> Result<bool, Halt> {
        // Where a thread waits for what never comes, there is no transition at all.
        if self.program.from(path.location).is_empty() {
            return Ok(false);
        }
        if !self.may_block(path.location) {
            return Ok(true);
        }
        let enabled = self.enabled(path.location);
        self.holds_behind(path, enabled)
    }

    /// The node that covers the end of a path, with the least to prove first behind v itself.
    fn comes_back(
        &mut self,
        ivr: &Ivr,
        v: NodeId,
        thread: ThreadId,
        nodes: &[NodeId],
        path: &Path,
    ) -> Result<Option<NodeId>, Halt> {
        let mut locations = self.art.nodes[v].locations.clone();
        locations[thread.index()] = path.location;
        let there = |w: &NodeId| self.art.nodes[*w].locations == locations;
        let goes_on = |w: &NodeId| ivr.nodes[*w] && ivr.covered_by[*w].is_none() && !ivr.permitted[*w].is_empty();
        let mut candidates: Vec<NodeId> = match self.program.locations[path.location].place {
            Place::End => ivr.nodes.keys().filter(there).filter(goes_on).collect(),
            _ => nodes.iter().copied().filter(there).collect(),
        };
        // Off cycles, the next node at these locations is most likely the one that the turn of the tree itself comes to.
        let on_cycle = self.is_on_cycle(ivr, v);
        let effort = |w: NodeId| if on_cycle { ivr.labels[w].len() } else { w.index().abs_diff(v.index()) };
        candidates.sort_by_key(|&w| (w != v, !on_cycle && w < v, effort(w)));
        for w in candidates {
            let mut all = true;
            for &conjunct in ivr.labels[w].iter() {
                all = all && self.holds_behind(path, conjunct)?;
            }
            if all {
                return Ok(Some(w));
            }
        }
        Ok(None)
    }

    /// Whether a formula holds in all states at the end of a path.
    fn holds_behind(&mut self, path: &Path, formula: Term) -> Result<bool, Halt> {
        let not = self.program.terms.not(formula);
        let mut conjuncts = vec![path.state.apply(&mut self.program.terms, not)];
        conjuncts.extend(&path.known);
        Ok(!self.may_hold(&conjuncts)?)
    }

    fn may_hold(&mut self, conjuncts: &[Term]) -> Result<bool, Halt> {
        if conjuncts.iter().any(|&term| self.program.terms.is_false(term)) {
            return Ok(false);
        }
        Ok(!matches!(self.ask(conjuncts)?, Answer::Unsat(_)))
    }

    /// Adds a turn to the published tree.
    fn add_turn(&self, ivr: &Ivr, art: &mut to::PublishedArt, v: NodeId, turn: &[Turn]) {
        // As `publish` numbers them.
        let number = |node: NodeId| {
            to::NodeId::new(
                ivr.nodes.keys().take_while(|&other| other != node).filter(|&other| ivr.nodes[other]).count(),
            )
        };
        let start = number(v);
        let first = art.nodes.len();
        for (n, step) in turn.iter().enumerate() {
            let from = step.from.map_or(start, |n| to::NodeId::new(first + n));
            let id = to::NodeId::new(first + n);
            let transition = to::TransitionId::new(step.transition.index());
            let data = &self.program.transitions[step.transition];
            let mut locations = art.node(from).locations.clone();
            locations[data.thread.index()] = to::LocationId::new(data.to.index());
            art.nodes[from.index()].edges.push(to::Edge { transition, to: id, accesses: None });
            let (covered_by, infeasible) = match step.end {
                End::Goes => (None, false),
                End::Never => (None, true),
                End::Covered(w) => (Some(number(w)), false),
            };
            let label = if infeasible { "false".to_owned() } else { format!("behind {start}") };
            art.nodes.push(to::Node { locations, label, infeasible, ended: false, covered_by, edges: Vec::new() });
        }
    }
}

/// Whether nobody is left out for ever, and everybody is seen whose turn it may be.
fn can_be_run(art: &to::PublishedArt) -> bool {
    to::fairness::admits_fairness(art).is_ok() && to::program_schedule(art, RUN).is_ok()
}

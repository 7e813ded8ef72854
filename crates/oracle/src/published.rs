//! Whether a published tree keeps its word: naive, by executions of the automata under it.
//!
//! Publishing adds turns of other threads to a safe result (`open_turns.rs` of the verifier). Executions under the tree are
//! tried with a few values for each input: whoever is expanded at a node must have a step there, to a node that may be
//! reached, and where a node has a label of the verifier, it has to hold. The same from random states of the nodes at which
//! several threads may go on, up to the end of the turn of each.

use crate::concrete::Concrete;
use crate::generate::Rng;
use crate::tree::{INPUTS, Tree};
use selvedge_impact::art::NodeId;
use selvedge_impact::program::{LocationId, ThreadId};
use selvedge_impact::remove_error_paths::Ivr;
use selvedge_impact::verifier::Verifier;
use selvedge_ir::EntityRef;
use selvedge_schedule as published;
use std::collections::{HashSet, VecDeque};

/// Random states for each node that leaves a choice: a turn may have ways that few of them go.
const SAMPLES: usize = 400;

/// Checks a published result, with at most so many steps of executions. How many nodes leave a choice between threads; the
/// error says what is wrong.
pub fn check_published(
    verifier: &Verifier,
    ivr: &Ivr,
    art: &published::PublishedArt,
    steps: usize,
) -> Result<usize, String> {
    published::validate(art).map_err(|error| error.to_string())?;
    let names = ivr.nodes.keys().filter(|&node| ivr.nodes[node]).collect();
    let check = Check { tree: Tree { verifier, ivr }, art, names };
    let reached = check.executions(steps)?;
    check.turns(&reached)
}

struct Check<'a> {
    tree: Tree<'a>,
    art: &'a published::PublishedArt,
    /// The verifier's name for the first nodes; the others were added.
    names: Vec<NodeId>,
}

type At = (published::NodeId, Concrete);

impl Check<'_> {
    fn executions(&self, steps: usize) -> Result<Vec<At>, String> {
        let start = (self.art.root(), Concrete::initial(self.tree.program()));
        let mut seen: HashSet<At> = HashSet::from([start.clone()]);
        let mut todo = VecDeque::from([start]);
        let mut met = Vec::new();
        while let Some((node, state)) = todo.pop_front() {
            if met.len() >= steps {
                break;
            }
            self.holds(node, &state)?;
            met.push((node, state.clone()));
            for thread in self.art.expanded(node) {
                for input in INPUTS {
                    let next = self.step(node, &state, thread, input)?;
                    if seen.insert(next.clone()) {
                        todo.push_back(next);
                    }
                }
            }
        }
        Ok(met)
    }

    /// The step of a thread that is expanded at a node; covered nodes are passed.
    fn step(
        &self,
        node: published::NodeId,
        state: &Concrete,
        by: published::ThreadId,
        input: u64,
    ) -> Result<At, String> {
        let thread = ThreadId::new(by.index());
        let location = LocationId::new(self.art.node(node).locations[by.index()].index());
        let program = self.tree.program();
        let all = program.locations[location].transitions.iter();
        let taken = all.copied().find_map(|r| state.after(program, r, |_| input).map(|after| (r, after)));
        let Some((r, after)) = taken else {
            return Err(format!("{thread} may go on at {node}, but waits"));
        };
        let data = &program.transitions[r];
        let edge = self.art.node(node).edges.iter().find(|edge| edge.transition.index() == r.index());
        let Some(edge) = edge.filter(|edge| !self.art.node(edge.to).infeasible) else {
            return Err(format!("`{}` of {thread} at {node} leads out of the tree", data.text));
        };
        if data.error.is_some() {
            return Err(format!("{thread} runs into an error at {node}"));
        }
        self.holds(edge.to, &after)?;
        Ok((self.art.uncovered(edge.to), after))
    }

    fn holds(&self, node: published::NodeId, state: &Concrete) -> Result<(), String> {
        match self.names.get(node.index()) {
            Some(&name) => self.tree.holds(name, state, "an execution"),
            None => Ok(()),
        }
    }

    /// From random states of a node that leaves a choice: each thread up to where the verifier knows a label again.
    fn turns(&self, reached: &[At]) -> Result<usize, String> {
        let mut rng = Rng::new(11);
        let mut open = 0;
        for (n, &name) in self.names.iter().enumerate() {
            let node = published::NodeId::new(n);
            let threads = self.art.expanded(node);
            if threads.len() < 2 {
                continue;
            }
            open += 1;
            let own: Vec<&Concrete> = reached.iter().filter(|(n, _)| *n == node).map(|(_, s)| s).take(5).collect();
            for _ in 0..SAMPLES {
                let state = self.tree.random(&mut rng, &own);
                if self.tree.holds(name, &state, "").is_err() {
                    continue;
                }
                for &thread in &threads {
                    let (mut at, mut state) = self.step(node, &state, thread, rng.pick(&INPUTS))?;
                    while at.index() >= self.names.len() {
                        (at, state) = self.step(at, &state, thread, rng.pick(&INPUTS))?;
                    }
                    self.holds(at, &state)?;
                }
            }
        }
        Ok(open)
    }
}

//! Every state of a program as the verifier sees it: whether something goes wrong, and whether a scheduler can avoid it.
//!
//! Nothing is reduced and nothing is abstract; loops come to an end when a state was met before. Inputs are tried with a
//! few values: all that matter, if the program makes nothing of other bits.

use crate::concrete::Concrete;
use selvedge_impact::program::{LocationId, Place, Program, ThreadId};
use selvedge_ir::EntityRef;
use std::collections::{HashMap, HashSet};

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reach {
    /// How many states there are.
    pub states: usize,
    /// The messages of the errors that are reached.
    pub errors: HashSet<String>,
    /// Whether a state is reached in which nobody can go on.
    pub deadlock: bool,
    /// Whether some execution never ends.
    pub cyclic: bool,
    /// Whether in every state that it leads to, a scheduler that knows the state finds a thread that goes on safely.
    pub schedulable: bool,
}

impl Reach {
    /// Whether something goes wrong.
    pub fn wrong(&self) -> bool {
        self.deadlock || !self.errors.is_empty()
    }
}

type State = (Vec<LocationId>, Concrete);

/// What a thread can do in a state.
#[derive(Default)]
struct Moves {
    /// Whether it can go on for every input.
    sure: bool,
    /// Whether it runs into an error for some input.
    error: bool,
    behind: Vec<usize>,
}

/// All states; none if there are more than `most`.
pub fn explore(program: &Program, inputs: &[u64], most: usize) -> Option<Reach> {
    let start: State = (program.initial_locations(), Concrete::initial(program));
    let mut numbers: HashMap<State, usize> = HashMap::from([(start.clone(), 0)]);
    let mut states = vec![start];
    let mut moves: Vec<Vec<Moves>> = Vec::new();
    let mut errors = HashSet::new();
    let mut deadlock = false;
    while moves.len() < states.len() {
        let state = states[moves.len()].clone();
        let mut of_threads = Vec::new();
        if !has_ended(program, &state.0) {
            for thread in program.threads.keys() {
                let mut one = Moves { sure: is_active(program, &state.0, thread), ..Moves::default() };
                for steps in steps(program, &state, thread, inputs) {
                    one.sure &= !steps.is_empty();
                    for (error, next) in steps {
                        if let Some(message) = error {
                            one.error = true;
                            errors.insert(message);
                            continue;
                        }
                        let number = *numbers.entry(next.clone()).or_insert(states.len());
                        if number == states.len() {
                            states.push(next);
                        }
                        one.behind.push(number);
                    }
                }
                of_threads.push(one);
            }
            deadlock |= of_threads.iter().all(|one| !one.sure);
        }
        if states.len() > most {
            return None;
        }
        moves.push(of_threads);
    }
    let (schedulable, cyclic) = (is_schedulable(&moves), is_cyclic(&moves));
    Some(Reach { states: states.len(), errors, deadlock, cyclic, schedulable })
}

/// Whether nobody can go on in a state, for some inputs of those that would be asked for.
pub fn is_stuck(program: &Program, locations: &[LocationId], state: &Concrete) -> bool {
    let can_wait = |thread: ThreadId| {
        let at = &program.locations[locations[thread.index()]];
        let goes = |input: u64| at.transitions.iter().any(|&r| state.after(program, r, |_| input).is_some());
        !is_active(program, locations, thread) || !(0..4).all(goes)
    };
    !has_ended(program, locations) && program.threads.keys().all(can_wait)
}

/// For each choice of inputs, the steps of a thread: the message of an error, or the state behind it.
fn steps(program: &Program, state: &State, thread: ThreadId, inputs: &[u64]) -> Vec<Vec<(Option<String>, State)>> {
    let (locations, values) = state;
    if !is_active(program, locations, thread) {
        return Vec::new();
    }
    let transitions = &program.locations[locations[thread.index()]].transitions;
    let asked = transitions.iter().map(|&r| program.transitions[r].inputs.len()).max().unwrap_or(0);
    let choices = inputs.len().pow(asked as u32);
    let mut all = Vec::new();
    for choice in 0..choices {
        let mut found = Vec::new();
        for &r in transitions {
            let data = &program.transitions[r];
            let digit = |symbol| {
                let place = data.inputs.iter().position(|&s| s == symbol).unwrap_or(0);
                inputs[choice / inputs.len().pow(place as u32) % inputs.len()]
            };
            let Some(after) = values.after(program, r, digit) else { continue };
            let mut next = locations.clone();
            next[thread.index()] = data.to;
            if let Some(child) = data.spawns {
                next[child.index()] = program.threads[child].entry;
            }
            found.push((data.error.as_ref().map(|error| error.message.clone()), (next, after)));
        }
        all.push(found);
    }
    all
}

fn is_active(program: &Program, locations: &[LocationId], thread: ThreadId) -> bool {
    let ended = |other: ThreadId| program.locations[locations[other.index()]].place == Place::End;
    let transitions = &program.locations[locations[thread.index()]].transitions;
    !transitions.is_empty() && transitions.iter().all(|&r| program.transitions[r].joins.is_none_or(ended))
}

fn has_ended(program: &Program, locations: &[LocationId]) -> bool {
    let places: Vec<Place> = locations.iter().map(|&l| program.locations[l].place).collect();
    places.contains(&Place::Exit) || !places.contains(&Place::Code)
}

/// The largest set of states in each of which some thread can go on for every input, without an error, and stays in it.
fn is_schedulable(moves: &[Vec<Moves>]) -> bool {
    let mut good = vec![true; moves.len()];
    loop {
        let lost = |n: &usize| {
            let goes = |one: &Moves| one.sure && !one.error && one.behind.iter().all(|&next| good[next]);
            good[*n] && !moves[*n].is_empty() && !moves[*n].iter().any(goes)
        };
        let lost: Vec<usize> = (0..moves.len()).filter(lost).collect();
        if lost.is_empty() {
            return good[0];
        }
        lost.into_iter().for_each(|n| good[n] = false);
    }
}

/// Whether states that nothing leads to any more can be taken away until none is left.
fn is_cyclic(moves: &[Vec<Moves>]) -> bool {
    let mut incoming = vec![0usize; moves.len()];
    let behind = |n: usize| moves[n].iter().flat_map(|one| one.behind.iter().copied());
    (0..moves.len()).flat_map(behind).for_each(|next| incoming[next] += 1);
    let mut todo: Vec<usize> = (0..moves.len()).filter(|&n| incoming[n] == 0).collect();
    let mut taken = 0;
    while let Some(n) = todo.pop() {
        taken += 1;
        for next in behind(n) {
            incoming[next] -= 1;
            if incoming[next] == 0 {
                todo.push(next);
            }
        }
    }
    taken < moves.len()
}

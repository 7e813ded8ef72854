//! A counterexample as a trace for `replay`: the interpreter follows the path step by step.
//!
//! The machine yields an Op for every access that others could notice by its own account, which may be more than the
//! verifier has transitions for (a variable that nobody ever writes, say). So each thread is run, Op by Op, until it has
//! done what the transition does at its place in the source. The machine then says itself what is wrong; if it does not
//! come to that, there is no trace, and the reason is given.

use crate::program;
use selvedge_impact::art::Edge;
use selvedge_impact::iterate::Counterexample;
use selvedge_impact::program::{self as verified, INPUT, StepKind, WOKEN};
use selvedge_impact::term::{mask, signed};
use selvedge_impact::verifier::Verifier;
use selvedge_ir::Module;
use selvedge_machine::interp::Interpreter;
use selvedge_machine::schedule::Schedule;
use selvedge_machine::verdict::{Exploration, Found};
use selvedge_machine::{Addr, Machine, Op, Sc, Status, Stop, ThreadId, Violation, ViolationKind};
use selvedge_report::verdict::{Program, RunOptions};
use selvedge_report::{Question, Shown, Verdict, json};
use std::collections::VecDeque;

/// A thread that makes more Ops than this without coming to its place is lost.
const LOST: usize = 10_000;

/// The trace in the form that `check` writes.
pub fn trace(
    verifier: &Verifier,
    program: &Program,
    module: &Module,
    found: &Counterexample,
) -> Result<String, String> {
    let mut program = program.clone();
    // `replay` prepares the program as `check` does.
    let replayed = program::load(&program, Some(&[])).map_err(|failure| failure.to_string())?;
    program.hash = program::hash(&replayed);
    let inputs = inputs(verifier, found)?;
    let values = inputs.iter().flat_map(|(_, inputs)| inputs.taken.iter().copied());
    let (low, high) = values.fold((0, 0), |(low, high), value| (value.min(low), value.max(high)));
    // Where there is nothing to choose, the machine does not ask.
    let high = high.max(low + 1);
    let options = RunOptions { nondet: Some((low, high)), max_events: LOST, deadlocks: true, ..RunOptions::default() };
    let machine = program::machine(&replayed, &options, &[], false).map_err(|failure| failure.to_string())?;
    let mut follower = Follower { sc: start(machine)?, steps: Vec::new(), low, stop: None };
    let edges: Vec<Edge> = inputs.iter().map(|&(edge, _)| edge).collect();
    for (n, (edge, inputs)) in inputs.into_iter().enumerate() {
        let same = |later: &&Edge| later.thread == edge.thread;
        let later = edges[n + 1..].iter().filter(same).flat_map(|&later| steps(verifier, module, later)).collect();
        follower.follow(verifier, module, edge, inputs, later)?;
        if follower.stop.is_some() {
            break;
        }
    }
    if follower.stop.is_none() {
        follower.reach_the_end(verifier, found)?;
    }
    let violation = follower.violation(found)?;
    let schedule = Schedule::record(&follower.sc.machine, follower.steps.iter().copied());
    let exploration =
        Exploration { violations: vec![Found { violation: violation.clone(), schedule }], ..Exploration::default() };
    let question = Question {
        program,
        options,
        model: "sc".to_owned(),
        engine: "verify".to_owned(),
        algorithm: "impact".to_owned(),
        ..Question::default()
    };
    let shown = vec![Shown { violation, replay: Err("not run here".to_owned()) }];
    Ok(json::render(&Verdict { shown, ..Verdict::new(question, exploration) }))
}

fn start(machine: Interpreter) -> Result<Sc<Interpreter>, String> {
    Sc::start(machine).map_err(|_| "the program stops before its first step".to_owned())
}

/// What the environment chooses in a transition.
#[derive(Default)]
struct Inputs {
    /// What the program takes, as signed numbers.
    taken: VecDeque<i64>,
    /// Who is woken: the number of a thread in the list of those that may be.
    woken: Option<usize>,
}

/// The edges of the path with the inputs of each.
fn inputs(verifier: &Verifier, found: &Counterexample) -> Result<Vec<(Edge, Inputs)>, String> {
    let mut result = Vec::new();
    let symbols = &verifier.program.terms.symbols;
    for node in verifier.art.path(found.node) {
        let Some(edge) = verifier.art.nodes[node].parent else { continue };
        let kinds = &verifier.program.transitions[edge.transition].inputs;
        let mut inputs = Inputs::default();
        for (&kind, instance) in kinds.iter().zip(verifier.instances_at(node)) {
            let bits = symbols[instance].bits;
            let value = found.inputs.values.get(&instance).copied().unwrap_or(0) & mask(bits);
            match symbols[kind].name.as_str() {
                INPUT if bits == 1 => inputs.taken.push_back(value as i64),
                INPUT => inputs.taken.push_back(signed(value, bits)),
                WOKEN => inputs.woken = usize::try_from(value).ok(),
                // The result of `printf`, say: the machine knows better.
                _ => {}
            }
        }
        result.push((edge, inputs));
    }
    Ok(result)
}

/// A step that others could notice: what it does, and where in the source.
type Visible = (StepKind, (u32, u32));

/// The steps of a transition that are Ops of the machine, if it thinks as the verifier does about what can be noticed.
fn steps(verifier: &Verifier, module: &Module, edge: Edge) -> Vec<Visible> {
    let mut atomic = 0;
    let mut visible = Vec::new();
    for step in &verifier.program.transitions[edge.transition].steps {
        match step.kind {
            StepKind::Branch(_) | StepKind::Exit | StepKind::Return | StepKind::Assume | StepKind::Fence => continue,
            StepKind::AtomicBegin => atomic += 1,
            StepKind::AtomicEnd => {
                atomic -= 1;
                continue;
            }
            // A section is one step of the machine.
            _ if atomic > 0 => continue,
            _ => {}
        }
        let loc = &module.locs[module.functions[step.func].insts[step.inst].loc];
        visible.push((step.kind, (loc.line, loc.column)));
    }
    visible
}

/// How a thread came into being, as the machine counts: the creations that lead to it from the main thread.
fn thread_path(verifier: &Verifier, mut thread: verified::ThreadId) -> Vec<u32> {
    let mut path = Vec::new();
    while let Some((creator, n)) = verifier.program.threads[thread].created_by {
        path.push(n);
        thread = creator;
    }
    path.reverse();
    path
}

/// A machine that follows a path.
struct Follower {
    sc: Sc<Interpreter>,
    steps: Vec<(ThreadId, u32)>,
    low: i64,
    stop: Option<Stop>,
}

impl Follower {
    /// The machine's number of a thread.
    fn thread(&self, verifier: &Verifier, thread: verified::ThreadId) -> Result<ThreadId, String> {
        let path = thread_path(verifier, thread);
        let found = self.sc.threads().find(|&other| self.sc.machine.thread_path(other) == path);
        found.ok_or_else(|| "a thread does not exist in the machine".to_owned())
    }

    /// Makes the Ops of one transition; `later` are the steps of its thread in transitions behind.
    fn follow(
        &mut self,
        verifier: &Verifier,
        module: &Module,
        edge: Edge,
        mut inputs: Inputs,
        later: Vec<Visible>,
    ) -> Result<(), String> {
        let thread = self.thread(verifier, edge.thread)?;
        let mut left = VecDeque::from(later);
        let steps = steps(verifier, module, edge);
        steps.iter().rev().for_each(|&step| left.push_front(step));
        for step in steps {
            left.pop_front();
            let woken = match step.0 {
                StepKind::CondSignal => {
                    self.woken(verifier, &verifier.program.transitions[edge.transition].wakes, inputs.woken)
                }
                _ => None,
            };
            self.until(thread, step, &mut inputs.taken, woken, left.make_contiguous())?;
            if self.stop.is_some() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The threads that a signal may wake, the preferred one first, as the machine numbers them.
    fn woken(
        &self,
        verifier: &Verifier,
        waiters: &[verified::ThreadId],
        first: Option<usize>,
    ) -> Option<Vec<ThreadId>> {
        if waiters.is_empty() {
            return None;
        }
        let first = first.filter(|&n| n < waiters.len()).unwrap_or(0);
        let circle = waiters[first..].iter().chain(&waiters[..first]);
        // A thread that was not created yet does not wait.
        Some(circle.filter_map(|&thread| self.thread(verifier, thread).ok()).collect())
    }

    /// The choice that wakes the first of these threads that waits.
    fn choice_of(&self, cond: Addr, preferred: &[ThreadId]) -> u32 {
        let waiting = self.sc.asleep_at(cond);
        let chosen = preferred.iter().find_map(|thread| waiting.iter().position(|other| other == thread));
        chosen.unwrap_or(0) as u32
    }

    /// Runs a thread until it has done the Op of a step. If it comes to one of its later steps instead, the machine
    /// does not think that others could notice this one: it is done.
    fn until(
        &mut self,
        thread: ThreadId,
        (kind, place): Visible,
        inputs: &mut VecDeque<i64>,
        woken: Option<Vec<ThreadId>>,
        later: &[Visible],
    ) -> Result<(), String> {
        for _ in 0..LOST {
            if self.sc.machine.status(thread) != Status::Ready {
                return Ok(());
            }
            let site = self.sc.machine.site(thread);
            let op = *self.sc.machine.pending(thread);
            let is_at = |(kind, place): Visible| (site.span.line, site.span.column) == place && fits(kind, &op);
            let here = is_at((kind, place));
            if !here && later.iter().any(|&step| is_at(step)) {
                return Ok(());
            }
            if !self.sc.enabled(thread) {
                let name = self.sc.machine.thread_name(thread);
                return Err(format!("{name} waits in the machine where the verifier lets it go on"));
            }
            let choice = match op {
                Op::Choose { alternatives } => {
                    let value = inputs.pop_front().unwrap_or(0);
                    let choice = if alternatives == 2 && (0..=1).contains(&value) && self.low == 0 {
                        value
                    } else {
                        value - self.low
                    };
                    u32::try_from(choice).ok().filter(|&c| c < alternatives).ok_or("an input is out of range")?
                }
                Op::CondSignal { cond } => woken.as_ref().map_or(0, |preferred| self.choice_of(cond, preferred)),
                _ => 0,
            };
            self.steps.push((thread, choice));
            if let Err((_, stop)) = self.sc.step(thread, choice) {
                self.stop = Some(stop);
                return Ok(());
            }
            if here && self.is_done(thread, kind, place) {
                return Ok(());
            }
        }
        Err("a thread does not come to the place where the verifier has it".to_owned())
    }

    /// Whether a thread has made all Ops of a step, some of which are several for the machine.
    fn is_done(&self, thread: ThreadId, kind: StepKind, place: (u32, u32)) -> bool {
        if self.sc.machine.status(thread) != Status::Ready {
            return true;
        }
        match kind {
            // It enters the set of those who wait, and then releases the mutex.
            StepKind::CondWait => matches!(self.sc.machine.pending(thread), Op::CondWake { .. }),
            // It may look first, and then try.
            StepKind::TryLock => {
                let site = self.sc.machine.site(thread);
                (site.span.line, site.span.column) != place
            }
            _ => true,
        }
    }

    /// Runs the thread that goes wrong up to the error, or every thread up to the deadlock: what they still do on the
    /// way, nobody else could notice.
    fn reach_the_end(&mut self, verifier: &Verifier, found: &Counterexample) -> Result<(), String> {
        let wrong = match verifier.art.nodes[found.node].parent.filter(|_| found.error.is_some()) {
            Some(edge) => Some(self.thread(verifier, edge.thread)?),
            None => None,
        };
        for _ in 0..LOST {
            let mut goes = self.sc.threads().filter(|&thread| wrong.is_none_or(|wrong| wrong == thread));
            let Some(thread) = goes.find(|&thread| self.sc.enabled(thread)) else { break };
            self.steps.push((thread, 0));
            if let Err((_, stop)) = self.sc.step(thread, 0) {
                self.stop = Some(stop);
                break;
            }
        }
        Ok(())
    }

    /// What is wrong at the end, as the machine says.
    fn violation(&mut self, found: &Counterexample) -> Result<Violation, String> {
        match (&self.stop, &found.error) {
            (Some(Stop::Violation(violation)), _) => Ok(Violation::clone(violation)),
            (Some(_), _) => Err("the machine stops for another reason".to_owned()),
            (None, None) => {
                let stuck = self.sc.threads().all(|thread| !self.sc.enabled(thread));
                if !stuck {
                    return Err("the machine can go on where the verifier has a deadlock".to_owned());
                }
                Ok(Violation {
                    kind: ViolationKind::Deadlock,
                    message: "no thread can go on".to_owned(),
                    places: Vec::new(),
                })
            }
            (None, Some(_)) => Err("the machine finds nothing wrong at the end of the path".to_owned()),
        }
    }
}

/// Whether an Op is one that a step of this kind makes.
fn fits(kind: StepKind, op: &Op) -> bool {
    match kind {
        StepKind::Nondet => matches!(op, Op::Choose { .. }),
        StepKind::Spawn => matches!(op, Op::Spawn { .. }),
        StepKind::Join => matches!(op, Op::Join { .. }),
        StepKind::CondWake => matches!(op, Op::Access(_)),
        _ => !matches!(op, Op::Choose { .. }),
    }
}

//! A counterexample as a trace for `replay`: the interpreter follows the path step by step.
//!
//! The machine yields an Op for every access that others could notice by its own account, which may be more than the
//! verifier has transitions for (a variable that nobody ever writes, say). So each thread is run, Op by Op, until it has
//! done what the transition does at its place in the source. The machine then says itself what is wrong; if it does not
//! come to that, there is no trace, and the reason is given.

use crate::program;
use selvedge_impact::art::Edge;
use selvedge_impact::iterate::Counterexample;
use selvedge_impact::program::StepKind;
use selvedge_impact::term::{mask, signed};
use selvedge_impact::verifier::Verifier;
use selvedge_ir::{EntityRef, Module};
use selvedge_machine::interp::Interpreter;
use selvedge_machine::schedule::Schedule;
use selvedge_machine::verdict::{Exploration, Found};
use selvedge_machine::{Machine, Op, Sc, Stop, ThreadId, Violation, ViolationKind};
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
    let values = inputs.iter().flat_map(|(_, values)| values.iter().copied());
    let (low, high) = values.fold((0, 0), |(low, high), value| (value.min(low), value.max(high)));
    let options = RunOptions { nondet: Some((low, high)), max_events: LOST, deadlocks: true, ..RunOptions::default() };
    let machine = program::machine(&replayed, &options, &[], false).map_err(|failure| failure.to_string())?;
    let mut follower = Follower { sc: start(machine)?, steps: Vec::new(), low, stop: None };
    for (edge, values) in inputs {
        follower.follow(verifier, module, edge, values.into())?;
        if follower.stop.is_some() {
            break;
        }
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

/// The edges of the path with the inputs that each takes, as signed numbers.
fn inputs(verifier: &Verifier, found: &Counterexample) -> Result<Vec<(Edge, Vec<i64>)>, String> {
    let mut result = Vec::new();
    for node in verifier.art.path(found.node) {
        let Some(edge) = verifier.art.nodes[node].parent else { continue };
        let instances = verifier.instances_at(node);
        let values = instances.iter().map(|&symbol| {
            let bits = verifier.program.terms.symbols[symbol].bits;
            let value = found.inputs.values.get(&symbol).copied().unwrap_or(0) & mask(bits);
            if bits == 1 { value as i64 } else { signed(value, bits) }
        });
        result.push((edge, values.collect()));
    }
    Ok(result)
}

/// A machine that follows a path.
struct Follower {
    sc: Sc<Interpreter>,
    steps: Vec<(ThreadId, u32)>,
    low: i64,
    stop: Option<Stop>,
}

impl Follower {
    /// Makes the Ops of one transition.
    fn follow(
        &mut self,
        verifier: &Verifier,
        module: &Module,
        edge: Edge,
        mut inputs: VecDeque<i64>,
    ) -> Result<(), String> {
        let thread = ThreadId::new(edge.thread.index());
        let mut atomic = 0;
        for step in &verifier.program.transitions[edge.transition].steps {
            match step.kind {
                StepKind::Branch(_) | StepKind::Exit | StepKind::Assume | StepKind::Fence => continue,
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
            self.until(thread, (loc.line, loc.column), step.kind, &mut inputs)?;
            if self.stop.is_some() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Runs a thread until it has done the Op at a place in the source.
    fn until(
        &mut self,
        thread: ThreadId,
        place: (u32, u32),
        kind: StepKind,
        inputs: &mut VecDeque<i64>,
    ) -> Result<(), String> {
        for _ in 0..LOST {
            if !self.sc.enabled(thread) {
                let name = self.sc.machine.thread_name(thread);
                return Err(format!("{name} waits in the machine where the verifier lets it go on"));
            }
            let site = self.sc.machine.site(thread);
            let op = *self.sc.machine.pending(thread);
            let here = (site.span.line, site.span.column) == place && fits(kind, &op);
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
                _ => 0,
            };
            self.steps.push((thread, choice));
            if let Err((_, stop)) = self.sc.step(thread, choice) {
                self.stop = Some(stop);
                return Ok(());
            }
            if here {
                return Ok(());
            }
        }
        Err("a thread does not come to the place where the verifier has it".to_owned())
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

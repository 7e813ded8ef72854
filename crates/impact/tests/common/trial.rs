//! Random programs, one after the other: what the verifier says of each, against what the oracles say.

use super::{Outcome, verify};
use selvedge_impact::iterate::Verdict;
use selvedge_ir::Module;
use selvedge_machine::ViolationKind;
use selvedge_machine::interp::{InterpOptions, Interpreter};
use selvedge_oracle::automata::Reach;
use selvedge_oracle::enumerate_classes;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How far a program came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Came {
    /// Too large for the oracle, or nothing that can be encoded.
    Nowhere,
    /// A limit came before the answer.
    Stopped,
    /// To an answer.
    Answered(Verdict),
}

impl Came {
    /// To where an outcome came.
    pub fn with(outcome: &Outcome) -> Came {
        match outcome.verdict {
            Ok(verdict) => Came::Answered(verdict),
            Err(_) => Came::Stopped,
        }
    }
}

/// A program that was made up.
pub trait Random: Clone + Debug {
    /// As text.
    fn text(&self) -> String;
    /// Programs that are a little smaller.
    fn smaller(&self) -> Vec<Self>;
    /// Whether the verifier says of it what the oracles say.
    fn agrees(&self) -> Result<Came, String>;
}

/// What the verifier says; none if the program cannot be encoded. That it panics is an answer, too: the program is then
/// made smaller like others that fail.
pub fn attempt(module: &Module, nodes: usize) -> Result<Option<Outcome>, String> {
    let attempt = catch_unwind(AssertUnwindSafe(|| verify(module, true, 1_000, nodes)));
    let attempt = attempt.map_err(|panic| match panic.downcast_ref::<String>() {
        Some(text) => text.clone(),
        None => "a panic".to_owned(),
    })?;
    Ok(attempt.ok().map(|(_, outcome)| outcome))
}

/// What the interpreter finds in all interleavings.
pub struct Found {
    pub errors: Vec<ViolationKind>,
    pub deadlock: bool,
}

/// All interleavings; none if there are more than so many.
pub fn interpreted(module: &Module, most: usize) -> Result<Option<Found>, String> {
    let machine = Interpreter::new(module, InterpOptions::default()).map_err(|error| error.to_string())?;
    let Ok(all) = enumerate_classes(machine, most) else { return Ok(None) };
    let kinds = all.classes.values().flat_map(|class| class.ending.violations.iter().map(|(kind, _)| *kind));
    let (deadlocks, errors): (Vec<_>, Vec<_>) = kinds.partition(|kind| *kind == ViolationKind::Deadlock);
    Ok(Some(Found { errors, deadlock: !deadlocks.is_empty() }))
}

/// The verifier against every state of the automata.
pub fn compare(outcome: &Outcome, reach: &Reach, inputs: bool) -> Result<(), String> {
    let say = |what: &str| Err(format!("{what}: {:?}, {} wrong, {reach:?}", outcome.verdict, outcome.wrong.len()));
    if !outcome.wrong.is_empty() && !reach.wrong() {
        return say("a counterexample where nothing goes wrong");
    }
    if outcome.last.is_some() && !reach.schedulable {
        return say("a schedule where there is none");
    }
    match outcome.verdict {
        Ok(Verdict::Safe) if reach.wrong() => say("safe, but something goes wrong"),
        Ok(Verdict::PartiallySafe | Verdict::Unsafe) if outcome.wrong.is_empty() => {
            say("not safe, but no counterexample")
        }
        Ok(Verdict::Safe | Verdict::PartiallySafe) if outcome.last.is_none() => say("no schedule"),
        Ok(Verdict::Unsafe) if outcome.last.is_some() => say("unsafe with a schedule"),
        // With inputs, a scheduler may have to look at the state; the verifier's cannot.
        Ok(Verdict::Unsafe) if !inputs && !reach.cyclic && reach.schedulable => say("unsafe, but there is a schedule"),
        _ => Ok(()),
    }
}

/// The smallest program that still fails.
fn shrunk<P: Random>(mut program: P) -> (P, String) {
    loop {
        let fails = |smaller: P| smaller.agrees().err().map(|why| (smaller, why));
        match program.smaller().into_iter().find_map(fails) {
            Some((smaller, _)) => program = smaller,
            None => {
                let why = program.agrees().expect_err("it failed before");
                return (program, why);
            }
        }
    }
}

/// Tries the programs of a kind, of which at least one in `share` has to come to an answer.
/// `SELVEDGE_IMPACT_SEEDS=1000..2000` tries others than the first so many.
pub fn try_all<P: Random>(name: &str, seeds: u64, share: usize, generate: impl Fn(u64) -> P) {
    let (first, last) = chosen().unwrap_or((0, seeds));
    let (mut answered, mut stopped, mut safe, mut partially) = (0, 0, 0, 0);
    for seed in first..last {
        let program = generate(seed);
        let came = program.agrees().unwrap_or_else(|why| {
            let (small, small_why) = shrunk(program.clone());
            panic!("{name}, seed {seed}: {why}\nsmaller: {small_why}\n{small:#?}\n{}", small.text())
        });
        match came {
            Came::Nowhere => {}
            Came::Stopped => stopped += 1,
            Came::Answered(verdict) => {
                answered += 1;
                safe += usize::from(verdict == Verdict::Safe);
                partially += usize::from(verdict == Verdict::PartiallySafe);
            }
        }
    }
    println!("{name}: {answered} answers, {safe} safe, {partially} partially, {stopped} stopped");
    let tried = (last - first) as usize;
    assert!(answered * share >= tried, "{name}: only {answered} of {tried} came to an answer");
}

fn chosen() -> Option<(u64, u64)> {
    let text = std::env::var("SELVEDGE_IMPACT_SEEDS").ok()?;
    let (first, last) = text.split_once("..").expect("FIRST..LAST");
    Some((first.parse().expect("a number"), last.parse().expect("a number")))
}

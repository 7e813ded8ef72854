//! The verifier on random programs in C with blocks of memory, allocated memory, pointers, nested creation of threads,
//! read-write locks, condition variables and local arrays: against every state of their automata, and against every interleaving
//! of the interpreter.

mod common;

use common::features::{KINDS, Kind, Program, generate};
use common::{Outcome, prepared, verify};
use selvedge_impact::build::build;
use selvedge_impact::iterate::Verdict;
use selvedge_ir::Module;
use selvedge_machine::ViolationKind;
use selvedge_machine::interp::{InterpOptions, Interpreter};
use selvedge_oracle::automata::{Reach, explore};
use selvedge_oracle::enumerate_classes;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How far a program came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Came {
    /// Too large for the oracle, or nothing that can be encoded.
    Nowhere,
    /// A limit came before the answer.
    Stopped,
    /// To an answer.
    Answered(Verdict),
}

/// What the interpreter finds in all interleavings.
struct Found {
    errors: Vec<ViolationKind>,
    deadlock: bool,
}

fn loaded(program: &Program) -> Module {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("p.c");
    std::fs::write(&file, program.text()).expect("a file");
    selvedge_llvm::load(&[file], &selvedge_llvm::ClangOptions::default()).expect("it compiles")
}

fn interpreted(module: &Module) -> Result<Option<Found>, String> {
    let machine = Interpreter::new(module, InterpOptions::default()).map_err(|error| error.to_string())?;
    let Ok(all) = enumerate_classes(machine, 4_000) else { return Ok(None) };
    let kinds = all.classes.values().flat_map(|class| class.ending.violations.iter().map(|(kind, _)| *kind));
    let (deadlocks, errors): (Vec<_>, Vec<_>) = kinds.partition(|kind| *kind == ViolationKind::Deadlock);
    Ok(Some(Found { errors, deadlock: !deadlocks.is_empty() }))
}

/// Whether the verifier says of a program what the oracles say.
fn agrees(program: &Program) -> Result<Came, String> {
    let plain = loaded(program);
    let module = prepared(plain.clone());
    let Ok(automata) = build(&module) else { return Ok(Came::Nowhere) };
    let found = interpreted(&plain)?;
    let unwritten = found.as_ref().is_some_and(|found| found.errors.contains(&ViolationKind::UninitialisedRead));
    let Some(reach) = explore(&automata, &[0, 1], 6_000) else { return Ok(Came::Nowhere) };
    if unwritten && program.text().contains("int a[4]") {
        // Elements of local arrays have any value at first, and to read them is no error: the oracle of states knows zeros only.
        return Ok(Came::Nowhere);
    }
    let attempt = catch_unwind(AssertUnwindSafe(|| verify(&module, true, 1_000, 400)));
    let attempt = attempt.map_err(|panic| match panic.downcast_ref::<String>() {
        Some(text) => text.clone(),
        None => "a panic".to_owned(),
    })?;
    let Ok((_, outcome)) = attempt else { return Ok(Came::Nowhere) };
    if let Some(found) = &found {
        let say =
            |what: &str| Err(format!("{what}: {:?}, {:?}, deadlock {}", outcome.verdict, found.errors, found.deadlock));
        if outcome.verdict == Ok(Verdict::Safe) && (found.deadlock || !found.errors.is_empty()) {
            return say("safe, but the interpreter finds something");
        }
        if !outcome.wrong.is_empty() && !found.deadlock && found.errors.is_empty() {
            return say("a counterexample, but the interpreter finds nothing");
        }
        if !reach.cyclic && (found.errors.is_empty() != reach.errors.is_empty() || found.deadlock != reach.deadlock) {
            return Err(format!(
                "the interpreter: {:?}, deadlock {}; the automata: {reach:?}",
                found.errors, found.deadlock
            ));
        }
    }
    compare(&outcome, &reach, program.text().contains("= __VERIFIER") || program.text().contains("(__VERIFIER"))?;
    Ok(match outcome.verdict {
        Ok(verdict) => Came::Answered(verdict),
        Err(_) => Came::Stopped,
    })
}

fn compare(outcome: &Outcome, reach: &Reach, inputs: bool) -> Result<(), String> {
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
fn shrunk(mut program: Program) -> (Program, String) {
    loop {
        let fails = |smaller: Program| agrees(&smaller).err().map(|why| (smaller, why));
        match program.smaller().into_iter().find_map(fails) {
            Some((smaller, _)) => program = smaller,
            None => {
                let why = agrees(&program).expect_err("it failed before");
                return (program, why);
            }
        }
    }
}

/// `SELVEDGE_IMPACT_SEEDS=1000..2000` tries others.
#[test]
fn the_verifier_says_what_the_oracles_say() {
    let (first, last) = seeds();
    for kind in KINDS {
        let (mut answered, mut stopped, mut safe, mut partially) = (0, 0, 0, 0);
        for seed in first..last {
            let program = generate(kind, seed);
            let came = agrees(&program).unwrap_or_else(|why| {
                let (small, small_why) = shrunk(program.clone());
                panic!("{kind:?}, seed {seed}: {why}\nsmaller: {small_why}\n{}", small.text())
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
        println!("{kind:?}: {answered} answers, {safe} safe, {partially} partially, {stopped} stopped");
        let tried = (last - first) as usize;
        let least = if kind == Kind::LocalArrays { tried / 4 } else { tried / 2 };
        assert!(answered >= least, "{kind:?}: only {answered} of {tried} came to an answer");
    }
}

fn seeds() -> (u64, u64) {
    let Ok(text) = std::env::var("SELVEDGE_IMPACT_SEEDS") else { return (0, 8) };
    let (first, last) = text.split_once("..").expect("FIRST..LAST");
    (first.parse().expect("a number"), last.parse().expect("a number"))
}

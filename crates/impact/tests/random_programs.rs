//! The verifier on random programs with loops, against every state of their automata, and against every interleaving of
//! the interpreter where these come to an end.

mod common;

use common::random::{KINDS, Program, generate};
use common::{Outcome, prepared, verify};
use selvedge_impact::build::build;
use selvedge_impact::iterate::Verdict;
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

/// Whether the verifier says of a program what the oracles say.
fn agrees(program: &Program) -> Result<Came, String> {
    let module = selvedge_ir::parse_module(&program.text()).map_err(|error| error.to_string())?;
    let plain = module.clone();
    let module = prepared(module);
    let Ok(automata) = build(&module) else { return Ok(Came::Nowhere) };
    let Some(reach) = explore(&automata, &[0, 1], 6_000) else { return Ok(Came::Nowhere) };
    let attempt = catch_unwind(AssertUnwindSafe(|| verify(&module, true, 1_000, 300)));
    let attempt = attempt.map_err(|panic| match panic.downcast_ref::<String>() {
        Some(text) => text.clone(),
        None => "a panic".to_owned(),
    })?;
    let Ok((_, outcome)) = attempt else { return Ok(Came::Nowhere) };
    compare(&outcome, &reach, format!("{program:?}").contains("Input"))?;
    against_the_interpreter(&plain, &reach, program)?;
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

/// The automata mean what the interpreter does: the same kinds of violations. An assumption that fails for good is a
/// deadlock for the verifier alone.
fn against_the_interpreter(module: &selvedge_ir::Module, reach: &Reach, program: &Program) -> Result<(), String> {
    if reach.cyclic {
        return Ok(());
    }
    let machine = Interpreter::new(module, InterpOptions::default()).map_err(|error| error.to_string())?;
    let Ok(found) = enumerate_classes(machine, 3_000) else { return Ok(()) };
    let kinds = found.classes.values().flat_map(|class| class.ending.violations.iter().map(|(kind, _)| *kind));
    let (mut errors, mut deadlock) = (false, false);
    for kind in kinds {
        match kind {
            ViolationKind::Deadlock => deadlock = true,
            _ => errors = true,
        }
    }
    let assumes = format!("{program:?}").contains("Assume");
    let same_deadlock = deadlock == reach.deadlock || (assumes && reach.deadlock);
    if errors == reach.errors.is_empty() || !same_deadlock {
        return Err(format!("the interpreter: errors {errors}, deadlock {deadlock}; the automata: {reach:?}"));
    }
    Ok(())
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
                let texts = format!("{small:#?}\n{}", small.text());
                panic!("{}, seed {seed}: {why}\nsmaller: {small_why}\n{texts}", kind.name)
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
        println!("{}: {answered} answers, {safe} safe, {partially} partially, {stopped} stopped", kind.name);
        let tried = (last - first) as usize;
        assert!(answered * 2 >= tried, "{}: only {answered} of {tried} came to an answer", kind.name);
    }
}

fn seeds() -> (u64, u64) {
    let Ok(text) = std::env::var("SELVEDGE_IMPACT_SEEDS") else { return (0, 15) };
    let (first, last) = text.split_once("..").expect("FIRST..LAST");
    (first.parse().expect("a number"), last.parse().expect("a number"))
}

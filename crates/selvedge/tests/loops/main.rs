//! Random programs with loops that wait and loops that try an exchange again, in all variations that could leave a trace of an
//! iteration. What is left out for them must not be missed: the same outcomes are found
//!
//! - if every attempt that fails is explored;
//! - if loops that wait look once, and assume that they see what they wait for;
//! - by the trace engine, under sequential consistency, which knows nothing of attempts;
//! - by the oracle, which enumerates the graphs of the same program with loops that are unrolled (`lowered.rs`).
//!
//! More of them are tried with `FROM`, the first seed, and `COUNT`, how many there are of each family.

mod interpreter;
mod lowered;
mod program;
/// What the interpreter is made of.
mod world {
    pub use selvedge::model::is_tried_out;
    pub use selvedge::{assume, hint, sync, thread};
    use std::cell::Cell;

    selvedge::thread_local! {
        static LOCAL: Cell<usize> = Cell::new(0);
    }

    /// Sets a variable of the thread, or reads it.
    pub fn local(value: Option<usize>) -> usize {
        LOCAL.with(|local| {
            local.set(value.unwrap_or(local.get()));
            local.get()
        })
    }
}

use interpreter::{Outcome, Outcomes};
use program::{Act, Family, Program, Random, generate};
use selvedge::model::{Builder, Engine, MemoryModel, Stats};
use selvedge_oracle::axiomatic::{Limits, Model};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const FAMILIES: [Family; 3] = [Family::Retries, Family::Spins, Family::All];
const MODELS: [MemoryModel; 4] = [MemoryModel::Rc11, MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Ra];

/// Programs with more executions are not compared.
const MOST: usize = 2000;

/// More than threads are put back with (`machine/snapshot.rs`).
const HEAVY: usize = 80 << 10;

/// How a program is explored.
#[derive(Clone, Copy, Debug)]
struct How {
    engine: Engine,
    model: MemoryModel,
    one_by_one: bool,
    looks_once: bool,
    spurious: bool,
    /// The model has so much memory that threads are not put back, but everything is run again.
    heavy: bool,
}

impl How {
    /// As models are, but for what fails for no reason.
    fn usual(model: MemoryModel) -> How {
        How { engine: Engine::Graph, model, one_by_one: false, looks_once: false, spurious: false, heavy: false }
    }

    fn builder(self) -> Builder {
        let mut builder = Builder::new();
        builder.engine = self.engine;
        builder.memory_model = self.model;
        builder.attempts_one_by_one = self.one_by_one;
        builder.spurious = self.spurious;
        builder.max_branches = 200;
        builder.max_permutations = Some(MOST);
        builder
    }
}

/// What a program comes to.
struct Explored {
    outcomes: BTreeSet<Outcome>,
    stats: Stats,
}

impl Explored {
    /// Whether nothing was left out.
    fn is_whole(&self) -> bool {
        self.stats.not_covered.iter().all(|what| what.contains("for no reason"))
    }

    fn is_good(&self) -> bool {
        self.is_whole() && self.stats.failure.is_none()
    }

    fn executions(&self) -> u64 {
        self.stats.complete + self.stats.blocked
    }

    /// How it differs from what was expected, if it may be compared.
    fn differs(&self, expected: &Explored) -> Option<String> {
        if !self.is_whole() || !expected.is_whole() {
            return None;
        }
        let (found, wanted) = (&self.stats.failure, &expected.stats.failure);
        if found.is_some() != wanted.is_some() {
            return Some(format!("failures: {found:?}, expected {wanted:?}"));
        }
        if found.is_some() || self.outcomes == expected.outcomes {
            return None;
        }
        let lost: Vec<_> = expected.outcomes.difference(&self.outcomes).collect();
        let more: Vec<_> = self.outcomes.difference(&expected.outcomes).collect();
        Some(format!("lost {lost:?}, more {more:?}, {:?}", self.stats.notes))
    }
}

fn explore(program: &Arc<Program>, how: How) -> Explored {
    let outcomes = Outcomes::default();
    let (program, noted) = (Arc::clone(program), Arc::clone(&outcomes));
    let stats = how.builder().explore(move || {
        let _heavy = how.heavy.then(|| vec![0_u64; HEAVY / 8]);
        interpreter::run(&program, &noted, how.looks_once);
    });
    let outcomes = std::mem::take(&mut *outcomes.lock().unwrap());
    Explored { outcomes, stats }
}

/// Explores a program in all ways: what is wrong, and whether there were fewer executions than there are attempts.
fn check(program: &Arc<Program>, usual: How) -> Result<bool, String> {
    let found = explore(program, usual);
    let expected = explore(program, How { one_by_one: true, ..usual });
    if let Some(what) = found.differs(&expected) {
        return Err(format!("than one by one: {what}"));
    }
    if found.is_good() && program.threads.iter().flatten().any(|act| matches!(act, Act::Spin(_))) {
        let expected = explore(program, How { one_by_one: true, looks_once: true, ..usual });
        if expected.is_good()
            && let Some(what) = found.differs(&expected)
        {
            return Err(format!("than with one look: {what}"));
        }
    }
    if usual.model == MemoryModel::Sc {
        let expected = explore(program, How { engine: Engine::Trace, ..usual });
        if let Some(what) = found.differs(&expected) {
            return Err(format!("than the trace engine: {what}"));
        }
    }
    Ok(found.is_good() && found.executions() < expected.executions())
}

/// Takes away what is not needed for a program to be wrong.
fn shrink(program: Program, how: How) -> Program {
    shrink_while(program, |program| check(&Arc::new(program.clone()), how).is_err())
}

/// Takes away what is not needed for something to hold.
fn shrink_while(mut program: Program, holds: impl Fn(&Program) -> bool) -> Program {
    let without = |program: &Program, thread: usize, n: usize| {
        let mut smaller = program.clone();
        smaller.threads[thread].remove(n);
        smaller
    };
    loop {
        let acts = program.threads.iter().enumerate().flat_map(|(n, acts)| (0..acts.len()).map(move |m| (n, m)));
        let smaller = acts.map(|(thread, n)| without(&program, thread, n));
        match smaller.into_iter().find(&holds) {
            Some(smaller) => program = smaller,
            None => return program,
        }
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn seeds(count: u64) -> impl Iterator<Item = (Family, u64)> {
    let (from, count) = (number("FROM", 0), number("COUNT", count));
    FAMILIES.into_iter().flat_map(move |family| (from..from + count).map(move |seed| (family, seed)))
}

/// Whether the compiler leaves no values on the stack that do not matter (`machine/awaits.rs`).
fn is_optimised() -> bool {
    !std::env::current_exe().expect("the program has a name").iter().any(|part| part == "debug")
}

#[test]
fn random_programs_have_all_their_outcomes() {
    let (mut compared, mut fewer) = (0, 0);
    for (family, seed) in seeds(70) {
        let program = Arc::new(generate(family, seed));
        let model = MODELS[(seed % 4) as usize];
        let how = How { spurious: seed % 8 >= 6, ..How::usual(model) };
        match check(&program, how) {
            Ok(is_fewer) => fewer += u32::from(is_fewer),
            Err(what) => {
                let small = shrink((*program).clone(), how);
                let why = check(&Arc::new(small.clone()), how);
                panic!("{family:?} {seed} {how:?} differs: {what}\nor shorter: {small:#?}\n{why:?}");
            }
        }
        compared += 1;
    }
    assert!(compared < 200 || !is_optimised() || fewer > compared / 40, "{fewer} of {compared}");
}

/// Where memory comes from is another place each time: blocks of many sizes are allocated, and some are freed again.
fn disturb(random: &mut Random) -> Vec<Vec<u64>> {
    let mut blocks: Vec<Vec<u64>> = (0..200).map(|n| vec![n; 1 + random.below(60)]).collect();
    blocks.retain(|block| block.len() % 3 == 0);
    blocks
}

#[test]
fn an_exploration_has_as_many_executions_as_the_next_one() {
    let mut random = Random(number("FROM", 0));
    for (family, seed) in seeds(20) {
        let program = Arc::new(generate(family, seed));
        let how = How { spurious: seed % 8 >= 6, ..How::usual(MODELS[(seed % 4) as usize]) };
        let counts = || {
            let stats = explore(&program, how).stats;
            (stats.complete, stats.blocked, stats.spurious, stats.failure.is_some())
        };
        let first = counts();
        for _ in 0..4 {
            let blocks = disturb(&mut random);
            assert_eq!(counts(), first, "{family:?} {seed} {how:?}");
            drop(blocks);
        }
    }
}

/// A program in which all exchanges that are tried again are weak.
fn weakly(mut program: Program) -> Program {
    for act in program.threads.iter_mut().flatten() {
        if let Act::Retry(retry) = act {
            retry.weak = true;
        }
    }
    program
}

#[test]
fn nothing_is_lost_if_attempts_do_not_fail_for_no_reason() {
    let (mut compared, mut fewer) = (0, 0);
    let (from, count) = (number("FROM", 0), number("COUNT", 150));
    for seed in from..from + count {
        let family = [Family::One, Family::Small, Family::Retries][(seed % 3) as usize];
        let program = weakly(generate(family, seed));
        let how = How { spurious: true, ..How::usual(MODELS[(seed / 3 % 4) as usize]) };
        let all = explore(&Arc::new(program.clone()), How { one_by_one: true, ..how });
        let found = explore(&Arc::new(program.clone()), how);
        if let Some(what) = found.differs(&all) {
            let small = shrink(program, how);
            let why = check(&Arc::new(small.clone()), how);
            panic!("{family:?} {seed} {how:?} differs: {what}\nor shorter: {small:#?}\n{why:?}");
        }
        let executions = |explored: &Explored| explored.executions() + explored.stats.spurious;
        compared += u32::from(found.is_good() && all.is_good());
        fewer += u32::from(all.is_good() && executions(&found) < executions(&all));
    }
    println!("{compared} compared, {fewer} with fewer executions");
    assert!(count < 100 || compared > 50, "{compared}");
    assert!(count < 100 || !is_optimised() || fewer > 20, "{fewer} of {compared}");
}

/// Explores a program that must not end with an outcome; an execution that is in a file is run first.
fn forbid(program: &Arc<Program>, model: MemoryModel, outcome: &Outcome, file: &Path) -> String {
    let (program, outcome) = (Arc::clone(program), outcome.clone());
    let mut builder = How::usual(model).builder();
    builder.checkpoint_file = Some(file.to_owned());
    let stats = builder.explore(move || {
        let outcomes = Outcomes::default();
        interpreter::run(&program, &outcomes, false);
        assert!(!outcomes.lock().unwrap().contains(&outcome), "the outcome is found");
    });
    stats.failure.unwrap_or_default()
}

#[test]
fn any_outcome_is_reported_if_it_is_wrong_and_is_run_again() {
    let file = std::env::temp_dir().join(format!("selvedge-loops-{}", std::process::id()));
    let mut found = 0;
    for (family, seed) in seeds(50) {
        let program = Arc::new(generate(family, seed));
        let model = MODELS[(seed % 4) as usize];
        let all = explore(&program, How { one_by_one: true, ..How::usual(model) });
        if !all.is_good() {
            continue;
        }
        let outcomes: Vec<&Outcome> = all.outcomes.iter().collect();
        let outcome = Random(seed).of(&outcomes);
        for says in ["the outcome is found", "which was run again"] {
            let failure = forbid(&program, model, outcome, &file);
            let is_it = failure.contains("the outcome is found") && failure.contains(says);
            assert!(is_it, "{family:?} {seed} {model:?}: {outcome:?} {says}\n{program:#?}\n{failure}");
        }
        std::fs::remove_file(&file).expect("an execution that fails is written");
        found += 1;
    }
    assert!(found > 20, "{found}");
}

/// Compares a program with what the oracle has for it; whether it was small enough, and whether it had fewer executions than
/// with attempts one by one.
fn check_with_oracle(program: &Arc<Program>, model: MemoryModel, heavy: bool) -> Result<Option<bool>, String> {
    let axioms = match model {
        MemoryModel::Sc => Model::Sc,
        MemoryModel::Tso => Model::Tso,
        MemoryModel::Ra => Model::Ra,
        MemoryModel::Rc11 => Model::Rc11,
    };
    let limits = Limits { graphs: number("GRAPHS", 3000) as usize, ..Limits::default() };
    let Some(expected) = lowered::expected(program, axioms, limits) else { return Ok(None) };
    let found = explore(program, How { heavy, ..How::usual(model) });
    if !found.is_whole() {
        return Ok(None);
    }
    if found.stats.failure.is_some() != expected.stuck {
        return Err(format!("failure {:?}, stuck {}", found.stats.failure, expected.stuck));
    }
    if !expected.stuck && found.outcomes != expected.outcomes {
        let lost: Vec<_> = expected.outcomes.difference(&found.outcomes).collect();
        let more: Vec<_> = found.outcomes.difference(&expected.outcomes).collect();
        return Err(format!("lost {lost:?}, more {more:?}, {:?}", found.stats.notes));
    }
    let all = explore(program, How { one_by_one: true, ..How::usual(model) });
    Ok(Some(found.is_good() && found.executions() < all.executions()))
}

#[test]
fn random_programs_have_the_outcomes_of_the_oracle() {
    let (mut compared, mut fewer) = (0, 0);
    let (from, count) = (number("FROM", 0), number("COUNT", 250));
    for seed in from..from + count {
        let program = generate(if seed % 2 == 0 { Family::One } else { Family::Small }, seed);
        for model in MODELS {
            let differs = |program: &Program| check_with_oracle(&Arc::new(program.clone()), model, seed % 8 == 0).err();
            match check_with_oracle(&Arc::new(program.clone()), model, seed % 8 == 0) {
                Ok(None) => {}
                Ok(Some(is_fewer)) => {
                    compared += 1;
                    fewer += u32::from(is_fewer);
                }
                Err(what) => {
                    let small = shrink_while(program, |program| differs(program).is_some());
                    let why = differs(&small);
                    panic!("{seed} {model:?} differs: {what}\nor shorter: {small:#?}\n{why:?}");
                }
            }
        }
    }
    println!("{compared} compared, {fewer} with fewer executions");
    assert!(count < 100 || compared > 400, "{compared}");
    assert!(count < 100 || !is_optimised() || fewer > 10, "{fewer} of {compared}");
}

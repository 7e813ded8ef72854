//! Locks that are tested before they are taken: all executions are explored in which an exchange that waits reads from what the
//! load directly before it has read from (`explorer/tested.rs`), and each of them once.
//!
//! Small programs are compared with the axiomatic oracle, larger ones with what the engine finds without the reduction.
//! `PROGRAMS` and `SEED` are as in `oracle.rs`, `SHAPE` is a part of the name of the shapes that are tried, `GRAPHS` and `EXECUTIONS` are
//! how large programs are.

use crate::common::locks::{self, SHAPES, Shape};
use crate::common::programs::is_well_formed;
use crate::common::random::{Source, check};
use crate::common::spinning::Spinning;
use crate::common::tests_of_locks::{differ, is_plain};
use crate::common::{Explored, LEVELS, MODELS, Plan, Seen, explore, explore_machine, number, options};
use selvedge_graph::{MemoryModel, Reductions};
use selvedge_machine::ViolationKind;
use selvedge_machine::session::Ending;
use selvedge_oracle::axiomatic::{GraphKey, Limits};
use selvedge_oracle::generate::Rng;
use selvedge_oracle::litmus::{Inst, Program};
use selvedge_oracle::shrink::shrink;
use std::collections::BTreeSet;

/// Small programs per shape and model.
const SMALL: u64 = 12;
/// Larger ones.
const LARGE: u64 = 30;

/// Of so many of a hundred larger programs of a shape, all executions must be left out that need not be explored, and some must be.
const AT_WORK: &[(&str, usize)] = &[
    ("locks", 90),
    ("locks that are kept", 30),
    ("two locks", 10),
    ("locks and fences", 80),
    ("locks of any order", 80),
    ("locks with owners", 40),
    ("late locks", 40),
    ("locks that are tested early", 30),
    ("locks and strangers", 15),
];

fn shapes() -> impl Iterator<Item = &'static Shape> {
    let only = std::env::var("SHAPE").unwrap_or_default();
    SHAPES.iter().filter(move |shape| shape.name.contains(&only))
}

/// Compares engine and oracle on programs of all shapes under a model.
fn agree(name: &str) {
    let models = MODELS.into_iter().find(|(model, _)| model.name() == name).expect("a model");
    let limits = Limits { graphs: number("GRAPHS", 800) as usize, events: 48 };
    let first = number("SEED", 0);
    for shape in shapes() {
        let source = Source::Shape(shape);
        let mut seen: Vec<Seen> = Vec::new();
        for seed in first..first + number("PROGRAMS", SMALL) {
            let (only, invariants) = (Some(LEVELS.len() - 1).filter(|_| seed % 8 != 1), seed % 4 == 0);
            let plan = Plan { only, limits, invariants, jobs: true, spins: seed % 2 == 0 };
            seen.push(check(source, seed, models, plan).unwrap_or_else(|failure| {
                let file = failure.keep();
                panic!("the engine is wrong about this program of {source}, which is in {file}:\n{failure}")
            }));
        }
        let could = seen.iter().filter(|seen| seen.spared > 0).count();
        let exact = seen.iter().filter(|seen| seen.spared > 0 && seen.exact).count();
        println!(
            "{name}, {source}: {} programs, of {could} executions can be left out, of {exact} all are",
            seen.len()
        );
    }
}

#[test]
fn under_sequential_consistency() {
    agree("sc");
}

#[test]
fn under_total_store_order() {
    agree("tso");
}

#[test]
fn under_release_acquire() {
    agree("ra");
}

#[test]
fn under_rc11() {
    agree("rc11");
}

/// What the engine finds.
fn explored(program: &Program, model: MemoryModel, tested: bool, spins: bool) -> Explored {
    let mut options = options(model, Reductions { tested, ..Reductions::ALL });
    options.limits.check_invariants = false;
    options.limits.max_executions = Some(number("EXECUTIONS", 2_000));
    match spins {
        true => explore_machine(Spinning::new(program.clone()), &options),
        false => explore(program, &options),
    }
}

fn complete(explored: &Explored) -> usize {
    explored.graphs.values().filter(|(_, ending)| *ending == Ending::Complete).count()
}

fn kinds(explored: &Explored) -> BTreeSet<ViolationKind> {
    explored.result.violations.iter().map(|found| found.violation.kind).collect()
}

/// Complete graphs of a program.
#[derive(Clone, Copy, Debug)]
struct Counts {
    /// Without the reduction.
    all: usize,
    /// With it.
    reduced: usize,
    /// Those that have to be explored.
    wanted: usize,
}

impl Counts {
    fn could_be_reduced(&self) -> bool {
        self.all > self.wanted
    }

    fn is_reduced(&self) -> bool {
        self.could_be_reduced() && self.reduced == self.wanted
    }
}

/// Compares the engine with itself without the reduction. None if the program is too large, or has confirmations that are none.
fn compare(program: &Program, model: MemoryModel, spins: bool) -> Option<Result<Counts, String>> {
    if !is_well_formed(program) {
        return None;
    }
    let all = explored(program, model, false, spins);
    if all.result.interruption.is_some() || all.result.unsupported.is_some() {
        return None;
    }
    let reduced = explored(program, model, true, spins);
    let differ = differ(program, all.graphs.keys());
    Some(compare_graphs(program, &all, &reduced, &differ))
}

fn compare_graphs(
    program: &Program,
    all: &Explored,
    reduced: &Explored,
    differ: &BTreeSet<&GraphKey>,
) -> Result<Counts, String> {
    // Which executions are blocked in vain depends on what was given up for a location; which attempts fail, too.
    let by_the_book = all.result.notes.is_empty() && reduced.result.notes.is_empty();
    let retries = program.threads.iter().flatten().any(|inst| matches!(inst, Inst::Retry { .. }));
    for (key, (_, ending)) in &all.graphs {
        let must = *ending == Ending::Complete || by_the_book && !retries;
        if must && !differ.contains(key) && !reduced.graphs.contains_key(key) {
            return Err(format!("a graph is missing, {ending:?}: {key:#?}"));
        }
    }
    if kinds(all) != kinds(reduced) {
        return Err(format!("the engine finds: {:?} instead of {:?}", kinds(reduced), kinds(all)));
    }
    for (key, (times, ending)) in &reduced.graphs {
        if *ending == Ending::Complete && !all.graphs.contains_key(key) {
            return Err(format!("a graph that should not be: {key:#?}"));
        }
        if *times > 1 {
            return Err(format!("a graph is visited several times: {times}, {key:#?}"));
        }
        if is_plain(program) && differ.contains(key) {
            return Err(format!("a load and its exchange differ: {key:#?}"));
        }
    }
    let is_wanted = |(key, (_, ending)): &(_, &(u32, Ending))| *ending == Ending::Complete && !differ.contains(*key);
    let wanted = all.graphs.iter().filter(is_wanted).count();
    Ok(Counts { all: complete(all), reduced: complete(reduced), wanted })
}

#[test]
fn larger_programs_have_the_executions_that_are_left_without_the_reduction() {
    let first = number("SEED", 0);
    for (model, _) in MODELS {
        for shape in shapes() {
            let mut counts = Vec::new();
            for seed in first..first + number("PROGRAMS", LARGE) {
                let program = locks::program(shape, &mut Rng::new(seed), 0);
                let spins = seed % 2 == 0;
                match compare(&program, model, spins) {
                    None => {}
                    Some(Ok(found)) => counts.push(found),
                    Some(Err(why)) => {
                        let start = |why: &str| why.split_once(':').map(|(start, _)| start.to_owned());
                        let is_wrong = |other: &Program| match compare(other, model, spins) {
                            Some(Err(other)) => start(&other) == start(&why),
                            _ => false,
                        };
                        let small = shrink(&program, is_wrong);
                        let why = compare(&small, model, spins).and_then(Result::err).unwrap_or(why);
                        panic!("{}, shape {}, seed {seed}, spins {spins}: {why}\n{small}", model.name(), shape.name);
                    }
                }
            }
            let could = counts.iter().filter(|counts| counts.could_be_reduced()).count();
            let exact = counts.iter().filter(|counts| counts.is_reduced()).count();
            let sum = |count: fn(&Counts) -> usize| counts.iter().map(count).sum::<usize>();
            let sums = [sum(|counts| counts.all), sum(|counts| counts.reduced), sum(|counts| counts.wanted)];
            let (model, name, programs) = (model.name(), shape.name, counts.len());
            println!(
                "{model}, {name}: {programs} programs, of {could} executions can be left out, of {exact} all are: {sums:?}"
            );
            let wanted = AT_WORK.iter().find(|(name, _)| *name == shape.name).map_or(0, |&(_, wanted)| wanted);
            assert!(100 * exact >= wanted * programs, "{name}: {exact} of {programs}");
        }
    }
}

/// A program in which some threads take locks one after the other, all like this. `None` sets the last one free.
fn locks(threads: usize, order: [&str; 2], words: &[Option<usize>]) -> Program {
    let mut text = String::from("var v0 4 = 0\nvar v1 4 = 0\nthread t0\n");
    (1..=threads).for_each(|n| text += &format!("  spawn t{n}\n"));
    for n in 1..=threads {
        text += &format!("thread t{n}\n");
        let mut held = Vec::new();
        for word in words {
            match word {
                Some(word) => {
                    held.push(word);
                    text += &format!("  r0 = load.{} v{word}:4 until eq 0\n", order[0]);
                    text += &match n % 2 {
                        0 => format!("  rmw.{} xchg v{word}:4 1 until eq 0\n", order[1]),
                        _ => format!("  cas.{}.rlx v{word}:4 0 -> 1 until eq 0\n", order[1]),
                    };
                }
                None => text += &format!("  store.rel v{}:4 0\n", held.pop().expect("one is held")),
            }
        }
    }
    text.parse().expect("the program is right")
}

/// How many executions the engine explores that are complete, and that are blocked, if it is the same under all models and whoever
/// says what is waited for.
fn executions(program: &Program, tested: bool) -> (usize, usize) {
    let runs = MODELS.into_iter().flat_map(|(model, _)| [(model, false), (model, true)]);
    let count = |(model, spins)| {
        let mut options = options(model, Reductions { tested, ..Reductions::ALL });
        options.limits.check_invariants = false;
        let explored = match spins {
            true => explore_machine(Spinning::new(program.clone()), &options),
            false => explore(program, &options),
        };
        assert!(explored.graphs.values().all(|(times, _)| *times == 1), "a graph is visited twice:\n{program}");
        (complete(&explored), explored.graphs.len() - complete(&explored))
    };
    let counts: BTreeSet<(usize, usize)> = runs.map(count).collect();
    assert_eq!(counts.len(), 1, "{counts:?}\n{program}");
    counts.into_iter().next().expect("there are models")
}

#[test]
fn a_lock_is_taken_in_every_order_once() {
    for (load, exchange) in [("rlx", "acq"), ("rlx", "rlx"), ("acq", "acq"), ("acq", "acqrel"), ("sc", "sc")] {
        for (threads, orders) in [(2, 2), (3, 6), (4, 24)] {
            let program = locks(threads, [load, exchange], &[Some(0), None]);
            assert_eq!(executions(&program, true), (orders, 0), "{load}, {exchange}, {threads} threads");
        }
    }
    // The load may read from every unlock before.
    assert_eq!(executions(&locks(3, ["rlx", "acq"], &[Some(0), None]), false), (36, 0));
}

#[test]
fn locks_are_taken_several_times() {
    let twice = &[Some(0), None, Some(0), None];
    assert_eq!(executions(&locks(2, ["rlx", "acq"], twice), true), (6, 0));
    assert_eq!(executions(&locks(3, ["rlx", "acq"], twice), true), (90, 0));
    // Two locks, one after the other and one within the other.
    assert_eq!(executions(&locks(3, ["rlx", "acq"], &[Some(0), None, Some(1), None]), true), (36, 0));
    assert_eq!(executions(&locks(3, ["rlx", "acq"], &[Some(0), Some(1), None, None]), true), (6, 0));
}

#[test]
fn a_lock_that_is_never_set_free() {
    // Whoever comes first has it.
    assert_eq!(executions(&locks(2, ["rlx", "acq"], &[Some(0)]), true), (0, 2));
    assert_eq!(executions(&locks(3, ["rlx", "acq"], &[Some(0)]), true), (0, 3));
    // Who has it waits for himself.
    assert_eq!(executions(&locks(2, ["rlx", "acq"], &[Some(0), Some(0), None]), true), (0, 2));
}

#[test]
fn a_load_that_orders_more_than_its_exchange_is_explored_like_others() {
    for order in [["acq", "rlx"], ["acq", "rel"], ["sc", "acqrel"]] {
        let program = locks(3, order, &[Some(0), None]);
        assert_eq!(executions(&program, true), executions(&program, false));
    }
}

//! Treatments of loops on random programs: whatever combination is switched on, the programs have the outcomes that bounded
//! unrolling finds.

mod loops;

use loops::{EXCHANGING, SPINNING, program};
use selvedge_analysis::purity::Outcome;
use selvedge_analysis::{Options as Passes, prepare_and_report};
use selvedge_ir::{Module, parse_module};
use selvedge_machine::ViolationKind;
use selvedge_machine::interp::{InterpOptions, Interpreter};
use selvedge_machine::session::Limits;
use selvedge_machine::verdict::Exploration;
use selvedge_trace::{Options, Reductions, explore};
use std::collections::BTreeSet;

/// What a run found.
#[derive(PartialEq, Eq, Debug)]
struct Found {
    outcomes: BTreeSet<String>,
    complete: u64,
    bounded: bool,
    /// Loops whose failing attempts were cut off as such.
    confirmed: usize,
}

const UNROLL: u32 = 5;

/// Which treatments of loops are switched on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Treatment {
    purity: bool,
    awaits: bool,
    dynamic: bool,
    confirm: bool,
}

/// Explores a program; none if there are too many executions.
fn found(text: &str, treatment: Treatment, reductions: Reductions) -> Option<Found> {
    let Treatment { purity, awaits, dynamic, confirm } = treatment;
    let mut module: Module = parse_module(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let passes = Passes { purity, await_: awaits, confirm, confirm_exits: confirm, verify: true, ..Passes::default() };
    let reports = prepare_and_report(&mut module, &passes).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let confirmed = reports.iter().filter(|report| report.outcome == Outcome::Confirmed).count();
    let options = InterpOptions { unroll: Some(UNROLL), dynamic_purity: dynamic, ..InterpOptions::default() };
    let machine = Interpreter::new(&module, options).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let limits = Limits { all: true, max_executions: Some(20_000), ..Limits::default() };
    let options = Options { reductions, limits, ..Options::default() };
    let explored = explore(machine, &options, &mut |_| {});
    assert_eq!(explored.unsupported, None, "{text}");
    explored.interruption.is_none().then(|| summary(&explored, confirmed))
}

fn summary(explored: &Exploration, confirmed: usize) -> Found {
    let is_outcome = |kind| !matches!(kind, ViolationKind::Livelock | ViolationKind::Deadlock);
    let violations = explored.violations.iter().map(|found| &found.violation);
    Found {
        outcomes: violations.filter(|v| is_outcome(v.kind)).map(|v| v.message.clone()).collect(),
        complete: explored.complete,
        bounded: !explored.bounds.is_empty(),
        confirmed,
    }
}

/// Every combination of switches: awaits need purity.
fn combinations() -> impl Iterator<Item = (bool, bool, bool, Reductions)> {
    let loops = [(false, false), (true, false), (true, true)];
    let switches = loops.into_iter().flat_map(|(purity, awaits)| (0..8).map(move |bits| (purity, awaits, bits)));
    switches.map(|(purity, awaits, bits)| {
        let reductions = Reductions { ifaa: bits & 1 != 0, observers: bits & 2 != 0 };
        (purity, awaits, bits & 4 != 0, reductions)
    })
}

/// The number of outcomes, if there are not too many executions to tell.
fn check(seed: u64) -> Option<usize> {
    let text = program(seed, &SPINNING);
    let none = Reductions::NONE;
    let unrolled = found(&text, Treatment::default(), none)?;
    let mut complete = None;
    for (purity, awaits, dynamic, reductions) in combinations() {
        let what = format!("purity {purity}, awaits {awaits}, dynamic {dynamic}, {reductions:?}, seed {seed}\n{text}");
        let treatment = Treatment { purity, awaits, dynamic, confirm: false };
        let Some(with) = found(&text, treatment, reductions) else {
            panic!("there are more executions than without: {what}");
        };
        assert_eq!(with.outcomes, unrolled.outcomes, "{what}");
        // Awaits and assumptions let the same executions go on to the end.
        if purity && !with.bounded && reductions == none {
            assert_eq!(*complete.get_or_insert(with.complete), with.complete, "{what}");
        }
    }
    Some(unrolled.outcomes.len())
}

/// How many programs are tried, unless `SELVEDGE_PURITY_PROGRAMS` says otherwise.
const PROGRAMS: u64 = 1000;

#[test]
fn programs_that_spin_have_the_outcomes_that_unrolling_finds() {
    let asked = std::env::var("SELVEDGE_PURITY_PROGRAMS").ok().and_then(|number| number.parse().ok());
    let programs = asked.unwrap_or(PROGRAMS);
    let outcomes: Vec<usize> = (0..programs).filter_map(check).collect();
    assert!(outcomes.len() as u64 > programs * 3 / 4, "only {} programs were small enough", outcomes.len());
    let telling = outcomes.iter().filter(|&&count| count > 1).count();
    assert!(telling as u64 > programs / 4, "only {telling} programs have several outcomes");
}

/// How many outcomes a program with loops that exchange has, and how many of these loops were found.
fn check_exchanging(seed: u64) -> Option<(usize, usize)> {
    let text = program(seed, &EXCHANGING);
    let none = Reductions::NONE;
    let unrolled = found(&text, Treatment::default(), none)?;
    let mut confirmed = 0;
    for (purity, dynamic, confirm, reductions) in [
        (true, true, false, none),
        (false, false, true, none),
        (true, true, true, none),
        (true, true, true, Reductions::ALL),
    ] {
        let treatment = Treatment { purity, awaits: purity, dynamic, confirm };
        let what = format!("{treatment:?}, {reductions:?}, seed {seed}\n{text}");
        let Some(with) = found(&text, treatment, reductions) else {
            panic!("there are more executions than without: {what}");
        };
        assert_eq!(with.outcomes, unrolled.outcomes, "{what}");
        confirmed = with.confirmed;
    }
    Some((unrolled.outcomes.len(), confirmed))
}

#[test]
fn programs_that_confirm_what_they_read_have_the_outcomes_that_unrolling_finds() {
    let asked = std::env::var("SELVEDGE_PURITY_PROGRAMS").ok().and_then(|number| number.parse().ok());
    let programs = asked.unwrap_or(PROGRAMS);
    let found: Vec<(usize, usize)> = (0..programs).filter_map(check_exchanging).collect();
    assert!(found.len() as u64 > programs * 3 / 4, "only {} programs were small enough", found.len());
    let telling = found.iter().filter(|(outcomes, confirmed)| *outcomes > 1 && *confirmed > 0).count();
    assert!(telling as u64 > programs / 4, "only {telling} programs have several outcomes and such a loop");
}

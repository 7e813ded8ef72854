//! Random programs with loops: with every treatment of loops and every reduction, the engine finds the outcomes that the
//! trace engine finds by bounded unrolling. All accesses are sequentially consistent, so SC and RC11 allow the same.

#[path = "../../trace/tests/loops/mod.rs"]
mod loops;

use loops::{EXCHANGING, HOPING, Kinds, SLEEPING, SPINNING, contest, program};
use selvedge_analysis::{Options as Passes, prepare};
use selvedge_graph::event::Kind;
use selvedge_graph::{Full, MemoryModel, Options, Reductions};
use selvedge_ir::EntityRef;
use selvedge_machine::interp::{InterpOptions, Interpreter};
use selvedge_machine::session::{Limits, Observer};
use selvedge_machine::verdict::Exploration;
use selvedge_machine::{ThreadId, ViolationKind};
use std::collections::{BTreeMap, BTreeSet};

const UNROLL: u32 = 5;
const MODELS: [MemoryModel; 2] = [MemoryModel::Sc, MemoryModel::Rc11];

fn machine(text: &str, passes: &Passes, atomics_publish: bool) -> Interpreter {
    let mut module = selvedge_ir::parse_module(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    prepare(&mut module, passes).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let dynamic_purity = passes.purity;
    let options = InterpOptions { unroll: Some(UNROLL), dynamic_purity, atomics_publish, ..InterpOptions::default() };
    Interpreter::new(&module, options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn limits() -> Limits {
    Limits { all: true, max_executions: Some(20_000), ..Default::default() }
}

/// The final values that were seen; none if there are too many executions.
fn outcomes(explored: &Exploration) -> Option<BTreeSet<String>> {
    let is_outcome = |kind| !matches!(kind, ViolationKind::Livelock | ViolationKind::Deadlock);
    let violations = explored.violations.iter().map(|found| &found.violation);
    let seen = violations.filter(|v| is_outcome(v.kind)).map(|v| v.message.clone()).collect();
    explored.interruption.is_none().then_some(seen)
}

/// The number of outcomes, if there are not too many executions to tell.
fn check(seed: u64, kinds: &Kinds) -> Option<usize> {
    let text = program(seed, kinds);
    let none = Passes { verify: true, ..Passes::default() };
    let waiting = Passes { purity: true, await_: true, ..none.clone() };
    let confirming = Passes { confirm: true, ..waiting.clone() };
    let giving_up = Passes { confirm_exits: true, ..confirming.clone() };
    let unrolled = selvedge_trace::Options { limits: limits(), ..Default::default() };
    let expected = outcomes(&selvedge_trace::explore(machine(&text, &none, false), &unrolled, &mut |_| {}))?;
    let mut complete = BTreeMap::new();
    for (passes, reductions) in [
        (&waiting, Reductions::NONE),
        (&waiting, Reductions { stale: true, ..Reductions::NONE }),
        (&waiting, Reductions { stale: true, in_place: true, ..Reductions::NONE }),
        (&waiting, Reductions::ALL),
        (&confirming, Reductions::NONE),
        (&confirming, Reductions::AWAMOCHE),
        (&confirming, Reductions::ALL),
        (&giving_up, Reductions::NONE),
        (&giving_up, Reductions::AWAMOCHE),
        (&giving_up, Reductions::ALL),
    ] {
        for model in MODELS {
            let options = Options { model, reductions, preemptions: None, limits: limits() };
            let explored = selvedge_graph::explore(machine(&text, passes, true), &options, &mut |_| {});
            let what = format!("{}, {reductions:?}, {passes:?}, seed {seed}\n{text}", model.name());
            assert_eq!(explored.unsupported, None, "{what}");
            let Some(found) = outcomes(&explored) else { panic!("there are too many executions: {what}") };
            assert_eq!(found, expected, "{what}");
            if explored.bounds.is_empty() {
                let before = *complete.entry((model.name(), format!("{passes:?}"))).or_insert(explored.complete);
                assert_eq!(explored.complete, before, "complete executions: {what}");
            }
        }
    }
    Some(expected.len())
}

/// How many programs of each sort are tried, unless `SELVEDGE_LOOP_PROGRAMS` says otherwise.
const PROGRAMS: u64 = 300;

fn programs_agree(kinds: &Kinds) {
    let asked = std::env::var("SELVEDGE_LOOP_PROGRAMS").ok().and_then(|number| number.parse().ok());
    let programs = asked.unwrap_or(PROGRAMS);
    let found: Vec<usize> = (0..programs).filter_map(|seed| check(seed, kinds)).collect();
    assert!(found.len() as u64 > programs * 3 / 4, "only {} programs were small enough", found.len());
    let telling = found.iter().filter(|&&count| count > 1).count();
    assert!(telling as u64 > programs / 4, "only {telling} programs have several outcomes");
}

#[test]
fn programs_that_spin_have_the_outcomes_that_unrolling_finds() {
    programs_agree(&SPINNING);
}

#[test]
fn programs_that_confirm_what_they_read_have_the_outcomes_that_unrolling_finds() {
    programs_agree(&EXCHANGING);
}

/// What was explored: how many executions, which outcomes, and how often an attempt was put off in vain.
struct Counts {
    complete: u64,
    blocked: u64,
    outcomes: BTreeSet<String>,
    in_vain: u64,
}

/// Is told things, and does not care.
struct Quiet;

impl Observer for Quiet {}

/// None if there are too many executions, or if some thread meets the bound of its loops.
fn counts(text: &str, (model, reductions): (MemoryModel, Reductions)) -> Option<Counts> {
    let passes = Passes { verify: true, purity: true, await_: true, ..Passes::default() };
    let limits = Limits { all: true, max_executions: Some(2_000), ..Default::default() };
    let options = Options { model, reductions, preemptions: None, limits };
    let (mut in_vain, mut restarts) = (0, 0);
    let mut on_full = |full: &Full<'_>| {
        if full.restarts > std::mem::replace(&mut restarts, full.restarts) {
            in_vain = 0;
        }
        let last = |n: usize| full.graph.last(ThreadId::new(n)).map(|last| full.graph.event(last).kind);
        in_vain += u64::from((0..full.graph.thread_limit()).any(|n| last(n) == Some(Kind::Turn)));
    };
    let machine = machine(text, &passes, true);
    let explored = selvedge_graph::explore_with(machine, &options, &mut Quiet, Some(&mut on_full));
    assert_eq!(explored.unsupported, None, "{}, {reductions:?}\n{text}", model.name());
    let outcomes = outcomes(&explored).filter(|_| explored.bounds.is_empty())?;
    Some(Counts { complete: explored.complete, blocked: explored.blocked, outcomes, in_vain })
}

/// How many programs were compared, how many executions were blocked without composite awaits and with them, and how many
/// of the latter in vain.
#[derive(Default, Debug)]
struct Spared {
    compared: u64,
    before: u64,
    after: u64,
    in_vain: u64,
}

/// Compares what is explored with composite awaits and without them.
fn composites_agree(kinds: &[Kinds], (first, programs): (u64, u64)) -> Spared {
    let first = number("SEED", first);
    let seeds = first..first + number("SELVEDGE_LOOP_PROGRAMS", programs);
    let mut spared = Spared::default();
    for (seed, kinds) in seeds.flat_map(|seed| kinds.iter().map(move |kinds| (seed, kinds))) {
        let text = contest(seed, kinds);
        for model in MODELS {
            let Some(without) = counts(&text, (model, Reductions::AWAMOCHE)) else { continue };
            let Some(with) = counts(&text, (model, Reductions::ALL)) else { continue };
            let what = format!("{}, seed {seed}, {kinds:?}\n{text}", model.name());
            assert_eq!(with.complete, without.complete, "{what}");
            assert_eq!(with.outcomes, without.outcomes, "{what}");
            spared.compared += 1;
            spared.before += without.blocked;
            spared.after += with.blocked;
            spared.in_vain += with.in_vain;
        }
    }
    spared
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

#[test]
fn composite_awaits_spare_blocked_executions_and_no_others() {
    let kinds = [SPINNING, 10..12, 10..16, SPINNING.start..EXCHANGING.end];
    let spared = composites_agree(&kinds, (0, 150));
    assert!(spared.compared > 900, "{spared:?}: only so few programs were small enough");
    assert!(spared.after * 4 < spared.before * 3, "{spared:?}");
}

#[test]
fn attempts_are_put_off_for_what_comes() {
    // Among these programs are some that show it if a way is forgotten, or taken for one that a read contradicts.
    let spared = composites_agree(&[HOPING, SLEEPING], (20_200, 400));
    assert!(spared.compared > 1_200, "{spared:?}: only so few programs were small enough");
    assert!(spared.after < spared.before && spared.in_vain * 40 < spared.after, "{spared:?}");
}

//! Loops that wait inside of others: a livelock is reported if there is one, and only then. All accesses are sequentially
//! consistent, so SC and RC11 allow the same; what they allow, the other models allow as well.

#[path = "../../trace/tests/nested/mod.rs"]
mod nested;

use nested::{Program, program};
use selvedge_analysis::{Options as Passes, prepare};
use selvedge_graph::{MemoryModel, Options, Reductions, explore};
use selvedge_ir::parse_module;
use selvedge_machine::ViolationKind;
use selvedge_machine::interp::{InterpOptions, Interpreter};
use selvedge_machine::session::Limits;

/// How loops are treated: assumptions, awaits, and confirmations.
const TREATMENTS: [(bool, bool, bool); 4] =
    [(true, true, true), (true, true, false), (true, false, false), (false, false, false)];

/// Whether a livelock is found; none if loops met their bound, or there are too many executions.
fn finds_livelock(
    text: &str,
    (purity, await_, confirm): (bool, bool, bool),
    (model, reductions): (MemoryModel, Reductions),
) -> Option<bool> {
    let mut module = parse_module(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let passes = Passes { purity, await_, confirm, confirm_exits: confirm, verify: true, ..Passes::default() };
    prepare(&mut module, &passes).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options =
        InterpOptions { unroll: Some(6), dynamic_purity: true, atomics_publish: true, ..InterpOptions::default() };
    let machine = Interpreter::new(&module, options).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let limits = Limits { all: true, max_executions: Some(5_000), ..Limits::default() };
    let explored = explore(machine, &Options { model, reductions, preemptions: None, limits }, &mut |_| {});
    assert_eq!(explored.unsupported, None, "{text}");
    let found = explored.violations.iter().any(|found| found.violation.kind == ViolationKind::Livelock);
    (explored.interruption.is_none() && explored.bounds.is_empty()).then_some(found)
}

/// How many programs are tried, unless `SELVEDGE_LIVELOCK_PROGRAMS` says otherwise.
const PROGRAMS: u64 = 1000;

/// Further programs, which once were wrong.
const OTHERS: [u64; 1] = [1491];

#[test]
fn a_livelock_is_found_exactly_if_all_states_show_one() {
    let asked = std::env::var("SELVEDGE_LIVELOCK_PROGRAMS").ok().and_then(|number| number.parse().ok());
    let programs = asked.unwrap_or(PROGRAMS);
    let mut told = [0, 0];
    for seed in (0..programs).chain(OTHERS) {
        let Program { text, has_livelock } = program(seed);
        for treatment in TREATMENTS {
            for reductions in [Reductions::NONE, Reductions::AWAMOCHE, Reductions::ALL] {
                for model in [MemoryModel::Sc, MemoryModel::Rc11, MemoryModel::Tso, MemoryModel::Ra] {
                    let Some(found) = finds_livelock(&text, treatment, (model, reductions)) else { continue };
                    let what = format!("{}, {treatment:?}, {reductions:?}, seed {seed}\n{text}", model.name());
                    let is_weaker = matches!(model, MemoryModel::Tso | MemoryModel::Ra);
                    assert!(found == has_livelock || found && is_weaker, "{found}: {what}");
                    told[usize::from(found)] += 1;
                }
            }
        }
    }
    assert!(told.iter().all(|&count| count > programs), "{told:?} of {programs} programs");
}

//! Loops that wait inside of others: a livelock is reported if there is one, and only then.

mod nested;

use nested::{Program, program};
use selvedge_analysis::{Options as Passes, prepare};
use selvedge_ir::parse_module;
use selvedge_machine::ViolationKind;
use selvedge_machine::interp::{InterpOptions, Interpreter};
use selvedge_machine::session::Limits;
use selvedge_trace::{Options, Reductions, explore};

/// How loops are treated: assumptions, awaits, and comparison at run time.
const TREATMENTS: [(bool, bool, bool); 5] =
    [(true, true, true), (true, false, true), (true, true, false), (true, false, false), (false, false, true)];

/// Whether a livelock is found; none if loops met their bound, or there are too many executions.
fn finds_livelock(
    text: &str,
    (purity, await_, dynamic_purity): (bool, bool, bool),
    reductions: Reductions,
) -> Option<bool> {
    let mut module = parse_module(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let passes = Passes { purity, await_, verify: true, ..Passes::default() };
    prepare(&mut module, &passes).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = InterpOptions { unroll: Some(6), dynamic_purity, ..InterpOptions::default() };
    let machine = Interpreter::new(&module, options).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let limits = Limits { all: true, max_executions: Some(5_000), ..Limits::default() };
    let explored = explore(machine, &Options { reductions, limits, ..Options::default() }, &mut |_| {});
    assert_eq!(explored.unsupported, None, "{text}");
    let found = explored.violations.iter().any(|found| found.violation.kind == ViolationKind::Livelock);
    (explored.interruption.is_none() && explored.bounds.is_empty()).then_some(found)
}

/// How many programs are tried, unless `SELVEDGE_LIVELOCK_PROGRAMS` says otherwise.
const PROGRAMS: u64 = 2000;

#[test]
fn a_livelock_is_found_exactly_if_all_states_show_one() {
    let asked = std::env::var("SELVEDGE_LIVELOCK_PROGRAMS").ok().and_then(|number| number.parse().ok());
    let programs = asked.unwrap_or(PROGRAMS);
    let mut told = [0, 0];
    for seed in 0..programs {
        let Program { text, has_livelock } = program(seed);
        for treatment in TREATMENTS {
            for reductions in [Reductions::NONE, Reductions::ALL] {
                if let Some(found) = finds_livelock(&text, treatment, reductions) {
                    assert_eq!(found, has_livelock, "{treatment:?}, {reductions:?}, seed {seed}\n{text}");
                    told[usize::from(found)] += 1;
                }
            }
        }
    }
    assert!(told.iter().all(|&count| count > programs), "{told:?} of {programs} programs");
}

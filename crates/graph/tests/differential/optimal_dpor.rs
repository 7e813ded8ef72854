//! Under sequential consistency, TruSt and Optimal-DPOR explore the same number of executions: an execution graph is a
//! Mazurkiewicz trace if every two accesses to one location, one of which writes, depend on each other.
//!
//! This is about programs that do not wait: an await is a different thing for the two.

use crate::common::programs::{BUSY, program};
use crate::common::{Quiet, number, options};
use selvedge_graph::{MemoryModel, Reductions};
use selvedge_machine::session::Limits;
use selvedge_machine::verdict::Exploration;
use selvedge_oracle::LitmusMachine;
use selvedge_oracle::generate::{Rng, generate, profile};
use selvedge_oracle::litmus::{Inst, Program};
use selvedge_oracle::shrink::shrink;

/// Programs with more executions are not tried.
const MOST: u64 = 500;

fn trust(program: &Program) -> Exploration {
    let mut options = options(MemoryModel::Sc, Reductions::NONE);
    options.limits.max_executions = Some(MOST + 1);
    options.limits.check_invariants = false;
    let machine = LitmusMachine::new(program.clone()).expect("the program is valid");
    selvedge_graph::explore_with(machine, &options, &mut Quiet, None)
}

fn optimal_dpor(program: &Program) -> Exploration {
    let reductions = selvedge_trace::Reductions::NONE;
    let limits = Limits { all: true, max_executions: Some(2 * MOST), ..Limits::default() };
    let options = selvedge_trace::Options { reductions, limits, ..Default::default() };
    let machine = LitmusMachine::new(program.clone()).expect("the program is valid");
    selvedge_trace::explore_with(machine, &options, &mut Quiet)
}

fn waits(program: &Program) -> bool {
    program.threads.iter().flatten().any(|inst| match inst {
        Inst::Load { until, .. } | Inst::Store { until, .. } | Inst::Rmw { until, .. } | Inst::Cas { until, .. } => {
            until.is_some()
        }
        Inst::Lock { .. } | Inst::Free(_) => true,
        _ => false,
    })
}

/// None if the program is too large.
fn differ(program: &Program) -> Option<Result<(), String>> {
    let ours = trust(program);
    if waits(program) || ours.interruption.is_some() {
        return None;
    }
    let theirs = optimal_dpor(program);
    let counts = |found: &Exploration| (found.complete, found.blocked);
    let same = counts(&ours) == counts(&theirs) && theirs.redundant == 0;
    let why = || format!("TruSt explores {:?}, Optimal-DPOR {:?}", counts(&ours), counts(&theirs));
    Some(if same { Ok(()) } else { Err(why()) })
}

fn check(name: &str, seed: u64, program: &Program) -> bool {
    let Some(Err(why)) = differ(program) else { return !waits(program) };
    let small = shrink(program, |p| matches!(differ(p), Some(Err(_))));
    let path = std::env::temp_dir().join(format!("optimal-dpor-{name}-{seed}.litmus"));
    let kept = std::fs::write(&path, small.to_string());
    panic!("{name} {seed}: {why}; the program is in {} ({kept:?}):\n{small}", path.display());
}

#[test]
fn as_many_executions_as_optimal_dpor_on_ten_thousand_programs_that_fit_into_the_oracle() {
    let names = ["accesses", "rmw", "tests", "choices", "branches"];
    let first = number("SEED", 0);
    let mut tried = 0;
    for seed in first..first + number("PROGRAMS", 2_000) {
        for name in names {
            tried += u64::from(check(name, seed, &generate(profile(name).expect("a profile"), seed, 100).0));
        }
    }
    assert!(tried >= number("PROGRAMS", 2_000) * 5, "all of these programs never wait");
}

#[test]
fn as_many_executions_as_optimal_dpor_on_ten_thousand_larger_programs() {
    let first = number("SEED", 0);
    for kind in BUSY {
        for seed in first..first + number("PROGRAMS", 3_334) {
            let mut rng = Rng::new(seed);
            let fits = (0..).map(|attempt| program(kind, &mut rng, attempt)).find(|p| differ(p).is_some());
            check(kind.name, seed, &fits.expect("some program is small enough"));
        }
    }
}

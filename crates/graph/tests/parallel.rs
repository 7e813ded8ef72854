//! Several workers explore what one does; and random walks say how much that is.

use selvedge_graph::parallel::explore_parallel;
use selvedge_graph::{MemoryModel, Options, Reductions, estimate, explore};
use selvedge_oracle::generate::{Profile, generate, profile};
use selvedge_oracle::litmus::Program;
use selvedge_oracle::machine::LitmusMachine;
use std::time::Duration;

fn options(model: MemoryModel, reductions: Reductions) -> Options {
    let limits = selvedge_machine::session::Limits { all: true, ..Default::default() };
    Options { model, reductions, limits }
}

fn machine(program: &Program) -> LitmusMachine {
    LitmusMachine::new(program.clone()).expect("generated programs are valid")
}

fn named(name: &str) -> &'static Profile {
    profile(name).expect("a profile")
}

#[test]
fn counts_do_not_depend_on_the_number_of_workers() {
    let profiles = ["rmw", "locks", "awaits", "confirmations", "condlocks", "races", "choices", "trees"];
    for (n, name) in profiles.iter().enumerate() {
        for seed in 0..25 {
            let (program, _) = generate(named(name), seed, 2_000);
            let model = MemoryModel::ALL[(n + seed as usize) % 4];
            let options = options(model, if seed % 2 == 0 { Reductions::ALL } else { Reductions::NONE });
            let one = explore(machine(&program), &options, &mut |_| {});
            let three = explore_parallel(&|| machine(&program), &options, 3, &mut |_| {});
            let kinds = |result: &selvedge_machine::verdict::Exploration| {
                let mut kinds: Vec<_> = result.violations.iter().map(|found| found.violation.kind).collect();
                kinds.sort_unstable();
                kinds.dedup();
                kinds
            };
            assert_eq!(one.complete, three.complete, "{name} {seed}:\n{program}");
            assert_eq!(one.blocked, three.blocked, "{name} {seed}:\n{program}");
            assert_eq!(one.notes, three.notes, "{name} {seed}:\n{program}");
            assert_eq!(kinds(&one), kinds(&three), "{name} {seed}:\n{program}");
            assert_eq!(one.unsupported, three.unsupported, "{name} {seed}:\n{program}");
        }
    }
}

#[test]
fn a_limit_on_executions_holds_for_all_workers_together() {
    let (program, _) = generate(named("rmw"), 3, 2_000);
    let mut options = options(MemoryModel::Rc11, Reductions::ALL);
    let all = explore(machine(&program), &options, &mut |_| {});
    assert!(all.complete > 2, "the test is about a program with some executions");
    options.limits.max_executions = Some(2);
    let few = explore_parallel(&|| machine(&program), &options, 2, &mut |_| {});
    assert!(few.interruption.is_some() && few.complete <= 4, "{few:?}");
}

#[test]
fn estimates_are_near_the_number_of_executions() {
    let mut far = 0;
    for seed in 0..30 {
        let (program, _) = generate(named("rmw"), seed, 2_000);
        let options = options(MemoryModel::Rc11, Reductions::ALL);
        let exact = explore(machine(&program), &options, &mut |_| {});
        let exact = (exact.complete + exact.blocked) as f64;
        let guess = estimate(machine(&program), &options, Duration::from_millis(40)).expect("it can be run");
        let off = (guess.complete + guess.blocked - exact).abs();
        // Four standard errors, and a little for those whose walks all came to the same.
        far += u32::from(off > 4.0 * guess.error + 0.02 * exact + 0.5);
    }
    assert!(far <= 1, "{far} of 30 estimates are far off");
}

#[test]
fn a_reduction_that_is_left_out_is_left_out_by_all_workers_alike() {
    // Two stores to v0 that nothing orders, and somebody who waits for one of them; among many other orders.
    let adders = (4..10).map(|n| format!("thread t{n}\n  rmw.rlx add v1:4 1\n")).collect::<String>();
    let spawns = (1..10).map(|n| format!("  spawn t{n}\n")).collect::<String>();
    let text = format!(
        "var v0 4 = 0\nvar v1 4 = 0\nthread t0\n{spawns}thread t1\n  store.rlx v0:4 1\nthread t2\n  store.rlx v0:4 2\n\
         thread t3\n  r0 = load.rlx v0:4 until ne 0\n{adders}"
    );
    let program: Program = text.parse().expect("a program");
    // Under SC and TSO it is not left out: stores to v0 count as exchanges.
    for (model, notes) in [(MemoryModel::Rc11, 1), (MemoryModel::Sc, 0), (MemoryModel::Tso, 0)] {
        let options = options(model, Reductions::ALL);
        let one = explore(machine(&program), &options, &mut |_| {});
        assert!(one.complete >= 2_000 && one.notes.len() == notes, "{one:?}");
        assert!(notes == 1 || one.blocked == 0, "{one:?}");
        let two = explore_parallel(&|| machine(&program), &options, 2, &mut |_| {});
        assert_eq!((one.complete, one.blocked, one.notes), (two.complete, two.blocked, two.notes));
    }
}

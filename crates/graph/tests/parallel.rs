//! Several workers explore what one does; and random walks say how much that is.

#[path = "../../trace/tests/loops/mod.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod loops;

use loops::{EXCHANGING, SPINNING, contest};
use selvedge_graph::parallel::{Team, explore_parallel, explore_with_team};
use selvedge_graph::{Effort, MemoryModel, Options, Reductions, estimate, estimate_with, explore};
use selvedge_machine::interp::{InterpOptions, Interpreter};
use selvedge_machine::verdict::Exploration;
use selvedge_oracle::generate::{Profile, generate, profile};
use selvedge_oracle::litmus::Program;
use selvedge_oracle::machine::LitmusMachine;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

fn options(model: MemoryModel, reductions: Reductions) -> Options {
    let limits = selvedge_machine::session::Limits { all: true, ..Default::default() };
    Options { model, reductions, preemptions: None, limits }
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
            let eager = Team { workers: 2, alone: 1 + seed % 8, together: true };
            let two = explore_with_team(&|| machine(&program), &options, eager, &mut |_| {});
            let one = told(one);
            assert_eq!(one, told(three), "{name} {seed}:\n{program}");
            assert_eq!(one, told(two), "{name} {seed}:\n{program}");
        }
    }
}

/// The others would wait for what a worker does that is no more there.
#[test]
fn a_worker_that_panics_ends_all_of_them() {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for seed in 0..8 {
            let (program, _) = generate(named("rmw"), seed, 2_000);
            let made = AtomicU32::new(0);
            let make = || {
                assert_ne!(made.fetch_add(1, Ordering::Relaxed), 1, "there is no second worker");
                machine(&program)
            };
            let team = Team { workers: 3, alone: 1, together: false };
            let options = options(MemoryModel::Rc11, Reductions::NONE);
            let explored = || explore_with_team(&make, &options, team, &mut |_| {});
            let panicked = catch_unwind(AssertUnwindSafe(explored)).is_err();
            sender.send(panicked).expect("somebody waits for it");
        }
    });
    for seed in 0..8 {
        let ended = receiver.recv_timeout(Duration::from_secs(60));
        assert_eq!(ended, Ok(true), "{seed}: the panic comes through, and nobody waits for ever");
    }
}

/// A program with loops that read several things.
fn contestants(text: &str) -> Interpreter {
    let passes = selvedge_analysis::Options { verify: true, purity: true, await_: true, ..Default::default() };
    let mut module = selvedge_ir::parse_module(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    selvedge_analysis::prepare(&mut module, &passes).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = InterpOptions { unroll: Some(5), dynamic_purity: true, atomics_publish: true, ..Default::default() };
    Interpreter::new(&module, options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// All but how many steps were made: several workers and one start again at different times.
fn told(result: Exploration) -> Exploration {
    Exploration { steps: 0, ..result }
}

#[test]
fn composite_awaits_are_the_same_with_any_number_of_workers() {
    let kinds = [SPINNING, 10..12, 10..16, SPINNING.start..EXCHANGING.end];
    let (mut spared, mut failed) = (0, 0);
    for (seed, kinds) in (0..60).flat_map(|seed| kinds.iter().map(move |kinds| (seed, kinds))) {
        let text = contest(seed, kinds);
        let model = MemoryModel::ALL[seed as usize % 4];
        let mut options = options(model, Reductions::ALL);
        options.limits.max_executions = Some(3_000);
        if explore(contestants(&text), &options, &mut |_| {}).interruption.is_some() {
            continue;
        }
        options.limits.max_executions = None;
        let plain = Options { reductions: Reductions::AWAMOCHE, ..options.clone() };
        let without = explore(contestants(&text), &plain, &mut |_| {});
        for all in [true, false] {
            options.limits.all = all;
            let one = told(explore(contestants(&text), &options, &mut |_| {}));
            spared += u64::from(all && one.blocked < without.blocked);
            failed += u64::from(!all && !one.violations.is_empty());
            for (workers, alone) in [(2, 1), (4, 1), (3, 20)] {
                let team = Team { workers, alone, together: true };
                let several = explore_with_team(&|| contestants(&text), &options, team, &mut |_| {});
                assert_eq!(one, told(several), "{team:?}, {}, seed {seed}, {kinds:?}\n{text}", model.name());
            }
        }
    }
    assert!(spared > 30 && failed > 30, "{spared} programs with composite awaits, {failed} with violations");
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

/// How many standard errors an estimate is off.
fn off(exact: &Exploration, guess: &selvedge_graph::Estimate) -> f64 {
    let exact = (exact.complete + exact.blocked) as f64;
    let off = guess.complete + guess.blocked - exact;
    // If all walks have come to the same, the estimate is exact.
    if off.abs() < 1e-6 * exact { 0.0 } else { off / guess.error }
}

#[test]
fn estimates_are_right_on_average_if_attempts_are_composite() {
    let kinds = [SPINNING, 10..12, 10..16, SPINNING.start..EXCHANGING.end];
    let mut all = Vec::new();
    for (seed, kinds) in (0..90).flat_map(|seed| kinds.iter().map(move |kinds| (seed, kinds))) {
        let text = contest(seed, kinds);
        let mut options = options(MemoryModel::ALL[seed as usize % 4], Reductions::ALL);
        options.limits.max_executions = Some(1_000);
        let exact = explore(contestants(&text), &options, &mut |_| {});
        let plain = Options { reductions: Reductions::AWAMOCHE, ..options.clone() };
        let without = explore(contestants(&text), &plain, &mut |_| {});
        let composite = exact.blocked < without.blocked;
        if exact.interruption.is_some() || !composite {
            continue;
        }
        let effort = Effort { time: Duration::from_secs(60), walks: 2_000 };
        let guess = estimate_with(contestants(&text), &options, effort).expect("it can be run");
        let off = off(&exact, &guess);
        assert!(off.abs() < 5.0, "{off} standard errors: {exact:?}, {guess:?}, seed {seed}, {kinds:?}\n{text}");
        all.push(off);
    }
    // If each is right on average, so is their sum.
    let telling = all.iter().filter(|&&off| off != 0.0).count();
    let together = all.iter().sum::<f64>() / (telling as f64).sqrt();
    assert!(telling > 20 && together.abs() < 4.0, "{telling} of {} programs, off by {together}", all.len());
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

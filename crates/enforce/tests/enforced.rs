//! Programs that are compiled and run under schedules that tests make by hand.

mod support;

use selvedge_enforce::{Binary, CompileOptions, Level, PlanOptions, compile, plan};
use selvedge_ir::{EntityRef, InstKind, Module};
use selvedge_schedule::PublishedArt;
use std::process::{Command, Output};
use support::{example, interleaved, load, turns};

fn build(module: &Module, art: &PublishedArt, options: PlanOptions) -> Binary {
    let plan = plan(module, art, options).expect("it can be followed");
    compile(module, Some((&plan, art)), &CompileOptions::default()).expect("it compiles")
}

fn run(binary: &Binary, seconds: f64) -> Output {
    Command::new(binary.path()).env("SELVEDGE_SECONDS", seconds.to_string()).output().expect("it can be run")
}

/// The useful iterations of each thread, from the report.
fn useful(output: &Output) -> Vec<u64> {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let counts = text.rsplit_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(counts, _)| counts);
    let counts = counts.unwrap_or_else(|| panic!("no report: {text}"));
    counts.split(", ").map(|count| count.parse().expect("a number")).collect()
}

const LEVELS: [Level; 3] = [Level::Opt0, Level::Opt1, Level::Opt2];

/// Every branch may go either way.
fn all(_: usize, _: &selvedge_schedule::Site, _: u32) -> bool {
    true
}

#[test]
fn producer_and_consumer_take_turns() {
    let module = example("producer_consumer_1p1c.c", &[]);
    let art = turns(&module, &["producer", "consumer"], &all);
    for level in LEVELS {
        let binary = build(&module, &art, PlanOptions { level, ..PlanOptions::default() });
        let output = run(&binary, 0.2);
        let counts = useful(&output);
        assert_eq!(output.status.code(), Some(0), "{level:?} {output:?}");
        assert!(counts[0] > 10 && counts[0].abs_diff(counts[1]) <= 16, "{level:?} {counts:?}");
    }
}

#[test]
fn two_locks_in_opposite_order_do_not_deadlock_in_turns() {
    let module = example("double_lock.c", &[]);
    let art = turns(&module, &["first", "second"], &all);
    for level in LEVELS {
        let output = run(&build(&module, &art, PlanOptions { level, ..PlanOptions::default() }), 0.5);
        let counts = useful(&output);
        assert!(counts[0] > 10 && counts[0].abs_diff(counts[1]) <= 16, "{level:?} {counts:?}");
    }
}

#[test]
fn an_underflow_of_the_buffer_is_kept_away_by_the_schedule() {
    let module = example("producer_consumer_bug.c", &[]);
    let art = turns(&module, &["producer", "consumer"], &all);
    let binary = build(&module, &art, PlanOptions::default());
    for _ in 0..20 {
        let output = run(&binary, 0.02);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    let plain = compile(&module, None, &CompileOptions::default()).expect("it compiles");
    let failed = (0..20).filter(|_| run(&plain, 0.2).status.code() != Some(0)).count();
    assert!(failed > 0, "without a schedule, the consumer sometimes comes first");
}

/// Three threads whose steps do not commute; what comes out depends on their order.
const MIXED: &str = "
    #include <pthread.h>
    #include <stdio.h>
    unsigned x, y, z;
    void *one(void *arg) { for (int i = 0; i < 40; i++) { x = x * 3 + 1; y = y ^ x; z = 5 * z; } return 0; }
    void *two(void *arg) { for (int i = 0; i < 40; i++) { y = y * 7 + x; x = x + 11; } return 0; }
    void *three(void *arg) { for (int i = 0; i < 25; i++) { if (x & 4) z = z + y; else y = y + 13; } return 0; }
    int main(void) {
      pthread_t a, b, c;
      pthread_create(&a, 0, one, 0); pthread_create(&b, 0, two, 0); pthread_create(&c, 0, three, 0);
      pthread_join(a, 0); pthread_join(b, 0); pthread_join(c, 0);
      printf(\"%u %u %u\\n\", x, y, z);
      return 0;
    }";

#[test]
fn whatever_is_optimised_the_outcome_is_that_of_the_total_order() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("mixed.c");
    std::fs::write(&path, MIXED).expect("it can be written");
    let module = load(&path, &[]);
    let mut outcomes = std::collections::HashSet::new();
    for seed in 0..4 {
        let art = interleaved(&module, &["one", "two", "three"], Some(seed), &all);
        let mut of_levels = Vec::new();
        for level in LEVELS {
            let binary = build(&module, &art, PlanOptions { level, ..PlanOptions::default() });
            for _ in 0..6 {
                let output = run(&binary, 0.0);
                assert_eq!(output.status.code(), Some(0), "{level:?} {output:?}");
                of_levels.push(String::from_utf8_lossy(&output.stdout).into_owned());
            }
        }
        assert!(of_levels.iter().all(|outcome| *outcome == of_levels[0]), "seed {seed}: {of_levels:?}");
        outcomes.insert(of_levels[0].clone());
    }
    assert!(outcomes.len() > 1, "the interleavings differ");
}

#[test]
fn a_way_that_was_not_verified_ends_the_program() {
    let module = example("producer_consumer_1p1c.c", &[]);
    // As if the buffer were always full, which it is not.
    let full = |thread: usize, site: &selvedge_schedule::Site, n: u32| {
        thread == 1 || site.inst != first_branch(&module, "producer") || n == 1
    };
    let art = turns(&module, &["producer", "consumer"], &full);
    for level in [Level::Opt0, Level::Opt1] {
        let output = run(&build(&module, &art, PlanOptions { level, ..PlanOptions::default() }), 5.0);
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("T1 left its schedule at producer line"), "{said}");
        assert!(said.contains("a way that was not verified"), "{said}");
    }
    let options = PlanOptions { level: Level::Opt1, continue_unconstrained: true, ..PlanOptions::default() };
    let output = run(&build(&module, &art, options), 0.3);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("goes on without a schedule") && said.contains("useful iterations"), "{said}");
    assert_eq!(output.status.code(), Some(0));
}

/// The number of the first branch of a function.
fn first_branch(module: &Module, function: &str) -> u32 {
    let function = &module.functions[module.function_named(function).expect("it exists")];
    let is_branch = |inst: &selvedge_ir::Inst| matches!(function.insts[*inst].kind, InstKind::CondBr { .. });
    let first = function.placed_insts().map(|(_, inst)| inst).find(is_branch).expect("there is one");
    first.index() as u32
}

#[test]
fn pointers_have_no_types_where_clang_wants_none() {
    use selvedge_enforce::emit::{Dialect, Sites, emit};
    for name in ["producer_consumer_1p1c.c", "double_lock.c", "barrier_ring.c", "pfscan.c"] {
        let module = example(name, &[]);
        let opaque = emit(&module, &Sites::default(), Dialect { opaque_pointers: true }).expect("it can be written");
        assert!(opaque.contains("ptr @") && !opaque.contains('*'), "{opaque}");
        let typed = emit(&module, &Sites::default(), Dialect { opaque_pointers: false }).expect("it can be written");
        assert!(typed.contains("i8* ") && !typed.contains(" ptr "), "{typed}");
    }
}

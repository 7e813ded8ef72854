//! Programs whose number of Mazurkiewicz traces is known by a formula, under every algorithm.

use selvedge_machine::session::Limits;
use selvedge_machine::verdict::Exploration;
use selvedge_oracle::litmus::Program;
use selvedge_oracle::machine::LitmusMachine;
use selvedge_trace::{Algorithm, Options, Reductions, explore};
use std::fmt::Write;

fn limits() -> Limits {
    Limits { all: true, check_invariants: true, ..Limits::default() }
}

fn run(text: &str, algorithm: Algorithm) -> Exploration {
    let program: Program = text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
    let machine = LitmusMachine::new(program).expect("the program is valid");
    let options = Options { algorithm, limits: limits(), ..Options::default() };
    explore(machine, &options, &mut |_| {})
}

fn optimal(text: &str) -> (u64, u64) {
    let result = run(text, Algorithm::Optimal);
    assert_eq!(result.redundant, 0);
    (result.complete, result.blocked)
}

/// Main creates `n` threads with the given bodies, joins them if asked to, and then runs `then`.
fn threads(vars: &str, bodies: &[String], join: bool, then: &str) -> String {
    let mut text = format!("{vars}\nthread t0\n");
    for n in 1..=bodies.len() {
        writeln!(text, "  spawn t{n}").unwrap();
    }
    if join {
        for n in 1..=bodies.len() {
            writeln!(text, "  join t{n}").unwrap();
        }
    }
    writeln!(text, "{then}").unwrap();
    for (n, body) in bodies.iter().enumerate() {
        writeln!(text, "thread t{}\n{body}", n + 1).unwrap();
    }
    text
}

fn factorial(n: u64) -> u64 {
    (1..=n).product()
}

#[test]
fn increments_are_ordered_in_every_way() {
    for n in 1..=6 {
        let bodies = vec!["  r0 = rmw.rlx add v0:4 1".to_owned(); n];
        assert_eq!(optimal(&threads("var v0 4 = 0", &bodies, false, "")), (factorial(n as u64), 0), "n = {n}");
    }
}

#[test]
fn each_reader_comes_before_or_after_the_writer() {
    for n in 1..=8 {
        let mut bodies = vec!["  r0 = load.acq v0:4".to_owned(); n];
        bodies.push("  store.rel v0:4 1".to_owned());
        assert_eq!(optimal(&threads("var v0 4 = 0", &bodies, true, "")), (1 << n, 0), "n = {n}");
    }
}

#[test]
fn compare_and_exchange_rotation() {
    let (n, expected) = (8, 2048);
    let bodies: Vec<String> = (1..=n).map(|i| format!("  r0 = cas.rlx.rlx v0:4 {} -> {i}", i - 1)).collect();
    assert_eq!(optimal(&threads("var v0 4 = 0", &bodies, false, "")), (expected, 0), "n = {n}");
}

#[test]
fn compare_and_exchange_then_store() {
    let bodies: Vec<String> =
        (0..4).map(|i| format!("  r0 = cas.rlx.rlx v0:4 0 -> 1\n  store.rel v0:4 {}", i + 3)).collect();
    assert_eq!(optimal(&threads("var v0 4 = 0", &bodies, false, "")), (1200, 0));
}

#[test]
fn locks_are_taken_in_every_order() {
    for n in 1..=5 {
        let bodies = vec!["  lock v0:4\n  r0 = load.plain v1:4\n  store.plain v1:4 r0+1\n  unlock v0:4".to_owned(); n];
        let text = threads("var v0 4 = 0\nvar v1 4 = 0", &bodies, true, "  r0 = load.plain v1:4");
        assert_eq!(optimal(&text), (factorial(n as u64), 0), "n = {n}");
        assert!(run(&text, Algorithm::Optimal).violations.is_empty());
    }
}

#[test]
fn two_locks_in_opposite_order_deadlock() {
    let one = |a, b| format!("  lock v{a}:4\n  lock v{b}:4\n  unlock v{b}:4\n  unlock v{a}:4");
    let text = threads("var v0 4 = 0\nvar v1 4 = 0", &[one(0, 1), one(1, 0)], true, "");
    assert_eq!(optimal(&text), (2, 1));
    let result = run(&text, Algorithm::Optimal);
    assert_eq!(result.violations.len(), 1);
    assert_eq!(result.violations[0].violation.kind.name(), "deadlock");
    assert_eq!(run(&text, Algorithm::Source).complete, 2);
}

#[test]
fn all_interleavings_of_independent_threads() {
    let bodies = vec!["  r0 = load.rlx v0:4\n  r0 = load.rlx v0:4".to_owned(); 2];
    // Main makes two steps before the second thread exists: 6 interleavings of the threads once both run, and those in
    // which the first gets ahead while the second is being created.
    let naive = run(&threads("var v0 4 = 0", &bodies, false, ""), Algorithm::Naive);
    assert!(naive.complete > 6);
    assert_eq!(optimal(&threads("var v0 4 = 0", &bodies, false, "")), (1, 0));
}

fn reduced(text: &str, reductions: Reductions) -> (u64, u64) {
    let program: Program = text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
    let machine = LitmusMachine::new(program).expect("the program is valid");
    let options = Options { reductions, limits: limits(), ..Options::default() };
    let result = explore(machine, &options, &mut |_| {});
    assert_eq!(result.redundant, 0);
    (result.complete, result.blocked)
}

const OBSERVERS: Reductions = Reductions { ifaa: false, observers: true };
const IFAA: Reductions = Reductions { ifaa: true, observers: false };

#[test]
fn only_the_last_write_matters_to_a_reader_that_joins() {
    for n in 1..=7 {
        let bodies: Vec<String> = (1..=n).map(|i| format!("  store.rlx v0:4 {i}")).collect();
        let text = threads("var v0 4 = 0", &bodies, true, "  r0 = load.rlx v0:4");
        assert_eq!(reduced(&text, OBSERVERS), (n, 0), "n = {n}");
        assert_eq!(optimal(&text), (factorial(n), 0), "n = {n}");
    }
}

#[test]
fn a_floating_read_sees_one_write_and_the_set_before_it() {
    for n in 1..=6 {
        let mut bodies: Vec<String> = (1..=n).map(|i| format!("  store.rlx v0:4 {i}")).collect();
        bodies.push("  r0 = load.rlx v0:4".to_owned());
        let text = threads("var v0 4 = 0", &bodies, false, "");
        assert_eq!(reduced(&text, OBSERVERS), (n * (1 << (n - 1)) + 1, 0), "n = {n}");
        assert_eq!(optimal(&text), (factorial(n + 1), 0), "n = {n}");
    }
}

#[test]
fn increments_that_nobody_looks_at_commute() {
    for n in 1..=6 {
        let bodies = vec!["  rmw.rlx add v0:4 1".to_owned(); n];
        assert_eq!(reduced(&threads("var v0 4 = 0", &bodies, true, "  r0 = load.rlx v0:4"), IFAA), (1, 0));
    }
}

#[test]
fn an_await_chooses_among_commuting_increments() {
    // Fig. 5 of the await paper: three increments by 1, 2 and 3, and a thread that waits for 3.
    let mut bodies: Vec<String> = (1..=3).map(|i| format!("  rmw.rlx add v0:4 {i}")).collect();
    bodies.push("  r0 = load.rlx v0:4 until eq 3".to_owned());
    let text = threads("var v0 4 = 0", &bodies, false, "");
    // Satisfied after {1, 2} or after {3}; or missed: 3 before one or two of the others, that is blocked, once.
    assert_eq!(reduced(&text, IFAA), (2, 1));
}

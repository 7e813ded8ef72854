//! Several threads sleep on a condition variable, and several signals come: whom each of them wakes is the same by
//! execution graphs and by interleavings, on random programs.

use selvedge_analysis::{Options as Passes, prepare};
use selvedge_graph::{MemoryModel, Reductions};
use selvedge_machine::interp::{InterpOptions, Interpreter};
use selvedge_machine::session::Limits;
use selvedge_machine::verdict::Exploration;
use std::collections::BTreeSet;
use std::fmt::Write;

const HEAD: &str = "declare @malloc(i64) -> ptr
declare @pthread_create(ptr, ptr, ptr, ptr) -> i32
declare @pthread_join(i64, ptr) -> i32
declare @pthread_mutex_lock(ptr) -> i32
declare @pthread_mutex_unlock(ptr) -> i32
declare @pthread_cond_wait(ptr, ptr) -> i32
declare @pthread_cond_signal(ptr) -> i32
declare @pthread_cond_broadcast(ptr) -> i32
global @m : 40 align 8
global @c : 48 align 8
global @asleep : 4 align 4
global @a : 4 align 4
global @b : 4 align 4
";

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) % n
    }
}

/// A thread that sleeps, and notes what it finds when it is awake.
fn sleeper(random: &mut Random, n: usize) -> String {
    let mut code = "  l: i32 = call @pthread_mutex_lock(ptr @m)
  x: i32 = load i32 @asleep
  y: i32 = add i32 x, 1
  store i32 y, @asleep
  w: i32 = call @pthread_cond_wait(ptr @c, ptr @m)
  z: i32 = load i32 @a, sc
"
    .to_owned();
    if random.below(3) == 0 {
        let _ = writeln!(code, "  store i32 {}, @b, sc", n + 1);
    }
    if random.below(4) == 0 {
        code.push_str("  s: i32 = call @pthread_cond_signal(ptr @c)\n");
    }
    let _ = writeln!(code, "  store i32 z, @r{n}, rlx");
    code.push_str("  u: i32 = call @pthread_mutex_unlock(ptr @m)\n");
    code
}

/// A thread that wakes others.
fn waker(random: &mut Random, n: usize, own: u64) -> String {
    let mut code = String::new();
    for k in 0..1 + random.below(3) {
        let _ = match random.below(7) {
            0 | 1 => writeln!(code, "  store i32 {own}, @a, sc"),
            2 => writeln!(code, "  x{k}: i32 = load i32 @b, sc\n  store i32 x{k}, @r{n}, rlx"),
            3 => writeln!(code, "  s{k}: i32 = call @pthread_cond_broadcast(ptr @c)"),
            _ => writeln!(code, "  s{k}: i32 = call @pthread_cond_signal(ptr @c)"),
        };
    }
    code.push_str("  s: i32 = call @pthread_cond_signal(ptr @c)\n");
    code
}

/// `main` creates those who wake others only when all sleep. In the end it reads at an address behind an object that
/// encodes all final values: each outcome is a violation.
fn program(seed: u64) -> String {
    let random = &mut Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    random.below(2);
    let sleepers = 2 + usize::from(random.below(4) == 0);
    let all = sleepers + 2;
    let mut text = HEAD.to_owned();
    for n in 0..all {
        let code = if n < sleepers { sleeper(random, n) } else { waker(random, n, (n - sleepers + 1) as u64) };
        let _ = write!(text, "global @r{n} : 4 align 4\nglobal @h{n} : 8 align 8\n");
        let _ = write!(text, "func @t{n}(arg: ptr) -> ptr {{\nentry:\n{code}  ret null\n}}\n");
    }
    let create = |n| format!("  c{n}: i32 = call @pthread_create(ptr @h{n}, ptr null, ptr @t{n}, ptr null)\n");
    text.push_str("func @main() -> i32 {\nentry:\n  p: ptr = call @malloc(i64 1)\n");
    text.extend((0..sleepers).map(create));
    text.push_str("  l: i32 = call @pthread_mutex_lock(ptr @m)\n  k: i32 = load i32 @asleep\n");
    text.push_str("  u: i32 = call @pthread_mutex_unlock(ptr @m)\n");
    let _ = write!(text, "  go: i1 = cmp eq i32 k, {sleepers}\n  condbr go, wake, quit\nwake:\n");
    text.extend((sleepers..all).map(create));
    for n in 0..all {
        let _ = write!(text, "  i{n}: i64 = load i64 @h{n}\n  j{n}: i32 = call @pthread_join(i64 i{n}, ptr null)\n");
    }
    let names = ["a".to_owned(), "b".to_owned()].into_iter().chain((0..all).map(|n| format!("r{n}")));
    let mut sum = "0".to_owned();
    for (n, name) in names.enumerate() {
        let _ = write!(text, "  v{n}: i32 = load i32 @{name}, rlx\n  w{n}: i64 = zext i32 v{n} to i64\n");
        let _ = write!(text, "  d{n}: i64 = shl i64 w{n}, {}\n  e{n}: i64 = add i64 {sum}, d{n}\n", 3 * n);
        sum = format!("e{n}");
    }
    let _ = write!(text, "  q: ptr = ptradd p, {sum} * 1 + 1\n  bad: i8 = load i8 q\n  br quit\nquit:\n  ret 0\n}}\n");
    text
}

fn machine(text: &str) -> Interpreter {
    let mut module = selvedge_ir::parse_module(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let passes = Passes { verify: true, ..Passes::default() };
    prepare(&mut module, &passes).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = InterpOptions { atomics_publish: true, ..InterpOptions::default() };
    Interpreter::new(&module, options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn limits() -> Limits {
    Limits { all: true, max_executions: Some(3_000), ..Limits::default() }
}

/// Outcomes and deadlocks; none if there are too many executions.
fn told(explored: &Exploration, text: &str) -> Option<BTreeSet<String>> {
    assert_eq!(explored.unsupported, None, "{text}");
    let violations = explored.violations.iter().map(|found| &found.violation);
    let all = violations.map(|violation| format!("{:?} {}", violation.kind, violation.message)).collect();
    explored.interruption.is_none().then_some(all)
}

#[test]
fn signals_wake_whomever_they_can() {
    let mut compared = 0;
    for seed in 0..60 {
        let text = program(seed);
        let options = selvedge_trace::Options { limits: limits(), ..Default::default() };
        let trace = selvedge_trace::explore(machine(&text), &options, &mut |_| {});
        let Some(expected) = told(&trace, &text) else { continue };
        let mut counts = Vec::new();
        for reductions in [Reductions::NONE, Reductions::ALL] {
            let options =
                selvedge_graph::Options { model: MemoryModel::Sc, reductions, preemptions: None, limits: limits() };
            let graph = selvedge_graph::explore(machine(&text), &options, &mut |_| {});
            let Some(found) = told(&graph, &text) else { continue };
            assert_eq!(found, expected, "{seed} {reductions:?}\n{text}");
            counts.push(graph.complete);
            compared += 1;
        }
        counts.dedup();
        assert!(counts.len() < 2, "{seed}: {counts:?} complete executions\n{text}");
    }
    assert!(compared > 40, "only {compared} were small enough");
}

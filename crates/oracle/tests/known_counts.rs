//! The enumerator on programs whose number of classes is known from theory or from published tables.

use selvedge_machine::{ThreadId, ViolationKind, main_thread};
use selvedge_oracle::enumerate::enumerate_after;
use selvedge_oracle::{Enumeration, LitmusMachine, Program, enumerate};

fn parse(text: &str) -> LitmusMachine {
    let program: Program = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    LitmusMachine::new(program).unwrap()
}

fn all(text: &str) -> Enumeration {
    enumerate(parse(text), 1_000_000).unwrap()
}

/// A program in which main creates all threads and does nothing else, enumerated from where all have been created.
fn parallel(vars: &str, threads: &[String]) -> Enumeration {
    let spawns: String = (1..=threads.len()).map(|n| format!("spawn t{n}\n")).collect();
    let bodies: String = threads.iter().enumerate().map(|(n, body)| format!("thread t{}\n{body}\n", n + 1)).collect();
    let machine = parse(&format!("{vars}\nthread t0\n{spawns}{bodies}"));
    let prefix: Vec<(ThreadId, u32)> = threads.iter().map(|_| (main_thread(), 0)).collect();
    enumerate_after(machine, &prefix, 1_000_000).unwrap()
}

fn repeated(n: u64, body: impl Fn(u64) -> String) -> Vec<String> {
    (0..n).map(body).collect()
}

fn endings(found: &Enumeration) -> (usize, usize) {
    let complete = found.classes.values().filter(|class| class.ending.complete).count();
    (complete, found.classes.len() - complete)
}

fn kinds(found: &Enumeration) -> Vec<ViolationKind> {
    let mut kinds: Vec<ViolationKind> =
        found.classes.values().flat_map(|class| class.ending.violations.iter().map(|(kind, _)| *kind)).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

#[test]
fn ninc_has_n_factorial_classes() {
    for (n, classes) in [(1, 1), (2, 2), (3, 6), (4, 24), (5, 120), (6, 720)] {
        let found = parallel("var v0 4 = 0", &repeated(n, |_| "rmw.rlx add v0:4 1".into()));
        assert_eq!((found.classes.len(), found.executions), (classes, classes as u64));
    }
}

#[test]
fn writers_of_equal_values_are_told_apart() {
    let found = parallel("var v0 4 = 0", &repeated(4, |_| "store.rlx v0:4 1".into()));
    assert_eq!(found.classes.len(), 24);
}

#[test]
fn readers_have_two_to_the_n_classes() {
    for n in 1..=5 {
        let mut threads = repeated(n, |_| "r0 = load.acq v0:4".into());
        threads.push("store.rel v0:4 1".into());
        assert_eq!(parallel("var v0 4 = 0", &threads).classes.len(), 1 << n);
    }
}

#[test]
fn casrot_8_has_the_published_2048_classes() {
    let threads = repeated(8, |i| format!("cas.rlx.rlx v0:4 {i} -> {}", i + 1));
    assert_eq!(parallel("var v0 4 = 0", &threads).classes.len(), 2048);
}

#[test]
fn casw_4_has_the_published_1200_classes() {
    let threads = repeated(4, |i| format!("cas.rlx.rlx v0:4 0 -> 1\nstore.rel v0:4 {}", i + 3));
    assert_eq!(parallel("var v0 4 = 0", &threads).classes.len(), 1200);
}

#[test]
fn lastzero_follows_the_published_row() {
    // 10, 12 and 15 writers have 3328, 15360 and 147456 classes: (n + 3) * 2^(n-2).
    for n in 2..=4u64 {
        let mut threads = repeated(n, |j| format!("r0 = load.acq v{j}:4\nstore.rel v{}:4 r0+1", j + 1));
        let look = |i: u64| format!("r0 = load.acq v{i}:4\nskip {} if r0 eq 0\n", 2 * i);
        threads.push((0..=n).rev().map(look).collect());
        let vars: String = (0..=n).map(|v| format!("var v{v} 4 = 0\n")).collect();
        assert_eq!(parallel(&vars, &threads).classes.len() as u64, (n + 3) << (n - 2));
    }
}

#[test]
fn creation_of_threads_adds_interleavings_but_no_classes() {
    let found =
        all("var v0 4 = 0\nthread t0\nspawn t1\nspawn t2\nthread t1\nstore.rlx v0:4 1\nthread t2\nstore.rlx v0:4 2");
    // The first store comes after its creation, the second after both: 3 of the 4! orders.
    assert_eq!((found.classes.len(), found.executions), (2, 3));
}

#[test]
fn locks_taken_in_opposite_order_deadlock() {
    let body = |a, b| format!("lock v{a}:4\nlock v{b}:4\nunlock v{b}:4\nunlock v{a}:4\n");
    let text =
        format!("var v0 4 = 0\nvar v1 4 = 0\nthread t0\nspawn t1\n{}join t1\nthread t1\n{}", body(0, 1), body(1, 0));
    let found = all(&text);
    assert_eq!((endings(&found), kinds(&found)), ((2, 1), vec![ViolationKind::Deadlock]));
}

#[test]
fn a_lost_signal_is_a_deadlock() {
    let found = all("\
var v0 4 = 0
thread t0
  spawn t1
  wait v0
  wake v0
thread t1
  signal v0
");
    assert_eq!((endings(&found), kinds(&found)), ((1, 1), vec![ViolationKind::Deadlock]));
}

#[test]
fn a_signal_chooses_among_those_that_wait() {
    let waiter = "wait v0\nwake v0\n";
    let text =
        format!("var v0 4 = 0\nthread t0\nspawn t1\nspawn t2\nsignal v0\nthread t1\n{waiter}thread t2\n{waiter}");
    // Nobody waits; t1 waits; t2 waits; both do, and either is chosen.
    assert_eq!(all(&text).classes.len(), 5);
}

#[test]
fn choices_multiply() {
    let found = all("thread t0\nr0 = choose 3\nr1 = choose 2");
    assert_eq!((found.classes.len(), found.executions), (6, 6));
}

#[test]
fn an_await_waits_for_overlapping_bytes() {
    let found = all("\
var v0 4 = 0
thread t0
  spawn t1
  r0 = load.acq v0:4 until eq 256
  assert r0 eq 256
thread t1
  store.rel v0+1:1 1
  store.rel v0+2:1 1
");
    // The await succeeds between the two stores, or never.
    assert_eq!(endings(&found), (1, 1));
}

#[test]
fn an_atomic_section_is_one_step_and_a_failed_one_leaves_nothing() {
    let found = all("\
var v0 4 = 0
var v1 4 = 0
thread t0
  spawn t1
  begin
  store.plain v0:4 1
  r0 = load.plain v1:4
  assume r0 eq 1
  end
  join t1
thread t1
  store.rlx v1:4 1
  r0 = load.rlx v0:4
  assert r0 eq 0
");
    // Section first: blocked, and t1 sees nothing of it. Last: complete. In between: t1's assertion fails, which counts as
    // complete.
    assert_eq!((found.classes.len(), endings(&found)), (3, (2, 1)));
    assert_eq!(kinds(&found), vec![ViolationKind::Assertion]);
}

#[test]
fn use_after_free_depends_on_the_order() {
    let found = all("\
var v0 4 = 0
thread t0
  spawn t1
  free v0
thread t1
  r0 = load.rlx v0:4
");
    assert_eq!((found.classes.len(), kinds(&found)), (2, vec![ViolationKind::UseAfterFree]));
}

#[test]
fn spinning_beyond_its_bound_is_said() {
    let found = all("\
var v0 4 = 0
thread t0
  spawn t1
  r0 = load.acq v0:4
  spin 1 max 1 if r0 eq 0
thread t1
  store.rel v0:4 1
");
    let bounds = found.classes.values().filter(|class| !class.ending.bounds.is_empty()).count();
    assert_eq!((found.classes.len(), bounds), (3, 1));
}

#[test]
fn the_process_ends_with_main_unless_main_leaves() {
    let text = |last| format!("var v0 4 = 0\nthread t0\nspawn t1\n{last}\nthread t1\nr0 = load.rlx v0:4 until ne 0");
    assert_eq!((endings(&all(&text(""))), kinds(&all(&text("")))), ((0, 1), vec![]));
    assert_eq!(kinds(&all(&text("leave"))), vec![ViolationKind::Livelock]);
}

#[test]
fn programs_that_are_too_large_are_refused() {
    let threads: String = (1..4).map(|t| format!("thread t{t}\n{}", "rmw.rlx add v0:4 1\n".repeat(6))).collect();
    let machine = parse(&format!("var v0 4 = 0\nthread t0\nspawn t1\nspawn t2\nspawn t3\n{threads}"));
    assert_eq!(enumerate(machine, 1000).unwrap_err(), selvedge_oracle::TooLarge::Executions);
    let long = "thread t0\nr0 = choose 1\nrepeat 1 max 200 if r0 eq 0";
    assert_eq!(enumerate(parse(long), 1000).unwrap_err(), selvedge_oracle::TooLarge::Steps);
}

mod races {
    use super::all;

    fn races(text: &str) -> (usize, usize) {
        let found = all(text);
        (found.classes.values().filter(|class| class.race).count(), found.classes.len())
    }

    fn message_passing(store: &str, load: &str) -> (usize, usize) {
        races(&format!(
            "var v0 4 = 0\nvar v1 4 = 0\nthread t0\nspawn t1\nstore.plain v0:4 1\n{store}\nthread t1\n{load}\n\
             skip 1 if r0 ne 1\nr1 = load.plain v0:4\n"
        ))
    }

    #[test]
    fn release_and_acquire_synchronise() {
        assert_eq!(message_passing("store.rel v1:4 1", "r0 = load.acq v1:4"), (0, 2));
        assert_eq!(message_passing("store.rlx v1:4 1", "r0 = load.acq v1:4"), (1, 2));
        assert_eq!(message_passing("store.rel v1:4 1", "r0 = load.rlx v1:4"), (1, 2));
    }

    #[test]
    fn fences_synchronise() {
        assert_eq!(message_passing("fence.rel\nstore.rlx v1:4 1", "r0 = load.rlx v1:4\nfence.acq"), (0, 2));
        assert_eq!(message_passing("store.rlx v1:4 1\nfence.rel", "r0 = load.rlx v1:4\nfence.acq"), (1, 2));
        assert_eq!(message_passing("fence.sc\nstore.rlx v1:4 1", "fence.sc\nr0 = load.rlx v1:4"), (1, 2));
        assert_eq!(message_passing("fence.sc\nstore.plain v1:4 1", "r0 = load.acq v1:4"), (2, 2));
    }

    #[test]
    fn read_modify_writes_pass_a_release_on() {
        let through = |middle: &str| {
            races(&format!(
                "var v0 4 = 0\nvar v1 4 = 0\nthread t0\nspawn t1\nspawn t2\nstore.plain v0:4 1\nstore.rel v1:4 1\n\
                 thread t1\n{middle}\nthread t2\nr0 = load.acq v1:4\nskip 1 if r0 ne 2\nr1 = load.plain v0:4\n"
            ))
        };
        assert_eq!(through("cas.rlx.rlx v1:4 1 -> 2").0, 0);
        assert_eq!(through("r0 = load.rlx v1:4 until eq 1\nstore.rlx v1:4 2").0, 1);
    }

    #[test]
    fn locks_joins_and_signals_synchronise() {
        let locked = "lock v1:4\nrmw.plain add v0:4 1\nunlock v1:4\n";
        let vars = "var v0 4 = 0\nvar v1 4 = 0\n";
        assert_eq!(races(&format!("{vars}thread t0\nspawn t1\n{locked}thread t1\n{locked}")), (0, 2));
        let store = "store.plain v0:4 1\n";
        assert_eq!(races(&format!("{vars}thread t0\n{store}spawn t1\njoin t1\n{store}thread t1\n{store}")), (0, 1));
        assert_eq!(races(&format!("{vars}thread t0\n{store}spawn t1\n{store}join t1\nthread t1\n{store}")), (2, 2));
        let waits = format!("{vars}thread t0\nspawn t1\nwait v1\nwake v1\n{store}thread t1\n{store}signal v1\n");
        assert_eq!(races(&waits), (0, 2));
    }

    #[test]
    fn only_overlapping_bytes_race() {
        let two = |a, b| {
            races(&format!("var v0 8 = 0\nthread t0\nspawn t1\nstore.plain {a} 1\nthread t1\nstore.rlx {b} 1\n"))
        };
        assert_eq!(two("v0:4", "v0+4:4"), (0, 1));
        assert_eq!(two("v0:4", "v0+3:1"), (2, 2));
    }
}

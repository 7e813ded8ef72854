//! Programs that are run under schedules of the verifier and print what they do: every run keeps to its schedule, at every
//! level; and if the run-time lets a thread go too early, that is seen.

mod support;

use selvedge_enforce::{CompileOptions, Level, Plan, PlanOptions, compile, plan};
use selvedge_ir::Module;
use selvedge_schedule::PublishedArt;
use std::path::Path;
use std::process::Command;
use support::recorded::keeps;
use support::verified::verified;
use support::{example, load};

fn options(level: Level) -> PlanOptions {
    PlanOptions { level, every_step: true, ..PlanOptions::default() }
}

/// What a program does under a plan.
fn recorded(module: &Module, art: &PublishedArt, plan: &Plan) -> String {
    recorded_with(module, art, plan, Vec::new())
}

/// The same with something linked.
fn recorded_with(module: &Module, art: &PublishedArt, plan: &Plan, link: Vec<String>) -> String {
    let compiling = CompileOptions { record: 4_000, link, ..CompileOptions::default() };
    let binary = compile(module, Some((plan, art)), &compiling).expect("it compiles");
    let output = Command::new(binary.path()).env("SELVEDGE_SECONDS", "20").output().expect("it can be run");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const LEVELS: [Level; 3] = [Level::Opt0, Level::Opt1, Level::Opt2];

#[test]
fn every_run_keeps_to_its_schedule() {
    for name in [
        "producer_consumer_1p1c.c",
        "producer_consumer_2p2c.c",
        "producer_consumer_4p4c.c",
        "producer_consumer_bug.c",
        "double_lock.c",
        "erroneous_sync.c",
        "filesystem_useful.c",
        "barrier_ring.c",
    ] {
        let module = example(name, &[]);
        let art = verified(&module);
        for level in LEVELS {
            let plan = plan(&module, &art, options(level)).expect("it can be followed");
            let printed = recorded(&module, &art, &plan);
            let (events, changes) = keeps(&module, &art, &plan, options(level), &printed)
                .unwrap_or_else(|why| panic!("{name} {level:?}: {why}"));
            assert!(events > 500 && changes > 0, "{name} {level:?}: {events} events, {changes} changes");
        }
    }
}

/// Threads whose inputs decide what they do, or do not.
const ASKING: &str = "
    #include <pthread.h>
    int __VERIFIER_nondet_int(void);
    int x, y;
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    void *one(void *arg) {
      int seen = 0;
      while (1) {
        pthread_mutex_lock(&m); x = seen; pthread_mutex_unlock(&m);
        seen = __VERIFIER_nondet_int();
      }
    }
    void *two(void *arg) {
      while (1) {
        pthread_mutex_lock(&m); int was = x; y = was; pthread_mutex_unlock(&m);
        if (__VERIFIER_nondet_int() & 1) { pthread_mutex_lock(&m); x = 1; pthread_mutex_unlock(&m); }
      }
    }
    int main(void) {
      pthread_t a, b;
      pthread_create(&a, 0, one, 0); pthread_create(&b, 0, two, 0);
      pthread_join(a, 0); pthread_join(b, 0);
      return 0;
    }";

#[test]
fn nobody_waits_for_inputs_and_every_run_keeps_to_its_schedule() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("asking.c");
    std::fs::write(&path, ASKING).expect("it can be written");
    let module = load(&path, &[]);
    let art = verified(&module);
    for level in LEVELS {
        let plan = plan(&module, &art, options(level)).expect("it can be followed");
        let printed = recorded(&module, &art, &plan);
        let (events, changes) =
            keeps(&module, &art, &plan, options(level), &printed).unwrap_or_else(|why| panic!("{level:?}: {why}"));
        assert!(events > 500 && changes > 0, "{level:?}: {events} events, {changes} changes");
    }
}

/// Threads that take something, look at it for a while, and write down what they found.
const SEARCHING: &str = "
    #include <pthread.h>
    int __VERIFIER_nondet_int(void);
    int taken, found;
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    void *worker(void *arg) {
      while (1) {
        pthread_mutex_lock(&m); taken = (taken + 1) & 7; pthread_mutex_unlock(&m);
        int hits = __VERIFIER_nondet_int();
        pthread_mutex_lock(&m); found = found ^ hits; pthread_mutex_unlock(&m);
      }
    }
    int main(void) {
      pthread_t a, b, c;
      pthread_create(&a, 0, worker, 0); pthread_create(&b, 0, worker, 0); pthread_create(&c, 0, worker, 0);
      pthread_join(a, 0); pthread_join(b, 0); pthread_join(c, 0);
      return 0;
    }";

const SLOW_INPUT: &str = "
    #include <unistd.h>
    int __VERIFIER_nondet_int(void) { static int n; usleep(n++ % 7 * 30); return n; }";

#[test]
fn tails_keep_dependent_events_in_order() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("searching.c");
    std::fs::write(&path, SEARCHING).expect("it can be written");
    let module = load(&path, &[]);
    let open = verified(&module);
    // Sections of one thread at a time, and sections of all of them.
    let closed = selvedge_schedule::independently_fair(&open, 0).expect("small");
    for art in [open, closed] {
        tails_of(&module, &art, directory.path());
    }
}

fn tails_of(module: &Module, art: &PublishedArt, directory: &Path) {
    let mut plan = plan(module, art, options(Level::Opt2)).expect("it can be followed");
    let input = directory.join("input.c");
    std::fs::write(&input, SLOW_INPUT).expect("it can be written");
    let link = vec![input.display().to_string()];
    let run = |plan: &Plan| recorded_with(module, art, plan, link.clone());
    let look = |plan: &Plan| keeps(module, art, plan, options(Level::Opt2), &run(plan));
    let (events, late) = look(&plan).unwrap_or_else(|why| panic!("{why}"));
    assert!(events > 500 && late > 0, "{events} events, {late} late");
    // Nobody waits for a tail.
    for step in plan.sections.iter_mut().flat_map(|section| &mut section.steps).flatten() {
        step.tails.clear();
    }
    plan.choices.iter_mut().for_each(|choice| choice.tails.clear());
    assert!((0..10).any(|_| look(&plan).is_err()));
}

/// Threads that meet at barriers, and that nothing can go wrong for.
const MEETING: &str = "
    #include <pthread.h>
    int x, y;
    pthread_barrier_t written, taken;
    void *one(void *arg) {
      while (1) { x = 1; pthread_barrier_wait(&written); int other = y; pthread_barrier_wait(&taken); x = other; }
    }
    void *two(void *arg) {
      while (1) { y = 2; pthread_barrier_wait(&written); int other = x; pthread_barrier_wait(&taken); y = other; }
    }
    int main(void) {
      pthread_t a, b;
      pthread_barrier_init(&written, 0, 2); pthread_barrier_init(&taken, 0, 2);
      pthread_create(&a, 0, one, 0); pthread_create(&b, 0, two, 0);
      pthread_join(a, 0); pthread_join(b, 0);
      return 0;
    }";

#[test]
fn a_thread_that_does_not_wait_is_seen() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("meeting.c");
    std::fs::write(&path, MEETING).expect("it can be written");
    let module = load(&path, &[]);
    let art = verified(&module);
    for level in LEVELS {
        let mut plan = plan(&module, &art, options(level)).expect("it can be followed");
        let look = |plan: &Plan| keeps(&module, &art, plan, options(level), &recorded(&module, &art, plan));
        look(&plan).unwrap_or_else(|why| panic!("{level:?}: {why}"));
        for step in plan.sections.iter_mut().flat_map(|section| &mut section.steps).flatten() {
            step.waits.clear();
        }
        // Where threads run one after the other by chance, nothing is wrong.
        assert!((0..10).any(|_| look(&plan).is_err()), "{level:?}");
    }
}

#[test]
fn a_turn_that_goes_to_the_wrong_thread_is_seen() {
    let module = example("producer_consumer_bug.c", &[]);
    let art = verified(&module);
    for level in LEVELS {
        let good = plan(&module, &art, options(level)).expect("it can be followed");
        // Behind a section things go on as behind another one. Some have the same threads there, or are hardly ever
        // come to: so it is tried in several ways.
        let ways = (1..good.nodes.len()).flat_map(|by| (0..good.sections.len()).map(move |n| (by, n)));
        let is_seen = |(by, n): (usize, usize)| {
            let mut plan = good.clone();
            plan.sections[n].to = (plan.sections[n].to + by) % plan.nodes.len();
            let compiling = CompileOptions { record: 4_000, ..CompileOptions::default() };
            let binary = compile(&module, Some((&plan, &art)), &compiling).expect("it compiles");
            let output = Command::new(binary.path()).env("SELVEDGE_SECONDS", "1").output().expect("it can be run");
            let printed = String::from_utf8_lossy(&output.stdout);
            // It leaves its schedule, is stuck, or does what the schedule does not have.
            let stopped = output.status.code() != Some(0) || printed.is_empty();
            stopped || keeps(&module, &art, &good, options(level), &printed).is_err()
        };
        assert!(ways.take(40).any(is_seen), "{level:?}");
    }
}

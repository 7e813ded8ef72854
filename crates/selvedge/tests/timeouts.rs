//! Waits that may time out.

use selvedge::model::{Builder, Engine, Stats};
use selvedge::sync::atomic::AtomicBool;
use selvedge::sync::atomic::Ordering::{Acquire, Release};
use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge::thread;
use std::time::Duration;

const TIME: Duration = Duration::from_millis(1);

/// A thread waits for a flag, with a timeout, and looks again whenever it wakes; another one sets it, or not.
fn waits_at_condvar(sets: bool) {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let other = Arc::clone(&pair);
    let handle = thread::spawn(move || {
        *other.0.lock().unwrap() = sets;
        other.1.notify_all();
    });
    let mut is_set = pair.0.lock().unwrap();
    while !*is_set {
        is_set = pair.1.wait_timeout(is_set, TIME).unwrap().0;
    }
    drop(is_set);
    handle.join().unwrap();
}

fn parks(sets: bool) {
    let flag = Arc::new(AtomicBool::new(false));
    let (other, main) = (Arc::clone(&flag), thread::current());
    let handle = thread::spawn(move || {
        other.store(sets, Release);
        main.unpark();
    });
    while !flag.load(Acquire) {
        thread::park_timeout(TIME);
    }
    handle.join().unwrap();
}

const WAITS: [fn(bool); 2] = [waits_at_condvar, parks];

fn explore(builder: &Builder, wait: fn(bool), sets: bool) -> Stats {
    builder.explore(move || wait(sets))
}

/// Who waits is not preempted: with a timeout as without one.
#[test]
fn to_let_others_go_while_one_waits_with_a_timeout_takes_no_preemption() {
    for wait in WAITS {
        let mut builder = Builder::new();
        (builder.preemption_bound, builder.bound_after) = (Some(0), 0);
        let stats = explore(&builder, wait, true);
        assert_eq!(stats.failure, None);
        assert!(stats.complete > 0);
    }
}

/// Otherwise a model of which nothing was seen to the end would pass.
#[test]
fn a_wait_for_what_never_comes_fails_though_it_times_out() {
    for wait in WAITS {
        for engine in [Engine::Graph, Engine::Trace] {
            let mut builder = Builder::new();
            builder.engine = engine;
            assert_eq!(explore(&builder, wait, true).failure, None);
            let stats = explore(&builder, wait, false);
            let failure = stats.failure.expect("it never ends");
            assert!(failure.starts_with("no execution comes to its end: a thread would have to time out"), "{failure}");
            assert_eq!(stats.complete, 0);
        }
    }
}

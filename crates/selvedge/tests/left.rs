//! Loops that try an exchange again, and leave something in attempts after which no exchange is made, or in which they look at
//! what others write later.

use selvedge::model::{Builder, MemoryModel, Stats};
use selvedge::sync::Arc;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use selvedge::thread;

fn explore(model: MemoryModel, one_by_one: bool, body: fn()) -> Stats {
    let mut builder = Builder::new();
    builder.memory_model = model;
    builder.attempts_one_by_one = one_by_one;
    builder.spurious = false;
    builder.explore(body)
}

/// Under all models, with and without an execution for every attempt.
fn is_found(what: &str, body: fn()) {
    for model in [MemoryModel::Rc11, MemoryModel::Ra, MemoryModel::Tso, MemoryModel::Sc] {
        for one_by_one in [false, true] {
            let stats = explore(model, one_by_one, body);
            assert!(stats.failure.as_ref().is_some_and(|failure| failure.contains(what)), "{model:?} {stats:?}");
        }
    }
}

fn add(x: &AtomicUsize) {
    x.fetch_update(AcqRel, Acquire, |n| Some(n + 1)).unwrap();
}

/// How often an exchange has failed before there was nothing to be exchanged.
fn fails_before_the_end(x: &AtomicUsize) -> usize {
    let mut fails = 0;
    let mut old = x.load(Relaxed);
    while old != 1 {
        match x.compare_exchange(old, old + 10, AcqRel, Relaxed) {
            Ok(_) => return 0,
            Err(now) => {
                fails += 1;
                old = now;
            }
        }
    }
    fails
}

#[test]
fn an_attempt_that_fails_before_a_loop_ends_without_an_exchange() {
    is_found("it has failed", || {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || add(&other));
        let fails = fails_before_the_end(&x);
        handle.join().unwrap();
        assert_eq!(fails, 0, "it has failed");
    });
}

#[test]
fn an_attempt_that_fails_before_a_thread_ends() {
    is_found("it has failed", || {
        let x = Arc::new(AtomicUsize::new(0));
        let handle = {
            let x = Arc::clone(&x);
            thread::spawn(move || {
                let fails = [0, 1].map(|_| fails_before_the_end(&x));
                fails[0] + fails[1]
            })
        };
        add(&x);
        assert_eq!(handle.join().unwrap(), 0, "it has failed");
    });
}

/// It gives up when its exchange has failed, without another look.
#[test]
fn an_attempt_that_fails_and_is_the_last() {
    is_found("it has given up", || {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || other.store(1, Release));
        let old = x.load(Relaxed);
        let gives_up = old != 1 && x.compare_exchange(old, old + 10, AcqRel, Relaxed).is_err();
        handle.join().unwrap();
        assert!(!gives_up, "it has given up");
    });
}

/// Only attempts that begin with the first value look at `z`, and nobody has written there when the exchange is made.
#[test]
fn an_attempt_that_fails_sees_what_is_written_later() {
    is_found("it is odd", || {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let [first, second, third] = [0, 1, 2].map(|_| Arc::clone(&shared));
        let handles = [
            thread::spawn(move || add(&first.0)),
            thread::spawn(move || {
                let (x, z) = &*second;
                loop {
                    let old = x.load(Acquire);
                    let odd = old == 0 && z.load(Acquire) == 1;
                    match x.compare_exchange(old, old + 10, AcqRel, Acquire) {
                        Ok(_) => break,
                        Err(_) => assert!(!odd, "it is odd"),
                    }
                }
            }),
            thread::spawn(move || third.1.store(1, Release)),
        ];
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    });
}

/// With what it has found, a loop ends without an exchange, and the next one begins.
#[test]
fn an_attempt_that_fails_is_followed_by_another_loop() {
    is_found("it has failed", || {
        let x = Arc::new(AtomicUsize::new(0));
        let [first, second] = [0, 1].map(|_| Arc::clone(&x));
        let put = |x: &AtomicUsize| while x.compare_exchange(x.load(Acquire), 2, AcqRel, Acquire).is_err() {};
        let first = thread::spawn(move || put(&first));
        let second = thread::spawn(move || {
            let old = second.load(Relaxed);
            let fails = old != 2 && second.compare_exchange(old, old + 2, Relaxed, Acquire).is_err();
            put(&second);
            fails
        });
        let seen = x.load(Acquire);
        first.join().unwrap();
        assert!(!second.join().unwrap() || seen == 0, "it has failed");
    });
}

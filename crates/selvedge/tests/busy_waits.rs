//! Loops that wait for others, and in each iteration make an exchange, update something, or wait for what they have done
//! themselves (`spin.rs`).

#[path = "support/ways.rs"]
mod ways;

use selvedge::future::block_on;
use selvedge::model::{Stats, is_tried_out};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use selvedge::sync::{Arc, Notify};
use selvedge::{hint, thread};
use std::collections::BTreeSet;
use std::task::Poll::{Pending, Ready};
use ways::{WAYS, Way, explore};

const REPEATS: &str = "writes the same each time";

/// What a model has, in which main waits for what another thread does.
#[derive(Default)]
struct Shared {
    ready: AtomicUsize,
    count: AtomicUsize,
    notify: Notify,
}

/// Main waits for 1. If nobody writes that, it is found to spin forever; and so is what comes after the loop.
fn waits(says: &str, wait: fn(&Shared)) {
    for way in WAYS {
        let run = move |sets: usize, fails: bool| {
            explore(way, move || {
                let shared = Arc::new(Shared::default());
                let other = Arc::clone(&shared);
                let handle = thread::spawn(move || {
                    other.ready.store(sets, Release);
                    other.count.load(Relaxed)
                });
                wait(&shared);
                let seen = handle.join().unwrap();
                assert!(!fails || seen != 0, "it has seen nothing");
            })
        };
        let stats = run(1, false);
        assert_eq!(stats.failure, None, "{way:?}");
        assert!((1..=16).contains(&stats.complete), "{way:?}: {}", stats.complete);
        assert!(
            stats.not_covered.iter().all(|what| !says.is_empty() && what.contains(says)),
            "{:?}",
            stats.not_covered
        );
        assert_eq!(stats.not_covered.len(), usize::from(!says.is_empty()), "{way:?}: {:?}", stats.not_covered);
        let failure = run(1, true).failure.expect("the count is zero at first");
        assert!(failure.contains("it has seen nothing"), "{way:?}: {failure}");
        let failure = run(0, false).failure.expect("nobody writes 1");
        assert!(failure.starts_with("livelock: main spins forever"), "{way:?}: {failure}");
    }
}

#[test]
fn an_exchange_leaves_what_it_finds() {
    waits("", |shared| {
        while shared.ready.load(Acquire) != 1 {
            let _ = shared.ready.compare_exchange(0, 0, AcqRel, Relaxed);
            hint::spin_loop();
        }
    });
}

#[test]
fn what_is_updated_is_put_back() {
    waits(REPEATS, |shared| {
        while shared.ready.load(Acquire) == 0 {
            shared.count.fetch_update(AcqRel, Acquire, |n| Some(n + 1)).unwrap();
            shared.count.fetch_sub(1, AcqRel);
            hint::spin_loop();
        }
    });
}

#[test]
fn a_thread_unparks_itself() {
    waits(REPEATS, |shared| {
        while shared.ready.load(Acquire) == 0 {
            thread::current().unpark();
            thread::park();
            hint::spin_loop();
        }
    });
}

#[test]
fn a_thread_notifies_itself() {
    waits(REPEATS, |shared| {
        while shared.ready.load(Acquire) == 0 {
            shared.notify.notify();
            shared.notify.wait();
            hint::spin_loop();
        }
    });
    // It comes round in between.
    waits(REPEATS, |shared| {
        while shared.ready.load(Acquire) == 0 {
            shared.notify.notify();
            hint::spin_loop();
            shared.notify.wait();
        }
    });
}

#[test]
fn a_future_wakes_itself() {
    waits(REPEATS, |shared| {
        block_on(std::future::poll_fn(|cx| {
            if shared.ready.load(Acquire) == 1 {
                return Ready(());
            }
            cx.waker().wake_by_ref();
            hint::spin_loop();
            Pending
        }));
    });
}

/// The values that a model returns in some execution.
fn values(way: Way, f: impl Fn() -> usize + Send + Sync + 'static) -> (BTreeSet<usize>, Stats) {
    let noted = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let inner = std::sync::Arc::clone(&noted);
    let stats = explore(way, move || {
        let value = f();
        if !is_tried_out() {
            inner.lock().unwrap().insert(value);
        }
    });
    let noted = noted.lock().unwrap().clone();
    (noted, stats)
}

/// What it waits for is done by another thread each time, so it comes to an end by itself however often it comes round: all of
/// it is explored.
#[test]
fn a_loop_that_others_keep_going_is_not_cut_off() {
    const TIMES: usize = 10;
    for way in WAYS {
        let (noted, stats) = values(way, || {
            let shared = Arc::new(Shared::default());
            let (other, main) = (Arc::clone(&shared), thread::current());
            let handle = thread::spawn(move || {
                for n in 1..=TIMES {
                    other.count.store(n, Relaxed);
                    main.unpark();
                    other.notify.wait();
                }
            });
            loop {
                thread::park();
                if shared.count.load(Relaxed) == TIMES {
                    break;
                }
                shared.notify.notify();
                hint::spin_loop();
            }
            shared.notify.notify();
            handle.join().unwrap();
            shared.count.load(Relaxed)
        });
        assert_eq!((stats.failure, stats.not_covered), (None, vec![]), "{way:?}");
        assert_eq!(noted, BTreeSet::from([TIMES]), "{way:?}");
    }
}

/// The same, and what others have put there is taken with an exchange.
#[test]
fn what_others_add_is_taken_away_until_it_is_enough() {
    const TIMES: usize = 10;
    fn take(shared: &Shared) -> bool {
        shared.count.fetch_update(AcqRel, Acquire, |n| n.checked_sub(1)).is_ok()
    }
    let (noted, stats) = values(WAYS[0], || {
        let shared = Arc::new(Shared::default());
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            for _ in 0..TIMES {
                other.count.fetch_add(1, AcqRel);
                other.notify.wait();
            }
            other.ready.store(1, Release);
        });
        let mut last = 0;
        while shared.ready.load(Acquire) == 0 {
            if take(&shared) {
                last = 1;
                shared.notify.notify();
            }
            hint::spin_loop();
        }
        handle.join().unwrap();
        last
    });
    assert_eq!((stats.failure, stats.not_covered), (None, vec![]));
    assert_eq!(noted, BTreeSet::from([1]));
}

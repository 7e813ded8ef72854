//! Loops that wait for others, and in each iteration make an exchange, update something, or wait for what they have done
//! themselves (`spin.rs`).

#[path = "support/ways.rs"]
mod ways;

use selvedge::future::block_on;
use selvedge::model::{Stats, is_tried_out};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use selvedge::sync::{Arc, Mutex, Notify, RwLock};
use selvedge::{hint, thread};
use std::collections::BTreeSet;
use std::task::Poll::{Pending, Ready};
use ways::{WAYS, Way, explore};

const REPEATS: &str = "writes the same each time";
const TRIED: &str = "try to take that lock";

/// What a model has, in which main waits for what another thread does.
#[derive(Default)]
struct Shared {
    ready: AtomicUsize,
    count: AtomicUsize,
    lone: AtomicUsize,
    notify: Notify,
    lock: Mutex<usize>,
    shelf: RwLock<usize>,
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

#[test]
fn a_thread_tries_to_take_a_lock_that_nobody_else_tries() {
    waits("", |shared| {
        while shared.ready.load(Acquire) == 0 {
            let _ = shared.lock.try_lock().map(|value| *value);
            hint::spin_loop();
        }
    });
    waits("", |shared| {
        while shared.ready.load(Acquire) == 0 {
            let _ = shared.shelf.try_write().map(|value| *value);
            hint::spin_loop();
            let _ = shared.shelf.try_read().map(|value| *value);
        }
    });
}

/// A thread that tries to take a lock and waits for what is in it sees what others put there, and is found to spin if they do not.
#[test]
fn what_is_under_a_lock_that_is_tried_is_seen() {
    for way in WAYS {
        let run = move |puts: usize| {
            explore(way, move || {
                let shared = Arc::new(Shared::default());
                let other = Arc::clone(&shared);
                let handle = thread::spawn(move || *other.lock.lock().unwrap() = puts);
                while !shared.lock.try_lock().is_ok_and(|value| *value == 1) {
                    hint::spin_loop();
                }
                handle.join().unwrap();
            })
        };
        let stats = run(1);
        assert_eq!((stats.failure, stats.not_covered), (None, vec![]), "{way:?}");
        assert!((1..=16).contains(&stats.complete), "{way:?}: {}", stats.complete);
        let failure = run(2).failure.expect("nobody puts 1 there");
        assert!(failure.starts_with("livelock: main spins forever"), "{way:?}: {failure}");
    }
}

/// Somebody else tries as well: he may find the lock held, as often as the loop is followed; and if he is gone and nobody writes what
/// the loop waits for, it is a livelock all the same.
#[test]
fn a_lock_that_others_try_is_found_held() {
    for way in WAYS {
        let run = move |sets: usize| {
            values(way, move || {
                let shared = Arc::new(Shared::default());
                let other = Arc::clone(&shared);
                let handle = thread::spawn(move || {
                    let found = usize::from(other.lock.try_lock().is_err());
                    other.ready.store(sets, Release);
                    found
                });
                while shared.ready.load(Acquire) == 0 {
                    let _ = shared.lock.try_lock().map(|value| *value);
                    hint::spin_loop();
                }
                handle.join().unwrap()
            })
        };
        let (noted, stats) = run(1);
        assert_eq!((stats.failure, noted), (None, BTreeSet::from([0, 1])), "{way:?}");
        assert!(stats.not_covered.iter().any(|what| what.contains(TRIED)), "{way:?}: {:?}", stats.not_covered);
        let failure = run(0).1.failure.expect("nobody writes 1");
        assert!(failure.starts_with("livelock: main spins forever"), "{way:?}: {failure}");
    }
}

/// One thread holds the lock that another one tries to take, and each waits for the other.
#[test]
fn a_lock_that_is_tried_is_held_by_one_who_waits() {
    for way in WAYS {
        let stats = explore(way, || {
            let shared = Arc::new(Shared::default());
            let other = Arc::clone(&shared);
            let handle = thread::spawn(move || {
                let _held = other.lock.lock().unwrap();
                while other.ready.load(Acquire) == 0 {
                    hint::spin_loop();
                }
            });
            while shared.ready.load(Acquire) == 0 {
                let _ = shared.lock.try_lock().map(|value| *value);
                hint::spin_loop();
            }
            handle.join().unwrap();
        });
        let failure = stats.failure.expect("both wait for ever");
        assert!(failure.starts_with("livelock"), "{way:?}: {failure}");
    }
}

/// Loops that do not say that they wait are found out, also if they write.
#[test]
fn what_writes_in_each_round_need_not_say_that_it_waits() {
    waits(REPEATS, |shared| {
        while shared.ready.load(Acquire) == 0 {
            shared.lone.store(1, Release);
        }
    });
    waits(REPEATS, |shared| {
        while shared.ready.load(Acquire) == 0 {
            shared.lone.store(1, Release);
            shared.lone.store(0, Release);
        }
    });
    waits(REPEATS, |shared| {
        while shared.ready.load(Acquire) == 0 {
            thread::current().unpark();
            thread::park();
        }
    });
    waits(REPEATS, |shared| {
        block_on(std::future::poll_fn(|cx| {
            if shared.ready.load(Acquire) == 1 {
                return Ready(());
            }
            cx.waker().wake_by_ref();
            Pending
        }));
    });
    waits("", |shared| {
        while shared.ready.load(Acquire) == 0 {
            let _ = shared.lock.try_lock().map(|value| *value);
        }
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

/// A loop that writes the same each time is cut off, whatever it finds. If it would find what it has written itself then, it might
/// get on: that is no livelock.
#[test]
fn who_finds_next_what_it_has_written_does_not_spin_forever() {
    let duel = || {
        let word = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&word);
        let handle = thread::spawn(move || {
            while other.swap(1, AcqRel) != 1 {
                hint::spin_loop();
            }
        });
        while word.swap(2, AcqRel) != 2 {
            hint::spin_loop();
        }
        handle.join().unwrap();
    };
    let resets = || {
        let word = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&word);
        let handle = thread::spawn(move || (0..8).for_each(|_| other.store(0, Release)));
        while word.fetch_or(1, AcqRel) == 0 {
            hint::spin_loop();
        }
        handle.join().unwrap();
    };
    for way in WAYS {
        for stats in [explore(way, duel), explore(way, resets)] {
            assert_eq!(stats.failure, None, "{way:?}");
            assert!(stats.complete > 0 && stats.blocked > 0, "{way:?}: {stats:?}");
            assert!(stats.not_covered.iter().any(|what| what.contains(REPEATS)), "{way:?}: {:?}", stats.not_covered);
        }
    }
}

/// If it finds that again and again, it is one.
#[test]
fn who_finds_what_it_has_written_again_and_again_spins_forever() {
    for way in WAYS {
        let stats = explore(way, || {
            let word = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&word);
            let handle = thread::spawn(move || other.store(3, Release));
            while word.swap(2, AcqRel) != 4 {
                hint::spin_loop();
            }
            handle.join().unwrap();
        });
        let failure = stats.failure.expect("nobody writes 4");
        assert!(failure.starts_with("livelock: main spins forever"), "{way:?}: {failure}");
    }
}

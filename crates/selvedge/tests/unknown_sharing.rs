//! What threads tell each other by anything but the model's own objects: an execution is run again in another order, and if threads
//! come to something else then, the model is refused.

// Pointers are sent to other threads.
#![allow(unsafe_code)]

use selvedge::Engine;
use selvedge::model::{Builder, Stats};
use selvedge::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use selvedge::sync::{Arc, Condvar, Mutex, mpsc};
use selvedge::thread;
use std::sync::atomic::{AtomicBool, AtomicU32 as Outside, Ordering::SeqCst};

/// Explores a model with both engines.
fn with_each(model: fn(), check: impl Fn(Stats)) {
    for engine in [Engine::Graph, Engine::Trace] {
        let mut builder = Builder::new();
        builder.engine = engine;
        check(builder.explore(model));
    }
}

/// A model is refused, and this is what a thread did in one order and in the other.
fn is_refused(model: fn(), deeds: [&str; 2]) {
    with_each(model, |stats| {
        let failure = stats.failure.expect("threads share something");
        assert!(failure.contains("not deterministic"), "{failure}");
        assert!(failure.contains("when threads ran in one order"), "{failure}");
        assert!(failure.contains("an atomic or a lock of `std`"), "{failure}");
        assert!(failure.contains("unknown_sharing.rs:"), "{failure}");
        assert!(deeds.iter().all(|deed| failure.contains(deed)), "{failure}");
    });
}

/// A model is explored to its end.
fn is_explored(model: fn()) {
    with_each(model, |stats| assert_eq!(stats.failure, None));
}

#[test]
fn a_flag_of_std_that_another_thread_sets() {
    is_refused(
        || {
            let shared = Arc::new((Outside::new(0), AtomicU32::new(0), AtomicU32::new(0)));
            let other = Arc::clone(&shared);
            let sets = thread::spawn(move || {
                other.1.load(Relaxed);
                other.0.store(1, SeqCst);
                other.1.load(Relaxed);
            });
            let other = Arc::clone(&shared);
            let looks = thread::spawn(move || {
                other.2.load(Relaxed);
                other.2.store(other.0.load(SeqCst), Relaxed);
            });
            sets.join().unwrap();
            looks.join().unwrap();
        },
        ["store of 1, Relaxed", "store of 0, Relaxed"],
    );
}

/// It comes before anything that the thread does, and is found when some more executions were explored.
#[test]
fn a_flag_that_is_looked_at_first() {
    is_refused(
        || {
            let shared = Arc::new((AtomicBool::new(false), AtomicU32::new(0), AtomicU32::new(0)));
            let other = Arc::clone(&shared);
            let looks = thread::spawn(move || {
                if !other.0.load(SeqCst) {
                    other.1.load(Relaxed);
                }
                other.1.store(1, Relaxed);
            });
            let other = Arc::clone(&shared);
            let stores = thread::spawn(move || (1..8).for_each(|n| other.2.store(n, Relaxed)));
            shared.2.load(Relaxed);
            shared.0.store(true, SeqCst);
            looks.join().unwrap();
            stores.join().unwrap();
        },
        ["load, Relaxed", "thread 1"],
    );
}

#[test]
fn how_often_something_is_done() {
    is_refused(
        || {
            let shared = Arc::new((Outside::new(0), AtomicU32::new(0)));
            let handles = [1, 2].map(|n| {
                let other = Arc::clone(&shared);
                thread::spawn(move || {
                    let before = other.0.fetch_add(n, SeqCst);
                    for _ in 0..before {
                        other.1.load(Relaxed);
                    }
                })
            });
            handles.into_iter().for_each(|handle| handle.join().unwrap());
        },
        ["did this when threads ran in one order: load", "nothing"],
    );
}

/// What is said of a thread that fails is why.
#[test]
fn an_assertion_that_holds_in_one_order_only() {
    is_refused(
        || {
            let shared = Arc::new((AtomicBool::new(false), AtomicU32::new(0)));
            let other = Arc::clone(&shared);
            let sets = thread::spawn(move || {
                other.0.store(true, SeqCst);
                other.1.load(Relaxed);
            });
            let other = Arc::clone(&shared);
            let looks = thread::spawn(move || {
                other.1.load(Relaxed);
                assert!(other.0.load(SeqCst), "it is not set yet");
                other.1.load(Relaxed);
            });
            sets.join().unwrap();
            looks.join().unwrap();
        },
        ["it failed: it is not set yet", "load, Relaxed"],
    );
}

/// A thread that fails has ended, too, and may have made all its steps before.
#[test]
fn an_assertion_behind_the_last_operation() {
    let model = || {
        let shared = Arc::new((Outside::new(0), AtomicU32::new(0)));
        let handles = [1, 2].map(|n| {
            let other = Arc::clone(&shared);
            thread::spawn(move || {
                other.1.load(Relaxed);
                other.0.store(n, SeqCst);
            })
        });
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        assert_eq!(shared.0.load(SeqCst), 2, "the other one was last");
    };
    is_refused(model, ["main did this", "it failed: assertion `left == right` failed: the other one was last"]);
    is_refused(
        || {
            let shared = Arc::new((AtomicBool::new(false), AtomicU32::new(0)));
            let other = Arc::clone(&shared);
            let sets = thread::spawn(move || {
                other.0.store(true, SeqCst);
                other.1.load(Relaxed);
            });
            let other = Arc::clone(&shared);
            let looks = thread::spawn(move || {
                other.1.load(Relaxed);
                assert!(other.0.load(SeqCst), "it is not set yet");
            });
            sets.join().unwrap();
            looks.join().unwrap();
        },
        ["thread 2 did this", "it failed: it is not set yet"],
    );
}

/// Who joins a thread that does not end then fails too, and is not to blame.
#[test]
fn a_thread_that_does_not_end() {
    is_refused(
        || {
            let shared = Arc::new((Outside::new(0), AtomicU32::new(0)));
            let other = Arc::clone(&shared);
            let sets = thread::spawn(move || {
                other.1.load(Relaxed);
                other.0.store(1, SeqCst);
                other.1.load(Relaxed);
            });
            let other = Arc::clone(&shared);
            let looks = thread::spawn(move || {
                other.1.load(Relaxed);
                selvedge::assume(other.0.load(SeqCst) == 1);
            });
            sets.join().unwrap();
            looks.join().unwrap();
        },
        ["thread 2 did this when threads ran in one order: it ended", "it failed: what it assumes does not hold"],
    );
}

/// What is found out in another order lets everything start again, and then it is compared.
#[test]
fn a_loop_that_waits_for_what_the_model_does_not_know() {
    is_refused(
        || {
            let shared = Arc::new((Outside::new(0), AtomicU32::new(0)));
            let other = Arc::clone(&shared);
            let sets = thread::spawn(move || {
                other.1.load(Relaxed);
                other.0.store(1, SeqCst);
                other.1.load(Relaxed);
            });
            let other = Arc::clone(&shared);
            let waits = thread::spawn(move || {
                other.1.load(Relaxed);
                while other.0.load(SeqCst) == 0 {
                    thread::yield_now();
                }
                other.1.load(Relaxed);
            });
            sets.join().unwrap();
            waits.join().unwrap();
        },
        [
            "thread 2 did this when threads ran in one order: load, Relaxed",
            "it failed: a loop that calls `hint::spin_loop`",
        ],
    );
}

/// What a thread does at once, and its creator after it was created, come in any order.
#[test]
fn a_thread_and_its_creator() {
    is_refused(
        || {
            let shared = Arc::new((Outside::new(0), AtomicU32::new(0)));
            let other = Arc::clone(&shared);
            let sets = thread::spawn(move || {
                other.0.store(1, SeqCst);
                other.1.load(Relaxed);
            });
            shared.1.store(shared.0.load(SeqCst), Relaxed);
            sets.join().unwrap();
        },
        ["main did this when threads ran in one order: store of 0", "store of 1"],
    );
    is_refused(
        || {
            let shared = Arc::new((Outside::new(0), AtomicU32::new(0)));
            let other = Arc::clone(&shared);
            let sets = thread::spawn(move || {
                other.0.store(1, SeqCst);
                other.1.store(1, Relaxed);
            });
            if shared.0.load(SeqCst) == 1 {
                shared.1.store(7, Relaxed);
            }
            sets.join().unwrap();
        },
        ["main did this when threads ran in one order: join", "store of 7"],
    );
    is_refused(
        || {
            let x = Arc::new(AtomicU32::new(0));
            let (sender, receiver) = std::sync::mpsc::channel();
            let other = Arc::clone(&x);
            let sends = thread::spawn(move || {
                let _ = sender.send(3);
                other.store(1, Relaxed);
            });
            if let Ok(value) = receiver.try_recv() {
                x.store(value, Relaxed);
            }
            sends.join().unwrap();
        },
        ["main did this when threads ran in one order: join", "store of 3"],
    );
}

#[test]
fn the_first_value_of_an_object() {
    is_refused(
        || {
            let shared = Arc::new((Outside::new(0), AtomicU32::new(0)));
            let other = Arc::clone(&shared);
            let sets = thread::spawn(move || {
                other.1.load(Relaxed);
                other.0.store(1, SeqCst);
                other.1.load(Relaxed);
            });
            let other = Arc::clone(&shared);
            let makes = thread::spawn(move || {
                other.1.load(Relaxed);
                AtomicU32::new(other.0.load(SeqCst)).fetch_add(1, Relaxed);
            });
            sets.join().unwrap();
            makes.join().unwrap();
        },
        ["the first value of", "and this in another: 0"],
    );
}

#[test]
fn messages_through_a_channel_of_std() {
    is_refused(
        || {
            let x = Arc::new(AtomicU32::new(0));
            let (sender, receiver) = std::sync::mpsc::channel();
            let other = Arc::clone(&x);
            let sends = thread::spawn(move || {
                other.load(Relaxed);
                let _ = sender.send(3);
            });
            let receives = thread::spawn(move || {
                x.load(Relaxed);
                if let Ok(value) = receiver.try_recv() {
                    x.store(value, Relaxed);
                }
            });
            sends.join().unwrap();
            receives.join().unwrap();
        },
        ["store of 3, Relaxed", "nothing"],
    );
}

/// What is shared, but only by who comes after whom.
#[test]
fn what_the_model_orders_may_be_anywhere() {
    is_explored(|| {
        let shared = Arc::new((Mutex::new(()), Outside::new(0), AtomicU32::new(0)));
        let handles = [0, 1].map(|_| {
            let other = Arc::clone(&shared);
            thread::spawn(move || {
                let guard = other.0.lock().unwrap();
                let before = other.1.fetch_add(1, SeqCst);
                other.2.store(before, Relaxed);
                drop(guard);
                other.2.load(Relaxed);
            })
        });
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        assert_eq!(shared.1.load(SeqCst), 2);
    });
    is_explored(|| {
        let shared = Arc::new((Outside::new(0), AtomicU32::new(0), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let sets = thread::spawn(move || {
            other.0.store(5, SeqCst);
            other.1.store(1, Release);
            other.2.load(Relaxed);
        });
        if shared.1.load(Acquire) == 1 {
            shared.2.store(shared.0.load(SeqCst), Relaxed);
        }
        sets.join().unwrap();
        shared.2.store(shared.0.load(SeqCst), Relaxed);
    });
    is_explored(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new(), Outside::new(0), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let sets = thread::spawn(move || {
            other.2.store(7, SeqCst);
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
            other.3.load(Relaxed);
        });
        let guard = shared.1.wait_while(shared.0.lock().unwrap(), |set| !*set).unwrap();
        drop(guard);
        shared.3.store(shared.2.load(SeqCst), Relaxed);
        sets.join().unwrap();
    });
    is_explored(|| {
        let (sender, receiver) = mpsc::channel();
        let shared = Arc::new((Outside::new(0), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let sends = thread::spawn(move || {
            other.0.store(9, SeqCst);
            sender.send(()).unwrap();
            other.1.load(Relaxed);
        });
        receiver.recv().unwrap();
        shared.1.store(shared.0.load(SeqCst), Relaxed);
        sends.join().unwrap();
    });
    is_explored(|| {
        let shared = Arc::new((Outside::new(0), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let sleeps = thread::spawn(move || {
            thread::park();
            other.1.store(other.0.load(SeqCst), Relaxed);
        });
        shared.0.store(4, SeqCst);
        sleeps.thread().unpark();
        shared.1.load(Relaxed);
        sleeps.join().unwrap();
    });
}

/// A log makes no difference, whoever lets it grow.
#[test]
fn a_log_of_what_was_seen() {
    is_explored(|| {
        let log = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let last = Arc::new(AtomicPtr::new(std::ptr::null_mut::<(u64, u64, bool)>()));
        let handles = [0, 1].map(|n| {
            let (log, last) = (std::sync::Arc::clone(&log), Arc::clone(&last));
            thread::spawn(move || {
                for k in 0..2_u64 {
                    let seen = last.load(Relaxed).is_null();
                    log.lock().unwrap().push((n, k, seen));
                }
                // A block of the kind that the log may have needed.
                let own: Vec<(u64, u64, bool)> = Vec::with_capacity(4);
                let mut own = std::mem::ManuallyDrop::new(own);
                last.store(own.as_mut_ptr(), Relaxed);
            })
        });
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        assert_eq!(log.lock().unwrap().len(), 4);
    });
}

/// Who is the last owner of something that `std` counts depends on the order, and is allowed to.
#[test]
fn the_last_owner_by_counts_of_std() {
    struct Stores(Arc<AtomicU32>);
    impl Drop for Stores {
        fn drop(&mut self) {
            self.0.store(1, Relaxed);
        }
    }
    // Nothing that threads see depends on it: they do not look.
    is_explored(|| {
        let stores = std::sync::Arc::new(Stores(Arc::new(AtomicU32::new(0))));
        let other = std::sync::Arc::clone(&stores);
        let one = thread::spawn(move || drop(other));
        let other = std::sync::Arc::clone(&stores);
        let another = thread::spawn(move || drop(other));
        drop(stores);
        one.join().unwrap();
        another.join().unwrap();
    });
}

/// Threads that wait for each other by operations, scopes, and threads that end without any.
#[test]
fn models_as_they_should_be() {
    is_explored(|| {
        let (x, y) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            scope.spawn(|| x.fetch_add(1, Relaxed));
            scope.spawn(|| {
                y.store(1, Release);
                scope.spawn(|| y.load(Acquire) + x.load(Acquire));
            });
            scope.spawn(|| ());
        });
        assert_eq!((x.load(Relaxed), y.load(Relaxed)), (1, 1));
    });
    is_explored(|| {
        let boxed = Box::into_raw(Box::new(AtomicU32::new(3)));
        let shared = Arc::new((AtomicPtr::new(boxed), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            // SAFETY: it is freed only after this has been told.
            unsafe { &*other.0.load(Relaxed) }.fetch_add(1, Relaxed);
            other.1.store(1, Release);
            other.1.load(Relaxed);
        });
        if shared.1.load(Acquire) == 1 {
            // SAFETY: it comes from a box, and nobody else uses it any more.
            drop(unsafe { Box::from_raw(boxed) });
            shared.1.load(Relaxed);
            handle.join().unwrap();
        } else {
            handle.join().unwrap();
            // SAFETY: the same.
            drop(unsafe { Box::from_raw(boxed) });
        }
    });
}

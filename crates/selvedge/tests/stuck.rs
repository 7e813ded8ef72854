//! Threads that spin forever, and such that only look as if they did: what belongs to the cycle, and what they choose in it.

use selvedge::model::{Builder, Engine, MemoryModel, Stats};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use selvedge::sync::{Arc, Mutex};
use selvedge::{hint, thread};

const WAYS: [(Engine, MemoryModel); 5] = [
    (Engine::Graph, MemoryModel::Rc11),
    (Engine::Graph, MemoryModel::Sc),
    (Engine::Graph, MemoryModel::Tso),
    (Engine::Graph, MemoryModel::Ra),
    (Engine::Trace, MemoryModel::Sc),
];

fn explore((engine, memory_model): (Engine, MemoryModel), model: impl Fn() + Send + Sync + 'static) -> Stats {
    let mut builder = Builder::new();
    (builder.engine, builder.memory_model) = (engine, memory_model);
    builder.explore(model)
}

fn spins_forever(stats: &Stats) -> bool {
    stats.failure.as_ref().is_some_and(|failure| failure.starts_with("livelock: thread"))
}

fn words<const N: usize>(values: [usize; N]) -> Arc<[AtomicUsize; N]> {
    Arc::new(values.map(AtomicUsize::new))
}

#[test]
fn a_loop_inside_of_an_attempt_is_not_the_attempt() {
    // Once the exchange has failed, the thread looks at another word only, and that stays as it is. From where the attempt
    // began it would get on.
    for first in [false, true] {
        for way in WAYS {
            let stats = explore(way, move || {
                let ours = words([0, 0]);
                let theirs = Arc::clone(&ours);
                let sets = move || {
                    theirs[0].store(1, Relaxed);
                    theirs[0].store(0, Relaxed);
                    theirs[1].store(1, Relaxed);
                };
                let waits = move || {
                    while ours[0].compare_exchange(0, 1, Acquire, Relaxed).is_err() {
                        while ours[1].load(Relaxed) == 1 {
                            hint::spin_loop();
                        }
                    }
                };
                if first {
                    thread::spawn(sets);
                    thread::spawn(waits);
                } else {
                    thread::spawn(waits);
                    thread::spawn(sets);
                }
            });
            assert!(spins_forever(&stats), "{way:?} {first}: {stats:?}");
        }
    }
}

#[test]
fn a_loop_inside_of_an_attempt_that_tries_a_lock_is_not_the_attempt() {
    for way in WAYS {
        let stats = explore(way, || {
            let ours = Arc::new((Mutex::new(()), AtomicUsize::new(0)));
            let theirs = Arc::clone(&ours);
            thread::spawn(move || {
                while ours.0.try_lock().is_err() {
                    while ours.1.load(Relaxed) == 1 {
                        hint::spin_loop();
                    }
                }
            });
            thread::spawn(move || {
                drop(theirs.0.try_lock());
                theirs.1.store(1, Relaxed);
            });
        });
        assert!(spins_forever(&stats), "{way:?}: {stats:?}");
    }
}

#[test]
fn a_loop_inside_of_an_attempt_that_others_end_is_no_livelock() {
    for way in WAYS {
        let stats = explore(way, || {
            let ours = words([0, 0]);
            let theirs = Arc::clone(&ours);
            thread::spawn(move || {
                while ours[0].compare_exchange(0, 1, Acquire, Relaxed).is_err() {
                    while ours[1].load(Relaxed) == 1 {
                        hint::spin_loop();
                    }
                }
            });
            thread::spawn(move || {
                theirs[0].store(1, Relaxed);
                theirs[1].store(1, Relaxed);
                theirs[0].store(0, Relaxed);
                theirs[1].store(0, Relaxed);
            });
        });
        assert_eq!(stats.failure, None, "{way:?}");
    }
}

#[test]
fn an_exchange_that_fails_for_a_reason_has_not_chosen_to() {
    // The lock is given back with an exchange that may fail for no reason: then nobody gives it back.
    for (weak, counts) in [(false, true), (true, false), (true, true)] {
        for way in WAYS {
            let stats = explore(way, move || {
                let ours = words([1]);
                let theirs = Arc::clone(&ours);
                let waits = thread::spawn(move || {
                    let mut looks = 0;
                    loop {
                        let taken = match weak {
                            true => theirs[0].compare_exchange_weak(0, 1, Acquire, Relaxed),
                            false => theirs[0].compare_exchange(0, 1, Acquire, Relaxed),
                        };
                        if taken.is_ok() {
                            return looks;
                        }
                        // What it leaves on the stack makes the exchange one that chooses.
                        if counts && looks < 2 {
                            looks += 1;
                        }
                        hint::spin_loop();
                    }
                });
                let _ = ours[0].compare_exchange_weak(1, 0, Release, Relaxed);
                waits.join().unwrap();
            });
            assert!(spins_forever(&stats), "{way:?} {weak} {counts}: {stats:?}");
        }
    }
}

#[test]
fn an_exchange_that_has_failed_for_no_reason_may_succeed() {
    for way in WAYS {
        let stats = explore(way, || {
            let ours = words([1, 0]);
            let theirs = Arc::clone(&ours);
            let waits = thread::spawn(move || {
                while theirs[0].compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
                    theirs[1].store(2, Relaxed);
                    hint::spin_loop();
                }
            });
            ours[0].store(0, Release);
            waits.join().unwrap();
        });
        assert_eq!(stats.failure, None, "{way:?}");
    }
}

/// Waits with `try_lock` for something that nobody ever writes.
fn waits_in_vain(lock: &Mutex<usize>) {
    while !lock.try_lock().is_ok_and(|guard| *guard == 1) {
        hint::spin_loop();
    }
}

#[test]
fn who_has_tried_a_lock_and_waits_for_something_else_does_not_look_at_it() {
    for way in WAYS {
        let stats = explore(way, || {
            let ours = Arc::new(Mutex::new(0));
            let theirs = Arc::clone(&ours);
            let waits = thread::spawn(move || waits_in_vain(&theirs));
            drop(ours.try_lock());
            waits.join().unwrap();
        });
        assert!(spins_forever(&stats), "{way:?}: {stats:?}");
    }
}

#[test]
fn a_model_none_of_whose_executions_ends_does_not_pass() {
    for way in [WAYS[0], WAYS[1]] {
        let stats = explore(way, || {
            let ours = Arc::new(Mutex::new(0));
            let theirs = Arc::clone(&ours);
            let waits = thread::spawn(move || {
                while theirs.try_lock().is_err() || *theirs.lock().unwrap() == 0 {
                    hint::spin_loop();
                }
            });
            while ours.try_lock().is_err() || *ours.lock().unwrap() == 0 {
                hint::spin_loop();
            }
            waits.join().unwrap();
        });
        let failure = stats.failure.unwrap_or_default();
        assert!(
            failure.starts_with("no execution comes to its end") || failure.starts_with("livelock"),
            "{way:?}: {failure}"
        );
    }
}

fn waits_with_a_lock_that_is_tried_later() -> Stats {
    Builder::new().explore(|| {
        let ours = Arc::new((Mutex::new(()), AtomicUsize::new(0), AtomicUsize::new(0)));
        let theirs = Arc::clone(&ours);
        let waits = thread::spawn(move || {
            loop {
                if let Ok(_guard) = theirs.0.try_lock() {
                    theirs.1.load(Relaxed);
                }
                hint::spin_loop();
            }
        });
        let tries = thread::spawn(move || {
            ours.2.store(0, Release);
            if let Ok(_guard) = ours.0.try_lock() {
                ours.1.store(0, Relaxed);
            }
        });
        tries.join().unwrap();
        waits.join().unwrap();
    })
}

#[test]
fn target_livelock() {
    println!("failure: {:?}", waits_with_a_lock_that_is_tried_later().failure);
}

/// This program starts itself with the execution.
#[test]
fn a_livelock_with_a_lock_that_is_tried_later_can_be_run_again() {
    let stats = waits_with_a_lock_that_is_tried_later();
    assert!(spins_forever(&stats), "{stats:?}");
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["target_livelock", "--exact", "--nocapture"]).env("SELVEDGE_REPLAY", stats.replay.unwrap());
    let again = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(again.contains("livelock: ") && again.contains("which was run again"), "{again}");
}

/// Waits for both words to be set. Who is content is so with the first one too, if that is what it finds at first.
#[inline(never)]
fn waits_for_both(words: &[AtomicUsize; 2], mut is_content: bool) {
    while let found = [0, 1].map(|n| words[n].load(Acquire))
        && found != [1, 1]
        && !(is_content && found == [1, 0])
    {
        is_content = false;
        hint::spin_loop();
    }
}

#[test]
fn what_another_thread_would_do_in_the_same_function_says_nothing() {
    for way in WAYS {
        let stats = explore(way, || {
            let ours = words([0, 0]);
            let waits = |is_content| {
                let theirs = Arc::clone(&ours);
                thread::spawn(move || waits_for_both(&theirs, is_content))
            };
            let content = waits(true);
            ours[0].store(1, Release);
            content.join().unwrap();
            let other = waits(false);
            ours[1].store(1, Release);
            other.join().unwrap();
        });
        assert!(spins_forever(&stats), "{way:?}: {stats:?}");
    }
}

#[test]
fn rounds_that_help_somebody_on_are_no_failure() {
    for (way, taken) in [WAYS[0], WAYS[4]].into_iter().flat_map(|way| [(way, 1), (way, 4)]) {
        let stats = explore(way, move || {
            let ours = words([0, 0]);
            let theirs = Arc::clone(&ours);
            let offers = thread::spawn(move || {
                while theirs[1].load(Acquire) == 0 {
                    theirs[0].store(1, Release);
                    hint::spin_loop();
                }
            });
            for _ in 0..taken {
                while ours[0].swap(0, AcqRel) == 0 {
                    hint::spin_loop();
                }
            }
            ours[1].store(1, Release);
            offers.join().unwrap();
        });
        assert_eq!(stats.failure, None, "{way:?} {taken}");
        assert!(stats.complete > 0 || !stats.not_covered.is_empty(), "{way:?} {taken}");
    }
}

/// Takes something that may be taken by others; nobody waits here.
#[inline(never)]
fn takes(word: &AtomicUsize) -> bool {
    word.compare_exchange_weak(0, 2, Acquire, Relaxed).is_ok()
}

#[test]
fn an_exchange_that_fails_for_no_reason_does_not_wait() {
    // It is tried in a loop that waits for one word, and once for another, which is never free.
    for way in WAYS {
        let stats = explore(way, || {
            let ours = words([1, 1]);
            let theirs = Arc::clone(&ours);
            let frees = thread::spawn(move || {
                while theirs[0].compare_exchange_weak(1, 2, Acquire, Acquire).is_err() {
                    hint::spin_loop();
                }
                theirs[0].store(0, Relaxed);
            });
            while !takes(&ours[0]) {
                ours[1].load(Relaxed);
                while ours[0].load(Relaxed) & 2 == 2 {
                    hint::spin_loop();
                }
            }
            takes(&ours[1]);
            ours[0].store(1, Relaxed);
            frees.join().unwrap();
        });
        assert_eq!(stats.failure, None, "{way:?}");
    }
}

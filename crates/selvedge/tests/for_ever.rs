//! Threads that write in each round of a loop in which they wait: whether they ever get on.

#![allow(unsafe_code)]

use selvedge::model::{Builder, Engine, MemoryModel, Stats};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge::{hint, thread};
use std::task::Poll;

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
    stats.failure.as_ref().is_some_and(|failure| failure.starts_with("livelock: "))
}

fn words<const N: usize>(values: [usize; N]) -> Arc<[AtomicUsize; N]> {
    Arc::new(values.map(AtomicUsize::new))
}

/// Raises a flag, looks whether it may go on, and takes the flag down again.
fn raises_and_looks(flag: &AtomicUsize, wanted: impl Fn() -> bool) {
    loop {
        flag.store(2, Relaxed);
        if wanted() {
            break;
        }
        flag.store(0, Relaxed);
        hint::spin_loop();
    }
}

#[test]
fn what_others_have_written_since_does_not_matter_where_it_is_overwritten() {
    for way in WAYS {
        let stats = explore(way, || {
            let ours = words([0, 0]);
            let theirs = Arc::clone(&ours);
            thread::spawn(move || theirs[0].store(1, Relaxed));
            raises_and_looks(&ours[0], || ours[1].load(Relaxed) == 2);
        });
        assert!(spins_forever(&stats), "{way:?}: {stats:?}");
    }
}

#[test]
fn what_is_set_and_put_back_may_never_be_seen() {
    for way in WAYS {
        let stats = explore(way, || {
            let ours = words([0, 0]);
            let theirs = Arc::clone(&ours);
            thread::spawn(move || {
                theirs[1].store(2, Relaxed);
                theirs[1].store(0, Relaxed);
                theirs[0].store(1, Relaxed);
            });
            raises_and_looks(&ours[0], || ours[1].load(Relaxed) == 2);
        });
        assert!(spins_forever(&stats), "{way:?}: {stats:?}");
    }
}

#[test]
fn what_comes_in_the_end_ends_it() {
    for way in WAYS {
        let stats = explore(way, || {
            let ours = words([0, 0]);
            let theirs = Arc::clone(&ours);
            thread::spawn(move || raises_and_looks(&theirs[0], || theirs[1].load(Relaxed) == 2));
            ours[0].store(1, Relaxed);
            ours[1].store(2, Relaxed);
        });
        assert_eq!(stats.failure, None, "{way:?}");
        assert!(stats.complete > 0, "{way:?}");
    }
}

#[test]
fn which_of_two_values_is_left_matters_though_nobody_has_read_them() {
    // If the 2 is left, the thread gets on; if the 0 is, it does not.
    for way in WAYS {
        let stats = explore(way, || {
            let ours = words([0, 0]);
            for value in [0, 2] {
                let theirs = Arc::clone(&ours);
                thread::spawn(move || theirs[1].store(value, Relaxed));
            }
            raises_and_looks(&ours[0], || ours[1].load(Relaxed) == 2);
        });
        assert!(spins_forever(&stats), "{way:?}: {stats:?}");
    }
}

#[test]
fn what_a_lock_protects_may_be_another_one_since() {
    // All that atomics say is as it was, but the cell is not: it gets on.
    for ends in [false, true] {
        for way in WAYS {
            let stats = explore(way, move || {
                let ours = Arc::new((AtomicUsize::new(0), selvedge::cell::UnsafeCell::new(0), AtomicUsize::new(0)));
                let theirs = Arc::clone(&ours);
                thread::spawn(move || {
                    while theirs.0.swap(1, Acquire) == 1 {
                        hint::spin_loop();
                    }
                    // SAFETY: who has found a 0 has the cell until it stores one.
                    theirs.1.with_mut(|cell| unsafe { *cell = if ends { 1 } else { 2 } });
                    theirs.0.store(0, Release);
                });
                loop {
                    let is_free = ours.0.swap(1, Acquire) == 0;
                    // SAFETY: as above.
                    if is_free && ours.1.with(|cell| unsafe { *cell == 1 }) {
                        break;
                    }
                    if is_free {
                        ours.0.store(0, Release);
                    }
                    ours.2.store(0, Relaxed);
                    hint::spin_loop();
                }
            });
            match ends {
                true => assert!(stats.failure.is_none() && stats.complete > 0, "{way:?}: {stats:?}"),
                false => assert!(spins_forever(&stats), "{way:?}: {stats:?}"),
            }
        }
    }
}

#[test]
fn who_has_a_lock_when_it_comes_round_may_spin_forever() {
    for way in WAYS {
        let stats = explore(way, || {
            let ours = Arc::new(Mutex::new(0));
            let theirs = Arc::clone(&ours);
            thread::spawn(move || *theirs.lock().unwrap() = 2);
            let mut guard = ours.lock().unwrap();
            while *guard != 1 {
                drop(guard);
                guard = ours.lock().unwrap();
                hint::spin_loop();
            }
        });
        assert!(spins_forever(&stats), "{way:?}: {stats:?}");
    }
}

#[test]
fn a_round_that_others_wait_for_is_no_livelock() {
    for way in WAYS {
        let stats = explore(way, || {
            let ours = words([0, 0]);
            let theirs = Arc::clone(&ours);
            thread::spawn(move || {
                for _ in 0..4 {
                    while theirs[0].swap(0, AcqRel) != 2 {
                        hint::spin_loop();
                    }
                }
                theirs[1].store(2, Relaxed);
            });
            raises_and_looks(&ours[0], || ours[1].load(Relaxed) == 2);
        });
        assert_eq!(stats.failure, None, "{way:?}");
    }
}

/// Asks for something again and again, until it is said to be done.
fn asks(asked: &AtomicUsize, done: &AtomicUsize) {
    loop {
        asked.store(1, Release);
        if done.load(Acquire) == 1 {
            break;
        }
        hint::spin_loop();
    }
}

#[test]
fn who_waits_for_another_value_than_is_written_again_and_again_waits_for_ever() {
    for wanted in [1, 2] {
        for way in WAYS {
            let stats = explore(way, move || {
                let ours = words([0, 0]);
                let theirs = Arc::clone(&ours);
                thread::spawn(move || {
                    while theirs[0].load(Acquire) != wanted {
                        hint::spin_loop();
                    }
                    theirs[1].store(1, Release);
                });
                asks(&ours[0], &ours[1]);
            });
            match wanted {
                1 => assert!(stats.failure.is_none() && stats.complete > 0, "{way:?}: {stats:?}"),
                _ => assert!(spins_forever(&stats), "{way:?}: {stats:?}"),
            }
        }
    }
}

#[test]
fn who_waits_for_none_of_several_values_waits_for_ever() {
    for way in WAYS {
        let stats = explore(way, || {
            let ours = words([0, 0]);
            let theirs = Arc::clone(&ours);
            thread::spawn(move || {
                while theirs[0].load(Acquire) != 1 {
                    hint::spin_loop();
                }
                theirs[1].store(2, Release);
            });
            raises_and_looks(&ours[0], || ours[1].load(Acquire) == 2);
        });
        assert!(spins_forever(&stats), "{way:?}: {stats:?}");
    }
}

#[test]
fn a_lock_that_is_given_back_in_each_round_is_free_for_others() {
    for way in WAYS {
        let stats = explore(way, || {
            let ours = Arc::new((Mutex::new(0), AtomicUsize::new(0)));
            let theirs = Arc::clone(&ours);
            thread::spawn(move || *theirs.0.lock().unwrap() = 1);
            while *ours.0.lock().unwrap() != 1 {
                ours.1.store(1, Relaxed);
                ours.1.store(0, Relaxed);
                hint::spin_loop();
            }
        });
        assert!(stats.failure.is_none() && stats.complete > 0, "{way:?}: {stats:?}");
    }
}

fn asks_in_vain() -> Stats {
    Builder::new().explore(|| {
        let ours = words([0, 0]);
        let theirs = Arc::clone(&ours);
        thread::spawn(move || raises_and_looks(&theirs[0], || theirs[1].load(Relaxed) == 2));
        ours[0].store(1, Relaxed);
    })
}

/// Each of its rounds begins with what it reads.
fn looks_in_vain() -> Stats {
    Builder::new().explore(|| {
        let ours = words([0, 0]);
        let theirs = Arc::clone(&ours);
        thread::spawn(move || {
            while theirs[1].load(Relaxed) != 2 {
                theirs[0].store(2, Relaxed);
                theirs[0].store(0, Relaxed);
                hint::spin_loop();
            }
        });
        ours[0].store(1, Relaxed);
    })
}

#[test]
fn target_asks() {
    println!("failure: {:?}", asks_in_vain().failure);
}

#[test]
fn target_looks() {
    println!("failure: {:?}", looks_in_vain().failure);
}

/// This program starts itself with the execution.
#[test]
fn it_can_be_run_again() {
    for (target, stats) in [("target_asks", asks_in_vain()), ("target_looks", looks_in_vain())] {
        assert!(spins_forever(&stats), "{stats:?}");
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args([target, "--exact", "--nocapture"]).env("SELVEDGE_REPLAY", stats.replay.unwrap());
        let again = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert!(again.contains("livelock: thread 1 spins forever") && again.contains("which was run again"), "{again}");
        assert_eq!(again.matches("again and again: ").count(), 3, "{again}");
    }
}

#[test]
fn who_waits_for_several_words_waits_for_ever_if_what_is_written_there_is_never_enough() {
    // Both flags are raised and taken down again, but neither is ever 1.
    for enough in [false, true] {
        for way in WAYS {
            let stats = explore(way, move || {
                let ours = words([0, 0, 0]);
                for n in [0, 1] {
                    let theirs = Arc::clone(&ours);
                    thread::spawn(move || raises_and_looks(&theirs[n], || theirs[2].load(Acquire) == 2));
                }
                while ours[0].load(Acquire) != if enough { 2 } else { 1 } || ours[1].load(Acquire) == 1 {
                    hint::spin_loop();
                }
                ours[2].store(2, Release);
            });
            match enough {
                true => assert!(stats.failure.is_none() && stats.complete > 0, "{way:?}: {stats:?}"),
                false => assert!(spins_forever(&stats), "{way:?}: {stats:?}"),
            }
        }
    }
}

#[test]
fn two_that_raise_flags_for_each_other_in_vain_spin_for_ever() {
    for wanted in [2, 7] {
        for way in WAYS {
            let stats = explore(way, move || {
                let ours = words([0, 0]);
                let theirs = Arc::clone(&ours);
                thread::spawn(move || raises_and_looks(&theirs[0], || theirs[1].load(Acquire) == wanted));
                raises_and_looks(&ours[1], || ours[0].load(Acquire) == wanted);
            });
            match wanted {
                2 => assert!(stats.failure.is_none() && stats.complete > 0, "{way:?}: {stats:?}"),
                _ => assert!(spins_forever(&stats), "{way:?}: {stats:?}"),
            }
        }
    }
}

/// Writes some values to words again and again, until another one is 1.
fn writes_until_done(words: &[AtomicUsize], writes: &[(usize, usize)], done: usize) {
    loop {
        writes.iter().for_each(|&(n, value)| words[n].store(value, SeqCst));
        if words[done].load(SeqCst) == 1 {
            break;
        }
        hint::spin_loop();
    }
}

/// One thread writes these values again and again until a word is 1; another one goes round a loop until it ends, and then lets it be 1.
fn is_no_livelock(
    writes: &'static [(usize, usize)],
    done: usize,
    ends: impl Fn(&[AtomicUsize; 4]) + Copy + Send + Sync + 'static,
) {
    for way in WAYS {
        let stats = explore(way, move || {
            let ours = words([0; 4]);
            let theirs = Arc::clone(&ours);
            thread::spawn(move || {
                ends(&theirs);
                theirs[done].store(1, SeqCst);
            });
            writes_until_done(&*ours, writes, done);
        });
        assert_eq!(stats.failure, None, "{way:?}");
    }
}

#[test]
fn a_word_that_is_looked_at_only_if_another_one_has_a_value() {
    is_no_livelock(&[(1, 1), (0, 1), (0, 0), (1, 0)], 2, |words| {
        while !(words[3].load(SeqCst) == 0 && words[0].load(SeqCst) == 1 && words[1].load(SeqCst) == 1) {
            hint::spin_loop();
        }
    });
    is_no_livelock(&[(1, 1), (0, 1), (0, 0), (1, 0)], 2, |words| {
        while !(words[0].load(SeqCst) == 1 && words[1].load(SeqCst) == 1) {
            hint::spin_loop();
        }
    });
}

#[test]
fn changes_that_are_counted() {
    for most in [3, 4, 6, 10] {
        is_no_livelock(&[(0, 2), (0, 0)], 1, move |words| {
            let (mut changes, mut last) = (0, 0);
            loop {
                let now = words[0].load(SeqCst) + words[2].load(SeqCst);
                if now != last {
                    last = now;
                    changes += 1;
                    if changes == most {
                        break;
                    }
                }
                hint::spin_loop();
            }
        });
    }
}

#[test]
fn values_that_have_to_come_in_an_order() {
    is_no_livelock(&[(0, 3), (0, 2), (0, 1), (0, 0)], 1, |words| {
        let mut highest = 0;
        loop {
            words[2].load(SeqCst);
            let now = words[0].load(SeqCst);
            if now == highest + 1 {
                highest = now;
            }
            if highest == 3 {
                break;
            }
            hint::spin_loop();
        }
    });
    is_no_livelock(&[(1, 1), (1, 0), (0, 1), (0, 0)], 2, |words| {
        let mut first = false;
        loop {
            words[3].load(SeqCst);
            if !first {
                first = words[0].load(SeqCst) == 1;
            } else if words[1].load(SeqCst) == 1 {
                break;
            }
            hint::spin_loop();
        }
    });
}

/// In an execution graph, what was run first may come last.
#[test]
fn what_is_overwritten_later_was_run_before() {
    for way in WAYS {
        let stats = explore(way, || {
            let ours = words([0]);
            let theirs = Arc::clone(&ours);
            thread::spawn(move || {
                while theirs[0].load(SeqCst) != 2 {
                    theirs[0].store(2, SeqCst);
                    hint::spin_loop();
                }
            });
            (0..9).for_each(|_| ours[0].store(0, SeqCst));
        });
        assert_eq!(stats.failure, None, "{way:?}");
    }
}

/// A notification changes nothing that is seen, but may wake somebody.
#[test]
fn who_notifies_in_each_round_gets_on() {
    for way in WAYS {
        let stats = explore(way, || {
            let ours = Arc::new((AtomicUsize::new(0), Condvar::new()));
            let theirs = Arc::clone(&ours);
            thread::spawn(move || theirs.0.store(1, SeqCst));
            while ours.0.load(SeqCst) == 0 {
                ours.1.notify_one();
                hint::spin_loop();
            }
        });
        assert!(stats.failure.is_none() && stats.complete > 0, "{way:?}: {stats:?}");
        for all in [false, true] {
            let stats = explore(way, move || {
                let ours = Arc::new((AtomicUsize::new(0), Mutex::new(()), Condvar::new()));
                let theirs = Arc::clone(&ours);
                thread::spawn(move || {
                    drop(theirs.2.wait(theirs.1.lock().unwrap()).unwrap());
                    theirs.0.store(1, SeqCst);
                });
                while ours.0.load(SeqCst) == 0 {
                    if all {
                        ours.2.notify_all()
                    } else {
                        ours.2.notify_one()
                    }
                    hint::spin_loop();
                }
            });
            assert!(stats.failure.is_none() && stats.complete > 0, "{way:?}: {stats:?}");
        }
    }
}

#[test]
fn who_notifies_in_each_round_and_is_alone_spins_for_ever() {
    for way in WAYS {
        let stats = explore(way, || {
            let ours = Arc::new((AtomicUsize::new(0), Condvar::new()));
            let theirs = Arc::clone(&ours);
            thread::spawn(move || theirs.0.store(1, SeqCst));
            while ours.0.load(SeqCst) != 2 {
                ours.1.notify_all();
                hint::spin_loop();
            }
        });
        assert!(spins_forever(&stats), "{way:?}: {stats:?}");
        let failure = stats.failure.unwrap_or_default();
        for words in ["again and again: crates", "load, SeqCst, of AtomicUsize", "notifies all on Condvar"] {
            assert!(failure.contains(words), "{way:?}: {failure}");
        }
    }
}

#[test]
fn a_future_that_wakes_itself_and_is_never_ready_spins_for_ever() {
    for way in WAYS {
        let stats = explore(way, || {
            let never = AtomicUsize::new(0);
            selvedge::future::block_on(std::future::poll_fn(|context| {
                if never.load(Relaxed) == 1 {
                    return Poll::Ready(());
                }
                context.waker().wake_by_ref();
                Poll::Pending
            }));
        });
        assert!(spins_forever(&stats), "{way:?}: {stats:?}");
        let failure = stats.failure.unwrap_or_default();
        assert!(!failure.contains("looks at nothing"), "{way:?}: {failure}");
        let again = failure.lines().filter(|line| line.contains("again and again"));
        assert!(again.clone().any(|line| line.contains("load, Relaxed, of AtomicUsize")), "{way:?}: {failure}");
        assert!(again.clone().any(|line| line.contains("Notify")), "{way:?}: {failure}");
    }
}

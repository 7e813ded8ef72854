//! Bounds on preemptions.

use selvedge::model::{Builder, Engine, MemoryModel, Stats};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::{Arc, Mutex, RwLock, mpsc};
use selvedge::{hint, thread};

/// Three threads do something several times.
fn three(count: usize, what: fn(&AtomicUsize, &Mutex<usize>)) -> impl Fn() + Send + Sync + 'static {
    move || {
        let shared = Arc::new((AtomicUsize::new(0), Mutex::new(0)));
        let handles = [0; 3].map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || (0..count).for_each(|_| what(&shared.0, &shared.1)))
        });
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    }
}

fn bounded(bound: Option<usize>, model: impl Fn() + Send + Sync + 'static) -> Stats {
    let mut builder = Builder::new();
    (builder.preemption_bound, builder.bound_after) = (bound, 0);
    let stats = builder.explore(model);
    assert_eq!((&stats.failure, &stats.ignored), (&None, &vec![]));
    let left_out: Vec<String> = bound.map(|n| format!("more than {n} preemptions")).into_iter().collect();
    assert!(stats.not_covered.iter().all(|what| left_out.iter().any(|bound| what.contains(bound))), "{stats:?}");
    stats
}

/// Whether it is a lock that is taken or a counter that goes up makes no difference: a thread that finds the lock free and
/// does not take it is preempted.
#[test]
fn fewer_preemptions_are_fewer_executions() {
    let kinds: [fn(&AtomicUsize, &Mutex<usize>); 2] = [
        |count, _| {
            count.fetch_add(1, AcqRel);
        },
        |_, locked| *locked.lock().unwrap() += 1,
    ];
    for what in kinds {
        let all = bounded(None, three(3, what));
        assert_eq!((all.complete, all.not_covered.len()), (1680, 0));
        let counts = [0, 1, 2, 20].map(|bound| {
            let stats = bounded(Some(bound), three(3, what));
            assert_eq!(stats.not_covered.is_empty(), stats.complete == all.complete, "{stats:?}");
            stats.complete
        });
        assert!(counts.is_sorted_by(|fewer, more| fewer < more), "{counts:?}");
        // All orders of the threads.
        assert!(counts[0] >= 6 && counts[3] == all.complete, "{counts:?}");
    }
}

/// Threads that are created by threads come into being in this order or that.
#[test]
fn threads_of_threads_are_the_same_in_whatever_order() {
    let model = || {
        let words: Arc<[AtomicUsize; 2]> = Arc::default();
        let handles = [0, 1].map(|n| {
            let words = Arc::clone(&words);
            thread::spawn(move || {
                words[n].store(1, Relaxed);
                let other = Arc::clone(&words);
                thread::spawn(move || other[1 - n].load(Relaxed)).join().unwrap()
            })
        });
        handles.into_iter().for_each(|handle| assert!(handle.join().unwrap() < 2));
    };
    let (all, some) = (bounded(None, model), bounded(Some(20), model));
    assert_eq!((all.complete, some.complete), (4, 4));
}

/// To wait takes no preemption: each thread waits for the other again and again.
#[test]
fn threads_that_wait_for_each_other_are_explored_to_their_end() {
    let stats = bounded(Some(0), || {
        let turn = Arc::new(AtomicUsize::new(0));
        let play = |turn: &AtomicUsize, first: usize| {
            for n in 0..6 {
                while turn.load(Acquire) != first + 2 * n {
                    hint::spin_loop();
                }
                turn.store(first + 2 * n + 1, Release);
            }
        };
        let other = Arc::clone(&turn);
        let handle = thread::spawn(move || play(&other, 1));
        play(&turn, 0);
        handle.join().unwrap();
        assert_eq!(turn.load(Relaxed), 12);
    });
    assert_eq!((stats.complete, stats.blocked, stats.not_covered), (1, 0, vec![]));
}

/// The same where a look takes several operations: the thread lets others go first where the loop begins.
#[test]
fn loops_that_wait_with_several_operations_are_explored_to_their_end() {
    type Words = ([AtomicUsize; 2], Mutex<usize>);
    let looks: [fn(&Words, usize) -> bool; 3] = [
        |(_, turn), mine| *turn.lock().unwrap() == mine,
        |(words, _), mine| words[0].load(Acquire) == mine && words[1].load(Acquire) == mine,
        |(words, _), mine| {
            words[1].fetch_or(0, Relaxed);
            words[0].load(Acquire) == mine
        },
    ];
    for is_turn in looks {
        for (bound, model) in [(0, MemoryModel::Rc11), (0, MemoryModel::Sc), (1, MemoryModel::Rc11)] {
            let mut builder = Builder::new();
            (builder.preemption_bound, builder.bound_after, builder.memory_model) = (Some(bound), 0, model);
            let stats = builder.explore(move || {
                let shared: Arc<Words> = Arc::default();
                let play = move |shared: &Words, first: usize| {
                    for mine in [first, first + 2, first + 4, first + 6] {
                        while !is_turn(shared, mine) {
                            hint::spin_loop();
                        }
                        *shared.1.lock().unwrap() = mine + 1;
                        shared.0.iter().for_each(|word| word.store(mine + 1, Release));
                    }
                };
                let other = Arc::clone(&shared);
                let handle = thread::spawn(move || play(&other, 1));
                play(&shared, 0);
                handle.join().unwrap();
                panic!("the end is reached");
            });
            let failure = stats.failure.unwrap_or_default();
            assert!(failure.contains("the end is reached"), "{bound} {model:?}: {failure:?}");
        }
    }
}

/// Adds without caring for others.
fn careless(count: &AtomicUsize) {
    let old = count.load(Relaxed);
    count.store(old + 1, Relaxed);
}

#[test]
fn what_takes_one_preemption_is_found_with_one() {
    for model in [MemoryModel::Rc11, MemoryModel::Sc] {
        let mut builder = Builder::new();
        (builder.preemption_bound, builder.bound_after, builder.memory_model) = (Some(1), 0, model);
        let stats = builder.explore(|| {
            let count = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&count);
            let handle = thread::spawn(move || careless(&other));
            careless(&count);
            handle.join().unwrap();
            assert_eq!(count.load(Relaxed), 2);
        });
        assert!(stats.failure.is_some(), "{model:?}: {stats:?}");
    }
}

#[test]
fn that_traces_are_not_bounded_is_said() {
    let mut builder = Builder::new();
    (builder.preemption_bound, builder.engine, builder.memory_model) = (Some(1), Engine::Trace, MemoryModel::Sc);
    let stats = builder.explore(three(1, |count, _| careless(count)));
    assert!(stats.ignored.iter().any(|what| what.contains("`preemption_bound` is 1")), "{:?}", stats.ignored);
}

/// How often an exchange fails for no reason in one execution, at most, of three threads that make one each.
fn most_without_reason(bound: Option<usize>) -> (usize, Stats) {
    let most = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let seen = std::sync::Arc::clone(&most);
    let mut builder = Builder::new();
    (builder.preemption_bound, builder.bound_after) = (bound, 0);
    let stats = builder.explore(move || {
        let handles =
            [0; 3].map(|_| thread::spawn(|| AtomicUsize::new(0).compare_exchange_weak(0, 1, AcqRel, Relaxed).is_err()));
        let failed = handles.into_iter().map(|handle| handle.join().unwrap()).filter(|failed| *failed).count();
        seen.fetch_max(failed, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(stats.failure, None);
    (most.load(std::sync::atomic::Ordering::Relaxed), stats)
}

#[test]
fn what_happens_for_no_reason_counts_as_a_preemption() {
    for bound in 0..3 {
        let (most, stats) = most_without_reason(Some(bound));
        assert_eq!(most, bound);
        let is_told = |what: &String| what.contains("for no reason");
        assert!(stats.not_covered.iter().any(is_told), "{stats:?}");
    }
    let (most, stats) = most_without_reason(Some(3));
    assert_eq!((most, stats.not_covered), (3, vec![]));
    let (most, stats) = most_without_reason(None);
    assert_eq!((most, stats.spurious, stats.not_covered), (3, 8, vec![]));
}

/// What a thread must still read for which it has made room is part of where an exploration stands.
#[test]
fn what_threads_have_made_room_for_tells_states_apart() {
    type Words = ([AtomicUsize; 2], Mutex<()>, RwLock<()>);
    let model = || {
        fn exchange(word: &AtomicUsize, new: usize) {
            let _ = word.compare_exchange(0, new, AcqRel, Relaxed);
        }
        let shared: Arc<Words> = Arc::default();
        let threads: [fn(&Words); 3] = [
            |([x, y], lock, shared)| {
                {
                    let _guard = lock.lock().unwrap();
                    y.swap(1, SeqCst);
                    exchange(y, 2);
                }
                let _guard = shared.write().unwrap();
                y.load(Relaxed);
                x.fetch_add(1, Relaxed);
            },
            |([x, y], lock, shared)| {
                if let Ok(_guard) = lock.try_lock() {
                    y.fetch_add(1, Relaxed);
                    exchange(x, 1);
                }
                drop(shared.write().unwrap());
                exchange(x, 2);
            },
            |([x, _], _, shared)| {
                drop(shared.try_read());
                x.fetch_add(1, AcqRel);
                drop(shared.try_read());
            },
        ];
        let handles = threads.map(|thread| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || thread(&shared))
        });
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    };
    let counts = [Some(0), Some(1), Some(2), Some(3), Some(20), None].map(|bound| bounded(bound, model).complete);
    assert_eq!(counts, [34, 172, 382, 478, 486, 486]);
}

/// An attempt that has loaded 2 and found 1 leaves a trace. Both stores may come before it, in either order, whichever was made first.
#[test]
fn attempts_are_explored_if_it_is_not_known_what_came_first() {
    for values in [[1, 2], [2, 1]] {
        for bound in [Some(0), Some(1), Some(20), None] {
            let mut builder = Builder::new();
            (builder.preemption_bound, builder.bound_after) = (bound, 0);
            let stats = builder.explore(move || {
                let word: Arc<AtomicUsize> = Arc::default();
                let stores = values.map(|value| {
                    let word = Arc::clone(&word);
                    thread::spawn(move || word.store(value, Relaxed))
                });
                let handle = thread::spawn({
                    let word = Arc::clone(&word);
                    move || {
                        let (mut old, mut trace) = (word.load(Relaxed), false);
                        while let Err(found) = word.compare_exchange(old, 9, AcqRel, Relaxed) {
                            trace |= (old, found) == (2, 1);
                            old = found;
                        }
                        trace
                    }
                });
                assert!(!handle.join().unwrap(), "first 2 and then 1");
                stores.into_iter().for_each(|handle| handle.join().unwrap());
            });
            let failure = stats.failure.unwrap_or_default();
            assert!(failure.contains("first 2 and then 1"), "{values:?} {bound:?}: {failure:?}");
        }
    }
}

/// The same if others see what an attempt stores that fails.
#[test]
fn attempts_are_explored_if_others_see_what_they_store() {
    for bound in [Some(1), Some(20), None] {
        let mut builder = Builder::new();
        (builder.preemption_bound, builder.bound_after) = (bound, 0);
        let stats = builder.explore(move || {
            // Who allocates it owns it, as far as can be told.
            let shared: Arc<[AtomicUsize; 2]> = Arc::default();
            let other = Arc::clone(&shared);
            let handle = thread::spawn(move || {
                let seen = other[1].load(Relaxed);
                other[0].fetch_add(1, AcqRel);
                seen
            });
            let mut old = shared[0].load(Relaxed);
            loop {
                shared[1].store(old + 1, Relaxed);
                match shared[0].compare_exchange(old, old + 1, AcqRel, Relaxed) {
                    Ok(_) => break,
                    Err(found) => old = found,
                }
            }
            assert_ne!((old, handle.join().unwrap()), (1, 1), "an attempt was seen that has failed");
        });
        let failure = stats.failure.unwrap_or_default();
        assert!(failure.contains("an attempt was seen"), "{bound:?}: {failure:?}");
    }
}

/// If there are few executions, all are explored.
#[test]
fn a_bound_is_not_used_where_it_is_not_needed() {
    let explore = |after: usize, limit: Option<usize>| {
        let mut builder = Builder::new();
        (builder.preemption_bound, builder.bound_after, builder.max_permutations) = (Some(1), after, limit);
        builder.explore(three(3, |count, _| {
            count.fetch_add(1, AcqRel);
        }))
    };
    let all = explore(1681, None);
    assert_eq!((all.failure, all.complete, all.not_covered), (None, 1680, vec![]));
    // If there seem to be some more, they are explored as well.
    for more in [explore(1680, None), explore(600, None)] {
        assert_eq!((more.failure, more.complete, more.not_covered), (None, 1680, vec![]));
    }
    let bounded = explore(0, None);
    for some in [explore(100, None), explore(600, Some(1000)), explore(5000, Some(1000))] {
        assert_eq!((some.failure, some.complete, &some.not_covered), (None, bounded.complete, &bounded.not_covered));
        assert!(some.complete < 1680 && some.not_covered.len() == 1, "{:?}", some.not_covered);
    }
}

/// So what takes more preemptions than the bound allows is found there.
#[test]
fn what_is_found_before_a_bound_is_used_is_told() {
    let explore = |after: usize| {
        let mut builder = Builder::new();
        (builder.preemption_bound, builder.bound_after) = (Some(0), after);
        builder.explore(|| {
            let count: Arc<AtomicUsize> = Arc::default();
            let other = Arc::clone(&count);
            let handle = thread::spawn(move || {
                count.fetch_add(1, AcqRel);
                count.fetch_add(1, AcqRel)
            });
            let mine = other.fetch_add(1, AcqRel);
            handle.join().unwrap();
            assert_ne!(mine, 1, "the other thread was preempted");
        })
    };
    assert_eq!(explore(0).failure, None);
    let failure = explore(10).failure.unwrap_or_default();
    assert!(failure.contains("the other thread was preempted"), "{failure}");
}

/// What was left out when it was tried to do without a bound was not left out in the end.
#[test]
fn what_was_tried_without_a_bound_leaves_no_trace() {
    let explore = |bound: Option<usize>, after: usize| {
        let mut builder = Builder::new();
        (builder.preemption_bound, builder.bound_after) = (bound, after);
        builder.explore(|| {
            let count: Arc<AtomicUsize> = Arc::default();
            let handles = [0; 2].map(|_| {
                let count = Arc::clone(&count);
                thread::spawn(move || {
                    for _ in 0..4 {
                        count.fetch_add(1, AcqRel);
                    }
                })
            });
            // It is said that it is not known whether somebody waits for it.
            let (sender, _receiver) = mpsc::sync_channel(0);
            if count.fetch_add(1, AcqRel) == 1 {
                let _ = sender.try_send(());
            }
            handles.into_iter().for_each(|handle| handle.join().unwrap());
        })
    };
    let all = explore(None, 0);
    assert_eq!((all.complete, all.not_covered.len()), (630, 1), "{:?}", all.not_covered);
    let (bounded, tried) = (explore(Some(0), 0), explore(Some(0), 50));
    assert!(bounded.complete < 630 && bounded.not_covered.len() == 1, "{:?}", bounded.not_covered);
    assert_eq!((tried.complete, tried.not_covered), (bounded.complete, bounded.not_covered));
}

/// Who waits for room makes room for others without a preemption, and finds what there is when it goes on.
#[test]
fn who_waits_for_room_in_a_channel_is_not_preempted() {
    for bound in [Some(0), None] {
        let found = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
        let noted = std::sync::Arc::clone(&found);
        bounded(bound, move || {
            let (sender, receiver) = mpsc::sync_channel(1);
            let handle = thread::spawn(move || receiver.recv());
            let sent = [1, 2].map(|n| sender.send(n).is_ok());
            let received = handle.join().unwrap().ok();
            noted.lock().unwrap().insert((sent, received));
        });
        let both = [([true, false], Some(1)), ([true, true], Some(1))];
        assert_eq!(found.lock().unwrap().iter().copied().collect::<Vec<_>>(), both, "{bound:?}");
    }
}

//! Loops that wait for others under locks, with choices, or without saying that they wait.
//!
//! What is reached is compared with what is reached if the loop is cut off after some iterations and nothing is known of
//! it: there, states differ by a counter.

use selvedge::model::{Builder, Engine, MemoryModel, Stats};
use selvedge::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use selvedge::sync::atomic::{AtomicBool, AtomicUsize};
use selvedge::sync::{Arc, Mutex, RwLock, mpsc};
use selvedge::{assume, hint, nondet_bool, thread};
use std::collections::{BTreeSet, VecDeque};

const ENGINES: [Engine; 2] = [Engine::Graph, Engine::Trace];

fn explore(engine: Engine, f: impl Fn() + Send + Sync + 'static) -> Stats {
    let mut builder = Builder::new();
    builder.engine = engine;
    if engine == Engine::Trace {
        // It explores no other, and says so if it is asked to.
        builder.memory_model = MemoryModel::Sc;
    }
    builder.explore(f)
}

fn passes(f: impl Fn() + Send + Sync + 'static) -> Stats {
    let stats = explore(Engine::Graph, f);
    assert_eq!(stats.failure, None);
    assert!(stats.not_covered.is_empty(), "{:?}", stats.not_covered);
    stats
}

/// How a loop looks again: by itself, or so many times at most.
#[derive(Clone, Copy)]
struct Again(Option<usize>);

impl Again {
    /// Calls a function until it finds something.
    fn until<T>(self, mut look: impl FnMut() -> Option<T>) -> T {
        match self.0 {
            None => loop {
                match look() {
                    Some(found) => return found,
                    None => thread::yield_now(),
                }
            },
            Some(most) => {
                for _ in 0..most {
                    if let Some(found) = look() {
                        return found;
                    }
                }
                assume(false);
                unreachable!("the thread does not go on");
            }
        }
    }
}

/// What a model returns in the executions that come to their end.
fn outcomes(engine: Engine, again: Again, f: fn(Again) -> Vec<usize>) -> (BTreeSet<Vec<usize>>, Stats) {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let noted = std::sync::Arc::clone(&seen);
    let stats = explore(engine, move || {
        let outcome = f(again);
        noted.lock().unwrap().insert(outcome);
    });
    assert_eq!(stats.failure, None);
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (seen, stats)
}

/// Compares a model with the same model whose loops are cut off. How many executions there are.
fn agrees(f: fn(Again) -> Vec<usize>) -> Stats {
    let mut last = None;
    for engine in ENGINES {
        let (found, stats) = outcomes(engine, Again(None), f);
        let (expected, _) = outcomes(engine, Again(Some(3)), f);
        assert_eq!(found, expected);
        assert!(!found.is_empty());
        last = last.or(Some(stats));
    }
    last.expect("there are engines")
}

fn is_covered(stats: &Stats) -> bool {
    stats.not_covered.is_empty()
}

#[test]
fn a_flag_under_a_mutex_is_waited_for() {
    let stats = agrees(|again| {
        let shared = Arc::new((Mutex::new(false), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            other.1.store(1, Relaxed);
            *other.0.lock().unwrap() = true;
            other.1.store(2, Relaxed);
        });
        let before = shared.1.load(Relaxed);
        again.until(|| shared.0.lock().unwrap().then_some(()));
        let after = shared.1.load(Relaxed);
        handle.join().unwrap();
        vec![before, after]
    });
    assert!(is_covered(&stats) && stats.complete <= 12, "{stats:?}");
}

#[test]
fn the_poll_of_a_flag_has_few_executions() {
    let stats = passes(|| {
        let flag = Arc::new(Mutex::new(false));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || *other.lock().unwrap() = true);
        while !*flag.lock().unwrap() {
            thread::yield_now();
        }
        handle.join().unwrap();
    });
    assert!(stats.complete <= 2 && stats.blocked <= 2, "{stats:?}");
}

#[test]
fn a_flag_under_a_read_write_lock_is_waited_for() {
    let stats = agrees(|again| {
        let shared = Arc::new(RwLock::new(0));
        let writer = Arc::clone(&shared);
        let reader = Arc::clone(&shared);
        let writer = thread::spawn(move || {
            *writer.write().unwrap() = 1;
            *writer.write().unwrap() = 2;
        });
        let look = move |lock: &RwLock<usize>| again.until(|| Some(*lock.read().unwrap()).filter(|value| *value > 0));
        let reader = thread::spawn(move || look(&reader));
        let own = look(&shared);
        writer.join().unwrap();
        vec![own, reader.join().unwrap()]
    });
    assert!(is_covered(&stats));
}

#[test]
fn messages_are_polled_for() {
    let stats = agrees(|again| {
        let (sender, receiver) = mpsc::channel();
        let handle = thread::spawn(move || {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
        });
        let first = again.until(|| receiver.try_recv().ok());
        let second = receiver.try_recv().ok().unwrap_or(0);
        handle.join().unwrap();
        vec![first, second]
    });
    assert!(is_covered(&stats));
}

#[test]
fn a_queue_under_a_mutex_is_polled() {
    let stats = passes(|| {
        let queue = Arc::new(Mutex::new(VecDeque::new()));
        let other = Arc::clone(&queue);
        let handle = thread::spawn(move || (0..2).for_each(|n| other.lock().unwrap().push_back(n)));
        let mut next = 0;
        while next < 2 {
            let found = queue.lock().unwrap().pop_front();
            match found {
                Some(found) => {
                    assert_eq!(found, next);
                    next += 1;
                }
                None => thread::yield_now(),
            }
        }
        handle.join().unwrap();
    });
    assert!(stats.complete + stats.blocked <= 36, "{stats:?}");
}

#[test]
fn two_who_poll_see_what_they_may_see() {
    let stats = agrees(|again| {
        let shared = Arc::new(Mutex::new(0));
        let [one, two] = [0; 2].map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || again.until(|| Some(*shared.lock().unwrap()).filter(|value| *value > 0)))
        });
        *shared.lock().unwrap() = 1;
        *shared.lock().unwrap() = 2;
        vec![one.join().unwrap(), two.join().unwrap()]
    });
    assert!(is_covered(&stats));
}

/// Each of two waits for what the other one does when it has seen something.
#[test]
fn two_who_poll_wait_for_each_other_in_turn() {
    let stats = agrees(|again| {
        let shared = Arc::new((Mutex::new(0), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            again.until(|| (*other.0.lock().unwrap() == 1).then_some(()));
            let seen = other.1.load(Relaxed);
            *other.0.lock().unwrap() = 2;
            seen
        });
        shared.1.store(1, Relaxed);
        *shared.0.lock().unwrap() = 1;
        shared.1.store(2, Relaxed);
        again.until(|| (*shared.0.lock().unwrap() == 2).then_some(()));
        vec![handle.join().unwrap()]
    });
    assert!(is_covered(&stats));
}

/// An atomic that is read outside of the lock of the same iteration.
#[test]
fn a_loop_may_look_at_atomics_and_under_locks() {
    let stats = agrees(|again| {
        let shared = Arc::new((Mutex::new(0), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            *other.0.lock().unwrap() = 1;
            other.1.store(1, Release);
        });
        let seen = again.until(|| {
            let atomic = shared.1.load(Acquire);
            let locked = *shared.0.lock().unwrap();
            (atomic + locked > 0).then_some((atomic, locked))
        });
        handle.join().unwrap();
        vec![seen.0, seen.1]
    });
    assert!(is_covered(&stats));
}

/// Whoever tries to take a lock may find it held by one who polls: then no iteration is left out without a word.
#[test]
fn that_a_lock_is_held_by_one_who_polls_is_seen() {
    let stats = agrees(|again| {
        let shared = Arc::new(Mutex::new(0));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            let tries = [0; 3].map(|_| usize::from(other.try_lock().is_ok()));
            *other.lock().unwrap() = 1;
            tries
        });
        again.until(|| (*shared.lock().unwrap() > 0).then_some(()));
        handle.join().unwrap().to_vec()
    });
    assert!(stats.not_covered.iter().any(|what| what.contains("try to take that lock")), "{stats:?}");
}

#[test]
fn loops_that_try_to_take_a_lock_end() {
    passes(|| {
        let count = Arc::new(Mutex::new(0));
        let other = Arc::clone(&count);
        let add = |count: &Mutex<usize>| {
            while count.try_lock().map(|mut count| *count += 1).is_err() {
                thread::yield_now();
            }
        };
        let handle = thread::spawn(move || add(&other));
        add(&count);
        handle.join().unwrap();
        assert_eq!(*count.lock().unwrap(), 2);
    });
    let stats = agrees(|again| {
        let flag = Arc::new(Mutex::new(0));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || *other.lock().unwrap() = 1);
        again.until(|| flag.try_lock().ok().filter(|flag| **flag > 0).map(drop));
        handle.join().unwrap();
        vec![*flag.lock().unwrap()]
    });
    // Nobody else tries: to take the lock in vain is seen by nobody.
    assert!(is_covered(&stats));
}

#[test]
fn a_poll_that_never_ends_is_a_livelock() {
    for engine in ENGINES {
        let stats = explore(engine, || {
            let shared = Arc::new(Mutex::new(0));
            let other = Arc::clone(&shared);
            let handle = thread::spawn(move || *other.lock().unwrap() = 1);
            while *shared.lock().unwrap() < 2 {
                thread::yield_now();
            }
            handle.join().unwrap();
        });
        let failure = stats.failure.expect("nobody writes 2");
        assert!(failure.starts_with("livelock: main spins forever\n"), "{failure}");
        let seen = failure.lines().find(|line| line.contains("again and again")).expect("what the thread does");
        assert!(seen.contains("locks Mutex"), "{failure}");
    }
}

#[test]
fn two_who_poll_forever_are_a_livelock() {
    for engine in ENGINES {
        let stats = explore(engine, || {
            let shared = Arc::new(Mutex::new(0));
            let other = Arc::clone(&shared);
            let poll = |shared: &Mutex<usize>| {
                while *shared.lock().unwrap() == 0 {
                    thread::yield_now();
                }
            };
            let handle = thread::spawn(move || poll(&other));
            poll(&shared);
            handle.join().unwrap();
        });
        let failure = stats.failure.expect("nobody writes");
        assert!(failure.starts_with("livelock: "), "{failure}");
        assert!(failure.contains("main") && failure.contains("spin forever"), "{failure}");
    }
}

#[test]
fn a_lock_with_weak_exchanges_excludes() {
    for threads in [2, 3] {
        let stats = passes(move || {
            let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
            let work = |shared: &(AtomicBool, AtomicUsize)| {
                while shared.0.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
                    hint::spin_loop();
                }
                shared.1.store(shared.1.load(Relaxed) + 1, Relaxed);
                shared.0.store(false, Release);
            };
            let others: Vec<_> = (1..threads).map(|_| Arc::clone(&shared)).collect();
            let handles: Vec<_> = others.into_iter().map(|other| thread::spawn(move || work(&other))).collect();
            work(&shared);
            handles.into_iter().for_each(|handle| handle.join().unwrap());
            assert_eq!(shared.1.load(Relaxed), threads);
        });
        // That exchanges fail for no reason is tried out, and makes no difference.
        assert_eq!(stats.spurious, 0);
    }
}

#[test]
fn readers_and_writers_with_weak_exchanges_end() {
    passes(|| {
        let lock = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&lock);
        let handle = thread::spawn(move || {
            while other.compare_exchange_weak(0, 100, Acquire, Relaxed).is_err() {
                thread::yield_now();
            }
            other.store(0, Release);
        });
        loop {
            let readers = lock.load(Relaxed);
            if readers < 100 && lock.compare_exchange_weak(readers, readers + 1, Acquire, Relaxed).is_ok() {
                break;
            }
            thread::yield_now();
        }
        lock.fetch_sub(1, Release);
        handle.join().unwrap();
    });
}

/// A thread that has chosen to go round might choose otherwise: that is no livelock.
#[test]
fn a_loop_that_chooses_to_go_round_is_no_livelock() {
    for engine in ENGINES {
        let stats = explore(engine, || {
            while nondet_bool() {
                thread::yield_now();
            }
        });
        assert_eq!((stats.failure, stats.complete > 0), (None, true));
        assert!(stats.notes.iter().any(|note| note.contains("choose")), "{:?}", stats.notes);
    }
}

#[test]
fn a_loop_with_choices_waits() {
    passes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || other.store(true, Release));
        while !flag.load(Acquire) {
            if nondet_bool() {
                thread::yield_now();
            } else {
                hint::spin_loop();
            }
        }
        handle.join().unwrap();
    });
}

#[test]
fn loops_need_not_say_that_they_wait() {
    for engine in ENGINES {
        let stats = explore(engine, || {
            let shared = Arc::new((AtomicBool::new(false), Mutex::new(false)));
            let other = Arc::clone(&shared);
            let handle = thread::spawn(move || {
                while !other.0.load(Acquire) {}
                *other.1.lock().unwrap() = true;
            });
            shared.0.store(true, Release);
            while !*shared.1.lock().unwrap() {}
            handle.join().unwrap();
        });
        assert_eq!(stats.failure, None);
        assert!(is_covered(&stats) && stats.complete + stats.blocked < 40, "{stats:?}");
    }
}

#[test]
fn a_loop_that_does_not_say_that_it_waits_may_be_a_livelock() {
    for engine in ENGINES {
        let stats = explore(engine, || {
            let flag = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&flag);
            let handle = thread::spawn(move || while other.load(Acquire) < 2 {});
            flag.store(1, Release);
            handle.join().unwrap();
        });
        let failure = stats.failure.expect("nobody stores 2");
        assert!(failure.starts_with("livelock: ") && failure.contains("again and again: "), "{failure}");
        assert!(failure.contains("load, Acquire, of AtomicUsize"), "{failure}");
    }
}

/// The states of a loop that counts differ: that it may never end is told with the place where it looks.
#[test]
fn a_loop_that_counts_without_end_is_named() {
    let stats = explore(Engine::Graph, || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let handle = thread::Builder::new().name("counts".to_owned());
        let handle = handle.spawn(move || {
            let mut rounds = 0_u64;
            while !other.load(Acquire) {
                rounds += 1;
            }
            rounds
        });
        assert!(handle.unwrap().join().unwrap() < 1 << 40);
    });
    let failure = stats.failure.expect("it counts forever");
    let says = ["counts has performed this", "load, Acquire, of AtomicBool", "polling.rs:", "hint::spin_loop()"];
    assert!(says.iter().all(|what| failure.contains(what)), "{failure}");
}

/// No two states of a thread that calls itself are the same, however little of its stack is left.
#[test]
fn a_thread_that_yields_deeper_and_deeper_does_not_spin() {
    fn deeper(n: u64) -> u64 {
        let array = std::hint::black_box([n; 512]);
        hint::spin_loop();
        if array[0] == 1 { 0 } else { deeper(n) + array[511] }
    }
    let stats = explore(Engine::Graph, || assert_eq!(std::hint::black_box(deeper(0)), 0));
    let failure = stats.failure.expect("it never ends");
    assert!(failure.contains("stack overflow"), "{failure}");
}

/// Takes a flag, looks, and gives the flag back: `try_dequeue` of queues with one consumer does that, for instance.
fn looks_alone<T>(busy: &AtomicBool, look: impl Fn() -> Option<T>) -> Option<T> {
    if busy.swap(true, Acquire) {
        return None;
    }
    let found = look();
    busy.store(false, Release);
    found
}

#[test]
fn a_loop_that_sets_a_flag_and_resets_it_comes_to_its_end() {
    let stats = explore(Engine::Graph, || {
        let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || (1..=2).for_each(|n| other.1.store(n, Release)));
        while looks_alone(&shared.0, || Some(shared.1.load(Acquire)).filter(|&n| n == 2)).is_none() {
            thread::yield_now();
        }
        handle.join().unwrap();
    });
    assert_eq!(stats.failure, None);
    assert!(stats.complete > 2 && stats.complete + stats.blocked < 60, "{stats:?}");
    assert!(stats.not_covered.iter().any(|what| what.contains("writes the same each time")), "{stats:?}");
}

#[test]
fn two_that_keep_each_other_out_for_a_while_come_to_their_ends() {
    for engine in ENGINES {
        let stats = explore(engine, || {
            let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
            let takes = |shared: &(AtomicBool, AtomicUsize), from: usize| {
                while looks_alone(&shared.0, || shared.1.compare_exchange(from, from + 1, Acquire, Relaxed).ok())
                    .is_none()
                {
                    thread::yield_now();
                }
            };
            let other = Arc::clone(&shared);
            let handle = thread::spawn(move || takes(&other, 1));
            takes(&shared, 0);
            handle.join().unwrap();
            assert_eq!(shared.1.load(Relaxed), 2);
        });
        assert_eq!(stats.failure, None);
        assert!(stats.complete > 1, "{stats:?}");
    }
}

#[test]
fn a_loop_that_sets_a_flag_and_resets_it_for_ever_is_a_livelock() {
    for engine in ENGINES {
        let stats = explore(engine, || {
            let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
            let other = Arc::clone(&shared);
            let handle = thread::spawn(move || other.1.store(1, Release));
            while looks_alone(&shared.0, || Some(shared.1.load(Acquire)).filter(|&n| n == 2)).is_none() {
                thread::yield_now();
            }
            handle.join().unwrap();
        });
        assert!(stats.failure.as_ref().is_some_and(|failure| failure.contains("livelock")), "{stats:?}");
    }
}

#[test]
fn a_loop_that_counts_in_an_atomic_gives_up_however_late() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let noted = std::sync::Arc::clone(&seen);
    let stats = explore(Engine::Graph, move || {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || other.1.store(1, Release));
        let found = loop {
            if shared.1.load(Acquire) == 1 {
                break false;
            }
            if shared.0.fetch_add(1, Relaxed) == 80 {
                break true;
            }
            thread::yield_now();
        };
        handle.join().unwrap();
        noted.lock().unwrap().insert(found);
    });
    assert_eq!((stats.failure, stats.not_covered), (None, vec![]));
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from([false, true]));
}

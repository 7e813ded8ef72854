//! `fetch_update`: attempts that fail are no executions of their own, unless they leave a trace.

use selvedge::model::{Builder, Engine, MemoryModel, Stats};
use selvedge::sync::Arc;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use selvedge::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use selvedge::thread;
use std::collections::BTreeSet;
use std::sync::Mutex;

fn explore(f: impl Fn() + Send + Sync + 'static) -> Stats {
    Builder::new().explore(f)
}

/// Runs threads that share a value, and the main thread's own part after them.
fn threads<T: Send + Sync + 'static>(count: usize, shared: T, body: fn(usize, &T)) -> Arc<T> {
    let shared = Arc::new(shared);
    let spawn = |n| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || body(n, &shared))
    };
    let handles: Vec<_> = (0..count).map(spawn).collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    shared
}

fn add(count: &AtomicUsize, order: Ordering) -> usize {
    count.fetch_update(AcqRel, order, |n| Some(n + 1)).unwrap()
}

#[test]
fn threads_that_count_have_one_execution_for_every_order() {
    for (count, orders) in [(2, 2), (3, 6), (4, 24), (5, 120)] {
        let stats = explore(move || {
            let counter = threads(count, AtomicUsize::new(0), |_, counter| {
                add(counter, Relaxed);
            });
            assert_eq!(counter.load(Relaxed), count);
        });
        assert_eq!(stats.failure, None);
        assert_eq!((stats.complete, stats.blocked, stats.spurious), (orders, 0, 0));
    }
}

#[test]
fn pointers_and_truth_values_are_updated_in_the_same_way() {
    let stats = explore(|| {
        let shared = (AtomicBool::new(false), AtomicPtr::new(std::ptr::null_mut::<u32>()));
        let shared = threads(3, shared, |_, (flag, pointer)| {
            flag.fetch_update(AcqRel, Acquire, |now| Some(!now)).unwrap();
            pointer.fetch_update(AcqRel, Acquire, |now| Some(now.wrapping_add(1))).unwrap();
        });
        assert!(shared.0.load(Relaxed));
        assert_eq!(shared.1.load(Relaxed).addr(), 3 * size_of::<u32>());
    });
    // Six orders for each. Who changes the flag last may have loaded its first value, which it has again by then; that makes no
    // difference.
    assert_eq!((stats.failure, stats.complete, stats.blocked), (None, 6 * 6, 0));
}

/// With attempts that are made by hand, one by one.
fn by_hand(x: &AtomicUsize, f: impl Fn(usize) -> Option<usize>) -> Result<usize, usize> {
    let mut old = x.load(Acquire);
    while let Some(new) = f(old) {
        match x.compare_exchange(old, new, AcqRel, Acquire) {
            Ok(old) => return Ok(old),
            Err(now) => old = now,
        }
    }
    Err(old)
}

#[test]
fn an_update_that_is_not_made_leaves_the_value() {
    for engine in [Engine::Graph, Engine::Trace] {
        let mut builder = Builder::new();
        builder.engine = engine;
        let results = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
        let noted = std::sync::Arc::clone(&results);
        let stats = builder.explore(move || {
            let shared = Arc::new((AtomicUsize::new(2), AtomicUsize::new(0)));
            let take = |shared: Arc<(AtomicUsize, AtomicUsize)>| {
                move || shared.0.fetch_update(AcqRel, Acquire, |n| n.checked_sub(1)).unwrap_or(9)
            };
            let handles = [0, 1, 2].map(|_| thread::spawn(take(Arc::clone(&shared))));
            let taken = handles.map(|handle| handle.join().unwrap());
            noted.lock().unwrap().insert(taken);
        });
        assert_eq!(stats.failure, None);
        // Two of three get one, in any order.
        let expected: BTreeSet<[usize; 3]> = [[1, 2, 9], [1, 9, 2], [2, 1, 9], [2, 9, 1], [9, 1, 2], [9, 2, 1]].into();
        assert_eq!(*results.lock().unwrap(), expected);
        assert_eq!(stats.complete, 6, "{engine:?}");
    }
}

#[test]
fn a_function_that_counts_its_calls_is_called_again() {
    let counts = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let noted = std::sync::Arc::clone(&counts);
    let mut builder = Builder::new();
    builder.spurious = false;
    let stats = builder.explore(move || {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || other.store(5, Relaxed));
        let mut calls = 0;
        let update = |n| {
            calls += 1;
            Some(n + 1)
        };
        x.fetch_update(AcqRel, Acquire, update).unwrap();
        noted.lock().unwrap().insert(calls);
        handle.join().unwrap();
    });
    assert_eq!(stats.failure, None);
    assert_eq!(*counts.lock().unwrap(), BTreeSet::from([1, 2]));
}

#[test]
fn a_function_that_counts_its_calls_on_the_heap_is_called_again() {
    let counts = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let noted = std::sync::Arc::clone(&counts);
    explore(move || {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || add(&other, Acquire));
        let calls = Box::new(std::cell::Cell::new(0));
        let update = |n| {
            calls.set(calls.get() + 1);
            Some(n + 1)
        };
        x.fetch_update(AcqRel, Acquire, update).unwrap();
        noted.lock().unwrap().insert(calls.get());
        handle.join().unwrap();
    });
    assert_eq!(*counts.lock().unwrap(), BTreeSet::from([1, 2, 3]), "the third time for no reason");
}

#[test]
fn a_function_may_perform_operations() {
    let stats = explore(|| {
        let shared = threads(2, (AtomicUsize::new(0), AtomicUsize::new(0)), |_, (x, calls)| {
            let update = |n| {
                calls.fetch_add(1, Relaxed);
                Some(n + 1)
            };
            x.fetch_update(AcqRel, Acquire, update).unwrap();
        });
        assert_eq!(shared.0.load(Relaxed), 2);
        assert!(shared.1.load(Relaxed) < 3, "somebody had to call it again");
    });
    let failure = stats.failure.expect("an attempt may fail");
    assert!(failure.contains("somebody had to call it again"), "{failure}");
}

/// What is saved: these threads do the same as those above.
#[test]
fn attempts_one_by_one_have_an_execution_each() {
    for by_hand_ in [true, false] {
        let mut builder = Builder::new();
        builder.attempts_one_by_one = true;
        builder.spurious = false;
        let stats = builder.explore(move || {
            let counter = Arc::new(AtomicUsize::new(0));
            let handles = [0, 1, 2].map(|_| {
                let counter = Arc::clone(&counter);
                thread::spawn(move || match by_hand_ {
                    true => by_hand(&counter, |n| Some(n + 1)).unwrap(),
                    false => add(&counter, Acquire),
                })
            });
            handles.into_iter().for_each(|handle| assert!(handle.join().unwrap() < 3));
            assert_eq!(counter.load(Relaxed), 3);
        });
        assert_eq!((stats.failure, stats.complete), (None, 48), "{by_hand_}");
    }
}

/// What `f` is called with in `three`.
type Function = fn(usize) -> Option<usize>;

/// What three threads find that update two words, by hand or not: outcomes, complete and blocked executions.
fn three(
    model: MemoryModel,
    words: [usize; 4],
    functions: [Function; 4],
    by_hand_: bool,
) -> (BTreeSet<Vec<usize>>, Stats) {
    let outcomes = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let noted = std::sync::Arc::clone(&outcomes);
    let mut builder = Builder::new();
    builder.memory_model = model;
    builder.spurious = false;
    builder.attempts_one_by_one = by_hand_;
    let stats = builder.explore(move || {
        let shared = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let apply = move |shared: &[AtomicUsize; 2], n: usize| {
            let (x, f) = (&shared[words[n]], functions[n]);
            let result = if by_hand_ { by_hand(x, f) } else { x.fetch_update(AcqRel, Acquire, f) };
            match result {
                Ok(old) => old,
                Err(old) => 100 + old,
            }
        };
        let handles: Vec<_> = (0..2)
            .map(|n| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || [apply(&shared, n), apply(&shared, n + 1)])
            })
            .collect();
        let mut found = vec![apply(&shared, 3)];
        handles.into_iter().for_each(|handle| found.extend(handle.join().unwrap()));
        found.extend(shared.iter().map(|x| x.load(Relaxed)));
        noted.lock().unwrap().insert(found);
    });
    let outcomes = outcomes.lock().unwrap().clone();
    (outcomes, stats)
}

#[test]
fn random_updates_have_the_outcomes_of_attempts_that_are_made_by_hand() {
    let functions: [Function; 5] = [
        |n| Some(n + 1),
        |n| Some(1 - n.min(1)),
        |n| (n < 2).then_some(n + 2),
        |n| (n > 0).then(|| n - 1),
        |_| Some(7),
    ];
    let mut seed = 1u64;
    let mut random = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n
    };
    let mut fewer = 0;
    for _ in 0..40 {
        let words = std::array::from_fn(|_| random(2));
        let chosen: [usize; 4] = std::array::from_fn(|_| random(functions.len()));
        let model = [MemoryModel::Rc11, MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Ra][random(4)];
        let chosen_functions = chosen.map(|n| functions[n]);
        let (expected, attempts) = three(model, words, chosen_functions, true);
        let (found, updates) = three(model, words, chosen_functions, false);
        assert_eq!(found, expected, "{words:?} {chosen:?} {model:?}");
        assert_eq!((updates.failure, attempts.failure), (None, None));
        assert!(updates.complete <= attempts.complete, "{words:?} {chosen:?} {model:?}");
        fewer += u32::from(updates.complete + updates.blocked < attempts.complete + attempts.blocked);
    }
    assert!(fewer > 25, "{fewer}");
}

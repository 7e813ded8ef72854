//! Loops that try an exchange again: attempts that fail are no executions of their own, unless they leave a trace.

#![allow(unsafe_code)]

use selvedge::cell::UnsafeCell;
use selvedge::model::{Builder, MemoryModel, Stats};
use selvedge::sync::Arc;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use selvedge::{hint, thread};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ptr;
use std::sync::Mutex;

/// Explores a model: without executions for attempts that fail, or with them.
fn explore(one_by_one: bool, f: impl Fn() + Send + Sync + 'static) -> Stats {
    let mut builder = Builder::new();
    builder.attempts_one_by_one = one_by_one;
    builder.spurious = false;
    builder.explore(f)
}

/// Notes what an execution ends with.
fn note<T: Ord>(noted: &Mutex<BTreeSet<T>>, outcome: T) {
    if !selvedge::model::is_tried_out() {
        noted.lock().unwrap().insert(outcome);
    }
}

/// Whether the compiler leaves no values on the stack that do not matter (`machine/awaits.rs`).
fn is_optimised() -> bool {
    !std::env::current_exe().expect("the program has a name").iter().any(|part| part == "debug")
}

/// Counts: if the exchange fails, it goes on with what that has found.
fn goes_on(x: &AtomicUsize) {
    let mut old = x.load(Relaxed);
    while let Err(now) = x.compare_exchange_weak(old, old + 1, AcqRel, Relaxed) {
        old = now;
    }
}

/// Counts: if the exchange fails, it loads again.
fn goes_back(x: &AtomicUsize) {
    loop {
        let old = x.load(Acquire);
        if x.compare_exchange(old, old + 1, AcqRel, Relaxed).is_ok() {
            break;
        }
    }
}

fn spins(x: &AtomicUsize) {
    loop {
        let old = x.load(Acquire);
        if x.compare_exchange(old, old + 1, AcqRel, Relaxed).is_ok() {
            break;
        }
        hint::spin_loop();
    }
}

fn yields(x: &AtomicUsize) {
    let mut old = x.load(Relaxed);
    while let Err(now) = x.compare_exchange(old, old + 1, SeqCst, SeqCst) {
        thread::yield_now();
        old = now;
    }
}

#[test]
fn threads_that_count_have_one_execution_for_every_order() {
    for (name, count) in
        [("on", goes_on as fn(&AtomicUsize)), ("back", goes_back), ("spins", spins), ("yields", yields)]
    {
        for (threads, orders) in [(2, 2), (3, 6), (4, 24)] {
            let stats = explore(false, move || {
                let x = Arc::new(AtomicUsize::new(0));
                let handles: Vec<_> = (0..threads)
                    .map(|_| {
                        let x = Arc::clone(&x);
                        thread::spawn(move || count(&x))
                    })
                    .collect();
                handles.into_iter().for_each(|handle| handle.join().unwrap());
                assert_eq!(x.load(Relaxed), threads);
            });
            assert_eq!(stats.failure, None);
            if is_optimised() {
                assert_eq!((stats.complete, stats.blocked), (orders, 0), "{name}: {:?}", stats.notes);
            }
        }
    }
}

struct Node {
    value: UnsafeCell<usize>,
    /// What comes after it, in an atomic and not.
    next: AtomicPtr<Node>,
    after: Cell<*mut Node>,
}

fn node(value: usize) -> *mut Node {
    let (next, after) = (AtomicPtr::new(ptr::null_mut()), Cell::new(ptr::null_mut()));
    Box::into_raw(Box::new(Node { value: UnsafeCell::new(value), next, after }))
}

/// Pushes; `next` is told of the old top, or `after`.
fn push(top: &AtomicPtr<Node>, value: usize, atomic: bool) {
    let node = node(value);
    let mut old = top.load(Relaxed);
    loop {
        // SAFETY: nodes are not freed.
        unsafe {
            match atomic {
                true => (*node).next.store(old, Relaxed),
                false => (*node).after.set(old),
            }
        }
        match top.compare_exchange(old, node, Release, Relaxed) {
            Ok(_) => break,
            Err(now) => old = now,
        }
    }
}

/// Pops, with these orders of the load and of a failed exchange.
fn pop(top: &AtomicPtr<Node>, atomic: bool, orders: (Ordering, Ordering)) -> usize {
    let mut old = top.load(orders.0);
    while !old.is_null() {
        // SAFETY: nodes are not freed.
        let next = unsafe { if atomic { (*old).next.load(Relaxed) } else { (*old).after.get() } };
        match top.compare_exchange(old, next, AcqRel, orders.1) {
            // SAFETY: as above.
            Ok(_) => return unsafe { (*old).value.with(|value| *value) },
            Err(now) => old = now,
        }
    }
    99
}

type Outcomes = BTreeSet<Vec<usize>>;

/// What threads find that push and pop.
fn stack(
    pushes: usize,
    pops: usize,
    atomic: bool,
    one_by_one: bool,
    orders: (Ordering, Ordering),
) -> (Outcomes, Stats) {
    let outcomes = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let noted = std::sync::Arc::clone(&outcomes);
    let stats = explore(one_by_one, move || {
        let top = Arc::new(AtomicPtr::new(ptr::null_mut()));
        let handles: Vec<_> = (0..pushes + pops)
            .map(|n| {
                let top = Arc::clone(&top);
                thread::spawn(move || {
                    if n < pushes {
                        push(&top, n, atomic);
                        0
                    } else {
                        pop(&top, atomic, orders)
                    }
                })
            })
            .collect();
        let mut found: Vec<usize> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
        found.extend((0..=pushes).map(|_| pop(&top, atomic, orders)));
        note(&noted, found);
    });
    let outcomes = outcomes.lock().unwrap().clone();
    (outcomes, stats)
}

#[test]
fn stacks_have_the_outcomes_of_attempts_one_by_one_and_fewer_executions() {
    for (pushes, pops, executions) in [(2, 0, 2), (3, 0, 6), (2, 1, 8), (1, 2, 0), (2, 2, 0)] {
        for atomic in [true, false] {
            let (expected, all) = stack(pushes, pops, atomic, true, (Acquire, Acquire));
            let (found, stats) = stack(pushes, pops, atomic, false, (Acquire, Acquire));
            assert_eq!((&stats.failure, &all.failure), (&None, &None));
            assert_eq!(found, expected, "{pushes} pushes, {pops} pops, {atomic}");
            assert!(stats.complete <= all.complete);
            if is_optimised() {
                assert_eq!(stats.blocked, 0, "{:?}", stats.notes);
                assert!(stats.complete < all.complete || pushes == 1, "{:?}", stats.notes);
                assert!(executions == 0 || stats.complete == executions, "{stats:?}");
            }
        }
    }
}

/// An attempt that has failed sees less than the load does: the content of the node that it has found.
#[test]
fn a_failed_exchange_that_sees_less_than_the_load_is_explored() {
    let (_, right) = stack(2, 1, true, false, (Acquire, Acquire));
    assert_eq!(right.failure, None);
    let (_, wrong) = stack(2, 1, true, false, (Acquire, Relaxed));
    assert!(wrong.failure.is_some_and(|failure| failure.contains("race")), "{:?}", wrong.notes);
}

/// Whoever pops a node frees it. An attempt that fails may look at one that was freed.
#[test]
fn a_node_that_is_freed_under_an_attempt_that_fails_is_found() {
    for one_by_one in [true, false] {
        let stats = explore(one_by_one, || {
            let top = Arc::new(AtomicPtr::new(ptr::null_mut()));
            push(&top, 1, true);
            push(&top, 2, true);
            let handles = [0, 1].map(|_| {
                let top = Arc::clone(&top);
                thread::spawn(move || {
                    let mut old = top.load(Acquire);
                    while !old.is_null() {
                        // SAFETY: whoever has taken a node is the last one to use it; or so it seems.
                        let next = unsafe { (*old).next.load(Relaxed) };
                        match top.compare_exchange(old, next, AcqRel, Acquire) {
                            // SAFETY: as above.
                            Ok(_) => return drop(unsafe { Box::from_raw(old) }),
                            Err(now) => old = now,
                        }
                    }
                })
            });
            handles.into_iter().for_each(|handle| handle.join().unwrap());
        });
        assert!(stats.failure.as_ref().is_some_and(|failure| failure.contains("freed")), "{one_by_one}: {stats:?}");
    }
}

selvedge::thread_local! {
    static TRIES: Cell<usize> = Cell::new(0);
}

/// Notes on the heap that an attempt has failed.
struct Fails<'a>(&'a Cell<usize>, bool);

impl Drop for Fails<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + usize::from(self.1));
    }
}

/// The kinds of loops below.
const KINDS: usize = 22;
/// Those whose attempts leave no trace.
const PURE: [usize; 6] = [0, 1, 2, 3, 4, 5];

/// What a loop does with a word, and what it returns.
type Function = fn(usize) -> usize;

/// A loop that tries again, with or without a trace of attempts that fail. What it has seen is what it returns.
///
/// Not inlined: what it leaves on the stack of its caller would tell states apart.
#[inline(never)]
fn update(kind: usize, [x, y]: [&AtomicUsize; 2], f: Function) -> usize {
    let exchange = |old: usize| x.compare_exchange(old, f(old), AcqRel, Acquire);
    let mut old = x.load(Acquire);
    let mut seen = 0;
    match kind {
        0 => {
            while let Err(now) = exchange(old) {
                old = now;
            }
        }
        1 => {
            while exchange(old).is_err() {
                old = x.load(Acquire);
            }
        }
        2 => loop {
            old = x.load(Relaxed);
            if exchange(old).is_ok() {
                break;
            }
            hint::spin_loop();
        },
        // Something is loaded in between.
        3 => loop {
            old = x.load(Acquire);
            seen = y.load(Acquire);
            if exchange(old).is_ok() {
                break;
            }
        },
        // Nothing is exchanged with some values.
        4 => {
            while old < 3 {
                match exchange(old) {
                    Ok(_) => break,
                    Err(now) => old = now,
                }
            }
        }
        // What is written to in between is the thread's own.
        5 => {
            let own = Box::new((AtomicUsize::new(7), Cell::new(7)));
            loop {
                own.0.store(old, Relaxed);
                own.1.set(old);
                match exchange(old) {
                    Ok(_) => break,
                    Err(now) => old = now,
                }
            }
            seen = own.1.get();
        }
        // They count: on the stack,
        6 => {
            while let Err(now) = exchange(old) {
                seen += 1;
                old = now;
            }
        }
        // on the heap,
        7 => {
            let count = Box::new(Cell::new(0));
            while let Err(now) = exchange(old) {
                count.set(count.get() + 1);
                old = now;
            }
            seen = count.get();
        }
        // in a variable of the thread,
        8 => {
            TRIES.set(0);
            while exchange(old).is_err() {
                TRIES.set(TRIES.get() + 1);
                old = x.load(Acquire);
            }
            seen = TRIES.get();
        }
        // in a list,
        9 => {
            let log = RefCell::new(Vec::with_capacity(4));
            while let Err(now) = exchange(old) {
                log.borrow_mut().push(now);
                old = now;
            }
            seen = log.take().iter().fold(0, |all, n| 8 * all + n + 1);
        }
        // when something is dropped,
        10 => {
            let count = Box::new(Cell::new(0));
            loop {
                let mut fails = Fails(&count, true);
                match exchange(old) {
                    Ok(_) => {
                        fails.1 = false;
                        break;
                    }
                    Err(now) => old = now,
                }
            }
            seen = count.get();
        }
        // and where others see it.
        11 => {
            while let Err(now) = exchange(old) {
                y.fetch_add(1, Relaxed);
                old = now;
            }
        }
        12 => {
            while exchange(old).is_err() {
                y.store(5, Relaxed);
                old = x.load(Acquire);
            }
        }
        // Whether it was an odd number of times.
        13 => {
            let mut odd = false;
            while let Err(now) = exchange(old) {
                odd = !odd;
                old = now;
            }
            seen = usize::from(odd);
        }
        // The last value that it was not.
        14 => {
            while let Err(now) = exchange(old) {
                seen = old + 1;
                old = now;
            }
        }
        // It gives up.
        15 => {
            for _ in 0..2 {
                match exchange(old) {
                    Ok(_) => return old,
                    Err(now) => old = now,
                }
            }
            seen = 100;
        }
        // How often there was another value than the last time.
        16 => {
            let mut last = usize::MAX;
            loop {
                old = x.load(Acquire);
                seen += usize::from(old != last);
                last = old;
                if exchange(old).is_ok() {
                    break;
                }
            }
        }
        // Only some values leave a trace.
        17 => {
            while let Err(now) = exchange(old) {
                seen += usize::from(now == 2);
                old = now;
            }
        }
        // A box is made for every attempt.
        18 => {
            let mut kept = Box::new(old);
            while let Err(now) = exchange(*kept) {
                seen = 10 * seen + *kept + 1;
                drop(std::mem::replace(&mut kept, Box::new(now)));
            }
            old = *kept;
        }
        // An object of the thread's own is told of some values only.
        19 => {
            let own = Box::new(AtomicUsize::new(0));
            loop {
                if old < 2 {
                    own.store(old + 1, Relaxed);
                }
                match exchange(old) {
                    Ok(_) => break,
                    Err(now) => old = now,
                }
            }
            seen = own.load(Relaxed);
        }
        // What comes before the load is written to where others see it, but not always.
        20 => loop {
            if y.load(Acquire) == 0 {
                y.store(1, Relaxed);
                seen += 1;
            }
            old = x.load(Acquire);
            if exchange(old).is_ok() {
                y.store(0, Relaxed);
                break;
            }
        },
        // Blocks are known by their number.
        _ => {
            while let Err(now) = exchange(old) {
                std::mem::forget(Box::new(now));
                seen += 1;
                old = now;
            }
        }
    }
    old + 1000 * seen
}

/// Two threads and the main one, with two loops and one; outcomes, and executions.
fn three(
    model: MemoryModel,
    kinds: [usize; 3],
    words: [usize; 3],
    functions: [Function; 3],
    one_by_one: bool,
) -> (Outcomes, Stats) {
    let outcomes = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let noted = std::sync::Arc::clone(&outcomes);
    let mut builder = Builder::new();
    builder.memory_model = model;
    builder.spurious = false;
    builder.attempts_one_by_one = one_by_one;
    builder.max_branches = 100;
    let stats = builder.explore(move || {
        let shared = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let apply = move |shared: &[AtomicUsize; 2], n: usize| {
            let (x, y) = (&shared[words[n]], &shared[1 - words[n]]);
            update(kinds[n], [x, y], functions[n])
        };
        let handles = [0, 1].map(|n| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || apply(&shared, n))
        });
        let mut found = vec![apply(&shared, 2)];
        found.extend(handles.map(|handle| handle.join().unwrap()));
        found.extend(shared.iter().map(|x| x.load(Relaxed)));
        note(&noted, found);
    });
    let outcomes = outcomes.lock().unwrap().clone();
    (outcomes, stats)
}

const FUNCTIONS: [Function; 4] = [|n| n + 1, |n| n + 2, |n| 1 - n.min(1), |_| 7];

/// Runs a model in both ways; whether it has fewer executions without attempts that fail.
fn compare(model: MemoryModel, kinds: [usize; 3], words: [usize; 3], chosen: [usize; 3]) -> bool {
    let functions = chosen.map(|n| FUNCTIONS[n]);
    let (expected, all) = three(model, kinds, words, functions, true);
    if all.failure.is_some() {
        // Two loops that make each other fail never end.
        return false;
    }
    let (found, stats) = three(model, kinds, words, functions, false);
    assert_eq!(found, expected, "{kinds:?} {words:?} {chosen:?} {model:?} {:?}", stats.notes);
    assert_eq!((stats.failure, all.failure), (None, None), "{kinds:?} {words:?} {chosen:?} {model:?}");
    assert!(stats.complete <= all.complete, "{kinds:?} {words:?} {chosen:?} {model:?}");
    stats.complete + stats.blocked < all.complete + all.blocked
}

#[test]
fn loops_of_every_kind_have_the_outcomes_of_attempts_one_by_one() {
    let mut recognised = 0;
    for kind in 0..KINDS {
        let fewer = compare(MemoryModel::Rc11, [kind; 3], [0; 3], [0, 0, 0]);
        // Toggling has two values only; these come back.
        compare(MemoryModel::Rc11, [kind; 3], [0; 3], [2, 2, 2]);
        // Whether a loop is recognised depends on what its function leaves on the stack.
        recognised += u32::from(fewer);
        assert!(!fewer || PURE.contains(&kind), "kind {kind}");
    }
    assert!(!is_optimised() || recognised > 0, "{recognised}");
}

#[test]
fn random_loops_have_the_outcomes_of_attempts_one_by_one() {
    let mut seed = 3u64;
    let mut random = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n
    };
    let mut fewer = 0;
    for _ in 0..250 {
        let words: [usize; 3] = std::array::from_fn(|_| random(4) / 3);
        let kinds = std::array::from_fn(|_| if random(2) == 0 { PURE[random(PURE.len())] } else { random(KINDS) });
        let chosen = std::array::from_fn(|_| random(FUNCTIONS.len()));
        let model = [MemoryModel::Rc11, MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Ra][random(4)];
        fewer += u32::from(compare(model, kinds, words, chosen));
    }
    assert!(!is_optimised() || fewer > 40, "{fewer}");
}

/// A node that others know of is told in an attempt that fails what comes after it, and they see that.
#[test]
fn what_others_can_see_before_the_exchange_is_explored() {
    let run = |one_by_one| {
        let outcomes = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
        let noted = std::sync::Arc::clone(&outcomes);
        let stats = explore(one_by_one, move || {
            let shared = Arc::new((AtomicUsize::new(0), AtomicPtr::new(ptr::null_mut::<AtomicUsize>())));
            let [first, second, reader] = [0, 1, 2].map(|_| Arc::clone(&shared));
            let first = thread::spawn(move || {
                let own = Box::into_raw(Box::new(AtomicUsize::new(9)));
                first.1.store(own, Release);
                let mut old = first.0.load(Relaxed);
                loop {
                    // SAFETY: it is not freed.
                    unsafe { (*own).store(old, Relaxed) };
                    match first.0.compare_exchange(old, old + 1, AcqRel, Relaxed) {
                        Ok(_) => break,
                        Err(now) => old = now,
                    }
                }
            });
            let second = thread::spawn(move || goes_on(&second.0));
            let reader = thread::spawn(move || {
                let own = reader.1.load(Acquire);
                // SAFETY: as above.
                if own.is_null() { vec![] } else { [0, 1].map(|_| unsafe { (*own).load(Relaxed) }).to_vec() }
            });
            let seen = reader.join().unwrap();
            first.join().unwrap();
            second.join().unwrap();
            note(&noted, seen);
        });
        assert_eq!(stats.failure, None);
        outcomes.lock().unwrap().clone()
    };
    let expected = run(true);
    assert!(expected.contains(&vec![0, 1]));
    assert_eq!(run(false), expected);
}

/// What threads of a scope count is on the stack of the thread that has created them.
#[test]
fn counts_on_the_stack_of_another_thread_are_seen() {
    let run = |one_by_one| {
        let outcomes = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
        let noted = std::sync::Arc::clone(&outcomes);
        explore(one_by_one, move || {
            let x = AtomicUsize::new(0);
            let mut counts = [0, 0];
            let [first, second] = &mut counts;
            let count = |x: &AtomicUsize, fails: &mut usize| {
                let mut old = x.load(Relaxed);
                while let Err(now) = x.compare_exchange(old, old + 1, AcqRel, Relaxed) {
                    *fails += 1;
                    old = now;
                }
            };
            thread::scope(|scope| {
                scope.spawn(|| count(&x, first));
                scope.spawn(|| count(&x, second));
            });
            note(&noted, counts);
        });
        outcomes.lock().unwrap().clone()
    };
    let expected = run(true);
    assert_eq!(expected, BTreeSet::from([[0, 0], [0, 1], [1, 0]]));
    assert_eq!(run(false), expected);
}

/// A failed attempt that leaves a trace is noted.
#[test]
fn loops_that_are_explored_one_by_one_are_noted() {
    let stats = explore(false, || {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || update(6, [&other, &other], FUNCTIONS[0]));
        update(6, [&x, &x], FUNCTIONS[0]);
        handle.join().unwrap();
    });
    let note = stats.notes.iter().find(|note| note.contains("leaves a trace"));
    assert!(note.is_some_and(|note| note.contains("retries.rs")), "{:?}", stats.notes);
}

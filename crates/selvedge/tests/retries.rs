//! Loops that try an exchange again: attempts that fail are no executions of their own, unless they leave a trace.

#![allow(unsafe_code)]

use selvedge::cell::UnsafeCell;
use selvedge::model::{Builder, Stats};
use selvedge::sync::Arc;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use selvedge::{hint, thread};
use std::cell::Cell;
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

/// Counts: if the exchange fails, it loads again, but elsewhere.
fn loads_elsewhere(x: &AtomicUsize) {
    let mut old = x.load(Acquire);
    while x.compare_exchange(old, old + 1, AcqRel, Relaxed).is_err() {
        old = x.load(Acquire);
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

/// A way to count.
type Count = fn(&AtomicUsize);

#[test]
fn threads_that_count_have_one_execution_for_every_order() {
    let loops: [(&str, Count); 5] =
        [("on", goes_on), ("back", goes_back), ("elsewhere", loads_elsewhere), ("spins", spins), ("yields", yields)];
    for (name, count) in loops {
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
    for (pushes, pops, executions) in [(2, 0, 2), (3, 0, 6), (2, 1, 6), (1, 2, 0), (2, 2, 0)] {
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

/// A word that is not the thread's own is told in every attempt what it has loaded, and others see that.
#[test]
fn stores_to_what_others_see_are_explored() {
    let run = |one_by_one| {
        let outcomes = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
        let noted = std::sync::Arc::clone(&outcomes);
        let stats = explore(one_by_one, move || {
            let shared = Arc::new([const { AtomicUsize::new(0) }; 2]);
            let [first, second, reader] = [0, 1, 2].map(|_| Arc::clone(&shared));
            let first = thread::spawn(move || {
                loop {
                    let old = first[0].load(Relaxed);
                    first[1].store(old + 1, Relaxed);
                    if first[0].compare_exchange(old, old + 1, AcqRel, Relaxed).is_ok() {
                        break;
                    }
                }
            });
            let second = thread::spawn(move || goes_on(&second[0]));
            let reader = thread::spawn(move || [0, 1].map(|_| reader[1].load(Relaxed)));
            let seen = reader.join().unwrap();
            first.join().unwrap();
            second.join().unwrap();
            note(&noted, seen);
        });
        assert_eq!(stats.failure, None);
        outcomes.lock().unwrap().clone()
    };
    let expected = run(true);
    assert!(expected.contains(&[1, 2]));
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

/// An exchange of something else than what was loaded does not confirm it: it is an operation like any other.
#[test]
fn an_exchange_that_does_not_expect_what_was_loaded_is_no_attempt() {
    let stats = explore(false, || {
        let x = Arc::new(AtomicUsize::new(0));
        let handles = [1, 2].map(|n| {
            let x = Arc::clone(&x);
            thread::spawn(move || {
                let before = x.load(Relaxed);
                let _ = x.compare_exchange(before + 1, n, AcqRel, Relaxed);
                x.store(n, Release);
            })
        });
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    });
    assert_eq!((stats.failure, stats.notes), (None, vec![]));
}

/// An attempt that goes wrong before its exchange could fail.
#[test]
fn an_attempt_that_panics_before_its_exchange_fails_is_found() {
    for one_by_one in [true, false] {
        let stats = explore(one_by_one, || {
            let shared = Arc::new([const { AtomicUsize::new(0) }; 2]);
            let [first, second] = [0, 1].map(|_| Arc::clone(&shared));
            let first = thread::spawn(move || {
                loop {
                    let old = first[0].load(Acquire);
                    let other = first[1].load(Acquire);
                    assert!(old == 1 || other == 0, "an old value with a new one");
                    if first[0].compare_exchange(old, old + 1, AcqRel, Relaxed).is_ok() {
                        break;
                    }
                }
            });
            let second = thread::spawn(move || {
                goes_on(&second[0]);
                second[1].store(1, Release);
            });
            let _ = (first.join(), second.join());
        });
        let failure = stats.failure.unwrap_or_default();
        assert!(failure.contains("an old value with a new one"), "{one_by_one}: {failure:?}");
    }
}

/// An attempt looks at what only the one who succeeds may look at.
#[test]
fn a_data_race_of_an_attempt_that_fails_is_found() {
    for one_by_one in [true, false] {
        let stats = explore(one_by_one, || {
            let shared = Arc::new((AtomicUsize::new(0), [0, 1, 2].map(UnsafeCell::new)));
            let [first, second] = [0, 1].map(|_| Arc::clone(&shared));
            let first = thread::spawn(move || {
                loop {
                    let old = first.0.load(Acquire);
                    // SAFETY: nobody else has this one; or so it seems.
                    let _ = first.1[old].with(|value| unsafe { *value });
                    if first.0.compare_exchange(old, old + 1, AcqRel, Relaxed).is_ok() {
                        break;
                    }
                }
            });
            let second = thread::spawn(move || {
                let mut old = second.0.load(Relaxed);
                while let Err(now) = second.0.compare_exchange(old, old + 1, AcqRel, Relaxed) {
                    old = now;
                }
                // SAFETY: this one is the thread's own.
                second.1[old].with_mut(|value| unsafe { *value = 7 });
            });
            let _ = (first.join(), second.join());
        });
        let failure = stats.failure.unwrap_or_default();
        assert!(failure.contains("race"), "{one_by_one}: {failure:?}");
    }
}

/// A lock in one word. Who waits for it puts a node on its own stack at the head of a list, once per attempt, and parks. When an
/// attempt is tried out, others' nodes are looked at that nobody has looked at in the execution.
mod queued_on_stacks {
    use super::*;
    use selvedge::thread::Thread;

    struct Node {
        next: AtomicUsize,
        woken: AtomicUsize,
        thread: Thread,
    }

    /// With nodes on the stack, or in memory that is given back if an attempt fails; and with one more look before the first.
    fn lock(word: &AtomicUsize, boxes: bool, mut looks_again: bool) {
        let mut seen = word.load(Relaxed);
        loop {
            if seen & 1 == 0 {
                match word.compare_exchange(seen, seen | 1, Acquire, Relaxed) {
                    Ok(_) => return,
                    Err(now) => {
                        seen = now;
                        continue;
                    }
                }
            }
            if std::mem::take(&mut looks_again) {
                hint::spin_loop();
                seen = word.load(Relaxed);
                continue;
            }
            let new = || {
                let (next, woken) = (AtomicUsize::new(seen & !1), AtomicUsize::new(0));
                Node { next, woken, thread: thread::current() }
            };
            let (on_stack, in_box);
            let node: &Node = if boxes {
                in_box = Box::new(new());
                &in_box
            } else {
                on_stack = new();
                &on_stack
            };
            let head = ptr::from_ref(node).expose_provenance() | 1;
            if let Err(now) = word.compare_exchange(seen, head, AcqRel, Relaxed) {
                seen = now;
                continue;
            }
            while node.woken.load(Acquire) == 0 {
                thread::park();
            }
            seen = word.load(Relaxed);
        }
    }

    fn unlock(word: &AtomicUsize) {
        let mut seen = word.load(Acquire);
        loop {
            if seen & !1 == 0 {
                match word.compare_exchange(seen, 0, Release, Acquire) {
                    Ok(_) => return,
                    Err(now) => {
                        seen = now;
                        continue;
                    }
                }
            }
            // SAFETY: only who has the lock takes nodes from the list, and who waits is there until it was woken.
            let node = unsafe { &*ptr::with_exposed_provenance::<Node>(seen & !1) };
            match word.compare_exchange(seen, node.next.load(Relaxed), AcqRel, Acquire) {
                Ok(_) => {
                    let thread = node.thread.clone();
                    node.woken.store(1, Release);
                    return thread.unpark();
                }
                Err(now) => seen = now,
            }
        }
    }

    fn is_right(boxes: bool, model: fn(bool)) {
        let [together, one_by_one] = [false, true].map(|one_by_one| {
            let stats = explore(one_by_one, move || model(boxes));
            assert_eq!(stats.failure, None, "in boxes: {boxes}, one by one: {one_by_one}");
            stats.complete
        });
        assert!(together <= one_by_one, "in boxes: {boxes}: {together} and {one_by_one}");
    }

    #[test]
    fn what_is_met_in_an_attempt_that_fails_is_not_mistaken() {
        for boxes in [false, true] {
            is_right(boxes, |boxes| {
                let word = Arc::new(AtomicUsize::new(1));
                let handles = [0; 2].map(|_| {
                    let word = Arc::clone(&word);
                    thread::spawn(move || {
                        lock(&word, boxes, false);
                        unlock(&word);
                    })
                });
                unlock(&word);
                handles.into_iter().for_each(|handle| handle.join().unwrap());
                assert_eq!(word.load(Relaxed), 0);
            });
        }
    }

    /// What an attempt that fails allocates is elsewhere than what the one allocates that was made, and is the same block.
    #[test]
    fn pointers_lead_to_what_was_allocated_in_the_attempt_that_was_made() {
        is_right(true, |boxes| {
            let word = Arc::new(AtomicUsize::new(0));
            let handles = [true, false].map(|looks_again| {
                let word = Arc::clone(&word);
                thread::spawn(move || {
                    lock(&word, boxes, looks_again);
                    unlock(&word);
                })
            });
            if word.compare_exchange(0, 1, Acquire, Relaxed).is_ok() {
                unlock(&word);
            }
            handles.into_iter().for_each(|handle| handle.join().unwrap());
            assert_eq!(word.load(Relaxed), 0);
        });
    }
}

/// With some values a loop tries an exchange, one of two, and with others it waits, without saying so.
#[test]
fn a_loop_may_try_with_some_values_and_wait_with_others() {
    fn take(x: &AtomicUsize) {
        loop {
            match x.load(Relaxed) {
                0 if x.compare_exchange(0, 1, Relaxed, Relaxed).is_ok() => return,
                1 if x.compare_exchange(1, 2, Relaxed, Relaxed).is_ok() => return,
                _ => {}
            }
        }
    }
    fn pass_by(x: &AtomicUsize) {
        if x.compare_exchange(0, 1, Relaxed, Relaxed).is_ok() {
            if x.compare_exchange(1, 4, Relaxed, Relaxed).is_err() {
                x.store(4, Relaxed);
            }
            x.store(0, Relaxed);
        }
    }
    for (one_by_one, first) in [(false, true), (false, false), (true, true), (true, false)] {
        let stats = explore(one_by_one, move || {
            let x = Arc::new(AtomicUsize::new(0));
            let threads = if first { [take, pass_by] } else { [pass_by, take] };
            let handles = threads.map(|f| {
                let x = Arc::clone(&x);
                thread::spawn(move || f(&x))
            });
            handles.into_iter().for_each(|handle| handle.join().unwrap());
        });
        assert_eq!((stats.failure, stats.not_covered), (None, vec![]), "one by one: {one_by_one}, first: {first}");
        assert!(stats.complete > 1);
    }
}

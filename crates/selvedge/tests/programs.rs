//! Programs that are right, and programs with a bug that has to be found.

#![allow(unsafe_code)]

use selvedge::cell::UnsafeCell;
use selvedge::model::{Builder, Stats};
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use selvedge::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, fence};
use selvedge::sync::{Arc, Condvar, Mutex, RwLock};
use selvedge::thread;
use std::ptr;

fn explore(f: impl Fn() + Send + Sync + 'static) -> Stats {
    Builder::new().explore(f)
}

fn passes(f: impl Fn() + Send + Sync + 'static) -> u64 {
    let stats = explore(f);
    assert_eq!(stats.failure, None);
    assert!(stats.not_covered.is_empty());
    stats.complete
}

/// The failure, which has to contain these words.
fn fails(words: &[&str], f: impl Fn() + Send + Sync + 'static) -> String {
    let failure = explore(f).failure.expect("the model has a bug");
    for word in words {
        assert!(failure.contains(word), "`{word}` is not in:\n{failure}");
    }
    failure
}

#[test]
fn a_counter_under_a_mutex_counts() {
    for (threads, executions) in [(2, 2), (3, 6)] {
        let explored = passes(move || {
            let counter = Arc::new(Mutex::new(0));
            let handles: Vec<_> = (0..threads)
                .map(|_| {
                    let counter = Arc::clone(&counter);
                    thread::spawn(move || *counter.lock().unwrap() += 1)
                })
                .collect();
            handles.into_iter().for_each(|handle| handle.join().unwrap());
            assert_eq!(*counter.lock().unwrap(), threads);
        });
        assert_eq!(explored, executions);
    }
}

#[test]
fn a_panic_is_reported_with_its_message_place_and_execution() {
    let failure = fails(&["assertion", "it is lost", "programs.rs:", "main", "load, Relaxed", "AtomicUsize"], || {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || other.store(other.load(Relaxed) + 1, Relaxed));
        x.store(x.load(Relaxed) + 1, Relaxed);
        handle.join().unwrap();
        assert_eq!(x.load(Relaxed), 2, "it is lost");
    });
    assert!(failure.contains("thread 1"), "{failure}");
}

#[test]
fn crossed_locks_are_a_deadlock() {
    fails(&["deadlock", "Mutex"], || {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (c, d) = (Arc::clone(&a), Arc::clone(&b));
        let handle = thread::spawn(move || {
            let _first = c.lock().unwrap();
            let _second = d.lock().unwrap();
        });
        let second = b.lock().unwrap();
        let first = a.lock().unwrap();
        drop((first, second));
        handle.join().unwrap();
    });
}

#[test]
fn a_notification_that_comes_too_early_is_lost() {
    fails(&["deadlock", "Condvar"], || {
        let pair = Arc::new((AtomicBool::new(false), Mutex::new(()), Condvar::new()));
        let other = Arc::clone(&pair);
        let handle = thread::spawn(move || {
            other.0.store(true, Release);
            other.2.notify_one();
        });
        if !pair.0.load(Acquire) {
            let guard = pair.1.lock().unwrap();
            drop(pair.2.wait(guard).unwrap());
        }
        handle.join().unwrap();
    });
}

#[test]
fn a_condition_that_is_checked_under_the_mutex_is_met() {
    passes(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let handle = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let mut ready = pair.0.lock().unwrap();
        while !*ready {
            ready = pair.1.wait(ready).unwrap();
        }
        drop(ready);
        handle.join().unwrap();
    });
}

#[test]
fn a_write_during_a_read_is_a_data_race() {
    struct Shared(UnsafeCell<usize>);
    // SAFETY: it is not safe; the model is there to find that out.
    unsafe impl Sync for Shared {}
    fails(&["data-race", "UnsafeCell"], || {
        let cell = Arc::new(Shared(UnsafeCell::new(0)));
        let other = Arc::clone(&cell);
        // SAFETY: as above.
        let handle = thread::spawn(move || other.0.with_mut(|value| unsafe { *value = 1 }));
        // SAFETY: as above.
        cell.0.with(|value| unsafe { *value });
        handle.join().unwrap();
    });
}

/// A message behind a flag; what is sent and received with these orders.
fn flag(store: selvedge::sync::atomic::Ordering, load: selvedge::sync::atomic::Ordering) -> Stats {
    struct Shared(AtomicBool, UnsafeCell<usize>);
    // SAFETY: it is as safe as the orders are right, which the model is there to find out.
    unsafe impl Sync for Shared {}
    explore(move || {
        let shared = Arc::new(Shared(AtomicBool::new(false), UnsafeCell::new(0)));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            // SAFETY: as above.
            other.1.with_mut(|value| unsafe { *value = 42 });
            other.0.store(true, store);
        });
        if shared.0.load(load) {
            // SAFETY: as above.
            assert_eq!(shared.1.with(|value| unsafe { *value }), 42);
        }
        handle.join().unwrap();
    })
}

#[test]
fn a_message_behind_a_flag_needs_release_and_acquire() {
    let right = flag(Release, Acquire);
    assert_eq!((right.failure, right.complete), (None, 2));
    for wrong in [flag(Relaxed, Acquire), flag(Release, Relaxed)] {
        assert!(wrong.failure.is_some_and(|failure| failure.contains("data-race")));
    }
}

/// What a thread makes and then publishes by a relaxed store is not initialised for who finds it.
#[test]
fn a_pointer_that_is_published_by_a_relaxed_store_is_a_data_race() {
    let publish = |order| {
        explore(move || {
            let slot = Arc::new(AtomicPtr::new(ptr::null_mut()));
            let other = Arc::clone(&slot);
            let handle = thread::spawn(move || {
                other.store(Box::into_raw(Box::new(AtomicUsize::new(7))), order);
            });
            let found: *mut AtomicUsize = slot.load(Acquire);
            if !found.is_null() {
                // SAFETY: it lives until the end of the model.
                assert_eq!(unsafe { (*found).load(Relaxed) }, 7);
            }
            handle.join().unwrap();
            // SAFETY: this is the last reference.
            drop(unsafe { Box::from_raw(slot.load(Acquire)) });
        })
    };
    assert_eq!(publish(Release).failure, None);
    assert!(publish(Relaxed).failure.is_some_and(|failure| failure.contains("data race")));
}

/// A reference count as in `Arc`, with this order of the decrement, and whether there is a fence behind it.
fn reference_count(order: selvedge::sync::atomic::Ordering) -> Stats {
    struct Counted {
        count: AtomicUsize,
        value: UnsafeCell<usize>,
    }
    // SAFETY: it is as safe as the orders are right, which the model is there to find out.
    unsafe impl Sync for Counted {}
    fn release(counted: &Counted, order: selvedge::sync::atomic::Ordering) {
        // SAFETY: as above.
        counted.value.with(|value| unsafe { *value });
        if counted.count.fetch_sub(1, order) == 1 {
            fence(Acquire);
            // SAFETY: as above.
            counted.value.with_mut(|value| unsafe { *value = 0 });
        }
    }
    explore(move || {
        let counted = Arc::new(Counted { count: AtomicUsize::new(2), value: UnsafeCell::new(1) });
        let other = Arc::clone(&counted);
        let handle = thread::spawn(move || release(&other, order));
        release(&counted, order);
        handle.join().unwrap();
    })
}

#[test]
fn a_reference_count_needs_a_release_decrement() {
    let right = reference_count(Release);
    assert_eq!((right.failure, right.complete), (None, 2));
    assert!(reference_count(Relaxed).failure.is_some_and(|failure| failure.contains("data-race")));
}

struct Node {
    value: usize,
    next: AtomicPtr<Node>,
}

/// A Treiber stack.
struct Stack {
    head: AtomicPtr<Node>,
}

impl Stack {
    fn push(&self, value: usize) {
        let node = Box::into_raw(Box::new(Node { value, next: AtomicPtr::new(ptr::null_mut()) }));
        let mut head = self.head.load(Relaxed);
        loop {
            // SAFETY: nodes live until the stack is taken apart.
            unsafe { (*node).next.store(head, Relaxed) };
            match self.head.compare_exchange_weak(head, node, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Nodes that are popped are not freed.
    fn pop(&self) -> Option<usize> {
        let mut head = self.head.load(Acquire);
        while !head.is_null() {
            // SAFETY: nodes live until the stack is taken apart.
            let (value, next) = unsafe { ((*head).value, (*head).next.load(Relaxed)) };
            match self.head.compare_exchange_weak(head, next, AcqRel, Acquire) {
                Ok(_) => return Some(value),
                Err(now) => head = now,
            }
        }
        None
    }
}

fn treiber(pushes: usize, pops: usize) -> u64 {
    passes(move || {
        let stack = Arc::new(Stack { head: AtomicPtr::new(ptr::null_mut()) });
        let pushing = (0..pushes).map(|n| {
            let stack = Arc::clone(&stack);
            thread::spawn(move || {
                stack.push(n + 1);
                None
            })
        });
        let mut handles: Vec<_> = pushing.collect();
        handles.extend((0..pops).map(|_| {
            let stack = Arc::clone(&stack);
            thread::spawn(move || stack.pop())
        }));
        let mut values: Vec<usize> = handles.into_iter().filter_map(|handle| handle.join().unwrap()).collect();
        values.extend(std::iter::from_fn(|| stack.pop()));
        values.sort_unstable();
        assert_eq!(values, (1..=pushes).collect::<Vec<_>>());
    })
}

#[test]
fn a_treiber_stack_keeps_what_is_pushed() {
    assert_eq!(treiber(2, 0), 2);
    treiber(3, 0);
    treiber(2, 1);
}

#[test]
fn readers_share_a_lock_and_writers_do_not() {
    passes(|| {
        let lock = Arc::new(RwLock::new((0, 0)));
        let writer = Arc::clone(&lock);
        let handle = thread::spawn(move || {
            let mut both = writer.write().unwrap();
            both.0 += 1;
            both.1 += 1;
        });
        let reader = Arc::clone(&lock);
        let other = thread::spawn(move || {
            let both = reader.read().unwrap();
            assert_eq!(both.0, both.1);
        });
        let both = lock.read().unwrap();
        assert_eq!(both.0, both.1);
        drop(both);
        handle.join().unwrap();
        other.join().unwrap();
    });
}

#[test]
fn a_parked_thread_waits_for_unpark() {
    // That it may go on for no reason is another pass, and another test.
    let mut builder = Builder::new();
    builder.spurious = false;
    let stats = builder.explore(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || {
            thread::park();
            assert!(other.load(Relaxed));
        });
        flag.store(true, Relaxed);
        handle.thread().unpark();
        handle.join().unwrap();
    });
    assert_eq!((stats.failure, stats.complete, stats.blocked), (None, 1, 0));
    fails(&["deadlock"], || thread::park());
}

#[test]
fn an_arc_that_is_forgotten_is_a_leak() {
    fails(&["leak"], || std::mem::forget(Arc::new(1)));
}

/// Whether the content is dropped by this thread or by the other one is explored.
#[test]
fn whoever_drops_an_arc_last_drops_its_content() {
    struct Notes(std::sync::Arc<AtomicUsize>);
    impl Drop for Notes {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let executions = passes(|| {
        let drops = std::sync::Arc::new(AtomicUsize::new(0));
        let arc = Arc::new(Notes(std::sync::Arc::clone(&drops)));
        let other = Arc::clone(&arc);
        let handle = thread::spawn(move || drop(other));
        drop(arc);
        handle.join().unwrap();
        assert_eq!(drops.load(Relaxed), 1);
    });
    assert_eq!(executions, 2);
}

#[test]
fn statics_start_every_execution_with_their_first_value() {
    static COUNTER: AtomicUsize = AtomicUsize::new(5);
    let executions = passes(|| {
        let handle = thread::spawn(|| COUNTER.fetch_add(1, Relaxed));
        let mut seen = [COUNTER.fetch_add(1, Relaxed), handle.join().unwrap()];
        seen.sort_unstable();
        assert_eq!(seen, [5, 6]);
    });
    assert_eq!(executions, 2);
}

#[test]
fn a_model_that_is_not_deterministic_is_an_error() {
    static RUNS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    fails(&["not deterministic"], || {
        let run = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || other.store(run, Relaxed));
        x.load(Relaxed);
        x.load(Relaxed);
        handle.join().unwrap();
    });
}

/// What is in a mutex from outside starts every execution as it was; unless it owns something that would be lost.
#[test]
fn locks_from_outside_the_model_are_fresh_or_refused() {
    let outside = std::sync::Arc::new(Mutex::new(7));
    let kept = std::sync::Arc::clone(&outside);
    let executions = passes(move || {
        let other = std::sync::Arc::clone(&outside);
        let handle = thread::spawn(move || *other.lock().unwrap() += 1);
        *outside.lock().unwrap() += 1;
        handle.join().unwrap();
        assert_eq!(*outside.lock().unwrap(), 9);
    });
    assert_eq!(executions, 2);
    assert_eq!(std::sync::Arc::into_inner(kept).unwrap().into_inner().unwrap(), 7);
    let owns = std::sync::Arc::new(Mutex::new(vec![1]));
    fails(&["outside of the model", "programs.rs"], move || owns.lock().unwrap().push(2));
}

#[test]
#[should_panic(expected = "inside `selvedge::model` only")]
fn operations_outside_a_model_panic() {
    AtomicUsize::new(0).load(Relaxed);
}

#[test]
#[should_panic(expected = "left: 0")]
fn a_model_panics_with_what_went_wrong() {
    selvedge::model(|| assert_eq!(AtomicUsize::new(0).load(Relaxed), 1));
}

/// The threads get the pointer from main and both pass it on: whoever comes first, it is one pointer.
#[test]
fn a_pointer_is_the_same_whoever_passes_it_first() {
    let executions = passes(|| {
        let value = Box::into_raw(Box::new(7)) as usize;
        let slots = Arc::new([const { ptr::null_mut() }; 2].map(AtomicPtr::<i32>::new));
        let handles = [0, 1].map(|n| {
            let slots = Arc::clone(&slots);
            thread::spawn(move || {
                let mine = ptr::with_exposed_provenance_mut(value);
                slots[n].store(mine, Release);
                let other = slots[1 - n].load(Acquire);
                // It is exchanged exactly if the other one has stored it.
                let exchanged = slots[1 - n].compare_exchange(mine, ptr::null_mut(), Relaxed, Relaxed).is_ok();
                assert!(exchanged || other.is_null());
            })
        });
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        // SAFETY: this is the last reference.
        drop(unsafe { Box::from_raw(ptr::with_exposed_provenance_mut::<i32>(value)) });
    });
    assert!(executions > 2);
}

/// Nodes are freed by who takes them and made again by who comes next: never at the same address in one execution.
#[test]
fn memory_that_is_used_again_makes_no_difference() {
    let stats = explore(|| {
        let slot = Arc::new(AtomicPtr::<usize>::new(ptr::null_mut()));
        let other = Arc::clone(&slot);
        let exchange = |slot: &AtomicPtr<usize>, value: usize| {
            let old = slot.swap(Box::into_raw(Box::new(value)), AcqRel);
            if !old.is_null() {
                // SAFETY: whoever takes a node is the only one who has it.
                drop(unsafe { Box::from_raw(old) });
            }
        };
        let handle = thread::spawn(move || (1..3).for_each(|value| exchange(&other, value)));
        (3..5).for_each(|value| exchange(&slot, value));
        handle.join().unwrap();
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(slot.load(Acquire)) });
    });
    // Two times two exchanges can be put in order in so many ways.
    assert_eq!((stats.failure, stats.complete), (None, 6));
}

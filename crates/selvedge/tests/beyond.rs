//! What `std` has and loom has not: statics, scoped threads, `Weak`, `OnceLock`, bounded channels, poisoning, things that
//! fail or wake for no reason.

#![allow(unsafe_code)]

use selvedge::model::{Builder, Engine, MemoryModel, Stats};
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicUsize};
use selvedge::sync::{Arc, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard, Weak, mpsc};
use selvedge::{assume, nondet, nondet_bool, thread};
use std::collections::BTreeSet;
use std::time::Duration;

fn explore(f: impl Fn() + Send + Sync + 'static) -> Stats {
    Builder::new().explore(f)
}

fn passes(f: impl Fn() + Send + Sync + 'static) -> Stats {
    let stats = explore(f);
    assert_eq!(stats.failure, None);
    assert_eq!(stats.not_covered, Vec::<String>::new());
    stats
}

fn fails(words: &[&str], f: impl Fn() + Send + Sync + 'static) -> Stats {
    let stats = explore(f);
    let failure = stats.failure.as_ref().expect("the model has a bug");
    for word in words {
        assert!(failure.contains(word), "`{word}` is not in:\n{failure}");
    }
    stats
}

/// The outcomes of a model that notes one in every execution.
fn outcomes<T: Ord + Send + 'static>(f: impl Fn(&dyn Fn(T)) + Send + Sync + 'static) -> (BTreeSet<T>, Stats) {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let noted = std::sync::Arc::clone(&seen);
    let stats = passes(move || {
        f(&|value| {
            noted.lock().unwrap().insert(value);
        });
    });
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (seen, stats)
}

#[test]
fn statics_with_locks_are_fresh_in_every_execution() {
    static COUNT: Mutex<usize> = Mutex::new(3);
    static LOG: RwLock<Vec<usize>> = RwLock::new(Vec::new());
    static FLAG: AtomicBool = AtomicBool::new(false);
    static READY: Condvar = Condvar::new();
    let stats = passes(|| {
        let handle = thread::spawn(|| {
            *COUNT.lock().unwrap() += 1;
            FLAG.store(true, Relaxed);
            LOG.write().unwrap().push(1);
            READY.notify_one();
        });
        let mut count = COUNT.lock().unwrap();
        while *count == 3 {
            count = READY.wait(count).unwrap();
        }
        assert_eq!(*count, 4);
        drop(count);
        handle.join().unwrap();
        assert!(FLAG.load(Relaxed));
        assert_eq!(*LOG.read().unwrap(), [1]);
    });
    assert!(stats.complete > 1 && stats.spurious > 0);
}

#[test]
fn a_once_lock_in_a_static_is_set_once_in_every_execution() {
    static VALUE: OnceLock<usize> = OnceLock::new();
    let (seen, stats) = outcomes(|note| {
        let handle = thread::spawn(|| *VALUE.get_or_init(|| 1));
        let mine = *VALUE.get_or_init(|| 2);
        assert_eq!(handle.join().unwrap(), mine);
        assert_eq!(VALUE.set(3), Err(3));
        note(mine);
    });
    assert_eq!(seen, [1, 2].into());
    assert_eq!((stats.complete, stats.blocked), (2, 0));
}

#[test]
fn a_lazy_lock_makes_its_value_once() {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    static LAZY: LazyLock<Vec<usize>> = LazyLock::new(|| vec![MADE.fetch_add(1, Relaxed)]);
    passes(|| {
        let handle = thread::spawn(|| LAZY[0]);
        assert_eq!(LAZY[0] + handle.join().unwrap(), 0);
        assert_eq!(MADE.load(Relaxed), 1);
    });
}

#[test]
fn once_happens_once_and_others_wait_for_it() {
    passes(|| {
        let shared = Arc::new((Once::new(), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            other.0.call_once(|| other.1.store(other.1.load(Relaxed) + 1, Relaxed));
            assert_eq!(other.1.load(Relaxed), 1);
        });
        shared.0.call_once(|| shared.1.store(shared.1.load(Relaxed) + 1, Relaxed));
        assert_eq!(shared.1.load(Relaxed), 1);
        handle.join().unwrap();
        assert!(shared.0.is_completed());
    });
}

#[test]
fn scoped_threads_borrow() {
    let stats = passes(|| {
        let x = AtomicUsize::new(0);
        let mut plain = 5;
        let sum = thread::scope(|scope| {
            let first = scope.spawn(|| x.fetch_add(1, Relaxed));
            scope.spawn(|| x.fetch_add(10, Relaxed));
            first.join().unwrap()
        });
        assert!(sum == 0 || sum == 10);
        plain += x.load(Relaxed);
        assert_eq!(plain, 16);
    });
    assert_eq!(stats.complete, 2);
}

/// The thread starts to wait for what nobody does.
#[test]
fn a_scope_waits_for_threads_that_were_not_joined() {
    fails(&["deadlock"], || {
        thread::scope(|scope| {
            scope.spawn(thread::park);
        });
    });
}

#[test]
fn a_weak_reference_may_or_may_not_find_its_value() {
    let (seen, stats) = outcomes(|note| {
        let arc = Arc::new(7);
        let weak = Arc::downgrade(&arc);
        let handle = thread::spawn(move || weak.upgrade().map(|arc| *arc));
        drop(arc);
        note(handle.join().unwrap());
    });
    assert_eq!(seen, [None, Some(7)].into());
    assert!(stats.complete >= 2);
    passes(|| assert!(Weak::<usize>::new().upgrade().is_none()));
}

#[test]
fn a_cycle_of_weak_references_is_no_leak_and_one_of_strong_ones_is() {
    struct Node(Mutex<Option<Arc<Node>>>, Weak<Node>);
    passes(|| {
        let node = Arc::new_cyclic(|weak| Node(Mutex::new(None), weak.clone()));
        assert!(Arc::ptr_eq(&node, &node.1.upgrade().unwrap()));
    });
    fails(&["leak", "Arc made here", "beyond.rs"], || {
        let node = Arc::new(Node(Mutex::new(None), Weak::new()));
        *node.0.lock().unwrap() = Some(Arc::clone(&node));
    });
}

/// The count of an `Arc` of something that needs no drop is not part of the model until somebody asks for it.
#[test]
fn whoever_is_alone_has_the_value() {
    let (seen, stats) = outcomes(|note| {
        let arc = Arc::new(7);
        let other = Arc::clone(&arc);
        let handle = thread::spawn(move || Arc::into_inner(other));
        note((Arc::into_inner(arc), handle.join().unwrap()));
    });
    assert_eq!(seen, [(None, Some(7)), (Some(7), None)].into());
    assert_eq!(stats.complete, 2);
}

#[test]
fn a_bounded_channel_has_room_for_so_many() {
    for bound in [0, 1, 2] {
        passes(move || {
            let (sender, receiver) = mpsc::sync_channel(bound);
            let handle = thread::spawn(move || (0..2).for_each(|n| sender.send(n).unwrap()));
            assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1]);
            handle.join().unwrap();
        });
    }
    passes(|| {
        let (sender, receiver) = mpsc::sync_channel(1);
        assert!(sender.try_send(1).is_ok() && sender.try_send(2).is_err());
        assert_eq!(receiver.recv(), Ok(1));
        drop(receiver);
        assert!(sender.send(3).is_err());
    });
    fails(&["deadlock"], || {
        let (sender, receiver) = mpsc::sync_channel(0);
        sender.send(1).unwrap();
        drop(receiver);
    });
}

#[test]
fn an_exchange_that_may_fail_fails() {
    let stats = fails(&["assertion", "fails for no reason"], || {
        let x = AtomicUsize::new(0);
        assert!(x.compare_exchange_weak(0, 1, Relaxed, Relaxed).is_ok());
    });
    assert!(stats.replay.is_some());
    let mut builder = Builder::new();
    builder.spurious = false;
    let stats = builder.explore(|| {
        assert!(AtomicUsize::new(0).compare_exchange_weak(0, 1, Relaxed, Relaxed).is_ok());
    });
    assert_eq!((stats.failure, stats.complete, stats.spurious), (None, 1, 0));
    assert_eq!(stats.not_covered, ["exchanges that fail and waits that end for no reason"]);
}

#[test]
fn a_thread_may_be_unparked_for_no_reason() {
    let park = |again: bool| {
        move || {
            let flag = Arc::new(AtomicUsize::new(0));
            let (other, main) = (Arc::clone(&flag), thread::current());
            let handle = thread::spawn(move || {
                other.store(1, Relaxed);
                main.unpark();
            });
            thread::park();
            while again && flag.load(Relaxed) == 0 {
                thread::park();
            }
            assert_eq!(flag.load(Relaxed), 1);
            handle.join().unwrap();
        }
    };
    fails(&["assertion", "wakes up for no reason"], park(false));
    let stats = explore(park(true));
    assert!(stats.failure.is_none() && stats.spurious > 0);
    assert_eq!(stats.not_covered, [TWICE]);
    let mut builder = Builder::new();
    builder.spurious = false;
    let stats = builder.explore(park(false));
    assert_eq!((stats.failure, stats.complete), (None, 1));
    assert_eq!(stats.not_covered, ["exchanges that fail and waits that end for no reason"]);
}

#[test]
fn a_writer_becomes_a_reader_and_nobody_writes_in_between() {
    passes(|| {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let handle = thread::spawn(move || *other.write().unwrap() += 1);
        let mut guard = lock.write().unwrap();
        *guard += 10;
        let written = *guard;
        let guard = RwLockWriteGuard::downgrade(guard);
        assert_eq!(*guard, written);
        assert!(lock.try_write().is_err());
        drop(guard);
        handle.join().unwrap();
        assert_eq!(*lock.read().unwrap(), 11);
    });
}

#[test]
fn a_loop_that_tries_again_makes_up_for_it() {
    let stats = passes(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let add = |x: &AtomicUsize| {
            let mut old = x.load(Relaxed);
            while let Err(now) = x.compare_exchange_weak(old, old + 1, Relaxed, Relaxed) {
                old = now;
            }
        };
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || add(&other));
        add(&x);
        handle.join().unwrap();
        assert_eq!(x.load(Relaxed), 2);
    });
    // That it does is tried out, and leaves no trace.
    assert_eq!((stats.complete, stats.spurious), (2, 0));
}

/// The waiting thread does not look at the condition again.
#[test]
fn a_wait_without_a_loop_is_found() {
    let model = |again: bool| {
        move || {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let other = Arc::clone(&pair);
            let handle = thread::spawn(move || {
                *other.0.lock().unwrap() = true;
                other.1.notify_one();
            });
            let mut ready = pair.0.lock().unwrap();
            if !*ready {
                ready = pair.1.wait(ready).unwrap();
            }
            while again && !*ready {
                ready = pair.1.wait(ready).unwrap();
            }
            assert!(*ready, "woken for no reason");
            drop(ready);
            handle.join().unwrap();
        }
    };
    fails(&["woken for no reason"], model(false));
    let stats = explore(model(true));
    assert_eq!((stats.failure, stats.not_covered), (None, vec![TWICE.to_owned()]));
}

/// What is said if something could happen for no reason a second time.
const TWICE: &str =
    "executions in which a thread has more than one exchange fail, wait end or future polled for no reason";

#[test]
fn that_something_happens_once_for_no_reason_is_said_where_it_could_twice() {
    let twice = explore(|| {
        let word = AtomicUsize::new(0);
        if word.compare_exchange_weak(0, 1, SeqCst, SeqCst).is_err() {
            // This is wrong, but it takes two exchanges that fail to see it.
            word.compare_exchange_weak(0, 1, SeqCst, SeqCst).unwrap();
        }
    });
    assert_eq!((twice.failure, twice.not_covered), (None, vec![TWICE.to_owned()]));
    // As a rule, a loop that tries again does the same. This one gives up.
    let loops = passes(|| {
        let word = AtomicUsize::new(0);
        assert!((0..2).any(|_| word.compare_exchange_weak(0, 1, SeqCst, SeqCst).is_ok()));
    });
    assert!(loops.notes.iter().any(|note| note.contains("it does not do so a second time")), "{:?}", loops.notes);
}

/// What is done through the pointer to a raw cell is not seen, and that is said.
#[test]
fn pointers_to_raw_cells_are_not_followed() {
    let stats = explore(|| {
        let cell = selvedge::cell::RawCell::new(0);
        let _ = cell.get();
    });
    assert_eq!(stats.failure, None);
    assert!(stats.not_covered.iter().any(|what| what.contains("`RawCell`")), "{:?}", stats.not_covered);
}

#[test]
fn waits_time_out_as_often_as_was_asked_for() {
    let rounds = |limit: u32| {
        let most = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let noted = std::sync::Arc::clone(&most);
        let mut builder = Builder::new();
        builder.max_timeouts = limit;
        let stats = builder.explore(move || {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let other = Arc::clone(&pair);
            let handle = thread::spawn(move || {
                *other.0.lock().unwrap() = true;
                other.1.notify_one();
            });
            let mut ready = pair.0.lock().unwrap();
            let mut timeouts = 0;
            while !*ready {
                let (again, result) = pair.1.wait_timeout(ready, Duration::from_secs(1)).unwrap();
                ready = again;
                timeouts += usize::from(result.timed_out());
            }
            noted.fetch_max(timeouts, std::sync::atomic::Ordering::Relaxed);
            drop(ready);
            handle.join().unwrap();
        });
        assert_eq!(stats.failure, None);
        assert_eq!(stats.not_covered, [format!("executions in which a thread times out more than {limit} times")]);
        most.load(std::sync::atomic::Ordering::Relaxed)
    };
    assert_eq!([rounds(0), rounds(1), rounds(3)], [0, 1, 3]);
}

#[test]
fn a_parked_thread_may_time_out() {
    let (seen, _) = outcomes(|note| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || {
            thread::park_timeout(Duration::from_secs(1));
            other.load(Relaxed)
        });
        flag.store(true, Relaxed);
        handle.thread().unpark();
        note(handle.join().unwrap());
    });
    assert_eq!(seen, [false, true].into());
}

#[test]
fn every_choice_is_explored_and_assumptions_hold() {
    let (seen, stats) = outcomes(|note| {
        let n = nondet(-1..=2i8);
        let odd = nondet_bool();
        assume((n % 2 != 0) == odd);
        note((n, odd));
    });
    assert_eq!(seen, [(-1, true), (0, false), (1, true), (2, false)].into());
    assert_eq!((stats.complete, stats.blocked), (4, 4));
}

/// The order of a failed exchange is its own.
#[test]
fn a_failed_exchange_acquires_only_if_it_says_so() {
    let model = |failure| {
        Builder::new().explore(move || {
            let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
            let other = Arc::clone(&shared);
            let handle = thread::spawn(move || {
                other.0.store(1, Relaxed);
                other.1.store(1, Release);
            });
            if shared.1.compare_exchange(7, 8, AcqRel, failure) == Err(1) {
                assert_eq!(shared.0.load(Relaxed), 1, "stale");
            }
            handle.join().unwrap();
        })
    };
    assert_eq!(model(Acquire).failure, None);
    assert!(model(Relaxed).failure.is_some_and(|failure| failure.contains("stale")));
}

#[test]
fn a_panic_poisons_the_lock_that_its_thread_holds() {
    let mut builder = Builder::new();
    builder.panics_end_threads = true;
    let stats = builder.explore(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let handle = thread::spawn(move || {
            let mut guard = other.lock().unwrap();
            *guard = 1;
            panic!("in the middle");
        });
        let seen = lock.lock().map(|guard| *guard).map_err(|error| *error.into_inner());
        assert!(seen == Ok(0) || seen == Err(1), "{seen:?}");
        let error = handle.join().unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&"in the middle"));
        assert!(lock.is_poisoned());
        lock.clear_poison();
        assert_eq!(*lock.lock().unwrap(), 1);
    });
    assert_eq!((stats.failure, stats.complete), (None, 2));
}

/// A panic that the model itself catches.
#[test]
fn a_panic_that_is_caught_releases_what_it_held() {
    passes(|| {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let handle = thread::spawn(move || {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                *other.write().unwrap() = 1;
                let _guard = other.read().unwrap();
                panic!("caught");
            }));
            assert!(caught.is_err() && other.read().is_ok());
            *other.write().unwrap() = 2;
        });
        drop(lock.read().unwrap());
        handle.join().unwrap();
        assert_eq!(*lock.read().unwrap(), 2);
    });
}

#[test]
fn a_pointer_can_be_kept_in_an_integer() {
    let stats = passes(|| {
        let slot = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&slot);
        let handle = thread::spawn(move || {
            let node = Box::into_raw(Box::new(AtomicU8::new(7)));
            other.store(node.expose_provenance(), Release);
            // A mark in the lowest bit.
            other.fetch_or(1, AcqRel);
        });
        let found = slot.load(Acquire);
        if found != 0 {
            let node = std::ptr::with_exposed_provenance::<AtomicU8>(found & !1);
            // SAFETY: nobody frees it yet.
            assert_eq!(unsafe { (*node).load(Relaxed) }, 7);
        }
        handle.join().unwrap();
        let node = std::ptr::with_exposed_provenance_mut::<AtomicU8>(slot.load(Relaxed) & !1);
        // SAFETY: this is the last pointer to it.
        drop(unsafe { Box::from_raw(node) });
    });
    assert_eq!(stats.complete, 3);
}

/// Two threads meet objects of a vector in any order: they are the same objects in every execution.
#[test]
fn objects_behind_a_pointer_are_known_whoever_comes_first() {
    let (seen, stats) = outcomes(|note| {
        let slots: Arc<Vec<AtomicUsize>> = Arc::new((0..3).map(AtomicUsize::new).collect());
        let other = Arc::clone(&slots);
        let handle = thread::spawn(move || other[2].swap(other[0].load(SeqCst) + 10, SeqCst));
        let mine = slots[0].swap(slots[2].load(SeqCst) + 20, SeqCst);
        note((mine, handle.join().unwrap(), slots[0].load(Relaxed), slots[2].load(Relaxed)));
    });
    assert_eq!(seen, [(0, 2, 22, 10), (0, 2, 30, 10), (0, 2, 22, 32)].into());
    assert_eq!(stats.complete, 3);
}

/// Many small objects on the heap, each of its own thread.
#[test]
fn there_may_be_more_threads_than_loom_has() {
    let stats = passes(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let handles: Vec<_> = (0..40)
            .map(|n| {
                let x = Arc::clone(&x);
                thread::spawn(move || n == 39 && x.fetch_add(1, Relaxed) == 0)
            })
            .collect();
        assert_eq!(handles.into_iter().filter_map(|handle| handle.join().unwrap().then_some(())).count(), 1);
    });
    assert_eq!(stats.complete, 1);
}

#[test]
fn the_trace_engine_counts_interleavings() {
    let store_buffering = || {
        let xy = Arc::new([0, 0].map(AtomicUsize::new));
        let other = Arc::clone(&xy);
        let handle = thread::spawn(move || {
            other[0].store(1, Relaxed);
            other[1].load(Relaxed)
        });
        xy[1].store(1, Relaxed);
        let mine = xy[0].load(Relaxed);
        assert!(handle.join().unwrap() + mine > 0, "both missed");
    };
    let mut builder = Builder::new();
    builder.engine = Engine::Trace;
    let stats = builder.explore(store_buffering);
    assert_eq!((stats.failure, stats.complete), (None, 3));
    builder.engine = Engine::Graph;
    for (model, fails) in [(MemoryModel::Sc, false), (MemoryModel::Tso, true), (MemoryModel::Rc11, true)] {
        builder.memory_model = model;
        let stats = builder.explore(store_buffering);
        assert_eq!(stats.failure.is_some(), fails, "{model:?}");
    }
}

#[test]
fn both_engines_run_locks_and_condition_variables() {
    let queue = || {
        let shared = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            for n in 0..2 {
                other.0.lock().unwrap().push(n);
                other.1.notify_one();
            }
        });
        let mut items = shared.0.lock().unwrap();
        while items.len() < 2 {
            items = shared.1.wait(items).unwrap();
        }
        assert_eq!(*items, [0, 1]);
        drop(items);
        handle.join().unwrap();
    };
    let mut builder = Builder::new();
    builder.spurious = false;
    let graph = builder.explore(queue);
    builder.engine = Engine::Trace;
    let trace = builder.explore(queue);
    // By hand, with c for the first lock of the consumer and p, q for those of the producer: p q c is one execution. In
    // p c q the first notification is lost or not; in c p q it is not. When it is not, the consumer has the lock again
    // before q, or after q. That makes 1 + 1 + 2 + 2. In both cases of "after q", the second notification wakes nobody, for
    // the consumer is awake already; and whether it has noticed that by then is a matter of what the notification reads
    // from for the graph engine, and of the order of two steps that do not depend on each other for the trace engine.
    assert_eq!((graph.failure, graph.complete), (None, 8));
    assert_eq!((trace.failure, trace.complete), (None, 6));
}

#[test]
fn a_pointer_to_a_static_is_itself() {
    static TARGET: AtomicUsize = AtomicUsize::new(5);
    passes(|| {
        let pointer = AtomicPtr::new((&raw const TARGET).cast_mut());
        assert!(std::ptr::eq(pointer.load(Relaxed), &raw const TARGET));
        // SAFETY: a static lives forever.
        assert_eq!(unsafe { (*pointer.load(Relaxed)).load(Relaxed) }, 5);
    });
}

/// A static is never dropped: what it owns is no leak.
#[test]
fn what_statics_own_is_not_leaked() {
    static ONCE: OnceLock<Arc<AtomicUsize>> = OnceLock::new();
    static LAZY: LazyLock<Arc<Mutex<Arc<AtomicUsize>>>> = LazyLock::new(|| Arc::new(Mutex::new(Arc::default())));
    static LIST: Mutex<Vec<Arc<AtomicUsize>>> = Mutex::new(Vec::new());
    let explore = |leaks: bool| {
        Builder::new().explore(move || {
            let handle = thread::spawn(|| ONCE.get_or_init(|| Arc::new(AtomicUsize::new(1))).store(2, Relaxed));
            LAZY.lock().unwrap().store(2, Relaxed);
            LIST.lock().unwrap().push(Arc::new(AtomicUsize::new(1)));
            handle.join().unwrap();
            if leaks {
                std::mem::forget(Arc::new(AtomicUsize::new(1)));
            }
        })
    };
    assert_eq!(explore(false).failure, None);
    let failure = explore(true).failure.expect("what is forgotten is leaked");
    assert!(failure.starts_with("leak: Arc "), "{failure}");
    assert!(!failure.contains("others too"), "{failure}");
}

/// That the trace engine explores interleavings only is part of what it says.
#[test]
fn the_trace_engine_says_what_it_does_not_cover() {
    let explore = |engine, model| {
        let mut builder = Builder::new();
        (builder.engine, builder.memory_model) = (engine, model);
        builder.explore(|| ()).not_covered
    };
    let not_covered = explore(Engine::Trace, MemoryModel::Rc11);
    assert!(matches!(not_covered.as_slice(), [what] if what.contains("rc11")), "{not_covered:?}");
    assert!(explore(Engine::Trace, MemoryModel::Sc).is_empty());
    assert!(explore(Engine::Graph, MemoryModel::Rc11).is_empty());
}

#[test]
fn whether_a_thread_has_ended_is_seen_or_not() {
    let (seen, stats) = outcomes(|note| {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || other.store(1, Relaxed));
        let ended = handle.is_finished();
        let found = x.load(Relaxed);
        handle.join().unwrap();
        note((ended, found));
    });
    // That it has ended says nothing about what it has stored: whoever wants to know joins.
    assert_eq!(seen, BTreeSet::from([(false, 0), (false, 1), (true, 0), (true, 1)]));
    assert_eq!(stats.complete, 4);
}

#[test]
fn a_thread_is_waited_for_by_asking() {
    let stats = passes(|| {
        thread::scope(|scope| {
            let handle = scope.spawn(|| 7);
            while !handle.is_finished() {
                thread::yield_now();
            }
            assert_eq!(handle.join().unwrap(), 7);
        });
    });
    assert_eq!((stats.complete, stats.blocked), (1, 0));
}

#[test]
fn a_thread_that_has_not_ended_is_told_in_the_table_and_in_the_replay() {
    let stats = fails(&["has ended", "the end of a thread"], || {
        let handle = thread::spawn(|| ());
        assert!(!handle.is_finished(), "it has ended");
        handle.join().unwrap();
    });
    assert!(stats.replay.is_some_and(|replay| replay.contains(";--e")), "it is part of what is run again");
}

//! Loops that wait for others.

use selvedge::hint;
use selvedge::model::{Builder, Engine, Stats};
use selvedge::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use selvedge::sync::atomic::{AtomicBool, AtomicI8, AtomicUsize};
use selvedge::sync::{Arc, Mutex, Once, OnceLock, mpsc};
use selvedge::thread;

fn explore(f: impl Fn() + Send + Sync + 'static) -> Stats {
    Builder::new().explore(f)
}

fn passes(f: impl Fn() + Send + Sync + 'static) -> Stats {
    let stats = explore(f);
    assert_eq!(stats.failure, None);
    assert!(stats.not_covered.is_empty());
    stats
}

#[test]
fn a_loop_that_waits_for_a_flag_ends() {
    let stats = passes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || other.store(true, Release));
        while !flag.load(Acquire) {
            hint::spin_loop();
        }
        handle.join().unwrap();
    });
    // It sees the flag at once; without optimisation, also at the second look.
    assert!((1..=2).contains(&stats.complete) && stats.blocked == 0);
}

fn lock_with_swap(locked: &AtomicBool) {
    while locked.swap(true, Acquire) {
        hint::spin_loop();
    }
}

fn lock_with_exchange(locked: &AtomicBool) {
    while locked.compare_exchange(false, true, Acquire, Relaxed).is_err() {
        thread::yield_now();
    }
}

fn lock_with_test(locked: &AtomicBool) {
    loop {
        while locked.load(Relaxed) {
            hint::spin_loop();
        }
        if !locked.swap(true, Acquire) {
            return;
        }
    }
}

fn spin_lock(lock: fn(&AtomicBool), threads: usize) {
    passes(move || {
        let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
        let handles: Vec<_> = (0..threads)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    lock(&shared.0);
                    let count = shared.1.load(Relaxed);
                    shared.1.store(count + 1, Relaxed);
                    shared.0.store(false, Release);
                })
            })
            .collect();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        assert_eq!(shared.1.load(Relaxed), threads);
    });
}

#[test]
fn spin_locks_exclude() {
    for lock in [lock_with_swap, lock_with_exchange, lock_with_test] {
        spin_lock(lock, 2);
    }
    spin_lock(lock_with_exchange, 3);
}

#[test]
fn a_ticket_lock_excludes() {
    passes(|| {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)));
        let handles: Vec<_> = (0..3)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let ticket = shared.0.fetch_add(1, Relaxed);
                    while shared.1.load(Acquire) != ticket {
                        hint::spin_loop();
                    }
                    let count = shared.2.load(Relaxed);
                    shared.2.store(count + 1, Relaxed);
                    shared.1.store(ticket + 1, Release);
                })
            })
            .collect();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        assert_eq!(shared.2.load(Relaxed), 3);
    });
}

/// Threads that take a lock once each: how many executions there are.
fn executions(
    threads: usize,
    lock: fn(&[AtomicUsize; 3]) -> usize,
    unlock: fn(&[AtomicUsize; 3], usize),
) -> (u64, u64) {
    let stats = passes(move || {
        let shared = Arc::new([0, 0, 0].map(AtomicUsize::new));
        let handles: Vec<_> = (0..threads)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let ticket = lock(&shared);
                    let count = shared[2].load(Relaxed);
                    shared[2].store(count + 1, Relaxed);
                    unlock(&shared, ticket);
                })
            })
            .collect();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        assert_eq!(shared[2].load(Relaxed), threads);
    });
    (stats.complete, stats.blocked)
}

#[test]
fn looks_that_fail_in_spin_while_are_no_executions() {
    for (threads, orders) in [(2, 2), (3, 6), (4, 24)] {
        let ticket_lock = executions(
            threads,
            |shared| {
                let ticket = shared[0].fetch_add(1, Relaxed);
                hint::spin_while(|| shared[1].load(Acquire) != ticket);
                ticket
            },
            |shared, ticket| shared[1].store(ticket + 1, Release),
        );
        assert_eq!(ticket_lock, (orders, 0), "ticket lock, {threads} threads");
    }
    for (threads, orders) in [(2, 2), (3, 6)] {
        let exchange_lock = executions(
            threads,
            |shared| {
                hint::spin_while(|| shared[0].compare_exchange(0, 1, Acquire, Relaxed).is_err());
                0
            },
            |shared, _| shared[0].store(0, Release),
        );
        assert_eq!(exchange_lock.0, orders, "compare-and-exchange lock, {threads} threads");
        let swap_lock = executions(
            threads,
            |shared| {
                hint::spin_while(|| shared[0].swap(1, Acquire) == 1);
                0
            },
            |shared, _| shared[0].store(0, Release),
        );
        assert_eq!(swap_lock.0, orders, "test-and-set lock, {threads} threads");
    }
}

/// A look after the first one that fails waits, whatever the loop looks like.
#[test]
fn loops_have_no_blocked_executions_if_they_look_at_one_atomic() {
    let ticket_lock = |threads| {
        executions(
            threads,
            |shared| {
                let ticket = shared[0].fetch_add(1, Relaxed);
                while shared[1].load(Acquire) != ticket {
                    hint::spin_loop();
                }
                ticket
            },
            |shared, ticket| shared[1].store(ticket + 1, Release),
        )
    };
    assert_eq!([2, 3].map(|threads| ticket_lock(threads).1), [0, 0]);
}

#[test]
fn spin_while_counts_what_its_condition_counts() {
    let reached = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let noted = std::sync::Arc::clone(&reached);
    passes(move || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || other.store(true, Release));
        let mut round = 0;
        hint::spin_while(|| {
            round += 1;
            round <= 3 && !flag.load(Acquire)
        });
        noted.lock().unwrap().insert(round);
        handle.join().unwrap();
    });
    assert_eq!(*reached.lock().unwrap(), [1, 2, 3, 4].into());
}

/// What the loop depends on besides the value that it looks at is told apart from it.
#[test]
fn a_first_look_that_makes_a_difference_is_explored() {
    let reached = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let noted = std::sync::Arc::clone(&reached);
    passes(move || {
        let flag = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || {
            other.store(1, Release);
            other.store(2, Release);
        });
        let mut first = true;
        hint::spin_while(|| {
            let waits = flag.load(Acquire) < 2;
            first &= !waits;
            waits
        });
        noted.lock().unwrap().insert(first);
        handle.join().unwrap();
    });
    assert_eq!(*reached.lock().unwrap(), [false, true].into());
}

/// The same if the thread does something else before anybody can tell (`machine/returns.rs`).
#[test]
fn a_first_look_that_makes_a_difference_later_is_explored() {
    let reached = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let noted = std::sync::Arc::clone(&reached);
    passes(move || {
        let flags = Arc::new([const { AtomicUsize::new(0) }; 2]);
        let other = Arc::clone(&flags);
        let handle = thread::spawn(move || {
            let mut first = true;
            while other[0].load(Acquire) == 0 {
                first = false;
                hint::spin_loop();
            }
            other[1].store(1, Relaxed);
            other[1].store(2, Relaxed);
            first
        });
        flags[0].store(1, Release);
        let first = handle.join().unwrap();
        if !selvedge::model::is_tried_out() {
            noted.lock().unwrap().insert(first);
        }
    });
    assert_eq!(*reached.lock().unwrap(), [false, true].into());
}

#[test]
fn a_spin_that_never_ends_in_spin_while_is_a_livelock() {
    let stats = explore(|| {
        let flag = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || other.store(1, Release));
        hint::spin_while(|| flag.load(Acquire) < 2);
        handle.join().unwrap();
    });
    let failure = stats.failure.expect("nobody stores 2");
    assert!(failure.starts_with("livelock: main spins forever\n"), "{failure}");
    let seen = failure.lines().find(|line| line.contains("again and again")).expect("what the thread sees");
    assert!(seen.contains("load, Acquire, of AtomicUsize") && seen.contains("-> 1 (from step "), "{failure}");
}

#[test]
fn a_lock_that_is_never_released_is_a_livelock() {
    let stats = explore(|| {
        let locked = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&locked);
        let handle = thread::spawn(move || lock_with_swap(&other));
        lock_with_swap(&locked);
        handle.join().unwrap();
    });
    let failure = stats.failure.expect("one of them spins forever");
    assert!(failure.contains("livelock") && failure.contains("spinning.rs"), "{failure}");
    // Which value it finds, and who has put it there.
    let seen = failure.lines().find(|line| line.contains("again and again")).expect("what the thread sees");
    assert!(seen.contains("spinning.rs:") && seen.contains("-> true (from step "), "{failure}");
}

#[test]
fn a_livelock_is_reported_with_all_that_the_loop_reads() {
    for engine in [Engine::Graph, Engine::Trace] {
        let mut builder = Builder::new();
        builder.engine = engine;
        let stats = builder.explore(|| {
            let shared = Arc::new((AtomicUsize::new(0), AtomicBool::new(false), AtomicUsize::new(4)));
            let other = Arc::clone(&shared);
            let handle = thread::Builder::new().name("writer".to_owned());
            let handle = handle.spawn(move || other.0.store(2, Release)).unwrap();
            while shared.0.load(Acquire) < 3 && !shared.1.load(Acquire) {
                hint::spin_loop();
            }
            shared.2.load(Acquire);
            handle.join().unwrap();
        });
        let failure = stats.failure.expect("it waits for more than there will be");
        let seen: Vec<&str> = failure.lines().filter(|line| line.contains("again and again")).collect();
        let [first, second] = seen[..] else { panic!("{failure}") };
        assert!(first.contains("AtomicUsize") && first.contains("-> 2 (from step "), "{failure}");
        assert!(first.contains("writer at crates/selvedge/tests/spinning.rs:"), "{failure}");
        assert!(second.contains("AtomicBool") && second.contains("-> false (its first value)"), "{failure}");
    }
}

/// Nobody has written what is looked at, and the thread has made no step there that could be shown.
#[test]
fn what_is_read_again_and_again_is_said_also_if_it_is_the_first_value() {
    let reads = |model: fn()| {
        let failure = Builder::new().explore(model).failure.expect("nobody makes the loop end");
        let line = failure.lines().find(|line| line.contains("again and again")).unwrap_or_default();
        line.split_once(" -> ").unwrap_or_default().1.to_owned()
    };
    let flag = reads(|| {
        let flag = AtomicBool::new(false);
        while !flag.load(Acquire) {
            hint::spin_loop();
        }
    });
    assert_eq!(flag, "false (its first value)");
    let number = reads(|| {
        let number = AtomicI8::new(-3);
        while number.load(Acquire) < 0 {
            thread::yield_now();
        }
    });
    assert_eq!(number, "-3 (its first value)");
}

/// How far a loop gets that counts its rounds on the heap.
#[test]
fn a_loop_that_counts_its_iterations_on_the_heap_gives_up() {
    let reached = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let noted = std::sync::Arc::clone(&reached);
    passes(move || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || other.store(true, Release));
        let round = Box::new(std::cell::Cell::new(0));
        while round.get() < 4 && !flag.load(Acquire) {
            round.set(round.get() + 1);
            hint::spin_loop();
        }
        noted.lock().unwrap().insert(round.get());
        handle.join().unwrap();
    });
    assert_eq!(*reached.lock().unwrap(), [0, 1, 2, 3, 4].into());
}

#[test]
fn a_loop_that_counts_its_iterations_in_a_variable_of_its_thread_gives_up() {
    selvedge::thread_local! {
        static ROUND: std::cell::Cell<usize> = std::cell::Cell::new(0);
    }
    let reached = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let noted = std::sync::Arc::clone(&reached);
    passes(move || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || other.store(true, Release));
        while ROUND.get() < 3 && !flag.load(Acquire) {
            ROUND.set(ROUND.get() + 1);
            hint::spin_loop();
        }
        noted.lock().unwrap().insert(ROUND.get());
        handle.join().unwrap();
    });
    assert_eq!(*reached.lock().unwrap(), [0, 1, 2, 3].into());
}

/// Somebody else changes memory of the model while a thread spins: that is no progress of the thread.
#[test]
fn what_others_do_with_their_memory_is_no_reason_to_go_on() {
    let stats = passes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || {
            let mut numbers = vec![1];
            numbers.push(usize::from(other.load(Relaxed)));
            other.store(true, Release);
            numbers.len()
        });
        while !flag.load(Acquire) {
            hint::spin_loop();
        }
        assert_eq!(handle.join().unwrap(), 2);
    });
    assert!((1..=2).contains(&stats.complete) && stats.blocked == 0);
}

/// How far a loop gets that gives up after some iterations.
fn gives_up_after(rounds: usize) -> Vec<usize> {
    let reached = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let noted = std::sync::Arc::clone(&reached);
    passes(move || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || other.store(true, Release));
        let mut round = 0;
        while round < rounds && !flag.load(Acquire) {
            round += 1;
            hint::spin_loop();
        }
        noted.lock().unwrap().insert(round);
        handle.join().unwrap();
    });
    reached.lock().unwrap().iter().copied().collect()
}

#[test]
fn a_loop_that_counts_its_iterations_gives_up() {
    assert_eq!(gives_up_after(4), [0, 1, 2, 3, 4]);
}

#[test]
fn yields_that_stand_behind_each_other_are_no_loop() {
    let stats = passes(|| {
        thread::yield_now();
        thread::yield_now();
        hint::spin_loop();
    });
    assert_eq!((stats.complete, stats.blocked), (1, 0));
}

/// An MCS lock: everybody waits for a flag of its own.
#[test]
fn a_queue_lock_excludes() {
    use selvedge::sync::atomic::AtomicPtr;
    use std::ptr;
    struct Waiter {
        next: AtomicPtr<Waiter>,
        waits: AtomicBool,
    }
    for threads in [2, 3] {
        passes(move || {
            let shared = Arc::new((AtomicPtr::<Waiter>::new(ptr::null_mut()), AtomicUsize::new(0)));
            let waiters: Vec<&'static Waiter> = (0..threads)
                .map(|_| Waiter { next: AtomicPtr::new(ptr::null_mut()), waits: AtomicBool::new(true) })
                .map(|waiter| &*Box::leak(Box::new(waiter)))
                .collect();
            let find = |pointer: *mut Waiter, all: &[&'static Waiter]| {
                *all.iter().find(|waiter| ptr::eq(**waiter, pointer)).expect("pointers are to waiters")
            };
            let handles: Vec<_> = (0..threads)
                .map(|n| {
                    let (shared, all) = (Arc::clone(&shared), waiters.clone());
                    thread::spawn(move || {
                        let me = ptr::from_ref(all[n]).cast_mut();
                        let before = shared.0.swap(me, selvedge::sync::atomic::Ordering::AcqRel);
                        if !before.is_null() {
                            find(before, &all).next.store(me, Release);
                            while all[n].waits.load(Acquire) {
                                hint::spin_loop();
                            }
                        }
                        let count = shared.1.load(Relaxed);
                        shared.1.store(count + 1, Relaxed);
                        if shared.0.compare_exchange(me, ptr::null_mut(), Release, Relaxed).is_err() {
                            let mut next = all[n].next.load(Acquire);
                            while next.is_null() {
                                hint::spin_loop();
                                next = all[n].next.load(Acquire);
                            }
                            find(next, &all).waits.store(false, Release);
                        }
                    })
                })
                .collect();
            handles.into_iter().for_each(|handle| handle.join().unwrap());
            assert_eq!(shared.1.load(Relaxed), threads);
        });
    }
}

/// A thread that has been told zeros all the time has not been told the same each time.
#[test]
fn loops_that_end_with_zero_are_told_from_loops_that_wait_for_something_else() {
    let stats = passes(|| {
        let words = Arc::new([const { AtomicUsize::new(1) }; 2]);
        words[1].store(0, Relaxed);
        let other = Arc::clone(&words);
        let handle = thread::spawn(move || {
            other[0].store(0, Release);
            other[1].store(2, Release);
        });
        while words[0].load(Acquire) == 1 {
            hint::spin_loop();
        }
        while words[1].load(Acquire) == 0 {
            hint::spin_loop();
        }
        handle.join().unwrap();
    });
    assert_eq!((stats.complete, stats.blocked), (1, 0));
}

/// A place where a thread comes often, and waits for nothing, may be one where another one waits.
#[test]
fn a_place_where_one_counts_and_another_waits() {
    fn take(lock: &Mutex<usize>) -> usize {
        *lock.lock().unwrap()
    }
    for (counts, sets) in [(20, 1), (100, 1), (20, 0)] {
        let stats = Builder::new().explore(move || {
            let lock = Arc::new(Mutex::new(0));
            let other = Arc::clone(&lock);
            let handle = thread::spawn(move || while take(&other) == 0 {});
            let seen: usize = (0..counts).map(|_| take(&lock)).sum();
            *lock.lock().unwrap() = sets;
            handle.join().unwrap();
            assert_eq!(seen, 0);
        });
        let failure = stats.failure.unwrap_or_default();
        assert_eq!(failure.contains("livelock"), sets == 0, "{counts}: {failure}");
        assert!(sets == 0 || failure.is_empty(), "{counts}: {failure}");
        // Without optimisation, the thread is in the same state after the second round only.
        let most = (counts + 1) * (counts + 2) / 2;
        let blocked = [counts + 1, most];
        assert!(sets == 0 || blocked.contains(&stats.blocked), "{counts}: {} {}", stats.complete, stats.blocked);
        assert!(
            sets == 0 || stats.complete == if stats.blocked == most { counts + 2 } else { 1 },
            "{}",
            stats.complete
        );
    }
}

/// Whatever is looked at, it is the model that is wrong, and not that it is not deterministic.
#[test]
fn a_spin_for_what_never_comes_is_a_livelock() {
    let looks: [fn(); 3] = [
        || {
            let once = Once::new();
            while !once.is_completed() {
                thread::yield_now();
            }
        },
        || {
            let value = OnceLock::<usize>::new();
            while value.get().is_none() {
                hint::spin_loop();
            }
        },
        || {
            let (_sender, receiver) = mpsc::channel::<usize>();
            while receiver.try_recv().is_err() {
                thread::yield_now();
            }
        },
    ];
    for look in looks {
        for engine in [Engine::Graph, Engine::Trace] {
            let mut builder = Builder::new();
            builder.engine = engine;
            let failure = builder.explore(look).failure.expect("it never ends");
            assert!(failure.starts_with("livelock: main spins forever"), "{failure}");
        }
    }
}

/// Others may write where a thread that spins has its stack: that is no difference between two of its rounds.
#[test]
fn what_others_write_to_the_stack_of_a_thread_that_spins() {
    #[inline(never)]
    fn read(lock: &AtomicUsize) {
        loop {
            let readers = lock.load(Relaxed);
            if readers != 99 && lock.compare_exchange_weak(readers, readers + 1, Acquire, Relaxed).is_ok() {
                return;
            }
            hint::spin_loop();
        }
    }
    #[inline(never)]
    fn write(lock: &AtomicUsize) {
        while lock.compare_exchange_weak(0, 99, Acquire, Relaxed).is_err() {
            hint::spin_loop();
        }
    }
    let explore = |boxed: bool, allocates: bool| {
        selvedge::model::Builder::new().explore(move || {
            let on_stack = (AtomicUsize::new(0), Mutex::new(0));
            let on_heap = boxed.then(|| Box::new((AtomicUsize::new(0), Mutex::new(0))));
            let (lock, own) = on_heap.as_deref().unwrap_or(&on_stack);
            thread::scope(|scope| {
                scope.spawn(move || *own.lock().unwrap() = 1);
                scope.spawn(move || {
                    read(lock);
                    lock.fetch_sub(1, Release);
                    write(lock);
                    lock.store(0, Release);
                });
                if allocates {
                    while lock.load(Acquire) == 99 && *Box::new(lock.load(Relaxed)) == 99 {
                        hint::spin_loop();
                    }
                }
                read(lock);
                lock.fetch_sub(1, Release);
            });
        })
    };
    for allocates in [false, true] {
        let (stack, heap) = (explore(false, allocates), explore(true, allocates));
        assert_eq!((&stack.failure, &heap.failure), (&None, &None), "{allocates}");
        assert_eq!((stack.complete, stack.spurious), (heap.complete, heap.spurious), "{allocates}");
    }
}

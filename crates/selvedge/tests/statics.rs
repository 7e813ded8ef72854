//! Objects in what statics contain: a lock in a `LazyLock`, an atomic in a `Mutex`. Every execution has a copy of what a static
//! contains; what is in it is as good as if it had been made in the model.

#![allow(unsafe_code)]

use selvedge::cell::UnsafeCell;
use selvedge::model::{Builder, Engine, MemoryModel, Stats};
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use selvedge::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, OnceLock, RwLock, mpsc};
use selvedge::{hint, thread};
use std::alloc::{GlobalAlloc, Layout, System};

const ENGINES: [(Engine, MemoryModel); 3] =
    [(Engine::Graph, MemoryModel::Rc11), (Engine::Graph, MemoryModel::Sc), (Engine::Trace, MemoryModel::Sc)];

fn builder((engine, memory_model): (Engine, MemoryModel)) -> Builder {
    let mut builder = Builder::new();
    (builder.engine, builder.memory_model) = (engine, memory_model);
    builder
}

/// Takes from the system, for good, what it would give out next: copies lie elsewhere in every execution.
fn move_copies() {
    for size in (16..512).step_by(16) {
        let layout = Layout::from_size_align(size, 16).expect("it is not too large");
        // SAFETY: the layout has a size.
        std::hint::black_box(unsafe { System.alloc(layout) });
    }
}

/// A model passes with something that is static, with as many executions as with the same made in the model.
fn passes_as_if_made_in_the_model<T: Sync>(fixed: &'static T, make: fn() -> T, model: fn(&'static T)) {
    for with in ENGINES {
        let of_static = builder(with).explore(move || {
            move_copies();
            model(fixed);
        });
        let of_made = builder(with).explore(move || model(Box::leak(Box::new(make()))));
        let counts = |stats: &Stats| (stats.complete, stats.blocked, stats.spurious);
        assert_eq!(of_made.failure, None, "{with:?}");
        assert_eq!(of_static.failure, None, "{with:?}");
        assert_eq!(counts(&of_static), counts(&of_made), "{with:?}");
        assert!(of_static.complete > 0);
    }
}

/// The failure that a model has with every engine.
fn fails(words: &str, model: fn()) {
    for with in ENGINES {
        let failure = builder(with).explore(model).failure.expect("the model has a bug");
        assert!(failure.contains(words), "{with:?}: `{words}` is not in:\n{failure}");
    }
}

type List = Mutex<Vec<usize>>;

fn push_twice(list: &'static LazyLock<List>) {
    let handle = thread::spawn(|| list.lock().unwrap().push(1));
    list.lock().unwrap().push(2);
    handle.join().unwrap();
    assert_eq!(list.lock().unwrap().iter().sum::<usize>(), 3);
}

#[test]
fn a_list_in_a_mutex_in_a_lazy_lock() {
    static LIST: LazyLock<List> = LazyLock::new(|| Mutex::new(vec![]));
    passes_as_if_made_in_the_model(&LIST, || LazyLock::new(|| Mutex::new(vec![])), push_twice);
}

#[test]
fn a_list_in_a_mutex_in_a_once_lock() {
    static LIST: OnceLock<List> = OnceLock::new();
    passes_as_if_made_in_the_model(&LIST, OnceLock::new, |list| {
        let push = |n| list.get_or_init(|| Mutex::new(vec![0])).lock().unwrap().push(n);
        let handle = thread::spawn(move || push(1));
        push(2);
        handle.join().unwrap();
        assert_eq!(list.get().unwrap().lock().unwrap().iter().sum::<usize>(), 3);
    });
}

#[test]
fn a_string_in_an_rwlock_in_a_lazy_lock() {
    static TEXT: LazyLock<RwLock<String>> = LazyLock::new(|| RwLock::new("a".to_owned()));
    let make = || LazyLock::<RwLock<String>>::new(|| RwLock::new("a".to_owned()));
    passes_as_if_made_in_the_model(&TEXT, make, |text| {
        let handle = thread::spawn(|| text.write().unwrap().push('b'));
        let seen = text.read().unwrap().clone();
        handle.join().unwrap();
        assert!(["a", "ab"].contains(&seen.as_str()), "{seen}");
        assert_eq!(*text.read().unwrap(), "ab");
    });
}

#[test]
fn a_mutex_that_is_put_into_another_one() {
    static LISTS: Mutex<Option<List>> = Mutex::new(None);
    passes_as_if_made_in_the_model(
        &LISTS,
        || Mutex::new(None),
        |lists| {
            let push = |n| lists.lock().unwrap().get_or_insert_with(List::default).lock().unwrap().push(n);
            let handle = thread::spawn(move || push(1));
            push(2);
            handle.join().unwrap();
            assert_eq!(lists.lock().unwrap().as_ref().unwrap().lock().unwrap().len(), 2);
        },
    );
}

#[test]
fn mutexes_that_the_compiler_has_put_into_others() {
    type Three = Mutex<[Mutex<Option<List>>; 2]>;
    static LISTS: Three = Mutex::new([Mutex::new(Some(Mutex::new(Vec::new()))), Mutex::new(None)]);
    let make = || Three::new([Mutex::new(Some(Mutex::new(Vec::new()))), Mutex::new(None)]);
    passes_as_if_made_in_the_model(&LISTS, make, |lists| {
        let handle = thread::spawn(|| {
            let lists = lists.lock().unwrap();
            let first = lists[0].lock().unwrap();
            first.as_ref().unwrap().lock().unwrap().push(1);
        });
        // What has been used already is moved from one place of the static to another.
        let lists = lists.lock().unwrap();
        let moved = lists[0].lock().unwrap().replace(List::default()).unwrap();
        *lists[1].lock().unwrap() = Some(moved);
        drop(lists);
        handle.join().unwrap();
    });
}

#[test]
fn an_atomic_that_is_put_into_a_mutex() {
    static COUNT: Mutex<Option<AtomicUsize>> = Mutex::new(None);
    passes_as_if_made_in_the_model(
        &COUNT,
        || Mutex::new(None),
        |count| {
            *count.lock().unwrap() = Some(AtomicUsize::new(4));
            let add = || _ = count.lock().unwrap().as_ref().unwrap().fetch_add(1, SeqCst);
            let handle = thread::spawn(add);
            add();
            handle.join().unwrap();
            assert_eq!(count.lock().unwrap().as_ref().unwrap().load(SeqCst), 6);
        },
    );
}

#[test]
fn atomics_in_lazy_locks_next_to_each_other() {
    type Counts = [LazyLock<AtomicUsize>; 3];
    static COUNTS: Counts = [const { LazyLock::new(|| AtomicUsize::new(7)) }; 3];
    let make = || -> Counts { [(); 3].map(|()| LazyLock::<AtomicUsize>::new(|| AtomicUsize::new(7))) };
    passes_as_if_made_in_the_model(&COUNTS, make, |counts| {
        // Memory that is allocated before a copy is made, more in some executions than in others.
        let found = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&found);
        let handle = thread::spawn(move || {
            let size = 64 * (1 + other.load(Relaxed));
            let block = std::hint::black_box(vec![0u8; size]);
            counts[1].fetch_add(block.len(), Relaxed);
            counts[2].fetch_add(1, Relaxed);
        });
        found.store(1, Relaxed);
        counts[2].fetch_add(1, Relaxed);
        handle.join().unwrap();
        let all = [0, 1, 2].map(|n| counts[n].load(Relaxed));
        assert!(all == [7, 7 + 64, 9] || all == [7, 7 + 128, 9], "{all:?}");
    });
}

#[test]
fn one_that_is_put_in_the_place_of_another_has_its_own_value() {
    static COUNT: Mutex<Mutex<usize>> = Mutex::new(Mutex::new(1));
    passes_as_if_made_in_the_model(
        &COUNT,
        || Mutex::new(Mutex::new(1)),
        |count| {
            let handle = thread::spawn(|| *count.lock().unwrap().lock().unwrap() += 1);
            *count.lock().unwrap() = Mutex::new(10);
            handle.join().unwrap();
            let outer = count.lock().unwrap();
            let found = *outer.lock().unwrap();
            assert!(found == 10 || found == 11, "{found}");
        },
    );
}

#[test]
fn one_that_is_taken_out_of_a_static_keeps_what_it_has() {
    static LIST: Mutex<Option<List>> = Mutex::new(None);
    passes_as_if_made_in_the_model(
        &LIST,
        || Mutex::new(None),
        |list| {
            *list.lock().unwrap() = Some(Mutex::new(vec![1]));
            let handle = thread::spawn(|| list.lock().unwrap().as_ref().map(|list| list.lock().unwrap().push(2)));
            let taken = Box::new(list.lock().unwrap().take().unwrap());
            let pushed = handle.join().unwrap();
            taken.lock().unwrap().push(3);
            assert_eq!(taken.into_inner().unwrap().len(), 2 + usize::from(pushed.is_some()));
        },
    );
}

#[test]
fn a_pointer_to_what_is_in_a_static() {
    static COUNT: LazyLock<AtomicUsize> = LazyLock::new(|| AtomicUsize::new(5));
    passes_as_if_made_in_the_model(
        &COUNT,
        || LazyLock::new(|| AtomicUsize::new(5)),
        |count| {
            let pointer = Arc::new(AtomicPtr::new(std::ptr::null_mut()));
            let other = Arc::clone(&pointer);
            let handle = thread::spawn(move || {
                let found: *mut AtomicUsize = other.load(Acquire);
                // SAFETY: what is in a static lives as long as an execution.
                unsafe { found.as_ref() }.is_some_and(|found| {
                    assert!(std::ptr::eq(found, &raw const **count));
                    found.fetch_add(1, Relaxed) == 5
                })
            });
            pointer.store((&raw const **count).cast_mut(), Release);
            let added = handle.join().unwrap();
            assert_eq!(count.load(Relaxed), 5 + usize::from(added));
        },
    );
}

#[test]
fn what_waits_and_notifies_in_a_static() {
    struct Gate {
        open: Mutex<Option<String>>,
        opened: Condvar,
        all: Barrier,
    }
    static GATE: LazyLock<Gate> = LazyLock::new(gate);
    fn gate() -> Gate {
        Gate { open: Mutex::new(None), opened: Condvar::new(), all: Barrier::new(2) }
    }
    passes_as_if_made_in_the_model(
        &GATE,
        || LazyLock::new(gate),
        |gate| {
            let handle = thread::spawn(|| {
                *gate.open.lock().unwrap() = Some("open".to_owned());
                gate.opened.notify_one();
                gate.all.wait();
            });
            let open = gate.opened.wait_while(gate.open.lock().unwrap(), |open| open.is_none()).unwrap();
            assert_eq!(open.as_deref(), Some("open"));
            drop(open);
            gate.all.wait();
            handle.join().unwrap();
        },
    );
}

/// Threads that spin or try again are tried out, and what is in a static is put back after that.
#[test]
fn loops_on_what_is_in_a_static() {
    struct Spinning {
        taken: AtomicBool,
        count: AtomicUsize,
        list: List,
    }
    static SPINNING: LazyLock<Spinning> = LazyLock::new(spinning);
    fn spinning() -> Spinning {
        Spinning { taken: AtomicBool::new(false), count: AtomicUsize::new(0), list: List::default() }
    }
    #[inline(never)]
    fn add(count: &AtomicUsize) {
        let mut found = count.load(Relaxed);
        while let Err(now) = count.compare_exchange(found, found + 1, AcqRel, Relaxed) {
            found = now;
        }
    }
    passes_as_if_made_in_the_model(
        &SPINNING,
        || LazyLock::new(spinning),
        |spinning| {
            let work = || {
                add(&spinning.count);
                while spinning.taken.swap(true, Acquire) {
                    hint::spin_loop();
                }
                spinning.list.lock().unwrap().push(1);
                spinning.taken.store(false, Release);
            };
            let handle = thread::spawn(work);
            work();
            handle.join().unwrap();
            assert_eq!(spinning.count.load(Relaxed), 2);
            assert_eq!(spinning.list.lock().unwrap().len(), 2);
        },
    );
}

#[test]
fn a_channel_and_a_cell_in_a_static() {
    struct Ends {
        sender: Mutex<mpsc::Sender<String>>,
        receiver: Mutex<mpsc::Receiver<String>>,
        seen: UnsafeCell<usize>,
    }
    // SAFETY: the model uses the cell when it is alone.
    unsafe impl Sync for Ends {}
    // SAFETY: as above.
    unsafe impl Send for Ends {}
    static ENDS: LazyLock<Ends> = LazyLock::new(ends);
    fn ends() -> Ends {
        let (sender, receiver) = mpsc::channel();
        Ends { sender: Mutex::new(sender), receiver: Mutex::new(receiver), seen: UnsafeCell::new(0) }
    }
    for with in ENGINES {
        let stats = builder(with).explore(|| {
            let handle = thread::spawn(|| ENDS.sender.lock().unwrap().send("a".to_owned()).unwrap());
            assert_eq!(ENDS.receiver.lock().unwrap().recv().unwrap(), "a");
            handle.join().unwrap();
            // SAFETY: the other thread has ended.
            ENDS.seen.with_mut(|seen| unsafe { *seen += 1 });
        });
        // Either thread makes them.
        assert_eq!((stats.failure, stats.complete), (None, 2), "{with:?}");
    }
}

/// What starts without a value owns nothing, wherever it was made.
#[test]
fn a_lock_in_a_once_lock_that_the_closure_has_captured() {
    for with in ENGINES {
        let list = std::sync::Arc::new(OnceLock::<List>::new());
        let stats = builder(with).explore(move || {
            let other = std::sync::Arc::clone(&list);
            let handle = thread::spawn(move || other.get_or_init(List::default).lock().unwrap().push(1));
            list.get_or_init(List::default).lock().unwrap().push(2);
            handle.join().unwrap();
            assert_eq!(list.get().unwrap().lock().unwrap().len(), 2);
        });
        assert_eq!(stats.failure, None, "{with:?}");
    }
}

#[test]
fn a_lock_that_the_closure_has_captured_is_refused_if_it_may_own_something() {
    let list = std::sync::Arc::new(Mutex::new(Some(Mutex::new(vec![1]))));
    let stats = Builder::new().explore(move || drop(list.lock()));
    let failure = stats.failure.expect("it would be kept from one execution to the next");
    assert!(failure.contains("a Mutex that was made outside of the model"), "{failure}");
}

#[test]
fn locks_in_statics_that_are_taken_in_both_orders_are_a_deadlock() {
    static ONE: LazyLock<List> = LazyLock::new(List::default);
    static OTHER: OnceLock<List> = OnceLock::new();
    fails("deadlock", || {
        let handle = thread::spawn(|| {
            let mut one = ONE.lock().unwrap();
            one.push(OTHER.get_or_init(List::default).lock().unwrap().len());
        });
        let mut other = OTHER.get_or_init(List::default).lock().unwrap();
        other.push(ONE.lock().unwrap().len());
        drop(other);
        handle.join().unwrap();
    });
}

#[test]
fn what_only_one_thread_protects_by_a_lock_in_a_static_is_a_data_race() {
    struct Half {
        lock: List,
        cell: UnsafeCell<usize>,
    }
    // SAFETY: that it is not so is what the test is about.
    unsafe impl Sync for Half {}
    static HALF: LazyLock<Half> = LazyLock::new(|| Half { lock: List::default(), cell: UnsafeCell::new(0) });
    fails("data race", || {
        let handle = thread::spawn(|| {
            let _held = HALF.lock.lock().unwrap();
            // SAFETY: as above.
            HALF.cell.with_mut(|cell| unsafe { *cell += 1 });
        });
        // SAFETY: as above.
        HALF.cell.with_mut(|cell| unsafe { *cell += 1 });
        handle.join().unwrap();
    });
}

#[test]
fn an_atomic_in_a_static_that_is_too_weak_is_found_to_be() {
    struct Message {
        sent: AtomicBool,
        text: UnsafeCell<usize>,
    }
    // SAFETY: that it is not so is what the test is about.
    unsafe impl Sync for Message {}
    static MESSAGE: LazyLock<Message> =
        LazyLock::new(|| Message { sent: AtomicBool::new(false), text: UnsafeCell::new(0) });
    fn send(order: selvedge::sync::atomic::Ordering) -> Option<String> {
        let stats = Builder::new().explore(move || {
            let handle = thread::spawn(move || {
                // SAFETY: as above.
                MESSAGE.text.with_mut(|text| unsafe { *text = 1 });
                MESSAGE.sent.store(true, order);
            });
            if MESSAGE.sent.load(Acquire) {
                // SAFETY: as above.
                MESSAGE.text.with(|text| assert_eq!(unsafe { *text }, 1));
            }
            handle.join().unwrap();
        });
        stats.failure
    }
    assert_eq!(send(Release), None);
    assert!(send(Relaxed).is_some_and(|failure| failure.contains("data race")));
}

/// A static is never dropped.
#[test]
fn what_locks_in_statics_own_is_not_leaked() {
    static LISTS: LazyLock<Mutex<Vec<Mutex<Arc<String>>>>> = LazyLock::new(Mutex::default);
    for with in ENGINES {
        let stats = builder(with).explore(|| {
            let push = || LISTS.lock().unwrap().push(Mutex::new(Arc::new(String::new())));
            let handle = thread::spawn(push);
            push();
            handle.join().unwrap();
        });
        assert_eq!(stats.failure, None, "{with:?}");
    }
}

#[test]
fn models_do_not_notice_others_that_use_the_same_statics() {
    static LIST: LazyLock<List> = LazyLock::new(|| Mutex::new(vec![]));
    static TEXT: OnceLock<RwLock<String>> = OnceLock::new();
    static COUNT: Mutex<Option<AtomicUsize>> = Mutex::new(None);
    static NEXT: LazyLock<AtomicUsize> = LazyLock::new(|| AtomicUsize::new(7));
    fn add() {
        LIST.lock().unwrap().push(1);
        TEXT.get_or_init(RwLock::default).write().unwrap().push('a');
        COUNT.lock().unwrap().get_or_insert_with(AtomicUsize::default).fetch_add(1, Relaxed);
        NEXT.fetch_add(1, Relaxed);
    }
    fn model() {
        let handle = thread::spawn(add);
        add();
        handle.join().unwrap();
        let count = COUNT.lock().unwrap().as_ref().unwrap().load(Relaxed);
        let all =
            [LIST.lock().unwrap().len(), TEXT.get().unwrap().read().unwrap().len(), count, NEXT.load(Relaxed) - 7];
        assert_eq!(all, [2; 4]);
    }
    let explore = || {
        let all = ENGINES.map(|with| (0..6).map(|_| builder(with).explore(model)).collect::<Vec<_>>());
        all.map(|stats| stats.into_iter().map(|stats| (stats.failure, stats.complete)).collect::<Vec<_>>())
    };
    let alone = ENGINES.map(|with| builder(with).explore(model).complete);
    let explored = std::thread::scope(|scope| {
        let threads = [0; 4].map(|_| scope.spawn(explore));
        threads.map(|thread| thread.join().unwrap())
    });
    for (n, stats) in explored.into_iter().flat_map(|of| of.into_iter().enumerate()) {
        assert!(stats.iter().all(|stats| *stats == (None, alone[n])), "{:?}: {} {stats:?}", ENGINES[n], alone[n]);
    }
}

/// Locks and atomics that are met in one order by threads that are tried out, and in another by those that go on.
struct Objects {
    words: [AtomicUsize; 2],
    locks: [Mutex<u8>; 2],
}

impl Objects {
    const fn new() -> Objects {
        Objects { words: [const { AtomicUsize::new(0) }; 2], locks: [const { Mutex::new(0) }; 2] }
    }
}

/// Takes a lock as soon as it is free.
fn takes(lock: &Mutex<u8>) -> selvedge::sync::MutexGuard<'_, u8> {
    loop {
        match lock.try_lock() {
            Ok(guard) => return guard,
            Err(_) => thread::yield_now(),
        }
    }
}

#[test]
fn what_a_thread_has_met_while_it_was_tried_out_is_not_taken_for_something_else() {
    static OBJECTS: Objects = Objects::new();
    passes_as_if_made_in_the_model(&OBJECTS, Objects::new, |objects: &'static Objects| {
        let handle = thread::spawn(|| {
            let _outer = takes(&objects.locks[0]);
            *objects.locks[1].lock().unwrap() += 1;
        });
        let other = thread::spawn(|| {
            *objects.locks[0].lock().unwrap() += 1;
            let guard = objects.locks[0].lock().unwrap();
            assert_eq!(objects.words[1].load(SeqCst), 0);
            drop(guard);
            *objects.locks[1].lock().unwrap() += 1;
        });
        handle.join().unwrap();
        other.join().unwrap();
        assert_eq!(*objects.locks[1].lock().unwrap(), 2);
    });
}

#[test]
fn a_static_that_a_thread_has_met_while_it_was_tried_out_is_not_taken_for_an_object_of_the_model() {
    struct Counts(Arc<AtomicUsize>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, AcqRel);
        }
    }
    static LIST: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    for place in ENGINES {
        let stats = builder(place).explore(|| {
            let count = Arc::new(AtomicUsize::new(0));
            let counts = Arc::new(Counts(Arc::clone(&count)));
            let weak = Arc::downgrade(&counts);
            let handle = thread::spawn(move || drop(Arc::try_unwrap(counts)));
            drop(weak.upgrade());
            let mut list = LIST.lock().unwrap();
            // It is that of this execution, and not the original.
            assert_eq!(list.len(), 0);
            list.push(1);
            drop(list);
            handle.join().unwrap();
            assert_eq!(count.load(Relaxed), 1);
        });
        assert_eq!(stats.failure, None);
    }
}

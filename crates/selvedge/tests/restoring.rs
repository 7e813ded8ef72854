//! Loops that wait for others, change memory in every iteration, and put it back: a reference that is cloned and dropped, a
//! cell that is borrowed while they look, a count that goes up and down (`restored.rs`).

use selvedge::model::{Builder, Engine, MemoryModel, Stats};
use selvedge::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use selvedge::sync::atomic::{AtomicBool, AtomicUsize};
use selvedge::sync::{Arc, Mutex, RwLock, Weak};
use selvedge::{hint, thread};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::hint::black_box;
use std::rc::Rc;

/// What threads wait for.
#[derive(Default)]
struct Flags {
    ready: AtomicBool,
    closed: AtomicBool,
}

impl Flags {
    fn is_ready(&self) -> bool {
        self.ready.load(Acquire) || self.closed.load(Acquire)
    }
}

const ENGINES: [Engine; 2] = [Engine::Graph, Engine::Trace];

fn explore(engine: Engine, f: impl Fn() + Send + Sync + 'static) -> Stats {
    let mut builder = Builder::new();
    builder.engine = engine;
    if engine == Engine::Trace {
        builder.memory_model = MemoryModel::Sc;
    }
    builder.explore(f)
}

/// Some threads wait until main sets a flag, if it does.
fn waiting(threads: usize, sets: bool, engine: Engine, wait: fn(&Mutex<Arc<Flags>>)) -> Stats {
    explore(engine, move || {
        let flags = Arc::new(Flags::default());
        let shared = Arc::new(Mutex::new(Arc::clone(&flags)));
        let spawn = |_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || wait(&shared))
        };
        let handles: Vec<_> = (0..threads).map(spawn).collect();
        flags.ready.store(sets, Release);
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    })
}

/// There are as many executions as there are ways for everybody to look once or twice, and nothing is left out; and if the flag
/// is never set, that is a livelock.
fn waits(wait: fn(&Mutex<Arc<Flags>>)) {
    for engine in ENGINES {
        for (threads, most) in [(1, 4), (2, 64)] {
            let stats = waiting(threads, true, engine, wait);
            assert_eq!(stats.failure, None);
            assert!(stats.not_covered.is_empty(), "{:?}", stats.not_covered);
            assert!((1..=most).contains(&stats.complete), "{engine:?}, {threads} threads: {}", stats.complete);
            assert!(stats.blocked <= most, "{engine:?}, {threads} threads: {} blocked", stats.blocked);
        }
        let failure = waiting(1, false, engine, wait).failure.expect("nobody sets the flag");
        assert!(failure.starts_with("livelock: "), "{failure}");
    }
}

#[test]
fn a_reference_that_is_cloned_under_a_lock_is_given_back() {
    waits(|shared| {
        loop {
            let flags = shared.lock().unwrap().clone();
            if flags.ready.load(Acquire) {
                break;
            }
            thread::yield_now();
        }
    });
    waits(|shared| {
        loop {
            let flags = shared.lock().unwrap().clone();
            if flags.is_ready() {
                break;
            }
            hint::spin_loop();
        }
    });
}

#[test]
fn references_may_be_cloned_in_a_function() {
    fn looks(shared: &Mutex<Arc<Flags>>) -> bool {
        let flags = shared.lock().unwrap().clone();
        flags.is_ready()
    }
    waits(|shared| {
        while !looks(shared) {
            thread::yield_now();
        }
    });
}

#[test]
fn loops_that_do_not_say_that_they_wait_may_clone_references() {
    waits(|shared| while !shared.lock().unwrap().clone().is_ready() {});
}

#[test]
fn a_reference_is_held_over_two_loads() {
    waits(|shared| {
        let first = shared.lock().unwrap().clone();
        loop {
            let flags = black_box(Arc::clone(&first));
            if flags.is_ready() {
                break;
            }
            hint::spin_loop();
        }
    });
    waits(|shared| {
        let first = Rc::new(shared.lock().unwrap().clone());
        loop {
            let flags = black_box(Rc::clone(&first));
            if flags.is_ready() {
                break;
            }
            thread::yield_now();
        }
    });
    waits(|shared| {
        let first = std::sync::Arc::new(shared.lock().unwrap().clone());
        loop {
            let flags = black_box(std::sync::Arc::clone(&first));
            if flags.is_ready() {
                break;
            }
            thread::yield_now();
        }
    });
}

#[test]
fn a_cell_is_borrowed_while_a_thread_looks() {
    waits(|shared| {
        let cell = Box::new(RefCell::new((shared.lock().unwrap().clone(), 0)));
        loop {
            let mut all = cell.borrow_mut();
            all.1 = 7;
            if all.0.is_ready() {
                break;
            }
            drop(all);
            thread::yield_now();
        }
    });
}

#[test]
fn a_count_goes_up_and_down() {
    waits(|shared| {
        let flags = shared.lock().unwrap().clone();
        let mut count = Box::new(0);
        loop {
            **black_box(&mut count) += 1;
            if flags.is_ready() {
                break;
            }
            **black_box(&mut count) -= 1;
            thread::yield_now();
        }
    });
}

/// If the count does not go down again, every iteration is another one.
#[test]
fn a_loop_that_puts_back_less_than_it_takes_gives_up() {
    let reached = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let noted = std::sync::Arc::clone(&reached);
    let stats = explore(Engine::Graph, move || {
        let flags = Arc::new(Flags::default());
        let other = Arc::clone(&flags);
        let handle = thread::spawn(move || other.ready.store(true, Release));
        let count = Box::new(std::cell::Cell::new(0));
        while count.get() < 4 {
            count.set(count.get() + 2);
            if flags.is_ready() {
                break;
            }
            count.set(count.get() - 1);
            hint::spin_loop();
        }
        noted.lock().unwrap().insert(count.get());
        handle.join().unwrap();
    });
    assert_eq!((stats.failure, stats.not_covered), (None, vec![]));
    assert_eq!(*reached.lock().unwrap(), [2, 3, 4, 5].into());
}

#[test]
fn a_read_lock_is_taken_while_a_reference_is_cloned() {
    for (engine, threads) in ENGINES.into_iter().zip([1, 2]) {
        let stats = explore(engine, move || {
            let flags = Arc::new(Flags::default());
            let shared = Arc::new(RwLock::new(Arc::clone(&flags)));
            let spawn = |_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    while !shared.read().unwrap().clone().is_ready() {
                        thread::yield_now();
                    }
                })
            };
            let handles: Vec<_> = (0..threads).map(spawn).collect();
            flags.ready.store(true, Release);
            handles.into_iter().for_each(|handle| handle.join().unwrap());
        });
        assert_eq!((stats.failure, stats.not_covered), (None, vec![]));
        assert!(stats.complete <= 256, "{}", stats.complete);
    }
}

#[test]
fn others_that_try_to_take_the_lock_may_find_it_taken() {
    for engine in ENGINES {
        let run = |threads| {
            waiting(threads, true, engine, |shared| {
                loop {
                    let flags = shared.try_lock().ok().map(|guard| Arc::clone(&guard));
                    if flags.is_some_and(|flags| flags.is_ready()) {
                        break;
                    }
                    thread::yield_now();
                }
            })
        };
        // Nobody else tries.
        let stats = run(1);
        assert_eq!((stats.failure, stats.not_covered), (None, vec![]));
        assert!(stats.complete <= 8, "{}", stats.complete);
        let stats = run(2);
        assert_eq!(stats.failure, None);
        assert!(stats.not_covered.len() == 1, "{:?}", stats.not_covered);
    }
}

/// What has to be dropped: references to it are counted in the model.
#[derive(Default)]
struct Dropped {
    flags: Flags,
    name: String,
}

/// Threads clone a reference that is counted in the model until main sets a flag; main may look at the count first.
fn counted(threads: usize, sets: bool, engine: Engine, look: fn(&Arc<Dropped>)) -> Stats {
    explore(engine, move || {
        let all = Arc::new(Dropped::default());
        let shared = Arc::new(Mutex::new(Arc::clone(&all)));
        let spawn = |_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                loop {
                    let all = shared.lock().unwrap().clone();
                    if all.flags.is_ready() {
                        assert_eq!(all.name, "");
                        break;
                    }
                    thread::yield_now();
                }
            })
        };
        let handles: Vec<_> = (0..threads).map(spawn).collect();
        look(&all);
        all.flags.ready.store(sets, Release);
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    })
}

#[test]
fn counts_of_the_model_are_seen_by_others_so_loops_are_cut_off() {
    for engine in ENGINES {
        for (threads, most) in [(1, 8), (2, 4000)] {
            let stats = counted(threads, true, engine, |_| ());
            assert_eq!(stats.failure, None);
            assert!((1..=most).contains(&stats.complete), "{engine:?}, {threads} threads: {}", stats.complete);
            assert!(stats.not_covered.iter().any(|what| what.contains("writes the same each time")));
        }
        let failure = counted(1, false, engine, |_| ()).failure.expect("nobody sets the flag");
        assert!(failure.starts_with("livelock: "), "{failure}");
    }
}

#[test]
fn who_looks_at_the_count_in_between_finds_it() {
    for engine in ENGINES {
        let stats = counted(1, true, engine, |all| assert_eq!(Arc::strong_count(all), 2, "somebody has another one"));
        let failure = stats.failure.expect("a thread holds a reference while it looks");
        assert!(failure.contains("somebody has another one"), "{failure}");
    }
}

#[test]
fn a_value_may_be_upgraded_until_it_is_gone() {
    for engine in ENGINES {
        let stats = explore(engine, || {
            let first = Arc::new(Flags::default());
            let weak = Arc::downgrade(&first);
            let handle = thread::spawn(move || {
                while weak.upgrade().is_some() {
                    thread::yield_now();
                }
            });
            drop(first);
            handle.join().unwrap();
        });
        assert_eq!(stats.failure, None);
        assert!((2..=16).contains(&stats.complete), "{}", stats.complete);
        assert!(stats.not_covered.iter().any(|what| what.contains("writes the same each time")));
    }
}

/// Whoever upgrades a reference last drops the value, if the others have done so in between.
#[test]
fn a_value_may_be_dropped_by_a_thread_that_waits_for_that() {
    struct Noisy(std::sync::Arc<std::sync::Mutex<BTreeSet<bool>>>, thread::ThreadId);
    impl Drop for Noisy {
        fn drop(&mut self) {
            self.0.lock().unwrap().insert(thread::current().id() == self.1);
        }
    }
    for engine in ENGINES {
        let by_main = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
        let noted = std::sync::Arc::clone(&by_main);
        let stats = explore(engine, move || {
            let first = Arc::new(Noisy(std::sync::Arc::clone(&noted), thread::current().id()));
            let weak = Arc::downgrade(&first);
            let handle = thread::spawn(move || {
                while weak.upgrade().is_some() {
                    thread::yield_now();
                }
            });
            drop(first);
            handle.join().unwrap();
        });
        assert_eq!(stats.failure, None);
        assert_eq!(*by_main.lock().unwrap(), [false, true].into());
    }
}

#[test]
fn a_value_may_be_upgraded_as_soon_as_it_is_there() {
    for engine in ENGINES {
        let stats = explore(engine, || {
            let slot = Arc::new(Mutex::new(Weak::<Flags>::new()));
            let other = Arc::clone(&slot);
            let handle = thread::spawn(move || {
                loop {
                    let weak = other.lock().unwrap().clone();
                    if let Some(flags) = weak.upgrade() {
                        flags.ready.store(true, Relaxed);
                        break;
                    }
                    thread::yield_now();
                }
            });
            let first = Arc::new(Flags::default());
            *slot.lock().unwrap() = Arc::downgrade(&first);
            handle.join().unwrap();
        });
        assert_eq!((stats.failure, stats.not_covered), (None, vec![]));
        assert!((1..=4).contains(&stats.complete), "{}", stats.complete);
    }
}

/// A thread that counts up and down in what a lock protects, and gives the lock back in between.
fn shows(engine: Engine, look: fn(&Mutex<usize>)) -> Stats {
    explore(engine, move || {
        let shared = Arc::new((Flags::default(), Mutex::new(0)));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            loop {
                *other.1.lock().unwrap() += 1;
                if other.0.is_ready() {
                    break;
                }
                *other.1.lock().unwrap() -= 1;
                thread::yield_now();
            }
        });
        look(&shared.1);
        shared.0.ready.store(true, Release);
        handle.join().unwrap();
    })
}

#[test]
fn who_looks_at_memory_in_between_finds_it_changed() {
    for engine in ENGINES {
        let stats = shows(engine, |_| ());
        assert_eq!(stats.failure, None);
        assert!((1..=16).contains(&stats.complete), "{}", stats.complete);
        assert!(stats.not_covered.iter().all(|what| what.contains("changes memory and puts it back")));
        assert_eq!(stats.not_covered.len(), 1, "another thread could have looked");
        let stats = shows(engine, |count| assert_eq!(*count.lock().unwrap(), 0, "it has gone up"));
        let failure = stats.failure.expect("it may be found in the middle of an iteration");
        assert!(failure.contains("it has gone up"), "{failure}");
        // What is seen in two iterations.
        let stats = shows(engine, |count| {
            let [first, second] = [0; 2].map(|_: i32| *count.lock().unwrap());
            assert!((first, second) != (1, 0), "it has gone down");
        });
        let failure = stats.failure.expect("the thread may go on");
        assert!(failure.contains("it has gone down"), "{failure}");
    }
}

/// A loop that counts in an atomic never comes back to where it was: it is cut off, and that is said.
#[test]
fn loops_that_count_in_an_atomic_are_cut_off() {
    for engine in ENGINES {
        for (threads, sets) in [(1, true), (2, true), (1, false)] {
            let stats = explore(engine, move || {
                let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
                let spawn = |_| {
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || {
                        while !shared.0.load(Acquire) {
                            shared.1.fetch_add(1, Relaxed);
                            thread::yield_now();
                        }
                    })
                };
                let handles: Vec<_> = (0..threads).map(spawn).collect();
                shared.0.store(sets, Release);
                handles.into_iter().for_each(|handle| handle.join().unwrap());
            });
            assert!(stats.not_covered.iter().any(|what| what.contains("adds to an atomic each time")));
            if sets {
                assert_eq!(stats.failure, None);
                assert!((2..=32).contains(&stats.complete), "{}", stats.complete);
            } else {
                let failure = stats.failure.expect("nobody sets the flag");
                assert!(failure.starts_with("no execution comes to its end: "), "{failure}");
            }
        }
    }
}

/// What is found where a thread adds to something may end the loop.
#[test]
fn loops_that_count_to_some_number_in_an_atomic_end() {
    let stats = explore(Engine::Graph, || {
        let count = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&count);
        let handle = thread::spawn(move || {
            while other.fetch_add(1, Relaxed) < 10 {
                thread::yield_now();
            }
        });
        while count.fetch_add(1, Relaxed) < 5 {
            thread::yield_now();
        }
        handle.join().unwrap();
    });
    assert_eq!((stats.failure, stats.not_covered), (None, vec![]));
}

//! Scoped threads: what a scope waits for, and loops that wait in one.

use selvedge::model::{Builder, Engine, Stats};
use selvedge::sync::Mutex;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{Relaxed, SeqCst};
use selvedge::{hint, thread};
use std::cell::RefCell;

static COUNT: AtomicUsize = AtomicUsize::new(0);
static LOCK: Mutex<()> = Mutex::new(());

/// Does something when it is dropped.
struct AtEnd(fn());

impl Drop for AtEnd {
    fn drop(&mut self) {
        (self.0)();
    }
}

selvedge::thread_local! {
    static AT_END: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
}

fn at_end(what: fn()) {
    AT_END.with_borrow_mut(|it| *it = Some(AtEnd(what)));
}

/// With either engine.
fn explore(f: impl Fn() + Send + Sync + Copy + 'static) -> [Stats; 2] {
    [Engine::Graph, Engine::Trace].map(|engine| {
        let mut builder = Builder::new();
        builder.engine = engine;
        builder.explore(f)
    })
}

fn counts() {
    COUNT.fetch_add(1, SeqCst);
}

#[test]
fn a_scope_does_not_wait_for_the_destructors_of_thread_local_variables() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new([false; 2]));
    for engine in [Engine::Graph, Engine::Trace] {
        *seen.lock().unwrap() = [false; 2];
        let noted = std::sync::Arc::clone(&seen);
        let mut builder = Builder::new();
        builder.engine = engine;
        let stats = builder.explore(move || {
            thread::scope(|scope| {
                scope.spawn(|| at_end(counts));
            });
            let count = COUNT.load(SeqCst);
            noted.lock().unwrap()[count] = true;
        });
        assert_eq!((stats.failure, stats.complete), (None, 2));
        assert_eq!(*seen.lock().unwrap(), [true; 2], "before it and after it");
    }
}

#[test]
fn who_joins_a_scoped_thread_waits_for_its_thread_local_variables() {
    for stats in explore(|| {
        thread::scope(|scope| scope.spawn(|| at_end(counts)).join().unwrap());
        assert_eq!(COUNT.load(SeqCst), 1);
    }) {
        assert_eq!((stats.failure, stats.complete), (None, 1));
    }
}

#[test]
fn a_destructor_may_take_a_lock_that_is_held_over_its_scope() {
    for stats in explore(|| {
        let held = LOCK.lock().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| at_end(|| drop(LOCK.lock().unwrap())));
        });
        drop(held);
    }) {
        assert_eq!(stats.failure, None);
    }
}

/// What a thread has done before its function returns is there when the scope ends.
#[test]
fn a_scope_waits_for_what_its_threads_have_written() {
    for stats in explore(|| {
        let mut written = [0; 2];
        let (one, two) = written.split_at_mut(1);
        thread::scope(|scope| {
            scope.spawn(|| {
                at_end(counts);
                one[0] = 1;
            });
            scope.spawn(|| {
                at_end(counts);
                two[0] = 2;
            });
        });
        assert_eq!(written, [1, 2]);
    }) {
        assert_eq!(stats.failure, None);
    }
}

/// Others write into the frame of a thread that spins.
#[test]
fn a_thread_may_spin_in_a_scope() {
    for stats in explore(|| {
        let (a, b) = (Mutex::new(()), Mutex::new(()));
        let (mut one, mut two) = ([0u64; 5], [0u64; 5]);
        thread::scope(|scope| {
            scope.spawn(|| {
                drop(b.lock().unwrap());
                one[0] = 1;
            });
            scope.spawn(|| {
                let held = a.lock().unwrap();
                let found = b.try_lock().is_ok();
                drop(held);
                two[0] = 2 + u64::from(found);
            });
            let held = loop {
                match b.try_lock() {
                    Ok(held) => break held,
                    Err(_) => thread::yield_now(),
                }
            };
            drop(a.try_lock());
            drop(held);
        });
        assert!(one[0] == 1 && two[0] >= 2);
    }) {
        assert_eq!(stats.failure, None);
        assert!(stats.complete > 0);
    }
}

/// A scope waits for its threads before the panic goes on; it is not the model that catches it.
#[test]
fn a_panic_in_a_scope_is_a_failure_whatever_destructors_do() {
    struct GivesBack<'a>(&'a AtomicUsize);
    impl Drop for GivesBack<'_> {
        fn drop(&mut self) {
            let mut now = self.0.load(Relaxed);
            while let Err(other) = self.0.compare_exchange(now, now + 1, Relaxed, Relaxed) {
                now = other;
            }
        }
    }
    for waits in [false, true] {
        let stats = Builder::new().explore(move || {
            let free = AtomicUsize::new(0);
            thread::scope(|scope| {
                let gives_back = GivesBack(&free);
                scope.spawn(|| {
                    while waits && free.load(Relaxed) == 0 {
                        hint::spin_loop();
                    }
                });
                assert_eq!(gives_back.0.load(Relaxed), 3, "so it is");
            });
        });
        let failure = stats.failure.expect("the assertion does not hold");
        assert!(failure.starts_with("assertion: ") && failure.contains("so it is"), "{failure}");
        assert!(failure.contains("in this execution"), "{failure}");
    }
}

/// Threads that the scope waits for may be tried out; destructors outside of the scope find zero.
#[test]
fn a_panic_goes_on_after_a_scope_has_waited() {
    struct Takes<'a>(&'a AtomicUsize);
    impl Drop for Takes<'_> {
        fn drop(&mut self) {
            while self.0.compare_exchange(0, 1, Relaxed, Relaxed).is_err() {
                hint::spin_loop();
            }
        }
    }
    let stats = Builder::new().explore(move || {
        let (free, other) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let takes = Takes(&free);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while other.swap(1, SeqCst) == 1 {
                        hint::spin_loop();
                    }
                    other.store(0, SeqCst);
                });
            }
            assert_eq!(takes.0.load(Relaxed), 3, "so it is");
        });
    });
    let failure = stats.failure.expect("the assertion does not hold");
    assert!(failure.starts_with("assertion: ") && failure.contains("so it is"), "{failure}");
    assert!(failure.contains("at crates/selvedge/tests/scopes.rs"), "{failure}");
}

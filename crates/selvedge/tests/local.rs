//! Thread-local variables and lazy statics.

use selvedge::model::Builder;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::Relaxed;
use selvedge::sync::{Arc, Mutex};
use selvedge::thread;
use std::cell::{Cell, RefCell};

fn passes(f: impl Fn() + Send + Sync + 'static) -> u64 {
    let stats = Builder::new().explore(f);
    assert_eq!(stats.failure, None);
    stats.complete
}

fn fails(word: &str, f: impl Fn() + Send + Sync + 'static) {
    let failure = Builder::new().explore(f).failure.expect("the model has a bug");
    assert!(failure.contains(word), "{failure}");
}

static DROPS: AtomicUsize = AtomicUsize::new(0);

struct Noted(usize);

impl Drop for Noted {
    fn drop(&mut self) {
        DROPS.fetch_add(self.0, Relaxed);
    }
}

selvedge::thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(1) };
    static NOTED: RefCell<Noted> = RefCell::new(Noted(1));
}

#[test]
fn every_thread_has_its_own_variable_in_every_execution() {
    let executions = passes(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || {
            COUNT.set(COUNT.get() + 10);
            other.fetch_add(1, Relaxed);
            COUNT.get()
        });
        COUNT.with(|count| count.set(count.get() + 1));
        x.fetch_add(1, Relaxed);
        assert_eq!((COUNT.get(), handle.join().unwrap()), (2, 11));
    });
    assert_eq!(executions, 2);
}

#[test]
fn a_thread_drops_its_variables_when_it_ends() {
    passes(|| {
        let handle = thread::spawn(|| NOTED.with_borrow_mut(|noted| noted.0 = 5));
        assert_eq!(NOTED.with_borrow(|noted| noted.0), 1);
        handle.join().unwrap();
        assert_eq!(DROPS.load(Relaxed), 5);
    });
}

selvedge::lazy_static! {
    /// Made when it is first used.
    static ref MADE: Vec<usize> = vec![MAKES.fetch_add(1, Relaxed)];
    static ref SHARED: Arc<Mutex<usize>> = Arc::new(Mutex::new(0));
}
static MAKES: AtomicUsize = AtomicUsize::new(0);

#[test]
fn a_lazy_static_is_made_once_in_every_execution() {
    let executions = passes(|| {
        let handle = thread::spawn(|| MADE[0]);
        assert_eq!(MADE[0] + handle.join().unwrap(), 0);
        assert_eq!(MAKES.load(Relaxed), 1);
    });
    assert_eq!(executions, 2);
}

/// The `Arc` in it is dropped at the end: no leak.
#[test]
fn a_lazy_static_is_dropped_at_the_end() {
    passes(|| {
        let handle = thread::spawn(|| *SHARED.lock().unwrap() += 1);
        *SHARED.lock().unwrap() += 1;
        handle.join().unwrap();
        assert_eq!(*SHARED.lock().unwrap(), 2);
    });
}

#[test]
fn a_variable_is_not_used_after_it_was_dropped() {
    struct Uses;
    impl Drop for Uses {
        fn drop(&mut self) {
            COUNT.set(1);
        }
    }
    selvedge::thread_local! {
        static USES: Uses = Uses;
    }
    fails("dropped already", || {
        // The one that is made last is dropped first.
        USES.with(|_| ());
        COUNT.set(2);
    });
}

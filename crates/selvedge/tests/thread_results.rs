//! Who drops what a thread returns, if nobody joins it: the thread, or who drops the handle, whichever is later.

use selvedge::sync::Arc;
use selvedge::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use selvedge::sync::mpsc::channel;
use selvedge::thread::{self, ScopedJoinHandle, ThreadId};
use selvedge::{Builder, Engine};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// Stores 1 if it is dropped by the thread that it was made for, and else 2.
struct Stores(Arc<AtomicUsize>, ThreadId);

impl Drop for Stores {
    fn drop(&mut self) {
        self.0.store(if thread::current().id() == self.1 { 1 } else { 2 }, SeqCst);
    }
}

/// The outcomes of a model, with both engines.
fn outcomes<T: Ord + Debug + Send + 'static>(
    builder: &Builder,
    model: impl Fn() -> T + Send + Sync + 'static,
) -> BTreeSet<T> {
    let model = std::sync::Arc::new(model);
    let [graph, trace] = [Engine::Graph, Engine::Trace].map(|engine| {
        let seen = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
        let (noted, model) = (seen.clone(), model.clone());
        let mut builder = builder.clone();
        builder.engine = engine;
        let stats = builder.explore(move || {
            let outcome = model();
            noted.lock().unwrap().insert(outcome);
        });
        assert_eq!(stats.failure, None);
        std::mem::take(&mut *seen.lock().unwrap())
    });
    assert_eq!(graph, trace);
    graph
}

#[test]
fn who_drops_the_handle_may_drop_the_result() {
    let seen = outcomes(&Builder::new(), || {
        let x = Arc::new(AtomicUsize::new(0));
        let (y, main) = (x.clone(), thread::current().id());
        drop(thread::spawn(move || Stores(y, main)));
        x.load(SeqCst)
    });
    assert_eq!(seen, BTreeSet::from([0, 1, 2]));
}

/// The same when both do something before that.
#[test]
fn threads_need_not_run_in_the_order_in_which_they_drop() {
    let seen = outcomes(&Builder::new(), || {
        let x = Arc::new(AtomicUsize::new(0));
        let (y, z, main) = (x.clone(), x.clone(), thread::current().id());
        let handle = thread::spawn(move || {
            z.load(SeqCst);
            Stores(y, main)
        });
        x.load(SeqCst);
        drop(handle);
        x.load(SeqCst)
    });
    assert_eq!(seen, BTreeSet::from([0, 1, 2]));
}

#[test]
fn a_reference_that_is_returned_may_still_be_there() {
    let seen = outcomes(&Builder::new(), || {
        let a = Arc::new(String::new());
        let x = std::sync::Arc::new(AtomicUsize::new(0));
        let (b, y) = (a.clone(), x.clone());
        let handle = thread::spawn(move || {
            y.store(1, SeqCst);
            b
        });
        let stored = x.load(SeqCst);
        drop(handle);
        (stored, Arc::strong_count(&a))
    });
    assert_eq!(seen, BTreeSet::from([(0, 1), (0, 2), (1, 1), (1, 2)]));
}

/// What is joined is nobody else's, and takes no step more.
#[test]
fn results_that_are_joined_take_nothing() {
    let stats = Builder::new().explore(|| {
        let handles = [1, 2].map(|n| thread::spawn(move || vec![n]));
        let all: Vec<i32> = handles.into_iter().flat_map(|handle| handle.join().unwrap()).collect();
        assert_eq!(all, [1, 2]);
    });
    assert_eq!((stats.failure, stats.complete), (None, 1));
}

struct Sets<'a>(&'a AtomicBool);

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

#[test]
fn a_thread_of_a_scope_may_wait_for_what_another_returns() {
    let stats = Builder::new().explore(|| {
        let flag = AtomicBool::new(false);
        thread::scope(|s| {
            s.spawn(|| Sets(&flag));
            s.spawn(|| {
                while !flag.load(SeqCst) {
                    thread::yield_now();
                }
            });
        });
    });
    assert_eq!(stats.failure, None);
}

#[test]
fn a_thread_of_a_scope_may_see_that_another_has_ended() {
    let seen = outcomes(&Builder::new(), || {
        let (flag, seen) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|s| {
            s.spawn(|| Sets(&flag));
            s.spawn(|| seen.store(flag.load(SeqCst), SeqCst));
        });
        (seen.load(SeqCst), flag.load(SeqCst))
    });
    assert_eq!(seen, BTreeSet::from([(false, true), (true, true)]));
}

/// A thread of a scope joins another: it is counted as joined once, whoever comes first.
#[test]
fn a_thread_of_a_scope_may_be_joined_by_another() {
    let seen = outcomes(&Builder::new(), || {
        let a = Arc::new(5);
        let b = a.clone();
        let handle = thread::spawn(move || drop(b));
        thread::scope(|s| {
            let (tx, rx) = channel::<ScopedJoinHandle<'_, u8>>();
            s.spawn(move || rx.recv().unwrap().join().unwrap());
            tx.send(s.spawn(|| 1u8)).unwrap();
        });
        let count = Arc::strong_count(&a);
        handle.join().unwrap();
        count
    });
    assert_eq!(seen, BTreeSet::from([1, 2]));
}

/// If it has panicked, and the other thread has taken that, it is nothing to the scope.
#[test]
fn a_panic_that_was_joined_does_not_make_the_scope_panic() {
    let mut builder = Builder::new();
    builder.panics_end_threads = true;
    let seen = outcomes(&builder, || {
        let got = AtomicUsize::new(0);
        let scope = AssertUnwindSafe(|| {
            thread::scope(|s| {
                let slot = std::sync::Arc::new(selvedge::sync::Mutex::new(None::<ScopedJoinHandle<'_, u8>>));
                let (other, got) = (slot.clone(), &got);
                s.spawn(move || {
                    let handle = other.lock().unwrap().take();
                    if let Some(handle) = handle {
                        got.store(1 + usize::from(handle.join().is_err()), SeqCst);
                    }
                });
                *slot.lock().unwrap() = Some(s.spawn(|| panic!("it has to")));
            });
        });
        let panicked = catch_unwind(scope).is_err();
        (panicked, got.load(SeqCst))
    });
    assert_eq!(seen, BTreeSet::from([(true, 0), (false, 2)]));
}

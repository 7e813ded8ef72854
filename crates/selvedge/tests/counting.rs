//! Loops that count their iterations in a place that is neither their own stack nor the heap: they have an execution for every
//! count.

use selvedge::model::{Builder, Engine, MemoryModel};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use selvedge::sync::{Arc, Mutex};
use selvedge::{hint, thread};
use std::collections::BTreeSet;

type Noted = std::sync::Arc<std::sync::Mutex<BTreeSet<usize>>>;

fn note(noted: &Noted, count: usize) {
    if !selvedge::model::is_tried_out() {
        noted.lock().unwrap().insert(count);
    }
}

/// Explores a model in several ways; it must have these counts.
fn counts(expected: impl IntoIterator<Item = usize>, body: fn(&Noted)) {
    let expected: BTreeSet<usize> = expected.into_iter().collect();
    let models = [MemoryModel::Rc11, MemoryModel::Ra, MemoryModel::Tso, MemoryModel::Sc];
    let graphs = models.into_iter().flat_map(|model| [(Engine::Graph, model, false), (Engine::Graph, model, true)]);
    for (engine, model, one_by_one) in graphs.chain([(Engine::Trace, MemoryModel::Sc, false)]) {
        let noted = Noted::default();
        let mut builder = Builder::new();
        (builder.engine, builder.memory_model) = (engine, model);
        builder.attempts_one_by_one = one_by_one;
        builder.spurious = false;
        let inner = noted.clone();
        let stats = builder.explore(move || body(&inner));
        assert_eq!(stats.failure, None, "{engine:?} {model:?} {one_by_one}");
        assert_eq!(*noted.lock().unwrap(), expected, "{engine:?} {model:?} {one_by_one}");
    }
}

/// Not inlined, so that the count is in memory and not in a register.
#[inline(never)]
fn count(n: &mut usize) -> usize {
    *n += 1;
    *n
}

/// Waits until a word is set, and no longer than three looks.
fn wait(x: &AtomicUsize, n: &mut usize) {
    while x.load(Relaxed) == 0 {
        if count(n) == 3 {
            break;
        }
        hint::spin_loop();
    }
}

fn add(x: &AtomicUsize, n: &mut usize) {
    let mut old = x.load(Relaxed);
    while let Err(now) = x.compare_exchange(old, old + 10, AcqRel, Relaxed) {
        count(n);
        old = now;
    }
}

fn update(x: &AtomicUsize, n: &mut usize) {
    let counts = |old| {
        count(n);
        Some(old + 1)
    };
    x.fetch_update(AcqRel, Acquire, counts).unwrap();
}

/// A thread of a scope counts on the stack of the one that has created it.
fn in_scope(noted: &Noted, counts: fn(&AtomicUsize, &mut usize)) {
    let x = AtomicUsize::new(0);
    let mut n = 0;
    thread::scope(|scope| {
        scope.spawn(|| counts(&x, &mut n));
        scope.spawn(|| x.fetch_update(AcqRel, Acquire, |old| Some(old + 1)).unwrap());
    });
    note(noted, n);
}

/// A thread counts in a static whose lock it holds.
fn in_static(noted: &Noted, counts: fn(&AtomicUsize, &mut usize)) {
    static COUNT: Mutex<usize> = Mutex::new(0);
    let x = Arc::new(AtomicUsize::new(0));
    let other = Arc::clone(&x);
    let handle = thread::spawn(move || other.fetch_update(AcqRel, Acquire, |old| Some(old + 1)).unwrap());
    let n = {
        let mut n = COUNT.lock().unwrap();
        counts(&x, &mut n);
        *n
    };
    handle.join().unwrap();
    note(noted, n);
}

#[test]
fn a_loop_that_waits_counts_on_the_stack_of_another_thread() {
    counts(0..=3, |noted| in_scope(noted, wait));
}

#[test]
fn a_loop_that_waits_counts_in_a_static() {
    counts(0..=3, |noted| in_static(noted, wait));
}

#[test]
fn a_loop_that_tries_again_counts_on_the_stack_of_another_thread() {
    counts(0..=1, |noted| in_scope(noted, add));
}

#[test]
fn a_loop_that_tries_again_counts_in_a_static() {
    counts(0..=1, |noted| in_static(noted, add));
}

#[test]
fn an_update_counts_on_the_stack_of_another_thread() {
    counts(1..=2, |noted| in_scope(noted, update));
}

#[test]
fn an_update_counts_in_a_static() {
    counts(1..=2, |noted| in_static(noted, update));
}

/// While the thread whose stack it is spins, too.
#[test]
fn a_loop_counts_on_the_stack_of_a_thread_that_spins() {
    counts(0..=3, |noted| {
        let (x, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut n = 0;
        thread::scope(|scope| {
            scope.spawn(|| {
                wait(&x, &mut n);
                done.store(1, Relaxed);
            });
            scope.spawn(|| x.store(1, Relaxed));
            // Two looks: what waits with one does not stop where it spins.
            while done.load(Relaxed) == 0 && done.load(Relaxed) == 0 {
                hint::spin_loop();
            }
        });
        note(noted, n);
    });
}

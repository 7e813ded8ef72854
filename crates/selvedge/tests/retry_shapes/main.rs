//! Loops that try an exchange again, as they are found in libraries: in generic functions and closures, within each other, with
//! guards and boxes, with checks that are made twice, and with all that could make an attempt that fails be noticed later.
//!
//! Whatever is taken together, the same outcomes are found as with attempts one by one, and under sequential consistency by
//! the trace engine, which takes nothing together.

mod exchanges;
mod exits;
mod found;
mod functions;
mod libraries;
mod memory;

use selvedge::model::{Builder, Engine, MemoryModel, Stats};
use selvedge::sync::Arc;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire};
use selvedge::thread;
use std::collections::BTreeSet;
use std::sync::Mutex;

type Outcomes = BTreeSet<Vec<usize>>;
type Body = fn() -> Vec<usize>;

fn explore(body: Body, model: MemoryModel, engine: Engine, one_by_one: bool) -> (Outcomes, Stats) {
    let outcomes = std::sync::Arc::new(Mutex::new(Outcomes::new()));
    let noted = std::sync::Arc::clone(&outcomes);
    let mut builder = Builder::new();
    builder.memory_model = model;
    builder.engine = engine;
    builder.spurious = false;
    builder.attempts_one_by_one = one_by_one;
    let stats = builder.explore(move || {
        let found = body();
        if !selvedge::model::is_tried_out() {
            noted.lock().unwrap().insert(found);
        }
    });
    let outcomes = outcomes.lock().unwrap().clone();
    (outcomes, stats)
}

/// Explores a model in all ways. It has all its outcomes in each of them, and these are among them.
fn all_ways(name: &str, body: Body, among: &[&[usize]]) -> Stats {
    let mut usual = None;
    for model in [MemoryModel::Rc11, MemoryModel::Ra, MemoryModel::Tso, MemoryModel::Sc] {
        let (expected, all) = explore(body, model, Engine::Graph, true);
        assert_eq!(all.failure, None, "{name} {model:?}, one by one");
        let (found, stats) = explore(body, model, Engine::Graph, false);
        assert_eq!(stats.failure, None, "{name} {model:?}");
        assert_eq!(found, expected, "{name} {model:?}: {:?}", stats.notes);
        assert!(stats.complete <= all.complete, "{name} {model:?}: {} of {}", stats.complete, all.complete);
        if model == MemoryModel::Rc11 {
            for outcome in among {
                assert!(found.contains(*outcome), "{name}: {outcome:?} is not among {found:?}");
            }
            usual = Some(stats);
        }
        if model == MemoryModel::Sc {
            let (found, stats) = explore(body, model, Engine::Trace, false);
            assert_eq!(stats.failure, None, "{name}, trace engine");
            assert_eq!(found, expected, "{name}, trace engine");
        }
    }
    usual.expect("one model is the usual one")
}

/// Runs what threads do with what they share, the last one as the main thread.
fn together<S: Send + Sync + 'static, const N: usize>(shared: S, threads: [fn(&S) -> usize; N]) -> Vec<usize> {
    let shared = Arc::new(shared);
    let handles: Vec<_> = threads[1..]
        .iter()
        .map(|&each| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || each(&shared))
        })
        .collect();
    let mut found = vec![threads[0](&shared)];
    found.extend(handles.into_iter().map(|handle| handle.join().unwrap()));
    found
}

type Words = [AtomicUsize; 3];

fn words() -> Words {
    [0, 0, 9].map(AtomicUsize::new)
}

fn add(x: &AtomicUsize) -> usize {
    x.fetch_add(1, AcqRel)
}

/// One attempt, in a function that loops and others call.
#[inline(never)]
fn attempt(x: &AtomicUsize, new: impl Fn(usize) -> usize) -> Result<usize, usize> {
    let old = x.load(Acquire);
    x.compare_exchange(old, new(old), AcqRel, Acquire)
}

/// Leaves nothing on the stack of its caller.
#[inline(never)]
#[track_caller]
fn exchange(x: &AtomicUsize, old: usize, new: usize) -> bool {
    x.compare_exchange(old, new, AcqRel, Acquire).is_ok()
}

//! Random programs with loops that poll, compared with the same programs whose loops are cut off after two iterations.
//!
//! Values only grow, and main ends with the largest ones: so every loop ends, and whatever is reported is wrong. What an
//! iteration has seen that was in vain nobody else learns, so two suffice to reach all that can be reached.

use selvedge::model::{Builder, Engine};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use selvedge::sync::{Arc, Mutex, RwLock};
use selvedge::{assume, hint, thread};
use std::cell::Cell;
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug)]
enum Statement {
    Raise(usize),
    RaiseLocked(usize),
    RaiseShared(usize),
    Load,
    Read,
    /// Until what a mutex protects is at least this.
    Poll(usize),
    /// Until what a read-write lock protects is.
    PollShared(usize),
    /// Until an atomic is, or what the mutex protects.
    PollEither(usize),
    /// Until an exchange that may fail for no reason succeeds.
    Exchange(usize),
    Try,
}

#[derive(Default)]
struct Shared {
    atomic: AtomicUsize,
    mutex: Mutex<usize>,
    lock: RwLock<usize>,
}

const LARGEST: usize = 3;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn statement(&mut self, tries: bool) -> Statement {
        let value = 1 + self.below(LARGEST - 1);
        match self.below(if tries { 10 } else { 9 }) {
            0 => Statement::Raise(value),
            1 => Statement::RaiseLocked(value),
            2 => Statement::RaiseShared(value),
            3 => Statement::Load,
            4 => Statement::Read,
            5 => Statement::Poll(value),
            6 => Statement::PollShared(value),
            7 => Statement::PollEither(value),
            8 => Statement::Exchange(value),
            _ => Statement::Try,
        }
    }
}

/// How a loop looks again.
#[derive(Clone, Copy, Debug)]
enum Again {
    /// So many times at most.
    Most(usize),
    /// It does not say that it waits.
    Silently,
    Hints,
    /// It keeps what it has seen in memory that it allocates each time, until the next time.
    Allocates,
    /// It holds a reference while it looks, and counts that.
    Restores,
}

/// Looks until it finds something.
fn until(again: Again, mut look: impl FnMut() -> Option<usize>) -> usize {
    if let Again::Most(most) = again {
        let found = (0..most).find_map(|_| look());
        assume(found.is_some());
        return found.unwrap();
    }
    let mut last = None;
    let kept = matches!(again, Again::Restores).then(|| (Arc::new(AtomicUsize::new(0)), Box::new(Cell::new(0))));
    loop {
        let held = kept.as_ref().map(|(first, count)| {
            count.set(count.get() + 1);
            std::hint::black_box((Arc::clone(first), count))
        });
        let found = look();
        if let Some((_, count)) = held {
            count.set(count.get() - 1);
        }
        if let Some(found) = found {
            return found;
        }
        if let Again::Allocates = again {
            last = Some((Box::new(found), last.map(|(found, _): (Box<Option<usize>>, _)| found)));
            std::hint::black_box(&last);
        }
        if !matches!(again, Again::Silently) {
            hint::spin_loop();
        }
    }
}

impl Statement {
    fn run(self, shared: &Shared, again: Again, seen: &mut Vec<usize>) {
        let raise = |value: &mut usize, to: usize| *value = to.max(*value);
        let at_least = |value: usize, least: usize| (value >= least).then_some(value);
        match self {
            Statement::Raise(to) => drop(shared.atomic.fetch_max(to, AcqRel)),
            Statement::RaiseLocked(to) => raise(&mut shared.mutex.lock().unwrap(), to),
            Statement::RaiseShared(to) => raise(&mut shared.lock.write().unwrap(), to),
            Statement::Load => seen.push(shared.atomic.load(Relaxed)),
            Statement::Read => seen.push(*shared.mutex.lock().unwrap()),
            Statement::Poll(least) => {
                seen.push(until(again, || at_least(*shared.mutex.lock().unwrap(), least)));
            }
            Statement::PollShared(least) => {
                seen.push(until(again, || at_least(*shared.lock.read().unwrap(), least)));
            }
            Statement::PollEither(least) => seen.push(until(again, || {
                let atomic = shared.atomic.load(Acquire);
                at_least(atomic.max(*shared.mutex.lock().unwrap()), least)
            })),
            Statement::Exchange(to) => seen.push(until(again, || {
                let old = shared.atomic.load(Relaxed);
                shared.atomic.compare_exchange_weak(old, to.max(old), AcqRel, Relaxed).ok()
            })),
            Statement::Try => seen.push(shared.mutex.try_lock().map_or(9, |value| *value)),
        }
    }
}

/// What the threads see in all executions that come to their end.
fn outcomes(program: &[Vec<Statement>], engine: Engine, again: Again) -> BTreeSet<Vec<Vec<usize>>> {
    let noted = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let (note, own) = (std::sync::Arc::clone(&noted), program.to_vec());
    let mut builder = Builder::new();
    builder.engine = engine;
    let stats = builder.explore(move || {
        let shared = Arc::new(Shared::default());
        let spawn = |statements: &Vec<Statement>| {
            let (shared, statements) = (Arc::clone(&shared), statements.clone());
            thread::spawn(move || {
                let mut seen = Vec::with_capacity(4);
                statements.iter().for_each(|statement| statement.run(&shared, again, &mut seen));
                seen
            })
        };
        let handles: Vec<_> = own[1..].iter().map(spawn).collect();
        let mut seen = vec![Vec::with_capacity(4)];
        own[0].iter().for_each(|statement| statement.run(&shared, again, &mut seen[0]));
        for last in [Statement::Raise(LARGEST), Statement::RaiseLocked(LARGEST), Statement::RaiseShared(LARGEST)] {
            last.run(&shared, again, &mut seen[0]);
        }
        seen.extend(handles.into_iter().map(|handle| handle.join().unwrap()));
        note.lock().unwrap().insert(seen);
    });
    assert_eq!(stats.failure, None, "{program:?} with {engine:?}, {again:?}");
    std::mem::take(&mut *noted.lock().unwrap())
}

#[test]
fn loops_that_poll_reach_all_that_can_be_reached() {
    for seed in 0..40 {
        let mut random = Random(seed * 77_777 + 1);
        let tries = seed % 4 == 3;
        // What main waits for the others have to do: it waits for nothing.
        let main: Vec<Statement> = match random.below(3) {
            0 => vec![Statement::Raise(1)],
            1 => vec![Statement::RaiseLocked(1)],
            _ => vec![Statement::Load],
        };
        let mut program = vec![main];
        for _ in 0..1 + random.below(2) {
            program.push((0..1 + random.below(2)).map(|_| random.statement(tries)).collect());
        }
        for engine in [Engine::Graph, Engine::Trace] {
            let expected = outcomes(&program, engine, Again::Most(2));
            for again in [Again::Hints, Again::Silently, Again::Allocates, Again::Restores] {
                let found = outcomes(&program, engine, again);
                let is_right = if tries { found.is_superset(&expected) } else { found == expected };
                assert!(is_right, "{program:?} with {engine:?}, {again:?}: {found:?}, not {expected:?}");
            }
        }
    }
}

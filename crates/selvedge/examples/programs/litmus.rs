//! Litmus tests: small programs that tell memory models apart.
//!
//! Every test comes in five styles, which differ in the orderings of all its accesses and in the fences between them. Its
//! outcome is what was read, thread by thread.

use super::zeros;
use crate::library::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use crate::library::sync::atomic::{AtomicUsize, fence};
use crate::library::thread;
use std::sync::Arc;

/// Which orderings and fences a test uses.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Its name in tables.
    pub name: &'static str,
    /// Of stores.
    pub store: Ordering,
    /// Of loads.
    pub load: Ordering,
    /// Of read-modify-writes.
    pub rmw: Ordering,
    /// The fence between two accesses of a thread, if there is one.
    pub fence: Option<Ordering>,
}

/// All styles.
pub const STYLES: [Style; 5] = [
    Style { name: "Relaxed", store: Relaxed, load: Relaxed, rmw: Relaxed, fence: None },
    Style { name: "Release, Acquire", store: Release, load: Acquire, rmw: AcqRel, fence: None },
    Style { name: "SeqCst", store: SeqCst, load: SeqCst, rmw: SeqCst, fence: None },
    Style { name: "AcqRel fences", store: Relaxed, load: Relaxed, rmw: Relaxed, fence: Some(AcqRel) },
    Style { name: "SeqCst fences", store: Relaxed, load: Relaxed, rmw: Relaxed, fence: Some(SeqCst) },
];

impl Style {
    fn store(self, x: &AtomicUsize, value: usize) {
        x.store(value, self.store);
    }

    fn load(self, x: &AtomicUsize) -> usize {
        x.load(self.load)
    }

    fn increment(self, x: &AtomicUsize) -> usize {
        x.fetch_add(1, self.rmw)
    }

    fn fence(self) {
        if let Some(order) = self.fence {
            fence(order);
        }
    }
}

/// A litmus test: its name in tables, and the test.
pub type Litmus = (&'static str, fn(Style) -> Vec<usize>);

/// All litmus tests.
pub const LITMUS: &[Litmus] = &[
    ("SB", store_buffering),
    ("MP", message_passing),
    ("LB", load_buffering),
    ("2+2W", two_plus_two_writes),
    ("CoRR", coherent_reads),
    ("WRC", write_to_read_causality),
    ("IRIW", independent_reads),
    ("release sequence", release_sequence),
    ("RMW atomicity", atomic_increments),
];

type Body<const N: usize> = fn(&[AtomicUsize; N], Style) -> Vec<usize>;

/// Runs threads to their end; returns the variables, and what the threads return.
fn run<const N: usize>(style: Style, threads: &[Body<N>]) -> (Arc<[AtomicUsize; N]>, Vec<usize>) {
    let vars = Arc::new(zeros::<N>());
    let start = |body: &Body<N>| {
        let (vars, body) = (Arc::clone(&vars), *body);
        thread::spawn(move || body(&vars, style))
    };
    let handles: Vec<_> = threads.iter().map(start).collect();
    let outcome = handles.into_iter().flat_map(|handle| handle.join().unwrap()).collect();
    (vars, outcome)
}

/// Each thread writes one variable and reads the other: may both miss the other's write?
fn store_buffering(style: Style) -> Vec<usize> {
    fn side(mine: &AtomicUsize, other: &AtomicUsize, s: Style) -> Vec<usize> {
        s.store(mine, 1);
        s.fence();
        vec![s.load(other)]
    }
    run::<2>(style, &[|[x, y], s| side(x, y, s), |[x, y], s| side(y, x, s)]).1
}

/// Is data there when the flag is?
fn message_passing(style: Style) -> Vec<usize> {
    let writer: Body<2> = |[data, flag], s| {
        s.store(data, 1);
        s.fence();
        s.store(flag, 1);
        vec![]
    };
    run(style, &[writer, |[data, flag], s| two_loads(flag, data, s)]).1
}

fn two_loads(first: &AtomicUsize, second: &AtomicUsize, s: Style) -> Vec<usize> {
    let seen = s.load(first);
    s.fence();
    vec![seen, s.load(second)]
}

/// Each thread reads one variable and then writes the other: may both see the other's write?
fn load_buffering(style: Style) -> Vec<usize> {
    fn side(first: &AtomicUsize, second: &AtomicUsize, s: Style) -> Vec<usize> {
        let seen = s.load(first);
        s.fence();
        s.store(second, 1);
        vec![seen]
    }
    run::<2>(style, &[|[x, y], s| side(x, y, s), |[x, y], s| side(y, x, s)]).1
}

/// Each thread writes both variables, in opposite order: may the first write of both be the last one to its variable?
fn two_plus_two_writes(style: Style) -> Vec<usize> {
    fn side(first: &AtomicUsize, second: &AtomicUsize, s: Style) -> Vec<usize> {
        s.store(first, 1);
        s.fence();
        s.store(second, 2);
        vec![]
    }
    let (vars, _) = run::<2>(style, &[|[x, y], s| side(x, y, s), |[x, y], s| side(y, x, s)]);
    vars.iter().map(|x| x.load(Ordering::Relaxed)).collect()
}

/// Does a thread that reads a variable twice see its writes in their order?
fn coherent_reads(style: Style) -> Vec<usize> {
    let writer: Body<1> = |[x], s| {
        s.store(x, 1);
        s.fence();
        s.store(x, 2);
        vec![]
    };
    run(style, &[writer, |[x], s| two_loads(x, x, s)]).1
}

/// Does what one thread has seen, and told a second one about, hold for the second one too?
fn write_to_read_causality(style: Style) -> Vec<usize> {
    let writer: Body<2> = |[x, _], s| {
        s.store(x, 1);
        vec![]
    };
    let between: Body<2> = |[x, y], s| {
        let seen = s.load(x);
        s.fence();
        s.store(y, 1);
        vec![seen]
    };
    run(style, &[writer, between, |[x, y], s| two_loads(y, x, s)]).1
}

/// Do two threads see two writes by two others in the same order?
fn independent_reads(style: Style) -> Vec<usize> {
    fn write(x: &AtomicUsize, s: Style) -> Vec<usize> {
        s.store(x, 1);
        vec![]
    }
    let threads: [Body<2>; 4] = [
        |[x, _], s| write(x, s),
        |[_, y], s| write(y, s),
        |[x, y], s| two_loads(x, y, s),
        |[x, y], s| two_loads(y, x, s),
    ];
    run(style, &threads).1
}

/// Does the flag still say that data is there after a third thread has counted it up?
fn release_sequence(style: Style) -> Vec<usize> {
    let writer: Body<2> = |[data, flag], s| {
        s.store(data, 1);
        s.fence();
        s.store(flag, 1);
        vec![]
    };
    // Relaxed in every style: it is part of the release sequence nevertheless.
    let counter: Body<2> = |[_, flag], _| vec![flag.fetch_add(1, Relaxed)];
    run(style, &[writer, counter, |[data, flag], s| two_loads(flag, data, s)]).1
}

/// Does every increment find what another one has left?
fn atomic_increments(style: Style) -> Vec<usize> {
    let one: Body<1> = |[x], s| vec![s.increment(x)];
    let two: Body<1> = |[x], s| {
        let first = s.increment(x);
        s.fence();
        vec![first, s.increment(x)]
    };
    run(style, &[one, one, two]).1
}

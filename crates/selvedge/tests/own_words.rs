//! Loops that try an exchange again and store to what the thread has allocated, but others can see: the word that is exchanged, or
//! another one, before the load, after it, or after the exchange has failed. What others see of attempts that fail is not lost.

use selvedge::model::{Builder, Engine, MemoryModel};
use selvedge::sync::Arc;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use selvedge::thread;
use std::collections::BTreeSet;

type Words = [AtomicUsize; 2];
type Loop = fn(&Words);
type Other = fn(&Words) -> usize;

/// What the thread does that has allocated the words.
const LOOPS: &[(&str, Loop)] = &[
    ("stores before the load", |[x, y]| {
        loop {
            y.store(20, SeqCst);
            let old = x.load(SeqCst);
            if x.compare_exchange(old, old + 10, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }),
    ("stores after the load", |[x, y]| {
        loop {
            let old = x.load(SeqCst);
            y.store(old + 20, SeqCst);
            if x.compare_exchange(old, old + 10, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }),
    ("stores after the exchange", |[x, y]| {
        loop {
            let old = x.load(Acquire);
            if x.compare_exchange(old, old + 10, AcqRel, Acquire).is_ok() {
                return;
            }
            y.store(30, Relaxed);
        }
    }),
    ("goes on with what it has found", |[x, y]| {
        let mut old = x.load(Acquire);
        loop {
            y.store(20, Relaxed);
            match x.compare_exchange(old, old + 10, AcqRel, Acquire) {
                Ok(_) => return,
                Err(found) => old = found,
            }
        }
    }),
    ("stores while it updates", |[x, y]| {
        let update = |old| {
            y.store(20, SeqCst);
            Some(old + 10)
        };
        x.fetch_update(SeqCst, SeqCst, update).unwrap();
    }),
    ("changes while it updates", |[x, y]| {
        let update = |old| Some(old + 10 + y.fetch_add(20, SeqCst));
        x.fetch_update(SeqCst, SeqCst, update).unwrap();
    }),
    ("stores twice before the load", |[x, y]| {
        loop {
            y.store(20, Relaxed);
            y.load(Relaxed);
            y.store(30, Relaxed);
            let old = x.load(SeqCst);
            if x.compare_exchange_weak(old, old + 10, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }),
    ("loads elsewhere and stores before", |[x, y]| {
        y.store(20, SeqCst);
        let mut old = x.load(Acquire);
        while x.compare_exchange(old, old + 10, AcqRel, Acquire).is_err() {
            y.store(20, SeqCst);
            old = x.load(Acquire);
        }
    }),
    ("stores if it has found something", |[x, y]| {
        loop {
            let old = x.load(SeqCst);
            if old > 0 {
                y.store(20, SeqCst);
            }
            if x.compare_exchange(old, old + 10, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }),
    ("stores if it has found nothing", |[x, y]| {
        loop {
            let old = x.load(SeqCst);
            if old == 0 {
                y.store(20, SeqCst);
            }
            if x.compare_exchange(old, old + 10, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }),
    ("looks at the other word first", |[x, y]| {
        loop {
            let seen = y.load(SeqCst);
            let old = x.load(SeqCst);
            y.store(seen.min(20), SeqCst);
            if x.compare_exchange(old, old + 10, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }),
    ("exchanges what it has stored before the load", |[x, _]| {
        loop {
            x.store(20, SeqCst);
            let old = x.load(SeqCst);
            if x.compare_exchange(old, 30, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }),
    ("stores between the load and the exchange", |[x, _]| {
        loop {
            let old = x.load(SeqCst);
            x.store(20, SeqCst);
            if x.compare_exchange(old, 30, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }),
    ("exchanges what it has stored after the load", |[x, _]| {
        loop {
            x.load(SeqCst);
            x.store(20, SeqCst);
            if x.compare_exchange(20, 30, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }),
    ("stores to the word after the exchange", |[x, _]| {
        loop {
            let old = x.load(SeqCst);
            if x.compare_exchange(old, old + 10, SeqCst, SeqCst).is_ok() {
                return;
            }
            x.store(20, SeqCst);
        }
    }),
];

/// What another thread does.
const OTHERS: &[(&str, Other)] = &[
    ("changes both", |[x, y]| {
        x.fetch_add(1, SeqCst);
        y.swap(5, SeqCst)
    }),
    ("the other way round", |[x, y]| {
        let seen = y.swap(5, SeqCst);
        x.fetch_add(1, SeqCst);
        seen
    }),
    ("stores", |[x, y]| {
        x.store(1, SeqCst);
        y.load(SeqCst)
    }),
    ("exchanges", |[x, _]| {
        let first = x.compare_exchange(0, 1, SeqCst, SeqCst);
        first.unwrap_or_else(|other| other) * 100 + x.swap(1, SeqCst)
    }),
];

type Outcomes = BTreeSet<[usize; 3]>;

fn outcomes(own: Loop, other: Other, builder: &Builder) -> Outcomes {
    let outcomes = std::sync::Arc::new(std::sync::Mutex::new(Outcomes::new()));
    let noted = std::sync::Arc::clone(&outcomes);
    let stats = builder.explore(move || {
        let words = Arc::new([AtomicUsize::new(0), AtomicUsize::new(7)]);
        let theirs = Arc::clone(&words);
        let handle = thread::spawn(move || other(&theirs));
        own(&words);
        let seen = handle.join().unwrap();
        if !selvedge::model::is_tried_out() {
            let [x, y] = &*words;
            noted.lock().unwrap().insert([seen, x.load(SeqCst), y.load(SeqCst)]);
        }
    });
    assert_eq!(stats.failure, None);
    outcomes.lock().unwrap().clone()
}

#[test]
fn what_others_see_of_attempts_that_fail_is_not_lost() {
    for (own, body) in LOOPS {
        for (other, theirs) in OTHERS {
            for model in [MemoryModel::Rc11, MemoryModel::Ra, MemoryModel::Tso, MemoryModel::Sc] {
                let mut builder = Builder::new();
                builder.memory_model = model;
                let found = outcomes(*body, *theirs, &builder);
                builder.attempts_one_by_one = true;
                let expected = outcomes(*body, *theirs, &builder);
                assert_eq!(found, expected, "{own}; {other}; {model:?}");
                if model == MemoryModel::Sc {
                    builder.engine = Engine::Trace;
                    assert_eq!(outcomes(*body, *theirs, &builder), expected, "{own}; {other}; traces");
                }
            }
        }
    }
}

//! Loops that try an exchange again, of many kinds: with and without a trace of attempts that fail, they have the outcomes of
//! attempts one by one.

use selvedge::model::{Builder, MemoryModel, Stats};
use selvedge::sync::Arc;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use selvedge::{hint, thread};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Mutex;

type Outcomes = BTreeSet<Vec<usize>>;

/// Notes what an execution ends with.
fn note<T: Ord>(noted: &Mutex<BTreeSet<T>>, outcome: T) {
    if !selvedge::model::is_tried_out() {
        noted.lock().unwrap().insert(outcome);
    }
}

/// Whether the compiler leaves no values on the stack that do not matter (`machine/awaits.rs`).
fn is_optimised() -> bool {
    !std::env::current_exe().expect("the program has a name").iter().any(|part| part == "debug")
}

selvedge::thread_local! {
    static TRIES: Cell<usize> = Cell::new(0);
}

/// Notes on the heap that an attempt has failed.
struct Fails<'a>(&'a Cell<usize>, bool);

impl Drop for Fails<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + usize::from(self.1));
    }
}

/// The kinds of loops below.
const KINDS: usize = 29;
/// Those whose attempts leave no trace.
const PURE: [usize; 6] = [0, 1, 2, 3, 4, 5];
/// Those whose attempts leave none if nobody writes to the other word.
const PURE_ALONE: [usize; 3] = [25, 26, 27];

/// What a loop does with a word, and what it returns.
type Function = fn(usize) -> usize;

/// A loop that tries again, with or without a trace of attempts that fail. What it has seen is what it returns.
///
/// Not inlined: what it leaves on the stack of its caller would tell states apart.
#[inline(never)]
fn update(kind: usize, [x, y]: [&AtomicUsize; 2], f: Function) -> usize {
    let exchange = |old: usize| x.compare_exchange(old, f(old), AcqRel, Acquire);
    let mut old = x.load(Acquire);
    let mut seen = 0;
    match kind {
        0 => {
            while let Err(now) = exchange(old) {
                old = now;
            }
        }
        1 => {
            while exchange(old).is_err() {
                old = x.load(Acquire);
            }
        }
        2 => loop {
            old = x.load(Relaxed);
            if exchange(old).is_ok() {
                break;
            }
            hint::spin_loop();
        },
        // Something is loaded in between.
        3 => loop {
            old = x.load(Acquire);
            seen = y.load(Acquire);
            if exchange(old).is_ok() {
                break;
            }
        },
        // Nothing is exchanged with some values.
        4 => {
            while old < 3 {
                match exchange(old) {
                    Ok(_) => break,
                    Err(now) => old = now,
                }
            }
        }
        // What is written to in between is the thread's own.
        5 => {
            let own = Box::new((AtomicUsize::new(7), Cell::new(7)));
            loop {
                own.0.store(old, Relaxed);
                own.1.set(old);
                match exchange(old) {
                    Ok(_) => break,
                    Err(now) => old = now,
                }
            }
            seen = own.1.get();
        }
        // They count: on the stack,
        6 => {
            while let Err(now) = exchange(old) {
                seen += 1;
                old = now;
            }
        }
        // on the heap,
        7 => {
            let count = Box::new(Cell::new(0));
            while let Err(now) = exchange(old) {
                count.set(count.get() + 1);
                old = now;
            }
            seen = count.get();
        }
        // in a variable of the thread,
        8 => {
            TRIES.set(0);
            while exchange(old).is_err() {
                TRIES.set(TRIES.get() + 1);
                old = x.load(Acquire);
            }
            seen = TRIES.get();
        }
        // in a list,
        9 => {
            let log = RefCell::new(Vec::with_capacity(4));
            while let Err(now) = exchange(old) {
                log.borrow_mut().push(now);
                old = now;
            }
            seen = log.take().iter().fold(0, |all, n| 8 * all + n + 1);
        }
        // when something is dropped,
        10 => {
            let count = Box::new(Cell::new(0));
            loop {
                let mut fails = Fails(&count, true);
                match exchange(old) {
                    Ok(_) => {
                        fails.1 = false;
                        break;
                    }
                    Err(now) => old = now,
                }
            }
            seen = count.get();
        }
        // and where others see it.
        11 => {
            while let Err(now) = exchange(old) {
                y.fetch_add(1, Relaxed);
                old = now;
            }
        }
        12 => {
            while exchange(old).is_err() {
                y.store(5, Relaxed);
                old = x.load(Acquire);
            }
        }
        // Whether it was an odd number of times.
        13 => {
            let mut odd = false;
            while let Err(now) = exchange(old) {
                odd = !odd;
                old = now;
            }
            seen = usize::from(odd);
        }
        // The last value that it was not.
        14 => {
            while let Err(now) = exchange(old) {
                seen = old + 1;
                old = now;
            }
        }
        // It gives up.
        15 => {
            for _ in 0..2 {
                match exchange(old) {
                    Ok(_) => return old,
                    Err(now) => old = now,
                }
            }
            seen = 100;
        }
        // How often there was another value than the last time.
        16 => {
            let mut last = usize::MAX;
            loop {
                old = x.load(Acquire);
                seen += usize::from(old != last);
                last = old;
                if exchange(old).is_ok() {
                    break;
                }
            }
        }
        // Only some values leave a trace.
        17 => {
            while let Err(now) = exchange(old) {
                seen += usize::from(now == 2);
                old = now;
            }
        }
        // A box is made for every attempt.
        18 => {
            let mut kept = Box::new(old);
            while let Err(now) = exchange(*kept) {
                seen = 10 * seen + *kept + 1;
                drop(std::mem::replace(&mut kept, Box::new(now)));
            }
            old = *kept;
        }
        // An object of the thread's own is told of some values only.
        19 => {
            let own = Box::new(AtomicUsize::new(0));
            loop {
                if old < 2 {
                    own.store(old + 1, Relaxed);
                }
                match exchange(old) {
                    Ok(_) => break,
                    Err(now) => old = now,
                }
            }
            seen = own.load(Relaxed);
        }
        // What comes before the load is written to where others see it, but not always.
        20 => loop {
            if y.load(Acquire) == 0 {
                y.store(1, Relaxed);
                seen += 1;
            }
            old = x.load(Acquire);
            if exchange(old).is_ok() {
                y.store(0, Relaxed);
                break;
            }
        },
        // Only the second attempt that fails leaves a trace.
        21 => {
            let mut fails = 0;
            while let Err(now) = exchange(old) {
                fails += 1;
                old = now;
            }
            seen = usize::from(fails >= 2);
        }
        // The first attempt looks at something else than the others.
        22 => {
            let mut first = true;
            loop {
                old = x.load(Acquire);
                seen = if first { y.load(Acquire) } else { x.load(Relaxed) + 5 };
                first = false;
                if exchange(old).is_ok() {
                    break;
                }
            }
        }
        // It reads what it has just written to an object of its own.
        23 => {
            let own = Box::new(AtomicUsize::new(9));
            loop {
                own.store(old, Relaxed);
                if own.load(Relaxed) != old {
                    return 99;
                }
                match exchange(old) {
                    Ok(_) => break,
                    Err(now) => old = now,
                }
                seen += 1;
            }
        }
        // Only attempts with some value leave a trace, which may have been there or not.
        24 => {
            while let Err(now) = exchange(old) {
                seen += usize::from(old == 1);
                old = now;
            }
        }
        // What is left is looked at only if something else was found.
        25 => {
            let mut failed = false;
            loop {
                old = x.load(Acquire);
                if y.load(Acquire) == 1 && failed {
                    seen = 1;
                }
                if exchange(old).is_ok() {
                    break;
                }
                failed = true;
            }
        }
        // It leaves with some values, and later with some of something else.
        26 => loop {
            old = x.load(Acquire);
            if old >= 2 {
                break;
            }
            if y.load(Acquire) == 1 {
                seen = 5;
                break;
            }
            if exchange(old).is_ok() {
                break;
            }
        },
        // What is expected is not always what was loaded.
        27 => loop {
            old = x.load(Acquire);
            match x.compare_exchange(old & !1, f(old), AcqRel, Acquire) {
                Ok(_) => break,
                Err(now) if now % 2 == 1 => {
                    seen = now;
                    break;
                }
                Err(_) => {}
            }
        },
        // Blocks are known by their number.
        _ => {
            while let Err(now) = exchange(old) {
                std::mem::forget(Box::new(now));
                seen += 1;
                old = now;
            }
        }
    }
    old + 1000 * seen
}

/// Two threads and the main one, with two loops and one; outcomes, and executions.
fn three(
    model: MemoryModel,
    kinds: [usize; 3],
    words: [usize; 3],
    functions: [Function; 3],
    one_by_one: bool,
) -> (Outcomes, Stats) {
    let outcomes = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let noted = std::sync::Arc::clone(&outcomes);
    let mut builder = Builder::new();
    builder.memory_model = model;
    builder.spurious = false;
    builder.attempts_one_by_one = one_by_one;
    builder.max_branches = 100;
    let stats = builder.explore(move || {
        let shared = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let apply = move |shared: &[AtomicUsize; 2], n: usize| {
            let (x, y) = (&shared[words[n]], &shared[1 - words[n]]);
            update(kinds[n], [x, y], functions[n])
        };
        let handles = [0, 1].map(|n| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || apply(&shared, n))
        });
        let mut found = vec![apply(&shared, 2)];
        found.extend(handles.map(|handle| handle.join().unwrap()));
        found.extend(shared.iter().map(|x| x.load(Relaxed)));
        note(&noted, found);
    });
    let outcomes = outcomes.lock().unwrap().clone();
    (outcomes, stats)
}

const FUNCTIONS: [Function; 4] = [|n| n + 1, |n| n + 2, |n| 1 - n.min(1), |_| 7];

/// Runs a model in both ways; whether it has fewer executions without attempts that fail.
fn compare(model: MemoryModel, kinds: [usize; 3], words: [usize; 3], chosen: [usize; 3]) -> bool {
    let functions = chosen.map(|n| FUNCTIONS[n]);
    let (expected, all) = three(model, kinds, words, functions, true);
    if all.failure.is_some() {
        // Two loops that make each other fail never end.
        return false;
    }
    let (found, stats) = three(model, kinds, words, functions, false);
    assert_eq!(found, expected, "{kinds:?} {words:?} {chosen:?} {model:?} {:?}", stats.notes);
    assert_eq!((stats.failure, all.failure), (None, None), "{kinds:?} {words:?} {chosen:?} {model:?}");
    assert!(stats.complete <= all.complete, "{kinds:?} {words:?} {chosen:?} {model:?}");
    stats.complete + stats.blocked < all.complete + all.blocked
}

#[test]
fn loops_of_every_kind_have_the_outcomes_of_attempts_one_by_one() {
    let mut recognised = 0;
    for kind in 0..KINDS {
        let fewer = compare(MemoryModel::Rc11, [kind; 3], [0; 3], [0, 0, 0]);
        // Toggling has two values only; these come back.
        compare(MemoryModel::Rc11, [kind; 3], [0; 3], [2, 2, 2]);
        // Whether a loop is recognised depends on what its function leaves on the stack.
        recognised += u32::from(fewer);
        assert!(!fewer || PURE.contains(&kind) || PURE_ALONE.contains(&kind), "kind {kind}");
    }
    assert!(!is_optimised() || recognised > 0, "{recognised}");
}

/// Loops that leave a trace only together with what others do.
#[test]
fn traces_that_depend_on_others_are_seen() {
    for kind in 20..KINDS {
        for (others, word, function) in [([0, 0], 0, 3), ([0, 0], 1, 0), ([1, 3], 0, 1), ([3, 0], 1, 3), ([0, 4], 1, 2)]
        {
            for n in 0..3 {
                // Each of the three threads is the one in turn.
                let mut kinds = [others[0], others[1], kind];
                kinds.swap(n, 2);
                let mut words = [0, word, 0];
                words.swap(n, 2);
                let mut chosen = [0, function, 1];
                chosen.swap(n, 2);
                compare(MemoryModel::Rc11, kinds, words, chosen);
            }
        }
    }
}

#[test]
fn random_loops_have_the_outcomes_of_attempts_one_by_one() {
    let mut seed = 3u64;
    let mut random = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n
    };
    let mut fewer = 0;
    for _ in 0..250 {
        let words: [usize; 3] = std::array::from_fn(|_| random(4) / 3);
        let kinds = std::array::from_fn(|_| if random(2) == 0 { PURE[random(PURE.len())] } else { random(KINDS) });
        let chosen = std::array::from_fn(|_| random(FUNCTIONS.len()));
        let model = [MemoryModel::Rc11, MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Ra][random(4)];
        fewer += u32::from(compare(model, kinds, words, chosen));
    }
    assert!(!is_optimised() || fewer > 40, "{fewer}");
}

/// A failed attempt that leaves a trace is noted.
#[test]
fn loops_that_are_explored_one_by_one_are_noted() {
    let mut builder = Builder::new();
    builder.spurious = false;
    let stats = builder.explore(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || update(6, [&other, &other], FUNCTIONS[0]));
        update(6, [&x, &x], FUNCTIONS[0]);
        handle.join().unwrap();
    });
    let note = stats.notes.iter().find(|note| note.contains("leaves a trace"));
    assert!(note.is_some_and(|note| note.contains("retry_kinds.rs")), "{:?}", stats.notes);
}

//! Attempts of loops are tried out and taken back: what they do to memory on the way must be taken back too.

use selvedge::model::{Builder, Stats};
use selvedge::sync::Mutex;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use selvedge::{model, thread};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;

type Outcomes = BTreeSet<Vec<usize>>;

/// Runs a model in both ways; what it has noted must be the same.
fn compare(name: &str, body: fn() -> Vec<usize>) -> (Stats, Stats) {
    let run = |one_by_one| {
        let outcomes = Arc::new(std::sync::Mutex::new(Outcomes::new()));
        let noted = Arc::clone(&outcomes);
        let mut builder = Builder::new();
        builder.spurious = false;
        builder.attempts_one_by_one = one_by_one;
        let stats = builder.explore(move || {
            let found = body();
            if !model::is_tried_out() {
                noted.lock().unwrap().insert(found);
            }
        });
        assert_eq!(stats.failure, None, "{name}");
        let outcomes = outcomes.lock().unwrap().clone();
        (outcomes, stats)
    };
    let ((expected, all), (found, fewer)) = (run(true), run(false));
    assert_eq!(found, expected, "{name}: {:?}", fewer.notes);
    assert!(fewer.complete <= all.complete, "{name}");
    (all, fewer)
}

/// Two threads run a loop with a word, the main one changes it too; what the loops have seen, and the word at the end.
fn two(each: fn(&AtomicUsize) -> usize) -> Vec<usize> {
    let x = selvedge::sync::Arc::new(AtomicUsize::new(0));
    let handles = [0, 1].map(|_| {
        let x = selvedge::sync::Arc::clone(&x);
        thread::spawn(move || each(&x))
    });
    let mut found: Vec<usize> = handles.map(|handle| handle.join().unwrap()).to_vec();
    found.push(x.load(Relaxed));
    found
}

/// Every attempt makes a box, keeps it or gives it back, and looks at what is in it.
#[test]
fn what_attempts_allocate_and_free_is_taken_back() {
    // Blocks are known by their number, so these are explored one by one.
    let (all, fewer) = compare("boxes", || {
        two(|x| {
            let kept = Box::new(AtomicUsize::new(0));
            let mut old = x.load(Acquire);
            loop {
                let made = Box::new((Cell::new(old), RefCell::new(vec![old; 3])));
                made.0.set(old + 1);
                made.1.borrow_mut().push(old);
                kept.store(made.1.borrow().iter().sum(), Relaxed);
                match x.compare_exchange(old, made.0.get(), AcqRel, Acquire) {
                    Ok(_) => break,
                    Err(now) => old = now,
                }
            }
            kept.load(Relaxed)
        })
    });
    assert_eq!(fewer.complete, all.complete, "{:?}", fewer.notes);
}

/// Objects that only attempts use are known in later ones, too.
#[test]
fn objects_that_attempts_meet_are_met_again() {
    compare("objects", || {
        two(|x| {
            let own = Box::new([const { AtomicUsize::new(5) }; 4]);
            let mut old = x.load(Acquire);
            loop {
                own[old].store(old + 1, Relaxed);
                match x.compare_exchange(old, old + 1, AcqRel, Acquire) {
                    Ok(_) => break,
                    Err(now) => old = now,
                }
            }
            own.iter().fold(0, |all, one| 10 * all + one.load(Relaxed))
        })
    });
}

static COUNT: Mutex<usize> = Mutex::new(0);

/// What is in a static is a copy of its own in every execution.
#[test]
fn what_attempts_count_in_a_static_is_seen_and_taken_back() {
    compare("a static", || {
        let found = two(|x| {
            let mut count = COUNT.try_lock();
            let mut old = x.load(Acquire);
            while let Err(now) = x.compare_exchange(old, old + 1, AcqRel, Acquire) {
                if let Ok(count) = &mut count {
                    **count += 1;
                }
                old = now;
            }
            count.map_or(100, |count| *count)
        });
        [found, vec![*COUNT.lock().unwrap()]].concat()
    });
}

selvedge::thread_local! {
    static LAST: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The first attempt makes a variable of the thread, which cannot be taken back: all is run again instead.
#[test]
fn a_variable_of_the_thread_that_an_attempt_makes_is_taken_back() {
    compare("a variable of the thread", || {
        two(|x| {
            loop {
                let old = x.load(Acquire);
                LAST.with_borrow_mut(|last| last.push(old));
                if x.compare_exchange(old, old + 1, AcqRel, Acquire).is_ok() {
                    return LAST.with_borrow(|last| last.iter().fold(0, |all, one| 10 * all + one + 1));
                }
            }
        })
    });
    let (all, fewer) = compare("a variable of the thread that is made before", || {
        two(|x| {
            LAST.with_borrow_mut(|last| last.push(0));
            loop {
                let old = x.load(Acquire);
                LAST.with_borrow_mut(|last| last[0] = old);
                if x.compare_exchange(old, old + 1, AcqRel, Acquire).is_ok() {
                    return LAST.with_borrow(|last| last[0]);
                }
            }
        })
    });
    assert!(fewer.complete <= all.complete);
}

/// An attempt with an old value panics, or never ends: that is no failure of the model unless it happens in an execution.
#[test]
fn attempts_that_go_wrong_are_explored_one_by_one() {
    compare("a panic", || {
        two(|x| {
            let mut old = x.load(Acquire);
            loop {
                let caught = std::panic::catch_unwind(|| assert!(old < 1, "not the first one"));
                match x.compare_exchange(old, old + 1, AcqRel, Acquire) {
                    Ok(_) => return old + 10 * usize::from(caught.is_ok()),
                    Err(now) => old = now,
                }
            }
        })
    });
}

/// The values of a word come back, so an older one may be told after a newer one.
#[test]
fn values_that_come_back_are_all_tried_out() {
    compare("values that come back", || {
        let x = selvedge::sync::Arc::new(AtomicUsize::new(0));
        let handles = [0, 1, 2].map(|n| {
            let x = selvedge::sync::Arc::clone(&x);
            thread::spawn(move || {
                let mut seen = 0;
                let mut old = x.load(Acquire);
                while let Err(now) = x.compare_exchange(old, 1 - old, AcqRel, Acquire) {
                    // Counts how often it was 1 before it was 0.
                    seen += usize::from(n == 2 && old == 1 && now == 0);
                    old = now;
                }
                old + 10 * seen
            })
        });
        handles.map(|handle| handle.join().unwrap()).to_vec()
    });
}

/// The engine learns that the writes of the word are not ordered before a thread has come to the exchange. What is left by two
/// attempts that fail is seen, what is left by one is not.
#[test]
fn words_whose_writes_are_not_ordered_are_explored_one_by_one() {
    let (_, fewer) = compare("writes that are not ordered", || {
        let shared = selvedge::sync::Arc::new([const { AtomicUsize::new(0) }; 2]);
        let spawn = |body: fn(&[AtomicUsize; 2]) -> usize| {
            let shared = selvedge::sync::Arc::clone(&shared);
            thread::spawn(move || body(&shared))
        };
        let handles = [
            spawn(|[x, _]| x.swap(1, AcqRel)),
            spawn(|[x, _]| {
                x.store(2, Relaxed);
                0
            }),
            spawn(|[x, y]| {
                x.swap(1, Acquire);
                let mut failed = 0;
                let mut old = x.load(Relaxed);
                loop {
                    y.load(Acquire);
                    match x.compare_exchange(old, old + 10, AcqRel, Acquire) {
                        Ok(_) => return std::hint::black_box(failed) / 2,
                        Err(_) => failed = if failed == 0 { 1 } else { 2 },
                    }
                    old = x.load(Relaxed);
                }
            }),
        ];
        let mut found: Vec<usize> = handles.map(|handle| handle.join().unwrap()).to_vec();
        found.push(shared[0].load(Relaxed));
        found
    });
    assert!(fewer.notes.iter().any(|note| note.contains("explored one by one")), "{:?}", fewer.notes);
}

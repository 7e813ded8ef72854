//! Loops that wait for others, and never come back to where they were: they are cut off, and the verdict says so (`endless.rs`).

#[path = "support/ways.rs"]
mod ways;

use selvedge::model::{Builder, Stats};
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use selvedge::sync::atomic::{AtomicBool, AtomicUsize};
use selvedge::sync::{Arc, Mutex};
use selvedge::{hint, thread};
use std::collections::BTreeSet;
use std::hint::black_box;
use ways::{WAYS, Way, explore};

const CHANGES: &str = "waits, and changes memory each time";
const REPEATS: &str = "writes the same each time";
const HOLDS: &str = "holds a lock when it comes round";

/// What a model has, in which one thread waits for what main does.
#[derive(Default)]
struct Shared {
    ready: AtomicBool,
    names: Mutex<Vec<String>>,
    value: Mutex<Arc<usize>>,
    bytes: Mutex<Vec<u8>>,
    dropped: Mutex<Arc<String>>,
    count: AtomicUsize,
}

/// A model in which nothing is wrong, and some execution ends.
fn comes_to_its_end(f: fn()) {
    for way in WAYS {
        let stats = explore(way, f);
        assert_eq!(stats.failure, None, "{way:?}");
        assert!(stats.complete > 0, "{way:?}");
    }
}

/// A thread waits; the verdict leaves out no more than this, and there are not many executions. If nobody sets the flag, that is
/// no livelock; and what comes after the loop, and what can be seen in two looks, is found.
fn is_cut_off(says: &str, most: u64, wait: fn(&Shared) -> usize) {
    for way in WAYS {
        let run = move |sets: bool, check: fn(usize)| {
            explore(way, move || {
                let shared = Arc::new(Shared::default());
                let other = Arc::clone(&shared);
                let handle = thread::spawn(move || wait(&other));
                shared.ready.store(sets, Release);
                check(handle.join().unwrap());
            })
        };
        let stats = run(true, |_| ());
        assert_eq!(stats.failure, None, "{way:?}");
        assert!((1..=most).contains(&stats.complete), "{way:?}: {}", stats.complete);
        assert!(stats.blocked <= most, "{way:?}: {} blocked", stats.blocked);
        assert!(
            stats.not_covered.iter().all(|what| !says.is_empty() && what.contains(says)),
            "{:?}",
            stats.not_covered
        );
        assert_eq!(stats.not_covered.len(), usize::from(!says.is_empty()), "{way:?}");
        let failure = run(true, |looks| assert_ne!(looks, 2, "it has looked twice")).failure;
        assert!(failure.is_some_and(|failure| failure.contains("it has looked twice")), "{way:?}");
        let failure = run(false, |_| ()).failure;
        if says == CHANGES {
            let failure = failure.expect("nobody sets the flag");
            assert!(failure.starts_with("no execution comes to its end: "), "{failure}");
        }
    }
}

#[test]
fn a_vector_is_filled_anew_in_each_look() {
    is_cut_off(CHANGES, 4, |shared| {
        let mut names: Vec<String> = Vec::new();
        let mut looks = 0;
        loop {
            names.clear();
            names.push(format!("look {looks}"));
            black_box(&names);
            looks += 1;
            if shared.ready.load(Acquire) {
                return looks;
            }
            thread::yield_now();
        }
    });
}

#[test]
fn something_is_pushed_and_popped_under_a_lock() {
    is_cut_off(CHANGES, 4, |shared| {
        let mut looks = 0;
        loop {
            let mut names = shared.names.lock().unwrap();
            names.push("new".to_owned());
            looks += 1;
            if shared.ready.load(Acquire) {
                return looks;
            }
            names.pop();
            drop(names);
            thread::yield_now();
        }
    });
}

#[test]
fn a_value_is_replaced_in_each_look() {
    is_cut_off(CHANGES, 4, |shared| {
        let mut looks = 0;
        loop {
            *shared.value.lock().unwrap() = Arc::new(6);
            looks += 1;
            if shared.ready.load(Acquire) {
                return looks;
            }
            hint::spin_loop();
        }
    });
    // References to it are counted in the model.
    is_cut_off(CHANGES, 4, |shared| {
        let mut looks = 0;
        loop {
            *shared.dropped.lock().unwrap() = Arc::new("new".to_owned());
            looks += 1;
            if shared.ready.load(Acquire) {
                return looks;
            }
            hint::spin_loop();
        }
    });
}

#[test]
fn what_is_changed_and_reset_may_be_an_atomic() {
    // One look more than in others: what a store has replaced is known from the second one on.
    is_cut_off(CHANGES, 5, |shared| {
        let mut looks = 0;
        loop {
            shared.count.store(1, Release);
            shared.names.lock().unwrap().push("new".to_owned());
            looks += 1;
            let is_ready = shared.ready.load(Acquire);
            shared.count.store(0, Release);
            if is_ready {
                return looks;
            }
            thread::yield_now();
        }
    });
}

#[test]
fn a_loop_that_does_not_say_that_it_waits_counts() {
    is_cut_off(CHANGES, 4, |shared| {
        let mut looks = 1;
        while !shared.ready.load(Acquire) {
            looks += 1;
        }
        looks
    });
}

/// That is exact: nothing is left out.
#[test]
fn much_memory_is_changed_and_put_back() {
    for way in WAYS {
        let stats = explore(way, || {
            let shared = Arc::new(Shared::default());
            shared.bytes.lock().unwrap().resize(1 << 14, 0);
            let other = Arc::clone(&shared);
            let handle = thread::spawn(move || {
                loop {
                    let mut bytes = other.bytes.lock().unwrap();
                    bytes.fill(1);
                    let is_ready = other.ready.load(Acquire);
                    bytes.fill(0);
                    drop(bytes);
                    if is_ready {
                        break;
                    }
                    thread::yield_now();
                }
            });
            shared.ready.store(true, Release);
            handle.join().unwrap();
        });
        assert_eq!((stats.failure, stats.not_covered), (None, vec![]));
        assert!(stats.complete <= 4, "{}", stats.complete);
    }
}

/// Models in which one thread waits in a loop that has cycles, but none that are pure.
fn comes_back(says: &str, most: u64, wait: fn(&Shared)) {
    for way in WAYS {
        let stats = explore(way, move || {
            let shared = Arc::new(Shared::default());
            let other = Arc::clone(&shared);
            let handle = thread::spawn(move || wait(&other));
            shared.ready.store(true, Release);
            drop(shared.names.lock().unwrap());
            handle.join().unwrap();
        });
        assert_eq!(stats.failure, None, "{way:?}");
        assert!((2..=most).contains(&stats.complete), "{way:?}: {}", stats.complete);
        assert_eq!(stats.not_covered.len(), 1, "{:?}", stats.not_covered);
        assert!(stats.not_covered[0].contains(says), "{:?}", stats.not_covered);
    }
}

#[test]
fn locks_are_taken_hand_over_hand() {
    comes_back(HOLDS, 16, |shared| {
        let mut first = shared.names.lock().unwrap();
        loop {
            let second = shared.bytes.lock().unwrap();
            drop(first);
            if shared.ready.load(Acquire) {
                break;
            }
            thread::yield_now();
            drop(second);
            first = shared.names.lock().unwrap();
        }
    });
}

#[test]
fn references_that_the_model_counts_are_cloned() {
    comes_back(REPEATS, 32, |shared| {
        let first = shared.dropped.lock().unwrap().clone();
        loop {
            let held = black_box(Arc::clone(&first));
            if shared.ready.load(Acquire) {
                break;
            }
            drop(held);
            thread::yield_now();
        }
    });
    // The same in a loop that does not say that it waits.
    comes_back(REPEATS, 32, |shared| {
        let first = shared.dropped.lock().unwrap().clone();
        loop {
            let _held = black_box(Arc::clone(&first));
            if shared.ready.load(Acquire) {
                break;
            }
        }
    });
    // And with a vector that lives when it comes round.
    comes_back(REPEATS, 32, |shared| {
        let first = shared.dropped.lock().unwrap().clone();
        loop {
            let held = black_box(Arc::clone(&first));
            let seen = black_box(vec![held.is_empty(), shared.ready.load(Acquire)]);
            drop(held);
            if seen[1] {
                break;
            }
            thread::yield_now();
        }
    });
}

/// How many looks a loop has made that gives up after some number, or that goes on for ever if that is too large.
fn looks(way: Way, most: usize) -> (BTreeSet<usize>, Stats) {
    let noted = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let inner = std::sync::Arc::clone(&noted);
    let stats = explore(way, move || {
        let ready = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&ready);
        let handle = thread::spawn(move || {
            let looks = Box::new(std::cell::Cell::new(0));
            while looks.get() < most && !other.load(Acquire) {
                looks.set(looks.get() + 1);
                thread::yield_now();
            }
            looks.get()
        });
        ready.store(true, Release);
        let looks = handle.join().unwrap();
        if !selvedge::model::is_tried_out() {
            inner.lock().unwrap().insert(looks);
        }
    });
    let noted = noted.lock().unwrap().clone();
    (noted, stats)
}

#[test]
fn a_loop_that_counts_is_explored_to_its_end_if_that_is_not_far() {
    for way in WAYS {
        let (noted, stats) = looks(way, 120);
        assert_eq!((stats.failure, stats.not_covered), (None, vec![]));
        assert_eq!(noted, (0..=120).collect(), "{way:?}");
        let (noted, stats) = looks(way, 1000);
        assert_eq!(stats.failure, None);
        assert!((0..=2).all(|looks| noted.contains(&looks)), "{way:?}: {noted:?}");
        assert_eq!(stats.not_covered.len(), 1);
        assert!(stats.complete <= 4 && stats.not_covered[0].contains(CHANGES), "{:?}", stats.not_covered);
    }
}

/// Who adds to something in each round does more than look, and is not cut off after as many rounds.
#[test]
fn a_loop_that_does_something_in_each_round_is_not_cut_off() {
    let stats = explore(WAYS[0], || {
        let sum = Arc::new(AtomicUsize::new(0));
        for _ in 0..300 {
            sum.fetch_add(1, AcqRel);
            thread::yield_now();
        }
        assert_eq!(sum.load(Relaxed), 300);
    });
    assert_eq!((stats.failure, stats.not_covered, stats.complete), (None, vec![], 1));
}

/// A loop that waits longer and longer between two looks yields many times without one.
#[test]
fn rounds_without_a_look_do_not_count() {
    for way in WAYS {
        let stats = explore(way, || {
            let ready = Arc::new(AtomicBool::new(false));
            let other = Arc::clone(&ready);
            let handle = thread::spawn(move || {
                let mut step = 0;
                while !other.load(Acquire) {
                    (0..1 << step).for_each(|_| hint::spin_loop());
                    step = (step + 1).min(6);
                }
            });
            ready.store(true, Release);
            handle.join().unwrap();
        });
        assert_eq!((stats.failure, stats.not_covered), (None, vec![]));
        assert!(stats.complete <= 16, "{}", stats.complete);
    }
}

#[test]
fn a_loop_that_finds_something_new_is_not_cut_off_for_that_round() {
    comes_to_its_end(|| {
        let n = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&n);
        let handle = thread::spawn(move || (1..=3).for_each(|k| other.store(k, Release)));
        let (mut seen, mut looks) = (0, 0usize);
        while seen < 3 {
            seen = n.load(Acquire);
            looks += 1;
            black_box(&mut looks);
            thread::yield_now();
        }
        handle.join().unwrap();
    });
}

#[test]
fn a_loop_of_another_thread_through_the_same_function_is_not_cut_off() {
    fn snooze() {
        thread::yield_now();
    }
    comes_to_its_end(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let (other, never) = (Arc::clone(&flag), AtomicBool::new(false));
        let handle = thread::spawn(move || {
            let mut looks = 0usize;
            while !other.load(Acquire) {
                looks += 1;
                black_box(&mut looks);
                snooze();
            }
        });
        for _ in 0..6 {
            if never.load(Acquire) {
                break;
            }
            snooze();
        }
        flag.store(true, Release);
        handle.join().unwrap();
    });
}

#[test]
fn a_loop_that_gives_up_late_is_explored_to_its_end_if_there_is_no_other_execution() {
    for way in WAYS {
        let stats = explore(way, || {
            let flag = Arc::new(AtomicBool::new(false));
            let handle = thread::spawn(move || {
                for looks in 0..200 {
                    if flag.load(Acquire) {
                        return looks;
                    }
                    thread::yield_now();
                }
                200
            });
            assert_eq!(handle.join().unwrap(), 200);
        });
        assert_eq!((stats.failure, stats.complete), (None, 1), "{way:?}");
    }
}

#[test]
fn what_the_second_pass_finds_is_not_lost_if_the_first_comes_to_no_end() {
    let stats = Builder::new().explore(|| {
        let x = AtomicUsize::new(0);
        let fails = x.compare_exchange_weak(0, 1, Relaxed, Relaxed).is_err();
        assert!(!fails, "it has failed for no reason");
        selvedge::assume(false);
    });
    assert_eq!(stats.complete, 0);
    assert!(stats.failure.is_some_and(|why| why.contains("it has failed for no reason")));
}

/// A thread that waits until it is asked for help.
fn who_helps(shared: Arc<Shared>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        while shared.count.load(Acquire) == 0 {
            hint::spin_loop();
        }
        shared.ready.store(true, Release);
    })
}

/// A thread looks for a while, asks for help, and goes on looking (and counting): how many looks it has made.
fn looks_of_who_asks(way: Way, after: usize) -> (BTreeSet<usize>, Stats) {
    let noted = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let inner = std::sync::Arc::clone(&noted);
    let stats = explore(way, move || {
        let shared = Arc::new(Shared::default());
        let helper = who_helps(Arc::clone(&shared));
        let mut looks = 0;
        while !shared.ready.load(Acquire) {
            looks += 1;
            if looks == after {
                shared.count.store(1, Release);
            }
            hint::spin_loop();
        }
        helper.join().unwrap();
        if !selvedge::model::is_tried_out() {
            inner.lock().unwrap().insert(looks);
        }
    });
    let noted = noted.lock().unwrap().clone();
    (noted, stats)
}

#[test]
fn what_a_thread_does_before_it_asks_for_help_is_not_cut_off() {
    for way in WAYS {
        for after in [1, 3, 4, 5, 20, 200] {
            let (noted, stats) = looks_of_who_asks(way, after);
            assert_eq!(stats.failure, None, "{way:?}, {after}");
            assert!(noted.first() == Some(&after) && noted.contains(&(after + 2)), "{way:?}, {after}: {noted:?}");
            assert!(noted.len() <= 6, "{way:?}, {after}: {noted:?}");
            assert_eq!(stats.not_covered.len(), 1);
            assert!(stats.not_covered[0].contains(CHANGES), "{:?}", stats.not_covered);
        }
    }
}

#[test]
fn another_loop_of_the_same_thread_through_the_same_function_is_not_cut_off() {
    fn snooze() {
        hint::spin_loop();
    }
    comes_to_its_end(|| {
        let shared = Arc::new(Shared::default());
        let helper = who_helps(Arc::clone(&shared));
        // It waits for a while, and has nothing to say when it gives up.
        for _ in 0..20 {
            if shared.ready.load(Acquire) {
                break;
            }
            snooze();
        }
        shared.count.store(1, Release);
        let mut looks = 0usize;
        while !shared.ready.load(Acquire) {
            looks += 1;
            black_box(&mut looks);
            snooze();
        }
        helper.join().unwrap();
    });
}

/// The same if it tells others nothing in between.
#[test]
fn a_loop_that_gives_up_is_not_cut_off_for_another_one_that_does_not() {
    fn snooze() {
        hint::spin_loop();
    }
    for way in WAYS {
        let stats = explore(way, || {
            let shared = Arc::new(Shared::default());
            let other = Arc::clone(&shared);
            let handle = thread::spawn(move || other.ready.store(true, Release));
            for _ in 0..20 {
                if shared.count.load(Acquire) == 1 {
                    break;
                }
                snooze();
            }
            let mut looks = 0usize;
            while !shared.ready.load(Acquire) {
                looks += 1;
                black_box(&mut looks);
                snooze();
            }
            handle.join().unwrap();
        });
        assert_eq!(stats.failure, None, "{way:?}");
        assert!((1..=8).contains(&stats.complete), "{way:?}: {}", stats.complete);
    }
}

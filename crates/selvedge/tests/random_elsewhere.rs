//! Random programs with loops that try an exchange again, and look at another word only in attempts that may fail: what others
//! write there, and when, decides what such an attempt leaves. The same outcomes are found as with attempts one by one.

use selvedge::model::Builder;
use selvedge::sync::Arc;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use selvedge::thread;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// A counter, the word that attempts look at, and one that decides what is written there.
type Words = [AtomicUsize; 3];

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    /// Counts; whoever finds the counter at 0 looks at the other word, and remembers a 1 if the exchange fails.
    Remembers,
    /// Counts.
    Counts,
    /// Writes the other word.
    Writes(usize),
    /// Sets the third one.
    Sets,
    /// Writes 1 to the second one if the third, or the counter, is 1.
    Relays,
    Follows,
}

const ACTS: [Act; 9] = [
    Act::Remembers,
    Act::Remembers,
    Act::Counts,
    Act::Counts,
    Act::Writes(1),
    Act::Writes(2),
    Act::Sets,
    Act::Relays,
    Act::Follows,
];

#[inline(never)]
fn attempt(words: &Words, seen: &Cell<usize>, looks: bool) -> Option<usize> {
    let old = words[0].load(Acquire);
    let other = if looks && old == 0 { words[1].load(Acquire) } else { 0 };
    if words[0].compare_exchange(old, old + 1, AcqRel, Acquire).is_ok() {
        return Some(old);
    }
    if other == 1 {
        seen.set(seen.get() + 1);
    }
    None
}

fn count(words: &Words, looks: bool) -> usize {
    let seen = Box::new(Cell::new(0));
    loop {
        if let Some(old) = attempt(words, &seen, looks) {
            return old + 10 * seen.get();
        }
    }
}

fn act(act: Act, words: &Words) -> usize {
    match act {
        Act::Remembers => return count(words, true),
        Act::Counts => return count(words, false),
        Act::Writes(value) => words[1].store(value, Relaxed),
        Act::Sets => words[2].store(1, Relaxed),
        Act::Relays | Act::Follows => {
            let found = words[if act == Act::Relays { 2 } else { 0 }].load(Relaxed);
            if found == 1 {
                words[1].store(1, Relaxed);
            }
            return found;
        }
    }
    0
}

type Program = Vec<Vec<Act>>;

fn explore(program: &Program, one_by_one: bool) -> (BTreeSet<Vec<usize>>, u64) {
    let outcomes = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let (noted, threads) = (std::sync::Arc::clone(&outcomes), program.clone());
    let mut builder = Builder::new();
    builder.spurious = false;
    builder.attempts_one_by_one = one_by_one;
    let stats = builder.explore(move || {
        let words: Arc<Words> = Arc::new(Default::default());
        let handles: Vec<_> = threads
            .iter()
            .map(|acts| {
                let (words, acts) = (Arc::clone(&words), acts.clone());
                thread::spawn(move || acts.iter().fold(0, |found, &each| 100 * found + act(each, &words)))
            })
            .collect();
        let found: Vec<usize> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
        if !selvedge::model::is_tried_out() {
            noted.lock().unwrap().insert(found);
        }
    });
    assert_eq!((stats.failure, stats.not_covered), (None, vec![]), "{program:?}");
    let outcomes = outcomes.lock().unwrap().clone();
    (outcomes, stats.complete)
}

/// A program of three or four threads; none if it has too many loops, or none that matters.
fn generate(mut next: impl FnMut(usize) -> usize) -> Option<Program> {
    let threads = 3 + next(2);
    let program: Program = (0..threads).map(|_| (0..=next(2)).map(|_| ACTS[next(ACTS.len())]).collect()).collect();
    let all: Vec<Act> = program.iter().flatten().copied().collect();
    let loops = all.iter().filter(|act| matches!(act, Act::Remembers | Act::Counts)).count();
    (all.contains(&Act::Remembers) && loops <= 3).then_some(program)
}

#[test]
fn attempts_that_look_elsewhere_have_the_outcomes_of_attempts_one_by_one() {
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut fewer = 0;
    for _ in 0..150 {
        let next = |n: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 11) as usize % n
        };
        let Some(program) = generate(next) else { continue };
        let (expected, all) = explore(&program, true);
        let (found, some) = explore(&program, false);
        assert_eq!(found, expected, "{program:?}");
        fewer += u32::from(some < all);
    }
    assert!(fewer >= 10, "attempts are taken together: {fewer}");
}

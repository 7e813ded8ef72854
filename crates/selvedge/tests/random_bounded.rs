//! Random programs with a bound on preemptions. There is no oracle for loops that wait, but this must hold all the same: which
//! thread is created first makes no difference, a larger bound does not lose anything, and what is left out is said.

use selvedge::model::{Builder, MemoryModel, Stats, is_tried_out};
use selvedge::sync::Mutex;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::{hint, thread};
use std::collections::BTreeSet;
use std::sync::Arc;

/// More preemptions than any of the programs takes.
const LARGE: usize = 30;

/// Programs with more executions are left out, and so are those that have a bound of their own.
const MOST: u64 = 1000;

/// What a thread does. Numbers name words, or locks.
#[derive(Clone, Debug)]
enum Op {
    Store {
        word: usize,
        value: usize,
        release: bool,
    },
    Load {
        word: usize,
        acquire: bool,
    },
    Add {
        word: usize,
    },
    Swap {
        word: usize,
        value: usize,
    },
    Exchange {
        word: usize,
        old: usize,
        new: usize,
    },
    /// An exchange that is tried again until it succeeds; whether it has failed with these values is noted.
    Increment {
        word: usize,
        noted: Option<(usize, usize)>,
    },
    /// The same with a load each time.
    Retry {
        word: usize,
        noted: Option<(usize, usize)>,
    },
    /// With a lock held.
    Locked {
        lock: usize,
        inner: Vec<Op>,
    },
    /// The same if it is free.
    Tried {
        lock: usize,
        inner: Vec<Op>,
    },
    /// Adds to what a lock protects.
    Raise {
        lock: usize,
    },
    /// Waits until a word is not zero.
    Await {
        word: usize,
    },
    /// Waits until a word is two; whether it was something else before is noted.
    AwaitNoting {
        word: usize,
        noted: usize,
    },
    /// The same for one of two.
    AwaitEither {
        first: usize,
    },
    /// Waits until what a lock protects is not zero, taking the lock again and again.
    AwaitRaised {
        lock: usize,
    },
    /// A lock of the program's own.
    Spinlock {
        inner: Vec<Op>,
    },
}

/// What programs are made of, besides loads and stores.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Locks,
    Waits,
    Attempts,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 1
    }

    fn access(&mut self) -> Op {
        let word = self.below(2);
        let value = 1 + self.below(2);
        match self.below(6) {
            0 => Op::Store { word, value, release: self.coin() },
            1 | 2 => Op::Load { word, acquire: self.coin() },
            3 => Op::Add { word },
            4 => Op::Exchange { word, old: self.below(2), new: value },
            _ => Op::Swap { word, value },
        }
    }

    fn inner(&mut self) -> Vec<Op> {
        (0..self.below(3)).map(|_| self.access()).collect()
    }

    /// Values with which an attempt that fails leaves a trace, if there are any.
    fn noted(&mut self) -> Option<(usize, usize)> {
        self.coin().then(|| (self.below(3), self.below(4)))
    }

    fn op(&mut self, kind: Kind) -> Op {
        if self.below(5) < 2 {
            return self.access();
        }
        let lock = self.below(2);
        match (kind, self.below(4)) {
            (Kind::Locks, 0) => Op::Raise { lock },
            (Kind::Locks, 1) => Op::Tried { lock, inner: self.inner() },
            (Kind::Locks, _) => Op::Locked { lock, inner: self.inner() },
            (Kind::Waits, 0) if self.coin() => Op::AwaitNoting { word: lock, noted: self.below(3) },
            (Kind::Waits, 0) => Op::Await { word: lock },
            (Kind::Waits, 1) => Op::AwaitEither { first: lock },
            (Kind::Waits, 2) => Op::AwaitRaised { lock: 0 },
            (Kind::Waits, _) if self.coin() => Op::Raise { lock: 0 },
            (Kind::Waits, _) => Op::Spinlock { inner: self.inner() },
            (Kind::Attempts, 0) => Op::Locked { lock, inner: self.inner() },
            (Kind::Attempts, 1) => Op::Retry { word: lock, noted: self.noted() },
            (Kind::Attempts, _) => Op::Increment { word: lock, noted: self.noted() },
        }
    }

    /// What each of two or three threads does.
    fn program(&mut self, kind: Kind) -> Vec<Vec<Op>> {
        let threads = 2 + self.below(2);
        let mut program = vec![vec![]; threads];
        for _ in 0..5 + self.below(4) {
            let thread = self.below(threads);
            program[thread].push(self.op(kind));
        }
        program
    }
}

/// What threads share.
#[derive(Default)]
struct Shared {
    words: [AtomicUsize; 3],
    locks: [Mutex<usize>; 2],
}

/// Does what a thread does; `seen` is a number for what it sees.
fn run(shared: &Shared, ops: &[Op], seen: &mut u64) {
    for op in ops {
        let word = |n: &usize| &shared.words[*n];
        let mut see = |value: usize| *seen = seen.wrapping_mul(31).wrapping_add(value as u64 + 1);
        match op {
            Op::Store { word: n, value, release } => word(n).store(*value, if *release { Release } else { Relaxed }),
            Op::Load { word: n, acquire } => see(word(n).load(if *acquire { Acquire } else { Relaxed })),
            Op::Add { word: n } => see(word(n).fetch_add(1, AcqRel)),
            Op::Swap { word: n, value } => see(word(n).swap(*value, SeqCst)),
            Op::Exchange { word: n, old, new } => {
                see(word(n).compare_exchange(*old, *new, AcqRel, Relaxed).unwrap_or_else(|found| found + 10));
            }
            Op::Increment { word: n, noted } => {
                let (mut old, mut was_noted) = (word(n).load(Relaxed), 0);
                while let Err(found) = word(n).compare_exchange(old, old + 1, AcqRel, Relaxed) {
                    was_noted |= usize::from(*noted == Some((old, found)));
                    old = found;
                }
                see(old + 5 * was_noted);
            }
            Op::Retry { word: n, noted } => {
                let mut was_noted = 0;
                let old = loop {
                    let old = word(n).load(Relaxed);
                    match word(n).compare_exchange(old, old + 1, AcqRel, Relaxed) {
                        Ok(_) => break old,
                        Err(found) => was_noted |= usize::from(*noted == Some((old, found))),
                    }
                };
                see(old + 5 * was_noted);
            }
            Op::Locked { lock, inner } => {
                let _guard = shared.locks[*lock].lock().unwrap();
                run(shared, inner, seen);
            }
            Op::Tried { lock, inner } => match shared.locks[*lock].try_lock() {
                Ok(_guard) => run(shared, inner, seen),
                Err(_) => see(9),
            },
            Op::Raise { lock } => {
                let mut guard = shared.locks[*lock].lock().unwrap();
                *guard += 1;
                see(*guard);
            }
            Op::Await { word: n } => {
                while word(n).load(Acquire) == 0 {
                    hint::spin_loop();
                }
            }
            Op::AwaitNoting { word: n, noted } => {
                let mut was_noted = 0;
                loop {
                    let found = word(n).load(Acquire);
                    if found >= 2 {
                        break;
                    }
                    was_noted |= usize::from(found == *noted);
                    hint::spin_loop();
                }
                see(was_noted);
            }
            Op::AwaitEither { first } => {
                while word(first).load(Acquire) == 0 && word(&(1 - first)).load(Relaxed) == 0 {
                    hint::spin_loop();
                }
            }
            Op::AwaitRaised { lock } => {
                while *shared.locks[*lock].lock().unwrap() == 0 {
                    thread::yield_now();
                }
            }
            Op::Spinlock { inner } => {
                while word(&2).compare_exchange(0, 1, Acquire, Relaxed).is_err() {
                    hint::spin_loop();
                }
                run(shared, inner, seen);
                word(&2).store(0, Release);
            }
        }
    }
}

/// What threads see and what is left in the words, for each execution.
type Outcomes = BTreeSet<Vec<u64>>;

/// How a program is explored.
#[derive(Clone, Copy)]
struct How {
    bound: Option<usize>,
    memory_model: MemoryModel,
    /// Whether the last thread is created first.
    reversed: bool,
    /// Whether attempts that fail are executions of their own.
    one_by_one: bool,
}

fn explore(program: &Arc<Vec<Vec<Op>>>, how: How) -> (Stats, Outcomes) {
    let outcomes: Arc<std::sync::Mutex<Outcomes>> = Arc::default();
    let (program, noted) = (Arc::clone(program), Arc::clone(&outcomes));
    let mut builder = Builder::new();
    (builder.preemption_bound, builder.memory_model, builder.spurious) = (how.bound, how.memory_model, false);
    (builder.bound_after, builder.attempts_one_by_one) = (0, how.one_by_one);
    builder.max_permutations = how.one_by_one.then_some(5 * MOST as usize);
    let stats = builder.explore(move || {
        let shared: Arc<Shared> = Arc::default();
        let spawn = |thread: usize| {
            let (shared, program) = (Arc::clone(&shared), Arc::clone(&program));
            thread::spawn(move || {
                let mut seen = 0;
                run(&shared, &program[thread], &mut seen);
                seen
            })
        };
        let mut order: Vec<usize> = (0..program.len()).collect();
        if how.reversed {
            order.reverse();
        }
        let mut handles: Vec<_> = order.into_iter().map(spawn).collect();
        if how.reversed {
            handles.reverse();
        }
        let mut all: Vec<u64> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
        all.extend(shared.words.iter().map(|word| word.load(Relaxed) as u64));
        if !is_tried_out() {
            noted.lock().unwrap().insert(all);
        }
    });
    let outcomes = std::mem::take(&mut *outcomes.lock().unwrap());
    (stats, outcomes)
}

/// Compares explorations of a program. Whether it was small enough.
fn compare(program: &Arc<Vec<Vec<Op>>>, memory_model: MemoryModel, what: &str) -> bool {
    let how = How { bound: None, memory_model, reversed: false, one_by_one: false };
    let (all, outcomes) = explore(program, how);
    let has_failed = all.failure.is_some();
    if all.complete + all.blocked > MOST || !has_failed && !all.not_covered.is_empty() {
        return false;
    }
    let (mut had_failed, mut before) = (false, Outcomes::new());
    for bound in [0, 1, 2, LARGE] {
        let what = format!("{what}, bound {bound}: {program:?}");
        let how = How { bound: Some(bound), ..how };
        let (some, within) = explore(program, how);
        let (reversed, same) = explore(program, How { reversed: true, ..how });
        let (attempts, one_by_one) = explore(program, How { one_by_one: true, ..how });
        let has_ended = attempts.complete + attempts.blocked < 5 * MOST;
        assert_eq!(some.failure.is_some(), reversed.failure.is_some(), "{what}");
        let is_all = bound == LARGE || some.not_covered.is_empty();
        if is_all || !has_failed {
            assert_eq!(some.failure.is_some(), has_failed, "{what}: {:?} {:?}", some.failure, all.failure);
        }
        assert!(some.failure.is_some() || !had_failed, "{what}: the failure is gone");
        if !has_failed {
            assert_eq!(within, same, "{what}");
            assert!(if has_ended { within == one_by_one } else { one_by_one.is_subset(&within) }, "{what}");
            assert!(within.is_subset(&outcomes) && before.is_subset(&within), "{what}");
            // Otherwise attempts may be executions of their own.
            let comes_together = [&all, &some, &reversed].iter().all(|stats| stats.notes.is_empty());
            if comes_together {
                assert_eq!(some.complete, reversed.complete, "{what}");
            }
            if is_all {
                assert_eq!(within, outcomes, "{what}");
                assert!(!comes_together || some.complete == all.complete, "{what}: {some:?} {all:?}");
            }
            assert!(bound != LARGE || some.not_covered.is_empty(), "{what}: {:?}", some.not_covered);
        }
        (had_failed, before) = (some.failure.is_some(), within);
    }
    true
}

/// `SEED` and `PROGRAMS` say which programs, if others are to be compared than those below.
fn compare_all(kind: Kind) {
    let from_environment = |name, otherwise| std::env::var(name).map_or(otherwise, |n| n.parse().unwrap());
    let (seed, programs): (u64, u64) = (from_environment("SEED", 0), from_environment("PROGRAMS", 60));
    let mut compared = 0;
    for seed in seed..seed + programs {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ kind as u64);
        random.below(2);
        let program = Arc::new(random.program(kind));
        for memory_model in [MemoryModel::Rc11, MemoryModel::Sc] {
            compared += u64::from(compare(&program, memory_model, &format!("{kind:?} {seed} {memory_model:?}")));
        }
    }
    println!("{compared} of {} compared", 2 * programs);
    assert!(compared > programs, "{compared} of {}", 2 * programs);
}

#[test]
fn locks() {
    compare_all(Kind::Locks);
}

#[test]
fn loops_that_wait() {
    compare_all(Kind::Waits);
}

#[test]
fn attempts() {
    compare_all(Kind::Attempts);
}

/// To have come to where a loop that waits begins is not to have been there after a read.
#[test]
fn loops_that_wait_for_a_lock() {
    let load = Op::Load { word: 0, acquire: true };
    let first = vec![Op::Spinlock { inner: vec![load] }, Op::Raise { lock: 0 }, Op::AwaitRaised { lock: 0 }];
    let second = vec![Op::AwaitRaised { lock: 0 }, Op::Exchange { word: 1, old: 1, new: 1 }];
    for memory_model in [MemoryModel::Rc11, MemoryModel::Sc] {
        assert!(compare(&Arc::new(vec![first.clone(), second.clone()]), memory_model, "locks in loops"));
    }
}

//! Loops that back off: they wait longer after every look that fails, and count for that how often they have looked. As long as
//! nothing else depends on that, such a loop is an await like any other (`machine/returns.rs`). More random programs are tried with
//! `FROM`, the first seed, and `COUNT`.

#![allow(unsafe_code)]

use selvedge::cell::UnsafeCell;
use selvedge::model::{Builder, Engine, MemoryModel, Stats};
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use selvedge::sync::atomic::{AtomicUsize, Ordering};
use selvedge::{assume, hint, thread};
use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::{Arc, Mutex};

const MODELS: [MemoryModel; 4] = [MemoryModel::Rc11, MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Ra];

/// As in crates that have one: it spins twice as long each time, and lets others go first after some times.
struct Backoff {
    step: u32,
    spins: u32,
    most: u32,
}

impl Backoff {
    /// As it is there.
    fn usual() -> Backoff {
        Backoff { step: 0, spins: 6, most: 10 }
    }

    fn snooze(&mut self) {
        if self.step <= self.spins {
            (0..1 << self.step).for_each(|_| hint::spin_loop());
        } else {
            thread::yield_now();
        }
        if self.step <= self.most {
            self.step += 1;
        }
    }
}

/// What threads share: a lock, and what it protects.
struct Shared {
    words: [AtomicUsize; 2],
    data: UnsafeCell<usize>,
}

// SAFETY: races are found.
unsafe impl Sync for Shared {}

/// Executions of some threads with a lock: complete, blocked, and those in which something fails for no reason.
fn executions(threads: usize, take: fn(&Shared), give: fn(&Shared)) -> [u64; 3] {
    let mut builder = Builder::new();
    builder.max_permutations = Some(20_000);
    let stats = builder.explore(move || {
        let words = [const { AtomicUsize::new(0) }; 2];
        let shared = Arc::new(Shared { words, data: UnsafeCell::new(0) });
        let start = |_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                take(&shared);
                let before = shared.data.with(|data| unsafe { *data });
                shared.data.with_mut(|data| unsafe { *data = before + 1 });
                give(&shared);
            })
        };
        let handles: Vec<_> = (0..threads).map(start).collect();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        assert_eq!(shared.data.with(|data| unsafe { *data }), threads);
    });
    assert_eq!((stats.failure, stats.not_covered), (None, vec![]));
    [stats.complete, stats.blocked, stats.spurious]
}

fn give(shared: &Shared) {
    shared.words[0].store(0, Release);
}

#[inline(never)]
fn swap(shared: &Shared) {
    let mut backoff = Backoff::usual();
    while shared.words[0].swap(1, Acquire) == 1 {
        backoff.snooze();
    }
}

#[inline(never)]
fn exchange(shared: &Shared) {
    let mut backoff = Backoff::usual();
    while shared.words[0].compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
        backoff.snooze();
    }
}

#[inline(never)]
fn swap_and_test(shared: &Shared) {
    let mut backoff = Backoff::usual();
    while shared.words[0].swap(1, Acquire) == 1 {
        while shared.words[0].load(Relaxed) == 1 {
            backoff.snooze();
        }
    }
}

#[inline(never)]
fn ticket(shared: &Shared) {
    let mut backoff = Backoff::usual();
    let mine = shared.words[0].fetch_add(1, Relaxed);
    while shared.words[1].load(Acquire) != mine {
        backoff.snooze();
    }
}

fn next(shared: &Shared) {
    shared.words[1].fetch_add(1, Release);
}

#[test]
fn locks_that_back_off_have_an_execution_for_every_order() {
    for (n, (take, give)) in
        [(swap as fn(&Shared), give as fn(&Shared)), (exchange, give), (swap_and_test, give), (ticket, next)]
            .into_iter()
            .enumerate()
    {
        for (threads, orders) in [(2, 2), (3, 6)] {
            assert_eq!(executions(threads, take, give), [orders, 0, 0], "lock {n}, {threads} threads");
        }
    }
}

/// A thread that looks into a cell once it has the lock is told nothing by that: what is left of looks on its stack may be gone
/// later.
#[test]
fn who_reads_a_cell_behind_a_loop_that_waits_has_no_other_executions() {
    fn with_rest(shared: &Shared) {
        let mut found = 0;
        while shared.words[0].swap(1, Acquire) == 1 {
            found = black_box(found + 1) % 3;
            hint::spin_loop();
        }
    }
    assert_eq!(executions(3, with_rest, give), [6, 0, 0]);
}

/// A flag is set, and what a thread has found when it goes on tells how often it has looked, up to some number.
#[test]
fn what_depends_on_how_often_was_looked_is_found() {
    for most in [1, 3, 11] {
        let seen = Arc::new(Mutex::new(BTreeSet::new()));
        let noted = Arc::clone(&seen);
        let stats = Builder::new().explore(move || {
            let flag = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&flag);
            let handle = thread::spawn(move || other.store(1, Release));
            let mut backoff = Backoff { step: 0, spins: 2, most };
            while flag.load(Acquire) == 0 {
                backoff.snooze();
            }
            if !selvedge::model::is_tried_out() {
                noted.lock().unwrap().insert(backoff.step);
            }
            handle.join().unwrap();
        });
        assert_eq!((stats.failure, stats.not_covered), (None, vec![]));
        assert!(seen.lock().unwrap().iter().copied().eq(0..=most + 1), "{seen:?}");
    }
}

#[test]
fn who_backs_off_for_ever_is_in_a_livelock() {
    let stats = Builder::new().explore(|| {
        let flag = AtomicUsize::new(0);
        let mut backoff = Backoff::usual();
        while flag.load(Acquire) == 0 {
            backoff.snooze();
        }
    });
    let failure = stats.failure.unwrap_or_default();
    assert!(failure.contains("livelock"), "{failure:?}");
}

/// What a loop does with the number of its looks.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Counted {
    /// Nothing but to wait longer.
    Nothing,
    /// It says how many there were.
    Tells,
    /// The same, but only if the other word has some value when it goes on.
    TellsIf,
    /// The same with the cell.
    TellsIfWritten,
    /// It gives up.
    GivesUp,
    /// It looks at the other word once.
    LooksElsewhere,
    /// It writes to the cell.
    Writes,
}

/// A loop that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    word: usize,
    /// It waits with these, by their bits.
    with: usize,
    exchanges: bool,
    /// What is stored by the exchange.
    new: usize,
    spins: u32,
    most: u32,
    counted: Counted,
    order: Ordering,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Wait(Waiting),
    Store(usize, usize),
    Load(usize),
    Swap(usize, usize),
    Read,
    Write,
}

type Program = Vec<Vec<Act>>;
type Outcomes = BTreeSet<Vec<usize>>;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 ^ self.0 >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as usize % n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn waiting(&mut self) -> Waiting {
        use Counted::{GivesUp, LooksElsewhere, Nothing, Tells, TellsIf, TellsIfWritten, Writes};
        Waiting {
            word: self.of(&[0, 0, 1]),
            with: self.of(&[0b0010, 0b0001, 0b0011, 0b0110, 0b0101]),
            exchanges: self.below(2) == 0,
            new: self.of(&[1, 1, 2]),
            spins: self.of(&[0, 1, 2]),
            most: self.of(&[0, 1, 2]),
            counted: self.of(&[
                Nothing,
                Nothing,
                Nothing,
                Tells,
                TellsIf,
                TellsIfWritten,
                GivesUp,
                LooksElsewhere,
                Writes,
            ]),
            order: self.of(&[Relaxed, Acquire]),
        }
    }

    fn act(&mut self) -> Act {
        let word = self.of(&[0, 0, 1]);
        match self.below(6) {
            0 | 1 => Act::Store(word, self.of(&[0, 1, 2])),
            2 => Act::Load(word),
            3 => Act::Swap(word, self.of(&[0, 1, 2])),
            4 => self.of(&[Act::Read, Act::Write]),
            _ => Act::Wait(self.waiting()),
        }
    }

    fn program(&mut self) -> Program {
        let waiting = self.waiting();
        let threads = 2 + self.below(2);
        let thread = |_| {
            let mut acts = Vec::new();
            if self.below(2) == 0 {
                let waiting = if self.below(2) == 0 { waiting } else { self.waiting() };
                acts.push(Act::Wait(waiting));
                if self.below(2) == 0 {
                    acts.push(Act::Store(waiting.word, self.of(&[0, 1])));
                }
            }
            acts.extend((0..self.below(3)).map(|_| self.act()));
            acts
        };
        (0..threads).map(thread).collect()
    }
}

/// So many looks fail at most where loops are not left to wait. What counts them counts to less.
const LOOKS: u32 = 5;

/// What a thread that goes on tells of its looks.
#[inline(never)]
fn told(shared: &Shared, waiting: Waiting, left: usize) -> usize {
    let tells = match waiting.counted {
        Counted::TellsIf => shared.words[1 - waiting.word].load(Relaxed) == 1,
        Counted::TellsIfWritten => shared.data.with(|data| unsafe { *data }) == 5,
        _ => true,
    };
    if tells { left } else { 0 }
}

/// A frame of its own, as a crate's function has it.
#[inline(never)]
fn wait(shared: &Shared, waiting: Waiting, looks_only: bool) -> usize {
    let mut backoff = Backoff { step: 0, spins: waiting.spins, most: waiting.most };
    let (mut looks, mut left) = (0, 0);
    loop {
        let word = &shared.words[waiting.word];
        let waits = |value: usize| value < 4 && waiting.with >> value & 1 == 1;
        let found = match waiting.exchanges {
            // It leaves the value with which it waits.
            true => match word.compare_exchange(0, waiting.new, waiting.order, Relaxed) {
                Ok(found) => return 10 * found + told(shared, waiting, left),
                Err(found) => found,
            },
            false => word.load(waiting.order),
        };
        if !waits(found) {
            return 10 * found + told(shared, waiting, left);
        }
        let step = backoff.step;
        if looks_only {
            looks += 1;
            assume(looks <= LOOKS);
            backoff.step = (step + 1).min(waiting.most + 1);
        } else {
            backoff.snooze();
        }
        let is_last = backoff.step > waiting.most;
        match waiting.counted {
            Counted::Nothing => {}
            Counted::Tells | Counted::TellsIf | Counted::TellsIfWritten => left = backoff.step as usize,
            Counted::GivesUp if is_last => return 7,
            Counted::LooksElsewhere if is_last && step != backoff.step => {
                left = shared.words[1 - waiting.word].load(Relaxed);
            }
            Counted::Writes if is_last => shared.data.with_mut(|data| unsafe { *data = 5 }),
            _ => {}
        }
    }
}

fn act(shared: &Shared, act: Act, looks_only: bool) -> usize {
    match act {
        Act::Wait(waiting) => wait(shared, waiting, looks_only),
        Act::Store(word, value) => {
            shared.words[word].store(value, Release);
            0
        }
        Act::Load(word) => shared.words[word].load(Acquire),
        Act::Swap(word, value) => shared.words[word].swap(value, AcqRel),
        Act::Read => shared.data.with(|data| unsafe { *data }),
        Act::Write => {
            shared.data.with_mut(|data| unsafe { *data = 5 });
            0
        }
    }
}

fn explore(program: &Program, engine: Engine, model: MemoryModel, looks_only: bool) -> (Outcomes, Stats) {
    let seen = Arc::new(Mutex::new(Outcomes::new()));
    let (noted, program) = (Arc::clone(&seen), Arc::new(program.clone()));
    let mut builder = Builder::new();
    (builder.engine, builder.memory_model) = (engine, model);
    (builder.max_branches, builder.max_permutations) = (400, Some(6000));
    let stats = builder.explore(move || {
        let words = [const { AtomicUsize::new(0) }; 2];
        let shared = Arc::new(Shared { words, data: UnsafeCell::new(0) });
        let start = |n: usize| {
            let (shared, program) = (Arc::clone(&shared), Arc::clone(&program));
            thread::spawn(move || program[n].iter().fold(0, |all, &a| 1000 * all + act(&shared, a, looks_only)))
        };
        let handles: Vec<_> = (0..program.len()).map(start).collect();
        let mut outcome: Vec<usize> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
        outcome.extend(shared.words.each_ref().map(|word| word.load(Relaxed)));
        noted.lock().unwrap().insert(outcome);
    });
    let outcomes = std::mem::take(&mut *seen.lock().unwrap());
    (outcomes, stats)
}

/// Whether everything was explored, but for what comes after a failure.
fn is_whole(stats: &Stats) -> bool {
    stats.not_covered.iter().all(|what| what.contains("ended at the first failure"))
        && !stats.failure.as_ref().is_some_and(|failure| failure.contains("max_branches"))
}

fn kind(stats: &Stats) -> Option<&str> {
    stats.failure.as_ref().map(|failure| failure.split(':').next().unwrap_or_default())
}

/// Compares a program with one whose loops look so often at most, and with what the trace engine finds.
fn check(program: &Program, model: MemoryModel) -> Result<bool, String> {
    let (found, stats) = explore(program, Engine::Graph, model, false);
    if !is_whole(&stats) {
        return Ok(false);
    }
    if model == MemoryModel::Sc {
        let (wanted, all) = explore(program, Engine::Trace, model, false);
        if is_whole(&all)
            && (all.failure.is_some() != stats.failure.is_some() || stats.failure.is_none() && found != wanted)
        {
            return Err(format!("{:?} {found:?}, the trace engine has {:?} {wanted:?}", stats.failure, all.failure));
        }
    }
    // Who looks so often at most does not wait for ever.
    if matches!(kind(&stats), Some(kind) if kind.contains("livelock") || kind.contains("deadlock")) {
        return Ok(false);
    }
    let (wanted, all) = explore(program, Engine::Graph, model, true);
    if !is_whole(&all) {
        return Ok(false);
    }
    if kind(&all) != kind(&stats) || all.failure.is_none() && found != wanted {
        let lost: Vec<_> = wanted.difference(&found).collect();
        let more: Vec<_> = found.difference(&wanted).collect();
        return Err(format!("lost {lost:?}, more {more:?}, {:?} for {:?}", stats.failure, all.failure));
    }
    Ok(true)
}

#[test]
fn random_programs_that_back_off_have_all_their_outcomes() {
    let number = |name, otherwise| std::env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let (from, count) = (number("FROM", 0), number("COUNT", 400_u64));
    let mut compared = 0;
    for seed in from..from + count {
        let program = Random(seed).program();
        let model = MODELS[(seed % 4) as usize];
        match check(&program, model) {
            Ok(whole) => compared += u64::from(whole),
            Err(why) => panic!("{seed} {model:?} {program:#?} {why}"),
        }
    }
    println!("{compared} of {count} compared");
    assert!(compared > count / 3, "{compared}");
}

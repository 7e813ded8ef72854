//! Loops that take something with an exchange, and wait for it with a load of the same word: how many executions they have, and
//! that nothing is lost (`machine/relayed.rs`). More random programs are tried with `FROM`, the first seed, and `COUNT`.

use selvedge::model::{Builder, Engine, MemoryModel, Stats};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::{assume, hint, thread};
use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::{Arc, Mutex};

const MODELS: [MemoryModel; 4] = [MemoryModel::Rc11, MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Ra];

type Lock = fn(&AtomicUsize);

/// Executions of some threads with a lock, each of which finds what those before it have left.
fn executions(threads: usize, lock: Lock) -> [u64; 3] {
    let stats = Builder::new().explore(move || {
        let words = Arc::new([const { AtomicUsize::new(0) }; 2]);
        let start = |_| {
            let words = Arc::clone(&words);
            thread::spawn(move || {
                lock(&words[0]);
                words[1].store(words[1].load(Relaxed) + 1, Relaxed);
                words[0].store(0, Release);
            })
        };
        let handles: Vec<_> = (0..threads).map(start).collect();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        assert_eq!(words[1].load(Relaxed), threads);
    });
    assert_eq!((stats.failure, stats.not_covered), (None, vec![]));
    [stats.complete, stats.blocked, stats.spurious]
}

#[inline(never)]
fn swap_and_test(lock: &AtomicUsize) {
    while lock.swap(1, Acquire) == 1 {
        while lock.load(Relaxed) == 1 {
            hint::spin_loop();
        }
    }
}

#[inline(never)]
fn exchange_and_test(lock: &AtomicUsize) {
    while lock.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
        while lock.load(Relaxed) == 1 {
            thread::yield_now();
        }
    }
}

#[inline(never)]
fn exchange_weakly_and_test(lock: &AtomicUsize) {
    while lock.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
        while lock.load(Relaxed) == 1 {
            hint::spin_loop();
        }
    }
}

/// Without a test.
#[inline(never)]
fn exchange_weakly(lock: &AtomicUsize) {
    while lock.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
        hint::spin_loop();
    }
}

#[inline(never)]
fn test_and_swap(lock: &AtomicUsize) {
    loop {
        while lock.load(Relaxed) == 1 {
            hint::spin_loop();
        }
        if lock.swap(1, Acquire) == 0 {
            break;
        }
    }
}

#[inline(never)]
fn test_and_exchange(lock: &AtomicUsize) {
    while lock.load(Relaxed) == 1 || lock.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
        hint::spin_loop();
    }
}

#[inline(never)]
fn test_and_exchange_weakly(lock: &AtomicUsize) {
    while lock.load(Relaxed) == 1 || lock.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
        hint::spin_loop();
    }
}

/// The same, written otherwise.
#[inline(never)]
fn exchange_weakly_if_free(lock: &AtomicUsize) {
    loop {
        if lock.load(Relaxed) == 0 && lock.compare_exchange_weak(0, 1, Acquire, Relaxed).is_ok() {
            break;
        }
        hint::spin_loop();
    }
}

/// Without optimisation, what was found is left on the stack: this is about programs that are compiled as usual.
fn is_optimised() -> bool {
    !std::env::current_exe().expect("the program has a name").iter().any(|part| part == "debug")
}

#[test]
fn an_exchange_that_fails_has_no_execution() {
    let locks = [
        swap_and_test as Lock,
        exchange_and_test,
        exchange_weakly,
        exchange_weakly_and_test,
        test_and_swap,
        test_and_exchange,
        test_and_exchange_weakly,
        exchange_weakly_if_free,
    ];
    for lock in locks {
        let counts = [2, 3, 4].map(|threads| executions(threads, lock));
        assert!(!is_optimised() || counts == [[2, 0, 0], [6, 0, 0], [24, 0, 0]], "{counts:?}");
    }
}

/// A thread that waits with an exchange notices if that fails for no reason.
#[test]
fn what_is_noticed_of_an_exchange_that_fails_for_no_reason_is_found() {
    for notices in [false, true] {
        let stats = Builder::new().explore(move || {
            let x = Arc::new(AtomicUsize::new(1));
            let other = Arc::clone(&x);
            let handle = thread::spawn(move || other.store(0, Relaxed));
            let mut last = 1;
            while let Err(found) = x.compare_exchange_weak(0, 1, Acquire, Relaxed) {
                last = found;
                hint::spin_loop();
            }
            assert!(!notices || last == 1, "it has failed for no reason");
            handle.join().unwrap();
        });
        let failure = stats.failure.unwrap_or_default();
        assert_eq!(failure.contains("it has failed for no reason"), notices, "{failure}");
        assert_eq!(failure.contains("fails for no reason"), notices, "{failure}");
    }
}

/// The same in a loop whose test comes first.
#[test]
fn what_is_noticed_of_an_exchange_behind_a_test_is_found() {
    for (notices, threads) in [(false, 1), (true, 1), (false, 2), (true, 2)] {
        let stats = Builder::new().explore(move || {
            let x = Arc::new(AtomicUsize::new(0));
            let take = move |x: &AtomicUsize| {
                let mut free = false;
                while x.load(Relaxed) == 1
                    || x.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err_and(|found| {
                        free |= found == 0;
                        true
                    })
                {
                    hint::spin_loop();
                }
                x.store(0, Release);
                assert!(!notices || !free, "it has failed for no reason");
            };
            let start = |_| {
                let x = Arc::clone(&x);
                thread::spawn(move || take(&x))
            };
            let handles: Vec<_> = (1..threads).map(start).collect();
            take(&x);
            handles.into_iter().for_each(|handle| handle.join().unwrap());
        });
        let failure = stats.failure.unwrap_or_default();
        assert_eq!(failure.contains("it has failed for no reason"), notices, "{failure}");
    }
}

/// What makes the difference is that the exchange has failed with the lock free, and that the load has found something that was
/// stored after that. Where the exchange goes on at once, nobody has stored it yet.
#[test]
fn what_the_load_finds_after_an_exchange_that_fails_for_no_reason_is_found() {
    for (engine, model) in MODELS.map(|model| (Engine::Graph, model)).into_iter().chain([(Engine::Trace, MODELS[1])]) {
        let mut builder = Builder::new();
        (builder.engine, builder.memory_model) = (engine, model);
        let stats = builder.explore(|| {
            let x = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&x);
            let handle = thread::spawn(move || {
                other.store(7, Relaxed);
                other.store(0, Relaxed);
            });
            let mut both = false;
            while let Err(found) = x.compare_exchange_weak(0, 1, Acquire, Relaxed) {
                let seen = loop {
                    match x.load(Relaxed) {
                        1 => hint::spin_loop(),
                        seen => break seen,
                    }
                };
                both |= found == 0 && seen == 7;
            }
            assert!(!both, "free at first, and 7 then");
            handle.join().unwrap();
        });
        let failure = stats.failure.unwrap_or_default();
        assert!(failure.contains("free at first, and 7 then"), "{engine:?} {model:?}: {failure}");
    }
}

/// The load waits for something else than the exchange: a thread that has failed may be stuck where another is not.
#[test]
fn a_load_that_waits_where_the_exchange_would_not_is_stuck() {
    let stats = Builder::new().explore(|| {
        let x = Arc::new(AtomicUsize::new(1));
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || other.store(0, Relaxed));
        while x.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            while x.load(Relaxed) != 7 {
                hint::spin_loop();
            }
        }
        handle.join().unwrap();
    });
    let failure = stats.failure.unwrap_or_default();
    assert!(failure.contains("livelock"), "{failure:?}");
}

/// How something is taken.
#[derive(Clone, Copy, Debug)]
struct Taking {
    exchange: Exchange,
    /// It is had if this is found.
    free: usize,
    /// The load waits with these, by their bits.
    waits: usize,
    /// There is no load.
    blind: bool,
    /// The load comes first.
    first: bool,
    /// It also says that it waits after an exchange that has failed.
    pauses: bool,
    /// It gives up if the load has found this.
    ends: usize,
    leaves: Leaves,
}

#[derive(Clone, Copy, Debug)]
enum Exchange {
    Swap(usize),
    Strong(usize),
    Weak(usize),
    Or(usize),
    Add,
}

/// What a round that fails leaves.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Leaves {
    Nothing,
    /// How many there were; it gives up after two.
    Count,
    /// What was found last.
    Last,
    /// What the load has found last.
    Seen,
    /// Something that is not looked at.
    Rest,
    /// It looks at the other word.
    Other,
    /// It stores to the other word.
    Store,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Take(usize, Taking),
    Store(usize, usize),
    Load(usize),
    Swap(usize, usize),
}

type Program = Vec<Vec<Act>>;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 ^ self.0 >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as usize % n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn taking(&mut self) -> Taking {
        let taken = self.of(&[1, 1, 2]);
        let exchanges =
            [Exchange::Swap(taken), Exchange::Strong(taken), Exchange::Weak(taken), Exchange::Or(taken), Exchange::Add];
        // One that always changes the word does not wait.
        let kinds = if self.below(8) == 0 { 5 } else { 4 };
        let from = self.of(&[0, 0, 2]);
        let leaves = [Leaves::Count, Leaves::Last, Leaves::Seen, Leaves::Rest, Leaves::Other, Leaves::Store];
        Taking {
            exchange: self.of(&exchanges[from..kinds]),
            free: self.of(&[0, 0, 0, 0, 0, 0, 0, 2]),
            waits: self.of(&[0b0010, 0b0110, 0b0110, 0b0010, 0b1110, 0b1010, 0b0011]),
            blind: self.below(4) == 0,
            first: self.below(2) == 0,
            pauses: self.below(3) == 0,
            ends: self.of(&[3, 9, 9]),
            leaves: if self.below(2) == 0 { Leaves::Nothing } else { self.of(&leaves) },
        }
    }

    fn act(&mut self) -> Act {
        let word = self.of(&[0, 0, 0, 1]);
        match self.below(4) {
            0 => Act::Store(word, self.of(&[0, 0, 1, 2, 3])),
            1 => Act::Load(word),
            2 => Act::Swap(word, self.of(&[0, 0, 1, 2])),
            _ => Act::Take(0, self.taking()),
        }
    }

    fn program(&mut self) -> Program {
        let mut threads: Program = vec![Vec::new(); 2 + self.below(2)];
        let taking = self.taking();
        for thread in &mut threads {
            let mut taking = if self.below(3) == 0 { self.taking() } else { taking };
            if self.below(2) == 0 {
                taking.leaves = Leaves::Nothing;
            }
            let what = self.below(4);
            if what > 0 {
                thread.push(Act::Take(0, taking));
                thread.push(Act::Store(0, taking.free));
            }
            if what < 2 {
                thread.push(self.act());
            }
        }
        threads
    }
}

/// More rounds are not made where loops are not left to wait.
const ROUNDS: usize = 3;

/// Waits while a word has some value; what is found then.
fn wait(word: &AtomicUsize, taking: Taking, looks_once: bool) -> usize {
    let waits = |value: usize| value < 4 && taking.waits >> value & 1 == 1;
    if looks_once {
        let found = word.load(Relaxed);
        assume(!waits(found));
        return found;
    }
    loop {
        let found = word.load(Relaxed);
        if !waits(found) {
            return found;
        }
        hint::spin_loop();
    }
}

fn take(words: &[AtomicUsize; 2], word: usize, taking: Taking, looks_once: bool) -> usize {
    let [word, other] = [&words[word], &words[1 - word]];
    let (mut left, mut rest, mut rounds) = (0, 0, 0);
    let mut loads = taking.first && !taking.blind;
    loop {
        if loads {
            let found = wait(word, taking, looks_once);
            if found == taking.ends {
                return 100 + left;
            }
            match taking.leaves {
                Leaves::Seen => left = found,
                Leaves::Rest => rest = found + 7,
                Leaves::Other => left = other.load(Relaxed),
                Leaves::Store => other.store(3, Relaxed),
                _ => {}
            }
        }
        loads = !taking.blind;
        let found = match taking.exchange {
            Exchange::Swap(new) => word.swap(new, AcqRel),
            Exchange::Strong(new) => match word.compare_exchange(taking.free, new, Acquire, Relaxed) {
                Ok(found) => found,
                Err(found) => found,
            },
            Exchange::Weak(new) => match word.compare_exchange_weak(taking.free, new, SeqCst, Acquire) {
                Ok(found) => found,
                // For no reason: as if it were taken.
                Err(found) if found == taking.free => 1,
                Err(found) => found,
            },
            Exchange::Or(new) => word.fetch_or(new, Acquire),
            Exchange::Add => word.fetch_add(1, Acquire),
        };
        black_box(rest);
        if found == taking.free {
            return 10 + left;
        }
        match taking.leaves {
            Leaves::Count if left == 2 => return 20,
            Leaves::Count => left += 1,
            Leaves::Last => left = found,
            _ => {}
        }
        rounds += usize::from(looks_once);
        if looks_once {
            assume(rounds < ROUNDS);
        }
        if (taking.pauses || taking.blind) && !looks_once {
            hint::spin_loop();
        }
    }
}

fn act(words: &[AtomicUsize; 2], act: Act, looks_once: bool) -> usize {
    match act {
        Act::Take(word, taking) => take(words, word, taking, looks_once),
        Act::Store(word, value) => {
            words[word].store(value, Release);
            0
        }
        Act::Load(word) => words[word].load(Acquire),
        Act::Swap(word, value) => words[word].swap(value, AcqRel),
    }
}

type Outcomes = BTreeSet<Vec<usize>>;

/// Where the words are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Words {
    Shared,
    Leaked,
    Static,
}

fn explore(program: &Program, with: (Engine, MemoryModel), looks_once: bool) -> (Outcomes, Stats) {
    explore_in(Words::Shared, None, program, with, looks_once)
}

fn explore_in(
    kind: Words,
    bound: Option<usize>,
    program: &Program,
    (engine, model): (Engine, MemoryModel),
    looks_once: bool,
) -> (Outcomes, Stats) {
    let seen = Arc::new(Mutex::new(Outcomes::new()));
    let (noted, program) = (Arc::clone(&seen), Arc::new(program.clone()));
    let mut builder = Builder::new();
    (builder.engine, builder.memory_model) = (engine, model);
    (builder.max_branches, builder.max_permutations) = (300, Some(4000));
    (builder.preemption_bound, builder.bound_after) = (bound, 0);
    let stats = builder.explore(move || match kind {
        Words::Shared => {
            let words = Arc::new([const { AtomicUsize::new(0) }; 2]);
            run(&program, || Arc::clone(&words), looks_once, &noted);
        }
        Words::Leaked => {
            let words: &'static _ = Box::leak(Box::new([const { AtomicUsize::new(0) }; 2]));
            run(&program, || words, looks_once, &noted);
        }
        Words::Static => {
            static WORDS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
            run(&program, || &WORDS, looks_once, &noted);
        }
    });
    let outcomes = std::mem::take(&mut *seen.lock().unwrap());
    (outcomes, stats)
}

fn run<W: std::ops::Deref<Target = [AtomicUsize; 2]> + Send + 'static>(
    program: &Arc<Program>,
    words: impl Fn() -> W,
    looks_once: bool,
    noted: &Mutex<Outcomes>,
) {
    let start = |n: usize| {
        let (words, program) = (words(), Arc::clone(program));
        thread::spawn(move || program[n].iter().fold(0, |all, &a| 1000 * all + act(&words, a, looks_once)))
    };
    let handles: Vec<_> = (0..program.len()).map(start).collect();
    let mut outcome: Vec<usize> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
    outcome.extend(words().each_ref().map(|word| word.load(Relaxed)));
    noted.lock().unwrap().insert(outcome);
}

/// Whether what was found is all that there is.
fn is_whole(stats: &Stats) -> bool {
    let ended = |what: &String| what.contains("ended at the first failure");
    stats.not_covered.iter().all(ended)
        && !stats.failure.as_ref().is_some_and(|failure| failure.contains("max_branches"))
}

/// Compares a program with what else is known of it; whether that could be done.
fn check(program: &Program, model: MemoryModel) -> Result<bool, String> {
    let (found, stats) = explore(program, (Engine::Graph, model), false);
    if !is_whole(&stats) {
        return Ok(false);
    }
    if model == MemoryModel::Sc {
        let (wanted, all) = explore(program, (Engine::Trace, model), false);
        if is_whole(&all) && all.failure.is_some() != stats.failure.is_some() {
            return Err(format!("failures: {:?}, the trace engine has {:?}", stats.failure, all.failure));
        }
        if is_whole(&all) && all.failure.is_none() && found != wanted {
            return Err(format!("{found:?}, the trace engine has {wanted:?}"));
        }
    }
    if stats.failure.is_some() {
        return Ok(true);
    }
    let (wanted, all) = explore(program, (Engine::Graph, model), true);
    if is_whole(&all) && all.failure.is_none() {
        let lost: Vec<_> = wanted.difference(&found).collect();
        let more: Vec<_> = found.difference(&wanted).collect();
        // What changes the word and fails may do so more often than here.
        let changes =
            |a: &Act| matches!(a, Act::Take(_, t) if !matches!(t.exchange, Exchange::Strong(_) | Exchange::Weak(_)));
        let may_be_more = program.iter().flatten().any(changes);
        if !lost.is_empty() || !more.is_empty() && !may_be_more {
            return Err(format!("lost {lost:?}, more {more:?}, {:?}", stats.notes));
        }
    }
    Ok(true)
}

#[test]
fn random_programs_have_all_their_outcomes() {
    let number = |name, otherwise| std::env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let (from, count) = (number("FROM", 0), number("COUNT", 300_u64));
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
    assert!(compared > count / 2, "{compared}");
}

#[test]
fn an_exploration_has_as_many_executions_as_the_next_one() {
    let number = |name, otherwise| std::env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let (from, count) = (number("FROM", 0), number("COUNT", 60_u64));
    let mut differ = Vec::new();
    for seed in from..from + count {
        let program = Random(seed).program();
        let counts = |n: u64| {
            // Memory is not where it was the time before.
            std::mem::forget(vec![0_u8; 16 * (n as usize % 7)]);
            let stats = explore(&program, (Engine::Graph, MODELS[(seed % 4) as usize]), false).1;
            (stats.complete, stats.blocked, stats.spurious, stats.failure.is_some())
        };
        let first = counts(0);
        if let Some(other) = (1..6).map(counts).find(|other| *other != first) {
            differ.push((seed, first, other));
        }
    }
    assert!(differ.is_empty(), "{differ:?}");
}

/// That an object is met for the first time is noted in it: in memory that is compared, or in a static, which is not.
#[test]
fn where_words_are_makes_no_difference() {
    let number = |name, otherwise| std::env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let (from, count) = (number("FROM", 50), number("COUNT", 25_u64));
    let mut compared = 0;
    for seed in (from..from + count).chain([150, 305]) {
        let program = Random(seed).program();
        for bound in [None, Some(1)] {
            let with = (Engine::Graph, MODELS[(seed % 4) as usize]);
            let [leaked, fixed] = [Words::Leaked, Words::Static].map(|kind| {
                let (outcomes, stats) = explore_in(kind, bound, &program, with, false);
                compared += u64::from(is_whole(&stats));
                (outcomes, stats.complete, stats.blocked, stats.spurious, stats.failure.is_some())
            });
            assert_eq!(leaked, fixed, "{seed} {bound:?}");
        }
    }
    assert!(compared > count, "{compared}");
}

//! Runs a program as a model's closure.

use super::program::{Act, Before, Leaves, Look, Pause, Program, Retry, Spin, SpinKind, Stops, Then, WORDS, function};
use super::world::sync::atomic::{AtomicUsize, fence};
use super::world::sync::{Arc, Condvar, Mutex, mpsc};
use super::world::{assume, hint, is_tried_out, local, thread};
use std::cell::Cell;
use std::collections::BTreeSet;
pub use std::sync::atomic::Ordering as Order;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// What threads have seen, and what is there in the end.
pub type Outcome = Vec<usize>;
pub type Outcomes = std::sync::Arc<std::sync::Mutex<BTreeSet<Outcome>>>;

/// A thread does at most so much.
pub const LONGEST: usize = 4;

struct Shared {
    program: std::sync::Arc<Program>,
    words: [AtomicUsize; WORDS],
    count: Mutex<usize>,
    changed: Condvar,
    /// Whether a loop that waits looks once, and is given up with what it does not wait for.
    looks_once: bool,
}

/// Runs a program; `looks_once` says whether loops that wait look once, and assume that they see what they wait for.
pub fn run(program: &std::sync::Arc<Program>, outcomes: &Outcomes, looks_once: bool) {
    let shared = Arc::new(Shared {
        program: program.clone(),
        words: std::array::from_fn(|_| AtomicUsize::new(0)),
        count: Mutex::new(0),
        changed: Condvar::new(),
        looks_once,
    });
    let uses = |act: &Act| matches!(act, Act::Send(_) | Act::Receive);
    let (sender, receiver) = program.threads.iter().flatten().any(uses).then(mpsc::channel).unzip();
    let handles: Vec<_> = (1..program.threads.len())
        .map(|n| {
            let (shared, sender) = (shared.clone(), sender.clone());
            thread::spawn(move || acts(&shared, n, sender.as_ref(), None))
        })
        .collect();
    let threads: Vec<thread::Thread> = handles.iter().map(|handle| handle.thread().clone()).collect();
    let first = acts(&shared, 0, sender.as_ref(), Some((receiver.as_ref(), &threads)));
    let mut outcome = first.to_vec();
    handles.into_iter().for_each(|handle| outcome.extend(handle.join().unwrap()));
    outcome.extend(shared.words.iter().map(|word| word.load(Relaxed)));
    outcome.push(*shared.count.lock().unwrap());
    if !is_tried_out() {
        outcomes.lock().unwrap().insert(outcome);
    }
}

type First<'a> = Option<(Option<&'a mpsc::Receiver<usize>>, &'a [thread::Thread])>;

fn acts(shared: &Shared, thread: usize, sender: Option<&mpsc::Sender<usize>>, first: First<'_>) -> [usize; LONGEST] {
    let mut seen = [0; LONGEST];
    for (n, act) in shared.program.threads[thread].iter().enumerate() {
        seen[n] = match *act {
            Act::Retry(retry) => match retry.then {
                Then::On => retry_on(shared, &retry),
                Then::Back => retry_back(shared, &retry),
                Then::Elsewhere => retry_elsewhere(shared, &retry),
            },
            Act::Spin(spin) if shared.looks_once => look_once(shared, &spin),
            Act::Spin(spin) => wait(shared, &spin),
            Act::Send(value) => sender.map_or(0, |sender| sender.send(value).map_or(7, |()| 0)),
            Act::Receive => first.and_then(|(receiver, _)| receiver).map_or(0, |receiver| receiver.recv().unwrap()),
            Act::Park => {
                thread::park();
                0
            }
            Act::Unpark(other) => {
                if let Some((_, threads)) = first {
                    threads[other - 1].unpark();
                }
                0
            }
            other => access(shared, other),
        };
    }
    seen
}

/// What a load of a read-modify-write's order is.
pub fn loads(order: Order) -> Order {
    match order {
        Release => Relaxed,
        AcqRel => Acquire,
        other => other,
    }
}

fn access(shared: &Shared, act: Act) -> usize {
    let words = &shared.words;
    match act {
        Act::Load(word, order) => words[word].load(order),
        Act::Expect(word, value, order) => {
            let found = words[word].load(order);
            assume(found == value);
            found
        }
        Act::Store(word, value, order) => {
            words[word].store(value, order);
            0
        }
        Act::Add(word, order) => words[word].fetch_add(1, order),
        Act::AddNothing(word, order) => words[word].fetch_add(0, order),
        Act::Swap(word, value, order) => words[word].swap(value, order),
        Act::Exchange { word, expected, new, success, failure } => {
            match words[word].compare_exchange(expected, new, success, failure) {
                Ok(old) => old,
                Err(old) => 100 + old,
            }
        }
        Act::Fence(order) => {
            fence(order);
            0
        }
        Act::Update { word, function: f, set, fetch, counts } => {
            let mut calls = 0;
            let update = |old: usize| {
                calls += usize::from(counts);
                (old < 3).then(|| function(f, old))
            };
            let result = words[word].fetch_update(set, fetch, update);
            100 * calls + result.unwrap_or_else(|old| 50 + old)
        }
        Act::Lock => {
            let mut count = shared.count.lock().unwrap();
            *count += 1;
            *count
        }
        Act::TryLock => shared.count.try_lock().map_or(9, |mut count| {
            *count += 1;
            *count
        }),
        Act::Wait => {
            let mut count = shared.count.lock().unwrap();
            while *count == 0 {
                count = shared.changed.wait(count).unwrap();
            }
            *count
        }
        Act::Wake(all) => {
            let mut count = shared.count.lock().unwrap();
            *count += 1;
            if all {
                shared.changed.notify_all();
            } else {
                shared.changed.notify_one();
            }
            *count
        }
        _ => unreachable!("the others are made elsewhere"),
    }
}

/// What attempts have left.
struct Left {
    count: usize,
    fails: usize,
    heap: Option<Box<Cell<usize>>>,
}

impl Left {
    fn new(retry: &Retry) -> Left {
        if retry.leaves == Leaves::InLocal {
            local(Some(0));
        }
        let heap = (retry.leaves == Leaves::OnHeap).then(|| Box::new(Cell::new(0)));
        Left { count: 0, fails: 0, heap }
    }

    /// An attempt has failed; whether the loop is given up.
    #[inline(never)]
    fn failed(&mut self, shared: &Shared, retry: &Retry, (old, seen, found): (usize, usize, usize)) -> bool {
        match retry.leaves {
            Leaves::Nothing => {}
            Leaves::Count => self.count += 1,
            Leaves::OnHeap => {
                if let Some(heap) = &self.heap {
                    heap.set(heap.get() + 1);
                }
            }
            Leaves::InLocal => {
                local(Some(local(None) + 1));
            }
            Leaves::IfOther(value) => self.count += usize::from(seen == value),
            Leaves::IfOld(value) => self.count += usize::from(old == value),
            Leaves::IfFound(value) => self.count += usize::from(found == value),
            Leaves::Last => self.count = old + 1,
            Leaves::Odd => self.count ^= 1,
            Leaves::Store(value) => shared.words[retry.other].store(value, Relaxed),
            Leaves::Two => self.count = if self.count == 0 { 1 } else { 2 },
            Leaves::Boxes => drop(std::hint::black_box(Box::new(found))),
        }
        match retry.pause {
            Pause::No => {}
            Pause::SpinLoop => hint::spin_loop(),
            Pause::Yield => thread::yield_now(),
        }
        if let Some(most) = retry.gives_up {
            self.fails += 1;
            return self.fails == most;
        }
        false
    }

    fn result(&self, retry: &Retry, old: usize, seen: usize) -> usize {
        let count = match retry.leaves {
            Leaves::InLocal => local(None),
            Leaves::OnHeap => self.heap.as_ref().map_or(0, |heap| heap.get()),
            Leaves::Two => self.count / 2,
            _ => self.count,
        };
        old + 10 * seen + 100 * count
    }
}

/// Whether an attempt is not made, with what it has loaded and seen.
fn stops(retry: &Retry, old: usize, seen: usize) -> bool {
    match retry.stops {
        Stops::Never => false,
        Stops::AssumesOld(value) => {
            assume(old != value);
            false
        }
        Stops::AssumesSeen(value) => {
            assume(seen != value);
            false
        }
        Stops::LeavesIfSeen(value) => seen == value,
    }
}

/// What an attempt does between the load and the exchange; what it has seen.
#[inline(never)]
fn between(shared: &Shared, retry: &Retry, own: &AtomicUsize, old: usize) -> usize {
    if retry.own {
        own.store(old, Relaxed);
    }
    match retry.look {
        Look::Never => 0,
        Look::Always(order) => shared.words[retry.other].load(order),
        Look::If(value, order) if value == old => shared.words[retry.other].load(order),
        Look::If(..) => 0,
        Look::Same(order) => shared.words[retry.word].load(order),
    }
}

#[inline(never)]
fn retry_on(shared: &Shared, retry: &Retry) -> usize {
    let word = &shared.words[retry.word];
    let own = Box::new(AtomicUsize::new(0));
    let mut left = Left::new(retry);
    let mut old = word.load(retry.load);
    loop {
        if retry.ends == Some(old) {
            return left.result(retry, old, 1000);
        }
        let seen = between(shared, retry, &own, old);
        if stops(retry, old, seen) {
            return left.result(retry, old, 1000);
        }
        let new = function(retry.function, old);
        let result = match retry.weak {
            true => word.compare_exchange_weak(old, new, retry.success, retry.failure),
            false => word.compare_exchange(old, new, retry.success, retry.failure),
        };
        match result {
            Ok(_) => return left.result(retry, old, seen),
            Err(found) => {
                if left.failed(shared, retry, (old, seen, found)) {
                    return left.result(retry, found, 2000);
                }
                old = found;
            }
        }
    }
}

#[inline(never)]
fn retry_back(shared: &Shared, retry: &Retry) -> usize {
    let word = &shared.words[retry.word];
    let own = Box::new(AtomicUsize::new(0));
    let mut left = Left::new(retry);
    loop {
        if retry.before != Before::Nothing {
            if shared.words[retry.other].load(retry.load) == 1 {
                return left.result(retry, 7, 1000);
            }
            if retry.before == Before::Forgets {
                left.count = 0;
            }
        }
        let old = word.load(retry.load);
        if retry.ends == Some(old) {
            return left.result(retry, old, 1000);
        }
        let seen = between(shared, retry, &own, old);
        if stops(retry, old, seen) {
            return left.result(retry, old, 1000);
        }
        let new = function(retry.function, old);
        let result = match retry.weak {
            true => word.compare_exchange_weak(old, new, retry.success, retry.failure),
            false => word.compare_exchange(old, new, retry.success, retry.failure),
        };
        match result {
            Ok(_) => return left.result(retry, old, seen),
            Err(found) => {
                if left.failed(shared, retry, (old, seen, found)) {
                    return left.result(retry, found, 2000);
                }
            }
        }
    }
}

#[inline(never)]
fn retry_elsewhere(shared: &Shared, retry: &Retry) -> usize {
    let word = &shared.words[retry.word];
    let own = Box::new(AtomicUsize::new(0));
    let mut left = Left::new(retry);
    let mut old = word.load(retry.load);
    loop {
        if retry.ends == Some(old) {
            return left.result(retry, old, 1000);
        }
        let seen = between(shared, retry, &own, old);
        if stops(retry, old, seen) {
            return left.result(retry, old, 1000);
        }
        let new = function(retry.function, old);
        let result = match retry.weak {
            true => word.compare_exchange_weak(old, new, retry.success, retry.failure),
            false => word.compare_exchange(old, new, retry.success, retry.failure),
        };
        match result {
            Ok(_) => return left.result(retry, old, seen),
            Err(found) => {
                if left.failed(shared, retry, (old, seen, found)) {
                    return left.result(retry, found, 2000);
                }
                old = word.load(retry.load);
            }
        }
    }
}

fn pause(spin: &Spin) {
    if spin.yields {
        thread::yield_now();
    } else {
        hint::spin_loop();
    }
}

/// A loop that waits.
#[inline(never)]
fn wait(shared: &Shared, spin: &Spin) -> usize {
    let (word, other) = (&shared.words[spin.word], &shared.words[spin.other]);
    let (order, load, until) = (spin.order, loads(spin.order), spin.until);
    match spin.kind {
        SpinKind::Load => {
            while word.load(load) < until {
                pause(spin);
            }
            0
        }
        SpinKind::Two => loop {
            let found = [word.load(load), other.load(load)];
            if found[0] + found[1] >= until {
                return found[0] + 10 * found[1];
            }
            pause(spin);
        },
        SpinKind::Swap => {
            while word.swap(1, order) == 1 {
                pause(spin);
            }
            0
        }
        SpinKind::Exchange => {
            while word.compare_exchange(until, until + 1, order, load).is_err() {
                pause(spin);
            }
            0
        }
        SpinKind::LoadThenExchange => loop {
            if word.load(Relaxed) == until && word.compare_exchange(until, until + 1, order, load).is_ok() {
                return 0;
            }
            pause(spin);
        },
        SpinKind::Counts => {
            let mut count = 0;
            while word.load(load) < until && count < 3 {
                count += 1;
                pause(spin);
            }
            count
        }
        SpinKind::CountsOnHeap => {
            let count = Box::new(Cell::new(0));
            while word.load(load) < until && count.get() < 3 {
                count.set(count.get() + 1);
                pause(spin);
            }
            count.get()
        }
        SpinKind::Change => {
            let first = word.load(load);
            loop {
                let now = word.load(load);
                if now != first {
                    return first + 10 * now;
                }
                pause(spin);
            }
        }
        SpinKind::Leaves => loop {
            let found = word.load(load);
            if found >= until {
                return found;
            }
            let says = other.load(Relaxed);
            if says > 0 {
                return 100 + says;
            }
            pause(spin);
        },
        SpinKind::TryLock => loop {
            if let Ok(mut count) = shared.count.try_lock() {
                *count += 1;
                return *count;
            }
            pause(spin);
        },
    }
}

/// What a loop that waits comes to in the end, without the looks before. One that does more than that has them all.
#[inline(never)]
fn look_once(shared: &Shared, spin: &Spin) -> usize {
    let (word, other) = (&shared.words[spin.word], &shared.words[spin.other]);
    let (order, load, until) = (spin.order, loads(spin.order), spin.until);
    match spin.kind {
        SpinKind::Load => {
            assume(word.load(load) >= until);
            0
        }
        SpinKind::Two => {
            let found = [word.load(load), other.load(load)];
            assume(found[0] + found[1] >= until);
            found[0] + 10 * found[1]
        }
        SpinKind::Swap => {
            assume(word.swap(1, order) != 1);
            0
        }
        SpinKind::Exchange => {
            assume(word.compare_exchange(until, until + 1, order, load).is_ok());
            0
        }
        SpinKind::LoadThenExchange => {
            assume(word.load(Relaxed) == until && word.compare_exchange(until, until + 1, order, load).is_ok());
            0
        }
        SpinKind::Counts | SpinKind::CountsOnHeap => {
            let mut count = 0;
            while word.load(load) < until && count < 3 {
                count += 1;
            }
            count
        }
        SpinKind::Change => {
            let first = word.load(load);
            let now = word.load(load);
            assume(now != first);
            first + 10 * now
        }
        SpinKind::Leaves => {
            let found = word.load(load);
            if found >= until {
                return found;
            }
            let says = other.load(Relaxed);
            assume(says > 0);
            100 + says
        }
        SpinKind::TryLock => {
            let count = shared.count.try_lock();
            assume(count.is_ok());
            count.map_or(0, |mut count| {
                *count += 1;
                *count
            })
        }
    }
}

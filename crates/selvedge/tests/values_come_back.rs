//! Values that come back: an exchange may find what was loaded before, but from another write. If it comes directly after the
//! load, that makes no difference, and is no execution of its own; if not, or if the load orders more, it may make one.

#![allow(unsafe_code)]

use selvedge::cell::UnsafeCell;
use selvedge::model::{Builder, Stats};
use selvedge::sync::Arc;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
use selvedge::thread;
use std::collections::BTreeSet;
use std::ptr;
use std::sync::Mutex;

type Outcomes = BTreeSet<Vec<bool>>;

/// How a model is explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    /// Without executions for attempts that fail.
    Together,
    /// In the same way, with a bound that nothing exceeds.
    Bounded,
    /// With executions for attempts that fail.
    OneByOne,
}

/// Explores a model, and what its executions end with.
fn explore(how: How, f: impl Fn() -> Vec<bool> + Send + Sync + 'static) -> (Stats, Outcomes) {
    let outcomes = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let noted = std::sync::Arc::clone(&outcomes);
    let mut builder = Builder::new();
    builder.attempts_one_by_one = how == How::OneByOne;
    builder.preemption_bound = (how == How::Bounded).then_some(30);
    builder.bound_after = 0;
    let stats = builder.explore(move || {
        let outcome = f();
        if !selvedge::model::is_tried_out() {
            noted.lock().unwrap().insert(outcome);
        }
    });
    let outcomes = outcomes.lock().unwrap().clone();
    (stats, outcomes)
}

/// Something that is counted.
trait Counted: Clone + Send + 'static {
    fn new() -> Self;
    /// One more, if there are any, and then one less; whether there were any.
    fn up_and_down(&self) -> bool;
    /// The first one is given up.
    fn down(&self);
}

#[derive(Clone)]
struct ByHand(Arc<AtomicUsize>);

impl Counted for ByHand {
    fn new() -> ByHand {
        ByHand(Arc::new(AtomicUsize::new(1)))
    }

    fn up_and_down(&self) -> bool {
        let mut count = self.0.load(Relaxed);
        loop {
            if count == 0 {
                return false;
            }
            match self.0.compare_exchange_weak(count, count + 1, Acquire, Relaxed) {
                Ok(_) => break,
                Err(now) => count = now,
            }
        }
        self.down();
        true
    }

    fn down(&self) {
        self.0.fetch_sub(1, Release);
    }
}

#[derive(Clone)]
struct Update(ByHand);

impl Counted for Update {
    fn new() -> Update {
        Update(ByHand::new())
    }

    fn up_and_down(&self) -> bool {
        let more = |count| if count == 0 { None } else { Some(count + 1) };
        let is_there = self.0.0.fetch_update(Acquire, Relaxed, more).is_ok();
        if is_there {
            self.down();
        }
        is_there
    }

    fn down(&self) {
        self.0.down();
    }
}

/// A `Weak` reference, and where the `Arc` is.
#[derive(Clone)]
struct Weak(selvedge::sync::Weak<AtomicUsize>, std::sync::Arc<Mutex<Option<Arc<AtomicUsize>>>>);

impl Counted for Weak {
    fn new() -> Weak {
        let counted = Arc::new(AtomicUsize::new(0));
        Weak(Arc::downgrade(&counted), std::sync::Arc::new(Mutex::new(Some(counted))))
    }

    fn up_and_down(&self) -> bool {
        self.0.upgrade().is_some()
    }

    fn down(&self) {
        let counted = self.1.lock().unwrap().take();
        drop(counted);
    }
}

/// Threads that count up and down; whether the first one is given up before they have ended.
fn count<C: Counted>(threads: usize, times: usize, early: bool) -> Vec<bool> {
    let counted = C::new();
    let each = move |counted: &C| (0..times).map(|_| counted.up_and_down()).collect::<Vec<bool>>();
    let handles: Vec<_> = (1..threads)
        .map(|_| {
            let counted = counted.clone();
            thread::spawn(move || each(&counted))
        })
        .collect();
    let mut all = if early { Vec::new() } else { each(&counted) };
    if early {
        counted.down();
    }
    all.extend(handles.into_iter().flat_map(|handle| handle.join().unwrap()));
    if !early {
        counted.down();
    }
    all
}

/// Whether the compiler leaves no values on the stack that do not matter (`machine/awaits.rs`).
fn is_optimised() -> bool {
    !std::env::current_exe().expect("the program has a name").iter().any(|part| part == "debug")
}

fn counts<C: Counted>(name: &str) {
    // So many orders are there of what is done to the count.
    for (threads, times, orders) in [(2, 1, 6), (2, 2, 70), (3, 1, 90)] {
        for how in [How::Together, How::Bounded] {
            let (stats, _) = explore(how, move || count::<C>(threads, times, false));
            assert_eq!(stats.failure, None);
            if is_optimised() || name != "by hand" {
                let found = (stats.complete, stats.blocked);
                assert_eq!(found, (orders, 0), "{name}, {threads}, {times}, {how:?}: {:?}", stats.notes);
            }
        }
    }
    for (threads, times, executions) in [(3, 1, 25), (3, 2, 405)] {
        let (all, expected) = explore(How::OneByOne, move || count::<C>(threads, times, true));
        assert_eq!(all.failure, None);
        for how in [How::Together, How::Bounded] {
            let (stats, outcomes) = explore(how, move || count::<C>(threads, times, true));
            assert_eq!(stats.failure, None);
            assert_eq!(outcomes, expected, "{name}, {threads}, {times}, {how:?}");
            if is_optimised() || name != "by hand" {
                let found = (stats.complete, stats.blocked);
                assert_eq!(found, (executions, 0), "{name}, {threads}, {times}, {how:?}: {:?}", stats.notes);
            }
        }
    }
}

#[test]
fn counts_by_hand_have_one_execution_for_every_order() {
    counts::<ByHand>("by hand");
}

#[test]
fn counts_that_are_updated_have_one_execution_for_every_order() {
    counts::<Update>("updates");
}

#[test]
fn weak_references_have_one_execution_for_every_order() {
    counts::<Weak>("weak references");
}

struct Node {
    next: AtomicPtr<Node>,
}

/// A node is pushed, after it was made known that it is there. Before that, another thread has pushed something and taken it away again, after it has stored to `y`. Somebody else
/// hands the node on, and a fourth thread that has got it says whether it has not seen what was stored to `y`.
fn hand_on(load: Ordering, store: Ordering, success: Ordering, looks: bool) -> Vec<bool> {
    struct Shared {
        top: AtomicPtr<Node>,
        y: AtomicUsize,
        is_made: AtomicUsize,
        handed_on: AtomicPtr<Node>,
    }
    let null = || AtomicPtr::new(ptr::null_mut());
    let shared =
        Arc::new(Shared { top: null(), y: AtomicUsize::new(0), is_made: AtomicUsize::new(0), handed_on: null() });
    let spawn = |f: fn(&Shared) -> bool| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || f(&shared))
    };
    let first = spawn(|shared| {
        shared.y.store(1, Relaxed);
        fence(SeqCst);
        shared.top.swap(ptr::without_provenance_mut(8), Relaxed);
        shared.top.swap(ptr::null_mut(), Release);
        false
    });
    let pushing = Arc::clone(&shared);
    let second = thread::spawn(move || {
        let node = Box::into_raw(Box::new(Node { next: AtomicPtr::new(ptr::without_provenance_mut(16)) }));
        pushing.is_made.store(1, Release);
        loop {
            let top = pushing.top.load(load);
            // SAFETY: nodes are not freed.
            unsafe { (*node).next.store(top, store) };
            if pushing.top.compare_exchange(top, node, success, Relaxed).is_ok() {
                return true;
            }
        }
    });
    let third = spawn(|shared| {
        let top = shared.top.load(Relaxed);
        if top.addr() > 8 {
            shared.handed_on.store(top, Relaxed);
        }
        top.addr() > 8
    });
    let fourth = match looks {
        true => spawn(|shared| has_not_seen(shared, |node| node.next.load(Acquire).is_null())),
        false => spawn(|shared| {
            has_not_seen(shared, |node| {
                node.next.store(ptr::without_provenance_mut(24), Relaxed);
                true
            })
        }),
    };
    fn has_not_seen(shared: &Shared, f: impl Fn(&Node) -> bool) -> bool {
        if shared.is_made.load(Acquire) == 0 {
            return false;
        }
        let node = shared.handed_on.load(Relaxed);
        // SAFETY: nodes are not freed, and nothing in them is plain.
        let Some(node) = (unsafe { node.as_ref() }) else { return false };
        let is_stored = f(node);
        fence(SeqCst);
        shared.y.load(Relaxed) == 0 && is_stored
    }
    let mut all: Vec<bool> = [first, second, third, fourth].into_iter().map(|handle| handle.join().unwrap()).collect();
    // Whether the node is there at the end, and what is stored there.
    let top = shared.top.load(Relaxed);
    // SAFETY: as above.
    let next = unsafe { top.as_ref() }.map(|node| node.next.load(Relaxed).addr());
    all.extend([next.is_some(), next == Some(24)]);
    all
}

fn is_found(load: Ordering, store: Ordering, success: Ordering, looks: bool) {
    let (all, expected) = explore(How::OneByOne, move || hand_on(load, store, success, looks));
    assert_eq!(all.failure, None);
    // The node is the last that was pushed, and what came before it is not seen.
    assert!(expected.contains(&vec![false, true, true, true, true, !looks]));
    for how in [How::Together, How::Bounded] {
        let (stats, found) = explore(how, move || hand_on(load, store, success, looks));
        assert_eq!(stats.failure, None);
        assert_eq!(found, expected, "{how:?}");
    }
}

/// The load reads from what was there first; then who acquires what is stored before the exchange need not see what came before the
/// write that the exchange reads from.
#[test]
fn a_store_that_others_acquire_may_come_before_what_the_exchange_finds() {
    is_found(Relaxed, Release, Relaxed, true);
}

/// The same if somebody overwrites what is stored, and the load would have ordered it.
#[test]
fn a_load_that_acquires_may_come_before_what_the_exchange_finds() {
    is_found(Acquire, Relaxed, Acquire, false);
}

/// Only the load acquires. If it reads from the first write, and the exchange from the last, there is a race.
#[test]
fn a_load_that_orders_more_than_the_exchange_may_read_something_older() {
    let race = |how: How, set: Ordering| {
        let (stats, _) = explore(how, move || {
            let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0), UnsafeCell::new(0)));
            let writing = Arc::clone(&shared);
            let writer = thread::spawn(move || {
                let (x, y, data) = &*writing;
                if x.fetch_add(1, Relaxed) == 0 {
                    // SAFETY: it is looked for races.
                    data.with_mut(|data| unsafe { *data = 1 });
                    x.fetch_sub(1, Release);
                    y.store(1, Relaxed);
                }
            });
            let (x, y, data) = &*shared;
            let is_set = x.fetch_update(set, Acquire, |now| if now == 0 { Some(5) } else { None }).is_ok();
            if is_set && y.load(Relaxed) == 1 {
                // SAFETY: as above.
                data.with(|data| assert_eq!(unsafe { *data }, 1));
            }
            writer.join().unwrap();
            vec![]
        });
        stats.failure
    };
    for how in [How::Together, How::Bounded] {
        assert_eq!(race(how, AcqRel), None);
        assert!(race(how, Relaxed).is_some_and(|failure| failure.contains("race")), "{how:?}");
    }
}

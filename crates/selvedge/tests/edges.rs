//! What does not synchronise: programs in which nothing else orders two accesses to a cell.

// Cells are shared without a lock, which is what is looked for.
#![allow(unsafe_code)]

use selvedge::cell::{Cell, RawCell, UnsafeCell};
use selvedge::model::{Builder, Engine, Stats};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::Relaxed;
use selvedge::sync::mpsc::{SyncSender, TryRecvError, TrySendError, channel, sync_channel};
use selvedge::sync::{Arc, Condvar, Mutex, OnceLock, RwLock};
use selvedge::thread;
use std::time::Duration;

/// A cell that threads share.
struct Shared(UnsafeCell<usize>);

// SAFETY: whether two threads use it at a time is what is looked for.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Shared {
    fn new() -> Arc<Shared> {
        Arc::new(Shared(UnsafeCell::new(0)))
    }

    fn write(&self) {
        // SAFETY: a race is reported before.
        self.0.with_mut(|p| unsafe { *p = 1 });
    }

    fn read(&self) {
        self.0.with(|_| ());
    }
}

/// Explores a model with both engines, with and without what happens for no reason.
fn all(body: impl Fn() + Send + Sync + Copy + 'static) -> [Stats; 4] {
    [(Engine::Graph, true), (Engine::Graph, false), (Engine::Trace, true), (Engine::Trace, false)].map(
        |(engine, spurious)| {
            let mut builder = Builder::new();
            (builder.engine, builder.spurious) = (engine, spurious);
            builder.explore(body)
        },
    )
}

fn races(body: impl Fn() + Send + Sync + Copy + 'static) {
    for stats in all(body) {
        assert!(stats.failure.as_ref().is_some_and(|failure| failure.starts_with("data-race")), "{stats:?}");
    }
}

fn passes(body: impl Fn() + Send + Sync + Copy + 'static) {
    for stats in all(body) {
        assert_eq!(stats.failure, None);
    }
}

#[test]
fn a_notification_that_ends_a_wait_orders_nothing() {
    races(|| {
        let (cell, both) = (Shared::new(), Arc::new((Mutex::new(()), Condvar::new(), Condvar::new())));
        let (other, theirs) = (Arc::clone(&cell), Arc::clone(&both));
        let handle = thread::spawn(move || {
            other.write();
            theirs.1.notify_all();
            theirs.2.notify_all();
        });
        let guard = both.0.lock().unwrap();
        let (guard, first) = both.1.wait_timeout(guard, Duration::from_secs(1)).unwrap();
        let (guard, second) = both.2.wait_timeout(guard, Duration::from_secs(1)).unwrap();
        // A thread wakes once for no reason, so one of these was a notification.
        if !first.timed_out() && !second.timed_out() {
            cell.read();
        }
        drop(guard);
        handle.join().unwrap();
    });
}

#[test]
fn the_mutex_of_a_condition_variable_does() {
    passes(|| {
        let (cell, both) = (Shared::new(), Arc::new((Mutex::new(false), Condvar::new())));
        let (other, theirs) = (Arc::clone(&cell), Arc::clone(&both));
        let handle = thread::spawn(move || {
            other.write();
            *theirs.0.lock().unwrap() = true;
            theirs.1.notify_all();
        });
        let guard = both.1.wait_while(both.0.lock().unwrap(), |is_set| !*is_set).unwrap();
        cell.read();
        drop(guard);
        handle.join().unwrap();
    });
}

/// A thread writes to a cell and does something with one end of a channel. Who has the other end reads the cell if it finds out.
fn at_both_ends<A: Send + 'static, B>((theirs, ours): (A, B), leave: fn(A), finds_out: fn(B) -> bool) {
    let cell = Shared::new();
    let other = Arc::clone(&cell);
    let handle = thread::spawn(move || {
        other.write();
        leave(theirs);
    });
    if finds_out(ours) {
        cell.read();
    }
    handle.join().unwrap();
}

#[test]
fn that_all_senders_are_gone_orders_nothing() {
    races(|| at_both_ends(channel::<()>(), drop, |receiver| receiver.recv().is_err()));
    races(|| at_both_ends(sync_channel::<()>(1), drop, |receiver| receiver.recv().is_err()));
    races(|| {
        at_both_ends(channel::<()>(), drop, |receiver| receiver.try_recv() == Err(TryRecvError::Disconnected));
    });
}

#[test]
fn what_was_sent_before_that_does() {
    passes(|| at_both_ends(channel(), |sender| sender.send(()).unwrap(), |receiver| receiver.iter().count() == 1));
    // Without room, there is a lock.
    passes(|| at_both_ends(sync_channel::<()>(0), drop, |receiver| receiver.recv().is_err()));
}

#[test]
fn that_the_receiver_is_gone_orders_nothing_in_a_bounded_channel() {
    let turned = |(sender, receiver)| (receiver, sender);
    races(move || at_both_ends(turned(sync_channel(1)), drop, |sender| sender.send(()).is_err()));
    races(move || {
        let refused = |sender: SyncSender<()>| sender.try_send(()) == Err(TrySendError::Disconnected(()));
        at_both_ends(turned(sync_channel(1)), drop, refused);
    });
    passes(|| {
        let (sender, receiver) = channel();
        at_both_ends((receiver, sender), drop, |sender| sender.send(()).is_err());
    });
}

/// Two threads share a value by a count of their own, which is not released. Who comes last takes it apart.
fn counted_by_hand<T: 'static>(make: fn() -> T, share: fn(&T), end: fn(T)) {
    struct Counted<T> {
        count: AtomicUsize,
        value: T,
    }
    let place = Box::into_raw(Box::new(Counted { count: AtomicUsize::new(2), value: make() })).expose_provenance();
    let leave = move || {
        let counted = std::ptr::with_exposed_provenance_mut::<Counted<T>>(place);
        // SAFETY: it is taken by the last one. What that has not been told of is what is looked for. (It is not freed: that the
        // other thread may still use the count is another failure.)
        unsafe {
            if (*counted).count.fetch_sub(1, Relaxed) == 1 {
                end((&raw const (*counted).value).read());
            }
        }
    };
    let handle = thread::spawn(move || {
        // SAFETY: as above.
        share(unsafe { &(*std::ptr::with_exposed_provenance::<Counted<T>>(place)).value });
        leave();
    });
    leave();
    handle.join().unwrap();
}

#[test]
fn who_takes_something_apart_must_come_after_all_others() {
    races(|| {
        counted_by_hand(
            || Shared(UnsafeCell::new(0)),
            |cell| cell.write(),
            |cell| {
                cell.0.into_inner();
            },
        );
    });
    races(|| {
        counted_by_hand(
            || Cell::new(0),
            |cell| cell.set(1),
            |cell| {
                cell.into_inner();
            },
        );
    });
    races(|| {
        counted_by_hand(
            || RawCell::new(0),
            |cell| {
                cell.get();
            },
            |cell| {
                cell.into_inner();
            },
        );
    });
    races(|| counted_by_hand(|| Mutex::new(0), |lock| *lock.lock().unwrap() = 1, |lock| drop(lock.into_inner())));
    races(|| counted_by_hand(|| Mutex::new(0), |lock| *lock.lock().unwrap() = 1, |mut lock| drop(lock.get_mut())));
    races(|| counted_by_hand(|| RwLock::new(0), |lock| *lock.write().unwrap() = 1, |lock| drop(lock.into_inner())));
    races(|| counted_by_hand(|| RwLock::new(0), |lock| *lock.write().unwrap() = 1, |mut lock| drop(lock.get_mut())));
    races(|| {
        counted_by_hand(
            OnceLock::new,
            |lock| lock.set(1).unwrap(),
            |lock| {
                lock.into_inner();
            },
        );
    });
    races(|| {
        counted_by_hand(
            OnceLock::new,
            |lock| lock.set(1).unwrap(),
            |mut lock| {
                lock.get_mut();
            },
        );
    });
    passes(|| {
        let shared = Arc::new((Shared(UnsafeCell::new(0)), Mutex::new(0), RwLock::new(0), OnceLock::new()));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            other.0.write();
            (*other.1.lock().unwrap(), *other.2.write().unwrap()) = (1, 1);
            other.3.set(1).unwrap();
        });
        handle.join().unwrap();
        let (cell, mutex, lock, once) = Arc::try_unwrap(shared).ok().unwrap();
        let found = (cell.0.into_inner(), mutex.into_inner().unwrap(), lock.into_inner().unwrap(), once.into_inner());
        assert_eq!(found, (1, 1, 1, Some(1)));
    });
}

/// A block is freed while another thread may still use an atomic in the middle of it.
#[test]
fn who_frees_a_block_must_come_after_all_others() {
    use selvedge::alloc::{Layout, alloc, dealloc};
    for stats in all(|| {
        let layout = Layout::new::<[AtomicUsize; 3]>();
        // SAFETY: it has a size.
        let block = unsafe { alloc(layout) }.cast::<[AtomicUsize; 3]>();
        // SAFETY: there is room for it.
        unsafe { block.write([0, 2, 0].map(AtomicUsize::new)) };
        let place = block.expose_provenance();
        let leave = move || {
            let block = std::ptr::with_exposed_provenance_mut::<[AtomicUsize; 3]>(place);
            // SAFETY: that it may have been freed is what is looked for.
            unsafe {
                (*block)[2].load(Relaxed);
                if (*block)[1].fetch_sub(1, Relaxed) == 1 {
                    dealloc(block.cast(), layout);
                }
            }
        };
        let handle = thread::spawn(leave);
        leave();
        handle.join().unwrap();
    }) {
        assert!(stats.failure.as_ref().is_some_and(|failure| failure.starts_with("use-after-free")), "{stats:?}");
    }
}

#[test]
fn whether_there_is_still_a_weak_reference_is_not_known() {
    for stats in all(|| {
        let mut arc = Arc::new(1);
        let weak = Arc::downgrade(&arc);
        let (sender, receiver) = channel();
        let handle = thread::spawn(move || {
            sender.send(()).unwrap();
            drop(weak);
        });
        receiver.recv().unwrap();
        assert!(Arc::get_mut(&mut arc).is_some());
        handle.join().unwrap();
    }) {
        assert!(stats.failure.as_ref().is_some_and(|failure| failure.contains("`Weak` references")), "{stats:?}");
    }
    // Nor is it refused where nobody else is there, or there is another reference.
    passes(|| {
        let mut arc = Arc::new(1);
        let other = Arc::clone(&arc);
        let weak = Arc::downgrade(&arc);
        let handle = thread::spawn(move || drop(other));
        let is_there = Arc::downgrade(&arc);
        handle.join().unwrap();
        assert!(Arc::get_mut(&mut arc).is_none());
        drop((weak, is_there));
        assert_eq!(Arc::get_mut(&mut arc), Some(&mut 1));
    });
}

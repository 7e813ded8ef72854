//! What is made of the basic objects: channels, barriers, futures, values that are tracked.

use selvedge::alloc::Track;
use selvedge::future::{AtomicWaker, block_on};
use selvedge::model::Builder;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use selvedge::sync::{Arc, Barrier, Notify, mpsc};
use selvedge::thread;
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

fn passes(f: impl Fn() + Send + Sync + 'static) -> u64 {
    let stats = Builder::new().explore(f);
    assert_eq!(stats.failure, None);
    assert!(stats.not_covered.is_empty());
    stats.complete
}

fn fails(word: &str, f: impl Fn() + Send + Sync + 'static) {
    let failure = Builder::new().explore(f).failure.expect("the model has a bug");
    assert!(failure.contains(word), "{failure}");
}

#[test]
fn messages_arrive_in_order_and_then_the_channel_ends() {
    passes(|| {
        let (sender, receiver) = mpsc::channel();
        let handle = thread::spawn(move || {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
        });
        assert_eq!([receiver.recv(), receiver.recv()], [Ok(1), Ok(2)]);
        assert!(receiver.recv().is_err());
        handle.join().unwrap();
    });
}

#[test]
fn a_receiver_may_time_out() {
    fails("too late", || {
        let (sender, receiver) = mpsc::channel();
        let handle = thread::spawn(move || sender.send(1));
        receiver.recv_timeout(Duration::from_secs(1)).expect("too late");
        handle.join().unwrap().unwrap();
    });
}

#[test]
fn a_receiver_without_a_message_waits_forever() {
    fails("deadlock", || {
        let (sender, receiver) = mpsc::channel::<u32>();
        let _ = receiver.recv();
        drop(sender);
    });
}

#[test]
fn a_barrier_lets_go_when_all_have_come() {
    passes(|| {
        let shared = Arc::new((Barrier::new(2), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            other.1.fetch_add(1, Relaxed);
            let leads = other.0.wait().is_leader();
            assert_eq!(other.1.load(Relaxed), 2);
            usize::from(leads) + usize::from(other.0.wait().is_leader())
        });
        shared.1.fetch_add(1, Relaxed);
        let leads = shared.0.wait().is_leader();
        assert_eq!(shared.1.load(Relaxed), 2);
        let both = usize::from(leads) + usize::from(shared.0.wait().is_leader());
        assert_eq!(both + handle.join().unwrap(), 2);
    });
    fails("deadlock", || {
        Barrier::new(2).wait();
    });
}

#[test]
fn a_notification_is_waited_for() {
    let executions = passes(|| {
        let shared = Arc::new((Notify::new(), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            other.1.store(1, Relaxed);
            other.0.notify();
        });
        shared.0.wait();
        assert_eq!(shared.1.load(Relaxed), 1);
        handle.join().unwrap();
    });
    assert_eq!(executions, 1);
}

/// A future that waits for a flag; it registers itself before it looks, or after.
fn flag(registers_first: bool) {
    let shared = Arc::new((AtomicUsize::new(0), AtomicWaker::new()));
    let other = Arc::clone(&shared);
    let handle = thread::spawn(move || {
        other.0.store(1, Release);
        other.1.wake();
    });
    block_on(poll_fn(|context| {
        if registers_first {
            shared.1.register_by_ref(context.waker());
        }
        if shared.0.load(Acquire) == 1 {
            return Poll::Ready(());
        }
        if !registers_first {
            shared.1.register_by_ref(context.waker());
        }
        Poll::Pending
    }));
    handle.join().unwrap();
}

#[test]
fn a_future_has_to_register_before_it_looks() {
    passes(|| flag(true));
    fails("deadlock", || flag(false));
}

/// How often a future is polled that is woken once; and how many executions there are, and how many besides.
fn polls(spurious: bool) -> (BTreeSet<usize>, u64, u64) {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let noted = std::sync::Arc::clone(&seen);
    let mut builder = Builder::new();
    builder.spurious = spurious;
    let stats = builder.explore(move || {
        let flag = Arc::new(AtomicUsize::new(0));
        let mut polls = 0;
        block_on(poll_fn(|context| {
            if polls == 0 {
                let (flag, waker) = (Arc::clone(&flag), context.waker().clone());
                thread::spawn(move || {
                    flag.store(1, Release);
                    waker.wake();
                });
            }
            polls += 1;
            if flag.load(Acquire) == 1 { Poll::Ready(()) } else { Poll::Pending }
        }));
        noted.lock().unwrap().insert(polls);
    });
    assert_eq!(stats.failure, None);
    let seen = seen.lock().unwrap().clone();
    (seen, stats.complete, stats.spurious)
}

#[test]
fn a_future_may_be_polled_although_nobody_woke_it() {
    assert_eq!(polls(false), (BTreeSet::from([1, 2]), 2, 0));
    // In vain for no reason once: then it is there, or the thread waits to be woken.
    assert_eq!(polls(true), (BTreeSet::from([1, 2, 3]), 2, 4));
    // Who takes the second poll for a sign that he was woken is wrong.
    let stats = Builder::new().explore(|| {
        let shared = Arc::new((AtomicUsize::new(0), AtomicWaker::new()));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            other.0.store(1, Release);
            other.1.wake();
        });
        let mut polled = false;
        block_on(poll_fn(|context| {
            shared.1.register_by_ref(context.waker());
            let is_ready = std::mem::replace(&mut polled, true) || shared.0.load(Acquire) == 1;
            if is_ready { Poll::Ready(()) } else { Poll::Pending }
        }));
        assert_eq!(shared.0.load(Acquire), 1);
        handle.join().unwrap();
    });
    let failure = stats.failure.expect("it may be polled although nobody woke it");
    assert!(failure.contains("polls again for no reason") && failure.contains("library.rs:"), "{failure}");
}

#[test]
fn a_tracked_value_must_not_be_leaked() {
    passes(|| drop(Track::new(1)));
    fails("leak", || std::mem::forget(Track::new(1)));
}

//! What is left over in memory that nobody has written to makes no difference.

#![allow(missing_docs)]

use selvedge::model::{Builder, Engine, MemoryModel};
use selvedge::sync::atomic::AtomicBool;
use selvedge::sync::atomic::Ordering::{Acquire, Release};
use selvedge::sync::{Arc, Mutex};
use selvedge::thread;
use std::collections::VecDeque;
use std::hint::black_box;

/// So often: what is left over changes from one exploration to the next.
const TIMES: usize = 4;

/// A thread waits, and uses another part of its queue in every look.
fn turns_a_ring(engine: Engine) {
    let mut builder = Builder::new();
    (builder.engine, builder.memory_model) = (engine, MemoryModel::Sc);
    let all = [(); TIMES].map(|()| {
        let stats = builder.explore(|| {
            let ready = Arc::new(Mutex::new(false));
            let other = Arc::clone(&ready);
            let handle = thread::spawn(move || {
                let mut ring = VecDeque::with_capacity(8);
                ring.push_back(1usize);
                while !*other.lock().unwrap() {
                    let first = ring.pop_front().unwrap();
                    ring.push_back(first);
                    black_box(&mut ring);
                    thread::yield_now();
                }
            });
            *ready.lock().unwrap() = true;
            handle.join().unwrap();
        });
        assert_eq!(stats.failure, None);
        (stats.complete, stats.blocked)
    });
    assert_eq!(all, [all[0]; TIMES]);
}

#[test]
fn a_ring_is_turned_in_every_look() {
    turns_a_ring(Engine::Graph);
}

#[test]
fn a_ring_is_turned_in_every_look_of_an_interleaving() {
    turns_a_ring(Engine::Trace);
}

#[test]
fn a_queue_that_has_grown_is_turned_and_turned_back() {
    for _ in 0..TIMES {
        let stats = Builder::new().explore(|| {
            let shared = Arc::new((AtomicBool::new(false), Mutex::new(VecDeque::from([1usize, 2]))));
            let other = Arc::clone(&shared);
            let first = thread::spawn(move || {
                loop {
                    let mut queue = other.1.lock().unwrap();
                    queue.rotate_left(1);
                    let ready = other.0.load(Acquire);
                    queue.rotate_right(1);
                    if ready {
                        break;
                    }
                    drop(queue);
                    thread::yield_now();
                }
            });
            shared.1.lock().unwrap().push_front(1);
            let other = Arc::clone(&shared);
            let second = thread::spawn(move || {
                loop {
                    let queue = other.1.lock().unwrap();
                    if other.0.load(Acquire) {
                        break;
                    }
                    drop(queue);
                    thread::yield_now();
                }
            });
            shared.0.store(true, Release);
            first.join().unwrap();
            second.join().unwrap();
        });
        assert_eq!(stats.failure, None);
    }
}

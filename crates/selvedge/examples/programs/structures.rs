//! Stacks and queues without locks. Nodes are not freed before all threads have ended.

use super::threads;
use crate::library::sync::atomic::AtomicPtr;
use crate::library::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::ptr;

struct Node {
    value: usize,
    next: AtomicPtr<Node>,
}

impl Node {
    fn new(value: usize) -> *mut Node {
        Box::into_raw(Box::new(Node { value, next: AtomicPtr::new(ptr::null_mut()) }))
    }
}

/// Pushes (Treiber, 1986).
fn push(top: &AtomicPtr<Node>, value: usize) {
    let node = Node::new(value);
    let mut old = top.load(Relaxed);
    loop {
        // SAFETY: nodes are not freed.
        unsafe { (*node).next.store(old, Relaxed) };
        match top.compare_exchange(old, node, Release, Relaxed) {
            Ok(_) => break,
            Err(now) => old = now,
        }
    }
}

/// Pops. Nodes are not used again, so that a pointer that comes back is the same node.
fn pop(top: &AtomicPtr<Node>) -> Option<usize> {
    let mut old = top.load(Acquire);
    while !old.is_null() {
        // SAFETY: nodes are not freed.
        let (value, next) = unsafe { ((*old).value, (*old).next.load(Relaxed)) };
        match top.compare_exchange(old, next, AcqRel, Acquire) {
            Ok(_) => return Some(value),
            Err(now) => old = now,
        }
    }
    None
}

/// Threads that push so many values each, and threads that pop one: nothing is popped twice.
pub fn treiber(pushes: &'static [usize], pops: usize) {
    struct Shared {
        top: AtomicPtr<Node>,
        popped: [std::sync::atomic::AtomicUsize; 8],
        pushes: &'static [usize],
    }
    let shared = Shared { top: AtomicPtr::new(ptr::null_mut()), popped: Default::default(), pushes };
    threads(pushes.len() + pops, shared, |n, shared| match shared.pushes.get(n) {
        Some(&count) => (0..count).for_each(|m| push(&shared.top, 2 * n + m)),
        None => {
            if let Some(value) = pop(&shared.top) {
                // What is counted here does not influence what threads do: it is no part of the model.
                let before = shared.popped[value].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                assert_eq!(before, 0, "popped twice");
            }
        }
    });
}

struct Queue {
    head: AtomicPtr<Node>,
    tail: AtomicPtr<Node>,
}

impl Queue {
    fn new() -> Queue {
        let first = Node::new(0);
        Queue { head: AtomicPtr::new(first), tail: AtomicPtr::new(first) }
    }

    /// Puts a value at the end (Michael and Scott, PODC 1996).
    fn enqueue(&self, value: usize) {
        let node = Node::new(value);
        loop {
            let tail = self.tail.load(Acquire);
            // SAFETY: nodes are not freed.
            let next = unsafe { &(*tail).next };
            let after = next.load(Acquire);
            if !after.is_null() {
                let _ = self.tail.compare_exchange(tail, after, Release, Relaxed);
            } else if next.compare_exchange(ptr::null_mut(), node, Release, Relaxed).is_ok() {
                let _ = self.tail.compare_exchange(tail, node, Release, Relaxed);
                return;
            }
        }
    }

    /// Takes the value at the front.
    fn dequeue(&self) -> Option<usize> {
        loop {
            let head = self.head.load(Acquire);
            let tail = self.tail.load(Acquire);
            // SAFETY: nodes are not freed.
            let after = unsafe { (*head).next.load(Acquire) };
            if after.is_null() {
                return None;
            }
            if head == tail {
                let _ = self.tail.compare_exchange(tail, after, Release, Relaxed);
            } else if self.head.compare_exchange(head, after, Release, Relaxed).is_ok() {
                // SAFETY: as above.
                return Some(unsafe { (*after).value });
            }
        }
    }
}

/// Threads that put in one value each, and threads that take out one.
pub fn michael_scott(enqueues: usize, dequeues: usize) {
    struct Shared(Queue, usize);
    let shared = threads(enqueues + dequeues, Shared(Queue::new(), enqueues), |n, Shared(queue, enqueues)| {
        if n < *enqueues {
            queue.enqueue(n + 1);
        } else if let Some(value) = queue.dequeue() {
            assert!((1..=*enqueues).contains(&value));
        }
    });
    drop(shared);
}

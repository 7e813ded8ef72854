//! The programs of the README's table: every one is explored to its end, or its bug is found, with the numbers there.

#![allow(unsafe_code)]

use selvedge::cell::UnsafeCell;
use selvedge::hint;
use selvedge::model::Builder;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge::thread;
use std::collections::VecDeque;
use std::ptr;

/// Runs this many threads, each with its number and what they share.
fn threads<T: 'static>(count: usize, shared: T, body: fn(usize, &T)) -> Arc<T> {
    let shared = Arc::new(shared);
    let handles: Vec<_> = (0..count)
        .map(|n| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || body(n, &shared))
        })
        .collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    shared
}

fn zeros<const N: usize>() -> [AtomicUsize; N] {
    std::array::from_fn(|_| AtomicUsize::new(0))
}

fn store_buffering() {
    threads(2, zeros::<2>(), |n, xy| {
        xy[n].store(1, Relaxed);
        xy[1 - n].load(Relaxed);
    });
}

fn store_buffering_seq_cst() {
    threads(2, zeros::<2>(), |n, xy| {
        xy[n].store(1, SeqCst);
        xy[1 - n].load(SeqCst);
    });
}

fn message_passing() {
    threads(2, zeros::<2>(), |n, xy| {
        if n == 0 {
            xy[0].store(1, Relaxed);
            xy[1].store(1, Release);
        } else if xy[1].load(Acquire) == 1 {
            assert_eq!(xy[0].load(Relaxed), 1);
        }
    });
}

fn three_by_four() {
    threads(3, zeros::<3>(), |n, x| {
        x[n].store(1, Relaxed);
        x[(n + 1) % 3].load(Relaxed);
        x[n].store(2, Relaxed);
        x[(n + 2) % 3].load(Relaxed);
    });
}

fn mutex_counter() {
    let counter = threads(3, Mutex::new(0), |_, counter| {
        *counter.lock().unwrap() += 1;
        *counter.lock().unwrap() += 1;
    });
    assert_eq!(*counter.lock().unwrap(), 6);
}

struct SpinLock {
    locked: AtomicBool,
    count: UnsafeCell<usize>,
}

// SAFETY: the cell is accessed by who holds the lock; races would be found.
unsafe impl Sync for SpinLock {}

fn spin_lock(count: usize, lock: fn(&AtomicBool) -> bool) {
    struct Shared(SpinLock, fn(&AtomicBool) -> bool);
    let both = SpinLock { locked: AtomicBool::new(false), count: UnsafeCell::new(0) };
    threads(count, Shared(both, lock), |_, Shared(shared, lock)| {
        while !lock(&shared.locked) {
            hint::spin_loop();
        }
        // SAFETY: as above.
        shared.count.with_mut(|count| unsafe { *count += 1 });
        shared.locked.store(false, Release);
    });
}

fn by_swap(locked: &AtomicBool) -> bool {
    !locked.swap(true, Acquire)
}

fn by_exchange(locked: &AtomicBool) -> bool {
    locked.compare_exchange(false, true, Acquire, Relaxed).is_ok()
}

fn ticket_lock(count: usize) {
    let done = threads(count, zeros::<3>(), |_, [next, serving, count]| {
        let ticket = next.fetch_add(1, Relaxed);
        while serving.load(Acquire) != ticket {
            hint::spin_loop();
        }
        count.store(count.load(Relaxed) + 1, Relaxed);
        serving.store(ticket + 1, Release);
    });
    assert_eq!(done[2].load(Relaxed), count);
}

struct Node {
    next: AtomicPtr<Node>,
}

fn treiber(pushes: usize, pops: usize) {
    struct Shared(AtomicPtr<Node>, usize);
    threads(pushes + pops, Shared(AtomicPtr::new(ptr::null_mut()), pushes), |n, Shared(top, pushes)| {
        if n < *pushes {
            let node: &Node = Box::leak(Box::new(Node { next: AtomicPtr::new(ptr::null_mut()) }));
            let mut old = top.load(Relaxed);
            loop {
                node.next.store(old, Relaxed);
                match top.compare_exchange(old, ptr::from_ref(node).cast_mut(), Release, Relaxed) {
                    Ok(_) => break,
                    Err(now) => old = now,
                }
            }
        } else {
            let mut old = top.load(Acquire);
            while !old.is_null() {
                // SAFETY: nodes are never freed.
                let next = unsafe { (*old).next.load(Relaxed) };
                match top.compare_exchange(old, next, AcqRel, Acquire) {
                    Ok(_) => break,
                    Err(now) => old = now,
                }
            }
        }
    });
}

fn bounded_queue() {
    let queue = (Mutex::new(VecDeque::new()), Condvar::new());
    threads(2, queue, |n, (queue, changed)| {
        for round in 0..2 {
            let mut items = queue.lock().unwrap();
            while items.len() == 1 - n {
                items = changed.wait(items).unwrap();
            }
            if n == 0 {
                items.push_back(round);
            } else {
                assert_eq!(items.pop_front(), Some(round));
            }
            drop(items);
            changed.notify_one();
        }
    });
}

fn crossed_locks() {
    threads(2, [Mutex::new(()), Mutex::new(())], |n, locks| {
        let _first = locks[n].lock().unwrap();
        let _second = locks[1 - n].lock().unwrap();
    });
}

fn double_checked() {
    struct Shared(AtomicBool, Mutex<()>, UnsafeCell<usize>);
    // SAFETY: it is not safe: the flag is read without acquire. The model is there to find that out.
    unsafe impl Sync for Shared {}
    let shared = Shared(AtomicBool::new(false), Mutex::new(()), UnsafeCell::new(0));
    threads(2, shared, |_, Shared(ready, lock, value)| {
        if !ready.load(Relaxed) {
            let _guard = lock.lock().unwrap();
            if !ready.load(Relaxed) {
                // SAFETY: as above.
                value.with_mut(|value| unsafe { *value = 1 });
                ready.store(true, Release);
            }
        }
        // SAFETY: as above.
        value.with(|value| unsafe { assert_eq!(*value, 1) });
    });
}

/// The name of a program, and the program.
type Program = (&'static str, fn());

const PROGRAMS: &[Program] = &[
    ("store buffering, Relaxed", store_buffering),
    ("store buffering, SeqCst", store_buffering_seq_cst),
    ("message passing, Release and Acquire", message_passing),
    ("3 threads with 4 accesses each", three_by_four),
    ("counter under a Mutex, 3 threads twice", mutex_counter),
    ("test-and-set lock, 2 threads", || spin_lock(2, by_swap)),
    ("test-and-set lock, 3 threads", || spin_lock(3, by_swap)),
    ("compare-and-exchange lock, 2 threads", || spin_lock(2, by_exchange)),
    ("compare-and-exchange lock, 3 threads", || spin_lock(3, by_exchange)),
    ("ticket lock, 3 threads", || ticket_lock(3)),
    ("Treiber stack, 3 pushes", || treiber(3, 0)),
    ("Treiber stack, 2 pushes, 1 pop", || treiber(2, 1)),
    ("Treiber stack, 3 pushes, 1 pop", || treiber(3, 1)),
    ("bounded queue with Mutex and Condvar", bounded_queue),
    ("crossed locks", crossed_locks),
    ("double-checked lock without Acquire", double_checked),
];

/// What is wrong with a program, in one word.
fn verdict(failure: Option<String>) -> String {
    match failure {
        None => "passes".to_owned(),
        Some(text) => text.split(':').next().unwrap_or_default().to_owned(),
    }
}

#[test]
fn the_table_in_the_readme_is_right() {
    let rows = PROGRAMS.iter().map(|(name, program)| {
        let stats = Builder::new().explore(program);
        let verdict = verdict(stats.failure);
        let counts = match verdict.as_str() {
            "passes" => format!("{} | {}", stats.complete, stats.blocked),
            _ => "- | -".to_owned(),
        };
        format!("| {name} | {verdict} | {counts} |")
    });
    let rows: Vec<String> = rows.collect();
    let readme = include_str!("../README.md");
    let listed: Vec<&str> =
        readme.lines().filter(|line| PROGRAMS.iter().any(|(p, _)| line.contains(&format!("| {p} |")))).collect();
    let same = listed.len() == rows.len() && listed.iter().zip(&rows).all(|(line, row)| line.starts_with(row.as_str()));
    assert!(same, "the table should be:\n{}", rows.join("\n"));
}

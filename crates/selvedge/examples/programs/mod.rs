//! Programs to explore: litmus tests, locks, stacks, queues, and programs with a bug.
//!
//! They are written against `crate::library`, which whoever includes them defines: it is this library in the examples and
//! tests, and a peer in `benchmarks/rust`. What threads share is in `std`'s `Arc`, since who drops it last is not what these
//! programs are about.
//!
//! | file | owns |
//! |---|---|
//! | `litmus.rs` | what the memory model allows |
//! | `locks.rs` | spin locks, and programs that use `Mutex` |
//! | `structures.rs` | stacks and queues without locks |
//! | `channels.rs` | threads that send messages |
//! | `bugs.rs` | programs that go wrong |

pub mod bugs;
pub mod channels;
pub mod litmus;
pub mod locks;
pub mod structures;

use crate::library::sync::atomic::AtomicUsize;
use crate::library::thread;
use std::sync::Arc;

/// A program.
#[derive(Clone, Copy)]
pub struct Program {
    /// Its name in tables.
    pub name: &'static str,
    /// What is explored.
    pub body: fn(),
    /// What is wrong with it, in the first word of the report, if something is.
    pub bug: Option<&'static str>,
}

const fn right(name: &'static str, body: fn()) -> Program {
    Program { name, body, bug: None }
}

const fn wrong(name: &'static str, bug: &'static str, body: fn()) -> Program {
    Program { name, body, bug: Some(bug) }
}

/// All programs but the litmus tests.
pub const PROGRAMS: &[Program] = &[
    right("3 threads, 4 accesses each", || locks::accesses(2)),
    right("3 threads, 6 accesses each", || locks::accesses(3)),
    right("counter under a Mutex, 3 threads twice", locks::mutex_counter),
    right("test-and-set lock, 2 threads", || locks::spin_lock(2, locks::by_swap)),
    right("test-and-set lock, 3 threads", || locks::spin_lock(3, locks::by_swap)),
    right("test-and-set lock, 4 threads", || locks::spin_lock(4, locks::by_swap)),
    right("compare-and-exchange lock, 2 threads", || locks::spin_lock(2, locks::by_exchange)),
    right("compare-and-exchange lock, 3 threads", || locks::spin_lock(3, locks::by_exchange)),
    right("compare-and-exchange lock, 4 threads", || locks::spin_lock(4, locks::by_exchange)),
    right("ticket lock, 2 threads", || locks::ticket_lock(2)),
    right("ticket lock, 3 threads", || locks::ticket_lock(3)),
    right("ticket lock, 4 threads", || locks::ticket_lock(4)),
    right("MCS lock, 2 threads", || locks::mcs_lock(2)),
    right("MCS lock, 3 threads", || locks::mcs_lock(3)),
    right("MCS lock, 4 threads", || locks::mcs_lock(4)),
    right("Treiber stack, 3 pushes", || structures::treiber(&[1, 1, 1], 0)),
    right("Treiber stack, 2 pushes, 1 pop", || structures::treiber(&[1, 1], 1)),
    right("Treiber stack, 1 push, 2 pops", || structures::treiber(&[1], 2)),
    right("Treiber stack, 2 pushes, 2 pops", || structures::treiber(&[1, 1], 2)),
    right("Treiber stack, 3 pushes, 1 pop", || structures::treiber(&[1, 1, 1], 1)),
    right("Treiber stack, 3 pushes, 2 pops", || structures::treiber(&[1, 1, 1], 2)),
    right("Treiber stack, 3 pushes by 2 threads, 1 pop", || structures::treiber(&[2, 1], 1)),
    right("Treiber stack, 3 pushes by 1 thread, 2 pops", || structures::treiber(&[3], 2)),
    right("Michael-Scott queue, 2 enqueues", || structures::michael_scott(2, 0)),
    right("Michael-Scott queue, 1 enqueue, 1 dequeue", || structures::michael_scott(1, 1)),
    right("Michael-Scott queue, 2 enqueues, 1 dequeue", || structures::michael_scott(2, 1)),
    right("Michael-Scott queue, 2 enqueues, 2 dequeues", || structures::michael_scott(2, 2)),
    right("bounded queue with Mutex and Condvar, 2 items", || locks::bounded_queue(2)),
    right("bounded queue with Mutex and Condvar, 3 items", || locks::bounded_queue(3)),
    right("channel, 1 sender, 1 message", || channels::senders(1, 1)),
    right("channel, 1 sender, 3 messages", || channels::senders(1, 3)),
    right("channel, 2 senders, 1 message each", || channels::senders(2, 1)),
    right("channel, 2 senders, 2 messages each", || channels::senders(2, 2)),
    right("channel, 3 senders, 1 message each", || channels::senders(3, 1)),
    wrong("Arc with a relaxed decrement", "data-race", bugs::relaxed_arc),
    wrong("double-checked lock without Acquire", "data-race", bugs::double_checked),
    wrong("crossed locks", "deadlock", bugs::crossed_locks),
    wrong("lost wake-up", "deadlock", bugs::lost_wake_up),
];

/// All programs, litmus tests included, by name.
#[allow(dead_code, reason = "not all who include this need it")]
pub fn all() -> Vec<(String, Box<dyn Fn() + Send + Sync>)> {
    let litmus = litmus::LITMUS.iter().flat_map(|(name, test)| {
        litmus::STYLES.map(|style| {
            let body = move || drop(test(style));
            (format!("{name}, {}", style.name), Box::new(body) as Box<dyn Fn() + Send + Sync>)
        })
    });
    let programs = PROGRAMS.iter().map(|program| (program.name.to_owned(), Box::new(program.body) as Box<_>));
    litmus.chain(programs).collect()
}

/// Runs this many threads, each with its number and what they share, to their end.
pub fn threads<T: Send + Sync + 'static>(count: usize, shared: T, body: fn(usize, &T)) -> Arc<T> {
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

/// Variables that are zero.
pub fn zeros<const N: usize>() -> [AtomicUsize; N] {
    std::array::from_fn(|_| AtomicUsize::new(0))
}

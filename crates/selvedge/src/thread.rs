//! Stands in for `std::thread`.

use crate::runtime;
use selvedge_ir::{CmpOp, EntityRef, Order, RmwOp};
use selvedge_machine::{Access, AccessKind, Cond, Op, Purpose};
use std::io;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

/// A thread's number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadId(selvedge_machine::ThreadId);

/// A handle to a thread.
#[derive(Clone, Debug)]
pub struct Thread {
    id: ThreadId,
    name: Option<String>,
}

impl Thread {
    /// The thread's number.
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// The thread's name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Lets the thread go on that has parked, or that parks next.
    #[track_caller]
    pub fn unpark(&self) {
        park_access(self.id.0, AccessKind::Rmw { op: RmwOp::Xchg, operand: 1, used: false }, Order::Release, None);
    }
}

#[track_caller]
fn park_access(thread: selvedge_machine::ThreadId, kind: AccessKind, order: Order, until: Option<Cond>) {
    let addr = runtime::shared(|shared| {
        let addr = shared.park_word(thread);
        shared.origins.entry(addr).or_insert(("an unpark", Location::caller()));
        addr
    });
    let access = Access { purpose: Purpose::Sync, until, ..Access::new(addr, 8, order, kind) };
    runtime::perform(Op::Access(access), Location::caller());
}

/// Waits until the thread is unparked.
#[track_caller]
pub fn park() {
    let kind = AccessKind::Rmw { op: RmwOp::Xchg, operand: 0, used: false };
    park_access(current().id.0, kind, Order::Acquire, Some(Cond::new(CmpOp::Eq, 1)));
}

/// The running thread.
#[track_caller]
pub fn current() -> Thread {
    let Some(id) = runtime::current() else { panic!("this can be used inside `selvedge::model` only") };
    let name = runtime::shared(|shared| shared.threads.given_name(id));
    Thread { id: ThreadId(id), name }
}

/// Lets others go on.
#[track_caller]
#[inline(always)]
pub fn yield_now() {
    runtime::yields(Location::caller());
}

/// Waits for a thread.
#[derive(Debug)]
pub struct JoinHandle<T> {
    thread: Thread,
    result: Arc<Mutex<Option<T>>>,
}

impl<T> JoinHandle<T> {
    /// Waits for the end of the thread, and returns what it has returned.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        runtime::perform(Op::Join { thread: self.thread.id.0 }, Location::caller());
        runtime::shared(|shared| shared.unjoined -= 1);
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(result.take().expect("a thread that has ended has left its result"))
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }
}

/// Creates a thread.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    spawn_named(f, None)
}

#[track_caller]
fn spawn_named<F, T>(f: F, name: Option<String>) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    let Some(parent) = runtime::current() else { panic!("threads can be created inside `selvedge::model` only") };
    let result = Arc::new(Mutex::new(None));
    let packet = Arc::clone(&result);
    let body = Box::new(move || {
        let value = f();
        *packet.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    });
    let child = runtime::shared(|shared| {
        let children = &mut shared.per_thread(parent).children;
        let n = *children;
        *children += 1;
        let child = shared.threads.child(parent, n);
        assert!(child.index() < selvedge_machine::memory::MAX_THREADS, "there are too many threads");
        if let Some(name) = &name {
            shared.threads.set_name(child, name);
        }
        shared.bodies.push((child, body));
        shared.unjoined += 1;
        child
    });
    runtime::perform(Op::Spawn { child }, Location::caller());
    JoinHandle { thread: Thread { id: ThreadId(child), name }, result }
}

/// Creates threads with names.
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
}

impl Builder {
    /// No name.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Names the thread.
    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name);
        self
    }

    /// Not used: all stacks have the same size, 1 MiB.
    pub fn stack_size(self, _size: usize) -> Builder {
        self
    }

    /// Creates the thread.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        Ok(spawn_named(f, self.name))
    }
}

//! Stands in for `std::thread`.

use crate::nondet::{for_no_reason, times_out};
use crate::request::Request;
use crate::runtime::{self, At};
pub use crate::scope::{Scope, ScopedJoinHandle, scope};
pub use crate::thread_local::{AccessError, LocalKey};
use selvedge_ir::{CmpOp, EntityRef, Order, RmwOp};
use selvedge_machine::Purpose;
use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
#[doc(no_inline)]
pub use std::thread::{available_parallelism, panicking};
use std::time::Duration;

/// A thread's number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadId(pub(crate) selvedge_machine::ThreadId);

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
        park_access(self.id.0, Request::rmw(RmwOp::Xchg, 1, false), Order::Release);
    }
}

/// An access to the word that says whether a thread may go on.
#[track_caller]
fn park_access(thread: selvedge_machine::ThreadId, request: Request, order: Order) {
    let addr = runtime::shared(|shared| {
        let addr = shared.places.park_word(thread);
        shared.parks.insert(addr, thread);
        addr
    });
    runtime::perform(request.at(addr, 8, order).for_purpose(Purpose::Sync), Location::caller());
}

/// Waits until the thread is unparked. That it may return for no reason is explored in a second pass.
#[track_caller]
pub fn park() {
    if !for_no_reason("wakes up") {
        parked(TAKE.until(CmpOp::Eq, 1));
    }
}

/// What a thread does with its word to go on.
const TAKE: Request = Request::rmw(RmwOp::Xchg, 0, false);

/// Takes what the word says that tells whether the thread may go on, when it may.
#[track_caller]
fn parked(take: Request) {
    park_access(current().id.0, take, Order::Acquire);
}

/// Waits until the thread is unparked, or until time is up, which may be at any moment.
#[track_caller]
pub fn park_timeout(_duration: Duration) {
    runtime::must_be_inside();
    if runtime::perform(Request::choose(2), Location::caller()) == 1 {
        times_out();
        return parked(TAKE);
    }
    parked(TAKE.in_time());
}

/// Does nothing: others may go on at any moment anyway, and for as long as they like.
#[track_caller]
pub fn sleep(_duration: Duration) {
    runtime::must_be_inside();
}

/// The running thread.
#[track_caller]
pub fn current() -> Thread {
    let id = runtime::must_be_inside();
    let name = runtime::shared(|shared| shared.threads.given_name(id));
    Thread { id: ThreadId(id), name }
}

/// Lets others go on.
#[track_caller]
#[inline(always)]
pub fn yield_now() {
    runtime::yields();
}

/// What a thread leaves behind: it is part of the memory that is compared (`retry.rs`).
pub(crate) type Packet<T> = Arc<Mutex<Left<T>>>;

/// What it returns, or why it has panicked. Kept apart, so that nothing is written but what is meant: a `Result` of both is
/// copied with bytes that mean nothing.
pub(crate) struct Left<T> {
    value: Option<T>,
    /// In a box of its own: where there is none, all bytes of one word say so.
    pub panic: Option<Box<Box<dyn Any + Send>>>,
}

/// Waits for a thread.
pub struct JoinHandle<T> {
    thread: Thread,
    /// None once it was joined.
    result: Option<Packet<T>>,
}

impl<T> JoinHandle<T> {
    /// Waits for the end of the thread, and returns what it has returned. It is an error only if it has panicked, and
    /// [`Builder::panics_end_threads`](crate::model::Builder::panics_end_threads) is set.
    #[track_caller]
    pub fn join(mut self) -> std::thread::Result<T> {
        joined(&self.thread, &self.result.take().expect(OPEN), true)
    }

    /// Whether the function of the thread has returned, as far as this one sees: as with other things that are not
    /// synchronised, it may see that late, and what the thread has done need not be there yet.
    #[track_caller]
    #[inline(always)]
    pub fn is_finished(&self) -> bool {
        runtime::prepare();
        has_ended(&self.thread)
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }
}

impl<T> Drop for JoinHandle<T> {
    #[track_caller]
    fn drop(&mut self) {
        if let Some(result) = self.result.take() {
            let_go(&self.thread, &result, Location::caller());
        }
    }
}

/// Why a handle has a packet.
pub(crate) const OPEN: &str = "who joins gives the handle away";

/// A thread is never joined: what it returns is dropped with its handle, or by the thread itself, whichever is later.
pub(crate) fn let_go<T>(thread: &Thread, result: &Packet<T>, at: At) {
    if !std::mem::needs_drop::<T>() || runtime::current().is_none() || panicking() {
        return;
    }
    if !runtime::shared(|shared| std::mem::replace(&mut shared.config.drops_results, true)) {
        runtime::start_again();
    }
    drop_if_last(thread.id.0, result, at);
}

/// Drops what a thread has returned if the other one of the two who know of it, the thread and its handle, is gone. As with other
/// things that are counted, only who is the last sees what the other has done.
fn drop_if_last<T>(thread: selvedge_machine::ThreadId, result: &Packet<T>, at: At) {
    let addr = runtime::shared(|shared| {
        let addr = shared.places.result_word(thread);
        shared.origins.entry(addr).or_insert(("the result of a thread", at));
        addr
    });
    runtime::tidy_frame();
    let gone = Request::rmw(RmwOp::Add, 1, true).at(addr, 8, Order::Release).for_purpose(Purpose::Sync);
    if runtime::perform(gone, at) == 1 {
        runtime::perform(Request::load().at(addr, 8, Order::Acquire).for_purpose(Purpose::Sync), at);
        let value = result.lock().unwrap_or_else(PoisonError::into_inner).value.take();
        drop(value);
    }
}

impl<T> std::fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Whether a thread has ended. Threads say so only if somebody asks: it is a step more.
#[track_caller]
#[inline(never)]
pub(crate) fn has_ended(thread: &Thread) -> bool {
    runtime::must_be_inside();
    if !panicking() && !runtime::shared(|shared| std::mem::replace(&mut shared.config.sees_ends, true)) {
        runtime::start_again();
    }
    end_access(thread.id.0, Request::load(), Order::Relaxed, Location::caller()) != 0
}

/// Waits until the function of a thread has returned, which is before its thread-local variables are dropped. Only if threads
/// say so.
pub(crate) fn wait_for_return(thread: &Thread, at: At) {
    let returned = Request::load().until(CmpOp::Ne, 0).for_purpose(Purpose::Sync);
    end_access(thread.id.0, returned, Order::Acquire, at);
}

/// An access to the word that says whether a thread has ended.
fn end_access(thread: selvedge_machine::ThreadId, request: Request, order: Order, at: At) -> u64 {
    let addr = runtime::shared(|shared| {
        let addr = shared.places.end_word(thread);
        shared.origins.entry(addr).or_insert(("the end of a thread", at));
        addr
    });
    runtime::tidy_frame();
    runtime::perform(request.at(addr, 8, order), at)
}

/// Waits for a thread. Unless somebody else counts it as joined, it is counted here.
#[track_caller]
pub(crate) fn joined<T>(thread: &Thread, result: &Packet<T>, counts: bool) -> std::thread::Result<T> {
    runtime::perform(Request::join(thread.id.0), Location::caller());
    runtime::shared(|shared| shared.unjoined -= u32::from(counts));
    let mut result = result.lock().unwrap_or_else(PoisonError::into_inner);
    match (result.value.take(), result.panic.take()) {
        (Some(value), _) => Ok(value),
        (None, Some(panic)) => Err(*panic),
        // A destructor joins because of a panic, and does not wait.
        (None, None) => Err(Box::new("the thread has not ended")),
    }
}

/// Creates a thread.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    let (thread, result) = begin(f, None, |body| body);
    JoinHandle { thread, result: Some(result) }
}

/// Creates a thread whose body is made to live long enough.
#[track_caller]
pub(crate) fn begin<'a, F, T>(
    f: F,
    name: Option<String>,
    lives: impl FnOnce(Box<dyn FnOnce() + 'a>) -> Box<dyn FnOnce()>,
) -> (Thread, Packet<T>)
where
    F: FnOnce() -> T + 'a,
    T: 'a,
{
    let parent = runtime::must_be_inside();
    let result: Packet<T> = Arc::new(Mutex::new(Left { value: None, panic: None }));
    let (packet, at) = (Arc::clone(&result), Location::caller());
    let body = lives(Box::new(move || {
        let left = || packet.lock().unwrap_or_else(PoisonError::into_inner);
        let leave = |value| {
            let mut left = left();
            runtime::announce(&left.value);
            left.value = Some(value);
        };
        if runtime::glance(|shared| shared.config.panics_end_threads) {
            match catch_unwind(AssertUnwindSafe(f)) {
                Ok(value) => leave(value),
                Err(panic) => left().panic = Some(Box::new(panic)),
            }
        } else {
            leave(f());
        }
        if std::mem::needs_drop::<T>() && runtime::glance(|shared| shared.config.drops_results) {
            runtime::perform_deferred();
            drop_if_last(runtime::must_be_inside(), &packet, at);
        }
        if runtime::glance(|shared| shared.config.sees_ends) {
            runtime::perform_deferred();
            end_access(runtime::must_be_inside(), Request::store(1), Order::Release, at);
        }
    }));
    let child = runtime::shared(|shared| {
        let children = &mut shared.per_thread(parent).children;
        let n = *children;
        *children += 1;
        let child = shared.threads.child(parent, n);
        if child.index() >= crate::MAX_THREADS {
            return None;
        }
        if let Some(name) = &name {
            shared.threads.set_name(child, name);
        }
        shared.bodies.push((child, body));
        shared.unjoined += 1;
        Some(child)
    });
    let Some(child) = child else {
        let feature = format!("a model with more than {} threads", crate::MAX_THREADS);
        runtime::stop(feature, Location::caller());
    };
    runtime::perform(Request::spawn(child), Location::caller());
    (Thread { id: ThreadId(child), name }, result)
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

    /// Not used: all stacks have the same size, 2 MiB, as those of `std` unless more is asked for.
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
        let (thread, result) = begin(f, self.name, |body| body);
        Ok(JoinHandle { thread, result: Some(result) })
    }

    /// Creates a thread in a scope.
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Ok(scope.start(f, self.name))
    }
}

//! Scoped threads: they may borrow from the thread that creates them, which waits for them.

// Bodies of threads borrow, and are told to live long enough.
#![allow(unsafe_code)]

use crate::request::Request;
use crate::runtime;
use crate::thread::{self, Packet, Thread};
use selvedge_machine::ThreadId;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

/// Stands in for `std::thread::Scope`.
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    threads: RefCell<Vec<Scoped>>,
    /// Whether one that was not joined has panicked is for its packet to say.
    panics: RefCell<Vec<Panicked>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// A thread that the scope waits for.
#[derive(Debug)]
struct Scoped {
    thread: Thread,
    /// Who has joined it before.
    joined_by: Option<ThreadId>,
    /// Whether it counts as joined.
    counted: bool,
}

impl Scoped {
    fn id(&self) -> ThreadId {
        self.thread.id().0
    }
}

/// Says whether a thread has panicked.
struct Panicked(ThreadId, Box<dyn Fn() -> bool>);

impl std::fmt::Debug for Panicked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

// SAFETY: threads of a model are coroutines of one thread of the operating system, and nothing here is borrowed while
// another one runs.
unsafe impl Sync for Scope<'_, '_> {}

/// Waits for a scoped thread.
pub struct ScopedJoinHandle<'scope, T> {
    scope: *const RefCell<Vec<Scoped>>,
    thread: Thread,
    /// None once it was joined.
    result: Option<Packet<T>>,
    lives: PhantomData<&'scope ()>,
}

// SAFETY: as for `Scope`; the scope outlives its handles.
unsafe impl<T> Send for ScopedJoinHandle<'_, T> {}
// SAFETY: as above.
unsafe impl<T> Sync for ScopedJoinHandle<'_, T> {}

impl<T> std::fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}

/// Runs a function that may create scoped threads, and waits for those that it does not join.
///
/// # Panics
///
/// If a thread that was not joined has panicked, and panics end threads.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let this = runtime::must_be_inside();
    let at = Location::caller();
    let scope = Scope { threads: RefCell::default(), panics: RefCell::default(), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    let suspended = result.is_err().then(runtime::scope_caught_panic);
    let mut waited = Vec::new();
    loop {
        let Some(next) = next_to_wait_for(&scope.threads.borrow(), this, &waited) else { break };
        let thread = scope.threads.borrow()[next].thread.clone();
        // As in `std`, what is thread-local to it may be dropped later. It is not if that makes no difference.
        if runtime::shared(|shared| shared.config.sees_ends) {
            thread::wait_for_return(&thread, at);
        } else {
            runtime::perform(Request::join(thread.id().0), at);
            let counted = std::mem::replace(&mut scope.threads.borrow_mut()[next].counted, true);
            runtime::shared(|shared| shared.unjoined -= u32::from(!counted));
        }
        waited.push(thread.id().0);
    }
    // Another thread of the scope may have joined it, and has taken the panic then.
    let panics = scope.panics.borrow();
    let panicked = panics.iter().any(|Panicked(thread, has)| waited.contains(thread) && has());
    if let Some(suspended) = suspended {
        suspended.goes_on();
    }
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(_) if panicked => panic!("a scoped thread panicked"),
        Ok(value) => value,
    }
}

/// Which of the threads the scope waits for next, when it has waited for some. Others create threads and join them meanwhile. What
/// they have done counts only when they have been waited for themselves: until then it depends on who ran first, which must
/// make no difference.
fn next_to_wait_for(threads: &[Scoped], this: ThreadId, waited: &[ThreadId]) -> Option<usize> {
    runtime::shared(|shared| {
        let has_ended = |thread: ThreadId| waited.contains(&thread);
        let is_over = |it: &Scoped| has_ended(it.id()) || it.joined_by.is_some_and(|by| by == this || has_ended(by));
        let path = |it: &Scoped| shared.threads.path(it.id());
        let is_below = |it: &Scoped, other: &Scoped| it.id() != other.id() && path(it).starts_with(path(other));
        let left = || threads.iter().enumerate().filter(|(_, it)| !is_over(it));
        let known = left().filter(|(_, it)| !left().any(|(_, other)| is_below(it, other)));
        known.max_by_key(|(_, it)| path(it)).map(|(n, _)| n)
    })
}

impl<'scope> Scope<'scope, '_> {
    /// Creates a thread that may borrow from around the scope.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.start(f, None)
    }

    #[track_caller]
    pub(crate) fn start<F, T>(&'scope self, f: F, name: Option<String>) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let f = || {
            is_scoped();
            f()
        };
        let (thread, result) = thread::begin(f, name, |body: Box<dyn FnOnce() + 'scope>| {
            // SAFETY: `scope` waits for the thread before it returns, or is abandoned together with it. So the body does not
            // run when what it borrows is gone.
            unsafe { std::mem::transmute::<Box<dyn FnOnce() + 'scope>, Box<dyn FnOnce()>>(body) }
        });
        self.threads.borrow_mut().push(Scoped { thread: thread.clone(), joined_by: None, counted: false });
        let packet = Packet::clone(&result);
        let has: Box<dyn Fn() -> bool + 'scope> =
            Box::new(move || packet.lock().is_ok_and(|left| left.panic.is_some()));
        // SAFETY: it is called in `scope` only, while what it borrows is there.
        let has = unsafe { std::mem::transmute::<Box<dyn Fn() -> bool + 'scope>, Box<dyn Fn() -> bool>>(has) };
        self.panics.borrow_mut().push(Panicked(thread.id().0, has));
        ScopedJoinHandle { scope: &raw const self.threads, thread, result: Some(result), lives: PhantomData }
    }
}

/// The running thread is one that a scope waits for.
#[inline(never)]
fn is_scoped() {
    let thread = runtime::must_be_inside();
    runtime::shared(|shared| shared.per_thread(thread).is_scoped = true);
}

impl<T> Drop for ScopedJoinHandle<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        if let Some(result) = self.result.take() {
            thread::let_go(&self.thread, &result, Location::caller());
        }
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the end of the thread, and returns what it has returned.
    #[track_caller]
    pub fn join(mut self) -> std::thread::Result<T> {
        // SAFETY: the scope lives as long as the handle.
        let threads = unsafe { &*self.scope };
        let counts = {
            let mut threads = threads.borrow_mut();
            let own = threads.iter_mut().find(|it| it.thread.id() == self.thread.id());
            let own = own.expect("a thread stays with its scope");
            own.joined_by = Some(runtime::must_be_inside());
            // If the scope has waited for the thread, it has counted it, unless it only waits for what the thread returns.
            !std::mem::replace(&mut own.counted, true)
        };
        thread::joined(&self.thread, &self.result.take().expect(thread::OPEN), counts)
    }

    /// Whether the function of the thread has returned, as far as this one sees: see
    /// [`JoinHandle::is_finished`](thread::JoinHandle::is_finished).
    #[track_caller]
    #[inline(always)]
    pub fn is_finished(&self) -> bool {
        runtime::prepare();
        thread::has_ended(&self.thread)
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }
}

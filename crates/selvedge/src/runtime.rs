//! How an operation gets from the model's code to the machine that runs it.
//!
//! All threads of a model run as coroutines of the operating system's thread that called `model`. What they share with
//! the machine is kept in thread-local variables of that thread, so that operations need no handle. An operation hands its
//! Op to the machine by suspending its coroutine and is resumed with the outcome.

// The yielder of the running coroutine is reached through a pointer.
#![allow(unsafe_code)]

use crate::blocks;
use crate::overflow;
use crate::request::Request;
use crate::retry::Standing;
use crate::shared::{Config, Deferred, PerThread, Repeat, Shared};
use crate::spin::Waits;
use corosensei::Yielder;
use selvedge_ir::EntityRef;
use selvedge_machine::{Addr, Op, Outcome, SourceSpan, Stop, ThreadId, ViolationKind, main_thread};
use std::cell::{Cell, RefCell};
use std::panic::Location;

mod due;
mod panicking;
mod scrubbing;
mod stopping;

pub(crate) use due::{frees, has_to_look, move_objects, owes, perform_frees};
use panicking::{aside, count_aside, install_hook};
pub(crate) use panicking::{
    caught_panic, is_hook_lost, note_payload, scope_caught_panic, take_aside, take_last_panic, take_panic, torn_off,
};
pub(crate) use scrubbing::{frames_are_deep, prepare, tidy, tidy_frame};
use scrubbing::{scrub, scrub_frame, scrub_if_deep};
use stopping::outside_model;
pub(crate) use stopping::{
    block, fail, freed_twice, must_run, must_track, start_again, starts_again, stop, stop_with, updates_one_by_one,
    violation,
};

/// Where an operation stands in the source.
pub(crate) type At = &'static Location<'static>;

/// An operation for whose outcome a coroutine waits.
pub(crate) struct Pending {
    pub request: Request,
    pub at: At,
}

impl Pending {
    /// The operation, and where it stands.
    pub fn op_and_place(&self) -> (Op, At) {
        (self.request.op(), self.at)
    }
}

/// What a coroutine tells the machine when it suspends itself.
pub(crate) enum Yielded {
    /// It waits for the outcome of an operation, which stays where it is, on its stack, until then.
    Op(*const Pending),
    /// It cannot go on.
    Stop(Box<Stop>),
    /// It has freed a block of memory for the second time. Nobody knows where.
    FreedTwice,
    /// It has assumed something that does not hold.
    Assumes(At),
    /// It has come to the end of an iteration that waits for others.
    Yields {
        /// Where.
        at: At,
        /// An address on its stack below all frames of the model's code.
        low: usize,
    },
}

/// The running coroutine.
#[derive(Clone, Copy)]
pub(crate) struct Here {
    pub thread: ThreadId,
    pub yielder: *const Yielder<Outcome, Yielded>,
}

thread_local! {
    /// The running coroutine's thread and yielder; null if none runs. Kept apart, so that there is no padding: its
    /// bytes would be copied to the stack, and stacks are compared (`spin.rs`).
    static THREAD: Cell<usize> = const { Cell::new(0) };
    static YIELDER: Cell<*const Yielder<Outcome, Yielded>> = const { Cell::new(std::ptr::null()) };
    /// What operations and the machine share; null if no model runs, or while somebody uses it.
    static SHARED: Cell<*mut Shared> = const { Cell::new(std::ptr::null_mut()) };
    /// Whether a model runs.
    static RUNS: Cell<bool> = const { Cell::new(false) };
    /// Whether a run is repeated, and the thread that runs goes on by itself as long as the next step is its own.
    static REPEATS: Cell<bool> = const { Cell::new(false) };
    /// What the last model has left, for the next one.
    static LEFT: Cell<Option<Box<Shared>>> = const { Cell::new(None) };
    static PANIC: RefCell<Vec<(String, SourceSpan)>> = const { RefCell::new(Vec::new()) };
    /// How often a thread was resumed.
    static TURNS: Cell<u64> = const { Cell::new(0) };
    /// How many operations destructors have made while their thread unwinds, that could not be put off.
    static ASIDE: Cell<u64> = const { Cell::new(0) };
    /// How many panics there had been when they last did.
    static ASIDE_DURING: Cell<usize> = const { Cell::new(0) };
    /// Whether a function runs that `fetch_update` has called.
    static UPDATING: Cell<bool> = const { Cell::new(false) };
    /// Whether a weak exchange that is tried out fails though it finds what it expects.
    static FAILS: Cell<bool> = const { Cell::new(false) };
    /// Whether operations need more than usual: some thread has operations that were put off, or some spins.
    static UNUSUAL: Cell<bool> = const { Cell::new(false) };
    /// Whether some thread has operations that were put off.
    static DEFERS: Cell<bool> = const { Cell::new(false) };
    /// Whether there are operations that threads come to again and again (`rounds.rs`).
    static ROUNDS: Cell<bool> = const { Cell::new(false) };
    /// What an operation of a run that is repeated has told its thread.
    static TOLD: Cell<Outcome> = const { Cell::new(0) };
    /// Whether there may be pointers that live as long as accesses last: they are told of operations (`borrow.rs`).
    static COUNTS: Cell<bool> = const { Cell::new(false) };
    /// Whether a thread was abandoned in the middle of a panic: the count of panics of this thread of the operating system
    /// is wrong from then on.
    static SPOILED: Cell<bool> = const { Cell::new(false) };
}

/// A model is being run as long as this lives.
pub(crate) struct Running(*mut Shared);

impl Running {
    /// Starts a model.
    #[track_caller]
    pub fn start(config: Config) -> Running {
        install_hook();
        #[cfg(unix)]
        crate::exit::install();
        let marker = 0u8;
        let top = std::ptr::from_ref(std::hint::black_box(&marker)).addr();
        assert!(!RUNS.replace(true), "a model cannot be run inside a model");
        let mut shared = LEFT.take().unwrap_or_else(|| Box::new(Shared::new()));
        shared.begin_model(config, top);
        let shared = Box::into_raw(shared);
        SHARED.set(shared);
        Running(shared)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        SHARED.set(std::ptr::null_mut());
        RUNS.set(false);
        // SAFETY: it comes from `Box::into_raw`, and nobody can come to it any more.
        let mut shared = unsafe { Box::from_raw(self.0) };
        shared.end_model();
        // When the variables of the operating system's thread are gone, so is this.
        let _ = LEFT.try_with(|left| left.set(Some(shared)));
        set_here(None);
    }
}

/// Whether a model can no longer be run on this thread of the operating system.
pub(crate) fn is_spoiled() -> bool {
    SPOILED.get()
}

/// Something that the machine and operations share.
#[track_caller]
#[inline]
pub(crate) fn shared<R>(f: impl FnOnce(&mut Shared) -> R) -> R {
    /// Clears the stack of a model's thread afterwards, also if there is a panic: what the library keeps grows in some runs
    /// only, and allocators leave pointers to what lies between blocks.
    struct Tidied;
    impl Drop for Tidied {
        #[inline]
        fn drop(&mut self) {
            if UNUSUAL.get() && is_inside() {
                scrub();
            }
        }
    }
    let _tidied = Tidied;
    shared_untidily(f)
}

/// The same if something is looked up only: nothing is allocated, and frames are small.
#[track_caller]
#[inline]
pub(crate) fn look_up<R>(f: impl FnOnce(&mut Shared) -> R) -> R {
    let found = shared_untidily(f);
    if UNUSUAL.get() && is_inside() {
        scrub_frame();
    }
    found
}

/// The same if so little is looked up that there are no frames for it where the library is optimised.
#[track_caller]
#[inline]
pub(crate) fn glance<R>(f: impl FnOnce(&mut Shared) -> R) -> R {
    let found = shared_untidily(f);
    if UNUSUAL.get() && is_inside() {
        scrub_if_deep();
    }
    found
}

/// The same if the stack below is cleared by who calls this, or if nothing is left over there.
#[track_caller]
#[inline]
pub(crate) fn shared_untidily<R>(f: impl FnOnce(&mut Shared) -> R) -> R {
    /// Puts it back, also if there is a panic.
    struct Used(*mut Shared);
    impl Drop for Used {
        #[inline]
        fn drop(&mut self) {
            SHARED.set(self.0);
        }
    }
    let used = Used(SHARED.replace(std::ptr::null_mut()));
    if used.0.is_null() {
        not_there();
    }
    // SAFETY: `Running` has put a pointer there that lives until it takes it away. It is there once: nobody else can have it
    // until it is back.
    f(unsafe { &mut *used.0 })
}

#[track_caller]
#[cold]
#[inline(never)]
fn not_there() -> ! {
    assert!(!RUNS.get(), "what operations and the machine share is in use");
    outside_model()
}

/// Whether the library itself is at work: what it allocates is not the model's. Asked while a thread of a model runs.
#[inline]
pub(crate) fn is_busy() -> bool {
    SHARED.get().is_null()
}

/// The thread that runs, if one of a model does.
#[inline]
pub(crate) fn current() -> Option<ThreadId> {
    is_inside().then(|| ThreadId::new(THREAD.get()))
}

/// Whether a thread of a model runs. The allocator asks too, also when the variables of the operating system's thread are gone.
#[inline]
pub(crate) fn is_inside() -> bool {
    !YIELDER.try_with(Cell::get).unwrap_or(std::ptr::null()).is_null()
}

/// The thread that runs, for who knows that one does.
#[inline(never)]
pub(crate) fn running() -> ThreadId {
    ThreadId::new(THREAD.get())
}

/// The thread that runs.
#[track_caller]
pub(crate) fn must_be_inside() -> ThreadId {
    match current() {
        Some(thread) => thread,
        None => outside_model(),
    }
}

/// Says who runs.
pub(crate) fn set_here(here: Option<Here>) {
    THREAD.set(here.map_or(0, |here| here.thread.index()));
    YIELDER.set(here.map_or(std::ptr::null(), |here| here.yielder));
}

/// A thread is about to be resumed. (Turns are counted here and not where operations are performed, since what is counted must
/// not be left over on a thread's stack.)
///
/// Never inlined, as those that follow: variables of the operating system's thread are found by a call from elsewhere, each.
#[inline(never)]
pub(crate) fn goes_on(here: &Here) {
    THREAD.set(here.thread.index());
    YIELDER.set(here.yielder);
    TURNS.set(TURNS.get() + 1);
}

/// It is back.
#[inline(never)]
pub(crate) fn is_back() {
    YIELDER.set(std::ptr::null());
}

/// How often a thread was resumed.
pub(crate) fn turns() -> u64 {
    TURNS.get()
}

/// Where the variables of the operating system's thread are.
pub(crate) fn variables() -> usize {
    THREAD.with(|variable| std::ptr::from_ref(variable).addr())
}

/// Where the stack of the operating system's thread ends, with its variables if they are there; the last address if that is not
/// known.
pub(crate) fn end_of_stack() -> usize {
    thread_local! {
        static END: Cell<usize> = const { Cell::new(0) };
    }
    if END.get() == 0 {
        END.set(ask_end_of_stack().unwrap_or(usize::MAX));
    }
    END.get()
}

#[cfg(target_os = "linux")]
fn ask_end_of_stack() -> Option<usize> {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut start, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the system fills in what is asked for, and is given back what it has allocated.
    let is_known = unsafe {
        libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) == 0 && {
            let found = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut start, &raw mut size) == 0;
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            found
        }
    };
    is_known.then(|| start.addr() + size)
}

#[cfg(not(target_os = "linux"))]
fn ask_end_of_stack() -> Option<usize> {
    None
}

/// Who runs.
pub(crate) fn here() -> Option<Here> {
    let yielder = YIELDER.get();
    (!yielder.is_null()).then(|| Here { thread: ThreadId::new(THREAD.get()), yielder })
}

/// Whether all other threads have been joined: what they did comes before what happens now.
pub(crate) fn alone() -> bool {
    current() == Some(main_thread()) && shared(|shared| shared.unjoined == 0)
}

/// Performs an operation: the thread goes on when the engine says so.
///
/// Never inlined: what the operation was would be left over in the frame of the model's code, and stacks are compared
/// (`spin.rs`).
#[track_caller]
#[inline(never)]
pub(crate) fn perform(request: Request, at: At) -> Outcome {
    if std::thread::panicking() {
        return aside(request, at);
    }
    if due::is_any() {
        perform_frees();
    }
    perform_now(request, at)
}

/// The same, whatever else is to be done before.
#[inline(always)]
fn perform_now(request: Request, at: At) -> Outcome {
    if COUNTS.get() {
        count_operation();
    }
    // What is repeated found room on the stack before. Nothing is asked twice here that comes to be kept in a register meanwhile: it would
    // be on the stack if a run is repeated, and not otherwise.
    if REPEATS.get() && is_repeated(&request, at) {
        tidy();
        return TOLD.get();
    }
    if overflow::is_near() {
        fail(ViolationKind::Assertion, overflow::message(ThreadId::new(THREAD.get())), at);
    }
    if UNUSUAL.get() {
        scrub_frame();
        return perform_unusually(request, at);
    }
    suspend_pending(request, at)
}

/// From now on in this run, pointers are told of operations.
pub(crate) fn count_operations() {
    COUNTS.set(true);
}

#[cold]
#[inline(never)]
fn count_operation() {
    let thread = ThreadId::new(THREAD.get());
    shared(|shared| shared.borrows.performs(thread));
}

/// Looks up what the script of a run that is repeated says is the outcome of an operation, and leaves that in [`TOLD`]; whether it
/// is the thread's turn. (Not on the stack: there it would be left over.)
#[inline(never)]
fn is_repeated(request: &Request, at: At) -> bool {
    let thread = ThreadId::new(THREAD.get());
    let found = if !UNUSUAL.get() {
        shared_untidily(|shared| shared.repeat(thread, request, at))
    } else if DEFERS.get() {
        None
    } else {
        match shared_untidily(|shared| shared.repeat_marked(thread, request, at)) {
            Repeat::No => None,
            Repeat::Told(outcome) => Some(outcome),
            Repeat::Unexpected => start_again(),
        }
    };
    TOLD.set(found.unwrap_or_default());
    found.is_some()
}

/// Performs an operation if there is more to do than usual.
///
/// Whatever is done before the thread is suspended is done in functions of their own that are not inlined, so that nothing is
/// left over from it in the frame of this one: stacks are compared (`machine/awaits.rs`).
#[cold]
#[inline(never)]
fn perform_unusually(request: Request, at: At) -> Outcome {
    if DEFERS.get() {
        perform_deferred();
    }
    if ROUNDS.get() && comes_again(&request, at) {
        yields_at(at);
    }
    let request = if gets_no_marks(at) { request } else { marked(&request, at) };
    scrub();
    let outcome = suspend_pending(request, at);
    if request.speculates() {
        performed(&request, at, outcome);
    }
    scrub_frame();
    outcome
}

/// Whether threads come to this operation again and again (`rounds.rs`).
#[inline(never)]
fn comes_again(request: &Request, at: At) -> bool {
    shared_untidily(|shared| shared.unmarked.marks(&request.op(), at))
}

/// Somebody tries to take a lock.
#[track_caller]
pub(crate) fn tries(lock: Addr) {
    let thread = ThreadId::new(THREAD.get());
    if !std::thread::panicking() && shared(|shared| shared.tries(lock, thread)) {
        start_again();
    }
}

/// Whether an operation gets no marks, as far as its place tells.
#[inline(never)]
fn gets_no_marks(at: At) -> bool {
    let thread = ThreadId::new(THREAD.get());
    shared_untidily(|shared| shared.gets_no_marks(thread, at))
}

/// An operation that is marked if the thread may spin there, or try something again.
#[inline(never)]
fn marked(request: &Request, at: At) -> Request {
    let thread = ThreadId::new(THREAD.get());
    match shared_untidily(|shared| shared.comes_to(thread, request.op(), at)) {
        Standing::Op(op) => Request::from(&op),
        Standing::Unexpected => start_again(),
    }
}

/// The thread has been told the outcome of a speculative load.
#[inline(never)]
fn performed(request: &Request, at: At, outcome: Outcome) {
    let thread = ThreadId::new(THREAD.get());
    shared(|shared| {
        if let Some(PerThread { open, .. }) = shared.per_thread.get_mut(thread.index())
            && !shared.retries.is_empty()
        {
            shared.retries.performed(open, &request.op(), at, outcome);
        }
    });
}

/// Says whether a weak exchange that is tried out fails though it finds what it expects.
pub(crate) fn fails(fails: bool) {
    FAILS.set(fails);
}

/// Whether it does so.
pub(crate) fn fails_in_trial() -> bool {
    FAILS.get()
}

/// Says whether the thread that is about to run goes on by itself when it comes to a step of the script.
#[inline]
pub(crate) fn repeats(repeats: bool) {
    REPEATS.set(repeats);
}

/// Never inlined, so that what is below the operation on the stack is always of the same size (`coroutine::suspended`).
#[inline(never)]
fn suspend_pending(request: Request, at: At) -> Outcome {
    let pending = Pending { request, at };
    suspend(Yielded::Op(&raw const pending))
}

/// Performs what destructors have put off.
#[cold]
#[inline(never)]
pub(crate) fn perform_deferred() {
    if !DEFERS.get() {
        return;
    }
    let Some(thread) = current() else { return };
    let deferred = shared(|shared| std::mem::take(&mut shared.per_thread(thread).deferred));
    for Deferred { op, at } in deferred {
        suspend_pending(Request::from(&op), at);
    }
}

/// Puts an operation off until the thread has stopped unwinding.
fn defer(op: Op, at: At) {
    let thread = current().expect("operations are put off inside models only");
    UNUSUAL.set(true);
    DEFERS.set(true);
    shared(|shared| shared.per_thread(thread).deferred.push(Deferred { op, at }));
}

/// A run starts: nothing has been put off.
pub(crate) fn forget_deferred() {
    let (unusual, rounds) = shared(|shared| {
        let rounds = !shared.unmarked.is_empty();
        let others = !shared.awaits.is_empty() || !shared.retries.is_empty() || shared.waits != Waits::default();
        (rounds || others, rounds)
    });
    UNUSUAL.set(unusual);
    ROUNDS.set(rounds);
    DEFERS.set(false);
    REPEATS.set(false);
    UPDATING.set(false);
    FAILS.set(false);
    COUNTS.set(false);
    owes(false, false);
    ASIDE.set(0);
    blocks::loud();
    PANIC.with_borrow_mut(Vec::clear);
}

/// A function runs that `fetch_update` has called.
pub(crate) struct Updating(());

impl Updating {
    /// It is called now.
    pub fn start() -> Updating {
        UPDATING.set(true);
        Updating(())
    }
}

impl Drop for Updating {
    fn drop(&mut self) {
        UPDATING.set(false);
    }
}

/// Whether a thread may have been left in the middle of such a function, or has done something in a panic that could not be put
/// off.
#[inline(never)]
pub(crate) fn was_left_inside() -> bool {
    UPDATING.get() || ASIDE.get() > 0
}

/// Whether a thread has been left in the middle of such a function.
pub(crate) fn take_updating() -> bool {
    UPDATING.replace(false)
}

/// The thread comes to the end of an iteration in which it has waited for others.
///
/// Always inlined, so that below the frames of the model's code there are only frames in memory that was cleared: what is
/// left over in them from other calls would tell states apart (`spin.rs`). For the same reason nothing is kept here: where it
/// was called from would be on the stack only after the first time.
#[track_caller]
#[inline(always)]
pub(crate) fn yields() {
    scrub();
    yields_here();
}

#[track_caller]
#[inline(never)]
fn yields_here() {
    must_run();
    yields_at(Location::caller());
}

/// Never inlined, since what it is told would be kept in the frame of who calls it.
#[inline(never)]
fn yields_at(at: At) {
    if std::thread::panicking() {
        count_aside();
    } else {
        perform_frees();
        has_room(at);
        scrub();
        suspend_yielding(at);
    }
}

/// Fails if the stack is used up.
#[track_caller]
#[inline(never)]
fn has_room(at: At) {
    if overflow::is_near() {
        fail(ViolationKind::Assertion, overflow::message(ThreadId::new(THREAD.get())), at);
    }
}

/// Yields as long as a condition holds.
///
/// Never inlined, and the condition is called at one place, so that the thread is in the same state before every call.
#[track_caller]
#[inline(never)]
pub(crate) fn spin_while(condition: &mut dyn FnMut() -> bool, at: At) {
    let mut again = std::hint::black_box(true);
    while again {
        scrub();
        again = condition();
        if again {
            must_run();
            scrub();
            yields_at(at);
        }
    }
}

/// The thread is about to write something that is part of the model.
///
/// What owns something is not announced: somebody else may have got to know of that.
#[inline(never)]
pub(crate) fn announce<T: ?Sized>(data: &T) {
    if UNUSUAL.get() && !std::mem::needs_drop::<T>() {
        let (start, size) = (std::ptr::from_ref(data).cast::<u8>().addr(), size_of_val(data));
        glance(|shared| shared.announce(start, size));
    }
}

#[track_caller]
#[inline(never)]
fn suspend_yielding(at: At) {
    let marker = 0u64;
    let low = std::ptr::from_ref(std::hint::black_box(&marker)).addr();
    suspend(Yielded::Yields { at, low });
}

/// Suspends a coroutine in both ways in which threads are suspended that may spin.
pub(crate) fn suspend_twice(yielder: &Yielder<Outcome, Yielded>) {
    let here = Some(Here { thread: main_thread(), yielder });
    set_here(here);
    suspend_pending(Request::atomic_end(), Location::caller());
    set_here(here);
    suspend_yielding(Location::caller());
}

#[track_caller]
#[inline]
fn suspend(yielded: Yielded) -> Outcome {
    let yielder = YIELDER.get();
    if yielder.is_null() {
        outside_model();
    }
    // SAFETY: the machine sets `YIELDER` to that of the coroutine that it resumes, and to nothing when it suspends
    // itself or ends; so this code runs in that coroutine, on whose stack the yielder lives.
    let yielder = unsafe { &*yielder };
    yielder.suspend(yielded)
}

/// A place in the source, in the engine's words.
pub(crate) fn span(at: At) -> SourceSpan {
    SourceSpan { file: at.file().to_owned(), line: at.line(), column: at.column(), function: String::new() }
}

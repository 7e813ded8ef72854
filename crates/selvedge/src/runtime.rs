//! What an operation in the model's code sees of the machine that runs it.
//!
//! All threads of a model run as coroutines of the operating system's thread that called `model`. What they share with
//! the machine is kept in thread-local variables of that thread, so that operations need no handle. An operation hands its
//! Op to the machine by suspending its coroutine and is resumed with the outcome.

// The yielder of the running coroutine is reached through a pointer.
#![allow(unsafe_code)]

use crate::pointers::Pointers;
use crate::threads::Threads;
use corosensei::Yielder;
use rustc_hash::FxHashMap;
use selvedge_ir::EntityRef;
use selvedge_machine::memory::ObjectKind;
use selvedge_machine::{AccessKind, Addr, Memory, Op, Outcome, SourceSpan, Stop, ThreadId, Unsupported, main_thread};
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where an operation stands in the source.
pub(crate) type At = &'static Location<'static>;

/// What a coroutine tells the machine when it suspends itself.
pub(crate) enum Yielded {
    /// It waits for the outcome of an operation.
    Op(Op, At),
    /// It cannot go on.
    Stop(Box<Stop>),
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
    static SHARED: RefCell<Option<Box<Shared>>> = const { RefCell::new(None) };
    static PANIC: RefCell<Option<(String, SourceSpan)>> = const { RefCell::new(None) };
    /// How many operations destructors have made while their thread unwinds.
    static ASIDE: Cell<u64> = const { Cell::new(0) };
}

/// A number for each run of a model, unique in the process: what was made in another run is known by it.
static RUNS: AtomicU64 = AtomicU64::new(1);

/// An object that a thread has made since it last suspended itself.
pub(crate) enum Created {
    /// In this run.
    Inside { addr: Addr, size: u8, init: u64 },
    /// Outside of all runs, met for the first time.
    Outside { addr: Addr, size: u8, init: u64 },
}

/// What a thread has done in the present run.
#[derive(Clone, Copy, Default)]
pub(crate) struct PerThread {
    /// How many objects it has made.
    pub made: u32,
    /// How many threads it has created.
    pub children: u32,
    /// All outcomes that it was told.
    pub history: [u64; 2],
}

/// What operations and the machine share.
pub(crate) struct Shared {
    /// The present run.
    pub run: u64,
    /// What its threads have done.
    pub per_thread: Vec<PerThread>,
    /// Objects that the machine does not know of yet.
    pub created: Vec<Created>,
    /// Bodies of threads that are about to start.
    pub bodies: Vec<(ThreadId, Box<dyn FnOnce()>)>,
    /// Threads that were created and have not been joined.
    pub unjoined: u32,
    /// `Arc`s that were made in this run and live.
    pub live_arcs: u32,
    /// Values that must not be leaked, were made in this run and live.
    pub live_tracked: u32,
    /// Which threads there are.
    pub threads: Threads,
    /// The names of pointers.
    pub pointers: Pointers,
    /// Counts of `Arc`s that were turned into raw pointers in this run.
    pub raw_arcs: FxHashMap<usize, std::sync::Arc<crate::object::Word>>,
    /// Where objects were made, and what they are.
    pub origins: FxHashMap<Addr, (&'static str, At)>,
    /// The steps of the last run, left behind by the machine.
    pub steps: Vec<crate::machine::Step>,
    /// Addresses by (thread, n-th object of it).
    addresses: Vec<Vec<Addr>>,
    numbering: Memory,
    /// Objects that are not of this run, by where they are.
    outside: FxHashMap<usize, Addr>,
    /// Where those are for the engine.
    block: Addr,
    /// An address in the frame that has started the model.
    pub top: usize,
    /// How much of a stack is looked at when threads spin; 0 if none does.
    pub spins: usize,
    /// The exploration has to start again.
    pub restart: bool,
}

/// How many objects from outside a model can be used in it, and how many threads there can be.
const OUTSIDE: u64 = 8192;
const PARKS: u64 = selvedge_machine::memory::MAX_THREADS as u64;
/// The memory for them.
pub(crate) const BLOCK: u64 = 8 * (OUTSIDE + PARKS);

impl Shared {
    fn new() -> Shared {
        let mut numbering = Memory::new();
        let block = block(&mut numbering);
        Shared {
            run: 0,
            per_thread: Vec::new(),
            created: Vec::new(),
            bodies: Vec::new(),
            unjoined: 0,
            live_arcs: 0,
            live_tracked: 0,
            threads: Threads::new(),
            pointers: Pointers::default(),
            raw_arcs: FxHashMap::default(),
            origins: FxHashMap::default(),
            steps: Vec::new(),
            addresses: Vec::new(),
            numbering,
            outside: FxHashMap::default(),
            block,
            top: 0,
            spins: 0,
            restart: false,
        }
    }

    /// Everything starts again.
    pub fn new_run(&mut self) {
        self.run = RUNS.fetch_add(1, Ordering::Relaxed);
        self.per_thread.clear();
        self.created.clear();
        self.bodies.clear();
        self.raw_arcs.clear();
        self.unjoined = 0;
        self.live_arcs = 0;
        self.live_tracked = 0;
        self.pointers.new_run();
    }

    /// What a thread has done.
    pub fn per_thread(&mut self, thread: ThreadId) -> &mut PerThread {
        if self.per_thread.len() <= thread.index() {
            self.per_thread.resize(thread.index() + 1, PerThread::default());
        }
        &mut self.per_thread[thread.index()]
    }

    /// The address of the n-th object of a thread.
    fn address(&mut self, thread: ThreadId, n: u32) -> Addr {
        if self.addresses.len() <= thread.index() {
            self.addresses.resize_with(thread.index() + 1, Vec::new);
        }
        while self.addresses[thread.index()].len() <= n as usize {
            let addr = self.numbering.alloc(Some(thread), ObjectKind::Heap, 8, true, 0);
            self.addresses[thread.index()].push(addr.expect("addresses are not used up by small objects"));
        }
        self.addresses[thread.index()][n as usize]
    }

    /// Gives a new object its address.
    pub fn create(&mut self, thread: ThreadId, size: u8, init: u64) -> Addr {
        let made = &mut self.per_thread(thread).made;
        let n = *made;
        *made += 1;
        let addr = self.address(thread, n);
        self.created.push(Created::Inside { addr, size, init });
        addr
    }

    /// The address of an object that is not of this run. It starts every execution with its first value.
    pub fn outside(&mut self, object: usize, size: u8, init: u64) -> Addr {
        if let Some(&addr) = self.outside.get(&object) {
            return addr;
        }
        let n = self.outside.len() as u64;
        assert!(n < OUTSIDE, "a model uses at most {OUTSIDE} objects that were made outside of it");
        let addr = Addr(self.block.0 + 8 * n);
        self.outside.insert(object, addr);
        self.created.push(Created::Outside { addr, size, init });
        addr
    }

    /// Objects from outside are met for the first time again.
    pub fn forget_outside(&mut self) {
        self.outside.clear();
    }

    /// Whether stacks have not been cleared as far as they are about to be looked at. Then everything starts again.
    pub fn must_clear(&mut self, size: usize) -> bool {
        if size <= self.spins {
            return false;
        }
        self.spins = size.next_power_of_two();
        self.restart = true;
        true
    }

    /// The word that says whether a thread may go on after it has parked.
    pub fn park_word(&self, thread: ThreadId) -> Addr {
        Addr(self.block.0 + 8 * (OUTSIDE + thread.index() as u64))
    }
}

/// The memory for objects from outside. It is the first object of all, so its address is always the same.
pub(crate) fn block(memory: &mut Memory) -> Addr {
    memory.alloc(None, ObjectKind::Global, BLOCK, true, 0).expect("the first object finds room")
}

/// A model is being run as long as this lives.
pub(crate) struct Running(());

impl Running {
    /// Starts a model.
    pub fn start() -> Running {
        install_hook();
        let marker = 0u8;
        let top = std::ptr::from_ref(std::hint::black_box(&marker)).addr();
        SHARED.with_borrow_mut(|shared| {
            assert!(shared.is_none(), "a model cannot be run inside a model");
            *shared = Some(Box::new(Shared { top, ..Shared::new() }));
        });
        Running(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        SHARED.with_borrow_mut(|shared| *shared = None);
        set_here(None);
    }
}

/// Something that the machine and operations share.
#[track_caller]
pub(crate) fn shared<R>(f: impl FnOnce(&mut Shared) -> R) -> R {
    SHARED.with_borrow_mut(|shared| match shared {
        Some(shared) => f(shared),
        None => outside_model(),
    })
}

#[track_caller]
#[cold]
fn outside_model() -> ! {
    panic!("this can be used inside `selvedge::model` only");
}

/// The thread that runs, if one of a model does.
pub(crate) fn current() -> Option<ThreadId> {
    here().map(|here| here.thread)
}

/// Says who runs.
pub(crate) fn set_here(here: Option<Here>) {
    THREAD.set(here.map_or(0, |here| here.thread.index()));
    YIELDER.set(here.map_or(std::ptr::null(), |here| here.yielder));
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
pub(crate) fn perform(op: Op, at: At) -> Outcome {
    if std::thread::panicking() {
        return aside(&op);
    }
    suspend(Yielded::Op(op, at))
}

/// Ends the exploration, which then starts again with what is known by now.
pub(crate) fn starts_again() -> Box<Stop> {
    let feature = "the exploration starts again".to_owned();
    Box::new(Stop::Unsupported(Box::new(Unsupported { feature, place: SourceSpan::default() })))
}

/// The thread cannot go on.
#[track_caller]
pub(crate) fn stop(feature: String, at: At) -> ! {
    suspend(Yielded::Stop(Box::new(Stop::Unsupported(Box::new(Unsupported { feature, place: span(at) })))));
    unreachable!("a thread that was stopped is never resumed")
}

/// The thread comes to the end of an iteration in which it has waited for others.
///
/// Always inlined, so that below the frames of the model's code there are only frames in memory that was cleared: what is
/// left over in them from other calls would tell states apart (`spin.rs`).
#[track_caller]
#[inline(always)]
pub(crate) fn yields(at: At) {
    if !std::thread::panicking() {
        scrub();
        suspend_yielding(at);
    }
}

/// Clears the stack where the frames of what is called next will be.
#[inline(never)]
fn scrub() {
    std::hint::black_box(&mut [0u64; 2 * SUSPENDED / 8]);
}

#[track_caller]
#[inline(never)]
fn suspend_yielding(at: At) {
    let marker = 0u64;
    let low = std::ptr::from_ref(std::hint::black_box(&marker)).addr();
    suspend(Yielded::Yields { at, low });
}

/// Frames between an address in `suspend_yielding` and the place where the coroutine is suspended take less than this; registers are
/// saved there.
pub(crate) const SUSPENDED: usize = 2048;

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

/// What destructors are told that run because their thread panics. The panic is a violation and the execution ends with
/// it, so their operations have no effect any more: they find zero, and what they exchange is what they expect.
fn aside(op: &Op) -> Outcome {
    let count = ASIDE.get() + 1;
    ASIDE.set(count);
    if count > 10_000_000 {
        eprintln!("selvedge: a destructor that runs because of a panic waits for something that cannot come");
        std::process::abort();
    }
    match op {
        Op::Access(access) => match access.kind {
            AccessKind::Cas { expected, .. } => expected,
            _ => 0,
        },
        _ => 0,
    }
}

/// Whether destructors of the running thread have made operations while it unwound; asked when it goes on all the same.
pub(crate) fn take_aside() -> bool {
    ASIDE.replace(0) > 0
}

/// What the last panic of a model's thread said, and where.
pub(crate) fn take_panic() -> Option<(String, SourceSpan)> {
    PANIC.take()
}

/// Panics of a model's threads are part of its verdict: they are not printed when they happen, but kept.
fn install_hook() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if YIELDER.get().is_null() {
                return others(info);
            }
            let message = info.payload_as_str().unwrap_or("a panic without a message").to_owned();
            let place = info.location().map(|at| SourceSpan {
                file: at.file().to_owned(),
                line: at.line(),
                column: at.column(),
                function: String::new(),
            });
            PANIC.set(Some((message, place.unwrap_or_default())));
        }));
    });
}

/// A place in the source, in the engine's words.
pub(crate) fn span(at: At) -> SourceSpan {
    SourceSpan { file: at.file().to_owned(), line: at.line(), column: at.column(), function: String::new() }
}

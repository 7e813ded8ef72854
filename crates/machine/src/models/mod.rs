//! Models of library functions.
//!
//! A call of a function that the program does not define is answered by a model: a small state machine that may yield
//! Ops, call back into the program, and finally returns. Its state is plain data ([`ModelState`]), so that it is saved
//! and restored with the thread that runs it. Memory that no other thread can reach is read and written directly;
//! anything else goes through Ops, one access of at most eight bytes each.
//!
//! Models are looked up by linkage name once, when a program is loaded ([`find`]).
//!
//! | file | owns |
//! |---|---|
//! | `call.rs` | how a model is written, and how it is interrupted and goes on |
//! | `facts.rs`, `errno.rs`, `externals.rs` | facts of threads, error numbers, global variables of libraries |
//! | `registry.rs`, `unsupported.rs` | the table of all models; what is known and not supported |
//! | `threads.rs`, `keys.rs`, `attributes.rs` | threads, thread-specific data, attributes |
//! | `mutex.rs`, `rwlock.rs`, `condvar.rs`, `semaphore.rs`, `barrier.rs`, `once.rs` | synchronisation |
//! | `atomics.rs`, `verifier.rs` | atomic operations by call; assumptions, sections, choices |
//! | `alloc.rs`, `bytes.rs`, `strings.rs` | the heap, blocks of bytes, strings |
//! | `convert.rs`, `ctype.rs`, `sort.rs`, `math.rs`, `random.rs`, `clock.rs`, `process.rs` | the rest of the C library |
//! | `stdio.rs`, `format.rs`, `iostream.rs` | output |
//! | `cxx.rs`, `list_node.rs`, `rb_tree.rs`, `hash_policy.rs` | the C++ run-time library and its containers |
//! | `testing.rs` | a small host for tests |
//!
//! What holds for all of them: an object of synchronisation is accessed by Ops on the program's own memory, so that its
//! state is saved, restored and checked for life and bounds like any other memory; what a thread knows by itself (which
//! mutexes it holds, how often) is a fact; nothing is remembered anywhere else.

mod alloc;
mod atomics;
mod attributes;
mod barrier;
mod bytes;
mod call;
mod clock;
mod condvar;
mod convert;
mod ctype;
mod cxx;
mod errno;
mod externals;
mod facts;
mod format;
mod hash_policy;
mod iostream;
mod keys;
mod list_node;
mod math;
mod mutex;
mod once;
mod process;
mod random;
mod rb_tree;
mod registry;
mod rwlock;
mod semaphore;
mod sort;
mod stdio;
mod strings;
#[cfg(test)]
mod testing;
mod threads;
mod unsupported;
mod verifier;

use crate::memory::ObjectKind;
use crate::{Addr, Memory, Op, SourceSpan, Stop, ThreadId, ViolationKind};
use selvedge_ir::Type;
use smallvec::SmallVec;

/// The state of a model that is being run for a call.
///
/// The machine fills in `args` and `types` and leaves the rest as `Default` makes it; from then on the state is the
/// model's own business (`call.rs` says how it is used).
#[derive(Clone, Debug, Default)]
pub struct ModelState {
    /// The arguments of the call, in registers.
    pub args: SmallVec<[u64; 6]>,
    /// Their types (a variadic function needs them).
    pub types: SmallVec<[Type; 6]>,
    /// Whether the model waits for the outcome of a `Yield` or a `Call`.
    pub waiting: bool,
    /// The outcomes that it has been given, and the results of its own steps, in order.
    pub log: SmallVec<[u64; 4]>,
    /// What it has to remember when it throws the log away; zeros at first.
    pub slots: [u64; 6],
}

/// What a model does next.
#[derive(Clone, Debug)]
pub enum Step {
    /// Yields an Op; the model is called again with its outcome as input.
    Yield(Op),
    /// Calls a function of the program through its address; the model is called again with its (first) result.
    Call {
        /// The function's address.
        func: Addr,
        /// Its arguments.
        args: SmallVec<[u64; 4]>,
    },
    /// Returns to the caller with this value (ignored if the function has no result).
    Return(u64),
    /// As `Return`, for functions whose result takes two registers.
    ReturnTwo([u64; 2]),
    /// Ends the thread with this result, after its thread-specific data have been destroyed (`pthread_exit`).
    ExitThread(u64),
    /// Ends the process with this status.
    ExitProcess(i32),
    /// Assumes something that does not hold: the thread blocks.
    Block,
}

/// A model: called with input 0 first, then with the outcome of its last `Yield` or `Call`.
pub type Model = fn(&mut dyn Host, &mut ModelState, u64) -> Result<Step, Stop>;

/// The model of a function that a program declares but does not define.
///
/// The machine itself also asks for a few: when a start routine returns it calls `pthread_exit` with the result (if the
/// program calls a function of [`LEAVE_WORK_FOR_THE_END`]), when `main` returns it calls `exit` with the status, and
/// copies or fills of visible memory that the compiler made out of assignments are calls of `memcpy`, `memmove` and
/// `memset`.
pub fn find(name: &str) -> Option<Model> {
    registry::find(name)
}

/// Functions that may leave something to do at the end of a thread: a program that calls none of them gets by without
/// the model of `pthread_exit` when a start routine returns.
pub const LEAVE_WORK_FOR_THE_END: [&str; 6] = [
    "pthread_key_create",
    "__pthread_key_create",
    "tss_create",
    "__cxa_thread_atexit",
    "__cxa_thread_atexit_impl",
    "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE",
];

/// The names of all functions that have a model, sorted. A few of them only say clearly why they are not supported.
pub fn names() -> Vec<&'static str> {
    registry::names()
}

/// The first bytes of a global variable that a program declares but a library defines (`stdout`, `std::cout`), if the
/// library is modelled; zeros behind, as many as the declaration asks for and at least [`EXTERNAL_SIZE`]. Thread-local
/// ones have an instance per thread like any other.
pub fn external(name: &str) -> Option<&'static [u8]> {
    externals::find(name)
}

/// Objects of the library have at least this size: a declaration may be smaller than what it stands for
/// (`@_ZTV.. = external global ptr` is a whole table of virtual functions).
pub const EXTERNAL_SIZE: u64 = 512;

/// What a model may ask of the machine.
pub trait Host {
    /// The calling thread.
    fn thread(&self) -> ThreadId;
    /// All objects.
    fn memory(&mut self) -> &mut Memory;
    /// Whether an access of `size` bytes must be an Op: another thread could reach the object, and there is more than
    /// one thread. A fault is a violation at the call site.
    fn is_visible(&mut self, addr: Addr, size: u64) -> Result<bool, Stop>;
    /// Called before the program's atomic access to an address: the object may have to become visible
    /// (`InterpOptions::atomics_publish`).
    fn before_atomic(&mut self, addr: Addr);
    /// Reads memory that is not visible.
    fn load_private(&mut self, addr: Addr, size: u8) -> Result<u64, Stop>;
    /// Writes memory that is not visible.
    fn store_private(&mut self, addr: Addr, size: u8, value: u64) -> Result<(), Stop>;
    /// Makes a heap object; an error at the call site if it is too large.
    fn allocate(&mut self, size: u64, zeroed: bool) -> Result<Addr, Stop>;
    /// The number of the calling thread's next child, given the start routine and its argument (the argument is
    /// published, and the child starts when the `Spawn` Op is resumed). Detached or not is the model's business.
    fn prepare_child(&mut self, start: Addr, arg: u64) -> Result<ThreadId, Stop>;
    /// What a thread that has ended left for `pthread_join`; none while it has not ended.
    fn thread_result(&self, thread: ThreadId) -> Option<u64>;
    /// Ends the life of a heap object that is not visible, and remembers the call site as the place where it was freed.
    /// (For a visible object yield `Op::Free`; the machine remembers the place when it is resumed.) The caller has
    /// checked that `addr` is the first byte of a live heap object.
    fn release(&mut self, addr: Addr);
    /// Makes a zeroed object of the library itself that belongs to the calling thread (`errno`, a table of `<ctype.h>`);
    /// it is not a leak. `name` is for messages.
    fn library_object(&mut self, name: &'static str, kind: ObjectKind, size: u64) -> Result<Addr, Stop>;
    /// The calling thread's instance of a thread-local variable of the program, by linkage name.
    fn thread_local(&mut self, name: &str) -> Option<Addr>;
    /// Per-thread facts that models keep (mutexes held, thread-specific data, detached threads), restored on undo:
    /// the value under a key, 0 if it was never set.
    fn fact(&self, key: (u32, u64)) -> u64;
    /// Sets a fact of the calling thread.
    fn set_fact(&mut self, key: (u32, u64), value: u64);
    /// Whether a thread has been told to run detached or was joined: process-wide facts of the same kind. Only for
    /// what is decided by happens-before (a thread joined twice is a violation in any order).
    fn shared_fact(&self, key: (u32, u64)) -> u64;
    /// Sets a process-wide fact.
    fn set_shared_fact(&mut self, key: (u32, u64), value: u64);
    /// A violation at the call site.
    fn violation(&self, kind: ViolationKind, message: String) -> Stop;
    /// An unsupported feature at the call site.
    fn unsupported(&self, feature: String) -> Stop;
    /// The call site.
    fn place(&self) -> SourceSpan;
    /// The violation that a `free` of a dead heap object is.
    fn double_free(&self, addr: Addr) -> Stop;
    /// What is at an address, for messages: a name of the source in quotes, or a description.
    fn name_of(&self, addr: Addr) -> String;
    /// Shows text as the program's output, if output is being kept.
    fn print(&mut self, text: &str);
    /// Options of the run.
    fn options(&self) -> &ModelOptions;
}

/// What a user can choose about library functions.
#[derive(Clone, Debug, Default)]
pub struct ModelOptions {
    /// Whether a wait on a condition variable may return without a signal.
    pub spurious_wakeups: bool,
    /// Whether a non-zero exit status is a violation.
    pub nonzero_exit_is_error: bool,
    /// The numbers that `__VERIFIER_nondet_*` takes, inclusive; an error when reached if none are given.
    pub nondet: Option<(i64, i64)>,
    /// Whether `malloc` may also return null.
    pub malloc_may_fail: bool,
}

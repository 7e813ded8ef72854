//! The interpreter: a [`Machine`] for programs of `selvedge_ir`.
//!
//! A program is compiled to a compact register bytecode when it is loaded, and each thread runs from one visible
//! operation to the next. An access becomes an [`Op`] only if its object can be reached by another thread and there has
//! been more than one thread in this execution; everything else is done at once and seen by nobody.
//!
//! | file | owns |
//! |---|---|
//! | `code.rs` | the bytecode, and the loaded program |
//! | `flow.rs` | order of blocks, back edges |
//! | `select.rs` | what needs code, and what that code reads |
//! | `registers.rs` | registers for SSA values |
//! | `compile.rs`, `branches.rs`, `edges.rs` | bytecode for instructions, branches, and edges with phis |
//! | `pure_iteration.rs` | loop iterations that change nothing |
//! | `load.rs` | globals, functions and the start of the program |
//! | `exec.rs` | the inner loop |
//! | `run.rs` | calls, returns, models, the life of a thread |
//! | `thread.rs` | threads and frames |
//! | `undo.rs` | going back |
//! | `bulk.rs` | copies and fills of private memory, thread-local variables |
//! | `varargs.rs` | variadic arguments as the x86-64 ABI lays them out |
//! | `host.rs` | what models may ask for |
//! | `fault.rs` | faults and traps in the words of the source |
//! | `naming.rs` | names of objects, source positions, call stacks |
//! | `leak.rs` | heap objects that nothing points to |

mod branches;
mod bulk;
mod code;
mod compile;
mod edges;
mod exec;
mod fault;
mod flow;
mod host;
mod leak;
mod load;
mod naming;
mod pure_iteration;
mod registers;
mod run;
mod select;
mod thread;
mod undo;
mod varargs;

#[cfg(test)]
mod tests;

use crate::models::ModelOptions;
use crate::{Access, Addr, Fault, Machine, Memory, Op, Outcome, Site, SourceSpan, Status, Stop, ThreadId, main_thread};
use code::Program;
use selvedge_ir::{EntityRef, FuncId, Module};
use thread::{Family, Thread};
use undo::Undo;

/// How to run a program.
#[derive(Clone, Debug)]
pub struct InterpOptions {
    /// Choices about library functions.
    pub models: ModelOptions,
    /// How often the back edges of a loop may be taken each time that it is entered; no bound if none.
    pub unroll: Option<u32>,
    /// Whether an iteration of a loop that has changed nothing is cut off when it is complete (`pure_iteration.rs`).
    pub dynamic_purity: bool,
    /// How many instructions a thread may execute from one Op to the next.
    pub max_local_steps: u64,
    /// How many functions may be active in a thread at once.
    pub max_depth: usize,
    /// Arguments for `main`, without the program's name.
    pub args: Vec<String>,
    /// Whether to keep what the program prints.
    pub keep_output: bool,
    /// Whether an atomic access makes the object that it touches one that others can reach, so that it is an Op (once
    /// there are several threads). Under a weak memory model another thread may come to read an object through a pointer
    /// that was published without order, and then sees the object's atomic writes one by one, even those from before.
    pub atomics_publish: bool,
    /// Whether heap objects that nothing points to at the end are an error.
    pub leak_check: bool,
}

impl Default for InterpOptions {
    fn default() -> InterpOptions {
        InterpOptions {
            models: ModelOptions::default(),
            unroll: None,
            dynamic_purity: false,
            max_local_steps: 50_000_000,
            max_depth: 20_000,
            args: Vec::new(),
            keep_output: false,
            atomics_publish: false,
            leak_check: false,
        }
    }
}

/// Why a program cannot be run at all.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no function to start with.
    #[error("the program has no function `main`")]
    NoMain,
    /// A global variable does not fit.
    #[error("the global variable `{name}` has {size} bytes; at most 1 GiB is supported")]
    GlobalTooLarge {
        /// Which.
        name: String,
        /// Its size.
        size: u64,
    },
    /// The initial bytes of a global are not within it.
    #[error("the initial value of the global variable `{name}` does not fit into its {size} bytes")]
    InitialiserTooLarge {
        /// Which.
        name: String,
        /// Its size.
        size: u64,
    },
}

/// Functions that the machine itself calls.
#[derive(Clone, Copy)]
struct Builtins {
    exit: FuncId,
    thread_exit: FuncId,
    /// Whether the model of `pthread_exit` has anything to do when a start routine returns.
    work_at_thread_end: bool,
    memcpy: FuncId,
    memmove: FuncId,
    memset: FuncId,
}

/// A program being run.
pub struct Interpreter {
    program: Program,
    options: InterpOptions,
    memory: Memory,
    threads: Vec<Thread>,
    family: Family,
    undo: Undo,
    builtins: Builtins,
    /// A function made by the loader: constructors, `main`.
    entry: FuncId,
    /// Names of objects that belong to the library.
    library: Vec<&'static str>,
    /// Instructions since the last Op.
    steps: u64,
    /// Instructions in all.
    instructions: u64,
}

impl Interpreter {
    /// Loads a program.
    pub fn new(module: &Module, options: InterpOptions) -> Result<Interpreter, LoadError> {
        load::load(module, options)
    }

    /// The exit status, once the process has ended.
    pub fn exit_status(&self) -> Option<i32> {
        self.undo.process.exit
    }

    /// How many instructions have been executed since the program was loaded, those that were undone included.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// The number of the next child of a thread, made if it is new; none if there are too many threads.
    fn intern_child(&mut self, parent: ThreadId, nth: u32) -> Option<ThreadId> {
        if let Some(child) = self.family.child(parent, nth) {
            return Some(child);
        }
        if self.threads.len() >= crate::memory::MAX_THREADS {
            return None;
        }
        let child = self.family.add_child(parent);
        self.threads.push(Thread::absent());
        debug_assert!(self.family.kin[child.index()].nth == nth, "children are numbered without gaps");
        Some(child)
    }
}

impl Machine for Interpreter {
    fn start(&mut self) -> Result<(), Stop> {
        self.start_main()
    }

    fn thread_limit(&self) -> usize {
        self.threads.len()
    }

    #[inline]
    fn status(&self, thread: ThreadId) -> Status {
        self.threads.get(thread.index()).map_or(Status::Absent, |thread| thread.head.status)
    }

    #[inline]
    fn can_be_joined(&self, thread: ThreadId) -> bool {
        self.status(thread) == Status::Finished && !self.threads[thread.index()].head.exiting
    }

    #[inline]
    fn pending(&self, thread: ThreadId) -> &Op {
        &self.threads[thread.index()].head.pending
    }

    #[inline]
    fn resume(&mut self, thread: ThreadId, outcome: Outcome) -> Result<(), Stop> {
        self.resume_thread(thread, outcome)
    }

    fn halt(&mut self, thread: ThreadId, status: Status) {
        let state = &mut self.threads[thread.index()];
        self.undo.save(thread, state);
        state.head.status = status;
    }

    fn fault(&self, thread: ThreadId, access: &Access, fault: Fault) -> Stop {
        let writes = !matches!(access.kind, crate::AccessKind::Load);
        self.fault_violation(thread, access.addr, u64::from(access.size), writes, fault)
    }

    fn free_fault(&self, thread: ThreadId, addr: Addr) -> Stop {
        self.double_free(thread, addr)
    }

    #[inline]
    fn memory(&self) -> &Memory {
        &self.memory
    }

    #[inline]
    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    fn spins(&self, thread: ThreadId) -> bool {
        self.threads.get(thread.index()).is_some_and(|thread| thread.head.spins)
    }

    fn iteration(&self, thread: ThreadId) -> Option<usize> {
        self.ops_of_iteration(thread)
    }

    fn exited(&self) -> bool {
        self.undo.process.exit.is_some()
    }

    #[inline]
    fn mark(&mut self) {
        self.undo.mark();
        self.memory.mark();
    }

    #[inline]
    fn undo(&mut self) {
        self.undo.undo(&mut self.threads);
        self.memory.undo();
    }

    fn site(&self, thread: ThreadId) -> Site {
        self.describe_site(thread)
    }

    fn place_number(&self, thread: ThreadId) -> Option<u64> {
        self.own_pc(thread).map(u64::from)
    }

    fn thread_name(&self, thread: ThreadId) -> String {
        self.name_of_thread(thread)
    }

    fn thread_path(&self, thread: ThreadId) -> Vec<u32> {
        self.family.path(thread)
    }

    fn thread_at(&mut self, path: &[u32]) -> Option<ThreadId> {
        let mut at = main_thread();
        for &nth in path {
            while self.family.child(at, nth).is_none() {
                let next = self.family.kin[at.index()].children.len() as u32;
                self.intern_child(at, next)?;
            }
            at = self.family.child(at, nth).expect("made just now if it was not there");
        }
        Some(at)
    }

    fn looks_at_the_end(&self) -> bool {
        self.options.leak_check
    }

    fn at_end(&mut self) -> Result<(), Stop> {
        if self.options.leak_check { self.check_leaks() } else { Ok(()) }
    }

    fn output(&self) -> &str {
        &self.undo.output
    }
}

/// A place in the source for a stop that has none.
fn nowhere() -> SourceSpan {
    SourceSpan::default()
}

//! Why a thread cannot go on.
//!
//! Three kinds that are never mixed: the user's program is wrong ([`Violation`]), the input uses something that is not
//! supported ([`Unsupported`]), or a bound was reached ([`Bound`]). A mistake of our own is a panic.

use std::fmt;

/// A place in the user's source.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SourceSpan {
    /// The file as the compiler named it; empty if unknown.
    pub file: String,
    /// Line, from 1; 0 if unknown.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
    /// The enclosing function; empty if unknown.
    pub function: String,
}

impl fmt::Display for SourceSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.file.is_empty(), self.line, self.column) {
            (true, ..) => f.write_str("unknown location"),
            (_, 0, _) => f.write_str(&self.file),
            (_, line, 0) => write!(f, "{}:{line}", self.file),
            (_, line, column) => write!(f, "{}:{line}:{column}", self.file),
        }
    }
}

/// The kinds of violation; their names are stable words of the machine-readable output.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ViolationKind {
    /// A failed assertion.
    Assertion,
    /// Threads that wait for each other forever.
    Deadlock,
    /// A thread that spins forever.
    Livelock,
    /// Two unordered plain accesses, one of them a write.
    DataRace,
    /// An access to an object whose life has ended.
    UseAfterFree,
    /// A second `free`.
    DoubleFree,
    /// A `free` of what was not allocated.
    InvalidFree,
    /// An access outside its object.
    OutOfBounds,
    /// A read of bytes that were never written.
    UninitialisedRead,
    /// An access through a null or wild pointer, or a write to constant memory.
    InvalidPointer,
    /// A misused lock, condition variable, barrier or thread handle.
    LockMisuse,
    /// An object that is never freed.
    Leak,
    /// Division by zero or a quotient that does not fit.
    Arithmetic,
    /// `abort`, a non-zero exit (if asked for), unreachable code that was reached.
    Abort,
}

impl ViolationKind {
    /// All kinds.
    pub const ALL: [ViolationKind; 14] = [
        ViolationKind::Assertion,
        ViolationKind::Deadlock,
        ViolationKind::Livelock,
        ViolationKind::DataRace,
        ViolationKind::UseAfterFree,
        ViolationKind::DoubleFree,
        ViolationKind::InvalidFree,
        ViolationKind::OutOfBounds,
        ViolationKind::UninitialisedRead,
        ViolationKind::InvalidPointer,
        ViolationKind::LockMisuse,
        ViolationKind::Leak,
        ViolationKind::Arithmetic,
        ViolationKind::Abort,
    ];

    /// The kind with this stable name.
    pub fn from_name(name: &str) -> Option<ViolationKind> {
        ViolationKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            ViolationKind::Assertion => "assertion",
            ViolationKind::Deadlock => "deadlock",
            ViolationKind::Livelock => "livelock",
            ViolationKind::DataRace => "data-race",
            ViolationKind::UseAfterFree => "use-after-free",
            ViolationKind::DoubleFree => "double-free",
            ViolationKind::InvalidFree => "invalid-free",
            ViolationKind::OutOfBounds => "out-of-bounds",
            ViolationKind::UninitialisedRead => "uninitialised-read",
            ViolationKind::InvalidPointer => "invalid-pointer",
            ViolationKind::LockMisuse => "lock-misuse",
            ViolationKind::Leak => "leak",
            ViolationKind::Arithmetic => "arithmetic",
            ViolationKind::Abort => "abort",
        }
    }
}

impl fmt::Display for ViolationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The user's program is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Which kind.
    pub kind: ViolationKind,
    /// One sentence that says what happened.
    pub message: String,
    /// The source places, the one to blame first; each with a word on what happened there (possibly empty).
    pub places: Vec<(SourceSpan, String)>,
}

/// The program uses something that Selvedge cannot execute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsupported {
    /// The feature's name, and what could be done.
    pub feature: String,
    /// Where it was reached.
    pub place: SourceSpan,
}

/// What is bounded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BoundKind {
    /// How often a loop goes round.
    Loop {
        /// At most so often.
        iterations: u32,
    },
    /// How many steps an execution has.
    Execution {
        /// At most so many.
        steps: usize,
    },
    /// How many instructions a thread executes without reaching another thread.
    Local {
        /// At most so many.
        instructions: u64,
    },
    /// How deep calls nest.
    Recursion {
        /// At most so deep.
        calls: usize,
    },
    /// How many threads there are.
    Threads {
        /// At most so many.
        threads: usize,
    },
    /// How many preemptions an execution takes.
    Preemptions {
        /// At most so many.
        preemptions: u32,
    },
}

/// A bound was reached: what lies behind it is not covered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bound {
    /// What was bounded, and how.
    pub kind: BoundKind,
    /// The same in words, such as `loop at queue.c:12 to 5 iterations`.
    pub what: String,
    /// Where.
    pub place: SourceSpan,
}

/// Why a thread cannot go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The user's program is wrong.
    Violation(Box<Violation>),
    /// The input is not supported.
    Unsupported(Box<Unsupported>),
    /// A bound was reached.
    Bound(Box<Bound>),
}

//! A program as the verifier sees it: threads as control-flow automata with formulas on their transitions.
//!
//! Section 2.1 and appendix A.1 of the paper. A transition makes at most one access that another thread could notice (or
//! is one atomic section) and ends in front of the next one; what it computes by itself comes along. A transition that
//! branches afterwards is several transitions with guards that exclude each other.
//!
//! | paper | here |
//! |---|---|
//! | l, a local location | [`LocationId`] |
//! | R, a transition, with Guard(R) | [`TransitionData`], its `guard` |
//! | Q, variables | symbols of [`Terms`] |
//! | may-block(l) | [`TransitionData::may_block`] of a transition from l |
//! | the error location | [`Place::Error`] |
//! | X, input symbols | symbols with `input` |

use crate::term::{ArrayBase, ArrayValue, State, Symbol, Term, Terms};
use selvedge_ir::{EntityVec, FuncId, Inst, LocId, entity};

entity! {
    /// A thread; the first is the main thread.
    ThreadId, "t"
}
entity! {
    /// A local location of a thread.
    LocationId, "l"
}
entity! {
    /// A transition of a thread.
    TransitionId, "r"
}
entity! {
    /// Something shared: a variable, an array, a mutex, a barrier, or the life of a thread.
    ObjectId, "o"
}

/// The name of inputs that the program takes: `__VERIFIER_nondet_*`.
pub const INPUT: &str = "input";
/// The name of inputs that say which waiting thread a signal wakes.
pub const WOKEN: &str = "woken";

/// A program.
#[derive(Debug)]
pub struct Program {
    /// All formulas.
    pub terms: Terms,
    /// The threads, in the order in which they were found: first those that the main thread creates.
    pub threads: EntityVec<ThreadId, Thread>,
    /// All locations.
    pub locations: EntityVec<LocationId, Location>,
    /// All transitions.
    pub transitions: EntityVec<TransitionId, TransitionData>,
    /// What is shared.
    pub objects: EntityVec<ObjectId, Object>,
    /// What every variable is at the start.
    pub initial: State,
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Its name for people: `producer`, or `worker#2` if several run the same function.
    pub name: String,
    /// The function that it runs.
    pub func: FuncId,
    /// The thread that creates it, and how many threads that one has created before; none for the main thread.
    pub created_by: Option<(ThreadId, u32)>,
    /// Where it is before anything happened.
    pub initial: LocationId,
    /// Where it starts when it is created; `initial` for the main thread.
    pub entry: LocationId,
    /// Where it is when it has ended.
    pub end: LocationId,
}

/// What a location is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The thread was not created yet.
    Unborn,
    /// In front of an access, or at a loop.
    Code,
    /// The thread has ended.
    End,
    /// The process has ended: `main` has returned, or `exit` was called.
    Exit,
    /// Something went wrong.
    Error,
}

/// A local location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// Whose.
    pub thread: ThreadId,
    /// What it is.
    pub place: Place,
    /// The transitions that start here.
    pub transitions: Vec<TransitionId>,
    /// Whether the thread may wait for an assumption here, be it one that never holds, which makes no transition.
    pub assumes: bool,
    /// Where in the source.
    pub loc: LocId,
}

/// Something shared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Object {
    /// Its name in the source.
    pub name: String,
}

/// A read or write of a shared object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// Which.
    pub object: ObjectId,
    /// Which bytes of it, if they are known.
    pub bytes: Option<(u64, u64)>,
    /// Whether it writes.
    pub write: bool,
}

/// What an instruction does in a transition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StepKind {
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// Atomic read-modify-write or compare-and-exchange.
    Rmw,
    /// Memory fence.
    Fence,
    /// Acquires a mutex or semaphore.
    Lock,
    /// Tries to acquire a mutex.
    TryLock,
    /// Releases a mutex or semaphore.
    Unlock,
    /// Arrives at a barrier.
    BarrierArrive,
    /// Leaves a barrier.
    BarrierLeave,
    /// Starts to wait for a condition variable.
    CondWait,
    /// Goes on after it was woken.
    CondWake,
    /// Wakes one waiting thread.
    CondSignal,
    /// Wakes all waiting threads.
    CondBroadcast,
    /// Starts an atomic section.
    AtomicBegin,
    /// Ends an atomic section.
    AtomicEnd,
    /// Takes an input.
    Nondet,
    /// Passes an assumption.
    Assume,
    /// A branch goes to its n-th successor.
    Branch(u32),
    /// Creates a thread.
    Spawn,
    /// Waits for the end of a thread.
    Join,
    /// Any other call that means something to the verifier.
    Call,
    /// One of several accesses of an instruction that copies or fills a block of memory.
    Piece,
    /// A function returns whose variables other threads may use.
    Return,
    /// The thread ends.
    Exit,
}

/// An instruction that a transition executes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The function.
    pub func: FuncId,
    /// The instruction in it.
    pub inst: Inst,
    /// What it does.
    pub kind: StepKind,
}

/// The kinds of errors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ErrorKind {
    /// A failed assertion, or a call of an error function.
    Assertion,
    /// An access outside of its object.
    OutOfBounds,
    /// An access through a null or wild pointer.
    InvalidPointer,
    /// A read of a local variable that was never written.
    UninitialisedRead,
    /// Division by zero, or a quotient that does not fit.
    Arithmetic,
    /// A misused mutex.
    LockMisuse,
    /// `abort`, or code that must not be reached.
    Abort,
}

/// What is wrong at the error location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorData {
    /// Which kind.
    pub kind: ErrorKind,
    /// In words.
    pub message: String,
    /// Where.
    pub loc: LocId,
}

/// A transition R from l to l'.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransitionData {
    /// Whose.
    pub thread: ThreadId,
    /// l.
    pub from: LocationId,
    /// l'.
    pub to: LocationId,
    /// Guard(R), as conjuncts over the state before and the inputs of this transition.
    pub guard: Vec<Term>,
    /// What changes: variables and their new values, over the same.
    pub updates: Vec<(Symbol, Term)>,
    /// Arrays and the writes to them, oldest first.
    pub writes: Vec<(Symbol, Vec<(Term, Term)>)>,
    /// The inputs that it takes, in order.
    pub inputs: Vec<Symbol>,
    /// The thread that it creates: that one's location changes as well.
    pub spawns: Option<ThreadId>,
    /// The thread whose end it waits for: it is enabled only when that one has ended.
    pub joins: Option<ThreadId>,
    /// If it wakes one thread of several that wait for a condition variable: these, in the order in which its input
    /// [`WOKEN`] counts them. The one with this number is woken, or the next behind it, in a circle, that waits.
    pub wakes: Vec<ThreadId>,
    /// Whether the thread may block here.
    pub may_block: bool,
    /// Whether it takes a back edge of a loop.
    pub back_jump: bool,
    /// What is wrong, if it leads to the error location.
    pub error: Option<ErrorData>,
    /// The shared objects that it touches.
    pub accesses: Vec<Access>,
    /// The instructions that it consists of.
    pub steps: Vec<Step>,
    /// In words.
    pub text: String,
    /// Where it starts in the source.
    pub loc: LocId,
}

impl Program {
    /// The transitions of a thread at a location.
    pub fn from(&self, location: LocationId) -> &[TransitionId] {
        &self.locations[location].transitions
    }

    /// The effect of a transition as a substitution: what every variable is afterwards, over the state before.
    pub fn effect(&self, transition: TransitionId) -> State {
        let data = &self.transitions[transition];
        let arrays = data
            .writes
            .iter()
            .map(|(array, writes)| (*array, ArrayValue { base: ArrayBase::Symbol(*array), writes: writes.clone() }));
        State { values: data.updates.iter().copied().collect(), arrays: arrays.collect() }
    }

    /// l: where every thread is at the start.
    pub fn initial_locations(&self) -> Vec<LocationId> {
        self.threads.values().map(|thread| thread.initial).collect()
    }

    /// R ∥ R': whether two transitions of different threads commute, and neither can enable or disable the other.
    pub fn independent(&self, a: TransitionId, b: TransitionId) -> bool {
        let (a, b) = (&self.transitions[a], &self.transitions[b]);
        debug_assert_ne!(a.thread, b.thread, "independence is between threads");
        if a.spawns == Some(b.thread) || b.spawns == Some(a.thread) {
            return false;
        }
        // Whatever comes before the end of the process may also not come.
        let ends = |x: &TransitionData| self.locations[x.to].place == Place::Exit;
        if ends(a) || ends(b) {
            return false;
        }
        let apart = |x: &Access, y: &Access| match (x.bytes, y.bytes) {
            (Some((start, end)), Some((from, to))) => end <= from || to <= start,
            _ => false,
        };
        a.accesses
            .iter()
            .all(|x| b.accesses.iter().all(|y| x.object != y.object || !(x.write || y.write) || apart(x, y)))
    }
}

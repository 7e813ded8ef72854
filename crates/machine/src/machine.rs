//! What an engine knows of a front end.
//!
//! A machine runs threads from one [`Op`] to the next and can go back. It knows nothing of schedules. An engine decides
//! who goes next and what the outcome of an Op is; it knows nothing of programs.

use crate::{Access, Addr, Fault, Memory, Op, Outcome, SourceSpan, Stop, ThreadId};

/// Where a thread stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It does not exist (yet) in this execution.
    Absent,
    /// It has yielded an Op and waits for its outcome.
    Ready,
    /// It has ended.
    Finished,
    /// It assumed something that does not hold.
    AssumeBlocked,
    /// It met a violation, an unsupported feature or a bound, and does not go on.
    Stopped,
}

/// What a thread is about to do, in words; for reports.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Site {
    /// The source position of the operation (in the user's own code).
    pub span: SourceSpan,
    /// What it touches in the words of the source: `queue->tail`, `buf[3]`, `m`; empty if nothing.
    pub object: String,
    /// The library function that does it, such as `pthread_mutex_lock`; empty if the program does it itself.
    pub call: String,
    /// Call stack, innermost first.
    pub stack: Vec<SourceSpan>,
    /// Whether values at this place are best shown as signed.
    pub signed: bool,
    /// Whether values at this place are pointers.
    pub pointer: bool,
    /// Whether the operation is a volatile load or store.
    pub volatile: bool,
}

/// A program being run, thread by thread.
///
/// A machine is deterministic: the same outcomes give the same Ops.
pub trait Machine {
    /// Runs the main thread to its first Op. Called once; `mark`/`undo` work from then on.
    fn start(&mut self) -> Result<(), Stop>;

    /// An upper bound of the thread numbers in use so far: all are below it.
    fn thread_limit(&self) -> usize;

    /// Where a thread stands.
    fn status(&self, thread: ThreadId) -> Status;

    /// Whether a thread has ended so that others can join it. One that has ended the process cannot be joined.
    #[inline]
    fn can_be_joined(&self, thread: ThreadId) -> bool {
        self.status(thread) == Status::Finished
    }

    /// The Op that a `Ready` thread waits with.
    fn pending(&self, thread: ThreadId) -> &Op;

    /// Tells a `Ready` thread the outcome of its Op and runs it to its next one. `Spawn` also runs the child to its
    /// first Op. On `Err` the thread (or the child) is `Stopped`.
    ///
    /// Memory effects of an `Access` and of a `Free` are the engine's business: under sequential consistency it applies
    /// them to `memory_mut()` before it resumes the thread.
    fn resume(&mut self, thread: ThreadId, outcome: Outcome) -> Result<(), Stop>;

    /// The Op that a `Ready` thread would wait with next if it were told this outcome; none if it would not come to one.
    fn next_if(&mut self, thread: ThreadId, outcome: Outcome) -> Option<Op> {
        self.mark();
        let goes_on = self.resume(thread, outcome).is_ok() && self.status(thread) == Status::Ready;
        let next = goes_on.then(|| *self.pending(thread));
        self.undo();
        next
    }

    /// Whether a load that a `Ready` thread stands at, and that is speculative with some values only
    /// ([`Speculation::IfNext`](selvedge_ir::Speculation::IfNext)), is so with this one.
    fn speculates(&mut self, thread: ThreadId, access: &Access, value: u64) -> bool {
        let next = self.next_if(thread, value);
        access.speculates(value, next.as_ref())
    }

    /// The exchange that would [confirm](Access::confirms) a load that a `Ready` thread stands at, if it were told this value and
    /// came to the exchange next. If it may store on the way, so that nobody can synchronise with that, to objects of its own
    /// ([`overwrites_own_stores`](Machine::overwrites_own_stores)), it may come by such stores before.
    fn next_confirmation(&mut self, thread: ThreadId, value: u64, _may_store: bool) -> Option<Access> {
        match self.next_if(thread, value) {
            Some(Op::Access(next)) if next.confirms => Some(next),
            _ => None,
        }
    }

    /// Whether threads may store to objects of their own between a speculative load and its confirmation: what an attempt
    /// that fails stores there, the next one overwrites before anybody looks at it.
    fn overwrites_own_stores(&self) -> bool {
        false
    }

    /// The engine treats speculative loads of these bytes, and what confirms them, like others from now on, and starts
    /// again. A machine may then not mark them any more.
    fn speculates_in_vain(&mut self, _addr: Addr) {}

    /// Whether a `Ready` thread that stands at an access which [`spins`](Access::spins) would, told this value, come back to
    /// the same access in the same state, having changed nothing: it waits for another value.
    fn waits(&mut self, _thread: ThreadId, _value: u64) -> bool {
        false
    }

    /// Whether what comes before a notification of a condition variable happens before what comes after the wait that it ends.
    /// That is so if POSIX says that both synchronise memory. If not, the mutex alone does.
    fn notifications_synchronise(&self) -> bool {
        true
    }

    /// Whether there may be accesses that [`spin`](Access::spins).
    fn may_spin(&self) -> bool {
        true
    }

    /// Takes a `Ready` thread out of the execution: it becomes `Stopped` (its Op is a violation) or `AssumeBlocked`.
    fn halt(&mut self, thread: ThreadId, status: Status);

    /// The violation (or unsupported feature) that a fault in a pending access is, at its source position.
    fn fault(&self, thread: ThreadId, access: &Access, fault: Fault) -> Stop;

    /// The violation that a pending `Free` of a dead object is.
    fn free_fault(&self, thread: ThreadId, addr: Addr) -> Stop;

    /// The memory objects.
    fn memory(&self) -> &Memory;

    /// The memory objects, to be changed.
    fn memory_mut(&mut self) -> &mut Memory;

    /// Asked before a thread is told the outcome of an operation that an engine knows from an execution in which threads ran in
    /// another order, an access to these bytes if it is one: why it does not stand at that. Only programs that are not
    /// deterministic do something else then.
    #[inline]
    fn elsewhere(&mut self, _thread: ThreadId, _addr: Option<Addr>) -> Option<Stop> {
        None
    }

    /// Whether stores have to be carried out in the memory, if the engine does not need them there itself: because threads
    /// look at it, or because what a stored pointer points to is shared from then on.
    fn wants_stores(&self) -> bool {
        true
    }

    /// Whether an `AssumeBlocked` thread has come to a point in an iteration of a loop from which on it would change
    /// nothing: it would start the iteration again, and get on if something is different that it has read.
    fn spins(&self, _thread: ThreadId) -> bool {
        false
    }

    /// Whether some `AssumeBlocked` threads, each of which was cut off in a loop in which it changes something, go round for ever if
    /// nobody else goes on. Asked at the end of an execution, of all of them that there are, with the newest values of all
    /// that was written in it; what there is elsewhere is in memory.
    fn go_round_for_ever(&mut self, _threads: &[ThreadId], _values: &[(Addr, u8, u64)]) -> bool {
        false
    }

    /// Whether a loop that waits for others begins, or begins anew, with the operation that a thread stands at: it lets others go
    /// first there, which is no preemption.
    fn lets_others_go(&self, _thread: ThreadId) -> bool {
        false
    }

    /// Whether a number other than 0 that a thread is about to choose stands for something that happens for no reason. A bound on
    /// preemptions is one on such choices too.
    fn chooses_for_no_reason(&self, _thread: ThreadId) -> bool {
        false
    }

    /// How many of its newest steps the iteration has that such a thread would start again, or a `Ready` one whose access
    /// waits with [`Cond::retry`](crate::Cond::retry); none if it has all since the thread last changed something. Steps of it
    /// that write leave things as they were before it.
    fn iteration(&self, _thread: ThreadId) -> Option<usize> {
        None
    }

    /// Whether the process has ended: `main` returned or `exit` was called. Threads that are left may go on (whatever
    /// they do could have come before the end), but one that waits is not deadlocked.
    fn exited(&self) -> bool;

    /// Remembers the present state; marks are undone in reverse order.
    fn mark(&mut self);

    /// Goes back to the newest mark and forgets it. Memory goes back too.
    fn undo(&mut self);

    /// The same with so many marks.
    fn undo_last(&mut self, marks: usize) {
        (0..marks).for_each(|_| self.undo());
    }

    /// What a `Ready` thread is about to do, in words.
    fn site(&self, thread: ThreadId) -> Site;

    /// The same for a step of an execution that is run again ([`crate::schedule::EventRecord::site`]). A machine whose reports
    /// do not need what it touches may leave that out.
    fn site_of_step(&self, thread: ThreadId) -> Site {
        self.site(thread)
    }

    /// A number for the place in the source at which a `Ready` thread stands, if the machine has one at hand: whenever it is
    /// the same, so is [`Site::span`]. To make that takes long.
    fn place_number(&self, _thread: ThreadId) -> Option<u64> {
        None
    }

    /// The thread's name for people: `main`, `producer`, `worker#2`.
    fn thread_name(&self, thread: ThreadId) -> String;

    /// The thread's path of spawns, stable over runs: empty for main, `[0, 2]` for the third child of main's first.
    fn thread_path(&self, thread: ThreadId) -> Vec<u32>;

    /// The number of the thread with this path, made if it is new.
    fn thread_at(&mut self, path: &[u32]) -> Option<ThreadId>;

    /// A maximal execution has been explored, whatever its end: threads that are still `Ready` wait forever in it.
    fn ends(&mut self) {}

    /// Whether a `Ready` thread that is left waiting would have given up in time: the execution was cut off.
    fn times_out(&self, _thread: ThreadId) -> bool {
        false
    }

    /// Whether [`Machine::at_end`] looks at what is left in memory.
    fn looks_at_the_end(&self) -> bool {
        false
    }

    /// Checks at the end of an execution that all threads ended (leaks, if asked for).
    fn at_end(&mut self) -> Result<(), Stop>;

    /// What the program has printed in this execution, if output is being kept.
    fn output(&self) -> &str;
}

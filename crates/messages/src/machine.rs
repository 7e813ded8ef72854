//! What the engine knows of a front end whose processes pass messages.
//!
//! A machine runs processes from one [`Op`] to the next, and can go back. Mailboxes, links, monitors, names, timers and
//! what happens when a process ends are the engine's business (`system.rs`): the front end neither stores messages nor
//! delivers them.
//!
//! A machine is deterministic: the same outcomes give the same Ops, whatever happens elsewhere.
//!
//! **Going back.** `mark` and `undo` nest. A machine whose processes are values that can be copied keeps what it needs to
//! restore them. One whose processes run native code notes that it has to run everything again, with the outcomes that it
//! has recorded, when it is next asked to `resume`; until then it only has to tell `status` and `pending` as they were.

use crate::{Message, Op, Outcome, Pid, Reason};
use selvedge_machine::{SourceSpan, Stop};

/// Where a process stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It does not exist (yet) in this execution.
    Absent,
    /// It has yielded an Op and waits for its outcome.
    Ready,
    /// It met a violation, an unsupported feature or a bound, and does not go on: it is stuck where it is, alive.
    Stopped,
    /// It has ended all processes: nothing that others wait for is missing. Steps that others have made are no less
    /// possible, as it might have come to this later.
    Halted,
    /// It has ended ([`Machine::ended`] was called).
    Ended,
}

/// What a shared operation is to an older one that has stored something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// It has nothing to do with what was stored.
    Apart,
    /// It overwrites all of it, and does not look at it.
    Overwrites,
    /// It looks at it (and may change it then): what it does depends on it.
    Observes,
}

/// A program being run, process by process.
pub trait Machine {
    /// What is sent.
    type Payload: Clone;
    /// What a receive with [`Accepts::When`](crate::Accepts::When) accepts: patterns, guards, and the variables in them.
    type Predicate: Clone;
    /// Exit reasons that the engine need not tell apart.
    type Reason: Clone + PartialEq;
    /// What a shared operation has touched.
    type Effect: Clone + PartialEq + std::fmt::Debug;

    /// Runs the first process ([`first_process`](crate::first_process)) to its first Op. Called once; `mark`/`undo` work
    /// from then on.
    fn start(&mut self) -> Result<(), Stop>;

    /// Where a process stands.
    fn status(&self, pid: Pid) -> Status;

    /// The Op that a `Ready` process waits with.
    fn pending(&self, pid: Pid) -> &Op<Self>;

    /// Tells a `Ready` process the outcome of its Op and runs it to its next one. [`Op::Spawn`] also runs the child to its
    /// first Op. Never called for [`Op::Exit`].
    ///
    /// On `Err` something is to be reported; where the process then stands, `status` says: `Stopped`, or `Ready` if it can
    /// go on (an exception that nobody caught is a violation, and the process goes on to [`Op::Exit`]).
    fn resume(&mut self, pid: Pid, outcome: Outcome<Self>) -> Result<(), Stop>;

    /// Performs the [`Op::Shared`] that a process waits with, on what the front end keeps, and says what it has touched.
    /// `resume` with [`Outcome::Done`] follows.
    fn perform(&mut self, pid: Pid) -> Self::Effect;

    /// A process has ended: it came to its [`Op::Exit`], or a signal has ended it wherever it was. What the front end keeps
    /// for it (tables that it owns) goes; what that touches is returned. An error is reported, as in `resume`.
    fn ended(&mut self, pid: Pid, reason: &Reason<Self::Reason>) -> Result<Option<Self::Effect>, Stop>;

    /// A process has ended (after [`Machine::ended`]), and nobody was linked to it or has monitored it: whatever the reason
    /// was, no process hears of it. An error is reported, as in `resume`.
    fn unattended(&mut self, _pid: Pid, _reason: &Reason<Self::Reason>) -> Result<(), Stop> {
        Ok(())
    }

    /// Whether a receive with this predicate would take this message. Depends on the two only.
    fn accepts(&self, predicate: &Self::Predicate, message: &Message<Self>) -> bool;

    /// Whether two shared operations, next to each other, can be swapped without anybody noticing. Symmetric, and
    /// depends on the two only. Say false if in doubt.
    fn commute(&self, a: &Self::Effect, b: &Self::Effect) -> bool;

    /// Whether a shared operation is a *store*: it writes one thing and does not look at what was there; whatever else it
    /// touches, it only reads. The order of two stores of the same thing matters only if somebody looks at it afterwards.
    fn is_store(&self, _effect: &Self::Effect) -> bool {
        false
    }

    /// What an operation is to a store that came before it. Depends on the two only; two stores either overwrite each other
    /// or have nothing to do with each other. Say [`Access::Observes`] if in doubt.
    fn access(&self, _later: &Self::Effect, _store: &Self::Effect) -> Access {
        Access::Observes
    }

    /// Whether operations have become stores that were none when they were last performed: what was explored is then void, and
    /// the exploration starts again. Asked between steps; [`Machine::is_store`] changes its answers here and nowhere
    /// else, and only for a bounded number of times.
    fn reclassified(&mut self) -> bool {
        false
    }

    /// Remembers the present state; marks are undone in reverse order.
    fn mark(&mut self);

    /// Goes back to the newest mark and forgets it.
    fn undo(&mut self);

    /// Whether a process may wait forever: a server. Otherwise it is an error if it does.
    fn is_server(&self, _pid: Pid) -> bool {
        false
    }

    /// The process's name for people: `main`, `worker#2`.
    fn name(&self, pid: Pid) -> String;

    /// Where a process stands in the source, if it is `Ready`.
    fn place(&self, pid: Pid) -> SourceSpan;

    /// What a process waits for in its receive, in words, such as `{ok, _}`; empty if there is nothing to say.
    fn waits_for(&self, _pid: Pid) -> String {
        String::new()
    }

    /// A message in words.
    fn show_message(&self, message: &Message<Self>) -> String;

    /// A message that a process does not accept, in words.
    fn show_refused(&self, _pid: Pid, message: &Message<Self>) -> String {
        self.show_message(message)
    }

    /// The [`Op::Shared`] that a process waits with, in words.
    fn show_shared(&self, _pid: Pid) -> String {
        "uses something shared".to_owned()
    }

    /// An exit reason in words.
    fn show_reason(&self, reason: &Reason<Self::Reason>) -> String;

    /// A registered name in words.
    fn show_name(&self, name: crate::Name) -> String;
}

//! Who makes a step, and what the step has touched.

use selvedge_machine::Stop;
use selvedge_messages::{Accepts, Machine, Name, Pid, Ref, Sender};

/// Who can make a step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Actor {
    /// A process: it performs its Op, ends because a signal has doomed it, or, when it has ended, tells the next of those
    /// who have to know.
    Process(Pid),
    /// What is on its way from one to another: the oldest of it arrives. Only if delivery is a step of its own.
    Channel(Sender, Pid),
    /// A timer that fires.
    Timer(Ref),
}

/// Something that is sent, by its place among everything that was sent in this execution.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SignalId(pub usize);

/// A part of the state that steps read and write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Part {
    /// What a process does next. Written by all that it does, by its creation, and by the signal that dooms it.
    Course(Pid),
    /// Whether a process lives: changed by the signal that dooms it, or by an end of its own accord.
    Life(Pid),
    /// Whether a process traps exits.
    Trap(Pid),
    /// Who has a name.
    Name(Name),
    /// Which name a process has.
    NameOf(Pid),
    /// Whether two processes are linked; the smaller number first.
    Link(Pid, Pid),
    /// Whether the first has heard, by their link, that the second has ended.
    Heard(Pid, Pid),
    /// Whether a monitor is there.
    Monitor(Ref),
    /// Whether an alias is active.
    Alias(Ref),
    /// Whether a timer runs.
    Timer(Ref),
    /// Whether something was sent.
    Sent(SignalId),
}

impl Part {
    /// The link of two processes.
    pub fn link(a: Pid, b: Pid) -> Part {
        Part::Link(a.min(b), a.max(b))
    }
}

/// One thing that a step has touched.
pub enum Touch<M: Machine> {
    /// It depends on a part of the state.
    Read(Part),
    /// It has changed it.
    Write(Part),
    /// It depends on all links of a process.
    ReadLinks(Pid),
    /// It depends on by which links a process has heard of an end.
    ReadHeard(Pid),
    /// Something came to a mailbox, even if its owner has ended.
    Arrives(Pid, SignalId),
    /// A receive took something.
    Takes(Pid, SignalId, Accepts<M::Predicate>),
    /// It was taken out of the mailbox since its monitor was ended.
    Flushes(Pid, SignalId),
    /// The `DOWN` of a monitor is thrown away from now on, and if it is there already: nobody can tell which.
    Silences(Pid, Ref),
    /// A receive found nothing.
    TimesOut(Pid, Accepts<M::Predicate>),
    /// The messages in a mailbox were counted.
    Counts(Pid),
    /// A shared operation.
    Shared(M::Effect),
}

/// A step that was made.
pub struct Event<M: Machine> {
    /// Who.
    pub actor: Actor,
    /// Which alternative.
    pub choice: u32,
    /// What it touched.
    pub touches: Vec<Touch<M>>,
    /// What is to be reported.
    pub stops: Vec<Stop>,
}

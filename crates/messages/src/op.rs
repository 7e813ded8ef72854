//! The vocabulary between processes that pass messages and the engine.
//!
//! A process runs by itself until it comes to something that other processes could notice, or that depends on them: it
//! yields an [`Op`] and waits for its [`Outcome`]. Terms, patterns and exit reasons are the front end's own
//! (`M::Payload`, `M::Predicate`, `M::Reason`): the engine carries them about and asks the front end when it needs to
//! know whether a receive would take a message.
//!
//! **Numbers are stable.** A process is known by which child it is of which process, a message by its sender and how many
//! it has sent before, a reference by its owner and a counter. So they are the same in equivalent executions.
//!
//! **Time is not modelled.** A receive with a timeout may time out whenever nothing in the mailbox matches; a timer may
//! fire at any time after it was started.

use crate::Machine;
use selvedge_ir::entity;
use std::fmt;
use std::rc::Rc;

entity! {
    /// A process. Numbers are given out by the engine: one for every (parent, n-th child) that was ever met, the first
    /// process is number 0.
    Pid, "p"
}

/// The first process.
pub fn first_process() -> Pid {
    selvedge_ir::EntityRef::new(0)
}

entity! {
    /// A registered name. The front end interns names; to the engine they are numbers.
    Name, "name"
}

/// A reference: of a monitor, an alias or a timer. The front end counts the references that a process makes, of whatever
/// kind, and names them in the Ops.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ref {
    /// Who made it.
    pub owner: Pid,
    /// How many the owner had made before.
    pub n: u32,
}

impl fmt::Debug for Ref {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}.{}", self.owner, self.n)
    }
}

/// A message: the n-th thing that its sender has sent. What a timer sends, it sends as the timer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// Who sent it.
    pub from: Sender,
    /// How many it had sent before.
    pub n: u32,
}

/// Who can send.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Sender {
    /// A process, while it lives or because it has ended (exit signals, `DOWN`).
    Process(Pid),
    /// A timer.
    Timer(Ref),
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.from {
            Sender::Process(pid) => write!(f, "m{}.{}", selvedge_ir::EntityRef::index(pid), self.n),
            Sender::Timer(timer) => write!(f, "m{timer:?}"),
        }
    }
}

/// To whom something is sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// A process. It may have ended: then nothing happens.
    Pid(Pid),
    /// Whoever has this name when the step is made.
    Name(Name),
    /// The owner of an alias, if the alias is active when the message is delivered. Otherwise it is dropped.
    Alias(Ref),
}

/// Why a process ends. `Other` is everything that the engine need not tell apart.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reason<R> {
    /// `normal`: links do not care, unless the other process traps exits.
    Normal,
    /// Only in [`Op::Signal`]: the signal that cannot be trapped. The process ends as `Killed`. (A process that ends by
    /// itself with Erlang's reason `kill` ends with `Other`.)
    Kill,
    /// It was sent `Kill`.
    Killed,
    /// There is (or was) no such process.
    NoProcess,
    /// Any other.
    Other(R),
}

/// Whether receives take a message.
#[derive(Clone, Debug)]
pub enum Accepts<P> {
    /// Any.
    Any,
    /// None: the process sleeps until the timeout.
    Nothing,
    /// Those for which [`Machine::accepts`] says so. It is asked later too, for messages that were not there yet when the
    /// receive was executed, and in other executions: a predicate keeps what it needs of the receive's environment.
    When(P),
}

/// How an alias comes to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AliasEnd {
    /// By [`Op::Unalias`] only.
    Unalias,
    /// Also with the monitor of the same reference: by [`Op::Demonitor`] or when `DOWN` is delivered.
    Demonitor,
    /// Also when the first message that is sent to it is delivered; the monitor then ends too.
    Reply,
}

/// What a query asks of a process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Query {
    /// Whether it lives. [`Info::Yes`] or [`Info::NoProcess`].
    Alive,
    /// How many messages are in its mailbox: [`Info::Count`].
    QueueLength,
    /// Its registered name: [`Info::Name`].
    RegisteredName,
    /// Whether it traps exits: [`Info::Yes`] or [`Info::No`].
    TrapExit,
    /// Whom it is linked to: [`Info::Processes`].
    Links,
}

/// The answer to a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Info {
    /// Yes.
    Yes,
    /// No.
    No,
    /// There is no such process any more.
    NoProcess,
    /// A number.
    Count(usize),
    /// A name, if it has one.
    Name(Option<Name>),
    /// Some processes, in the order of their numbers.
    Processes(Vec<Pid>),
}

/// What a process waits with. The outcome is [`Outcome::Done`] unless something else is said.
pub enum Op<M: Machine + ?Sized> {
    /// Creates a process; the front end knows what it runs. [`Outcome::Spawned`].
    Spawn {
        /// Link with it, in the same step.
        link: bool,
        /// Monitor it, in the same step.
        monitor: Option<Ref>,
    },
    /// Sends a message. [`Outcome::Refused`] if nobody has the name.
    Send {
        /// To whom.
        to: Target,
        /// What.
        payload: M::Payload,
    },
    /// Takes the oldest message of the mailbox that is accepted: [`Outcome::Message`]. Waits if there is none; with a
    /// timeout it may also go on with [`Outcome::Timeout`] then.
    Receive {
        /// Which messages.
        accepts: Accepts<M::Predicate>,
        /// Whether there is a timeout (of whatever length, zero included; one that is never reached is none).
        timeout: bool,
    },
    /// Ends the process: every process that has come to its end yields this. Never resumed.
    Exit {
        /// Why.
        reason: Reason<M::Reason>,
    },
    /// Links with a process. If that has ended, the engine sends the exit signal `NoProcess` to the caller.
    Link {
        /// With whom.
        to: Pid,
    },
    /// Ends a link. Its exit signal, if there was one, is not delivered any more.
    Unlink {
        /// With whom.
        to: Pid,
    },
    /// Monitors a process: when it ends, or at once if there is none, `DOWN` is sent to the caller.
    Monitor {
        /// Whom; an alias is not possible.
        target: Target,
        /// The monitor's name.
        reference: Ref,
        /// Also makes the reference an alias.
        alias: Option<AliasEnd>,
    },
    /// Ends a monitor: `DOWN` is not delivered any more. With `info`, [`Outcome::Flag`]: whether the monitor was there
    /// (with `flush` too: false if `DOWN` had been delivered, and was removed or had been received).
    Demonitor {
        /// Which.
        reference: Ref,
        /// Also removes its `DOWN` from the mailbox.
        flush: bool,
        /// Whether the answer is used.
        info: bool,
    },
    /// Whether exit signals become messages. [`Outcome::Flag`]: what it was before.
    TrapExit {
        /// On or off.
        on: bool,
    },
    /// Sends an exit signal (`exit/2`).
    Signal {
        /// To whom.
        to: Target,
        /// Why.
        reason: Reason<M::Reason>,
    },
    /// Gives a process a name. [`Outcome::Refused`] if the name is taken, the process has one, or has ended.
    Register {
        /// The name.
        name: Name,
        /// The process.
        pid: Pid,
    },
    /// Takes a name back. [`Outcome::Refused`] if nobody has it.
    Unregister {
        /// The name.
        name: Name,
    },
    /// Who has a name: [`Outcome::Found`].
    Whereis {
        /// The name.
        name: Name,
    },
    /// Makes an alias of the caller.
    Alias {
        /// Its name.
        reference: Ref,
        /// How it ends ([`AliasEnd::Unalias`] or [`AliasEnd::Reply`]).
        end: AliasEnd,
    },
    /// Ends an alias of the caller. [`Outcome::Flag`]: whether it was active.
    Unalias {
        /// Which.
        reference: Ref,
    },
    /// Starts a timer: a process of its own that sends once.
    StartTimer {
        /// Its name.
        reference: Ref,
        /// To whom.
        to: Target,
        /// What.
        payload: M::Payload,
    },
    /// Stops a timer. [`Outcome::Flag`]: whether it had not fired, nor been stopped, be it by the end of the process that it
    /// would have sent to.
    CancelTimer {
        /// Which.
        reference: Ref,
    },
    /// [`Outcome::Flag`]: whether a timer is running.
    ReadTimer {
        /// Which.
        reference: Ref,
    },
    /// Picks any of so many: [`Outcome::Chosen`].
    Choose {
        /// How many, at least one.
        alternatives: u32,
    },
    /// Asks something of a process: [`Outcome::Info`].
    Inspect {
        /// Of whom.
        target: Pid,
        /// What.
        query: Query,
    },
    /// An operation on what the front end keeps for all processes: shared tables, clocks. The engine calls
    /// [`Machine::perform`], which does it and says what it has touched; [`Machine::commute`] tells which two of them
    /// can be swapped.
    Shared,
}

impl<M: Machine + ?Sized> Clone for Op<M> {
    fn clone(&self) -> Self {
        match self {
            Op::Spawn { link, monitor } => Op::Spawn { link: *link, monitor: *monitor },
            Op::Send { to, payload } => Op::Send { to: *to, payload: payload.clone() },
            Op::Receive { accepts, timeout } => Op::Receive { accepts: accepts.clone(), timeout: *timeout },
            Op::Exit { reason } => Op::Exit { reason: reason.clone() },
            Op::Link { to } => Op::Link { to: *to },
            Op::Unlink { to } => Op::Unlink { to: *to },
            Op::Monitor { target, reference, alias } => {
                Op::Monitor { target: *target, reference: *reference, alias: *alias }
            }
            Op::Demonitor { reference, flush, info } => {
                Op::Demonitor { reference: *reference, flush: *flush, info: *info }
            }
            Op::TrapExit { on } => Op::TrapExit { on: *on },
            Op::Signal { to, reason } => Op::Signal { to: *to, reason: reason.clone() },
            Op::Register { name, pid } => Op::Register { name: *name, pid: *pid },
            Op::Unregister { name } => Op::Unregister { name: *name },
            Op::Whereis { name } => Op::Whereis { name: *name },
            Op::Alias { reference, end } => Op::Alias { reference: *reference, end: *end },
            Op::Unalias { reference } => Op::Unalias { reference: *reference },
            Op::StartTimer { reference, to, payload } => {
                Op::StartTimer { reference: *reference, to: *to, payload: payload.clone() }
            }
            Op::CancelTimer { reference } => Op::CancelTimer { reference: *reference },
            Op::ReadTimer { reference } => Op::ReadTimer { reference: *reference },
            Op::Choose { alternatives } => Op::Choose { alternatives: *alternatives },
            Op::Inspect { target, query } => Op::Inspect { target: *target, query: *query },
            Op::Shared => Op::Shared,
        }
    }
}

/// What is in a message.
pub enum Content<M: Machine + ?Sized> {
    /// What a process or timer sent.
    User(M::Payload),
    /// An exit signal that was trapped: Erlang's `{'EXIT', From, Reason}`.
    Exit {
        /// Who ended, or who sent the signal.
        from: Pid,
        /// Why.
        reason: Reason<M::Reason>,
    },
    /// Erlang's `{'DOWN', Reference, process, Target, Reason}`.
    Down {
        /// The monitor.
        reference: Ref,
        /// What was monitored, as it was named.
        target: Target,
        /// Why it ended.
        reason: Reason<M::Reason>,
    },
}

impl<M: Machine + ?Sized> Clone for Content<M> {
    fn clone(&self) -> Self {
        match self {
            Content::User(payload) => Content::User(payload.clone()),
            Content::Exit { from, reason } => Content::Exit { from: *from, reason: reason.clone() },
            Content::Down { reference, target, reason } => {
                Content::Down { reference: *reference, target: *target, reason: reason.clone() }
            }
        }
    }
}

/// A message on its way or in a mailbox.
pub struct Message<M: Machine + ?Sized> {
    /// Its name.
    pub id: MessageId,
    /// Whose mailbox it is for.
    pub to: Pid,
    /// What is in it.
    pub content: Content<M>,
}

/// What came of an Op.
pub enum Outcome<M: Machine + ?Sized> {
    /// It was done.
    Done,
    /// It was not possible; nothing was done.
    Refused,
    /// A process was created.
    Spawned(Pid),
    /// A message was received.
    Message(Rc<Message<M>>),
    /// Nothing was received.
    Timeout,
    /// Yes or no; the Op says what.
    Flag(bool),
    /// Who has the name.
    Found(Option<Pid>),
    /// Which alternative, from 0.
    Chosen(u32),
    /// The answer to a query.
    Info(Info),
}

impl<M: Machine + ?Sized> Clone for Outcome<M> {
    fn clone(&self) -> Self {
        match self {
            Outcome::Done => Outcome::Done,
            Outcome::Refused => Outcome::Refused,
            Outcome::Spawned(pid) => Outcome::Spawned(*pid),
            Outcome::Message(message) => Outcome::Message(Rc::clone(message)),
            Outcome::Timeout => Outcome::Timeout,
            Outcome::Flag(flag) => Outcome::Flag(*flag),
            Outcome::Found(pid) => Outcome::Found(*pid),
            Outcome::Chosen(n) => Outcome::Chosen(*n),
            Outcome::Info(info) => Outcome::Info(info.clone()),
        }
    }
}

//! What is sent, and what is accepted.

use crate::machine::RustMachine;
use selvedge_messages::{Content, Message as Sent, Pid, Reason, Ref, Target};
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;

/// What can be sent: plain data that can be copied and shown. Values that share something with their copies (an `Rc` of a
/// cell) must not change it.
pub trait Message: Clone + fmt::Debug + 'static {}

impl<M: Clone + fmt::Debug + 'static> Message for M {}

/// A message without its type.
pub(crate) trait Dynamic: Any {
    fn show(&self) -> String;
    fn type_name(&self) -> &'static str;
}

impl<M: Message> Dynamic for M {
    fn show(&self) -> String {
        format!("{self:?}")
    }

    fn type_name(&self) -> &'static str {
        std::any::type_name::<M>()
    }
}

/// A message as the engine carries it about.
#[derive(Clone)]
pub(crate) struct Payload(pub Rc<dyn Dynamic>);

impl Payload {
    pub fn get<M: Message>(&self) -> Option<&M> {
        (&*self.0 as &dyn Any).downcast_ref()
    }
}

/// Why a process has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExitReason {
    /// It came to its end.
    Normal,
    /// It was killed.
    Killed,
    /// There was no such process any more.
    NoProcess,
    /// It ended by itself for this reason, or panicked with this message.
    Error(String),
}

impl ExitReason {
    pub(crate) fn of(reason: &Reason<Rc<str>>) -> ExitReason {
        match reason {
            Reason::Normal => ExitReason::Normal,
            Reason::Kill | Reason::Killed => ExitReason::Killed,
            Reason::NoProcess => ExitReason::NoProcess,
            Reason::Other(text) => ExitReason::Error(text.to_string()),
        }
    }

    pub(crate) fn to_reason(&self) -> Reason<Rc<str>> {
        match self {
            ExitReason::Normal => Reason::Normal,
            ExitReason::Killed => Reason::Killed,
            ExitReason::NoProcess => Reason::NoProcess,
            ExitReason::Error(text) => Reason::Other(text.as_str().into()),
        }
    }
}

/// What a monitor tells: a process has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Down {
    /// The monitor.
    pub monitor: crate::process::Monitor,
    /// Who; comparable with [`crate::Pid::id`].
    pub process: crate::ProcessId,
    /// Why.
    pub reason: ExitReason,
}

/// What a process that traps exits is told: a linked process has ended, or sent an exit signal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exit {
    /// Who; comparable with [`crate::Pid::id`].
    pub from: crate::ProcessId,
    /// Why.
    pub reason: ExitReason,
}

/// Makes a message of what a monitor tells.
pub(crate) type OnDown = Rc<dyn Fn(Down) -> Payload>;

/// Makes messages of what monitors and links tell.
#[derive(Clone, Default)]
pub(crate) struct Signals {
    pub monitors: Vec<(Ref, OnDown)>,
    pub exits: Option<Rc<dyn Fn(Exit) -> Payload>>,
}

impl Signals {
    /// The message that the process is given for what has arrived; none if it never said how to make one.
    pub fn message(&self, content: &Content<RustMachine>) -> Option<Payload> {
        match content {
            Content::User(payload) => Some(payload.clone()),
            Content::Exit { from, reason } => {
                let exits = self.exits.as_ref()?;
                Some(exits(Exit { from: crate::ProcessId(*from), reason: ExitReason::of(reason) }))
            }
            Content::Down { reference, target, reason } => {
                let (_, down) = self.monitors.iter().rev().find(|(known, _)| known == reference)?;
                let monitor = crate::process::Monitor(*reference);
                // Processes are monitored by their number, never by a name.
                let Target::Pid(watched) = *target else { return None };
                Some(down(Down { monitor, process: crate::ProcessId(watched), reason: ExitReason::of(reason) }))
            }
        }
    }
}

/// What a receive accepts: messages of its type that satisfy its predicate.
#[derive(Clone)]
pub(crate) struct Predicate(pub Rc<dyn Acceptance>);

/// A predicate without the type of its messages.
pub(crate) trait Acceptance {
    /// The type of the messages, in words.
    fn what(&self) -> &'static str;
    fn accepts(&self, payload: &Payload) -> bool;
    fn signals(&self) -> Option<&Signals>;
}

/// A predicate on messages of type `M`, and how the process wants to be told of signals.
pub(crate) struct Matching<M, F> {
    pub accepts: F,
    pub signals: Option<Rc<Signals>>,
    pub messages: PhantomData<fn(M)>,
}

impl<M: Message, F: Fn(&M) -> bool> Acceptance for Matching<M, F> {
    fn what(&self) -> &'static str {
        std::any::type_name::<M>()
    }

    fn accepts(&self, payload: &Payload) -> bool {
        payload.get::<M>().is_some_and(&self.accepts)
    }

    fn signals(&self) -> Option<&Signals> {
        self.signals.as_deref()
    }
}

impl Predicate {
    pub fn accepts(&self, message: &Sent<RustMachine>) -> bool {
        match &message.content {
            Content::User(payload) => self.0.accepts(payload),
            content => {
                let told = self.0.signals().and_then(|signals| signals.message(content));
                told.is_some_and(|payload| self.0.accepts(&payload))
            }
        }
    }
}

/// A message in words.
pub(crate) fn show(
    message: &Sent<RustMachine>,
    name: impl Fn(Pid) -> String,
    named: impl Fn(Target) -> String,
) -> String {
    match &message.content {
        Content::User(payload) => payload.0.show(),
        Content::Exit { from, reason } => format!("exit of {}: {}", name(*from), show_reason(reason)),
        Content::Down { target, reason, .. } => format!("{} is down: {}", named(*target), show_reason(reason)),
    }
}

/// An exit reason in words.
pub(crate) fn show_reason(reason: &Reason<Rc<str>>) -> String {
    match reason {
        Reason::Normal => "normal".to_owned(),
        Reason::Kill => "kill".to_owned(),
        Reason::Killed => "killed".to_owned(),
        Reason::NoProcess => "no such process".to_owned(),
        Reason::Other(text) => text.to_string(),
    }
}

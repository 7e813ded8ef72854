//! What processes do.

use crate::context::{self, Body};
use crate::machine::RustMachine;
use crate::payload::{Down, Exit, ExitReason, Matching, Message, Payload, Predicate, Signals};
use crate::{Pid, ProcessId};
use selvedge_messages::{Accepts, Content, Info, Op, Outcome, Query, Reason, Ref, Target};
use std::rc::Rc;

/// A monitor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Monitor(pub(crate) Ref);

/// A timer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Timer(Ref);

fn body_of(f: impl FnOnce() + Clone + 'static) -> Body {
    Rc::new(move || Box::new(f.clone()))
}

#[track_caller]
fn create<M: Message>(
    f: impl FnOnce() + Clone + 'static,
    name: Option<&str>,
    link: bool,
    monitor: Option<Ref>,
) -> Pid<M> {
    let body = body_of(f);
    context::with(|context| context.body = Some((body, name.map(Rc::from))));
    match context::perform(Op::Spawn { link, monitor }) {
        Some(Outcome::Spawned(pid)) => Pid::of(pid),
        _ => Pid::of(context::with(|context| context.pid)),
    }
}

/// Creates a process that runs the closure. It receives messages of type `M` (and of others, if it is sent some).
///
/// The closure may be run again from its start at any time; so it can be cloned, and must not change anything that it
/// shares with others.
#[track_caller]
pub fn spawn<M: Message>(f: impl FnOnce() + Clone + 'static) -> Pid<M> {
    create(f, None, false, None)
}

/// Creates a process with a name for people, which reports show.
#[track_caller]
pub fn spawn_named<M: Message>(name: &str, f: impl FnOnce() + Clone + 'static) -> Pid<M> {
    create(f, Some(name), false, None)
}

/// Creates a process and links with it, in one step.
#[track_caller]
pub fn spawn_link<M: Message>(name: &str, f: impl FnOnce() + Clone + 'static) -> Pid<M> {
    create(f, Some(name), true, None)
}

/// Creates a process and monitors it, in one step. When it ends, the caller is sent the message that `down` makes.
#[track_caller]
pub fn spawn_monitor<M: Message, N: Message>(
    name: &str,
    f: impl FnOnce() + Clone + 'static,
    down: impl Fn(Down) -> N + 'static,
) -> (Pid<M>, Monitor) {
    let reference = note_monitor(down);
    (create(f, Some(name), false, Some(reference)), Monitor(reference))
}

/// The running process, which receives messages of type `M`.
#[track_caller]
pub fn me<M: Message>() -> Pid<M> {
    Pid::of(context::with(|context| context.pid))
}

/// Sends a message. Nothing happens if the process has ended.
#[track_caller]
pub fn send<M: Message>(to: Pid<M>, message: M) {
    context::perform(Op::Send { to: Target::Pid(to.pid), payload: Payload(Rc::new(message)) });
}

#[track_caller]
fn take<M: Message>(accepts: impl Fn(&M) -> bool + 'static, timeout: bool) -> Option<M> {
    let signals = context::with(|context| context.signals.clone());
    let predicate = Matching { accepts, signals: signals.clone(), messages: std::marker::PhantomData };
    let predicate = Predicate(Rc::new(predicate));
    match context::perform(Op::Receive { accepts: Accepts::When(predicate), timeout }) {
        Some(Outcome::Message(message)) => {
            let taken = match (&message.content, &signals) {
                (Content::User(payload), _) => payload.get::<M>().cloned(),
                (content, Some(signals)) => signals.message(content).and_then(|payload| payload.get::<M>().cloned()),
                _ => None,
            };
            Some(taken.expect("what was accepted has the right type"))
        }
        Some(_) => None,
        None if timeout => None,
        None => no_message(),
    }
}

/// A destructor of a process that unwinds waits for a message that nobody will send: there is nothing to return to.
#[cold]
fn no_message() -> ! {
    eprintln!("selvedge: a destructor receives a message while its process ends; that is not possible");
    std::process::abort()
}

/// Waits for the oldest message of type `M` in the mailbox, and takes it.
#[track_caller]
pub fn receive<M: Message>() -> M {
    take(|_| true, false).expect("without a timeout there is a message")
}

/// Waits for the oldest message of type `M` that the predicate accepts. The predicate depends on the message only, and on
/// what it has captured.
#[track_caller]
pub fn receive_match<M: Message>(accepts: impl Fn(&M) -> bool + 'static) -> M {
    take(accepts, false).expect("without a timeout there is a message")
}

/// Takes the oldest message of type `M`; if there is none, waits for one, or for the timeout. Time is not modelled: a
/// timeout is possible whenever there is no message.
#[track_caller]
pub fn receive_timeout<M: Message>() -> Option<M> {
    take(|_| true, true)
}

/// Like [`receive_timeout`], for messages that the predicate accepts.
#[track_caller]
pub fn receive_match_timeout<M: Message>(accepts: impl Fn(&M) -> bool + 'static) -> Option<M> {
    take(accepts, true)
}

/// Declares that the running process is a server: it may wait forever for the next message.
#[track_caller]
pub fn server() {
    context::with(|context| context.is_server = true);
}

/// Declares that a panic of the running process is no failure: the process ends with it, and those who are linked with it
/// or monitor it are told.
#[track_caller]
pub fn may_panic() {
    context::with(|context| context.may_panic = true);
}

/// Ends the running process.
#[track_caller]
pub fn exit(reason: ExitReason) -> ! {
    context::perform(Op::Exit { reason: reason.to_reason() });
    crate::coroutine::unwind()
}

/// Links the running process with another: if one ends for another reason than `Normal`, so does the other, unless it traps
/// exits.
#[track_caller]
pub fn link<M: Message>(to: Pid<M>) {
    context::perform(Op::Link { to: to.pid });
}

/// Ends a link.
#[track_caller]
pub fn unlink<M: Message>(to: Pid<M>) {
    context::perform(Op::Unlink { to: to.pid });
}

/// From now on, exit signals do not end the running process: it is sent the message that `exit` makes.
#[track_caller]
pub fn trap_exits<N: Message>(exit: impl Fn(Exit) -> N + 'static) {
    context::with(|context| {
        context.signals(|signals: &mut Signals| {
            signals.exits = Some(Rc::new(move |told| Payload(Rc::new(exit(told)))));
        });
    });
    context::perform(Op::TrapExit { on: true });
}

#[track_caller]
fn note_monitor<N: Message>(down: impl Fn(Down) -> N + 'static) -> Ref {
    context::with(|context| {
        let reference = context.reference();
        context.signals(|signals: &mut Signals| {
            signals.monitors.push((reference, Rc::new(move |told| Payload(Rc::new(down(told))))));
        });
        reference
    })
}

/// Monitors a process: when it ends, or at once if it has, the running process is sent the message that `down` makes.
#[track_caller]
pub fn monitor<M: Message, N: Message>(pid: Pid<M>, down: impl Fn(Down) -> N + 'static) -> Monitor {
    let reference = note_monitor(down);
    context::perform(Op::Monitor { target: Target::Pid(pid.pid), reference, alias: None });
    Monitor(reference)
}

/// Ends a monitor, and removes its message from the mailbox if it is there.
#[track_caller]
pub fn demonitor(monitor: Monitor) {
    context::perform(Op::Demonitor { reference: monitor.0, flush: true, info: false });
}

/// Sends an exit signal.
#[track_caller]
pub fn exit_signal<M: Message>(to: Pid<M>, reason: ExitReason) {
    context::perform(Op::Signal { to: Target::Pid(to.pid), reason: reason.to_reason() });
}

/// Ends a process, whether it traps exits or not.
#[track_caller]
pub fn kill<M: Message>(to: Pid<M>) {
    context::perform(Op::Signal { to: Target::Pid(to.pid), reason: Reason::Kill });
}

/// Registers a process under a name. False if the name is taken, or the process has one already or has ended.
#[track_caller]
pub fn register<M: Message>(name: &str, pid: Pid<M>) -> bool {
    let name = context::name(name);
    !matches!(context::perform(Op::Register { name, pid: pid.pid }), Some(Outcome::Refused))
}

/// Takes a name back. False if nobody had it.
#[track_caller]
pub fn unregister(name: &str) -> bool {
    let name = context::name(name);
    !matches!(context::perform(Op::Unregister { name }), Some(Outcome::Refused))
}

/// The process with a name.
#[track_caller]
pub fn whereis<M: Message>(name: &str) -> Option<Pid<M>> {
    let name = context::name(name);
    match context::perform(Op::Whereis { name }) {
        Some(Outcome::Found(pid)) => pid.map(Pid::of),
        _ => None,
    }
}

/// Sends a message to the process with a name. False if there is none.
#[track_caller]
pub fn send_to_name<M: Message>(name: &str, message: M) -> bool {
    let to = Target::Name(context::name(name));
    !matches!(context::perform(Op::Send { to, payload: Payload(Rc::new(message)) }), Some(Outcome::Refused))
}

/// Sends a message some time later.
#[track_caller]
pub fn send_later<M: Message>(to: Pid<M>, message: M) -> Timer {
    let reference = context::with(context::Context::reference);
    let payload = Payload(Rc::new(message));
    context::perform(Op::StartTimer { reference, to: Target::Pid(to.pid), payload });
    Timer(reference)
}

/// Stops a timer. False if it has sent its message, or was stopped before.
#[track_caller]
pub fn cancel(timer: Timer) -> bool {
    matches!(context::perform(Op::CancelTimer { reference: timer.0 }), Some(Outcome::Flag(true)))
}

/// Whether a process has not ended.
#[track_caller]
pub fn is_alive<M: Message>(pid: Pid<M>) -> bool {
    let op = Op::Inspect { target: pid.pid, query: Query::Alive };
    matches!(context::perform(op), Some(Outcome::Info(Info::Yes)))
}

/// Any number below `n`; all are tried.
#[track_caller]
pub fn nondet(n: u32) -> u32 {
    if n == 0 {
        context::unsupported("a nondeterministic choice without alternatives".to_owned());
    }
    match context::perform(Op::<RustMachine>::Choose { alternatives: n }) {
        Some(Outcome::Chosen(chosen)) => chosen,
        _ => 0,
    }
}

/// True or false; both are tried.
#[track_caller]
pub fn nondet_bool() -> bool {
    nondet(2) == 1
}

/// Fails the check if the condition does not hold, as `assert!` does.
#[track_caller]
pub fn assert(condition: bool, message: &str) {
    assert!(condition, "{message}");
}

impl<M: Message> Pid<M> {
    /// Sends a message to this process.
    #[track_caller]
    pub fn send(self, message: M) {
        send(self, message);
    }

    /// The process without the type of its messages.
    pub fn id(self) -> ProcessId {
        ProcessId(self.pid)
    }
}

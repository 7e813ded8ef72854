//! What the Ops of processes mean: mailboxes, channels, and the step of an actor.
//!
//! The meaning is written down once: the engine explores it, the oracle enumerates it, replay follows one path through it.
//! What happens when processes end is in `signals.rs`, names and timers are in `registry.rs`, how a step is taken back in
//! `undo.rs`.
//!
//! **Delivery.** With [`Delivery::Instant`], sending and delivering are one step of the sender. With [`Delivery::Fifo`] the
//! step of the sender only puts the message on its way, and delivering it is a step of the channel from this sender to
//! this receiver, which keeps the order. What a process sends to itself arrives at once. A timer that has fired is a sender
//! like others.
//!
//! **Spawning and ending** are steps of their own only if somebody could notice: a process may be ended by a signal just
//! before it would have created another, and others may ask whether it has ended. As long as no process has linked with
//! another, monitored it, sent it an exit signal, given it a name, asked about it, or used what the front end shares,
//! nobody can: then they are done together with what comes before them ([`System::quiet`]). An exploration starts like
//! this, and starts again with all as steps when the first such Op is met ([`System::noticed`]), or if something is to
//! report.

use crate::act::{Act, Arrival, Cell, NEVER, Received, Touch};
use crate::roster::{Actor, Role, Roster};
use crate::undo::Undo;
use crate::{
    Accepts, AliasEnd, Content, Machine, Message, MessageId, Name, Op, Outcome, Pid, Reason, Ref, Sender, Status,
    Target, first_process,
};
use rustc_hash::FxHashMap;
use selvedge_ir::EntityRef;
use selvedge_machine::{Bound, BoundKind, Stop};
use std::collections::VecDeque;
use std::rc::Rc;

/// When a message that was sent arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Delivery {
    /// At once: whoever sends first, arrives first (causal delivery).
    #[default]
    Instant,
    /// Some time later, in the order of the sender: a step of its own.
    Fifo,
}

/// No event.
pub const NONE: u32 = u32::MAX;

/// An execution creates at most so many processes.
pub const MAX_PROCESSES: usize = 4096;

/// Where a process is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Life {
    Absent,
    Alive,
    /// A signal has ended it; its next step is its end.
    Doomed,
    /// It has ended, and tells others so, step by step.
    Leaving,
    Dead,
}

/// The parts of a process's state that are saved together.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    pub life: Life,
    pub trap: bool,
    pub name: Option<Name>,
    pub sent: u32,
    pub received: u32,
    pub children: u32,
    /// How many steps had begun when it was created.
    pub born: u32,
    /// How many of its last words are said.
    pub said: u32,
}

const ABSENT: Head =
    Head { life: Life::Absent, trap: false, name: None, sent: 0, received: 0, children: 0, born: 0, said: 0 };

/// A message in a mailbox, and which step has brought it.
pub(crate) struct Mail<M: Machine> {
    pub message: Rc<Message<M>>,
    pub at: u32,
}

pub(crate) struct Process<M: Machine> {
    pub head: Head,
    pub mailbox: Vec<Mail<M>>,
    pub links: Vec<Pid>,
    /// Those of the links whose exit signals have come.
    pub left: Vec<Pid>,
    pub watchers: Vec<(Ref, Target)>,
    pub doom: Option<Reason<M::Reason>>,
    pub last_words: Vec<(Pid, Signal<M>)>,
}

impl<M: Machine> Default for Process<M> {
    fn default() -> Process<M> {
        Process {
            head: ABSENT,
            mailbox: Vec::new(),
            links: Vec::new(),
            left: Vec::new(),
            watchers: Vec::new(),
            doom: None,
            last_words: Vec::new(),
        }
    }
}

/// What travels between processes.
pub(crate) enum Signal<M: Machine> {
    Message(Rc<Message<M>>, Option<Ref>),
    Exit { from: Pid, reason: Reason<M::Reason>, link: bool, id: MessageId },
    Down { monitor: Ref, message: Rc<Message<M>> },
}

impl<M: Machine> Clone for Signal<M> {
    fn clone(&self) -> Signal<M> {
        match self {
            Signal::Message(message, via) => Signal::Message(Rc::clone(message), *via),
            Signal::Exit { from, reason, link, id } => {
                Signal::Exit { from: *from, reason: reason.clone(), link: *link, id: *id }
            }
            Signal::Down { monitor, message } => Signal::Down { monitor: *monitor, message: Rc::clone(message) },
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Monitor {
    Active,
    /// `DOWN` was delivered, or there was nobody to monitor.
    Fired,
    /// Ended by its owner. If nobody asked whether it was there and the mailbox was flushed: after how many receives.
    Cancelled {
        flushed: Option<u32>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Alias {
    pub end: AliasEnd,
    pub active: bool,
}

pub(crate) enum Timer<M: Machine> {
    Running { to: Target, payload: M::Payload, at: u32 },
    Cancelled { at: u32 },
    Done,
}

impl<M: Machine> Clone for Timer<M> {
    fn clone(&self) -> Timer<M> {
        match self {
            Timer::Running { to, payload, at } => Timer::Running { to: *to, payload: payload.clone(), at: *at },
            Timer::Cancelled { at } => Timer::Cancelled { at: *at },
            Timer::Done => Timer::Done,
        }
    }
}

/// A program in some state.
pub struct System<M: Machine> {
    /// The front end.
    pub machine: M,
    /// All actors.
    pub roster: Roster,
    pub(crate) delivery: Delivery,
    pub(crate) processes: Vec<Process<M>>,
    pub(crate) names: FxHashMap<Name, Pid>,
    pub(crate) monitors: FxHashMap<Ref, Monitor>,
    pub(crate) aliases: FxHashMap<Ref, Alias>,
    pub(crate) timers: FxHashMap<Ref, Timer<M>>,
    pub(crate) channels: FxHashMap<Actor, VecDeque<(Signal<M>, u32)>>,
    pub(crate) log: Vec<Undo<M>>,
    pub(crate) marks: Vec<usize>,
    pub(crate) created: usize,
    /// Ends are no steps of their own.
    pub quiet: bool,
    /// An Op was executed that can notice the end of a process, although ends are no steps.
    pub noticed: bool,
}

/// What a step was.
pub struct Stepped<M: Machine> {
    /// What it has done.
    pub act: Act<M>,
    /// The step that had to come before it, other than the actor's own: that created the process, sent what is
    /// delivered, started the timer. [`NONE`] if there is none.
    pub cause: u32,
    /// The step that brought what it has received; [`NONE`] if it has received nothing.
    pub source: u32,
    /// Something to report.
    pub stop: Option<Stop>,
}

impl<M: Machine> System<M> {
    /// Starts a program.
    pub fn start(machine: M, delivery: Delivery) -> (System<M>, Option<Stop>) {
        System::start_with(machine, delivery, Roster::default(), false)
    }

    /// Starts a program some of whose processes have numbers already; perhaps with ends that are no steps.
    pub fn start_with(machine: M, delivery: Delivery, roster: Roster, quiet: bool) -> (System<M>, Option<Stop>) {
        let mut system = System {
            machine,
            roster,
            delivery,
            processes: Vec::new(),
            names: FxHashMap::default(),
            monitors: FxHashMap::default(),
            aliases: FxHashMap::default(),
            timers: FxHashMap::default(),
            channels: FxHashMap::default(),
            log: Vec::new(),
            marks: Vec::new(),
            created: 1,
            quiet,
            noticed: false,
        };
        system.processes.push(Process { head: Head { life: Life::Alive, ..ABSENT }, ..Process::default() });
        let stop = system.machine.start().err();
        system.machine.mark();
        let settled = system.settle(first_process());
        (system, stop.or(settled))
    }

    /// Starts again, with ends as steps. All steps have been taken back.
    pub fn notice(&mut self) -> Option<Stop> {
        debug_assert!(self.marks.is_empty(), "all steps have been taken back");
        self.take_back_to(0);
        self.machine.undo();
        (self.quiet, self.noticed) = (false, false);
        self.machine.mark();
        self.settle(first_process())
    }

    /// How many steps have been made.
    #[inline]
    pub fn depth(&self) -> usize {
        self.marks.len()
    }

    /// The step that is being made.
    #[inline]
    fn now(&self) -> u32 {
        self.marks.len() as u32 - 1
    }

    /// All actors that were ever met.
    pub fn actors(&self) -> impl Iterator<Item = Actor> + use<M> {
        (0..self.roster.len()).map(Actor::new)
    }

    pub(crate) fn process(&mut self, pid: Pid) -> &mut Process<M> {
        if self.processes.len() <= pid.index() {
            self.processes.resize_with(pid.index() + 1, Process::default);
        }
        &mut self.processes[pid.index()]
    }

    pub(crate) fn head(&self, pid: Pid) -> Head {
        self.processes.get(pid.index()).map_or(ABSENT, |process| process.head)
    }

    /// Changes the head of a process.
    pub(crate) fn head_mut(&mut self, pid: Pid) -> &mut Head {
        let old = self.process(pid).head;
        self.log.push(Undo::Head(pid, old));
        &mut self.processes[pid.index()].head
    }

    /// Whether a process lives.
    pub fn is_alive(&self, pid: Pid) -> bool {
        self.head(pid).life == Life::Alive
    }

    /// What is in a process's mailbox, the oldest first.
    pub fn mailbox(&self, pid: Pid) -> impl Iterator<Item = &Message<M>> {
        let process = self.processes.get(pid.index());
        process.into_iter().flat_map(|process| process.mailbox.iter().map(|mail| &*mail.message))
    }

    /// Whether a process lives and waits with an Op.
    pub fn is_waiting(&self, pid: Pid) -> bool {
        self.is_alive(pid) && self.machine.status(pid) == Status::Ready
    }

    /// Whether an actor can make a step.
    pub fn enabled(&self, actor: Actor) -> bool {
        match self.roster.role(actor) {
            Role::Process(pid) => match self.head(pid).life {
                Life::Absent | Life::Dead => false,
                Life::Doomed | Life::Leaving => true,
                Life::Alive if self.machine.status(pid) != Status::Ready => false,
                Life::Alive => match self.machine.pending(pid) {
                    Op::Receive { accepts, timeout: false } => self.find(pid, accepts).is_some(),
                    _ => true,
                },
            },
            Role::Channel(..) => self.channels.get(&actor).is_some_and(|letters| !letters.is_empty()),
            Role::Timer(timer) => {
                matches!(self.timers.get(&timer), Some(Timer::Running { .. } | Timer::Cancelled { .. }))
            }
        }
    }

    /// How many alternatives the next step of an actor has.
    pub fn alternatives(&self, actor: Actor) -> u32 {
        match self.roster.role(actor) {
            Role::Process(pid) if self.is_waiting(pid) => match self.machine.pending(pid) {
                Op::Choose { alternatives } => (*alternatives).max(1),
                _ => 1,
            },
            _ => 1,
        }
    }

    /// Where in the mailbox the oldest message is that a receive accepts.
    fn find(&self, pid: Pid, accepts: &Accepts<M::Predicate>) -> Option<usize> {
        let mailbox = &self.processes[pid.index()].mailbox;
        match accepts {
            Accepts::Nothing => None,
            Accepts::Any => (!mailbox.is_empty()).then_some(0),
            Accepts::When(predicate) => mailbox.iter().position(|mail| self.machine.accepts(predicate, &mail.message)),
        }
    }

    /// Makes a step of an actor that is enabled.
    pub fn step(&mut self, actor: Actor, choice: u32) -> Stepped<M> {
        self.marks.push(self.log.len());
        self.machine.mark();
        let mut stepped = Stepped { act: Act::default(), cause: NONE, source: NONE, stop: None };
        match self.roster.role(actor) {
            Role::Process(pid) => {
                let Head { life, born, .. } = self.head(pid);
                stepped.cause = born.wrapping_sub(1);
                match life {
                    Life::Alive => self.perform(pid, choice, &mut stepped),
                    Life::Doomed => {
                        let reason = self.processes[pid.index()].doom.clone().expect("a doomed process has a reason");
                        stepped.stop = self.exit(pid, reason, &mut stepped.act);
                    }
                    Life::Leaving => self.say_last_word(pid, &mut stepped.act),
                    Life::Absent | Life::Dead => unreachable!("a process that makes a step is there"),
                }
            }
            Role::Channel(..) => {
                let letters = self.channels.get_mut(&actor).expect("a channel that delivers has letters");
                let (signal, sent) = letters.pop_front().expect("a channel that delivers has letters");
                let Role::Channel(_, to) = self.roster.role(actor) else { unreachable!("it is a channel") };
                self.log.push(Undo::Delivered(actor, signal.clone(), sent));
                stepped.cause = sent;
                self.arrive(&mut stepped.act, to, signal);
            }
            Role::Timer(timer) => stepped.cause = self.fire(timer, &mut stepped.act),
        }
        stepped
    }

    /// Tells a process what came of its Op. One that has ended itself is not told.
    fn resume(&mut self, pid: Pid, outcome: Outcome<M>) -> Option<Stop> {
        if !self.is_alive(pid) {
            return None;
        }
        let stop = self.machine.resume(pid, outcome).err();
        let settled = self.settle(pid);
        stop.or(settled)
    }

    /// As long as nobody can notice: lets a process create others, and end, together with what it did before.
    fn settle(&mut self, pid: Pid) -> Option<Stop> {
        let comes_to_more = |op: &Op<M>| match op {
            Op::Spawn { link, monitor } => !link && monitor.is_none(),
            Op::Exit { .. } => true,
            _ => false,
        };
        if !self.quiet || self.machine.status(pid) != Status::Ready || !comes_to_more(self.machine.pending(pid)) {
            return None;
        }
        let mut stop = None;
        let mut parents = vec![pid];
        while let Some(&parent) = parents.last() {
            let spawns = self.machine.status(parent) == Status::Ready
                && matches!(self.machine.pending(parent), Op::Spawn { link: false, monitor: None });
            if !spawns || matches!(stop, Some(Stop::Bound(_))) {
                parents.pop();
                let ended = self.end_quietly(parent);
                stop = stop.or(ended);
                continue;
            }
            match self.create(parent) {
                Ok(child) => {
                    parents.push(child);
                    let stopped = self.machine.resume(parent, Outcome::Spawned(child)).err();
                    stop = stop.or(stopped);
                }
                Err(bound) => stop = Some(bound),
            }
        }
        self.noticed |= stop.is_some();
        stop
    }

    /// Ends a process that has come to its end, if nobody can notice.
    fn end_quietly(&mut self, pid: Pid) -> Option<Stop> {
        if !self.is_waiting(pid) {
            return None;
        }
        let Op::Exit { reason } = self.machine.pending(pid) else { return None };
        let reason = reason.clone();
        self.head_mut(pid).life = Life::Dead;
        match self.machine.ended(pid, &reason) {
            Ok(effect) => {
                self.noticed |= effect.is_some();
                self.machine.unattended(pid, &reason).err()
            }
            Err(stop) => Some(stop),
        }
    }

    /// Whether an Op can notice the end of a process.
    fn notices(op: &Op<M>) -> bool {
        match op {
            Op::Spawn { link, monitor } => *link || monitor.is_some(),
            Op::Link { .. } | Op::Unlink { .. } | Op::Monitor { .. } | Op::Demonitor { .. } => true,
            Op::Signal { .. } | Op::Register { .. } | Op::Unregister { .. } | Op::Whereis { .. } => true,
            Op::Inspect { .. } | Op::Shared => true,
            Op::Send { to, .. } | Op::StartTimer { to, .. } => matches!(to, Target::Name(_)),
            Op::Receive { .. } | Op::Exit { .. } | Op::TrapExit { .. } | Op::Alias { .. } | Op::Unalias { .. } => false,
            Op::CancelTimer { .. } | Op::ReadTimer { .. } | Op::Choose { .. } => false,
        }
    }

    /// Makes the next child of a process.
    fn create(&mut self, parent: Pid) -> Result<Pid, Stop> {
        if self.created >= MAX_PROCESSES {
            let what = format!("executions to {MAX_PROCESSES} processes");
            let kind = BoundKind::Threads { threads: MAX_PROCESSES };
            let place = self.machine.place(parent);
            return Err(Stop::Bound(Box::new(Bound { kind, what, place })));
        }
        let n = self.head(parent).children;
        self.head_mut(parent).children += 1;
        let child = self.roster.child(parent, n);
        let born = self.marks.len() as u32;
        *self.head_mut(child) = Head { life: Life::Alive, born, ..ABSENT };
        self.created += 1;
        self.log.push(Undo::Created);
        Ok(child)
    }

    /// The name of the next message of a process.
    pub(crate) fn next_message(&mut self, from: Pid) -> MessageId {
        let n = self.head(from).sent;
        self.head_mut(from).sent += 1;
        MessageId { from: Sender::Process(from), n }
    }

    /// Executes the Op that a process waits with.
    fn perform(&mut self, pid: Pid, choice: u32, stepped: &mut Stepped<M>) {
        let act = &mut stepped.act;
        act.own = Some(pid);
        let op = self.machine.pending(pid).clone();
        self.noticed |= self.quiet && System::notices(&op);
        let outcome = match op {
            Op::Spawn { link, monitor } => match self.create(pid) {
                Ok(child) => {
                    self.attend(pid, child, link, monitor, act);
                    stepped.stop = self.machine.resume(pid, Outcome::Spawned(child)).err();
                    return;
                }
                Err(bound) => {
                    stepped.stop = Some(bound);
                    return;
                }
            },
            Op::Exit { reason } => {
                stepped.stop = self.exit(pid, reason, act);
                return;
            }
            Op::Receive { accepts, timeout } => self.receive(pid, accepts, timeout, stepped),
            Op::Send { to, payload } => self.send(pid, to, payload, act),
            Op::Link { to } => self.link(pid, to, act),
            Op::Unlink { to } => self.unlink(pid, to, act),
            Op::Monitor { target, reference, alias } => self.monitor(pid, target, reference, alias, act),
            Op::Demonitor { reference, flush, info } => self.demonitor(pid, reference, flush, info, act),
            Op::TrapExit { on } => {
                let was = self.head(pid).trap;
                if was != on {
                    act.touch(Cell::Trap(pid), Touch::Write);
                    self.head_mut(pid).trap = on;
                }
                Outcome::Flag(was)
            }
            Op::Signal { to, reason } => match self.resolve(to, act) {
                Some(to) => {
                    let id = self.next_message(pid);
                    self.transmit(act, pid, to, Signal::Exit { from: pid, reason, link: false, id });
                    Outcome::Done
                }
                None => Outcome::Refused,
            },
            Op::Register { name, pid: named } => self.register(name, named, act),
            Op::Unregister { name } => self.unregister(name, act),
            Op::Whereis { name } => {
                act.touch(Cell::Name(name), Touch::Read);
                Outcome::Found(self.names.get(&name).copied())
            }
            Op::Alias { reference, end } => {
                act.touch(Cell::Alias(reference), Touch::Write);
                self.set_alias(reference, Alias { end, active: true });
                Outcome::Done
            }
            Op::Unalias { reference } => {
                act.touch(Cell::Alias(reference), Touch::Write);
                let old = self.aliases.get(&reference).copied();
                if let Some(alias) = old {
                    self.set_alias(reference, Alias { active: false, ..alias });
                }
                Outcome::Flag(old.is_some_and(|alias| alias.active))
            }
            Op::StartTimer { reference, to, payload } => {
                self.roster.actor(Role::Timer(reference));
                let at = self.now();
                self.set_timer(reference, Timer::Running { to, payload, at });
                Outcome::Done
            }
            Op::CancelTimer { reference } => Outcome::Flag(self.cancel_timer(pid, reference, act)),
            Op::ReadTimer { reference } => {
                act.touch(Cell::Timer(reference), Touch::Read);
                Outcome::Flag(self.is_running(pid, reference, act))
            }
            Op::Choose { .. } => Outcome::Chosen(choice),
            Op::Inspect { target, query } => Outcome::Info(self.inspect(target, query, act)),
            Op::Shared => {
                act.affects(self.machine.perform(pid));
                Outcome::Done
            }
        };
        stepped.stop = self.resume(pid, outcome);
    }

    fn receive(
        &mut self,
        pid: Pid,
        accepts: Accepts<M::Predicate>,
        timeout: bool,
        stepped: &mut Stepped<M>,
    ) -> Outcome<M> {
        let found = self.find(pid, &accepts);
        let nth = self.head(pid).received;
        self.head_mut(pid).received += 1;
        let mut received = Received { by: pid, nth, accepts, timeout, taken: None };
        let outcome = match found {
            Some(at) => {
                let mail = self.take_mail(pid, at);
                received.taken = Some(mail.0.id);
                stepped.source = mail.1;
                Outcome::Message(mail.0)
            }
            None => {
                debug_assert!(timeout, "a receive that is executed takes something or times out");
                Outcome::Timeout
            }
        };
        stepped.act.received = Some(received);
        outcome
    }

    /// Takes a message out of a mailbox.
    pub(crate) fn take_mail(&mut self, pid: Pid, at: usize) -> (Rc<Message<M>>, u32) {
        let mail = self.processes[pid.index()].mailbox.remove(at);
        let taken = (Rc::clone(&mail.message), mail.at);
        self.log.push(Undo::Taken(pid, at, mail));
        taken
    }

    /// Whom something is sent to.
    pub(crate) fn resolve(&self, to: Target, act: &mut Act<M>) -> Option<Pid> {
        match to {
            Target::Pid(pid) => Some(pid),
            Target::Alias(reference) => Some(reference.owner),
            Target::Name(name) => {
                act.touch(Cell::Name(name), Touch::Read);
                self.names.get(&name).copied()
            }
        }
    }

    fn send(&mut self, pid: Pid, target: Target, payload: M::Payload, act: &mut Act<M>) -> Outcome<M> {
        let Some(to) = self.resolve(target, act) else { return Outcome::Refused };
        let id = self.next_message(pid);
        let via = match target {
            Target::Alias(reference) => Some(reference),
            _ => None,
        };
        let message = Rc::new(Message { id, to, content: Content::User(payload) });
        self.transmit(act, pid, to, Signal::Message(message, via));
        Outcome::Done
    }

    /// Sends a signal: it arrives now, or is on its way.
    pub(crate) fn transmit(&mut self, act: &mut Act<M>, from: Pid, to: Pid, signal: Signal<M>) {
        if self.delivery == Delivery::Instant || from == to {
            return self.arrive(act, to, signal);
        }
        self.put_on_its_way(Sender::Process(from), to, signal);
    }

    /// A signal enters the channel to its receiver.
    pub(crate) fn put_on_its_way(&mut self, from: Sender, to: Pid, signal: Signal<M>) {
        let channel = self.roster.actor(Role::Channel(from, to));
        let now = self.now();
        self.channels.entry(channel).or_default().push_back((signal, now));
        self.log.push(Undo::Sent(channel));
    }

    /// A message comes to a mailbox; nobody reads those of processes that have ended.
    pub(crate) fn put(&mut self, act: &mut Act<M>, message: Rc<Message<M>>) {
        let (to, at) = (message.to, self.now());
        act.arrival = Some(Arrival { message: Rc::clone(&message), limit: NEVER });
        if self.is_alive(to) {
            self.processes[to.index()].mailbox.push(Mail { message, at });
            self.log.push(Undo::Put(to));
        }
    }
}

//! What Ops mean, written down as plainly as possible.
//!
//! The whole state is copied before every step, and taken back as a whole. The meaning follows the words of the Ops, and
//! Erlang where these leave something open:
//!
//! - A step is an Op of a process; the end of a process that a signal has doomed; one telling of those who have to know
//!   of an end (first the links, then the monitors, each in the order of their ancestry); a timer that fires; and, with
//!   [`Delivery::Fifo`], the arrival of the oldest thing on its way from one to another.
//! - What a process sends to itself arrives at once, and so does what it is told because somebody does not exist.
//! - A signal that ends a process *dooms* it: whatever it would have done next, its next step is its end. It lives no
//!   longer for who asks, links or monitors, since these would come after the signal; but it has its name until its end.
//! - A process that ends tells all that it was ever linked with, but for ends of links: also who has ended itself, to
//!   whom nothing means anything. So it does not matter which of two linked processes ends first.
//! - A monitor of oneself does nothing at all.
//! - A process that has doomed itself in a step does not go on.
//! - `exit(self(), normal)` ends a process that does not trap exits, unlike the same signal from another.

use super::event::{Actor, Event, Part, SignalId, Touch};
use selvedge_ir::EntityRef;
use selvedge_machine::Stop;
use selvedge_messages::{
    Accepts, AliasEnd, Content, Info, Machine, Message, MessageId, Name, Op, Outcome, Pid, Query, Reason, Ref, Sender,
    Status, Target, first_process,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

/// When what is sent arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// In the step that sends it.
    Instant,
    /// In a step of its own, in the order in which one sent it to another.
    Fifo,
}

/// What a process got to know from its Op: its history is all that it can tell executions apart by.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Seen {
    /// Done, or nothing new.
    Done,
    /// Refused.
    Refused,
    /// A message.
    Message(MessageId),
    /// No message.
    Timeout,
    /// Yes or no.
    Flag(bool),
    /// A process or none.
    Found(Option<Pid>),
    /// An alternative.
    Chosen(u32),
    /// Numbers.
    Numbers(Vec<u32>),
    /// What a shared operation found, and did.
    Shared(String),
}

/// Something that is sent.
pub(super) struct Signal<M: Machine> {
    /// The message, or the message that it becomes if it is trapped.
    pub message: Rc<Message<M>>,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// What a process or a timer sends, perhaps to an alias.
    User(Option<Ref>),
    /// An exit signal because of a link.
    Link,
    /// Another exit signal.
    Exit,
    /// A `DOWN`.
    Down(Ref),
}

/// Whom an ended process has to tell.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tell {
    Link(Pid),
    Monitor(Ref),
}

#[derive(Clone, Default)]
pub(super) struct Process {
    pub mailbox: Vec<SignalId>,
    pub links: BTreeSet<Pid>,
    /// Those links by which it has heard of an end.
    pub heard: BTreeSet<Pid>,
    pub trap: bool,
    pub name: Option<Name>,
    /// The signal that has doomed it.
    pub doomed: Option<SignalId>,
    pub ended: bool,
    pub to_tell: VecDeque<Tell>,
    pub children: u32,
    pub sent: u32,
    pub history: Vec<Seen>,
}

#[derive(Clone)]
pub(super) struct Monitor {
    pub watched: Option<Pid>,
    pub target: Target,
    pub active: bool,
    /// Whether its `DOWN` is thrown away so that nobody can tell whether it came before or after the end of the monitor.
    pub silent: bool,
}

#[derive(Clone)]
pub(super) struct Alias {
    pub end: AliasEnd,
    pub active: bool,
}

#[derive(Clone)]
struct Timer {
    to: Target,
    /// Where its message is among the payloads.
    payload: usize,
    runs: bool,
    /// Whether its own step is still to come: one that was stopped makes it without doing anything, since no step is
    /// ever taken from anybody.
    due: bool,
}

#[derive(Clone, Default)]
pub(super) struct State {
    pub processes: BTreeMap<Pid, Process>,
    pub names: BTreeMap<Name, Pid>,
    pub monitors: BTreeMap<Ref, Monitor>,
    pub aliases: BTreeMap<Ref, Alias>,
    timers: BTreeMap<Ref, Timer>,
    pub channels: BTreeMap<(Sender, Pid), VecDeque<SignalId>>,
}

/// A state to go back to, and how long the lists were.
struct Saved {
    state: State,
    signals: usize,
    payloads: usize,
    reasons: usize,
}

/// A program, the state that it is in, and how it came there.
pub struct Naive<M: Machine> {
    /// The front end.
    pub machine: M,
    /// When things arrive.
    pub delivery: Delivery,
    pub(super) state: State,
    pub(super) signals: Vec<Rc<Signal<M>>>,
    payloads: Vec<M::Payload>,
    /// Who has ended, why; in the order of the ends.
    pub(super) reasons: Vec<(Pid, Reason<M::Reason>)>,
    /// The steps made.
    pub events: Vec<Event<M>>,
    /// What the first process met before its first step.
    pub at_start: Option<Stop>,
    saved: Vec<Saved>,
    /// The number of the n-th child of each process, for all executions, and everybody's ancestry.
    numbers: HashMap<(Pid, u32), Pid>,
    paths: Vec<Vec<u32>>,
}

pub(super) type Touches<M> = Vec<Touch<M>>;

impl<M: Machine> Naive<M> {
    /// A program at its start.
    pub fn start(mut machine: M, delivery: Delivery) -> Naive<M> {
        let at_start = machine.start().err();
        let mut state = State::default();
        state.processes.insert(first_process(), Process::default());
        Naive {
            machine,
            delivery,
            state,
            signals: Vec::new(),
            payloads: Vec::new(),
            reasons: Vec::new(),
            events: Vec::new(),
            at_start,
            saved: Vec::new(),
            numbers: HashMap::new(),
            paths: vec![Vec::new()],
        }
    }

    /// Everybody who can make a step, with the number of alternatives.
    pub fn enabled(&self) -> Vec<(Actor, u32)> {
        let mut all = Vec::new();
        for (&pid, process) in &self.state.processes {
            let ready = if process.ended {
                u32::from(!process.to_tell.is_empty())
            } else if process.doomed.is_some() {
                1
            } else {
                self.alternatives(pid)
            };
            all.extend((ready > 0).then_some((Actor::Process(pid), ready)));
        }
        let waiting = self.state.channels.iter().filter(|(_, queue)| !queue.is_empty());
        all.extend(waiting.map(|(&(from, to), _)| (Actor::Channel(from, to), 1)));
        let running = self.state.timers.iter().filter(|(_, timer)| timer.due);
        all.extend(running.map(|(&reference, _)| (Actor::Timer(reference), 1)));
        all
    }

    /// A process that lives and is about to create another, or to end: what an engine may leave out of its schedules.
    pub fn goes_on_quietly(&self) -> Option<Pid> {
        let quiet = |pid: Pid| {
            self.machine.status(pid) == Status::Ready
                && matches!(self.machine.pending(pid), Op::Spawn { link: false, monitor: None } | Op::Exit { .. })
        };
        self.state.processes.keys().copied().find(|&pid| self.lives(pid) && quiet(pid))
    }

    /// In how many ways a process can perform its Op; 0 if it cannot.
    fn alternatives(&self, pid: Pid) -> u32 {
        if self.machine.status(pid) != Status::Ready {
            return 0;
        }
        match self.machine.pending(pid) {
            Op::Receive { accepts, timeout } => u32::from(*timeout || self.first_match(pid, accepts).is_some()),
            Op::Choose { alternatives } => *alternatives,
            _ => 1,
        }
    }

    /// Makes a step of somebody who is enabled.
    pub fn step(&mut self, actor: Actor, choice: u32) {
        self.saved.push(Saved {
            state: self.state.clone(),
            signals: self.signals.len(),
            payloads: self.payloads.len(),
            reasons: self.reasons.len(),
        });
        self.machine.mark();
        let (mut touches, mut stops) = (Vec::new(), Vec::new());
        match actor {
            Actor::Process(pid) => {
                touches.push(Touch::Write(Part::Course(pid)));
                self.process_step(pid, choice, &mut touches, &mut stops);
            }
            Actor::Channel(from, to) => {
                let queue = self.state.channels.get_mut(&(from, to)).expect("the channel exists");
                let signal = queue.pop_front().expect("something is on its way");
                touches.push(Touch::Read(Part::Sent(signal)));
                self.arrive(signal, &mut touches);
            }
            Actor::Timer(reference) => self.fire(reference, &mut touches),
        }
        self.events.push(Event { actor, choice, touches, stops });
    }

    /// Takes the last step back.
    pub fn undo(&mut self) {
        let saved = self.saved.pop().expect("there was a step");
        self.state = saved.state;
        self.signals.truncate(saved.signals);
        self.payloads.truncate(saved.payloads);
        self.reasons.truncate(saved.reasons);
        self.machine.undo();
        self.events.pop();
    }

    /// A process by its ancestry.
    pub fn path(&self, pid: Pid) -> &[u32] {
        &self.paths[pid.index()]
    }

    /// The process with this ancestry, if it was ever met.
    pub fn process_at(&self, path: &[u32]) -> Option<Pid> {
        self.paths.iter().position(|known| known == path).map(Pid::new)
    }

    /// What was sent.
    pub fn message(&self, signal: SignalId) -> &Message<M> {
        &self.signals[signal.0].message
    }

    /// The `DOWN` of a monitor, if it was sent.
    pub(super) fn down(&self, reference: Ref) -> Option<SignalId> {
        self.signals.iter().position(|signal| signal.kind == Kind::Down(reference)).map(SignalId)
    }

    pub(super) fn process(&mut self, pid: Pid) -> &mut Process {
        self.state.processes.get_mut(&pid).expect("the process exists")
    }

    pub(super) fn ended(&self, pid: Pid) -> bool {
        self.state.processes[&pid].ended
    }

    /// Whether a process has neither ended nor is doomed.
    pub(super) fn lives(&self, pid: Pid) -> bool {
        let process = &self.state.processes[&pid];
        !process.ended && process.doomed.is_none()
    }

    fn child(&mut self, parent: Pid) -> Pid {
        let n = self.process(parent).children;
        self.process(parent).children += 1;
        let next = Pid::new(self.paths.len());
        let pid = *self.numbers.entry((parent, n)).or_insert(next);
        if pid == next {
            let mut path = self.paths[parent.index()].clone();
            path.push(n);
            self.paths.push(path);
        }
        self.state.processes.insert(pid, Process::default());
        pid
    }

    pub(super) fn accepts(&self, accepts: &Accepts<M::Predicate>, signal: SignalId) -> bool {
        match accepts {
            Accepts::Any => true,
            Accepts::Nothing => false,
            Accepts::When(predicate) => self.machine.accepts(predicate, self.message(signal)),
        }
    }

    fn first_match(&self, pid: Pid, accepts: &Accepts<M::Predicate>) -> Option<SignalId> {
        self.state.processes[&pid].mailbox.iter().copied().find(|&signal| self.accepts(accepts, signal))
    }

    fn process_step(&mut self, pid: Pid, choice: u32, touches: &mut Touches<M>, stops: &mut Vec<Stop>) {
        if self.ended(pid) {
            return self.tell(pid, touches);
        }
        if let Some(signal) = self.process(pid).doomed {
            let reason = self.deadly_reason(signal);
            return self.end(pid, reason, touches, stops);
        }
        let op = self.machine.pending(pid).clone();
        if let Op::Exit { reason } = op {
            touches.push(Touch::Write(Part::Life(pid)));
            return self.end(pid, reason, touches, stops);
        }
        let outcome = self.perform(pid, op, choice, touches);
        if self.process(pid).doomed.is_some() {
            return;
        }
        let seen = match touches.last() {
            Some(Touch::Shared(effect)) => Seen::Shared(format!("{effect:?}")),
            _ => seen(&outcome),
        };
        self.process(pid).history.push(seen);
        stops.extend(self.machine.resume(pid, outcome).err());
    }

    /// Performs an Op.
    fn perform(&mut self, pid: Pid, op: Op<M>, choice: u32, touches: &mut Touches<M>) -> Outcome<M> {
        match op {
            Op::Spawn { link, monitor } => {
                let child = self.child(pid);
                touches.push(Touch::Write(Part::Course(child)));
                if link {
                    self.join(pid, child, touches);
                }
                if let Some(reference) = monitor {
                    let target = Target::Pid(child);
                    self.state
                        .monitors
                        .insert(reference, Monitor { watched: Some(child), target, active: true, silent: false });
                }
                return Outcome::Spawned(child);
            }
            Op::Send { to, payload } => {
                let (to, via) = match to {
                    Target::Alias(reference) => (Some(reference.owner), Some(reference)),
                    to => (self.resolve(to, touches), None),
                };
                let Some(to) = to else { return Outcome::Refused };
                self.send(Sender::Process(pid), to, Content::User(payload), Kind::User(via), touches);
            }
            Op::Receive { accepts, .. } => return self.receive(pid, accepts, touches),
            Op::Exit { .. } => unreachable!("an end is no Op that goes on"),
            Op::Link { to } => self.link(pid, to, touches),
            Op::Unlink { to } => self.unlink(pid, to, touches),
            Op::Monitor { target, reference, alias } => self.monitor(pid, target, reference, alias, touches),
            Op::Demonitor { reference, flush, info } => {
                let was = self.demonitor(pid, reference, flush, info, touches);
                return if info { Outcome::Flag(was) } else { Outcome::Done };
            }
            Op::TrapExit { on } => {
                let was = std::mem::replace(&mut self.process(pid).trap, on);
                touches.extend((was != on).then_some(Touch::Write(Part::Trap(pid))));
                return Outcome::Flag(was);
            }
            Op::Signal { to, reason } => {
                let Some(to) = self.resolve(to, touches) else { return Outcome::Refused };
                self.send(Sender::Process(pid), to, Content::Exit { from: pid, reason }, Kind::Exit, touches);
            }
            Op::Register { name, pid: who } => return self.register(name, who, touches),
            Op::Unregister { name } => {
                let Some(who) = self.state.names.remove(&name) else {
                    touches.push(Touch::Read(Part::Name(name)));
                    return Outcome::Refused;
                };
                self.process(who).name = None;
                touches.extend([Part::Name(name), Part::NameOf(who)].map(Touch::Write));
            }
            Op::Whereis { name } => return Outcome::Found(self.resolve(Target::Name(name), touches)),
            Op::Alias { reference, end } => {
                self.state.aliases.insert(reference, Alias { end, active: true });
            }
            Op::Unalias { reference } => return Outcome::Flag(self.end_alias(reference, touches)),
            Op::StartTimer { reference, to, payload } => {
                self.payloads.push(payload);
                let timer = Timer { to, payload: self.payloads.len() - 1, runs: true, due: true };
                self.state.timers.insert(reference, timer);
                touches.push(Touch::Write(Part::Timer(reference)));
            }
            Op::CancelTimer { reference } => {
                let told = self.tell_timer(pid, reference, touches);
                let timer = self.state.timers.get_mut(&reference);
                let ran = timer.is_some_and(|timer| std::mem::replace(&mut timer.runs, false));
                touches.push(changed(ran, Part::Timer(reference)));
                return Outcome::Flag(told);
            }
            Op::ReadTimer { reference } => {
                touches.push(Touch::Read(Part::Timer(reference)));
                return Outcome::Flag(self.tell_timer(pid, reference, touches));
            }
            Op::Choose { .. } => return Outcome::Chosen(choice),
            Op::Inspect { target, query } => return Outcome::Info(self.inspect(target, query, touches)),
            Op::Shared => touches.push(Touch::Shared(self.machine.perform(pid))),
        }
        Outcome::Done
    }

    fn receive(&mut self, pid: Pid, accepts: Accepts<M::Predicate>, touches: &mut Touches<M>) -> Outcome<M> {
        let Some(signal) = self.first_match(pid, &accepts) else {
            touches.push(Touch::TimesOut(pid, accepts));
            return Outcome::Timeout;
        };
        self.process(pid).mailbox.retain(|&other| other != signal);
        touches.push(Touch::Takes(pid, signal, accepts));
        Outcome::Message(Rc::clone(&self.signals[signal.0].message))
    }

    fn register(&mut self, name: Name, who: Pid, touches: &mut Touches<M>) -> Outcome<M> {
        let free = !self.state.names.contains_key(&name) && self.process(who).name.is_none();
        let done = free && !self.ended(who);
        touches.extend([Part::Name(name), Part::NameOf(who)].map(|part| changed(done, part)));
        if !done {
            return Outcome::Refused;
        }
        self.state.names.insert(name, who);
        self.process(who).name = Some(name);
        Outcome::Done
    }

    fn inspect(&mut self, target: Pid, query: Query, touches: &mut Touches<M>) -> Info {
        touches.push(Touch::Read(Part::Life(target)));
        if !self.lives(target) {
            return Info::NoProcess;
        }
        let process = &self.state.processes[&target];
        match query {
            Query::Alive => Info::Yes,
            Query::QueueLength => {
                touches.push(Touch::Counts(target));
                Info::Count(process.mailbox.len())
            }
            Query::RegisteredName => {
                touches.push(Touch::Read(Part::NameOf(target)));
                Info::Name(process.name)
            }
            Query::TrapExit => {
                touches.push(Touch::Read(Part::Trap(target)));
                if process.trap { Info::Yes } else { Info::No }
            }
            Query::Links => {
                touches.extend([Touch::ReadLinks(target), Touch::ReadHeard(target)]);
                Info::Processes(process.links.difference(&process.heard).copied().collect())
            }
        }
    }

    /// Whether a timer runs: not, if it is for a process that has ended. Who asks has not.
    fn tell_timer(&self, asks: Pid, reference: Ref, touches: &mut Touches<M>) -> bool {
        let Some(timer) = self.state.timers.get(&reference).filter(|timer| timer.runs) else { return false };
        match timer.to {
            Target::Pid(to) if to != asks => {
                touches.push(Touch::Read(Part::Life(to)));
                self.lives(to)
            }
            _ => true,
        }
    }

    fn fire(&mut self, reference: Ref, touches: &mut Touches<M>) {
        let timer = self.state.timers.get_mut(&reference).expect("the timer exists");
        timer.due = false;
        touches.push(Touch::Write(Part::Timer(reference)));
        if !std::mem::replace(&mut timer.runs, false) {
            return;
        }
        let (to, payload) = (timer.to, self.payloads[timer.payload].clone());
        let (to, via) = match to {
            Target::Alias(alias) => (Some(alias.owner), Some(alias)),
            to => (self.resolve(to, touches), None),
        };
        if let Some(to) = to {
            self.send(Sender::Timer(reference), to, Content::User(payload), Kind::User(via), touches);
        }
    }

    /// Who a process or name is; nobody, if the name is free.
    pub(super) fn resolve(&self, target: Target, touches: &mut Touches<M>) -> Option<Pid> {
        match target {
            Target::Pid(pid) => Some(pid),
            Target::Name(name) => {
                touches.push(Touch::Read(Part::Name(name)));
                self.state.names.get(&name).copied()
            }
            Target::Alias(reference) => Some(reference.owner),
        }
    }
}

/// A part that a step has read, and changed if so.
pub(super) fn changed<M: Machine>(changed: bool, part: Part) -> Touch<M> {
    if changed { Touch::Write(part) } else { Touch::Read(part) }
}

fn seen<M: Machine>(outcome: &Outcome<M>) -> Seen {
    match outcome {
        Outcome::Done => Seen::Done,
        Outcome::Refused => Seen::Refused,
        Outcome::Spawned(pid) => Seen::Found(Some(*pid)),
        Outcome::Message(message) => Seen::Message(message.id),
        Outcome::Timeout => Seen::Timeout,
        Outcome::Flag(flag) => Seen::Flag(*flag),
        Outcome::Found(pid) => Seen::Found(*pid),
        Outcome::Chosen(n) => Seen::Chosen(*n),
        Outcome::Info(info) => Seen::Numbers(match info {
            Info::Yes => vec![1],
            Info::No => vec![0],
            Info::NoProcess => vec![],
            Info::Count(n) => vec![*n as u32],
            Info::Name(name) => name.iter().map(|name| name.index() as u32).chain([0]).collect(),
            Info::Processes(all) => all.iter().map(|pid| pid.index() as u32).chain([0, 0]).collect(),
        }),
    }
}

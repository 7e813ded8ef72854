//! What arrives, whom it ends, and who is told of that.

use super::event::{Part, SignalId, Touch};
use super::naive::{Alias, Delivery, Kind, Monitor, Naive, Signal, Tell, Touches, changed};
use selvedge_machine::Stop;
use selvedge_messages::{AliasEnd, Content, Machine, Message, MessageId, Pid, Reason, Ref, Sender, Target};
use std::rc::Rc;

impl<M: Machine> Naive<M> {
    /// Sends something: it arrives at once, or is put on its way.
    pub(super) fn send(&mut self, from: Sender, to: Pid, content: Content<M>, kind: Kind, touches: &mut Touches<M>) {
        let n = match from {
            Sender::Process(pid) => {
                self.process(pid).sent += 1;
                self.process(pid).sent - 1
            }
            Sender::Timer(_) => 0,
        };
        let message = Rc::new(Message { id: MessageId { from, n }, to, content });
        let signal = SignalId(self.signals.len());
        self.signals.push(Rc::new(Signal { message, kind }));
        if self.delivery == Delivery::Instant || from == Sender::Process(to) {
            self.arrive(signal, touches);
        } else {
            touches.push(Touch::Write(Part::Sent(signal)));
            self.state.channels.entry((from, to)).or_default().push_back(signal);
        }
    }

    /// Something arrives, wherever it is for.
    pub(super) fn arrive(&mut self, signal: SignalId, touches: &mut Touches<M>) {
        let this = Rc::clone(&self.signals[signal.0]);
        let to = this.message.to;
        match this.kind {
            Kind::User(None) => self.put(to, signal, touches),
            Kind::User(Some(alias)) => {
                let Some(Alias { end, active: true }) = self.state.aliases.get(&alias).cloned() else {
                    return touches.push(Touch::Read(Part::Alias(alias)));
                };
                if end == AliasEnd::Reply {
                    self.end_alias(alias, touches);
                    self.end_monitor(alias, touches);
                } else {
                    touches.push(Touch::Read(Part::Alias(alias)));
                }
                self.put(to, signal, touches);
            }
            Kind::Link => {
                let Content::Exit { from, .. } = this.message.content else { unreachable!("it is an exit signal") };
                touches.push(Touch::Read(Part::link(from, to)));
                if self.process(to).links.contains(&from) {
                    self.process(to).heard.insert(from);
                    touches.push(Touch::Write(Part::Heard(to, from)));
                    self.exit_signal(signal, touches);
                }
            }
            Kind::Exit => self.exit_signal(signal, touches),
            Kind::Down(reference) => {
                if self.state.monitors[&reference].silent {
                    return touches.push(Touch::Arrives(to, signal));
                }
                if !self.end_monitor(reference, touches) {
                    return;
                }
                if self.state.aliases.get(&reference).is_some_and(|alias| alias.end != AliasEnd::Unalias) {
                    self.end_alias(reference, touches);
                }
                self.put(to, signal, touches);
            }
        }
    }

    fn put(&mut self, to: Pid, signal: SignalId, touches: &mut Touches<M>) {
        touches.push(Touch::Arrives(to, signal));
        if !self.ended(to) {
            self.process(to).mailbox.push(signal);
        }
    }

    /// An exit signal becomes a message, is ignored, or dooms the process.
    fn exit_signal(&mut self, signal: SignalId, touches: &mut Touches<M>) {
        let this = Rc::clone(&self.signals[signal.0]);
        let (to, own) = (this.message.to, this.message.id.from == Sender::Process(this.message.to));
        let Content::Exit { reason, .. } = &this.message.content else { unreachable!("it is an exit signal") };
        if *reason != Reason::Kill {
            touches.push(Touch::Read(Part::Trap(to)));
            if self.process(to).trap {
                return self.put(to, signal, touches);
            }
            if *reason == Reason::Normal && !own {
                return;
            }
        }
        if !self.lives(to) {
            return touches.push(Touch::Read(Part::Life(to)));
        }
        self.process(to).doomed = Some(signal);
        touches.extend([Part::Life(to), Part::Course(to)].map(Touch::Write));
    }

    /// Why a process ends that was doomed by this signal.
    pub(super) fn deadly_reason(&self, signal: SignalId) -> Reason<M::Reason> {
        match &self.message(signal).content {
            Content::Exit { reason: Reason::Kill, .. } => Reason::Killed,
            Content::Exit { reason, .. } => reason.clone(),
            _ => unreachable!("it is an exit signal"),
        }
    }

    /// A process ends.
    pub(super) fn end(&mut self, pid: Pid, reason: Reason<M::Reason>, touches: &mut Touches<M>, stops: &mut Vec<Stop>) {
        if let Some(name) = self.process(pid).name.take() {
            self.state.names.remove(&name);
            touches.extend([Part::Name(name), Part::NameOf(pid)].map(Touch::Write));
        } else {
            touches.push(Touch::Read(Part::NameOf(pid)));
        }
        let mut links: Vec<Pid> = self.process(pid).links.iter().copied().collect();
        links.sort_by_key(|&other| self.path(other).to_vec());
        touches.push(Touch::ReadLinks(pid));
        let watching = self.state.monitors.iter().filter(|(_, monitor)| monitor.watched == Some(pid));
        let mut watching: Vec<Ref> = watching.map(|(&reference, _)| reference).collect();
        watching.sort_by_key(|reference| (self.path(reference.owner).to_vec(), reference.n));
        let process = self.process(pid);
        process.ended = true;
        process.mailbox.clear();
        process.to_tell.extend(links.into_iter().map(Tell::Link));
        process.to_tell.extend(watching.into_iter().map(Tell::Monitor));
        match self.machine.ended(pid, &reason) {
            Ok(effect) => touches.extend(effect.map(Touch::Shared)),
            Err(stop) => stops.push(stop),
        }
        self.reasons.push((pid, reason));
    }

    /// An ended process tells the next one.
    pub(super) fn tell(&mut self, pid: Pid, touches: &mut Touches<M>) {
        let next = self.process(pid).to_tell.pop_front().expect("somebody is left to be told");
        let reason = self.reasons.iter().find(|(who, _)| *who == pid).expect("the process has ended").1.clone();
        let from = Sender::Process(pid);
        match next {
            Tell::Link(other) => self.send(from, other, Content::Exit { from: pid, reason }, Kind::Link, touches),
            Tell::Monitor(reference) => {
                let target = self.state.monitors[&reference].target;
                let content = Content::Down { reference, target, reason };
                self.send(from, reference.owner, content, Kind::Down(reference), touches);
            }
        }
    }

    /// Links two processes that both live.
    pub(super) fn join(&mut self, a: Pid, b: Pid, touches: &mut Touches<M>) {
        self.process(a).links.insert(b);
        self.process(b).links.insert(a);
        touches.push(Touch::Write(Part::link(a, b)));
    }

    pub(super) fn link(&mut self, pid: Pid, to: Pid, touches: &mut Touches<M>) {
        if to == pid {
            return;
        }
        let process = self.process(pid);
        if process.links.contains(&to) && !process.heard.contains(&to) {
            // There is a link already, even if the other one has ended: the signal will come.
            return touches.extend([Part::link(pid, to), Part::Heard(pid, to)].map(Touch::Read));
        }
        touches.extend([Part::link(pid, to), Part::Life(to), Part::Heard(pid, to)].map(Touch::Read));
        if !self.lives(to) {
            let content = Content::Exit { from: to, reason: Reason::NoProcess };
            return self.send(Sender::Process(pid), pid, content, Kind::Exit, touches);
        }
        self.join(pid, to, touches);
    }

    pub(super) fn unlink(&mut self, pid: Pid, to: Pid, touches: &mut Touches<M>) {
        let linked = self.process(pid).links.remove(&to);
        self.process(to).links.remove(&pid);
        touches.push(changed(linked, Part::link(pid, to)));
    }

    pub(super) fn monitor(
        &mut self,
        pid: Pid,
        target: Target,
        reference: Ref,
        alias: Option<AliasEnd>,
        touches: &mut Touches<M>,
    ) {
        let found = self.resolve(target, touches);
        if found == Some(pid) {
            return;
        }
        if let Some(end) = alias {
            self.state.aliases.insert(reference, Alias { end, active: true });
        }
        touches.extend(found.map(|other| Touch::Read(Part::Life(other))));
        let watched = found.filter(|&other| self.lives(other));
        self.state.monitors.insert(reference, Monitor { watched, target, active: true, silent: false });
        if watched.is_none() {
            let content = Content::Down { reference, target, reason: Reason::NoProcess };
            self.send(Sender::Process(pid), pid, content, Kind::Down(reference), touches);
        }
    }

    /// Ends a monitor, and says whether it was there.
    pub(super) fn demonitor(
        &mut self,
        pid: Pid,
        reference: Ref,
        flush: bool,
        info: bool,
        touches: &mut Touches<M>,
    ) -> bool {
        let is_down = |signal: &SignalId| self.signals[signal.0].kind == Kind::Down(reference);
        let delivered = self.state.processes[&pid].mailbox.iter().position(is_down);
        // If nobody asks whether it was there, and nothing else ends with it, `DOWN` vanishes before or after.
        if flush && !info && !self.state.aliases.contains_key(&reference) {
            touches.push(Touch::Silences(pid, reference));
            if let Some(monitor) = self.state.monitors.get_mut(&reference) {
                (monitor.active, monitor.silent) = (false, true);
            }
            delivered.map(|at| self.process(pid).mailbox.remove(at));
            return false;
        }
        let was = self.end_monitor(reference, touches);
        if was && self.state.aliases.get(&reference).is_some_and(|alias| alias.end != AliasEnd::Unalias) {
            self.end_alias(reference, touches);
        }
        if let Some(at) = delivered.filter(|_| flush) {
            let signal = self.process(pid).mailbox.remove(at);
            touches.push(Touch::Flushes(pid, signal));
        }
        was
    }

    /// Ends a monitor if it is there.
    fn end_monitor(&mut self, reference: Ref, touches: &mut Touches<M>) -> bool {
        let monitor = self.state.monitors.get_mut(&reference);
        let was = monitor.is_some_and(|monitor| std::mem::replace(&mut monitor.active, false));
        touches.push(changed(was, Part::Monitor(reference)));
        was
    }

    /// Ends an alias if it is active.
    pub(super) fn end_alias(&mut self, reference: Ref, touches: &mut Touches<M>) -> bool {
        let alias = self.state.aliases.get_mut(&reference);
        let was = alias.is_some_and(|alias| std::mem::replace(&mut alias.active, false));
        touches.push(changed(was, Part::Alias(reference)));
        was
    }
}

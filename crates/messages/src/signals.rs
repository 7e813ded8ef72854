//! Links, monitors, exit signals, and the end of a process.
//!
//! A process ends in one step, in which it loses its name and everybody is noted who has to be told; telling each of them
//! is a step of its own, first the links and then the monitors, each in the order of their ancestry. A monitor that was
//! ended before is told too, and what it is told is thrown away on arrival: so the steps of the end do not depend on it.
//!
//! An exit signal that ends its receiver dooms it: whatever it was about to do, its next step is its end. So no step
//! disables another process, it only changes what that does next.

use crate::act::{Act, Arrival, Cell, Flush, Touch};
use crate::system::{Alias, Life, Monitor, Signal, System};
use crate::undo::Undo;
use crate::{AliasEnd, Content, Machine, Message, Outcome, Pid, Reason, Ref, Target};
use selvedge_ir::EntityRef;
use selvedge_machine::Stop;
use std::rc::Rc;

fn link_cell(a: Pid, b: Pid) -> Cell {
    Cell::Link(a.min(b), a.max(b))
}

impl<M: Machine> System<M> {
    /// Links and monitors that are made together with a process.
    pub(crate) fn attend(&mut self, parent: Pid, child: Pid, link: bool, monitor: Option<Ref>, act: &mut Act<M>) {
        if link {
            act.touch(Cell::Links(parent), Touch::Add);
            self.set_link(parent, child, true);
            self.set_link(child, parent, true);
        }
        if let Some(reference) = monitor {
            self.watch(child, reference, Target::Pid(child));
        }
    }

    fn watch(&mut self, pid: Pid, reference: Ref, target: Target) {
        self.process(pid).watchers.push((reference, target));
        self.log.push(Undo::Watched(pid));
        self.set_monitor(reference, Monitor::Active);
    }

    fn set_monitor(&mut self, reference: Ref, monitor: Monitor) {
        let old = self.monitors.insert(reference, monitor);
        self.log.push(Undo::Monitor(reference, old));
    }

    /// Notes on one side of a link that it is there or not.
    fn set_link(&mut self, pid: Pid, other: Pid, linked: bool) {
        let links = &mut self.process(pid).links;
        match (links.iter().position(|&p| p == other), linked) {
            (None, true) => links.push(other),
            (Some(at), false) => {
                links.swap_remove(at);
            }
            _ => return,
        }
        self.log.push(Undo::Linked(pid, other, linked));
    }

    fn is_linked(&self, pid: Pid, other: Pid) -> bool {
        self.processes.get(pid.index()).is_some_and(|process| process.links.contains(&other))
    }

    /// Whom a process has to tell when it ends, in the order of ancestry. Those that have ended before are told too, so
    /// that it does not matter who was first.
    pub(crate) fn links_of(&self, pid: Pid) -> Vec<Pid> {
        let mut links = self.processes[pid.index()].links.clone();
        links.sort_by(|&a, &b| self.roster.path(a).cmp(self.roster.path(b)));
        links
    }

    pub(crate) fn link(&mut self, pid: Pid, to: Pid, act: &mut Act<M>) -> Outcome<M> {
        if pid == to {
            return Outcome::Done;
        }
        if self.is_linked(pid, to) {
            act.touch(Cell::Told(pid, to), Touch::Read);
            if !self.processes[pid.index()].left.contains(&to) {
                // There is a link, even if the other one has ended: its signal will come.
                act.touch(link_cell(pid, to), Touch::Read);
                return Outcome::Done;
            }
        }
        act.touch(Cell::Alive(to), Touch::Read);
        if self.is_alive(to) {
            act.touch(link_cell(pid, to), Touch::Write);
            act.touch(Cell::Links(pid), Touch::Add);
            act.touch(Cell::Links(to), Touch::Add);
            self.set_link(pid, to, true);
            self.set_link(to, pid, true);
        } else {
            let id = self.next_message(pid);
            let signal = Signal::Exit { from: to, reason: Reason::NoProcess, link: false, id };
            self.arrive(act, pid, signal);
        }
        Outcome::Done
    }

    pub(crate) fn unlink(&mut self, pid: Pid, to: Pid, act: &mut Act<M>) -> Outcome<M> {
        if !self.is_linked(pid, to) {
            act.touch(link_cell(pid, to), Touch::Read);
            return Outcome::Done;
        }
        act.touch(link_cell(pid, to), Touch::Write);
        act.touch(Cell::Links(pid), Touch::Add);
        act.touch(Cell::Links(to), Touch::Add);
        self.set_link(pid, to, false);
        self.set_link(to, pid, false);
        Outcome::Done
    }

    pub(crate) fn monitor(
        &mut self,
        pid: Pid,
        target: Target,
        reference: Ref,
        alias: Option<AliasEnd>,
        act: &mut Act<M>,
    ) -> Outcome<M> {
        let watched = match target {
            Target::Pid(watched) => Some(watched),
            Target::Name(name) => {
                act.touch(Cell::Name(name), Touch::Read);
                self.names.get(&name).copied()
            }
            Target::Alias(_) => None,
        };
        if watched == Some(pid) {
            // Nobody can be told of their own end: Erlang makes neither a monitor nor an alias.
            return Outcome::Done;
        }
        if let Some(watched) = watched {
            act.touch(Cell::Alive(watched), Touch::Read);
        }
        if let Some(end) = alias {
            self.set_alias(reference, Alias { end, active: true });
        }
        match watched.filter(|&watched| self.is_alive(watched)) {
            Some(watched) => self.watch(watched, reference, target),
            None => {
                self.set_monitor(reference, Monitor::Active);
                let signal = self.down(pid, reference, target, Reason::NoProcess);
                self.arrive(act, pid, signal);
            }
        }
        Outcome::Done
    }

    /// The message that tells a monitor; the counter is that of the process that sends it.
    fn down(&mut self, sender: Pid, reference: Ref, target: Target, reason: Reason<M::Reason>) -> Signal<M> {
        let id = self.next_message(sender);
        let content = Content::Down { reference, target, reason };
        Signal::Down { monitor: reference, message: Rc::new(Message { id, to: reference.owner, content }) }
    }

    pub(crate) fn demonitor(
        &mut self,
        pid: Pid,
        reference: Ref,
        flush: bool,
        info: bool,
        act: &mut Act<M>,
    ) -> Outcome<M> {
        // What arrives is thrown away, before or after: nobody can tell. But that both end an alias, others can tell.
        let silent = flush && !info && !self.aliases.contains_key(&reference);
        if !silent {
            act.touch(Cell::Monitor(reference), Touch::Write);
        }
        let limit = self.processes[pid.index()].head.received;
        let was = self.monitors.get(&reference) == Some(&Monitor::Active);
        self.set_monitor(reference, Monitor::Cancelled { flushed: silent.then_some(limit) });
        self.end_alias(reference, act);
        if flush {
            act.flushes(Flush { monitor: reference, limit });
            let is_down =
                |message: &Message<M>| matches!(message.content, Content::Down { reference: r, .. } if r == reference);
            let mailbox = &self.processes[pid.index()].mailbox;
            if let Some(at) = mailbox.iter().position(|mail| is_down(&mail.message)) {
                self.take_mail(pid, at);
            }
        }
        Outcome::Flag(was)
    }

    /// An alias that ends with its monitor does so.
    fn end_alias(&mut self, reference: Ref, act: &mut Act<M>) {
        // Whoever comes second finds that it has ended; that it was noticed does not depend on the order.
        if let Some(&alias) = self.aliases.get(&reference)
            && alias.end != AliasEnd::Unalias
        {
            act.touch(Cell::Alias(reference), Touch::Add);
            self.set_alias(reference, Alias { active: false, ..alias });
        }
    }

    /// Ends a process.
    pub(crate) fn exit(&mut self, pid: Pid, reason: Reason<M::Reason>, act: &mut Act<M>) -> Option<Stop> {
        act.own = Some(pid);
        let alive = self.is_alive(pid);
        if alive {
            act.touch(Cell::Alive(pid), Touch::Write);
        }
        act.touch(Cell::Links(pid), Touch::Read);
        match self.processes[pid.index()].head.name {
            Some(name) => self.drop_name(name, pid, act),
            // It can have none from now on.
            None => act.touch(Cell::NameOf(pid), Touch::Write),
        }
        let ended = self.machine.ended(pid, &reason);
        let mut words = Vec::new();
        for to in self.links_of(pid) {
            let id = self.next_message(pid);
            words.push((to, Signal::Exit { from: pid, reason: reason.clone(), link: true, id }));
        }
        let mut watchers = self.processes[pid.index()].watchers.clone();
        watchers.sort_by(|(a, _), (b, _)| (self.roster.path(a.owner), a.n).cmp(&(self.roster.path(b.owner), b.n)));
        for (reference, target) in watchers {
            let signal = self.down(pid, reference, target, reason.clone());
            words.push((reference.owner, signal));
        }
        let unattended = if words.is_empty() { self.machine.unattended(pid, &reason).err() } else { None };
        self.head_mut(pid).life = if words.is_empty() { Life::Dead } else { Life::Leaving };
        if !words.is_empty() {
            self.processes[pid.index()].last_words = words;
            self.log.push(Undo::LastWords(pid));
        }
        match ended {
            Ok(effect) => {
                if let Some(effect) = effect {
                    act.affects(effect);
                }
                unattended
            }
            Err(stop) => Some(stop),
        }
    }

    /// A process that has ended tells the next one.
    pub(crate) fn say_last_word(&mut self, pid: Pid, act: &mut Act<M>) {
        let process = &self.processes[pid.index()];
        let said = process.head.said as usize;
        let (to, signal) = process.last_words[said].clone();
        let was_last = said + 1 == process.last_words.len();
        let head = self.head_mut(pid);
        head.said += 1;
        if was_last {
            head.life = Life::Dead;
        }
        self.transmit(act, pid, to, signal);
    }

    /// Something arrives at a process.
    pub(crate) fn arrive(&mut self, act: &mut Act<M>, to: Pid, signal: Signal<M>) {
        match signal {
            Signal::Message(message, None) => self.put(act, message),
            Signal::Message(message, Some(alias)) => {
                let Some(&state) = self.aliases.get(&alias) else {
                    return act.touch(Cell::Alias(alias), Touch::Read);
                };
                let touch = if state.end == AliasEnd::Reply { Touch::Write } else { Touch::Read };
                act.touch(Cell::Alias(alias), touch);
                if !state.active {
                    return;
                }
                if state.end == AliasEnd::Reply {
                    self.set_alias(alias, Alias { active: false, ..state });
                    if self.monitors.get(&alias) == Some(&Monitor::Active) {
                        act.touch(Cell::Monitor(alias), Touch::Write);
                        self.set_monitor(alias, Monitor::Cancelled { flushed: None });
                    }
                }
                self.put(act, message);
            }
            Signal::Exit { from, reason, link, id } => {
                if link {
                    act.touch(link_cell(from, to), Touch::Read);
                    if !self.is_linked(to, from) {
                        return;
                    }
                    act.touch(Cell::Left(to), Touch::Add);
                    act.touch(Cell::Told(to, from), Touch::Write);
                    self.process(to).left.push(from);
                    self.log.push(Undo::Left(to));
                }
                self.exit_signal(act, to, from, reason, id);
            }
            Signal::Down { monitor, message } => {
                act.touch(Cell::Monitor(monitor), Touch::Write);
                match self.monitors.get(&monitor) {
                    Some(Monitor::Active) => {
                        self.set_monitor(monitor, Monitor::Fired);
                        self.end_alias(monitor, act);
                        self.put(act, message);
                    }
                    // No receive after the flush can take it.
                    Some(&Monitor::Cancelled { flushed: Some(limit) }) => {
                        self.end_alias(monitor, act);
                        act.arrival = Some(Arrival { message, limit });
                    }
                    _ => {}
                }
            }
        }
    }

    /// An exit signal ends its receiver, becomes a message, or is ignored.
    fn exit_signal(&mut self, act: &mut Act<M>, to: Pid, from: Pid, reason: Reason<M::Reason>, id: crate::MessageId) {
        let trap = self.process(to).head.trap;
        if reason != Reason::Kill {
            act.touch(Cell::Trap(to), Touch::Read);
        }
        let lethal = match reason {
            Reason::Kill => true,
            _ if trap => false,
            Reason::Normal => from == to,
            _ => true,
        };
        if lethal {
            // To who has ended or is doomed already, it does not matter what else that does.
            if !self.is_alive(to) {
                act.touch(Cell::Alive(to), Touch::Read);
            } else {
                act.ends(to);
                act.touch(Cell::Alive(to), Touch::Write);
                self.head_mut(to).life = Life::Doomed;
                let doom = if reason == Reason::Kill { Reason::Killed } else { reason };
                self.process(to).doom = Some(doom);
                self.log.push(Undo::Doomed(to));
            }
        } else if trap {
            self.put(act, Rc::new(Message { id, to, content: Content::Exit { from, reason } }));
        }
    }
}

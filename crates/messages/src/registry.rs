//! Names, aliases, timers, and questions about processes.

use crate::act::{Act, Cell, Touch};
use crate::system::{Alias, Delivery, Life, Signal, System, Timer};
use crate::undo::Undo;
use crate::{Content, Info, Machine, Message, MessageId, Name, Outcome, Pid, Query, Ref, Sender, Target};
use selvedge_ir::EntityRef;
use std::rc::Rc;

impl<M: Machine> System<M> {
    /// A timer fires. Returns the step that has started it.
    pub(crate) fn fire(&mut self, reference: Ref, act: &mut Act<M>) -> u32 {
        act.touch(Cell::Timer(reference), Touch::Write);
        let timer = self.timers.get(&reference).cloned().expect("a timer that fires was started");
        self.set_timer(reference, Timer::Done);
        match timer {
            Timer::Running { to: target, payload, at } => {
                if let Some(to) = self.resolve(target, act) {
                    let id = MessageId { from: Sender::Timer(reference), n: 0 };
                    let message = Rc::new(Message { id, to, content: Content::User(payload) });
                    let via = match target {
                        Target::Alias(alias) => Some(alias),
                        _ => None,
                    };
                    let signal = Signal::Message(message, via);
                    match self.delivery {
                        Delivery::Instant => self.arrive(act, to, signal),
                        Delivery::Fifo => self.put_on_its_way(Sender::Timer(reference), to, signal),
                    }
                }
                at
            }
            Timer::Cancelled { at } => at,
            Timer::Done => unreachable!("a timer fires once"),
        }
    }

    /// Whether a timer is running, as a process sees it: one for a process that has ended was stopped by that.
    pub(crate) fn is_running(&mut self, asks: Pid, reference: Ref, act: &mut Act<M>) -> bool {
        match self.timers.get(&reference) {
            Some(&Timer::Running { to: Target::Pid(to), .. }) if to != asks => {
                self.noticed |= self.quiet;
                act.touch(Cell::Alive(to), Touch::Read);
                self.is_alive(to)
            }
            Some(Timer::Running { .. }) => true,
            _ => false,
        }
    }

    /// Stops a timer; whether it was running.
    pub(crate) fn cancel_timer(&mut self, asks: Pid, reference: Ref, act: &mut Act<M>) -> bool {
        act.touch(Cell::Timer(reference), Touch::Write);
        let running = self.is_running(asks, reference, act);
        if let Some(&Timer::Running { at, .. }) = self.timers.get(&reference) {
            self.set_timer(reference, Timer::Cancelled { at });
        }
        running
    }

    pub(crate) fn set_timer(&mut self, reference: Ref, timer: Timer<M>) {
        let old = self.timers.insert(reference, timer);
        self.log.push(Undo::Timer(reference, old));
    }

    pub(crate) fn set_alias(&mut self, reference: Ref, alias: Alias) {
        let old = self.aliases.insert(reference, alias);
        self.log.push(Undo::Alias(reference, old));
    }

    pub(crate) fn register(&mut self, name: Name, pid: Pid, act: &mut Act<M>) -> Outcome<M> {
        // One that is doomed can still be given a name, as in Erlang: it loses it when it ends.
        let there = matches!(self.head(pid).life, Life::Alive | Life::Doomed);
        let possible = there && self.head(pid).name.is_none() && !self.names.contains_key(&name);
        let touch = if possible { Touch::Write } else { Touch::Read };
        act.touch(Cell::Name(name), touch);
        act.touch(Cell::NameOf(pid), touch);
        if !possible {
            return Outcome::Refused;
        }
        self.head_mut(pid).name = Some(name);
        let old = self.names.insert(name, pid);
        self.log.push(Undo::Name(name, old));
        Outcome::Done
    }

    pub(crate) fn unregister(&mut self, name: Name, act: &mut Act<M>) -> Outcome<M> {
        let Some(&pid) = self.names.get(&name) else {
            act.touch(Cell::Name(name), Touch::Read);
            return Outcome::Refused;
        };
        self.drop_name(name, pid, act);
        Outcome::Done
    }

    pub(crate) fn drop_name(&mut self, name: Name, pid: Pid, act: &mut Act<M>) {
        act.touch(Cell::Name(name), Touch::Write);
        act.touch(Cell::NameOf(pid), Touch::Write);
        self.head_mut(pid).name = None;
        let old = self.names.remove(&name);
        self.log.push(Undo::Name(name, old));
    }

    pub(crate) fn inspect(&mut self, target: Pid, query: Query, act: &mut Act<M>) -> Info {
        act.touch(Cell::Alive(target), Touch::Read);
        if !self.is_alive(target) {
            return Info::NoProcess;
        }
        let yes = |flag: bool| if flag { Info::Yes } else { Info::No };
        match query {
            Query::Alive => Info::Yes,
            Query::QueueLength => {
                act.looks_at(target);
                Info::Count(self.processes[target.index()].mailbox.len())
            }
            Query::RegisteredName => {
                act.touch(Cell::NameOf(target), Touch::Read);
                Info::Name(self.head(target).name)
            }
            Query::TrapExit => {
                act.touch(Cell::Trap(target), Touch::Read);
                yes(self.head(target).trap)
            }
            Query::Links => {
                act.touch(Cell::Links(target), Touch::Read);
                act.touch(Cell::Left(target), Touch::Read);
                let left = &self.processes[target.index()].left;
                Info::Processes(self.links_of(target).into_iter().filter(|pid| !left.contains(pid)).collect())
            }
        }
    }
}

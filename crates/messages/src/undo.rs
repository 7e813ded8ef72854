//! Taking steps back: what each change was, newest last.

use crate::roster::Actor;
use crate::system::{Alias, Head, Mail, Monitor, Signal, System, Timer};
use crate::{Machine, Name, Pid, Ref};
use selvedge_ir::EntityRef;

/// A change, with what is needed to take it back.
pub(crate) enum Undo<M: Machine> {
    /// The head of a process was this.
    Head(Pid, Head),
    /// Something was put into a mailbox.
    Put(Pid),
    /// Something was taken out of a mailbox.
    Taken(Pid, usize, Mail<M>),
    /// A process was doomed.
    Doomed(Pid),
    /// One side of a link was made or removed.
    Linked(Pid, Pid, bool),
    /// The exit signal of a linked process has come.
    Left(Pid),
    /// A process is watched by one more.
    Watched(Pid),
    /// A process has got last words.
    LastWords(Pid),
    /// Who had a name.
    Name(Name, Option<Pid>),
    /// What a monitor was.
    Monitor(Ref, Option<Monitor>),
    /// What an alias was.
    Alias(Ref, Option<Alias>),
    /// What a timer was.
    Timer(Ref, Option<Timer<M>>),
    /// Something was sent into a channel.
    Sent(Actor),
    /// Something was delivered by a channel.
    Delivered(Actor, Signal<M>, u32),
    /// There is one process more.
    Created,
}

impl<M: Machine> System<M> {
    /// Takes the newest step back.
    pub fn undo(&mut self) {
        let mark = self.marks.pop().expect("there is a step to take back");
        self.take_back_to(mark);
        self.machine.undo();
    }

    /// Takes changes back until there are so many.
    pub(crate) fn take_back_to(&mut self, mark: usize) {
        while self.log.len() > mark {
            let change = self.log.pop().expect("the log is longer than the mark");
            self.take_back(change);
        }
    }

    fn take_back(&mut self, change: Undo<M>) {
        match change {
            Undo::Head(pid, head) => self.processes[pid.index()].head = head,
            Undo::Put(pid) => {
                self.processes[pid.index()].mailbox.pop();
            }
            Undo::Taken(pid, at, mail) => self.processes[pid.index()].mailbox.insert(at, mail),
            Undo::Doomed(pid) => self.processes[pid.index()].doom = None,
            Undo::Linked(pid, other, linked) => {
                let links = &mut self.processes[pid.index()].links;
                if linked {
                    links.retain(|&p| p != other);
                } else {
                    links.push(other);
                }
            }
            Undo::Left(pid) => {
                self.processes[pid.index()].left.pop();
            }
            Undo::Watched(pid) => {
                self.processes[pid.index()].watchers.pop();
            }
            Undo::LastWords(pid) => self.processes[pid.index()].last_words.clear(),
            Undo::Name(name, old) => restore(&mut self.names, name, old),
            Undo::Monitor(reference, old) => restore(&mut self.monitors, reference, old),
            Undo::Alias(reference, old) => restore(&mut self.aliases, reference, old),
            Undo::Timer(reference, old) => restore(&mut self.timers, reference, old),
            Undo::Sent(channel) => {
                self.channels.get_mut(&channel).and_then(std::collections::VecDeque::pop_back);
            }
            Undo::Delivered(channel, signal, sent) => {
                self.channels.entry(channel).or_default().push_front((signal, sent));
            }
            Undo::Created => self.created -= 1,
        }
    }
}

fn restore<K: Eq + std::hash::Hash, V>(map: &mut rustc_hash::FxHashMap<K, V>, key: K, old: Option<V>) {
    match old {
        Some(old) => map.insert(key, old),
        None => map.remove(&key),
    };
}

//! What a step has done: everything that its relation to other steps depends on.

use crate::roster::Actor;
use crate::{Accepts, Machine, Message, MessageId, Name, Pid, Ref};
use smallvec::SmallVec;
use std::rc::Rc;

/// Something that steps of several processes touch, other than mailboxes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cell {
    /// Whether a process lives.
    Alive(Pid),
    /// Who has a name.
    Name(Name),
    /// Which name a process has.
    NameOf(Pid),
    /// The link between two processes, the one with the smaller number first.
    Link(Pid, Pid),
    /// The set of a process's links.
    Links(Pid),
    /// The set of those of them that have ended.
    Left(Pid),
    /// Whether a monitor is there.
    Monitor(Ref),
    /// Whether an alias is active.
    Alias(Ref),
    /// Whether a timer is running.
    Timer(Ref),
    /// Whether a process traps exits.
    Trap(Pid),
}

/// How a step touches a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touch {
    /// Finds out what is there.
    Read,
    /// Changes one element of a set: commutes with other such changes.
    Add,
    /// Changes it.
    Write,
}

/// A message that has come to its mailbox; to one whose process has ended, too.
pub struct Arrival<M: Machine> {
    /// The message.
    pub message: Rc<Message<M>>,
    /// Receives with this number and higher ones cannot take it, since a flush was executed before; [`NEVER`] if there is
    /// no such limit.
    pub limit: u32,
}

/// No limit.
pub const NEVER: u32 = u32::MAX;

/// A receive that was executed.
pub struct Received<M: Machine> {
    /// Whose.
    pub by: Pid,
    /// How many receives the process had executed before.
    pub nth: u32,
    /// What it accepts.
    pub accepts: Accepts<M::Predicate>,
    /// Whether it could have timed out.
    pub timeout: bool,
    /// What it took; nothing if it timed out.
    pub taken: Option<MessageId>,
}

/// A flush of what a monitor has sent, by its owner: it commutes with the arrival of that, which vanishes either way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flush {
    /// The monitor.
    pub monitor: Ref,
    /// How many receives were executed before the flush: those that could have taken it.
    pub limit: u32,
}

/// What a step has done.
pub struct Act<M: Machine> {
    /// The process whose own step it is: not what is delivered later, nor what is sent because it has ended.
    pub own: Option<Pid>,
    /// What has come to a mailbox.
    pub arrival: Option<Arrival<M>>,
    /// The receive that it was.
    pub received: Option<Received<M>>,
    /// The flush that it was.
    pub flush: Option<Flush>,
    /// Whom it has ended, or would have ended if that had not ended before.
    pub kills: Option<Pid>,
    /// Whose mailbox it has looked at without taking anything.
    pub counts: Option<Pid>,
    /// Other things.
    pub touched: SmallVec<[(Cell, Touch); 2]>,
    /// What a shared operation has touched.
    pub effect: Option<M::Effect>,
}

impl<M: Machine> Default for Act<M> {
    fn default() -> Act<M> {
        Act {
            own: None,
            arrival: None,
            received: None,
            flush: None,
            kills: None,
            counts: None,
            touched: SmallVec::new(),
            effect: None,
        }
    }
}

impl<M: Machine> Act<M> {
    /// Notes that a cell was touched.
    pub fn touch(&mut self, cell: Cell, touch: Touch) {
        self.touched.push((cell, touch));
    }

    /// Whose mailbox something has come to.
    #[inline]
    pub fn mailbox(&self) -> Option<Pid> {
        self.arrival.as_ref().map(|arrival| arrival.message.to)
    }

    /// Whether two steps did the same, as far as can be told: an assertion that executions are repeated faithfully.
    pub fn same(&self, other: &Act<M>) -> bool {
        let arrival = |act: &Act<M>| act.arrival.as_ref().map(|a| (a.message.id, a.message.to));
        let received = |act: &Act<M>| act.received.as_ref().map(|r| (r.by, r.nth, r.taken));
        self.own == other.own
            && arrival(self) == arrival(other)
            && received(self) == received(other)
            && self.flush == other.flush
            && self.kills == other.kills
            && self.counts == other.counts
            && self.touched == other.touched
            && self.effect == other.effect
    }
}

/// A step: who, which alternative, and what it has done. What it will do is not known of some steps that were never
/// executed: only who makes them.
pub struct Action<M: Machine> {
    /// Who.
    pub actor: Actor,
    /// Which alternative; [`ANY`] if it is not chosen yet.
    pub choice: u32,
    /// What.
    pub act: Option<Rc<Act<M>>>,
}

/// All alternatives.
pub const ANY: u32 = u32::MAX;

impl<M: Machine> Clone for Action<M> {
    fn clone(&self) -> Action<M> {
        Action { actor: self.actor, choice: self.choice, act: self.act.clone() }
    }
}

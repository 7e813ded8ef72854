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
    /// Whether the first has been told by a link that the second has ended.
    Told(Pid, Pid),
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
    /// What else than messages it is about: most steps are about nothing else.
    rest: Option<Box<Rest<M>>>,
}

/// What a step has done other than with messages.
struct Rest<M: Machine> {
    flush: Option<Flush>,
    kills: Option<Pid>,
    counts: Option<Pid>,
    touched: SmallVec<[(Cell, Touch); 2]>,
    effect: Option<M::Effect>,
}

/// What else than messages a step is about, in short.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Special {
    /// It touches cells or has an effect: matters to others of this kind.
    pub touches: bool,
    /// It ends a process or looks at a mailbox: matters to all.
    pub looks: bool,
}

impl<M: Machine> Default for Act<M> {
    fn default() -> Act<M> {
        Act { own: None, arrival: None, received: None, rest: None }
    }
}

impl<M: Machine> Act<M> {
    /// A step of a process that is about nothing but perhaps a receive.
    pub fn of(own: Option<Pid>, received: Option<Received<M>>) -> Act<M> {
        Act { own, received, ..Act::default() }
    }

    fn rest(&mut self) -> &mut Rest<M> {
        self.rest.get_or_insert_with(|| {
            Box::new(Rest { flush: None, kills: None, counts: None, touched: SmallVec::new(), effect: None })
        })
    }

    /// Notes that a cell was touched.
    pub fn touch(&mut self, cell: Cell, touch: Touch) {
        self.rest().touched.push((cell, touch));
    }

    /// Notes that it was a flush.
    pub fn flushes(&mut self, flush: Flush) {
        self.rest().flush = Some(flush);
    }

    /// Notes that it has doomed a process.
    pub fn ends(&mut self, pid: Pid) {
        self.rest().kills = Some(pid);
    }

    /// Notes that it has looked at a mailbox.
    pub fn looks_at(&mut self, pid: Pid) {
        self.rest().counts = Some(pid);
    }

    /// Notes what a shared operation has touched.
    pub fn affects(&mut self, effect: M::Effect) {
        self.rest().effect = Some(effect);
    }

    /// The flush that it was.
    #[inline]
    pub fn flush(&self) -> Option<Flush> {
        self.rest.as_ref().and_then(|rest| rest.flush)
    }

    /// Whom it has doomed.
    #[inline]
    pub fn kills(&self) -> Option<Pid> {
        self.rest.as_ref().and_then(|rest| rest.kills)
    }

    /// Whose mailbox it has looked at without taking anything.
    #[inline]
    pub fn counts(&self) -> Option<Pid> {
        self.rest.as_ref().and_then(|rest| rest.counts)
    }

    /// Other things that it has touched.
    #[inline]
    pub fn touched(&self) -> &[(Cell, Touch)] {
        self.rest.as_ref().map_or(&[], |rest| &rest.touched)
    }

    /// What a shared operation has touched.
    #[inline]
    pub fn effect(&self) -> Option<&M::Effect> {
        self.rest.as_ref().and_then(|rest| rest.effect.as_ref())
    }

    /// Whether it is about nothing but messages.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.rest.is_none()
    }

    /// What else than messages it is about, in short.
    pub fn special(&self) -> Special {
        let touches = !self.touched().is_empty() || self.effect().is_some();
        Special { touches, looks: self.kills().is_some() || self.counts().is_some() }
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
            && self.flush() == other.flush()
            && self.kills() == other.kills()
            && self.counts() == other.counts()
            && self.touched() == other.touched()
            && self.effect() == other.effect()
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

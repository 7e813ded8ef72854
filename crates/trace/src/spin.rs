//! Threads that spin: is it forever?
//!
//! A thread that was cut off in an iteration of a loop because the iteration changes nothing, or that waits in it for a
//! value after having read others ([`Cond::retry`]), would start the iteration again. If every value that it has read in
//! the iteration is still the current one when nobody else goes on, then it reads the same again and comes to the same
//! point, for ever: a livelock. If some value is another one by now, it might get on; that is explored elsewhere, and the
//! execution counts as cut off.
//!
//! Where the iteration began the machine knows ([`Machine::iteration`]). One that does not (that of litmus programs, whose
//! iterations begin behind the newest change) is taken at its word: since a pure iteration changes nothing, it began no
//! earlier than behind the newest step by which the thread changed anything.
//!
//! With observers, stores that nobody reads are in no order, and the last value of a location may depend on the order that
//! was explored. To start the iteration again would be to read it. Where that decides, the location is taken out of the
//! theory ([`depends_on_the_order`]), like one that is awaited.
//!
//! [`Cond::retry`]: selvedge_machine::Cond

use crate::action::overlap;
use crate::trace::{EventId, Trace};
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, AccessKind, Done, Machine, Op, Sc, Status, ThreadId};

/// What threads have done in an execution.
pub trait History {
    /// The steps of a thread, newest first.
    fn newest_first(&self, thread: ThreadId) -> impl Iterator<Item = (&Op, &Done)>;
}

impl History for Trace {
    fn newest_first(&self, thread: ThreadId) -> impl Iterator<Item = (&Op, &Done)> {
        let newest = self.last_of(thread);
        std::iter::successors(newest, |&e| self.previous(e)).map(|e| (&self.event(e).op, &self.event(e).done))
    }
}

/// The steps of all threads in order.
impl History for Vec<(ThreadId, Op, Done)> {
    fn newest_first(&self, thread: ThreadId) -> impl Iterator<Item = (&Op, &Done)> {
        self.iter().rev().filter(move |(other, ..)| *other == thread).map(|(_, op, done)| (op, done))
    }
}

/// Whether a thread would start an iteration of a loop again.
pub fn would_try_again<M: Machine>(sc: &Sc<M>, thread: ThreadId) -> bool {
    match sc.machine.status(thread) {
        Status::Ready => {
            matches!(sc.machine.pending(thread), Op::Access(Access { until: Some(until), .. }) if until.retry)
        }
        Status::AssumeBlocked => sc.machine.spins(thread),
        _ => false,
    }
}

/// Whether all that a thread has read since it last changed something is as it was; or in its iteration, if that is known: what
/// it finds there where it has written is what it has left there itself.
pub fn reads_the_same_again<M: Machine>(sc: &Sc<M>, thread: ThreadId, history: &impl History) -> bool {
    let Some(steps) = sc.machine.iteration(thread) else {
        return reads(sc, history, thread).all(|(access, value)| is_current(sc, thread, access, value));
    };
    let steps: Vec<(&Op, &Done)> = history.newest_first(thread).take(steps).collect();
    let mut own: Vec<(&Access, u64)> = Vec::new();
    for (op, done) in steps.into_iter().rev() {
        let Op::Access(access) = op else { continue };
        let known = own.iter().rfind(|(other, _)| touch(access, other));
        let finds_the_same = match known {
            // A part of what it has written itself, or more than that.
            Some((other, _)) if (other.addr, other.size) != (access.addr, access.size) => true,
            Some(&(_, value)) => value == done.old,
            None => is_current(sc, thread, access, done.old),
        };
        // What a store overwrites it does not find.
        if !matches!(access.kind, AccessKind::Store { .. }) && !finds_the_same {
            return false;
        }
        if let Some(new) = done.new {
            own.push((access, new));
        }
    }
    true
}

fn touch(one: &Access, other: &Access) -> bool {
    overlap(one.addr.0, u32::from(one.size), other.addr.0, u32::from(other.size))
}

/// What a thread has read since it last changed something, with the values that it found; or in its iteration, if that is
/// known: what it writes there it leaves as it was.
fn reads<'h, M: Machine>(
    sc: &Sc<M>,
    history: &'h impl History,
    thread: ThreadId,
) -> impl Iterator<Item = (&'h Access, u64)> {
    let iteration = sc.machine.iteration(thread);
    let quiet = |(op, done): &(&Op, &Done)| match op {
        Op::Access(_) => done.new.is_none_or(|new| new == done.old),
        op => matches!(op, Op::Fence { .. }),
    };
    let steps = history.newest_first(thread).take(iteration.unwrap_or(usize::MAX));
    let steps = steps.take_while(move |step| iteration.is_some() || quiet(step)).filter(quiet);
    steps.filter_map(|(op, done)| match op {
        Op::Access(access) => Some((access, done.old)),
        _ => None,
    })
}

fn is_current<M: Machine>(sc: &Sc<M>, thread: ThreadId, access: &Access, value: u64) -> bool {
    sc.machine.memory().load(thread, access.addr, access.size, true).ok() == Some(value)
}

/// A location on whose last value it depends whether a thread spins forever, if that value depends on the order of stores
/// that nobody reads.
pub fn depends_on_the_order<M: Machine>(sc: &Sc<M>, thread: ThreadId, trace: &Trace) -> Option<Access> {
    let mut open = None;
    for (access, value) in reads(sc, trace, thread) {
        if is_open(trace, access) {
            open = Some(*access);
        } else if !is_current(sc, thread, access, value) {
            return None;
        }
    }
    open
}

/// Whether the newest write to the bytes of an access might be in no order with a store of another thread.
fn is_open(trace: &Trace, access: &Access) -> bool {
    if trace.dependence.is_hard(access.addr.0) {
        return false;
    }
    let mut newest = None;
    for e in (0..trace.len()).rev().map(EventId::new) {
        let Some((other, done)) = trace.accesses(e).find(|(other, _)| touch(access, other)) else { continue };
        // Whoever reads is in an order with all stores.
        let is_store =
            matches!(other.kind, AccessKind::Store { .. }) && done.new.is_some() && trace.event(e).access().is_some();
        match newest {
            _ if !is_store => return false,
            None => newest = Some(trace.event(e).action.thread),
            Some(thread) if thread != trace.event(e).action.thread => return true,
            Some(_) => {}
        }
    }
    false
}

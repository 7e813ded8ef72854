//! Exchanges that wait, and a load of the same word before: locks that are tested before they are taken. Not in the paper.
//!
//! ```text
//! loop {
//!     while lock.load(Relaxed) { spin_loop() }        the load, an await
//!     if !lock.swap(true, Acquire) { break }          the exchange: if it fails, the loop starts again, so it waits
//! }
//! ```
//!
//! The load may find the lock free because of one unlock, and the exchange because of a later one. Who has taken the lock in
//! between makes no difference to the thread: **if the exchange reads from w, then the load, which comes directly before it,
//! could have read from w as well.** What is hb-before the load has nothing newer than w, since the exchange may read it. The
//! thread is told the same, if w has the same value as what the load has read. And if the load is no stronger than the exchange, it
//! orders nothing then that the exchange does not order, so that no race is hidden. Other edges of the load only disappear. So
//! the execution in which both read from w stands for the others, and n threads that take such a lock have n! executions and not
//! n!².
//!
//! So the exchange reads from what its load has read from, and from nothing else (`only` in `read.rs`), and is not revisited: the
//! load is, or it is read again in place, and the exchange comes after that. For every execution that is left, what leads to it
//! in TruSt is left too: a revisit of the load deletes the exchange, and both were added maximally, since the exchange is added
//! next (`next_thread`) and so reads the same. Where another exchange has read the same, it is overtaken (`overtake.rs`), that is, *its*
//! load is revisited.
//!
//! An exchange that finds another value must have failed, and wait; with an exchange that gets on with two values, the load
//! may have found one and the exchange the other. So all values that the location has in any graph are looked at. If one turns
//! out not to make the exchange wait, or there are too many, the exploration starts again without this for the location.
//!
//! And if the exchange waits for ever, the execution that stands for it is the one in which the load does. So the load must be
//! *choosy*: it waits with all values but one at most. One that goes another way with what lets the exchange wait is a read like
//! any other.

use super::Explorer;
use crate::event::{Event, EventId, INIT, LocId};
use crate::models::Model;
use crate::request::{Request, Role};
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::{Access, AccessKind, Machine, Op, Status, ThreadId};
use smallvec::SmallVec;

/// Locations with more values are left alone.
const MOST_VALUES: usize = 4;

/// The values of a location of which it is known that exchanges of it wait with all but one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Values {
    values: [u64; MOST_VALUES],
    len: u8,
}

impl Values {
    fn all(&self) -> &[u64] {
        &self.values[..usize::from(self.len)]
    }

    /// Notes a value. Whether there is room for it.
    fn insert(&mut self, value: u64) -> bool {
        if self.all().contains(&value) {
            return true;
        }
        let Some(free) = self.values.get_mut(usize::from(self.len)) else { return false };
        *free = value;
        self.len += 1;
        true
    }

    /// How many there are.
    pub fn len(&self) -> u8 {
        self.len
    }
}

/// Whether a load orders nothing that an exchange with this order does not.
pub(in crate::explorer) fn is_no_stronger(load: Order, exchange: Order) -> bool {
    match load {
        Order::Relaxed => true,
        Order::Acquire => exchange.acquires(),
        Order::SeqCst => exchange == Order::SeqCst,
        _ => false,
    }
}

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// The load that comes directly before an exchange that a thread stands at.
    fn load_before(&self, thread: ThreadId, access: &Access) -> Option<EventId> {
        let load = self.graph().last(thread)?;
        let Event { loc, order, blocked, speculative, choosy, .. } = *self.graph().event(load);
        if !choosy || blocked || speculative || !is_no_stronger(order, access.order) {
            return None;
        }
        let habits = &self.habits[loc.index()];
        let is_treated = self.runner.place(loc) == (access.addr, access.size)
            && self.in_place(loc)
            && !habits.otherwise
            && !habits.stores_as_exchanges()
            && !self.graph().location(loc).uninitialised;
        is_treated.then_some(load)
    }

    /// Whether exchanges are treated like that at all.
    #[inline]
    fn tests(&self) -> bool {
        self.options.reductions.tested && self.schedules.is_none() && self.composites.knows_nothing()
    }

    /// A thread that has tested what it is about to take: it comes first, so that both are of the same moment.
    #[inline]
    pub(super) fn tester(&self) -> Option<ThreadId> {
        if !self.tests() {
            return None;
        }
        let machine = &self.runner.machine;
        let mut ready =
            (0..machine.thread_limit()).map(ThreadId::new).filter(|&thread| machine.status(thread) == Status::Ready);
        ready.find(|&thread| match machine.pending(thread) {
            Op::Access(access) if access.may_be_tested() => self.load_before(thread, access).is_some(),
            _ => false,
        })
    }

    /// Whether an operation is a load that waits, and may test what an exchange then takes. Like that, it is kept out of the graph as
    /// long as it would have to wait: if two of them were let go by the same write, one of the two exchanges could not follow.
    #[inline]
    pub(super) fn is_test(&self, op: &Op) -> bool {
        let Op::Access(access @ Access { kind: AccessKind::Load, .. }) = op else { return false };
        access.may_wait()
            && self.tests()
            && self.locations.get(access.addr).is_some_and(|loc| {
                let habits = &self.habits[loc.index()];
                habits.tested && !habits.otherwise
            })
    }

    /// Whether a load waits with all values of a location that are known, but one at most.
    #[inline]
    pub(super) fn is_choosy(&mut self, thread: ThreadId, request: &Request, loc: LocId) -> bool {
        let waits = request.access.kind == AccessKind::Load && request.access.may_wait() && request.part.is_none();
        if !waits || !self.tests() {
            return false;
        }
        let values = self.habits[loc.index()].values;
        let pred = self.graph().before_next(thread);
        let goes_on = |this: &mut Self, value| !this.flags_after(thread, request, pred, (INIT, value)).blocked;
        values.all().iter().filter(|&&value| goes_on(self, value)).count() <= 1
    }

    /// What an exchange that waits reads from, and nothing else, if the thread has tested the location before it.
    #[inline]
    pub(super) fn tested_source(&mut self, thread: ThreadId, request: &Request, loc: LocId) -> Option<EventId> {
        let may_be = request.access.may_be_tested() && request.role == Role::Memory && request.part.is_none();
        if may_be && self.tests() { self.source_of_load(thread, request, loc) } else { None }
    }

    #[inline(never)]
    fn source_of_load(&mut self, thread: ThreadId, request: &Request, loc: LocId) -> Option<EventId> {
        let load = self.load_before(thread, &request.access)?;
        let graph = self.graph();
        let Event { rf, value, .. } = *graph.event(load);
        let mut values = self.habits[loc.index()].values;
        let mut all: SmallVec<[(EventId, u64); 8]> = SmallVec::new();
        let known = values.all().iter().map(|&value| (INIT, value));
        let there = (0..=graph.newest(loc)).map(|position| graph.location(loc).write_at(position));
        for (write, found) in there.map(|write| (write, graph.written(loc, write))).chain(known) {
            if found != value && !all.iter().any(|&(_, other)| other == found) {
                all.push((write, found));
            }
        }
        let own = self.flags_after(thread, request, load, (rf, value));
        let has_room = values.insert(value) && all.iter().all(|&(_, found)| values.insert(found));
        let waits = |this: &mut Self, other| this.flags_after(thread, request, load, other).blocked;
        if !has_room || !own.exclusive || own.blocked || !all.into_iter().all(|other| waits(self, other)) {
            self.note(loc, |habits| habits.otherwise = true);
            return None;
        }
        let graph = self.graph();
        let newest = EventId::new(graph.len() - 1);
        if rf != graph.location(loc).write_at(graph.newest(loc)) && load != newest {
            // Somebody else has taken it since.
            self.note(loc, |habits| habits.otherwise = true);
            return None;
        }
        self.note(loc, |habits| (habits.tested, habits.values) = (true, values));
        Some(rf)
    }

    /// A location gets a value: it has not been looked at whether exchanges that were tested wait with it, if it is news.
    #[inline]
    pub(super) fn note_value(&mut self, loc: LocId, value: u64) {
        let habits = &self.habits[loc.index()];
        if habits.tested && !habits.otherwise && !habits.values.all().contains(&value) {
            self.note(loc, |habits| habits.otherwise |= !habits.values.insert(value));
        }
    }
}

//! Confirmations of a value that was written twice (ABA).
//!
//! Definition 4 wants all writes to a location that is read speculatively to write distinct values: then a confirmation
//! succeeds if and only if it reads from the same write as its speculative read. Stacks and locks are not like that: what
//! was there comes back. A confirmation then succeeds with any write of that value, and executions in which the two have
//! read from different ones are useful.
//!
//! They are found without any failing confirmation, because a thread only reads between the two, so that nobody depends on
//! it. The write that the confirmation is going to read from, the *primary* one, is what the exploration is about: it is
//! in the graph when the speculative read is added, what later writes revisit, and what rivals compete for, as if the read
//! read from it. Whether the read does, or reads from an older write of the same value, is a choice that is made on top of
//! that. To read from the primary write is the maximal choice; with another one the read is never deleted or revisited,
//! like any read that was not added maximally. All writes of the location are ordered, so the older ones are there, too.
//!
//! If the confirmation comes *directly* after the read, there is no need for that choice (counters that go up and down: a
//! semaphore, references that are counted). As in `tested.rs`, if the confirmation reads from w, then the read could have read
//! from w as well. The thread is told the same, and is in the same state. If the read is no stronger than the confirmation, it
//! orders nothing then that the confirmation does not, and its other edges only disappear. So the execution in which both read
//! from w stands for the others. Whether the confirmation comes next is tried out, with the value that it is about.
//!
//! A *relaxed* read may also be followed by stores, before the confirmation, that nobody else can see before that
//! (`speculative.rs`), if nobody can synchronise with them: relaxed ones and plain ones. The read orders nothing, whatever it
//! reads from, so all that comes after it but these stores comes after the confirmation. (A release store would not do: who acquires
//! it would come after w, though nothing has to come after the confirmation.)

use super::tested::is_no_stronger;
use super::{Explorer, Go, Todo};
use crate::event::EventId;
use crate::models::Model;
use crate::request::Request;
use selvedge_ir::Order;
use selvedge_machine::session::Over;
use selvedge_machine::{Access, Machine, ThreadId};
use smallvec::SmallVec;

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// The writes that a speculative read may read from if its confirmation reads from `primary`.
    pub(super) fn older_writes(&mut self, read: EventId, access: &Access, primary: EventId) -> SmallVec<[EventId; 4]> {
        let graph = self.graph();
        let (loc, thread) = (graph.event(read).loc, graph.event(read).thread);
        if access.speculative.is_none() || !self.speculates(loc) || !primary.is_event() {
            return SmallVec::new();
        }
        let value = graph.event(primary).value;
        let older = (0..graph.event(primary).co).map(|position| graph.location(loc).write_at(position));
        let mut found: SmallVec<[EventId; 4]> = older.filter(|&w| graph.written(loc, w) == value).collect();
        if !found.is_empty()
            && (!self.is_speculative(thread, access, value) || self.is_confirmed_next(thread, access, value))
        {
            found.clear();
        }
        found
    }

    /// Whether the confirmation comes directly after a speculative read, so that both may as well read from the same write.
    fn is_confirmed_next(&mut self, thread: ThreadId, access: &Access, value: u64) -> bool {
        if !self.options.reductions.direct {
            return false;
        }
        let may_store = access.order == Order::Relaxed;
        let next = self.runner.machine.next_confirmation(thread, value, may_store);
        next.is_some_and(|next| {
            (next.addr, next.size) == (access.addr, access.size) && is_no_stronger(access.order, next.order)
        })
    }

    /// Makes a read read from an older write, if there is one and the memory model allows it as far as it is known.
    pub(super) fn may_read_older(&mut self, read: EventId, older: Option<EventId>) -> bool {
        let Some(older) = older else { return true };
        if self.lower_bound(read) > self.graph().position_of(older) {
            return false;
        }
        self.frame().graph.read_older(read, older);
        true
    }

    /// Notes what a read that a write revisits may read from instead.
    pub(super) fn plan_older_places(&mut self, read: EventId, request: &Request, write: EventId, position: u32) {
        for older in self.older_writes(read, &request.access, write) {
            self.frame().todo.push(Todo::Place { write, position, older: Some(older) });
        }
    }

    /// A write comes for which speculative reads wait, and one of them reads from an older write.
    pub(super) fn read_again_older(&mut self, write: EventId, read: EventId, older: EventId) -> Result<Go, Over> {
        self.cut_behind(write);
        self.written(write, Some((read, older)))
    }
}

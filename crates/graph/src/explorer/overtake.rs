//! Read-modify-writes that overtake another one.
//!
//! When a read-modify-write comes, it may also read from an older write that another one, its *rival*, has read from. Both
//! cannot stand: nothing but revisits can follow in which the rival's read is deleted, or reads from the new write (the
//! other explorations are the paper's fruitless ones, section 5.2). So what the new one writes is noted together with what
//! it reads. When the entry is taken up, its two events are added and the revisits planned, and that is all: the threads
//! need not be brought to where they were for it. To run them again costs more than all of this.
//!
//! Whether the access races is looked at when its write finds its place in a graph that a revisit makes: what happens
//! before the write happens before the read.

use super::{Explorer, Go, Todo};
use crate::backward::{self, Scope};
use crate::event::{Event, EventId, Kind};
use crate::models::Model;
use crate::request::{Flags, Request};
use selvedge_ir::Order;
use selvedge_machine::Machine;
use selvedge_machine::session::Over;
use std::ops::ControlFlow;

/// What follows if a read reads from a write.
pub(super) enum Follows {
    /// Whatever the thread does next.
    Anything,
    /// Nothing.
    Nothing,
    /// Revisits by its write, which writes this, with this memory order; the newest read that it revisits.
    Revisits { value: u64, order: Order, newest: EventId },
}

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// Notes that a read may read from an older write, if something can follow.
    #[inline(never)]
    pub(super) fn plan_source(&mut self, read: EventId, request: &Request, write: EventId, flags: Option<Flags>) {
        let follows = self.follows(read, request, write, flags);
        if matches!(follows, Follows::Nothing) || self.would_lead_nowhere(read, write) {
            return;
        }
        let entry = match follows {
            Follows::Revisits { value, order, newest } => Todo::Overtake { read, write, value, order, newest },
            _ => Todo::Source { read, write, older: None },
        };
        self.frame().todo.push(entry);
    }

    /// What follows if a read reads from a write. What that makes of the read may be known.
    fn follows(&mut self, read: EventId, request: &Request, write: EventId, known: Option<Flags>) -> Follows {
        let graph = self.graph();
        let Event { loc, thread, .. } = *graph.event(read);
        let Some(rival) = graph.successor_rmw(loc, graph.position_of(write)) else { return Follows::Anything };
        let (limit, old) = (graph.event(rival).pred, graph.written(loc, write));
        // What composite awaits are told is what it really reads. What is speculative or a part of an access is looked at as such.
        let is_whole = request.access.speculative.is_none() && request.part.is_none();
        let is_simple = is_whole && self.composites.is_empty();
        let flags = match is_simple {
            true => known.unwrap_or_else(|| self.flags_of(read, request, (write, old))),
            false => self.reads_from(read, request, write),
        };
        if !flags.exclusive || flags.blocked {
            return Follows::Anything;
        }
        // What comes before the write is what comes before the read.
        let graph = self.graph();
        let counts = graph.porf_if(read, write);
        let mut found = None;
        let (in_place, looked_at) = (self.in_place(loc), self.composites.footprints());
        let scope = Scope { limit: Some(limit), newest: None, in_place, looked_at };
        backward::revisits_after(graph, (read, &counts), scope, |r| {
            found = Some(r);
            ControlFlow::Break(())
        });
        if !is_simple {
            self.note_news(read, Some(rival));
        }
        let Some(newest) = found else { return Follows::Nothing };
        match request.written(thread, old, 0) {
            Some(value) if is_simple && request.alternatives(old) == 1 => {
                Follows::Revisits { value, order: flags.order, newest }
            }
            _ => Follows::Anything,
        }
    }

    /// A read-modify-write reads from what another one has read from, and its write revisits older reads.
    pub(super) fn overtake(
        &mut self,
        read: EventId,
        write: EventId,
        (value, order): (u64, Order),
        newest: EventId,
    ) -> Result<Go, Over> {
        self.cut_behind(read);
        self.tick()?;
        let graph = &mut self.frame().graph;
        graph.set_rf(read, write);
        graph.set_flags(read, true, false, order);
        graph.set_speculative(read, false);
        if !self.is_consistent(&[read]) {
            return Ok(Go::Back);
        }
        let graph = &mut self.frame().graph;
        let Event { thread, loc, locked, role, .. } = *graph.event(read);
        let rival = graph.successor_rmw(loc, graph.position_of(write)).expect("another one has read from the write");
        let limit = graph.event(rival).pred;
        let draft = graph.draft(thread, Kind::Write);
        let e = graph.add_write(Event { loc, value, exclusive: true, locked, order, role, ..draft });
        self.note_value(loc, value);
        self.note_news(e, Some(rival));
        self.plan_revisits_up_to(e, Some(limit), Some(newest));
        Ok(Go::Back)
    }
}

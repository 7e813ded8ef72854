//! Writes: every place in coherence order, and every read that a write revisits (lines 20 to 24, Algorithm 2).

use super::{Explorer, Go, Todo};
use crate::backward;
use crate::event::{BOTTOM, Event, EventId, Kind, LocId, Turn};
use crate::models::Model;
use crate::request::Request;
use selvedge_ir::EntityRef;
use selvedge_machine::session::Over;
use selvedge_machine::{Machine, ThreadId};

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// Adds a write (line 20). An exclusive one stands directly behind what its read, be it a phantom one, reads from.
    pub(super) fn write(
        &mut self,
        thread: ThreadId,
        request: &Request,
        loc: LocId,
        read: Option<EventId>,
    ) -> Result<Go, Over> {
        let graph = &mut self.frames.top.graph;
        let old = read.map_or(0, |read| graph.event(read).value);
        let value = request.written(thread, old, 0).expect("the access writes");
        let source = read.map(|read| graph.position(read));
        let newest = graph.newest(loc);
        let exclusive = read.is_some();
        let (order, role) = (request.access.order, request.role);
        let draft = graph.draft(thread, Kind::Write);
        let locked = exclusive && request.reads();
        let e = graph.add(Event { loc, value, exclusive, locked, order, role, part: request.part, ..draft });
        // A read-modify-write of the coherence-last value comes after that, and stands where it is.
        let is_settled = source == Some(newest);
        let rival = source.filter(|_| !is_settled).and_then(|source| graph.successor_rmw(loc, source));
        // Two read-modify-writes of one value: only a revisit of the other one makes sense.
        let limit = rival.map(|rival| graph.event(rival).pred);
        if limit.is_none() && !is_settled {
            let unordered = newest > 0 && !graph.porf(graph.location(loc).write_at(newest), e);
            let lowest = if source.is_none() { self.lower_bound(e) } else { newest };
            // What a relaxed write comes from may still be behind it in coherence order.
            if unordered || lowest < newest {
                self.note_unordered(loc, request);
                if self.restart {
                    return Ok(Go::Back);
                }
            }
            match source {
                Some(source) => self.frame().graph.place(e, source + 1),
                None => self.plan_places(e, lowest, newest),
            }
        }
        let is_known = limit.is_some() || self.habits[loc.index()].foreign;
        if !is_known && read.is_some_and(|read| !backward::is_confirmation(self.graph(), read)) {
            self.note(loc, |habits| habits.foreign = true);
        }
        let others = (1..request.alternatives(old)).map(|choice| Todo::Choice { event: e, choice });
        self.frame().todo.extend(others);
        self.note_news(e, rival);
        self.plan_revisits(e, limit);
        if limit.is_some() { Ok(Go::Back) } else { self.written(e, None) }
    }

    /// Notes the reads that a write revisits (line 24).
    pub(super) fn plan_revisits(&mut self, e: EventId, limit: Option<EventId>) {
        let in_place = self.in_place(self.graph().event(e).loc);
        let frame = &mut self.frames.top;
        let (graph, todo) = (&frame.graph, &mut frame.todo);
        backward::revisits(graph, e, limit, (in_place, self.composites.footprints()), |read| {
            todo.push(Todo::Back { write: e, read })
        });
    }

    /// Notes the other places at which a plain write could stand.
    fn plan_places(&mut self, e: EventId, lowest: u32, newest: u32) {
        let loc = self.graph().event(e).loc;
        for position in lowest + 1..=newest {
            let graph = self.graph();
            let pushed_back = graph.location(loc).write_at(position);
            if !graph.event(pushed_back).exclusive {
                self.frame().todo.push(Todo::Place { write: e, position, older: None });
            }
        }
    }

    /// A signal wakes another thread.
    pub(super) fn signal_another(&mut self, e: EventId, choice: u64) -> Result<Go, Over> {
        let Event { thread, pred, .. } = *self.graph().event(e);
        self.catch_up()?;
        let request = self.request_of(e);
        let graph = &mut self.frame().graph;
        let value = request.written(thread, graph.event(pred).value, choice).expect("a signal that wakes writes");
        graph.set_written(e, value, choice);
        let loc = graph.event(e).loc;
        let rival = graph.successor_rmw(loc, graph.position(pred)).filter(|&rival| rival != e);
        let limit = rival.map(|rival| graph.event(rival).pred);
        // As another write it revisits reads as well.
        self.plan_revisits(e, limit);
        if limit.is_some() { Ok(Go::Back) } else { self.written(e, None) }
    }

    /// What follows from a write that has found its place.
    pub(super) fn written(&mut self, e: EventId, chosen: Option<(EventId, EventId)>) -> Result<Go, Over> {
        self.check_race(e)?;
        let graph = &mut self.frame().graph;
        if !graph.event(e).is_unfinished() {
            graph.executed.push(e);
        }
        let loc = graph.event(e).loc;
        // Only reads that wait are read again.
        if graph.blocked_reads() > 0 && self.in_place(loc) { self.read_again(e, loc, chosen) } else { Ok(Go::On) }
    }

    /// A write stands elsewhere in coherence order, in a graph that was just made by a revisit or in an older one.
    pub(super) fn place(&mut self, write: EventId, position: u32, older: Option<EventId>) -> Result<Go, Over> {
        self.cut_behind(write);
        let graph = &mut self.frames.top.graph;
        graph.place(write, position);
        let loc = graph.event(write).loc;
        let revisited = graph.location(loc).reads.iter().copied().find(|&r| graph.event(r).rf == write);
        let last = position == graph.newest(loc);
        if let Some(read) = revisited {
            if !self.may_read_older(read, older) || self.lower_bound(read) > position {
                return Ok(Go::Back);
            }
            if self.in_place(loc) && self.graph().event(read).blocked && !last {
                // Line 4: it waits, and will not be read again.
                return Ok(Go::Back);
            }
        }
        if revisited.is_some() && self.leads_nowhere() {
            return Ok(Go::Back);
        }
        let changed = [write, revisited.unwrap_or(write)];
        if (!last || revisited.is_some()) && !self.is_consistent(&changed) {
            return Ok(Go::Back);
        }
        let go = self.written(write, None)?;
        let Some(read) = revisited else { return Ok(go) };
        self.catch_up()?;
        let request = self.request_of(read);
        self.has_read(read, &request)
    }

    /// Makes a graph of what a revisit of a read by another event keeps, with the names that both have there. If nothing else
    /// is left to explore of the present graph, it becomes that one.
    pub(super) fn make_frame(&mut self, read: EventId, by: EventId) -> Result<(EventId, EventId), Over> {
        let is_done = self.frames.top.todo.is_empty();
        if !is_done {
            let mut new = self.spare.pop().unwrap_or_default();
            new.todo.clear();
            new.graph.copy_from(&self.frames.top.graph);
            self.frames.push(new);
        }
        let frame = &mut self.frames.top;
        let common = frame.graph.restrict((read, by), &mut self.names, &mut self.waiting);
        frame.common = if is_done { common.min(frame.common) } else { common };
        let (read, by) = (self.names[read.index()], self.names[by.index()]);
        // Composite awaits that the other event depends on are settled.
        for e in (read.index() + 1..frame.graph.len()).map(EventId::new) {
            let event = *frame.graph.event(e);
            if event.kind == Kind::Turn && event.turn == Turn::Now {
                frame.graph.set_turn(e, Turn::Past, (event.value, 0));
            }
        }
        self.runner.switch_to_part(&frame.graph, common);
        self.catch_up()?;
        for n in 0..self.waiting.len() {
            let waiting = self.waiting[n];
            if self.graph().event(waiting).rf != BOTTOM {
                let request = self.request_of(waiting);
                let flags = self.value_has_changed(waiting, &request);
                debug_assert!(flags.blocked, "a read that was read again in place has waited before");
            }
        }
        Ok((read, by))
    }

    /// A write revisits a read (Algorithm 2, line 5): a graph of its own.
    pub(super) fn revisit(&mut self, write: EventId, read: EventId) -> Result<Go, Over> {
        self.cut_behind(write);
        let (read, write) = self.make_frame(read, write)?;
        self.note_news(write, None);
        let request = self.request_of(read);
        self.reads_from(read, &request, write);
        let graph = &mut self.frame().graph;
        let Event { loc, exclusive, pred, .. } = *graph.event(write);
        let newest = graph.newest(loc);
        graph.place(write, newest);
        if exclusive {
            let source = graph.position(pred);
            let conflict = graph.successor_rmw(loc, source).is_some_and(|other| other != write);
            if !conflict {
                self.plan_older_places(read, &request, write, source + 1);
                return self.place(write, source + 1, None);
            }
        } else {
            self.plan_older_places(read, &request, write, newest);
            self.frame().todo.push(Todo::Place { write, position: newest, older: None });
            let lowest = self.lower_bound(write);
            self.plan_places(write, lowest, newest - 1);
        }
        Ok(Go::Back)
    }
}

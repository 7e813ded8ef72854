//! Writes: every place in coherence order, and every read that a write revisits (lines 20 to 24, Algorithm 2).

use super::{Explorer, Go, Todo};
use crate::backward::{self, Scope};
use crate::event::{BOTTOM, Event, EventId, Kind, LocId, Turn};
use crate::models::Model;
use crate::request::{Request, Role};
use selvedge_ir::EntityRef;
use selvedge_machine::session::Over;
use selvedge_machine::{AccessKind, Machine, ThreadId, truncate};

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// Adds the write of a read-modify-write (line 20) whose read is the newest event and reads from the coherence-last write:
    /// that is where it stands, and there is no other place. If it is clear that the read does not race, nor does the write:
    /// what happens before the read happens before it.
    #[inline]
    pub(super) fn exchange(&mut self, request: &Request, read: EventId, is_free: bool) -> Result<Go, Over> {
        let graph = &mut self.frames.top.graph;
        debug_assert_eq!(graph.position(read), graph.newest(graph.event(read).loc), "it reads what is last");
        let Event { thread, loc, value: old, .. } = *graph.event(read);
        let value = request.written(thread, old, 0).expect("the access writes");
        let (order, role, locked) = (request.access.order, request.role, request.reads());
        let draft = graph.draft_after(read);
        let part = request.part;
        let e = graph.add_write(Event { loc, value, exclusive: true, locked, order, role, part, ..draft });
        self.note_exchange(loc, read);
        self.note_value(loc, value);
        self.plan_other_choices(e, request, old);
        self.note_news(e, None);
        self.plan_revisits(e, None);
        if !is_free {
            self.check_race(e)?;
        }
        debug_assert!(!is_free || self.check_race(e).is_ok_and(|is_free| is_free), "it races if its read does");
        self.takes_effect(e, None)
    }

    /// Notes that there is a read-modify-write that confirms nothing.
    #[inline]
    fn note_exchange(&mut self, loc: LocId, read: EventId) {
        if !self.habits[loc.index()].foreign && !backward::is_confirmation(self.graph(), read) {
            self.note(loc, |habits| habits.foreign = true);
        }
    }

    /// Notes what else a write could write.
    #[inline]
    fn plan_other_choices(&mut self, e: EventId, request: &Request, old: u64) {
        if request.role == Role::Signal {
            let others = (1..request.alternatives(old)).map(|choice| Todo::Choice { event: e, choice });
            self.frame().todo.extend(others);
        }
    }

    /// Adds a store (line 20).
    #[inline]
    pub(super) fn store(&mut self, thread: ThreadId, request: &Request, loc: LocId) -> Result<Go, Over> {
        let access = &request.access;
        let AccessKind::Store { value } = access.kind else { return self.write(thread, request, loc, None) };
        let (order, value) = (access.order, truncate(value, access.size));
        debug_assert_eq!(request.written(thread, 0, 0), Some(value), "that is what it writes");
        let graph = &mut self.frames.top.graph;
        let last = graph.location(loc).co.last();
        let is_own = last.is_none_or(|&last| graph.event(last).thread == thread);
        let draft = graph.draft(thread, Kind::Write);
        let e = graph.add_write(Event { loc, value, order, part: request.part, ..draft });
        self.note_value(loc, value);
        // Under all models, a write stands behind the thread's own.
        debug_assert!(!is_own || self.has_one_place(e), "there is no other place for it");
        if !is_own && !self.writes_in_order() && !self.find_places(e, request) {
            return Ok(Go::Back);
        }
        self.note_news(e, None);
        self.plan_revisits(e, None);
        self.written(e, None)
    }

    /// Whether a store, the newest event, may stand nowhere but behind all other writes, and these come before it.
    fn has_one_place(&mut self, e: EventId) -> bool {
        let graph = self.graph();
        let last = graph.newest(graph.event(e).loc) - 1;
        let write = graph.location(graph.event(e).loc).write_at(last);
        (last == 0 || graph.porf(write, e)) && self.lower_bound(e) == last
    }

    /// Notes the places of a store, the newest event, that is behind all other writes. False if all starts again.
    #[inline(never)]
    fn find_places(&mut self, e: EventId, request: &Request) -> bool {
        let graph = self.graph();
        let loc = graph.event(e).loc;
        let newest = graph.newest(loc) - 1;
        let unordered = !graph.porf(graph.location(loc).write_at(newest), e);
        let lowest = self.lower_bound(e);
        // What a relaxed write comes from may still be behind it in coherence order.
        if unordered || lowest < newest {
            self.note_unordered(loc, request);
            if self.restart {
                return false;
            }
            self.plan_places(e, lowest, newest);
        }
        true
    }

    /// Adds a write (line 20). An exclusive one stands directly behind what its read, be it a phantom one, reads from.
    #[inline(never)]
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
        let e = graph.add_write(Event { loc, value, exclusive, locked, order, role, part: request.part, ..draft });
        self.note_value(loc, value);
        let graph = &mut self.frames.top.graph;
        // A read-modify-write of the coherence-last value comes after that, and stands where it is.
        let is_settled = source == Some(newest);
        let rival = source.filter(|_| !is_settled).and_then(|source| graph.successor_rmw(loc, source));
        // Two read-modify-writes of one value: only a revisit of the other one makes sense.
        let limit = rival.map(|rival| graph.event(rival).pred);
        if limit.is_none() && !is_settled && newest > 0 {
            let unordered = !graph.porf(graph.location(loc).write_at(newest), e);
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
        if let Some(read) = read.filter(|_| limit.is_none()) {
            self.note_exchange(loc, read);
        }
        self.plan_other_choices(e, request, old);
        self.note_news(e, rival);
        self.plan_revisits(e, limit);
        if limit.is_some() { Ok(Go::Back) } else { self.written(e, None) }
    }

    /// Notes the reads that a write revisits (line 24), up to `limit`.
    #[inline]
    pub(super) fn plan_revisits(&mut self, e: EventId, limit: Option<EventId>) {
        if self.schedules.is_none() && self.frames.top.graph.has_other_reads(e) {
            self.plan_revisits_up_to(e, limit, None);
        }
    }

    /// The same if it is known of what is newer than some read that it may be deleted, and none of it is revisited.
    #[inline(never)]
    pub(super) fn plan_revisits_up_to(&mut self, e: EventId, limit: Option<EventId>, newest: Option<EventId>) {
        let in_place = self.in_place(self.graph().event(e).loc);
        let frame = &mut self.frames.top;
        let (graph, todo) = (&frame.graph, &mut frame.todo);
        let scope = Scope { limit, newest, in_place, looked_at: self.composites.footprints() };
        backward::revisits(graph, e, scope, |read| todo.push(Todo::Back { write: e, read }));
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
        self.takes_effect(e, chosen)
    }

    /// The same once it has been looked at whether it races.
    #[inline(always)]
    fn takes_effect(&mut self, e: EventId, chosen: Option<(EventId, EventId)>) -> Result<Go, Over> {
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
        self.place_for(write, (position, older), None)
    }

    /// The same of the newest event, if what the read that it revisits belongs to may be known.
    fn place_for(
        &mut self,
        write: EventId,
        (position, older): (u32, Option<EventId>),
        known: Option<(EventId, &Request)>,
    ) -> Result<Go, Over> {
        let graph = &mut self.frames.top.graph;
        graph.place(write, position);
        let loc = graph.event(write).loc;
        let find = || graph.location(loc).reads().find(|&r| graph.event(r).rf == write);
        let revisited = known.map(|(read, _)| read).or_else(find);
        debug_assert_eq!(revisited, find(), "it is the only read of the write");
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
        // What the writer has done next may race with what the read is told of.
        self.catch_up()?;
        match known {
            Some((_, request)) => self.has_read(read, request),
            None => {
                let request = self.request_of(read);
                self.has_read(read, &request)
            }
        }
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
                return self.place_for(write, (source + 1, None), Some((read, &request)));
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

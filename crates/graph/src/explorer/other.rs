//! Events that are not accesses.

use super::{Explorer, Go, Todo};
use crate::ending;
use crate::event::{Event, EventId, Kind, SPURIOUS};
use crate::models::Model;
use crate::race;
use selvedge_ir::EntityRef;
use selvedge_machine::session::Over;
use selvedge_machine::{Addr, Machine, Op, Stop, ThreadId, Unsupported};

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// Adds an event that is not an access.
    pub(super) fn synchronise(&mut self, thread: ThreadId, op: &Op) -> Result<Go, Over> {
        let graph = &mut self.frames.top.graph;
        let event = match op {
            Op::Fence { order } => Event { order: *order, ..graph.draft(thread, Kind::Fence) },
            Op::Spawn { child } => Event { value: child.index() as u64, ..graph.draft(thread, Kind::Spawn) },
            Op::Join { thread: other } => Event { value: other.index() as u64, ..graph.draft(thread, Kind::Join) },
            Op::Choose { .. } => {
                let spurious = self.options.preemptions.is_some() && self.runner.machine.chooses_for_no_reason(thread);
                Event { choice: if spurious { SPURIOUS } else { 0 }, ..graph.draft(thread, Kind::Choose) }
            }
            Op::Free { addr, .. } => return self.free(thread, *addr),
            _ => return self.unsupported(thread, "an atomic section"),
        };
        let e = graph.add(event);
        graph.executed.push(e);
        if let Op::Choose { alternatives } = op {
            let others = (1..u64::from(*alternatives)).rev().map(|choice| Todo::Choice { event: e, choice });
            self.frame().todo.extend(others);
        }
        Ok(Go::On)
    }

    /// Another number is chosen, or another thread is woken.
    pub(super) fn choose(&mut self, event: EventId, choice: u64) -> Result<Go, Over> {
        self.cut_behind(event);
        if self.graph().event(event).is_write() {
            return self.signal_another(event, choice);
        }
        self.catch_up()?;
        let frame = self.frame();
        frame.graph.set_choice(event, choice);
        frame.graph.executed.push(event);
        Ok(if self.is_too_much(event) { Go::Back } else { Go::On })
    }

    /// The program does something that this engine cannot run.
    #[cold]
    pub(super) fn unsupported(&mut self, thread: ThreadId, what: &str) -> Result<Go, Over> {
        let feature =
            format!("{what} under the graph engine (`--engine trace` can run it, under sequential consistency)");
        let place = self.runner.machine.site(thread).span;
        self.stopped(Stop::Unsupported(Box::new(Unsupported { feature, place })))?;
        Ok(Go::Back)
    }

    /// The thread's Op is a violation: it does not go on.
    #[cold]
    pub(super) fn halt(&mut self, thread: ThreadId, stop: Stop) -> Result<Go, Over> {
        let graph = &mut self.frame().graph;
        let halt = graph.draft(thread, Kind::Halt);
        let e = graph.add(halt);
        graph.executed.push(e);
        self.stopped(stop)?;
        Ok(Go::On)
    }

    /// Ends the life of an object: whatever accessed it must happen before that, and so must what its owner did to it before
    /// others knew of it.
    fn free(&mut self, thread: ThreadId, addr: Addr) -> Result<Go, Over> {
        let memory = self.runner.machine.memory();
        let Some(id) = memory.find(addr).filter(|&id| memory.object(id).alive) else {
            let stop = self.runner.machine.free_fault(thread, addr);
            return self.halt(thread, stop);
        };
        let object = memory.object(id);
        let (base, size) = (object.base.0, object.size);
        let within = |(place, _): (Addr, u8)| place.0 >= base && place.0 < base + size;
        let graph = &mut self.frames.top.graph;
        let event = graph.draft(thread, Kind::Free);
        let e = graph.add(Event { value: addr.0, ..event });
        let places = &self.runner.places;
        let unordered = graph.ids().find(|&x| {
            let event = graph.event(x);
            event.is_access() && !event.phantom && within(places[event.loc.index()]) && !graph.hb(x, e)
        });
        let stop = if let Some(other) = unordered {
            Some(ending::race_with_free(&mut self.runner, graph, other, e))
        } else {
            let owner = race::race_with_owner(graph, e, addr, self.runner.machine.memory());
            let owner = owner.filter(|_| self.options.limits.data_races);
            owner.map(|owner| ending::race_with_owner(&mut self.runner, graph, owner, e))
        };
        if let Some(stop) = stop {
            graph.cut(e.index());
            self.runner.forget_from(graph.executed.len());
            return self.halt(thread, stop);
        }
        graph.executed.push(e);
        Ok(Go::On)
    }
}

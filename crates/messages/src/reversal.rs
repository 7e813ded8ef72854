//! What a race leads to: the sequence that reverses it (Alg. 1, ll. 5-10).
//!
//! | paper | here |
//! |---|---|
//! | `pre(E, e)` | the level of the event `e` |
//! | `notdep(e, E)` | events after `e` that do not happen after it, to the end of `E` |
//! | `notobs(e, e', E)` | events that happen after `e`, but are not the observer and do not happen after it |
//! | `v = notdep(e, E).ê'.ê.(notobs(e, e', E) \ ê').ô` | [`observed`], which does not put `ô` last; [`observed_store`] |
//! | `v = notdep(e, E).ê'` | [`unobserved`] |
//!
//! In `v` every event does what it did in `E`, but for one: the observer takes `e'` instead of `e`, or looks at what `e`
//! has stored and not at `e'`; a receive that took `e` times out; and of what else `e` has changed `e'` may find something
//! different. What comes of a look at a store, and the last, are found out by trying (`explorer.rs`), unless `e` has changed
//! nothing that `e'` depends on.

use crate::act::{Act, Action, Received};
use crate::dependence::{access, conflict_elsewhere, only_reads};
use crate::system::NONE;
use crate::trace::{EventId, Race, Trace};
use crate::weak_initials::{Planned, Sequence};
use crate::{Access, Machine};
use selvedge_ir::EntityRef;
use std::rc::Rc;

/// A sequence under construction.
pub struct Plan<M: Machine> {
    /// The sequence.
    pub v: Vec<Planned>,
    /// The last step, if it does something else than in the execution.
    pub revised: Option<Action<M>>,
    /// Per event of the execution, its position in `pre(E, e).v`.
    at: Vec<u32>,
    /// Events that come behind `e`, and whether they have to come before the observer.
    later: Vec<(EventId, bool)>,
}

impl<M: Machine> Default for Plan<M> {
    fn default() -> Plan<M> {
        Plan { v: Vec::new(), revised: None, at: Vec::new(), later: Vec::new() }
    }
}

impl<M: Machine> Plan<M> {
    fn clear(&mut self, trace: &Trace<M>) {
        self.v.clear();
        self.revised = None;
        self.at.resize(trace.len(), NONE);
    }

    /// Where an event of the execution is in the sequence, or in the prefix before it.
    fn position(&self, level: usize, event: u32) -> u32 {
        if event == NONE || (event as usize) < level { event } else { self.at[event as usize] }
    }

    fn push(&mut self, trace: &Trace<M>, level: usize, f: EventId) {
        let at = (level + self.v.len()) as u32;
        self.at[f.index()] = at;
        let source = self.position(level, trace.event(f).source);
        self.v.push(Planned { event: f.index() as u32, at, source });
    }

    /// Adds those of the later events that have to come before the observer, or the others.
    fn push_later(&mut self, trace: &Trace<M>, level: usize, before: bool) {
        for n in 0..self.later.len() {
            if self.later[n].1 == before {
                self.push(trace, level, self.later[n].0);
            }
        }
    }

    /// Adds those events behind `e`.
    #[inline]
    fn push_all(&mut self, trace: &Trace<M>, e: EventId, is_meant: impl Fn(EventId) -> bool) {
        for f in (e.index() + 1..trace.len()).map(EventId::new) {
            if is_meant(f) {
                self.push(trace, e.index(), f);
            }
        }
    }

    /// Replaces what the last step does.
    pub fn revise(&mut self, trace: &Trace<M>, act: Act<M>, choice: u32, source: u32) {
        let last = self.v.last_mut().expect("a sequence that reverses a race is not empty");
        let actor = trace.event(EventId::new(last.event as usize)).action.actor;
        self.revised = Some(Action { actor, choice, act: Some(Rc::new(act)) });
        last.event = NONE;
        last.source = source;
    }

    /// The sequence.
    pub fn sequence<'a>(&'a self, trace: &'a Trace<M>) -> Sequence<'a, M> {
        Sequence { trace, v: &self.v, revised: self.revised.as_ref() }
    }
}

/// Alg. 1, l. 8: the sequence for a race that is observed by `o`.
///
/// Of all equivalent sequences this is the one in which the observer comes as early as possible: who sleeps is woken soon.
pub fn observed<M: Machine>(trace: &Trace<M>, e: EventId, e2: EventId, o: EventId, plan: &mut Plan<M>) {
    let level = e.index();
    plan.clear(trace);
    // First what has to come before e' and o: of notdep(e, E), and of notobs(e, e', E) \ ê' behind e.
    plan.later.clear();
    for f in (level + 1..trace.len()).map(EventId::new) {
        if f == e2 || trace.happens_before(o, f) {
            continue;
        }
        let (after, before) = (trace.happens_before(e, f), trace.happens_before(f, o));
        if !after && (before || trace.happens_before(f, e2)) {
            plan.push(trace, level, f);
        } else {
            plan.later.push((f, before));
        }
    }
    plan.push(trace, level, e2);
    plan.push(trace, level, e);
    plan.push_later(trace, level, true);
    plan.push(trace, level, o);
    let source = plan.at[e2.index()];
    let taken = trace.event(e2).act().arrival.as_ref().map(|arrival| arrival.message.id);
    let act = trace.event(o).act();
    let received = act.received.as_ref().expect("the observer of a race is a receive");
    let choice = trace.event(o).action.choice;
    plan.revise(trace, with_taken(act, Received { taken, ..copy(received) }), choice, source);
    // Then what is left.
    plan.push_later(trace, level, false);
}

/// Alg. 1, l. 8: the sequence for a race of stores that is observed by `o`. What `o` does when it finds what `e` has stored
/// has to be tried.
pub fn observed_store<M: Machine>(machine: &M, trace: &Trace<M>, race: Race, plan: &mut Plan<M>) {
    let Race { e, e2, observer } = race;
    let o = observer.expect("the race is observed");
    let level = e.index();
    plan.clear(trace);
    plan.push_all(trace, e, |f| !trace.happens_before(e, f));
    plan.push(trace, level, e2);
    plan.push(trace, level, e);
    // Who looks at e' later than others do, but before it is overwritten, is an observer too. Whoever looks at something
    // newer happens after an observer.
    let store = trace.event(e2).act();
    let looks = |f: &EventId| access(machine, trace.event(*f).act(), store) == Access::Observes;
    let observers: Vec<EventId> = (e2.index() + 1..trace.len()).map(EventId::new).filter(looks).collect();
    let unaware = |f: EventId| !observers.iter().any(|&o| trace.happens_before(o, f));
    plan.push_all(trace, e, |f| f != e2 && trace.happens_before(e, f) && unaware(f));
    plan.push(trace, level, o);
}

/// How much is known of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// What every step does.
    All,
    /// The last step has to be tried: it may do something else, or may not be possible.
    AllButLast,
}

/// Alg. 1, l. 10: the sequence for a race that needs no observer.
pub fn unobserved<M: Machine>(machine: &M, trace: &Trace<M>, e: EventId, e2: EventId, plan: &mut Plan<M>) -> Known {
    let level = e.index();
    plan.clear(trace);
    plan.push_all(trace, e, |f| !trace.happens_before(e, f));
    plan.push(trace, level, e2);
    let (first, second) = (trace.event(e).act(), trace.event(e2).act());
    if trace.event(e2).source == level as u32 {
        let received = second.received.as_ref().expect("what takes a message is a receive");
        let choice = trace.event(e2).action.choice;
        plan.revise(trace, with_taken(second, Received { taken: None, ..copy(received) }), choice, NONE);
        return Known::All;
    }
    if !conflict_elsewhere(machine, trace.observers, first, second) || only_reads(first, second) {
        Known::All
    } else {
        Known::AllButLast
    }
}

fn copy<M: Machine>(received: &Received<M>) -> Received<M> {
    Received { accepts: received.accepts.clone(), ..*received }
}

/// A receive that takes something else; it does nothing more.
fn with_taken<M: Machine>(act: &Act<M>, received: Received<M>) -> Act<M> {
    Act::of(act.own, Some(received))
}

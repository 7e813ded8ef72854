//! The present execution: its events, who took what, happens-before, races.
//!
//! Whether two arrivals or two stores depend on each other is known when the execution is over (`dependence.rs`), and may
//! differ from what it was in an execution with another suffix: an arrival of the shared prefix may be taken by another
//! receive, or by none, and a store may be looked at or not. So clocks and races are computed at the end, from the first
//! event on for which something has changed.
//!
//! | paper | here |
//! |---|---|
//! | `E` | [`Trace`] |
//! | `e →_E e'` | [`Trace::happens_before`]: vector clocks |
//! | `e ≲_E e'` | [`Race`]: `e → e'` with no other event between, by different actors, and not just an order that must be |
//! | `observers(e, e', E)` of arrivals | the receive that took what `e` has brought: at most one |
//! | `observers(e, e', E)` of stores | the operations that looked at what `e'` has stored before it was overwritten: the first of them is kept |

use crate::act::{Act, Action, NEVER, Received, Special};
use crate::dependence::{access, conflict, is_store, observed, overwrite_each_other};
use crate::roster::Actor;
use crate::system::NONE;
use crate::{Access, Machine};
use selvedge_ir::{EntityRef, entity};
use std::rc::Rc;

entity! {
    /// An event of the present execution.
    EventId, "e"
}

/// An event.
pub struct Event<M: Machine> {
    /// The step.
    pub action: Action<M>,
    /// How many events of this actor there are up to this one.
    pub index: u32,
    /// The actor's event before; [`NONE`] if there is none.
    pub previous: u32,
    /// Another event that had to come first (see [`crate::system::Stepped::cause`]).
    pub cause: u32,
    /// The event that has brought what it received.
    pub source: u32,
    /// Whose mailbox it has brought something to; [`NONE`] if it has not.
    mailbox: u32,
    /// Whose receive timed out in it; [`NONE`] if it is none.
    missed: u32,
    /// What else it is about.
    special: Special,
}

impl<M: Machine> Event<M> {
    /// What it has done.
    #[inline]
    pub fn act(&self) -> &Rc<Act<M>> {
        self.action.act.as_ref().expect("what has been executed is known")
    }
}

/// Two events that could be swapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// The first.
    pub e: EventId,
    /// The second.
    pub e2: EventId,
    /// Who can tell; nobody is needed if none.
    pub observer: Option<EventId>,
}

/// A store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Store {
    /// Which event it is.
    at: u32,
    /// The first event that had to do with what it has stored; [`NONE`] as long as there is none.
    next: u32,
    /// Whether that has looked at it: the observer.
    observed: bool,
}

/// An execution.
pub struct Trace<M: Machine> {
    /// Whether arrivals and stores conflict only if observed.
    pub observers: bool,
    events: Vec<Event<M>>,
    /// Per actor, its newest event.
    newest: Vec<u32>,
    width: usize,
    clocks: Vec<u32>,
    races: Vec<Race>,
    /// Per event, where its races start.
    races_from: Vec<u32>,
    /// Per arrival, the receive that took it.
    takers: Vec<u32>,
    /// Per arrival, which receives could take it: those with numbers below.
    limits: Vec<u32>,
    /// The stores, and what has become of them.
    stores: Vec<Store>,
    /// What has become of which of them, and since which event.
    fates: Vec<(u32, u32)>,
    /// Clocks and races of so many events are those of the present execution.
    ordered: usize,
}

impl<M: Machine> Trace<M> {
    /// No events.
    pub fn new(observers: bool) -> Trace<M> {
        Trace {
            observers,
            events: Vec::new(),
            newest: Vec::new(),
            width: 0,
            clocks: Vec::new(),
            races: Vec::new(),
            races_from: Vec::new(),
            takers: Vec::new(),
            limits: Vec::new(),
            stores: Vec::new(),
            fates: Vec::new(),
            ordered: 0,
        }
    }

    /// How many events there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// All events.
    #[inline]
    pub fn events(&self) -> &[Event<M>] {
        &self.events
    }

    /// An event.
    #[inline]
    pub fn event(&self, e: EventId) -> &Event<M> {
        &self.events[e.index()]
    }

    /// Adds an event.
    pub fn push(&mut self, machine: &M, action: Action<M>, cause: u32, source: u32) {
        let actor = action.actor.index();
        if self.newest.len() <= actor {
            self.newest.resize(actor + 1, NONE);
        }
        let at = self.events.len() as u32;
        let previous = std::mem::replace(&mut self.newest[actor], at);
        let index = if previous == NONE { 1 } else { self.events[previous as usize].index + 1 };
        let act = action.act.as_ref().expect("what has been executed is known");
        self.limits.push(act.arrival.as_ref().map_or(NEVER, |arrival| arrival.limit));
        self.takers.push(NONE);
        if source != NONE {
            let nth = act.received.as_ref().map_or(0, |received| received.nth);
            self.taken(source, at, nth + 1);
        }
        if let Some(flush) = act.flush()
            && let Some(arrival) = self.arrival_of(flush.monitor)
            && self.takers[arrival] == NONE
        {
            self.taken(arrival as u32, NONE, flush.limit);
        }
        let mailbox = act.mailbox().map_or(NONE, |pid| pid.index() as u32);
        let missed = act.received.as_ref().filter(|received| received.taken.is_none());
        let missed = missed.map_or(NONE, |received| received.by.index() as u32);
        let special = act.special();
        if self.observers && act.effect().is_some() {
            let act = Rc::clone(act);
            self.note_stores(machine, &act, at);
        }
        self.events.push(Event { action, index, previous, cause, source, mailbox, missed, special });
    }

    /// Notes who has taken an arrival.
    fn taken(&mut self, arrival: u32, taker: u32, limit: u32) {
        self.takers[arrival as usize] = taker;
        self.limits[arrival as usize] = limit;
        self.ordered = self.ordered.min(arrival as usize);
    }

    /// Notes which stores an event is the first to look at, or to overwrite, and whether it is one.
    fn note_stores(&mut self, machine: &M, act: &Act<M>, at: u32) {
        for n in 0..self.stores.len() {
            let store = self.stores[n];
            if store.next != NONE {
                continue;
            }
            let found = access(machine, act, self.events[store.at as usize].act());
            if found != Access::Apart {
                let observed = found == Access::Observes;
                self.stores[n] = Store { next: at, observed, ..store };
                self.fates.push((at, n as u32));
                if observed {
                    self.ordered = self.ordered.min(store.at as usize);
                }
            }
        }
        if is_store(machine, act) {
            self.stores.push(Store { at, next: NONE, observed: false });
        }
    }

    /// Forgets what the event at the end has done to stores.
    fn forget_stores(&mut self, at: u32) {
        self.stores.pop_if(|store| store.at == at);
        while let Some((_, n)) = self.fates.pop_if(|(by, _)| *by == at) {
            let store = &mut self.stores[n as usize];
            if store.observed {
                self.ordered = self.ordered.min(store.at as usize);
            }
            *store = Store { at: store.at, next: NONE, observed: false };
        }
    }

    /// The first event that has looked at what a store has written.
    fn observer_of_store(&self, e: usize) -> Option<u32> {
        let n = self.stores.binary_search_by_key(&(e as u32), |store| store.at).ok()?;
        Some(self.stores[n]).filter(|store| store.observed).map(|store| store.next)
    }

    /// The arrival of what a monitor has sent.
    fn arrival_of(&self, monitor: crate::Ref) -> Option<usize> {
        self.events.iter().rposition(|event| {
            event.act().arrival.as_ref().is_some_and(
                |arrival| matches!(arrival.message.content, crate::Content::Down { reference, .. } if reference == monitor),
            )
        })
    }

    /// Takes the newest event back.
    pub fn pop(&mut self) -> Action<M> {
        let event = self.events.pop().expect("there is an event to take back");
        self.newest[event.action.actor.index()] = event.previous;
        self.takers.pop();
        self.limits.pop();
        self.ordered = self.ordered.min(self.events.len());
        self.forget_stores(self.events.len() as u32);
        if event.source != NONE {
            self.taken(event.source, NONE, NEVER);
        }
        if let Some(flush) = event.act().flush()
            && let Some(arrival) = self.arrival_of(flush.monitor)
            && self.takers[arrival] == NONE
        {
            self.taken(arrival as u32, NONE, NEVER);
        }
        event.action
    }

    /// The newest actor that made a step.
    pub fn last_actor(&self) -> Option<Actor> {
        self.events.last().map(|event| event.action.actor)
    }

    /// Computes clocks and races of the execution.
    pub fn order(&mut self, machine: &M, actors: usize) {
        if actors > self.width {
            self.width = actors;
            self.ordered = 0;
        }
        let from = self.ordered;
        self.clocks.truncate(from * self.width);
        self.races.truncate(self.races_from.get(from).map_or(self.races.len(), |&n| n as usize));
        self.races_from.truncate(from);
        for at in from..self.events.len() {
            self.races_from.push(self.races.len() as u32);
            self.order_event(machine, at);
        }
        self.ordered = self.events.len();
    }

    fn order_event(&mut self, machine: &M, at: usize) {
        let width = self.width;
        self.clocks.resize((at + 1) * width, 0);
        let event = &self.events[at];
        let (actor, index, previous, cause, source) =
            (event.action.actor.index(), event.index, event.previous, event.cause, event.source);
        let waits = event.act().received.as_ref().is_some_and(|received| !received.timeout);
        self.join(at, previous);
        self.join(at, cause);
        if waits {
            self.join(at, source);
        }
        self.clocks[at * width + actor] = index;
        // From the newest on: what happens before something that was joined is no race of its own.
        for e in (0..at).rev() {
            let older = &self.events[e];
            if self.clocks[at * width + older.action.actor.index()] >= older.index {
                continue;
            }
            let observer = match self.depends(machine, e, at) {
                Dependent::No => continue,
                Dependent::Yes => None,
                Dependent::Observed(observer) => Some(EventId::new(observer as usize)),
            };
            self.races.push(Race { e: EventId::new(e), e2: EventId::new(at), observer });
            self.join(at, e as u32);
        }
    }

    /// Everything that happens before `e`, and `e`, happens before the event at the end of the clocks.
    fn join(&mut self, at: usize, e: u32) {
        if e == NONE {
            return;
        }
        let (older, clock) = self.clocks.split_at_mut(at * self.width);
        let older = &older[e as usize * self.width..][..self.width];
        clock.iter_mut().zip(older).for_each(|(a, b)| *a = (*a).max(*b));
    }

    /// Whether two events depend on each other, and who can tell.
    fn depends(&self, machine: &M, e: usize, f: usize) -> Dependent {
        let (older, newer) = (&self.events[e], &self.events[f]);
        if newer.source == e as u32 {
            return Dependent::Yes;
        }
        let same_mailbox = newer.mailbox != NONE && (older.mailbox == newer.mailbox || older.missed == newer.mailbox);
        let special = older.special.looks || newer.special.looks || (older.special.touches && newer.special.touches);
        if !same_mailbox && !special {
            return Dependent::No;
        }
        let (a, b) = (&**older.act(), &**newer.act());
        if conflict(machine, self.observers, (a, self.limits[e]), (b, self.limits[f])) {
            return Dependent::Yes;
        }
        if self.observers && special && overwrite_each_other(machine, a, b) {
            return self.observer_of_store(f).map_or(Dependent::No, Dependent::Observed);
        }
        match self.taker(e) {
            Some((taker, received)) if observed(machine, received, b, self.limits[f]) => Dependent::Observed(taker),
            _ => Dependent::No,
        }
    }

    /// The receive that took what an event has brought.
    fn taker(&self, e: usize) -> Option<(u32, &Received<M>)> {
        let taker = self.takers[e];
        let received = self.events.get(taker as usize)?.act().received.as_ref()?;
        Some((taker, received))
    }

    /// Whether `e` happens before `f`, or is `f`. After [`Trace::order`].
    #[inline]
    pub fn happens_before(&self, e: EventId, f: EventId) -> bool {
        let event = self.event(e);
        self.clocks[f.index() * self.width + event.action.actor.index()] >= event.index
    }

    /// All races. After [`Trace::order`].
    pub fn races(&self) -> &[Race] {
        &self.races
    }
}

enum Dependent {
    No,
    Yes,
    Observed(u32),
}

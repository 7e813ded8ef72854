//! Where a thread may be stopped, if only what takes preemptions counts.
//!
//! Most events take place as soon as their thread comes to them, and make no difference to anybody who waits. What is left are
//! *stops*: the first event of a thread, events that depend on other threads, events at which a thread waits or may let others go
//! first, and events that make a difference to those who wait.

use super::{Done, Part, Scope, depends_on_others, is_among, let_go_by, source, was_passed_over};
use crate::event::{Event, EventId, INIT, Kind, LocId};
use crate::graph::Graph;
use selvedge_ir::EntityRef;
use selvedge_machine::ThreadId;
use smallvec::SmallVec;

/// An event, as how many stops its thread has passed when it has taken place.
pub type Place = (usize, u16);

/// When a thread that comes to a stop too early waits there.
#[derive(Clone, Copy, Debug)]
pub enum Waits {
    Never,
    /// Whenever it comes too early.
    Always,
    /// As long as this has not taken place.
    For(Place),
    /// The same, but it would not wait if it found the value with which it goes on, be it another write's: then it
    /// makes room although it need not. The number is that of a location in `Stops::written`.
    ForValue(Place, usize, u64),
}

/// An event at which a thread may stop, before it takes place.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    pub waits: Waits,
    pub yields: bool,
    /// Whether there may be somebody who waits, and to whom it makes a difference.
    pub concerns: bool,
    /// If those wait for a lock, the number of that lock.
    pub lock: Option<u8>,
    /// Which locks the thread holds when it has come there, as bits.
    pub held: u64,
}

/// The stops of all threads.
pub struct Stops {
    pub threads: usize,
    pub stops: Vec<Stop>,
    /// Where the stops of each thread begin, and where the last ones end.
    pub first: SmallVec<[usize; 9]>,
    /// For every stop, how many stops of each thread have to be passed before it takes place.
    pub needs: Vec<u16>,
    /// For every stop, the last stop of each thread at which somebody waits to whom it makes a difference.
    pub concerned: Vec<u16>,
    /// Locations for whose values threads wait: the initial value, and the writes in coherence order.
    pub written: Vec<(u64, Vec<(Place, u64)>)>,
}

impl Stops {
    /// The number of a stop of a thread among all.
    pub fn number(&self, thread: usize, stop: u16) -> usize {
        self.first[thread] + usize::from(stop)
    }
}

/// What has to be known of a part of a graph to find its stops.
struct Builder<'a> {
    graph: &'a Graph,
    part: &'a Done,
    scope: Scope,
    /// Events behind the part at which threads are held up, and the writes for which they have to wait.
    held_up: &'a [(EventId, EventId)],
    in_order: bool,
    /// Writes behind which a thread makes room for one that they let go.
    lets_go: Vec<bool>,
    /// Events that make a difference to others at which a thread may wait, with these.
    concerns: Vec<(EventId, EventId)>,
    /// Which events are such that a thread that waits there goes on if it finds some value.
    for_value: Vec<bool>,
    /// Locations of which it is known whether their writes come one after the other.
    chains: SmallVec<[(LocId, bool); 8]>,
    /// Which events are stops.
    is_stop: Vec<bool>,
    /// How many stops a thread has passed when an event has taken place.
    passed: Vec<u16>,
}

/// The stops of so many events of each thread.
pub fn stops(graph: &Graph, (part, scope, held_up): Part<'_>, in_order: bool) -> Stops {
    let (is_stop, passed) = (vec![false; graph.len()], vec![0; graph.len()]);
    let mut lets_go = vec![false; graph.len()];
    if scope == Scope::OnTheWay {
        graph.ids().filter_map(|e| let_go_by(graph, e)).for_each(|write| lets_go[write.index()] = true);
    }
    let mut builder = Builder {
        graph,
        part,
        scope,
        held_up,
        in_order,
        lets_go,
        concerns: Vec::new(),
        for_value: vec![false; graph.len()],
        chains: SmallVec::new(),
        is_stop,
        passed,
    };
    builder.find();
    builder.build()
}

impl Builder<'_> {
    /// The events of a thread that take place. A read that waits for what nobody has written does not.
    fn events(&self, thread: usize) -> &[EventId] {
        let is_held_up = self.held_up.iter().any(|&(e, _)| self.graph.event(e).thread.index() == thread);
        let events = &self.graph.thread(ThreadId::new(thread))[..self.part[thread] as usize + usize::from(is_held_up)];
        let waits = events.last().is_some_and(|&last| self.graph.event(last).blocked);
        &events[..events.len() - usize::from(waits)]
    }

    /// Whether a thread was passed over at an event, and makes room there.
    fn was_passed_over(&self, e: EventId) -> bool {
        self.scope == Scope::OnTheWay && was_passed_over(self.graph, e)
    }

    /// Whether a thread may let others go first before an event.
    fn yields(&self, event: &Event) -> bool {
        event.yields || event.index > 1 && self.lets_go[event.pred.index()]
    }

    /// Finds out which events are stops, and numbers them.
    fn find(&mut self) {
        let mut waiting: SmallVec<[EventId; 16]> = SmallVec::new();
        for thread in 0..self.graph.thread_limit() {
            let graph = self.graph;
            for &e in &graph.thread(ThreadId::new(thread))[..self.part[thread] as usize] {
                let event = graph.event(e);
                let depends = depends_on_others(graph, event);
                self.is_stop[e.index()] |=
                    event.index == 1 || self.yields(event) || depends || self.in_order && event.is_access();
                let waits = event.kind == Kind::Join || event.waits && !event.blocked || self.was_passed_over(e);
                if waits && depends {
                    self.for_value[e.index()] = self.waits_for_value(e, event);
                    self.add_waiting(e, event, &mut waiting);
                }
            }
        }
        self.held_up.iter().for_each(|&(e, _)| self.is_stop[e.index()] = true);
        for e in waiting {
            self.add_concerns(e, self.graph.event(e));
        }
        for thread in 0..self.graph.thread_limit() {
            let mut count = 0;
            for &e in self.graph.thread(ThreadId::new(thread)) {
                count += u16::from(self.is_stop[e.index()]);
                self.passed[e.index()] = count;
            }
        }
    }

    /// Adds an event at which a thread may wait. Of those that are alike, only the last counts: what makes a difference to others does so
    /// to that one.
    fn add_waiting(&self, e: EventId, event: &Event, waiting: &mut SmallVec<[EventId; 16]>) {
        let what = |event: &Event| (event.thread, event.loc, event.value, event.exclusive);
        let is_alike = |other: &&mut EventId| {
            self.for_value[other.index()] && self.for_value[e.index()] && what(self.graph.event(**other)) == what(event)
        };
        match waiting.iter_mut().find(is_alike) {
            Some(other) => *other = e,
            None => waiting.push(e),
        }
    }

    /// Finds the events that make a difference to one at which a thread may wait.
    fn add_concerns(&mut self, e: EventId, event: &Event) {
        if !self.for_value[e.index()] {
            source(self.graph, event).into_iter().for_each(|source| self.add_concern(source, e, event));
            return;
        }
        // If writes come one after the other, nothing is written while a thread is about to write. Who comes there and finds
        // what it goes on with does not wait, so it makes no difference.
        self.look_at_chain(event.loc);
        let is_chain = self.is_chain(event.loc);
        for &write in &self.graph.location(event.loc).co {
            if !is_chain || self.overwritten(write) != event.value {
                self.add_concern(write, e, event);
            }
        }
    }

    /// Whether the writes of a location come one after the other.
    fn is_chain(&self, loc: LocId) -> bool {
        self.chains.contains(&(loc, true))
    }

    /// Finds that out, if it is not known.
    fn look_at_chain(&mut self, loc: LocId) {
        if !self.chains.iter().any(|&(known, _)| known == loc) {
            let is_chain = self.graph.location(loc).co.windows(2).all(|pair| self.graph.porf(pair[0], pair[1]));
            self.chains.push((loc, is_chain));
        }
    }

    fn add_concern(&mut self, x: EventId, e: EventId, event: &Event) {
        if self.graph.event(x).thread != event.thread && is_among(self.graph, x, self.part) {
            self.is_stop[x.index()] = true;
            self.concerns.push((x, e));
        }
    }

    fn place(&self, e: EventId) -> Place {
        (self.graph.event(e).thread.index(), self.passed[e.index()])
    }

    fn build(self) -> Stops {
        let threads = self.graph.thread_limit();
        let mut all = Stops {
            threads,
            stops: Vec::with_capacity(64),
            first: SmallVec::new(),
            needs: Vec::with_capacity(64 * threads),
            concerned: Vec::new(),
            written: Vec::new(),
        };
        let mut locations: SmallVec<[LocId; 8]> = SmallVec::new();
        for thread in 0..threads {
            all.first.push(all.stops.len());
            for &e in self.events(thread).iter().filter(|e| self.is_stop[e.index()]) {
                // What stands for an event that is held up is no part of what is looked at.
                let (waits, yields) = match is_among(self.graph, e, self.part) {
                    true => (self.waits(e, &mut locations), self.yields(self.graph.event(e))),
                    false => (Waits::Never, false),
                };
                all.stops.push(Stop { waits, yields, concerns: false, lock: None, held: 0 });
                let begin = all.needs.len();
                all.needs.resize(begin + threads, 0);
                self.add_needs(e, &mut all.needs[begin..]);
            }
        }
        all.first.push(all.stops.len());
        all.concerned.resize(all.needs.len(), 0);
        for &(e, waiting) in &self.concerns {
            let ((owner, count), (thread, passed)) = (self.place(e), self.place(waiting));
            let number = all.number(owner, count - 1);
            all.stops[number].concerns = true;
            let last = &mut all.concerned[number * threads + thread];
            *last = (passed - 1).max(*last);
        }
        self.find_locks(&mut all);
        let writes = |&loc: &LocId| {
            let co = self.graph.location(loc).co.iter().filter(|&&w| is_among(self.graph, w, self.part));
            (self.graph.written(loc, INIT), co.map(|&w| (self.place(w), self.graph.written(loc, w))).collect())
        };
        all.written = locations.iter().map(writes).collect();
        all
    }

    /// Finds out which locks threads hold. What counts as one is a location with a value that keeps others from exchanging it.
    fn find_locks(&self, all: &mut Stops) {
        let mut locks: SmallVec<[(LocId, u64); 8]> = SmallVec::new();
        let mut others: SmallVec<[EventId; 8]> = SmallVec::new();
        for &(e, waiting) in &self.concerns {
            let event = self.graph.event(waiting);
            let lock = || (event.loc, self.overwritten(e));
            if !(event.exclusive && self.for_value[waiting.index()] && self.is_chain(event.loc)) {
                others.push(e);
            } else if locks.len() < 64 && !locks.contains(&lock()) {
                locks.push(lock());
            }
        }
        for thread in 0..all.threads {
            // Where the thread gives each lock back next, and when it has taken it.
            let mut next: SmallVec<[u32; 8]> = SmallVec::from_elem(u32::MAX, locks.len());
            let events = self.events(thread).iter().rev().filter(|e| self.is_stop[e.index()]);
            for (stop, &e) in all.stops[all.first[thread]..all.first[thread + 1]].iter_mut().rev().zip(events) {
                let event = self.graph.event(e);
                let lock = || locks.iter().position(|&lock| lock == (event.loc, self.overwritten(e)));
                stop.lock = if stop.concerns && !others.contains(&e) { lock().map(|lock| lock as u8) } else { None };
                let is_held = |&(lock, taken): &(usize, u32)| taken < event.index || stop.lock == Some(lock as u8);
                if let Some(lock) = stop.lock {
                    next[usize::from(lock)] = self.taken_at(e);
                }
                stop.held = next.iter().copied().enumerate().filter(is_held).map(|(lock, _)| 1 << lock).sum();
            }
        }
    }

    /// The write that a write overwrites.
    fn before(&self, write: EventId) -> EventId {
        let event = self.graph.event(write);
        debug_assert!(event.is_write(), "those who wait for a value are concerned by writes");
        (event.co as usize).checked_sub(2).map_or(INIT, |n| self.graph.location(event.loc).co[n])
    }

    /// The value that a write overwrites.
    fn overwritten(&self, write: EventId) -> u64 {
        self.graph.written(self.graph.event(write).loc, self.before(write))
    }

    /// When a thread has written what it overwrites, if it has.
    fn taken_at(&self, write: EventId) -> u32 {
        let before = Some(self.before(write)).filter(|before| before.is_event()).map(|before| self.graph.event(before));
        before.filter(|before| before.thread == self.graph.event(write).thread).map_or(u32::MAX, |before| before.index)
    }

    /// When a thread waits that comes to an event too early.
    fn waits(&self, e: EventId, locations: &mut SmallVec<[LocId; 8]>) -> Waits {
        let event = self.graph.event(e);
        if self.was_passed_over(e) {
            return Waits::Always;
        }
        if event.kind != Kind::Join && !event.waits || !depends_on_others(self.graph, event) {
            return Waits::Never;
        }
        let place = source(self.graph, event).map_or((0, 0), |source| self.place(source));
        if !self.for_value[e.index()] {
            return Waits::For(place);
        }
        let known = locations.iter().position(|&loc| loc == event.loc);
        let location = known.unwrap_or_else(|| {
            locations.push(event.loc);
            locations.len() - 1
        });
        Waits::ForValue(place, location, event.value)
    }

    /// Whether a thread that comes to an event at which it waits would go on if it found some value there. Of a part of a graph, that is
    /// not known where somebody whose step is left out may have been the reason why it had to wait.
    fn waits_for_value(&self, e: EventId, event: &Event) -> bool {
        event.kind != Kind::Join
            && !event.composite
            && !self.was_passed_over(e)
            && (self.scope == Scope::Execution || self.takes_lock(e))
    }

    /// Whether an event comes before or after every write to its location, as those that take a lock do: who else has written there
    /// before it is part of whatever it is part of.
    fn takes_lock(&self, e: EventId) -> bool {
        let event = self.graph.event(e);
        let is_ordered = |&w: &EventId| self.graph.porf(w, e) || self.graph.porf(e, w);
        event.exclusive && self.graph.location(event.loc).co.iter().all(is_ordered)
    }

    /// What has to take place before an event does, but for its own thread's.
    fn add_needs(&self, e: EventId, needs: &mut [u16]) {
        let event = self.graph.event(e);
        let mut add = |x: EventId| {
            let (thread, count) = self.place(x);
            if thread != event.thread.index() {
                needs[thread] = count.max(needs[thread]);
            }
        };
        if !is_among(self.graph, e, self.part) {
            self.held_up.iter().filter(|&&(other, _)| other == e).for_each(|&(_, write)| add(write));
            return;
        }
        source(self.graph, event).into_iter().for_each(&mut add);
        if event.pred.is_event() {
            add(event.pred);
        }
        if self.in_order {
            self.before_in_order(e, event).filter(|&x| is_among(self.graph, x, self.part)).for_each(add);
        }
    }

    /// What has to take place before an event under SC: the writes that its own overwrites, and the reads of these. A
    /// read-modify-write does not stop in the middle.
    fn before_in_order(&self, e: EventId, event: &Event) -> impl Iterator<Item = EventId> {
        let write = if event.kind == Kind::Write { Some(e) } else { self.graph.write_of(e) };
        let location = event.is_access().then(|| self.graph.location(event.loc));
        write.zip(location).into_iter().flat_map(move |(write, location)| {
            let position = self.graph.position(write);
            let reads = location.reads().filter(move |&r| {
                let read = self.graph.event(r);
                !read.blocked && !read.reads_nothing() && self.graph.position_of(read.rf) < position
            });
            location.co[..position as usize - 1].iter().copied().chain(reads)
        })
    }
}

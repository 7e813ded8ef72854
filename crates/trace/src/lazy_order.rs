//! Happens-before with observers (Optimal DPOR with Observers, Sec. 4 and Sec. 6, "Observers in Nidhugg").
//!
//! Two stores of the same bytes are ordered only if one of them is read. So the order of an execution is known when the
//! execution is over, and it may differ from the order that the same events had in an execution with another suffix:
//! clocks and races are computed at the end. They are kept up to the first event for which something has changed: that is
//! new, or a store that is now read and was not, or the other way round.
//!
//! | paper | here |
//! |---|---|
//! | `observers(e, e', E)` | the events that read the store `e'`: `Trace::reads_of` |
//! | "observed" flag | `observer[e']`: the first event that reads `e'` |
//! | `notobs(e, e', E)` | `notobs` |
//!
//! A store `e` that is read by `R` and overwritten by `e'` needs no rule: `R` reads what `e'` writes, so `e -> R -> e'`.
//! What remains is the case in which the second store is read: then every older store of these bytes is ordered before
//! it, up to the newest one that was itself read (which the older ones are ordered before).

use crate::action::{Action, Dependence, Footprint, access_footprint, overlap};
use crate::byte_range::Range;
use crate::reversal::notdep;
use crate::trace::{Event, EventId, NONE, Race, Trace};
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, AccessKind, Op};
use smallvec::SmallVec;

/// What is known of the execution before.
#[derive(Default)]
pub(crate) struct Known {
    /// For every event, the first event that reads what it wrote.
    observer: Vec<u32>,
    /// Who was noted as an observer, and of what, in the order of the observers.
    log: Vec<(u32, u32)>,
    /// The reads of so many events have been noted.
    noted: usize,
    /// The clocks and races of so many events are those of the present execution.
    ordered: usize,
}

impl Known {
    /// Events from this position on are taken back.
    #[inline]
    pub(crate) fn taken_back(&mut self, length: usize) {
        self.noted = self.noted.min(length);
        self.ordered = self.ordered.min(length);
        while let Some((_, write)) = self.log.pop_if(|(reader, _)| *reader as usize >= length) {
            self.observer[write as usize] = NONE;
            self.ordered = self.ordered.min(write as usize);
        }
        self.observer.truncate(length);
    }
}

impl Trace {
    /// Computes the clocks and races of the trace.
    pub fn order_lazily(&mut self) {
        self.note_observers();
        let from = self.known.ordered;
        if let Some(event) = self.events.get(from) {
            self.races.truncate(event.races as usize);
            self.clocks.truncate(from * self.width);
        }
        for id in from..self.events.len() {
            self.events[id].races = self.races.len() as u32;
            let event = self.events[id];
            let id = id as u32;
            self.restart_clock(&event);
            self.add_edges(&event.op, event.woken_by.map(|e| e.index() as u32), id);
            if event.may_block() {
                self.races.push(Race::MayBlock(EventId::new(id as usize)));
            }
            if event.action.footprint != Footprint::Nothing {
                self.order_after_conflicts(&event, id);
            }
        }
        self.known.ordered = self.events.len();
    }

    /// For every store, the first event that reads it.
    fn note_observers(&mut self) {
        let mut known = std::mem::take(&mut self.known);
        known.observer.resize(self.events.len(), NONE);
        for e in (known.noted..self.events.len()).map(EventId::new) {
            for access in self.exposed_reads(e) {
                let Some(write) = self.newest_write(e, access.addr.0, u32::from(access.size)) else { continue };
                let first = &mut known.observer[write.index()];
                if *first == NONE {
                    *first = e.index() as u32;
                    known.log.push((e.index() as u32, write.index() as u32));
                    known.ordered = known.ordered.min(write.index());
                }
            }
        }
        known.noted = self.events.len();
        self.known = known;
    }

    /// The newest event before `e` that writes some of these bytes; none if they are dead.
    fn newest_write(&self, e: EventId, addr: u64, len: u32) -> Option<EventId> {
        let writes = |f: &EventId| {
            let overlaps = |access: &Access| overlap(addr, len, access.addr.0, u32::from(access.size));
            self.accesses(*f).any(|(access, done)| done.new.is_some() && overlaps(access))
        };
        if let Some(mut chain) = self.chain_before(e) {
            return chain.find(writes);
        }
        let older = (0..e.index()).rev().map(EventId::new);
        older.take_while(|f| !self.frees(*f, addr, len)).find(writes)
    }

    /// Whether an event ends the life of some of these bytes.
    fn frees(&self, f: EventId, addr: u64, len: u32) -> bool {
        matches!(self.event(f).op, Op::Free { addr: start, size } if overlap(addr, len, start.0, size as u32))
    }

    fn order_after_conflicts(&mut self, event: &Event, id: u32) {
        if self.chain_before(EventId::new(id as usize)).is_none() {
            self.order_plain(event, id);
        } else if self.check_chains {
            let (at, known) = (id as usize * self.width, self.races.len());
            let start: Vec<u32> = self.clocks[at..].to_vec();
            self.order_chained(event, id);
            let (clock, races) = (self.clocks[at..].to_vec(), self.races.split_off(known));
            self.clocks[at..].copy_from_slice(&start);
            self.order_plain(event, id);
            assert_eq!(self.clocks[at..], clock[..], "chains give the clock of {event:?}");
            assert_eq!(self.races[known..], races[..], "chains give the races of {event:?}");
        } else {
            self.order_chained(event, id);
        }
    }

    /// The plain version: looks at every older event.
    fn order_plain(&mut self, event: &Event, id: u32) {
        for e in (0..id).rev() {
            let older = &self.events[e as usize];
            let footprint = older.action.footprint;
            if !self.is_known(older, id)
                && self.dependence.conflict(&footprint, &event.action.footprint)
                && !self.is_unnoticed(&footprint, event, id)
            {
                self.order_after(e, &footprint, event, id);
            }
        }
    }

    /// The fast version: walks the chain of the bytes that are accessed. It ends at a write of all bytes of `e'` that every
    /// older access to them is ordered before: not at a store that nobody reads, nor at one that commutes with others.
    fn order_chained(&mut self, event: &Event, id: u32) {
        let range = Range::of(&event.action.footprint);
        let (granule, mut e) = event.first_link();
        while e != NONE {
            let older = &self.events[e as usize];
            let (next, footprint) = (older.link(granule), older.action.footprint);
            let older_range = Range::of(&footprint);
            let own = older.action.thread == event.action.thread;
            if (range.writes || older_range.writes)
                && range.overlaps(&older_range)
                && (own || self.dependence.conflict(&footprint, &event.action.footprint))
                && !self.is_unnoticed(&footprint, event, id)
            {
                if !own && !self.is_known(older, id) {
                    self.order_after(e, &footprint, event, id);
                }
                let orders_all = match footprint {
                    Footprint::Store { addr, .. } => {
                        self.dependence.is_hard(addr) || self.known.observer[e as usize] != NONE
                    }
                    footprint => !matches!(footprint, Footprint::Commute { .. }),
                };
                if orders_all && older_range.covers(&range) {
                    return;
                }
            }
            e = next;
        }
    }

    /// Whether two stores are not ordered because nobody reads the second.
    #[inline]
    fn is_unnoticed(&self, older: &Footprint, event: &Event, id: u32) -> bool {
        self.known.observer[id as usize] == NONE && self.dependence.is_soft(older, &event.action.footprint)
    }

    fn order_after(&mut self, e: u32, older: &Footprint, event: &Event, id: u32) {
        let (first, second) = (EventId::new(e as usize), EventId::new(id as usize));
        let race = match self.known.observer[id as usize] {
            o if o != NONE && self.dependence.is_soft(older, &event.action.footprint) => {
                Race::Observed(first, second, EventId::new(o as usize))
            }
            _ => Race::NonBlocking(first, second),
        };
        if !event.may_block() {
            self.races.push(race);
        }
        self.join(id, e as usize);
    }

    /// The events that read a store: those that access its bytes before the next write.
    fn reads_of(&self, store: EventId) -> SmallVec<[EventId; 8]> {
        let (addr, len) = match self.event(store).action.footprint {
            Footprint::Store { len, addr } => (addr, len),
            _ => return SmallVec::new(),
        };
        let touches = |access: &Access| overlap(addr, len, access.addr.0, u32::from(access.size));
        let mut readers = SmallVec::new();
        for f in (store.index() + 1..self.len()).map(EventId::new) {
            if self.exposed_reads(f).any(touches) {
                readers.push(f);
            }
            let overwrites = self.accesses(f).any(|(access, done)| done.new.is_some() && touches(access));
            if overwrites || self.frees(f, addr, len) {
                break;
            }
        }
        readers
    }
}

/// Which locations the theory covers. Stores to bytes that are awaited (their order decides who is blocked), or that are
/// accessed in ranges which overlap without being equal (the paper's Sec. 4), are made to conflict always. If stores to
/// such a location have been treated otherwise before, the exploration has to start again; that happens at most once
/// per location, and hardly ever after the first execution.
#[derive(Default)]
pub struct Locations {
    ranges: FxHashMap<u64, SmallVec<[(u64, u8); 2]>>,
    stored: FxHashSet<u64>,
    /// The exploration has to start again.
    pub restart: bool,
}

impl Locations {
    /// Notes an access that is about to be made, or that a thread is blocked with.
    pub fn note(&mut self, access: &Access, dependence: &mut Dependence) {
        let (addr, size) = (access.addr.0, access.size);
        let last = addr + u64::from(size) - 1;
        for granule in addr >> 3..=last >> 3 {
            let ranges = self.ranges.entry(granule).or_default();
            let mut irregular = access.until.is_some() || addr >> 3 != last >> 3;
            if !ranges.contains(&(addr, size)) {
                irregular |= ranges.iter().any(|&(other, n)| overlap(addr, size.into(), other, n.into()));
                ranges.push((addr, size));
            }
            if irregular && dependence.harden(granule << 3) && self.stored.contains(&granule) {
                self.restart = true;
            }
            if matches!(access.kind, AccessKind::Store { .. }) {
                self.stored.insert(granule);
            }
        }
    }
}

impl Locations {
    /// Takes the bytes of an access out of the theory.
    pub fn exclude(&mut self, access: &Access, dependence: &mut Dependence) {
        let last = access.addr.0 + u64::from(access.size) - 1;
        for granule in access.addr.0 >> 3..=last >> 3 {
            self.restart |= dependence.harden(granule << 3) && self.stored.contains(&granule);
        }
    }
}

/// Alg. 1, l. 8 of the observers paper: `v = notdep(e, E).ê'.ê.(notobs(e, e', E) \ ê').ô`, in which the observer reads
/// `e` instead of `e'`.
pub fn reversed_observed(trace: &Trace, e: EventId, e2: EventId, observer: EventId, v: &mut Vec<Action>) {
    v.clear();
    notdep(trace, e, v);
    v.push(trace.event(e2).action);
    v.push(trace.event(e).action);
    notobs(trace, e, e2, v);
    v.push(revised_observer(trace, e, observer));
}

/// The events that happen after `e` but are not, and do not happen after, observers of `e'`.
fn notobs(trace: &Trace, e: EventId, e2: EventId, v: &mut Vec<Action>) {
    let observers = trace.reads_of(e2);
    for f in (e.index() + 1..trace.len()).map(EventId::new) {
        let is_kept = f != e2 && trace.happens_before(e, f) && !observers.iter().any(|&o| trace.happens_before(o, f));
        if is_kept {
            v.push(trace.event(f).action);
        }
    }
}

/// What the observer does when it reads `e`: only a compare-and-exchange may now do something else.
fn revised_observer(trace: &Trace, e: EventId, observer: EventId) -> Action {
    let event = trace.event(observer);
    let mut action = event.action;
    match event.op {
        Op::Access(access) => {
            let value = trace.event(e).done.new.expect("an observed race is between two stores");
            action.footprint = access_footprint(&access, access.written(value).is_some());
        }
        _ => action.footprint = Footprint::Anything,
    }
    action
}

//! Happens-before with observers (Optimal DPOR with Observers, Sec. 4 and Sec. 6, "Observers in Nidhugg").
//!
//! Two stores of the same bytes are ordered only if one of them is read. So the order of an execution is known when the
//! execution is over, and it may differ from the order that the same events had in an execution with another suffix:
//! clocks and races are computed for the whole trace at its end.
//!
//! | paper | here |
//! |---|---|
//! | `observers(e, e', E)` | the events that read the store `e'`: [`Trace::reads_of`] |
//! | "observed" flag | `observer[e']`: the first event that reads `e'` |
//! | `notobs(e, e', E)` | [`notobs`] |
//!
//! A store `e` that is read by `R` and overwritten by `e'` needs no rule: `R` reads what `e'` writes, so `e -> R -> e'`.
//! What remains is the case in which the second store is read: then every older store of these bytes is ordered before
//! it, up to the newest one that was itself read (which the older ones are ordered before).

use crate::action::{Action, Dependence, Footprint, access_footprint, overlap};
use crate::reversal::notdep;
use crate::trace::{Event, EventId, NONE, Race, Trace};
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, AccessKind, Op};
use smallvec::SmallVec;

impl Trace {
    /// Computes the clocks and races of the whole trace.
    pub fn order_lazily(&mut self) {
        let observer = self.first_observers();
        let events = std::mem::take(&mut self.events);
        self.clocks.clear();
        self.races.clear();
        self.newest.fill(NONE);
        for (id, event) in events.iter().enumerate() {
            let id = id as u32;
            self.start_clock(event.action.thread, id);
            self.add_edges(&event.op, event.woken_by.map(|e| e.index() as u32), id);
            if event.may_block() {
                self.races.push(Race::MayBlock(EventId::new(id as usize)));
            }
            if event.action.footprint != Footprint::Nothing {
                self.order_after_conflicts(&events, event, id, &observer);
            }
            self.newest[event.action.thread.index()] = id;
        }
        self.events = events;
    }

    /// For every store, the first event that reads it.
    fn first_observers(&self) -> Vec<u32> {
        let mut observer = vec![NONE; self.events.len()];
        for e in (0..self.events.len()).map(EventId::new) {
            for access in self.exposed_reads(e) {
                if let Some(write) = self.newest_write(e, access.addr.0, u32::from(access.size)) {
                    let first = &mut observer[write.index()];
                    if *first == NONE {
                        *first = e.index() as u32;
                    }
                }
            }
        }
        observer
    }

    /// The newest event before `e` that writes some of these bytes; none if they are dead.
    fn newest_write(&self, e: EventId, addr: u64, len: u32) -> Option<EventId> {
        let writes = |f: &EventId| {
            let overlaps = |access: &Access| overlap(addr, len, access.addr.0, u32::from(access.size));
            self.accesses(*f).any(|(access, done)| done.new.is_some() && overlaps(access))
        };
        let older = (0..e.index()).rev().map(EventId::new);
        older.take_while(|f| !self.frees(*f, addr, len)).find(writes)
    }

    /// Whether an event ends the life of some of these bytes.
    fn frees(&self, f: EventId, addr: u64, len: u32) -> bool {
        matches!(self.event(f).op, Op::Free { addr: start, size } if overlap(addr, len, start.0, size as u32))
    }

    fn order_after_conflicts(&mut self, events: &[Event], event: &Event, id: u32, observer: &[u32]) {
        for e in (0..id).rev() {
            let older = &events[e as usize];
            if self.is_known(older, id) {
                continue;
            }
            let (a, b) = (&older.action.footprint, &event.action.footprint);
            if !self.dependence.conflict(a, b) {
                continue;
            }
            let (first, second) = (EventId::new(e as usize), EventId::new(id as usize));
            let race = if self.dependence.is_soft(a, b) {
                match observer[id as usize] {
                    NONE => continue,
                    o => Race::Observed(first, second, EventId::new(o as usize)),
                }
            } else {
                Race::NonBlocking(first, second)
            };
            if !event.may_block() {
                self.races.push(race);
            }
            self.join(id, e as usize);
        }
    }

    /// The events that read a store: those that access its bytes before the next write.
    fn reads_of(&self, store: EventId) -> Vec<EventId> {
        let (addr, len) = match self.event(store).action.footprint {
            Footprint::Store { len, addr } => (addr, len),
            _ => return Vec::new(),
        };
        let touches = |access: &Access| overlap(addr, len, access.addr.0, u32::from(access.size));
        let mut readers = Vec::new();
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

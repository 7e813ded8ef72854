//! The present execution: its events, happens-before as vector clocks, and the races that its newest events are in.
//!
//! Clocks are computed once, when an event is executed, and thrown away when it is taken back, so a new execution costs
//! its new suffix only. `clock(e)[t]` is the number of events of thread `t` that happen before or are `e`; hence `e`
//! happens before `f` iff `clock(f)[thread(e)] >= index(e)`.
//!
//! To find the events that a new event `e'` conflicts with, all accesses to the same eight bytes are linked into a
//! chain, newest first. The walk keeps the clock `C` of what is known to happen before `e'`. A conflicting event outside
//! `C` is adjacent to `e'` in happens-before (whatever is between them would have been met first, being newer): that is
//! a race (Def. 2 (i) of the await paper). The walk ends at the newest write that covers all bytes of `e'`, since
//! everything older that conflicts with `e'` conflicts with that write. Where the trace holds events that are not
//! simple accesses (a `free`, an atomic section, condition variables), the chains do not tell everything, and the plain
//! version is used: one look at every older event.
//!
//! With observers, whether two stores conflict is known only when the execution is over: then nothing of this is done
//! when an event is executed, and `lazy_order.rs` computes all clocks and races at the end.

use crate::action::{Action, Dependence, Footprint, footprint, is_exposed};
use crate::byte_range::Range;
use crate::lazy_order::Known;
use rustc_hash::FxHashMap;
use selvedge_ir::{EntityRef, entity};
use selvedge_machine::{Access, Done, Memory, Op, ThreadId};

entity! {
    /// An event of the present execution, by its position in it.
    EventId, "e"
}
entity! {
    /// Eight bytes of memory that have been accessed at some time.
    Granule, "m"
}

/// No event: the end of a chain.
pub(crate) const NONE: u32 = u32::MAX;

/// An executed step.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Its thread, alternative and footprint.
    pub action: Action,
    /// Its number among the events of its thread, from 1.
    pub index: u32,
    /// What it asked for.
    pub op: Op,
    /// What it was told.
    pub done: Done,
    /// The event of the same thread before it.
    pub(crate) previous: u32,
    /// Chains that it is in: granule and next older event there.
    links: [(u32, u32); 2],
    /// Races recorded before it.
    pub(crate) races: u32,
    /// Where the accesses of an atomic section start in the list of all.
    section: u32,
    /// The event that ended its waiting, if it is a wake-up that was notified.
    pub woken_by: Option<EventId>,
    /// Whether it could be performed; not if the access itself is a violation.
    pub performed: bool,
    /// Whether it met bytes that were never written.
    pub uninitialised: bool,
}

/// A pair of events, or an event alone, whose order with older events can be reversed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Race {
    /// Two conflicting events that are adjacent in happens-before (Def. 2).
    NonBlocking(EventId, EventId),
    /// Two stores that are adjacent in happens-before because an observer reads the second.
    Observed(EventId, EventId, EventId),
    /// An event that other threads can enable or disable (Alg. 1, l. 8).
    MayBlock(EventId),
}

impl Event {
    /// The access, if the event is one.
    pub fn access(&self) -> Option<&Access> {
        match &self.op {
            Op::Access(access) => Some(access),
            _ => None,
        }
    }

    /// Whether it may be in a data race: it is plain, or accesses what another thread has initialised.
    fn may_race(&self) -> bool {
        let foreign = |addr| Memory::owner_of(addr).is_some_and(|owner| owner != self.action.thread);
        match &self.op {
            Op::Access(access) => !access.order.is_atomic() || foreign(access.addr),
            op => matches!(op, Op::AtomicBegin | Op::Free { .. }),
        }
    }

    /// Whether the step could have been made in more than one way.
    pub fn has_alternatives(&self) -> bool {
        matches!(self.op, Op::Choose { .. } | Op::CondSignal { .. })
    }

    /// Whether other threads can enable or disable it.
    pub fn may_block(&self) -> bool {
        matches!(self.op, Op::Access(Access { until: Some(_), .. }))
    }
}

/// The present execution.
#[derive(Default)]
pub struct Trace {
    pub(crate) events: Vec<Event>,
    pub(crate) clocks: Vec<u32>,
    pub(crate) width: usize,
    /// The newest event of each thread.
    pub(crate) newest: Vec<u32>,
    /// The event that created each thread.
    birth: Vec<u32>,
    granules: FxHashMap<u64, Granule>,
    heads: Vec<u32>,
    pub(crate) races: Vec<Race>,
    /// The accesses of all atomic sections of the execution.
    section_accesses: Vec<(Access, Done)>,
    /// How many events may be in a data race.
    may_race: usize,
    /// How many events have alternatives.
    choices: usize,
    /// How many events met bytes that were never written.
    uninitialised: usize,
    /// How many events are not simple accesses and yet touch something.
    irregular: usize,
    /// When events are dependent.
    pub dependence: Dependence,
    /// With observers, what is known of the order of events.
    pub(crate) known: Known,
    scratch: Vec<u32>,
    /// Compare the chains with the plain version at every event.
    pub check_chains: bool,
}

impl Trace {
    /// The number of events.
    #[inline]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// All events in order.
    #[inline]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// An event.
    #[inline]
    pub fn event(&self, e: EventId) -> &Event {
        &self.events[e.index()]
    }

    /// Races in the order in which they were met.
    pub fn races(&self) -> &[Race] {
        &self.races
    }

    /// Whether some event is a plain access, one to an object of another thread, a `free` or an atomic section, so that
    /// there could be a data race.
    pub fn may_have_races(&self) -> bool {
        self.may_race > 0
    }

    /// The accesses of an event that read what other events wrote.
    pub fn exposed_reads(&self, e: EventId) -> impl Iterator<Item = &Access> {
        let event = &self.events[e.index()];
        let end = self.events.get(e.index() + 1).map_or(self.section_accesses.len(), |next| next.section as usize);
        let section = &self.section_accesses[event.section as usize..end];
        let own = event.access().filter(|access| access.reads() && event.performed);
        own.into_iter().chain((0..section.len()).filter(|&n| is_exposed(section, n)).map(|n| &section[n].0))
    }

    /// Whether some event could have been made in more than one way.
    pub fn has_alternatives(&self) -> bool {
        self.choices > 0
    }

    /// Per thread, how many of its events happen before all events from the given one on.
    pub fn common_past(&self, from: usize, past: &mut Vec<u32>) {
        past.clear();
        past.resize(self.width, u32::MAX);
        for clock in self.clocks[from * self.width..].chunks_exact(self.width.max(1)) {
            past.iter_mut().zip(clock).for_each(|(past, &clock)| *past = (*past).min(clock));
        }
    }

    /// Whether some event met bytes that were never written: then values alone do not tell what an access does.
    pub fn has_uninitialised(&self) -> bool {
        self.uninitialised > 0
    }

    /// Whether some event is not a simple access and yet touches something.
    pub fn has_irregular(&self) -> bool {
        self.irregular > 0
    }

    /// The accesses that an event made: one, or those of its atomic section.
    pub fn accesses(&self, e: EventId) -> impl DoubleEndedIterator<Item = (&Access, &Done)> {
        let event = &self.events[e.index()];
        let end = self.events.get(e.index() + 1).map_or(self.section_accesses.len(), |next| next.section as usize);
        let section = self.section_accesses[event.section as usize..end].iter().map(|(access, done)| (access, done));
        event.access().map(|access| (access, &event.done)).into_iter().chain(section)
    }

    /// Whether `e` happens before `f` or is `f`.
    #[inline]
    pub fn happens_before(&self, e: EventId, f: EventId) -> bool {
        let event = &self.events[e.index()];
        self.clocks[f.index() * self.width + event.action.thread.index()] >= event.index
    }

    /// Whether `e` is among the events that a thread's next event happens after by program order alone: it happens
    /// before the thread's newest event, or before the thread was created.
    pub fn precedes_next_of(&self, e: EventId, thread: ThreadId) -> bool {
        self.predecessor(thread).is_some_and(|p| self.happens_before(e, p))
    }

    /// As `precedes_next_of` for the thread of an event, at that event.
    pub fn precedes_in_program_order(&self, e: EventId, f: EventId) -> bool {
        self.predecessor_of(&self.events[f.index()]).is_some_and(|p| self.happens_before(e, p))
    }

    /// The event that an event happens after by program order alone.
    #[inline]
    fn predecessor_of(&self, event: &Event) -> Option<EventId> {
        match event.previous {
            NONE => self.birth_of(event.action.thread),
            p => Some(EventId::new(p as usize)),
        }
    }

    /// The event before this one in its thread.
    pub fn previous(&self, e: EventId) -> Option<EventId> {
        let previous = self.events[e.index()].previous;
        (previous != NONE).then(|| EventId::new(previous as usize))
    }

    /// The newest event of a thread: the last one, if the thread has ended.
    pub fn last_of(&self, thread: ThreadId) -> Option<EventId> {
        self.newest.get(thread.index()).filter(|&&e| e != NONE).map(|&e| EventId::new(e as usize))
    }

    /// The event that created a thread.
    pub fn birth(&self, thread: ThreadId) -> Option<EventId> {
        self.birth_of(thread)
    }

    fn predecessor(&self, thread: ThreadId) -> Option<EventId> {
        match self.newest.get(thread.index()) {
            Some(&e) if e != NONE => Some(EventId::new(e as usize)),
            _ => self.birth_of(thread),
        }
    }

    fn birth_of(&self, thread: ThreadId) -> Option<EventId> {
        match self.birth.get(thread.index()) {
            Some(&e) if e != NONE => Some(EventId::new(e as usize)),
            _ => None,
        }
    }

    /// Makes room for this many threads.
    pub fn reserve_threads(&mut self, threads: usize) {
        if threads <= self.width {
            return;
        }
        let width = threads.next_power_of_two().max(4);
        let mut clocks = vec![0; self.events.len() * width];
        for e in 0..self.events.len() {
            let old = &self.clocks[e * self.width..(e + 1) * self.width];
            clocks[e * width..e * width + self.width].copy_from_slice(old);
        }
        self.clocks = clocks;
        self.width = width;
        self.newest.resize(width, NONE);
        self.birth.resize(width, NONE);
    }

    /// Appends an executed step; `woken_by` is the event that ended its waiting, for a wake-up. Returns its action.
    #[inline]
    pub fn push(
        &mut self,
        thread: ThreadId,
        choice: u32,
        op: Op,
        done: Done,
        section: &[(Access, Done)],
        woken_by: Option<u32>,
    ) -> Action {
        if let Op::Spawn { child } = op {
            self.reserve_threads(child.index() + 1);
        }
        let id = self.events.len() as u32;
        let dependence = &mut self.dependence;
        let footprint = footprint(&op, &done, || dependence.intern(section));
        let action = Action { thread, choice, footprint };
        let index = self.start_clock(thread, id);
        self.add_edges(&op, woken_by, id);
        let races = self.races.len() as u32;
        let previous = self.newest[thread.index()];
        let section_start = self.section_accesses.len() as u32;
        self.section_accesses.extend_from_slice(section);
        let links = [(NONE, NONE); 2];
        let woken_by = woken_by.map(|e| EventId::new(e as usize));
        let mut event = Event {
            action,
            index,
            op,
            done,
            previous,
            links,
            races,
            section: section_start,
            woken_by,
            performed: true,
            uninitialised: false,
        };
        self.may_race += usize::from(event.may_race());
        self.choices += usize::from(event.has_alternatives());
        self.find_conflicts(&event, id);
        self.link(&mut event, id);
        self.events.push(event);
        self.newest[thread.index()] = id;
        action
    }

    /// Starts the clock of a new event with that of its predecessor in program order. Returns its index.
    #[inline]
    pub(crate) fn start_clock(&mut self, thread: ThreadId, id: u32) -> u32 {
        let at = id as usize * self.width;
        let own = at + thread.index();
        match self.predecessor(thread) {
            Some(p) => {
                let from = p.index() * self.width;
                self.clocks.extend_from_within(from..from + self.width);
            }
            None => self.clocks.resize(at + self.width, 0),
        }
        self.clocks[own] += 1;
        self.clocks[own]
    }

    /// As `start_clock`, for an event that has been executed already.
    pub(crate) fn restart_clock(&mut self, event: &Event) {
        let at = self.clocks.len();
        match self.predecessor_of(event) {
            Some(p) => {
                let from = p.index() * self.width;
                self.clocks.extend_from_within(from..from + self.width);
            }
            None => self.clocks.resize(at + self.width, 0),
        }
        self.clocks[at + event.action.thread.index()] = event.index;
    }

    /// Order that is not a race: spawn, join, wake-up.
    #[inline]
    pub(crate) fn add_edges(&mut self, op: &Op, woken_by: Option<u32>, id: u32) {
        match *op {
            Op::Spawn { child } => self.birth[child.index()] = id,
            Op::Join { thread } => {
                if let Some(last) = self.predecessor(thread) {
                    self.join(id, last.index());
                }
            }
            Op::CondWake { early: false, .. } => {
                let by = woken_by.expect("a thread that needs a signal to wake has got one");
                self.join(id, by as usize);
            }
            _ => {}
        }
    }

    /// Takes the clock of an older event into that of the newest.
    #[inline]
    pub(crate) fn join(&mut self, id: u32, older: usize) {
        let (before, own) = self.clocks.split_at_mut(id as usize * self.width);
        let older = &before[older * self.width..(older + 1) * self.width];
        for (mine, theirs) in own.iter_mut().zip(older) {
            *mine = (*mine).max(*theirs);
        }
    }

    #[inline]
    fn find_conflicts(&mut self, event: &Event, id: u32) {
        if self.dependence.observers {
            return;
        }
        if event.may_block() {
            self.races.push(Race::MayBlock(EventId::new(id as usize)));
        }
        let regular = match event.action.footprint {
            Footprint::Nothing => return,
            _ => event.access().is_some() && self.irregular == 0,
        };
        if !regular {
            self.conflicts_plain(event, id);
        } else if self.check_chains {
            self.conflicts_both_ways(event, id);
        } else {
            self.conflicts_chained(event, id);
        }
    }

    /// The plain version: looks at every older event.
    fn conflicts_plain(&mut self, event: &Event, id: u32) {
        for e in (0..id).rev() {
            let older = &self.events[e as usize];
            if !self.is_known(older, id) && self.dependence.conflict(&older.action.footprint, &event.action.footprint) {
                self.race(e, event, id);
            }
        }
    }

    /// The fast version: walks the chains of the bytes that are accessed.
    #[inline]
    fn conflicts_chained(&mut self, event: &Event, id: u32) {
        let range = Range::of(&event.action.footprint);
        if range.first_granule() == range.last_granule() {
            if let Some(&granule) = self.granules.get(&range.first_granule()) {
                self.walk(granule, event, id, range);
            }
        } else {
            // Two chains: the order in which they are walked must not matter, so the plain version decides.
            self.conflicts_plain(event, id);
        }
    }

    #[inline]
    fn walk(&mut self, granule: Granule, event: &Event, id: u32, range: Range) {
        let mut e = self.heads[granule.index()];
        while e != NONE {
            let older = &self.events[e as usize];
            let (next, footprint) = (older.link(granule), older.action.footprint);
            let older_range = Range::of(&footprint);
            let own = older.action.thread == event.action.thread;
            if (range.writes || older_range.writes)
                && range.overlaps(&older_range)
                && (own || self.dependence.conflict(&footprint, &event.action.footprint))
            {
                if !own && !self.is_known(older, id) {
                    self.race(e, event, id);
                }
                // A write that conflicts with whatever e' conflicts with: everything older happens before it. (One that
                // commutes with others does not.)
                if older_range.covers(&range) && !matches!(footprint, Footprint::Commute { .. }) {
                    return;
                }
            }
            e = next;
        }
    }

    /// Whether the newest event's clock contains an older event.
    #[inline]
    pub(crate) fn is_known(&self, older: &Event, id: u32) -> bool {
        self.clocks[id as usize * self.width + older.action.thread.index()] >= older.index
    }

    /// A conflict that is not ordered otherwise. The order of an event that may block is reversed by other means
    /// (Alg. 1, ll. 7-22), so it is no race in the sense of Def. 2.
    #[inline]
    fn race(&mut self, e: u32, event: &Event, id: u32) {
        if !event.may_block() {
            self.races.push(Race::NonBlocking(EventId::new(e as usize), EventId::new(id as usize)));
        }
        self.join(id, e as usize);
    }

    fn conflicts_both_ways(&mut self, event: &Event, id: u32) {
        let at = id as usize * self.width;
        let start: Vec<u32> = self.clocks[at..].to_vec();
        let known = self.races.len();
        self.conflicts_chained(event, id);
        self.scratch.clear();
        self.scratch.extend_from_slice(&self.clocks[at..]);
        let chained = self.races.split_off(known);
        self.clocks[at..].copy_from_slice(&start);
        self.conflicts_plain(event, id);
        assert_eq!(self.clocks[at..], self.scratch[..], "chains give the clock of {event:?}");
        assert_eq!(self.races[known..], chained[..], "chains give the races of {event:?}");
    }

    /// Puts an access into the chains of its bytes.
    #[inline]
    fn link(&mut self, event: &mut Event, id: u32) {
        if event.access().is_some() {
            let range = Range::of(&event.action.footprint);
            event.links[0] = self.link_granule(range.first_granule(), id);
            if range.last_granule() != range.first_granule() {
                event.links[1] = self.link_granule(range.last_granule(), id);
            }
        } else if event.action.footprint != Footprint::Nothing {
            self.irregular += 1;
        }
    }

    #[inline]
    fn link_granule(&mut self, key: u64, id: u32) -> (u32, u32) {
        let next = Granule::new(self.heads.len());
        let granule = *self.granules.entry(key).or_insert(next);
        if granule == next {
            self.heads.push(NONE);
        }
        let older = std::mem::replace(&mut self.heads[granule.index()], id);
        (granule.index() as u32, older)
    }

    /// Notes that the newest event could not be performed, or met bytes that were never written.
    pub fn note(&mut self, performed: bool, uninitialised: bool) {
        let event = self.events.last_mut().expect("there is an event");
        event.performed = performed;
        event.uninitialised = uninitialised;
        self.uninitialised += usize::from(uninitialised);
    }

    /// Takes the newest event back.
    #[inline]
    pub fn pop(&mut self) -> Event {
        let event = self.events.pop().expect("there is an event to take back");
        self.clocks.truncate(self.events.len() * self.width);
        self.newest[event.action.thread.index()] = event.previous;
        self.races.truncate(event.races as usize);
        self.known.taken_back(self.events.len());
        self.section_accesses.truncate(event.section as usize);
        self.may_race -= usize::from(event.may_race());
        self.choices -= usize::from(event.has_alternatives());
        self.uninitialised -= usize::from(event.uninitialised);
        if event.links[0].0 == NONE {
            let touches = event.action.footprint != Footprint::Nothing;
            self.irregular -= usize::from(touches);
        } else {
            for (granule, older) in event.links {
                if granule != NONE {
                    self.heads[granule as usize] = older;
                }
            }
        }
        if let Op::Spawn { child } = event.op {
            self.birth[child.index()] = NONE;
        }
        event
    }

    /// The events before `e` that access the eight bytes around its own, newest first; `None` where the chains do not
    /// tell everything.
    pub fn chain_before(&self, e: EventId) -> Option<impl Iterator<Item = EventId> + '_> {
        let event = &self.events[e.index()];
        if self.irregular > 0 || event.links[0].0 == NONE || event.links[1].0 != NONE {
            return None;
        }
        let (granule, mut next) = event.first_link();
        Some(std::iter::from_fn(move || {
            let now = next;
            (now != NONE).then(|| {
                next = self.events[now as usize].link(granule);
                EventId::new(now as usize)
            })
        }))
    }

    /// The events that access the eight bytes around an address, newest first; `None` where the chains do not tell
    /// everything.
    pub fn chain(&self, addr: u64, len: u32) -> Option<impl Iterator<Item = EventId> + '_> {
        let first = addr >> 3;
        if self.irregular > 0 || (addr + u64::from(len) - 1) >> 3 != first {
            return None;
        }
        let granule = self.granules.get(&first).copied();
        let mut e = granule.map_or(NONE, |g| self.heads[g.index()]);
        Some(std::iter::from_fn(move || {
            let granule = granule?;
            let now = e;
            (now != NONE).then(|| {
                e = self.events[now as usize].link(granule);
                EventId::new(now as usize)
            })
        }))
    }
}

impl Event {
    /// The first chain that it is in, and the next older event there.
    #[inline]
    pub(crate) fn first_link(&self) -> (Granule, u32) {
        (Granule::new(self.links[0].0 as usize), self.links[0].1)
    }

    #[inline]
    pub(crate) fn link(&self, granule: Granule) -> u32 {
        let key = granule.index() as u32;
        if self.links[0].0 == key { self.links[0].1 } else { self.links[1].1 }
    }
}

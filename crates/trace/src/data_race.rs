//! Data races on plain accesses.
//!
//! C11: two conflicting accesses of different threads, at least one of them not atomic, neither of which happens before
//! the other, where happens-before is program order, thread creation and end, condition variables (if
//! the machine says so), and
//! *synchronises-with*: a release write (or a write after a release fence) that is read by an acquire read (or by a
//! read before an acquire fence), through release sequences of read-modify-writes. Mutexes are acquire and release
//! accesses to their word, so nothing more is needed for them. Accesses in atomic sections count as sequentially
//! consistent atomics. A `free` counts as a plain write of the whole object. Accesses that are violations themselves do not
//! count.
//!
//! This is not the happens-before of the exploration, in which every conflict orders events: a flag that is set and read
//! with relaxed accesses orders nothing here. Both are the same for equivalent executions, so looking at one execution
//! of each class finds every race.
//!
//! What a thread writes into an object before others know of it is no event. Whoever accesses the object later must have
//! seen what the thread did next, or else it races with that: a pointer that was published by a relaxed store.
//!
//! Clocks are kept per event and computed for new events only. Each event has four of them, one behind the other in one
//! list.

use crate::action::overlap;
use crate::trace::{EventId, Trace};
use rustc_hash::FxHashSet;
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::racing::{self, Racer};
use selvedge_machine::{Access, AccessKind, Addr, Done, Machine, Memory, Op, Sc, ThreadId, Violation};
use smallvec::SmallVec;

/// What is known at an event, as a vector clock by thread number.
#[derive(Clone, Copy)]
enum Part {
    /// What happens before the event, and itself.
    Clock,
    /// What an acquire read of the event's write learns.
    Release,
    /// What the thread's relaxed reads so far would have learned: an acquire fence learns it.
    Unfenced,
    /// What was known at the thread's newest release fence.
    Fenced,
}

const PARTS: usize = 4;

/// The search for data races, execution by execution.
#[derive(Default)]
pub struct DataRaces {
    /// Clocks of `width` threads, [`PARTS`] for each event.
    clocks: Vec<u32>,
    width: usize,
    valid: usize,
    reported: FxHashSet<(u32, u32, u32, u32)>,
    /// Whether a notification does not happen before the end of the wait that it ends
    /// ([`Machine::notifications_synchronise`]).
    pub silent_wakes: bool,
    /// New races.
    pub found: Vec<Found>,
}

/// A data race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// Of an older and a newer event.
    Pair(EventId, EventId),
    /// Of the owner of an object, who wrote to it while it was private, and an event.
    WithOwner(ThreadId, EventId),
}

impl Found {
    /// The newer of the two accesses.
    pub fn newer(self) -> EventId {
        match self {
            Found::Pair(_, newer) | Found::WithOwner(_, newer) => newer,
        }
    }
}

impl DataRaces {
    /// Events from this position on are no longer what they were.
    #[inline]
    pub fn forget_from(&mut self, position: usize) {
        self.valid = self.valid.min(position);
    }

    /// Looks for races of the events that are new since the last call. The memory is that of the end of the execution.
    pub fn find(&mut self, trace: &Trace, memory: &Memory) {
        if self.width != trace.width {
            self.width = trace.width;
            self.valid = 0;
        }
        self.clocks.resize(trace.len() * PARTS * self.width, 0);
        while self.valid < trace.len() {
            let e = EventId::new(self.valid);
            self.synchronise(trace, e);
            self.valid += 1;
            self.check(trace, e);
            self.check_owner(trace, e, memory);
        }
    }

    #[inline]
    fn at(&self, e: EventId, part: Part) -> usize {
        (e.index() * PARTS + part as usize) * self.width
    }

    /// Sets a clock to another one.
    fn copy(&mut self, to: (EventId, Part), from: (EventId, Part)) {
        let (to, from) = (self.at(to.0, to.1), self.at(from.0, from.1));
        self.clocks.copy_within(from..from + self.width, to);
    }

    /// Takes another clock into one.
    #[inline]
    fn join(&mut self, to: (EventId, Part), from: (EventId, Part)) {
        let (to, from) = (self.at(to.0, to.1), self.at(from.0, from.1));
        for n in 0..self.width {
            self.clocks[to + n] = self.clocks[to + n].max(self.clocks[from + n]);
        }
    }

    fn synchronise(&mut self, trace: &Trace, e: EventId) {
        use Part::*;
        let event = trace.event(e);
        let start = self.at(e, Clock);
        self.clocks[start..start + PARTS * self.width].fill(0);
        match (trace.previous(e), trace.birth(event.action.thread)) {
            (Some(p), _) => {
                self.copy((e, Clock), (p, Clock));
                self.copy((e, Unfenced), (p, Unfenced));
                self.copy((e, Fenced), (p, Fenced));
            }
            (None, Some(birth)) => self.copy((e, Clock), (birth, Clock)),
            (None, None) => {}
        }
        self.clocks[start + event.action.thread.index()] = event.index;
        match event.op {
            Op::Access(access) if event.performed => self.access(trace, e, &access, &event.done),
            Op::Fence { order } => self.fence(e, order),
            Op::Join { thread } => {
                if let Some(last) = trace.last_of(thread).or(trace.birth(thread)) {
                    self.join((e, Clock), (last, Clock));
                }
            }
            Op::CondWake { .. } if !self.silent_wakes => {
                if let Some(by) = event.woken_by {
                    self.join((e, Clock), (by, Clock));
                }
            }
            Op::AtomicBegin => {
                for (access, done) in trace.accesses(e).filter(|_| event.performed) {
                    self.access(trace, e, &Access { order: Order::SeqCst, ..*access }, done);
                }
            }
            _ => {}
        }
    }

    fn fence(&mut self, e: EventId, order: Order) {
        if order.acquires() {
            self.join((e, Part::Clock), (e, Part::Unfenced));
        }
        if order.releases() {
            self.copy((e, Part::Fenced), (e, Part::Clock));
        }
    }

    fn access(&mut self, trace: &Trace, e: EventId, access: &Access, done: &Done) {
        use Part::*;
        let sources = if access.reads() { newest_writes(trace, e, access) } else { SmallVec::new() };
        let failed = done.new.is_none();
        let order = match access.kind {
            AccessKind::Cas { failure, .. } if failed => failure,
            _ => access.order,
        };
        for &source in &sources {
            if order.acquires() {
                self.join((e, Clock), (source, Release));
            } else if order.is_atomic() {
                self.join((e, Unfenced), (source, Release));
            }
        }
        if failed {
            return;
        }
        // A read-modify-write continues the release sequence of what it read.
        if matches!(access.kind, AccessKind::Rmw { .. } | AccessKind::Cas { .. }) {
            for &source in &sources {
                self.join((e, Release), (source, Release));
            }
        }
        if order.releases() {
            self.join((e, Release), (e, Clock));
        } else if order.is_atomic() {
            self.join((e, Release), (e, Fenced));
        }
    }

    fn check(&mut self, trace: &Trace, e: EventId) {
        match trace.chain_before(e) {
            Some(chain) => chain.for_each(|f| self.check_pair(trace, f, e)),
            None => (0..e.index()).rev().for_each(|f| self.check_pair(trace, EventId::new(f), e)),
        }
    }

    fn check_owner(&mut self, trace: &Trace, e: EventId, memory: &Memory) {
        let event = trace.event(e);
        if !event.performed {
            return;
        }
        let addresses = trace.accesses(e).map(|(access, _)| access.addr);
        let freed = if let Op::Free { addr, .. } = event.op { Some(addr) } else { None };
        for addr in addresses.chain(freed) {
            let Some(owner) = self.unseen_owner(trace, e, addr, memory) else { continue };
            let thread = event.action.thread.index() as u32;
            if self.reported.insert((owner.index() as u32, u32::MAX, thread, event.index)) {
                self.found.push(Found::WithOwner(owner, e));
            }
        }
    }

    /// The thread whose private writes to an object do not happen before an access to it. Objects know the step in
    /// which they were last written privately, from 1 (`Sc::step`).
    fn unseen_owner(&self, trace: &Trace, e: EventId, addr: Addr, memory: &Memory) -> Option<ThreadId> {
        let owner = Memory::owner_of(addr).filter(|&owner| owner != trace.event(e).action.thread)?;
        let step = memory.object(memory.find(addr)?).touched as usize;
        // What was touched later is another object, which came to lie there when the one that was accessed had ended.
        if step == 0 || step > e.index() {
            return None;
        }
        let own = trace.events()[..step].iter().rev().find(|event| event.action.thread == owner);
        let done = own.map_or(0, |event| event.index);
        let ended = || {
            let last = trace.last_of(owner).map_or(0, |last| trace.event(last).index) == done;
            let mut older = (0..e.index()).map(EventId::new);
            let join = Op::Join { thread: owner };
            last && older.any(|j| trace.event(j).op == join && self.happens_before(trace, j, e))
        };
        let seen = self.clocks[self.at(e, Part::Clock) + owner.index()];
        (seen <= done && !ended()).then_some(owner)
    }

    fn happens_before(&self, trace: &Trace, f: EventId, e: EventId) -> bool {
        let older = trace.event(f);
        self.clocks[self.at(e, Part::Clock) + older.action.thread.index()] >= older.index
    }

    #[inline]
    fn check_pair(&mut self, trace: &Trace, f: EventId, e: EventId) {
        let (older, newer) = (trace.event(f), trace.event(e));
        let known = self.clocks[self.at(e, Part::Clock) + older.action.thread.index()];
        if known < older.index && older.performed && newer.performed && races(trace, f, e) {
            let key = |event: &crate::trace::Event| (event.action.thread.index() as u32, event.index);
            let ((a, b), (c, d)) = (key(older), key(newer));
            if self.reported.insert((a, b, c, d)) {
                self.found.push(Found::Pair(f, e));
            }
        }
    }
}

/// Whether two events make conflicting accesses, one of which is not atomic. What comes behind a `free` is a violation itself.
fn races(trace: &Trace, f: EventId, e: EventId) -> bool {
    if let Op::Free { addr, size } = trace.event(e).op {
        return trace.accesses(f).any(|(a, _)| overlap(a.addr.0, u32::from(a.size), addr.0, size as u32));
    }
    let atomic = |event: EventId, access: &Access| access.order.is_atomic() || trace.event(event).op == Op::AtomicBegin;
    trace.accesses(f).any(|(a, a_done)| {
        trace.accesses(e).any(|(b, b_done)| {
            (a_done.new.is_some() || b_done.new.is_some())
                && !(atomic(f, a) && atomic(e, b))
                && overlap(a.addr.0, u32::from(a.size), b.addr.0, u32::from(b.size))
        })
    })
}

/// The writes that a read gets its bytes from: one, unless ranges overlap without being equal.
fn newest_writes(trace: &Trace, e: EventId, access: &Access) -> SmallVec<[EventId; 2]> {
    let (addr, size) = (access.addr.0, u64::from(access.size));
    let mut missing = selvedge_machine::truncate(u64::MAX, access.size);
    let mut sources = SmallVec::new();
    let mut chain = trace.chain_before(e);
    let mut all = (0..e.index()).rev().map(EventId::new);
    while let Some(f) = chain.as_mut().map_or_else(|| all.next(), Iterator::next) {
        for (other, _) in trace.accesses(f).filter(|(_, done)| done.new.is_some()) {
            for n in 0..u64::from(other.size) {
                let byte = (other.addr.0 + n).wrapping_sub(addr);
                if byte < size && missing >> (8 * byte) & 1 == 1 {
                    missing &= !(0xff << (8 * byte));
                    if sources.last() != Some(&f) {
                        sources.push(f);
                    }
                }
            }
        }
        if missing == 0 {
            break;
        }
    }
    sources
}

/// The violation that a data race is. Goes back to each of its accesses to see where it stands in the source, and
/// returns to where it was.
pub fn describe<M: Machine>(sc: &mut Sc<M>, trace: &Trace, race: Found) -> Violation {
    match race {
        Found::Pair(e, f) => describe_pair(sc, trace, e, f),
        Found::WithOwner(owner, e) => describe_with_owner(sc, trace, owner, e),
    }
}

fn describe_with_owner<M: Machine>(sc: &mut Sc<M>, trace: &Trace, owner: ThreadId, e: EventId) -> Violation {
    while sc.depth() > e.index() {
        sc.undo();
    }
    let access = Racer::pending(&sc.machine, trace.event(e).action.thread, verb(trace, e));
    let owner = sc.machine.thread_name(owner);
    advance(sc, trace, trace.len());
    racing::race_with_owner(&access, &owner)
}

fn describe_pair<M: Machine>(sc: &mut Sc<M>, trace: &Trace, e: EventId, f: EventId) -> Violation {
    while sc.depth() > e.index() {
        sc.undo();
    }
    let older = Racer::pending(&sc.machine, trace.event(e).action.thread, verb(trace, e));
    advance(sc, trace, f.index());
    let newer = Racer::pending(&sc.machine, trace.event(f).action.thread, verb(trace, f));
    advance(sc, trace, trace.len());
    match trace.event(f).op {
        Op::Free { .. } => racing::race_with_free(&older, &newer),
        _ => racing::data_race(&older, &newer),
    }
}

fn advance<M: Machine>(sc: &mut Sc<M>, trace: &Trace, to: usize) {
    while sc.depth() < to {
        let action = trace.events()[sc.depth()].action;
        // A step that stopped its thread the first time does so again; that was noted then.
        let _ = sc.step(action.thread, action.choice);
    }
}

fn verb(trace: &Trace, e: EventId) -> &'static str {
    if trace.event(e).op == Op::AtomicBegin {
        return "access in an atomic section";
    }
    if matches!(trace.event(e).op, Op::Free { .. }) {
        return "free";
    }
    let atomic = trace.accesses(e).all(|(access, _)| access.order.is_atomic());
    match (trace.accesses(e).any(|(_, done)| done.new.is_some()), atomic) {
        (true, true) => "atomic write",
        (true, false) => "write",
        (false, true) => "atomic read",
        (false, false) => "read",
    }
}

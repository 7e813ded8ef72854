//! Runs an execution of a weak memory model again.
//!
//! Threads are told what the schedule says that they read, not what memory holds: a read may read something older than
//! what was written last. Memory is kept all the same, in the order of the steps, for all that is not a matter of who
//! sees which write: bounds, lifetimes, what is published by a pointer that was stored, and initial values.
//!
//! A condition variable counts as memory whose value is the set of threads that wait: to wait, to wake and to be woken
//! are read-modify-writes of it, and a signal that wakes nobody is a read.
//!
//! The schedule is not believed blindly. Every read must read from an earlier write to the same memory, every condition
//! must hold for what is read, and the writes to a location must have places from 1 on, a read-modify-write right
//! behind what it reads. Whether the memory model allows the execution is for engines to say.
//!
//! A plain access to bytes that others access in other pieces reads from several writes, or is several. It has no link:
//! it is not part of a race, so that it reads what memory holds.

use crate::memory::ObjectKind;
use crate::schedule::{
    EventRecord, Link, Replay, ReplayError, Schedule, Source, ends, is_used_after_free, stopped_at_start,
};
use crate::{Access, AccessKind, Addr, Done, Fault, Machine, Op, Outcome, Status, Stop, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

const NO_SOURCE: &str = "it reads, but the schedule does not say from where";

/// Follows a schedule on a machine whose threads have their numbers already.
pub fn replay<M: Machine>(mut machine: M, schedule: &Schedule, links: &[Link]) -> Result<Replay, ReplayError> {
    if links.len() != schedule.steps.len() {
        let step = links.len().min(schedule.steps.len()) + 1;
        return Err(ReplayError::Unfit { step, why: "there is not one link for every step" });
    }
    if let Err(stop) = machine.start() {
        return Ok(stopped_at_start(&machine, stop));
    }
    let (locations, waiting) = (BTreeMap::new(), BTreeMap::new());
    let mut follower = Follower { machine, events: Vec::new(), locations, unlinked: Vec::new(), waiting };
    let mut first_stop = None;
    for (n, (step, &link)) in schedule.steps.iter().zip(links).enumerate() {
        let no_thread = ReplayError::NoThread { step: n + 1 };
        let thread = follower.machine.thread_at(&step.thread).ok_or(no_thread.clone())?;
        match follower.machine.status(thread) {
            Status::Absent => return Err(no_thread),
            Status::Ready => {}
            _ => return Err(follower.waits(thread)),
        }
        let stop = follower.step(thread, step.choice, link)?;
        first_stop = first_stop.or(stop.map(|stop| (thread, stop)));
        if is_used_after_free(first_stop.as_ref()) {
            break;
        }
    }
    if follower.events.len() == links.len() {
        follower.check_places()?;
    }
    follower.note_missed();
    let Follower { machine, events, .. } = follower;
    let output = machine.output().to_owned();
    Ok(Replay { events, stop: first_stop, threads: ends(&machine), output, weak: true })
}

/// A machine on its way through a schedule.
struct Follower<M> {
    machine: M,
    events: Vec<EventRecord>,
    locations: BTreeMap<Place, Location>,
    /// Bytes that are written by accesses without a link.
    unlinked: Vec<(Addr, u8)>,
    /// Who waits on a condition variable, as the steps that wrote it left it.
    waiting: BTreeMap<usize, Waiting>,
}

/// What a location is: bytes from an address on, or the condition variable there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Bytes(Addr),
    Condition(Addr),
}

/// The threads that wait on a condition variable.
#[derive(Clone, Default)]
struct Waiting {
    asleep: BTreeSet<ThreadId>,
    woken: BTreeSet<ThreadId>,
}

/// Some bytes that are always accessed together, or a condition variable.
#[derive(Default)]
struct Location {
    size: u8,
    init: u64,
    /// Whether the initial value was never written.
    uninitialised: bool,
    /// The positions of the steps that write it.
    writes: Vec<usize>,
}

impl<M: Machine> Follower<M> {
    fn unfit(&self, why: &'static str) -> ReplayError {
        ReplayError::Unfit { step: self.events.len() + 1, why }
    }

    fn waits(&self, thread: ThreadId) -> ReplayError {
        ReplayError::NotEnabled { step: self.events.len() + 1, name: self.machine.thread_name(thread) }
    }

    /// Makes one step, and says why the thread stopped if it did.
    fn step(&mut self, thread: ThreadId, choice: u32, link: Link) -> Result<Option<Stop>, ReplayError> {
        let op = *self.machine.pending(thread);
        let site = self.machine.site_of_step(thread);
        let result = match op {
            Op::Access(access) => self.access(thread, &access, link)?,
            other => self.synchronise(thread, &other, choice, link)?,
        };
        let (done, stop) = match result {
            Ok(done) => {
                let stop = self.machine.resume(thread, told(&op, done)).err();
                (done, stop)
            }
            Err(stop) => {
                let old = match op {
                    Op::Access(access) => self.machine.memory().remains(access.addr, access.size),
                    _ => 0,
                };
                self.machine.halt(thread, Status::Stopped);
                (Done { old, new: None }, Some(stop))
            }
        };
        self.events.push(EventRecord { thread, op, done, section: Vec::new(), choice, site, link, missed: None });
        Ok(stop)
    }

    fn access(&mut self, thread: ThreadId, access: &Access, link: Link) -> Result<Result<Done, Stop>, ReplayError> {
        if let Err(fault) = self.check(thread, access) {
            return Ok(Err(self.machine.fault(thread, access, fault)));
        }
        if has_no_link(access, link) {
            return Ok(self.unlinked(thread, access));
        }
        let (init, uninitialised) = self.touch(thread, access)?;
        let old = match (access.reads(), link.from) {
            (true, None) => return Err(self.unfit(NO_SOURCE)),
            (false, Some(_)) => return Err(self.unfit("it reads nothing, but the schedule says from where")),
            (true, Some(Source::Initial)) if uninitialised && !access.raw => {
                let id = self.machine.memory().find(access.addr).expect("the access was checked");
                return Ok(Err(self.machine.fault(thread, access, Fault::Uninitialised(id))));
            }
            (true, Some(Source::Initial)) => init,
            (true, Some(Source::Step(from))) => self.written(from, access)?,
            (false, None) => self.machine.memory().remains(access.addr, access.size),
        };
        if access.until.is_some_and(|until| !until.holds(old, access.size)) {
            return Err(self.waits(thread));
        }
        let new = access.written(old).map(|new| crate::truncate(new, access.size));
        self.check_place(new.is_some(), link)?;
        if let Some(new) = new {
            self.note_write(Place::Bytes(access.addr));
            if let Err(fault) = self.machine.memory_mut().store(thread, access.addr, access.size, new) {
                return Ok(Err(self.machine.fault(thread, access, fault)));
            }
        }
        Ok(Ok(Done { old, new }))
    }

    /// A plain access that reads what memory holds.
    fn unlinked(&mut self, thread: ThreadId, access: &Access) -> Result<Done, Stop> {
        let memory = self.machine.memory_mut();
        let done = match access.kind {
            AccessKind::Store { value } => {
                self.unlinked.push((access.addr, access.size));
                let old = memory.remains(access.addr, access.size);
                let new = crate::truncate(value, access.size);
                memory.store(thread, access.addr, access.size, new).map(|()| Done { old, new: Some(new) })
            }
            _ => memory.load(thread, access.addr, access.size, access.raw).map(|old| Done { old, new: None }),
        };
        done.map_err(|fault| self.machine.fault(thread, access, fault))
    }

    fn check_place(&self, writes: bool, link: Link) -> Result<(), ReplayError> {
        match (writes, link.place) {
            (true, 0) => Err(self.unfit("it writes, but has no place in coherence order")),
            (false, 1..) => Err(self.unfit("it writes nothing, but has a place in coherence order")),
            _ => Ok(()),
        }
    }

    fn note_write(&mut self, place: Place) {
        let position = self.events.len();
        self.locations.entry(place).or_default().writes.push(position);
    }

    fn check(&self, thread: ThreadId, access: &Access) -> Result<(), Fault> {
        let memory = self.machine.memory();
        let id = memory.check(thread, access.addr, u64::from(access.size))?;
        let writes = !matches!(access.kind, AccessKind::Load);
        if writes && memory.object(id).kind == ObjectKind::Constant { Err(Fault::Constant(id)) } else { Ok(()) }
    }

    /// The initial value of what is accessed, and whether it was never written: what is in memory at the first access.
    fn touch(&mut self, thread: ThreadId, access: &Access) -> Result<(u64, bool), ReplayError> {
        let memory = self.machine.memory();
        let location = self.locations.entry(Place::Bytes(access.addr)).or_insert_with(|| Location {
            size: access.size,
            init: memory.load(thread, access.addr, access.size, true).unwrap_or(0),
            uninitialised: memory.load(thread, access.addr, access.size, false).is_err(),
            writes: Vec::new(),
        });
        let (size, initial) = (location.size, (location.init, location.uninitialised));
        if size == access.size { Ok(initial) } else { Err(self.unfit("it accesses a part of something larger")) }
    }

    /// What an earlier step wrote to the memory that is accessed.
    fn written(&self, from: usize, access: &Access) -> Result<u64, ReplayError> {
        let source = self.events.get(from);
        let value = source.and_then(|event| {
            let Op::Access(write) = event.op else { return None };
            let whole = (write.addr, write.size) == (access.addr, access.size);
            let within = write.addr <= access.addr && ends_at(access) <= ends_at(&write);
            let fits = whole || within && has_no_link(&write, event.link);
            let new = event.done.new.filter(|_| fits)?;
            Some(crate::truncate(new >> (8 * (access.addr.0 - write.addr.0)), access.size))
        });
        value.ok_or_else(|| self.unfit("what it reads from is not an earlier write to the same memory"))
    }

    fn synchronise(
        &mut self,
        thread: ThreadId,
        op: &Op,
        choice: u32,
        link: Link,
    ) -> Result<Result<Done, Stop>, ReplayError> {
        if let Some(Place::Condition(cond)) = place(op) {
            return self.condition(thread, op, cond, choice, link).map(Ok);
        }
        if link != Link::default() {
            return Err(self.unfit("it is no access, but the schedule says what it reads or writes"));
        }
        let mut done = Done { old: 0, new: None };
        match *op {
            Op::Fence { .. } | Op::Spawn { .. } => {}
            Op::Join { thread: other } if !self.machine.can_be_joined(other) => {
                return Err(self.waits(thread));
            }
            Op::Join { .. } => {}
            Op::Choose { alternatives } if choice >= alternatives.max(1) => return Err(self.waits(thread)),
            Op::Choose { .. } => done.old = u64::from(choice),
            Op::Free { addr, .. } => {
                let memory = self.machine.memory_mut();
                match memory.find(addr) {
                    Some(id) if memory.object(id).alive => memory.kill(id),
                    _ => return Ok(Err(self.machine.free_fault(thread, addr))),
                }
            }
            _ => return Err(self.unfit("it is of a kind that only interleavings have")),
        }
        Ok(Ok(done))
    }

    /// An operation on a condition variable; what it tells the thread is what it tells under sequential consistency.
    fn condition(
        &mut self,
        thread: ThreadId,
        op: &Op,
        cond: Addr,
        choice: u32,
        link: Link,
    ) -> Result<Done, ReplayError> {
        let mut waiting = match link.from.ok_or_else(|| self.unfit(NO_SOURCE))? {
            Source::Initial => Waiting::default(),
            Source::Step(from) => {
                let same = self.events.get(from).is_some_and(|e| place(&e.op) == Some(Place::Condition(cond)));
                let left = self.waiting.get(&from).filter(|_| same).cloned();
                left.ok_or_else(|| {
                    self.unfit("what it reads from is not an earlier step on the same condition variable")
                })?
            }
        };
        let (old, writes) = match op {
            Op::CondWait { .. } => (0, waiting.asleep.insert(thread)),
            Op::CondWake { early, .. } => {
                let woken = waiting.woken.remove(&thread);
                if !woken && !*early {
                    return Err(self.waits(thread));
                }
                waiting.asleep.remove(&thread);
                (u64::from(woken), true)
            }
            Op::CondSignal { .. } => match waiting.asleep.iter().nth(choice as usize).copied() {
                Some(chosen) => {
                    waiting.asleep.remove(&chosen);
                    (1, waiting.woken.insert(chosen))
                }
                None if choice > 0 => return Err(self.waits(thread)),
                None => (0, false),
            },
            _ => {
                let count = waiting.asleep.len() as u64;
                waiting.woken.append(&mut waiting.asleep);
                (count, count > 0)
            }
        };
        self.check_place(writes, link)?;
        if writes {
            self.note_write(Place::Condition(cond));
            self.waiting.insert(self.events.len(), waiting);
        }
        Ok(Done { old, new: None })
    }

    /// Checks that the writes to every location have one place each, and read-modify-writes the one behind their source.
    fn check_places(&self) -> Result<(), ReplayError> {
        for (&place, location) in &self.locations {
            if self.is_written_without_a_link(place, location.size) {
                continue;
            }
            let mut places: Vec<u32> = location.writes.iter().map(|&n| self.events[n].link.place).collect();
            places.sort_unstable();
            if !(1..).zip(&places).all(|(expected, &place)| place == expected) {
                let step = location.writes.last().map_or(0, |n| n + 1);
                return Err(ReplayError::Unfit { step, why: "its memory has no coherence order" });
            }
            for &n in &location.writes {
                let Link { from: Some(from), place } = self.events[n].link else { continue };
                if self.place_of(from) + 1 != place {
                    return Err(ReplayError::Unfit {
                        step: n + 1,
                        why: "something was written between its read and its write",
                    });
                }
            }
        }
        Ok(())
    }

    fn is_written_without_a_link(&self, place: Place, size: u8) -> bool {
        let Place::Bytes(addr) = place else { return false };
        let overlaps =
            |(at, length): &(Addr, u8)| at.0 < addr.0 + u64::from(size) && addr.0 < at.0 + u64::from(*length);
        self.unlinked.iter().any(overlaps)
    }

    fn place_of(&self, source: Source) -> u32 {
        match source {
            Source::Initial => 0,
            Source::Step(n) => self.events[n].link.place,
        }
    }

    /// Notes which reads do not see a newer write that comes before them.
    fn note_missed(&mut self) {
        for n in 0..self.events.len() {
            let Some(from) = self.events[n].link.from else { continue };
            let read = self.place_of(from);
            let Some(location) = place(&self.events[n].op).and_then(|place| self.locations.get(&place)) else {
                continue;
            };
            if place(&self.events[n].op).is_some_and(|at| self.is_written_without_a_link(at, location.size)) {
                continue;
            }
            let before = location.writes.iter().copied().take_while(|&write| write < n);
            let newest = before.max_by_key(|&write| self.events[write].link.place);
            self.events[n].missed = newest.filter(|&write| self.events[write].link.place > read);
        }
    }
}

/// Whether a schedule leaves open what a plain access reads and which writes it overwrites.
fn has_no_link(access: &Access, link: Link) -> bool {
    let simple = matches!(access.kind, AccessKind::Load | AccessKind::Store { .. });
    simple && !access.order.is_atomic() && !access.may_wait() && link == Link::default()
}

fn ends_at(access: &Access) -> u64 {
    access.addr.0 + u64::from(access.size)
}

/// The location that an Op is about.
fn place(op: &Op) -> Option<Place> {
    match *op {
        Op::Access(access) => Some(Place::Bytes(access.addr)),
        Op::CondWait { cond } | Op::CondWake { cond, .. } | Op::CondSignal { cond } | Op::CondBroadcast { cond } => {
            Some(Place::Condition(cond))
        }
        _ => None,
    }
}

/// What a thread is told about a step.
fn told(op: &Op, done: Done) -> Outcome {
    match op {
        Op::Access(access) if !access.reads() => 0,
        _ => done.old,
    }
}

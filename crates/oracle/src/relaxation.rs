//! Coarser equivalences: conflicts that nobody can notice order nothing.
//!
//! Two relaxations of the dependence relation, alone or together:
//!
//! - *ifaa* ("Awaiting for Godot", FMCAD 2022, Sec. II-C): two read-modify-writes of the same bytes whose old values are
//!   not used are independent if their operations commute (sums and differences; and, or, xor, minimum and maximum with
//!   themselves), and neither waits;
//! - *observers* (Aronis, Jonsson, Lång, Sagonas, "Optimal Dynamic Partial Order Reduction with Observers", TACAS 2018):
//!   two stores of the same bytes are ordered only if the later one is read by some step of the execution.
//!
//! The theory of observers is about locations that are accessed in one size only and that nobody awaits. Eight bytes
//! that some execution of the program accesses otherwise are *hard*: stores to them are ordered as usual.
//!
//! Who reads from whom is the same in equivalent executions, so a relaxed class is a union of ordinary ones. What the
//! threads have computed is the same in all of them; what is left in memory in the end need not be.

use crate::dependence::{ClassKey, Event, Touch, Trace, dependent, ordered};
use crate::enumerate::Run;
use selvedge_ir::RmwOp;
use selvedge_machine::{Access, AccessKind, Machine, Op, Status};
use std::collections::{BTreeSet, HashMap};

/// Which conflicts order nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Relaxation {
    /// Those of commuting read-modify-writes whose old values are not used.
    pub ifaa: bool,
    /// Those of stores that are not read.
    pub observers: bool,
}

impl Relaxation {
    /// None.
    pub const NONE: Relaxation = Relaxation { ifaa: false, observers: false };

    /// The key of the relaxed class of an execution.
    pub fn key(self, trace: &Trace, hard: &HardBytes) -> ClassKey {
        let events = &trace.events;
        let read = if self.observers { read_steps(events) } else { BTreeSet::new() };
        let mut relaxed = Trace::default();
        for (at, event) in events.iter().enumerate() {
            relaxed.push_after(event.clone(), |i, earlier| {
                let unnoticed = (self.ifaa && commute(earlier, event))
                    || (self.observers && same_store(earlier, event, hard) && !read.contains(&at));
                (dependent(earlier, event) && !unnoticed) || ordered(i, earlier, event)
            });
        }
        relaxed.key()
    }
}

/// Bytes to which stores are always ordered.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HardBytes {
    /// In which ranges each eight bytes are accessed.
    ranges: HashMap<u64, BTreeSet<(u64, u8)>>,
    hard: BTreeSet<u64>,
}

impl HardBytes {
    /// Notes all accesses of an execution, and those that threads wait with at its end.
    pub fn note<M: Machine>(&mut self, run: &Run<M>) {
        for event in &run.trace.events {
            self.note_op(&event.op);
            event.section.iter().for_each(|(access, _)| self.note_access(access));
        }
        for thread in run.sc.threads().filter(|&thread| run.sc.machine.status(thread) == Status::Ready) {
            self.note_op(run.sc.machine.pending(thread));
        }
    }

    fn note_op(&mut self, op: &Op) {
        if let Op::Access(access) = op {
            self.note_access(access);
        }
    }

    fn note_access(&mut self, access: &Access) {
        let (first, size) = (access.addr.0, access.size);
        let end = first + u64::from(size);
        let eights = first >> 3..=(end - 1) >> 3;
        for eight in eights.clone() {
            let ranges = self.ranges.entry(eight).or_default();
            ranges.insert((first, size));
            let other =
                |&(from, n): &(u64, u8)| (from, n) != (first, size) && from < end && first < from + u64::from(n);
            if access.until.is_some() || eights.start() != eights.end() || ranges.iter().any(other) {
                self.hard.insert(eight);
            }
        }
    }
}

/// The steps whose writes are read by a later step. An access that cannot be performed reads nothing, nor does any access
/// to an object that is dead; what an atomic
/// section would have stored, had it not been given up, is something that it looked at.
fn read_steps(events: &[Event]) -> BTreeSet<usize> {
    let mut newest: HashMap<u64, usize> = HashMap::new();
    let mut read = BTreeSet::new();
    for (at, event) in events.iter().enumerate().filter(|(_, event)| !event.faulty) {
        if let Op::Free { addr, size } = event.op {
            newest.retain(|byte, _| !(addr.0..addr.0 + size).contains(byte));
        }
        for (access, done) in event.accesses() {
            let touch = Touch::of(&access, &done);
            if access.reads() || !touch.writes {
                read.extend((touch.first..touch.end).filter_map(|byte| newest.get(&byte)));
            }
            if touch.writes {
                newest.extend((touch.first..touch.end).map(|byte| (byte, at)));
            }
        }
    }
    read
}

fn same_store(a: &Event, b: &Event, hard: &HardBytes) -> bool {
    let store = |event: &Event| match event.op {
        Op::Access(Access { addr, size, kind: AccessKind::Store { .. }, until: None, .. }) if !event.faulty => {
            Some((addr.0, size))
        }
        _ => None,
    };
    let soft = |(first, _): (u64, u8)| !hard.hard.contains(&(first >> 3));
    store(a).is_some_and(soft) && store(a) == store(b)
}

fn commute(a: &Event, b: &Event) -> bool {
    let unused = |event: &Event| match event.op {
        Op::Access(Access { addr, size, kind: AccessKind::Rmw { op, used: false, .. }, until: None, .. })
            if !event.faulty =>
        {
            Some((addr.0, size, family(op)?))
        }
        _ => None,
    };
    unused(a).is_some() && unused(a) == unused(b)
}

/// Operations with the same result commute with each other.
fn family(op: RmwOp) -> Option<RmwOp> {
    match op {
        RmwOp::Add | RmwOp::Sub => Some(RmwOp::Add),
        RmwOp::And | RmwOp::Or | RmwOp::Xor | RmwOp::Max | RmwOp::Min | RmwOp::UMax | RmwOp::UMin => Some(op),
        RmwOp::Xchg | RmwOp::Nand | RmwOp::FAdd | RmwOp::FSub => None,
    }
}

//! What a race leads to: the sequence that reverses it (Alg. 1, ll. 3-6 of the await paper).
//!
//! | paper | here |
//! |---|---|
//! | `pre(E, e)` | the level of the event `e` |
//! | `notdep(e, E)` | [`notdep`]: events after `e` that do not happen after it, to the end of `E` |
//! | `v = notdep(e, E).ê'` | the buffer `v` of [`reversed`] |
//!
//! In `v` every event keeps its outcome but the last: `e'` runs without `e` before it. What it then does is recomputed
//! ([`revised`]): a compare-and-exchange may now succeed or fail, a signal may find nobody who waits (its choice is
//! open again), and of an atomic section nothing is known. The value that an access finds is that of the newest write
//! in `pre(E, e).notdep(e, E)`, where all writes have the values that they had in `E`.

use crate::action::{ANY, Action, Footprint, access_footprint, overlap};
use crate::trace::{Event, EventId, Trace};
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, Done, Op};

/// `notdep(e, E)`, appended to `v`.
#[inline]
pub fn notdep(trace: &Trace, e: EventId, v: &mut Vec<Action>) {
    for f in e.index() + 1..trace.len() {
        if !trace.happens_before(e, EventId::new(f)) {
            v.push(trace.events()[f].action);
        }
    }
}

/// `notdep(e, E).ê'` in `v`.
pub fn reversed(trace: &Trace, e: EventId, e2: EventId, v: &mut Vec<Action>) {
    v.clear();
    notdep(trace, e, v);
    let kept = |f: EventId| f < e || !trace.happens_before(e, f);
    v.push(revised(trace, trace.event(e2), kept));
}

/// What an event does when it is executed after those events of the trace that are kept.
pub fn revised(trace: &Trace, event: &Event, kept: impl Fn(EventId) -> bool) -> Action {
    let mut action = event.action;
    match event.op {
        Op::Access(access) => action.footprint = revised_access(trace, &access, event.done.old, kept),
        Op::CondSignal { cond } | Op::CondBroadcast { cond } => {
            if matches!(event.op, Op::CondSignal { .. }) {
                action.choice = ANY;
            }
            let cond = cond.0;
            let nobody = waiting(trace, cond, kept) == 0;
            action.footprint = if nobody { Footprint::NotifyNobody { cond } } else { Footprint::Notify { cond } };
        }
        Op::AtomicBegin => action.footprint = Footprint::Anything,
        _ => {}
    }
    action
}

/// What an access touches when it is executed after the events that are kept. `found` is a value that the location had
/// at some time, used for bytes that no event ever wrote.
pub fn revised_access(trace: &Trace, access: &Access, found: u64, kept: impl Fn(EventId) -> bool) -> Footprint {
    match access.kind {
        selvedge_machine::AccessKind::Load => access_footprint(access, false),
        selvedge_machine::AccessKind::Cas { .. } => {
            let old = value(trace, access, found, kept);
            access_footprint(access, access.written(old).is_some())
        }
        _ => access_footprint(access, true),
    }
}

/// The value at the bytes of an access after the events that are kept.
pub fn value(trace: &Trace, access: &Access, found: u64, kept: impl Fn(EventId) -> bool) -> u64 {
    let (len, addr) = (u32::from(access.size), access.addr.0);
    let mut bytes = Bytes { addr, len, value: 0, known: 0, first: found };
    match trace.chain(addr, len) {
        Some(chain) => {
            for e in chain {
                bytes.older_event(trace, e, kept(e));
                if bytes.is_known() {
                    break;
                }
            }
        }
        None => {
            for e in (0..trace.len()).rev().map(EventId::new) {
                bytes.older_event(trace, e, kept(e));
            }
        }
    }
    bytes.result()
}

/// The bytes at an address, as older and older events are looked at.
struct Bytes {
    addr: u64,
    len: u32,
    value: u64,
    known: u64,
    /// What was there before the oldest event looked at.
    first: u64,
}

impl Bytes {
    fn older_event(&mut self, trace: &Trace, e: EventId, kept: bool) {
        for (access, done) in trace.accesses(e).rev() {
            self.older(access, done, kept);
        }
    }

    fn older(&mut self, access: &Access, done: &Done, kept: bool) {
        if !overlap(self.addr, self.len, access.addr.0, u32::from(access.size)) {
            return;
        }
        for n in 0..u64::from(access.size) {
            let at = (access.addr.0 + n).wrapping_sub(self.addr);
            if at >= u64::from(self.len) {
                continue;
            }
            let mask = 0xff << (8 * at);
            let byte = |value: u64| ((value >> (8 * n)) & 0xff) << (8 * at);
            if let Some(new) = done.new
                && kept
                && self.known & mask == 0
            {
                self.known |= mask;
                self.value |= byte(new);
            }
            self.first = (self.first & !mask) | byte(done.old);
        }
    }

    fn is_known(&self) -> bool {
        self.known == selvedge_machine::truncate(u64::MAX, self.len as u8)
    }

    fn result(&self) -> u64 {
        selvedge_machine::truncate(self.value | (self.first & !self.known), self.len as u8)
    }
}

/// How many threads wait on a condition variable without having been notified, after the events that are kept.
fn waiting(trace: &Trace, cond: u64, kept: impl Fn(EventId) -> bool) -> i64 {
    let mut count = 0;
    for (e, event) in trace.events().iter().enumerate() {
        if !kept(EventId::new(e)) {
            continue;
        }
        match event.op {
            Op::CondWait { cond: c } if c.0 == cond => count += 1,
            Op::CondWake { cond: c, .. } if c.0 == cond && event.done.old == 0 => count -= 1,
            Op::CondSignal { cond: c } | Op::CondBroadcast { cond: c } if c.0 == cond => count -= event.done.old as i64,
            _ => {}
        }
    }
    count
}

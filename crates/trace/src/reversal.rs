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
use crate::byte_range::Range;
use crate::trace::{Event, EventId, Trace};
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, Op};
use smallvec::SmallVec;

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

/// Whether `e'` touches bytes in a new way without `e` before it, such that it may depend on an event which depends
/// neither on `e` nor on `e'` as it was executed: a section that takes another path, or an exchange that now succeeds,
/// unless `e` writes all of its bytes and thus depends on whatever touches them.
pub fn touches_more(trace: &Trace, e: EventId, e2: EventId, revised: &Footprint) -> bool {
    match (&trace.event(e2).action.footprint, revised) {
        (executed, revised) if executed == revised => false,
        (Footprint::Section(executed), Footprint::Section(revised)) => {
            let executed = trace.dependence.parts(*executed);
            trace.dependence.parts(*revised).iter().any(|part| !executed.contains(part))
        }
        (Footprint::Read { .. }, revised) => !Range::of(&trace.event(e).action.footprint).covers(&Range::of(revised)),
        _ => false,
    }
}

/// What an access touches when it is executed after the events that are kept. `found` is a value that the location had
/// at some time, used for bytes that no event ever wrote.
pub fn revised_access(trace: &Trace, access: &Access, found: u64, kept: impl Fn(EventId) -> bool) -> Footprint {
    if trace.has_irregular() && is_dead(trace, access, &kept) {
        return access_footprint(access, false);
    }
    match access.kind {
        selvedge_machine::AccessKind::Load => access_footprint(access, false),
        selvedge_machine::AccessKind::Cas { .. } => {
            let old = value(trace, access, found, kept);
            access_footprint(access, access.written(old).is_some())
        }
        _ => access_footprint(access, true),
    }
}

/// Whether the object of an access is freed by an event that is kept: then the access only finds that out.
pub fn is_dead(trace: &Trace, access: &Access, kept: impl Fn(EventId) -> bool) -> bool {
    trace.events().iter().enumerate().any(|(e, event)| match event.op {
        Op::Free { addr, size } => {
            kept(EventId::new(e)) && overlap(addr.0, size as u32, access.addr.0, u32::from(access.size))
        }
        _ => false,
    })
}

/// The value at the bytes of an access after the events that are kept. Of a read-modify-write that commutes with others
/// the operation is kept, of any other write the value: what it read happens before it and is kept too.
pub fn value(trace: &Trace, access: &Access, found: u64, kept: impl Fn(EventId) -> bool) -> u64 {
    let fast = trace
        .chain(access.addr.0, u32::from(access.size))
        .and_then(|chain| value_chained(trace, access, found, chain, &kept));
    debug_assert!(fast.is_none_or(|fast| fast == value_plain(trace, access, found, &kept)), "both versions agree");
    fast.unwrap_or_else(|| value_plain(trace, access, found, &kept))
}

/// The fast version: from the newest event back to the newest write. `None` where ranges overlap without being equal.
fn value_chained(
    trace: &Trace,
    access: &Access,
    found: u64,
    chain: impl Iterator<Item = EventId>,
    kept: impl Fn(EventId) -> bool,
) -> Option<u64> {
    let mut commuting: SmallVec<[EventId; 8]> = SmallVec::new();
    let mut base = found;
    for e in chain {
        let event = trace.event(e);
        let other = event.access().expect("only accesses are in chains");
        if !overlap(access.addr.0, u32::from(access.size), other.addr.0, u32::from(other.size)) {
            continue;
        }
        if other.addr != access.addr || other.size != access.size {
            return None;
        }
        base = event.done.old;
        if let Some(new) = event.done.new
            && kept(e)
        {
            if !matches!(event.action.footprint, Footprint::Commute { .. }) {
                base = new;
                break;
            }
            commuting.push(e);
        }
    }
    let apply = |value, &e: &EventId| trace.event(e).access().and_then(|a| a.written(value)).unwrap_or(value);
    Some(commuting.iter().rev().fold(base, apply))
}

/// The plain version: forward through all events, byte by byte.
fn value_plain(trace: &Trace, access: &Access, found: u64, kept: impl Fn(EventId) -> bool) -> u64 {
    let (addr, len) = (access.addr.0, u64::from(access.size));
    let ids = || (0..trace.len()).map(EventId::new);
    // Bytes beyond the access matter to wider read-modify-writes that commute: start a little before it.
    let start = addr.saturating_sub(8);
    let mut bytes = [None; 24];
    let at = |address: u64| (address.wrapping_sub(start) as usize).min(24);
    for (n, byte) in found.to_le_bytes().iter().enumerate().take(len as usize) {
        bytes[at(addr + n as u64)] = Some(*byte);
    }
    for e in ids().rev() {
        for (other, done) in trace.accesses(e).rev() {
            for n in 0..u64::from(other.size) {
                if let Some(byte) = bytes.get_mut(at(other.addr.0 + n)) {
                    *byte = Some(done.old.to_le_bytes()[n as usize]);
                }
            }
        }
    }
    for e in ids().filter(|&e| kept(e)) {
        let commutes = matches!(trace.event(e).action.footprint, Footprint::Commute { .. });
        for (other, done) in trace.accesses(e) {
            let Some(mut new) = done.new else { continue };
            if commutes && overlap(other.addr.0, other.size.into(), addr, access.size.into()) {
                let mut old = [0; 8];
                for (n, byte) in old.iter_mut().enumerate().take(other.size as usize) {
                    *byte = bytes.get(at(other.addr.0 + n as u64)).copied().flatten().unwrap_or(0);
                }
                new = other.written(u64::from_le_bytes(old)).unwrap_or(new);
            }
            for n in 0..u64::from(other.size) {
                if let Some(byte) = bytes.get_mut(at(other.addr.0 + n)) {
                    *byte = Some(new.to_le_bytes()[n as usize]);
                }
            }
        }
    }
    let mut value = [0; 8];
    for (n, byte) in value.iter_mut().enumerate().take(len as usize) {
        *byte = bytes[at(addr + n as u64)].unwrap_or(0);
    }
    u64::from_le_bytes(value)
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

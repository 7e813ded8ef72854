//! Races of events that can be blocked (Alg. 1, ll. 7-22 of the await paper).
//!
//! | paper | here |
//! |---|---|
//! | `⟨e', E'⟩` | [`Waiter`]: an executed access with a condition, or a thread that is blocked at the end |
//! | `E'' = pre(E, e)` | the prefix before `e` |
//! | `w = notdep(e, E)` | `w` |
//! | `u ⊑ w` maximal such that `e'` is enabled after `E''.u` | `maximal_prefixes` |
//! | `can-stop`, `did-insert` | the same names |
//!
//! A mutex is an access that waits for its word to be free, so a race between two acquisitions is found here: before
//! the unlock the second is blocked, before the first lock it is not.
//!
//! An event `e` that the waiting thread's earlier events depend on cannot be reversed with `e'`; the paper has this in
//! "`e'` is enabled after `E''.u`", since without those earlier events `e'` is not its thread's next event.

use crate::action::{Action, Footprint, overlap};
use crate::reversal::{is_dead, revised_access, value};
use crate::trace::{EventId, Trace};
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, AccessKind, Op, ThreadId};

/// An access that waits for a condition.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    /// Who.
    pub thread: ThreadId,
    /// What it waits with.
    pub access: Access,
    /// Its position, if it was executed.
    pub executed: Option<EventId>,
    /// A value that the location had at some time in the execution.
    pub found: u64,
}

impl Waiter {
    /// The waiter that an executed event was.
    pub fn of_event(trace: &Trace, e: EventId) -> Waiter {
        let event = trace.event(e);
        let access = *event.access().expect("only accesses wait for a condition");
        Waiter { thread: event.action.thread, access, executed: Some(e), found: event.done.old }
    }

    fn follows(&self, trace: &Trace, e: EventId) -> bool {
        match self.executed {
            Some(own) => trace.precedes_in_program_order(e, own),
            None => trace.precedes_next_of(e, self.thread),
        }
    }

    fn is_enabled(&self, trace: &Trace, kept: impl Fn(EventId) -> bool) -> bool {
        let until = self.access.until.expect("a waiter has a condition");
        if trace.has_irregular() && is_dead(trace, &self.access, &kept) {
            return true; // it can go on, if only to find out that its object is dead
        }
        until.holds(value(trace, &self.access, self.found, kept), self.access.size)
    }
}

/// Calls `reverse(e, v)` for every event `e` that the waiter can be put before, with the sequence `v = u.e'` that does
/// it.
///
/// An event that only reads the bytes cannot enable or disable the waiter, but if the waiter writes them, the two
/// conflict. The paper leaves this open; here such a pair is reversed like any other if the waiter is enabled before
/// the read, unless there is a write of all bytes between them: then they are not adjacent in happens-before.
///
/// `probe(e, u)` says whether the waiter is enabled after `pre(E, e).u` by trying; it is asked only where values do not
/// tell, because memory was met that was never written.
pub fn blocking_races(
    trace: &Trace,
    waiter: &Waiter,
    mut probe: impl FnMut(EventId, &[Action]) -> bool,
    mut reverse: impl FnMut(EventId, &mut Vec<Action>),
) {
    let end = waiter.executed.map_or(trace.len(), EventId::index);
    let writes = !matches!(waiter.access.kind, AccessKind::Load);
    let mut can_stop = false; // l. 9
    let mut v = Vec::new();
    for e in (0..end).rev().map(EventId::new) {
        // ll. 10-11: from the end, the events that may enable or disable e'
        let influence = influence(trace, e, &waiter.access);
        match influence {
            Influence::None => continue,
            Influence::Reads if !writes || can_stop => continue,
            _ => {}
        }
        let covers = influence == Influence::WritesAll;
        if waiter.follows(trace, e) {
            if covers {
                break; // all older ones conflict with e and precede e' too
            }
            continue;
        }
        can_stop |= covers; // ll. 14-15
        let w = notdep(trace, e); // l. 13
        let prefixes = maximal_prefixes(trace, waiter, e, &w, &mut probe); // ll. 17-18
        let did_insert = !prefixes.is_empty(); // ll. 16, 19
        for removed in prefixes {
            let kept = |f: EventId| f < e || (!trace.happens_before(e, f) && !removed.contains(&f));
            v.clear(); // l. 20: v = u.e'
            v.extend(w.iter().filter(|f| !removed.contains(f)).map(|&f| trace.event(f).action));
            let footprint = revised_access(trace, &waiter.access, waiter.found, kept);
            v.push(Action { thread: waiter.thread, choice: 0, footprint });
            reverse(e, &mut v); // l. 21
        }
        if can_stop && did_insert {
            break; // l. 22
        }
    }
}

/// `notdep(e, E)`.
fn notdep(trace: &Trace, e: EventId) -> Vec<EventId> {
    (e.index() + 1..trace.len()).map(EventId::new).filter(|&f| !trace.happens_before(e, f)).collect()
}

/// What an event does to the bytes of an access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Influence {
    None,
    Reads,
    /// It may enable or disable the access.
    Writes,
    /// It writes all of them and does not commute with others: it conflicts with every event that may enable or disable
    /// the access.
    WritesAll,
}

fn influence(trace: &Trace, e: EventId, access: &Access) -> Influence {
    let (len, addr) = (u32::from(access.size), access.addr.0);
    let mut influence = Influence::None;
    if let Op::Free { addr: start, size } = trace.event(e).op
        && overlap(addr, len, start.0, size as u32)
    {
        return Influence::WritesAll;
    }
    let commutes = matches!(trace.event(e).action.footprint, Footprint::Commute { .. });
    for (other, done) in trace.accesses(e) {
        if !overlap(addr, len, other.addr.0, u32::from(other.size)) {
            continue;
        }
        let all = other.addr.0 <= addr && addr + u64::from(len) <= other.addr.0 + u64::from(other.size);
        influence = match (done.new.is_some(), all && !commutes) {
            (true, true) => Influence::WritesAll,
            (true, false) if influence != Influence::WritesAll => Influence::Writes,
            (false, _) if influence == Influence::None => Influence::Reads,
            _ => influence,
        };
    }
    influence
}

fn may_enable(trace: &Trace, e: EventId, access: &Access) -> bool {
    matches!(influence(trace, e, access), Influence::Writes | Influence::WritesAll)
}

/// The complements of the maximal happens-before prefixes `u` of `w` after which the waiter is enabled: first nothing is
/// removed, then the suffix of one event that may enable or disable it, and so on, until it is enabled.
fn maximal_prefixes(
    trace: &Trace,
    waiter: &Waiter,
    e: EventId,
    w: &[EventId],
    probe: &mut impl FnMut(EventId, &[Action]) -> bool,
) -> Vec<Vec<EventId>> {
    // What the waiter's own thread did before cannot be left out.
    let can_be_removed = |f: &EventId| may_enable(trace, *f, &waiter.access) && !waiter.follows(trace, *f);
    let influencing: Vec<EventId> = w.iter().copied().filter(can_be_removed).collect();
    let mut found: Vec<Vec<EventId>> = Vec::new();
    let mut layer = vec![Vec::new()];
    while !layer.is_empty() {
        let mut next: Vec<Vec<EventId>> = Vec::new();
        for removed in layer {
            if found.iter().any(|smaller| smaller.iter().all(|f| removed.contains(f))) {
                continue;
            }
            let kept = |f: EventId| f < e || (!trace.happens_before(e, f) && !removed.contains(&f));
            let enabled = if trace.has_uninitialised() {
                let u: Vec<Action> =
                    w.iter().filter(|f| !removed.contains(f)).map(|&f| trace.event(f).action).collect();
                probe(e, &u)
            } else {
                waiter.is_enabled(trace, kept)
            };
            if enabled {
                found.push(removed);
                continue;
            }
            for &x in influencing.iter().filter(|x| !removed.contains(x)) {
                let mut more = removed.clone();
                more.extend(w.iter().copied().filter(|&f| !removed.contains(&f) && trace.happens_before(x, f)));
                more.sort_unstable();
                if !next.contains(&more) {
                    next.push(more);
                }
            }
        }
        // Small removals first, so that what is found is maximal.
        next.sort_by_key(Vec::len);
        layer = next;
    }
    found
}

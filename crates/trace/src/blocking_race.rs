//! Races of events that can be blocked (Alg. 1, ll. 7-22 of the await paper).
//!
//! | paper | here |
//! |---|---|
//! | `⟨e', E'⟩` | [`Waiter`]: an executed access with a condition, or a thread that is blocked at the end |
//! | `E'' = pre(E, e)` | the prefix before `e` |
//! | `w = notdep(e, E)` | `w` |
//! | `u ⊑ w` maximal such that `e'` is enabled after `E''.u` | [`maximal_prefixes`] |
//! | `can-stop`, `did-insert` | the same names |
//!
//! A mutex is an access that waits for its word to be free, so a race between two acquisitions is found here: before
//! the unlock the second is blocked, before the first lock it is not.
//!
//! An event `e` that the waiting thread's earlier events depend on cannot be reversed with `e'`; the paper has this in
//! "`e'` is enabled after `E''.u`", since without those earlier events `e'` is not its thread's next event.

use crate::action::{Action, Footprint, overlap};
use crate::reversal::{revised_access, value};
use crate::trace::{EventId, Trace};
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, ThreadId};

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
        until.holds(value(trace, &self.access, self.found, kept), self.access.size)
    }
}

/// Calls `reverse(e, v)` for every event `e` that the waiter can be put before, with the sequence `v = u.e'` that does
/// it.
pub fn blocking_races(trace: &Trace, waiter: &Waiter, mut reverse: impl FnMut(EventId, &mut Vec<Action>)) {
    let end = waiter.executed.map_or(trace.len(), EventId::index);
    let mut can_stop = false; // l. 9
    let mut v = Vec::new();
    for e in (0..end).rev().map(EventId::new) {
        // ll. 10-11: from the end, the events that may enable or disable e'
        let Some(covers) = influence(trace, e, &waiter.access) else { continue };
        if waiter.follows(trace, e) {
            if covers {
                break; // all older ones conflict with e and precede e' too
            }
            continue;
        }
        can_stop |= covers; // ll. 14-15
        let w: Vec<EventId> = // l. 13
            (e.index() + 1..trace.len()).map(EventId::new).filter(|&f| !trace.happens_before(e, f)).collect();
        let prefixes = maximal_prefixes(trace, waiter, e, &w); // ll. 17-18
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

/// Whether an event writes to the bytes of an access, and if so, whether it writes all of them (and does not commute
/// with others): then it conflicts with every event that may enable or disable the access.
fn influence(trace: &Trace, e: EventId, access: &Access) -> Option<bool> {
    let (len, addr) = (u32::from(access.size), access.addr.0);
    let mut influences = false;
    let mut covers = false;
    let commutes = matches!(trace.event(e).action.footprint, Footprint::Commute { .. });
    for (other, done) in trace.accesses(e) {
        if done.new.is_some() && overlap(addr, len, other.addr.0, u32::from(other.size)) {
            influences = true;
            covers |=
                !commutes && other.addr.0 <= addr && addr + u64::from(len) <= other.addr.0 + u64::from(other.size);
        }
    }
    influences.then_some(covers)
}

/// The complements of the maximal happens-before prefixes `u` of `w` after which the waiter is enabled: first nothing is
/// removed, then the suffix of one event that may enable or disable it, and so on, until it is enabled.
fn maximal_prefixes(trace: &Trace, waiter: &Waiter, e: EventId, w: &[EventId]) -> Vec<Vec<EventId>> {
    let influencing: Vec<EventId> =
        w.iter().copied().filter(|&f| influence(trace, f, &waiter.access).is_some()).collect();
    let mut found: Vec<Vec<EventId>> = Vec::new();
    let mut layer = vec![Vec::new()];
    while !layer.is_empty() {
        let mut next: Vec<Vec<EventId>> = Vec::new();
        for removed in layer {
            if found.iter().any(|smaller| smaller.iter().all(|f| removed.contains(f))) {
                continue;
            }
            let kept = |f: EventId| f < e || (!trace.happens_before(e, f) && !removed.contains(&f));
            if waiter.is_enabled(trace, kept) {
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

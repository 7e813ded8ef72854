//! Races that need not be reversed again, and why.
//!
//! Algorithm 1 looks at every race of every maximal execution. Executions that come one after the other share a prefix,
//! and most of their races are the same; this file says which of them the algorithm would look at in vain.
//!
//! **What the algorithm needs.** Let `e` and `e'` race in `E`, let `E' = pre(E, e)` and `v = notdep(e, E).ê'`. The proof
//! that no class is missed (Abdulla et al., JACM 2017; await paper, Thm. 2) goes like this. Suppose that the
//! exploration of some prefix `E'.u` ends and an extension `E'.u.w` has been missed. No step that sleeps there is a weak
//! initial of `w`, so each is dependent with some event of `w`; take the one, `q`, whose first such event `e'` comes
//! last, and of these the one that was explored first, say at `E'`, so that `u` is independent with `q`. Write
//! `w = w'.e'.w''`. Then an execution `E` equivalent to some `E'.q.u.w'.ê'...` was explored from `E'.q`, and in it `q` races
//! with `e'`. All of `u.w'` is in `notdep(q, E)`, and what else is there is independent with `e'`; hence
//! `u.w'.e' ⊑ v`. Now `v` was redundant, or was inserted into the wakeup tree of `E'`. In the one case a step of
//! `sleep(E')`, in the other a branch beside the path `u` or below its end, is a weak initial of `v` and therefore of its
//! happens-before prefix `u.w'.e'`. Either sleeps when the exploration of `E'.u` ends, and its first dependent event comes
//! after `e'`: a contradiction to the choice of `q`.
//!
//! Of `v` the proof uses only that `u.w'.e'` is a happens-before prefix of it, that it was handed to `insert` at `E'`
//! (unless it was redundant there), and that this was done while `E'.q` was being explored. So:
//!
//! > If some `v+` with `v ⊑ v+` was handed to `insert` at `pre(E, e)` since `e` was executed, then `v` need not be.
//!
//! That fewer sequences are inserted cannot make the exploration redundant: each is checked by itself.
//!
//! **When there is such a sequence.** Let `E` follow `F` in the exploration, let `P` be their common prefix, and let `e` and
//! `e'` be in `P`. In `F` the race was handled with `v+ = notdep(e, P).f.ê'`, where `f` is the part of `notdep(e, F)`
//! behind `P`; or it was settled there, and something longer had been handled before. If every event of `E` behind `P`
//! happens after `e`, then `v = notdep(e, P).ê'`. The events of `f` come behind `e'` in `F` and do not happen after
//! `e`, so not after `e'`: they are independent with `e'`, and `v.f` is equivalent to `v+`. Hence `v ⊑ v+`: the race is
//! settled ([`Settled::holds`]). If some new event does not happen after `e`, then `v` has an event that `v+` did not have,
//! and a sleeping step that was a weak initial of `v+` may depend on it: `v` has to be handled.
//!
//! **Where this does not apply.**
//! 1. "Independent with `e'`" is about `e'` as it was executed in `F`, after `e`. In `v` it is executed without `e`, and may
//!    do more ([`touches_more`]): an exchange that failed may succeed, an atomic section may take another path. It may then
//!    depend on `f`, and `v` is no prefix of `v+`. Such races stay open and are reversed in every execution.
//! 2. Races of events that can be blocked are reversed by the search for maximal prefixes that enable them (await paper,
//!    Alg. 1, ll. 7-22). Such a prefix may end in an event of `f` that `e'` depends on. They are reversed in every
//!    execution. Other races of the same execution are not concerned: whether `e'` is enabled is not in question there.
//! 3. With observers the order of old events depends on new ones. All races are reversed in every execution.
//!
//! In Source-DPOR, `v` ends at `e'`: it is the same in every execution with the prefix, and once is enough (but for 1).
//!
//! [`touches_more`]: crate::reversal::touches_more

use crate::trace::{EventId, Trace};

/// What is known about races that were reversed in the execution before.
#[derive(Default)]
pub struct Settled {
    /// Races of the trace up to here have been reversed.
    reversed: usize,
    /// Those of them that have to be reversed again in every execution, in order.
    open: Vec<usize>,
    /// How many events of the trace were there when races were reversed.
    seen: usize,
    /// Per thread, how many of its events happen before all events that are new since then.
    past: Vec<u32>,
}

impl Settled {
    /// Nothing is settled any more.
    pub fn clear(&mut self) {
        self.reversed = 0;
        self.seen = 0;
        self.open.clear();
    }

    /// A maximal execution is about to have its races reversed.
    pub fn start(&mut self, trace: &Trace) {
        trace.common_past(self.seen, &mut self.past);
    }

    /// Whether the n-th race, of `e` with something, is settled.
    #[inline]
    pub fn holds(&self, trace: &Trace, n: usize, e: EventId, optimal: bool) -> bool {
        let event = trace.event(e);
        n < self.reversed
            && (!optimal || event.index <= self.past[selvedge_ir::EntityRef::index(event.action.thread)])
            && self.open.binary_search(&n).is_err()
    }

    /// The n-th race is to be reversed in every execution.
    pub fn leave_open(&mut self, n: usize) {
        if let Err(at) = self.open.binary_search(&n) {
            self.open.insert(at, n);
        }
    }

    /// All races of the present execution have been reversed.
    pub fn end(&mut self, trace: &Trace) {
        self.reversed = trace.races().len();
        self.seen = trace.len();
    }

    /// The newest event was taken back, and its races with it.
    #[inline]
    pub fn taken_back(&mut self, trace: &Trace) {
        self.reversed = self.reversed.min(trace.races().len());
        self.seen = self.seen.min(trace.len());
        while self.open.pop_if(|race| *race >= self.reversed).is_some() {}
    }
}

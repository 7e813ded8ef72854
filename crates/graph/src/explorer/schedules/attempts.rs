//! What has to hold where attempts that fail are left out.
//!
//! The exchange of an attempt confirms what was loaded before: if it does not find that, the attempt has failed, and nothing comes of
//! it. Machines that find out by themselves what attempts leave (the Rust library's `retry.rs`) rely on this, as they do if there is
//! no bound (`speculative.rs`):
//! - writes of the location are ordered by program order and reads-from, or happen in order anyway. Otherwise a value may have come
//!   before another one, in coherence order, that was not there yet when the attempt was looked at;
//! - between the load and the exchange, the thread does nothing but read, and store what nobody else sees before the exchange.
//!
//! Where that turns out not to be so, the machine is told.
//!
//! If the exchange comes directly after the load, it reads from what that has read from, and from nothing else, as without a bound
//! (`older_value.rs`). That takes no more preemptions: who makes room between the two might as well have done so before the load.

use crate::event::{Event, EventId, Kind, LocId};
use crate::explorer::Explorer;
use crate::explorer::tested::is_no_stronger;
use crate::models::Model;
use crate::request::{Request, Role};
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::{AccessKind, Machine, ThreadId, truncate};
use smallvec::SmallVec;

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// Attempts at a location cannot be left out.
    fn attempts_count(&mut self, loc: LocId) {
        if !std::mem::replace(&mut self.habits[loc.index()].irregular, true) {
            let (addr, _) = self.runner.place(loc);
            self.runner.machine.speculates_in_vain(addr);
        }
    }

    /// Notes that a write is not ordered after the coherence-last one by program order and reads-from.
    pub(in crate::explorer) fn note_unordered_in_run(&mut self, loc: LocId) {
        if self.writes_in_order() {
            return;
        }
        self.habits[loc.index()].unordered = true;
        if self.habits[loc.index()].speculative {
            self.attempts_count(loc);
        }
    }

    /// A thread has come to an access: whether it belongs to an attempt that does what it must not do.
    pub(super) fn look_at_attempt(&mut self, thread: ThreadId, request: &Request, loc: LocId) {
        if request.access.speculative.is_some() && !self.habits[loc.index()].speculative {
            self.habits[loc.index()].speculative = true;
            if self.habits[loc.index()].unordered {
                self.attempts_count(loc);
            }
        }
        if request.access.confirms && request.access.until.is_some() && !self.is_regular(thread, request, loc) {
            self.attempts_count(loc);
        }
    }

    /// Whether a thread that has come to an exchange has done nothing that others see since it has loaded what that confirms.
    fn is_regular(&mut self, thread: ThreadId, request: &Request, loc: LocId) -> bool {
        let AccessKind::Cas { expected, .. } = request.access.kind else { return false };
        let graph = &self.frames.top.graph;
        for &e in graph.thread(thread).iter().rev() {
            let event = graph.event(e);
            match event.kind {
                Kind::Read if event.exclusive => return false,
                Kind::Read if event.loc == loc => return event.value == truncate(expected, request.access.size),
                Kind::Read => {}
                Kind::Write if !event.exclusive && event.role == Role::Memory => {
                    let is_own = graph.location(event.loc).accesses().all(|x| graph.event(x).thread == thread);
                    if !is_own || !self.runner.machine.overwrites_own_stores() {
                        return false;
                    }
                    self.habits[event.loc.index()].kept_back = true;
                }
                _ => return false,
            }
        }
        false
    }

    /// What an exchange reads from that confirms a load directly before it.
    pub(super) fn confirmed_in_run(&self, thread: ThreadId, request: &Request, loc: LocId) -> Option<EventId> {
        let access = &request.access;
        if !(self.options.reductions.direct && access.confirms && request.part.is_none()) {
            return None;
        }
        let AccessKind::Cas { expected, .. } = access.kind else { return None };
        // Stores to its own objects may come in between, as they may without a bound.
        let graph = self.graph();
        let is_store = |event: &Event| {
            event.kind == Kind::Write && !event.exclusive && !event.order.releases() && event.role == Role::Memory
        };
        let mut before = graph.thread(thread).iter().rev().map(|&e| graph.event(e));
        let last = before.next()?;
        let stores = is_store(last);
        let load = if stores { before.find(|event| !is_store(event))? } else { last };
        let is_it = load.kind == Kind::Read
            && (!stores || load.order == Order::Relaxed)
            && !load.exclusive
            && load.loc == loc
            && load.part.is_none()
            && load.value == truncate(expected, access.size)
            && is_no_stronger(load.order, access.order);
        is_it.then_some(load.rf)
    }

    /// An access to a location to which others have stored what they keep back until an exchange: it must come after that, and see
    /// nothing older (`speculative.rs`).
    pub(in crate::explorer) fn check_kept_back_in_run(&mut self, e: EventId) {
        let graph = self.graph();
        let Event { loc, thread, .. } = *graph.event(e);
        let others = graph.location(loc).co.iter().copied().filter(|&w| graph.event(w).thread != thread);
        let kept = others.filter_map(|w| self.kept_back_until(w).map(|exchange| (w, exchange)));
        let kept: SmallVec<[(EventId, EventId); 4]> = kept.collect();
        if kept.is_empty() {
            return;
        }
        let oldest = self.lower_bound(e);
        for (w, exchange) in kept {
            let graph = self.graph();
            if !graph.porf(exchange, e) || oldest < graph.event(w).co {
                self.attempts_count(graph.event(exchange).loc);
            }
        }
    }

    /// The exchange that confirms what was loaded before a store, if the two are parts of one attempt. (If the exchange is not there
    /// yet, it will be seen then that somebody else has accessed what was stored.)
    fn kept_back_until(&self, store: EventId) -> Option<EventId> {
        let graph = self.graph();
        let event = graph.event(store);
        let (before, after) = graph.thread(event.thread).split_at(event.index as usize - 1);
        let exchange = *after.iter().find(|&&e| graph.event(e).confirms)?;
        let word = graph.event(exchange).loc;
        let is_of_word = |&&e: &&EventId| graph.event(e).is_read() && graph.event(e).loc == word;
        let since = after.iter().take_while(|&&e| e != exchange).find(is_of_word);
        (since.is_none() && before.iter().any(|e| is_of_word(&e))).then_some(exchange)
    }
}

//! What `seq_cst` fences come before and after, location by location.
//!
//! Reads and writes of a location have *keys* in the order of eco: a write at place p of the coherence order has 2p + 1, and
//! a read from it 2p + 2. Of two accesses x and y, eco leads from x to y iff x has the smaller key, and co or fr does iff y is
//! a write besides.
//!
//! So an edge between what comes after one fence and what comes before another one is there iff, at some location, the
//! smallest key of the former is smaller than the largest of the latter. The rows of a fence are computed when they are
//! asked for: what comes before it is a beginning of every thread, and what comes after it is an end.

use crate::event::{EventId, LocId};
use crate::graph::Graph;
use selvedge_ir::EntityRef;
use selvedge_machine::ThreadId;

/// The key of an access.
pub fn key(graph: &Graph, e: EventId) -> u32 {
    2 * graph.position(e) + if graph.event(e).is_write() { 1 } else { 2 }
}

/// By location: the smallest key after a fence, and the largest one before it, of all accesses and of writes.
#[derive(Default, Debug)]
struct Rows {
    after: Vec<u32>,
    before: Vec<(u32, u32)>,
}

/// The rows of all fences, by their number among the `seq_cst` events.
#[derive(Default, Debug)]
pub struct FenceReach {
    rows: Vec<Rows>,
}

impl FenceReach {
    /// Nothing is known of the fences of another graph.
    pub fn start(&mut self, events: usize) {
        if self.rows.len() < events {
            self.rows.resize_with(events, Rows::default);
        }
        for rows in &mut self.rows[..events] {
            rows.after.clear();
            rows.before.clear();
        }
    }

    /// Computes what comes after a fence.
    pub fn know_after(&mut self, graph: &Graph, row: usize, number: usize, fence: EventId) {
        let after = &mut self.rows[number].after;
        if !after.is_empty() {
            return;
        }
        after.resize(graph.locations().count(), u32::MAX);
        let event = graph.event(fence);
        for thread in (0..graph.thread_limit()).map(ThreadId::new) {
            let is_after = |e: EventId| graph.clocks.before(row, event, e);
            for &e in graph.thread(thread).iter().rev().take_while(|&&e| is_after(e)) {
                if graph.event(e).is_access() && !graph.event(e).reads_nothing() {
                    let first = &mut after[graph.event(e).loc.index()];
                    *first = (*first).min(key(graph, e));
                }
            }
        }
    }

    /// Computes what comes before a fence.
    pub fn know_before(&mut self, graph: &Graph, row: usize, number: usize, fence: EventId) {
        let before = &mut self.rows[number].before;
        if !before.is_empty() {
            return;
        }
        before.resize(graph.locations().count(), (0, 0));
        for thread in (0..graph.thread_limit()).map(ThreadId::new) {
            let count = graph.clocks.get(row, fence, thread) as usize;
            for &e in &graph.thread(thread)[..count] {
                let event = graph.event(e);
                if event.is_access() {
                    let (last, last_write) = &mut before[event.loc.index()];
                    *last = (*last).max(key(graph, e));
                    if event.is_write() {
                        *last_write = (*last_write).max(key(graph, e));
                    }
                }
            }
        }
    }

    /// Whether eco leads from what comes after a fence to what comes before another one.
    pub fn communicate(&self, from: usize, to: usize) -> bool {
        self.rows[from].after.iter().zip(&self.rows[to].before).any(|(first, (last, _))| first < last)
    }

    /// The smallest key of a location after a fence.
    pub fn first_after(&self, number: usize, loc: LocId) -> u32 {
        self.rows[number].after[loc.index()]
    }

    /// The largest key of a location before a fence; 0 if there is none.
    pub fn last_before(&self, number: usize, loc: LocId) -> u32 {
        self.rows[number].before[loc.index()].0
    }

    /// The largest key of a write of a location before a fence; 0 if there is none.
    pub fn last_write_before(&self, number: usize, loc: LocId) -> u32 {
        self.rows[number].before[loc.index()].1
    }
}

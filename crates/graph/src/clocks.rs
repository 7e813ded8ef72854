//! What comes before an event: vector clocks, computed once when the event is added.
//!
//! Two orders are kept for every event, as the number of events of each thread that come before it (or are it):
//!
//! - `PORF`: program order, reads-from, creation and end of threads;
//! - `HB`: the happens-before of RC11, with which data races are defined under every model: program order, creation and
//!   end of threads, and *synchronises-with* from release writes and fences to acquire reads and fences, through release
//!   sequences of read-modify-writes.
//!
//! Three more rows make `HB` incremental: what an acquire read of a write learns (`RELEASED`), what relaxed reads of the
//! thread would have learned, for a later acquire fence (`UNFENCED`), and what was known at the thread's newest release
//! fence, for later relaxed writes (`FENCED`).
//!
//! Both orders depend on the events before an event only, so that a part of a graph which is closed under `PORF` can be
//! copied with its clocks.

use crate::event::{Event, EventId, Kind};
use selvedge_ir::EntityRef;
use selvedge_machine::ThreadId;

/// Program order and reads-from.
pub const PORF: usize = 0;
/// Happens-before.
pub const HB: usize = 1;
const RELEASED: usize = 2;
const UNFENCED: usize = 3;
const FENCED: usize = 4;
const ROWS: usize = 5;
/// No row is narrower.
pub const NARROW: usize = 4;

/// The clocks of all events of a graph.
#[derive(Clone, Default, Debug)]
pub struct Clocks {
    rows: Vec<u32>,
    /// Threads that a row has room for.
    width: usize,
}

impl Clocks {
    /// Forgets all events.
    pub fn clear(&mut self) {
        self.rows.clear();
    }

    /// Forgets all events and threads.
    pub fn reset(&mut self) {
        self.rows.clear();
        self.width = 0;
    }

    /// Keeps the clocks of the first `events`.
    pub fn truncate(&mut self, events: usize) {
        self.rows.truncate(events * ROWS * self.width);
    }

    /// Makes room for threads with numbers below `threads`.
    pub fn widen(&mut self, threads: usize) {
        if threads <= self.width {
            return;
        }
        let width = threads.next_power_of_two().max(NARROW);
        if let Some(count) = self.rows.len().checked_div(self.width) {
            let mut rows = vec![0; count * width];
            for (new, old) in rows.chunks_exact_mut(width).zip(self.rows.chunks_exact(self.width)) {
                new[..self.width].copy_from_slice(old);
            }
            self.rows = rows;
        }
        self.width = width;
    }

    /// Takes over the clocks of an event of another graph.
    pub fn copy(&mut self, from: &Clocks, e: EventId) {
        debug_assert!(self.rows.is_empty() || self.width == from.width, "graphs that are copied have the same width");
        self.width = from.width;
        let size = ROWS * self.width;
        self.rows.extend_from_slice(&from.rows[e.index() * size..][..size]);
    }

    #[inline]
    fn row(&self, e: EventId, row: usize) -> &[u32] {
        &self.rows[(e.index() * ROWS + row) * self.width..][..self.width]
    }

    /// How many events of a thread come before `e` (or are it).
    #[inline]
    pub fn get(&self, row: usize, e: EventId, thread: ThreadId) -> u32 {
        self.rows[(e.index() * ROWS + row) * self.width + thread.index()]
    }

    /// Computes the clocks of the newest event, or of an older one again after its source has changed.
    ///
    /// `last` is the last event of the thread that a `Join` waits for, or the signal that woke a thread; `source` the write that an exclusive write's
    /// read reads from.
    pub fn compute(&mut self, e: EventId, event: &Event, last: Option<EventId>, source: Option<EventId>) {
        let size = ROWS * self.width;
        let at = e.index() * size;
        if self.rows.len() <= at {
            self.rows.resize(at + size, 0);
        }
        let first = event.index == 1;
        match event.pred.is_event() {
            true => {
                let pred = event.pred.index() * size;
                self.rows.copy_within(pred..pred + 2 * self.width, at);
                if first {
                    self.rows[at + UNFENCED * self.width..at + size].fill(0);
                } else {
                    self.rows.copy_within(pred + UNFENCED * self.width..pred + size, at + UNFENCED * self.width);
                }
            }
            false => self.rows[at..at + size].fill(0),
        }
        let own = event.thread.index();
        self.rows[at + PORF * self.width + own] = event.index;
        self.rows[at + HB * self.width + own] = event.index;
        match event.kind {
            Kind::Read if event.rf.is_event() => {
                self.join(at, PORF, event.rf, PORF);
                if event.phantom {
                    // It is not what the program does.
                } else if event.order.acquires() {
                    self.join(at, HB, event.rf, RELEASED);
                } else if event.order.is_atomic() {
                    self.join(at, UNFENCED, event.rf, RELEASED);
                }
            }
            Kind::Write => {
                if event.order.releases() {
                    self.rows.copy_within(at + HB * self.width..at + RELEASED * self.width, at + RELEASED * self.width);
                } else if event.order.is_atomic() {
                    self.rows.copy_within(at + FENCED * self.width..at + size, at + RELEASED * self.width);
                } else {
                    self.rows[at + RELEASED * self.width..at + UNFENCED * self.width].fill(0);
                }
                if let Some(source) = source.filter(|source| source.is_event()) {
                    self.join(at, RELEASED, source, RELEASED);
                }
            }
            Kind::Fence => {
                if event.order.acquires() {
                    self.join(at, HB, e, UNFENCED);
                }
                if event.order.releases() {
                    self.rows.copy_within(at + HB * self.width..at + RELEASED * self.width, at + FENCED * self.width);
                }
            }
            _ => {}
        }
        if let Some(last) = last {
            self.join(at, PORF, last, PORF);
            self.join(at, HB, last, HB);
        }
    }

    fn join(&mut self, at: usize, row: usize, from: EventId, from_row: usize) {
        let mine = at + row * self.width;
        let theirs = (from.index() * ROWS + from_row) * self.width;
        // A read that was revisited reads from a write that was added later.
        let (low, high) = self.rows.split_at_mut(mine.max(theirs));
        let (mine, theirs) = match mine < theirs {
            true => (&mut low[mine..][..self.width], &high[..self.width]),
            false => (&mut high[..self.width], &low[theirs..][..self.width]),
        };
        for (mine, theirs) in mine.iter_mut().zip(theirs) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Whether `first` comes before `then` (or is it) in the order of a row.
    #[inline]
    pub fn before(&self, row: usize, first: &Event, then: EventId) -> bool {
        self.row(then, row)[first.thread.index()] >= first.index
    }
}

//! What comes before an event: vector clocks, computed once when the event is added.
//!
//! Two orders are kept for every event, as the number of events of each thread that come before it (or are it):
//!
//! - `PORF`: program order, reads-from, creation and end of threads;
//! - `HB`: the happens-before of RC11, with which data races are defined under every model: program order, creation and
//!   end of threads, and *synchronises-with* from release writes and fences to acquire reads and fences, through release
//!   sequences of read-modify-writes.
//!
//! One more row makes `HB` incremental: what an acquire read of a write learns (`RELEASED`). Fences need no rows of their
//! own, since most programs have none: a relaxed write releases what its thread's newest release fence knew
//! ([`Event::fence`]), and an acquire fence looks at what the relaxed reads before it would have learned
//! ([`Clocks::acquire`]).
//!
//! Both orders depend on the events before an event only, so that a part of a graph which is closed under `PORF` can be
//! copied with its clocks.

use crate::event::{Event, EventId, Kind};
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::ThreadId;

/// Program order and reads-from.
pub const PORF: usize = 0;
/// Happens-before.
pub const HB: usize = 1;
const RELEASED: usize = 2;
const ROWS: usize = 3;
/// No row is narrower.
pub const NARROW: usize = 4;

/// What the clocks of an event depend on.
#[derive(Clone, Copy, Debug)]
pub struct Basis {
    thread: ThreadId,
    index: u32,
    kind: Kind,
    order: Order,
    phantom: bool,
    pred: EventId,
    rf: EventId,
    fence: EventId,
    last: EventId,
    /// Whether `last` does not happen before the event, but comes before it all the same.
    silent: bool,
    source: EventId,
}

impl Basis {
    /// `last` is the last event of the thread that a `Join` waits for, or the signal that woke a thread; `source` the write
    /// that an exclusive write's read reads from. Signals may be silent.
    #[inline(always)]
    pub fn of(event: &Event, last: EventId, source: EventId, silent: bool) -> Basis {
        let Event { thread, index, kind, order, phantom, pred, rf, fence, .. } = *event;
        let silent = silent && kind != Kind::Join;
        Basis { thread, index, kind, order, phantom, pred, rf, fence, last, silent, source }
    }
}

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
    #[inline]
    pub fn widen(&mut self, threads: usize) {
        if threads > self.width {
            self.grow(threads);
        }
    }

    fn grow(&mut self, threads: usize) {
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

    /// Takes over the clocks of another graph.
    pub fn copy_from(&mut self, other: &Clocks) {
        self.width = other.width;
        self.rows.clone_from(&other.rows);
    }

    /// An event has another number now.
    #[inline]
    pub fn rename(&mut self, e: EventId, name: EventId) {
        let size = ROWS * self.width;
        let at = e.index() * size;
        self.rows.copy_within(at..at + size, name.index() * size);
    }

    /// How many events of a thread come before `e` (or are it).
    #[inline]
    pub fn get(&self, row: usize, e: EventId, thread: ThreadId) -> u32 {
        self.rows[(e.index() * ROWS + row) * self.width + thread.index()]
    }

    /// How many events have clocks.
    pub fn count(&self) -> usize {
        self.rows.len().checked_div(ROWS * self.width).unwrap_or(0)
    }

    /// Computes the clocks of a new event.
    #[inline(always)]
    pub fn push(&mut self, event: Basis) {
        match self.width {
            4 => self.rows.extend_from_slice(narrow::<4>(&self.rows, &event).as_flattened()),
            _ => self.push_wider(event),
        }
    }

    #[inline(never)]
    fn push_wider(&mut self, event: Basis) {
        match self.width {
            8 => self.rows.extend_from_slice(narrow::<8>(&self.rows, &event).as_flattened()),
            _ => self.compute_wide(EventId::new(self.count()), &event),
        }
    }

    /// Computes the clocks of an event again, after its source has changed.
    #[inline]
    pub fn compute(&mut self, e: EventId, event: &Basis) {
        match self.width {
            4 => self.set(e, narrow::<4>(&self.rows, event)),
            8 => self.set(e, narrow::<8>(&self.rows, event)),
            _ => self.compute_wide(e, event),
        }
    }

    #[inline(always)]
    fn set<const W: usize>(&mut self, e: EventId, rows: [[u32; W]; ROWS]) {
        self.rows.as_chunks_mut::<W>().0[e.index() * ROWS..][..ROWS].copy_from_slice(&rows);
    }

    fn compute_wide(&mut self, e: EventId, event: &Basis) {
        let size = ROWS * self.width;
        let at = e.index() * size;
        if self.rows.len() <= at {
            self.rows.resize(at + size, 0);
        }
        match event.pred.is_event() {
            true => {
                let pred = event.pred.index() * size;
                self.rows.copy_within(pred..pred + RELEASED * self.width, at);
                self.rows[at + RELEASED * self.width..at + size].fill(0);
            }
            false => self.rows[at..at + size].fill(0),
        }
        let own = event.thread.index();
        self.rows[at + PORF * self.width + own] = event.index;
        self.rows[at + HB * self.width + own] = event.index;
        match event.kind {
            Kind::Read if event.rf.is_event() => {
                self.join(at, PORF, event.rf, PORF);
                if event.order.acquires() && !event.phantom {
                    self.join(at, HB, event.rf, RELEASED);
                }
            }
            Kind::Write => {
                if event.order.releases() {
                    self.join(at, RELEASED, e, HB);
                } else if event.order.is_atomic() && event.fence.is_event() {
                    self.join(at, RELEASED, event.fence, HB);
                }
                if event.source.is_event() {
                    self.join(at, RELEASED, event.source, RELEASED);
                }
            }
            _ => {}
        }
        if event.last.is_event() {
            self.join(at, PORF, event.last, PORF);
            if !event.silent {
                self.join(at, HB, event.last, HB);
            }
        }
    }

    /// An acquire fence learns what a relaxed read before it would have learned, had it acquired. What comes before an
    /// older acquire fence of the thread is known already.
    pub fn acquire(&mut self, fence: EventId, write: EventId) {
        self.join(fence.index() * ROWS * self.width, HB, write, RELEASED);
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
        join(mine, theirs);
    }

    /// Whether `first` comes before `then` (or is it) in the order of a row.
    #[inline]
    pub fn before(&self, row: usize, first: &Event, then: EventId) -> bool {
        self.get(row, then, first.thread) >= first.index
    }

    /// The events that come before `e` (or are it) in the order of a row: how many there are of each thread.
    #[inline]
    pub fn row(&self, e: EventId, row: usize) -> &[u32] {
        &self.rows[(e.index() * ROWS + row) * self.width..][..self.width]
    }
}

/// The same as `compute_wide` for rows that fit into a few registers: most programs have few threads.
#[inline(always)]
fn narrow<const W: usize>(rows: &[u32], event: &Basis) -> [[u32; W]; ROWS] {
    let (rows, _) = rows.as_chunks::<W>();
    let (mut porf, mut hb, mut released) = ([0; W], [0; W], [0; W]);
    if event.pred.is_event() {
        let pred = rows_of(rows, event.pred);
        (porf, hb) = (pred[PORF], pred[HB]);
    }
    let own = event.thread.index();
    (porf[own], hb[own]) = (event.index, event.index);
    match event.kind {
        Kind::Read if event.rf.is_event() => {
            let rf = rows_of(rows, event.rf);
            join(&mut porf, &rf[PORF]);
            // What a phantom read reads is not what the program does.
            if event.order.acquires() && !event.phantom {
                join(&mut hb, &rf[RELEASED]);
            }
        }
        Kind::Write => {
            if event.order.releases() {
                released = hb;
            } else if event.order.is_atomic() && event.fence.is_event() {
                released = rows_of(rows, event.fence)[HB];
            }
            if event.source.is_event() {
                join(&mut released, &rows_of(rows, event.source)[RELEASED]);
            }
        }
        _ => {}
    }
    if event.last.is_event() {
        let last = rows_of(rows, event.last);
        join(&mut porf, &last[PORF]);
        if !event.silent {
            join(&mut hb, &last[HB]);
        }
    }
    [porf, hb, released]
}

/// The rows of an event.
#[inline]
fn rows_of<const W: usize>(rows: &[[u32; W]], e: EventId) -> &[[u32; W]; ROWS] {
    rows[e.index() * ROWS..].first_chunk().expect("an event has all rows")
}

/// What is known by either. A thread has far less than 2^31 events, and processors compare signed numbers more quickly.
#[inline]
fn join(mine: &mut [u32], theirs: &[u32]) {
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        *mine = (*mine as i32).max(*theirs as i32) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::NONE;
    use crate::graph::Graph;

    /// A small sequence of numbers that looks random.
    fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
        let mut state = seed;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        }
    }

    #[test]
    fn narrow_rows_are_computed_as_wide_ones_are() {
        let orders = [Order::Plain, Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst];
        for (threads, seed) in [2, 4, 5, 8].into_iter().flat_map(|threads| (0..40).map(move |seed| (threads, seed))) {
            let mut next = numbers(seed);
            let (mut narrow, mut wide) = (Clocks::default(), Clocks::default());
            narrow.widen(threads);
            wide.widen(threads);
            let mut graph = Graph::default();
            let mut writes: Vec<EventId> = Vec::new();
            for n in 0..40 {
                let kind = [Kind::Read, Kind::Write, Kind::Fence, Kind::Choose][next(4)];
                let (thread, order) = (ThreadId::new(next(threads)), orders[next(6)]);
                let e = EventId::new(n);
                let mut event = Event { order, ..graph.draft(thread, kind) };
                if kind == Kind::Read && !writes.is_empty() {
                    event.rf = writes[next(writes.len())];
                    event.phantom = next(8) == 0;
                }
                let older = |next: &mut dyn FnMut(usize) -> usize| (n > 0).then(|| EventId::new(next(n)));
                let last = older(&mut next).filter(|_| kind == Kind::Choose).unwrap_or(NONE);
                let source = (kind == Kind::Write && !writes.is_empty()).then(|| writes[next(writes.len())]);
                let basis = Basis::of(&event, last, source.unwrap_or(NONE), false);
                graph.touch(event.loc, || (0, false));
                graph.add(event);
                narrow.push(basis);
                wide.compute_wide(e, &basis);
                assert_eq!(narrow.rows, wide.rows, "{threads} threads, seed {seed}");
                narrow.compute(e, &basis);
                if kind == Kind::Write {
                    writes.push(e);
                }
            }
            assert!(narrow.width <= 8 && !narrow.rows.is_empty());
            assert_eq!(narrow.rows, wide.rows, "{threads} threads, seed {seed}");
        }
    }
}

//! Adding an event to a graph, and the clocks of events.
//!
//! That is done for every event of every execution. Reads and writes are most of them, and have functions of their own, in
//! which what the caller knows of the event is known to the compiler as well.

use super::Graph;
use super::location::Reader;
use crate::clocks::Basis;
use crate::event::{Event, EventId, Kind, NONE};
use crate::past;
use crate::request::{self, Role};
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::ThreadId;

/// Where the next event of a thread stands.
struct Next {
    pred: EventId,
    index: u32,
    place: u32,
    fence: EventId,
}

impl Next {
    /// The next event comes after this one.
    #[inline(always)]
    fn after(last: EventId, event: &Event) -> Next {
        let is_release = event.kind == Kind::Fence && event.order.releases();
        Next {
            pred: last,
            index: event.index + 1,
            place: event.place + u32::from(event.kind != Kind::Turn),
            fence: if is_release { last } else { event.fence },
        }
    }
}

impl Graph {
    /// An event of a thread that has all but its own data filled in.
    #[inline(always)]
    pub fn draft(&mut self, thread: ThreadId, kind: Kind) -> Event {
        let Next { pred, index, place, fence } = match self.last(thread) {
            Some(last) => Next::after(last, self.event(last)),
            None => self.first(thread),
        };
        Event {
            index,
            pred,
            place,
            fence,
            yields: std::mem::take(&mut self.yields),
            executed: self.executed.len() as u32,
            changes: self.changes.len() as u32,
            ..Event::empty(thread, kind)
        }
    }

    /// The write that comes after an exclusive read, the newest event, with all but its own data filled in.
    #[inline(always)]
    pub fn draft_after(&mut self, read: EventId) -> Event {
        let Event { thread, index, place, fence, executed, changes, .. } = *self.event(read);
        debug_assert_eq!(read.index() + 1, self.events.len(), "nothing has come in between");
        let write = Event {
            index: index + 1,
            pred: read,
            place: place + 1,
            fence,
            executed,
            changes,
            ..Event::empty(thread, Kind::Write)
        };
        debug_assert_eq!(write, self.draft(thread, Kind::Write), "it stands where the next event of the thread does");
        write
    }

    /// Where the first event of a thread stands.
    #[cold]
    fn first(&mut self, thread: ThreadId) -> Next {
        self.widen(thread.index() + 1);
        Next { pred: self.birth(thread).unwrap_or(NONE), index: 1, place: 0, fence: NONE }
    }

    #[inline]
    fn widen(&mut self, threads: usize) {
        if self.threads.len() < threads {
            self.threads.resize_with(threads, Vec::new);
            self.births.resize(threads, NONE);
        }
        self.clocks.widen(threads);
    }

    /// Adds an event. A write is placed last in coherence order, a read reads from `event.rf`. The caller computes
    /// `index`, `pred`, `executed` and `changes` by [`Graph::draft`].
    #[inline(never)]
    pub fn add(&mut self, mut event: Event) -> EventId {
        let e = EventId::new(self.events.len());
        match event.kind {
            Kind::Read => return self.add_read(event),
            Kind::Write => return self.add_write(event),
            Kind::Spawn => {
                let child = event.other().index();
                self.widen(child + 1);
                self.births[child] = e;
            }
            Kind::Fence | Kind::Halt => event.open = self.open_turn(event.thread),
            Kind::Turn if !event.turn.is_put_off() => event.open = e,
            _ => {}
        }
        self.push(event)
    }

    /// Adds a read.
    #[inline(always)]
    pub fn add_read(&mut self, mut event: Event) -> EventId {
        debug_assert!(event.kind == Kind::Read, "it is a read");
        let e = EventId::new(self.events.len());
        let (thread, index) = (event.thread, event.index);
        let location = &mut self.locations[event.loc.index()];
        location.reads.push(Reader { read: e, thread, index });
        location.loads |= !event.exclusive && !event.blocked;
        if event.composite {
            event.open = self.open_turn(thread);
        }
        self.may_be_open |= event.exclusive;
        self.blocked += usize::from(event.blocked);
        self.push(event)
    }

    /// Adds a write.
    #[inline(always)]
    pub fn add_write(&mut self, mut event: Event) -> EventId {
        debug_assert!(event.kind == Kind::Write, "it is a write");
        let co = &mut self.locations[event.loc.index()].co;
        co.push(EventId::new(self.events.len()));
        event.co = co.len() as u32;
        self.push(event)
    }

    /// Adds an event that the lists of its location know already.
    #[inline(always)]
    fn push(&mut self, mut event: Event) -> EventId {
        let e = EventId::new(self.events.len());
        let (last, source) = self.learned(&event);
        self.clocks.push(Basis::of(&event, last, source, self.silent_wakes));
        debug_assert_eq!(self.clocks.count(), e.index() + 1, "every event has clocks");
        if event.kind == Kind::Fence && event.order.acquires() {
            self.acquire(e, event.thread, event.index);
        }
        if !self.without_past {
            event.past = past::of(&self.events, &event, last);
        }
        self.may_be_open |= event.part.is_some();
        self.seq_cst += usize::from(event.order == Order::SeqCst);
        self.threads[event.thread.index()].push(e);
        self.events.push(event);
        e
    }

    /// What an event learns from besides the one before it and what it reads from: the last event of the thread that a
    /// `Join` waits for, or the signal that woke a thread; and what an exclusive write's read reads from.
    #[inline(always)]
    fn learned(&self, event: &Event) -> (EventId, EventId) {
        let last = match event.kind {
            Kind::Join => self.before_next(event.other()),
            Kind::Read if event.role == Role::Wake => self.waker(event.thread, event.rf),
            _ => NONE,
        };
        let source = if event.is_rmw_write() { self.event(event.pred).rf } else { NONE };
        (last, source)
    }

    /// Computes an event's clocks again.
    #[inline(never)]
    pub(super) fn refresh(&mut self, e: EventId) {
        let event = &self.events[e.index()];
        let (last, source) = self.learned(event);
        self.clocks.compute(e, &Basis::of(event, last, source, self.silent_wakes));
        if event.kind == Kind::Fence && event.order.acquires() {
            self.acquire(e, event.thread, event.index);
        }
        if !self.without_past {
            self.events[e.index()].past = past::of(&self.events, &self.events[e.index()], last);
        }
    }

    /// An acquire fence makes up for the relaxed reads before it.
    #[cold]
    fn acquire(&mut self, fence: EventId, thread: ThreadId, index: u32) {
        for r in self.threads[thread.index()][..index as usize - 1].iter().rev() {
            let event = &self.events[r.index()];
            if event.kind == Kind::Fence && event.order.acquires() {
                break;
            }
            if event.is_read() && event.rf.is_event() && event.order.is_atomic() && !event.phantom {
                self.clocks.acquire(fence, event.rf);
            }
        }
    }

    /// The signal or broadcast that woke a thread which reads from this: the first write of all that it follows from that has
    /// the thread's bit.
    #[inline(never)]
    fn waker(&self, thread: ThreadId, rf: EventId) -> EventId {
        let woken = |w: EventId| w.is_event() && request::was_woken(thread, self.event(w).value);
        let (mut found, mut at) = (NONE, rf);
        while woken(at) {
            found = at;
            at = self.event(self.event(at).pred).rf;
        }
        found
    }
}

//! Execution graphs: what every thread has done so far, from where every read has its value, and in which order the
//! writes of every location come.
//!
//! | in papers | here |
//! |---|---|
//! | the events of a thread in program order | [`Graph::threads`] |
//! | `rf` | the `from` of each [`Kind::Read`] |
//! | `co` (`mo`) | [`Graph::co`]; the initial write comes before all of these and is not listed |
//! | `rmw` | a [`Kind::Write`] that is `exclusive`, with the read right before it in its thread |
//!
//! A location is an address: all accesses that overlap are of the same bytes (other programs are refused).
//!
//! - A read-modify-write is two events, a read and an exclusive write. A compare-and-exchange that fails is its read,
//!   with the order of failure. A store that waits for a condition reads what it overwrites, as an exchange does.
//! - An access that waits and reads a value that does not satisfy its condition is its read only, `blocked`, and the last
//!   event of its thread. A locking exchange that finds the lock held is such a read.
//! - Both events of a read-modify-write have its order: a read acquires if the order acquires, a write releases if it
//!   releases, and neither takes notice of the other half.

use selvedge_ir::{EntityRef, Order};
use selvedge_machine::{Addr, ThreadId};
use std::collections::BTreeMap;

/// An event: the thread, and its place among the thread's events, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventRef {
    /// Whose.
    pub thread: ThreadId,
    /// The how manieth.
    pub index: u32,
}

/// What a read reads from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// The initial value.
    Init,
    /// A write.
    Write(EventRef),
}

/// What an event does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Reads a value.
    Read {
        /// The location.
        addr: Addr,
        /// The value.
        value: u64,
        /// Who wrote it.
        from: Source,
        /// Whether it belongs to a read-modify-write or compare-and-exchange, even one that fails or waits.
        locked: bool,
        /// Whether its thread waits for another value.
        blocked: bool,
    },
    /// Writes a value.
    Write {
        /// The location.
        addr: Addr,
        /// The value.
        value: u64,
        /// Whether the event before it in its thread is the read of the same read-modify-write.
        exclusive: bool,
    },
    /// A fence.
    Fence,
    /// Creates a thread.
    Spawn {
        /// Which.
        child: ThreadId,
    },
    /// Has seen a thread end.
    Join {
        /// Which.
        thread: ThreadId,
    },
    /// Chooses a number.
    Choice {
        /// The number.
        value: u64,
    },
    /// Ends the life of an object.
    Free {
        /// Its first byte.
        addr: Addr,
        /// Its size.
        size: u64,
    },
}

impl Kind {
    /// The location of a read or write.
    pub fn addr(self) -> Option<Addr> {
        match self {
            Kind::Read { addr, .. } | Kind::Write { addr, .. } => Some(addr),
            _ => None,
        }
    }
}

/// An event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// What it does.
    pub kind: Kind,
    /// Its memory order; `Plain` if it is neither an access nor a fence.
    pub order: Order,
}

/// An execution graph.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Graph {
    /// Per thread its events.
    pub threads: Vec<Vec<Event>>,
    /// Per location its writes in coherence order, without the initial one.
    pub co: BTreeMap<Addr, Vec<EventRef>>,
}

impl Graph {
    /// A graph without events.
    pub fn new(threads: usize) -> Graph {
        Graph { threads: vec![Vec::new(); threads], co: BTreeMap::new() }
    }

    /// An event.
    pub fn event(&self, at: EventRef) -> &Event {
        &self.threads[at.thread.index()][at.index as usize]
    }

    /// The event that a thread would add next.
    pub fn next(&self, thread: ThreadId) -> EventRef {
        EventRef { thread, index: self.threads[thread.index()].len() as u32 }
    }

    /// Every event, thread by thread.
    pub fn events(&self) -> impl Iterator<Item = (EventRef, &Event)> {
        let of_thread = |(t, events): (usize, &'_ Vec<Event>)| (ThreadId::new(t), events.len());
        let all = self.threads.iter().enumerate().map(of_thread);
        all.flat_map(|(thread, count)| (0..count as u32).map(move |index| EventRef { thread, index }))
            .map(|at| (at, self.event(at)))
    }

    /// The writes of a location in coherence order, without the initial one.
    pub fn writes(&self, addr: Addr) -> &[EventRef] {
        self.co.get(&addr).map_or(&[], Vec::as_slice)
    }

    /// The last write of a location in coherence order.
    pub fn newest(&self, addr: Addr) -> Source {
        self.writes(addr).last().map_or(Source::Init, |&at| Source::Write(at))
    }

    /// What a write wrote.
    pub fn written(&self, at: EventRef) -> u64 {
        match self.event(at).kind {
            Kind::Write { value, .. } => value,
            other => panic!("{at:?} is not a write: {other:?}"),
        }
    }

    /// The read that a thread is blocked in: its location and what it reads from.
    pub fn blocked(&self, thread: ThreadId) -> Option<(Addr, Source)> {
        match self.threads[thread.index()].last()?.kind {
            Kind::Read { addr, from, blocked: true, .. } => Some((addr, from)),
            _ => None,
        }
    }

    /// Adds an event to a thread.
    pub fn push(&mut self, thread: ThreadId, event: Event) {
        self.threads[thread.index()].push(event);
    }

    /// Removes the last event of a thread, which is no write.
    pub fn pop(&mut self, thread: ThreadId) {
        self.threads[thread.index()].pop();
    }

    /// Adds a write to a thread, at a place in coherence order.
    pub fn push_write(&mut self, thread: ThreadId, addr: Addr, event: Event, place: usize) {
        let at = self.next(thread);
        self.co.entry(addr).or_default().insert(place, at);
        self.push(thread, event);
    }

    /// Removes the last event of a thread, which is a write at this place in coherence order.
    pub fn pop_write(&mut self, thread: ThreadId, addr: Addr, place: usize) {
        self.pop(thread);
        let at = self.next(thread);
        let order = self.co.get_mut(&addr).expect("a location that is written has a coherence order");
        assert_eq!(order.remove(place), at, "the write stands where it was put");
        if order.is_empty() {
            self.co.remove(&addr);
        }
    }

    /// Numbers that are equal for two graphs of a program iff the graphs are equal: threads are deterministic, so it is
    /// enough to know how many events each has, what its reads read from and what it chose, and the coherence orders.
    pub fn signature(&self) -> Box<[u32]> {
        let code = |at: EventRef| (at.thread.index() as u32 + 1) << 16 | at.index;
        let mut words = Vec::new();
        for events in &self.threads {
            words.push(events.len() as u32);
            words.extend(events.iter().filter_map(|event| match event.kind {
                Kind::Read { from: Source::Init, .. } => Some(0),
                Kind::Read { from: Source::Write(at), .. } => Some(code(at)),
                Kind::Choice { value } => Some(value as u32),
                _ => None,
            }));
        }
        // Which location a write belongs to is known, so one list after the other is enough.
        words.extend(self.co.values().flatten().map(|&at| code(at)));
        words.into()
    }
}

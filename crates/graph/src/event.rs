//! Events: the nodes of an execution graph (Definition 1).
//!
//! A read-modify-write is two events, an exclusive read and the exclusive write right after it. A compare-and-exchange
//! that fails is a read like any other, with its failure order. Initial values are no events: [`INIT`] stands for the
//! initialisation of every location.

use crate::request::{Flags, Part, Role};
use selvedge_ir::{EntityRef, Order, entity};
use selvedge_machine::ThreadId;

entity! {
    /// An event: its place in the order in which events were added (the paper's `<_G`).
    EventId, "e"
}
entity! {
    /// A memory location: some bytes that are always accessed together.
    LocId, "x"
}

/// Where reads of initial values read from.
pub const INIT: EventId = EventId::largest(0);
/// What a speculative read reads from while it waits for another one to be confirmed (the paper's ⊥).
pub const BOTTOM: EventId = EventId::largest(1);
/// No event.
pub const NONE: EventId = EventId::largest(2);

/// A choice whether something happens for no reason.
pub const SPURIOUS: u32 = 1;

impl EventId {
    const fn largest(n: u32) -> EventId {
        EventId(u32::MAX - 1 - n)
    }

    /// Whether this is an event of the graph, not one of the special values.
    #[inline]
    pub fn is_event(self) -> bool {
        self < NONE
    }
}

/// What an event does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Reads a location.
    Read,
    /// Writes a location.
    Write,
    /// A memory fence.
    Fence,
    /// Creates a thread.
    Spawn,
    /// Learns that a thread has ended.
    Join,
    /// Chooses a number.
    Choose,
    /// Ends the life of an object.
    Free,
    /// The thread met a violation with its Op and does not go on.
    Halt,
    /// The thread begins a composite await, or puts it off (`explorer/composite.rs`).
    Turn,
}

/// What becomes of a composite await.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// It reads now: with the coherence-last values it gets on.
    Now,
    /// It has read like that, and what was added before it is not what it was then: it depends on the attempt.
    Past,
    /// It reads now, but with the coherence-last values it would fail, or has been explored before.
    Stale,
    /// It waits for writes, instead of that.
    Waits,
    /// It waits for writes, although it could read now.
    Later,
    /// It reads the coherence-last values and fails, as nobody writes any more.
    Last,
}

impl Turn {
    /// Whether it waits for writes.
    #[inline]
    pub fn is_put_off(self) -> bool {
        matches!(self, Turn::Waits | Turn::Later)
    }
}

/// An event. Plain data: graphs are copied by copying their events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Whose event it is.
    pub thread: ThreadId,
    /// Its place in the thread, from 1.
    pub index: u32,
    /// What it does.
    pub kind: Kind,
    /// Part of a read-modify-write: a read that is followed by its write, or that write.
    pub exclusive: bool,
    /// Belongs to a read-modify-write instruction, be it a failed one.
    pub locked: bool,
    /// The read of a store that counts as an exchange (`explorer/store_as_exchange.rs`): it orders the writes of its
    /// location, and is nothing to anybody else.
    pub phantom: bool,
    /// A read with a condition that the value read does not satisfy: the thread waits (the paper's R^blk).
    pub blocked: bool,
    /// A speculative read (the paper's R^spec).
    pub speculative: bool,
    /// A read of a composite await: what else it could read is explored when the await takes its turn.
    pub composite: bool,
    /// What becomes of a composite await.
    pub turn: Turn,
    /// The read of a compare-and-exchange that confirms a speculative read (the paper's R^conf).
    pub confirms: bool,
    /// The read of an exchange that reads from what a load before it has read from (`explorer/tested.rs`).
    pub tested: bool,
    /// A load that goes on with one value at most of those that are known: what waits behind it could wait in it (`explorer/tested.rs`).
    pub choosy: bool,
    /// A loop that waits begins with it: its thread may have let others go first before it (only kept if preemptions are counted).
    pub yields: bool,
    /// What it is part of.
    pub role: Role,
    /// Which part of an access to several locations it is.
    pub part: Option<Part>,
    /// Which of several alternatives a write is, 0 for the first. For `Choose`, [`SPURIOUS`] if with a number other than 0 something
    /// happens for no reason (only kept if preemptions are counted).
    pub choice: u32,
    /// Memory order.
    pub order: Order,
    /// The location of a read or write.
    pub loc: LocId,
    /// The value that was read or written, or the number that was chosen; for `Spawn` and `Join` the other thread.
    pub value: u64,
    /// What a read reads from.
    pub rf: EventId,
    /// What a read read from before it was read again in place: when it was added or revisited. For one that has waited
    /// for another speculative read, that read.
    pub base: EventId,
    /// For a speculative read that reads from an older write of the same value than its confirmation is going to read
    /// from: that one.
    pub primary: EventId,
    /// The place of a write in the coherence order of its location, from 1; 0 is the initial value. Of a turn that was put
    /// off, the number of what is known of how it gets on (`explorer/ways.rs`).
    pub co: u32,
    /// The event before it in its thread, or the event that created the thread.
    pub pred: EventId,
    /// How many events other than turns come before it in its thread.
    pub place: u32,
    /// The turn that the thread has taken, if it has done nothing but read since, be it until something went wrong.
    pub open: EventId,
    /// The newest release fence before it in its thread.
    pub fence: EventId,
    /// How long the list of executed events was when it was added.
    pub executed: u32,
    /// How long the list of in-place changes was when it was added.
    pub changes: u32,
    /// A number for what it does and all that comes before it in program order and reads-from (`past.rs`).
    pub past: u64,
}

impl Event {
    /// An event that does nothing yet.
    #[inline(always)]
    pub fn empty(thread: ThreadId, kind: Kind) -> Event {
        Event {
            thread,
            index: 0,
            kind,
            exclusive: false,
            locked: false,
            phantom: false,
            blocked: false,
            speculative: false,
            composite: false,
            turn: Turn::Now,
            confirms: false,
            tested: false,
            choosy: false,
            yields: false,
            role: Role::Memory,
            part: None,
            choice: 0,
            order: Order::Plain,
            loc: LocId::new(0),
            value: 0,
            rf: NONE,
            base: NONE,
            primary: NONE,
            co: 0,
            pred: NONE,
            place: 0,
            open: NONE,
            fence: NONE,
            executed: 0,
            changes: 0,
            past: 0,
        }
    }

    /// What the value that it reads has made of a read.
    #[inline]
    pub fn flags(&self) -> Flags {
        Flags { exclusive: self.exclusive, blocked: self.blocked, order: self.order }
    }

    /// Whether something has happened for no reason.
    pub fn is_spurious(&self) -> bool {
        self.kind == Kind::Choose && self.choice == SPURIOUS && self.value != 0
    }

    /// Whether it reads a location.
    #[inline]
    pub fn is_read(&self) -> bool {
        self.kind == Kind::Read
    }

    /// Whether it writes a location.
    #[inline]
    pub fn is_write(&self) -> bool {
        self.kind == Kind::Write
    }

    /// Whether it accesses a location.
    #[inline]
    pub fn is_access(&self) -> bool {
        matches!(self.kind, Kind::Read | Kind::Write)
    }

    /// Whether more parts of the same access follow.
    #[inline]
    pub fn is_unfinished(&self) -> bool {
        self.part.is_some_and(|part| part.more)
    }

    /// Whether it is a write of a read-modify-write: not the write of a store that counts as an exchange.
    #[inline]
    pub fn is_rmw_write(&self) -> bool {
        self.kind == Kind::Write && self.exclusive && self.locked
    }

    /// Whether it is a speculative read that waits for another one to be confirmed, and reads from nothing.
    #[inline]
    pub fn reads_nothing(&self) -> bool {
        self.kind == Kind::Read && self.rf == BOTTOM
    }

    /// What the confirmation of a speculative read must read from.
    #[inline]
    pub fn confirmed(&self) -> EventId {
        if self.primary == NONE { self.rf } else { self.primary }
    }

    /// The other thread of a `Spawn` or `Join`.
    pub fn other(&self) -> ThreadId {
        ThreadId::new(self.value as usize)
    }
}

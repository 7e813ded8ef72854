//! What a graph knows of a location: its writes in coherence order, and its reads.

use crate::event::{EventId, INIT};
use selvedge_ir::EntityRef;
use selvedge_machine::ThreadId;

/// What a graph knows of a location.
#[derive(Clone, Default, Debug)]
pub struct Location {
    /// The initial value.
    pub init: u64,
    /// Whether the initial value was never written.
    pub uninitialised: bool,
    /// Writes in coherence order; the initial value comes before them.
    pub co: Vec<EventId>,
    /// Reads in the order in which they were added.
    pub(super) reads: Vec<Reader>,
    /// A write, and how many of the first reads are known to come before it in program order and reads-from. None of them is
    /// revisited by what comes after that write.
    pub(super) settled: Option<(EventId, u32)>,
    /// Whether there may be reads that have something after them in their threads other than their own write.
    pub(super) loads: bool,
}

/// A read of a location: whose it is, and its place in the thread, are what is asked of reads most often.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    pub read: EventId,
    pub thread: ThreadId,
    pub index: u32,
}

impl Location {
    /// Whether no event accesses it.
    #[inline]
    pub fn is_unused(&self) -> bool {
        self.co.is_empty() && self.reads.is_empty()
    }

    /// Forgets all events.
    pub(super) fn clear(&mut self) {
        self.co.clear();
        self.reads.clear();
        self.settled = None;
        self.loads = false;
    }

    /// The reads in the order in which they were added.
    #[inline]
    pub fn reads(&self) -> impl DoubleEndedIterator<Item = EventId> + '_ {
        self.reads.iter().map(|reader| reader.read)
    }

    /// The writes and the reads.
    pub fn accesses(&self) -> impl Iterator<Item = EventId> + '_ {
        self.co.iter().copied().chain(self.reads())
    }

    /// Whether there may be reads that have something after them in their threads other than their own write: that are
    /// neither part of a read-modify-write nor blocked.
    #[inline]
    pub fn may_have_loads(&self) -> bool {
        self.loads
    }

    /// The reads that are among the events which a row of clocks counts, or those that are not.
    #[inline]
    pub fn reads_by(&self, clock: &[u32], counted: bool) -> impl Iterator<Item = EventId> {
        let reads = self.reads.iter().filter(move |reader| (clock[reader.thread.index()] >= reader.index) == counted);
        reads.map(|reader| reader.read)
    }

    /// The write at a place of the coherence order.
    #[inline]
    pub fn write_at(&self, position: u32) -> EventId {
        if position == 0 { INIT } else { self.co[position as usize - 1] }
    }

    /// Makes it the same as another one, in the memory that it has.
    pub(super) fn copy_from(&mut self, other: &Location) {
        (self.init, self.uninitialised) = (other.init, other.uninitialised);
        if other.is_unused() {
            return self.clear();
        }
        (self.settled, self.loads) = (other.settled, other.loads);
        self.co.clone_from(&other.co);
        self.reads.clone_from(&other.reads);
    }
}

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
    pub reads: Vec<EventId>,
    /// Whose they are, and their places in the threads: that is what is asked of reads most often.
    pub(super) readers: Vec<(ThreadId, u32)>,
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
        self.readers.clear();
    }

    /// The reads that are among the events which a row of clocks counts, or those that are not.
    #[inline]
    pub fn reads_by(&self, clock: &[u32], counted: bool) -> impl Iterator<Item = EventId> {
        let reads = self.reads.iter().zip(&self.readers);
        reads.filter(move |&(_, &(thread, index))| (clock[thread.index()] >= index) == counted).map(|(&r, _)| r)
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
        self.co.clone_from(&other.co);
        self.reads.clone_from(&other.reads);
        self.readers.clone_from(&other.readers);
    }
}

//! Names for execution graphs, to compare those of different explorers.
//!
//! A [`GraphKey`] says of a program's execution graph what is needed to know it, and nothing that explorers could see
//! differently. It consists of:
//!
//! - per thread, by its number, the list of its [`Entry`]s in program order: its reads, writes and choices. Everything
//!   else that a thread does (fences, creations, joins, frees) follows from these, since threads are deterministic; it
//!   has no entry and does not count in the numbering of entries. A read-modify-write or a compare-and-exchange that
//!   succeeds is two entries, a read and a write right behind it; one that fails is a read. A lock is a
//!   read-modify-write and an unlock a write. An access that waits and whose condition does not hold for what it reads is
//!   a read, and the last entry of its thread. A store that waits is a read and a write;
//! - per location, by its address, the list of its writes in coherence order, without the initial one. Each is named by
//!   thread and place in the thread's list of entries, from 0.
//!
//! Values are those of the access's size, without higher bits. A read of bytes that were never written has the value 0.
//! Memory orders do not occur: they follow from the program.

use super::graph::{EventRef, Graph, Kind, Source};
use selvedge_ir::EntityRef;
use selvedge_machine::Addr;
use std::collections::BTreeMap;

/// A read, a write or a choice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Entry {
    /// A read.
    Read {
        /// The location.
        addr: Addr,
        /// The value.
        value: u64,
        /// Where it comes from; the index of a write is its place in its thread's list of entries.
        from: Source,
    },
    /// A write.
    Write {
        /// The location.
        addr: Addr,
        /// The value.
        value: u64,
    },
    /// A number chosen.
    Choice {
        /// The number.
        value: u64,
    },
}

/// Names an execution graph: equal for two graphs of a program iff they are equal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GraphKey {
    threads: Vec<Vec<Entry>>,
    co: BTreeMap<Addr, Vec<EventRef>>,
}

impl GraphKey {
    /// A key of its parts. Threads without entries may be left out at the end; locations that nobody writes may be left
    /// out.
    pub fn new(mut threads: Vec<Vec<Entry>>, mut co: BTreeMap<Addr, Vec<EventRef>>) -> GraphKey {
        while threads.last().is_some_and(Vec::is_empty) {
            threads.pop();
        }
        co.retain(|_, writes| !writes.is_empty());
        GraphKey { threads, co }
    }

    /// The key of a graph.
    pub fn of(graph: &Graph) -> GraphKey {
        // Only reads, writes and choices are entries, so the numbers of events become smaller.
        let renumber = |at: EventRef| {
            let before = &graph.threads[at.thread.index()][..at.index as usize];
            EventRef { index: before.iter().filter(|event| is_entry(event.kind)).count() as u32, ..at }
        };
        let entry = |kind| match kind {
            Kind::Read { addr, value, from: Source::Write(at), .. } => {
                Some(Entry::Read { addr, value, from: Source::Write(renumber(at)) })
            }
            Kind::Read { addr, value, from: Source::Init, .. } => Some(Entry::Read { addr, value, from: Source::Init }),
            Kind::Write { addr, value, .. } => Some(Entry::Write { addr, value }),
            Kind::Choice { value } => Some(Entry::Choice { value }),
            _ => None,
        };
        let threads = graph.threads.iter().map(|events| events.iter().filter_map(|event| entry(event.kind)).collect());
        let co = graph.co.iter().map(|(&addr, writes)| (addr, writes.iter().map(|&at| renumber(at)).collect()));
        GraphKey::new(threads.collect(), co.collect())
    }

    /// Per thread its entries.
    pub fn threads(&self) -> &[Vec<Entry>] {
        &self.threads
    }

    /// Per location its writes in coherence order, without the initial one.
    pub fn co(&self) -> &BTreeMap<Addr, Vec<EventRef>> {
        &self.co
    }
}

fn is_entry(kind: Kind) -> bool {
    matches!(kind, Kind::Read { .. } | Kind::Write { .. } | Kind::Choice { .. })
}

//! Places in the program, and whether a thread stands at one of them.
//!
//! A place in the source takes long to make: there are names in it. Machines that can tell by a number that a place is the
//! same as before are asked for the number, and what is found out about it is remembered.

use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_machine::{Machine, SourceSpan, ThreadId};

/// A set of places.
#[derive(Clone, Default, Debug)]
pub(crate) struct Sites {
    spans: FxHashSet<SourceSpan>,
    /// Whether the place with a number is one of them.
    known: FxHashMap<u64, bool>,
}

impl Sites {
    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Adds a place, and says whether it is new.
    pub fn insert(&mut self, span: SourceSpan) -> bool {
        self.known.clear();
        self.spans.insert(span)
    }

    /// Takes a place away.
    pub fn remove(&mut self, span: &SourceSpan) {
        self.known.clear();
        self.spans.remove(span);
    }

    /// Whether a thread stands at one of them.
    pub fn contains<M: Machine>(&self, machine: &M, thread: ThreadId) -> bool {
        let known = machine.place_number(thread).and_then(|number| self.known.get(&number).copied());
        let looked_up = || self.spans.contains(&machine.site(thread).span);
        debug_assert!(known.is_none_or(|known| known == looked_up()), "a place with the same number is the same");
        known.unwrap_or_else(looked_up)
    }

    /// Remembers whether a thread stands at one of them.
    pub fn look_up<M: Machine>(&mut self, machine: &M, thread: ThreadId) {
        if let Some(number) = machine.place_number(thread)
            && !self.known.contains_key(&number)
        {
            let contains = self.contains(machine, thread);
            self.known.insert(number, contains);
        }
    }
}

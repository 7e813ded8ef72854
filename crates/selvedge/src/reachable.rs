//! What can be reached from statics at the end of an execution.
//!
//! A `static` is never dropped, so what it owns is no leak: an `Arc` in a `OnceLock`, or in a vector in a `Mutex`. What is in
//! a static is a copy of this run (`content.rs`); words of it that point into blocks of the model lead on to what is in those.
//! Values that must not be leaked have a number that no other word has (`Shared::born`), and are found by it. To drop what
//! is in statics instead would run destructors that no program runs.
//!
//! What memory is used for is not known, so a word counts also if it is left over: a value that was in a vector of a static, was
//! taken out and then leaked may not be reported.

use crate::runtime::At;
use crate::shared::Shared;
use rustc_hash::FxHashSet;

impl Shared {
    /// What was made, must not be leaked, lives, and cannot be reached: numbers, what it is and where it was made.
    pub fn unreachable(&self) -> Vec<(u64, (&'static str, At))> {
        if self.live.is_empty() {
            return Vec::new();
        }
        let reached = if self.copies.len() == 0 { FxHashSet::default() } else { self.reachable() };
        let left = self.live.iter().filter(|(number, _)| !reached.contains(number));
        let mut left: Vec<_> = left.map(|(&number, &made)| (number, made)).collect();
        left.sort_unstable_by_key(|&(number, _)| number);
        left
    }

    /// The numbers of what can be reached from statics.
    fn reachable(&self) -> FxHashSet<u64> {
        let mut reached = FxHashSet::default();
        let mut blocks = FxHashSet::default();
        let mut words = self.copies.words();
        while let Some(word) = words.pop() {
            if self.live.contains_key(&word) {
                reached.insert(word);
            }
            let at = word as usize;
            if let Some(&(_, number)) = self.allocations.get(&at) {
                reached.insert(number);
            }
            if let Some(&(_, number)) = self.raw_arcs.get(&at) {
                reached.insert(number);
            }
            if let Some((block, content)) = self.blocks.content_at(at)
                && blocks.insert(block)
            {
                words.extend(content);
            }
        }
        reached
    }
}

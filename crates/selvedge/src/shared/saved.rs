//! What a thread may change before its next operation, but for its stack: kept, compared, and put back (`machine/snapshot.rs`).

use super::{Local, Numbered, PerThread, RUNS, Shared};
use crate::blocks::SavedBlocks;
use crate::borrow::Borrows;
use crate::content::Copies;
use crate::number::Number;
use crate::places::Was;
use crate::retry::Open;
use crate::runtime;
use selvedge_ir::EntityRef;
use selvedge_machine::ThreadId;
use std::hash::{Hash, Hasher};
use std::sync::atomic::Ordering;

/// What a thread shares at some point (`machine/snapshot.rs`).
#[derive(Default)]
pub(crate) struct SavedShared {
    /// The run, and a number for all that cannot be put back.
    run: u64,
    rest: u64,
    thread: (u32, u32, u32, usize, Option<Open>),
    numbers: Vec<Numbered>,
    borrows: Borrows,
    trail: usize,
    met: Vec<Was>,
    copies: Vec<(usize, Vec<u8>)>,
    blocks: SavedBlocks,
    addresses: Vec<usize>,
}

impl Shared {
    /// Keeps what a thread may change before its next operation. It can be put back after something else that was kept
    /// before, if that is given.
    pub fn save(&mut self, thread: ThreadId, saved: &mut SavedShared, before: Option<&SavedShared>) {
        (saved.run, saved.rest) = (self.run, self.rest());
        let PerThread { made, children, timeouts, spurious, open, .. } = *self.per_thread(thread);
        saved.thread = (made, children, timeouts, spurious, open);
        saved.numbers.clone_from(&self.numbers);
        saved.borrows.clone_from(&self.borrows);
        let trail = self.places.trail();
        saved.trail = before.map_or(trail, |before| before.trail).min(trail);
        saved.met.clear();
        saved.met.extend(self.places.met_since(saved.trail));
        self.copies.save(&mut saved.copies);
        self.blocks.save(&mut saved.blocks);
        self.virtuals.save(&mut saved.addresses);
    }

    /// Puts it back, if that is possible.
    pub fn put_back(&mut self, thread: ThreadId, saved: &SavedShared) -> bool {
        if saved.run != self.run || saved.rest != self.rest() || self.blocks.freed_other {
            return false;
        }
        self.met.clear();
        let now = self.per_thread(thread);
        (now.made, now.children, now.timeouts, now.spurious, now.open) = saved.thread;
        self.put_numbers_back(&saved.numbers);
        self.borrows.clone_from(&saved.borrows);
        self.places.put_back(saved.trail, &saved.met);
        Copies::put_back(&saved.copies);
        self.blocks.put_back(&saved.blocks);
        runtime::owes(self.owes_frees(), self.blocks.has_fresh());
        self.virtuals.put_back(&saved.addresses);
        true
    }

    /// Forgets objects that were met since. Those outside of the model do not.
    fn put_numbers_back(&mut self, saved: &[Numbered]) {
        // What was met in the meantime may have got the number of what was met there before.
        let is_same = |(now, saved): &(&Numbered, &Numbered)| now.remembered == saved.remembered && now == saved;
        let same = self.numbers.iter().zip(saved).take_while(is_same).count();
        if self.numbers[same..].iter().any(|known| known.seen.outside) {
            self.mark = RUNS.fetch_add(1, Ordering::Relaxed);
        }
        // All of them: where they were seen, and whether they live, is put back too.
        self.numbers.clear();
        self.numbers.extend_from_slice(saved);
    }

    /// A number for all that a thread may change before its next operation and that is not put back.
    fn rest(&self) -> u64 {
        let mut hasher = Number::default();
        for (thread, PerThread { deferred, locals, .. }) in self.per_thread.iter().enumerate() {
            let gone = locals.iter().filter(|(_, local)| matches!(local, Local::Gone)).count();
            // It makes no difference from when on it is noted that there is nothing to note.
            if deferred.len() + locals.len() > 0 {
                (thread, deferred.len(), locals.len(), gone).hash(&mut hasher);
            }
        }
        (self.unjoined, self.live.len(), self.next_live, self.lazies.len()).hash(&mut hasher);
        (self.bodies.len(), self.copies.len(), self.parks.len()).hash(&mut hasher);
        (self.words.len(), self.handed_over).hash(&mut hasher);
        let of = |what: &dyn Fn(&mut Number)| {
            let mut hasher = Number::default();
            what(&mut hasher);
            hasher.finish()
        };
        let raw = self.raw_arcs.iter().map(|(at, (_, number))| of(&|hasher| (at, number).hash(hasher)));
        let allocated = self.allocations.iter().map(|(at, (_, number))| of(&|hasher| (at, number).hash(hasher)));
        raw.chain(allocated).fold(0, u64::wrapping_add).hash(&mut hasher);
        hasher.finish()
    }

    /// Whether memory that somebody outside of the model may have got to know of has been changed since, or some was
    /// allocated. What nobody can have got to know by that: that objects were met; that something was freed; that a count is
    /// one less, of references for instance; what was announced.
    pub fn has_touched(&self, saved: &SavedShared) -> bool {
        self.blocks.have_changed(&saved.blocks, |at, old, now| {
            let is_announced = |from: &(usize, usize)| from.0 <= at && at + 8 <= from.1;
            self.recognise(now).is_some()
                || old.wrapping_sub(1) == now && now < u64::from(u32::MAX)
                || self.announced.iter().any(is_announced)
        })
    }

    /// A thread is about to write somewhere: to what is part of the model and owns nothing.
    #[inline]
    pub fn announce(&mut self, start: usize, size: usize) {
        if self.tries_out && self.announced.len() < self.announced.capacity() {
            // Whole words: what else is in them is put back, too.
            self.announced.push((start & !7, (start + size).next_multiple_of(8)));
        }
    }

    /// A number for what a thread has changed since in memory, and in what objects are known by.
    pub fn differences(&self, saved: &SavedShared, thread: ThreadId) -> u64 {
        let mut hasher = Number::default();
        let same = |(n, new): &(usize, &Numbered)| saved.numbers.get(*n) == Some(*new);
        for (n, Numbered { seen, .. }) in self.numbers.iter().enumerate().skip_while(same) {
            (n, seen).hash(&mut hasher);
        }
        (self.numbers.len(), self.borrows.len()).hash(&mut hasher);
        if let Some(PerThread { made, children, timeouts, spurious, .. }) = self.per_thread.get(thread.index()) {
            (made, children, timeouts, spurious).hash(&mut hasher);
        }
        hasher.write_u64(self.copies.fingerprint(Some));
        self.rest().hash(&mut hasher);
        self.blocks.differences(&saved.blocks, &mut hasher);
        hasher.finish()
    }
}

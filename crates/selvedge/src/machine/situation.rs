//! A number for the situation that a thread is in: for all that what it does next can depend on, but for what it is told.
//!
//! To try out what a thread does takes far longer than to read what it would do it with. So what a trial has shown is
//! remembered by this number, which is the same in other runs: addresses count as what they are known by.
//!
//! A thread can look at its own stack (registers included), at copies of what is in statics, at its thread-local variables,
//! and at whatever it can come to from there: at blocks that a word in these points into, or that a word in such a block
//! points into, and at the stacks of others in the same way. It can also follow what it is told. All else may be what it likes:
//! how far others have come, and what they have in memory of their own. A word that is left over somewhere counts as well;
//! so a number may differ for no reason. It is the same for two situations only by chance: with one of 2^48 among 2^16.

use super::RustMachine;
use crate::blocks::BlockId;
use crate::number::Number;
use crate::runtime;
use crate::shared::{Local, PerThread, Shared};
use crate::virtual_address::{ADDRESS, may_be_pointer};
use selvedge_ir::EntityRef;
use selvedge_machine::{Outcome, ThreadId};
use std::hash::{Hash, Hasher};
use std::ops::Range;

/// What a thread can come to that is told nothing. It is the same as long as the run has not gone on: whoever was tried out
/// meanwhile was put back.
#[derive(Default)]
pub(super) struct Reached {
    /// The run, how many steps had been made, and the thread; none if nothing is known.
    of: Option<(u64, usize, ThreadId)>,
    /// A number for all of it.
    number: u64,
    /// By number, the blocks and the threads that were found.
    blocks: Vec<bool>,
    threads: Vec<bool>,
}

/// A part of memory.
#[derive(Clone, Copy)]
pub(super) struct Span {
    start: u64,
    size: u64,
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Span {
        Span { start: range.start as u64, size: range.len() as u64 }
    }
}

impl Span {
    /// The first address in it.
    pub fn first(self) -> u64 {
        self.start
    }

    /// Asked for every word of a stack.
    #[inline]
    pub fn contains(self, at: u64) -> bool {
        at.wrapping_sub(self.start) < self.size
    }
}

/// What can be come to from words that have been seen.
struct Search<'a> {
    shared: &'a Shared,
    /// Where there are blocks, stacks, and copies of what is in statics.
    blocks: Span,
    stacks: Span,
    copies: Span,
    /// The stack of the thread itself.
    own: Span,
    /// The block that was last come to: it is pointed to more than once.
    last: usize,
    /// By number, which were found, and which of them have not been looked into.
    found: Vec<bool>,
    threads: Vec<bool>,
    open: Vec<usize>,
    open_threads: Vec<usize>,
}

impl<'a> Search<'a> {
    /// One that starts with what was found before.
    fn new(shared: &'a Shared, own: Range<usize>, found: Vec<bool>, threads: Vec<bool>) -> Search<'a> {
        let (blocks, stacks) = (shared.blocks.bounds().into(), shared.places.stack_bounds().into());
        let copies = shared.places.copy_bounds().into();
        let (own, open, open_threads) = (own.into(), Vec::new(), Vec::new());
        Search { shared, blocks, stacks, copies, own, last: 0, found, threads, open, open_threads }
    }

    /// Sees a word, and adds what it is known as.
    #[inline]
    fn see(&mut self, word: u64, hasher: &mut Number) {
        if may_be_pointer(word) && self.may_lead(word) {
            self.see_pointer(word, hasher)
        } else {
            hasher.write_u64(word)
        }
    }

    /// Whether a word may lead somewhere, or be known by another name. Most do not.
    #[inline]
    fn may_lead(&self, word: u64) -> bool {
        let at = word & ADDRESS;
        self.blocks.contains(at)
            || self.stacks.contains(at)
            || self.copies.contains(at)
            || at != word
            || word == self.shared.run
    }

    /// The number of the block that an address points into.
    #[inline]
    fn block_at(&mut self, at: u64) -> Option<usize> {
        if !self.blocks.contains(at) {
            return None;
        }
        let last = self.shared.blocks.all().get(self.last);
        if last.is_none_or(|block| at.wrapping_sub(block.at as u64) >= block.id.size as u64) {
            self.last = self.shared.blocks.position(at as usize)?;
        }
        Some(self.last)
    }

    fn see_pointer(&mut self, word: u64, hasher: &mut Number) {
        let at = word & ADDRESS;
        let tagged = at != word;
        if let Some(n) = self.block_at(at) {
            if !std::mem::replace(&mut self.found[n], true) {
                self.open.push(n);
            }
            if !tagged {
                let block = &self.shared.blocks.all()[n];
                return add_block(hasher, &block.id, at as usize - block.at);
            }
        } else if self.own.contains(at) && !tagged {
            return hasher.write_u64(at - self.own.start);
        } else if self.stacks.contains(at)
            && let Some((thread, depth)) = self.shared.places.on_stack(at as usize)
        {
            self.find_thread(thread);
            if !tagged {
                hasher.write_usize(thread.index());
                return hasher.write_usize(depth);
            }
        }
        // What else has another name in every run is a number of the run, or points to what is in a static.
        let is_plain = !tagged && word != self.shared.run && !self.copies.contains(at);
        hasher.write_u64(if is_plain { word } else { self.shared.known_as(word) });
    }

    fn find_thread(&mut self, thread: ThreadId) {
        if self.threads.len() <= thread.index() {
            self.threads.resize(thread.index() + 1, false);
        }
        if !std::mem::replace(&mut self.threads[thread.index()], true) {
            self.open_threads.push(thread.index());
        }
    }

    /// Looks into what was found; a number for what is there, in whatever order it was found.
    fn look_into<'s>(&mut self, stack_of: impl Fn(usize) -> &'s [u64], engine: Span) -> u64 {
        let mut all = 0u64;
        loop {
            let mut hasher = Number::default();
            if let Some(n) = self.open.pop() {
                let (block, bytes) = self.shared.blocks.nth(n);
                add_block(&mut hasher, &block.id, usize::from(block.freed));
                let (words, rest) = bytes.as_chunks();
                for (n, &word) in words.iter().enumerate() {
                    let word = u64::from_ne_bytes(word);
                    let is_met = self.shared.is_met_there(block.at + 8 * n, word);
                    self.see(if is_met { 0 } else { word }, &mut hasher);
                }
                hasher.write(rest);
            } else if let Some(thread) = self.open_threads.pop() {
                hasher.write_usize(thread);
                for &word in stack_of(thread) {
                    // Where the thread was resumed from is no part of it.
                    let is_link = may_be_pointer(word) && engine.contains(word);
                    self.see(if is_link { 0 } else { word }, &mut hasher);
                }
            } else {
                return all;
            }
            all = all.wrapping_add(hasher.finish());
        }
    }
}

#[inline]
fn add_block(hasher: &mut Number, id: &BlockId, offset: usize) {
    let (thread, nth) = id.owner();
    hasher.write_u64((thread.index() as u64) << 32 | u64::from(nth));
    hasher.write_usize(id.size << 6 | id.align.trailing_zeros() as usize);
    hasher.write_usize(offset);
}

impl RustMachine {
    /// The situation of a thread that stands at an operation and may be told some values.
    pub(super) fn situation(&self, thread: ThreadId, told: impl Iterator<Item = Outcome>) -> u64 {
        runtime::shared(|shared| {
            let mut reached = self.reached.borrow_mut();
            let of = Some((shared.run, self.made, thread));
            if reached.of != of {
                self.reach(shared, thread, &mut reached);
                reached.of = of;
            }
            debug_assert_eq!(
                reached.number,
                {
                    let mut anew = Reached::default();
                    self.reach(shared, thread, &mut anew);
                    anew.number
                },
                "what a thread can come to is the same as long as the run has not gone on"
            );
            let mut hasher = Number::default();
            hasher.write_u64(reached.number);
            // What it comes to in addition if it is told pointers.
            let mut search = None;
            for value in told {
                let word = shared.real_of(value);
                if may_be_pointer(word) {
                    let (found, threads) = (&reached.blocks, &reached.threads);
                    let search = search.get_or_insert_with(|| {
                        Search::new(shared, self.stack_of(thread), found.clone(), threads.clone())
                    });
                    search.see(word, &mut hasher);
                } else {
                    hasher.write_u64(word);
                }
            }
            if let Some(mut search) = search {
                hasher.write_u64(self.look_into(&mut search, shared));
            }
            hasher.finish()
        })
    }

    /// Where the stack of a thread is.
    fn stack_of(&self, thread: ThreadId) -> Range<usize> {
        self.slots[thread.index()].as_ref().map_or(0..0, |slot| {
            let (limit, base) = slot.strand.stack();
            limit..base
        })
    }

    fn look_into(&self, search: &mut Search, shared: &Shared) -> u64 {
        let at_rest = |n: usize| self.slots[n].as_ref().map_or(&[][..], |slot| slot.strand.at_rest());
        search.look_into(at_rest, self.pool.engine(shared.top).into())
    }

    /// Looks for what a thread that stands at an operation can come to.
    fn reach(&self, shared: &Shared, thread: ThreadId, reached: &mut Reached) {
        let (mut found, mut threads) = (std::mem::take(&mut reached.blocks), std::mem::take(&mut reached.threads));
        found.clear();
        found.resize(shared.blocks.count(), false);
        threads.clear();
        let mut search = Search::new(shared, self.stack_of(thread), found, threads);
        let mut hasher = Number::default();
        search.find_thread(thread);
        let mut roots = Number::default();
        shared.copies.words().into_iter().for_each(|word| search.see(word, &mut roots));
        hasher.write_u64(shared.copies.fingerprint(|word| Some(shared.known_as(word))));
        let lazies = shared.lazies.iter().map(|(_, lazy)| lazy);
        // There may be nothing yet, or something that is empty.
        let nothing = PerThread::default();
        let own = shared.per_thread.get(thread.index()).unwrap_or(&nothing);
        // Whether it is scoped is so from its start on, and what it drops is in its list.
        let PerThread { made, children, timeouts, spurious, deferred, locals, open, is_scoped: _, drops_locals: _ } =
            own;
        (made, children, timeouts, spurious, deferred.len(), locals.len()).hash(&mut hasher);
        open.hash(&mut hasher);
        let locals = locals.iter().filter_map(|(_, local)| match local {
            Local::There(local) => Some(local),
            Local::Gone => None,
        });
        for value in lazies.chain(locals) {
            search.see(std::ptr::from_ref(&**value).cast::<u8>().addr() as u64, &mut hasher);
        }
        (shared.raw_arcs.len(), shared.allocations.len(), shared.lazies.len()).hash(&mut hasher);
        (shared.handed_over, shared.words.len(), shared.parks.len()).hash(&mut hasher);
        shared.borrows.hash_into(&mut hasher);
        hasher.write_u64(self.look_into(&mut search, shared));
        (reached.number, reached.blocks, reached.threads) = (hasher.finish(), search.found, search.threads);
    }
}

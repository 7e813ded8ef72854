//! Memory that a thread allocates and frees for itself while it waits.
//!
//! A loop such as `loop { let seen: Vec<_> = all.iter().map(|a| a.load(Acquire)).collect(); if .. { break } yield_now() }`
//! allocates in every iteration, and no address is given out twice in a run (`blocks.rs`). So it never comes back in the same
//! state, byte by byte, and to anybody who looks at all memory it changes something. But what it changes is its own, and
//! the states differ only in which blocks they are made of.
//!
//! A block is a thread's *own* if it has allocated it while it waited, and nobody else can come to it: there is no pointer to it
//! on the stacks of others, in statics, among what was stored into atomics, in blocks that others have allocated, or that the thread itself
//! does not come to from its stack, or in blocks that these point to. Two states of a thread are *alike* if there is a
//! one-to-one relation of its own blocks such that both stacks, and all blocks that are related, have the same words in them
//! but for pointers to such blocks, which point to related ones at the same offset. A pointer to a block that was freed is
//! related like others, and nothing is asked of what is in it: it cannot be used.
//!
//! Then a cycle (`spin.rs`) is pure as well if it changes nothing but blocks that are its thread's own at that moment, and
//! the thread comes back in a state that is alike. In G - I it goes on as it does in G, with other blocks in their places. That
//! others could tell is impossible while a block is the thread's own; and to hand one over is a change, of an atomic or of
//! memory that is not its own, which ends the cycle. Nor can the thread itself tell, unless it makes something of addresses,
//! which are not the same in every run anyway.
//!
//! Blocks are named in the order in which one comes to them from the stack. What the thread has changed in the cycle and no
//! longer comes to (a thread-local variable, for instance) is part of the state as well.
//!
//! Whether a word points to a block is a guess: it may be a number, or what is left over in a frame, or the address of what would
//! be behind the end of another block. So a block that is a thread's own may be taken for one that others know, in some runs and
//! not in others, in which it is elsewhere. To go on for that reason is never wrong, and what was found the first time holds
//! (`came_round.rs`).

use super::Slot;
use super::surroundings::Surroundings;
use crate::blocks::{Blocks, changed_words};
use crate::restored::Changes;
use crate::runtime;
use crate::spin::{ThreadState, Waits};
use crate::virtual_address::{ADDRESS, may_be_pointer};
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_machine::ThreadId;

/// What a thread that waits has allocated, as numbers of blocks.
#[derive(Default)]
pub(super) struct Churn {
    /// Blocks that were not found to be known to others. (Blocks that it has allocated before it waited are none of these,
    /// whoever knows them: whether a cycle is pure must not depend on how far others have come that have nothing to do with it.)
    own: FxHashSet<usize>,
    /// Those that it has changed since it last changed something else.
    changed: FxHashSet<usize>,
}

impl Churn {
    /// The thread has changed something else: a cycle begins anew.
    pub fn forget(&mut self) {
        self.changed.clear();
    }

    /// A thread has made a step: what it has changed that is not its own, and that it may put back (`restored.rs`). None if it
    /// cannot, or if it was not known that such things happen. Then everything starts again: what is left over in memory must
    /// not be taken for pointers, and is cleared.
    pub fn changes(
        &mut self,
        thread: ThreadId,
        stack: &[u64],
        before: &Surroundings,
        others: [&[Option<Slot>]; 2],
    ) -> Option<Changes> {
        let mut changes = Changes::default();
        let blocks = before.changed(others, &mut changes)?;
        self.own.extend(blocks.iter().filter(|(_, before)| before.is_none()).map(|(n, _)| *n));
        let (own, others): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|(n, _)| self.own.contains(n));
        runtime::shared(|shared| {
            for (n, before) in others {
                let (block, _) = shared.blocks.nth(n);
                let counts = &shared.counts;
                match before {
                    Some(before) if !block.freed => {
                        let is_change = |changed: &_| !shared.was_met(changed);
                        for (at, before, now) in changed_words(block, before).filter(is_change) {
                            changes.add(at, before, now, |at| counts.has(block.at, at));
                        }
                    }
                    _ if counts.are_in(block.at) => changes.freed.push(block.at..block.at + block.id.size),
                    _ => return None,
                }
            }
            Some(())
        })?;
        let own = own.into_iter().map(|(n, _)| n).collect();
        self.keeps(thread, stack, before, own).then_some(changes)
    }

    /// Whether blocks that the thread has changed now, and those that it had changed before, are its own.
    fn keeps(&mut self, thread: ThreadId, stack: &[u64], before: &Surroundings, changed: Vec<usize>) -> bool {
        if self.own.is_empty() {
            return true;
        }
        let had: Vec<usize> = self.changed.intersection(&self.own).copied().collect();
        let outside = before.stacks();
        runtime::shared(|shared| {
            if shared.must_clear(before.deepest()) {
                return false;
            }
            let words = outside.iter().copied().chain(shared.copies.words()).chain(shared.virtuals.handed_over());
            let theirs = theirs(&shared.blocks, (thread, stack, &self.changed), words);
            self.own.retain(|&n| theirs.get(n) == Some(&false));
            let lives = |n: &usize| !shared.blocks.all()[*n].freed;
            if changed.is_empty() {
                return had.into_iter().filter(lives).all(|n| self.own.contains(&n));
            }
            let own = changed.iter().all(|n| self.own.contains(n));
            if own {
                shared.finds(Waits { allocate: true, ..Waits::default() });
                self.changed.extend(changed);
            }
            own && shared.waits.allocate
        })
    }

    /// The state of a thread, given its stack: equal for states that are alike.
    pub fn state(&self, stack: &[u64]) -> ThreadState {
        let words = runtime::shared(|shared| {
            let blocks = &shared.blocks;
            let mut names = Names { blocks, own: &self.own, named: Vec::new(), numbers: FxHashMap::default() };
            let mut state = Vec::with_capacity(2 * stack.len());
            stack.iter().for_each(|&word| names.push(word, &mut state));
            let lives = |n: &usize| blocks.all().get(*n).is_some_and(|block| !block.freed);
            let mut rest: Vec<usize> = self.changed.iter().copied().filter(lives).collect();
            rest.sort_unstable();
            for n in rest {
                names.number(n);
            }
            let mut next = 0;
            while let Some(&n) = names.named.get(next) {
                let content = blocks.words(n);
                state.push(content.len() as u64);
                content.into_iter().for_each(|word| names.push(word, &mut state));
                next += 1;
            }
            state
        });
        ThreadState { words, stack: stack.len(), named: true }
    }
}

/// A thread's own blocks, in the order in which one has come to them.
struct Names<'a> {
    blocks: &'a Blocks,
    own: &'a FxHashSet<usize>,
    named: Vec<usize>,
    numbers: FxHashMap<usize, u64>,
}

impl Names<'_> {
    /// The number of a block; 0 is none.
    fn number(&mut self, n: usize) -> u64 {
        *self.numbers.entry(n).or_insert_with(|| {
            self.named.push(n);
            self.named.len() as u64
        })
    }

    /// A word of the state: as it is, or which of the thread's own blocks it points to, and where.
    fn push(&mut self, word: u64, state: &mut Vec<u64>) {
        let own = pointed_to(self.blocks, word).filter(|n| self.own.contains(n));
        match own {
            Some(n) => {
                let block = self.blocks.all()[n];
                state.push(2 * self.number(n) + u64::from(block.freed));
                state.push(word.wrapping_sub(block.at as u64));
            }
            None => state.extend([0, word]),
        }
    }
}

/// Which blocks are not a thread's own, given its stack, blocks of its own that it has changed, and words that others know.
fn theirs(
    blocks: &Blocks,
    (thread, stack, changed): (ThreadId, &[u64], &FxHashSet<usize>),
    outside: impl Iterator<Item = u64>,
) -> Vec<bool> {
    let all = blocks.all();
    let mut comes_to = vec![false; all.len()];
    follow(blocks, stack.iter().filter_map(|&word| pointed_to(blocks, word)).collect(), &mut comes_to);
    let mut theirs = vec![false; all.len()];
    let from_outside = outside.filter_map(|word| pointed_to(blocks, word));
    let hidden = |&n: &usize| !all[n].freed && !comes_to[n] && !changed.contains(&n);
    let others = (0..all.len()).filter(|n| all[*n].id.thread != thread || hidden(n));
    follow(blocks, from_outside.chain(others).collect(), &mut theirs);
    theirs
}

/// Marks blocks and all that they point to.
fn follow(blocks: &Blocks, mut todo: Vec<usize>, marked: &mut [bool]) {
    while let Some(n) = todo.pop() {
        if !std::mem::replace(&mut marked[n], true) {
            todo.extend(blocks.words(n).into_iter().filter_map(|word| pointed_to(blocks, word)));
        }
    }
}

/// The block that a word points to, whatever marks are in its highest bits.
fn pointed_to(blocks: &Blocks, word: u64) -> Option<usize> {
    if may_be_pointer(word) { blocks.position((word & ADDRESS) as usize) } else { None }
}

//! Memory that a loop changes while it waits, and puts back.
//!
//! In `loop { let a = shared.lock().unwrap().clone(); if a.ready.load(Acquire) { break } yield_now() }` an iteration that is in
//! vain leaves everything as it was. But not after each of its operations: the reference is counted when it is cloned, and not
//! any more when it is dropped, with a load in between. So what a thread changes is added up from one end of an iteration to
//! the next, byte by byte, and what matters is whether all that it has added was taken away again. (Added up, not compared:
//! others may count references to the same value in between, and that they do is none of the thread's doing.)
//!
//! Let I be such a cycle (`spin.rs`), and let it change a byte with a step w and put it back with a step w'. G - I is an execution
//! of the program if nobody else makes anything of the byte between w and w'. Whoever does so must know that w comes before him,
//! and w' must be known to come after him: otherwise it is a data race, and no program may depend on what it reads there. So
//! between w and w' the thread must have written something that somebody else can read (or have given back a lock), and
//! after that have read something that somebody else can have written (or have taken a lock). If it has not, the cycle is as good
//! as one that does not change memory. If it has, others may have *noticed* it, and there is no telling whether that leads
//! to something new: the cycle is made [`ROUNDS`](crate::spin::ROUNDS) times, and then the thread is cut off; the verdict
//! says so. Which of both it is depends on nothing but what the thread itself does, so it is the same in whatever order the
//! steps of an execution are made.
//!
//! Two kinds of bytes nobody can look at in this way. Counts of `std`'s `Arc` are atomics that the model does not know: a model
//! must not depend on them anyway. And the library has such counts in its own `Arc`s ([`Counts`]): whoever asks how many
//! references there are asks a count that is part of the model (`sync/arc.rs`). So it makes no difference when they are not
//! as they were between w and w'; at the end of the iteration they have to be. Who drops the last reference frees the memory; if
//! it does not matter who that is, it is no change.

use rustc_hash::FxHashMap;
use selvedge_machine::{Op, Outcome, Purpose};
use std::ops::Range;

/// If a thread has changed more bytes than these, it is not waited for it to put them back. It is so for all moments since which
/// it is known what has changed, too.
pub(crate) const TOO_MUCH: usize = 1 << 16;

/// What a thread has changed in one step.
#[derive(Default)]
pub(crate) struct Changes {
    pub bytes: Vec<Change>,
    /// Memory with references that are counted, which it has freed because it had the last one.
    pub freed: Vec<Range<usize>>,
}

/// A byte that was changed.
#[derive(Clone, Copy)]
pub(crate) struct Change {
    at: usize,
    /// What was added to it.
    by: u8,
    /// Whether it is part of a count of the library.
    counts: bool,
}

impl Changes {
    /// Adds bytes that are not what they were.
    pub fn add(&mut self, at: usize, before: &[u8], now: &[u8], counts: impl Fn(usize) -> bool) {
        let changed = before.iter().zip(now).enumerate().filter(|(_, (before, now))| before != now);
        self.bytes.extend(changed.map(|(n, (before, now))| {
            let at = at + n;
            Change { at, by: now.wrapping_sub(*before), counts: counts(at) }
        }));
    }
}

/// What a thread has changed since some moment, and has not put back.
#[derive(Default)]
pub(crate) struct Unrestored {
    /// By addresses of bytes, what was added to them in all, and whether it is part of a count.
    sums: FxHashMap<usize, (u8, bool)>,
    /// How many of these are not.
    visible: usize,
    /// Whether somebody else may have come to know of it.
    is_told: bool,
    /// Whether he may have told the thread something after that.
    is_noticed: bool,
}

impl Unrestored {
    /// Whether all is as it was.
    pub fn is_nothing(&self) -> bool {
        self.sums.is_empty()
    }

    /// Whether it is too much.
    pub fn is_too_much(&self) -> bool {
        self.sums.len() > TOO_MUCH
    }

    /// How many bytes are not as they were.
    pub fn size(&self) -> usize {
        self.sums.len()
    }

    /// Whether others may have noticed something since this was last asked.
    pub fn take_noticed(&mut self) -> bool {
        std::mem::take(&mut self.is_noticed)
    }

    /// The thread performs an operation.
    pub fn performs(&mut self, op: &Op, outcome: Outcome) {
        let Op::Access(access) = op else { return };
        self.is_noticed |= self.is_told && access.reads();
        // That a lock was taken tells nobody anything before it is given back.
        let tells = access.written(outcome).is_some() && access.purpose != Purpose::Lock;
        self.is_told |= tells && self.visible > 0;
    }

    /// The thread has changed something.
    pub fn changes(&mut self, changes: &Changes) {
        for &Change { at, by, counts } in &changes.bytes {
            let (sum, _) = self.sums.entry(at).or_insert((0, counts));
            *sum = sum.wrapping_add(by);
            if *sum == 0 {
                self.sums.remove(&at);
            }
        }
        for freed in &changes.freed {
            self.sums.retain(|at, _| !freed.contains(at));
        }
        self.visible = self.sums.values().filter(|(_, counts)| !counts).count();
        self.is_told &= self.visible > 0;
    }
}

/// Where the library counts references of its own.
#[derive(Default)]
pub(crate) struct Counts {
    /// Whether anybody wants to know.
    pub on: bool,
    /// By the addresses of blocks, where the counts end that they begin with.
    ends: FxHashMap<usize, usize>,
}

impl Counts {
    /// A run starts.
    pub fn clear(&mut self) {
        self.on = false;
        if !self.ends.is_empty() {
            self.ends.clear();
        }
    }

    /// References to a value are counted before it, in a block that starts there.
    pub fn note(&mut self, block: usize, value: usize) {
        self.ends.insert(block, value);
    }

    /// Whether a byte of a block is part of a count.
    pub fn has(&self, block: usize, at: usize) -> bool {
        self.ends.get(&block).is_some_and(|&end| at < end)
    }

    /// Whether a block has a count.
    pub fn are_in(&self, block: usize) -> bool {
        self.ends.contains_key(&block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_ir::Order;
    use selvedge_machine::{Access, AccessKind, Addr};

    fn change(before: &[u8], now: &[u8]) -> Changes {
        let mut changes = Changes::default();
        changes.add(64, before, now, |_| false);
        changes
    }

    fn access(kind: AccessKind) -> Op {
        Op::Access(Access::new(Addr(64), 8, Order::AcqRel, kind))
    }

    #[test]
    fn what_is_added_and_taken_away_is_nothing_whatever_others_add() {
        let mut since = Unrestored::default();
        since.changes(&change(&[1, 0], &[2, 0]));
        assert!(!since.is_nothing());
        since.changes(&change(&[5, 7], &[4, 7]));
        assert!(since.is_nothing());
    }

    #[test]
    fn others_notice_if_they_are_told_and_can_answer() {
        let (load, store) = (access(AccessKind::Load), access(AccessKind::Store { value: 1 }));
        let noticed = |ops: &[Op]| {
            let mut since = Unrestored::default();
            ops.iter().take(1).for_each(|op| since.performs(op, 0));
            since.changes(&change(&[0], &[1]));
            ops.iter().skip(1).for_each(|op| since.performs(op, 0));
            since.changes(&change(&[1], &[0]));
            since.performs(&load, 0);
            since.take_noticed()
        };
        assert!(noticed(&[load, store, load]));
        assert!(!noticed(&[load, load, store]) && !noticed(&[store, load, load]));
    }
}

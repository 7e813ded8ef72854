//! Whether looks that fail have been tried out wherever a thread went on without them.
//!
//! What a thread does after looks that fail is tried out (`returns.rs`) when the engine asks about a value, and when the thread
//! goes on: in the situation that it is in then, with values that are known to fail by then, and that have been written. But
//! one may be written only after the thread has gone on, or be found to fail only in another execution; and others may have
//! left something else in memory there. That a look makes no difference there says nothing about here.
//!
//! So whoever goes on after a look, in some situation, in an execution that comes to its end, *owes* a trial: of looks with any
//! of the values that it may have found there before, as far as they fail, in this very situation. Most often that has been tried out
//! in another execution, or will be. What is still owed when everything has been explored is not known to make no
//! difference: then the exploration starts again, and at these places only looks that come back in the same state fail.
//!
//! A value that fails may be a pointer, and the thread may have followed it. Then what it leads to is part of the situation,
//! and it must have been there when the thread went on.

use super::RustMachine;
use super::past::written;
use crate::number::Number;
use crate::runtime::{self, At};
use crate::virtual_address::may_be_virtual;
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, Addr, Op, Outcome, Purpose, ThreadId, truncate};
use std::hash::{Hash, Hasher};

/// More situations are not kept.
const MOST: usize = 1 << 16;

/// A thread that goes on after a look.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Going {
    /// What it has been told before.
    pub past: (u64, ThreadId),
    /// What it has found.
    pub value: Outcome,
    /// A number for the situation that it is in, what it comes to from pointers that fail included, and one for these.
    situation: u64,
    pointers: u64,
}

impl Going {
    /// Whether these are what fails.
    pub fn is_with(&self, fails: &[Outcome]) -> bool {
        self.pointers == number_of_pointers(fails)
    }
}

/// What has been tried out, and what has to be.
#[derive(Default)]
pub(super) struct Owed {
    /// By step, how its thread goes on after a look.
    going: Vec<(usize, Going)>,
    /// Values with which looks failed before that, and made no difference.
    tried: FxHashMap<Going, Vec<Vec<Outcome>>>,
    /// Values that were there when an execution ended in which a thread has gone on, and where it has looked.
    ended: FxHashMap<Going, (At, Vec<Vec<Outcome>>)>,
}

impl Owed {
    /// A thread makes a step, and goes on after a look.
    pub fn goes_on(&mut self, step: usize, going: Going) {
        self.forget(step);
        self.going.push((step, going));
    }

    /// Steps have been taken back: so many are left.
    pub fn forget(&mut self, made: usize) {
        while self.going.last().is_some_and(|(step, _)| *step >= made) {
            self.going.pop();
        }
    }

    /// How a thread has gone on in a step, if that was looked at.
    pub fn going(&self, step: usize) -> Option<Going> {
        let at = self.going.binary_search_by_key(&step, |(step, _)| *step).ok()?;
        Some(self.going[at].1)
    }

    /// Looks were tried out.
    pub fn tried(&mut self, going: Going, fails: &[Outcome]) {
        if self.tried.len() < MOST || self.tried.contains_key(&going) {
            let all = self.tried.entry(going).or_default();
            if !covers(all, fails) {
                all.push(fails.to_vec());
            }
        }
    }

    /// An execution has ended, with these values. Whether there is room for that.
    pub fn ended(&mut self, going: Going, at: At, there: &[Outcome]) -> bool {
        let room = self.ended.len() < MOST;
        let (_, all) = self.ended.entry(going).or_insert_with(|| (at, Vec::new()));
        if !all.iter().any(|known| known == there) {
            all.push(there.to_vec());
        }
        room
    }

    /// The places of looks that have not been tried out, given the values that fail after some past, and whether looks that fail
    /// lead to another one, which may find whatever is there (`relayed.rs`).
    pub fn places(&self, fails: impl Fn((u64, ThreadId)) -> (Vec<Outcome>, bool)) -> Vec<At> {
        let mut places: Vec<At> = Vec::new();
        for (going, (at, all)) in &self.ended {
            let known = fails(going.past);
            let is_owed = |there: &Vec<Outcome>| !self.is_settled(going, there, &known);
            if !places.contains(at) && all.iter().any(is_owed) {
                places.push(*at);
            }
        }
        places
    }

    /// Whether looks with those of some values that fail have been tried out.
    fn is_settled(&self, going: &Going, there: &[Outcome], (fails, relayed): &(Vec<Outcome>, bool)) -> bool {
        let fails: Vec<Outcome> = there.iter().copied().filter(|value| fails.contains(value)).collect();
        let found = if *relayed { there } else { &fails };
        let tried = self.tried.get(going).is_some_and(|tried| covers(tried, found));
        fails.is_empty() || tried && going.is_with(&fails)
    }
}

/// Whether these were tried out together.
fn covers(tried: &[Vec<Outcome>], fails: &[Outcome]) -> bool {
    tried.iter().any(|looks| fails.iter().all(|value| looks.contains(value)))
}

/// A number for the pointers among some values, in whatever order they are.
fn number_of_pointers(values: &[Outcome]) -> u64 {
    values.iter().filter(|value| may_be_virtual(**value)).fold(0, |all, &value| {
        let mut hasher = Number::default();
        value.hash(&mut hasher);
        hasher.finish().wrapping_add(all)
    })
}

/// What the reads of an execution can have read from, as far as values tell: the steps that have written it, or what was there at
/// first.
#[derive(Default)]
pub(super) struct Sources {
    /// By steps, one after the other, and where those of each begin.
    from: Vec<Option<usize>>,
    starts: Vec<usize>,
}

impl Sources {
    /// Those of a step; none if it reads nothing.
    fn of(&self, step: usize) -> &[Option<usize>] {
        let end = self.starts.get(step + 1).copied().unwrap_or(self.from.len());
        &self.from[self.starts[step]..end]
    }
}

/// Whether what an access is told is what it has read.
fn is_known(access: &Access) -> bool {
    access.reads() && access.purpose == Purpose::Data && access.until.is_none()
}

impl RustMachine {
    /// How a thread that stands at a look would go on with each of some values, if looks with others fail.
    pub(super) fn goings(&self, past: (u64, ThreadId), values: &[Outcome], fails: &[Outcome]) -> Vec<Going> {
        let pointers = number_of_pointers(fails);
        let leads = |value: &Outcome| may_be_virtual(*value);
        // A number that is told does not lead to anything that the thread does not come to anyway.
        let mut without = None;
        let going = |&value: &Outcome| {
            let mut told: Vec<Outcome> = fails.iter().copied().filter(leads).collect();
            told.sort_unstable();
            told.extend(Some(value).filter(leads));
            let situation = match told.is_empty() {
                true => *without.get_or_insert_with(|| self.situation(past.1, [].into_iter())),
                false => self.situation(past.1, told.into_iter()),
            };
            Going { past, value, situation, pointers }
        };
        values.iter().map(going).collect()
    }

    /// The values that a thread may have found in a word before it made a step: those that are
    /// there, but for what comes after the step.
    ///
    /// A step comes after those that its thread has made before, and after those that it has read from. Steps are made in
    /// such an order. Of a read only the value is known: so it comes after the step for certain if all writes do that it can
    /// have read from. If it is an exchange, these are not the ones that another exchange has read from: whoever takes a lock
    /// that was free from the start is the only one who finds that.
    pub(super) fn found_before(
        &self,
        n: usize,
        addr: Addr,
        there: &[Outcome],
        sources: &mut Option<Sources>,
    ) -> Vec<Outcome> {
        let values = self.values_until(n, addr);
        if values == there {
            return values;
        }
        let sources = sources.get_or_insert_with(|| self.sources());
        let mut threads = vec![false; self.states.len()];
        let mut after = vec![false; self.made];
        for (m, step) in self.steps[..self.made].iter().enumerate() {
            let mut is_after = m == n || threads[step.thread.index()];
            match step.op {
                Op::Join { thread } => is_after |= threads[thread.index()],
                Op::Spawn { child } => threads[child.index()] |= is_after,
                _ => {
                    let from = sources.of(m);
                    is_after |= !from.is_empty() && from.iter().all(|from| from.is_some_and(|k| after[k]));
                }
            }
            (after[m], threads[step.thread.index()]) = (is_after, is_after);
        }
        let mut values: Vec<Outcome> = vec![self.first_value(addr)];
        let before = (0..self.made).filter(|&m| !after[m]);
        values.extend(before.filter_map(|m| written(&self.steps[m], addr)));
        values.sort_unstable();
        values.dedup();
        values
    }

    /// What the reads of an execution can have read from.
    fn sources(&self) -> Sources {
        let mut sources = Sources::default();
        let mut writes: FxHashMap<Addr, Vec<(usize, u64)>> = FxHashMap::default();
        // What exchanges have read from for certain.
        let mut taken: FxHashSet<(Addr, Option<usize>)> = FxHashSet::default();
        for (m, step) in self.steps[..self.made].iter().enumerate() {
            sources.starts.push(sources.from.len());
            let Op::Access(access) = step.op else { continue };
            let (addr, new) = (access.addr, written(step, access.addr));
            let known = writes.entry(addr).or_default();
            if is_known(&access) {
                let init = self.tries.inits.get(&addr).map(|&init| truncate(init, access.size));
                let first = init.is_none_or(|init| init == step.outcome).then_some(None);
                let others = known.iter().filter(|(_, value)| *value == step.outcome).map(|(k, _)| Some(*k));
                let could = |from: &Option<usize>| new.is_none() || !taken.contains(&(addr, *from));
                let start = sources.from.len();
                sources.from.extend(first.into_iter().chain(others).filter(could));
                if let ([from], true) = (&sources.from[start..], new.is_some()) {
                    taken.insert((addr, *from));
                }
            }
            known.extend(new.map(|new| (m, new)));
        }
        sources
    }

    /// Everything has been explored: notes at which places looks have not been tried out.
    pub(super) fn settle(&mut self) {
        let places = self.unsettled();
        runtime::shared(|shared| shared.awaits.owe(places));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::Location;

    fn going(situation: u64, fails: &[Outcome]) -> Going {
        Going { past: (7, ThreadId::new(1)), value: 2, situation, pointers: number_of_pointers(fails) }
    }

    #[test]
    fn what_was_tried_out_elsewhere_is_still_owed() {
        let mut owed = Owed::default();
        assert!(owed.ended(going(1, &[]), Location::caller(), &[0, 1, 2]));
        assert!(owed.places(|_| (vec![], false)).is_empty(), "no look fails");
        owed.tried(going(2, &[]), &[1]);
        assert_eq!(owed.places(|_| (vec![1], false)).len(), 1);
        owed.tried(going(1, &[]), &[1]);
        assert!(owed.places(|_| (vec![1], false)).is_empty());
        assert_eq!(owed.places(|_| (vec![0, 1], false)).len(), 1, "not together");
    }

    #[test]
    fn a_pointer_that_comes_later_is_owed() {
        let pointer = 0x2a00_0000_1000;
        let mut owed = Owed::default();
        owed.tried(going(1, &[]), &[pointer]);
        owed.ended(going(1, &[]), Location::caller(), &[2, pointer]);
        assert_eq!(owed.places(move |_| (vec![0x2a00_0000_1000], false)).len(), 1);
        owed = Owed::default();
        owed.tried(going(1, &[pointer]), &[pointer]);
        owed.ended(going(1, &[pointer]), Location::caller(), &[2, pointer]);
        assert!(owed.places(move |_| (vec![0x2a00_0000_1000], false)).is_empty());
    }

    #[test]
    fn steps_that_are_taken_back_are_forgotten() {
        let mut owed = Owed::default();
        owed.goes_on(3, going(1, &[]));
        owed.goes_on(5, going(2, &[]));
        owed.forget(5);
        assert_eq!((owed.going(3), owed.going(5)), (Some(going(1, &[])), None));
    }
}

//! Loops that only look, and never come back to where they were.
//!
//! A loop that waits ends an execution where it comes back to a state in which it was (`spin.rs`), and there are loops that never
//! do: they count their looks, put a new value where the old one was, or push something to a list and pop it again. Nobody is told
//! of that as long as they wait, but to anybody who looks at memory every iteration is another one. So there would be an
//! execution for every number of iterations, each longer than the one before, without an end.
//!
//! A thread *only looks* as long as it loads, fails to exchange something, takes locks and gives them back, chooses, frees
//! memory, counts references, and otherwise leaves what it writes as it was by the end of each iteration. (A word is as it was
//! if all that the thread has added to it is nothing: others may add to it as well.) If a thread has come round [`OFTEN`] times in
//! one execution since it last did anything else, the place where it comes round is *marked*, and the exploration starts again.
//! From then on a thread that comes to such a place is cut off when it has come back there [`ROUNDS`](crate::spin::ROUNDS) times
//! since it last did anything else, and has found nothing new since it was last there, whatever has become of its memory.
//!
//! Before a thread waits for ever it may have waited for a while, at the same place: it asks others for help after some looks, and
//! goes on looking. What it does before that must not be cut off because of what it does after. So a place is marked for one
//! [`Phase`] of a thread: for what it has told others so far (what it has written, but for what it has put back), and for the
//! operation that it looks with. If there are more than [`MOST_PHASES`], it is marked for all.
//!
//! That loses executions, and the verdict says so: nobody knows what the thread would do next. It may count, and give up at some
//! number; then it is explored to its end if it does so before it has come round so often. For the same reason a thread that
//! is cut off here is never in a livelock. If no execution comes to its end, all is explored once more with [`MOST_OFTEN`] in the
//! place of [`OFTEN`]; and if that does not help, it is a failure of its own.
//!
//! What is counted depends on nothing but what the thread itself does, so it is the same in whatever order the steps of an
//! execution are made.

use crate::number::Number;
use crate::runtime::At;
use crate::script::Step;
use crate::spin::is_quiet;
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_machine::{Access, Addr, Op, Outcome, Purpose, ThreadId, truncate};
use std::hash::{Hash, Hasher};
use std::panic::Location;

/// So often a thread comes round before the place is marked.
const OFTEN: u32 = 128;
/// The same if no execution comes to its end otherwise.
pub(crate) const MOST_OFTEN: u32 = 1024;
/// If a place is marked for more phases of one thread, it is marked for all of them: each lets everything start again.
const MOST_PHASES: usize = 8;

/// The places where threads come round and round. (Another thread may come there in another loop, through a function that both
/// call.)
#[derive(Default)]
pub(crate) struct Endless {
    places: FxHashMap<(ThreadId, Location<'static>), FxHashSet<Phase>>,
    takes_longer: bool,
}

/// What a thread is about where it comes round: the same thread may come there in another loop, through a function that both
/// call, or before and after it has told others something.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Phase {
    /// Where the operation stands that it has performed last.
    looks: Option<Location<'static>>,
    /// A number for what it has told others so far.
    told: u64,
}

impl Endless {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether a place is one of them.
    pub fn marks(&self, thread: ThreadId, at: At, phase: Phase) -> bool {
        let marked = self.places.get(&(thread, *at));
        marked.is_some_and(|phases| phases.len() > MOST_PHASES || phases.contains(&phase))
    }

    /// Whether so many rounds are many.
    pub fn is_often(&self, rounds: u32) -> bool {
        rounds >= if self.takes_longer { MOST_OFTEN } else { OFTEN }
    }

    /// Marks a place; whether that is news.
    pub fn mark(&mut self, thread: ThreadId, at: At, phase: Phase) -> bool {
        !self.marks(thread, at, phase) && self.places.entry((thread, *at)).or_default().insert(phase)
    }

    /// Forgets all, and waits longer from now on; whether that is news.
    pub fn takes_longer(&mut self) -> bool {
        self.places.clear();
        !std::mem::replace(&mut self.takes_longer, true)
    }
}

/// What a thread has told others in an execution: what it has written, but for what it has put back since.
#[derive(Default)]
pub(crate) struct Told {
    words: FxHashMap<Addr, Written>,
    /// What it has done that is no write.
    others: u64,
    /// Where the operation stands that it has performed last.
    last: Option<Location<'static>>,
    /// The steps of the execution that have been looked at.
    steps: usize,
}

/// What a thread has written to a word: what it has stored there last, and what it has added since.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Written {
    stored: Option<u64>,
    added: u64,
}

impl Told {
    /// Looks at the steps of an execution that are new, and says what the thread is about now. `is_aside` tells of which words it
    /// makes no difference that they are written: locks that are tried, and counts of references.
    pub fn phase(&mut self, thread: ThreadId, steps: &[Step], is_aside: impl Fn(Addr) -> bool) -> Phase {
        let new = steps.get(self.steps..).unwrap_or_default();
        self.steps = steps.len();
        for Step { op, outcome, at, .. } in new.iter().filter(|step| step.thread == thread) {
            self.last = at.copied();
            self.performs(op, *outcome, &is_aside);
        }
        Phase { looks: self.last, told: self.number() }
    }

    fn performs(&mut self, op: &Op, outcome: Outcome, is_aside: impl Fn(Addr) -> bool) {
        match tells(op, outcome, is_aside) {
            Tells::Nothing => {}
            Tells::Other => self.others += 1,
            Tells::Writes { addr, found, new } => {
                let word = self.words.entry(addr).or_default();
                *word = match found {
                    Some(found) => Written { added: word.added.wrapping_add(new.wrapping_sub(found)), ..*word },
                    None => Written { stored: Some(new), added: 0 },
                };
                if *word == Written::default() {
                    self.words.remove(&addr);
                }
            }
        }
    }

    /// A number for all of it. Words are in no order.
    fn number(&self) -> u64 {
        self.words.iter().fold(self.others, |all, word| {
            let mut hasher = Number::default();
            word.hash(&mut hasher);
            hasher.finish().wrapping_add(all)
        })
    }
}

/// What an operation tells others.
enum Tells {
    /// Nothing, or nothing that matters to a loop.
    Nothing,
    /// A write, with what was found there, if that is known.
    Writes { addr: Addr, found: Option<Outcome>, new: u64 },
    /// Something else.
    Other,
}

fn tells(op: &Op, outcome: Outcome, is_aside: impl Fn(Addr) -> bool) -> Tells {
    match op {
        op if is_quiet(op, outcome) => Tells::Nothing,
        Op::Choose { .. } | Op::Free { .. } => Tells::Nothing,
        Op::Access(Access { purpose: Purpose::Lock | Purpose::Unlock, .. }) => Tells::Nothing,
        Op::Access(access) if is_aside(access.addr) => Tells::Nothing,
        Op::Access(access) => match access.written(outcome) {
            Some(new) => Tells::Writes {
                addr: access.addr,
                found: access.reads().then_some(outcome),
                new: truncate(new, access.size),
            },
            // It has waited for something that others have done.
            None => Tells::Other,
        },
        _ => Tells::Other,
    }
}

/// How long a thread has only looked.
#[derive(Default)]
pub(crate) struct Looks {
    /// Where it has come round, since it last did anything else. It may do so at several places in one iteration.
    places: Vec<Place>,
    /// What it has last read.
    read: FxHashMap<Addr, u64>,
    /// How many operations it has performed.
    performed: u32,
}

/// A place where a thread comes round.
struct Place {
    at: At,
    /// How often.
    rounds: u32,
    /// As things were when it was last there.
    phase: Phase,
    read: FxHashMap<Addr, u64>,
    performed: u32,
}

impl Looks {
    /// Whether the thread has only looked since it came round somewhere.
    pub fn is_on(&self) -> bool {
        !self.places.is_empty()
    }

    /// The thread performs an operation. `is_aside` tells of which words it makes no difference that they are written.
    pub fn performed(&mut self, op: &Op, outcome: Outcome, is_aside: impl Fn(Addr) -> bool) {
        self.performed += 1;
        if let Op::Access(access @ Access { purpose: Purpose::Data | Purpose::Sync, .. }) = op
            && access.reads()
            && !is_aside(access.addr)
        {
            self.read.insert(access.addr, outcome);
        }
        if matches!(tells(op, outcome, is_aside), Tells::Other) {
            self.places.clear();
        }
    }

    /// The thread is at the end of an iteration: how often it has come round there. It has not if it has performed nothing (as a
    /// loop that waits longer and longer between two looks), and it begins anew if it has changed something.
    pub fn comes_round(&mut self, at: At, phase: Phase) -> u32 {
        let performed = self.performed;
        let is_there = |place: &&mut Place| place.at == at && place.phase.looks == phase.looks;
        let Some(place) = self.places.iter_mut().find(is_there) else {
            self.places.push(Place { at, rounds: 1, phase, read: self.read.clone(), performed });
            return 1;
        };
        if place.performed != performed {
            // Where somebody else has written something new, it may do something about that.
            let finds_news = place.read.iter().any(|(addr, old)| self.read.get(addr).is_some_and(|new| new != old));
            place.rounds = if place.phase == phase && !finds_news { place.rounds + 1 } else { 1 };
            (place.phase, place.performed) = (phase, performed);
            place.read.clone_from(&self.read);
        }
        place.rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_ir::{Order, RmwOp};
    use selvedge_machine::AccessKind;

    fn access(kind: AccessKind) -> Op {
        Op::Access(Access::new(Addr(64), 8, Order::AcqRel, kind))
    }

    fn add(operand: u64) -> Op {
        access(AccessKind::Rmw { op: RmwOp::Add, operand, used: true })
    }

    /// How often a thread has come round that does the same in every iteration.
    fn rounds(iteration: &[(Op, Outcome)]) -> u32 {
        let (mut looks, mut told, mut steps) = (Looks::default(), Told::default(), Vec::new());
        let (thread, at) = (selvedge_machine::main_thread(), Location::caller());
        let rounds = [0; 5].map(|_| {
            for &(op, outcome) in iteration {
                looks.performed(&op, outcome, |_| false);
                steps.push(Step::new(thread, op, outcome, 0, Some(at)));
            }
            looks.comes_round(at, told.phase(thread, &steps, |_| false))
        });
        rounds[4]
    }

    #[test]
    fn what_is_as_it_was_at_the_end_of_each_iteration_is_a_look() {
        let store = |value| (access(AccessKind::Store { value }), 0);
        let exchange = (access(AccessKind::Cas { expected: 0, new: 1, failure: Order::Relaxed }), 0);
        assert_eq!(rounds(&[(access(AccessKind::Load), 3)]), 5);
        assert_eq!(rounds(&[(add(1), 7), (add(u64::MAX), 9)]), 5, "others have added something in between");
        assert_eq!(rounds(&[exchange, store(0)]), 5);
        assert_eq!(rounds(&[store(1), store(0)]), 5);
        assert_eq!(rounds(&[(add(1), 7)]), 1);
        assert_eq!(rounds(&[(Op::AtomicBegin, 0), (Op::AtomicEnd, 0)]), 1);
    }

    #[test]
    fn rounds_without_an_operation_do_not_count_nor_do_other_places() {
        let (mut looks, here, there) = (Looks::default(), Location::caller(), Location::caller());
        let load = access(AccessKind::Load);
        let phase = Phase::default();
        assert_eq!([here, here, there].map(|at| looks.comes_round(at, phase)), [1, 1, 1]);
        looks.performed(&load, 0, |_| false);
        assert_eq!([here, here, there].map(|at| looks.comes_round(at, phase)), [2, 2, 2]);
    }

    #[test]
    fn what_is_done_before_something_is_told_is_another_phase() {
        let (thread, at) = (selvedge_machine::main_thread(), Location::caller());
        let step = |kind, outcome| Step::new(thread, access(kind), outcome, 0, Some(at));
        let phase = |steps: &[Step]| Told::default().phase(thread, steps, |_| false);
        let (load, store) = (step(AccessKind::Load, 0), |value| step(AccessKind::Store { value }, 0));
        let sum = |operand, found| step(AccessKind::Rmw { op: RmwOp::Add, operand, used: true }, found);
        assert_eq!(phase(&[load]), phase(&[load, load]));
        assert_ne!(phase(&[load]), phase(&[load, store(1), load]));
        assert_ne!(phase(&[store(2), load]), phase(&[store(1), load]));
        assert_eq!(phase(&[store(2), store(1), load]), phase(&[store(1), load]));
        assert_eq!(phase(&[load]), phase(&[sum(1, 4), sum(u64::MAX, 9), load]), "it was taken away again");
        let mut endless = Endless::default();
        assert!(endless.mark(thread, at, phase(&[load])) && !endless.mark(thread, at, phase(&[load])));
        assert!(!endless.marks(thread, at, phase(&[store(1), load])));
        for value in (0..).take(MOST_PHASES) {
            endless.mark(thread, at, phase(&[store(value), load]));
        }
        assert!(endless.marks(thread, at, phase(&[store(77), load])), "there are many");
    }
}

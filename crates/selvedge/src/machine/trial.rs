//! Trying out what a thread does after looks that fail: it is told what it finds, and where it comes to is compared
//! (`returns.rs` says what for).

use super::RustMachine;
use super::attempts::{Before, Trace};
use super::snapshot::{Snapshot, cannot_be_put_back};
use crate::cell;
use crate::coroutine::Came;
use crate::runtime::{self, At, Yielded};
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::{AccessKind, Addr, Op, Outcome, ThreadId};

/// More states are not looked at.
const MOST: usize = 128;
/// Nor more operations of a thread that has gone on, whose outcome says nothing.
const LONGEST: usize = 16;

/// A thread that is asked what it does, and the state that it is in before that.
pub(super) struct Asked {
    pub thread: ThreadId,
    /// The value that the engine asks about.
    pub value: Outcome,
    /// Where looks that fail lead to, if it is another look at the same word (`relayed.rs`).
    pub relay: Option<At>,
    /// Whether the exchange may fail for no reason.
    pub weak: bool,
    pub here: Snapshot,
    /// Whether everything is run again instead of putting the thread back.
    pub again: bool,
    /// What memory looked like then.
    pub before: Before,
    /// If it stands at the operation again: the looks that have failed since.
    pub looks: Option<Vec<Found>>,
    /// The same, and where it is, when that was last asked for.
    pub seen: Option<(Vec<Found>, Place)>,
}

/// What a look has found, and whether it is one that has failed for no reason.
pub(super) type Found = (Outcome, bool);

/// What a look has found that has failed for a reason.
pub(super) fn found(value: Outcome) -> Found {
    (value, false)
}

/// A state in which a thread can be after looks that fail: such looks, and whether it stands at the other look at the word.
pub(super) struct After {
    pub looks: Vec<Found>,
    trace: Trace,
    pub relayed: bool,
}

/// What a thread has come to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub came: u64,
    pub stands: Option<(Op, At)>,
    pub trace: Trace,
}

/// So often a thread may come by `spin_loop` between two looks: loops that back off wait longer each time.
pub(super) const MOST_HINTS: usize = 1 << 13;

/// Where stacks are looked at when a thread goes on: where it ends, or wherever it comes by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stacks {
    AtTheEnd,
    Everywhere,
}

/// What `Trace::stack` says if it was not looked at.
const NOT_LOOKED_AT: u64 = u64::MAX;

/// What `Place::came` says.
pub(super) const OPERATION: u64 = 1;
const YIELDS: u64 = 2;
const ENDED: u64 = 3;
/// It cannot go on.
const OTHER: u64 = 4;

impl Place {
    /// Whether only the stack is another one.
    pub fn differs_in_stack(&self, other: &Place) -> bool {
        Place { trace: Trace { stack: other.trace.stack, ..self.trace }, ..*self } == *other
    }

    /// Whether the outcome of the operation says nothing.
    fn is_told_nothing(&self) -> bool {
        match self.stands {
            Some((Op::Access(access), _)) => match access.kind {
                AccessKind::Store { .. } => access.until.is_none(),
                AccessKind::Load => access.order == Order::Plain && is_of_cell(access.addr),
                _ => false,
            },
            Some((Op::Fence { .. } | Op::Free { .. }, _)) => true,
            _ => false,
        }
    }
}

impl RustMachine {
    /// Whether a thread goes on in the same way from some states. None if that is not known, since it goes wrong in the end.
    pub(super) fn goes_on_in_the_same_way(
        &mut self,
        asked: &mut Asked,
        states: &[After],
        value: Outcome,
        stacks: Stacks,
    ) -> Option<bool> {
        let was_put_back = !asked.again;
        // Where it stands, it need not be put back to.
        let stands = |state: &After| asked.looks.as_ref() == Some(&state.looks);
        let first = states.iter().position(stands).unwrap_or(0);
        let states_at_look = states[first..].iter().chain(&states[..first]).filter(|state| !state.relayed);
        let ways = states_at_look.map(|state| state.looks.as_slice()).chain([&[][..]]);
        let mut all = Vec::new();
        for looks in ways {
            let Some(found) = self.go_on_from(asked, looks, value, stacks) else { return Some(false) };
            all.push(found);
        }
        if was_put_back && asked.again {
            // It has turned out on the way that the thread cannot be put back.
            return self.goes_on_in_the_same_way(asked, states, value, stacks);
        }
        let wanted = all.pop().unwrap_or_default();
        let same = all.iter().all(|found| comes_to_the_same(&wanted, found));
        let goes_wrong = wanted.last().is_some_and(|last| last.came == OTHER);
        if !same && goes_wrong && stacks == Stacks::AtTheEnd { None } else { Some(same) }
    }

    /// The states in which a thread can be after looks that fail with some values, or, with others, for no reason, if all of them
    /// may be seen by the other look at the word.
    pub(super) fn states_after(
        &mut self,
        asked: &mut Asked,
        before: &Place,
        fails: &[Outcome],
        goes_on: &[Outcome],
    ) -> Option<Vec<After>> {
        let all: Vec<Found> = fails.iter().chain(goes_on).copied().map(found).collect();
        let weakly = goes_on.iter().filter(|_| asked.weak).map(|&value| (value, true));
        let at_look: Vec<Found> = fails.iter().copied().map(found).chain(weakly).collect();
        let mut states = vec![After { looks: Vec::new(), trace: before.trace, relayed: false }];
        let mut next = 0;
        while next < states.len() {
            let was_relayed = states[next].relayed;
            for &look in if was_relayed { &all } else { &at_look } {
                let mut looks: Vec<Found> = states[next].looks.clone();
                looks.push(look);
                let there = !asked.again && self.come_after(asked, &looks);
                if !there || asked.again {
                    return None;
                }
                let seen = asked.seen.take().filter(|(seen, _)| *seen == looks);
                let now = seen.map_or_else(|| self.place(asked, OPERATION), |(_, now)| now);
                let relayed = asked.is_relayed(&now, before);
                if !relayed && !now.differs_in_stack(before) || states.len() == MOST {
                    return None;
                }
                if was_relayed && relayed && !fails.contains(&look.0) {
                    // It would wait for something else, with a value with which it could go on.
                    return None;
                }
                match states.iter().find(|state| (state.trace, state.relayed) == (now.trace, relayed)) {
                    // It might have come there by these.
                    Some(known) => asked.looks = (!known.looks.is_empty()).then(|| known.looks.clone()),
                    None => states.push(After { looks, trace: now.trace, relayed }),
                }
            }
            next += 1;
        }
        Some(states)
    }

    /// Lets a thread go on after looks that have failed: what it comes to, up to the first operation whose outcome is not
    /// known.
    fn go_on_from(&mut self, asked: &mut Asked, looks: &[Found], value: Outcome, stacks: Stacks) -> Option<Vec<Place>> {
        if !self.come_after(asked, looks) {
            return None;
        }
        asked.looks = None;
        let mut came = self.tell_once(asked.thread, value);
        let mut places = Vec::new();
        loop {
            let place = match stacks {
                Stacks::AtTheEnd => self.place_but_for_stack(asked, came),
                Stacks::Everywhere => self.place(asked, came),
            };
            places.push(place);
            if places.len() == LONGEST || !place.is_told_nothing() {
                break;
            }
            came = self.tell_once(asked.thread, 0);
        }
        if stacks == Stacks::AtTheEnd
            && let Some(last) = places.last_mut()
        {
            last.trace = match asked.again {
                true => self.trace(asked.thread, &asked.before),
                false => Trace { stack: self.stack_differences(&asked.here), ..last.trace },
            };
        }
        Some(places)
    }

    /// Puts a thread back, unless everything is run again.
    pub(super) fn back_in_place(&mut self, asked: &mut Asked) -> bool {
        if asked.again {
            return false;
        }
        if asked.looks.as_ref().is_none_or(|looks| !looks.is_empty()) {
            asked.looks = Some(Vec::new());
            if self.has_touched(&asked.here) || !self.put_thread_back(&asked.here) {
                asked.again = true;
                self.ends_trial();
                self.compared.real = false;
                runtime::shared(|shared| shared.tries_out = true);
            }
        }
        !asked.again
    }

    /// Brings a thread to where it is after looks; whether all of them fail.
    fn come_after(&mut self, asked: &mut Asked, looks: &[Found]) -> bool {
        let made = asked.looks.as_ref().filter(|made| looks.starts_with(made)).map(Vec::len);
        let made = match made {
            Some(made) if !asked.again => made,
            _ => {
                if !self.back_in_place(asked) {
                    if self.run_again().is_err() {
                        return false;
                    }
                    let blocks = runtime::shared(|shared| shared.blocks.contents());
                    asked.before = Before { blocks, stacks: self.other_stacks(asked.thread) };
                    self.compared.real = false;
                }
                0
            }
        };
        let fail = looks[made..].iter().all(|&look| self.tell_look(asked, look) == Some(OPERATION));
        asked.looks = fail.then(|| looks.to_vec());
        fail
    }

    /// Tells a thread what it finds when it looks. If it comes by `spin_loop`, or from one look at the word to the other, what
    /// it comes to then.
    pub(super) fn tell_look(&mut self, asked: &mut Asked, look: Found) -> Option<u64> {
        let made = asked.looks.take();
        let stood = asked.relay.and_then(|_| self.stands_at(asked.thread));
        runtime::fails(look.1);
        let mut came = self.tell_once(asked.thread, look.0);
        runtime::fails(false);
        if came == YIELDS {
            for _ in 0..MOST_HINTS {
                came = self.tell_once(asked.thread, 0);
                if came != YIELDS {
                    break;
                }
            }
        } else if !self.looks_elsewhere(asked, stood) {
            return None;
        }
        asked.looks = made.filter(|_| came == OPERATION).map(|mut made| {
            made.push(look);
            made
        });
        Some(came)
    }

    /// Runs a thread until it is suspended; a number for what it comes to.
    fn tell_once(&mut self, thread: ThreadId, outcome: Outcome) -> u64 {
        let Some(slot) = &mut self.slots[thread.index()] else { return OTHER };
        runtime::repeats(false);
        let came = self.pool.resume(&mut slot.strand, outcome);
        cannot_be_put_back(&came);
        runtime::shared(|shared| shared.met.clear());
        match &came {
            Came::Op => OPERATION,
            Came::To(Yielded::Yields { .. }) => YIELDS,
            Came::To(_) => OTHER,
            Came::End => ENDED,
            Came::Panic(_) => OTHER,
        }
    }

    /// Where a thread is, whatever is on stacks.
    fn place_but_for_stack(&mut self, asked: &Asked, came: u64) -> Place {
        let trace = match asked.again {
            true => Trace { stack: NOT_LOOKED_AT, ..self.trace(asked.thread, &asked.before) },
            false => Trace { stack: NOT_LOOKED_AT, memory: self.memory_differences(&asked.here) },
        };
        Place { came, stands: self.stands_at(asked.thread), trace }
    }

    /// Where a thread is.
    pub(super) fn place(&mut self, asked: &Asked, came: u64) -> Place {
        let trace = if asked.again {
            self.trace(asked.thread, &asked.before)
        } else {
            let (stack, memory) = self.differences(&asked.here);
            Trace { stack, memory }
        };
        Place { came, stands: self.stands_at(asked.thread), trace }
    }
}

/// Whether a word stands for what is in a cell.
fn is_of_cell(addr: Addr) -> bool {
    runtime::shared(|shared| shared.origins.get(&addr).is_some_and(|(what, _)| cell::is_cell(what)))
}

/// Whether a thread comes to the same state on two ways, and to the same on the way there. (Where stacks were not looked at,
/// they count as the same, and so they have to be at the end: if states are the same somewhere, they are so from there on.)
fn comes_to_the_same(one: &[Place], other: &[Place]) -> bool {
    for (one, other) in one.iter().zip(other) {
        if one == other && one.trace.stack != NOT_LOOKED_AT {
            return one.came == OPERATION || one.came == ENDED;
        }
        if !one.differs_in_stack(other) {
            return false;
        }
    }
    false
}

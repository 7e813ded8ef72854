//! Weak initials (Def. 3 of the await paper) and redundancy with respect to a sleep set.
//!
//! A thread `p` is a weak initial of `v` after `E` if the next event of `p` is independent with all events of `v` that
//! precede it, or with all of `v` if `p` is not in it. Then some extension of `E.v` is equivalent to some extension of
//! `E.p`: exploring `v` after `p` has been explored would be redundant.
//!
//! With observers (Optimal DPOR with Observers, Def. 3 and Sec. 6) independence depends on what is read later, so a
//! sleeping store cannot simply be woken by another store to the same bytes. It goes through phases as events pass by:
//!
//! * *asleep*: nothing dependent has happened;
//! * *overwritten*: some other store to the same bytes has happened. A read of the bytes wakes the sleeper;
//! * *must be read*: then the sleeper itself was executed. It is ordered after the other store only if it is read now:
//!   a read wakes (discharges) it, another store to the bytes makes the sequence redundant.
//!
//! What is still asleep in any phase at the end of `v` makes it redundant. Without soft conflicts there is only the first
//! phase, and these are the sleep sets of Optimal-DPOR.

use crate::action::{ANY, Action, Dependence, Footprint};
use crate::byte_range::Range;

/// A step that was explored before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sleeper {
    /// The step.
    pub action: Action,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Asleep,
    Overwritten,
    MustBeRead,
}

/// What becomes of a sleeper when an event passes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It sleeps on, perhaps in another phase.
    Sleeps,
    /// It is woken: what comes is not redundant with respect to it.
    Woken,
    /// What was executed is redundant.
    Redundant,
}

impl Sleeper {
    /// A step that has just been explored.
    pub fn new(action: Action) -> Sleeper {
        Sleeper { action, phase: Phase::Asleep }
    }

    /// Lets an event pass by.
    #[inline]
    pub fn pass(&mut self, event: &Action, dependence: &Dependence) -> Fate {
        let (own, other) = (&self.action.footprint, &event.footprint);
        match self.phase {
            Phase::MustBeRead => return self.is_read(event, dependence),
            Phase::Asleep if event.thread == self.action.thread => {
                return if same_choice(event.choice, self.action.choice) { Fate::Redundant } else { Fate::Woken };
            }
            Phase::Overwritten if event.thread == self.action.thread => {
                self.phase = Phase::MustBeRead;
                return Fate::Sleeps;
            }
            _ => {}
        }
        if !dependence.conflict(own, other) {
            Fate::Sleeps
        } else if dependence.is_soft(own, other) {
            self.phase = Phase::Overwritten;
            Fate::Sleeps
        } else {
            Fate::Woken
        }
    }

    /// The sleeper was executed: is it read now, by whatever thread?
    fn is_read(&self, event: &Action, dependence: &Dependence) -> Fate {
        match event.footprint {
            Footprint::Section(id) => self.is_read_by(dependence.parts(id)),
            Footprint::Anything => Fate::Woken,
            footprint => self.is_read_by(&[footprint]),
        }
    }

    fn is_read_by(&self, parts: &[Footprint]) -> Fate {
        let own = Range::of(&self.action.footprint);
        let overwrites = |part: &Footprint| matches!(part, Footprint::Store { .. } | Footprint::Free { .. });
        if parts.iter().any(|part| !overwrites(part) && Range::of(part).overlaps(&own)) {
            Fate::Woken
        } else if parts.iter().any(|part| Range::of(part).covers(&own)) {
            Fate::Redundant
        } else {
            Fate::Sleeps
        }
    }
}

/// Whether and where a thread is a weak initial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Initial {
    /// It is not.
    No,
    /// It is, and it is not in the sequence.
    NotIn,
    /// It is, and its first event is at this position.
    At(usize),
}

/// Whether a sleeping step's thread is a weak initial of `v`.
#[inline]
pub fn weak_initial(mut sleeper: Sleeper, v: &[Action], dependence: &Dependence) -> Initial {
    let mut own = None;
    for (position, event) in v.iter().enumerate() {
        if own.is_none() && event.thread == sleeper.action.thread {
            own = Some(position);
        }
        match sleeper.pass(event, dependence) {
            Fate::Sleeps => {}
            Fate::Woken => return Initial::No,
            Fate::Redundant => break,
        }
    }
    own.map_or(Initial::NotIn, Initial::At)
}

/// A step with another alternative is another step. One whose alternative is not chosen yet stands for all of them.
#[inline]
fn same_choice(a: u32, b: u32) -> bool {
    a == b || a == ANY || b == ANY
}

/// Whether `v` is redundant with respect to a sleep set: some sleeping step is a weak initial of it
/// (the negation of Alg. 1, ll. 6 and 21).
#[inline]
pub fn redundant(sleep: &[Sleeper], v: &[Action], dependence: &Dependence) -> bool {
    sleep.iter().any(|&sleeper| weak_initial(sleeper, v, dependence) != Initial::No)
}

//! Weak initials and redundancy (Optimal DPOR with Observers, Defs. 2 and 3).
//!
//! A step `p` that was explored after `E` is a weak initial of `w` if its event depends on no event of `w` that precedes
//! it; then some extension of `E.w` is equivalent to some extension of `E.p`, and exploring `w` would be redundant.
//!
//! | paper | here |
//! |---|---|
//! | `done(E)` | the [`Sleeper`]s that start at the level of `E` |
//! | `p ∈ WI_[w](w'.v)` | the sleeper is still asleep when `w'` and `v` have passed by |
//! | `v ∈ redundant(E, done)` | [`redundant`] |
//!
//! The paper tests every step of `done` of every prefix against the whole rest of the execution. Since an event that was
//! found to precede `p` remains so in every extension (Def. 1.3), what is known after a prefix can be kept: a sleeper goes
//! on or is woken as events pass by, one after the other, and those that are left at `pre(E, e)` are tested against `v`.
//! An arrival that sleeps is not woken by another arrival at its mailbox, but by the receive that takes the other one and
//! would have taken it (Sec. 6): until it was executed itself, and was taken itself, it has to be remembered.
//!
//! Nor is a store that sleeps woken by another store of the same thing ("Observers in Nidhugg"): who looks at that before
//! the sleeper is executed wakes it. If the sleeper is executed after the other one, it comes after it in happens-before only
//! if somebody looks at what it has stored: that wakes it too; if it is overwritten before, or never looked at, then
//! what was executed is redundant.

use crate::act::{ANY, Action, NEVER};
use crate::dependence::{accepts, access, conflict, is_store};
use crate::system::NONE;
use crate::trace::Trace;
use crate::{Access, Content, Machine};

/// A step that was explored before.
pub struct Sleeper<M: Machine> {
    /// The step.
    pub action: Action<M>,
    /// What is known of it since then.
    pub phase: Phase,
}

/// What is known of a step since it was explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Phase {
    /// After how many events it was explored.
    from: u32,
    /// Where it was executed since then; [`NONE`] if it was not.
    performed: u32,
    /// Which receives could take what it brings: those with lower numbers.
    limit: u32,
    /// Whether something else has come to its mailbox, or was stored in its place, before it was executed.
    overtaken: bool,
}

impl<M: Machine> Clone for Sleeper<M> {
    fn clone(&self) -> Sleeper<M> {
        Sleeper { action: self.action.clone(), phase: self.phase }
    }
}

/// What becomes of a sleeper when an event passes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It sleeps on.
    Sleeps,
    /// It is woken: what comes is not redundant because of it.
    Woken,
    /// What was executed is redundant, whatever comes.
    Redundant,
}

/// An event that passes by.
pub struct Passing<'a, M: Machine> {
    /// The step.
    pub action: &'a Action<M>,
    /// Its position.
    pub at: u32,
    /// The position of the event that brought what it takes; [`NONE`] if it takes nothing, or something that is known to
    /// come before the sleeper.
    pub source: u32,
}

impl<M: Machine> Sleeper<M> {
    /// A step that was explored after so many events.
    pub fn new(action: Action<M>, from: u32) -> Sleeper<M> {
        let phase = Phase::new(&action, from);
        Sleeper { action, phase }
    }
}

impl Phase {
    /// A step that was explored after so many events.
    pub fn new<M: Machine>(action: &Action<M>, from: u32) -> Phase {
        let arrival = action.act.as_ref().and_then(|act| act.arrival.as_ref());
        let limit = arrival.map_or(NEVER, |arrival| arrival.limit);
        Phase { from, performed: NONE, limit, overtaken: false }
    }

    /// Lets an event pass by.
    #[inline]
    pub fn pass<M: Machine>(&mut self, sleeper: &Action<M>, machine: &M, observers: bool, x: &Passing<'_, M>) -> Fate {
        let (Some(own), Some(other)) = (&sleeper.act, &x.action.act) else {
            let same = x.action.actor == sleeper.actor && same_choice(x.action.choice, sleeper.choice);
            return if same { Fate::Redundant } else { Fate::Woken };
        };
        let arrival = own.arrival.as_ref().filter(|_| observers);
        let stores = observers && is_store(machine, own);
        if self.performed == NONE {
            if x.action.actor == sleeper.actor {
                if !same_choice(x.action.choice, sleeper.choice) {
                    return Fate::Woken;
                }
                if (arrival.is_none() && !stores) || !self.overtaken {
                    return Fate::Redundant;
                }
                self.performed = x.at;
                return Fate::Sleeps;
            }
            let limit = other.arrival.as_ref().map_or(NEVER, |arrival| arrival.limit);
            if conflict(machine, observers, (own, self.limit), (other, limit)) {
                return Fate::Woken;
            }
        }
        if stores {
            return self.pass_store(access(machine, other, own));
        }
        let Some(arrival) = arrival else { return Fate::Sleeps };
        self.overtaken |= other.mailbox() == Some(arrival.message.to);
        if let Some(received) = other.received.as_ref().filter(|received| received.by == arrival.message.to) {
            if received.taken == Some(arrival.message.id) {
                return Fate::Redundant;
            }
            let overtook = x.source >= self.from && x.source < self.performed;
            if overtook && received.nth < self.limit && accepts(machine, received, &arrival.message) {
                return Fate::Woken;
            }
        }
        if let Some(flush) = other.flush()
            && matches!(arrival.message.content, Content::Down { reference, .. } if reference == flush.monitor)
        {
            self.limit = self.limit.min(flush.limit);
        }
        Fate::Sleeps
    }
}

impl Phase {
    /// Lets an event pass by a store.
    fn pass_store(&mut self, access: Access) -> Fate {
        if self.performed == NONE {
            debug_assert!(access != Access::Observes, "who looks at what a sleeper will store conflicts with it");
            self.overtaken |= access == Access::Overwrites;
            return Fate::Sleeps;
        }
        match access {
            Access::Apart => Fate::Sleeps,
            Access::Overwrites => Fate::Redundant,
            Access::Observes => Fate::Woken,
        }
    }
}

/// A step with another alternative is another step. One whose alternative is not chosen yet stands for all of them.
fn same_choice(a: u32, b: u32) -> bool {
    a == b || a == ANY || b == ANY
}

/// An event of a sequence that may be explored after a prefix of the present execution.
#[derive(Clone, Copy)]
pub struct Planned {
    /// The event of the present execution that it is; [`NONE`] if it does something else than that: see [`Sequence`].
    pub event: u32,
    /// The position that it would have.
    pub at: u32,
    /// The position of the event that brought what it takes.
    pub source: u32,
}

/// A sequence that may be explored after a prefix of the present execution.
pub struct Sequence<'a, M: Machine> {
    /// The present execution.
    pub trace: &'a Trace<M>,
    /// The sequence.
    pub v: &'a [Planned],
    /// The event that does something else.
    pub revised: Option<&'a Action<M>>,
}

impl<M: Machine> Sequence<'_, M> {
    /// The step that is planned.
    #[inline]
    pub fn action(&self, planned: &Planned) -> &Action<M> {
        match self.trace.events().get(planned.event as usize) {
            Some(event) => &event.action,
            None => self.revised.expect("what is no event of the execution was revised"),
        }
    }
}

/// Whether and where an actor is a weak initial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Initial {
    /// It is not.
    No,
    /// It is, and it is not in the sequence.
    NotIn,
    /// It is, and its first event is at this index.
    At(usize),
}

/// Whether a sleeping step is a weak initial of `v`.
pub fn weak_initial<M: Machine>(
    machine: &M,
    observers: bool,
    sleeper: &Action<M>,
    mut phase: Phase,
    sequence: &Sequence<'_, M>,
) -> Initial {
    let mut own = None;
    for (index, planned) in sequence.v.iter().enumerate() {
        let action = sequence.action(planned);
        if own.is_none() && phase.performed == NONE && action.actor == sleeper.actor {
            own = Some(index);
        }
        let passing = Passing { action, at: planned.at, source: planned.source };
        match phase.pass(sleeper, machine, observers, &passing) {
            Fate::Sleeps => {}
            Fate::Woken => return Initial::No,
            Fate::Redundant => break,
        }
    }
    own.map_or(Initial::NotIn, Initial::At)
}

/// Def. 3: whether some step that was explored before is a weak initial of `v`, and of what was executed since.
pub fn redundant<M: Machine>(machine: &M, observers: bool, sleep: &[Sleeper<M>], sequence: &Sequence<'_, M>) -> bool {
    let is_initial = |s: &Sleeper<M>| weak_initial(machine, observers, &s.action, s.phase, sequence) != Initial::No;
    sleep.iter().any(is_initial)
}

//! Which steps depend on each other, and which executions are therefore equivalent.
//!
//! Two steps of one actor are ordered as they happened. Two steps of different actors, `e` before `f`, are *dependent* iff
//!
//! - both touch the same part of the state (`event.rs`), and one of them changes it. All that a process does changes its
//!   course, and so do its creation and the signal that dooms it; the course thus orders creation before the first step,
//!   and the deadly signal against every step of its target;
//! - both are shared operations, and
//!   - [`Equivalence::Plain`]: they do not commute, as the front end says;
//!   - [`Equivalence::Observers`]: they are stores of the same thing, and some operation found in it what `f` has stored; or
//!     they are not, and do not commute, or one has to do with what the other has stored. So for every look at something,
//!     it is known which store it found, and that the older ones came before that; the order of the others is open.
//!     (Ibid., "Observers in Nidhugg".)
//! - `e` brings what the receive or flush `f` takes (but not silently, see below);
//! - `e` is a receive that timed out, and `f` brings something that it would have taken;
//! - one counts the messages of a mailbox, and the other brings or takes one;
//! - `e` and `f` bring something to the same mailbox (even if its owner has ended), and
//!   - [`Equivalence::Plain`]: nothing more. This is the column `optimal` of the paper;
//!   - [`Equivalence::Observers`]: what `e` brings is taken by a receive whose predicate also accepts what `f` brings,
//!     and this was not taken out of the mailbox earlier. The receive is the observer: if `f` had come first, it would
//!     have taken the other. (Optimal DPOR with Observers, Sec. 6; `observers(e, f, E)` is that one receive.)
//!
//! A `DOWN` that is thrown away *silently*, since its monitor was ended with `flush` and nobody asked whether it had been
//! there, does not depend on that: it may come before or after. For all others it counts as something that was there
//! until then.
//!
//! A receive that took something does not depend on what arrives later, nor one that timed out on what came before it: it
//! would do the same in the other order. Nor does an arrival depend on the end of the mailbox's owner.
//!
//! *Happens-before* (the paper's `→_E`) is the transitive closure of these, in the order of the execution. Two executions
//! are equivalent (`≃`) iff they consist of the same steps with the same happens-before. A step is known by its actor, its
//! place among the steps of that actor and the alternatives chosen; its predecessors, by how many there are of each
//! actor. That is the [`ClassKey`].
//!
//! By Property 4 of the paper's Def. 1, every linearization of `→_E` is an execution, and equivalent to `E`: so a class has
//! as many executions as its happens-before has linearizations. [`linearizations`] counts them, and tests compare.

use super::event::{Actor, Event, Part, SignalId, Touch};
use super::naive::Naive;
use selvedge_ir::EntityRef;
use selvedge_messages::{Accepts, Access, Machine, Sender};
use std::collections::{BTreeMap, HashMap};

/// A set of steps of one execution, a bit each.
pub type StepSet = u128;

/// Executions have at most this many steps.
pub const MAX_STEPS: usize = StepSet::BITS as usize;

/// What counts as equivalent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Equivalence {
    /// Any two arrivals at a mailbox are ordered.
    Plain,
    /// Only if a receive could tell.
    Observers,
}

/// Names an equivalence class: equal for two executions of a program iff they are equivalent.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClassKey(Box<[u32]>);

/// What was taken, by which step, and what else the receive would have taken (nothing, if it was a flush).
type Taken<'a, M> = HashMap<SignalId, (usize, Option<&'a Accepts<<M as Machine>::Predicate>>)>;

/// Per step, all steps that happen before it.
pub fn happens_before<M: Machine>(run: &Naive<M>, equivalence: Equivalence) -> Vec<StepSet> {
    let taken = taken(run);
    let mut before: Vec<StepSet> = Vec::with_capacity(run.events.len());
    for (at, event) in run.events.iter().enumerate() {
        let direct = |&(n, earlier): &(usize, &Event<M>)| {
            earlier.actor == event.actor || dependent(run, &taken, equivalence, (n, earlier), (at, event))
        };
        let earlier = run.events[..at].iter().enumerate().filter(direct);
        before.push(earlier.fold(0, |set, (n, _)| set | before[n] | 1 << n));
    }
    before
}

/// The key of the present execution's class.
pub fn key<M: Machine>(run: &Naive<M>, equivalence: Equivalence) -> ClassKey {
    let before = happens_before(run, equivalence);
    let mut steps: BTreeMap<Actor, StepSet> = BTreeMap::new();
    for (at, event) in run.events.iter().enumerate() {
        *steps.entry(event.actor).or_default() |= 1 << at;
    }
    let mut words = Vec::new();
    for (actor, &own) in &steps {
        words.extend(actor_words(*actor));
        words.push(own.count_ones());
        for at in (0..run.events.len()).filter(|at| own >> at & 1 == 1) {
            words.push(run.events[at].choice);
            words.extend(steps.values().map(|&steps| (steps & before[at]).count_ones()));
        }
    }
    ClassKey(words.into())
}

fn actor_words(actor: Actor) -> [u32; 4] {
    let sender = |sender| match sender {
        Sender::Process(pid) => [0, pid.index() as u32],
        Sender::Timer(timer) => [timer.n + 1, timer.owner.index() as u32],
    };
    match actor {
        Actor::Process(pid) => [0, pid.index() as u32, 0, 0],
        Actor::Channel(from, to) => {
            let [a, b] = sender(from);
            [1, a, b, to.index() as u32]
        }
        Actor::Timer(timer) => [2, timer.owner.index() as u32, timer.n, 0],
    }
}

fn taken<M: Machine>(run: &Naive<M>) -> Taken<'_, M> {
    let mut taken = HashMap::new();
    for (at, event) in run.events.iter().enumerate() {
        for touch in &event.touches {
            match touch {
                Touch::Takes(_, signal, accepts) => taken.insert(*signal, (at, Some(accepts))),
                Touch::Flushes(_, signal) => taken.insert(*signal, (at, None)),
                // It may come later: it is gone from this step on.
                Touch::Silences(_, reference) => match run.down(*reference) {
                    Some(signal) if !taken.contains_key(&signal) => taken.insert(signal, (at, None)),
                    _ => None,
                },
                _ => None,
            };
        }
    }
    taken
}

fn dependent<M: Machine>(
    run: &Naive<M>,
    taken: &Taken<'_, M>,
    equivalence: Equivalence,
    (at, earlier): (usize, &Event<M>),
    (then, later): (usize, &Event<M>),
) -> bool {
    let conflict = |(a, b): (&Touch<M>, &Touch<M>)| match (a, b) {
        (Touch::Write(a), Touch::Write(b) | Touch::Read(b)) | (Touch::Read(a), Touch::Write(b)) => a == b,
        (Touch::ReadLinks(pid), Touch::Write(Part::Link(a, b)))
        | (Touch::Write(Part::Link(a, b)), Touch::ReadLinks(pid)) => pid == a || pid == b,
        (Touch::ReadHeard(pid), Touch::Write(Part::Heard(a, _)))
        | (Touch::Write(Part::Heard(a, _)), Touch::ReadHeard(pid)) => pid == a,
        (Touch::Shared(a), Touch::Shared(b)) => match equivalence {
            Equivalence::Plain => !run.machine.commute(a, b),
            Equivalence::Observers => shared(run, a, (then, b)),
        },
        (Touch::Arrives(_, arrives), Touch::Takes(_, takes, _) | Touch::Flushes(_, takes)) => arrives == takes,
        (Touch::TimesOut(pid, accepts), Touch::Arrives(to, signal)) => {
            // If it was thrown away before, it could not have been received.
            let gone = taken.get(signal).is_some_and(|&(by, _)| by < at);
            pid == to && !gone && run.accepts(accepts, *signal)
        }
        (Touch::Counts(counted), other) | (other, Touch::Counts(counted)) => match other {
            Touch::Arrives(pid, _) | Touch::Takes(pid, ..) | Touch::Flushes(pid, _) => pid == counted,
            Touch::Silences(pid, _) => pid == counted,
            _ => false,
        },
        (Touch::Arrives(a, first), Touch::Arrives(b, second)) => {
            a == b && (equivalence == Equivalence::Plain || observed(run, taken, *first, *second))
        }
        _ => false,
    };
    earlier.touches.iter().any(|a| later.touches.iter().any(|b| conflict((a, b))))
}

/// Whether two shared operations, the second of them made at some step, are dependent with observers.
fn shared<M: Machine>(run: &Naive<M>, a: &M::Effect, (at, b): (usize, &M::Effect)) -> bool {
    let machine = &run.machine;
    let stored =
        |store: &M::Effect, by: &M::Effect| machine.is_store(store) && machine.access(by, store) != Access::Apart;
    if machine.is_store(a) && stored(b, a) && stored(a, b) {
        return is_found(run, at, b);
    }
    stored(a, b) || stored(b, a) || !machine.commute(a, b)
}

/// Whether some operation finds what was stored at some step.
fn is_found<M: Machine>(run: &Naive<M>, at: usize, store: &M::Effect) -> bool {
    let shared = |touch: &Touch<M>| match touch {
        Touch::Shared(effect) => Some(run.machine.access(effect, store)),
        _ => None,
    };
    let mut later = run.events[at + 1..].iter().flat_map(|event| event.touches.iter().filter_map(shared));
    later.find(|access| *access != Access::Apart) == Some(Access::Observes)
}

/// Whether some receive could tell in which order two things arrived.
fn observed<M: Machine>(run: &Naive<M>, taken: &Taken<'_, M>, first: SignalId, second: SignalId) -> bool {
    let Some(&(observer, Some(accepts))) = taken.get(&first) else { return false };
    let gone = taken.get(&second).is_some_and(|&(by, _)| by < observer);
    !gone && run.accepts(accepts, second)
}

/// In how many orders steps can be made so that each comes after those before it. At most 64 steps; the number may be
/// too large to be worth counting: then nothing.
pub fn linearizations(before: &[StepSet], most: usize) -> Option<u64> {
    let mut ways: HashMap<StepSet, u64> = HashMap::from([(0, 1)]);
    for _ in 0..before.len() {
        let mut next: HashMap<StepSet, u64> = HashMap::new();
        for (made, count) in ways {
            for (at, &needed) in before.iter().enumerate() {
                if made >> at & 1 == 0 && needed & !made == 0 {
                    *next.entry(made | 1 << at).or_default() += count;
                }
            }
        }
        if next.len() > most {
            return None;
        }
        ways = next;
    }
    ways.into_values().next()
}

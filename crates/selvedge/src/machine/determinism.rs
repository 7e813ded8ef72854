//! Whether a model does the same again with the same outcomes.
//!
//! Every execution but the first is found by running another one again up to some step. What is compared then:
//!
//! - every step: the operation, with the object, the order and the value, and where it stands in the source;
//! - the operations that threads wait with at the end of it, and that those have ended which had;
//! - the objects that were met, in order, and their first values.
//!
//! What comes after the last step that a run shares with the next one would not be compared with anything. So the first
//! execution is run again as a whole, and so are some later ones, ever more rarely (those of explorations that were broken
//! off count as well); and so is one in which a thread fails: a failure that does not come again is no failure of the model.
//! Where all threads have come to their ends, that is done in another order (`reordered.rs`): what they tell each other by
//! anything but operations is found then.
//!
//! Addresses may differ from one run to the next: they are not part of this, since the engine sees virtual ones
//! (`virtual_address.rs`). But what a model's code allocates for the first time in a process (`std` has buffers, for
//! instance) it does not allocate again, and the blocks after it are then known by other numbers. So if nothing but blocks
//! differs, everything starts again, twice at most.

use super::RustMachine;
use crate::report;
use crate::request::Request;
use crate::runtime::{self, At, Pending};
use crate::shared::Numbered;
use crate::virtual_address::may_be_virtual;
use rustc_hash::FxHashMap;
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, AccessKind, Addr, Op, SourceSpan, Status, Stop, ThreadId, Unsupported};

/// Of the executions whose number is a power of two, each so-many-th is compared.
pub(super) const COMPARED: u32 = 3;
/// How often everything is tried again.
const AGAIN: u32 = 2;

/// What is asked where an execution was run in another order.
const SHARED: &str = "(Do threads tell each other something by anything but the model's own objects, such as an atomic or a lock of `std`?)";

/// What is compared when executions end.
#[derive(Default)]
pub(super) struct Compared {
    /// Whether the present run is one of an execution, and not one that tries something out.
    pub real: bool,
    /// Whether it is not to be as it was, but in another order, or cut off (`reordered.rs`).
    pub otherwise: bool,
    /// The threads that begin in it, and before which steps; none if they do when they are created.
    pub begins: Vec<(usize, ThreadId)>,
    /// Threads that have failed in such a run, the first one first: why, and where.
    pub failed: Vec<(ThreadId, String, SourceSpan)>,
    /// Objects that were met in the run before, if that was one of an execution.
    met: Vec<Numbered>,
}

/// Something that a thread does.
enum Deed {
    /// It comes to an operation.
    Op(Op, Option<At>),
    /// It ends, or fails.
    Other(String),
}

impl Compared {
    /// Nothing yet, and a list that is used again.
    pub fn new_in(met: Vec<Numbered>) -> Compared {
        Compared { met, ..Compared::default() }
    }

    /// The list, for the next one.
    pub fn take_met(&mut self) -> Vec<Numbered> {
        std::mem::take(&mut self.met)
    }
}

impl RustMachine {
    /// The present run is about to be abandoned, and the next one starts.
    pub(super) fn keep_met(&mut self) {
        let Compared { real, met, .. } = &mut self.compared;
        met.clear();
        runtime::shared(|shared| {
            if *real {
                std::mem::swap(met, &mut shared.numbers);
            }
            *real = !shared.tries_out;
        });
    }

    /// Whether the threads of a run that was repeated stand where they stood, and have met the same objects.
    pub(super) fn compare(&mut self) -> Result<(), Stop> {
        if !self.compared.real {
            return Ok(());
        }
        // Who has joined one that stands somewhere else, or has failed, may have failed because of that.
        let failed = self.compared.failed.iter().map(|&(thread, ..)| thread);
        let others = (0..self.states.len()).map(ThreadId::new).filter(|&thread| self.failure_of(thread).is_none());
        for thread in others.chain(failed) {
            self.compare_thread(thread)?;
        }
        let Compared { met, otherwise, .. } = &self.compared;
        let differs = runtime::shared(|shared| {
            let known = &shared.numbers;
            if *otherwise {
                return first_values_differ(met, known);
            }
            let common = met.len().min(known.len());
            (met[..common] != known[..common])
                .then(|| met.iter().zip(known).find(|(before, now)| before != now).map(|(&a, &b)| (a, b)))
                .flatten()
        });
        differs.map_or(Ok(()), |(before, now)| Err(self.met_differs(before, now)))
    }

    /// Whether a thread stands where it stood.
    fn compare_thread(&self, thread: ThreadId) -> Result<(), Stop> {
        let state = &self.states[thread.index()];
        let slot = self.slots.get(thread.index()).and_then(Option::as_ref);
        let now = slot.and_then(|slot| slot.strand.pending());
        let before = match state.status {
            Status::Ready => {
                if now.is_some_and(|now| {
                    (state.request == now.request || is_same(&state.op, &now.request.op()))
                        && state.at.is_none_or(|at| std::ptr::eq(at, now.at))
                }) {
                    return Ok(());
                }
                Deed::Op(state.op, state.at)
            }
            Status::Finished
                if now.is_none()
                    && self.failure_of(thread).is_none()
                    && slot.is_none_or(|slot| slot.strand.has_ended()) =>
            {
                return Ok(());
            }
            Status::Finished => Deed::Other("it ended".to_owned()),
            Status::Absent | Status::AssumeBlocked | Status::Stopped => return Ok(()),
        };
        Err(self.differs(thread, &before, now))
    }

    /// Why and where a thread has failed that was run in another order.
    fn failure_of(&self, thread: ThreadId) -> Option<(&str, SourceSpan)> {
        let failed = self.compared.failed.iter().find(|(other, ..)| *other == thread);
        failed.map(|(_, why, place)| (why.as_str(), place.clone()))
    }

    /// Whether a thread is where the record says.
    #[inline]
    pub(super) fn check(&self, thread: ThreadId, request: &Request, at: Option<At>) -> Result<(), Stop> {
        let slot = self.slots.get(thread.index()).and_then(Option::as_ref);
        let now = slot.and_then(|slot| slot.strand.pending());
        match now {
            Some(now) if now.request == *request && at.is_none_or(|at| std::ptr::eq(at, now.at)) => Ok(()),
            now => Err(self.differs(thread, &Deed::Op(request.op(), at), now)),
        }
    }

    /// An execution has ended: whether it is to be run again as a whole.
    pub(super) fn is_to_be_compared(&mut self) -> bool {
        let ended = runtime::shared(|shared| {
            shared.ended += 1;
            shared.ended
        });
        ended.is_power_of_two() && ended.trailing_zeros().is_multiple_of(COMPARED)
    }

    /// A thread has failed: that has to come again.
    pub(super) fn fails_again(&mut self, thread: ThreadId, stop: Stop) -> Stop {
        let Stop::Violation(violation) = &stop else { return stop };
        let busy = runtime::shared(|shared| shared.tries_out || shared.restart || shared.once);
        if busy || runtime::is_spoiled() {
            return stop;
        }
        let before = Deed::Other(format!("it failed: {}", violation.message));
        if let Err(other) = self.run_again() {
            return other;
        }
        let slot = self.slots.get(thread.index()).and_then(Option::as_ref);
        match slot.and_then(|slot| slot.strand.pending()) {
            Some(now) => self.differs(thread, &before, Some(now)),
            None => stop,
        }
    }

    /// A thread does not stand at what the engine knows from an execution in which threads ran in another order, an access to
    /// these bytes if it is one. Who has come there first must not make a difference to others but by operations: the counts of
    /// `std`'s `Arc`s say so, too, and what is then dropped, by whom, may do something.
    #[cold]
    pub(super) fn is_misled(&mut self, thread: ThreadId, addr: Option<Addr>) -> Option<Stop> {
        if self.misled.is_none() && !runtime::shared(|shared| shared.restart) {
            let state = &self.states[thread.index()];
            let now = match state.status {
                Status::Ready => report::operation(&state.op),
                _ => "nothing".to_owned(),
            };
            let before = addr
                .map_or_else(|| "something else".to_owned(), |addr| format!("an access to {}", report::object(addr)));
            let name = report::name(thread);
            let what = format!(
                "{name} did this when threads ran in one order: {before}; and this in another: {now}. (Is there something that `std` \
                 counts, such as a `std::sync::Arc`, whose last owner does something when he drops it?)"
            );
            let place = state.at.map(runtime::span).unwrap_or_default();
            self.misled = Some(not_deterministic(&what, place));
        }
        let starts_again = || runtime::shared(|shared| shared.restart).then(|| *runtime::starts_again());
        self.misled.clone().or_else(starts_again)
    }

    /// A thread does not do what it has done before.
    #[cold]
    fn differs(&self, thread: ThreadId, before: &Deed, now: Option<&Pending>) -> Stop {
        if runtime::shared(|shared| shared.restart) {
            return *runtime::starts_again();
        }
        let blocks_only = match (before, now) {
            (Deed::Op(op, at), Some(now)) => are_same_but_for_blocks(op, *at, now),
            _ => false,
        };
        if blocks_only && !self.compared.otherwise && tries_again() {
            return *runtime::starts_again();
        }
        let place = match (before, now) {
            (_, Some(now)) => runtime::span(now.at),
            (Deed::Op(_, Some(at)), None) => runtime::span(at),
            _ => self.failure_of(thread).map(|(_, place)| place).unwrap_or_default(),
        };
        let in_words = |op: &Op, at: Option<At>, other: &SourceSpan| match at.map(runtime::span) {
            Some(at) if at != *other => format!("{} at {at}", report::operation(op)),
            _ => report::operation(op),
        };
        let nothing =
            || self.failure_of(thread).map_or_else(|| "nothing".to_owned(), |(why, _)| format!("it failed: {why}"));
        let after = now.map_or_else(nothing, |now| report::operation(&now.request.op()));
        let (before, other) = match before {
            Deed::Op(op, at) => (in_words(op, *at, &place), now.and_then(|now| other_object(op, &now.request.op()))),
            Deed::Other(what) => (what.clone(), None),
        };
        let after = match other {
            Some(object) if after == before => format!("the same, but with {}", another(object)),
            _ => after,
        };
        let name = report::name(thread);
        let what = match self.compared.otherwise {
            false => format!("{name} did this in one run: {before}; and this in another: {after}"),
            true => format!(
                "{name} did this when threads ran in one order: {before}; and this in another: {after}. {SHARED}"
            ),
        };
        not_deterministic(&what, place)
    }

    /// An object is not what it was when it was first met.
    #[cold]
    fn met_differs(&self, before: Numbered, now: Numbered) -> Stop {
        let same_object = before.seen == now.seen;
        if runtime::shared(|shared| shared.restart) {
            return *runtime::starts_again();
        }
        let may_be_blocks = !same_object || may_be_virtual(before.init) || may_be_virtual(now.init);
        if may_be_blocks && !self.compared.otherwise && tries_again() {
            return *runtime::starts_again();
        }
        let addr = now.seen.addr;
        let object = report::object(addr);
        let origin = runtime::shared(|shared| shared.origins.get(&addr).map(|(_, at)| *at));
        let place = origin.map(runtime::span).unwrap_or_default();
        let what = if same_object {
            let (before, now) = (before.init, now.init);
            match self.compared.otherwise {
                false => {
                    format!("the first value of {object} was this in one run: {before}; and this in another: {now}")
                }
                true => format!(
                    "the first value of {object} was this when threads ran in one order: {before}; and this in another: {now}. {SHARED}"
                ),
            }
        } else {
            let first = report::object(before.seen.addr);
            let object = if first == object { another(addr) } else { object };
            format!("{first} was first used in one run where {object} was in another")
        };
        not_deterministic(&what, place)
    }
}

/// An object whose first value differs, if there is one, where objects were met in another order. That pointers to blocks do says nothing
/// then.
fn first_values_differ(before: &[Numbered], now: &[Numbered]) -> Option<(Numbered, Numbered)> {
    let before: FxHashMap<Addr, &Numbered> = before.iter().map(|known| (known.seen.addr, known)).collect();
    let pointers = |one: &Numbered, other: &Numbered| may_be_virtual(one.init) && may_be_virtual(other.init);
    now.iter().find_map(|now| {
        let before = *before.get(&now.seen.addr)?;
        (before.init != now.init && !pointers(before, now)).then_some((*before, *now))
    })
}

/// The object that an operation is to, if another operation is to another one.
fn other_object(one: &Op, other: &Op) -> Option<Addr> {
    let object = |op: &Op| match op {
        Op::Access(access) => Some(access.addr),
        Op::CondWait { cond } | Op::CondWake { cond, .. } | Op::CondSignal { cond } | Op::CondBroadcast { cond } => {
            Some(*cond)
        }
        Op::Free { addr, .. } => Some(*addr),
        _ => None,
    };
    object(other).filter(|_| object(one) != object(other))
}

/// An object in words, where one was told of already that is called the same: several are made at one place if that is in a
/// loop, and those of a `HashMap` come in any order.
fn another(addr: Addr) -> String {
    let what = runtime::shared(|shared| shared.origins.get(&addr).map_or("object", |(what, _)| what));
    format!("another {what} made at the same place")
}

/// Whether everything is tried again; if so, it is now.
fn tries_again() -> bool {
    runtime::shared(|shared| {
        shared.mismatches += 1;
        shared.ended = 0;
        shared.restart = shared.mismatches <= AGAIN;
        shared.restart
    })
}

/// A model that is not deterministic.
pub(crate) fn not_deterministic(what: &str, place: SourceSpan) -> Stop {
    let feature = format!(
        "a model that is not deterministic: with the same outcomes, {what}. A model must not depend on time, randomness, \
         addresses, or on what `std` keeps from one run to the next"
    );
    Stop::Unsupported(Box::new(Unsupported { feature, place }))
}

/// Whether two operations are the same, but for what was found out in the meantime about the loops that they are in.
fn is_same(one: &Op, other: &Op) -> bool {
    match (one, other) {
        (Op::Access(one), Op::Access(other)) => {
            let plain = |access: &Access| Access { spins: false, speculative: None, confirms: false, ..*access };
            plain(one) == plain(other)
        }
        _ => one == other,
    }
}

/// Whether a thread stands at the same operation if blocks are known by other numbers.
pub(super) fn are_same_but_for_blocks(op: &Op, at: Option<At>, now: &Pending) -> bool {
    at.is_none_or(|at| std::ptr::eq(at, now.at)) && is_same_but_for_blocks(op, &now.request.op())
}

/// Whether two operations are the same if blocks are known by other numbers.
fn is_same_but_for_blocks(one: &Op, other: &Op) -> bool {
    let value = |one: u64, other: u64| one == other || may_be_virtual(one) && may_be_virtual(other);
    match (one, other) {
        (Op::Access(one), Op::Access(other)) => {
            let kinds = match (one.kind, other.kind) {
                (AccessKind::Load, AccessKind::Load) => true,
                (AccessKind::Store { value: a }, AccessKind::Store { value: b }) => value(a, b),
                (AccessKind::Rmw { op: f, operand: a, .. }, AccessKind::Rmw { op: g, operand: b, .. }) => {
                    f == g && value(a, b)
                }
                (AccessKind::Cas { expected: a, new: c, .. }, AccessKind::Cas { expected: b, new: d, .. }) => {
                    value(a, b) && value(c, d)
                }
                _ => false,
            };
            kinds && (one.size, one.order, one.purpose) == (other.size, other.order, other.purpose)
        }
        (Op::Free { .. }, Op::Free { .. })
        | (Op::CondWait { .. }, Op::CondWait { .. })
        | (Op::CondWake { .. }, Op::CondWake { .. })
        | (Op::CondSignal { .. }, Op::CondSignal { .. })
        | (Op::CondBroadcast { .. }, Op::CondBroadcast { .. }) => true,
        _ => one == other,
    }
}

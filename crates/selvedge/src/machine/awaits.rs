//! Loops that wait with one operation: awaits.
//!
//! In `while !flag.load(Acquire) { hint::spin_loop() }` an iteration that fails consists of one operation, and the thread
//! is then where it was before. Such an iteration is a pure cycle (`spin.rs`) from the very first look on, so it need not
//! be made at all: the load *waits* for another value. The graph engine has far fewer executions with reads that wait (TruSt
//! with awaits, sections 3.1 and 3.2), but it has to know with which values one does before it reads. In C programs that
//! is a condition; here it is tried out.
//!
//! When a thread is seen to come from an operation straight to `spin_loop`, the place of the operation is noted, and the
//! exploration starts again. From then on, when the engine asks about a value at this place, the thread is told it, and runs
//! on to its next operation. It waits with this value if it
//!
//! - has come by `spin_loop`,
//! - is now at the same operation at the same place,
//! - with the same stack, byte by byte, registers included,
//! - and with all memory of the model as it was before it was told.
//!
//! If so, the thread is in the state that it was in before, so nothing has to be taken back: it still stands at the operation.
//! If not, it has gone too far. If the engine tells it this very value next, then it is where it should be ([`Ahead`]);
//! otherwise everything is run again. That is dear, so it is remembered that a thread which has been told the same before
//! goes on with this value. (What it has been told does not say all: it may look at memory that others
//! have written before they released a lock. If it is ever found to wait with a value with which it was also found to go on,
//! the place is given up.)
//!
//! Often a thread comes back in another state the first time. Compilers like to make two copies of the test of a `while`
//! loop, one for the first look and one for all others: then it is not even at the same instruction. Operations that loops
//! wait with keep them from that (`runtime::prepare`), but they cannot if the loop calls a function that performs the
//! operation. And without optimisation there are values on the stack that are there from the first look on. As soon as
//! some look is found to come back in another state, it is asked from then on whether that makes a difference (`returns.rs`).
//! If others have come back before in the same state, the exploration starts again for that. If it does, the exploration starts again; the first look that fails is
//! then one like any other, and the second one waits.
//!
//! An exchange that is weak may also fail for no reason. What comes of that is tried out like other looks that fail, and if it
//! makes no difference, it is no choice (`nondet.rs`).
//!
//! If no look ever comes back in the same state or in one that is as good (since the thread counts them, for instance), or
//! one comes back to another operation, the place is given up, and the loop is treated as any other: what `spin.rs` says
//! holds for it.

use super::owed::Going;
use super::trial::MOST_HINTS;
use super::{RustMachine, apart, relayed};
use crate::coroutine::Came;
use crate::lately::Lately;
use crate::number::mix;
use crate::retry::Spot;
use crate::runtime::{self, At, Pending, Yielded};
use crate::script::Step;
use crate::spin::is_quiet;
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, AccessKind, Op, Outcome, Purpose, ThreadId};

/// The places of operations that threads have come from to `spin_loop`, and whether they are awaits.
#[derive(Default)]
pub(crate) struct Awaits {
    places: FxHashMap<Spot, (Await, Returns)>,
    /// Where operations were found that may wait, or may not.
    marked: Lately,
    /// Where threads come to from looks that fail, if it is another look at the same word (`machine/relayed.rs`).
    relays: FxHashMap<Spot, At>,
    /// Places of exchanges of which it is tried out whether it makes a difference if they fail for no reason, and those where it
    /// does.
    weak: FxHashSet<Spot>,
    chooses: FxHashSet<Spot>,
    /// Places where looks have not been tried out (`machine/owed.rs`).
    owed: Vec<At>,
    /// Whether places are noted.
    pub on: bool,
}

/// What is known of a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Await {
    /// So many looks have come back in another state, and none in the same.
    Unknown(u32),
    /// Some look has come back in the same state.
    Known,
    /// It is none.
    GivenUp,
}

/// In which state a look at a place has to come back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Returns {
    /// In the same. None has been found that does not.
    Same,
    /// In one that makes no difference.
    AsGood,
    /// In the same: others were found to make a difference.
    SameOnly,
}

/// After so many looks that have come back in another state a place is given up.
const PATIENCE: u32 = 64;

impl Awaits {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.places.clear();
        self.marked.forget();
        self.relays.clear();
        self.weak.clear();
        self.chooses.clear();
        self.owed.clear();
    }

    /// Everything has been explored; at these places looks have not been tried out.
    pub(super) fn owe(&mut self, places: Vec<At>) {
        self.owed = places;
    }

    /// Whether everything has to start again since looks have not been tried out: they have to come back in the same state.
    pub fn owes(&mut self) -> bool {
        let owed = std::mem::take(&mut self.owed);
        owed.into_iter().filter(|at| self.looked(at, Look::Matters)).count() > 0
    }

    /// Whether an access may wait.
    pub fn marks(&self, access: &Access, at: At) -> bool {
        is_look(access) && self.is_marked(at)
    }

    /// Whether threads may wait at a place.
    #[inline]
    pub fn is_marked(&self, at: At) -> bool {
        let find = || self.places.get(&Spot(at)).is_some_and(|(known, _)| *known != Await::GivenUp);
        self.marked.ask(at, find)
    }

    /// A thread has come from an operation to `spin_loop`. Whether that is news.
    pub fn note(&mut self, op: &Op, at: At) -> bool {
        let is_new =
            matches!(op, Op::Access(access) if self.on && is_look(access) && !self.places.contains_key(&Spot(at)));
        if is_new {
            self.places.insert(Spot(at), (Await::Unknown(0), Returns::Same));
            self.marked.forget();
        }
        is_new
    }

    /// A look that fails has led to another one at the same word. Whether that is news.
    pub(super) fn note_relay(&mut self, at: At, to: At) -> bool {
        let known = self.places.get(&Spot(at)).is_some_and(|(known, _)| *known == Await::GivenUp)
            || self.relays.contains_key(&Spot(at));
        let is_new = self.on && !known;
        if is_new {
            self.places.insert(Spot(at), (Await::Unknown(0), Returns::AsGood));
            self.relays.insert(Spot(at), to);
            // What came of a weak exchange that fails for no reason was looked at without that.
            self.chooses.remove(&Spot(at));
            self.weak.remove(&Spot(at));
            self.marked.forget();
        }
        is_new
    }

    /// Where threads come to from looks at a place that fail.
    pub(super) fn relay(&self, at: At) -> Option<At> {
        if self.relays.is_empty() { None } else { self.relays.get(&Spot(at)).copied() }
    }

    /// Whether threads wait with an exchange at a place, and it makes no difference if it fails for no reason.
    pub fn need_not_choose(&self, at: At) -> bool {
        let waits = self.places.get(&Spot(at)).is_some_and(|(known, _)| *known != Await::GivenUp);
        waits && !self.chooses.contains(&Spot(at))
    }

    /// It is tried out whether it does.
    pub(super) fn tries_weakly(&mut self, at: At) {
        self.weak.insert(Spot(at));
    }

    /// Whether looks at a place may come back in another state.
    pub fn may_differ(&self, at: At) -> bool {
        self.places.get(&Spot(at)).is_some_and(|(_, returns)| *returns == Returns::AsGood)
    }

    /// The same, or none has come back yet.
    pub fn may_come_to_differ(&self, at: At) -> bool {
        let first = |known: &Await, returns: &Returns| matches!((known, returns), (Await::Unknown(_), Returns::Same));
        self.places.get(&Spot(at)).is_some_and(|(known, returns)| *returns == Returns::AsGood || first(known, returns))
    }

    /// A look has come back in another state, the first that has come back at all: whether looks may do so from now on.
    fn lets_differ(&mut self, at: At) -> bool {
        let Some((Await::Unknown(_), returns @ Returns::Same)) = self.places.get_mut(&Spot(at)) else { return false };
        *returns = Returns::AsGood;
        true
    }

    /// Whether looks at a place were found that come back in another state and make a difference.
    fn must_be_same(&self, at: At) -> bool {
        self.places.get(&Spot(at)).is_some_and(|(_, returns)| *returns == Returns::SameOnly)
    }

    /// What has come of a look; whether everything has to start again, since the place is given up or is treated otherwise.
    pub(super) fn looked(&mut self, at: At, look: Look) -> bool {
        if let Look::Relays(to) = look {
            return self.note_relay(at, to);
        }
        let is_weak = look == Look::Chooses || look == Look::Matters && self.weak.contains(&Spot(at));
        if is_weak && self.chooses.insert(Spot(at)) {
            return true;
        }
        let is_relayed = self.relays.contains_key(&Spot(at));
        let Some((known, returns)) = self.places.get_mut(&Spot(at)) else { return false };
        let before = (*known == Await::GivenUp, *returns);
        (*known, *returns) = match (look, *known, *returns) {
            (Look::Elsewhere, _, returns) => (Await::GivenUp, returns),
            (Look::Matters, _, returns) if is_relayed => (Await::GivenUp, returns),
            (Look::ComesBack, Await::Unknown(_), returns) => (Await::Known, returns),
            (Look::Matters, known, _) => (known, Returns::SameOnly),
            (Look::Changed, known, Returns::Same) => (known, Returns::AsGood),
            (Look::Changed, Await::Unknown(PATIENCE..), returns) => (Await::GivenUp, returns),
            (Look::Changed, Await::Unknown(n), returns) => (Await::Unknown(n + 1), returns),
            (_, known, returns) => (known, returns),
        };
        if *known == Await::GivenUp {
            self.marked.forget();
        }
        before != (*known == Await::GivenUp, *returns)
    }
}

/// Whether an access could be what a loop looks at.
pub(crate) fn is_look(access: &Access) -> bool {
    // What is marked as raw is the load of an exchange that fails for no reason.
    let plain = access.until.is_none() && access.speculative.is_none() && !access.confirms && !access.raw;
    // Of what the library does, a look into a channel.
    let looks_in = access.purpose == Purpose::Sync && matches!(access.kind, AccessKind::Load);
    plain && (access.purpose == Purpose::Data || looks_in) && access.reads() && access.order.is_atomic()
}

/// What comes of a look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Look {
    /// The thread goes on.
    GoesOn,
    /// It comes back as it was, or in a state that is as good.
    ComesBack,
    /// It looks again, but something is not as it was.
    Changed,
    /// The same, and that makes a difference, now or for another value.
    Matters,
    /// It looks at something else.
    Elsewhere,
    /// It looks at the same word, but at another place.
    Relays(At),
    /// It makes a difference if it fails for no reason.
    Chooses,
}

/// A thread that has gone on after a look.
pub(super) struct Ahead {
    /// The steps before it, the thread, and what it was told.
    made: usize,
    thread: ThreadId,
    value: Outcome,
    /// The engine's time that it was told at.
    now: u32,
    /// How it has gone on, if looks may come to come back in another state.
    pub going: Option<Going>,
    /// Where it has come to.
    pub came: Came,
}

impl Ahead {
    /// Whether this is what a thread does when it is told an outcome now. (If other steps had been made since, all would have
    /// been run again.)
    pub fn is(&self, made: usize, thread: ThreadId, outcome: Outcome, now: u32) -> bool {
        (self.made, self.thread, self.value, self.now) == (made, thread, outcome, now)
    }
}

impl RustMachine {
    /// Whether a thread that stands at an access comes back to it as it was if it is told a value.
    pub(super) fn looks_again(&mut self, thread: ThreadId, value: u64) -> bool {
        let (op, at) = (self.states[thread.index()].op, self.states[thread.index()].at);
        let at = at.expect("a thread that is ready has a place");
        // Otherwise a place that was given up would be given up again, and everything would start again for ever.
        debug_assert!(
            matches!(op, Op::Access(access) if access.spins),
            "only accesses that are marked are asked about"
        );
        let key = (self.told(thread), thread, value);
        let before = self.looks.get(&key).copied();
        let may_differ = runtime::shared(|shared| shared.may_differ(at));
        let may_come_to_differ = !may_differ && runtime::shared(|shared| shared.awaits.may_come_to_differ(at));
        let goes_on = match may_differ {
            true => self.goes_on_at_once(thread, value),
            false => !is_quiet(&op, value) || before == Some(false),
        };
        if goes_on && may_come_to_differ {
            self.notes_going_on(thread, value);
        }
        if goes_on || self.stale && self.run_again().is_err() {
            return false;
        }
        let going = may_come_to_differ.then(|| self.going(thread, value));
        let mut look = if may_differ { self.look_otherwise(thread, value) } else { self.look(thread, value) };
        if let Some(ahead) = &mut self.ahead {
            ahead.going = going;
        }
        self.stale |= look != Look::ComesBack && !may_differ;
        if look == Look::Changed && runtime::shared(|shared| shared.awaits.lets_differ(at)) {
            if self.run_again().is_err() {
                return false;
            }
            look = self.look_otherwise(thread, value);
        } else if look == Look::GoesOn && may_come_to_differ {
            self.notes_going_on(thread, value);
        }
        let waits = look == Look::ComesBack;
        // It was found to wait, and now it goes on: what it was told does not say all. (If it comes back, but in another state,
        // there may still be states that are as good.)
        let differs = before.is_some_and(|before| before != waits) && look != Look::Chooses;
        let may_be_as_good = look == Look::Changed && runtime::shared(|shared| !shared.awaits.must_be_same(at));
        let look = if differs && !may_be_as_good { Look::Elsewhere } else { look };
        if matches!(look, Look::Elsewhere | Look::Relays(_) | Look::Chooses) {
            self.ahead = None;
        }
        runtime::shared(|shared| shared.restart |= shared.awaits.looked(at, look));
        if self.looks.len() == super::TRIED {
            self.looks.clear();
        }
        self.looks.insert(key, waits);
        waits
    }

    /// Tells a thread a value and runs it to its next operation.
    fn look(&mut self, thread: ThreadId, value: u64) -> Look {
        let (slot, others) = apart(&mut self.slots, thread);
        let Some(slot) = slot else { return Look::GoesOn };
        slot.takes_up_stack();
        let strand = &mut slot.strand;
        let Some(&Pending { request, at }) = strand.pending() else { return Look::GoesOn };
        let (low, size) = (strand.low(), strand.depth(strand.low()));
        let (top, must_clear) = runtime::shared(|shared| (shared.top, shared.must_clear(size)));
        if must_clear {
            return Look::GoesOn;
        }
        self.surroundings.keep(thread, others);
        let before = allocations();
        strand.copy_to(low, &mut self.image);
        runtime::repeats(false);
        // It is the next step, if it is one.
        let now = self.steps[..self.made].last().map_or(0, |step| step.now) + 1;
        runtime::shared(|shared| shared.blocks.now = now);
        let came = self.pool.resume(strand, value);
        if !matches!(came, Came::To(Yielded::Yields { .. })) {
            if slot.spin.watches() {
                slot.performed(&request, at, value);
            }
            if slot.spin.watches() {
                slot.has_made_step(thread, &mut self.surroundings, others);
            }
            slot.leaves_stack();
            self.ahead = Some(Ahead { made: self.made, thread, value, now, going: None, came });
            return Look::GoesOn;
        }
        let mut came = self.pool.resume(strand, 0);
        for _ in 1..MOST_HINTS {
            let Came::To(Yielded::Yields { .. }) = came else { break };
            came = self.pool.resume(strand, 0);
        }
        let same = |now: &Pending| now.request == request && *now.at == *at;
        if !matches!(came, Came::Op) || !strand.pending().is_some_and(same) {
            let now = strand.pending().filter(|_| matches!(came, Came::Op));
            return now
                .filter(|now| relayed::leads(&request.op(), &now.request.op()))
                .map_or(Look::Elsewhere, |now| Look::Relays(now.at));
        }
        if strand.low() != low {
            return Look::Changed;
        }
        // Where the thread was resumed from is on its stack.
        let same = strand.is_as_before(low, &self.image, &self.pool.engine(top));
        let same = same && before == allocations() && self.surroundings.are_there(thread, others);
        if same { Look::ComesBack } else { Look::Changed }
    }

    /// A number for what a thread has been told, and for what those were who have created it.
    pub(super) fn told(&mut self, thread: ThreadId) -> u64 {
        for n in self.told.len()..self.made {
            let Step { thread, outcome, .. } = self.steps[n];
            let told = mix(self.told_until(n, thread), outcome);
            self.told.push(told);
        }
        self.told_until(self.made, thread)
    }

    /// The same for what it has been told before a step.
    pub(super) fn told_until(&self, n: usize, thread: ThreadId) -> u64 {
        number_of(&self.steps[..n], &self.told, thread)
    }
}

/// Given numbers of steps, that of the last step of a thread, or of what was before it was created.
pub(super) fn number_of(steps: &[Step], numbers: &[u64], thread: ThreadId) -> u64 {
    for (step, &number) in steps.iter().zip(numbers).rev() {
        match step.op {
            _ if step.thread == thread => return number,
            Op::Spawn { child } if child == thread => return mix(number, thread.index() as u64),
            _ => {}
        }
    }
    0
}

/// How many objects and blocks the present run has made: they are known by such numbers.
fn allocations() -> (usize, usize) {
    runtime::shared(|shared| (shared.met.len(), shared.blocks.count()))
}

//! A machine whose threads run Rust closures.
//!
//! A closure cannot be run backwards. What the machine tells about its threads (status, pending Op, place) is kept with a
//! log of changes like in any other machine, so going back costs nothing at first. But the coroutines are then further
//! than they should be: they are *stale*. When a thread is to be resumed while they are, they are abandoned, and
//! everything runs from the start again with the outcomes that were recorded, up to the present point. However many steps
//! are taken back, that happens once per turn of the exploration.
//!
//! Threads have to be deterministic: the same outcomes give the same Ops. A run that differs from the record is an error
//! that names the first operation that differs (`machine/determinism.rs`).

mod again;
mod asked;
mod attempts;
pub(crate) mod awaits;
mod came_round;
mod churn;
pub(crate) mod determinism;
mod forever;
mod handover;
mod outside;
mod owed;
mod past;
mod relayed;
mod reordered;
mod retries;
mod returns;
mod situation;
pub(crate) mod snapshot;
mod surroundings;
mod trial;

use crate::coroutine::{Came, Pool, Strand};
use crate::endless::Phase;
use crate::number::Number;
use crate::places;
use crate::request::Request;
use crate::runtime::{self, At, Pending, Yielded, violation};
use crate::script::Step;
use crate::shared::{Numbered, Shared};
use crate::spin::{Cycle, Iteration, ROUNDS, Spin, ThreadState, Waits};
use crate::update::Updates;
use awaits::Ahead;
use came_round::CameRound;
use churn::Churn;
use rustc_hash::FxHashMap;
use selvedge_ir::EntityRef;
use selvedge_machine::{
    Addr, Memory, Op, Outcome, Status, Stop, ThreadId, Unsupported, Violation, ViolationKind, main_thread,
};
use std::cell::RefCell;
use std::hash::Hasher;
use std::sync::Arc;
use surroundings::Surroundings;

/// The model's closure.
pub(crate) type Body = Arc<dyn Fn() + Send + Sync>;

#[derive(Clone, Copy)]
struct State {
    status: Status,
    op: Op,
    /// The same as the thread has handed it over.
    request: Request,
    at: Option<At>,
    /// If it spins: the iteration that it would start again.
    spins: Option<Iteration>,
}

/// What a thread's state was before a change, but for the Op: that is the one of the step that is taken back.
#[derive(Clone, Copy)]
struct Saved {
    thread: ThreadId,
    status: Status,
    spins: Option<Iteration>,
    at: Option<At>,
}

const ABSENT: State =
    State { status: Status::Absent, op: Op::AtomicEnd, request: Request::atomic_end(), at: None, spins: None };

/// How a thread has come somewhere.
#[derive(Clone, Copy)]
struct Round {
    /// Whether it has made a step for the first time, or has repeated one.
    is_step: bool,
    is_repeated: bool,
    /// Whether what it does is watched.
    watches: bool,
}

/// A thread's coroutine.
struct Slot {
    strand: Strand,
    spin: Spin,
    churn: Churn,
    /// Its stack when it was last suspended, if it may be in a cycle: what is another word later others have changed.
    left: Vec<u64>,
    /// The cycle that it was last found to make; none if it may go on, or might choose otherwise.
    cycle: Option<Iteration>,
}

impl Slot {
    /// The thread, which may be in a cycle, performs an operation.
    fn performed(&mut self, request: &Request, at: At, outcome: Outcome) {
        let op = &request.op();
        self.spin.looked(op, outcome, is_aside);
        match op {
            Op::Choose { .. } if crate::nondet::is_weak(at) => self.spin.chose_weakly(outcome != 0),
            _ => self.spin.performed(op, outcome, is_tried, runtime::shared(|shared| shared.waits.write)),
        }
        if !self.spin.may_come_back() {
            self.churn.forget();
        }
    }

    /// It is at the end of an iteration: how often it has come there and only looked, and what it is about. If the run is a new
    /// one, these steps have been made.
    fn looks(&mut self, thread: ThreadId, at: At, made: &[Step]) -> (u32, Phase) {
        // Not while they are shared: whether a word is aside is asked there.
        let script = runtime::shared(|shared| std::mem::take(&mut shared.script));
        let steps = if script.repeats { &script.steps[..script.next] } else { made };
        let looks = self.spin.looks(thread, at, steps, is_aside);
        runtime::shared(|shared| shared.script = script);
        looks
    }

    /// It has come to the next one, and all else was like this before. Whether it still is.
    fn has_made_step(&mut self, thread: ThreadId, before: &mut Surroundings, others: [&[Option<Slot>]; 2]) -> bool {
        if before.are_there(thread, others) {
            return true;
        }
        match self.churn.changes(thread, self.strand.at_rest(), before, others) {
            Some(changes) => self.spin.has_written(&changes),
            None => self.changed(),
        }
        if !self.spin.may_come_back() {
            self.churn.forget();
        }
        false
    }

    /// It is suspended.
    fn leaves_stack(&mut self) {
        self.left.clear();
        if self.spin.may_come_back() {
            self.left.extend_from_slice(self.strand.at_rest());
        }
    }

    /// It goes on: what others have changed on its stack since it was suspended is none of its doing.
    fn takes_up_stack(&mut self) {
        let now = self.strand.at_rest();
        if !self.spin.may_come_back() || now.len() != self.left.len() || now == self.left {
            return;
        }
        let words = self.left.iter().zip(now).rev().enumerate();
        for (depth, (&old, &new)) in words.filter(|(_, (old, new))| old != new) {
            self.spin.others_have_changed(depth, old, new);
        }
        self.left.copy_from_slice(now);
    }

    /// It has changed something that is not its own: a cycle begins anew.
    fn changed(&mut self) {
        self.spin.changed();
        self.churn.forget();
    }
}

/// A model being run.
pub(crate) struct RustMachine {
    body: Body,
    memory: Memory,
    pool: Pool,
    slots: Vec<Option<Slot>>,
    states: Vec<State>,
    /// Steps of the present run; those from `made` on have been taken back.
    steps: Vec<Step>,
    made: usize,
    stale: bool,
    /// Why what the engine knows of the model does not hold: nothing that follows is an execution.
    misled: Option<Stop>,
    saved: Vec<Saved>,
    marks: Vec<(usize, usize)>,
    /// What threads would do next, by all steps before it: to try it out is to run everything again.
    tried: FxHashMap<(u64, ThreadId, Outcome), Option<Op>>,
    /// What threads were found to do that may spin, by what they have been told before.
    looks: FxHashMap<(u64, ThreadId, Outcome), bool>,
    /// Whether threads that allocate while they wait have made a cycle.
    came_round: CameRound,
    /// The same where looks may come back in another state (`machine/returns.rs`).
    returns: returns::Returns,
    /// What the thread can come to whose situation was asked for last.
    reached: RefCell<situation::Reached>,
    /// A thread that was told a value to see what it does, and has gone on: if it is really told that next, it has been
    /// there before.
    ahead: Option<Ahead>,
    /// A stack before a look.
    image: Vec<u64>,
    /// All else before a thread ran.
    surroundings: Surroundings,
    /// By step, a number for what its thread has been told, as far as that is known.
    told: Vec<u64>,
    /// What is known of loops that try again.
    tries: Box<retries::Tries>,
    /// What has been compared.
    compared: determinism::Compared,
}

/// More is not kept of what was tried out.
const TRIED: usize = 1 << 16;
/// So often a thread comes round without an operation.
const MOST_ROUNDS: u32 = 10_000;

/// What is said of a thread that comes round more often; whether it has looked at something each time.
#[cold]
fn comes_round_too_often(looked: bool) -> String {
    if looked {
        return "a loop that waits for others without an operation of the model, and looks at something each time \
                (`is_poisoned`, for instance): what it waits for is never seen to come"
            .to_owned();
    }
    format!(
        "a loop that calls `hint::spin_loop` or `thread::yield_now` more than {MOST_ROUNDS} times, changes something of its own each \
         time, and performs no operation of the model in between. If it only pauses, let it pause for less in the model: that takes no \
         time there, and lets nobody else go first. If it waits for others, let it look at an atomic of `selvedge`: what it waits for \
         (a variable of `std`?) is never seen to come"
    )
}

/// What a machine leaves for the next one, so that nothing has to be allocated again.
#[derive(Default)]
pub(crate) struct Left {
    /// As it was before the first step: with the objects from outside, and nothing else.
    memory: Option<Memory>,
    slots: Vec<Option<Slot>>,
    states: Vec<State>,
    steps: Vec<Step>,
    saved: Vec<Saved>,
    marks: Vec<(usize, usize)>,
    met: Vec<Numbered>,
    image: Vec<u64>,
    surroundings: Surroundings,
    told: Vec<u64>,
}

impl RustMachine {
    /// A machine that will run this closure.
    pub fn new(body: Body) -> RustMachine {
        let (left, spins) = runtime::shared(|shared| (std::mem::take(&mut shared.left), shared.spins));
        let Left { memory, slots, states, steps, saved, marks, met, image, surroundings, told } = left;
        let mut memory = memory.unwrap_or_else(|| {
            let mut memory = Memory::new();
            places::block(&mut memory);
            memory
        });
        memory.mark();
        let mut pool = Pool::new();
        pool.clear(spins);
        RustMachine {
            body,
            memory,
            pool,
            slots,
            states,
            steps,
            made: 0,
            stale: false,
            misled: None,
            saved,
            marks,
            tried: FxHashMap::default(),
            looks: FxHashMap::default(),
            came_round: CameRound::default(),
            returns: returns::Returns::default(),
            reached: RefCell::default(),
            ahead: None,
            image,
            surroundings,
            told,
            tries: Box::default(),
            compared: determinism::Compared::new_in(met),
        }
    }

    /// Empties everything for the next machine.
    fn leave(&mut self) -> Left {
        let mut memory = std::mem::take(&mut self.memory);
        memory.undo_all();
        let mut left = Left {
            memory: Some(memory),
            slots: std::mem::take(&mut self.slots),
            states: std::mem::take(&mut self.states),
            steps: std::mem::take(&mut self.steps),
            saved: std::mem::take(&mut self.saved),
            marks: std::mem::take(&mut self.marks),
            met: self.compared.take_met(),
            image: std::mem::take(&mut self.image),
            surroundings: std::mem::take(&mut self.surroundings),
            told: std::mem::take(&mut self.told),
        };
        left.slots.clear();
        left.states.clear();
        left.steps.clear();
        left.saved.clear();
        left.marks.clear();
        left.met.clear();
        left.told.clear();
        left
    }

    fn save(&mut self, thread: ThreadId) {
        if self.states.len() <= thread.index() {
            self.states.resize(thread.index() + 1, ABSENT);
        }
        if !self.marks.is_empty() {
            let State { status, at, spins, .. } = self.states[thread.index()];
            self.saved.push(Saved { thread, status, spins, at });
        }
    }

    /// Makes a thread's coroutine.
    fn create(&mut self, thread: ThreadId) {
        let strand = if thread == main_thread() {
            self.pool.first_strand(thread, &self.body)
        } else {
            let body = runtime::shared(|shared| {
                let at = shared.bodies.iter().position(|(child, _)| *child == thread);
                shared.bodies.swap_remove(at.expect("a thread that is created has a body")).1
            });
            self.pool.strand(thread, body)
        };
        if self.slots.len() <= thread.index() {
            self.slots.resize_with(thread.index() + 1, || None);
        }
        let (limit, base) = strand.stack();
        runtime::shared(|shared| shared.places.stack(thread, limit, base));
        self.slots[thread.index()] =
            Some(Slot { strand, spin: Spin::default(), churn: Churn::default(), left: Vec::new(), cycle: None });
    }

    /// Runs a coroutine to its next Op; if it repeats a run, to the next one that is not its turn.
    #[inline(never)]
    fn go(&mut self, thread: ThreadId, outcome: Outcome, repeats: bool) -> Came {
        let slot = self.slots[thread.index()].as_mut().expect("a thread that runs has a coroutine");
        let pending = slot.strand.pending();
        let (is_step, is_repeated) = (pending.is_some() && !repeats, pending.is_some() && repeats);
        // Attempts of other loops are tried out (`attempts.rs`).
        let speculates = matches!(pending, Some(Pending { request, at })
            if request.speculates() && !repeats && !runtime::shared_untidily(|shared| shared.retries.is_load(at)));
        if slot.spin.watches() || speculates {
            return self.go_watched(thread, outcome, repeats, speculates);
        }
        runtime::repeats(repeats);
        match self.pool.resume(&mut slot.strand, outcome) {
            came @ Came::To(Yielded::Yields { .. }) => {
                self.go_round(thread, came, Round { is_step, is_repeated, watches: false })
            }
            came => came,
        }
    }

    /// The same if what the thread does has to be looked at step by step, since it may be in a cycle, or if what it does before
    /// it confirms a speculative load must not change the stacks of others.
    #[cold]
    fn go_watched(&mut self, thread: ThreadId, outcome: Outcome, repeats: bool, speculates: bool) -> Came {
        let (slot, others) = apart(&mut self.slots, thread);
        let slot = slot.as_mut().expect("a thread that runs has a coroutine");
        slot.takes_up_stack();
        let pending = slot.strand.pending();
        let (is_step, is_repeated) = (pending.is_some() && !repeats, pending.is_some() && repeats);
        if slot.spin.watches()
            && let Some(&Pending { request, at }) = pending
        {
            slot.performed(&request, at, outcome);
        }
        // If it has changed something, there is nothing to be watched any more.
        let watches = slot.spin.watches();
        if watches && is_repeated && stays() {
            Surroundings::are_left_alone();
        } else if watches {
            self.surroundings.keep(thread, others);
        }
        runtime::repeats(repeats && !watches);
        let stacks_before = speculates.then(|| stacks(others));
        let mut came = self.pool.resume(&mut slot.strand, outcome);
        if let Some(before) = stacks_before
            && slot.strand.pending().is_some_and(|pending| pending.request.confirms())
            && stacks(others) != before
            && runtime::shared(|shared| shared.config.updates != Updates::OneByOne)
        {
            // What `fetch_update` has called has changed something that it could not see (`update.rs`).
            came = Came::To(Yielded::Stop(runtime::updates_one_by_one()));
        }
        self.go_round(thread, came, Round { is_step, is_repeated, watches })
    }

    /// A thread has come somewhere. As long as that is the end of an iteration of a loop that waits for others, it goes on.
    #[cold]
    fn go_round(&mut self, thread: ThreadId, mut came: Came, round: Round) -> Came {
        let Round { mut is_step, is_repeated, mut watches } = round;
        // What was seen to change nothing changes nothing when it is repeated.
        let (stays, mut stayed) = (is_repeated && stays(), true);
        let happened = if matches!(came, Came::To(Yielded::Yields { .. })) { self.happened(thread) } else { 0 };
        let (slot, others) = apart(&mut self.slots, thread);
        let slot = slot.as_mut().expect("a thread that runs has a coroutine");
        // What it had met, and asked, when it last came round without an operation.
        let (mut seen, mut rounds) = ((0, 0), 0);
        loop {
            if watches && !stays {
                stayed &= slot.has_made_step(thread, &mut self.surroundings, others);
            }
            let Came::To(Yielded::Yields { low, at: here }) = came else { break };
            let (now, Waits { allocate, add, .. }, is_endless, top) = runtime::shared_untidily(|shared| {
                ((shared.met.len(), shared.asked), shared.waits, !shared.endless.is_empty(), shared.top)
            });
            let looked = std::mem::replace(&mut seen, now) != now;
            if looked {
                slot.changed();
            }
            rounds += 1;
            if rounds > MOST_ROUNDS {
                let feature = comes_round_too_often(looked);
                let place = runtime::span(here);
                let why = Stop::Unsupported(Box::new(Unsupported { feature, place }));
                came = Came::To(Yielded::Stop(Box::new(why)));
                break;
            }
            let size = slot.strand.depth(low);
            // In a run that is repeated, it may have performed others since.
            let last = std::mem::take(&mut is_step).then(|| self.steps.get(self.made.wrapping_sub(1))).flatten();
            let new = last.is_some_and(|Step { op, at, .. }| {
                at.is_some_and(|at| runtime::shared(|shared| shared.awaits.note(op, at)))
            });
            let writes = slot.spin.comes_round()
                && runtime::shared(|shared| shared.finds(Waits { write: true, ..Waits::default() }));
            let (looks, phase) = match slot.spin.may_only_look(is_endless) {
                true => slot.looks(thread, here, self.steps.get(..self.made).unwrap_or_default()),
                false => (0, Phase::default()),
            };
            // All at once: each lets everything start again.
            let starts_again = runtime::shared_untidily(|shared| {
                let only_looks = shared.endless.is_often(looks) && shared.endless.mark(thread, here, phase);
                shared.must_clear(size) || only_looks
            });
            if starts_again || new || writes {
                runtime::shared(|shared| shared.restart = true);
                came = Came::To(Yielded::Stop(runtime::starts_again()));
                break;
            }
            let stack = slot.strand.image(low, &self.pool.engine(top));
            let state = if allocate { slot.churn.state(&stack) } else { ThreadState::of_stack(stack) };
            let is_cut_off = looks > ROUNDS && runtime::shared(|shared| shared.endless.marks(thread, here, phase));
            let by_others = |lock| runtime::shared(|shared| shared.is_tried_by_others(lock, thread));
            let cycle = slot.spin.comes_back(state, by_others, add).or(is_cut_off.then_some(Cycle::Endless));
            let cycle = self.came_round.as_before(cycle, &self.states, (happened, thread, rounds));
            if let Some(cycle) = cycle {
                slot.cycle = runtime::shared(|shared| {
                    shared.unmarked.found_cycle(here);
                    shared.comes_round(cycle)
                });
                if runtime::shared(|shared| shared.restart) {
                    came = Came::To(Yielded::Stop(runtime::starts_again()));
                }
                break;
            }
            runtime::repeats(false);
            watches = true;
            match stays {
                true => Surroundings::are_left_alone(),
                false => self.surroundings.keep(thread, others),
            }
            came = self.pool.resume(&mut slot.strand, 0);
            let begins = slot.strand.pending().filter(|_| matches!(came, Came::Op));
            if begins.is_some_and(|begins| runtime::shared(|shared| shared.begins_anew(begins.at))) {
                came = Came::To(Yielded::Stop(runtime::starts_again()));
            }
        }
        if round.is_step
            && watches
            && let Some(step) = self.made.checked_sub(1).and_then(|last| self.steps.get_mut(last))
        {
            step.stays = stayed;
        }
        slot.leaves_stack();
        came
    }

    /// Runs a thread to its next Op, for the first time with these outcomes.
    fn advance(&mut self, thread: ThreadId, outcome: Outcome) -> Result<(), Stop> {
        let came = self.go(thread, outcome, false);
        self.arrive(thread, came)
    }

    /// Notes where a thread has come to.
    fn arrive(&mut self, thread: ThreadId, came: Came) -> Result<(), Stop> {
        self.take_met(thread);
        // Whether it was left in the middle of something.
        let left = runtime::was_left_inside();
        let state = &mut self.states[thread.index()];
        if left && runtime::take_updating() && !runtime::shared(|shared| shared.restart) {
            state.status = Status::Stopped;
            return Err(*runtime::updates_one_by_one());
        }
        match came {
            Came::Op | Came::To(Yielded::Op(_)) => {
                let slot =
                    self.slots[thread.index()].as_ref().expect("a thread that has come somewhere has a coroutine");
                let &Pending { request, at } = slot.strand.pending().expect("it waits with an operation");
                *state = State { status: Status::Ready, op: request.op(), request, at: Some(at), spins: None };
            }
            Came::To(Yielded::Yields { at, .. }) => {
                let spins = self.slots[thread.index()].as_ref().and_then(|slot| slot.cycle);
                *state = State { status: Status::AssumeBlocked, at: Some(at), spins, ..*state };
            }
            Came::To(Yielded::Assumes(at)) => {
                *state = State { status: Status::AssumeBlocked, at: Some(at), spins: None, ..*state };
            }
            Came::To(Yielded::Stop(stop)) => {
                state.status = Status::Stopped;
                return Err(*stop);
            }
            Came::To(Yielded::FreedTwice) => unreachable!("`Pool::resume` makes a stop of it"),
            Came::End => state.status = Status::Finished,
            Came::Panic(panic) => {
                let (message, mut place) = *panic;
                state.status = Status::Stopped;
                if let (0, Some(at)) = (place.line, state.at) {
                    // An overflow has no place of its own: it came after this.
                    place = runtime::span(at);
                }
                runtime::take_aside();
                return Err(violation(ViolationKind::Assertion, message, place));
            }
        }
        // It goes on, and was told zero while it panicked.
        if left && runtime::take_aside() {
            let state = &mut self.states[thread.index()];
            state.status = Status::Stopped;
            return Err(runtime::caught_panic(state.at.map(runtime::span).unwrap_or_default()));
        }
        Ok(())
    }

    /// Tells the memory about objects that were met.
    #[inline]
    fn take_met(&mut self, thread: ThreadId) {
        let (memory, tries) = (&mut self.memory, &mut self.tries);
        runtime::shared_untidily(|shared| {
            if shared.met.is_empty() {
                return;
            }
            shared.met.iter().for_each(|met| shared.places.tell(memory, met, thread));
            if shared.retries.on || shared.awaits.on {
                tries.inits.extend(shared.met.iter().map(|met| (met.addr, met.init)));
            }
            shared.met.clear();
        });
    }

    fn begin(&mut self) {
        runtime::forget_deferred();
        runtime::shared(Shared::new_run);
    }

    /// A number for all that has happened.
    fn past(&self) -> u64 {
        let mut hasher = Number::default();
        for step in &self.steps[..self.made] {
            hasher.write_usize(step.thread.index());
            hasher.write_u64(step.outcome);
        }
        hasher.finish()
    }

    fn abandon(&mut self) {
        for slot in &mut self.slots {
            if let Some(thread) = slot {
                self.pool.abandon(&mut thread.strand);
                *slot = None;
            }
        }
    }

    fn state(&self, thread: ThreadId) -> &State {
        self.states.get(thread.index()).unwrap_or(&ABSENT)
    }
}

/// Whether the step that is repeated was seen to change nothing around its thread.
fn stays() -> bool {
    runtime::shared_untidily(|shared| shared.script.stays())
}

/// Whether somebody tries to take a lock.
fn is_tried(addr: Addr) -> bool {
    runtime::shared(|shared| shared.is_tried(addr))
}

/// Whether a word is a count of references.
fn counts_references(addr: Addr) -> bool {
    runtime::shared(|shared| shared.origins.get(&addr).is_some_and(|(what, _)| *what == "Arc"))
}

/// Whether it makes no difference to a loop that a word is written.
fn is_aside(addr: Addr) -> bool {
    is_tried(addr) || counts_references(addr)
}

/// A thread, and the others.
fn apart(slots: &mut [Option<Slot>], thread: ThreadId) -> (&mut Option<Slot>, [&[Option<Slot>]; 2]) {
    let (before, from) = slots.split_at_mut(thread.index());
    let (slot, after) = from.split_first_mut().expect("a thread that has started has its place");
    (slot, [before, after])
}

/// What the stacks of suspended threads look like.
fn stacks(threads: [&[Option<Slot>]; 2]) -> u64 {
    let mut hasher = Number::default();
    let stacks = threads.into_iter().flatten().flatten().map(|slot| slot.strand.at_rest());
    stacks.flatten().for_each(|&word| hasher.write_u64(word));
    hasher.finish()
}

/// What still lives at the end of a run and must not.
pub(crate) fn leak() -> Option<Violation> {
    let left = runtime::shared(|shared| shared.unreachable());
    let (_, (what, _)) = left.first()?;
    let others = match left.len() - 1 {
        0 => String::new(),
        1 => " (another one too)".to_owned(),
        n => format!(" ({n} others too)"),
    };
    let message = format!("{what} that the model has made still lives at its end{others}");
    let places = left.iter().take(8).map(|(_, (what, at))| (runtime::span(at), format!("{what} made here")));
    Some(Violation { kind: ViolationKind::Leak, message, places: places.collect() })
}

impl Drop for RustMachine {
    fn drop(&mut self) {
        self.abandon();
        // What a panic has interrupted is not used again.
        if !std::thread::panicking() {
            self.settle();
            let left = self.leave();
            runtime::shared(|shared| shared.left = left);
        }
    }
}

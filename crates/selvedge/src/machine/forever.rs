//! Threads that were cut off in loops that write: do they ever get on?
//!
//! A loop such as `loop { a.store(1); if b.load() == 1 { break } a.store(0); spin_loop() }` is made some times, and then its thread
//! is cut off (`spin.rs`). Whether it goes round for ever if nobody else goes on is not to be seen from what it has done:
//! others may have written since where it looks, or may have changed memory that it looks at under a lock of its own.
//! So when nobody goes on any more, it goes on, alone, for as long as it takes: each operation finds the newest value there, which
//! every memory model allows (to add to an execution what comes after everything else makes no cycle in any of its relations).
//! If the thread then comes back to a state in which it was since, with the same stack, the same memory around it, and
//! the same values in all atomics, it goes round for ever: it does the same again, and that is what makes it a livelock.
//!
//! Others that wait must not get on by that. Who waits with an operation is asked about each value that is written in such a
//! round. Who spins, or goes round himself, goes on in the same way with each of these values in the place of the newest one, or with
//! each combination of them if he looks at several words. Each of these rounds has to bring him back without having written anything
//! new, in a state that depends on nothing but what he has found in it: then he has nothing to remember rounds by, and what he can
//! find in a row brings him nowhere else than what he can find once. (So each combination comes after each other one, and the state
//! in which all of that has begun has to be among those that it leads to.) That is all that he can find if he looks at each of these
//! words once in a round, if it is one thread that writes there, and if this thread leaves other memory alone. If not, nothing is said.
//!
//! Nor is anything said if a thread has a choice, waits, or does anything but access memory or notify nobody; nor if it allocates in
//! each round, since no address is given out twice, and states are compared word by word here. How long a cycle is that is
//! looked for is not known, so a state is compared with the one that was kept last, and they are kept ever more rarely.
//!
//! What was found is a trial: the threads have gone too far, and everything is run again before the next step.

use super::{RustMachine, State, apart};
use crate::coroutine::Came;
use crate::nondet;
use crate::runtime::{self, Yielded};
use rustc_hash::FxHashMap;
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::{Access, Addr, Machine, Op, Outcome, Status, ThreadId, truncate};

/// So often a thread may come round before it has to be in a state again.
const MOST_ROUNDS: u32 = 32;
/// It may perform so many operations in a round, and so many times as many as it did before: if it takes more, it has left the loop.
const MOST_STEPS: u32 = 16;
const MOST_TIMES: u32 = 4;
/// With so many combinations of what others write it may have to go round, one after any other.
const MOST_COMBINATIONS: usize = 32;

/// What there is in atomics when threads go on at the end of an execution, and how many bytes each has.
type Values = FxHashMap<Addr, (u8, u64)>;

/// What a thread does again and again, and on the way there.
#[derive(Default)]
struct Cycle {
    /// Where it has read.
    read: Vec<Addr>,
    /// Other values that it has written than were there.
    written: Vec<(Addr, u64)>,
    /// Whether it has changed other memory in between.
    touches: bool,
}

/// A thread that goes on.
struct Goes<'a> {
    thread: ThreadId,
    values: Values,
    /// What it has done, on the way to the cycle as well.
    cycle: Cycle,
    /// What others do all the time.
    others: &'a [&'a Cycle],
    /// Words that they write to and it looks at, and those of them at which it has looked since it last came round.
    open: Vec<Addr>,
    looked: Vec<Addr>,
    /// Whether a weak exchange comes next, which has to fail for a reason, so that it need not be asked whether it does for none.
    is_weak: bool,
}

impl Goes<'_> {
    /// A thread that goes on alone.
    fn new(thread: ThreadId, values: Values) -> Goes<'static> {
        let (open, looked) = (Vec::new(), Vec::new());
        Goes { thread, values, cycle: Cycle::default(), others: &[], open, looked, is_weak: false }
    }

    /// Whether others write to a word.
    fn is_written(&self, addr: Addr) -> bool {
        self.others.iter().any(|cycle| cycle.writes_to(addr))
    }

    /// What there is where others do not write.
    fn own_values(&self) -> Values {
        self.values.iter().filter(|(addr, _)| !self.is_written(**addr)).map(|(&addr, &value)| (addr, value)).collect()
    }
}

/// The values that others write to open words, in each combination; none if they are too many.
fn combinations(open: &[Addr], others: &[&Cycle]) -> Vec<Vec<(Addr, u64)>> {
    let mut combinations = vec![Vec::new()];
    for &word in open {
        let written = others.iter().flat_map(|cycle| &cycle.written).filter(|(addr, _)| *addr == word);
        let with = |&value: &(Addr, u64)| {
            combinations.iter().map(move |before| before.iter().copied().chain([value]).collect()).collect::<Vec<_>>()
        };
        combinations = written.flat_map(with).collect();
        if combinations.len() > MOST_COMBINATIONS {
            return Vec::new();
        }
    }
    combinations
}

impl RustMachine {
    /// Whether these threads, which were cut off, go round for ever at the end of an execution in which nobody else goes on. The
    /// values are the newest ones, where anybody has written in it.
    pub(super) fn go_round_for_ever(&mut self, threads: &[ThreadId], values: &[(Addr, u8, u64)]) -> bool {
        // Who changes nothing is seen to spin for ever where all that it has read is up to date.
        let may_be = threads.iter().all(|&thread| self.state(thread).spins.is_some_and(|it| it.repeats));
        if !may_be || self.misled.is_some() || runtime::shared(|shared| shared.once || shared.restart) {
            return false;
        }
        let mut values: Values = values.iter().map(|&(addr, size, value)| (addr, (size, value))).collect();
        let go_round = |machine: &mut RustMachine| {
            let each = threads.iter().map(|&thread| Some((thread, machine.goes_round(thread, &mut values)?)));
            let cycles = each.collect::<Option<Vec<_>>>()?;
            machine.all_keep_spinning(&cycles, &values).then_some(cycles)
        };
        let cycles = self.goes_on_after_the_end(go_round);
        let is_for_ever =
            cycles.is_some_and(|cycles| cycles.iter().all(|(thread, cycle)| self.all_keep_waiting(*thread, cycle)));
        is_for_ever && !runtime::shared(|shared| shared.restart)
    }

    /// Lets threads go on that do not in the execution; nothing of that is part of it.
    fn goes_on_after_the_end<T>(&mut self, go_on: impl FnOnce(&mut RustMachine) -> Option<T>) -> Option<T> {
        if self.stale && self.run_again().is_err() {
            return None;
        }
        let left_out = runtime::shared(|shared| {
            shared.tries_out = true;
            shared.left_out
        });
        self.ahead = None;
        let result = go_on(self);
        runtime::take_panic();
        runtime::take_aside();
        runtime::take_updating();
        runtime::shared(|shared| {
            shared.tries_out = false;
            shared.left_out = left_out;
            shared.met.clear();
        });
        self.surroundings.forget();
        self.compared.real = false;
        self.stale = true;
        result
    }

    /// Whether all threads that spin do so for ever while some go round in these cycles.
    fn all_keep_spinning(&mut self, cycles: &[(ThreadId, Cycle)], values: &Values) -> bool {
        let writers = |addr| cycles.iter().filter(move |(_, cycle)| cycle.writes_to(addr)).count();
        if cycles.iter().flat_map(|(_, cycle)| &cycle.written).any(|&(addr, _)| writers(addr) > 1) {
            return false;
        }
        (0..self.states.len()).map(ThreadId::new).all(|thread| {
            let State { status: Status::AssumeBlocked, spins, .. } = *self.state(thread) else { return true };
            let own = cycles.iter().find(|(of, _)| *of == thread).map(|(_, cycle)| cycle);
            let others: Vec<&Cycle> = cycles.iter().filter(|(of, _)| *of != thread).map(|(_, cycle)| cycle).collect();
            let steps = spins.map_or(0, |iteration| iteration.steps);
            let looks_at = |machine: &RustMachine, addr| {
                own.is_some_and(|own| own.read.contains(&addr)) || machine.has_looked_at(thread, steps, addr)
            };
            let written = others.iter().flat_map(|cycle| &cycle.written);
            let mut open: Vec<Addr> = written.map(|&(addr, _)| addr).filter(|&addr| looks_at(self, addr)).collect();
            open.sort_unstable();
            open.dedup();
            // Nobody writes where it looks, and so it will look nowhere else.
            open.is_empty() || self.keeps_spinning(thread, open, own, &others, values.clone())
        })
    }

    /// Whether a thread goes round for ever while others write to words that it looks at, the open ones. That is so if
    ///
    /// - with each combination of their values it comes back in one round, without having written anything new;
    /// - the state in which it then is depends on nothing but the combination: not on the state in which it was before;
    /// - it is in one of these states now.
    fn keeps_spinning(
        &mut self,
        thread: ThreadId,
        mut open: Vec<Addr>,
        own: Option<&Cycle>,
        others: &[&Cycle],
        values: Values,
    ) -> bool {
        self.keep_surroundings(thread);
        let Some(now) = self.image_at_rest(thread) else { return false };
        // A word that it looks at only then is open, too.
        for _ in 0..=others.iter().map(|cycle| cycle.written.len()).sum() {
            let combinations = combinations(&open, others);
            if combinations.is_empty()
                || others.iter().any(|it| it.touches && open.iter().any(|&addr| it.writes_to(addr)))
            {
                return false;
            }
            let mut goes = Goes { open: open.clone(), others, ..Goes::new(thread, values.clone()) };
            let mut states: Vec<Option<Vec<u64>>> = vec![None; combinations.len()];
            if !self.comes_back_with_each(&mut goes, &combinations, &mut states) {
                return false;
            }
            if goes.open.len() == open.len() {
                let is_known = |written: &(Addr, u64)| own.is_some_and(|own| own.written.contains(written));
                let is_one_of_them = states.iter().flatten().any(|state| *state == now);
                return is_one_of_them && goes.cycle.written.iter().all(is_known);
            }
            open = goes.open;
        }
        false
    }

    /// Whether a thread comes back with each combination, one after any other, and in the same state with each. As soon as it has looked
    /// at another word that is open, that is to be asked again.
    fn comes_back_with_each(
        &mut self,
        goes: &mut Goes<'_>,
        combinations: &[Vec<(Addr, u64)>],
        states: &mut [Option<Vec<u64>>],
    ) -> bool {
        let (count, open) = (states.len(), goes.open.len());
        let own = goes.own_values();
        // Each pair comes one after the other somewhere.
        for n in (0..count).flat_map(|one| (0..count).flat_map(move |other| [one, other])) {
            for &(addr, other) in &combinations[n] {
                if let Some((_, value)) = goes.values.get_mut(&addr) {
                    *value = other;
                }
            }
            let Some(image) = self.comes_round(goes) else { return false };
            let (_, suspended) = apart(&mut self.slots, goes.thread);
            if goes.own_values() != own || !self.surroundings.are_there(goes.thread, suspended) {
                return false;
            }
            if goes.open.len() > open {
                return true;
            }
            if *states[n].get_or_insert_with(|| image.clone()) != image {
                return false;
            }
        }
        true
    }

    /// Whether all other threads that wait with an operation wait for something else than a thread writes in a cycle.
    fn all_keep_waiting(&mut self, thread: ThreadId, cycle: &Cycle) -> bool {
        (0..self.states.len()).map(ThreadId::new).filter(|&other| other != thread).all(|other| {
            let State { status: Status::Ready, op: Op::Access(access), .. } = *self.state(other) else { return true };
            let mut values = cycle.written.iter().filter(|(addr, _)| *addr == access.addr);
            values.all(|&(_, value)| match access.until {
                Some(until) => !until.holds(value, access.size),
                None => access.spins && !cycle.touches && self.waits(other, value),
            })
        })
    }

    /// What a thread does again and again, if it goes on alone and comes back to a state that it was in.
    fn goes_round(&mut self, thread: ThreadId, values: &mut Values) -> Option<Cycle> {
        let mut goes = Goes::new(thread, std::mem::take(values));
        // Its stack and the values when they were kept, and after how many rounds that is done again.
        let mut kept: Option<(Vec<u64>, Values)> = None;
        self.keep_surroundings(thread);
        let mut next = 1;
        for rounds in 1..MOST_ROUNDS {
            let image = self.comes_round(&mut goes)?;
            let (_, others) = apart(&mut self.slots, thread);
            let same = |(stack, before): &(Vec<u64>, Values)| *stack == image && *before == goes.values;
            if kept.as_ref().is_some_and(same) && self.surroundings.are_there(thread, others) {
                *values = goes.values;
                return Some(goes.cycle);
            }
            if rounds == next {
                next *= 2;
                self.keep_surroundings(thread);
                kept = Some((image, goes.values.clone()));
            }
        }
        None
    }

    /// Lets a thread go on until it comes round, and what its stack is then.
    fn comes_round(&mut self, goes: &mut Goes<'_>) -> Option<Vec<u64>> {
        let thread = goes.thread;
        let State { at: Some(home), spins, .. } = *self.state(thread) else { return None };
        let before = spins.map_or(0, |iteration| iteration.steps);
        goes.looked.clear();
        let mut outcome = 0;
        for _ in 0..MOST_STEPS.saturating_add(MOST_TIMES.saturating_mul(before)) {
            let slot = self.slots.get_mut(thread.index())?.as_mut()?;
            runtime::repeats(false);
            let came = self.pool.resume(&mut slot.strand, outcome);
            super::snapshot::cannot_be_put_back(&came);
            outcome = 0;
            match came {
                Came::Op => {
                    let (_, others) = apart(&mut self.slots, thread);
                    goes.cycle.touches |= !self.surroundings.are_there(thread, others);
                    outcome = self.finds(goes)?;
                }
                Came::To(Yielded::Yields { at, .. }) if std::ptr::eq(at, home) => return self.image_at_rest(thread),
                Came::To(Yielded::Yields { .. }) => {}
                _ => return None,
            }
        }
        None
    }

    /// Keeps what is around a thread, to see whether it changes that.
    fn keep_surroundings(&mut self, thread: ThreadId) {
        let (_, others) = apart(&mut self.slots, thread);
        self.surroundings.forget();
        self.surroundings.keep(thread, others);
    }

    /// The stack of a thread that has come round.
    fn image_at_rest(&self, thread: ThreadId) -> Option<Vec<u64>> {
        let top = runtime::shared(|shared| shared.top);
        self.slots.get(thread.index())?.as_ref()?.strand.image_at_rest(&self.pool.engine(top))
    }

    /// What a thread finds that stands at an operation. None if that does not tell what it does next.
    fn finds(&self, goes: &mut Goes<'_>) -> Option<Outcome> {
        let (op, at) = self.stands_at(goes.thread)?;
        let access = match op {
            Op::Access(access) => access,
            Op::Fence { .. } => return Some(0),
            Op::CondSignal { cond } | Op::CondBroadcast { cond } => {
                return (!self.somebody_waits_on(cond)).then_some(0);
            }
            Op::Choose { .. } if nondet::is_weak(at) => {
                goes.is_weak = true;
                return Some(0);
            }
            _ => return None,
        };
        // What was met on the way is none of the execution, nor of the memory.
        if runtime::shared(|shared| !shared.met.is_empty()) {
            return None;
        }
        let found = self.found(goes, &access)?;
        if access.until.is_some_and(|until| !until.holds(found, access.size)) {
            return None;
        }
        if access.reads() {
            let is_open = goes.is_written(access.addr);
            if is_open && goes.looked.contains(&access.addr) {
                return None;
            }
            if is_open {
                goes.looked.push(access.addr);
                if !goes.open.contains(&access.addr) {
                    goes.open.push(access.addr);
                }
            }
            goes.cycle.read.push(access.addr);
        }
        let written = access.written(found).map(|new| truncate(new, access.size));
        if std::mem::take(&mut goes.is_weak) && written.is_some() {
            return None;
        }
        if let Some(new) = written {
            goes.values.insert(access.addr, (access.size, new));
            goes.cycle.touches |= access.order == Order::Plain;
            // Who reads what was there already finds nothing new.
            if new != found && !goes.cycle.written.contains(&(access.addr, new)) {
                goes.cycle.written.push((access.addr, new));
            }
        }
        Some(if access.reads() { found } else { 0 })
    }

    /// Whether somebody waits to be notified of something.
    fn somebody_waits_on(&self, cond: Addr) -> bool {
        let waits = |state: &State| matches!(state.op, Op::CondWake { cond: other, .. } if other == cond);
        self.states.iter().any(|state| state.status == Status::Ready && waits(state))
    }

    /// What is there when a thread accesses it.
    fn found(&self, goes: &Goes<'_>, access: &Access) -> Option<u64> {
        match goes.values.get(&access.addr) {
            Some(&(size, value)) => (size == access.size).then_some(value),
            None => self.memory.load(goes.thread, access.addr, access.size, true).ok(),
        }
    }
}

impl Cycle {
    /// Whether another value is written to a word.
    fn writes_to(&self, addr: Addr) -> bool {
        self.written.iter().any(|(to, _)| *to == addr)
    }
}

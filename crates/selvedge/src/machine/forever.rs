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
//! each combination of them if he looks at several words: with all of them he has to come back without having written anything new.
//! That is all that he can find if he looks at each of these words once in a round, if it is one thread that
//! writes there, and if this thread leaves other memory alone. If not, nothing is said.
//!
//! Nor is anything said if a thread has a choice, waits, or does anything but access memory. How long a cycle is that is
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
/// So many operations it may perform.
const MOST_STEPS: u32 = 4_096;
/// With so many combinations of what others write it may have to go round.
const MOST_COMBINATIONS: usize = 64;

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
    values: &'a mut Values,
    /// What it has done, on the way to the cycle as well.
    cycle: Cycle,
    /// Words that others write to all the time, and where it has looked at them since it last came round.
    open: &'a [Addr],
    looked: Vec<Addr>,
    /// Whether a weak exchange comes next, which has to fail for a reason, so that it need not be asked whether it does for none.
    is_weak: bool,
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
            let each = threads.iter().map(|&thread| Some((thread, machine.goes_round(thread, &mut values, &[])?)));
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
            let steps = spins.map_or(0, |iteration| iteration.steps);
            let looks_at = |machine: &RustMachine, addr| {
                own.is_some_and(|own| own.read.contains(&addr)) || machine.has_looked_at(thread, steps, addr)
            };
            let others = || cycles.iter().filter(|(of, _)| *of != thread).map(|(_, cycle)| cycle);
            let mut written: Vec<(Addr, u64)> = others().flat_map(|cycle| cycle.written.iter().copied()).collect();
            written.retain(|&(addr, _)| looks_at(self, addr));
            let is_left_alone = written.is_empty();
            let touches = others().any(|cycle| cycle.touches && written.iter().any(|&(addr, _)| cycle.writes_to(addr)));
            is_left_alone || !touches && self.keeps_spinning(thread, &written, own, values)
        })
    }

    /// Whether a thread goes round for ever with each combination of some values, without writing anything new.
    fn keeps_spinning(
        &mut self,
        thread: ThreadId,
        written: &[(Addr, u64)],
        own: Option<&Cycle>,
        values: &Values,
    ) -> bool {
        let mut open: Vec<Addr> = written.iter().map(|&(addr, _)| addr).collect();
        open.sort_unstable();
        open.dedup();
        let of = |addr| written.iter().filter(move |(to, _)| *to == addr).map(|&(_, value)| value);
        let count = open.iter().try_fold(1, |count: usize, &addr| count.checked_mul(of(addr).count()));
        let Some(count) = count.filter(|&count| count <= MOST_COMBINATIONS) else { return false };
        let mut values = values.clone();
        (0..count).all(|mut n| {
            for &addr in &open {
                let (nth, of_them) = (n % of(addr).count(), of(addr));
                n /= of(addr).count();
                if let (Some((_, value)), Some(other)) = (values.get_mut(&addr), of_them.skip(nth).next()) {
                    *value = other;
                }
            }
            let is_known = |written: &(Addr, u64)| own.is_some_and(|own| own.written.contains(written));
            self.goes_round(thread, &mut values, &open).is_some_and(|cycle| cycle.written.iter().all(is_known))
        })
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

    /// What a thread does again and again, if it goes on alone and comes back to a state that it was in. Others write to
    /// some words meanwhile.
    fn goes_round(&mut self, thread: ThreadId, values: &mut Values, open: &[Addr]) -> Option<Cycle> {
        let home = self.state(thread).at?;
        let mut goes = Goes { thread, values, cycle: Cycle::default(), open, looked: Vec::new(), is_weak: false };
        // Its stack and the values when they were kept, and after how many rounds that is done again.
        let mut kept: Option<(Vec<u64>, Values)> = None;
        let (_, others) = apart(&mut self.slots, thread);
        self.surroundings.forget();
        self.surroundings.keep(thread, others);
        let (mut rounds, mut next) = (0, 1);
        let mut outcome = 0;
        for _ in 0..MOST_STEPS {
            let slot = self.slots.get_mut(thread.index())?.as_mut()?;
            runtime::repeats(false);
            let came = self.pool.resume(&mut slot.strand, outcome);
            super::snapshot::cannot_be_put_back(&came);
            outcome = 0;
            match came {
                Came::Op => {
                    let (_, others) = apart(&mut self.slots, thread);
                    goes.cycle.touches |= !self.surroundings.are_there(thread, others);
                    outcome = self.finds(&mut goes)?;
                }
                Came::To(Yielded::Yields { low, at }) if std::ptr::eq(at, home) => {
                    let top = runtime::shared(|shared| shared.top);
                    let (slot, others) = apart(&mut self.slots, thread);
                    let image = slot.as_mut()?.strand.image(low, &self.pool.engine(top));
                    let same = |(stack, before): &(Vec<u64>, Values)| *stack == image && before == goes.values;
                    if kept.as_ref().is_some_and(same) && self.surroundings.are_there(thread, others) {
                        return Some(goes.cycle);
                    }
                    goes.looked.clear();
                    rounds += 1;
                    if rounds == MOST_ROUNDS {
                        return None;
                    }
                    if rounds == next {
                        next *= 2;
                        self.surroundings.forget();
                        self.surroundings.keep(thread, others);
                        kept = Some((image, goes.values.clone()));
                    }
                }
                Came::To(Yielded::Yields { .. }) => {}
                _ => return None,
            }
        }
        None
    }

    /// What a thread finds that stands at an operation. None if that does not tell what it does next.
    fn finds(&self, goes: &mut Goes<'_>) -> Option<Outcome> {
        let (op, at) = self.stands_at(goes.thread)?;
        let access = match op {
            Op::Access(access) => access,
            Op::Fence { .. } => return Some(0),
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
            let is_open = goes.open.contains(&access.addr);
            if is_open && goes.looked.contains(&access.addr) {
                return None;
            }
            goes.looked.extend(is_open.then_some(access.addr));
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

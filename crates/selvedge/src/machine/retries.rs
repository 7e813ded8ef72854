//! Loops that try an exchange again: how they are found, and what an attempt that fails would have left. `retry.rs` says
//! what it is for, and why it is enough.

use super::{RustMachine, TRIED};
use crate::coroutine::Came;
use crate::retry::{Exchange, Then, sees_no_more};
use crate::runtime::{self, At, Pending, Yielded};
use crate::script::Step;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, AccessKind, Addr, Machine, Op, Outcome, Status, Stop, ThreadId, truncate};
use std::hash::{Hash, Hasher};

/// More attempts are not tried out for one exchange, nor longer ones.
const MOST_ATTEMPTS: usize = 512;
const LONGEST: usize = 64;
/// Nor more that fail one after the other.
const MOST_FAILS: usize = 4;

/// What a thread comes to that ends.
const ENDED: u64 = 3;

/// What the machine keeps for loops that try again.
#[derive(Default)]
pub(super) struct Tries {
    /// Attempts before which others may have failed, and have been looked at.
    looked: FxHashSet<u64>,
    /// With which values loads were found to be speculative.
    speculates: FxHashMap<(u64, ThreadId, Outcome), bool>,
    /// First values of objects.
    pub inits: FxHashMap<Addr, u64>,
}

/// The attempt at whose end a thread stands.
struct Attempt {
    thread: ThreadId,
    exchange: Exchange,
    /// The exchange.
    op: Op,
    at: At,
    /// The step that it begins with, of all steps; and its own steps.
    start: usize,
    steps: Vec<Step>,
}

impl Attempt {
    /// Whether a store is the first thing that the attempt does with an object.
    fn overwrites(&self, addr: Addr) -> bool {
        let to = |step: &&Step| matches!(step.op, Op::Access(access) if access.addr == addr);
        let first = self.steps.iter().find(to).map(|step| step.op);
        matches!(first, Some(Op::Access(Access { kind: AccessKind::Store { .. }, .. })))
    }
}

/// What others have written before an attempt, and what the thread has been told.
struct Past {
    /// A number for what the thread has been told before the attempt, and those that it has heard of.
    told: u64,
    /// What was written to words that the thread may still read, oldest first, and a number for what that depends on.
    written: FxHashMap<Addr, Vec<(u64, u64)>>,
}

/// What memory looks like before an attempt: that of the model, and the stacks of the other threads.
struct Before {
    blocks: Vec<Vec<u64>>,
    stacks: Vec<Vec<u64>>,
}

/// Numbers for what attempts have left: for stacks (all of the thread's own, and what has changed in others), and for what
/// has changed in memory. They are the same in other runs: addresses are not part of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Trace {
    stack: u64,
    memory: u64,
}

/// What has come of attempts that were tried out.
enum Tried<'a> {
    /// They have failed, and if they leave no trace, these steps follow.
    Fails(&'a [Step]),
    /// They do not, with these values.
    Succeeds,
    /// They could not be tried out.
    Unknown,
}

/// Whether an operation is a load, marks aside.
fn is_same_load(op: &Op, load: &Access) -> bool {
    let plain = |access: &Access| Access { speculative: None, spins: false, ..*access };
    matches!(op, Op::Access(access) if plain(access) == plain(load))
}

fn mix(before: u64, word: u64) -> u64 {
    (before.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl RustMachine {
    /// A thread has made a step and stands at its next one: looks for loops, and at attempts that could have failed.
    pub(super) fn look_for_retries(
        &mut self,
        thread: ThreadId,
        made: &Op,
        at: At,
        outcome: Outcome,
    ) -> Result<(), Stop> {
        let state = &self.states[thread.index()];
        if state.status == Status::Finished {
            let unexpected = runtime::shared(|shared| {
                let open = shared.per_thread(thread).open.take();
                shared.retries.ends(open)
            });
            return if unexpected { self.starts_again(thread) } else { Ok(()) };
        }
        if state.status != Status::Ready {
            return Ok(());
        }
        if self.learns(thread, made, at, outcome) {
            return self.starts_again(thread);
        }
        let stands = matches!(self.states[thread.index()].op, Op::Access(access) if access.confirms);
        if stands && let Some(attempt) = self.attempt(thread) {
            return self.look_at_attempts(&attempt);
        }
        Ok(())
    }

    fn starts_again(&mut self, thread: ThreadId) -> Result<(), Stop> {
        runtime::shared(|shared| shared.restart = true);
        self.states[thread.index()].status = Status::Stopped;
        Err(*runtime::starts_again())
    }

    /// Whether a step is an exchange that has failed and shows a loop that was not known.
    fn learns(&mut self, thread: ThreadId, made: &Op, at: At, found: Outcome) -> bool {
        let Op::Access(access @ Access { kind: AccessKind::Cas { expected, failure, .. }, .. }) = made else {
            return false;
        };
        let expected = truncate(*expected, access.size);
        let plain = access.until.is_none() && !access.confirms && !access.spins;
        if !plain || found == expected || runtime::shared(|shared| shared.retries.knows(at)) {
            return false;
        }
        let (next, next_at) = (self.states[thread.index()].op, self.states[thread.index()].at);
        let mut way = vec![at];
        let mut load: Option<(At, Access)> = None;
        let mut back = None;
        for step in self.steps[..self.made - 1].iter().rev().filter(|step| step.thread == thread) {
            let Op::Access(other) = step.op else { break };
            let (true, Some(place)) = (self.leaves_no_trace(thread, &step.op), step.at) else { break };
            let same = other.kind == AccessKind::Load && (other.addr, other.size) == (access.addr, access.size);
            if load.is_none() && same {
                if step.outcome != expected || !super::awaits::is_look(&other) {
                    break;
                }
                load = Some((place, other));
            } else if load.is_none() {
                way.push(place);
            }
            if load.is_some() && step.op == next && Some(place) == next_at {
                back = Some(place);
                break;
            }
        }
        let Some((load, access)) = load else { return false };
        let then = match back {
            Some(place) => Then::Back(place),
            None if is_same_load(&next, &access) => Then::LoadsElsewhere,
            None if sees_no_more(access.order, *failure) => Then::GoesOn,
            None => return false,
        };
        runtime::shared(|shared| {
            shared.blocks.freed_early.get_or_insert_default();
            shared.retries.learn(at, (load, then), way);
        });
        true
    }

    /// Whether an operation is a load, or a store to an object of the thread itself.
    fn leaves_no_trace(&self, thread: ThreadId, op: &Op) -> bool {
        match op {
            Op::Access(Access { kind: AccessKind::Load, .. }) => true,
            Op::Access(Access { kind: AccessKind::Store { .. }, addr, .. }) => {
                runtime::shared(|shared| shared.places.is_of(*addr, thread))
            }
            _ => false,
        }
    }

    /// The attempt at whose end a thread stands.
    fn attempt(&self, thread: ThreadId) -> Option<Attempt> {
        let (op, at) = (self.states[thread.index()].op, self.states[thread.index()].at?);
        let exchange = runtime::shared(|shared| shared.retries.exchange(at))?;
        let mut start = None;
        let mut loaded = false;
        for (n, step) in self.steps[..self.made].iter().enumerate().rev().filter(|(_, step)| step.thread == thread) {
            if !self.leaves_no_trace(thread, &step.op) {
                break;
            }
            loaded |= step.at == Some(exchange.load);
            let first = if let Then::Back(place) = exchange.then { place } else { exchange.load };
            if loaded && step.at == Some(first) {
                start = Some(n);
                break;
            }
        }
        let start = start?;
        let steps = self.steps[start..self.made].iter().filter(|step| step.thread == thread).copied().collect();
        Some(Attempt { thread, exchange, op, at, start, steps })
    }

    /// Looks at the attempts that could have failed before this one.
    fn look_at_attempts(&mut self, attempt: &Attempt) -> Result<(), Stop> {
        let past = self.past_of(attempt);
        let key = past.key(attempt);
        if self.tries.looked.contains(&key) {
            return Ok(());
        }
        let size = self.slots.iter().flatten().filter(|slot| slot.strand.pending().is_some());
        let size = size.map(|slot| slot.strand.depth(slot.strand.low())).max().unwrap_or(0);
        if runtime::shared(|shared| shared.must_clear(size)) {
            return self.starts_again(attempt.thread);
        }
        runtime::shared(|shared| shared.tries_out = true);
        let pure = self.all_are_pure(attempt, &past);
        runtime::shared(|shared| shared.tries_out = false);
        self.stale = true;
        if runtime::shared(|shared| shared.restart) {
            return self.starts_again(attempt.thread);
        }
        if !pure {
            runtime::shared(|shared| shared.retries.leaves_trace(attempt.at));
            return self.starts_again(attempt.thread);
        }
        if self.tries.looked.len() == TRIED {
            self.tries.looked.clear();
        }
        self.tries.looked.insert(key);
        Ok(())
    }

    /// What has happened before an attempt.
    fn past_of(&self, attempt: &Attempt) -> Past {
        let mut told = vec![0u64; self.states.len()];
        let mut written: FxHashMap<Addr, Vec<(u64, u64)>> = FxHashMap::default();
        let seen = self.seen_by(attempt);
        for (n, step) in self.steps[..self.made].iter().enumerate() {
            let thread = step.thread.index();
            if step.thread == attempt.thread && n >= attempt.start {
                continue;
            }
            told[thread] = mix(told[thread], step.outcome);
            match step.op {
                Op::Spawn { child } => told[child.index()] = mix(told[thread], child.index() as u64),
                Op::Join { thread: other } => told[thread] = mix(told[thread], told[other.index()]),
                Op::Access(access) => {
                    let words = written.entry(access.addr).or_insert_with(|| self.first(access.addr));
                    if access.reads() {
                        let from = words.iter().rposition(|&(value, _)| value == step.outcome);
                        told[thread] = mix(told[thread], from.map_or(1, |from| words[from].1));
                        // What is older cannot be read by the thread any more.
                        if step.thread == attempt.thread {
                            words.drain(..from.unwrap_or(0));
                        }
                    }
                    if let Some(value) = access.written(step.outcome) {
                        // What comes before what the thread has seen cannot be read by it any more.
                        if seen[n] {
                            words.clear();
                        }
                        words.push((truncate(value, access.size), told[thread]));
                    }
                }
                _ => {}
            }
        }
        for step in &attempt.steps {
            if let Op::Access(access) = step.op {
                written.entry(access.addr).or_insert_with(|| self.first(access.addr));
            }
        }
        if let Op::Access(access) = attempt.op {
            written.entry(access.addr).or_insert_with(|| self.first(access.addr));
        }
        Past { told: told[attempt.thread.index()], written }
    }

    /// Which steps happen before an attempt because its thread has made them, or was created or joined after them. Others
    /// may do so as well.
    fn seen_by(&self, attempt: &Attempt) -> Vec<bool> {
        let mut seen = vec![false; self.made];
        // By thread, up to which step.
        let mut clocks = vec![vec![0usize; self.states.len()]; self.states.len()];
        for (n, step) in self.steps[..self.made].iter().enumerate() {
            let thread = step.thread.index();
            if step.thread == attempt.thread && n >= attempt.start {
                break;
            }
            clocks[thread][thread] = n + 1;
            let (from, to) = match step.op {
                Op::Spawn { child } => (thread, child.index()),
                Op::Join { thread: other } => (other.index(), thread),
                _ => continue,
            };
            let known = clocks[from].clone();
            clocks[to].iter_mut().zip(known).for_each(|(mine, other)| *mine = (*mine).max(other));
        }
        let clock = &clocks[attempt.thread.index()];
        for (n, step) in self.steps[..self.made].iter().enumerate() {
            seen[n] = n < clock[step.thread.index()];
        }
        seen
    }

    /// The first value of a word, if it is known.
    fn first(&self, addr: Addr) -> Vec<(u64, u64)> {
        self.tries.inits.get(&addr).map(|&init| (init, 0)).into_iter().collect()
    }

    /// Tries out all attempts that could have failed before this one: one, and as long as what is left is not what there would
    /// be without them, more of them. Whether nothing new is left after some number of them.
    fn all_are_pure(&mut self, attempt: &Attempt, past: &Past) -> bool {
        let Some(wanted) = self.without_failures(attempt, RustMachine::trace) else { return false };
        let mut success = None;
        let mut known = vec![wanted];
        for fails in 1..=MOST_FAILS {
            let before_these = known.len();
            let all = self.each(attempt, past, fails, |machine, left, before| {
                let Some(left) = left else { return false };
                if known.contains(&left) {
                    return true;
                }
                known.push(left);
                let found = machine.succeed(attempt.thread, before);
                // What follows is asked for only if need be: it is no execution yet.
                let success = success.get_or_insert_with(|| machine.without_failures(attempt, RustMachine::succeed));
                *success == Some(found)
            });
            if !all || known.len() == before_these {
                return all;
            }
        }
        false
    }

    /// What the attempt leads to that was made.
    fn without_failures<T>(&mut self, attempt: &Attempt, f: fn(&mut RustMachine, ThreadId, &Before) -> T) -> Option<T> {
        let before = self.run_again_to(attempt)?;
        self.follow(attempt, &attempt.steps, &before)?;
        Some(f(self, attempt.thread, &before))
    }

    /// Lets attempts fail in all ways before this one, so many each time; whether all leave something that is right.
    fn each(
        &mut self,
        attempt: &Attempt,
        past: &Past,
        fails: usize,
        mut is_right: impl FnMut(&mut RustMachine, Option<Trace>, &Before) -> bool,
    ) -> bool {
        let mut choices = Choices::default();
        for _ in 0..MOST_ATTEMPTS {
            choices.next = 0;
            let Some(before) = self.run_again_to(attempt) else { return false };
            match self.try_out(attempt, past, fails, &mut choices) {
                Tried::Succeeds => {}
                Tried::Unknown => return false,
                Tried::Fails(steps) => {
                    let left = self.follow(attempt, steps, &before);
                    if !is_right(self, left, &before) {
                        return false;
                    }
                }
            }
            if !choices.advance() {
                return true;
            }
        }
        false
    }

    /// Lets a thread make the steps of the attempt that was made; what that has left, if it makes them.
    fn follow(&mut self, attempt: &Attempt, steps: &[Step], before: &Before) -> Option<Trace> {
        let thread = attempt.thread;
        for step in steps {
            let (op, at) = self.stands_at(thread)?;
            let same = op == step.op && Some(at) == step.at;
            if !same && !loads_elsewhere(attempt, &op, step.outcome) {
                return None;
            }
            self.tell(thread, step.outcome);
        }
        self.stands_at(thread).filter(|&(op, at)| op == attempt.op && at == attempt.at)?;
        Some(self.trace(thread, before))
    }

    /// Lets the exchange succeed that a thread stands at: where the thread comes to, and what there is then.
    fn succeed(&mut self, thread: ThreadId, before: &Before) -> (u64, Option<(Op, At)>, Trace) {
        let Some((Op::Access(Access { kind: AccessKind::Cas { expected, .. }, size, .. }), _)) = self.stands_at(thread)
        else {
            unreachable!("an attempt ends with an exchange")
        };
        let came = self.tell(thread, truncate(expected, size));
        (came, self.stands_at(thread), self.trace(thread, before))
    }

    /// Lets attempts fail, so many, before the one that was made.
    fn try_out<'a>(&mut self, attempt: &'a Attempt, past: &Past, fails: usize, choices: &mut Choices) -> Tried<'a> {
        let thread = attempt.thread;
        let mut stored: FxHashMap<Addr, u64> = FxHashMap::default();
        let (mut failed, mut came) = (0, 0);
        for _ in 0..LONGEST {
            let Some((op, at)) = self.stands_at(thread) else {
                // It has ended, without an exchange; or it has gone wrong.
                return if came == ENDED { Tried::Succeeds } else { Tried::Unknown };
            };
            let Op::Access(access) = op else { return Tried::Succeeds };
            let outcome = match access.kind {
                AccessKind::Cas { expected, .. } if at == attempt.at && access.confirms => {
                    let expected = truncate(expected, access.size);
                    failed += 1;
                    let goes_on = attempt.exchange.then == Then::GoesOn;
                    let found = match goes_on && failed == fails {
                        true => Some(attempt.steps[0].outcome).filter(|&found| found != expected),
                        false => choices.choose(&self.values(past, access.addr, Some(expected))),
                    };
                    let Some(found) = found else { return Tried::Succeeds };
                    if goes_on {
                        opens(attempt, found);
                    }
                    found
                }
                AccessKind::Load => {
                    if !self.may_look(attempt, &access, at) {
                        return Tried::Unknown;
                    }
                    let own = stored.get(&access.addr).copied();
                    let value = own.or_else(|| choices.choose(&self.values(past, access.addr, None)));
                    let Some(value) = value else { return Tried::Unknown };
                    if failed > 0 {
                        loads_elsewhere(attempt, &op, value);
                    }
                    value
                }
                AccessKind::Store { value } if self.leaves_no_trace(thread, &op) => {
                    stored.insert(access.addr, truncate(value, access.size));
                    0
                }
                // It comes to something else, as an attempt that is explored does.
                _ => return Tried::Succeeds,
            };
            came = self.tell(thread, outcome);
            if failed == fails {
                if !stored.keys().all(|&addr| attempt.overwrites(addr)) {
                    return Tried::Unknown;
                }
                let first = usize::from(attempt.exchange.then == Then::GoesOn);
                return Tried::Fails(&attempt.steps[first..]);
            }
        }
        Tried::Unknown
    }

    /// Whether an attempt may load this on its way: the load that it begins with, its own objects, or what nobody frees.
    fn may_look(&self, attempt: &Attempt, access: &Access, at: At) -> bool {
        let own = runtime::shared(|shared| shared.places.is_of(access.addr, attempt.thread));
        if own || at == attempt.exchange.load {
            return true;
        }
        runtime::shared(|shared| {
            if let Some(block) = shared.places.block_of(access.addr) {
                shared.retries.looks_into(block, attempt.at);
            }
        });
        access.order.is_atomic()
    }

    /// The values that a thread may find in a word, but one.
    fn values(&self, past: &Past, addr: Addr, except: Option<u64>) -> Vec<u64> {
        let known = past.written.get(&addr).cloned().unwrap_or_else(|| self.first(addr));
        let mut values: Vec<u64> = known.iter().map(|&(value, _)| value).collect();
        values.retain(|&value| Some(value) != except);
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Runs everything again but an attempt; what memory then looks like.
    fn run_again_to(&mut self, attempt: &Attempt) -> Option<Before> {
        let others = |(n, step): &(usize, &Step)| step.thread != attempt.thread || *n < attempt.start;
        let steps: Vec<Step> =
            self.steps[..self.made].iter().enumerate().filter(others).map(|(_, step)| *step).collect();
        let made = std::mem::replace(&mut self.made, steps.len());
        let kept = std::mem::replace(&mut self.steps, steps);
        let again = self.run_again();
        self.steps = kept;
        self.made = made;
        again.ok()?;
        self.stands_at(attempt.thread).filter(|(op, _)| *op == attempt.steps[0].op)?;
        let blocks = runtime::shared(|shared| shared.blocks.contents());
        Some(Before { blocks, stacks: self.other_stacks(attempt.thread) })
    }

    /// The stacks of all threads but one.
    fn other_stacks(&self, thread: ThreadId) -> Vec<Vec<u64>> {
        let others = self.slots.iter().enumerate().filter(|(n, _)| *n != thread.index());
        others.map(|(_, slot)| slot.as_ref().map_or_else(Vec::new, |slot| slot.strand.at_rest().to_vec())).collect()
    }

    /// What a thread that is tried out stands at.
    fn stands_at(&self, thread: ThreadId) -> Option<(Op, At)> {
        let slot = self.slots.get(thread.index())?.as_ref()?;
        slot.strand.pending().map(|&Pending { op, at }| (op, at))
    }

    /// Tells a thread that is tried out the outcome of the operation that it stands at. A number for what it comes to.
    fn tell(&mut self, thread: ThreadId, outcome: Outcome) -> u64 {
        let Some(slot) = &mut self.slots[thread.index()] else { return 0 };
        runtime::repeats(false);
        let mut came = self.pool.resume(&mut slot.strand, outcome);
        for _ in 0..LONGEST {
            let Came::To(Yielded::Yields { .. }) = came else { break };
            came = self.pool.resume(&mut slot.strand, 0);
        }
        let what = match &came {
            Came::Op => 1,
            Came::To(_) => 2,
            Came::End => ENDED,
            Came::Panic(panic) => {
                let mut hasher = FxHasher::default();
                panic.0.hash(&mut hasher);
                hasher.finish()
            }
        };
        runtime::take_panic();
        runtime::take_aside();
        runtime::take_updating();
        runtime::shared(|shared| shared.met.clear());
        what
    }

    /// What a thread that is tried out has left since memory looked like that.
    fn trace(&mut self, thread: ThreadId, before: &Before) -> Trace {
        let engine = self.pool.engine(runtime::shared(|shared| shared.top));
        let mut hasher = FxHasher::default();
        let strand = self.slots[thread.index()].as_ref().map(|slot| &slot.strand);
        let strand = strand.filter(|strand| strand.pending().is_some());
        let image = strand.map_or_else(Vec::new, |strand| strand.image(strand.low(), &engine));
        runtime::shared(|shared| image.iter().for_each(|&word| hasher.write_u64(shared.known_as(word))));
        let others = self.other_stacks(thread);
        runtime::shared(|shared| {
            for (n, (now, before)) in others.iter().zip(&before.stacks).enumerate() {
                for (m, (&now, &before)) in now.iter().zip(before).enumerate() {
                    if now != before {
                        (n, m, shared.known_as(now)).hash(&mut hasher);
                    }
                }
            }
            Trace { stack: hasher.finish(), memory: shared.changes(&before.blocks) }
        })
    }

    /// Whether a load with which an attempt may begin does so with a value: the thread then comes to something that is on
    /// the way to the exchange.
    pub(super) fn begins_attempt(&mut self, thread: ThreadId, value: u64) -> Option<bool> {
        let load = self.states[thread.index()].at?;
        if !runtime::shared(|shared| shared.retries.is_load(load)) {
            return None;
        }
        let key = (self.past(), thread, value);
        if let Some(&known) = self.tries.speculates.get(&key) {
            return Some(known);
        }
        let next = self.next_place_if(thread, value);
        let begins = next.is_some_and(|next| runtime::shared(|shared| shared.retries.is_on_way(load, next)));
        if self.tries.speculates.len() == TRIED {
            self.tries.speculates.clear();
        }
        self.tries.speculates.insert(key, begins);
        Some(begins)
    }

    /// Where a thread would perform its next operation if it were told an outcome.
    fn next_place_if(&mut self, thread: ThreadId, outcome: Outcome) -> Option<At> {
        self.mark();
        let goes_on = self.resume(thread, outcome).is_ok() && self.status(thread) == Status::Ready;
        let next = self.state(thread).at.filter(|_| goes_on);
        self.undo();
        next
    }
}

/// What a thread is about to be told begins an attempt that its exchange confirms.
fn opens(attempt: &Attempt, value: u64) {
    let Op::Access(access) = attempt.op else { return };
    runtime::shared(|shared| {
        shared.per_thread(attempt.thread).open = shared.retries.goes_on_with(&access, attempt.at, value);
    });
}

/// If a thread that is tried out stands at the load of its attempt, but elsewhere, it begins one.
fn loads_elsewhere(attempt: &Attempt, op: &Op, value: u64) -> bool {
    let Op::Access(load) = attempt.steps[0].op else { return false };
    let begins = attempt.exchange.then == Then::LoadsElsewhere && is_same_load(op, &load);
    if begins {
        opens(attempt, value);
    }
    begins
}

impl Past {
    /// A number for all that attempts which could have failed depend on.
    fn key(&self, attempt: &Attempt) -> u64 {
        let mut hasher = FxHasher::default();
        attempt.at.hash(&mut hasher);
        hasher.write_usize(attempt.thread.index());
        hasher.write_u64(self.told);
        let ops = attempt.steps.iter().map(|step| (step.op, Some(step.outcome))).chain([(attempt.op, None)]);
        for (op, outcome) in ops {
            let Op::Access(access) = op else { continue };
            (access.addr, outcome).hash(&mut hasher);
            self.written.get(&access.addr).hash(&mut hasher);
        }
        hasher.finish()
    }
}

/// Which of several values were chosen, in the order in which that was asked.
#[derive(Default)]
struct Choices {
    taken: Vec<(usize, usize)>,
    next: usize,
}

impl Choices {
    /// One of some values; none if there is none.
    fn choose(&mut self, values: &[u64]) -> Option<u64> {
        if self.next == self.taken.len() {
            self.taken.push((0, values.len()));
        }
        let (taken, _) = self.taken[self.next];
        self.next += 1;
        values.get(taken).copied()
    }

    /// Goes on to the next choice; whether there is one.
    fn advance(&mut self) -> bool {
        self.taken.truncate(self.next);
        while let Some((taken, count)) = self.taken.last_mut() {
            *taken += 1;
            if *taken < *count {
                return true;
            }
            self.taken.pop();
        }
        false
    }
}

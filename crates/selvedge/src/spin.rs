//! Loops that wait for others.
//!
//! A loop such as `while !flag.load(Acquire) { hint::spin_loop() }` has no end as long as nobody sets the flag, so there
//! would be an execution for every number of iterations. `hint::spin_loop` and `thread::yield_now` tell where iterations
//! end. If a thread comes to such a point in the same state as once before, and has written nothing since, then it has
//! made a *pure cycle*, and it is blocked there: it does not go on in this execution.
//!
//! Nothing is lost. Let G be an execution in which a thread makes a pure cycle I and goes on, and let G - I be G without
//! the events of I. In G - I the thread is in the same state where I began as in G where I ended, so it goes on in the
//! same way, provided that its later reads may read what they read in G. They may: the events of I are reads, fences, and
//! read-modify-writes that leave the value that they find. To take away reads and fences takes away edges only, of program
//! order and of happens-before, and axioms that forbid cycles still hold. Whoever reads from such a read-modify-write
//! reads from what it has read instead: the same value, its neighbour in coherence order, and the head of a release sequence
//! that both are part of. So G - I is an execution of the program too. It is shorter, and it has the failures of G: the same
//! values are asserted, the same threads are stuck, and two accesses that race in G do so with fewer edges of
//! happens-before. What I itself races with is found before the thread is blocked. By induction on their number,
//! executions without pure cycles suffice. That others write what the thread has waited for, and that it reads that in the
//! cycle, is an execution in which the cycle is none; it is explored, since reads of blocked threads are revisited like
//! others.
//!
//! A cycle may have choices in it: an exchange that fails for no reason, or `nondet`. They concern nobody else, and the
//! argument holds. (G - I has fewer failures for no reason than G, so it is within the bound on their number.)
//!
//! A cycle may also take locks and give them back, as in `while !*ready.lock().unwrap() { thread::yield_now() }`. For each
//! such lock let u be what its taking L reads from and U its giving back; nobody else writes between them, or (if readers
//! share the lock) only readers who enter and leave. Whoever takes the lock after U, in G - I takes it after u: what he waits
//! for holds there, since the lock is as free as it was, and that the count of readers is less by one in between tells
//! nobody anything. He acquires from u directly, from which he acquired through L and U before, so no edge of happens-before
//! is new. What the lock protects is the same, since I has not changed memory. But whoever *tries* to take the lock may find
//! it held by L, and that is nowhere to be found in G - I. So nothing of this holds for locks which somebody else tries to take
//! in some execution (`try_lock` and its kind); if that is seen after a cycle was taken for a pure one, the exploration starts
//! again. A cycle with such locks is made [`ROUNDS`] times, and then the thread is cut off: the verdict says that. It is a livelock
//! if nobody has had the lock since, or written to what the thread looks at, and nobody waits who has tried to take the lock.
//!
//! What the thread itself tries does no harm. If it finds the lock free, that is a taking L like any other, of what is there
//! after u; if not, it is a read. In either case it is part of I and taken away with it. And what the thread tries before or
//! after I it does not try between L and U, so it does not find the lock held by L.
//!
//! A cycle may also have exchanges in it that confirm a load (`retry.rs`, `update.rs`), and have taken place. Each stands for one
//! that was tried until it succeeded, and is one like any other: its condition says what it has found, and nothing of what comes
//! after it. So if it leaves the value that it finds, it is taken away as above. G - I is then explored whether or not it has
//! attempts that fail: to take one of those away makes an execution shorter too, so that by induction on the number of events
//! executions with neither suffice.
//!
//! A cycle may also write, and leave things as they were: a flag that is set and reset, say, which keeps others out. Others may
//! notice that, any number of times. But nothing makes the thread go round for ever unless all others stand still; and if it
//! has done the same [`ROUNDS`] times, written the same and found the same, it is cut off, and the verdict says that; unless
//! nobody else has written since what it looks at, and nobody goes on: then it is a livelock too. All this is looked for only
//! if some thread makes many iterations in one execution. Where the cycle adds to something (as references are counted), it is
//! enough that it adds the same: what it finds is up to others who count there too. If it does not take away what it has added,
//! it counts its iterations. That may be what ends it, so it is left to do so for long; then it is cut off too, and it is no
//! livelock, since nobody knows what comes of a larger number.
//!
//! Such a cycle may wait for what it has done itself: a thread that unparks itself before it parks, a future that wakes its own
//! task. If it is somebody else who does what it waits for, then it does not go round by itself, however often it has done the
//! same; it is not cut off for that. The same goes for what an exchange that confirms a load has to find.
//!
//! A cycle that begins and ends with a lock held, and gives it back in between, is no pure one, wherever in the loop it is looked
//! for: the thread would be cut off with the lock, which others could have had. It is made [`ROUNDS`] times as well.
//!
//! And a loop that never comes back to a state in which it was, since it changes memory in each iteration and does not put it
//! back, or counts on its stack, is cut off as well if it goes on for long and does nothing else (`endless.rs`).
//!
//! If all that the thread has read in the cycle is up to date when nobody can go on any more, and nobody has had its locks
//! since (`machine/handover.rs`), it spins forever: a livelock, which the engine reports. It is none if the thread has
//! chosen something in the cycle: it might choose otherwise. That a weak exchange does not fail for no reason is not chosen if it
//! fails for a reason. If the thread writes in the cycle, that is not enough: what it finds depends on what it has written itself,
//! and on who has come last. Whether it spins forever is tried out then (`machine/forever.rs`).
//!
//! What is the state of a thread? All that it keeps on its stack, including its registers, which are there while it is
//! suspended. So a loop that counts its iterations, to give up at some number, is not taken for a pure cycle; it is explored
//! to its end unless that is far away. Stacks are
//! compared byte by byte: two states may be taken for different because of what was left over somewhere, and the
//! thread then makes an iteration more.
//!
//! A thread may count on the heap, too, in what a lock of a `static` protects, or (if it is a thread of a scope) on the stack
//! of another thread. So memory that the model has allocated (`blocks.rs`), copies of what is in statics (`content.rs`) and
//! the stacks of the others are compared before and after every step that a thread makes in what could be a cycle. If steps have
//! changed something, the cycle is pure only if later ones have put that back, and nobody can have noticed (`restored.rs`).
//! What others change in the meantime does not count. What this does not see is a change of memory from outside of the
//! model: of a `static` of `std`'s types, of a thread-local variable of `std`, of what the model's closure has captured.
//! All of these are kept from one execution to the next, so a model must not depend on them anyway; if a loop does, it has
//! to be written without `spin_loop`. Nor is anything seen on the heap where `alloc::Tracking` is not installed.

use crate::endless::{Looks, Phase, Told};
use crate::restored::{Changes, TOO_MUCH, Unrestored};
use crate::runtime::At;
use crate::script::Step;
use selvedge_machine::{Access, AccessKind, Addr, Op, Outcome, Purpose, ThreadId, truncate};

/// More states are not kept.
const MOST: usize = 64;
/// Nor more operations.
const MOST_DONE: usize = 1 << 14;

/// So often a thread may come round a loop with locks that others try to take, or do the same in a loop that writes.
pub(crate) const ROUNDS: u32 = 2;

/// After so many iterations in one execution it is looked for loops that write the same again and again. It is not dear to look
/// for them in vain, but every iteration before that is an execution, or several.
const PATIENCE: u32 = 8;

/// So often a thread may add to something before it is taken not to stop at some number.
pub(crate) const LONG: u32 = 128;

/// From so many iterations in one execution on it is noted whether a thread only looks (`endless.rs`). Few loops make as many.
const SOME: u32 = 4;

/// What threads that wait were found to do in some execution. From then on, more is known of their states.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Waits {
    /// They allocate (`machine/churn.rs`).
    pub allocate: bool,
    /// They come round and round, and write.
    pub write: bool,
    /// They do so many more times, and add to something each time.
    pub add: bool,
}

impl Waits {
    /// What was found in two executions.
    pub fn and(self, other: Waits) -> Waits {
        Waits { allocate: self.allocate | other.allocate, write: self.write | other.write, add: self.add | other.add }
    }
}

/// The states in which a thread has come to the end of an iteration since it last changed something.
#[derive(Default)]
pub(crate) struct Spin {
    visits: Vec<Visit>,
    /// What it has done since the first one.
    done: Vec<Done>,
    steps: u32,
    /// Whether a weak exchange comes next that does not fail for no reason, though it might.
    is_weak: bool,
    /// How many iterations the thread has made in this execution.
    iterations: u32,
    /// How many it has made since it last did anything but look.
    looks: Looks,
    /// What it has told others.
    told: Told,
}

/// The state of a thread: its stack, and what else belongs to it.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct ThreadState {
    pub words: Vec<u64>,
    /// How many words the stack has. They come first, the one at its end last.
    pub stack: usize,
    /// Whether each of them has one before it that tells which of the thread's own blocks it points to; 0 is none
    /// (`machine/churn.rs`).
    pub named: bool,
}

impl ThreadState {
    /// A stack and nothing else.
    pub fn of_stack(words: Vec<u64>) -> ThreadState {
        ThreadState { stack: words.len(), words, named: false }
    }

    /// The word of the stack that lies so deep, unless it points to a block of the thread's own.
    fn word_at(&mut self, depth: usize) -> Option<&mut u64> {
        let n = self.stack.checked_sub(depth + 1)?;
        match self.named {
            false => self.words.get_mut(n),
            true if self.words.get(2 * n) == Some(&0) => self.words.get_mut(2 * n + 1),
            true => None,
        }
    }
}

/// A state in which a thread was.
struct Visit {
    state: ThreadState,
    /// What it had done before, and when it was there the time before.
    done: usize,
    before: usize,
    steps: u32,
    /// How often it has come back since, with locks that others try to take, or having written the same as the time before.
    rounds: u32,
    /// What it has changed in memory since it was last there.
    since: Unrestored,
}

/// What may be part of a cycle, but makes a difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Done {
    Chose,
    Took(Addr),
    GaveBack(Addr),
    /// A write, with what was found there, if it has read that, and whether it took place only since that was there. Or a
    /// notification of a condition variable.
    Wrote {
        addr: Addr,
        found: Option<Outcome>,
        new: u64,
        waited: bool,
    },
}

impl Done {
    /// What is added to something that was read.
    fn adds(&self) -> Option<(Addr, u64)> {
        match *self {
            Done::Wrote { addr, found: Some(found), new, .. } => Some((addr, new.wrapping_sub(found))),
            _ => None,
        }
    }

    /// Whether both are the same, but for what was found where something is added to it.
    fn is_like(&self, other: &Done) -> bool {
        self == other || self.adds().is_some_and(|added| Some(added) == other.adds())
    }
}

/// A pure cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Iteration {
    pub steps: u32,
    /// Whether locks are taken in it.
    pub locks: bool,
    /// Whether something is written in it, the same as in the one before: it is not pure.
    pub repeats: bool,
}

/// A cycle after which a thread does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cycle {
    /// It is pure.
    Pure(Iteration),
    /// The same, but the thread could have chosen otherwise.
    Chooses { locks: bool },
    /// Others try to take a lock that is taken in it, but it was made often enough.
    InVain(Iteration),
    /// The same: it holds a lock when it comes round, which it gives back in between, so that others may have it then.
    Holds(Iteration),
    /// The same: others might have noticed what is changed in memory and put back.
    Noticed(Iteration),
    /// The same: it has written the same again, and nothing has come of it.
    Repeats(Iteration),
    /// The same: it adds to something, and nothing has come of it.
    Adds,
    /// It is none, as the thread never comes back, but only looks (`endless.rs`).
    Endless,
}

impl Spin {
    /// The thread is at the end of an iteration; whether it has made so many that it may write the same again and again.
    pub fn comes_round(&mut self) -> bool {
        self.iterations += 1;
        self.iterations == PATIENCE
    }

    /// It is there: whether it matters how often it has come to this place since it last did anything but look. `is_endless`
    /// tells whether some loops were found to have no end.
    pub fn may_only_look(&self, is_endless: bool) -> bool {
        is_endless || self.iterations >= SOME
    }

    /// How often that was, and what it is about, now that these steps have been made.
    pub fn looks(&mut self, thread: ThreadId, at: At, steps: &[Step], is_aside: impl Fn(Addr) -> bool) -> (u32, Phase) {
        let phase = self.told.phase(thread, steps, is_aside);
        (self.looks.comes_round(at, phase), phase)
    }

    /// The thread is told whether the weak exchange that comes next fails for no reason. If it does not, and fails for a reason,
    /// there was nothing to choose: with what it finds it cannot fail for none.
    pub fn chose_weakly(&mut self, fails: bool) {
        if self.visits.is_empty() {
            return;
        }
        self.steps += 1;
        match fails {
            true => self.push(Done::Chose),
            false => self.is_weak = true,
        }
    }

    /// The thread has performed an operation. `is_tried` tells which locks somebody tries to take, and `keeps` whether writes
    /// may be part of a cycle.
    pub fn performed(&mut self, op: &Op, outcome: Outcome, is_tried: impl Fn(Addr) -> bool, keeps: bool) {
        if self.visits.is_empty() {
            return;
        }
        self.steps += 1;
        self.visits.iter_mut().for_each(|visit| visit.since.performs(op, outcome));
        if std::mem::take(&mut self.is_weak) && !is_quiet(op, outcome) {
            self.push(Done::Chose);
        }
        let done = match op {
            Op::Choose { .. } => Done::Chose,
            Op::Access(Access { purpose: Purpose::Lock, addr, .. }) => Done::Took(*addr),
            Op::Access(Access { purpose: Purpose::Unlock, addr, .. }) => Done::GaveBack(*addr),
            op if is_quiet(op, outcome) => return,
            Op::Access(access) if is_tried(access.addr) => Done::Took(access.addr),
            Op::Access(access) if keeps => match access.written(outcome) {
                Some(new) => Done::Wrote {
                    addr: access.addr,
                    found: access.reads().then_some(outcome),
                    new: truncate(new, access.size),
                    waited: access.until.is_some(),
                },
                // It has waited for what somebody else has done.
                None => return self.changed(),
            },
            // Who waits is woken, as he would be if something was stored that he waits for.
            &(Op::CondSignal { cond } | Op::CondBroadcast { cond }) if keeps => {
                let new = u64::from(matches!(op, Op::CondBroadcast { .. }));
                Done::Wrote { addr: cond, found: None, new, waited: false }
            }
            _ => return self.changed(),
        };
        self.push(done);
    }

    fn push(&mut self, done: Done) {
        match self.done.len() {
            MOST_DONE => self.changed(),
            _ => self.done.push(done),
        }
    }

    /// Others have changed a word of the thread's stack, so deep, since it was last suspended: if it had not come round since it was in
    /// some state, it would find that there as well.
    pub fn others_have_changed(&mut self, depth: usize, old: u64, new: u64) {
        for visit in &mut self.visits {
            if let Some(word) = visit.state.word_at(depth).filter(|word| **word == old) {
                *word = new;
            }
        }
    }

    /// The thread has changed something.
    pub fn changed(&mut self) {
        self.visits.clear();
        self.done.clear();
        (self.steps, self.is_weak) = (0, false);
    }

    /// The thread has changed memory, and may put it back.
    pub fn has_written(&mut self, changes: &Changes) {
        self.visits.iter_mut().for_each(|visit| visit.since.changes(changes));
        self.visits.retain(|visit| !visit.since.is_too_much());
        // Where nothing is put back, the later ones have the same to keep as those before.
        while self.visits.iter().map(|visit| visit.since.size()).sum::<usize>() > TOO_MUCH {
            self.visits.remove(0);
        }
        if self.visits.is_empty() {
            self.changed();
        }
    }

    /// The thread, which may only look, has performed an operation. `is_aside` tells which words do not matter.
    pub fn looked(&mut self, op: &Op, outcome: Outcome, is_aside: impl Fn(Addr) -> bool) {
        if self.looks.is_on() {
            self.looks.performed(op, outcome, is_aside);
        }
    }

    /// Whether the thread may be in a cycle.
    pub fn may_come_back(&self) -> bool {
        !self.visits.is_empty()
    }

    /// Whether what the thread does has to be watched: it may be in a cycle, or only look. (In the latter case it has changed
    /// something, but what it allocates until it comes round is its own.)
    #[inline]
    pub fn watches(&self) -> bool {
        !self.visits.is_empty() || self.looks.is_on()
    }

    /// The thread is at the end of an iteration: whether it has come back to a state in which it has been, and does not go
    /// on. `is_tried` tells which locks others try to take. If it adds to something each time, it goes on for long unless others
    /// were found to do so (`adds`).
    pub fn comes_back(&mut self, state: ThreadState, is_tried: impl Fn(Addr) -> bool, adds: bool) -> Option<Cycle> {
        let (done, steps) = (self.done.len(), self.steps);
        let is_back = |visit: &&mut Visit| visit.since.is_nothing() && visit.state == state;
        let Some(visit) = self.visits.iter_mut().find(is_back) else {
            if self.visits.len() == MOST {
                self.visits.remove(0);
            }
            let since = Unrestored::default();
            self.visits.push(Visit { state, done, before: done, steps, rounds: 0, since });
            return None;
        };
        let noticed = visit.since.take_noticed();
        let cycle = &self.done[visit.done..];
        if cycle.iter().any(|done| matches!(done, Done::Wrote { .. })) {
            let before = &self.done[visit.before..visit.done];
            let again = gives_back_what_it_takes(cycle) && are_alike(before, cycle) && !needs_others(before, cycle);
            let repeats = Cycle::Repeats(Iteration { steps: steps - visit.steps, locks: false, repeats: true });
            let (most, cycle) = match (before == cycle || takes_away_what_it_adds(cycle), adds) {
                (true, _) => (ROUNDS, repeats),
                (false, true) => (ROUNDS, Cycle::Adds),
                (false, false) => (LONG, Cycle::Adds),
            };
            (visit.before, visit.done, visit.steps) = (visit.done, done, steps);
            visit.rounds = if again { visit.rounds + 1 } else { 1 };
            return (visit.rounds >= most).then_some(cycle);
        }
        let tried = cycle.iter().any(|done| matches!(done, Done::Took(lock) if is_tried(*lock)));
        if !gives_back_what_it_takes(cycle) || tried || noticed {
            let (gives_back, holds) = (gives_back_what_it_takes(cycle), holds_what_it_held(cycle));
            let iteration = Iteration { steps: steps - visit.steps, locks: false, repeats: true };
            visit.rounds += u32::from(gives_back || holds);
            (visit.before, visit.done, visit.steps) = (visit.done, done, steps);
            let cycle = match (gives_back, noticed) {
                (false, _) => Cycle::Holds(iteration),
                (true, true) => Cycle::Noticed(iteration),
                (true, false) => Cycle::InVain(iteration),
            };
            return (visit.rounds > ROUNDS).then_some(cycle);
        }
        let locks = cycle.iter().any(|done| *done != Done::Chose);
        Some(match cycle.contains(&Done::Chose) {
            true => Cycle::Chooses { locks },
            false => Cycle::Pure(Iteration { steps: steps - visit.steps, locks, repeats: false }),
        })
    }
}

/// Whether the same was done, but for what was found where something is added to it.
fn are_alike(one: &[Done], other: &[Done]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_like(other))
}

/// Whether what is added is taken away again, as in the counts of references.
fn takes_away_what_it_adds(cycle: &[Done]) -> bool {
    cycle.iter().filter_map(Done::adds).all(|(addr, _)| added(cycle, addr) == 0)
}

/// What is added to a word, in all.
fn added(cycle: &[Done], addr: Addr) -> u64 {
    let added = cycle.iter().filter_map(Done::adds).filter(|(other, _)| *other == addr);
    added.fold(0u64, |sum, (_, added)| sum.wrapping_add(added))
}

/// Whether the thread has waited for something that it neither puts there itself nor leaves there: it does not come round
/// again unless others do something each time.
fn needs_others(before: &[Done], cycle: &[Done]) -> bool {
    cycle.iter().any(|done| match *done {
        Done::Wrote { addr, found: Some(found), waited: true, .. } => {
            let puts = |done: &Done| matches!(*done, Done::Wrote { addr: to, new, .. } if (to, new) == (addr, found));
            !before.iter().chain(cycle).any(puts) && added(cycle, addr) != 0
        }
        _ => false,
    })
}

/// Whether every lock is taken before it is given back, and is given back.
fn gives_back_what_it_takes(cycle: &[Done]) -> bool {
    let mut held = Vec::new();
    for done in cycle {
        match done {
            Done::Chose | Done::Wrote { .. } => {}
            Done::Took(lock) => held.push(*lock),
            Done::GaveBack(lock) => match held.iter().position(|other| other == lock) {
                Some(at) => drop(held.swap_remove(at)),
                None => return false,
            },
        }
    }
    held.is_empty()
}

/// Whether every lock is taken as often as it is given back: those that were held are held again.
fn holds_what_it_held(cycle: &[Done]) -> bool {
    let times = |wanted: Done| cycle.iter().filter(|done| **done == wanted).count();
    cycle.iter().all(|done| match *done {
        Done::Took(lock) | Done::GaveBack(lock) => times(Done::Took(lock)) == times(Done::GaveBack(lock)),
        Done::Chose | Done::Wrote { .. } => true,
    })
}

/// Whether an operation leaves everything as it was.
pub(crate) fn is_quiet(op: &Op, outcome: Outcome) -> bool {
    match op {
        // An exchange that confirms a load (`retry.rs`, `update.rs`) is one like any other if it takes place.
        Op::Access(access) if access.until.is_none() || access.confirms => {
            access.written(outcome).is_none_or(|new| access.reads() && truncate(new, access.size) == outcome)
        }
        // Who comes late to what happens once (`once.rs`) only reads that it was done.
        Op::Access(access @ Access { kind: AccessKind::Cas { .. }, purpose: Purpose::Sync, .. }) => {
            access.written(outcome).is_none()
        }
        Op::Fence { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_ir::{Order, RmwOp};

    fn access(kind: AccessKind) -> Op {
        Op::Access(Access::new(Addr(64), 1, Order::Relaxed, kind))
    }

    fn lock(purpose: Purpose) -> Op {
        Op::Access(Access { purpose, ..Access::new(Addr(64), 8, Order::Acquire, AccessKind::Store { value: 0 }) })
    }

    #[test]
    fn what_others_have_changed_makes_no_difference() {
        let come = |spin: &mut Spin, words: &[u64], stack, named| {
            spin.comes_back(ThreadState { words: words.to_vec(), stack, named }, |_| false, false)
        };
        let mut spin = Spin::default();
        assert_eq!(come(&mut spin, &[5, 6, 7], 3, false), None);
        spin.others_have_changed(1, 6, 8);
        spin.others_have_changed(0, 6, 8);
        assert!(come(&mut spin, &[5, 8, 7], 3, false).is_some());
        let mut spin = Spin::default();
        assert_eq!(come(&mut spin, &[0, 5, 2, 6, 9], 2, true), None);
        spin.others_have_changed(1, 5, 8);
        assert!(come(&mut spin, &[0, 8, 2, 6, 9], 2, true).is_some());
        spin.others_have_changed(0, 6, 8);
        assert_eq!(come(&mut spin, &[0, 8, 2, 8, 9], 2, true), None, "it points to a block of the thread's own");
    }

    #[test]
    fn what_writes_nothing_new_is_quiet() {
        let swap = access(AccessKind::Rmw { op: RmwOp::Xchg, operand: 1, used: true });
        let exchange = access(AccessKind::Cas { expected: 0, new: 1, failure: Order::Relaxed });
        assert!(is_quiet(&access(AccessKind::Load), 5));
        assert!(is_quiet(&swap, 1) && !is_quiet(&swap, 0));
        assert!(is_quiet(&exchange, 1) && !is_quiet(&exchange, 0));
        // A store is seen by others even if the value was there before: it may order what comes before it.
        assert!(!is_quiet(&access(AccessKind::Store { value: 0 }), 0));
    }

    /// Comes to a state, performs operations, and comes to it again.
    fn cycle(spin: &mut Spin, ops: &[Op], tried: bool) -> Option<Cycle> {
        if !spin.watches() {
            assert_eq!(spin.comes_back(ThreadState::of_stack(vec![1]), |_| tried, false), None);
        }
        ops.iter().for_each(|op| spin.performed(op, 0, |_| tried, false));
        spin.comes_back(ThreadState::of_stack(vec![1]), |_| tried, false)
    }

    #[test]
    fn a_write_ends_what_could_be_a_cycle() {
        let (load, store) = (access(AccessKind::Load), access(AccessKind::Store { value: 1 }));
        let mut spin = Spin::default();
        assert_eq!(
            cycle(&mut spin, &[load, load], false),
            Some(Cycle::Pure(Iteration { steps: 2, locks: false, repeats: false }))
        );
        assert_eq!(cycle(&mut spin, &[load, store], false), None);
        assert_eq!(
            cycle(&mut spin, &[load], false),
            Some(Cycle::Pure(Iteration { steps: 1, locks: false, repeats: false }))
        );
    }

    #[test]
    fn a_thread_that_has_chosen_might_choose_otherwise() {
        let ops = [Op::Choose { alternatives: 2 }, access(AccessKind::Load)];
        assert_eq!(cycle(&mut Spin::default(), &ops, false), Some(Cycle::Chooses { locks: false }));
    }

    #[test]
    fn locks_that_are_given_back_are_part_of_a_cycle() {
        let (take, give) = (lock(Purpose::Lock), lock(Purpose::Unlock));
        let pure = Some(Cycle::Pure(Iteration { steps: 2, locks: true, repeats: false }));
        assert_eq!(cycle(&mut Spin::default(), &[take, give], false), pure);
        // Somebody else may have had it in between.
        assert_eq!(cycle(&mut Spin::default(), &[give, take], false), None);
        assert_eq!(cycle(&mut Spin::default(), &[take], false), None);
    }

    #[test]
    fn a_cycle_that_writes_the_same_again_is_made_some_times() {
        let exchange = |found| (access(AccessKind::Cas { expected: found, new: 1, failure: Order::Relaxed }), found);
        let store = (access(AccessKind::Store { value: 0 }), 0);
        let rounds = |keeps: bool, first: [Outcome; 3]| {
            let mut spin = Spin::default();
            assert_eq!(spin.comes_back(ThreadState::of_stack(vec![1]), |_| false, false), None);
            first.map(|found| {
                [exchange(found), store]
                    .iter()
                    .for_each(|(op, outcome)| spin.performed(op, *outcome, |_| false, keeps));
                spin.comes_back(ThreadState::of_stack(vec![1]), |_| false, false)
            })
        };
        let repeats = Some(Cycle::Repeats(Iteration { steps: 2, locks: false, repeats: true }));
        assert_eq!(rounds(true, [0, 0, 0]), [None, repeats, repeats]);
        assert_eq!(rounds(true, [0, 2, 0]), [None, None, None], "it finds something else in between");
        assert_eq!(rounds(false, [0, 0, 0]), [None, None, None], "not yet");
    }

    #[test]
    fn a_cycle_that_others_may_notice_is_made_some_times() {
        let ops = [lock(Purpose::Lock), lock(Purpose::Unlock)];
        let mut spin = Spin::default();
        let rounds = [0; 3].map(|_| cycle(&mut spin, &ops, true));
        let iteration = Iteration { steps: 2, locks: false, repeats: true };
        assert_eq!(rounds, [None, None, Some(Cycle::InVain(iteration))]);
    }
}

//! Loops that wait for others and do not say so.
//!
//! In `while !flag.load(Acquire) {}` no `hint::spin_loop` tells where an iteration ends, so there would be an execution for
//! every number of iterations. But a thread that performs the same operation at the same place many times and changes
//! nothing in between is likely to be in such a loop. The place is then *marked*, and the exploration starts again: from now
//! on, a thread yields before it performs an operation there, as if `spin_loop` stood before it.
//!
//! To yield means nothing to the model. That a thread comes back to where it yields in the state in which it was there
//! before, having changed nothing, is a pure cycle wherever it yields (`spin.rs`), and what is a pure cycle is found out by
//! looking at its whole state. So it does no harm to mark a place in vain; it takes time only.
//!
//! But it takes much: from there on all memory around the thread is looked at whenever it has made a step. And who takes the same
//! lock many times is not always in a loop that waits. So if a thread comes as often to a place that is marked, and nobody has
//! made a cycle there so far, the mark is taken away, and all starts again; until somebody comes there eight times as often.
//!
//! A thread may also write in each iteration, and leave things as they are: it stores the same, sets a flag and resets it, unparks
//! itself and parks, or wakes its own task. If it has done exactly the same many times, and found the same, it is likely to go on
//! like that, and the place where it looks is marked as well.
//!
//! If the thread counts its iterations, its states differ, and the loop may still never end. It is then cut off as others that
//! never come back (`endless.rs`). If no execution comes to its end, or the bound on the length of an execution is met, the
//! operation that was performed most often is what is reported.

use crate::machine::awaits::is_look;
use crate::runtime::{self, At};
use crate::script::Step;
use crate::spin::{Waits, is_quiet};
use rustc_hash::FxHashMap;
use selvedge_ir::RmwOp;
use selvedge_machine::{Access, AccessKind, Addr, Op, Outcome, Purpose, ThreadId};
use std::panic::Location;

/// A place is marked when a thread has come there so often and has changed nothing.
const OFTEN: u32 = 16;
/// The same of one that does the same again and again and writes, if a round has no more steps than this.
const LONGEST: usize = 32;
/// That is looked at whenever a run has come to a multiple of so many steps.
const EVERY: usize = 32;

/// The places at which threads have come to the same operation again and again.
#[derive(Default)]
pub(crate) struct Unmarked {
    places: FxHashMap<Location<'static>, Mark>,
    /// The same by address: a place may have several, and to compare names of files takes time.
    known: FxHashMap<usize, bool>,
    longest: Option<Longest>,
}

/// What is known of a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mark {
    /// Nobody has made a cycle there, though it is marked.
    New,
    /// Somebody has, or it is not asked.
    Kept,
    /// Nobody has, and it is marked no longer.
    InVain,
}

/// The operation that a thread has performed most often without a change.
#[derive(Clone, Copy)]
pub(crate) struct Longest {
    pub rounds: u32,
    pub thread: ThreadId,
    pub op: Op,
    pub at: At,
}

impl Unmarked {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.values().all(|mark| *mark == Mark::InVain)
    }

    /// Whether threads yield before an operation.
    pub fn marks(&mut self, op: &Op, at: At) -> bool {
        let Unmarked { places, known, .. } = self;
        !places.is_empty()
            && waits(op).is_some()
            && *known
                .entry(std::ptr::from_ref(at).addr())
                .or_insert_with(|| places.get(at).is_some_and(|mark| *mark != Mark::InVain))
    }

    /// A thread has come to an operation so many times, and has changed nothing, or done the same. Whether everything starts
    /// again, since its place is marked now, or not any longer.
    fn came(&mut self, now: Longest, changes: bool) -> bool {
        if self.longest.is_none_or(|longest| longest.rounds < now.rounds) {
            self.longest = Some(now);
        }
        let before = self.places.get(now.at).copied();
        let mark = match before {
            None if changes => Mark::Kept,
            None => Mark::New,
            Some(Mark::New) if !changes => Mark::InVain,
            Some(Mark::InVain) if changes || now.rounds >= 8 * OFTEN => Mark::Kept,
            Some(mark) => mark,
        };
        if before == Some(mark) {
            return false;
        }
        self.places.insert(*now.at, mark);
        self.known.clear();
        true
    }

    /// A thread has made a cycle at a place.
    pub fn found_cycle(&mut self, at: At) {
        if let Some(mark @ Mark::New) = self.places.get_mut(at) {
            *mark = Mark::Kept;
        }
    }

    /// What was performed most often, if that was often.
    pub fn longest(&self) -> Option<Longest> {
        self.longest
    }

    /// The exploration starts.
    pub fn forget_longest(&mut self) {
        self.longest = None;
    }
}

/// Looks whether a thread comes to the same place again and again, now that these steps have been made. Whether the
/// exploration has to start again, since a place is marked now.
///
/// That is looked at now and then only. A thread that goes round once more in every execution has made most of its steps
/// in runs that were repeated, so they are counted when they are many, not when they are made.
#[inline]
pub(crate) fn looks_for_loops(steps: &[Step], thread: ThreadId) -> bool {
    steps.len().is_multiple_of(EVERY) && finds_loop(steps, thread)
}

fn finds_loop(steps: &[Step], thread: ThreadId) -> bool {
    // Who has made few steps has done nothing often. Most have.
    if steps.iter().filter(|step| step.thread == thread).count() < OFTEN as usize {
        return false;
    }
    let quiet = most_often(steps, thread).filter(|now| now.rounds >= OFTEN);
    let changes = quiet.is_none();
    let Some(now) = quiet.or_else(|| repeats(steps, thread)) else { return false };
    runtime::shared(|shared| {
        let is_new = shared.unmarked.came(now, changes);
        if is_new && shared.unmarked.is_empty() {
            // What was found about threads that wait was found in vain as well.
            shared.waits = Waits::default();
        }
        shared.restart |= is_new;
        is_new
    })
}

/// What a thread has done most often since it last changed something. What it adds to something and takes away again, as
/// references are counted, is no change.
fn most_often(steps: &[Step], thread: ThreadId) -> Option<Longest> {
    // By places: how often the thread has come there, and how often of that it had taken away all that it has added.
    let mut places: Vec<(Longest, Addr, u32)> = Vec::new();
    let mut added: Vec<(Addr, u64)> = Vec::new();
    for Step { op, outcome, at, .. } in steps.iter().rev().filter(|step| step.thread == thread) {
        let is_lock = matches!(op, Op::Access(access) if matches!(access.purpose, Purpose::Lock | Purpose::Unlock));
        if !is_lock && !is_quiet(op, *outcome) && !matches!(op, Op::Choose { .. }) {
            let Some((addr, new)) = adds(op, *outcome) else { break };
            match added.iter_mut().find(|(of, _)| *of == addr) {
                Some((_, sum)) => *sum = sum.wrapping_add(new),
                None => added.push((addr, new)),
            }
            added.retain(|(_, sum)| *sum != 0);
        } else if let (Some(addr), Some(at)) = (waits(op), *at) {
            match places.iter_mut().find(|(known, of, _)| std::ptr::eq(known.at, at) && *of == addr) {
                Some((known, ..)) => known.rounds += 1,
                None => places.push((Longest { rounds: 1, thread, op: *op, at }, addr, 0)),
            }
        }
        if added.is_empty() {
            places.iter_mut().for_each(|(known, _, rounds)| *rounds = known.rounds);
        }
    }
    let rounds = places.into_iter().map(|(known, _, rounds)| Longest { rounds, ..known });
    rounds.filter(|known| known.rounds > 0).max_by_key(|known| known.rounds)
}

/// What a thread looks at in each round, if it has done the same [`OFTEN`] times: the same operations at the same places, which have
/// found the same. If what it finds differs from round to round (it counts something, say), that may be what ends it.
///
/// If it takes locks, it is looked at what it does while it holds as few of them as possible: who is cut off keeps them.
fn repeats(steps: &[Step], thread: ThreadId) -> Option<Longest> {
    let most = LONGEST * OFTEN as usize;
    // It does not grow: that takes longer than all else here.
    let mut own: Vec<&Step> = Vec::with_capacity(steps.len().min(most));
    own.extend(steps.iter().rev().filter(|step| step.thread == thread).take(most));
    let is_same = |one: &Step, other: &Step| {
        let is_there = match (one.at, other.at) {
            (Some(one), Some(other)) => std::ptr::eq(one, other),
            _ => false,
        };
        is_there && one.op == other.op && one.outcome == other.outcome
    };
    let is_round = |&length: &usize| {
        let again = own[length..length * OFTEN as usize].iter();
        own.iter().zip(again).all(|(one, other)| is_same(one, other))
    };
    let length = (1..=own.len() / OFTEN as usize).find(is_round)?;
    let mut held = 0;
    let mut found: Option<(i32, Longest)> = None;
    for step in own[..length].iter().rev() {
        if let (Some(_), Some(at)) = (waits(&step.op), step.at)
            && found.is_none_or(|(fewest, _)| held < fewest)
        {
            found = Some((held, Longest { rounds: OFTEN, thread, op: step.op, at }));
        }
        held += match step.op {
            Op::Access(Access { purpose: Purpose::Lock, .. }) => 1,
            Op::Access(Access { purpose: Purpose::Unlock, .. }) => -1,
            _ => 0,
        };
    }
    found.map(|(_, found)| found)
}

/// What an operation adds to something.
fn adds(op: &Op, outcome: Outcome) -> Option<(Addr, u64)> {
    match op {
        Op::Access(access) if access.confirms || is_addition(access) => {
            Some((access.addr, access.written(outcome)?.wrapping_sub(outcome)))
        }
        _ => None,
    }
}

fn is_addition(access: &Access) -> bool {
    access.until.is_none() && matches!(access.kind, AccessKind::Rmw { op: RmwOp::Add | RmwOp::Sub, .. })
}

/// The object of an operation that a loop could wait with.
fn waits(op: &Op) -> Option<Addr> {
    match op {
        Op::Access(access) if access.purpose == Purpose::Lock => Some(access.addr),
        // With some values a load may begin attempts, and with others the loop may wait.
        Op::Access(access) if is_look(&Access { speculative: None, ..*access }) => Some(access.addr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_ir::Order;

    #[test]
    fn only_what_a_loop_could_wait_with_is_marked() {
        let at = Location::caller();
        let access = |order, kind| Op::Access(Access::new(Addr(64), 1, order, kind));
        let load = access(Order::Acquire, AccessKind::Load);
        let mut unmarked = Unmarked::default();
        assert!(!unmarked.marks(&load, at));
        let now = Longest { rounds: OFTEN, thread: selvedge_machine::main_thread(), op: load, at };
        assert!(unmarked.came(now, false));
        assert!(unmarked.marks(&load, at) && !unmarked.marks(&load, Location::caller()));
        assert!(!unmarked.marks(&access(Order::Release, AccessKind::Store { value: 1 }), at));
        assert!(!unmarked.marks(&access(Order::Plain, AccessKind::Load), at));
    }

    #[test]
    fn a_mark_is_taken_away_if_nobody_makes_a_cycle_there() {
        let at = Location::caller();
        let op = Op::Access(Access::new(Addr(64), 1, Order::Acquire, AccessKind::Load));
        let now = |rounds| Longest { rounds, thread: selvedge_machine::main_thread(), op, at };
        let mut unmarked = Unmarked::default();
        assert!(unmarked.came(now(OFTEN), false) && unmarked.marks(&op, at));
        assert!(unmarked.came(now(OFTEN), false) && !unmarked.marks(&op, at) && unmarked.is_empty());
        assert!(!unmarked.came(now(8 * OFTEN - 1), false), "nobody has come there more often");
        assert!(unmarked.came(now(8 * OFTEN), false) && unmarked.marks(&op, at));
        assert!(!unmarked.came(now(9 * OFTEN), false) && unmarked.marks(&op, at), "once is enough");
        let mut unmarked = Unmarked::default();
        assert!(unmarked.came(now(OFTEN), false));
        unmarked.found_cycle(at);
        assert!(!unmarked.came(now(OFTEN), false) && unmarked.marks(&op, at), "somebody does");
        let mut unmarked = Unmarked::default();
        assert!(unmarked.came(now(OFTEN), true) && !unmarked.came(now(OFTEN), true) && unmarked.marks(&op, at));
    }

    #[test]
    fn what_was_done_before_a_change_does_not_count() {
        let (at, main) = (Location::caller(), selvedge_machine::main_thread());
        let step = |kind| {
            let op = Op::Access(Access::new(Addr(64), 1, Order::Relaxed, kind));
            Step::new(main, op, 0, 0, Some(at))
        };
        let mut steps = vec![step(AccessKind::Load); 5];
        steps.push(step(AccessKind::Store { value: 1 }));
        assert!(most_often(&steps, main).is_none());
        steps.extend([step(AccessKind::Load); 3]);
        assert_eq!(most_often(&steps, main).map(|most| most.rounds), Some(3));
    }

    #[test]
    fn what_writes_the_same_many_times_is_found_where_it_looks() {
        let (at, other, main) = (Location::caller(), here(), selvedge_machine::main_thread());
        let step = |at, kind, outcome| {
            let op = Op::Access(Access::new(Addr(64), 1, Order::AcqRel, kind));
            Step::new(main, op, outcome, 0, Some(at))
        };
        let round = [step(at, AccessKind::Load, 0), step(other, AccessKind::Store { value: 1 }, 0)];
        let many = round.repeat(OFTEN as usize);
        assert!(repeats(&many, main).is_some_and(|found| std::ptr::eq(found.at, at)));
        assert!(repeats(&many[1..], main).is_none(), "not often enough");
        let mut counts = many.clone();
        counts[6].outcome = 1;
        assert!(repeats(&counts, main).is_none(), "it has found something else in between");
    }

    #[track_caller]
    fn caller() -> At {
        Location::caller()
    }

    fn here() -> At {
        caller()
    }

    #[test]
    fn what_is_added_and_taken_away_is_no_change() {
        let (at, main) = (Location::caller(), selvedge_machine::main_thread());
        let step = |addr, kind, outcome| {
            let op = Op::Access(Access::new(Addr(addr), 8, Order::AcqRel, kind));
            Step::new(main, op, outcome, 0, Some(at))
        };
        let load = step(64, AccessKind::Load, 0);
        let add = |operand, outcome| step(72, AccessKind::Rmw { op: RmwOp::Add, operand, used: true }, outcome);
        let round = [add(1, 1), load, add(u64::MAX, 2)];
        assert_eq!(most_often(&round.repeat(4), main).map(|most| most.rounds), Some(4));
        // What is not taken away again is a change: looks before it do not count.
        assert_eq!(most_often(&[add(1, 1), load, load].repeat(4), main).map(|most| most.rounds), Some(2));
    }
}

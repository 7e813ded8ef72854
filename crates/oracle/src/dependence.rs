//! Which steps depend on each other, and which executions are therefore equivalent.
//!
//! Two steps of different threads are *dependent* iff
//!
//! - both access memory, the bytes overlap, and at least one of them writes. A load and a failed compare-and-exchange
//!   read; a store, a read-modify-write and a successful compare-and-exchange write, even if the value stays the same.
//!   An access that cannot be performed (its object is dead) only reads. A `Free` writes its whole object. An atomic section does all that the accesses in it do;
//! - both concern the same condition variable and are a wait and a signal, two signals of which at least one woke
//!   somebody, or a signal and a wake-up that may come early (signal: `CondSignal` or `CondBroadcast`).
//!
//! Besides, some steps are *ordered*, in that the other order cannot happen at all: the creation of a thread comes before
//! its steps, and all of these before a join of it; a signal before the wake-up of the thread that it woke.
//!
//! *Happens-before* is the transitive closure of program order and of these two in the order of the execution. Two
//! executions are equivalent (Mazurkiewicz, "Trace theory", 1986) iff they consist of the same steps with the same
//! happens-before. Threads are deterministic, so a step is known by its thread, its place in the thread and the
//! alternatives that were chosen; and since a step's predecessors include with each step all that come before it in the
//! same thread, they are known by how many there are of each thread. That is the [`ClassKey`].

use selvedge_ir::EntityRef;
use selvedge_machine::{Access, Addr, Done, Op, ThreadId};

/// A set of steps of one execution, a bit each.
pub type StepSet = u128;

/// Executions have at most this many steps.
pub const MAX_STEPS: usize = StepSet::BITS as usize;

/// A step that was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Who.
    pub thread: ThreadId,
    /// What.
    pub op: Op,
    /// Which alternative.
    pub choice: u32,
    /// What it found and left behind.
    pub done: Done,
    /// If it is an atomic section, the accesses that it made.
    pub section: Vec<(Access, Done)>,
    /// If it is a wake-up, the step that woke it.
    pub woken_by: Option<u32>,
    /// Whether it is an access that could not be performed.
    pub faulty: bool,
}

/// Bytes that a step touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// The first byte.
    pub first: u64,
    /// The byte behind the last one.
    pub end: u64,
    /// Whether they are written.
    pub writes: bool,
}

impl Touch {
    /// What an access touches.
    pub fn of(access: &Access, done: &Done) -> Touch {
        let writes = done.new.is_some();
        Touch { first: access.addr.0, end: access.addr.0 + u64::from(access.size), writes }
    }

    /// Whether the bytes overlap and one of the two writes.
    pub fn conflicts(self, other: Touch) -> bool {
        self.first < other.end && other.first < self.end && (self.writes || other.writes)
    }
}

impl Event {
    /// The accesses that the step makes: one, or those of its atomic section.
    pub fn accesses(&self) -> impl Iterator<Item = (Access, Done)> + '_ {
        let own = match self.op {
            Op::Access(access) => Some((access, self.done)),
            _ => None,
        };
        own.into_iter().chain(self.section.iter().copied())
    }

    /// All bytes that the step touches.
    pub fn touches(&self) -> impl Iterator<Item = Touch> + '_ {
        let freed = match self.op {
            Op::Free { addr, size } => Some(Touch { first: addr.0, end: addr.0 + size, writes: true }),
            _ => None,
        };
        freed.into_iter().chain(self.accesses().map(|(access, done)| Touch::of(&access, &done)))
    }

    fn role(&self) -> Option<(Addr, Role)> {
        match self.op {
            Op::CondWait { cond } => Some((cond, Role::Wait)),
            Op::CondWake { cond, early } => Some((cond, Role::Wake { early })),
            Op::CondSignal { cond } | Op::CondBroadcast { cond } => {
                Some((cond, Role::Signal { woke: self.done.old > 0 }))
            }
            _ => None,
        }
    }
}

/// What a step does to a condition variable.
enum Role {
    Wait,
    Wake { early: bool },
    Signal { woke: bool },
}

/// Whether two steps of different threads are dependent.
pub fn dependent(a: &Event, b: &Event) -> bool {
    if a.touches().any(|x| b.touches().any(|y| x.conflicts(y))) {
        return true;
    }
    let (Some((cond, a)), Some((other, b))) = (a.role(), b.role()) else { return false };
    cond == other
        && match (a, b) {
            (Role::Signal { woke: a }, Role::Signal { woke: b }) => a || b,
            (Role::Signal { .. }, Role::Wait) | (Role::Wait, Role::Signal { .. }) => true,
            (Role::Signal { .. }, Role::Wake { early }) | (Role::Wake { early }, Role::Signal { .. }) => early,
            _ => false,
        }
}

/// Whether a step has to come before a later one; `at` is the place of the earlier one in the execution.
pub fn ordered(at: usize, earlier: &Event, later: &Event) -> bool {
    let creates = |target: ThreadId| earlier.op == Op::Spawn { child: target };
    let joined = matches!(later.op, Op::Join { thread } if thread == earlier.thread || creates(thread));
    creates(later.thread) || joined || later.woken_by == Some(at as u32)
}

/// An execution with its happens-before.
#[derive(Clone, Default)]
pub struct Trace {
    /// The steps.
    pub events: Vec<Event>,
    /// Per step, all steps that happen before it.
    pub before: Vec<StepSet>,
}

impl Trace {
    /// Adds a step at the end.
    pub fn push(&mut self, event: Event) {
        let after = |at: usize, earlier: &Event| dependent(earlier, &event) || ordered(at, earlier, &event);
        let before = predecessors(&self.events, &self.before, &event, after);
        self.events.push(event);
        self.before.push(before);
    }

    /// Adds a step at the end that comes after those earlier steps of other threads that `after` says.
    pub fn push_after(&mut self, event: Event, after: impl Fn(usize, &Event) -> bool) {
        let before = predecessors(&self.events, &self.before, &event, after);
        self.events.push(event);
        self.before.push(before);
    }

    /// Removes the last step.
    pub fn pop(&mut self) {
        self.events.pop();
        self.before.pop();
    }

    /// The key of the execution's equivalence class.
    pub fn key(&self) -> ClassKey {
        let threads = self.events.iter().map(|event| event.thread.index() + 1).max().unwrap_or(0);
        let of_thread: Vec<StepSet> = (0..threads).map(|t| self.steps_of(ThreadId::new(t))).collect();
        let mut words = Vec::with_capacity(self.events.len() * (threads + 1) + threads);
        for (t, steps) in of_thread.iter().enumerate() {
            words.push(steps.count_ones());
            for (at, event) in self.events.iter().enumerate().filter(|(_, event)| event.thread.index() == t) {
                words.push(event.choice);
                words.extend(of_thread.iter().map(|steps| (steps & self.before[at]).count_ones()));
            }
        }
        ClassKey(words)
    }

    fn steps_of(&self, thread: ThreadId) -> StepSet {
        let own = self.events.iter().enumerate().filter(|(_, event)| event.thread == thread);
        own.fold(0, |set, (at, _)| set | 1 << at)
    }
}

fn predecessors(events: &[Event], before: &[StepSet], event: &Event, after: impl Fn(usize, &Event) -> bool) -> StepSet {
    let direct = |&(at, earlier): &(usize, &Event)| earlier.thread == event.thread || after(at, earlier);
    events.iter().enumerate().filter(direct).fold(0, |set, (at, _)| set | before[at] | 1 << at)
}

/// Names an equivalence class: equal for two executions of a program iff they are equivalent.
///
/// Per thread: how many steps it makes, and for each the alternative and the number of predecessors in each thread.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClassKey(Vec<u32>);

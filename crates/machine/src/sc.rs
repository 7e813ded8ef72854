//! The sequentially consistent meaning of every Op, with undo.
//!
//! [`Sc`] puts a [`Machine`] and the state of condition variables together into a transition system: which threads are
//! enabled, what a step of one of them does, and how to go back. The trace engine explores it, the oracle enumerates it,
//! and replay follows one path through it; none of them knows what an Op means by itself.
//!
//! A step is an Op together with the thread's own computation behind it, up to its next Op. Steps between `AtomicBegin`
//! and `AtomicEnd` are one step; [`Sc::section`] lists the accesses that it made. If such a section runs into an
//! assumption that does not hold, none of its effects remain, the thread is blocked, and all its accesses count as reads.

use crate::{Access, AccessKind, Addr, Fault, Machine, Op, Status, Stop, ThreadId, Unsupported};
use selvedge_ir::EntityRef;

/// What an access found and left behind (or would have found, if it cannot be performed).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    /// The value before it, or the number that was chosen, or how many waiting threads were woken.
    pub old: u64,
    /// The value after it, if it wrote.
    pub new: Option<u64>,
}

/// A program under sequential consistency.
pub struct Sc<M> {
    /// The threads.
    pub machine: M,
    waiters: Vec<Waiter>,
    log: Vec<WaitChange>,
    marks: Vec<usize>,
    section: Vec<(Access, Done)>,
    performed: bool,
    uninitialised: bool,
}

/// A thread that waits on a condition variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Waiter {
    cond: Addr,
    thread: ThreadId,
    /// The step that woke it.
    woken_by: Option<u32>,
}

enum WaitChange {
    Added,
    Removed { at: usize, waiter: Waiter },
    Woken { at: usize },
}

impl<M: Machine> Sc<M> {
    /// Runs the main thread to its first Op.
    pub fn start(mut machine: M) -> Result<Sc<M>, (Stop, M)> {
        match machine.start() {
            Ok(()) => Ok(Sc::resumed(machine)),
            Err(stop) => Err((stop, machine)),
        }
    }

    fn resumed(machine: M) -> Sc<M> {
        Sc {
            machine,
            waiters: Vec::new(),
            log: Vec::new(),
            marks: Vec::new(),
            section: Vec::new(),
            performed: true,
            uninitialised: false,
        }
    }

    /// How many steps have been made.
    #[inline]
    pub fn depth(&self) -> usize {
        self.marks.len()
    }

    /// Every thread number in use so far, whether or not it exists at present.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> + use<M> {
        (0..self.machine.thread_limit()).map(ThreadId::new)
    }

    /// Whether a thread can make a step.
    #[inline]
    pub fn enabled(&self, thread: ThreadId) -> bool {
        if self.machine.status(thread) != Status::Ready {
            return false;
        }
        match self.machine.pending(thread) {
            Op::Access(Access { until: None, .. }) => true,
            Op::Access(access) => self.is_satisfied(thread, access),
            Op::Join { thread: target } => self.machine.can_be_joined(*target),
            Op::CondWake { early, .. } => *early || self.woken_by(thread).is_some(),
            _ => true,
        }
    }

    /// Whether the condition of an access holds. A faulty access counts as enabled, so that its fault is met.
    fn is_satisfied(&self, thread: ThreadId, access: &Access) -> bool {
        let Some(until) = access.until else { return true };
        match self.machine.memory().load(thread, access.addr, access.size, access.raw) {
            Ok(value) => until.holds(value, access.size),
            Err(_) => true,
        }
    }

    /// The step that woke a thread from its condition variable.
    pub fn woken_by(&self, thread: ThreadId) -> Option<u32> {
        self.waiters.iter().find(|w| w.thread == thread).and_then(|w| w.woken_by)
    }

    /// How many different steps an enabled thread can make: the choices are 0 to one less.
    #[inline]
    pub fn alternatives(&self, thread: ThreadId) -> u32 {
        match self.machine.pending(thread) {
            Op::Choose { alternatives } => (*alternatives).max(1),
            Op::CondSignal { cond } => self.asleep(*cond).count().max(1) as u32,
            _ => 1,
        }
    }

    /// The threads that wait for a condition variable and were not woken yet, in the order in which a signal counts them.
    pub fn asleep_at(&self, cond: Addr) -> Vec<ThreadId> {
        let mut asleep: Vec<ThreadId> = self.asleep(cond).map(|(_, waiter)| waiter.thread).collect();
        asleep.sort_unstable();
        asleep
    }

    fn asleep(&self, cond: Addr) -> impl Iterator<Item = (usize, &Waiter)> {
        self.waiters.iter().enumerate().filter(move |(_, w)| w.cond == cond && w.woken_by.is_none())
    }

    /// Makes one step of an enabled thread. It can be taken back by [`Sc::undo`] whether it fails or not; a thread whose
    /// step fails does not go on.
    #[inline]
    pub fn step(&mut self, thread: ThreadId, choice: u32) -> Result<Done, (Done, Stop)> {
        debug_assert!(self.enabled(thread), "only enabled threads make steps");
        self.machine.mark();
        self.marks.push(self.log.len());
        self.performed = true;
        self.uninitialised = false;
        // Private writes are noted with the number of steps, this one included.
        self.machine.memory_mut().set_now(self.marks.len() as u32);
        let op = *self.machine.pending(thread);
        let done = match op {
            Op::Access(access) => self.access(thread, &access),
            Op::AtomicBegin => return self.atomic_section(thread),
            other => self.synchronise(thread, other, choice),
        };
        let done = match done {
            Ok(done) => done,
            Err(stop) => {
                self.performed = false;
                let old = match op {
                    Op::Access(access) => self.machine.memory().remains(access.addr, access.size),
                    _ => 0,
                };
                self.machine.halt(thread, Status::Stopped);
                return Err((Done { old, new: None }, stop));
            }
        };
        self.machine.resume(thread, done.old).map(|()| done).map_err(|stop| (done, stop))
    }

    #[inline]
    fn access(&mut self, thread: ThreadId, access: &Access) -> Result<Done, Stop> {
        let memory = self.machine.memory_mut();
        let mut old = memory.load(thread, access.addr, access.size, access.raw);
        if let Err(Fault::Uninitialised(_)) = old {
            self.uninitialised = true;
            // A store does not look at what it overwrites; but what was there is needed to reverse races.
            if matches!(access.kind, AccessKind::Store { .. }) && access.until.is_none() {
                old = memory.load(thread, access.addr, access.size, true);
            }
        }
        let written = match old {
            Ok(old) => access.written(old),
            Err(fault) => return Err(self.machine.fault(thread, access, fault)),
        };
        if let Some(new) = written
            && let Err(fault) = memory.store(thread, access.addr, access.size, new)
        {
            return Err(self.machine.fault(thread, access, fault));
        }
        let old = old.expect("a fault has returned already");
        Ok(Done { old, new: written.map(|new| crate::truncate(new, access.size)) })
    }

    fn synchronise(&mut self, thread: ThreadId, op: Op, choice: u32) -> Result<Done, Stop> {
        let mut done = Done { old: 0, new: None };
        match op {
            Op::Choose { .. } => done.old = u64::from(choice),
            Op::CondWait { cond } => {
                self.waiters.push(Waiter { cond, thread, woken_by: None });
                self.log.push(WaitChange::Added);
            }
            Op::CondWake { .. } => {
                let at = self.waiters.iter().position(|w| w.thread == thread).expect("a waking thread has waited");
                let waiter = self.waiters.swap_remove(at);
                self.log.push(WaitChange::Removed { at, waiter });
                done.old = u64::from(waiter.woken_by.is_some());
            }
            Op::CondSignal { cond } => done.old = self.signal(cond, choice),
            Op::CondBroadcast { cond } => {
                while self.signal(cond, 0) > 0 {
                    done.old += 1;
                }
            }
            Op::Free { addr, .. } => match self.machine.memory().find(addr) {
                Some(id) if self.machine.memory().object(id).alive => self.machine.memory_mut().kill(id),
                _ => return Err(self.machine.free_fault(thread, addr)),
            },
            Op::Access(_) | Op::AtomicBegin => unreachable!("handled by the caller"),
            Op::Fence { .. } | Op::Spawn { .. } | Op::Join { .. } | Op::AtomicEnd => {}
        }
        Ok(done)
    }

    /// Wakes the n-th waiting thread in the order of thread numbers, so that the choice means the same thread whatever
    /// order they began to wait in.
    fn signal(&mut self, cond: Addr, choice: u32) -> u64 {
        let mut asleep: smallvec::SmallVec<[(ThreadId, usize); 8]> =
            self.asleep(cond).map(|(at, w)| (w.thread, at)).collect();
        asleep.sort_unstable();
        let Some(&(_, at)) = asleep.get(choice as usize) else { return 0 };
        self.waiters[at].woken_by = Some(self.marks.len() as u32 - 1);
        self.log.push(WaitChange::Woken { at });
        1
    }

    fn atomic_section(&mut self, thread: ThreadId) -> Result<Done, (Done, Stop)> {
        let nothing = Done { old: 0, new: None };
        self.section.clear();
        self.machine.resume(thread, 0).map_err(|stop| (nothing, stop))?;
        loop {
            match self.machine.status(thread) {
                Status::Ready => {}
                Status::AssumeBlocked => {
                    self.machine.undo();
                    self.machine.mark();
                    self.machine.halt(thread, Status::AssumeBlocked);
                    self.section.iter_mut().for_each(|(_, done)| done.new = None);
                    return Ok(nothing);
                }
                _ => return Ok(nothing),
            }
            let op = *self.machine.pending(thread);
            let result = match op {
                Op::AtomicEnd => return self.machine.resume(thread, 0).map(|()| nothing).map_err(|s| (nothing, s)),
                Op::Access(access) if self.is_satisfied(thread, &access) => {
                    let result = self.access(thread, &access);
                    self.section.extend(result.as_ref().map(|done| (access, *done)));
                    result
                }
                Op::Fence { .. } => Ok(nothing),
                other => Err(self.not_in_a_section(thread, &other)),
            };
            match result {
                Ok(done) => self.machine.resume(thread, done.old).map_err(|stop| (done, stop))?,
                Err(stop) => {
                    // A faulty access belongs to the section too: it may depend on a `Free`.
                    if let Op::Access(access) = op {
                        let old = self.machine.memory().remains(access.addr, access.size);
                        self.section.push((access, Done { old, new: None }));
                    }
                    self.machine.halt(thread, Status::Stopped);
                    return Err((nothing, stop));
                }
            }
        }
    }

    fn not_in_a_section(&self, thread: ThreadId, op: &Op) -> Stop {
        let what = match op {
            Op::Access(_) => "waiting for another thread",
            Op::AtomicBegin => "an atomic section",
            Op::Spawn { .. } => "creating a thread",
            Op::Free { .. } => "freeing memory that other threads can reach",
            Op::Choose { .. } => "a nondeterministic choice",
            _ => "this synchronisation",
        };
        let feature = format!("{what} inside an atomic section");
        Stop::Unsupported(Box::new(Unsupported { feature, place: self.machine.site(thread).span }))
    }

    /// Whether the Op of the newest step could be performed: not if the access or `free` itself is a violation.
    pub fn performed(&self) -> bool {
        self.performed
    }

    /// Whether the newest step met bytes that were never written.
    pub fn met_uninitialised(&self) -> bool {
        self.uninitialised
    }

    /// The accesses of the newest step, if that was an atomic section. One that could not be performed is the last; it
    /// counts as a read.
    pub fn section(&self) -> &[(Access, Done)] {
        &self.section
    }

    /// Takes the newest step back.
    #[inline]
    pub fn undo(&mut self) {
        let to = self.marks.pop().expect("undo has a step to take back");
        self.machine.undo();
        while self.log.len() > to {
            match self.log.pop().expect("the log is longer than `to`") {
                WaitChange::Added => drop(self.waiters.pop()),
                WaitChange::Removed { at, waiter } => {
                    self.waiters.push(waiter);
                    let last = self.waiters.len() - 1;
                    self.waiters.swap(at, last);
                }
                WaitChange::Woken { at } => self.waiters[at].woken_by = None,
            }
        }
    }
}

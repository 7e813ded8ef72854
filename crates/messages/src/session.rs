//! What an exploration has found so far, and whether it should go on.

use crate::schedule::Schedule;
use crate::{Delivery, Machine, Pid};
use rustc_hash::FxHashSet;
use selvedge_machine::verdict::{Interruption, Progress};
use selvedge_machine::{Bound, BoundKind, SourceSpan, Stop, Unsupported, Violation, ViolationKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What to explore, and when to stop.
#[derive(Clone, Debug)]
pub struct Options {
    /// Arrivals at a mailbox conflict only if some receive can tell. Otherwise always: plain Optimal-DPOR.
    pub observers: bool,
    /// When messages arrive.
    pub delivery: Delivery,
    /// An exploration ends, and says so, when an execution has more steps than this.
    pub max_events: usize,
    /// Stop after this many executions.
    pub max_executions: Option<u64>,
    /// Stop after this time.
    pub time: Option<Duration>,
    /// Stop when this becomes true.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Go on after the first violation and collect distinct ones.
    pub all: bool,
    /// Report it as a violation if a process that is no server waits forever.
    pub deadlocks: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            observers: true,
            delivery: Delivery::Instant,
            max_events: 10_000,
            max_executions: None,
            time: None,
            interrupt: None,
            all: false,
            deadlocks: true,
        }
    }
}

/// A violation with an execution that shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// What is wrong.
    pub violation: Violation,
    /// How to get there.
    pub schedule: Schedule,
}

/// The result of an exploration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exploration {
    /// Executions in which every process ended, or waits as a server.
    pub complete: u64,
    /// Executions in which some process is stuck.
    pub blocked: u64,
    /// Distinct violations, in the order in which they were found.
    pub violations: Vec<Found>,
    /// Something that could not be executed; the exploration ends there.
    pub unsupported: Option<Unsupported>,
    /// Bounds that were reached, with the number of times.
    pub bounds: Vec<(Bound, u64)>,
    /// Why it ended early, if it did.
    pub interruption: Option<Interruption>,
    /// The largest number of steps in an execution.
    pub longest: usize,
    /// Steps made in all.
    pub steps: u64,
}

/// Told about an exploration while it runs.
pub trait Observer<M: Machine> {
    /// Called now and then.
    fn progress(&mut self, _progress: &Progress) {}

    /// Called when the exploration starts again: what was told so far is void.
    fn restart(&mut self) {}

    /// Called at the end of every maximal execution.
    fn execution(&mut self, _trace: &crate::trace::Trace<M>, _system: &crate::System<M>) {}
}

/// Told about nothing.
pub struct Nobody;

impl<M: Machine> Observer<M> for Nobody {}

/// The exploration is over.
pub struct Over;

const STEPS_BETWEEN_CHECKS: u32 = 4096;

/// The results and limits of a running exploration.
pub(crate) struct Session<'a> {
    pub options: &'a Options,
    pub result: Exploration,
    started: Instant,
    countdown: u32,
    seen: FxHashSet<(ViolationKind, String, Vec<SourceSpan>)>,
}

impl<'a> Session<'a> {
    pub fn new(options: &'a Options) -> Session<'a> {
        Session {
            options,
            result: Exploration::default(),
            started: Instant::now(),
            countdown: STEPS_BETWEEN_CHECKS,
            seen: FxHashSet::default(),
        }
    }

    /// Counts a step. Now and then it is time to look around: true.
    #[inline]
    pub fn tick(&mut self) -> bool {
        self.result.steps += 1;
        self.countdown -= 1;
        if self.countdown == 0 {
            self.countdown = STEPS_BETWEEN_CHECKS;
        }
        self.countdown == STEPS_BETWEEN_CHECKS
    }

    /// Whether the exploration may go on.
    pub fn look_around(&mut self) -> Result<(), Over> {
        if self.options.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return self.interrupted(Interruption::User);
        }
        if self.options.time.is_some_and(|limit| self.started.elapsed() >= limit) {
            return self.interrupted(Interruption::Time);
        }
        Ok(())
    }

    fn interrupted(&mut self, why: Interruption) -> Result<(), Over> {
        self.result.interruption = Some(why);
        Err(Over)
    }

    /// Counts an execution that is over.
    pub fn ended(&mut self, complete: bool, length: usize) -> Result<(), Over> {
        if complete {
            self.result.complete += 1;
        } else {
            self.result.blocked += 1;
        }
        self.result.longest = self.result.longest.max(length);
        let done = self.result.complete + self.result.blocked;
        match self.options.max_executions {
            Some(limit) if done >= limit => self.interrupted(Interruption::MaxExecutions),
            _ => Ok(()),
        }
    }

    /// Counts executions from the start again; violations stay.
    pub fn restart(&mut self) {
        self.result.complete = 0;
        self.result.blocked = 0;
        self.result.bounds.clear();
    }

    /// Notes why a process could not go on.
    pub fn stopped(&mut self, stop: Stop, schedule: impl FnOnce() -> Schedule) -> Result<(), Over> {
        match stop {
            Stop::Violation(violation) => self.violated(*violation, schedule),
            Stop::Unsupported(unsupported) => {
                self.result.unsupported = Some(*unsupported);
                Err(Over)
            }
            Stop::Bound(bound) => {
                self.bounded(*bound);
                Ok(())
            }
        }
    }

    /// Notes a violation, once.
    pub fn violated(&mut self, violation: Violation, schedule: impl FnOnce() -> Schedule) -> Result<(), Over> {
        let places: Vec<SourceSpan> = violation.places.iter().map(|(place, _)| place.clone()).collect();
        if self.seen.insert((violation.kind, violation.message.clone(), places)) {
            self.result.violations.push(Found { violation, schedule: schedule() });
        }
        if self.options.all { Ok(()) } else { self.interrupted(Interruption::FirstViolation) }
    }

    /// Ends the exploration because an execution is longer than the bound: a loop may never end.
    pub fn too_long<M: Machine>(&mut self, machine: &M, pid: Option<Pid>) -> Result<(), Over> {
        let steps = self.options.max_events;
        let (what, place) = match pid {
            Some(pid) => {
                let name = machine.name(pid);
                (format!("executions to {steps} steps ({name} may never end)"), machine.place(pid))
            }
            None => (format!("executions to {steps} steps"), SourceSpan::default()),
        };
        self.bounded(Bound { kind: BoundKind::Execution { steps }, what, place });
        self.interrupted(Interruption::MaxEvents)
    }

    fn bounded(&mut self, bound: Bound) {
        match self.result.bounds.iter_mut().find(|(known, _)| *known == bound) {
            Some((_, count)) => *count += 1,
            None => self.result.bounds.push((bound, 1)),
        }
    }
}

//! What an exploration has found so far, and whether it should go on; the same for every engine.

use crate::schedule::Schedule;
use crate::verdict::{Exploration, Found, Interruption, Progress};
use crate::{Bound, BoundKind, Machine, SourceSpan, Stop, ThreadId, Violation, ViolationKind};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// When to stop, and what counts as a violation.
#[derive(Clone, Debug)]
pub struct Limits {
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
    /// Report data races on plain accesses.
    pub data_races: bool,
    /// Report deadlocks as violations.
    pub deadlocks: bool,
    /// Compare fast versions with plain ones while running; slow, for tests.
    pub check_invariants: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_events: 10_000,
            max_executions: None,
            time: None,
            interrupt: None,
            all: false,
            data_races: true,
            deadlocks: true,
            check_invariants: false,
        }
    }
}

/// Told about an exploration while it runs.
pub trait Observer {
    /// Called now and then.
    fn progress(&mut self, _progress: &Progress) {}

    /// Whether `execution` should be called.
    fn wants_executions(&self) -> bool {
        false
    }

    /// Called at the end of every maximal execution with its steps.
    fn execution(&mut self, _steps: &[(ThreadId, u32)]) {}

    /// Called when the exploration starts again: what was told so far is void.
    fn restart(&mut self) {}
}

/// How a maximal execution ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Every thread ended.
    Complete,
    /// Some thread is stuck.
    Blocked,
}

/// The results and limits of a running exploration.
pub struct Session<'a> {
    /// What was asked for.
    pub limits: &'a Limits,
    /// Who is told.
    pub observer: &'a mut dyn Observer,
    /// What was found.
    pub result: Exploration,
    started: Instant,
    /// How many steps are left until the next look at the clock, when the last one was, and how many steps lie between two.
    countdown: u32,
    looked: Instant,
    between: u32,
    seen: FxHashSet<(ViolationKind, String, Vec<SourceSpan>)>,
}

/// The exploration is over.
pub struct Over;

/// At most so many steps lie between two looks at the clock, and one look is about so long after the other: a step may be
/// some nanoseconds or a loop of millions of instructions.
const MOST_STEPS: u32 = 4096;
const FIRST_STEPS: u32 = 256;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

impl<'a> Session<'a> {
    /// A session that starts now.
    pub fn new(limits: &'a Limits, observer: &'a mut dyn Observer) -> Session<'a> {
        let now = Instant::now();
        Session {
            limits,
            observer,
            result: Exploration::default(),
            started: now,
            countdown: FIRST_STEPS,
            looked: now,
            between: FIRST_STEPS,
            seen: FxHashSet::default(),
        }
    }

    /// Counts a step. Now and then looks at the clock and shows progress.
    #[inline]
    pub fn tick(&mut self, progress: impl FnOnce(&Exploration) -> Progress) -> Result<(), Over> {
        self.result.steps += 1;
        self.countdown -= 1;
        if self.countdown > 0 { Ok(()) } else { self.look(progress) }
    }

    #[cold]
    fn look(&mut self, progress: impl FnOnce(&Exploration) -> Progress) -> Result<(), Over> {
        self.plan_next_look();
        let now = progress(&self.result);
        self.observer.progress(&now);
        if self.limits.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return self.interrupted(Interruption::User);
        }
        if self.limits.time.is_some_and(|limit| self.started.elapsed() >= limit) {
            return self.interrupted(Interruption::Time);
        }
        Ok(())
    }

    fn plan_next_look(&mut self) {
        let now = Instant::now();
        let took = now.duration_since(self.looked);
        self.looked = now;
        self.between = match self.between {
            many if took > BETWEEN_LOOKS => (many / 4).max(1),
            few if took < BETWEEN_LOOKS / 8 => (few * 4).min(MOST_STEPS),
            right => right,
        };
        self.countdown = self.between;
    }

    /// Ends the exploration early.
    pub fn interrupted(&mut self, why: Interruption) -> Result<(), Over> {
        self.result.interruption = Some(why);
        Err(Over)
    }

    /// Counts an execution that is over.
    pub fn ended(&mut self, ending: Ending, length: usize) -> Result<(), Over> {
        match ending {
            Ending::Complete => self.result.complete += 1,
            Ending::Blocked => self.result.blocked += 1,
        }
        self.result.longest = self.result.longest.max(length);
        let done = self.result.complete + self.result.blocked;
        match self.limits.max_executions {
            Some(limit) if done >= limit => self.interrupted(Interruption::MaxExecutions),
            _ => Ok(()),
        }
    }

    /// What was found so far; what comes is counted from the start again.
    pub fn take(&mut self) -> Exploration {
        self.seen.clear();
        std::mem::take(&mut self.result)
    }

    /// Counts executions from the start again; violations stay.
    pub fn restart(&mut self) {
        self.observer.restart();
        self.result.complete = 0;
        self.result.blocked = 0;
        self.result.redundant = 0;
        self.result.longest = 0;
        self.result.bounds.clear();
    }

    /// Notes why a thread could not go on.
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
        let mut places: Vec<SourceSpan> = violation.places.iter().map(|(place, _)| place.clone()).collect();
        let mut message = violation.message.clone();
        if violation.kind == ViolationKind::DataRace && places.iter().all(|place| place.line > 0) {
            // The same two lines race whoever comes first, and whichever of several like threads it is.
            places.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
            message.clear();
        }
        if self.seen.insert((violation.kind, message, places)) {
            self.result.violations.push(Found { violation, schedule: schedule() });
        }
        if self.limits.all { Ok(()) } else { self.interrupted(Interruption::FirstViolation) }
    }

    /// Ends the exploration because an execution is longer than the bound: a loop may never end.
    pub fn too_long<M: Machine>(&mut self, machine: &M, thread: ThreadId) -> Result<(), Over> {
        let place = machine.site(thread).span;
        let name = machine.thread_name(thread);
        let what = format!("executions to {} steps ({name} may never end)", self.limits.max_events);
        let kind = BoundKind::Execution { steps: self.limits.max_events };
        self.bounded(Bound { kind, what, place });
        self.interrupted(Interruption::MaxEvents)
    }

    /// Notes a bound that was reached.
    pub fn bounded(&mut self, bound: Bound) {
        match self.result.bounds.iter_mut().find(|(known, _)| *known == bound) {
            Some((_, count)) => *count += 1,
            None => self.result.bounds.push((bound, 1)),
        }
    }
}

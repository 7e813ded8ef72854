//! Schedules: one execution, written down so that it can be run again.

use crate::sc::{Done, Sc};
use crate::{Access, Machine, Op, Site, Status, Stop, ThreadId};

/// One step of a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScheduleStep {
    /// The thread's path of spawns: empty for main.
    pub thread: Vec<u32>,
    /// Which alternative it took, 0 if there was one only.
    pub choice: u32,
}

/// One execution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// The paths of all threads in the order of their numbers, so that numbers (and with them addresses) come out the
    /// same when the schedule is run again.
    pub threads: Vec<Vec<u32>>,
    /// The steps.
    pub steps: Vec<ScheduleStep>,
}

/// What happened in one step of a replayed schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventRecord {
    /// Who.
    pub thread: ThreadId,
    /// What.
    pub op: Op,
    /// What it found and left behind.
    pub done: Done,
    /// The accesses of an atomic section.
    pub section: Vec<(Access, Done)>,
    /// Which alternative.
    pub choice: u32,
    /// Where, and what it touches.
    pub site: Site,
}

/// How a replayed schedule ended for a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadEnd {
    /// Which thread.
    pub thread: ThreadId,
    /// Its name for people.
    pub name: String,
    /// Where it stands.
    pub status: Status,
    /// The Op that it waits with, if it is ready.
    pub waiting: Option<(Op, Site)>,
    /// Where it stands, if it is blocked because an iteration of a loop changes nothing.
    pub spins: Option<Site>,
}

/// A schedule that was run again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replay {
    /// The steps.
    pub events: Vec<EventRecord>,
    /// Why it stopped, if some thread met a violation, an unsupported feature or a bound.
    pub stop: Option<(ThreadId, Stop)>,
    /// All threads at the end.
    pub threads: Vec<ThreadEnd>,
    /// What the program printed.
    pub output: String,
}

/// Why a schedule cannot be run again.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReplayError {
    /// The schedule names a thread that does not exist at this point.
    #[error("step {step} of the schedule names a thread that does not exist: is it a schedule of another program?")]
    NoThread {
        /// Which step, from 1.
        step: usize,
    },
    /// The thread cannot make a step at this point.
    #[error("step {step} of the schedule is not possible: {name} waits there; is it a schedule of another program?")]
    NotEnabled {
        /// Which step, from 1.
        step: usize,
        /// The thread.
        name: String,
    },
}

impl Schedule {
    /// The schedule that consists of these steps of a machine's threads.
    pub fn record<M: Machine>(machine: &M, steps: impl Iterator<Item = (ThreadId, u32)>) -> Schedule {
        use selvedge_ir::EntityRef;
        let threads = (0..machine.thread_limit()).map(|n| machine.thread_path(ThreadId::new(n))).collect();
        let step = |(thread, choice)| ScheduleStep { thread: machine.thread_path(thread), choice };
        Schedule { threads, steps: steps.map(step).collect() }
    }
}

/// Runs a schedule on a fresh machine, and notes what happens.
pub fn replay<M: Machine>(mut machine: M, schedule: &Schedule) -> Result<Replay, ReplayError> {
    for path in &schedule.threads {
        machine.thread_at(path);
    }
    let mut events = Vec::new();
    let mut sc = match Sc::start(machine) {
        Ok(sc) => sc,
        Err((stop, machine)) => {
            let stop = Some((crate::main_thread(), stop));
            return Ok(Replay { events, stop, threads: Vec::new(), output: machine.output().to_owned() });
        }
    };
    let mut stop = None;
    for (n, step) in schedule.steps.iter().enumerate() {
        let no_thread = ReplayError::NoThread { step: n + 1 };
        let thread = sc.machine.thread_at(&step.thread).ok_or(no_thread.clone())?;
        if sc.machine.status(thread) == Status::Absent {
            return Err(no_thread);
        }
        if !sc.enabled(thread) || step.choice >= sc.alternatives(thread) {
            return Err(ReplayError::NotEnabled { step: n + 1, name: sc.machine.thread_name(thread) });
        }
        let op = *sc.machine.pending(thread);
        let site = sc.machine.site(thread);
        let result = sc.step(thread, step.choice);
        let section = if op == Op::AtomicBegin { sc.section().to_vec() } else { Vec::new() };
        let (done, stopped) = match result {
            Ok(done) => (done, None),
            Err((done, stop)) => (done, Some((thread, stop))),
        };
        events.push(EventRecord { thread, op, done, section, choice: step.choice, site });
        if stopped.is_some() && stop.is_none() {
            stop = stopped;
        }
    }
    let threads =
        sc.threads().filter(|&t| sc.machine.status(t) != Status::Absent).map(|t| thread_end(&sc, t)).collect();
    Ok(Replay { events, stop, threads, output: sc.machine.output().to_owned() })
}

fn thread_end<M: Machine>(sc: &Sc<M>, thread: ThreadId) -> ThreadEnd {
    let status = sc.machine.status(thread);
    let waiting = (status == Status::Ready).then(|| (*sc.machine.pending(thread), sc.machine.site(thread)));
    let spins = (status == Status::AssumeBlocked && sc.machine.spins(thread)).then(|| sc.machine.site(thread));
    ThreadEnd { thread, name: sc.machine.thread_name(thread), status, waiting, spins }
}

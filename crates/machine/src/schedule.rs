//! Schedules: one execution, written down so that it can be run again.
//!
//! An interleaving is its steps: who goes next, and which alternative it takes. If no interleaving explains an execution
//! because a weak memory model allows more than these, every step also says what it reads from and where its write
//! stands in coherence order ([`Link`]); `weak.rs` runs such an execution again.

use crate::sc::{Done, Sc};
use crate::{Access, Machine, Op, Site, Status, Stop, ThreadId, ViolationKind, weak};

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
    /// For every step, how it is linked to others; none if that follows from the order of the steps: an interleaving.
    pub links: Option<Vec<Link>>,
}

/// How a step is linked to others in an execution that is no interleaving: a read may read something else than what was
/// written last. A write still comes before whoever reads from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Link {
    /// What it reads from; none if it reads nothing.
    pub from: Option<Source>,
    /// The place of its write in the coherence order of the memory that it writes, from 1; 0 if it writes nothing.
    pub place: u32,
}

/// Where a value that is read comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// It was there before any step wrote.
    Initial,
    /// The step at this position wrote it.
    Step(usize),
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
    /// How it is linked to others; nothing is said in an interleaving, where it follows from the order of the steps.
    pub link: Link,
    /// The coherence-last of the writes before it that are newer than what it reads: it does not see them.
    pub missed: Option<usize>,
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
    /// Whether it could make a step in an interleaving that comes to this; that is not known if none does.
    pub enabled: bool,
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
    /// Whether no interleaving explains it: only a weak memory model allows this execution.
    pub weak: bool,
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
    /// What the schedule says about a step of a weak memory model does not fit the step.
    #[error("step {step} of the schedule does not fit: {why}; is it a schedule of another program?")]
    Unfit {
        /// Which step, from 1.
        step: usize,
        /// What does not fit.
        why: &'static str,
    },
}

impl Schedule {
    /// The schedule that consists of these steps of a machine's threads.
    pub fn record<M: Machine>(machine: &M, steps: impl Iterator<Item = (ThreadId, u32)>) -> Schedule {
        use selvedge_ir::EntityRef;
        let threads = (0..machine.thread_limit()).map(|n| machine.thread_path(ThreadId::new(n))).collect();
        let step = |(thread, choice)| ScheduleStep { thread: machine.thread_path(thread), choice };
        Schedule { threads, steps: steps.map(step).collect(), links: None }
    }
}

/// Runs a schedule on a fresh machine, and notes what happens.
pub fn replay<M: Machine>(mut machine: M, schedule: &Schedule) -> Result<Replay, ReplayError> {
    for path in &schedule.threads {
        machine.thread_at(path);
    }
    if let Some(links) = &schedule.links {
        return weak::replay(machine, schedule, links);
    }
    let mut events = Vec::new();
    let mut sc = match Sc::start(machine) {
        Ok(sc) => sc,
        Err((stop, machine)) => return Ok(stopped_at_start(&machine, stop)),
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
        let site = sc.machine.site_of_step(thread);
        let result = sc.step(thread, step.choice);
        let section = if op == Op::AtomicBegin { sc.section().to_vec() } else { Vec::new() };
        let (done, stopped) = match result {
            Ok(done) => (done, None),
            Err((done, stop)) => (done, Some((thread, stop))),
        };
        let (link, missed) = (Link::default(), None);
        events.push(EventRecord { thread, op, done, section, choice: step.choice, site, link, missed });
        if stopped.is_some() && stop.is_none() {
            stop = stopped;
        }
        if is_used_after_free(stop.as_ref()) {
            break;
        }
    }
    let mut threads = ends(&sc.machine);
    threads.iter_mut().for_each(|end| end.enabled = sc.enabled(end.thread));
    Ok(Replay { events, stop, threads, output: sc.machine.output().to_owned(), weak: false })
}

/// Whether a thread has stopped since it uses what was freed. Then the replay is over: the steps that follow may be another
/// thread's that frees it, in an order in which nobody has used it yet. If its machine frees only what others have used
/// (closures do), it comes to other steps now.
pub(crate) fn is_used_after_free(stop: Option<&(ThreadId, Stop)>) -> bool {
    matches!(stop, Some((_, Stop::Violation(violation))) if violation.kind == ViolationKind::UseAfterFree)
}

/// A replay that is over before the first step.
pub(crate) fn stopped_at_start<M: Machine>(machine: &M, stop: Stop) -> Replay {
    let stop = Some((crate::main_thread(), stop));
    Replay { events: Vec::new(), stop, threads: Vec::new(), output: machine.output().to_owned(), weak: false }
}

/// Where the threads of a machine stand.
pub(crate) fn ends<M: Machine>(machine: &M) -> Vec<ThreadEnd> {
    use selvedge_ir::EntityRef;
    let threads = (0..machine.thread_limit()).map(ThreadId::new);
    threads.filter(|&t| machine.status(t) != Status::Absent).map(|t| thread_end(machine, t)).collect()
}

fn thread_end<M: Machine>(machine: &M, thread: ThreadId) -> ThreadEnd {
    let status = machine.status(thread);
    let waiting = (status == Status::Ready).then(|| (*machine.pending(thread), machine.site_of_step(thread)));
    let spins = (status == Status::AssumeBlocked && machine.spins(thread)).then(|| machine.site_of_step(thread));
    ThreadEnd { thread, name: machine.thread_name(thread), status, waiting, enabled: false, spins }
}

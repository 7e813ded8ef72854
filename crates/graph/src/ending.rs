//! What a full graph means: complete, blocked, or a deadlock; and violations in words.
//!
//! An execution is complete if every thread ended, and blocked if some thread waits forever. That is a violation if all
//! that the waiting threads read is up to date: an await that reads from the coherence-last write and still fails will
//! fail forever. It is none if the process has ended (threads that still wait then are killed), or if some thread is
//! blocked by an assumption or stopped at a violation or bound: then the execution was cut off.

use crate::event::{EventId, Kind, LocId};
use crate::graph::Graph;
use crate::linear;
use crate::request::Role;
use crate::runner::Runner;
use selvedge_machine::racing::{self, Racer};
use selvedge_machine::schedule::Schedule;
use selvedge_machine::session::{Ending, Over, Session};
use selvedge_machine::stuck::stuck;
use selvedge_machine::{Access, Machine, Op, Status, Stop, ThreadId};
use smallvec::SmallVec;

/// Classifies a full graph, and reports a deadlock or a leak.
pub fn conclude<M: Machine>(runner: &mut Runner<M>, graph: &Graph, session: &mut Session<'_>) -> Result<Ending, Over> {
    runner.machine.ends();
    let mut waiting = 0;
    let mut cut = false;
    let mut failed = false;
    let mut cut_off: SmallVec<[ThreadId; 4]> = SmallVec::new();
    for thread in threads(&runner.machine) {
        match runner.machine.status(thread) {
            Status::Ready if runner.machine.times_out(thread) => cut = true,
            Status::Ready if gives_up(&runner.machine, graph, thread) => cut = true,
            Status::AssumeBlocked
                if runner.machine.spins(thread) && reads_the_same_again(&runner.machine, graph, thread) =>
            {
                waiting += 1;
            }
            Status::Ready => waiting += 1,
            Status::AssumeBlocked => cut_off.push(thread),
            Status::Stopped => failed = true,
            Status::Absent | Status::Finished => {}
        }
    }
    if !cut_off.is_empty() {
        let go_on = !cut && !failed && session.limits.deadlocks && go_round_for_ever(runner, graph, &cut_off);
        waiting += if go_on { cut_off.len() } else { 0 };
        cut |= !go_on;
    }
    if cut || failed {
        return Ok(if cut || runner.met_bound() { Ending::Blocked } else { Ending::Complete });
    }
    if waiting > 0 {
        if session.limits.deadlocks && !runner.machine.exited() {
            let violation = stuck(&runner.machine);
            let machine = &runner.machine;
            session.violated(violation, || schedule(machine, graph, None))?;
        }
        return Ok(Ending::Blocked);
    }
    if let Err(stop) = check_end(runner, graph) {
        let machine = &runner.machine;
        session.stopped(stop, || schedule(machine, graph, None))?;
    }
    Ok(Ending::Complete)
}

/// Whether threads that were cut off in loops in which they change something go round for ever in what is left.
fn go_round_for_ever<M: Machine>(runner: &mut Runner<M>, graph: &Graph, threads: &[ThreadId]) -> bool {
    let newest = |loc| {
        let &last = graph.location(loc).co.last()?;
        let event = graph.event(last);
        let (addr, size) = runner.place(loc);
        (event.role == Role::Memory).then_some((addr, size, event.value))
    };
    let values: Vec<_> = graph.locations().filter_map(newest).collect();
    runner.machine.go_round_for_ever(threads, &values)
}

/// Lets the machine look at the end of an execution. Its memory has the writes in the order in which they were added;
/// what is left at the end are the coherence-last ones.
fn check_end<M: Machine>(runner: &mut Runner<M>, graph: &Graph) -> Result<(), Stop> {
    if !runner.machine.looks_at_the_end() {
        return runner.machine.at_end();
    }
    runner.machine.mark();
    for loc in graph.locations() {
        let Some(&last) = graph.location(loc).co.last() else { continue };
        let event = graph.event(last);
        if event.role == Role::Memory {
            let (addr, size) = runner.place(loc);
            // What has been freed since is not there any more.
            let _ = runner.machine.memory_mut().store(event.thread, addr, size, event.value);
        }
    }
    let result = runner.machine.at_end();
    runner.machine.undo();
    result
}

/// How many steps an execution has, if they are more than some number: what a report of it would list. A read-modify-write
/// is one, and so is an access in several parts; what the exploration adds for its own purposes is none.
pub fn steps(graph: &Graph, more_than: usize) -> usize {
    if graph.executed.len() <= more_than {
        return graph.executed.len();
    }
    graph.executed.iter().filter(|&&e| graph.event(e).kind != Kind::Halt).count()
}

fn threads<M: Machine>(machine: &M) -> impl Iterator<Item = ThreadId> + use<M> {
    use selvedge_ir::EntityRef;
    (0..machine.thread_limit()).map(ThreadId::new)
}

/// Whether a thread has read something that is not up to date and waits, or would start an iteration of a loop again and
/// might get on then.
fn gives_up<M: Machine>(machine: &M, graph: &Graph, thread: ThreadId) -> bool {
    if graph.last(thread).is_some_and(|last| graph.event(last).kind == Kind::Turn) {
        return true;
    }
    let stale = graph.last(thread).is_some_and(|last| {
        let event = graph.event(last);
        event.blocked && graph.position(last) < graph.newest(event.loc)
    });
    let retries = matches!(machine.pending(thread), Op::Access(Access { until: Some(until), .. }) if until.retry);
    stale || retries && !reads_the_same_again(machine, graph, thread)
}

/// Whether all that a thread has read in an iteration of a loop in which nothing changes is as it was: then the iteration,
/// begun again, comes to the same end. If the machine does not know where the iteration began: behind the last change.
pub(crate) fn reads_the_same_again<M: Machine>(machine: &M, graph: &Graph, thread: ThreadId) -> bool {
    match machine.iteration(thread) {
        Some(0) => true,
        steps => match steps.and_then(|steps| first_of_newest(graph, thread, steps)) {
            Some(began) => finds_the_same_again(graph, thread, began),
            None => finds_the_same_since_the_last_change(graph, thread),
        },
    }
}

fn finds_the_same_since_the_last_change(graph: &Graph, thread: ThreadId) -> bool {
    for &e in graph.thread(thread).iter().rev() {
        let event = graph.event(e);
        match event.kind {
            Kind::Read if newest_value(graph, event.loc) != event.value => return false,
            Kind::Read => {}
            // A read-modify-write that leaves what it found changes nothing.
            Kind::Write if event.is_rmw_write() && graph.event(event.pred).value == event.value => {}
            // A turn is nothing that the program does.
            Kind::Fence | Kind::Turn => {}
            _ => return true,
        }
    }
    true
}

/// The same for an iteration of which it is known where it began. It may write, too, if it leaves things as they were, or
/// writes the same each time: what it finds next where it has written is what it has left there itself.
fn finds_the_same_again(graph: &Graph, thread: ThreadId, began: EventId) -> bool {
    let mut own: SmallVec<[(LocId, u64); 8]> = SmallVec::new();
    for &e in &graph.thread(thread)[graph.event(began).index as usize - 1..] {
        let event = graph.event(e);
        let known = own.iter().position(|&(loc, _)| event.is_access() && loc == event.loc);
        match event.kind {
            // What a store overwrites it does not find, be there a read in the graph or not.
            Kind::Read if event.phantom => {}
            Kind::Read => {
                let found = known.map_or_else(|| newest_value(graph, event.loc), |at| own[at].1);
                if found != event.value {
                    return false;
                }
            }
            Kind::Write => match known {
                Some(at) => own[at].1 = event.value,
                None => own.push((event.loc, event.value)),
            },
            // What is chosen makes no difference.
            _ => {}
        }
    }
    true
}

fn newest_value(graph: &Graph, loc: LocId) -> u64 {
    graph.written(loc, graph.location(loc).write_at(graph.newest(loc)))
}

/// The first event of the iteration that a thread has made in vain, if that is known.
pub(crate) fn iteration<M: Machine>(machine: &M, graph: &Graph, thread: ThreadId) -> Option<EventId> {
    let steps = machine.iteration(thread).filter(|&steps| steps > 0)?;
    first_of_newest(graph, thread, steps)
}

/// The first event of the newest steps of a thread.
fn first_of_newest(graph: &Graph, thread: ThreadId, steps: usize) -> Option<EventId> {
    let own = |&&e: &&EventId| graph.event(e).thread == thread;
    let &step = graph.executed.iter().rev().filter(own).nth(steps - 1)?;
    let first = if graph.event(step).part.is_some() { graph.parts_of(step)[0] } else { step };
    let event = graph.event(first);
    Some(if event.is_rmw_write() { event.pred } else { first })
}

/// The execution of a graph, with an event that is not executed yet at its end.
pub fn schedule<M: Machine>(machine: &M, graph: &Graph, last: Option<EventId>) -> Schedule {
    let linear = linear::order(graph, last);
    let steps = linear.steps.into_iter().map(|e| (graph.event(e).thread, linear::choice(graph, e)));
    Schedule { links: linear.links, ..Schedule::record(machine, steps) }
}

/// The violation that a data race is.
pub fn race<M: Machine>(runner: &mut Runner<M>, graph: &Graph, older: EventId, newer: EventId) -> Stop {
    let (older, newer) = (racer(runner, graph, older), racer(runner, graph, newer));
    Stop::Violation(Box::new(racing::data_race(&older, &newer)))
}

/// The violation that an access to an object is whose owner's own writes do not happen before it.
pub fn race_with_owner<M: Machine>(runner: &mut Runner<M>, graph: &Graph, owner: ThreadId, access: EventId) -> Stop {
    let access = racer(runner, graph, access);
    let owner = runner.machine.thread_name(owner);
    Stop::Violation(Box::new(racing::race_with_owner(&access, &owner)))
}

/// The violation that a `free` is while another thread may still access the object.
pub fn race_with_free<M: Machine>(runner: &mut Runner<M>, graph: &Graph, access: EventId, free: EventId) -> Stop {
    let (access, free) = (racer(runner, graph, access), racer(runner, graph, free));
    Stop::Violation(Box::new(racing::race_with_free(&access, &free)))
}

fn racer<M: Machine>(runner: &mut Runner<M>, graph: &Graph, e: EventId) -> Racer {
    runner.bring_before(graph, e);
    let event = graph.event(e);
    let verb = match (event.kind, event.order.is_atomic()) {
        (Kind::Read, false) => "read",
        (Kind::Read, true) => "atomic read",
        (Kind::Write, false) => "write",
        (Kind::Write, true) => "atomic write",
        (Kind::Free, _) => "free",
        _ => "step",
    };
    Racer::pending(&runner.machine, event.thread, verb)
}

//! What a maximal execution means: complete, blocked, or a deadlock.
//!
//! An execution is complete if every thread ended, and blocked if some thread waits forever. That is a deadlock, unless
//! the process has ended (threads that still wait then are killed), or some thread is blocked by an assumption or stopped
//! at a violation or bound: then the execution was cut off, and what the others wait for might have come.
//!
//! A thread that would start an iteration of a loop again spins forever, or was cut off: `spin.rs` tells.

use crate::session::{Ending, Over, Session};
use crate::spin::{History, reads_the_same_again, would_try_again};
use selvedge_ir::EntityRef;
use selvedge_machine::schedule::Schedule;
use selvedge_machine::{Access, Machine, Op, Purpose, Sc, SourceSpan, Status, ThreadId, Violation, ViolationKind};

/// Classifies a maximal execution, and reports a deadlock or a leak. `bounded` says that some thread met a bound.
pub fn conclude<M: Machine>(
    sc: &mut Sc<M>,
    session: &mut Session<'_>,
    bounded: bool,
    history: &impl History,
    steps: impl Fn(&Sc<M>) -> Schedule,
) -> Result<Ending, Over> {
    let mut waiting = 0;
    let mut cut = false;
    let mut failed = false;
    for thread in sc.threads() {
        match sc.machine.status(thread) {
            _ if would_try_again(sc, thread) => match reads_the_same_again(sc, thread, history) {
                true => waiting += 1,
                false => cut = true,
            },
            Status::Ready => waiting += 1,
            Status::AssumeBlocked => cut = true,
            Status::Stopped => failed = true,
            Status::Absent | Status::Finished => {}
        }
    }
    if cut || failed {
        return Ok(if cut || bounded { Ending::Blocked } else { Ending::Complete });
    }
    if waiting > 0 {
        if session.options.deadlocks && !sc.machine.exited() {
            let violation = stuck(&sc.machine);
            session.violated(violation, || steps(sc))?;
        }
        return Ok(Ending::Blocked);
    }
    if let Err(stop) = sc.machine.at_end() {
        session.stopped(stop, || steps(sc))?;
    }
    Ok(Ending::Complete)
}

/// The deadlock (or livelock) of the threads that wait.
pub fn stuck<M: Machine>(machine: &M) -> Violation {
    let is_waiting = |&t: &ThreadId| matches!(machine.status(t), Status::Ready | Status::AssumeBlocked);
    let is_cut_off = |t: ThreadId| machine.status(t) == Status::AssumeBlocked;
    let mut waiting: Vec<ThreadId> = (0..machine.thread_limit()).map(ThreadId::new).filter(is_waiting).collect();
    // A thread that waits for the end of another is not the one to blame.
    waiting.sort_by_key(|&t| !is_cut_off(t) && matches!(machine.pending(t), Op::Join { .. }));
    let spins = |&t: &ThreadId| {
        is_cut_off(t)
            || matches!(machine.pending(t), Op::Access(access) if access.purpose == Purpose::Data && access.may_wait())
    };
    let kind = if waiting.iter().any(spins) { ViolationKind::Livelock } else { ViolationKind::Deadlock };
    let places: Vec<(SourceSpan, String)> = waiting.iter().map(|&t| waits_for(machine, t)).collect();
    // Whoever waits for a thread that spins, in `join` or at a lock, is not to blame.
    let to_blame = waiting.iter().filter(|t| kind == ViolationKind::Deadlock || spins(t));
    let names: Vec<String> = to_blame.map(|&t| machine.thread_name(t)).collect();
    let message = match (kind, names.as_slice()) {
        (ViolationKind::Livelock, [one]) => format!("{one} spins forever"),
        (_, [one]) => format!("{one} waits forever"),
        (ViolationKind::Livelock, _) => format!("{} spin forever", listed(&names)),
        _ => format!("{} wait forever", listed(&names)),
    };
    Violation { kind, message, places }
}

fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn waits_for<M: Machine>(machine: &M, thread: ThreadId) -> (SourceSpan, String) {
    let site = machine.site(thread);
    let name = machine.thread_name(thread);
    let spins = matches!(machine.pending(thread), Op::Access(Access { spins: true, .. }));
    if machine.status(thread) == Status::AssumeBlocked || spins {
        return (site.span, format!("{name} spins here"));
    }
    let what = match machine.pending(thread) {
        Op::Join { thread: other } => format!("the end of {}", machine.thread_name(*other)),
        Op::CondWake { .. } => format!("a signal on {}", or_it(&site.object)),
        _ => or_it(&site.object).to_owned(),
    };
    (site.span, format!("{name} waits here for {what}"))
}

fn or_it(object: &str) -> &str {
    if object.is_empty() { "another thread" } else { object }
}

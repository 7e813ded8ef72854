//! What a maximal execution means: complete, blocked, or a deadlock.
//!
//! An execution is complete if every process has ended or is a server that waits for more, or if one has ended all others.
//! If another process waits, it waits forever: that is an error, unless some process was stopped at a violation or bound, so
//! that what the others wait for might have come.

use crate::schedule::Schedule;
use crate::session::{Over, Session};
use crate::{Machine, Pid, Status, System};
use selvedge_ir::EntityRef;
use selvedge_machine::{SourceSpan, Violation, ViolationKind};

/// Whether a maximal execution is complete; reports processes that wait forever.
pub(crate) fn conclude<M: Machine>(
    system: &System<M>,
    session: &mut Session<'_>,
    bounded: bool,
    schedule: impl FnOnce() -> Schedule,
) -> Result<bool, Over> {
    let (mut stopped, mut halted, mut waiting) = (false, false, Vec::new());
    for pid in (0..system.roster.processes()).map(Pid::new).filter(|&pid| system.is_alive(pid)) {
        match system.machine.status(pid) {
            Status::Stopped => stopped = true,
            Status::Halted => halted = true,
            Status::Ready if !system.machine.is_server(pid) => waiting.push(pid),
            _ => {}
        }
    }
    if stopped || halted || bounded {
        return Ok(!bounded && (halted || waiting.is_empty()));
    }
    if !waiting.is_empty() {
        if session.options.deadlocks {
            session.violated(stuck(system, &waiting), schedule)?;
        }
        return Ok(false);
    }
    Ok(true)
}

/// The deadlock of the processes that wait.
fn stuck<M: Machine>(system: &System<M>, waiting: &[Pid]) -> Violation {
    let names: Vec<String> = waiting.iter().map(|&pid| system.machine.name(pid)).collect();
    let places: Vec<(SourceSpan, String)> = waiting.iter().map(|&pid| waits_for(system, pid)).collect();
    let message = match names.as_slice() {
        [one] => format!("{one} waits forever for a message"),
        [first @ .., last] => format!("{} and {last} wait forever for messages", first.join(", ")),
        [] => String::new(),
    };
    Violation { kind: ViolationKind::Deadlock, message, places }
}

fn waits_for<M: Machine>(system: &System<M>, pid: Pid) -> (SourceSpan, String) {
    let name = system.machine.name(pid);
    let what = system.machine.waits_for(pid);
    let what = if what.is_empty() { "a message".to_owned() } else { what };
    let there: Vec<String> = system.mailbox(pid).map(|message| system.machine.show_refused(pid, message)).collect();
    let rest = match there.as_slice() {
        [] => "its mailbox is empty".to_owned(),
        there => format!("in its mailbox, and not accepted: {}", there.join(", ")),
    };
    (system.machine.place(pid), format!("{name} waits here for {what}; {rest}"))
}

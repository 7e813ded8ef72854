//! What a maximal execution means: complete, blocked, or a deadlock.
//!
//! An execution is complete if every thread ended, and blocked if some thread waits forever. That is a deadlock, unless
//! the process has ended (threads that still wait then are killed), or some thread is blocked by an assumption or stopped
//! at a violation or bound: then the execution was cut off, and what the others wait for might have come.
//!
//! A thread that would start an iteration of a loop again spins forever, or was cut off: `spin.rs` tells.

use crate::spin::{History, reads_the_same_again, would_try_again};
use selvedge_machine::schedule::Schedule;
use selvedge_machine::session::{Ending, Over, Session};
use selvedge_machine::stuck::stuck;
use selvedge_machine::{Machine, Sc, Status};

/// Classifies a maximal execution, and reports a deadlock or a leak. `bounded` says that some thread met a bound.
pub fn conclude<M: Machine>(
    sc: &mut Sc<M>,
    session: &mut Session<'_>,
    bounded: bool,
    history: &impl History,
    steps: impl Fn(&Sc<M>) -> Schedule,
) -> Result<Ending, Over> {
    sc.machine.ends();
    let mut waiting = 0;
    let mut cut = false;
    let mut failed = false;
    let mut cut_off = Vec::new();
    for thread in sc.threads() {
        match sc.machine.status(thread) {
            Status::Ready if sc.machine.times_out(thread) => cut = true,
            _ if would_try_again(sc, thread) => match reads_the_same_again(sc, thread, history) {
                true => waiting += 1,
                false if sc.machine.status(thread) == Status::AssumeBlocked => cut_off.push(thread),
                false => cut = true,
            },
            Status::Ready => waiting += 1,
            Status::AssumeBlocked => cut_off.push(thread),
            Status::Stopped => failed = true,
            Status::Absent | Status::Finished => {}
        }
    }
    if !cut_off.is_empty() {
        // What is there is in memory.
        let go_on = !cut && !failed && session.limits.deadlocks && sc.machine.go_round_for_ever(&cut_off, &[]);
        waiting += if go_on { cut_off.len() } else { 0 };
        cut |= !go_on;
    }
    if cut || failed {
        return Ok(if cut || bounded { Ending::Blocked } else { Ending::Complete });
    }
    if waiting > 0 {
        if session.limits.deadlocks && !sc.machine.exited() {
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

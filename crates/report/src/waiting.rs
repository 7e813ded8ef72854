//! What blocked threads wait for, and who holds it.

use crate::words::{self, Names};
use selvedge_machine::schedule::{EventRecord, Replay};
use selvedge_machine::{Addr, Op, Purpose, Status, ThreadId};
use std::collections::BTreeMap;

/// A thread that holds a lock at the end of an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holder {
    /// The thread.
    pub thread: ThreadId,
    /// The position of the step that acquired it.
    pub since: usize,
}

/// Who holds which lock at the end of an execution.
pub fn holders(replay: &Replay) -> BTreeMap<Addr, Vec<Holder>> {
    let mut held: BTreeMap<Addr, Vec<Holder>> = BTreeMap::new();
    for (since, event) in replay.events.iter().enumerate() {
        let Op::Access(access) = event.op else { continue };
        let holders = held.entry(access.addr).or_default();
        match access.purpose {
            Purpose::Lock if acquires(event) => holders.push(Holder { thread: event.thread, since }),
            Purpose::Unlock => {
                // Locks that are released by somebody else than their holder are reported as misuse, not here.
                if let Some(newest) = holders.iter().rposition(|h| h.thread == event.thread) {
                    holders.remove(newest);
                }
            }
            _ => {}
        }
    }
    held.retain(|_, holders| !holders.is_empty());
    held
}

/// A semaphore has no holder: whoever posts it need not have waited for it.
fn acquires(event: &EventRecord) -> bool {
    event.done.new.is_some() && !event.site.call.starts_with("sem_")
}

/// One sentence for every thread that has not ended.
pub fn describe(replay: &Replay, names: &Names) -> Vec<String> {
    let held = holders(replay);
    let mut lines = Vec::new();
    for end in &replay.threads {
        let text = match (end.status, &end.waiting) {
            (Status::Ready, Some((op, site))) => {
                let wait = words::describe_wait(op, site, names);
                let holder = words::address(op).and_then(|addr| held.get(&addr));
                format!(
                    "waits {wait} at {}{}",
                    site.span,
                    holder.map_or(String::new(), |h| held_by(h, end.thread, names))
                )
            }
            (Status::AssumeBlocked, _) if end.spins.is_some() => {
                let place = end.spins.as_ref().map_or(String::new(), |site| format!(" at {}", site.span));
                format!("spins{place}: an iteration changes nothing")
            }
            (Status::AssumeBlocked, _) => "is blocked by an assumption that does not hold".to_owned(),
            _ => continue,
        };
        lines.push(format!("{} {text}", end.name));
    }
    lines
}

fn held_by(holders: &[Holder], waiting: ThreadId, names: &Names) -> String {
    let name = |h: &Holder| {
        let who = if h.thread == waiting { "itself".to_owned() } else { names.thread(h.thread) };
        format!("{who} since step {}", h.since + 1)
    };
    format!(", held by {}", holders.iter().map(name).collect::<Vec<_>>().join(" and "))
}

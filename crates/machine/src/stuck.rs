//! Threads that wait forever, in words.

use crate::{Access, Machine, Op, Purpose, SourceSpan, Status, ThreadId, Violation, ViolationKind};
use selvedge_ir::EntityRef;

/// The deadlock (or livelock) of the threads that wait.
pub fn stuck<M: Machine>(machine: &M) -> Violation {
    let is_waiting = |&t: &ThreadId| matches!(machine.status(t), Status::Ready | Status::AssumeBlocked);
    let is_cut_off = |t: ThreadId| machine.status(t) == Status::AssumeBlocked;
    let mut waiting: Vec<ThreadId> = (0..machine.thread_limit()).map(ThreadId::new).filter(is_waiting).collect();
    // A thread that waits for the end of another is not the one to blame.
    waiting.sort_by_key(|&t| !is_cut_off(t) && matches!(machine.pending(t), Op::Join { .. }));
    let spins = |&t: &ThreadId| {
        is_cut_off(t)
            || matches!(machine.pending(t), Op::Access(access)
                if access.spins || access.purpose == Purpose::Data && access.may_wait())
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

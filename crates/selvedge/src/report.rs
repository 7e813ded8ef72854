//! What went wrong, in words.

use crate::runtime;
use crate::sync::channel::{CHANNEL, MESSAGE, NEVER, NO_RECEIVER, ROOM, SENDERS, TAKER};
use selvedge_ir::{Order, RmwOp};
use selvedge_machine::schedule::EventRecord;
use selvedge_machine::verdict::Interruption;
use selvedge_machine::{Access, AccessKind, Addr, Op, Purpose, ThreadId, Unsupported, Violation, ViolationKind};
use std::fmt::Write;

/// An object in words.
pub(crate) fn object(addr: Addr) -> String {
    runtime::shared(|shared| match (shared.origins.get(&addr), shared.parks.get(&addr)) {
        (Some((what, at)), _) => format!("{what} (made at {}:{}:{})", at.file(), at.line(), at.column()),
        (None, Some(&thread)) => format!("an unpark of {}", shared.threads.name(thread)),
        (None, None) => String::new(),
    })
}

fn on(addr: Addr) -> String {
    let object = object(addr);
    if object.is_empty() { "an object from outside the model".to_owned() } else { object }
}

/// A value of an access in words.
pub(crate) fn value(access: &Access, value: u64) -> String {
    let what = runtime::shared(|shared| shared.origins.get(&access.addr).map_or("", |(what, _)| what));
    let bits = 64 - 8 * u32::from(access.size.clamp(1, 8));
    match what {
        "AtomicBool" => (value != 0).to_string(),
        "AtomicPtr" if value == 0 => "null".to_owned(),
        "AtomicPtr" => format!("{value:#x}"),
        what if what.starts_with("AtomicI") => (((value << bits) as i64) >> bits).to_string(),
        _ => value.to_string(),
    }
}

/// An operation in words.
pub(crate) fn operation(op: &Op) -> String {
    match op {
        Op::Access(access) => access_in_words(access),
        Op::Fence { order } => format!("fence {}", order_in_words(*order)),
        Op::Spawn { child } => format!("spawns {}", name(*child)),
        Op::Join { thread } => format!("joins {}", name(*thread)),
        Op::CondWait { cond } => format!("starts to wait on {}", on(*cond)),
        Op::CondWake { cond, .. } => format!("wakes from {}", on(*cond)),
        Op::CondSignal { cond } => format!("notifies one on {}", on(*cond)),
        Op::CondBroadcast { cond } => format!("notifies all on {}", on(*cond)),
        Op::Choose { alternatives } => format!("chooses one of {alternatives}"),
        Op::Free { addr, .. } => format!("frees {}", on(*addr)),
        Op::AtomicBegin | Op::AtomicEnd => "an atomic section".to_owned(),
    }
}

/// A thread in words.
pub(crate) fn name(thread: ThreadId) -> String {
    runtime::shared(|shared| shared.threads.name(thread))
}

fn order_in_words(order: Order) -> &'static str {
    match order {
        Order::Plain => "not atomic",
        Order::Relaxed => "Relaxed",
        Order::Acquire => "Acquire",
        Order::Release => "Release",
        Order::AcqRel => "AcqRel",
        Order::SeqCst => "SeqCst",
    }
}

/// What is done with a word of a channel, in words; none if it is not one of a channel.
fn channel_in_words(access: &Access) -> Option<String> {
    let (what, at) = runtime::shared(|shared| shared.origins.get(&access.addr).copied())?;
    let does = match (what, access.kind) {
        (CHANNEL, AccessKind::Rmw { op: RmwOp::Add, .. }) => "sends to",
        (CHANNEL, AccessKind::Rmw { operand: NO_RECEIVER, .. }) => "drops the receiver of",
        (CHANNEL, AccessKind::Rmw { .. }) => "drops the last sender of",
        (CHANNEL, AccessKind::Cas { .. }) => "tries to send to",
        (CHANNEL, _) => "looks into",
        (SENDERS, AccessKind::Rmw { op: RmwOp::Add, .. }) => "clones a sender of",
        (SENDERS, _) => "drops a sender of",
        (MESSAGE, AccessKind::Store { value: NEVER }) => "ends",
        (MESSAGE, AccessKind::Store { .. }) => "hands a message over to",
        (MESSAGE, _) => "receives from",
        (ROOM, AccessKind::Store { value: NEVER }) => "turns away a sender from",
        (ROOM, AccessKind::Store { .. }) => "makes room in",
        (ROOM, _) if access.until.is_none() => "looks for room in",
        (ROOM, _) => "waits for room in",
        (TAKER, AccessKind::Store { value: NEVER }) => "turns away a sender from",
        (TAKER, AccessKind::Store { .. }) => "lets a sender go on of",
        (TAKER, _) => "waits for the receiver of",
        _ => return None,
    };
    Some(format!("{does} a channel (made at {}:{}:{})", at.file(), at.line(), at.column()))
}

fn access_in_words(access: &Access) -> String {
    if let Some(words) = channel_in_words(access) {
        return words;
    }
    let (object, order) = (on(access.addr), order_in_words(access.order));
    let shown = |n: u64| value(access, n);
    match (access.purpose, access.kind) {
        (Purpose::Lock, _) => format!("locks {object}"),
        (Purpose::Unlock, _) => format!("unlocks {object}"),
        (Purpose::Sync, AccessKind::Load) => format!("waits for {object}"),
        (Purpose::Sync, _) if access.until.is_some() => format!("waits for {object}"),
        (Purpose::Sync, _) => format!("signals {object}"),
        (_, AccessKind::Cas { .. }) if is_lock(access.addr) => format!("tries to lock {object}"),
        (_, AccessKind::Load) => format!("load, {order}, of {object}"),
        (_, AccessKind::Store { .. }) if access.order == Order::Plain => format!("write, {order}, of {object}"),
        (_, AccessKind::Store { value }) => format!("store of {}, {order}, to {object}", shown(value)),
        (_, AccessKind::Rmw { op: RmwOp::Xchg, operand, .. }) => {
            format!("swap with {}, {order}, on {object}", shown(operand))
        }
        (_, AccessKind::Rmw { op, operand, .. }) => format!("{op} {}, {order}, on {object}", shown(operand)),
        (_, AccessKind::Cas { expected, new, failure }) => {
            let (expected, new, failure) = (shown(expected), shown(new), order_in_words(failure));
            format!("compare-exchange of {expected} to {new}, {order} or {failure}, on {object}")
        }
    }
}

fn is_lock(addr: Addr) -> bool {
    let what = runtime::shared(|shared| shared.origins.get(&addr).map_or("", |(what, _)| what));
    matches!(what, "Mutex" | "RwLock")
}

/// A violation in words.
pub(crate) fn violation(violation: &Violation) -> String {
    let mut text = format!("{}: {}\n", violation.kind, violation.message);
    for (place, what) in violation.places.iter().filter(|(place, _)| place.line > 0) {
        let what = if what.is_empty() { String::new() } else { format!(" ({what})") };
        let _ = writeln!(text, "  at {place}{what}");
    }
    text
}

/// What is wrong with an execution that was cut off because of what its last step has to do with older ones, in words.
pub(crate) fn cut_off(kind: Option<ViolationKind>, events: &[EventRecord]) -> String {
    let (Some((last, older)), Some(ViolationKind::DataRace)) = (events.split_last(), kind) else {
        return "use-after-free: an object is freed while another thread may still access it\n".to_owned();
    };
    let conflicts = |event: &EventRecord| match (&event.op, &last.op) {
        (Op::Access(a), Op::Access(b)) => {
            let writes = event.done.new.is_some() || last.done.new.is_some();
            let both_atomic = a.order.is_atomic() && b.order.is_atomic();
            event.thread != last.thread && a.addr == b.addr && writes && !both_atomic
        }
        _ => false,
    };
    let with: Vec<String> = (1..).zip(older).filter(|(_, e)| conflicts(e)).map(|(n, _)| format!("step {n}")).collect();
    let with = match with.len() {
        0 => "what another thread did to the object before others knew of it".to_owned(),
        1 => with[0].clone(),
        _ => format!("one of {}", with.join(", ")),
    };
    format!("data-race: step {} races with {with}\n", events.len())
}

/// Something that cannot be explored, in words.
pub(crate) fn unsupported(unsupported: &Unsupported) -> String {
    format!("this cannot be explored: {}\n  at {}\n", unsupported.feature, unsupported.place)
}

/// Why an exploration ended before everything was explored.
pub(crate) fn interruption(why: Interruption) -> &'static str {
    match why {
        Interruption::FirstViolation => "it ended at the first failure",
        Interruption::MaxExecutions => "the bound on the number of executions was reached",
        Interruption::MaxEvents => "an execution was longer than the bound: a loop may never end",
        Interruption::Time => "the bound on time was reached",
        Interruption::User => "it was interrupted",
    }
}

//! What went wrong, in words.

use crate::runtime;
use selvedge_ir::Order;
use selvedge_machine::verdict::Interruption;
use selvedge_machine::{Access, AccessKind, Addr, Op, Purpose, ThreadId, Violation};
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

fn access_in_words(access: &Access) -> String {
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

/// How to run an execution again.
pub(crate) fn command(recorded: &str) -> String {
    let test = std::thread::current().name().filter(|name| *name != "main").map(str::to_owned);
    let test = test.map_or(String::new(), |name| format!(" {name} -- --exact --nocapture"));
    format!("to run this one execution again: SELVEDGE_REPLAY='{recorded}' cargo test{test}\n")
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

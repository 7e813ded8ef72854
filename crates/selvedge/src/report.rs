//! What went wrong, in words.

use crate::machine::Step;
use crate::runtime;
use selvedge_ir::Order;
use selvedge_machine::verdict::{Exploration, Interruption};
use selvedge_machine::{Access, AccessKind, Addr, Op, Purpose, Violation};
use std::fmt::Write;

/// An object in words.
pub(crate) fn object(addr: Addr) -> String {
    runtime::shared(|shared| match shared.origins.get(&addr) {
        Some((what, at)) => format!("{what} (made at {}:{}:{})", at.file(), at.line(), at.column()),
        None => String::new(),
    })
}

fn on(addr: Addr) -> String {
    let object = object(addr);
    if object.is_empty() { "an object from outside the model".to_owned() } else { object }
}

/// An operation in words.
pub(crate) fn operation(op: &Op) -> String {
    match op {
        Op::Access(access) => access_in_words(access),
        Op::Fence { order } => format!("fence {}", order_in_words(*order)),
        Op::Spawn { child } => format!("spawns {}", name(*child)),
        Op::Join { thread } => format!("joins {}", name(*thread)),
        Op::CondWait { cond } => format!("starts to wait on {}", on(*cond)),
        Op::CondWake { cond, .. } => format!("is woken on {}", on(*cond)),
        Op::CondSignal { cond } => format!("notifies one on {}", on(*cond)),
        Op::CondBroadcast { cond } => format!("notifies all on {}", on(*cond)),
        Op::Choose { alternatives } => format!("chooses one of {alternatives}"),
        Op::Free { addr, .. } => format!("frees {}", on(*addr)),
        Op::AtomicBegin | Op::AtomicEnd => "an atomic section".to_owned(),
    }
}

fn name(thread: selvedge_machine::ThreadId) -> String {
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
    match (access.purpose, access.kind) {
        (Purpose::Lock, _) => format!("locks {object}"),
        (Purpose::Unlock, _) => format!("unlocks {object}"),
        (_, AccessKind::Load) => format!("load, {order}, of {object}"),
        (_, AccessKind::Store { .. }) if access.order == Order::Plain => format!("write, {order}, of {object}"),
        (_, AccessKind::Store { value }) => format!("store of {value}, {order}, to {object}"),
        (_, AccessKind::Rmw { op, operand, .. }) => format!("{op} {operand}, {order}, on {object}"),
        (_, AccessKind::Cas { expected, new, .. }) => {
            format!("compare-exchange of {expected} to {new}, {order}, on {object}")
        }
    }
}

fn found(step: &Step) -> String {
    match step.op {
        Op::Access(access) if access.purpose == Purpose::Data && access.reads() && access.order != Order::Plain => {
            format!(" -> {}", step.outcome)
        }
        Op::Choose { .. } => format!(" -> {}", step.outcome),
        _ => String::new(),
    }
}

/// A violation with the execution that shows it.
pub(crate) fn failure(violation: &Violation, result: &Exploration, steps: &[Step], model: &str) -> String {
    let mut text = format!("{}: {}\n", violation.kind, violation.message);
    for (place, what) in violation.places.iter().filter(|(place, _)| place.line > 0) {
        let what = if what.is_empty() { String::new() } else { format!(" ({what})") };
        let _ = writeln!(text, "  at {place}{what}");
    }
    let explored = result.complete + result.blocked;
    let _ = writeln!(text, "in this execution (memory model {model}; {explored} others were explored before it):");
    let names: Vec<String> = steps.iter().map(|step| name(step.thread)).collect();
    let places: Vec<String> =
        steps.iter().map(|step| format!("{}:{}:{}", step.at.file(), step.at.line(), step.at.column())).collect();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let wide = places.iter().map(String::len).max().unwrap_or(0);
    for ((step, name), place) in steps.iter().zip(&names).zip(&places) {
        let _ = writeln!(text, "  {name:width$}  {place:wide$}  {}{}", operation(&step.op), found(step));
    }
    text
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

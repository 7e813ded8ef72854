//! What went wrong, in words.

use crate::runtime::{self, At};
use crate::sync::WRITER;
use crate::sync::channel::{CHANNEL, MESSAGE, NEVER, NO_RECEIVER, ROOM, SENDERS, SENT, TAKER};
use crate::text::Text;
use selvedge_ir::{Order, RmwOp};
use selvedge_machine::schedule::EventRecord;
use selvedge_machine::verdict::Interruption;
use selvedge_machine::{Access, AccessKind, Addr, Op, Purpose, ThreadId, Unsupported, Violation, ViolationKind};
use std::fmt::Write;

/// An object in words; nothing if it is not known.
pub(crate) fn object(addr: Addr) -> String {
    let mut text = String::with_capacity(ROOM_FOR_OPERATION);
    add_object(&mut text, addr);
    text
}

/// What blocks from `alloc::alloc` are called.
pub(crate) const BLOCK: &str = "block of memory from `alloc`";

/// Most operations need no more characters.
const ROOM_FOR_OPERATION: usize = 120;

fn add_object(text: &mut String, addr: Addr) {
    runtime::shared(|shared| match (shared.origins.get(&addr), shared.parks.get(&addr)) {
        (Some((what, at)), _) => {
            text.add(what).add(" (made at ").at(at).add(")");
        }
        (None, Some(&thread)) => shared.threads.add_name(thread, text.add("an unpark of ")),
        (None, None) => {}
    });
}

/// Adds some words and an object.
fn add_on(text: &mut String, words: &str, addr: Addr) {
    text.push_str(words);
    let before = text.len();
    add_object(text, addr);
    if text.len() == before {
        text.push_str("an object from outside the model");
    }
}

/// A value of an access in words.
pub(crate) fn add_value(text: &mut String, access: &Access, value: u64) {
    let what = what_is(access.addr);
    let bits = 64 - 8 * u32::from(access.size.clamp(1, 8));
    match what {
        "AtomicBool" => text.push_str(if value != 0 { "true" } else { "false" }),
        "AtomicPtr" if value == 0 => text.push_str("null"),
        "AtomicPtr" => drop(write!(text, "{value:#x}")),
        what if what.starts_with("AtomicI") => {
            let value = ((value << bits) as i64) >> bits;
            text.add(if value < 0 { "-" } else { "" }).number(value.unsigned_abs());
        }
        _ => {
            text.number(value);
        }
    }
}

/// An operation in words.
pub(crate) fn operation(op: &Op) -> String {
    let mut text = String::with_capacity(ROOM_FOR_OPERATION);
    add_operation(&mut text, op);
    text
}

/// Adds an operation in words.
pub(crate) fn add_operation(text: &mut String, op: &Op) {
    match op {
        Op::Access(access) => add_access(text, access),
        Op::Fence { order } => {
            text.add("fence ").add(order_in_words(*order));
        }
        Op::Spawn { child } => add_name(text.add("spawns "), *child),
        Op::Join { thread } => add_name(text.add("joins "), *thread),
        Op::CondWait { cond } => add_on(text, "starts to wait on ", *cond),
        Op::CondWake { cond, .. } => add_on(text, "wakes from ", *cond),
        Op::CondSignal { cond } => add_on(text, "notifies one on ", *cond),
        Op::CondBroadcast { cond } => add_on(text, "notifies all on ", *cond),
        Op::Choose { alternatives } => {
            text.add("chooses one of ").number((*alternatives).into());
        }
        Op::Free { addr, .. } => add_on(text, if is_block(*addr) { "frees " } else { "frees the memory of " }, *addr),
        Op::AtomicBegin | Op::AtomicEnd => text.push_str("an atomic section"),
    }
}

/// Whether an address is that of a block of memory, and not of something in one.
fn is_block(addr: Addr) -> bool {
    runtime::shared(|shared| shared.origins.get(&addr).is_some_and(|(what, _)| *what == BLOCK))
}

/// A thread in words.
pub(crate) fn name(thread: ThreadId) -> String {
    runtime::shared(|shared| shared.threads.name(thread))
}

/// Adds a thread in words.
pub(crate) fn add_name(text: &mut String, thread: ThreadId) {
    runtime::shared(|shared| shared.threads.add_name(thread, text));
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

/// What is done with a word of a channel, and where that was made; none if it is not one of a channel.
fn channel_in_words(access: &Access) -> Option<(&'static str, At)> {
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
        (MESSAGE, _) if access.until == Some(SENT) => "lets another sender come first in",
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
    Some((does, at))
}

fn add_access(text: &mut String, access: &Access) {
    if let Some((does, at)) = channel_in_words(access) {
        text.add(does).add(" a channel (made at ").at(at).add(")");
        return;
    }
    let still_reads = access.kind == (AccessKind::Store { value: 1 }) && is_read_write(access.addr);
    let words = match (access.purpose, access.kind) {
        (Purpose::Lock, _) => Some("locks "),
        (Purpose::Unlock, _) if still_reads => Some("downgrades "),
        (Purpose::Unlock, _) => Some("unlocks "),
        (Purpose::Sync, AccessKind::Load) => Some("waits for "),
        (Purpose::Sync, _) if access.until.is_some() => Some("waits for "),
        (Purpose::Sync, _) => Some("signals "),
        (_, AccessKind::Cas { .. }) if is_lock(access.addr) => Some("tries to lock "),
        _ => None,
    };
    if let Some(words) = words {
        add_on(text, words, access.addr);
        return text.push_str(how_it_locks(access));
    }
    let order = order_in_words(access.order);
    match access.kind {
        AccessKind::Load => add_on(text.add("load, ").add(order), ", of ", access.addr),
        AccessKind::Store { .. } if access.order == Order::Plain => {
            add_on(text.add("write, ").add(order), ", of ", access.addr);
        }
        AccessKind::Store { value } => {
            add_value(text.add("store of "), access, value);
            add_on(text.add(", ").add(order), ", to ", access.addr);
        }
        AccessKind::Rmw { op, operand, .. } => {
            match op {
                RmwOp::Xchg => text.push_str("swap with "),
                op => drop(write!(text, "{op} ")),
            }
            add_value(text, access, operand);
            add_on(text.add(", ").add(order), ", on ", access.addr);
        }
        AccessKind::Cas { expected, new, failure } => {
            add_value(text.add("compare-exchange of "), access, expected);
            add_value(text.add(" to "), access, new);
            add_on(text.add(", ").add(order).add(" or ").add(order_in_words(failure)), ", on ", access.addr);
        }
    }
}

/// Whether a lock is, or would be, taken to read or to write, if it is one that makes a difference between them.
fn how_it_locks(access: &Access) -> &'static str {
    let takes = access.purpose == Purpose::Lock || matches!(access.kind, AccessKind::Cas { .. });
    match access.kind {
        _ if !takes || !is_read_write(access.addr) => "",
        AccessKind::Cas { new: WRITER, .. } | AccessKind::Rmw { operand: WRITER, .. } => " to write",
        _ => " to read",
    }
}

fn is_read_write(addr: Addr) -> bool {
    what_is(addr) == "RwLock"
}

fn is_lock(addr: Addr) -> bool {
    matches!(what_is(addr), "Mutex" | "RwLock")
}

/// The name of what is at an address; none if it is not known.
fn what_is(addr: Addr) -> &'static str {
    runtime::shared(|shared| shared.origins.get(&addr).map_or("", |(what, _)| what))
}

/// A violation in words.
pub(crate) fn violation(violation: &Violation) -> String {
    let mut text = String::with_capacity(4 * ROOM_FOR_OPERATION);
    text.add(violation.kind.name()).add(": ").add(&violation.message).add("\n");
    for (place, what) in violation.places.iter().filter(|(place, _)| place.line > 0) {
        text.add("  at ").span(place);
        if !what.is_empty() {
            text.add(" (").add(what).add(")");
        }
        text.push('\n');
    }
    text
}

/// What is wrong with an execution that was cut off because of what its last step has to do with older ones, in words.
pub(crate) fn cut_off(kind: Option<ViolationKind>, events: &[EventRecord]) -> String {
    if kind != Some(ViolationKind::DataRace) {
        return "use-after-free: an object is freed while another thread may still access it\n".to_owned();
    }
    let Some((last, older)) = events.split_last() else { return "data-race\n".to_owned() };
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

//! Data races in words: two accesses that nothing orders, or an access and a `free`.

use crate::machine::{Machine, Status};
use crate::op::{Addr, Op, ThreadId};
use crate::stop::{SourceSpan, Violation, ViolationKind};

/// What is said of a race if one of the accesses is volatile.
const NOT_ATOMIC: &str = "; `volatile` does not make an access atomic";

/// One of the two that race.
pub struct Racer {
    /// `read`, `atomic write`, `free`.
    pub verb: &'static str,
    /// Its thread.
    pub thread: String,
    /// Where it stands in the source.
    pub span: SourceSpan,
    /// What it touches in the words of the source; empty if that is not known.
    object: String,
    /// The bytes that it touches, if it is an access to memory.
    bytes: Option<(Addr, u8)>,
    volatile: bool,
}

impl Racer {
    /// What a thread is about to do.
    pub fn pending<M: Machine>(machine: &M, thread: ThreadId, verb: &'static str) -> Racer {
        let site = machine.site(thread);
        // A thread that has met a violation with an access still stands there, but has nothing pending.
        let can_go_on = matches!(machine.status(thread), Status::Ready | Status::AssumeBlocked);
        let bytes = match can_go_on.then(|| *machine.pending(thread)) {
            Some(Op::Access(access)) => Some((access.addr, access.size)),
            _ => None,
        };
        let (span, object, volatile) = (site.span, site.object, site.volatile);
        Racer { verb, thread: machine.thread_name(thread), span, object, bytes, volatile }
    }

    /// What it touches.
    pub fn object(&self) -> &str {
        if self.object.is_empty() { "an object" } else { &self.object }
    }

    /// The place in the source, with a label.
    pub fn place(&self) -> (SourceSpan, String) {
        (self.span.clone(), format!("{} by {}", self.verb, self.thread))
    }
}

/// The violation that a data race is.
pub fn data_race(older: &Racer, newer: &Racer) -> Violation {
    let object = common(older, newer);
    let on = if object.is_empty() { String::new() } else { format!(" on {object}") };
    let hint = if older.volatile || newer.volatile { NOT_ATOMIC } else { "" };
    let message =
        format!("data race{on}: {} by {} and {} by {}{hint}", older.verb, older.thread, newer.verb, newer.thread);
    Violation { kind: ViolationKind::DataRace, message, places: vec![newer.place(), older.place()] }
}

/// The name of what both touch. It is the smaller one's if a structure is copied by the other, or the one that begins later.
fn common<'a>(older: &'a Racer, newer: &'a Racer) -> &'a str {
    let is_later = match (older.bytes, newer.bytes) {
        (Some((a, m)), Some((b, n))) => b > a || (a == b && n < m),
        _ => false,
    };
    let (best, other) = if is_later { (newer, older) } else { (older, newer) };
    if best.object.is_empty() { &other.object } else { &best.object }
}

/// The violation that a `free` is while another thread may still access the object.
pub fn race_with_free(access: &Racer, free: &Racer) -> Violation {
    let message = format!(
        "{} frees {} while {} may still access it: the {} does not happen before the free",
        free.thread,
        access.object(),
        access.thread,
        access.verb,
    );
    Violation { kind: ViolationKind::UseAfterFree, message, places: vec![free.place(), access.place()] }
}

//! An execution as a table: a line for every step, in an order in which nobody reads what was not written yet.

use crate::nondet;
use crate::report::{name, operation, value};
use selvedge_ir::Order;
use selvedge_machine::schedule::{EventRecord, Replay, Source, ThreadEnd};
use selvedge_machine::{Access, Op, Purpose, Status};
use std::fmt::Write;

/// The steps of an execution, and where its threads are at its end. If that is their fault, they stay there for ever.
pub(crate) fn table(replay: &Replay, forever: bool) -> String {
    let rows: Vec<[String; 4]> =
        replay.events.iter().enumerate().map(|(n, event)| row(&replay.events, n, event)).collect();
    let heads = ["step", "thread", "place", "what it does"];
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heads[column].len()]).max().unwrap_or(0)
    };
    let [first, second, third] = [0, 1, 2].map(width);
    let mut text = String::new();
    for [n, thread, place, what] in std::iter::once(&heads.map(str::to_owned)).chain(&rows) {
        let _ = writeln!(text, "  {n:>first$}  {thread:second$}  {place:third$}  {what}");
    }
    for end in &replay.threads {
        let waits = match (end.status, &end.waiting, &end.spins) {
            (Status::Ready, Some((op, site)), _) if !forever => {
                let _ = writeln!(text, "  {} has come to {}: {}", end.name, site.span, operation(op));
                continue;
            }
            (Status::Ready, Some((Op::Access(access), site)), _) if access.spins => {
                format!("spins forever at {}", site.span)
            }
            (Status::Ready, Some((op, site)), _) => format!("waits forever at {}: {}", site.span, operation(op)),
            (_, _, Some(site)) => format!("spins forever at {}", site.span),
            _ => continue,
        };
        let _ = writeln!(text, "  {} {waits}", end.name);
        for line in again_and_again(&replay.events, end) {
            let _ = writeln!(text, "    again and again: {line}");
        }
    }
    text
}

/// What a thread that spins forever reads, from whom and where: all its reads since it last changed something, the newest at
/// each place; and the locks that it takes.
fn again_and_again(events: &[EventRecord], end: &ThreadEnd) -> Vec<String> {
    if let (Status::Ready, Some((Op::Access(access), _))) = (end.status, &end.waiting) {
        let waits = access.purpose == Purpose::Data && access.may_wait();
        let value = |source| match source {
            Source::Initial => None,
            Source::Step(n) => events[n].done.new,
        };
        let now = last_write(events, access);
        return waits.then(|| read_in_words(events, access, value(now), now)).into_iter().collect();
    }
    if end.spins.is_none() {
        return Vec::new();
    }
    let (mut lines, mut listed) = (Vec::new(), Vec::new());
    for (n, event) in events.iter().enumerate().rev().filter(|(_, event)| event.thread == end.thread) {
        match &event.op {
            Op::Fence { .. } | Op::Access(Access { purpose: Purpose::Unlock, .. }) => {}
            Op::Access(Access { purpose: Purpose::Lock, .. }) => {
                let line = format!("{}: {}", event.site.span, operation(&event.op));
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
            Op::Access(access) if access.reads() && event.done.new.is_none_or(|new| new == event.done.old) => {
                let place = (&event.site.span, access.addr);
                if listed.contains(&place) {
                    continue;
                }
                listed.push(place);
                let what = read_in_words(events, access, Some(event.done.old), source(events, n, access));
                lines.push(format!("{}: {what}", event.site.span));
            }
            _ => break,
        }
    }
    lines.reverse();
    lines
}

/// A read, its value and who wrote that.
fn read_in_words(events: &[EventRecord], access: &Access, found: Option<u64>, from: Source) -> String {
    let found = found.map_or(String::new(), |found| format!(" -> {}", value(access, found)));
    let from = match from {
        Source::Initial => "its first value".to_owned(),
        Source::Step(n) => {
            let writer = &events[n];
            format!("from step {}, {} at {}", n + 1, name(writer.thread), writer.site.span)
        }
    };
    format!("{}{found} ({from})", operation(&Op::Access(*access)))
}

/// The coherence-last write to what an access is to.
fn last_write(events: &[EventRecord], access: &Access) -> Source {
    let writes = events.iter().enumerate().filter(|(_, event)| {
        matches!(&event.op, Op::Access(other) if other.addr == access.addr) && event.done.new.is_some()
    });
    // In an interleaving there are no places, and the last one is the last.
    writes.max_by_key(|(n, event)| (event.link.place, *n)).map_or(Source::Initial, |(n, _)| Source::Step(n))
}

fn row(events: &[EventRecord], n: usize, event: &EventRecord) -> [String; 4] {
    let mut what = operation(&event.op);
    if let Op::Access(access) = &event.op
        && access.purpose == Purpose::Data
        && access.reads()
        && access.order != Order::Plain
    {
        let _ = write!(what, " -> {}", value(access, event.done.old));
        match source(events, n, access) {
            Source::Initial => what.push_str(" (its first value)"),
            Source::Step(from) => drop(write!(what, " (from step {})", from + 1)),
        }
        if let Some(missed) = event.missed {
            let _ = write!(what, ", not the newer one of step {}", missed + 1);
        }
    }
    if let Op::Choose { .. } = event.op {
        what = match (nondet::without_reason(&event.site.span), event.done.old) {
            (None, chosen) => format!("{what} -> {chosen}"),
            (Some(what), 0) => format!("{what} only for a reason, here"),
            (Some(what), _) => format!("{what} for no reason"),
        };
    }
    if let Op::CondWake { early: true, .. } = event.op
        && event.done.old == 0
    {
        what.push_str(": time is up");
    }
    [(n + 1).to_string(), name(event.thread), place(events, n), what]
}

/// Where a step is. Destructors are called by the standard library, which is no place that a reader knows: for them, the
/// place that the thread has been at before.
fn place(events: &[EventRecord], n: usize) -> String {
    let is_known = |event: &&EventRecord| !event.site.span.file.starts_with("/rustc/");
    let mut own = events[..=n].iter().rev().filter(|event| event.thread == events[n].thread);
    match own.find(is_known) {
        Some(known) if std::ptr::eq(known, &raw const events[n]) => known.site.span.to_string(),
        Some(known) => format!("after {}", known.site.span),
        None => "in a destructor".to_owned(),
    }
}

/// What a step reads from: in an interleaving, the last write before it.
fn source(events: &[EventRecord], n: usize, access: &Access) -> Source {
    if let Some(from) = events[n].link.from {
        return from;
    }
    let wrote = |event: &EventRecord| {
        matches!(&event.op, Op::Access(other) if other.addr == access.addr) && event.done.new.is_some()
    };
    events[..n].iter().rposition(wrote).map_or(Source::Initial, Source::Step)
}

//! An execution as a table: a line for every step, in an order in which nobody reads what was not written yet.

use crate::report::{name, operation, value};
use selvedge_ir::Order;
use selvedge_machine::schedule::{EventRecord, Replay, Source};
use selvedge_machine::{Access, Op, Purpose, Status};
use std::fmt::Write;

/// The steps of an execution.
pub(crate) fn table(replay: &Replay) -> String {
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
            (Status::Ready, Some((op, site)), _) => format!("waits forever at {}: {}", site.span, operation(op)),
            (_, _, Some(site)) => format!("spins forever at {}", site.span),
            _ => continue,
        };
        let _ = writeln!(text, "  {} {waits}", end.name);
    }
    text
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
        let _ = write!(what, " -> {}", event.done.old);
    }
    if let Op::CondWake { early: true, .. } = event.op
        && event.done.old == 0
    {
        what.push_str(": time is up");
    }
    [(n + 1).to_string(), name(event.thread), event.site.span.to_string(), what]
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

//! An execution as a table: a line for every step, in an order in which nobody reads what was not written yet.

use crate::nondet;
use crate::report::{add_name, add_operation, add_value, name, operation};
use crate::runtime;
use crate::text::{Text, width};
use selvedge_ir::Order;
use selvedge_machine::schedule::{EventRecord, Replay, Source, ThreadEnd};
use selvedge_machine::{Access, Op, Purpose, Status, ThreadId, truncate};

/// The steps of an execution, and where its threads are at its end. If that is their fault, they stay there for ever.
pub(crate) fn table(replay: &Replay, forever: bool) -> String {
    // Threads, places and what they do, one after the other, and where each of them ends.
    let mut cells = String::with_capacity(ROOM * replay.events.len());
    let rows: Vec<[usize; 3]> = (0..replay.events.len()).map(|n| add_row(&mut cells, &replay.events, n)).collect();
    let starts = std::iter::once(0).chain(rows.iter().map(|row| row[2]));
    let rows = || starts.clone().zip(&rows).map(|(start, &[a, b, c])| [&cells[start..a], &cells[a..b], &cells[b..c]]);
    let first = HEADS[0].len().max(digits(replay.events.len()));
    let widest = |column: usize| rows().map(|row| width(row[column])).max().unwrap_or(0).max(HEADS[column + 1].len());
    let (second, third) = (widest(0), widest(1));
    let mut text = String::with_capacity(cells.len() + 2 * ROOM + (first + second + third) * replay.events.len());
    let [step, thread, place, what] = HEADS;
    text.add("  ").blanks(first - step.len()).add(step).add("  ");
    add_line(&mut text, [(thread, second), (place, third)], what);
    for (n, [thread, place, what]) in (1..).zip(rows()) {
        text.add("  ").blanks(first - digits(n)).number(n as u64).add("  ");
        add_line(&mut text, [(thread, second), (place, third)], what);
    }
    for end in &replay.threads {
        let waits = match (end.status, &end.waiting, &end.spins) {
            (Status::Ready, Some((op, site)), _) if !forever => {
                text.add("  ").add(&end.name).add(" has come to ").span(&site.span).add(": ");
                add_operation(&mut text, op);
                text.push('\n');
                continue;
            }
            (Status::Ready, Some((Op::Access(access), site)), _) if access.spins => (site, None),
            (Status::Ready, Some((op, site)), _) => (site, Some(op)),
            (_, _, Some(site)) => (site, None),
            _ => continue,
        };
        let (site, op) = waits;
        text.add("  ").add(&end.name).add(if op.is_some() { " waits" } else { " spins" });
        text.add(" forever at ").span(&site.span);
        if let Some(op) = op {
            add_operation(text.add(": "), op);
        }
        text.push('\n');
        let lines = again_and_again(&replay.events, end);
        if lines.is_empty() && end.spins.is_some() {
            text.add(LOOKS_AT_NOTHING);
        }
        for line in lines {
            text.add("    again and again: ").add(&line).add("\n");
        }
    }
    text
}

/// What is said of a thread that spins without an operation.
const LOOKS_AT_NOTHING: &str = "    this loop looks at nothing of the model, so nothing that others do there can end it: does it wait for a \
                                variable of `std`? What threads wait for has to be an atomic (or the like) of `selvedge`\n";

/// The columns.
const HEADS: [&str; 4] = ["step", "thread", "place", "what it does"];
/// Most lines have no more characters.
const ROOM: usize = 160;

/// How many digits a number has.
fn digits(number: usize) -> usize {
    number.max(1).ilog10() as usize + 1
}

/// Adds cells that have a width, and one that needs none.
fn add_line(text: &mut String, cells: [(&str, usize); 2], what: &str) {
    for (cell, wide) in cells {
        text.add(cell).blanks(wide - width(cell) + 2);
    }
    text.add(what).add("\n");
}

/// What a thread that spins forever reads, from whom and where: all its reads since it last changed something, the newest at
/// each place; and the locks that it takes.
fn again_and_again(events: &[EventRecord], end: &ThreadEnd) -> Vec<String> {
    if let (Status::Ready, Some((Op::Access(access), _))) = (end.status, &end.waiting) {
        let waits = access.purpose == Purpose::Data && access.may_wait();
        let value = |source| match source {
            Source::Initial => first_value(access),
            Source::Step(n) => events[n].done.new,
        };
        let now = last_write(events, access);
        return waits.then(|| read_in_words(events, access, value(now), now)).into_iter().collect();
    }
    if end.spins.is_none() {
        return Vec::new();
    }
    if let Some(round) = round_with_writes(events, end.thread) {
        let in_words = |&n: &usize| {
            let mut text = String::new();
            add_place(&mut text, events, n);
            add_what(text.add(": "), events, n);
            text
        };
        return round.iter().map(in_words).collect();
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

/// The steps of the last round of a loop, if a thread has made two that look the same, and writes or notifies there. (It is made more than once
/// before the thread is cut off: `spin.rs`.)
pub(crate) fn round_with_writes(events: &[EventRecord], thread: ThreadId) -> Option<Vec<usize>> {
    let own: Vec<usize> = (0..events.len()).filter(|&n| events[n].thread == thread).collect();
    let ends_with_two = |&round: &usize| {
        let (before, last) = own[own.len() - 2 * round..].split_at(round);
        before.iter().zip(last).all(|(&one, &other)| events[one].site.span == events[other].site.span)
    };
    let round = own[own.len() - (1..=own.len() / 2).find(ends_with_two)?..].to_vec();
    let writes = |event: &EventRecord| match &event.op {
        // To wake itself is a write, too.
        Op::Access(Access { purpose: Purpose::Sync, .. }) => event.done.new.is_some(),
        Op::Access(access) => {
            access.purpose == Purpose::Data && access.order != Order::Plain && event.done.new.is_some()
        }
        Op::CondSignal { .. } | Op::CondBroadcast { .. } => true,
        _ => false,
    };
    round.iter().any(|&n| writes(&events[n])).then_some(round)
}

/// A read, its value and who wrote that.
fn read_in_words(events: &[EventRecord], access: &Access, found: Option<u64>, from: Source) -> String {
    let mut text = operation(&Op::Access(*access));
    if let Some(found) = found {
        add_value(text.add(" -> "), access, found);
    }
    let from = match from {
        Source::Initial => "its first value".to_owned(),
        Source::Step(n) => {
            let writer = &events[n];
            format!("from step {}, {} at {}", n + 1, name(writer.thread), writer.site.span)
        }
    };
    text.add(" (").add(&from).add(")");
    text
}

/// What was at first in the word that an access is to; none if it is no object that the run has met.
fn first_value(access: &Access) -> Option<u64> {
    runtime::shared(|shared| {
        let known = shared.numbers.iter().rfind(|known| known.seen.addr == access.addr)?;
        Some(truncate(known.init, access.size))
    })
}

/// The coherence-last write to what an access is to.
fn last_write(events: &[EventRecord], access: &Access) -> Source {
    let writes = events.iter().enumerate().filter(|(_, event)| {
        matches!(&event.op, Op::Access(other) if other.addr == access.addr) && event.done.new.is_some()
    });
    // In an interleaving there are no places, and the last one is the last.
    writes.max_by_key(|(n, event)| (event.link.place, *n)).map_or(Source::Initial, |(n, _)| Source::Step(n))
}

/// Adds the cells of a step to others, and says where they end.
fn add_row(cells: &mut String, events: &[EventRecord], n: usize) -> [usize; 3] {
    let event = &events[n];
    add_name(cells, event.thread);
    let thread = cells.len();
    add_place(cells, events, n);
    let place = cells.len();
    add_what(cells, events, n);
    [thread, place, cells.len()]
}

/// Adds what a step does.
fn add_what(text: &mut String, events: &[EventRecord], n: usize) {
    let event = &events[n];
    if let Op::Choose { .. } = event.op {
        match (nondet::without_reason(&event.site.span), event.done.old) {
            (None, chosen) => {
                add_operation(text, &event.op);
                text.add(" -> ").number(chosen);
            }
            (Some(what), 0) => {
                text.add(what).add(" only for a reason, here");
            }
            (Some(what), _) => {
                text.add(what).add(" for no reason");
            }
        }
        return;
    }
    add_operation(text, &event.op);
    if let Op::Access(access) = &event.op
        && access.purpose == Purpose::Data
        && access.reads()
        && access.order != Order::Plain
    {
        add_value(text.add(" -> "), access, event.done.old);
        match source(events, n, access) {
            Source::Initial => text.add(" (its first value)"),
            Source::Step(from) => text.add(" (from step ").number(from as u64 + 1).add(")"),
        };
        if let Some(missed) = event.missed {
            text.add(", not the newer one of step ").number(missed as u64 + 1);
        }
    }
    if let Op::CondWake { early: true, .. } = event.op
        && event.done.old == 0
    {
        text.add(": time is up");
    }
}

/// Adds where a step is. Destructors are called by the standard library, which is no place that a reader knows: for them, the
/// place that the thread has been at before.
fn add_place(text: &mut String, events: &[EventRecord], n: usize) {
    let is_known = |event: &&EventRecord| !event.site.span.file.starts_with("/rustc/");
    let mut own = events[..=n].iter().rev().filter(|event| event.thread == events[n].thread);
    match own.find(is_known) {
        Some(known) if std::ptr::eq(known, &raw const events[n]) => text.span(&known.site.span),
        Some(known) => text.add("after ").span(&known.site.span),
        None => text.add("in a destructor"),
    };
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

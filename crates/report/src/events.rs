//! The steps of an execution for scripts: what each does, what it reads from, and where its write stands.

use crate::edges::{Why, edges};
use crate::words::{self, Names};
use selvedge_machine::schedule::{EventRecord, Replay, Source};
use selvedge_machine::{Addr, Op};
use serde::Serialize;
use std::collections::BTreeMap;

/// A step.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    step: usize,
    thread: String,
    text: String,
    file: String,
    line: u32,
    column: u32,
    #[serde(flatten)]
    access: Option<AccessEvent>,
}

/// What a step does that accesses memory.
#[derive(Clone, Debug, Serialize)]
struct AccessEvent {
    object: String,
    order: &'static str,
    /// The value that was read, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<u64>,
    /// The steps that wrote it, from 1; 0 is the initial value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reads_from: Vec<usize>,
    /// The newest write that it does not see.
    #[serde(skip_serializing_if = "Option::is_none")]
    misses: Option<usize>,
    /// The value that was written, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<u64>,
    /// The place of the write among those to the same address.
    #[serde(skip_serializing_if = "Option::is_none")]
    coherence: Option<u32>,
}

/// The steps of an execution, and what orders them: from, to, why.
pub fn of(replay: &Replay) -> (Vec<Event>, Vec<(usize, usize, &'static str)>) {
    let names = Names::of(replay).with_orders();
    let edges = edges(replay);
    let mut sources: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for edge in edges.iter().filter(|edge| matches!(edge.why, Why::ReadsFrom | Why::Lock)) {
        sources.entry(edge.to).or_default().push(edge.from);
    }
    let mut writes: BTreeMap<Addr, u32> = BTreeMap::new();
    let mut list = Vec::new();
    for (n, event) in replay.events.iter().enumerate() {
        let mut access = access(event, &names);
        if let Some(access) = &mut access {
            let seen = sources.remove(&n).unwrap_or_default();
            access.reads_from = reads_from(event, access.read.is_some(), &seen);
            access.coherence = coherence(event, &mut writes);
        }
        let span = &event.site.span;
        list.push(Event {
            step: n + 1,
            thread: names.thread(event.thread),
            text: words::describe(event, &names).join("; "),
            file: span.file.clone(),
            line: span.line,
            column: span.column,
            access,
        });
    }
    (list, edges.iter().map(|edge| (edge.from + 1, edge.to + 1, edge.why.name())).collect())
}

fn access(event: &EventRecord, names: &Names) -> Option<AccessEvent> {
    let Op::Access(access) = event.op else { return None };
    let object = if event.site.object.is_empty() { names.object(access.addr) } else { event.site.object.clone() };
    Some(AccessEvent {
        object,
        order: words::order(&access, event.done),
        read: access.reads().then_some(event.done.old),
        reads_from: Vec::new(),
        misses: event.missed.map(|n| n + 1),
        written: event.done.new,
        coherence: None,
    })
}

/// Several if some of the bytes that are read were written by one step and some by another.
fn reads_from(event: &EventRecord, reads: bool, seen: &[usize]) -> Vec<usize> {
    match event.link.from {
        Some(Source::Initial) => vec![0],
        Some(Source::Step(from)) => vec![from + 1],
        None if !reads => Vec::new(),
        None if seen.is_empty() => vec![0],
        None => seen.iter().map(|from| from + 1).collect(),
    }
}

fn coherence(event: &EventRecord, writes: &mut BTreeMap<Addr, u32>) -> Option<u32> {
    event.done.new?;
    if event.link.place > 0 {
        return Some(event.link.place);
    }
    let count = writes.entry(words::address(&event.op)?).or_default();
    *count += 1;
    Some(*count)
}

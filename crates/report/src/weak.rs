//! Executions that no interleaving explains, in words.
//!
//! The steps of such an execution are listed in an order in which a write comes before whoever reads from it, and in
//! which as much as possible looks like an interleaving. What does not is said at the step: a read that does not see a
//! newer write, a write that stands before one that was listed already. Behind the list, a cycle of steps each of which
//! would have to come before the next says why there is no interleaving.

use crate::edges::{Why, edges};
use crate::verdict::{model_name, plural};
use crate::words::{self, Names};
use selvedge_machine::schedule::{EventRecord, Replay, Source};
use selvedge_machine::{Op, Purpose};
use std::collections::{BTreeSet, VecDeque};

/// What the list of steps is.
pub fn heading(replay: &Replay, model: &str) -> String {
    let steps = plural(replay.events.len() as u64, "step");
    let blind = replay.events.iter().filter(|event| event.missed.is_some()).count() as u64;
    let reads = if blind == 1 { "1 read that misses".to_owned() } else { format!("{blind} reads that miss") };
    let blind = if blind == 0 { String::new() } else { format!(", {reads} a newer write (!)") };
    format!("{steps}{blind}; {} allows this, but no interleaving explains it", model_name(model))
}

/// What a step reads from, in short, to stand behind what it does.
pub fn source(event: &EventRecord) -> Option<String> {
    let Op::Access(access) = event.op else { return None };
    match event.link.from {
        _ if access.purpose != Purpose::Data => None,
        None => None,
        Some(Source::Initial) => Some("<- initial".to_owned()),
        Some(Source::Step(n)) => Some(format!("<- step {}", n + 1)),
    }
}

/// What a step does not see, or what it does not overwrite although it comes later.
pub fn notes(replay: &Replay, n: usize, names: &Names) -> Vec<String> {
    let event = &replay.events[n];
    let missed = event.missed.map(|w| format!("! misses {}", tell(replay, w, names)));
    let overtaken = overtaken_by(replay, n).map(|w| format!("! overwritten already by step {}", w + 1));
    missed.into_iter().chain(overtaken).collect()
}

/// A write that comes before a step but stands behind it in coherence order.
pub fn overtaken_by(replay: &Replay, n: usize) -> Option<usize> {
    let event = &replay.events[n];
    let addr = words::address(&event.op).filter(|_| event.link.place > 0)?;
    let newer = |w: &usize| {
        let other = &replay.events[*w];
        words::address(&other.op) == Some(addr) && other.link.place > event.link.place
    };
    (0..n).rev().find(newer)
}

/// A step in one line: `step 3, x = 1 by left at line 10`.
fn tell(replay: &Replay, n: usize, names: &Names) -> String {
    let event = &replay.events[n];
    let what = words::describe(event, names).swap_remove(0);
    format!("step {}: {what} by {}, {}", n + 1, names.thread(event.thread), place(event))
}

fn place(event: &EventRecord) -> String {
    match event.site.span.line {
        0 => "unknown line".to_owned(),
        line => format!("line {line}"),
    }
}

/// The steps that show that no interleaving explains an execution, with those that a reader needs to understand them.
pub fn telling(replay: &Replay) -> BTreeSet<usize> {
    let mut steps: BTreeSet<usize> = cycle(replay).into_iter().map(|(n, _)| n).collect();
    for (n, event) in replay.events.iter().enumerate() {
        if let Some(missed) = event.missed {
            steps.extend([n, missed]);
            if let Some(Source::Step(from)) = event.link.from {
                steps.insert(from);
            }
        }
        steps.extend(overtaken_by(replay, n).map(|w| [n, w]).into_iter().flatten());
    }
    steps
}

/// Why there is no interleaving: one line for each step of a cycle.
pub fn explain(replay: &Replay, names: &Names) -> Vec<String> {
    let cycle = cycle(replay);
    let Some(&(first, _)) = cycle.first() else { return Vec::new() };
    let mut lines = vec![tell(replay, first, names)];
    for (k, &(_, link)) in cycle.iter().enumerate() {
        let (next, again) = match cycle.get(k + 1) {
            Some(&(next, _)) => (next, ""),
            None => (first, " again"),
        };
        let because = match link {
            None => "comes later in the same thread",
            Some(Why::ReadsFrom) => "reads what that one wrote",
            Some(Why::Coherence) => "overwrites what that one wrote",
            Some(Why::FromRead) => "overwrites what that one read",
            Some(Why::Lock) => "locks what that one unlocked",
            Some(Why::Spawn) => "is in the thread that that one created",
            Some(Why::Join) => "waits for the thread of that one",
            Some(Why::Signal) => "was woken by that one",
        };
        let told = if again.is_empty() { tell(replay, next, names) } else { format!("step {}{again}", next + 1) };
        lines.push(format!("{told}, which {because}"));
    }
    lines
}

/// A cycle with as few links between threads as there can be. Each step comes with why the next one would have to come
/// after it: none is the order within their thread.
fn cycle(replay: &Replay) -> Vec<(usize, Option<Why>)> {
    let count = replay.events.len();
    let mut links: Vec<Vec<(usize, Option<Why>)>> = vec![Vec::new(); count];
    for edge in edges(replay) {
        links[edge.from].push((edge.to, Some(edge.why)));
    }
    for (n, event) in replay.events.iter().enumerate() {
        let next = (n + 1..count).find(|&k| replay.events[k].thread == event.thread);
        links[n].extend(next.map(|next| (next, None)));
    }
    // Some link of every cycle goes backwards in the list of steps.
    let backwards =
        (0..count).flat_map(|n| links[n].iter().filter(move |(to, _)| *to < n).map(move |&(to, why)| (n, to, why)));
    let found = backwards.filter_map(|(from, to, why)| {
        let mut path = shortest_path(&links, to, from)?;
        path.push((from, why));
        Some(path)
    });
    let cost = |path: &Vec<(usize, Option<Why>)>| path.iter().filter(|(_, why)| why.is_some()).count();
    found.min_by_key(|path| (cost(path), path.len())).map(without_middles).unwrap_or_default()
}

/// The way from one step to another with as few links between threads as there can be, without the last step.
fn shortest_path(links: &[Vec<(usize, Option<Why>)>], from: usize, to: usize) -> Option<Vec<(usize, Option<Why>)>> {
    let mut before: Vec<Option<(usize, Option<Why>)>> = vec![None; links.len()];
    let mut cost = vec![u32::MAX; links.len()];
    let mut queue = VecDeque::from([from]);
    cost[from] = 0;
    while let Some(n) = queue.pop_front() {
        for &(next, why) in &links[n] {
            let reached = cost[n] + u32::from(why.is_some());
            if reached < cost[next] {
                cost[next] = reached;
                before[next] = Some((n, why));
                // The order within a thread costs nothing, so what it leads to is looked at first.
                if why.is_some() { queue.push_back(next) } else { queue.push_front(next) }
            }
        }
    }
    let mut path = Vec::new();
    let mut at = to;
    while at != from {
        let (n, why) = before[at]?;
        path.push((n, why));
        at = n;
    }
    path.reverse();
    Some(path)
}

/// Leaves out steps that are only on the way from one step of their thread to a later one.
fn without_middles(cycle: Vec<(usize, Option<Why>)>) -> Vec<(usize, Option<Why>)> {
    let count = cycle.len();
    let is_middle = |k: usize| cycle[k].1.is_none() && cycle[(k + count - 1) % count].1.is_none();
    (0..count).filter(|&k| !is_middle(k)).map(|k| cycle[k]).collect()
}

//! Which steps of an execution matter for a violation.
//!
//! An execution of a real program has hundreds of steps, of which a reader needs a dozen. Two kinds are folded away:
//!
//! - *Steps about something else.* The threads that the violation is about are the ones that it stopped, that it blocked,
//!   or that were at one of its places. What they share with others, and somebody writes, is involved; whoever touches
//!   that is shown doing so. It is a slice of depth one: enough to see where a wrong value came from, while a full
//!   backward slice of a concurrent execution is usually all of it.
//! - *Rounds of a loop that change nothing*, such as the reads of a spin loop: the first round is shown.
//! - *What was overtaken*, if more than [`LONG`] steps are left: of the reads of one object by one thread only the last is
//!   shown, and likewise of its writes. They are the ones that led to where the execution ended.
//!
//! What shows that no interleaving explains an execution is never folded. Nothing is folded that would save less than [`MIN_FOLD`] lines.

use crate::weak;
use crate::words::{self, Names};
use selvedge_machine::schedule::{EventRecord, Replay};
use selvedge_machine::{Access, Done, Op, Purpose, SourceSpan, Status, ThreadId, Violation, ViolationKind};
use std::collections::{HashMap, HashSet};

/// Fewer steps than this in a row are shown, since a fold takes a line itself.
pub const MIN_FOLD: usize = 3;
/// Executions with more steps than this are shortened further.
pub const LONG: usize = 24;
/// Rounds of loops with more steps than this are not recognised.
const MAX_ROUND: usize = 8;

/// What to show of an execution, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// The step at this position.
    Step(usize),
    /// The steps at these positions, as one line.
    Fold(Vec<usize>),
}

/// Everything, nothing folded.
pub fn unfolded(replay: &Replay) -> Vec<Part> {
    (0..replay.events.len()).map(Part::Step).collect()
}

/// Folds away what does not matter for a violation.
pub fn fold(replay: &Replay, violation: &Violation) -> Vec<Part> {
    let involved = involved(replay, violation);
    let mut hide = repeated_rounds(replay);
    for (n, hidden) in hide.iter_mut().enumerate() {
        *hidden |= !involved[n];
    }
    if hide.iter().filter(|hidden| !**hidden).count() > LONG {
        hide_overtaken(replay, &mut hide);
    }
    if replay.weak {
        weak::telling(replay).into_iter().for_each(|n| hide[n] = false);
    }
    let mut parts = Vec::new();
    let mut run = Vec::new();
    for (n, hidden) in hide.into_iter().enumerate() {
        if hidden {
            run.push(n);
        } else {
            flush(&mut parts, &mut run);
            parts.push(Part::Step(n));
        }
    }
    flush(&mut parts, &mut run);
    parts
}

/// Hides what the same thread did to the same object again later.
fn hide_overtaken(replay: &Replay, hide: &mut [bool]) {
    let mut later = HashSet::new();
    for (n, event) in replay.events.iter().enumerate().rev() {
        let Some(addr) = words::address(&event.op) else { continue };
        if !hide[n] {
            let act = match &event.op {
                Op::Access(access) => (event.done.new.is_some(), access.purpose == Purpose::Lock),
                _ => (false, false),
            };
            hide[n] = !later.insert((event.thread, addr, std::mem::discriminant(&event.op), act));
        }
    }
}

fn flush(parts: &mut Vec<Part>, run: &mut Vec<usize>) {
    if run.len() < MIN_FOLD {
        parts.extend(run.drain(..).map(Part::Step));
    } else {
        parts.push(Part::Fold(std::mem::take(run)));
    }
}

/// The last step at each place of a violation; if the note on a place names a thread, the last step of that thread.
/// A deadlock is about steps that were not made.
pub fn culprits(replay: &Replay, violation: &Violation) -> Vec<usize> {
    let mut found = Vec::new();
    if is_about_waiting(violation) {
        return found;
    }
    for (place, note) in &violation.places {
        let mut words = note.split(' ');
        let named = words.find_map(|word| replay.threads.iter().find(|end| end.name == word)).map(|end| end.thread);
        let matches = |n: usize, event: &EventRecord| {
            is_at(&event.site.span, place) && !found.contains(&n) && named.is_none_or(|thread| thread == event.thread)
        };
        let at = replay.events.iter().enumerate().rev().find(|(n, event)| matches(*n, event));
        found.extend(at.map(|(n, _)| n));
    }
    found
}

/// Whether a violation is that threads wait or spin.
pub fn is_about_waiting(violation: &Violation) -> bool {
    matches!(violation.kind, ViolationKind::Deadlock | ViolationKind::Livelock)
}

/// Whether a place is one of a violation's.
pub fn is_about(violation: &Violation, span: &SourceSpan) -> bool {
    violation.places.iter().any(|(place, _)| is_at(span, place))
}

fn is_at(span: &SourceSpan, place: &SourceSpan) -> bool {
    span.line != 0 && (&span.file, span.line, span.column) == (&place.file, place.line, place.column)
}

/// For every step, whether it has to do with the violation.
fn involved(replay: &Replay, violation: &Violation) -> Vec<bool> {
    let culprits = culprits(replay, violation);
    let mut threads: HashSet<ThreadId> = culprits.iter().map(|&n| replay.events[n].thread).collect();
    threads.extend(replay.stop.iter().map(|(thread, _)| *thread));
    if is_about_waiting(violation) {
        threads.extend(
            replay
                .threads
                .iter()
                .filter(|end| end.status == Status::Ready || end.spins.is_some())
                .map(|end| end.thread),
        );
    }
    if threads.is_empty() {
        return vec![true; replay.events.len()];
    }
    let bytes = involved_bytes(replay, &threads);
    let last = |n: usize| !replay.events[n + 1..].iter().any(|later| later.thread == replay.events[n].thread);
    let is_involved = |(n, event): (usize, &EventRecord)| {
        let by_seed = threads.contains(&event.thread);
        let creates_or_joins = match event.op {
            Op::Spawn { child: other } | Op::Join { thread: other } => by_seed || threads.contains(&other),
            Op::Choose { .. } | Op::Fence { .. } => by_seed,
            _ => false,
        };
        creates_or_joins || culprits.contains(&n) || touched(event).any(|b| bytes.contains(&b)) || (by_seed && last(n))
    };
    replay.events.iter().enumerate().map(is_involved).collect()
}

/// The bytes that the given threads wait for, or share with another thread of which one writes them.
fn involved_bytes(replay: &Replay, threads: &HashSet<ThreadId>) -> HashSet<u64> {
    let mut touchers: HashMap<u64, HashSet<ThreadId>> = HashMap::new();
    let mut written = HashSet::new();
    for event in &replay.events {
        for byte in touched(event) {
            touchers.entry(byte).or_default().insert(event.thread);
        }
        for (access, _) in accesses(event).filter(|(_, done)| done.new.is_some()) {
            written.extend(access_bytes(access));
        }
        if !matches!(event.op, Op::Access(_)) {
            written.extend(words::address(&event.op).map(|addr| addr.0));
        }
    }
    let is_shared = |by: &HashSet<ThreadId>| by.len() > 1 && !by.is_disjoint(threads);
    let shared = touchers.iter().filter(|(byte, by)| is_shared(by) && written.contains(byte)).map(|(byte, _)| *byte);
    let waiting = replay.threads.iter().filter(|end| threads.contains(&end.thread));
    let awaited = waiting.filter_map(|end| words::address(&end.waiting.as_ref()?.0)).map(|addr| addr.0);
    shared.chain(awaited).collect()
}

fn accesses(event: &EventRecord) -> impl Iterator<Item = (&Access, Done)> {
    let own = if let Op::Access(access) = &event.op { Some((access, event.done)) } else { None };
    own.into_iter().chain(event.section.iter().map(|(access, done)| (access, *done)))
}

fn access_bytes(access: &Access) -> std::ops::Range<u64> {
    access.addr.0..access.addr.0 + u64::from(access.size)
}

fn touched(event: &EventRecord) -> impl Iterator<Item = u64> {
    let start = words::address(&event.op).map(|addr| addr.0);
    start.into_iter().chain(accesses(event).flat_map(|(access, _)| access_bytes(access)))
}

/// For every step, whether it repeats the round before it in its thread, and changes nothing.
fn repeated_rounds(replay: &Replay) -> Vec<bool> {
    let names = Names::of(replay);
    let mut repeated = vec![false; replay.events.len()];
    for end in &replay.threads {
        let own: Vec<usize> = (0..replay.events.len()).filter(|&n| replay.events[n].thread == end.thread).collect();
        let keys: Vec<_> = own.iter().map(|&n| key(&replay.events[n], &names)).collect();
        let mut at = 0;
        while at < own.len() {
            let (round, rounds) = rounds_at(&keys, at);
            let span = at + round..at + round * rounds;
            span.for_each(|n| repeated[own[n]] = true);
            at += round * rounds;
        }
    }
    repeated
}

/// What makes two steps look the same; none for a step that changes something.
fn key<'r>(event: &'r EventRecord, names: &Names) -> Option<(Vec<String>, &'r SourceSpan)> {
    let changes = accesses(event).any(|(_, done)| done.new.is_some_and(|new| new != done.old));
    let is_quiet = matches!(event.op, Op::Access(_) | Op::Fence { .. } | Op::AtomicBegin) && !changes;
    is_quiet.then(|| (words::describe(event, names), &event.site.span))
}

/// The shortest round that starts here and is repeated, and how often it comes; a single step once if none is.
fn rounds_at<K: PartialEq>(keys: &[Option<K>], at: usize) -> (usize, usize) {
    for round in 1..=MAX_ROUND {
        let Some(first) = keys.get(at..at + round) else { break };
        if first.iter().any(Option::is_none) {
            break;
        }
        let rounds = keys[at..].chunks_exact(round).take_while(|chunk| *chunk == first).count();
        if rounds > 1 {
            return (round, rounds);
        }
    }
    (1, 1)
}

#[cfg(test)]
mod tests {
    use super::rounds_at;

    #[test]
    fn rounds_are_the_shortest_that_repeat() {
        let keys = |text: &str| text.chars().map(|c| (c != '!').then_some(c)).collect::<Vec<_>>();
        assert_eq!(rounds_at(&keys("aaaab"), 0), (1, 4));
        assert_eq!(rounds_at(&keys("ababab!"), 0), (2, 3));
        assert_eq!(rounds_at(&keys("abcd"), 0), (1, 1));
        assert_eq!(rounds_at(&keys("a!a!a!"), 0), (1, 1), "a step that changes something is never part of a round");
    }
}

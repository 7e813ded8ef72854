//! How a maximal execution graph ends.
//!
//! A graph is *stale* if some access that waits reads from a write that is not the latest one: in time it would read from
//! a later one, so it is no proof that a thread waits forever. A graph is *blocked* if some thread has assumed what does
//! not hold, or has reached a bound, or waits (in an access, a join, or an attempt that would fail again); but if a violation
//! stopped some thread, waiting for it does not count unless the graph is stale, or a thread would try again and might find
//! something else. All other graphs are *complete*.
//!
//! Errors of a graph:
//! - what the threads themselves fail in: assertions, reads of bytes that were never written;
//! - a *data race*: two accesses of different threads to a location, one of which writes and one of which is not atomic,
//!   neither of which happens before the other. Happens-before is that of RC11 in every model: races are defined by the
//!   language. A read in which a thread waits in vain counts as an access;
//! - a *use after free*: an access to an object that does not happen before every `free` of it; and a *double free*: two
//!   frees of an object;
//! - a *deadlock* or *livelock*: threads wait forever, which is so if the graph is not stale, the process has not ended,
//!   and no thread was cut off or would try again and might find something else. It is a livelock if a thread waits for the value of a
//!   variable, and a deadlock if all wait for locks or the end of threads.

use super::enumerate::Location;
use super::execution::Execution;
use super::graph::{Event, EventRef, Graph, Kind, Source};
use super::models::rc11;
use super::relation::Relation;
use crate::enumerate::FinalState;
use crate::machine::LitmusMachine;
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, Machine, Op, Purpose, Status, Stop, ThreadId, ViolationKind};
use std::collections::BTreeSet;

/// Whether a thread is stuck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finish {
    /// No.
    Complete,
    /// Yes.
    Blocked {
        /// Whether some access that waits reads from a write that is not the latest.
        stale: bool,
    },
}

/// What the threads have computed, and what is left in memory; in the encoding of [`FinalState`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Outcome {
    /// The registers of all threads.
    pub threads: Vec<u64>,
    /// The bytes of all variables; one that is dead is a single number that is no byte.
    pub memory: Vec<u64>,
}

/// How a maximal graph ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ending {
    /// Whether a thread is stuck.
    pub finish: Finish,
    /// The final state.
    pub outcome: Outcome,
    /// What goes wrong, with a message if it is a thread that fails.
    pub errors: BTreeSet<(ViolationKind, String)>,
    /// The bounds that were reached.
    pub bounds: BTreeSet<String>,
    /// Whether an attempt of some thread has failed, and would fail again. Complete graphs can have such threads, too: where another
    /// one fails in something, that they wait does not count.
    pub spins: bool,
}

impl Ending {
    pub(super) fn new(
        machine: &LitmusMachine,
        graph: &Graph,
        execution: &Execution,
        locations: &[Location],
        stops: &[Stop],
    ) -> Ending {
        let mut errors: BTreeSet<(ViolationKind, String)> = lasting_errors(machine, graph, execution);
        let mut bounds = BTreeSet::new();
        for stop in stops {
            match stop {
                Stop::Violation(violation) => drop(errors.insert((violation.kind, violation.message.clone()))),
                Stop::Bound(bound) => drop(bounds.insert(bound.what.clone())),
                Stop::Unsupported(what) => unreachable!("{}: such programs are refused", what.feature),
            }
        }
        let finish = finish(machine, graph, !bounds.is_empty());
        let outcome = Outcome { threads: machine.final_threads(), memory: memory(machine, graph, locations) };
        let spins = threads(graph).any(|thread| spins(machine, graph, thread));
        Ending { finish, outcome, errors, bounds, spins }
    }
}

fn finish(machine: &LitmusMachine, graph: &Graph, bounded: bool) -> Finish {
    let has = |status| threads(graph).any(|thread| machine.status(thread) == status);
    let stale = is_stale(graph);
    let cut_off = |thread| machine.status(thread) == Status::AssumeBlocked && !spins(machine, graph, thread);
    let spins = threads(graph).any(|thread| spins(machine, graph, thread));
    let again = threads(graph).any(|thread| gives_up(machine, graph, thread));
    let waits = (has(Status::Ready) || spins) && (stale || again || !has(Status::Stopped));
    if threads(graph).any(cut_off) || waits || bounded { Finish::Blocked { stale } } else { Finish::Complete }
}

/// Whether an attempt of a thread has failed, and would fail again: it waits.
fn spins(machine: &LitmusMachine, graph: &Graph, thread: ThreadId) -> bool {
    machine.spins(thread) && reads_the_same_again(graph, thread)
}

fn threads(graph: &Graph) -> impl Iterator<Item = ThreadId> + use<> {
    (0..graph.threads.len()).map(ThreadId::new)
}

fn is_stale(graph: &Graph) -> bool {
    threads(graph).filter_map(|thread| graph.blocked(thread)).any(|(addr, from)| from != graph.newest(addr))
}

/// What is wrong with the graph as a whole.
fn lasting_errors(machine: &LitmusMachine, graph: &Graph, x: &Execution) -> BTreeSet<(ViolationKind, String)> {
    let hb = rc11::hb(x);
    let events: Vec<(usize, EventRef, Event)> =
        x.nodes.iter().enumerate().filter_map(|(n, node)| node.map(|(at, event)| (n, at, event))).collect();
    let mut kinds = BTreeSet::new();
    for (i, a) in events.iter().enumerate() {
        for b in &events[..i] {
            kinds.extend(race(a, b, &hb));
            kinds.extend(life_error(a, b, &hb));
            kinds.extend(life_error(b, a, &hb));
        }
    }
    kinds.extend(stuck(machine, graph));
    kinds.into_iter().map(|kind| (kind, String::new())).collect()
}

fn race(a: &(usize, EventRef, Event), b: &(usize, EventRef, Event), hb: &Relation) -> Option<ViolationKind> {
    let writes = |event: &Event| matches!(event.kind, Kind::Write { .. });
    let (&(i, one, ref x), &(j, other, ref y)) = (a, b);
    let conflict = x.kind.addr().is_some() && x.kind.addr() == y.kind.addr() && (writes(x) || writes(y));
    let plain = !x.order.is_atomic() || !y.order.is_atomic();
    let unordered = !hb.contains(i, j) && !hb.contains(j, i);
    (one.thread != other.thread && conflict && plain && unordered).then_some(ViolationKind::DataRace)
}

/// What is wrong if the first event ends the life of an object that the second has to do with.
fn life_error(
    free: &(usize, EventRef, Event),
    user: &(usize, EventRef, Event),
    hb: &Relation,
) -> Option<ViolationKind> {
    let Kind::Free { addr, size } = free.2.kind else { return None };
    match user.2.kind {
        Kind::Free { addr: other, .. } => (addr == other).then_some(ViolationKind::DoubleFree),
        kind => {
            let within = kind.addr().is_some_and(|other| addr <= other && other.0 < addr.0 + size);
            (within && !hb.contains(user.0, free.0)).then_some(ViolationKind::UseAfterFree)
        }
    }
}

/// Whether threads wait for each other forever.
fn stuck(machine: &LitmusMachine, graph: &Graph) -> Option<ViolationKind> {
    // Who would start an iteration of a loop again gets on if something is different that was read in it.
    let spins = |thread| spins(machine, graph, thread);
    let cut_off = |thread| match machine.status(thread) {
        Status::AssumeBlocked => !spins(thread),
        status => status == Status::Stopped,
    };
    let gives_up = |thread| gives_up(machine, graph, thread);
    if machine.exited() || is_stale(graph) || threads(graph).any(|thread| cut_off(thread) || gives_up(thread)) {
        return None;
    }
    let waiting = threads(graph).filter(|&thread| machine.status(thread) == Status::Ready || spins(thread));
    let kinds = waiting.map(|thread| match machine.pending(thread) {
        _ if spins(thread) => ViolationKind::Livelock,
        Op::Access(Access { purpose: Purpose::Data, .. }) => ViolationKind::Livelock,
        _ => ViolationKind::Deadlock,
    });
    // `Livelock` comes after `Deadlock` in the order of kinds.
    kinds.max()
}

/// Whether a thread whose confirmation fails would start an iteration of its loop again, and might find something else.
fn gives_up(machine: &LitmusMachine, graph: &Graph, thread: ThreadId) -> bool {
    machine.status(thread) == Status::Ready
        && matches!(machine.pending(thread), Op::Access(Access { until: Some(until), .. }) if until.retry)
        && !reads_the_same_again(graph, thread)
}

/// Whether all that a thread has read since it last changed something is as it was.
fn reads_the_same_again(graph: &Graph, thread: ThreadId) -> bool {
    let events = &graph.threads[thread.index()];
    for (n, event) in events.iter().enumerate().rev() {
        match event.kind {
            Kind::Read { addr, value, from, .. } => {
                let current = match graph.newest(addr) {
                    newest if newest == from => true,
                    Source::Write(at) => graph.written(at) == value,
                    Source::Init => false,
                };
                if !current {
                    return false;
                }
            }
            // A read-modify-write that leaves what it found changes nothing.
            Kind::Write { value: new, exclusive: true, .. } if matches!(events[n - 1].kind, Kind::Read { value, .. } if value == new) =>
                {}
            Kind::Fence => {}
            _ => return true,
        }
    }
    true
}

/// What is left in memory: the initial bytes, the latest writes, and nothing where an object is dead.
fn memory(machine: &LitmusMachine, graph: &Graph, locations: &[Location]) -> Vec<u64> {
    let mut vars: Vec<Vec<u64>> = machine
        .bytes()
        .into_iter()
        .map(|bytes| bytes.expect("nothing dies in the machine's own memory").into_iter().map(u64::from).collect())
        .collect();
    for location in locations {
        if let Some(&at) = graph.writes(location.addr).last() {
            let (from, size) = (usize::from(location.place.offset), usize::from(location.place.size));
            let bytes = graph.written(at).to_le_bytes();
            let target = &mut vars[location.place.var.index()][from..from + size];
            target.iter_mut().zip(bytes).for_each(|(byte, new)| *byte = u64::from(new));
        }
    }
    for (_, event) in graph.events() {
        if let Kind::Free { addr, .. } = event.kind {
            let (var, _) = machine.locate(addr).expect("only variables are freed");
            vars[var.index()] = vec![u64::MAX];
        }
    }
    vars.concat()
}

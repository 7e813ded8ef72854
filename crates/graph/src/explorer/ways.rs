//! Attempts that are put off wait for something that is known to come.
//!
//! An attempt that could get on is put off ([`Turn::Later`]) because somebody else has written what it looks at. If it is put
//! off, and in the end nobody writes that, all that was explored was in vain. So it is noted *how* the news came: what had
//! been read on the way. Let `G` be the graph in which the attempt `A` takes its turn. While the branch in which `A` reads is
//! explored, every write `f` to a location comes by that does not depend on `A`. Of each, its *way* is kept: which reads
//! there are among what `f` depends on (since `A` took its turn), and what they read from.
//!
//! **Every execution in which `A` is put off and gets on contains one of these ways.** `A` reads from a write then that is not
//! in `G`, and that does not depend on `A`. Take the first write `f` to a location that `A` looks at, such that no other one
//! outside `G` comes before it in program order and reads-from. Nothing that `f` depends on writes what `A` looks at, so the
//! coherence-last values of `G` are still the coherence-last ones when all that is there: `A` may read them and be added
//! last, by extensibility, and then `f`. That is a consistent graph in which `A` reads its coherence-last values of `G`, so
//! what extends it was explored in the branch in which `A` reads, and `f` was seen.
//!
//! That is the reason why `A` is not put off if no way is known. It says more about the branch in which `A` waits, as long as
//! nothing that it looks at is written there:
//!
//! - *A read that does not read the coherence-last write* is part of every execution that is explored from there: it is
//!   never revisited or deleted, because it is not maximal, and what it depends on is not, because it would be deleted
//!   then ([`backward`](crate::backward)); nor is the turn of `A`, which is not maximal before the news has come. If it, or
//!   what its thread has read since `A` took its turn, contradicts all ways, nothing comes of it ([`Explorer::leads_nowhere`]).
//! - *A read that reads the coherence-last write when it is added, or that is revisited,* is explored even if that contradicts
//!   all ways: it may be revisited again, or be deleted by the revisit of an older read, and where the write that has
//!   revisited it stands in coherence order is not settled yet. That leaves some executions in vain.
//! - *A thread that would read too early* is left to last: if all ways that agree with the graph have its next read read from
//!   something that is not there yet, others come first ([`Explorer::comes_too_early`]). `next_P` is free to choose whom it
//!   likes, so there is nothing to prove. Otherwise the read would have to be revisited, and the graph from which that is
//!   done would be one in which nothing comes.
//!
//! Nothing else is lost with what is not explored. An execution that ends there is one in which `A` waits for ever though it
//! could get on, so it is neither complete nor a deadlock; and an error or race on the way to it does not depend on `A`, and
//! has met no news, so that it is met when `A` reads as well. The same is true of news for other attempts.
//!
//! Ways are sets of reads and of what they read from, named by threads and places in them, not by events: these have other
//! numbers in other graphs. There may be many; if there are more than [`MOST`], nothing is known, and executions may be
//! explored in vain.

use super::Explorer;
use crate::clocks::PORF;
use crate::event::{BOTTOM, Event, EventId, INIT, Kind, LocId, Turn};
use crate::graph::Graph;
use crate::models::Model;
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_ir::EntityRef;
use selvedge_machine::{Machine, ThreadId};
use std::hash::Hash;
use std::sync::Arc;

/// As many ways are kept for one turn.
const MOST: usize = 500;
/// So many sets of ways are kept before it is looked at which ones are still needed.
const FIRST_SWEEP: usize = 64;

/// An event: its thread, and how many events other than turns come before it there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Name {
    thread: ThreadId,
    place: u32,
}

/// What a read reads from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Source {
    Initial,
    Nothing,
    Write(Name),
}

/// Reads and what they read from, in the order of their names.
pub(crate) type Way = Vec<(Name, Source)>;
/// Ways that are all there are, of an attempt that was put off.
pub(crate) type AllWays = Arc<FxHashSet<Way>>;

/// How news has come to a turn: to which location, and on which way.
#[derive(Clone, Debug)]
pub(crate) struct Ways<L = LocId> {
    seen: FxHashMap<L, FxHashSet<Way>>,
    /// How many these are.
    count: usize,
    too_many: bool,
}

impl<L> Default for Ways<L> {
    fn default() -> Self {
        Ways { seen: FxHashMap::default(), count: 0, too_many: false }
    }
}

impl<L: Copy + Eq + Hash> Ways<L> {
    fn add(&mut self, loc: L, way: &[(Name, Source)]) {
        if self.too_many {
            return;
        }
        let known = self.seen.entry(loc).or_default();
        if !known.contains(way) {
            known.insert(way.to_vec());
            self.count += 1;
        }
        if self.count > MOST {
            self.give_up();
        }
    }

    /// It is not known on which ways news comes.
    pub fn give_up(&mut self) {
        self.seen.clear();
        self.count = 0;
        self.too_many = true;
    }

    /// Adds what others have seen.
    pub fn merge(&mut self, other: Ways<L>) {
        if other.too_many {
            self.give_up();
        }
        other.seen.iter().for_each(|(&loc, ways)| ways.iter().for_each(|way| self.add(loc, way)));
    }

    /// The same with other names for locations; none if some have none.
    pub fn renamed<K: Copy + Eq + Hash>(&self, mut name: impl FnMut(L) -> Option<K>) -> Option<Ways<K>> {
        let mut renamed = Ways { too_many: self.too_many, ..Ways::default() };
        for (&loc, ways) in &self.seen {
            let loc = name(loc)?;
            ways.iter().for_each(|way| renamed.add(loc, way));
        }
        Some(renamed)
    }
}

impl Ways {
    /// The ways to some locations; none if there are too many.
    fn to(&self, footprint: &[LocId]) -> Option<FxHashSet<Way>> {
        let here = self.seen.iter().filter(|(loc, _)| footprint.contains(loc)).flat_map(|(_, ways)| ways);
        (!self.too_many).then(|| here.cloned().collect())
    }
}

/// The ways of attempts that have been put off, by numbers from 1.
#[derive(Default)]
pub(super) struct PutOff {
    ways: Vec<Option<AllWays>>,
    sweep_at: usize,
}

impl PutOff {
    /// A number for the ways that are known of a turn; 0 if it is not known. `in_use` are the numbers that others have.
    pub fn number(&mut self, ways: &Ways, footprint: &[LocId], in_use: impl FnOnce() -> FxHashSet<u32>) -> u32 {
        let Some(ways) = ways.to(footprint) else { return 0 };
        if self.ways.len() >= self.sweep_at.max(FIRST_SWEEP) {
            let in_use = in_use();
            for (number, ways) in (1..).zip(&mut self.ways) {
                ways.take_if(|_| !in_use.contains(&number));
            }
            self.sweep_at = 2 * in_use.len();
        }
        let free = self.ways.iter().position(Option::is_none).unwrap_or_else(|| {
            self.ways.push(None);
            self.ways.len() - 1
        });
        self.ways[free] = Some(Arc::new(ways));
        free as u32 + 1
    }

    pub fn get(&self, number: u32) -> Option<AllWays> {
        self.ways.get((number as usize).checked_sub(1)?).cloned().flatten()
    }

    /// A number for ways that another worker knows.
    pub fn adopt(&mut self, ways: AllWays) -> u32 {
        self.ways.push(Some(ways));
        self.ways.len() as u32
    }

    /// Nothing is put off any more.
    pub fn clear(&mut self) {
        self.ways.clear();
        self.sweep_at = 0;
    }
}

/// The name of an event.
fn name(graph: &Graph, e: EventId) -> Name {
    let event = graph.event(e);
    Name { thread: event.thread, place: event.place }
}

fn source(graph: &Graph, event: &Event) -> Source {
    match event.rf {
        INIT => Source::Initial,
        BOTTOM => Source::Nothing,
        write if write.is_event() => Source::Write(name(graph, write)),
        _ => Source::Nothing,
    }
}

/// What a read reads from in a way.
fn in_way(way: &Way, name: Name) -> Option<Source> {
    way.binary_search_by_key(&name, |&(name, _)| name).ok().map(|n| way[n].1)
}

/// Whether reads are nowhere different from a way.
fn fits(way: &Way, reads: &[(Name, Source)]) -> bool {
    reads.iter().all(|&(name, source)| in_way(way, name).is_none_or(|other| other == source))
}

/// Whether what is read from is not there yet.
fn is_missing(graph: &Graph, from: Source) -> bool {
    match from {
        Source::Write(Name { thread, place }) => graph.last(thread).is_none_or(|last| graph.event(last).place < place),
        Source::Initial | Source::Nothing => false,
    }
}

/// Notes on which way news came to a turn. `way` is memory for it.
pub(super) fn note(ways: &mut Ways, graph: &Graph, turn: EventId, news: EventId, way: &mut Way) {
    if ways.too_many {
        return;
    }
    let since = |&x: &EventId| {
        let event = graph.event(x);
        event.is_read() && (x > turn || event.rf.is_event() && event.rf > turn)
    };
    way.clear();
    for (n, &count) in graph.clocks.row(news, PORF).iter().enumerate() {
        let before = &graph.thread(ThreadId::new(n))[..count as usize];
        way.extend(before.iter().copied().filter(since).map(|x| (name(graph, x), source(graph, graph.event(x)))));
    }
    ways.add(graph.event(news).loc, way);
}

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// Attempts that were put off and have not seen anything new yet, with the ways on which news can come.
    fn put_off_in_hope(&self) -> impl Iterator<Item = (EventId, AllWays)> {
        let graph = self.graph();
        let put_off = |thread: ThreadId| {
            let last = graph.last(thread)?;
            let event = graph.event(last);
            (event.kind == Kind::Turn && event.turn == Turn::Later && self.waits_for_news(thread)).then_some(last)
        };
        let threads = if self.composites.is_empty() { 0 } else { graph.thread_limit() };
        let turns = (0..threads).map(ThreadId::new).filter_map(put_off);
        turns.filter_map(|turn| Some((turn, self.composites.put_off.get(graph.event(turn).co)?)))
    }

    /// Whether some attempt was put off and waits.
    pub(super) fn is_put_off_in_vain(&self) -> bool {
        let graph = self.graph();
        let last = (0..graph.thread_limit()).filter_map(|n| graph.last(ThreadId::new(n))).map(|e| graph.event(e));
        last.into_iter().any(|event| event.kind == Kind::Turn && event.turn == Turn::Later)
    }

    /// Whether nothing that is waited for can come if a read, the newest event, reads from a write that is not the
    /// coherence-last one.
    pub(super) fn leads_nowhere(&self, read: EventId, write: EventId) -> bool {
        let graph = self.graph();
        let contradicts = |(turn, ways): (EventId, AllWays)| {
            let mine = graph.thread(graph.event(read).thread).iter().copied();
            let mine = mine.filter(|&x| x > turn && graph.event(x).is_read());
            let reading = |x: EventId| if x == read { Event { rf: write, ..*graph.event(x) } } else { *graph.event(x) };
            let reads: Way = mine.map(|x| (name(graph, x), source(graph, &reading(x)))).collect();
            !ways.iter().any(|way| fits(way, &reads))
        };
        self.put_off_in_hope().any(contradicts)
    }

    /// Whether the next read of a thread should wait for something to read from.
    pub(super) fn comes_too_early(&self, thread: ThreadId) -> bool {
        if self.composites.is_empty() {
            return false;
        }
        let graph = self.graph();
        self.put_off_in_hope().any(|(turn, ways)| {
            let since = graph.ids().skip(turn.index() + 1).filter(|&x| graph.event(x).is_read());
            let reads: Way = since.map(|x| (name(graph, x), source(graph, graph.event(x)))).collect();
            let before = graph.thread(thread).iter().filter(|&&x| graph.event(x).kind != Kind::Turn).count();
            let next = Name { thread, place: before as u32 };
            let waits = |way: &Way| in_way(way, next).is_some_and(|from| is_missing(graph, from));
            let mut fitting = ways.iter().filter(|way| fits(way, &reads)).peekable();
            fitting.peek().is_some() && fitting.all(waits)
        })
    }
}

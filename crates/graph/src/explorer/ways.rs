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
//! That is the reason why `A` is not put off if no way is known. With any write in place of `f` the same argument shows that
//! until the news comes, nobody writes a location that nobody was seen to write. All this says more about the branch in which
//! `A` waits, as long as nothing that it looks at is written there. What is older than the turn of `A` stays as it is:
//! to revisit it would delete the turn, which is not maximal before the news has come ([`backward`](crate::backward)). Of a
//! read since then, one of these is known ([`Stays`]):
//!
//! - *It is stale*: when it was added, there was a write behind the one that it reads from. It is never revisited or deleted,
//!   because it is not maximal, whatever would do that; and what it depends on is not, because it would be deleted then.
//! - *Nobody writes its location.* So it is neither revisited nor read again in place. It may be deleted, by the revisit of an
//!   older read since the turn.
//! - *Somebody does.* Unless it is deleted like that, it reads from what it reads from now, or from something newer than
//!   itself that revisits it or that it is read again from in place. (If that is deleted, it waits again, for the value that
//!   made it wait, and is part of no way.)
//! - *Its location is read speculatively.* Then it may also be made to read an older write (`older_value.rs`).
//!
//! Let `G` be a graph of that branch from which news comes on a way, after further additions and revisits. Take the oldest
//! read since the turn of `A` that reads from something else by then. All older ones agree with the way, and nothing has
//! deleted this one, so it reads from something newer than itself: the way says so, or does not contain it. If there is
//! no such read, the way agrees with all reads of `G`; and in any case with those that always stay. If no way is like that
//! ([`is_open`]), nothing comes of `G`, and it is left ([`Explorer::leads_nowhere`]). That is looked at when a read is added,
//! with every write that it could read from, and when a write that has revisited a read has found its place in coherence
//! order: before that, it is not known which reads are stale.
//!
//! There is one reason not to leave such a graph. Another attempt `B` may have taken its turn since `A` did, and read the
//! coherence-last values. What `B` can wait for has to be seen there, even if the way of `A` wants `B` to wait. So reads of
//! composite awaits that are not stale are taken for reads of which nothing is known.
//!
//! Nothing else is lost with what is not explored. An execution that ends there is one in which `A` waits for ever though it
//! could get on, so it is neither complete nor a deadlock; and an error or race on the way to it does not depend on `A`, and
//! has met no news, so that it is met when `A` reads as well. The same is true of news for other attempts that took their
//! turns before `A` did. A revisit that starts there leads to a graph of the same kind, unless it deletes the turn of `A`,
//! and that takes news. Nothing is explored twice, because nothing is added to what is explored.
//!
//! *A thread that would read too early* is left to last: if all ways that agree with the graph have its next read read from
//! something that is not there yet, others come first ([`Explorer::comes_too_early`]). `next_P` is free to choose whom it likes,
//! so there is nothing to prove. Otherwise the read would have to be revisited, and the graph from which that is done may
//! be one in which nothing comes.
//!
//! Ways are sets of reads and of what they read from, named by threads and places in them, not by events: these have other
//! numbers in other graphs. There may be many; if there are more than [`MOST`], nothing is known, and executions may be
//! explored in vain.

use super::Explorer;
use super::granules::Place;
use crate::clocks::PORF;
use crate::event::{BOTTOM, Event, EventId, INIT, Kind, LocId, Turn};
use crate::graph::Graph;
use crate::models::Model;
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_ir::EntityRef;
use selvedge_machine::{Addr, Machine, ThreadId};
use smallvec::SmallVec;
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
/// What can happen until news comes to an attempt that was put off.
#[derive(Debug)]
pub(crate) struct Hope {
    /// The ways on which it comes: there are no others.
    ways: FxHashSet<Way>,
    /// Where somebody writes: nobody does so elsewhere.
    written: FxHashSet<Addr>,
}

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

    /// Whether all ways are known on which news comes.
    #[cfg(test)]
    pub fn are_known(&self) -> bool {
        !self.too_many
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
    /// What is known of news in some locations; nothing if there are too many ways.
    pub fn to(&self, footprint: &[LocId], places: &[Place]) -> Option<Hope> {
        let here = self.seen.iter().filter(|(loc, _)| footprint.contains(loc)).flat_map(|(_, ways)| ways);
        let written = self.seen.keys().map(|loc| places[loc.index()].0);
        (!self.too_many).then(|| Hope { ways: here.cloned().collect(), written: written.collect() })
    }
}

/// The ways of attempts that have been put off, by numbers from 1.
#[derive(Default)]
pub(super) struct PutOff {
    hopes: Vec<Option<Arc<Hope>>>,
    sweep_at: usize,
}

impl PutOff {
    /// A number for what is known of news; 0 if nothing is. `in_use` are the numbers that others have.
    pub fn number(&mut self, hope: Option<Hope>, in_use: impl FnOnce() -> FxHashSet<u32>) -> u32 {
        let Some(hope) = hope else { return 0 };
        if self.hopes.len() >= self.sweep_at.max(FIRST_SWEEP) {
            let in_use = in_use();
            for (number, hope) in (1..).zip(&mut self.hopes) {
                hope.take_if(|_| !in_use.contains(&number));
            }
            self.sweep_at = 2 * in_use.len();
        }
        let free = self.hopes.iter().position(Option::is_none).unwrap_or_else(|| {
            self.hopes.push(None);
            self.hopes.len() - 1
        });
        self.hopes[free] = Some(Arc::new(hope));
        free as u32 + 1
    }

    pub fn get(&self, number: u32) -> Option<Arc<Hope>> {
        self.hopes.get((number as usize).checked_sub(1)?).cloned().flatten()
    }

    /// A number for what another worker knows.
    pub fn adopt(&mut self, hope: Arc<Hope>) -> u32 {
        self.hopes.push(Some(hope));
        self.hopes.len() as u32
    }

    /// Nothing is put off any more.
    pub fn clear(&mut self) {
        self.hopes.clear();
        self.sweep_at = 0;
    }
}

/// A read since an attempt was put off.
struct Since {
    read: EventId,
    name: Name,
    source: Source,
    stays: Stays,
}

/// Whether a read, until news comes, reads from what it reads from now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stays {
    /// Always.
    Always,
    /// As long as no older read is revisited.
    WithOlder,
    /// As long as no older read is revisited, it reads from that or from something newer than itself.
    OrNewer,
    /// That is not known.
    Unknown,
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

/// Whether what is read from is an older event than some read.
fn is_older(graph: &Graph, from: Source, than: EventId) -> bool {
    match from {
        Source::Initial | Source::Nothing => true,
        Source::Write(Name { thread, place }) => {
            let mut older = graph.thread(thread).iter().take_while(|&&e| e < than);
            older.any(|&e| graph.event(e).place == place)
        }
    }
}

/// Whether news may still come on a way.
fn is_open(graph: &Graph, way: &Way, reads: &[Since]) -> bool {
    let contradicts = |since: &Since| in_way(way, since.name).is_some_and(|wanted| wanted != since.source);
    if reads.iter().any(|since| since.stays == Stays::Always && contradicts(since)) {
        return false;
    }
    for since in reads {
        let may_change = match since.stays {
            Stays::Always | Stays::WithOlder => false,
            Stays::OrNewer => in_way(way, since.name).is_none_or(|wanted| !is_older(graph, wanted, since.read)),
            Stays::Unknown => true,
        };
        if may_change {
            return true;
        }
        if contradicts(since) {
            return false;
        }
    }
    true
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
    fn put_off_in_hope(&self) -> impl Iterator<Item = (EventId, Arc<Hope>)> {
        let graph = self.graph();
        let put_off = |thread: ThreadId| {
            let last = graph.last(thread)?;
            let event = graph.event(last);
            (event.kind == Kind::Turn && event.turn == Turn::Later && self.waits_for_news(thread)).then_some(last)
        };
        let turns = (0..graph.thread_limit()).map(ThreadId::new).filter_map(put_off);
        turns.filter_map(|turn| Some((turn, self.composites.put_off.get(graph.event(turn).co)?)))
    }

    /// Whether some attempt was put off and waits.
    pub(super) fn is_put_off_in_vain(&self) -> bool {
        let graph = self.graph();
        let last = (0..graph.thread_limit()).filter_map(|n| graph.last(ThreadId::new(n))).map(|e| graph.event(e));
        last.into_iter().any(|event| event.kind == Kind::Turn && event.turn == Turn::Later)
    }

    /// The same if a read, the newest event, reads from another write.
    #[inline]
    pub(super) fn would_lead_nowhere(&mut self, read: EventId, write: EventId) -> bool {
        if self.composites.is_empty() || self.put_off_in_hope().next().is_none() {
            return false;
        }
        self.frame().graph.set_rf(read, write);
        self.leads_nowhere()
    }

    /// Whether nothing that is waited for can come any more: what contradicts all ways stays as it is.
    #[inline]
    pub(super) fn leads_nowhere(&self) -> bool {
        !self.composites.is_empty() && self.contradicts_hope()
    }

    fn contradicts_hope(&self) -> bool {
        let graph = self.graph();
        self.put_off_in_hope().any(|(turn, hope)| {
            let reads = self.reads_since(turn, &hope);
            !hope.ways.iter().any(|way| is_open(graph, way, &reads))
        })
    }

    /// The reads since an attempt was put off, oldest first.
    fn reads_since(&self, turn: EventId, hope: &Hope) -> Vec<Since> {
        let graph = self.graph();
        let reads = || (turn.index() + 1..graph.len()).map(EventId::new).filter(|&e| graph.event(e).is_read());
        let is_stale = |&q: &EventId| {
            let newer = &graph.location(graph.event(q).loc).co[graph.position(q) as usize..];
            !graph.event(q).reads_nothing() && newer.iter().any(|&x| x < q)
        };
        let stale: SmallVec<[EventId; 8]> = reads().filter(is_stale).collect();
        let stays = |q: EventId| {
            let loc = graph.event(q).loc;
            if stale.iter().any(|&x| x == q || graph.porf(q, x)) {
                return Stays::Always;
            }
            if graph.event(q).composite || self.habits[loc.index()].speculative {
                return Stays::Unknown;
            }
            if hope.written.contains(&self.runner.place(loc).0) { Stays::OrNewer } else { Stays::WithOlder }
        };
        let since = |q| Since { read: q, name: name(graph, q), source: source(graph, graph.event(q)), stays: stays(q) };
        reads().map(since).collect()
    }

    /// Whether the next read of a thread should wait for something to read from.
    #[inline]
    pub(super) fn comes_too_early(&self, thread: ThreadId) -> bool {
        !self.composites.is_empty() && self.should_wait(thread)
    }

    fn should_wait(&self, thread: ThreadId) -> bool {
        let graph = self.graph();
        self.put_off_in_hope().any(|(turn, hope)| {
            let since = graph.ids().skip(turn.index() + 1).filter(|&x| graph.event(x).is_read());
            let reads: Way = since.map(|x| (name(graph, x), source(graph, graph.event(x)))).collect();
            let before = graph.thread(thread).iter().filter(|&&x| graph.event(x).kind != Kind::Turn).count();
            let next = Name { thread, place: before as u32 };
            let waits = |way: &Way| in_way(way, next).is_some_and(|from| is_missing(graph, from));
            let mut fitting = hope.ways.iter().filter(|way| fits(way, &reads)).peekable();
            fitting.peek().is_some() && fitting.all(waits)
        })
    }
}

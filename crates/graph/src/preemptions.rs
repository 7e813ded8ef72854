//! How many preemptions an execution takes: how often a thread has to make room for others although it could go on.
//!
//! Preemption bounding leaves out executions that take more of them than some number. An execution graph stands for many
//! interleavings; what counts is the one that takes fewest. An event is *ready* if what it depends on has taken place: what it
//! reads from, the creation of its thread, the end of a thread that it joins; under SC also the writes that its own overwrites,
//! and the reads of these. Once ready it stays so. A thread that comes to an event which is not ready has to make room. That is
//! a preemption, unless it waits there: for a lock that is not free, or for a thread that has not ended. Where a loop that waits
//! begins, a thread may always make room without one: it could have looked in vain before, and yielded.
//!
//! So an interleaving is an order in which threads are let run as far as they come. Only one thing is gained by a thread that makes
//! room before it must: another one may come to an event at which it waits as long as this one has not gone on, and
//! make room there without a preemption. A thread whose run ends without a preemption, and makes no difference to anybody who
//! could still come to wait, can be let run at once. Otherwise, all orders are tried.
//!
//! The exploration comes to a graph through others, which may take more preemptions than it does: what is deleted by later
//! revisits was added maximally, that is, it can run after all the rest, but the threads that it belongs to may have to make
//! room once each for that. So what is cut off are graphs that take more than the bound and a *slack*
//! (Marmanis, Kokologiannakis, Vafeiadis: Reconciling preemption bounding with DPOR, TACAS 2023). The thread that revisits has nothing
//! to be deleted, and the one whose read is revisited has to make room in the execution that is come to as well, unless it waits there:
//! so the slack is larger by one where threads wait.
//!
//! That is enough if threads, once they run, go on to their end: so does what is deleted, in the order in which it was added. Where
//! threads wait it is not, and no number is. Two threads may talk to each other again and again,
//!
//! ```text
//! t2: await y1; z1 = 1; await y2; z2 = 1; ...
//! t3: y1 = 1; read z1; y2 = 1; read z2; ...
//! ```
//!
//! and as long as all of it is maximal, `t3` makes room behind each of its writes, since `t2` has the lower number and comes first
//! as soon as it can. All of this may have to be deleted for an execution that takes none. So two things are no preemptions
//! as far as a graph is a step on the way to others ([`exceeds_on_the_way`]):
//! - a thread that comes to a read at which the exploration has passed it over ([`was_passed_over`]) makes room: it was blocked
//!   there, or kept out of the graph, or its attempt was put off, until what it reads was written;
//! - a thread makes room behind a write with which a thread of a lower number was let go like that.
//!
//! Nothing else makes the exploration leave a thread that can go on (`next_P` takes the first that can; a bound keeps it from leaving
//! those to last that would come too early, `ways.rs`), so that with these what is deleted takes no preemptions in the order in which it
//! was added, but for the one of each thread. What is kept takes no more than the execution that is come to; only a thread that waits
//! may wait for no reason in a part of it, as below.
//!
//! Attempts that are put off in hope of news ([`Turn::Later`](crate::event::Turn::Later)) need that the news is seen where the attempt
//! reads instead. There the attempt comes last of all, like what is deleted; it costs its thread one preemption, and the thread that
//! brings the news none. So it is within the slack whenever an execution is within the bound in which the attempt reads the news.
//! What differs with a bound is which attempts are taken together: that becomes known by executions that end in vain, and other ones of
//! these are met. So bounded and unbounded explorations leave out different executions in which an attempt fails although it would
//! get on if it were made again. These are neither complete nor stuck, and nothing is missed with them.
//!
//! Most graphs between the bound and the slack lead to nothing. What is deleted is taken back only as far as it was added
//! maximally, so some events are *permanent* ([`permanent`]): they, and all that they depend on, are part of every graph that is
//! come to from there. An execution takes at least as many preemptions as a part of it does that contains with each event what
//! that depends on: leave all other events out of its interleaving. So a graph is cut off also if its permanent part alone takes
//! more than the bound. Only where a thread waits may it take more without others: somebody whose step is left out may have been the
//! reason why it had to. That cannot be where locks are taken, one after the other; elsewhere, to wait costs nothing in a part.
//! Where attempts are speculative or taken together, they are put off and read again in place, and no part is known to be permanent.
//! To let go who was passed over is not free here: what is permanent stays, and counts as it does in an execution.

use crate::clocks::PORF;
use crate::event::{Event, EventId, INIT, Kind, LocId, NONE};
use crate::graph::Graph;
use rustc_hash::FxHashMap;
use selvedge_ir::EntityRef;
use selvedge_machine::ThreadId;
use smallvec::SmallVec;

/// So many orders are tried. If that is not enough, a graph is taken to be within the bound.
const MOST_ORDERS: u32 = 4096;

/// Whether an execution takes more preemptions than that. `in_order` says whether accesses take place in an order in which
/// every read reads the last write before it, as under SC.
pub fn exceeds(graph: &Graph, limit: u32, in_order: bool) -> bool {
    part_exceeds(graph, (all(graph), Scope::Execution), limit, in_order)
}

/// The same of a graph through which others are come to: what takes place because the exploration has passed over threads
/// is no preemption.
pub fn exceeds_on_the_way(graph: &Graph, limit: u32, in_order: bool) -> bool {
    part_exceeds(graph, (all(graph), Scope::OnTheWay), limit, in_order)
}

/// All events of each thread.
fn all(graph: &Graph) -> Done {
    (0..graph.thread_limit()).map(|n| graph.thread(ThreadId::new(n)).len() as u32).collect()
}

/// Whether every execution that is come to from a graph takes more preemptions than that. Not known where attempts are taken together:
/// these are put off, and read again in place.
pub fn will_exceed(graph: &Graph, limit: u32, in_order: bool) -> bool {
    let is_attempt = |e: EventId| {
        let event = graph.event(e);
        event.kind == Kind::Turn || event.composite || event.speculative || event.confirms
    };
    !graph.ids().any(is_attempt) && part_exceeds(graph, (permanent(graph), Scope::Part), limit, in_order)
}

/// The same for so many events of each thread.
fn part_exceeds(graph: &Graph, (part, scope): (Done, Scope), limit: u32, in_order: bool) -> bool {
    let is_part = |e: &EventId| is_among(graph, *e, &part);
    // Every preemption is one at an event of its own.
    let may_be_one = |e: &EventId| is_part(e) && may_be_too_early(graph, graph.event(*e), in_order);
    if graph.ids().filter(may_be_one).count() <= limit as usize {
        return false;
    }
    let waiting = graph.ids().filter(is_part).filter(|&e| {
        let event = graph.event(e);
        let waits = event.kind == Kind::Join || event.waits && !event.blocked;
        waits && depends_on_others(graph, event)
    });
    let waiting = waiting.collect();
    let lets_go = match scope {
        Scope::OnTheWay => graph.ids().filter_map(|e| let_go_by(graph, e)).collect(),
        _ => SmallVec::new(),
    };
    let tried = FxHashMap::default();
    let mut search = Search { graph, in_order, limit, part, scope, waiting, lets_go, tried, orders: MOST_ORDERS };
    !search.can_end(Done::from_elem(0, graph.thread_limit()), 0)
}

/// How many events of each thread no revisit will delete.
///
/// A revisit deletes what was added maximally only (`backward.rs`). So these are permanent, with all that they depend on:
/// - a choice other than the first;
/// - a read that has not read the last of the writes that were there before it, and a write that was not placed behind them. One of
///   these could become maximal only if the write that lies behind it were deleted, and it not. Then it would be something
///   that the revisiting write depends on, which is read by an older event, and permanent like
/// - a write that an older event was made to read by a revisit: as long as that event is there, it is not maximal; and if that is
///   deleted, the revisiting write depends on this one, and is read by an event that is older still.
///
/// Reads that wait, or that were added as attempts, may read again in place, and do not count.
fn permanent(graph: &Graph) -> Done {
    let mut part = Done::from_elem(0, graph.thread_limit());
    for e in graph.ids().filter(|&e| is_permanent(graph, e)) {
        let event = graph.event(e);
        let before = graph.clocks.row(e, PORF);
        part.iter_mut().zip(before).for_each(|(count, &before)| *count = before.max(*count));
        let own = &mut part[event.thread.index()];
        *own = event.index.max(*own);
    }
    part
}

fn is_permanent(graph: &Graph, e: EventId) -> bool {
    let event = graph.event(e);
    let location = || graph.location(event.loc);
    let older_lies_behind = |position: u32| location().co[position as usize..].iter().any(|&w| w < e);
    let was_made_to_read = |r: EventId| r < e && (graph.event(r).base == e || graph.event(r).primary == e);
    match event.kind {
        Kind::Choose => event.value != 0,
        Kind::Write => older_lies_behind(graph.position(e)) || location().reads().any(was_made_to_read),
        Kind::Read => {
            let may_read_again = event.waits || event.blocked || event.composite || event.speculative;
            !may_read_again && !event.reads_nothing() && older_lies_behind(graph.position_of(event.rf))
        }
        _ => false,
    }
}

/// Whether an event is among the first so many of its thread.
fn is_among(graph: &Graph, e: EventId, counts: &Done) -> bool {
    let event = graph.event(e);
    counts[event.thread.index()] >= event.index
}

/// Whether the newest event may make a graph take more preemptions than it took without it.
pub fn may_add(graph: &Graph, in_order: bool) -> bool {
    let Some(newest) = graph.ids().next_back() else { return false };
    let event = graph.event(newest);
    // A write may have been read by a thread that waited for it.
    let is_read = || graph.location(event.loc).reads().any(|r| graph.event(r).rf == newest);
    match event.kind {
        // A read has to come before writes that overwrite what it has read, and these after it.
        Kind::Read | Kind::Write if in_order => true,
        Kind::Write => is_read(),
        _ => depends_on_others(graph, event),
    }
}

/// How many more preemptions than the bound allows a graph may take through which others are come to: one for every thread that
/// may have to make room, but for one that need not; unless threads wait.
pub fn slack(graph: &Graph, in_order: bool) -> u32 {
    let (mut preempted, mut others_write, mut waits) = (0u32, false, false);
    for thread in (0..graph.thread_limit()).map(ThreadId::new) {
        let mut events = graph.thread(thread).iter().map(|&e| graph.event(e));
        waits |= events.clone().any(|event| event.waits || event.yields);
        match events.clone().any(|event| may_be_too_early(graph, event, in_order)) {
            true => preempted += 1,
            false => others_write |= events.any(Event::is_write),
        }
    }
    preempted.saturating_sub(u32::from(!others_write)) + u32::from(waits)
}

/// Whether the exploration has passed over a thread at a read, until what it reads was written.
fn was_passed_over(graph: &Graph, e: EventId) -> bool {
    let event = graph.event(e);
    if !event.is_read() || event.blocked || !event.rf.is_event() {
        return false;
    }
    if event.composite {
        // Its attempt was put off, and then that came which it reads.
        let before = if event.open.is_event() { graph.event(event.open).pred } else { NONE };
        return before.is_event() && graph.event(before).kind == Kind::Turn && event.rf > before;
    }
    // It was read again in place, or kept out of the graph (`explorer/in_place.rs`) when its thread had come there.
    let was_kept_out = || event.rf < e && (!event.pred.is_event() || event.pred < event.rf);
    event.base != event.rf || event.waits && was_kept_out()
}

/// For a read at which a thread was passed over: the write that has let it go, if another thread was left for it then.
fn let_go_by(graph: &Graph, e: EventId) -> Option<EventId> {
    let event = graph.event(e);
    (was_passed_over(graph, e) && graph.event(event.rf).thread > event.thread).then_some(event.rf)
}

/// Whether a thread may have to make room at an event.
fn may_be_too_early(graph: &Graph, event: &Event, in_order: bool) -> bool {
    if in_order {
        return event.is_access();
    }
    let comes_after = |source: EventId| event.pred.is_event() && graph.porf(source, event.pred);
    event.is_read() && source(graph, event).is_some_and(|source| !comes_after(source))
}

/// What an event reads from, or what has to come before it can learn what it does.
fn source(graph: &Graph, event: &Event) -> Option<EventId> {
    let source = match event.kind {
        Kind::Read => event.rf,
        Kind::Join => graph.before_next(event.other()),
        _ => event.pred,
    };
    source.is_event().then_some(source)
}

/// Whether an event comes from one of another thread.
fn depends_on_others(graph: &Graph, event: &Event) -> bool {
    source(graph, event).is_some_and(|source| graph.event(source).thread != event.thread)
}

/// How many events of each thread have taken place.
type Done = SmallVec<[u32; 8]>;

/// A thread, how far it is let run, and whether it makes room there although it does not wait.
type Run = (ThreadId, u32, bool);

/// What preemptions are counted of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// An execution.
    Execution,
    /// A part that executions have in common.
    Part,
    /// Such a part, and what will be deleted.
    OnTheWay,
}

struct Search<'a> {
    graph: &'a Graph,
    in_order: bool,
    limit: u32,
    /// How many events of each thread there are.
    part: Done,
    scope: Scope,
    /// Events at which a thread may wait for others.
    waiting: SmallVec<[EventId; 16]>,
    /// Writes behind which a thread makes room for one that they let go.
    lets_go: SmallVec<[EventId; 16]>,
    /// How many preemptions were too many to go on from there.
    tried: FxHashMap<Done, u32>,
    /// How many orders may still be tried.
    orders: u32,
}

impl Search<'_> {
    /// Whether all can take place after so many preemptions, and no more than allowed.
    fn can_end(&mut self, mut done: Done, preemptions: u32) -> bool {
        let mut runs: SmallVec<[Run; 16]> = SmallVec::new();
        loop {
            runs.clear();
            for thread in (0..self.graph.thread_limit()).map(ThreadId::new) {
                self.add_runs(thread, &done, &mut runs);
            }
            let Some(&(thread, count, _)) = runs.iter().find(|run| self.is_harmless(run, &done)) else { break };
            done[thread.index()] = count;
        }
        // Nobody can go on: all has taken place.
        if runs.is_empty() {
            return true;
        }
        if self.tried.get(&done).is_some_and(|&before| before <= preemptions) {
            return false;
        }
        runs.sort_by_key(|&(_, _, is_preempted)| is_preempted);
        for &(thread, count, is_preempted) in &runs {
            let preemptions = preemptions + u32::from(is_preempted);
            if preemptions > self.limit {
                continue;
            }
            if self.orders == 0 {
                return true;
            }
            self.orders -= 1;
            let mut next = done.clone();
            next[thread.index()] = count;
            if self.can_end(next, preemptions) {
                return true;
            }
        }
        self.tried.insert(done, preemptions);
        false
    }

    /// How far a thread may be let run.
    fn add_runs(&self, thread: ThreadId, done: &Done, runs: &mut SmallVec<[Run; 16]>) {
        let events = &self.graph.thread(thread)[..self.part[thread.index()] as usize];
        // A read that waits for what nobody has written does not take place.
        let waits = events.last().is_some_and(|&last| self.graph.event(last).blocked);
        let rest = &events[done[thread.index()] as usize..events.len() - usize::from(waits)];
        let ready = rest.iter().take_while(|&&e| self.is_ready(e, done)).count();
        let count = |n: usize| done[thread.index()] + n as u32;
        if ready > 0 {
            let mut after = done.clone();
            after[thread.index()] = count(ready);
            let lets_go = self.lets_go.contains(&rest[ready - 1]);
            let is_preempted = rest.get(ready).is_some_and(|&next| !lets_go && !self.makes_room(next, &after));
            runs.push((thread, count(ready), is_preempted));
        }
        let makes_room = |n: &usize| self.graph.event(rest[*n]).yields || self.lets_go.contains(&rest[*n - 1]);
        for n in (1..ready).rev().filter(makes_room) {
            runs.push((thread, count(n), false));
        }
        for n in (1..ready).filter(|&n| self.matters(rest[n], done)) {
            runs.push((thread, count(n), true));
        }
    }

    /// Whether a thread can be let run without a preemption, and without a difference to those who could still come to wait.
    fn is_harmless(&self, &(thread, count, is_preempted): &Run, done: &Done) -> bool {
        let events = self.graph.thread(thread)[done[thread.index()] as usize..count as usize].iter();
        !is_preempted && !events.copied().any(|e| self.matters(e, done))
    }

    /// Whether it makes a difference to somebody who may wait, and has not come there yet, that an event takes place.
    fn matters(&self, e: EventId, done: &Done) -> bool {
        let event = self.graph.event(e);
        self.waiting.iter().map(|&waiting| self.graph.event(waiting)).any(|waiting| {
            let matters = match waiting.kind {
                Kind::Join => source(self.graph, waiting) == Some(e),
                _ => event.is_write() && event.loc == waiting.loc,
            };
            matters && event.thread != waiting.thread && done[waiting.thread.index()] + 1 < waiting.index
        })
    }

    /// Whether a thread that comes to an event now makes room without a preemption.
    fn makes_room(&self, e: EventId, done: &Done) -> bool {
        let is_passed_over = || self.scope == Scope::OnTheWay && was_passed_over(self.graph, e);
        self.graph.event(e).yields || self.waits(e, done) || is_passed_over()
    }

    /// Whether a thread that comes to an event now would wait there. It would not if it found the value with which it goes on,
    /// be it another write's: then it makes room although it need not.
    fn waits(&self, e: EventId, done: &Done) -> bool {
        let event = self.graph.event(e);
        match event.kind {
            Kind::Join => !self.has_source(event, done),
            _ if !event.waits || self.has_source(event, done) => false,
            _ if event.composite || self.scope != Scope::Execution && !self.takes_lock(e) => true,
            _ => self.value(event.loc, done) != event.value,
        }
    }

    /// Whether an event comes before or after every write to its location, as those that take a lock do: who else has written there
    /// before it is part of whatever it is part of.
    fn takes_lock(&self, e: EventId) -> bool {
        let event = self.graph.event(e);
        let is_ordered = |&w: &EventId| self.graph.porf(w, e) || self.graph.porf(e, w);
        event.exclusive && self.graph.location(event.loc).co.iter().all(is_ordered)
    }

    /// The last value of a location.
    fn value(&self, loc: LocId, done: &Done) -> u64 {
        let is_done = |w: &EventId| {
            let write = self.graph.event(*w);
            done[write.thread.index()] >= write.index
        };
        let last = self.graph.location(loc).co.iter().copied().rfind(is_done);
        self.graph.written(loc, last.unwrap_or(INIT))
    }

    /// Whether what an event reads, or learns, is there.
    fn has_source(&self, event: &Event, done: &Done) -> bool {
        source(self.graph, event).is_none_or(|source| is_done(self.graph, source, event.thread, done))
    }

    /// Whether what an event depends on has taken place, if that is not its own thread's.
    fn is_ready(&self, e: EventId, done: &Done) -> bool {
        let event = self.graph.event(e);
        let is_done = |x: EventId| is_done(self.graph, x, event.thread, done);
        if !self.has_source(event, done) || event.pred.is_event() && !is_done(event.pred) {
            return false;
        }
        if !self.in_order {
            return true;
        }
        // A read-modify-write does not stop in the middle.
        let write = if event.kind == Kind::Write { Some(e) } else { self.graph.write_of(e) };
        write.is_none_or(|write| {
            let position = self.graph.position(write);
            let location = self.graph.location(event.loc);
            let reads = location.reads().filter(|&r| {
                let read = self.graph.event(r);
                !read.blocked && !read.reads_nothing() && self.graph.position_of(read.rf) < position
            });
            let mut before = location.co[..position as usize - 1].iter().copied().chain(reads);
            before.all(|x| !is_among(self.graph, x, &self.part) || is_done(x))
        })
    }
}

/// Whether an event has taken place, or is one of the thread's own.
fn is_done(graph: &Graph, e: EventId, own: ThreadId, done: &Done) -> bool {
    let event = graph.event(e);
    event.thread == own || done[event.thread.index()] >= event.index
}

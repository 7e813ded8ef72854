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
//! as far as a graph is a step on the way to others ([`Scope::OnTheWay`]):
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
//! maximally, so some events are *permanent* (`preemptions/permanent.rs`): they, and all that they depend on, are part of every graph that is
//! come to from there. An execution takes at least as many preemptions as a part of it does that contains with each event what
//! that depends on: leave all other events out of its interleaving. So a graph is cut off also if its permanent part alone takes
//! more than the bound. Only where a thread waits may it take more without others: somebody whose step is left out may have been the
//! reason why it had to. That cannot be where locks are taken, one after the other; elsewhere, to wait costs nothing in a part.
//! Threads that were made to read something newer have to make room behind that part, too (`permanent::held_up`).
//! To let go who was passed over is not free here: what is permanent stays, and counts as it does in an execution.
//!
//! Attempts that are speculative or taken together change nothing of that: what they read again in place makes nothing permanent. And the
//! news is still seen for which attempts are put off. In the graph in which it is, there are only what was there when the attempt took its
//! turn, the attempt, and what the news depends on. The attempt is no part of what is permanent: it was added maximally, and
//! nothing there depends on it. All else is part of the execution in which the attempt reads the news.
//!
//! What happens for no reason, such as an exchange that fails, counts like a preemption. That is a choice, and permanent: no slack is
//! needed for it.

use crate::event::{Event, EventId, Kind, NONE, NOT_KNOWN};
use crate::graph::Graph;
use selvedge_ir::EntityRef;
use selvedge_machine::ThreadId;
use smallvec::SmallVec;

mod interleaving;
mod permanent;
mod stops;

/// What is taken for known is looked at in graphs with no more events than that.
const SMALL: usize = 40;

/// Whether an execution takes more preemptions than that. `in_order` says whether accesses take place in an order in which
/// every read reads the last write before it, as under SC.
pub fn exceeds(graph: &Graph, limit: u32, in_order: bool) -> bool {
    fewest(graph, (&all(graph), Scope::Execution, &[]), limit, in_order).is_none()
}

/// Whether a graph is cut off: neither it nor any that is come to from it takes no more preemptions than `bound`.
///
/// Its newest event can take place after all others, so that it adds one preemption at most, and that much is known of a graph without
/// searching. (Not under SC, where it may have to come before others.)
pub fn is_beyond(graph: &mut Graph, bound: u32, in_order: bool) -> bool {
    let Some(newest) = graph.ids().next_back() else { return false };
    let before = newest.index().checked_sub(1).map_or(0, |n| graph.event(EventId::new(n)).preemptions);
    if !may_add(graph, in_order) {
        graph.set_preemptions(newest, before);
        return false;
    }
    // What is chosen is never deleted, so no slack is needed for that.
    let Some(bound) = bound.checked_sub(spurious(graph)) else { return true };
    let is_known = before != NOT_KNOWN && !in_order && !graph.has_changed_since(newest);
    // What is permanent is that as soon as it is added, or becomes it by a revisit.
    if (!is_known || permanent::is_permanent(graph, newest)) && will_exceed(graph, bound, in_order) {
        return true;
    }
    let mut most = if is_known { u32::from(before) + 1 } else { u32::MAX };
    if most > bound {
        let limit = bound.saturating_add(slack(graph, in_order));
        if most > limit {
            let Some(fewest) = fewest(graph, (&all(graph), Scope::OnTheWay, &[]), limit, in_order) else { return true };
            most = fewest;
        }
    }
    let takes_no_more = || fewest(graph, (&all(graph), Scope::OnTheWay, &[]), most, in_order).is_some();
    debug_assert!(graph.len() > SMALL || takes_no_more(), "the newest event adds one at most");
    graph.set_preemptions(newest, u8::try_from(most).unwrap_or(NOT_KNOWN));
    false
}

/// All events of each thread.
fn all(graph: &Graph) -> Done {
    (0..graph.thread_limit()).map(|n| graph.thread(ThreadId::new(n)).len() as u32).collect()
}

/// Whether every execution that is come to from a graph takes more preemptions than that.
fn will_exceed(graph: &Graph, limit: u32, in_order: bool) -> bool {
    let part = permanent::permanent(graph);
    let held_up = permanent::held_up(graph, &part);
    fewest(graph, (&part, Scope::Part, &held_up), limit, in_order).is_none()
}

/// How many preemptions so many events of each thread take, and those that are held up; none if more than `limit`. It may be less than
/// what is told.
fn fewest(graph: &Graph, (part, scope, held_up): Part<'_>, limit: u32, in_order: bool) -> Option<u32> {
    let is_part = |e: &EventId| is_among(graph, *e, part);
    // Every preemption is one at an event of its own.
    let may_be_one = |e: &EventId| is_part(e) && may_be_too_early(graph, graph.event(*e), in_order);
    let most = (graph.ids().filter(may_be_one).count() + held_up.len()) as u32;
    if most <= limit { Some(most) } else { interleaving::fewest(graph, (part, scope, held_up), limit, in_order) }
}

/// Whether an event is among the first so many of its thread.
fn is_among(graph: &Graph, e: EventId, counts: &Done) -> bool {
    let event = graph.event(e);
    counts[event.thread.index()] >= event.index
}

/// Whether the newest event may make a graph take more preemptions than it took without it.
fn may_add(graph: &Graph, in_order: bool) -> bool {
    let Some(newest) = graph.ids().next_back() else { return false };
    let event = graph.event(newest);
    // A write may have been read by a thread that waited for it.
    let is_read = || graph.location(event.loc).reads().any(|r| graph.event(r).rf == newest);
    match event.kind {
        // A read has to come before writes that overwrite what it has read, and these after it.
        Kind::Read | Kind::Write if in_order => true,
        Kind::Write => is_read(),
        Kind::Choose => event.is_spurious(),
        _ => depends_on_others(graph, event),
    }
}

/// How much happens for no reason. Each of these counts like a preemption: a bound is for executions that are near to those that happen
/// most often.
fn spurious(graph: &Graph) -> u32 {
    graph.ids().map(|e| graph.event(e)).filter(|event| event.is_spurious()).count() as u32
}

/// How many more preemptions than the bound allows a graph may take through which others are come to: one for every thread that
/// may have to make room, but for one that need not; unless threads wait.
fn slack(graph: &Graph, in_order: bool) -> u32 {
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

/// Events behind a part at which threads are held up, and the writes for which they have to wait.
type HeldUp = SmallVec<[(EventId, EventId); 4]>;

/// So many events of each thread, what they are, and where threads are held up behind them.
type Part<'a> = (&'a Done, Scope, &'a [(EventId, EventId)]);

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

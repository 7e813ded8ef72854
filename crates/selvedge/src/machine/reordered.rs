//! Running an execution again with its steps in another order: do threads tell each other something that the model does not know of?
//!
//! A thread must learn of others by operations only. What it reads from an atomic of `std` that another thread has written depends
//! on who ran first, and that is not up to the engine: of all orders of the steps of an execution it takes one, and what threads
//! would do in the others is left out without a word. So where a complete execution is run again to be compared (`determinism.rs`),
//! that is done in an order that is as different as can be. There are three ways, by turns: of two steps that may change places, the
//! later one comes first; or that of the thread that has created the other's; or that of the one that was created. These stay as they
//! were:
//!
//! - steps of one thread; of a thread and those that it creates; of a thread and who joins it;
//! - steps that use the same object, if one of them may change it. So what happens before something still comes before it, and
//!   locks are handed over as they were. What is freed comes where it was among all steps: who has used it decides whether there
//!   is anything to be told of.
//!
//! A thread begins as late as that, and not when it is created: what it does before its first step may come later, too. In the third
//! way, it begins and goes on before its creator does; in the first one, so does the last that its creator has created: most models have
//! few executions, and what they share shows in the first one as a rule.
//!
//! Then every thread has to come to the same operations, and to its end. If one does not, the execution is run again as it
//! was. If it differs from the record then too, that is said as ever. If not, it is for the order, and the model is refused, but for
//! three reasons:
//!
//! - Only the numbers of blocks differ: threads have collected something in a vector of `std`'s, say, and another one has made
//!   it larger. Values that point into blocks are then other values, though nobody could tell.
//! - A thread tells the engine of a block that it has freed, or does not: whether it has to is found out by looking at memory, and
//!   at who has used it so far (`freed.rs`).
//! - Some thread is dropping a value whose references `std` counts, in one order or in the other. Who is the last owner is not known to
//!   the model, and what others find when they are gets its verdict elsewhere (`RustMachine::is_misled`).
//!
//! One other order is tried, not all of them: what is shared may go unnoticed. And what makes no difference to operations, such as
//! a log of what was seen, is no reason to refuse a model.

use super::RustMachine;
use super::determinism::{COMPARED, are_same_but_for_blocks};
use crate::coroutine::Came;
use crate::freed;
use crate::runtime::{self, Yielded};
use crate::script::Step;
use rustc_hash::FxHashMap;
use selvedge_ir::EntityRef;
use selvedge_machine::{AccessKind, Addr, Op, Status, Stop, ThreadId};
use smallvec::SmallVec;
use std::collections::BinaryHeap;

/// Executions with more steps are run again in the order that they have.
const MOST: usize = 1 << 14;

impl RustMachine {
    /// Runs the present execution, which is over, again in another order, and compares what threads come to.
    pub(super) fn run_again_otherwise(&mut self) -> Result<(), Stop> {
        if !self.has_other_orders() {
            return self.run_again();
        }
        let ended = runtime::shared(|shared| shared.ended);
        let events = in_another_order(&happened(&self.steps), Way::of(ended));
        let as_it_was = std::mem::take(&mut self.steps);
        let (mut order, mut begins) = (Vec::with_capacity(as_it_was.len()), Vec::new());
        for event in events {
            match event {
                Event::Step(n) => order.push(n),
                Event::Begins(thread) => begins.push((order.len(), thread)),
            }
        }
        self.steps.extend(order.iter().map(|&n| as_it_was[n]));
        self.compared.begins = begins;
        let result = self.run_otherwise();
        let Err(differs) = result else {
            self.steps = as_it_was;
            return Ok(());
        };
        // The step that its thread does not come to, if not all have been made.
        let missing = runtime::shared(|shared| shared.script.next.checked_sub(1));
        let is_about_blocks = |step: &Step| step.at.is_some_and(freed::is_place) || self.only_blocks_differ(step);
        let missing_for_blocks = missing.is_some_and(|last| is_about_blocks(&self.steps[last]));
        let is_no_reason = missing_for_blocks || self.somebody_frees() || somebody_drops();
        self.steps = as_it_was;
        let is_no_reason = is_no_reason || missing.is_some_and(|last| self.somebody_drops_at(order[last]));
        if runtime::shared(|shared| shared.restart) {
            // What was found out in that order is why: the next one is compared instead.
            runtime::shared(|shared| shared.ended = 0);
        }
        // If that is no other than this, it is not for the order. (Or everything starts again.)
        self.run_again()?;
        if is_no_reason { Ok(()) } else { Err(differs) }
    }

    /// Runs steps that are in another order, or the first of them.
    fn run_otherwise(&mut self) -> Result<(), Stop> {
        self.compared.otherwise = true;
        let result = self.run_again();
        self.compared.otherwise = false;
        self.compared.failed.clear();
        runtime::take_panic();
        runtime::take_updating();
        // Objects were met in another order, or not all of them.
        self.compared.real = false;
        if runtime::is_spoiled() {
            // Some thread was left in the middle of a panic: everything is explored on another thread of the system, without this.
            runtime::shared(|shared| shared.restart = true);
        }
        self.stale = true;
        result
    }

    /// Whether some thread drops a value whose references `std` counts where the execution has come to a step.
    fn somebody_drops_at(&mut self, step: usize) -> bool {
        let made = std::mem::replace(&mut self.made, step);
        // Threads do not stand where they end: that is no answer.
        let _ = self.run_otherwise();
        self.made = made;
        somebody_drops()
    }

    /// Whether some thread is about to tell the engine of a block that it has freed.
    fn somebody_frees(&self) -> bool {
        self.slots.iter().flatten().any(|slot| slot.strand.pending().is_some_and(|now| freed::is_place(now.at)))
    }

    /// Whether a thread stands at a step but for the numbers of blocks.
    fn only_blocks_differ(&self, step: &Step) -> bool {
        let slot = self.slots.get(step.thread.index()).and_then(Option::as_ref);
        let now = slot.and_then(|slot| slot.strand.pending());
        now.is_some_and(|now| are_same_but_for_blocks(&step.op, step.at, now))
    }

    /// Notes that a thread has failed in such a run.
    pub(super) fn notes_failure(&mut self, thread: ThreadId, came: Came) {
        let (why, place) = match came {
            Came::Panic(panic) => *panic,
            Came::To(Yielded::Assumes(at)) => ("what it assumes does not hold".to_owned(), runtime::span(at)),
            Came::To(Yielded::Stop(stop)) => match *stop {
                Stop::Violation(violation) => {
                    (violation.message, violation.places.into_iter().next().unwrap_or_default().0)
                }
                Stop::Unsupported(unsupported) => (unsupported.feature, unsupported.place),
                Stop::Bound(_) => return,
            },
            _ => return,
        };
        self.compared.failed.push((thread, why, place));
    }

    /// Whether the present execution came to its end everywhere, and is not too long.
    fn has_other_orders(&self) -> bool {
        let has_ended = |thread: ThreadId| self.state(thread).status == Status::Finished;
        let is_complete = (0..self.states.len()).map(ThreadId::new).all(has_ended);
        let may_differ = is_complete && self.states.len() > 1 && self.made == self.steps.len() && self.made <= MOST;
        may_differ && runtime::shared(|shared| shared.reorders)
    }
}

fn somebody_drops() -> bool {
    runtime::shared(|shared| shared.blocks.somebody_drops())
}

/// What happens in an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    Step(usize),
    /// A thread that was created begins, and goes on until its first step.
    Begins(ThreadId),
}

/// Which of two events comes first that may be in any order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// The one that was later; and the last thread that another one has created begins first of all.
    Latest,
    /// That of the thread that creates others; if there are several, the later one.
    Creators,
    /// That of the thread that was created by others.
    Children,
}

impl Way {
    /// So many executions have ended: all ways come in turn.
    fn of(ended: u64) -> Way {
        const WAYS: [Way; 3] = [Way::Latest, Way::Creators, Way::Children];
        WAYS[(ended.trailing_zeros() / COMPARED) as usize % WAYS.len()]
    }

    /// How late something comes.
    fn lateness(self, event: &Happened) -> u32 {
        match self {
            _ if event.joins => JOINS,
            Way::Latest => u32::from(!event.is_youngest),
            Way::Creators => event.depth,
            Way::Children => JOINS - 1 - event.depth,
        }
    }

    /// Whether a thread may begin before its creator goes on.
    fn lets_go_first(self, event: &Happened) -> bool {
        match self {
            Way::Latest => event.is_youngest,
            Way::Creators => false,
            Way::Children => true,
        }
    }
}

/// Who joins lets all others go first: otherwise those that are joined in the order in which they have run would do so again.
const JOINS: u32 = u32::MAX;

/// Events that come before another one whatever the order: those that do so at once, from which the others follow.
#[derive(Default)]
struct Before {
    /// The last event of each thread, or the one after which it may begin.
    last: Vec<Option<usize>>,
    /// The last step that may have changed an object, and those that have looked at it since.
    objects: FxHashMap<Addr, (Option<usize>, Few)>,
    /// The last step that has freed something, and all events since.
    freed: Option<usize>,
    since: Vec<usize>,
}

type Few = SmallVec<[usize; 4]>;

impl Before {
    /// What comes before the next event of a thread at once.
    fn of(&mut self, n: usize, thread: ThreadId, step: Option<&Step>) -> Few {
        let mut before = Few::new();
        let last = self.last_of(thread).replace(n);
        before.extend(last);
        before.extend(self.freed);
        self.since.push(n);
        let Some(step) = step else { return before };
        match step.op {
            Op::Spawn { child } => *self.last_of(child) = last,
            Op::Join { thread } => before.extend(*self.last_of(thread)),
            Op::Free { .. } => {
                before.extend(self.since.drain(..).filter(|&other| other != n));
                self.freed = Some(n);
            }
            _ => {}
        }
        if let Some(object) = step.request.uses() {
            let (changed, looked) = self.objects.entry(object).or_default();
            before.extend(*changed);
            if only_looks(&step.op) {
                looked.push(n);
            } else {
                before.extend(looked.drain(..));
                *changed = Some(n);
            }
        }
        before
    }

    fn last_of(&mut self, thread: ThreadId) -> &mut Option<usize> {
        if self.last.len() <= thread.index() {
            self.last.resize(thread.index() + 1, None);
        }
        &mut self.last[thread.index()]
    }
}

/// Whether an operation changes nothing, whatever it finds.
fn only_looks(op: &Op) -> bool {
    matches!(op, Op::Access(access) if matches!(access.kind, AccessKind::Load))
}

/// An event, and what comes before it.
struct Happened {
    event: Event,
    /// Its thread is the child of a child, and so on, so many times.
    depth: u32,
    /// Whether it joins another one.
    joins: bool,
    before: Few,
    /// If a thread begins: the step that creates it, which comes first unless children do.
    creation: Option<usize>,
    /// And whether its creator creates no other one after it.
    is_youngest: bool,
}

/// The events of an execution.
fn happened(steps: &[Step]) -> Vec<Happened> {
    let (mut known, mut depths) = (Before::default(), vec![0_u32]);
    // Where the last thread begins that each has created.
    let mut youngest: Vec<Option<usize>> = Vec::new();
    let mut events: Vec<Happened> = Vec::with_capacity(2 * steps.len());
    for (n, step) in steps.iter().enumerate() {
        let (here, depth) = (events.len(), depths[step.thread.index()]);
        let before = known.of(here, step.thread, Some(step));
        let joins = matches!(step.op, Op::Join { .. });
        events.push(Happened { event: Event::Step(n), depth, joins, before, creation: None, is_youngest: false });
        if let Op::Spawn { child } = step.op {
            depths.resize(depths.len().max(child.index() + 1), 0);
            depths[child.index()] = depth + 1;
            let (before, creation) = (known.of(here + 1, child, None), Some(here));
            let event = Event::Begins(child);
            events.push(Happened { event, depth: depth + 1, joins: false, before, creation, is_youngest: true });
            youngest.resize(depths.len(), None);
            if let Some(before) = youngest[step.thread.index()].replace(here + 1) {
                events[before].is_youngest = false;
            }
        }
    }
    events
}

/// The events of an execution in another order: from its end, the next one is always that which should come last of those that
/// nothing else has to come after.
fn in_another_order(events: &[Happened], way: Way) -> Vec<Event> {
    let before = |n: usize| {
        let event: &Happened = &events[n];
        event.before.iter().copied().chain(event.creation.filter(|_| !way.lets_go_first(event)))
    };
    // How many events that have no place yet have to come after each.
    let mut after = vec![0_u32; events.len()];
    (0..events.len()).flat_map(before).for_each(|n| after[n] += 1);
    // Children that could change places stay in their order: who creates the second one would have to go on before the first.
    let key = |n: usize| (way.lateness(&events[n]), if way == Way::Children { n } else { usize::MAX - n }, n);
    let mut free = BinaryHeap::with_capacity(events.len());
    free.extend((0..events.len()).filter(|&n| after[n] == 0).map(key));
    let mut order = Vec::with_capacity(events.len());
    while let Some((.., n)) = free.pop() {
        order.push(events[n].event);
        for other in before(n) {
            after[other] -= 1;
            if after[other] == 0 {
                free.push(key(other));
            }
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_ir::Order;
    use selvedge_machine::Access;

    /// The order of some steps in words: numbers of steps, and `b1` where thread 1 begins.
    fn order(steps: &[(usize, Op)], way: Way) -> String {
        let step = |&(thread, op): &(usize, Op)| Step::new(ThreadId::new(thread), op, 0, 0, None);
        let events = in_another_order(&happened(&steps.iter().map(step).collect::<Vec<_>>()), way);
        let in_words = |event: &Event| match event {
            Event::Step(n) => n.to_string(),
            Event::Begins(thread) => format!("b{}", thread.index()),
        };
        events.iter().map(in_words).collect::<Vec<_>>().join(" ")
    }

    fn access(at: u64, kind: AccessKind) -> Op {
        Op::Access(Access::new(Addr(at), 8, Order::Relaxed, kind))
    }

    fn load(at: u64) -> Op {
        access(at, AccessKind::Load)
    }

    fn store(at: u64) -> Op {
        access(at, AccessKind::Store { value: 1 })
    }

    fn spawn(child: usize) -> (usize, Op) {
        (0, Op::Spawn { child: ThreadId::new(child) })
    }

    fn join(thread: usize) -> (usize, Op) {
        (0, Op::Join { thread: ThreadId::new(thread) })
    }

    #[test]
    fn threads_change_places() {
        let steps = [spawn(1), spawn(2), (0, store(8)), (1, load(16)), (1, load(24)), (2, load(32)), join(1), join(2)];
        assert_eq!(order(&steps, Way::Latest), "0 b2 5 b1 3 4 1 2 6 7");
        assert_eq!(order(&steps, Way::Creators), "0 1 2 b2 5 b1 3 4 6 7");
        assert_eq!(order(&steps, Way::Children), "b1 0 b2 3 4 5 1 2 6 7");
    }

    #[test]
    fn what_changes_an_object_stays_where_it_is_among_those_that_use_it() {
        let steps = [spawn(1), (0, store(8)), (1, load(8)), (1, load(16)), (0, load(16)), (0, load(8)), (0, store(16))];
        assert_eq!(order(&steps, Way::Latest), "b1 0 1 4 5 2 3 6");
    }

    #[test]
    fn what_is_freed_stays_where_it_is() {
        let free = Op::Free { addr: Addr(64), size: 8 };
        let steps = [spawn(1), (0, load(8)), (1, load(16)), (0, free), (0, load(8)), (1, load(16))];
        assert_eq!(order(&steps, Way::Latest), "b1 2 0 1 3 5 4");
    }

    #[test]
    fn all_ways_come_in_turn() {
        let ways = [0, 3, 6, 9].map(|n| Way::of(1 << n));
        assert_eq!(ways, [Way::Latest, Way::Creators, Way::Children, Way::Latest]);
    }
}

//! Where an exploration of schedules is, and where it has been.

use crate::event::{EventId, Kind, LocId};
use crate::graph::Graph;
use crate::{MemoryModel, Options};
use rustc_hash::FxHashMap;
use selvedge_ir::EntityRef;
use selvedge_machine::ThreadId;
use smallvec::SmallVec;

/// So many states are remembered; what comes after that may be explored more than once, but full graphs count once.
const MOST_STATES: usize = 1 << 25;

/// Why a thread makes room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// It has come to its end, or to a thread that it joins.
    Ends,
    /// A loop that waits begins.
    Yields,
    /// It is blocked.
    Waits,
    /// So that it reads something newer.
    Reads,
    /// So that others wait, or make theirs first.
    Writes,
}

impl Why {
    /// How many preemptions that takes.
    pub fn preemptions(self) -> u32 {
        u32::from(matches!(self, Why::Reads | Why::Writes))
    }
}

/// A thread that has made room before an access.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// How many events there were.
    pub at: u32,
    /// Who.
    pub thread: ThreadId,
    /// What for.
    pub why: Why,
    /// What it was about to access.
    pub loc: LocId,
}

/// A thread runs.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// How many events there were when it began.
    pub begin: u32,
    /// Who.
    pub thread: ThreadId,
    /// How many preemptions were taken before.
    pub preemptions: u32,
}

/// What is known of a location, over all graphs. Threads are bits; the last one stands for all from there on.
#[derive(Clone, Copy, Default, Debug)]
pub struct Known {
    /// Who may write it.
    pub writers: u64,
    /// To whom it makes a difference when it is written: who may wait there; if everything happens in order, who accesses it.
    pub concerned: u64,
    /// Who did not make room before a read of it, since nobody was known to write it.
    pub read: u64,
    /// Who did not make room before a write to it, since that was known to make no difference.
    pub written: u64,
}

/// A number for something.
pub type Name = [u64; 2];

/// Where a thread is of which it is noted that it was there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Where {
    /// Its run begins.
    RunBegins,
    /// It runs, and has read what it could not have read before.
    AfterRead,
    /// It runs, and a loop that waits begins.
    LoopBegins,
}

impl Where {
    /// A number for that, in a state.
    pub fn name(self, state: Name, thread: ThreadId) -> Name {
        mix(state, [thread.index() as u64, self as u64])
    }
}

/// What is known of an exploration of schedules.
#[derive(Default)]
pub struct Schedules {
    /// So many preemptions may be taken.
    pub bound: u32,
    /// Whether every read reads the last write before it, as under SC.
    pub in_order: bool,
    /// The runs that have made the present graph.
    pub runs: Vec<Run>,
    /// Where threads have made room.
    pub stops: Vec<Stop>,
    /// What has happened for no reason.
    pub spurious: Vec<EventId>,
    /// Reads (in order, accesses) before which threads did not make room, since that would have taken a preemption too many.
    pub passed: Vec<EventId>,
    /// States, and how many preemptions they took.
    visited: FxHashMap<Name, u32>,
    /// Numbers for the events of the present graph, as far as they are known.
    pub names: Vec<Name>,
    /// Numbers for the order of writes in the graphs of the first events, as far as they are known: the sum of one number for each write
    /// and the one before it.
    orders: Vec<Name>,
    known: Vec<Known>,
    /// What was learned has made a difference before.
    pub learned: bool,
    /// How many runs were begun since the start.
    pub begun: usize,
    /// Nothing is explored but to learn.
    pub looks_around: bool,
}

impl Schedules {
    /// For an exploration with a bound.
    pub fn new(options: &Options) -> Option<Box<Schedules>> {
        let in_order = options.model == MemoryModel::Sc;
        options.preemptions.map(|bound| Box::new(Schedules { bound, in_order, ..Schedules::default() }))
    }

    /// All starts again.
    pub fn clear(&mut self) {
        self.cut(0);
        self.visited.clear();
        (self.learned, self.begun) = (false, 0);
        self.known.iter_mut().for_each(|known| *known = Known { read: 0, written: 0, ..*known });
    }

    /// Back to a graph of so many events, before something is done there.
    pub fn cut(&mut self, len: usize) {
        let is_later = |at: u32| at as usize >= len;
        while self.runs.pop_if(|run| is_later(run.begin)).is_some() {}
        while self.stops.pop_if(|stop| is_later(stop.at)).is_some() {}
        while self.spurious.pop_if(|e| e.index() >= len).is_some() {}
        while self.passed.pop_if(|e| e.index() >= len).is_some() {}
        self.names.truncate(len);
        // The last one may be a write that is placed elsewhere.
        self.orders.truncate(len.saturating_sub(1));
    }

    /// How many preemptions were taken.
    pub fn preemptions(&self) -> u32 {
        self.runs.last().map_or(0, |run| run.preemptions) + self.spurious.len() as u32
    }

    /// What is known of a location.
    pub fn known(&mut self, loc: LocId) -> &mut Known {
        if self.known.len() <= loc.index() {
            self.known.resize(loc.index() + 1, Known::default());
        }
        &mut self.known[loc.index()]
    }

    /// Notes that a thread accesses a location, and may write it, or wait there.
    pub fn learn(&mut self, thread: ThreadId, loc: LocId, (writes, waits): (bool, bool)) {
        let me = bit(thread);
        let is_concerned = waits || self.in_order;
        let known = self.known(loc);
        let is_news = |mine: bool, all: u64, who: u64| mine && all & me == 0 && who & !only(me) != 0;
        let matters =
            is_news(writes, known.writers, known.read) || is_news(is_concerned, known.concerned, known.written);
        known.writers |= if writes { me } else { 0 };
        known.concerned |= if is_concerned { me } else { 0 };
        self.learned |= matters;
    }

    /// Where a thread has made room, if it has not gone on since.
    pub fn stop_of(&self, graph: &Graph, thread: ThreadId) -> Option<Stop> {
        let stop = self.stops.iter().rfind(|stop| stop.thread == thread)?;
        let is_there = graph.last(thread).is_none_or(|last| last.index() < stop.at as usize);
        is_there.then_some(*stop)
    }

    /// Computes the numbers of all events.
    fn name_events(&mut self, graph: &Graph) {
        for n in self.names.len()..graph.len() {
            let event = graph.event(EventId::new(n));
            let known = |e: EventId| if e.is_event() { self.names[e.index()] } else { [e.index() as u64; 2] };
            let other = match event.kind {
                Kind::Read => known(event.rf),
                Kind::Join => known(graph.before_next(event.other())),
                _ => [0; 2],
            };
            let what = (event.thread.index() as u64) << 8 | event.kind as u64;
            let name = mix(mix(known(event.pred), [what, event.value]), other);
            self.names.push(name);
        }
        for n in self.orders.len()..graph.len() {
            let before = self.orders.last().copied().unwrap_or_default();
            self.orders.push(self.order(graph, EventId::new(n), before));
        }
        debug_assert!(
            !graph.len().is_multiple_of(8) || self.orders.last().is_none_or(|it| *it == self.order_of_all(graph)),
            "it is the same as if it is computed at once (which takes long)"
        );
    }

    /// A number for the order of writes up to an event, given that of those before it.
    fn order(&self, graph: &Graph, e: EventId, before: Name) -> Name {
        let event = graph.event(e);
        if event.kind != Kind::Write {
            return before;
        }
        let co = &graph.location(event.loc).co;
        let Some(position) = co.iter().rposition(|w| *w == e) else { return before };
        let is_older = |w: &&EventId| w.index() < e.index();
        let left = co[..position].iter().rev().find(is_older).copied();
        let right = co[position + 1..].iter().find(is_older).copied();
        let sum = add(before, self.pair(event.loc, left, e));
        right.map_or(sum, |right| {
            let [a, b] = self.pair(event.loc, left, right);
            add(add(sum, [a.wrapping_neg(), b.wrapping_neg()]), self.pair(event.loc, Some(e), right))
        })
    }

    /// A number for a write that comes right after another one, or first.
    fn pair(&self, loc: LocId, before: Option<EventId>, write: EventId) -> Name {
        let before = before.map_or([loc.index() as u64; 2], |before| self.names[before.index()]);
        mix(before, self.names[write.index()])
    }

    /// The number for the order of all writes, computed at once.
    fn order_of_all(&self, graph: &Graph) -> Name {
        graph.locations().fold([0; 2], |sum, loc| {
            let co = &graph.location(loc).co;
            let before = [None].into_iter().chain(co.iter().copied().map(Some));
            before.zip(co).fold(sum, |sum, (before, write)| add(sum, self.pair(loc, before, *write)))
        })
    }

    /// A number for the present graph and for what threads that have made room have to do.
    pub fn state(&mut self, graph: &Graph) -> Name {
        let threads = (0..graph.thread_limit()).map(ThreadId::new);
        let has_duty = |stop: &Stop| matches!(stop.why, Why::Reads | Why::Writes);
        let stops = threads.filter_map(|thread| self.stop_of(graph, thread).filter(has_duty));
        let stops: SmallVec<[Stop; 8]> = stops.collect();
        let state = self.name(graph);
        stops.into_iter().fold(state, |state, stop| mix(state, self.duty(graph, stop)))
    }

    /// A number for the present graph.
    fn name(&mut self, graph: &Graph) -> Name {
        self.name_events(graph);
        let mut state = [graph.len() as u64, 0];
        for thread in (0..graph.thread_limit()).map(ThreadId::new) {
            let last = graph.last(thread).map_or([0; 2], |last| self.names[last.index()]);
            state = mix(state, last);
        }
        mix(state, self.orders.last().copied().unwrap_or_default())
    }

    /// A number for what a thread has to do that has made room.
    fn duty(&self, graph: &Graph, stop: Stop) -> Name {
        let mut duty = [(stop.thread.index() as u64) << 8 | stop.why as u64, 0];
        match stop.why {
            Why::Ends | Why::Yields | Why::Waits => {}
            Why::Writes => duty[1] = u64::from(self.made_a_difference(graph, stop)),
            // It may not read what was there.
            Why::Reads => {
                let old = graph.location(stop.loc).co.iter().filter(|w| w.index() < stop.at as usize);
                for w in old {
                    let [a, b] = self.names[w.index()];
                    duty = [duty[0].wrapping_add(a), duty[1].wrapping_add(b)];
                }
            }
        }
        duty
    }

    /// Whether a state was visited with no more preemptions.
    pub fn was_visited(&self, state: Name, preemptions: u32) -> bool {
        self.visited.get(&state).is_some_and(|&before| before <= preemptions)
    }

    /// Visits a state, unless it was visited.
    pub fn visit(&mut self, state: Name, preemptions: u32) -> bool {
        if self.was_visited(state, preemptions) {
            return false;
        }
        if self.visited.len() < MOST_STATES {
            self.visited.insert(state, preemptions);
        }
        true
    }

    /// Whether a graph is full for the first time.
    pub fn is_new(&mut self, graph: &Graph) -> bool {
        let name = self.name(graph);
        self.visited.insert(mix(name, [u64::MAX; 2]), 0).is_none()
    }

    /// Whether a thread has made room before a write with effect: somebody has come to wait since then, or has made an access that it
    /// comes behind.
    pub fn made_a_difference(&self, graph: &Graph, stop: Stop) -> bool {
        let is_since = |e: EventId| e.index() >= stop.at as usize;
        let waits = |other: &Stop| other.at >= stop.at && other.why == Why::Waits && other.loc == stop.loc;
        let location = graph.location(stop.loc);
        let was_accessed = || location.co.iter().copied().chain(location.reads()).any(is_since);
        self.stops.iter().any(waits) || self.in_order && was_accessed()
    }
}

/// The bit of a thread.
pub fn bit(thread: ThreadId) -> u64 {
    1 << thread.index().min(63)
}

/// Who is not somebody else: the last bit stands for several threads.
pub fn only(me: u64) -> u64 {
    me & (u64::MAX >> 1)
}

/// The sum of numbers for things that are in no order.
fn add([a, b]: Name, [x, y]: Name) -> Name {
    [a.wrapping_add(x), b.wrapping_add(y)]
}

/// Adds something to a number that stands for all before it.
pub fn mix([a, b]: Name, [x, y]: Name) -> Name {
    let fold = |p: u64, q: u64| {
        let product = u128::from(p) * u128::from(q);
        product as u64 ^ (product >> 64) as u64
    };
    let left = fold(a ^ x ^ 0x9e37_79b9_7f4a_7c15, b.rotate_left(23) ^ 0xd1b5_4a32_d192_ed03);
    let right = fold(b ^ y ^ 0x8cb9_2ba7_2f3d_8dd7, a.rotate_left(41) ^ 0xaef1_7502_108e_f2d9);
    [left.wrapping_add(y.rotate_left(17)), right.wrapping_add(x.rotate_left(31))]
}

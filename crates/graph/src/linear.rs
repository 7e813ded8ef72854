//! A graph as a sequence of steps.
//!
//! If program order, reads-from, coherence and from-reads have no cycle together, the graph is sequentially consistent,
//! and a sequence in which all of them go forwards is an interleaving that behaves like it. Otherwise program order and
//! reads-from still go forwards, and as few of the others as possible go backwards: a write comes although a read that
//! does not see it is still to come. Only if that does not help either does a write come before one that it overwrites.

use crate::event::{EventId, Kind};
use crate::graph::Graph;
use crate::request::{self, Role};
use selvedge_ir::EntityRef;
use selvedge_machine::schedule::{Link, Source};
use std::collections::BTreeSet;

/// A graph as a sequence of steps.
pub struct Linear {
    /// The steps, each as its last event: a read-modify-write is there as its write.
    pub steps: Vec<EventId>,
    /// If the sequence is no interleaving, how each step is linked to others.
    pub links: Option<Vec<Link>>,
}

/// The executed events, and `last`, which is not executed yet, as late as it can come.
pub fn order(graph: &Graph, last: Option<EventId>) -> Linear {
    let steps = Steps::of(graph, last);
    let mut search = Search::new(&steps);
    let mut interleaves = true;
    let mut sequence = Vec::with_capacity(steps.list.len());
    while sequence.len() < steps.list.len() {
        let next = search.next_in_order().unwrap_or_else(|| {
            interleaves = false;
            search.next_against_order()
        });
        search.take(next);
        sequence.push(next);
    }
    let links = (!interleaves).then(|| steps.links(&sequence));
    Linear { steps: sequence.into_iter().map(|n| steps.list[n].event).collect(), links }
}

/// Which alternative an event takes: the number that was chosen, or which of the threads that wait is woken.
pub fn choice(graph: &Graph, e: EventId) -> u32 {
    let event = graph.event(e);
    match (event.kind, event.role) {
        (Kind::Choose, _) => event.value as u32,
        (Kind::Write, Role::Signal) => request::woken_by_signal(graph.event(event.pred).value, event.value),
        _ => 0,
    }
}

/// A step: an event that is executed, or a read-modify-write.
#[derive(Clone, Copy)]
struct Step {
    event: EventId,
    read: Option<EventId>,
    write: Option<EventId>,
}

/// The steps of a graph, in the order in which the machine executed them.
struct Steps<'g> {
    graph: &'g Graph,
    list: Vec<Step>,
    /// The step of every event that has one.
    of: Vec<Option<usize>>,
    /// The step that is wanted last: it is what the sequence is about.
    late: Option<usize>,
}

impl<'g> Steps<'g> {
    fn of(graph: &'g Graph, last: Option<EventId>) -> Steps<'g> {
        // A thread that met a violation with its Op did nothing; only if that is the newest event it is shown.
        let newest = graph.executed.last().copied().filter(|_| last.is_none());
        let shown = |e: &EventId| graph.event(*e).kind != Kind::Halt || newest == Some(*e);
        // A read that waits is where its thread stands, not a step.
        let last = last.filter(|&e| !graph.event(e).blocked && !graph.executed.contains(&e));
        let events = graph.executed.iter().copied().filter(shown).chain(last);
        let list: Vec<Step> = events.map(|event| step(graph, event)).collect();
        let mut of = vec![None; graph.len()];
        for (n, step) in list.iter().enumerate() {
            for e in [Some(step.event), step.read, step.write].into_iter().flatten() {
                graph.parts_of(e).iter().for_each(|part| of[part.index()] = Some(n));
            }
        }
        let halted = newest.filter(|&e| graph.event(e).kind == Kind::Halt);
        let late = last.or(halted).and_then(|e| of[e.index()]);
        Steps { graph, list, of, late }
    }

    fn find(&self, e: EventId) -> Option<usize> {
        if e.is_event() { self.of[e.index()] } else { None }
    }

    /// The steps that write a location, in coherence order.
    fn writers(&self, e: EventId) -> impl DoubleEndedIterator<Item = usize> {
        let location = self.graph.location(self.graph.event(e).loc);
        location.co.iter().filter_map(|&w| self.find(w))
    }

    /// The late step, if it has read what it is about to write: its write is no event yet.
    fn writes_soon(&self) -> Option<(usize, EventId)> {
        let late = self.late?;
        let event = self.graph.event(self.list[late].event);
        (event.is_read() && event.exclusive).then_some((late, self.list[late].event))
    }

    fn links(&self, sequence: &[usize]) -> Vec<Link> {
        let mut position = vec![0; self.list.len()];
        for (n, &step) in sequence.iter().enumerate() {
            position[step] = n;
        }
        let source = |read: EventId| match self.find(self.graph.event(read).rf) {
            Some(step) => Source::Step(position[step]),
            None => Source::Initial,
        };
        let link = |&n: &usize| {
            let step = &self.list[n];
            if self.graph.event(step.event).part.is_some() {
                // Several reads or writes, all of them plain: they follow from the order of the steps.
                return Link::default();
            }
            Link { from: step.read.map(source), place: self.place(n) }
        };
        sequence.iter().map(link).collect()
    }

    /// The place of a step's write among those of its location; 0 if it writes nothing. A write that is no event yet
    /// stands right behind what it has read, and moves the others.
    fn place(&self, n: usize) -> u32 {
        let soon = self.writes_soon();
        let Some(write) = self.list[n].write else {
            let Some((_, read)) = soon.filter(|&(late, _)| late == n) else { return 0 };
            let position = self.graph.position(read);
            let older = self.writers(read).take_while(|&w| self.graph.event(self.list[w].event).co <= position);
            return older.count() as u32 + 1;
        };
        let event = self.graph.event(write);
        let moved = soon
            .is_some_and(|(_, read)| self.graph.event(read).loc == event.loc && self.graph.position(read) < event.co);
        let older = self.writers(write).take_while(|&w| w != n).count() as u32;
        older + 1 + u32::from(moved)
    }
}

fn step(graph: &Graph, event: EventId) -> Step {
    let e = graph.event(event);
    let before = || graph.thread(e.thread).get((e.index as usize).wrapping_sub(2)).copied();
    let (read, write) = match e.kind {
        Kind::Read => (Some(event), None),
        Kind::Write if e.is_rmw_write() => (Some(e.pred), Some(event)),
        Kind::Write => (None, Some(event)),
        // A thread that stops at a read of something that was never written.
        Kind::Halt => (before().filter(|&r| graph.event(r).is_read() && !graph.executed.contains(&r)), None),
        _ => (None, None),
    };
    Step { event, read, write }
}

/// The search for a sequence.
struct Search<'s> {
    steps: &'s Steps<'s>,
    /// What comes after each step, and why.
    after: Vec<Vec<(usize, Edge)>>,
    /// How many steps are still to come before each step, by the kind of edge.
    before: Vec<[u32; 3]>,
    taken: Vec<bool>,
    /// Steps that nothing has to come before.
    ready: BTreeSet<usize>,
    /// Steps that only coherence and from-reads hold back.
    held: BTreeSet<usize>,
    /// The step that was taken last.
    newest: Option<usize>,
    /// For each step, the next one of its thread.
    next: Vec<Option<usize>>,
}

/// Why a step comes before another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    /// Program order, creation and end of threads, reads-from.
    Hard,
    /// Coherence.
    Co,
    /// From-reads.
    Fr,
}

impl<'s> Search<'s> {
    fn new(steps: &'s Steps<'s>) -> Search<'s> {
        let count = steps.list.len();
        let mut search = Search {
            steps,
            after: vec![Vec::new(); count],
            before: vec![[0; 3]; count],
            taken: vec![false; count],
            ready: BTreeSet::new(),
            held: BTreeSet::new(),
            newest: None,
            next: vec![None; count],
        };
        search.order_threads();
        for n in 0..count {
            search.order_accesses(n);
        }
        for n in 0..count {
            search.sort(n);
        }
        search
    }

    fn edge(&mut self, from: Option<usize>, to: Option<usize>, edge: Edge) {
        if let (Some(from), Some(to)) = (from, to)
            && from != to
        {
            self.after[from].push((to, edge));
            self.before[to][edge as usize] += 1;
        }
    }

    fn order_threads(&mut self) {
        let graph = self.steps.graph;
        let mut last: Vec<Option<usize>> = vec![None; graph.thread_limit()];
        for n in 0..self.steps.list.len() {
            let event = graph.event(self.steps.list[n].event);
            let before = last[event.thread.index()].replace(n);
            match before {
                Some(before) => {
                    self.next[before] = Some(n);
                    self.edge(Some(before), Some(n), Edge::Hard);
                }
                None => {
                    let birth = graph.birth(event.thread).and_then(|birth| self.steps.find(birth));
                    self.edge(birth, Some(n), Edge::Hard);
                }
            }
            if event.kind == Kind::Join {
                // The machine has executed all of the thread that ended before; it may have had no step at all.
                let born = graph.birth(event.other()).and_then(|birth| self.steps.find(birth));
                self.edge(last[event.other().index()].or(born), Some(n), Edge::Hard);
            }
        }
    }

    fn order_accesses(&mut self, n: usize) {
        let (steps, graph) = (self.steps, self.steps.graph);
        let step = steps.list[n];
        for &read in step.read.map_or(&[][..], |read| graph.parts_of(read)) {
            let event = graph.event(read);
            self.edge(steps.find(event.rf), Some(n), Edge::Hard);
            let newer = &graph.location(event.loc).co[graph.position(read) as usize..];
            let overwriter = newer.iter().filter_map(|&w| steps.find(w)).find(|&w| w != n);
            self.edge(Some(n), overwriter, Edge::Fr);
        }
        for &write in step.write.map_or(&[][..], |write| graph.parts_of(write)) {
            let event = graph.event(write);
            let newer = &graph.location(event.loc).co[event.co as usize..];
            self.edge(Some(n), newer.iter().find_map(|&w| steps.find(w)), Edge::Co);
        }
    }

    /// Puts a step that was not taken yet where it belongs.
    fn sort(&mut self, n: usize) {
        match self.before[n] {
            [0, 0, 0] => {
                self.held.remove(&n);
                self.ready.insert(n);
            }
            [0, ..] => {
                self.held.insert(n);
            }
            _ => {}
        }
    }

    fn take(&mut self, n: usize) {
        self.ready.remove(&n);
        self.held.remove(&n);
        self.taken[n] = true;
        self.newest = Some(n);
        for (to, edge) in std::mem::take(&mut self.after[n]) {
            self.before[to][edge as usize] -= 1;
            if !self.taken[to] {
                self.sort(to);
            }
        }
    }

    /// A step that nothing has to come before: of the same thread as the last one if there is one, else the oldest.
    fn next_in_order(&self) -> Option<usize> {
        let same = self.newest.and_then(|newest| self.next[newest]);
        let wanted = |n: &usize| Some(*n) != self.steps.late;
        let same = same.filter(|n| self.ready.contains(n) && wanted(n));
        same.or_else(|| self.ready.iter().copied().find(wanted)).or_else(|| self.ready.first().copied())
    }

    /// A step that comes although something should have come before: rather what a read does not see than a write
    /// before one that it overwrites.
    fn next_against_order(&self) -> usize {
        let same = self.newest.and_then(|newest| self.next[newest]);
        let dislike =
            |&n: &usize| (Some(n) == self.steps.late, self.before[n][Edge::Co as usize] > 0, Some(n) != same, n);
        let found = self.held.iter().copied().min_by_key(dislike);
        found.expect("program order and reads-from have no cycle")
    }
}

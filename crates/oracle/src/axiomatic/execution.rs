//! The relations of an execution graph, which axioms are about.
//!
//! The initial write of every location comes first, then the events thread by thread. Program order contains, besides
//! the order of each thread's own events, what everything else takes for granted: initial writes come before all other
//! events, the creation of a thread before its events, and these before a join of it; and it is transitive.

use super::graph::{Event, EventRef, Graph, Kind, Source};
use super::relation::{Relation, Set};
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::{Addr, ThreadId};

/// An execution as sets and relations of events.
#[derive(Clone, Debug)]
pub struct Execution {
    /// What each number stands for; none for initial writes.
    pub nodes: Vec<Option<(EventRef, Event)>>,
    /// `R`: reads.
    pub reads: Set,
    /// `W`: writes, the initial ones included.
    pub writes: Set,
    /// `F`: fences.
    pub fences: Set,
    /// `E⊒rlx`: atomic accesses and fences. Initial writes are not atomic.
    pub atomic: Set,
    /// `E⊒acq`: reads and fences that acquire.
    pub acquire: Set,
    /// `E⊒rel`: writes and fences that release.
    pub release: Set,
    /// `Esc`: sequentially consistent accesses and fences.
    pub seq_cst: Set,
    /// Reads and writes of read-modify-writes and of compare-and-exchanges, even of those that fail or wait.
    pub locked: Set,
    /// `po` (`sb`): program order.
    pub po: Relation,
    /// `rf`: a write and a read that reads from it.
    pub rf: Relation,
    /// `co` (`mo`): two writes of a location.
    pub co: Relation,
    /// `fr` (`rb`): a read, and a write that comes later than what it reads from.
    pub fr: Relation,
    /// `rmw`: the read and the write of a read-modify-write.
    pub rmw: Relation,
    /// `loc`: two accesses of a location.
    pub loc: Relation,
    /// `ext`: events that are not of the same thread. An initial write is of no thread.
    pub ext: Relation,
}

impl Execution {
    /// The relations of a graph over these locations. Panics if there are more than
    /// [`MAX_EVENTS`](super::relation::MAX_EVENTS) events.
    pub fn new(graph: &Graph, locations: &[Addr]) -> Execution {
        let inits = locations.iter().map(|_| None);
        let events = graph.events().map(|(at, event)| Some((at, *event)));
        let nodes: Vec<Option<(EventRef, Event)>> = inits.chain(events).collect();
        let numbers = Numbers::new(graph, locations);
        let mut execution = Execution::without_relations(nodes);
        execution.classify(locations.len());
        execution.po = program_order(graph, &numbers);
        execution.communicate(graph, &numbers);
        execution.compare(graph, &numbers);
        execution
    }

    /// How many events the execution of a graph has.
    pub fn size(graph: &Graph, locations: &[Addr]) -> usize {
        locations.len() + graph.threads.iter().map(Vec::len).sum::<usize>()
    }

    fn without_relations(nodes: Vec<Option<(EventRef, Event)>>) -> Execution {
        let (none, empty) = (Set::new(nodes.len()), Relation::new(nodes.len()));
        Execution {
            nodes,
            reads: none,
            writes: none,
            fences: none,
            atomic: none,
            acquire: none,
            release: none,
            seq_cst: none,
            locked: none,
            po: empty,
            rf: empty,
            co: empty,
            fr: empty,
            rmw: empty,
            loc: empty,
            ext: empty,
        }
    }

    fn classify(&mut self, inits: usize) {
        (0..inits).for_each(|n| self.writes.insert(n));
        for n in inits..self.nodes.len() {
            let (_, Event { kind, order }) = self.nodes[n].expect("only the first are initial writes");
            let (reads, writes) = match kind {
                Kind::Read { locked, .. } => {
                    self.reads.insert(n);
                    locked.then(|| self.locked.insert(n));
                    (true, false)
                }
                Kind::Write { exclusive, .. } => {
                    self.writes.insert(n);
                    if exclusive {
                        self.locked.insert(n);
                        self.rmw.insert(n - 1, n);
                    }
                    (false, true)
                }
                Kind::Fence => {
                    self.fences.insert(n);
                    (true, true)
                }
                _ => continue,
            };
            order.is_atomic().then(|| self.atomic.insert(n));
            (reads && order.acquires()).then(|| self.acquire.insert(n));
            (writes && order.releases()).then(|| self.release.insert(n));
            (order == Order::SeqCst).then(|| self.seq_cst.insert(n));
        }
    }

    /// Reads-from, coherence and from-read.
    fn communicate(&mut self, graph: &Graph, numbers: &Numbers<'_>) {
        for (at, event) in graph.events() {
            if let Kind::Read { addr, from, .. } = event.kind {
                self.rf.insert(numbers.source(addr, from), numbers.of(at));
            }
        }
        for (&addr, writes) in &graph.co {
            let mut earlier = vec![numbers.source(addr, Source::Init)];
            for write in writes.iter().map(|&at| numbers.of(at)) {
                earlier.iter().for_each(|&before| self.co.insert(before, write));
                earlier.push(write);
            }
        }
        self.fr = self.rf.inverse().seq(self.co);
    }

    fn compare(&mut self, graph: &Graph, numbers: &Numbers<'_>) {
        let none = Set::new(self.nodes.len());
        let mut everything = none;
        let mut of_location = vec![none; numbers.locations.len()];
        let mut of_thread = vec![none; graph.threads.len()];
        for (n, node) in self.nodes.iter().enumerate() {
            everything.insert(n);
            match node {
                None => of_location[n].insert(n),
                Some((at, event)) => {
                    of_thread[at.thread.index()].insert(n);
                    event.kind.addr().into_iter().for_each(|addr| of_location[numbers.init(addr)].insert(n));
                }
            }
        }
        for set in of_location {
            self.loc = self.loc | Relation::product(set, set);
        }
        self.ext = Relation::product(everything, everything);
        for set in of_thread {
            self.ext = self.ext - Relation::product(set, set);
        }
    }
}

/// Which number an event has.
struct Numbers<'a> {
    locations: &'a [Addr],
    /// Per thread, the number of its first event.
    first: Vec<usize>,
}

impl<'a> Numbers<'a> {
    fn new(graph: &Graph, locations: &'a [Addr]) -> Numbers<'a> {
        let mut next = locations.len();
        let first = graph.threads.iter().map(|events| {
            let first = next;
            next += events.len();
            first
        });
        Numbers { locations, first: first.collect() }
    }

    fn of(&self, at: EventRef) -> usize {
        self.first[at.thread.index()] + at.index as usize
    }

    fn source(&self, addr: Addr, from: Source) -> usize {
        match from {
            Source::Write(at) => self.of(at),
            Source::Init => self.init(addr),
        }
    }

    fn init(&self, addr: Addr) -> usize {
        self.locations.iter().position(|&other| other == addr).expect("every location is listed")
    }
}

fn program_order(graph: &Graph, numbers: &Numbers<'_>) -> Relation {
    let mut po = Relation::new(Execution::size(graph, numbers.locations));
    let of_thread = |thread: ThreadId| {
        let events = graph.threads[thread.index()].len() as u32;
        (0..events).map(move |index| EventRef { thread, index })
    };
    let spawns = |thread: ThreadId| {
        graph.events().filter(move |(_, event)| event.kind == Kind::Spawn { child: thread }).map(|(at, _)| at)
    };
    for (at, event) in graph.events() {
        let n = numbers.of(at);
        (0..numbers.locations.len()).for_each(|init| po.insert(init, n));
        of_thread(at.thread).take(at.index as usize).for_each(|before| po.insert(numbers.of(before), n));
        match event.kind {
            Kind::Spawn { child } => of_thread(child).for_each(|after| po.insert(n, numbers.of(after))),
            // A thread that makes no steps lies between its creation and its join nevertheless.
            Kind::Join { thread } => {
                of_thread(thread).chain(spawns(thread)).for_each(|before| po.insert(numbers.of(before), n));
            }
            _ => {}
        }
    }
    po.plus()
}

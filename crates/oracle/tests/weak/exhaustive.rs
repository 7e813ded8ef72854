//! The enumerator against one that is even simpler: guess everything, then look.
//!
//! Reads guess their values, independently of what is written; threads run one after the other as far as the guesses
//! take them. When all have come to their end, every way to connect reads with writes of their values and to order the
//! writes of each location makes a graph, and what a model allows of these is kept. There is no order in which graphs
//! grow, nothing is checked on the way, and reads may read from what comes later.

use crate::common::each_program_within;
use crate::families::files;
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::{Access, AccessKind, Addr, Machine, Op, Status, ThreadId, truncate};
use selvedge_oracle::axiomatic::execution::Execution;
use selvedge_oracle::axiomatic::graph::{Event, EventRef, Graph, Kind, Source};
use selvedge_oracle::axiomatic::render::render;
use selvedge_oracle::axiomatic::{GraphKey, Limits, MODELS, Model, TooLarge, enumerate};
use selvedge_oracle::litmus::Inst;
use selvedge_oracle::{LitmusMachine, Program};
use std::collections::{BTreeMap, BTreeSet};

/// Programs with more guesses or graphs than this are not looked at.
const MOST: usize = 5_000;

/// What a read has for a value if it guesses that nothing was ever written; longer than all values.
const NEVER_WRITTEN: u64 = u64::MAX;

/// What reads may guess, per location; nothing is a value that was never written.
type Values = BTreeMap<Addr, BTreeSet<Option<u64>>>;

/// Whether a model allows an execution.
type Allows<'a> = &'a dyn Fn(Model, &Execution) -> bool;

/// Per model its graphs; none if there are too many to look at.
fn all_graphs(program: &Program, allows: Allows<'_>) -> Option<BTreeMap<Model, BTreeSet<GraphKey>>> {
    let machine = LitmusMachine::new(program.clone()).unwrap();
    let places = program.threads.iter().flatten().filter_map(Inst::place);
    let initial: BTreeMap<Addr, Option<u64>> = places
        .map(|place| {
            assert_eq!(place.offset, 0, "only whole variables are accessed");
            (machine.addr(place), program.vars[place.var.index()].init.map(|init| truncate(init, place.size)))
        })
        .collect();
    let mut values: Values = initial.iter().map(|(&addr, &init)| (addr, BTreeSet::from([init]))).collect();
    // Sums could grow for ever; but in an execution that makes sense the last of n writes depends on n - 1 others.
    let writes = program.threads.iter().flatten().filter(|inst| inst.place().is_some()).count();
    for round in 0.. {
        let mut guess = Guess {
            machine: LitmusMachine::new(program.clone()).unwrap(),
            graph: Graph::new(program.threads.len()),
            values: &values,
            ends: Vec::new(),
        };
        // Main may fail before its first step; then it is stopped, and that is all.
        let _ = guess.machine.start();
        guess.explore()?;
        let ends = guess.ends;
        let mut more = values.clone();
        for (_, event) in ends.iter().flat_map(Graph::events) {
            if let Kind::Write { addr, value, .. } = event.kind {
                more.entry(addr).or_default().insert(Some(value));
            }
        }
        if more == values || round == writes {
            return connect_all(&ends, &initial, allows);
        }
        values = more;
    }
    unreachable!("the last round has returned")
}

/// Runs all threads with all guesses.
struct Guess<'a> {
    machine: LitmusMachine,
    /// What the threads have done; nothing is known of where reads read from or of coherence.
    graph: Graph,
    values: &'a Values,
    ends: Vec<Graph>,
}

impl Guess<'_> {
    fn explore(&mut self) -> Option<()> {
        let threads = (0..self.graph.threads.len()).map(ThreadId::new);
        let able = |thread: &ThreadId| {
            self.machine.status(*thread) == Status::Ready
                && self.graph.blocked(*thread).is_none()
                && match self.machine.pending(*thread) {
                    Op::Join { thread: target } => self.machine.status(*target) == Status::Finished,
                    _ => true,
                }
        };
        let next = threads.into_iter().find(able);
        let Some(thread) = next else {
            self.ends.push(self.graph.clone());
            return (self.ends.len() <= MOST).then_some(());
        };
        let plain = |kind| Event { kind, order: Order::Plain };
        match *self.machine.pending(thread) {
            Op::Access(access) => self.access(thread, &access),
            Op::Fence { order } => self.step(thread, &[Event { kind: Kind::Fence, order }], 0),
            Op::Spawn { child } => self.step(thread, &[plain(Kind::Spawn { child })], 0),
            Op::Join { thread: target } => self.step(thread, &[plain(Kind::Join { thread: target })], 0),
            Op::Free { addr, size } => self.step(thread, &[plain(Kind::Free { addr, size })], 0),
            Op::Choose { alternatives } => (0..u64::from(alternatives))
                .try_for_each(|value| self.step(thread, &[plain(Kind::Choice { value })], value)),
            other => unreachable!("{other:?}"),
        }
    }

    fn access(&mut self, thread: ThreadId, access: &Access) -> Option<()> {
        let Access { addr, size, order, .. } = *access;
        if let (AccessKind::Store { value }, None) = (access.kind, access.until) {
            let kind = Kind::Write { addr, value: truncate(value, size), exclusive: false };
            return self.step(thread, &[Event { kind, order }], 0);
        }
        let locked = access.kind != AccessKind::Load;
        for guess in self.values[&addr].clone() {
            let written = guess.and_then(|value| access.written(value));
            let order = match access.kind {
                AccessKind::Cas { failure, .. } if written.is_none() => failure,
                _ => order,
            };
            let blocked = guess.zip(access.until).is_some_and(|(value, until)| !until.holds(value, size));
            let value = guess.unwrap_or(NEVER_WRITTEN);
            let read = Event { kind: Kind::Read { addr, value, from: Source::Init, locked, blocked }, order };
            match (guess, written) {
                (None, _) => {
                    self.machine.mark();
                    self.machine.halt(thread, Status::Stopped);
                    self.without_going_on(thread, read)?;
                    self.machine.undo();
                }
                _ if blocked => self.without_going_on(thread, read)?,
                (_, None) => self.step(thread, &[read], value)?,
                (_, Some(new)) => {
                    let kind = Kind::Write { addr, value: truncate(new, size), exclusive: true };
                    self.step(thread, &[read, Event { kind, order }], value)?;
                }
            }
        }
        Some(())
    }

    fn without_going_on(&mut self, thread: ThreadId, event: Event) -> Option<()> {
        self.graph.push(thread, event);
        self.explore()?;
        self.graph.pop(thread);
        Some(())
    }

    fn step(&mut self, thread: ThreadId, events: &[Event], outcome: u64) -> Option<()> {
        events.iter().for_each(|event| self.graph.push(thread, *event));
        self.machine.mark();
        // A thread that fails is stopped.
        let _ = self.machine.resume(thread, outcome);
        self.explore()?;
        self.machine.undo();
        events.iter().for_each(|_| self.graph.pop(thread));
        Some(())
    }
}

/// Every way to connect the reads and to order the writes.
fn connect_all(
    ends: &[Graph],
    initial: &BTreeMap<Addr, Option<u64>>,
    allows: Allows<'_>,
) -> Option<BTreeMap<Model, BTreeSet<GraphKey>>> {
    let locations: Vec<Addr> = initial.keys().copied().collect();
    let mut found: BTreeMap<Model, BTreeSet<GraphKey>> = MODELS.map(|model| (model, BTreeSet::new())).into();
    let mut looked_at = 0;
    for end in ends {
        let mut sources: Vec<(EventRef, Vec<Source>)> = Vec::new();
        for (at, event) in end.events() {
            let Kind::Read { addr, value, .. } = event.kind else { continue };
            let init = (initial[&addr].unwrap_or(NEVER_WRITTEN) == value).then_some(Source::Init);
            let writes = end
                .events()
                .filter(|(_, e)| matches!(e.kind, Kind::Write { addr: a, value: v, .. } if (a, v) == (addr, value)));
            sources.push((at, init.into_iter().chain(writes.map(|(at, _)| Source::Write(at))).collect()));
        }
        let orders: Vec<Vec<Vec<EventRef>>> =
            locations.iter().map(|&addr| permutations(&writes_of(end, addr))).collect();
        let choices: usize = sources.iter().map(|(_, s)| s.len()).chain(orders.iter().map(Vec::len)).product();
        looked_at += choices;
        if looked_at > MOST {
            return None;
        }
        for mut choice in 0..choices {
            let mut pick = |from: usize| {
                let picked = choice % from;
                choice /= from;
                picked
            };
            let mut graph = end.clone();
            for (at, sources) in &sources {
                let event = &mut graph.threads[at.thread.index()][at.index as usize];
                if let Kind::Read { from, value, .. } = &mut event.kind {
                    *from = sources[pick(sources.len())];
                    // By convention.
                    *value = if *value == NEVER_WRITTEN { 0 } else { *value };
                }
            }
            for (&addr, orders) in locations.iter().zip(&orders) {
                graph.co.insert(addr, orders[pick(orders.len())].clone());
            }
            let execution = Execution::new(&graph, &locations);
            for model in MODELS.into_iter().filter(|&model| allows(model, &execution)) {
                found.get_mut(&model).unwrap().insert(GraphKey::of(&graph));
            }
        }
    }
    Some(found)
}

fn writes_of(graph: &Graph, addr: Addr) -> Vec<EventRef> {
    let of_location = |event: &Event| matches!(event.kind, Kind::Write { addr: other, .. } if other == addr);
    graph.events().filter(|(_, event)| of_location(event)).map(|(at, _)| at).collect()
}

fn permutations(items: &[EventRef]) -> Vec<Vec<EventRef>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let with_first = |n: usize| {
        let mut rest = items.to_vec();
        let first = rest.remove(n);
        permutations(&rest).into_iter().map(move |mut rest| {
            rest.insert(0, first);
            rest
        })
    };
    (0..items.len()).flat_map(with_first).collect()
}

/// Compares the two enumerators; how many graphs there are, none if there were too many to look at.
fn compare(program: &Program, limits: Limits) -> Result<usize, String> {
    let Some(all) = all_graphs(program, &Model::allows) else { return Ok(0) };
    for (model, expected) in &all {
        let found: BTreeSet<GraphKey> = match enumerate(program, *model, limits) {
            Ok(summary) => summary.graphs.into_keys().collect(),
            Err(TooLarge::Unsupported(_)) => return Ok(0),
            Err(other) => return Err(format!("{model}: {other:?}")),
        };
        if let Some(key) = expected.difference(&found).next() {
            return Err(format!("{model} misses\n{}", render(program, key)));
        }
        if let Some(key) = found.difference(expected).next() {
            return Err(format!("{model} has too much:\n{}", render(program, key)));
        }
    }
    Ok(all.values().map(BTreeSet::len).sum())
}

#[test]
fn graphs_are_those_that_guessing_finds() {
    let (mut programs, mut graphs) = (0, 0);
    let limits = Limits { graphs: 80, events: 30 };
    each_program_within(60, limits, |program| {
        let count = compare(program, Limits::default())?;
        programs += usize::from(count > 0);
        graphs += count;
        Ok(())
    });
    assert!(programs > 500 && graphs > 10_000, "{programs} programs with {graphs} graphs");
}

#[test]
fn graphs_of_the_families_are_those_that_guessing_finds() {
    let mut checked = 0;
    for file in files() {
        match compare(&file.program, Limits::default()) {
            Ok(count) => checked += usize::from(count > 0),
            Err(wrong) => panic!("{}: {wrong}", file.name),
        }
    }
    assert!(checked > 90, "only {checked} files were small enough");
}

/// Reads of the other enumerator never read from what comes later; here they do, so here the axiom can be missed.
#[test]
fn thin_air_is_ruled_out_by_its_axiom_alone() {
    let without = |model: Model, x: &Execution| {
        model.axioms().iter().filter(|axiom| axiom.name != "no thin air").all(|axiom| (axiom.holds)(x))
    };
    let file = files().into_iter().find(|file| file.name == "lb_rlx").unwrap();
    let counts = |allows: Allows<'_>| all_graphs(&file.program, allows).unwrap().into_values().map(|keys| keys.len());
    assert_eq!(counts(&Model::allows).collect::<Vec<_>>(), [3, 3, 3, 3]);
    // Release and acquire make the cycle one of happens-before.
    assert_eq!(counts(&without).collect::<Vec<_>>(), [3, 3, 3, 4]);
}

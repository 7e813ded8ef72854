//! Compares the graph engine with the axiomatic oracle.

use selvedge_graph::event::{EventId, Kind};
use selvedge_graph::{Full, MemoryModel, Options, Reductions};
use selvedge_ir::EntityRef;
use selvedge_machine::verdict::Exploration;
use selvedge_machine::{Addr, ThreadId, ViolationKind};
use selvedge_oracle::axiomatic::{self, Blocking, Entry, EventRef, Finish, GraphKey, Limits, Model, Source, TooLarge};
use selvedge_oracle::litmus::Program;
use selvedge_oracle::machine::LitmusMachine;
use selvedge_trace::Observer;
use selvedge_trace::session::Ending;
use std::collections::{BTreeMap, BTreeSet};

/// The models of the engine and of the oracle.
pub const MODELS: [(MemoryModel, Model); 4] = [
    (MemoryModel::Sc, Model::Sc),
    (MemoryModel::Tso, Model::Tso),
    (MemoryModel::Ra, Model::Ra),
    (MemoryModel::Rc11, Model::Rc11),
];

struct Quiet;

impl Observer for Quiet {}

/// What the engine finds: every full graph with how often it was visited and how it ended.
pub struct Explored {
    pub graphs: BTreeMap<GraphKey, (u32, Ending)>,
    pub result: Exploration,
    pub restarts: u32,
}

pub fn options(model: MemoryModel, reductions: Reductions) -> Options {
    let limits = selvedge_trace::Options { all: true, check_invariants: true, ..Default::default() };
    Options { model, reductions, limits }
}

pub fn explore(program: &Program, options: &Options) -> Explored {
    let mut graphs: BTreeMap<GraphKey, (u32, Ending)> = BTreeMap::new();
    let mut restarts = 0;
    let mut on_full = |full: &Full<'_>| {
        if full.restarts > restarts {
            restarts = full.restarts;
            graphs.clear();
        }
        graphs.entry(key(full)).or_insert((0, full.ending)).0 += 1;
    };
    let machine = LitmusMachine::new(program.clone()).expect("the program is valid");
    let result = selvedge_graph::explore_with(machine, options, &mut Quiet, Some(&mut on_full));
    Explored { graphs, result, restarts }
}

fn key(full: &Full<'_>) -> GraphKey {
    let graph = full.graph;
    let is_entry = |e: EventId| graph.event(e).is_access() || graph.event(e).kind == Kind::Choose;
    let name = |e: EventId| {
        let event = graph.event(e);
        let before = &graph.thread(event.thread)[..event.index as usize - 1];
        EventRef { thread: event.thread, index: before.iter().filter(|&&x| is_entry(x)).count() as u32 }
    };
    let entry = |e: EventId| {
        let event = graph.event(e);
        let addr = if event.is_access() { full.place(event.loc).0 } else { Addr(0) };
        match event.kind {
            Kind::Read => {
                let from = if event.rf.is_event() { Source::Write(name(event.rf)) } else { Source::Init };
                Entry::Read { addr, value: event.value, from }
            }
            Kind::Write => Entry::Write { addr, value: event.value },
            _ => Entry::Choice { value: event.value },
        }
    };
    let thread = |n: usize| graph.thread(ThreadId::new(n)).iter().copied().filter(|&e| is_entry(e)).map(entry).collect();
    let threads = (0..graph.thread_limit()).map(thread).collect();
    let co = graph.locations().filter(|&loc| !graph.location(loc).co.is_empty());
    let co = co.map(|loc| (full.place(loc).0, graph.location(loc).co.iter().map(|&w| name(w)).collect()));
    GraphKey::new(threads, co.collect())
}

/// What the oracle says of a program under a model.
pub fn expected(program: &Program, model: Model) -> Result<axiomatic::Summary, TooLarge> {
    axiomatic::enumerate(program, model, Limits { graphs: 20_000, ..Limits::default() })
}

/// Says how the engine and the oracle differ.
pub fn compare(program: &Program, models: (MemoryModel, Model), reductions: Reductions) -> Result<(), String> {
    let Ok(summary) = expected(program, models.1) else { return Ok(()) };
    let explored = explore(program, &options(models.0, reductions));
    let confirms = program.to_string().contains("confirm");
    agree(models.0, &summary, &explored, reductions, confirms).map_err(|why| format!("{} {reductions:?}: {why}", models.0.name()))
}

fn agree(
    model: MemoryModel,
    summary: &axiomatic::Summary,
    explored: &Explored,
    reductions: Reductions,
    confirms: bool,
) -> Result<(), String> {
    if let Some(what) = &explored.result.unsupported {
        return Err(format!("unsupported: {}", what.feature));
    }
    let kinds: BTreeSet<_> = explored.result.violations.iter().map(|v| v.violation.kind).collect();
    let dead = |kind: &ViolationKind| matches!(kind, ViolationKind::UseAfterFree | ViolationKind::DoubleFree);
    if kinds.iter().any(dead) && summary.error_kinds().iter().any(dead) {
        // What follows such an error is anybody's guess.
        return Ok(());
    }
    let racy = |kinds: &BTreeSet<ViolationKind>| kinds.contains(&ViolationKind::DataRace);
    if model == MemoryModel::Ra && racy(&kinds) && racy(&summary.error_kinds()) {
        // The engine's RA makes plain accesses synchronise too, which only programs with races can tell.
        return Ok(());
    }
    if kinds != summary.error_kinds() {
        return Err(format!("the engine finds {kinds:?}, the oracle {:?}", summary.error_kinds()));
    }
    let blocking = if reductions.in_place { Blocking::Useful } else { Blocking::Plain };
    let mut wanted: BTreeMap<&GraphKey, Finish> = summary.complete().map(|(k, e)| (k, e.finish)).collect();
    wanted.extend(summary.blocked(blocking).map(|(k, e)| (k, e.finish)));
    for (key, &finish) in &wanted {
        match explored.graphs.get(key) {
            Some((_, ending)) if (*ending == Ending::Complete) != (finish == Finish::Complete) => {
                return Err(format!("the engine says {ending:?}, the oracle {finish:?}: {key:#?}"));
            }
            // An attempt whose confirmation fails is not explored.
            None if finish != Finish::Complete && reductions.speculative && confirms => {}
            None if reductions == Reductions::NONE || reductions.in_place || finish == Finish::Complete => {
                return Err(format!("a graph is missing, {finish:?}: {key:#?}"));
            }
            _ => {}
        }
    }
    for (key, (times, _)) in &explored.graphs {
        if *times > 1 {
            return Err(format!("a graph is visited {times} times: {key:#?}"));
        }
        // Where reads cannot be read again in place, some executions are blocked in vain.
        let in_vain = explored.restarts > 0 && summary.blocked(Blocking::Plain).any(|(k, _)| k == key);
        if !wanted.contains_key(key) && !in_vain {
            return Err(format!("a graph that should not be: {key:#?}"));
        }
    }
    Ok(())
}

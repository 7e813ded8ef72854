//! Bounds on preemptions: whatever takes no more of them is explored, and nothing twice.
//!
//! What an execution takes is found here by trying all interleavings, event by event.

use crate::common::random::{Source, program, sources};
use crate::common::{MODELS, Quiet, key, number, options};
use selvedge_graph::event::{EventId, INIT, Kind};
use selvedge_graph::graph::Graph;
use selvedge_graph::{Full, MemoryModel, Options, Reductions, preemptions};
use selvedge_ir::EntityRef;
use selvedge_machine::{BoundKind, ThreadId};
use selvedge_oracle::axiomatic::{GraphKey, Limits};
use selvedge_oracle::litmus::Program;
use selvedge_oracle::machine::LitmusMachine;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// How large programs are.
const LIMITS: Limits = Limits { graphs: 300, events: 40 };
/// Programs per source and model.
const PROGRAMS: u64 = 6;

/// All pairs of which the first has to take place before the second, but for those of a thread.
fn dependencies(graph: &Graph, in_order: bool) -> Vec<(EventId, EventId)> {
    let mut all = Vec::new();
    for e in graph.ids() {
        let event = graph.event(e);
        if event.pred.is_event() {
            all.push((event.pred, e));
        }
        match event.kind {
            Kind::Read if event.rf.is_event() && !event.blocked => all.push((event.rf, e)),
            Kind::Join => {
                let births = graph.birth(event.other()).into_iter();
                all.extend(graph.thread(event.other()).iter().copied().chain(births).map(|x| (x, e)));
            }
            _ => {}
        }
    }
    for loc in graph.locations().filter(|_| in_order) {
        let location = graph.location(loc);
        for (n, &w) in location.co.iter().enumerate() {
            all.extend(location.co[n + 1..].iter().map(|&later| (w, later)));
        }
        for r in location.reads().filter(|&r| !graph.event(r).blocked && !graph.event(r).reads_nothing()) {
            let own = graph.write_of(r);
            let later = &location.co[graph.position(r) as usize..];
            all.extend(later.iter().filter(|&&w| Some(w) != own).map(|&w| (r, w)));
        }
    }
    // Nothing comes between the two parts of a read-modify-write.
    let pairs = graph.ids().filter_map(|r| Some((r, graph.write_of(r)?)));
    for (r, own) in pairs {
        let before: Vec<EventId> = all.iter().filter(|&&(x, then)| then == own && x != r).map(|&(x, _)| x).collect();
        all.extend(before.into_iter().map(|x| (x, r)));
    }
    all
}

/// The fewest preemptions of all interleavings.
fn fewest(graph: &Graph, in_order: bool) -> u32 {
    let dependencies = dependencies(graph, in_order);
    let takes_place = |e: &&EventId| !graph.event(**e).blocked;
    let events = |n: usize| graph.thread(ThreadId::new(n)).iter().filter(takes_place).copied().collect();
    let threads: Vec<Vec<EventId>> = (0..graph.thread_limit()).map(events).collect();
    let is_done = |done: &[usize], e: EventId| {
        let event = graph.event(e);
        done[event.thread.index()] >= event.index as usize
    };
    let value = |done: &[usize], loc| {
        let last = graph.location(loc).co.iter().copied().rfind(|&w| is_done(done, w));
        graph.written(loc, last.unwrap_or(INIT))
    };
    let is_ready = |done: &[usize], e: EventId| dependencies.iter().all(|&(x, then)| then != e || is_done(done, x));
    let mut costs: BTreeMap<(Vec<usize>, usize), u32> = BTreeMap::new();
    let mut queue: VecDeque<(Vec<usize>, usize, u32)> = VecDeque::new();
    for n in 0..threads.len() {
        queue.push_back((vec![0; threads.len()], n, 0));
    }
    while let Some((done, current, cost)) = queue.pop_front() {
        if costs.get(&(done.clone(), current)).is_some_and(|&known| known <= cost) {
            continue;
        }
        costs.insert((done.clone(), current), cost);
        if done.iter().zip(&threads).all(|(&done, events)| done == events.len()) {
            return cost;
        }
        let next = threads[current].get(done[current]).copied();
        if next.is_some_and(|e| is_ready(&done, e)) {
            let mut after = done.clone();
            after[current] += 1;
            queue.push_front((after, current, cost));
        }
        let has_begun = done[current] > 0;
        let waits = next.is_none_or(|e| {
            let event = graph.event(e);
            match event.kind {
                Kind::Join => !is_ready(&done, e),
                _ if !event.waits || !event.rf.is_event() || is_done(&done, event.rf) => false,
                // Otherwise it finds what it goes on with.
                _ => event.composite || value(&done, event.loc) != event.value,
            }
        });
        for other in (0..threads.len()).filter(|&other| other != current) {
            match waits || !has_begun {
                true => queue.push_front((done.clone(), other, cost)),
                false => queue.push_back((done.clone(), other, cost + 1)),
            }
        }
    }
    assert!(threads.is_empty(), "no interleaving has all events: {graph:#?}");
    0
}

/// How often each graph was visited, and what it takes.
type Visited = BTreeMap<GraphKey, (u32, u32)>;

/// All graphs, and whether some were left out.
fn explore(program: &Program, options: &Options) -> (Visited, bool) {
    let mut graphs = Visited::new();
    let mut restarts = 0;
    let in_order = options.model == MemoryModel::Sc;
    let mut on_full = |full: &Full<'_>| {
        if full.restarts > restarts {
            restarts = full.restarts;
            graphs.clear();
        }
        let least = fewest(full.graph, in_order);
        for limit in 0..4 {
            assert_eq!(preemptions::exceeds(full.graph, limit, in_order), least > limit, "{limit}: {:#?}", full.graph);
        }
        graphs.entry(key(full)).or_insert((0, least)).0 += 1;
    };
    let machine = LitmusMachine::new(program.clone()).expect("the program is valid");
    let result = selvedge_graph::explore_with(machine, options, &mut Quiet, Some(&mut on_full));
    let is_bounded = result.bounds.iter().any(|(bound, _)| matches!(bound.kind, BoundKind::Preemptions { .. }));
    (graphs, is_bounded)
}

/// What is wrong with bounded explorations of a program.
fn wrong(program: &Program, model: MemoryModel, reductions: Reductions) -> Option<String> {
    let whole = options(model, reductions);
    let (all, is_bounded) = explore(program, &whole);
    assert!(!is_bounded, "there is no bound");
    for bound in 0..3 {
        let (some, is_bounded) = explore(program, &Options { preemptions: Some(bound), ..whole.clone() });
        let keys: BTreeSet<&GraphKey> = some.keys().collect();
        let missing = all.iter().filter(|(key, (_, least))| *least <= bound && !keys.contains(key)).count();
        let twice = some.values().filter(|(count, _)| *count > 1).count();
        let others = some.keys().filter(|key| !all.contains_key(key)).count();
        let is_silent = some.len() < all.len() && !is_bounded;
        if missing + twice + others > 0 || is_silent {
            return Some(format!(
                "{} bound {bound}: {missing} of {} are missing, {twice} twice, {others} others, silent: {is_silent}",
                model.name(),
                all.len()
            ));
        }
    }
    None
}

fn agree(source: Source, model: MemoryModel) -> Vec<String> {
    let oracle = MODELS.into_iter().find(|(name, _)| *name == model).expect("a model").1;
    let first = number("SEED", 0);
    let mut failures = Vec::new();
    for seed in first..first + number("PROGRAMS", PROGRAMS) {
        let program = program(source, seed, oracle, LIMITS);
        for reductions in [Reductions::NONE, Reductions::ALL] {
            if let Some(why) = wrong(&program, model, reductions) {
                failures.push(format!("{source}, seed {seed}, {reductions:?}: {why}\n{program}"));
            }
        }
    }
    failures
}

/// Programs in which something was missed once: a thread waits for a value while a store that is ordered behind that has made it wait.
#[test]
fn what_makes_a_thread_wait_may_be_left_out_of_a_part() {
    let trees = sources().into_iter().find(|source| source.to_string() == "profile trees").expect("there are trees");
    for (model, oracle) in MODELS {
        let program = program(trees, 50_055, oracle, LIMITS);
        assert_eq!(wrong(&program, model, Reductions::NONE), None, "{program}");
    }
}

#[test]
fn bounded_explorations_have_all_that_takes_no_more_preemptions() {
    let mut failures = Vec::new();
    for (model, _) in MODELS {
        for source in sources() {
            failures.extend(agree(source, model));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

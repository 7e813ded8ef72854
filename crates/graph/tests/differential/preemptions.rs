//! Bounds on preemptions: whatever takes no more of them is explored, and nothing twice.
//!
//! What an execution takes is found here by trying all interleavings, event by event.

use crate::common::random::{Source, program, sources};
use crate::common::{MODELS, Quiet, key, number, options, run_again_telling};
use selvedge_graph::event::{EventId, INIT, Kind};
use selvedge_graph::graph::Graph;
use selvedge_graph::request::Request;
use selvedge_graph::{Full, MemoryModel, Options, Reductions};
use selvedge_ir::EntityRef;
use selvedge_machine::{BoundKind, Cond, Machine, ThreadId};
use selvedge_oracle::axiomatic::{GraphKey, Limits};
use selvedge_oracle::generate::Rng;
use selvedge_oracle::litmus::Program;
use selvedge_oracle::machine::LitmusMachine;
use std::collections::{BTreeMap, VecDeque};

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

/// Conditions that threads wait for, with the sizes of what they are about, by events; a read-modify-write has that of its read.
type Conditions = BTreeMap<EventId, (Cond, u8)>;

fn conditions(program: &Program, full: &Full<'_>) -> Conditions {
    let mut conditions = Conditions::new();
    let of = |machine: &LitmusMachine, thread| {
        // With an exchange that confirms what was loaded a thread does not wait: it begins again.
        let request = Request::of(thread, machine.pending(thread)).filter(|request| !request.access.confirms)?;
        Some((request.access.until?, request.access.size))
    };
    let graph = full.graph;
    let machine = run_again_telling(program, full, |machine, e| {
        let event = graph.event(e);
        let read = if event.is_rmw_write() { event.pred } else { e };
        let condition = of(machine, event.thread).filter(|_| event.is_access());
        conditions.extend(condition.map(|condition| (read, condition)));
    });
    for e in graph.ids().filter(|&e| graph.event(e).blocked) {
        conditions.extend(of(&machine, graph.event(e).thread).map(|condition| (e, condition)));
    }
    conditions
}

/// The fewest preemptions of all interleavings. A thread waits as long as it would find something with which it does not go on.
fn fewest(graph: &Graph, in_order: bool, conditions: &Conditions) -> u32 {
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
        let fails = |e: EventId| {
            let (condition, size) = conditions.get(&e)?;
            let location = graph.location(graph.event(e).loc);
            // To read what was never written is an error, and who does so does not wait.
            let is_error = location.uninitialised && !location.co.iter().any(|&w| is_done(&done, w));
            Some(!is_error && !condition.holds(value(&done, graph.event(e).loc), *size))
        };
        let stuck = graph.last(ThreadId::new(current)).filter(|&last| graph.event(last).blocked);
        let waits = next.or(stuck).is_none_or(|e| match graph.event(e).kind {
            Kind::Join => !is_ready(&done, e),
            _ => fails(e) == Some(true),
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

/// What is known of a graph.
struct Visited {
    /// How often it was visited.
    times: u32,
    /// How many preemptions it takes.
    least: u32,
    /// Whether a thread has met a violation with an operation, and does not go on.
    is_halted: bool,
    /// Whether a thread waits with something old, and has something newer to read, or an attempt has failed.
    is_out_of_date: bool,
}

/// All graphs, whether some were left out, and whether violations were found.
fn explore(program: &Program, options: &Options) -> (BTreeMap<GraphKey, Visited>, bool, bool) {
    let mut graphs = BTreeMap::new();
    let mut restarts = 0;
    let in_order = options.model == MemoryModel::Sc;
    let mut on_full = |full: &Full<'_>| {
        if full.restarts > restarts {
            restarts = full.restarts;
            graphs.clear();
        }
        let least = fewest(full.graph, in_order, &conditions(program, full));
        let is_halted = full.graph.ids().any(|e| full.graph.event(e).kind == Kind::Halt);
        let is_old = |e: EventId| {
            let event = full.graph.event(e);
            let is_old = || full.graph.position(e) < full.graph.newest(event.loc);
            event.blocked && (event.confirms || is_old())
        };
        let is_out_of_date = full.graph.ids().any(is_old);
        let first = || Visited { times: 0, least, is_halted, is_out_of_date };
        graphs.entry(key(full)).or_insert_with(first).times += 1;
    };
    let machine = LitmusMachine::new(program.clone()).expect("the program is valid");
    let result = selvedge_graph::explore_with(machine, options, &mut Quiet, Some(&mut on_full));
    let is_bounded = result.bounds.iter().any(|(bound, _)| matches!(bound.kind, BoundKind::Preemptions { .. }));
    (graphs, is_bounded, !result.violations.is_empty())
}

/// What is wrong with bounded explorations of a program.
///
/// Graphs are not compared in which a thread accesses what another one may have freed: which of the two it is that does not go on depends
/// on which comes first. That a thread waits with something old is explored only without a bound, if reads of the location are not read
/// again in place; and so are attempts that fail.
fn wrong(program: &Program, model: MemoryModel) -> Option<String> {
    // Attempts are made one after the other.
    let whole = options(model, Reductions { stale: true, in_place: true, ..Reductions::NONE });
    let (all, is_bounded, _) = explore(program, &whole);
    assert!(!is_bounded, "there is no bound");
    let is_compared = |visited: &Visited| !visited.is_halted && !visited.is_out_of_date;
    // Behind such a violation, not everything is found.
    let has_halted = all.values().any(|visited| visited.is_halted);
    for bound in 0..3 {
        let options = Options { preemptions: Some(bound), reductions: Reductions::ALL, ..whole.clone() };
        let (some, is_bounded, is_violated) = explore(program, &options);
        let is_wanted = |visited: &Visited| visited.least <= bound && is_compared(visited);
        let missing = all.iter().filter(|(key, visited)| is_wanted(visited) && !some.contains_key(key)).count();
        let twice = some.values().filter(|visited| visited.times > 1).count();
        let is_other = |key, visited| is_compared(visited) && !has_halted && !all.contains_key(key);
        let others = some.iter().filter(|(key, visited)| is_other(key, visited)).count();
        let beyond = some.values().filter(|visited| visited.least > bound).count();
        let count = |graphs: &BTreeMap<_, _>| graphs.values().filter(|visited| is_compared(visited)).count();
        let is_silent = count(&some) < count(&all) && !is_bounded;
        let fails = |visited: &Visited| visited.is_halted && visited.least <= bound;
        let is_lost = all.values().any(fails) && !is_violated;
        if missing + twice + others + beyond > 0 || is_silent || is_lost {
            return Some(format!(
                "{} bound {bound}: {missing} of {} are missing, {twice} twice, {others} others, {beyond} beyond, silent: \
                 {is_silent}, a violation is lost: {is_lost}",
                model.name(),
                all.len()
            ));
        }
    }
    None
}

/// A random talk: somebody says something, and somebody else waits for that or only looks whether it was said. Most of it is between
/// two threads. Whatever they say is deleted when the last thread writes what the first one has read.
fn talk(rng: &mut Rng) -> Program {
    let (threads, others) = if rng.percent(75) { (4, 2..4) } else { (4, 1..5) };
    let mut bodies = vec![String::new(); threads + 1];
    (1..=threads).for_each(|n| bodies[0] += &format!("  spawn t{n}\n"));
    bodies[1] += "  r0 = load.acq v0:4\n";
    let words = 3 + rng.below(9);
    for word in 1..=words {
        let speaker = others.start + rng.below(others.len());
        let listener = others.start + (speaker - others.start + 1 + rng.below(others.len() - 1)) % others.len();
        bodies[speaker] += &format!("  store.rel v{word}:4 1\n");
        let until = if rng.percent(60) { " until ne 0" } else { "" };
        bodies[listener] += &format!("  r0 = load.acq v{word}:4{until}\n");
    }
    bodies[threads] += "  store.rel v0:4 1\n";
    let vars: String = (0..=words).map(|n| format!("var v{n} 4 = 0\n")).collect();
    let bodies = bodies.iter().enumerate().map(|(n, body)| format!("thread t{n}\n{body}"));
    parsed(&(vars + &bodies.collect::<String>()))
}

fn parsed(text: &str) -> Program {
    text.parse().unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn assert_right(program: &Program) {
    for (model, _) in MODELS {
        assert_eq!(wrong(program, model), None, "{program}");
    }
}

/// What was added maximally may take any number of preemptions: each time when t3 has written what t2 waits for, t2 comes first.
#[test]
fn a_talk_that_is_deleted_does_not_count() {
    let talk =
        |n: usize, body: fn(usize, usize) -> String| (0..n).map(|i| body(2 * i + 1, 2 * i + 2)).collect::<String>();
    let vars: String = (0..=10).map(|n| format!("var v{n} 4 = 0\n")).collect();
    let waits = talk(5, |y, z| format!("  r0 = load.acq v{y}:4 until eq 1\n  store.rel v{z}:4 1\n"));
    let looks = talk(5, |y, z| format!("  store.rel v{y}:4 1\n  r0 = load.acq v{z}:4\n"));
    let text = format!(
        "{vars}thread t0\n  spawn t1\n  spawn t2\n  spawn t3\n  spawn t4\nthread t1\n  r0 = load.acq v0:4\n\
         thread t2\n{waits}thread t3\n{looks}thread t4\n  store.rel v0:4 1\n"
    );
    assert_right(&parsed(&text));
}

/// t0 waits where its read is revisited in the end, and makes room there without a preemption; before that, it takes one.
#[test]
fn who_is_revisited_may_wait() {
    let text = "var v0 4 = 0\nthread t0\n  spawn t2\n  spawn t1\n  store.rlx v0:4 0 until ult 1\n\
        thread t1\n  store.rlx v0:4 0\n  r0 = load.rlx v0:4\nthread t2\n  store.rlx v0:4 1\n";
    assert_right(&parsed(text));
}

/// t1 finds 1, waits without a preemption until t3 has read what it has written, and reads something older than that 1.
#[test]
fn who_waits_may_read_something_older_then() {
    let text = "var v0 4 = 0\nvar v1 4 = 0\nvar v2 4 = 0\nthread t0\n  spawn t1\n  spawn t2\n  spawn t3\n\
        thread t1\n  store.rlx v1:4 1\n  r0 = load.rlx v0:4 until eq 0\n  r1 = load.rlx v2:4\n\
        thread t2\n  store.rlx v0:4 1\nthread t3\n  r0 = load.rlx v1:4\n  store.rlx v2:4 1\n";
    assert_right(&parsed(text));
}

/// That t1 reads what t2 writes is come to with a preemption first, and then without any: one is left for t3 and t4.
#[test]
fn what_was_there_with_more_preemptions_is_explored_again() {
    let text = "var v0 4 = 0\nvar v1 4 = 0\nvar v2 4 = 0\nvar v3 4 = 0\nvar v4 4 = 0\nthread t0\n  spawn t1\n  spawn t2\n  spawn t3\n  spawn t4\n\
        thread t1\n  store.rlx v0:4 1\n  r0 = load.rlx v1:4\n  store.rlx v4:4 1\nthread t2\n  store.rlx v1:4 1\n\
        thread t3\n  r0 = load.rlx v4:4\n  store.rlx v2:4 1\n  r0 = load.rlx v3:4\nthread t4\n  r0 = load.rlx v2:4\n  store.rlx v3:4 1\n";
    assert_right(&parsed(text));
}

/// With two preemptions, t2 fails before t1 comes to what t2 would have made room for, with a third one.
#[test]
fn what_is_left_out_before_an_attempt_fails_is_said() {
    let text = "var v0 4 = 0\nvar v1 4 = 0\nvar v2 4 = 0\nthread t0\n  spawn t1\n  spawn t2\n\
        thread t1\n  r0 = rmw.rel add v1:4 1\n  r0 = load.rlx v1:4 spec_next\n  cas.sc.rlx v1:4 r0 -> 0 confirm until eq r0\n\
        thread t2\n  r0 = load.rlx v1:4 spec\n  r2 = load.sc v1:4\n  cas.rlx.sc v1:4 r0 -> 21 confirm until eq r0\n\
        \x20 r0 = load.sc v0:4 spec\n  cas.acqrel.rlx v0:4 r0 -> 22 confirm until eq r0\n";
    assert_right(&parsed(text));
}

#[test]
fn random_talks_are_explored() {
    let first = number("SEED", 0);
    for seed in first..first + number("PROGRAMS", 25) {
        assert_right(&talk(&mut Rng::new(seed)));
    }
}

fn agree(source: Source, model: MemoryModel) -> Vec<String> {
    let oracle = MODELS.into_iter().find(|(name, _)| *name == model).expect("a model").1;
    let first = number("SEED", 0);
    let mut failures = Vec::new();
    for seed in first..first + number("PROGRAMS", PROGRAMS) {
        let program = program(source, seed, oracle, LIMITS);
        if let Some(why) = wrong(&program, model) {
            failures.push(format!("{source}, seed {seed}: {why}\n{program}"));
        }
    }
    failures
}

/// Programs in which something was missed once: a thread waits for a value while a store that is ordered behind that has made it wait.
#[test]
fn a_thread_waits_for_what_a_store_has_overwritten() {
    let trees = sources().into_iter().find(|source| source.to_string() == "profile trees").expect("there are trees");
    for (model, oracle) in MODELS {
        let program = program(trees, 50_055, oracle, LIMITS);
        assert_eq!(wrong(&program, model), None, "{program}");
    }
}

/// Programs in which it takes fewest preemptions to stop a thread before it must, where it holds a lock that it does not hold later.
#[test]
fn a_thread_may_be_stopped_while_it_holds_a_lock() {
    for (kind, seed) in [("lock", 32), ("wait", 167)] {
        for source in sources().into_iter().filter(|source| source.to_string().contains(kind)) {
            for (model, oracle) in MODELS {
                let program = program(source, seed, oracle, LIMITS);
                assert_eq!(wrong(&program, model), None, "{program}");
            }
        }
    }
}

#[test]
fn bounded_explorations_have_all_that_takes_no_more_preemptions() {
    let mut failures = Vec::new();
    // Only some kinds of programs, if the environment says so.
    let kind = std::env::var("KIND").unwrap_or_default();
    for (model, _) in MODELS {
        for source in sources().into_iter().filter(|source| source.to_string().contains(&kind)) {
            failures.extend(agree(source, model));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

//! Compares the graph engine with the axiomatic oracle.

pub mod locks;
pub mod programs;
pub mod random;
pub mod spinning;
pub mod tests_of_locks;

use self::spinning::Spinning;
use selvedge_graph::event::{EventId, Kind};
use selvedge_graph::parallel::{Team, explore_with_team};
use selvedge_graph::{Full, MemoryModel, Options, Reductions};
use selvedge_ir::EntityRef;
use selvedge_machine::session::{self, Ending, Observer};
use selvedge_machine::verdict::Exploration;
use selvedge_machine::{Addr, Machine, ThreadId, ViolationKind};
use selvedge_oracle::axiomatic::{self, Blocking, Entry, EventRef, GraphKey, Limits, Model, Source};
use selvedge_oracle::enumerate::FinalState;
use selvedge_oracle::litmus::{Inst, Program};
use selvedge_oracle::machine::LitmusMachine;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The models of the engine and of the oracle.
pub const MODELS: [(MemoryModel, Model); 4] = [
    (MemoryModel::Sc, Model::Sc),
    (MemoryModel::Tso, Model::Tso),
    (MemoryModel::Ra, Model::Ra),
    (MemoryModel::Rc11, Model::Rc11),
];

/// An environment variable.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Is told things, and does not care.
pub struct Quiet;

impl Observer for Quiet {}

/// What the engine finds: every full graph with how often it was visited and how it ended.
pub struct Explored {
    pub graphs: BTreeMap<GraphKey, (u32, Ending)>,
    /// Those in which a confirmation has failed.
    pub attempts: BTreeSet<GraphKey>,
    pub result: Exploration,
    pub restarts: u32,
}

pub fn options(model: MemoryModel, reductions: Reductions) -> Options {
    let limits =
        session::Limits { all: true, check_invariants: true, max_executions: Some(200_000), ..Default::default() };
    Options { model, reductions, preemptions: None, limits }
}

pub fn explore(program: &Program, options: &Options) -> Explored {
    explore_machine(LitmusMachine::new(program.clone()).expect("the program is valid"), options)
}

pub fn explore_machine(machine: impl Machine, options: &Options) -> Explored {
    let mut graphs: BTreeMap<GraphKey, (u32, Ending)> = BTreeMap::new();
    let mut attempts = BTreeSet::new();
    let mut restarts = 0;
    let mut on_full = |full: &Full<'_>| {
        if full.restarts > restarts {
            restarts = full.restarts;
            graphs.clear();
            attempts.clear();
        }
        // A composite await that was put off in vain: there is nothing to compare it with.
        let put_off =
            |n: usize| full.graph.last(ThreadId::new(n)).is_some_and(|last| full.graph.event(last).kind == Kind::Turn);
        if (0..full.graph.thread_limit()).any(put_off) {
            return;
        }
        let key = key(full);
        if full.graph.ids().any(|e| full.graph.event(e).confirms && full.graph.event(e).blocked) {
            attempts.insert(key.clone());
        }
        graphs.entry(key).or_insert((0, full.ending)).0 += 1;
    };
    let result = selvedge_graph::explore_with(machine, options, &mut Quiet, Some(&mut on_full));
    Explored { graphs, attempts, result, restarts }
}

pub fn key(full: &Full<'_>) -> GraphKey {
    let graph = full.graph;
    // What a store that counts as an exchange reads is what it overwrites.
    let is_entry = |e: EventId| {
        let event = graph.event(e);
        event.is_access() && !event.phantom || event.kind == Kind::Choose
    };
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
    let thread =
        |n: usize| graph.thread(ThreadId::new(n)).iter().copied().filter(|&e| is_entry(e)).map(entry).collect();
    let threads = (0..graph.thread_limit()).map(thread).collect();
    let co = graph.locations().filter(|&loc| !graph.location(loc).co.is_empty());
    let co = co.map(|loc| (full.place(loc).0, graph.location(loc).co.iter().map(|&w| name(w)).collect()));
    GraphKey::new(threads, co.collect())
}

/// What the threads have computed in the end, and whether all of them have ended.
pub type End = (bool, Vec<u64>);

/// What the threads of a graph have computed, and whether all of them have ended.
pub fn ends_with(program: &Program, full: &Full<'_>) -> End {
    (full.ending == Ending::Complete, run_again(program, full).final_threads())
}

/// Runs the events of a graph once more on a machine of its own.
pub fn run_again(program: &Program, full: &Full<'_>) -> LitmusMachine {
    run_again_telling(program, full, |_, _| {})
}

/// The same, and tells where the machine is before each event.
pub fn run_again_telling(
    program: &Program,
    full: &Full<'_>,
    mut tell: impl FnMut(&LitmusMachine, EventId),
) -> LitmusMachine {
    let mut machine = LitmusMachine::new(program.clone()).expect("the program is valid");
    let _ = machine.start();
    for &e in &full.graph.executed {
        let event = full.graph.event(e);
        let old = if event.is_rmw_write() { full.graph.event(event.pred).value } else { whole(full, e) };
        let outcome = match event.kind {
            Kind::Read | Kind::Write => selvedge_graph::request::outcome(event.role, event.thread, old),
            Kind::Choose => event.value,
            _ => 0,
        };
        tell(&machine, e);
        let _ = machine.resume(event.thread, outcome);
    }
    machine
}

/// What an access, or all parts of it together, have read or written.
pub fn whole(full: &Full<'_>, e: EventId) -> u64 {
    let at = |part: EventId| full.place(full.graph.event(part).loc).0.0;
    let parts = full.graph.parts_of(e);
    let bytes = |&part: &EventId| match full.graph.event(part).part {
        Some(_) => full.graph.event(part).value << (8 * (at(part) - at(parts[0]))),
        None => full.graph.event(part).value,
    };
    parts.iter().map(bytes).fold(0, |value, bytes| value | bytes)
}

/// All that several workers reduce.
const DIRECT: Reductions = Reductions { direct: true, ..Reductions::ALL };

/// How much is reduced: the columns of the paper's tables, and three more.
pub const LEVELS: [(&str, Reductions); 7] = [
    ("trust", Reductions::NONE),
    ("stale", Reductions { stale: true, ..Reductions::NONE }),
    ("in-place", Reductions { stale: true, in_place: true, ..Reductions::NONE }),
    ("awamoche", Reductions::AWAMOCHE),
    ("composite", Reductions::ALL),
    ("direct", DIRECT),
    ("tested", Reductions { tested: true, ..DIRECT }),
];

/// What was seen of the engine on one program.
#[derive(Clone, Copy, Default, Debug)]
pub struct Seen {
    /// Graphs of the levels.
    pub graphs: [usize; 7],
    /// How many of them are failed attempts of confirmations.
    pub attempts: [usize; 7],
    /// Whether a reduction was given up for some location at the levels.
    pub gave_up: [bool; 7],
    /// Whether stores counted as exchanges at the levels, and nothing was given up.
    pub exchanged: [bool; 7],
    /// Whether exchanges read from what loads before them have read from, and from nothing else, wherever that could be so.
    pub exact: bool,
    /// Complete graphs in which some exchange does not.
    pub spared: usize,
    /// Complete graphs in which an exchange confirms what a load directly before it has read from another write: how many there are,
    /// and how many are explored though they need not be.
    pub others: [usize; 2],
}

/// How programs are compared.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// One level only.
    pub only: Option<usize>,
    /// How large programs may be for the oracle.
    pub limits: Limits,
    /// Whether every graph on the way is looked at.
    pub invariants: bool,
    /// Whether several workers are tried as well, with all reductions.
    pub jobs: bool,
    /// Whether exchanges spin instead of waiting for a condition.
    pub spins: bool,
}

/// Compares the engine with the oracle, at all levels or at one. None if the program is too large for the
/// oracle, or has confirmations that are none.
pub fn compare(program: &Program, (model, axioms): (MemoryModel, Model), plan: Plan) -> Option<Result<Seen, String>> {
    if !programs::is_well_formed(program) {
        return None;
    }
    let summary = axiomatic::enumerate(program, axioms, plan.limits).ok()?;
    let mut seen = Seen::default();
    let mut attempts = BTreeSet::new();
    let differ = tests_of_locks::differ(program, summary.graphs.keys());
    let others = tests_of_locks::confirm_others(program, summary.graphs.keys());
    let both = differ.union(&others).copied().collect();
    seen.spared = summary.complete().filter(|(key, _)| differ.contains(key)).count();
    seen.others[0] = summary.complete().filter(|(key, _)| others.contains(key)).count();
    for (n, (name, reductions)) in LEVELS.into_iter().enumerate() {
        // The first level finds out which graphs are failed attempts.
        if n > 0 && plan.only.is_some_and(|only| only != n) {
            continue;
        }
        let explored = match explored(program, model, reductions, plan) {
            Ok(explored) => explored,
            Err(panic) => return Some(Err(format!("{} {name}: {panic}", model.name()))),
        };
        let left_out = match reductions {
            Reductions { tested: true, .. } => &both,
            Reductions { direct: true, .. } => &others,
            _ => &BTreeSet::new(),
        };
        if let Err(why) = agree((program, model), &summary, &explored, reductions, (&attempts, left_out)) {
            return Some(Err(format!("{} {name}: {why}", model.name())));
        }
        if reductions.tested {
            let extra = explored.graphs.keys().find(|key| differ.contains(key));
            seen.exact = extra.is_none();
            if let Some(key) = extra.filter(|_| tests_of_locks::is_plain(program)) {
                return Some(Err(format!("{} {name}: a load and its exchange differ: {key:#?}", model.name())));
            }
        }
        if name == "direct" {
            seen.others[1] = explored.graphs.keys().filter(|key| others.contains(key)).count();
        }
        seen.graphs[n] = explored.graphs.len();
        seen.gave_up[n] = !explored.result.notes.is_empty();
        seen.exchanged[n] = explored.restarts > 0 && !seen.gave_up[n];
        seen.attempts[n] = explored.attempts.len();
        if plan.jobs && name == "direct" {
            let told = |result: Exploration| Exploration { steps: 0, ..result };
            let one = told(explored.result);
            // Several workers do not care what was tested.
            for (workers, tested) in [(2, false), (4, true)] {
                let reductions = Reductions { tested, ..reductions };
                let team = Team { workers, alone: 1, together: true };
                let new = || LitmusMachine::new(program.clone()).expect("the program is valid");
                let several = told(explore_with_team(&new, &options(model, reductions), team, &mut |_| {}));
                if one != several {
                    return Some(Err(format!("{} {workers} workers: {several:?} instead of {one:?}", model.name())));
                }
            }
        }
        if n == 0 {
            attempts = explored.attempts;
        }
    }
    Some(Ok(seen))
}

/// Explores; a panic is an answer too.
fn explored(program: &Program, model: MemoryModel, reductions: Reductions, plan: Plan) -> Result<Explored, String> {
    let mut options = options(model, reductions);
    options.limits.check_invariants = plan.invariants;
    let result = catch_unwind(AssertUnwindSafe(|| match plan.spins {
        true => explore_machine(Spinning::new(program.clone()), &options),
        false => explore(program, &options),
    }));
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        format!("panic: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("unknown"))
    })
}

/// Says how what the engine has found differs from what the oracle has.
fn agree(
    (program, model): (&Program, MemoryModel),
    summary: &axiomatic::Summary,
    explored: &Explored,
    reductions: Reductions,
    (attempts, left_out): (&BTreeSet<GraphKey>, &BTreeSet<&GraphKey>),
) -> Result<(), String> {
    if let Some(what) = &explored.result.unsupported {
        return Err(format!("unsupported: {}", what.feature));
    }
    if explored.result.interruption.is_some() {
        return Err("the engine does not come to an end".to_owned());
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
    // Each assertion by itself: that another one fails as well must not hide one that is lost.
    let fail =
        |kind, message| matches!(kind, ViolationKind::Assertion | ViolationKind::UninitialisedRead).then_some(message);
    let found: BTreeSet<String> =
        explored.result.violations.iter().filter_map(|v| fail(v.violation.kind, v.violation.message.clone())).collect();
    let wanted: BTreeSet<String> =
        summary.errors().into_iter().filter_map(|(kind, message)| fail(kind, message)).collect();
    if found != wanted {
        return Err(format!("assertions that fail: the engine finds {found:?}, the oracle {wanted:?}"));
    }
    let complete: BTreeSet<&GraphKey> = summary.complete().map(|(key, _)| key).collect();
    let blocked: BTreeSet<&GraphKey> = summary.blocked(Blocking::Plain).map(|(key, _)| key).collect();
    let useful: BTreeSet<&GraphKey> = summary.blocked(Blocking::Useful).map(|(key, _)| key).collect();
    // An attempt whose confirmation fails need not be explored.
    let spared = |key: &GraphKey| reductions.speculative && attempts.contains(key);
    // What else an attempt that fails could have read before is not explored, whether or not another thread fails, too.
    let none = BTreeSet::new();
    let retries = program.threads.iter().flatten().any(|inst| matches!(inst, Inst::Retry { .. }));
    let together = reductions.composite && explored.restarts > 0 && retries;
    let must = match reductions {
        Reductions::NONE => &blocked,
        _ if together => &none,
        _ => &useful,
    };
    for key in complete.iter().chain(must) {
        let in_vain = together && summary.graphs.get(*key).is_some_and(|ending| ending.spins);
        let need_not_be = must.contains(key) && spared(key) || left_out.contains(key) || in_vain;
        if !explored.graphs.contains_key(key) && !need_not_be {
            return Err(format!("a graph is missing: {key:#?}"));
        }
    }
    // Strong optimality (Theorem 3): no confirmation fails, unless the location had to be treated otherwise.
    let by_the_book = explored.result.notes.is_empty();
    if let (true, true, Some(key)) = (reductions.speculative, by_the_book, explored.attempts.first()) {
        return Err(format!("a confirmation fails: {key:#?}"));
    }
    // Where reads cannot be read again in place, some executions are blocked in vain.
    let may = if reductions.in_place && by_the_book { &useful } else { &blocked };
    for (key, (times, ending)) in &explored.graphs {
        let known = if *ending == Ending::Complete { complete.contains(key) } else { may.contains(key) };
        if !known {
            return Err(format!("a graph that should not be, {ending:?}: {key:#?}"));
        }
        if *times > 1 {
            return Err(format!("a graph is visited {times} times: {key:#?}"));
        }
    }
    Ok(())
}

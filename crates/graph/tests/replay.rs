//! Every graph can be written down as a schedule and run again, and then it is the same execution.

use selvedge_graph::event::{EventId, Kind};
use selvedge_graph::{Full, MemoryModel, Options, Reductions, linear};
use selvedge_ir::EntityRef;
use selvedge_machine::schedule::{EventRecord, Replay, Schedule, ScheduleStep, replay};
use selvedge_machine::session::Observer;
use selvedge_machine::{Op, Stop, ThreadId, ViolationKind};
use selvedge_oracle::axiomatic::Limits;
use selvedge_oracle::axiomatic::generate::{FAMILIES, generate as generate_cycle};
use selvedge_oracle::generate::{generate, profile};
use selvedge_oracle::litmus::Program;
use selvedge_oracle::machine::LitmusMachine;

struct Quiet;

impl Observer for Quiet {}

fn machine(program: &Program) -> LitmusMachine {
    LitmusMachine::new(program.clone()).expect("the program is valid")
}

fn explore(
    program: &Program,
    model: MemoryModel,
    reductions: Reductions,
    on_full: &mut dyn FnMut(&Full<'_>),
) -> Vec<(ViolationKind, Schedule)> {
    let limits = selvedge_machine::session::Limits { all: true, ..Default::default() };
    let options = Options { model, reductions, preemptions: None, limits };
    let mut on_full = |full: &Full<'_>| on_full(full);
    let result = selvedge_graph::explore_with(machine(program), &options, &mut Quiet, Some(&mut on_full));
    result.violations.into_iter().map(|found| (found.violation.kind, found.schedule)).collect()
}

/// The path of a thread: which child of which child of main.
fn path(full: &Full<'_>, thread: ThreadId) -> Vec<u32> {
    let graph = full.graph;
    let Some(birth) = graph.birth(thread) else { return Vec::new() };
    let (parent, index) = (graph.event(birth).thread, graph.event(birth).index);
    let before = graph.thread(parent)[..index as usize - 1].iter();
    let siblings = before.filter(|&&e| graph.event(e).kind == Kind::Spawn).count() as u32;
    let mut path = path(full, parent);
    path.push(siblings);
    path
}

fn written_down(full: &Full<'_>, linear: &linear::Linear) -> Schedule {
    let threads: Vec<Vec<u32>> = (0..full.graph.thread_limit()).map(|n| path(full, ThreadId::new(n))).collect();
    let step = |&e: &EventId| ScheduleStep {
        thread: threads[full.graph.event(e).thread.index()].clone(),
        choice: linear::choice(full.graph, e),
    };
    let steps = linear.steps.iter().map(step).collect();
    Schedule { threads, steps, links: linear.links.clone() }
}

/// Whether a step of a replay did what its event in the graph does.
fn is_the_same(full: &Full<'_>, e: EventId, record: &EventRecord) -> bool {
    let event = full.graph.event(e);
    let Op::Access(access) = record.op else { return record.thread == event.thread };
    let read = if event.is_write() { event.is_rmw_write().then_some(event.pred) } else { Some(e) };
    let read_fits = read.is_none_or(|read| full.graph.event(read).value == record.done.old);
    let write_fits = if event.is_write() { record.done.new == Some(event.value) } else { record.done.new.is_none() };
    let place_fits = full.place(event.loc) == (access.addr, access.size);
    event.is_access() && record.thread == event.thread && read_fits && write_fits && place_fits
}

fn check_graph(program: &Program, full: &Full<'_>, model: MemoryModel) -> bool {
    let linear = linear::order(full.graph, None);
    let schedule = written_down(full, &linear);
    let Replay { events, .. } = replay(machine(program), &schedule)
        .unwrap_or_else(|error| panic!("{error} under {}\n{program}\n{schedule:#?}", model.name()));
    for (&e, record) in linear.steps.iter().zip(&events) {
        let halted = full.graph.event(e).kind == Kind::Halt;
        assert!(halted || is_the_same(full, e, record), "{e} is not {record:?} under {}\n{program}", model.name());
    }
    assert_eq!(events.len(), linear.steps.len());
    let unseen = events.iter().any(|event| event.missed.is_some());
    assert!(linear.links.is_some() || !unseen, "an interleaving misses nothing");
    linear.links.is_none()
}

fn programs(name: &str, count: u64) -> impl Iterator<Item = Program> {
    let profile = profile(name).expect("a profile");
    (0..count).map(|seed| generate(profile, seed, 500).0)
}

/// Programs that are made to tell memory models apart.
fn cycles(count: u64) -> impl Iterator<Item = Program> {
    let limits = Limits { graphs: 500, events: 40 };
    FAMILIES.iter().flat_map(move |family| (0..count).map(move |seed| generate_cycle(family, seed, limits)))
}

#[test]
fn graphs_of_cycles_are_run_again_as_they_are() {
    let mut weak = 0;
    for program in cycles(10) {
        for model in MemoryModel::ALL {
            explore(&program, model, Reductions::NONE, &mut |full: &Full<'_>| {
                let interleaves = check_graph(&program, full, model);
                assert!(interleaves || model != MemoryModel::Sc, "no interleaving under sc:\n{program}");
                weak += u32::from(!interleaves);
            });
        }
    }
    assert!(weak > 100, "these programs have graphs that no interleaving explains: {weak}");
}

/// Runs all graphs of random programs of these profiles again.
fn run_again(profiles: &[&str], reductions: Reductions) {
    for name in profiles {
        for program in programs(name, 60) {
            for model in MemoryModel::ALL {
                explore(&program, model, reductions, &mut |full: &Full<'_>| {
                    let interleaves = check_graph(&program, full, model);
                    assert!(interleaves || model != MemoryModel::Sc, "no interleaving under sc:\n{program}");
                });
            }
        }
    }
}

#[test]
fn graphs_are_run_again_as_they_are() {
    let profiles = ["accesses", "rmw", "locks", "tests", "trees", "choices", "frees", "uninit", "races"];
    run_again(&profiles, Reductions::NONE);
    run_again(&["awaits", "conds", "condlocks", "confirmations"], Reductions::NONE);
}

#[test]
fn graphs_that_reductions_leave_are_run_again_as_they_are() {
    run_again(&["locks", "awaits", "conds", "condlocks", "confirmations"], Reductions::ALL);
}

#[test]
fn the_graphs_that_interleavings_explain_are_those_of_sequential_consistency() {
    let mut weak = 0;
    for name in ["accesses", "rmw"] {
        for program in programs(name, 400) {
            let count = |model: MemoryModel| {
                let (mut interleaved, mut all) = (0u64, 0u64);
                explore(&program, model, Reductions::NONE, &mut |full: &Full<'_>| {
                    interleaved += u64::from(check_graph(&program, full, model));
                    all += 1;
                });
                (interleaved, all)
            };
            let (sc, _) = count(MemoryModel::Sc);
            for model in [MemoryModel::Tso, MemoryModel::Rc11] {
                let (interleaved, all) = count(model);
                assert_eq!(interleaved, sc, "{} under {}", program, model.name());
                weak += all - interleaved;
            }
        }
    }
    assert!(weak > 100, "random programs have graphs that no interleaving explains: {weak}");
}

#[test]
fn violations_are_found_again() {
    let mut weak = 0;
    for name in ["tests", "frees", "uninit", "races", "locks", "branches"] {
        for program in programs(name, if name == "tests" { 1000 } else { 100 }) {
            for model in MemoryModel::ALL {
                for (kind, schedule) in explore(&program, model, Reductions::ALL, &mut |_| {}) {
                    weak += u32::from(schedule.links.is_some());
                    let replayed = replay(machine(&program), &schedule).unwrap_or_else(|error| {
                        panic!("{kind}: {error} under {}\n{program}\n{schedule:#?}", model.name())
                    });
                    let stopped = match &replayed.stop {
                        Some((_, Stop::Violation(violation))) => Some(violation.kind),
                        _ => None,
                    };
                    // Races are seen by comparing executions, deadlocks by looking who is left.
                    let by_itself =
                        [ViolationKind::Assertion, ViolationKind::UninitialisedRead, ViolationKind::DoubleFree];
                    if by_itself.contains(&kind) {
                        assert!(stopped.is_some(), "{kind} under {}\n{program}\n{schedule:#?}", model.name());
                    }
                }
            }
        }
    }
    assert!(weak > 0, "some violations are in executions that no interleaving explains: {weak}");
}

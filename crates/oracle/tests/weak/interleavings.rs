//! Under sequential consistency, execution graphs are classes of equivalent interleavings.
//!
//! Two interleavings are equivalent (`dependence.rs`) iff conflicting steps come in the same order. That order is what
//! `rf` and `co` say: the writes of a location come in coherence order, and a read comes after the write that it reads
//! from and before the next one. So there are as many graphs as classes, and each graph ends as its class does. An
//! interleaving in which a thread waits for a value has no step for that; its graph has a read from the latest write. The
//! graphs in which such a read reads from an older write have no counterpart among interleavings.

use crate::common::each_program;
use selvedge_ir::Order;
use selvedge_machine::ViolationKind;
use selvedge_oracle::axiomatic::{Ending, Finish, Limits, Model, TooLarge, enumerate};
use selvedge_oracle::enumerate::{Class, Enumeration, enumerate as interleavings};
use selvedge_oracle::generate::{generate, profile};
use selvedge_oracle::litmus::Inst;
use selvedge_oracle::{LitmusMachine, Program};

/// What can be compared of a graph and of a class: completeness, final state, and errors.
type Comparable = (bool, Vec<u64>, Vec<u64>, Vec<(ViolationKind, String)>, Vec<String>, bool);

fn of_graph(ending: &Ending) -> Comparable {
    let (races, errors): (Vec<_>, Vec<_>) =
        ending.errors.iter().cloned().partition(|(kind, _)| *kind == ViolationKind::DataRace);
    let complete = ending.finish == Finish::Complete;
    let bounds = ending.bounds.iter().cloned().collect();
    (complete, ending.outcome.threads.clone(), ending.outcome.memory.clone(), errors, bounds, !races.is_empty())
}

fn of_class(class: &Class) -> Comparable {
    let ending = class.ending.clone();
    let (mut errors, mut bounds) = (ending.violations, ending.bounds);
    errors.dedup();
    bounds.dedup();
    (ending.complete, ending.threads, ending.memory, errors, bounds, class.race)
}

/// Compares a program's graphs with its interleavings; how many graphs there are.
fn compare(program: &Program, found: &Enumeration) -> Option<usize> {
    let summary = match enumerate(program, Model::Sc, Limits::default()) {
        Ok(summary) => summary,
        Err(TooLarge::Unsupported(_)) => return None,
        Err(other) => panic!("{other:?}\n{program}"),
    };
    let is_stale = |ending: &Ending| ending.finish == (Finish::Blocked { stale: true });
    let mut graphs: Vec<Comparable> = summary.graphs.values().filter(|e| !is_stale(e)).map(of_graph).collect();
    let mut classes: Vec<Comparable> = found.classes.values().map(of_class).collect();
    graphs.sort();
    classes.sort();
    assert_eq!(graphs, classes, "{program}");
    Some(graphs.len())
}

#[test]
fn graphs_are_classes_of_interleavings() {
    let (mut programs, mut graphs) = (0, 0);
    let names = [
        "accesses",
        "rmw",
        "locks",
        "awaits",
        "confirmations",
        "tests",
        "trees",
        "choices",
        "branches",
        "races",
        "sizes",
    ];
    for name in names {
        let profile = profile(name).unwrap();
        for seed in 0..300 {
            let (program, found) = generate(profile, seed, 2_000);
            if let Some(count) = compare(&program, &found) {
                programs += 1;
                graphs += count;
            }
        }
    }
    assert!(programs > 3_000 && graphs > 20_000, "{programs} programs with {graphs} graphs");
}

/// The families that models differ on, too. A read in which a thread waits is an access for graphs and none for
/// interleavings, which matters if it is plain; and what is used after its end is so by happens-before for graphs.
#[test]
fn graphs_of_cycles_are_classes_of_interleavings() {
    let (mut programs, mut graphs) = (0, 0);
    let plain = |inst: &Inst| matches!(inst, Inst::Load { order: Order::Plain, until: Some(_), .. } | Inst::Free(_));
    each_program(40, |program| {
        if program.threads.iter().flatten().any(plain) {
            return Ok(());
        }
        let machine = LitmusMachine::new(program.clone()).unwrap();
        if let Ok(found) = interleavings(machine, 5_000) {
            programs += 1;
            graphs += compare(program, &found).unwrap_or(0);
        }
        Ok(())
    });
    assert!(programs > 250 && graphs > 1_000, "{programs} programs with {graphs} graphs");
}

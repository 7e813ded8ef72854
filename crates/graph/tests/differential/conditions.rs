//! Under sequential consistency, programs with condition variables end in the same ways as by every interleaving.

use crate::common::{self, End, ends_with};

use selvedge_graph::{Full, MemoryModel, Reductions};
use selvedge_machine::Addr;
use selvedge_oracle::generate::{generate, profile};
use selvedge_oracle::litmus::Program;
use selvedge_oracle::machine::LitmusMachine;
use selvedge_oracle::shrink::shrink;
use std::collections::BTreeSet;

fn compare(program: &Program, reductions: Reductions) -> Result<(), String> {
    let machine = LitmusMachine::new(program.clone()).expect("the program is valid");
    let Ok(found) = selvedge_oracle::enumerate::enumerate(machine, 20_000) else { return Ok(()) };
    let wanted: BTreeSet<End> =
        found.classes.values().map(|class| (class.ending.complete, class.ending.threads.clone())).collect();
    let mut ends: BTreeSet<End> = BTreeSet::new();
    let mut told = 0;
    let machine = LitmusMachine::new(program.clone()).expect("the program is valid");
    let options = common::options(MemoryModel::Sc, reductions);
    let mut on_full = |full: &Full<'_>| {
        if full.restarts > told {
            told = full.restarts;
            ends.clear();
        }
        ends.insert(ends_with(program, full));
    };
    let result = selvedge_graph::explore_with(machine, &options, &mut common::Quiet, Some(&mut on_full));
    if let Some(what) = result.unsupported {
        return Err(what.feature);
    }
    // Graphs in which somebody waits for what has been written already are no executions.
    let missing = wanted.difference(&ends).next();
    let extra = ends.difference(&wanted).find(|end| end.0);
    if missing.is_some() || extra.is_some() {
        return Err(format!("missing {missing:?}, not possible {extra:?}"));
    }
    let kinds = |kinds: BTreeSet<_>| kinds.into_iter().collect::<Vec<selvedge_machine::ViolationKind>>();
    let found_kinds = kinds(result.violations.iter().map(|found| found.violation.kind).collect());
    let mut wanted_kinds: BTreeSet<_> =
        found.classes.values().flat_map(|class| class.ending.violations.iter().map(|(kind, _)| *kind)).collect();
    if found.classes.values().any(|class| class.race) {
        wanted_kinds.insert(selvedge_machine::ViolationKind::DataRace);
    }
    if found_kinds.contains(&selvedge_machine::ViolationKind::DataRace) {
        // For this engine, an access that waits in vain is an access as well.
        wanted_kinds.insert(selvedge_machine::ViolationKind::DataRace);
    }
    if found_kinds != kinds(wanted_kinds.clone()) {
        return Err(format!("the engine finds {found_kinds:?}, the oracle {wanted_kinds:?}"));
    }
    Ok(())
}

fn check(name: &str, reductions: Reductions, count: u64) {
    let start: u64 = std::env::var("SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let count = std::env::var("PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(count);
    for seed in start..start + count {
        let (program, _) = generate(profile(name).expect("a profile"), seed, 2_000);
        if let Err(why) = compare(&program, reductions) {
            let small = shrink(&program, |p| compare(p, reductions).is_err());
            let why = compare(&small, reductions).err().unwrap_or(why);
            panic!("{name} {seed} {reductions:?}: {why}\n{small}");
        }
    }
}

#[test]
fn programs_with_condition_variables_end_as_they_should() {
    for reductions in [Reductions::NONE, Reductions::ALL] {
        for name in ["conds", "condlocks", "lockraces"] {
            check(name, reductions, 200);
        }
    }
}

#[test]
fn condition_variables_do_not_get_into_the_way_of_memory() {
    // The address of the location that stands for a condition variable is no address of memory.
    assert!(!selvedge_graph::request::is_condition(Addr(1 << 46)));
}

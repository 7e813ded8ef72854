//! The programs of `examples/` with a bound on preemptions: what is found without one is found with a large one, and nothing else.

#![allow(unsafe_code)]

#[path = "../examples/programs/mod.rs"]
#[allow(dead_code)]
mod programs;

/// What the programs are written against.
mod library {
    pub use selvedge::{cell, hint, sync, thread};
}

use selvedge::model::{Builder, MemoryModel, Stats};

/// More preemptions than any of the programs takes.
const LARGE: usize = 50;

fn explore(name: &str, bound: Option<usize>, memory_model: MemoryModel) -> Stats {
    explore_after(name, 0, bound, memory_model)
}

/// So many executions are explored without the bound first.
fn explore_after(name: &str, after: usize, bound: Option<usize>, memory_model: MemoryModel) -> Stats {
    let (_, body) = programs::all().into_iter().find(|(other, _)| other == name).expect("it is one of them");
    let mut builder = Builder::new();
    (builder.preemption_bound, builder.bound_after, builder.memory_model) = (bound, after, memory_model);
    builder.explore(body)
}

/// What has failed, in a few words.
fn failure(stats: &Stats) -> Option<String> {
    let line = stats.failure.as_ref()?.lines().find(|line| !line.is_empty())?;
    Some(line.split_inclusive(' ').take(4).collect())
}

fn compare(memory_model: MemoryModel) {
    for (name, _) in programs::all() {
        // It takes long, and there is nothing special about it.
        if name == "3 threads, 6 accesses each" {
            continue;
        }
        let all = explore(&name, None, memory_model);
        let some: Vec<Stats> =
            [0, 1, 2, LARGE].into_iter().map(|bound| explore(&name, Some(bound), memory_model)).collect();
        println!("{name}: {:?}", some.iter().map(|stats| (stats.complete, stats.blocked)).collect::<Vec<_>>());
        if all.failure.is_some() {
            assert_eq!(failure(&some[3]), failure(&all), "{name}");
            assert_eq!(failure(&some[2]), failure(&all), "{name}: two preemptions are enough");
            continue;
        }
        for stats in &some {
            assert_eq!(failure(stats), None, "{name}");
        }
        // Attempts that fail may count for themselves.
        assert!(some[3].complete >= all.complete, "{name}: {} {}", some[3].complete, all.complete);
        assert!(some.is_sorted_by_key(|stats| stats.complete), "{name}");
        assert!(some[3].not_covered.is_empty(), "{name}: {:?}", some[3].not_covered);
        let has_more = |stats: &&Stats| stats.complete < some[3].complete;
        assert!(some.iter().filter(has_more).all(|stats| !stats.not_covered.is_empty()), "{name}");
    }
}

#[test]
fn with_a_large_bound_everything_is_found() {
    compare(MemoryModel::Rc11);
}

#[test]
fn the_same_in_order() {
    compare(MemoryModel::Sc);
}

/// What is given up in the middle, be it to start again with what was learned, leaves nothing behind.
#[test]
fn what_is_tried_without_a_bound_makes_no_difference() {
    for (name, _) in programs::all().into_iter().filter(|(name, _)| name != "3 threads, 6 accesses each") {
        let bounded = explore(&name, Some(1), MemoryModel::Rc11);
        let all = explore(&name, Some(LARGE), MemoryModel::Rc11);
        let whole = explore(&name, None, MemoryModel::Rc11);
        for after in [1, 2, 3, 5] {
            let tried = explore_after(&name, after, Some(1), MemoryModel::Rc11);
            let is_one_of_them = [&bounded, &all].iter().any(|stats| failure(stats) == failure(&tried));
            assert!(is_one_of_them, "{name}, {after}: {:?}", tried.failure);
            // One pass may be explored as a whole, and the other one not.
            if tried.failure.is_none() {
                assert!([bounded.complete, whole.complete].contains(&tried.complete), "{name}: {}", tried.complete);
                let is_said = |what: &String| what.starts_with("executions that take more than 1 preemption");
                let not_covered: Vec<&String> = tried.not_covered.iter().filter(|what| !is_said(what)).collect();
                assert!(not_covered.into_iter().eq(&whole.not_covered), "{name}: {:?}", tried.not_covered);
                assert!(tried.complete == whole.complete || tried.not_covered == bounded.not_covered, "{name}");
            }
        }
    }
}

//! The programs of "Extracting Safe Thread Schedules from Incomplete Model Checking Results", section 5.

mod common;

use common::{Outcome, verify};
use selvedge_impact::iterate::Verdict;
use selvedge_impact::program::ThreadId;
use selvedge_impact::verifier::Verifier;
use selvedge_ir::{EntityRef, Module};
use std::path::Path;
use std::rc::Rc;

fn load(name: &str, defines: &[&str]) -> Module {
    common::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/schedules").join(name), defines)
}

fn first(name: &str, defines: &[&str]) -> (Verifier, Outcome) {
    let (verifier, outcome) = verify(&load(name, defines), false, 1, 5_000).expect("it can be encoded");
    assert_eq!(outcome.safe, 1, "{name} has a safe schedule");
    (verifier, outcome)
}

fn complete(name: &str, defines: &[&str]) -> Outcome {
    verify(&load(name, defines), true, usize::MAX, 20_000).expect("it can be encoded").1
}

#[test]
fn figure_1_is_partially_safe() {
    let outcome = complete("producer_consumer_bug.c", &[]);
    assert_eq!(outcome.verdict, Ok(Verdict::PartiallySafe));
    let messages = outcome.wrong.iter().filter_map(|wrong| wrong.error.as_ref().map(|error| error.message.as_str()));
    assert!(messages.into_iter().any(|message| message.contains("count > 0")), "the underflow is found");
}

#[test]
fn the_size_of_an_array_does_not_matter() {
    for (name, threads) in [("producer_consumer_1p1c.c", 3), ("producer_consumer_2p2c.c", 5)] {
        let (small, _) = first(name, &["SLOTS=5"]);
        let (large, _) = first(name, &["SLOTS=1000"]);
        assert_eq!(small.program.threads.len(), threads);
        assert_eq!(small.program.transitions.len(), large.program.transitions.len());
        let (few, many) = (small.art.nodes.len(), large.art.nodes.len());
        assert!(many <= few + few / 4, "{name}: {few} nodes with 5 slots, {many} with 1000");
    }
}

#[test]
fn correct_producers_and_consumers_are_safe() {
    let outcome = complete("producer_consumer_1p1c.c", &["SLOTS=1000"]);
    assert_eq!(outcome.verdict, Ok(Verdict::Safe));
    assert!(outcome.wrong.is_empty());
}

/// With 1000 slots, the paper's verifier came to no end in 72 hours.
#[test]
fn correct_producers_and_consumers_are_safe_however_many() {
    for (name, slots) in [("2p2c", 5), ("2p2c", 1000), ("4p4c", 5), ("4p4c", 1000)] {
        let outcome = complete(&format!("producer_consumer_{name}.c"), &[&format!("SLOTS={slots}")]);
        assert_eq!(outcome.verdict, Ok(Verdict::Safe), "{name}, {slots} slots");
    }
}

#[test]
fn a_queue_of_files_is_safe() {
    assert_eq!(complete("pfscan.c", &[]).verdict, Ok(Verdict::Safe));
    assert_eq!(complete("pfscan.c", &["FILES=1000"]).verdict, Ok(Verdict::Safe), "however many there are");
}

/// Every round of a loop is at the same places, the first one too.
#[test]
fn a_thread_starts_where_its_loop_comes_back_to() {
    let (verifier, _) = first("producer_consumer_2p2c.c", &[]);
    let program = &verifier.program;
    for thread in program.threads.values().skip(1) {
        let comes_back = program.transitions.values().any(|r| r.back_jump && r.to == thread.entry);
        assert!(comes_back, "{}", thread.name);
    }
}

#[test]
fn four_producers_and_four_consumers_have_a_schedule() {
    let (verifier, outcome) = first("producer_consumer_4p4c.c", &["SLOTS=1000"]);
    assert_eq!(verifier.program.threads.len(), 9);
    assert!(outcome.wrong.is_empty());
}

#[test]
fn locks_in_different_orders_are_partially_safe() {
    let outcome = complete("double_lock.c", &[]);
    assert_eq!(outcome.verdict, Ok(Verdict::PartiallySafe));
    assert!(outcome.wrong.iter().all(|wrong| wrong.error.is_none()), "nothing but a deadlock");
    assert_eq!(complete("double_lock.c", &["FIXED"]).verdict, Ok(Verdict::Safe));
}

#[test]
fn erroneous_synchronisation_has_a_schedule() {
    let (_, outcome) = first("erroneous_sync.c", &[]);
    assert!(outcome.wrong.is_empty(), "the first schedule runs whole loop bodies");
}

#[test]
fn the_file_system_is_safe_with_mutexes_and_with_constraints() {
    assert_eq!(complete("filesystem.c", &[]).verdict, Ok(Verdict::Safe));
    assert_eq!(complete("filesystem_declared.c", &[]).verdict, Ok(Verdict::Safe));
}

/// Section 5.4: with the useless branch gone, the schedule deallocates before it resets.
#[test]
fn declared_constraints_order_the_threads() {
    let (verifier, outcome) = first("filesystem_useful.c", &[]);
    let ivr = outcome.last.expect("a safe result");
    let mut node = verifier.art.root();
    let mut order: Vec<String> = Vec::new();
    while let Some(thread) = ivr.permitted[node].iter().next() {
        let name = verifier.program.threads[thread].name.clone();
        if order.last() != Some(&name) {
            order.push(name);
        }
        let child = verifier.art.by(node, thread).find(|&child| !verifier.is_false(child));
        node = child.expect("a permitted thread leads on");
    }
    let at = |name: &str| order.iter().position(|other| other == name).unwrap_or_else(|| panic!("{name} in {order:?}"));
    assert!(at("deallocate") < at("reset"), "{order:?}");
}

#[test]
fn the_ring_and_the_grep_have_schedules() {
    first("barrier_ring.c", &[]);
    first("parallel_grep.c", &[]);
}

/// The checker of trees says no to trees that are none.
#[test]
fn tampered_trees_are_refused() {
    let (mut verifier, outcome) = first("producer_consumer_bug.c", &[]);
    let mut ivr = outcome.last.expect("a safe result");
    let refused = |verifier: &Verifier, ivr: &selvedge_impact::remove_error_paths::Ivr| {
        selvedge_oracle::check_tree(verifier, ivr, 2_000).expect_err("it was tampered with")
    };
    // Nobody may go on at some node.
    let mut stuck = ivr.clone();
    let node = stuck.permitted.keys().find(|&n| n.index() > 3 && !stuck.permitted[n].is_empty()).expect("some node");
    stuck.permitted[node] = Default::default();
    assert!(refused(&verifier, &stuck).contains("nobody may go on"));
    // A thread may go on that was not expanded there.
    let mut free = ivr.clone();
    let (producer, consumer) = (ThreadId::new(1), ThreadId::new(2));
    let node = free.permitted.keys().find(|&n| free.permitted[n].has(producer)).expect("some node");
    free.permitted[node].add(consumer);
    assert!(refused(&verifier, &free).contains("t2"));
    // A label that does not hold, and one that is not enough.
    let wrong = verifier.program.terms.number(0, 32);
    let count = verifier.program.terms.symbols.iter().find(|(_, data)| data.name == "count").expect("count").0;
    let count = verifier.program.terms.var(count);
    let negative = verifier.program.terms.slt(count, wrong);
    let covered = ivr.covered_by.keys().find(|&n| ivr.nodes[n] && ivr.covered_by[n].is_some()).expect("a covering");
    let covering = ivr.covered_by[covered].expect("it is covered");
    let label = Rc::clone(&ivr.labels[covering]);
    Rc::make_mut(&mut ivr.labels[covering]).insert(negative);
    assert!(refused(&verifier, &ivr).contains("does not hold"));
    Rc::make_mut(&mut ivr.labels[covering]).clear();
    assert!(!refused(&verifier, &ivr).is_empty(), "without its label the next steps are not safe");
    // A covering by a node that is covered itself.
    ivr.labels[covering] = label;
    ivr.covered_by[covering] = Some(covered);
    assert!(refused(&verifier, &ivr).contains("leads nowhere"));
    ivr.covered_by[covering] = None;
    // A covering by a node at another place.
    let parent = verifier.art.nodes[covered].parent.expect("it is not the root").from;
    let elsewhere = verifier.art.nodes[parent].locations.clone();
    verifier.art.nodes[covered].locations = elsewhere;
    assert!(!refused(&verifier, &ivr).is_empty(), "a covering is between nodes at the same place");
}

#[test]
fn at_the_end_of_a_turn_every_producer_and_consumer_may_go_on() {
    for name in ["producer_consumer_1p1c.c", "producer_consumer_2p2c.c", "producer_consumer_4p4c.c"] {
        let (verifier, outcome) = first(name, &["SLOTS=5"]);
        // Each of them, at the end of the turn of each.
        let turns = verifier.program.threads.len() - 1;
        assert!(outcome.open >= turns, "{name}: {} of {turns}", outcome.open);
    }
    // Without a look whether there is anything to take, the consumer must not go on after itself.
    let (_, bug) = first("producer_consumer_bug.c", &[]);
    assert!(bug.open <= 1, "{}", bug.open);
}

#[test]
fn a_turn_that_does_not_come_back_where_it_says_is_found() {
    let module = load("producer_consumer_1p1c.c", &["SLOTS=5"]);
    let (mut verifier, outcome) = verify(&module, false, 1, 5_000).expect("it can be encoded");
    let ivr = outcome.last.expect("it has a safe schedule");
    let published = verifier.publish(&ivr, &module, common::hashless(), 1);
    let count = published.nodes.len();
    let opened = verifier.open_turns(&ivr, published);
    selvedge_oracle::check_published(&verifier, &ivr, &opened, 2_000).expect("it is safe");
    let (mut refused, mut changed) = (0, 0);
    for n in count..opened.nodes.len() {
        let node = &opened.nodes[n];
        if node.infeasible || node.covered_by.is_some() {
            continue;
        }
        // As if nobody came here.
        let mut wrong = opened.clone();
        wrong.nodes[n].infeasible = true;
        wrong.nodes[n].edges.clear();
        changed += 1;
        refused += usize::from(selvedge_oracle::check_published(&verifier, &ivr, &wrong, 2_000).is_err());
    }
    assert!(changed > 5 && refused == changed, "{refused} of {changed}");
}

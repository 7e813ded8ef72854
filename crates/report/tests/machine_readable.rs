//! What scripts and graph viewers see.

mod common;

use common::*;
use selvedge_machine::verdict::Exploration;
use selvedge_machine::{Bound, BoundKind, Status, Unsupported, ViolationKind};
use selvedge_report::{Answer, Verdict, dot, json};

#[test]
fn json_has_the_documented_fields() {
    insta::assert_snapshot!(json::render(&race()));
}

#[test]
fn a_report_can_be_read_back_and_replayed() {
    let verdict = race();
    let document = json::read(&json::render(&verdict)).expect("a report is readable");
    assert_eq!(document.program, verdict.question.program);
    assert_eq!(document.options, verdict.question.options);
    let found = document.violation(1).expect("there is one violation");
    assert_eq!(found, verdict.exploration.violations[0]);
}

#[test]
fn a_schedule_that_is_no_interleaving_can_be_read_back() {
    let verdict = store_buffering();
    let text = json::render(&verdict);
    let found = json::read(&text).and_then(|document| document.violation(1)).expect("a report is readable");
    assert_eq!(found, verdict.exploration.violations[0]);
    assert!(found.schedule.links.is_some_and(|links| links.len() == 6));

    let broken = |from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        let read = json::read(&text.replace(from, to)).and_then(|document| document.violation(1));
        read.expect_err("refused").to_string()
    };
    assert!(broken("\"coherence\": [0,0,1,0,1,0]", "\"other\": []").contains("one is missing"));
    assert!(broken("\"coherence\": [0,0,1,0,1,0]", "\"coherence\": [0]").contains("not of the same length"));
    assert!(broken("[null,null,null,0,null,0]", "[null,null,null,-1,null,0]").starts_with("not a trace"));
}

#[test]
fn a_report_without_what_was_added_later_can_still_be_read() {
    let mut report: serde_json::Value = serde_json::from_str(&json::render(&race())).expect("it is JSON");
    for field in ["model", "notes", "engine"] {
        report.as_object_mut().expect("an object").remove(field);
    }
    report["options"].as_object_mut().expect("an object").remove("private_atomics");
    for field in ["events", "edges"] {
        report["violations"][0].as_object_mut().expect("an object").remove(field);
    }
    let document = json::read(&report.to_string()).expect("an older report is readable");
    assert_eq!(document.violation(1).expect("there is one"), race().exploration.violations[0]);
}

#[test]
fn json_has_the_graph_of_an_execution() {
    let text = json::render(&store_buffering());
    let report: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let violation = &report["violations"][0];
    let read = &violation["events"][5];
    assert_eq!(read["thread"], "right");
    assert_eq!(read["text"], "read x (0) [relaxed]");
    assert_eq!((&read["line"], &read["read"]), (&21.into(), &0.into()));
    assert_eq!(read["reads_from"], serde_json::json!([0]));
    assert_eq!(read["misses"], 3);
    assert_eq!(violation["events"][2]["coherence"], 1);
    let edges = violation["edges"].as_array().expect("a list");
    assert!(edges.contains(&serde_json::json!([6, 3, "fr"])), "{edges:?}");
}

#[test]
fn json_says_who_reads_from_whom_in_an_interleaving_too() {
    let script = Script::default()
        .thread(1, "a", Status::Finished)
        .thread(2, "b", Status::Finished)
        .write(1, 0x1000, 0, 1, site(1, 1, "x", ""))
        .read(2, 0x1000, 1, site(2, 1, "x", ""))
        .write(1, 0x1000, 1, 2, site(3, 1, "x", ""));
    let v = violation(ViolationKind::Abort, "abort", &[]);
    let report: serde_json::Value = serde_json::from_str(&json::render(&verdict(v, script.replay()))).expect("JSON");
    let violation = &report["violations"][0];
    assert_eq!(violation["events"][1]["reads_from"], serde_json::json!([1]));
    assert_eq!(violation["events"][2]["coherence"], 2);
    assert_eq!(violation["edges"], serde_json::json!([[1, 2, "rf"], [2, 3, "fr"]]));
}

#[test]
fn a_report_that_cannot_be_replayed_says_why() {
    let error = |text: &str| json::read(text).expect_err("unreadable").to_string();
    assert!(error("no json").starts_with("not a trace of selvedge"));
    assert_eq!(error("{}"), "not a trace of selvedge: there is no version");
    assert_eq!(error(r#"{"version": 7}"#), "the trace has format version 7; this selvedge reads version 1");
    assert!(error(r#"{"version": 1}"#).contains("missing field `program`"));

    let text = json::render(&race());
    let read = |text: &str, n| json::read(text).and_then(|d| d.violation(n)).expect_err("refused").to_string();
    assert_eq!(read(&text, 2), "the trace has 1 violations; there is no number 2");
    assert_eq!(read(&text, 0), "the trace has 1 violations; there is no number 0");
    let unknown = text.replace("data-race", "bad-hair");
    assert_eq!(read(&unknown, 1), "the trace names an unknown kind of violation: bad-hair");
    let broken = text.replace("[1,0]", "[9,0]");
    assert_eq!(read(&broken, 1), "step 3 of the trace names thread 9, which is not in its list of threads");
}

#[test]
fn dot_has_a_cluster_per_thread_and_edges_that_say_why() {
    let verdict = race();
    let shown = &verdict.shown[0];
    insta::assert_snapshot!(dot::render(shown.replay.as_ref().expect("replayed"), &shown.violation));
}

#[test]
fn dot_draws_the_cycle_that_no_interleaving_explains() {
    let verdict = store_buffering();
    let shown = &verdict.shown[0];
    insta::assert_snapshot!(dot::render(shown.replay.as_ref().expect("replayed"), &shown.violation));
}

fn answer(exploration: Exploration, unroll: Option<u32>) -> Answer {
    let mut question = question();
    question.options.unroll = unroll;
    Verdict {
        question,
        exploration,
        shown: Vec::new(),
        failure: None,
        seconds: 0.0,
        cpu_seconds: Some(0.01),
        load_seconds: 0.2,
        peak_memory_kib: Some(5000),
    }
    .answer()
}

#[test]
fn a_loop_bound_that_was_asked_for_is_part_of_the_question() {
    let bound = Bound {
        kind: BoundKind::Loop { iterations: 5 },
        what: "loop at a.c:1 to 5 iterations".into(),
        place: span(1, 1),
    };
    let exploration = Exploration { bounds: vec![(bound, 1)], ..Exploration::default() };
    assert_eq!(answer(exploration.clone(), Some(5)), Answer::Verified);
    assert_eq!(answer(exploration, None), Answer::Incomplete);
}

#[test]
fn what_cannot_be_executed_makes_the_answer_incomplete() {
    let unsupported = Some(Unsupported { feature: "inline assembly".into(), place: span(1, 1) });
    assert_eq!(answer(Exploration { unsupported, ..Exploration::default() }, None), Answer::Incomplete);
    assert_eq!(answer(Exploration::default(), None), Answer::Verified);
}

//! What scripts and graph viewers see.

mod common;

use common::*;
use selvedge_machine::verdict::Exploration;
use selvedge_machine::{Bound, BoundKind, Unsupported};
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

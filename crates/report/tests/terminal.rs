//! What a person sees, as snapshots.

mod common;

use common::*;
use selvedge_ir::{Order, RmwOp};
use selvedge_machine::schedule::Replay;
use selvedge_machine::verdict::{Exploration, Interruption};
use selvedge_machine::{
    AccessKind, Addr, Bound, BoundKind, Done, Op, Site, SourceSpan, Status, Stop, Unsupported, Violation, ViolationKind,
};
use selvedge_report::verdict::RunOptions;
use selvedge_report::{Layout, Verdict, interleaving, terminal};

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

fn show(verdict: &Verdict, layout: &Layout) -> String {
    plain(&terminal::render(verdict, Some("selvedge-trace.json"), layout))
}

fn success(exploration: Exploration) -> Verdict {
    Verdict {
        question: question(),
        exploration,
        shown: Vec::new(),
        failure: None,
        seconds: 2.5,
        cpu_seconds: Some(0.01),
        load_seconds: 0.2,
        peak_memory_kib: Some(5000),
    }
}

#[test]
fn a_data_race_shows_both_accesses() {
    insta::assert_snapshot!(show(&race(), &layout()));
}

#[test]
fn a_deadlock_says_who_holds_what() {
    insta::assert_snapshot!(show(&deadlock(), &layout()));
}

#[test]
fn an_execution_that_no_interleaving_explains_says_what_reads_miss_and_why() {
    insta::assert_snapshot!(show(&store_buffering(), &layout()));
}

#[test]
fn a_write_that_is_listed_behind_its_overwriter_says_so() {
    let (replay, v) = crossed_writes();
    insta::assert_snapshot!(plain(&interleaving::render(&replay, &v, 100, false)));
    let explained = selvedge_report::weak::explain(&replay, &selvedge_report::words::Names::of(&replay));
    assert_eq!(explained.len(), 5, "two threads, two steps each, and the first one again: {explained:#?}");
}

#[test]
fn places_without_source_are_shown_without_code() {
    let layout = Layout { sources: &|_| None, ..layout() };
    insta::assert_snapshot!(show(&race(), &layout));
}

#[test]
fn a_narrow_terminal_gets_a_list() {
    let layout = Layout { width: 44, ..layout() };
    insta::assert_snapshot!(show(&deadlock(), &layout));
}

#[test]
fn a_terminal_of_middling_width_gets_a_table_with_wrapped_cells() {
    let layout = Layout { width: 70, ..layout() };
    insta::assert_snapshot!(show(&deadlock(), &layout));
}

#[test]
fn no_line_of_an_execution_is_wider_than_the_terminal() {
    for mut verdict in [race(), deadlock()] {
        let shown = verdict.shown.remove(0);
        let mut replay = shown.replay.expect("the execution is there");
        for longer in [0, 1, 5, 30] {
            for end in &mut replay.threads {
                end.name.push_str(&"x".repeat(longer));
            }
            for (width, full) in (40..=120).flat_map(|width| [(width, false), (width, true)]) {
                let text = plain(&interleaving::render(&replay, &shown.violation, width, full));
                let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
                assert!(longest <= width, "{longest} columns instead of {width}:\n{text}");
            }
        }
    }
}

#[test]
fn success_says_what_was_proved_and_what_was_not_covered() {
    let bound = Bound {
        kind: BoundKind::Loop { iterations: 5 },
        what: "loop at counter.c:7:3 to 5 iterations".into(),
        place: span(7, 3),
    };
    let mut verdict = success(Exploration {
        complete: 24,
        blocked: 3,
        longest: 17,
        bounds: vec![(bound, 3)],
        ..Exploration::default()
    });
    verdict.question.options =
        RunOptions { unroll: Some(5), data_races: false, nondet: Some((0, 3)), ..verdict.question.options };
    verdict.question.assumptions.push("weak memory: all atomic accesses count as sequentially consistent".into());
    insta::assert_snapshot!(plain(&terminal::summary(&verdict)));
}

#[test]
fn an_interruption_says_how_far_it_came() {
    let interruption = Some(Interruption::User);
    let verdict = success(Exploration { complete: 24, longest: 17, interruption, ..Exploration::default() });
    insta::assert_snapshot!(plain(&terminal::summary(&verdict)));
}

#[test]
fn an_unsupported_feature_is_shown_at_its_place() {
    let unsupported = Some(Unsupported { feature: "inline assembly".into(), place: span(7, 3) });
    let verdict = success(Exploration { unsupported, ..Exploration::default() });
    insta::assert_snapshot!(show(&verdict, &layout()));
}

/// A thread that spins 40 times on a flag, next to threads that do something else.
fn spinning() -> (Replay, Violation) {
    let mut script = Script::default()
        .thread(0, "main", Status::Ready)
        .thread(1, "spinner", Status::Stopped)
        .thread(2, "setter", Status::Finished)
        .thread(3, "bystander", Status::Finished);
    for n in 0..40 {
        script = script.read(1, 0x1000, 0, site(20, 10, "flag", ""));
        if n == 20 {
            for k in 0..5 {
                script = script.write(3, 0x9000, k, k + 1, site(33, 3, "elsewhere", ""));
            }
        }
    }
    let rmw = AccessKind::Rmw { op: RmwOp::Add, operand: 1, used: true };
    let cas = AccessKind::Cas { expected: 0, new: 7, failure: Order::SeqCst };
    let pointer = Site { pointer: true, ..site(12, 3, "head", "") };
    let replay = script
        .write(2, 0x1000, 0, 1, site(11, 3, "flag", ""))
        .step(2, Op::Access(access(0x1008, cas)), Done { old: 5, new: None }, pointer)
        .read(1, 0x1000, 1, site(20, 10, "flag", ""))
        .step(1, Op::Access(access(0x100c, rmw)), Done { old: 1, new: Some(2) }, site(21, 3, "n", ""))
        .read(1, 0x1008, 5, site(22, 3, "head", ""))
        .write(1, 0x1008, 5, 6, site(22, 3, "head", ""))
        .replay();
    let v = violation(ViolationKind::Assertion, "assertion n == 1 fails", &[(23, 3, "")]);
    (Replay { stop: Some((t(1), Stop::Violation(Box::new(v.clone())))), ..replay }, v)
}

#[test]
fn spin_reads_and_bystanders_are_folded() {
    let (replay, v) = spinning();
    insta::assert_snapshot!(plain(&interleaving::render(&replay, &v, 100, false)));
}

#[test]
fn of_a_long_execution_only_the_last_rounds_are_shown() {
    let mut script = Script::default().thread(0, "main", Status::Ready).thread(1, "a", Status::Stopped).thread(
        2,
        "b",
        Status::Finished,
    );
    for n in 0..10 {
        for thread in [1, 2] {
            script = script.lock(thread, 0x2000, 11, "m").read(thread, 0x1000, n, site(12, 3, "x", ""));
            script = script.write(thread, 0x1000, n, n + 1, site(12, 3, "x", "")).unlock(thread, 0x2000, 13, "m");
        }
    }
    let v = violation(ViolationKind::Assertion, "assertion x == 20 fails", &[(23, 3, "")]);
    let replay = Replay { stop: Some((t(1), Stop::Violation(Box::new(v.clone())))), ..script.replay() };
    insta::assert_snapshot!(plain(&interleaving::render(&replay, &v, 100, false)));
}

#[test]
fn a_step_that_could_not_be_made_has_no_values() {
    let replay = Script::default()
        .thread(0, "main", Status::Ready)
        .thread(1, "reader", Status::Stopped)
        .spawn(0, 1, 5)
        .sync(0, Op::Free { addr: Addr(0x7000), size: 8 }, site(6, 3, "node", "free"))
        .read(1, 0x7000, 0, site(9, 3, "node->next", ""))
        .replay();
    let v =
        violation(ViolationKind::UseAfterFree, "read of `node->next` after it was freed", &[(9, 3, ""), (6, 3, "")]);
    let replay = Replay { stop: Some((t(1), Stop::Violation(Box::new(v.clone())))), ..replay };
    insta::assert_snapshot!(plain(&interleaving::render(&replay, &v, 100, false)));
}

#[test]
fn a_full_interleaving_has_every_step() {
    let (replay, v) = spinning();
    let text = plain(&interleaving::render(&replay, &v, 100, true));
    assert_eq!(text.lines().count(), replay.events.len() + 2, "a head, the steps, and the end of the thread");
    assert!(!text.contains("..."), "nothing is folded:\n{text}");
}

#[test]
fn every_kind_of_step_has_words() {
    let cond = Addr(0x5000);
    let c = || site(5, 1, "c", "pthread_cond_wait");
    let section = Op::AtomicBegin;
    let mut replay = Script::default()
        .thread(0, "main", Status::Finished)
        .thread(1, "worker", Status::Finished)
        .spawn(0, 1, 1)
        .sync(0, Op::CondWait { cond }, c())
        .unlock(0, 0x6000, 5, "m")
        .step(1, Op::CondSignal { cond }, Done { old: 1, new: None }, site(6, 1, "c", "pthread_cond_signal"))
        .step(1, Op::CondBroadcast { cond }, Done { old: 0, new: None }, site(7, 1, "c", "pthread_cond_broadcast"))
        .step(0, Op::CondWake { cond, early: false }, Done { old: 1, new: None }, c())
        .lock(0, 0x6000, 5, "m")
        .sync(1, Op::Fence { order: Order::SeqCst }, site(8, 1, "", ""))
        .step(1, Op::Choose { alternatives: 4 }, Done { old: 2, new: None }, site(9, 1, "", "__VERIFIER_nondet_int"))
        .sync(1, Op::Free { addr: Addr(0x7000), size: 8 }, site(10, 1, "node", "free"))
        .sync(1, section, site(11, 1, "", "__VERIFIER_atomic_begin"))
        .sync(0, Op::Join { thread: t(1) }, site(2, 1, "", "pthread_join"))
        .replay();
    let store = access(0x6004, AccessKind::Store { value: 3 });
    let section = replay.events.iter_mut().find(|e| e.op == Op::AtomicBegin).expect("the script has a section");
    section.section = vec![(store, Done { old: 0, new: Some(3) })];
    let v = violation(ViolationKind::Abort, "abort", &[]);
    insta::assert_snapshot!(plain(&interleaving::render(&replay, &v, 100, true)));
}

#[test]
fn steps_of_several_files_name_them() {
    let (mut replay, v) = spinning();
    replay.events.truncate(1);
    let elsewhere = SourceSpan { file: "/usr/include/list.h".into(), ..span(3, 1) };
    replay.events[0].site.span = elsewhere;
    let text = plain(&interleaving::render(&replay, &v, 100, false));
    assert!(text.contains("list.h:3"), "{text}");
}

#[test]
fn control_characters_of_the_program_do_not_reach_the_terminal() {
    let mut verdict = race();
    if let Ok(replay) = &mut verdict.shown[0].replay {
        replay.output = "\u{1b}[2Jboo".into();
    }
    let text = terminal::violation(&verdict.shown[0], "sc", &layout());
    assert!(text.contains("\u{fffd}[2Jboo"), "{text}");
}

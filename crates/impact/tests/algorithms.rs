//! Programs on which a step of the algorithms matters: without it, the answer would be wrong.

mod common;

use common::{Outcome, load, verify};
use selvedge_impact::iterate::Verdict;
use std::path::Path;

fn complete(name: &str, defines: &[&str]) -> Outcome {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    verify(&load(&directory.join(name), defines), true, usize::MAX, 20_000).expect("it can be encoded").1
}

fn messages(outcome: &Outcome) -> Vec<&str> {
    let errors = outcome.wrong.iter().filter_map(|wrong| wrong.error.as_ref());
    errors.map(|error| error.message.as_str()).collect()
}

/// Transitions that branch on an input share its symbol; in the next round it is another input all the same.
#[test]
fn an_input_is_another_one_in_every_round() {
    let outcome = complete("input_of_two_branches.c", &[]);
    assert_eq!(outcome.verdict, Ok(Verdict::Unsafe), "no schedule helps");
    assert!(!messages(&outcome).is_empty());
}

/// Set I: what is skipped at a covering node must be looked at there if it matters at the covered one.
#[test]
fn a_thread_that_matters_at_a_covered_node_is_not_skipped_at_the_covering_one() {
    for defines in [["FIRST=y", "SECOND=z"], ["FIRST=z", "SECOND=y"]] {
        let outcome = complete("covered_elsewhere.c", &defines);
        assert_eq!(messages(&outcome), ["assertion `y == 0` fails"], "{defines:?}");
        assert_eq!(outcome.verdict, Ok(Verdict::PartiallySafe), "the reader may go first");
    }
}

/// A transition ends in front of an assumption and of the end of the process if others may see what it has done.
#[test]
fn others_see_what_was_written_before_a_thread_waits_or_the_process_ends() {
    for defines in [&["WAITS"][..], &[]] {
        let outcome = complete("seen_before_the_end.c", defines);
        assert!(messages(&outcome).contains(&"assertion `x == 0` fails"), "{defines:?}");
    }
}

/// An error that is found to be out of reach only when everything else is done does not make a schedule go wrong before.
#[test]
fn an_error_that_was_not_looked_at_yet_is_no_reason_to_give_up() {
    let outcome = complete("reader_goes_first.c", &[]);
    assert!(messages(&outcome).contains(&"`late->a` is accessed after it was freed"));
    assert_eq!(outcome.verdict, Ok(Verdict::PartiallySafe), "the reader may go first");
}

/// A way on which an assumption never holds is left out of the automaton; that the thread may wait there is not.
#[test]
fn an_assumption_that_never_holds_makes_a_thread_wait() {
    let outcome = complete("never_holds.c", &[]);
    assert_eq!(outcome.verdict, Ok(Verdict::Unsafe));
    assert!(outcome.wrong.iter().all(|wrong| wrong.error.is_none()), "nothing but a deadlock");
}

/// What a thread has computed before its first access are the first values of its variables.
#[test]
fn a_thread_starts_with_what_it_has_computed_by_itself() {
    assert_eq!(complete("first_values.c", &["LAST=5"]).verdict, Ok(Verdict::Safe));
    let outcome = complete("first_values.c", &["LAST=3"]);
    assert_eq!(outcome.verdict, Ok(Verdict::Unsafe));
    assert!(messages(&outcome).iter().all(|message| message.contains("seen == ")), "{:?}", messages(&outcome));
}

//! The verifier against every interleaving of random small programs: never `safe` where one goes wrong, never a
//! counterexample where none does; and every tree that it gives out is checked.

mod common;

use common::verify;
use selvedge_impact::iterate::Verdict;
use selvedge_oracle::Enumeration;
use selvedge_oracle::generate::{generate, profile};
use selvedge_oracle::lower::lower;

/// Verifies programs of a profile; how many came to an answer.
fn agrees(name: &str, seeds: std::ops::Range<u64>) -> usize {
    let profile = profile(name).expect("a profile");
    let mut answered = 0;
    for seed in seeds {
        let (program, found) = generate(profile, seed, 3_000);
        let Some(lowered) = lower(&program) else { continue };
        let mut module = selvedge_ir::parse_module(&lowered.text).expect("well-formed");
        let options = selvedge_analysis::Options::for_schedules();
        selvedge_analysis::prepare(&mut module, &options).expect("the passes keep the rules");
        let Ok((_, outcome)) = verify(&module, true, 1_000, 4_000) else { continue };
        let context = format!("profile {name}, seed {seed}:\n{}\n{}", program, lowered.text);
        let bad = goes_wrong(&found);
        if !outcome.wrong.is_empty() {
            assert!(bad || gets_stuck(&found), "a counterexample where nothing goes wrong: {context}");
        }
        if let Ok(verdict) = outcome.verdict {
            answered += 1;
            assert_eq!(verdict == Verdict::Safe, outcome.wrong.is_empty(), "{context}");
            if verdict == Verdict::Safe {
                assert!(!bad, "safe, but something goes wrong: {context}");
            }
            assert_eq!(verdict == Verdict::Unsafe, outcome.last.is_none() && !outcome.wrong.is_empty(), "{context}");
        }
    }
    answered
}

fn goes_wrong(found: &Enumeration) -> bool {
    found.classes.values().any(|class| !class.ending.violations.is_empty())
}

/// An assumption that fails for good is a deadlock for the verifier.
fn gets_stuck(found: &Enumeration) -> bool {
    found.classes.values().any(|class| !class.ending.complete)
}

fn enough(name: &str, answered: usize, least: usize) {
    assert!(answered >= least, "only {answered} programs of `{name}` came to an answer");
}

#[test]
fn loads_and_stores() {
    enough("accesses", agrees("accesses", 0..300), 20);
}

#[test]
fn read_modify_writes() {
    enough("rmw", agrees("rmw", 0..300), 20);
}

#[test]
fn critical_sections() {
    enough("locks", agrees("locks", 0..300), 20);
}

#[test]
fn assertions() {
    enough("tests", agrees("tests", 0..300), 20);
}

#[test]
fn condition_variables() {
    enough("condlocks", agrees("condlocks", 0..300), 10);
}

#[test]
fn inputs() {
    enough("choices", agrees("choices", 0..300), 10);
}

#[test]
fn atomic_sections() {
    enough("sections", agrees("sections", 0..300), 10);
}

#[test]
fn branches() {
    enough("guards", agrees("guards", 0..300), 10);
}

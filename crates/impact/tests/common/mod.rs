//! Programs and their verification, for tests.

#![allow(dead_code, reason = "every test uses some of it")]

pub mod features;
pub mod random;
pub mod trial;

use selvedge_impact::build::{Unsupported, build};
use selvedge_impact::iterate::{Counterexample, Verdict, Yield};
use selvedge_impact::remove_error_paths::Ivr;
use selvedge_impact::solver::Embedded;
use selvedge_impact::verifier::{Halt, Limits, Verifier};
use selvedge_ir::Module;
use selvedge_oracle::{check_counterexample, check_published, check_tree};
use std::path::Path;
use std::time::{Duration, Instant};

/// A program in C.
pub fn load(file: &Path, defines: &[&str]) -> Module {
    let defines = defines.iter().map(|&define| define.to_owned()).collect();
    let options = selvedge_llvm::ClangOptions { defines, ..Default::default() };
    prepared(selvedge_llvm::load(&[file.to_owned()], &options).expect("it compiles"))
}

/// A module in the form that the verifier reads.
pub fn prepared(mut module: Module) -> Module {
    selvedge_analysis::prepare(&mut module, &selvedge_analysis::Options::for_schedules()).expect("well-formed");
    module
}

/// What came out.
pub struct Outcome {
    /// The answer; none if a limit came before.
    pub verdict: Result<Verdict, Halt>,
    /// What went wrong.
    pub wrong: Vec<Counterexample>,
    /// How many safe results there were; each was checked.
    pub safe: usize,
    /// At how many nodes of the second one, or of the only one, several threads may go on when it is published.
    pub open: usize,
    /// The last one.
    pub last: Option<Ivr>,
}

/// Verifies up to the end, or until there were so many safe results; every one is checked by the oracle.
pub fn verify(
    module: &Module,
    complete: bool,
    results: usize,
    nodes: usize,
) -> Result<(Verifier, Outcome), Unsupported> {
    let program = build(module)?;
    let deadline = Some(Instant::now() + Duration::from_secs(30));
    let limits = Limits { deadline, nodes: Some(nodes), ..Limits::default() };
    let mut verifier = Verifier::new(program, Box::new(Embedded::new(Duration::from_secs(20), None)), limits);
    let mut outcome = Outcome { verdict: Err(Halt::Nodes), wrong: Vec::new(), safe: 0, open: 0, last: None };
    let mut published = None;
    while outcome.safe < results {
        match verifier.next(outcome.last.as_ref(), complete) {
            Ok(Yield::Done(verdict)) => {
                outcome.verdict = Ok(verdict);
                break;
            }
            Ok(Yield::Unsafe(counterexample)) => {
                check_counterexample(&verifier, &counterexample).unwrap_or_else(|why| panic!("{why}"));
                outcome.wrong.push(counterexample);
            }
            Ok(Yield::Safe(ivr)) => {
                if outcome.safe < 5 {
                    check_tree(&verifier, &ivr, 2_000).unwrap_or_else(|why| panic!("a safe result is none: {why}"));
                }
                if outcome.safe < 2 {
                    let published = verifier.publish(&ivr, module, hashless(), 1);
                    let opened = verifier.open_turns(&ivr, published);
                    outcome.open = check_published(&verifier, &ivr, &opened, 2_000)
                        .unwrap_or_else(|why| panic!("a published result is not safe: {why}"));
                }
                outcome.safe += 1;
                published = Some(verifier.publish(&ivr, module, hashless(), 1));
                outcome.last = Some(ivr);
            }
            Err(halt) => {
                outcome.verdict = Err(halt);
                break;
            }
        }
    }
    if let Some(ivr) = &outcome.last {
        // The tree has changed since; the result has not.
        check_tree(&verifier, ivr, 2_000).unwrap_or_else(|why| panic!("the last safe result is none: {why}"));
        assert!(Some(verifier.publish(ivr, module, hashless(), 1)) == published, "a result stays what it was");
    }
    Ok((verifier, outcome))
}

/// A program without a name.
pub fn hashless() -> selvedge_schedule::Program {
    let (inputs, defines, include_dirs, clang_flags) = Default::default();
    selvedge_schedule::Program { inputs, defines, include_dirs, clang_flags, hash: String::new() }
}

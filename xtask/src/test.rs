//! `test`: all tests, and a summary.
//!
//! Tests explore hundreds of thousands of executions, so they run optimised; the assertions that are dear in daily use
//! stay on (profile `checked`). Users' tests are not optimised as a rule, and the Rust library looks at their stacks: a few of its
//! tests are run like that too (profile `plain`). Then come the loom tests of published crates (`published.rs`).

use crate::{Outcome, published, setup, shell};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Instant;

/// What cargo says about the tests of one program.
#[derive(Default, PartialEq, Eq, Debug)]
struct Counts {
    programs: u32,
    passed: u32,
    failed: u32,
}

/// Runs the command.
pub fn run(args: &[String]) -> Outcome {
    setup::ensure_clang()?;
    setup::ensure_sanitizers()?;
    setup::ensure_erlang()?;
    let start = Instant::now();
    let mut counts = Counts::default();
    let mut all_is_well = tests("checked", &["--workspace"], args, &mut counts)?;
    // Arguments choose among the tests of the workspace.
    if args.is_empty() {
        all_is_well &= tests("checked", &OTHER_ALLOCATORS, args, &mut counts)?;
        all_is_well &= tests("plain", &NOT_OPTIMISED, args, &mut counts)?;
    }
    let Counts { programs, passed, failed } = counts;
    let seconds = start.elapsed().as_secs();
    println!("\n{passed} tests passed, {failed} failed, in {programs} test programs and {seconds} s");
    if !all_is_well {
        return Err("some tests failed or could not be built".to_owned());
    }
    if args.is_empty() { published::run(&[]) } else { Ok(()) }
}

/// The Rust library in programs that have an allocator of their own.
const OTHER_ALLOCATORS: [&str; 8] =
    ["-p", "selvedge", "--features", "own-allocator", "--test", "own_allocator", "--test", "no_allocator"];

/// The Rust library as it is in tests that are not optimised.
const NOT_OPTIMISED: [&str; 8] = ["-p", "selvedge", "--test", "examples", "--test", "prepared", "--test", "tried_out"];

/// Runs some tests; whether they have passed.
fn tests(profile: &str, which: &[&str], args: &[String], counts: &mut Counts) -> Result<bool, String> {
    let mut command = shell::cargo();
    command.args(["test", "--profile", profile, "--no-fail-fast"]).args(which).args(args);
    println!("$ {}", shell::shown(&command));
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| shell::not_started(&command, &error))?;
    let output = child.stdout.take().expect("the output is piped");
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        println!("{line}");
        counts.add(&line);
    }
    Ok(child.wait().map_err(|error| error.to_string())?.success())
}

impl Counts {
    /// Reads `test result: ok. 7 passed; 0 failed; ...`.
    fn add(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("test result: ") else { return };
        let count = |what: &str| {
            let words: Vec<&str> = rest.split([' ', ';', '.']).filter(|word| !word.is_empty()).collect();
            words.windows(2).find(|pair| pair[1] == what).and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
        };
        self.programs += 1;
        self.passed += count("passed");
        self.failed += count("failed");
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn results_of_test_programs_add_up() {
        let mut counts = Counts::default();
        counts.add("test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s");
        counts.add("test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out");
        counts.add("test something_that_was_7 passed ... ok");
        assert_eq!(counts, Counts { programs: 2, passed: 12, failed: 2 });
    }
}

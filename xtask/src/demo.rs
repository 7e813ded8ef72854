//! `demo`: checks a program with a bug, and its repaired version.

use crate::{Outcome, no_arguments, setup, shell};
use std::path::Path;
use std::process::Command;

const VERIFIED: i32 = 0;
const VIOLATION: i32 = 1;

/// Runs the command.
pub fn run(args: &[String]) -> Outcome {
    no_arguments(args)?;
    setup::ensure_clang()?;
    let selvedge = shell::build_selvedge()?;
    println!("\nA work queue with a bug: whoever closes it does not hold its mutex.\n");
    check(&selvedge, "examples/work_queue.c", VIOLATION)?;
    println!("\nThe same queue, repaired.\n");
    check(&selvedge, "examples/work_queue_fixed.c", VERIFIED)?;
    println!("\nBoth results are as expected.");
    Ok(())
}

fn check(selvedge: &Path, program: &str, expected: i32) -> Outcome {
    let trace = std::env::temp_dir().join("selvedge-demo-trace.json");
    let mut command = Command::new(selvedge);
    command.args(["check", program, "--trace"]).arg(trace);
    println!("$ {}\n", shell::shown(&command));
    let status = command.status().map_err(|error| shell::not_started(&command, &error))?;
    match status.code() {
        Some(code) if code == expected => Ok(()),
        _ => Err(format!("{program}: expected exit code {expected}, but the result is {status}")),
    }
}

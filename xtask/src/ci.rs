//! `ci`: format, lints, tidiness, tests, documentation.

use crate::{Outcome, no_arguments, shell, test, tidy};

/// Runs the command; the quick checks come first.
pub fn run(args: &[String]) -> Outcome {
    no_arguments(args)?;
    shell::run(shell::cargo().args(["fmt", "--all", "--check"]))?;
    tidy::run(&[])?;
    shell::run(shell::cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    test::run(&[])?;
    let mut doc = shell::cargo();
    doc.args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
    shell::run(&mut doc)
}

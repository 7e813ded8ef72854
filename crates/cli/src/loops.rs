//! The `loops` command: every loop of a program, with the condition under which an iteration does nothing, what was
//! inserted where, or why it was left alone.

use crate::args::LoopsArgs;
use crate::exit::{Exit, Failure};
use crate::{output, program};
use std::fmt::Write;

/// Runs the command.
pub fn run(args: &LoopsArgs) -> Result<Exit, Failure> {
    let described = program::described(&args.input);
    let loaded = program::read(&described)?;
    output::clang_said(&loaded.warnings);
    let mut module = loaded.module;
    let mut reports = program::prepare(&mut module, &described, &args.reductions())?;
    reports.sort_by(|a, b| a.position.cmp(&b.position));
    // A function that was inlined has its loops in several places; they are treated alike.
    reports.dedup();
    let mut text = String::new();
    for report in &reports {
        write!(text, "{report}").expect("writing to a string succeeds");
    }
    if text.is_empty() {
        text.push_str("no loops\n");
    }
    output::print(&text);
    Ok(Exit::Verified)
}

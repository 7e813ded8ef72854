//! What went wrong, in words.

use selvedge_machine::verdict::Interruption;
use selvedge_messages::replay::Replay;
use selvedge_messages::{Exploration, Found, chart};
use std::fmt::Write;

/// A violation with the execution that shows it.
pub(crate) fn failure(found: &Found, result: &Exploration, replay: &Replay) -> String {
    let violation = &found.violation;
    let mut text = format!("{}: {}\n", violation.kind, violation.message);
    for (place, what) in violation.places.iter().filter(|(place, _)| place.line > 0) {
        let what = if what.is_empty() { String::new() } else { format!(" ({what})") };
        let _ = writeln!(text, "  at {place}{what}");
    }
    let explored = result.complete + result.blocked;
    let _ = writeln!(text, "in this execution ({explored} others were explored before it):");
    let _ = writeln!(text, "{}", chart::text(replay));
    let _ = writeln!(text, "to run it again: SELVEDGE_REPLAY='{}'", found.schedule);
    text
}

/// Why an exploration ended before everything was explored.
pub(crate) fn interruption(why: Interruption) -> &'static str {
    match why {
        Interruption::FirstViolation => "it ended at the first failure",
        Interruption::MaxExecutions => "the bound on the number of executions was reached",
        Interruption::MaxEvents => "an execution was longer than the bound: a loop may never end",
        Interruption::Time => "the bound on time was reached",
        Interruption::User => "it was interrupted",
    }
}

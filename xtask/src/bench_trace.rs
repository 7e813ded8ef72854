//! `bench trace`: what each reduction of the trace engine is good for.
//!
//! A Markdown table with a row for each program and size, and a column for each set of reductions: complete and blocked
//! executions, CPU seconds, and executions per second. A cell that takes longer than the limit shows how far it came.

use crate::bench::{Measured, measured};
use crate::trace_table::{self, COLUMNS, Expected, Row};
use crate::{Outcome, shell};
use std::path::Path;
use std::process::Command;

/// Seconds for a cell, unless `--limit` says otherwise.
const QUICK: u32 = 10;
const FULL: u32 = 600;

/// What the user asks for.
#[derive(Default)]
pub struct Choices {
    /// Programs that take long, too.
    pub full: bool,
    limit: Option<u32>,
    /// Programs whose name contains one of these; all if there are none.
    pub names: Vec<String>,
}

impl Choices {
    /// How many seconds a cell may take.
    pub fn seconds(&self) -> u32 {
        self.limit.unwrap_or(if self.full { FULL } else { QUICK })
    }
}

/// Runs the command.
pub fn run(args: &[String]) -> Outcome {
    let choices = parse_choices(args)?;
    let file = "benchmarks/trace.csv";
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let rows = trace_table::parse(&text).map_err(|message| format!("{file}: {message}"))?;
    let is_named = |row: &Row| choices.names.is_empty() || choices.names.iter().any(|name| row.name.contains(name));
    let rows: Vec<&Row> = rows.iter().filter(|row| is_named(row) && (choices.full || !row.full)).collect();
    if rows.is_empty() {
        return Err("no program has such a name; some are run with --full only".to_owned());
    }
    let selvedge = shell::build_selvedge()?;
    let limit = choices.seconds();
    println!("Complete + blocked executions, CPU seconds, executions per second; at most {limit} s for each cell.\n");
    print_row("program", &COLUMNS.map(|(name, _)| name.to_owned()));
    print_row("---", &COLUMNS.map(|_| "---:".to_owned()));
    let mut mistakes = Vec::new();
    for row in rows {
        let mut cells = COLUMNS.map(|_| String::new());
        for (column, cell) in cells.iter_mut().enumerate() {
            let found = check(&selvedge, row, column, limit)?;
            mistakes.extend(
                mistake(row.expected[column], &found).map(|why| format!("{} {}: {why}", row.name, COLUMNS[column].0)),
            );
            *cell = shown(&found);
        }
        print_row(&row.name, &cells);
    }
    if mistakes.is_empty() { Ok(()) } else { Err(format!("not as expected:\n{}", mistakes.join("\n"))) }
}

/// Reads the command line.
pub fn parse_choices(args: &[String]) -> Result<Choices, String> {
    let mut choices = Choices::default();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--full" => choices.full = true,
            "--limit" => {
                let seconds = words.next().and_then(|word| word.parse().ok()).filter(|n| *n > 0);
                choices.limit = Some(seconds.ok_or("--limit needs a number of seconds")?);
            }
            option if option.starts_with('-') => return Err(format!("there is no option {option}")),
            name => choices.names.push(name.to_owned()),
        }
    }
    Ok(choices)
}

/// Prints a row of a Markdown table.
pub fn print_row(name: &str, cells: &[String]) {
    println!("| {name} | {} |", cells.join(" | "));
}

fn check(selvedge: &Path, row: &Row, column: usize, limit: u32) -> Result<Measured, String> {
    let mut command = Command::new(selvedge);
    command.arg("check").args(row.arguments(column)).args(["--time", &format!("{limit}s"), "--json", "-"]);
    measured(&mut command)
}

/// A cell.
pub fn shown(found: &Measured) -> String {
    let Measured { verdict, complete, blocked, seconds, .. } = found;
    let rate = (complete + blocked) as f64 / seconds.max(1e-6);
    let rate = if rate >= 1000.0 { format!("{:.0}k/s", rate / 1000.0) } else { format!("{rate:.0}/s") };
    // The clock of the system is too coarse to say how fast something was that took no time.
    let speed = if *seconds < 0.002 { String::new() } else { format!(", {seconds:.2} s, {rate}") };
    let counts = format!("{complete}+{blocked}{speed}");
    match verdict.as_str() {
        "verified" => counts,
        "incomplete" => format!("limit: {counts}"),
        kind => format!("{kind}: {counts}"),
    }
}

/// What is wrong with a result. A cell that ran out of time says nothing.
pub fn mistake(expected: Expected, found: &Measured) -> Option<String> {
    let is_bug = !matches!(found.verdict.as_str(), "verified" | "incomplete");
    match expected {
        Expected::Unstated if !is_bug => None,
        _ if found.verdict == "incomplete" => None,
        Expected::Bug if is_bug => None,
        Expected::Counts(complete, blocked) if !is_bug && (complete, blocked) == (found.complete, found.blocked) => {
            None
        }
        expected => {
            Some(format!("expected {expected:?}, found {} {}+{}", found.verdict, found.complete, found.blocked))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(verdict: &str, complete: u64, blocked: u64) -> Measured {
        Measured { verdict: verdict.to_owned(), complete, blocked, seconds: 0.5, memory_kib: 0 }
    }

    #[test]
    fn a_cell_shows_counts_time_and_rate_and_whether_it_ran_out_of_time() {
        assert_eq!(shown(&found("verified", 6, 2)), "6+2, 0.50 s, 16/s");
        assert_eq!(shown(&found("incomplete", 6000, 0)), "limit: 6000+0, 0.50 s, 12k/s");
        assert_eq!(shown(&found("assertion", 1, 0)), "assertion: 1+0, 0.50 s, 2/s");
    }

    #[test]
    fn a_result_that_differs_is_a_mistake_unless_it_ran_out_of_time() {
        assert_eq!(mistake(Expected::Counts(6, 2), &found("verified", 6, 2)), None);
        assert_eq!(mistake(Expected::Counts(6, 2), &found("incomplete", 5, 2)), None);
        assert_eq!(mistake(Expected::Bug, &found("livelock", 5, 2)), None);
        assert!(mistake(Expected::Counts(6, 2), &found("verified", 6, 3)).is_some());
        assert!(mistake(Expected::Counts(6, 2), &found("assertion", 6, 2)).is_some());
        assert!(mistake(Expected::Bug, &found("verified", 6, 2)).is_some());
        assert!(mistake(Expected::Unstated, &found("assertion", 6, 2)).is_some());
    }
}

//! `bench rust`: the Rust library against loom and shuttle, on the programs of `crates/selvedge/examples`.
//!
//! `benchmarks/rust` is a project of its own that has the peers as dependencies. It is built here, with the network if
//! need be, and makes a program for each checker. A cell shows the verdict, executions, CPU seconds to the verdict, and
//! executions per second. A checker that is not done after the limit shows how far it came. Where Selvedge takes failed attempts
//! of a loop together, a second row is of an exploration in which it does not.
//!
//! The command fails if Selvedge does not come to an end, needs more executions than loom, or has another number of
//! executions than the tables in the README of `crates/selvedge`: these are of a test that is compiled otherwise, and
//! what is compiled how must make no difference. It also fails if loom does not leave out what that README says it does
//! (`benchmarks/rust/tests`).

use crate::bench_trace::parse_choices;
use crate::{Outcome, shell};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CHECKERS: [&str; 3] = ["selvedge", "loom", "shuttle"];
const FILE: &str = "benchmarks/rust.md";
/// Where the numbers of executions are.
const COUNTS: &str = "crates/selvedge/README.md";
/// The table in that file starts with this.
const HEAD: &str = "| program |";
/// Seconds for a cell, unless `--limit` says otherwise.
const LIMIT: &str = "3";

/// What a checker did.
#[derive(Clone, PartialEq, Debug)]
struct Measured {
    verdict: String,
    executions: u64,
    seconds: f64,
}

/// How Selvedge explores attempts of loops that try an exchange again (`Builder::attempts_one_by_one`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempts {
    Together,
    OneByOne,
}

/// What is added to the name of a program whose attempts are explored one by one.
const ONE_BY_ONE: &str = "attempts one by one";

/// Runs the command.
pub fn run(args: &[String]) -> Outcome {
    let write = args.iter().any(|word| word == "--write");
    let mut words: Vec<String> = args.iter().filter(|word| *word != "--write").cloned().collect();
    if !words.iter().any(|word| word == "--limit") {
        words.extend(["--limit", LIMIT].map(str::to_owned));
    }
    let choices = parse_choices(&words)?;
    let programs = build()?;
    let names = names(&programs[0])?;
    let is_named = |name: &&str| choices.names.is_empty() || choices.names.iter().any(|part| name.contains(part));
    let names: Vec<&str> = names.lines().filter(is_named).collect();
    if names.is_empty() {
        return Err("no program has such a name".to_owned());
    }
    let mut table = format!("{HEAD} Selvedge | loom | shuttle | x loom | sooner |\n|---|---|---|---|---|---|\n");
    print!("{table}");
    let counts = std::fs::read_to_string(COUNTS).map_err(|error| format!("{COUNTS}: {error}"))?;
    let mut mistakes = Vec::new();
    for name in names {
        let cells = programs
            .iter()
            .map(|program| measure(program, name, choices.seconds(), Attempts::Together))
            .collect::<Result<Vec<Measured>, String>>()?;
        if let Some(count) = count_in(&counts, name).filter(|count| *count != cells[0].executions) {
            mistakes.push(format!("{name}: {} executions, and {COUNTS} says {count}", cells[0].executions));
        }
        let mut rows = vec![(name.to_owned(), cells.clone())];
        let one_by_one = measure(&programs[0], name, choices.seconds(), Attempts::OneByOne)?;
        if one_by_one.executions != cells[0].executions {
            rows.push((format!("{name}, {ONE_BY_ONE}"), [&[one_by_one], &cells[1..]].concat()));
        }
        for (name, cells) in rows {
            mistakes.extend(mistake(&cells[0], &cells[1]).map(|why| format!("{name}: {why}")));
            let row = row(&name, &cells);
            println!("{row}");
            writeln!(table, "{row}").expect("a string can be written to");
        }
    }
    if write {
        let text = std::fs::read_to_string(FILE).map_err(|error| format!("{FILE}: {error}"))?;
        let text = replaced(&text, &table).ok_or_else(|| format!("{FILE}: there is no table"))?;
        std::fs::write(FILE, text).map_err(|error| format!("{FILE}: {error}"))?;
    }
    if mistakes.is_empty() { Ok(()) } else { Err(format!("not as expected:\n{}", mistakes.join("\n"))) }
}

/// Builds the project of the peers, and runs its tests.
fn build() -> Result<Vec<PathBuf>, String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let target = std::path::absolute(target.join("peers")).map_err(|error| error.to_string())?;
    for what in ["build", "test"] {
        let mut command = shell::cargo();
        command.args([what, "--release", "--manifest-path", "benchmarks/rust/Cargo.toml"]);
        shell::run(command.env("CARGO_TARGET_DIR", &target))?;
    }
    Ok(CHECKERS.iter().map(|name| target.join("release").join(name)).collect())
}

fn names(program: &Path) -> Result<String, String> {
    let mut command = Command::new(program);
    let output = command.arg("--list").output().map_err(|error| shell::not_started(&command, &error))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn measure(program: &Path, name: &str, limit: u32, attempts: Attempts) -> Result<Measured, String> {
    let mut command = Command::new(program);
    command.args([name, &limit.to_string()]).stderr(Stdio::null()).env_remove("ONE_BY_ONE");
    if attempts == Attempts::OneByOne {
        command.env("ONE_BY_ONE", "1");
    }
    let output = command.output().map_err(|error| shell::not_started(&command, &error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    parse(text.lines().last().unwrap_or_default()).ok_or_else(|| format!("`{}`: {text}", shell::shown(&command)))
}

/// Reads `VERDICT EXECUTIONS SECONDS`.
fn parse(line: &str) -> Option<Measured> {
    let [verdict, executions, seconds] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
    Some(Measured { verdict: verdict.to_owned(), executions: executions.parse().ok()?, seconds: seconds.parse().ok()? })
}

fn rate(found: &Measured) -> f64 {
    found.executions as f64 / found.seconds.max(1e-9)
}

/// What the checkers did with a program.
fn row(name: &str, cells: &[Measured]) -> String {
    let shown: Vec<String> = cells.iter().map(shown).collect();
    format!("| {name} | {} | {} | {} |", shown.join(" | "), ratio(&cells[0], &cells[1]), sooner(&cells[0], &cells[1]))
}

/// A cell.
fn shown(found: &Measured) -> String {
    let time = match found.seconds {
        seconds if seconds < 1e-3 => format!("{:.0} µs", seconds * 1e6),
        seconds if seconds < 1.0 => format!("{:.1} ms", seconds * 1e3),
        seconds => format!("{seconds:.1} s"),
    };
    let rate = match rate(found) {
        rate if rate >= 1000.0 => format!("{:.0}k/s", rate / 1000.0),
        rate => format!("{rate:.0}/s"),
    };
    let counts = format!("{}, {time}, {rate}", found.executions);
    match found.verdict.as_str() {
        "passes" => counts,
        "limit" => format!("limit: {counts}"),
        "gives-up" => format!("gives up: {counts}"),
        kind => format!("**{kind}**: {}, {time}", found.executions),
    }
}

/// How many times as many executions a second as loom; of explorations that end with a failure, or that loom gives up, it says
/// nothing.
fn ratio(ours: &Measured, loom: &Measured) -> String {
    let counts = |found: &Measured| matches!(found.verdict.as_str(), "passes" | "limit");
    match counts(ours) && counts(loom) {
        true => format!("{:.0}", rate(ours) / rate(loom)),
        false => String::new(),
    }
}

/// How many times sooner the verdict is there than loom's. If loom is cut off, it takes longer than that; if it gives up, it
/// has none.
fn sooner(ours: &Measured, loom: &Measured) -> String {
    let times = loom.seconds / ours.seconds.max(1e-9);
    let digits = if times < 2.0 { 1 } else { 0 };
    match loom.verdict.as_str() {
        "gives-up" => "no verdict".to_owned(),
        "limit" => format!("> {times:.0}"),
        _ => format!("{times:.digits$}"),
    }
}

/// What is wrong with a result. Where loom does not come to an end, its number of executions says nothing.
fn mistake(ours: &Measured, loom: &Measured) -> Option<String> {
    match ours.verdict.as_str() {
        "limit" => Some("Selvedge is not done in time".to_owned()),
        "failure" | "gives-up" => Some("Selvedge fails".to_owned()),
        _ if ours.executions > loom.executions && loom.verdict != "limit" && loom.verdict != "gives-up" => {
            Some(format!("{} executions, and loom has {}", ours.executions, loom.executions))
        }
        _ => None,
    }
}

/// How many executions a program has by the tables of a text: those that are complete or blocked.
fn count_in(text: &str, name: &str) -> Option<u64> {
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let number = |cell: Option<&String>| cell.and_then(|cell| cell.parse::<u64>().ok());
    let mut head = Vec::new();
    for row in text.lines().filter(|line| line.starts_with('|')).map(cells) {
        match row[0].as_str() {
            "litmus test" | "program" => head = row,
            program if program == name => return Some(number(row.get(2))? + number(row.get(3))?),
            test if head.first().is_some_and(|first| first == "litmus test") => {
                let orders = name.strip_prefix(test).and_then(|rest| rest.strip_prefix(", "));
                if let Some(n) = head.iter().position(|cell| Some(cell.as_str()) == orders) {
                    return number(row.get(n));
                }
            }
            _ => {}
        }
    }
    None
}

/// A text with another table.
fn replaced(text: &str, table: &str) -> Option<String> {
    let at = text.find(HEAD)?;
    let after: Vec<&str> = text[at..].lines().skip_while(|line| line.starts_with('|')).collect();
    let after = after.join("\n");
    Some(format!("{}{table}{after}{}", &text[..at], if after.is_empty() { "" } else { "\n" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Measured {
        parse(line).expect("the line is well-formed")
    }

    #[test]
    fn a_cell_shows_counts_time_and_rate() {
        assert_eq!(shown(&found("passes 4 0.00002")), "4, 20 µs, 200k/s");
        assert_eq!(shown(&found("limit 80000 5.0")), "limit: 80000, 5.0 s, 16k/s");
        assert_eq!(shown(&found("deadlock 3 0.0015")), "**deadlock**: 3, 1.5 ms");
        assert_eq!(ratio(&found("passes 4 0.00002"), &found("limit 80000 5.0")), "12");
        assert_eq!(ratio(&found("deadlock 1 0.1"), &found("deadlock 3 0.1")), "");
        assert_eq!(ratio(&found("passes 1 0.1"), &found("gives-up 3 0.1")), "");
        assert!(parse("passes 4").is_none());
    }

    #[test]
    fn a_verdict_is_sooner_than_that_of_loom() {
        let ours = found("passes 4 0.001");
        assert_eq!(sooner(&ours, &found("passes 80 0.0135")), "14");
        assert_eq!(sooner(&ours, &found("limit 80000 5.0")), "> 5000");
        assert_eq!(sooner(&ours, &found("gives-up 1 0.0001")), "no verdict");
        assert_eq!(sooner(&ours, &found("deadlock 1 0.0015")), "1.5");
    }

    #[test]
    fn more_executions_than_loom_are_a_mistake_if_loom_is_done() {
        assert_eq!(mistake(&found("passes 4 1"), &found("passes 4 1")), None);
        assert_eq!(mistake(&found("passes 4 1"), &found("gives-up 3 1")), None);
        assert!(mistake(&found("passes 5 1"), &found("passes 4 1")).is_some());
        assert!(mistake(&found("limit 5 1"), &found("limit 6 1")).is_some());
    }

    #[test]
    fn counts_are_found_in_the_tables() {
        let text = "| litmus test | Relaxed | Release, Acquire |\n|---|---|---|\n| SB | 4 | 5 |\n\n\
                    | program | verdict | executions | blocked |\n|---|---|---|---|\n| a lock, 2 threads | passes | 6 | 1 |\n";
        let names = ["SB, Relaxed", "SB, Release, Acquire", "a lock, 2 threads", "SB, SeqCst", "b"];
        assert_eq!(names.map(|name| count_in(text, name)), [Some(4), Some(5), Some(7), None, None]);
    }

    #[test]
    fn a_new_table_takes_the_place_of_the_old_one() {
        let text = "a\n\n| program | x |\n|---|\n| old |\n\nb\n";
        assert_eq!(replaced(text, "| program | y |\n").as_deref(), Some("a\n\n| program | y |\n\nb\n"));
        assert_eq!(replaced("a\n", "| program |\n"), None);
    }
}

//! `bench verify`: how long the verifier takes for the programs of `examples/schedules`.
//!
//! A Markdown table: seconds to the first safe schedule, clang's part of them, and what the paper has; then the answer of
//! a complete verification within a minute. Seconds to the first schedule are the median of several runs. Before it, how
//! long clang takes for a file that only includes headers: less than that nobody can take.

use crate::{Outcome, shell};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Name, file, macros, seconds to the first result and of a complete verification in the paper.
const PROGRAMS: &[(&str, &str, &[&str], &str, &str)] = &[
    ("producer-consumer, figure 1", "producer_consumer_bug.c", &[], "", ""),
    ("producer-consumer 1p 1c, 1000 slots", "producer_consumer_1p1c.c", &["SLOTS=1000"], "120", "> 72 h"),
    ("producer-consumer 2p 2c, 1000 slots", "producer_consumer_2p2c.c", &["SLOTS=1000"], "1427", "> 72 h"),
    ("producer-consumer 4p 4c, 1000 slots", "producer_consumer_4p4c.c", &["SLOTS=1000"], "16193", "> 72 h"),
    ("producer-consumer 1p 1c, 5 slots", "producer_consumer_1p1c.c", &["SLOTS=5"], "2", "148"),
    ("producer-consumer 2p 2c, 5 slots", "producer_consumer_2p2c.c", &["SLOTS=5"], "18", "76"),
    ("producer-consumer 4p 4c, 5 slots", "producer_consumer_4p4c.c", &["SLOTS=5"], "161", "584"),
    ("double lock", "double_lock.c", &[], "", ""),
    ("double lock, corrected", "double_lock.c", &["FIXED"], "0", "0"),
    ("erroneous synchronisation", "erroneous_sync.c", &[], "", ""),
    ("file system", "filesystem.c", &[], "0", "0"),
    ("file system, constraints", "filesystem_declared.c", &[], "", ""),
    ("file system, useful", "filesystem_useful.c", &[], "", ""),
    ("barrier ring", "barrier_ring.c", &[], "1", "254"),
    ("parallel grep", "parallel_grep.c", &[], "", ""),
];

/// The guide, and the lines between which the table is.
const GUIDE: &str = "docs/guide/verify.md";
const MARKS: (&str, &str) = ("<!-- cargo xtask bench verify --write -->\n", "<!-- end of the table -->\n");

/// How often the first schedule is measured.
const RUNS: usize = 5;

/// How long a complete verification may take.
const LIMIT: &str = "60s";

/// Runs the command.
pub fn run(args: &[String]) -> Outcome {
    let write = args.iter().any(|word| word == "--write");
    let names: Vec<&String> = args.iter().filter(|word| *word != "--write").collect();
    if let Some(option) = names.iter().find(|word| word.starts_with('-')) {
        return Err(format!("there is no option {option}"));
    }
    if write && !names.is_empty() {
        return Err("--write is for the whole table".to_owned());
    }
    let selvedge = shell::build_selvedge()?;
    let mut table = format!(
        "clang alone takes {:.3} s for a file that includes `assert.h` and `pthread.h` and has nothing else in it.\n\n",
        clang_alone()?
    );
    table.push_str("| program | first schedule | own part | nodes | paper | complete | nodes | paper |\n");
    table.push_str("|---|---:|---:|---:|---:|---:|---:|---:|\n");
    print!("{table}");
    for program in PROGRAMS {
        if !names.is_empty() && !names.iter().any(|wanted| program.0.contains(wanted.as_str())) {
            continue;
        }
        let row = row(&selvedge, program)?;
        print!("{row}");
        table.push_str(&row);
    }
    if write {
        let text = std::fs::read_to_string(GUIDE).map_err(|error| format!("{GUIDE}: {error}"))?;
        let text = replaced(&text, &table).ok_or_else(|| format!("{GUIDE}: there is no table"))?;
        std::fs::write(GUIDE, text).map_err(|error| format!("{GUIDE}: {error}"))?;
    }
    Ok(())
}

type Program = (&'static str, &'static str, &'static [&'static str], &'static str, &'static str);

fn row(selvedge: &Path, &(name, file, macros, first_paper, complete_paper): &Program) -> Result<String, String> {
    let mut firsts = Vec::new();
    for _ in 0..RUNS {
        firsts.push(verify(selvedge, file, macros, &["--ivrs", "1"])?);
    }
    firsts.sort_by(|a, b| a.own.total_cmp(&b.own));
    let first = &firsts[RUNS / 2];
    let end = verify(selvedge, file, macros, &["--complete", "--time", LIMIT])?;
    let answer = match end.answer.as_str() {
        "incomplete" => "not within a minute".to_owned(),
        answer => format!("{answer}, {:.2}", end.own + end.clang),
    };
    Ok(format!(
        "| {name} | {:.2} | {:.3} | {} | {first_paper} | {answer} | {} | {complete_paper} |\n",
        first.own + first.clang,
        first.own,
        first.nodes,
        end.nodes
    ))
}

/// What a verification took.
struct Took {
    /// Seconds of clang, and all others up to the first schedule; up to the end if there is none or it is complete.
    clang: f64,
    own: f64,
    nodes: u64,
    answer: String,
}

/// Runs a verification and reads its report.
fn verify(selvedge: &Path, file: &str, macros: &[&str], options: &[&str]) -> Result<Took, String> {
    let mut command = Command::new(selvedge);
    command.arg("verify").arg(Path::new("examples/schedules").join(file)).args(["--no-files", "--json", "-"]);
    command.args(macros.iter().map(|name| format!("-D{name}"))).args(options);
    let output = command.output().map_err(|error| shell::not_started(&command, &error))?;
    let failed = |why: &str| format!("`{}` failed: {why}", shell::shown(&command));
    if !matches!(output.status.code(), Some(0 | 1 | 4)) {
        return Err(failed(&String::from_utf8_lossy(&output.stderr)));
    }
    let report = String::from_utf8_lossy(&output.stdout);
    let read = |from: &str, name: &str| number(from, name).ok_or_else(|| failed(&format!("no {name} in its report")));
    let complete = options.contains(&"--complete");
    let first = report.find("\"kind\": \"safe\"").filter(|_| !complete).map_or(&*report, |at| &report[at..]);
    let clang = read(&report, "clang_seconds")?;
    let own = read(&report, "load_seconds")? - clang + read(first, "seconds")?;
    let answer = word(&report, "answer").ok_or_else(|| failed("no answer in its report"))?;
    Ok(Took { clang, own, nodes: read(&report, "nodes")? as u64, answer })
}

/// The first number with a name in a report.
fn number(report: &str, name: &str) -> Option<f64> {
    let rest = report.split_once(&format!("\"{name}\":"))?.1.trim_start();
    let end = rest.find(|c: char| !matches!(c, '0'..='9' | '.' | 'e' | '-' | '+')).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The first text with a name in a report.
fn word(report: &str, name: &str) -> Option<String> {
    let rest = report.split_once(&format!("\"{name}\":"))?.1.trim_start();
    Some(rest.strip_prefix('"')?.split_once('"')?.0.to_owned())
}

/// How long clang takes to start, to read headers and to write nothing.
fn clang_alone() -> Result<f64, String> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let mut command = Command::new("clang");
        command.args(["-S", "-emit-llvm", "-g", "-O0", "-x", "c", "-include", "assert.h", "-include", "pthread.h"]);
        command.args(["-o", "-", "/dev/null"]);
        let start = Instant::now();
        command.output().map_err(|error| shell::not_started(&command, &error))?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[RUNS / 2])
}

/// The guide with another table.
fn replaced(text: &str, table: &str) -> Option<String> {
    let (before, rest) = text.split_once(MARKS.0)?;
    let (_, after) = rest.split_once(MARKS.1)?;
    Some(format!("{before}{}{table}{}{after}", MARKS.0, MARKS.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_has_a_place_for_the_table() {
        let guide = include_str!("../../docs/guide/verify.md");
        let once = replaced(guide, "| new |\n").expect("it has the marks");
        assert!(once.contains("| new |"));
        assert_eq!(replaced(&once, "| new |\n").as_deref(), Some(once.as_str()));
    }

    #[test]
    fn numbers_and_words_of_a_report_are_found() {
        let report = r#"{"answer": "safe", "seconds": 0.25, "nodes": 12}"#;
        assert_eq!(number(report, "seconds"), Some(0.25));
        assert_eq!(number(report, "nodes"), Some(12.0));
        assert_eq!(word(report, "answer").as_deref(), Some("safe"));
        assert_eq!(number(report, "answer"), None);
    }
}

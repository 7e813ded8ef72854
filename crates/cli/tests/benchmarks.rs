//! The programs of `benchmarks/` do what `benchmarks/bench.csv` says: verdicts, and counts where they are stated.
//!
//! Rows of published tables are checked elsewhere (`published_counts.rs`); here it is made sure that both lists agree.

mod common;

use common::{check_in_workspace, finish, workspace};
use serde_json::Value;
use std::fs;

/// One run.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    name: String,
    program: String,
    macros: String,
    options: String,
    verdict: String,
    complete: Option<u64>,
    blocked: Option<u64>,
}

fn read(file: &str) -> String {
    fs::read_to_string(workspace().join("benchmarks").join(file)).expect("the list is there")
}

fn rows() -> Vec<Row> {
    let text = read("bench.csv");
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let [name, program, macros, options, verdict, complete, blocked, _, _] = fields[..] else {
            panic!("a row has nine fields: {line}")
        };
        let count = |text: &str| (text != "-").then(|| text.parse().expect("a number or `-`"));
        Row {
            name: name.to_owned(),
            program: program.to_owned(),
            macros: macros.to_owned(),
            options: options.replace('+', ","),
            verdict: verdict.to_owned(),
            complete: count(complete),
            blocked: count(blocked),
        }
    };
    lines.map(row).collect()
}

/// `program,macros,algorithm,complete,blocked` of the published rows.
fn published() -> Vec<String> {
    let text = read("published.csv");
    let fields = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    fields.map(|f| f[1..].join(",")).collect()
}

fn key(row: &Row) -> String {
    let count = |n: Option<u64>| n.map_or("-".to_owned(), |n| n.to_string());
    let algorithm = row.options.split_once("--reductions ").map_or("optimal", |(_, names)| names).replace(',', "+");
    [row.program.as_str(), &row.macros, &algorithm, &count(row.complete), &count(row.blocked)].join(",")
}

fn check(row: &Row) -> Result<(), String> {
    let mut command = check_in_workspace();
    command.arg(format!("benchmarks/{}.c", row.program));
    command.args(row.macros.split_whitespace().flat_map(|m| ["-D", m])).args(row.options.split_whitespace());
    if !row.options.contains("--reductions") {
        command.args(["--reductions", "none"]);
    }
    command.args(["--engine", "trace", "--json", "-"]);
    let run = finish(command);
    let report: Value = serde_json::from_str(&run.out).map_err(|error| format!("no report ({error}): {run}"))?;
    let verdict = match report["verdict"].as_str() {
        Some("violation") => report["violations"][0]["kind"].as_str(),
        other => other,
    };
    let agrees = |name: &str, expected: Option<u64>| {
        expected.is_none_or(|expected| report["executions"][name].as_u64() == Some(expected))
    };
    let same = verdict == Some(&row.verdict) && agrees("complete", row.complete) && agrees("blocked", row.blocked);
    if same { Ok(()) } else { Err(format!("{verdict:?} {} {}", report["error"], report["executions"])) }
}

#[test]
fn own_benchmarks_have_the_verdicts_and_counts_of_the_list() {
    let published = published();
    let rows: Vec<Row> = rows().into_iter().filter(|row| !published.contains(&key(row))).collect();
    assert!(rows.len() > 20, "the rows are there");
    let failures: Vec<String> =
        rows.iter().filter_map(|row| check(row).err().map(|why| format!("{row:?}: got {why}"))).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_published_row_is_a_benchmark() {
    let keys: Vec<String> = rows().iter().map(key).collect();
    for row in published() {
        assert!(keys.contains(&row), "bench.csv has no row {row}");
    }
}

//! Published numbers of executions of the graph engine, every column to the digit: `benchmarks/published_graph.csv`.
//!
//! They are from Kokologiannakis, Marmanis, Vafeiadis, *Unblocking Dynamic Partial Order Reduction* (CAV 2023): section 2,
//! and Tables 1 and 2. A row has the number of complete executions, and that of blocked ones for TruSt, TruSt with
//! stale-read annotations, TruSt with in-place revisits as well, and Awamoche; `-` is a number that the paper does not
//! give. `mpmc-enq` is a row only for the size at which our queue has the shape of theirs.

mod common;

use common::{check_in_workspace, finish, workspace};
use serde_json::Value;
use std::fs;

/// The columns, and what they are on the command line.
const COLUMNS: [(&str, &str); 4] = [
    ("TruSt", "purity,await"),
    ("TruSt with stale-read annotations", "purity,await,stale"),
    ("TruSt with in-place revisits", "purity,await,stale,in-place"),
    ("Awamoche", "all"),
];

/// One row.
#[derive(Debug)]
struct Row {
    table: String,
    program: String,
    macros: Vec<String>,
    complete: u64,
    blocked: [Option<u64>; 4],
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(workspace().join("benchmarks/published_graph.csv")).expect("the table is there");
    let rows = text.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let [table, program, macros, complete, blocked @ ..] = &fields[..] else { panic!("no row: {line}") };
        let number = |text: &&str| (*text != "-").then(|| text.parse().expect("a number or `-`"));
        let blocked: Vec<Option<u64>> = blocked.iter().map(number).collect();
        Row {
            table: (*table).to_owned(),
            program: (*program).to_owned(),
            macros: macros.split_whitespace().map(str::to_owned).collect(),
            complete: complete.parse().expect("the number of complete executions"),
            blocked: blocked.try_into().expect("a row has eight fields"),
        }
    });
    rows.collect()
}

/// What the command reports: complete and blocked executions.
fn counts(row: &Row, reductions: &str) -> Result<(u64, u64), String> {
    let mut command = check_in_workspace();
    command.arg(format!("benchmarks/{}.c", row.program));
    command.args(row.macros.iter().flat_map(|m| ["-D", m]));
    command.args(["--engine", "graph", "--model", "rc11", "--reductions", reductions, "--json", "-"]);
    if row.complete == 0 {
        // A wait for what never comes: all executions are livelocks, and they are to be counted.
        command.arg("--no-deadlocks");
    }
    let run = finish(command);
    let report: Value = serde_json::from_str(&run.out).map_err(|error| format!("no report ({error}): {run}"))?;
    let count = |name: &str| report["executions"][name].as_u64();
    match (report["verdict"].as_str(), count("complete"), count("blocked")) {
        (Some("verified"), Some(complete), Some(blocked)) => Ok((complete, blocked)),
        _ => Err(format!("{} {} {}", report["verdict"], report["error"], report["executions"])),
    }
}

/// Checks the rows of a table and reports all that differ.
fn check_table(table: &str) {
    let rows: Vec<Row> = rows().into_iter().filter(|row| row.table == table).collect();
    assert!(!rows.is_empty(), "no rows of {table}");
    let mut failures = Vec::new();
    for row in &rows {
        for ((column, reductions), blocked) in COLUMNS.iter().zip(row.blocked) {
            let Some(blocked) = blocked else { continue };
            let found = counts(row, reductions);
            if found != Ok((row.complete, blocked)) {
                let (program, macros) = (&row.program, row.macros.join(" "));
                let wanted = format!("{} complete, {blocked} blocked", row.complete);
                failures.push(format!("{program} {macros}, {column}: {wanted}, not {found:?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{table}:\n{}", failures.join("\n"));
}

#[test]
fn awamoche_section_2() {
    check_table("awamoche section 2");
}

#[test]
fn awamoche_table_1() {
    check_table("awamoche Table 1");
}

#[test]
fn awamoche_table_2() {
    check_table("awamoche Table 2");
}

#[test]
fn every_row_belongs_to_a_table_that_is_checked() {
    let here = include_str!("graph_counts.rs");
    for row in rows() {
        assert!(here.contains(&format!("check_table({:?})", row.table)), "nobody checks {row:?}");
    }
}

/// Section 7: under SC and TSO, stores to what is awaited are ordered even if they race.
#[test]
fn racing_stores_do_not_keep_awaits_from_being_read_again_under_sc_and_tso() {
    for (model, blocked) in [("sc", 0), ("tso", 0), ("rc11", 3)] {
        let mut command = check_in_workspace();
        command.args(["benchmarks/lamport.c", "-D", "SPIN", "-D", "T=2", "--engine", "graph", "--json", "-"]);
        command.args(["--model", model, "--reductions", "purity,await,stale,in-place,speculative"]);
        let run = finish(command);
        let report: Value = serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("no report ({error}): {run}"));
        let executions = &report["executions"];
        assert_eq!(
            (executions["complete"].as_u64(), executions["blocked"].as_u64()),
            (Some(16), Some(blocked)),
            "{run}"
        );
        assert_eq!(run.out.contains("its writes are not ordered"), blocked > 0, "{run}");
    }
}

/// What a program that waits has in its text; awaits are a different thing for the two engines.
const WAITS: [&str; 5] = ["AWAIT", "pthread_mutex", "pthread_cond", "sem_", "futex"];

/// Under sequential consistency, without reductions, an execution graph is a Mazurkiewicz trace.
#[test]
fn trust_and_optimal_dpor_explore_as_many_executions_of_every_benchmark_that_does_not_wait() {
    let files = fs::read_dir(workspace().join("benchmarks")).expect("the benchmarks are there");
    let mut tried = 0;
    let mut failures = Vec::new();
    for path in files.map(|file| file.expect("a file").path()) {
        // `safestack` has no end without a bound.
        if path.extension().is_none_or(|end| end != "c") || path.ends_with("safestack.c") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a text");
        if WAITS.iter().any(|word| text.contains(word)) {
            continue;
        }
        let explored = |engine: &str| {
            let mut command = check_in_workspace();
            command.arg(&path).args(["--engine", engine, "--model", "sc", "--reductions", "none", "--json", "-"]);
            let run = finish(command);
            let report: Value = serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {run}"));
            (report["verdict"].clone(), ["complete", "blocked"].map(|name| report["executions"][name].clone()))
        };
        let (graph, trace) = (explored("graph"), explored("trace"));
        if graph != trace || graph.0 != "verified" {
            failures.push(format!("{}: {graph:?} by graphs, {trace:?} by traces", path.display()));
        }
        tried += 1;
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(tried >= 20, "only {tried} programs do not wait");
}

//! Numbers of executions that are published, or that a formula gives: `benchmarks/published.csv`, row by row.
//!
//! The rows `observers` are from Aronis, Jonsson, Lång, Sagonas, *Optimal Dynamic Partial Order Reduction with Observers*
//! (TACAS 2018); `godot` from Jonsson, Lång, Sagonas, *Awaiting for Godot* (FMCAD 2022); `awamoche` from
//! Kokologiannakis, Marmanis, Vafeiadis, *Unblocking Dynamic Partial Order Reduction* (CAV 2023), whose columns TruSt and
//! TruSt with in-place revisits are here loop purity without and with awaits; `synthetic` are small programs that are well
//! known in this field, under sequential consistency.

mod common;

use common::{check_in_workspace, finish, workspace};
use serde_json::Value;
use std::fs;

/// One row.
#[derive(Debug)]
struct Row {
    table: String,
    program: String,
    macros: Vec<String>,
    algorithm: String,
    complete: u64,
    blocked: u64,
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(workspace().join("benchmarks/published.csv")).expect("the table is there");
    let rows = text.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let [table, program, macros, algorithm, complete, blocked] = fields[..] else {
            panic!("a row has six fields: {line}")
        };
        Row {
            table: table.to_owned(),
            program: program.to_owned(),
            macros: macros.split_whitespace().map(str::to_owned).collect(),
            algorithm: algorithm.to_owned(),
            complete: complete.parse().expect("the number of complete executions"),
            blocked: blocked.parse().expect("the number of blocked executions"),
        }
    });
    rows.collect()
}

fn check_row(row: &Row) -> Result<(), String> {
    let mut command = check_in_workspace();
    command.arg(format!("benchmarks/{}.c", row.program));
    command.args(row.macros.iter().flat_map(|m| ["-D", m]));
    let reductions = if row.algorithm == "optimal" { "none" } else { &row.algorithm.replace('+', ",") };
    command.args(["--engine", "trace", "--algorithm", "optimal", "--reductions", reductions, "--json", "-"]);
    if row.complete == 0 {
        // A wait for what never comes: all executions are livelocks, and they are to be counted.
        command.arg("--no-deadlocks");
    }
    let run = finish(command);
    let report: Value = serde_json::from_str(&run.out).map_err(|error| format!("no report ({error}): {run}"))?;
    let count = |name: &str| report["executions"][name].as_u64();
    let same = report["verdict"] == "verified"
        && count("complete") == Some(row.complete)
        && count("blocked") == Some(row.blocked)
        && count("redundant") == Some(0);
    if same { Ok(()) } else { Err(format!("{} {} {}", report["verdict"], report["error"], report["executions"])) }
}

/// Checks the rows of a table and reports all that differ.
fn check_table(table: &str) {
    let rows: Vec<Row> = rows().into_iter().filter(|row| row.table == table).collect();
    assert!(!rows.is_empty(), "no rows of {table}");
    let failures: Vec<String> =
        rows.iter().filter_map(|row| check_row(row).err().map(|why| format!("{row:?}: got {why}"))).collect();
    assert!(failures.is_empty(), "{table}:\n{}", failures.join("\n"));
}

#[test]
fn observers_figure_1() {
    check_table("observers Fig. 1");
}

#[test]
fn observers_table_1_optimal() {
    check_table("observers Table 1");
}

#[test]
fn godot_figure_3() {
    check_table("godot Fig. 3");
}

#[test]
fn godot_figure_2() {
    check_table("godot Fig. 2");
}

#[test]
fn godot_figure_4() {
    check_table("godot Fig. 4");
}

#[test]
fn godot_table_1() {
    check_table("godot Table I");
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
fn synthetic_programs_under_sequential_consistency() {
    check_table("synthetic SC");
}

#[test]
fn every_row_belongs_to_a_table_that_is_checked() {
    let here = include_str!("published_counts.rs");
    for row in rows() {
        assert!(here.contains(&format!("check_table({:?})", row.table)), "nobody checks {row:?}");
    }
}

//! The programs of `examples/`: each is explored to its end, or its bug is found, with the numbers of the README.

#![allow(unsafe_code)]

#[path = "../examples/programs/mod.rs"]
mod programs;
#[path = "../examples/table/rows.rs"]
mod rows;

/// What the programs are written against.
mod library {
    pub use selvedge::{cell, hint, sync, thread};
}

const README: &str = include_str!("../README.md");

#[test]
fn litmus_tests_have_the_numbers_of_executions_in_the_readme() {
    let rows = rows::litmus(|_| true);
    assert_eq!(rows::listed(README, rows::LITMUS_HEAD), rows, "`cargo run --release --example table -- --write`");
}

/// Name and verdict of a row, and all its numbers but the seconds.
fn counts(row: &str) -> (Vec<&str>, Vec<u64>) {
    let cells: Vec<&str> = row.split('|').map(str::trim).take(6).collect();
    (cells[..3].to_vec(), cells[3..].iter().map(|cell| cell.parse().expect("a number")).collect())
}

/// Whether the programs are compiled by the compiler of the README's numbers, and whether they are optimised: cargo puts those
/// that are not into directories of these names.
fn is_compiled_as_usual() -> (bool, bool) {
    let program = std::env::current_exe().expect("the program has a name");
    let version = std::process::Command::new("rustc").arg("--version").output().expect("tests are run where rustc is");
    let usual = String::from_utf8_lossy(&version.stdout).contains("rustc 1.95.");
    (usual, !program.iter().any(|part| part == "debug" || part == "plain"))
}

/// Programs that have more executions where nothing is optimised: what an exchange that fails has found is left in the frame
/// of a function that goes on.
const LEAVES: &str = "Michael-Scott queue, ";

#[test]
fn programs_have_the_verdicts_and_counts_in_the_readme() {
    let rows = rows::programs(|_| true);
    let expected: Vec<_> = rows::listed(README, rows::PROGRAMS_HEAD).into_iter().map(counts).collect();
    let found: Vec<_> = rows.iter().map(|row| counts(row)).collect();
    let (usual, optimised) = is_compiled_as_usual();
    if usual && optimised {
        assert_eq!(expected, found, "`cargo run --release --example table -- --write`");
        return;
    }
    assert_eq!(expected.len(), found.len());
    for ((name, listed), (same, found)) in expected.iter().zip(&found) {
        assert_eq!(name, same);
        let may_leave = !usual && name[1].ends_with("threads") || name[1].starts_with(LEAVES);
        assert!(listed == found || may_leave && listed < found, "{name:?}: {listed:?} {found:?}");
    }
}

#[test]
fn a_table_is_replaced_by_its_new_rows_and_nothing_else_changes() {
    let text = "before\n\n| a |\n|---|\n| 1 |\n| 2 |\n\nafter\n";
    let head = "| a |\n|---|";
    assert_eq!(rows::listed(text, head), ["| 1 |", "| 2 |"]);
    assert_eq!(rows::replaced(text, head, &["| 3 |".to_owned()]), "before\n\n| a |\n|---|\n| 3 |\n\nafter\n");
}

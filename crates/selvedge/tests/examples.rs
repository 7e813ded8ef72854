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

/// All but the seconds.
fn counts(row: &str) -> Vec<&str> {
    row.split('|').take(6).collect()
}

#[test]
fn programs_have_the_verdicts_and_counts_in_the_readme() {
    let rows = rows::programs(|_| true);
    let expected: Vec<Vec<&str>> = rows::listed(README, rows::PROGRAMS_HEAD).into_iter().map(counts).collect();
    let found: Vec<Vec<&str>> = rows.iter().map(|row| counts(row)).collect();
    assert_eq!(expected, found, "`cargo run --release --example table -- --write`");
}

#[test]
fn a_table_is_replaced_by_its_new_rows_and_nothing_else_changes() {
    let text = "before\n\n| a |\n|---|\n| 1 |\n| 2 |\n\nafter\n";
    let head = "| a |\n|---|";
    assert_eq!(rows::listed(text, head), ["| 1 |", "| 2 |"]);
    assert_eq!(rows::replaced(text, head, &["| 3 |".to_owned()]), "before\n\n| a |\n|---|\n| 3 |\n\nafter\n");
}

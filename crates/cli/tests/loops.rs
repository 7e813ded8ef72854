//! The programs under `tests/loops`: what `selvedge loops` says about each (the file with the ending `.txt` beside it, made
//! new if `SELVEDGE_BLESS` is set), and what comes out of a check by the trace engine with pure iterations cut off, with
//! and without awaits, and by the graph engine with everything that it has (its `EXPECT` lines).

mod common;

use common::{finish, workspace};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn programs() -> Vec<PathBuf> {
    let directory = workspace().join("tests/loops");
    let entries = fs::read_dir(&directory).expect("the directory is there");
    let mut programs: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    programs.retain(|path| path.extension().is_some_and(|ending| ending == "c"));
    programs.sort();
    assert!(programs.len() >= 10, "the programs are there");
    programs
}

fn selvedge(program: &std::path::Path, arguments: &[&str]) -> common::Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    let name = program.file_name().expect("a file has a name");
    command.current_dir(workspace().join("tests/loops")).arg(arguments[0]).arg(name).args(&arguments[1..]);
    finish(command)
}

#[test]
fn loops_are_described_as_expected() {
    let mut wrong = String::new();
    for program in programs() {
        let said = selvedge(&program, &["loops"]);
        said.exits_with(0);
        let expected = program.with_extension("txt");
        if std::env::var_os("SELVEDGE_BLESS").is_some() {
            fs::write(&expected, &said.out).expect("it can be written");
        }
        let expected = fs::read_to_string(&expected).unwrap_or_default();
        if said.out != expected {
            wrong += &format!("{}:\n{}expected:\n{expected}\n", program.display(), said.out);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn programs_that_spin_have_the_expected_verdicts() {
    let mut wrong = String::new();
    for program in programs() {
        let text = fs::read_to_string(&program).expect("it can be read");
        let expectations = text.lines().filter_map(|line| line.strip_prefix("// EXPECT "));
        let mut count = 0;
        for (reductions, expected) in expectations.filter_map(|line| line.split_once(": ")) {
            let engine = match reductions {
                "graph" => ["--engine", "graph", "--model", "rc11", "--reductions", "all"],
                _ => ["--engine", "trace", "--model", "sc", "--reductions", reductions],
            };
            let report = selvedge(&program, &[&["check", "--json", "-"][..], &engine].concat()).json();
            let found = match report["violations"][0]["kind"].as_str() {
                Some(kind) => format!("violation {kind}"),
                None => {
                    let executions = &report["executions"];
                    let verdict = report["verdict"].as_str().unwrap_or_default();
                    format!("{verdict} complete={} blocked={}", executions["complete"], executions["blocked"])
                }
            };
            if !found.starts_with(expected) {
                wrong += &format!("{} with {reductions}: {found}, expected: {expected}\n", program.display());
            }
            count += 1;
        }
        assert!(count >= 2, "{} has an expectation for purity and one for await", program.display());
    }
    assert!(wrong.is_empty(), "{wrong}");
}

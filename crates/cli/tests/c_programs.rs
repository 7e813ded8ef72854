//! The programs under `tests/c`: each says in its first lines how to check it and what comes out.
//!
//! | line | meaning |
//! |---|---|
//! | `RUN: check OPTIONS` | the options of `selvedge check` |
//! | `EXPECT: verified complete=6 blocked=0` | the verdict, and the counts if they are given |
//! | `EXPECT: violation deadlock` | a violation of this kind; one line for each, in any order; `a\|b` if either will do |
//! | `EXPECT: incomplete` | no violation, but not everything was explored |
//! | `EXPECT: error TEXT` | the input cannot be checked, and the message contains the text |
//! | `EXPECT: executions 4` | complete and blocked ones together |
//! | `EXPECT: message TEXT` | the message of a violation contains the text |
//! | `EXPECT: not-covered TEXT` | something that is not covered is described with the text |
//! | `EXPECT[purity]: ...` | if loop purity is on, these lines count instead of all the others (`await`: with awaits) |
//!
//! A line of the program that ends in `HERE` must be among the source places of a violation, or be named in the message
//! of an error. Every line that is marked must be there.

mod common;

use common::{Ended, check_in_workspace, finish, workspace};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// What a program says about itself.
#[derive(Debug, Default)]
struct Expected {
    options: Vec<String>,
    verdict: String,
    kinds: Vec<String>,
    complete: Option<u64>,
    blocked: Option<u64>,
    executions: Option<u64>,
    error: Option<String>,
    messages: Vec<String>,
    not_covered: Vec<String>,
    marked: Vec<u64>,
}

/// The expectations of a program under some reductions, which are names separated by commas.
fn read_expectations(text: &str, reductions: &str) -> Result<Expected, String> {
    // The most special ones that apply.
    let is_on = |name: &&str| reductions.split(',').any(|word| word == *name);
    let special = ["await", "purity"].into_iter().filter(is_on).map(|name| format!("EXPECT[{name}]: "));
    let occurs = |prefix: &String| text.lines().any(|line| line.contains(prefix));
    let prefix = special.into_iter().find(occurs).unwrap_or_else(|| "EXPECT: ".to_owned());
    let mut expected = Expected::default();
    for line in text.lines() {
        let line = line.trim_start_matches(['/', ';', ' ']);
        if let Some(command) = line.strip_prefix("RUN: ") {
            let options = command.strip_prefix("check").ok_or_else(|| format!("unknown command: {command}"))?;
            expected.options = options.split_whitespace().map(str::to_owned).collect();
        } else if let Some(what) = line.strip_prefix(&prefix) {
            let (word, rest) = what.split_once(' ').unwrap_or((what, ""));
            read_expectation(&mut expected, word, rest)?;
        }
    }
    let is_marked = |line: &str| line.ends_with("// HERE") || line.ends_with("; HERE");
    expected.marked = (1..).zip(text.lines()).filter(|(_, line)| is_marked(line)).map(|(n, _)| n).collect();
    if expected.verdict.is_empty() { Err("no EXPECT line".to_owned()) } else { Ok(expected) }
}

fn read_expectation(expected: &mut Expected, word: &str, rest: &str) -> Result<(), String> {
    match word {
        "verified" | "incomplete" => {
            expected.verdict = word.to_owned();
            for count in rest.split_whitespace() {
                let (name, number) = count.split_once('=').ok_or_else(|| format!("not a count: {count}"))?;
                let number = number.parse().map_err(|_| format!("not a number: {number}"))?;
                match name {
                    "complete" => expected.complete = Some(number),
                    "blocked" => expected.blocked = Some(number),
                    _ => return Err(format!("unknown count: {name}")),
                }
            }
        }
        "violation" => {
            expected.verdict = word.to_owned();
            expected.kinds.push(rest.to_owned());
        }
        "error" => {
            expected.verdict = word.to_owned();
            expected.error = Some(rest.to_owned());
        }
        "executions" => expected.executions = Some(rest.parse().map_err(|_| format!("not a number: {rest}"))?),
        "message" => expected.messages.push(rest.to_owned()),
        "not-covered" => expected.not_covered.push(rest.to_owned()),
        _ => return Err(format!("unknown expectation: {word}")),
    }
    Ok(())
}

/// Checks one program and says what is not as expected.
fn check_program(path: &Path) -> Result<(), String> {
    let text = text_of(path)?;
    // The counts are those of Mazurkiewicz traces, unless a program asks for something else.
    check_with(path, read_expectations(&text, "")?, "none")
}

/// Checks one program under other reductions than it asks for; only the counts may be different.
fn check_reduced(path: &Path, reductions: &str) -> Result<(), String> {
    let mut expected = read_expectations(&text_of(path)?, reductions)?;
    (expected.complete, expected.blocked, expected.executions) = (None, None, None);
    check_with(path, expected, reductions).map_err(|why| format!("with {reductions}: {why}"))
}

fn text_of(path: &Path) -> Result<String, String> {
    Ok(String::from_utf8_lossy(&fs::read(path).map_err(|e| e.to_string())?).into_owned())
}

fn check_with(path: &Path, expected: Expected, reductions: &str) -> Result<(), String> {
    let path = path.strip_prefix(workspace()).expect("the program lies in the workspace");
    let mut command = check_in_workspace();
    command.arg(path).args(&expected.options).args(["--json", "-"]);
    if !expected.options.iter().any(|option| option == "--reductions") {
        command.args(["--reductions", reductions]);
    }
    if !expected.options.iter().any(|option| option == "--engine" || option == "--model") {
        command.args(["--engine", "trace", "--model", "sc"]);
    }
    let run = finish(command);
    if !(0..=4).contains(&run.code) || run.err.contains("panicked") {
        return Err(format!("a crash: {run}"));
    }
    if expected.verdict == "error" {
        return check_error(&run, &expected, path);
    }
    let report = report(&run)?;
    check_verdict(&run, &report, &expected)?;
    check_counts(&report, &expected)?;
    check_violations(&report, &expected, path)?;
    for wanted in &expected.not_covered {
        if !strings(&report["not_covered"]).iter().any(|text| text.contains(wanted)) {
            return Err(format!("`{wanted}` is not named as not covered: {}", report["not_covered"]));
        }
    }
    Ok(())
}

fn report(run: &Ended) -> Result<Value, String> {
    serde_json::from_str(&run.out).map_err(|error| format!("no report on standard output ({error}): {run}"))
}

fn check_error(run: &Ended, expected: &Expected, path: &Path) -> Result<(), String> {
    if run.code != 3 {
        return Err(format!("an error was expected, but the exit code is {}: {}", run.code, summary(run)));
    }
    // clang's own messages are on standard error; the report has one line that sums up.
    let message = format!("{}\n{}", run.err, report(run)?["error"].as_str().unwrap_or_default());
    let wanted = expected.error.as_deref().unwrap_or_default();
    if !message.contains(wanted) {
        return Err(format!("the message does not contain `{wanted}`:\n{message}"));
    }
    for line in &expected.marked {
        let place = format!("{}:{line}", path.display());
        if !message.contains(&place) {
            return Err(format!("the message does not name {place}:\n{message}"));
        }
    }
    Ok(())
}

fn check_verdict(run: &Ended, report: &Value, expected: &Expected) -> Result<(), String> {
    let verdict = report["verdict"].as_str().unwrap_or_default();
    if verdict != expected.verdict {
        return Err(format!("expected {}, got {}", expected.verdict, summary(run)));
    }
    let code = match verdict {
        "verified" => 0,
        "violation" => 1,
        _ => 4,
    };
    if run.code == code { Ok(()) } else { Err(format!("{verdict} with exit code {}", run.code)) }
}

fn check_counts(report: &Value, expected: &Expected) -> Result<(), String> {
    let executions = &report["executions"];
    let count = |name: &str| executions[name].as_u64().unwrap_or(u64::MAX);
    let (complete, blocked) = (count("complete"), count("blocked"));
    let differs = expected.complete.is_some_and(|n| n != complete)
        || expected.blocked.is_some_and(|n| n != blocked)
        || expected.executions.is_some_and(|n| n != complete.saturating_add(blocked));
    if differs { Err(format!("executions: {executions}")) } else { Ok(()) }
}

fn check_violations(report: &Value, expected: &Expected, path: &Path) -> Result<(), String> {
    let mut found: Vec<&Value> = report["violations"].as_array().map_or(Vec::new(), |list| list.iter().collect());
    let describe = || format!("violations: {:#}", without_schedules(report));
    for line in &expected.marked {
        let is_there = |place: &Value| {
            place["line"].as_u64() == Some(*line)
                && place["file"].as_str().is_some_and(|f| Path::new(f).ends_with(path))
        };
        if !found.iter().any(|v| v["locations"].as_array().is_some_and(|places| places.iter().any(is_there))) {
            return Err(format!("line {line} is not among the places; {}", describe()));
        }
    }
    for wanted in &expected.messages {
        if !found.iter().any(|v| v["message"].as_str().is_some_and(|text| text.contains(wanted))) {
            return Err(format!("no message contains `{wanted}`; {}", describe()));
        }
    }
    for kinds in &expected.kinds {
        let fits = |v: &&Value| v["kind"].as_str().is_some_and(|kind| kinds.split('|').any(|k| k == kind));
        match found.iter().position(fits) {
            Some(at) => drop(found.remove(at)),
            None => return Err(format!("no violation `{kinds}`; {}", describe())),
        }
    }
    if found.is_empty() { Ok(()) } else { Err(format!("more violations than expected; {}", describe())) }
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array().map_or(Vec::new(), |list| list.iter().filter_map(Value::as_str).collect())
}

fn without_schedules(report: &Value) -> Value {
    let mut violations = report["violations"].clone();
    for violation in violations.as_array_mut().into_iter().flatten() {
        violation.as_object_mut().map(|fields| fields.remove("schedule"));
    }
    violations
}

fn summary(run: &Ended) -> String {
    match report(run) {
        Ok(report) => format!(
            "{} {} {}, not covered: {}, violations: {}\n{}",
            report["verdict"],
            report["error"],
            report["executions"],
            report["not_covered"],
            without_schedules(&report),
            run.err
        ),
        Err(error) => error,
    }
}

fn programs(directory: &str) -> Vec<PathBuf> {
    let directory = workspace().join("tests/c").join(directory);
    let entries = fs::read_dir(&directory).expect("the directory of programs is there");
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("the directory can be read").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "c" || e == "cpp" || e == "ll"));
    files.sort();
    files
}

/// Checks all programs of a directory and reports all that fail.
fn check_directory(directory: &str) {
    check_all(directory, check_program);
}

fn check_all(directory: &str, check: impl Fn(&Path) -> Result<(), String>) {
    let files = programs(directory);
    assert!(!files.is_empty(), "no programs in {directory}");
    let failures: Vec<String> =
        files.iter().filter_map(|file| check(file).err().map(|why| format!("{}: {why}", file.display()))).collect();
    let (failed, all) = (failures.len(), files.len());
    assert!(failures.is_empty(), "{failed} of {all} programs failed:\n\n{}\n", failures.join("\n\n"));
}

/// What the graph engine refuses: sections that nobody may interrupt, and atomic accesses of different sizes.
const ONLY_BY_TRACES: [&str; 6] = [
    "c11/mixed_sizes.c",
    "libc/atomic_section.c",
    "libc/atomic_section_assume.c",
    "traps/byte_wakes_word.c",
    "traps/cas_of_a_word_and_a_byte.c",
    "traps/section_that_writes_in_some_orders.c",
];

/// Checks one program with execution graphs under sequential consistency.
fn check_by_graphs(path: &Path) -> Result<(), String> {
    let mut expected = read_expectations(&text_of(path)?, "purity,await")?;
    let decides = |option: &String| ["--engine", "--model", "--algorithm", "--reductions"].contains(&option.as_str());
    if expected.options.iter().any(decides) {
        return Ok(());
    }
    expected.options.extend(["--engine", "graph", "--model", "sc"].map(str::to_owned));
    if ONLY_BY_TRACES.iter().any(|name| path.ends_with(name)) {
        let path = path.strip_prefix(workspace()).expect("the program lies in the workspace");
        let mut command = check_in_workspace();
        command.arg(path).args(&expected.options);
        let run = finish(command);
        let refused = run.code == 3 && run.out.contains("not supported") && run.out.contains(".c:");
        return if refused { Ok(()) } else { Err(format!("it is not refused any more: {run}")) };
    }
    // Both threads of a race are named, in either order.
    (expected.complete, expected.blocked, expected.executions) = (None, None, None);
    expected.messages.clear();
    check_with(path, expected, "all")
}

#[test]
fn execution_graphs_and_interleavings_come_to_the_same_verdicts() {
    for directory in ["errors", "pthread", "c11", "libc", "traps", "publish", "lang"] {
        check_all(directory, check_by_graphs);
    }
}

#[test]
fn violations_are_found_and_correct_programs_pass() {
    check_directory("errors");
}

#[test]
fn pthread_functions_behave_as_the_standard_says() {
    check_directory("pthread");
}

#[test]
fn c11_atomics_and_threads_behave_as_the_standard_says() {
    check_directory("c11");
}

#[test]
fn library_functions_behave_as_the_standard_says() {
    check_directory("libc");
}

#[test]
fn known_traps_of_reductions_are_avoided() {
    check_directory("traps");
}

#[test]
fn known_traps_are_avoided_whatever_reductions_are_on() {
    for loops in ["", "purity", "purity,await"] {
        for conflicts in ["", "ifaa", "observers", "ifaa,observers"] {
            let names: Vec<&str> = [loops, conflicts].into_iter().filter(|names| !names.is_empty()).collect();
            if !names.is_empty() {
                check_all("traps", |path| check_reduced(path, &names.join(",")));
            }
        }
    }
}

#[test]
fn every_known_trap_is_listed_and_every_listed_one_is_there() {
    let list = fs::read_to_string(workspace().join("tests/c/traps/README.md")).expect("the list is there");
    for file in programs("traps") {
        let name = file.file_name().expect("a file has a name").to_string_lossy().into_owned();
        assert!(list.contains(&format!("`{name}`")), "{name} is not listed");
    }
    for name in list.split('`').filter(|word| word.ends_with(".c")) {
        assert!(workspace().join("tests/c/traps").join(name).is_file(), "{name} is listed but not there");
    }
}

#[test]
fn published_memory_is_shared_and_private_memory_is_not() {
    check_directory("publish");
}

#[test]
fn language_features_are_executed() {
    check_directory("lang");
}

#[test]
fn cpp_programs_are_executed() {
    check_directory("cpp");
}

#[test]
fn bad_input_is_answered_with_a_clear_message() {
    check_directory("bad");
}

#[test]
fn every_directory_of_programs_is_checked() {
    let here = include_str!("c_programs.rs");
    for entry in fs::read_dir(workspace().join("tests/c")).expect("the programs are there") {
        let name = entry.expect("the directory can be read").file_name();
        let call = format!("check_directory({:?})", name.to_string_lossy());
        assert!(here.contains(&call), "no test runs the programs in {}", name.to_string_lossy());
    }
}

#[test]
fn expectations_that_are_misspelt_are_not_overlooked() {
    assert!(read_expectations("// RUN: check\n// EXPECT: verfied\n", "").is_err());
    assert!(read_expectations("// RUN: check\n// EXPECT: verified complet=1\n", "").is_err());
    assert!(read_expectations("int main(void) {}\n", "").is_err());
    assert!(read_expectations("// EXPECT: verified\n// EXPECT[purity]: verfied\n", "purity").is_err());
}

//! `--jobs` and `--estimate` on programs whose threads wait for several things: all that is reported is what one worker
//! reports, and estimates are near it.

mod common;

use common::{check_in_workspace, finish};
use serde_json::Value;

/// Programs of `benchmarks/` with composite awaits; under some models some of them are wrong.
const PROGRAMS: [(&str, &str); 11] = [
    ("seqlock", "W=2 R=2"),
    ("mutex-musl", "T=2"),
    ("ms-queue", "ENQ=2 DEQ=2"),
    ("ms-queue", "ENQ=3 DEQ=2"),
    ("mpmc-queue", "P=2 C=2"),
    ("mpmc-queue", "P=3 C=2"),
    ("peterson", "N=3"),
    ("szymanski", "T=2"),
    ("szymanski", "T=3"),
    ("safestack", "OPS=22"),
    ("lamport", "T=3"),
];

fn run((program, macros): (&str, &str), model: &str, more: &[&str]) -> common::Ended {
    let mut command = check_in_workspace();
    command.arg(format!("benchmarks/{program}.c"));
    command.args(macros.split(' ').chain(["SPIN"]).flat_map(|m| ["-D", m]));
    command.args(["--engine", "graph", "--model", model]).args(more);
    finish(command)
}

/// All but what it took.
fn report(program: (&str, &str), model: &str, jobs: &str) -> Value {
    let mut report = run(program, model, &["--jobs", jobs, "--json", "-"]).json();
    let fields = report.as_object_mut().expect("a report has fields");
    fields.retain(|name, _| !name.contains("seconds") && !name.contains("memory") && !name.contains("steps"));
    report
}

#[test]
fn several_workers_report_what_one_does() {
    let mut wrong = 0;
    for (n, program) in PROGRAMS.into_iter().enumerate() {
        // Nothing is ordered well enough under release/acquire for some of them.
        for model in [["sc", "tso", "rc11"][n % 3], "ra"] {
            let one = report(program, model, "1");
            wrong += u32::from(one["verdict"] == "violation");
            for jobs in ["2", "4"] {
                assert_eq!(one, report(program, model, jobs), "{program:?}, {model}, {jobs} workers");
            }
        }
    }
    assert!(wrong >= 4, "{wrong} of them are wrong");
}

/// The first number behind some text.
fn number(text: &str, behind: &str) -> f64 {
    let at = text.find(behind).unwrap_or_else(|| panic!("`{behind}` is not in {text}")) + behind.len();
    let digits = text[at..].chars().take_while(|c| c.is_ascii_digit() || *c == ',').filter(|c| *c != ',');
    digits.collect::<String>().parse().unwrap_or_else(|_| panic!("no number behind `{behind}` in {text}"))
}

#[test]
fn estimates_are_near_what_is_explored() {
    for program in PROGRAMS {
        let report = report(program, "sc", "1");
        let count = |name: &str| report["executions"][name].as_f64().expect("a number");
        let exact = count("complete") + count("blocked");
        if report["verdict"] != "verified" || exact > 1_000.0 {
            // Where there are many, it takes many walks.
            continue;
        }
        let ended = run(program, "sc", &["--estimate", "--time", "500ms"]);
        let guess = number(&ended.exits_with(4).out, "about ");
        // It is rounded to whole percents.
        let error = (number(&ended.out, "standard error ") + 0.5) / 100.0 * guess;
        assert!((guess - exact).abs() <= 5.0 * error + 0.5, "{program:?}: {exact}, not\n{}", ended.out);
    }
}

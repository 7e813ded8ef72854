//! `--jobs` on programs whose threads wait for several things: all that is reported is what one worker reports.

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

/// All but what it took.
fn report((program, macros): (&str, &str), model: &str, jobs: &str) -> Value {
    let mut command = check_in_workspace();
    command.arg(format!("benchmarks/{program}.c"));
    command.args(macros.split(' ').chain(["SPIN"]).flat_map(|m| ["-D", m]));
    command.args(["--engine", "graph", "--model", model, "--jobs", jobs, "--json", "-"]);
    let mut report = finish(command).json();
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

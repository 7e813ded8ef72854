//! The table of `cargo xtask bench trace`, `benchmarks/trace.csv`: its quick rows have the counts that it states, and they
//! have the shape of the published table (Jonsson, Lång, Sagonas, *Awaiting for Godot*, FMCAD 2022, Tables I and II).

mod common;

use common::{check_in_workspace, finish, workspace};
use serde_json::Value;
use std::fs;

/// The columns, with the reductions of each.
const COLUMNS: [(&str, &str); 6] = [
    ("baseline", "none"),
    ("plp", "purity"),
    ("await", "purity,await"),
    ("ifaa", "purity,await,ifaa"),
    ("observers", "purity,await,observers"),
    ("all", "all"),
];

/// One program of a certain size.
#[derive(Debug)]
struct Row {
    name: String,
    program: String,
    macros: Vec<String>,
    options: Vec<String>,
    quick: bool,
    bound: String,
    /// `complete+blocked` of each column, `bug`, or `-`.
    expected: Vec<String>,
}

impl Row {
    /// The complete and blocked executions of a column.
    #[track_caller]
    fn counts(&self, column: &str) -> (u64, u64) {
        let at = COLUMNS.iter().position(|(name, _)| *name == column).expect("the column is there");
        let counts = self.expected[at].split_once('+').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        counts.unwrap_or_else(|| panic!("{} does not state {column}", self.name))
    }

    fn check(&self, (column, reductions): (&str, &str)) -> String {
        let mut command = check_in_workspace();
        command.arg(format!("benchmarks/{}.c", self.program)).args(self.macros.iter().flat_map(|m| ["-D", m]));
        command.args(&self.options).args(["--engine", "trace", "--reductions", reductions, "--json", "-"]);
        match (column, self.bound.as_str()) {
            ("baseline", "") => {}
            ("baseline", bound) => _ = command.args(["--unroll", bound]),
            _ => _ = command.args(["-D", "SPIN"]),
        }
        let run = finish(command);
        let report: Value = serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {run}"));
        match report["verdict"].as_str() {
            Some("verified") => format!("{}+{}", report["executions"]["complete"], report["executions"]["blocked"]),
            Some("violation") => "bug".to_owned(),
            other => format!("{other:?} {}", report["error"]),
        }
    }
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(workspace().join("benchmarks/trace.csv")).expect("the table is there");
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let words = |field: &str| field.split_whitespace().map(str::to_owned).collect();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let [name, program, macros, options, when, bound, ref expected @ ..] = fields[..] else {
            panic!("a row has twelve fields: {line}")
        };
        assert_eq!(expected.len(), COLUMNS.len(), "{line}");
        Row {
            name: name.to_owned(),
            program: program.to_owned(),
            macros: words(macros),
            options: words(options),
            quick: when == "quick",
            bound: bound.to_owned(),
            expected: expected.iter().map(|&field| field.to_owned()).collect(),
        }
    };
    lines.map(row).collect()
}

#[track_caller]
fn row(name: &str) -> Row {
    rows().into_iter().find(|row| row.name == name).unwrap_or_else(|| panic!("there is no row {name}"))
}

/// Checks every n-th of the quick rows, so that two tests can do so at the same time.
fn check_every_second(from: usize) {
    let quick: Vec<Row> = rows().into_iter().filter(|row| row.quick).collect();
    assert!(quick.len() > 20, "the rows are there");
    let mut wrong = Vec::new();
    for row in quick.iter().skip(from).step_by(2) {
        for (n, &column) in COLUMNS.iter().enumerate() {
            let found = row.check(column);
            if row.expected[n] != found {
                wrong.push(format!("{} {}: {found}, stated is {}", row.name, column.0, row.expected[n]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn quick_rows_have_the_stated_counts() {
    check_every_second(0);
}

#[test]
fn the_other_quick_rows_have_the_stated_counts() {
    check_every_second(1);
}

#[test]
fn awaits_leave_no_blocked_execution_in_locks_and_sorting_networks() {
    let programs = ["twalock(", "ttaslock(", "sortnet(", "ticketlock(", "mcslock("];
    for row in rows().iter().filter(|row| programs.iter().any(|name| row.name.starts_with(name))) {
        assert_eq!(row.counts("await").1, 0, "{}", row.name);
        assert_eq!(row.counts("all").1, 0, "{}", row.name);
    }
    for name in ["mutex(2)", "linuxrwlocks(3)"] {
        assert!(row(name).counts("plp").1 > 0, "{name}");
        assert_eq!(row(name).counts("await").1, 0, "{name}");
    }
}

#[test]
fn a_sorting_network_has_one_execution_whatever_its_size() {
    let sizes: Vec<Row> = rows().into_iter().filter(|row| row.program == "sortnet").collect();
    assert!(sizes.len() >= 4);
    for row in sizes {
        assert_eq!(row.counts("await"), (1, 0), "{}", row.name);
        assert_eq!(row.counts("all"), (1, 0), "{}", row.name);
    }
}

/// The published implementation leaves the queue as it is.
#[test]
fn pure_iterations_of_the_queue_of_michael_and_scott_are_eliminated() {
    for name in ["ms-queue(3)", "ms-queue(4)"] {
        let (without, with) = (row(name).counts("baseline"), row(name).counts("plp"));
        assert!(7 * with.0 < without.0, "{name}: {without:?} {with:?}");
        assert!(2 * (with.0 + with.1) < without.0 + without.1, "{name}: {without:?} {with:?}");
    }
}

#[test]
fn commuting_fetch_and_adds_are_worth_an_order_of_magnitude_in_linuxrwlocks() {
    let row = row("linuxrwlocks(3)");
    let (baseline, awaits, ifaa) = (row.counts("baseline"), row.counts("await"), row.counts("ifaa"));
    assert!(9 * (ifaa.0 + ifaa.1) < awaits.0 + awaits.1, "{row:?}");
    assert!(18 * (ifaa.0 + ifaa.1) < baseline.0 + baseline.1, "{row:?}");
}

/// The threads of the harness 331 in another order, which takes a fifth of the time: `cargo xtask bench trace --full` has
/// both.
#[test]
fn the_aba_bug_of_safestack_is_found_and_its_trace_is_printed() {
    let mut command = check_in_workspace();
    command.args(["benchmarks/safestack.c", "-D", "OPS=133", "--engine", "trace", "--no-deadlocks"]);
    let dir = tempfile::TempDir::new().expect("a temporary directory");
    command.arg("--trace").arg(dir.path().join("trace.json"));
    let run = finish(command);
    run.exits_with(1).says(&["error[assertion]", "atomic_load(&cells[cell].owner) == me", "Interleaving: "]);
    run.says(&["worker#1", "worker#2", "worker#3", "exchange cells["]);
}

/// Whoever comes to the last cell spins for ever, and that is an error unless one asks not to hear of it.
#[test]
fn safestack_311_always_ends_in_a_livelock() {
    let mut command = check_in_workspace();
    command.args(["benchmarks/safestack.c", "-D", "OPS=311", "--engine", "trace", "--json", "-"]);
    let report = finish(command).json();
    assert_eq!(report["violations"][0]["kind"], "livelock", "{report}");
}

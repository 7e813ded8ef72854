//! The programs of `tests/erlang/programs`: what their first comments expect is what comes out.

use selvedge_erlang::atom::Atom;
use selvedge_erlang::entry;
use selvedge_erlang::loader::{Otp, Sources};
use selvedge_erlang::machine::{Machine, Settings};
use selvedge_erlang::system::System;
use selvedge_messages::{Delivery, Exploration, Nobody, Options, explore};
use std::cell::RefCell;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// An entry of a program, and what it should give.
#[derive(Clone, Debug)]
struct Case {
    file: PathBuf,
    entry: String,
    expect: String,
    servers: Vec<(Atom, Option<u8>)>,
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/erlang/programs")
}

/// The cases that the comments at the top of a file describe.
fn cases(file: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(file).unwrap();
    let comments: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("%% ")).collect();
    let field = |name: &str| comments.iter().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let servers = field("servers:")
        .map_or(vec![], |text| text.split(',').map(|name| entry::parse_function(name.trim()).unwrap()).collect());
    let general = field("expect:").unwrap_or_default();
    let entries = comments.iter().filter_map(|line| line.strip_prefix("entry:"));
    let cases = entries.map(|line| {
        let (entry, expect) = line.split_once("expect:").unwrap_or((line, general));
        let (entry, expect) = (entry.trim().to_owned(), expect.trim().to_owned());
        Case { file: file.to_owned(), entry, expect, servers: servers.clone() }
    });
    cases.collect()
}

fn run(case: &Case, options: &Options) -> Exploration {
    let otp = Otp::compile(&Sources { files: vec![case.file.clone()], ..Sources::default() }).unwrap();
    let module = otp.users()[0];
    let entry = entry::parse(&case.entry).unwrap();
    let settings = Settings {
        module,
        function: entry.function,
        args: entry.args,
        servers: case.servers.clone(),
        fuel: 1_000_000,
        ..Settings::default()
    };
    let machine = Machine::new(Rc::new(RefCell::new(System::new(Box::new(otp)))), settings);
    explore(machine, options, &mut Nobody)
}

/// The number that stands before a word.
fn number_before(text: &str, word: &str) -> Option<u64> {
    let before = text[..text.find(word)?].trim_end();
    before.rsplit([' ', ',', ';']).next()?.parse().ok()
}

/// What is wrong with a result.
fn complaints(case: &Case, result: &Exploration, observers: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    if let Some(unsupported) = &result.unsupported {
        return vec![format!("unsupported: {} at {}", unsupported.feature, unsupported.place)];
    }
    let expect = &case.expect;
    let shown: Vec<String> = result.violations.iter().map(|found| format!("{:?}", found.violation)).collect();
    if expect.starts_with("violation") {
        match result.violations.first() {
            None => wrong.push("no violation".to_owned()),
            Some(found) => {
                let line = expect.rsplit_once("line ").map(|(_, rest)| rest);
                let line = line.and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
                let places = &found.violation.places;
                if line.is_some() && !places.iter().any(|(place, _)| Some(place.line) == line) {
                    wrong.push(format!("not at line {line:?}: {shown:?}"));
                }
            }
        }
        return wrong;
    }
    if !shown.is_empty() {
        wrong.push(format!("violations: {shown:?}"));
    }
    if expect.starts_with("incomplete") {
        if result.bounds.is_empty() {
            wrong.push("no bound was reached".to_owned());
        }
        return wrong;
    }
    if !result.bounds.is_empty() || result.interruption.is_some() || result.blocked > 0 {
        wrong.push(format!("not complete: {result:?}"));
    }
    let without = number_before(expect, " interleavings");
    let with = number_before(expect, " with them").or_else(|| without.filter(|_| !expect.contains("with them")));
    let with = if expect.contains("with and without") { without } else { with };
    let count = if observers { with } else { without };
    if count.is_some_and(|count| count != result.complete) {
        wrong.push(format!("{} interleavings (observers: {observers})", result.complete));
    }
    wrong
}

fn check(observers: bool, delivery: Delivery, only: &dyn Fn(&Case) -> bool) {
    let mut files: Vec<PathBuf> = std::fs::read_dir(programs()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut report = String::new();
    for case in files.iter().flat_map(|file| cases(file)).filter(|case| only(case)) {
        let options = Options { observers, delivery, max_events: 500, ..Options::default() };
        let result = run(&case, &options);
        for complaint in complaints(&case, &result, observers) {
            let name = case.file.file_name().unwrap().to_string_lossy();
            let _ = writeln!(report, "{name} {}\n    expected: {}\n    {complaint}", case.entry, case.expect);
        }
    }
    assert!(report.is_empty(), "{report}");
}

/// Terms are nested and code is deep: the tests have room.
fn with_room(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(1 << 28).spawn(test).unwrap().join().unwrap();
}

#[test]
fn programs_give_what_they_expect() {
    with_room(|| check(true, Delivery::Instant, &|_| true));
}

#[test]
fn programs_give_what_they_expect_without_observers() {
    with_room(|| check(false, Delivery::Instant, &|_| true));
}

#[test]
fn programs_give_what_they_expect_if_messages_take_their_time() {
    with_room(|| check(true, Delivery::Fifo, &|_| true));
}

/// The counts that the paper on observers gives for message passing (Sec. 2 and 7, App. C), from Erlang source: program, n,
/// interleavings of `optimal` and of `observers`.
#[test]
fn published_counts_of_message_passing() {
    let rows: [(&str, u32, u64, u64); 10] = [
        ("not_selective", 6, 720, 720),
        ("not_selective", 8, 40320, 40320),
        ("selective", 2, 2, 1),
        ("selective", 6, 720, 1),
        ("selective", 8, 40320, 1),
        ("lock", 3, 30, 6),
        ("lock", 4, 336, 24),
        ("lock", 5, 5040, 120),
        ("lock", 6, 95040, 720),
        ("first_message", 5, 120, 5),
    ];
    with_room(move || {
        for (program, n, optimal, observers) in rows {
            let file = programs().join(format!("{program}.erl"));
            let servers = vec![entry::parse_function("lock/0").unwrap()];
            let case = Case { file, entry: format!("test({n})"), expect: String::new(), servers };
            for (on, count) in [(false, optimal), (true, observers)] {
                let result = run(&case, &Options { observers: on, ..Options::default() });
                assert_eq!((result.complete, result.blocked), (count, 0), "{program}({n}), observers: {on}");
                assert!(result.violations.is_empty() && result.interruption.is_none(), "{program}({n}): {result:?}");
            }
        }
    });
}

//! The documentation says what the command does: every option that it names exists, and every example file works.

mod common;

use common::Place;
use std::collections::BTreeSet;

const README: &str = include_str!("../../../README.md");
const VERIFY: &str = include_str!("../../../docs/guide/verify.md");
const SCHEMA: &str = include_str!("../../../docs/json-schema.md");

/// All `--options` in a text.
fn options(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_option =
        |word: &&str| word.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()));
    let words = text.split(|c: char| !is_part(c)).filter(is_option);
    words.map(str::to_owned).collect()
}

fn known_options() -> BTreeSet<String> {
    let place = Place::new();
    let commands = ["check", "verify", "replay", "run", "ir"];
    let helps = commands.map(|command| place.run(&[command, "--help"]).out);
    let mut known: BTreeSet<String> = helps.iter().flat_map(|help| options(help)).collect();
    known.extend(options(&place.run(&["--help"]).out));
    // Options of `cargo` and `cargo xtask` that the documents mention too.
    known.extend(
        ["--release", "--with", "--seconds", "--seed", "--instructions", "--path", "--test", "--write"]
            .map(str::to_owned),
    );
    known
}

#[test]
fn every_option_in_the_documents_exists() {
    let known = known_options();
    for text in [README, SCHEMA, VERIFY] {
        let unknown: Vec<String> = options(text).difference(&known).cloned().collect();
        assert!(unknown.is_empty(), "no such options: {unknown:?}");
    }
}

#[test]
fn every_option_of_check_is_in_the_readme() {
    let help = Place::new().run(&["check", "--help"]).out;
    let documented = options(README);
    let missing: Vec<String> =
        options(&help).into_iter().filter(|option| option != "--help" && !documented.contains(option)).collect();
    assert!(missing.is_empty(), "the README lacks {missing:?}");
}

#[test]
fn every_option_of_verify_is_in_its_guide() {
    let help = Place::new().run(&["verify", "--help"]).out;
    let documented = options(VERIFY);
    let general = ["--help", "--color", "--schedule"];
    let missing: Vec<String> =
        options(&help).into_iter().filter(|o| !general.contains(&o.as_str()) && !documented.contains(o)).collect();
    assert!(missing.is_empty(), "the guide lacks {missing:?}");
}

#[test]
fn the_examples_do_what_the_readme_says() {
    let example = |name: &str| format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"));
    let place = Place::new();
    let broken = place.run(&["check", &example("work_queue.c")]);
    broken.exits_with(1).says(&["error[deadlock]", "not_empty"]);
    place.run(&["check", &example("work_queue_fixed.c")]).exits_with(0).says(&["verified"]);
}

#[test]
fn the_report_in_the_readme_is_a_real_one() {
    let place = Place::new();
    let trace = place.path("t.json").display().to_string();
    let mut command = common::check_in_workspace();
    command.args(["examples/work_queue.c", "-D", "JOBS=1", "--trace", &trace]);
    let ended = common::finish(command);
    let report = ended.exits_with(1).out.split("Replay:").next().unwrap_or_default();
    let is_missing = |line: &&str| !line.is_empty() && !README.contains(&format!("    {line}\n"));
    let missing: Vec<&str> = report.lines().filter(is_missing).collect();
    assert!(missing.is_empty(), "the README lacks {missing:#?}");
}

#[test]
fn every_field_of_a_report_is_documented() {
    let place = Place::with("a.c", common::LOST_UPDATE);
    let report = place.run(&["check", "a.c", "--json", "-"]).exits_with(1).json();
    let mut names = BTreeSet::new();
    collect(&report, &mut names);
    let missing: Vec<&String> = names.iter().filter(|name| !SCHEMA.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/json-schema.md lacks {missing:?}");
}

fn collect(value: &serde_json::Value, names: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                names.insert(name.clone());
                collect(value, names);
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        _ => {}
    }
}

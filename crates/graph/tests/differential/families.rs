//! The graph engine and the axiomatic oracle agree on files: the classic litmus families, which are files of the oracle, and
//! programs on which the engine was wrong once.

use crate::common::{MODELS, Plan, compare};
use selvedge_oracle::axiomatic::Limits;
use selvedge_oracle::litmus::Program;
use std::path::Path;

/// Compares engine and oracle on all programs of a folder, and says how many there are.
fn agree_on(folder: &str) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut checked = 0;
    for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == "litmus")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let program: Program = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for models in MODELS {
            let plan = Plan { only: None, limits: Limits::default(), invariants: true, jobs: true, spins: false };
            let agreed = compare(&program, models, plan).expect("the files are small enough");
            agreed.unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        }
        checked += 1;
    }
    checked
}

#[test]
fn the_engine_visits_the_graphs_of_the_classic_families() {
    let checked = agree_on("../oracle/tests/weak");
    assert!(checked >= 100, "only {checked} files were found");
}

#[test]
fn the_engine_is_right_about_what_it_was_wrong_about() {
    assert!(agree_on("tests/differential/regressions") >= 3);
}

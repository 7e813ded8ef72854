//! The graph engine and the axiomatic oracle agree on the classic litmus families, which are files of the oracle.

use crate::common::{MODELS, Plan, compare};
use selvedge_oracle::axiomatic::Limits;
use selvedge_oracle::litmus::Program;
use std::path::Path;

#[test]
fn the_engine_visits_the_graphs_of_the_classic_families() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../oracle/tests/weak");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut checked = 0;
    for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == "litmus")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let program: Program = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for models in MODELS {
            let plan = Plan { only: None, limits: Limits::default(), invariants: true };
            let agreed = compare(&program, models, plan).expect("the files are small enough");
            agreed.unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        }
        checked += 1;
    }
    assert!(checked >= 100, "only {checked} files were found");
}

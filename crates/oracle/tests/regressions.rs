//! Programs on which the engine was wrong once, shrunk; in every mode.

mod common;

use selvedge_oracle::check::MODES;
use selvedge_oracle::fuzz::check;
use selvedge_oracle::{LitmusMachine, Program, enumerate};
use std::path::Path;

#[test]
fn what_was_wrong_once_stays_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions");
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let program: Program = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let found = enumerate(LitmusMachine::new(program.clone()).unwrap(), 100_000).unwrap();
        if let Err(disagreement) = check(&program, &found, MODES, &common::engine) {
            panic!("{}: {disagreement}", path.display());
        }
        checked += 1;
    }
    assert!(checked >= 22, "only {checked} programs were found");
}

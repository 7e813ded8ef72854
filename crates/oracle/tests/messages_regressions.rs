//! Programs of processes that pass messages on which the engine was wrong once, shrunk; in every mode.

mod messages_common;

use selvedge_oracle::messages::Program;
use selvedge_oracle::messages::check::MODES;
use selvedge_oracle::messages::fuzz::check_program;
use std::path::Path;

#[test]
fn what_was_wrong_once_stays_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages_regressions");
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let program: Program = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        match check_program(&program, MODES, &messages_common::engine) {
            Ok(Ok(())) => checked += 1,
            Ok(Err(disagreement)) => panic!("{}: {disagreement}", path.display()),
            Err(why) => panic!("{}: {why}", path.display()),
        }
    }
    assert!(checked >= 12, "only {checked} programs were found");
}

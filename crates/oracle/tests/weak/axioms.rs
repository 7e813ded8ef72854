//! No axiom is idle: without it, some litmus file has other results.

use crate::families::files;
use selvedge_oracle::axiomatic::enumerate::enumerate_with;
use selvedge_oracle::axiomatic::{Limits, MODELS};

#[test]
fn every_axiom_matters_to_some_file() {
    let files = files();
    for model in MODELS {
        for (left_out, axiom) in model.axioms().iter().enumerate() {
            // Reads choose among the writes that are there already: thin air does not come about in the first place.
            if axiom.name == "no thin air" {
                continue;
            }
            let others = |x: &_| model.axioms().iter().enumerate().all(|(n, axiom)| n == left_out || (axiom.holds)(x));
            let matters = files.iter().any(|file| {
                let summary = enumerate_with(&file.program, &others, Limits::default()).unwrap();
                file.observed(&summary) != file.expected[&model]
            });
            assert!(matters, "{model}: nobody misses {}", axiom.name);
        }
    }
}

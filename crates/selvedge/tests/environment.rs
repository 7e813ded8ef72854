//! Settings of the environment: this program starts itself with them.

use selvedge::model::Builder;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::Relaxed;
use std::process::Command;

#[test]
fn target() {
    let builder = Builder::new();
    let stats = builder.explore(|| {
        let _ = AtomicUsize::new(0).compare_exchange_weak(0, 1, Relaxed, Relaxed);
    });
    println!("failure: {:?}, spurious: {}", stats.failure, stats.spurious);
}

/// What the program prints with these variables, and whether it ends well.
fn with(variables: &[(&str, &str)]) -> (String, bool) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["target", "--exact", "--nocapture"]).envs(variables.iter().copied());
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (said, output.status.success())
}

#[test]
fn what_is_empty_is_not_set() {
    let numbers = [
        "LOOM_MAX_BRANCHES",
        "LOOM_MAX_PERMUTATIONS",
        "LOOM_MAX_DURATION",
        "LOOM_MAX_PREEMPTIONS",
        "LOOM_CHECKPOINT_INTERVAL",
        "LOOM_CHECKPOINT_FILE",
        "SELVEDGE_BOUND_AFTER",
        "SELVEDGE_SPURIOUS",
        "SELVEDGE_REPLAY",
    ];
    let (said, is_well) = with(&numbers.map(|name| (name, "")));
    assert!(is_well && said.contains("failure: None, spurious: 2"), "{said}");
}

#[test]
fn what_is_no_number_is_an_error() {
    let (said, is_well) = with(&[("LOOM_MAX_PERMUTATIONS", "few")]);
    assert!(!is_well && said.contains("invalid value for `LOOM_MAX_PERMUTATIONS`: few"), "{said}");
}

#[test]
fn spurious_is_0_or_1() {
    for (value, spurious) in [("0", 0), ("1", 2)] {
        let (said, is_well) = with(&[("SELVEDGE_SPURIOUS", value)]);
        assert!(is_well && said.contains(&format!("failure: None, spurious: {spurious}")), "{said}");
    }
    let (said, is_well) = with(&[("SELVEDGE_SPURIOUS", "maybe")]);
    assert!(!is_well && said.contains("invalid value for `SELVEDGE_SPURIOUS`: maybe (it is 0 or 1)"), "{said}");
}

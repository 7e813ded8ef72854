//! Random programs for the other tests.

use selvedge_oracle::Program;
use selvedge_oracle::axiomatic::Limits;
use selvedge_oracle::axiomatic::generate::{FAMILIES, Family, generate};
use selvedge_oracle::shrink::shrink;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// How large programs may be.
pub const LIMITS: Limits = Limits { graphs: 400, events: 48 };

/// Checks random programs, so many of each family. The first that fails is shrunk, and shown with what is wrong.
///
/// The environment variable `WEAK_PROGRAMS` multiplies the number, and `WEAK_SEED` is the first seed.
pub fn each_program(count: u64, check: impl FnMut(&Program) -> Result<(), String>) {
    each_program_within(count, LIMITS, check);
}

/// The same, with programs of another size.
pub fn each_program_within(count: u64, limits: Limits, mut check: impl FnMut(&Program) -> Result<(), String>) {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (times, first) = (number("WEAK_PROGRAMS", 1), number("WEAK_SEED", 0));
    for family in FAMILIES {
        for seed in first..first + count * times {
            let program = program(family, seed, limits);
            if let Err(wrong) = check(&program) {
                let small = shrink(&program, |candidate| check(candidate).is_err());
                let wrong = check(&small).err().unwrap_or(wrong);
                panic!("family {}, seed {seed}: {wrong}\n{small}", family.name);
            }
        }
    }
}

/// A random program. All tests ask for the same ones, and most of the time goes into those that are too large.
fn program(family: &Family, seed: u64, limits: Limits) -> Program {
    static MADE: Mutex<BTreeMap<(&str, u64, usize), Program>> = Mutex::new(BTreeMap::new());
    let key = (family.name, seed, limits.graphs);
    if let Some(program) = MADE.lock().unwrap().get(&key) {
        return program.clone();
    }
    let program = generate(family, seed, limits);
    MADE.lock().unwrap().insert(key, program.clone());
    program
}

/// How many instructions there are in a program that a message ends with.
pub fn fails_smaller(message: &str) -> usize {
    message.lines().filter(|line| line.starts_with("  ")).count()
}

//! Compares the trace engine with the enumerator on random programs, or on programs in files.
//!
//! Without `--seconds` it goes on until it is stopped or finds something. A program that the engine is wrong about is
//! shrunk, printed, and written to a file that can be given to this program again.
//!
//! ```text
//! fuzz [--seconds N] [--seed N] [--programs N] [--profile NAME] [--mode NAME] [--max-executions N] [--max-prefixes N]
//! fuzz [--mode NAME] FILE...
//! ```

mod command;
#[path = "../tests/common/mod.rs"]
mod common;

use command::Subject;
use selvedge_oracle::check::{Disagreement, MODES, Mode, Reduction};
use selvedge_oracle::fuzz::{FuzzReport, Plan, check, fuzz};
use selvedge_oracle::generate::{PROFILES, Profile, Size, profile};
use selvedge_oracle::{LitmusMachine, Program, enumerate, enumerate_classes};
use std::process::ExitCode;

struct Litmus;

impl Subject for Litmus {
    type Profile = Profile;
    type Size = Size;
    type Mode = Mode;
    type Program = Program;
    type Disagreement = Disagreement;
    const NAME: &'static str = "fuzz";
    const FILES: (&'static str, &'static str) = ("", ".litmus");
    const PROFILES: &'static [Profile] = PROFILES;
    const MODES: &'static [Mode] = MODES;
    const SIZES: (u64, u64) = (2_000, 20_000);

    fn profile(name: &str) -> Option<&'static Profile> {
        profile(name)
    }

    fn mode(name: &str) -> Option<&'static Mode> {
        Mode::named(name)
    }

    fn interleavings(most: u64) -> Size {
        Size::Interleavings(most)
    }

    fn prefixes(most: u64) -> Size {
        Size::Prefixes(usize::try_from(most).unwrap_or(usize::MAX))
    }

    fn fuzz(plan: &Plan) -> FuzzReport {
        fuzz(plan, &common::engine)
    }

    fn check(text: &str, modes: &[Mode]) -> Result<String, String> {
        let program: Program = text.parse().map_err(|error| format!("{error}"))?;
        let machine = || LitmusMachine::new(program.clone());
        let (found, modes) = match enumerate(machine()?, 1_000_000) {
            Ok(found) => (found, modes.to_vec()),
            Err(_) => {
                let found = enumerate_classes(machine()?, 10_000_000).map_err(|why| format!("too large: {why:?}"))?;
                (found, modes.iter().copied().filter(|mode| mode.reduction != Reduction::None).collect())
            }
        };
        check(&program, &found, &modes, &common::engine).map_err(|disagreement| disagreement.to_string())?;
        Ok(format!("{} executions, {} classes: no disagreement", found.executions, found.classes.len()))
    }
}

fn main() -> ExitCode {
    command::run::<Litmus>()
}

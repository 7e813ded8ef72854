//! Compares the engine of message passing with the enumerator on random programs, or on programs in files.
//!
//! Without `--seconds` it goes on until it is stopped or finds something. A program that the engine is wrong about is
//! shrunk, printed, and written to a file that can be given to this program again.
//!
//! ```text
//! fuzz_messages [--seconds N] [--seed N] [--programs N] [--profile NAME] [--mode NAME]
//!               [--max-executions N] [--max-prefixes N]
//! fuzz_messages [--mode NAME] FILE...
//! ```

mod command;
#[path = "../tests/messages_common/mod.rs"]
mod common;

use command::Subject;
use selvedge_oracle::messages::Program;
use selvedge_oracle::messages::check::{Disagreement, MODES, Mode, Size};
use selvedge_oracle::messages::fuzz::{FuzzReport, Plan, check_program, fuzz};
use selvedge_oracle::messages::generate::{PROFILES, Profile, profile};
use std::process::ExitCode;

struct Actors;

impl Subject for Actors {
    type Profile = Profile;
    type Size = Size;
    type Mode = Mode;
    type Program = Program;
    type Disagreement = Disagreement;
    const NAME: &'static str = "fuzz_messages";
    const FILES: (&'static str, &'static str) = ("messages-", ".actors");
    const PROFILES: &'static [Profile] = PROFILES;
    const MODES: &'static [Mode] = MODES;
    const SIZES: (u64, u64) = (1_000, 5_000);

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
        Size::Prefixes(most)
    }

    fn fuzz(plan: &Plan) -> FuzzReport {
        fuzz(plan, &common::engine)
    }

    fn check(text: &str, modes: &[Mode]) -> Result<String, String> {
        let program: Program = text.parse().map_err(|error| format!("{error}"))?;
        check_program(&program, modes, &common::engine)?.map_err(|disagreement| disagreement.to_string())?;
        Ok("no disagreement".to_owned())
    }
}

fn main() -> ExitCode {
    command::run::<Actors>()
}

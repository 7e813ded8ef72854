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

#[path = "../tests/messages_common/mod.rs"]
mod common;

use selvedge_oracle::messages::Program;
use selvedge_oracle::messages::check::{MODES, Mode, Size};
use selvedge_oracle::messages::fuzz::{Failure, Plan, check_program, fuzz};
use selvedge_oracle::messages::generate::{PROFILES, Profile, profile};
use std::process::ExitCode;
use std::time::{Duration, Instant};

struct Arguments {
    seconds: Option<u64>,
    seed: u64,
    programs: u64,
    profiles: Vec<&'static Profile>,
    sizes: Vec<Size>,
    modes: &'static [Mode],
    files: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("fuzz_messages: {message}");
            return ExitCode::from(2);
        }
    };
    // Panics of the engine are reported with the program that causes them.
    std::panic::set_hook(Box::new(|_| {}));
    let ok = if arguments.files.is_empty() { random(&arguments) } else { files(&arguments) };
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments {
        seconds: None,
        seed: 1,
        programs: u64::MAX,
        profiles: PROFILES.iter().collect(),
        sizes: vec![Size::Interleavings(1_000), Size::Prefixes(5_000)],
        modes: MODES,
        files: Vec::new(),
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text} is not a number"));
        match word.as_str() {
            "--seconds" => arguments.seconds = Some(number(value()?)?),
            "--programs" => arguments.programs = number(value()?)?,
            "--seed" => arguments.seed = number(value()?)?,
            "--max-executions" => arguments.sizes = vec![Size::Interleavings(number(value()?)?)],
            "--max-prefixes" => arguments.sizes = vec![Size::Prefixes(number(value()?)?)],
            "--profile" => {
                let name = value()?;
                arguments.profiles = vec![profile(&name).ok_or_else(|| format!("there is no profile {name}"))?];
            }
            "--mode" => {
                let name = value()?;
                let mode = Mode::named(&name).ok_or_else(|| format!("there is no mode {name}"))?;
                arguments.modes = std::slice::from_ref(mode);
            }
            option if option.starts_with('-') => return Err(format!("there is no option {option}")),
            _ => arguments.files.push(word),
        }
    }
    Ok(arguments)
}

fn random(arguments: &Arguments) -> bool {
    let started = Instant::now();
    let over = || arguments.seconds.is_some_and(|seconds| started.elapsed() >= Duration::from_secs(seconds));
    // Two rounds at least, if there is an end; and rounds of a minute, to show that something happens.
    let kinds = (arguments.profiles.len() * arguments.sizes.len()) as u64;
    let round = arguments.seconds.map_or(60_000, |seconds| (seconds * 500).min(60_000));
    let share = Duration::from_millis((round / kinds).max(100));
    let mut seed = arguments.seed;
    let mut totals = (0, 0, 0);
    while !over() {
        let mut longest = 0;
        for profile in &arguments.profiles {
            for &size in &arguments.sizes {
                let modes = arguments.modes;
                let plan = Plan { profile, seed, programs: arguments.programs, time: Some(share), size, modes };
                let report = fuzz(&plan, &common::engine);
                longest = longest.max(report.programs);
                totals = (totals.0 + report.programs, totals.1 + report.executions, totals.2 + report.classes);
                if let Some(failure) = report.failure {
                    show(&failure);
                    return false;
                }
            }
        }
        seed = seed.wrapping_add(longest);
        let (programs, executions, classes) = totals;
        println!("{programs} programs, {executions} executions, {classes} classes: no disagreement (next seed {seed})");
    }
    true
}

fn show(failure: &Failure) {
    print!("{failure}");
    let path = std::env::temp_dir().join(format!("messages-{}-{}.actors", failure.profile, failure.seed));
    match std::fs::write(&path, failure.to_string()) {
        Ok(()) => eprintln!("fuzz_messages: the program is in {}", path.display()),
        Err(error) => eprintln!("fuzz_messages: {}: {error}", path.display()),
    }
}

fn files(arguments: &Arguments) -> bool {
    arguments.files.iter().all(|file| match check_file(file, arguments.modes) {
        Ok(()) => {
            println!("{file}: no disagreement");
            true
        }
        Err(line) => {
            eprintln!("{file}: {line}");
            false
        }
    })
}

fn check_file(file: &str, modes: &[Mode]) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let program: Program = text.parse().map_err(|error| format!("{error}"))?;
    check_program(&program, modes, &common::engine)?.map_err(|disagreement| disagreement.to_string())
}

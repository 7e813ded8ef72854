//! Compares the trace engine with the enumerator on random programs, or on programs in files.
//!
//! Without `--seconds` it goes on until it is stopped or finds something. A program that the engine is wrong about is
//! shrunk, printed, and written to a file that can be given to this program again.
//!
//! ```text
//! fuzz [--seconds N] [--seed N] [--profile NAME] [--mode NAME] [--max-executions N] [--max-prefixes N]
//! fuzz [--mode NAME] FILE...
//! ```

#[path = "../tests/common/mod.rs"]
mod common;

use selvedge_oracle::check::{MODES, Mode, Reduction};
use selvedge_oracle::fuzz::{Failure, Plan, check, fuzz};
use selvedge_oracle::generate::{PROFILES, Profile, Size, profile};
use selvedge_oracle::{LitmusMachine, Program, enumerate, enumerate_classes};
use std::process::ExitCode;
use std::time::{Duration, Instant};

struct Arguments {
    seconds: Option<u64>,
    seed: u64,
    profiles: Vec<&'static Profile>,
    sizes: Vec<Size>,
    modes: &'static [Mode],
    files: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("fuzz: {message}");
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
        profiles: PROFILES.iter().collect(),
        sizes: vec![Size::Interleavings(2_000), Size::Prefixes(20_000)],
        modes: MODES,
        files: Vec::new(),
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text} is not a number"));
        match word.as_str() {
            "--seconds" => arguments.seconds = Some(number(value()?)?),
            "--seed" => arguments.seed = number(value()?)?,
            "--max-executions" => arguments.sizes = vec![Size::Interleavings(number(value()?)?)],
            "--max-prefixes" => arguments.sizes = vec![Size::Prefixes(number(value()?)? as usize)],
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
                let plan = Plan { profile, seed, programs: u64::MAX, time: Some(share), size, modes };
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
    let path = std::env::temp_dir().join(format!("{}-{}.litmus", failure.profile, failure.seed));
    match std::fs::write(&path, failure.to_string()) {
        Ok(()) => eprintln!("fuzz: the program is in {}", path.display()),
        Err(error) => eprintln!("fuzz: {}: {error}", path.display()),
    }
}

fn files(arguments: &Arguments) -> bool {
    arguments.files.iter().all(|file| match check_file(file, arguments.modes) {
        Ok(line) => {
            println!("{file}: {line}");
            true
        }
        Err(line) => {
            eprintln!("{file}: {line}");
            false
        }
    })
}

fn check_file(file: &str, modes: &[Mode]) -> Result<String, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
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

//! Compares the trace engine with the enumerator on random programs, or on programs in files.
//!
//! ```text
//! fuzz [--seconds N] [--seed N] [--profile NAME] [--mode NAME] [--max-executions N]
//! fuzz [--mode NAME] FILE...
//! ```

#[path = "../tests/common/mod.rs"]
mod common;

use selvedge_oracle::check::{MODES, Mode};
use selvedge_oracle::fuzz::{Plan, check, fuzz};
use selvedge_oracle::generate::{PROFILES, Profile, profile};
use selvedge_oracle::{LitmusMachine, Program, enumerate};
use std::process::ExitCode;
use std::time::{Duration, Instant};

struct Arguments {
    seconds: u64,
    seed: u64,
    profiles: Vec<&'static Profile>,
    max_executions: u64,
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
        seconds: 60,
        seed: 1,
        profiles: PROFILES.iter().collect(),
        max_executions: 2_000,
        modes: MODES,
        files: Vec::new(),
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text} is not a number"));
        match word.as_str() {
            "--seconds" => arguments.seconds = number(value()?)?,
            "--seed" => arguments.seed = number(value()?)?,
            "--max-executions" => arguments.max_executions = number(value()?)?,
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
    let end = Instant::now() + Duration::from_secs(arguments.seconds);
    let share = Duration::from_millis(arguments.seconds * 1000 / arguments.profiles.len() as u64 / 2)
        .max(Duration::from_millis(200));
    let mut seed = arguments.seed;
    let mut totals = (0, 0, 0);
    while Instant::now() < end {
        let mut longest = 0;
        for profile in &arguments.profiles {
            let (max_executions, modes) = (arguments.max_executions, arguments.modes);
            let plan = Plan { profile, seed, programs: u64::MAX, time: Some(share), max_executions, modes };
            let report = fuzz(&plan, &common::engine);
            longest = longest.max(report.programs);
            totals = (totals.0 + report.programs, totals.1 + report.executions, totals.2 + report.classes);
            if let Some(failure) = report.failure {
                print!("{failure}");
                return false;
            }
        }
        seed = seed.wrapping_add(longest);
    }
    let (programs, executions, classes) = totals;
    println!("{programs} programs, {executions} interleavings, {classes} classes: no disagreement");
    true
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
    let machine = LitmusMachine::new(program.clone())?;
    let found = enumerate(machine, 10_000_000).map_err(|why| format!("too large: {why:?}"))?;
    check(&program, &found, modes, &common::engine).map_err(|disagreement| disagreement.to_string())?;
    Ok(format!("{} interleavings, {} classes: no disagreement", found.executions, found.classes.len()))
}

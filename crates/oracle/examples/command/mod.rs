//! What the programs that fuzz have in common: their command line, rounds until the time is over, and files.

use selvedge_oracle::trial::{FuzzReport, Plan};
use std::fmt::Display;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What is fuzzed.
pub trait Subject {
    type Profile: 'static;
    type Size: Copy;
    type Mode: 'static;
    type Program: Display;
    type Disagreement: Display;
    /// The program's name.
    const NAME: &'static str;
    /// How the names of files with failures start, and how they end.
    const FILES: (&'static str, &'static str);
    const PROFILES: &'static [Self::Profile];
    const MODES: &'static [Self::Mode];
    /// At most so many interleavings, or classes of prefixes, unless other numbers are given.
    const SIZES: (u64, u64);
    fn profile(name: &str) -> Option<&'static Self::Profile>;
    fn mode(name: &str) -> Option<&'static Self::Mode>;
    fn interleavings(most: u64) -> Self::Size;
    fn prefixes(most: u64) -> Self::Size;
    /// Tries random programs.
    fn fuzz(plan: &Plan<Self::Profile, Self::Size, Self::Mode>) -> FuzzReport<Self::Program, Self::Disagreement>;
    /// Tries the program in a file: what was found, or what is wrong.
    fn check(text: &str, modes: &[Self::Mode]) -> Result<String, String>;
}

struct Arguments<S: Subject> {
    seconds: Option<u64>,
    seed: u64,
    programs: u64,
    profiles: Vec<&'static S::Profile>,
    sizes: Vec<S::Size>,
    modes: &'static [S::Mode],
    files: Vec<String>,
}

/// Runs the program.
pub fn run<S: Subject>() -> ExitCode {
    let arguments = match parse::<S>(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("{}: {message}", S::NAME);
            return ExitCode::from(2);
        }
    };
    // Panics of the engine are reported with the program that causes them.
    std::panic::set_hook(Box::new(|_| {}));
    let ok = if arguments.files.is_empty() { random(&arguments) } else { files(&arguments) };
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse<S: Subject>(mut words: impl Iterator<Item = String>) -> Result<Arguments<S>, String> {
    let mut arguments = Arguments {
        seconds: None,
        seed: 1,
        programs: u64::MAX,
        profiles: S::PROFILES.iter().collect(),
        sizes: vec![S::interleavings(S::SIZES.0), S::prefixes(S::SIZES.1)],
        modes: S::MODES,
        files: Vec::new(),
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text} is not a number"));
        match word.as_str() {
            "--seconds" => arguments.seconds = Some(number(value()?)?),
            "--programs" => arguments.programs = number(value()?)?,
            "--seed" => arguments.seed = number(value()?)?,
            "--max-executions" => arguments.sizes = vec![S::interleavings(number(value()?)?)],
            "--max-prefixes" => arguments.sizes = vec![S::prefixes(number(value()?)?)],
            "--profile" => {
                let name = value()?;
                arguments.profiles = vec![S::profile(&name).ok_or_else(|| format!("there is no profile {name}"))?];
            }
            "--mode" => {
                let name = value()?;
                let mode = S::mode(&name).ok_or_else(|| format!("there is no mode {name}"))?;
                arguments.modes = std::slice::from_ref(mode);
            }
            option if option.starts_with('-') => return Err(format!("there is no option {option}")),
            _ => arguments.files.push(word),
        }
    }
    Ok(arguments)
}

fn random<S: Subject>(arguments: &Arguments<S>) -> bool {
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
        for &profile in &arguments.profiles {
            for &size in &arguments.sizes {
                let (programs, modes) = (arguments.programs, arguments.modes);
                let report = S::fuzz(&Plan { profile, seed, programs, time: Some(share), size, modes });
                longest = longest.max(report.programs);
                totals = (totals.0 + report.programs, totals.1 + report.executions, totals.2 + report.classes);
                if let Some(failure) = report.failure {
                    show::<S>(&failure.to_string(), &format!("{}-{}", failure.profile, failure.seed));
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

fn show<S: Subject>(failure: &str, name: &str) {
    print!("{failure}");
    let (start, end) = S::FILES;
    let path = std::env::temp_dir().join(format!("{start}{name}{end}"));
    match std::fs::write(&path, failure) {
        Ok(()) => eprintln!("{}: the program is in {}", S::NAME, path.display()),
        Err(error) => eprintln!("{}: {}: {error}", S::NAME, path.display()),
    }
}

fn files<S: Subject>(arguments: &Arguments<S>) -> bool {
    arguments.files.iter().all(|file| {
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string());
        match text.and_then(|text| S::check(&text, arguments.modes)) {
            Ok(line) => {
                println!("{file}: {line}");
                true
            }
            Err(line) => {
                eprintln!("{file}: {line}");
                false
            }
        }
    })
}

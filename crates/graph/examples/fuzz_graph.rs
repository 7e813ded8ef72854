//! Compares the graph engine with the axiomatic oracle on random programs, or on programs in files.
//!
//! Without `--seconds` it goes on until it is stopped or finds something. A program that the engine is wrong about is
//! shrunk, printed, and written to a file that can be given to this program again.
//!
//! ```text
//! fuzz_graph [--seconds N] [--seed N] [--source NAME] [--model NAME] [--level NAME] [--graphs N] [--keep-going]
//! fuzz_graph [--model NAME] [--level NAME] FILE...
//! ```

// Some of it is for the tests only.
#[allow(dead_code)]
#[path = "../tests/differential/common/mod.rs"]
mod common;

use common::locks::SHAPES;
use common::random::{Source, check, sources};
use common::{LEVELS, MODELS, Plan, compare};
use selvedge_graph::MemoryModel;
use selvedge_oracle::Program;
use selvedge_oracle::axiomatic::{Limits, Model};
use std::process::ExitCode;
use std::time::{Duration, Instant};

struct Arguments {
    seconds: Option<u64>,
    seed: u64,
    sources: Vec<Source>,
    models: Vec<(MemoryModel, Model)>,
    level: Option<usize>,
    limits: Limits,
    keep_going: bool,
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
        sources: sources().into_iter().chain(SHAPES.iter().map(Source::Shape)).collect(),
        models: MODELS.to_vec(),
        level: None,
        limits: Limits { graphs: 2_000, ..Limits::default() },
        keep_going: false,
        files: Vec::new(),
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text} is not a number"));
        match word.as_str() {
            "--seconds" => arguments.seconds = Some(number(value()?)?),
            "--seed" => arguments.seed = number(value()?)?,
            "--graphs" => arguments.limits.graphs = number(value()?)? as usize,
            "--source" => {
                let name = value()?;
                arguments.sources.retain(|source| source.to_string().contains(&name));
                if arguments.sources.is_empty() {
                    return Err(format!("there is no source {name}"));
                }
            }
            "--model" => {
                let name = value()?;
                arguments.models.retain(|(model, _)| model.name() == name);
                if arguments.models.is_empty() {
                    return Err(format!("there is no model {name}"));
                }
            }
            "--level" => {
                let name = value()?;
                let level = LEVELS.iter().position(|(level, _)| *level == name);
                arguments.level = Some(level.ok_or_else(|| format!("there is no level {name}"))?);
            }
            "--keep-going" => arguments.keep_going = true,
            option if option.starts_with('-') => return Err(format!("there is no option {option}")),
            _ => arguments.files.push(word),
        }
    }
    Ok(arguments)
}

fn random(arguments: &Arguments) -> bool {
    let started = Instant::now();
    let over = || arguments.seconds.is_some_and(|seconds| started.elapsed() >= Duration::from_secs(seconds));
    let (mut programs, mut graphs, mut restarted, mut failures) = (0, 0, 0, 0);
    let mut said = Instant::now();
    for seed in arguments.seed.. {
        let plan = Plan {
            only: arguments.level,
            limits: arguments.limits,
            invariants: seed % 4 == 0,
            jobs: seed % 4 == 1,
            spins: false,
        };
        for &source in &arguments.sources {
            for &models in &arguments.models {
                if over() {
                    println!("{programs} programs, {graphs} graphs, {failures} failures");
                    return failures == 0;
                }
                match check(source, seed, models, plan) {
                    Ok(seen) => {
                        programs += 1;
                        graphs += seen.graphs.iter().sum::<usize>();
                        restarted += usize::from(seen.gave_up[3]);
                    }
                    Err(failure) => {
                        print!("{failure}");
                        println!("fuzz: the program is in {}", failure.keep());
                        failures += 1;
                        if !arguments.keep_going {
                            return false;
                        }
                    }
                }
            }
        }
        if said.elapsed() > Duration::from_secs(60) {
            said = Instant::now();
            println!(
                "{programs} programs, {graphs} graphs, {restarted} in which something was given up (next seed {})",
                seed + 1
            );
        }
    }
    true
}

fn files(arguments: &Arguments) -> bool {
    let check = |file: &String| -> Result<(), String> {
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
        let program: Program = text.parse().map_err(|error| format!("{error}"))?;
        for &models in &arguments.models {
            let limits = Limits { graphs: 1_000_000, ..Limits::default() };
            let plan = Plan { only: arguments.level, limits, invariants: true, jobs: true, spins: false };
            compare(&program, models, plan).ok_or("too large")??;
        }
        Ok(())
    };
    let mut ok = true;
    for file in &arguments.files {
        match check(file) {
            Ok(()) => println!("{file}: no disagreement"),
            Err(why) => {
                println!("{file}: {why}");
                ok = false;
            }
        }
    }
    ok
}

//! `bench actors`: programs that pass messages, under Selvedge and under TraceForge.
//!
//! `benchmarks/actors` is a project of its own that has the peer as a dependency. It is built here, with the network if need
//! be. The two run in turn, several times, and the quickest run of each counts: CPU seconds of one exploration.
//!
//! The command fails if the two disagree on the number of executions, if a program that has a bar is less than that many
//! times as fast as under the peer, or if memory grows with the number of executions.

use crate::{Outcome, shell};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Name, size, executions, and how many times as fast as the peer it has to be.
const PROGRAMS: [(&str, u32, u64, f64); 5] = [
    ("not_selective", 8, 40320, 3.0),
    ("lock", 7, 5040, 3.0),
    ("lock", 8, 40320, 0.0),
    ("ping_pong", 4, 2520, 0.0),
    ("selective", 8, 1, 0.0),
];

const ROUNDS: u32 = 5;

/// More than that is no flat memory.
const MOST_KIB: u64 = 16 * 1024;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Measured {
    executions: u64,
    seconds: f64,
    kib: u64,
}

/// Runs the command.
pub fn run(args: &[String]) -> Outcome {
    let programs = build()?;
    println!("| program | executions | Selvedge /s | TraceForge /s | times | Selvedge KiB | TraceForge KiB |");
    println!("|---|---|---|---|---|---|---|");
    let mut mistakes = Vec::new();
    let named = |name: &str| args.is_empty() || args.iter().any(|part| name.contains(part.as_str()));
    for (name, size, executions, bar) in PROGRAMS.into_iter().filter(|(name, ..)| named(name)) {
        let [ours, peer] = measure(&programs, name, size)?;
        let rate = |found: Measured| found.executions as f64 / found.seconds.max(1e-9);
        let times = rate(ours) / rate(peer);
        let (x, y) = (rate(ours), rate(peer));
        println!(
            "| {name}({size}) | {} | {x:.0} | {y:.0} | {times:.1} | {} | {} |",
            ours.executions, ours.kib, peer.kib
        );
        mistakes.extend(mistake(ours, peer, executions, bar).map(|why| format!("{name}({size}): {why}")));
    }
    if mistakes.is_empty() { Ok(()) } else { Err(format!("not as expected:\n{}", mistakes.join("\n"))) }
}

fn mistake(ours: Measured, peer: Measured, executions: u64, bar: f64) -> Option<String> {
    let times = peer.seconds / ours.seconds.max(1e-9);
    if ours.executions != executions || peer.executions != executions {
        return Some(format!("{} and {} executions, not {executions}", ours.executions, peer.executions));
    }
    if times < bar {
        return Some(format!("{times:.2} times as fast as the peer, not {bar}"));
    }
    (ours.kib > MOST_KIB).then(|| format!("{} KiB of memory", ours.kib))
}

/// Builds the project of the peer.
fn build() -> Result<[PathBuf; 2], String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let target = std::path::absolute(target.join("peers")).map_err(|error| error.to_string())?;
    let mut command = shell::cargo();
    command.args(["build", "--release", "--locked", "--manifest-path", "benchmarks/actors/Cargo.toml"]);
    shell::run(command.env("CARGO_TARGET_DIR", &target))?;
    Ok(["actors-selvedge", "actors-traceforge"].map(|name| target.join("release").join(name)))
}

fn measure(programs: &[PathBuf; 2], name: &str, size: u32) -> Result<[Measured; 2], String> {
    let mut best = [once(&programs[0], name, size)?, once(&programs[1], name, size)?];
    for _ in 1..ROUNDS {
        for (program, best) in programs.iter().zip(&mut best) {
            let again = once(program, name, size)?;
            if again.seconds < best.seconds {
                *best = again;
            }
        }
    }
    Ok(best)
}

fn once(program: &Path, name: &str, size: u32) -> Result<Measured, String> {
    let mut command = Command::new(program);
    command.args([name, &size.to_string()]).stderr(Stdio::null());
    let output = command.output().map_err(|error| shell::not_started(&command, &error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    parse(text.lines().last().unwrap_or_default()).ok_or_else(|| format!("`{}`: {text}", shell::shown(&command)))
}

/// Reads `EXECUTIONS SECONDS KIBIBYTES`.
fn parse(line: &str) -> Option<Measured> {
    let [executions, seconds, kib] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
    Some(Measured { executions: executions.parse().ok()?, seconds: seconds.parse().ok()?, kib: kib.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_speed_and_memory_are_looked_at() {
        let found = |line| parse(line).expect("the line is well-formed");
        let (ours, peer) = (found("6 0.1 3000"), found("6 0.4 3000"));
        assert_eq!(mistake(ours, peer, 6, 3.0), None);
        assert!(mistake(ours, peer, 6, 5.0).is_some());
        assert!(mistake(ours, peer, 7, 3.0).is_some());
        assert!(mistake(found("6 0.1 90000"), peer, 6, 3.0).is_some());
        assert_eq!(parse("6 0.1"), None);
    }
}

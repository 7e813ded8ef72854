//! `bench schedules`: programs under the first safe schedule that `selvedge verify` finds for them.
//!
//! A Markdown table with a row for each program of `examples/schedules`: how long the verifier takes to the first schedule,
//! and how many useful iterations the program makes in two seconds under it, at each level of optimisation, and without
//! it. Threads are pinned to processors, with and without a schedule, so that which ones share a processor does not depend
//! on what else the machine does. The median of three runs counts.
//!
//! With `--full`, what a schedule is good for is tried as well: two locks taken in opposite order for a minute, and a buffer
//! that underflows a hundred times.

use crate::{Outcome, shell};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

/// Name, file, macros.
const PROGRAMS: &[(&str, &str, &[&str])] = &[
    ("producer-consumer 1p 1c, 1000 slots", "producer_consumer_1p1c.c", &["SLOTS=1000"]),
    ("producer-consumer 2p 2c, 1000 slots", "producer_consumer_2p2c.c", &["SLOTS=1000"]),
    ("producer-consumer 4p 4c, 1000 slots", "producer_consumer_4p4c.c", &["SLOTS=1000"]),
    ("producer-consumer 1p 1c, 5 slots", "producer_consumer_1p1c.c", &["SLOTS=5"]),
    ("producer-consumer 2p 2c, 5 slots", "producer_consumer_2p2c.c", &["SLOTS=5"]),
    ("producer-consumer 4p 4c, 5 slots", "producer_consumer_4p4c.c", &["SLOTS=5"]),
    ("double lock, 1 ms", "double_lock.c", &["FIXED", "SLEEP=1000"]),
    ("file system", "filesystem.c", &[]),
    ("barrier ring", "barrier_ring.c", &[]),
];

/// Runs of which the median counts.
const RUNS: usize = 3;
/// How often the erroneous producer and consumer are run.
const ATTEMPTS: usize = 100;

struct Bench {
    selvedge: PathBuf,
    directory: PathBuf,
}

/// Runs the command.
pub fn run(args: &[String]) -> Outcome {
    let full = args.iter().any(|word| word == "--full");
    if let Some(option) = args.iter().find(|word| word.starts_with('-') && *word != "--full") {
        return Err(format!("there is no option {option}"));
    }
    let names: Vec<&String> = args.iter().filter(|word| !word.starts_with('-')).collect();
    let bench = Bench { selvedge: shell::build_selvedge()?, directory: PathBuf::from("target/schedules") };
    println!("Seconds to the first schedule; useful iterations in 2 s.\n");
    println!("| program | first schedule | Opt0 | Opt1 | Opt2 | unconstrained |");
    println!("|---|---:|---:|---:|---:|---:|");
    for (name, file, macros) in PROGRAMS {
        if names.is_empty() || names.iter().any(|wanted| name.contains(wanted.as_str())) {
            bench.row(name, file, macros)?;
        }
    }
    if full { bench.claims() } else { Ok(()) }
}

impl Bench {
    fn row(&self, name: &str, file: &str, macros: &[&str]) -> Outcome {
        let (schedule, seconds) = self.verify(file, macros)?;
        let mut cells = Vec::new();
        for level in ["0", "1", "2"] {
            let schedule = schedule.to_string_lossy();
            cells.push(self.median(file, macros, &["--schedule", &schedule, "--opt", level])?);
        }
        cells.push(self.median(file, macros, &["--native"])?);
        let cells: Vec<String> = cells.into_iter().map(grouped).collect();
        println!("| {name} | {seconds:.1} s | {} |", cells.join(" | "));
        Ok(())
    }

    /// The first schedule of a program, and how long it took.
    fn verify(&self, file: &str, macros: &[&str]) -> Result<(PathBuf, f64), String> {
        let directory = self.directory.join(format!("{file}-{}", macros.join("-")));
        std::fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        let mut command = self.command("verify", file, macros);
        command.args(["--ivrs", "1", "--quiet", "--output"]).arg(&directory);
        let start = Instant::now();
        let output = command.output().map_err(|error| shell::not_started(&command, &error))?;
        let schedule = directory.join("schedule-1.json");
        if schedule.is_file() {
            return Ok((schedule, start.elapsed().as_secs_f64()));
        }
        Err(format!("`{}` found no schedule: {}", shell::shown(&command), String::from_utf8_lossy(&output.stderr)))
    }

    fn median(&self, file: &str, macros: &[&str], options: &[&str]) -> Result<u64, String> {
        let mut counts = Vec::new();
        for _ in 0..RUNS {
            counts.push(useful(&self.run(file, macros, options, "2s")?)?);
        }
        counts.sort_unstable();
        Ok(counts[RUNS / 2])
    }

    fn run(&self, file: &str, macros: &[&str], options: &[&str], time: &str) -> Result<Output, String> {
        let mut command = self.command("run", file, macros);
        command.args(options).args(["--time", time]).env("SELVEDGE_PIN", "1");
        command.output().map_err(|error| shell::not_started(&command, &error))
    }

    fn command(&self, name: &str, file: &str, macros: &[&str]) -> Command {
        let mut command = Command::new(&self.selvedge);
        command.arg(name).arg(Path::new("examples/schedules").join(file));
        command.args(macros.iter().map(|name| format!("-D{name}")));
        command
    }

    /// What a schedule is good for.
    fn claims(&self) -> Outcome {
        println!();
        let (schedule, _) = self.verify("double_lock.c", &[])?;
        let schedule = schedule.to_string_lossy().into_owned();
        let scheduled = self.run("double_lock.c", &[], &["--schedule", &schedule], "60s")?;
        let text = String::from_utf8_lossy(&scheduled.stderr).into_owned();
        println!("- double lock, a minute under its first schedule: {}", text.trim());
        if is_stuck(&scheduled) {
            return Err("the double lock deadlocks under its schedule".to_owned());
        }
        let unconstrained = self.run("double_lock.c", &[], &["--native"], "10s")?;
        println!("- double lock, unconstrained: {}", String::from_utf8_lossy(&unconstrained.stderr).trim());
        let file = "producer_consumer_bug.c";
        let (schedule, _) = self.verify(file, &[])?;
        let schedule = schedule.to_string_lossy().into_owned();
        for (what, options) in
            [("under its first schedule", &["--schedule", &schedule][..]), ("unconstrained", &["--native"])]
        {
            let mut failed = 0;
            for _ in 0..ATTEMPTS {
                failed += usize::from(!self.run(file, &[], options, "100ms")?.status.success());
            }
            println!("- erroneous producer-consumer, {what}: {failed} of {ATTEMPTS} runs fail");
            if options.len() == 2 && failed > 0 {
                return Err("the erroneous producer-consumer fails under its schedule".to_owned());
            }
        }
        Ok(())
    }
}

fn is_stuck(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stderr).contains("is stuck")
}

/// The total of a report: `selvedge: useful iterations: 12 (7, 5)`.
fn useful(output: &Output) -> Result<u64, String> {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let total = text.split("useful iterations: ").nth(1).and_then(|rest| rest.split(' ').next());
    total.and_then(|total| total.parse().ok()).ok_or(format!("the program made no report: {text}"))
}

/// A number with its digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap_or("")).collect();
    groups.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_from_the_right() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1 000", "1 234 567"]);
    }
}

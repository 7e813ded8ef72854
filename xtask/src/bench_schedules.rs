//! `bench schedules`: programs under the first safe schedule that `selvedge verify` finds for them.
//!
//! A Markdown table with a row for each program of `examples/schedules`: how long the verifier takes to the first schedule,
//! and how many useful iterations the program makes in two seconds under it, at each level of optimisation, and without
//! it. Threads are pinned to processors, with and without a schedule, so that which ones share a processor does not depend
//! on what else the machine does. All columns are run in turn, and that three times: the median counts, and the last column is
//! the median of Opt2 against unconstrained *in the same round*, which a busy machine distorts less.
//!
//! With `--full`, what a schedule is good for is tried as well: two locks taken in opposite order for a minute, a buffer
//! that underflows a hundred times with and without its schedule, and a parallel grep. Words that are no options
//! select rows by their names, and of what `--full` adds `locks`, `underflow` and `grep`; `none` selects no row.

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
/// How often the parallel grep is run, with and without a schedule in turn.
const SEARCHES: usize = 5;

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
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| name.contains(wanted.as_str()));
    println!("Seconds to the first schedule; useful iterations in 2 s.\n");
    println!("| program | first schedule | Opt0 | Opt1 | Opt2 | unconstrained | Opt2 / unconstrained |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (name, file, macros) in PROGRAMS.iter().filter(|(name, ..)| wanted(name)) {
        bench.row(name, file, macros)?;
    }
    println!();
    for (name, claim) in CLAIMS.iter().filter(|(name, _)| full && wanted(name)) {
        claim(&bench).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

/// Something that is tried.
type Claim = fn(&Bench) -> Outcome;

/// What a schedule is good for, each under a name.
const CLAIMS: &[(&str, Claim)] = &[("locks", Bench::locks), ("underflow", Bench::underflow), ("grep", Bench::grep)];

impl Bench {
    fn row(&self, name: &str, file: &str, macros: &[&str]) -> Outcome {
        let (schedule, seconds) = self.verify(file, macros)?;
        let schedule = schedule.to_string_lossy();
        let under = |level| vec!["--schedule", &schedule, "--opt", level];
        let columns = [under("0"), under("1"), under("2"), vec!["--native"]];
        let mut rounds: Vec<Vec<u64>> = Vec::new();
        for _ in 0..RUNS {
            let useful_in = |options: &Vec<&str>| useful(&self.run(file, macros, options, "2s")?);
            rounds.push(columns.iter().map(useful_in).collect::<Result<_, _>>()?);
        }
        let cells: Vec<String> =
            (0..columns.len()).map(|n| grouped(median(rounds.iter().map(|round| round[n]).collect()))).collect();
        // In hundredths, to have them in order.
        let ratio = median(rounds.iter().map(|round| round[2] * 100 / round[3].max(1)).collect());
        println!("| {name} | {seconds:.1} s | {} | {}.{:02} |", cells.join(" | "), ratio / 100, ratio % 100);
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

    /// Two locks that are taken in opposite order do not deadlock under their schedule.
    fn locks(&self) -> Outcome {
        let (schedule, _) = self.verify("double_lock.c", &[])?;
        let schedule = schedule.to_string_lossy().into_owned();
        let scheduled = self.run("double_lock.c", &[], &["--schedule", &schedule], "60s")?;
        println!("- double lock, a minute under its first schedule: {}", said(&scheduled));
        if is_stuck(&scheduled) || !scheduled.status.success() {
            return Err("it deadlocks under its schedule".to_owned());
        }
        let unconstrained = self.run("double_lock.c", &[], &["--native"], "10s")?;
        println!("- double lock, ten seconds unconstrained: {}", said(&unconstrained));
        Ok(())
    }

    /// A buffer does not underflow under its schedule.
    fn underflow(&self) -> Outcome {
        let file = "producer_consumer_bug.c";
        let (schedule, _) = self.verify(file, &[])?;
        let schedule = schedule.to_string_lossy().into_owned();
        for (what, options) in
            [("under its first schedule", &["--schedule", &schedule][..]), ("unconstrained", &["--native"])]
        {
            let binary = self.build(file, options, &[])?;
            let mut failed = 0;
            for _ in 0..ATTEMPTS {
                let mut command = Command::new(&binary);
                command.env("SELVEDGE_SECONDS", "0.1").env("SELVEDGE_PIN", "1");
                let output = command.output().map_err(|error| shell::not_started(&command, &error))?;
                failed += usize::from(!output.status.success());
            }
            println!("- erroneous producer-consumer, {what}: {failed} of {ATTEMPTS} runs fail");
            if options.len() == 2 && failed > 0 {
                return Err("it fails under its schedule".to_owned());
            }
        }
        Ok(())
    }

    /// Compiles a program.
    fn build(&self, file: &str, options: &[&str], link: &[&str]) -> Result<PathBuf, String> {
        let binary = self.directory.join(format!("{file}-{}", options.len()));
        let mut command = self.command("run", file, &[]);
        command.args(options).arg("--build").arg(&binary);
        command.args(link.iter().flat_map(|file| ["--link", file]));
        shell::run(&mut command)?;
        Ok(std::path::absolute(&binary).unwrap_or(binary))
    }

    /// How long a parallel grep takes.
    fn grep(&self) -> Outcome {
        let (schedule, _) = self.verify("pfscan.c", &[])?;
        let schedule = schedule.to_string_lossy().into_owned();
        let columns =
            [("under its first schedule", vec!["--schedule", &schedule]), ("unconstrained", vec!["--native"])];
        let mut binaries = Vec::new();
        for (_, options) in &columns {
            binaries.push(self.build("pfscan.c", options, &["examples/schedules/pfscan_search.c"])?);
        }
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..SEARCHES {
            for (binary, times) in binaries.iter().zip(&mut times) {
                let mut command = Command::new(binary);
                command.env("SELVEDGE_PIN", "1");
                let start = Instant::now();
                let output = command.output().map_err(|error| shell::not_started(&command, &error))?;
                if !output.status.success() {
                    return Err(format!("it fails: {}", said(&output)));
                }
                times.push(start.elapsed().as_millis() as u64);
            }
        }
        for ((what, _), times) in columns.iter().zip(&times) {
            let (best, middle) = (times.iter().min().copied().unwrap_or(0), median(times.clone()));
            println!("- parallel grep, {what}: {middle} ms, at best {best} ms");
        }
        Ok(())
    }
}

/// What a program said at its end.
fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

fn median(mut numbers: Vec<u64>) -> u64 {
    numbers.sort_unstable();
    numbers.get(numbers.len() / 2).copied().unwrap_or(0)
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
    fn the_median_is_the_middle() {
        assert_eq!(median(vec![5, 1, 9]), 5);
    }

    #[test]
    fn numbers_are_grouped_from_the_right() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1 000", "1 234 567"]);
    }
}

//! `bench`: the programs of `benchmarks/`, with counts, time and memory.
//!
//! Seconds are those that the processor spent on the exploration, without the time that clang takes. With `--repeat N` the quickest of N runs
//! counts. Instructions per execution are counted by callgrind in two short runs of different length, so that
//! compiling and starting cancel out: they do not depend on what else the machine is doing, and are the figure to watch.
//!
//! `bench trace`, `bench graph`, `bench rust`, `bench actors`, `bench verify` and `bench schedules` are other tables: see
//! `bench_trace.rs`, `bench_graph.rs`, `bench_rust.rs`, `bench_actors.rs`, `bench_verify.rs`, `bench_schedules.rs`;
//! `bench erlang` is one more.

use crate::bench_table::{self, Run};
use crate::{
    Outcome, bench_actors, bench_erlang, bench_graph, bench_rust, bench_schedules, bench_trace, bench_verify, shell,
};
use std::path::Path;
use std::process::Command;

/// How many executions the longer of the two instrumented runs has.
const INSTRUMENTED: u64 = 2_001;

#[derive(Default)]
struct Choices {
    instructions: bool,
    repeat: u32,
    names: Vec<String>,
}

/// What a run did.
pub struct Measured {
    /// `verified`, `incomplete`, or the kind of the violation that was found.
    pub verdict: String,
    /// Complete executions.
    pub complete: u64,
    /// Blocked executions.
    pub blocked: u64,
    /// CPU seconds of the exploration.
    pub seconds: f64,
    /// Peak memory.
    pub memory_kib: u64,
}

/// Runs the command.
pub fn run(args: &[String]) -> Outcome {
    match args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some(("actors", rest)) => return bench_actors::run(rest),
        Some(("trace", rest)) => return bench_trace::run(rest),
        Some(("erlang", rest)) => return bench_erlang::run(rest),
        Some(("graph", rest)) => return bench_graph::run(rest),
        Some(("rust", rest)) => return bench_rust::run(rest),
        Some(("verify", rest)) => return bench_verify::run(rest),
        Some(("schedules", rest)) => return bench_schedules::run(rest),
        _ => {}
    }
    let choices = parse(args)?;
    let text = std::fs::read_to_string("benchmarks/bench.csv").map_err(|e| format!("benchmarks/bench.csv: {e}"))?;
    let runs = bench_table::parse(&text).map_err(|message| format!("benchmarks/bench.csv: {message}"))?;
    let wanted = |run: &&Run| choices.names.is_empty() || choices.names.iter().any(|name| run.name.contains(name));
    let selected: Vec<&Run> = runs.iter().filter(wanted).collect();
    if selected.is_empty() {
        return Err("no benchmark has such a name".to_owned());
    }
    if choices.instructions && !shell::exists("valgrind") {
        return Err("instructions are counted by valgrind; `cargo xtask setup --with valgrind` installs it".to_owned());
    }
    let selvedge = shell::build_selvedge()?;
    println!(
        "{:<26} {:>11} {:>10} {:>8} {:>9} {:>11} {:>7} {:>9} {:>9}  result",
        "program", "verdict", "complete", "blocked", "CPU s", "exec/s", "x peer", "instr/ex", "MiB"
    );
    let mut wrong = 0;
    for run in &selected {
        wrong += u32::from(!measure_and_print(&selvedge, run, &choices)?);
    }
    if wrong == 0 { Ok(()) } else { Err(format!("{wrong} of {} results are not as expected", selected.len())) }
}

fn parse(args: &[String]) -> Result<Choices, String> {
    let mut choices = Choices { repeat: 1, ..Choices::default() };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--instructions" => choices.instructions = true,
            "--repeat" => {
                let number = words.next().and_then(|word| word.parse().ok()).filter(|n| *n > 0);
                choices.repeat = number.ok_or("--repeat needs a number")?;
            }
            option if option.starts_with('-') => return Err(format!("there is no option {option}")),
            name => choices.names.push(name.to_owned()),
        }
    }
    Ok(choices)
}

/// Prints a row, and says whether it is as expected.
fn measure_and_print(selvedge: &Path, run: &Run, choices: &Choices) -> Result<bool, String> {
    let mut best = measure(selvedge, run)?;
    for _ in 1..choices.repeat {
        let again = measure(selvedge, run)?;
        if again.seconds < best.seconds {
            best = again;
        }
    }
    let executions = best.complete + best.blocked;
    let rate = executions as f64 / best.seconds.max(1e-6);
    let peer = run.peer.map_or(String::new(), |peer| format!("{:.1}", rate / peer));
    let instructions = match choices.instructions && executions > 1 {
        true => instructions(selvedge, run, executions)?.to_string(),
        false => String::new(),
    };
    let mistakes = mistakes(run, &best);
    println!(
        "{:<26} {:>11} {:>10} {:>8} {:>9.3} {:>11.0} {:>7} {:>9} {:>9.1}  {}",
        run.name,
        best.verdict,
        best.complete,
        best.blocked,
        best.seconds,
        rate,
        peer,
        instructions,
        best.memory_kib as f64 / 1024.0,
        if mistakes.is_empty() { "as expected".to_owned() } else { mistakes.join(", ") }
    );
    Ok(mistakes.is_empty())
}

fn mistakes(run: &Run, measured: &Measured) -> Vec<String> {
    let mut mistakes = Vec::new();
    if measured.verdict != run.verdict {
        mistakes.push(format!("expected {}", run.verdict));
    }
    for (what, expected, found) in
        [("complete", run.complete, measured.complete), ("blocked", run.blocked, measured.blocked)]
    {
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            mistakes.push(format!("expected {expected} {what}"));
        }
    }
    mistakes
}

fn check(selvedge: &Path, run: &Run) -> Vec<String> {
    let mut words = vec![selvedge.display().to_string(), "check".to_owned(), format!("benchmarks/{}.c", run.program)];
    words.extend(run.macros.iter().map(|definition| format!("-D{definition}")));
    words.extend(run.options.iter().cloned());
    // The counts of the list are those of the plain algorithm, unless a run says otherwise.
    if !run.options.iter().any(|option| option == "--reductions") {
        words.extend(["--reductions".to_owned(), "none".to_owned()]);
    }
    words.extend(["--engine", "trace", "--json", "-"].map(str::to_owned));
    words
}

fn measure(selvedge: &Path, run: &Run) -> Result<Measured, String> {
    let words = check(selvedge, run);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    measured(&mut command)
}

/// Runs a check that reports to standard output.
pub fn measured(command: &mut Command) -> Result<Measured, String> {
    let output = command.output().map_err(|error| shell::not_started(command, &error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let missing = || format!("{} gave no report: {}", shell::shown(command), String::from_utf8_lossy(&output.stderr));
    let number = |name: &str| field(&text, name).and_then(|value| value.parse::<f64>().ok());
    let verdict = field(&text, "verdict").ok_or_else(missing)?;
    let kind = if verdict == "violation" { field(&text, "kind").ok_or_else(missing)? } else { verdict };
    Ok(Measured {
        verdict: kind.to_owned(),
        complete: number("complete").ok_or_else(missing)? as u64,
        blocked: number("blocked").ok_or_else(missing)? as u64,
        seconds: number("cpu_seconds").or_else(|| number("seconds")).ok_or_else(missing)?,
        memory_kib: number("peak_memory_kib").unwrap_or(0.0) as u64,
    })
}

/// The first value with this name in a report. Reports are written with one field per line.
fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let start = format!("\"{name}\": ");
    let rest = text.lines().find_map(|line| line.trim_start().strip_prefix(start.as_str()))?;
    Some(rest.trim_end_matches(',').trim_matches('"'))
}

/// Instructions per execution.
fn instructions(selvedge: &Path, run: &Run, executions: u64) -> Result<u64, String> {
    let long = executions.min(INSTRUMENTED);
    let (low, high) = (instrumented(selvedge, run, 1)?, instrumented(selvedge, run, long)?);
    Ok(high.saturating_sub(low) / (long - 1))
}

fn instrumented(selvedge: &Path, run: &Run, executions: u64) -> Result<u64, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).args(check(selvedge, run));
    command.args(["--max-executions", &executions.to_string()]);
    let output = command.output().map_err(|error| shell::not_started(&command, &error))?;
    let text = String::from_utf8_lossy(&output.stderr);
    // Whoever is killed counts few instructions.
    if output.status.code().is_none() {
        return Err(format!("{} was ended by a signal:\n{text}", shell::shown(&command)));
    }
    let count = text.lines().find_map(|line| line.split("Collected : ").nth(1)).and_then(|n| n.trim().parse().ok());
    count.ok_or_else(|| format!("{} counted nothing:\n{text}", shell::shown(&command)))
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn fields_of_a_report_are_found() {
        let text =
            "{\n  \"verdict\": \"verified\",\n  \"executions\": {\n    \"complete\": 24,\n  },\n  \"seconds\": 0.5\n}";
        assert_eq!(field(text, "verdict"), Some("verified"));
        assert_eq!(field(text, "complete"), Some("24"));
        assert_eq!(field(text, "seconds"), Some("0.5"));
        assert_eq!(field(text, "kind"), None);
    }
}

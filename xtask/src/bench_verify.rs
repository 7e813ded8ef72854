//! `bench verify`: how long the verifier takes for the programs of `examples/schedules`.
//!
//! A Markdown table: seconds to the first safe schedule and what the paper has, and the answer of a complete verification
//! within a minute.

use crate::{Outcome, shell};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Name, file, macros, seconds to the first result and of a complete verification in the paper.
const PROGRAMS: &[(&str, &str, &[&str], &str, &str)] = &[
    ("producer-consumer, figure 1", "producer_consumer_bug.c", &[], "", ""),
    ("producer-consumer 1p 1c, 1000 slots", "producer_consumer_1p1c.c", &["SLOTS=1000"], "120", "> 72 h"),
    ("producer-consumer 2p 2c, 1000 slots", "producer_consumer_2p2c.c", &["SLOTS=1000"], "1427", "> 72 h"),
    ("producer-consumer 4p 4c, 1000 slots", "producer_consumer_4p4c.c", &["SLOTS=1000"], "16193", "> 72 h"),
    ("producer-consumer 1p 1c, 5 slots", "producer_consumer_1p1c.c", &["SLOTS=5"], "2", "148"),
    ("producer-consumer 2p 2c, 5 slots", "producer_consumer_2p2c.c", &["SLOTS=5"], "18", "76"),
    ("producer-consumer 4p 4c, 5 slots", "producer_consumer_4p4c.c", &["SLOTS=5"], "161", "584"),
    ("double lock", "double_lock.c", &[], "", ""),
    ("double lock, corrected", "double_lock.c", &["FIXED"], "0", "0"),
    ("erroneous synchronisation", "erroneous_sync.c", &[], "", ""),
    ("file system", "filesystem.c", &[], "0", "0"),
    ("file system, constraints", "filesystem_declared.c", &[], "", ""),
    ("file system, useful", "filesystem_useful.c", &[], "", ""),
    ("barrier ring", "barrier_ring.c", &[], "1", "254"),
    ("parallel grep", "parallel_grep.c", &[], "", ""),
];

/// Runs the command.
pub fn run(args: &[String]) -> Outcome {
    if let Some(option) = args.iter().find(|word| word.starts_with('-')) {
        return Err(format!("there is no option {option}"));
    }
    let selvedge = shell::build_selvedge()?;
    println!("Seconds, with compilation. A complete verification is given a minute.\n");
    println!("| program | first schedule | paper | complete | answer | paper |");
    println!("|---|---:|---:|---:|---|---:|");
    for (name, file, macros, first, complete) in PROGRAMS {
        if !args.is_empty() && !args.iter().any(|wanted| name.contains(wanted.as_str())) {
            continue;
        }
        let (to_first, _) = verify(&selvedge, file, macros, &["--ivrs", "1"])?;
        let (to_end, said) = verify(&selvedge, file, macros, &["--complete", "--time", "60s"])?;
        let answer = said.split(':').next().unwrap_or_default().trim().to_owned();
        println!("| {name} | {to_first:.2} | {first} | {to_end:.2} | {answer} | {complete} |");
    }
    Ok(())
}

/// How long a verification takes, and what it says.
fn verify(selvedge: &Path, file: &str, macros: &[&str], options: &[&str]) -> Result<(f64, String), String> {
    let mut command = Command::new(selvedge);
    command.arg("verify").arg(Path::new("examples/schedules").join(file)).args(["--no-files", "--quiet"]);
    command.args(macros.iter().map(|name| format!("-D{name}"))).args(options);
    let start = Instant::now();
    let output = command.output().map_err(|error| shell::not_started(&command, &error))?;
    match output.status.code() {
        Some(0 | 1 | 4) => Ok((start.elapsed().as_secs_f64(), String::from_utf8_lossy(&output.stdout).into_owned())),
        _ => Err(format!("`{}` failed: {}", shell::shown(&command), String::from_utf8_lossy(&output.stderr))),
    }
}

//! What the benchmarks of both checkers share: the command line, the clock, and what is printed.
//!
//! `NAME N` explores the program with that name and size, again and again until a third of a second has passed, and prints
//! `EXECUTIONS SECONDS KIBIBYTES`: CPU seconds of one exploration, and the largest resident size of the process.

use std::time::{Duration, Instant};

/// For explorations that are short.
const LONG_ENOUGH: Duration = Duration::from_millis(300);

/// A program that explores another one of some size, and says how many executions that has.
pub type Explore = fn(u32) -> u64;

/// Runs the command line.
pub fn main(programs: &[(&str, Explore)]) {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, size] = words.as_slice() else { panic!("needed: a name and a size") };
    let size = size.parse().expect("the size is a number");
    let explore = programs.iter().find(|(other, _)| other == name).expect("a program has that name").1;
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let mut rounds = 0;
    let executions = loop {
        let executions = explore(size);
        rounds += 1;
        if start.elapsed() > LONG_ENOUGH {
            break executions;
        }
    };
    println!("{executions} {} {}", (cpu_seconds() - cpu) / f64::from(rounds), resident());
}

/// What the processor has spent on this process so far.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The largest resident size so far, in KiB; 0 if the system does not say.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

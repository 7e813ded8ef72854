//! What the benchmarks of all checkers share: the command line, the clock, and what is printed.
//!
//! `NAME SECONDS` explores the program with that name, again and again until a third of a second has passed or the limit
//! has, and prints `VERDICT EXECUTIONS SECONDS`: CPU seconds of one exploration. `NAME SECONDS ROUNDS` explores it that many
//! times, to count instructions. `--list` prints the names.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What an exploration has shown.
pub struct Shown {
    /// How many executions were explored.
    pub executions: u64,
    /// What is wrong, in the checker's words, if something is.
    pub failure: Option<String>,
}

/// For explorations that are short.
const LONG_ENOUGH: Duration = Duration::from_millis(300);

/// A program.
pub type Body = Arc<dyn Fn() + Send + Sync>;

/// Explores a program for at most so long.
pub type Explore = fn(body: Body, limit: Duration) -> Shown;

/// Runs the command line.
pub fn main(programs: Vec<(String, Box<dyn Fn() + Send + Sync>)>, explore: Explore) {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |word: &String| -> u64 { word.parse().expect("limits and rounds are numbers") };
    let (name, limit, wanted) = match words.as_slice() {
        [list] if list == "--list" => return programs.iter().for_each(|(name, _)| println!("{name}")),
        [name, limit] => (name, limit, None),
        [name, limit, rounds] => (name, limit, Some(number(rounds))),
        _ => panic!("needed: --list, or a name and a number of seconds, and perhaps a number of rounds"),
    };
    let limit = Duration::from_secs(number(limit));
    let body = programs.into_iter().find(|(other, _)| other == name).expect("a program has that name").1;
    let body: Body = Arc::from(body);
    keep_panics_quiet();
    let start = Instant::now();
    // Tools that count instructions do not let a program ask for its own time in this way.
    let cpu = || if wanted.is_none() { cpu_seconds() } else { start.elapsed().as_secs_f64() };
    let before = cpu();
    let mut rounds = 0u32;
    let shown = loop {
        let shown = explored(&body, limit, explore);
        rounds += 1;
        let enough = match wanted {
            Some(wanted) => u64::from(rounds) >= wanted,
            None => start.elapsed() > LONG_ENOUGH.min(limit),
        };
        if enough {
            break shown;
        }
    };
    let seconds = (cpu() - before) / f64::from(rounds);
    let is_cut_off = start.elapsed() >= limit && rounds == 1;
    let verdict = match &shown.failure {
        Some(text) => kind(text),
        None if is_cut_off => "limit",
        None => "passes",
    };
    println!("{verdict} {} {seconds}", shown.executions);
}

/// What the processor has spent on this process so far.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn explored(body: &Body, limit: Duration, explore: Explore) -> Shown {
    catch_unwind(AssertUnwindSafe(|| explore(Arc::clone(body), limit)))
        .unwrap_or_else(|_| Shown { executions: 0, failure: Some("a panic that was not caught".to_owned()) })
}

/// What a failure is, in a word.
fn kind(text: &str) -> &'static str {
    let lower = text.to_lowercase();
    let kinds = [
        ("maximum number of branches", "gives-up"),
        ("assertion failed: self.threads.len() < self.max()", "gives-up"),
        ("deadlock", "deadlock"),
        ("livelock", "livelock"),
        ("causality violation", "data-race"),
        ("concurrent", "data-race"),
        ("data-race", "data-race"),
    ];
    match kinds.iter().find(|(part, _)| lower.contains(part)) {
        Some((_, kind)) => kind,
        None => {
            eprintln!("{text}");
            "failure"
        }
    }
}

static LAST: Mutex<String> = Mutex::new(String::new());

fn keep_panics_quiet() {
    std::panic::set_hook(Box::new(|info| {
        let mut last = LAST.lock().unwrap_or_else(|error| error.into_inner());
        // What comes later is of destructors, or of the checker.
        if last.is_empty() {
            *last = info.payload_as_str().unwrap_or("a panic without a message").to_owned();
        }
    }));
}

/// Runs something that panics if it finds a failure, and says with which message.
pub fn failure(run: impl FnOnce()) -> Option<String> {
    LAST.lock().unwrap_or_else(|error| error.into_inner()).clear();
    catch_unwind(AssertUnwindSafe(run)).err()?;
    Some(LAST.lock().unwrap_or_else(|error| error.into_inner()).clone())
}

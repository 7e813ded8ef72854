//! `fuzz`: random programs against an oracle.
//!
//! - `engine`: random small programs. `--engine trace` (the default) takes them through every algorithm of the trace engine
//!   and compares with the naive enumeration of all interleavings; `--engine graph` takes them through every reduction of
//!   the graph engine under every memory model and compares with the enumeration of all graphs; `--engine messages` takes
//!   processes that pass messages through that engine, with observers and without, and both kinds of delivery. Examples of
//!   the `oracle` and `graph` crates do it.
//! - `csmith`: random C programs of one thread, run by the machine and as native binaries; what they print must be equal.
//!   A program that differs is kept, with the command that generates it.
//!
//! With `--seconds N` each is done for that long. Without, it goes on until it is stopped or something is found; if none
//! of the two is named, they take turns.

use crate::{Outcome, setup, shell};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long a native binary may take; longer ones are not tried in the machine, which is slower.
const NATIVE: Duration = Duration::from_millis(500);
/// How many seconds a turn takes if there is no end.
const TURN: u64 = 300;
/// More programs of one kind than are tried in a turn.
const PROGRAMS_PER_TURN: u64 = 1_000_000;
/// How long the machine may take.
const MACHINE: Duration = Duration::from_secs(60);
/// Programs as csmith makes them, without what has no defined result.
const CSMITH: &[&str] =
    &["--no-packed-struct", "--max-funcs", "4", "--max-block-depth", "3", "--max-expr-complexity", "5"];

struct Choices {
    what: Option<String>,
    engine: Engine,
    seconds: Option<u64>,
    seed: u64,
    rest: Vec<String>,
}

/// Which engine is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Engine {
    Trace,
    Graph,
    Messages,
}

impl Engine {
    /// The package that has an example which does it, and its name.
    fn example(self) -> [&'static str; 2] {
        match self {
            Engine::Trace => ["selvedge-oracle", "fuzz"],
            Engine::Graph => ["selvedge-graph", "fuzz_graph"],
            Engine::Messages => ["selvedge-oracle", "fuzz_messages"],
        }
    }
}

/// Runs the command.
pub fn run(args: &[String]) -> Outcome {
    let choices = parse(args)?;
    match choices.what.as_deref() {
        Some("engine") => engine(&choices),
        Some("csmith") => csmith(&choices),
        Some(other) => Err(format!("there is nothing to fuzz called `{other}`: engine, csmith")),
        None if choices.seconds.is_some() => engine(&choices).and_then(|()| csmith(&choices)),
        None => in_turns(choices),
    }
}

/// Goes on for ever, with other programs in each turn.
fn in_turns(mut choices: Choices) -> Outcome {
    choices.seconds = Some(TURN);
    loop {
        choices.engine = Engine::Trace;
        engine(&choices)?;
        choices.engine = Engine::Graph;
        engine(&choices)?;
        choices.engine = Engine::Messages;
        engine(&choices)?;
        csmith(&choices)?;
        choices.seed += PROGRAMS_PER_TURN;
    }
}

fn parse(args: &[String]) -> Result<Choices, String> {
    let mut choices = Choices { what: None, engine: Engine::Trace, seconds: None, seed: 1, rest: Vec::new() };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|n| n.parse().ok()).ok_or_else(|| format!("{word} needs a number"));
        match word.as_str() {
            "--seconds" => choices.seconds = Some(number()?),
            "--seed" => choices.seed = number()?,
            "--engine" => {
                choices.engine = match words.next().map(String::as_str) {
                    Some("trace") => Engine::Trace,
                    Some("graph") => Engine::Graph,
                    Some("messages") => Engine::Messages,
                    _ => return Err("--engine needs a name: trace, graph, messages".to_owned()),
                };
                choices.what.get_or_insert_with(|| "engine".to_owned());
            }
            other if choices.what.is_none() && !other.starts_with('-') => choices.what = Some(other.to_owned()),
            other => choices.rest.push(other.to_owned()),
        }
    }
    Ok(choices)
}

fn engine(choices: &Choices) -> Outcome {
    let mut command = shell::cargo();
    let [package, example] = choices.engine.example();
    command.args(["run", "--profile", "checked", "--package", package, "--example", example, "--"]);
    if let Some(seconds) = choices.seconds {
        command.args(["--seconds", &seconds.to_string()]);
    }
    shell::run(command.args(["--seed", &choices.seed.to_string()]).args(&choices.rest))
}

fn csmith(choices: &Choices) -> Outcome {
    if let Some(word) = choices.rest.first() {
        return Err(format!("fuzz csmith does not know `{word}`"));
    }
    setup::ensure_clang()?;
    setup::ensure("csmith")?;
    let selvedge = shell::build_selvedge()?;
    let dir = std::env::temp_dir().join(format!("selvedge-csmith-{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let end = choices.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let (mut equal, mut slow, mut unsupported) = (0, 0, 0);
    let mut seed = choices.seed;
    while end.is_none_or(|end| Instant::now() < end) {
        match one_program(&selvedge, &dir, seed)? {
            Comparison::Equal => equal += 1,
            Comparison::TooSlow => slow += 1,
            Comparison::Unsupported(why) => {
                unsupported += 1;
                println!("seed {seed}: {why}");
            }
            Comparison::Different(why) => {
                return Err(format!("seed {seed}: {why}\nThe program is {}", dir.join("program.c").display()));
            }
        }
        seed += 1;
    }
    println!("{equal} programs print the same; {unsupported} are not supported, {slow} take too long");
    std::fs::remove_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))
}

enum Comparison {
    Equal,
    TooSlow,
    Unsupported(String),
    Different(String),
}

fn one_program(selvedge: &Path, dir: &Path, seed: u64) -> Result<Comparison, String> {
    let (source, binary) = (dir.join("program.c"), dir.join("program"));
    let mut generate = Command::new("csmith");
    // csmith leaves a file about the platform where it runs.
    generate.current_dir(dir).args(CSMITH).args(["--seed", &seed.to_string(), "--output"]).arg(&source);
    expect_success(&mut generate)?;
    let include = include_dir()?;
    let mut compile = Command::new("cc");
    compile
        .args(["-w", "-O1", "-fwrapv", "-fno-strict-aliasing", "-I"])
        .arg(&include)
        .arg(&source)
        .arg("-o")
        .arg(&binary);
    expect_success(&mut compile)?;
    let Some(native) = within(Command::new(&binary), NATIVE)? else { return Ok(Comparison::TooSlow) };
    let mut machine = Command::new(selvedge);
    machine.arg("run").arg(&source).arg("-I").arg(&include).args(["--", "-w", "-fwrapv", "-fno-strict-aliasing"]);
    let Some(ours) = within(machine, MACHINE)? else { return Ok(Comparison::TooSlow) };
    let (expected, found) = (String::from_utf8_lossy(&native.stdout), String::from_utf8_lossy(&ours.stdout));
    if ours.status.code() == Some(3) {
        return Ok(Comparison::Unsupported(String::from_utf8_lossy(&ours.stderr).trim().to_owned()));
    }
    if ours.status.success() && expected == found {
        return Ok(Comparison::Equal);
    }
    let complaint = String::from_utf8_lossy(&ours.stderr);
    let status = ours.status;
    Ok(Comparison::Different(format!("natively {expected:?}, in the machine {found:?} ({status})\n{complaint}")))
}

fn expect_success(command: &mut Command) -> Outcome {
    let output = command.output().map_err(|error| shell::not_started(command, &error))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{} failed:\n{}", shell::shown(command), String::from_utf8_lossy(&output.stderr)))
}

/// Where csmith's headers are: Debian puts them into a directory with the version in its name.
fn include_dir() -> Result<PathBuf, String> {
    let candidates = std::fs::read_dir("/usr/include").into_iter().flatten().flatten().map(|entry| entry.path());
    let mut candidates = candidates.chain([PathBuf::from("/usr/include")]);
    let found = candidates.find(|dir| dir.join("csmith.h").is_file());
    found.ok_or_else(|| "csmith.h was not found below /usr/include; is libcsmith-dev installed?".to_owned())
}

/// Runs a command; none if it takes too long, in which case it is ended. It must print less than a pipe holds.
fn within(mut command: Command, limit: Duration) -> Result<Option<Output>, String> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| shell::not_started(&command, &error))?;
    let end = Instant::now() + limit;
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if Instant::now() > end {
            child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait_with_output().map(Some).map_err(|error| error.to_string())
}

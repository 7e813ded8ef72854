//! Set-up, demo, tests and benchmarks of Selvedge: `cargo xtask COMMAND`.
//!
//! It uses nothing but the standard library, so that it is built in a second on a fresh machine.
//!
//! | file | command |
//! |---|---|
//! | `setup.rs` | `setup`: installs what is missing |
//! | `demo.rs` | `demo`: checks a program with a bug, and its repaired version |
//! | `test.rs` | `test`: all tests, and a summary |
//! | `ci.rs` | `ci`: format, lints, tidiness, tests, documentation |
//! | `tidy.rs` | what `ci` checks about the source itself |
//! | `bench.rs` | `bench`: the programs of `benchmarks/`, with counts, time and memory |
//! | `bench_erlang.rs` | `bench erlang`: Erlang modules |
//! | `bench_actors.rs` | `bench actors`: programs that pass messages against a peer |
//! | `bench_graph.rs` | `bench graph`: the graph engine, column by column |
//! | `bench_rust.rs` | `bench rust`: the Rust library against its peers |
//! | `bench_verify.rs` | `bench verify`: how long the verifier takes |
//! | `bench_schedules.rs` | `bench schedules`: programs under their first safe schedule |
//! | `bench_table.rs` | the list of benchmark runs |
//! | `bench_trace.rs` | `bench trace`: what each reduction is good for |
//! | `trace_table.rs` | the programs of `bench trace` |
//! | `loom_tests.rs` | the part of `published` that is loom's own tests |
//! | `published.rs` | `published`: the loom tests of published crates; part of `test` |
//! | `fuzz.rs` | `fuzz`: random programs against an oracle |
//! | `shell.rs` | running programs |

mod bench;
mod bench_actors;
mod bench_erlang;
mod bench_graph;
mod bench_rust;
mod bench_schedules;
mod bench_table;
mod bench_trace;
mod bench_verify;
mod ci;
mod demo;
mod fuzz;
mod loom_tests;
mod published;
mod setup;
mod shell;
mod test;
mod tidy;
mod trace_table;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  setup [--with NAMES]     install clang through apt if it is missing; NAMES are further packages,
                           separated by commas: csmith, clang-19, valgrind, erlang
  demo                     check a program with a bug and its repaired version
  test [ARGS]              all tests, and those of `published`; with ARGS, which go to `cargo test`, only
                           the former
  published [--limit SECONDS]
                           the loom tests of published crates and of loom itself, fetched from crates.io,
                           under the Rust library; at most so many seconds for each model
  ci                       format, lints, tidiness, tests, documentation
  tidy                     what ci checks about the source itself
  bench [--instructions] [--repeat N] [NAME...]
                           benchmarks whose name contains NAME (all if none is given): counts, time,
                           executions per second, memory, and instructions per execution (valgrind)
  bench erlang             Erlang modules: interleavings per second, start-up
  bench actors [NAME...]   programs that pass messages against TraceForge, which is fetched from crates.io
  bench graph [--full] [--limit SECONDS] [NAME...]
                           a table of the graph engine: executions of TruSt and its extensions, speed,
                           memory, and how that compares with a peer
  bench rust [--limit SECONDS] [--write] [NAME...]
                           the Rust library against loom and shuttle, which are fetched from crates.io;
                           --write puts the table into benchmarks/rust.md
  bench verify [--write] [NAME...]
                           how long the verifier takes to the first safe schedule and to the end; --write
                           puts the table into docs/guide/verify.md
  bench schedules [--full] [NAME...]
                           native programs under their first safe schedule, and without it
  bench trace [--full] [--limit SECONDS] [NAME...]
                           what each reduction of the trace engine is good for, as a table; --full also
                           runs what takes long
  fuzz [engine|csmith] [--engine trace|graph|messages] [--seconds N] [--seed N]
                           random programs: an engine against its oracle, the machine against native
                           binaries; both if neither is named";

/// The result of a command: an error has been explained in its text.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = args.split_first().map_or(("help", &[][..]), |(first, rest)| (first.as_str(), rest));
    let outcome = shell::enter_root().and_then(|()| match command {
        "setup" => setup::run(rest),
        "demo" => demo::run(rest),
        "test" => test::run(rest),
        "ci" => ci::run(rest),
        "tidy" => tidy::run(rest),
        "bench" => bench::run(rest),
        "fuzz" => fuzz::run(rest),
        "published" => published::run(rest),
        "help" | "--help" | "-h" => {
            println!("{HELP}");
            Ok(())
        }
        other => Err(format!("there is no command `{other}`\n\n{HELP}")),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Refuses arguments where a command takes none.
fn no_arguments(args: &[String]) -> Outcome {
    match args.first() {
        None => Ok(()),
        Some(first) => Err(format!("this command takes no arguments, but `{first}` was given")),
    }
}

//! The `selvedge` command.
//!
//! | file | owns |
//! |---|---|
//! | `args.rs` | the options and their help |
//! | `values.rs` | options whose values have a form of their own: durations, ranges, lists |
//! | `program.rs` | from files on disk to a machine that can be run |
//! | `assumptions.rs` | what an exploration of a given program takes for granted |
//! | `check.rs` | the `check` command |
//! | `loops.rs` | the `loops` command |
//! | `replay.rs` | the `replay` command |
//! | `run_once.rs` | the `run` command |
//! | `erlang.rs`, `erlang/` | `check` and `replay` for Erlang modules |
//! | `verify.rs`, `verify/` | the `verify` command |
//! | `enforced.rs` | the `run` command with a schedule: natively |
//! | `show.rs` | the `models` and `ir` commands |
//! | `output.rs` | where reports go: terminal, files, standard output |
//! | `progress.rs` | the progress line |
//! | `interrupt.rs` | Ctrl-C |
//! | `bug.rs` | panics, which are bugs of ours |
//! | `exit.rs` | exit codes and errors |
//!
//! There is one way out: every command returns an [`exit::Exit`] or an [`exit::Failure`], and `main` turns it into the
//! exit code.

mod args;
mod assumptions;
mod bug;
mod check;
mod enforced;
mod engine;
mod erlang;
mod estimate;
mod exit;
mod interrupt;
mod loops;
mod output;
mod program;
mod progress;
mod replay;
mod run_once;
mod show;
mod values;
mod verify;

use args::{Cli, Command};
use clap::Parser;
use exit::{Exit, Failure};
use std::process::ExitCode;

/// Programs may nest deeply, and so do the passes over them. Only the part of the stack that is used takes memory.
const STACK: usize = 1 << 28;

fn main() -> ExitCode {
    // A mistake in the command line ends here, with exit code 2.
    let cli = Cli::parse_from(std::env::args_os().map(as_clap_wants));
    cli.color.write_global();
    bug::install_hook();
    let worker = std::thread::Builder::new().name("selvedge".to_owned()).stack_size(STACK);
    let result = match worker.spawn(move || run(cli)) {
        Ok(handle) => handle.join().unwrap_or_else(|_| Err(Failure::bug())),
        Err(error) => Err(Failure::environment(format!("cannot start a thread: {error}"))),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            output::error(&failure);
            failure.exit().into()
        }
    }
}

/// Erlang's own tools write `-pa DIR`.
fn as_clap_wants(arg: std::ffi::OsString) -> std::ffi::OsString {
    if arg == "-pa" { "--pa".into() } else { arg }
}

fn run(cli: Cli) -> Result<Exit, Failure> {
    match cli.command {
        Command::Check(args) if erlang::is_meant(&args.input.inputs) => erlang::check(&args),
        Command::Check(args) => check::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Loops(args) => loops::run(&args),
        Command::Replay(args) => erlang::replay(&args).unwrap_or_else(|| replay::run(&args)),
        Command::Run(args) if args.native.is_wanted() => enforced::run(&args),
        Command::Run(args) => run_once::run(&args),
        Command::Models(args) => show::models(&args),
        Command::Ir(args) => show::ir(&args),
    }
}

//! The `run` command with a schedule: the program natively, kept to what was verified.
//!
//! The exit code is that of the program. A program that leaves its schedule is stopped with a message and exit code 4; one
//! that is ended by a signal (a failed assertion, say) counts as a violation.

use crate::args::{NativeArgs, OnLeave, RunArgs};
use crate::exit::{Exit, Failure};
use crate::{interrupt, output, program};
use selvedge_enforce::{Binary, CompileOptions, EnforceError, Level, PlanOptions, compile, plan};
use selvedge_report::verdict::Program;
use selvedge_schedule::PublishedArt;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Runs the command.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let native = &args.native;
    let art = match &native.schedule {
        Some(path) => Some(read(path)?),
        None => None,
    };
    let binary = build(args, art.as_ref())?;
    if let Some(file) = &native.build {
        let shown = file.display();
        std::fs::copy(binary.path(), file)
            .map_err(|error| Failure::environment(format!("{shown}: cannot be written: {error}")))?;
        return Ok(Exit::Program(0));
    }
    // Ctrl-C reaches the program as well; this process waits for it and then tidies up.
    let _interrupted = interrupt::flag();
    let status = start(&binary, args).map_err(|error| Failure::environment(format!("cannot run it: {error}")))?;
    Ok(ended(status))
}

/// Reads a schedule.
fn read(path: &Path) -> Result<PublishedArt, Failure> {
    let shown = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| Failure::usage(format!("{shown}: cannot be read: {error}")))?;
    selvedge_schedule::from_json(&text).map_err(|error| Failure::input(format!("{shown}: {error}")))
}

/// Compiles the program for its schedule.
fn build(args: &RunArgs, art: Option<&PublishedArt>) -> Result<Binary, Failure> {
    let program::Scheduled { module, hash, .. } = program::for_schedules(&described(args, art))?;
    let clang = selvedge_llvm::ClangOptions::default();
    let options = CompileOptions { clang, link: args.native.link.clone(), ..CompileOptions::default() };
    let Some(art) = art else {
        return compile(&module, None, &options).map_err(failure);
    };
    selvedge_schedule::belongs_to(art, &hash, &module).map_err(|error| {
        let help = "`selvedge verify` makes a schedule for the program as it is now";
        failure(EnforceError::from(error)).with_help(help)
    })?;
    let plan = plan(&module, art, plan_options(&args.native)).map_err(|error| failure(error.into()))?;
    if args.native.opt > 0 && args.native.on_leave == OnLeave::Stop && !plan.omits_synchronisation {
        output::warning("locks are kept, since the program tries one: whether that succeeds depends on the others");
    }
    compile(&module, Some((&plan, art)), &options).map_err(failure)
}

/// The program; what the command line does not say about it, the schedule does.
fn described(args: &RunArgs, art: Option<&PublishedArt>) -> Program {
    let mut described = program::described(&args.input);
    // Behind `--` are the program's own arguments.
    described.clang_flags.clear();
    if let Some(art) = art {
        let known = &art.program;
        described.clang_flags.clone_from(&known.clang_flags);
        if described.defines.is_empty() && described.include_dirs.is_empty() {
            described.defines.clone_from(&known.defines);
            described.include_dirs.clone_from(&known.include_dirs);
        }
    }
    described
}

fn plan_options(args: &NativeArgs) -> PlanOptions {
    PlanOptions {
        level: match args.opt {
            0 => Level::Opt0,
            1 => Level::Opt1,
            _ => Level::Opt2,
        },
        replicate: usize::from(args.replicate),
        continue_unconstrained: args.on_leave == OnLeave::Continue,
        every_step: false,
    }
}

fn failure(error: EnforceError) -> Failure {
    match error {
        EnforceError::Clang(error) => error.into(),
        EnforceError::Io(error) => Failure::environment(format!("cannot write a file: {error}")),
        other => Failure::input(other.to_string()),
    }
}

fn start(binary: &Binary, args: &RunArgs) -> std::io::Result<ExitStatus> {
    let mut command = Command::new(binary.path());
    command.args(&args.environment.args).args(&args.input.clang_flags);
    command.env("SELVEDGE_SEED", args.native.seed.to_string());
    if let Some((low, high)) = args.environment.nondet {
        command.env("SELVEDGE_NONDET", format!("{low}..{high}"));
    }
    if let Some(time) = args.native.time {
        command.env("SELVEDGE_SECONDS", time.as_secs_f64().to_string());
    }
    command.status()
}

fn ended(status: ExitStatus) -> Exit {
    if let Some(code) = status.code() {
        return Exit::Program(u8::try_from(code).unwrap_or(u8::MAX));
    }
    output::warning(&format!("the program did not end by itself: {status}"));
    Exit::Violation
}

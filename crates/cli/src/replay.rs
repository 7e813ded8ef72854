//! The `replay` command: a violation again, step by step.
//!
//! A schedule belongs to one program. If the program has changed since, its steps mean something else or nothing at all;
//! so the hash of what is executed must be the one in the trace.

use crate::args::ReplayArgs;
use crate::exit::{Exit, Failure};
use crate::{check, output, program};
use selvedge_machine::verdict::Found;
use selvedge_machine::{Stop, ViolationKind, schedule};
use selvedge_report::verdict::Program;
use selvedge_report::{Document, Layout, Shown, json, terminal};
use std::path::Path;

/// Runs the command.
pub fn run(args: &ReplayArgs) -> Result<Exit, Failure> {
    let (document, found) = read(args)?;
    let program = document.program;
    // What the user names is meant from where the user is.
    let dot = args.dot.as_ref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
    enter_directory(&program);
    let module = program::load(&program, Some(&document.reductions))?;
    if program::hash(&module) != program.hash {
        let inputs = program.inputs.join(", ");
        return Err(Failure::input(format!(
            "{}: this is a trace of another program: {inputs} has changed since, or was compiled by another clang",
            args.trace.display()
        ))
        .with_help("run `selvedge check` again to get a trace of the present program"));
    }
    let machine = program::machine(&module, &document.options, &document.reductions, true)?;
    let replay = schedule::replay(machine, &found.schedule).map_err(|error| Failure::input(error.to_string()))?;
    if let Some((_, Stop::Violation(v))) = &replay.stop
        && v.kind != found.violation.kind
        // A data race is between two steps; what the second thread does next is not part of it.
        && found.violation.kind != ViolationKind::DataRace
    {
        output::warning(&format!("the execution ended with another violation this time: {}: {}", v.kind, v.message));
    }
    let shown = Shown { violation: found.violation, replay: Ok(replay) };
    if let Some(path) = &dot {
        check::write_dot(path, &shown)?;
    }
    let sources = |file: &str| program::source(&program.directory, file);
    let layout = Layout { width: output::width(), full: args.full, sources: &sources };
    output::print(&terminal::violation(&shown, &document.model, &layout));
    Ok(Exit::Violation)
}

fn read(args: &ReplayArgs) -> Result<(Document, Found), Failure> {
    let name = args.trace.display();
    let bytes = std::fs::read(&args.trace).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::input(format!("{name}: not a trace: not UTF-8")))?;
    let refused = |error: selvedge_report::ReadError| Failure::input(format!("{name}: {error}"));
    let document = json::read(&text).map_err(refused)?;
    let found = document.violation(args.violation).map_err(refused)?;
    Ok((document, found))
}

/// Goes to the directory in which the program was checked, unless its files are here too: the names of files are part
/// of a program (`__FILE__`), so they have to be given as they were.
fn enter_directory(program: &Program) {
    let is_here = program.inputs.iter().all(|path| Path::new(path).exists());
    let is_there = program.inputs.iter().all(|path| Path::new(&program.directory).join(path).exists());
    if !is_here && is_there {
        // If it cannot be entered, loading will say which file is missing.
        let _ = std::env::set_current_dir(&program.directory);
    }
}

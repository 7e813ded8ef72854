//! The `verify` command: programs with unbounded loops and inputs, or the part of their schedules that is safe.
//!
//! Results come one after the other: a safe one, which permits more schedules than the one before, is written as a
//! schedule that `run` can keep a program to; a counterexample is written as a trace that `replay` can run again. Whenever
//! the verifier is stopped, the last safe result stands.

mod counterexample;
mod picture;
mod words;

use crate::args::VerifyArgs;
use crate::exit::{Exit, Failure};
use crate::progress::Line;
use crate::{interrupt, output, program};
use selvedge_impact::build::{Unsupported, build};
use selvedge_impact::iterate::{Counterexample, Verdict, Yield};
use selvedge_impact::remove_error_paths::Ivr;
use selvedge_impact::solver::Embedded;
use selvedge_impact::verifier::{Halt, Limits, Verifier};
use selvedge_ir::{LocId, Module};
use selvedge_report::style::{self, paint};
use selvedge_report::verdict::Program;
use std::path::Path;
use std::time::Instant;

/// What has been found so far.
struct Session<'a> {
    args: &'a VerifyArgs,
    program: Program,
    module: Module,
    line: Line,
    start: Instant,
    last: Option<Ivr>,
    safe: u32,
    /// The last one that was written.
    written: u32,
    wrong: Vec<String>,
}

/// Runs the command.
pub fn run(args: &VerifyArgs) -> Result<Exit, Failure> {
    let interrupt = interrupt::flag();
    let line = Line::new(args.quiet);
    line.stage("compiling");
    let mut program = program::described(&args.input);
    let (module, hash) = program::for_schedules(&program)?;
    program.hash = hash;
    line.clear();
    let automata = build(&module).map_err(|error| refused(&error, &module))?;
    let start = Instant::now();
    let deadline = args.time.map(|time| start + time);
    let limits = Limits { deadline, interrupt: Some(interrupt.clone()), nodes: None };
    let solver = Embedded::new(args.solver_time, Some(interrupt));
    let line = Line::new(args.quiet);
    let mut verifier = Verifier::new(automata, Box::new(solver), limits);
    if !args.quiet {
        output::print(&format!("{}\n", words::program(&verifier)));
    }
    let (last, safe, written, wrong) = (None, 0, 0, Vec::new());
    let mut session = Session { args, program, module, line, start, last, safe, written, wrong };
    let ended = session.iterate(&mut verifier)?;
    Ok(session.conclude(ended))
}

/// How the iterations ended.
enum Ended {
    Verdict(Verdict),
    /// As many results as were asked for.
    Enough,
    Halt(Halt),
}

impl Session<'_> {
    fn iterate(&mut self, verifier: &mut Verifier) -> Result<Ended, Failure> {
        let ended = loop {
            self.line.stage(&format!("verifying: {} nodes", verifier.art.nodes.len()));
            match verifier.next(self.last.as_ref(), self.args.complete) {
                Ok(Yield::Done(verdict)) => break Ended::Verdict(verdict),
                Ok(Yield::Unsafe(counterexample)) => self.counterexample(verifier, &counterexample)?,
                Ok(Yield::Safe(ivr)) => {
                    self.safe(verifier, ivr)?;
                    if !self.args.complete && self.safe >= self.args.ivrs {
                        break Ended::Enough;
                    }
                }
                Err(halt) => break Ended::Halt(halt),
            }
        };
        if self.written < self.safe
            && let Some(ivr) = &self.last
        {
            self.write(verifier, ivr)?;
        }
        Ok(ended)
    }

    fn safe(&mut self, verifier: &mut Verifier, ivr: Ivr) -> Result<(), Failure> {
        self.safe += 1;
        // A complete verification may have thousands of them; the last one is written in any case.
        if !self.args.complete || self.safe <= 8 || self.safe.is_power_of_two() {
            let said = words::added(verifier, &self.module, &ivr, self.last.as_ref());
            self.write(verifier, &ivr)?;
            self.written = self.safe;
            let head = format!("safe schedule {}", self.safe);
            self.say(&paint(style::GOOD, &head), &format!("{} nodes", ivr.len()), &said);
        }
        self.last = Some(ivr);
        Ok(())
    }

    /// Writes the schedule of a safe result.
    fn write(&self, verifier: &mut Verifier, ivr: &Ivr) -> Result<(), Failure> {
        if self.args.no_files {
            return Ok(());
        }
        let art = verifier.publish(ivr, &self.module, published(&self.program), self.safe);
        let art = verifier.open_turns(ivr, art);
        let path = |ending: &str| self.args.output.join(format!("schedule-{}.{ending}", self.safe));
        output::write(&path("json"), &selvedge_schedule::to_json(&art))?;
        if self.args.dot { output::write(&path("dot"), &picture::dot(&art)) } else { Ok(()) }
    }

    fn counterexample(&mut self, verifier: &Verifier, found: &Counterexample) -> Result<(), Failure> {
        let what = words::wrong(found, &self.module);
        // The same mistake by other ways is said once.
        if self.wrong.contains(&what) {
            return Ok(());
        }
        self.wrong.push(what.clone());
        let mut said = vec![what];
        said.extend(words::interleaving(verifier, &self.module, found));
        if !self.args.no_files {
            let path = self.args.output.join(format!("trace-{}.json", self.wrong.len()));
            match counterexample::trace(verifier, &self.program, &self.module, found) {
                Ok(text) => {
                    output::write(&path, &text)?;
                    said.push(format!("again: selvedge replay {}", path.display()));
                }
                Err(why) => said.push(format!("no trace for replay: {why}")),
            }
        }
        let head = format!("counterexample {}", self.wrong.len());
        self.say(&paint(style::BAD, &head), "", &said);
        Ok(())
    }

    fn say(&self, head: &str, size: &str, lines: &[String]) {
        if self.args.quiet {
            return;
        }
        let seconds = self.start.elapsed().as_secs_f64();
        let size = if size.is_empty() { String::new() } else { format!(", {size}") };
        let mut text = format!("{head} after {seconds:.2} s{size}\n");
        for line in lines {
            text.push_str(&format!("  {line}\n"));
        }
        self.line.suspend(|| output::print(&text));
    }

    /// Says what all of it comes to.
    fn conclude(&self, ended: Ended) -> Exit {
        self.line.clear();
        let (answer, exit) = match &ended {
            Ended::Verdict(Verdict::Safe) => (paint(style::GOOD, "safe"), Exit::Verified),
            Ended::Verdict(Verdict::PartiallySafe) => (paint(style::WARN, "partially safe"), Exit::Violation),
            Ended::Verdict(Verdict::Unsafe) => (paint(style::BAD, "unsafe"), Exit::Violation),
            _ if !self.wrong.is_empty() => (paint(style::WARN, "incomplete"), Exit::Violation),
            _ => (paint(style::WARN, "incomplete"), Exit::Incomplete),
        };
        let seconds = self.start.elapsed().as_secs_f64();
        let mut text = format!("{answer}: {} ({seconds:.2} s)\n", words::answer(&ended, self.safe, self.wrong.len()));
        if self.safe > 0 && !self.args.no_files && exit != Exit::Verified {
            let path = self.args.output.join(format!("schedule-{}.json", self.safe));
            let inputs = self.program.inputs.join(" ");
            text.push_str(&format!("  run it safely: selvedge run {inputs} --schedule {}\n", path.display()));
        }
        if !self.args.quiet {
            text.push_str(&format!("  {}\n", words::ASSUMPTIONS));
        }
        output::print(&text);
        exit
    }
}

/// The program as a schedule names it.
fn published(program: &Program) -> selvedge_schedule::Program {
    selvedge_schedule::Program {
        inputs: program.inputs.clone(),
        defines: program.defines.clone(),
        include_dirs: program.include_dirs.clone(),
        clang_flags: program.clang_flags.clone(),
        hash: program.hash.clone(),
    }
}

fn refused(error: &Unsupported, module: &Module) -> Failure {
    let place = place(module, error.loc);
    let message = if place.is_empty() { error.to_string() } else { format!("{place}: {error}") };
    Failure::input(message).with_help("`selvedge check` runs more of the language, with bounds on loops and inputs")
}

/// `file.c:12:3`, with the calls through which it is reached left out; empty if unknown.
fn place(module: &Module, loc: LocId) -> String {
    let loc = &module.locs[loc];
    let Some(file) = loc.file else { return String::new() };
    let name = Path::new(&module.files[file].name).display().to_string();
    if loc.line == 0 { name } else { format!("{name}:{}:{}", loc.line, loc.column) }
}

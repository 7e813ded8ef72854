//! The `verify` command: programs with unbounded loops and inputs, or the part of their schedules that is safe.
//!
//! Results come one after the other: a safe one, which permits more schedules than the one before, is written as a
//! schedule that `run` can keep a program to; a counterexample is written as a trace that `replay` can run again. Whenever
//! the verifier is stopped, the last safe result stands.

mod counterexample;
mod picture;
mod report;
mod words;

use crate::args::{SolverArg, VerifyArgs};
use crate::exit::{Exit, Failure};
use crate::progress::Line;
use crate::{interrupt, output, program};
use selvedge_impact::build::{Unsupported, build_unless};
use selvedge_impact::iterate::{Counterexample, Verdict, Yield};
use selvedge_impact::remove_error_paths::Ivr;
use selvedge_impact::solver::{Embedded, Solver, Z3};
use selvedge_impact::verifier::{Halt, Limits, Verifier};
use selvedge_ir::{LocId, Module};
use selvedge_report::style::{self, paint};
use selvedge_report::verdict::Program;
use selvedge_schedule::PublishedArt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What has been found so far.
struct Session<'a> {
    args: &'a VerifyArgs,
    program: Program,
    module: Module,
    line: Line,
    start: Instant,
    /// The time before that, and clang's part of it.
    reading: Duration,
    clang: Duration,
    last: Option<Ivr>,
    safe: u32,
    /// The last one as it is written, with its number; it is made as soon as the result is there, since the tree changes.
    kept: Option<(u32, PublishedArt)>,
    /// The time that making them took.
    publishing: Duration,
    /// The last one that was written.
    written: u32,
    /// What went wrong, in words, each once; the position of each in `iterations`.
    wrong: Vec<(String, usize)>,
    iterations: Vec<report::Iteration>,
    /// Whether standard output is for the report in JSON alone.
    silent: bool,
    /// Why no schedule of the program can be enforced, if so.
    not_enforced: Option<String>,
}

/// Runs the command.
pub fn run(args: &VerifyArgs) -> Result<Exit, Failure> {
    let interrupt = interrupt::flag();
    let silent = args.json.as_deref().is_some_and(output::is_stdout);
    let line = Line::new(args.quiet);
    line.stage("compiling");
    let begin = Instant::now();
    let mut program = program::described(&args.input);
    let program::Scheduled { module, hash, clang } = program::for_schedules(&program)?;
    program.hash = hash;
    let start = Instant::now();
    let deadline = args.time.map(|time| start + time);
    let limits = Limits { deadline, interrupt: Some(Arc::clone(&interrupt)), nodes: None };
    line.stage("building");
    let built = build_unless(&module, &|| limits.poll().is_err());
    line.clear();
    let Some(automata) = built.map_err(|error| refused(&error, &module))? else {
        let why = limits.poll().err().unwrap_or(Halt::Time);
        let means = words::answer(&Ended::Halt(why), 0, 0);
        output::warning(&format!("{means}, before the program was read"));
        return Ok(Exit::Incomplete);
    };
    let solver = solver(args, Arc::clone(&interrupt))?;
    if !args.no_files {
        let cannot = |error| Failure::usage(format!("{}: cannot be written to: {error}", args.output.display()));
        std::fs::create_dir_all(&args.output).map_err(cannot)?;
    }
    let reading = begin.elapsed();
    let line = Line::new(args.quiet);
    let mut verifier = Verifier::new(automata, solver, limits);
    let (last, kept, publishing, safe, written) = (None, None, Duration::ZERO, 0, 0);
    let (wrong, iterations) = (Vec::new(), Vec::new());
    let not_enforced = words::not_enforced(&verifier, &module);
    let mut session = Session {
        args,
        program,
        module,
        line,
        start,
        reading,
        clang,
        last,
        safe,
        kept,
        publishing,
        written,
        wrong,
        iterations,
        silent,
        not_enforced,
    };
    if !args.quiet {
        session.print(&format!("{}\n{}\n", words::program(&verifier), words::reading(reading, clang)));
        if let Some(why) = &session.not_enforced {
            session.print(&format!("its schedules cannot be enforced: {why}\n"));
        }
    }
    let ended = session.iterate(&mut verifier)?;
    session.conclude(&verifier, &ended)
}

/// The solver that was asked for.
fn solver(args: &VerifyArgs, interrupt: Arc<AtomicBool>) -> Result<Box<dyn Solver>, Failure> {
    match args.solver {
        SolverArg::Embedded => Ok(Box::new(Embedded::new(args.solver_time, Some(interrupt)))),
        SolverArg::Z3 => match Z3::start(args.solver_time, Some(interrupt)) {
            Ok(z3) => Ok(Box::new(z3)),
            Err(error) => Err(Failure::usage(format!("z3 cannot be started: {error}")).with_help(
                "--solver z3 runs the program `z3`: install it (Debian and Ubuntu: apt install z3; or from \
                 github.com/Z3Prover/z3) and put it where PATH finds it; the default, --solver embedded, needs nothing",
            )),
        },
    }
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
        if let (Ended::Verdict(_), Some(ivr)) = (&ended, verifier.remove_error_paths())
            && self.kept.as_ref().is_some_and(|(number, _)| *number < self.safe)
        {
            // Nothing was taken back since.
            self.keep(verifier, &ivr);
        }
        self.write_last()?;
        Ok(ended)
    }

    fn safe(&mut self, verifier: &mut Verifier, ivr: Ivr) -> Result<(), Failure> {
        self.safe += 1;
        let seconds = self.start.elapsed().as_secs_f64();
        let (mut adds, mut files) = (Vec::new(), Vec::new());
        // A complete verification may have thousands of them; the last one is written in any case.
        let shown = !self.args.complete || self.safe <= 8 || self.safe.is_power_of_two();
        // Most of the time is for verifying.
        if shown || self.publishing * 8 < self.start.elapsed() {
            self.keep(verifier, &ivr);
        }
        if shown {
            adds = words::added(verifier, &self.module, &ivr, self.last.as_ref());
            files = self.write()?;
            let head = format!("safe schedule {}", self.safe);
            self.say(&paint(style::GOOD, &head), &format!("{} nodes", ivr.len()), &adds);
        }
        let (number, nodes) = (self.safe, ivr.len());
        self.iterations.push(report::Iteration::Safe(report::Safe { number, seconds, nodes, adds, files }));
        self.last = Some(ivr);
        Ok(())
    }

    /// Keeps a safe result as it is written.
    fn keep(&mut self, verifier: &mut Verifier, ivr: &Ivr) {
        if self.args.no_files {
            return;
        }
        let start = Instant::now();
        let art = verifier.publish(ivr, &self.module, published(&self.program), self.safe);
        let art = verifier.open_turns(ivr, art);
        self.kept = Some((self.safe, art));
        self.publishing += start.elapsed();
    }

    /// Writes the schedule that is kept and its pictures; which files.
    fn write(&mut self) -> Result<Vec<String>, Failure> {
        let Some((number, art)) = &self.kept else { return Ok(Vec::new()) };
        let mut written = Vec::new();
        let mut write = |ending: &str, text: &str| {
            let path = self.path(&format!("schedule-{number}.{ending}"));
            written.push(path.display().to_string());
            output::write(&path, text)
        };
        write("json", &selvedge_schedule::to_json(art))?;
        if !self.args.no_pictures {
            let schedule = picture::schedule(art);
            write("svg", &picture::svg(art, &schedule))?;
            if self.args.dot {
                write("dot", &picture::dot(art, &schedule))?;
            }
        }
        self.written = *number;
        Ok(written)
    }

    /// Writes the last schedule, unless that was done.
    fn write_last(&mut self) -> Result<(), Failure> {
        let Some(number) = self.kept.as_ref().map(|(number, _)| *number).filter(|&n| n > self.written) else {
            return Ok(());
        };
        let files = self.write()?;
        for iteration in &mut self.iterations {
            if let report::Iteration::Safe(safe) = iteration
                && safe.number == number
            {
                safe.files.clone_from(&files);
            }
        }
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.args.output.join(name)
    }

    fn counterexample(&mut self, verifier: &Verifier, found: &Counterexample) -> Result<(), Failure> {
        let what = words::wrong(found, &self.module);
        // The same mistake by other ways is said once.
        if let Some(&(_, at)) = self.wrong.iter().find(|(other, _)| *other == what) {
            if let report::Iteration::Counterexample(first) = &mut self.iterations[at] {
                first.further += 1;
            }
            return Ok(());
        }
        self.wrong.push((what.clone(), self.iterations.len()));
        let (number, seconds) = (self.wrong.len(), self.start.elapsed().as_secs_f64());
        let mut entry = report::wrong(verifier, &self.module, found, number, seconds);
        let mut said = vec![what];
        said.extend(words::interleaving(verifier, &self.module, found));
        said.extend(entry.waits.iter().cloned());
        if entry.assumption {
            said.push(words::DECLARED.to_owned());
        }
        if !self.args.no_files {
            let path = self.path(&format!("trace-{number}.json"));
            match counterexample::trace(verifier, &self.program, &self.module, found) {
                Ok(text) => {
                    output::write(&path, &text)?;
                    said.push(format!("again: selvedge replay {}", path.display()));
                    entry.files.push(path.display().to_string());
                }
                Err(why) => {
                    said.push(format!("no trace for replay: {why}"));
                    entry.no_trace = Some(why);
                }
            }
        }
        self.iterations.push(report::Iteration::Counterexample(entry));
        self.say(&paint(style::BAD, format!("counterexample {number}")), "", &said);
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
        self.line.suspend(|| self.print(&text));
    }

    fn print(&self, text: &str) {
        if !self.silent {
            output::print(text);
        }
    }

    /// Says what all of it comes to.
    fn conclude(self, verifier: &Verifier, ended: &Ended) -> Result<Exit, Failure> {
        self.line.clear();
        let (answer, colour, exit) = match ended {
            Ended::Verdict(Verdict::Safe) => ("safe", style::GOOD, Exit::Verified),
            Ended::Verdict(Verdict::PartiallySafe) => ("partially safe", style::WARN, Exit::Violation),
            Ended::Verdict(Verdict::Unsafe) => ("unsafe", style::BAD, Exit::Violation),
            _ if !self.wrong.is_empty() => ("incomplete", style::WARN, Exit::Violation),
            _ => ("incomplete", style::WARN, Exit::Incomplete),
        };
        let seconds = self.start.elapsed().as_secs_f64();
        let means = words::answer(ended, self.safe, self.wrong.len());
        let mut text = format!("{}: {means} ({seconds:.2} s)\n", paint(colour, answer));
        if let Some(why) = self.not_enforced.as_ref().filter(|_| self.written > 0 && exit != Exit::Verified) {
            text.push_str(&format!("  it cannot be run under its schedules: {why}\n"));
        } else if self.written > 0 && exit != Exit::Verified {
            let path = self.path(&format!("schedule-{}.json", self.written));
            let inputs = self.program.inputs.join(" ");
            text.push_str(&format!("  run it safely: selvedge run {inputs} --schedule {}\n", path.display()));
        }
        if !self.args.quiet {
            text.push_str(&format!("  {}\n", words::ASSUMPTIONS));
        }
        self.print(&text);
        if let Some(path) = &self.args.json {
            let report = report::Report {
                version: report::VERSION,
                tool: concat!("selvedge ", env!("CARGO_PKG_VERSION")),
                answer,
                means,
                exit_code: exit.code(),
                seconds,
                load_seconds: self.reading.as_secs_f64(),
                clang_seconds: self.clang.as_secs_f64(),
                threads: report::threads(verifier),
                transitions: verifier.program.transitions.len(),
                nodes: verifier.art.nodes.len(),
                solver: report::SolverReport::new(self.args.solver.name(), verifier.solver.statistics()),
                iterations: self.iterations,
                not_enforced: self.not_enforced,
                assumptions: words::ASSUMPTIONS,
                program: self.program,
            };
            output::write(path, &report::text(&report))?;
        }
        Ok(exit)
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

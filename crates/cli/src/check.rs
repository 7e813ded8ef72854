//! The `check` command: load, explore, run violations again, report.
//!
//! Reports for scripts are written before the one for people, and running a violation again cannot take the violation
//! away: whatever goes wrong behind the exploration, its verdict gets out.

use crate::args::{AlgorithmArg, CheckArgs};
use crate::engine::Engine;
use crate::exit::{Exit, Failure};
use crate::progress::Line;
use crate::{assumptions, bug, estimate, interrupt, output, program};
use selvedge_ir::Module;
use selvedge_machine::interp::Interpreter;
use selvedge_machine::schedule;
use selvedge_machine::session::Limits;
use selvedge_machine::verdict::{Exploration, Found, Interruption};
use selvedge_machine::{Violation, ViolationKind};
use selvedge_report::verdict::RunOptions;
use selvedge_report::{Answer, Layout, Question, Shown, Verdict, dot, json, terminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Where a trace for `replay` goes unless the user says otherwise.
const TRACE: &str = "selvedge-trace.json";

/// Runs the command.
pub fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    if args.search.estimate {
        return estimate::run(args);
    }
    let interrupt = interrupt::flag();
    let (verdict, failure) = match examine(args, interrupt) {
        Ok(verdict) => (verdict, None),
        Err((question, failure)) => {
            let mut verdict = Verdict::new(*question, Exploration::default());
            verdict.failure = Some(failure.to_string());
            (verdict, Some(failure))
        }
    };
    let verdict = Verdict { peak_memory_kib: peak_memory(), ..verdict };
    report(args, &verdict, failure.is_some())?;
    match failure {
        Some(failure) => Err(failure),
        None => Ok(exit(&verdict)),
    }
}

fn exit(verdict: &Verdict) -> Exit {
    match verdict.answer() {
        Answer::Verified => Exit::Verified,
        Answer::Violation => Exit::Violation,
        Answer::Incomplete if verdict.exploration.unsupported.is_some() => Exit::Unsupported,
        Answer::Incomplete => Exit::Incomplete,
    }
}

/// A program that is ready to be explored.
pub struct Prepared {
    /// What was asked.
    pub question: Question,
    /// What will explore it.
    pub engine: Engine,
    module: Module,
    load_seconds: f64,
}

/// Loads the program, and decides what explores it.
pub fn prepare(args: &CheckArgs) -> Result<Prepared, Failure> {
    let mut line = Line::new(args.report.quiet);
    prepare_quietly(args, &mut line).map_err(|(_, failure)| failure)
}

fn prepare_quietly(args: &CheckArgs, line: &mut Line) -> Result<Prepared, (Box<Question>, Failure)> {
    let mut question = question(args);
    let asked = match Engine::asked_for(&args.search) {
        Ok(asked) => asked,
        Err(failure) => return Err((Box::new(question), failure)),
    };
    line.stage("compiling");
    let start = Instant::now();
    let loaded = bug::catch(|| load(&question, line, args.report.quiet)).unwrap_or_else(|_| Err(Failure::bug()));
    line.clear();
    let module = match loaded {
        Ok(module) => module,
        Err(failure) => return Err((Box::new(question), failure)),
    };
    question.program.hash = program::hash(&module);
    let engine = asked.unwrap_or_else(|| Engine::suitable(&module));
    decide(args, &mut question, &module, engine);
    Ok(Prepared { question, engine, module, load_seconds: start.elapsed().as_secs_f64() })
}

/// Puts the engine that was decided for, and what follows from it, into the question.
fn decide(args: &CheckArgs, question: &mut Question, module: &Module, engine: Engine) {
    question.reductions = reductions_in_force(args);
    engine.put_into(question, args.search.algorithm);
    question.assumptions = assumptions::of(module, &question.options, engine);
    if engine == Engine::Trace && args.search.jobs > 1 {
        question.assumptions.push("--jobs has no effect: the trace engine, which runs here, has one job".to_owned());
    }
}

/// A machine that runs a program which was prepared.
pub fn machine(prepared: &Prepared) -> Interpreter {
    let (options, reductions) = (&prepared.question.options, &prepared.question.reductions);
    program::machine(&prepared.module, options, reductions, false).expect("that it can be made was seen before")
}

/// Loads and explores. What could be said about the question before something failed comes with the failure.
fn examine(args: &CheckArgs, interrupt: Arc<AtomicBool>) -> Result<Verdict, (Box<Question>, Failure)> {
    let mut line = Line::new(args.report.quiet);
    let mut prepared = prepare_quietly(args, &mut line)?;
    let mut line = Line::new(args.report.quiet);
    line.stage("exploring");
    let (start, cpu_start) = (Instant::now(), cpu_time());
    let mut explored = bug::catch(|| explore(args, &prepared, interrupt.clone(), &mut line));
    if let Ok(Ok(Exploration { unsupported: Some(why), violations, .. })) = &explored
        && violations.is_empty()
        && Engine::asked_for(&args.search).is_ok_and(|asked| asked.is_none())
        && prepared.engine != Engine::Trace
    {
        let why = format!("weak memory: not {} because of {} at {}", prepared.engine.model(), why.feature, why.place);
        let asked = (prepared.engine, prepared.question.clone());
        prepared.engine = Engine::Trace;
        decide(args, &mut prepared.question, &prepared.module, Engine::Trace);
        prepared.question.assumptions.push(why);
        let instead = bug::catch(|| explore(args, &prepared, interrupt, &mut line));
        if let Ok(Ok(Exploration { unsupported: Some(_), violations, .. })) = &instead
            && violations.is_empty()
        {
            // Nobody can explore it, and then the first answer is the better one.
            (prepared.engine, prepared.question) = asked;
        } else {
            explored = instead;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let cpu_seconds = Some(cpu_time() - cpu_start);
    line.clear();
    let Prepared { question, module, load_seconds, .. } = prepared;
    let exploration = match explored.unwrap_or_else(|_| Err(Failure::bug())) {
        Ok(exploration) => exploration,
        Err(failure) => return Err((Box::new(question), failure)),
    };
    let shown = exploration.violations.iter().map(|found| show(found, &module, &question)).collect();
    Ok(Verdict { shown, seconds, cpu_seconds, load_seconds, ..Verdict::new(question, exploration) })
}

/// The time that processors have spent on this process so far, on all its threads, in seconds.
fn cpu_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The most memory that this process has used, if the system says.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn load(question: &Question, line: &Line, quiet: bool) -> Result<Module, Failure> {
    let loaded = program::read(&question.program)?;
    if !quiet {
        line.suspend(|| output::clang_said(&loaded.warnings));
    }
    let mut module = loaded.module;
    program::prepare(&mut module, &question.program, &question.reductions)?;
    Ok(module)
}

fn question(args: &CheckArgs) -> Question {
    let (search, limits, errors, environment) = (&args.search, &args.limits, &args.errors, &args.environment);
    let options = RunOptions {
        args: environment.args.clone(),
        unroll: limits.unroll,
        private_atomics: false,
        max_events: limits.max_events,
        max_executions: limits.max_executions,
        max_seconds: limits.time.map(|time| time.as_secs_f64()),
        all: limits.all,
        data_races: !errors.no_data_races && search.algorithm != AlgorithmArg::Naive,
        deadlocks: !errors.no_deadlocks,
        leaks: errors.leaks,
        exit_code_errors: errors.exit_code_errors,
        spurious_wakeups: environment.spurious_wakeups,
        malloc_may_fail: environment.malloc_may_fail,
        nondet: environment.nondet,
    };
    Question {
        program: program::described(&args.input),
        options,
        model: search.model.clone().unwrap_or_default(),
        engine: search.engine.clone().unwrap_or_default(),
        algorithm: search.algorithm.name().to_owned(),
        reductions: reductions_in_force(args),
        assumptions: Vec::new(),
    }
}

/// The reductions that apply. Enumerating every interleaving leaves out nothing. Stores that nobody reads cannot be left
/// out of account by an algorithm without wakeup sequences, nor when what is left in memory at the end decides about leaks.
fn reductions_in_force(args: &CheckArgs) -> Vec<String> {
    let asked = &args.search.reductions;
    let applies = |name: &&String| match (args.search.algorithm, name.as_str()) {
        (AlgorithmArg::Naive, _) => false,
        (AlgorithmArg::Source, "observers") => false,
        (_, "observers") => !args.errors.leaks,
        _ => true,
    };
    asked.0.iter().filter(applies).cloned().collect()
}

fn explore(
    args: &CheckArgs,
    prepared: &Prepared,
    interrupt: Arc<AtomicBool>,
    line: &mut Line,
) -> Result<Exploration, Failure> {
    let question = &prepared.question;
    // That it can be made is seen once; then it can be made again for every worker.
    program::machine(&prepared.module, &question.options, &question.reductions, false)?;
    let limits = limits(args, question, interrupt);
    let jobs = usize::from(args.search.jobs);
    let algorithm = args.search.algorithm.algorithm();
    Ok(prepared.engine.explore(&|| machine(prepared), jobs, &question.reductions, algorithm, limits, line))
}

/// What an exploration is limited by, and what counts as a violation.
pub fn limits(args: &CheckArgs, question: &Question, interrupt: Arc<AtomicBool>) -> Limits {
    let options = &question.options;
    Limits {
        max_events: options.max_events,
        max_executions: options.max_executions,
        time: args.limits.time,
        interrupt: Some(interrupt),
        all: options.all,
        data_races: options.data_races,
        deadlocks: options.deadlocks,
        ..Limits::default()
    }
}

/// Runs a violation's schedule again, to see what happened in it.
fn show(found: &Found, module: &Module, question: &Question) -> Shown {
    let replayed = bug::catch(|| {
        let machine = program::machine(module, &question.options, &question.reductions, true)
            .map_err(|failure| failure.to_string())?;
        schedule::replay(machine, &found.schedule).map_err(|error| error.to_string())
    });
    Shown { violation: found.violation.clone(), replay: replayed.unwrap_or_else(Err) }
}

/// Writes and prints everything that was asked for.
fn report(args: &CheckArgs, verdict: &Verdict, failed: bool) -> Result<(), Failure> {
    let to = &args.report;
    let text = json::render(verdict);
    if let Some(path) = &to.json {
        output::write(path, &text)?;
    }
    let trace = if verdict.shown.is_empty() { None } else { write_trace(args, &text)? };
    if let (Some(path), Some(shown)) = (&to.dot, verdict.shown.first()) {
        write_dot(path, shown)?;
    }
    if failed || to.json.as_deref().is_some_and(output::is_stdout) {
        return Ok(());
    }
    if to.quiet {
        output::print(&terminal::brief(verdict));
        return Ok(());
    }
    let directory = verdict.question.program.directory.clone();
    let sources = move |file: &str| program::source(&directory, file);
    let layout = Layout { width: output::width(), full: to.full, sources: &sources };
    let trace = trace.map(|path| path.to_string_lossy().into_owned());
    output::print(&terminal::render(verdict, trace.as_deref(), &layout));
    if let Some(advice) = advice(verdict) {
        output::print(&advice);
    }
    Ok(())
}

/// Where `verify` and `run` could still give a safe execution: the program goes wrong under some schedules, or is too large
/// to be explored. What they assume must be what was asked for.
fn advice(verdict: &Verdict) -> Option<String> {
    let is_sc = verdict.question.model == "sc" && !verdict.shown.iter().any(|shown| is_data_race(&shown.violation));
    let limit = matches!(
        verdict.exploration.interruption,
        Some(Interruption::MaxExecutions | Interruption::MaxEvents | Interruption::Time | Interruption::User)
    );
    let wrong = !verdict.shown.is_empty();
    if !is_sc || !(wrong || limit) || verdict.exploration.unsupported.is_some() {
        return None;
    }
    let inputs = verdict.question.program.inputs.join(" ");
    let why =
        if wrong { "schedules that avoid this" } else { "loops and inputs without bound, or schedules that are safe" };
    Some(format!("  {why}: selvedge verify {inputs} (and then: selvedge run --schedule)\n"))
}

fn is_data_race(violation: &Violation) -> bool {
    violation.kind == ViolationKind::DataRace
}

/// Writes the trace and says where it is. The user's own wish must succeed; the default place is only a courtesy.
fn write_trace(args: &CheckArgs, text: &str) -> Result<Option<PathBuf>, Failure> {
    let to = &args.report;
    match (&to.trace, &to.json) {
        (Some(path), _) => output::write(path, text).map(|()| Some(path.clone())),
        (None, Some(json)) if output::is_stdout(json) => Ok(None),
        (None, Some(json)) => Ok(Some(json.clone())),
        (None, None) => match output::write(Path::new(TRACE), text) {
            Ok(()) => Ok(Some(PathBuf::from(TRACE))),
            Err(failure) => {
                output::warning(&format!("no trace for replay: {failure}"));
                Ok(None)
            }
        },
    }
}

/// Writes the graph of an execution.
pub fn write_dot(path: &Path, shown: &Shown) -> Result<(), Failure> {
    match &shown.replay {
        Ok(replay) => output::write(path, &dot::render(replay, &shown.violation)),
        Err(reason) => {
            output::warning(&format!("{}: not written: {reason}", path.display()));
            Ok(())
        }
    }
}

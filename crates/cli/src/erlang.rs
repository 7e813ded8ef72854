//! The `check` and `replay` commands for Erlang modules.
//!
//! | file | owns |
//! |---|---|
//! | `erlang/document.rs` | what is written for scripts and for `replay` |
//! | `erlang/text.rs` | the report for people |

mod document;
mod text;

use crate::args::{AlgorithmArg, CheckArgs, DeliveryArg, ReplayArgs};
use crate::exit::{Exit, Failure};
use crate::progress::Line;
use crate::{bug, interrupt, output, values};
use document::{Asked, Document, Run, Seen};
use selvedge_erlang::atom::Atom;
use selvedge_erlang::entry::{self, Entry};
use selvedge_erlang::loader::{LoadError, Otp, Sources};
use selvedge_erlang::machine::{Machine, Settings};
use selvedge_erlang::system::System;
use selvedge_machine::verdict::{Interruption, Progress};
use selvedge_messages::replay::{self, Replay};
use selvedge_messages::{Delivery, Exploration, Observer, Options, Schedule};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Where a trace for `replay` goes unless the user says otherwise.
const TRACE: &str = "selvedge-trace.json";

/// Whether the inputs are Erlang modules.
pub fn is_meant(inputs: &[PathBuf]) -> bool {
    inputs.iter().any(|path| is_erlang(path))
}

fn is_erlang(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "erl")
}

/// Runs the `check` command.
pub fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    refuse(args)?;
    let interrupt = interrupt::flag();
    let line = Line::new(args.report.quiet);
    line.stage("compiling");
    let start = Instant::now();
    let mut asked = asked(args);
    let loaded = Loaded::new(&asked);
    line.clear();
    let loaded = loaded?;
    asked.hash = loaded.hash.clone();
    let entries = entries(args, &loaded)?;
    let load_seconds = start.elapsed().as_secs_f64();
    let mut document = Document { asked, load_seconds, runs: Vec::new() };
    for entry in entries {
        let stop = interrupt.load(std::sync::atomic::Ordering::Relaxed);
        if stop {
            break;
        }
        let run = examine(args, &loaded, &document.asked, &entry, &interrupt)?;
        document.runs.push(run);
    }
    report(args, &document)?;
    Ok(exit(&document.runs))
}

/// The worst of all runs decides.
fn exit(runs: &[Run]) -> Exit {
    let any = |wanted: &dyn Fn(&Run) -> bool| runs.iter().any(wanted);
    if any(&|run| !run.exploration.violations.is_empty()) {
        Exit::Violation
    } else if any(&|run| run.exploration.unsupported.is_some()) {
        Exit::Unsupported
    } else if any(&|run| !run.is_complete()) {
        Exit::Incomplete
    } else {
        Exit::Verified
    }
}

/// Options that make no sense for Erlang are not ignored.
fn refuse(args: &CheckArgs) -> Result<(), Failure> {
    let not = |what: &str| Err(Failure::usage(format!("{what} does not apply to Erlang modules")));
    if let Some(other) = args.input.inputs.iter().find(|path| !is_erlang(path)) {
        return Err(Failure::usage(format!("{}: not an Erlang module, but others are", other.display())));
    }
    let (search, errors, environment) = (&args.search, &args.errors, &args.environment);
    match () {
        () if search.model.is_some() => not("--model"),
        () if search.engine.is_some() => not("--engine"),
        () if search.jobs != 1 => not("--jobs"),
        () if search.estimate => not("--estimate"),
        () if search.algorithm != AlgorithmArg::Optimal => not("--algorithm"),
        () if args.limits.unroll.is_some() => not("--unroll"),
        () if errors.leaks => not("--leaks"),
        () if errors.exit_code_errors => not("--exit-code-errors"),
        () if environment.spurious_wakeups => not("--spurious-wakeups"),
        () if environment.malloc_may_fail => not("--malloc-may-fail"),
        () if environment.nondet.is_some() => not("--nondet"),
        () if !environment.args.is_empty() => not("--args (the arguments of the call are in --entry)"),
        () if args.report.dot.is_some() => not("--dot"),
        () if !args.input.clang_flags.is_empty() => not("flags for clang"),
        () => Ok(()),
    }
}

fn asked(args: &CheckArgs) -> Asked {
    let text = |paths: &[PathBuf]| paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    Asked {
        inputs: text(&args.input.inputs),
        directory: std::env::current_dir().unwrap_or_default().to_string_lossy().into_owned(),
        include_dirs: text(&args.input.include_dirs),
        defines: args.input.defines.clone(),
        code_dirs: text(&args.erlang.code_dirs),
        fifo: args.erlang.delivery == DeliveryArg::Fifo,
        observers: args.search.reductions.0.iter().any(|name| name == "observers"),
        servers: args.erlang.servers.clone(),
        after_timeout: args.erlang.after_timeout.0,
        calls: args.erlang.max_calls,
        deadlocks: !args.errors.no_deadlocks,
        hash: String::new(),
    }
}

/// Modules that are compiled, and their code.
struct Loaded {
    system: Rc<RefCell<System>>,
    modules: Vec<Atom>,
    hash: String,
}

impl Loaded {
    fn new(asked: &Asked) -> Result<Loaded, Failure> {
        let paths = |texts: &[String]| texts.iter().map(PathBuf::from).collect();
        let sources = Sources {
            files: paths(&asked.inputs),
            include_dirs: paths(&asked.include_dirs),
            defines: asked.defines.clone(),
            code_dirs: paths(&asked.code_dirs),
        };
        let otp = Otp::compile(&sources).map_err(|error| match error {
            LoadError::File { .. } => Failure::usage(error.to_string()),
            LoadError::NoErlang { .. } => Failure::input(error.to_string())
                .with_help("Debian and its kin: apt-get install erlang-base, or cargo xtask setup --with erlang"),
            other => Failure::input(other.to_string()),
        })?;
        let (modules, hash) = (otp.users().to_vec(), otp.hash());
        Ok(Loaded { system: Rc::new(RefCell::new(System::new(Box::new(otp)))), modules, hash })
    }
}

/// What to run: what the user says, or what the modules export for it.
fn entries(args: &CheckArgs, loaded: &Loaded) -> Result<Vec<Entry>, Failure> {
    let modules = loaded.modules.clone();
    let mut entries = Vec::new();
    for text in &args.erlang.entries {
        entries.push(entry::parse(text).map_err(|error| Failure::usage(format!("--entry {error}")))?);
    }
    if entries.is_empty() {
        entries = entry::default_entries(&mut loaded.system.borrow_mut(), &modules).map_err(Failure::input)?;
    }
    if entries.is_empty() {
        return Err(Failure::usage("there is nothing to run: no module exports test/0, scenarios/0 or *_test/0")
            .with_help("say what to run: --entry 'function(Arguments)' or --entry 'module:function(Arguments)'"));
    }
    for entry in &mut entries {
        let module = *entry.module.get_or_insert(modules[0]);
        let checked = entry::check(&mut loaded.system.borrow_mut(), entry, module);
        checked.map_err(|error| Failure::usage(format!("{entry}: {error}")))?;
    }
    Ok(entries)
}

fn settings(asked: &Asked, entry: &Entry) -> Result<Settings, Failure> {
    let server =
        |text: &String| entry::parse_function(text).map_err(|error| Failure::usage(format!("--server {error}")));
    Ok(Settings {
        module: entry.module.unwrap_or(Atom::UNDEFINED),
        function: entry.function,
        args: entry.args.clone(),
        fuel: asked.calls,
        after_timeout: asked.after_timeout,
        servers: asked.servers.iter().map(server).collect::<Result<_, _>>()?,
        expected_exits: Vec::new(),
        output: None,
    })
}

fn delivery(asked: &Asked) -> Delivery {
    if asked.fifo { Delivery::Fifo } else { Delivery::Instant }
}

struct Shower<'a>(&'a mut Line);

impl Observer<Machine> for Shower<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.0.update(progress);
    }
}

/// Explores one entry.
fn examine(
    args: &CheckArgs,
    loaded: &Loaded,
    asked: &Asked,
    entry: &Entry,
    interrupt: &Arc<AtomicBool>,
) -> Result<Run, Failure> {
    let options = Options {
        observers: asked.observers,
        delivery: delivery(asked),
        max_events: args.limits.max_events,
        max_executions: args.limits.max_executions,
        time: args.limits.time,
        interrupt: Some(interrupt.clone()),
        all: args.limits.all,
        deadlocks: asked.deadlocks,
    };
    let settings = settings(asked, entry)?;
    let mut line = Line::new(args.report.quiet);
    line.stage("exploring");
    let start = Instant::now();
    let machine = Machine::new(loaded.system.clone(), settings.clone());
    let explored = bug::catch(|| selvedge_messages::explore(machine, &options, &mut Shower(&mut line)));
    line.clear();
    let Ok(exploration) = explored else { return Err(Failure::bug()) };
    let seconds = start.elapsed().as_secs_f64();
    let mut seen = Vec::new();
    for found in &exploration.violations {
        let shown = run_again(loaded, asked, &settings, &found.schedule);
        seen.push(Seen { violation: found.violation.clone(), schedule: found.schedule.clone(), shown });
    }
    Ok(Run { entry: entry.to_string(), exploration, seen, seconds })
}

/// A schedule again, with what was printed.
fn run_again(
    loaded: &Loaded,
    asked: &Asked,
    settings: &Settings,
    schedule: &Schedule,
) -> Result<(Replay, String), String> {
    let output = Rc::new(RefCell::new(String::new()));
    let settings = Settings { output: Some(output.clone()), ..settings.clone() };
    let machine = Machine::new(loaded.system.clone(), settings);
    let replayed = bug::catch(|| replay::replay(machine, delivery(asked), schedule))??;
    let printed = output.borrow().clone();
    Ok((replayed, printed))
}

fn report(args: &CheckArgs, document: &Document) -> Result<(), Failure> {
    let to = &args.report;
    let json = document.to_json();
    if let Some(path) = &to.json {
        output::write(path, &json)?;
    }
    let trace = match document.runs.iter().any(|run| !run.seen.is_empty()) {
        true => write_trace(args, &json)?,
        false => None,
    };
    if to.json.as_deref().is_some_and(output::is_stdout) {
        return Ok(());
    }
    let layout = text::Layout { width: output::width(), quiet: to.quiet, all: args.limits.all };
    output::print(&text::render(document, trace.as_deref(), &layout));
    Ok(())
}

/// Writes the trace and says where it is. The user's own wish must succeed; the default place is only a courtesy.
fn write_trace(args: &CheckArgs, json: &str) -> Result<Option<String>, Failure> {
    let to = &args.report;
    let path = match (&to.trace, &to.json) {
        (Some(path), _) => {
            output::write(path, json)?;
            path.clone()
        }
        (None, Some(path)) if output::is_stdout(path) => return Ok(None),
        (None, Some(path)) => path.clone(),
        (None, None) => match output::write(Path::new(TRACE), json) {
            Ok(()) => PathBuf::from(TRACE),
            Err(failure) => {
                output::warning(&format!("no trace for replay: {failure}"));
                return Ok(None);
            }
        },
    };
    Ok(Some(path.to_string_lossy().into_owned()))
}

/// Runs the `replay` command, if the trace is one of an Erlang module.
pub fn replay(args: &ReplayArgs) -> Option<Result<Exit, Failure>> {
    let text = std::fs::read_to_string(&args.trace).ok()?;
    let read = Document::read(&text)?;
    Some(
        read.map_err(|error| Failure::input(format!("{}: {error}", args.trace.display())))
            .and_then(|read| again(args, read)),
    )
}

fn again(args: &ReplayArgs, read: document::Trace) -> Result<Exit, Failure> {
    if args.dot.is_some() {
        return Err(Failure::usage("--dot does not apply to Erlang modules"));
    }
    let document::Trace { asked, violations } = read;
    let count = violations.len();
    let found = args.violation.checked_sub(1).and_then(|index| violations.into_iter().nth(index));
    let Some(found) = found else {
        return Err(Failure::usage(format!(
            "there are {count} violations in this trace, no number {}",
            args.violation
        )));
    };
    let here = asked.inputs.iter().all(|path| Path::new(path).exists());
    if !here {
        // If it cannot be entered, loading will say which file is missing.
        let _ = std::env::set_current_dir(&asked.directory);
    }
    let loaded = Loaded::new(&asked)?;
    if loaded.hash != asked.hash {
        let inputs = asked.inputs.join(", ");
        let what = format!("{}: this is a trace of another program: {inputs} has changed since", args.trace.display());
        return Err(Failure::input(what).with_help("run `selvedge check` again to get a trace of the present program"));
    }
    let entry = entry::parse(&found.entry).map_err(Failure::input)?;
    let settings = settings(&asked, &entry)?;
    let shown = run_again(&loaded, &asked, &settings, &found.schedule).map_err(Failure::input)?;
    let violation = text::violation_of(&shown.0).unwrap_or(found.violation);
    let seen = Seen { violation, schedule: found.schedule, shown: Ok(shown) };
    output::print(&text::violation(&seen, output::width()));
    Ok(Exit::Violation)
}

/// Whether an exploration looked at everything.
fn looked_at_all(exploration: &Exploration) -> bool {
    exploration.unsupported.is_none() && exploration.interruption.is_none() && exploration.bounds.is_empty()
}

/// Why an exploration ended early, in words.
fn interruption_in_words(why: Interruption) -> &'static str {
    match why {
        Interruption::FirstViolation => "interleavings after the first violation (--all goes on)",
        Interruption::MaxExecutions => "interleavings after the given number (--max-executions)",
        Interruption::MaxEvents => {
            "longer executions (--max-events), and those that were not reached before the first of them"
        }
        Interruption::Time => "interleavings that did not fit into the given time (--time)",
        Interruption::User => "interleavings after the interruption",
    }
}

/// Reads `--after-timeout`.
pub fn after_timeout(text: &str) -> Result<values::Milliseconds, String> {
    match text {
        "infinity" => Ok(values::Milliseconds(None)),
        number => match number.parse() {
            Ok(time) => Ok(values::Milliseconds(Some(time))),
            Err(_) => Err("it is a number of milliseconds, or infinity".to_owned()),
        },
    }
}

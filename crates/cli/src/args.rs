//! The options and their help.

use crate::values::{self, Reductions};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use selvedge_trace::Algorithm;
use std::path::PathBuf;
use std::time::Duration;

const VERIFY_EXAMPLES: &str = "\
Results come one after the other, each a schedule that permits more than the one before:
  selvedge verify buffer.c                      up to 8 of them, into schedule-N.json and schedule-N.svg
  selvedge verify buffer.c --complete           until the answer is safe, partially safe or unsafe
  selvedge verify buffer.c --time 1m --json -   what one minute gives, for a script
  selvedge replay trace-1.json                  a counterexample, step by step
  selvedge run buffer.c --schedule schedule-1.json
                                                the program natively, kept to what was proved

Ctrl-C ends the search; the last schedule stands. Exit code 0: safe; 1: there is a counterexample; 3: the program cannot
be encoded (the message says where); 4: a limit came before the answer.";

const EXAMPLES: &str = "\
Examples:
  selvedge check queue.c                        every schedule of a program, each once
  selvedge check queue.c -D N=3 -- -std=c11     with a macro, and flags for clang
  selvedge check --all --json report.json a.c b.c
  selvedge check spin.c --unroll 5              loops go round at most five times
  selvedge check lock.erl --entry 'test(3)'     an Erlang module, from this call
  selvedge verify buffer.c                      loops and inputs without bound; schedules that are safe
  selvedge replay selvedge-trace.json           a violation again, step by step

Exit codes:
  0  verified: no violation in any execution, within the bounds that were asked for
  1  a violation was found
  2  the command line is wrong
  3  the input cannot be checked: it does not compile, or it uses something that is not supported
  4  incomplete: a limit or an interruption came before the end";

/// Checks concurrent C and C++ programs under every schedule that matters, each once.
///
/// Selvedge compiles a program with your clang and runs it in a machine of its own, under sequential consistency or a
/// weaker memory model, in one execution for each way in which its threads can influence each other. It either finds an execution that goes
/// wrong (a failed assertion, a deadlock, a data race, a memory error) and shows it step by step, or has
/// looked at all of them.
#[derive(Parser, Debug)]
#[command(name = "selvedge", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// When to use colours.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto", global = true)]
    pub color: Color,
}

/// When to use colours.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Makes it the rule for everything that is printed.
    pub fn write_global(self) {
        let choice = match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Runs a program under every schedule that matters.
    #[command(after_help = EXAMPLES)]
    Check(Box<CheckArgs>),
    /// Verifies a program with unbounded loops and inputs, or a part of its schedules under which it can be run safely.
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(VerifyArgs),
    /// Runs a violation again, from the trace that `check` or `verify` wrote, and shows it.
    Replay(ReplayArgs),
    /// Runs a program once: in the machine, threads in turns; or natively, under a safe schedule (--schedule).
    Run(RunArgs),
    /// Shows the loops of a program: when an iteration does nothing, and what is done about it.
    Loops(LoopsArgs),
    /// Lists the library functions that a program may call.
    Models(ModelsArgs),
    /// Prints a program in Selvedge's own intermediate form.
    Ir(IrArgs),
}

/// The program.
#[derive(Args, Clone, Debug)]
pub struct InputArgs {
    /// C, C++ or LLVM IR files (.c .i .cc .cpp .cxx .ii .ll) that make up one program, one file of Selvedge's own
    /// text form (.sir), or Erlang modules (.erl).
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub inputs: Vec<PathBuf>,

    /// Defines a macro.
    #[arg(short = 'D', value_name = "NAME[=VALUE]", value_parser = values::define)]
    pub defines: Vec<String>,

    /// Adds a directory with header files.
    #[arg(short = 'I', value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub include_dirs: Vec<PathBuf>,

    /// Further flags for clang, behind `--`.
    #[arg(last = true, value_name = "CLANG_FLAGS")]
    pub clang_flags: Vec<String>,
}

/// Options of `check`.
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
    /// How to explore.
    #[command(flatten)]
    pub search: SearchArgs,
    /// When to stop.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// What counts as an error.
    #[command(flatten)]
    pub errors: ErrorArgs,
    /// What the program's environment may do.
    #[command(flatten)]
    pub environment: EnvironmentArgs,
    /// What is special about Erlang modules.
    #[command(flatten)]
    pub erlang: ErlangArgs,
    /// What to report.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// What is special about Erlang modules.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Erlang modules (.erl)")]
pub struct ErlangArgs {
    /// What to run: 'function(Arguments)' of the first module, or 'module:function(Arguments)'; can be given several times
    /// [default: what scenarios/0 lists, else test/0, else every *_test/0].
    #[arg(long = "entry", value_name = "CALL")]
    pub entries: Vec<String>,
    /// When messages arrive.
    #[arg(long, value_enum, default_value = "instant")]
    pub delivery: DeliveryArg,
    /// Adds a directory with compiled modules (also as -pa DIR).
    #[arg(long = "pa", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub code_dirs: Vec<PathBuf>,
    /// A process that is in this function may wait forever (name or name/arity); those of OTP's behaviours may anyway.
    #[arg(long = "server", value_name = "FUNCTION")]
    pub servers: Vec<String>,
    /// A receive that waits at least so long waits forever: milliseconds, or infinity.
    #[arg(long, value_name = "TIME", default_value = "5000", value_parser = crate::erlang::after_timeout)]
    pub after_timeout: values::Milliseconds,
    /// Stop, incomplete, when a process makes more than N calls between two steps that others could notice.
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    pub max_calls: u64,
}

/// When messages arrive.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeliveryArg {
    /// As soon as they are sent.
    Instant,
    /// Later, in a step of their own; those of one sender to one receiver in order.
    Fifo,
}

/// How to explore.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "How to explore")]
pub struct SearchArgs {
    /// Memory model: sc (sequential consistency), tso (x86), ra (release/acquire), rc11 (C and C++) [default: rc11 if
    /// the program uses C11 atomics, sc otherwise].
    #[arg(long, value_parser = values::model)]
    pub model: Option<String>,
    /// Engine: trace (interleavings up to the order of independent steps, under sc), graph (execution graphs, under any
    /// model) [default: trace for sc, graph for the others].
    #[arg(long, value_parser = values::engine)]
    pub engine: Option<String>,
    /// Explore with N workers (graph engine). Nothing that is reported depends on it but time and memory.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: u16,
    /// Do not check; estimate by random walks how many executions there are and how long they would take (graph engine;
    /// walks for 2 seconds unless --time says otherwise).
    #[arg(long)]
    pub estimate: bool,
    /// How interleavings are chosen (trace engine).
    #[arg(long, value_enum, default_value = "optimal")]
    pub algorithm: AlgorithmArg,
    /// Further reductions: none, all, or names separated by commas (purity: loop iterations that do nothing are cut off;
    /// await: with purity, a thread that would only spin waits; trace engine: ifaa: commuting fetch-and-adds whose
    /// results are not used are independent; observers: stores that nobody reads are independent; graph engine: stale:
    /// waits that could never end are not explored; in-place: waits are read again when something is written;
    /// speculative: compare-and-exchange loops are explored one success at a time; composite: with these, attempts that
    /// read several things and fail are not explored; direct: an exchange that comes directly after the load that it
    /// confirms reads what that has read, and not something else of the same value).
    #[arg(long, default_value = "all", value_parser = values::reductions)]
    pub reductions: Reductions,
}

/// How interleavings are chosen.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum AlgorithmArg {
    /// Every interleaving, for comparison.
    Naive,
    /// Source-DPOR: source sets and sleep sets.
    Source,
    /// Optimal-DPOR: wakeup trees; one execution per equivalence class.
    Optimal,
}

impl AlgorithmArg {
    /// The engine's word for it.
    pub fn algorithm(self) -> Algorithm {
        match self {
            AlgorithmArg::Naive => Algorithm::Naive,
            AlgorithmArg::Source => Algorithm::Source,
            AlgorithmArg::Optimal => Algorithm::Optimal,
        }
    }

    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            AlgorithmArg::Naive => "naive",
            AlgorithmArg::Source => "source",
            AlgorithmArg::Optimal => "optimal",
        }
    }
}

/// When to stop.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "When to stop")]
pub struct LimitArgs {
    /// Let a loop go round at most N times in an execution; what lies behind is named as not covered.
    #[arg(long, value_name = "N")]
    pub unroll: Option<u32>,
    /// Stop, incomplete, when an execution has more than N steps.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub max_events: usize,
    /// Stop, incomplete, after N executions.
    #[arg(long, value_name = "N")]
    pub max_executions: Option<u64>,
    /// Stop, incomplete, after this time: 500ms, 30s, 5m, 2h.
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub time: Option<Duration>,
    /// Go on after the first violation, and list the distinct ones.
    #[arg(long)]
    pub all: bool,
}

/// What counts as an error.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "What counts as an error")]
pub struct ErrorArgs {
    /// Memory that is never freed is a violation.
    #[arg(long)]
    pub leaks: bool,
    /// A non-zero exit status is a violation.
    #[arg(long)]
    pub exit_code_errors: bool,
    /// Do not look for data races.
    #[arg(long)]
    pub no_data_races: bool,
    /// A deadlock is a blocked execution, not a violation.
    #[arg(long)]
    pub no_deadlocks: bool,
}

/// What the program's environment may do.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "What the environment may do")]
pub struct EnvironmentArgs {
    /// The arguments of `main`, without the program's name.
    #[arg(long, value_name = "ARG", num_args = 1.., allow_negative_numbers = true)]
    pub args: Vec<String>,
    /// A wait on a condition variable may return without a signal.
    #[arg(long)]
    pub spurious_wakeups: bool,
    /// malloc and its kin may return null.
    #[arg(long)]
    pub malloc_may_fail: bool,
    /// The numbers that __VERIFIER_nondet_* gives, both ends included.
    #[arg(long, value_name = "LO..HI", value_parser = values::range, allow_hyphen_values = true)]
    pub nondet: Option<(i64, i64)>,
}

/// What to report.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "What to report")]
pub struct ReportArgs {
    /// Write the report as one JSON object to PATH, or to standard output (`-`), and then nothing else there.
    #[arg(long, value_name = "PATH")]
    pub json: Option<PathBuf>,
    /// Write the graph of the first violation's execution to PATH, for Graphviz: who reads from whom, who overwrites what.
    #[arg(long, value_name = "PATH")]
    pub dot: Option<PathBuf>,
    /// Where to write a trace for `replay` if there is a violation [default: the report of --json if that is a file,
    /// nothing if it is `-`, selvedge-trace.json otherwise].
    #[arg(long, value_name = "PATH")]
    pub trace: Option<PathBuf>,
    /// Show every step of an interleaving; fold nothing.
    #[arg(long)]
    pub full: bool,
    /// Print one line per violation and the verdict, and no progress.
    #[arg(long, short)]
    pub quiet: bool,
}

/// Options of `verify`.
#[derive(Args, Clone, Debug)]
pub struct VerifyArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
    /// Stop after N safe results, each of which permits more schedules than the one before.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    pub ivrs: u32,
    /// Go on until every schedule was looked at.
    #[arg(long, conflicts_with = "ivrs")]
    pub complete: bool,
    /// Stop, incomplete, after this time: 500ms, 30s, 5m, 2h.
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub time: Option<Duration>,
    /// Give up on a question to the solver after this time.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = values::duration)]
    pub solver_time: Duration,
    /// Who answers questions about formulas.
    #[arg(long, value_enum, value_name = "SOLVER", default_value = "embedded")]
    pub solver: SolverArg,
    /// Where to write, for each safe result, schedule-N.json (for `selvedge run --schedule`) and schedule-N.svg (a picture
    /// of its tree and of the schedule), and for each counterexample trace-N.json (for `selvedge replay`).
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
    /// Write the pictures as schedule-N.dot too, for Graphviz.
    #[arg(long, conflicts_with = "no_pictures")]
    pub dot: bool,
    /// Write no pictures.
    #[arg(long)]
    pub no_pictures: bool,
    /// Write no files, except that of --json.
    #[arg(long, conflicts_with_all = ["output", "dot"])]
    pub no_files: bool,
    /// Write a report of all results as one JSON object to PATH, or to standard output (`-`), and then nothing else there.
    #[arg(long, value_name = "PATH")]
    pub json: Option<PathBuf>,
    /// Print the answer only, and no progress.
    #[arg(long, short)]
    pub quiet: bool,
}

/// Who answers questions about formulas.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum SolverArg {
    /// The solver that is part of this program.
    Embedded,
    /// The program `z3`, if it is installed: slower, for a second opinion.
    Z3,
}

impl SolverArg {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            SolverArg::Embedded => "embedded",
            SolverArg::Z3 => "z3",
        }
    }
}

/// Options of `replay`.
#[derive(Args, Clone, Debug)]
pub struct ReplayArgs {
    /// What `check` wrote with --trace or --json.
    #[arg(value_name = "TRACE.json", value_hint = ValueHint::FilePath)]
    pub trace: PathBuf,
    /// Which violation, if the trace has several.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub violation: usize,
    /// Write the graph of the execution to PATH, for Graphviz: who reads from whom, who overwrites what.
    #[arg(long, value_name = "PATH")]
    pub dot: Option<PathBuf>,
    /// Show every step; fold nothing.
    #[arg(long)]
    pub full: bool,
}

/// Options of `run`.
#[derive(Args, Clone, Debug)]
pub struct RunArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
    /// What the program's environment may do.
    #[command(flatten)]
    pub environment: EnvironmentArgs,
    /// Under a schedule.
    #[command(flatten)]
    pub native: NativeArgs,
}

/// How `run` runs a program natively.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Under a schedule")]
pub struct NativeArgs {
    /// Compile the program and run it natively under a safe schedule that `verify` wrote. What stands behind `--` are then
    /// arguments of the program; macros and flags for clang are those of the schedule unless they are given.
    #[arg(long, value_name = "SCHEDULE.json", value_hint = ValueHint::FilePath)]
    pub schedule: Option<PathBuf>,
    /// Compile the program and run it natively without a schedule, for comparison.
    #[arg(long, conflicts_with = "schedule")]
    pub native: bool,
    /// How the schedule is kept: 0 (every step in order), 1 (only where the order matters; no redundant locks), 2 (as 1,
    /// with longer sections, cells of arrays told apart, and steps merged).
    #[arg(long, value_name = "LEVEL", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=2))]
    pub opt: u8,
    /// How many sections of the schedule are made one (at --opt 2).
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub replicate: u16,
    /// What happens if the program leaves its schedule.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "stop")]
    pub on_leave: OnLeave,
    /// Stop the program after this time (500ms, 30s, 5m) and say how often each thread called selvedge_useful().
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub time: Option<Duration>,
    /// The seed of the inputs that __VERIFIER_nondet_* gives.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// A further file for the linker: C, an object or a library.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub link: Vec<String>,
    /// Compile the program, for its schedule if one is given, and write it to this file instead of running it.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub build: Option<PathBuf>,
}

impl NativeArgs {
    /// Whether the program is to be compiled.
    pub fn is_wanted(&self) -> bool {
        self.schedule.is_some() || self.native || self.build.is_some()
    }
}

/// What happens if a program leaves its schedule.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnLeave {
    /// It is stopped before the step that the schedule does not have; exit code 4.
    Stop,
    /// It goes on as if it had none. Locks are then kept from the start.
    Continue,
}

/// Options of `loops`.
#[derive(Args, Clone, Debug)]
pub struct LoopsArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
    /// Show assumptions only: no access becomes an await.
    #[arg(long)]
    pub no_await: bool,
    /// Cut off failing attempts of loops that confirm a load by a compare-and-exchange, instead of only naming them.
    #[arg(long)]
    pub confirm: bool,
}

impl LoopsArgs {
    /// The reductions whose effect is shown.
    pub fn reductions(&self) -> Vec<String> {
        let names = [("purity", true), ("await", !self.no_await), ("confirm", self.confirm)];
        names.into_iter().filter(|(_, wanted)| *wanted).map(|(name, _)| name.to_owned()).collect()
    }
}

/// Options of `models`.
#[derive(Args, Clone, Debug)]
pub struct ModelsArgs {
    /// Only functions whose name contains this.
    #[arg(value_name = "TEXT")]
    pub contains: Option<String>,
}

/// Options of `ir`.
#[derive(Args, Clone, Debug)]
pub struct IrArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
    /// Print the program as it was read, before the passes over it.
    #[arg(long)]
    pub raw: bool,
    /// Print what becomes of it with these treatments of loops: names separated by commas, of purity, await, confirm,
    /// confirm-exits.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = values::loop_treatment, conflicts_with = "raw")]
    pub loops: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_options_fit_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn clang_flags_stand_behind_two_dashes() {
        let cli = Cli::try_parse_from(["selvedge", "check", "a.c", "-DN=3", "--nondet", "-1..1", "--", "-std=c11"]);
        let Command::Check(args) = cli.expect("well-formed").command else { panic!("it is a check") };
        assert_eq!(args.input.clang_flags, ["-std=c11"]);
        assert_eq!(args.input.defines, ["N=3"]);
        assert_eq!(args.environment.nondet, Some((-1, 1)));
    }
}

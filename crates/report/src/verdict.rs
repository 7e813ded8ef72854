//! The answer to a question: what was asked, what was found, and what was not covered.
//!
//! An answer without its question is worth little: "no violation" means something only together with the model, the
//! bounds, the inputs and the checks that were switched off. A [`Verdict`] therefore carries all of them, and every
//! renderer starts from it.
//!
//! A bound that the user set on loops is part of the question, so a program that holds up to that bound is *verified for
//! it*, and the loops that reached the bound are named as not covered. Every other reason to stop early (time, number of
//! executions, length of an execution, an interruption, something that cannot be executed) makes the answer
//! *incomplete*.

use selvedge_machine::schedule::Replay;
use selvedge_machine::verdict::{Exploration, Interruption};
use selvedge_machine::{BoundKind, Violation};
use serde::{Deserialize, Serialize};

/// The three answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// No execution within the bounds violates anything that was checked.
    Verified,
    /// Some execution does.
    Violation,
    /// No violation was found, but not everything was explored.
    Incomplete,
}

impl Answer {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Answer::Verified => "verified",
            Answer::Violation => "violation",
            Answer::Incomplete => "incomplete",
        }
    }
}

/// The program that was asked about, and how to get it again.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Program {
    /// The input files as they were given.
    pub inputs: Vec<String>,
    /// The directory in which the question was asked.
    pub directory: String,
    /// `NAME` or `NAME=VALUE`, given to the preprocessor.
    pub defines: Vec<String>,
    /// Directories with header files.
    pub include_dirs: Vec<String>,
    /// Further flags for clang.
    pub clang_flags: Vec<String>,
    /// A hash of the program as it is executed: a schedule belongs to exactly this.
    pub hash: String,
}

/// Everything that a user can choose and that has an influence on executions or on what counts as an error.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RunOptions {
    /// The program's arguments, without its name.
    pub args: Vec<String>,
    /// How often a loop may go round.
    pub unroll: Option<u32>,
    /// Whether atomic accesses to objects that nobody else knows yet are steps too, as memory models have it.
    #[serde(default)]
    pub private_atomics: bool,
    /// How many steps an execution may have.
    pub max_events: usize,
    /// How many executions to explore.
    pub max_executions: Option<u64>,
    /// How many seconds to explore.
    pub max_seconds: Option<f64>,
    /// Whether to go on after the first violation.
    pub all: bool,
    /// Whether to look for data races.
    pub data_races: bool,
    /// Whether deadlocks are violations.
    pub deadlocks: bool,
    /// Whether memory that is never freed is a violation.
    pub leaks: bool,
    /// Whether a non-zero exit status is a violation.
    pub exit_code_errors: bool,
    /// Whether a wait on a condition variable may return without a signal.
    pub spurious_wakeups: bool,
    /// Whether `malloc` may return null.
    pub malloc_may_fail: bool,
    /// The smallest and largest number that `__VERIFIER_nondet_*` gives.
    pub nondet: Option<(i64, i64)>,
}

/// What was asked.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Question {
    /// About which program.
    pub program: Program,
    /// With which choices.
    pub options: RunOptions,
    /// The memory model.
    pub model: String,
    /// The engine.
    pub engine: String,
    /// The algorithm of the engine.
    pub algorithm: String,
    /// The reductions that were switched on.
    pub reductions: Vec<String>,
    /// What was taken for granted, in words.
    pub assumptions: Vec<String>,
}

/// A violation together with the execution that shows it.
#[derive(Clone, PartialEq, Debug)]
pub struct Shown {
    /// What is wrong.
    pub violation: Violation,
    /// The execution, run again; none if that failed, with the reason.
    pub replay: Result<Replay, String>,
}

/// The answer, with everything that belongs to it.
#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    /// What was asked.
    pub question: Question,
    /// What the engine found.
    pub exploration: Exploration,
    /// Its violations with their executions, in the same order.
    pub shown: Vec<Shown>,
    /// Why there is nothing to explore, if the program could not be loaded.
    pub failure: Option<String>,
    /// How long the exploration took.
    pub seconds: f64,
    /// How much of it the processor spent on it, if the system says.
    pub cpu_seconds: Option<f64>,
    /// How long it took to compile and load the program.
    pub load_seconds: f64,
    /// The most memory that was in use, if the system says.
    pub peak_memory_kib: Option<u64>,
}

impl Verdict {
    /// The verdict on an exploration whose violations are still to be shown.
    pub fn new(question: Question, exploration: Exploration) -> Verdict {
        Verdict {
            question,
            exploration,
            shown: Vec::new(),
            failure: None,
            seconds: 0.0,
            cpu_seconds: None,
            load_seconds: 0.0,
            peak_memory_kib: None,
        }
    }

    /// Which of the three answers it is.
    pub fn answer(&self) -> Answer {
        let e = &self.exploration;
        if !e.violations.is_empty() {
            Answer::Violation
        } else if self.failure.is_some() || e.unsupported.is_some() || e.interruption.is_some() {
            Answer::Incomplete
        } else if e.bounds.iter().all(|(bound, _)| self.is_asked_for(bound.kind)) {
            Answer::Verified
        } else {
            Answer::Incomplete
        }
    }

    /// What limits the answer, in words; one sentence each.
    pub fn not_covered(&self) -> Vec<String> {
        let e = &self.exploration;
        let mut list = Vec::new();
        list.extend(self.failure.iter().map(|_| "everything: the program could not be loaded".to_owned()));
        list.extend(e.unsupported.iter().map(|u| format!("what lies behind {}, which is not supported", u.feature)));
        list.extend(e.interruption.map(|why| self.interruption_in_words(why)));
        for (bound, executions) in &e.bounds {
            let times = plural(*executions, "execution");
            let place = bound.place.to_string();
            let at = if bound.what.contains(&place) { String::new() } else { format!(" at {place}") };
            list.push(format!("what lies behind a bound: {}{at} ({times} reached it)", bound.what));
        }
        list.extend(e.not_covered.iter().cloned());
        list.extend(self.checks_left_out());
        list.extend(self.question.assumptions.iter().cloned());
        list
    }

    fn is_asked_for(&self, kind: BoundKind) -> bool {
        self.question.options.unroll.is_some() && matches!(kind, BoundKind::Loop { .. })
    }

    fn interruption_in_words(&self, why: Interruption) -> String {
        let options = &self.question.options;
        match why {
            Interruption::FirstViolation => "executions after the first violation (--all goes on)".to_owned(),
            Interruption::MaxExecutions => {
                let bound = options.max_executions.unwrap_or_default();
                format!("executions after the first {bound} (--max-executions)")
            }
            Interruption::MaxEvents => format!(
                "executions of more than {} (--max-events), and those that were not reached before the first of them",
                plural(options.max_events as u64, "step")
            ),
            Interruption::Time => "executions that did not fit into the given time (--time)".to_owned(),
            Interruption::User => "executions after the interruption".to_owned(),
        }
    }

    fn checks_left_out(&self) -> Vec<String> {
        let options = &self.question.options;
        let mut list = Vec::new();
        if !options.data_races {
            let why = if self.question.algorithm == "naive" { "--algorithm naive" } else { "--no-data-races" };
            list.push(format!("data races ({why})"));
        }
        if !options.deadlocks {
            list.push("deadlocks (--no-deadlocks)".to_owned());
        }
        list
    }
}

/// A memory model's name for people.
pub fn model_name(model: &str) -> &str {
    match model {
        "sc" => "sequential consistency",
        "tso" => "x86-TSO",
        "ra" => "release/acquire",
        "rc11" => "RC11",
        other => other,
    }
}

/// `1 step`, `2 steps`.
pub fn plural(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

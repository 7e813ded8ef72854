//! Runs models.

use crate::machine::RustMachine;
use crate::report;
use crate::runtime::{self, Running};
pub use selvedge_graph::MemoryModel;
use selvedge_machine::verdict::{Exploration, Interruption};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How a model is run. Fields that loom has are here too, so that code which sets them compiles; where this library has
/// no use for one, its description says so.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Builder {
    /// Not used: there may be any number of threads.
    pub max_threads: usize,
    /// The largest number of operations of an execution; a model that makes more fails. `LOOM_MAX_BRANCHES`, or 10,000.
    pub max_branches: usize,
    /// Ends the exploration after this many executions. `LOOM_MAX_PERMUTATIONS`.
    pub max_permutations: Option<usize>,
    /// Ends the exploration after this time. `LOOM_MAX_DURATION`, in seconds.
    pub max_duration: Option<Duration>,
    /// Not used: everything is explored, however many preemptions it takes. `LOOM_MAX_PREEMPTIONS`.
    pub preemption_bound: Option<usize>,
    /// Not used: explorations are not stored.
    pub checkpoint_file: Option<PathBuf>,
    /// Not used: explorations are not stored.
    pub checkpoint_interval: usize,
    /// Not used: exploration starts at the start.
    pub expect_explicit_explore: bool,
    /// Not used: the places of operations are always known.
    pub location: bool,
    /// Prints how many executions were explored. `LOOM_LOG`.
    pub log: bool,
    /// The memory model; RC11, that of C++ and Rust (without its out-of-thin-air values), unless set otherwise.
    pub memory_model: MemoryModel,
}

/// What an exploration has shown.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Executions in which every thread ended.
    pub complete: u64,
    /// Executions in which some thread waits forever.
    pub blocked: u64,
    /// How long it took.
    pub duration: Duration,
    /// What is wrong, in words, if something is.
    pub failure: Option<String>,
    /// What was not explored, in words; empty if everything was.
    pub not_covered: Vec<String>,
}

fn from_environment<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    match text.parse() {
        Ok(value) => Some(value),
        Err(_) => panic!("invalid value for `{name}`: {text}"),
    }
}

impl Builder {
    /// The defaults, and what the environment says.
    pub fn new() -> Builder {
        Builder {
            max_threads: 5,
            max_branches: from_environment("LOOM_MAX_BRANCHES").unwrap_or(10_000),
            max_permutations: from_environment("LOOM_MAX_PERMUTATIONS"),
            max_duration: from_environment("LOOM_MAX_DURATION").map(Duration::from_secs),
            preemption_bound: from_environment("LOOM_MAX_PREEMPTIONS"),
            checkpoint_file: from_environment("LOOM_CHECKPOINT_FILE"),
            checkpoint_interval: from_environment("LOOM_CHECKPOINT_INTERVAL").unwrap_or(20_000),
            expect_explicit_explore: false,
            location: std::env::var("LOOM_LOCATION").is_ok(),
            log: std::env::var("LOOM_LOG").is_ok(),
            memory_model: MemoryModel::Rc11,
        }
    }

    /// Sets the checkpoint file, which is not used.
    pub fn checkpoint_file(&mut self, file: &str) -> &mut Self {
        self.checkpoint_file = Some(file.into());
        self
    }

    /// Runs a model in all ways that differ.
    ///
    /// # Panics
    ///
    /// If the model fails in one of them, with a description of it.
    #[track_caller]
    pub fn check<F>(&self, f: F)
    where
        F: Fn() + Sync + Send + 'static,
    {
        let stats = self.explore(f);
        if let Some(failure) = &stats.failure {
            panic!("{failure}");
        }
        for what in &stats.not_covered {
            eprintln!("selvedge: not everything was explored: {what}");
        }
        if self.log {
            eprintln!("selvedge: {} executions, {} blocked, {:?}", stats.complete, stats.blocked, stats.duration);
        }
    }

    /// Runs a model in all ways that differ, and says what came of it.
    pub fn explore<F>(&self, f: F) -> Stats
    where
        F: Fn() + Sync + Send + 'static,
    {
        let started = Instant::now();
        let body: crate::machine::Body = Arc::new(f);
        let running = Running::start();
        let options = self.options();
        let result = loop {
            let machine = RustMachine::new(Arc::clone(&body));
            let result = selvedge_graph::explore(machine, &options, &mut |_| {});
            if !runtime::shared(|shared| std::mem::take(&mut shared.restart)) {
                break result;
            }
            // What was explored does not count: what was taken for two pointers is one, or stacks were not cleared.
            runtime::shared(|shared| shared.forget_outside());
        };
        let mut stats = self.stats(&result);
        stats.duration = started.elapsed();
        drop(running);
        stats
    }

    fn options(&self) -> selvedge_graph::Options {
        let limits = selvedge_trace::Options {
            max_events: self.max_branches,
            max_executions: self.max_permutations.map(|n| n as u64),
            time: self.max_duration,
            ..selvedge_trace::Options::default()
        };
        selvedge_graph::Options { model: self.memory_model, reductions: selvedge_graph::Reductions::ALL, limits }
    }

    fn stats(&self, result: &Exploration) -> Stats {
        let mut stats = Stats { complete: result.complete, blocked: result.blocked, ..Stats::default() };
        let steps = runtime::shared(|shared| std::mem::take(&mut shared.steps));
        if let Some(found) = result.violations.first() {
            stats.failure = Some(report::failure(&found.violation, result, &steps, self.memory_model.name()));
        } else if let Some(unsupported) = &result.unsupported {
            stats.failure = Some(format!("{}\n  at {}", unsupported.feature, unsupported.place));
        } else if result.interruption == Some(Interruption::MaxEvents) {
            let bounds: Vec<String> = result.bounds.iter().map(|(b, _)| format!("{} at {}", b.what, b.place)).collect();
            stats.failure = Some(format!(
                "an execution has more than {} operations: {}. If the model is that long, raise `max_branches`",
                self.max_branches,
                bounds.join("; ")
            ));
        }
        stats.not_covered.extend(result.interruption.map(|why| report::interruption(why).to_owned()));
        stats.not_covered.extend(result.not_covered.iter().cloned());
        stats
    }
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

/// Runs a closure in all ways that differ: whatever the schedule, and whatever the memory model lets loads read.
///
/// # Panics
///
/// If the closure, or a thread of it, panics in one of them, or there is a deadlock or a data race.
#[track_caller]
pub fn model<F>(f: F)
where
    F: Fn() + Sync + Send + 'static,
{
    Builder::new().check(f);
}

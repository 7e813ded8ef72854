//! Runs models.

use crate::command::command;
use crate::pass;
use crate::replay::next_at;
use crate::runtime::{self, At};
pub use selvedge_graph::MemoryModel;
use std::fmt;
use std::io::Write;
use std::panic::Location;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What explores a model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Engine {
    /// Execution graphs, under any memory model.
    #[default]
    Graph,
    /// Interleavings, under sequential consistency, whatever the memory model is set to.
    Trace,
}

/// How a model is run. Fields that loom has are here too, so that code which sets them compiles; where this library has
/// no use for one, its description says so.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Builder {
    /// Not used: there may be any number of threads, up to [`MAX_THREADS`](crate::MAX_THREADS).
    pub max_threads: usize,
    /// The largest number of operations of an execution; a model that makes more fails. `LOOM_MAX_BRANCHES`, or 10,000.
    pub max_branches: usize,
    /// Ends the exploration after this many executions. `LOOM_MAX_PERMUTATIONS`.
    pub max_permutations: Option<usize>,
    /// Ends the exploration after this time. `LOOM_MAX_DURATION`, in seconds.
    pub max_duration: Option<Duration>,
    /// Leaves out executions in which threads have to make room more often than that although they could go on; with two or
    /// three preemptions most errors are found, in models that are too large for more. Every execution that takes no more is
    /// explored. What happens for no reason ([`Builder::spurious`]) counts as one. [`Stats::not_covered`] says whether any may
    /// have been left out. None, so that everything is explored, unless `LOOM_MAX_PREEMPTIONS` is set. `Engine::Trace` has no
    /// use for it ([`Stats::ignored`] says so).
    pub preemption_bound: Option<usize>,
    /// If there is a bound on preemptions, so many executions are explored without it first, in each pass, and up to twenty times as
    /// many if random walks say that there are not many more; if that is all, nothing is left out. `SELVEDGE_BOUND_AFTER`, or
    /// 2,500; with 0 the bound holds from the start.
    pub bound_after: usize,
    /// An execution that fails is written to this file; and one that is found in it, of the same model, is run before all
    /// others. `LOOM_CHECKPOINT_FILE`.
    pub checkpoint_file: Option<PathBuf>,
    /// Not used: explorations are not stored. `LOOM_CHECKPOINT_INTERVAL`.
    pub checkpoint_interval: usize,
    /// Not used: exploration starts at the start ([`Stats::ignored`] says so).
    pub expect_explicit_explore: bool,
    /// Not used: the places of operations are always known. `LOOM_LOCATION`.
    pub location: bool,
    /// Prints how many executions were explored. `LOOM_LOG`.
    pub log: bool,
    /// The memory model; RC11, that of C++ and Rust (without its out-of-thin-air values), unless set otherwise.
    pub memory_model: MemoryModel,
    /// What explores the model.
    pub engine: Engine,
    /// Whether `compare_exchange_weak` may fail, `Condvar::wait` and `thread::park` may return, and `future::block_on` may
    /// poll, for no reason: once per thread, in a second pass, whose executions are counted by [`Stats::spurious`]. On, unless
    /// `SELVEDGE_SPURIOUS` is `0`.
    pub spurious: bool,
    /// How many waits of a thread may time out, 2 unless set otherwise. Executions in which more would do so are not explored; if
    /// there are no others, that is a failure.
    pub max_timeouts: u32,
    /// Whether a panic in a thread other than the first ends this thread only, so that `join` is an error and the locks that
    /// it held are poisoned. Off: a panic is a failure of the model, as in loom.
    pub panics_end_threads: bool,
    /// Whether every attempt of a loop that tries an exchange again (`fetch_update` among them) is explored, also those that fail
    /// and leave no trace. Off; there are far more executions with it, and no other outcomes.
    pub attempts_one_by_one: bool,
    /// Whether it is tried out what loops do. Off once a thread of the operating system could not be used any more after that.
    pub(crate) tries_out: bool,
}

/// What an exploration has shown.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Executions in which every thread ended.
    pub complete: u64,
    /// Executions in which some thread waits forever.
    pub blocked: u64,
    /// Further executions, complete or blocked, in which something may fail or wake for no reason.
    pub spurious: u64,
    /// How long it took.
    pub duration: Duration,
    /// What is wrong, in words, if something is.
    pub failure: Option<String>,
    /// The execution that failed, for `SELVEDGE_REPLAY`.
    pub replay: Option<String>,
    /// What was not explored, in words; empty if everything was.
    pub not_covered: Vec<String>,
    /// How many bytes executions have allocated and not freed. Destructors of an execution that is given up in the middle
    /// (blocked ones among them) do not run, since nobody could say what the operations in them would find.
    pub leaked: u64,
    /// Settings that were made and have no effect, in words: everything is explored all the same.
    pub ignored: Vec<String>,
    /// Where there are more executions than there could be, and why, in words: loops whose attempts leave a trace, for
    /// instance.
    pub notes: Vec<String>,
    /// Whether a bound on time or on executions has ended it.
    pub(crate) interrupted: bool,
}

impl Stats {
    fn counts(&self) -> String {
        let Stats { complete, blocked, spurious, duration, .. } = self;
        format!("{complete} executions, {blocked} blocked, {spurious} spurious, {duration:?}")
    }
}

/// What is wrong, and what there is to say of the exploration, line by line.
impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(failure) = &self.failure {
            writeln!(f, "{}", failure.trim_end())?;
        }
        write!(f, "{}", self.counts())?;
        self.not_covered.iter().try_for_each(|what| write!(f, "\nnot everything was explored: {what}"))?;
        self.ignored.iter().chain(&self.notes).try_for_each(|line| write!(f, "\n{line}"))
    }
}

/// What an environment variable says; none if it is not set, or empty.
fn from_environment<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    match text.parse() {
        Ok(value) => Some(value),
        Err(_) => panic!("invalid value for `{name}`: {text}"),
    }
}

/// What one says that switches something on or off.
fn switch_from_environment(name: &str) -> Option<bool> {
    match std::env::var(name).ok()?.as_str() {
        "" => None,
        "0" => Some(false),
        "1" => Some(true),
        text => panic!("invalid value for `{name}`: {text} (it is 0 or 1)"),
    }
}

impl Builder {
    /// Everything is explored, under RC11, without a bound on executions or time; an execution may have 10,000 operations. The
    /// environment variables that fields name take precedence over that, unless they are empty, and what is set afterwards over
    /// these.
    ///
    /// # Panics
    ///
    /// If one of these variables is not what it has to be: `LOOM_MAX_DURATION=soon`, `SELVEDGE_SPURIOUS=maybe`.
    pub fn new() -> Builder {
        Builder {
            max_threads: 5,
            max_branches: from_environment("LOOM_MAX_BRANCHES").unwrap_or(10_000),
            max_permutations: from_environment("LOOM_MAX_PERMUTATIONS"),
            max_duration: from_environment("LOOM_MAX_DURATION").map(Duration::from_secs),
            preemption_bound: from_environment("LOOM_MAX_PREEMPTIONS"),
            bound_after: from_environment("SELVEDGE_BOUND_AFTER").unwrap_or(2500),
            checkpoint_file: from_environment("LOOM_CHECKPOINT_FILE"),
            checkpoint_interval: from_environment("LOOM_CHECKPOINT_INTERVAL").unwrap_or(20_000),
            expect_explicit_explore: false,
            location: std::env::var("LOOM_LOCATION").is_ok(),
            log: std::env::var("LOOM_LOG").is_ok(),
            memory_model: MemoryModel::Rc11,
            engine: Engine::Graph,
            spurious: switch_from_environment("SELVEDGE_SPURIOUS").unwrap_or(true),
            max_timeouts: 2,
            panics_end_threads: false,
            attempts_one_by_one: false,
            tries_out: true,
        }
    }

    /// Sets the checkpoint file.
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
        if let Some(failure) = stats.failure {
            if runtime::is_spoiled() {
                // To panic once more would be the end of the process.
                eprintln!("{failure}");
                std::panic::resume_unwind(Box::new(failure));
            }
            panic!("{failure}");
        }
        for line in self.remarks(&stats) {
            // In one piece: other tests print, too.
            let line = format!("selvedge: {line}\n");
            eprint!("{line}");
        }
    }

    /// What there is to say of an exploration in which nothing failed. Settings that have no effect are of no interest, unless
    /// it came to no end and somebody had hoped that they would bring it there.
    fn remarks(&self, stats: &Stats) -> Vec<String> {
        let not_covered = stats.not_covered.iter().map(|what| format!("not everything was explored: {what}"));
        let ignored = stats.ignored.iter().filter(|_| self.log || stats.interrupted).cloned();
        let notes = stats.notes.iter().filter(|_| self.log).cloned();
        not_covered.chain(ignored).chain(notes).chain(self.log.then(|| stats.counts())).collect()
    }

    /// Runs a model in all ways that differ, and says what came of it.
    #[track_caller]
    pub fn explore<F>(&self, f: F) -> Stats
    where
        F: Fn() + Sync + Send + 'static,
    {
        let at = Location::caller();
        self.explore_at(Arc::new(f), (at, next_at(at)))
    }

    /// Settings that have no effect here; and, if a bound has ended the exploration, what has one.
    fn ignored(&self, interrupted: bool) -> Vec<String> {
        let mut ignored = Vec::new();
        if let Some(bound) = self.preemption_bound.filter(|_| self.engine == Engine::Trace) {
            let advice = if interrupted {
                ". To see more, raise the bound that was reached (`LOOM_MAX_DURATION`, in seconds, or `LOOM_MAX_PERMUTATIONS`), \
                 or let the model have fewer threads or operations"
            } else {
                ""
            };
            ignored.push(format!(
                "`preemption_bound` is {bound}, and `Engine::Trace` does not use it: executions were explored however many \
                 preemptions they take{advice}"
            ));
        }
        if self.expect_explicit_explore {
            ignored.push("`expect_explicit_explore` is not used: exploration begins where the model does".to_owned());
        }
        ignored
    }

    #[track_caller]
    fn explore_at(&self, body: crate::machine::Body, at: (At, u32)) -> Stats {
        if runtime::is_spoiled() {
            return elsewhere(|| self.explore_at(body, at));
        }
        let started = Instant::now();
        let Some(mut stats) = pass::run(self, &body, at) else {
            let this = Builder { tries_out: false, ..self.clone() };
            return elsewhere(|| this.explore_at(body, at));
        };
        stats.duration = started.elapsed();
        stats.ignored = self.ignored(stats.interrupted);
        if let (Some(file), Some(replay)) = (&self.checkpoint_file, &stats.replay)
            && let Err(error) = std::fs::write(file, replay)
        {
            eprintln!("selvedge: {}: {error}", file.display());
        }
        if let (Some(failure), Some(replay)) = (&mut stats.failure, &stats.replay) {
            failure.push_str(&command(replay));
        }
        if runtime::is_hook_lost() {
            ends_process(stats.failure.as_deref().unwrap_or_default());
        }
        stats
    }
}

/// The process cannot go on: says why, after what was found. Not by a macro: tests keep what these print to themselves until they end.
fn ends_process(failure: &str) -> ! {
    let _ = writeln!(
        std::io::stderr(),
        "{failure}selvedge: the process ends here. A thread of the model has panicked, or gone wrong otherwise, while the message of \
         a panic was made (by `Debug` or `Display`, most likely), and `std` does not get over that"
    );
    std::process::exit(101);
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

/// Calls a function on another thread of the operating system, in which nothing has been left in the middle of a panic.
pub(crate) fn elsewhere<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    let name = std::thread::current().name().unwrap_or("model").to_owned();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(name).spawn_scoped(scope, f);
        thread.expect("a thread can be started").join().unwrap_or_else(|e| std::panic::resume_unwind(e))
    })
}

/// Whether what runs now is tried out only, to see what an attempt of a loop would leave that fails, perhaps with values that
/// no execution has. Something that is kept outside of the model should not be told of it.
pub fn is_tried_out() -> bool {
    runtime::current().is_some() && runtime::shared(|shared| shared.tries_out)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::atomic::AtomicUsize;
    use crate::sync::atomic::Ordering::Relaxed;
    use crate::thread;

    /// What is said of a model with two executions.
    fn remarks(builder: &Builder) -> Vec<String> {
        let stats = builder.explore(|| {
            let x = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&x);
            let handle = thread::spawn(move || other.store(1, Relaxed));
            x.load(Relaxed);
            handle.join().unwrap();
        });
        assert_eq!(stats.failure, None);
        builder.remarks(&stats)
    }

    #[test]
    fn that_traces_are_not_bounded_by_preemptions_is_said_if_the_exploration_came_to_no_end() {
        let mut builder = Builder::new();
        builder.log = false;
        builder.engine = Engine::Trace;
        builder.memory_model = MemoryModel::Sc;
        builder.preemption_bound = Some(2);
        assert_eq!(remarks(&builder), Vec::<String>::new(), "everything was explored: there is nothing to say");
        builder.max_permutations = Some(1);
        let said = remarks(&builder);
        let [bound, ignored] = &said[..] else { panic!("{said:?}") };
        assert!(bound.contains("the bound on the number of executions was reached"), "{bound}");
        assert!(ignored.starts_with("`preemption_bound` is 2, and `Engine::Trace` does not use it"), "{ignored}");
        assert!(ignored.contains("`LOOM_MAX_DURATION`") && ignored.contains("`LOOM_MAX_PERMUTATIONS`"), "{ignored}");
        builder.preemption_bound = None;
        assert!(remarks(&builder).iter().all(|line| line.starts_with("not everything was explored")));
    }
}

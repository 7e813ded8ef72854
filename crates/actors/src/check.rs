//! Runs programs.

use crate::context::{self, Body};
use crate::machine::RustMachine;
use crate::report;
use selvedge_machine::Stop;
use selvedge_messages::replay::Replay;
use selvedge_messages::{Delivery, Exploration, Nobody, Options, Schedule, chart, explore};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How a program is run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Builder {
    /// When messages arrive: at once, or some time later in the order in which they were sent.
    pub delivery: Delivery,
    /// Two messages that come to a process are ordered only if some receive can tell. Otherwise always: more executions,
    /// and nothing more is found.
    pub observers: bool,
    /// The largest number of steps of an execution: the exploration ends when there is a longer one.
    pub max_steps: usize,
    /// Ends the exploration after this many executions.
    pub max_executions: Option<u64>,
    /// Ends the exploration after this time.
    pub max_duration: Option<Duration>,
}

/// What an exploration has shown.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Executions in which every process ended, or waits as a server.
    pub complete: u64,
    /// Executions in which some process waits forever.
    pub blocked: u64,
    /// How long it took.
    pub duration: Duration,
    /// What is wrong, in words, if something is.
    pub failure: Option<String>,
    /// The execution that shows it, as a schedule that [`replay`] runs again.
    pub schedule: Option<String>,
    /// That execution as a message sequence chart, in SVG.
    pub chart: Option<String>,
    /// What was not explored, in words; empty if everything was.
    pub not_covered: Vec<String>,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

impl Builder {
    /// The defaults.
    pub fn new() -> Builder {
        Builder {
            delivery: Delivery::Instant,
            observers: true,
            max_steps: 10_000,
            max_executions: None,
            max_duration: None,
        }
    }

    /// Runs a program in all ways that differ; with `SELVEDGE_REPLAY` in the environment, in that one way.
    ///
    /// # Panics
    ///
    /// If the program fails in one of them, with a description of it.
    #[track_caller]
    pub fn check<F: Fn() + Send + Sync + 'static>(&self, f: F) {
        if let Ok(schedule) = std::env::var("SELVEDGE_REPLAY") {
            match self.replay_one(&schedule, f) {
                Ok((text, true)) => panic!("{text}"),
                Ok((text, false)) => eprintln!("{text}"),
                Err(why) => panic!("SELVEDGE_REPLAY: {why}"),
            }
            return;
        }
        let stats = self.explore(f);
        if let Some(failure) = &stats.failure {
            panic!("{failure}");
        }
        for what in &stats.not_covered {
            eprintln!("selvedge: not everything was explored: {what}");
        }
    }

    /// Runs a program in all ways that differ, and says what came of it.
    pub fn explore<F: Fn() + Send + Sync + 'static>(&self, f: F) -> Stats {
        let started = Instant::now();
        let body = body_of(f);
        context::install_hook();
        let options = Options {
            observers: self.observers,
            delivery: self.delivery,
            max_events: self.max_steps,
            max_executions: self.max_executions,
            time: self.max_duration,
            ..Options::default()
        };
        let result = explore(RustMachine::new(Rc::clone(&body)), &options, &mut Nobody);
        let mut stats = self.stats(&result, &body);
        stats.duration = started.elapsed();
        stats
    }

    fn stats(&self, result: &Exploration, body: &Body) -> Stats {
        let mut stats = Stats { complete: result.complete, blocked: result.blocked, ..Stats::default() };
        if let Some(found) = result.violations.first() {
            stats.schedule = Some(found.schedule.to_string());
            match self.run_again(&found.schedule, body) {
                Ok(replay) => {
                    stats.failure = Some(report::failure(found, result, &replay));
                    stats.chart = Some(chart::svg(&replay));
                }
                Err(why) => {
                    stats.failure = Some(format!("{}: {}; {why}", found.violation.kind, found.violation.message))
                }
            }
        } else if let Some(unsupported) = &result.unsupported {
            stats.failure = Some(format!("{}\n  at {}", unsupported.feature, unsupported.place));
        }
        stats.not_covered.extend(result.bounds.iter().map(|(bound, _)| format!("{} at {}", bound.what, bound.place)));
        stats.not_covered.extend(result.interruption.map(|why| report::interruption(why).to_owned()));
        stats
    }

    fn run_again(&self, schedule: &Schedule, body: &Body) -> Result<Replay, String> {
        selvedge_messages::replay::replay(RustMachine::new(Rc::clone(body)), self.delivery, schedule)
    }

    /// Runs one execution again, and describes it.
    pub fn replay<F: Fn() + Send + Sync + 'static>(&self, schedule: &str, f: F) -> Result<String, String> {
        self.replay_one(schedule, f).map(|(text, _)| text)
    }

    /// Runs one execution again: its description, and whether it fails.
    fn replay_one<F: Fn() + Send + Sync + 'static>(&self, schedule: &str, f: F) -> Result<(String, bool), String> {
        context::install_hook();
        let replay = self.run_again(&Schedule::parse(schedule)?, &body_of(f))?;
        let mut text = chart::text(&replay);
        for stop in &replay.stops {
            match stop {
                Stop::Violation(violation) => {
                    text.push_str(&format!("{}: {}\n", violation.kind, violation.message));
                    for (place, _) in &violation.places {
                        text.push_str(&format!("  at {place}\n"));
                    }
                }
                Stop::Unsupported(unsupported) => text.push_str(&format!("{}\n", unsupported.feature)),
                Stop::Bound(bound) => text.push_str(&format!("{}\n", bound.what)),
            }
        }
        if replay.stuck {
            text.push_str("deadlock: who waits here waits forever\n");
        }
        Ok((text, replay.stuck || !replay.stops.is_empty()))
    }
}

/// What makes the first process.
fn body_of<F: Fn() + Send + Sync + 'static>(f: F) -> Body {
    let f = Arc::new(f);
    Rc::new(move || {
        let f = Arc::clone(&f);
        Box::new(move || f())
    })
}

/// Runs a program in all ways that differ, each once. The closure is the first process.
///
/// # Panics
///
/// If a process panics in one of them, or a process that is no server waits forever.
#[track_caller]
pub fn check<F: Fn() + Send + Sync + 'static>(f: F) {
    Builder::new().check(f);
}

/// Runs one execution of a program again, and describes it; says why if it is none of this program.
pub fn replay<F: Fn() + Send + Sync + 'static>(schedule: &str, f: F) -> Result<String, String> {
    Builder::new().replay(schedule, f)
}

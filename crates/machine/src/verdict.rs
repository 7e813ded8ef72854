//! What an engine reports when it is done.

use crate::schedule::Schedule;
use crate::{Bound, Unsupported, Violation};

/// A violation with an execution that shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// What is wrong.
    pub violation: Violation,
    /// How to get there.
    pub schedule: Schedule,
}

/// Why an exploration ended before everything was explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interruption {
    /// The first violation was found, and only the first was asked for.
    FirstViolation,
    /// The bound on the number of executions.
    MaxExecutions,
    /// An execution was longer than the bound on its length: a loop may never end.
    MaxEvents,
    /// The bound on time.
    Time,
    /// The user.
    User,
}

/// The result of an exploration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exploration {
    /// Executions in which every thread ended (or the process did).
    pub complete: u64,
    /// Executions in which some thread is stuck: in an assumption, an await, a deadlock, or at a bound.
    pub blocked: u64,
    /// Executions that were started but turned out to be equivalent to others (never with an optimal algorithm).
    pub redundant: u64,
    /// Distinct violations, in the order in which they were found.
    pub violations: Vec<Found>,
    /// Something that could not be executed; the exploration ends there.
    pub unsupported: Option<Unsupported>,
    /// Bounds that were reached, with the number of executions that reached them.
    pub bounds: Vec<(Bound, u64)>,
    /// Why it ended early, if it did.
    pub interruption: Option<Interruption>,
    /// Facts that limit what was proved, in words.
    pub not_covered: Vec<String>,
    /// Facts about how it was explored, in words; they limit nothing.
    pub notes: Vec<String>,
    /// The largest number of steps in an execution.
    pub longest: usize,
    /// Steps made in all.
    pub steps: u64,
}

/// A moment of an exploration, for a progress display.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Executions in which every thread ended.
    pub complete: u64,
    /// Executions in which some thread is stuck.
    pub blocked: u64,
    /// Steps in the present execution.
    pub depth: usize,
    /// The part of the whole that is done, from 0 to 1, as far as it can be estimated.
    pub fraction: f64,
}

//! Trace-based exploration under sequential consistency.
//!
//! | file | technique |
//! |---|---|
//! | `action.rs` | the conflict relation |
//! | `byte_range.rs` | bytes that a step touches |
//! | `trace.rs` | the execution, happens-before, races |
//! | `reversal.rs` | sequences that reverse races |
//! | `settled.rs` | races that need not be reversed again |
//! | `lazy_order.rs` | happens-before and races with observers |
//! | `blocking_race.rs` | races of events that can be blocked |
//! | `weak_initials.rs` | weak initials and redundancy |
//! | `wakeup_tree.rs` | wakeup trees |
//! | `source_set.rs` | source sets |
//! | `explorer.rs` | Optimal-DPOR and Source-DPOR |
//! | `naive.rs` | all interleavings |
//! | `data_race.rs` | data races on plain accesses |
//! | `spin.rs` | threads that spin |
//! | `ending.rs` | what a maximal execution means |
//! | `session.rs` | results and limits |

pub mod action;
pub mod blocking_race;
pub mod byte_range;
pub mod data_race;
pub mod ending;
pub mod explorer;
pub mod lazy_order;
pub mod naive;
pub mod reversal;
pub mod session;
pub mod settled;
pub mod source_set;
pub mod spin;
pub mod trace;
pub mod wakeup_tree;
pub mod weak_initials;

pub use session::Observer;

use selvedge_machine::verdict::{Exploration, Progress};
use selvedge_machine::{Machine, Sc};
use session::Session;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How interleavings are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Algorithm {
    /// Every interleaving.
    Naive,
    /// Source-DPOR: source sets and sleep sets.
    Source,
    /// Optimal-DPOR: one execution per Mazurkiewicz trace.
    #[default]
    Optimal,
}

/// Which conflicts are ignored because nobody can tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reductions {
    /// Commuting read-modify-writes whose old values are not used are independent.
    pub ifaa: bool,
    /// Stores that nobody reads are independent (with `optimal` only).
    pub observers: bool,
}

impl Reductions {
    /// No reduction: one execution per Mazurkiewicz trace.
    pub const NONE: Reductions = Reductions { ifaa: false, observers: false };
    /// All reductions.
    pub const ALL: Reductions = Reductions { ifaa: true, observers: true };
}

/// What to explore, and when to stop.
#[derive(Clone, Debug)]
pub struct Options {
    /// How interleavings are chosen.
    pub algorithm: Algorithm,
    /// An exploration ends, and says so, when an execution has more steps than this.
    pub max_events: usize,
    /// Stop after this many executions.
    pub max_executions: Option<u64>,
    /// Stop after this time.
    pub time: Option<Duration>,
    /// Stop when this becomes true.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Go on after the first violation and collect distinct ones.
    pub all: bool,
    /// Report data races on plain accesses.
    pub data_races: bool,
    /// Report deadlocks as violations.
    pub deadlocks: bool,
    /// Reductions of the conflict relation.
    pub reductions: Reductions,
    /// Compare fast versions with plain ones while running; slow, for tests.
    pub check_invariants: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            algorithm: Algorithm::Optimal,
            max_events: 10_000,
            max_executions: None,
            time: None,
            interrupt: None,
            all: false,
            data_races: true,
            deadlocks: true,
            reductions: Reductions::NONE,
            check_invariants: false,
        }
    }
}

struct OnProgress<'a>(&'a mut dyn FnMut(&Progress));

impl Observer for OnProgress<'_> {
    fn progress(&mut self, progress: &Progress) {
        (self.0)(progress);
    }
}

/// Explores a program under sequential consistency.
pub fn explore<M: Machine>(machine: M, options: &Options, progress: &mut dyn FnMut(&Progress)) -> Exploration {
    explore_with(machine, options, &mut OnProgress(progress))
}

/// Explores a program under sequential consistency and tells an observer about it.
pub fn explore_with<M: Machine>(machine: M, options: &Options, observer: &mut dyn Observer) -> Exploration {
    let mut session = Session::new(options, observer);
    let mut sc = match Sc::start(machine) {
        Ok(sc) => sc,
        Err((stop, _)) => {
            let bounded = matches!(stop, selvedge_machine::Stop::Bound(_));
            if session.stopped(stop, Default::default).is_ok() {
                let ending = if bounded { session::Ending::Blocked } else { session::Ending::Complete };
                let _ = session.ended(ending, 0);
            }
            return session.result;
        }
    };
    // An early end is noted in the result.
    let _ = match options.algorithm {
        Algorithm::Naive => naive::explore_naive(&mut sc, &mut session),
        Algorithm::Source | Algorithm::Optimal => explorer::Explorer::new(&mut sc, &mut session).run(),
    };
    session.result
}

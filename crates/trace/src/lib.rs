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

pub mod action;
pub mod blocking_race;
pub mod byte_range;
pub mod data_race;
pub mod ending;
pub mod explorer;
pub mod lazy_order;
pub mod naive;
pub mod reversal;
pub mod settled;
pub mod source_set;
pub mod spin;
pub mod trace;
pub mod wakeup_tree;
pub mod weak_initials;

use selvedge_machine::session::{Ending, Limits, Observer, Session};
use selvedge_machine::verdict::{Exploration, Progress};
use selvedge_machine::{Machine, Sc};

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
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How interleavings are chosen.
    pub algorithm: Algorithm,
    /// Reductions of the conflict relation.
    pub reductions: Reductions,
    /// When to stop, and what counts as a violation.
    pub limits: Limits,
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
    let mut session = Session::new(&options.limits, observer);
    let mut sc = match Sc::start(machine) {
        Ok(sc) => sc,
        Err((stop, _)) => {
            let bounded = matches!(stop, selvedge_machine::Stop::Bound(_));
            if session.stopped(stop, Default::default).is_ok() {
                let ending = if bounded { Ending::Blocked } else { Ending::Complete };
                let _ = session.ended(ending, 0);
            }
            return session.result;
        }
    };
    // An early end is noted in the result.
    let _ = match options.algorithm {
        Algorithm::Naive => naive::explore_naive(&mut sc, &mut session),
        Algorithm::Source | Algorithm::Optimal => explorer::Explorer::new(&mut sc, options, &mut session).run(),
    };
    session.result
}

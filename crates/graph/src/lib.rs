//! Exploration of execution graphs: TruSt, and Awamoche's extensions of it, under several memory models.
//!
//! | file | technique |
//! |---|---|
//! | `event.rs` | events (Definition 1) |
//! | `graph.rs` | execution graphs (Definition 2) |
//! | `clocks.rs` | program order, reads-from and happens-before as vector clocks |
//! | `past.rs` | numbers for what threads have done and learned |
//! | `models/` | SC, TSO, RA, RC11 |
//! | `axioms.rs` | the same as axioms over whole graphs, and other invariants; for tests |
//! | `request.rs` | what threads ask for, as accesses to one location |
//! | `explorer.rs`, `explorer/` | the exploration (Algorithm 1) |
//! | `backward.rs` | backward revisits (Algorithm 2) |
//! | `runner.rs` | keeps the machine where the graph is |
//! | `race.rs` | data races |
//! | `parallel.rs` | exploration by several workers |
//! | `rank.rs` | when one worker would come to what several explore |
//! | `joint.rs` | composite awaits that several workers explore what follows from |
//! | `linear.rs` | graphs as sequences of steps |
//! | `ending.rs` | what a full graph means |

pub mod axioms;
pub mod backward;
pub mod clocks;
pub mod ending;
pub mod event;
pub mod explorer;
pub mod graph;
mod joint;
pub mod linear;
pub mod models;
pub mod parallel;
mod past;
pub mod race;
mod rank;
pub mod request;
pub mod runner;

use event::LocId;
use explorer::Explorer;
pub use explorer::{Effort, Estimate, Storage};
use graph::Graph;
use selvedge_ir::EntityRef;
use selvedge_machine::session::{Ending, Limits, Observer, Session};
use selvedge_machine::verdict::{Exploration, Progress};
use selvedge_machine::{Addr, Machine};
use std::time::Duration;

/// A memory model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MemoryModel {
    /// Sequential consistency.
    Sc,
    /// x86-TSO.
    Tso,
    /// Release/acquire.
    Ra,
    /// RC11.
    #[default]
    Rc11,
}

impl MemoryModel {
    /// All models, from the strongest to the weakest.
    pub const ALL: [MemoryModel; 4] = [MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Ra, MemoryModel::Rc11];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            MemoryModel::Sc => "sc",
            MemoryModel::Tso => "tso",
            MemoryModel::Ra => "ra",
            MemoryModel::Rc11 => "rc11",
        }
    }
}

/// Which executions in which threads wait are not explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reductions {
    /// Reads that fail their condition and could never be revisited are not explored (section 3.1).
    pub stale: bool,
    /// Reads that fail their condition are read again in place when a write comes (section 3.2).
    pub in_place: bool,
    /// Confirmation loops are explored one confirmation at a time (section 3.3).
    pub speculative: bool,
    /// Attempts that read several things and fail are not explored, if the three above are on (beyond the paper).
    pub composite: bool,
    /// An exchange that confirms a load directly before it reads from what that has read from (beyond the paper).
    pub direct: bool,
    /// An exchange that waits reads from what a load directly before it has read from (beyond the paper).
    pub tested: bool,
}

impl Reductions {
    /// TruSt.
    pub const NONE: Reductions = Reductions {
        stale: false,
        in_place: false,
        speculative: false,
        composite: false,
        direct: false,
        tested: false,
    };
    /// Awamoche.
    pub const AWAMOCHE: Reductions = Reductions { stale: true, in_place: true, speculative: true, ..Reductions::NONE };
    /// Awamoche and composite awaits.
    pub const ALL: Reductions = Reductions { composite: true, ..Reductions::AWAMOCHE };
}

/// What to explore, and when to stop.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The memory model.
    pub model: MemoryModel,
    /// Reductions.
    pub reductions: Reductions,
    /// Executions that take more preemptions are left out, if it is set.
    pub preemptions: Option<u32>,
    /// Limits, and what counts as a violation.
    pub limits: Limits,
}

/// A full graph.
pub struct Full<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// Address and size of every location.
    pub places: &'a [(Addr, u8)],
    /// How it ended.
    pub ending: Ending,
    /// How often the exploration has started again: what was told before is void.
    pub restarts: u32,
}

impl Full<'_> {
    /// Where a location is.
    pub fn place(&self, loc: LocId) -> (Addr, u8) {
        self.places[loc.index()]
    }
}

/// Who is told about full graphs.
pub type OnFull<'a> = dyn FnMut(&Full<'_>) + 'a;

/// Explores a program.
pub fn explore<M: Machine>(machine: M, options: &Options, progress: &mut dyn FnMut(&Progress)) -> Exploration {
    explore_with(machine, options, &mut OnProgress(progress), None)
}

struct OnProgress<'a>(&'a mut dyn FnMut(&Progress));

impl Observer for OnProgress<'_> {
    fn progress(&mut self, progress: &Progress) {
        (self.0)(progress);
    }
}

/// Estimates how much there is to explore, for at most this time; none if the program stops at once or cannot be run, or if there is
/// a bound on preemptions.
pub fn estimate<M: Machine>(machine: M, options: &Options, time: Duration) -> Option<Estimate> {
    estimate_with(machine, options, Effort { time, walks: 100_000 })
}

/// The same with a given effort.
pub fn estimate_with<M: Machine>(mut machine: M, options: &Options, effort: Effort) -> Option<Estimate> {
    if options.preemptions.is_some() {
        return None;
    }
    // Violations that random walks meet are for the exploration to find.
    let limits = Limits { all: true, max_executions: None, time: None, ..options.limits.clone() };
    let options = Options { limits, ..options.clone() };
    let mut quiet = OnProgress(&mut |_| {});
    let mut session = Session::new(&options.limits, &mut quiet);
    machine.start().ok()?;
    let (options, session) = (&options, &mut session);
    let estimate = match options.model {
        MemoryModel::Sc => Explorer::<M, models::sc::Sc>::new(machine, options, session, None).estimate(effort),
        MemoryModel::Tso => Explorer::<M, models::tso::Tso>::new(machine, options, session, None).estimate(effort),
        MemoryModel::Ra => Explorer::<M, models::ra::Ra>::new(machine, options, session, None).estimate(effort),
        MemoryModel::Rc11 => Explorer::<M, models::rc11::Rc11>::new(machine, options, session, None).estimate(effort),
    };
    estimate.ok()
}

/// Explores a program and tells about it while it runs.
pub fn explore_with<M: Machine>(
    machine: M,
    options: &Options,
    observer: &mut dyn Observer,
    full: Option<&mut OnFull<'_>>,
) -> Exploration {
    explore_in(machine, options, observer, full, &mut Storage::default())
}

/// As [`explore_with`], in memory that was used by explorations before: for many small programs, one after the other.
pub fn explore_in<M: Machine>(
    mut machine: M,
    options: &Options,
    observer: &mut dyn Observer,
    full: Option<&mut OnFull<'_>>,
    storage: &mut Storage,
) -> Exploration {
    let mut session = Session::new(&options.limits, observer);
    if let Err(stop) = machine.start() {
        let bounded = matches!(stop, selvedge_machine::Stop::Bound(_));
        if session.stopped(stop, Default::default).is_ok() {
            let _ = session.ended(if bounded { Ending::Blocked } else { Ending::Complete }, 0);
        }
        return session.result;
    }
    match options.model {
        MemoryModel::Sc => run::<M, models::sc::Sc>(machine, options, &mut session, full, storage),
        MemoryModel::Tso => run::<M, models::tso::Tso>(machine, options, &mut session, full, storage),
        MemoryModel::Ra => run::<M, models::ra::Ra>(machine, options, &mut session, full, storage),
        MemoryModel::Rc11 => run::<M, models::rc11::Rc11>(machine, options, &mut session, full, storage),
    };
    session.result
}

fn run<M: Machine, Mo: models::Model>(
    machine: M,
    options: &Options,
    session: &mut Session<'_>,
    full: Option<&mut OnFull<'_>>,
    storage: &mut Storage,
) {
    let mut explorer = Explorer::<M, Mo>::new_in(machine, options, session, full, std::mem::take(storage));
    // An early end is noted in the result.
    let _ = explorer.run();
    *storage = explorer.into_storage();
}

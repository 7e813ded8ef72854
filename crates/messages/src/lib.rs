//! Exploration of programs whose processes pass messages: Optimal DPOR with Observers (Aronis, Jonsson, Lång, Sagonas;
//! TACAS 2018), the half about message passing.
//!
//! | file | owns |
//! |---|---|
//! | `op.rs` | what processes do |
//! | `machine.rs` | what the engine knows of a front end |
//! | `roster.rs` | numbers of processes, channels and timers |
//! | `system.rs`, `signals.rs`, `registry.rs`, `undo.rs` | what the Ops mean |
//! | `act.rs` | what a step has done |
//! | `dependence.rs` | when two steps depend on each other |
//! | `trace.rs` | the execution, happens-before, races |
//! | `reversal.rs` | sequences that reverse races |
//! | `weak_initials.rs` | weak initials and redundancy |
//! | `explorer.rs` | Algorithm 1 |
//! | `ending.rs`, `session.rs` | what executions mean; results and limits |
//! | `schedule.rs`, `replay.rs` | executions written down, and run again |
//! | `chart.rs` | message sequence charts |

pub mod act;
pub mod chart;
pub mod dependence;
mod ending;
mod explorer;
pub mod machine;
pub mod op;
mod registry;
pub mod replay;
pub mod reversal;
pub mod roster;
pub mod schedule;
pub mod session;
mod signals;
pub mod system;
pub mod trace;
mod undo;
pub mod weak_initials;

pub use machine::{Access, Machine, Status};
pub use op::{
    Accepts, AliasEnd, Content, Info, Message, MessageId, Name, Op, Outcome, Pid, Query, Reason, Ref, Sender, Target,
    first_process,
};
pub use schedule::Schedule;
pub use session::{Exploration, Found, Nobody, Observer, Options};
pub use system::{Delivery, System};

use session::Session;

/// Explores a program.
pub fn explore<M: Machine>(machine: M, options: &Options, observer: &mut dyn Observer<M>) -> Exploration {
    let mut session = Session::new(options);
    let (system, stop) = System::start_with(machine, options.delivery, Default::default(), true);
    if let Some(stop) = stop
        && session.stopped(stop, || Schedule::empty(true)).is_err()
    {
        return session.result;
    }
    // An early end is noted in the result.
    let _ = explorer::Explorer::new(system, &mut session, observer).run();
    session.result
}

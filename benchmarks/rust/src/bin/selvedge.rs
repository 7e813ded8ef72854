//! The programs under Selvedge.

#[path = "../../../../crates/selvedge/examples/programs/mod.rs"]
#[allow(dead_code)]
mod programs;

/// What the programs are written against.
mod library {
    pub use selvedge::{cell, hint, sync, thread};
}

use selvedge::model::Builder;
use selvedge_peers::Shown;

fn main() {
    selvedge_peers::main(programs::all(), |body, limit| {
        let mut builder = Builder::new();
        builder.max_duration = Some(limit);
        // The peers let nothing fail or wake for no reason.
        builder.spurious = false;
        let stats = builder.explore(move || body());
        Shown { executions: stats.complete + stats.blocked, failure: stats.failure }
    });
}

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
use std::sync::OnceLock;

fn main() {
    selvedge_peers::main(programs::all(), |body, limit| {
        // What the environment says is looked up once: that is no part of an exploration.
        static BUILDER: OnceLock<Builder> = OnceLock::new();
        let builder = BUILDER.get_or_init(|| {
            let mut builder = Builder::new();
            builder.max_duration = Some(limit);
            // The peers let nothing fail or wake for no reason.
            builder.spurious = false;
            // To compare what an execution takes, apart from what goes into having fewer.
            builder.attempts_one_by_one = std::env::var_os("ONE_BY_ONE").is_some();
            builder
        });
        let stats = builder.explore(move || body());
        Shown { executions: stats.complete + stats.blocked, failure: stats.failure }
    });
}

//! The programs under loom.

#[path = "../../../../crates/selvedge/examples/programs/mod.rs"]
#[allow(dead_code)]
mod programs;

/// What the programs are written against.
mod library {
    pub use loom::{cell, hint, sync, thread};
}

use loom::model::Builder;
use selvedge_peers::Shown;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

fn main() {
    selvedge_peers::main(programs::all(), |body, limit| {
        let executions = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&executions);
        // What the environment says is looked up once: that is no part of an exploration.
        static BUILDER: OnceLock<Builder> = OnceLock::new();
        let builder = BUILDER.get_or_init(|| {
            let mut builder = Builder::new();
            builder.max_duration = Some(limit);
            // As many as Selvedge allows; 1,000 unless set.
            builder.max_branches = 10_000;
            builder
        });
        let failure = selvedge_peers::failure(move || {
            builder.check(move || {
                counter.fetch_add(1, Ordering::Relaxed);
                body();
            })
        });
        Shown { executions: executions.load(Ordering::Relaxed), failure }
    });
}

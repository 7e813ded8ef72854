//! The programs under shuttle, with its exhaustive scheduler.

#[path = "../../../../crates/selvedge/examples/programs/mod.rs"]
#[allow(dead_code)]
mod programs;

/// What the programs are written against.
mod library {
    pub use shuttle::{hint, sync, thread};

    /// shuttle has no cells of its own: races on them are not looked for.
    pub mod cell {
        #[derive(Debug)]
        pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

        impl<T> UnsafeCell<T> {
            pub fn new(value: T) -> UnsafeCell<T> {
                UnsafeCell(std::cell::UnsafeCell::new(value))
            }

            pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
                f(self.0.get())
            }

            pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
                f(self.0.get())
            }
        }
    }
}

use selvedge_peers::Shown;
use shuttle::scheduler::DfsScheduler;
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn main() {
    selvedge_peers::main(programs::all(), |body, limit| {
        let executions = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&executions);
        let mut config = Config::new();
        config.max_time = Some(limit);
        config.failure_persistence = FailurePersistence::None;
        // Executions in which a thread spins for so long are given up, and the exploration goes on.
        config.max_steps = MaxSteps::ContinueAfter(10_000);
        config.silence_warnings = true;
        let failure = selvedge_peers::failure(move || {
            Runner::new(DfsScheduler::new(None, false), config).run(move || {
                counter.fetch_add(1, Ordering::Relaxed);
                body();
            });
        });
        Shown { executions: executions.load(Ordering::Relaxed), failure }
    });
}

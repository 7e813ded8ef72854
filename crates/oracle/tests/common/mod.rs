//! The trace engine as the oracle sees it.

use selvedge_machine::ThreadId;
use selvedge_machine::session::{Limits, Observer};
use selvedge_oracle::LitmusMachine;
use selvedge_oracle::check::{Explored, Mode, Reduction};
use selvedge_trace::{Algorithm, Options, Reductions, explore_with};

#[derive(Default)]
struct Recorder {
    executions: Vec<Vec<(ThreadId, u32)>>,
}

impl Observer for Recorder {
    fn wants_executions(&self) -> bool {
        true
    }

    fn execution(&mut self, steps: &[(ThreadId, u32)]) {
        self.executions.push(steps.to_vec());
    }

    fn restart(&mut self) {
        self.executions.clear();
    }
}

/// Explores a program in a mode.
pub fn engine(machine: LitmusMachine, mode: Mode, max_executions: u64) -> Explored {
    let algorithm = match mode.reduction {
        Reduction::None => Algorithm::Naive,
        Reduction::Source => Algorithm::Source,
        Reduction::Optimal => Algorithm::Optimal,
    };
    let options = Options {
        algorithm,
        reductions: Reductions { ifaa: mode.relaxation.ifaa, observers: mode.relaxation.observers },
        limits: Limits { all: true, check_invariants: true, max_executions: Some(max_executions), ..Limits::default() },
    };
    let mut recorder = Recorder::default();
    let result = explore_with(machine, &options, &mut recorder);
    Explored { executions: recorder.executions, result }
}

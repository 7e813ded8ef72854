//! The engine of message passing as the oracle sees it.

use selvedge_messages::trace::Trace;
use selvedge_messages::{Machine, Observer, Options, Schedule, System, explore};
use selvedge_oracle::messages::check::{Explored, Mode};
use selvedge_oracle::messages::{ActorMachine, Delivery, Equivalence};

#[derive(Default)]
struct Recorder(Vec<Schedule>);

impl<M: Machine> Observer<M> for Recorder {
    fn restart(&mut self) {
        self.0.clear();
    }

    fn execution(&mut self, trace: &Trace<M>, system: &System<M>) {
        let steps = trace.events().iter().map(|event| (system.roster.role(event.action.actor), event.action.choice));
        self.0.push(Schedule::record(&system.roster, system.quiet, steps));
    }
}

/// Explores a program in a mode.
pub fn engine(machine: ActorMachine, mode: Mode, max_executions: u64) -> Explored {
    let options = Options {
        observers: mode.equivalence == Equivalence::Observers,
        delivery: match mode.delivery {
            Delivery::Instant => selvedge_messages::Delivery::Instant,
            Delivery::Fifo => selvedge_messages::Delivery::Fifo,
        },
        max_executions: Some(max_executions),
        all: true,
        ..Options::default()
    };
    let mut recorder = Recorder::default();
    let result = explore(machine, &options, &mut recorder);
    Explored { executions: recorder.0, result }
}

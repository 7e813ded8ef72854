//! The `run` command: a program once, under one schedule.
//!
//! Threads take turns: each makes one step and leaves the rest to the next. A program of one thread behaves as its
//! native binary does, which is how the machine is compared with real processors.

use crate::args::RunArgs;
use crate::exit::{Exit, Failure};
use crate::{output, program};
use selvedge_machine::{Sc, Stop, ThreadId};
use selvedge_report::verdict::RunOptions;

/// Runs the command.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let program = program::described(&args.input);
    let module = program::load(&program, Some(&[]))?;
    let environment = &args.environment;
    let options = RunOptions {
        args: environment.args.clone(),
        spurious_wakeups: environment.spurious_wakeups,
        malloc_may_fail: environment.malloc_may_fail,
        nondet: environment.nondet,
        ..RunOptions::default()
    };
    let machine = program::machine(&module, &options, &[], true)?;
    let (text, stop) = match Sc::start(machine) {
        Ok(mut sc) => {
            let stop = take_turns(&mut sc);
            (selvedge_machine::Machine::output(&sc.machine).to_owned(), stop)
        }
        Err((stop, machine)) => (selvedge_machine::Machine::output(&machine).to_owned(), Some(stop)),
    };
    output::print_raw(&text);
    match stop {
        None => Ok(Exit::Verified),
        Some(stop) => ended(stop),
    }
}

/// Runs until nobody can go on, or until somebody must not.
fn take_turns<M: selvedge_machine::Machine>(sc: &mut Sc<M>) -> Option<Stop> {
    loop {
        let enabled: Vec<ThreadId> = sc.threads().filter(|&thread| sc.enabled(thread)).collect();
        if enabled.is_empty() || sc.machine.exited() {
            return None;
        }
        for thread in enabled {
            if sc.enabled(thread)
                && !sc.machine.exited()
                && let Err((_, stop)) = sc.step(thread, 0)
            {
                return Some(stop);
            }
        }
    }
}

fn ended(stop: Stop) -> Result<Exit, Failure> {
    match stop {
        Stop::Violation(v) => {
            let place = v.places.first().map_or(String::new(), |(span, _)| format!("{span}: "));
            output::warning(&format!("{place}{}: {}", v.kind, v.message));
            Ok(Exit::Violation)
        }
        Stop::Unsupported(u) => Err(Failure::input(format!("{}: not supported: {}", u.place, u.feature))),
        Stop::Bound(bound) => {
            output::warning(&format!("{}: {}", bound.place, bound.what));
            Ok(Exit::Incomplete)
        }
    }
}

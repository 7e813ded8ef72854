//! The engine explores one execution of every class of the paper, and no other, on random programs: with observers and
//! without, with instant and with FIFO delivery. And what processes observe is what they can observe.

mod oracle;

use oracle::classes::{Result as Observed, enumerate};
use oracle::generate::{Flavour, Rng, program, shrink};
use oracle::lang::{Model, Program};
use selvedge_messages::trace::Trace;
use selvedge_messages::{Delivery, Observer, Options, System, explore};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Default)]
struct Outcomes(BTreeSet<Observed>);

impl Observer<Model> for Outcomes {
    fn restart(&mut self) {
        self.0.clear();
    }

    fn execution(&mut self, _: &Trace<Model>, system: &System<Model>) {
        self.0.insert(system.machine.histories());
    }
}

/// What is wrong with the exploration of a program; none if nothing is, or there are too many interleavings to tell.
fn problem(program: &Program, delivery: Delivery, observers: bool, limit: usize) -> Result<usize, String> {
    let run = || {
        let Some(expected) = enumerate(program, delivery, observers, limit) else { return Ok(0) };
        let options = Options { observers, delivery, deadlocks: false, ..Options::default() };
        let mut outcomes = Outcomes::default();
        let result = explore(Model::new(program.clone()), &options, &mut outcomes);
        let explored = result.complete + result.blocked;
        let possible: BTreeSet<Observed> = expected.classes.values().cloned().collect();
        if outcomes.0 != possible {
            let (found, all) = (outcomes.0.len(), possible.len());
            return Err(format!("{found} results of {all}; {explored} executions"));
        }
        if explored != expected.classes.len() as u64 {
            return Err(format!("{explored} executions, {} classes", expected.classes.len()));
        }
        Ok(expected.interleavings)
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        Err(text.unwrap_or_else(|| "a panic".to_owned()))
    })
}

fn agree(flavour: Flavour, delivery: Delivery, observers: bool, programs: u64) {
    let limit = 1400;
    let from: u64 = std::env::var("SELVEDGE_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let more: u64 = std::env::var("SELVEDGE_MORE").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut told = 0;
    for seed in from..from + programs * more {
        let random = program(&mut Rng::new(seed), flavour);
        match problem(&random, delivery, observers, limit) {
            Ok(interleavings) => told += u64::from(interleavings > 0),
            Err(_) => {
                let hook = std::panic::take_hook();
                std::panic::set_hook(Box::new(|_| {}));
                let small = shrink(random, &|p| problem(p, delivery, observers, limit).is_err());
                std::panic::set_hook(hook);
                let why = problem(&small, delivery, observers, limit);
                panic!("seed {seed}, {delivery:?}, observers {observers}: {why:?}\n{small:#?}");
            }
        }
    }
    assert!(told >= programs * more / 3, "most programs are small enough: {told}");
}

#[test]
fn messages_with_observers() {
    agree(Flavour::Messages, Delivery::Instant, true, 600);
}

#[test]
fn messages_without_observers() {
    agree(Flavour::Messages, Delivery::Instant, false, 300);
}

#[test]
fn messages_in_fifo_order() {
    agree(Flavour::Messages, Delivery::Fifo, true, 300);
    agree(Flavour::Messages, Delivery::Fifo, false, 300);
}

#[test]
fn signals_with_observers() {
    agree(Flavour::Signals, Delivery::Instant, true, 600);
}

#[test]
fn signals_without_observers_and_in_fifo_order() {
    agree(Flavour::Signals, Delivery::Instant, false, 250);
    agree(Flavour::Signals, Delivery::Fifo, true, 250);
}

#[test]
fn shared_counters_with_observers() {
    agree(Flavour::Shared, Delivery::Instant, true, 600);
}

#[test]
fn shared_counters_without_observers_and_in_fifo_order() {
    agree(Flavour::Shared, Delivery::Instant, false, 250);
    agree(Flavour::Shared, Delivery::Fifo, true, 250);
}

#[test]
fn everything_with_observers() {
    agree(Flavour::Everything, Delivery::Instant, true, 600);
}

#[test]
fn everything_without_observers_and_in_fifo_order() {
    agree(Flavour::Everything, Delivery::Instant, false, 250);
    agree(Flavour::Everything, Delivery::Fifo, true, 250);
}

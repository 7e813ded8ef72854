//! One call, without other processes: the value of a function that only computes.

use crate::atom::Atom;
use crate::interp::{self, Event, Problem};
use crate::process::{Exception, Process};
use crate::system::{Callee, System};
use crate::term::{Pid, Term};

/// Why a call has no value.
#[derive(Debug)]
pub enum NoValue {
    /// It raised an exception.
    Exception(Exception),
    /// There is no such function.
    Undefined,
    /// It asked for something that only the engine can do; with the calls that lead there.
    NeedsEngine(Vec<Term>),
    /// It cannot be run; with the calls that lead there.
    Problem(Problem, Vec<Term>),
}

/// Calls a function; `fuel` bounds the calls it makes.
pub fn evaluate(system: &mut System, module: Atom, name: Atom, args: Vec<Term>, fuel: u64) -> Result<Term, NoValue> {
    let arity = u8::try_from(args.len()).unwrap_or(u8::MAX);
    let callee =
        system.callee(module, name, arity).map_err(|error| NoValue::Problem(Problem::Code(error), Vec::new()))?;
    let Callee::Code(code) = callee else { return Err(NoValue::Undefined) };
    let mut process = Process::new(Pid(0), fuel);
    let frame =
        interp::call_frame(system, code, args).map_err(|error| NoValue::Problem(Problem::Code(error), Vec::new()))?;
    process.top = Some(frame);
    match interp::run(system, &mut process) {
        Event::Returned(value) => Ok(value),
        Event::Died(exception) => Err(NoValue::Exception(exception)),
        Event::Problem(problem) => Err(NoValue::Problem(problem, process.stacktrace())),
        Event::Asks(_) | Event::Receives => Err(NoValue::NeedsEngine(process.stacktrace())),
        Event::Matches | Event::NoMatch | Event::WaitsFor(_) => unreachable!("only probes end so"),
    }
}

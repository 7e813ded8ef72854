//! One call, without other processes: the value of a function that only computes, or uses tables of its own.

use crate::atom::Atom;
use crate::interp::{self, Event, Problem};
use crate::process::{Exception, Process};
use crate::request::Then;
use crate::system::{Callee, System};
use crate::table::Tables;
use crate::term::{Pid, Term};
use std::rc::Rc;

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
    let mut tables = Tables::default();
    let mut event = interp::run(system, &mut process);
    loop {
        let request = match event {
            Event::Returned(value) => return Ok(value),
            Event::Died(exception) => return Err(NoValue::Exception(exception)),
            Event::Problem(problem) => return Err(NoValue::Problem(problem, process.stacktrace())),
            Event::Receives | Event::Halts(_) => return Err(NoValue::NeedsEngine(process.stacktrace())),
            Event::Matches | Event::NoMatch | Event::WaitsFor(_) => unreachable!("only probes end so"),
            Event::Asks(request) => request,
        };
        let Then::Table(mut op) = request.then else { return Err(NoValue::NeedsEngine(process.stacktrace())) };
        let op = Rc::make_mut(&mut op);
        op.perform(&mut tables, process.pid);
        event = match interp::answer(&mut process, op.result()) {
            Some(event) => event,
            None => interp::run(system, &mut process),
        };
    }
}

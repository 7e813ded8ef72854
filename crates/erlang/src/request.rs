//! What a process asks of the engine, and what it makes of the answer.

use crate::machine::Machine;
use crate::table::TableOp;
use crate::term::{Ref, Term};
use selvedge_messages::Op;
use std::rc::Rc;

/// An Op, and what becomes of its outcome.
#[derive(Clone)]
pub struct Request {
    /// The Op.
    pub op: Op<Machine>,
    /// What becomes of its outcome.
    pub then: Then,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("then", &self.then).finish_non_exhaustive()
    }
}

/// What becomes of an outcome.
#[derive(Clone, Debug)]
pub enum Then {
    /// This value; `badarg` if it was refused.
    Value(Term),
    /// This value, even if it was refused.
    Always(Term),
    /// A new process runs this; its pid, with the reference if it is monitored.
    Spawned(Child, Option<Ref>),
    /// `true` or `false`.
    Flag,
    /// The time that is left of a timer (0, as time is not modelled), or `false`.
    TimeLeft,
    /// The outcome of setting `trap_exit` to this.
    TrapExit(bool),
    /// A pid or `undefined`.
    Found,
    /// `true` or `false`: whether the process lives.
    Alive,
    /// `{Item, Value}`, `[]` for a name that is not there, or `undefined`: the answer of `process_info/2`.
    Info(Term),
    /// A message is received, or the time is over.
    Receive,
    /// What the operation on tables has given.
    Table(Rc<TableOp>),
    /// The process has ended.
    Nothing,
}

/// What a new process runs.
#[derive(Clone, Debug)]
pub struct Child {
    /// A function value, or `{Module, Name}`.
    pub function: Term,
    /// Its arguments.
    pub args: Vec<Term>,
}

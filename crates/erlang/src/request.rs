//! What a process asks of the engine, and what it makes of the answer.

use crate::atom::Atom;
use crate::machine::{Machine, erlang_pid};
use crate::table::TableOp;
use crate::term::{Ref, Term};
use selvedge_ir::EntityRef;
use selvedge_messages::{Info, Op};
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
    /// The answer of `process_info/2`.
    Info(Box<Question>),
    /// A message is received, or the time is over.
    Receive,
    /// What the operation on tables has given.
    Table(Rc<TableOp>),
    /// The process has ended.
    Nothing,
}

/// What `process_info/2` was asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// The items, each with what is known of it already; of one, perhaps, nothing is.
    pub items: Vec<(Term, Option<Term>)>,
    /// Whether it was a list.
    pub list: bool,
}

impl Question {
    /// `{Item, Value}`, `[]` for a name that is not there, or a list of pairs; `undefined` if there is no such process.
    pub fn answer(self, info: Info) -> Term {
        let found = match info {
            Info::NoProcess => return Term::Atom(Atom::UNDEFINED),
            Info::Name(None) if !self.list => return Term::Nil,
            Info::Name(None) => Term::Nil,
            Info::Name(Some(name)) => Term::Atom(Atom::from_number(name.index())),
            Info::Yes => Term::bool(true),
            Info::No => Term::bool(false),
            Info::Count(count) => Term::count(count),
            Info::Processes(pids) => Term::list(pids.into_iter().map(|pid| erlang_pid(pid).into()).collect::<Vec<_>>()),
        };
        let pair = |(item, value): (Term, Option<Term>)| Term::tuple([item, value.unwrap_or_else(|| found.clone())]);
        let mut pairs = self.items.into_iter().map(pair);
        if self.list { Term::list(pairs.collect::<Vec<_>>()) } else { pairs.next().unwrap_or(Term::Nil) }
    }
}

/// What a new process runs.
#[derive(Clone, Debug)]
pub struct Child {
    /// A function value, or `{Module, Name}`.
    pub function: Term,
    /// Its arguments.
    pub args: Vec<Term>,
}

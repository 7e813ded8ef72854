//! Native functions: what the run-time system does in C, and a few library functions that are called so often that
//! interpreting them would be a waste.
//!
//! Functions without effects get their arguments only ([`Native`]) and may be used in guards. The others get the process
//! too ([`Bif`]); they answer with a value, an exception, a call, or a request to the engine.

mod arithmetic;
mod binaries;
mod control;
mod conversion;
mod io;
mod lists;
mod maps;
mod processes;
mod tables;
mod terms;

pub use io::format as format_text;

use crate::atom::Atom;
use crate::interp::Problem;
use crate::process::{Exception, Frame, Process};
use crate::request::Request;
use crate::system::System;
use crate::term::Term;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// An exception of a native function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Raised {
    /// `error`, `exit` or `throw`.
    pub class: Atom,
    /// Why.
    pub reason: Term,
}

/// The result of a native function without effects.
pub type Pure = Result<Term, Box<Raised>>;

/// A native function without effects.
pub type Native = fn(&[Term]) -> Pure;

/// A native function.
pub type Bif = fn(&mut Context<'_>, &[Term]) -> Flow;

/// What a native function can see.
pub struct Context<'a> {
    /// All code.
    pub system: &'a mut System,
    /// The process (without its frames).
    pub process: &'a mut Process,
    /// The innermost frame.
    pub top: &'a Frame,
}

/// How a process goes on behind a native function.
#[derive(Debug)]
pub enum Flow {
    /// With a value.
    Value(Term),
    /// With an exception, raised by the function.
    Raise(Box<Raised>),
    /// With an exception that has a trace of its own.
    Exception(Box<Exception>),
    /// With a call of a function value.
    Call(Term, Vec<Term>),
    /// With a call of a function by its name.
    CallNamed(Atom, Atom, Vec<Term>),
    /// Not at all: it ends, and nothing catches that.
    Exit(Term),
    /// With a call that forgets all others.
    Restart(Atom, Atom, Vec<Term>),
    /// With the answer to a request.
    Ask(Box<Request>),
    /// Not at all: all processes are ended, with this status.
    Halt(Term),
    /// Not at all: something is not supported.
    Unsupported(String),
    /// Not at all.
    Problem(Box<Problem>),
}

impl From<Pure> for Flow {
    fn from(result: Pure) -> Flow {
        match result {
            Ok(value) => Flow::Value(value),
            Err(raised) => Flow::Raise(raised),
        }
    }
}

/// An exception of class `error`.
pub fn error<T>(reason: Term) -> Result<T, Box<Raised>> {
    Err(Box::new(Raised { class: Atom::ERROR, reason }))
}

/// The exception `badarg`.
pub fn badarg<T>() -> Result<T, Box<Raised>> {
    error(Term::Atom(Atom::BADARG))
}

/// `{Tag, Value}` as an exception.
pub fn error_with<T>(tag: Atom, value: &Term) -> Result<T, Box<Raised>> {
    error(Term::tuple([Term::Atom(tag), value.clone()]))
}

/// Binaries with more bytes are not made here.
pub const TERM_LIMIT: usize = 1 << 26;

/// Nor are lists with more elements, in one go.
pub const LIST_LIMIT: usize = 1 << 22;

/// Nothing with so many elements or bytes is made by any run-time system.
const NOWHERE: usize = 1 << 36;

/// A term is larger than it can be here: if it could be made elsewhere, the program is not to blame, and nothing catches it.
pub fn too_large<T>(size: usize) -> Result<T, Box<Raised>> {
    let class = if size < NOWHERE { Atom::TOO_LARGE } else { Atom::ERROR };
    Err(Box::new(Raised { class, reason: Term::Atom(Atom::SYSTEM_LIMIT) }))
}

/// A row of a table of native functions: module, name, arity, implementation.
type Row<F> = (&'static str, &'static str, u8, F);
type Table<F> = FxHashMap<(Atom, Atom, u8), F>;

static PURE: LazyLock<Table<Native>> = LazyLock::new(|| {
    let parts = [arithmetic::TABLE, binaries::TABLE, conversion::TABLE, lists::TABLE, maps::TABLE, terms::TABLE];
    table(&parts)
});

static EFFECTFUL: LazyLock<Table<Bif>> =
    LazyLock::new(|| table(&[control::TABLE, processes::TABLE, tables::TABLE, io::TABLE]));

fn table<F: Copy>(parts: &[&[Row<F>]]) -> Table<F> {
    let rows = parts.iter().flat_map(|part| part.iter());
    rows.map(|(module, name, arity, function)| ((Atom::new(module), Atom::new(name), *arity), *function)).collect()
}

/// The native function without effects of this name.
pub fn pure(module: Atom, name: Atom, arity: u8) -> Option<Native> {
    PURE.get(&(module, name, arity)).copied()
}

/// The native function of this name that needs the process.
pub fn effectful(module: Atom, name: Atom, arity: u8) -> Option<Bif> {
    EFFECTFUL.get(&(module, name, arity)).copied()
}

/// The names of all native functions.
pub fn names() -> Vec<String> {
    let all = PURE.keys().chain(EFFECTFUL.keys());
    let mut names: Vec<String> = all.map(|(module, name, arity)| format!("{module}:{name}/{arity}")).collect();
    names.sort();
    names
}

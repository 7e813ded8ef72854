//! The state of a process: a chain of frames.
//!
//! Frames are shared between a process and its copies; a copy of a process is a counter. When a process that has been
//! copied goes on, it copies the one frame that it changes.

use crate::atom::Atom;
use crate::code::{Function, Instr, Pc};
use crate::core::Place;
use crate::term::{Map, Pid, Ref, Term};
use std::cell::RefCell;
use std::rc::Rc;

/// A call that has not returned yet.
#[derive(Clone, Debug)]
pub struct Frame {
    /// What is being run.
    pub function: Rc<Function>,
    /// The next instruction.
    pub pc: Pc,
    /// Its variables.
    pub registers: Vec<Term>,
    /// Whom it returns to.
    pub parent: Option<Rc<Frame>>,
}

impl Frame {
    /// Where the instruction before the next one stands: the call that has not returned. A receive that waits is the next
    /// instruction.
    pub fn place(&self) -> Place {
        let waits = self.function.code.get(self.pc.0 as usize).is_some_and(Instr::is_receive);
        let index = if waits { self.pc.0 as usize } else { (self.pc.0 as usize).saturating_sub(1) };
        self.function.places.get(index).copied().unwrap_or(self.function.place)
    }
}

/// What the four receive primops see.
#[derive(Clone, Debug)]
pub enum Inbox {
    /// The next receive asks for a message.
    Closed,
    /// This message is being received: the engine has said that it matches.
    Given(Term),
    /// The time is over.
    TimedOut,
    /// Does this message match? (On a copy.)
    Probe(Term),
    /// How long does it wait? (On a copy.)
    ProbeTimeout,
}

/// A process.
#[derive(Clone, Debug)]
pub struct Process {
    /// Who it is.
    pub pid: Pid,
    /// The innermost call; none if it has ended.
    pub top: Option<Rc<Frame>>,
    /// The process dictionary.
    pub dictionary: Rc<Map>,
    /// How many references it has made.
    pub references: u32,
    /// What its receive sees.
    pub inbox: Inbox,
    /// How many calls it may make between two Ops.
    pub fuel: u64,
    /// How many it has made since the last.
    pub calls: u64,
    /// Whether it traps exits, as it has last said.
    pub trap_exit: bool,
    /// Who started it, if someone did.
    pub parent: Option<Pid>,
    /// Where what it prints goes; only replays keep it.
    pub output: Option<Rc<RefCell<String>>>,
}

impl Process {
    /// A process that does nothing yet.
    pub fn new(pid: Pid, fuel: u64) -> Process {
        Process {
            pid,
            top: None,
            dictionary: Rc::default(),
            references: 0,
            inbox: Inbox::Closed,
            fuel,
            calls: 0,
            trap_exit: false,
            parent: None,
            output: None,
        }
    }

    /// A new reference.
    pub fn make_ref(&mut self) -> Ref {
        let number = self.references;
        self.references += 1;
        Ref { maker: self.pid, number }
    }

    /// The calls that have not returned, innermost first.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        std::iter::successors(self.top.as_deref(), |frame| frame.parent.as_deref())
    }

    /// The stack trace of a process, as Erlang shows it.
    pub fn stacktrace(&self) -> Vec<Term> {
        /// The run-time system's own limit.
        const DEPTH: usize = 8;
        self.frames().take(DEPTH).map(entry).collect()
    }
}

/// `{Module, Function, Arity, [{file, File}, {line, Line}]}`
pub fn entry(frame: &Frame) -> Term {
    let function = &frame.function;
    let arity = Term::Int(i64::from(function.arity));
    stack_entry(function.module, function.name, arity, frame.place())
}

/// An entry of a stack trace; the arity may be a list of arguments.
pub fn stack_entry(module: Atom, name: Atom, arity: Term, place: Place) -> Term {
    let location = if place.line == 0 {
        Term::Nil
    } else {
        Term::list([
            Term::tuple([Term::Atom(Atom::FILE), Term::string(place.file.name())]),
            Term::tuple([Term::Atom(Atom::LINE), Term::Int(i64::from(place.line))]),
        ])
    };
    Term::tuple([Term::Atom(module), Term::Atom(name), arity, location])
}

/// An exception on its way.
#[derive(Clone, Debug)]
pub struct Exception {
    /// `error`, `exit` or `throw`.
    pub class: Atom,
    /// Why.
    pub reason: Term,
    /// Where it was raised.
    pub trace: Term,
}

impl Exception {
    /// What a handler gets as the trace: with it, `raise` knows the class.
    pub fn caught(&self) -> Term {
        Term::tuple([Term::Atom(Atom::RAW_TRACE), Term::Atom(self.class), self.trace.clone()])
    }

    /// The exit reason of a process that does not catch it.
    pub fn exit_reason(&self) -> Term {
        match self.class {
            Atom::EXIT => self.reason.clone(),
            Atom::THROW => {
                let reason = Term::tuple([Term::Atom(Atom::NOCATCH), self.reason.clone()]);
                Term::tuple([reason, self.trace.clone()])
            }
            _ => Term::tuple([self.reason.clone(), self.trace.clone()]),
        }
    }
}

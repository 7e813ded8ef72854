//! A machine whose processes run Rust closures.
//!
//! A closure cannot be run backwards. What the machine tells about a process (status, pending Op, place) is kept with a log
//! of changes, so going back costs nothing at first. But a process that had gone further is then ahead of what is told
//! about it. When it is next to be resumed, it is made to unwind and run again from its start, with the outcomes that it
//! was given. Other processes are not concerned: they share nothing.
//!
//! Processes have to be deterministic: the same outcomes give the same Ops. A run that differs is an error that names the
//! operation.

use crate::context::{self, At, Body, Context};
use crate::coroutine::{Came, Pool, Strand, Told};
use crate::payload::{self, Payload, Predicate, Signals};
use selvedge_ir::EntityRef;
use selvedge_machine::{SourceSpan, Stop, Unsupported, Violation, ViolationKind};
use selvedge_messages::{
    Accepts, Content, Machine, Message, Name, Op, Outcome, Pid, Reason, Status, Target, first_process,
};
use std::rc::Rc;

/// What a process yields.
pub(crate) enum Yielded {
    /// An operation.
    Op(Op<RustMachine>, At),
    /// Something that is not possible.
    Stop(Stop),
}

#[derive(Clone)]
struct State {
    status: Status,
    op: Option<Op<RustMachine>>,
    at: Option<At>,
    is_server: bool,
    /// How many outcomes it was given.
    given: usize,
    /// How signals become messages.
    signals: Option<Rc<Signals>>,
}

const ABSENT: State = State { status: Status::Absent, op: None, at: None, is_server: false, given: 0, signals: None };

struct Process {
    state: State,
    body: Option<Body>,
    name: Option<Rc<str>>,
    strand: Option<Strand>,
    /// How many outcomes the strand has consumed.
    consumed: usize,
    /// What it was given, for which kind of Op; those behind `state.given` have been taken back.
    outcomes: Vec<(Kind, Outcome<RustMachine>)>,
}

type Kind = std::mem::Discriminant<Op<RustMachine>>;

/// A program being run.
pub(crate) struct RustMachine {
    pool: Pool,
    processes: Vec<Process>,
    saved: Vec<(Pid, State)>,
    marks: Vec<usize>,
}

impl RustMachine {
    /// A machine whose first process runs this closure.
    pub fn new(body: Body) -> RustMachine {
        let mut machine =
            RustMachine { pool: Pool::default(), processes: Vec::new(), saved: Vec::new(), marks: Vec::new() };
        let main = machine.process(first_process());
        main.body = Some(body);
        main.name = Some("main".into());
        machine
    }

    fn process(&mut self, pid: Pid) -> &mut Process {
        while self.processes.len() <= pid.index() {
            self.processes.push(Process {
                state: ABSENT,
                body: None,
                name: None,
                strand: None,
                consumed: 0,
                outcomes: Vec::new(),
            });
        }
        &mut self.processes[pid.index()]
    }

    fn save(&mut self, pid: Pid) {
        let state = self.process(pid).state.clone();
        if !self.marks.is_empty() {
            self.saved.push((pid, state));
        }
    }

    /// Starts a process's coroutine and runs it to its first Op.
    fn begin(&mut self, pid: Pid) -> Came {
        let process = &mut self.processes[pid.index()];
        if let Some(old) = process.strand.take() {
            self.pool.abandon(old);
        }
        let body = process.body.as_ref().expect("a process that is run has a body");
        let mut strand = self.pool.strand(Box::new(Context::new(pid)), body());
        let came = self.pool.resume(&mut strand, Told::Outcome(Outcome::Done));
        process.strand = Some(strand);
        process.consumed = 0;
        came
    }

    /// Runs a coroutine to its next Op.
    fn go(&mut self, pid: Pid, outcome: Outcome<RustMachine>) -> Came {
        let process = &mut self.processes[pid.index()];
        process.consumed += 1;
        let strand = process.strand.as_mut().expect("a process that runs has a coroutine");
        self.pool.resume(strand, Told::Outcome(outcome))
    }

    /// Notes where a process has come to.
    fn note(&mut self, pid: Pid, came: Came) -> Result<(), Stop> {
        let process = &mut self.processes[pid.index()];
        let context = &process.strand.as_ref().expect("a process that has run has a coroutine").context;
        let state = &mut process.state;
        state.status = Status::Ready;
        state.is_server = context.is_server;
        state.signals.clone_from(&context.signals);
        match came {
            Came::To(Yielded::Op(op, at)) => {
                state.op = Some(op);
                state.at = Some(at);
                Ok(())
            }
            Came::To(Yielded::Stop(stop)) => {
                state.status = Status::Stopped;
                Err(stop)
            }
            Came::End => {
                state.op = Some(Op::Exit { reason: Reason::Normal });
                Ok(())
            }
            Came::Panic(message, place) => {
                state.op = Some(Op::Exit { reason: Reason::Other(format!("panicked: {message}").into()) });
                if context.may_panic {
                    return Ok(());
                }
                let places = vec![(place, String::new())];
                Err(Stop::Violation(Box::new(Violation { kind: ViolationKind::Assertion, message, places })))
            }
        }
    }

    /// Runs a process again up to where it should be.
    fn run_again(&mut self, pid: Pid) -> Result<(), Stop> {
        let mut came = self.begin(pid);
        for n in 0..self.processes[pid.index()].state.given {
            let (kind, outcome) = self.processes[pid.index()].outcomes[n].clone();
            match &came {
                Came::To(Yielded::Op(op, _)) if std::mem::discriminant(op) == kind => {}
                Came::To(Yielded::Op(op, _)) => return Err(self.not_deterministic(pid, word(op))),
                _ => return Err(self.not_deterministic(pid, "its end")),
            }
            came = self.go(pid, outcome);
        }
        let expected = self.processes[pid.index()].state.op.as_ref();
        match (&came, expected) {
            (Came::To(Yielded::Op(op, _)), Some(expected)) if alike(op, expected) => Ok(()),
            (Came::To(Yielded::Op(op, _)), _) => Err(self.not_deterministic(pid, word(op))),
            _ => Err(self.not_deterministic(pid, "its end")),
        }
    }

    fn not_deterministic(&self, pid: Pid, now: &str) -> Stop {
        let feature = format!(
            "a process that is not deterministic: {} came to {now}, and with the same outcomes to something else in another \
             run. A process must not depend on time, randomness, addresses, or on anything that it shares with others",
            self.name(pid)
        );
        Stop::Unsupported(Box::new(Unsupported { feature, place: self.place(pid) }))
    }

    fn state(&self, pid: Pid) -> &State {
        self.processes.get(pid.index()).map_or(&ABSENT, |process| &process.state)
    }
}

/// Whether two Ops could be the same: payloads and predicates are not compared.
fn alike(a: &Op<RustMachine>, b: &Op<RustMachine>) -> bool {
    match (a, b) {
        (Op::Send { to: x, .. }, Op::Send { to: y, .. }) => x == y,
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

/// An Op in a word.
fn word(op: &Op<RustMachine>) -> &'static str {
    match op {
        Op::Spawn { .. } => "a spawn",
        Op::Send { .. } => "a send",
        Op::Receive { .. } => "a receive",
        Op::Exit { .. } => "its end",
        Op::Choose { .. } => "a nondeterministic choice",
        _ => "another operation",
    }
}

impl Drop for RustMachine {
    fn drop(&mut self) {
        for process in &mut self.processes {
            if let Some(strand) = process.strand.take() {
                self.pool.abandon(strand);
            }
        }
    }
}

impl Machine for RustMachine {
    type Payload = Payload;
    type Predicate = Predicate;
    type Reason = Rc<str>;
    type Effect = ();

    fn start(&mut self) -> Result<(), Stop> {
        let came = self.begin(first_process());
        self.note(first_process(), came)
    }

    fn status(&self, pid: Pid) -> Status {
        self.state(pid).status
    }

    fn pending(&self, pid: Pid) -> &Op<Self> {
        self.state(pid).op.as_ref().expect("a process that is ready waits with an Op")
    }

    fn resume(&mut self, pid: Pid, outcome: Outcome<Self>) -> Result<(), Stop> {
        let process = &self.processes[pid.index()];
        if process.strand.is_none() || process.consumed != process.state.given {
            self.run_again(pid)?;
        }
        let process = &mut self.processes[pid.index()];
        let given = process.state.given;
        process.outcomes.truncate(given);
        let kind = process.state.op.as_ref().map(std::mem::discriminant);
        process.outcomes.push((kind.expect("a process that is resumed waits with an Op"), outcome.clone()));
        let old = std::mem::replace(&mut process.state, State { given: given + 1, ..ABSENT });
        if !self.marks.is_empty() {
            self.saved.push((pid, old));
        }
        let child = match outcome {
            Outcome::Spawned(child) => {
                let strand = process.strand.as_mut().expect("a process that is resumed has a coroutine");
                Some((child, strand.context.body.take().expect("who creates a process says what it runs")))
            }
            _ => None,
        };
        let came = self.go(pid, outcome);
        let own = self.note(pid, came);
        // The parent's own trouble is reported first; the child exists all the same.
        match child {
            Some((child, (body, name))) => {
                self.save(child);
                let process = &mut self.processes[child.index()];
                process.body = Some(body);
                process.name = name;
                process.state = ABSENT;
                let came = self.begin(child);
                own.and(self.note(child, came))
            }
            None => own,
        }
    }

    fn perform(&mut self, _: Pid) {
        unreachable!("no process of a Rust program yields a shared operation")
    }

    fn ended(&mut self, pid: Pid, _: &Reason<Rc<str>>) -> Result<Option<()>, Stop> {
        let state = &mut self.processes[pid.index()].state;
        let ended = State { status: Status::Ended, given: state.given, ..ABSENT };
        let old = std::mem::replace(state, ended);
        if !self.marks.is_empty() {
            self.saved.push((pid, old));
        }
        Ok(None)
    }

    fn accepts(&self, predicate: &Predicate, message: &Message<Self>) -> bool {
        predicate.accepts(message)
    }

    fn commute(&self, (): &(), (): &()) -> bool {
        false
    }

    fn mark(&mut self) {
        self.marks.push(self.saved.len());
    }

    fn undo(&mut self) {
        let saved = self.marks.pop().expect("undo has a mark to go to");
        for (pid, state) in self.saved.drain(saved..).rev() {
            self.processes[pid.index()].state = state;
        }
    }

    fn is_server(&self, pid: Pid) -> bool {
        self.state(pid).is_server
    }

    fn name(&self, pid: Pid) -> String {
        let name = self.processes.get(pid.index()).and_then(|process| process.name.as_ref());
        name.map_or_else(|| format!("process {}", pid.index()), |name| name.to_string())
    }

    fn place(&self, pid: Pid) -> SourceSpan {
        self.state(pid).at.map(context::span).unwrap_or_default()
    }

    fn waits_for(&self, pid: Pid) -> String {
        match &self.state(pid).op {
            Some(Op::Receive { accepts: Accepts::When(predicate), .. }) => {
                format!("a message of type {}", predicate.0.what())
            }
            _ => String::new(),
        }
    }

    fn show_message(&self, message: &Message<Self>) -> String {
        let named = |target| match target {
            Target::Pid(pid) => self.name(pid),
            Target::Name(name) => self.show_name(name),
            Target::Alias(alias) => self.name(alias.owner),
        };
        payload::show(message, |pid| self.name(pid), named)
    }

    fn show_refused(&self, pid: Pid, message: &Message<Self>) -> String {
        let shown = self.show_message(message);
        match (&message.content, &self.state(pid).op) {
            (Content::User(payload), Some(Op::Receive { accepts: Accepts::When(predicate), .. }))
                if payload.0.type_name() != predicate.0.what() =>
            {
                format!("{shown} (of type {})", payload.0.type_name())
            }
            _ => shown,
        }
    }

    fn show_reason(&self, reason: &Reason<Rc<str>>) -> String {
        payload::show_reason(reason)
    }

    fn show_name(&self, name: Name) -> String {
        context::name_text(name)
    }
}

//! Erlang processes as the engine sees them.
//!
//! A process is a value that can be copied (`process.rs`), so going back restores copies: before a process changes, the
//! old one is kept with the newest mark. The predicate of a receive is such a copy, taken at the receive: it is run on a
//! mailbox of one message to see whether it would take it.

use crate::atom::Atom;
use crate::code::Instr;
use crate::interp::{self, Event};
use crate::process::{Exception, Inbox, Process};
use crate::report;
use crate::request::{Child, Request, Then};
use crate::stores::Stores;
use crate::system::{Callee, CodeError, System};
use crate::table::{Effect, Tables};
use crate::term::{Fun, Pid, Ref, Term};
use selvedge_ir::EntityRef;
use selvedge_machine::{SourceSpan, Stop};
use selvedge_messages::{Accepts, Access, Content, Info, Message, Name, Op, Outcome, Reason, Status, Target};
use std::cell::RefCell;
use std::rc::Rc;

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The module of the first call.
    pub module: Atom,
    /// Its function.
    pub function: Atom,
    /// Its arguments.
    pub args: Vec<Term>,
    /// How many calls a process may make between two Ops.
    pub fuel: u64,
    /// Receives that wait at least so many milliseconds wait forever.
    pub after_timeout: Option<u64>,
    /// Functions that may wait forever: a process that is in one of them is a server.
    pub servers: Vec<(Atom, Option<u8>)>,
    /// Exit reasons that are no errors.
    pub expected_exits: Vec<Term>,
    /// Where output goes, if it is kept.
    pub output: Option<Rc<RefCell<String>>>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            module: Atom::UNDEFINED,
            function: Atom::new("test"),
            args: Vec::new(),
            fuel: 10_000_000,
            after_timeout: Some(5000),
            servers: Vec::new(),
            expected_exits: Vec::new(),
            output: None,
        }
    }
}

#[derive(Clone)]
struct Slot {
    status: Status,
    process: Process,
    request: Request,
    /// What it was started with, for people.
    label: Rc<str>,
    /// The exception by which it ends, if that is an error.
    crash: Option<Rc<Exception>>,
}

/// A program being run.
pub struct Machine {
    system: Rc<RefCell<System>>,
    settings: Settings,
    slots: Vec<Slot>,
    tables: Tables,
    stores: Stores,
    undo: Vec<Undo>,
    marks: Vec<usize>,
}

enum Undo {
    Slot(usize, Box<Slot>),
    Tables(Tables),
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// The engine's number of a process.
pub fn engine_pid(pid: Pid) -> selvedge_messages::Pid {
    selvedge_messages::Pid::new(pid.0 as usize)
}

/// The process with an engine's number.
pub fn erlang_pid(pid: selvedge_messages::Pid) -> Pid {
    Pid(u32::try_from(pid.index()).expect("the engine's numbers are small"))
}

/// The engine's name of a reference.
pub fn engine_ref(reference: Ref) -> selvedge_messages::Ref {
    selvedge_messages::Ref { owner: engine_pid(reference.maker), n: reference.number }
}

/// The reference with an engine's name.
pub fn erlang_ref(reference: selvedge_messages::Ref) -> Ref {
    Ref { maker: erlang_pid(reference.owner), number: reference.n }
}

/// The engine's number of a registered name.
pub fn engine_name(name: Atom) -> Name {
    Name::new(name.number())
}

/// The reason of an exit signal that is sent: `kill` is special there.
pub fn signal_reason(reason: &Term) -> Reason<Term> {
    if reason.is(Atom::KILL) { Reason::Kill } else { exit_reason(reason.clone()) }
}

/// The reason with which a process ends.
pub fn exit_reason(reason: Term) -> Reason<Term> {
    match reason {
        Term::Atom(Atom::NORMAL) => Reason::Normal,
        Term::Atom(Atom::KILLED) => Reason::Killed,
        Term::Atom(Atom::NOPROC) => Reason::NoProcess,
        other => Reason::Other(other),
    }
}

/// A reason as a term.
pub fn reason_term(reason: &Reason<Term>) -> Term {
    match reason {
        Reason::Normal => Term::Atom(Atom::NORMAL),
        Reason::Kill => Term::Atom(Atom::KILL),
        Reason::Killed => Term::Atom(Atom::KILLED),
        Reason::NoProcess => Term::Atom(Atom::NOPROC),
        Reason::Other(term) => term.clone(),
    }
}

/// A message as the receiver sees it.
pub fn message_term(content: &Content<Machine>) -> Term {
    match content {
        Content::User(payload) => payload.clone(),
        Content::Exit { from, reason } => {
            Term::tuple([Term::Atom(Atom::EXIT_SIGNAL), erlang_pid(*from).into(), reason_term(reason)])
        }
        Content::Down { reference, target, reason } => {
            let object = match target {
                Target::Pid(pid) => erlang_pid(*pid).into(),
                Target::Name(name) => {
                    Term::tuple([Term::Atom(Atom::from_number(name.index())), Term::Atom(Atom::NONODE)])
                }
                Target::Alias(reference) => erlang_ref(*reference).into(),
            };
            let reference = erlang_ref(*reference).into();
            Term::tuple([Term::Atom(Atom::DOWN), reference, Term::Atom(Atom::PROCESS), object, reason_term(reason)])
        }
    }
}

impl Machine {
    /// A program that has not started.
    pub fn new(system: Rc<RefCell<System>>, settings: Settings) -> Machine {
        Machine {
            system,
            settings,
            slots: Vec::new(),
            tables: Tables::default(),
            stores: Stores::default(),
            undo: Vec::new(),
            marks: Vec::new(),
        }
    }

    fn save(&mut self, index: usize) {
        if !self.marks.is_empty() {
            self.undo.push(Undo::Slot(index, Box::new(self.slots[index].clone())));
        }
    }

    fn absent(&self) -> Slot {
        let process = Process::new(Pid(0), 0);
        let request = Request { op: Op::Exit { reason: Reason::Normal }, then: Then::Nothing };
        Slot { status: Status::Absent, process, request, label: "".into(), crash: None }
    }

    /// Starts a process and runs it to its first Op.
    fn begin(&mut self, pid: Pid, parent: Option<Pid>, child: &Child) -> Result<(), Stop> {
        let index = pid.0 as usize;
        while self.slots.len() <= index {
            self.slots.push(self.absent());
        }
        self.save(index);
        let mut process = Process::new(pid, self.settings.fuel);
        process.parent = parent;
        process.output = self.settings.output.clone();
        let label = label(child);
        let slot = &mut self.slots[index];
        slot.status = Status::Ready;
        slot.label = label;
        slot.crash = None;
        slot.process = process;
        let event = first_event(&mut self.system.borrow_mut(), &mut slot.process, child);
        self.advance(index, event)
    }

    /// Runs a process until it has an Op; `event` is what has happened to it already.
    fn advance(&mut self, index: usize, event: Option<Event>) -> Result<(), Stop> {
        let mut event = event;
        loop {
            let slot = &mut self.slots[index];
            let system = &mut *self.system.borrow_mut();
            let happened = event.take().unwrap_or_else(|| interp::run(system, &mut slot.process));
            match happened {
                Event::Asks(request) => {
                    slot.request = *request;
                    return Ok(());
                }
                Event::Returned(_) => {
                    slot.request = exit_request(Term::Atom(Atom::NORMAL));
                    return Ok(());
                }
                Event::Died(exception) => {
                    let reason = exception.exit_reason();
                    if !is_expected(&reason, &self.settings.expected_exits) {
                        slot.crash = Some(Rc::new(exception));
                    }
                    slot.request = exit_request(reason);
                    return Ok(());
                }
                Event::Receives => match receive(system, &slot.process, self.settings.after_timeout) {
                    Ok(Some(request)) => {
                        slot.request = request;
                        return Ok(());
                    }
                    Ok(None) => {
                        event = interp::raise(&mut slot.process, Atom::ERROR, Term::Atom(Atom::TIMEOUT_VALUE));
                    }
                    Err(problem) => {
                        slot.status = Status::Stopped;
                        return Err(report::problem(system, &self.slots[index].process, &problem));
                    }
                },
                Event::Problem(problem) => {
                    slot.status = Status::Stopped;
                    return Err(report::problem(system, &self.slots[index].process, &problem));
                }
                Event::Halts(status) => {
                    slot.status = Status::Halted;
                    return match status {
                        Term::Int(0) => Ok(()),
                        status => {
                            Err(report::halted(system, &self.shown_name(index), &self.slots[index].process, &status))
                        }
                    };
                }
                Event::Matches | Event::NoMatch | Event::WaitsFor(_) => unreachable!("only probes end so"),
            }
        }
    }

    /// The violation that the end of a process is, if it is one.
    fn crash(&mut self, index: usize) -> Result<(), Stop> {
        let name = self.shown_name(index);
        match &self.slots[index].crash {
            Some(exception) => Err(report::crash(&self.system.borrow(), &name, exception)),
            None => Ok(()),
        }
    }

    fn shown_name(&self, index: usize) -> String {
        match index {
            0 => "main".into(),
            _ => format!("{}#{index}", self.slots.get(index).map_or("", |slot| &*slot.label)),
        }
    }
}

/// Whether a process is another one, or was created by it or by one that was.
fn descends(slots: &[Slot], of: Pid, pid: Pid) -> bool {
    let parent = |pid: &Pid| slots.get(pid.0 as usize).and_then(|slot| slot.process.parent);
    std::iter::successors(Some(pid), parent).any(|ancestor| ancestor == of)
}

/// `normal`, and how supervisors end their children.
fn is_expected(reason: &Term, expected: &[Term]) -> bool {
    let shutdown = |term: &Term| term.as_atom().is_some_and(|atom| atom.name() == "shutdown");
    let first = reason.as_tuple().and_then(<[Term]>::first);
    let named = |term: &Term| {
        term == reason || Some(term) == first || first.and_then(Term::as_tuple).and_then(<[Term]>::first) == Some(term)
    };
    reason.is(Atom::NORMAL) || shutdown(reason) || first.is_some_and(shutdown) || expected.iter().any(named)
}

fn label(child: &Child) -> Rc<str> {
    match &child.function {
        Term::Fun(fun) => match &**fun {
            // `-test/1-fun-0-` is called after the function around it.
            Fun::Local { name, .. } => match name.name().strip_prefix('-').and_then(|rest| rest.split_once('/')) {
                Some((outer, _)) => outer.into(),
                None => name.name().into(),
            },
            Fun::External { name, .. } => name.name().into(),
        },
        other => match other.as_tuple() {
            Some([Term::Atom(module), Term::Atom(name)]) if module.name() == "proc_lib" && name.name() == "init_p" => {
                library_label(&child.args)
            }
            Some([_, Term::Atom(name)]) => name.name().into(),
            _ => "".into(),
        },
    }
}

/// A process that the library starts is called after the module with its callbacks, or after its function.
fn library_label(args: &[Term]) -> Rc<str> {
    match args {
        [_, _, fun @ Term::Fun(_)] => label(&Child { function: fun.clone(), args: Vec::new() }),
        [_, _, _, Term::Atom(name), list] => {
            let list = list.to_vec().unwrap_or_default();
            // `gen:init_it(Behaviour, Starter, Parent, [Name,] Module, Args, Options)`
            match list.len().checked_sub(3).map(|at| &list[at]) {
                Some(Term::Atom(module)) if name.name() == "init_it" => module.name().into(),
                _ => name.name().into(),
            }
        }
        _ => "init_p".into(),
    }
}

fn exit_request(reason: Term) -> Request {
    Request { op: Op::Exit { reason: exit_reason(reason) }, then: Then::Nothing }
}

/// Puts the first call in place; something may have happened already if it is a native function.
fn first_event(system: &mut System, process: &mut Process, child: &Child) -> Option<Event> {
    let (code, args) = match first_call(system, child) {
        Ok(Some(call)) => call,
        Ok(None) => {
            let call = match child.function.as_tuple() {
                Some([module, name]) => {
                    Term::tuple([module.clone(), name.clone(), Term::list(child.args.clone()), Term::Nil])
                }
                _ => child.function.clone(),
            };
            let trace = Term::list([call]);
            return Some(Event::Died(Exception { class: Atom::ERROR, reason: Term::Atom(Atom::UNDEF), trace }));
        }
        Err(problem) => return Some(Event::Problem(problem)),
    };
    match interp::call_frame(system, code, args) {
        Ok(frame) => {
            process.top = Some(frame);
            None
        }
        Err(error) => Some(Event::Problem(interp::Problem::Code(error))),
    }
}

type FirstCall = (crate::term::CodeId, Vec<Term>);

fn first_call(system: &mut System, child: &Child) -> Result<Option<FirstCall>, interp::Problem> {
    let (module, name) = match &child.function {
        Term::Fun(fun) => match &**fun {
            Fun::Local { code, captured, .. } => {
                let args = child.args.iter().chain(captured.iter()).cloned().collect();
                return Ok(Some((*code, args)));
            }
            Fun::External { module, name, .. } => (*module, *name),
        },
        other => match other.as_tuple() {
            Some([Term::Atom(module), Term::Atom(name)]) => (*module, *name),
            _ => unreachable!("checked when it was started"),
        },
    };
    let arity = u8::try_from(child.args.len()).unwrap_or(u8::MAX);
    match system.callee(module, name, arity).map_err(interp::Problem::Code)? {
        Callee::Code(code) => Ok(Some((code, child.args.clone()))),
        Callee::Undefined => Ok(None),
        Callee::Pure(_) | Callee::Native(_) | Callee::Unsupported => {
            Err(interp::Problem::Unsupported(format!("a process that runs the native {module}:{name}/{arity}")))
        }
    }
}

/// The request of a process that has come to a receive; none if its timeout is no time.
fn receive(system: &mut System, process: &Process, forever: Option<u64>) -> Result<Option<Request>, interp::Problem> {
    let mut probe = process.clone();
    probe.inbox = Inbox::ProbeTimeout;
    let time = match interp::run(system, &mut probe) {
        Event::WaitsFor(time) => time,
        Event::Problem(problem) => return Err(problem),
        other => unreachable!("a receive without messages waits: {other:?}"),
    };
    let timeout = match &time {
        Term::Atom(Atom::INFINITY) => false,
        // The run-time system's own limit.
        Term::Int(time @ 0..=0xffff_ffff) => forever.is_none_or(|bound| time.unsigned_abs() < bound),
        _ => return Ok(None),
    };
    let at = process.top.as_ref().expect("it waits in a frame");
    let accepts = match at.function.code[at.pc.0 as usize] {
        Instr::WaitTimeout(..) => Accepts::Nothing,
        _ => Accepts::When(Rc::new(process.clone())),
    };
    Ok(Some(Request { op: Op::Receive { accepts, timeout }, then: Then::Receive }))
}

/// The more serious of two things to report; two violations become one that tells both.
fn both(first: Result<(), Stop>, second: Result<(), Stop>) -> Result<(), Stop> {
    match (first, second) {
        (Ok(()), other) | (other, Ok(())) => other,
        (Err(Stop::Violation(mut first)), Err(Stop::Violation(second))) => {
            first.message = format!("{}; also: {}", first.message, second.message);
            first.places.extend(second.places);
            Err(Stop::Violation(first))
        }
        (Err(Stop::Violation(_)), other) => other,
        (other, _) => other,
    }
}

impl selvedge_messages::Machine for Machine {
    type Payload = Term;
    type Predicate = Rc<Process>;
    type Reason = Term;
    type Effect = Effect;

    fn start(&mut self) -> Result<(), Stop> {
        let Settings { module, function, args, .. } = &self.settings;
        let function = Term::tuple([Term::Atom(*module), Term::Atom(*function)]);
        let child = Child { function, args: args.clone() };
        self.begin(Pid(0), None, &child)
    }

    fn status(&self, pid: selvedge_messages::Pid) -> Status {
        self.slots.get(pid.index()).map_or(Status::Absent, |slot| slot.status)
    }

    fn pending(&self, pid: selvedge_messages::Pid) -> &Op<Machine> {
        &self.slots[pid.index()].request.op
    }

    fn resume(&mut self, pid: selvedge_messages::Pid, outcome: Outcome<Machine>) -> Result<(), Stop> {
        let index = pid.index();
        self.save(index);
        let slot = &mut self.slots[index];
        slot.process.calls = 0;
        let then = std::mem::replace(&mut slot.request.then, Then::Nothing);
        let badarg = || crate::bif::Raised { class: Atom::ERROR, reason: Term::Atom(Atom::BADARG) };
        let answer = match (then, outcome) {
            (Then::Value(value) | Then::Always(value), Outcome::Done) => Ok(value),
            (Then::Always(value), Outcome::Refused) => Ok(value),
            (_, Outcome::Refused) => Err(badarg()),
            (Then::Value(value), Outcome::Flag(_)) => Ok(value),
            (Then::Flag, Outcome::Flag(flag)) => Ok(Term::bool(flag)),
            (Then::TimeLeft, Outcome::Flag(flag)) => Ok(if flag { Term::Int(0) } else { Term::bool(false) }),
            (Then::TrapExit(on), Outcome::Flag(before)) => {
                slot.process.trap_exit = on;
                Ok(Term::bool(before))
            }
            (Then::Found, Outcome::Found(found)) => {
                Ok(found.map_or(Term::Atom(Atom::UNDEFINED), |pid| erlang_pid(pid).into()))
            }
            (Then::Alive, Outcome::Info(info)) => Ok(Term::bool(info == Info::Yes)),
            (Then::Info(question), Outcome::Info(info)) => Ok(question.answer(info)),
            (Then::Table(op), Outcome::Done) => op.result(),
            (Then::Receive, Outcome::Message(message)) => {
                slot.process.inbox = Inbox::Given(message_term(&message.content));
                return self.advance(index, None);
            }
            (Then::Receive, Outcome::Timeout) => {
                slot.process.inbox = Inbox::TimedOut;
                return self.advance(index, None);
            }
            (Then::Spawned(child, reference), Outcome::Spawned(new)) => {
                let new = erlang_pid(new);
                let own = slot.process.pid;
                let first = self.begin(new, Some(own), &child);
                let answer = match reference {
                    Some(reference) => Term::tuple([new.into(), reference.into()]),
                    None => new.into(),
                };
                let event = interp::answer(&mut self.slots[index].process, Ok(answer));
                let second = self.advance(index, event);
                return both(first, second);
            }
            (then, _) => unreachable!("no such outcome for {then:?}"),
        };
        let event = interp::answer(&mut slot.process, answer);
        self.advance(index, event)
    }

    fn perform(&mut self, pid: selvedge_messages::Pid) -> Effect {
        let index = pid.index();
        self.save(index);
        if !self.marks.is_empty() {
            self.undo.push(Undo::Tables(self.tables.clone()));
        }
        let slot = &mut self.slots[index];
        let Then::Table(op) = &mut slot.request.then else { unreachable!("only tables are shared") };
        let effect = Rc::make_mut(op).perform(&mut self.tables, slot.process.pid);
        let slots = &self.slots;
        self.stores.note(slots[index].process.pid, &effect, |a, b| descends(slots, a, b) || descends(slots, b, a));
        effect
    }

    fn ended(&mut self, pid: selvedge_messages::Pid, reason: &Reason<Term>) -> Result<Option<Effect>, Stop> {
        let index = pid.index();
        self.save(index);
        let slot = &mut self.slots[index];
        slot.status = Status::Ended;
        slot.process.top = None;
        if index == 0 {
            // The first process is the test: it must not be ended by others either.
            let reason = reason_term(reason);
            if slot.crash.is_none() && !is_expected(&reason, &self.settings.expected_exits) {
                return Err(report::ended_by_signal(&self.system.borrow(), &reason));
            }
            self.crash(index)?;
        }
        if self.tables.owns_any(erlang_pid(pid)) {
            if !self.marks.is_empty() {
                self.undo.push(Undo::Tables(self.tables.clone()));
            }
            return Ok(Some(self.tables.owner_ended(erlang_pid(pid))));
        }
        Ok(None)
    }

    fn unattended(&mut self, pid: selvedge_messages::Pid, _: &Reason<Term>) -> Result<(), Stop> {
        if pid.index() == 0 { Ok(()) } else { self.crash(pid.index()) }
    }

    fn accepts(&self, predicate: &Rc<Process>, message: &Message<Machine>) -> bool {
        let mut probe = (**predicate).clone();
        probe.inbox = Inbox::Probe(message_term(&message.content));
        match interp::run(&mut self.system.borrow_mut(), &mut probe) {
            Event::Matches => true,
            Event::NoMatch => false,
            other => unreachable!("patterns and guards have no effects: {other:?}"),
        }
    }

    fn commute(&self, a: &Effect, b: &Effect) -> bool {
        a.commutes_with(b)
    }

    fn is_store(&self, effect: &Effect) -> bool {
        self.stores.is_observed(effect)
    }

    fn reclassified(&mut self) -> bool {
        self.stores.update()
    }

    fn access(&self, later: &Effect, store: &Effect) -> Access {
        match store.store().and_then(|(spot, _)| later.overwrites(spot)) {
            None => Access::Apart,
            Some(true) => Access::Overwrites,
            Some(false) => Access::Observes,
        }
    }

    fn mark(&mut self) {
        self.marks.push(self.undo.len());
    }

    fn undo(&mut self) {
        let length = self.marks.pop().expect("as many marks as undos");
        while self.undo.len() > length {
            match self.undo.pop() {
                Some(Undo::Slot(index, slot)) => self.slots[index] = *slot,
                Some(Undo::Tables(tables)) => self.tables = tables,
                None => break,
            }
        }
    }

    fn is_server(&self, pid: selvedge_messages::Pid) -> bool {
        let Some(slot) = self.slots.get(pid.index()) else { return false };
        slot.process.frames().any(|frame| {
            let function = &frame.function;
            let behaviour = matches!(
                (function.module.name(), function.name.name()),
                ("gen_server", "loop") | ("gen_statem", "loop_receive") | ("gen_event", "fetch_msg")
            );
            let declared = |(name, arity): &(Atom, Option<u8>)| {
                *name == function.name && arity.is_none_or(|arity| arity == function.arity)
            };
            behaviour || self.settings.servers.iter().any(declared)
        })
    }

    fn name(&self, pid: selvedge_messages::Pid) -> String {
        self.shown_name(pid.index())
    }

    fn place(&self, pid: selvedge_messages::Pid) -> SourceSpan {
        match self.slots.get(pid.index()) {
            Some(slot) => report::place(&self.system.borrow(), &slot.process),
            None => SourceSpan::default(),
        }
    }

    fn waits_for(&self, pid: selvedge_messages::Pid) -> String {
        let top = self.slots.get(pid.index()).and_then(|slot| slot.process.top.as_ref());
        let receive = top.and_then(|top| top.function.receives.iter().find(|(pc, _)| *pc == top.pc));
        receive.map_or_else(String::new, |(_, patterns)| patterns.clone())
    }

    fn show_message(&self, message: &Message<Machine>) -> String {
        message_term(&message.content).to_string()
    }

    fn show_shared(&self, pid: selvedge_messages::Pid) -> String {
        match &self.slots[pid.index()].request.then {
            Then::Table(op) => {
                let args: Vec<String> = op.args.iter().map(Term::to_string).collect();
                format!("{}:{}({})", op.module, op.function, args.join(", "))
            }
            _ => String::new(),
        }
    }

    fn show_reason(&self, reason: &Reason<Term>) -> String {
        reason_term(reason).to_string()
    }

    fn show_name(&self, name: Name) -> String {
        Atom::from_number(name.index()).to_string()
    }
}

/// A problem with code, for callers that only check names.
pub fn check_entry(system: &mut System, settings: &Settings) -> Result<bool, CodeError> {
    let arity = u8::try_from(settings.args.len()).unwrap_or(u8::MAX);
    Ok(matches!(system.callee(settings.module, settings.function, arity)?, Callee::Code(_)))
}

//! The interpreter: runs a process from one Op to the next.

use crate::atom::Atom;
use crate::bif::{Context, Flow, Raised};
use crate::bit_syntax;
use crate::code::{Dst, Instr, Lambda, Operand, Pc, Reg, RemoteCall};
use crate::core::MapOp;
use crate::core::Place;
use crate::process::{Exception, Frame, Inbox, Process, stack_entry};
use crate::request::Request;
use crate::system::{Callee, CodeError, System};
use crate::term::{CodeId, Fun, Term};
use std::rc::Rc;

/// Why a process does not run any more, for now or for good.
#[derive(Debug)]
pub enum Event {
    /// Its function has returned.
    Returned(Term),
    /// It has ended by an exception.
    Died(Exception),
    /// It waits for the outcome of something.
    Asks(Box<Request>),
    /// It is at a receive: how long would it wait?
    Receives,
    /// The probed message would be taken.
    Matches,
    /// The probed message would not be taken.
    NoMatch,
    /// A probed receive waits so long.
    WaitsFor(Term),
    /// It ends all processes, with this status.
    Halts(Term),
    /// It cannot go on.
    Problem(Problem),
}

/// Something that cannot be run.
#[derive(Clone, Debug)]
pub enum Problem {
    /// A function, primop or use of one that is not supported.
    Unsupported(String),
    /// Code that cannot be loaded.
    Code(CodeError),
    /// It makes a term that is larger than it may be here.
    TooLarge,
    /// It makes more calls than it may before it comes to an Op: so many.
    Endless(u64),
}

/// What to do between two instructions.
enum Next {
    /// A call: where the result goes, what is called, with what.
    Call(Dst, CodeId, Vec<Term>),
    /// A function value.
    Apply(Dst, Term, Vec<Term>),
    /// A function by its name.
    Named(Dst, Atom, Atom, Vec<Term>),
    /// A result.
    Return(Term),
    /// An exception, with the native function that has raised it.
    Raise(Exception),
    /// The end, whatever handlers there are.
    Die(Term),
    /// Out.
    Leave(Event),
}

/// Runs a process until it asks for something or ends.
pub fn run(system: &mut System, process: &mut Process) -> Event {
    let Some(mut top) = process.top.take() else { unreachable!("a process that has ended is not run") };
    let mut next = step(process, &mut top);
    loop {
        next = match next {
            Next::Leave(event) => {
                process.top = Some(top);
                return event;
            }
            Next::Return(value) => match back(&mut top, value) {
                Ok(()) => step(process, &mut top),
                Err(value) => return Event::Returned(value),
            },
            Next::Die(reason) => return Event::Died(exception_here(&top, Atom::EXIT, reason)),
            Next::Raise(exception) if exception.class == Atom::TOO_LARGE => {
                process.top = Some(top);
                return Event::Problem(Problem::TooLarge);
            }
            Next::Raise(exception) => match unwind(&mut top, exception) {
                Ok(()) => step(process, &mut top),
                Err(exception) => return Event::Died(exception),
            },
            Next::Call(dst, code, args) => {
                if process.calls == process.fuel {
                    process.top = Some(top);
                    return Event::Problem(Problem::Endless(process.fuel));
                }
                process.calls += 1;
                match enter(system, &mut top, dst, code, args) {
                    Ok(()) => step(process, &mut top),
                    Err(error) => Next::Leave(Event::Problem(Problem::Code(error))),
                }
            }
            Next::Apply(dst, function, args) => apply(process, &mut top, dst, function, args),
            Next::Named(dst, module, name, args) => named(system, process, &mut top, dst, module, name, args),
        }
    }
}

/// Tells a process the result of what it asked for; `run` goes on from there.
pub fn answer(process: &mut Process, result: Result<Term, Raised>) -> Option<Event> {
    let Some(mut top) = process.top.take() else { unreachable!("a process that has ended asks nothing") };
    match result {
        Ok(value) => match waiting_dst(&top) {
            Dst::Reg(reg) => {
                Rc::make_mut(&mut top).registers[usize::from(reg.0)] = value;
                process.top = Some(top);
                None
            }
            Dst::Return => match back(&mut top, value) {
                Ok(()) => {
                    process.top = Some(top);
                    None
                }
                Err(value) => Some(Event::Returned(value)),
            },
        },
        Err(raised) => {
            let (module, name, args) = waiting_call(&top);
            let exception = native_exception(&top, module, name, &args, raised);
            match unwind(&mut top, exception) {
                Ok(()) => {
                    process.top = Some(top);
                    None
                }
                Err(exception) => Some(Event::Died(exception)),
            }
        }
    }
}

/// Makes a process raise an exception where it stands.
pub fn raise(process: &mut Process, class: Atom, reason: Term) -> Option<Event> {
    let Some(mut top) = process.top.take() else { unreachable!("a process that has ended raises nothing") };
    let exception = exception_here(&top, class, reason);
    match unwind(&mut top, exception) {
        Ok(()) => {
            process.top = Some(top);
            None
        }
        Err(exception) => Some(Event::Died(exception)),
    }
}

/// The frame of a first call.
pub fn call_frame(system: &mut System, code: CodeId, args: Vec<Term>) -> Result<Rc<Frame>, CodeError> {
    let function = system.function(code)?;
    Ok(Rc::new(frame(function, args, None)))
}

fn frame(function: Rc<crate::code::Function>, args: Vec<Term>, parent: Option<Rc<Frame>>) -> Frame {
    let mut registers = args;
    registers.resize(usize::from(function.registers), Term::Nil);
    Frame { function, pc: Pc(0), registers, parent }
}

/// The call that the innermost frame is waiting for.
fn waiting_instr(top: &Frame) -> &Instr {
    &top.function.code[top.pc.0 as usize - 1]
}

fn waiting_dst(top: &Frame) -> Dst {
    match waiting_instr(top) {
        Instr::CallRemote(call) => call.dst,
        Instr::CallComputed(dst, ..) | Instr::Apply(dst, ..) | Instr::Call(dst, ..) => *dst,
        other => unreachable!("{other:?} waits for nothing"),
    }
}

fn waiting_call(top: &Frame) -> (Atom, Atom, Vec<Term>) {
    match waiting_instr(top) {
        Instr::CallRemote(call) => (call.module, call.name, values(top, &call.args)),
        Instr::CallComputed(_, module, name, args) => {
            let atom = |operand| value(top, operand).as_atom().unwrap_or(Atom::UNDEFINED);
            (atom(module), atom(name), values(top, args))
        }
        _ => (Atom::ERLANG, Atom::new("apply"), Vec::new()),
    }
}

fn value(frame: &Frame, operand: &Operand) -> Term {
    match operand {
        Operand::Reg(reg) => frame.registers[usize::from(reg.0)].clone(),
        Operand::Const(term) => term.clone(),
    }
}

fn values(frame: &Frame, operands: &[Operand]) -> Vec<Term> {
    operands.iter().map(|operand| value(frame, operand)).collect()
}

/// Returns from the innermost frame; `Err` if it was the last.
fn back(top: &mut Rc<Frame>, result: Term) -> Result<(), Term> {
    let Some(parent) = top.parent.clone() else { return Err(result) };
    *top = parent;
    let dst = waiting_dst(top);
    match dst {
        Dst::Reg(reg) => {
            Rc::make_mut(top).registers[usize::from(reg.0)] = result;
            Ok(())
        }
        Dst::Return => back(top, result),
    }
}

/// Looks for a handler; `Err` if there is none.
fn unwind(top: &mut Rc<Frame>, exception: Exception) -> Result<(), Exception> {
    loop {
        let at = Pc(top.pc.0 - 1);
        let handler = top.function.handlers.iter().find(|handler| handler.start <= at && at < handler.end).cloned();
        if let Some(handler) = handler {
            let frame = Rc::make_mut(top);
            frame.pc = handler.target;
            if let Some([class, reason, trace]) = handler.registers {
                frame.registers[usize::from(trace.0)] = exception.caught();
                frame.registers[usize::from(class.0)] = Term::Atom(exception.class);
                frame.registers[usize::from(reason.0)] = exception.reason;
            }
            return Ok(());
        }
        match top.parent.clone() {
            Some(parent) => *top = parent,
            None => return Err(exception),
        }
    }
}

fn enter(system: &mut System, top: &mut Rc<Frame>, dst: Dst, code: CodeId, args: Vec<Term>) -> Result<(), CodeError> {
    let function = system.function(code)?;
    match dst {
        Dst::Reg(_) => {
            let parent = Some(top.clone());
            *top = Rc::new(frame(function, args, parent));
        }
        Dst::Return => match Rc::get_mut(top) {
            // The frame is not needed any more, and nobody else has it: its memory is used again.
            Some(own) => {
                let count = usize::from(function.registers);
                own.registers.clear();
                own.registers.extend(args);
                own.registers.resize(count, Term::Nil);
                own.function = function;
                own.pc = Pc(0);
            }
            None => {
                let parent = top.parent.clone();
                *top = Rc::new(frame(function, args, parent));
            }
        },
    }
    Ok(())
}

fn apply(process: &Process, top: &mut Rc<Frame>, dst: Dst, function: Term, mut args: Vec<Term>) -> Next {
    let _ = process;
    match &function {
        Term::Fun(fun) if usize::from(fun.arity()) == args.len() => match &**fun {
            Fun::Local { code, captured, .. } => {
                args.extend(captured.iter().cloned());
                Next::Call(dst, *code, args)
            }
            Fun::External { module, name, .. } => Next::Named(dst, *module, *name, args),
        },
        Term::Fun(_) => {
            let call = Term::tuple([function, Term::list(args)]);
            let reason = Term::tuple([Term::Atom(Atom::BADARITY), call]);
            Next::Raise(exception_here(top, Atom::ERROR, reason))
        }
        _ => {
            let reason = Term::tuple([Term::Atom(Atom::BADFUN), function]);
            Next::Raise(exception_here(top, Atom::ERROR, reason))
        }
    }
}

fn named(
    system: &mut System,
    process: &mut Process,
    top: &mut Rc<Frame>,
    dst: Dst,
    module: Atom,
    name: Atom,
    args: Vec<Term>,
) -> Next {
    let Ok(arity) = u8::try_from(args.len()) else {
        return Next::Raise(exception_here(top, Atom::ERROR, Term::Atom(Atom::SYSTEM_LIMIT)));
    };
    match system.callee(module, name, arity) {
        Err(error) => Next::Leave(Event::Problem(Problem::Code(error))),
        Ok(Callee::Code(code)) => Next::Call(dst, code, args),
        Ok(Callee::Pure(native)) => match native(&args) {
            Ok(value) => result(process, top, dst, value),
            Err(raised) => Next::Raise(native_exception(top, module, name, &args, *raised)),
        },
        Ok(Callee::Native(bif)) => {
            let mut context = Context { system, process, top };
            let flow = bif(&mut context, &args);
            match flow {
                Flow::Value(value) => result(process, top, dst, value),
                Flow::Raise(raised) => Next::Raise(native_exception(top, module, name, &args, *raised)),
                Flow::Exception(exception) => Next::Raise(*exception),
                Flow::Call(function, args) => Next::Apply(dst, function, args),
                Flow::CallNamed(module, name, args) => Next::Named(dst, module, name, args),
                Flow::Exit(reason) => Next::Die(reason),
                Flow::Restart(module, name, args) => {
                    Rc::make_mut(top).parent = None;
                    Next::Named(Dst::Return, module, name, args)
                }
                Flow::Ask(request) => Next::Leave(Event::Asks(request)),
                Flow::Halt(status) => Next::Leave(Event::Halts(status)),
                Flow::Unsupported(what) => Next::Leave(Event::Problem(Problem::Unsupported(what))),
                Flow::Problem(problem) => Next::Leave(Event::Problem(*problem)),
            }
        }
        Ok(Callee::Undefined) => {
            let entry = stack_entry(module, name, Term::list(args), Place::NONE);
            let trace = trace_here(top, Some(entry));
            Next::Raise(Exception { class: Atom::ERROR, reason: Term::Atom(Atom::UNDEF), trace })
        }
        Ok(Callee::Unsupported) => {
            Next::Leave(Event::Problem(Problem::Unsupported(format!("{module}:{name}/{arity}"))))
        }
    }
}

/// The result of a native function.
fn result(process: &mut Process, top: &mut Rc<Frame>, dst: Dst, value: Term) -> Next {
    match dst {
        Dst::Return => Next::Return(value),
        Dst::Reg(reg) => {
            Rc::make_mut(top).registers[usize::from(reg.0)] = value;
            step(process, top)
        }
    }
}

/// The stack trace here; `first` is the native function that has failed.
fn trace_here(top: &Frame, first: Option<Term>) -> Term {
    /// The run-time system's own limit.
    const DEPTH: usize = 8;
    let frames = std::iter::successors(Some(top), |frame| frame.parent.as_deref());
    let entries = frames.map(|frame| {
        let function = &frame.function;
        stack_entry(function.module, function.name, Term::Int(i64::from(function.arity)), frame.place())
    });
    Term::list(first.into_iter().chain(entries).take(DEPTH).collect::<Vec<_>>())
}

fn exception_here(top: &Frame, class: Atom, reason: Term) -> Exception {
    Exception { class, reason, trace: trace_here(top, None) }
}

fn native_exception(top: &Frame, module: Atom, name: Atom, args: &[Term], raised: Raised) -> Exception {
    let own_trace = (module, name.name()) == (Atom::ERLANG, "error")
        || (module, name.name()) == (Atom::ERLANG, "exit")
        || (module, name.name()) == (Atom::ERLANG, "throw");
    let first = (!own_trace).then(|| stack_entry(module, name, Term::list(args.to_vec()), Place::NONE));
    Exception { class: raised.class, reason: raised.reason, trace: trace_here(top, first) }
}

/// Runs instructions of one function until it calls, returns or leaves it.
fn step(process: &mut Process, top: &mut Rc<Frame>) -> Next {
    let frame = Rc::make_mut(top);
    let function = frame.function.clone();
    macro_rules! raise {
        ($class:expr, $reason:expr) => {
            return Next::Raise(exception_here(frame, $class, $reason))
        };
    }
    loop {
        let instr = &function.code[frame.pc.0 as usize];
        frame.pc.0 += 1;
        match instr {
            Instr::Move(dst, operand) => set(frame, *dst, value(frame, operand)),
            Instr::Cons(dst, head, tail) => set(frame, *dst, Term::cons(value(frame, head), value(frame, tail))),
            Instr::Tuple(dst, items) => {
                let tuple = items.iter().map(|item| value(frame, item)).collect();
                set(frame, *dst, Term::Tuple(tuple));
            }
            Instr::Map(dst, base, pairs) => match build_map(frame, base, pairs) {
                Ok(map) => set(frame, *dst, map),
                Err(reason) => raise!(Atom::ERROR, reason),
            },
            Instr::Bits(dst, segments) => match bit_syntax::build(segments, |operand| value(frame, operand)) {
                Ok(bits) => set(frame, *dst, bits),
                Err(reason) => raise!(if reason.is(Atom::TOO_LARGE) { Atom::TOO_LARGE } else { Atom::ERROR }, reason),
            },
            Instr::Closure(dst, lambda) => {
                let Lambda { code, name, arity, captured } = &**lambda;
                let captured = captured.iter().map(|operand| value(frame, operand)).collect();
                let fun = Fun::Local { code: *code, module: function.module, name: *name, arity: *arity, captured };
                set(frame, *dst, Term::Fun(Rc::new(fun)));
            }
            Instr::Native(dst, native, args, call) => {
                let result = match &args[..] {
                    [a, b] => native(&[value(frame, a), value(frame, b)]),
                    [a] => native(&[value(frame, a)]),
                    _ => native(&values(frame, args)),
                };
                match result {
                    Ok(result) => set(frame, *dst, result),
                    Err(raised) => {
                        let args = values(frame, args);
                        return Next::Raise(native_exception(frame, call.0, call.1, &args, *raised));
                    }
                }
            }
            Instr::Call(dst, code, args) => return Next::Call(*dst, *code, call_args(frame, args)),
            Instr::CallRemote(call) => {
                let RemoteCall { module, name, args, dst } = &**call;
                return Next::Named(*dst, *module, *name, call_args(frame, args));
            }
            Instr::CallComputed(dst, module, name, args) => match (value(frame, module), value(frame, name)) {
                (Term::Atom(module), Term::Atom(name)) => {
                    return Next::Named(*dst, module, name, call_args(frame, args));
                }
                _ => raise!(Atom::ERROR, Term::Atom(Atom::BADARG)),
            },
            Instr::Apply(dst, function, args) => {
                return Next::Apply(*dst, value(frame, function), call_args(frame, args));
            }
            Instr::Return(operand) => return Next::Return(value(frame, operand)),
            Instr::Jump(pc) => frame.pc = *pc,
            Instr::TestLiteral(reg, literal, fail) => {
                if get(frame, *reg) != literal {
                    frame.pc = *fail;
                }
            }
            Instr::TestTuple(reg, arity, fail) => match get(frame, *reg) {
                Term::Tuple(items) if items.len() == *arity as usize => {}
                _ => frame.pc = *fail,
            },
            Instr::Element(dst, reg, index) => {
                let Term::Tuple(items) = get(frame, *reg) else { unreachable!("a tuple, as tested before") };
                let element = items[*index as usize].clone();
                set(frame, *dst, element);
            }
            Instr::TestCons(reg, head, tail, fail) => match get(frame, *reg) {
                Term::Cons(cell) => {
                    let cell = cell.clone();
                    set(frame, *head, cell.head.clone());
                    set(frame, *tail, cell.tail.clone());
                }
                _ => frame.pc = *fail,
            },
            Instr::TestMap(reg, fail) => {
                if !matches!(get(frame, *reg), Term::Map(_)) {
                    frame.pc = *fail;
                }
            }
            Instr::TestKey(reg, key, dst, fail) => {
                let Term::Map(map) = get(frame, *reg) else { unreachable!("a map, as tested before") };
                match map.get(&value(frame, key)).cloned() {
                    Some(found) => set(frame, *dst, found),
                    None => frame.pc = *fail,
                }
            }
            Instr::TestBits(reg, position, fail) => match get(frame, *reg) {
                Term::Bits(_) => set(frame, *position, Term::Int(0)),
                _ => frame.pc = *fail,
            },
            Instr::TestSegment(segment) => {
                let Term::Bits(bits) = get(frame, segment.source) else { unreachable!("bits, as tested before") };
                let position = get(frame, segment.position).as_count().unwrap_or(usize::MAX);
                match bit_syntax::match_segment(bits, position, segment, |operand| value(frame, operand)) {
                    Some((found, position)) => {
                        set(frame, segment.dst, found);
                        set(frame, segment.position, Term::count(position));
                    }
                    None => frame.pc = segment.fail,
                }
            }
            Instr::TestBitsEnd(source, position, fail) => {
                let Term::Bits(bits) = get(frame, *source) else { unreachable!("bits, as tested before") };
                if get(frame, *position).as_count() != Some(bits.len()) {
                    frame.pc = *fail;
                }
            }
            Instr::TestTrue(operand, fail) => {
                if !value(frame, operand).is(Atom::TRUE) {
                    frame.pc = *fail;
                }
            }
            Instr::MatchFail(reason) => return Next::Raise(match_fail(frame, value(frame, reason))),
            Instr::Raise(caught, reason) => {
                let (class, trace) = caught_parts(&value(frame, caught));
                return Next::Raise(Exception { class, reason: value(frame, reason), trace });
            }
            Instr::RawRaise(class, reason, caught) => {
                let caught = value(frame, caught);
                let trace = if is_caught(&caught) { caught_parts(&caught).1 } else { caught };
                let class = value(frame, class).as_atom().unwrap_or(Atom::ERROR);
                return Next::Raise(Exception { class, reason: value(frame, reason), trace });
            }
            Instr::Stacktrace(dst, caught) => {
                let trace = caught_parts(&value(frame, caught)).1;
                set(frame, *dst, trace);
            }
            Instr::CatchValue(dst, class, reason, trace) => {
                let result = catch_value(get(frame, *class), get(frame, *reason), get(frame, *trace));
                set(frame, *dst, result);
            }
            Instr::PeekMessage(found, message) => match process.inbox.clone() {
                Inbox::Closed => {
                    frame.pc.0 -= 1;
                    return Next::Leave(Event::Receives);
                }
                Inbox::Given(term) | Inbox::Probe(term) => {
                    set(frame, *found, Term::Atom(Atom::TRUE));
                    set(frame, *message, term);
                }
                Inbox::TimedOut | Inbox::ProbeTimeout => set(frame, *found, Term::Atom(Atom::FALSE)),
            },
            Instr::RemoveMessage => match process.inbox {
                Inbox::Probe(_) => return Next::Leave(Event::Matches),
                _ => process.inbox = Inbox::Closed,
            },
            Instr::NextMessage => match process.inbox {
                Inbox::Probe(_) => return Next::Leave(Event::NoMatch),
                _ => unreachable!("a message that was given matches"),
            },
            Instr::WaitTimeout(dst, time) => match process.inbox {
                Inbox::TimedOut => {
                    process.inbox = Inbox::Closed;
                    set(frame, *dst, Term::Atom(Atom::TRUE));
                }
                Inbox::ProbeTimeout => return Next::Leave(Event::WaitsFor(value(frame, time))),
                // A receive without clauses has no message to look at.
                Inbox::Closed => {
                    frame.pc.0 -= 1;
                    return Next::Leave(Event::Receives);
                }
                Inbox::Probe(_) => return Next::Leave(Event::NoMatch),
                Inbox::Given(_) => unreachable!("a message that was given matches"),
            },
            Instr::Unknown(name) => {
                return Next::Leave(Event::Problem(Problem::Unsupported(format!("primop {name}"))));
            }
        }
    }
}

fn get(frame: &Frame, reg: Reg) -> &Term {
    &frame.registers[usize::from(reg.0)]
}

fn set(frame: &mut Frame, reg: Reg, term: Term) {
    frame.registers[usize::from(reg.0)] = term;
}

/// Arguments, with room for the registers of most functions.
fn call_args(frame: &Frame, operands: &[Operand]) -> Vec<Term> {
    let mut args = Vec::with_capacity(operands.len() + 12);
    args.extend(operands.iter().map(|operand| value(frame, operand)));
    args
}

fn build_map(frame: &Frame, base: &Operand, pairs: &[(MapOp, Operand, Operand)]) -> Result<Term, Term> {
    let base = value(frame, base);
    let Term::Map(map) = &base else { return Err(Term::tuple([Term::Atom(Atom::BADMAP), base])) };
    let mut map = map.clone();
    let entries = Rc::make_mut(&mut map);
    for (op, key, new) in pairs {
        let key = value(frame, key);
        if *op == MapOp::Exact && !entries.contains_key(&key) {
            return Err(Term::tuple([Term::Atom(Atom::BADKEY), key]));
        }
        entries.insert(key, value(frame, new));
    }
    Ok(Term::Map(map))
}

/// `match_fail`: the reason, and for a function whose clauses do not match, its arguments in the trace.
fn match_fail(frame: &Frame, reason: Term) -> Exception {
    if let Some([Term::Atom(Atom::FUNCTION_CLAUSE), args @ ..]) = reason.as_tuple() {
        let function = &frame.function;
        let entry = stack_entry(function.module, function.name, Term::list(args.to_vec()), frame.place());
        let rest = match &frame.parent {
            Some(parent) => trace_here(parent, Some(entry)),
            None => Term::list([entry]),
        };
        return Exception { class: Atom::ERROR, reason: Term::Atom(Atom::FUNCTION_CLAUSE), trace: rest };
    }
    exception_here(frame, Atom::ERROR, reason)
}

fn is_caught(term: &Term) -> bool {
    matches!(term.as_tuple(), Some([Term::Atom(Atom::RAW_TRACE), _, _]))
}

/// The class and trace of what a handler got.
fn caught_parts(term: &Term) -> (Atom, Term) {
    match term.as_tuple() {
        Some([Term::Atom(Atom::RAW_TRACE), Term::Atom(class), trace]) => (*class, trace.clone()),
        _ => (Atom::ERROR, term.clone()),
    }
}

/// What `catch` gives for an exception.
fn catch_value(class: &Term, reason: &Term, caught: &Term) -> Term {
    let exit = |reason| Term::tuple([Term::Atom(Atom::EXIT_SIGNAL), reason]);
    match class.as_atom() {
        Some(Atom::THROW) => reason.clone(),
        Some(Atom::EXIT) => exit(reason.clone()),
        _ => exit(Term::tuple([reason.clone(), caught_parts(caught).1])),
    }
}

//! How the programs run: the front end that yields Ops.
//!
//! Everything is copied at a mark: programs are small.

use super::program::{
    BAD, Body, CELLS, Cell, Clause, Dest, FAILED, Inst, Operand, Program, REGISTERS, Reg, Test, Value, Why, tags,
};
use selvedge_ir::EntityRef;
use selvedge_machine::{SourceSpan, Stop, Violation, ViolationKind};
use selvedge_messages::{
    Accepts, Access, AliasEnd, Content, Info, Machine, Message, Name, Op, Outcome, Pid, Reason, Ref, Status, Target,
    first_process,
};
use std::rc::Rc;

/// What programs send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Payload {
    /// The tag.
    pub tag: u8,
    /// And the value.
    pub value: Value,
}

/// What an operation has done to the shared table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Found this in a place.
    Read(Cell, Value),
    /// Written this to it.
    Write(Cell, Value),
    /// Added one, without looking.
    Add(Cell),
    /// Found this, and written something else.
    Exchange(Cell, Value),
    /// Found these in all places.
    Scan([Value; CELLS]),
    /// Written this to all places.
    Fill(Value),
    /// Written 0 to places, since a process has ended.
    Clear(Vec<Cell>),
    /// Made the process an owner: nobody else can tell.
    Own,
}

impl Effect {
    fn touches(&self, cell: Cell) -> bool {
        match self {
            Effect::Read(c, _) | Effect::Write(c, _) | Effect::Add(c) | Effect::Exchange(c, _) => *c == cell,
            Effect::Scan(_) | Effect::Fill(_) => true,
            Effect::Clear(cells) => cells.contains(&cell),
            Effect::Own => false,
        }
    }
}

/// A process.
#[derive(Clone)]
struct Process {
    body: Body,
    at: usize,
    regs: [Value; REGISTERS],
    refs: u32,
    /// Per instruction, how often it has jumped back.
    jumps: Vec<u16>,
    owns: Vec<Cell>,
    status: Status,
    op: Op<ActorMachine>,
}

#[derive(Clone)]
struct State {
    processes: Vec<Option<Rc<Process>>>,
    table: [Value; CELLS],
}

/// A program that runs.
pub struct ActorMachine {
    program: Rc<Program>,
    state: State,
    marks: Vec<State>,
}

type Ran = Result<(), Stop>;

impl ActorMachine {
    /// A machine for a program that is valid.
    pub fn new(program: Program) -> Result<ActorMachine, String> {
        program.validate()?;
        let state = State { processes: Vec::new(), table: [Value::Int(0); CELLS] };
        Ok(ActorMachine { program: Rc::new(program), state, marks: Vec::new() })
    }

    fn process(&self, pid: Pid) -> &Process {
        self.state.processes.get(pid.index()).and_then(Option::as_deref).expect("the process exists")
    }

    fn process_mut(&mut self, pid: Pid) -> &mut Process {
        Rc::make_mut(self.state.processes[pid.index()].as_mut().expect("the process exists"))
    }

    fn create(&mut self, pid: Pid, body: Body, regs: [Value; REGISTERS]) -> Ran {
        if self.state.processes.len() <= pid.index() {
            self.state.processes.resize(pid.index() + 1, None);
        }
        let jumps = vec![0; self.program.bodies[body.index()].insts.len()];
        let op = Op::Exit { reason: Reason::Normal };
        let process = Process { body, at: 0, regs, refs: 0, jumps, owns: Vec::new(), status: Status::Ready, op };
        self.state.processes[pid.index()] = Some(Rc::new(process));
        self.run(pid)
    }

    fn value(&self, pid: Pid, operand: Operand) -> Value {
        match operand {
            Operand::Int(n) => Value::Int(n),
            Operand::Reg(reg) => self.process(pid).regs[reg.index()],
            Operand::Me => Value::Pid(pid),
        }
    }

    fn pid(&self, pid: Pid, operand: Operand) -> Option<Pid> {
        match self.value(pid, operand) {
            Value::Pid(found) => Some(found),
            _ => None,
        }
    }

    fn reference(&self, pid: Pid, operand: Operand) -> Option<Ref> {
        match self.value(pid, operand) {
            Value::Ref(found) => Some(found),
            _ => None,
        }
    }

    fn target(&self, pid: Pid, dest: Dest) -> Option<Target> {
        match dest {
            Dest::Name(name) => Some(Target::Name(name)),
            Dest::Value(operand) => match self.value(pid, operand) {
                Value::Pid(found) => Some(Target::Pid(found)),
                Value::Ref(found) => Some(Target::Alias(found)),
                Value::Int(_) => None,
            },
        }
    }

    fn holds(&self, pid: Pid, test: Test) -> bool {
        (self.value(pid, Operand::Reg(test.reg)) == self.value(pid, test.value)) == test.equal
    }

    /// Runs a process to its next Op.
    fn run(&mut self, pid: Pid) -> Ran {
        loop {
            let process = self.process(pid);
            let code = &self.program.bodies[process.body.index()].insts;
            let Some(inst) = code.get(process.at).cloned() else {
                self.process_mut(pid).op = Op::Exit { reason: Reason::Normal };
                return Ok(());
            };
            match inst {
                Inst::Set { dst, value } => {
                    let value = self.value(pid, value);
                    self.set(pid, Some(dst), value);
                }
                Inst::Skip { count, when } => {
                    if when.is_none_or(|test| self.holds(pid, test)) {
                        self.process_mut(pid).at += usize::from(count);
                    }
                }
                Inst::Back { count, max } => {
                    let process = self.process_mut(pid);
                    let at = process.at;
                    if process.jumps[at] < max {
                        process.jumps[at] += 1;
                        process.at -= usize::from(count);
                        continue;
                    }
                }
                Inst::Assert(test) if !self.holds(pid, test) => {
                    self.process_mut(pid).status = Status::Stopped;
                    return Err(self.violation(pid, test));
                }
                Inst::Check(test) if !self.holds(pid, test) => {
                    self.process_mut(pid).op = Op::Exit { reason: Reason::Other(FAILED) };
                    return Err(self.violation(pid, test));
                }
                Inst::Assert(_) | Inst::Check(_) => {}
                inst => {
                    let op = self.op(pid, &inst).unwrap_or(Op::Exit { reason: Reason::Other(BAD) });
                    self.process_mut(pid).op = op;
                    return Ok(());
                }
            }
            self.process_mut(pid).at += 1;
        }
    }

    fn violation(&self, pid: Pid, test: Test) -> Stop {
        let message = format!("{}: {test} does not hold", self.process(pid).body);
        Stop::Violation(Box::new(Violation { kind: ViolationKind::Assertion, message, places: Vec::new() }))
    }

    /// A new reference of a process.
    fn fresh(&mut self, pid: Pid) -> Ref {
        let process = self.process_mut(pid);
        process.refs += 1;
        Ref { owner: pid, n: process.refs - 1 }
    }

    /// The Op of an instruction; none if it makes no sense.
    fn op(&mut self, pid: Pid, inst: &Inst) -> Option<Op<ActorMachine>> {
        Some(match *inst {
            Inst::Spawn { link, monitor, .. } => {
                let monitor = monitor.map(|_| self.fresh(pid));
                Op::Spawn { link, monitor }
            }
            Inst::Send { to, tag, value } => {
                let value = self.value(pid, value);
                Op::Send { to: self.target(pid, to)?, payload: Payload { tag, value } }
            }
            Inst::Receive { ref clauses, timeout, .. } => {
                let accepts = match clauses.as_slice() {
                    [] => Accepts::Nothing,
                    [Clause::Any] => Accepts::Any,
                    clauses => Accepts::When(clauses.iter().map(|clause| self.bound(pid, clause)).collect()),
                };
                Op::Receive { accepts, timeout }
            }
            // A process that ends itself with `kill` is not killed: others learn that reason.
            Inst::Exit(why) => Op::Exit {
                reason: match why {
                    Why::Kill => Reason::Other(0),
                    why => reason(why),
                },
            },
            Inst::Link(to) => Op::Link { to: self.pid(pid, to)? },
            Inst::Unlink(to) => Op::Unlink { to: self.pid(pid, to)? },
            Inst::Monitor { target, alias, .. } => {
                let target = self.target(pid, target)?;
                if matches!(target, Target::Alias(_)) {
                    return None;
                }
                Op::Monitor { target, reference: self.fresh(pid), alias }
            }
            // Monitors and aliases are their owner's business.
            Inst::Demonitor { dst, reference, flush } => {
                let reference = self.reference(pid, reference).filter(|reference| reference.owner == pid)?;
                Op::Demonitor { reference, flush, info: dst.is_some() }
            }
            Inst::Trap { on, .. } => Op::TrapExit { on },
            Inst::Signal { to, why } => Op::Signal { to: Target::Pid(self.pid(pid, to)?), reason: reason(why) },
            Inst::Register { name, pid: who, .. } => Op::Register { name, pid: self.pid(pid, who)? },
            Inst::Unregister { name, .. } => Op::Unregister { name },
            Inst::Whereis { name, .. } => Op::Whereis { name },
            Inst::Alias { reply, .. } => {
                let end = if reply { AliasEnd::Reply } else { AliasEnd::Unalias };
                Op::Alias { reference: self.fresh(pid), end }
            }
            Inst::Unalias { reference, .. } => {
                Op::Unalias { reference: self.reference(pid, reference).filter(|reference| reference.owner == pid)? }
            }
            Inst::Timer { to, tag, value, .. } => {
                let (to, value) = (self.target(pid, to)?, self.value(pid, value));
                Op::StartTimer { reference: self.fresh(pid), to, payload: Payload { tag, value } }
            }
            Inst::Cancel { timer, .. } => Op::CancelTimer { reference: self.reference(pid, timer)? },
            Inst::ReadTimer { timer, .. } => Op::ReadTimer { reference: self.reference(pid, timer)? },
            Inst::Choose { alternatives, .. } => Op::Choose { alternatives },
            Inst::Inspect { target, query, .. } => Op::Inspect { target: self.pid(pid, target)?, query },
            Inst::Put { .. } | Inst::Get { .. } | Inst::Bump { .. } | Inst::Own { .. } => Op::Shared,
            Inst::Fill { .. } | Inst::Scan { .. } => Op::Shared,
            Inst::Set { .. } | Inst::Skip { .. } | Inst::Back { .. } | Inst::Assert(_) | Inst::Check(_) => {
                unreachable!("these are no Ops")
            }
        })
    }

    /// A clause with the values of its variables.
    fn bound(&self, pid: Pid, clause: &Clause<Operand>) -> Clause<Value> {
        match *clause {
            Clause::Any => Clause::Any,
            Clause::Tag(tag) => Clause::Tag(tag),
            Clause::Exactly(tag, value) => Clause::Exactly(tag, self.value(pid, value)),
            Clause::Exit => Clause::Exit,
            Clause::ExitOf(of) => Clause::ExitOf(self.value(pid, of)),
            Clause::Down => Clause::Down,
            Clause::DownOf(of) => Clause::DownOf(self.value(pid, of)),
        }
    }

    fn set(&mut self, pid: Pid, reg: Option<Reg>, value: Value) {
        if let Some(reg) = reg {
            self.process_mut(pid).regs[reg.index()] = value;
        }
    }

    fn current(&self, pid: Pid) -> Option<&Inst> {
        let process = self.process(pid);
        self.program.bodies[process.body.index()].insts.get(process.at)
    }

    /// Puts the outcome of the present instruction where it belongs. False if the process has to end.
    fn finish(&mut self, pid: Pid, inst: &Inst, outcome: &Outcome<ActorMachine>) -> bool {
        let flag = |yes: bool| Value::Int(i64::from(yes));
        let (dst, value) = match (inst, outcome) {
            (Inst::Receive { tag, value, .. }, Outcome::Message(message)) => {
                let (first, second) = opened(&message.content);
                self.set(pid, *tag, Value::Int(first));
                (*value, second)
            }
            (Inst::Receive { tag, .. }, Outcome::Timeout) => (*tag, Value::Int(tags::TIMEOUT)),
            (Inst::Register { dst, .. } | Inst::Unregister { dst, .. }, outcome) => {
                let done = matches!(outcome, Outcome::Done);
                if !done && dst.is_none() {
                    return false;
                }
                (*dst, flag(done))
            }
            (_, Outcome::Refused) => return false,
            (Inst::Whereis { dst, .. }, Outcome::Found(found)) => (Some(*dst), found.map_or(Value::Int(0), Value::Pid)),
            (Inst::Choose { dst, .. }, Outcome::Chosen(n)) => (Some(*dst), Value::Int(i64::from(*n))),
            (Inst::Inspect { dst, .. }, Outcome::Info(info)) => (Some(*dst), Value::Int(answer(info))),
            (Inst::Monitor { dst, .. } | Inst::Alias { dst, .. } | Inst::Timer { dst, .. }, _) => {
                let n = self.process(pid).refs - 1;
                (Some(*dst), Value::Ref(Ref { owner: pid, n }))
            }
            (
                Inst::Demonitor { dst, .. }
                | Inst::Trap { dst, .. }
                | Inst::Unalias { dst, .. }
                | Inst::Cancel { dst, .. },
                Outcome::Flag(yes),
            ) => (*dst, flag(*yes)),
            (Inst::ReadTimer { dst, .. }, Outcome::Flag(yes)) => (Some(*dst), flag(*yes)),
            _ => (None, Value::Int(0)),
        };
        self.set(pid, dst, value);
        true
    }
}

/// The reason that a word of a program means in an exit signal.
fn reason(why: Why) -> Reason<u8> {
    match why {
        Why::Normal => Reason::Normal,
        Why::Kill => Reason::Kill,
        Why::Other(n) => Reason::Other(n),
    }
}

/// What the registers of a receive get.
fn opened(content: &Content<ActorMachine>) -> (i64, Value) {
    let number = |reason: &Reason<u8>| match reason {
        Reason::Normal => 256,
        Reason::Kill => 257,
        Reason::Killed => 258,
        Reason::NoProcess => 259,
        Reason::Other(n) => i64::from(*n),
    };
    match content {
        Content::User(payload) => (i64::from(payload.tag), payload.value),
        Content::Exit { from, reason } => (tags::EXIT + number(reason), Value::Pid(*from)),
        Content::Down { reference, reason, .. } => (tags::DOWN + number(reason), Value::Ref(*reference)),
    }
}

fn answer(info: &Info) -> i64 {
    match info {
        Info::Yes => 1,
        Info::No => 0,
        Info::NoProcess => -1,
        Info::Count(n) => *n as i64,
        Info::Name(name) => name.map_or(-2, |name| name.index() as i64),
        Info::Processes(all) => all.len() as i64,
    }
}

impl Machine for ActorMachine {
    type Payload = Payload;
    type Predicate = Rc<[Clause<Value>]>;
    type Reason = u8;
    type Effect = Effect;

    fn start(&mut self) -> Ran {
        self.create(first_process(), Body::new(0), [Value::Int(0); REGISTERS])
    }

    fn status(&self, pid: Pid) -> Status {
        self.state.processes.get(pid.index()).and_then(Option::as_ref).map_or(Status::Absent, |process| process.status)
    }

    fn pending(&self, pid: Pid) -> &Op<ActorMachine> {
        &self.process(pid).op
    }

    fn resume(&mut self, pid: Pid, outcome: Outcome<ActorMachine>) -> Ran {
        let inst = self.current(pid).expect("an end is not resumed").clone();
        let mut child = Ok(());
        if let (&Inst::Spawn { dst, body, monitor, .. }, Outcome::Spawned(new)) = (&inst, &outcome) {
            let n = self.process(pid).refs.wrapping_sub(1);
            self.set(pid, monitor, Value::Ref(Ref { owner: pid, n }));
            // The child does not know its own number unless it asks for it.
            let regs = self.process(pid).regs;
            self.set(pid, Some(dst), Value::Pid(*new));
            child = self.create(*new, body, regs);
        } else if !self.finish(pid, &inst, &outcome) {
            self.process_mut(pid).op = Op::Exit { reason: Reason::Other(BAD) };
            return Ok(());
        }
        self.process_mut(pid).at += 1;
        // Nothing runs when two processes met a violation in the same step: the first is reported.
        self.run(pid).and(child)
    }

    fn perform(&mut self, pid: Pid) -> Effect {
        match self.current(pid).cloned() {
            Some(Inst::Put { cell, value }) => {
                let value = self.value(pid, value);
                self.state.table[cell.index()] = value;
                Effect::Write(cell, value)
            }
            Some(Inst::Get { dst, cell }) => {
                let value = self.state.table[cell.index()];
                self.set(pid, Some(dst), value);
                Effect::Read(cell, value)
            }
            Some(Inst::Bump { dst, cell }) => {
                let old = self.state.table[cell.index()];
                let number = if let Value::Int(n) = old { n } else { 0 };
                self.state.table[cell.index()] = Value::Int(number + 1);
                self.set(pid, dst, old);
                if dst.is_some() { Effect::Exchange(cell, old) } else { Effect::Add(cell) }
            }
            Some(Inst::Fill { value }) => {
                let value = self.value(pid, value);
                self.state.table = [value; CELLS];
                Effect::Fill(value)
            }
            Some(Inst::Scan { dst }) => {
                let table = self.state.table;
                let found = table.iter().filter(|value| **value != Value::Int(0)).count();
                self.set(pid, Some(dst), Value::Int(found as i64));
                Effect::Scan(table)
            }
            Some(Inst::Own { cell }) => {
                self.process_mut(pid).owns.push(cell);
                Effect::Own
            }
            other => unreachable!("{other:?} is not about the table"),
        }
    }

    fn ended(&mut self, pid: Pid, _: &Reason<u8>) -> Result<Option<Effect>, Stop> {
        let process = self.process_mut(pid);
        process.status = Status::Ended;
        let owned = std::mem::take(&mut process.owns);
        for cell in &owned {
            self.state.table[cell.index()] = Value::Int(0);
        }
        Ok((!owned.is_empty()).then_some(Effect::Clear(owned)))
    }

    fn accepts(&self, predicate: &Rc<[Clause<Value>]>, message: &Message<ActorMachine>) -> bool {
        predicate.iter().any(|clause| match (clause, &message.content) {
            (Clause::Any, _) => true,
            (Clause::Tag(tag), Content::User(payload)) => payload.tag == *tag,
            (Clause::Exactly(tag, value), Content::User(payload)) => payload == &Payload { tag: *tag, value: *value },
            (Clause::Exit, Content::Exit { .. }) | (Clause::Down, Content::Down { .. }) => true,
            (Clause::ExitOf(of), Content::Exit { from, .. }) => *of == Value::Pid(*from),
            (Clause::DownOf(of), Content::Down { reference, .. }) => *of == Value::Ref(*reference),
            _ => false,
        })
    }

    fn commute(&self, a: &Effect, b: &Effect) -> bool {
        let both = |cell| !(a.touches(cell) && b.touches(cell));
        (0..CELLS).map(Cell::new).all(both)
            || match (a, b) {
                (Effect::Read(..) | Effect::Scan(_), Effect::Read(..) | Effect::Scan(_)) => true,
                (Effect::Clear(_), Effect::Clear(_)) => true,
                // A place that does not hold a number counts as 0, which does not depend on who adds first.
                (Effect::Add(_), Effect::Add(_)) => true,
                // Not so two writes of the same value to one place: with observers, the last of several writes counts.
                (Effect::Fill(a), Effect::Fill(b)) => a == b,
                _ => false,
            }
    }

    fn is_store(&self, effect: &Effect) -> bool {
        matches!(effect, Effect::Write(..))
    }

    fn access(&self, later: &Effect, store: &Effect) -> Access {
        match (later, store) {
            (later, Effect::Write(cell, _)) if !later.touches(*cell) => Access::Apart,
            (Effect::Write(..) | Effect::Fill(_) | Effect::Clear(_), _) => Access::Overwrites,
            _ => Access::Observes,
        }
    }

    fn mark(&mut self) {
        self.marks.push(self.state.clone());
    }

    fn undo(&mut self) {
        self.state = self.marks.pop().expect("there is a mark");
    }

    fn is_server(&self, pid: Pid) -> bool {
        self.program.bodies[self.process(pid).body.index()].server
    }

    fn name(&self, pid: Pid) -> String {
        format!("{pid} ({})", self.process(pid).body)
    }

    fn place(&self, pid: Pid) -> SourceSpan {
        let process = self.process(pid);
        SourceSpan { function: process.body.to_string(), line: process.at as u32 + 1, ..SourceSpan::default() }
    }

    fn waits_for(&self, pid: Pid) -> String {
        self.current(pid).map(Inst::to_string).unwrap_or_default()
    }

    fn show_message(&self, message: &Message<ActorMachine>) -> String {
        match &message.content {
            Content::User(payload) => format!("{} {:?}", payload.tag, payload.value),
            Content::Exit { from, reason } => format!("exit {from} {reason:?}"),
            Content::Down { reference, target, reason } => format!("down {reference:?} {target:?} {reason:?}"),
        }
    }

    fn show_reason(&self, reason: &Reason<u8>) -> String {
        format!("{reason:?}")
    }

    fn show_name(&self, name: Name) -> String {
        name.to_string()
    }
}

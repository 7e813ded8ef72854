//! A small language of processes, and a machine that runs it.

use selvedge_ir::EntityRef;
use selvedge_machine::{SourceSpan, Stop};
use selvedge_messages::{
    Accepts, Access, AliasEnd, Content, Info, Machine, Message, Name, Op, Outcome, Pid, Query, Reason, Ref, Sender,
    Status, Target, first_process,
};
use std::collections::BTreeMap;

/// Whom a statement is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    /// The first process, or its n-th child, from 1.
    Nth(u8),
    /// The newest process that this one has created; itself if there is none.
    Child,
}

/// A statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stmt {
    Send(Who, u8),
    SendName(u8, u8),
    /// Kinds that are accepted, as bits; whether there is a timeout.
    Receive(u8, bool),
    /// Runs these statements if the last thing observed was of these kinds.
    If(u8, Vec<Stmt>),
    /// Creates a process that runs these statements.
    Spawn {
        link: bool,
        monitor: bool,
        body: Vec<Stmt>,
    },
    Exit(u8),
    Link(Who),
    Unlink(Who),
    Monitor(Who),
    MonitorName(u8),
    /// Ends the newest monitor.
    Demonitor {
        flush: bool,
        info: bool,
    },
    Trap(bool),
    /// Reason 0 is normal, 1 is kill.
    Signal(Who, u8),
    Register(u8, Who),
    Unregister(u8),
    Whereis(u8),
    Choose(u8),
    Timer(Who, u8),
    CancelTimer,
    QueueLength(Who),
    Alive(Who),
    /// Does something with a shared counter.
    Shared(u8, Deed),
    /// Makes an alias; sends it to nobody: others may use the first one of a process.
    Alias(bool),
    Unalias,
    SendAlias(Who, u8),
}

/// What can be done with a shared counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deed {
    Read,
    /// Adds one without looking.
    Add,
    /// Writes this, whatever was there.
    Store(u8),
    /// Adds one; what was there is seen.
    Fetch,
    /// Writes this if nothing but 0 was there; whether it was is seen.
    StoreNew(u8),
    /// Reads all counters.
    ReadAll,
    /// Writes 0 to all counters.
    Reset,
}

/// Bits of what can be received.
pub const EXIT: u8 = 16;
pub const DOWN: u8 = 32;
pub const TIMEOUT: u8 = 64;

/// How many shared counters there are.
pub const COUNTERS: usize = 2;

/// The first process creates one process for each of `bodies[1..]`, and then runs `bodies[0]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    pub bodies: Vec<Vec<Stmt>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Spawn,
    Nothing,
}

#[derive(Clone)]
struct Proc {
    status: Status,
    /// Statements that are left, the next one last.
    todo: Vec<Stmt>,
    op: Op<Model>,
    what: What,
    kind: u8,
    child: Pid,
    /// It knows the first so many processes: those that were there when it was created.
    knows: u8,
    refs: u32,
    children: u32,
    monitors: Vec<Ref>,
    timers: Vec<Ref>,
    /// Everything that it has observed.
    history: Vec<u64>,
    body: Vec<Stmt>,
}

/// A program being run.
pub struct Model {
    program: Program,
    processes: Vec<Proc>,
    counters: [u64; COUNTERS],
    /// What the newest shared operation has seen.
    glimpse: Option<u64>,
    log: Vec<(Pid, Proc)>,
    counters_log: Vec<[u64; COUNTERS]>,
    marks: Vec<(usize, usize)>,
    paths: BTreeMap<Pid, Vec<u32>>,
}

impl Model {
    pub fn new(program: Program) -> Model {
        Model {
            program,
            processes: Vec::new(),
            counters: [0; COUNTERS],
            glimpse: None,
            log: Vec::new(),
            counters_log: Vec::new(),
            marks: Vec::new(),
            paths: BTreeMap::from([(first_process(), Vec::new())]),
        }
    }

    /// What every process has observed, by ancestry.
    pub fn histories(&self) -> BTreeMap<Vec<u32>, Vec<u64>> {
        let there = self.processes.iter().enumerate().filter(|(_, process)| process.status != Status::Absent);
        there.map(|(n, process)| (self.paths[&Pid::new(n)].clone(), process.history.clone())).collect()
    }

    fn sender(&self, message: &Message<Model>) -> (Vec<u32>, u32) {
        match message.id.from {
            Sender::Process(pid) => (self.paths[&pid].clone(), message.id.n),
            Sender::Timer(timer) => (self.paths[&timer.owner].clone(), 1000 + timer.n),
        }
    }

    fn absent(pid: Pid) -> Proc {
        Proc {
            status: Status::Absent,
            todo: Vec::new(),
            op: Op::Shared,
            what: What::Nothing,
            kind: 0,
            child: pid,
            knows: 0,
            refs: 0,
            children: 0,
            monitors: Vec::new(),
            timers: Vec::new(),
            history: Vec::new(),
            body: Vec::new(),
        }
    }

    fn save(&mut self, pid: Pid) {
        while self.processes.len() <= pid.index() {
            self.processes.push(Model::absent(Pid::new(self.processes.len())));
        }
        if !self.marks.is_empty() {
            self.log.push((pid, self.processes[pid.index()].clone()));
        }
    }

    fn begin(&mut self, pid: Pid, knows: u8, body: &[Stmt]) {
        self.save(pid);
        let process = &mut self.processes[pid.index()];
        let todo = body.iter().rev().cloned().collect();
        *process = Proc { status: Status::Ready, todo, knows, ..Model::absent(pid) };
        self.next(pid);
    }

    /// Goes on to the next Op.
    fn next(&mut self, pid: Pid) {
        let process = &mut self.processes[pid.index()];
        process.what = What::Nothing;
        let who = |who: Who| match who {
            Who::Nth(n) => Pid::new(usize::from(if n < process.knows { n } else { 0 })),
            Who::Child => process.child,
        };
        let target = |w: Who| Target::Pid(who(w));
        let name = |n: u8| Name::new(usize::from(n));
        let Some(stmt) = process.todo.pop() else {
            process.op = Op::Exit { reason: Reason::Normal };
            return;
        };
        let reference = Ref { owner: pid, n: process.refs };
        process.op = match stmt {
            Stmt::Send(to, payload) => Op::Send { to: target(to), payload },
            Stmt::SendName(to, payload) => Op::Send { to: Target::Name(name(to)), payload },
            Stmt::Receive(mask, timeout) => {
                let accepts = if mask == u8::MAX { Accepts::Any } else { Accepts::When(mask) };
                Op::Receive { accepts, timeout }
            }
            Stmt::If(mask, body) => {
                if mask & process.kind != 0 {
                    process.todo.extend(body.into_iter().rev());
                }
                return self.next(pid);
            }
            Stmt::Spawn { link, monitor, body } => {
                process.what = What::Spawn;
                process.body = body;
                if monitor {
                    process.refs += 1;
                    process.monitors.push(reference);
                }
                Op::Spawn { link, monitor: monitor.then_some(reference) }
            }
            Stmt::Exit(reason) => {
                process.todo.clear();
                Op::Exit { reason: reason_of(reason, false) }
            }
            Stmt::Link(to) => Op::Link { to: who(to) },
            Stmt::Unlink(to) => Op::Unlink { to: who(to) },
            Stmt::Monitor(to) => {
                process.refs += 1;
                process.monitors.push(reference);
                Op::Monitor { target: target(to), reference, alias: None }
            }
            Stmt::MonitorName(n) => {
                process.refs += 1;
                process.monitors.push(reference);
                Op::Monitor { target: Target::Name(name(n)), reference, alias: None }
            }
            Stmt::Demonitor { flush, info } => match process.monitors.pop() {
                Some(reference) => Op::Demonitor { reference, flush, info },
                None => return self.next(pid),
            },
            Stmt::Trap(on) => Op::TrapExit { on },
            Stmt::Signal(to, reason) => Op::Signal { to: target(to), reason: reason_of(reason, true) },
            Stmt::Register(n, to) => Op::Register { name: name(n), pid: who(to) },
            Stmt::Unregister(n) => Op::Unregister { name: name(n) },
            Stmt::Whereis(n) => Op::Whereis { name: name(n) },
            Stmt::Choose(alternatives) => Op::Choose { alternatives: alternatives.into() },
            Stmt::Timer(to, payload) => {
                process.refs += 1;
                process.timers.push(reference);
                Op::StartTimer { reference, to: target(to), payload }
            }
            Stmt::CancelTimer => match process.timers.pop() {
                Some(reference) => Op::CancelTimer { reference },
                None => return self.next(pid),
            },
            Stmt::QueueLength(of) => Op::Inspect { target: who(of), query: Query::QueueLength },
            Stmt::Alive(of) => Op::Inspect { target: who(of), query: Query::Alive },
            Stmt::Shared(n, deed) => {
                process.body = vec![Stmt::Shared(n, deed)];
                Op::Shared
            }
            Stmt::Alias(reply) => {
                let end = if reply { AliasEnd::Reply } else { AliasEnd::Unalias };
                Op::Alias { reference: Ref { owner: pid, n: 1000 }, end }
            }
            Stmt::Unalias => Op::Unalias { reference: Ref { owner: pid, n: 1000 } },
            Stmt::SendAlias(to, payload) => Op::Send { to: Target::Alias(Ref { owner: who(to), n: 1000 }), payload },
        };
    }

    fn observe(&mut self, pid: Pid, kind: u8, what: u64) {
        let process = &mut self.processes[pid.index()];
        process.kind = kind;
        process.history.push(what);
    }
}

fn reason_of(n: u8, signal: bool) -> Reason<u8> {
    match n {
        0 => Reason::Normal,
        1 if signal => Reason::Kill,
        n => Reason::Other(n),
    }
}

fn kind_of(content: &Content<Model>) -> u8 {
    match content {
        Content::User(tag) => 1 << tag,
        Content::Exit { .. } => EXIT,
        Content::Down { .. } => DOWN,
    }
}

fn number<T: std::fmt::Debug>(what: &T) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = std::hash::DefaultHasher::new();
    format!("{what:?}").hash(&mut hasher);
    hasher.finish()
}

impl Machine for Model {
    type Payload = u8;
    type Predicate = u8;
    type Reason = u8;
    /// Which counter, and what was done. What failed was only a look.
    type Effect = (usize, Deed);

    fn start(&mut self) -> Result<(), Stop> {
        let mut body = self.program.bodies[0].clone();
        for other in self.program.bodies[1..].iter().rev() {
            body.insert(0, Stmt::Spawn { link: false, monitor: false, body: other.clone() });
        }
        self.begin(first_process(), self.program.bodies.len() as u8, &body);
        Ok(())
    }

    fn status(&self, pid: Pid) -> Status {
        self.processes.get(pid.index()).map_or(Status::Absent, |process| process.status)
    }

    fn pending(&self, pid: Pid) -> &Op<Self> {
        &self.processes[pid.index()].op
    }

    fn resume(&mut self, pid: Pid, outcome: Outcome<Self>) -> Result<(), Stop> {
        self.save(pid);
        match outcome {
            Outcome::Spawned(child) => {
                let process = &mut self.processes[pid.index()];
                assert_eq!(process.what, What::Spawn);
                process.child = child;
                let mut path = self.paths[&pid].clone();
                path.push(process.children);
                process.children += 1;
                self.paths.insert(child, path);
                let body = std::mem::take(&mut process.body);
                // The first process creates those that all know by number, in this order.
                let first = pid == first_process() && process.children < self.program.bodies.len() as u32;
                let knows = if first { process.children as u8 } else { process.knows };
                self.begin(child, knows, &body);
            }
            Outcome::Message(message) => {
                let reason = match &message.content {
                    Content::User(tag) => number(tag),
                    Content::Exit { reason, .. } | Content::Down { reason, .. } => number(reason),
                };
                self.observe(pid, kind_of(&message.content), number(&(self.sender(&message), reason)));
            }
            Outcome::Timeout => self.observe(pid, TIMEOUT, 1),
            Outcome::Flag(flag) => {
                let told = !matches!(self.pending(pid), Op::Demonitor { info: false, .. });
                if told {
                    self.observe(pid, 1 << u8::from(flag), 2 + u64::from(flag));
                }
            }
            Outcome::Found(pid_found) => self.observe(
                pid,
                1 << u8::from(pid_found.is_some()),
                number(&pid_found.map(|found| &self.paths[&found])),
            ),
            Outcome::Chosen(n) => self.observe(pid, 1 << n, 5 + u64::from(n)),
            Outcome::Info(info) => self.observe(pid, 1 << u8::from(info != Info::NoProcess), number(&info)),
            Outcome::Refused => self.observe(pid, 1, 4),
            Outcome::Done => {
                if let (Op::Shared, Some(value)) = (self.pending(pid), self.glimpse) {
                    self.observe(pid, 1 << (value % 2), value);
                }
            }
        }
        self.next(pid);
        Ok(())
    }

    fn perform(&mut self, pid: Pid) -> (usize, Deed) {
        let Some(&Stmt::Shared(n, deed)) = self.processes[pid.index()].body.first() else { unreachable!() };
        let n = usize::from(n);
        self.counters_log.push(self.counters);
        let old = self.counters[n];
        let mut done = deed;
        self.glimpse = None;
        match deed {
            Deed::Read => self.glimpse = Some(old),
            Deed::Add => self.counters[n] += 1,
            Deed::Store(value) => self.counters[n] = value.into(),
            Deed::Fetch => {
                self.glimpse = Some(old);
                self.counters[n] += 1;
            }
            Deed::StoreNew(value) => {
                self.glimpse = Some(u64::from(old == 0));
                if old == 0 {
                    self.counters[n] = value.into();
                } else {
                    done = Deed::Read;
                }
            }
            Deed::ReadAll => self.glimpse = Some(number(&self.counters)),
            Deed::Reset => self.counters = [0; COUNTERS],
        }
        (n, done)
    }

    fn ended(&mut self, pid: Pid, reason: &Reason<u8>) -> Result<Option<(usize, Deed)>, Stop> {
        self.save(pid);
        self.processes[pid.index()].history.push(number(reason));
        self.processes[pid.index()].status = Status::Ended;
        Ok(None)
    }

    fn accepts(&self, mask: &u8, message: &Message<Self>) -> bool {
        mask & kind_of(&message.content) != 0
    }

    /// Additions commute; so do looks.
    fn commute(&self, a: &(usize, Deed), b: &(usize, Deed)) -> bool {
        use Deed::{Add, Read, ReadAll, Reset, Store};
        let apart = a.0 != b.0 && ![a.1, b.1].iter().any(|deed| matches!(deed, ReadAll | Reset));
        apart
            || matches!((a.1, b.1), (Add, Add) | (Reset, Reset) | (Read | ReadAll, Read | ReadAll))
            || a == b && matches!(a.1, Store(_))
    }

    fn is_store(&self, effect: &(usize, Deed)) -> bool {
        matches!(effect.1, Deed::Store(_))
    }

    fn access(&self, later: &(usize, Deed), store: &(usize, Deed)) -> Access {
        match later.1 {
            Deed::Reset => Access::Overwrites,
            Deed::ReadAll => Access::Observes,
            _ if later.0 != store.0 => Access::Apart,
            Deed::Store(_) => Access::Overwrites,
            Deed::Read | Deed::Add | Deed::Fetch | Deed::StoreNew(_) => Access::Observes,
        }
    }

    fn mark(&mut self) {
        self.marks.push((self.log.len(), self.counters_log.len()));
    }

    fn undo(&mut self) {
        let (log, counters) = self.marks.pop().expect("there is a mark");
        for (pid, process) in self.log.drain(log..).rev() {
            self.processes[pid.index()] = process;
        }
        for old in self.counters_log.drain(counters..).rev() {
            self.counters = old;
        }
    }

    fn name(&self, pid: Pid) -> String {
        pid.to_string()
    }

    fn place(&self, _: Pid) -> SourceSpan {
        SourceSpan::default()
    }

    fn show_message(&self, message: &Message<Self>) -> String {
        format!("{:?}", message.id)
    }

    fn show_reason(&self, reason: &Reason<u8>) -> String {
        format!("{reason:?}")
    }

    fn show_name(&self, name: Name) -> String {
        name.to_string()
    }
}

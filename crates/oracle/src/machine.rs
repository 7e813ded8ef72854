//! How a litmus program runs: the front end that yields an Op per instruction.
//!
//! Locks are encoded as the library models of the big front end encode them: a word that is 0 when free and the number
//! of the holder plus 2 when held; `lock` is an exchange that waits for a value of at most 1.
//!
//! Going back is done by keeping copies: before a thread changes, its old state is logged. That is enough, since a
//! thread is a handful of numbers.

use crate::litmus::{Expr, Inst, Place, Program, REGISTERS, Reg, Until, VarId};
use selvedge_ir::{CmpOp, EntityRef, Order, RmwOp};
use selvedge_machine::memory::ObjectKind;
use selvedge_machine::{
    Access, AccessKind, Addr, Bound, BoundKind, Cond, Fault, Machine, Memory, Op, Outcome, Purpose, Site, SourceSpan,
    Status, Stop, ThreadId, Violation, ViolationKind, main_thread,
};

/// Local instructions between two Ops are at most this many; a thread that makes more has reached a bound.
const MAX_LOCAL: usize = 10_000;

/// A litmus program being run.
pub struct LitmusMachine {
    program: Program,
    paths: Vec<Vec<u32>>,
    vars: Vec<Addr>,
    memory: Memory,
    threads: Vec<ThreadState>,
    /// All threads that were ever about to be created are below this.
    limit: usize,
    log: Vec<(ThreadId, ThreadState)>,
    marks: Vec<usize>,
}

#[derive(Clone)]
struct ThreadState {
    status: Status,
    /// The instruction whose Op is pending, if the thread is ready.
    pc: usize,
    op: Op,
    regs: [u64; REGISTERS],
    /// How often each `Repeat` has jumped back since it was last left.
    rounds: Vec<u8>,
    /// The condition variable that it waits on.
    waits: Option<VarId>,
    /// Whether it has ended the process.
    exited: bool,
}

impl LitmusMachine {
    /// A machine for a valid program; the error says what is wrong with an invalid one.
    pub fn new(program: Program) -> Result<LitmusMachine, String> {
        program.validate()?;
        let paths = program.paths()?;
        let mut memory = Memory::new();
        let mut vars = Vec::new();
        for (n, var) in program.vars.iter().enumerate() {
            let size = u64::from(var.size);
            let addr = memory.alloc(None, ObjectKind::Global, size, var.init.is_some(), n as u32);
            let addr = addr.expect("a few small objects fit into any space");
            if let Some(init) = var.init {
                memory.initialise(addr, &init.to_le_bytes()[..usize::from(var.size.min(8))]);
            }
            vars.push(addr);
        }
        let threads = program.threads.iter().map(|insts| ThreadState::absent(insts.len())).collect();
        Ok(LitmusMachine { program, paths, vars, memory, threads, limit: 1, log: Vec::new(), marks: Vec::new() })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// A thread's registers.
    pub fn registers(&self, thread: ThreadId) -> &[u64; REGISTERS] {
        &self.threads[thread.index()].regs
    }

    /// The bytes of all variables (none for those that are dead; zero where uninitialised).
    pub fn bytes(&self) -> Vec<Option<Vec<u8>>> {
        let byte = |addr: Addr| self.memory.load(main_thread(), addr, 1, true).map(|byte| byte as u8).ok();
        let var = |(n, &base): (usize, &Addr)| {
            (0..u64::from(self.program.vars[n].size)).map(|offset| byte(Addr(base.0 + offset))).collect()
        };
        self.vars.iter().enumerate().map(var).collect()
    }

    /// The variable and offset that an address stands for.
    pub fn locate(&self, addr: Addr) -> Option<(VarId, u64)> {
        let within = |(n, base): (usize, &Addr)| {
            let offset = addr.0.checked_sub(base.0)?;
            (offset < u64::from(self.program.vars[n].size)).then(|| (VarId::new(n), offset))
        };
        self.vars.iter().enumerate().find_map(within)
    }

    fn save(&mut self, thread: ThreadId) {
        if !self.marks.is_empty() {
            self.log.push((thread, self.threads[thread.index()].clone()));
        }
    }

    /// Starts a thread that was absent.
    fn create(&mut self, thread: ThreadId) -> Result<(), Stop> {
        self.save(thread);
        self.threads[thread.index()].status = Status::Ready;
        self.run(thread)
    }

    /// Runs a thread from its program counter to its next Op.
    fn run(&mut self, thread: ThreadId) -> Result<(), Stop> {
        for _ in 0..MAX_LOCAL {
            let state = &mut self.threads[thread.index()];
            let Some(inst) = self.program.threads[thread.index()].get(state.pc) else {
                state.finish(thread == main_thread());
                return Ok(());
            };
            if !inst.is_local() {
                let op = self.op(thread, inst);
                return self.wait_with(thread, op);
            }
            match state.step(inst) {
                Local::On => {}
                Local::End => return Ok(()),
                Local::Failed => return Err(self.stop(thread, ViolationKind::Assertion, "the assertion fails")),
                Local::Bound(iterations) => return Err(self.bound(thread, BoundKind::Loop { iterations })),
            }
        }
        Err(self.bound(thread, BoundKind::Local { instructions: MAX_LOCAL as u64 }))
    }

    fn wait_with(&mut self, thread: ThreadId, op: Op) -> Result<(), Stop> {
        let misuse = match &self.program.threads[thread.index()][self.threads[thread.index()].pc] {
            Inst::Wait(_) if self.threads[thread.index()].waits.is_some() => Some("waits a second time"),
            Inst::Wake { var, .. } if self.threads[thread.index()].waits != Some(*var) => Some("wakes without waiting"),
            _ => None,
        };
        if let Some(message) = misuse {
            return Err(self.stop(thread, ViolationKind::LockMisuse, message));
        }
        if let Op::Spawn { child } = op {
            self.limit = self.limit.max(child.index() + 1);
        }
        self.threads[thread.index()].op = op;
        Ok(())
    }

    fn stop(&mut self, thread: ThreadId, kind: ViolationKind, message: &str) -> Stop {
        self.threads[thread.index()].status = Status::Stopped;
        self.violation(thread, kind, message)
    }

    fn violation(&self, thread: ThreadId, kind: ViolationKind, message: &str) -> Stop {
        let span = self.span(thread);
        let message = format!("{thread}, instruction {}: {message}", span.line);
        Stop::Violation(Box::new(Violation { kind, message, places: vec![(span, String::new())] }))
    }

    fn bound(&mut self, thread: ThreadId, kind: BoundKind) -> Stop {
        self.threads[thread.index()].status = Status::Stopped;
        let place = self.span(thread);
        let what = if matches!(kind, BoundKind::Loop { .. }) { "loop" } else { "local instructions" };
        Stop::Bound(Box::new(Bound { kind, what: format!("{what} at {place}"), place }))
    }

    fn span(&self, thread: ThreadId) -> SourceSpan {
        let line = self.threads[thread.index()].pc as u32 + 1;
        SourceSpan { file: "litmus".to_owned(), line, column: 0, function: thread.to_string() }
    }

    /// The address of a place.
    pub fn addr(&self, place: Place) -> Addr {
        Addr(self.vars[place.var.index()].0 + u64::from(place.offset))
    }

    /// The Op of an instruction that has one.
    fn op(&self, thread: ThreadId, inst: &Inst) -> Op {
        let state = &self.threads[thread.index()];
        let cond = |var: &VarId| self.vars[var.index()];
        match inst {
            Inst::Spawn(child) => Op::Spawn { child: *child },
            Inst::Join(thread) => Op::Join { thread: *thread },
            Inst::Wait(var) => Op::CondWait { cond: cond(var) },
            Inst::Wake { var, early, .. } => Op::CondWake { cond: cond(var), early: *early },
            Inst::Signal(var) => Op::CondSignal { cond: cond(var) },
            Inst::Broadcast(var) => Op::CondBroadcast { cond: cond(var) },
            Inst::Choose { alternatives, .. } => Op::Choose { alternatives: *alternatives },
            Inst::Fence(order) => Op::Fence { order: *order },
            Inst::Free(var) => Op::Free { addr: cond(var), size: u64::from(self.program.vars[var.index()].size) },
            Inst::Begin => Op::AtomicBegin,
            Inst::End => Op::AtomicEnd,
            _ => Op::Access(self.access(thread, state, inst)),
        }
    }

    fn access(&self, thread: ThreadId, state: &ThreadState, inst: &Inst) -> Access {
        let value = |expr: &Expr| state.value(*expr);
        let until = |until: &Option<Until>| until.map(|u| Cond::new(u.op, state.value(u.operand)));
        let (order, purpose, kind, until) = match inst {
            Inst::Load { order, until: u, .. } => (*order, Purpose::Data, AccessKind::Load, until(u)),
            Inst::Store { value: v, order, until: u, .. } => {
                (*order, Purpose::Data, AccessKind::Store { value: value(v) }, until(u))
            }
            Inst::Rmw { dst, op, value: v, order, until: u, .. } => {
                let kind = AccessKind::Rmw { op: *op, operand: value(v), used: dst.is_some() };
                (*order, Purpose::Data, kind, until(u))
            }
            Inst::Cas { expected, new, success, failure, until: u, .. } => {
                let kind = AccessKind::Cas { expected: value(expected), new: value(new), failure: *failure };
                (*success, Purpose::Data, kind, until(u))
            }
            Inst::Lock { .. } => {
                let held = thread.index() as u64 + 2;
                let kind = AccessKind::Rmw { op: RmwOp::Xchg, operand: held, used: false };
                (Order::Acquire, Purpose::Lock, kind, Some(Cond::new(CmpOp::Ule, 1)))
            }
            Inst::Unlock { .. } => (Order::Release, Purpose::Unlock, AccessKind::Store { value: 0 }, None),
            other => unreachable!("{other:?} is not an access"),
        };
        let place = inst.place().expect("an access has a place");
        let access = Access { purpose, until, ..Access::new(self.addr(place), place.size, order, kind) };
        match *inst {
            Inst::Load { speculative, .. } => Access { speculative, ..access },
            // Whoever fails to confirm what it has read would read it again.
            Inst::Cas { confirms, .. } => {
                Access { confirms, until: access.until.map(|until| Cond { retry: confirms, ..until }), ..access }
            }
            _ => access,
        }
    }
}

/// What a local instruction does to its thread.
enum Local {
    On,
    End,
    Failed,
    /// A loop has gone round as often as allowed.
    Bound(u32),
}

impl ThreadState {
    fn absent(insts: usize) -> ThreadState {
        ThreadState {
            status: Status::Absent,
            pc: 0,
            op: Op::AtomicEnd,
            regs: [0; REGISTERS],
            rounds: vec![0; insts],
            waits: None,
            exited: false,
        }
    }

    fn value(&self, expr: Expr) -> u64 {
        expr.reg.map_or(0, |reg| self.regs[reg.index()]).wrapping_add(expr.add)
    }

    fn holds(&self, until: Until, value: u64, size: u8) -> bool {
        Cond::new(until.op, self.value(until.operand)).holds(value, size)
    }

    fn finish(&mut self, exited: bool) {
        self.status = Status::Finished;
        self.exited = exited;
    }

    fn step(&mut self, inst: &Inst) -> Local {
        let here = self.pc;
        self.pc += 1;
        match inst {
            Inst::Set { dst, value } => self.regs[dst.index()] = self.value(*value),
            Inst::Assume(test) if !test.holds(self.regs[test.reg.index()]) => {
                self.pc = here;
                self.status = Status::AssumeBlocked;
                return Local::End;
            }
            Inst::Retry { reg, when } if self.holds(*when, self.regs[reg.index()], 8) => {
                self.pc = here;
                self.status = Status::AssumeBlocked;
                return Local::End;
            }
            Inst::Assert(test) if !test.holds(self.regs[test.reg.index()]) => {
                self.pc = here;
                return Local::Failed;
            }
            Inst::Skip { count, when } if when.is_none_or(|test| test.holds(self.regs[test.reg.index()])) => {
                self.pc += usize::from(*count);
            }
            Inst::Repeat { count, max, when, bound } => {
                let again = when.holds(self.regs[when.reg.index()]);
                if again && self.rounds[here] < *max {
                    self.rounds[here] += 1;
                    self.pc = here - usize::from(*count);
                } else if again && *bound {
                    self.pc = here;
                    return Local::Bound(u32::from(*max));
                } else {
                    self.rounds[here] = 0;
                }
            }
            Inst::Exit | Inst::Leave => {
                self.pc = here;
                self.finish(*inst == Inst::Exit);
                return Local::End;
            }
            _ => {}
        }
        Local::On
    }

    /// Takes the outcome of the pending instruction and goes past it.
    fn take(&mut self, inst: &Inst, outcome: Outcome) {
        let dst: Option<Reg> = match inst {
            Inst::Load { dst, .. } | Inst::Choose { dst, .. } => Some(*dst),
            Inst::Rmw { dst, .. } | Inst::Cas { dst, .. } | Inst::Wake { dst, .. } => *dst,
            _ => None,
        };
        if let Some(dst) = dst {
            self.regs[dst.index()] = outcome;
        }
        match inst {
            Inst::Wait(var) => self.waits = Some(*var),
            Inst::Wake { .. } => self.waits = None,
            _ => {}
        }
        self.pc += 1;
    }
}

impl Inst {
    /// Whether no other thread can notice it.
    fn is_local(&self) -> bool {
        matches!(
            self,
            Inst::Set { .. }
                | Inst::Assume(_)
                | Inst::Retry { .. }
                | Inst::Assert(_)
                | Inst::Skip { .. }
                | Inst::Repeat { .. }
                | Inst::Exit
                | Inst::Leave
        )
    }
}

impl Machine for LitmusMachine {
    fn start(&mut self) -> Result<(), Stop> {
        self.create(main_thread())
    }

    fn thread_limit(&self) -> usize {
        self.limit
    }

    fn status(&self, thread: ThreadId) -> Status {
        self.threads.get(thread.index()).map_or(Status::Absent, |state| state.status)
    }

    fn can_be_joined(&self, thread: ThreadId) -> bool {
        self.status(thread) == Status::Finished && !self.threads[thread.index()].exited
    }

    fn pending(&self, thread: ThreadId) -> &Op {
        let state = &self.threads[thread.index()];
        let has_one = matches!(state.status, Status::Ready | Status::AssumeBlocked);
        debug_assert!(has_one, "only threads that could go on have a pending Op");
        &state.op
    }

    fn resume(&mut self, thread: ThreadId, outcome: Outcome) -> Result<(), Stop> {
        self.save(thread);
        let state = &mut self.threads[thread.index()];
        debug_assert_eq!(state.status, Status::Ready, "only ready threads are resumed");
        let op = state.op;
        state.take(&self.program.threads[thread.index()][state.pc], outcome);
        let own = self.run(thread);
        match op {
            // The parent's own trouble is reported first; the child exists all the same.
            Op::Spawn { child } => own.and(self.create(child)),
            _ => own,
        }
    }

    fn halt(&mut self, thread: ThreadId, status: Status) {
        self.save(thread);
        self.threads[thread.index()].status = status;
    }

    fn fault(&self, thread: ThreadId, _access: &Access, fault: Fault) -> Stop {
        let (kind, message) = match fault {
            Fault::Dead(_) => (ViolationKind::UseAfterFree, "the variable is dead"),
            Fault::Uninitialised(_) => (ViolationKind::UninitialisedRead, "the variable was never written"),
            Fault::OutOfBounds(_) => (ViolationKind::OutOfBounds, "not within the variable"),
            _ => (ViolationKind::InvalidPointer, "not a variable"),
        };
        self.violation(thread, kind, message)
    }

    fn free_fault(&self, thread: ThreadId, _addr: Addr) -> Stop {
        self.violation(thread, ViolationKind::DoubleFree, "the variable is dead already")
    }

    fn memory(&self) -> &Memory {
        &self.memory
    }

    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    fn spins(&self, thread: ThreadId) -> bool {
        let state = &self.threads[thread.index()];
        let inst = self.program.threads[thread.index()].get(state.pc);
        state.status == Status::AssumeBlocked && matches!(inst, Some(Inst::Retry { .. }))
    }

    fn exited(&self) -> bool {
        self.threads.iter().any(|state| state.exited)
    }

    fn mark(&mut self) {
        self.marks.push(self.log.len());
        self.memory.mark();
    }

    fn undo(&mut self) {
        let to = self.marks.pop().expect("undo has a mark to go to");
        for (thread, state) in self.log.drain(to..).rev() {
            self.threads[thread.index()] = state;
        }
        self.memory.undo();
    }

    fn site(&self, thread: ThreadId) -> Site {
        let pc = self.threads[thread.index()].pc;
        let inst = self.program.threads[thread.index()].get(pc);
        let object = inst.and_then(Inst::var).map_or(String::new(), |var| var.to_string());
        Site { span: self.span(thread), object, ..Site::default() }
    }

    fn thread_name(&self, thread: ThreadId) -> String {
        thread.to_string()
    }

    fn thread_path(&self, thread: ThreadId) -> Vec<u32> {
        self.paths[thread.index()].clone()
    }

    fn thread_at(&mut self, path: &[u32]) -> Option<ThreadId> {
        let index = self.paths.iter().position(|other| other == path)?;
        self.limit = self.limit.max(index + 1);
        Some(ThreadId::new(index))
    }

    fn at_end(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    fn output(&self) -> &str {
        ""
    }
}

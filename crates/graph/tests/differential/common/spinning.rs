//! Litmus programs in which nothing says what an exchange waits for: the thread would come back to it with other values, and only the
//! machine knows with which ones. So it is with Rust code, whose loops are run.

use selvedge_ir::EntityRef;
use selvedge_machine::{Access, Addr, Fault, Machine, Memory, Op, Outcome, Site, Status, Stop, ThreadId};
use selvedge_oracle::litmus::Program;
use selvedge_oracle::machine::LitmusMachine;

/// A litmus program whose exchanges spin instead of waiting for a condition.
pub struct Spinning {
    machine: LitmusMachine,
    /// What the threads wait with, as others see it.
    pending: Vec<Op>,
}

impl Spinning {
    pub fn new(program: Program) -> Spinning {
        Spinning { machine: LitmusMachine::new(program).expect("the program is valid"), pending: Vec::new() }
    }

    fn look(&mut self) {
        let pending = |thread: ThreadId| {
            if !matches!(self.machine.status(thread), Status::Ready | Status::AssumeBlocked) {
                return Op::Choose { alternatives: 1 };
            }
            match *self.machine.pending(thread) {
                Op::Access(access) if access.may_be_tested() => {
                    Op::Access(Access { until: None, spins: true, ..access })
                }
                op => op,
            }
        };
        self.pending = (0..self.machine.program().threads.len()).map(ThreadId::new).map(pending).collect();
    }

    fn looking<T>(&mut self, act: impl FnOnce(&mut LitmusMachine) -> T) -> T {
        let result = act(&mut self.machine);
        self.look();
        result
    }
}

impl Machine for Spinning {
    fn start(&mut self) -> Result<(), Stop> {
        self.looking(Machine::start)
    }

    fn thread_limit(&self) -> usize {
        self.machine.thread_limit()
    }

    fn status(&self, thread: ThreadId) -> Status {
        self.machine.status(thread)
    }

    fn can_be_joined(&self, thread: ThreadId) -> bool {
        self.machine.can_be_joined(thread)
    }

    fn pending(&self, thread: ThreadId) -> &Op {
        &self.pending[thread.index()]
    }

    fn resume(&mut self, thread: ThreadId, outcome: Outcome) -> Result<(), Stop> {
        self.looking(|machine| machine.resume(thread, outcome))
    }

    fn waits(&mut self, thread: ThreadId, value: u64) -> bool {
        let Op::Access(Access { until: Some(until), size, .. }) = self.machine.pending(thread) else { return false };
        !until.holds(value, *size)
    }

    fn halt(&mut self, thread: ThreadId, status: Status) {
        self.looking(|machine| machine.halt(thread, status));
    }

    fn fault(&self, thread: ThreadId, access: &Access, fault: Fault) -> Stop {
        self.machine.fault(thread, access, fault)
    }

    fn free_fault(&self, thread: ThreadId, addr: Addr) -> Stop {
        self.machine.free_fault(thread, addr)
    }

    fn memory(&self) -> &Memory {
        self.machine.memory()
    }

    fn memory_mut(&mut self) -> &mut Memory {
        self.machine.memory_mut()
    }

    fn spins(&self, thread: ThreadId) -> bool {
        self.machine.spins(thread)
    }

    fn exited(&self) -> bool {
        self.machine.exited()
    }

    fn mark(&mut self) {
        self.machine.mark();
    }

    fn undo(&mut self) {
        self.looking(Machine::undo);
    }

    fn site(&self, thread: ThreadId) -> Site {
        self.machine.site(thread)
    }

    fn thread_name(&self, thread: ThreadId) -> String {
        self.machine.thread_name(thread)
    }

    fn thread_path(&self, thread: ThreadId) -> Vec<u32> {
        self.machine.thread_path(thread)
    }

    fn thread_at(&mut self, path: &[u32]) -> Option<ThreadId> {
        self.looking(|machine| machine.thread_at(path))
    }

    fn at_end(&mut self) -> Result<(), Stop> {
        self.machine.at_end()
    }

    fn output(&self) -> &str {
        self.machine.output()
    }
}

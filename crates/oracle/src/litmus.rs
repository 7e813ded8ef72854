//! Small multi-threaded programs as data.
//!
//! A program is a few shared variables and a list of threads; thread 0 is main and creates the others by [`Inst::Spawn`].
//! Each thread has [`REGISTERS`] registers and a list of instructions. Every Op of the vocabulary between threads and
//! engines can be written down, and little else: the point is to drive engines into corners, not to compute.
//!
//! A thread is created by at most one `Spawn` in the whole program, and not within a loop, so the number of a thread is
//! its place in the list in every execution. Jumps are relative and structured (`skip` the next n instructions,
//! `repeat` the last n), so that instructions can be dropped by a shrinker without renaming labels.
//!
//! Programs may be nonsense (unlock what is not locked, wake without having waited); what such a program does is
//! defined nevertheless. Only what would have no meaning at all is refused by [`Program::validate`].

use selvedge_ir::{CmpOp, EntityRef, Order, RmwOp, Speculation, entity};
use selvedge_machine::{Cond, ThreadId, main_thread};

entity! {
    /// A shared variable.
    VarId, "v"
}
entity! {
    /// A register of a thread.
    Reg, "r"
}

/// Registers per thread.
pub const REGISTERS: usize = 8;
/// Variables are at most this large.
pub const MAX_VAR: u8 = 64;
/// Threads per program are at most this many.
pub const MAX_THREADS: usize = 16;
/// Instructions per thread are at most this many.
pub const MAX_INSTS: usize = 200;
/// Alternatives of a `choose` are at most this many.
pub const MAX_ALTERNATIVES: u32 = 64;

/// A shared variable.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Var {
    /// Size in bytes: 1 to [`MAX_VAR`].
    pub size: u8,
    /// The initial value of its first (up to eight) bytes, the others are zero; none if it starts uninitialised.
    pub init: Option<u64>,
}

/// Some bytes of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// Which variable.
    pub var: VarId,
    /// The first byte.
    pub offset: u8,
    /// How many bytes: 1 to 8.
    pub size: u8,
}

/// A constant, a register, or a register plus a constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Expr {
    /// The register, if there is one.
    pub reg: Option<Reg>,
    /// The constant to add.
    pub add: u64,
}

impl Expr {
    /// A constant.
    pub fn constant(value: u64) -> Expr {
        Expr { reg: None, add: value }
    }

    /// A register.
    pub fn reg(reg: Reg) -> Expr {
        Expr { reg: Some(reg), add: 0 }
    }
}

/// A comparison of a register with a constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Test {
    /// The register.
    pub reg: Reg,
    /// The comparison.
    pub op: CmpOp,
    /// The constant.
    pub value: u64,
}

impl Test {
    /// Whether it holds for a register's value.
    pub fn holds(self, reg: u64) -> bool {
        Cond::new(self.op, self.value).holds(reg, 8)
    }
}

/// The condition that an access waits for: `value op operand`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Until {
    /// The comparison.
    pub op: CmpOp,
    /// The right operand.
    pub operand: Expr,
}

/// One instruction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Inst {
    /// Reads.
    Load {
        /// Where the value goes.
        dst: Reg,
        /// What is read.
        place: Place,
        /// Memory order.
        order: Order,
        /// Whether a compare-and-exchange will confirm it. No load waits and is confirmed as well.
        speculative: Option<Speculation>,
        /// What it waits for.
        until: Option<Until>,
    },
    /// Writes.
    Store {
        /// What is written.
        place: Place,
        /// The value.
        value: Expr,
        /// Memory order.
        order: Order,
        /// What it waits for.
        until: Option<Until>,
    },
    /// Reads and writes.
    Rmw {
        /// Where the old value goes; if nowhere, the Op says that it is not used.
        dst: Option<Reg>,
        /// The operation.
        op: RmwOp,
        /// What is changed.
        place: Place,
        /// The right operand.
        value: Expr,
        /// Memory order.
        order: Order,
        /// What it waits for.
        until: Option<Until>,
    },
    /// Compares and exchanges.
    Cas {
        /// Where the old value goes.
        dst: Option<Reg>,
        /// What is changed.
        place: Place,
        /// The expected value.
        expected: Expr,
        /// The new value.
        new: Expr,
        /// Memory order of success.
        success: Order,
        /// Memory order of failure.
        failure: Order,
        /// Whether it confirms the thread's last speculative load.
        confirms: bool,
        /// What it waits for.
        until: Option<Until>,
    },
    /// Acquires a mutex: waits for a value of at most 1 and leaves the number of the thread plus 2.
    Lock {
        /// The mutex.
        place: Place,
    },
    /// Releases a mutex: writes 0.
    Unlock {
        /// The mutex.
        place: Place,
    },
    /// Computes.
    Set {
        /// Where the value goes.
        dst: Reg,
        /// The value.
        value: Expr,
    },
    /// Goes on only if the test holds.
    Assume(Test),
    /// The end of an attempt, which is what the thread has read since it last changed something: if the condition holds,
    /// the attempt has failed, and the thread would start it again.
    Retry {
        /// What is compared.
        reg: Reg,
        /// When.
        when: Until,
    },
    /// Fails unless the test holds.
    Assert(Test),
    /// Jumps over the next instructions, if the test holds.
    Skip {
        /// How many.
        count: u8,
        /// When; always if not given.
        when: Option<Test>,
    },
    /// Jumps back over the last instructions while the test holds.
    Repeat {
        /// How many.
        count: u8,
        /// How often at most.
        max: u8,
        /// When.
        when: Test,
        /// What happens when the test still holds after that: if true, a bound is reached; if false, it goes on.
        bound: bool,
    },
    /// Creates a thread.
    Spawn(ThreadId),
    /// Waits for the end of a thread.
    Join(ThreadId),
    /// Starts to wait on a condition variable.
    Wait(VarId),
    /// Comes back from waiting.
    Wake {
        /// The condition variable.
        var: VarId,
        /// Whether it may come back without a signal.
        early: bool,
        /// Where it is noted whether it was signalled.
        dst: Option<Reg>,
    },
    /// Wakes one waiting thread.
    Signal(VarId),
    /// Wakes all waiting threads.
    Broadcast(VarId),
    /// Chooses a number.
    Choose {
        /// Where it goes.
        dst: Reg,
        /// Below what.
        alternatives: u32,
    },
    /// A fence.
    Fence(Order),
    /// Ends the life of a variable.
    Free(VarId),
    /// Starts an atomic section.
    Begin,
    /// Ends it.
    End,
    /// Ends the process.
    Exit,
    /// Ends the thread; main ends the process if it ends in any other way.
    Leave,
}

/// The instructions of a thread.
pub type Thread = Vec<Inst>;

/// A program.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Program {
    /// The shared variables.
    pub vars: Vec<Var>,
    /// The threads; the first is main.
    pub threads: Vec<Thread>,
}

impl Program {
    /// Checks everything that the other functions rely on. The message names the thread and the instruction.
    pub fn validate(&self) -> Result<(), String> {
        if self.threads.is_empty() || self.threads.len() > MAX_THREADS {
            return Err(format!("a program has 1 to {MAX_THREADS} threads"));
        }
        for (n, var) in self.vars.iter().enumerate() {
            if var.size == 0 || var.size > MAX_VAR {
                return Err(format!("{}: a variable has 1 to {MAX_VAR} bytes", VarId::new(n)));
            }
        }
        let mut spawned = vec![false; self.threads.len()];
        spawned[main_thread().index()] = true;
        for (t, thread) in self.threads.iter().enumerate() {
            let t = ThreadId::new(t);
            if thread.len() > MAX_INSTS {
                return Err(format!("{t}: a thread has at most {MAX_INSTS} instructions"));
            }
            for (at, inst) in thread.iter().enumerate() {
                let wrong = |what: String| Err(format!("{t}, instruction {}: {what}", at + 1));
                if let Err(what) = self.validate_inst(thread, at, inst) {
                    return wrong(what);
                }
                if let Inst::Spawn(child) = inst
                    && std::mem::replace(&mut spawned[child.index()], true)
                {
                    return wrong(format!("{child} is created a second time"));
                }
            }
        }
        self.paths().map(|_| ())
    }

    fn validate_inst(&self, thread: &Thread, at: usize, inst: &Inst) -> Result<(), String> {
        let known = |var: VarId| match self.vars.get(var.index()) {
            Some(var) => Ok(var),
            None => Err(format!("there is no variable {var}")),
        };
        if let Some(place) = inst.place() {
            let var = known(place.var)?;
            let end = u32::from(place.offset) + u32::from(place.size);
            if place.size == 0 || place.size > 8 || end > u32::from(var.size) {
                return Err(format!("{} has no such bytes", place.var));
            }
        }
        if inst.registers().any(|reg| reg.index() >= REGISTERS) {
            return Err(format!("a thread has {REGISTERS} registers"));
        }
        match inst {
            Inst::Load { speculative: Some(_), until: Some(_), .. } => {
                Err("a load that waits cannot be speculative".to_owned())
            }
            Inst::Wait(var) | Inst::Wake { var, .. } | Inst::Signal(var) | Inst::Broadcast(var) | Inst::Free(var) => {
                known(*var).map(|_| ())
            }
            Inst::Skip { count, .. } if at + usize::from(*count) >= thread.len() => {
                Err("jumps beyond the end of the thread".to_owned())
            }
            Inst::Repeat { count, .. } => self.validate_loop(thread, at, usize::from(*count)),
            Inst::Spawn(child) | Inst::Join(child) if child.index() >= self.threads.len() => {
                Err(format!("there is no thread {child}"))
            }
            Inst::Choose { alternatives, .. } if *alternatives == 0 || *alternatives > MAX_ALTERNATIVES => {
                Err(format!("a choice has 1 to {MAX_ALTERNATIVES} alternatives"))
            }
            _ => Ok(()),
        }
    }

    fn validate_loop(&self, thread: &Thread, at: usize, count: usize) -> Result<(), String> {
        if count > at {
            return Err("jumps beyond the start of the thread".to_owned());
        }
        match thread[at - count..at].iter().any(|inst| matches!(inst, Inst::Spawn(_))) {
            true => Err("a thread is created within a loop".to_owned()),
            false => Ok(()),
        }
    }

    /// Per thread its path of spawns: which `Spawn` of its parent creates it, and so on up to main. A thread that
    /// nobody creates has a path that no other thread has.
    pub fn paths(&self) -> Result<Vec<Vec<u32>>, String> {
        let parents = self.parents();
        let path = |thread: usize| {
            let (mut path, mut at) = (Vec::new(), thread);
            while at != main_thread().index() {
                let Some((parent, nth)) = parents[at] else {
                    path.push(u32::MAX - at as u32);
                    break;
                };
                path.push(nth);
                if path.len() > self.threads.len() {
                    return Err(format!("{} would have to create itself", ThreadId::new(thread)));
                }
                at = parent.index();
            }
            path.reverse();
            Ok(path)
        };
        (0..self.threads.len()).map(path).collect()
    }

    /// Per thread, who creates it and with which of its `Spawn`s.
    fn parents(&self) -> Vec<Option<(ThreadId, u32)>> {
        let mut parents = vec![None; self.threads.len()];
        for (t, thread) in self.threads.iter().enumerate() {
            let spawns = thread.iter().filter_map(|inst| match inst {
                Inst::Spawn(child) => Some(*child),
                _ => None,
            });
            for (nth, child) in spawns.enumerate() {
                parents[child.index()] = Some((ThreadId::new(t), nth as u32));
            }
        }
        parents
    }
}

impl Inst {
    /// The bytes that the instruction accesses.
    pub fn place(&self) -> Option<Place> {
        match self {
            Inst::Load { place, .. }
            | Inst::Store { place, .. }
            | Inst::Rmw { place, .. }
            | Inst::Cas { place, .. }
            | Inst::Lock { place }
            | Inst::Unlock { place } => Some(*place),
            _ => None,
        }
    }

    /// The variable that the instruction is about.
    pub fn var(&self) -> Option<VarId> {
        match self {
            Inst::Wait(var) | Inst::Wake { var, .. } | Inst::Signal(var) | Inst::Broadcast(var) | Inst::Free(var) => {
                Some(*var)
            }
            _ => self.place().map(|place| place.var),
        }
    }

    fn registers(&self) -> impl Iterator<Item = Reg> {
        let of_until = |until: &Option<Until>| until.and_then(|until| until.operand.reg);
        let regs = match self {
            Inst::Load { dst, until, .. } => [Some(*dst), of_until(until), None, None],
            Inst::Store { value, until, .. } => [value.reg, of_until(until), None, None],
            Inst::Rmw { dst, value, until, .. } => [*dst, value.reg, of_until(until), None],
            Inst::Cas { dst, expected, new, until, .. } => [*dst, expected.reg, new.reg, of_until(until)],
            Inst::Set { dst, value } => [Some(*dst), value.reg, None, None],
            Inst::Assume(test) | Inst::Assert(test) | Inst::Repeat { when: test, .. } => {
                [Some(test.reg), None, None, None]
            }
            Inst::Retry { reg, when } => [Some(*reg), when.operand.reg, None, None],
            Inst::Skip { when, .. } => [when.map(|test| test.reg), None, None, None],
            Inst::Wake { dst, .. } => [*dst, None, None, None],
            Inst::Choose { dst, .. } => [Some(*dst), None, None, None],
            _ => [None; 4],
        };
        regs.into_iter().flatten()
    }
}

//! How a model is written: straight on, although it may be interrupted at every access.
//!
//! A model of, say, `strcmp` reads bytes that other threads may write, so each of its reads may have to be an Op, and
//! between two of them the thread may be saved, put aside and restored. Written as a state machine, each function would
//! be a puzzle of phases. Instead a model is a plain function (a *body*) over a [`Call`], and it is *run again from
//! the start* whenever it goes on: everything that it has learnt so far stands in [`ModelState::log`], and what the log
//! already answers is not done a second time. A step that the log does not answer is done at once if no other thread
//! can notice; otherwise the body ends early with [`Pause::Step`] (the `?` operator carries it out), and the outcome is
//! appended to the log when it arrives.
//!
//! A body therefore has to be deterministic apart from the steps that go through the log: [`Call::op`], [`Call::call`],
//! [`Call::effect`] and what is built of them. It may look at its arguments, at options and at facts that it changes
//! only after its last pause. Anything else, above all every look at memory and every allocation, is an effect.
//!
//! Running again costs the length of the log each time. Bodies that loop over many accesses keep the state of their
//! loop in [`ModelState::slots`] and forget the log after each round ([`Call::commit`]); the body then starts again at
//! the round that the slots describe.

use super::facts::{self, Kind};
use super::{Host, ModelState, Step};
use crate::memory::ObjectKind;
use crate::{Access, AccessKind, Addr, Cond, Op, Purpose, Stop, ViolationKind};
use selvedge_ir::{CmpOp, Order};
use smallvec::SmallVec;

/// Why a body does not return at once.
pub(super) enum Pause {
    /// It asks for a step first, or ends in another way than by returning.
    Step(Step),
    /// It cannot go on.
    Stop(Stop),
}

impl From<Stop> for Pause {
    fn from(stop: Stop) -> Pause {
        Pause::Stop(stop)
    }
}

/// What a body gives: its result, or the reason why it has none yet.
pub(super) type Answer<T = u64> = Result<T, Pause>;

/// A model, written straight on.
pub(super) type Body = fn(&mut Call<'_>) -> Answer;

/// A call that a body answers.
pub(super) struct Call<'a> {
    /// The machine.
    pub host: &'a mut dyn Host,
    /// The arguments and the log.
    pub state: &'a mut ModelState,
    /// How much of the log this run has used.
    at: usize,
}

/// Runs a body up to its next step. A call needs at least `arity` arguments.
pub(super) fn drive(
    host: &mut dyn Host,
    state: &mut ModelState,
    input: u64,
    arity: usize,
    body: Body,
) -> Result<Step, Stop> {
    if state.args.len() < arity {
        let given = state.args.len();
        return Err(host.unsupported(format!("a call with {given} arguments of a function that takes {arity}")));
    }
    if state.waiting {
        state.waiting = false;
        state.log.push(input);
    }
    match body(&mut Call { host, state, at: 0 }) {
        Ok(value) => Ok(Step::Return(value)),
        Err(Pause::Step(step)) => {
            state.waiting = matches!(step, Step::Yield(_) | Step::Call { .. });
            Ok(step)
        }
        Err(Pause::Stop(stop)) => Err(stop),
    }
}

impl Call<'_> {
    /// The n-th argument; 0 if it is not given (a call has at least as many as the table of models says).
    pub fn arg(&self, n: usize) -> u64 {
        self.state.args.get(n).copied().unwrap_or(0)
    }

    /// The n-th argument as an `int`.
    pub fn int(&self, n: usize) -> i32 {
        self.arg(n) as i32
    }

    /// The n-th argument as a pointer.
    pub fn ptr(&self, n: usize) -> Addr {
        Addr(self.arg(n))
    }

    /// The number of the calling thread.
    pub fn thread_index(&self) -> u64 {
        selvedge_ir::EntityRef::index(self.host.thread()) as u64
    }

    fn logged(&mut self) -> Option<u64> {
        let value = self.state.log.get(self.at).copied()?;
        self.at += 1;
        Some(value)
    }

    /// Does something that nobody else can notice, once.
    pub fn effect(&mut self, step: impl FnOnce(&mut dyn Host) -> Result<u64, Stop>) -> Answer {
        if let Some(value) = self.logged() {
            return Ok(value);
        }
        let value = step(self.host)?;
        self.state.log.push(value);
        self.at += 1;
        Ok(value)
    }

    /// A fact of the calling thread.
    pub fn fact(&mut self, kind: Kind, key: u64) -> Answer {
        self.effect(|host| Ok(host.fact((kind, key))))
    }

    /// Sets a fact of the calling thread.
    pub fn set_fact(&mut self, kind: Kind, key: u64, value: u64) -> Answer<()> {
        self.effect(|host| {
            host.set_fact((kind, key), value);
            Ok(0)
        })
        .map(drop)
    }

    /// A process-wide fact.
    pub fn shared_fact(&mut self, kind: Kind, key: u64) -> Answer {
        self.effect(|host| Ok(host.shared_fact((kind, key))))
    }

    /// Sets a process-wide fact.
    pub fn set_shared_fact(&mut self, kind: Kind, key: u64, value: u64) -> Answer<()> {
        self.effect(|host| {
            host.set_shared_fact((kind, key), value);
            Ok(0)
        })
        .map(drop)
    }

    /// Reads a word of an object of synchronisation that only its initialisation writes, or that only decides about
    /// the wording of an error. That needs no Op: whoever uses the object is ordered behind its initialisation, and
    /// if not, the access that follows races with it. What was never written reads as 0.
    pub fn peek(&mut self, addr: Addr) -> Answer {
        self.effect(|host| {
            let thread = host.thread();
            Ok(host.memory().load(thread, addr, 4, true).unwrap_or(0))
        })
    }

    /// Writes a word that [`Call::peek`] reads.
    pub fn poke(&mut self, addr: Addr, value: u64) -> Answer<()> {
        self.effect(|host| {
            let thread = host.thread();
            if host.memory().store(thread, addr, 4, value).is_err() {
                host.store_private(addr, 4, value)?;
            }
            Ok(0)
        })
        .map(drop)
    }

    /// Yields an Op and gives its outcome.
    pub fn op(&mut self, op: Op) -> Answer {
        self.logged().ok_or(Pause::Step(Step::Yield(op)))
    }

    /// Calls a function of the program and gives its result.
    pub fn call(&mut self, func: Addr, args: &[u64]) -> Answer {
        self.logged().ok_or_else(|| Pause::Step(Step::Call { func, args: SmallVec::from_slice(args) }))
    }

    /// Forgets the log. The slots have to say where the body goes on when it is run again.
    pub fn commit(&mut self) {
        debug_assert_eq!(self.at, self.state.log.len(), "a round ends with everything done");
        self.state.log.clear();
        self.at = 0;
    }

    /// Performs an access: directly if nobody else can notice, otherwise as an Op. If a private access has to wait, it
    /// is an Op too, one that is never enabled: the engine tells what that means.
    pub fn access(&mut self, access: Access) -> Answer {
        if let Some(value) = self.logged() {
            return Ok(value);
        }
        if access.order.is_atomic() {
            self.host.before_atomic(access.addr);
        }
        if !self.host.is_visible(access.addr, u64::from(access.size))?
            && let Some(old) = self.access_privately(&access)?
        {
            self.state.log.push(old);
            self.at += 1;
            return Ok(old);
        }
        Err(Pause::Step(Step::Yield(Op::Access(access))))
    }

    fn access_privately(&mut self, access: &Access) -> Result<Option<u64>, Stop> {
        let old = match (access.reads(), access.raw) {
            (false, _) => 0,
            (true, false) => self.host.load_private(access.addr, access.size)?,
            (true, true) => load_raw(self.host, access.addr, access.size)?,
        };
        if access.until.is_some_and(|until| !until.holds(old, access.size)) {
            return Ok(None);
        }
        if let Some(new) = access.written(old) {
            self.host.store_private(access.addr, access.size, new)?;
        }
        Ok(Some(old))
    }

    /// Reads 1 to 8 bytes for the program itself.
    pub fn load(&mut self, addr: Addr, size: u8) -> Answer {
        self.access(plain(addr, size, AccessKind::Load))
    }

    /// Writes 1 to 8 bytes for the program itself.
    pub fn store(&mut self, addr: Addr, size: u8, value: u64) -> Answer<()> {
        self.access(plain(addr, size, AccessKind::Store { value })).map(drop)
    }

    /// Reads a string up to its end, or its first `limit` bytes.
    pub fn read_string(&mut self, addr: Addr, limit: u64) -> Answer<Vec<u8>> {
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < limit {
            match self.load(addr.plus(bytes.len() as u64), 1)? as u8 {
                0 => break,
                byte => bytes.push(byte),
            }
        }
        Ok(bytes)
    }

    /// Writes bytes, in pieces as large as alignment allows.
    pub fn write_bytes(&mut self, addr: Addr, bytes: &[u8]) -> Answer<()> {
        let mut done = 0;
        while done < bytes.len() {
            let at = addr.plus(done as u64);
            let size = piece(at, at, (bytes.len() - done) as u64);
            let mut value = [0; 8];
            value[..size as usize].copy_from_slice(&bytes[done..done + size as usize]);
            self.store(at, size, u64::from_le_bytes(value))?;
            done += size as usize;
        }
        Ok(())
    }

    /// The address of the calling thread's `errno`, made when it is first asked for.
    pub fn errno_address(&mut self) -> Answer<Addr> {
        let addr = self.effect(|host| match host.fact(facts::ERRNO) {
            0 => {
                let addr = host.library_object("errno", ObjectKind::ThreadLocal, 4)?;
                host.set_fact(facts::ERRNO, addr.0);
                Ok(addr.0)
            }
            addr => Ok(addr),
        })?;
        Ok(Addr(addr))
    }

    /// Sets `errno`.
    pub fn set_errno(&mut self, value: i32) -> Answer<()> {
        let addr = self.errno_address()?;
        self.store(addr, 4, value as u64)
    }

    /// Sets `errno` and gives the -1 that goes with it.
    pub fn fail(&mut self, errno: i32) -> Answer {
        self.set_errno(errno)?;
        Ok(int(-1))
    }

    /// A violation at the call site.
    pub fn violation<T>(&self, kind: ViolationKind, message: impl Into<String>) -> Answer<T> {
        Err(Pause::Stop(self.host.violation(kind, message.into())))
    }

    /// A misused lock, thread or other object of synchronisation; "`{}`" in the message stands for the object's name.
    pub fn misuse<T>(&self, object: Addr, message: &str) -> Answer<T> {
        let name = self.host.name_of(object);
        self.violation(ViolationKind::LockMisuse, message.replace("`{}`", &name))
    }

    /// An unsupported feature at the call site.
    pub fn unsupported<T>(&self, feature: impl Into<String>) -> Answer<T> {
        Err(Pause::Stop(self.host.unsupported(feature.into())))
    }
}

impl Addr {
    /// The address some bytes further.
    pub(super) fn plus(self, bytes: u64) -> Addr {
        Addr(self.0.wrapping_add(bytes))
    }
}

/// An `int` in a register.
pub(super) fn int(value: i32) -> u64 {
    u64::from(value as u32)
}

/// A plain access of the program itself.
pub(super) fn plain(addr: Addr, size: u8, kind: AccessKind) -> Access {
    Access::new(addr, size, Order::Plain, kind)
}

/// An access to the word of an object of synchronisation.
pub(super) fn word(addr: Addr, kind: AccessKind, order: Order, purpose: Purpose) -> Access {
    Access { purpose, ..Access::new(addr, 4, order, kind) }
}

/// The write that initialises such a word. It is a plain one: whoever uses the object without being ordered behind it
/// races with it.
pub(super) fn initial(addr: Addr, value: u64) -> Access {
    word(addr, AccessKind::Store { value }, Order::Plain, Purpose::Sync)
}

/// An access that waits for a condition on the word.
pub(super) fn until(access: Access, op: CmpOp, operand: u64) -> Access {
    Access { until: Some(Cond::new(op, operand)), ..access }
}

/// Reads private memory, whether it was written or not. The access has been checked.
pub(super) fn load_raw(host: &mut dyn Host, addr: Addr, size: u8) -> Result<u64, Stop> {
    let thread = host.thread();
    match host.memory().load(thread, addr, size, true) {
        Ok(value) => Ok(value),
        Err(_) => host.load_private(addr, size),
    }
}

/// The largest power of two, at most 8, that two addresses are multiples of and that is not above `rest` (at least 1).
pub(super) fn piece(a: Addr, b: Addr, rest: u64) -> u8 {
    let alignment = 1 << (a.0 | b.0 | 8).trailing_zeros();
    let largest = if rest >= 8 { 8 } else { 1 << rest.max(1).ilog2() };
    std::cmp::min(alignment, largest) as u8
}

/// Declares the table of a family: names, how many arguments a call needs at least, and the body.
macro_rules! models {
    ($($($name:literal)|+ / $arity:literal => $body:expr),* $(,)?) => {
        /// The functions of this family.
        pub(super) const TABLE: &[(&str, $crate::models::Model)] = &[
            $($(($name, |host, state, input| $crate::models::call::drive(host, state, input, $arity, $body)),)+)*
        ];
    };
}
pub(super) use models;

//! Operations as threads hand them over: whole words, all of them written.
//!
//! An [`Op`] is an enum. What a variant has no use for is not written, and is left over from whatever was on the stack before.
//! States of threads are compared by their stacks (`spin.rs`), and while a thread waits for the outcome of an operation, the
//! operation is on its stack, and copies of it in the frames of who was called on the way. So what is handed over consists
//! of words, each of which is written, whatever the operation; the machine makes an [`Op`] of it, on its own stack.
//!
//! Without that nothing goes wrong, but states that are the same may look as if they were not, depending on what was there
//! before: there would be more executions in one exploration than in the next.

use crate::nondet::IN_TIME;
use selvedge_ir::{CmpOp, EntityRef, Order, RmwOp, Speculation};
use selvedge_machine::{Access, AccessKind, Addr, Cond, Op, Purpose, ThreadId};

/// An operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    /// Bytes, from the lowest: what is done, the size, the order, the function of a read-modify-write or the order of an
    /// exchange that fails, the comparison of the condition and the speculation (from 1 on; 0 if there is none), the purpose,
    /// and flags.
    what: u64,
    addr: u64,
    /// The value, operand, or expected value; or a number.
    first: u64,
    /// The new value of an exchange.
    second: u64,
    /// What the condition compares with, and the bits that it looks at.
    operand: u64,
    mask: u64,
}

const LOAD: u8 = 0;
const STORE: u8 = 1;
const RMW: u8 = 2;
const CAS: u8 = 3;
const FENCE: u8 = 4;
const SPAWN: u8 = 5;
const JOIN: u8 = 6;
const COND_WAIT: u8 = 7;
const COND_WAKE: u8 = 8;
const COND_SIGNAL: u8 = 9;
const COND_BROADCAST: u8 = 10;
const CHOOSE: u8 = 11;
const FREE: u8 = 12;
const ATOMIC_BEGIN: u8 = 13;
const ATOMIC_END: u8 = 14;

/// Where the bytes of [`Request::what`] are.
const SIZE: u32 = 8;
const ORDER: u32 = 16;
const FUNCTION: u32 = 24;
const COMPARISON: u32 = 32;
const SPECULATION: u32 = 40;
const PURPOSE: u32 = 48;

/// Flags.
const RAW: u64 = 1 << 56;
const USED: u64 = 1 << 57;
const EARLY: u64 = 1 << 58;
const RETRY: u64 = 1 << 59;
const CONFIRMS: u64 = 1 << 60;
const SPINS: u64 = 1 << 61;

const fn flag(flag: u64, is_set: bool) -> u64 {
    if is_set { flag } else { 0 }
}

// Always inlined, as all that makes requests: they are in no other frame than the caller's.
impl Request {
    #[inline(always)]
    const fn new(what: u8) -> Request {
        Request { what: what as u64, addr: 0, first: 0, second: 0, operand: 0, mask: 0 }
    }

    #[inline(always)]
    const fn on(what: u8, Addr(addr): Addr) -> Request {
        Request { addr, ..Request::new(what) }
    }

    /// A load; like all accesses not complete without [`Request::at`].
    #[inline(always)]
    pub const fn load() -> Request {
        Request::new(LOAD)
    }

    /// A store.
    #[inline(always)]
    pub const fn store(value: u64) -> Request {
        Request { first: value, ..Request::new(STORE) }
    }

    /// A read-modify-write; `used` if the thread looks at the old value.
    #[inline(always)]
    pub const fn rmw(op: RmwOp, operand: u64, used: bool) -> Request {
        let what = RMW as u64 | (op as u64) << FUNCTION | flag(USED, used);
        Request { what, first: operand, ..Request::new(RMW) }
    }

    /// A compare-and-exchange.
    #[inline(always)]
    pub const fn cas(expected: u64, new: u64, failure: Order) -> Request {
        let what = CAS as u64 | (failure as u64) << FUNCTION;
        Request { what, first: expected, second: new, ..Request::new(CAS) }
    }

    /// Where an access is made, and in which order.
    #[inline(always)]
    pub const fn at(self, Addr(addr): Addr, size: u8, order: Order) -> Request {
        Request { what: self.what | (size as u64) << SIZE | (order as u64) << ORDER, addr, ..self }
    }

    /// What an access is for.
    #[inline(always)]
    pub const fn for_purpose(self, purpose: Purpose) -> Request {
        Request { what: self.what | (purpose as u64) << PURPOSE, ..self }
    }

    /// The access waits for a value.
    #[inline(always)]
    pub const fn until(self, op: CmpOp, operand: u64) -> Request {
        Request { what: self.what | (op as u64 + 1) << COMPARISON, operand, mask: u64::MAX, ..self }
    }

    /// The access waits, and would time out otherwise.
    #[inline(always)]
    pub const fn in_time(self) -> Request {
        self.until(IN_TIME.op, IN_TIME.operand)
    }

    /// The load is made by an exchange that fails for no reason: it is not one that loops wait with, though it stands at the same
    /// place. (What the flag is called after, bytes that nobody has written, there are none of here.)
    #[inline(always)]
    pub const fn of_failure(self) -> Request {
        Request { what: self.what | RAW, ..self }
    }

    /// The load is speculative.
    #[inline(always)]
    pub const fn speculating(self, speculation: Speculation) -> Request {
        Request { what: self.what | (speculation as u64 + 1) << SPECULATION, ..self }
    }

    /// The exchange confirms a load: it waits for what it expects, or the thread starts again.
    #[inline(always)]
    pub const fn confirming(self) -> Request {
        let waits = self.until(CmpOp::Eq, self.first);
        Request { what: waits.what | RETRY | CONFIRMS, ..waits }
    }

    /// A fence.
    #[inline(always)]
    pub const fn fence(order: Order) -> Request {
        Request { what: FENCE as u64 | (order as u64) << ORDER, ..Request::new(FENCE) }
    }

    /// Creates a thread.
    #[inline(always)]
    pub fn spawn(child: ThreadId) -> Request {
        Request { first: child.index() as u64, ..Request::new(SPAWN) }
    }

    /// Waits for its end.
    #[inline(always)]
    pub fn join(thread: ThreadId) -> Request {
        Request { first: thread.index() as u64, ..Request::new(JOIN) }
    }

    /// Starts to wait on a condition variable.
    #[inline(always)]
    pub const fn cond_wait(cond: Addr) -> Request {
        Request::on(COND_WAIT, cond)
    }

    /// Comes back from that, maybe early.
    #[inline(always)]
    pub const fn cond_wake(cond: Addr, early: bool) -> Request {
        Request { what: COND_WAKE as u64 | flag(EARLY, early), ..Request::on(COND_WAKE, cond) }
    }

    /// Wakes one.
    #[inline(always)]
    pub const fn cond_signal(cond: Addr) -> Request {
        Request::on(COND_SIGNAL, cond)
    }

    /// Wakes all.
    #[inline(always)]
    pub const fn cond_broadcast(cond: Addr) -> Request {
        Request::on(COND_BROADCAST, cond)
    }

    /// Chooses a number.
    #[inline(always)]
    pub const fn choose(alternatives: u32) -> Request {
        Request { first: alternatives as u64, ..Request::new(CHOOSE) }
    }

    /// Ends the life of an object.
    #[inline(always)]
    pub const fn free(addr: Addr, size: u64) -> Request {
        Request { first: size, ..Request::on(FREE, addr) }
    }

    /// Ends a sequence of steps that nobody may interrupt.
    #[inline(always)]
    pub const fn atomic_end() -> Request {
        Request::new(ATOMIC_END)
    }

    /// Whether it creates a thread.
    #[inline]
    pub fn spawns(&self) -> bool {
        self.byte(0) == usize::from(SPAWN)
    }

    /// The object that is used, if one is. (A block that is freed is not.)
    #[inline]
    pub fn uses(&self) -> Option<Addr> {
        let uses = matches!(self.what as u8, LOAD | STORE | RMW | CAS | COND_WAIT..=COND_BROADCAST);
        uses.then_some(Addr(self.addr))
    }

    /// Whether it is a speculative load.
    #[inline]
    pub fn speculates(&self) -> bool {
        self.byte(SPECULATION) != 0
    }

    /// Whether it confirms one.
    #[inline]
    pub fn confirms(&self) -> bool {
        self.is(CONFIRMS)
    }

    /// Whether another request, which has got no marks yet, is this one, which confirms nothing.
    #[inline]
    pub fn is_but_for_marks(&self, unmarked: &Request) -> bool {
        const MARKS: u64 = SPINS | 0xff << SPECULATION;
        let but_for_marks = |request: &Request| Request { what: request.what & !MARKS, ..*request };
        !self.is(CONFIRMS) && but_for_marks(self) == but_for_marks(unmarked)
    }

    #[inline]
    fn byte(&self, shift: u32) -> usize {
        usize::from((self.what >> shift) as u8)
    }

    #[inline]
    fn is(&self, flag: u64) -> bool {
        self.what & flag != 0
    }

    /// As the engine sees it.
    pub fn op(&self) -> Op {
        let kind = match self.byte(0) as u8 {
            LOAD => AccessKind::Load,
            STORE => AccessKind::Store { value: self.first },
            RMW => AccessKind::Rmw { op: RmwOp::ALL[self.byte(FUNCTION)], operand: self.first, used: self.is(USED) },
            CAS => AccessKind::Cas { expected: self.first, new: self.second, failure: Order::ALL[self.byte(FUNCTION)] },
            other => return self.other(other),
        };
        let until = self.byte(COMPARISON).checked_sub(1).map(|op| Cond {
            op: CmpOp::ALL[op],
            operand: self.operand,
            mask: self.mask,
            retry: self.is(RETRY),
        });
        Op::Access(Access {
            addr: Addr(self.addr),
            size: self.byte(SIZE) as u8,
            order: Order::ALL[self.byte(ORDER)],
            purpose: [Purpose::Data, Purpose::Lock, Purpose::Unlock, Purpose::Sync][self.byte(PURPOSE)],
            raw: self.is(RAW),
            kind,
            until,
            speculative: self.byte(SPECULATION).checked_sub(1).map(|n| Speculation::ALL[n]),
            confirms: self.is(CONFIRMS),
            spins: self.is(SPINS),
        })
    }

    /// The same for what is no access.
    fn other(&self, what: u8) -> Op {
        let (addr, thread) = (Addr(self.addr), || ThreadId::new(self.first as usize));
        match what {
            FENCE => Op::Fence { order: Order::ALL[self.byte(ORDER)] },
            SPAWN => Op::Spawn { child: thread() },
            JOIN => Op::Join { thread: thread() },
            COND_WAIT => Op::CondWait { cond: addr },
            COND_WAKE => Op::CondWake { cond: addr, early: self.is(EARLY) },
            COND_SIGNAL => Op::CondSignal { cond: addr },
            COND_BROADCAST => Op::CondBroadcast { cond: addr },
            CHOOSE => Op::Choose { alternatives: self.first as u32 },
            FREE => Op::Free { addr, size: self.first },
            ATOMIC_BEGIN => Op::AtomicBegin,
            _ => Op::AtomicEnd,
        }
    }
}

impl From<&Op> for Request {
    fn from(op: &Op) -> Request {
        match *op {
            Op::Access(access) => Request::from_access(&access),
            Op::Fence { order } => Request::fence(order),
            Op::Spawn { child } => Request::spawn(child),
            Op::Join { thread } => Request::join(thread),
            Op::CondWait { cond } => Request::cond_wait(cond),
            Op::CondWake { cond, early } => Request::cond_wake(cond, early),
            Op::CondSignal { cond } => Request::cond_signal(cond),
            Op::CondBroadcast { cond } => Request::cond_broadcast(cond),
            Op::Choose { alternatives } => Request::choose(alternatives),
            Op::Free { addr, size } => Request::free(addr, size),
            Op::AtomicBegin => Request::new(ATOMIC_BEGIN),
            Op::AtomicEnd => Request::atomic_end(),
        }
    }
}

impl Request {
    fn from_access(access: &Access) -> Request {
        let request = match access.kind {
            AccessKind::Load => Request::load(),
            AccessKind::Store { value } => Request::store(value),
            AccessKind::Rmw { op, operand, used } => Request::rmw(op, operand, used),
            AccessKind::Cas { expected, new, failure } => Request::cas(expected, new, failure),
        };
        let mut request = request.at(access.addr, access.size, access.order).for_purpose(access.purpose);
        if let Some(Cond { op, operand, mask, retry }) = access.until {
            request = Request { mask, ..request.until(op, operand) };
            request.what |= flag(RETRY, retry);
        }
        if let Some(speculation) = access.speculative {
            request = request.speculating(speculation);
        }
        request.what |= flag(RAW, access.raw) | flag(CONFIRMS, access.confirms) | flag(SPINS, access.spins);
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_comes_out_as_it_went_in() {
        let cond = Addr(72);
        let mut ops = vec![
            Op::Spawn { child: ThreadId::new(3) },
            Op::Join { thread: ThreadId::new(4) },
            Op::CondWait { cond },
            Op::CondWake { cond, early: false },
            Op::CondWake { cond, early: true },
            Op::CondSignal { cond },
            Op::CondBroadcast { cond },
            Op::Choose { alternatives: 7 },
            Op::Free { addr: cond, size: 24 },
            Op::AtomicBegin,
            Op::AtomicEnd,
        ];
        ops.extend(Order::ALL.iter().map(|&order| Op::Fence { order }));
        let mut kinds = vec![AccessKind::Load, AccessKind::Store { value: u64::MAX }];
        kinds.extend(RmwOp::ALL.iter().map(|&op| AccessKind::Rmw { op, operand: 5, used: op == RmwOp::Sub }));
        kinds.extend(Order::ALL.iter().map(|&failure| AccessKind::Cas { expected: 6, new: 8, failure }));
        let mut untils: Vec<Option<Cond>> = vec![None];
        untils.extend(CmpOp::ALL.iter().map(|&op| Some(Cond { mask: 0xff, retry: true, ..Cond::new(op, 9) })));
        let mut speculations: Vec<Option<Speculation>> = vec![None];
        speculations.extend(Speculation::ALL.iter().copied().map(Some));
        for (n, &kind) in kinds.iter().cycle().take(1000).enumerate() {
            let bit = |k: usize| n >> k & 1 == 1;
            ops.push(Op::Access(Access {
                purpose: [Purpose::Data, Purpose::Lock, Purpose::Unlock, Purpose::Sync][n / 3 % 4],
                raw: bit(0),
                until: untils[n % untils.len()],
                speculative: speculations[n % speculations.len()],
                confirms: bit(1),
                spins: bit(2),
                ..Access::new(Addr(n as u64), 1 << (n % 4), Order::ALL[n % Order::ALL.len()], kind)
            }));
        }
        for op in ops {
            assert_eq!(Request::from(&op).op(), op);
        }
    }

    #[test]
    fn an_exchange_that_confirms_waits_for_what_it_expects() {
        let exchange = Request::cas(3, 4, Order::Acquire).confirming().at(Addr(64), 8, Order::AcqRel);
        let Op::Access(access) = exchange.op() else { panic!("it is an access") };
        assert_eq!(access.until, Some(Cond { retry: true, ..Cond::new(CmpOp::Eq, 3) }));
        assert!(access.confirms);
    }
}

//! The vocabulary between threads and engines: what a thread asks for, and what it is told.
//!
//! A thread runs by itself as long as nobody else could notice. When it comes to something that another thread could
//! observe or influence, it yields an [`Op`] and waits for its [`Outcome`]. Locks, semaphores, read-write locks and
//! `once` need no words of their own: they are accesses that wait for a condition on the value in memory
//! ([`Access::until`]), so that an engine which knows how to handle awaits knows how to handle them all. Condition
//! variables do need their own: a signal chooses among the threads that wait.

use selvedge_ir::{CmpOp, Order, RmwOp, Speculation, entity};
use std::fmt;

entity! {
    /// A thread. Numbers are given by (parent, n-th child of it) and kept for a whole exploration, so that a thread
    /// has the same number in every execution in which it exists, whatever order threads were created in.
    ThreadId, "t"
}

/// The main thread.
pub fn main_thread() -> ThreadId {
    use selvedge_ir::EntityRef;
    ThreadId::new(0)
}

/// A memory address. Addresses are derived from (allocating thread, n-th allocation of it): equal in equivalent
/// executions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Addr(pub u64);

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A condition on the value at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cond {
    /// The comparison: `value & mask op operand`.
    pub op: CmpOp,
    /// What the value is compared with.
    pub operand: u64,
    /// The bits of the value that are compared.
    pub mask: u64,
    /// Whether a thread that is left waiting would start an iteration of a loop again, and might then get on if something
    /// is different that it has read in the iteration: if not, it is a livelock.
    pub retry: bool,
}

impl Cond {
    /// A condition on all bits.
    pub const fn new(op: CmpOp, operand: u64) -> Cond {
        Cond { op, operand, mask: u64::MAX, retry: false }
    }

    /// Whether a value of `size` bytes satisfies the condition.
    #[inline]
    pub fn holds(&self, value: u64, size: u8) -> bool {
        let shift = 64 - 8 * u32::from(size.clamp(1, 8));
        let (a, b) = ((value & self.mask) << shift, self.operand << shift);
        match self.op {
            CmpOp::Eq => a == b,
            CmpOp::Ne => a != b,
            CmpOp::Ult => a < b,
            CmpOp::Ule => a <= b,
            CmpOp::Ugt => a > b,
            CmpOp::Uge => a >= b,
            CmpOp::Slt => (a as i64) < b as i64,
            CmpOp::Sle => a as i64 <= b as i64,
            CmpOp::Sgt => a as i64 > b as i64,
            CmpOp::Sge => a as i64 >= b as i64,
            // Conditions on floating-point values are never made.
            _ => false,
        }
    }
}

/// What an access does with the bytes at its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// Reads them.
    Load,
    /// Writes them.
    Store {
        /// The value.
        value: u64,
    },
    /// Reads and writes them in one step.
    Rmw {
        /// How the new value is made.
        op: RmwOp,
        /// Its right operand.
        operand: u64,
        /// Whether the thread looks at the old value afterwards.
        used: bool,
    },
    /// Reads them, and writes them if they are as expected.
    Cas {
        /// The expected value.
        expected: u64,
        /// The value to write.
        new: u64,
        /// The order of a failed exchange.
        failure: Order,
    },
}

/// Whom an access serves; for reports, and to tell a deadlock from a livelock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Purpose {
    /// The program's own load, store or atomic operation.
    #[default]
    Data,
    /// Acquires a mutex, read-write lock or semaphore, or waits for one.
    Lock,
    /// Releases it.
    Unlock,
    /// Any other synchronisation object (barrier, once).
    Sync,
}

/// An access to memory that another thread can reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Where.
    pub addr: Addr,
    /// How many bytes: 1 to 8.
    pub size: u8,
    /// Memory order (of success, for a compare-and-exchange).
    pub order: Order,
    /// What for.
    pub purpose: Purpose,
    /// Whether bytes that were never initialised may be read (byte-wise copies of structs with padding).
    pub raw: bool,
    /// What is done.
    pub kind: AccessKind,
    /// If given, the access is enabled only while the value at its address satisfies this.
    pub until: Option<Cond>,
    /// For a load: the values with which it is *speculative*. Having read such a value, the thread goes on by itself, and
    /// by other loads, to an access that [`confirms`](Access::confirms): a compare-and-exchange of the same bytes that
    /// expects this value. If that one finds another value, nothing of what happened since matters: the thread starts
    /// again from before the load (in an exploration it is blocked instead, see `until`). Engines may ignore it.
    pub speculative: Option<Speculation>,
    /// For a compare-and-exchange: whether it confirms the last speculative load of its thread, which was of the same
    /// bytes. Each speculative load is followed by at most one such access.
    pub confirms: bool,
    /// Whether the thread may spin here: told some values, it would come back to this very access, having changed nothing.
    /// With which ones, the machine knows ([`Machine::waits`](crate::Machine::waits)). Engines may ignore it.
    pub spins: bool,
}

impl Access {
    /// An access of the program itself that waits for nothing and takes no part in a confirmation.
    #[inline]
    pub const fn new(addr: Addr, size: u8, order: Order, kind: AccessKind) -> Access {
        let (purpose, raw, until, speculative) = (Purpose::Data, false, None, None);
        let (confirms, spins) = (false, false);
        Access { addr, size, order, purpose, raw, kind, until, speculative, confirms, spins }
    }

    /// Whether it is a load that is speculative with this value, if the thread goes on with `next` when it is told so.
    #[inline]
    pub fn speculates(&self, value: u64, next: Option<&Op>) -> bool {
        match self.speculative {
            None => false,
            Some(Speculation::Always) => true,
            Some(Speculation::IfZero) => value == 0,
            Some(Speculation::IfNonzero) => value != 0,
            Some(Speculation::IfNext) => matches!(
                next,
                Some(Op::Access(access)) if access.confirms && (access.addr, access.size) == (self.addr, self.size)
            ),
        }
    }

    /// Whether there may be values with which the thread waits.
    #[inline]
    pub fn may_wait(&self) -> bool {
        self.until.is_some() || self.spins
    }

    /// Whether it is an exchange that may wait, which a load before it may have tested.
    #[inline]
    pub fn may_be_tested(&self) -> bool {
        self.may_wait() && !self.confirms && matches!(self.kind, AccessKind::Rmw { .. } | AccessKind::Cas { .. })
    }

    /// Whether the access looks at the old bytes.
    #[inline]
    pub fn reads(&self) -> bool {
        !matches!(self.kind, AccessKind::Store { .. }) || self.until.is_some()
    }

    /// What the access leaves in memory if it finds `old` there; nothing if it does not write.
    #[inline]
    pub fn written(&self, old: u64) -> Option<u64> {
        match self.kind {
            AccessKind::Load => None,
            AccessKind::Store { value } => Some(value),
            AccessKind::Rmw { op, operand, .. } => Some(apply_rmw(op, self.size, old, operand)),
            AccessKind::Cas { expected, new, .. } => (truncate(expected, self.size) == old).then_some(new),
        }
    }
}

/// A step that another thread could notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// A memory access.
    Access(Access),
    /// A memory fence.
    Fence {
        /// Its order.
        order: Order,
    },
    /// Creates a thread.
    Spawn {
        /// The number that it will have.
        child: ThreadId,
    },
    /// Waits for the end of a thread.
    Join {
        /// Which.
        thread: ThreadId,
    },
    /// Starts to wait on a condition variable (the mutex is released by an access of its own, after this).
    CondWait {
        /// The condition variable.
        cond: Addr,
    },
    /// Comes back from waiting: enabled once signalled, or at any time if `timed` or `spurious`. The outcome is 1 if
    /// it was signalled and 0 otherwise.
    CondWake {
        /// The condition variable.
        cond: Addr,
        /// Whether it may return without a signal.
        early: bool,
    },
    /// Wakes one thread that waits, if any; which one is a choice.
    CondSignal {
        /// The condition variable.
        cond: Addr,
    },
    /// Wakes all threads that wait.
    CondBroadcast {
        /// The condition variable.
        cond: Addr,
    },
    /// Chooses a number below `alternatives`.
    Choose {
        /// How many there are; at least 1.
        alternatives: u32,
    },
    /// Ends the life of an object that other threads can reach.
    Free {
        /// Its first byte.
        addr: Addr,
        /// Its size.
        size: u64,
    },
    /// Starts a sequence of steps that nobody may interrupt; it lasts until the thread yields `AtomicEnd`.
    AtomicBegin,
    /// Ends it.
    AtomicEnd,
}

/// What a thread is told about its [`Op`]: the old value of an access, the number chosen, or 0.
pub type Outcome = u64;

/// The low `size` bytes of a value.
#[inline]
pub fn truncate(value: u64, size: u8) -> u64 {
    match size {
        8.. => value,
        size => value & ((1 << (8 * u32::from(size))) - 1),
    }
}

/// The value that an atomic read-modify-write leaves in memory.
#[inline]
pub fn apply_rmw(op: RmwOp, size: u8, old: u64, operand: u64) -> u64 {
    let shift = 64 - 8 * u32::from(size.clamp(1, 8));
    let signed = |v: u64| ((v << shift) as i64) >> shift;
    let (a, b) = (truncate(old, size), truncate(operand, size));
    let new = match op {
        RmwOp::Xchg => b,
        RmwOp::Add => a.wrapping_add(b),
        RmwOp::Sub => a.wrapping_sub(b),
        RmwOp::And => a & b,
        RmwOp::Nand => !(a & b),
        RmwOp::Or => a | b,
        RmwOp::Xor => a ^ b,
        RmwOp::Max => signed(a).max(signed(b)) as u64,
        RmwOp::Min => signed(a).min(signed(b)) as u64,
        RmwOp::UMax => a.max(b),
        RmwOp::UMin => a.min(b),
        RmwOp::FAdd => float_rmw(size, a, b, |x, y| x + y),
        RmwOp::FSub => float_rmw(size, a, b, |x, y| x - y),
    };
    truncate(new, size)
}

fn float_rmw(size: u8, a: u64, b: u64, f: impl Fn(f64, f64) -> f64) -> u64 {
    if size == 4 {
        let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
        // The sum of two f32 rounded once to f64 and then to f32 is the f32 sum: 53 >= 2 * 24 + 2.
        u64::from((f(f64::from(x), f64::from(y)) as f32).to_bits())
    } else {
        f(f64::from_bits(a), f64::from_bits(b)).to_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_look_at_the_bytes_of_their_size_only() {
        assert!(Cond::new(CmpOp::Eq, 0x1_0000_0001).holds(1, 4));
        assert!(Cond::new(CmpOp::Slt, 0).holds(0xff, 1));
        assert!(!Cond::new(CmpOp::Ult, 0).holds(0xff, 1));
        assert!(Cond { mask: 1, ..Cond::new(CmpOp::Eq, 0) }.holds(0xfe, 1));
    }

    #[test]
    fn rmw_wraps_at_the_size_of_the_access() {
        assert_eq!(apply_rmw(RmwOp::Add, 1, 0xff, 2), 1);
        assert_eq!(apply_rmw(RmwOp::Nand, 2, 0b11, 0b01), 0xfffe);
        assert_eq!(apply_rmw(RmwOp::Max, 4, 0xffff_ffff, 1), 1);
        assert_eq!(apply_rmw(RmwOp::UMax, 4, 0xffff_ffff, 1), 0xffff_ffff);
        assert_eq!(apply_rmw(RmwOp::FAdd, 8, 1.5f64.to_bits(), 2.0f64.to_bits()), 3.5f64.to_bits());
    }
}

//! What a thread asks for, as an access to one location.
//!
//! Memory accesses are that already. The operations on a condition variable become read-modify-writes of a location of
//! their own, whose value says which threads wait (low half) and which of these have been woken (high half): a wait sets
//! a bit, a signal moves a bit of its choice to the other half, a broadcast all of them, and a thread that wakes waits
//! for its bit there and takes it away. A signal that wakes nobody only reads. None of these orders anything, except that
//! a thread which was woken has seen what happened before the signal.

use selvedge_ir::{CmpOp, EntityRef, Order, RmwOp};
use selvedge_machine::{Access, AccessKind, Addr, Cond, Op, Outcome, ThreadId, truncate};

/// Threads with numbers from here on cannot wait on condition variables.
pub const MAX_WAITING: usize = 32;
/// Set in the addresses of the locations that stand for condition variables.
const CONDITION: u64 = 1 << 62;

/// Which operation it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A memory access.
    Memory,
    /// Starts to wait on a condition variable.
    Wait,
    /// Comes back from that.
    Wake,
    /// Wakes one thread.
    Signal,
    /// Wakes all threads.
    Broadcast,
}

/// An access to a location.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The access; for condition variables, all but what it writes.
    pub access: Access,
    /// Which operation it is.
    pub role: Role,
    /// Which part of an access to several locations it is.
    pub part: Option<Part>,
}

/// A part of an access to several locations (`explorer/granules.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// How many parts come before it.
    pub before: u8,
    /// Whether one comes after it.
    pub more: bool,
}

/// What the value that is read makes of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flags {
    /// A write follows at once.
    pub exclusive: bool,
    /// The condition does not hold.
    pub blocked: bool,
    /// Memory order.
    pub order: Order,
}

/// Whether a location stands for a condition variable.
pub fn is_condition(addr: Addr) -> bool {
    addr.0 & CONDITION != 0
}

impl Request {
    /// The access that an Op is, if it is one.
    pub fn of(thread: ThreadId, op: &Op) -> Option<Request> {
        match op {
            Op::Access(access) => Some(Request::of_access(access)),
            _ => Request::of_condition(thread, op),
        }
    }

    /// An access to memory.
    #[inline]
    pub fn of_access(access: &Access) -> Request {
        Request { access: *access, role: Role::Memory, part: None }
    }

    /// The access that an operation on a condition variable is; none if the Op is something else.
    pub fn of_condition(thread: ThreadId, op: &Op) -> Option<Request> {
        let waiting = 1u64 << (thread.index() % MAX_WAITING);
        let woken = waiting << MAX_WAITING;
        let or = AccessKind::Rmw { op: RmwOp::Or, operand: waiting, used: true };
        let on = |cond: Addr, role| {
            let access = Access::new(Addr(cond.0 | CONDITION), 8, Order::Relaxed, or);
            Some(Request { access, role, part: None })
        };
        match *op {
            Op::CondWait { cond } => on(cond, Role::Wait),
            Op::CondWake { cond, early } => on(cond, Role::Wake).map(|mut wake| {
                let signalled = Cond { mask: woken, ..Cond::new(CmpOp::Ne, 0) };
                wake.access.until = (!early).then_some(signalled);
                wake
            }),
            Op::CondSignal { cond } => on(cond, Role::Signal),
            Op::CondBroadcast { cond } => on(cond, Role::Broadcast),
            _ => None,
        }
    }

    /// Whether it may be performed byte by byte: it is plain, and waits for nothing.
    #[inline]
    pub fn can_be_cut(&self) -> bool {
        let access = &self.access;
        let simple = matches!(access.kind, AccessKind::Load | AccessKind::Store { .. });
        simple && !access.order.is_atomic() && !access.may_wait() && access.speculative.is_none()
    }

    /// The part of the access that is to these bytes.
    pub fn part(&self, (addr, size): (Addr, u8), part: Part) -> Request {
        debug_assert!(
            self.can_be_cut() && addr >= self.access.addr,
            "only what lies within a plain access is a part of it"
        );
        let kind = match self.access.kind {
            AccessKind::Store { value } => {
                AccessKind::Store { value: truncate(value >> (8 * (addr.0 - self.access.addr.0)), size) }
            }
            kind => kind,
        };
        Request { access: Access { addr, size, kind, ..self.access }, part: Some(part), ..*self }
    }

    /// Whether an Op is a read-modify-write with a condition. Asked of every thread whenever an event is added.
    #[inline]
    pub fn is_exchange_that_waits(op: &Op) -> bool {
        match op {
            Op::Access(access) => access.may_wait() && !matches!(access.kind, AccessKind::Load),
            Op::CondWake { early, .. } => !early,
            _ => false,
        }
    }

    /// Whether it is about a condition variable.
    #[inline]
    pub fn is_condition(&self) -> bool {
        self.role != Role::Memory
    }

    /// Whether it looks at the old value.
    #[inline]
    pub fn reads(&self) -> bool {
        self.access.reads()
    }

    /// How many different values it may leave if it finds `old`.
    #[inline]
    pub fn alternatives(&self, old: u64) -> u64 {
        match self.role {
            Role::Signal => u64::from((asleep(old)).count_ones()).max(1),
            _ => 1,
        }
    }

    /// What it leaves if it finds `old`; nothing if it does not write.
    #[inline]
    pub fn written(&self, thread: ThreadId, old: u64, choice: u64) -> Option<u64> {
        match self.role {
            Role::Memory => self.access.written(old).map(|new| truncate(new, self.access.size)),
            _ => self.written_to_condition(thread, old, choice),
        }
    }

    /// The same for a condition variable.
    fn written_to_condition(&self, thread: ThreadId, old: u64, choice: u64) -> Option<u64> {
        let mine = 1u64 << (thread.index() % MAX_WAITING);
        match self.role {
            Role::Memory => None,
            Role::Wait => Some(old | mine),
            Role::Wake => Some(old & !(mine | mine << MAX_WAITING)),
            Role::Signal => {
                let chosen = (0..MAX_WAITING).filter(|n| asleep(old) >> n & 1 == 1).nth(choice as usize)?;
                Some(old | 1 << (chosen + MAX_WAITING))
            }
            Role::Broadcast if asleep(old) == 0 => None,
            Role::Broadcast => Some(old | asleep(old) << MAX_WAITING),
        }
    }

    /// Whether it writes if it finds `old`.
    #[inline(always)]
    fn writes(&self, old: u64) -> bool {
        match self.role {
            Role::Memory => match self.access.kind {
                AccessKind::Load => false,
                AccessKind::Store { .. } | AccessKind::Rmw { .. } => true,
                AccessKind::Cas { expected, .. } => truncate(expected, self.access.size) == old,
            },
            Role::Wait | Role::Wake => true,
            Role::Signal | Role::Broadcast => asleep(old) != 0,
        }
    }

    /// Whether the value that it reads does not satisfy its condition.
    #[inline]
    pub fn is_blocked(&self, value: u64) -> bool {
        self.access.until.as_ref().is_some_and(|until| !until.holds(value, self.access.size))
    }

    /// What the value that it reads makes of it.
    #[inline(always)]
    pub fn flags(&self, thread: ThreadId, value: u64) -> Flags {
        let blocked = self.is_blocked(value);
        let exclusive = self.writes(value);
        debug_assert_eq!(exclusive, self.written(thread, value, 0).is_some(), "it writes if it leaves something");
        Flags { exclusive, blocked, order: if exclusive { self.access.order } else { self.order_of_read() } }
    }

    /// The same if what it reads was never written: it neither waits nor writes.
    pub fn flags_of_error(&self) -> Flags {
        Flags { exclusive: false, blocked: false, order: self.order_of_read() }
    }

    /// The memory order of an access that does not write.
    #[inline]
    fn order_of_read(&self) -> Order {
        match self.access.kind {
            AccessKind::Cas { failure, .. } => failure,
            _ => self.access.order,
        }
    }
}

/// The threads that wait and have not been woken.
fn asleep(value: u64) -> u64 {
    value & u64::from(u32::MAX) & !(value >> MAX_WAITING)
}

/// Which of the threads that wait, from 0, a signal wakes that finds `old` and leaves `new`.
pub fn woken_by_signal(old: u64, new: u64) -> u32 {
    let woken = (new & !old) >> MAX_WAITING;
    (asleep(old) & woken.wrapping_sub(1)).count_ones()
}

/// Whether a thread that wakes has been woken.
pub fn was_woken(thread: ThreadId, value: u64) -> bool {
    value >> (MAX_WAITING + thread.index() % MAX_WAITING) & 1 == 1
}

/// What a thread is told that has found `old`.
#[inline]
pub fn outcome(role: Role, thread: ThreadId, old: u64) -> Outcome {
    match role {
        Role::Memory => old,
        Role::Wake => Outcome::from(was_woken(thread, old)),
        Role::Wait | Role::Signal | Role::Broadcast => 0,
    }
}

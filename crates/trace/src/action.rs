//! Actions: what a step touches, and when two of them are dependent.
//!
//! The conflict relation of Optimal-DPOR (Abdulla et al., POPL 2014 and JACM 2017): two steps of different threads are
//! *independent* if neither enables or disables the other and their order does not matter. Here:
//!
//! * memory: overlapping byte ranges, at least one of them written. A failed compare-and-exchange is a read;
//! * a `free` writes its whole object; an atomic section is the union of its accesses;
//! * condition variables: beginning to wait conflicts with a notification (signal or broadcast), two notifications
//!   conflict unless both woke nobody, a wake-up that needs no signal conflicts with notifications. Beginning to wait
//!   commutes with itself: a signal chooses by thread, not by order of arrival;
//! * everything else conflicts with nothing. Spawn, join and wake-up order events by an edge, not by a conflict.
//!
//! Two reductions weaken the relation:
//!
//! * *IFAA* (await paper, Sec. II-C): two read-modify-writes of the same bytes whose old values nobody looks at do not
//!   conflict if their operations commute: addition and subtraction with each other; or, and, xor, max, min with
//!   themselves (not-and does not commute with itself);
//! * *observers* (Optimal DPOR with Observers): two stores of the same bytes conflict only if one of them is read. That
//!   depends on what comes later, so here it is only said that the conflict is [soft](Dependence::is_soft); see
//!   `lazy_order.rs` and `weak_initials.rs`. Bytes that are awaited, or accessed in ranges that overlap without being
//!   equal, are outside the theory: stores to them conflict always ([`Dependence::harden`]).

use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_ir::{RmwOp, entity};
use selvedge_machine::{Access, AccessKind, Done, Op, ThreadId};

entity! {
    /// The accesses of an atomic section.
    SectionId, "section"
}

/// What a step touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Footprint {
    /// Nothing that another thread could notice.
    Nothing,
    /// Reads bytes.
    Read {
        /// How many.
        len: u32,
        /// From where.
        addr: u64,
    },
    /// Writes bytes, and looks at what was there.
    Write {
        /// How many.
        len: u32,
        /// From where.
        addr: u64,
    },
    /// Writes bytes without looking at what was there.
    Store {
        /// How many.
        len: u32,
        /// From where.
        addr: u64,
    },
    /// Changes bytes by an operation that commutes with those of its family, and nobody looks at what was there.
    Commute {
        /// The operations that it commutes with.
        family: Family,
        /// How many bytes.
        len: u8,
        /// From where.
        addr: u64,
    },
    /// Ends the life of bytes.
    Free {
        /// How many.
        len: u32,
        /// From where.
        addr: u64,
    },
    /// Begins to wait on a condition variable.
    Wait {
        /// Which.
        cond: u64,
    },
    /// Notifies somebody who waits.
    Notify {
        /// The condition variable.
        cond: u64,
    },
    /// Notifies, but nobody waits.
    NotifyNobody {
        /// The condition variable.
        cond: u64,
    },
    /// Comes back from waiting without needing a notification.
    EarlyWake {
        /// The condition variable.
        cond: u64,
    },
    /// The accesses of an atomic section.
    Section(SectionId),
    /// Not known before it is executed: dependent with everything.
    Anything,
}

impl Footprint {
    /// The bytes that an access is to, from where on.
    pub fn addr(self) -> Option<u64> {
        match self {
            Footprint::Read { addr, .. }
            | Footprint::Write { addr, .. }
            | Footprint::Store { addr, .. }
            | Footprint::Commute { addr, .. } => Some(addr),
            _ => None,
        }
    }
}

/// Read-modify-writes that commute with each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Addition and subtraction.
    Sum,
    /// Bitwise or.
    Or,
    /// Bitwise and.
    And,
    /// Bitwise exclusive or.
    Xor,
    /// Signed maximum.
    Max,
    /// Signed minimum.
    Min,
    /// Unsigned maximum.
    UMax,
    /// Unsigned minimum.
    UMin,
}

impl Family {
    /// The family of an operation, if it commutes with anything.
    pub fn of(op: RmwOp) -> Option<Family> {
        match op {
            RmwOp::Add | RmwOp::Sub => Some(Family::Sum),
            RmwOp::Or => Some(Family::Or),
            RmwOp::And => Some(Family::And),
            RmwOp::Xor => Some(Family::Xor),
            RmwOp::Max => Some(Family::Max),
            RmwOp::Min => Some(Family::Min),
            RmwOp::UMax => Some(Family::UMax),
            RmwOp::UMin => Some(Family::UMin),
            // Exchange and not-and do not commute with themselves, floating-point sums are rounded.
            RmwOp::Xchg | RmwOp::Nand | RmwOp::FAdd | RmwOp::FSub => None,
        }
    }
}

/// The choice of an action that was not made yet: all alternatives are to be explored.
pub const ANY: u32 = u32::MAX;

/// A step of a thread as the algorithms see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Action {
    /// Who.
    pub thread: ThreadId,
    /// Which alternative, or [`ANY`].
    pub choice: u32,
    /// What it touches.
    pub footprint: Footprint,
}

type SectionParts = Vec<Footprint>;

/// When actions are dependent, and the tables that are needed to tell. What is kept does not grow with the number of
/// executions: footprints of atomic sections are kept once each, and locations are few.
#[derive(Default)]
pub struct Dependence {
    /// Whether commuting read-modify-writes are independent.
    pub ifaa: bool,
    /// Whether stores that nobody reads are independent.
    pub observers: bool,
    parts: Vec<SectionParts>,
    ids: FxHashMap<Vec<(bool, u32, u64)>, SectionId>,
    /// Eight bytes each in which stores always conflict.
    hard: FxHashSet<u64>,
}

impl Dependence {
    /// The number of a list of accesses. What a section reads after having written it is its own business.
    pub fn intern(&mut self, accesses: &[(Access, Done)]) -> SectionId {
        use selvedge_ir::EntityRef;
        let mut keys: Vec<(bool, u32, u64)> = Vec::new();
        for (n, (access, done)) in accesses.iter().enumerate() {
            if is_exposed(accesses, n) {
                keys.push((false, access.size.into(), access.addr.0));
            }
            if done.new.is_some() {
                keys.push((true, access.size.into(), access.addr.0));
            }
        }
        keys.sort_unstable();
        keys.dedup();
        let next = SectionId::new(self.parts.len());
        let id = *self.ids.entry(keys.clone()).or_insert(next);
        if id == next {
            let part =
                |(write, len, addr)| if write { Footprint::Store { len, addr } } else { Footprint::Read { len, addr } };
            self.parts.push(keys.into_iter().map(part).collect());
        }
        id
    }

    /// What the accesses of a section read from others, and write.
    pub fn parts(&self, id: SectionId) -> &[Footprint] {
        use selvedge_ir::EntityRef;
        &self.parts[id.index()]
    }

    /// Makes stores to the eight bytes around an address conflict always. Returns whether that is new.
    pub fn harden(&mut self, addr: u64) -> bool {
        self.hard.insert(addr >> 3)
    }

    /// Whether stores to the eight bytes around an address conflict always.
    #[inline]
    pub fn is_hard(&self, addr: u64) -> bool {
        self.hard.contains(&(addr >> 3))
    }

    /// Whether two actions are dependent.
    #[inline]
    pub fn dependent(&self, a: &Action, b: &Action) -> bool {
        a.thread == b.thread || self.conflict(&a.footprint, &b.footprint)
    }

    /// Whether two footprints of different threads conflict, at least if somebody observes it.
    #[inline]
    pub fn conflict(&self, a: &Footprint, b: &Footprint) -> bool {
        use Footprint::*;
        match (*a, *b) {
            (Nothing, _) | (_, Nothing) => false,
            (Read { .. }, Read { .. }) => false,
            (
                Read { len: m, addr: x }
                | Write { len: m, addr: x }
                | Store { len: m, addr: x }
                | Free { len: m, addr: x },
                Read { len: n, addr: y }
                | Write { len: n, addr: y }
                | Store { len: n, addr: y }
                | Free { len: n, addr: y },
            ) => overlap(x, m, y, n),
            (Anything, _) | (_, Anything) => true,
            (Section(id), other) | (other, Section(id)) => {
                self.parts(id).iter().any(|part| self.conflict(part, &other))
            }
            (Commute { family: f, len: m, addr: x }, Commute { family: g, len: n, addr: y }) => {
                !(self.ifaa && f == g && m == n && x == y) && overlap(x, m.into(), y, n.into())
            }
            (Commute { len: m, addr: x, .. }, other) | (other, Commute { len: m, addr: x, .. }) => match other {
                Read { len: n, addr: y }
                | Write { len: n, addr: y }
                | Store { len: n, addr: y }
                | Free { len: n, addr: y } => overlap(x, m.into(), y, n),
                _ => false,
            },
            (Wait { cond: x }, Notify { cond: y } | NotifyNobody { cond: y }) => x == y,
            (Notify { cond: x } | NotifyNobody { cond: x }, Wait { cond: y }) => x == y,
            (Notify { cond: x }, Notify { cond: y } | NotifyNobody { cond: y }) => x == y,
            (NotifyNobody { cond: x }, Notify { cond: y }) => x == y,
            (EarlyWake { cond: x }, Notify { cond: y } | NotifyNobody { cond: y }) => x == y,
            (Notify { cond: x } | NotifyNobody { cond: x }, EarlyWake { cond: y }) => x == y,
            _ => false,
        }
    }

    /// Whether two conflicting footprints conflict only if one of them is observed: two stores of the same bytes.
    #[inline]
    pub fn is_soft(&self, a: &Footprint, b: &Footprint) -> bool {
        match (a, b) {
            (Footprint::Store { len: m, addr: x }, Footprint::Store { len: n, addr: y }) => {
                self.observers && m == n && x == y && !self.is_hard(*x)
            }
            _ => false,
        }
    }
}

/// Whether the n-th access of a section reads bytes that the section did not write before.
pub fn is_exposed(accesses: &[(Access, Done)], n: usize) -> bool {
    let (access, done) = &accesses[n];
    let own = |byte: u64| {
        accesses[..n].iter().any(|(other, done)| {
            done.new.is_some() && (other.addr.0..other.addr.0 + u64::from(other.size)).contains(&byte)
        })
    };
    // A store that could not be performed has found that out.
    (access.reads() || done.new.is_none()) && !(access.addr.0..access.addr.0 + u64::from(access.size)).all(own)
}

/// Whether two byte ranges have a byte in common.
#[inline]
pub fn overlap(x: u64, m: u32, y: u64, n: u32) -> bool {
    x < y + u64::from(n) && y < x + u64::from(m)
}

/// What an executed step touched.
#[inline]
pub fn footprint(op: &Op, done: &Done, section: impl FnOnce() -> SectionId) -> Footprint {
    match *op {
        Op::Access(access) => access_footprint(&access, done.new.is_some()),
        Op::Free { addr, size } => Footprint::Free { len: size as u32, addr: addr.0 },
        Op::CondWait { cond } => Footprint::Wait { cond: cond.0 },
        Op::CondWake { cond, early: true } => Footprint::EarlyWake { cond: cond.0 },
        Op::CondSignal { cond } | Op::CondBroadcast { cond } if done.old > 0 => Footprint::Notify { cond: cond.0 },
        Op::CondSignal { cond } | Op::CondBroadcast { cond } => Footprint::NotifyNobody { cond: cond.0 },
        Op::AtomicBegin => Footprint::Section(section()),
        _ => Footprint::Nothing,
    }
}

/// What an access touches, given whether it writes.
#[inline]
pub fn access_footprint(access: &Access, writes: bool) -> Footprint {
    let (len, addr) = (u32::from(access.size), access.addr.0);
    if !writes {
        return Footprint::Read { len, addr };
    }
    match access.kind {
        AccessKind::Store { .. } if access.until.is_none() => Footprint::Store { len, addr },
        AccessKind::Rmw { op, used: false, .. } if access.until.is_none() => match Family::of(op) {
            Some(family) => Footprint::Commute { family, len: access.size, addr },
            None => Footprint::Write { len, addr },
        },
        _ => Footprint::Write { len, addr },
    }
}

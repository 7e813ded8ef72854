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

use rustc_hash::FxHashMap;
use selvedge_ir::entity;
use selvedge_machine::{Access, Done, Op, ThreadId};

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
    /// Writes bytes (and may read them).
    Write {
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

/// The footprints of atomic sections, kept once each: their number does not grow with the number of executions.
#[derive(Default)]
pub struct Sections {
    parts: Vec<SectionParts>,
    ids: FxHashMap<Vec<(bool, u32, u64)>, SectionId>,
}

impl Sections {
    /// The number of a list of accesses.
    pub fn intern(&mut self, accesses: &[(Access, Done)]) -> SectionId {
        use selvedge_ir::EntityRef;
        let key = |(access, done): &(Access, Done)| (done.new.is_some(), u32::from(access.size), access.addr.0);
        let mut keys: Vec<_> = accesses.iter().map(key).collect();
        keys.sort_unstable();
        keys.dedup();
        let next = SectionId::new(self.parts.len());
        let id = *self.ids.entry(keys.clone()).or_insert(next);
        if id == next {
            let part =
                |(write, len, addr)| if write { Footprint::Write { len, addr } } else { Footprint::Read { len, addr } };
            self.parts.push(keys.into_iter().map(part).collect());
        }
        id
    }

    fn parts(&self, id: SectionId) -> &[Footprint] {
        use selvedge_ir::EntityRef;
        &self.parts[id.index()]
    }

    /// Whether two actions are dependent.
    #[inline]
    pub fn dependent(&self, a: &Action, b: &Action) -> bool {
        a.thread == b.thread || self.conflict(&a.footprint, &b.footprint)
    }

    /// Whether two footprints of different threads conflict.
    #[inline]
    pub fn conflict(&self, a: &Footprint, b: &Footprint) -> bool {
        use Footprint::*;
        match (*a, *b) {
            (Nothing, _) | (_, Nothing) => false,
            (Read { .. }, Read { .. }) => false,
            (
                Read { len: m, addr: x } | Write { len: m, addr: x },
                Read { len: n, addr: y } | Write { len: n, addr: y },
            ) => overlap(x, m, y, n),
            (Anything, _) | (_, Anything) => true,
            (Section(id), other) | (other, Section(id)) => {
                self.parts(id).iter().any(|part| self.conflict(part, &other))
            }
            (Wait { cond: x }, Notify { cond: y } | NotifyNobody { cond: y }) => x == y,
            (Notify { cond: x } | NotifyNobody { cond: x }, Wait { cond: y }) => x == y,
            (Notify { cond: x }, Notify { cond: y } | NotifyNobody { cond: y }) => x == y,
            (NotifyNobody { cond: x }, Notify { cond: y }) => x == y,
            (EarlyWake { cond: x }, Notify { cond: y } | NotifyNobody { cond: y }) => x == y,
            (Notify { cond: x } | NotifyNobody { cond: x }, EarlyWake { cond: y }) => x == y,
            _ => false,
        }
    }
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
        Op::Free { addr, size } => Footprint::Write { len: size as u32, addr: addr.0 },
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
    if writes { Footprint::Write { len, addr } } else { Footprint::Read { len, addr } }
}

//! The bytes that a step touches, as one range.

use crate::action::{Footprint, overlap};

/// The bytes that a footprint touches, and whether it writes them.
#[derive(Clone, Copy)]
pub struct Range {
    /// How many.
    pub len: u32,
    /// From where.
    pub addr: u64,
    /// Whether they are written.
    pub writes: bool,
}

impl Range {
    /// The range of a footprint that is one; otherwise an empty one.
    #[inline]
    pub fn of(footprint: &Footprint) -> Range {
        match *footprint {
            Footprint::Read { len, addr } => Range { len, addr, writes: false },
            Footprint::Write { len, addr } | Footprint::Store { len, addr } | Footprint::Free { len, addr } => {
                Range { len, addr, writes: true }
            }
            Footprint::Commute { len, addr, .. } => Range { len: len.into(), addr, writes: true },
            _ => Range { len: 0, addr: 0, writes: false },
        }
    }

    /// Whether two ranges have a byte in common.
    #[inline]
    pub fn overlaps(&self, other: &Range) -> bool {
        overlap(self.addr, self.len, other.addr, other.len)
    }

    /// Whether it writes all bytes of another range.
    #[inline]
    pub fn covers(&self, other: &Range) -> bool {
        self.writes && self.addr <= other.addr && other.addr + u64::from(other.len) <= self.addr + u64::from(self.len)
    }

    /// The eight bytes that its first byte is in.
    #[inline]
    pub fn first_granule(&self) -> u64 {
        self.addr >> 3
    }

    /// The eight bytes that its last byte is in.
    #[inline]
    pub fn last_granule(&self) -> u64 {
        (self.addr + u64::from(self.len) - 1) >> 3
    }
}

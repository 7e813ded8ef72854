//! Where locations are: by the addresses at which they start.
//!
//! This is asked of every access, and of every one that a thread waits with, so the answer is kept at hand for some: a place
//! in a short table, by a few bits of the address. What comes to a place that is taken takes it over; the rest is found in a
//! map.

use crate::event::LocId;
use rustc_hash::FxHashMap;
use selvedge_machine::Addr;

/// A power of two.
const AT_HAND: usize = 32;
/// Nothing is there.
const NOWHERE: Addr = Addr(u64::MAX);

/// All locations, by address.
#[derive(Default)]
pub(crate) struct Locations {
    all: FxHashMap<Addr, LocId>,
    /// The table; empty as long as there are no locations.
    at_hand: Vec<(Addr, LocId)>,
}

impl Locations {
    /// The location that starts at an address.
    #[inline]
    pub fn get(&self, addr: Addr) -> Option<LocId> {
        match self.at_hand.get(place(addr)) {
            Some(&(at, loc)) if at == addr => Some(loc),
            _ => self.all.get(&addr).copied(),
        }
    }

    /// Adds a location.
    pub fn insert(&mut self, addr: Addr, loc: LocId) {
        debug_assert!(addr != NOWHERE, "no location is at the end of memory");
        self.all.insert(addr, loc);
        self.at_hand.resize(AT_HAND, (NOWHERE, loc));
        self.at_hand[place(addr)] = (addr, loc);
    }

    /// Takes a location away.
    pub fn remove(&mut self, addr: Addr) {
        self.all.remove(&addr);
        if let Some((at, _)) = self.at_hand.get_mut(place(addr)) {
            *at = NOWHERE;
        }
    }

    /// Takes all away.
    pub fn clear(&mut self) {
        self.all.clear();
        self.at_hand.clear();
    }
}

/// Objects start at pages of their own, and words within them differ in lower bits.
#[inline]
fn place(addr: Addr) -> usize {
    (addr.0 >> 12 ^ addr.0 >> 3 ^ addr.0 >> 60) as usize % AT_HAND
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_ir::EntityRef;

    #[test]
    fn what_shares_a_place_is_found_all_the_same() {
        let mut locations = Locations::default();
        let addr = |n: usize| Addr(8 * n as u64);
        (0..3 * AT_HAND).for_each(|n| locations.insert(addr(n), LocId::new(n)));
        assert!((0..3 * AT_HAND).all(|n| locations.get(addr(n)) == Some(LocId::new(n))));
        assert_eq!(locations.get(addr(3 * AT_HAND)), None);
        (0..AT_HAND).for_each(|n| locations.remove(addr(n)));
        assert!((0..AT_HAND).all(|n| locations.get(addr(n)).is_none()));
        assert!((AT_HAND..3 * AT_HAND).all(|n| locations.get(addr(n)) == Some(LocId::new(n))));
        locations.clear();
        assert!((0..3 * AT_HAND).all(|n| locations.get(addr(n)).is_none()));
    }
}

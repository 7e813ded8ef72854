//! What was found lately of places in the source.
//!
//! Threads come to the same few operations again and again, and each time something is asked of the place where the operation
//! stands. What is known of places is known by file and line, since one may have several addresses; to look that up takes time.

use crate::runtime::At;
use std::cell::Cell;

/// Answers to a question, by the addresses of places.
pub(crate) struct Lately([Cell<(usize, bool)>; MANY]);

/// So many answers are kept.
const MANY: usize = 32;

impl Default for Lately {
    fn default() -> Lately {
        Lately([const { Cell::new((0, false)) }; MANY])
    }
}

impl Lately {
    /// The answers may be others from now on.
    pub fn forget(&mut self) {
        *self = Lately::default();
    }

    /// The answer for a place, which is found out if that was not done lately.
    #[inline]
    pub fn ask(&self, at: At, find: impl FnOnce() -> bool) -> bool {
        let address = std::ptr::from_ref(at).addr();
        // A place is three words.
        let last = &self.0[address / 8 % MANY];
        let (known, answer) = last.get();
        if known == address {
            return answer;
        }
        let answer = find();
        last.set((address, answer));
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::Location;

    #[test]
    fn a_place_is_asked_about_once() {
        let mut lately = Lately::default();
        let (here, there) = (Location::caller(), Location::caller());
        assert!(lately.ask(here, || true));
        assert!(lately.ask(here, || panic!("it is known")));
        assert!(!lately.ask(there, || false));
        lately.forget();
        assert!(!lately.ask(here, || false));
    }
}

//! Which keys are written to as observed operations.
//!
//! Two relations are right for writes that do not look at what was there. Without observers, two of them conflict unless they
//! leave the same there. With observers, two of them conflict if somebody looks at what the later one leaves, whatever that
//! is (`selvedge_messages::dependence`): to make an exception for equal values would not be a happens-before any more,
//! as of three writes of `a`, `b` and `a` each order can matter. So each key has one of the two. Where all write the same, or
//! differ only from what the creator of the others wrote before, the first has fewer classes; where processes that
//! are independent of each other write different things, the second.
//!
//! Every key begins with the first. When two processes, neither of which descends from the other, have written
//! different things to it, it gets the second, and the exploration starts again: that happens once for a key, and mostly in
//! the first execution. What is remembered here is therefore never undone.

use crate::table::{Effect, Key, Spot};
use crate::term::{Pid, Ref, Term};
use std::collections::{BTreeMap, BTreeSet};

type Place = (Ref, Key);

/// What was ever written, and where that is observed.
#[derive(Default, Debug)]
pub struct Stores {
    /// What each process has written to a key.
    written: BTreeMap<Place, Vec<(Pid, Term)>>,
    observed: BTreeSet<Place>,
    /// Those that are to be observed as well.
    found: Vec<Place>,
}

impl Stores {
    /// Notes what a process has done. `related`: whether one of two processes descends from the other.
    pub fn note(&mut self, pid: Pid, effect: &Effect, related: impl Fn(Pid, Pid) -> bool) {
        let Some((Spot::Key(table, key), value)) = effect.store() else { return };
        let place = (*table, key.clone());
        if self.observed.contains(&place) {
            return;
        }
        let all = self.written.entry(place.clone()).or_default();
        if all.iter().any(|(other, written)| written != value && !related(*other, pid)) {
            self.written.remove(&place);
            self.found.push(place);
        } else if !all.iter().any(|(other, written)| *other == pid && written == value) {
            all.push((pid, value.clone()));
        }
    }

    /// Whether an operation is a write whose order matters only if it is observed.
    pub fn is_observed(&self, effect: &Effect) -> bool {
        match effect.store() {
            Some((Spot::Key(table, key), _)) => self.observed.contains(&(*table, key.clone())),
            _ => false,
        }
    }

    /// Observes the keys that were found since the last time. Whether there are any.
    pub fn update(&mut self) -> bool {
        let any = !self.found.is_empty();
        self.observed.extend(self.found.drain(..));
        any
    }
}

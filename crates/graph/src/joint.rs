//! A composite await that several workers explore what follows from.
//!
//! Whether an await that could read waits instead shows when all that follows from reading has been explored
//! (`explorer/composite.rs`). If parts of that have been given to other workers, nobody knows it before the last of them is
//! done. So whoever explores such a part holds the turn, and so does whoever took it; each adds what it has found out when
//! it is done with its part. If the worker that took the turn comes to the waiting before that, it leaves it here and goes
//! on with something else, and the last one takes care of it.
//!
//! What is found out is a union of sets, so it does not matter who explores what, and when.

use crate::explorer::{Place, Ways};
use crate::parallel::Parcel;
use selvedge_machine::Addr;
use std::sync::{Arc, Mutex, PoisonError};

/// What is known of a turn: the locations that the attempt has looked at, those that others have written, and how.
#[derive(Clone, Default, Debug)]
pub(crate) struct Findings {
    /// What the threads are that ways name by numbers, by their paths.
    pub threads: Vec<Vec<u32>>,
    pub footprint: Vec<Place>,
    pub news: Vec<Place>,
    pub ways: Ways<Place>,
}

impl Findings {
    fn add(&mut self, other: Findings) {
        let add = |all: &mut Vec<Place>, more: Vec<Place>| {
            all.extend(more);
            all.sort_unstable();
            all.dedup();
        };
        add(&mut self.footprint, other.footprint);
        add(&mut self.news, other.news);
        self.ways.merge(other.ways);
        // Workers may number threads in another order if these come to be after they have parted.
        if !self.threads.iter().zip(&other.threads).all(|(one, other)| one == other) {
            self.ways.give_up();
        }
        let more = self.threads.len().min(other.threads.len());
        self.threads.extend_from_slice(&other.threads[more..]);
    }
}

/// A turn that several workers hold.
pub(crate) struct Joint {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    holders: usize,
    findings: Findings,
    /// What comes when all are done, if the worker that took the turn is.
    rest: Option<Box<Parcel>>,
}

/// A turn whose rest is to be explored.
pub(crate) struct Rest {
    pub joint: Arc<Joint>,
    /// Where the attempt looks with the coherence-last values.
    pub path: Vec<Addr>,
}

impl Joint {
    /// A turn that the worker which took it holds.
    pub fn held_by_one() -> Arc<Joint> {
        let state = State { holders: 1, ..State::default() };
        Arc::new(Joint { state: Mutex::new(state) })
    }

    /// One more worker holds it.
    pub fn hold(self: &Arc<Joint>) -> Arc<Joint> {
        self.with(|state| state.holders += 1);
        Arc::clone(self)
    }

    /// A worker that was given a part is done with it. If it was the last of all, the rest is for it to pass on.
    pub fn leave(&self, findings: Findings) -> Option<Box<Parcel>> {
        self.with(|state| {
            state.leave(findings);
            state.rest.take_if(|_| state.holders == 0)
        })
    }

    /// The worker that took the turn is done with it. If it is the last of all, it learns what is known; otherwise it
    /// leaves the rest here.
    pub fn close(&self, findings: Findings, rest: impl FnOnce() -> Parcel) -> Option<Findings> {
        self.with(|state| {
            state.leave(findings);
            if state.holders == 0 {
                return Some(state.findings.clone());
            }
            state.rest = Some(Box::new(rest()));
            None
        })
    }

    /// What is known of it.
    pub fn findings(&self) -> Findings {
        self.with(|state| {
            debug_assert_eq!(state.holders, 0, "nothing more is found out");
            state.findings.clone()
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn leave(&mut self, findings: Findings) {
        self.findings.add(findings);
        self.holders -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(threads: &[&[u32]]) -> Findings {
        Findings { threads: threads.iter().map(|path| path.to_vec()).collect(), ..Findings::default() }
    }

    #[test]
    fn ways_are_joined_if_they_name_the_same_threads() {
        let mut all = findings(&[&[], &[0]]);
        all.add(findings(&[&[], &[0], &[0, 0]]));
        all.add(findings(&[&[]]));
        assert_eq!(all.threads, [vec![], vec![0], vec![0, 0]]);
        assert!(all.ways.are_known());
    }

    #[test]
    fn ways_that_name_other_threads_are_given_up() {
        let mut all = findings(&[&[], &[0], &[0, 0]]);
        all.add(findings(&[&[], &[0], &[1]]));
        assert!(!all.ways.are_known());
    }
}

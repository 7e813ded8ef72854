//! Barriers.
//!
//! One word counts all arrivals. Whoever arrives waits until as many have arrived as his round needs.

// `std`'s result of a wait cannot be made otherwise.
#![allow(unsafe_code)]

use crate::object::Word;
use crate::request::Request;
use selvedge_ir::{CmpOp, Order, RmwOp};
use selvedge_machine::Purpose;
use std::panic::Location;
use std::sync::BarrierWaitResult;

/// Stands in for `std::sync::Barrier`.
#[derive(Debug)]
pub struct Barrier {
    word: Word,
    threads: u64,
}

/// Whether a thread arrived last, as `std` says it. Only `std`'s own barriers make such a thing, and they have to wait for that.
fn result(is_leader: bool) -> BarrierWaitResult {
    const { assert!(size_of::<BarrierWaitResult>() == size_of::<bool>()) }
    // SAFETY: it contains a `bool`, and as it is not larger, nothing else. (That it is what it should be is tested.)
    unsafe { std::mem::transmute::<bool, BarrierWaitResult>(is_leader) }
}

impl Barrier {
    /// A barrier for so many threads.
    #[track_caller]
    pub const fn new(threads: usize) -> Barrier {
        Barrier { word: Word::new("Barrier", 8, 0), threads: if threads == 0 { 1 } else { threads as u64 } }
    }

    /// Waits for the others.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let at = Location::caller();
        let arrive = Request::rmw(RmwOp::Add, 1, true);
        let before = self.word.synchronise(Order::AcqRel, arrive, Purpose::Sync, at);
        let round = (before / self.threads + 1) * self.threads;
        if before + 1 < round {
            let all = Request::load().until(CmpOp::Uge, round);
            self.word.synchronise(Order::Acquire, all, Purpose::Sync, at);
        }
        result(before + 1 == round)
    }
}

#[cfg(test)]
mod tests {
    use super::result;

    #[test]
    fn results_are_those_of_std() {
        assert!(result(true).is_leader() && !result(false).is_leader());
        let leader = std::sync::Barrier::new(1).wait();
        assert_eq!(format!("{leader:?}"), format!("{:?}", result(true)));
    }
}

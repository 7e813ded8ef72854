//! Barriers.
//!
//! One word counts all arrivals. Whoever arrives waits until as many have arrived as his round needs.

use crate::object::Word;
use crate::request::Request;
use selvedge_ir::{CmpOp, Order, RmwOp};
use selvedge_machine::Purpose;
use std::panic::Location;

/// Stands in for `std::sync::Barrier`.
#[derive(Debug)]
pub struct Barrier {
    word: Word,
    threads: u64,
}

/// Says who arrived last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether it was this thread.
    pub fn is_leader(&self) -> bool {
        self.0
    }
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
        BarrierWaitResult(before + 1 == round)
    }
}

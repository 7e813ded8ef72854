//! A notification that one thread waits for.

use crate::object::Word;
use selvedge_ir::{CmpOp, Order, RmwOp};
use selvedge_machine::{AccessKind, Cond, Purpose};
use std::panic::Location;

/// A notification. It stays until somebody waits for it; several are one.
#[derive(Debug)]
pub struct Notify {
    word: Word,
}

impl Notify {
    /// None yet.
    #[track_caller]
    pub const fn new() -> Notify {
        Notify { word: Word::new("Notify", 8, 0) }
    }

    /// Notifies.
    #[track_caller]
    pub fn notify(&self) {
        let set = AccessKind::Rmw { op: RmwOp::Xchg, operand: 1, used: false };
        self.word.synchronise(Order::Release, set, None, Purpose::Sync, Location::caller());
    }

    /// Waits to be notified.
    #[track_caller]
    pub fn wait(&self) {
        let take = AccessKind::Rmw { op: RmwOp::Xchg, operand: 0, used: false };
        let there = Some(Cond::new(CmpOp::Eq, 1));
        self.word.synchronise(Order::Acquire, take, there, Purpose::Sync, Location::caller());
    }
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Self {
        Notify::new()
    }
}

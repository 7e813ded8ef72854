//! A notification that one thread waits for.

use crate::object::Word;
use crate::request::Request;
use selvedge_ir::{CmpOp, Order, RmwOp};
use selvedge_machine::Purpose;
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
        let set = Request::rmw(RmwOp::Xchg, 1, false);
        self.word.synchronise(Order::Release, set, Purpose::Sync, Location::caller());
    }

    /// Waits to be notified.
    #[track_caller]
    pub fn wait(&self) {
        let take = Request::rmw(RmwOp::Xchg, 0, false).until(CmpOp::Eq, 1);
        self.word.synchronise(Order::Acquire, take, Purpose::Sync, Location::caller());
    }
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Self {
        Notify::new()
    }
}

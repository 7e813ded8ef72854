//! What happens once: a word that says whether it has happened.
//!
//! To come first is an exchange that waits while somebody is at it.

use crate::object::Word;
use crate::request::Request;
use crate::runtime::At;
use selvedge_ir::{CmpOp, Order};
use selvedge_machine::Purpose;

/// Whether it has happened.
#[derive(Debug)]
pub(crate) struct OnceWord(Word);

const NEW: u64 = 0;
const RUNNING: u64 = 1;
const DONE: u64 = 2;
const POISONED: u64 = 3;

/// What a thread finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// It is the first, and has to do it.
    New,
    /// It was done.
    Done,
    /// Who was first has panicked.
    Poisoned,
}

fn found(value: u64) -> Found {
    match value {
        NEW => Found::New,
        POISONED => Found::Poisoned,
        _ => Found::Done,
    }
}

impl OnceWord {
    /// It has not happened yet.
    #[track_caller]
    pub const fn new(what: &'static str) -> OnceWord {
        OnceWord(Word::new(what, 8, NEW))
    }

    /// Of something that has no word of its own.
    #[track_caller]
    pub fn of(place: usize, what: &'static str, at: At) -> OnceWord {
        OnceWord(Word::of(place, what, at))
    }

    /// The word.
    pub fn word(&self) -> &Word {
        &self.0
    }

    /// Waits while somebody is at it. `Found::New`: the thread is at it from now on.
    #[track_caller]
    pub fn enter(&self, at: At) -> Found {
        self.exchange(NEW, at)
    }

    /// As `enter`, if somebody has panicked.
    #[track_caller]
    pub fn enter_poisoned(&self, at: At) -> Found {
        self.exchange(POISONED, at)
    }

    #[track_caller]
    fn exchange(&self, expected: u64, at: At) -> Found {
        let first = Request::cas(expected, RUNNING, Order::Acquire);
        found(self.0.synchronise(Order::Acquire, first.until(CmpOp::Ne, RUNNING), Purpose::Sync, at))
    }

    /// Whether it was done.
    #[track_caller]
    pub fn is_done(&self, at: At) -> bool {
        self.0.synchronise(Order::Acquire, Request::load(), Purpose::Sync, at) == DONE
    }

    /// Waits until it was done.
    #[track_caller]
    pub fn wait(&self, at: At) -> Found {
        let done = Request::load().until(CmpOp::Uge, DONE);
        found(self.0.synchronise(Order::Acquire, done, Purpose::Sync, at))
    }

    #[track_caller]
    fn leave(&self, value: u64, at: At) {
        self.0.synchronise(Order::Release, Request::store(value), Purpose::Sync, at);
    }

    /// It is done.
    #[track_caller]
    pub fn done(&self, at: At) {
        self.leave(DONE, at);
    }

    /// Does something; if it panics, the word is left new, or poisoned.
    #[track_caller]
    pub fn during<R>(&self, poisons: bool, at: At, f: impl FnOnce() -> R) -> R {
        struct Leave<'a>(&'a OnceWord, u64, At);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.leave(self.1, self.2);
            }
        }
        let leave = Leave(self, if poisons { POISONED } else { NEW }, at);
        let result = f();
        std::mem::forget(leave);
        result
    }
}

//! Objects that threads share: where the engine keeps them.
//!
//! An object gets its address for the engine when it is first used in an execution (`places.rs` says why it is always the
//! same one), and remembers it until the next execution. It starts every execution with its first value: that is why a `static`
//! is fresh in each. An access that does not happen after the object's memory was allocated is a data race.
//!
//! Cells are known when they are made ([`Word::made`]): what they contain is written there and then, and an access that does
//! not happen after that is a data race.
//!
//! Through a pointer to where an object was once (in a frame of the stack that is left, in a variant of an `enum` that was
//! overwritten), anything can be found there. So a word carries a mark that depends on what else is in it, and nothing of one
//! that was not met in this run is believed before the mark is looked at.

use crate::content::may_be_static;
use crate::request::Request;
use crate::runtime::{self, At};
use crate::shared::{Seen, Shared};
use crate::virtual_address::{may_be_pointer, may_be_virtual};
use selvedge_ir::Order;
use selvedge_machine::{Addr, Outcome, Purpose, ViolationKind};
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the engine sees of a value of 8 bytes: it may be a pointer.
pub(crate) fn virtual_of(value: u64) -> u64 {
    if may_be_pointer(value) && runtime::current().is_some() {
        runtime::shared(|shared| shared.virtual_of(value))
    } else {
        value
    }
}

/// What the model's code sees of a value of 8 bytes.
pub(crate) fn real_of(value: u64) -> u64 {
    if may_be_virtual(value) { runtime::glance(|shared| shared.real_of(value)) } else { value }
}

/// What is said of an object that cannot be asked what it is.
const UNKNOWN: &str = "an object";

/// A word of memory that threads share.
#[derive(Debug)]
pub(crate) struct Word {
    /// The run in which it was last met, and its number there.
    remembered: AtomicU64,
    init: u64,
    /// How many bytes it has, and the mark ([`marked`]). As a whole word: bytes between would be left over from the stack on which it
    /// is made, and what is in memory is compared.
    size: u64,
    what: &'static str,
    /// Where it was made; none if it was made by nobody, in memory that was freed before it was used: the compiler leaves
    /// out stores that only a use after free could find.
    at: Option<At>,
}

/// In `size`: the word stands for something that is elsewhere, and where it is itself says nothing.
const ELSEWHERE: u64 = 1 << 7;

/// How far a word's beginning is before where it remembers.
pub(crate) const REMEMBERED: usize = std::mem::offset_of!(Word, remembered);

/// The highest half of every word's size. It is no number that an object remembers, and no pointer.
const MARK: u64 = 0x1d5e_c7a3;

/// A size with the mark of a word that has this name and this first value.
const fn marked(size: u8, what: &'static str, init: u64) -> u64 {
    let mixed = (init ^ (what.len() as u64) << 8 ^ size as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    MARK << 32 | mixed << 8 | size as u64
}

/// What is said of an object of which nothing is left.
const GONE: &str = "an object is used whose memory holds something else by now: it has moved or died";

/// What an object is, and where it was made.
fn in_words((what, at): (&'static str, At)) -> String {
    format!("{what} (made at {}:{}:{})", at.file(), at.line(), at.column())
}

/// Whether a place is in memory that was freed. What points to the end of a block counts as part of it, and a copy of what is
/// in a static may start there.
fn is_freed(shared: &Shared, place: usize) -> bool {
    shared.blocks.is_freed(place) && shared.places.copy_at(place).is_none()
}

impl Word {
    /// A word with its first value.
    #[track_caller]
    pub const fn new(what: &'static str, size: u8, init: u64) -> Word {
        let size = marked(size, what, init);
        Word { remembered: AtomicU64::new(0), init, size, what, at: Some(Location::caller()) }
    }

    /// A word that is known to the engine from now on, if it is made inside a model.
    #[track_caller]
    pub fn made(what: &'static str, size: u8, init: u64) -> Word {
        let word = Word::new(what, size, init);
        if let Some(thread) = runtime::current().filter(|_| !std::thread::panicking()) {
            let at = Location::caller();
            let number = runtime::shared(|shared| shared.make(thread, size, init, what, at));
            word.remembered.store(number, Ordering::Relaxed);
        }
        word
    }

    /// The word of something at an address that has none of its own.
    #[track_caller]
    pub fn of(place: usize, what: &'static str, at: At) -> Word {
        let number = runtime::shared(|shared| match shared.words.get(&place) {
            Some(&number) => number,
            None => {
                let number = shared.meet(place, 8, 0, what, at);
                shared.words.insert(place, number);
                number
            }
        });
        let size = marked(8, what, 0) | ELSEWHERE;
        Word { remembered: AtomicU64::new(number), init: 0, size, what, at: Some(at) }
    }

    /// Where it is.
    #[track_caller]
    pub fn addr(&self) -> Addr {
        self.see().addr
    }

    /// Where it is, and whether that is outside of the model.
    #[track_caller]
    pub fn see(&self) -> Seen {
        self.see_with(|| self.init)
    }

    /// Where it was made, if somebody has.
    pub fn made_at(&self) -> Option<At> {
        self.at
    }

    /// How many bytes it has. Even one that was met in this run may have been overwritten since, but for what it remembers.
    #[inline]
    fn size(&self, at: At) -> u8 {
        if self.size >> 32 == MARK { self.bytes() } else { Word::is_gone(at) }
    }

    /// The same of one that is known to be a word.
    #[inline]
    fn bytes(&self) -> u8 {
        (self.size & !ELSEWHERE) as u8
    }

    /// Whether what is here is a word, as far as that can be told: it has its mark, and refers to what lives as long as the program.
    fn is_one(&self) -> bool {
        let size = self.bytes();
        let is_marked = self.size & !ELSEWHERE == marked(size, self.what, self.init);
        let has_mark = is_marked && matches!(size, 1 | 2 | 4 | 8);
        let made_at = |at: At| may_be_static(std::ptr::from_ref(at).addr());
        has_mark && may_be_static(self.what.as_ptr().addr()) && self.at.is_some_and(made_at)
    }

    /// Stops the thread because there is something else where a word was. If it panics, it goes on with some size.
    #[cold]
    #[inline(never)]
    fn is_gone(at: At) -> u8 {
        if !std::thread::panicking() {
            runtime::fail(ViolationKind::UseAfterFree, GONE.to_owned(), at);
        }
        8
    }

    /// As `see`, if the first value is known only when it is met.
    ///
    /// Never inlined: what is left over when an object is met must not be part of the frames of operations (`awaits.rs`).
    #[track_caller]
    #[inline(never)]
    pub fn see_with(&self, init: impl FnOnce() -> u64) -> Seen {
        let remembered = self.remembered.load(Ordering::Relaxed);
        let place = std::ptr::from_ref(self).addr();
        let lives = |shared: &Shared, seen: &Seen| seen.outside || !shared.blocks.has_freed(place);
        // Operations clear the frame that comes next.
        let noted = if self.size & ELSEWHERE == 0 { place } else { 0 };
        let known = runtime::shared_untidily(|shared| {
            shared.recognise_at(remembered, noted).filter(|seen| lives(shared, seen))
        });
        match known {
            Some(seen) => seen,
            None => self.meet(init, Location::caller()),
        }
    }

    /// Meets it, unless it has been met in this run. It may be in memory that was freed.
    #[cold]
    #[inline(never)]
    fn meet(&self, init: impl FnOnce() -> u64, caller: At) -> Seen {
        let remembered = self.remembered.load(Ordering::Relaxed);
        let place = std::ptr::from_ref(self).addr();
        let (mut gone, mut starts_again) = (false, false);
        let (seen, freed) = runtime::shared(|shared| match shared.recognise(remembered) {
            Some(seen) => {
                starts_again = self.size & ELSEWHERE == 0 && shared.is_seen_at(remembered, place);
                (seen, !seen.outside && is_freed(shared, place))
            }
            None => {
                let freed = is_freed(shared, place);
                gone = !freed && !self.is_one();
                if let Some((number, seen)) = shared.meet_again(place, remembered) {
                    self.remembered.store(number, Ordering::Relaxed);
                    return (seen, false);
                }
                // What is in memory that was freed need not be what was written there: nothing of it is believed.
                let number = match self.at.filter(|_| !freed && !gone) {
                    Some(at) => {
                        let init = if self.bytes() == 8 { shared.virtual_of(init()) } else { init() };
                        shared.meet(place, self.bytes(), init, self.what, at)
                    }
                    None => shared.meet(place, 8, 0, UNKNOWN, caller),
                };
                self.remembered.store(number, Ordering::Relaxed);
                (shared.recognise(number).expect("it has just been met"), freed)
            }
        });
        if gone {
            Word::is_gone(caller);
        }
        if starts_again && !std::thread::panicking() {
            runtime::start_again();
        }
        if freed && !std::thread::panicking() {
            let made = runtime::shared(|shared| shared.origins.get(&seen.addr).copied());
            let what = made.filter(|&(what, _)| what != UNKNOWN).map_or_else(|| UNKNOWN.to_owned(), in_words);
            let message = format!("{what} is used after the memory that it is in was freed");
            runtime::fail(ViolationKind::UseAfterFree, message, caller);
        }
        seen
    }

    /// Where it is, if it has been used in this run.
    pub fn known(&self, shared: &Shared) -> Option<Addr> {
        shared.recognise(self.remembered.load(Ordering::Relaxed)).map(|seen| seen.addr)
    }

    /// Whether it has been used in this run.
    pub fn is_of_this_run(&self) -> bool {
        let remembered = self.remembered.load(Ordering::Relaxed);
        runtime::glance(|shared| shared.recognise(remembered).is_some())
    }

    /// Stops the thread unless the word was made in this run: what it stands for would not start again with its first
    /// value.
    #[track_caller]
    pub fn must_be_of_this_run(&self, at: At) {
        if !std::thread::panicking() && runtime::current().is_some() && !self.is_of_this_run() {
            self.must_be_of_the_model(at);
        }
    }

    /// Stops the thread because the word was made outside of the model; or because it is none any more, or was freed.
    #[track_caller]
    pub fn must_be_of_the_model(&self, at: At) -> ! {
        let place = std::ptr::from_ref(self).addr();
        if runtime::shared(|shared| is_freed(shared, place)) {
            let message = format!("{UNKNOWN} is used after the memory that it is in was freed");
            runtime::fail(ViolationKind::UseAfterFree, message, at);
        }
        if !self.is_one() {
            runtime::fail(ViolationKind::UseAfterFree, GONE.to_owned(), at);
        }
        let feature = format!(
            "a {} that was made outside of the model: what is in it would be kept from one execution to the next. \
             Make it in the model's closure, or in a `static`",
            self.what
        );
        runtime::stop(feature, at);
    }

    /// Its owner looks at what belongs to it without an operation, or takes that out: what others did with it must come before.
    #[track_caller]
    pub fn is_owned(&self, at: At) {
        if runtime::current().is_some() && !std::thread::panicking() {
            self.access(Order::Plain, Request::load(), at);
        }
    }

    /// The same word once more.
    pub fn copy(&self) -> Word {
        let remembered = AtomicU64::new(self.remembered.load(Ordering::Relaxed));
        Word { remembered, size: self.size | ELSEWHERE, ..*self }
    }

    /// Accesses it.
    #[track_caller]
    pub fn access(&self, order: Order, request: Request, at: At) -> Outcome {
        let addr = self.addr();
        runtime::tidy_frame();
        runtime::perform(request.at(addr, self.size(at), order), at)
    }

    /// Accesses it for a lock or the like.
    #[track_caller]
    pub fn synchronise(&self, order: Order, request: Request, purpose: Purpose, at: At) -> Outcome {
        let addr = self.addr();
        runtime::tidy_frame();
        runtime::perform(request.at(addr, self.size(at), order).for_purpose(purpose), at)
    }
}

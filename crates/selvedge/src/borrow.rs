//! Which cells are being accessed: an access lasts as long as the closure that is given to it, or as the pointer lives.
//!
//! The engine sees the start of an access. If the thread performs operations before the access ends, its end is an access
//! too: what the closure does after a release is not covered by that release, and others who acquire it race with the end.
//! If it performs none, nobody else can have run in between, and one access stands for all.
//!
//! A pointer that a guard keeps lives a bit longer than is meant: the guard's destructor gives a lock back, and only then its
//! fields are dropped. Nobody uses the pointer any more by then. So if one operation only has been performed since the pointer
//! was made or used, its end is no access, unless what it points to is no longer what it was at that operation. That it is
//! used all the same, to read or to write what the cell points to, cannot be seen; the verdict says so.
//!
//! A write that overlaps with another access to the same cell is an error, also if it is the same thread, and also if the two
//! are ordered in both directions (one thread hands the cell to another one in the middle of its own access): both have a
//! pointer, and one of them writes.

// What pointers point to is looked at.
#![allow(unsafe_code)]

use crate::number::Number;
use crate::object::Word;
use crate::request::Request;
use crate::runtime::{self, At, Yielded};
use selvedge_ir::Order;
use selvedge_machine::{Addr, Stop, ThreadId, Violation, ViolationKind, main_thread};
use std::hash::{Hash, Hasher};

/// How a cell is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    Reads,
    Writes,
}

/// An access that has not ended.
#[derive(Clone, Copy, Debug)]
struct Borrow {
    addr: Addr,
    thread: ThreadId,
    how: Use,
    at: At,
    /// When it began.
    since: u64,
    /// If it lasts as long as a pointer lives: what that points to.
    pointer: Option<Pointer>,
}

/// What a pointer points to that lives as long as an access lasts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointer {
    at: usize,
    size: usize,
    /// How many operations the thread has performed since the pointer was made or used.
    performed: u32,
    /// A number for what was there when it came to the last one.
    content: u64,
}

impl Pointer {
    /// A pointer to a value.
    pub fn to<T: ?Sized>(data: *const T) -> Pointer {
        // SAFETY: it points to what is in a cell, which lives.
        let size = size_of_val(unsafe { &*data });
        Pointer { at: data.cast::<u8>().addr(), size, performed: 0, content: 0 }
    }

    /// A number for what is there now.
    fn content(&self) -> u64 {
        let mut hasher = Number::default();
        for n in 0..self.size {
            let byte = std::ptr::with_exposed_provenance::<u8>(self.at + n);
            // SAFETY: the cell lives, or is in memory that is kept until the run ends; no other thread runs.
            hasher.write_u8(unsafe { byte.read_volatile() });
        }
        hasher.finish()
    }

    /// Whether it may have been used since it was last seen to be.
    fn may_have_been_used(&self) -> bool {
        self.performed > 1 || self.performed == 1 && self.content() != self.content
    }
}

/// Accesses that have not ended, oldest first.
#[derive(Clone, Default, Debug)]
pub(crate) struct Borrows(Vec<Borrow>);

impl Borrows {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds to a hash which there are.
    pub fn hash_into(&self, hasher: &mut Number) {
        for Borrow { addr, thread, how, .. } in &self.0 {
            (addr, thread, *how == Use::Writes).hash(hasher);
        }
    }

    /// A run starts.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// An access begins; one that it overlaps with, if it must not.
    fn begin(&mut self, new: Borrow) -> Option<Borrow> {
        let writes = |borrow: &Borrow| borrow.how == Use::Writes;
        let other = self.0.iter().find(|old| old.addr == new.addr && (writes(old) || writes(&new))).copied();
        self.0.push(new);
        other
    }

    /// The newest such access ends: of the thread, or of another one that has handed its pointer over. Of what is done with
    /// that since, nothing is known.
    fn end(&mut self, addr: Addr, thread: ThreadId, how: Use) -> Option<Borrow> {
        let own = self.0.iter().rposition(|old| (old.addr, old.thread, old.how) == (addr, thread, how));
        let found = own.or_else(|| self.0.iter().rposition(|old| (old.addr, old.how) == (addr, how)))?;
        let ended = self.0.remove(found);
        Some(Borrow { pointer: ended.pointer.filter(|_| own.is_some()), ..ended })
    }

    /// The pointers of a thread, to one cell or to all.
    fn pointers(&mut self, thread: ThreadId, addr: Option<Addr>) -> impl Iterator<Item = &mut Pointer> {
        let those = move |old: &&mut Borrow| old.thread == thread && addr.is_none_or(|addr| addr == old.addr);
        self.0.iter_mut().filter(those).filter_map(|borrow| borrow.pointer.as_mut())
    }

    /// A thread comes to an operation.
    pub fn performs(&mut self, thread: ThreadId) {
        for pointer in self.pointers(thread, None) {
            pointer.performed += 1;
            pointer.content = pointer.content();
        }
    }
}

/// An access of one operation.
#[track_caller]
pub(crate) fn touch(word: &Word, how: Use, at: At) {
    let request = match how {
        Use::Reads => Request::load(),
        Use::Writes => Request::store(0),
    };
    word.must_be_of_this_run(at);
    word.access(Order::Plain, request, at);
}

/// An access through a pointer whose own has begun before.
#[track_caller]
pub(crate) fn touch_again(word: &Word, how: Use, at: At) {
    touch(word, how, at);
    if let Some(thread) = runtime::current() {
        runtime::shared(|shared| {
            let addr = word.known(shared);
            shared.borrows.pointers(thread, addr).filter(|_| addr.is_some()).for_each(|pointer| pointer.performed = 0);
        });
    }
}

/// An access begins that lasts as long as a pointer lives.
#[track_caller]
pub(crate) fn begin_pointer(word: &Word, how: Use, at: At, pointer: Pointer) {
    runtime::count_operations();
    begin_any(word, how, at, Some(pointer));
}

/// An access begins.
#[track_caller]
pub(crate) fn begin(word: &Word, how: Use, at: At) {
    begin_any(word, how, at, None);
}

#[track_caller]
fn begin_any(word: &Word, how: Use, at: At, pointer: Option<Pointer>) {
    touch(word, how, at);
    let Some(thread) = runtime::current().filter(|_| !std::thread::panicking()) else { return };
    let overlaps = runtime::shared(|shared| {
        let addr = word.known(shared)?;
        let since = runtime::turns() + shared.repeated;
        shared.borrows.begin(Borrow { addr, thread, how, at, since, pointer }).map(|other| (addr, other))
    });
    if let Some((addr, other)) = overlaps {
        overlap(addr, thread, how, at, &other);
    }
}

/// It ends. `place` is where the cell is, if it is still there.
#[track_caller]
pub(crate) fn end(word: &Word, how: Use, place: usize) {
    let Some(thread) = runtime::current() else { return };
    let ended = runtime::look_up(|shared| {
        let addr = word.known(shared)?;
        let now = runtime::turns() + shared.repeated;
        let borrow = shared.borrows.end(addr, thread, how).filter(|borrow| borrow.since != now)?;
        // Who frees a cell during an access does not use the pointer after that.
        let freed = shared.blocks.is_freed(place);
        let is_used = borrow.pointer.is_none_or(|pointer| pointer.may_have_been_used());
        // Nobody can race with a thread that is alone.
        let alone = thread == main_thread() && shared.unjoined == 0;
        shared.left_out.pointers |= !freed && !is_used && !alone;
        (!freed && is_used).then_some(borrow)
    });
    // After a panic nothing is done with the pointer any more.
    if let Some(borrow) = ended.filter(|_| !std::thread::panicking()) {
        touch(word, how, borrow.at);
    }
}

#[cold]
fn overlap(addr: Addr, thread: ThreadId, how: Use, at: At, other: &Borrow) -> ! {
    let verb = |how| if how == Use::Reads { "read" } else { "written" };
    let (name, by) = (crate::report::name(thread), crate::report::name(other.thread));
    let object = crate::report::object(addr);
    let message = format!(
        "{object} is {} by {name} while an access of {by} has not ended: it lasts until its closure returns or its pointer is \
         dropped",
        verb(how)
    );
    let places = vec![
        (runtime::span(at), format!("{} here by {name}", verb(how))),
        (runtime::span(other.at), format!("being {} by {by} since here", verb(other.how))),
    ];
    let violation = Violation { kind: ViolationKind::DataRace, message, places };
    runtime::stop_with(Yielded::Stop(Box::new(Stop::Violation(Box::new(violation)))))
}

/// An access that ends when this is dropped.
#[derive(Debug)]
pub(crate) struct During<'a> {
    word: &'a Word,
    how: Use,
}

impl<'a> During<'a> {
    /// It begins.
    #[track_caller]
    pub fn begin(word: &'a Word, how: Use, at: At) -> During<'a> {
        begin(word, how, at);
        During { word, how }
    }
}

impl Drop for During<'_> {
    fn drop(&mut self) {
        end(self.word, self.how, std::ptr::from_ref(self.word).addr());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_ir::EntityRef;
    use std::panic::Location;

    #[test]
    fn reads_overlap_with_reads_only() {
        let (at, thread) = (Location::caller(), ThreadId::new(0));
        let borrow = |addr, how| Borrow { addr: Addr(addr), thread, how, at, since: 0, pointer: None };
        let mut borrows = Borrows::default();
        assert!(borrows.begin(borrow(8, Use::Reads)).is_none());
        assert!(borrows.begin(borrow(8, Use::Reads)).is_none());
        assert!(borrows.begin(borrow(16, Use::Writes)).is_none(), "it is another cell");
        assert!(borrows.begin(borrow(16, Use::Reads)).is_some());
        assert!(borrows.begin(borrow(8, Use::Writes)).is_some());
        assert!(borrows.end(Addr(8), thread, Use::Writes).is_some());
        assert!(borrows.end(Addr(8), thread, Use::Writes).is_none());
        assert_eq!(borrows.len(), 4);
    }
}

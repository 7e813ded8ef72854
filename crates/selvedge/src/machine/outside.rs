//! What a thread could change outside of the model while it is tried out: counts of references, above all.
//!
//! A thread that is put back to where it was (`snapshot.rs`) does once more what it has done since. Within the model that makes
//! no difference, since memory is put back too. But the closure of a model may have captured an `Arc` of `std`, of which
//! threads have clones: to collect outcomes, say. If a thread drops its clone while it is tried out, and once more after it was
//! put back, then somebody else's reference has been dropped, and the value is freed while it is in use.
//!
//! Nobody can forbid such a clone, and memory from outside of the model cannot be put back: who knows what else has been made of
//! it. But whoever owns a reference has a pointer, on its stack or in memory of the model. So what such pointers point to outside
//! of the model is looked at before a thread is tried out, and after that: the words before and behind the place, where `Arc`,
//! `Rc` and locks have their counts. If one of them has become less, the thread is not put back. It is abandoned like others, and
//! everything is run again: then what was dropped belonged to the run that is over. (That a count has become more is a
//! reference that is never dropped.)
//!
//! What looks like a pointer may be none. So this memory is not read by the thread that asks, but by the system, which says
//! whether there is any. Where the system cannot be asked, everything is run again. Or it is left over from the library's own work:
//! then all is run again for no reason, if a number there happens to become less.

// Memory that may not be there is read by a system call.
#![allow(unsafe_code)]

use super::situation::Span;
use crate::content;
use crate::runtime;
use crate::shared::Shared;
use crate::virtual_address::may_be_virtual;
use std::ops::Range;

/// More pointers are not looked at.
const MOST: usize = 256;
/// How many words are looked at, and how many bytes of them are before the place: `Arc::into_raw` points behind the counts.
const WORDS: usize = 4;
const BEFORE: usize = 16;
/// Counts are less.
const LARGEST: u64 = 1 << 32;

/// Variables of the operating system's thread are not farther away from each other.
const VARIABLES: usize = 1 << 15;
/// Nor are the frames of those who have called the engine.
const CALLERS: usize = 1 << 18;

/// What was where pointers point to outside of the model.
#[derive(Default)]
pub(super) struct Outside {
    places: Vec<usize>,
    contents: Vec<[u64; WORDS]>,
    /// Whether that cannot be looked at.
    is_unknown: bool,
}

impl Outside {
    /// Keeps what is where words point to: those of a thread's stack, and those of all blocks of the model.
    pub fn keep(&mut self, shared: &Shared, stack: &[u64], own: Own) {
        self.places.clear();
        let known = Known::new(own, shared);
        for &word in stack {
            self.see(word, shared, &known);
        }
        for n in 0..shared.blocks.all().len() {
            let (_, bytes) = shared.blocks.nth(n);
            for word in bytes.as_chunks::<8>().0 {
                self.see(u64::from_ne_bytes(*word), shared, &known);
            }
        }
        if shared.copies.len() > 0 {
            for word in shared.copies.words() {
                self.see(word, shared, &known);
            }
        }
        self.is_unknown = self.places.len() > MOST || !read(&mut self.places, &mut self.contents);
    }

    /// Whether nothing has become less.
    pub fn is_no_less(&self) -> bool {
        if self.is_unknown || self.places.is_empty() {
            return !self.is_unknown;
        }
        let (mut places, mut now) = (self.places.clone(), Vec::new());
        if !read(&mut places, &mut now) || places != self.places {
            return false;
        }
        let is_less = |(old, new): (&u64, &u64)| new < old && *old < LARGEST;
        !self.contents.iter().flatten().zip(now.iter().flatten()).any(is_less)
    }

    #[inline(always)]
    fn see(&mut self, word: u64, shared: &Shared, known: &Known) {
        // What owns something points to words, and memory is given out above the program.
        let may_point = word.is_multiple_of(8) && (known.lowest..1 << 47).contains(&word);
        if may_point && !known.stack.contains(word) {
            self.see_pointer(word, shared, known);
        }
    }

    #[inline(never)]
    fn see_pointer(&mut self, word: u64, shared: &Shared, known: &Known) {
        let at = word as usize;
        let is_inside = known.blocks.contains(word) && shared.blocks.find(at).is_some()
            || known.rest.iter().any(|span| span.contains(word))
            || shared.places.on_stack(at).is_some()
            || may_be_virtual(word)
            || shared.recognise(word).is_some()
            || content::is_static(at);
        if !is_inside && self.places.len() <= MOST && !self.places.contains(&at) {
            self.places.push(at);
        }
    }
}

/// Memory that is known to be none of that.
pub(super) struct Own {
    /// The stack of the thread, and that of the engine.
    pub stack: Range<usize>,
    pub engine: Range<usize>,
    /// Where the machine has its coroutines.
    pub coroutines: Range<usize>,
}

/// Where words point to, most often first.
struct Known {
    /// Where the program ends.
    lowest: u64,
    stack: Span,
    /// Where blocks of the model may be.
    blocks: Span,
    /// What the library works with.
    rest: [Span; 4],
}

impl Known {
    fn new(own: Own, shared: &Shared) -> Known {
        let start = std::ptr::from_ref(shared).addr();
        let variables = runtime::variables();
        Known {
            lowest: content::end_of_program() as u64,
            stack: own.stack.into(),
            blocks: shared.blocks.bounds().into(),
            rest: [
                (own.engine.start..own.engine.end + CALLERS).into(),
                own.coroutines.into(),
                (start..start + size_of::<Shared>()).into(),
                (variables.saturating_sub(VARIABLES)..variables + VARIABLES).into(),
            ],
        }
    }
}

/// Reads what is around places, and forgets places where there is no memory. Whether the system could be asked.
#[cfg(target_os = "linux")]
fn read(places: &mut Vec<usize>, contents: &mut Vec<[u64; WORDS]>) -> bool {
    const SIZE: usize = 8 * WORDS;
    contents.clear();
    contents.resize(places.len(), [0; WORDS]);
    let mut done = 0;
    while done < places.len() {
        let from = |&at: &usize| libc::iovec { iov_base: (at - BEFORE) as *mut libc::c_void, iov_len: SIZE };
        let from: Vec<libc::iovec> = places[done..].iter().map(from).collect();
        let into = libc::iovec { iov_base: (&raw mut contents[done]).cast(), iov_len: SIZE * from.len() };
        // SAFETY: the system writes no more than that to what belongs to this function. It reads whatever is there, or says that
        // there is nothing.
        let size = unsafe {
            libc::process_vm_readv(libc::getpid(), &raw const into, 1, from.as_ptr(), from.len() as libc::c_ulong, 0)
        };
        let fails = std::io::Error::last_os_error().raw_os_error();
        let Ok(size) = usize::try_from(size) else {
            if fails != Some(libc::EFAULT) {
                return false;
            }
            places.remove(done);
            contents.remove(done);
            continue;
        };
        done += size / SIZE;
        if done < places.len() {
            places.remove(done);
            contents.remove(done);
        }
    }
    true
}

/// The same where there is no such system.
#[cfg(not(target_os = "linux"))]
fn read(places: &mut Vec<usize>, _contents: &mut Vec<[u64; WORDS]>) -> bool {
    places.is_empty()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_not_looked_at() {
        let (one, other) = (Box::new([1u64; 32]), Box::new([2u64; 32]));
        let at = |words: &[u64; 32]| std::ptr::from_ref(&words[2]).addr();
        let mut places = vec![1 << 16, at(&one), 1 << 46, at(&other), 1 << 20];
        let mut contents = Vec::new();
        assert!(read(&mut places, &mut contents));
        assert_eq!(places, [at(&one), at(&other)]);
        assert_eq!(contents, [[1; WORDS], [2; WORDS]]);
    }

    #[test]
    fn a_count_that_has_changed_is_noticed() {
        let counted = std::sync::Arc::new(5u64);
        let other = std::sync::Arc::clone(&counted);
        // Who has a reference points to the counts; `as_ptr` points behind them.
        let places = vec![std::sync::Arc::as_ptr(&counted).addr()];
        let mut outside = Outside { places, ..Outside::default() };
        assert!(read(&mut outside.places, &mut outside.contents));
        assert!(outside.is_no_less());
        drop(other);
        assert!(!outside.is_no_less());
    }
}

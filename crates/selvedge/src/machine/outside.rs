//! What a thread could change outside of the model while it is tried out: counts of references, above all.
//!
//! A thread that is put back to where it was (`snapshot.rs`) does once more what it has done since. Within the model that makes
//! no difference, since memory is put back too. But the closure of a model may have captured an `Arc` of `std`, of which
//! threads have clones: to collect outcomes, say. If a thread drops its clone while it is tried out, and once more after it was
//! put back, then somebody else's reference has been dropped, and the value is freed while it is in use.
//!
//! Nobody can forbid such a clone, and memory from outside of the model cannot be put back: who knows what else has been made of
//! it. But whoever owns a reference has a pointer, on its stack or in memory of the model. So what such pointers point to outside
//! of the model is looked at before a thread is tried out, and after that: all of the block that starts there, as far as the
//! allocator's own notes before and behind it tell (`outside/notes.rs`); or else the words around the place, since some pointers
//! point behind the counts. If some number there has become less, the thread is not put back. It is abandoned like others, and
//! everything is run again: then what was dropped belonged to the run that is over. (That a count has become more is a
//! reference that is never dropped.) It is not put back either if something else has changed there, and memory of the model as
//! well: a vector outside of the model may have its elements in memory that the model has allocated, and its length elsewhere.
//!
//! The closure of the model lives as long as the model does, so it is looked at as a whole: nearly every thread has a pointer to
//! it, and few have others.
//!
//! What else looks like a pointer may be none. So this memory is not read by the thread that asks, but by the system, which says
//! whether there is any. That takes longer than all else here, so what is in a block is asked for together with its size if
//! that was known before. Where the system cannot be asked, everything is run again. Or it is left over from the library's own
//! work, or belongs to another thread of the operating system: then all is run again for no reason, if a number there happens to
//! become less.

// Memory that may not be there is read by a system call, and what a closure has captured word by word.
#![allow(unsafe_code)]

use super::situation::Span;
use crate::blocks::Blocks;
use crate::content;
use crate::coroutine::Pool;
use crate::machine::Body;
use crate::runtime;
use crate::shared::Shared;
use crate::virtual_address::may_be_virtual;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

mod notes;

use notes::{BEFORE, LARGEST_BLOCK, LEAST};

/// More pointers are not looked at.
const MOST: usize = 256;
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
    /// The parts of memory around them, and what was there, one after the other.
    parts: Vec<Part>,
    contents: Vec<u64>,
    /// What was in the model's closure.
    captured: Vec<u64>,
    /// Words that have been seen: most are seen more than once.
    seen: Seen,
    /// Whether that cannot be looked at.
    is_unknown: bool,
}

/// What has become of what was kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Now {
    Same,
    /// Something has changed, but no number has become less.
    Changed,
    /// Some number has, or nobody can tell.
    Less,
}

/// A part of memory: where it starts, and its size in words.
type Part = (usize, usize);

impl Outside {
    /// Keeps what is where words point to: those of stacks, and those of all blocks of the model.
    pub fn keep<'a>(&mut self, shared: &Shared, stacks: impl Iterator<Item = &'a [u64]>, own: Own<'_>) {
        self.places.clear();
        self.seen.clear();
        self.captured.clear();
        self.captured.extend(captured(own.closure));
        let known = Known::new(own, shared);
        for stack in stacks {
            // Most of a stack are zeros and small numbers.
            let (rest, parts) = stack.as_rchunks::<8>();
            self.see(rest.iter().copied(), shared, &known);
            for words in parts {
                if words.iter().fold(0, |all, word| all | word) >= known.memory.first() {
                    self.see(words.iter().copied(), shared, &known);
                }
            }
        }
        for n in 0..shared.blocks.all().len() {
            let (_, bytes) = shared.blocks.nth(n);
            self.see(bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)), shared, &known);
        }
        if shared.copies.len() > 0 {
            self.see(shared.copies.words().into_iter(), shared, &known);
        }
        self.is_unknown = self.places.len() > MOST || !self.keep_contents();
    }

    /// Keeps what is there; whether the system could be asked.
    fn keep_contents(&mut self) -> bool {
        if self.keep_as_large_as_before() {
            return true;
        }
        self.parts.clear();
        self.parts.extend(self.places.iter().map(|at| (at - BEFORE, (BEFORE + LEAST) / 8)));
        if !read(&mut self.parts, &mut self.contents) {
            return false;
        }
        let sizes: Vec<usize> = self.sizes().collect();
        if self.parts.iter().zip(&sizes).all(|(part, size)| part.1 == *size) {
            return true;
        }
        let around = self.parts.clone();
        self.parts.iter_mut().zip(sizes).for_each(|(part, size)| part.1 = size);
        if !read(&mut self.parts, &mut self.contents) {
            return false;
        }
        // What looks like a note of the allocator is none if there is no such block: only what is around it counts then.
        self.parts.len() == around.len() || {
            self.parts = around;
            read(&mut self.parts, &mut self.contents)
        }
    }

    /// The same if all is there and as large as when it was last kept: whether it is.
    fn keep_as_large_as_before(&mut self) -> bool {
        let is_same = |(part, at): (&Part, &usize)| part.0 == at - BEFORE;
        let are_same = self.parts.len() == self.places.len() && self.parts.iter().zip(&self.places).all(is_same);
        are_same
            && read(&mut self.parts, &mut self.contents)
            && self.parts.len() == self.places.len()
            && self.parts.iter().zip(self.sizes()).all(|(part, size)| part.1 == size)
    }

    /// How many words there are to be read of each part.
    fn sizes(&self) -> impl Iterator<Item = usize> {
        contents_of(&self.parts, &self.contents).map(notes::words)
    }

    /// What has become of it. The closure is the one that it was kept with.
    pub fn now(&self, closure: &Body) -> Now {
        #[cfg(test)]
        if crate::disturbed::is_now() {
            return Now::Less;
        }
        if self.is_unknown {
            return Now::Less;
        }
        let within = compare(&self.captured, captured(closure));
        if self.parts.is_empty() || within == Now::Less {
            return within;
        }
        let (mut parts, mut now) = (self.parts.clone(), Vec::new());
        if !read(&mut parts, &mut now) || parts != self.parts {
            return Now::Less;
        }
        let pairs = contents_of(&parts, &self.contents).zip(contents_of(&parts, &now));
        let became = |(old, new): (&[u64], &[u64])| {
            let owned = notes::owned(old);
            compare(&old[owned.clone()], new[owned].iter().copied())
        };
        pairs.map(became).fold(within, Now::max)
    }

    /// Sees words, most of which are no pointers.
    #[inline]
    fn see(&mut self, words: impl Iterator<Item = u64>, shared: &Shared, known: &Known<'_>) {
        // Copied, so that they stay in registers.
        let (memory, stack) = (known.memory, known.stack);
        for word in words {
            // What owns something points to words.
            if memory.contains(word) && word.is_multiple_of(8) && !stack.contains(word) && !self.seen.has(word) {
                self.see_pointer(word, shared, known);
            }
        }
    }

    #[inline(never)]
    fn see_pointer(&mut self, word: u64, shared: &Shared, known: &Known<'_>) {
        let at = word as usize;
        let is_inside = known.closure.contains(word)
            || known.stacks.contains(word) && shared.places.on_stack(at).is_some()
            || known.blocks.contains(word) && shared.blocks.find(at).is_some()
            || known.copies.contains(word) && shared.places.copy_at(at).is_some()
            || known.unused.contains(word) && known.pool.is_unused(at)
            || known.rest.iter().any(|span| span.contains(word))
            || may_be_virtual(word)
            || shared.recognise(word).is_some()
            || content::is_static(at);
        if !is_inside && self.places.len() <= MOST && !self.places.contains(&at) {
            self.places.push(at);
        }
    }
}

/// What is in each of some parts.
fn contents_of<'a>(parts: &'a [Part], contents: &'a [u64]) -> impl Iterator<Item = &'a [u64]> {
    let mut rest = contents;
    parts.iter().map(move |&(_, words)| {
        let (part, others) = rest.split_at(words);
        rest = others;
        part
    })
}

/// What has become of words.
fn compare(before: &[u64], now: impl Iterator<Item = u64>) -> Now {
    let less = |(&old, new): (&u64, u64)| match new {
        _ if new == old => Now::Same,
        _ if new < old && old < LARGEST => Now::Less,
        _ => Now::Changed,
    };
    before.iter().zip(now).map(less).max().unwrap_or(Now::Same)
}

/// Some of the words that were seen. To look one up takes a fraction of what it takes to tell where it points to.
#[derive(Default)]
struct Seen(Vec<u64>);

impl Seen {
    /// A power of two.
    const SIZE: usize = 64;

    fn clear(&mut self) {
        self.0.clear();
        self.0.resize(Seen::SIZE, 0);
    }

    /// Whether a word that is not zero was seen. From now on it is.
    #[inline]
    fn has(&mut self, word: u64) -> bool {
        let place = (word >> 3 ^ word >> 9) as usize % Seen::SIZE;
        std::mem::replace(&mut self.0[place], word) == word
    }
}

/// What a model's closure has captured, word by word. If that is much, the rest is looked at like all else: if something points
/// to it.
fn captured(closure: &Body) -> impl Iterator<Item = u64> {
    let start = Arc::as_ptr(closure).cast::<u8>();
    // An `Arc` is aligned like the counts in it, so there is room for whole words.
    let words = size_of_val(&**closure).div_ceil(8).min(LARGEST_BLOCK / 8);
    (0..words).map(move |n| {
        let word = start.wrapping_add(8 * n).cast::<AtomicU64>();
        // SAFETY: it is a word of the closure, which lives as long as it is borrowed. Whoever changes what is in it meanwhile, on
        // another thread of the operating system, does so through a cell.
        unsafe { (*word).load(Relaxed) }
    })
}

/// Memory that is known to be none of that.
pub(super) struct Own<'a> {
    /// The closure of the model.
    pub closure: &'a Body,
    /// The stack of the thread, and that of the engine.
    pub stack: Range<usize>,
    pub engine: Range<usize>,
    /// Stacks that nobody uses.
    pub pool: &'a Pool,
    /// Where the machine has its coroutines, and notes which of them runs.
    pub coroutines: Range<usize>,
    pub beat: Range<usize>,
}

/// Where words point to, most often first.
struct Known<'a> {
    /// Where memory is given out: above the program.
    memory: Span,
    stack: Span,
    /// Where other stacks may be.
    stacks: Span,
    closure: Span,
    /// Where blocks of the model may be.
    blocks: Span,
    /// Where copies of what is in statics may be: they are put back, too.
    copies: Span,
    /// Where stacks may be that nobody uses, and these.
    unused: Span,
    pool: &'a Pool,
    /// What the library works with.
    rest: [Span; 6],
}

impl<'a> Known<'a> {
    fn new(own: Own<'a>, shared: &Shared) -> Known<'a> {
        let closure = Arc::as_ptr(own.closure).cast::<u8>().addr();
        let captured = 8 * captured(own.closure).count();
        let start = std::ptr::from_ref(shared).addr();
        let blocks = std::ptr::from_ref::<Blocks>(&shared.blocks).addr();
        let variables = runtime::variables();
        let (stacks, unused) = (shared.places.stack_bounds(), own.pool.unused_bounds());
        // Above the stack there is memory of others.
        let top = runtime::end_of_stack();
        let below_top = |range: Range<usize>| if range.start < top { range.start..range.end.min(top) } else { range };
        Known {
            memory: (content::end_of_program()..1 << 47).into(),
            // With their ends: whoever looks up where something lies may leave these there, as compilers like.
            stack: (own.stack.start..own.stack.end + 1).into(),
            stacks: (stacks.start..stacks.end + 1).into(),
            // With the counts before it. It may be empty, and is pointed to all the same.
            closure: (closure - BEFORE..closure + captured.max(1)).into(),
            blocks: shared.blocks.bounds().into(),
            copies: shared.places.copy_bounds().into(),
            unused: (unused.start..unused.end + 1).into(),
            pool: own.pool,
            rest: [
                below_top(own.engine.start..own.engine.end + CALLERS).into(),
                own.coroutines.into(),
                own.beat.into(),
                (start..start + size_of::<Shared>()).into(),
                (blocks..blocks + size_of::<Blocks>()).into(),
                below_top(variables.saturating_sub(VARIABLES)..variables + VARIABLES).into(),
            ],
        }
    }
}

/// Reads parts of memory, and forgets those that are not there. Whether the system could be asked.
#[cfg(target_os = "linux")]
fn read(parts: &mut Vec<Part>, contents: &mut Vec<u64>) -> bool {
    contents.clear();
    contents.resize(parts.iter().map(|(_, words)| words).sum(), 0);
    let (mut done, mut words) = (0, 0);
    while done < parts.len() {
        let part = |&(at, words): &Part| libc::iovec { iov_base: at as *mut libc::c_void, iov_len: 8 * words };
        let from: Vec<libc::iovec> = parts[done..].iter().map(part).collect();
        let into =
            libc::iovec { iov_base: contents[words..].as_mut_ptr().cast(), iov_len: 8 * (contents.len() - words) };
        // SAFETY: the system writes no more than that to what belongs to this function. It reads whatever is there, or says that
        // there is nothing.
        let size = unsafe {
            libc::process_vm_readv(libc::getpid(), &raw const into, 1, from.as_ptr(), from.len() as libc::c_ulong, 0)
        };
        let error = std::io::Error::last_os_error().raw_os_error();
        if size < 0 && error != Some(libc::EFAULT) {
            return false;
        }
        let mut left = usize::try_from(size).unwrap_or(0) / 8;
        while let Some(&(_, part)) = parts.get(done).filter(|(_, words)| *words <= left) {
            (done, words, left) = (done + 1, words + part, left - part);
        }
        if done < parts.len() {
            contents.truncate(contents.len() - parts.remove(done).1);
        }
    }
    true
}

/// The same where there is no such system.
#[cfg(not(target_os = "linux"))]
fn read(parts: &mut Vec<Part>, contents: &mut Vec<u64>) -> bool {
    contents.clear();
    parts.is_empty()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use corosensei::stack::{DefaultStack, Stack};

    #[test]
    fn what_is_not_there_is_not_looked_at() {
        let (one, other) = ([1u64; 4], [2u64; 6]);
        let (one, other) = ((one.as_ptr().addr(), 4), (other.as_ptr().addr(), 6));
        let mut parts = vec![(1 << 16, 2), one, (1 << 46, 9), other, (1 << 20, 1)];
        let mut contents = Vec::new();
        assert!(read(&mut parts, &mut contents));
        assert_eq!(parts, [one, other]);
        assert_eq!(contents, [1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
    }

    /// Whether it is noticed that something is dropped, by who has a pointer to something.
    fn is_noticed<T>(pointer: *const T, dropped: impl FnOnce()) -> bool {
        let closure: Body = Arc::new(|| ());
        let mut outside = Outside { places: vec![pointer.addr()], ..Outside::default() };
        assert!(outside.keep_contents() && outside.now(&closure) == Now::Same);
        dropped();
        outside.now(&closure) == Now::Less
    }

    #[test]
    fn a_count_that_becomes_less_is_noticed_wherever_it_is() {
        let counted = std::sync::Arc::new(5u64);
        let other = std::sync::Arc::clone(&counted);
        // This pointer points behind the counts.
        assert!(is_noticed(std::sync::Arc::as_ptr(&counted), || drop(other)));
        let far = Box::new([7u64; 40]);
        assert!(is_noticed(std::ptr::from_ref(&*far), || {
            let last = std::ptr::from_ref(&far[39]).cast_mut();
            // SAFETY: nobody else looks at it.
            unsafe { last.write_volatile(6) }
        }));
        let (sender, _receiver) = std::sync::mpsc::channel::<u32>();
        let other = sender.clone();
        // SAFETY: a sender is a number and a pointer.
        let words = unsafe { std::mem::transmute_copy::<_, [usize; 2]>(&sender) };
        let pointer = words.into_iter().max().map_or(std::ptr::null(), std::ptr::with_exposed_provenance::<u64>);
        assert!(is_noticed(pointer, || drop(other)));
    }

    #[test]
    fn what_a_closure_has_captured_is_looked_at() {
        let count = AtomicU64::new(5);
        let closure: Body = Arc::new(move || {
            count.fetch_sub(1, Relaxed);
        });
        let outside = Outside { captured: captured(&closure).collect(), ..Outside::default() };
        assert_eq!(outside.now(&closure), Now::Same);
        closure();
        assert_eq!(outside.now(&closure), Now::Less);
    }

    #[test]
    fn what_the_library_works_with_is_not_looked_at() {
        let (closure, shared): (Body, _) = (Arc::new(|| ()), Shared::new());
        let pool = Pool::new();
        let own = || Own { closure: &closure, stack: 0..0, engine: 0..0, pool: &pool, coroutines: 0..0, beat: 0..0 };
        let blocks = std::ptr::from_ref::<Blocks>(&shared.blocks).addr() as u64;
        let mut outside = Outside::default();
        outside.keep(&shared, [&[blocks, blocks + 64][..]].into_iter(), own());
        assert_eq!(outside.places, []);
        let others = Box::new(5_u64);
        outside.keep(&shared, [&[std::ptr::from_ref(&*others).addr() as u64][..]].into_iter(), own());
        assert_eq!(outside.places, [std::ptr::from_ref(&*others).addr()]);
    }

    /// The system may have put memory of the allocator between stacks.
    #[test]
    fn what_is_between_stacks_that_nobody_uses_is_looked_at() {
        let mut stacks = [0; 3].map(|_| DefaultStack::new(1 << 16).unwrap());
        stacks.sort_by_key(|stack| stack.base());
        let [low, between, high] = stacks;
        let word = |stack: &DefaultStack| stack.base().get() as u64 - 64;
        let words = [&low, &between, &high].map(word);
        let (closure, shared, pool): (Body, _, _) = (Arc::new(|| ()), Shared::new(), Pool::with(vec![low, high]));
        let own = Own { closure: &closure, stack: 0..0, engine: 0..0, pool: &pool, coroutines: 0..0, beat: 0..0 };
        let mut outside = Outside::default();
        outside.keep(&shared, [&words[..]].into_iter(), own);
        assert_eq!(outside.places, [words[1] as usize]);
    }

    #[test]
    fn nothing_above_the_stack_is_taken_for_frames_of_callers() {
        std::thread::spawn(|| {
            let local = 0_u8;
            let (here, end) = (std::ptr::from_ref(&local).addr(), runtime::end_of_stack());
            assert!(here < end && end - here < 1 << 18, "{here:x} {end:x}");
            let (closure, shared, pool): (Body, _, _) = (Arc::new(|| ()), Shared::new(), Pool::new());
            let engine = here..here + 64;
            let own = Own { closure: &closure, stack: 0..0, engine, pool: &pool, coroutines: 0..0, beat: 0..0 };
            let mut outside = Outside::default();
            let words = [here as u64 & !7, end as u64 - 8, end as u64 + 8];
            outside.keep(&shared, [&words[..]].into_iter(), own);
            assert!(!outside.places.contains(&(words[0] as usize)) && !outside.places.contains(&(words[1] as usize)));
            assert_eq!(outside.places, [end + 8]);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_block_that_is_larger_than_before_is_looked_at_as_a_whole() {
        let memory: Vec<AtomicU64> = (0..16).map(|_| AtomicU64::new(0)).collect();
        let mut outside = Outside { places: vec![memory.as_ptr().addr() + BEFORE], ..Outside::default() };
        for size in [32, 32, 64, 48, 0] {
            // The allocator's note.
            memory[1].store(size | 1, Relaxed);
            assert!(outside.keep_contents());
            let words = if size == 0 { LEAST / 8 } else { size as usize / 8 };
            assert_eq!(outside.parts, [(memory.as_ptr().addr(), BEFORE / 8 + words)]);
            assert_eq!(outside.contents.len(), BEFORE / 8 + words);
        }
    }
}

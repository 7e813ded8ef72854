//! Coroutines on stacks that are used again and again.
//!
//! A thread of a model is a coroutine. Executions are run by the thousand per second, so nothing is mapped for an
//! execution: stacks go back to a pool.
//!
//! A run that the exploration turns away from is abandoned where it stands. Its threads are neither resumed nor
//! unwound: destructors would perform operations whose outcomes nobody has chosen, and could panic or wait forever. What
//! they own is leaked.

// Coroutines are abandoned without being unwound.
#![allow(unsafe_code)]

use crate::machine::Body;
use crate::overflow::{self, Ended, Guarded};
use crate::report;
use crate::runtime::{self, At, Here, Pending, Yielded};
use crate::watch;
use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use selvedge_ir::EntityRef;
use selvedge_machine::{Outcome, SourceSpan, ThreadId, ViolationKind};
use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

/// As much as `std` gives threads. Only what is used of a stack takes memory.
pub(crate) const STACK: usize = 2 << 20;
/// No page is larger.
pub(crate) const GUARD: usize = 1 << 16;

/// Frames of the engine below the one that resumes a thread take less than this.
const RESUMED: usize = 2048;

/// How far below an operation that a thread waits with, or below the address that it yields with, its stack is in use while
/// it is suspended: the frames of `runtime::suspend` and its callees are there, and registers that are saved.
///
/// It depends on how this library was compiled, so it is measured, on a stack on which nothing was written before. A word
/// that is saved may be zero, and copies that compilers make of functions may differ a bit: there is room for that.
pub(crate) fn suspended() -> usize {
    static MEASURED: OnceLock<usize> = OnceLock::new();
    *MEASURED.get_or_init(|| (measure() + 256).next_multiple_of(64))
}

fn measure() -> usize {
    let stack = DefaultStack::new(STACK).expect("a stack can be mapped");
    let limit = stack.limit().get() + GUARD;
    let mut coroutine: Coroutine<Outcome, Yielded, (), DefaultStack> =
        Coroutine::with_stack(stack, |yielder, _| runtime::suspend_twice(yielder));
    let mut deepest = 0;
    loop {
        let result = coroutine.resume(0);
        runtime::set_here(None);
        let low = match result {
            CoroutineResult::Yield(Yielded::Op(pending)) => pending.addr(),
            CoroutineResult::Yield(Yielded::Yields { low, .. }) => low,
            CoroutineResult::Yield(_) | CoroutineResult::Return(()) => return deepest,
        };
        // SAFETY: these are words of the coroutine's stack, which is mapped; nobody runs on it.
        let word = |at: &usize| unsafe { std::ptr::with_exposed_provenance::<u64>(*at).read_volatile() };
        let used = (limit.max(low.saturating_sub(1 << 15)) & !7..low & !7).step_by(8).find(|at| word(at) != 0);
        deepest = deepest.max(used.map_or(0, |at| low - at));
    }
}

type Thread = Coroutine<Outcome, Yielded, Ended, DefaultStack>;

/// A thread that runs.
pub(crate) struct Strand {
    /// No other one of its pool has this number.
    number: u64,
    coroutine: Option<Thread>,
    here: Here,
    /// Where its stack must not be touched any more.
    guarded: Guarded,
    /// The operation that it waits with, on its stack; null if there is none.
    pending: *const Pending,
    /// An address on its stack below all frames of the model's code, while it is suspended; 0 if it is not.
    low: usize,
    /// The ends of its stack.
    limit: usize,
    base: usize,
}

/// A suspended thread as it was: it can be put back to where it stood.
pub(crate) struct SavedStrand {
    number: u64,
    /// The bytes of the coroutine, which say where on its stack it stands. It is never used from here.
    coroutine: MaybeUninit<Thread>,
    pending: *const Pending,
    /// The highest words of its stack: all that are in use, and those that a new stack has cleared.
    words: Vec<u64>,
}

impl Default for SavedStrand {
    fn default() -> SavedStrand {
        SavedStrand { number: 0, coroutine: MaybeUninit::uninit(), pending: std::ptr::null(), words: Vec::new() }
    }
}

impl Strand {
    /// Keeps a thread that waits with an operation as it is.
    pub fn save(&self, pool: &Pool, saved: &mut SavedStrand) {
        let Some(coroutine) = self.coroutine.as_ref().filter(|_| self.pending().is_some()) else {
            saved.number = 0;
            return;
        };
        // What is below the operation is measured; all that is in use has to be there.
        let in_use = self.base - self.low() + 2 * suspended();
        let from = (self.base - in_use.max(pool.clears)).max(self.limit) & !7;
        saved.words.clear();
        // SAFETY: these are words of the coroutine's stack, which is mapped; nobody runs on it.
        saved.words.extend_from_slice(unsafe {
            std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u64>(from), (self.base - from) / 8)
        });
        (saved.number, saved.pending) = (self.number, self.pending);
        // SAFETY: bytes are copied. They are used only to be written back over the same coroutine.
        unsafe { std::ptr::copy_nonoverlapping(coroutine, saved.coroutine.as_mut_ptr(), 1) };
    }

    /// Puts a thread back that has gone on since, or ended; whether it is the same one.
    ///
    /// What it owns again it must not have given back: see [`Snapshot`](crate::machine::snapshot::Snapshot).
    pub fn put_back(&mut self, saved: &SavedStrand) -> bool {
        let Some(coroutine) = self.coroutine.as_mut().filter(|_| saved.number == self.number) else { return false };
        let from = self.base - 8 * saved.words.len();
        // SAFETY: the stack is that of the same coroutine, since it was never taken back: these words are part of it, nobody
        // runs on it, and references into it are used by frames only that are put back together with it. The coroutine is
        // plain data about this stack, and is overwritten with what it was; nothing is dropped.
        unsafe {
            let stack = std::ptr::with_exposed_provenance_mut::<u64>(from);
            std::ptr::copy_nonoverlapping(saved.words.as_ptr(), stack, saved.words.len());
            std::ptr::copy_nonoverlapping(saved.coroutine.as_ptr(), coroutine, 1);
        }
        (self.pending, self.low) = (saved.pending, saved.pending.addr());
        true
    }

    /// Puts words back on the stack of a suspended thread that has not moved: those of [`Strand::at_rest`].
    pub fn put_words_back(&mut self, words: &[u64]) {
        let stack = self.at_rest();
        debug_assert_eq!(stack.len(), words.len(), "the thread has not moved");
        let stack = stack.as_ptr().addr();
        // SAFETY: as in `words`; a thread has written there before, through a pointer that it was given.
        unsafe {
            let stack = std::ptr::with_exposed_provenance_mut::<u64>(stack);
            std::ptr::copy_nonoverlapping(words.as_ptr(), stack, words.len());
        }
    }

    /// Calls a function for every word of the stack that differs from when the thread was saved, with its depth, but for where
    /// the thread was resumed from.
    pub fn differences(&self, saved: &SavedStrand, engine: &Range<usize>, mut differs: impl FnMut(usize, u64)) {
        let (now, before) = (self.words(self.low()), &saved.words);
        let common = now.len().min(before.len());
        let (deeper, now) = now.split_at(now.len() - common);
        let before = &before[before.len() - common..];
        let mut changed = |depth: usize, word: u64| {
            if !engine.contains(&(word as usize)) {
                differs(depth, word);
            }
        };
        // Most of it is the same.
        for (n, (new, old)) in now.rchunks(64).zip(before.rchunks(64)).enumerate().filter(|(_, (new, old))| new != old)
        {
            for (m, (&new, _)) in new.iter().zip(old).rev().enumerate().filter(|(_, (new, old))| new != old) {
                changed(64 * n + m, new);
            }
        }
        for (m, &word) in deeper.iter().rev().enumerate() {
            changed(common + m, word);
        }
    }

    /// The ends of its stack.
    pub fn stack(&self) -> (usize, usize) {
        (self.limit, self.base)
    }

    /// The operation that it waits with.
    #[inline]
    pub fn pending(&self) -> Option<&Pending> {
        // SAFETY: the coroutine has suspended itself with it, and stays in the frame that it is in as long as it is not
        // resumed; then, and when its stack is taken back, this is null.
        unsafe { self.pending.as_ref() }
    }

    /// Whether it has come to its end.
    pub fn has_ended(&self) -> bool {
        self.coroutine.is_none()
    }

    /// An address on its stack below all frames of the model's code, while it waits with an operation.
    pub fn low(&self) -> usize {
        self.pending.addr()
    }

    /// Its stack while it is suspended, whatever it waits for; nothing if it is not. Bytes of it that nobody has written may
    /// be left over from other runs.
    pub fn at_rest(&self) -> &[u64] {
        if self.low == 0 { &[] } else { self.words(self.low) }
    }

    /// The stack of a suspended thread, from a bit below an address to its end.
    fn words(&self, low: usize) -> &[u64] {
        let from = low.saturating_sub(suspended()).max(self.limit) & !7;
        let stack = std::ptr::with_exposed_provenance::<u64>(from);
        // SAFETY: these are words of the coroutine's stack, which is mapped and has no references into it that are used
        // while it is suspended; it is not resumed while this is borrowed. Words that nobody has written are zero: the stack
        // was cleared before.
        unsafe { std::slice::from_raw_parts(stack, (self.base - from) / 8) }
    }

    /// The contents of the stack of a suspended thread, from a bit below an address to its end.
    ///
    /// Where the thread was resumed from is part of it, on the stack of the engine: such pointers are left out.
    pub fn image(&self, low: usize, engine: &Range<usize>) -> Vec<u64> {
        let mut words = self.words(low).to_vec();
        let size = engine.end.saturating_sub(engine.start) as u64;
        for word in &mut words {
            *word = if word.wrapping_sub(engine.start as u64) < size { 0 } else { *word };
        }
        words
    }

    /// The same while it is suspended, whatever it waits for.
    pub fn image_at_rest(&self, engine: &Range<usize>) -> Option<Vec<u64>> {
        (self.low != 0).then(|| self.image(self.low, engine))
    }

    /// The same with all pointers.
    pub fn copy_to(&self, low: usize, copy: &mut Vec<u64>) {
        copy.clear();
        copy.extend_from_slice(self.words(low));
    }

    /// Whether the stack is as it was when it was copied, but for where the thread was resumed from.
    pub fn is_as_before(&self, low: usize, before: &[u64], engine: &Range<usize>) -> bool {
        let now = self.words(low);
        let is_link = |word: u64| engine.contains(&(word as usize));
        let same = |old: &[u64], new: &[u64]| {
            old == new || old.iter().zip(new).all(|(&old, &new)| old == new || is_link(old) && is_link(new))
        };
        before.len() == now.len() && before.chunks(32).zip(now.chunks(32)).all(|(old, new)| same(old, new))
    }

    /// How much of the stack an image from there takes.
    pub fn depth(&self, low: usize) -> usize {
        self.base - low.saturating_sub(suspended()).max(self.limit)
    }

    /// Clears that much of the stack of a thread that has not started.
    fn clear(stack: &mut DefaultStack, size: usize) {
        let size = size.min(STACK - GUARD);
        // SAFETY: the stack belongs to nobody else, and its highest bytes are mapped and writable.
        unsafe { std::ptr::write_bytes((stack.base().get() - size) as *mut u8, 0, size) };
    }
}

/// Clears registers that a thread finds when it starts: it saves them on its stack, and what is left over in them from the
/// engine would tell states apart, or be taken for a pointer that the thread has.
#[inline(always)]
fn clear_registers() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the compiler is told that these registers have changed.
    unsafe {
        std::arch::asm!(
            "xor r12d, r12d",
            "xor r13d, r13d",
            "xor r14d, r14d",
            "xor r15d, r15d",
            out("r12") _, out("r13") _, out("r14") _, out("r15") _,
            options(nomem, nostack),
        );
    }
}

/// Where a thread has come to.
pub(crate) enum Came {
    /// It has come to an operation: [`Strand::pending`].
    Op,
    /// It has suspended itself for another reason.
    To(Yielded),
    /// It has ended.
    End,
    /// It has panicked.
    Panic(Box<(String, SourceSpan)>),
}

thread_local! {
    /// Stacks that models which have ended have left.
    static LEFT: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// As many are kept.
const KEPT: usize = 64;

/// Stacks that are not in use.
pub(crate) struct Pool {
    stacks: Vec<DefaultStack>,
    /// How much of a stack is cleared before it is used again, so that nothing is left over from other runs.
    clears: usize,
    /// Where the engine's frames were at the lowest when a thread was resumed.
    engine: usize,
    /// How many threads were made.
    made: u64,
    /// Whether the stack of a thread that ends is kept, since it will be put back.
    pub keeps: bool,
    /// For who looks whether threads run on and on.
    beat: Arc<watch::Beat>,
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut stacks = std::mem::take(&mut self.stacks);
        stacks.truncate(KEPT);
        // When the variables of the operating system's thread are gone, so are the stacks.
        let _ = LEFT.try_with(|left| left.borrow_mut().append(&mut stacks));
    }
}

impl Pool {
    /// From the lowest to the highest address of stacks that nobody uses at present. There may be something else between them.
    pub fn unused_bounds(&self) -> Range<usize> {
        let start = self.stacks.iter().map(|stack| stack.limit().get()).min();
        start.unwrap_or(0)..self.stacks.iter().map(|stack| stack.base().get()).max().unwrap_or(0)
    }

    /// One with these.
    #[cfg(test)]
    pub fn with(stacks: Vec<DefaultStack>) -> Pool {
        let mut pool = Pool::new();
        pool.stacks = stacks;
        pool
    }

    /// Whether an address is on such a stack, or at its end.
    pub fn is_unused(&self, at: usize) -> bool {
        self.stacks.iter().any(|stack| (stack.limit().get()..=stack.base().get()).contains(&at))
    }

    /// The stacks that models before this one have left.
    pub fn new() -> Pool {
        overflow::install();
        runtime::frames_are_deep(suspended() > 1024);
        Pool { stacks: LEFT.take(), clears: 0, engine: 0, made: 0, keeps: false, beat: watch::beat() }
    }

    /// The first thread of a model. The closure must live until the thread is abandoned.
    ///
    /// It has no reference of its own to the closure: to try out what comes of it at its end, again and again
    /// (`machine/snapshot.rs`), would be to drop that each time.
    pub fn first_strand(&mut self, thread: ThreadId, body: &Body) -> Strand {
        let body = Arc::as_ptr(body);
        // SAFETY: the machine abandons its threads before it drops the closure.
        self.strand(thread, move || unsafe { (*body)() })
    }

    /// A thread that is about to start.
    pub fn strand(&mut self, thread: ThreadId, body: impl FnOnce() + 'static) -> Strand {
        let mut stack = self.stacks.pop().unwrap_or_else(|| DefaultStack::new(STACK).expect("a stack can be mapped"));
        if self.clears > 0 {
            Strand::clear(&mut stack, self.clears);
        }
        // As a whole word: this is moved to the stack, which is compared, and bytes between would be left over from others.
        let number = thread.index();
        let run = move |yielder: &Yielder<Outcome, Yielded>, _| {
            runtime::set_here(Some(Here { thread: ThreadId::new(number), yielder }));
            let all = move || {
                runtime::must_track();
                body();
                crate::thread_local::thread_ends();
                runtime::perform_frees();
            };
            match catch_unwind(AssertUnwindSafe(all)) {
                Ok(()) => Ended::Well,
                Err(payload) => {
                    runtime::note_payload(payload);
                    Ended::Panicked
                }
            }
        };
        let here = Here { thread, yielder: std::ptr::null() };
        let pending = std::ptr::null();
        // The lowest page is there to catch what overflows.
        let (guard, base) = (stack.limit().get(), stack.base().get());
        let coroutine = Coroutine::with_stack(stack, run);
        let guarded = Guarded { handler: coroutine.trap_handler(), limit: guard };
        self.made += 1;
        Strand {
            number: self.made,
            coroutine: Some(coroutine),
            here,
            guarded,
            pending,
            low: 0,
            limit: guard + GUARD,
            base,
        }
    }

    /// From now on, this much of every stack is cleared before use.
    pub fn clear(&mut self, size: usize) {
        self.clears = self.clears.max(size);
    }

    /// Where it is noted which thread runs, with the counts of references before that. Who goes on may be left with a pointer to it
    /// in a register.
    pub fn beat(&self) -> Range<usize> {
        let start = Arc::as_ptr(&self.beat).addr();
        start - 2 * size_of::<usize>()..start + size_of::<watch::Beat>()
    }

    /// The part of the stack of the engine's own thread in which threads are resumed, if it starts here.
    pub fn engine(&self, top: usize) -> Range<usize> {
        self.engine.saturating_sub(RESUMED)..top
    }

    /// Runs a thread until it suspends itself or ends.
    ///
    /// Never inlined: what others keep in registers would be there when the thread goes on (see [`clear_registers`]).
    #[inline(never)]
    pub fn resume(&mut self, strand: &mut Strand, outcome: Outcome) -> Came {
        let since = strand.pending().map(|pending| pending.at);
        self.beat.goes_on(strand.here.thread, since);
        let coroutine = strand.coroutine.as_mut().expect("only threads that have not ended are resumed");
        let marker = 0u8;
        let here = std::ptr::from_ref(std::hint::black_box(&marker)).addr();
        if self.engine == 0 || here < self.engine {
            self.engine = here;
        }
        strand.pending = std::ptr::null();
        // The first time, the coroutine itself says where its yielder is.
        runtime::goes_on(&strand.here);
        overflow::guard(&raw const strand.guarded);
        clear_registers();
        let result = coroutine.resume(outcome);
        overflow::guard(std::ptr::null());
        self.beat.is_back();
        if strand.here.yielder.is_null() {
            strand.here = runtime::here().unwrap_or(strand.here);
        }
        runtime::is_back();
        match result {
            CoroutineResult::Yield(Yielded::Op(pending)) => {
                (strand.pending, strand.low) = (pending, pending.addr());
                Came::Op
            }
            CoroutineResult::Yield(Yielded::FreedTwice) => {
                let message =
                    format!("{} frees a block of memory that was freed before", report::name(strand.here.thread));
                went_wrong(strand, ViolationKind::DoubleFree, message, since)
            }
            CoroutineResult::Yield(yielded) => {
                strand.low = if let Yielded::Yields { low, .. } = yielded { low } else { 0 };
                Came::To(yielded)
            }
            CoroutineResult::Return(ended) => self.ends(strand, ended, since),
        }
    }

    /// A thread has ended, and has performed its last operation there.
    #[cold]
    fn ends(&mut self, strand: &mut Strand, ended: Ended, since: Option<At>) -> Came {
        if !self.keeps {
            self.take_back(strand);
        }
        let message = || overflow::message_of(strand.here.thread, ended);
        match ended {
            Ended::Well => Came::End,
            Ended::Panicked => match runtime::take_last_panic() {
                Ok(panic) => Came::Panic(Box::new(panic)),
                Err(stop) => Came::To(Yielded::Stop(Box::new(stop))),
            },
            Ended::Aborted | Ended::Overflowed => went_wrong(strand, ViolationKind::Assertion, message(), since),
            Ended::Faulted(_) => went_wrong(strand, ViolationKind::InvalidPointer, message(), since),
        }
    }

    /// Abandons a thread.
    pub fn abandon(&mut self, strand: &mut Strand) {
        if let Some(coroutine) = &mut strand.coroutine {
            // SAFETY: the coroutine is suspended or has ended, and is not resumed again. What its frames own is leaked, and
            // nothing of it is used again: other threads of the run that could borrow from its stack (none can, bodies of
            // threads are 'static) are abandoned together with it.
            unsafe { coroutine.force_reset() };
        }
        self.take_back(strand);
    }

    fn take_back(&mut self, strand: &mut Strand) {
        (strand.pending, strand.low) = (std::ptr::null(), 0);
        self.stacks.extend(strand.coroutine.take().map(Coroutine::into_stack));
    }
}

/// A thread cannot go on, and was not about to perform an operation, but after one, if any.
#[cold]
fn went_wrong(strand: &Strand, kind: ViolationKind, message: String, since: Option<At>) -> Came {
    let thread = strand.here.thread;
    let last = runtime::shared(|shared| shared.script.last_of(thread)).or(since);
    let (message, place) = runtime::torn_off(overflow::after(&message, last));
    let place = place.or_else(|| last.map(runtime::span)).unwrap_or_default();
    match kind {
        // As if it had panicked.
        ViolationKind::Assertion => Came::Panic(Box::new((message, place))),
        _ => Came::To(Yielded::Stop(Box::new(runtime::violation(kind, message, place)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_an_operation_is_measured() {
        let size = suspended();
        assert!(size > 256, "something is always saved: {size}");
        assert!(size < 1 << 14, "frames of the library are not that large: {size}");
    }
}

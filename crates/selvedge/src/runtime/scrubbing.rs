//! Clearing the stack below the frames of the model's code.
//!
//! States of threads are compared by their stacks (`spin.rs`, `machine/awaits.rs`), bytes that nobody has written included. What
//! the library has left below would become part of the frames of what is called next, and tell states apart that are the
//! same. So it is cleared, if threads spin. That is done several times per operation, so how much is cleared matters: all that
//! the library can have used where it allocates, and else as much as small frames take.

// The stack is cleared with instructions that not every processor has.
#![allow(unsafe_code)]

use super::UNUSUAL;
use std::cell::Cell;
use std::mem::MaybeUninit;

thread_local! {
    static HOW: Cell<How> = const { Cell::new(How::Flat) };
}

/// How the stack is cleared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// The library was not optimised, and its frames are large.
    Deep,
    Flat,
    /// As before, by a processor that writes 32 bytes at a time.
    Wide,
}

/// Says how large the frames of the library are.
pub(crate) fn frames_are_deep(deep: bool) {
    HOW.set(match deep {
        true => How::Deep,
        false if is_wide() => How::Wide,
        false => How::Flat,
    });
}

#[cfg(target_arch = "x86_64")]
fn is_wide() -> bool {
    std::arch::is_x86_feature_detected!("avx")
}

#[cfg(not(target_arch = "x86_64"))]
fn is_wide() -> bool {
    false
}

/// Comes before operations that loops wait with; always inlined into the model's code. It keeps compilers from making a
/// copy of the operation for the first look of a loop (what jumps to a label is not copied), and clears the stack below, so
/// that the state of the thread is the same before every look (`machine/awaits.rs`). Without it, nothing goes wrong: there
/// are more executions.
///
/// The frames of the operation come next. What is below them is cleared by [`perform`](super::perform).
#[inline(always)]
pub(crate) fn prepare() {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: it does nothing.
    unsafe {
        std::arch::asm!("/* {0} */", label {}, options(nomem, nostack, preserves_flags));
    }
    tidy_frame();
}

/// Clears the stack below, if threads spin: what the next operation finds there must not depend on what came before it.
#[inline(always)]
pub(crate) fn tidy() {
    if UNUSUAL.get() {
        scrub();
    }
}

/// The same for who calls [`perform`](super::perform) next: these are a few small frames, and what is below them is cleared from
/// there.
#[inline(always)]
pub(crate) fn tidy_frame() {
    if UNUSUAL.get() {
        scrub_frame();
    }
}

/// Clears the stack where the small frames of what is called next will be.
#[inline(never)]
pub(super) fn scrub_frame() {
    match HOW.get() {
        How::Deep => scrub_deep(),
        How::Flat => clear::<64>(),
        How::Wide => clear_widely::<64, 16>(),
    }
}

/// The same if there are frames where others have none.
#[inline(never)]
pub(super) fn scrub_if_deep() {
    if HOW.get() == How::Deep {
        scrub_deep();
    }
}

/// Clears the stack where the frames of what is called next will be.
#[inline(never)]
pub(super) fn scrub() {
    match HOW.get() {
        How::Deep => scrub_deep(),
        How::Flat => clear::<160>(),
        How::Wide => clear_widely::<160, 40>(),
    }
}

/// Enough for frames that are not optimised.
#[inline(never)]
fn scrub_deep() {
    clear::<512>();
}

#[inline(never)]
fn clear<const WORDS: usize>() {
    std::hint::black_box(&mut [0u64; WORDS]);
}

/// Clears so many words, which are so many parts of 32 bytes.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn clear_widely<const WORDS: usize, const PARTS: usize>() {
    const { assert!(8 * WORDS == 32 * PARTS) }
    let mut below = MaybeUninit::<[u64; WORDS]>::uninit();
    // SAFETY: it writes to this array, and not beyond its end. The processor has these instructions.
    unsafe {
        std::arch::asm!(
            "vpxor xmm0, xmm0, xmm0",
            ".set at, 0",
            ".rept {parts}",
            "vmovdqu ymmword ptr [{below} + at], ymm0",
            ".set at, at + 32",
            ".endr",
            "vzeroupper",
            parts = const PARTS,
            below = in(reg) below.as_mut_ptr(),
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            options(nostack, preserves_flags),
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn clear_widely<const WORDS: usize, const PARTS: usize>() {
    clear::<WORDS>();
}

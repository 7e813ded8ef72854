//! What a lock protects, or what is made once: fresh in every execution.
//!
//! An object that is made inside a model is made again in every run, with what is in it. One that lies outside (a
//! `static`, or something that the model's closure has captured) is not. It is never touched: every run works on a copy of
//! its bytes, which is forgotten at the end of the run. That is right for a `static`, whose bytes the compiler has made and
//! which owns nothing, and for whatever has nothing to drop. Other things are refused.
//!
//! A copy is memory of the run that it was made for. A lock in it (`LazyLock<Mutex<Vec<u32>>>`) has either been made in that run
//! or is part of what the compiler has made, so what it contains is used where it is. It is known by where it would be in the
//! original, since copies lie elsewhere in every run (`places.rs`).

// Bytes are copied.
#![allow(unsafe_code)]

use crate::number::Number;
use crate::object::Word;
use crate::places::Copied;
use crate::restored::Changes;
use crate::runtime::{self, At};
use crate::shared::Shared;
use rustc_hash::FxHashMap;
use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::hash::Hasher;
use std::ops::Range;
use std::sync::OnceLock;

/// What is in an object.
pub(crate) struct Content<T: ?Sized>(UnsafeCell<T>);

/// Copies of what is outside, by its address.
#[derive(Default)]
pub(crate) struct Copies(FxHashMap<usize, (usize, Layout)>);

impl Copies {
    /// Forgets all copies. What they contain is not dropped.
    pub fn clear(&mut self) {
        for (_, (copy, layout)) in self.0.drain() {
            if layout.size() > 0 {
                // SAFETY: it was allocated with this layout.
                unsafe { std::alloc::dealloc(std::ptr::with_exposed_provenance_mut(copy), layout) };
            }
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// What is in them, by where they are.
    pub fn save(&self, saved: &mut Vec<(usize, Vec<u8>)>) {
        saved.clear();
        saved.extend(self.0.values().filter(|(_, layout)| layout.size() > 0).map(|&(copy, layout)| {
            // SAFETY: it was allocated with this layout, and nobody uses it now.
            let bytes = unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(copy), layout.size()) };
            (copy, bytes.to_vec())
        }));
    }

    /// Whether they are as they were.
    pub fn are_as_saved(&self, saved: &[(usize, Vec<u8>)]) -> bool {
        let mut changes = Changes::default();
        self.changed(saved, &mut changes).is_some() && changes.bytes.is_empty()
    }

    /// What has changed since they were saved; none if there are others now.
    pub fn changed(&self, saved: &[(usize, Vec<u8>)], changes: &mut Changes) -> Option<()> {
        if self.0.values().filter(|(_, layout)| layout.size() > 0).count() != saved.len() {
            return None;
        }
        for (copy, before) in saved {
            // SAFETY: none is given back during a run, so it has as many bytes as it had, and nobody uses it now.
            let now = unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(*copy), before.len()) };
            changes.add(*copy, before, now, |_| false);
        }
        Some(())
    }

    /// Puts back what was in them.
    pub fn put_back(saved: &[(usize, Vec<u8>)]) {
        for (copy, bytes) in saved {
            // SAFETY: as above: there are as many copies as there were, and none is ever given back during a run.
            unsafe {
                let copy = std::ptr::with_exposed_provenance_mut::<u8>(*copy);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), copy, bytes.len());
            }
        }
    }

    /// The words that are in them.
    pub fn words(&self) -> Vec<u64> {
        let word = |at: usize| {
            let word = std::ptr::with_exposed_provenance::<u64>(at);
            // SAFETY: these are 8 bytes of a copy, which lives until the run ends, and no reference to it is in use.
            unsafe { word.read_volatile() }
        };
        // Pointers and numbers are aligned.
        let all = self.0.values().flat_map(|&(copy, layout)| {
            let start = copy.next_multiple_of(8);
            (start..(copy + layout.size()).saturating_sub(7)).step_by(8)
        });
        all.map(word).collect()
    }

    /// A number for what is in all copies. Words count as what they are `known_as`, if anything.
    pub fn fingerprint(&self, known_as: impl Fn(u64) -> Option<u64>) -> u64 {
        self.0.iter().fold(0, |all, (original, &(copy, layout))| {
            let mut hasher = Number::default();
            hasher.write_usize(*original);
            for at in (0..layout.size()).step_by(8) {
                let word = (at..layout.size().min(at + 8)).rev().fold(0, |word, n| {
                    let byte = std::ptr::with_exposed_provenance::<u8>(copy + n);
                    // SAFETY: it is a byte of the copy, which lives until the run ends, and no reference to it is in use.
                    word << 8 | u64::from(unsafe { byte.read_volatile() })
                });
                known_as(word).into_iter().for_each(|word| hasher.write_u64(word));
            }
            // Whatever order they are in.
            all.wrapping_add(hasher.finish())
        })
    }

    /// Where the copy is, and whether there was none before.
    fn copy_of(&mut self, original: *const u8, layout: Layout) -> (usize, bool) {
        let count = self.0.len();
        let (copy, _) = *self.0.entry(original.addr()).or_insert_with(|| {
            if layout.size() == 0 {
                return (original.addr(), layout);
            }
            // SAFETY: the size is not zero; the original has that many bytes, and nobody writes them.
            let copy = unsafe {
                let copy = std::alloc::alloc(layout);
                if copy.is_null() {
                    std::alloc::handle_alloc_error(layout);
                }
                std::ptr::copy_nonoverlapping(original, copy, layout.size());
                copy
            };
            (copy.expose_provenance(), layout)
        });
        (copy, self.0.len() > count)
    }
}

impl Shared {
    /// Where this run's copy of what is outside is.
    fn copy_of(&mut self, original: *const u8, layout: Layout) -> usize {
        let (at, is_new) = self.copies.copy_of(original, layout);
        if is_new && layout.size() > 0 {
            self.places.copied(Copied { at, size: layout.size(), original: original.addr() });
        }
        at
    }
}

impl<T> Content<T> {
    /// With its first value.
    pub const fn new(value: T) -> Content<T> {
        Content(UnsafeCell::new(value))
    }

    /// What it is now.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Content<T> {
    /// What it is in this run. `owns` says whether the first value may own something. The pointer is good until the run
    /// ends.
    #[track_caller]
    pub fn get(&self, word: &Word, owns: bool, at: At) -> *mut T {
        let original = self.0.get();
        if runtime::current().is_none() || !word.see().outside {
            return original;
        }
        if owns && std::mem::needs_drop::<T>() && !is_static(original.cast::<u8>().addr()) {
            word.must_be_of_the_model(at);
        }
        // SAFETY: the pointer is that of a live object.
        let layout = Layout::for_value(unsafe { &*original });
        let copy = runtime::shared(|shared| shared.copy_of(original.cast::<u8>(), layout));
        let distance = copy.wrapping_sub(original.cast::<u8>().addr()) as isize;
        std::hint::black_box(original.wrapping_byte_offset(distance))
    }

    /// What it is, if nobody else has it.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

/// Whether an address is in the data of the program or of a library.
pub(crate) fn is_static(address: usize) -> bool {
    segments().iter().any(|(_, segment)| segment.contains(&address))
}

/// Whether an address may be in the data of the program or of a library, be it one that was loaded later.
pub(crate) fn may_be_static(address: usize) -> bool {
    let is_new = || scanned().iter().any(|(_, segment)| segment.contains(&address));
    cfg!(not(target_os = "linux")) || is_static(address) || is_new()
}

/// Where the program itself ends.
pub(crate) fn end_of_program() -> usize {
    static END: OnceLock<usize> = OnceLock::new();
    *END.get_or_init(|| {
        let own = segments().iter().filter(|(object, _)| *object == 0);
        own.map(|(_, segment)| segment.end).max().unwrap_or(1 << 16)
    })
}

#[cfg(not(target_os = "linux"))]
fn segments() -> &'static [(usize, Range<usize>)] {
    &[]
}

#[cfg(not(target_os = "linux"))]
fn scanned() -> Segments {
    Segments::new()
}

type Segments = Vec<(usize, Range<usize>)>;

/// The segments of the program and of libraries, with numbers for these: that of the program is 0. As they were at first.
#[cfg(target_os = "linux")]
fn segments() -> &'static [(usize, Range<usize>)] {
    static SEGMENTS: OnceLock<Segments> = OnceLock::new();
    SEGMENTS.get_or_init(scanned)
}

/// The same as they are now.
#[cfg(target_os = "linux")]
fn scanned() -> Segments {
    extern "C" fn note(info: *mut libc::dl_phdr_info, _size: usize, data: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the system passes what it says, and `data` is what was given to `dl_iterate_phdr`.
        unsafe {
            let segments = &mut *data.cast::<Segments>();
            let object = segments.last().map_or(0, |(object, _)| object + 1);
            let base = (*info).dlpi_addr as usize;
            for n in 0..usize::from((*info).dlpi_phnum) {
                let header = &*(*info).dlpi_phdr.add(n);
                if header.p_type == libc::PT_LOAD {
                    let start = base + header.p_vaddr as usize;
                    segments.push((object, start..start + header.p_memsz as usize));
                }
            }
        }
        0
    }
    crate::blocks::quiet(|| {
        let mut segments = Segments::new();
        // SAFETY: the callback gets the pointer that it expects. The program comes first.
        unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut segments).cast()) };
        segments
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn statics_are_told_from_other_memory() {
        static HERE: u64 = 7;
        let (local, boxed) = (7, Box::new(7));
        assert!(is_static(std::ptr::from_ref(&HERE).addr()));
        assert!(!is_static(std::ptr::from_ref(&local).addr()));
        assert!(!is_static(std::ptr::from_ref(&*boxed).addr()));
    }
}

//! What the allocator notes next to its blocks: where one starts and ends.
//!
//! On most systems, the word before a block says how large the block is together with that word, and three bits that are not
//! part of a size say more. So the word behind a block is such a note too, that of the next one. The lowest bit of a note says
//! whether the block *before* it is in use; if it is not, its last word says once more how large it is.
//!
//! Where this is so, a pointer to the start of a block can be told from others: from one to what is in an `Arc`, say, before which
//! there are counts. Then what is before the block is not its own. It changes whenever somebody allocates or frees the block
//! next to it, and tells nothing about this one. An allocator that takes other notes has none that look like these; then all words
//! around a pointer are looked at.

use std::ops::Range;

/// Bytes that are looked at before a place: `Arc::into_raw` points behind the counts. And from there on, if no block starts there.
pub(super) const BEFORE: usize = 16;
pub(super) const LEAST: usize = 16;
/// Larger blocks are looked at like what is no block.
pub(super) const LARGEST_BLOCK: usize = 1 << 12;

/// Where the note is in words from `BEFORE` a place on.
const NOTE: usize = BEFORE / 8 - 1;
/// Of a note: all but the size; and whether the block before it is in use.
const BITS: u64 = 7;
const IN_USE: u64 = 1;

/// How many words there are to be read from `BEFORE` a place on, with the note behind the block if one starts there. At least those
/// around the place are known.
pub(super) fn words(around: &[u64]) -> usize {
    match block_size(around[NOTE]) {
        Some(size) => (BEFORE + size) / 8,
        None => (BEFORE + LEAST) / 8,
    }
}

/// Which of these words belong to whoever has the pointer.
pub(super) fn owned(words: &[u64]) -> Range<usize> {
    let end = words.len() - 1;
    let behind = words[end];
    let size = block_size(words[NOTE]).filter(|size| words.len() == (BEFORE + size) / 8 && is_size(behind & !BITS));
    match size {
        Some(_) if behind & IN_USE != 0 => NOTE + 1..end,
        // It is free: nobody owns anything there.
        Some(size) if words[end - 1] == size as u64 => 0..0,
        _ => 0..words.len(),
    }
}

/// The size of a block, with its note, if the note looks like one.
fn block_size(note: u64) -> Option<usize> {
    let size = note & !BITS;
    usize::try_from(size).ok().filter(|bytes| (32..=LARGEST_BLOCK).contains(bytes) && is_size(size))
}

fn is_size(size: u64) -> bool {
    size != 0 && size.is_multiple_of(16) && size < 1 << 47
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_before_a_block_is_not_its_own() {
        // The end of another block, the note, a block of 24 bytes, the note of the next.
        let block = [50, 0x21, 1, 1, 7, 0x91];
        assert_eq!(words(&block[..4]), block.len());
        assert_eq!(owned(&block), 2..5);
        // The block before it has been freed.
        assert_eq!(owned(&[0x50, 0x20, 1, 1, 7, 0x91]), 2..5);
    }

    #[test]
    fn nobody_owns_anything_in_a_block_that_is_free() {
        assert_eq!(owned(&[50, 0x21, 1, 1, 0x20, 0x90]), 0..0);
        // Or it is none.
        assert_eq!(owned(&[50, 0x21, 1, 1, 0x30, 0x90]), 0..6);
    }

    #[test]
    fn counts_before_a_place_are_looked_at() {
        let counts = [1, 1, 5, 5];
        assert_eq!(words(&counts), counts.len());
        assert_eq!(owned(&counts), 0..4);
        // There are as many references as a block may be large.
        let counts = [40, 33, 5, 5, 5, 5];
        assert_eq!(words(&counts[..4]), counts.len());
        assert_eq!(owned(&counts), 0..6);
    }
}

//! Numbers that stand for what they were computed from: states of threads, contents of memory, what a thread has been told.
//!
//! What has the same number is taken to be the same, so two different things must have one only by chance. The hasher of
//! `rustc-hash` is made for tables and not for that: it adds and multiplies, so that the topmost bit of a word is only ever the
//! topmost bit of the sum, and two words that differ in it, such as two states with a flag there, have the same number as the
//! two without. Here the upper half of each product is folded into the lower one, and every bit of a word reaches all others.

use std::hash::Hasher;

/// Computes a number from words and bytes, in the order in which they come.
#[derive(Clone, Copy, Default)]
pub(crate) struct Number(u64);

impl Number {
    #[inline]
    fn add(&mut self, word: u64) {
        self.0 = mix(self.0, word);
    }
}

/// Adds a word to a number that stands for all words before it.
#[inline]
pub(crate) fn mix(before: u64, word: u64) -> u64 {
    // Without the first constant, no number of zeros would make a difference to zero.
    let product = u128::from(before.rotate_left(29) ^ word ^ 0x243f_6a88_85a3_08d3) * 0x9e37_79b9_7f4a_7c15;
    product as u64 ^ (product >> 64) as u64
}

impl Hasher for Number {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        words.iter().for_each(|&word| self.add(u64::from_le_bytes(word)));
        let last = rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        self.add(last ^ (bytes.len() as u64) << 56);
    }

    #[inline]
    fn write_u8(&mut self, word: u8) {
        self.add(word.into());
    }

    #[inline]
    fn write_u16(&mut self, word: u16) {
        self.add(word.into());
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.add(word.into());
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.add(word as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::Hash;

    fn number(what: impl Hash) -> u64 {
        let mut hasher = Number::default();
        what.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn two_words_that_differ_in_one_bit_each_have_a_number_of_their_own() {
        let mut numbers = HashSet::new();
        let words: Vec<u64> = (0..64).map(|n| 1 << n).chain([0]).collect();
        let all: Vec<(u64, u64)> = words.iter().flat_map(|&one| words.iter().map(move |&other| (one, other))).collect();
        numbers.extend(all.iter().map(|&pair| number(pair)));
        assert_eq!(numbers.len(), all.len());
    }

    #[test]
    fn how_many_zeros_there_are_counts() {
        let zeros = [0u8; 40];
        let words: HashSet<u64> = (0..5).map(|n| number([0u64; 5][..n].to_vec())).collect();
        let bytes: HashSet<u64> = (0..40)
            .map(|n| {
                let mut hasher = Number::default();
                hasher.write(&zeros[..n]);
                hasher.finish()
            })
            .collect();
        assert_eq!((words.len(), bytes.len()), (5, 40));
    }
}

//! The layouts of blocks: how many there are of each, and blocks that are not in use.
//!
//! A model allocates the same in every run, so what one run has freed is kept for the next one. Layouts are known by a number, and
//! that of one that was asked for before is found without looking through all.

use std::alloc::Layout;

/// All layouts, in all runs.
#[derive(Default)]
pub(super) struct Kinds {
    kinds: Vec<Kind>,
    /// Which one of a size was asked for last.
    last: [u16; LAST],
}

struct Kind {
    size: usize,
    align: usize,
    /// Where blocks are that other runs have freed.
    spare: Vec<usize>,
}

/// So many are found at once.
const LAST: usize = 32;
/// Of each layout so many blocks are kept, and none that are larger.
const SPARE: usize = 32;
const LARGEST: usize = 512;
/// If there are more layouts, they are forgotten when another model starts.
const MOST: usize = 64;

impl Kinds {
    /// The number of a layout.
    #[inline]
    pub fn of(&mut self, layout: Layout) -> usize {
        let last = usize::from(self.last[layout.size() / 8 % LAST]);
        match self.kinds.get(last) {
            Some(kind) if (kind.size, kind.align) == (layout.size(), layout.align()) => last,
            _ => self.find(layout),
        }
    }

    #[cold]
    fn find(&mut self, layout: Layout) -> usize {
        let (size, align) = (layout.size(), layout.align());
        let found = self.kinds.iter().position(|kind| (kind.size, kind.align) == (size, align));
        let kind = found.unwrap_or_else(|| {
            self.kinds.push(Kind { size, align, spare: Vec::new() });
            self.kinds.len() - 1
        });
        self.last[size / 8 % LAST] = u16::try_from(kind).unwrap_or(0);
        kind
    }

    /// A block that another run has freed.
    #[inline]
    pub fn take(&mut self, kind: usize) -> Option<usize> {
        self.kinds[kind].spare.pop()
    }

    /// A run has ended that has freed a block: whether it is kept.
    pub fn give(&mut self, layout: Layout, block: usize) -> bool {
        let kind = self.of(layout);
        let spare = &mut self.kinds[kind].spare;
        let keeps = layout.size() <= LARGEST && spare.len() < SPARE;
        if keeps {
            spare.push(block);
        }
        keeps
    }

    /// Whether there are more layouts than most models have.
    pub fn are_many(&self) -> bool {
        self.kinds.len() > MOST
    }

    /// Forgets all, and calls a function for each block that is not in use.
    pub fn clear(&mut self, mut free: impl FnMut(usize, Layout)) {
        for Kind { size, align, spare } in self.kinds.drain(..) {
            if let Ok(layout) = Layout::from_size_align(size, align) {
                spare.into_iter().for_each(|block| free(block, layout));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_given_to_who_wants_one_like_it() {
        let layout = |size, align| Layout::from_size_align(size, align).unwrap();
        let mut kinds = Kinds::default();
        let [one, other, aligned] = [layout(24, 8), layout(24 + 8 * LAST, 8), layout(24, 16)].map(|it| kinds.of(it));
        assert!(one != other && one != aligned && other != aligned);
        assert_eq!(kinds.of(layout(24, 8)), one, "it keeps its number");
        assert!(kinds.give(layout(24, 8), 64));
        assert_eq!((kinds.take(aligned), kinds.take(one), kinds.take(one)), (None, Some(64), None));
        assert!(!kinds.give(layout(LARGEST + 8, 8), 64), "large ones are not kept");
        kinds.give(layout(24, 16), 80);
        let mut freed = Vec::new();
        kinds.clear(|at, layout| freed.push((at, layout.align())));
        assert_eq!(freed, [(80, 16)]);
    }
}

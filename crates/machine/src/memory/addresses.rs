//! Which addresses objects get.

use super::{ObjectKind, PAGE_BITS, SPACE_BITS};
use crate::{Addr, ThreadId};
use selvedge_ir::EntityRef;

/// The addresses that a `Memory` is going to give to objects, without the objects.
#[derive(Clone, Default, Debug)]
pub struct Addresses {
    /// How many pages of each space are given out.
    pages: Vec<usize>,
}

impl Addresses {
    /// None are given out.
    pub fn clear(&mut self) {
        self.pages.clear();
    }

    /// The address of the next object of this kind and size, as `Memory::alloc` gives it.
    pub fn next(&mut self, owner: Option<ThreadId>, kind: ObjectKind, size: u64) -> Option<Addr> {
        let space = space_of(owner);
        if self.pages.len() <= space {
            self.pages.resize(space + 1, 0);
        }
        let (base, pages) = layout(space, self.pages[space], kind, size)?;
        self.pages[space] = pages;
        Some(base)
    }
}

/// The space that a thread's objects are in, or that of globals.
pub(super) fn space_of(owner: Option<ThreadId>) -> usize {
    owner.map_or(1, |thread| thread.index() + 2)
}

/// Where the next object of a space is, and how many pages of the space are given out with it. `None` if there is no room.
pub(super) fn layout(space: usize, given_out: usize, kind: ObjectKind, size: u64) -> Option<(Addr, usize)> {
    // One page more than needed where the end would coincide with the next object's start.
    let guard = guard_pages(kind);
    let pages = given_out + (size >> PAGE_BITS) as usize + 1 + 2 * guard;
    let base = (space as u64) << SPACE_BITS | ((given_out + guard) as u64) << PAGE_BITS;
    (pages <= 1 << (SPACE_BITS - PAGE_BITS)).then_some((Addr(base), pages))
}

/// How many pages before and behind an object belong to no other: an access that misses its object lands there, and is
/// known to have missed this one. Few for stack objects, of which there may be millions.
pub(super) fn guard_pages(kind: ObjectKind) -> usize {
    match kind {
        ObjectKind::Global => 256,
        ObjectKind::Heap | ObjectKind::ThreadLocal => 32,
        ObjectKind::Stack => 8,
        ObjectKind::Constant => 4,
        ObjectKind::Function => 1,
    }
}

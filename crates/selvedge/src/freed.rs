//! Objects in blocks that are freed by `Box` and the like: whoever has accessed them must have done so before.
//!
//! The engines know what it means to free an object ([`Op::Free`](selvedge_machine::Op)): every access has to happen before that,
//! in whatever order threads have run. But it is the allocator that hears of a block that is freed. Nothing can be performed there,
//! and it knows only addresses. So
//!
//! - each object that was met in a run is known with the address at which it was seen last ([`Shared::is_seen_at`]);
//! - when a block is freed, the objects that were seen in it are *due* ([`Shared::frees`]), and the thread tells the engine
//!   of them before its next operation, or before it ends (`runtime::perform_frees`). Nobody else runs until then.
//!
//! **Which objects.** Those to which another thread has *performed* an access in this run. What such a thread has done before the
//! block was freed is part of every execution in which it happens before that; if it does not, there is a failure to report. So
//! whether the engine is told depends on nothing but what comes before, and not on the order in which the exploration has let
//! threads run; it must not, since executions are taken up in the middle. And what only one thread uses, and most of what is
//! allocated is used by one thread only, is freed without an operation. Two kinds of accesses are left: who comes to an object for
//! the first time after its block was freed is told by `object.rs`; and who stood before an access to it at that moment is noticed
//! when it is performed ([`Frees::uses`]).
//!
//! **Objects that have moved.** `let node = *boxed` copies bytes and frees the block. Objects remember themselves who they are, so
//! they live on; but nobody says that they have moved, before they are seen at another address. Then what was said of the block they
//! were in was wrong: if it was said, the exploration starts again, and says nothing of what lies there in blocks that are alike
//! ([`Frees::has_left`]): the same code will free others of its nodes in the same way. If that is so in many places of a block, it is
//! a table, or is taken apart as a whole. (That an object has moved is remembered even if nothing was said of it: in another order
//! something would have been.) `realloc` says itself what moves.
//!
//! **References that the model does not count.** Who is the last to drop a `std::sync::Arc` frees memory that others have used,
//! and no operation says that they had done so before. What is freed meanwhile is left alone (`blocks/counted.rs`).

use crate::blocks::Block;
use crate::request::Request;
use crate::runtime::At;
use crate::shared::{Numbered, Shared};
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_ir::EntityRef;
use selvedge_machine::{Addr, ThreadId};
use std::ops::Range;
use std::panic::Location;

/// If objects have moved out of so many places of a block, they do out of all.
const MOST_LEFT: usize = 4;

/// What blocks are that are alike: their size and alignment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Kind(usize, usize);

impl Kind {
    fn of(block: &Block) -> Kind {
        Kind(block.id.size, block.id.align)
    }
}

/// Where the engine is told that a block was freed: at no operation's place, so that it is mistaken for none. (Reports say
/// which operation came before.)
#[inline(never)]
pub(crate) fn place() -> At {
    Location::caller()
}

/// Whether a place is this one.
pub(crate) fn is_place(at: At) -> bool {
    std::ptr::eq(at, place())
}

/// What has become of an object, as far as blocks go.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Life {
    /// The number of the thread that has freed its block and has not told the engine yet, from 1; 0 if there is none.
    due: u32,
    /// Whether the block it was in was freed, and the engine was or will be told.
    over: bool,
}

/// Who has used an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    Only(ThreadId),
    Many,
}

/// Who accesses objects, and which blocks they leave.
#[derive(Default)]
pub(crate) struct Frees {
    /// Who has used what in this run, in operations that were performed, as far as that was looked at.
    users: FxHashMap<Addr, By>,
    /// The same of those after that. (It is looked at only if blocks are freed in which there are objects.)
    lately: Vec<(ThreadId, Addr)>,
    /// What is in blocks that were freed without the engine being told, and by whom. Who frees something comes to it again later
    /// only if it is used after that (`object.rs` notices); but a thread may be ahead of what it was told, and have freed already what it
    /// has used in the step that is performed now.
    gone: FxHashMap<Addr, ThreadId>,
    /// In which places of blocks there were objects of which the engine was told, in this exploration.
    told: FxHashSet<(Kind, usize)>,
    /// Places of blocks that objects have moved out of, in all explorations of the model.
    left: FxHashMap<Kind, Vec<usize>>,
}

impl Frees {
    /// Another model starts.
    pub fn new_model(&mut self) {
        self.told.clear();
        self.left.clear();
    }

    /// An exploration starts.
    pub fn start(&mut self) {
        self.told.clear();
    }

    /// A run starts.
    pub fn new_run(&mut self) {
        if !self.users.is_empty() {
            self.users.clear();
        }
        self.lately.clear();
        if !self.gone.is_empty() {
            self.gone.clear();
        }
    }

    /// A thread performs an operation. If it uses what is in a block that was freed without the engine being told: what.
    #[inline]
    pub fn uses(&mut self, thread: ThreadId, request: &Request) -> Option<Addr> {
        let addr = request.uses()?;
        self.lately.push((thread, addr));
        (!self.gone.is_empty() && self.gone.get(&addr).is_some_and(|&by| by != thread)).then_some(addr)
    }

    /// Looks at what threads have done lately.
    fn take_up(&mut self) {
        for (thread, addr) in self.lately.drain(..) {
            let by = self.users.entry(addr).or_insert(By::Only(thread));
            if *by != By::Only(thread) {
                *by = By::Many;
            }
        }
    }

    /// Whether others have used an object.
    fn is_used_by_others(&self, addr: Addr, thread: ThreadId) -> bool {
        self.users.get(&addr).is_some_and(|&by| by != By::Only(thread))
    }

    /// Whether objects move out of a place of blocks.
    fn is_left(&self, kind: Kind, offset: usize) -> bool {
        self.left.get(&kind).is_some_and(|left| left.len() >= MOST_LEFT || left.contains(&offset))
    }

    /// An object has moved out of a place of a block. Whether the engine was told of some object that was freed there.
    fn has_left(&mut self, kind: Kind, offset: usize) -> bool {
        if self.is_left(kind, offset) {
            return false;
        }
        let left = self.left.entry(kind).or_default();
        left.push(offset);
        match left.len() < MOST_LEFT {
            true => self.told.contains(&(kind, offset)),
            false => self.told.iter().any(|(other, _)| *other == kind),
        }
    }
}

impl Shared {
    /// An object is seen at an address, for the first time or for the first time there. Whether the exploration has to start again,
    /// since it was said to be freed with a block that it has moved out of.
    #[cold]
    pub fn is_seen_at(&mut self, remembered: u64, place: usize) -> bool {
        let Some(known) = self.numbered(remembered) else { return false };
        let before = std::mem::replace(&mut known.place, place);
        let (addr, outside) = (known.seen.addr, known.seen.outside);
        if outside {
            return false;
        }
        self.blocks.holds_object(place);
        if !self.blocks.tries_out {
            self.frees.gone.remove(&addr);
        }
        if before == 0 {
            return false;
        }
        let Some(block) = self.blocks.within(before).copied() else { return false };
        let is_out = place.wrapping_sub(block.at) >= block.id.size;
        // What counts bring to its end is left alone anyway.
        let says = is_out && !block.counted && !self.tries_out && !std::thread::panicking();
        says && self.frees.has_left(Kind::of(&block), before - block.at)
    }

    /// A thread has freed a block in which objects were seen. Whether the engine has to be told.
    pub fn frees(&mut self, at: usize, thread: ThreadId) -> bool {
        let Some(block) = self.blocks.within(at).copied() else { return false };
        // The engine knows of blocks that are one object.
        if self.places.is_whole(at) || self.blocks.is_freed_by_count(&block) {
            return false;
        }
        self.frees.take_up();
        let kind = Kind::of(&block);
        let mut is_due = false;
        for known in &mut self.numbers {
            let (addr, offset) = (known.seen.addr, known.place.wrapping_sub(block.at));
            let is_in = !known.seen.outside && !known.life.over && offset < block.id.size;
            if !is_in || self.frees.is_left(kind, offset) {
                continue;
            }
            if self.frees.is_used_by_others(addr, thread) {
                known.life = Life { due: thread.index() as u32 + 1, over: true };
                is_due = true;
                if !self.tries_out {
                    self.frees.told.insert((kind, offset));
                }
            } else if !self.blocks.tries_out {
                self.frees.gone.insert(addr, thread);
            }
        }
        is_due
    }

    /// The next object of which a thread has to tell the engine, and its size; and whether there are no others, of any thread.
    /// In the order of their blocks, as these are known in every run: who has met which object first is not the same in all of them,
    /// nor is where in memory blocks of different threads lie.
    pub fn next_free(&mut self, thread: ThreadId) -> (Option<(Addr, u64)>, bool) {
        let mine = thread.index() as u32 + 1;
        let due = self.numbers.iter().filter(|known| known.life.due != 0).count();
        let own = self.numbers.iter_mut().filter(|known| known.life.due == mine);
        let blocks = &self.blocks;
        let order = |known: &&mut Numbered| {
            (blocks.within(known.place).map(|block| block.order_of(known.place)), known.seen.addr)
        };
        match own.min_by_key(order) {
            Some(known) => {
                known.life.due = 0;
                (Some((known.seen.addr, u64::from(known.size))), due == 1)
            }
            None => (None, due == 0),
        }
    }

    /// Whether some thread has to tell the engine of an object.
    pub fn owes_frees(&self) -> bool {
        self.numbers.iter().any(|known| known.life.due != 0)
    }

    /// What is in a block moves to another one.
    pub fn move_objects(&mut self, from: Range<usize>, to: usize) {
        if !self.blocks.within(from.start).is_some_and(|block| block.holds) {
            return;
        }
        for n in 0..self.numbers.len() {
            let place = self.numbers[n].place;
            if from.contains(&place) {
                self.numbers[n].place = to + (place - from.start);
                self.blocks.holds_object(to + (place - from.start));
            }
        }
    }
}

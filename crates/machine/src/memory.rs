//! Memory objects: bounds, liveness, initialisation, sharing, and going back.
//!
//! Every object belongs to a *space*: one for globals, one per thread. An address is `space << 38 | page << 12 |
//! offset`, objects start at fresh pages, and a space hands out pages in order, so an address depends only on (thread,
//! n-th allocation of it) and is equal in equivalent executions. Addresses fit into 47 bits, so programs that keep a
//! counter in the upper bits of a pointer work as they do on real machines. Pages are never given out twice in an
//! execution: a dangling pointer never meets a new object. Pages before and behind an object are left unused, so that
//! an access which misses its object by less than that (1 MiB for globals, 128 KiB for the heap, 32 KiB on the stack) does
//! not meet another one.
//!
//! An object starts *private* to the thread that allocated it. It becomes *shared* when its address is written into
//! shared memory or handed to a new thread, and with it everything that it points to ([`Memory::publish`]). Only
//! accesses to shared objects are visible to other threads. Whether an object is shared depends on its owner's own
//! steps alone, so it is the same in equivalent executions. A pointer that was smuggled to another thread in disguise
//! (compressed, split into bytes) is noticed when that thread uses it ([`Fault::Disguised`]): an error, never a missed
//! behaviour.
//!
//! Undo: every change is logged since the newest mark. Bytes of objects that are younger than the newest mark need no
//! log, since undoing removes the object itself.

mod addresses;
mod bytes;

pub use addresses::Addresses;

use crate::{Addr, ThreadId};
use addresses::{guard_pages, layout, space_of};
use bytes::{blend, mask, read8, spread, write8};
use selvedge_ir::EntityRef;

/// Objects start at multiples of two to this power.
pub const PAGE_BITS: u32 = 12;
const SPACE_BITS: u32 = 38;
/// Objects are at most this large.
pub const MAX_OBJECT: u64 = 1 << 30;
/// All objects of an execution together are at most this large, dead ones included.
pub const MAX_TOTAL: u64 = 1 << 31;
/// The bits of a pointer that are its address; programs may keep something of their own in the others.
const ADDRESS: u64 = (1 << 47) - 1;
/// Threads are at most this many: a space each, one for globals, one that is never used so that null is invalid.
pub const MAX_THREADS: usize = (1 << (47 - SPACE_BITS)) - 2;

/// What an object is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectKind {
    /// A global variable.
    Global,
    /// A global that must not be written.
    Constant,
    /// A thread's instance of a thread-local variable.
    ThreadLocal,
    /// A local variable; it dies when its function returns.
    Stack,
    /// From `malloc` and its kin.
    Heap,
    /// A function: its address can be taken and called, but not read.
    Function,
}

/// An object's description.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its first byte.
    pub base: Addr,
    /// Its size in bytes.
    pub size: u64,
    /// What it is.
    pub kind: ObjectKind,
    /// Whether it has not been freed.
    pub alive: bool,
    /// Whether other threads can reach it.
    pub shared: bool,
    /// The engine's time ([`Memory::set_now`]) when its owner last wrote to it without anybody noticing: when it was made,
    /// or changed while it was private.
    pub touched: u32,
    /// A number of the allocating machine's choice, for naming the object in reports.
    pub tag: u32,
    data: usize,
}

/// Names an object: its space and its number there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ObjectId {
    space: u16,
    index: u32,
}

/// Why an access cannot be performed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The address is zero or close to it.
    Null,
    /// The address belongs to no object.
    Wild,
    /// The object's life has ended.
    Dead(ObjectId),
    /// The access is not within its object.
    OutOfBounds(ObjectId),
    /// Some byte was never written.
    Uninitialised(ObjectId),
    /// The object must not be written.
    Constant(ObjectId),
    /// The object is a function.
    Code(ObjectId),
    /// The object is private to another thread, whose pointer came here in a form that was not recognised.
    Disguised(ObjectId),
}

#[derive(Default)]
struct Space {
    objects: Vec<Object>,
    /// Which object each page belongs to.
    pages: Vec<u32>,
    bytes: Vec<u8>,
    /// Per byte, 1 if it was written.
    init: Vec<u8>,
    /// Objects from this index on are younger than the newest mark; 0 while there is no mark.
    young: u32,
}

enum Change {
    Bytes { space: u16, size: u8, at: usize, old: u64, init: u64 },
    Alloc { space: u16 },
    Death { id: ObjectId },
    Share { id: ObjectId },
    Touch { id: ObjectId, was: u32 },
    Young { space: u16, was: u32 },
}

/// All objects of a program.
#[derive(Default)]
pub struct Memory {
    spaces: Vec<Space>,
    log: Vec<Change>,
    marks: Vec<usize>,
    scan: Vec<ObjectId>,
    /// The engine's time.
    now: u32,
    /// The sizes of all objects together.
    total: u64,
    /// Spaces that may have objects younger than the newest mark.
    growing: Vec<u16>,
}

const ALL_INIT: u64 = 0x0101_0101_0101_0101;

impl Memory {
    /// No objects.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// Sets the time that private writes are noted with from now on (see [`Object::touched`]). The time is the engine's
    /// own and is not undone: an engine that uses it sets it before it lets a thread run.
    #[inline]
    pub fn set_now(&mut self, now: u32) {
        self.now = now;
    }

    /// The time that private writes are noted with.
    #[inline]
    pub fn now(&self) -> u32 {
        self.now
    }

    /// Whether the object that an address points into lives.
    pub fn is_alive(&self, addr: Addr) -> bool {
        self.find(addr).is_some_and(|id| self.object(id).alive)
    }

    /// How many objects a thread has made, dead ones included.
    pub fn objects_of(&self, owner: ThreadId) -> usize {
        self.spaces.get(owner.index() + 2).map_or(0, |space| space.objects.len())
    }

    /// Makes an object. `owner` is the allocating thread, none for globals and functions. Bytes are zero, and count as
    /// initialised if `zeroed`. `None` if it is too large, or the space is full.
    pub fn alloc(
        &mut self,
        owner: Option<ThreadId>,
        kind: ObjectKind,
        size: u64,
        zeroed: bool,
        tag: u32,
    ) -> Option<Addr> {
        if size > MAX_OBJECT || self.total + size > MAX_TOTAL {
            return None;
        }
        let space_index = space_of(owner);
        if self.spaces.len() <= space_index {
            self.spaces.resize_with(space_index + 1, Space::default);
        }
        let space = &mut self.spaces[space_index];
        let (base, pages) = layout(space_index, space.pages.len(), kind, size)?;
        let index = space.objects.len() as u32;
        if index == space.young {
            self.growing.push(space_index as u16);
        }
        let data = space.bytes.len();
        // Accesses of up to 8 bytes are done as one: leave room behind the last byte.
        let room = size as usize + 8;
        space.bytes.resize(data + room, 0);
        space.init.resize(data + room, u8::from(zeroed));
        space.pages.resize(pages, index);
        let shared = matches!(kind, ObjectKind::Global);
        self.total += size;
        space.objects.push(Object { base, size, kind, alive: true, shared, touched: self.now, tag, data });
        if !self.marks.is_empty() {
            self.log.push(Change::Alloc { space: space_index as u16 });
        }
        Some(base)
    }

    /// Ends an object's life. The caller has checked that it lives.
    pub fn kill(&mut self, id: ObjectId) {
        debug_assert!(self.object(id).alive, "an object dies once");
        self.spaces[id.space as usize].objects[id.index as usize].alive = false;
        if !self.marks.is_empty() {
            self.log.push(Change::Death { id });
        }
    }

    /// The object that an address points into, or close to, dead or alive.
    #[inline]
    pub fn find(&self, addr: Addr) -> Option<ObjectId> {
        let space = (addr.0 >> SPACE_BITS) as usize;
        let page = (addr.0 >> PAGE_BITS) as usize & ((1 << (SPACE_BITS - PAGE_BITS)) - 1);
        let index = *self.spaces.get(space)?.pages.get(page)?;
        Some(ObjectId { space: space as u16, index })
    }

    /// An object's description.
    #[inline]
    pub fn object(&self, id: ObjectId) -> &Object {
        &self.spaces[id.space as usize].objects[id.index as usize]
    }

    /// The thread in whose space an address lies; none for globals and functions.
    #[inline]
    pub fn owner_of(addr: Addr) -> Option<ThreadId> {
        let space = (addr.0 >> SPACE_BITS) as usize;
        (2..MAX_THREADS + 2).contains(&space).then(|| ThreadId::new(space - 2))
    }

    /// Whose object it is; none for globals and functions.
    #[inline]
    pub fn owner(&self, id: ObjectId) -> Option<ThreadId> {
        (id.space >= 2).then(|| ThreadId::new(id.space as usize - 2))
    }

    /// The live object that an access of `size` bytes by `thread` stays within.
    #[inline]
    pub fn check(&self, thread: ThreadId, addr: Addr, size: u64) -> Result<ObjectId, Fault> {
        let Some(id) = self.find(addr) else {
            return Err(if addr.0 < 1 << PAGE_BITS { Fault::Null } else { Fault::Wild });
        };
        let object = self.object(id);
        if !object.alive {
            return Err(Fault::Dead(id));
        }
        let offset = addr.0.wrapping_sub(object.base.0);
        if offset > object.size || size > object.size - offset {
            return Err(Fault::OutOfBounds(id));
        }
        if !object.shared && id.space as usize != thread.index() + 2 && id.space >= 2 {
            return Err(Fault::Disguised(id));
        }
        if object.kind == ObjectKind::Function {
            return Err(Fault::Code(id));
        }
        Ok(id)
    }

    /// The same as `check` for the common case that nothing is wrong: the object and where its bytes for this access
    /// are.
    #[inline(always)]
    fn locate(&self, thread: ThreadId, addr: Addr, size: u8) -> Option<(ObjectId, &Object, usize)> {
        let space = (addr.0 >> SPACE_BITS) as usize;
        let page = (addr.0 >> PAGE_BITS) as usize & ((1 << (SPACE_BITS - PAGE_BITS)) - 1);
        let contents = self.spaces.get(space)?;
        let index = *contents.pages.get(page)?;
        let object = contents.objects.get(index as usize)?;
        let offset = addr.0.wrapping_sub(object.base.0);
        let accessible = object.shared || space == thread.index() + 2 || space < 2;
        let fits = offset <= object.size && u64::from(size) <= object.size - offset;
        let usable = object.alive & fits & accessible & (object.kind != ObjectKind::Function);
        usable.then(|| (ObjectId { space: space as u16, index }, object, object.data + offset as usize))
    }

    #[cold]
    #[inline(never)]
    fn what_is_wrong(&self, thread: ThreadId, addr: Addr, size: u8) -> Fault {
        self.check(thread, addr, u64::from(size)).expect_err("the access has failed")
    }

    /// For an access that was not located: either it is visible (its object is shared and dead), or it fails.
    #[cold]
    #[inline(never)]
    fn visible_or_wrong(&self, thread: ThreadId, addr: Addr, size: u8, alone: bool) -> Result<(), Fault> {
        let visible = self.is_visible(thread, addr, u64::from(size), alone)?;
        debug_assert!(visible, "an access that is not visible and does not fail has been located");
        Ok(())
    }

    /// Whether accesses to this object are visible to other threads.
    #[inline]
    pub fn is_shared(&self, id: ObjectId) -> bool {
        self.object(id).shared
    }

    /// Reads 1 to 8 bytes. With `raw`, bytes that were never written are read as they are.
    #[inline]
    pub fn load(&self, thread: ThreadId, addr: Addr, size: u8, raw: bool) -> Result<u64, Fault> {
        match self.locate(thread, addr, size) {
            Some((id, _, at)) => self.read(id, at, size, raw),
            None => Err(self.what_is_wrong(thread, addr, size)),
        }
    }

    #[inline(always)]
    fn read(&self, id: ObjectId, at: usize, size: u8, raw: bool) -> Result<u64, Fault> {
        let space = &self.spaces[id.space as usize];
        // A compiler reads a small struct as one integer, with the padding that nobody ever writes: only an access
        // all of whose bytes were never written is an error.
        if !raw && mask(read8(&space.init, at), size) == 0 {
            return Err(Fault::Uninitialised(id));
        }
        Ok(mask(read8(&space.bytes, at), size))
    }

    /// Whether an access of `size` bytes is one that another thread could notice: its object is shared, and the thread
    /// is not `alone`. Whether a shared object still lives is then for the engine to find out when it comes to it.
    #[inline]
    pub fn is_visible(&self, thread: ThreadId, addr: Addr, size: u64, alone: bool) -> Result<bool, Fault> {
        match self.check(thread, addr, size) {
            Ok(id) => Ok(!alone && self.object(id).shared),
            Err(Fault::Dead(id)) if !alone && self.object(id).shared => Ok(true),
            Err(fault) => Err(fault),
        }
    }

    /// Reads like `load` unless the access is visible; none if it is.
    #[inline(always)]
    pub fn load_unseen(
        &self,
        thread: ThreadId,
        addr: Addr,
        size: u8,
        raw: bool,
        alone: bool,
    ) -> Result<Option<u64>, Fault> {
        match self.locate(thread, addr, size) {
            Some((_, object, _)) if object.shared && !alone => Ok(None),
            Some((id, _, at)) => self.read(id, at, size, raw).map(Some),
            None => self.visible_or_wrong(thread, addr, size, alone).map(|()| None),
        }
    }

    /// Writes like `store` unless the access is visible; says whether it has written.
    #[inline(always)]
    pub fn store_unseen(
        &mut self,
        thread: ThreadId,
        addr: Addr,
        size: u8,
        value: u64,
        alone: bool,
    ) -> Result<bool, Fault> {
        match self.locate(thread, addr, size) {
            Some((_, object, _)) if object.shared && !alone => Ok(false),
            Some((id, object, at)) => {
                let (kind, shared) = (object.kind, object.shared);
                self.write(id, kind, shared, (at, size), value, ALL_INIT).map(|()| true)
            }
            None => self.visible_or_wrong(thread, addr, size, alone).map(|()| false),
        }
    }

    /// The words at the aligned offsets of an object, dead or alive, written or not.
    pub fn words(&self, id: ObjectId) -> impl Iterator<Item = u64> + '_ {
        let object = self.object(id);
        (0..object.size / 8).map(move |n| self.peek(id, Addr(object.base.0 + 8 * n), 8).0)
    }

    /// Which of the bytes at an address were written, one bit each from the lowest; the access has been checked.
    pub fn written_bytes(&self, addr: Addr, size: u8) -> u8 {
        let id = self.find(addr).expect("the caller has checked the access");
        let (_, init) = self.peek(id, addr, size);
        (0..size).fold(0, |bits, n| bits | (((init >> (8 * n)) & 1) as u8) << n)
    }

    #[inline]
    fn peek(&self, id: ObjectId, addr: Addr, size: u8) -> (u64, u64) {
        let space = &self.spaces[id.space as usize];
        let object = &space.objects[id.index as usize];
        let at = object.data + (addr.0 - object.base.0) as usize;
        (mask(read8(&space.bytes, at), size), mask(read8(&space.init, at), size))
    }

    fn fits(&self, id: ObjectId, addr: Addr, size: u8) -> bool {
        let object = self.object(id);
        let offset = addr.0.wrapping_sub(object.base.0);
        offset <= object.size && u64::from(size) <= object.size - offset
    }

    /// What is in memory at an address, whether or not it may be read; 0 if there never was an object.
    pub fn remains(&self, addr: Addr, size: u8) -> u64 {
        match self.find(addr) {
            Some(id) if self.fits(id, addr, size) => self.peek(id, addr, size).0,
            _ => 0,
        }
    }

    /// Writes 1 to 8 bytes. If the object is shared and the value is a pointer to a private object, that one becomes
    /// shared too.
    #[inline]
    pub fn store(&mut self, thread: ThreadId, addr: Addr, size: u8, value: u64) -> Result<(), Fault> {
        self.store_masked(thread, addr, size, value, u8::MAX)
    }

    /// As `store`, but only the bytes whose bit is set in `written` become initialised; the others become
    /// uninitialised. For copies of structs with padding.
    #[inline]
    pub fn store_masked(
        &mut self,
        thread: ThreadId,
        addr: Addr,
        size: u8,
        value: u64,
        written: u8,
    ) -> Result<(), Fault> {
        let init = if written == u8::MAX { ALL_INIT } else { spread(written) };
        match self.locate(thread, addr, size) {
            Some((id, object, at)) => {
                let (kind, shared) = (object.kind, object.shared);
                self.write(id, kind, shared, (at, size), value, init)
            }
            None => Err(self.what_is_wrong(thread, addr, size)),
        }
    }

    #[inline(always)]
    fn write(
        &mut self,
        id: ObjectId,
        kind: ObjectKind,
        shared: bool,
        (at, size): (usize, u8),
        value: u64,
        init: u64,
    ) -> Result<(), Fault> {
        if kind == ObjectKind::Constant {
            return Err(Fault::Constant(id));
        }
        let space = &mut self.spaces[id.space as usize];
        let (old, old_init) = (read8(&space.bytes, at), read8(&space.init, at));
        if id.index < space.young {
            let (old, init) = (mask(old, size), mask(old_init, size));
            self.log.push(Change::Bytes { space: id.space, size, at, old, init });
        }
        write8(&mut space.bytes, at, blend(old, value, size));
        write8(&mut space.init, at, blend(old_init, init, size));
        if shared {
            if size == 8 {
                self.publish(Addr(value));
            }
        } else if space.objects[id.index as usize].touched != self.now {
            self.touch(id);
        }
        Ok(())
    }

    #[cold]
    fn touch(&mut self, id: ObjectId) {
        let space = &mut self.spaces[id.space as usize];
        let was = std::mem::replace(&mut space.objects[id.index as usize].touched, self.now);
        if id.index < space.young {
            self.log.push(Change::Touch { id, was });
        }
    }

    /// Writes a global's initial bytes, constant or not.
    pub fn initialise(&mut self, addr: Addr, bytes: &[u8]) {
        let id = self.find(addr).expect("globals are initialised where they were allocated");
        let space = &mut self.spaces[id.space as usize];
        let object = &space.objects[id.index as usize];
        let at = object.data + (addr.0 - object.base.0) as usize;
        space.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        space.init[at..at + bytes.len()].fill(1);
    }

    /// Makes the object at this address reachable by all threads, and all that it points to.
    #[inline]
    pub fn publish(&mut self, addr: Addr) {
        let addr = Addr(addr.0 & ADDRESS);
        if addr.0 < 2 << SPACE_BITS {
            return;
        }
        if let Some(id) = self.find(addr)
            && !self.object(id).shared
        {
            self.publish_object(id);
        }
    }

    /// Makes a private object of this thread reachable by all threads, and all that it points to; says whether it was
    /// private. Those of other threads are left alone: that they are private is for [`Memory::check`] to find.
    pub fn publish_own(&mut self, thread: ThreadId, addr: Addr) -> bool {
        let own = self.find(addr).filter(|&id| self.owner(id) == Some(thread) && !self.object(id).shared);
        own.inspect(|&id| self.publish_object(id)).is_some()
    }

    fn publish_object(&mut self, id: ObjectId) {
        self.scan.push(id);
        while let Some(id) = self.scan.pop() {
            let object = &mut self.spaces[id.space as usize].objects[id.index as usize];
            if object.shared {
                continue;
            }
            object.shared = true;
            if !self.marks.is_empty() {
                self.log.push(Change::Share { id });
            }
            let (base, words) = (object.base.0, object.size / 8);
            for word in 0..words {
                let value = self.peek(id, Addr(base + 8 * word), 8).0 & ADDRESS;
                if value >= 2 << SPACE_BITS
                    && let Some(next) = self.find(Addr(value))
                    && !self.object(next).shared
                {
                    self.scan.push(next);
                }
            }
        }
    }

    /// All objects of a kind that live, for leak checks.
    pub fn live_objects(&self, kind: ObjectKind) -> impl Iterator<Item = ObjectId> + '_ {
        self.spaces.iter().enumerate().flat_map(move |(space, s)| {
            let matching = move |(_, object): &(usize, &Object)| object.alive && object.kind == kind;
            let id = move |(index, _)| ObjectId { space: space as u16, index: index as u32 };
            s.objects.iter().enumerate().filter(matching).map(id)
        })
    }

    /// Remembers the present state.
    #[inline]
    pub fn mark(&mut self) {
        self.marks.push(self.log.len());
        while let Some(index) = self.growing.pop() {
            let space = &mut self.spaces[index as usize];
            let now = space.objects.len() as u32;
            if space.young != now {
                self.log.push(Change::Young { space: index, was: space.young });
                space.young = now;
            }
        }
    }

    /// Goes back to before the first mark; time starts again.
    pub fn undo_all(&mut self) {
        self.undo_last(self.marks.len());
        self.now = 0;
    }

    /// Goes back to the newest mark and forgets it.
    pub fn undo(&mut self) {
        self.undo_last(1);
    }

    /// The same with so many marks.
    pub fn undo_last(&mut self, marks: usize) {
        let Some(to) = self.marks.drain(self.marks.len() - marks..).next() else { return };
        while self.log.len() > to {
            match self.log.pop().expect("the log is longer than `to`") {
                Change::Bytes { space, size, at, old, init } => {
                    let space = &mut self.spaces[space as usize];
                    let (bytes, inits) = (read8(&space.bytes, at), read8(&space.init, at));
                    write8(&mut space.bytes, at, blend(bytes, old, size));
                    write8(&mut space.init, at, blend(inits, init, size));
                }
                Change::Alloc { space } => self.total -= self.spaces[space as usize].forget_newest(),
                Change::Death { id } => self.spaces[id.space as usize].objects[id.index as usize].alive = true,
                Change::Share { id } => self.spaces[id.space as usize].objects[id.index as usize].shared = false,
                Change::Touch { id, was } => self.spaces[id.space as usize].objects[id.index as usize].touched = was,
                Change::Young { space, was } => {
                    self.spaces[space as usize].young = was;
                    self.growing.push(space);
                }
            }
        }
    }
}

impl Space {
    /// Takes an allocation back; returns the object's size.
    fn forget_newest(&mut self) -> u64 {
        let object = self.objects.pop().expect("an allocation is undone once");
        self.bytes.truncate(object.data);
        self.init.truncate(object.data);
        let page = (object.base.0 >> PAGE_BITS) as usize & ((1 << (SPACE_BITS - PAGE_BITS)) - 1);
        self.pages.truncate(page - guard_pages(object.kind));
        object.size
    }
}

#[cfg(test)]
mod tests;

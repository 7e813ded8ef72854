//! Memory: objects, addresses, cells.
//!
//! An address is a number: the n-th object starts at `(n + 1) << 32`. A sum with such a number in it says which object is
//! meant, and the rest is the offset. An object whose offsets are all numbers consists of *cells*, each with its own
//! variable; one that is indexed by a variable is an array: offset = index * stride + field, with an array variable for
//! each field.

use super::pointers::AllStored;
use crate::program::ThreadId;
use crate::term::{Symbol, Term, Terms};
use rustc_hash::FxHashMap;
use selvedge_ir::{EntityRef, Global, GlobalId, LocId, Module, RelocTarget};
use std::collections::{BTreeMap, BTreeSet};

/// Bits of an offset.
const SHIFT: u32 = 32;
/// Functions have addresses from here on.
const FUNCTIONS: u64 = 0xf000_0000;
/// The most elements different from zero that an initialised array may have if it is indexed by a variable.
const INITIALISED: usize = 256;

/// An object in memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Place {
    /// A global variable.
    Global(GlobalId),
    /// A stack object: context and the block and position of its instruction.
    Stack(u32, selvedge_ir::Inst),
    /// Allocated memory: context, call, and how many objects the call has allocated before.
    Heap(u32, selvedge_ir::Inst, u32),
}

/// What was found out while building; it only grows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Facts {
    /// Who touches an object.
    pub(super) users: BTreeMap<Place, BTreeSet<ThreadId>>,
    /// Cells that are written: object, offset; for an array, the field.
    pub(super) written: BTreeSet<(Place, u64)>,
    /// Arrays with their strides.
    pub(super) strides: BTreeMap<Place, u64>,
    /// Who waits on a condition variable.
    pub(super) waiters: BTreeMap<(Place, u64), BTreeSet<ThreadId>>,
    /// For how many threads barriers are; none if that is not one number.
    pub(super) barriers: BTreeMap<(Place, u64), Option<u64>>,
    /// Cells that are accessed: object, offset (of an array, the field), size.
    pub(super) cells: BTreeSet<(Place, u64, u64)>,
    /// What is stored in cells that could hold an address.
    pub(super) stored: BTreeMap<(Place, u64), AllStored>,
    /// Allocated objects that start as zeros.
    pub(super) zeroed: BTreeSet<Place>,
    /// Allocated objects that somebody frees.
    pub(super) freed: BTreeSet<Place>,
    /// Synchronisation objects that somebody destroys.
    pub(super) destroyed: BTreeSet<(Place, u64)>,
    /// Barriers that a thread may not have been told of when it was created.
    pub(super) late_barriers: BTreeSet<(Place, u64)>,
    /// Who joins or detaches a thread.
    pub(super) waited_for: BTreeMap<ThreadId, BTreeSet<ThreadId>>,
    /// How many threads run a function.
    pub(super) threads: BTreeMap<selvedge_ir::FuncId, usize>,
}

impl Facts {
    pub(super) fn new(_module: &Module) -> Facts {
        Facts {
            users: BTreeMap::new(),
            written: BTreeSet::new(),
            strides: BTreeMap::new(),
            waiters: BTreeMap::new(),
            barriers: BTreeMap::new(),
            cells: BTreeSet::new(),
            stored: BTreeMap::new(),
            zeroed: BTreeSet::new(),
            freed: BTreeSet::new(),
            destroyed: BTreeSet::new(),
            late_barriers: BTreeSet::new(),
            waited_for: BTreeMap::new(),
            threads: BTreeMap::new(),
        }
    }
}

/// The facts that one build goes by: those of the build before.
#[derive(Clone, Debug)]
pub(super) struct Layouts {
    facts: Facts,
}

impl Layouts {
    pub(super) fn of(facts: &Facts) -> Layouts {
        Layouts { facts: facts.clone() }
    }

    /// Whether more than one thread touches an object.
    pub(super) fn is_shared(&self, place: Place) -> bool {
        self.facts.users.get(&place).is_some_and(|users| users.len() > 1)
    }

    /// The stack objects of a context that somebody touches.
    pub(super) fn on_stack(&self, context: u32) -> Vec<Place> {
        let is_there = |place: &&Place| matches!(place, Place::Stack(home, _) if *home == context);
        self.facts.users.keys().filter(is_there).copied().collect()
    }

    /// Whether a cell or a field of an array is ever written.
    pub(super) fn is_written(&self, place: Place, offset: u64) -> bool {
        self.facts.written.contains(&(place, offset))
    }

    /// How many threads run a function, as far as the build before knew.
    pub(super) fn threads(&self, func: selvedge_ir::FuncId) -> usize {
        self.facts.threads.get(&func).copied().unwrap_or(0)
    }

    /// The stride, if the object is an array.
    pub(super) fn stride(&self, place: Place) -> Option<u64> {
        self.facts.strides.get(&place).copied()
    }

    /// The cells of an object that are accessed, as offset (of an array, the field) and size.
    pub(super) fn cells(&self, place: Place) -> Vec<(u64, u64)> {
        let all = self.facts.cells.range((place, 0, 0)..=(place, u64::MAX, u64::MAX));
        all.map(|&(_, offset, size)| (offset, size)).collect()
    }

    /// What is ever stored in a cell.
    pub(super) fn stored(&self, cell: (Place, u64)) -> Option<&AllStored> {
        self.facts.stored.get(&cell)
    }

    /// Whether allocated memory starts as zeros.
    pub(super) fn is_zeroed(&self, place: Place) -> bool {
        self.facts.zeroed.contains(&place)
    }

    /// Whether somebody frees an object.
    pub(super) fn is_freed(&self, place: Place) -> bool {
        self.facts.freed.contains(&place)
    }

    /// Whether somebody destroys a synchronisation object.
    pub(super) fn is_destroyed(&self, at: (Place, u64)) -> bool {
        self.facts.destroyed.contains(&at)
    }

    /// Whether a barrier was initialised before any thread was created that did not do it itself.
    pub(super) fn is_early(&self, at: (Place, u64)) -> bool {
        !self.facts.late_barriers.contains(&at)
    }

    /// Whether several threads join or detach a thread.
    pub(super) fn has_several_waiters(&self, thread: ThreadId) -> bool {
        self.facts.waited_for.get(&thread).is_some_and(|all| all.len() > 1)
    }

    /// All barriers.
    pub(super) fn barriers(&self) -> Vec<(Place, u64)> {
        self.facts.barriers.keys().copied().collect()
    }

    /// For how many threads a barrier is, if that is fixed.
    pub(super) fn barrier_limit(&self, at: (Place, u64)) -> Option<u64> {
        self.facts.barriers.get(&at).copied().flatten()
    }

    /// Who waits on a condition variable.
    pub(super) fn waiters(&self, at: (Place, u64)) -> Vec<ThreadId> {
        self.facts.waiters.get(&at).map(|set| set.iter().copied().collect()).unwrap_or_default()
    }
}

/// A part of memory that has a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cell {
    /// A variable of its own.
    Scalar(Symbol),
    /// An element of an array.
    Element(Symbol, Term),
}

/// Where an access goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Target {
    /// The object.
    pub(super) place: Place,
    /// The part of it.
    pub(super) cell: Cell,
    /// Its offset, or that of the field within an element.
    pub(super) offset: u64,
    /// The bytes that are touched, if they are known.
    pub(super) bytes: Option<(u64, u64)>,
    /// If it is an array: the number of elements.
    pub(super) count: Option<u64>,
}

/// An object, a number of bytes from its start, and multiples of terms.
pub(super) type Address = (Place, i64, Vec<(u64, Term)>);

/// Objects and their variables.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) layouts: Layouts,
    places: Vec<Place>,
    numbers: FxHashMap<Place, u64>,
    sizes: FxHashMap<Place, u64>,
    /// Variables: object, offset (or field), size.
    cells: BTreeMap<(Place, u64, u64), Symbol>,
    /// Where a variable is.
    homes: FxHashMap<Symbol, (Place, u64)>,
}

impl Memory {
    pub(super) fn new(layouts: Layouts) -> Memory {
        let (places, numbers, sizes, cells, homes) = Default::default();
        Memory { layouts, places, numbers, sizes, cells, homes }
    }

    /// The address at which an object starts.
    pub(super) fn base(&mut self, place: Place, size: u64) -> u64 {
        let next = self.places.len() as u64;
        let n = *self.numbers.entry(place).or_insert(next);
        if n == next {
            self.places.push(place);
            self.sizes.insert(place, size);
        }
        (n + 1) << SHIFT
    }

    /// The address of a function.
    pub(super) fn function(func: selvedge_ir::FuncId) -> u64 {
        (FUNCTIONS + func.index() as u64) << SHIFT
    }

    /// The function at an address.
    pub(super) fn function_at(module: &Module, address: u64) -> Option<selvedge_ir::FuncId> {
        let n = (address >> SHIFT).checked_sub(FUNCTIONS)?;
        module.functions.keys().nth(usize::try_from(n).ok()?)
    }

    pub(super) fn size(&self, place: Place) -> u64 {
        self.sizes[&place]
    }

    /// The object that an address is in, and the rest: a number and multiples of terms.
    pub(super) fn find(&self, terms: &Terms, address: Term) -> Option<Address> {
        let (constant, parts) = terms.linear(address);
        let place = self.object_at(constant)?;
        Some((place, constant.wrapping_sub((self.numbers[&place] + 1) << SHIFT) as i64, parts))
    }

    /// The object that a number is an address of, and the offset in it.
    pub(super) fn find_number(&self, address: u64) -> Option<(Place, i64)> {
        let place = self.object_at(address)?;
        Some((place, address.wrapping_sub(self.number(place) << SHIFT) as i64))
    }

    /// The number of an object, from 1.
    pub(super) fn number(&self, place: Place) -> u64 {
        self.numbers[&place] + 1
    }

    /// The object and offset of a variable, if it is a part of memory.
    pub(super) fn place_of(&self, symbol: Symbol) -> Option<(Place, u64)> {
        self.homes.get(&symbol).copied()
    }

    /// The variables of an object, with their offsets.
    pub(super) fn cells_of(&self, place: Place) -> Vec<(Symbol, u64)> {
        let all = self.cells.range((place, 0, 0)..=(place, u64::MAX, u64::MAX));
        all.map(|(&(_, offset, _), &symbol)| (symbol, offset)).collect()
    }

    /// The object whose start is nearest to an address.
    pub(super) fn object_at(&self, address: u64) -> Option<Place> {
        let n = (address.wrapping_add(1 << (SHIFT - 1)) >> SHIFT).checked_sub(1)?;
        self.places.get(usize::try_from(n).ok()?).copied()
    }

    /// The variable of a cell; a new one gets its initial value.
    pub(super) fn cell(&mut self, key: (Place, u64, u64), make: impl FnOnce() -> Symbol) -> Result<Symbol, String> {
        if let Some(&symbol) = self.cells.get(&key) {
            return Ok(symbol);
        }
        let (place, offset, size) = key;
        let overlaps = |&&(p, o, s): &&(Place, u64, u64)| p == place && o < offset + size && offset < o + s;
        if self.cells.keys().find(overlaps).is_some() {
            return Err("memory that is accessed in parts of different sizes".to_owned());
        }
        let symbol = make();
        self.cells.insert(key, symbol);
        self.homes.insert(symbol, (place, offset));
        Ok(symbol)
    }
}

/// The number at an offset of a global variable, before the program starts.
pub(super) fn initial_value(
    global: &Global,
    offset: u64,
    size: u64,
    mut base: impl FnMut(GlobalId) -> u64,
) -> Option<u64> {
    if let Some(reloc) = global.relocs.iter().find(|r| r.offset < offset + size && offset < r.offset + 8) {
        if reloc.offset != offset || size != 8 {
            return None;
        }
        let start = match reloc.target {
            RelocTarget::Global(id) => base(id),
            RelocTarget::Func(func) => Memory::function(func),
        };
        return Some(start.wrapping_add(reloc.addend as u64));
    }
    let byte = |n: u64| global.data.get((offset + n) as usize).copied().unwrap_or(0);
    Some((0..size).fold(0, |value, n| value | (u64::from(byte(n)) << (8 * n))))
}

/// The elements of a field of an initialised array; zeros at the end are left out.
pub(super) fn initial_elements(
    global: &Global,
    stride: u64,
    field: u64,
    size: u64,
    mut base: impl FnMut(GlobalId) -> u64,
) -> Option<Vec<u64>> {
    let count = global.size / stride;
    // Behind the data there are zeros.
    let used = (global.data.len() as u64).max(global.relocs.iter().map(|r| r.offset + 8).max().unwrap_or(0));
    let mut elements = Vec::new();
    for n in 0..count.min(used.div_ceil(stride)) {
        elements.push(initial_value(global, n * stride + field, size, &mut base)?);
    }
    while elements.last() == Some(&0) {
        elements.pop();
    }
    (elements.iter().filter(|e| **e != 0).count() <= INITIALISED).then_some(elements)
}

/// The greatest common divisor.
pub(super) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Where something is not supported, with a position.
pub(super) fn unsupported(feature: impl Into<String>, loc: LocId) -> super::Unsupported {
    super::Unsupported { feature: feature.into(), loc }
}

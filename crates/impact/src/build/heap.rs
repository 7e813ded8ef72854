//! Memory that a program allocates, and memory that has no first value.
//!
//! Every execution of an allocation gets an object of its own: the n-th at its place in the source, in its thread. How many
//! there were is counted along the path, so loops in which memory is allocated are taken apart, and an
//! allocation that is repeated without bound is refused. An object that somebody frees has a variable that says whether it
//! is still there; it is looked at in every access. So has a local variable that other threads use, unless it is one of
//! `main`: it is gone when its function returns.
//!
//! A variable on the stack or heap has a companion, one bit that says whether it was written: to read it before is an error.
//! If only one thread touches the variable, the bit is that thread's own, and mostly known. Elements of arrays have no
//! companion; at first they have any value.

use super::objects::{Cell, Place, Target, unsupported};
use super::path::{Ending, Path, Slot};
use super::run::At;
use super::{Builder, Unsupported};
use crate::program::{Access, ErrorKind, StepKind};
use crate::term::{Symbol, Term};
use selvedge_ir::{EntityRef, Value};

/// Companions of an object as a whole; others belong to the variable at an offset.
const COUNT: u64 = u64::MAX;
const FREED: u64 = u64::MAX - 1;

/// The most objects that are allocated at one place of a thread.
const ALLOCATIONS: u64 = 128;

impl Builder<'_> {
    /// `malloc`, or `calloc` if the memory is zeroed.
    pub(super) fn allocate(
        &mut self,
        path: &mut Path,
        at: At,
        size: Term,
        zeroed: bool,
        result: Option<Value>,
    ) -> Result<(), Unsupported> {
        let Some(size) = self.terms.constant(size) else {
            return Err(unsupported("an allocation whose size is not fixed", at.loc));
        };
        if size >= 1 << 31 {
            return Err(unsupported("an allocation of 2 GiB or more", at.loc));
        }
        let counter = self.allocated(path, at);
        let before = path.env.get(&Slot::Cell(counter)).copied();
        let Some(before) = before.map_or(Some(0), |term| self.terms.constant(term)) else {
            return Err(unsupported("a number of allocations that is not fixed", at.loc));
        };
        if before >= ALLOCATIONS {
            return Err(unsupported(format!("more than {ALLOCATIONS} allocations by one call"), at.loc));
        }
        let more = self.terms.number(before + 1, 32);
        path.env.insert(Slot::Cell(counter), more);
        let place = Place::Heap(path.context, at.inst, before as u32);
        let base = self.memory.base(place, size);
        if self.memory.size(place) != size {
            return Err(unsupported("an allocation whose size is not fixed", at.loc));
        }
        let line = self.module.locs[at.loc].line;
        let number = if before == 0 { String::new() } else { format!("#{}", before + 1) };
        let name = format!("allocated:{line}{number}");
        self.terms.addresses.entry(base).or_insert_with(|| name.clone());
        self.stack_names.insert(place, name);
        if zeroed {
            self.facts.zeroed.insert(place);
        }
        let address = self.terms.number(base, 64);
        self.define(path, result, address);
        Ok(())
    }

    /// A thread's count of what it has allocated at one place.
    fn allocated(&mut self, path: &Path, at: At) -> Symbol {
        self.companion_variable(Place::Heap(path.context, at.inst, u32::MAX), COUNT, "allocated", 32)
    }

    /// `free`. Whether that is done.
    pub(super) fn free(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        pointer: Term,
    ) -> Result<bool, Unsupported> {
        if self.terms.constant(pointer) == Some(0) {
            return Ok(true);
        }
        let Some((place, offset, parts)) = self.memory.find(&self.terms, pointer) else {
            return Err(unsupported("a pointer to be freed that is not fixed", at.loc));
        };
        if !matches!(place, Place::Heap(..)) || offset != 0 || !parts.is_empty() {
            path.fail(ErrorKind::InvalidPointer, "something is freed that was not allocated", at.loc);
            return Ok(false);
        }
        if !self.visible(path) {
            return Ok(false);
        }
        self.facts.freed.insert(place);
        self.facts.users.entry(place).or_default().insert(path.thread);
        let name = self.place_name(place);
        path.step(at.func, at.inst, StepKind::Call, at.loc);
        path.words.push(format!("free {name}"));
        let object = self.object(&name);
        path.accesses.push(Access { object, bytes: None, write: true });
        let gone = self.gone(place);
        let is_gone = self.current(path, gone);
        self.error_if(path, todo, is_gone, (ErrorKind::InvalidPointer, "memory is freed twice"), at.loc);
        if path.ending == Ending::Running {
            let yes = self.terms.bool(true);
            path.shared.values.insert(gone, yes);
        }
        Ok(path.ending == Ending::Running)
    }

    /// The bit that says whether an object was freed.
    fn gone(&mut self, place: Place) -> Symbol {
        let name = format!("{} is gone", self.place_name(place));
        self.companion_variable(place, FREED, &name, 1)
    }

    /// What a shared variable is on a path.
    pub(super) fn current(&mut self, path: &Path, symbol: Symbol) -> Term {
        path.shared.values.get(&symbol).copied().unwrap_or_else(|| self.terms.var(symbol))
    }

    /// A variable that stands beside an object or a part of it; 0 at the start.
    fn companion_variable(&mut self, place: Place, of: u64, name: &str, bits: u8) -> Symbol {
        if let Some(&symbol) = self.companions.get(&(place, of)) {
            return symbol;
        }
        let symbol = self.terms.symbol(name, bits, false, false);
        let zero = self.terms.number(0, bits);
        self.initial.values.insert(symbol, zero);
        self.companions.insert((place, of), symbol);
        symbol
    }

    /// What has to hold for any access: the index is inside, the object was not freed. Whether the path goes on.
    pub(super) fn may_be_accessed(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        target: &Target,
        words: &str,
    ) -> bool {
        if let (Cell::Element(_, index), Some(count)) = (target.cell, target.count) {
            let count = self.terms.number(count, 64);
            let inside = self.terms.ult(index, count);
            let outside = self.terms.not(inside);
            let message = format!("`{words}` is outside of its array");
            self.error_if(path, todo, outside, (ErrorKind::OutOfBounds, &message), at.loc);
        }
        path.ending == Ending::Running && self.must_live(path, todo, at, target.place, words)
    }

    /// An object must not have been freed, nor may its function have returned. Whether the path goes on.
    pub(super) fn must_live(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        place: Place,
        words: &str,
    ) -> bool {
        let name = if words.is_empty() { self.place_name(place) } else { words.to_owned() };
        if !self.is_on_stack(path, place) {
            let message = format!("`{name}` is accessed after its function has returned");
            path.fail(ErrorKind::InvalidPointer, message, at.loc);
            return false;
        }
        let how = match place {
            Place::Heap(..) if self.memory.layouts.is_freed(place) => "it was freed",
            Place::Stack(..) if self.is_mortal(place) => "its function has returned",
            _ => return true,
        };
        let gone = self.gone(place);
        let is_gone = self.current(path, gone);
        let message = format!("`{name}` is accessed after {how}");
        self.error_if(path, todo, is_gone, (ErrorKind::InvalidPointer, &message), at.loc);
        path.ending == Ending::Running
    }

    /// Whether a local variable is one of a function that has not returned, as far as its own thread can tell.
    fn is_on_stack(&self, path: &Path, place: Place) -> bool {
        let Place::Stack(home, _) = place else { return true };
        if self.contexts[home as usize].thread != path.thread {
            return true;
        }
        self.calls(path).contains(&home)
    }

    /// The contexts that a path is in, the innermost first.
    pub(super) fn calls(&self, path: &Path) -> Vec<u32> {
        let outer = |&context: &u32| self.contexts[context as usize].caller.map(|(outer, ..)| outer);
        std::iter::successors(Some(path.context), outer).collect()
    }

    /// Whether a local variable may be gone while other threads use it. Those of `main` are there until the process ends.
    pub(super) fn is_mortal(&self, place: Place) -> bool {
        let Place::Stack(home, _) = place else { return false };
        let Some(context) = self.contexts.get(home as usize) else { return false };
        let of_main = context.thread.index() == 0 && context.caller.is_none();
        !of_main && self.memory.layouts.is_shared(place)
    }

    /// Functions return, and others may still use their variables: that is a step. Whether it may be made here.
    pub(super) fn leave_stack(&mut self, path: &mut Path, at: At, contexts: &[u32]) -> bool {
        let all = contexts.iter().flat_map(|&context| self.memory.layouts.on_stack(context));
        let dying: Vec<Place> = all.filter(|&place| self.is_mortal(place)).collect();
        if dying.is_empty() {
            return true;
        }
        if !self.visible(path) {
            return false;
        }
        path.step(at.func, at.inst, StepKind::Return, at.loc);
        for place in dying {
            let name = self.place_name(place);
            path.words.push(format!("leave {name}"));
            let object = self.object(&name);
            path.accesses.push(Access { object, bytes: None, write: true });
            let gone = self.gone(place);
            let yes = self.terms.bool(true);
            path.shared.values.insert(gone, yes);
        }
        true
    }

    /// The bit that says whether a variable without a first value was written; none if it needs none.
    fn companion(&mut self, target: &Target) -> Option<Symbol> {
        let Cell::Scalar(symbol) = target.cell else { return None };
        let layouts = &self.memory.layouts;
        let starts_empty = !matches!(target.place, Place::Global(_)) && !layouts.is_zeroed(target.place);
        if !starts_empty || !layouts.is_written(target.place, target.offset) {
            return None;
        }
        let name = format!("{} was written", self.terms.symbols[symbol].name);
        Some(self.companion_variable(target.place, target.offset, &name, 1))
    }

    /// Whether a variable was written; none if it always has a value.
    pub(super) fn is_written_now(&mut self, path: &Path, target: &Target) -> Option<Term> {
        let companion = self.companion(target)?;
        Some(match self.memory.layouts.is_shared(target.place) {
            true => self.current(path, companion),
            false => path.env.get(&Slot::Cell(companion)).copied().unwrap_or_else(|| self.terms.bool(false)),
        })
    }

    /// A variable has a value from now on, or none any more.
    pub(super) fn note_written(&mut self, path: &mut Path, target: &Target, written: bool) {
        if let Some(companion) = self.companion(target) {
            self.set_companion(path, target.place, companion, written);
        }
    }

    fn set_companion(&mut self, path: &mut Path, place: Place, companion: Symbol, written: bool) {
        let bit = self.terms.bool(written);
        if self.memory.layouts.is_shared(place) {
            path.shared.values.insert(companion, bit);
        } else {
            path.env.insert(Slot::Cell(companion), bit);
        }
    }

    /// A variable is read: it must have been written. Whether the path goes on.
    pub(super) fn must_be_written(&mut self, path: &mut Path, todo: &mut Vec<Path>, at: At, target: &Target) -> bool {
        if let Some(written) = self.is_written_now(path, target) {
            let missing = self.terms.not(written);
            let what = (ErrorKind::UninitialisedRead, "a variable is read before it is written");
            self.error_if(path, todo, missing, what, at.loc);
        }
        path.ending == Ending::Running
    }

    /// A stack object comes into being, possibly not for the first time: whatever was in it is gone.
    pub(super) fn renew(&mut self, path: &mut Path, place: Place) {
        if self.is_mortal(place) {
            let gone = self.gone(place);
            let no = self.terms.bool(false);
            path.shared.values.insert(gone, no);
        }
        for (symbol, offset) in self.memory.cells_of(place) {
            path.env.remove(&Slot::Cell(symbol));
            if let Some(&companion) = self.companions.get(&(place, offset)) {
                self.set_companion(path, place, companion, false);
            }
        }
    }
}

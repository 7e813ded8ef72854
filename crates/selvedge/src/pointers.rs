//! Names for pointers.
//!
//! Values that threads pass to each other have to be the same in every run of a model, but addresses are not: the
//! allocator gives other ones every time. So what an `AtomicPtr` holds, as far as the engine is concerned, is a *name* of
//! the pointer. Within a run, names and pointers correspond one to one, so that comparing names is comparing pointers.
//!
//! Between runs, a pointer is recognised by where it was passed: a thread that was told the same outcomes passes the
//! same pointer at the same operation (a *passage*). A pointer that was passed nowhere yet in this run takes the name that
//! its passage had in former runs, or a new one.
//!
//! Two passages may turn out to be of one pointer after each has got a name of its own in a different run. Then
//! they are joined, and the exploration starts again: executions in which they were taken for different are void. If
//! no run has both, it makes no difference. The other way round, one name for what are two pointers in some run, happens
//! only if memory was given back and given out again in one run and not in another; that is an error
//! ([`Trouble::Reused`]), since whether an exchange confuses the two would depend on the allocator.

use rustc_hash::FxHashMap;

/// What a thread has done so far, and which of the pointers of its next operation it is.
pub(crate) type Passage = ([u64; 2], u32);

/// Why a pointer has no name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trouble {
    /// Names were joined: start again.
    Joined,
    /// Memory was reused.
    Reused,
}

/// The names of pointers.
#[derive(Default)]
pub(crate) struct Pointers {
    passages: FxHashMap<Passage, u32>,
    /// Names that are the same as another one, or themselves.
    same: Vec<u32>,
    /// In this run.
    names: FxHashMap<usize, u32>,
    pointers: Vec<usize>,
}

impl Pointers {
    /// A run starts.
    pub fn new_run(&mut self) {
        self.names.clear();
        self.pointers.clear();
    }

    fn root(&self, mut name: u32) -> u32 {
        while self.same[name as usize] != name {
            name = self.same[name as usize];
        }
        name
    }

    /// The name of a pointer that is passed somewhere; null is 0.
    pub fn name(&mut self, pointer: usize, passage: Passage) -> Result<u64, Trouble> {
        if pointer == 0 {
            return Ok(0);
        }
        let known = self.passages.get(&passage).map(|&name| self.root(name));
        let name = match (self.names.get(&pointer).copied(), known) {
            (Some(name), None) => {
                self.passages.insert(passage, name);
                name
            }
            (Some(name), Some(known)) if name == known => name,
            (Some(name), Some(known)) => {
                self.same[name.max(known) as usize] = name.min(known);
                return Err(Trouble::Joined);
            }
            (None, Some(known)) => {
                if self.pointer(u64::from(known) + 1) != 0 {
                    return Err(Trouble::Reused);
                }
                self.bind(known, pointer);
                known
            }
            (None, None) => {
                let name = self.same.len() as u32;
                self.same.push(name);
                self.passages.insert(passage, name);
                self.bind(name, pointer);
                name
            }
        };
        Ok(u64::from(name) + 1)
    }

    fn bind(&mut self, name: u32, pointer: usize) {
        self.names.insert(pointer, name);
        if self.pointers.len() <= name as usize {
            self.pointers.resize(name as usize + 1, 0);
        }
        self.pointers[name as usize] = pointer;
    }

    /// The pointer of a name in this run.
    pub fn pointer(&self, name: u64) -> usize {
        match name {
            0 => 0,
            name => self.pointers.get(name as usize - 1).copied().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Passage = ([1, 1], 0);
    const B: Passage = ([2, 2], 0);

    #[test]
    fn a_pointer_is_recognised_by_where_it_is_passed() {
        let mut pointers = Pointers::default();
        let name = pointers.name(0x100, A).unwrap();
        assert_eq!(pointers.name(0x100, B), Ok(name));
        pointers.new_run();
        assert_eq!(pointers.name(0x900, B), Ok(name));
        assert_eq!(pointers.pointer(name), 0x900);
        assert_eq!(pointers.name(0, A), Ok(0));
    }

    #[test]
    fn two_names_of_one_pointer_are_joined() {
        let mut pointers = Pointers::default();
        pointers.name(0x100, A).unwrap();
        pointers.new_run();
        pointers.name(0x100, B).unwrap();
        assert_eq!(pointers.name(0x100, A), Err(Trouble::Joined));
        pointers.new_run();
        assert_eq!(pointers.name(0x300, A), pointers.name(0x300, B));
    }

    #[test]
    fn memory_that_is_reused_in_one_run_only_is_noticed() {
        let mut pointers = Pointers::default();
        pointers.name(0x100, A).unwrap();
        pointers.name(0x100, B).unwrap();
        pointers.new_run();
        pointers.name(0x100, A).unwrap();
        assert_eq!(pointers.name(0x200, B), Err(Trouble::Reused));
    }
}

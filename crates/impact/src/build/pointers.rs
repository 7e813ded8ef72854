//! Pointers that may point into one of several objects: told apart by cases.
//!
//! Three things keep it known, at every place of a thread, which object a pointer points into.
//!
//! 1. A choice between two addresses makes two paths.
//! 2. What is read from a cell that holds addresses is one of the addresses that were ever stored there, or its first
//!    value: one path for each. Which ones these are is found out while building, as everything else is ([`super`]).
//! 3. Two ways that meet with a pointer into different objects do not meet: the object is part of the location.
//!
//! Which address it is within its object may vary along the ways that do meet; `knowledge.rs` sees to that. An address with
//! a variable part that is stored where others could read it is not followed: the pointer is then refused where it is used.

use super::Builder;
use super::objects::{Address, Memory, Place, Target};
use super::path::{Path, Slot};
use crate::term::{Node, Term};
use selvedge_ir::{FuncId, GlobalId, Type};
use std::collections::BTreeSet;

/// The most addresses that a cell may hold, one after the other.
const CASES: usize = 24;

/// Something that was stored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Stored {
    /// A number; 0 is the null pointer.
    Number(u64),
    /// The address of a function.
    Function(FuncId),
    /// An address within an object, whose size is given too.
    Address(Place, u64, i64),
}

/// All that was stored in a cell; none if that is more than can be told apart.
pub(super) type AllStored = Option<BTreeSet<Stored>>;

impl Builder<'_> {
    /// Notes what is stored in a cell.
    pub(super) fn note_stored(&mut self, target: &Target, value: Term) {
        if self.terms.bits(value) != 64 {
            return;
        }
        let mut values = BTreeSet::new();
        let known = self.leaves(value, target, &mut values);
        let all = self.facts.stored.entry((target.place, target.offset)).or_insert_with(|| Some(BTreeSet::new()));
        match all {
            Some(set) if known => {
                set.extend(values);
                if set.len() > CASES {
                    *all = None;
                }
            }
            _ => *all = None,
        }
    }

    /// The values that a term may have, if they are few; what was in the cell before may stay there.
    fn leaves(&self, value: Term, target: &Target, values: &mut BTreeSet<Stored>) -> bool {
        if let Some(number) = self.terms.constant(value) {
            values.insert(self.stored(number));
            return true;
        }
        match *self.terms.node(value) {
            Node::Ite(_, a, b) => self.leaves(a, target, values) && self.leaves(b, target, values),
            Node::Var(symbol) => self.memory.place_of(symbol) == Some((target.place, target.offset)),
            _ => false,
        }
    }

    fn stored(&self, number: u64) -> Stored {
        if let Some(func) = Memory::function_at(self.module, number) {
            return Stored::Function(func);
        }
        match self.memory.find_number(number) {
            Some((place, offset)) => Stored::Address(place, self.memory.size(place), offset),
            None => Stored::Number(number),
        }
    }

    fn number_of(&mut self, stored: Stored) -> u64 {
        match stored {
            Stored::Number(number) => number,
            Stored::Function(func) => Memory::function(func),
            Stored::Address(place, size, offset) => self.memory.base(place, size).wrapping_add(offset as u64),
        }
    }

    /// A path for each value that a cell may have, if it holds addresses and it is not known which; with the value.
    pub(super) fn cases(&mut self, path: &Path, target: &Target, ty: Type, value: Term) -> Vec<(Path, Term)> {
        let as_it_is = |path: &Path| vec![(path.clone(), value)];
        if self.terms.bits(value) != 64 || self.is_resolved(value) {
            return as_it_is(path);
        }
        let Some(Some(mut all)) = self.memory.layouts.stored((target.place, target.offset)).cloned() else {
            return as_it_is(path);
        };
        // Numbers are not told apart, unless they are null pointers of which nothing else is known yet.
        let only_null = all.iter().all(|one| *one == Stored::Number(0));
        if ty != Type::Ptr && !only_null && !holds_addresses(&all) {
            return as_it_is(path);
        }
        let Some(first) = self.first_values(target) else { return as_it_is(path) };
        all.extend(first.into_iter().map(|number| self.stored(number)));
        if all.len() > CASES {
            return as_it_is(path);
        }
        let numbers: Vec<u64> = all.into_iter().map(|one| self.number_of(one)).collect();
        let mut ways = Vec::new();
        let mut way = path.clone();
        for (n, &number) in numbers.iter().enumerate() {
            let number = self.terms.number(number, 64);
            if n + 1 == numbers.len() {
                // It is one of them.
                ways.push((way.clone(), number));
                break;
            }
            let same = self.terms.eq(value, number);
            let mut so = way.clone();
            so.guard.push(same);
            ways.push((so, number));
            let differs = self.terms.not(same);
            way.guard.push(differs);
        }
        ways
    }

    /// What a cell may hold before anything is stored.
    fn first_values(&mut self, target: &Target) -> Option<Vec<u64>> {
        let Place::Global(global) = target.place else { return Some(vec![0]) };
        let (module, memory) = (self.module, &mut self.memory);
        let mut base = |id: GlobalId| memory.base(Place::Global(id), module.globals[id].size);
        let data = &module.globals[global];
        match target.count {
            None => super::objects::initial_value(data, target.offset, 8, &mut base).map(|number| vec![number]),
            Some(count) => {
                let stride = data.size / count.max(1);
                let mut found = super::objects::initial_elements(data, stride, target.offset, 8, &mut base)?;
                if (found.len() as u64) < count {
                    found.push(0);
                }
                Some(found)
            }
        }
    }

    /// Whether it is known where an address points to.
    fn is_resolved(&self, value: Term) -> bool {
        self.terms.constant(value).is_some() || self.memory.find(&self.terms, value).is_some()
    }

    /// Which object a value points into, as a number: 0 for the null pointer; none if it is not known or no address.
    fn object_number(&self, value: Term) -> Option<u64> {
        if self.terms.constant(value) == Some(0) {
            return Some(0);
        }
        if let Some(func) = self.terms.constant(value).and_then(|a| Memory::function_at(self.module, a)) {
            return Some(Memory::function(func));
        }
        let address: Option<Address> = self.memory.find(&self.terms, value);
        address.map(|(place, ..)| self.memory.number(place))
    }

    /// The objects that the pointers of a path point into: part of the location where it ends.
    pub(super) fn targets(&self, path: &Path) -> Vec<(Slot, u64)> {
        let mut targets = Vec::new();
        for (&slot, &term) in &path.env {
            let is_pointer = match slot {
                Slot::Value(context, value) => {
                    self.module.functions[self.func_of(context)].values[value].ty == Type::Ptr
                }
                Slot::Cell(symbol) => self.memory.place_of(symbol).is_some_and(|cell| {
                    self.memory.layouts.stored(cell).is_some_and(|all| all.as_ref().is_some_and(holds_addresses))
                }),
            };
            if is_pointer && let Some(object) = self.object_number(term) {
                targets.push((slot, object));
            }
        }
        targets
    }
}

fn holds_addresses(all: &BTreeSet<Stored>) -> bool {
    all.iter().any(|one| !matches!(one, Stored::Number(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_ir::{EntityRef, Inst};

    #[test]
    fn stored_values_have_an_order_of_their_own() {
        let place = Place::Stack(0, Inst::new(1));
        let mut all = BTreeSet::from([Stored::Address(place, 8, 0), Stored::Number(0)]);
        assert!(!all.insert(Stored::Number(0)));
        assert_eq!(all.first(), Some(&Stored::Number(0)), "the null pointer is the first case");
    }
}

//! Where a thread starts, and what it knows there.
//!
//! A thread mostly begins with code that nobody else can notice and that is the same for all inputs: it comes to the
//! first access, often at the head of a loop. It starts there, with the values that it then has as first values. So the
//! first round of a loop starts where every later one does: for n threads that are in their first round or in a later
//! one, there are not two to the power of n places where all of them are in front of their loops.

use super::knowledge::{self, Knowledge, Known};
use super::objects::unsupported;
use super::path::{Ending, Key, Path, Slot};
use super::{Builder, Context, Unsupported};
use crate::program::ThreadId;
use selvedge_ir::{EntityRef, Value};

/// Where a thread starts, and what it knows there.
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) known: Known,
}

impl Builder<'_> {
    /// The start of a thread.
    pub(super) fn entry(&mut self, thread: ThreadId) -> Result<Entry, Unsupported> {
        let start = self.starts[thread.index()].clone();
        let func = &self.module.functions[start.func];
        if func.params.len() > start.args.len() {
            return Err(unsupported("a thread that runs a function with several parameters", func.loc));
        }
        if thread.index() == 0 && func.params.iter().any(|_| true) {
            let used = |value: Value| {
                func.placed_insts().any(|(_, inst)| func.insts[inst].kind.used_values().contains(&value))
            };
            if func.params.iter().any(|&param| used(param)) {
                return Err(unsupported("the arguments of `main`", func.loc));
            }
        }
        let block = func.entry();
        let params = func.params.clone();
        let context = self.context(Context { thread, func: start.func, caller: None, atomic: false });
        let values =
            params.iter().zip(&start.args).map(|(&param, &arg)| (Slot::Value(context, param), Knowledge::Number(arg)));
        let known = values.collect();
        let key = Key { thread, context, block, index: 0, phase: 0, counters: Vec::new(), targets: Vec::new() };
        Ok(Entry { key, known })
    }

    /// The place in front of the first access, if there is one way to it, which does nothing that a schedule would name.
    pub(super) fn past_local_code(&mut self, entry: Entry) -> Result<Entry, Unsupported> {
        let env = self.environment(entry.key.thread, &entry.known);
        let mut path = Path::new(&entry.key, env);
        // As if it had made an access already: it ends in front of the next one.
        path.visible = true;
        let mut others = Vec::new();
        while path.ending == Ending::Running && others.is_empty() {
            self.run(&mut path, &mut others)?;
        }
        let known = knowledge::at_end(&self.terms, &self.memory, &path);
        let is_plain = path.steps.is_empty()
            && path.guard.is_empty()
            && path.inputs.is_empty()
            && path.accesses.is_empty()
            && path.shared.values.is_empty()
            && path.shared.arrays.is_empty()
            && !path.back_jump;
        let is_number = |(slot, value): (&Slot, &Knowledge)| {
            matches!(slot, Slot::Value(..)) && matches!(value, Knowledge::Number(_))
        };
        match path.ending {
            Ending::Cut(key) if others.is_empty() && is_plain && known.iter().all(is_number) => {
                Ok(Entry { key, known })
            }
            _ => Ok(entry),
        }
    }

    /// Gives variables the values that a thread starts with, now that it is known which of them are variables.
    pub(super) fn start_with(&mut self, entry: &Entry) {
        let at_entry = self.locations[&entry.key].clone();
        for (&slot, &value) in &entry.known {
            let (Knowledge::Number(number), Some(&general)) = (value, at_entry.get(&slot)) else { continue };
            let bits = self.slot_bits(slot);
            let number = self.terms.number(number, bits);
            if let Some(first) = knowledge::variable_part(&mut self.terms, general, number) {
                let symbol = self.local(entry.key.thread, slot, bits);
                self.initial.values.insert(symbol, first);
            }
        }
    }
}

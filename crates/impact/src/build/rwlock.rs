//! Read-write locks.
//!
//! The word counts readers; a writer puts its number there, with the highest bit set. Readers and writers are not preferred over
//! each other. Who gives back what it does not hold makes a mistake; each thread knows how often it holds a lock for reading.

use super::objects::{Target, unsupported};
use super::path::{Ending, Path, Slot};
use super::run::At;
use super::{Builder, Unsupported};
use crate::program::{ErrorKind, StepKind};
use crate::term::{Symbol, Term};
use selvedge_ir::{EntityRef, Type, Value};

const WRITER: u64 = 0x8000_0000;
const EBUSY: u64 = 16;

impl Builder<'_> {
    /// An operation on a read-write lock. Whether its result is 0 and the path goes on; otherwise it is dealt with.
    pub(super) fn rwlock(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        name: &str,
        args: &[Term],
        result: Option<Value>,
    ) -> Result<bool, Unsupported> {
        let operation = name.strip_prefix("pthread_rwlock_").unwrap_or(name);
        if operation == "init" {
            return self.init(path, todo, at, args, 1);
        }
        if operation == "destroy" {
            return self.destroy(path, todo, at, args[0], true);
        }
        if path.atomic > 0 {
            return Err(unsupported("a lock in an atomic section", at.loc));
        }
        if !self.visible(path) {
            return Ok(false);
        }
        let Some(target) = self.live_word(path, todo, at, args[0])? else { return Ok(false) };
        let word = self.read(path, at, &target, Type::Int(32));
        let count = self.reads(path, &target);
        let held = path.env.get(&Slot::Cell(count)).copied().unwrap_or_else(|| self.terms.number(0, 32));
        let once_more = self.terms.add_constant(held, 1);
        let writer = self.terms.number(WRITER, 32);
        let no_writer = self.terms.ult(word, writer);
        let free = self.is_zero(word);
        let more = self.terms.add_constant(word, 1);
        let me = self.terms.number(WRITER | (path.thread.index() as u64 + 1), 32);
        match operation {
            "rdlock" => {
                self.enter(path, at, &target, no_writer, more, "read-lock");
                path.env.insert(Slot::Cell(count), once_more);
            }
            "wrlock" => self.enter(path, at, &target, free, me, "write-lock"),
            "tryrdlock" => {
                self.try_enter(path, todo, at, &target, (no_writer, more), result);
                path.env.insert(Slot::Cell(count), once_more);
            }
            "trywrlock" => self.try_enter(path, todo, at, &target, (free, me), result),
            "unlock" => {
                let less = self.leave(path, todo, at, &target, (word, me), held);
                path.env.insert(Slot::Cell(count), less);
            }
            _ => return Err(self.refuse_call(name, at)),
        }
        Ok(path.ending == Ending::Running)
    }

    fn enter(&mut self, path: &mut Path, at: At, target: &Target, open: Term, after: Term, word: &str) {
        path.guard.push(open);
        path.may_block = true;
        self.write(path, target, after);
        self.note(path, at, target, StepKind::Lock, word);
    }

    /// Takes the lock; on another path, it is busy.
    fn try_enter(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        target: &Target,
        (open, after): (Term, Term),
        result: Option<Value>,
    ) {
        self.note(path, at, target, StepKind::TryLock, "try to lock");
        let mut other = path.clone();
        let closed = self.terms.not(open);
        other.guard.push(closed);
        let busy = self.terms.number(EBUSY, 32);
        self.define(&mut other, result, busy);
        other.index += 1;
        todo.push(other);
        path.guard.push(open);
        self.write(path, target, after);
    }

    /// Gives the lock back; how often the thread then holds it for reading.
    fn leave(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        target: &Target,
        (word, me): (Term, Term),
        held: Term,
    ) -> Term {
        self.note(path, at, target, StepKind::Unlock, "unlock");
        let reads_none = self.is_zero(held);
        let writes = self.terms.eq(word, me);
        let writes_not = self.terms.not(writes);
        let wrong = self.terms.and(reads_none, writes_not);
        let name = self.place_name(target.place);
        let message = format!("`{name}` is unlocked by a thread that does not hold it");
        self.error_if(path, todo, wrong, (ErrorKind::LockMisuse, &message), at.loc);
        let (zero, less) = (self.terms.number(0, 32), self.terms.add_constant(word, u64::MAX));
        let left = self.terms.ite(reads_none, zero, less);
        self.write(path, target, left);
        let one_less = self.terms.add_constant(held, u64::MAX);
        self.terms.ite(reads_none, held, one_less)
    }

    /// How often a thread holds a lock for reading.
    fn reads(&mut self, path: &Path, target: &Target) -> Symbol {
        let name = format!("{} reads under {}", self.thread_name(path.thread), self.place_name(target.place));
        self.own((path.thread, target.place, target.offset), &name, 32)
    }
}

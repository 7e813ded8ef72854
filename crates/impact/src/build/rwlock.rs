//! Read-write locks.
//!
//! The word counts readers; a writer puts its number there, with the highest bit set. Readers and writers are not preferred over
//! each other. Who gives back what it does not hold makes a mistake; of readers only their number is known, so that one
//! reader that unlocks for another goes unnoticed.

use super::objects::{Target, unsupported};
use super::path::{Ending, Path};
use super::run::At;
use super::{Builder, Unsupported};
use crate::program::{ErrorKind, StepKind};
use crate::term::Term;
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
            return self.init(path, at, args, 1);
        }
        if path.atomic > 0 {
            return Err(unsupported("a lock in an atomic section", at.loc));
        }
        if !self.visible(path) {
            return Ok(false);
        }
        let Some((target, _)) = self.word(path, at, args[0], 0, 4)? else { return Ok(false) };
        let word = self.read(path, at, &target, Type::Int(32));
        if path.ending != Ending::Running {
            return Err(unsupported("a lock on the stack that was not initialised", at.loc));
        }
        let writer = self.terms.number(WRITER, 32);
        let no_writer = self.terms.ult(word, writer);
        let free = self.is_zero(word);
        let more = self.terms.add_constant(word, 1);
        let me = self.terms.number(WRITER | (path.thread.index() as u64 + 1), 32);
        match operation {
            "rdlock" => self.enter(path, at, &target, no_writer, more, "read-lock"),
            "wrlock" => self.enter(path, at, &target, free, me, "write-lock"),
            "tryrdlock" => return self.try_enter(path, at, &target, (no_writer, more, word), result),
            "trywrlock" => return self.try_enter(path, at, &target, (free, me, word), result),
            "unlock" => self.leave(path, todo, at, &target, word, (no_writer, free, me)),
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

    fn try_enter(
        &mut self,
        path: &mut Path,
        at: At,
        target: &Target,
        (open, after, before): (Term, Term, Term),
        result: Option<Value>,
    ) -> Result<bool, Unsupported> {
        let left = self.terms.ite(open, after, before);
        self.write(path, target, left);
        self.note(path, at, target, StepKind::TryLock, "try to lock");
        let (taken, busy) = (self.terms.number(0, 32), self.terms.number(EBUSY, 32));
        let answer = self.terms.ite(open, taken, busy);
        self.define(path, result, answer);
        path.index += 1;
        Ok(false)
    }

    fn leave(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        target: &Target,
        word: Term,
        (no_writer, free, me): (Term, Term, Term),
    ) {
        self.note(path, at, target, StepKind::Unlock, "unlock");
        let not_mine = self.terms.ne(word, me);
        let has_writer = self.terms.not(no_writer);
        let others = self.terms.and(has_writer, not_mine);
        let wrong = self.terms.or(free, others);
        let name = self.place_name(target.place);
        let message = format!("`{name}` is unlocked by a thread that does not hold it");
        self.error_if(path, todo, wrong, (ErrorKind::LockMisuse, &message), at.loc);
        let (zero, less) = (self.terms.number(0, 32), self.terms.add_constant(word, u64::MAX));
        let left = self.terms.ite(no_writer, less, zero);
        self.write(path, target, left);
    }
}

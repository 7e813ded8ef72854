//! Operations of synchronisation, and mutexes and semaphores.
//!
//! | object | variables | operations |
//! |---|---|---|
//! | mutex | its word: 0, or the holder's number plus 1 | lock waits for 0; unlock by anybody else is an error |
//! | semaphore | its word | wait until it is not 0 |
//!
//! Others have files of their own: `condition.rs`, `barrier.rs`, `rwlock.rs`, `threads.rs`.

use super::objects::{Cell, Place, Target, unsupported};
use super::path::{Ending, Path};
use super::run::At;
use super::{Builder, Unsupported};
use crate::program::{Access, ErrorKind, StepKind};
use crate::term::{Symbol, Term};
use selvedge_ir::{EntityRef, Type, Value};

/// Offset of the kind in a mutex of the GNU C library.
const MUTEX_KIND: usize = 16;

/// The word of an object that was destroyed: nobody's number.
pub(super) const DESTROYED: u64 = 0xffff_ffff;

impl Builder<'_> {
    /// Calls a function that has to do with threads.
    pub(super) fn synchronise(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        name: &str,
        args: &[Term],
        result: Option<Value>,
    ) -> Result<(), Unsupported> {
        let done = match name {
            "pthread_mutex_init" => self.init(path, todo, at, args, 1)?,
            "pthread_cond_init" => self.init(path, todo, at, args, 1)?,
            "pthread_mutex_lock" => self.lock(path, todo, at, args[0])?,
            "pthread_mutex_trylock" => return self.try_lock(path, todo, at, args[0], result),
            "pthread_mutex_unlock" => self.unlock(path, todo, at, args[0])?,
            "pthread_mutex_destroy" => self.destroy(path, todo, at, args[0], true)?,
            "sem_init" => self.sem_init(path, todo, at, args)?,
            "sem_wait" => self.sem_wait(path, todo, at, args[0])?,
            "sem_post" => self.sem_post(path, todo, at, args[0])?,
            "sem_destroy" | "pthread_cond_destroy" => self.destroy(path, todo, at, args[0], false)?,
            "pthread_cond_wait" => self.cond_wait(path, todo, at, args[0], args[1])?,
            "pthread_cond_signal" => self.cond_signal(path, todo, at, args[0], false)?,
            "pthread_cond_broadcast" => self.cond_signal(path, todo, at, args[0], true)?,
            name if name.starts_with("pthread_rwlock_") => {
                if !self.rwlock(path, todo, at, name, args, result)? {
                    return Ok(());
                }
                true
            }
            "pthread_barrier_init" => self.barrier_init(path, todo, at, args)?,
            "pthread_barrier_wait" => self.barrier_wait(path, todo, at, args[0])?,
            "pthread_barrier_destroy" => self.barrier_destroy(path, todo, at, args[0])?,
            "pthread_create" => self.create(path, at, args)?,
            "pthread_join" => self.join(path, todo, at, args)?,
            "pthread_detach" => self.detach(path, todo, at, args[0])?,
            "pthread_exit" => {
                let calls = self.calls(path);
                if path.thread.index() == 0 || self.leave_stack(path, at, &calls) {
                    self.end_thread(path, at, args.first().copied());
                }
                false
            }
            "pthread_self" => {
                let handle = self.terms.number(path.thread.index() as u64 + 1, 64);
                self.define(path, result, handle);
                path.index += 1;
                return Ok(());
            }
            _ => return Err(self.refuse_call(name, at)),
        };
        if done && path.ending == Ending::Running {
            let zero = result.map(|value| self.module.functions[at.func].values[value].ty.bits() as u8);
            if let Some(bits) = zero {
                let zero = self.terms.number(0, bits);
                self.define(path, result, zero);
            }
            path.index += 1;
        }
        Ok(())
    }

    /// The word of a synchronisation object, and the object itself for the accesses. None if the path has ended.
    pub(super) fn word(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        address: Term,
        offset: u64,
        size: u64,
    ) -> Result<Option<(Target, Symbol)>, Unsupported> {
        let address = self.terms.add_constant(address, offset);
        let Some((place, ..)) = self.memory.find(&self.terms, address) else {
            // A null pointer, or one that cannot be resolved: as in any other access.
            self.locate(path, at, address, size, "")?;
            return Ok(None);
        };
        let words = if offset == 0 { self.place_name(place) } else { format!("{}.{offset}", self.place_name(place)) };
        let Some(target) = self.locate(path, at, address, size, &words)? else { return Ok(None) };
        self.touch(path, &target, true);
        if !self.may_be_accessed(path, todo, at, &target, &words) {
            return Ok(None);
        }
        match target.cell {
            Cell::Scalar(symbol) => Ok(Some((target, symbol))),
            Cell::Element(..) => Err(unsupported("a synchronisation object in an array with a variable index", at.loc)),
        }
    }

    pub(super) fn note(&mut self, path: &mut Path, at: At, target: &Target, kind: StepKind, word: &str) {
        path.step(at.func, at.inst, kind, at.loc);
        let name = self.place_name(target.place);
        path.words.push(format!("{word} {name}"));
        let object = self.object(&name);
        path.accesses.push(Access { object, bytes: target.bytes, write: true });
    }

    pub(super) fn get(&mut self, path: &mut Path, at: At, target: &Target, bits: u8) -> Term {
        self.read(path, at, target, Type::Int(bits))
    }

    pub(super) fn me(&mut self, path: &Path) -> Term {
        self.terms.number(path.thread.index() as u64 + 1, 32)
    }

    pub(super) fn init(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        args: &[Term],
        attr: usize,
    ) -> Result<bool, Unsupported> {
        if args.get(attr).is_some_and(|&attr| self.terms.constant(attr) != Some(0)) {
            return Err(unsupported("a synchronisation object with attributes", at.loc));
        }
        if !self.visible(path) {
            return Ok(false);
        }
        let Some((target, _)) = self.word(path, todo, at, args[0], 0, 4)? else { return Ok(false) };
        self.note(path, at, &target, StepKind::Call, "init");
        if matches!(target.place, Place::Global(_)) {
            let (word, me) = (self.get(path, at, &target, 32), self.me(path));
            let held = self.terms.eq(word, me);
            let message = format!("`{}` is initialised while it is held", self.place_name(target.place));
            self.error_if(path, todo, held, (ErrorKind::LockMisuse, &message), at.loc);
        }
        let zero = self.terms.number(0, 32);
        self.write(path, &target, zero);
        Ok(true)
    }

    /// The word of an object that must exist: it was initialised, and not destroyed. None if the path has ended.
    pub(super) fn live_word(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        address: Term,
    ) -> Result<Option<Target>, Unsupported> {
        let Some((target, _)) = self.word(path, todo, at, address, 0, 4)? else { return Ok(None) };
        if !self.must_be_written(path, todo, at, &target) {
            return Ok(None);
        }
        if self.memory.layouts.is_destroyed((target.place, target.offset)) {
            let word = self.get(path, at, &target, 32);
            let name = self.place_name(target.place);
            let destroyed = self.terms.number(DESTROYED, 32);
            let gone = self.terms.eq(word, destroyed);
            let message = format!("`{name}` is used after it was destroyed");
            self.error_if(path, todo, gone, (ErrorKind::LockMisuse, &message), at.loc);
        }
        Ok((path.ending == Ending::Running).then_some(target))
    }

    /// Ends the life of an object; it must not be `held`, if that can be said of it.
    pub(super) fn destroy(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        object: Term,
        held: bool,
    ) -> Result<bool, Unsupported> {
        if !self.visible(path) {
            return Ok(false);
        }
        let Some((target, _)) = self.word(path, todo, at, object, 0, 4)? else { return Ok(false) };
        self.facts.destroyed.insert((target.place, target.offset));
        self.note(path, at, &target, StepKind::Call, "destroy");
        if !self.must_be_written(path, todo, at, &target) {
            return Ok(false);
        }
        let word = self.get(path, at, &target, 32);
        let name = self.place_name(target.place);
        let destroyed = self.terms.number(DESTROYED, 32);
        let again = self.terms.eq(word, destroyed);
        let message = format!("`{name}` is destroyed twice");
        self.error_if(path, todo, again, (ErrorKind::LockMisuse, &message), at.loc);
        if held && path.ending == Ending::Running {
            let free = self.is_zero(word);
            let busy = self.terms.not(free);
            let message = format!("`{name}` is destroyed while it is held");
            self.error_if(path, todo, busy, (ErrorKind::LockMisuse, &message), at.loc);
        }
        self.write(path, &target, destroyed);
        Ok(path.ending == Ending::Running)
    }

    fn plain_mutex(&self, target: &Target, at: At) -> Result<(), Unsupported> {
        let Place::Global(global) = target.place else { return Ok(()) };
        let data = &self.module.globals[global].data;
        let from = target.bytes.map_or(0, |(from, _)| from as usize) + MUTEX_KIND;
        if data.get(from).is_some_and(|&kind| kind != 0) {
            return Err(unsupported("a recursive or error-checking mutex", at.loc));
        }
        Ok(())
    }

    fn lock(&mut self, path: &mut Path, todo: &mut Vec<Path>, at: At, mutex: Term) -> Result<bool, Unsupported> {
        if path.atomic > 0 {
            return Err(unsupported("a lock in an atomic section", at.loc));
        }
        if !self.visible(path) {
            return Ok(false);
        }
        let Some(target) = self.live_word(path, todo, at, mutex)? else { return Ok(false) };
        self.plain_mutex(&target, at)?;
        let word = self.get(path, at, &target, 32);
        let free = self.is_zero(word);
        path.guard.push(free);
        path.may_block = true;
        let me = self.me(path);
        self.write(path, &target, me);
        self.note(path, at, &target, StepKind::Lock, "lock");
        Ok(true)
    }

    fn try_lock(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        mutex: Term,
        result: Option<Value>,
    ) -> Result<(), Unsupported> {
        if !self.visible(path) {
            return Ok(());
        }
        let Some(target) = self.live_word(path, todo, at, mutex)? else { return Ok(()) };
        self.plain_mutex(&target, at)?;
        let word = self.get(path, at, &target, 32);
        let free = self.is_zero(word);
        let me = self.me(path);
        let held = self.terms.ite(free, me, word);
        self.write(path, &target, held);
        self.note(path, at, &target, StepKind::TryLock, "try to lock");
        let (taken, busy) = (self.terms.number(0, 32), self.terms.number(16, 32));
        let answer = self.terms.ite(free, taken, busy);
        self.define(path, result, answer);
        path.index += 1;
        Ok(())
    }

    fn unlock(&mut self, path: &mut Path, todo: &mut Vec<Path>, at: At, mutex: Term) -> Result<bool, Unsupported> {
        if !self.visible(path) {
            return Ok(false);
        }
        let Some(target) = self.live_word(path, todo, at, mutex)? else { return Ok(false) };
        self.note(path, at, &target, StepKind::Unlock, "unlock");
        let word = self.get(path, at, &target, 32);
        let me = self.me(path);
        let other = self.terms.ne(word, me);
        let name = self.place_name(target.place);
        let message = format!("`{name}` is unlocked by a thread that does not hold it");
        self.error_if(path, todo, other, (ErrorKind::LockMisuse, &message), at.loc);
        let zero = self.terms.number(0, 32);
        self.write(path, &target, zero);
        Ok(true)
    }

    fn sem_init(&mut self, path: &mut Path, todo: &mut Vec<Path>, at: At, args: &[Term]) -> Result<bool, Unsupported> {
        if !self.visible(path) {
            return Ok(false);
        }
        let Some((target, _)) = self.word(path, todo, at, args[0], 0, 4)? else { return Ok(false) };
        self.write(path, &target, args[2]);
        self.note(path, at, &target, StepKind::Call, "init");
        Ok(true)
    }

    fn sem_wait(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        semaphore: Term,
    ) -> Result<bool, Unsupported> {
        if path.atomic > 0 {
            return Err(unsupported("a semaphore in an atomic section", at.loc));
        }
        if !self.visible(path) {
            return Ok(false);
        }
        let Some(target) = self.live_word(path, todo, at, semaphore)? else { return Ok(false) };
        let word = self.get(path, at, &target, 32);
        let zero = self.is_zero(word);
        let some = self.terms.not(zero);
        path.guard.push(some);
        path.may_block = true;
        let less = self.terms.add_constant(word, u64::MAX);
        self.write(path, &target, less);
        self.note(path, at, &target, StepKind::Lock, "wait for");
        Ok(true)
    }

    fn sem_post(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        semaphore: Term,
    ) -> Result<bool, Unsupported> {
        if !self.visible(path) {
            return Ok(false);
        }
        let Some(target) = self.live_word(path, todo, at, semaphore)? else { return Ok(false) };
        let word = self.get(path, at, &target, 32);
        let more = self.terms.add_constant(word, 1);
        self.write(path, &target, more);
        self.note(path, at, &target, StepKind::Unlock, "post");
        Ok(true)
    }
}

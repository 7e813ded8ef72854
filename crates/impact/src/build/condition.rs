//! Condition variables.
//!
//! For each thread that ever waits there is a variable: 0, 1 waiting, 2 woken. To wait is two steps: the first releases the
//! mutex, the second waits to be woken *and* for the mutex. Nobody is woken without a signal; which waiting thread a signal
//! wakes is an input.

use super::objects::{Place, Target, unsupported};
use super::path::{Ending, Path};
use super::run::At;
use super::{Builder, Unsupported};
use crate::program::{Access, ErrorKind, StepKind, ThreadId, WOKEN};
use crate::term::Term;
use selvedge_ir::EntityRef;

impl Builder<'_> {
    /// The variable that says whether a thread waits on a condition variable.
    fn waiting(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        cond: Term,
        thread: ThreadId,
    ) -> Result<Option<Target>, Unsupported> {
        if thread.index() >= 40 {
            return Err(unsupported("a condition variable for more than 40 threads", at.loc));
        }
        // One byte of the object for each thread, behind the word that initialisation clears.
        let offset = 4 + thread.index() as u64;
        Ok(self.word(path, todo, at, cond, offset, 1)?.map(|(target, _)| target))
    }

    /// Whether a condition variable was initialised, and not destroyed; otherwise the path has ended. Its word is an access
    /// only if somebody may change it.
    fn cond_exists(&mut self, path: &mut Path, todo: &mut Vec<Path>, at: At, cond: Term) -> Result<bool, Unsupported> {
        let Some((place, offset, _)) = self.memory.find(&self.terms, cond) else {
            self.locate(path, at, cond, 4, "")?;
            return Ok(false);
        };
        let is_destroyed = self.memory.layouts.is_destroyed((place, offset as u64));
        let is_freed = self.memory.layouts.is_freed(place);
        if matches!(place, Place::Global(_)) && !is_destroyed && !is_freed {
            return Ok(true);
        }
        let Some(target) = self.live_word(path, todo, at, cond)? else { return Ok(false) };
        self.note_object(path, &target);
        Ok(true)
    }

    pub(super) fn cond_wait(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        cond: Term,
        mutex: Term,
    ) -> Result<bool, Unsupported> {
        if path.atomic > 0 {
            return Err(unsupported("waiting in an atomic section", at.loc));
        }
        if !self.visible(path) {
            return Ok(false);
        }
        let Some((place, offset, _)) = self.memory.find(&self.terms, cond) else {
            self.locate(path, at, cond, 4, "")?;
            return Ok(false);
        };
        self.facts.waiters.entry((place, offset as u64)).or_default().insert(path.thread);
        if path.phase == 0 && !self.cond_exists(path, todo, at, cond)? {
            return Ok(false);
        }
        let Some(waiting) = self.waiting(path, todo, at, cond, path.thread)? else { return Ok(false) };
        let Some(held) = self.live_word(path, todo, at, mutex)? else { return Ok(false) };
        let me = self.me(path);
        let state = self.get(path, at, &waiting, 8);
        let word = self.get(path, at, &held, 32);
        let (zero, none) = (self.terms.number(0, 32), self.terms.number(0, 8));
        if path.phase == 0 {
            self.note(path, at, &held, StepKind::CondWait, "release");
            self.note_object(path, &waiting);
            let other = self.terms.ne(word, me);
            let what = (ErrorKind::LockMisuse, "a thread waits with a mutex that it does not hold");
            self.error_if(path, todo, other, what, at.loc);
            if path.ending != Ending::Running {
                return Ok(false);
            }
            let one = self.terms.number(1, 8);
            self.write(path, &waiting, one);
            self.write(path, &held, zero);
            self.cut(path, 1);
            return Ok(false);
        }
        let two = self.terms.number(2, 8);
        let (woken, free) = (self.terms.eq(state, two), self.terms.eq(word, zero));
        path.guard.extend([woken, free]);
        path.may_block = true;
        self.write(path, &waiting, none);
        self.write(path, &held, me);
        self.note(path, at, &held, StepKind::CondWake, "wake up with");
        self.note_object(path, &waiting);
        path.phase = 0;
        Ok(true)
    }

    pub(super) fn note_object(&mut self, path: &mut Path, target: &Target) {
        let name = self.place_name(target.place);
        let object = self.object(&name);
        path.accesses.push(Access { object, bytes: target.bytes, write: true });
    }

    /// Wakes the first waiting thread behind a chosen one, or all.
    pub(super) fn cond_signal(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        cond: Term,
        all: bool,
    ) -> Result<bool, Unsupported> {
        if !self.visible(path) {
            return Ok(false);
        }
        let Some((place, offset, _)) = self.memory.find(&self.terms, cond) else {
            self.locate(path, at, cond, 4, "")?;
            return Ok(false);
        };
        let kind = if all { StepKind::CondBroadcast } else { StepKind::CondSignal };
        path.step(at.func, at.inst, kind, at.loc);
        path.words.push(format!("signal {}", self.place_name(place)));
        if !self.cond_exists(path, todo, at, cond)? {
            return Ok(false);
        }
        let waiters = self.memory.layouts.waiters((place, offset as u64));
        let mut states = Vec::new();
        for &thread in &waiters {
            let Some(target) = self.waiting(path, todo, at, cond, thread)? else { return Ok(false) };
            self.note_object(path, &target);
            let state = self.get(path, at, &target, 8);
            states.push((target, state));
        }
        let (one, two) = (self.terms.number(1, 8), self.terms.number(2, 8));
        let first = if all || waiters.len() < 2 {
            None
        } else {
            path.wakes.clone_from(&waiters);
            Some(self.input(path, WOKEN, 8))
        };
        for n in 0..states.len() {
            let waits = self.terms.eq(states[n].1, one);
            let chosen = match first {
                None => waits,
                Some(first) => self.is_first(&states, n, first),
            };
            let state = self.terms.ite(chosen, two, states[n].1);
            let target = states[n].0;
            self.write(path, &target, state);
        }
        Ok(true)
    }

    /// Whether the n-th thread is the first waiting one, counted in a circle from a chosen one.
    fn is_first(&mut self, states: &[(Target, Term)], n: usize, first: Term) -> Term {
        let one = self.terms.number(1, 8);
        let waits: Vec<Term> = states.iter().map(|&(_, state)| self.terms.eq(state, one)).collect();
        let mut chosen = self.terms.bool(false);
        for start in 0..states.len() {
            // Starting at `start`, nobody between it and n waits. Any other input counts as 0.
            let mut conditions = vec![waits[n]];
            let mut k = start;
            while k != n {
                conditions.push(self.terms.not(waits[k]));
                k = (k + 1) % states.len();
            }
            let number = self.terms.number(start as u64, 8);
            let is_start = match start {
                0 => {
                    let last = self.terms.number(states.len() as u64, 8);
                    let inside = self.terms.ult(first, last);
                    let outside = self.terms.not(inside);
                    let zero = self.terms.eq(first, number);
                    self.terms.or(zero, outside)
                }
                _ => self.terms.eq(first, number),
            };
            conditions.push(is_start);
            let so = self.terms.all(&conditions);
            chosen = self.terms.or(chosen, so);
        }
        chosen
    }
}

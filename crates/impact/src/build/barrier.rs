//! Barriers.
//!
//! A barrier is how many it is for (0 before it is initialised and behind its end), how many came, and a bit that changes
//! when all came. To arrive is one step, to leave when the bit has changed another.
//!
//! Whoever arrives before the barrier is initialised makes a mistake. Mostly that is out of the question, because it was
//! initialised before the thread was created; then nothing has to be proved.

use super::objects::{Place, Target, unsupported};
use super::path::{Ending, Path, Slot};
use super::run::At;
use super::{Builder, Unsupported};
use crate::program::{ErrorKind, StepKind, ThreadId};
use crate::term::{Symbol, Term};
use selvedge_ir::EntityRef;

impl Builder<'_> {
    pub(super) fn barrier_init(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        args: &[Term],
    ) -> Result<bool, Unsupported> {
        if args.get(1).is_some_and(|&attr| self.terms.constant(attr) != Some(0)) {
            return Err(unsupported("a barrier with attributes", at.loc));
        }
        let number = self.terms.constant(args[2]);
        if number.is_none_or(|n| n == 0) {
            return Err(unsupported("a barrier for nobody, or for a number of threads that is not fixed", at.loc));
        }
        if !self.visible(path) {
            return Ok(false);
        }
        let Some((limit, came, turn)) = self.barrier(path, todo, at, args[0])? else { return Ok(false) };
        let zero = self.terms.number(0, 32);
        let at_place = (limit.place, limit.offset);
        let known = self.facts.barriers.entry(at_place).or_insert(number);
        if *known != number {
            *known = None;
        }
        self.write(path, &limit, args[2]);
        self.write(path, &came, zero);
        let none = self.terms.number(0, 8);
        self.write(path, &turn, none);
        self.note(path, at, &limit, StepKind::Call, "init");
        self.note_object(path, &came);
        self.note_object(path, &turn);
        let told = self.told(path.thread, at_place);
        let yes = self.terms.bool(true);
        path.env.insert(Slot::Cell(told), yes);
        Ok(true)
    }

    fn barrier(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        barrier: Term,
    ) -> Result<Option<(Target, Target, Target)>, Unsupported> {
        let Some((limit, _)) = self.word(path, todo, at, barrier, 0, 4)? else { return Ok(None) };
        let Some((came, _)) = self.word(path, todo, at, barrier, 4, 4)? else { return Ok(None) };
        let Some((turn, _)) = self.word(path, todo, at, barrier, 8, 1)? else { return Ok(None) };
        Ok(Some((limit, came, turn)))
    }

    /// The variable that says whether a thread has initialised a barrier itself.
    fn told(&mut self, thread: ThreadId, (place, offset): (Place, u64)) -> Symbol {
        let name = format!("{}.initialised {}", self.thread_name(thread), self.place_name(place));
        self.own((thread, place, offset), &name, 1)
    }

    /// Whether a thread can be sure that a barrier was initialised: it has done it, or whoever created it was sure.
    pub(super) fn is_sure_of(&mut self, path: &Path, barrier: (Place, u64)) -> bool {
        let told = self.told(path.thread, barrier);
        let told = path.env.get(&Slot::Cell(told)).is_some_and(|&bit| self.terms.is_true(bit));
        told || (path.thread.index() > 0 && self.memory.layouts.is_early(barrier))
    }

    /// A barrier must have been initialised, and not destroyed. Whether the path goes on.
    fn barrier_exists(&mut self, path: &mut Path, todo: &mut Vec<Path>, at: At, limit: &Target) -> bool {
        let at_place = (limit.place, limit.offset);
        if !self.memory.layouts.is_destroyed(at_place) && self.is_sure_of(path, at_place) {
            return true;
        }
        if !self.must_be_written(path, todo, at, limit) {
            return false;
        }
        let total = self.get(path, at, limit, 32);
        let none = self.is_zero(total);
        let message = format!("`{}` is not initialised, or was destroyed", self.place_name(limit.place));
        self.error_if(path, todo, none, (ErrorKind::LockMisuse, &message), at.loc);
        path.ending == Ending::Running
    }

    /// `pthread_barrier_destroy`. Whether that is done.
    pub(super) fn barrier_destroy(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        barrier: Term,
    ) -> Result<bool, Unsupported> {
        if !self.visible(path) {
            return Ok(false);
        }
        let Some((limit, came, _)) = self.barrier(path, todo, at, barrier)? else { return Ok(false) };
        self.facts.destroyed.insert((limit.place, limit.offset));
        self.note(path, at, &limit, StepKind::Call, "destroy");
        self.note_object(path, &came);
        if !self.barrier_exists(path, todo, at, &limit) {
            return Ok(false);
        }
        let count = self.get(path, at, &came, 32);
        let free = self.is_zero(count);
        let busy = self.terms.not(free);
        let message = format!("`{}` is destroyed while threads wait at it", self.place_name(limit.place));
        self.error_if(path, todo, busy, (ErrorKind::LockMisuse, &message), at.loc);
        let zero = self.terms.number(0, 32);
        self.write(path, &limit, zero);
        Ok(path.ending == Ending::Running)
    }

    pub(super) fn barrier_wait(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        barrier: Term,
    ) -> Result<bool, Unsupported> {
        if path.atomic > 0 {
            return Err(unsupported("a barrier in an atomic section", at.loc));
        }
        if !self.visible(path) {
            return Ok(false);
        }
        let Some((limit, came, turn)) = self.barrier(path, todo, at, barrier)? else { return Ok(false) };
        if path.phase == 0 {
            self.note(path, at, &limit, StepKind::BarrierArrive, "arrive at");
            self.note_object(path, &came);
            self.note_object(path, &turn);
            if !self.barrier_exists(path, todo, at, &limit) {
                return Ok(false);
            }
        }
        let now = self.get(path, at, &turn, 8);
        let mine = self.arrival(path.thread, &turn);
        if path.phase == 0 {
            let (count, total) = (self.get(path, at, &came, 32), self.get(path, at, &limit, 32));
            let fixed = self.memory.layouts.barrier_limit((limit.place, limit.offset));
            let total = fixed.map_or(total, |n| self.terms.number(n, 32));
            let more = self.terms.add_constant(count, 1);
            let last = self.terms.eq(more, total);
            let zero = self.terms.number(0, 32);
            let left = self.terms.ite(last, zero, more);
            let one = self.terms.number(1, 8);
            let other = self.terms.sub(one, now);
            let next = self.terms.ite(last, other, now);
            self.write(path, &came, left);
            self.write(path, &turn, next);
            path.env.insert(Slot::Cell(mine), now);
            self.cut(path, 1);
            return Ok(false);
        }
        let before = path.env.get(&Slot::Cell(mine)).copied();
        let before = before.unwrap_or_else(|| self.terms.var(mine));
        let changed = self.terms.ne(now, before);
        path.guard.push(changed);
        path.may_block = true;
        self.note(path, at, &turn, StepKind::BarrierLeave, "leave");
        path.env.remove(&Slot::Cell(mine));
        path.phase = 0;
        Ok(true)
    }

    /// The variable in which a thread keeps the bit of a barrier that it found when it arrived.
    fn arrival(&mut self, thread: ThreadId, turn: &Target) -> Symbol {
        let name = format!("{}.arrived at {}", self.thread_name(thread), self.place_name(turn.place));
        self.own((thread, turn.place, turn.offset), &name, 8)
    }
}

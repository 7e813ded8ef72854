//! Mutexes, semaphores, condition variables, barriers, threads.
//!
//! | object | variables | operations |
//! |---|---|---|
//! | mutex | its word: 0, or the holder's number plus 1 | lock waits for 0; unlock by anybody else is an error |
//! | semaphore | its word | wait until it is not 0 |
//! | condition variable | for each thread that ever waits: 0, 1 waiting, 2 woken | wait releases the mutex and waits to be woken *and* for the mutex |
//! | barrier | how many it is for, how many came, and a bit that changes when all came | arrive; leave when the bit has changed |
//!
//! Nobody is woken without a signal. Which waiting thread a signal wakes is an input.

use super::objects::{Cell, Place, Target, unsupported};
use super::path::{Ending, Path, Slot};
use super::run::At;
use super::{Builder, THREADS, ThreadStart, Unsupported};
use crate::program::{Access, ErrorKind, StepKind, ThreadId, WOKEN};
use crate::term::{Symbol, Term};
use selvedge_ir::{EntityRef, Type, Value};

/// Offset of the kind in a mutex of the GNU C library.
const MUTEX_KIND: usize = 16;

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
            "pthread_mutex_init" => self.init(path, at, args, 1)?,
            "pthread_cond_init" => self.init(path, at, args, 1)?,
            "pthread_mutex_lock" => self.lock(path, at, args[0])?,
            "pthread_mutex_trylock" => return self.try_lock(path, at, args[0], result),
            "pthread_mutex_unlock" => self.unlock(path, todo, at, args[0])?,
            "sem_init" => self.sem_init(path, at, args)?,
            "sem_wait" => self.sem_wait(path, at, args[0])?,
            "sem_post" => self.sem_post(path, at, args[0])?,
            "pthread_cond_wait" => self.cond_wait(path, todo, at, args[0], args[1])?,
            "pthread_cond_signal" => self.cond_signal(path, at, args[0], false)?,
            "pthread_cond_broadcast" => self.cond_signal(path, at, args[0], true)?,
            name if name.starts_with("pthread_rwlock_") => {
                if !self.rwlock(path, todo, at, name, args, result)? {
                    return Ok(());
                }
                true
            }
            "pthread_barrier_init" => self.barrier_init(path, at, args)?,
            "pthread_barrier_wait" => self.barrier_wait(path, at, args[0])?,
            "pthread_create" => self.create(path, at, args)?,
            "pthread_join" => self.join(path, at, args)?,
            "pthread_exit" => {
                self.end_thread(path, at, args.first().copied());
                false
            }
            "pthread_self" => {
                let handle = self.terms.number(path.thread.index() as u64 + 1, 64);
                self.define(path, result, handle);
                path.index += 1;
                return Ok(());
            }
            "pthread_detach" => true,
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
        at: At,
        address: Term,
        offset: u64,
        size: u64,
    ) -> Result<Option<(Target, Symbol)>, Unsupported> {
        let address = self.terms.add_constant(address, offset);
        let Some((place, ..)) = self.memory.find(&self.terms, address) else {
            return Err(unsupported("a synchronisation object that is not fixed", at.loc));
        };
        let words = if offset == 0 { self.place_name(place) } else { format!("{}.{offset}", self.place_name(place)) };
        let Some(target) = self.locate(path, at, address, size, &words)? else { return Ok(None) };
        self.touch(path, &target, true);
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

    fn get(&mut self, path: &mut Path, at: At, target: &Target, bits: u8) -> Term {
        self.read(path, at, target, Type::Int(bits))
    }

    fn me(&mut self, path: &Path) -> Term {
        self.terms.number(path.thread.index() as u64 + 1, 32)
    }

    pub(super) fn init(&mut self, path: &mut Path, at: At, args: &[Term], attr: usize) -> Result<bool, Unsupported> {
        if args.get(attr).is_some_and(|&attr| self.terms.constant(attr) != Some(0)) {
            return Err(unsupported("a synchronisation object with attributes", at.loc));
        }
        if !self.visible(path) {
            return Ok(false);
        }
        let Some((target, _)) = self.word(path, at, args[0], 0, 4)? else { return Ok(false) };
        let zero = self.terms.number(0, 32);
        self.write(path, &target, zero);
        self.note(path, at, &target, StepKind::Call, "init");
        Ok(true)
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

    fn lock(&mut self, path: &mut Path, at: At, mutex: Term) -> Result<bool, Unsupported> {
        if path.atomic > 0 {
            return Err(unsupported("a lock in an atomic section", at.loc));
        }
        if !self.visible(path) {
            return Ok(false);
        }
        let Some((target, _)) = self.word(path, at, mutex, 0, 4)? else { return Ok(false) };
        self.plain_mutex(&target, at)?;
        let word = self.get(path, at, &target, 32);
        if path.ending != Ending::Running {
            return Err(unsupported("a mutex on the stack that was not initialised", at.loc));
        }
        let free = self.is_zero(word);
        path.guard.push(free);
        path.may_block = true;
        let me = self.me(path);
        self.write(path, &target, me);
        self.note(path, at, &target, StepKind::Lock, "lock");
        Ok(true)
    }

    fn try_lock(&mut self, path: &mut Path, at: At, mutex: Term, result: Option<Value>) -> Result<(), Unsupported> {
        if !self.visible(path) {
            return Ok(());
        }
        let Some((target, _)) = self.word(path, at, mutex, 0, 4)? else { return Ok(()) };
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
        let Some((target, _)) = self.word(path, at, mutex, 0, 4)? else { return Ok(false) };
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

    fn sem_init(&mut self, path: &mut Path, at: At, args: &[Term]) -> Result<bool, Unsupported> {
        if !self.visible(path) {
            return Ok(false);
        }
        let Some((target, _)) = self.word(path, at, args[0], 0, 4)? else { return Ok(false) };
        self.write(path, &target, args[2]);
        self.note(path, at, &target, StepKind::Call, "init");
        Ok(true)
    }

    fn sem_wait(&mut self, path: &mut Path, at: At, semaphore: Term) -> Result<bool, Unsupported> {
        if path.atomic > 0 {
            return Err(unsupported("a semaphore in an atomic section", at.loc));
        }
        if !self.visible(path) {
            return Ok(false);
        }
        let Some((target, _)) = self.word(path, at, semaphore, 0, 4)? else { return Ok(false) };
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

    fn sem_post(&mut self, path: &mut Path, at: At, semaphore: Term) -> Result<bool, Unsupported> {
        if !self.visible(path) {
            return Ok(false);
        }
        let Some((target, _)) = self.word(path, at, semaphore, 0, 4)? else { return Ok(false) };
        let word = self.get(path, at, &target, 32);
        let more = self.terms.add_constant(word, 1);
        self.write(path, &target, more);
        self.note(path, at, &target, StepKind::Unlock, "post");
        Ok(true)
    }

    /// The variable that says whether a thread waits on a condition variable.
    fn waiting(
        &mut self,
        path: &mut Path,
        at: At,
        cond: Term,
        thread: ThreadId,
    ) -> Result<Option<Target>, Unsupported> {
        if thread.index() >= 40 {
            return Err(unsupported("a condition variable for more than 40 threads", at.loc));
        }
        // One byte of the object for each thread, behind the word that initialisation clears.
        let offset = 4 + thread.index() as u64;
        Ok(self.word(path, at, cond, offset, 1)?.map(|(target, _)| target))
    }

    fn cond_wait(
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
            return Err(unsupported("a condition variable that is not fixed", at.loc));
        };
        self.facts.waiters.entry((place, offset as u64)).or_default().insert(path.thread);
        let Some(waiting) = self.waiting(path, at, cond, path.thread)? else { return Ok(false) };
        let Some((held, _)) = self.word(path, at, mutex, 0, 4)? else { return Ok(false) };
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

    fn note_object(&mut self, path: &mut Path, target: &Target) {
        let name = self.place_name(target.place);
        let object = self.object(&name);
        path.accesses.push(Access { object, bytes: target.bytes, write: true });
    }

    /// Wakes the first waiting thread behind a chosen one, or all.
    fn cond_signal(&mut self, path: &mut Path, at: At, cond: Term, all: bool) -> Result<bool, Unsupported> {
        if !self.visible(path) {
            return Ok(false);
        }
        let Some((place, offset, _)) = self.memory.find(&self.terms, cond) else {
            return Err(unsupported("a condition variable that is not fixed", at.loc));
        };
        let kind = if all { StepKind::CondBroadcast } else { StepKind::CondSignal };
        path.step(at.func, at.inst, kind, at.loc);
        path.words.push(format!("signal {}", self.place_name(place)));
        let waiters = self.memory.layouts.waiters((place, offset as u64));
        let mut states = Vec::new();
        for &thread in &waiters {
            let Some(target) = self.waiting(path, at, cond, thread)? else { return Ok(false) };
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

    fn barrier_init(&mut self, path: &mut Path, at: At, args: &[Term]) -> Result<bool, Unsupported> {
        if args.get(1).is_some_and(|&attr| self.terms.constant(attr) != Some(0)) {
            return Err(unsupported("a barrier with attributes", at.loc));
        }
        if !self.visible(path) {
            return Ok(false);
        }
        let Some((limit, came, turn)) = self.barrier(path, at, args[0])? else { return Ok(false) };
        let zero = self.terms.number(0, 32);
        let number = self.terms.constant(args[2]);
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
        Ok(true)
    }

    fn barrier(
        &mut self,
        path: &mut Path,
        at: At,
        barrier: Term,
    ) -> Result<Option<(Target, Target, Target)>, Unsupported> {
        let Some((limit, _)) = self.word(path, at, barrier, 0, 4)? else { return Ok(None) };
        let Some((came, _)) = self.word(path, at, barrier, 4, 4)? else { return Ok(None) };
        let Some((turn, _)) = self.word(path, at, barrier, 8, 1)? else { return Ok(None) };
        Ok(Some((limit, came, turn)))
    }

    fn barrier_wait(&mut self, path: &mut Path, at: At, barrier: Term) -> Result<bool, Unsupported> {
        if path.atomic > 0 {
            return Err(unsupported("a barrier in an atomic section", at.loc));
        }
        if !self.visible(path) {
            return Ok(false);
        }
        let Some((limit, came, turn)) = self.barrier(path, at, barrier)? else { return Ok(false) };
        let now = self.get(path, at, &turn, 8);
        let mine = self.arrival(path.thread, &turn);
        if path.phase == 0 {
            let (count, total) = (self.get(path, at, &came, 32), self.get(path, at, &limit, 32));
            // Whoever comes before the barrier is initialised makes a mistake anyway.
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
            self.note(path, at, &limit, StepKind::BarrierArrive, "arrive at");
            self.note_object(path, &came);
            self.note_object(path, &turn);
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
        if let Some(&symbol) = self.arrivals.get(&(thread, turn.place, turn.offset)) {
            return symbol;
        }
        let name = format!("{}.arrived at {}", self.thread_name(thread), self.place_name(turn.place));
        let symbol = self.terms.symbol(name, 8, false, false);
        let zero = self.terms.number(0, 8);
        self.initial.values.insert(symbol, zero);
        self.arrivals.insert((thread, turn.place, turn.offset), symbol);
        symbol
    }

    fn create(&mut self, path: &mut Path, at: At, args: &[Term]) -> Result<bool, Unsupported> {
        if path.atomic > 0 {
            return Err(unsupported("creating a thread in an atomic section", at.loc));
        }
        if !self.visible(path) {
            return Ok(false);
        }
        let func = self.terms.constant(args[2]).and_then(|a| super::Memory::function_at(self.module, a));
        let Some(func) = func.filter(|&f| !self.module.functions[f].is_declaration()) else {
            return Err(unsupported("a thread that runs a function that is not fixed", at.loc));
        };
        let Some(arg) = self.terms.constant(args[3]) else {
            return Err(unsupported("a thread whose argument is not fixed", at.loc));
        };
        // How many there are already is counted along the path: a number, or the creation is not static.
        let counter = self.created(path.thread);
        let before = path.env.get(&Slot::Cell(counter)).copied();
        let before = before.map_or(Some(0), |term| self.terms.constant(term));
        let Some(before) = before else {
            return Err(unsupported("a number of threads that is not fixed", at.loc));
        };
        let created_by = Some((path.thread, before as u32));
        let start = ThreadStart { func, args: vec![arg], created_by };
        let known = self.starts.iter().position(|known| known.created_by == created_by);
        let child = ThreadId::new(known.unwrap_or(self.starts.len()));
        if child.index() >= THREADS {
            return Err(unsupported(format!("more than {THREADS} threads"), at.loc));
        }
        match known {
            Some(known) if self.starts[known] != start => {
                return Err(unsupported("a thread that depends on an input or on the schedule", at.loc));
            }
            Some(_) => {}
            None => {
                self.starts.push(start);
                let count = self.starts.iter().filter(|start| start.func == func).count();
                let known = self.facts.threads.entry(func).or_default();
                *known = count.max(*known);
            }
        }
        let handle = self.terms.number(child.index() as u64 + 1, 64);
        let Some(target) = self.locate(path, at, args[0], 8, "thread handle")? else { return Ok(false) };
        self.touch(path, &target, true);
        self.write(path, &target, handle);
        let more = self.terms.number(before + 1, 32);
        path.env.insert(Slot::Cell(counter), more);
        path.spawns = Some(child);
        path.step(at.func, at.inst, StepKind::Spawn, at.loc);
        path.words.push(format!("create {}", self.thread_name(child)));
        let object = self.life(child);
        path.accesses.push(Access { object, bytes: None, write: true });
        Ok(true)
    }

    /// A thread's count of the threads that it has created.
    fn created(&mut self, thread: ThreadId) -> Symbol {
        let place = Place::Stack(u32::MAX, selvedge_ir::Inst::new(0));
        if let Some(&symbol) = self.arrivals.get(&(thread, place, 0)) {
            return symbol;
        }
        let symbol = self.terms.symbol("threads", 32, false, false);
        let zero = self.terms.number(0, 32);
        self.initial.values.insert(symbol, zero);
        self.arrivals.insert((thread, place, 0), symbol);
        symbol
    }

    /// The object that stands for a thread's life: created, and joined when it has ended.
    fn life(&mut self, thread: ThreadId) -> crate::program::ObjectId {
        self.object(&format!("thread {}", thread.index()))
    }

    fn join(&mut self, path: &mut Path, at: At, args: &[Term]) -> Result<bool, Unsupported> {
        if path.atomic > 0 {
            return Err(unsupported("a join in an atomic section", at.loc));
        }
        if !self.visible(path) {
            return Ok(false);
        }
        let handle = self.terms.constant(args[0]).and_then(|handle| handle.checked_sub(1));
        let Some(handle) = handle.filter(|&n| n != path.thread.index() as u64 && (n as usize) < THREADS) else {
            return Err(unsupported("a thread handle that is not fixed", at.loc));
        };
        let thread = ThreadId::new(handle as usize);
        self.joined.push((thread, at.loc));
        path.joins = Some(thread);
        path.may_block = true;
        path.step(at.func, at.inst, StepKind::Join, at.loc);
        path.words.push(format!(
            "join {}",
            if thread.index() < self.starts.len() { self.thread_name(thread) } else { thread.to_string() }
        ));
        let object = self.life(thread);
        path.accesses.push(Access { object, bytes: None, write: false });
        if self.terms.constant(args[1]) != Some(0) {
            let result = self.result_of(thread);
            let value = self.terms.var(result);
            let Some(target) = self.locate(path, at, args[1], 8, "thread result")? else { return Ok(false) };
            self.touch(path, &target, true);
            self.write(path, &target, value);
        }
        Ok(true)
    }

    /// The variable that holds what a thread returned.
    fn result_of(&mut self, thread: ThreadId) -> Symbol {
        let place = Place::Stack(u32::MAX, selvedge_ir::Inst::new(1));
        if let Some(&symbol) = self.arrivals.get(&(thread, place, 0)) {
            return symbol;
        }
        let symbol = self.terms.symbol(format!("result of thread {}", thread.index()), 64, false, false);
        let zero = self.terms.number(0, 64);
        self.initial.values.insert(symbol, zero);
        self.arrivals.insert((thread, place, 0), symbol);
        symbol
    }

    /// The end of a thread; of the main function, that of the process.
    pub(super) fn end_thread(&mut self, path: &mut Path, at: At, result: Option<Term>) {
        let returns = matches!(self.module.functions[at.func].insts[at.inst].kind, selvedge_ir::InstKind::Ret { .. });
        let ends_all = path.thread.index() == 0 && returns;
        if ends_all && !self.may_stay(path) {
            return;
        }
        path.step(at.func, at.inst, StepKind::Exit, at.loc);
        if ends_all {
            path.ending = Ending::Exit;
            return;
        }
        if let Some(value) = result {
            let symbol = self.result_of(path.thread);
            let value = self.terms.zext(value, 64);
            path.shared.values.insert(symbol, value);
        }
        let object = self.life(path.thread);
        path.accesses.push(Access { object, bytes: None, write: true });
        path.ending = Ending::ThreadEnd;
    }
}

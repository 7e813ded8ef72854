//! Threads: creation, end, waiting for the end.
//!
//! A thread is known by who creates it and how many that one has created before. Which function it runs and with which
//! argument must be fixed; so must the handle that somebody waits for.

use super::objects::{Place, unsupported};
use super::path::{Ending, Path, Slot};
use super::run::At;
use super::{Builder, THREADS, ThreadStart, Unsupported};
use crate::program::{Access, ErrorKind, StepKind, ThreadId};
use crate::term::{Symbol, Term};
use selvedge_ir::{EntityRef, Inst};

impl Builder<'_> {
    pub(super) fn create(&mut self, path: &mut Path, at: At, args: &[Term]) -> Result<bool, Unsupported> {
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
        for barrier in self.memory.layouts.barriers() {
            if !self.is_sure_of(path, barrier) {
                self.facts.late_barriers.insert(barrier);
            }
        }
        path.spawns = Some(child);
        path.step(at.func, at.inst, StepKind::Spawn, at.loc);
        path.words.push(format!("create {}", self.thread_name(child)));
        let object = self.life(child);
        path.accesses.push(Access { object, bytes: None, write: true });
        Ok(true)
    }

    /// A variable that the operations of a thread need for themselves; 0 at the start.
    pub(super) fn own(&mut self, key: (ThreadId, Place, u64), name: &str, bits: u8) -> Symbol {
        if let Some(&symbol) = self.arrivals.get(&key) {
            return symbol;
        }
        let symbol = self.terms.symbol(name, bits, false, false);
        let zero = self.terms.number(0, bits);
        self.initial.values.insert(symbol, zero);
        self.arrivals.insert(key, symbol);
        symbol
    }

    /// A thread's count of the threads that it has created.
    fn created(&mut self, thread: ThreadId) -> Symbol {
        self.own((thread, nowhere(0), 0), "threads", 32)
    }

    /// The object that stands for a thread's life: created, and joined when it has ended.
    fn life(&mut self, thread: ThreadId) -> crate::program::ObjectId {
        self.object(&format!("thread {}", thread.index()))
    }

    /// A thread is joined or detached once. Whether the path goes on.
    fn only_once(&mut self, path: &mut Path, todo: &mut Vec<Path>, at: At, thread: ThreadId, what: &str) -> bool {
        self.facts.waited_for.entry(thread).or_default().insert(path.thread);
        let message = format!("a thread is {what} that was joined or detached already");
        let yes = self.terms.bool(true);
        if self.memory.layouts.has_several_waiters(thread) {
            let bit = self.own((thread, nowhere(2), 0), &format!("thread {} was joined", thread.index()), 1);
            let done = self.current(path, bit);
            self.error_if(path, todo, done, (ErrorKind::LockMisuse, &message), at.loc);
            path.shared.values.insert(bit, yes);
        } else {
            let name = format!("{} has joined thread {}", self.thread_name(path.thread), thread.index());
            let bit = self.own((path.thread, nowhere(3), thread.index() as u64), &name, 1);
            let done = path.env.get(&Slot::Cell(bit)).copied().unwrap_or_else(|| self.terms.bool(false));
            self.error_if(path, todo, done, (ErrorKind::LockMisuse, &message), at.loc);
            path.env.insert(Slot::Cell(bit), yes);
        }
        path.ending == Ending::Running
    }

    /// `pthread_detach`. Whether that is done.
    pub(super) fn detach(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        handle: Term,
    ) -> Result<bool, Unsupported> {
        let thread = self.terms.constant(handle).and_then(|handle| handle.checked_sub(1));
        let Some(thread) = thread.filter(|&n| (n as usize) < THREADS).map(|n| ThreadId::new(n as usize)) else {
            return Err(unsupported("a thread handle that is not fixed", at.loc));
        };
        let several = self.memory.layouts.has_several_waiters(thread);
        if several && !self.visible(path) {
            return Ok(false);
        }
        if several {
            path.step(at.func, at.inst, StepKind::Call, at.loc);
            let object = self.life(thread);
            path.accesses.push(Access { object, bytes: None, write: true });
        }
        self.joined.push((thread, at.loc));
        Ok(self.only_once(path, todo, at, thread, "detached"))
    }

    pub(super) fn join(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        args: &[Term],
    ) -> Result<bool, Unsupported> {
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
        path.step(at.func, at.inst, StepKind::Join, at.loc);
        path.words.push(format!(
            "join {}",
            if thread.index() < self.starts.len() { self.thread_name(thread) } else { thread.to_string() }
        ));
        let object = self.life(thread);
        let write = self.memory.layouts.has_several_waiters(thread);
        path.accesses.push(Access { object, bytes: None, write });
        if !self.only_once(path, todo, at, thread, "joined") {
            return Ok(false);
        }
        path.joins = Some(thread);
        path.may_block = true;
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
        self.own((thread, nowhere(1), 0), &format!("result of thread {}", thread.index()), 64)
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

/// A place that no object is at, for variables that belong to a thread as such.
fn nowhere(n: usize) -> Place {
    Place::Stack(u32::MAX, Inst::new(n))
}

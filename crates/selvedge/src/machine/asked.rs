//! What an engine asks of the machine.

use super::awaits::Ahead;
use super::past::written;
use super::retries::is_kept_back;
use super::snapshot::MOST_BY;
use super::{ABSENT, RustMachine, Saved, State, TRIED, leak};
use crate::freed;
use crate::nondet::{self, IN_TIME};
use crate::request::Request;
use crate::rounds::looks_for_loops;
use crate::runtime::{self, At, violation};
use crate::script::Step;
use crate::shared::Shared;
use crate::sync::channel::{self, MESSAGE};
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::{
    Access, AccessKind, Addr, Fault, Machine, Memory, Op, Outcome, Site, Status, Stop, ThreadId, ViolationKind,
    main_thread,
};

impl Machine for RustMachine {
    fn start(&mut self) -> Result<(), Stop> {
        self.begin();
        self.compared.real = true;
        self.save(main_thread());
        self.create(main_thread());
        let result = self.advance(main_thread(), 0);
        result.map_err(|stop| self.fails_again(main_thread(), stop))
    }

    #[inline]
    fn thread_limit(&self) -> usize {
        runtime::shared(|shared| shared.threads.len())
    }

    #[inline]
    fn status(&self, thread: ThreadId) -> Status {
        self.state(thread).status
    }

    #[inline]
    fn pending(&self, thread: ThreadId) -> &Op {
        &self.state(thread).op
    }

    fn resume(&mut self, thread: ThreadId, outcome: Outcome) -> Result<(), Stop> {
        let at = self.state(thread).at;
        let (restart, begins) = runtime::shared_untidily(|shared| {
            (shared.restart, at.is_some_and(|at| shared.retries.begins(at)) && !shared.once)
        });
        // Engines make several steps at a time, and hear of the last one only. Who was stopped before that, because everything
        // starts again, does not stand at the operation that he seems to stand at: nothing that follows is an execution.
        if restart {
            return Err(*runtime::starts_again());
        }
        if let Some(stop) = &self.misled {
            return Err(stop.clone());
        }
        let now = self.memory.now();
        let ahead = match self.ahead {
            None => None,
            Some(_) => self.ahead.take().filter(|ahead| ahead.is(self.made, thread, outcome, now)),
        };
        let looks = matches!(self.state(thread).op, Op::Access(Access { spins: true, .. }));
        if self.stale || begins || looks || ahead.is_some() {
            self.comes_to_step(thread, outcome, ahead.as_ref(), begins)?;
        }
        if let Some(freed) = self.note_step(thread, outcome, now) {
            self.states[thread.index()].status = Status::Stopped;
            return Err(self.is_used_after_free(thread, freed));
        }
        let mut own = match ahead {
            Some(ahead) => self.arrive(thread, ahead.came),
            None => self.advance(thread, outcome),
        };
        if own.is_ok()
            && let Some(at) = at
        {
            own = self.learn_from_step(thread, at);
        }
        if own.is_ok() && looks_for_loops(&self.steps[..self.made], thread) {
            own = Err(*runtime::starts_again());
        }
        match (self.steps[self.made - 1].op, own) {
            (Op::Spawn { child }, own) => self.starts(child, thread, own),
            (_, Ok(())) => Ok(()),
            (_, Err(stop)) => Err(self.fails_again(thread, stop)),
        }
    }

    fn next_if(&mut self, thread: ThreadId, outcome: Outcome) -> Option<Op> {
        let key = (self.past(), thread, outcome);
        if let Some(next) = self.tried.get(&key) {
            return *next;
        }
        let next = match self.comes_to_if(thread, outcome) {
            Some(found) => found.map(|(op, _)| op),
            None => self.comes_by_again(thread, outcome, |_| false),
        };
        if self.tried.len() == TRIED {
            self.tried.clear();
        }
        self.tried.insert(key, next);
        next
    }

    fn speculates(&mut self, thread: ThreadId, access: &Access, value: u64) -> bool {
        match self.begins_attempt(thread, value) {
            Some(begins) => begins,
            None => access.speculates(value, self.next_if(thread, value).as_ref()),
        }
    }

    fn next_confirmation(&mut self, thread: ThreadId, value: u64, may_store: bool) -> Option<Access> {
        let confirmation = |op| if let Op::Access(access) = op { Some(access).filter(|it| it.confirms) } else { None };
        let next = self.next_if(thread, value)?;
        let is_kept_back = |op: &Op| is_kept_back(thread, op);
        if !may_store || !is_kept_back(&next) {
            return confirmation(next);
        }
        let key = (self.past(), thread, value);
        if let Some(known) = self.tries.behind_stores.get(&key) {
            return *known;
        }
        let next = match self.comes_by_if(thread, value, is_kept_back) {
            Some(next) => next.map(|(op, _)| op),
            None => self.comes_by_again(thread, value, is_kept_back),
        };
        let next = next.and_then(confirmation);
        if self.tries.behind_stores.len() == TRIED {
            self.tries.behind_stores.clear();
        }
        self.tries.behind_stores.insert(key, next);
        next
    }

    /// A load that waits is one that the engine knows as such. Who waits for a signal until time is up lets others go as one does
    /// who waits without an end, and so does who waits for room in a channel.
    fn lets_others_go(&self, thread: ThreadId) -> bool {
        let State { op, at: Some(at), .. } = *self.state(thread) else { return false };
        match op {
            Op::CondWake { early, .. } => early,
            Op::Access(Access { spins: true, .. }) => false,
            Op::Access(access) if self.waits_for_room(&access) => true,
            _ => runtime::shared(|shared| shared.is_beginning(at)),
        }
    }

    fn chooses_for_no_reason(&self, thread: ThreadId) -> bool {
        self.state(thread).at.is_some_and(nondet::is_for_no_reason)
    }

    /// That is looked at (`machine/retries.rs`).
    fn overwrites_own_stores(&self) -> bool {
        true
    }

    fn speculates_in_vain(&mut self, addr: Addr) {
        runtime::shared(|shared| shared.restart |= shared.retries.give_up_word(addr));
    }

    fn waits(&mut self, thread: ThreadId, value: u64) -> bool {
        self.looks_again(thread, value)
    }

    /// `std` promises nothing, and does nothing.
    fn notifications_synchronise(&self) -> bool {
        false
    }

    /// When the first place is found where threads spin, everything starts again.
    fn may_spin(&self) -> bool {
        runtime::shared(|shared| !shared.awaits.is_empty())
    }

    fn halt(&mut self, thread: ThreadId, status: Status) {
        self.save(thread);
        self.states[thread.index()].status = status;
    }

    fn fault(&self, thread: ThreadId, access: &Access, fault: Fault) -> Stop {
        let place = self.site(thread).span;
        if let Fault::Dead(_) = fault {
            return self.is_used_after_free(thread, access.addr);
        }
        violation(ViolationKind::InvalidPointer, format!("an access that is not possible: {fault:?}"), place)
    }

    fn free_fault(&self, thread: ThreadId, _addr: Addr) -> Stop {
        violation(ViolationKind::DoubleFree, "an object is freed twice".to_owned(), self.site(thread).span)
    }

    #[inline]
    fn memory(&self) -> &Memory {
        &self.memory
    }

    #[inline]
    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    #[inline]
    fn elsewhere(&mut self, thread: ThreadId, addr: Option<Addr>) -> Option<Stop> {
        let state = self.state(thread);
        let stands = match &state.op {
            Op::Access(access) => addr.is_none_or(|addr| addr == access.addr),
            _ => addr.is_none(),
        };
        if stands && state.status == Status::Ready { None } else { self.is_misled(thread, addr) }
    }

    /// Threads have memory of their own. This one is there for objects, whether they live, and their first values.
    #[inline]
    fn wants_stores(&self) -> bool {
        false
    }

    fn spins(&self, thread: ThreadId) -> bool {
        self.state(thread).spins.is_some_and(|it| match it.repeats {
            // It waits for nothing in particular: what becomes of it is tried out when nobody goes on any more (`forever.rs`).
            true => runtime::shared(|shared| shared.for_ever),
            false => !it.locks || !self.others_came_since(thread, it.steps),
        })
    }

    fn go_round_for_ever(&mut self, threads: &[ThreadId], values: &[(Addr, u8, u64)]) -> bool {
        RustMachine::go_round_for_ever(self, threads, values)
    }

    fn iteration(&self, thread: ThreadId) -> Option<usize> {
        self.state(thread).spins.map(|iteration| iteration.steps as usize)
    }

    /// The end of the model's closure does not end the other threads: they have to end by themselves.
    fn exited(&self) -> bool {
        false
    }

    #[inline]
    fn mark(&mut self) {
        self.marks.push((self.made, self.saved.len()));
        self.memory.mark();
    }

    fn undo(&mut self) {
        self.undo_last(1);
    }

    fn undo_last(&mut self, marks: usize) {
        let Some((made, saved)) = self.marks.drain(self.marks.len() - marks..).next() else { return };
        self.stale |= made < self.made;
        for Saved { thread, status, spins, at } in self.saved.drain(saved..).rev() {
            let state = &mut self.states[thread.index()];
            (state.status, state.at, state.spins) = (status, at, spins);
        }
        let undone = &self.steps[made..self.made];
        for step in undone.iter().rev() {
            if let Op::Spawn { child } = step.op {
                let child = &mut self.states[child.index()];
                (child.op, child.request) = (ABSENT.op, ABSENT.request);
            }
            let state = &mut self.states[step.thread.index()];
            (state.op, state.request) = (step.op, step.request);
        }
        self.made = made;
        self.told.truncate(made);
        self.came_round.forget(made);
        self.tries.told.truncate(made);
        self.forget_attempts(made);
        self.returns.owed.forget(made);
        self.memory.undo_last(marks);
    }

    fn site(&self, thread: ThreadId) -> Site {
        let state = self.state(thread);
        let span = self.stands_in_source(thread).map(runtime::span).unwrap_or_default();
        let (object, plain) = match state.op {
            _ if state.spins.is_some() => (String::new(), false),
            Op::Access(access) => (crate::report::object(access.addr), access.order == Order::Plain),
            Op::CondWait { cond } | Op::CondWake { cond, .. } => (crate::report::object(cond), false),
            Op::CondSignal { cond } | Op::CondBroadcast { cond } => (crate::report::object(cond), false),
            _ => (String::new(), false),
        };
        let call = match state.op {
            _ if state.spins.is_some() => String::new(),
            Op::Access(Access { kind: AccessKind::Load, .. }) if plain => "with".to_owned(),
            Op::Access(Access { kind: AccessKind::Store { .. }, .. }) if plain => "with_mut".to_owned(),
            _ => String::new(),
        };
        Site { span, object, call, ..Site::default() }
    }

    /// The table of steps says itself what operations touch (`table.rs`).
    fn site_of_step(&self, thread: ThreadId) -> Site {
        Site { span: self.stands_in_source(thread).map(runtime::span).unwrap_or_default(), ..Site::default() }
    }

    fn place_number(&self, thread: ThreadId) -> Option<u64> {
        let at = self.state(thread).at?;
        Some(std::ptr::from_ref(at).addr() as u64)
    }

    fn thread_name(&self, thread: ThreadId) -> String {
        runtime::shared(|shared| shared.threads.name(thread))
    }

    fn thread_path(&self, thread: ThreadId) -> Vec<u32> {
        runtime::shared(|shared| shared.threads.path(thread).to_vec())
    }

    fn thread_at(&mut self, path: &[u32]) -> Option<ThreadId> {
        Some(runtime::shared(|shared| shared.threads.at(path)))
    }

    fn times_out(&self, thread: ThreadId) -> bool {
        matches!(self.state(thread).op, Op::Access(Access { until: Some(IN_TIME), .. }))
    }

    /// Who waits for a message that does not come would be told if all senders are gone (`sync/channel.rs`).
    fn ends(&mut self) {
        let waits = |shared: &Shared, state: &State| match state.op {
            Op::Access(access) if state.status == Status::Ready => {
                shared.origins.get(&access.addr).is_some_and(|(what, _)| *what == MESSAGE)
            }
            _ => false,
        };
        runtime::shared(|shared| {
            let matters = !shared.config.count_senders && shared.places.has_channels();
            if matters && self.states.iter().any(|state| waits(shared, state)) {
                shared.config.count_senders = true;
                shared.restart = true;
            }
        });
        self.looks_have_ended();
    }

    fn at_end(&mut self) -> Result<(), Stop> {
        if let Some(stop) = &self.misled {
            return Err(stop.clone());
        }
        if self.is_to_be_compared() {
            self.run_again_otherwise()?;
        } else if self.stale {
            self.run_again()?;
        }
        leak().map_or(Ok(()), |violation| Err(Stop::Violation(Box::new(violation))))
    }

    fn output(&self) -> &str {
        ""
    }
}

impl RustMachine {
    /// The operation that a thread comes to after some whose outcome says nothing, if it is told an outcome: it makes these steps, and
    /// they are undone.
    fn comes_by_again(&mut self, thread: ThreadId, outcome: Outcome, comes_by: impl Fn(&Op) -> bool) -> Option<Op> {
        self.mark();
        let mut found = self.makes_step(thread, outcome);
        for _ in 0..MOST_BY {
            if !found.as_ref().is_some_and(&comes_by) {
                break;
            }
            found = self.makes_step(thread, 0);
        }
        self.undo();
        found
    }

    /// Tells a thread an outcome; what it comes to then, if it comes to something.
    fn makes_step(&mut self, thread: ThreadId, outcome: Outcome) -> Option<Op> {
        let goes_on = self.resume(thread, outcome).is_ok() && self.status(thread) == Status::Ready;
        goes_on.then(|| *self.pending(thread))
    }

    /// Whether there is no room in a channel that a thread is about to send to.
    fn waits_for_room(&self, access: &Access) -> bool {
        if !channel::sends(access) {
            return false;
        }
        let tail = self.steps[..self.made].iter().rev().find_map(|step| written(step, access.addr)).unwrap_or(0);
        runtime::shared(|shared| {
            let Some(over) = shared.rooms.get(&access.addr).and_then(|bound| channel::count(tail).checked_sub(*bound))
            else {
                return false;
            };
            let taken = shared.places.known_channel_word(access.addr, channel::taken(over));
            !taken.is_some_and(|taken| self.steps[..self.made].iter().any(|step| written(step, taken).is_some()))
        })
    }

    /// A thread is about to make a step, and there is more to do than to tell it the outcome: all has to be run again, or the
    /// operation is one that attempts begin with, or that loops wait with.
    fn comes_to_step(
        &mut self,
        thread: ThreadId,
        outcome: Outcome,
        ahead: Option<&Ahead>,
        begins: bool,
    ) -> Result<(), Stop> {
        let State { op, request, at, .. } = *self.state(thread);
        if ahead.is_some() {
            self.stale = false;
        }
        self.run_again_for(thread, &request, at)?;
        if begins && ahead.is_none() {
            self.may_begin_attempt(thread, outcome)?;
            self.run_again_for(thread, &request, at)?;
        }
        if let (Op::Access(Access { spins: true, .. }), Some(at)) = (op, at) {
            match ahead {
                Some(ahead) => self.has_gone_on_after_look(ahead),
                None => self.goes_on_after_look(thread, outcome, at)?,
            }
            self.run_again_for(thread, &request, Some(at))?;
        }
        Ok(())
    }

    /// A thread has created another one, and has gone on, or failed.
    fn starts(&mut self, child: ThreadId, parent: ThreadId, own: Result<(), Stop>) -> Result<(), Stop> {
        self.save(child);
        self.create(child);
        let childs = self.advance(child, 0);
        // The parent's own trouble is reported first; the child exists all the same.
        let both = own.map_err(|stop| (parent, stop)).and(childs.map_err(|stop| (child, stop)));
        both.map_err(|(thread, stop)| self.fails_again(thread, stop))
    }

    /// Runs everything again, if that has to be done, for a thread that stands at an operation.
    fn run_again_for(&mut self, thread: ThreadId, request: &Request, at: Option<At>) -> Result<(), Stop> {
        if self.stale {
            self.run_again()?;
            self.check(thread, request, at)?;
        }
        Ok(())
    }

    /// What is said of an access to what is in memory that was freed.
    fn is_used_after_free(&self, thread: ThreadId, addr: Addr) -> Stop {
        let message = format!("{} is used after the memory that it is in was freed", crate::report::object(addr));
        violation(ViolationKind::UseAfterFree, message, self.site(thread).span)
    }

    /// Where a thread stands, in the source. A block is freed at no operation's place: it is done after the last one that the
    /// thread has performed, or after it was created.
    fn stands_in_source(&self, thread: ThreadId) -> Option<At> {
        let at = self.state(thread).at?;
        if !freed::is_place(at) {
            return Some(at);
        }
        let steps = &self.steps[..self.made];
        let own = |step: &&Step| step.thread == thread && step.at.is_some_and(|at| !freed::is_place(at));
        let spawns = |step: &&Step| matches!(step.op, Op::Spawn { child } if child == thread);
        steps.iter().rev().find(own).or_else(|| steps.iter().rev().find(spawns))?.at
    }

    /// Notes a step that a thread is about to make. If it is an access to an object that lay in a block which was freed: that
    /// object.
    #[inline]
    fn note_step(&mut self, thread: ThreadId, outcome: Outcome, now: u32) -> Option<Addr> {
        self.save(thread);
        self.steps.truncate(self.made);
        let State { op, request, at, .. } = &self.states[thread.index()];
        let request = *request;
        self.steps.push(Step { thread, op: *op, request, outcome, now, at: *at, stays: false });
        self.made += 1;
        runtime::shared_untidily(|shared| {
            shared.blocks.now = now;
            shared.frees.uses(thread, &request)
        })
    }

    /// A thread has made the last step, an operation at this place, and stands at its next one: what that tells of loops.
    #[inline]
    fn learn_from_step(&mut self, thread: ThreadId, at: At) -> Result<(), Stop> {
        let Step { op, outcome, .. } = &self.steps[self.made - 1];
        if self.may_retry(thread, op) {
            let (op, outcome) = (*op, *outcome);
            self.look_for_retries(thread, &op, at, outcome)?;
        }
        match self.waits_at_next(thread) && self.learns_relay(thread, at) {
            true => self.starts_again(thread),
            false => Ok(()),
        }
    }
}

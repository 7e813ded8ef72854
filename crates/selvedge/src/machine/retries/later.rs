//! Attempts that could have failed and are not seen where an exchange is made.
//!
//! **Leaving.** With some values a loop ends without an exchange: the stack is empty. Attempts may have failed before that, and
//! what they have left (how many there were, for instance) goes on with the thread. So when a load that an attempt may begin
//! with has found such a value, the attempts that could have failed before are tried out as well: the thread must come to the
//! same operation, or end, in the same state.
//!
//! **Passing by.** A thread may also leave where a new attempt would begin before its load (`loop { if closed.load(..) { break }
//! .. }`), or come from there to the exchange of another loop. What an attempt that has failed has left may then be seen, though
//! every attempt that is made overwrites it on its way to the exchange. So when a thread has come by a place where attempts
//! begin (once or several times), and then comes to something that others may notice, or to its end, attempts that could have failed before are
//! tried out in the same way.
//!
//! **Writing.** An attempt that fails may load a word that the one which was made does not load: which words these are depends
//! on what it has found. What others write to such a word *later* it could have found as well, if it had failed later; and
//! since nobody in the execution has read the word, the engine has no read to revisit. So the attempt is looked at again
//! whenever such a word is written. Take an execution G with an attempt that fails, and is the first that is not treated
//! right; then G without it is explored up to there, whoever writes what the attempt loads writes it there too, and when
//! that is done, the attempt is looked at with all that it could have loaded.

use super::{Attempt, RustMachine};
use crate::machine::past::{self, Past, Written};
use crate::number::Number;
use crate::retry::Exchange;
use crate::runtime::{self, At};
use crate::virtual_address::may_be_virtual;
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, AccessKind, Addr, Op, Outcome, Status, Stop, ThreadId};
use std::hash::{Hash, Hasher};

impl RustMachine {
    /// A thread has made a step and does not stand at an exchange that ends an attempt: if it was a load with which attempts
    /// begin, then it has left the loop, and attempts may have failed before that.
    pub(super) fn look_at_leaving(&mut self, thread: ThreadId, made: &Op, at: At) -> Result<(), Stop> {
        let begins = matches!(made, Op::Access(Access { kind: AccessKind::Load, speculative: Some(_), .. }));
        if !begins || runtime::shared(|shared| shared.per_thread(thread).open.is_some()) {
            return Ok(());
        }
        let state = &self.states[thread.index()];
        let stands = self.stands_at(thread).and(state.at.map(|at| (state.op, at)));
        for exchange in runtime::shared(|shared| shared.retries.exchanges_after(at)) {
            match self.attempt_of(thread, exchange, stands, true) {
                Some(attempt) => self.look_at_attempts(&attempt)?,
                None => self.gives_up(thread, exchange.0)?,
            }
        }
        Ok(())
    }

    /// A thread has made a step, and stands at something or has ended: if others may notice that, then it has left all loops
    /// that it could have begun an attempt of, but the one whose exchange it stands at.
    pub(super) fn look_at_passing(&mut self, thread: ThreadId, made: &Op) -> Result<(), Stop> {
        let state = &self.states[thread.index()];
        let is_ready = state.status == Status::Ready;
        if !self.leaves_no_trace(thread, made) || is_ready && self.leaves_no_trace(thread, &state.op) {
            return Ok(());
        }
        let (op, at) = (state.op, state.at);
        let confirmed = at.filter(|_| is_ready && matches!(op, Op::Access(access) if access.confirms));
        let stands = self.stands_at(thread).and(at.map(|at| (op, at)));
        for (at, exchange) in runtime::shared(|shared| shared.retries.live()) {
            if confirmed == Some(at) {
                continue;
            }
            for start in self.passes_by(thread, exchange, confirmed.is_some()) {
                let steps = self.steps[start..self.made].iter().filter(|step| step.thread == thread).copied().collect();
                let made = self.made;
                self.look_at_attempts(&Attempt { thread, exchange, at, stands, leaves: true, start, made, steps })?;
            }
        }
        Ok(())
    }

    /// The steps with which a thread could have begun an attempt that it has not made: it may come by the same place several times, as
    /// when a function looks there that is called in a loop and after it. If it has come to the load, what could have failed before that is
    /// looked at there (`look_at_leaving`), unless the exchange of another loop has confirmed it.
    fn passes_by(&self, thread: ThreadId, exchange: Exchange, confirmed: bool) -> Vec<usize> {
        let own = self.steps[..self.made].iter().enumerate().rev().filter(|(_, step)| step.thread == thread);
        let unseen = own.take_while(|(_, step)| self.leaves_no_trace(thread, &step.op));
        let since_load = unseen.take_while(|(_, step)| confirmed || step.at != Some(exchange.load));
        since_load.filter(|(_, step)| step.at == Some(exchange.first())).map(|(n, _)| n).collect()
    }

    /// Somebody has made a step: if it has written what an attempt that has failed could have loaded, such attempts are looked
    /// at again.
    pub(super) fn look_again(&mut self, made: &Op, outcome: Outcome) -> Result<(), Stop> {
        let Op::Access(access) = made else { return Ok(()) };
        if self.tries.attempts.is_empty() || access.written(outcome).is_none() {
            return Ok(());
        }
        for n in 0..self.tries.attempts.len() {
            let (attempt, number) = &self.tries.attempts[n];
            if self.tries.elsewhere.get(number).is_some_and(|words| words.contains(&access.addr))
                && runtime::shared(|shared| shared.retries.exchange(attempt.at)).is_some()
            {
                self.look_at_attempts(&attempt.clone())?;
            }
        }
        Ok(())
    }

    /// Keeps an attempt that was looked at, if it may have to be looked at again.
    pub(super) fn keep_attempt(&mut self, attempt: &Attempt, past: &Past) {
        if attempt.made == self.made && self.tries.elsewhere.contains_key(&past.number) {
            self.tries.attempts.push((attempt.clone(), past.number));
        }
    }

    /// Steps have been taken back: so many are left.
    pub(in crate::machine) fn forget_attempts(&mut self, made: usize) {
        let attempts = &mut self.tries.attempts;
        while attempts.last().is_some_and(|(attempt, _)| attempt.made > made) {
            attempts.pop();
        }
    }

    /// A number for all that attempts which could have failed before this one depend on. Which words they load depends on
    /// what they have found, and so on the rest of these: it is known after they were tried out, and more may be found later.
    pub(super) fn key(&self, attempt: &Attempt, past: &Past) -> u64 {
        let mut hasher = Number::default();
        hasher.write_u64(past.number);
        for &addr in self.tries.elsewhere.get(&past.number).into_iter().flatten() {
            (addr, self.written_elsewhere(attempt, past, addr)).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// An attempt that fails loads a word on its way. Whether it may be told all that it could find there: a pointer to
    /// something that is not there yet where the attempt begins must not be followed.
    pub(in crate::machine) fn may_find(&mut self, attempt: &Attempt, past: &Past, addr: Addr) -> bool {
        if attempt.accesses(addr) {
            return true;
        }
        self.tries.elsewhere.entry(past.number).or_default().insert(addr);
        let is_there = |value: u64| !may_be_virtual(value) || runtime::shared(|shared| shared.real_of(value)) != value;
        self.written_elsewhere(attempt, past, addr).iter().all(|&(value, _)| is_there(value))
    }

    /// What was written up to now to a word that the attempt itself does not use: what the thread could find there before the
    /// attempt, and what came later.
    pub(in crate::machine) fn written_elsewhere(&self, attempt: &Attempt, past: &Past, addr: Addr) -> Written {
        let mut words = self.written(attempt, past, addr);
        let later = self.steps[attempt.made..self.made].iter().filter(|step| step.thread != attempt.thread);
        words.extend(later.filter_map(|step| past::written(step, addr)).map(|value| (value, 0)));
        words
    }
}

//! What comes before an attempt of a loop that tries an exchange again: what its thread has been told, and what it may find
//! in words that others have written.
//!
//! As in the engine's `past.rs`, what a thread does next depends on what it has been told, and on what those have done who
//! have written that. Every step gets a number for all of this; it is computed once, and kept as long as the step is.

use super::RustMachine;
use super::awaits::number_of;
use super::retries::Attempt;
use crate::number::{Number, mix};
use crate::script::Step;
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, Addr, Op, Outcome, ThreadId, truncate};
use std::hash::{Hash, Hasher};

/// What has been written to a word that a thread may still read, oldest first, and numbers for what that depends on.
pub(super) type Written = Vec<(u64, u64)>;

/// What has happened before an attempt.
pub(super) struct Past {
    /// A number for all of this, and for the attempt.
    pub number: u64,
    /// A number for what the thread has been told before the attempt, and those that it has heard of.
    told: u64,
    /// By thread, which steps happen before the attempt because its thread has made them, or was created or joined after
    /// them: those that come before this one. Others may do so as well.
    seen: Vec<usize>,
    /// What was written to the words that the attempt uses.
    words: Vec<(Addr, Written)>,
    /// The word of the exchange, and whether it is known in which order it was written.
    word: Addr,
    ordered: bool,
}

/// What a step has written to a word, if it has.
pub(super) fn written(step: &Step, addr: Addr) -> Option<u64> {
    match step.op {
        Op::Access(access) if access.addr == addr => {
            access.written(step.outcome).map(|value| truncate(value, access.size))
        }
        _ => None,
    }
}

impl RustMachine {
    /// Whether something else has been in the word of the exchange before what the attempt has loaded. If not, none can have
    /// failed. That is seen at once.
    pub(super) fn may_have_failed(&self, attempt: &Attempt) -> bool {
        if attempt.is_weak() {
            return true;
        }
        let (Some(load), Some(loaded)) = (attempt.load(), attempt.loaded()) else { return true };
        let Some(&init) = self.tries.inits.get(&load.addr) else { return true };
        let mut other = init != loaded;
        for value in self.steps[..attempt.made].iter().filter_map(|step| written(step, load.addr)) {
            match value == loaded {
                true if other => return true,
                true => {}
                false => other = true,
            }
        }
        // Otherwise nobody has written it, which cannot be.
        init != loaded
    }

    /// What has happened before an attempt; none if no other can have failed before it.
    pub(super) fn past_of(&mut self, attempt: &Attempt) -> Option<Past> {
        self.number_steps();
        let word = attempt.load().map_or(Addr(0), |load| load.addr);
        let told = self.told_before(attempt.start, attempt.thread);
        let mut past = Past { number: 0, told, seen: self.seen_by(attempt), words: Vec::new(), word, ordered: false };
        for step in &attempt.steps {
            if let Op::Access(Access { addr, .. }) = step.op
                && !past.words.iter().any(|(other, _)| *other == addr)
            {
                let written = self.written(attempt, &past, addr);
                past.words.push((addr, written));
            }
        }
        if !past.restrict_to_older(attempt) {
            return None;
        }
        past.number = past.key(attempt);
        Some(past)
    }

    /// A number for a step with which a thread may begin an attempt: for what it has been told before it, the outcome, and
    /// what was written before that to the word that it accesses.
    pub(super) fn beginning(&mut self, start: usize, thread: ThreadId, op: &Op, outcome: Outcome) -> u64 {
        self.number_steps();
        let mut number = mix(self.told_before(start, thread), outcome);
        if let Op::Access(access) = op {
            for (step, &told) in self.steps[..start].iter().zip(&self.tries.told) {
                if let Some(value) = written(step, access.addr) {
                    number = mix(mix(number, value), told);
                }
            }
        }
        number
    }

    /// Gives numbers to steps that have none yet.
    fn number_steps(&mut self) {
        for n in self.tries.told.len()..self.made {
            let step = self.steps[n];
            let mut told = mix(self.told_before(n, step.thread), step.outcome);
            match step.op {
                Op::Join { thread } => told = mix(told, self.told_before(n, thread)),
                Op::Access(access) if access.reads() => {
                    // All of those that it may have read from: which one it was is not known here.
                    for (other, &number) in self.steps[..n].iter().zip(&self.tries.told) {
                        if written(other, access.addr) == Some(step.outcome) {
                            told = mix(told, number);
                        }
                    }
                }
                _ => {}
            }
            self.tries.told.push(told);
        }
    }

    /// The number of what a thread has been told before a step.
    fn told_before(&self, n: usize, thread: ThreadId) -> u64 {
        number_of(&self.steps[..n], &self.tries.told, thread)
    }

    /// By thread, up to which step its steps happen before an attempt.
    fn seen_by(&self, attempt: &Attempt) -> Vec<usize> {
        let mut seen = vec![0; self.states.len()];
        seen[attempt.thread.index()] = attempt.start;
        // What comes before something that comes before it: the newest steps first.
        for (n, step) in self.steps[..attempt.made].iter().enumerate().rev() {
            let thread = step.thread.index();
            match step.op {
                Op::Join { thread: other } if n < seen[thread] => seen[other.index()] = seen[other.index()].max(n),
                Op::Spawn { child } if seen[child.index()] > n => seen[thread] = seen[thread].max(n + 1),
                _ => {}
            }
        }
        seen
    }

    /// What was written to a word before an attempt, and its thread may still read. Only of the word of the exchange it is
    /// known that it was written in this order.
    pub(super) fn written(&self, attempt: &Attempt, past: &Past, addr: Addr) -> Written {
        let mut words: Written = self.tries.inits.get(&addr).map(|&init| (init, 0)).into_iter().collect();
        let mut writers: Vec<Option<ThreadId>> = vec![None; words.len()];
        let ordered = addr == past.word;
        for (n, step) in self.steps[..attempt.made].iter().enumerate() {
            let own = step.thread == attempt.thread;
            if own && n >= attempt.start {
                continue;
            }
            if ordered && own && matches!(step.op, Op::Access(access) if access.addr == addr && access.reads()) {
                // What is older cannot be read by the thread any more. A value may have come back: it has read the first of
                // these, if nothing else is known.
                let from = words.iter().position(|&(value, _)| value == step.outcome);
                words.drain(..from.unwrap_or(0));
                writers.drain(..from.unwrap_or(0));
            }
            if let Some(value) = written(step, addr) {
                // What comes before what the thread has seen cannot be read by it any more.
                if n < past.seen[step.thread.index()] {
                    let comes_before = |by: Option<ThreadId>| ordered || by.is_none_or(|by| by == step.thread);
                    let mut kept = writers.iter().map(|&by| !comes_before(by));
                    words.retain(|_| kept.next() == Some(true));
                    writers.retain(|&by| !comes_before(by));
                }
                words.push((value, self.tries.told[n]));
                writers.push(Some(step.thread));
            }
        }
        words
    }

    /// What a thread may find in a word: values, and where they are in the order in which they were written. `from` is where
    /// the oldest of these is, if the order is known.
    pub(super) fn values(&self, attempt: &Attempt, past: &Past, addr: Addr, from: usize) -> Vec<(usize, u64)> {
        let elsewhere;
        let known = match past.words.iter().find(|(other, _)| *other == addr) {
            Some((_, words)) => words,
            None => {
                elsewhere = self.written_elsewhere(attempt, past, addr);
                &elsewhere
            }
        };
        let from = if past.is_ordered(addr) { from } else { 0 };
        let mut values: Vec<(usize, u64)> = Vec::new();
        for (n, &(value, _)) in known.iter().enumerate().skip(from) {
            if !values.iter().any(|&(_, other)| other == value) {
                values.push((n, value));
            }
        }
        values
    }
}

impl Past {
    /// Leaves of the word of the exchange only what an attempt could have found that failed before this one: writes are
    /// ordered, and the thread never finds an older one after a newer one. Whether one can have failed: it has loaded
    /// something else than its exchange has found, or fails for no reason.
    fn restrict_to_older(&mut self, attempt: &Attempt) -> bool {
        let Some(loaded) = attempt.loaded() else { return true };
        let Some((_, words)) = self.words.iter_mut().find(|(addr, _)| *addr == self.word) else { return true };
        let Some(newest) = words.iter().rposition(|&(value, _)| value == loaded) else { return true };
        words.truncate(newest + 1);
        self.ordered = true;
        attempt.is_weak() || words.iter().any(|&(value, _)| value != loaded)
    }

    /// Whether it is known in which order a word was written.
    pub fn is_ordered(&self, addr: Addr) -> bool {
        self.ordered && addr == self.word
    }

    /// The place after the newest value of the word of the exchange.
    pub fn end(&self) -> usize {
        self.words.iter().find(|(addr, _)| *addr == self.word).map_or(0, |(_, words)| words.len())
    }

    /// A number for all that attempts which could have failed depend on, but for words that only they load.
    fn key(&self, attempt: &Attempt) -> u64 {
        let mut hasher = Number::default();
        std::ptr::from_ref(attempt.at).hash(&mut hasher);
        hasher.write_usize(attempt.thread.index());
        (self.told, attempt.leaves).hash(&mut hasher);
        for step in &attempt.steps {
            if let Op::Access(access) = step.op {
                (access.addr, step.outcome).hash(&mut hasher);
            }
        }
        self.words.hash(&mut hasher);
        hasher.finish()
    }
}

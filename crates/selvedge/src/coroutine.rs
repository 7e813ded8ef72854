//! Coroutines on stacks that are used again and again.
//!
//! A thread of a model is a coroutine. Executions are run by the thousand per second, so nothing is mapped for an
//! execution: stacks go back to a pool.
//!
//! A run that the exploration turns away from is abandoned where it stands. Its threads are neither resumed nor
//! unwound: destructors would perform operations whose outcomes nobody has chosen, and could panic or wait forever. What
//! they own is leaked.

// Coroutines are abandoned without being unwound.
#![allow(unsafe_code)]

use crate::runtime::{self, Here, Yielded};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use selvedge_machine::{Outcome, SourceSpan, ThreadId};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Only what is used of a stack takes memory.
const STACK: usize = 1 << 20;

/// How a thread ended: with a panic or without.
type Ended = Option<(String, SourceSpan)>;

/// A thread that runs.
pub(crate) struct Strand {
    coroutine: Option<Coroutine<Outcome, Yielded, Ended, DefaultStack>>,
    here: Here,
}

/// Where a thread has come to.
pub(crate) enum Came {
    /// It has suspended itself.
    To(Yielded),
    /// It has ended.
    End,
    /// It has panicked.
    Panic(String, SourceSpan),
}

/// Stacks that are not in use.
#[derive(Default)]
pub(crate) struct Pool {
    stacks: Vec<DefaultStack>,
}

impl Pool {
    /// A thread that is about to start.
    pub fn strand(&mut self, thread: ThreadId, body: impl FnOnce() + 'static) -> Strand {
        let stack = self.stacks.pop().unwrap_or_else(|| DefaultStack::new(STACK).expect("a stack can be mapped"));
        let run = move |yielder: &Yielder<Outcome, Yielded>, _| {
            runtime::set_here(Some(Here { thread, yielder }));
            let result = catch_unwind(AssertUnwindSafe(body));
            result.err().map(|_| runtime::take_panic().unwrap_or_else(|| ("a panic".to_owned(), SourceSpan::default())))
        };
        let here = Here { thread, yielder: std::ptr::null() };
        Strand { coroutine: Some(Coroutine::with_stack(stack, run)), here }
    }

    /// Runs a thread until it suspends itself or ends.
    pub fn resume(&mut self, strand: &mut Strand, outcome: Outcome) -> Came {
        let coroutine = strand.coroutine.as_mut().expect("only threads that have not ended are resumed");
        // The first time, the coroutine itself says where its yielder is.
        runtime::set_here(Some(strand.here));
        let result = coroutine.resume(outcome);
        strand.here = runtime::here().unwrap_or(strand.here);
        runtime::set_here(None);
        match result {
            CoroutineResult::Yield(yielded) => Came::To(yielded),
            CoroutineResult::Return(ended) => {
                self.take_back(strand);
                ended.map_or(Came::End, |(message, place)| Came::Panic(message, place))
            }
        }
    }

    /// Abandons a thread.
    pub fn abandon(&mut self, strand: &mut Strand) {
        if let Some(coroutine) = &mut strand.coroutine {
            // SAFETY: the coroutine is suspended or has ended, and is not resumed again. What its frames own is leaked, and
            // nothing of it is used again: other threads of the run that could borrow from its stack (none can, bodies of
            // threads are 'static) are abandoned together with it.
            unsafe { coroutine.force_reset() };
        }
        self.take_back(strand);
    }

    fn take_back(&mut self, strand: &mut Strand) {
        self.stacks.extend(strand.coroutine.take().map(Coroutine::into_stack));
    }
}

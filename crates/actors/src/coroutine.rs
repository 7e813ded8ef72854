//! Processes as coroutines, on stacks that are used again and again.
//!
//! A process that is not needed any more is made to unwind: so what it owns is dropped, and memory does not grow however
//! many executions there are. Its destructors may send; nobody hears it.

// Coroutines that catch what makes them unwind are abandoned.
#![allow(unsafe_code)]

use crate::context::{self, Context};
use crate::machine::{RustMachine, Yielded};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use selvedge_machine::SourceSpan;
use selvedge_messages::Outcome;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Only what is used of a stack takes memory.
const STACK: usize = 1 << 20;

/// What a coroutine is told when it is resumed.
pub(crate) enum Told {
    /// The outcome of its Op.
    Outcome(Outcome<RustMachine>),
    /// To unwind.
    Unwind,
}

/// What unwinds a process that is not needed any more.
pub(crate) struct Unwound;

type Ended = Option<(String, SourceSpan)>;
pub(crate) type ProcessYielder = Yielder<Told, Yielded>;

/// A process that runs.
pub(crate) struct Strand {
    coroutine: Option<Coroutine<Told, Yielded, Ended, DefaultStack>>,
    /// What its operations need to know.
    pub context: Box<Context>,
}

/// Where a process has come to.
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
    /// A process that is about to start.
    pub fn strand(&mut self, context: Box<Context>, body: Box<dyn FnOnce()>) -> Strand {
        let stack = self.stacks.pop().unwrap_or_else(|| DefaultStack::new(STACK).expect("a stack can be mapped"));
        let run = move |yielder: &ProcessYielder, told: Told| {
            context::set_yielder(yielder);
            if matches!(told, Told::Unwind) {
                return None;
            }
            match catch_unwind(AssertUnwindSafe(body)) {
                Ok(()) => None,
                Err(panic) if panic.is::<Unwound>() => None,
                Err(_) => Some(context::take_panic()),
            }
        };
        Strand { coroutine: Some(Coroutine::with_stack(stack, run)), context }
    }

    /// Runs a process until it suspends itself or ends.
    pub fn resume(&mut self, strand: &mut Strand, told: Told) -> Came {
        let coroutine = strand.coroutine.as_mut().expect("only processes that have not ended are resumed");
        context::enter(&mut strand.context);
        let result = coroutine.resume(told);
        context::leave();
        match result {
            CoroutineResult::Yield(yielded) => Came::To(yielded),
            CoroutineResult::Return(ended) => {
                self.take_back(strand);
                ended.map_or(Came::End, |(message, place)| Came::Panic(message, place))
            }
        }
    }

    /// Makes a process unwind, wherever it is.
    pub fn abandon(&mut self, mut strand: Strand) {
        if strand.coroutine.as_ref().is_some_and(|coroutine| coroutine.started()) {
            strand.context.unwinding = true;
            if matches!(self.resume(&mut strand, Told::Unwind), Came::To(_))
                && let Some(coroutine) = &mut strand.coroutine
            {
                // SAFETY: the coroutine is suspended and is not resumed again. It has caught what should make it unwind,
                // again and again; what its frames own is leaked, and nothing refers to it.
                unsafe { coroutine.force_reset() };
            }
        }
        if let Some(coroutine) = &mut strand.coroutine
            && !coroutine.started()
        {
            // It never ran: running it now ends at once, and drops its body.
            strand.context.unwinding = true;
            self.resume(&mut strand, Told::Unwind);
        }
        self.take_back(&mut strand);
    }

    fn take_back(&mut self, strand: &mut Strand) {
        self.stacks.extend(strand.coroutine.take().map(Coroutine::into_stack));
    }
}

/// Unwinds the running process.
pub(crate) fn unwind() -> ! {
    resume_unwind(Box::new(Unwound))
}

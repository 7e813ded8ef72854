//! Running everything again up to the present step: what was taken back is undone only then.
//!
//! **Why runs are not kept and put back.** A thread that was tried out is put back to where it was (`snapshot.rs`), and a whole
//! run could be copied and put back in the same way, which would save a quarter of what is explored of a queue with a lock, and
//! two fifths of one without. But memory that a thread has allocated may have come to belong to something outside of the
//! model: a collection in a `static`, or in what the closure has captured, that takes up what executions have shown. If the
//! elements of a vector are put back, and not its length, which is elsewhere, it has elements that are none. Nobody can see from
//! bytes who owns them. Between two operations little is changed, so it can be insisted on that all of that is what the library
//! has announced (`Shared::has_touched`). From one step of an execution to another one many steps later, nodes are allocated
//! and queues are filled: nearly nothing that takes time could be put back.

use super::RustMachine;
use crate::runtime;
use crate::script::Step;
use selvedge_ir::EntityRef;
use selvedge_machine::{Op, Outcome, Stop, ThreadId, main_thread};

/// A step of a run that is repeated.
struct Turn {
    thread: ThreadId,
    outcome: Outcome,
    /// The thread that it creates.
    child: Option<ThreadId>,
    /// Whether its thread stands where it stood.
    is_there: bool,
}

impl RustMachine {
    /// Runs everything again up to the present step.
    pub(super) fn run_again(&mut self) -> Result<(), Stop> {
        if runtime::shared(|shared| shared.restart) {
            return Err(*runtime::starts_again());
        }
        self.keep_met();
        self.abandon();
        self.begin();
        self.stale = false;
        self.ahead = None;
        runtime::shared(|shared| {
            shared.script.steps = std::mem::take(&mut self.steps);
            (shared.script.next, shared.script.end) = (0, self.made);
            shared.script.repeats = self.made > 0;
        });
        self.create(main_thread());
        self.go(main_thread(), 0, true);
        let result = self.follow_script();
        self.steps = runtime::shared_untidily(|shared| {
            shared.met.clear();
            (shared.script.end, shared.script.repeats) = (0, false);
            std::mem::take(&mut shared.script.steps)
        });
        runtime::take_aside();
        let result = result.and_then(|()| self.compare());
        // Threads are not where they should be: whoever wants them to go on next is told the same.
        self.stale = result.is_err();
        result
    }

    /// Lets threads make the steps of the script.
    fn follow_script(&mut self) -> Result<(), Stop> {
        let begins = std::mem::take(&mut self.compared.begins);
        if !begins.is_empty() {
            return self.follow_otherwise(&begins);
        }
        while let Some(Turn { thread, outcome, child, is_there }) = self.next_of_script() {
            if !is_there {
                let Step { request, at, .. } = runtime::shared(|shared| shared.script.steps[shared.script.next - 1]);
                self.check(thread, &request, at)?;
            }
            // As in the first run: the parent comes to its next operation, then the child to its first one.
            self.go(thread, outcome, child.is_none());
            if let Some(child) = child {
                runtime::shared(|shared| shared.met.clear());
                self.create(child);
                self.go(child, 0, true);
            }
        }
        Ok(())
    }

    /// The same where the steps are in another order: threads begin before these steps, and not when they are created.
    fn follow_otherwise(&mut self, begins: &[(usize, ThreadId)]) -> Result<(), Stop> {
        let end = self.made;
        for n in 0..=begins.len() {
            let begins = begins.get(n).copied();
            runtime::shared(|shared| shared.script.end = begins.map_or(end, |(before, _)| before));
            while let Some(Turn { thread, outcome, is_there, .. }) = self.next_of_script() {
                if !is_there {
                    let Step { request, at, .. } =
                        runtime::shared(|shared| shared.script.steps[shared.script.next - 1]);
                    self.check(thread, &request, at)?;
                }
                let came = self.go(thread, outcome, true);
                self.notes_failure(thread, came);
            }
            if let Some((_, thread)) = begins {
                self.begins_otherwise(thread)?;
            }
        }
        Ok(())
    }

    /// A thread begins as soon as its creator has come to where it is created, or later.
    fn begins_otherwise(&mut self, thread: ThreadId) -> Result<(), Stop> {
        let creation = runtime::shared(|shared| {
            shared.met.clear();
            let creates = |step: &&Step| matches!(step.op, Op::Spawn { child } if child == thread);
            let is_there = shared.bodies.iter().any(|(child, _)| *child == thread);
            shared.script.steps.iter().find(creates).copied().filter(|_| !is_there)
        });
        if let Some(Step { thread: creator, request, at, .. }) = creation {
            self.check(creator, &request, at)?;
        }
        self.create(thread);
        let came = self.go(thread, 0, true);
        self.notes_failure(thread, came);
        Ok(())
    }

    /// Takes the next step of the script. The memory knows the objects that were met on the way there.
    #[inline]
    fn next_of_script(&mut self) -> Option<Turn> {
        runtime::shared_untidily(|shared| {
            shared.met.clear();
            let script = &mut shared.script;
            let step = script.steps[..script.end].get(script.next)?;
            script.next += 1;
            shared.blocks.now = step.now;
            shared.frees.uses(step.thread, &step.request);
            let slot = self.slots.get(step.thread.index()).and_then(Option::as_ref);
            let pending = slot.and_then(|slot| slot.strand.pending());
            Some(Turn {
                thread: step.thread,
                outcome: step.outcome,
                child: if let Op::Spawn { child } = step.op { Some(child) } else { None },
                is_there: pending.is_some_and(|now| step.is(&now.request, now.at)),
            })
        })
    }
}

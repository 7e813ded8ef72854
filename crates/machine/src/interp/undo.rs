//! Going back.
//!
//! A mark costs a few counters. When a thread takes its first step after a mark, its [`Head`] and its current frame are
//! copied; when a return makes a lower frame current, that one is copied too, once per mark. Nothing else of a thread
//! can change, so that is enough to go back, and it costs what the step touched. Everything lies in vectors that only
//! grow to their high-water mark: in the long run nothing is allocated.
//!
//! The invariant: of the frames that existed at the newest mark, those below [`Head::low`] have not changed since, and
//! the others have been saved since. It is restored together with the head, since heads of nested marks are saved on
//! top of each other.

use super::code::Pc;
use super::thread::{BoxedState, Frame, Head, Thread};
use crate::models::ModelState;
use crate::{Addr, ThreadId};
use rustc_hash::FxHashMap;
use selvedge_ir::EntityRef;

/// Facts that models keep: per thread, or process-wide.
pub type Facts = FxHashMap<(Option<ThreadId>, u32, u64), u64>;

/// An object that was freed, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Death {
    /// Its first byte.
    pub addr: Addr,
    /// The call that freed it.
    pub pc: Option<Pc>,
}

/// The part of the machine's state that belongs to no thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Process {
    /// Whether there has been a second thread.
    pub threaded: bool,
    /// The exit status, once the process has ended.
    pub exit: Option<i32>,
    /// Where `main` returned, once it has.
    pub main_returned: Option<Pc>,
}

struct Mark {
    heads: u32,
    frames: u32,
    changes: u32,
    deaths: u32,
    output: u32,
    process: Process,
}

struct SavedFrame {
    thread: ThreadId,
    at: u32,
    frame: Frame,
}

enum Change {
    Local { thread: ThreadId, global: u32 },
    Fact { key: (Option<ThreadId>, u32, u64), old: u64 },
}

/// What is needed to go back, and the parts of the state that are kept here for that reason.
#[derive(Default)]
pub struct Undo {
    marks: Vec<Mark>,
    heads: Vec<(ThreadId, Head, u32, u32)>,
    frames: Vec<SavedFrame>,
    words: Vec<u64>,
    states: Vec<BoxedState>,
    /// States that are not in use.
    spare: Vec<BoxedState>,
    changes: Vec<Change>,
    /// Facts of models.
    pub facts: Facts,
    /// Objects that were freed, oldest first.
    pub deaths: Vec<Death>,
    /// What was printed.
    pub output: String,
    /// What belongs to no thread.
    pub process: Process,
}

impl Undo {
    /// Remembers the present state.
    #[inline]
    pub fn mark(&mut self) {
        self.marks.push(Mark {
            heads: self.heads.len() as u32,
            frames: self.frames.len() as u32,
            changes: self.changes.len() as u32,
            deaths: self.deaths.len() as u32,
            output: self.output.len() as u32,
            process: self.process,
        });
    }

    /// To be called before a thread's head or current frame changes.
    #[inline]
    pub fn save(&mut self, id: ThreadId, thread: &mut Thread) {
        let level = self.marks.len() as u32;
        if thread.head.saved != level {
            self.heads.push((id, thread.head, thread.frames.len() as u32, thread.models.len() as u32));
            thread.head.saved = level;
            thread.head.low = thread.frames.len() as u32;
        }
        self.save_top(id, thread);
    }

    /// To be called when a frame has become current.
    #[inline]
    pub fn save_top(&mut self, id: ThreadId, thread: &mut Thread) {
        if let Some(at) = thread.frames.len().checked_sub(1)
            && (at as u32) < thread.head.low
        {
            self.save_frame(id, thread, at);
        }
    }

    fn save_frame(&mut self, id: ThreadId, thread: &mut Thread, at: usize) {
        debug_assert!(at as u32 + 1 == thread.head.low, "frames are saved from the top downwards");
        thread.head.low = at as u32;
        let frame = thread.frames[at];
        if frame.is_model() {
            let copy = self.copy_of(&thread.models[frame.base as usize]);
            self.states.push(copy);
        } else {
            self.words.extend_from_slice(&thread.stack[frame.base as usize..frame.end as usize]);
        }
        self.frames.push(SavedFrame { thread: id, at: at as u32, frame });
    }

    /// Goes back to the newest mark and forgets it.
    #[inline]
    pub fn undo(&mut self, threads: &mut [Thread]) {
        let mark = self.marks.pop().expect("undo has a mark to go to");
        // Lower frames were saved later, so they are put back first.
        while self.frames.len() > mark.frames as usize {
            let SavedFrame { thread, at, frame } = self.frames.pop().expect("there are more frames than at the mark");
            self.put_back(&mut threads[thread.index()], at, frame);
        }
        while self.heads.len() > mark.heads as usize {
            let (id, head, frames, models) = self.heads.pop().expect("there are more heads than at the mark");
            let thread = &mut threads[id.index()];
            thread.head = head;
            thread.frames.truncate(frames as usize);
            while thread.models.len() > models as usize {
                self.spare.extend(thread.models.pop());
            }
        }
        while self.changes.len() > mark.changes as usize {
            match self.changes.pop().expect("there are more changes than at the mark") {
                Change::Local { thread, global } => threads[thread.index()].locals[global as usize] = 0,
                Change::Fact { key, old } => drop(self.facts.insert(key, old)),
            }
        }
        self.deaths.truncate(mark.deaths as usize);
        if self.output.len() > mark.output as usize {
            self.output.truncate(mark.output as usize);
        }
        self.process = mark.process;
    }

    fn put_back(&mut self, thread: &mut Thread, at: u32, frame: Frame) {
        thread.frames.truncate(at as usize);
        thread.frames.push(frame);
        if frame.is_model() {
            while thread.models.len() > frame.base as usize {
                self.spare.extend(thread.models.pop());
            }
            thread.models.push(self.states.pop().expect("a model's frame is saved with its state"));
        } else {
            let (base, end) = (frame.base as usize, frame.end as usize);
            let from = self.words.len() - (end - base);
            thread.stack[base..end].copy_from_slice(&self.words[from..]);
            self.words.truncate(from);
        }
    }

    /// A model's state as it is at first.
    pub fn fresh_state(&mut self) -> BoxedState {
        let Some(mut state) = self.spare.pop() else { return Box::default() };
        let ModelState { args, types, waiting, log, slots } = &mut *state;
        args.clear();
        types.clear();
        *waiting = false;
        log.clear();
        *slots = [0; 6];
        state
    }

    /// Keeps a state that is not needed any more, to be used again.
    pub fn retire(&mut self, state: BoxedState) {
        self.spare.push(state);
    }

    fn copy_of(&mut self, original: &ModelState) -> BoxedState {
        let mut copy = self.fresh_state();
        copy.args.extend_from_slice(&original.args);
        copy.types.extend_from_slice(&original.types);
        copy.waiting = original.waiting;
        copy.log.extend_from_slice(&original.log);
        copy.slots = original.slots;
        copy
    }

    /// Sets a fact of a thread, or of the process.
    pub fn set_fact(&mut self, key: (Option<ThreadId>, u32, u64), value: u64) {
        let old = self.facts.insert(key, value).unwrap_or(0);
        if !self.marks.is_empty() {
            self.changes.push(Change::Fact { key, old });
        }
    }

    /// Notes that a thread has made its instance of a thread-local variable.
    pub fn made_local(&mut self, thread: ThreadId, global: u32) {
        if !self.marks.is_empty() {
            self.changes.push(Change::Local { thread, global });
        }
    }
}

//! A thread: frames, registers, and where it stands.
//!
//! The registers of all frames lie in one vector, the *stack*. A frame of a function of the program has, from its base
//! on: the registers of the function, the variadic arguments that it was called with, and the addresses of the stack
//! objects that it has made (they die with it). A frame of a model has a [`ModelState`] instead, on a stack of its own.
//! `pc` of a frame is the instruction that it executes: the call, for all frames but the top one.
//!
//! What has to be saved for going back is in `undo.rs`.

use super::code::Pc;
use crate::models::ModelState;
use crate::{Op, Status, ThreadId};
use selvedge_ir::{EntityRef, FuncId};

/// An activation of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Whose.
    pub func: FuncId,
    /// The instruction that it executes, or [`Frame::MODEL`].
    pub pc: Pc,
    /// Its first register; for a model, the place of its state.
    pub base: u32,
    /// Behind everything that it has on the stack.
    pub end: u32,
}

impl Frame {
    /// The `pc` of a model's frame.
    pub const MODEL: Pc = Pc::MAX;

    /// Whether it is an activation of a model.
    #[inline]
    pub fn is_model(&self) -> bool {
        self.pc == Frame::MODEL
    }
}

/// The small part of a thread's state that is saved whenever it takes a step after a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// Where it stands.
    pub status: Status,
    /// What it waits with, if it is ready.
    pub pending: Op,
    /// How many children it has prepared.
    pub children: u32,
    /// What it left for `pthread_join`.
    pub result: u64,
    /// How often it has changed something besides its registers.
    pub effects: u64,
    /// How many Ops it was told the outcome of.
    pub ops: u32,
    /// Whether it has called `pthread_exit` and only its stack objects are left; or, if it has finished, whether the whole
    /// process ended with it.
    pub exiting: bool,
    /// Whether it is blocked because an iteration of a loop changes nothing.
    pub spins: bool,
    /// The number of marks when it was saved last.
    pub saved: u32,
    /// Frames from this one on were saved since, or are new.
    pub low: u32,
}

/// The state of a model. It is boxed because it is large and changes its place often.
pub type BoxedState = Box<ModelState>;

/// A thread.
pub struct Thread {
    /// The part that is saved as a whole.
    pub head: Head,
    /// Activations, the current one last.
    pub frames: Vec<Frame>,
    /// Registers.
    pub stack: Vec<u64>,
    /// States of models that wait.
    pub models: Vec<BoxedState>,
    /// Addresses of its instances of thread-local variables, by global; 0 if not made yet.
    pub locals: Vec<u64>,
}

impl Thread {
    /// A thread that does not exist.
    pub fn absent() -> Thread {
        let head = Head {
            status: Status::Absent,
            pending: Op::AtomicEnd,
            children: 0,
            result: 0,
            effects: 0,
            ops: 0,
            exiting: false,
            spins: false,
            saved: 0,
            low: 0,
        };
        Thread { head, frames: Vec::new(), stack: Vec::new(), models: Vec::new(), locals: Vec::new() }
    }

    /// Where the next frame starts.
    #[inline]
    pub fn top(&self) -> u32 {
        self.frames.last().map_or(0, |frame| frame.end)
    }

    /// Makes room for stack entries below `end`.
    #[inline]
    pub fn reserve(&mut self, end: u32) {
        if self.stack.len() < end as usize {
            self.stack.resize((end as usize).next_power_of_two().max(64), 0);
        }
    }
}

/// A thread's place in the tree of threads; kept for a whole exploration.
#[derive(Clone, Debug)]
pub struct Kin {
    /// Who creates it; none for main.
    pub parent: Option<ThreadId>,
    /// Which child of its parent it is.
    pub nth: u32,
    /// Its own children.
    pub children: Vec<ThreadId>,
    /// Its start routine and argument when it was prepared last.
    pub start: Option<(FuncId, u64)>,
    /// The function of the program that the start routine, which is the library's, will call; only for names.
    pub body: Option<FuncId>,
}

/// The tree of all threads that were ever heard of.
pub struct Family {
    /// By thread number.
    pub kin: Vec<Kin>,
}

impl Family {
    /// Main alone.
    pub fn new() -> Family {
        Family { kin: vec![Kin { parent: None, nth: 0, children: Vec::new(), start: None, body: None }] }
    }

    /// The n-th child of a thread, if it was heard of.
    pub fn child(&self, parent: ThreadId, nth: u32) -> Option<ThreadId> {
        self.kin[parent.index()].children.get(nth as usize).copied()
    }

    /// Adds the next child of a thread.
    pub fn add_child(&mut self, parent: ThreadId) -> ThreadId {
        let child = ThreadId::new(self.kin.len());
        let siblings = &mut self.kin[parent.index()].children;
        let nth = siblings.len() as u32;
        siblings.push(child);
        self.kin.push(Kin { parent: Some(parent), nth, children: Vec::new(), start: None, body: None });
        child
    }

    /// The path from main.
    pub fn path(&self, thread: ThreadId) -> Vec<u32> {
        let mut path = Vec::new();
        let mut at = thread;
        while let Some(parent) = self.kin[at.index()].parent {
            path.push(self.kin[at.index()].nth);
            at = parent;
        }
        path.reverse();
        path
    }
}

//! Heap objects that nothing points to.
//!
//! At the end of an execution, an object that was allocated and not freed has leaked unless the program could still get
//! at it: a global, thread-local or local variable that lives, or a heap object that can be reached itself, holds an
//! address within it.

use super::Interpreter;
use crate::memory::{ObjectId, ObjectKind};
use crate::{Addr, Stop, Violation, ViolationKind};
use rustc_hash::FxHashSet;

const ROOTS: [ObjectKind; 4] = [ObjectKind::Global, ObjectKind::Constant, ObjectKind::ThreadLocal, ObjectKind::Stack];

impl Interpreter {
    /// The first leaked object, if there is one, as a violation where it was allocated.
    pub(super) fn check_leaks(&self) -> Result<(), Stop> {
        let mut reached: FxHashSet<ObjectId> = FxHashSet::default();
        let mut work: Vec<ObjectId> = ROOTS.into_iter().flat_map(|kind| self.memory.live_objects(kind)).collect();
        while let Some(id) = work.pop() {
            for word in self.memory.words(id) {
                if let Some(target) = self.memory.find(Addr(word))
                    && self.memory.object(target).kind == ObjectKind::Heap
                    && reached.insert(target)
                {
                    work.push(target);
                }
            }
        }
        let mut heap = self.memory.live_objects(ObjectKind::Heap);
        let Some(leaked) = heap.find(|id| !reached.contains(id)) else { return Ok(()) };
        let object = self.memory.object(leaked);
        let message = format!("an object of {} bytes is never freed, and nothing points to it at the end", object.size);
        let places = self.allocation(object);
        Err(Stop::Violation(Box::new(Violation { kind: ViolationKind::Leak, message, places })))
    }
}

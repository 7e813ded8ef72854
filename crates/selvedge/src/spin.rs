//! Loops that wait for others.
//!
//! A loop such as `while !flag.load(Acquire) { hint::spin_loop() }` has no end as long as nobody sets the flag, so there
//! would be an execution for every number of iterations. `hint::spin_loop` and `thread::yield_now` tell where iterations
//! end. If a thread comes to such a point in the same state as once before, and has written nothing since, then it has
//! made a *pure cycle*, and it is blocked there: it does not go on in this execution.
//!
//! Nothing is lost. Let G be an execution in which a thread makes a pure cycle I and goes on, and let G - I be G without
//! the events of I. In G - I the thread is in the same state where I began as in G where I ended, so it goes on in the
//! same way, provided that its later reads may read what they read in G. They may: the events of I are reads, fences, and
//! read-modify-writes that leave the value that they find. To take away reads and fences takes away edges only, of program
//! order and of happens-before, and axioms that forbid cycles still hold. Whoever reads from such a read-modify-write
//! reads from what it has read instead: the same value, its neighbour in coherence order, and the head of a release sequence
//! that both are part of. So G - I is an execution of the program too. It is shorter, and it has the failures of G: the same
//! values are asserted, the same threads are stuck, and two accesses that race in G do so with fewer edges of
//! happens-before. What I itself races with is found before the thread is blocked. By induction on their number,
//! executions without pure cycles suffice. That others write what the thread has waited for, and that it reads that in the
//! cycle, is an execution in which the cycle is none; it is explored, since reads of blocked threads are revisited like
//! others.
//!
//! If all that the thread has read in the cycle is up to date when nobody can go on any more, it spins forever: a
//! livelock, which the engine reports.
//!
//! What is the state of a thread? All that it keeps on its stack, including its registers, which are there while it is
//! suspended. So a loop that counts its iterations, to give up at some number, is not taken for a pure cycle. Stacks are
//! compared byte by byte: two states may be taken for different because of what was left over somewhere, and the
//! thread then makes an iteration more.
//!
//! A thread may count on the heap, too, in what a lock of a `static` protects, or (if it is a thread of a scope) on the stack
//! of another thread. So memory that the model has allocated (`blocks.rs`), copies of what is in statics (`content.rs`) and
//! the stacks of the others are compared before and after every step that a thread makes in what could be a cycle: if the
//! step has changed something, the cycle is not pure.
//! What others change in the meantime does not count. What this does not see is a change of memory from outside of the
//! model: of a `static` of `std`'s types, of a thread-local variable of `std`, of what the model's closure has captured.
//! All of these are kept from one execution to the next, so a model must not depend on them anyway; if a loop does, it has
//! to be written without `spin_loop`. Nor is anything seen on the heap where `alloc::Tracking` is not installed.

use selvedge_machine::{Access, Op, Outcome, truncate};

/// More states are not kept.
const MOST: usize = 64;

/// The states in which a thread has come to the end of an iteration since it last wrote something.
#[derive(Default)]
pub(crate) struct Spin {
    states: Vec<Vec<u64>>,
}

impl Spin {
    /// The thread has performed an operation.
    pub fn performed(&mut self, op: &Op, outcome: Outcome) {
        if !is_quiet(op, outcome) {
            self.changed();
        }
    }

    /// The thread has changed something.
    pub fn changed(&mut self) {
        self.states.clear();
    }

    /// Whether the thread may be in a cycle: what it changes has to be watched.
    #[inline]
    pub fn watches(&self) -> bool {
        !self.states.is_empty()
    }

    /// Whether the thread comes back to a state in which it has been.
    pub fn comes_back(&mut self, state: Vec<u64>) -> bool {
        if self.states.contains(&state) {
            return true;
        }
        if self.states.len() == MOST {
            self.states.remove(0);
        }
        self.states.push(state);
        false
    }
}

/// Whether an operation leaves everything as it was.
pub(crate) fn is_quiet(op: &Op, outcome: Outcome) -> bool {
    match op {
        Op::Access(access @ Access { until: None, .. }) => {
            access.written(outcome).is_none_or(|new| access.reads() && truncate(new, access.size) == outcome)
        }
        Op::Fence { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_ir::{Order, RmwOp};
    use selvedge_machine::{AccessKind, Addr};

    fn access(kind: AccessKind) -> Op {
        Op::Access(Access::new(Addr(64), 1, Order::Relaxed, kind))
    }

    #[test]
    fn what_writes_nothing_new_is_quiet() {
        let swap = access(AccessKind::Rmw { op: RmwOp::Xchg, operand: 1, used: true });
        let exchange = access(AccessKind::Cas { expected: 0, new: 1, failure: Order::Relaxed });
        assert!(is_quiet(&access(AccessKind::Load), 5));
        assert!(is_quiet(&swap, 1) && !is_quiet(&swap, 0));
        assert!(is_quiet(&exchange, 1) && !is_quiet(&exchange, 0));
        // A store is seen by others even if the value was there before: it may order what comes before it.
        assert!(!is_quiet(&access(AccessKind::Store { value: 0 }), 0));
    }

    #[test]
    fn a_write_ends_what_could_be_a_cycle() {
        let mut spin = Spin::default();
        assert!(!spin.comes_back(vec![1]) && !spin.comes_back(vec![2]));
        assert!(spin.comes_back(vec![1]));
        spin.performed(&access(AccessKind::Store { value: 1 }), 0);
        assert!(!spin.comes_back(vec![1]));
    }
}

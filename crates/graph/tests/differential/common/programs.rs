//! Random programs that wait for each other, small enough for the axiomatic oracle.
//!
//! The programs of the oracle crate have a bit of everything. These here are made to be hard for an engine that treats
//! waiting reads in a special way: two to four threads at one or two variables, with locks that are also tried, semaphores,
//! exchanges that wait, confirmations, and awaits among fences and sequentially consistent accesses. A seed gives the same
//! program for ever.

use selvedge_ir::{CmpOp, EntityRef, Order, RmwOp, Speculation};
use selvedge_machine::ThreadId;
use selvedge_oracle::generate::Rng;
use selvedge_oracle::litmus::{Expr, Inst, Place, Program, Reg, Test, Thread, Until, Var, VarId};

/// What a thread does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phrase {
    Load,
    Store,
    Add,
    Exchange,
    Cas,
    Fence,
    /// A load that waits.
    Await,
    /// A critical section.
    Lock,
    /// A critical section, if the lock is free.
    TryLock,
    /// Takes one from a semaphore.
    Take,
    /// Adds one to a semaphore.
    Give,
    /// A compare-and-exchange that waits until it succeeds.
    CasUntil,
    /// An exchange, an addition or a store that waits for something.
    RmwUntil,
    /// A speculative load and its confirmation.
    Confirm,
    /// A speculative load that is not always one: only if it reads zero, only if not, or only if it is confirmed next.
    ConfirmSome,
    /// An assumption about what was read last.
    Assume,
    /// The rest of the thread only if something was read.
    Branch,
}

/// Which programs are made.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub name: &'static str,
    phrases: &'static [Phrase],
    /// Variables: at most this many.
    vars: usize,
    /// Values that are written are ones that nobody else writes in so many of a hundred cases.
    own: usize,
}

pub const KINDS: &[Kind] = {
    use Phrase::*;
    &[
        Kind { name: "awaits", phrases: &[Await, Await, Store, Load, Fence, Add], vars: 3, own: 75 },
        Kind { name: "racing stores", phrases: &[Await, Await, Store, Store, Store, Load], vars: 2, own: 75 },
        Kind { name: "mutexes", phrases: &[Lock], vars: 1, own: 75 },
        Kind { name: "locks", phrases: &[Lock, Lock, TryLock, Await, Load], vars: 1, own: 75 },
        Kind { name: "semaphores", phrases: &[Take, Take, Give, Load, Await], vars: 2, own: 75 },
        Kind { name: "exchanges", phrases: &[CasUntil, CasUntil, RmwUntil, Add, Store, Await], vars: 2, own: 75 },
        Kind { name: "confirmations", phrases: &[Confirm], vars: 1, own: 75 },
        Kind { name: "repeated values", phrases: &[Confirm, Confirm, Confirm, ConfirmSome, Add], vars: 2, own: 25 },
        Kind {
            name: "confirmations of two",
            phrases: &[Confirm, Confirm, Confirm, Load, Fence, Store, Branch],
            vars: 2,
            own: 75,
        },
        Kind { name: "confirmations and awaits", phrases: &[Confirm, Confirm, Await, Load], vars: 2, own: 75 },
        Kind {
            name: "confirmations and others",
            phrases: &[Confirm, Confirm, ConfirmSome, Add, CasUntil, Lock, Assume],
            vars: 2,
            own: 75,
        },
        Kind {
            name: "waits",
            phrases: &[Await, Lock, Take, Give, CasUntil, RmwUntil, Store, Load, Branch, Assume],
            vars: 2,
            own: 75,
        },
        Kind {
            name: "everything",
            phrases: &[
                Load,
                Store,
                Add,
                Exchange,
                Fence,
                Await,
                Lock,
                TryLock,
                Take,
                Give,
                CasUntil,
                RmwUntil,
                Confirm,
                ConfirmSome,
                Assume,
                Branch,
            ],
            vars: 2,
            own: 75,
        },
    ]
};

/// Programs that never wait.
pub const BUSY: &[Kind] = {
    use Phrase::*;
    &[
        Kind { name: "accesses", phrases: &[Load, Load, Store, Store, Branch], vars: 3, own: 75 },
        Kind { name: "exchanges", phrases: &[Load, Store, Add, Exchange, Cas, Branch], vars: 2, own: 75 },
        Kind { name: "assumptions", phrases: &[Load, Store, Store, Cas, Assume, Branch], vars: 2, own: 75 },
    ]
};

/// A program of a kind; the higher `attempt`, the smaller it is.
pub fn program(kind: &Kind, rng: &mut Rng, attempt: usize) -> Program {
    let vars = 1 + rng.below(kind.vars);
    let threads = rng.pick(&[2, 2, 3, 3, 3, 4]);
    let mut generator = Generator { kind, rng, vars, thread: 0, written: 0 };
    let longest = 3usize.saturating_sub(attempt / 8).max(1);
    let mut bodies = vec![Thread::new()];
    for thread in 1..=threads {
        generator.thread = thread;
        generator.written = 0;
        let mut body = Thread::new();
        for _ in 0..1 + generator.rng.below(longest) {
            generator.phrase(&mut body);
        }
        bodies.push(body);
    }
    for child in 1..=threads {
        bodies[0].insert(child - 1, Inst::Spawn(ThreadId::new(child)));
    }
    if generator.rng.percent(30) {
        bodies[0].extend((1..=threads).map(|child| Inst::Join(ThreadId::new(child))));
    }
    if generator.rng.percent(30) {
        generator.thread = 0;
        generator.phrase(&mut bodies[0]);
    }
    // Data, and a mutex or semaphore.
    let mut all: Vec<Var> = (0..vars).map(|_| Var { size: 4, init: Some(0) }).collect();
    let init = if kind.phrases.contains(&Phrase::Take) { generator.rng.below(3) as u64 } else { 0 };
    all.push(Var { size: 4, init: Some(init) });
    Program { vars: all, threads: bodies }
}

/// Whether everything that is said to confirm something does: a compare-and-exchange that waits for the value which the
/// last speculative load has read. Engines need not cope with anything else.
pub fn is_well_formed(program: &Program) -> bool {
    let confirms = |thread: &Thread, at: usize| {
        let Inst::Cas { place, expected, confirms, until, .. } = thread[at] else { return true };
        if !confirms {
            return true;
        }
        let speculates = |inst: &Inst| matches!(inst, Inst::Load { speculative: Some(_), .. });
        let Some(load) = thread[..at].iter().rposition(speculates) else { return false };
        let Inst::Load { dst, place: read, .. } = thread[load] else { return false };
        let overwrites = |inst: &Inst| match inst {
            Inst::Load { dst: other, .. } | Inst::Set { dst: other, .. } | Inst::Choose { dst: other, .. } => {
                *other == dst
            }
            Inst::Rmw { dst: other, .. } | Inst::Cas { dst: other, .. } => *other == Some(dst),
            _ => false,
        };
        let waits = until == Some(Until { op: CmpOp::Eq, operand: expected });
        read == place && expected == Expr::reg(dst) && waits && !thread[load + 1..at].iter().any(overwrites)
    };
    program.threads.iter().all(|thread| (0..thread.len()).all(|at| confirms(thread, at)))
}

struct Generator<'a> {
    kind: &'a Kind,
    rng: &'a mut Rng,
    vars: usize,
    thread: usize,
    written: u64,
}

const SEEN: usize = 0;

impl Generator<'_> {
    fn phrase(&mut self, out: &mut Thread) {
        let (dst, until) = (Reg::new(SEEN), None);
        match self.rng.pick(self.kind.phrases) {
            Phrase::Load => {
                let (place, order) = (self.any_place(), self.read_order());
                out.push(Inst::Load { dst, place, order, speculative: None, until });
            }
            Phrase::Store => self.store(out),
            Phrase::Add => {
                let (place, order) = (self.any_place(), self.rmw_order());
                let value = Expr::constant(1 + self.rng.below(2) as u64);
                out.push(Inst::Rmw { dst: Some(dst), op: RmwOp::Add, place, value, order, until });
            }
            Phrase::Exchange => {
                let (place, order, value) = (self.any_place(), self.rmw_order(), self.value());
                out.push(Inst::Rmw { dst: Some(dst), op: RmwOp::Xchg, place, value, order, until });
            }
            Phrase::Cas => {
                let (place, expected) = (self.any_place(), Expr::constant(self.rng.pick(&[0, 0, 1, 11])));
                self.cas(out, place, expected, None);
            }
            Phrase::Fence => out.push(Inst::Fence(self.rng.pick(&[Order::SeqCst, Order::SeqCst, Order::AcqRel]))),
            Phrase::Await => {
                let (place, order, until) = (self.any_place(), self.read_order(), self.condition());
                out.push(Inst::Load { dst, place, order, speculative: None, until });
            }
            Phrase::Lock => {
                out.push(Inst::Lock { place: self.mutex() });
                self.inside(out);
                self.unlock(out);
            }
            Phrase::TryLock => {
                let at = out.len();
                self.cas(out, self.mutex(), Expr::constant(0), None);
                self.inside(out);
                self.unlock(out);
                let count = (out.len() - at - 1) as u8;
                out.insert(at + 1, Inst::Skip { count, when: Some(Test { reg: dst, op: CmpOp::Ne, value: 0 }) });
            }
            Phrase::Take => {
                let until = Some(Until { op: CmpOp::Ugt, operand: Expr::constant(0) });
                let (place, order) = (self.mutex(), self.rng.pick(&[Order::Acquire, Order::AcqRel, Order::SeqCst]));
                out.push(Inst::Rmw { dst: None, op: RmwOp::Sub, place, value: Expr::constant(1), order, until });
            }
            Phrase::Give => {
                let (place, order) = (self.mutex(), self.rng.pick(&[Order::Release, Order::AcqRel, Order::SeqCst]));
                out.push(Inst::Rmw { dst: None, op: RmwOp::Add, place, value: Expr::constant(1), order, until });
            }
            Phrase::CasUntil => {
                let (place, expected) = (self.any_place(), Expr::constant(self.rng.pick(&[0, 0, 0, 1, 2])));
                self.cas(out, place, expected, Some(Until { op: CmpOp::Eq, operand: expected }));
            }
            Phrase::RmwUntil => {
                let (place, order, until) = (self.any_place(), self.rmw_order(), self.condition());
                let value = self.value();
                match self.rng.below(3) {
                    0 => out.push(Inst::Store { place, value, order: Order::Release, until }),
                    1 => out.push(Inst::Rmw { dst: Some(dst), op: RmwOp::Add, place, value, order, until }),
                    _ => out.push(Inst::Rmw { dst: Some(dst), op: RmwOp::Xchg, place, value, order, until }),
                }
            }
            Phrase::Confirm => self.confirm(out, Speculation::Always),
            Phrase::ConfirmSome => {
                let when = self.rng.pick(&[Speculation::IfZero, Speculation::IfNonzero, Speculation::IfNext]);
                self.confirm(out, when);
            }
            Phrase::Assume => out.push(Inst::Assume(self.test())),
            Phrase::Branch => {
                let (at, when) = (out.len(), Some(self.test()));
                self.phrase(out);
                out.insert(at, Inst::Skip { count: (out.len() - at) as u8, when });
            }
        }
    }

    /// What is done while a lock is held.
    fn inside(&mut self, out: &mut Thread) {
        match self.rng.below(4) {
            0 => self.store(out),
            1 => {
                let (dst, place, order) = (Reg::new(2), self.place(), self.read_order());
                out.push(Inst::Load { dst, place, order, speculative: None, until: None });
            }
            _ => {}
        }
    }

    fn unlock(&mut self, out: &mut Thread) {
        if self.rng.percent(90) {
            out.push(Inst::Unlock { place: self.mutex() });
        }
    }

    fn store(&mut self, out: &mut Thread) {
        let (place, value) = (self.any_place(), self.value());
        let order = self.rng.pick(&[Order::Relaxed, Order::Release, Order::SeqCst]);
        out.push(Inst::Store { place, value, order, until: None });
    }

    fn cas(&mut self, out: &mut Thread, place: Place, expected: Expr, until: Option<Until>) {
        let (success, failure, new) = (self.rmw_order(), self.read_order(), self.value());
        let dst = Some(Reg::new(SEEN));
        out.push(Inst::Cas { dst, place, expected, new, success, failure, confirms: false, until });
    }

    fn confirm(&mut self, out: &mut Thread, speculation: Speculation) {
        let (dst, place, order) = (Reg::new(SEEN), self.place(), self.read_order());
        out.push(Inst::Load { dst, place, order, speculative: Some(speculation), until: None });
        if self.rng.percent(25) {
            let (place, order) = (self.place(), self.read_order());
            out.push(Inst::Load { dst: Reg::new(2), place, order, speculative: None, until: None });
        }
        let expected = Expr::reg(dst);
        let (success, failure, new) = (self.rmw_order(), self.read_order(), self.value());
        let until = Some(Until { op: CmpOp::Eq, operand: expected });
        if speculation != Speculation::Always && self.rng.percent(30) {
            // Gives up with some values.
            let op = if speculation == Speculation::IfZero { CmpOp::Ne } else { CmpOp::Eq };
            out.push(Inst::Skip { count: 1, when: Some(Test { reg: dst, op, value: 0 }) });
        }
        out.push(Inst::Cas { dst: None, place, expected, new, success, failure, confirms: true, until });
    }

    /// Mostly one that nobody else writes.
    fn value(&mut self) -> Expr {
        self.written += 1;
        let own = 10 * self.thread as u64 + self.written;
        Expr::constant(if self.rng.percent(self.kind.own) { own } else { self.rng.below(3) as u64 })
    }

    fn condition(&mut self) -> Option<Until> {
        let (op, operand) = self.rng.pick(&[
            (CmpOp::Ne, 0),
            (CmpOp::Ne, 0),
            (CmpOp::Eq, 0),
            (CmpOp::Eq, 1),
            (CmpOp::Ugt, 1),
            (CmpOp::Ult, 12),
            (CmpOp::Ugt, 20),
        ]);
        Some(Until { op, operand: Expr::constant(operand) })
    }

    fn test(&mut self) -> Test {
        let (op, value) = self.rng.pick(&[(CmpOp::Eq, 0), (CmpOp::Ne, 0), (CmpOp::Ugt, 1)]);
        Test { reg: Reg::new(SEEN), op, value }
    }

    fn place(&mut self) -> Place {
        whole(self.rng.below(self.vars))
    }

    /// Now and then the mutex or semaphore.
    fn any_place(&mut self) -> Place {
        if self.rng.percent(25) { self.mutex() } else { self.place() }
    }

    fn mutex(&self) -> Place {
        whole(self.vars)
    }

    fn read_order(&mut self) -> Order {
        self.rng.pick(&[Order::Relaxed, Order::Acquire, Order::SeqCst])
    }

    fn rmw_order(&mut self) -> Order {
        self.rng.pick(&[Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst])
    }
}

fn whole(var: usize) -> Place {
    Place { var: VarId::new(var), offset: 0, size: 4 }
}

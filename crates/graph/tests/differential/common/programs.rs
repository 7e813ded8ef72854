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
    /// An assertion about what was read last.
    Assert,
    /// A load that waits, and an assertion about what it has read.
    AwaitAssert,
    /// The rest of the thread only if something was read.
    Branch,
    /// Reads some variables until what it has read fits together.
    Attempt,
    /// The same with an exchange at the end, which must succeed.
    AttemptExchange,
    /// An exchange that changes nothing if it fails, and is made again.
    AttemptFlag,
    /// Reads a variable until it is the same twice, and may sleep in between.
    Doze,
    /// A mutex that is slept on.
    Sleep,
    /// Stores to one or two variables if something was read.
    StoreIf,
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
    /// Threads may be created by any other one, in the middle of what that does.
    late: bool,
}

pub const KINDS: &[Kind] = {
    use Phrase::*;
    &[
        Kind { name: "awaits", phrases: &[Await, Await, Store, Load, Fence, Add], vars: 3, own: 75, late: false },
        Kind {
            name: "racing stores",
            phrases: &[Await, Await, Store, Store, Store, Load],
            vars: 2,
            own: 75,
            late: false,
        },
        Kind { name: "mutexes", phrases: &[Lock], vars: 1, own: 75, late: false },
        Kind { name: "locks", phrases: &[Lock, Lock, TryLock, Await, Load], vars: 1, own: 75, late: false },
        Kind { name: "semaphores", phrases: &[Take, Take, Give, Load, Await], vars: 2, own: 75, late: false },
        Kind {
            name: "exchanges",
            phrases: &[CasUntil, CasUntil, RmwUntil, Add, Store, Await],
            vars: 2,
            own: 75,
            late: false,
        },
        Kind { name: "confirmations", phrases: &[Confirm], vars: 1, own: 75, late: false },
        Kind {
            name: "repeated values",
            phrases: &[Confirm, Confirm, Confirm, ConfirmSome, Add],
            vars: 2,
            own: 25,
            late: false,
        },
        Kind {
            name: "confirmations of two",
            phrases: &[Confirm, Confirm, Confirm, Load, Fence, Store, Branch],
            vars: 2,
            own: 75,
            late: false,
        },
        Kind {
            name: "confirmations and awaits",
            phrases: &[Confirm, Confirm, Await, Load],
            vars: 2,
            own: 75,
            late: false,
        },
        Kind {
            name: "confirmations and others",
            phrases: &[Confirm, Confirm, ConfirmSome, Add, CasUntil, Lock, Assume],
            vars: 2,
            own: 75,
            late: false,
        },
        Kind {
            name: "waits",
            phrases: &[Await, Lock, Take, Give, CasUntil, RmwUntil, Store, Load, Branch, Assume],
            vars: 2,
            own: 75,
            late: false,
        },
        Kind {
            name: "attempts",
            phrases: &[Attempt, Attempt, Store, Store, StoreIf, StoreIf],
            vars: 3,
            own: 0,
            late: false,
        },
        Kind {
            name: "attempts that exchange",
            phrases: &[Attempt, AttemptExchange, AttemptExchange, AttemptFlag, Store, StoreIf, Add, Confirm],
            vars: 3,
            own: 0,
            late: false,
        },
        Kind {
            name: "attempts that sleep",
            phrases: &[Doze, Doze, Sleep, Attempt, Store, StoreIf],
            vars: 3,
            own: 0,
            late: false,
        },
        Kind {
            name: "late attempts",
            phrases: &[Attempt, AttemptExchange, Doze, Await, Store, StoreIf, StoreIf, Fence, CasUntil],
            vars: 3,
            own: 20,
            late: true,
        },
        Kind {
            name: "awaits and assertions",
            phrases: &[AwaitAssert, AwaitAssert, Await, Await, Store, Store, StoreIf],
            vars: 1,
            own: 25,
            late: false,
        },
        Kind {
            name: "exchanges and assertions",
            phrases: &[Lock, CasUntil, Confirm, Await, Add, Assert, Assert],
            vars: 2,
            own: 25,
            late: false,
        },
        Kind {
            name: "attempts and assertions",
            phrases: &[Attempt, AttemptExchange, Await, Assert, Assert, Store, StoreIf],
            vars: 2,
            own: 10,
            late: true,
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
            late: false,
        },
    ]
};

/// Programs that never wait.
pub const BUSY: &[Kind] = {
    use Phrase::*;
    &[
        Kind { name: "accesses", phrases: &[Load, Load, Store, Store, Branch], vars: 3, own: 75, late: false },
        Kind { name: "exchanges", phrases: &[Load, Store, Add, Exchange, Cas, Branch], vars: 2, own: 75, late: false },
        Kind {
            name: "assumptions",
            phrases: &[Load, Store, Store, Cas, Assume, Branch],
            vars: 2,
            own: 75,
            late: false,
        },
    ]
};

/// A program of a kind; the higher `attempt`, the smaller it is.
pub fn program(kind: &Kind, rng: &mut Rng, attempt: usize) -> Program {
    let vars = 1 + rng.below(kind.vars);
    let threads = rng.pick(&[2, 2, 3, 3, 3, 4]);
    let mut generator = Generator { kind, rng, vars, thread: 0, written: 0 };
    let longest = 3usize.saturating_sub(attempt / 8).max(1);
    let mut bodies = vec![Thread::new()];
    // Who creates whom.
    let parents: Vec<usize> =
        (1..=threads).map(|child| if kind.late { generator.rng.below(child) } else { 0 }).collect();
    for thread in 1..=threads {
        generator.thread = thread;
        generator.written = 0;
        let mut body = Thread::new();
        let phrases = 1 + generator.rng.below(longest);
        let mut children = (1..=threads).filter(|child| parents[child - 1] == thread);
        for _ in 0..phrases {
            if generator.kind.late && generator.rng.percent(50) {
                body.extend(children.next().map(|child| Inst::Spawn(ThreadId::new(child))));
            }
            generator.phrase(&mut body);
        }
        body.extend(children.map(|child| Inst::Spawn(ThreadId::new(child))));
        bodies.push(body);
    }
    let of_main = (1..=threads).filter(|child| parents[child - 1] == 0);
    bodies[0].extend(of_main.map(|child| Inst::Spawn(ThreadId::new(child))));
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
            Phrase::Attempt => self.attempt(out),
            Phrase::AttemptExchange => self.attempt_exchange(out),
            Phrase::AttemptFlag => {
                let (place, order) = (self.place(), self.rmw_order());
                let (op, value) = (RmwOp::Xchg, Expr::constant(1));
                out.push(Inst::Rmw { dst: Some(dst), op, place, value, order, until });
                out.push(retry(dst, CmpOp::Eq, value));
            }
            Phrase::Doze => self.doze(out),
            Phrase::Sleep => self.sleep(out),
            Phrase::StoreIf => {
                let seen = self.read(out, SEEN);
                let (at, value) = (out.len(), self.rng.below(3) as u64);
                (0..1 + self.rng.below(2)).for_each(|_| self.store(out));
                let when = Some(Test { reg: seen, op: CmpOp::Ne, value });
                out.insert(at, Inst::Skip { count: (out.len() - at) as u8, when });
            }
            Phrase::Assume => out.push(Inst::Assume(self.test())),
            Phrase::Assert => out.push(Inst::Assert(self.test())),
            Phrase::AwaitAssert => {
                let (place, order, until) = (self.place(), self.read_order(), self.condition());
                out.push(Inst::Load { dst, place, order, speculative: None, until });
                out.push(Inst::Assert(self.test()));
            }
            Phrase::Branch => {
                let (at, when) = (out.len(), Some(self.test()));
                self.phrase(out);
                out.insert(at, Inst::Skip { count: (out.len() - at) as u8, when });
            }
        }
    }

    /// Reads some variable.
    fn read(&mut self, out: &mut Thread, dst: usize) -> Reg {
        let (dst, place, order) = (Reg::new(dst), self.place(), self.read_order());
        out.push(Inst::Load { dst, place, order, speculative: None, until: None });
        dst
    }

    fn attempt(&mut self, out: &mut Thread) {
        let (a, b) = (self.read(out, SEEN), self.read(out, 1));
        if self.rng.percent(20) {
            out.push(Inst::Fence(Order::SeqCst));
        }
        match self.rng.below(6) {
            // Two ways out.
            0 => {
                out.push(retry(b, CmpOp::Eq, Expr::reg(a)));
            }
            // Something else is looked at only if it has read something.
            1 => {
                out.push(Inst::Skip { count: 1, when: Some(Test { reg: a, op: CmpOp::Ne, value: 0 }) });
                self.read(out, 1);
                out.push(retry(b, CmpOp::Ne, Expr::constant(1)));
            }
            // Three variables.
            2 => {
                out.push(retry(b, CmpOp::Ne, Expr::reg(a)));
                let c = self.read(out, 2);
                out.push(retry(c, CmpOp::Ugt, Expr::reg(a)));
            }
            _ => out.push(retry(b, CmpOp::Ne, Expr::reg(a))),
        }
    }

    fn attempt_exchange(&mut self, out: &mut Thread) {
        let (place, order) = (self.place(), self.read_order());
        let a = Reg::new(SEEN);
        out.push(Inst::Load { dst: a, place, order, speculative: None, until: None });
        let new = match self.rng.below(3) {
            0 => Expr { reg: Some(a), add: 1 },
            1 => Expr::reg(self.read(out, 1)),
            _ => {
                let b = self.read(out, 1);
                out.push(retry(b, CmpOp::Ne, Expr::reg(a)));
                self.value()
            }
        };
        let (success, failure, found) = (self.rmw_order(), self.read_order(), Reg::new(2));
        let (dst, expected, confirms, until) = (Some(found), Expr::reg(a), false, None);
        out.push(Inst::Cas { dst, place, expected, new, success, failure, confirms, until });
        out.push(retry(found, CmpOp::Ne, expected));
    }

    fn doze(&mut self, out: &mut Thread) {
        let (first, place, order) = (Reg::new(SEEN), self.place(), self.read_order());
        let look = |dst| Inst::Load { dst, place, order, speculative: None, until: None };
        out.push(look(first));
        let value = self.rng.below(3) as u64;
        out.push(Inst::Skip { count: 1, when: Some(Test { reg: first, op: CmpOp::Ne, value }) });
        let (word, order, until) = (self.place(), self.read_order(), self.condition());
        out.push(Inst::Load { dst: Reg::new(1), place: word, order, speculative: None, until });
        let second = Reg::new(2);
        out.push(look(second));
        out.push(retry(second, CmpOp::Ne, Expr::reg(first)));
    }

    fn sleep(&mut self, out: &mut Thread) {
        let (mutex, word) = (self.mutex(), self.place());
        let (old, seen, now) = (Reg::new(SEEN), Reg::new(1), Reg::new(2));
        self.cas(out, mutex, Expr::constant(0), None);
        let order = self.read_order();
        let load = |dst, place, until| Inst::Load { dst, place, order, speculative: None, until };
        let waits = Until { op: CmpOp::Ne, operand: Expr::reg(seen) };
        let asleep = [
            Inst::Skip { count: 5, when: Some(Test { reg: old, op: CmpOp::Eq, value: 0 }) },
            load(seen, word, None),
            load(now, mutex, None),
            retry(now, CmpOp::Ne, Expr::reg(old)),
            load(now, word, Some(waits)),
            retry(now, CmpOp::Eq, Expr::reg(now)),
        ];
        out.extend(asleep);
        let order = self.rng.pick(&[Order::Relaxed, Order::Release, Order::SeqCst]);
        out.push(Inst::Store { place: mutex, value: Expr::constant(0), order, until: None });
        out.push(Inst::Store { place: word, value: self.value(), order, until: None });
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

fn retry(reg: Reg, op: CmpOp, operand: Expr) -> Inst {
    Inst::Retry { reg, when: Until { op, operand } }
}

fn whole(var: usize) -> Place {
    Place { var: VarId::new(var), offset: 0, size: 4 }
}

//! Random programs with locks that are tested before they are taken (`explorer/tested.rs`), small enough for the axiomatic oracle.
//!
//! A thread loads a word, mostly until it is free, and then exchanges it at once, until that succeeds. Around that there is what could
//! make a difference: memory orders, fences, other values, other exchanges, stores of those who do not have the lock, and
//! who never sets it free. A seed gives the same program for ever.

use selvedge_ir::{CmpOp, EntityRef, Order, RmwOp, Speculation};
use selvedge_machine::ThreadId;
use selvedge_oracle::generate::Rng;
use selvedge_oracle::litmus::{Expr, Inst, Place, Program, Reg, Test, Thread, Until, Var, VarId};

/// Which programs are made. In so many of a hundred cases something is as said.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub name: &'static str,
    /// Locks: at most this many.
    words: usize,
    /// Memory orders are any, and not those with which the load is no stronger than the exchange.
    any_order: usize,
    /// The load waits for nothing, or for something else.
    any_load: usize,
    /// A third value is written, waited for, or enough for the exchange.
    third: usize,
    /// Something comes between the load and the exchange.
    between: usize,
    /// Fences before, after and in the section.
    fences: usize,
    /// A lock is not set free, or by something else than a store of zero.
    kept: usize,
    /// A thread does something else with a lock.
    strangers: usize,
    /// A lock is taken while another one is held, or the same one again.
    nested: usize,
    /// A thread goes its way if the load says that the lock is not free.
    tried: usize,
    /// An access to a lock is not atomic.
    plain: usize,
    /// A thread leaves its number in a lock that it has.
    owners: usize,
    /// A thread reads a lock and something else until they fit together, or confirms what it has read of a lock.
    attempts: usize,
    /// A thread is created by another one than the main thread.
    late: usize,
    /// Locks are held from the beginning.
    held: usize,
}

const PLAIN: Shape = Shape {
    name: "locks",
    words: 1,
    any_order: 0,
    any_load: 0,
    third: 0,
    between: 0,
    fences: 0,
    kept: 0,
    strangers: 0,
    nested: 0,
    tried: 0,
    plain: 0,
    owners: 0,
    attempts: 0,
    late: 0,
    held: 0,
};

pub const SHAPES: &[Shape] = &[
    PLAIN,
    Shape { name: "locks that are kept", kept: 30, ..PLAIN },
    Shape { name: "two locks", words: 2, kept: 5, nested: 50, ..PLAIN },
    Shape { name: "locks and fences", words: 2, fences: 40, ..PLAIN },
    Shape { name: "locks of any order", any_order: 60, fences: 10, ..PLAIN },
    Shape { name: "loads of locks", any_load: 50, held: 30, kept: 10, ..PLAIN },
    Shape { name: "locks that are tried", tried: 60, strangers: 10, held: 10, ..PLAIN },
    Shape { name: "locks and plain accesses", plain: 40, kept: 10, strangers: 20, ..PLAIN },
    Shape { name: "locks with owners", owners: 80, kept: 5, strangers: 10, ..PLAIN },
    Shape { name: "locks and attempts", attempts: 40, tried: 20, held: 10, ..PLAIN },
    Shape { name: "late locks", late: 60, words: 2, tried: 10, ..PLAIN },
    Shape { name: "locks with a third state", third: 40, ..PLAIN },
    Shape { name: "locks that are tested early", between: 50, ..PLAIN },
    Shape { name: "locks and strangers", strangers: 50, held: 20, ..PLAIN },
    Shape {
        name: "locks and everything",
        words: 2,
        any_order: 15,
        any_load: 15,
        third: 15,
        between: 15,
        fences: 15,
        kept: 15,
        strangers: 20,
        nested: 15,
        tried: 15,
        plain: 10,
        owners: 10,
        attempts: 10,
        late: 10,
        held: 10,
    },
];

/// A program of a shape; the higher `attempt`, the smaller it is.
pub fn program(shape: &Shape, rng: &mut Rng, attempt: usize) -> Program {
    let words = 1 + rng.below(shape.words);
    let most = 4usize.saturating_sub(attempt / 4).max(2);
    let threads = rng.pick(&[2, 2, 3, 3, 3, 4]).min(most);
    let mut generator = Generator { shape, rng, words, data: 2, attempt, thread: 0, children: Vec::new() };
    let mut bodies = vec![Thread::new()];
    // Who creates whom.
    let parent = |child: usize, rng: &mut Rng| if rng.percent(shape.late) { rng.below(child) } else { 0 };
    let parents: Vec<usize> = (1..=threads).map(|child| parent(child, generator.rng)).collect();
    for thread in 1..=threads {
        generator.thread = thread;
        generator.children = (1..=threads).filter(|child| parents[child - 1] == thread).map(ThreadId::new).collect();
        let mut body = Thread::new();
        let longest = if threads == 2 && attempt < 8 { 2 } else { 1 };
        for _ in 0..1 + generator.rng.below(longest) {
            generator.phrase(&mut body);
        }
        body.extend(generator.children.drain(..).map(Inst::Spawn));
        bodies.push(body);
    }
    generator.thread = 0;
    let of_main = (1..=threads).filter(|child| parents[child - 1] == 0);
    bodies[0].extend(of_main.map(|child| Inst::Spawn(ThreadId::new(child))));
    if generator.rng.percent(if shape.plain > 0 { 50 } else { 20 }) {
        bodies[0].extend((1..=threads).map(|child| Inst::Join(ThreadId::new(child))));
        if generator.rng.percent(shape.plain) {
            generator.plain(&mut bodies[0]);
        }
    }
    if generator.rng.percent(15) && attempt < 8 {
        generator.phrase(&mut bodies[0]);
    }
    let is_held = generator.rng.percent(shape.held);
    // The locks, and data.
    let mut vars: Vec<Var> = (0..words).map(|_| Var { size: 4, init: Some(u64::from(is_held)) }).collect();
    vars.extend((0..generator.data).map(|_| Var { size: 4, init: Some(0) }));
    Program { vars, threads: bodies }
}

struct Generator<'a> {
    shape: &'a Shape,
    rng: &'a mut Rng,
    words: usize,
    data: usize,
    attempt: usize,
    thread: usize,
    /// Whom the thread has yet to create.
    children: Vec<ThreadId>,
}

/// What was read of a lock, and of data.
const SEEN: usize = 0;
const DATA: usize = 1;

impl Generator<'_> {
    fn phrase(&mut self, out: &mut Thread) {
        if self.rng.percent(self.shape.strangers) {
            self.stranger(out);
        } else if self.rng.percent(self.shape.attempts) {
            self.attempt(out);
        } else if self.rng.percent(self.shape.plain / 2) {
            self.plain(out);
        } else {
            self.section(out, 0);
        }
    }

    fn section(&mut self, out: &mut Thread, depth: usize) {
        let word = self.word();
        self.fence(out);
        let at = out.len() + 1;
        let is_tried = self.rng.percent(self.shape.tried);
        self.take(out, word, is_tried);
        self.fence(out);
        self.create(out);
        if depth == 0 && self.rng.percent(self.shape.nested) {
            self.section(out, 1);
        } else {
            let most = if self.attempt < 4 { 3 } else { 2 };
            (0..self.rng.below(most)).for_each(|_| self.data(out));
        }
        self.fence(out);
        self.set_free(out, word);
        if is_tried {
            let when = Some(Test { reg: Reg::new(SEEN), op: CmpOp::Ne, value: 0 });
            out.insert(at, Inst::Skip { count: (out.len() - at) as u8, when });
        }
    }

    /// Creates a thread, if there is one to create.
    fn create(&mut self, out: &mut Thread) {
        if self.rng.percent(50) {
            out.extend(self.children.pop().map(Inst::Spawn));
        }
    }

    /// The load and the exchange.
    fn take(&mut self, out: &mut Thread, place: Place, is_tried: bool) {
        let (load, order) = self.orders();
        let free = if self.rng.percent(self.shape.third / 2) { self.rng.pick(&[1, 2]) } else { 0 };
        let is_free = Until { op: CmpOp::Eq, operand: Expr::constant(free) };
        let until = match self.rng.percent(self.shape.any_load) {
            _ if is_tried => {
                let some = Until { op: CmpOp::Ne, operand: Expr::constant(2) };
                self.rng.pick(&[None, None, Some(some)])
            }
            true => self.rng.pick(&[
                None,
                None,
                Some(Until { op: CmpOp::Ne, operand: Expr::constant(1) }),
                Some(Until { op: CmpOp::Ne, operand: Expr::constant(2) }),
                Some(Until { op: CmpOp::Eq, operand: Expr::constant(1) }),
            ]),
            false => Some(is_free),
        };
        out.push(Inst::Load { dst: Reg::new(SEEN), place, order: load, speculative: None, until });
        if self.rng.percent(self.shape.between) {
            self.between(out, place);
        }
        if self.rng.percent(self.shape.late / 2) {
            self.create(out);
        }
        let until = match self.rng.percent(self.shape.third) {
            true => self.rng.pick(&[
                Until { op: CmpOp::Ne, operand: Expr::constant(1) },
                Until { op: CmpOp::Ult, operand: Expr::constant(2) },
                Until { op: CmpOp::Eq, operand: Expr::constant(2) },
                Until { op: CmpOp::Eq, operand: Expr::reg(Reg::new(SEEN)) },
            ]),
            false => is_free,
        };
        let new = match self.rng.percent(self.shape.third) {
            true => self.rng.pick(&[0, 2]),
            false if self.rng.percent(self.shape.owners) => 1 + self.thread as u64,
            false => 1,
        };
        self.exchange(out, place, (free, new), order, Some(until));
        if self.rng.percent(self.shape.third / 2) {
            let at = out.len();
            self.data(out);
            let when = Some(Test { reg: Reg::new(SEEN), op: CmpOp::Eq, value: self.rng.below(3) as u64 });
            out.insert(at, Inst::Skip { count: 1, when });
        }
    }

    fn exchange(&mut self, out: &mut Thread, place: Place, (old, new): (u64, u64), order: Order, until: Option<Until>) {
        let dst = self.rng.percent(50).then(|| Reg::new(SEEN));
        let value = Expr::constant(new);
        match self.rng.below(4) {
            0 => out.push(Inst::Rmw { dst, op: RmwOp::Xchg, place, value, order, until }),
            1 => out.push(Inst::Rmw { dst, op: RmwOp::Add, place, value, order, until }),
            _ => {
                let failure = self.rng.pick(&[Order::Relaxed, Order::Relaxed, Order::Acquire, Order::SeqCst]);
                let expected = Expr::constant(old);
                let (new, success, confirms) = (value, order, false);
                out.push(Inst::Cas { dst, place, expected, new, success, failure, confirms, until });
            }
        }
    }

    /// The orders of the load and of the exchange.
    fn orders(&mut self) -> (Order, Order) {
        if self.rng.percent(self.shape.any_order) {
            let load = self.rng.pick(&[Order::Relaxed, Order::Acquire, Order::SeqCst]);
            return (load, self.any_order());
        }
        self.rng.pick(&[
            (Order::Relaxed, Order::Acquire),
            (Order::Relaxed, Order::Acquire),
            (Order::Relaxed, Order::Relaxed),
            (Order::Relaxed, Order::AcqRel),
            (Order::Acquire, Order::Acquire),
            (Order::SeqCst, Order::SeqCst),
        ])
    }

    fn any_order(&mut self) -> Order {
        self.rng.pick(&[Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst])
    }

    fn between(&mut self, out: &mut Thread, word: Place) {
        match self.rng.below(5) {
            0 => out.push(Inst::Fence(self.rng.pick(&[Order::Acquire, Order::Release, Order::SeqCst]))),
            1 => {
                let (order, new) = (self.any_order(), self.rng.below(3) as u64);
                self.exchange(out, word, (0, new), order, None);
            }
            2 => {
                let (dst, order) = (Reg::new(SEEN), self.rng.pick(&[Order::Relaxed, Order::Acquire]));
                out.push(Inst::Load { dst, place: word, order, speculative: None, until: None });
            }
            _ => self.data(out),
        }
    }

    fn set_free(&mut self, out: &mut Thread, place: Place) {
        let order = self.rng.pick(&[Order::Relaxed, Order::Release, Order::Release, Order::SeqCst]);
        let value = Expr::constant(if self.rng.percent(self.shape.third) { 2 } else { 0 });
        if self.rng.percent(self.shape.plain / 3) {
            out.push(Inst::Store { place, value, order: Order::Plain, until: None });
        } else if self.rng.percent(self.shape.kept) {
            match self.rng.below(3) {
                0 => {}
                1 => {
                    let (dst, op, until) = (None, self.rng.pick(&[RmwOp::Xchg, RmwOp::Sub]), None);
                    let value = if op == RmwOp::Sub { Expr::constant(1) } else { value };
                    out.push(Inst::Rmw { dst, op, place, value, order, until });
                }
                _ => {
                    out.push(Inst::Store { place, value, order, until: None });
                    out.push(Inst::Store { place, value: Expr::constant(0), order, until: None });
                }
            }
        } else {
            out.push(Inst::Store { place, value, order, until: None });
        }
    }

    /// Something else that is done with a lock.
    fn stranger(&mut self, out: &mut Thread) {
        let (place, dst, order) = (self.word(), Reg::new(SEEN), self.any_order());
        let load = self.rng.pick(&[Order::Relaxed, Order::Acquire, Order::SeqCst]);
        let value = self.rng.below(3) as u64;
        match self.rng.below(7) {
            0 => out.push(Inst::Load { dst, place, order: load, speculative: None, until: None }),
            1 => {
                let op = self.rng.pick(&[CmpOp::Eq, CmpOp::Eq, CmpOp::Ne]);
                let until = Some(Until { op, operand: Expr::constant(value) });
                out.push(Inst::Load { dst, place, order: load, speculative: None, until });
            }
            2 => {
                let order = self.rng.pick(&[Order::Relaxed, Order::Release, Order::SeqCst]);
                out.push(Inst::Store { place, value: Expr::constant(value), order, until: None });
            }
            3 => self.exchange(out, place, (0, value), order, None),
            4 => {
                // Without a test.
                let until = Some(Until { op: CmpOp::Eq, operand: Expr::constant(0) });
                self.exchange(out, place, (0, 1), order, until);
                self.data(out);
                self.set_free(out, place);
            }
            5 => {
                // Tried.
                let (expected, new, until) = (Expr::constant(0), Expr::constant(1), None);
                let (success, failure, confirms) = (order, Order::Relaxed, false);
                out.push(Inst::Cas { dst: Some(dst), place, expected, new, success, failure, confirms, until });
                let at = out.len();
                self.data(out);
                self.set_free(out, place);
                let when = Some(Test { reg: dst, op: CmpOp::Ne, value: 0 });
                out.insert(at, Inst::Skip { count: (out.len() - at) as u8, when });
            }
            _ => self.data(out),
        }
        if self.rng.percent(30) {
            self.data(out);
        }
    }

    /// An access to a lock that is not atomic.
    fn plain(&mut self, out: &mut Thread) {
        let (place, order, dst) = (self.word(), Order::Plain, Reg::new(SEEN));
        if self.rng.percent(60) {
            out.push(Inst::Load { dst, place, order, speculative: None, until: None });
        } else {
            out.push(Inst::Store { place, value: Expr::constant(0), order, until: None });
        }
    }

    /// Something that is done again as a whole if it fails.
    fn attempt(&mut self, out: &mut Thread) {
        let (place, order) = (self.word(), self.rng.pick(&[Order::Relaxed, Order::Acquire]));
        let (a, b) = (Reg::new(2), Reg::new(3));
        let load = |dst, place, speculative| Inst::Load { dst, place, order, speculative, until: None };
        let other = whole(self.words + self.rng.below(self.data));
        let success = self.any_order();
        let cas = |confirms: bool| {
            let (expected, new) = (Expr::reg(a), Expr { reg: Some(a), add: 1 });
            let until = confirms.then_some(Until { op: CmpOp::Eq, operand: expected });
            Inst::Cas { dst: Some(b), place, expected, new, success, failure: Order::Relaxed, confirms, until }
        };
        let differs = Until { op: CmpOp::Ne, operand: Expr::reg(a) };
        match self.rng.below(4) {
            0 => out.extend([load(a, place, Some(Speculation::Always)), cas(true)]),
            1 => out.extend([load(a, place, None), cas(false), Inst::Retry { reg: b, when: differs }]),
            2 => {
                // A lock that is tested and taken in one attempt.
                let is_held = Until { op: CmpOp::Ne, operand: Expr::constant(0) };
                let (op, value) = (RmwOp::Xchg, Expr::constant(1));
                out.push(load(a, place, None));
                out.push(Inst::Retry { reg: a, when: is_held });
                out.push(Inst::Rmw { dst: Some(b), op, place, value, order: success, until: None });
                out.push(Inst::Retry { reg: b, when: is_held });
                self.set_free(out, place);
            }
            _ => out.extend([load(a, other, None), load(b, place, None), Inst::Retry { reg: b, when: differs }]),
        }
    }

    /// An access to data. It may race.
    fn data(&mut self, out: &mut Thread) {
        let place = whole(self.words + self.rng.below(self.data));
        let order = self.rng.pick(&[Order::Plain, Order::Relaxed, Order::Relaxed]);
        if self.rng.percent(50) {
            let value = Expr::constant(1 + self.rng.below(2) as u64);
            out.push(Inst::Store { place, value, order, until: None });
        } else {
            out.push(Inst::Load { dst: Reg::new(DATA), place, order, speculative: None, until: None });
        }
    }

    fn fence(&mut self, out: &mut Thread) {
        if self.rng.percent(self.shape.fences) {
            out.push(Inst::Fence(self.rng.pick(&[Order::Acquire, Order::Release, Order::SeqCst, Order::SeqCst])));
        }
    }

    fn word(&mut self) -> Place {
        whole(self.rng.below(self.words))
    }
}

fn whole(var: usize) -> Place {
    Place { var: VarId::new(var), offset: 0, size: 4 }
}

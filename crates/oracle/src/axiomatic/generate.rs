//! Random programs on which memory models differ, small enough for the enumerator.
//!
//! What tells one model from another is a *cycle* through a few threads, each of which makes two accesses to different
//! variables (Alglave, Maranget, Sarkar, Sewell, "Fences in weak memory models", CAV 2010). Random accesses seldom form
//! one, so it is made on purpose: of two to four threads, each first accesses the variable that the thread before it
//! accesses last, and one of these two accesses writes. Memory orders are random. What else there is, between the two
//! accesses or around one of them, is what a [`Family`] says.

use super::enumerate::{Limits, enumerate};
use super::models::Model;
use crate::generate::Rng;
use crate::litmus::{Expr, Inst, Place, Program, Reg, Test, Thread, Until, Var, VarId};
use selvedge_ir::{CmpOp, EntityRef, Order, RmwOp};
use selvedge_machine::ThreadId;

/// What a thread has besides its two accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extra {
    /// Nothing.
    Nothing,
    /// A fence between them.
    Fence,
    /// An access between them, to a variable that is not in the cycle.
    Access,
    /// A read-modify-write between them, likewise.
    Rmw,
    /// An assumption or assertion about what was read.
    Test,
    /// The second access only if something was read.
    Branch,
    /// The second access in a critical section.
    Critical,
    /// A load that waits, between them.
    Await,
    /// A loop that reads until it sees something, between them.
    Spin,
    /// A choice between them, which the second access may depend on.
    Choose,
    /// The end of a variable's life, between them.
    Free,
}

/// Which programs are made.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// What threads have besides their two accesses, one each; what is listed twice is twice as likely.
    pub extras: &'static [Extra],
    /// Whether threads create each other, rather than main all of them.
    pub trees: bool,
    /// Accesses are plain in so many of a hundred cases.
    pub plain: usize,
    /// Accesses wait in so many of a hundred cases.
    pub awaits: usize,
    /// Variables start uninitialised in so many of a hundred cases.
    pub uninit: usize,
}

const CYCLES: Family =
    Family { name: "cycles", extras: &[Extra::Nothing], trees: false, plain: 0, awaits: 0, uninit: 0 };

/// All families.
pub const FAMILIES: &[Family] = {
    use Extra::*;
    &[
        CYCLES,
        Family { name: "fences", extras: &[Fence, Fence, Nothing], ..CYCLES },
        Family { name: "accesses", extras: &[Access, Access, Rmw, Fence, Nothing], ..CYCLES },
        Family { name: "awaits", extras: &[Await, Fence, Nothing], awaits: 30, ..CYCLES },
        Family { name: "locks", extras: &[Critical, Critical, Fence, Nothing], ..CYCLES },
        Family { name: "tests", extras: &[Test, Branch, Fence, Nothing], ..CYCLES },
        Family { name: "choices", extras: &[Choose, Spin, Fence, Nothing], ..CYCLES },
        Family { name: "trees", extras: &[Fence, Access, Nothing, Await], trees: true, ..CYCLES },
        Family { name: "races", extras: &[Fence, Access, Nothing, Branch, Critical], plain: 30, ..CYCLES },
        Family { name: "frees", extras: &[Free, Fence, Nothing, Branch], ..CYCLES },
        Family { name: "uninit", extras: &[Fence, Nothing, Branch], uninit: 40, ..CYCLES },
        Family {
            name: "everything",
            extras: &[Nothing, Fence, Access, Rmw, Test, Branch, Critical, Await, Spin, Choose, Free],
            trees: true,
            plain: 10,
            awaits: 10,
            uninit: 10,
        },
    ]
};

impl Family {
    /// The family with this name.
    pub fn named(name: &str) -> Option<&'static Family> {
        FAMILIES.iter().find(|family| family.name == name)
    }
}

/// A random program that can be enumerated under all models within the limits. A seed gives the same program for ever.
pub fn generate(family: &Family, seed: u64, limits: Limits) -> Program {
    let mut rng = Rng::new(seed);
    loop {
        let program = Generator { family, rng: &mut rng, length: 0 }.program();
        debug_assert_eq!(program.validate(), Ok(()), "{program}");
        // The two models that allow most: neither allows all that the other does.
        if [Model::Rc11, Model::Ra].into_iter().all(|model| enumerate(&program, model, limits).is_ok()) {
            return program;
        }
    }
}

struct Generator<'a> {
    family: &'a Family,
    rng: &'a mut Rng,
    /// How many threads the cycle has, and variables: first those of the cycle, then one more, then a mutex.
    length: usize,
}

impl Generator<'_> {
    fn program(mut self) -> Program {
        self.length = self.rng.pick(&[2, 2, 2, 3, 3, 4]);
        // Of each variable: whether the thread before writes it, and whether its own thread does.
        let writes: Vec<(bool, bool)> =
            (0..self.length).map(|_| self.rng.pick(&[(true, true), (true, false), (false, true)])).collect();
        let mut threads = vec![Thread::new()];
        threads.extend((0..self.length).map(|n| self.body(n, writes[n].1, writes[(n + 1) % writes.len()].0)));
        if self.family.trees && self.rng.percent(20) {
            // One that does nothing, but may be joined.
            threads.push(Thread::new());
        }
        self.create(&mut threads);
        let mut vars: Vec<Var> = (0..=self.length).map(|_| self.var()).collect();
        vars.push(Var { size: 4, init: Some(0) });
        Program { vars, threads }
    }

    fn body(&mut self, n: usize, first_writes: bool, second_writes: bool) -> Thread {
        let mut body = Thread::new();
        self.access(&mut body, VarId::new(n), first_writes, 0);
        let mut second = Thread::new();
        self.access(&mut second, VarId::new((n + 1) % self.length), second_writes, 1);
        self.extra(&mut body, second);
        if self.rng.percent(10) {
            let (var, writes) = (VarId::new(self.rng.below(self.length)), self.rng.percent(50));
            self.access(&mut body, var, writes, 2);
        }
        body
    }

    /// Adds what there is between the accesses or around the second one, and that.
    fn extra(&mut self, body: &mut Thread, mut second: Thread) {
        let (extra, dst) = (VarId::new(self.length), Reg::new(3));
        let place = whole(extra);
        let mutex = whole(VarId::new(self.length + 1));
        let skip =
            |op, reg, second: &Thread| Inst::Skip { count: second.len() as u8, when: Some(Test { reg, op, value: 0 }) };
        match self.rng.pick(self.family.extras) {
            Extra::Nothing => {}
            Extra::Fence => {
                let orders = [Order::SeqCst, Order::SeqCst, Order::AcqRel, Order::Acquire, Order::Release];
                body.push(Inst::Fence(self.rng.pick(&orders)));
            }
            Extra::Access => {
                let writes = self.rng.percent(50);
                self.access(body, extra, writes, 3);
            }
            Extra::Rmw => {
                let (value, order) = (Expr::constant(1), self.rmw_order());
                body.push(Inst::Rmw { dst: None, op: RmwOp::Add, place, value, order, until: None });
            }
            Extra::Test => {
                let test = Test { reg: Reg::new(0), op: self.rng.pick(&[CmpOp::Eq, CmpOp::Ne]), value: 0 };
                body.push(if self.rng.percent(50) { Inst::Assume(test) } else { Inst::Assert(test) });
            }
            Extra::Branch => body.push(skip(self.rng.pick(&[CmpOp::Eq, CmpOp::Ne]), Reg::new(0), &second)),
            Extra::Critical => {
                body.push(Inst::Lock { place: mutex });
                second.push(Inst::Unlock { place: mutex });
            }
            Extra::Await => {
                let var = VarId::new(self.rng.below(self.length));
                let (place, order) = (whole(var), self.read_order());
                body.push(Inst::Load { dst, place, order, speculative: None, until: Some(not_zero()) });
            }
            Extra::Spin => {
                let (place, order) = (whole(VarId::new(self.rng.below(self.length))), self.read_order());
                let when = Test { reg: dst, op: CmpOp::Eq, value: 0 };
                body.push(Inst::Load { dst, place, order, speculative: None, until: None });
                body.push(Inst::Repeat { count: 1, max: 1, when, bound: self.rng.percent(50) });
            }
            Extra::Choose => {
                body.push(Inst::Choose { dst, alternatives: 2 });
                body.push(skip(CmpOp::Eq, dst, &second));
            }
            Extra::Free => {
                let var = VarId::new(self.rng.below(self.length + 1));
                body.push(Inst::Free(var));
            }
        }
        body.append(&mut second);
    }

    /// Adds an access; what it reads goes to the given register.
    fn access(&mut self, out: &mut Thread, var: VarId, writes: bool, reg: usize) {
        let (place, dst) = (whole(var), Reg::new(reg));
        let value = Expr::constant(1 + self.rng.below(2) as u64);
        let until = self.rng.percent(self.family.awaits).then(not_zero);
        let plain = self.rng.percent(self.family.plain);
        if !writes && self.rng.percent(90) {
            let order = if plain { Order::Plain } else { self.read_order() };
            out.push(Inst::Load { dst, place, order, speculative: None, until });
        } else if writes && self.rng.percent(75) {
            let order = self.rng.pick(&[Order::Relaxed, Order::Release, Order::SeqCst]);
            out.push(Inst::Store { place, value, order: if plain { Order::Plain } else { order }, until: None });
        } else if writes && self.rng.percent(60) {
            let op = self.rng.pick(&[RmwOp::Add, RmwOp::Xchg]);
            out.push(Inst::Rmw { dst: Some(dst), op, place, value, order: self.rmw_order(), until });
        } else {
            // It may write if it is expected to, and if not it mostly fails.
            let expected = Expr::constant(if writes { 0 } else { 2 });
            let (dst, new, confirms) = (Some(dst), Expr::constant(3), false);
            let (success, failure) = (self.rmw_order(), self.read_order());
            out.push(Inst::Cas { dst, place, expected, new, success, failure, confirms, until });
        }
    }

    /// Puts in the creation of all threads but the first, and perhaps joins, behind which there may be another load.
    fn create(&mut self, threads: &mut [Thread]) {
        for child in (1..threads.len()).rev() {
            let parent = if self.family.trees { self.rng.below(child) } else { 0 };
            // Behind the first access of the creator, or before it.
            let first = !matches!(threads[parent].get(1), Some(Inst::Skip { .. } | Inst::Repeat { .. }));
            let at = usize::from(self.family.trees && first && !threads[parent].is_empty() && self.rng.percent(60));
            threads[parent].insert(at, Inst::Spawn(ThreadId::new(child)));
            if self.rng.percent(if self.family.trees { 50 } else { 25 }) {
                let elsewhere = self.family.trees && self.rng.percent(30);
                let by = if elsewhere { self.rng.below(threads.len()) } else { parent };
                threads[by].push(Inst::Join(ThreadId::new(child)));
            }
        }
        let joins = |thread: &Thread| matches!(thread.last(), Some(Inst::Join(_)));
        for (n, thread) in threads.iter_mut().enumerate() {
            if self.rng.percent(if joins(thread) && self.family.trees {
                50
            } else if n == 0 {
                30
            } else {
                0
            }) {
                let (dst, var) = (Reg::new(4), VarId::new(self.rng.below(self.length)));
                let (place, order) = (whole(var), self.read_order());
                thread.push(Inst::Load { dst, place, order, speculative: None, until: None });
            }
        }
    }

    fn var(&mut self) -> Var {
        let uninit = self.rng.percent(self.family.uninit);
        Var { size: 4, init: (!uninit).then_some(0) }
    }

    fn read_order(&mut self) -> Order {
        self.rng.pick(&[Order::Relaxed, Order::Acquire, Order::SeqCst])
    }

    fn rmw_order(&mut self) -> Order {
        self.rng.pick(&[Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst])
    }
}

fn whole(var: VarId) -> Place {
    Place { var, offset: 0, size: 4 }
}

fn not_zero() -> Until {
    Until { op: CmpOp::Ne, operand: Expr::constant(0) }
}

#[cfg(test)]
mod tests {
    use super::super::models::MODELS;
    use super::*;

    const LIMITS: Limits = Limits { graphs: 400, events: 40 };

    #[test]
    fn a_seed_gives_the_same_valid_program_again() {
        for family in FAMILIES {
            for seed in 0..50 {
                let program = generate(family, seed, LIMITS);
                assert_eq!(program.validate(), Ok(()), "{program}");
                assert_eq!(generate(family, seed, LIMITS), program);
                assert_eq!(program.to_string().parse::<Program>().as_ref(), Ok(&program));
            }
        }
    }

    #[test]
    fn every_family_tells_models_apart() {
        for family in FAMILIES {
            let mut differences = [0; 3];
            for seed in 0..100 {
                let program = generate(family, seed, LIMITS);
                let [sc, tso, ra, rc11] = MODELS.map(|model| enumerate(&program, model, LIMITS).unwrap().graphs.len());
                for (n, differs) in [sc != tso, tso != ra, ra != rc11].into_iter().enumerate() {
                    differences[n] += usize::from(differs);
                }
            }
            assert!(differences.iter().all(|&count| count >= 6), "{}: {differences:?} of 100", family.name);
        }
    }
}

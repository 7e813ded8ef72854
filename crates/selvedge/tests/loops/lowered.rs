//! The same programs in the language of the oracle, which enumerates all graphs that a memory model allows.
//!
//! Loops are unrolled. An attempt fails only if the word has another value than the one that was loaded, and coherence
//! lets a thread see the values of a word in one order only: so as many attempts can fail as others write to the word, and
//! with one more than that nothing is left out. A loop that waits looks twice and then waits in the way that the oracle
//! has for it, so that whoever waits for ever is found, too.
//!
//! Instructions compare a register with a number. Whether an exchange was made (it has found what was loaded) is therefore
//! asked for each value that a word may have.

use super::interpreter::{Order, Outcome, loads};
use super::program::{Act, Before, Leaves, Look, Program, Retry, Spin, SpinKind, Stops, Then, WORDS};
use selvedge_ir::{CmpOp, EntityRef, Order as IrOrder, RmwOp};
use selvedge_machine::{ThreadId, ViolationKind};
use selvedge_oracle::axiomatic::{Limits, Model, Summary, enumerate};
use selvedge_oracle::litmus::{Expr, Inst, Place, REGISTERS, Reg, Test, Thread, Until, Var, VarId};
use std::collections::BTreeSet;

/// The largest value that a word may have.
const LARGEST: u64 = 6;
/// A loop that waits looks so many times.
const LOOKS: usize = 2;
/// Registers that an act leaves its result in.
const KEPT: usize = 3;
/// Registers of all acts: what an exchange has found, and what it writes.
const FOUND: usize = REGISTERS - 1;
const NEW: usize = REGISTERS - 2;
/// What a lock protects, and the lock.
const COUNT: usize = WORDS;
const LOCK: usize = WORDS + 1;

/// What there is of a program.
pub struct Expected {
    pub outcomes: BTreeSet<Outcome>,
    /// Whether some threads wait for ever.
    pub stuck: bool,
}

/// All that a program can come to; none if it is too large, or does something that is not in that language.
pub fn expected(program: &Program, model: Model, limits: Limits) -> Option<Expected> {
    let lowered = lower(program)?;
    let summary: Summary = enumerate(&lowered, model, limits).ok()?;
    let kinds = summary.error_kinds();
    if kinds.contains(&ViolationKind::Assertion) {
        // A value is too large.
        return None;
    }
    let outcomes = summary.outcomes().into_iter().map(|found| outcome(program, &found.threads, &found.memory));
    let stuck = kinds.contains(&ViolationKind::Livelock) || kinds.contains(&ViolationKind::Deadlock);
    Some(Expected { outcomes: outcomes.collect(), stuck })
}

/// What the interpreter has for the same: four results for each thread, and what is in memory.
fn outcome(program: &Program, registers: &[u64], memory: &[u64]) -> Outcome {
    let mut outcome = Vec::new();
    for (acts, registers) in program.threads.iter().zip(registers.chunks(REGISTERS)) {
        let result = |n: usize| registers[KEPT * n] + 10 * registers[KEPT * n + 1] + 100 * registers[KEPT * n + 2];
        outcome.extend((0..super::interpreter::LONGEST).map(|n| if n < acts.len() { result(n) as usize } else { 0 }));
    }
    outcome.extend(memory[..=COUNT].iter().map(|&value| value as usize));
    outcome
}

/// The program in the language of the oracle.
fn lower(program: &Program) -> Option<selvedge_oracle::litmus::Program> {
    let vars = vec![Var { size: 1, init: Some(0) }; WORDS + 2];
    let mut threads = Vec::new();
    for (thread, acts) in program.threads.iter().enumerate() {
        if acts.len() * KEPT > NEW {
            return None;
        }
        let mut code = Code::default();
        let others = 1..program.threads.len();
        if thread == 0 {
            code.insts.extend(others.clone().map(|other| Inst::Spawn(ThreadId::new(other))));
        }
        for (n, act) in acts.iter().enumerate() {
            Lowering { code: &mut code, program, thread, kept: KEPT * n }.act(act)?;
        }
        if thread == 0 {
            code.insts.extend(others.map(|other| Inst::Join(ThreadId::new(other))));
        }
        threads.push(code.finish()?);
    }
    let lowered = selvedge_oracle::litmus::Program { vars, threads };
    lowered.validate().ok().map(|()| lowered)
}

/// Where a jump goes to.
#[derive(Clone, Copy)]
struct Label(usize);

/// Instructions, whose jumps go forward.
#[derive(Default)]
struct Code {
    insts: Thread,
    /// Where labels stand.
    labels: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

impl Code {
    fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    fn here(&mut self, label: Label) {
        self.labels[label.0] = Some(self.insts.len());
    }

    fn push(&mut self, inst: Inst) {
        self.insts.push(inst);
    }

    fn jump(&mut self, label: Label, when: Option<Test>) {
        self.jumps.push((self.insts.len(), label));
        self.push(Inst::Skip { count: 0, when });
    }

    fn finish(mut self) -> Option<Thread> {
        // A jump goes to an instruction.
        self.push(Inst::Set { dst: Reg::new(NEW), value: Expr::constant(0) });
        self.push(Inst::Set { dst: Reg::new(FOUND), value: Expr::constant(0) });
        for (at, label) in self.jumps {
            let to = self.labels[label.0].expect("labels are somewhere");
            if let Inst::Skip { count, .. } = &mut self.insts[at] {
                *count = u8::try_from(to - at - 1).ok()?;
            }
        }
        Some(self.insts)
    }
}

fn order(order: Order) -> IrOrder {
    match order {
        Order::Relaxed => IrOrder::Relaxed,
        Order::Acquire => IrOrder::Acquire,
        Order::Release => IrOrder::Release,
        Order::AcqRel => IrOrder::AcqRel,
        _ => IrOrder::SeqCst,
    }
}

fn place(word: usize) -> Place {
    Place { var: VarId::new(word), offset: 0, size: 1 }
}

fn is(reg: usize, op: CmpOp, value: usize) -> Option<Test> {
    Some(Test { reg: Reg::new(reg), op, value: value as u64 })
}

fn until(op: CmpOp, value: usize) -> Option<Until> {
    Some(Until { op, operand: Expr::constant(value as u64) })
}

struct Lowering<'a> {
    code: &'a mut Code,
    program: &'a Program,
    thread: usize,
    /// The first of the registers that keep the result.
    kept: usize,
}

impl Lowering<'_> {
    fn set(&mut self, dst: usize, reg: Option<usize>, add: usize) {
        let value = Expr { reg: reg.map(Reg::new), add: add as u64 };
        self.code.push(Inst::Set { dst: Reg::new(dst), value });
    }

    fn load(&mut self, dst: usize, word: usize, of: Order, until: Option<Until>) {
        let (dst, place, order) = (Reg::new(dst), place(word), order(of));
        self.code.push(Inst::Load { dst, place, order, speculative: None, until });
    }

    fn store(&mut self, word: usize, value: Expr, of: Order) {
        self.code.push(Inst::Store { place: place(word), value, order: order(of), until: None });
    }

    fn rmw(&mut self, dst: usize, op: RmwOp, word: usize, value: usize, of: Order, until: Option<Until>) {
        let (dst, value) = (Some(Reg::new(dst)), Expr::constant(value as u64));
        self.code.push(Inst::Rmw { dst, op, place: place(word), value, order: order(of), until });
    }

    fn cas(&mut self, dst: usize, word: usize, values: [Expr; 2], orders: [Order; 2], until: Option<Until>) {
        let [expected, new] = values;
        let [success, failure] = orders.map(order);
        let (dst, place) = (Some(Reg::new(dst)), place(word));
        self.code.push(Inst::Cas { dst, place, expected, new, success, failure, confirms: false, until });
    }

    fn act(&mut self, act: &Act) -> Option<()> {
        let first = self.kept;
        let constant = |value: usize| Expr::constant(value as u64);
        match *act {
            Act::Load(word, order) => self.load(first, word, order, None),
            Act::Expect(word, value, order) => {
                self.load(first, word, order, None);
                let is = Test { reg: Reg::new(first), op: CmpOp::Eq, value: value as u64 };
                self.code.push(Inst::Assume(is));
            }
            Act::Store(word, value, order) => self.store(word, constant(value), order),
            Act::Add(word, order) => self.rmw(first, RmwOp::Add, word, 1, order, None),
            Act::AddNothing(word, order) => self.rmw(first, RmwOp::Add, word, 0, order, None),
            Act::Swap(word, value, order) => self.rmw(first, RmwOp::Xchg, word, value, order, None),
            Act::Exchange { word, expected, new, success, failure } => {
                self.cas(first, word, [constant(expected), constant(new)], [success, failure], None);
                let done = self.code.label();
                self.code.jump(done, is(first, CmpOp::Eq, expected));
                self.set(first + 2, None, 1);
                self.code.here(done);
            }
            Act::Fence(of) => self.code.push(Inst::Fence(order(of))),
            Act::Update { word, function, set, fetch, counts } => self.update(word, function, [set, fetch], counts),
            Act::Retry(retry) => self.retry(&retry),
            Act::Spin(spin) => self.spin(&spin),
            Act::Lock => {
                self.code.push(Inst::Lock { place: place(LOCK) });
                self.counts_and_unlocks(first);
            }
            Act::TryLock => {
                let held = self.try_lock();
                self.set(first, None, 9);
                let end = self.code.label();
                self.code.jump(end, None);
                self.code.here(held);
                self.counts_and_unlocks(first);
                self.code.here(end);
            }
            Act::Wait | Act::Wake(_) | Act::Send(_) | Act::Receive | Act::Park | Act::Unpark(_) => return None,
        }
        Some(())
    }

    /// Tries to take the lock; where the thread goes on that has it.
    fn try_lock(&mut self) -> Label {
        let values = [Expr::constant(0), Expr::constant(self.thread as u64 + 2)];
        self.cas(FOUND, LOCK, values, [Order::Acquire, Order::Relaxed], None);
        let held = self.code.label();
        self.code.jump(held, is(FOUND, CmpOp::Eq, 0));
        held
    }

    fn counts_and_unlocks(&mut self, first: usize) {
        self.load(first, COUNT, Order::Relaxed, None);
        self.set(first, Some(first), 1);
        self.store(COUNT, Expr::reg(Reg::new(first)), Order::Relaxed);
        self.code.push(Inst::Unlock { place: place(LOCK) });
    }

    /// How many attempts there can be of an exchange of a word.
    fn attempts(&self, word: usize) -> usize {
        let others = self.program.threads.iter().enumerate().filter(|(thread, _)| *thread != self.thread);
        others.flat_map(|(_, acts)| acts).map(|act| act.writes(word)).sum::<usize>() + 1
    }

    /// What is exchanged for what is in a register.
    fn new_value(&mut self, function: usize, old: usize) -> Expr {
        match function {
            0 | 1 => Expr { reg: Some(Reg::new(old)), add: 1 },
            2 => Expr { reg: Some(Reg::new(old)), add: 2 },
            3 => {
                let is_set = self.code.label();
                self.set(NEW, None, 1);
                self.code.jump(is_set, is(old, CmpOp::Eq, 0));
                self.set(NEW, None, 0);
                self.code.here(is_set);
                Expr::reg(Reg::new(NEW))
            }
            _ => Expr::constant(2),
        }
    }

    /// Goes to a label if what an exchange has found is what is in a register.
    fn jump_if_made(&mut self, label: Label, old: usize) {
        for value in 0..=LARGEST as usize {
            let other = self.code.label();
            self.code.jump(other, is(old, CmpOp::Ne, value));
            self.code.jump(label, is(FOUND, CmpOp::Eq, value));
            self.code.here(other);
        }
        self.code.push(Inst::Assert(Test { reg: Reg::new(old), op: CmpOp::Ule, value: LARGEST }));
    }

    /// There is no such execution.
    fn give_up(&mut self) {
        self.set(NEW, None, 1);
        self.code.push(Inst::Assume(Test { reg: Reg::new(NEW), op: CmpOp::Eq, value: 0 }));
    }

    fn update(&mut self, word: usize, function: usize, [set, fetch]: [Order; 2], counts: bool) {
        let [old, seen, count] = [0, 1, 2].map(|n| self.kept + n);
        let (end, none) = (self.code.label(), self.code.label());
        self.load(old, word, fetch, None);
        for _ in 0..self.attempts(word) {
            if counts {
                self.set(count, Some(count), 1);
            }
            self.code.jump(none, is(old, CmpOp::Uge, 3));
            let new = self.new_value(function, old);
            self.cas(FOUND, word, [Expr::reg(Reg::new(old)), new], [set, fetch], None);
            self.jump_if_made(end, old);
            self.set(old, Some(FOUND), 0);
        }
        self.give_up();
        self.code.here(none);
        self.set(seen, None, 5);
        self.code.here(end);
    }

    fn retry(&mut self, retry: &Retry) {
        let [old, seen] = [0, 1].map(|n| self.kept + n);
        let (end, leaves) = (self.code.label(), self.code.label());
        let is_left = self.code.label();
        self.begins(retry, is_left);
        let stores = matches!(retry.leaves, Leaves::Store(_)) && retry.other == retry.word;
        // What it stores itself makes the next attempt fail.
        let most = self.attempts(retry.word) * (1 + usize::from(stores));
        for failed in 1..=most {
            if let Some(value) = retry.ends {
                self.code.jump(leaves, is(old, CmpOp::Eq, value));
            }
            self.between(retry, leaves);
            let new = self.new_value(retry.function, old);
            let orders = [retry.success, retry.failure];
            self.cas(FOUND, retry.word, [Expr::reg(Reg::new(old)), new], orders, None);
            self.jump_if_made(end, old);
            self.failed(retry, failed);
            if retry.gives_up == Some(failed) {
                self.set(old, Some(FOUND), 0);
                self.set(seen, None, 2000);
                self.code.jump(end, None);
                break;
            }
            match retry.then {
                Then::On => self.set(old, Some(FOUND), 0),
                _ if failed == most => {}
                Then::Back | Then::Elsewhere => self.begins(retry, is_left),
            }
        }
        self.give_up();
        self.code.here(is_left);
        self.set(old, None, 7);
        self.code.here(leaves);
        self.set(seen, None, 1000);
        self.code.here(end);
    }

    /// What an attempt begins with.
    fn begins(&mut self, retry: &Retry, is_left: Label) {
        let [old, count] = [0, 2].map(|n| self.kept + n);
        if retry.before != Before::Nothing && retry.then == Then::Back {
            self.load(FOUND, retry.other, retry.load, None);
            self.code.jump(is_left, is(FOUND, CmpOp::Eq, 1));
            if retry.before == Before::Forgets {
                self.set(count, None, 0);
            }
        }
        self.load(old, retry.word, retry.load, None);
    }

    /// What an attempt does between its load and its exchange.
    fn between(&mut self, retry: &Retry, leaves: Label) {
        let [old, seen] = [0, 1].map(|n| self.kept + n);
        match retry.look {
            Look::Never => self.set(seen, None, 0),
            Look::Always(order) => self.load(seen, retry.other, order, None),
            Look::Same(order) => self.load(seen, retry.word, order, None),
            Look::If(value, order) => {
                let other = self.code.label();
                self.set(seen, None, 0);
                self.code.jump(other, is(old, CmpOp::Ne, value));
                self.load(seen, retry.other, order, None);
                self.code.here(other);
            }
        }
        let assume =
            |reg: usize, value: usize| Inst::Assume(Test { reg: Reg::new(reg), op: CmpOp::Ne, value: value as u64 });
        match retry.stops {
            Stops::Never => {}
            Stops::AssumesOld(value) => self.code.push(assume(old, value)),
            Stops::AssumesSeen(value) => self.code.push(assume(seen, value)),
            Stops::LeavesIfSeen(value) => self.code.jump(leaves, is(seen, CmpOp::Eq, value)),
        }
    }

    /// The how manieth attempt has failed.
    fn failed(&mut self, retry: &Retry, failed: usize) {
        let [old, seen, count] = [0, 1, 2].map(|n| self.kept + n);
        let (other, more) = (self.code.label(), Some(count));
        match retry.leaves {
            Leaves::Nothing | Leaves::Boxes => {}
            Leaves::Count | Leaves::OnHeap | Leaves::InLocal => self.set(count, more, 1),
            Leaves::Last => self.set(count, Some(old), 1),
            Leaves::Odd => self.set(count, None, failed % 2),
            Leaves::Two => self.set(count, None, usize::from(failed > 1)),
            Leaves::Store(value) => self.store(retry.other, Expr::constant(value as u64), Order::Relaxed),
            Leaves::IfOther(value) | Leaves::IfOld(value) | Leaves::IfFound(value) => {
                let reg = match retry.leaves {
                    Leaves::IfOther(_) => seen,
                    Leaves::IfOld(_) => old,
                    _ => FOUND,
                };
                self.code.jump(other, is(reg, CmpOp::Ne, value));
                self.set(count, more, 1);
            }
        }
        self.code.here(other);
    }

    /// The end of an iteration of a loop that waits: the thread would begin another one.
    fn looks_again(&mut self) {
        self.set(NEW, None, 0);
        let when = Until { op: CmpOp::Eq, operand: Expr::constant(0) };
        self.code.push(Inst::Retry { reg: Reg::new(NEW), when });
    }

    fn spin(&mut self, spin: &Spin) {
        let [first, second, third] = [0, 1, 2].map(|n| self.kept + n);
        let (word, other, order, load) = (spin.word, spin.other, spin.order, loads(spin.order));
        let end = self.code.label();
        let values = [spin.until, spin.until + 1].map(|value| Expr::constant(value as u64));
        match spin.kind {
            SpinKind::Load => {
                for n in 0..LOOKS {
                    let waits = if n + 1 == LOOKS { until(CmpOp::Uge, spin.until) } else { None };
                    self.load(FOUND, word, load, waits);
                    self.code.jump(end, is(FOUND, CmpOp::Uge, spin.until));
                }
            }
            SpinKind::Swap => {
                for n in 0..LOOKS {
                    let waits = if n + 1 == LOOKS { until(CmpOp::Ne, 1) } else { None };
                    self.rmw(FOUND, RmwOp::Xchg, word, 1, order, waits);
                    self.code.jump(end, is(FOUND, CmpOp::Ne, 1));
                }
            }
            SpinKind::Exchange => {
                for n in 0..LOOKS {
                    let waits = if n + 1 == LOOKS { until(CmpOp::Eq, spin.until) } else { None };
                    self.cas(FOUND, word, values, [order, load], waits);
                    self.code.jump(end, is(FOUND, CmpOp::Eq, spin.until));
                }
            }
            SpinKind::LoadThenExchange => {
                for _ in 0..LOOKS {
                    let again = self.code.label();
                    self.load(FOUND, word, Order::Relaxed, None);
                    self.code.jump(again, is(FOUND, CmpOp::Ne, spin.until));
                    self.cas(FOUND, word, values, [order, load], None);
                    self.code.jump(end, is(FOUND, CmpOp::Eq, spin.until));
                    self.code.here(again);
                }
                self.looks_again();
            }
            SpinKind::TryLock => {
                let held = self.code.label();
                for _ in 0..LOOKS {
                    let now = self.try_lock();
                    let again = self.code.label();
                    self.code.jump(again, None);
                    self.code.here(now);
                    self.code.jump(held, None);
                    self.code.here(again);
                }
                self.looks_again();
                self.code.here(held);
                self.counts_and_unlocks(first);
            }
            SpinKind::Two => {
                for _ in 0..LOOKS {
                    self.load(first, word, load, None);
                    self.load(second, other, load, None);
                    self.code.jump(end, is(first, CmpOp::Uge, spin.until));
                    for value in 0..spin.until {
                        let not = self.code.label();
                        self.code.jump(not, is(first, CmpOp::Ne, value));
                        self.code.jump(end, is(second, CmpOp::Uge, spin.until - value));
                        self.code.here(not);
                    }
                }
                self.looks_again();
            }
            SpinKind::Counts | SpinKind::CountsOnHeap => {
                for count in 0..4 {
                    self.set(first, None, count);
                    self.load(FOUND, word, load, None);
                    self.code.jump(end, is(FOUND, CmpOp::Uge, spin.until));
                }
            }
            SpinKind::Change => {
                self.load(first, word, load, None);
                for _ in 0..LOOKS {
                    self.load(FOUND, word, load, None);
                    self.set(second, Some(FOUND), 0);
                    let same = self.code.label();
                    self.jump_if_made(same, first);
                    self.code.jump(end, None);
                    self.code.here(same);
                }
                self.looks_again();
            }
            SpinKind::Leaves => {
                for _ in 0..LOOKS {
                    self.load(first, word, load, None);
                    self.set(third, None, 0);
                    self.code.jump(end, is(first, CmpOp::Uge, spin.until));
                    self.load(first, other, Order::Relaxed, None);
                    self.set(third, None, 1);
                    self.code.jump(end, is(first, CmpOp::Ugt, 0));
                }
                self.looks_again();
            }
        }
        self.code.here(end);
    }
}

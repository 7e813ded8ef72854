//! Random programs with loops, branches, inputs, arrays, locks, condition variables, barriers and atomic sections, in the
//! text form of the program representation. Unlike litmus programs (`selvedge_oracle::generate`) they may run for ever.
//!
//! Values stay below 4 (all but those of a few sums), so that there are few states.

use selvedge_oracle::generate::Rng;
use std::fmt::Write;

/// A register of a thread.
type Reg = usize;

/// An operand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    Number(u32),
    Reg(Reg),
    Next(Reg),
}

/// `register op number`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Test(Reg, &'static str, u32);

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    Load(Reg, usize),
    Store(usize, Value),
    Add(usize, u32),
    LoadElement(Reg, Reg),
    StoreElement(Reg, Value),
    Input(Reg),
    Set(Reg, Value),
    Assert(Test),
    Assume(Test),
    If(Test, Vec<Stmt>, Vec<Stmt>),
    Times(u32, Vec<Stmt>),
    While(usize, Test, Vec<Stmt>),
    Forever(Vec<Stmt>),
    Locked(usize, Vec<Stmt>),
    Atomic(Vec<Stmt>),
    /// Waits, with the mutex, while a variable is something.
    Wait(usize, usize, u32),
    Signal(usize, bool),
    Barrier,
}

/// What programs are made of.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub name: &'static str,
    pub loops: bool,
    pub forever: bool,
    pub locks: bool,
    pub conds: bool,
    pub barrier: bool,
    pub arrays: bool,
    pub inputs: bool,
    pub assumptions: bool,
    pub sections: bool,
    pub threads: usize,
}

const PLAIN: Kind = Kind {
    name: "branches",
    loops: false,
    forever: false,
    locks: false,
    conds: false,
    barrier: false,
    arrays: false,
    inputs: true,
    assumptions: false,
    sections: false,
    threads: 2,
};

/// All kinds.
pub const KINDS: &[Kind] = &[
    PLAIN,
    Kind { name: "loops", loops: true, ..PLAIN },
    Kind { name: "forever", loops: true, forever: true, ..PLAIN },
    Kind { name: "locks", locks: true, ..PLAIN },
    Kind { name: "locks for ever", locks: true, forever: true, ..PLAIN },
    Kind { name: "conditions", locks: true, conds: true, inputs: false, ..PLAIN },
    Kind { name: "conditions for ever", locks: true, conds: true, forever: true, inputs: false, ..PLAIN },
    Kind { name: "barriers", barrier: true, ..PLAIN },
    Kind { name: "barriers for ever", barrier: true, forever: true, ..PLAIN },
    Kind { name: "arrays", arrays: true, ..PLAIN },
    Kind { name: "arrays and loops", arrays: true, loops: true, ..PLAIN },
    Kind { name: "assumptions", assumptions: true, ..PLAIN },
    Kind { name: "assumptions for ever", assumptions: true, forever: true, ..PLAIN },
    Kind { name: "sections", sections: true, assumptions: true, ..PLAIN },
    Kind { name: "three threads", threads: 3, ..PLAIN },
    Kind { name: "three threads and locks", threads: 3, locks: true, ..PLAIN },
    Kind { name: "three threads for ever", threads: 3, forever: true, ..PLAIN },
    Kind {
        name: "everything",
        loops: true,
        forever: true,
        locks: true,
        conds: true,
        barrier: true,
        arrays: true,
        inputs: true,
        assumptions: true,
        sections: true,
        threads: 2,
    },
];

/// A program.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    pub vars: Vec<u32>,
    /// The main thread's own statements come between the creation of the others and their joins.
    pub threads: Vec<Vec<Stmt>>,
    /// Whether the main thread waits for the others.
    pub joins: bool,
}

const REGS: usize = 2;
const MUTEXES: usize = 2;

/// A random program.
pub fn generate(kind: &Kind, seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let vars: Vec<u32> = (0..1 + rng.below(3)).map(|_| if rng.percent(70) { 0 } else { rng.below(3) as u32 }).collect();
    let mut threads = vec![Vec::new()];
    for _ in 0..kind.threads {
        let count = 1 + rng.below(if kind.threads > 2 { 2 } else { 3 });
        let mut body = statements(kind, &mut rng, vars.len(), count, 0);
        if kind.barrier && rng.percent(80) {
            body.insert(rng.below(body.len() + 1), Stmt::Barrier);
        }
        threads.push(if kind.forever && rng.percent(60) { vec![Stmt::Forever(body)] } else { body });
    }
    if rng.percent(20) {
        threads[0] = statements(kind, &mut rng, vars.len(), 1, 1);
    }
    Program { vars, threads, joins: rng.percent(80) }
}

fn statements(kind: &Kind, rng: &mut Rng, vars: usize, count: usize, depth: usize) -> Vec<Stmt> {
    let mut all = Vec::new();
    for _ in 0..count {
        statement(kind, rng, vars, depth, &mut all);
    }
    all
}

fn statement(kind: &Kind, rng: &mut Rng, vars: usize, depth: usize, out: &mut Vec<Stmt>) {
    let var = rng.below(vars);
    let reg = rng.below(REGS);
    let inner = |rng: &mut Rng| {
        let count = 1 + rng.below(2);
        statements(kind, rng, vars, count, depth + 1)
    };
    match rng.below(26) {
        0..4 => out.push(Stmt::Store(var, value(rng))),
        4..6 => out.push(Stmt::Load(reg, var)),
        6 => out.push(Stmt::Add(var, 1 + rng.below(2) as u32)),
        7..10 => out.extend([Stmt::Load(reg, var), Stmt::Assert(test(rng, reg))]),
        10 if kind.inputs => out.push(Stmt::Input(reg)),
        11 | 12 if depth < 2 => {
            out.push(match rng.below(3) {
                0 if kind.inputs => Stmt::Input(reg),
                _ => Stmt::Load(reg, var),
            });
            let (test, yes) = (test(rng, reg), inner(rng));
            let no = if rng.percent(50) { inner(rng) } else { Vec::new() };
            out.push(Stmt::If(test, yes, no));
        }
        13 | 14 if kind.loops && depth < 2 => {
            let body = inner(rng);
            out.push(match rng.below(2) {
                0 => Stmt::Times(1 + rng.below(2) as u32, body),
                _ => Stmt::While(var, test(rng, 0), body),
            });
        }
        15 | 16 if kind.locks && depth < 2 => {
            let body = inner(rng);
            out.push(Stmt::Locked(rng.below(MUTEXES), body));
        }
        17 if kind.conds && depth == 0 => out.push(Stmt::Wait(rng.below(MUTEXES), var, rng.below(2) as u32)),
        18 if kind.conds => out.push(Stmt::Signal(rng.below(2), rng.percent(40))),
        17 | 18 if kind.arrays => out.extend([Stmt::Input(reg), Stmt::StoreElement(reg, value(rng))]),
        19 if kind.arrays => {
            let index = if kind.inputs && rng.percent(50) { Stmt::Input(reg) } else { Stmt::Load(reg, var) };
            out.extend([index, Stmt::LoadElement(0, reg), Stmt::Assert(test(rng, 0))]);
        }
        20 | 21 if kind.assumptions => out.extend([Stmt::Load(reg, var), Stmt::Assume(test(rng, reg))]),
        22 | 23 if kind.sections && depth < 2 => {
            // No locks within: only accesses and tests.
            let mut body = vec![Stmt::Load(reg, var)];
            if rng.percent(40) {
                body.push(if rng.percent(60) { Stmt::Assume(test(rng, reg)) } else { Stmt::Assert(test(rng, reg)) });
            }
            body.push(Stmt::Store(rng.below(vars), value(rng)));
            out.push(Stmt::Atomic(body));
        }
        // Two ways to the same place, one of which has touched what is written next.
        24 if depth < 2 && vars > 1 => {
            let other = (var + 1) % vars;
            let mut ways = [vec![Stmt::Store(var, value(rng))], vec![Stmt::Store(other, value(rng))]];
            if rng.percent(50) {
                ways.swap(0, 1);
            }
            let [yes, no] = ways;
            out.push(if kind.inputs { Stmt::Input(reg) } else { Stmt::Load(reg, var) });
            out.extend([Stmt::If(test(rng, reg), yes, no), Stmt::Store(var, value(rng))]);
        }
        _ => out.push(Stmt::Store(var, value(rng))),
    }
}

fn value(rng: &mut Rng) -> Value {
    match rng.below(6) {
        0..4 => Value::Number(rng.below(3) as u32),
        4 => Value::Reg(rng.below(REGS)),
        _ => Value::Next(rng.below(REGS)),
    }
}

fn test(rng: &mut Rng, reg: Reg) -> Test {
    Test(reg, rng.pick(&["eq", "ne", "ne", "ult", "uge", "slt"]), rng.below(3) as u32)
}

const DECLARATIONS: &str = "\
declare @pthread_create(ptr, ptr, ptr, ptr) -> i32
declare @pthread_join(i64, ptr) -> i32
declare @pthread_mutex_lock(ptr) -> i32
declare @pthread_mutex_unlock(ptr) -> i32
declare @pthread_cond_wait(ptr, ptr) -> i32
declare @pthread_cond_signal(ptr) -> i32
declare @pthread_cond_broadcast(ptr) -> i32
declare @pthread_barrier_init(ptr, ptr, i32) -> i32
declare @pthread_barrier_wait(ptr) -> i32
declare @__VERIFIER_assert(i32)
declare @__VERIFIER_nondet_bool() -> i1
declare @__VERIFIER_atomic_begin()
declare @__VERIFIER_atomic_end()
";

impl Program {
    /// The text form of the program representation.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (n, init) in self.vars.iter().enumerate() {
            writeln!(text, "global @x{n} : 4 align 4 = i32 {init}").expect("a string grows");
        }
        text.push_str("global @a : 16 align 4\nglobal @b : 32 align 8\n");
        for n in 0..MUTEXES {
            writeln!(text, "global @m{n} : 40 align 8\nglobal @c{n} : 48 align 8").expect("a string grows");
        }
        text.push_str(DECLARATIONS);
        for (n, body) in self.threads.iter().enumerate().rev() {
            let mut writer = Writer { text: String::new(), names: 0, open: true };
            writer.thread(self, n, body);
            text.push_str(&writer.text);
        }
        text
    }

    fn barriers(&self) -> usize {
        self.threads.iter().filter(|body| format!("{body:?}").contains("Barrier")).count()
    }

    /// Programs that are smaller by one statement.
    pub fn smaller(&self) -> Vec<Program> {
        let mut all = Vec::new();
        for thread in 0..self.threads.len() {
            for body in smaller(&self.threads[thread]) {
                let mut threads = self.threads.clone();
                threads[thread] = body;
                all.push(Program { threads, ..self.clone() });
            }
        }
        all
    }
}

fn smaller(body: &[Stmt]) -> Vec<Vec<Stmt>> {
    let mut all = Vec::new();
    let with = |n: usize, new: Vec<Stmt>| [&body[..n], &new, &body[n + 1..]].concat();
    for (n, stmt) in body.iter().enumerate() {
        all.push(with(n, Vec::new()));
        match stmt {
            Stmt::If(test, yes, no) => {
                all.extend([with(n, yes.clone()), with(n, no.clone())]);
                all.extend(smaller(yes).into_iter().map(|yes| with(n, vec![Stmt::If(*test, yes, no.clone())])));
                all.extend(smaller(no).into_iter().map(|no| with(n, vec![Stmt::If(*test, yes.clone(), no)])));
            }
            Stmt::Times(count, inner) => {
                all.push(with(n, inner.clone()));
                all.extend(smaller(inner).into_iter().map(|inner| with(n, vec![Stmt::Times(*count, inner)])));
            }
            Stmt::While(var, test, inner) => {
                all.push(with(n, inner.clone()));
                all.extend(smaller(inner).into_iter().map(|inner| with(n, vec![Stmt::While(*var, *test, inner)])));
            }
            Stmt::Forever(inner) => {
                all.push(with(n, inner.clone()));
                all.extend(smaller(inner).into_iter().map(|inner| with(n, vec![Stmt::Forever(inner)])));
            }
            Stmt::Locked(mutex, inner) => {
                all.push(with(n, inner.clone()));
                all.extend(smaller(inner).into_iter().map(|inner| with(n, vec![Stmt::Locked(*mutex, inner)])));
            }
            Stmt::Atomic(inner) => {
                all.push(with(n, inner.clone()));
                all.extend(smaller(inner).into_iter().map(|inner| with(n, vec![Stmt::Atomic(inner)])));
            }
            _ => {}
        }
    }
    all
}

struct Writer {
    text: String,
    names: usize,
    /// Whether the block has not ended.
    open: bool,
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn define(&mut self, what: &str) -> String {
        let name = self.name();
        self.line(&format!("{name} = {what}"));
        name
    }

    fn block(&mut self, label: &str) {
        if self.open {
            self.line(&format!("br {label}"));
        }
        self.line(&format!("{label}:"));
        self.open = true;
    }

    fn thread(&mut self, program: &Program, number: usize, body: &[Stmt]) {
        if number == 0 {
            self.line("func @main() -> i32 {\nentry:");
        } else {
            self.line(&format!("func @t{number}(arg: ptr) -> ptr {{\nentry:"));
        }
        for reg in 0..REGS {
            self.line(&format!("r{reg} = alloca 4 align 4 \"r{reg}\"\nstore i32 0, r{reg}"));
        }
        if number == 0 {
            let barriers = program.barriers();
            if barriers > 0 {
                self.line(&format!("call @pthread_barrier_init(ptr @b, ptr null, i32 {barriers})"));
            }
            for child in 1..program.threads.len() {
                self.line(&format!("h{child} = alloca 8 align 8 \"h{child}\""));
                self.line(&format!("call @pthread_create(ptr h{child}, ptr null, ptr @t{child}, ptr null)"));
            }
        }
        self.body(body);
        if number == 0 && program.joins {
            for child in 1..program.threads.len() {
                let handle = self.define(&format!("load i64 h{child}"));
                self.line(&format!("call @pthread_join(i64 {handle}, ptr null)"));
            }
        }
        self.line(if number == 0 { "ret 0\n}" } else { "ret null\n}" });
    }

    fn body(&mut self, body: &[Stmt]) {
        body.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn reg(&mut self, reg: Reg) -> String {
        self.define(&format!("load i32 r{reg}"))
    }

    fn value(&mut self, value: Value) -> String {
        match value {
            Value::Number(number) => number.to_string(),
            Value::Reg(reg) => self.reg(reg),
            Value::Next(reg) => {
                let reg = self.reg(reg);
                let sum = self.define(&format!("add i32 {reg}, 1"));
                self.define(&format!("and i32 {sum}, 3"))
            }
        }
    }

    fn test(&mut self, Test(reg, op, number): Test) -> String {
        let reg = self.reg(reg);
        self.define(&format!("cmp {op} i32 {reg}, {number}"))
    }

    fn element(&mut self, index: Reg) -> String {
        let index = self.reg(index);
        let low = self.define(&format!("and i32 {index}, 3"));
        let wide = self.define(&format!("zext i32 {low} to i64"));
        self.define(&format!("ptradd @a, {wide} * 4"))
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Load(reg, var) => {
                let value = self.define(&format!("load i32 @x{var}, sc"));
                self.line(&format!("store i32 {value}, r{reg}"));
            }
            Stmt::Store(var, value) => {
                let value = self.value(*value);
                self.line(&format!("store i32 {value}, @x{var}, sc"));
            }
            Stmt::Add(var, number) => {
                self.define(&format!("rmw add i32 @x{var}, {number}, sc"));
            }
            Stmt::LoadElement(reg, index) => {
                let place = self.element(*index);
                let value = self.define(&format!("load i32 {place}, sc"));
                self.line(&format!("store i32 {value}, r{reg}"));
            }
            Stmt::StoreElement(index, value) => {
                let (value, place) = (self.value(*value), self.element(*index));
                self.line(&format!("store i32 {value}, {place}, sc"));
            }
            Stmt::Input(reg) => {
                let bit = self.define("call @__VERIFIER_nondet_bool()");
                let value = self.define(&format!("zext i1 {bit} to i32"));
                self.line(&format!("store i32 {value}, r{reg}"));
            }
            Stmt::Set(reg, value) => {
                let value = self.value(*value);
                self.line(&format!("store i32 {value}, r{reg}"));
            }
            Stmt::Assert(test) => {
                let holds = self.test(*test);
                let holds = self.define(&format!("zext i1 {holds} to i32"));
                self.line(&format!("call @__VERIFIER_assert(i32 {holds})"));
            }
            Stmt::Assume(test) => {
                let holds = self.test(*test);
                self.line(&format!("assume {holds}"));
            }
            Stmt::Locked(mutex, body) => {
                self.line(&format!("call @pthread_mutex_lock(ptr @m{mutex})"));
                self.body(body);
                self.line(&format!("call @pthread_mutex_unlock(ptr @m{mutex})"));
            }
            Stmt::Atomic(body) => {
                self.line("call @__VERIFIER_atomic_begin()");
                self.body(body);
                self.line("call @__VERIFIER_atomic_end()");
            }
            Stmt::Signal(cond, all) => {
                let how = if *all { "broadcast" } else { "signal" };
                self.line(&format!("call @pthread_cond_{how}(ptr @c{cond})"));
            }
            Stmt::Barrier => self.line("call @pthread_barrier_wait(ptr @b)"),
            Stmt::If(..) | Stmt::Times(..) | Stmt::While(..) | Stmt::Forever(_) | Stmt::Wait(..) => self.branch(stmt),
        }
    }

    fn branch(&mut self, stmt: &Stmt) {
        let n = self.name();
        match stmt {
            Stmt::If(test, yes, no) => {
                let holds = self.test(*test);
                self.line(&format!("condbr {holds}, yes{n}, no{n}"));
                self.open = false;
                self.block(&format!("yes{n}"));
                self.body(yes);
                self.line(&format!("br on{n}"));
                self.open = false;
                self.block(&format!("no{n}"));
                self.body(no);
                self.block(&format!("on{n}"));
            }
            Stmt::Times(count, body) => {
                let counter = self.define("alloca 4 align 4 \"i\"");
                self.line(&format!("store i32 0, {counter}"));
                self.block(&format!("again{n}"));
                self.body(body);
                let done = self.define(&format!("load i32 {counter}"));
                let done = self.define(&format!("add i32 {done}, 1"));
                self.line(&format!("store i32 {done}, {counter}"));
                let more = self.define(&format!("cmp ult i32 {done}, {count}"));
                self.line(&format!("condbr {more}, again{n}, on{n}"));
                self.open = false;
                self.block(&format!("on{n}"));
            }
            Stmt::While(var, Test(_, op, number), body) => {
                self.block(&format!("again{n}"));
                let value = self.define(&format!("load i32 @x{var}, sc"));
                let holds = self.define(&format!("cmp {op} i32 {value}, {number}"));
                self.line(&format!("condbr {holds}, more{n}, on{n}"));
                self.open = false;
                self.block(&format!("more{n}"));
                self.body(body);
                self.line(&format!("br again{n}"));
                self.open = false;
                self.block(&format!("on{n}"));
            }
            Stmt::Forever(body) => {
                self.block(&format!("again{n}"));
                self.body(body);
                // The front end wants an end; nothing says that it is not reached.
                let never = self.define("load i32 r0");
                let never = self.define(&format!("cmp eq i32 {never}, 99"));
                self.line(&format!("condbr {never}, on{n}, again{n}"));
                self.open = false;
                self.block(&format!("on{n}"));
            }
            Stmt::Wait(mutex, var, number) => {
                self.line(&format!("call @pthread_mutex_lock(ptr @m{mutex})"));
                self.block(&format!("again{n}"));
                let value = self.define(&format!("load i32 @x{var}, sc"));
                let holds = self.define(&format!("cmp eq i32 {value}, {number}"));
                self.line(&format!("condbr {holds}, more{n}, on{n}"));
                self.open = false;
                self.block(&format!("more{n}"));
                self.line(&format!("call @pthread_cond_wait(ptr @c{mutex}, ptr @m{mutex})\nbr again{n}"));
                self.open = false;
                self.block(&format!("on{n}"));
                self.line(&format!("call @pthread_mutex_unlock(ptr @m{mutex})"));
            }
            other => unreachable!("{other:?} does not branch"),
        }
    }
}

//! Litmus programs in the program representation, to compare one front end with another.
//!
//! A litmus program runs on a machine of a few hundred lines; the same program, written with `pthread_create`, mutexes and
//! condition variables in the text form of the program representation, runs on the interpreter. Both must have the same
//! classes. That puts the interpreter's memory, its going back, and its models of threads and locks to the test on
//! programs that nobody would write.
//!
//! Registers become private variables and every instruction becomes a block. What has no counterpart is refused: awaits,
//! `free`, uninitialised variables, misused locks and condition variables, and joins by others than the parent.

use crate::litmus::{Expr, Inst, Place, Program, REGISTERS, Test, Thread, VarId};
use selvedge_ir::EntityRef;
use selvedge_machine::ThreadId;
use std::fmt::Write;

/// A litmus program in the text form of the program representation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lowered {
    /// The text.
    pub text: String,
    /// Per variable, in the order of the globals, how many bytes hold data (0 for mutexes and condition variables).
    pub data: Vec<usize>,
}

const DECLARATIONS: &str = "\
declare @pthread_create(ptr, ptr, ptr, ptr) -> i32
declare @pthread_join(i64, ptr) -> i32
declare @pthread_exit(ptr)
declare @pthread_mutex_lock(ptr) -> i32
declare @pthread_mutex_unlock(ptr) -> i32
declare @pthread_cond_wait(ptr, ptr) -> i32
declare @pthread_cond_timedwait(ptr, ptr, ptr) -> i32
declare @pthread_cond_signal(ptr) -> i32
declare @pthread_cond_broadcast(ptr) -> i32
declare @exit(i32)
declare @__VERIFIER_assert(i32)
declare @__VERIFIER_nondet_bool() -> i1
declare @__VERIFIER_atomic_begin()
declare @__VERIFIER_atomic_end()
";

/// Translates a program, if everything in it has a counterpart.
pub fn lower(program: &Program) -> Option<Lowered> {
    let uses = (0..program.vars.len()).map(|var| var_use(program, VarId::new(var))).collect::<Option<Vec<Use>>>()?;
    let mut text = String::new();
    let mut data = Vec::new();
    for (n, (var, used)) in program.vars.iter().zip(&uses).enumerate() {
        let id = VarId::new(n);
        match used {
            Use::Mutex => writeln!(text, "global @{id} : 40 align 8").ok()?,
            Use::Cond => writeln!(text, "global @{id} : 48 align 8").ok()?,
            Use::Data => {
                let bytes = u64::to_le_bytes(var.init?).into_iter().chain([0; 64]).take(usize::from(var.size));
                let values: Vec<String> = bytes.map(|byte| format!("i8 {}", byte as i8)).collect();
                writeln!(text, "global @{id} : {} align 8 = {}", var.size, values.join(", ")).ok()?;
            }
        }
        data.push(if *used == Use::Data { usize::from(var.size) } else { 0 });
    }
    text.push_str(DECLARATIONS);
    for (n, thread) in program.threads.iter().enumerate().rev() {
        text.push_str(&function(thread, ThreadId::new(n))?);
    }
    Some(Lowered { text, data })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Data,
    Mutex,
    Cond,
}

/// What a variable is used for; nothing if for several things.
fn var_use(program: &Program, var: VarId) -> Option<Use> {
    let mut uses = program.threads.iter().flatten().filter(|inst| inst.var() == Some(var)).map(|inst| match inst {
        Inst::Lock { place } | Inst::Unlock { place } if place.offset == 0 && place.size == 4 => Some(Use::Mutex),
        Inst::Wait(_) | Inst::Wake { .. } | Inst::Signal(_) | Inst::Broadcast(_) => Some(Use::Cond),
        Inst::Load { .. } | Inst::Store { .. } | Inst::Rmw { .. } | Inst::Cas { .. } => Some(Use::Data),
        _ => None,
    });
    let first = uses.next().unwrap_or(Some(Use::Data))?;
    let free_at_first = first != Use::Mutex || program.vars[var.index()].init == Some(0);
    (free_at_first && uses.all(|other| other == Some(first))).then_some(first)
}

fn function(thread: &Thread, id: ThreadId) -> Option<String> {
    check(thread)?;
    let main = id == selvedge_machine::main_thread();
    let mut out = Writer { text: String::new(), thread, values: 0 };
    let head = if main { "func @main() -> i32 {".to_owned() } else { format!("func @{id}(arg: ptr) -> ptr {{") };
    out.line(&format!("{head}\nstart:"));
    for reg in 0..REGISTERS {
        out.line(&format!("r{reg} = alloca 8 align 8 \"r{reg}\"\nstore i64 0, r{reg}"));
    }
    for (at, inst) in thread.iter().enumerate() {
        match inst {
            Inst::Spawn(child) => out.line(&format!("h{} = alloca 8 align 8 \"h\"", child.index())),
            Inst::Repeat { .. } => out.line(&format!("c{at} = alloca 8 align 8 \"c\"\nstore i64 0, c{at}")),
            _ => {}
        }
    }
    out.line("deadline = alloca 16 align 8 \"deadline\"\nstore i64 0, deadline");
    out.line("seconds = ptradd deadline, offset 8\nstore i64 0, seconds\nbr i0");
    let mut at = 0;
    while at < thread.len() {
        out.line(&format!("i{at}:"));
        let next = out.inst(at)?;
        if !out.text.ends_with("$\n") {
            out.line(&format!("br i{next}"));
        }
        at = next;
    }
    out.line(&format!("i{at}:\nret {}\n}}", if main { "0" } else { "null" }));
    // A `$` marks lines that end their block.
    Some(out.text.replace("$\n", "\n"))
}

/// Checks that locks, condition variables, sections and threads are used as the library functions want it.
fn check(thread: &Thread) -> Option<()> {
    let mut held: Vec<Place> = Vec::new();
    let mut children: Vec<ThreadId> = Vec::new();
    let mut section = false;
    let mut at = 0;
    while let Some(inst) = thread.get(at) {
        at += 1;
        match inst {
            Inst::Begin if !section => section = true,
            Inst::End if section => section = false,
            Inst::Load { .. } | Inst::Store { .. } | Inst::Rmw { .. } | Inst::Cas { .. } => {}
            Inst::Set { .. } | Inst::Assume(_) | Inst::Assert(_) | Inst::Fence(_) => {}
            _ if section => return None,
            Inst::Lock { place } => held.push(*place),
            Inst::Unlock { place } => {
                held.iter().find(|other| *other == place)?;
                held.retain(|other| other != place);
            }
            Inst::Wait(var) => {
                let [Inst::Unlock { place }, Inst::Wake { var: other, .. }, Inst::Lock { place: again }, ..] =
                    &thread[at..]
                else {
                    return None;
                };
                (other == var && place == again && held.contains(place)).then_some(())?;
                at += 3;
            }
            Inst::Skip { count, .. } => straight(&thread[at..at + usize::from(*count)])?,
            Inst::Repeat { count, .. } => straight(&thread[at - 1 - usize::from(*count)..at - 1])?,
            Inst::Spawn(child) => children.push(*child),
            Inst::Join(child) => {
                let known = children.iter().position(|other| other == child)?;
                children.remove(known);
            }
            Inst::Choose { alternatives: 2, .. } | Inst::Signal(_) | Inst::Broadcast(_) | Inst::Exit | Inst::Leave => {}
            Inst::Begin | Inst::End | Inst::Wake { .. } | Inst::Choose { .. } => return None,
            Inst::Free(_) | Inst::Retry { .. } => return None,
        }
    }
    (!section).then_some(())
}

/// Checks that instructions can be jumped over.
fn straight(insts: &[Inst]) -> Option<()> {
    let pairs = |inst: &Inst| {
        matches!(
            inst,
            Inst::Lock { .. }
                | Inst::Unlock { .. }
                | Inst::Wait(_)
                | Inst::Wake { .. }
                | Inst::Spawn(_)
                | Inst::Join(_)
        ) || matches!(inst, Inst::Begin | Inst::End)
    };
    (!insts.iter().any(pairs)).then_some(())
}

struct Writer<'a> {
    text: String,
    thread: &'a Thread,
    values: usize,
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Writes `value = ...` and gives the value's name.
    fn value(&mut self, what: &str) -> String {
        self.values += 1;
        let name = format!("x{}", self.values);
        self.line(&format!("{name} = {what}"));
        name
    }

    fn expr(&mut self, expr: Expr) -> String {
        let Some(reg) = expr.reg else { return format!("{}", expr.add as i64) };
        let value = self.value(&format!("load i64 {reg}"));
        self.value(&format!("add i64 {value}, {}", expr.add as i64))
    }

    /// A value of the size of a place.
    fn sized(&mut self, expr: Expr, size: u8) -> String {
        if expr.reg.is_none() {
            let shift = 64 - 8 * u32::from(size);
            return format!("{}", (expr.add << shift) as i64 >> shift);
        }
        let value = self.expr(expr);
        if size == 8 { value } else { self.value(&format!("trunc i64 {value} to i{}", 8 * u32::from(size))) }
    }

    /// Puts a value of the size of a place into a register.
    fn keep(&mut self, reg: impl std::fmt::Display, value: &str, bits: u32) {
        let wide = if bits == 64 { value.to_owned() } else { self.value(&format!("zext i{bits} {value} to i64")) };
        self.line(&format!("store i64 {wide}, {reg}"));
    }

    fn test(&mut self, test: Test) -> String {
        let value = self.value(&format!("load i64 {}", test.reg));
        self.value(&format!("cmp {} i64 {value}, {}", test.op, test.value as i64))
    }

    /// Writes an instruction; gives the place of the next one.
    fn inst(&mut self, at: usize) -> Option<usize> {
        let inst = &self.thread[at];
        match inst {
            Inst::Load { .. } | Inst::Store { .. } | Inst::Rmw { .. } | Inst::Cas { .. } => self.access(inst)?,
            Inst::Lock { place } => self.line(&format!("call @pthread_mutex_lock(ptr @{})", place.var)),
            Inst::Unlock { place } => self.line(&format!("call @pthread_mutex_unlock(ptr @{})", place.var)),
            Inst::Wait(var) => {
                self.wait(*var, &self.thread[at + 1..])?;
                return Some(at + 4);
            }
            Inst::Set { dst, value } => {
                let value = self.expr(*value);
                self.line(&format!("store i64 {value}, {dst}"));
            }
            Inst::Assume(test) => {
                let holds = self.test(*test);
                self.line(&format!("assume {holds}"));
            }
            Inst::Assert(test) => {
                let holds = self.test(*test);
                let holds = self.value(&format!("zext i1 {holds} to i32"));
                self.line(&format!("call @__VERIFIER_assert(i32 {holds})"));
            }
            Inst::Skip { .. } | Inst::Repeat { .. } => self.jump(at),
            Inst::Spawn(child) => {
                self.line(&format!("call @pthread_create(ptr h{}, ptr null, ptr @{child}, ptr null)", child.index()));
            }
            Inst::Join(child) => {
                let handle = self.value(&format!("load i64 h{}", child.index()));
                self.line(&format!("call @pthread_join(i64 {handle}, ptr null)"));
            }
            Inst::Signal(var) => self.line(&format!("call @pthread_cond_signal(ptr @{var})")),
            Inst::Broadcast(var) => self.line(&format!("call @pthread_cond_broadcast(ptr @{var})")),
            Inst::Choose { dst, .. } => {
                let chosen = self.value("call @__VERIFIER_nondet_bool()");
                self.keep(dst, &chosen, 1);
            }
            Inst::Fence(order) => self.line(&format!("fence {order}")),
            Inst::Begin => self.line("call @__VERIFIER_atomic_begin()"),
            Inst::End => self.line("call @__VERIFIER_atomic_end()"),
            Inst::Exit => self.line("call @exit(i32 0)"),
            Inst::Leave => self.line("call @pthread_exit(ptr null)"),
            Inst::Wake { .. } | Inst::Free(_) | Inst::Retry { .. } => return None,
        }
        Some(at + 1)
    }

    fn access(&mut self, inst: &Inst) -> Option<()> {
        let place = inst.place()?;
        if !matches!(place.size, 1 | 2 | 4 | 8) {
            return None;
        }
        let (bits, offset) = (8 * u32::from(place.size), place.offset);
        let addr = if offset == 0 { format!("@{}", place.var) } else { format!("@{}+{offset}", place.var) };
        match inst {
            Inst::Load { dst, order, speculative, until: None, .. } => {
                let mark = speculative.map_or(String::new(), |speculation| format!(" {speculation}"));
                let value = self.value(&format!("load i{bits} {addr}, {order}{mark}"));
                self.keep(dst, &value, bits);
            }
            Inst::Store { value, order, until: None, .. } => {
                let value = self.sized(*value, place.size);
                self.line(&format!("store i{bits} {value}, {addr}, {order}"));
            }
            Inst::Rmw { dst, op, value, order, until: None, .. } => {
                let value = self.sized(*value, place.size);
                let old = self.value(&format!("rmw {op} i{bits} {addr}, {value}, {order}"));
                dst.iter().for_each(|dst| self.keep(dst, &old, bits));
            }
            Inst::Cas { dst, expected, new, success, failure, confirms, until: None, .. } => {
                let (expected, new) = (self.sized(*expected, place.size), self.sized(*new, place.size));
                self.values += 2;
                let (old, ok) = (format!("x{}", self.values), format!("x{}", self.values - 1));
                let mark = if *confirms { " confirm" } else { "" };
                self.line(&format!("{old}, {ok} = cas i{bits} {addr}, {expected}, {new}, {success}, {failure}{mark}"));
                dst.iter().for_each(|dst| self.keep(dst, &old, bits));
            }
            _ => return None,
        }
        Some(())
    }

    /// A wait with its mutex: four litmus instructions.
    fn wait(&mut self, cond: VarId, rest: &[Inst]) -> Option<()> {
        let [Inst::Unlock { place }, Inst::Wake { early, dst, .. }, ..] = rest else { return None };
        let status = match early {
            false => self.value(&format!("call @pthread_cond_wait(ptr @{cond}, ptr @{})", place.var)),
            true => self.value(&format!("call @pthread_cond_timedwait(ptr @{cond}, ptr @{}, ptr deadline)", place.var)),
        };
        if let Some(dst) = dst {
            let signalled = self.value(&format!("cmp eq i32 {status}, 0"));
            self.keep(dst, &signalled, 1);
        }
        Some(())
    }

    fn jump(&mut self, at: usize) {
        match &self.thread[at] {
            Inst::Skip { count, when: None } => self.line(&format!("br i{}$", at + 1 + usize::from(*count))),
            Inst::Skip { count, when: Some(test) } => {
                let holds = self.test(*test);
                self.line(&format!("condbr {holds}, i{}, i{}$", at + 1 + usize::from(*count), at + 1));
            }
            Inst::Repeat { count, max, when, bound } => {
                let again = self.test(*when);
                self.line(&format!("condbr {again}, i{at}again, i{at}left\ni{at}again:"));
                let rounds = self.value(&format!("load i64 c{at}"));
                let more = self.value(&format!("cmp ult i64 {rounds}, {max}"));
                self.line(&format!("condbr {more}, i{at}back, i{at}enough\ni{at}back:"));
                let next = self.value(&format!("add i64 {rounds}, 1"));
                self.line(&format!("store i64 {next}, c{at}\nbr i{}\ni{at}enough:", at - usize::from(*count)));
                // A bound that is reached blocks the thread, as an assumption does.
                let stop = if *bound { "assume 0\n" } else { "" };
                self.line(&format!("{stop}br i{at}left\ni{at}left:\nstore i64 0, c{at}"));
            }
            other => unreachable!("{other:?} is not a jump"),
        }
    }
}

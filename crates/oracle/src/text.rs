//! The text form of litmus programs: printer and parser.
//!
//! A failing program is printed, shrunk and stored as a file, so what is printed can be parsed and is the same program.
//!
//! ```text
//! # store buffering
//! var v0 4 = 0
//! var v1 4 uninit
//! thread t0
//!   spawn t1
//!   store.sc v0:4 1
//!   r0 = load.acq v1:4 until ne 0
//!   r1 = rmw.rlx add v0:4 r0+1
//!   r2 = cas.acqrel.rlx v0+2:2 0 -> 1
//!   retry if r0 ne r1
//!   assert r0 ne 3
//!   skip 1 if r0 eq 1
//!   r3 = load.acq v1:4 spec
//!   cas.rel.rlx v1:4 r3 -> 5 confirm until eq r3
//!   spin 2 max 3 if r2 eq 0
//!   join t1
//! thread t1
//!   lock v1:4
//!   unlock v1:4
//! ```
//!
//! A place is `variable+offset:size`; a value is a constant, a register, or `register+constant`; conditions are
//! `operator value` with the spellings of the program representation (`eq`, `ult`, ...). Constants are decimal. A load
//! that is `spec` (`spec_zero`: if it reads zero; `spec_nonzero`: if it does not; `spec_next`: if the next
//! Op confirms it) is confirmed by a later `confirm`.

use crate::litmus::{Expr, Inst, Place, Program, Reg, Test, Until, Var, VarId};
use selvedge_ir::{CmpOp, EntityRef, Order, RmwOp, Speculation};
use selvedge_machine::ThreadId;
use std::fmt;
use std::str::FromStr;

/// Where and why a text is not a litmus program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The line, from 1; 0 if the program as a whole is wrong.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}: {}", self.message),
        }
    }
}

impl std::error::Error for ParseError {}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, var) in self.vars.iter().enumerate() {
            match var.init {
                Some(init) => writeln!(f, "var {} {} = {init}", VarId::new(n), var.size)?,
                None => writeln!(f, "var {} {} uninit", VarId::new(n), var.size)?,
            }
        }
        for (n, thread) in self.threads.iter().enumerate() {
            writeln!(f, "thread {}", ThreadId::new(n))?;
            for inst in thread {
                writeln!(f, "  {inst}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            0 => write!(f, "{}:{}", self.var, self.size),
            offset => write!(f, "{}+{offset}:{}", self.var, self.size),
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.reg, self.add) {
            (None, add) => write!(f, "{add}"),
            (Some(reg), 0) => write!(f, "{reg}"),
            (Some(reg), add) => write!(f, "{reg}+{add}"),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.reg, self.op, self.value)
    }
}

impl fmt::Display for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Inst::Rmw { dst: Some(dst), .. } | Inst::Cas { dst: Some(dst), .. } | Inst::Wake { dst: Some(dst), .. } =
            self
        {
            write!(f, "{dst} = ")?;
        }
        match self {
            Inst::Load { dst, place, order, speculative, .. } => {
                write!(f, "{dst} = load.{order} {place}")?;
                speculative.map_or(Ok(()), |speculation| write!(f, " {speculation}"))?;
            }
            Inst::Store { place, value, order, .. } => write!(f, "store.{order} {place} {value}")?,
            Inst::Rmw { op, place, value, order, .. } => write!(f, "rmw.{order} {op} {place} {value}")?,
            Inst::Cas { place, expected, new, success, failure, confirms, .. } => {
                let confirm = if *confirms { " confirm" } else { "" };
                write!(f, "cas.{success}.{failure} {place} {expected} -> {new}{confirm}")?;
            }
            Inst::Lock { place } => write!(f, "lock {place}")?,
            Inst::Unlock { place } => write!(f, "unlock {place}")?,
            Inst::Set { dst, value } => write!(f, "{dst} = set {value}")?,
            Inst::Assume(test) => write!(f, "assume {test}")?,
            Inst::Retry { reg, when } => write!(f, "retry if {reg} {} {}", when.op, when.operand)?,
            Inst::Assert(test) => write!(f, "assert {test}")?,
            Inst::Skip { count, when: None } => write!(f, "skip {count}")?,
            Inst::Skip { count, when: Some(test) } => write!(f, "skip {count} if {test}")?,
            Inst::Repeat { count, max, when, bound } => {
                let word = if *bound { "spin" } else { "repeat" };
                write!(f, "{word} {count} max {max} if {when}")?;
            }
            Inst::Spawn(thread) => write!(f, "spawn {thread}")?,
            Inst::Join(thread) => write!(f, "join {thread}")?,
            Inst::Wait(var) => write!(f, "wait {var}")?,
            Inst::Wake { var, early, .. } => write!(f, "wake {var}{}", if *early { " early" } else { "" })?,
            Inst::Signal(var) => write!(f, "signal {var}")?,
            Inst::Broadcast(var) => write!(f, "broadcast {var}")?,
            Inst::Choose { dst, alternatives } => write!(f, "{dst} = choose {alternatives}")?,
            Inst::Fence(order) => write!(f, "fence.{order}")?,
            Inst::Free(var) => write!(f, "free {var}")?,
            Inst::Begin => f.write_str("begin")?,
            Inst::End => f.write_str("end")?,
            Inst::Exit => f.write_str("exit")?,
            Inst::Leave => f.write_str("leave")?,
        }
        match self {
            Inst::Load { until: Some(u), .. }
            | Inst::Store { until: Some(u), .. }
            | Inst::Rmw { until: Some(u), .. }
            | Inst::Cas { until: Some(u), .. } => write!(f, " until {} {}", u.op, u.operand),
            _ => Ok(()),
        }
    }
}

impl FromStr for Program {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Program, ParseError> {
        let mut program = Program::default();
        for (n, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = Words { words: line.split_whitespace() };
            parse_line(&mut program, &mut words)
                .and_then(|()| words.end())
                .map_err(|message| ParseError { line: n + 1, message })?;
        }
        program.validate().map_err(|message| ParseError { line: 0, message })?;
        Ok(program)
    }
}

struct Words<'a> {
    words: std::str::SplitWhitespace<'a>,
}

type Parsed<T> = Result<T, String>;

impl<'a> Words<'a> {
    fn next(&mut self) -> Parsed<&'a str> {
        self.words.next().ok_or_else(|| "the line ends too early".to_owned())
    }

    fn end(&mut self) -> Parsed<()> {
        self.words.next().map_or(Ok(()), |word| Err(format!("`{word}` is not expected here")))
    }

    fn expect(&mut self, what: &str) -> Parsed<()> {
        let word = self.next()?;
        if word == what { Ok(()) } else { Err(format!("`{what}` is expected, not `{word}`")) }
    }

    fn number<T: FromStr>(&mut self) -> Parsed<T> {
        number(self.next()?)
    }

    fn entity<E: EntityRef>(&mut self, prefix: char) -> Parsed<E> {
        entity(self.next()?, prefix)
    }

    fn place(&mut self) -> Parsed<Place> {
        let word = self.next()?;
        let (var, size) = word.split_once(':').ok_or_else(|| format!("`{word}` is not `variable+offset:size`"))?;
        let (var, offset) = var.split_once('+').unwrap_or((var, "0"));
        Ok(Place { var: entity(var, 'v')?, offset: number(offset)?, size: number(size)? })
    }

    fn expr(&mut self) -> Parsed<Expr> {
        let word = self.next()?;
        if !word.starts_with('r') {
            return Ok(Expr::constant(number(word)?));
        }
        let (reg, add) = word.split_once('+').unwrap_or((word, "0"));
        Ok(Expr { reg: Some(entity(reg, 'r')?), add: number(add)? })
    }

    fn cmp(&mut self) -> Parsed<CmpOp> {
        let word = self.next()?;
        CmpOp::from_name(word).ok_or_else(|| format!("`{word}` is not a comparison"))
    }

    fn test(&mut self) -> Parsed<Test> {
        Ok(Test { reg: self.entity('r')?, op: self.cmp()?, value: self.number()? })
    }

    /// Takes the next word if it is one that the function knows.
    fn accept<T>(&mut self, known: impl Fn(&str) -> Option<T>) -> Option<T> {
        let found = known(self.words.clone().next()?)?;
        self.words.next();
        Some(found)
    }

    fn until(&mut self) -> Parsed<Option<Until>> {
        match self.words.next() {
            None => Ok(None),
            Some("until") => Ok(Some(Until { op: self.cmp()?, operand: self.expr()? })),
            Some(word) => Err(format!("`{word}` is not expected here")),
        }
    }
}

fn number<T: FromStr>(word: &str) -> Parsed<T> {
    word.parse().map_err(|_| format!("`{word}` is not a number that fits here"))
}

fn entity<E: EntityRef>(word: &str, prefix: char) -> Parsed<E> {
    let index = word.strip_prefix(prefix).and_then(|digits| digits.parse::<u16>().ok());
    index.map(|index| E::new(usize::from(index))).ok_or_else(|| format!("`{word}` is not `{prefix}` and a number"))
}

fn order(word: Option<&str>) -> Parsed<Order> {
    let word = word.ok_or("a memory order is missing")?;
    Order::from_name(word).ok_or_else(|| format!("`{word}` is not a memory order"))
}

fn parse_line(program: &mut Program, words: &mut Words<'_>) -> Parsed<()> {
    let Some(first) = words.words.next() else { return Ok(()) };
    match first {
        "var" => {
            let var: VarId = words.entity('v')?;
            if var.index() != program.vars.len() {
                return Err(format!("the next variable is {}", VarId::new(program.vars.len())));
            }
            let size = words.number()?;
            let init = match words.next()? {
                "=" => Some(words.number()?),
                "uninit" => None,
                word => return Err(format!("`=` or `uninit` is expected, not `{word}`")),
            };
            program.vars.push(Var { size, init });
        }
        "thread" => {
            let thread: ThreadId = words.entity('t')?;
            if thread.index() != program.threads.len() {
                return Err(format!("the next thread is {}", ThreadId::new(program.threads.len())));
            }
            program.threads.push(Vec::new());
        }
        _ => {
            let inst = parse_inst(first, words)?;
            program.threads.last_mut().ok_or("an instruction stands in no thread")?.push(inst);
        }
    }
    Ok(())
}

fn parse_inst(first: &str, words: &mut Words<'_>) -> Parsed<Inst> {
    if !first.starts_with('r') || !first[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return parse_action(first, None, words);
    }
    let dst = entity(first, 'r')?;
    words.expect("=")?;
    let action = words.next()?;
    parse_action(action, Some(dst), words)
}

fn parse_action(word: &str, dst: Option<Reg>, words: &mut Words<'_>) -> Parsed<Inst> {
    let mut parts = word.split('.');
    let name = parts.next().unwrap_or_default();
    let needed = || dst.ok_or_else(|| format!("`{name}` needs a register for its result"));
    let takes_result = matches!(name, "load" | "rmw" | "cas" | "set" | "wake" | "choose");
    if dst.is_some() && !takes_result {
        return Err(format!("`{name}` has no result"));
    }
    let inst = match name {
        "load" => {
            let (dst, order) = (needed()?, order(parts.next())?);
            let (place, speculative) = (words.place()?, words.accept(Speculation::from_name));
            Inst::Load { dst, order, place, speculative, until: words.until()? }
        }
        "store" => {
            let order = order(parts.next())?;
            Inst::Store { order, place: words.place()?, value: words.expr()?, until: words.until()? }
        }
        "rmw" => {
            let order = order(parts.next())?;
            let word = words.next()?;
            let op = RmwOp::from_name(word).ok_or_else(|| format!("`{word}` is not a read-modify-write operation"))?;
            Inst::Rmw { dst, op, order, place: words.place()?, value: words.expr()?, until: words.until()? }
        }
        "cas" => {
            let (success, failure) = (order(parts.next())?, order(parts.next())?);
            let (place, expected) = (words.place()?, words.expr()?);
            words.expect("->")?;
            let new = words.expr()?;
            let confirms = words.accept(|word| (word == "confirm").then_some(())).is_some();
            Inst::Cas { dst, place, expected, new, success, failure, confirms, until: words.until()? }
        }
        "lock" => Inst::Lock { place: words.place()? },
        "unlock" => Inst::Unlock { place: words.place()? },
        "set" => Inst::Set { dst: needed()?, value: words.expr()? },
        "assume" => Inst::Assume(words.test()?),
        "retry" => {
            words.expect("if")?;
            let reg = words.entity('r')?;
            Inst::Retry { reg, when: Until { op: words.cmp()?, operand: words.expr()? } }
        }
        "assert" => Inst::Assert(words.test()?),
        "skip" => Inst::Skip { count: words.number()?, when: optional_test(words)? },
        "repeat" | "spin" => {
            let count = words.number()?;
            words.expect("max")?;
            let max = words.number()?;
            let when = optional_test(words)?.ok_or("a loop needs a condition")?;
            Inst::Repeat { count, max, when, bound: name == "spin" }
        }
        "spawn" => Inst::Spawn(words.entity('t')?),
        "join" => Inst::Join(words.entity('t')?),
        "wait" => Inst::Wait(words.entity('v')?),
        "wake" => {
            let var = words.entity('v')?;
            let early = match words.words.next() {
                None => false,
                Some("early") => true,
                Some(word) => return Err(format!("`{word}` is not expected here")),
            };
            Inst::Wake { var, early, dst }
        }
        "signal" => Inst::Signal(words.entity('v')?),
        "broadcast" => Inst::Broadcast(words.entity('v')?),
        "choose" => Inst::Choose { dst: needed()?, alternatives: words.number()? },
        "fence" => Inst::Fence(order(parts.next())?),
        "free" => Inst::Free(words.entity('v')?),
        "begin" => Inst::Begin,
        "end" => Inst::End,
        "exit" => Inst::Exit,
        "leave" => Inst::Leave,
        _ => return Err(format!("`{name}` is not an instruction")),
    };
    match parts.next() {
        None => Ok(inst),
        Some(part) => Err(format!("`.{part}` is not expected here")),
    }
}

fn optional_test(words: &mut Words<'_>) -> Parsed<Option<Test>> {
    match words.words.next() {
        None => Ok(None),
        Some("if") => words.test().map(Some),
        Some(word) => Err(format!("`if` is expected, not `{word}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: &str = "\
var v0 8 = 7
var v1 4 uninit
thread t0
  spawn t1
  r0 = load.acq v0:4
  r1 = load.plain v0+4:2 until ne r0+1
  store.rel v0:8 r1 until ult 3
  r2 = rmw.sc add v0:4 1
  rmw.rlx xchg v0:4 r2 until sge 9
  r3 = cas.acqrel.rlx v0+1:1 0 -> r1+2
  cas.sc.sc v0:4 r3 -> 1 until eq 0
  r3 = load.rlx v0:8 spec
  cas.rel.rlx v0:8 r3 -> r3+1 confirm until eq r3
  r3 = load.acq v0:8 spec_zero
  r3 = load.sc v0:8 spec_nonzero
  cas.rel.rlx v0:8 r3 -> 2 confirm
  r4 = set r3+18446744073709551615
  skip 1
  skip 2 if r4 ule 3
  r5 = choose 3
  repeat 2 max 4 if r5 eq 1
  spin 1 max 1 if r5 ne 1
  assume r0 eq 1
  retry if r0 ne r1+2
  assert r0 ne 3
  join t1
  leave
thread t1
  lock v1:4
  wait v1
  unlock v1:4
  r0 = wake v1 early
  wake v1
  signal v1
  broadcast v1
  fence.sc
  begin
  end
  free v0
  exit
";

    #[test]
    fn what_is_printed_is_parsed_as_the_same_program() {
        let program: Program = EVERYTHING.parse().unwrap();
        assert_eq!(program.to_string(), EVERYTHING);
    }

    #[test]
    fn errors_name_the_line_and_the_word() {
        let wrong = |text: &str| text.parse::<Program>().unwrap_err().to_string();
        assert_eq!(wrong("var v1 4 = 0"), "line 1: the next variable is v0");
        assert_eq!(wrong("thread t0\n  load.acq v0:4"), "line 2: `load` needs a register for its result");
        assert_eq!(wrong("thread t0\n  r0 = load.foo v0:4"), "line 2: `foo` is not a memory order");
        assert_eq!(wrong("thread t0\n  begin now"), "line 2: `now` is not expected here");
        assert_eq!(wrong("thread t0\n  r0 = load.acq v0:4"), "t0, instruction 1: there is no variable v0");
        assert_eq!(wrong("var v0 4 = 0\nthread t0\n  r0 = load.acq v0+2:4"), "t0, instruction 1: v0 has no such bytes");
        let both = "var v0 4 = 0\nthread t0\n  r0 = load.acq v0:4 spec until ne 0";
        assert_eq!(wrong(both), "t0, instruction 1: a load that waits cannot be speculative");
        assert_eq!(wrong("thread t0\n  r0 = load.acq v0:4 confirm"), "line 2: `confirm` is not expected here");
        assert_eq!(wrong("thread t0\n  spawn t0"), "t0, instruction 1: t0 is created a second time");
        assert_eq!(wrong("thread t0\n  skip 1"), "t0, instruction 1: jumps beyond the end of the thread");
        assert_eq!(wrong("thread t0\nthread t1\n  spawn t2\nthread t2\n  spawn t1"), "t1 would have to create itself");
    }
}

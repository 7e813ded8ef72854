//! The text form of programs that pass messages: printer and parser.
//!
//! A program on which an engine was wrong is printed, shrunk and stored as a file, so what is printed can be parsed and
//! is the same program.
//!
//! ```text
//! # n senders, one receiver that takes any message
//! body b0
//!   r0 = set me
//!   r1 = spawn b1
//!   r2 = spawn b1 link monitor r3
//!   r4 r5 = receive any
//!   r4 r5 = receive tag 1 | tag 2 r0 | exit | exit r1 | down | down r3 | timeout
//!   skip 1 if r4 eq 300
//!   send r5 7 r4
//! body b1 server
//!   send r0 1 me
//! ```
//!
//! Registers before `=` get the result; those of a receive get tag and value, and `_` stands for one that is not used.

use super::program::{Body, Cell, Clause, Code, Dest, Inst, Operand, Program, Reg, Test, Why};
use crate::text::ParseError;
use selvedge_ir::EntityRef;
use selvedge_messages::{AliasEnd, Name, Query};
use std::fmt;
use std::str::FromStr;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, code) in self.bodies.iter().enumerate() {
            writeln!(f, "body {}{}", Body::new(n), if code.server { " server" } else { "" })?;
            for inst in &code.insts {
                writeln!(f, "  {inst}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Int(n) => write!(f, "{n}"),
            Operand::Reg(reg) => write!(f, "{reg}"),
            Operand::Me => f.write_str("me"),
        }
    }
}

impl fmt::Display for Dest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dest::Value(value) => write!(f, "{value}"),
            Dest::Name(name) => write!(f, "{name}"),
        }
    }
}

impl fmt::Display for Clause<Operand> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Clause::Any => f.write_str("any"),
            Clause::Tag(tag) => write!(f, "tag {tag}"),
            Clause::Exactly(tag, value) => write!(f, "tag {tag} {value}"),
            Clause::Exit => f.write_str("exit"),
            Clause::ExitOf(of) => write!(f, "exit {of}"),
            Clause::Down => f.write_str("down"),
            Clause::DownOf(of) => write!(f, "down {of}"),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Normal => f.write_str("normal"),
            Why::Kill => f.write_str("kill"),
            Why::Other(n) => write!(f, "{n}"),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.reg, if self.equal { "eq" } else { "ne" }, self.value)
    }
}

const ALIAS_ENDS: [(AliasEnd, &str); 3] =
    [(AliasEnd::Unalias, "unalias"), (AliasEnd::Demonitor, "demonitor"), (AliasEnd::Reply, "reply")];

const QUERIES: [(Query, &str); 5] = [
    (Query::Alive, "alive"),
    (Query::QueueLength, "queue"),
    (Query::RegisteredName, "name"),
    (Query::TrapExit, "trap"),
    (Query::Links, "links"),
];

fn word_of<T: PartialEq>(table: &[(T, &'static str)], what: &T) -> &'static str {
    table.iter().find(|(known, _)| known == what).map_or("unknown", |(_, word)| word)
}

impl fmt::Display for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Inst::Spawn { dst, .. }
            | Inst::Monitor { dst, .. }
            | Inst::Whereis { dst, .. }
            | Inst::Alias { dst, .. }
            | Inst::Timer { dst, .. }
            | Inst::ReadTimer { dst, .. }
            | Inst::Choose { dst, .. }
            | Inst::Inspect { dst, .. }
            | Inst::Get { dst, .. }
            | Inst::Scan { dst }
            | Inst::Set { dst, .. }
            | Inst::Demonitor { dst: Some(dst), .. }
            | Inst::Trap { dst: Some(dst), .. }
            | Inst::Register { dst: Some(dst), .. }
            | Inst::Unregister { dst: Some(dst), .. }
            | Inst::Unalias { dst: Some(dst), .. }
            | Inst::Cancel { dst: Some(dst), .. }
            | Inst::Bump { dst: Some(dst), .. } => write!(f, "{dst} = ")?,
            Inst::Receive { tag, value, .. } if tag.is_some() || value.is_some() => {
                let shown = |reg: &Option<Reg>| reg.map_or("_".to_owned(), |reg| reg.to_string());
                write!(f, "{} {} = ", shown(tag), shown(value))?;
            }
            _ => {}
        }
        let on = |on: bool, word: &'static str| if on { word } else { "" };
        match self {
            Inst::Spawn { body, link, monitor, .. } => {
                write!(f, "spawn {body}{}", on(*link, " link"))?;
                monitor.map_or(Ok(()), |reg| write!(f, " monitor {reg}"))
            }
            Inst::Send { to, tag, value } => write!(f, "send {to} {tag} {value}"),
            Inst::Receive { clauses, timeout, .. } => {
                let mut words: Vec<String> = clauses.iter().map(Clause::to_string).collect();
                words.extend(timeout.then(|| "timeout".to_owned()));
                write!(f, "receive {}", words.join(" | "))
            }
            Inst::Exit(why) => write!(f, "exit {why}"),
            Inst::Link(to) => write!(f, "link {to}"),
            Inst::Unlink(to) => write!(f, "unlink {to}"),
            Inst::Monitor { target, alias, .. } => {
                write!(f, "monitor {target}")?;
                alias.map_or(Ok(()), |end| write!(f, " alias {}", word_of(&ALIAS_ENDS, &end)))
            }
            Inst::Demonitor { reference, flush, .. } => write!(f, "demonitor {reference}{}", on(*flush, " flush")),
            Inst::Trap { on, .. } => write!(f, "trap {}", if *on { "on" } else { "off" }),
            Inst::Signal { to, why } => write!(f, "signal {to} {why}"),
            Inst::Register { name, pid, .. } => write!(f, "register {name} {pid}"),
            Inst::Unregister { name, .. } => write!(f, "unregister {name}"),
            Inst::Whereis { name, .. } => write!(f, "whereis {name}"),
            Inst::Alias { reply, .. } => write!(f, "alias{}", on(*reply, " reply")),
            Inst::Unalias { reference, .. } => write!(f, "unalias {reference}"),
            Inst::Timer { to, tag, value, .. } => write!(f, "timer {to} {tag} {value}"),
            Inst::Cancel { timer, .. } => write!(f, "cancel {timer}"),
            Inst::ReadTimer { timer, .. } => write!(f, "read_timer {timer}"),
            Inst::Choose { alternatives, .. } => write!(f, "choose {alternatives}"),
            Inst::Inspect { target, query, .. } => write!(f, "inspect {target} {}", word_of(&QUERIES, query)),
            Inst::Put { cell, value } => write!(f, "put {cell} {value}"),
            Inst::Get { cell, .. } => write!(f, "get {cell}"),
            Inst::Bump { cell, .. } => write!(f, "bump {cell}"),
            Inst::Fill { value } => write!(f, "fill {value}"),
            Inst::Scan { .. } => f.write_str("scan"),
            Inst::Own { cell } => write!(f, "own {cell}"),
            Inst::Set { value, .. } => write!(f, "set {value}"),
            Inst::Skip { count, when: None } => write!(f, "skip {count}"),
            Inst::Skip { count, when: Some(test) } => write!(f, "skip {count} if {test}"),
            Inst::Back { count, max } => write!(f, "back {count} max {max}"),
            Inst::Assert(test) => write!(f, "assert {test}"),
            Inst::Check(test) => write!(f, "check {test}"),
        }
    }
}

impl FromStr for Program {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Program, ParseError> {
        let mut program = Program::default();
        for (n, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = Words(line.split_whitespace().peekable());
            parse_line(&mut program, &mut words)
                .and_then(|()| words.end())
                .map_err(|message| ParseError { line: n + 1, message })?;
        }
        program.validate().map_err(|message| ParseError { line: 0, message })?;
        Ok(program)
    }
}

type Parsed<T> = Result<T, String>;

struct Words<'a>(std::iter::Peekable<std::str::SplitWhitespace<'a>>);

impl<'a> Words<'a> {
    fn next(&mut self) -> Parsed<&'a str> {
        self.0.next().ok_or_else(|| "the line ends too early".to_owned())
    }

    fn end(&mut self) -> Parsed<()> {
        self.0.next().map_or(Ok(()), |word| Err(format!("`{word}` is not expected here")))
    }

    /// Takes the next word if it is this one.
    fn accept(&mut self, what: &str) -> bool {
        self.0.next_if(|word| *word == what).is_some()
    }

    fn expect(&mut self, what: &str) -> Parsed<()> {
        let word = self.next()?;
        if word == what { Ok(()) } else { Err(format!("`{what}` is expected, not `{word}`")) }
    }

    fn number<T: FromStr>(&mut self) -> Parsed<T> {
        let word = self.next()?;
        word.parse().map_err(|_| format!("`{word}` is not a number that fits here"))
    }

    fn entity<E: EntityRef>(&mut self, prefix: &str) -> Parsed<E> {
        entity(self.next()?, prefix)
    }

    fn operand(&mut self) -> Parsed<Operand> {
        match self.0.peek() {
            Some(&"me") => self.next().map(|_| Operand::Me),
            Some(word) if word.starts_with('r') => Ok(Operand::Reg(self.entity("r")?)),
            _ => Ok(Operand::Int(self.number()?)),
        }
    }

    fn dest(&mut self) -> Parsed<Dest> {
        match self.0.peek() {
            Some(word) if word.starts_with("name") => Ok(Dest::Name(self.entity("name")?)),
            _ => Ok(Dest::Value(self.operand()?)),
        }
    }

    fn why(&mut self) -> Parsed<Why> {
        if self.accept("normal") {
            return Ok(Why::Normal);
        }
        if self.accept("kill") { Ok(Why::Kill) } else { Ok(Why::Other(self.number()?)) }
    }

    fn test(&mut self) -> Parsed<Test> {
        let reg = self.entity("r")?;
        let equal = match self.next()? {
            "eq" => true,
            "ne" => false,
            word => return Err(format!("`eq` or `ne` is expected, not `{word}`")),
        };
        Ok(Test { reg, equal, value: self.operand()? })
    }

    fn one_of<T: Copy>(&mut self, table: &[(T, &str)]) -> Parsed<T> {
        let word = self.next()?;
        let found = table.iter().find(|(_, known)| *known == word);
        found.map(|(what, _)| *what).ok_or_else(|| format!("`{word}` is not known here"))
    }

    fn at_separator(&mut self) -> bool {
        self.0.peek().is_none_or(|word| *word == "|")
    }

    fn clauses(&mut self) -> Parsed<(Vec<Clause<Operand>>, bool)> {
        let (mut clauses, mut timeout) = (Vec::new(), false);
        loop {
            match self.next()? {
                "any" => clauses.push(Clause::Any),
                "timeout" => timeout = true,
                "tag" => {
                    let tag = self.number()?;
                    let plain = self.at_separator();
                    clauses.push(if plain { Clause::Tag(tag) } else { Clause::Exactly(tag, self.operand()?) });
                }
                "exit" if self.at_separator() => clauses.push(Clause::Exit),
                "exit" => clauses.push(Clause::ExitOf(self.operand()?)),
                "down" if self.at_separator() => clauses.push(Clause::Down),
                "down" => clauses.push(Clause::DownOf(self.operand()?)),
                word => return Err(format!("`{word}` is not known here")),
            }
            if !self.accept("|") {
                return Ok((clauses, timeout));
            }
        }
    }
}

fn entity<E: EntityRef>(word: &str, prefix: &str) -> Parsed<E> {
    let index = word.strip_prefix(prefix).and_then(|digits| digits.parse::<u16>().ok());
    index.map(|index| E::new(usize::from(index))).ok_or_else(|| format!("`{word}` is not `{prefix}` and a number"))
}

fn parse_line(program: &mut Program, words: &mut Words<'_>) -> Parsed<()> {
    let Some(first) = words.0.next() else { return Ok(()) };
    if first == "body" {
        let body: Body = words.entity("b")?;
        if body.index() != program.bodies.len() {
            return Err(format!("the next body is {}", Body::new(program.bodies.len())));
        }
        program.bodies.push(Code { server: words.accept("server"), insts: Vec::new() });
        return Ok(());
    }
    let mut results: Vec<Option<Reg>> = Vec::new();
    let mut word = first;
    let is_result = |word: &str| word == "_" || (word.starts_with('r') && entity::<Reg>(word, "r").is_ok());
    while is_result(word) {
        results.push(if word == "_" { None } else { Some(entity(word, "r")?) });
        word = words.next()?;
    }
    if !results.is_empty() {
        if word != "=" {
            return Err(format!("`=` is expected, not `{word}`"));
        }
        word = words.next()?;
    }
    let inst = parse_inst(word, &results, words)?;
    program.bodies.last_mut().ok_or("an instruction stands in no body")?.insts.push(inst);
    Ok(())
}

fn parse_inst(word: &str, results: &[Option<Reg>], words: &mut Words<'_>) -> Parsed<Inst> {
    if word == "receive" {
        let (tag, value) = match *results {
            [] => (None, None),
            [tag, value] => (tag, value),
            _ => return Err("a receive has two results or none".to_owned()),
        };
        let (clauses, timeout) = words.clauses()?;
        return Ok(Inst::Receive { tag, value, clauses, timeout });
    }
    let dst = match *results {
        [] => None,
        [Some(dst)] => Some(dst),
        _ => return Err(format!("`{word}` has one result at most")),
    };
    let needed = || dst.ok_or_else(|| format!("`{word}` needs a register for its result"));
    let inst = match word {
        "spawn" => {
            let (dst, body) = (needed()?, words.entity("b")?);
            let link = words.accept("link");
            let monitor = if words.accept("monitor") { Some(words.entity("r")?) } else { None };
            Inst::Spawn { dst, body, link, monitor }
        }
        "monitor" => {
            let (dst, target) = (needed()?, words.dest()?);
            let alias = if words.accept("alias") { Some(words.one_of(&ALIAS_ENDS)?) } else { None };
            Inst::Monitor { dst, target, alias }
        }
        "whereis" => Inst::Whereis { dst: needed()?, name: words.entity("name")? },
        "alias" => Inst::Alias { dst: needed()?, reply: words.accept("reply") },
        "timer" => Inst::Timer { dst: needed()?, to: words.dest()?, tag: words.number()?, value: words.operand()? },
        "read_timer" => Inst::ReadTimer { dst: needed()?, timer: words.operand()? },
        "choose" => Inst::Choose { dst: needed()?, alternatives: words.number()? },
        "inspect" => Inst::Inspect { dst: needed()?, target: words.operand()?, query: words.one_of(&QUERIES)? },
        "get" => Inst::Get { dst: needed()?, cell: words.entity("c")? },
        "scan" => Inst::Scan { dst: needed()? },
        "set" => Inst::Set { dst: needed()?, value: words.operand()? },
        "demonitor" => Inst::Demonitor { dst, reference: words.operand()?, flush: words.accept("flush") },
        "trap" => Inst::Trap { dst, on: words.one_of(&[(true, "on"), (false, "off")])? },
        "register" => Inst::Register { dst, name: words.entity("name")?, pid: words.operand()? },
        "unregister" => Inst::Unregister { dst, name: words.entity("name")? },
        "unalias" => Inst::Unalias { dst, reference: words.operand()? },
        "cancel" => Inst::Cancel { dst, timer: words.operand()? },
        "bump" => Inst::Bump { dst, cell: words.entity("c")? },
        _ if dst.is_some() => return Err(format!("`{word}` has no result, or is no instruction")),
        _ => return parse_action(word, words),
    };
    Ok(inst)
}

fn parse_action(word: &str, words: &mut Words<'_>) -> Parsed<Inst> {
    Ok(match word {
        "send" => Inst::Send { to: words.dest()?, tag: words.number()?, value: words.operand()? },
        "exit" => Inst::Exit(words.why()?),
        "link" => Inst::Link(words.operand()?),
        "unlink" => Inst::Unlink(words.operand()?),
        "signal" => Inst::Signal { to: words.operand()?, why: words.why()? },
        "put" => Inst::Put { cell: words.entity::<Cell>("c")?, value: words.operand()? },
        "fill" => Inst::Fill { value: words.operand()? },
        "own" => Inst::Own { cell: words.entity("c")? },
        "skip" => {
            let count = words.number()?;
            let when = if words.accept("if") { Some(words.test()?) } else { None };
            Inst::Skip { count, when }
        }
        "back" => {
            let count = words.number()?;
            words.expect("max")?;
            Inst::Back { count, max: words.number()? }
        }
        "assert" => Inst::Assert(words.test()?),
        "check" => Inst::Check(words.test()?),
        _ => return Err(format!("`{word}` is not an instruction")),
    })
}

/// A name as programs spell it.
pub fn name(n: usize) -> Name {
    Name::new(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: &str = "\
body b0
  r0 = spawn b1
  r0 = spawn b1 link
  r0 = spawn b1 link monitor r1
  r0 = spawn b1 monitor r1
  send r0 1 me
  send name2 255 -3
  receive any
  receive timeout
  r1 _ = receive tag 1 | tag 2 r3 | exit | exit me | down | down r1 | timeout
  _ r2 = receive tag 1
  exit normal
  exit kill
  exit 3
  link r0
  unlink r0
  r1 = monitor r0
  r1 = monitor name0 alias reply
  r1 = monitor r0 alias unalias
  r1 = monitor r0 alias demonitor
  demonitor r1
  r2 = demonitor r1 flush
  trap on
  r2 = trap off
  signal r0 kill
  register name0 me
  r2 = register name0 r0
  unregister name0
  r2 = unregister name0
  r3 = whereis name0
  r3 = alias
  r3 = alias reply
  unalias r3
  r2 = unalias r3
  r4 = timer r3 5 6
  cancel r4
  r2 = cancel r4
  r2 = read_timer r4
  r2 = choose 3
  r2 = inspect r0 alive
  r2 = inspect me queue
  r2 = inspect r0 name
  r2 = inspect r0 trap
  r2 = inspect r0 links
  put c0 r2
  r2 = get c1
  bump c0
  r2 = bump c0
  own c3
  r5 = set 7
  skip 1
  skip 1 if r5 eq 7
  back 2 max 3
  assert r5 ne r4
  check r5 eq 0
body b1 server
  exit normal
";

    #[test]
    fn what_is_printed_can_be_parsed_and_is_the_same() {
        let program: Program = EVERYTHING.parse().unwrap();
        assert_eq!(program.to_string(), EVERYTHING);
    }

    #[test]
    fn nonsense_is_refused_with_its_line() {
        for (text, line) in [
            ("", 0),
            ("send r0 1 1", 1),
            ("body b1", 1),
            ("body b0\n  r0 = spawn b0", 0),
            ("body b0\n  send r9 1 1", 0),
            ("body b0\n  send r0 256 1", 2),
            ("body b0\n  skip 1", 0),
            ("body b0\n  back 1 max 1", 0),
            ("body b0\n  r0 = send r0 1 1", 2),
            ("body b0\n  r0 r1 = get c0", 2),
            ("body b0\n  r0 = receive any", 2),
            ("body b0\n  receive", 2),
            ("body b0\n  receive any | tag 1", 0),
            ("body b0\n  r0 = get c9", 0),
            ("body b0\n  signal 3 kill", 0),
            ("body b0\n  exit", 2),
            ("body b0\n  wait", 2),
            ("body b0\n  trap up", 2),
            ("body b0\n  exit normal normal", 2),
            ("body b0\n  r0 = choose 0", 0),
            ("body b0\n  register name7 me", 0),
        ] {
            let error = text.parse::<Program>().expect_err(text);
            assert_eq!(error.line, line, "{text}: {error}");
        }
    }
}

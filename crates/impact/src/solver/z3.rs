//! Z3 as a second opinion: the program `z3`, through a pipe.
//!
//! Why the program and not its library. It is asked rarely: by those who doubt the solver in this process, and by tests.
//! Linked in, the library would have to be there when this program is built, and would be part of every build with all
//! features; a time-out or a crash in it would be ours. As a program of its own it is found when it is wanted, of any
//! version, and can be ended at any time. The price is speed: some tens of questions a second, where the solver in this
//! process answers thousands.
//!
//! A question is a scope (`push`, `pop`) with the terms as definitions, each once, and an assertion with a name for each
//! conjunct, so that a contradiction can say which of them it needs. An array in its first state is a function without a
//! definition. Whatever `z3` says in favour of an answer is checked as far as that is easy: the values it names have to
//! fulfil the conjuncts. What is not understood is *unknown*, never an answer.

use super::{Answer, Solver, Statistics, contradiction};
use crate::term::{Node, Op, Symbol, Term, Terms, Valuation};
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_ir::EntityRef;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often the flag of an interrupt is looked at while an answer is awaited.
const GLANCE: Duration = Duration::from_millis(20);

/// The program `z3`.
#[derive(Debug)]
pub struct Z3 {
    /// How long one question may take.
    limit: Duration,
    /// Becomes true when nobody waits for an answer any more.
    interrupt: Option<Arc<AtomicBool>>,
    statistics: Statistics,
    /// None if it had to be ended; it is then started again for the next question.
    process: Option<Process>,
}

/// `z3`, running.
#[derive(Debug)]
struct Process {
    child: Child,
    to: ChildStdin,
    /// The lines that it prints.
    from: Receiver<String>,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Z3 {
    /// Starts it. The error says why that is not possible: it is not installed, most likely.
    pub fn start(limit: Duration, interrupt: Option<Arc<AtomicBool>>) -> io::Result<Z3> {
        let process = Some(Process::start()?);
        Ok(Z3 { limit, interrupt, statistics: Statistics::default(), process })
    }

    /// Asks; none if no answer came in time, or none that is understood.
    fn ask(&mut self, terms: &Terms, conjuncts: &[Term]) -> Option<Answer> {
        if self.process.is_none() {
            self.process = Process::start().ok();
        }
        let question = Question::new(terms, conjuncts);
        let deadline = Instant::now() + self.limit;
        let answer = self.converse(terms, &question, deadline);
        if answer.is_none() {
            // Whatever it is still busy with is not for the next question.
            self.process = None;
        }
        answer
    }

    fn converse(&mut self, terms: &Terms, question: &Question, deadline: Instant) -> Option<Answer> {
        self.send(&question.text)?;
        let answer = match self.receive(deadline)?.as_str() {
            "sat" => {
                self.send(&question.values())?;
                let reply = if question.asked.is_empty() { "()".to_owned() } else { self.receive(deadline)? };
                Answer::Sat(question.valuation(terms, &Sexp::parse(&reply)?)?)
            }
            "unsat" => {
                self.send("(get-unsat-core)\n")?;
                let Sexp::List(names) = Sexp::parse(&self.receive(deadline)?)? else { return None };
                let mut core = Vec::new();
                for name in &names {
                    core.push(name.word()?.strip_prefix('c')?.parse().ok()?);
                }
                core.sort_unstable();
                Answer::Unsat(core)
            }
            _ => return None,
        };
        self.send("(pop 1)\n")?;
        Some(answer)
    }

    fn send(&mut self, text: &str) -> Option<()> {
        let to = &mut self.process.as_mut()?.to;
        to.write_all(text.as_bytes()).and_then(|()| to.flush()).ok()
    }

    /// One answer: a word, or all lines of what stands in parentheses.
    fn receive(&mut self, deadline: Instant) -> Option<String> {
        let from = &self.process.as_ref()?.from;
        let mut text = String::new();
        loop {
            let interrupted = self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
            if interrupted || Instant::now() >= deadline {
                return None;
            }
            match from.recv_timeout(GLANCE) {
                Ok(line) => text.push_str(&line),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return None,
            }
            let open = text.matches('(').count();
            if open == text.matches(')').count() && !text.trim().is_empty() {
                return Some(text.trim().to_owned());
            }
            text.push(' ');
        }
    }
}

impl Process {
    fn start() -> io::Result<Process> {
        let mut child = Command::new("z3")
            .args(["-in", "-smt2"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(mut to), Some(out)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("its input and output cannot be reached"));
        };
        let (sender, from) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        to.write_all(b"(set-option :produce-unsat-cores true)\n(set-option :smt.core.minimize true)\n")?;
        Ok(Process { child, to, from })
    }
}

impl Solver for Z3 {
    fn check(&mut self, terms: &mut Terms, conjuncts: &[Term]) -> Answer {
        self.statistics.queries += 1;
        if let Some(core) = contradiction(terms, conjuncts) {
            self.statistics.rewritten += 1;
            return Answer::Unsat(core);
        }
        let start = Instant::now();
        let answer = self.ask(terms, conjuncts).unwrap_or(Answer::Unknown);
        self.statistics.time += start.elapsed();
        match answer {
            Answer::Sat(values) if conjuncts.iter().any(|&c| values.eval(terms, c) != 1) => Answer::Unknown,
            answer => answer,
        }
    }

    fn statistics(&self) -> Statistics {
        self.statistics
    }
}

/// A question in SMT-LIB.
struct Question {
    text: String,
    /// What is asked for if the answer is yes: the expression, and what it is the value of.
    asked: Vec<(String, Asked)>,
}

enum Asked {
    Variable(Symbol),
    Element(Symbol, Term),
}

impl Question {
    fn new(terms: &Terms, conjuncts: &[Term]) -> Question {
        let mut question = Question { text: "(push 1)\n".to_owned(), asked: Vec::new() };
        let mut done = FxHashSet::default();
        let mut arrays = FxHashSet::default();
        for &term in conjuncts {
            question.define(terms, term, &mut done, &mut arrays);
        }
        for (n, &term) in conjuncts.iter().enumerate() {
            let _ = writeln!(question.text, "(assert (! (= {} #b1) :named c{n}))", name(term));
        }
        question.text.push_str("(check-sat)\n");
        question
    }

    /// Defines a term, behind the terms that it is made of.
    fn define(&mut self, terms: &Terms, term: Term, done: &mut FxHashSet<Term>, arrays: &mut FxHashSet<Symbol>) {
        let mut todo = vec![(term, false)];
        while let Some((term, ready)) = todo.pop() {
            if done.contains(&term) {
                continue;
            }
            if !ready {
                todo.push((term, true));
                todo.extend(terms.children(term).into_iter().map(|child| (child, false)));
                continue;
            }
            done.insert(term);
            let (id, bits) = (name(term), terms.bits(term));
            match *terms.node(term) {
                Node::Var(symbol) => {
                    let _ = writeln!(self.text, "(declare-const {id} (_ BitVec {bits}))");
                    self.asked.push((id, Asked::Variable(symbol)));
                    continue;
                }
                Node::Select(array, index) => {
                    if arrays.insert(array) {
                        let _ = writeln!(self.text, "(declare-fun {array} ((_ BitVec 64)) (_ BitVec {bits}))");
                    }
                    self.asked.push((name(index), Asked::Element(array, term)));
                    self.asked.push((id.clone(), Asked::Element(array, term)));
                }
                _ => {}
            }
            let meaning = meaning(terms, term);
            let _ = writeln!(self.text, "(define-fun {id} () (_ BitVec {bits}) {meaning})");
        }
    }

    /// Asks for the values of everything.
    fn values(&self) -> String {
        if self.asked.is_empty() {
            return String::new();
        }
        let names: Vec<&str> = self.asked.iter().map(|(name, _)| name.as_str()).collect();
        format!("(get-value ({}))\n", names.join(" "))
    }

    /// The values that were named.
    fn valuation(&self, terms: &Terms, reply: &Sexp) -> Option<Valuation> {
        let Sexp::List(pairs) = reply else { return None };
        let mut numbers: FxHashMap<&str, u64> = FxHashMap::default();
        for pair in pairs {
            let Sexp::List(pair) = pair else { return None };
            let [Sexp::Word(name), Sexp::Word(value)] = pair.as_slice() else { return None };
            numbers.insert(name, number(value)?);
        }
        let mut valuation = Valuation::default();
        for (id, asked) in &self.asked {
            match *asked {
                Asked::Variable(symbol) => {
                    valuation.values.insert(symbol, *numbers.get(id.as_str())?);
                }
                Asked::Element(array, term) => {
                    let Node::Select(_, index) = *terms.node(term) else { return None };
                    let at = *numbers.get(name(index).as_str())?;
                    valuation.elements.insert((array, at), *numbers.get(name(term).as_str())?);
                }
            }
        }
        Some(valuation)
    }
}

/// `x12`.
fn name(term: Term) -> String {
    format!("x{}", term.index())
}

fn literal(value: u64, bits: u8) -> String {
    format!("#b{value:0width$b}", width = usize::from(bits))
}

/// A term over the names of those that it is made of.
fn meaning(terms: &Terms, term: Term) -> String {
    let bits = terms.bits(term);
    match *terms.node(term) {
        Node::Const(value) => literal(value, bits),
        Node::Var(_) => unreachable!("a variable is declared"),
        Node::Sum(constant, ref parts) => {
            let mut sum = literal(constant, bits);
            for &(factor, part) in parts {
                sum = format!("(bvadd {sum} (bvmul {} {}))", literal(factor, bits), name(part));
            }
            sum
        }
        Node::Binary(op, a, b) => format!("({} {} {})", operator(op), name(a), name(b)),
        Node::Not(a) => format!("(bvnot {})", name(a)),
        Node::Eq(a, b) => truth(format!("(= {} {})", name(a), name(b))),
        Node::Ult(a, b) => truth(format!("(bvult {} {})", name(a), name(b))),
        Node::Slt(a, b) => truth(format!("(bvslt {} {})", name(a), name(b))),
        Node::Ite(c, a, b) => format!("(ite (= {} #b1) {} {})", name(c), name(a), name(b)),
        Node::ZExt(a) => format!("((_ zero_extend {}) {})", bits - terms.bits(a), name(a)),
        Node::SExt(a) => format!("((_ sign_extend {}) {})", bits - terms.bits(a), name(a)),
        Node::Extract(low, a) => format!("((_ extract {} {low}) {})", low + bits - 1, name(a)),
        Node::Select(array, index) => format!("({array} {})", name(index)),
    }
}

fn truth(condition: String) -> String {
    format!("(ite {condition} #b1 #b0)")
}

fn operator(op: Op) -> &'static str {
    match op {
        Op::Mul => "bvmul",
        Op::UDiv => "bvudiv",
        Op::URem => "bvurem",
        Op::And => "bvand",
        Op::Or => "bvor",
        Op::Xor => "bvxor",
        Op::Shl => "bvshl",
        Op::LShr => "bvlshr",
        Op::AShr => "bvashr",
    }
}

/// `#b0101` or `#x5`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("#b") {
        Some(bits) => u64::from_str_radix(bits, 2).ok(),
        None => u64::from_str_radix(text.strip_prefix("#x")?, 16).ok(),
    }
}

/// What stands in an answer: a word, or a list in parentheses.
enum Sexp {
    Word(String),
    List(Vec<Sexp>),
}

impl Sexp {
    fn word(&self) -> Option<&str> {
        match self {
            Sexp::Word(word) => Some(word),
            Sexp::List(_) => None,
        }
    }

    /// Reads one; none if it is not well-formed.
    fn parse(text: &str) -> Option<Sexp> {
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        let mut open: Vec<Vec<Sexp>> = vec![Vec::new()];
        for token in spaced.split_whitespace() {
            match token {
                "(" => open.push(Vec::new()),
                ")" => {
                    let list = open.pop()?;
                    open.last_mut()?.push(Sexp::List(list));
                }
                word => open.last_mut()?.push(Sexp::Word(word.to_owned())),
            }
        }
        let mut read = open.pop().filter(|_| open.is_empty())?;
        read.pop().filter(|_| read.is_empty())
    }
}

//! Random single-threaded programs in the text form, in the style of a compiler without optimisation: variables in memory,
//! conditions through phis, loops with several exits, variables that are declared in loops and not always initialised.
//!
//! Every loop counts in a variable that nothing else writes, so programs end.

use std::fmt::Write;

/// A small generator of numbers (xorshift).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// The text of a module whose function `@main` has no parameters and returns an `i32`.
pub fn program(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = String::from(
        "global @a : 4 align 4 = i32 3\nglobal @b : 16 align 8\ndeclare @say(i32)\ndeclare @ask() -> i32\ndeclare @take(ptr)\n",
    );
    for n in 0..3 {
        text.push_str(&function(&mut random, n));
    }
    text
}

fn function(random: &mut Random, n: usize) -> String {
    let (name, params) = if n == 2 { ("main".to_owned(), "") } else { (format!("f{n}"), "p: ptr, q: i32") };
    let budget = if n == 2 { 30 } else { 8 };
    let mut body = Body {
        random,
        text: String::new(),
        names: 0,
        scope: Vec::new(),
        structs: Vec::new(),
        loops: Vec::new(),
        budget,
        n,
    };
    if n < 2 {
        body.scope.push(Var { pointer: "p".to_owned(), writable: true });
        body.declare(true);
        let var = body.scope.last().expect("just declared").pointer.clone();
        body.line(&format!("store i32 q, {var}"));
    }
    for _ in 0..3 {
        body.declare(true);
    }
    body.statements(3);
    let result = body.expression(2);
    body.line(&format!("ret {result}"));
    let text = body.text;
    format!("func @{name}({params}) -> i32 {{\nentry:\n{text}}}\n")
}

/// An `i32` in memory.
#[derive(Clone)]
struct Var {
    pointer: String,
    writable: bool,
}

struct Body<'r> {
    random: &'r mut Random,
    text: String,
    names: usize,
    scope: Vec<Var>,
    /// Structs of 16 bytes with members at 4 and 8.
    structs: Vec<String>,
    /// Labels to continue and to leave the loops around.
    loops: Vec<(String, String)>,
    /// How many statements there may still be.
    budget: usize,
    /// The number of the function: it may call those with lower numbers.
    n: usize,
}

impl Body<'_> {
    fn line(&mut self, text: &str) {
        writeln!(self.text, "  {text}").expect("writing to a string cannot fail");
    }

    fn label(&mut self, name: &str) {
        writeln!(self.text, "{name}:").expect("writing to a string cannot fail");
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// Makes an instruction with one result; yields its name.
    fn value(&mut self, text: &str) -> String {
        let name = self.name("t");
        self.line(&format!("{name} = {text}"));
        name
    }

    /// Declares a variable, mostly initialised.
    fn declare(&mut self, initialised: bool) {
        let kind = self.random.below(4);
        let pointers = match kind {
            // A member of a struct.
            0 => {
                let whole = self.value("alloca 16 align 8 \"s\"");
                if self.random.one_in(2) {
                    let byte = self.random.below(3);
                    self.line(&format!("memset {whole}, {byte}, 16"));
                }
                let first = self.value(&format!("ptradd {whole}, offset 4"));
                let second = self.value(&format!("ptradd {whole}, 1 * 8"));
                self.structs.push(whole);
                vec![first, second]
            }
            _ => vec![self.value("alloca 4 align 4 \"x\"")],
        };
        for pointer in pointers {
            if initialised {
                let value = self.random.below(9);
                self.line(&format!("store i32 {value}, {pointer}"));
            }
            self.scope.push(Var { pointer, writable: true });
        }
    }

    fn variable(&mut self) -> String {
        let n = self.random.below(self.scope.len() + 1);
        match self.scope.get(n) {
            Some(var) => var.pointer.clone(),
            None => ["@a", "@b", "@b+8"][self.random.below(3)].to_owned(),
        }
    }

    fn writable(&mut self) -> String {
        loop {
            let n = self.random.below(self.scope.len() + 1);
            match self.scope.get(n) {
                Some(var) if var.writable => return var.pointer.clone(),
                Some(_) => {}
                None => return ["@a", "@b", "@b+12"][self.random.below(3)].to_owned(),
            }
        }
    }

    /// An `i32`.
    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.random.below(8) {
                0 | 1 => self.random.below(7).to_string(),
                2 => {
                    let pointer = self.variable();
                    let float = self.value(&format!("load f32 {pointer}"));
                    self.value(&format!("bitcast f32 {float} to i32"))
                }
                _ => {
                    let pointer = self.variable();
                    self.value(&format!("load i32 {pointer}"))
                }
            };
        }
        match self.random.below(12) {
            0..=4 => {
                let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
                let ops = ["add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "smax", "umin"];
                let op = self.random.pick(&ops);
                self.value(&format!("{op} i32 {a}, {b}"))
            }
            5 => {
                let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
                let divisor = if self.random.one_in(8) { b } else { self.value(&format!("or i32 {b}, 1")) };
                let op = self.random.pick(&["udiv", "sdiv", "urem", "srem"]);
                self.value(&format!("{op} i32 {a}, {divisor}"))
            }
            6 => {
                let cond = self.condition(depth - 1);
                let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
                self.value(&format!("select i32 {cond}, {a}, {b}"))
            }
            7 => {
                let cond = self.condition(depth - 1);
                let byte = self.value(&format!("zext i1 {cond} to i8"));
                let op = self.random.pick(&["zext", "sext"]);
                self.value(&format!("{op} i8 {byte} to i32"))
            }
            8 => {
                let a = self.expression(depth - 1);
                let (op, order) = (self.random.pick(&["add", "xchg", "max", "nand"]), self.random.pick(&["sc", "rlx"]));
                self.value(&format!("rmw {op} i32 @a, {a}, {order}"))
            }
            9 if self.n > 0 => {
                let (pointer, a) = (self.variable(), self.expression(depth - 1));
                let callee = self.random.below(self.n);
                self.value(&format!("call @f{callee}(ptr {pointer}, i32 {a})"))
            }
            10 => self.value("call @ask()"),
            11 if !self.structs.is_empty() => {
                // Part of a member, or parts of two.
                let n = self.random.below(self.structs.len());
                let (whole, offset) = (self.structs[n].clone(), [4, 6, 7, 8, 10][self.random.below(5)]);
                let pointer = self.value(&format!("ptradd {whole}, offset {offset}"));
                let part = self.value(&format!("load i16 {pointer}"));
                self.value(&format!("zext i16 {part} to i32"))
            }
            _ => self.expression(0),
        }
    }

    /// An `i1`, perhaps by short circuit.
    fn condition(&mut self, depth: usize) -> String {
        let (a, b) = (self.expression(depth / 2), self.expression(depth / 2));
        let op = self.random.pick(&["eq", "ne", "slt", "sle", "ugt", "uge"]);
        let first = self.value(&format!("cmp {op} i32 {a}, {b}"));
        if depth == 0 || self.random.one_in(2) {
            return first;
        }
        let (from, rhs, end) = (self.name("from"), self.name("rhs"), self.name("end"));
        // A block of its own, so that the phi knows where it came from.
        self.line(&format!("br {from}"));
        self.label(&from);
        let and = self.random.one_in(2);
        let (yes, no) = if and { (&rhs, &end) } else { (&end, &rhs) };
        self.line(&format!("condbr {first}, {yes}, {no}"));
        self.label(&rhs);
        let second = self.condition(depth - 1);
        let last = self.name("last");
        self.line(&format!("br {last}"));
        self.label(&last);
        self.line(&format!("br {end}"));
        self.label(&end);
        self.value(&format!("phi i1 [{from}: {}], [{last}: {second}]", !and))
    }

    fn statements(&mut self, depth: usize) {
        let (outer, structs) = (self.scope.len(), self.structs.len());
        for _ in 0..1 + self.random.below(6) {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            self.statement(depth);
        }
        self.scope.truncate(outer);
        self.structs.truncate(structs);
    }

    fn statement(&mut self, depth: usize) {
        match self.random.below(14) {
            0..=3 => {
                let value = self.expression(2);
                let pointer = self.writable();
                self.line(&format!("store i32 {value}, {pointer}"));
            }
            4 => {
                let initialised = !self.random.one_in(2);
                self.declare(initialised);
            }
            5 => {
                let value = self.expression(1);
                self.line(&format!("call @say(i32 {value})"));
            }
            6 => {
                let pointer = self.writable();
                self.line(&format!("call @take(ptr {pointer})"));
            }
            7 if !self.structs.is_empty() => {
                let n = self.random.below(self.structs.len());
                let (whole, byte) = (self.structs[n].clone(), self.random.below(9));
                match self.random.below(3) {
                    0 => {
                        let pointer = self.value(&format!("ptradd {whole}, offset 4"));
                        self.line(&format!("store i64 {byte}, {pointer}"));
                    }
                    1 => self.line(&format!("memset {whole}, {byte}, {}", 4 * byte / 3)),
                    _ => self.line(&format!("memset {whole}, {byte}, 16")),
                }
            }
            7 => {
                let cond = self.condition(1);
                let likely = self.value(&format!("or i1 {cond}, true"));
                self.line(&format!("assume {likely}"));
            }
            8 | 9 if depth > 0 => self.branch(depth),
            10 if depth > 0 => self.switch(depth),
            11 | 12 if depth > 0 => self.repeat(depth),
            _ if !self.loops.is_empty() && self.random.one_in(3) => self.leave(),
            _ => self.line("fence sc"),
        }
    }

    fn branch(&mut self, depth: usize) {
        let cond = self.condition(2);
        let (yes, no, join) = (self.name("then"), self.name("else"), self.name("join"));
        self.line(&format!("condbr {cond}, {yes}, {no}"));
        for label in [yes, no] {
            self.label(&label);
            self.statements(depth - 1);
            self.line(&format!("br {join}"));
        }
        self.label(&join);
        if self.random.one_in(3) {
            // The same question again, as after a compare-and-exchange.
            let (yes, no, join) = (self.name("then"), self.name("else"), self.name("join"));
            self.line(&format!("condbr {cond}, {yes}, {no}"));
            for label in [yes, no] {
                self.label(&label);
                self.statements(depth - 1);
                self.line(&format!("br {join}"));
            }
            self.label(&join);
        }
    }

    fn switch(&mut self, depth: usize) {
        let value = self.expression(1);
        let (one, two, join) = (self.name("case"), self.name("case"), self.name("join"));
        self.line(&format!("switch i32 {value} [0: {one}, 1: {two}, 5: {one}] else {join}"));
        self.label(&one);
        self.statements(depth - 1);
        // Falls through.
        self.line(&format!("br {two}"));
        self.label(&two);
        self.statements(depth - 1);
        self.line(&format!("br {join}"));
        self.label(&join);
    }

    fn repeat(&mut self, depth: usize) {
        let counter = self.value("alloca 4 align 4 \"i\"");
        self.line(&format!("store i32 0, {counter}"));
        let (head, body, next, exit) = (self.name("head"), self.name("body"), self.name("next"), self.name("exit"));
        self.line(&format!("br {head}"));
        self.label(&head);
        let i = self.value(&format!("load i32 {counter}"));
        let limit = 1 + self.random.below(3);
        let mut cond = self.value(&format!("cmp slt i32 {i}, {limit}"));
        if self.random.one_in(3) {
            let other = self.condition(1);
            cond = self.value(&format!("and i1 {cond}, {other}"));
        }
        self.line(&format!("condbr {cond}, {body}, {exit}"));
        self.label(&body);
        self.scope.push(Var { pointer: counter.clone(), writable: false });
        self.loops.push((next.clone(), exit.clone()));
        self.statements(depth - 1);
        self.loops.pop();
        self.scope.pop();
        self.line(&format!("br {next}"));
        self.label(&next);
        let i = self.value(&format!("load i32 {counter}"));
        let more = self.value(&format!("add i32 {i}, 1"));
        self.line(&format!("store i32 {more}, {counter}"));
        self.line(&format!("br {head}"));
        self.label(&exit);
    }

    /// `break`, `continue` or `return`; what follows is unreachable.
    fn leave(&mut self) {
        let (next, exit) = self.loops[self.random.below(self.loops.len())].clone();
        match self.random.below(5) {
            0 => {
                let value = self.expression(1);
                self.line(&format!("ret {value}"));
            }
            1 | 2 => self.line(&format!("br {next}")),
            _ => self.line(&format!("br {exit}")),
        }
        let dead = self.name("dead");
        self.label(&dead);
    }
}

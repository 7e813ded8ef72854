//! Random programs with loops.
//!
//! A program's threads write and read three variables of two bits, take locks, and spin in ways that are pure always,
//! under a condition, or never; or they exchange what they have read, and failing attempts may be cut off or not. Each
//! thread leaves what it has read in a variable of its own. When all have ended, `main` reads at an address behind an
//! object that encodes all final values, so that each outcome is a violation of its own. All accesses that others can see
//! are sequentially consistent.

use std::fmt::Write;

/// A small generator of numbers (xorshift).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn var(&mut self) -> &'static str {
        ["@x", "@y", "@z"][self.below(3) as usize]
    }
}

/// Writes the body of a thread; every statement ends at the start of a new block.
struct Body {
    text: String,
    next: u32,
    thread: u64,
}

impl Body {
    fn name(&mut self) -> String {
        self.next += 1;
        format!("n{}", self.next)
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "  {line}").expect("writing to a string succeeds");
    }

    fn block(&mut self, name: &str) {
        writeln!(self.text, "{name}:").expect("writing to a string succeeds");
    }

    /// A value that is made by an instruction.
    fn make(&mut self, ty: &str, what: &str) -> String {
        let name = self.name();
        self.line(&format!("{name}: {ty} = {what}"));
        name
    }

    fn start(&mut self) -> (String, String) {
        let (start, end) = (self.name(), self.name());
        self.line(&format!("br {start}"));
        self.block(&start);
        (start, end)
    }

    /// Adds what was read to what can be seen in the end.
    fn keep(&mut self, value: &str) {
        let thread = self.thread;
        let before = self.make("i32", &format!("load i32 @r{thread}, rlx"));
        let moved = self.make("i32", &format!("shl i32 {before}, 2"));
        let low = self.make("i32", &format!("and i32 {value}, 3"));
        let after = self.make("i32", &format!("or i32 {moved}, {low}"));
        self.line(&format!("store i32 {after}, @r{thread}, rlx"));
    }

    /// A statement of one of the first six kinds, which do not loop, or of one of the given kinds.
    fn statement(&mut self, r: &mut Random, kinds: &Kinds) {
        let (v, w, k, l) = (r.var(), r.var(), r.below(3), r.below(3));
        let kind = r.below(6 + kinds.end - kinds.start);
        match if kind < 6 { kind } else { kind - 6 + kinds.start } {
            0..=2 => self.line(&format!("store i32 {k}, {v}, sc")),
            3 => {
                let read = self.make("i32", &format!("load i32 {v}, sc"));
                self.keep(&read);
            }
            4 => {
                let old = self.make("i32", &format!("rmw xchg i32 {v}, {k}, sc"));
                self.keep(&old);
            }
            5 => {
                let done = self.name();
                let old = self.name();
                self.line(&format!("{old}: i32, {done}: i1 = cas i32 {v}, {k}, {l}, sc, sc"));
                self.keep(&old);
            }
            6 => self.spin(r, v, k),
            7 => self.test_bit(v, k),
            8 => self.compare_exchange_lock(v, k, l),
            9 => self.exchange_lock(v, k, l),
            10 => self.until_equal(v, w, k),
            11 => self.two_ways_out(v, w),
            12 => self.writes_sometimes(v, w, k, l),
            13 => self.test_and_test_and_set(v),
            14 => self.counts(v, k),
            15 => self.carries(v, w, k),
            16 => self.exchanges(v, None, k),
            17 => self.exchanges(v, Some(w), k),
            18 => self.exchanges_what_was_found(v, k),
            19 => self.reads_again_at_the_end(v, k),
            20 => self.gives_up(v, k),
            21 => self.gives_up_what_was_found(v, k, l),
            22 => self.writes_a_node(v, k),
            23 => self.writes_on_the_way(v, w, k),
            24 => self.goes_round_otherwise(v, w, k, l),
            25 | 26 => self.writes_if(v, w, k, l),
            27 => self.until_equal(v, w, k),
            28 => self.two_ways_out(v, w),
            29 => self.exchanges(v, Some(w), k),
            _ => self.sleeps(v, w, k),
        }
    }

    fn spin(&mut self, r: &mut Random, v: &str, k: u64) {
        let op = ["ne", "eq", "ult", "sgt"][r.below(4) as usize];
        let (start, end) = self.start();
        let read = self.make("i32", &format!("load i32 {v}, sc"));
        let again = self.make("i1", &format!("cmp {op} i32 {read}, {k}"));
        self.line(&format!("condbr {again}, {start}, {end}"));
        self.block(&end);
        self.keep(&read);
    }

    fn test_bit(&mut self, v: &str, k: u64) {
        let (start, end) = self.start();
        let read = self.make("i32", &format!("load i32 {v}, sc"));
        let bit = self.make("i32", &format!("and i32 {read}, 1"));
        let again = self.make("i1", &format!("cmp eq i32 {bit}, {}", k & 1));
        self.line(&format!("condbr {again}, {start}, {end}"));
        self.block(&end);
    }

    fn compare_exchange_lock(&mut self, v: &str, k: u64, l: u64) {
        let (start, end) = self.start();
        let (old, done) = (self.name(), self.name());
        self.line(&format!("{old}: i32, {done}: i1 = cas i32 {v}, {k}, {l}, sc, sc"));
        self.line(&format!("condbr {done}, {end}, {start}"));
        self.block(&end);
    }

    /// With an exchange, or by setting or clearing bits; it is all of the old value that tells, or one bit of it.
    fn exchange_lock(&mut self, v: &str, k: u64, l: u64) {
        let (start, end) = self.start();
        let (change, bit, op) = [("xchg", 1, "ne"), ("or", 1, "ne"), ("and", 2, "eq")][k as usize];
        let operand = if change == "or" { 3 } else { 1 };
        let old = self.make("i32", &format!("rmw {change} i32 {v}, {operand}, sc"));
        let seen = match (k, l) {
            (0, 0) => old.clone(),
            _ => self.make("i32", &format!("and i32 {old}, {bit}")),
        };
        let busy = self.make("i1", &format!("cmp {op} i32 {seen}, 0"));
        self.line(&format!("condbr {busy}, {start}, {end}"));
        self.block(&end);
        self.keep(&old);
    }

    fn until_equal(&mut self, v: &str, w: &str, k: u64) {
        let (start, end) = self.start();
        let a = self.make("i32", &format!("load i32 {v}, sc"));
        let b = self.make("i32", &format!("load i32 {w}, sc"));
        let op = if k == 0 { "eq" } else { "ne" };
        let again = self.make("i1", &format!("cmp {op} i32 {a}, {b}"));
        self.line(&format!("condbr {again}, {start}, {end}"));
        self.block(&end);
        self.keep(&a);
    }

    fn two_ways_out(&mut self, v: &str, w: &str) {
        let (start, end) = self.start();
        let second = self.name();
        let a = self.make("i32", &format!("load i32 {v}, sc"));
        let zero = self.make("i1", &format!("cmp eq i32 {a}, 0"));
        self.line(&format!("condbr {zero}, {second}, {end}"));
        self.block(&second);
        let b = self.make("i32", &format!("load i32 {w}, sc"));
        let zero = self.make("i1", &format!("cmp eq i32 {b}, 0"));
        self.line(&format!("condbr {zero}, {start}, {end}"));
        self.block(&end);
        self.keep(&a);
    }

    fn writes_sometimes(&mut self, v: &str, w: &str, k: u64, l: u64) {
        let (start, end) = self.start();
        let (write, join) = (self.name(), self.name());
        let a = self.make("i32", &format!("load i32 {v}, sc"));
        let b = self.make("i32", &format!("load i32 {w}, sc"));
        let special = self.make("i1", &format!("cmp eq i32 {a}, {k}"));
        self.line(&format!("condbr {special}, {write}, {join}"));
        self.block(&write);
        self.line(&format!("store i32 {l}, {w}, sc"));
        self.line(&format!("br {join}"));
        self.block(&join);
        let again = self.make("i1", &format!("cmp uge i32 {a}, {}", k.max(1)));
        self.line(&format!("condbr {again}, {start}, {end}"));
        self.block(&end);
        self.keep(&b);
    }

    fn test_and_test_and_set(&mut self, v: &str) {
        let (outer, end) = self.start();
        let (inner, set) = (self.name(), self.name());
        self.line(&format!("br {inner}"));
        self.block(&inner);
        let a = self.make("i32", &format!("load i32 {v}, sc"));
        let held = self.make("i1", &format!("cmp ne i32 {a}, 0"));
        self.line(&format!("condbr {held}, {inner}, {set}"));
        self.block(&set);
        let old = self.make("i32", &format!("rmw xchg i32 {v}, 1, sc"));
        let busy = self.make("i1", &format!("cmp ne i32 {old}, 0"));
        self.line(&format!("condbr {busy}, {outer}, {end}"));
        self.block(&end);
        self.keep(&old);
    }

    fn counts(&mut self, v: &str, k: u64) {
        let before = self.name();
        self.line(&format!("br {before}"));
        self.block(&before);
        let (start, end) = self.start();
        let (n, m, more) = (self.name(), self.name(), self.name());
        self.line(&format!("{n}: i32 = phi i32 [{before}: 0], [{more}: {m}]"));
        let read = self.make("i32", &format!("load i32 {v}, sc"));
        let again = self.make("i1", &format!("cmp ne i32 {read}, {k}"));
        self.line(&format!("condbr {again}, {more}, {end}"));
        self.block(&more);
        self.line(&format!("{m}: i32 = add i32 {n}, 1"));
        let few = self.make("i1", &format!("cmp ult i32 {n}, 2"));
        self.line(&format!("condbr {few}, {start}, {end}"));
        self.block(&end);
        self.keep(&n);
    }

    /// Writes only if it reads something.
    fn writes_if(&mut self, v: &str, w: &str, k: u64, l: u64) {
        let (write, end) = (self.name(), self.name());
        let read = self.make("i32", &format!("load i32 {v}, sc"));
        let special = self.make("i1", &format!("cmp eq i32 {read}, {k}"));
        self.line(&format!("condbr {special}, {write}, {end}"));
        self.block(&write);
        self.line(&format!("store i32 {l}, {w}, sc"));
        self.line(&format!("br {end}"));
        self.block(&end);
        self.keep(&read);
    }

    /// A mutex whose threads sleep until the word next to it changes, if the mutex is still taken when they have looked at
    /// that.
    fn sleeps(&mut self, v: &str, w: &str, k: u64) {
        let (start, end) = self.start();
        let (look, sleep, back) = (self.name(), self.name(), self.name());
        let (old, done) = self.try_exchange(v, "0", "1");
        self.line(&format!("condbr {done}, {end}, {look}"));
        self.block(&look);
        let seen = self.make("i32", &format!("load i32 {w}, sc"));
        let now = self.make("i32", &format!("load i32 {v}, sc"));
        let taken = self.make("i1", &format!("cmp eq i32 {now}, {old}"));
        self.line(&format!("condbr {taken}, {sleep}, {back}"));
        self.block(&sleep);
        let word = self.make("i32", &format!("load i32 {w}, sc"));
        let same = self.make("i1", &format!("cmp eq i32 {word}, {seen}"));
        self.line(&format!("condbr {same}, {sleep}, {back}"));
        self.block(&back);
        self.line(&format!("br {start}"));
        self.block(&end);
        let left = self.make("i32", &format!("rmw xchg i32 {v}, 0, sc"));
        self.line(&format!("store i32 {k}, {w}, sc"));
        self.keep(&left);
    }

    fn goes_round_otherwise(&mut self, v: &str, w: &str, k: u64, l: u64) {
        let (start, end) = self.start();
        let (other, attempt, back) = (self.name(), self.name(), self.name());
        let read = self.make("i32", &format!("load i32 {v}, sc"));
        let special = self.make("i1", &format!("cmp eq i32 {read}, {k}"));
        self.line(&format!("condbr {special}, {other}, {attempt}"));
        self.block(&other);
        self.line(&format!("store i32 {l}, {w}, sc"));
        self.line(&format!("br {back}"));
        self.block(&attempt);
        let new = self.changed(&read, k);
        let (_, done) = self.try_exchange(v, &read, &new);
        self.line(&format!("condbr {done}, {end}, {back}"));
        self.block(&back);
        self.line(&format!("br {start}"));
        self.block(&end);
        self.keep(&read);
    }

    /// What is put in the place of a value.
    fn changed(&mut self, value: &str, k: u64) -> String {
        let more = self.make("i32", &format!("add i32 {value}, {}", k + 1));
        self.make("i32", &format!("and i32 {more}, 3"))
    }

    fn try_exchange(&mut self, v: &str, expected: &str, new: &str) -> (String, String) {
        let (old, done) = (self.name(), self.name());
        self.line(&format!("{old}: i32, {done}: i1 = cas i32 {v}, {expected}, {new}, sc, sc"));
        (old, done)
    }

    fn exchanges(&mut self, v: &str, other: Option<&str>, k: u64) {
        let (start, end) = self.start();
        let read = self.make("i32", &format!("load i32 {v}, sc"));
        let base = match other {
            Some(w) => {
                let b = self.make("i32", &format!("load i32 {w}, sc"));
                self.make("i32", &format!("add i32 {read}, {b}"))
            }
            None => read.clone(),
        };
        let new = self.changed(&base, k);
        let (_, done) = self.try_exchange(v, &read, &new);
        self.line(&format!("condbr {done}, {end}, {start}"));
        self.block(&end);
        self.keep(&read);
    }

    fn exchanges_what_was_found(&mut self, v: &str, k: u64) {
        let before = self.name();
        self.line(&format!("br {before}"));
        self.block(&before);
        let first = self.make("i32", &format!("load i32 {v}, sc"));
        let (start, end) = self.start();
        let (seen, found) = (self.name(), self.name());
        self.line(&format!("{seen}: i32 = phi i32 [{before}: {first}], [{start}: {found}]"));
        let new = self.changed(&seen, k);
        let done = self.name();
        self.line(&format!("{found}: i32, {done}: i1 = cas i32 {v}, {seen}, {new}, sc, sc"));
        self.line(&format!("condbr {done}, {end}, {start}"));
        self.block(&end);
        self.keep(&seen);
    }

    fn reads_again_at_the_end(&mut self, v: &str, k: u64) {
        let (before, next) = (self.name(), self.name());
        self.line(&format!("br {before}"));
        self.block(&before);
        let first = self.make("i32", &format!("load i32 {v}, sc"));
        let (start, end) = self.start();
        let (seen, again) = (self.name(), self.name());
        self.line(&format!("{seen}: i32 = phi i32 [{before}: {first}], [{next}: {again}]"));
        let new = self.changed(&seen, k);
        let (_, done) = self.try_exchange(v, &seen, &new);
        self.line(&format!("condbr {done}, {end}, {next}"));
        self.block(&next);
        self.line(&format!("{again}: i32 = load i32 {v}, sc"));
        self.line(&format!("br {start}"));
        self.block(&end);
        self.keep(&seen);
    }

    fn gives_up(&mut self, v: &str, k: u64) {
        let (start, end) = self.start();
        let next = self.name();
        let read = self.make("i32", &format!("load i32 {v}, sc"));
        let zero = self.make("i1", &format!("cmp eq i32 {read}, 0"));
        self.line(&format!("condbr {zero}, {end}, {next}"));
        self.block(&next);
        let new = self.changed(&read, k);
        let (_, done) = self.try_exchange(v, &read, &new);
        self.line(&format!("condbr {done}, {end}, {start}"));
        self.block(&end);
        self.keep(&read);
    }

    fn gives_up_what_was_found(&mut self, v: &str, k: u64, l: u64) {
        let (before, next) = (self.name(), self.name());
        self.line(&format!("br {before}"));
        self.block(&before);
        let first = self.make("i32", &format!("load i32 {v}, sc"));
        let (start, end) = self.start();
        let (seen, found, done) = (self.name(), self.name(), self.name());
        self.line(&format!("{seen}: i32 = phi i32 [{before}: {first}], [{next}: {found}]"));
        let stop = self.make("i1", &format!("cmp eq i32 {seen}, {l}"));
        self.line(&format!("condbr {stop}, {end}, {next}"));
        self.block(&next);
        let new = self.changed(&seen, k);
        self.line(&format!("{found}: i32, {done}: i1 = cas i32 {v}, {seen}, {new}, sc, sc"));
        self.line(&format!("condbr {done}, {end}, {start}"));
        self.block(&end);
        self.keep(&seen);
    }

    fn writes_a_node(&mut self, v: &str, k: u64) {
        let node = self.make("ptr", "call @malloc(i64 8)");
        let (start, end) = self.start();
        let read = self.make("i32", &format!("load i32 {v}, sc"));
        self.line(&format!("store i32 {read}, {node}"));
        let new = self.changed(&read, k);
        let (_, done) = self.try_exchange(v, &read, &new);
        self.line(&format!("condbr {done}, {end}, {start}"));
        self.block(&end);
        let kept = self.make("i32", &format!("load i32 {node}"));
        self.keep(&kept);
    }

    fn writes_on_the_way(&mut self, v: &str, w: &str, k: u64) {
        let (start, end) = self.start();
        let read = self.make("i32", &format!("load i32 {v}, sc"));
        self.line(&format!("store i32 {read}, {w}, sc"));
        let new = self.changed(&read, k);
        let (_, done) = self.try_exchange(v, &read, &new);
        self.line(&format!("condbr {done}, {end}, {start}"));
        self.block(&end);
        self.keep(&read);
    }

    fn carries(&mut self, v: &str, w: &str, k: u64) {
        let (before, next) = (self.name(), self.name());
        self.line(&format!("br {before}"));
        self.block(&before);
        let first = self.make("i32", &format!("load i32 {v}, sc"));
        self.keep(&first);
        let (start, end) = self.start();
        let (old, now) = (self.name(), self.name());
        self.line(&format!("{old}: i32 = phi i32 [{before}: {first}], [{next}: {now}]"));
        let b = self.make("i32", &format!("load i32 {w}, sc"));
        let stop = self.make("i1", &format!("cmp eq i32 {b}, {k}"));
        self.line(&format!("condbr {stop}, {end}, {next}"));
        self.block(&next);
        self.line(&format!("{now}: i32 = load i32 {v}, sc"));
        self.line(&format!("br {start}"));
        self.block(&end);
        self.keep(&old);
    }
}

/// The kinds of statements that a thread may have besides the first six.
pub type Kinds = std::ops::Range<u64>;

/// Loops that wait for something.
pub const SPINNING: Kinds = 6..16;
/// Loops that exchange what they have read.
pub const EXCHANGING: Kinds = 16..25;

/// Loops that wait for a relation of two variables, and writes that may not come.
#[allow(dead_code)]
pub const HOPING: Kinds = 25..30;
/// The same, and loops that sleep.
#[allow(dead_code)]
pub const SLEEPING: Kinds = 27..32;

/// The text of a program whose threads have statements of these kinds. The last thread never spins, so that the others
/// have something to wait for.
pub fn program(seed: u64, kinds: &Kinds) -> String {
    text(seed, kinds, true)
}

/// The text of such a program all of whose threads may spin. Not all tests use it.
#[allow(dead_code)]
pub fn contest(seed: u64, kinds: &Kinds) -> String {
    text(seed, kinds, false)
}

fn text(seed: u64, kinds: &Kinds, last_is_calm: bool) -> String {
    let mut r = Random::new(seed);
    let threads = 2 + r.below(2);
    let mut text = String::new();
    for name in ["x", "y", "z"] {
        let initial = r.below(3);
        writeln!(text, "global @{name} : 4 align 4 = bytes \"0{initial}000000\"").expect("writing succeeds");
    }
    text.push_str("declare @malloc(i64) -> ptr\ndeclare @pthread_create(ptr, ptr, ptr, ptr) -> i32\n");
    text.push_str("declare @pthread_join(i64, ptr) -> i32\n");
    for thread in 0..threads {
        writeln!(text, "global @r{thread} : 4 align 4").expect("writing to a string succeeds");
        let mut body = Body { text: String::new(), next: 0, thread };
        let last = last_is_calm && thread + 1 == threads;
        let kinds = if last { 6..6 } else { kinds.clone() };
        for _ in 0..if last { 4 } else { 1 + r.below(2) } {
            body.statement(&mut r, &kinds);
        }
        let code = body.text;
        write!(text, "func @t{thread}(arg: ptr) -> ptr {{\nentry:\n{code}  ret null\n}}\n")
            .expect("writing to a string succeeds");
    }
    text.push_str(&main_function(threads));
    text
}

fn main_function(threads: u64) -> String {
    let mut text = "func @main() -> i32 {\nentry:\n  p: ptr = call @malloc(i64 1)\n".to_owned();
    let mut line = |line: String| {
        text.push_str("  ");
        text.push_str(&line);
        text.push('\n');
    };
    for n in 0..threads {
        line(format!("h{n}: ptr = alloca 8 align 8"));
        line(format!("c{n}: i32 = call @pthread_create(ptr h{n}, ptr null, ptr @t{n}, ptr null)"));
    }
    for n in 0..threads {
        line(format!("i{n}: i64 = load i64 h{n}"));
        line(format!("j{n}: i32 = call @pthread_join(i64 i{n}, ptr null)"));
    }
    let names: Vec<String> =
        ["x", "y", "z"].into_iter().map(str::to_owned).chain((0..threads).map(|n| format!("r{n}"))).collect();
    let mut sum = "0".to_owned();
    for (n, name) in names.iter().enumerate() {
        line(format!("a{n}: i32 = load i32 @{name}, sc"));
        line(format!("b{n}: i64 = zext i32 a{n} to i64"));
        line(format!("d{n}: i64 = shl i64 b{n}, {}", if n < 3 { 2 * n } else { 10 * n - 24 }));
        line(format!("e{n}: i64 = add i64 {sum}, d{n}"));
        sum = format!("e{n}");
    }
    line(format!("code: i64 = add i64 {sum}, 0"));
    line("q: ptr = ptradd p, code * 1 + 1".to_owned());
    line("bad: i8 = load i8 q".to_owned());
    line("ret 0".to_owned());
    text.push_str("}\n");
    text
}

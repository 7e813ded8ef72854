//! Random programs in C with what `random.rs` leaves out: blocks of memory, allocated memory, pointers into several objects,
//! threads that create threads, read-write locks, condition variables, local arrays.
//!
//! A program is text with structure: lines, and blocks of lines. That is enough to make failing programs smaller.

use std::fmt::Write;

/// A part of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// A line.
    Line(String),
    /// Lines between two others.
    Block(String, Vec<Part>, &'static str),
}

/// What programs are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Blocks,
    Heap,
    Pointers,
    Creation,
    ReadWriteLocks,
    Conditions,
    LocalArrays,
    Barriers,
    Everything,
}

/// All kinds.
pub const KINDS: [Kind; 9] = [
    Kind::Blocks,
    Kind::Heap,
    Kind::Pointers,
    Kind::Creation,
    Kind::ReadWriteLocks,
    Kind::Conditions,
    Kind::LocalArrays,
    Kind::Barriers,
    Kind::Everything,
];

/// A program: what is done before there are other threads, and what each thread does, `main` first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    pub start: Vec<Part>,
    pub threads: Vec<Vec<Part>>,
    /// Whether the second thread is created by the first.
    pub nested: bool,
    /// Whether everybody waits for whom it has created.
    pub joins: bool,
}

/// A source of random numbers: a splitmix generator.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// A random program.
pub fn generate(kind: Kind, seed: u64) -> Program {
    let mut random = Random(seed.wrapping_mul(31).wrapping_add(kind as u64));
    let nested = random.percent(if kind == Kind::Creation { 70 } else { 10 });
    let mut start = Vec::new();
    for pointer in ["h0", "h1"] {
        if random.percent(80) {
            let call =
                random.pick(&["malloc(sizeof(struct s))", "malloc(sizeof(struct s))", "calloc(1, sizeof(struct s))"]);
            start.push(line(format!("{pointer} = {call};")));
            if random.percent(70) {
                start.push(line(format!("{pointer}->a = {}; {pointer}->b = 0;", random.below(2))));
            }
        }
    }
    if !matches!(kind, Kind::Heap | Kind::Everything) {
        start.clear();
    }
    let count = if matches!(kind, Kind::Conditions) && random.percent(50) { 3 } else { 2 };
    let mut threads = vec![Vec::new()];
    for _ in 0..count {
        let length = 1 + random.below(3);
        let mut body = parts(kind, &mut random, length, 0);
        if matches!(kind, Kind::Barriers | Kind::Everything) && random.percent(70) {
            body.insert(random.below(body.len() + 1), line("pthread_barrier_wait(&b);".to_owned()));
        }
        threads.push(body);
    }
    if random.percent(40) {
        threads[0] = parts(kind, &mut random, 1, 1);
    }
    Program { start, threads, nested, joins: random.percent(85) }
}

fn line(text: String) -> Part {
    Part::Line(text)
}

fn parts(kind: Kind, random: &mut Random, count: usize, depth: usize) -> Vec<Part> {
    let mut all = Vec::new();
    for _ in 0..count {
        part(kind, random, depth, &mut all);
    }
    all
}

fn part(kind: Kind, random: &mut Random, depth: usize, out: &mut Vec<Part>) {
    let kind = match kind {
        Kind::Everything => KINDS[random.below(8)],
        kind => kind,
    };
    if random.percent(40) {
        return plain(kind, random, depth, out);
    }
    let (v, g, h) = (random.below(3), random.below(2), random.below(2));
    let r = random.pick(&["r0", "r1"]);
    match kind {
        Kind::Blocks => out.push(line(match random.below(10) {
            0 => format!("g{g} = g{};", 1 - g),
            1 => format!("struct s l = g{g}; CHECK(l.a == l.b);"),
            2 => format!("memset(&g{g}, {}, sizeof g{g});", v & 1),
            3 => format!("g{g}.{} = {v};", random.pick(&["a", "b"])),
            4 => format!("{{ struct s l; l.a = l.b = {v}; memcpy(&g{g}, &l, sizeof l); }}"),
            5 => format!("memcpy(&g{g}.b, &g{}.a, sizeof g0.a);", 1 - g),
            6 => format!("memcpy(cells, more, {} * sizeof *cells);", 1 + v),
            7 => format!("cells[{v}] = {g}; more[{v}] = cells[{h}];"),
            8 => format!("{{ int l[2]; memcpy(l, cells + {g}, sizeof l); CHECK(l[0] <= l[1]); }}"),
            _ => format!("{r} = g{g}.a; CHECK({r} == g{g}.b || {r} < {v});"),
        })),
        Kind::Heap => out.push(line(match random.below(10) {
            0 => format!("if (h{h}) h{h}->a = {v};"),
            1 => format!("if (h{h}) {{ {r} = h{h}->{}; CHECK({r} != {v}); }}", random.pick(&["a", "b"])),
            2 => format!("{{ struct s *l = h{h}; h{h} = 0; if (l) free(l); }}"),
            3 => format!("free(h{h});"),
            4 => format!("{{ struct s *l = malloc(sizeof *l); l->a = {v}; l->b = {g}; h{h} = l; }}"),
            5 => format!("h{h} = h{};", 1 - h),
            6 => format!("if (h{h}) *h{h} = g{g};"),
            7 => format!("if (h{h}) g{g} = *h{h};"),
            8 => format!(
                "{{ int *l = calloc(2, sizeof *l); l[{g}] = {v}; {r} = l[0] + l[1]; free(l); CHECK({r} == {v}); }}"
            ),
            _ => format!("CHECK(h{h} != h{} || !h{h});", 1 - h),
        })),
        Kind::Pointers => out.push(line(match random.below(9) {
            0 => format!("p{g} = &x{h};"),
            1 => format!("p{g} = {r} ? &x0 : &x1;"),
            2 => format!("*p{g} = {v};"),
            3 => format!("{r} = *p{g}; CHECK({r} != {v});"),
            4 => format!("p{g} = p{};", 1 - g),
            5 => format!("p{g} = 0;"),
            6 => format!("if (p{g}) {{ {r} = *p{g}; CHECK({r} < 2); }}"),
            7 => format!("{{ int *l = p{g}; if (l == &x{h}) {{ *l = {v}; CHECK(x{h} == {v}); }} }}"),
            _ => format!("f = {}; {r} = f({v}); CHECK({r} != {g});", random.pick(&["one", "two"])),
        })),
        Kind::ReadWriteLocks if depth < 2 => {
            let (head, tail) = match random.below(8) {
                0..3 => (
                    format!("pthread_rwlock_rdlock(&l{g});"),
                    ["pthread_rwlock_unlock(&l0);", "pthread_rwlock_unlock(&l1);"][g],
                ),
                3..6 => (
                    format!("pthread_rwlock_wrlock(&l{g});"),
                    ["pthread_rwlock_unlock(&l0);", "pthread_rwlock_unlock(&l1);"][g],
                ),
                6 => (
                    format!("if (pthread_rwlock_try{}lock(&l{g}) == 0) {{", random.pick(&["rd", "wr"])),
                    ["pthread_rwlock_unlock(&l0); }", "pthread_rwlock_unlock(&l1); }"][g],
                ),
                _ => (format!("pthread_rwlock_{}(&l{g});", random.pick(&["unlock", "rdlock"])), ""),
            };
            let count = 1 + random.below(2);
            out.push(Part::Block(head, parts(kind, random, count, depth + 1), tail));
        }
        Kind::Conditions if depth < 2 => match random.below(4) {
            0 => out.push(Part::Block(
                "pthread_mutex_lock(&m);".to_owned(),
                vec![line(format!("while (x{g} == {h}) pthread_cond_wait(&c, &m);"))],
                "pthread_mutex_unlock(&m);",
            )),
            1 => out.push(Part::Block(
                "pthread_mutex_lock(&m);".to_owned(),
                vec![line("pthread_cond_wait(&c, &m);".to_owned())],
                "pthread_mutex_unlock(&m);",
            )),
            _ => out.push(Part::Block(
                "pthread_mutex_lock(&m);".to_owned(),
                vec![
                    line(format!("x{g} = {v};")),
                    line(format!("pthread_cond_{}(&c);", random.pick(&["signal", "signal", "broadcast"]))),
                ],
                "pthread_mutex_unlock(&m);",
            )),
        },
        Kind::LocalArrays => out.push(line(match random.below(5) {
            0 => format!("a[{r} & 3] = {v};"),
            1 => format!("for (int i = 0; i < {}; i++) a[i] = x{g};", 2 + v),
            2 => format!("{r} = a[x{g} & 3]; CHECK({r} == {v});"),
            3 => format!("a[x{g} & 1] = a[{h}]; CHECK(a[{h}] == a[x{g} & 1]);"),
            _ => format!("a[0] = a[1] = a[2] = a[3] = {v};"),
        })),
        Kind::Creation | Kind::Barriers | Kind::ReadWriteLocks | Kind::Conditions | Kind::Everything => {
            plain(kind, random, depth, out);
        }
    }
}

/// What every program may do.
fn plain(kind: Kind, random: &mut Random, depth: usize, out: &mut Vec<Part>) {
    let (v, g) = (random.below(3), random.below(2));
    let r = random.pick(&["r0", "r1"]);
    let op = random.pick(&["==", "!=", "!=", "<", ">="]);
    out.push(match random.below(9) {
        0..3 => line(format!("x{g} = {v};")),
        3 => line(format!("{r} = x{g};")),
        4 => line(format!("x{g} = ({r} + 1) & 3;")),
        5 | 6 => line(format!("{r} = x{g}; CHECK({r} {op} {v});")),
        7 if depth < 2 => {
            let condition =
                if random.percent(50) { "__VERIFIER_nondet_bool()".to_owned() } else { format!("x{g} {op} {v}") };
            Part::Block(format!("if ({condition}) {{"), parts(kind, random, 1, depth + 1), "}")
        }
        _ => line(format!("{r} = __VERIFIER_nondet_bool();")),
    });
}

const HEAD: &str = "\
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
extern void __VERIFIER_assert(int);
extern _Bool __VERIFIER_nondet_bool(void);
#define CHECK(condition) __VERIFIER_assert(condition)
struct s { long a, b; };
int x0, x1, cells[3], more[3];
struct s g0, g1, *h0, *h1;
int *p0 = &x0, *p1 = &x1;
static int one(int n) { x0 = n; return 1; }
static int two(int n) { return n; }
int (*f)(int) = one;
pthread_mutex_t m;
pthread_cond_t c;
pthread_rwlock_t l0, l1;
pthread_barrier_t b;
";

impl Program {
    /// The program in C.
    pub fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for (n, body) in self.threads.iter().enumerate().skip(1).rev() {
            let creates = self.nested && n == 1;
            let _ = writeln!(text, "static void *t{n}(void *arg) {{");
            write_body(&mut text, body, if creates { "  pthread_t h; pthread_create(&h, 0, t2, 0);\n" } else { "" });
            if creates && self.joins {
                text.push_str("  pthread_join(h, 0);\n");
            }
            text.push_str("  return arg;\n}\n");
        }
        text.push_str("int main(void) {\n");
        let barriers = self.threads.iter().filter(|body| format!("{body:?}").contains("pthread_barrier_wait")).count();
        if barriers > 0 {
            let _ = writeln!(text, "  pthread_barrier_init(&b, 0, {barriers});");
        }
        let own: Vec<usize> = (1..self.threads.len()).filter(|&n| n != 2 || !self.nested).collect();
        let mut before = String::new();
        write_parts(&mut before, &self.start);
        for n in &own {
            let _ = writeln!(before, "  pthread_t thread{n}; pthread_create(&thread{n}, 0, t{n}, 0);");
        }
        write_body(&mut text, &self.threads[0], &before);
        if self.joins {
            own.iter().for_each(|n| {
                let _ = writeln!(text, "  pthread_join(thread{n}, 0);");
            });
        }
        text.push_str("  return 0;\n}\n");
        text
    }

    /// Programs that are a little smaller.
    pub fn smaller(&self) -> Vec<Program> {
        let mut all: Vec<Program> =
            smaller(&self.start).into_iter().map(|start| Program { start, ..self.clone() }).collect();
        for n in 0..self.threads.len() {
            for body in smaller(&self.threads[n]) {
                let mut threads = self.threads.clone();
                threads[n] = body;
                all.push(Program { threads, ..self.clone() });
            }
        }
        if self.nested {
            all.push(Program { nested: false, ..self.clone() });
        }
        all
    }
}

fn write_body(text: &mut String, body: &[Part], before: &str) {
    text.push_str("  int r0 = 0, r1 = 0;\n");
    if format!("{body:?}").contains("a[") {
        text.push_str("  int a[4];\n");
    }
    text.push_str(before);
    write_parts(text, body);
    text.push_str("  (void)r0, (void)r1;\n");
}

fn write_parts(text: &mut String, parts: &[Part]) {
    for part in parts {
        match part {
            Part::Line(line) if line.starts_with("struct s l") => {
                let _ = writeln!(text, "  {{ {line} }}");
            }
            Part::Line(line) => {
                let _ = writeln!(text, "  {line}");
            }
            Part::Block(head, inner, tail) => {
                let _ = writeln!(text, "  {head}");
                write_parts(text, inner);
                let _ = writeln!(text, "  {tail}");
            }
        }
    }
}

fn smaller(body: &[Part]) -> Vec<Vec<Part>> {
    let mut all = Vec::new();
    for (n, part) in body.iter().enumerate() {
        let with = |new: Vec<Part>| [&body[..n], &new, &body[n + 1..]].concat();
        all.push(with(Vec::new()));
        if let Part::Block(head, inner, tail) = part {
            all.push(with(inner.clone()));
            all.extend(smaller(inner).into_iter().map(|inner| with(vec![Part::Block(head.clone(), inner, tail)])));
        }
    }
    all
}

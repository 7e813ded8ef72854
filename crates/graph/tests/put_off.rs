//! Programs in which one thread waits for two variables to be equal, which they are, and others write these under
//! conditions: whatever is left out because nothing comes of it, all complete executions are found.

use selvedge_analysis::{Options as Passes, prepare};
use selvedge_graph::{MemoryModel, Options, Reductions};
use selvedge_machine::ViolationKind;
use selvedge_machine::interp::{InterpOptions, Interpreter};
use selvedge_machine::session::Limits;
use std::collections::BTreeSet;
use std::fmt::Write;

const MODELS: [MemoryModel; 4] = [MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Ra, MemoryModel::Rc11];

/// The first two variables are what is waited for.
const VARIABLES: u64 = 4;

/// A statement of a thread; variables are numbers.
#[derive(Clone, Debug)]
enum Statement {
    Store(u64, u64),
    /// Reads, and stores if it has read a value.
    If(u64, u64, Vec<(u64, u64)>),
    /// Waits until two variables are equal.
    Until(u64, u64),
    /// Reads twice until that gives the same; sleeps in between, while another variable is 0, if it has read a value.
    Sleep(u64, u64, u64),
}

/// The code of a thread, and the values that it leaves in the end. No other reads are in between.
#[derive(Default)]
struct Body {
    code: String,
    names: u32,
    kept: Vec<String>,
}

impl Body {
    fn name(&mut self) -> String {
        self.names += 1;
        format!("n{}", self.names)
    }

    fn line(&mut self, line: &str) {
        writeln!(self.code, "  {line}").expect("writing to a string succeeds");
    }

    fn make(&mut self, what: &str) -> String {
        let name = self.name();
        self.line(&format!("{name}: i32 = {what}"));
        name
    }

    fn load(&mut self, variable: u64) -> String {
        self.make(&format!("load i32 @v{variable}, acq"))
    }

    /// Branches on a comparison, and begins the block `next`.
    fn branch(&mut self, comparison: &str, (yes, no): (&str, &str), next: &str) {
        let condition = self.name();
        self.line(&format!("{condition}: i1 = cmp {comparison}"));
        self.line(&format!("condbr {condition}, {yes}, {no}"));
        self.block(next);
    }

    fn block(&mut self, name: &str) {
        writeln!(self.code, "{name}:").expect("writing to a string succeeds");
    }

    fn jump(&mut self, name: &str) {
        self.line(&format!("br {name}"));
        self.block(name);
    }

    fn statement(&mut self, statement: &Statement) {
        let (start, end) = (self.name(), self.name());
        match statement {
            Statement::Store(v, k) => self.line(&format!("store i32 {k}, @v{v}, rel")),
            Statement::If(v, k, stores) => {
                let read = self.load(*v);
                self.branch(&format!("eq i32 {read}, {k}"), (&start, &end), &start);
                for (w, l) in stores {
                    self.line(&format!("store i32 {l}, @v{w}, rel"));
                }
                self.jump(&end);
                self.kept.push(read);
            }
            Statement::Until(v, w) => {
                self.jump(&start);
                let (a, b) = (self.load(*v), self.load(*w));
                self.branch(&format!("eq i32 {a}, {b}"), (&end, &start), &end);
                self.kept.push(a);
            }
            Statement::Sleep(v, w, k) => {
                let (sleep, again) = (self.name(), self.name());
                self.jump(&start);
                let a = self.load(*v);
                self.branch(&format!("eq i32 {a}, {k}"), (&sleep, &again), &sleep);
                let word = self.load(*w);
                self.branch(&format!("eq i32 {word}, 0"), (&sleep, &again), &again);
                let b = self.load(*v);
                self.branch(&format!("eq i32 {a}, {b}"), (&end, &start), &end);
                self.kept.push(a);
            }
        }
    }

    /// All that was kept, as one value.
    fn leave(&mut self, thread: usize) {
        let mut sum = "0".to_owned();
        for value in std::mem::take(&mut self.kept) {
            let moved = self.make(&format!("shl i32 {sum}, 2"));
            sum = self.make(&format!("or i32 {moved}, {value}"));
        }
        self.line(&format!("store i32 {sum}, @r{thread}, rlx"));
    }
}

/// In the end, `main` reads at an address behind an object that encodes all final values: each outcome is a violation.
fn text(threads: &[Vec<Statement>]) -> String {
    let mut text = "declare @malloc(i64) -> ptr\ndeclare @pthread_create(ptr, ptr, ptr, ptr) -> i32\n".to_owned();
    text.push_str("declare @pthread_join(i64, ptr) -> i32\n");
    let mut main = Body::default();
    main.line("p: ptr = call @malloc(i64 1)");
    let mut names: Vec<String> = (0..VARIABLES).map(|v| format!("v{v}")).collect();
    names.extend((0..threads.len()).map(|n| format!("r{n}")));
    names.iter().for_each(|name| text.push_str(&format!("global @{name} : 4 align 4\n")));
    for (n, thread) in threads.iter().enumerate() {
        let mut body = Body::default();
        thread.iter().for_each(|statement| body.statement(statement));
        body.leave(n);
        text.push_str(&format!("func @t{n}(arg: ptr) -> ptr {{\nentry:\n{}  ret null\n}}\n", body.code));
        main.line(&format!("h{n}: ptr = alloca 8 align 8"));
        main.line(&format!("c{n}: i32 = call @pthread_create(ptr h{n}, ptr null, ptr @t{n}, ptr null)"));
    }
    for n in 0..threads.len() {
        main.line(&format!("i{n}: i64 = load i64 h{n}"));
        main.line(&format!("j{n}: i32 = call @pthread_join(i64 i{n}, ptr null)"));
    }
    let mut sum = "0".to_owned();
    for (n, name) in names.iter().enumerate() {
        main.line(&format!("a{n}: i32 = load i32 @{name}, rlx"));
        main.line(&format!("b{n}: i64 = zext i32 a{n} to i64"));
        main.line(&format!("d{n}: i64 = shl i64 b{n}, {}", 4 * n));
        main.line(&format!("e{n}: i64 = add i64 {sum}, d{n}"));
        sum = format!("e{n}");
    }
    main.line(&format!("q: ptr = ptradd p, {sum} * 1 + 1"));
    main.line("bad: i8 = load i8 q");
    text.push_str(&format!("func @main() -> i32 {{\nentry:\n{}  ret 0\n}}\n", main.code));
    text
}

/// How many executions are complete, and their outcomes; none if there are too many.
fn explored(text: &str, model: MemoryModel, reductions: Reductions) -> Option<(u64, BTreeSet<String>)> {
    let passes = Passes { verify: true, purity: true, await_: true, ..Passes::default() };
    let mut module = selvedge_ir::parse_module(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    prepare(&mut module, &passes).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = InterpOptions { dynamic_purity: true, atomics_publish: true, ..InterpOptions::default() };
    let machine = Interpreter::new(&module, options).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let limits = Limits { all: true, max_executions: Some(2_000), ..Default::default() };
    let explored = selvedge_graph::explore(machine, &Options { model, reductions, limits }, &mut |_| {});
    assert_eq!(explored.unsupported, None, "{}\n{text}", model.name());
    let violations = explored.violations.iter().map(|found| &found.violation);
    let is_outcome = |kind| !matches!(kind, ViolationKind::Livelock | ViolationKind::Deadlock);
    let outcomes = violations.filter(|v| is_outcome(v.kind)).map(|v| v.message.clone()).collect();
    explored.interruption.is_none().then_some((explored.complete, outcomes))
}

/// Compares with TruSt, which leaves nothing out; the number of complete executions.
fn compare(threads: &[Vec<Statement>], model: MemoryModel, relaxed: bool) -> Option<u64> {
    let mut text = text(threads);
    if relaxed {
        text = text.replace(", acq\n", ", rlx\n").replace(", rel\n", ", rlx\n");
    }
    let expected = explored(&text, model, Reductions::NONE)?;
    let found = explored(&text, model, Reductions::ALL)?;
    assert_eq!(found, expected, "{}: {threads:?}", model.name());
    Some(found.0)
}

/// `y = 2` revisits the read of the fourth thread, and may stand before `y = 1`, which the third has read. In that graph
/// the third thread's read is still coherence-last, and is revisited by `y = 3`: that brings the news.
#[test]
fn a_read_is_revisited_though_a_write_that_it_has_not_seen_has_come() {
    use Statement::{If, Store, Until};
    let news = || vec![(1, 1), (0, 1)];
    let threads = [
        vec![Until(0, 1)],
        vec![Store(2, 1)],
        vec![If(2, 3, news())],
        vec![If(2, 1, news()), Store(2, 3)],
        vec![Store(2, 2)],
    ];
    for model in MODELS {
        assert_eq!(compare(&threads, model, false), Some(75), "{}", model.name());
    }
}

/// The last thread's `x = 0` comes after `x = 2` by program order and reads-from, and yet may stand before it in coherence
/// order, since all is relaxed. So these two are unordered, and a read of `x` that waits may not be settled in place.
#[test]
fn a_relaxed_write_may_stand_before_what_it_comes_from() {
    use Statement::{If, Until};
    let threads = [vec![Until(1, 0)], vec![If(1, 0, vec![(0, 2), (2, 2)])], vec![If(2, 2, vec![(0, 0)])]];
    assert_eq!(compare(&threads, MemoryModel::Rc11, true), Some(5));
    for model in MODELS {
        compare(&threads, model, true);
    }
}

/// A small generator of numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn statement(&mut self) -> Statement {
        // Conditions are about the last two variables.
        let (v, k, l) = (2 + self.below(5) / 4, self.below(3), 1 + self.below(3));
        match self.below(20) {
            0..=7 => Statement::Store(v, l),
            8..=14 => Statement::If(v, k, if self.below(2) == 0 { vec![(1, l), (0, l)] } else { vec![(0, l), (1, l)] }),
            15 => Statement::If(v, k, vec![(self.below(2), l)]),
            16 | 17 => Statement::If(v, k, vec![(5 - v, l)]),
            18 => Statement::Until(0, 1),
            _ => Statement::Sleep(self.below(2), v, k),
        }
    }
}

#[test]
fn random_programs_that_wait_for_news_have_all_complete_executions() {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (first, programs) = (number("SEED", 0), number("SELVEDGE_LOOP_PROGRAMS", 1_600));
    let mut compared = 0;
    for seed in first..first + programs {
        let mut random = Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.below(2);
        let mut threads = vec![vec![Statement::Until(0, 1)]];
        for _ in 0..3 + random.below(2) {
            threads.push((0..1 + random.below(4) / 2).map(|_| random.statement()).collect());
        }
        let (model, relaxed) = (MODELS[seed as usize % MODELS.len()], seed as usize / MODELS.len() % 2 == 1);
        compared += u64::from(compare(&threads, model, relaxed).is_some());
    }
    assert!(compared * 2 > programs, "only {compared} programs were small enough");
}

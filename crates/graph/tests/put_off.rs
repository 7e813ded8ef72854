//! Programs in which one thread waits for two variables to be equal, which they are, and others write these under
//! conditions: whatever is left out because nothing comes of it, all complete executions are found.

use selvedge_analysis::{Options as Passes, prepare};
use selvedge_graph::{MemoryModel, Options, Reductions};
use selvedge_machine::ViolationKind;
use selvedge_machine::interp::{InterpOptions, Interpreter};
use selvedge_machine::session::Limits;
use selvedge_machine::verdict::Exploration;
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
    /// Changes the lowest bit of a variable with an exchange that is repeated until it succeeds; in between reads another
    /// one, and stores in the end if it has read a value.
    Toggle(u64, u64, u64, Vec<(u64, u64)>),
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

    fn store_if(&mut self, read: &str, k: u64, stores: &[(u64, u64)]) {
        let (start, end) = (self.name(), self.name());
        self.branch(&format!("eq i32 {read}, {k}"), (&start, &end), &start);
        for (w, l) in stores {
            self.line(&format!("store i32 {l}, @v{w}, rel"));
        }
        self.jump(&end);
    }

    fn statement(&mut self, statement: &Statement) {
        let (start, end) = (self.name(), self.name());
        match statement {
            Statement::Store(v, k) => self.line(&format!("store i32 {k}, @v{v}, rel")),
            Statement::If(v, k, stores) => {
                let read = self.load(*v);
                self.store_if(&read, *k, stores);
                self.kept.push(read);
            }
            Statement::Toggle(v, w, k, stores) => {
                self.jump(&start);
                let (a, b) = (self.load(*v), self.load(*w));
                let new = self.make(&format!("xor i32 {a}, 1"));
                let (old, done) = (self.name(), self.name());
                self.line(&format!("{old}: i32, {done}: i1 = cas i32 @v{v}, {a}, {new}, acqrel, acq"));
                self.line(&format!("condbr {done}, {end}, {start}"));
                self.block(&end);
                self.store_if(&b, *k, stores);
                self.kept.push(b);
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

/// What was explored: how many executions, and the outcomes of those that are complete.
struct Explored {
    complete: u64,
    blocked: u64,
    outcomes: BTreeSet<String>,
}

/// None if there are too many executions.
fn explored(text: &str, model: MemoryModel, reductions: Reductions) -> Option<Explored> {
    let passes = Passes { verify: true, purity: true, await_: true, confirm: true, ..Passes::default() };
    let mut module = selvedge_ir::parse_module(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    prepare(&mut module, &passes).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = InterpOptions { dynamic_purity: true, atomics_publish: true, ..InterpOptions::default() };
    let machine = Interpreter::new(&module, options).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let limits = Limits { all: true, max_executions: Some(2_000), ..Default::default() };
    let explored =
        selvedge_graph::explore(machine, &Options { model, reductions, preemptions: None, limits }, &mut |_| {});
    assert_eq!(explored.unsupported, None, "{}\n{text}", model.name());
    let violations = explored.violations.iter().map(|found| &found.violation);
    let is_outcome = |kind| !matches!(kind, ViolationKind::Livelock | ViolationKind::Deadlock);
    let outcomes = violations.filter(|v| is_outcome(v.kind)).map(|v| v.message.clone()).collect();
    let Exploration { complete, blocked, .. } = explored;
    explored.interruption.is_none().then_some(Explored { complete, blocked, outcomes })
}

/// Compares with TruSt, which leaves nothing out; the number of complete and of blocked executions.
fn compare(threads: &[Vec<Statement>], model: MemoryModel, relaxed: bool) -> Option<(u64, u64)> {
    let mut text = text(threads);
    if relaxed {
        text = text.replace(", acq\n", ", rlx\n").replace(", rel\n", ", rlx\n");
    }
    let expected = explored(&text, model, Reductions::NONE)?;
    let found = explored(&text, model, Reductions::ALL)?;
    assert_eq!(found.complete, expected.complete, "{}: {threads:?}", model.name());
    assert_eq!(found.outcomes, expected.outcomes, "{}: {threads:?}", model.name());
    Some((found.complete, found.blocked))
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
        assert_eq!(compare(&threads, model, false).map(|(complete, _)| complete), Some(75), "{}", model.name());
    }
}

/// The news comes from the third thread if it reads 0 from `v2`, and that is 1 already when it takes its turn; and from
/// `v3` it must read what the last thread writes. With the coherence-last values it would get on. That the last thread
/// writes is seen only if these are read, although no news comes then.
#[test]
fn what_another_attempt_waits_for_is_seen_where_no_news_comes() {
    use Statement::{If, Store, Until};
    let second = vec![Store(3, 1), Until(2, 3), If(2, 0, vec![(1, 1), (0, 1)])];
    let threads = [vec![Until(0, 1)], vec![Store(2, 1)], second, vec![Store(3, 0)]];
    for model in MODELS {
        assert_eq!(compare(&threads, model, false).map(|(complete, _)| complete), Some(5), "{}", model.name());
    }
}

/// A speculative read that waits for another one may be told to read from an older write of the same value: so it may be
/// what the news needs it to be, although it has read something newer when it was added.
#[test]
fn a_speculative_read_may_be_made_to_read_something_older() {
    use Statement::{Toggle, Until};
    let toggle = |v, k, stores: &[(u64, u64)]| Toggle(2, v, k, stores.to_vec());
    let threads = [
        vec![Until(0, 1)],
        vec![toggle(3, 1, &[]), toggle(3, 0, &[(1, 2), (0, 2)])],
        vec![toggle(2, 0, &[(0, 2), (1, 2)])],
        vec![toggle(3, 1, &[])],
    ];
    for model in MODELS {
        assert!(compare(&threads, model, false).is_some(), "{}: there are too many executions", model.name());
    }
}

/// The attempt of the first thread is put off for the last, which writes if it reads 0 from `v2`. That is 1 when it comes
/// to that, and if it reads so, nothing comes.
#[test]
fn a_read_of_the_newest_value_is_left_out_if_the_news_needs_an_older_one() {
    use Statement::{If, Store, Until};
    let threads = [vec![Until(0, 1)], vec![Store(2, 1)], vec![If(2, 0, vec![(1, 1), (0, 1)])]];
    for model in MODELS {
        assert_eq!(compare(&threads, model, false), Some((3, 0)), "{}", model.name());
    }
}

/// Two ways that exclude each other, and reads that may still be revisited: some graphs are explored in vain.
#[test]
fn what_is_explored_in_vain_is_known() {
    use Statement::{If, Store, Until};
    let threads = [
        vec![Until(0, 1)],
        vec![If(2, 1, vec![(0, 1), (1, 1)])],
        vec![If(2, 0, vec![(1, 1), (0, 1)])],
        vec![Store(2, 1)],
    ];
    for (model, expected) in MODELS.into_iter().zip([(19, 2), (19, 2), (23, 3), (23, 3)]) {
        assert_eq!(compare(&threads, model, false), Some(expected), "{}", model.name());
    }
}

/// The last thread's `x = 0` comes after `x = 2` by program order and reads-from, and yet may stand before it in coherence
/// order, since all is relaxed. So these two are unordered, and a read of `x` that waits may not be settled in place.
#[test]
fn a_relaxed_write_may_stand_before_what_it_comes_from() {
    use Statement::{If, Until};
    let threads = [vec![Until(1, 0)], vec![If(1, 0, vec![(0, 2), (2, 2)])], vec![If(2, 2, vec![(0, 0)])]];
    assert_eq!(compare(&threads, MemoryModel::Rc11, true).map(|(complete, _)| complete), Some(5));
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

    fn toggle(&mut self) -> Statement {
        let (k, l) = (self.below(2), 1 + self.below(2));
        let news = if self.below(2) == 0 { vec![(1, l), (0, l)] } else { vec![(0, l), (1, l)] };
        match self.below(8) {
            0..=2 => Statement::Toggle(2, 3, k, if self.below(2) == 0 { news } else { vec![] }),
            3 => Statement::Toggle(2, 2 + self.below(2), k, news),
            4..=5 => Statement::Store(3, l),
            6 => Statement::If(2, k, news),
            _ => Statement::If(3, k, news),
        }
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

/// Compares random programs in which the first thread waits: how many, and how many executions are blocked.
fn compare_all(programs: u64, mut others: impl FnMut(&mut Random) -> Vec<Vec<Statement>>) -> (u64, u64) {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (first, programs) = (number("SEED", 0), number("SELVEDGE_LOOP_PROGRAMS", programs));
    let (mut compared, mut blocked) = (0, 0);
    for seed in first..first + programs {
        let mut random = Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.below(2);
        let mut threads = vec![vec![Statement::Until(0, 1)]];
        threads.append(&mut others(&mut random));
        let (model, relaxed) = (MODELS[seed as usize % MODELS.len()], seed as usize / MODELS.len() % 2 == 1);
        if let Some((_, found)) = compare(&threads, model, relaxed) {
            compared += 1;
            blocked += found;
        }
    }
    assert!(compared * 2 > programs, "only {compared} programs were small enough");
    (compared, blocked)
}

#[test]
fn random_programs_that_wait_for_news_have_all_complete_executions() {
    let (compared, blocked) = compare_all(1_600, |random| {
        let length = |random: &mut Random| 1 + random.below(4) / 2;
        let threads = 3 + random.below(2);
        (0..threads).map(|_| (0..length(random)).map(|_| random.statement()).collect()).collect()
    });
    // Most of these wait for what nobody writes. Some have read something in front of their loop: that is not taken together with
    // what they would start again.
    assert!(blocked < compared * 39 / 4, "{blocked} blocked executions of {compared} programs");
}

#[test]
fn random_programs_with_speculative_reads_have_all_complete_executions() {
    compare_all(400, |random| {
        let length = |random: &mut Random| 1 + random.below(4) / 2;
        (0..3).map(|_| (0..length(random)).map(|_| random.toggle()).collect()).collect()
    });
}

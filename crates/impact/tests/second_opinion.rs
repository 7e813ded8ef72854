//! The solver in this process against Z3, on the questions that verifications really ask: those of random programs and of the
//! examples. Without `z3` there is nothing to compare with, and the test says so.

use selvedge_impact::build::build;
use selvedge_impact::iterate::Yield;
use selvedge_impact::solver::{Answer, Embedded, Solver, Statistics, Z3};
use selvedge_impact::term::{Term, Terms};
use selvedge_impact::verifier::{Limits, Verifier};
use selvedge_ir::Module;
use selvedge_oracle::generate::{generate, profile};
use selvedge_oracle::lower::lower;
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Questions of one program that are asked twice.
const QUESTIONS: u64 = 25;

/// Asks both; answers as the embedded one does.
struct Both {
    embedded: Embedded,
    z3: Rc<RefCell<Z3>>,
    asked: Rc<RefCell<u64>>,
    compared: u64,
}

impl Solver for Both {
    fn check(&mut self, terms: &mut Terms, conjuncts: &[Term]) -> Answer {
        let by_rewriting = self.embedded.statistics().rewritten;
        let answer = self.embedded.check(terms, conjuncts);
        let is_easy = self.embedded.statistics().rewritten > by_rewriting;
        if self.compared < QUESTIONS && (!is_easy || self.compared.is_multiple_of(4)) {
            self.compared += 1;
            *self.asked.borrow_mut() += 1;
            compare(&mut self.z3.borrow_mut(), terms, conjuncts, &answer);
        }
        answer
    }

    fn statistics(&self) -> Statistics {
        self.embedded.statistics()
    }
}

fn compare(z3: &mut Z3, terms: &mut Terms, conjuncts: &[Term], answer: &Answer) {
    let said =
        |terms: &Terms, formulas: &[Term]| formulas.iter().map(|&f| terms.text(f)).collect::<Vec<_>>().join("\n");
    match answer {
        Answer::Sat(values) => {
            let holds = conjuncts.iter().all(|&c| values.eval(terms, c) == 1);
            assert!(holds, "the values do not fulfil\n{}", said(terms, conjuncts));
            let other = z3.check(terms, conjuncts);
            assert!(matches!(other, Answer::Sat(_)), "z3 says {other:?} of\n{}", said(terms, conjuncts));
        }
        Answer::Unsat(core) => {
            let needed: Vec<Term> = core.iter().map(|&n| conjuncts[n]).collect();
            let other = z3.check(terms, &needed);
            assert!(matches!(other, Answer::Unsat(_)), "z3 says {other:?} of the core\n{}", said(terms, &needed));
        }
        Answer::Unknown => {}
    }
}

/// Verifies a little of a program, with both solvers.
fn verify(module: &Module, z3: &Rc<RefCell<Z3>>, asked: &Rc<RefCell<u64>>) {
    let Ok(program) = build(module) else { return };
    let embedded = Embedded::new(Duration::from_secs(20), None);
    let both = Both { embedded, z3: Rc::clone(z3), asked: Rc::clone(asked), compared: 0 };
    let limits =
        Limits { deadline: Some(Instant::now() + Duration::from_secs(20)), nodes: Some(2_000), interrupt: None };
    let mut verifier = Verifier::new(program, Box::new(both), limits);
    let mut last = None;
    for _ in 0..4 {
        match verifier.next(last.as_ref(), true) {
            Ok(Yield::Safe(ivr)) => last = Some(ivr),
            Ok(Yield::Unsafe(_)) => {}
            Ok(Yield::Done(_)) | Err(_) => break,
        }
    }
}

#[test]
fn z3_agrees_on_the_questions_of_random_programs_and_examples() {
    let z3 = match Z3::start(Duration::from_secs(20), None) {
        Ok(z3) => Rc::new(RefCell::new(z3)),
        Err(error) => {
            println!("SKIPPED: z3 cannot be started ({error}); no second opinion was heard");
            return;
        }
    };
    let asked = Rc::new(RefCell::new(0));
    for name in ["choices", "guards", "locks", "tests"] {
        for seed in 0..6 {
            let (program, _) = generate(profile(name).expect("a profile"), seed, 3_000);
            let Some(lowered) = lower(&program) else { continue };
            let mut module = selvedge_ir::parse_module(&lowered.text).expect("well-formed");
            prepare(&mut module);
            verify(&module, &z3, &asked);
        }
    }
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/schedules");
    for name in
        ["producer_consumer_1p1c.c", "producer_consumer_bug.c", "barrier_ring.c", "filesystem.c", "double_lock.c"]
    {
        let options = selvedge_llvm::ClangOptions::default();
        let loaded = selvedge_llvm::load_quietly(&[examples.join(name)], &options).expect("the example compiles");
        let mut module = loaded.module;
        prepare(&mut module);
        verify(&module, &z3, &asked);
    }
    let asked = *asked.borrow();
    println!("{asked} questions were asked twice");
    assert!(asked > 100, "only {asked} questions were asked twice");
}

#[test]
fn z3_finds_values_and_cores_by_itself() {
    let Ok(mut z3) = Z3::start(Duration::from_secs(20), None) else {
        println!("SKIPPED: z3 cannot be started");
        return;
    };
    let mut t = Terms::default();
    let (x, a) = (t.symbol("x", 32, false, false), t.symbol("a", 16, true, false));
    let x = t.var(x);
    let wide = t.zext(x, 64);
    let array = selvedge_impact::term::State::default().array(a);
    let element = t.read(&array, wide);
    let (five, nine, seven) = (t.number(5, 32), t.number(9, 32), t.number(7, 16));
    let conjuncts = [t.ult(five, x), t.ult(x, nine), t.eq(element, seven)];
    let Answer::Sat(values) = z3.check(&mut t, &conjuncts) else { panic!("there are such values") };
    assert!(conjuncts.iter().all(|&c| values.eval(&t, c) == 1));
    let product = t.mul(x, x);
    let three = t.number(3, 32);
    let never = t.eq(product, three);
    assert_eq!(z3.check(&mut t, &[conjuncts[0], never]), Answer::Unsat(vec![1]), "no square is 3 modulo 2^32");
}

fn prepare(module: &mut Module) {
    let options = selvedge_analysis::Options::for_schedules();
    selvedge_analysis::prepare(module, &options).expect("the passes keep the rules");
}

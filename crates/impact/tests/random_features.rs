//! The verifier on random programs in C with blocks of memory, allocated memory, pointers, nested creation of threads,
//! read-write locks, condition variables and local arrays: against every state of their automata, and against every interleaving
//! of the interpreter.

mod common;

use common::features::{KINDS, Kind, Program, generate};
use common::prepared;
use common::trial::{Came, Random, attempt, compare, interpreted, try_all};
use selvedge_impact::build::build;
use selvedge_impact::iterate::Verdict;
use selvedge_ir::Module;
use selvedge_machine::ViolationKind;
use selvedge_oracle::automata::explore;

fn loaded(program: &Program) -> Module {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("p.c");
    std::fs::write(&file, program.text()).expect("a file");
    selvedge_llvm::load(&[file], &selvedge_llvm::ClangOptions::default()).expect("it compiles")
}

impl Random for Program {
    fn text(&self) -> String {
        Program::text(self)
    }

    fn smaller(&self) -> Vec<Program> {
        Program::smaller(self)
    }

    fn agrees(&self) -> Result<Came, String> {
        let plain = loaded(self);
        let module = prepared(plain.clone());
        let Ok(automata) = build(&module) else { return Ok(Came::Nowhere) };
        let found = interpreted(&plain, 4_000)?;
        let unwritten = found.as_ref().is_some_and(|found| found.errors.contains(&ViolationKind::UninitialisedRead));
        let Some(reach) = explore(&automata, &[0, 1], 6_000) else { return Ok(Came::Nowhere) };
        let text = self.text();
        if unwritten && text.contains("int a[4]") {
            // Elements of local arrays have any value at first, and to read them is no error: the oracle of states knows zeros
            // only.
            return Ok(Came::Nowhere);
        }
        let Some(outcome) = attempt(&module, 400)? else { return Ok(Came::Nowhere) };
        if let Some(found) = &found {
            let said = format!("{:?}, {:?}, deadlock {}", outcome.verdict, found.errors, found.deadlock);
            let nothing = !found.deadlock && found.errors.is_empty();
            if outcome.verdict == Ok(Verdict::Safe) && !nothing {
                return Err(format!("safe, but the interpreter finds something: {said}"));
            }
            if !outcome.wrong.is_empty() && nothing {
                return Err(format!("a counterexample, but the interpreter finds nothing: {said}"));
            }
            let same = found.errors.is_empty() == reach.errors.is_empty() && found.deadlock == reach.deadlock;
            if !reach.cyclic && !same {
                return Err(format!("the interpreter: {said}; the automata: {reach:?}"));
            }
        }
        compare(&outcome, &reach, text.contains("= __VERIFIER") || text.contains("(__VERIFIER"))?;
        Ok(Came::with(&outcome))
    }
}

#[test]
fn the_verifier_says_what_the_oracles_say() {
    for kind in KINDS {
        let share = if kind == Kind::LocalArrays { 4 } else { 2 };
        try_all(&format!("{kind:?}"), 8, share, |seed| generate(kind, seed));
    }
}

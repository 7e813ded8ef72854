//! The verifier on random programs with loops, against every state of their automata, and against every interleaving of
//! the interpreter where these come to an end.

mod common;

use common::prepared;
use common::random::{KINDS, Program, generate};
use common::trial::{Came, Random, attempt, compare, interpreted, try_all};
use selvedge_impact::build::build;
use selvedge_oracle::automata::{Reach, explore};

impl Random for Program {
    fn text(&self) -> String {
        Program::text(self)
    }

    fn smaller(&self) -> Vec<Program> {
        Program::smaller(self)
    }

    fn agrees(&self) -> Result<Came, String> {
        let plain = selvedge_ir::parse_module(&self.text()).map_err(|error| error.to_string())?;
        let module = prepared(plain.clone());
        let Ok(automata) = build(&module) else { return Ok(Came::Nowhere) };
        let Some(reach) = explore(&automata, &[0, 1], 6_000) else { return Ok(Came::Nowhere) };
        let Some(outcome) = attempt(&module, 300)? else { return Ok(Came::Nowhere) };
        compare(&outcome, &reach, format!("{self:?}").contains("Input"))?;
        against_the_interpreter(&plain, &reach, self)?;
        Ok(Came::with(&outcome))
    }
}

/// The automata mean what the interpreter does: the same kinds of violations. An assumption that fails for good is a
/// deadlock for the verifier alone.
fn against_the_interpreter(module: &selvedge_ir::Module, reach: &Reach, program: &Program) -> Result<(), String> {
    if reach.cyclic {
        return Ok(());
    }
    let Some(found) = interpreted(module, 3_000)? else { return Ok(()) };
    let assumes = format!("{program:?}").contains("Assume");
    let same_deadlock = found.deadlock == reach.deadlock || (assumes && reach.deadlock);
    if found.errors.is_empty() != reach.errors.is_empty() || !same_deadlock {
        let (errors, deadlock) = (found.errors, found.deadlock);
        return Err(format!("the interpreter: {errors:?}, deadlock {deadlock}; the automata: {reach:?}"));
    }
    Ok(())
}

#[test]
fn the_verifier_says_what_the_oracles_say() {
    for kind in KINDS {
        try_all(kind.name, 15, 2, |seed| generate(kind, seed));
    }
}

//! Trees of the verifier.

use selvedge_impact::build::build;
use selvedge_impact::iterate::Yield;
use selvedge_impact::solver::Embedded;
use selvedge_impact::verifier::{Limits, Verifier};
use selvedge_ir::Module;
use selvedge_schedule::{Program, PublishedArt};
use std::time::Duration;

/// The first result of the verifier, as it is published.
pub fn verified(module: &Module) -> PublishedArt {
    let program = build(module).expect("it can be encoded");
    let solver = Box::new(Embedded::new(Duration::from_secs(20), None));
    let mut verifier = Verifier::new(program, solver, Limits::default());
    loop {
        match verifier.next(None, false).expect("it comes to a result") {
            Yield::Safe(ivr) => {
                let published =
                    verifier.publish(&ivr, module, Program { hash: "test".to_owned(), ..Program::default() }, 1);
                return verifier.open_turns(&ivr, published);
            }
            Yield::Unsafe(_) => {}
            Yield::Done(_) => panic!("it has a safe schedule"),
        }
    }
}

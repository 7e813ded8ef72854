//! One random program after another, until an engine is wrong.

use crate::check::{Disagreement, Explored, Mode, Reduction, Subject, compare};
use crate::enumerate::Enumeration;
use crate::generate::{Profile, Size, generate_sized};
use crate::litmus::Program;
use crate::machine::LitmusMachine;
use crate::shrink::shrink;
use crate::trial::{self, Tried, caught, try_all};

/// An engine: explores a program in a mode, and gives up after so many executions.
pub type Engine<'a> = &'a dyn Fn(LitmusMachine, Mode, u64) -> Explored;

/// Which programs are tried, and how many.
pub type Plan = trial::Plan<Profile, Size, Mode>;

/// What came out.
pub type FuzzReport = trial::FuzzReport<Program, Disagreement>;

/// Tries programs as planned.
pub fn fuzz(plan: &Plan, engine: Engine<'_>) -> FuzzReport {
    // How many interleavings there are is known of small programs only.
    let counted = matches!(plan.size, Size::Interleavings(_));
    let modes: Vec<Mode> = plan.modes.iter().copied().filter(|m| counted || m.reduction != Reduction::None).collect();
    try_all(plan, plan.profile.name, |seed| {
        let (program, found) = generate_sized(plan.profile, seed, plan.size);
        let wrong = check(&program, &found, &modes, engine).err();
        Tried {
            executions: found.executions,
            classes: found.classes.len() as u64,
            wrong: wrong.map(|disagreement| shrunk(&program, disagreement, plan.size, engine)),
        }
    })
}

/// Compares an engine with the enumerator on one program.
pub fn check(program: &Program, found: &Enumeration, modes: &[Mode], engine: Engine<'_>) -> Result<(), Disagreement> {
    modes.iter().try_for_each(|&mode| check_one(program, found, mode, engine))
}

fn check_one(program: &Program, found: &Enumeration, mode: Mode, engine: Engine<'_>) -> Result<(), Disagreement> {
    let machine = LitmusMachine::new(program.clone()).expect("the program was enumerated");
    // More executions than there are interleavings cannot be right: no need to wait for an engine that does not end. (If
    // only classes were counted, an optimal one starts no more than these.)
    let most = match mode.reduction {
        Reduction::Source => 100 * found.executions,
        Reduction::None | Reduction::Optimal => found.executions + 1,
    };
    match caught(|| engine(machine, mode, most)) {
        Ok(explored) => compare(program, found, &explored, mode),
        Err(details) => Err(Disagreement { subject: Subject::Panic, mode, details }),
    }
}

/// The smallest program with the same kind of disagreement.
fn shrunk(program: &Program, disagreement: Disagreement, size: Size, engine: Engine<'_>) -> (Program, Disagreement) {
    // A little more than the limit, since a program can have more interleavings when an instruction is dropped.
    let size = match size {
        Size::Interleavings(most) => Size::Interleavings(most.max(20_000)),
        Size::Prefixes(most) => Size::Prefixes(2 * most),
    };
    trial::shrunk(
        disagreement,
        |fails| shrink(program, fails),
        |candidate, latest| check_one(candidate, &size.enumerate(candidate)?, latest.mode, engine).err(),
        |other, latest| other.subject == latest.subject,
    )
}

//! One random program after another, until an engine is wrong.

use super::actor::ActorMachine;
use super::check::{Disagreement, Explored, Known, Mode, Size, Subject, compare};
use super::generate::{Profile, generate_sized};
use super::naive::Delivery;
use super::program::Program;
use super::shrink::shrink;
use crate::trial::{self, Tried, caught, try_all};

/// An engine: explores a program in a mode, and gives up after so many executions.
pub type Engine<'a> = &'a dyn Fn(ActorMachine, Mode, u64) -> Explored;

/// Which programs are tried, and how many.
pub type Plan = trial::Plan<Profile, Size, Mode>;

/// What came out.
pub type FuzzReport = trial::FuzzReport<Program, Disagreement>;

/// Tries programs as planned.
pub fn fuzz(plan: &Plan, engine: Engine<'_>) -> FuzzReport {
    try_all(plan, plan.profile.name, |seed| {
        let (program, mut known) = generate_sized(plan.profile, seed, plan.size);
        let wrong = check(&program, &mut known, plan.modes, engine).err();
        Tried {
            executions: known.iter().map(|one| one.found.executions).sum(),
            classes: known.iter().map(|one| (one.found.plain.len() + one.found.observers.len()) as u64).sum(),
            wrong: wrong.map(|disagreement| shrunk(&program, disagreement, plan.size, engine)),
        }
    })
}

/// Compares an engine with the enumerator on one program, whose executions are known for both kinds of delivery.
pub fn check(
    program: &Program,
    known: &mut [Known; 2],
    modes: &[Mode],
    engine: Engine<'_>,
) -> Result<(), Disagreement> {
    let [instant, fifo] = known;
    modes.iter().try_for_each(|&mode| {
        let known = if mode.delivery == Delivery::Instant { &mut *instant } else { &mut *fifo };
        check_one(program, known, mode, engine)
    })
}

/// The same for a program in a file; an error if it is too large.
pub fn check_program(
    program: &Program,
    modes: &[Mode],
    engine: Engine<'_>,
) -> Result<Result<(), Disagreement>, String> {
    let size = Size::Prefixes(200_000);
    let known =
        |delivery| Known::new(program, delivery, size).ok_or_else(|| format!("{delivery:?}: the program is too large"));
    Ok(check(program, &mut [known(Delivery::Instant)?, known(Delivery::Fifo)?], modes, engine))
}

fn check_one(program: &Program, known: &mut Known, mode: Mode, engine: Engine<'_>) -> Result<(), Disagreement> {
    let machine = ActorMachine::new(program.clone()).expect("the program was enumerated");
    // An engine that explores more than there are classes is wrong: no need to wait for the end.
    let most = 2 * known.found.of(mode.equivalence).len() as u64 + 2;
    match caught(|| engine(machine, mode, most)) {
        Ok(explored) => compare(known, &explored, mode),
        Err(details) => Err(Disagreement { subject: Subject::Panic, mode, details }),
    }
}

/// The smallest program with the same kind of disagreement.
fn shrunk(program: &Program, disagreement: Disagreement, size: Size, engine: Engine<'_>) -> (Program, Disagreement) {
    let size = match size {
        // A little more, since a program can have more interleavings when an instruction is dropped.
        Size::Interleavings(most) => Size::Interleavings(2 * most),
        Size::Prefixes(most) => Size::Prefixes(2 * most),
    };
    trial::shrunk(
        disagreement,
        |fails| shrink(program, fails),
        |candidate, latest| {
            let mut known = Known::new(candidate, latest.mode.delivery, size)?;
            check_one(candidate, &mut known, latest.mode, engine).err()
        },
        |other, latest| other.subject == latest.subject,
    )
}

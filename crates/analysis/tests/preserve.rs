//! Passes preserve what programs do: random programs show the same events and end the same way before and after.

mod programs;
mod reference;

use reference::{End, Outcome};
use selvedge_analysis::{LoopForest, Options, cleanup, dce, fold, mem2reg, prepare, sroa};
use selvedge_ir::{Function, InstKind, Module, Operand, parse_module, verify_module};

/// Loops in functions that are called in loops can take long; such programs are passed over.
const STEPS: usize = 50_000;

fn parse(seed: u64) -> Module {
    let text = programs::program(seed);
    let module = parse_module(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
    verify_module(&module).unwrap_or_else(|errors| panic!("seed {seed}: {errors}\n{text}"));
    module
}

fn outcome(module: &Module, steps: usize) -> Outcome {
    reference::run(module, module.function_named("main").expect("programs have a main"), steps)
}

/// How many times more programs than usual to try: the environment variable `SELVEDGE_FUZZ`.
fn factor() -> u64 {
    std::env::var("SELVEDGE_FUZZ").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Compares a program with what `change` makes of it, for many programs.
fn preserved(first: u64, count: u64, change: impl Fn(&mut Module)) {
    for seed in (0..count * factor()).map(|n| first + n) {
        let before = parse(seed);
        let expected = outcome(&before, STEPS);
        if expected.end == End::TooLong {
            continue;
        }
        let mut after = before.clone();
        change(&mut after);
        verify_module(&after).unwrap_or_else(|errors| panic!("seed {seed}: {errors}\n{before}\n{after}"));
        // Inlining adds jumps, so give it room.
        let found = outcome(&after, 2 * STEPS);
        for func in after.functions.values().filter(|func| !func.is_declaration()) {
            let forest = LoopForest::of(func);
            assert!(forest.irreducible.is_empty(), "seed {seed}: a loop got a second entry\n{before}\n{after}");
            let mut operands = func.placed_insts().flat_map(|(_, inst)| func.insts[inst].kind.operands());
            assert!(operands.all(|operand| operand != Operand::Undef), "seed {seed}: undef\n{before}\n{after}");
        }
        assert!(found == expected, "seed {seed}: {expected:?}\nbecame {found:?}\n{before}\n{after}");
    }
}

fn each(pass: fn(&mut Function) -> bool) -> impl Fn(&mut Module) {
    move |module| {
        module.functions.values_mut().filter(|func| !func.is_declaration()).for_each(|func| {
            pass(func);
        });
    }
}

#[test]
fn sroa_preserves_programs() {
    preserved(0, 100, each(sroa::run));
}

#[test]
fn mem2reg_preserves_programs() {
    preserved(300, 100, each(mem2reg::run));
}

#[test]
fn fold_preserves_programs() {
    preserved(600, 100, each(fold::run));
}

#[test]
fn dce_preserves_programs() {
    preserved(900, 100, each(dce::run));
}

#[test]
fn cleanup_preserves_programs() {
    preserved(1200, 100, each(cleanup::run));
}

#[test]
fn the_whole_pipeline_preserves_programs() {
    let options = Options { verify: true, ..Options::default() };
    preserved(1500, 100, |module| prepare(module, &options).unwrap_or_else(|error| panic!("{error}\n{module}")));
}

/// What the pipeline leaves is stable: a second run changes nothing but numbers of positions.
#[test]
fn the_pipeline_reaches_a_fixed_point_on_most_programs() {
    let options = Options { verify: true, ..Options::default() };
    let stable = (0..100).filter(|&seed| {
        let mut once = parse(seed);
        prepare(&mut once, &options).expect("the passes keep the rules");
        let mut twice = once.clone();
        prepare(&mut twice, &options).expect("the passes keep the rules");
        once.to_string() == twice.to_string()
    });
    assert!(stable.count() > 75);
}

/// The programs are worth something only if they end in different ways and give the passes work.
#[test]
fn random_programs_are_varied() {
    let (mut returned, mut uninitialised, mut arithmetic, mut events) = (0, 0, 0, 0);
    let (mut objects_before, mut objects_after) = (0, 0);
    let allocas = |module: &Module| {
        let count = |func: &Function| {
            let kinds = func.placed_insts().map(|(_, inst)| &func.insts[inst].kind);
            kinds.filter(|kind| matches!(kind, InstKind::Alloca { .. })).count()
        };
        module.functions.values().map(count).sum::<usize>()
    };
    for seed in 0..200 {
        let mut module = parse(seed);
        let outcome = outcome(&module, STEPS);
        events += outcome.events.len();
        match outcome.end {
            End::Returned(_) => returned += 1,
            End::Uninitialised => uninitialised += 1,
            End::Arithmetic(_) => arithmetic += 1,
            _ => {}
        }
        objects_before += allocas(&module);
        prepare(&mut module, &Options::default()).expect("the passes keep the rules");
        objects_after += allocas(&module);
    }
    assert!(returned > 100 && uninitialised > 8 && arithmetic > 5, "{returned} {uninitialised} {arithmetic}");
    assert!(events > 2_000, "{events}");
    assert!(objects_after * 2 < objects_before, "{objects_before} objects became {objects_after}");
}

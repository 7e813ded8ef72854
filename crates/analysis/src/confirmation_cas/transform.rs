//! The change to the program: a load in every attempt, an exchange that waits, marks on both.

use super::pattern::Pattern;
use super::source::Source;
use crate::dce;
use crate::purity::insertion::{as_type, make_start, place_start};
use crate::rewrite::{self, Replacements};
use selvedge_ir::{AwaitKind, CmpOp, Function, Inst, InstKind, Operand, Speculation};

/// Makes the exchange wait for the value that was read, and marks load and exchange if they are to be marked. The branch
/// on its success is decided then; the caller removes it.
pub fn run(func: &mut Function, pattern: &Pattern, mark: Option<Speculation>) {
    let load = match pattern.source {
        Source::Fresh(load) => load,
        Source::Carried { phi, first, again } => move_in(func, pattern, phi, first, again),
    };
    if let InstKind::Load { speculative, .. } = &mut func.insts[load].kind {
        *speculative = mark;
    }
    let exchange = pattern.attempt.exchange;
    let loc = func.insts[exchange].loc;
    let start = make_start(func, loc);
    let InstKind::Cas { ty, addr, expected, new, success, failure, path, .. } = func.insts[exchange].kind else {
        unreachable!("the pattern ends with a compare-and-exchange");
    };
    let mut code = Vec::new();
    let operand = as_type(func, expected, ty, loc, &mut code);
    let block = &mut func.blocks[pattern.attempt.block].insts;
    let at = block.iter().position(|&inst| inst == exchange).expect("the exchange stands in its block");
    block.splice(at..at, code);
    func.insts[exchange].kind = InstKind::Await {
        access: AwaitKind::Cas { expected, new, failure, confirms: mark.is_some() },
        ty,
        addr,
        order: success,
        until: CmpOp::Eq,
        mask: ty.mask(),
        operand,
        // A failing attempt starts again with a fresh value.
        retry: Some(Operand::Value(func.result(start))),
        path,
    };
    place_start(func, pattern.header, start);
}

/// Puts the load from in front of the loop at the start of its header, instead of the phi.
fn move_in(func: &mut Function, pattern: &Pattern, phi: Inst, first: Inst, again: Option<Inst>) -> Inst {
    let (ty, loc) = (func.values[func.result(phi)].ty, func.insts[first].loc);
    rewrite::remove_insts(func, |inst| inst == first || Some(inst) == again);
    let mut code = vec![first];
    let loaded = Operand::Value(func.result(first));
    let value = as_type(func, loaded, ty, loc, &mut code);
    let at = func.phis(pattern.header).count();
    func.blocks[pattern.header].insts.splice(at..at, code);
    let mut replacements = Replacements::new(func);
    replacements.set(func.result(phi), value);
    if let Some(again) = again {
        replacements.set(func.result(again), loaded);
    }
    replacements.apply(func);
    rewrite::remove_insts(func, |inst| inst == phi);
    // Conversions of what was loaded stand where it is not loaded any more, and nobody needs them.
    dce::run(func);
    first
}

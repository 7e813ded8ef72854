//! Header phis: whether an iteration ends in the local state that it began in.
//!
//! In SSA form the local state that an iteration hands to the next one is in the phis of the header. The paper calls the
//! header *impure* along a back edge on which some phi takes another value than when the loop was entered; the edge's
//! condition is then false. That is stricter than needed. An iteration may be left out if it ends in the state that it
//! began in, which is the condition `carried == phi` for every phi; it holds trivially where a phi carries itself. So
//! instead of giving up, these comparisons are added to the edge's condition.
//!
//! A loop around a compare-and-exchange that carries the observed value needs no special rule. Its condition is that the
//! exchange failed (`old != expected`) and that the observed value is the carried one (`old == expected`): a contradiction.
//! Such an iteration changes the local state, and another thread has made progress.
//!
//! Counters are recognised, so that the reason can name them; so are floating-point numbers, which have no comparison
//! of their bits here.

use super::forward_purity::Context;
use super::guards::{comparison, definition};
use super::purity_condition::{Condition, TooLarge};
use super::reasons::{Reason, Why};
use selvedge_ir::{BinaryOp, Block, CmpOp, InstKind, Operand};

/// The condition that the header's phis get the values that they have already, on a back edge from this latch.
pub fn unchanged(context: &Context<'_>, latch: Block, reasons: &mut Vec<Reason>) -> Result<Condition, TooLarge> {
    let func = context.func;
    let mut condition = Condition::always();
    for phi in func.phis(context.this.header) {
        let InstKind::Phi { ty, args } = &func.insts[phi].kind else { continue };
        let own = Operand::Value(func.result(phi));
        let carried = args.iter().find(|(block, _)| *block == latch).map_or(Operand::Undef, |&(_, arg)| arg);
        if carried == own {
            continue;
        }
        let same = match ty.is_float() || steps_on(context, carried, own) {
            true => Condition::never(),
            false => comparison(func, CmpOp::Eq, *ty, carried, own)?,
        };
        condition = condition.and(&same)?;
        if condition.is_never() {
            let loc = func.terminator(latch).map_or(func.loc, |last| func.insts[last].loc);
            reasons.push(Reason { loc, why: Why::Changes(func.result(phi)) });
            break;
        }
    }
    Ok(condition)
}

/// Whether a value is another one plus a constant that is not 0.
fn steps_on(context: &Context<'_>, value: Operand, from: Operand) -> bool {
    match definition(context.func, value) {
        Some((&InstKind::Binary { op: BinaryOp::Add | BinaryOp::Sub, a, b: Operand::Const(step), .. }, _)) => {
            a == from && step != 0
        }
        Some((&InstKind::PtrAdd { base, index: Operand::Const(0), offset, .. }, _)) => base == from && offset != 0,
        _ => false,
    }
}

//! With which values a load leads to the exchange that confirms it.
//!
//! Between load and exchange there may be branches. If one of them leads away (to the next node of a list and the same
//! load again, or out of the loop), then the load is speculative only with the values that do not lead there. What an
//! engine can tell from the value alone is whether it is zero; beyond that it can look whether the exchange comes next, if
//! nothing else stands between the two.

use super::pattern::{Pattern, blocks_between};
use super::source::Source;
use super::{Declined, Scene};
use crate::purity::forward_purity::out_edges;
use crate::purity::guards::comparison;
use crate::{Loop, LoopForest};
use selvedge_ir::{Block, CmpOp, Inst, InstKind, LocId, Operand, Speculation, Value, ValueDef};

/// How the load of a pattern is to be marked, and where the loop can be left between load and exchange.
pub fn of(scene: &Scene<'_>, pattern: &Pattern) -> Result<(Speculation, Vec<LocId>), Declined> {
    let func = scene.context.func;
    let exchange = pattern.attempt.exchange;
    // A load that is moved into the loop will stand at the start of its header.
    let (home, value, between) = match pattern.source {
        Source::Fresh(load) => {
            let home = func.placed_insts().find(|&(_, inst)| inst == load).map(|(block, _)| block);
            (home.expect("the load stands in the loop"), func.result(load), Some(load))
        }
        Source::Carried { phi, .. } => (pattern.header, func.result(phi), None),
    };
    let on_the_way = blocks_between(scene, home, pattern.attempt.block);
    let others = insts_between(scene, &on_the_way, (home, between), (pattern.attempt.block, exchange));
    if let Some(&fence) = others.iter().find(|&&inst| matches!(func.insts[inst].kind, InstKind::Fence { .. })) {
        return Err(Declined { why: "a fence stands between".to_owned(), loc: func.insts[fence].loc });
    }
    let is_access = |inst: Inst| matches!(func.insts[inst].kind, InstKind::Load { .. } | InstKind::Store { .. });
    let accesses = others.iter().any(|&inst| is_access(inst));
    let InstKind::Load { ty, .. } = func.insts[pattern.source.load()].kind else {
        unreachable!("the source is a load");
    };
    let test = |op| comparison(func, op, ty, Operand::Value(value), Operand::Const(0)).ok();
    let (zero, nonzero) = (test(CmpOp::Eq), test(CmpOp::Ne));
    let (mut mark, mut exits) = (Speculation::Always, Vec::new());
    for &block in on_the_way.iter().filter(|&&block| block != pattern.attempt.block) {
        let last = func.terminator(block).expect("blocks end with a terminator");
        let Ok(edges) = out_edges(func, block) else {
            return Err(Declined { why: "there are too many ways".to_owned(), loc: func.insts[last].loc });
        };
        for (to, taken) in edges {
            if on_the_way.contains(&to) && to != home {
                if scene.context.cfg.position(to) <= scene.context.cfg.position(block) {
                    return Err(Declined { why: "a loop stands between".to_owned(), loc: func.insts[last].loc });
                }
                continue;
            }
            match scene.context.this.contains(to) {
                true => is_walk(scene, pattern.source, home)?,
                false => exits.push(func.insts[last].loc),
            }
            let found = match Some(taken) {
                taken if taken == zero => Speculation::IfNonzero,
                taken if taken == nonzero => Speculation::IfZero,
                _ => Speculation::IfNext,
            };
            mark = if mark == Speculation::Always || mark == found { found } else { Speculation::IfNext };
        }
    }
    if mark == Speculation::IfNext && accesses {
        let why = "whether it is exchanged depends on more than the value that is read first".to_owned();
        return Err(Declined { why, loc: func.insts[exchange].loc });
    }
    exits.sort();
    Ok((mark, exits))
}

/// If the same load is made again, then from another address. A load that is repeated until it finds something is going
/// to be an await, and those are no speculation.
fn is_walk(scene: &Scene<'_>, source: Source, home: Block) -> Result<(), Declined> {
    let func = scene.context.func;
    let data = &func.insts[source.load()];
    let InstKind::Load { addr, .. } = data.kind else { unreachable!("the source is a load") };
    let forest = LoopForest::new(scene.context.cfg, scene.dominators);
    let inner = forest.innermost(home).map(|id| &forest.loops[id]);
    match (addr, inner) {
        (Operand::Value(value), Some(inner)) if varies(scene, inner, value) => Ok(()),
        _ => Err(Declined { why: "it is read until a value is found".to_owned(), loc: data.loc }),
    }
}

/// Whether a value depends on a phi of a loop's header, or on something that the loop reads.
fn varies(scene: &Scene<'_>, this: &Loop, value: Value) -> bool {
    let func = scene.context.func;
    let ValueDef::Result(inst, _) = func.values[value].def else { return false };
    if !this.blocks.iter().any(|&block| func.blocks[block].insts.contains(&inst)) {
        return false;
    }
    let kind = &func.insts[inst].kind;
    match kind {
        InstKind::Phi { .. } => true,
        _ if kind.is_pure() => kind.used_values().iter().any(|&used| varies(scene, this, used)),
        _ => true,
    }
}

/// The instructions between load (the start of its block, if none) and exchange.
fn insts_between(
    scene: &Scene<'_>,
    blocks: &[Block],
    (home, load): (Block, Option<Inst>),
    (end, exchange): (Block, Inst),
) -> Vec<Inst> {
    let func = scene.context.func;
    let mut found = Vec::new();
    for &block in blocks {
        let insts = &func.blocks[block].insts;
        let place = |inst: Inst| insts.iter().position(|&other| other == inst);
        let from = load.filter(|_| block == home).and_then(place).map_or(0, |at| at + 1);
        let to = if block == end { place(exchange).unwrap_or(insts.len()) } else { insts.len() };
        found.extend(insts.get(from..to).unwrap_or_default());
    }
    found
}

//! The shape of a confirmation-CAS loop: an attempt, an exchange that ends it, and nothing on the way back.

use super::source::{self, Source};
use super::{Declined, Scene};
use crate::purity::forward_purity::{is_pure_call, out_edges};
use crate::purity::guards::{comparison, original};
use crate::purity::private_store::leaves_nothing;
use crate::purity::report::Words;
use selvedge_ir::{Block, CmpOp, Inst, InstKind, Operand, ValueDef};

/// An exchange whose failure leads back to the header, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// The block of the exchange.
    pub block: Block,
    /// The exchange.
    pub exchange: Inst,
    /// Where control goes if it succeeds.
    pub onward: Block,
    /// The blocks on the way back to the header.
    pub back: Vec<Block>,
}

/// A confirmation-CAS loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// The loop's header.
    pub header: Block,
    /// Exchange and way back.
    pub attempt: Attempt,
    /// Where the expected value comes from.
    pub source: Source,
}

/// The way from a failed exchange to the loop's header; none if it does not lead there.
pub fn way_back(scene: &Scene<'_>, block: Block, exchange: Inst) -> Option<Result<Attempt, Declined>> {
    let func = scene.context.func;
    let this = scene.context.this;
    let data = &func.insts[exchange];
    let InstKind::Cas { ty, expected, .. } = data.kind else { return None };
    let old = Operand::Value(func.result(exchange));
    let (fails, succeeds) =
        (comparison(func, CmpOp::Ne, ty, old, expected), comparison(func, CmpOp::Eq, ty, old, expected));
    let (Ok(fails), Ok(succeeds), Ok(edges)) = (fails, succeeds, out_edges(func, block)) else { return None };
    let to = |condition| edges.iter().find(|(_, taken)| *taken == condition).map(|&(to, _)| to);
    let (Some(mut at), Some(onward)) = (to(fails), to(succeeds)) else {
        let why = match edges.len() {
            1 => "the loop goes on whether or not the exchange succeeds",
            _ => "what follows depends on more than whether the exchange succeeds",
        };
        return Some(Err(Declined { why: why.to_owned(), loc: data.loc }));
    };
    let mut back = Vec::new();
    let mut from = block;
    while at != this.header {
        if !this.contains(at) {
            return None;
        }
        let last = func.terminator(at)?;
        let InstKind::Br { dest } = func.insts[last].kind else {
            let why = "what follows a failed exchange depends on something else".to_owned();
            return Some(Err(Declined { why, loc: func.insts[last].loc }));
        };
        // Other ways round may join this one, if nothing is done there.
        let is_empty = || func.blocks[at].insts.iter().all(|&inst| inst == last || func.insts[inst].kind.is_pure());
        if scene.context.cfg.preds(at) != [from] && !is_empty() {
            let why = "other ways round the loop go on like a failed exchange".to_owned();
            return Some(Err(Declined { why, loc: func.insts[last].loc }));
        }
        back.push(at);
        (from, at) = (at, dest);
    }
    Some(Ok(Attempt { block, exchange, onward, back }))
}

/// Whether failing attempts change nothing and can be cut off.
pub fn recognise(scene: &Scene<'_>, attempt: Attempt, source: Source) -> Result<Pattern, Declined> {
    has_whole_bytes(scene, attempt.exchange)?;
    is_atomic(scene, source)?;
    carries_nothing(scene, &attempt, source)?;
    writes_nothing(scene, &attempt, source)?;
    source::may_move_in(scene, source, &attempt)?;
    Ok(Pattern { header: scene.context.this.header, attempt, source })
}

/// The machine waits for conditions on whole bytes only.
fn has_whole_bytes(scene: &Scene<'_>, exchange: Inst) -> Result<(), Declined> {
    let data = &scene.context.func.insts[exchange];
    match data.kind {
        InstKind::Cas { ty, .. } if !matches!(ty.bits(), 8 | 16 | 32 | 64) => {
            Err(Declined { why: format!("an {ty} is exchanged"), loc: data.loc })
        }
        _ => Ok(()),
    }
}

fn is_atomic(scene: &Scene<'_>, source: Source) -> Result<(), Declined> {
    let data = &scene.context.func.insts[source.load()];
    match data.kind {
        InstKind::Load { order, .. } if order.is_atomic() => Ok(()),
        _ => Err(Declined { why: "the load is not atomic".to_owned(), loc: data.loc }),
    }
}

/// The local state at the header is the same after a failing attempt, but for the expected value.
fn carries_nothing(scene: &Scene<'_>, attempt: &Attempt, source: Source) -> Result<(), Declined> {
    let func = scene.context.func;
    for phi in func.phis(scene.context.this.header) {
        let carried = carried(scene, attempt, phi);
        let own = Operand::Value(func.result(phi));
        let is_expected = matches!(source, Source::Carried { phi: expected, .. } if expected == phi);
        if carried != own && !is_expected && original(func, carried) != own {
            let name = &func.values[func.result(phi)].name;
            let name = if name.is_empty() { "a local variable" } else { name };
            let loc = func.insts[attempt.exchange].loc;
            return Err(Declined { why: format!("{name} changes with each attempt"), loc });
        }
    }
    Ok(())
}

/// What a phi of the header takes if the exchange fails.
fn carried(scene: &Scene<'_>, attempt: &Attempt, phi: Inst) -> Operand {
    let func = scene.context.func;
    let from = |phi: Inst, pred: Block| match &func.insts[phi].kind {
        InstKind::Phi { args, .. } => args.iter().find(|(block, _)| *block == pred).map(|&(_, arg)| arg),
        _ => None,
    };
    let mut blocks = attempt.back.iter().rev().copied().chain([attempt.block]);
    let mut block = blocks.next().expect("there is at least the block of the exchange");
    let mut operand = from(phi, block).unwrap_or(Operand::Undef);
    for pred in blocks {
        if let Operand::Value(value) = operand
            && let ValueDef::Result(inst, _) = func.values[value].def
            && func.blocks[block].insts.contains(&inst)
        {
            operand = from(inst, pred).unwrap_or(operand);
        }
        block = pred;
    }
    operand
}

/// An attempt that fails has written nothing that matters.
fn writes_nothing(scene: &Scene<'_>, attempt: &Attempt, source: Source) -> Result<(), Declined> {
    let func = scene.context.func;
    let attempted = blocks_between(scene, scene.context.this.header, attempt.block);
    for &block in attempted.iter().chain(&attempt.back) {
        for &inst in &func.blocks[block].insts {
            let data = &func.insts[inst];
            let is_back = attempt.back.contains(&block);
            match &data.kind {
                _ if inst == attempt.exchange => {}
                kind if kind.is_pure() || kind.is_terminator() => {}
                InstKind::Binary { .. } => {}
                InstKind::Load { .. } if !is_back || is_read_again(source, inst) => {}
                InstKind::Fence { .. } if !is_back => {}
                InstKind::Call { callee, .. } if is_pure_call(scene.context.module, *callee) => {}
                InstKind::Store { .. } if leaves_nothing(&scene.context, inst) => {}
                _ => return Err(Declined { why: act(scene, inst), loc: data.loc }),
            }
        }
    }
    Ok(())
}

fn is_read_again(source: Source, load: Inst) -> bool {
    matches!(source, Source::Carried { again: Some(again), .. } if again == load)
}

/// What an instruction does, in words.
fn act(scene: &Scene<'_>, inst: Inst) -> String {
    let words = Words { module: scene.context.module, func: scene.context.func };
    match scene.context.func.insts[inst].kind {
        InstKind::Cas { .. } => {
            format!("{} is exchanged as well", words.path(inst).unwrap_or_else(|| "memory".to_owned()))
        }
        InstKind::Store { .. } => format!("{}, and others or later attempts may see it", words.act(inst)),
        InstKind::Load { .. } => "something is read after a failed exchange".to_owned(),
        InstKind::Fence { .. } => "a fence follows a failed exchange".to_owned(),
        _ => words.act(inst),
    }
}

/// The blocks from which a block can be reached without passing another one, and both of these.
pub fn blocks_between(scene: &Scene<'_>, from: Block, to: Block) -> Vec<Block> {
    let mut found = vec![to];
    let mut next = 0;
    while next < found.len() {
        let block = found[next];
        next += 1;
        if block == from {
            continue;
        }
        for &pred in scene.context.cfg.preds(block) {
            if scene.context.this.contains(pred) && !found.contains(&pred) {
                found.push(pred);
            }
        }
    }
    found
}

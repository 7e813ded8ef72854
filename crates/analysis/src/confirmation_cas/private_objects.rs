//! Writes into objects that nobody else knows.
//!
//! An attempt to push a node writes the node's `next` before it tries to publish the node. That may be left out with the
//! attempt, if nobody can have looked: the object was made by this function, its address has gone nowhere before the
//! exchange succeeds, every attempt writes the same place again in front of its exchange, and no attempt reads from it.

use super::pattern::{Attempt, act};
use super::{Declined, Scene};
use crate::rewrite;
use selvedge_ir::{Block, Callee, CastOp, Inst, InstKind, Operand, Value, ValueDef};

/// Library functions that make an object which only their caller knows.
const ALLOCATORS: &[&str] =
    &["malloc", "calloc", "aligned_alloc", "memalign", "valloc", "_Znwm", "_Znam", "_ZnwmSt11align_val_t"];

/// How long a chain of address computations may be.
const MAX_DEPTH: usize = 8;

/// Whether a store of an attempt is into such an object.
pub fn check(scene: &Scene<'_>, attempt: &Attempt, (block, store): (Block, Inst)) -> Result<(), Declined> {
    let func = scene.context.func;
    let data = &func.insts[store];
    let declined = |why: String| Err(Declined { why, loc: data.loc });
    let InstKind::Store { addr, .. } = data.kind else { unreachable!("the caller has matched a store") };
    let Some((object, made)) = object(scene, addr) else {
        return declined(format!("{}, and others may know it", act(scene, store)));
    };
    if scene.context.this.contains(made) {
        return declined(format!("{}, which is made in the loop", act(scene, store)));
    }
    let place = |inst: Inst| func.blocks[block].insts.iter().position(|&other| other == inst);
    if block == attempt.block && place(store) > place(attempt.exchange) {
        return declined(format!("{} whether or not the exchange succeeds", act(scene, store)));
    }
    if block != attempt.block && !scene.dominators.dominates(block, attempt.block) {
        return declined(format!("{} in some attempts only", act(scene, store)));
    }
    if let Some(&(from, to)) = scene.context.this.exits.iter().find(|&&edge| edge != (attempt.block, attempt.onward)) {
        debug_assert!(!scene.context.this.contains(to), "an exit leads out");
        let loc = func.terminator(from).map_or(data.loc, |last| func.insts[last].loc);
        return Err(Declined { why: format!("{}, and the loop can be left without exchange", act(scene, store)), loc });
    }
    match escape(scene, attempt, object, made) {
        None => Ok(()),
        Some(inst) => {
            let line = scene.context.module.locs[func.insts[inst].loc].line;
            declined(format!("{}, and others may know it from line {line}", act(scene, store)))
        }
    }
}

/// The object that an address lies in, at a constant offset, and the block that makes it; none if it is not known.
fn object(scene: &Scene<'_>, addr: Operand) -> Option<(Value, Block)> {
    let func = scene.context.func;
    let mut addr = addr;
    for _ in 0..MAX_DEPTH {
        let Operand::Value(value) = addr else { return None };
        let ValueDef::Result(inst, 0) = func.values[value].def else { return None };
        match func.insts[inst].kind {
            InstKind::PtrAdd { base, index: Operand::Const(0), .. } => addr = base,
            InstKind::Call { callee: Callee::Direct(id), .. } => {
                let callee = &scene.context.module.functions[id];
                if !callee.is_declaration() || !ALLOCATORS.contains(&callee.name.as_str()) {
                    return None;
                }
                return home(scene, inst).map(|block| (value, block));
            }
            InstKind::Alloca { .. } => return home(scene, inst).map(|block| (value, block)),
            _ => return None,
        }
    }
    None
}

fn home(scene: &Scene<'_>, inst: Inst) -> Option<Block> {
    scene.context.func.placed_insts().find(|&(_, other)| other == inst).map(|(block, _)| block)
}

/// A use of the object's address, at a place from which control can come to the loop with this very object, that makes it
/// known to others or, in the loop, reads from it.
fn escape(scene: &Scene<'_>, attempt: &Attempt, object: Value, made: Block) -> Option<Inst> {
    let func = scene.context.func;
    let uses = rewrite::uses(func);
    let before = blocks_before(scene, made);
    let mut pointers = vec![object];
    let mut next = 0;
    while next < pointers.len() {
        let pointer = pointers[next];
        next += 1;
        for &user in &uses[pointer] {
            let block = home(scene, user).expect("uses are listed for instructions that stand in a block");
            if !before.contains(&block) {
                continue;
            }
            let own = Operand::Value(pointer);
            let in_loop = scene.context.this.contains(block);
            let harmless = match func.insts[user].kind {
                InstKind::Load { .. } => !in_loop,
                InstKind::Store { value, .. } => value != own,
                InstKind::MemSet { .. } => !in_loop,
                InstKind::MemCopy { src, .. } => src != own && !in_loop,
                InstKind::Cmp { .. } => true,
                InstKind::PtrAdd { index, .. } if index != own => {
                    add(&mut pointers, func.result(user));
                    true
                }
                InstKind::Cast { op: CastOp::PtrToInt | CastOp::IntToPtr | CastOp::Bitcast, .. } => {
                    add(&mut pointers, func.result(user));
                    true
                }
                InstKind::Cas { addr, expected, .. } => user == attempt.exchange && addr != own && expected != own,
                _ => false,
            };
            if !harmless {
                return Some(user);
            }
        }
    }
    None
}

fn add(pointers: &mut Vec<Value>, pointer: Value) {
    if !pointers.contains(&pointer) {
        pointers.push(pointer);
    }
}

/// The blocks from which control can come to the loop without making the object anew, and the block that makes it.
fn blocks_before(scene: &Scene<'_>, made: Block) -> Vec<Block> {
    let mut found = vec![scene.context.this.header];
    let mut next = 0;
    while next < found.len() {
        let block = found[next];
        next += 1;
        if block == made {
            continue;
        }
        for &pred in scene.context.cfg.preds(block) {
            if !found.contains(&pred) {
                found.push(pred);
            }
        }
    }
    found
}

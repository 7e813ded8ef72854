//! Stores that leave nothing behind: to an object that nobody else can reach yet, and that is written again before anybody
//! reads it.
//!
//! An attempt to push writes the link of the thread's own node and then tries to publish the node:
//!
//! ```c
//! do {
//!     old = top;
//!     node->next = old;
//! } while (!CAS(&top, old, node));
//! ```
//!
//! If the exchange fails, the node is still private, and the next attempt writes the link again before it does anything
//! with the node. So the iteration is pure although it has written to memory: Definition 1 of "Awaiting for Godot" (B.
//! Jonsson, M. Lång, K. Sagonas, FMCAD 2022) asks only that no local variable is modified "that may be used after
//! execution has reached the loop header". What is asked of the store here:
//!
//! 1. It writes to a fixed place in an object that was allocated before the loop (`malloc` and its kin, or on the stack).
//! 2. The object has not been published when an iteration begins. Whatever does more with its address than to load from
//!    it, store to it and compare it, *publishes* it. Nothing does so before the loop. Within the loop only the success
//!    of a compare-and-exchange may, if it leaves the loop. And from a place that publishes there is no way back to the
//!    loop that does not allocate a new object.
//! 3. The store dominates whatever reads or publishes the object in the loop or behind it: the iteration that gets there
//!    has made the store itself.

use super::forward_purity::{Context, out_edges};
use super::guards::comparison;
use selvedge_ir::{
    Block, Callee, CastOp, Cfg, CmpOp, Dominators, EntityRef, Function, Inst, InstKind, Module, Operand, Type, Value,
    ValueDef,
};

/// Library functions that return an object of which nobody else knows.
const ALLOCATORS: &[&str] = &["malloc", "calloc", "aligned_alloc", "_Znwm", "_Znam"];

/// Whether a store of a loop leaves nothing behind when the loop is at its header.
pub fn leaves_nothing(context: &Context<'_>, store: Inst) -> bool {
    let InstKind::Store { addr, volatile: false, .. } = context.func.insts[store].kind else { return false };
    let Some(object) = object_of(context, addr) else { return false };
    let dominators = Dominators::new(context.cfg);
    let from_header = reachable(context, context.this.header, None);
    let Some(home) = home(context.func, store) else { return false };
    let has_stored = |block: Block, inst: Inst| match block == home {
        true => position(context.func, block, store) < position(context.func, block, inst),
        false => dominators.dominates(home, block),
    };
    uses(context.func, object.value).into_iter().all(|(block, inst, usage)| {
        let is_before = !from_header[block.index()];
        match usage {
            Usage::Harmless => true,
            Usage::Reads => is_before || has_stored(block, inst),
            Usage::Publishes if is_before => !context.cfg.is_reachable(block),
            Usage::Publishes => has_stored(block, inst) && does_not_come_back(context, &object, block, inst),
        }
    })
}

/// Whether a write to an address is into an object that nobody else can reach yet, whatever way control has come: one that
/// this function has allocated, and that is published at places only from which there is no way to the write that does not
/// allocate a new object.
pub fn is_unpublished(
    module: &Module,
    func: &Function,
    cfg: &Cfg,
    (block, write): (Block, Inst),
    addr: Operand,
) -> bool {
    let mut addr = addr;
    let (object, made) = loop {
        let Operand::Value(value) = addr else { return false };
        let ValueDef::Result(inst, _) = func.values[value].def else { return false };
        match &func.insts[inst].kind {
            InstKind::PtrAdd { base, .. } => addr = *base,
            kind if allocates(module, kind) => match home(func, inst) {
                Some(block) => break (value, block),
                None => return false,
            },
            _ => return false,
        }
    };
    uses(func, object).into_iter().filter(|(_, _, usage)| *usage == Usage::Publishes).all(|(from, inst, _)| {
        let is_behind = from == block && position(func, block, inst) < position(func, block, write);
        let comes_round = cfg.succs(from).iter().any(|&next| reachable_in(cfg, next, Some(made))[block.index()]);
        !is_behind && !comes_round
    })
}

/// An object that was allocated before the loop.
struct Object {
    /// Its address.
    value: Value,
    /// Where it was allocated.
    block: Block,
}

/// The object that a fixed address lies in.
fn object_of(context: &Context<'_>, addr: Operand) -> Option<Object> {
    let func = context.func;
    let mut addr = addr;
    loop {
        let Operand::Value(value) = addr else { return None };
        let ValueDef::Result(inst, _) = func.values[value].def else { return None };
        match &func.insts[inst].kind {
            InstKind::PtrAdd { base, index: Operand::Const(_), .. } => addr = *base,
            kind => {
                let block = home(func, inst).filter(|&block| !context.this.contains(block))?;
                return allocates(context.module, kind).then_some(Object { value, block });
            }
        }
    }
}

fn allocates(module: &Module, kind: &InstKind) -> bool {
    match kind {
        InstKind::Alloca { .. } => true,
        InstKind::Call { callee: Callee::Direct(id), .. } => {
            let callee = &module.functions[*id];
            callee.is_declaration() && ALLOCATORS.contains(&callee.name.as_str())
        }
        _ => false,
    }
}

/// What is done with an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Usage {
    /// Stores to the object, and computations.
    Harmless,
    /// The object is read.
    Reads,
    /// Afterwards others may know the address.
    Publishes,
}

/// Everything that is done with an object, through whatever its address is converted to.
fn uses(func: &Function, object: Value) -> Vec<(Block, Inst, Usage)> {
    let mut known = vec![object];
    let mut found = Vec::new();
    let mut next = 0;
    while let Some(&value) = known.get(next) {
        next += 1;
        for (block, inst) in func.placed_insts() {
            let kind = &func.insts[inst].kind;
            if !kind.used_values().contains(&value) {
                continue;
            }
            let own = Operand::Value(value);
            let usage = match *kind {
                InstKind::PtrAdd { index, .. } if index != own => {
                    known.push(func.result(inst));
                    Usage::Harmless
                }
                InstKind::Cast { op: CastOp::PtrToInt, to: Type::I64, .. }
                | InstKind::Cast { op: CastOp::IntToPtr, from: Type::I64, .. } => {
                    known.push(func.result(inst));
                    Usage::Harmless
                }
                InstKind::Cmp { .. } => Usage::Harmless,
                InstKind::Store { value, .. } if value != own => Usage::Harmless,
                InstKind::MemSet { .. } => Usage::Harmless,
                InstKind::Load { .. } => Usage::Reads,
                _ => Usage::Publishes,
            };
            found.push((block, inst, usage));
        }
    }
    found
}

/// Whether control, once it has published the object here, never comes to the loop's header with the same object.
fn does_not_come_back(context: &Context<'_>, object: &Object, block: Block, inst: Inst) -> bool {
    let edges = match context.this.contains(block) {
        true => match edges_of_success(context, block, inst) {
            Some(edges) => edges,
            None => return false,
        },
        false => context.cfg.succs(block).to_vec(),
    };
    let header = context.this.header;
    edges.into_iter().all(|next| !reachable(context, next, Some(object.block))[header.index()])
}

/// The edges that control may take behind a compare-and-exchange at the end of a block if it has succeeded; none if the
/// instruction is something else.
fn edges_of_success(context: &Context<'_>, block: Block, inst: Inst) -> Option<Vec<Block>> {
    let func = context.func;
    let InstKind::Cas { ty, expected, .. } = func.insts[inst].kind else { return None };
    let old = Operand::Value(*func.insts[inst].results.first()?);
    let success = comparison(func, CmpOp::Eq, ty, old, expected).ok()?;
    let edges = out_edges(func, block).ok()?;
    let is_possible = |(next, taken): (Block, super::purity_condition::Condition)| match taken.and(&success) {
        Ok(both) if both.is_never() => None,
        _ => Some(next),
    };
    Some(edges.into_iter().filter_map(is_possible).collect())
}

/// The blocks that can be reached from a block, itself included, without entering another one.
fn reachable(context: &Context<'_>, from: Block, avoid: Option<Block>) -> Vec<bool> {
    reachable_in(context.cfg, from, avoid)
}

fn reachable_in(cfg: &Cfg, from: Block, avoid: Option<Block>) -> Vec<bool> {
    let mut seen = vec![false; cfg.blocks().len()];
    let mut stack = vec![from];
    while let Some(block) = stack.pop() {
        if Some(block) == avoid || std::mem::replace(&mut seen[block.index()], true) {
            continue;
        }
        stack.extend(cfg.succs(block));
    }
    seen
}

fn home(func: &Function, inst: Inst) -> Option<Block> {
    func.placed_insts().find(|&(_, other)| other == inst).map(|(block, _)| block)
}

fn position(func: &Function, block: Block, inst: Inst) -> Option<usize> {
    func.blocks[block].insts.iter().position(|&other| other == inst)
}

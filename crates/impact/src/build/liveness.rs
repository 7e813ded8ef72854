//! Which values matter where, and which loops are taken apart.
//!
//! A value matters at a place if some path from there uses it. Loops in which threads are created or joined, or memory is
//! allocated, are taken apart, one round after the other: their counters are kept as numbers.

use selvedge_analysis::LoopForest;
use selvedge_ir::{Block, Callee, EntityRef, FuncId, Function, InstKind, Module, Operand, Value};
use std::collections::BTreeSet;

/// What is known about a function.
#[derive(Debug)]
pub(super) struct FunctionFacts {
    /// The values that matter at the end of each block, and in front of every so many instructions of it.
    live: Vec<Vec<BTreeSet<Value>>>,
    /// The headers of its loops with their latches.
    pub(super) loops: LoopForest,
    /// The counters of loops that are taken apart: the phis of their headers.
    pub(super) counters: BTreeSet<Value>,
}

impl FunctionFacts {
    pub(super) fn new(module: &Module, id: FuncId) -> FunctionFacts {
        let func = &module.functions[id];
        let loops = LoopForest::of(func);
        let counters = counters(module, func, &loops);
        let out = live_out(func);
        let live = func.blocks.keys().map(|block| checkpoints(func, block, &out[block.index()])).collect();
        FunctionFacts { live, loops, counters }
    }

    /// The values that matter in front of the n-th instruction of a block.
    pub(super) fn live_at(&self, func: &Function, block: Block, index: usize) -> BTreeSet<Value> {
        let insts = &func.blocks[block].insts;
        let next = index.div_ceil(CHECKPOINT);
        let end = (next * CHECKPOINT).min(insts.len());
        let mut live = self.live[block.index()][next].clone();
        insts[index..end].iter().rev().for_each(|&inst| step_back(func, inst, &mut live));
        live
    }
}

/// How many instructions lie between two places of a block for which it is kept what matters there: blocks may be long.
const CHECKPOINT: usize = 32;

/// The values that matter in front of every so many instructions of a block, and at its end.
fn checkpoints(func: &Function, block: Block, out: &BTreeSet<Value>) -> Vec<BTreeSet<Value>> {
    let insts = &func.blocks[block].insts;
    let mut live = out.clone();
    let mut kept = vec![live.clone()];
    for (index, &inst) in insts.iter().enumerate().rev() {
        step_back(func, inst, &mut live);
        if index.is_multiple_of(CHECKPOINT) {
            kept.push(live.clone());
        }
    }
    kept.reverse();
    kept
}

fn step_back(func: &Function, inst: selvedge_ir::Inst, live: &mut BTreeSet<Value>) {
    let data = &func.insts[inst];
    for value in &data.results {
        live.remove(value);
    }
    if !data.kind.is_phi() {
        live.extend(data.kind.used_values());
    }
}

/// The values that matter at the end of each block: a fixed point. What a phi uses matters at the end of the predecessor.
fn live_out(func: &Function) -> Vec<BTreeSet<Value>> {
    let mut out: Vec<BTreeSet<Value>> = vec![BTreeSet::new(); func.blocks.len()];
    loop {
        let mut changed = false;
        for block in func.blocks.keys().rev() {
            let mut live = BTreeSet::new();
            for succ in func.successors(block) {
                let mut inner = out[succ.index()].clone();
                for &inst in func.blocks[succ].insts.iter().rev() {
                    step_back(func, inst, &mut inner);
                }
                live.extend(inner);
                for phi in func.phis(succ) {
                    if let InstKind::Phi { args, .. } = &func.insts[phi].kind {
                        let from_here = args.iter().filter(|(from, _)| *from == block);
                        live.extend(from_here.filter_map(|(_, arg)| match arg {
                            Operand::Value(value) => Some(*value),
                            _ => None,
                        }));
                    }
                }
            }
            if live != out[block.index()] {
                out[block.index()] = live;
                changed = true;
            }
        }
        if !changed {
            return out;
        }
    }
}

fn counters(module: &Module, func: &Function, loops: &LoopForest) -> BTreeSet<Value> {
    let mut found = BTreeSet::new();
    for each in loops.loops.values() {
        let insts = each.blocks.iter().flat_map(|&block| &func.blocks[block].insts);
        let manages = insts.into_iter().any(|&inst| manages_threads(module, &func.insts[inst].kind, 8));
        if manages {
            found.extend(func.phis(each.header).map(|phi| func.result(phi)));
        }
    }
    found
}

/// Whether a call creates, joins, allocates or initialises something, possibly through further calls.
fn manages_threads(module: &Module, kind: &InstKind, depth: u32) -> bool {
    let InstKind::Call { callee: Callee::Direct(callee), .. } = kind else { return false };
    let func = &module.functions[*callee];
    match func.name.as_str() {
        "pthread_create" | "pthread_join" | "pthread_detach" | "malloc" | "calloc" => true,
        name if name.starts_with("pthread_") && name.ends_with("_init") => true,
        _ if depth == 0 => false,
        _ => func.placed_insts().any(|(_, inst)| manages_threads(module, &func.insts[inst].kind, depth - 1)),
    }
}

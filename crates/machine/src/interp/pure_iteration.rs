//! Loop iterations that have changed nothing, found out when they are complete.
//!
//! The static elimination of pure iterations (`purity/` of the analysis crate) cuts an iteration off as soon as it is
//! certain that it will change nothing. Where that cannot be seen in the program text (an address that is computed, a
//! condition that is too large, a store that is not reached), the machine looks at what happened, as SAVER does
//! (M. Kokologiannakis, X. Ren, V. Vafeiadis, "Dynamic Partial Order Reductions for Spinloops", FMCAD 2021): if an
//! iteration ends at the header with the values in the header's phis with which it began, and the thread has had no
//! effect in between, the thread is blocked there.
//!
//! That is sound for the same reason as the static elimination: the iteration has read, and nothing else. Take it out of
//! the execution, and everybody else does what they did, and the thread stands at the header in the same state. So every
//! continuation of the blocked execution has a counterpart without the iteration, and that one is explored. Registers
//! that are not phis of the header are not part of the state: those that are defined outside the loop have not changed,
//! and those that are defined inside are computed again before they are used.
//!
//! An *effect* is whatever could be noticed later by the thread itself or by others: a store (to private memory too), a
//! read-modify-write that has changed the value, a stack object, a library call. Failed exchanges and loads are none.
//!
//! An iteration that has waited until something that it had read before changed has not been in vain, and there are no more
//! of them than there are writes: loops with such an await are not looked at (`purity/wait_for_change.rs`).
//!
//! Before there is a second thread nobody can change what the loop reads, so it is a livelock.
//!
//! Whether a thread that is cut off spins forever depends on what it has read in the iteration, and on nothing that it has
//! read before. So the start of an iteration notes how many Ops the thread has had: here together with the state, and in an
//! instruction of its own where the analysis has cut something off. Where the thread stands tells which note counts.

use super::Interpreter;
use super::code::{Ins, LoopSite, Program, Reg};
use super::flow::Flow;
use super::registers::Registers;
use super::select::Selection;
use crate::ThreadId;
use rustc_hash::FxHashMap;
use selvedge_ir::{AwaitKind, BinaryOp, Block, CmpOp, EntityRef, Function, Inst, InstKind, Operand, Value, ValueDef};

/// The loops of a function that are worth looking at, with the phis that are their state. A loop that counts cannot be in
/// the same state twice in a row.
pub fn tracked_loops(function: &Function, flow: &Flow, selection: &Selection<'_>) -> Vec<(Block, Vec<Value>)> {
    let headers = flow.order.iter().copied().filter(|&block| flow.is_loop_header(block));
    headers
        .filter_map(|header| {
            let needed = |inst: &Inst| selection.needed[inst.index()];
            let phis: Vec<Inst> = function.phis(header).filter(needed).collect();
            let counts = |&phi: &Inst| is_counter(function, flow, header, phi);
            let can_repeat = !phis.iter().any(counts) && !waits_for_change(function, flow, header);
            can_repeat.then(|| (header, phis.iter().map(|&phi| function.result(phi)).collect()))
        })
        .collect()
}

/// Whether a phi is increased by a constant on every way back.
fn is_counter(function: &Function, flow: &Flow, header: Block, phi: Inst) -> bool {
    let InstKind::Phi { args, .. } = &function.insts[phi].kind else { return false };
    let own = Operand::Value(function.result(phi));
    let steps = |operand: Operand| {
        let Operand::Value(value) = operand else { return false };
        let ValueDef::Result(inst, _) = function.values[value].def else { return false };
        match function.insts[inst].kind {
            InstKind::Binary { op: BinaryOp::Add | BinaryOp::Sub, a, b: Operand::Const(step), .. } => {
                a == own && step != 0
            }
            _ => false,
        }
    };
    args.iter().filter(|&&(from, _)| flow.is_back_edge(from, header)).all(|&(_, arg)| steps(arg))
}

/// Whether a loop contains an await for a value that differs from what the loop has loaded from the same address.
fn waits_for_change(function: &Function, flow: &Flow, header: Block) -> bool {
    let blocks = body(flow, header);
    let insts = || blocks.iter().flat_map(|&block| &function.blocks[block].insts);
    let is_waiting = |&inst: &Inst| {
        let InstKind::Await { access: AwaitKind::Load, ty, addr, until, mask, operand, .. } = function.insts[inst].kind
        else {
            return false;
        };
        let irreflexive = matches!(until, CmpOp::Ne | CmpOp::Ult | CmpOp::Ugt | CmpOp::Slt | CmpOp::Sgt);
        let first_read = |&read: &Inst| match function.insts[read].kind {
            InstKind::Load { addr: first, .. } | InstKind::Await { access: AwaitKind::Load, addr: first, .. } => {
                first == addr && Operand::Value(function.result(read)) == operand
            }
            _ => false,
        };
        irreflexive && mask & ty.mask() == ty.mask() && insts().any(first_read)
    };
    insts().any(is_waiting)
}

/// The blocks of a loop: those from which a back edge to its header can be reached without passing the header.
fn body(flow: &Flow, header: Block) -> Vec<Block> {
    let mut blocks = vec![header];
    let latches = flow.preds[header.index()].iter().copied().filter(|&pred| flow.is_back_edge(pred, header));
    let mut stack: Vec<Block> = latches.collect();
    while let Some(block) = stack.pop() {
        if !blocks.contains(&block) {
            blocks.push(block);
            stack.extend(&flow.preds[block.index()]);
        }
    }
    blocks
}

/// Whether there is a way into a cycle that does not lead by its header (`goto` into a loop): then the first iteration may
/// end without having been noted.
fn has_other_way_in(flow: &Flow, header: Block) -> bool {
    let mut seen = vec![false; flow.preds.len()];
    let latches = flow.preds[header.index()].iter().copied().filter(|&pred| flow.is_back_edge(pred, header));
    let mut stack: Vec<Block> = latches.filter(|&latch| latch != header).collect();
    while let Some(block) = stack.pop() {
        if std::mem::replace(&mut seen[block.index()], true) {
            continue;
        }
        let preds = &flow.preds[block.index()];
        if preds.is_empty() {
            return true;
        }
        stack.extend(preds.iter().copied().filter(|&pred| pred != header));
    }
    false
}

/// Sets what was noted of loops that can be entered elsewhere to something that never is: registers of a new frame hold
/// whatever was there before.
pub fn unnoted(program: &Program, flow: &Flow, loops: &FxHashMap<Block, u32>) -> Vec<Ins> {
    let elsewhere = loops.iter().filter(|&(&header, _)| has_other_way_in(flow, header));
    let effects = elsewhere.map(|(_, &site)| program.loops[site as usize].noted + 1);
    effects.map(|dst| Ins::Const { dst, value: u64::MAX }).collect()
}

/// Gives each loop registers to note its state in, from `next` on.
pub fn loop_sites(
    program: &mut Program,
    registers: &Registers,
    tracked: Vec<(Block, Vec<Value>)>,
    mut next: u32,
) -> FxHashMap<Block, u32> {
    let mut sites = FxHashMap::default();
    for (header, phis) in tracked {
        let state: Vec<Reg> = phis.into_iter().map(|value| registers.of(value) as Reg).collect();
        let noted = next as Reg;
        next += noted_registers(state.len());
        sites.insert(header, program.loops.len() as u32);
        program.loops.push(LoopSite { state, noted });
    }
    sites
}

/// How many registers it takes to note a state of so many phis.
pub fn noted_registers(phis: usize) -> u32 {
    phis as u32 + 2
}

/// Notes the state at the start of an iteration, and when that is.
pub fn note_state(site: &LoopSite, regs: &mut [u64], ops: u32, effects: u64) {
    let noted = site.noted as usize;
    regs[noted] = u64::from(ops);
    regs[noted + 1] = effects;
    for (n, &register) in site.state.iter().enumerate() {
        regs[noted + 2 + n] = regs[register as usize];
    }
}

/// Whether the state is the one that was noted, and nothing has happened since.
pub fn is_same_state(site: &LoopSite, regs: &[u64], effects: u64) -> bool {
    let noted = site.noted as usize;
    regs[noted + 1] == effects
        && site.state.iter().enumerate().all(|(n, &register)| regs[noted + 2 + n] == regs[register as usize])
}

impl Interpreter {
    /// How many Ops a thread has had since it began the iteration that it would start again: it stands where the iteration
    /// is cut off, or waits there.
    pub(super) fn ops_of_iteration(&self, id: ThreadId) -> Option<usize> {
        let thread = self.threads.get(id.index())?;
        let frame = thread.frames.last().filter(|frame| !frame.is_model())?;
        let began = match self.program.code[frame.pc as usize] {
            Ins::Await { site } => self.program.awaits[site as usize].retry?,
            Ins::Assume { pure, .. } => pure?,
            Ins::LoopAgain { site } => self.program.loops[site as usize].noted,
            _ => return None,
        };
        let began = thread.stack[frame.base as usize + began as usize];
        debug_assert!(began <= u64::from(thread.head.ops), "an iteration has begun before it is cut off");
        Some((u64::from(thread.head.ops) - began) as usize)
    }
}

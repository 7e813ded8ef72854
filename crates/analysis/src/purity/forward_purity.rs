//! Forward purity conditions, by one backward pass over a loop.
//!
//! B. Jonsson, M. Lång, K. Sagonas, "Awaiting for Godot: Stateless Model Checking that Avoids Executions where Nothing
//! Happens" (FMCAD 2022), section III.
//!
//! | paper | here |
//! |---|---|
//! | `FPC(•B)` | `at_start[B]` |
//! | `FPC(A, B)` | `Pass::along_edge` |
//! | `FPC(•s)` from `FPC(s•)` | `Pass::before` |
//! | "earliest insertion point" | [`Conjunction::after`](super::purity_condition::Conjunction::after) |
//! | purity condition of the loop | the result of [`forward_purity`] |
//!
//! Deviations:
//! 1. On an edge into a block with phis, the condition speaks of the phi's argument for that edge instead of the phi. The
//!    two are equal where the edge is taken, and the argument is known earlier and more precisely.
//! 2. A header phi that carries something new does not make the edge impure by itself: see `header_phis.rs`.
//! 3. Accesses that are not atomic are treated like accesses that may fault: a data race in an iteration that does nothing
//!    is an error all the same, so the iteration is not cut off before them.
//! 4. Minimum and maximum do nothing if the old value is on the right side of the operand.
//! 5. A store to an object that is still private and is written again in every iteration counts as a local variable that
//!    is not used any more: see `private_store.rs`.
//! 6. An inner loop that has become an await may be where the thread stays for ever. An iteration is not cut off before it,
//!    since that would hide the livelock; see also `wait_for_change.rs`.

use super::guards::{bits_comparison, comparison, definition, guard};
use super::header_phis;
use super::private_store;
use super::purity_condition::{Condition, TooLarge};
use super::reasons::{Reason, Why};
use super::wait_for_change::waits_for_change;
use crate::{Loop, dce};
use selvedge_ir::{
    AwaitKind, BinaryOp, Block, Callee, CastOp, Cfg, CmpOp, EntityVec, Function, Inst, InstKind, Module, Operand,
    Order, RmwOp, Type,
};

/// Library functions after which everything is as it was.
const PURE_CALLS: &[&str] = &["sched_yield", "pthread_yield", "thrd_yield", "llvm.x86.sse2.pause", "llvm.aarch64.isb"];

/// A switch with more cases than this is not looked into.
const MAX_CASES: usize = 16;

/// A loop, and what is known about its function.
pub struct Context<'a> {
    /// The program.
    pub module: &'a Module,
    /// The function.
    pub func: &'a Function,
    /// Its control-flow graph.
    pub cfg: &'a Cfg,
    /// The loop.
    pub this: &'a Loop,
}

impl Context<'_> {
    /// Whether an edge within the loop closes a cycle other than the loop itself.
    pub fn is_inner_back_edge(&self, from: Block, to: Block) -> bool {
        to != self.this.header && self.this.contains(to) && self.cfg.position(to) <= self.cfg.position(from)
    }
}

/// The purity condition of a loop, and why it is not weaker: what its paths do that is not pure.
pub fn forward_purity(context: &Context<'_>) -> (Result<Condition, TooLarge>, Vec<Reason>) {
    let at_start = context.func.blocks.keys().map(|_| Condition::never()).collect();
    let mut pass = Pass { context, at_start, reasons: Vec::new() };
    let result = pass.run();
    (result, pass.reasons)
}

struct Pass<'a> {
    context: &'a Context<'a>,
    /// `FPC(•B)` of the blocks that have been visited.
    at_start: EntityVec<Block, Condition>,
    reasons: Vec<Reason>,
}

impl Pass<'_> {
    fn run(&mut self) -> Result<Condition, TooLarge> {
        let Context { this, .. } = *self.context;
        // Successors come before their predecessors, except along back edges, whose condition does not depend on them.
        for &block in this.blocks.iter().rev() {
            let condition = self.block(block)?;
            self.at_start[block] = condition;
        }
        Ok(std::mem::take(&mut self.at_start[this.header]))
    }

    /// `FPC(•B)`.
    fn block(&mut self, block: Block) -> Result<Condition, TooLarge> {
        let Context { func, .. } = *self.context;
        let mut condition = Condition::never();
        for (succ, taken) in out_edges(func, block)? {
            // `FPC(A•)` is the disjunction over the edges.
            condition = condition.or(self.along_edge(block, succ, &taken)?)?;
        }
        for &inst in func.blocks[block].insts.iter().rev() {
            if condition.is_never() {
                break;
            }
            condition = self.before(inst, condition)?;
        }
        Ok(condition)
    }

    /// `FPC(A, B)`, where `taken` is the condition of the edge.
    fn along_edge(&mut self, from: Block, to: Block, taken: &Condition) -> Result<Condition, TooLarge> {
        let context = self.context;
        if !context.this.contains(to) || context.is_inner_back_edge(from, to) {
            return Ok(Condition::never());
        }
        if to == context.this.header {
            let same = header_phis::unchanged(context, from, &mut self.reasons)?;
            let condition = same.and(taken)?;
            if condition.is_never() && !same.is_never() && !taken.is_never() {
                let loc = context.func.terminator(from).map_or(context.func.loc, |t| context.func.insts[t].loc);
                self.reasons.push(Reason { loc, why: Why::AlwaysChanges });
            }
            return Ok(condition);
        }
        let start = self.at_start[to].clone();
        taken.and(&renamed(context.func, &start, from, to)?)
    }

    /// `FPC(•s)` from `FPC(s•)`.
    fn before(&mut self, inst: Inst, mut after: Condition) -> Result<Condition, TooLarge> {
        let Context { module, func, .. } = *self.context;
        let data = &func.insts[inst];
        let old = data.results.first().map_or(Operand::Undef, |&value| Operand::Value(value));
        if waits_for_change(func, self.context.this, inst) {
            self.reasons.push(Reason { loc: data.loc, why: Why::WaitsForChange(inst) });
            return Ok(Condition::never());
        }
        if is_barrier(module, func, inst) {
            after.only_after(inst);
        }
        let pure = match &data.kind {
            InstKind::Rmw { op, ty, value, .. } | InstKind::Await { access: AwaitKind::Rmw { op, value }, ty, .. } => {
                Some(rmw_is_pure(func, *op, *ty, old, *value)?)
            }
            InstKind::Cas { expected, new, .. }
            | InstKind::Await { access: AwaitKind::Cas { expected, new, .. }, .. }
                if expected == new =>
            {
                None
            }
            InstKind::Cas { ty, expected, .. }
            | InstKind::Await { access: AwaitKind::Cas { expected, .. }, ty, .. } => {
                Some(comparison(func, CmpOp::Ne, *ty, old, *expected)?)
            }
            InstKind::Assume { cond, .. } => Some(guard(func, *cond, true)?),
            InstKind::Call { callee, .. } if is_pure_call(module, *callee) => None,
            InstKind::Store { .. } if private_store::leaves_nothing(self.context, inst) => {
                // It may still go wrong: the address may be null.
                after.only_after(inst);
                None
            }
            InstKind::Store { .. }
            | InstKind::MemCopy { .. }
            | InstKind::MemSet { .. }
            | InstKind::Alloca { .. }
            | InstKind::Call { .. }
            | InstKind::VaStart { .. }
            | InstKind::VaArg { .. }
            | InstKind::VaCopy { .. }
            | InstKind::Unsupported { .. } => Some(Condition::never()),
            _ => None,
        };
        let Some(pure) = pure else { return Ok(after) };
        let condition = after.and(&pure)?;
        if condition.is_never() {
            self.reasons.push(Reason { loc: data.loc, why: Why::Acts(inst) });
        }
        Ok(condition)
    }
}

/// The edges out of a block with the condition under which each is taken, one per successor.
pub fn out_edges(func: &Function, block: Block) -> Result<Vec<(Block, Condition)>, TooLarge> {
    let Some(last) = func.terminator(block) else { return Ok(Vec::new()) };
    Ok(match &func.insts[last].kind {
        InstKind::Br { dest } => vec![(*dest, Condition::always())],
        InstKind::CondBr { then_dest, else_dest, .. } if then_dest == else_dest => {
            vec![(*then_dest, Condition::always())]
        }
        InstKind::CondBr { cond, then_dest, else_dest } => {
            vec![(*then_dest, guard(func, *cond, true)?), (*else_dest, guard(func, *cond, false)?)]
        }
        InstKind::Switch { ty, value, cases, default } => switch_edges(func, *ty, *value, cases, *default)?,
        _ => Vec::new(),
    })
}

fn switch_edges(
    func: &Function,
    ty: Type,
    value: Operand,
    cases: &[(u64, Block)],
    default: Block,
) -> Result<Vec<(Block, Condition)>, TooLarge> {
    if cases.len() > MAX_CASES {
        return Err(TooLarge);
    }
    let mut edges: Vec<(Block, Condition)> = Vec::new();
    let mut add = |dest: Block, condition: Condition| -> Result<(), TooLarge> {
        match edges.iter_mut().find(|(block, _)| *block == dest) {
            Some((_, known)) => *known = std::mem::take(known).or(condition)?,
            None => edges.push((dest, condition)),
        }
        Ok(())
    };
    let mut others = Condition::always();
    for &(bits, dest) in cases {
        add(dest, comparison(func, CmpOp::Eq, ty, value, Operand::Const(bits))?)?;
        others = others.and(&comparison(func, CmpOp::Ne, ty, value, Operand::Const(bits))?)?;
    }
    add(default, others)?;
    Ok(edges)
}

/// A condition at the start of a block in terms of what its phis take from a predecessor.
fn renamed(func: &Function, condition: &Condition, from: Block, to: Block) -> Result<Condition, TooLarge> {
    let phis: Vec<(Operand, Operand)> = func
        .phis(to)
        .filter_map(|phi| match &func.insts[phi].kind {
            InstKind::Phi { args, .. } => {
                let (_, arg) = args.iter().find(|(block, _)| *block == from)?;
                Some((Operand::Value(func.result(phi)), *arg))
            }
            _ => None,
        })
        .collect();
    if phis.is_empty() {
        return Ok(condition.clone());
    }
    let rename = |operand: Operand| phis.iter().find(|(phi, _)| *phi == operand).map_or(operand, |(_, arg)| *arg);
    let mut result = Condition::never();
    for conjunction in &condition.disjuncts {
        let mut renamed = Condition::always();
        for atom in &conjunction.atoms {
            let (a, b) = (rename(atom.a), rename(atom.b));
            let atom = match (a, b) == (atom.a, atom.b) {
                true => Condition::literal(super::purity_condition::Literal::Atom(*atom)),
                false => bits_comparison(func, atom.op, atom.ty, (a, atom.mask), b)?,
            };
            renamed = renamed.and(&atom)?;
        }
        for mut one in renamed.disjuncts {
            one.after = conjunction.after;
            result.add(one)?;
        }
    }
    Ok(result)
}

/// The condition that a read-modify-write leaves memory as it was.
fn rmw_is_pure(func: &Function, op: RmwOp, ty: Type, old: Operand, value: Operand) -> Result<Condition, TooLarge> {
    let compare = |op, a, b| comparison(func, op, ty, a, b);
    let (is_constant, bits) = match value {
        Operand::Const(bits) => (true, bits & ty.mask()),
        _ => (false, 0),
    };
    match op {
        RmwOp::Xchg if !ty.is_float() => compare(CmpOp::Eq, old, value),
        // All bits that it sets are set, or none that it clears.
        RmwOp::Or if bits != 0 => bits_comparison(func, CmpOp::Eq, ty, (old, bits), value),
        RmwOp::And if is_constant && bits != ty.mask() => {
            bits_comparison(func, CmpOp::Eq, ty, (old, !bits), Operand::Const(0))
        }
        RmwOp::Add | RmwOp::Sub | RmwOp::Or | RmwOp::Xor => compare(CmpOp::Eq, value, Operand::Const(0)),
        RmwOp::And => compare(CmpOp::Eq, value, Operand::Const(ty.mask())),
        RmwOp::Max => compare(CmpOp::Sge, old, value),
        RmwOp::Min => compare(CmpOp::Sle, old, value),
        RmwOp::UMax => compare(CmpOp::Uge, old, value),
        RmwOp::UMin => compare(CmpOp::Ule, old, value),
        RmwOp::Xchg | RmwOp::Nand | RmwOp::FAdd | RmwOp::FSub => Ok(Condition::never()),
    }
}

/// Whether a call only passes time.
pub fn is_pure_call(module: &Module, callee: Callee) -> bool {
    match callee {
        Callee::Direct(id) => {
            let func = &module.functions[id];
            func.is_declaration() && PURE_CALLS.contains(&func.name.as_str())
        }
        Callee::Indirect(_) => false,
    }
}

/// Whether an iteration must not be cut off before an instruction, because it may be an error, or wait for ever.
fn is_barrier(module: &Module, func: &Function, inst: Inst) -> bool {
    match func.insts[inst].kind {
        InstKind::Await { .. } => true,
        InstKind::Load { ty, addr, order, .. } => order == Order::Plain || may_fault(module, func, addr, ty),
        InstKind::Rmw { ty, addr, .. } | InstKind::Cas { ty, addr, .. } => may_fault(module, func, addr, ty),
        InstKind::Binary { .. } => !dce::is_removable(&func.insts[inst].kind),
        _ => false,
    }
}

/// Whether an atomic access can go wrong: only one within a global variable cannot.
pub fn may_fault(module: &Module, func: &Function, addr: Operand, ty: Type) -> bool {
    let (base, (index, scale), offset) = match definition(func, addr) {
        Some((&InstKind::PtrAdd { base, index, scale, offset }, _)) => (base, (index, scale), offset),
        _ => (addr, (Operand::Const(0), 0), 0),
    };
    let Operand::Global(id, start) = base else { return true };
    let (global, start) = (&module.globals[id], i128::from(start) + i128::from(offset));
    let Some(most) = largest(func, index) else { return true };
    let end = start + i128::from(most) * i128::from(scale) + i128::from(ty.store_size());
    global.external || scale < 0 || start < 0 || end > i128::from(global.size)
}

/// The largest number that an index can be, if it is certain that it is not negative: a remainder, or some of its bits.
fn largest(func: &Function, index: Operand) -> Option<u64> {
    match (index, definition(func, index)) {
        (Operand::Const(index), _) => (index <= u64::MAX >> 1).then_some(index),
        (_, Some((&InstKind::Cast { op: CastOp::ZExt, a, .. }, _))) => largest(func, a),
        (_, Some((&InstKind::Binary { op: BinaryOp::URem, b: Operand::Const(modulus), .. }, _))) => {
            modulus.checked_sub(1)
        }
        (_, Some((&InstKind::Binary { op: BinaryOp::And, b: Operand::Const(mask), .. }, _))) => Some(mask),
        _ => None,
    }
}

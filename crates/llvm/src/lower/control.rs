//! Terminators.
//!
//! An `invoke` is a call followed by a jump: what it would unwind to is never reached, because a program that throws
//! stops at the throw. `indirectbr` is a switch over the numbers that stand for block addresses.

use super::function::FunctionLowering;
use super::{Lowered, unsupported};
use crate::ast::{ConstId, Instruction, LocalId, Op, Operand};
use ir::Operand::Const;
use rustc_hash::FxHashSet;
use selvedge_ir as ir;

impl<'m, 'a> FunctionLowering<'_, 'm, 'a> {
    /// Lowers the terminator of the n-th block.
    pub(super) fn terminator(&mut self, n: usize, instruction: &'m Instruction<'a>) -> Lowered<()> {
        match &instruction.op {
            Op::Ret(value) => {
                let values = match value {
                    Some(value) => self.operand(*value)?.to_vec(),
                    None => Vec::new(),
                };
                self.emit(ir::InstKind::Ret { values }, &[]);
                Ok(())
            }
            Op::Br(dest) => self.jump(n, *dest),
            Op::CondBr { cond, then_dest, else_dest } => {
                let cond = self.scalar(*cond)?;
                self.fill_phis(n, &[*then_dest, *else_dest])?;
                let (then_dest, else_dest) = (self.dest(*then_dest), self.dest(*else_dest));
                self.emit(ir::InstKind::CondBr { cond, then_dest, else_dest }, &[]);
                Ok(())
            }
            Op::Switch { value, cases, default } => self.switch(n, *value, cases, *default),
            Op::IndirectBr { address, dests } => self.indirect_br(n, *address, dests),
            Op::Invoke { call, normal, .. } => {
                let scalars = self.call(call, instruction)?;
                self.define(instruction, scalars);
                self.jump(n, *normal)
            }
            Op::CallBr { .. } => unsupported("inline assembly that jumps (`asm goto`)"),
            Op::Resume(_) => unsupported("an exception"),
            Op::Unreachable => {
                self.emit(ir::InstKind::Unreachable, &[]);
                Ok(())
            }
            _ => unsupported("this terminator"),
        }
    }

    fn jump(&mut self, n: usize, dest: LocalId) -> Lowered<()> {
        self.fill_phis(n, &[dest])?;
        let dest = self.dest(dest);
        self.emit(ir::InstKind::Br { dest }, &[]);
        Ok(())
    }

    fn switch(&mut self, n: usize, value: Operand<'a>, cases: &[(ConstId, LocalId)], default: LocalId) -> Lowered<()> {
        let shape = self.unit.shape(value.ty)?;
        let [leaf] = shape.leaves[..] else {
            return unsupported("a switch over an integer wider than 64 bits");
        };
        let scalar = self.scalar(value)?;
        let labels: Vec<LocalId> = cases.iter().map(|&(_, dest)| dest).chain(std::iter::once(default)).collect();
        self.fill_phis(n, &labels)?;
        let mut lowered: Vec<(u64, ir::Block)> = Vec::new();
        let mut seen = FxHashSet::default();
        for &(case, dest) in cases {
            let folded = self.unit.fold(case)?;
            let Some([super::constant::Folded::Bits(bits)]) = folded.as_deref() else {
                return unsupported("a case that is not a number");
            };
            if !seen.insert(*bits) {
                let at = self.unit.module.constant(case).offset;
                return Err(crate::error::Fault::syntax(at, "this case occurs twice").into());
            }
            lowered.push((*bits, self.dest(dest)));
        }
        let default = self.dest(default);
        self.emit(ir::InstKind::Switch { ty: leaf.ty, value: scalar, cases: lowered, default }, &[]);
        Ok(())
    }

    fn indirect_br(&mut self, n: usize, address: Operand<'a>, dests: &[LocalId]) -> Lowered<()> {
        let address = self.scalar(address)?;
        let value = self.cast(ir::CastOp::PtrToInt, ir::Type::Ptr, ir::Type::I64, address);
        self.fill_phis(n, dests)?;
        let mut cases: Vec<(u64, ir::Block)> = Vec::new();
        for &dest in dests {
            // The number of a block, as in `Unit::block_number`.
            let number = self.positions.get(&dest).map_or(0, |&position| position as u64 + 1);
            if cases.iter().all(|&(known, _)| known != number) {
                cases.push((number, self.dest(dest)));
            }
        }
        let nowhere = self.f.add_block("");
        self.emit(ir::InstKind::Switch { ty: ir::Type::I64, value, cases, default: nowhere }, &[]);
        self.block = nowhere;
        self.emit(ir::InstKind::Unreachable, &[]);
        Ok(())
    }

    /// Goes on only if a condition holds; reaching it with a false one is undefined behaviour, as `unreachable` is.
    pub(super) fn assume(&mut self, cond: ir::Operand) {
        if matches!(cond, Const(bits) if bits != 0) {
            return;
        }
        let from = self.block;
        let otherwise = self.f.add_block("");
        self.block = otherwise;
        self.emit(ir::InstKind::Unreachable, &[]);
        self.block = from;
        let next = self.f.add_block("");
        self.emit(ir::InstKind::CondBr { cond, then_dest: next, else_dest: otherwise }, &[]);
        self.block = next;
    }
}

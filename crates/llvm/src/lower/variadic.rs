//! Variadic arguments.
//!
//! clang has already lowered C's `va_arg` to code that reads the target's `va_list`, so arguments must lie where that
//! code looks for them. The ABIs put the first ones in registers, depending on their types in the source, which the IR
//! no longer has. Here none is in a register: all lie in memory in slots of 8 bytes, in order, which every `va_arg` finds
//! as soon as the list says that the registers are used up. A struct that is passed by value fills as many slots as it
//! has words; what is aligned to 16 bytes starts at an even slot.
//!
//! The machine makes the list of x86-64. For AArch64 one is made aside, and its address of the slots is put into the
//! target's own structure:
//!
//! | target | structure | `va_start` writes |
//! |---|---|---|
//! | x86-64 | `{ i32 gp_offset, i32 fp_offset, ptr overflow_arg_area, ptr reg_save_area }` | the machine does |
//! | AArch64 | `{ ptr stack, ptr gr_top, ptr vr_top, i32 gr_offs, i32 vr_offs }` | slots, null, null, 0, 0 |
//! | Apple's AArch64 | `ptr` | slots |
//!
//! One thing is lost: `__int128` is passed as two separate words, but looked for at an even slot.

use super::function::{FunctionLowering, Scalars};
use super::{Lowered, unsupported};
use crate::ast::{Argument, Operand};
use crate::layout::Architecture;
use crate::types::{FloatKind, Type, TypeId};
use ir::Operand::Const;
use selvedge_ir as ir;

type Words = Vec<(ir::Type, ir::Operand)>;

impl<'a> FunctionLowering<'_, '_, 'a> {
    /// Appends the variadic arguments of a call behind the fixed ones.
    pub(super) fn variadic_arguments(
        &mut self,
        arguments: &[Argument<'a>],
        has_body: bool,
        args: &mut Words,
    ) -> Lowered<()> {
        let fixed = args.len();
        for argument in arguments {
            let ty = argument.attributes.byval.unwrap_or(argument.value.ty);
            let types = &self.unit.module.types;
            let Some(extent) = self.unit.extents.get(types, ty) else {
                return unsupported("a variadic argument of unknown size");
            };
            let x87 = matches!(types.get(ty), Type::Float(FloatKind::X87));
            if !has_body && (x87 || argument.attributes.byval.is_some()) {
                // A model takes one word for each argument.
                return unsupported("a struct or `long double` as a variadic argument of a library function");
            }
            let align = argument.attributes.align.unwrap_or(extent.align).max(extent.align);
            if align > 8 && (args.len() - fixed) % 2 == 1 {
                args.push((ir::Type::I64, Const(0)));
            }
            let before = args.len();
            if argument.attributes.byval.is_some() {
                let pointer = self.scalar(argument.value)?;
                self.struct_in_slots(ty, extent.size, pointer, args)?;
            } else {
                self.pass(argument, args)?;
            }
            // Each scalar takes a slot; the elements of a vector would not fill theirs.
            let words = args.len() - before;
            if words > 1 && (words as u64) * 8 != extent.size {
                return unsupported(format!("a variadic argument of type `{}`", types.display(ty)));
            }
        }
        Ok(())
    }

    /// The bytes of a struct, 8 at a time. Scalars are put together as they lie in memory, so that padding, which may
    /// never have been written, is not read.
    fn struct_in_slots(
        &mut self,
        ty: TypeId,
        size: u64,
        pointer: ir::Operand,
        args: &mut Vec<(ir::Type, ir::Operand)>,
    ) -> Lowered<()> {
        let shape = self.unit.shape(ty)?;
        if !shape.in_memory {
            return unsupported("a variadic argument that holds a vector of bits");
        }
        for slot in 0..size.div_ceil(8) {
            let mut word = Const(0);
            for leaf in shape.leaves.iter().filter(|leaf| leaf.offset / 8 == slot) {
                let within = leaf.offset % 8;
                if within + u64::from(leaf.ty.store_size()) > 8 {
                    return unsupported("a variadic argument with unaligned parts");
                }
                let value = self.load_plain(pointer, leaf.offset as i64, leaf.ty);
                let int = ir::Type::Int(leaf.ty.bits() as u8);
                let value = self.as_int(leaf.ty, value);
                let value = self.resize(int, ir::Type::I64, value);
                let value = self.binary(ir::BinaryOp::Shl, ir::Type::I64, value, Const(8 * within));
                word = match word {
                    Const(0) => value,
                    _ => self.binary(ir::BinaryOp::Or, ir::Type::I64, word, value),
                };
            }
            args.push((ir::Type::I64, word));
        }
        Ok(())
    }

    fn store_plain(&mut self, base: ir::Operand, offset: i64, ty: ir::Type, value: ir::Operand) {
        let addr = self.ptr_add(base, offset);
        let order = ir::Order::Plain;
        self.emit(ir::InstKind::Store { ty, addr, value, order, volatile: false, path: None }, &[]);
    }

    fn load_plain(&mut self, base: ir::Operand, offset: i64, ty: ir::Type) -> ir::Operand {
        let addr = self.ptr_add(base, offset);
        let order = ir::Order::Plain;
        self.emit1(ir::InstKind::Load { ty, addr, order, volatile: false, speculative: None, path: None }, ty)
    }

    pub(super) fn va_start(&mut self, list: ir::Operand) {
        if self.unit.layout.architecture == Architecture::X86_64 {
            self.emit(ir::InstKind::VaStart { list }, &[]);
            return;
        }
        let kind = ir::InstKind::Alloca { size: Const(24), align: 8, name: String::new(), debug_type: None };
        let own = self.emit1(kind, ir::Type::Ptr);
        self.emit(ir::InstKind::VaStart { list: own }, &[]);
        let slots = self.load_plain(own, 8, ir::Type::Ptr);
        self.store_plain(list, 0, ir::Type::Ptr, slots);
        if !self.unit.layout.apple {
            self.store_plain(list, 8, ir::Type::Ptr, Const(0));
            self.store_plain(list, 16, ir::Type::Ptr, Const(0));
            self.store_plain(list, 24, ir::Type::I32, Const(0));
            self.store_plain(list, 28, ir::Type::I32, Const(0));
        }
    }

    pub(super) fn va_copy(&mut self, dst: ir::Operand, src: ir::Operand) {
        let kind = match (self.unit.layout.architecture, self.unit.layout.apple) {
            (Architecture::X86_64, _) => ir::InstKind::VaCopy { dst, src },
            (Architecture::Aarch64, apple) => {
                let len = Const(if apple { 8 } else { 32 });
                ir::InstKind::MemCopy { dst, src, len, overlap: true }
            }
        };
        self.emit(kind, &[]);
    }

    /// LLVM's own `va_arg`, which clang hardly uses.
    pub(super) fn va_arg(&mut self, list: Operand<'a>, ty: TypeId) -> Lowered<Scalars> {
        let shape = self.unit.shape(ty)?;
        let list = self.scalar(list)?;
        if self.unit.layout.architecture == Architecture::X86_64 {
            let leaves = shape.leaves.iter();
            return Ok(leaves.map(|leaf| self.emit1(ir::InstKind::VaArg { list, ty: leaf.ty }, leaf.ty)).collect());
        }
        let mut all = Scalars::new();
        for leaf in shape.leaves.iter() {
            let slot = self.load_plain(list, 0, ir::Type::Ptr);
            all.push(self.load_plain(slot, 0, leaf.ty));
            let next = self.ptr_add(slot, 8);
            self.store_plain(list, 0, ir::Type::Ptr, next);
        }
        Ok(all)
    }
}

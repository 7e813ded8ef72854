//! Calls: who is called, what is passed, variadic arguments.
//!
//! A call names its callee directly, through a cast of its type (unprototyped C functions up to clang 14), through an
//! alias, or by a pointer. A direct call must fit the callee's signature; where the program calls a function by another
//! type than it has, the call is made through its address, and the machine decides when it is reached.
//!
//! Variadic arguments lie in memory in 8-byte slots, in order. clang expands C's `va_arg` into code that looks at the
//! target's `va_list`. The machine makes the one of x86-64, in which it says that no register holds an argument and
//! where the slots are; for AArch64 that address is put into the target's own structure:
//!
//! | target | structure | `va_start` writes |
//! |---|---|---|
//! | x86-64 | `{ i32 gp_offset, i32 fp_offset, ptr overflow_arg_area, ptr reg_save_area }` | the machine does |
//! | AArch64 | `{ ptr stack, ptr gr_top, ptr vr_top, i32 gr_offs, i32 vr_offs }` | slots, null, null, 0, 0 |
//! | Apple's AArch64 | `ptr` | slots |

use super::function::{FunctionLowering, Scalars};
use super::link::Binding;
use super::{Lowered, unsupported};
use crate::ast::{
    Argument, Call, CastOp, ConstId, ConstantKind, Expression, Instruction, Operand, OperandKind, SymbolId,
};
use crate::layout::Architecture;
use crate::types::{Type, TypeId, TypeTable};
use ir::Operand::Const;
use selvedge_ir as ir;

/// Operand bundles that say something to the optimiser or to hardware checks only.
const IGNORED_BUNDLES: &[&str] =
    &["align", "cold", "dereferenceable", "kcfi", "nonnull", "noundef", "separate_storage"];

impl<'m, 'a> FunctionLowering<'_, 'm, 'a> {
    /// Lowers a call; the scalars of its result.
    pub(super) fn call(&mut self, call: &'m Call<'a>, instruction: &'m Instruction<'a>) -> Lowered<Scalars> {
        let attributes = self.unit.module.resolve_attributes(&call.attributes);
        if let Some(name) = attributes.unsupported {
            return unsupported(format!("a call with the attribute `{name}`"));
        }
        if let OperandKind::Asm(asm) = call.callee.kind {
            return self.inline_asm(asm, call, instruction.ty);
        }
        let symbol = match call.callee.kind {
            OperandKind::Const(id) => self.callee_symbol(id),
            _ => None,
        };
        if let Some(symbol) = symbol
            && self.unit.bindings[symbol.index()] == Binding::Llvm
            && self.unit.module.symbols[symbol.index()].name.starts_with("llvm.")
        {
            return self.intrinsic(self.unit.module.symbols[symbol.index()].name, call, instruction);
        }
        if let Some(&bundle) = call.bundles.iter().find(|bundle| !IGNORED_BUNDLES.contains(bundle)) {
            return unsupported(format!("a call with the operand bundle `{bundle}`"));
        }
        if attributes.returns_twice || symbol.is_some_and(|symbol| self.returns_twice(symbol)) {
            let name = symbol.map_or("this".to_string(), |symbol| self.unit.module.symbol_name(symbol));
            return unsupported(format!("`{name}`, a function that returns twice"));
        }
        if let Some(symbol) = symbol
            && self.unit.layout.architecture != Architecture::X86_64
            && takes_va_list(self.unit.module.symbols[symbol.index()].name)
        {
            // The models read the `va_list` of x86-64.
            return unsupported(format!("`{}` on AArch64", self.unit.module.symbol_name(symbol)));
        }
        self.plain_call(call, symbol, instruction.ty)
    }

    /// The function that a constant callee names, seen through casts.
    fn callee_symbol(&self, id: ConstId) -> Option<SymbolId> {
        match &self.unit.module.constant(id).kind {
            ConstantKind::Symbol(symbol) => Some(*symbol),
            ConstantKind::Expression(expression) => match **expression {
                Expression::Cast(CastOp::Bitcast, inner) => self.callee_symbol(inner),
                _ => None,
            },
            _ => None,
        }
    }

    fn returns_twice(&self, symbol: SymbolId) -> bool {
        let module = self.unit.module;
        match module.symbols[symbol.index()].definition {
            crate::ast::SymbolDefinition::Function(index) => {
                module.resolve_attributes(&module.functions[index as usize].attributes).returns_twice
            }
            _ => false,
        }
    }

    fn plain_call(&mut self, call: &'m Call<'a>, symbol: Option<SymbolId>, ty: TypeId) -> Lowered<Scalars> {
        let fixed = match call.signature.map(|signature| self.unit.module.types.get(signature)) {
            Some(Type::Function { params, variadic: true, .. }) => params.len(),
            _ => call.args.len(),
        };
        let mut args = Vec::new();
        let mut slots = 0;
        for (n, argument) in call.args.iter().enumerate() {
            if let Some(name) = argument.attributes.unsupported {
                return unsupported(format!("an argument with the attribute `{name}`"));
            }
            if n < fixed {
                self.fixed_argument(argument, &mut args)?;
            } else {
                self.variadic_argument(argument, &mut slots, &mut args)?;
            }
        }
        let results: Vec<ir::Type> = match ty {
            TypeTable::VOID => Vec::new(),
            _ => self.unit.shape(ty)?.leaves.iter().map(|leaf| leaf.ty).collect(),
        };
        let callee = self.callee(call, symbol, &args, &results)?;
        let inst = self.emit(ir::InstKind::Call { callee, args }, &results);
        Ok(self.f.insts[inst].results.iter().map(|&value| ir::Operand::Value(value)).collect())
    }

    fn callee(
        &mut self,
        call: &'m Call<'a>,
        symbol: Option<SymbolId>,
        args: &[(ir::Type, ir::Operand)],
        results: &[ir::Type],
    ) -> Lowered<ir::Callee> {
        let Some(Binding::Func(id)) = symbol.map(|symbol| self.unit.bindings[symbol.index()]) else {
            let pointer = self.scalar(call.callee)?;
            return Ok(ir::Callee::Indirect(pointer));
        };
        let function = &self.program.module.functions[id];
        let enough =
            if function.vararg { args.len() >= function.params.len() } else { args.len() == function.params.len() };
        let fits = enough
            && function.results == results
            && function.params.iter().zip(args).all(|(&param, &(ty, _))| function.values[param].ty == ty);
        Ok(if fits { ir::Callee::Direct(id) } else { ir::Callee::Indirect(ir::Operand::Func(id)) })
    }

    fn fixed_argument(&mut self, argument: &Argument<'a>, args: &mut Vec<(ir::Type, ir::Operand)>) -> Lowered<()> {
        let shape = self.unit.shape(argument.value.ty)?;
        let scalars = self.operand(argument.value)?;
        args.extend(shape.leaves.iter().zip(scalars).map(|(leaf, scalar)| (leaf.ty, scalar)));
        Ok(())
    }

    /// A variadic argument in its slots. What is aligned to 16 bytes starts at an even slot.
    fn variadic_argument(
        &mut self,
        argument: &Argument<'a>,
        slots: &mut u64,
        args: &mut Vec<(ir::Type, ir::Operand)>,
    ) -> Lowered<()> {
        let ty = argument.attributes.byval.unwrap_or(argument.value.ty);
        let types = &self.unit.module.types;
        let Some(extent) = self.unit.extents.get(types, ty) else {
            return unsupported("a variadic argument of unknown size");
        };
        let align = argument.attributes.align.unwrap_or(extent.align).max(extent.align);
        if align > 8 && *slots % 2 == 1 {
            args.push((ir::Type::I64, Const(0)));
            *slots += 1;
        }
        let before = args.len();
        if argument.attributes.byval.is_some() {
            let pointer = self.scalar(argument.value)?;
            self.struct_in_slots(ty, extent.size, pointer, args)?;
        } else {
            self.fixed_argument(argument, args)?;
        }
        let used = (args.len() - before) as u64;
        *slots += used;
        // A long double has 10 bytes in a slot of 16: two limbs, which fit exactly.
        if used * 8 < extent.size {
            return unsupported(format!("a variadic argument of type `{}`", types.display(ty)));
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
                let value = self.to_int(leaf.ty, value);
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
        self.emit1(ir::InstKind::Load { ty, addr, order, volatile: false, path: None }, ty)
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

/// Whether a function of the C library takes a `va_list`.
fn takes_va_list(name: &str) -> bool {
    let name = name.strip_prefix("__").and_then(|name| name.strip_suffix("_chk")).unwrap_or(name);
    matches!(name, "vprintf" | "vfprintf" | "vsprintf" | "vsnprintf" | "vasprintf" | "vdprintf")
}

//! LLVM's intrinsics other than arithmetic: memory, control, variadic arguments, hints.
//!
//! Names carry the types that they are overloaded on (`llvm.memcpy.p0.p0.i64`), so they are matched by their first
//! words. The list of those that do nothing is explicit; an intrinsic that is not known is unsupported by name.

use super::function::{FunctionLowering, Scalars};
use super::{Lowered, unsupported};
use crate::ast::{Call, ConstantKind, Instruction, OperandKind};
use crate::types::TypeTable;
use ir::Operand::Const;
use selvedge_ir as ir;
use smallvec::smallvec;

/// Intrinsics that only inform the optimiser, the debugger or a tool, and yield nothing.
const WITHOUT_EFFECT: &[&str] = &[
    "llvm.clear_cache",
    "llvm.codeview.annotation",
    "llvm.dbg.addr",
    "llvm.dbg.assign",
    "llvm.dbg.declare",
    "llvm.dbg.label",
    "llvm.dbg.value",
    "llvm.donothing",
    "llvm.experimental.noalias.scope.decl",
    "llvm.fake.use",
    "llvm.instrprof.cover",
    "llvm.instrprof.increment",
    "llvm.instrprof.increment.step",
    "llvm.instrprof.value.profile",
    "llvm.invariant.end",
    "llvm.lifetime.end",
    "llvm.lifetime.start",
    "llvm.prefetch",
    "llvm.pseudoprobe",
    "llvm.sideeffect",
    "llvm.stackprotector",
    "llvm.stackrestore",
    "llvm.va_end",
    "llvm.var.annotation",
    "llvm.x86.sse2.pause",
    "llvm.x86.sse.sfence",
    "llvm.x86.sse2.lfence",
    "llvm.aarch64.isb",
    "llvm.aarch64.hint",
];

/// Intrinsics that yield their first operand.
const IDENTITIES: &[&str] = &[
    "llvm.annotation",
    "llvm.arithmetic.fence",
    "llvm.expect",
    "llvm.launder.invariant.group",
    "llvm.preserve.static.offset",
    "llvm.ptr.annotation",
    "llvm.ssa.copy",
    "llvm.strip.invariant.group",
];

/// Whether a name is this intrinsic, overloaded or not.
pub(super) fn is(name: &str, intrinsic: &str) -> bool {
    name.strip_prefix(intrinsic).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl<'m, 'a> FunctionLowering<'_, 'm, 'a> {
    /// Lowers a call of an intrinsic.
    pub(super) fn intrinsic(
        &mut self,
        name: &str,
        call: &'m Call<'a>,
        instruction: &'m Instruction<'a>,
    ) -> Lowered<Scalars> {
        let none = Scalars::new();
        if WITHOUT_EFFECT.iter().any(|intrinsic| is(name, intrinsic)) {
            return Ok(none);
        }
        if IDENTITIES.iter().any(|intrinsic| is(name, intrinsic)) {
            return match call.args.first() {
                Some(argument) if argument.value.ty == instruction.ty => self.operand(argument.value),
                _ => unsupported(format!("the intrinsic `{name}`")),
            };
        }
        if let Some(result) = self.memory_intrinsic(name, call)? {
            return Ok(result);
        }
        if let Some(result) = self.control_intrinsic(name, call)? {
            return Ok(result);
        }
        if let Some(result) = self.constant_intrinsic(name, call, instruction)? {
            return Ok(result);
        }
        self.math_intrinsic(name, call, instruction)
    }

    /// The n-th argument as one scalar.
    pub(super) fn argument(&mut self, call: &'m Call<'a>, n: usize) -> Lowered<ir::Operand> {
        match call.args.get(n) {
            Some(argument) => self.scalar(argument.value),
            None => unsupported("an intrinsic with too few arguments"),
        }
    }

    /// The n-th argument as an `i64`.
    fn length(&mut self, call: &'m Call<'a>, n: usize) -> Lowered<ir::Operand> {
        let value = self.argument(call, n)?;
        let ty = self.unit.scalar_type(call.args[n].value.ty)?;
        match ty {
            ir::Type::Int(_) => Ok(self.resize(ty, ir::Type::I64, value)),
            _ => unsupported("a length that is not an integer"),
        }
    }

    fn want_type(&self, call: &Call<'a>, n: usize, ty: ir::Type) -> Lowered<()> {
        match call.args.get(n) {
            Some(argument) if self.unit.scalar_type(argument.value.ty)? == ty => Ok(()),
            _ => unsupported("an intrinsic with arguments of other types"),
        }
    }

    fn memory_intrinsic(&mut self, name: &str, call: &'m Call<'a>) -> Lowered<Option<Scalars>> {
        if name.contains(".element.unordered.atomic") {
            return unsupported(format!("the intrinsic `{name}`"));
        }
        let none = Some(Scalars::new());
        if is(name, "llvm.memcpy") || is(name, "llvm.memmove") {
            self.want_type(call, 0, ir::Type::Ptr)?;
            self.want_type(call, 1, ir::Type::Ptr)?;
            let (dst, src) = (self.argument(call, 0)?, self.argument(call, 1)?);
            let len = self.length(call, 2)?;
            self.emit(ir::InstKind::MemCopy { dst, src, len, overlap: is(name, "llvm.memmove") }, &[]);
            return Ok(none);
        }
        if is(name, "llvm.memset") {
            self.want_type(call, 0, ir::Type::Ptr)?;
            self.want_type(call, 1, ir::Type::I8)?;
            let (dst, byte) = (self.argument(call, 0)?, self.argument(call, 1)?);
            let len = self.length(call, 2)?;
            self.emit(ir::InstKind::MemSet { dst, byte, len }, &[]);
            return Ok(none);
        }
        if is(name, "llvm.va_start") {
            self.want_type(call, 0, ir::Type::Ptr)?;
            let list = self.argument(call, 0)?;
            self.va_start(list);
            return Ok(none);
        }
        if is(name, "llvm.va_copy") {
            self.want_type(call, 0, ir::Type::Ptr)?;
            self.want_type(call, 1, ir::Type::Ptr)?;
            let (dst, src) = (self.argument(call, 0)?, self.argument(call, 1)?);
            self.va_copy(dst, src);
            return Ok(none);
        }
        if is(name, "llvm.threadlocal.address") {
            if let Some(OperandKind::Const(id)) = call.args.first().map(|argument| argument.value.kind)
                && let ConstantKind::Symbol(symbol) = self.unit.module.constant(id).kind
            {
                return Ok(Some(smallvec![self.thread_local_address(symbol)?]));
            }
            return unsupported("the address of a computed thread-local variable");
        }
        if is(name, "llvm.ptrmask") {
            self.want_type(call, 0, ir::Type::Ptr)?;
            let (pointer, mask) = (self.argument(call, 0)?, self.length(call, 1)?);
            let bits = self.cast(ir::CastOp::PtrToInt, ir::Type::Ptr, ir::Type::I64, pointer);
            let bits = self.binary(ir::BinaryOp::And, ir::Type::I64, bits, mask);
            let pointer = self.cast(ir::CastOp::IntToPtr, ir::Type::I64, ir::Type::Ptr, bits);
            return Ok(Some(smallvec![pointer]));
        }
        Ok(None)
    }

    fn control_intrinsic(&mut self, name: &str, call: &'m Call<'a>) -> Lowered<Option<Scalars>> {
        let none = Some(Scalars::new());
        if is(name, "llvm.assume") {
            self.want_type(call, 0, ir::Type::I1)?;
            let cond = self.argument(call, 0)?;
            self.assume(cond);
            return Ok(none);
        }
        if is(name, "llvm.trap") || is(name, "llvm.ubsantrap") || is(name, "llvm.debugtrap") {
            let abort = self.program.external("abort", &[], &[]);
            self.call_external(abort, Vec::new(), &[]);
            return Ok(none);
        }
        if is(name, "llvm.x86.sse2.mfence") || is(name, "llvm.aarch64.dmb") || is(name, "llvm.aarch64.dsb") {
            self.emit(ir::InstKind::Fence { order: ir::Order::SeqCst }, &[]);
            return Ok(none);
        }
        Ok(None)
    }

    /// Intrinsics whose result may be a constant: questions to the optimiser with an answer that is always right.
    fn constant_intrinsic(
        &mut self,
        name: &str,
        call: &'m Call<'a>,
        instruction: &'m Instruction<'a>,
    ) -> Lowered<Option<Scalars>> {
        let value = if is(name, "llvm.objectsize") {
            // Unknown: 0 if the least size is asked for, -1 if the greatest.
            match self.argument(call, 1)? {
                Const(0) => u64::MAX,
                _ => 0,
            }
        } else if is(name, "llvm.allow.ubsan.check")
            || is(name, "llvm.allow.runtime.check")
            || is(name, "llvm.type.test")
            || is(name, "llvm.public.type.test")
            || is(name, "llvm.get.rounding")
            || is(name, "llvm.flt.rounds")
        {
            1
        } else if is(name, "llvm.is.constant")
            || is(name, "llvm.stacksave")
            || is(name, "llvm.returnaddress")
            || is(name, "llvm.frameaddress")
            || is(name, "llvm.eh.typeid.for")
            || is(name, "llvm.invariant.start")
        {
            0
        } else {
            return Ok(None);
        };
        if instruction.ty == TypeTable::VOID {
            return Ok(Some(Scalars::new()));
        }
        let ty = self.unit.scalar_type(instruction.ty)?;
        Ok(Some(smallvec![Const(value & ty.mask())]))
    }

    /// Calls a function that the lowering declared; by its address if the program declares it otherwise.
    pub(super) fn call_external(
        &mut self,
        id: ir::FuncId,
        args: Vec<(ir::Type, ir::Operand)>,
        results: &[ir::Type],
    ) -> ir::Inst {
        let function = &self.program.module.functions[id];
        let fits = function.results == results
            && function.params.len() == args.len()
            && function.params.iter().zip(&args).all(|(&param, &(ty, _))| function.values[param].ty == ty);
        let callee = if fits { ir::Callee::Direct(id) } else { ir::Callee::Indirect(ir::Operand::Func(id)) };
        self.emit(ir::InstKind::Call { callee, args }, results)
    }
}

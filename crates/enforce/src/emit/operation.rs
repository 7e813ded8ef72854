//! Instructions that compute.
//!
//! Where C and LLVM leave a result open, `ir::eval` fixes it, and the text says the same: a shift takes its amount modulo the
//! width, a conversion to an integer that does not fit takes the nearest one.

use super::{EmitError, Emitter};
use selvedge_ir::{BinaryOp, CastOp, EntityRef, FuncId, Inst, InstKind, Intrinsic, Operand, Type};
use std::fmt::Write;

impl Emitter<'_> {
    pub(super) fn operation(&mut self, func: FuncId, inst: Inst) -> Result<(), EmitError> {
        let module = self.module;
        let data = &module.functions[func].insts[inst];
        let text = match &data.kind {
            InstKind::Phi { ty, args } => {
                let arg = |(block, operand): &(selvedge_ir::Block, Operand)| {
                    format!("[ {}, {} ]", self.operand(*ty, *operand), Self::label(*block))
                };
                let args: Vec<String> = args.iter().map(arg).collect();
                format!("phi {} {}", self.ty(*ty), args.join(", "))
            }
            InstKind::Binary { op, ty, a, b } => self.binary(inst, *op, *ty, *a, *b),
            InstKind::FNeg { ty, a } => format!("fneg {}", self.typed(*ty, *a)),
            InstKind::Cmp { op, ty, a, b } => {
                let name = op.name();
                let (word, condition) = if ty.is_float() { ("fcmp", &name[1..]) } else { ("icmp", name) };
                format!("{word} {condition} {}, {}", self.typed(*ty, *a), self.operand(*ty, *b))
            }
            InstKind::Cast { op, from, to, a } => self.cast(*op, *from, *to, *a),
            InstKind::Select { ty, cond, a, b } => {
                let cond = self.typed(Type::I1, *cond);
                format!("select {cond}, {}, {}", self.typed(*ty, *a), self.typed(*ty, *b))
            }
            InstKind::PtrAdd { base, index, scale, offset } => self.ptr_add(inst, *base, *index, *scale, *offset),
            InstKind::ThreadLocal { global } => {
                let address = self.global_address(*global, 0);
                let ptr = self.ptr();
                format!("getelementptr i8, {ptr} {address}, i64 0")
            }
            InstKind::Intrinsic { op, ty, args } => return self.intrinsic(func, inst, *op, *ty, args),
            _ => unreachable!("the caller passes instructions that compute"),
        };
        let _ = writeln!(self.out, "  %{} = {text}", data.results[0]);
        Ok(())
    }

    fn binary(&mut self, inst: Inst, op: BinaryOp, ty: Type, a: Operand, b: Operand) -> String {
        let mut right = self.operand(ty, b);
        let shift = matches!(op, BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr);
        if shift && !matches!(b, Operand::Const(amount) if amount < u64::from(ty.bits())) {
            let name = format!("%shift.{}", inst.index());
            let _ = writeln!(self.out, "  {name} = urem {} {right}, {}", self.ty(ty), ty.bits());
            right = name;
        }
        format!("{} {}, {right}", op.name(), self.typed(ty, a))
    }

    fn cast(&mut self, op: CastOp, from: Type, to: Type, a: Operand) -> String {
        let (operand, target) = (self.typed(from, a), self.ty(to));
        let name = match (op, from, to) {
            (CastOp::Bitcast, Type::Ptr, Type::Int(_)) => "ptrtoint",
            (CastOp::Bitcast, Type::Int(_), Type::Ptr) => "inttoptr",
            (CastOp::FpToUi | CastOp::FpToSi, _, _) => {
                let name = format!("llvm.{}.sat.{target}.f{}", op.name(), from.bits());
                self.need(&name, format!("{target} @{name}({})", self.ty(from)));
                return format!("call {target} @{name}({operand})");
            }
            _ => op.name(),
        };
        format!("{name} {operand} to {target}")
    }

    /// `base + index * scale + offset`.
    fn ptr_add(&mut self, inst: Inst, base: Operand, index: Operand, scale: i64, offset: i64) -> String {
        let (base, ptr) = (self.typed(Type::Ptr, base), self.ptr());
        if let Operand::Const(index) = index {
            let bytes = (index as i64).wrapping_mul(scale).wrapping_add(offset);
            return format!("getelementptr i8, {base}, i64 {bytes}");
        }
        let number = inst.index();
        let index = self.operand(Type::I64, index);
        let _ = writeln!(self.out, "  %scaled.{number} = mul i64 {index}, {scale}");
        let _ = writeln!(self.out, "  %moved.{number} = getelementptr i8, {base}, i64 %scaled.{number}");
        format!("getelementptr i8, {ptr} %moved.{number}, i64 {offset}")
    }

    fn intrinsic(
        &mut self,
        func: FuncId,
        inst: Inst,
        op: Intrinsic,
        ty: Type,
        args: &[Operand],
    ) -> Result<(), EmitError> {
        let Some((name, extra, pair)) = known(op) else {
            return Err(self.refuse(func, inst, format!("the computation {op:?}")));
        };
        let results = &self.module.functions[func].insts[inst].results;
        let suffix = if ty.is_float() { format!("f{}", ty.bits()) } else { format!("i{}", ty.bits()) };
        let symbol = format!("llvm.{name}.{suffix}");
        let text = self.ty(ty);
        let result = if pair { format!("{{ {text}, i1 }}") } else { text.clone() };
        let count = if extra { 1 } else { args.len() };
        let mut types = vec![text.clone(); count];
        let mut values: Vec<String> = args.iter().take(count).map(|&arg| self.typed(ty, arg)).collect();
        if extra {
            types.push("i1".to_owned());
            values.push("i1 false".to_owned());
        }
        self.need(&symbol, format!("{result} @{symbol}({})", types.join(", ")));
        let call = format!("call {result} @{symbol}({})", values.join(", "));
        if !pair {
            let _ = writeln!(self.out, "  %{} = {call}", results[0]);
            return Ok(());
        }
        let number = inst.index();
        let _ = writeln!(self.out, "  %pair.{number} = {call}");
        for (n, value) in results.iter().enumerate() {
            let _ = writeln!(self.out, "  %{value} = extractvalue {result} %pair.{number}, {n}");
        }
        Ok(())
    }
}

/// LLVM's name; whether it takes an `i1` that says what happens in a special case; whether it also yields an overflow.
fn known(op: Intrinsic) -> Option<(&'static str, bool, bool)> {
    Some(match op {
        Intrinsic::Ctpop => ("ctpop", false, false),
        Intrinsic::Ctlz => ("ctlz", true, false),
        Intrinsic::Cttz => ("cttz", true, false),
        Intrinsic::Bswap => ("bswap", false, false),
        Intrinsic::BitReverse => ("bitreverse", false, false),
        Intrinsic::Abs => ("abs", true, false),
        Intrinsic::SMax => ("smax", false, false),
        Intrinsic::SMin => ("smin", false, false),
        Intrinsic::UMax => ("umax", false, false),
        Intrinsic::UMin => ("umin", false, false),
        Intrinsic::Fshl => ("fshl", false, false),
        Intrinsic::Fshr => ("fshr", false, false),
        Intrinsic::SAddOverflow => ("sadd.with.overflow", false, true),
        Intrinsic::UAddOverflow => ("uadd.with.overflow", false, true),
        Intrinsic::SSubOverflow => ("ssub.with.overflow", false, true),
        Intrinsic::USubOverflow => ("usub.with.overflow", false, true),
        Intrinsic::SMulOverflow => ("smul.with.overflow", false, true),
        Intrinsic::UMulOverflow => ("umul.with.overflow", false, true),
        Intrinsic::SAddSat => ("sadd.sat", false, false),
        Intrinsic::UAddSat => ("uadd.sat", false, false),
        Intrinsic::SSubSat => ("ssub.sat", false, false),
        Intrinsic::USubSat => ("usub.sat", false, false),
        Intrinsic::FAbs => ("fabs", false, false),
        Intrinsic::Sqrt => ("sqrt", false, false),
        Intrinsic::Floor => ("floor", false, false),
        Intrinsic::Ceil => ("ceil", false, false),
        Intrinsic::FTrunc => ("trunc", false, false),
        Intrinsic::Round => ("round", false, false),
        Intrinsic::RoundEven => ("roundeven", false, false),
        Intrinsic::Fma => ("fma", false, false),
        Intrinsic::FMulAdd => ("fmuladd", false, false),
        Intrinsic::FMin => ("minnum", false, false),
        Intrinsic::FMax => ("maxnum", false, false),
        Intrinsic::CopySign => ("copysign", false, false),
        Intrinsic::Pow => ("pow", false, false),
        Intrinsic::Exp => ("exp", false, false),
        Intrinsic::Log => ("log", false, false),
        Intrinsic::Sin => ("sin", false, false),
        Intrinsic::Cos => ("cos", false, false),
        Intrinsic::IsFpClass => return None,
    })
}

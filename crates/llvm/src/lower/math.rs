//! LLVM's arithmetic intrinsics.
//!
//! Most have an operator of their own in the representation and apply element by element; some are spelled out with
//! comparisons and choices; and those that belong to the mathematical library are calls of its functions.

use super::function::{FunctionLowering, Scalars};
use super::intrinsic::is;
use super::{Lowered, unsupported};
use crate::ast::{BinaryOp, Call, Instruction};
use crate::types::TypeId;
use selvedge_ir as ir;
use smallvec::smallvec;

/// Integer intrinsics with an operator of their own: name, operator, number of operands that are values.
const INT_OPERATORS: &[(&str, ir::Intrinsic, usize)] = &[
    ("llvm.ctpop", ir::Intrinsic::Ctpop, 1),
    ("llvm.ctlz", ir::Intrinsic::Ctlz, 1),
    ("llvm.cttz", ir::Intrinsic::Cttz, 1),
    ("llvm.bswap", ir::Intrinsic::Bswap, 1),
    ("llvm.bitreverse", ir::Intrinsic::BitReverse, 1),
    ("llvm.abs", ir::Intrinsic::Abs, 1),
    ("llvm.smax", ir::Intrinsic::SMax, 2),
    ("llvm.smin", ir::Intrinsic::SMin, 2),
    ("llvm.umax", ir::Intrinsic::UMax, 2),
    ("llvm.umin", ir::Intrinsic::UMin, 2),
    ("llvm.fshl", ir::Intrinsic::Fshl, 3),
    ("llvm.fshr", ir::Intrinsic::Fshr, 3),
    ("llvm.sadd.sat", ir::Intrinsic::SAddSat, 2),
    ("llvm.uadd.sat", ir::Intrinsic::UAddSat, 2),
    ("llvm.ssub.sat", ir::Intrinsic::SSubSat, 2),
    ("llvm.usub.sat", ir::Intrinsic::USubSat, 2),
];

const OVERFLOW_OPERATORS: &[(&str, ir::Intrinsic)] = &[
    ("llvm.sadd.with.overflow", ir::Intrinsic::SAddOverflow),
    ("llvm.uadd.with.overflow", ir::Intrinsic::UAddOverflow),
    ("llvm.ssub.with.overflow", ir::Intrinsic::SSubOverflow),
    ("llvm.usub.with.overflow", ir::Intrinsic::USubOverflow),
    ("llvm.smul.with.overflow", ir::Intrinsic::SMulOverflow),
    ("llvm.umul.with.overflow", ir::Intrinsic::UMulOverflow),
];

const FLOAT_OPERATORS: &[(&str, ir::Intrinsic, usize)] = &[
    ("llvm.fabs", ir::Intrinsic::FAbs, 1),
    ("llvm.sqrt", ir::Intrinsic::Sqrt, 1),
    ("llvm.floor", ir::Intrinsic::Floor, 1),
    ("llvm.ceil", ir::Intrinsic::Ceil, 1),
    ("llvm.trunc", ir::Intrinsic::FTrunc, 1),
    ("llvm.round", ir::Intrinsic::Round, 1),
    ("llvm.roundeven", ir::Intrinsic::RoundEven, 1),
    // These depend on the rounding mode, which is the default one.
    ("llvm.rint", ir::Intrinsic::RoundEven, 1),
    ("llvm.nearbyint", ir::Intrinsic::RoundEven, 1),
    ("llvm.fma", ir::Intrinsic::Fma, 3),
    ("llvm.fmuladd", ir::Intrinsic::FMulAdd, 3),
    ("llvm.minnum", ir::Intrinsic::FMin, 2),
    ("llvm.maxnum", ir::Intrinsic::FMax, 2),
    ("llvm.minimumnum", ir::Intrinsic::FMin, 2),
    ("llvm.maximumnum", ir::Intrinsic::FMax, 2),
    ("llvm.copysign", ir::Intrinsic::CopySign, 2),
    ("llvm.pow", ir::Intrinsic::Pow, 2),
    ("llvm.exp", ir::Intrinsic::Exp, 1),
    ("llvm.log", ir::Intrinsic::Log, 1),
    ("llvm.sin", ir::Intrinsic::Sin, 1),
    ("llvm.cos", ir::Intrinsic::Cos, 1),
];

/// Intrinsics that are functions of the mathematical library under the same name.
const LIBRARY: &[&str] =
    &["exp2", "exp10", "log2", "log10", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "ldexp"];

/// Reductions of a vector: name, operator on two elements.
const REDUCTIONS: &[(&str, BinaryOp)] = &[
    ("llvm.vector.reduce.add", BinaryOp::Add),
    ("llvm.vector.reduce.mul", BinaryOp::Mul),
    ("llvm.vector.reduce.and", BinaryOp::And),
    ("llvm.vector.reduce.or", BinaryOp::Or),
    ("llvm.vector.reduce.xor", BinaryOp::Xor),
    ("llvm.vector.reduce.fadd", BinaryOp::FAdd),
    ("llvm.vector.reduce.fmul", BinaryOp::FMul),
];

const MIN_MAX_REDUCTIONS: &[(&str, ir::Intrinsic)] = &[
    ("llvm.vector.reduce.smax", ir::Intrinsic::SMax),
    ("llvm.vector.reduce.smin", ir::Intrinsic::SMin),
    ("llvm.vector.reduce.umax", ir::Intrinsic::UMax),
    ("llvm.vector.reduce.umin", ir::Intrinsic::UMin),
    ("llvm.vector.reduce.fmax", ir::Intrinsic::FMax),
    ("llvm.vector.reduce.fmin", ir::Intrinsic::FMin),
];

impl<'m, 'a> FunctionLowering<'_, 'm, 'a> {
    /// Lowers a call of an arithmetic intrinsic.
    pub(super) fn math_intrinsic(
        &mut self,
        name: &str,
        call: &'m Call<'a>,
        instruction: &'m Instruction<'a>,
    ) -> Lowered<Scalars> {
        let ty = instruction.ty;
        if let Some(&(_, op, count)) = INT_OPERATORS.iter().find(|entry| is(name, entry.0)) {
            let fits = self.unit.module.types.is_int(ty);
            return self.elementwise(name, op, count, ty, fits, call);
        }
        if let Some(&(_, op, count)) = FLOAT_OPERATORS.iter().find(|entry| is(name, entry.0)) {
            self.want_float(ty)?;
            return self.elementwise(name, op, count, ty, true, call);
        }
        if let Some(&(_, op)) = OVERFLOW_OPERATORS.iter().find(|entry| is(name, entry.0)) {
            return self.overflow(name, op, call);
        }
        if is(name, "llvm.minimum") || is(name, "llvm.maximum") {
            return self.nan_propagating(name, ty, call);
        }
        if is(name, "llvm.scmp") || is(name, "llvm.ucmp") {
            return self.three_way(name, ty, call);
        }
        if is(name, "llvm.fptosi.sat") || is(name, "llvm.fptoui.sat") {
            return self.saturating_conversion(name, ty, call);
        }
        if is(name, "llvm.is.fpclass") {
            return self.float_class(ty, call);
        }
        if name.starts_with("llvm.vector.reduce.") {
            return self.reduction(name, ty, call);
        }
        if let Some(rounding) = rounding_to_int(name) {
            return self.round_to_int(rounding, ty, call);
        }
        let base = name.strip_prefix("llvm.").and_then(|rest| rest.split('.').next()).unwrap_or("");
        if is(name, "llvm.powi") {
            return self.integer_power(ty, call);
        }
        if LIBRARY.contains(&base) {
            return self.library_call(base, ty, call);
        }
        unsupported(format!("the intrinsic `{name}`"))
    }

    /// All arguments that are values, as scalars; each must have the type of the result.
    fn values(&mut self, name: &str, count: usize, ty: TypeId, call: &'m Call<'a>) -> Lowered<Vec<Scalars>> {
        let mut all = Vec::new();
        for n in 0..count {
            match call.args.get(n) {
                Some(argument) if argument.value.ty == ty => all.push(self.operand(argument.value)?),
                _ => return unsupported(format!("the intrinsic `{name}` with arguments of other types")),
            }
        }
        Ok(all)
    }

    fn elementwise(
        &mut self,
        name: &str,
        op: ir::Intrinsic,
        count: usize,
        ty: TypeId,
        fits: bool,
        call: &'m Call<'a>,
    ) -> Lowered<Scalars> {
        let (element, _) = self.elements(ty);
        if !fits {
            return unsupported(format!("the intrinsic `{name}`"));
        }
        if self.unit.leaf_count(element)? != 1 {
            let values = self.values(name, count, ty, call)?;
            return self.wide_intrinsic(op, ty, &values);
        }
        let scalar = self.unit.scalar_type(element)?;
        let values = self.values(name, count, ty, call)?;
        let lanes = values.first().map_or(0, |first| first.len());
        Ok((0..lanes)
            .map(|lane| {
                let args = values.iter().map(|value| value[lane]).collect();
                self.emit1(ir::InstKind::Intrinsic { op, ty: scalar, args }, scalar)
            })
            .collect())
    }

    /// A result and whether it overflowed.
    fn overflow(&mut self, name: &str, op: ir::Intrinsic, call: &'m Call<'a>) -> Lowered<Scalars> {
        let Some(ty) = call.args.first().map(|argument| argument.value.ty) else {
            return unsupported(format!("the intrinsic `{name}`"));
        };
        let (_, lanes) = self.elements(ty);
        if lanes != 1 || !self.unit.module.types.is_int(ty) {
            return unsupported(format!("the intrinsic `{name}`"));
        }
        if self.unit.leaf_count(ty)? != 1 {
            let values = self.values(name, 2, ty, call)?;
            return self.wide_overflow(op, ty, &values[0], &values[1]);
        }
        let scalar = self.unit.scalar_type(ty)?;
        let values = self.values(name, 2, ty, call)?;
        let args = values.iter().map(|value| value[0]).collect();
        let inst = self.emit(ir::InstKind::Intrinsic { op, ty: scalar, args }, &[scalar, ir::Type::I1]);
        Ok(self.f.insts[inst].results.iter().map(|&value| ir::Operand::Value(value)).collect())
    }

    /// `llvm.minimum` and `llvm.maximum`: unlike `minnum`, a NaN operand makes the result NaN.
    fn nan_propagating(&mut self, name: &str, ty: TypeId, call: &'m Call<'a>) -> Lowered<Scalars> {
        let scalar = self.want_float(ty)?;
        let op = if is(name, "llvm.minimum") { ir::Intrinsic::FMin } else { ir::Intrinsic::FMax };
        let values = self.values(name, 2, ty, call)?;
        Ok((0..values[0].len())
            .map(|lane| {
                let (a, b) = (values[0][lane], values[1][lane]);
                let nan = self.cmp(ir::CmpOp::FUno, scalar, a, b);
                let sum = self.binary(ir::BinaryOp::FAdd, scalar, a, b);
                let kind = ir::InstKind::Intrinsic { op, ty: scalar, args: vec![a, b] };
                let other = self.emit1(kind, scalar);
                self.select(scalar, nan, sum, other)
            })
            .collect())
    }

    /// `-1`, `0` or `1`.
    fn three_way(&mut self, name: &str, ty: TypeId, call: &'m Call<'a>) -> Lowered<Scalars> {
        let Some(operands) = call.args.first().map(|argument| argument.value.ty) else {
            return unsupported(format!("the intrinsic `{name}`"));
        };
        let values = self.values(name, 2, operands, call)?;
        let (less, greater) = if is(name, "llvm.scmp") { ("slt", "sgt") } else { ("ult", "ugt") };
        let less = self.compare_ints(less, operands, &values[0], &values[1])?;
        let greater = self.compare_ints(greater, operands, &values[0], &values[1])?;
        let (element, _) = self.elements(ty);
        let to = self.unit.scalar_type(element)?;
        Ok(less
            .iter()
            .zip(&greater)
            .map(|(&less, &greater)| {
                let (up, down) = (self.resize(ir::Type::I1, to, greater), self.resize(ir::Type::I1, to, less));
                self.binary(ir::BinaryOp::Sub, to, up, down)
            })
            .collect())
    }

    /// The representation's conversions already saturate.
    fn saturating_conversion(&mut self, name: &str, ty: TypeId, call: &'m Call<'a>) -> Lowered<Scalars> {
        let Some(argument) = call.args.first() else {
            return unsupported(format!("the intrinsic `{name}`"));
        };
        let from = self.want_float(argument.value.ty)?;
        let (element, _) = self.elements(ty);
        let to = self.unit.scalar_type(element)?;
        let op = if is(name, "llvm.fptosi.sat") { ir::CastOp::FpToSi } else { ir::CastOp::FpToUi };
        let values = self.operand(argument.value)?;
        Ok(values.iter().map(|&value| self.cast(op, from, to, value)).collect())
    }

    fn float_class(&mut self, ty: TypeId, call: &'m Call<'a>) -> Lowered<Scalars> {
        let Some(argument) = call.args.first() else {
            return unsupported("the intrinsic `llvm.is.fpclass`");
        };
        let from = self.want_float(argument.value.ty)?;
        let values = self.operand(argument.value)?;
        let mask = self.argument(call, 1)?;
        if values.len() != self.unit.leaf_count(ty)? {
            return unsupported("the intrinsic `llvm.is.fpclass`");
        }
        Ok(values
            .iter()
            .map(|&value| {
                let kind = ir::InstKind::Intrinsic { op: ir::Intrinsic::IsFpClass, ty: from, args: vec![value, mask] };
                self.emit1(kind, ir::Type::I1)
            })
            .collect())
    }

    fn reduction(&mut self, name: &str, ty: TypeId, call: &'m Call<'a>) -> Lowered<Scalars> {
        let Some(vector) = call.args.last().map(|argument| argument.value) else {
            return unsupported(format!("the intrinsic `{name}`"));
        };
        let (element, count) = self.elements(vector.ty);
        if element != ty {
            return unsupported(format!("the intrinsic `{name}`"));
        }
        let all = self.operand(vector)?;
        let width = self.unit.leaf_count(element)?;
        let lane = |n: usize| -> Scalars { all[n * width..(n + 1) * width].iter().copied().collect() };
        if let Some(&(_, op)) = REDUCTIONS.iter().find(|entry| is(name, entry.0)) {
            // Floating-point reductions start from a value and go in order.
            let (mut result, from) = match call.args.len() {
                1 => (lane(0), 1),
                _ => (self.operand(call.args[0].value)?, 0),
            };
            if result.len() != width {
                return unsupported(format!("the intrinsic `{name}`"));
            }
            for n in from..count {
                result = self.arithmetic(op, element, &result, &lane(n))?;
            }
            return Ok(result);
        }
        if let Some(&(_, op)) = MIN_MAX_REDUCTIONS.iter().find(|entry| is(name, entry.0))
            && width == 1
        {
            let scalar = self.unit.scalar_type(element)?;
            if self.unit.module.types.is_float(element) {
                self.want_float(element)?;
            }
            let mut result = all[0];
            for &next in &all[1..] {
                let kind = ir::InstKind::Intrinsic { op, ty: scalar, args: vec![result, next] };
                result = self.emit1(kind, scalar);
            }
            return Ok(smallvec![result]);
        }
        unsupported(format!("the intrinsic `{name}`"))
    }

    fn round_to_int(&mut self, op: ir::Intrinsic, ty: TypeId, call: &'m Call<'a>) -> Lowered<Scalars> {
        let Some(argument) = call.args.first() else {
            return unsupported("rounding without an argument");
        };
        let from = self.want_float(argument.value.ty)?;
        let to = self.unit.scalar_type(ty)?;
        let value = self.scalar(argument.value)?;
        let rounded = self.emit1(ir::InstKind::Intrinsic { op, ty: from, args: vec![value] }, from);
        Ok(smallvec![self.cast(ir::CastOp::FpToSi, from, to, rounded)])
    }

    fn integer_power(&mut self, ty: TypeId, call: &'m Call<'a>) -> Lowered<Scalars> {
        let float = self.want_float(ty)?;
        let values = self.values("llvm.powi", 1, ty, call)?;
        let exponent = self.argument(call, 1)?;
        let from = self.unit.scalar_type(call.args[1].value.ty)?;
        let exponent = self.cast(ir::CastOp::SiToFp, from, float, exponent);
        Ok(values[0]
            .iter()
            .map(|&value| {
                let args = vec![value, exponent];
                self.emit1(ir::InstKind::Intrinsic { op: ir::Intrinsic::Pow, ty: float, args }, float)
            })
            .collect())
    }

    /// `log2` and its like: `log2f` for `float`.
    fn library_call(&mut self, base: &str, ty: TypeId, call: &'m Call<'a>) -> Lowered<Scalars> {
        let float = self.want_float(ty)?;
        let (_, lanes) = self.elements(ty);
        if lanes != 1 {
            return unsupported(format!("`{base}` of a vector"));
        }
        let mut args = Vec::new();
        for argument in &call.args {
            let scalar = self.unit.scalar_type(argument.value.ty)?;
            args.push((scalar, self.scalar(argument.value)?));
        }
        let name = if float == ir::Type::F32 { format!("{base}f") } else { base.to_string() };
        let params: Vec<ir::Type> = args.iter().map(|&(ty, _)| ty).collect();
        let id = self.program.external(&name, &params, &[float]);
        let inst = self.call_external(id, args, &[float]);
        Ok(smallvec![ir::Operand::Value(self.f.result(inst))])
    }
}

/// `lround` and its like: how they round before they convert.
fn rounding_to_int(name: &str) -> Option<ir::Intrinsic> {
    if is(name, "llvm.lround") || is(name, "llvm.llround") {
        Some(ir::Intrinsic::Round)
    } else if is(name, "llvm.lrint") || is(name, "llvm.llrint") {
        Some(ir::Intrinsic::RoundEven)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overloaded_names_are_matched_by_whole_words() {
        assert!(is("llvm.round.f64", "llvm.round"));
        assert!(!is("llvm.roundeven.f64", "llvm.round"));
        assert!(is("llvm.trap", "llvm.trap"));
        assert!(!is("llvm.minimumnum.f64", "llvm.minimum"));
        assert_eq!(rounding_to_int("llvm.llrint.i64.f64"), Some(ir::Intrinsic::RoundEven));
    }

    #[test]
    fn no_intrinsic_is_listed_twice() {
        let mut names: Vec<&str> = INT_OPERATORS
            .iter()
            .map(|entry| entry.0)
            .chain(FLOAT_OPERATORS.iter().map(|entry| entry.0))
            .chain(OVERFLOW_OPERATORS.iter().map(|entry| entry.0))
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}

//! Instructions on values: arithmetic, comparisons, conversions, choices.
//!
//! Each works element by element: a vector is a list of elements, and an element is one scalar or, if it is an integer
//! wider than 64 bits, several limbs (`wide.rs`).

use super::function::{FunctionLowering, Scalars};
use super::{Lowered, unsupported};
use crate::ast::{BinaryOp, CastOp, Instruction, Op};
use crate::types::{FloatKind, Type, TypeId};
use selvedge_ir as ir;
use smallvec::smallvec;

/// The representation's operator.
pub(super) fn scalar_binary(op: BinaryOp) -> ir::BinaryOp {
    match op {
        BinaryOp::Add => ir::BinaryOp::Add,
        BinaryOp::Sub => ir::BinaryOp::Sub,
        BinaryOp::Mul => ir::BinaryOp::Mul,
        BinaryOp::UDiv => ir::BinaryOp::UDiv,
        BinaryOp::SDiv => ir::BinaryOp::SDiv,
        BinaryOp::URem => ir::BinaryOp::URem,
        BinaryOp::SRem => ir::BinaryOp::SRem,
        BinaryOp::Shl => ir::BinaryOp::Shl,
        BinaryOp::LShr => ir::BinaryOp::LShr,
        BinaryOp::AShr => ir::BinaryOp::AShr,
        BinaryOp::And => ir::BinaryOp::And,
        BinaryOp::Or => ir::BinaryOp::Or,
        BinaryOp::Xor => ir::BinaryOp::Xor,
        BinaryOp::FAdd => ir::BinaryOp::FAdd,
        BinaryOp::FSub => ir::BinaryOp::FSub,
        BinaryOp::FMul => ir::BinaryOp::FMul,
        BinaryOp::FDiv => ir::BinaryOp::FDiv,
        BinaryOp::FRem => ir::BinaryOp::FRem,
    }
}

/// The representation's conversion between two scalars: `Some(None)` if the bits stay, none if there is none.
pub(super) fn scalar_cast(op: CastOp, from: ir::Type, to: ir::Type) -> Option<Option<ir::CastOp>> {
    let op = match op {
        CastOp::Trunc => ir::CastOp::Trunc,
        CastOp::ZExt => ir::CastOp::ZExt,
        CastOp::SExt => ir::CastOp::SExt,
        CastOp::FpTrunc | CastOp::FpExt if from == to => return Some(None),
        CastOp::FpTrunc if from == ir::Type::F64 && to == ir::Type::F32 => ir::CastOp::FpTrunc,
        CastOp::FpExt if from == ir::Type::F32 && to == ir::Type::F64 => ir::CastOp::FpExt,
        CastOp::FpToUi if from.is_float() => ir::CastOp::FpToUi,
        CastOp::FpToSi if from.is_float() => ir::CastOp::FpToSi,
        CastOp::UiToFp if to.is_float() => ir::CastOp::UiToFp,
        CastOp::SiToFp if to.is_float() => ir::CastOp::SiToFp,
        CastOp::PtrToInt if from == ir::Type::Ptr => ir::CastOp::PtrToInt,
        CastOp::IntToPtr if to == ir::Type::Ptr => ir::CastOp::IntToPtr,
        CastOp::Bitcast | CastOp::AddrSpaceCast if from == to => return Some(None),
        CastOp::Bitcast if from.bits() == to.bits() => ir::CastOp::Bitcast,
        _ => return None,
    };
    Some(Some(op))
}

impl<'m, 'a> FunctionLowering<'_, 'm, 'a> {
    /// Lowers an instruction that is not a terminator, phi or debug record.
    pub(super) fn instruction(&mut self, instruction: &'m Instruction<'a>) -> Lowered<()> {
        let ty = instruction.ty;
        let scalars = match &instruction.op {
            Op::Binary { op, a, b } => {
                let (x, y) = (self.operand(*a)?, self.operand(*b)?);
                self.arithmetic(*op, ty, &x, &y)?
            }
            Op::FNeg(a) => {
                let x = self.operand(*a)?;
                self.negate(ty, &x)?
            }
            Op::Cast { op, a } => {
                let x = self.operand(*a)?;
                self.convert(*op, a.ty, ty, &x)?
            }
            Op::ICmp { predicate, a, b } => {
                let (x, y) = (self.operand(*a)?, self.operand(*b)?);
                self.compare_ints(predicate, a.ty, &x, &y)?
            }
            Op::FCmp { predicate, a, b } => {
                let (x, y) = (self.operand(*a)?, self.operand(*b)?);
                self.compare_floats(predicate, a.ty, &x, &y)?
            }
            Op::Select { cond, a, b } => {
                let cond = self.operand(*cond)?;
                let (x, y) = (self.operand(*a)?, self.operand(*b)?);
                self.choose(ty, &cond, &x, &y)?
            }
            Op::Freeze(a) => self.operand(*a)?,
            Op::Alloca { element, count, align, special } => {
                self.alloca(instruction, *element, *count, *align, *special)?
            }
            Op::Load { address, atomic, volatile } => self.load(ty, *address, *atomic, *volatile)?,
            Op::Store { value, address, atomic, volatile } => {
                self.store(*value, *address, *atomic, *volatile)?;
                Scalars::new()
            }
            Op::Fence(atomic) => {
                self.fence(*atomic)?;
                Scalars::new()
            }
            Op::CmpXchg { .. } => self.compare_exchange(instruction)?,
            Op::AtomicRmw { op, address, value, atomic } => self.read_modify_write(*op, *address, *value, *atomic)?,
            Op::Gep { source, base, indices } => self.gep(*source, *base, indices, ty)?,
            Op::ExtractValue { aggregate, path } => {
                let whole = self.operand(*aggregate)?;
                let (start, count) = self.unit.part_range(aggregate.ty, path)?;
                whole[start..start + count].iter().copied().collect()
            }
            Op::InsertValue { aggregate, value, path } => {
                let mut whole = self.operand(*aggregate)?;
                let part = self.operand(*value)?;
                let (start, count) = self.unit.part_range(aggregate.ty, path)?;
                whole[start..start + count].copy_from_slice(&part);
                whole
            }
            Op::ExtractElement { vector, index } => self.extract_element(*vector, *index)?,
            Op::InsertElement { vector, value, index } => self.insert_element(*vector, *value, *index)?,
            Op::ShuffleVector { a, b, mask } => self.shuffle(*a, *b, *mask)?,
            Op::Call(call) => self.call(call, instruction)?,
            Op::VaArg(list) => self.va_arg(*list, ty)?,
            Op::LandingPad => return unsupported("an exception handler"),
            Op::Other(name) => return unsupported(*name),
            _ => return unsupported("this instruction"),
        };
        self.define(instruction, scalars);
        Ok(())
    }

    /// The element type of a vector and how many elements there are; other types are one element.
    pub(super) fn elements(&self, ty: TypeId) -> (TypeId, usize) {
        match *self.unit.module.types.get(ty) {
            Type::Vector { length, element, .. } => (element, length as usize),
            _ => (ty, 1),
        }
    }

    /// Applies an operation to each pair of elements.
    fn by_element(
        &mut self,
        ty: TypeId,
        a: &[ir::Operand],
        b: &[ir::Operand],
        mut op: impl FnMut(&mut Self, TypeId, &[ir::Operand], &[ir::Operand]) -> Lowered<Scalars>,
    ) -> Lowered<Scalars> {
        let (element, count) = self.elements(ty);
        let width = self.unit.leaf_count(element)?;
        let mut all = Scalars::new();
        for n in 0..count {
            let range = n * width..(n + 1) * width;
            all.extend(op(self, element, &a[range.clone()], &b[range])?);
        }
        Ok(all)
    }

    /// Refuses floating-point formats that the representation does not have.
    pub(super) fn want_float(&self, ty: TypeId) -> Lowered<ir::Type> {
        let element = self.unit.module.types.scalar(ty);
        match self.unit.module.types.get(element) {
            Type::Float(FloatKind::Single) => Ok(ir::Type::F32),
            Type::Float(FloatKind::Double) => Ok(ir::Type::F64),
            Type::Float(FloatKind::X87) => unsupported("arithmetic on `long double` (x86_fp80)"),
            Type::Float(kind) => unsupported(format!("arithmetic on `{}`", kind.name())),
            _ => unsupported(format!("floating point of type `{}`", self.unit.module.types.display(ty))),
        }
    }

    /// `a op b`.
    pub(super) fn arithmetic(
        &mut self,
        op: BinaryOp,
        ty: TypeId,
        a: &[ir::Operand],
        b: &[ir::Operand],
    ) -> Lowered<Scalars> {
        if self.unit.module.types.is_float(ty) {
            self.want_float(ty)?;
        }
        self.by_element(ty, a, b, |this, element, a, b| match (a, b) {
            (&[a], &[b]) => {
                let scalar = this.unit.scalar_type(element)?;
                Ok(smallvec![this.binary(scalar_binary(op), scalar, a, b)])
            }
            _ => this.wide_binary(op, element, a, b),
        })
    }

    /// `a op b` on scalars, folded if both are known.
    pub(super) fn binary(&mut self, op: ir::BinaryOp, ty: ir::Type, a: ir::Operand, b: ir::Operand) -> ir::Operand {
        if let (ir::Operand::Const(x), ir::Operand::Const(y)) = (a, b)
            && let Ok(value) = ir::eval::binary(op, ty, x, y)
        {
            return ir::Operand::Const(value);
        }
        self.emit1(ir::InstKind::Binary { op, ty, a, b }, ty)
    }

    /// `a op b` as `i1`, folded if both are known.
    pub(super) fn cmp(&mut self, op: ir::CmpOp, ty: ir::Type, a: ir::Operand, b: ir::Operand) -> ir::Operand {
        if let (ir::Operand::Const(x), ir::Operand::Const(y)) = (a, b) {
            return ir::Operand::Const(u64::from(ir::eval::cmp(op, ty, x, y)));
        }
        self.emit1(ir::InstKind::Cmp { op, ty, a, b }, ir::Type::I1)
    }

    /// A conversion of a scalar, folded if it is known.
    pub(super) fn cast(&mut self, op: ir::CastOp, from: ir::Type, to: ir::Type, a: ir::Operand) -> ir::Operand {
        match a {
            ir::Operand::Const(bits) => ir::Operand::Const(ir::eval::cast(op, from, to, bits)),
            ir::Operand::Undef => ir::Operand::Undef,
            _ => self.emit1(ir::InstKind::Cast { op, from, to, a }, to),
        }
    }

    /// `cond ? a : b` on scalars.
    pub(super) fn select(&mut self, ty: ir::Type, cond: ir::Operand, a: ir::Operand, b: ir::Operand) -> ir::Operand {
        match cond {
            ir::Operand::Const(0) => b,
            ir::Operand::Const(_) => a,
            _ => self.emit1(ir::InstKind::Select { ty, cond, a, b }, ty),
        }
    }

    /// An unsigned integer in another width.
    pub(super) fn resize(&mut self, from: ir::Type, to: ir::Type, a: ir::Operand) -> ir::Operand {
        match from.bits().cmp(&to.bits()) {
            std::cmp::Ordering::Less => self.cast(ir::CastOp::ZExt, from, to, a),
            std::cmp::Ordering::Equal => a,
            std::cmp::Ordering::Greater => self.cast(ir::CastOp::Trunc, from, to, a),
        }
    }

    /// A signed integer in another width.
    pub(super) fn resize_signed(&mut self, from: ir::Type, to: ir::Type, a: ir::Operand) -> ir::Operand {
        match from.bits().cmp(&to.bits()) {
            std::cmp::Ordering::Less => self.cast(ir::CastOp::SExt, from, to, a),
            _ => self.resize(from, to, a),
        }
    }

    fn negate(&mut self, ty: TypeId, a: &[ir::Operand]) -> Lowered<Scalars> {
        let scalar = self.want_float(ty)?;
        Ok(a.iter()
            .map(|&a| match a {
                ir::Operand::Const(bits) => ir::Operand::Const(ir::eval::fneg(scalar, bits)),
                _ => self.emit1(ir::InstKind::FNeg { ty: scalar, a }, scalar),
            })
            .collect())
    }

    /// A conversion.
    pub(super) fn convert(&mut self, op: CastOp, from: TypeId, to: TypeId, a: &[ir::Operand]) -> Lowered<Scalars> {
        if op == CastOp::AddrSpaceCast {
            return unsupported("a conversion between address spaces");
        }
        if op == CastOp::Bitcast {
            return self.reinterpret(from, to, a);
        }
        for ty in [from, to] {
            if self.unit.module.types.is_float(ty) {
                self.want_float(ty)?;
            }
        }
        let (from_element, count) = self.elements(from);
        let (to_element, _) = self.elements(to);
        let width = self.unit.leaf_count(from_element)?;
        let wide = width > 1 || self.unit.leaf_count(to_element)? > 1;
        let mut all = Scalars::new();
        for n in 0..count {
            let part = &a[n * width..(n + 1) * width];
            if wide {
                all.extend(self.wide_convert(op, from_element, to_element, part)?);
                continue;
            }
            let (from, to) = (self.unit.scalar_type(from_element)?, self.unit.scalar_type(to_element)?);
            match scalar_cast(op, from, to) {
                Some(Some(op)) => all.push(self.cast(op, from, to, part[0])),
                Some(None) => all.push(part[0]),
                None => return unsupported(format!("a conversion from `{from}` to `{to}`")),
            }
        }
        Ok(all)
    }

    /// Integer and pointer comparison.
    pub(super) fn compare_ints(
        &mut self,
        predicate: &str,
        ty: TypeId,
        a: &[ir::Operand],
        b: &[ir::Operand],
    ) -> Lowered<Scalars> {
        let Some(op) = ir::CmpOp::from_name(predicate) else {
            return unsupported(format!("the comparison `{predicate}`"));
        };
        self.by_element(ty, a, b, |this, element, a, b| match (a, b) {
            (&[a], &[b]) => {
                let scalar = this.unit.scalar_type(element)?;
                Ok(smallvec![this.cmp(op, scalar, a, b)])
            }
            _ => Ok(smallvec![this.wide_compare(op, element, a, b)?]),
        })
    }

    fn compare_floats(
        &mut self,
        predicate: &str,
        ty: TypeId,
        a: &[ir::Operand],
        b: &[ir::Operand],
    ) -> Lowered<Scalars> {
        let scalar = self.want_float(ty)?;
        let Some(op) = ir::CmpOp::from_name(&format!("f{predicate}")) else {
            return unsupported(format!("the comparison `{predicate}`"));
        };
        Ok(a.iter().zip(b).map(|(&a, &b)| self.cmp(op, scalar, a, b)).collect())
    }

    /// `cond ? a : b`, as a whole or element by element.
    pub(super) fn choose(
        &mut self,
        ty: TypeId,
        cond: &[ir::Operand],
        a: &[ir::Operand],
        b: &[ir::Operand],
    ) -> Lowered<Scalars> {
        let shape = self.unit.shape(ty)?;
        let per_condition = shape.leaves.len() / cond.len().max(1);
        let mut all = Scalars::new();
        for (n, leaf) in shape.leaves.iter().enumerate() {
            all.push(self.select(leaf.ty, cond[n / per_condition.max(1)], a[n], b[n]));
        }
        Ok(all)
    }
}

//! Elements of vectors, and values whose bits are read as another type.
//!
//! A `bitcast` between types of different shape (`<4 x i32>` to `i128`, `<8 x i1>` to `i8`, `double` to `i64`) joins the
//! bits of all scalars, the first one lowest, and cuts them anew.

use super::function::{FunctionLowering, Scalars};
use super::{Lowered, unsupported};
use crate::ast::{ConstId, ConstantKind, Operand, OperandKind};
use crate::types::{Type, TypeId};
use ir::Operand::Const;
use selvedge_ir as ir;
use smallvec::smallvec;

impl<'a> FunctionLowering<'_, '_, 'a> {
    /// A known index of a vector's element.
    fn known_index(&self, index: Operand<'a>) -> Option<u64> {
        match index.kind {
            OperandKind::Const(id) => match self.unit.module.constant(id).kind {
                ConstantKind::Int(value) => u64::try_from(value).ok().or(Some(u64::MAX)),
                ConstantKind::Zero => Some(0),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn extract_element(&mut self, vector: Operand<'a>, index: Operand<'a>) -> Lowered<Scalars> {
        let all = self.operand(vector)?;
        let (element, count) = self.elements(vector.ty);
        let width = self.unit.leaf_count(element)?;
        let at = |n: usize| &all[n * width..(n + 1) * width];
        if let Some(n) = self.known_index(index) {
            // An index out of range gives poison.
            return Ok(match usize::try_from(n) {
                Ok(n) if n < count => at(n).iter().copied().collect(),
                _ => smallvec![ir::Operand::Undef; width],
            });
        }
        let index_ty = self.unit.scalar_type(index.ty)?;
        let index = self.scalar(index)?;
        let shape = self.unit.shape(element)?;
        let mut result: Scalars = at(0).iter().copied().collect();
        for n in 1..count {
            let here = self.cmp(ir::CmpOp::Eq, index_ty, index, Const(n as u64 & index_ty.mask()));
            for (leaf, (slot, &value)) in shape.leaves.iter().zip(result.iter_mut().zip(at(n))) {
                *slot = self.select(leaf.ty, here, value, *slot);
            }
        }
        Ok(result)
    }

    pub(super) fn insert_element(
        &mut self,
        vector: Operand<'a>,
        value: Operand<'a>,
        index: Operand<'a>,
    ) -> Lowered<Scalars> {
        let mut all = self.operand(vector)?;
        let value = self.operand(value)?;
        let (element, count) = self.elements(vector.ty);
        let width = self.unit.leaf_count(element)?;
        if let Some(n) = self.known_index(index) {
            if let Some(n) = usize::try_from(n).ok().filter(|&n| n < count) {
                all[n * width..(n + 1) * width].copy_from_slice(&value);
            }
            return Ok(all);
        }
        let index_ty = self.unit.scalar_type(index.ty)?;
        let index = self.scalar(index)?;
        let shape = self.unit.shape(element)?;
        for n in 0..count {
            let here = self.cmp(ir::CmpOp::Eq, index_ty, index, Const(n as u64 & index_ty.mask()));
            for (m, leaf) in shape.leaves.iter().enumerate() {
                all[n * width + m] = self.select(leaf.ty, here, value[m], all[n * width + m]);
            }
        }
        Ok(all)
    }

    pub(super) fn shuffle(&mut self, a: Operand<'a>, b: Operand<'a>, mask: ConstId) -> Lowered<Scalars> {
        let (x, y) = (self.operand(a)?, self.operand(b)?);
        let (element, count) = self.elements(a.ty);
        let width = self.unit.leaf_count(element)?;
        let Some(mask) = self.unit.fold(mask)? else {
            return unsupported("a shuffle with an unknown mask");
        };
        let mut all = Scalars::new();
        for index in mask {
            let n = match index {
                super::constant::Folded::Bits(n) => n as usize,
                _ => usize::MAX,
            };
            if n < count {
                all.extend_from_slice(&x[n * width..(n + 1) * width]);
            } else if n < 2 * count {
                all.extend_from_slice(&y[(n - count) * width..(n - count + 1) * width]);
            } else {
                all.extend(std::iter::repeat_n(ir::Operand::Undef, width));
            }
        }
        Ok(all)
    }

    /// The types of a value's scalars with their true widths: limbs of a wide number are cut, others are whole.
    fn widths(&self, ty: TypeId) -> Lowered<Vec<ir::Type>> {
        Ok(self.unit.shape(ty)?.leaves.iter().map(|leaf| leaf.ty).collect())
    }

    /// The same bits as another type.
    pub(super) fn reinterpret(&mut self, from: TypeId, to: TypeId, a: &[ir::Operand]) -> Lowered<Scalars> {
        let types = &self.unit.module.types;
        for ty in [from, to] {
            if matches!(types.get(ty), Type::Target(_)) {
                return unsupported(format!("the type `{}`", types.display(ty)));
            }
        }
        let (from, to) = (self.widths(from)?, self.widths(to)?);
        if from == to {
            return Ok(a.iter().copied().collect());
        }
        let total = |types: &[ir::Type]| types.iter().map(|ty| ty.bits()).sum::<u32>();
        if total(&from) != total(&to) {
            return unsupported("a conversion between types of different sizes");
        }
        let ints: Vec<ir::Operand> = a.iter().zip(&from).map(|(&a, &ty)| self.as_int(ty, a)).collect();
        let mut out = Scalars::new();
        let mut position = 0;
        for &ty in &to {
            let int = ir::Type::Int(ty.bits() as u8);
            let bits = self.gather(&from, &ints, position, int);
            out.push(self.out_of_int(ty, bits));
            position += ty.bits();
        }
        Ok(out)
    }

    /// A scalar as an integer of its width.
    pub(super) fn as_int(&mut self, ty: ir::Type, a: ir::Operand) -> ir::Operand {
        let int = ir::Type::Int(ty.bits() as u8);
        match ty {
            ir::Type::Int(_) => a,
            ir::Type::Ptr => self.cast(ir::CastOp::PtrToInt, ty, int, a),
            ir::Type::F32 | ir::Type::F64 => self.cast(ir::CastOp::Bitcast, ty, int, a),
        }
    }

    /// An integer as a scalar of its width.
    pub(super) fn out_of_int(&mut self, ty: ir::Type, a: ir::Operand) -> ir::Operand {
        let int = ir::Type::Int(ty.bits() as u8);
        match ty {
            ir::Type::Int(_) => a,
            ir::Type::Ptr => self.cast(ir::CastOp::IntToPtr, int, ty, a),
            ir::Type::F32 | ir::Type::F64 => self.cast(ir::CastOp::Bitcast, int, ty, a),
        }
    }

    /// The bits of width `int` that start at `position` of the joined integers.
    fn gather(&mut self, types: &[ir::Type], ints: &[ir::Operand], position: u32, int: ir::Type) -> ir::Operand {
        let end = position + int.bits();
        let mut result = Const(0);
        let mut start = 0;
        for (ty, &value) in types.iter().zip(ints) {
            let stop = start + ty.bits();
            if start < end && position < stop {
                let own = ir::Type::Int(ty.bits() as u8);
                let mut piece = value;
                if position > start {
                    piece = self.binary(ir::BinaryOp::LShr, own, piece, Const(u64::from(position - start)));
                }
                piece = self.resize(own, int, piece);
                if start > position {
                    piece = self.binary(ir::BinaryOp::Shl, int, piece, Const(u64::from(start - position)));
                }
                result = match result {
                    Const(0) => piece,
                    _ => self.binary(ir::BinaryOp::Or, int, result, piece),
                };
            }
            start = stop;
        }
        result
    }
}

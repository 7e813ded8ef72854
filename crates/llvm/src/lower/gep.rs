//! Address computations: `getelementptr` becomes pointer arithmetic in bytes.
//!
//! Known indices add up to one offset; each index that is known at run time only is one `PtrAdd` with the size of what
//! it steps over. An address in a global with a known offset needs no instruction at all.

use super::function::{FunctionLowering, Scalars};
use super::{Lowered, Stop, unsupported};
use crate::ast::{ConstId, Operand, OperandKind};
use crate::error::Fault;
use crate::types::{Type, TypeId};
use ir::Operand::Const;
use selvedge_ir as ir;

/// An index: its type, its scalars, and the constant if it is one.
pub(super) type Index = (TypeId, Scalars, Option<ConstId>);

impl<'a> FunctionLowering<'_, '_, 'a> {
    /// A `getelementptr` instruction.
    pub(super) fn gep(
        &mut self,
        source: TypeId,
        base: Operand<'a>,
        indices: &[Operand<'a>],
        ty: TypeId,
    ) -> Lowered<Scalars> {
        let start = self.operand(base)?;
        let mut lowered = Vec::with_capacity(indices.len());
        for &index in indices {
            let constant = match index.kind {
                OperandKind::Const(id) => Some(id),
                _ => None,
            };
            lowered.push((index.ty, self.operand(index)?, constant));
        }
        self.address(source, base.ty, &start, &lowered, ty)
    }

    /// The address that indices lead to; element by element if any operand is a vector.
    pub(super) fn address(
        &mut self,
        source: TypeId,
        base_ty: TypeId,
        base: &[ir::Operand],
        indices: &[Index],
        ty: TypeId,
    ) -> Lowered<Scalars> {
        let (_, lanes) = self.elements(ty);
        let (_, base_lanes) = self.elements(base_ty);
        let mut all = Scalars::new();
        for lane in 0..lanes {
            let start = base[if base_lanes == 1 { 0 } else { lane }];
            all.push(self.lane_address(source, start, indices, lane)?);
        }
        Ok(all)
    }

    fn lane_address(
        &mut self,
        source: TypeId,
        base: ir::Operand,
        indices: &[Index],
        lane: usize,
    ) -> Lowered<ir::Operand> {
        let unit = self.unit;
        let types = &unit.module.types;
        let mut steps: Vec<(ir::Operand, i64)> = Vec::new();
        let mut offset = 0i64;
        let mut ty = source;
        for (n, (index_ty, scalars, constant)) in indices.iter().enumerate() {
            let (element, lanes) = self.elements(*index_ty);
            let width = unit.leaf_count(element)?;
            let index = scalars[if lanes == 1 { 0 } else { lane * width }];
            let index_ty = unit.shape(element)?.leaves[0].ty;
            if n > 0 {
                match types.resolved(ty) {
                    Type::Struct { fields, .. } => {
                        let Const(field) = index else {
                            let at = constant.map_or(self.source.offset, |id| unit.module.constant(id).offset);
                            return Err(Stop::Fault(Fault::syntax(at, "the index of a field must be known")));
                        };
                        let field = field as usize;
                        let (Some(at), Some(&next)) = (unit.extents.field_offset(types, ty, field), fields.get(field))
                        else {
                            return unsupported("the address of a field that does not exist");
                        };
                        offset = offset.wrapping_add(at as i64);
                        ty = next;
                        continue;
                    }
                    Type::Array(_, element) | Type::Vector { element, .. } => ty = *element,
                    _ => return unsupported("an index into a type without parts"),
                }
            }
            let Some(extent) = unit.extents.get(types, ty) else {
                return unsupported(format!("the address of an element of type `{}`", types.display(ty)));
            };
            let stride = extent.size as i64;
            if let Const(bits) = index {
                let signed = ir::eval::sign_extend(index_ty, bits);
                offset = offset.wrapping_add(signed.wrapping_mul(stride));
                continue;
            }
            let index = self.resize_signed(index_ty, ir::Type::I64, index);
            steps.push((index, stride));
        }
        // The known offset goes with the last step.
        let mut address = base;
        let last = steps.len();
        for (n, (index, scale)) in steps.into_iter().enumerate() {
            let offset = if n + 1 == last { offset } else { 0 };
            address = self.emit1(ir::InstKind::PtrAdd { base: address, index, scale, offset }, ir::Type::Ptr);
        }
        Ok(if last == 0 { self.ptr_add(address, offset) } else { address })
    }

    /// A pointer plus a known number of bytes.
    pub(super) fn ptr_add(&mut self, base: ir::Operand, offset: i64) -> ir::Operand {
        if offset == 0 {
            return base;
        }
        match base {
            ir::Operand::Global(id, at) => ir::Operand::Global(id, at.wrapping_add(offset)),
            Const(bits) => Const(bits.wrapping_add(offset as u64)),
            ir::Operand::Undef => ir::Operand::Undef,
            _ => self.emit1(ir::InstKind::PtrAdd { base, index: Const(0), scale: 0, offset }, ir::Type::Ptr),
        }
    }
}

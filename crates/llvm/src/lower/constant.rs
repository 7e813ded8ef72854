//! Constants, to bits and addresses.
//!
//! A constant folds to one [`Folded`] per scalar. Some constant expressions cannot be folded here: the difference of
//! two addresses, or the address of a thread-local variable, which each thread has its own of. In a function they
//! become instructions (`FunctionLowering::constant`); in an initialiser they are refused.

use super::function::{FunctionLowering, Scalars};
use super::link::Binding;
use super::{Lowered, Stop, Unit, unsupported};
use crate::ast::{BinaryOp, BlockName, CastOp, ConstId, ConstantKind, Expression, SymbolDefinition, SymbolId};
use crate::error::Fault;
use crate::lexer::unescape;
use crate::types::{Type, TypeId};
use selvedge_ir as ir;
use smallvec::{SmallVec, smallvec};

/// A scalar that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Folded {
    /// These bits.
    Bits(u64),
    /// Undefined.
    Undef,
    /// An address.
    Address(ir::RelocTarget, i64),
}

/// Known scalars.
pub(crate) type FoldedList = SmallVec<[Folded; 2]>;

/// The offset that constant indices add up to.
pub(crate) fn constant_gep_offset(unit: &Unit<'_, '_>, source: TypeId, indices: &[ConstId]) -> Option<i64> {
    let types = &unit.module.types;
    let mut offset = 0i64;
    let mut ty = source;
    for (n, &index) in indices.iter().enumerate() {
        let index = signed_int(unit, index)?;
        if n > 0 {
            match types.resolved(ty) {
                Type::Struct { fields, .. } => {
                    let field = usize::try_from(index).ok()?;
                    let at = unit.extents.field_offset(types, ty, field)?;
                    offset = offset.wrapping_add(at as i64);
                    ty = *fields.get(field)?;
                    continue;
                }
                Type::Array(_, element) | Type::Vector { element, .. } => ty = *element,
                _ => return None,
            }
        }
        let stride = unit.extents.get(types, ty)?.size;
        offset = offset.wrapping_add(index.wrapping_mul(stride as i64));
    }
    Some(offset)
}

/// The value of an integer constant of at most 64 bits, read as signed.
pub(crate) fn signed_int(unit: &Unit<'_, '_>, id: ConstId) -> Option<i64> {
    let constant = unit.module.constant(id);
    let &Type::Int(bits) = unit.module.types.get(constant.ty) else {
        return None;
    };
    let value = match constant.kind {
        ConstantKind::Int(value) => value as u64,
        ConstantKind::Zero => 0,
        _ => return None,
    };
    let shift = 64 - bits.min(64);
    Some(((value << shift) as i64) >> shift)
}

/// The limbs of a decimal or hexadecimal literal that is wider than 128 bits.
pub(crate) fn wide_limbs(text: &str, bits: u32) -> Vec<u64> {
    let mut limbs = vec![0u64; bits.div_ceil(64) as usize];
    let hex = text.strip_prefix("u0x").or_else(|| text.strip_prefix("s0x"));
    let (digits, radix) = match hex {
        Some(digits) => (digits, 16),
        None => (text.trim_start_matches(['-', '+']), 10),
    };
    for digit in digits.chars().filter_map(|c| c.to_digit(radix)) {
        let mut carry = u128::from(digit);
        for limb in &mut limbs {
            let product = u128::from(*limb) * u128::from(radix) + carry;
            *limb = product as u64;
            carry = product >> 64;
        }
    }
    if text.starts_with('-') {
        let mut carry = true;
        for limb in &mut limbs {
            let (negated, overflow) = (!*limb).overflowing_add(u64::from(carry));
            (*limb, carry) = (negated, overflow);
        }
    }
    if !bits.is_multiple_of(64)
        && let Some(last) = limbs.last_mut()
    {
        *last &= (1 << (bits % 64)) - 1;
    }
    limbs
}

impl Unit<'_, '_> {
    /// Folds a constant; `Ok(None)` if it takes instructions to compute it.
    pub(crate) fn fold(&self, id: ConstId) -> Lowered<Option<FoldedList>> {
        let constant = self.module.constant(id);
        let shape = self.shape(constant.ty)?;
        let count = shape.leaves.len();
        let folded: FoldedList = match &constant.kind {
            ConstantKind::Int(value) => {
                (0..count).map(|n| Folded::Bits((value >> (64 * n)) as u64 & shape.leaves[n].ty.mask())).collect()
            }
            ConstantKind::WideInt(text) => match self.module.types.get(constant.ty) {
                Type::Int(bits) => wide_limbs(text, *bits).into_iter().map(Folded::Bits).collect(),
                _ => return unsupported("a wide integer"),
            },
            ConstantKind::Float(bits) => {
                (0..count).map(|n| Folded::Bits((bits >> (64 * n)) as u64 & shape.leaves[n].ty.mask())).collect()
            }
            ConstantKind::Null | ConstantKind::None => smallvec![Folded::Bits(0); count],
            ConstantKind::Zero => smallvec![Folded::Bits(0); count],
            ConstantKind::Undef => smallvec![Folded::Undef; count],
            ConstantKind::String(raw) => unescape(raw).into_iter().map(|b| Folded::Bits(u64::from(b))).collect(),
            ConstantKind::Parts(parts) => {
                let mut all = FoldedList::new();
                for &part in parts {
                    match self.fold(part)? {
                        Some(folded) => all.extend(folded),
                        None => return Ok(None),
                    }
                }
                all
            }
            ConstantKind::Splat(element) => {
                let Some(one) = self.fold(*element)? else {
                    return Ok(None);
                };
                let times = count / one.len().max(1);
                std::iter::repeat_n(one, times).flatten().collect()
            }
            ConstantKind::Symbol(symbol) => match self.fold_symbol(*symbol)? {
                Some(folded) => smallvec![folded],
                None => return Ok(None),
            },
            ConstantKind::BlockAddress(function, block) => {
                smallvec![Folded::Bits(self.block_number(*function, *block, constant.offset)?)]
            }
            ConstantKind::Expression(expression) => return self.fold_expression(expression, constant.ty),
            ConstantKind::Other(name) => return unsupported(format!("the constant `{name}`")),
        };
        if folded.len() != count {
            return Err(Stop::Fault(Fault::syntax(constant.offset, "this constant does not fit its type")));
        }
        Ok(Some(folded))
    }

    /// The address of a symbol; none for thread-local variables.
    fn fold_symbol(&self, symbol: SymbolId) -> Lowered<Option<Folded>> {
        match self.bindings[symbol.index()] {
            Binding::Func(id) => Ok(Some(Folded::Address(ir::RelocTarget::Func(id), 0))),
            Binding::Global(id, offset) => {
                if self.is_thread_local(symbol) {
                    return Ok(None);
                }
                Ok(Some(Folded::Address(ir::RelocTarget::Global(id), offset)))
            }
            Binding::Null => Ok(Some(Folded::Bits(0))),
            Binding::IFunc => unsupported(format!("the indirect function `{}`", self.module.symbol_name(symbol))),
            Binding::Llvm => unsupported(format!("the address of `{}`", self.module.symbol_name(symbol))),
        }
    }

    /// Whether a symbol of this module is declared thread-local.
    pub(crate) fn is_thread_local(&self, symbol: SymbolId) -> bool {
        let mut symbol = symbol;
        // Through aliases, of which there are finitely many.
        for _ in 0..32 {
            match self.module.symbols[symbol.index()].definition {
                SymbolDefinition::Variable(index) => return self.module.globals[index as usize].thread_local,
                SymbolDefinition::Alias(index) => {
                    let target = self.module.aliases[index as usize].target;
                    match self.module.constant(target).kind {
                        ConstantKind::Symbol(next) => symbol = next,
                        _ => return false,
                    }
                }
                _ => return false,
            }
        }
        false
    }

    /// Blocks have no addresses here; each is known by its position in its function, from 1.
    pub(crate) fn block_number(&self, function: SymbolId, block: BlockName<'_>, offset: u32) -> Lowered<u64> {
        let missing = || Stop::Fault(Fault::syntax(offset, "there is no such block"));
        let SymbolDefinition::Function(index) = self.module.symbols[function.index()].definition else {
            return Err(missing());
        };
        let function = &self.module.functions[index as usize];
        let position = function.blocks.iter().position(|candidate| {
            let local = &function.locals[candidate.label.index()];
            match block {
                BlockName::Name(name) => local.name == name,
                BlockName::Number(number) => local.name.is_empty() && local.number == number,
            }
        });
        position.map(|position| position as u64 + 1).ok_or_else(missing)
    }

    fn fold_expression(&self, expression: &Expression, ty: TypeId) -> Lowered<Option<FoldedList>> {
        let one = |folded: Option<Folded>| Ok(folded.map(|folded| smallvec![folded]));
        match expression {
            Expression::Cast(op, inner) => {
                let Some(folded) = self.fold(*inner)? else {
                    return Ok(None);
                };
                let (&[a], Ok(from), Ok(to)) =
                    (&folded[..], self.scalar_type(self.module.constant(*inner).ty), self.scalar_type(ty))
                else {
                    return Ok(None);
                };
                one(fold_cast(*op, from, to, a))
            }
            Expression::Gep { source, base, indices } => {
                let (Some(base), Some(offset)) = (self.fold(*base)?, constant_gep_offset(self, *source, indices))
                else {
                    return Ok(None);
                };
                match base[..] {
                    [Folded::Address(target, at)] => one(Some(Folded::Address(target, at.wrapping_add(offset)))),
                    [Folded::Bits(bits)] => one(Some(Folded::Bits(bits.wrapping_add(offset as u64)))),
                    [Folded::Undef] => one(Some(Folded::Undef)),
                    _ => Ok(None),
                }
            }
            Expression::Binary(op, a, b) => {
                let (Some(a), Some(b), Ok(ty)) = (self.fold(*a)?, self.fold(*b)?, self.scalar_type(ty)) else {
                    return Ok(None);
                };
                match (&a[..], &b[..]) {
                    (&[a], &[b]) => one(fold_binary(*op, ty, a, b)),
                    _ => Ok(None),
                }
            }
            Expression::ICmp(..) | Expression::Select(..) => Ok(None),
            Expression::Other(name) => unsupported(format!("the constant expression `{name}`")),
        }
    }
}

fn fold_cast(op: CastOp, from: ir::Type, to: ir::Type, a: Folded) -> Option<Folded> {
    match a {
        Folded::Undef => Some(Folded::Undef),
        Folded::Bits(bits) => {
            let op = super::instruction::scalar_cast(op, from, to)?;
            Some(Folded::Bits(op.map_or(bits, |op| ir::eval::cast(op, from, to, bits))))
        }
        // An address survives only if no bit of it is lost.
        Folded::Address(..) => (from.bits() == 64 && to.bits() == 64).then_some(a),
    }
}

fn fold_binary(op: BinaryOp, ty: ir::Type, a: Folded, b: Folded) -> Option<Folded> {
    match (op, a, b) {
        (_, Folded::Bits(a), Folded::Bits(b)) => {
            let op = super::instruction::scalar_binary(op);
            ir::eval::binary(op, ty, a, b).ok().map(Folded::Bits)
        }
        (BinaryOp::Add, Folded::Address(target, at), Folded::Bits(n))
        | (BinaryOp::Add, Folded::Bits(n), Folded::Address(target, at)) => {
            Some(Folded::Address(target, at.wrapping_add(n as i64)))
        }
        (BinaryOp::Sub, Folded::Address(target, at), Folded::Bits(n)) => {
            Some(Folded::Address(target, at.wrapping_sub(n as i64)))
        }
        _ => None,
    }
}

impl FunctionLowering<'_, '_, '_> {
    /// The scalars of a constant, computed by instructions where they cannot be folded.
    pub(super) fn constant(&mut self, id: ConstId) -> Lowered<Scalars> {
        if let Some(folded) = self.unit.fold(id)? {
            let ty = self.unit.module.constant(id).ty;
            let shape = self.unit.shape(ty)?;
            return Ok(folded.iter().zip(shape.leaves.iter()).map(|(&f, leaf)| self.folded(f, leaf.ty)).collect());
        }
        let unit = self.unit;
        let constant = unit.module.constant(id);
        match &constant.kind {
            ConstantKind::Symbol(symbol) => Ok(smallvec![self.thread_local_address(*symbol)?]),
            ConstantKind::Parts(parts) => {
                let mut all = Scalars::new();
                for &part in parts {
                    all.extend(self.constant(part)?);
                }
                Ok(all)
            }
            ConstantKind::Splat(element) => {
                let one = self.constant(*element)?;
                let count = unit.leaf_count(constant.ty)?;
                Ok(std::iter::repeat_n(one.clone(), count / one.len().max(1)).flatten().collect())
            }
            ConstantKind::Expression(expression) => self.constant_expression(expression, constant.ty),
            _ => unsupported("this constant"),
        }
    }

    fn folded(&mut self, folded: Folded, ty: ir::Type) -> ir::Operand {
        match folded {
            Folded::Bits(bits) => ir::Operand::Const(bits),
            Folded::Undef => ir::Operand::Undef,
            Folded::Address(target, offset) => {
                let address = match target {
                    ir::RelocTarget::Global(id) => ir::Operand::Global(id, offset),
                    ir::RelocTarget::Func(id) => self.ptr_add(ir::Operand::Func(id), offset),
                };
                if ty == ir::Type::Ptr { address } else { self.cast(ir::CastOp::PtrToInt, ir::Type::Ptr, ty, address) }
            }
        }
    }

    /// The address of the current thread's instance.
    pub(super) fn thread_local_address(&mut self, symbol: SymbolId) -> Lowered<ir::Operand> {
        match self.unit.bindings[symbol.index()] {
            Binding::Global(global, offset) if self.program.module.globals[global].thread_local => {
                let address = self.emit1(ir::InstKind::ThreadLocal { global }, ir::Type::Ptr);
                Ok(self.ptr_add(address, offset))
            }
            Binding::Global(global, offset) => Ok(ir::Operand::Global(global, offset)),
            Binding::Null => Ok(ir::Operand::Const(0)),
            _ => unsupported(format!("the address of `{}`", self.unit.module.symbol_name(symbol))),
        }
    }

    fn constant_expression(&mut self, expression: &Expression, ty: TypeId) -> Lowered<Scalars> {
        match expression {
            Expression::Cast(op, inner) => {
                let from = self.unit.module.constant(*inner).ty;
                let a = self.constant(*inner)?;
                self.convert(*op, from, ty, &a)
            }
            Expression::Gep { source, base, indices } => {
                let base_ty = self.unit.module.constant(*base).ty;
                let base = self.constant(*base)?;
                let mut lowered = Vec::new();
                for &index in indices {
                    let index_ty = self.unit.module.constant(index).ty;
                    lowered.push((index_ty, self.constant(index)?, Some(index)));
                }
                self.address(*source, base_ty, &base, &lowered, ty)
            }
            Expression::Binary(op, a, b) => {
                let (a, b) = (self.constant(*a)?, self.constant(*b)?);
                self.arithmetic(*op, ty, &a, &b)
            }
            Expression::ICmp(predicate, a, b) => {
                let operands = self.unit.module.constant(*a).ty;
                let (a, b) = (self.constant(*a)?, self.constant(*b)?);
                self.compare_ints(predicate, operands, &a, &b)
            }
            Expression::Select(cond, a, b) => {
                let cond = self.constant(*cond)?;
                let (a, b) = (self.constant(*a)?, self.constant(*b)?);
                self.choose(ty, &cond, &a, &b)
            }
            Expression::Other(name) => unsupported(format!("the constant expression `{name}`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::wide_limbs;

    #[test]
    fn literals_beyond_128_bits_have_limbs() {
        assert_eq!(wide_limbs("18446744073709551616", 192), vec![0, 1, 0]);
        assert_eq!(wide_limbs("-1", 130), vec![u64::MAX, u64::MAX, 3]);
        assert_eq!(wide_limbs("u0x10000000000000001", 256), vec![1, 1, 0, 0]);
    }
}

//! Stack variables, loads, stores and atomics.
//!
//! A value of several scalars is read and written scalar by scalar at its offset. An atomic access must be one scalar:
//! taking it apart would lose its atomicity, so it is refused.

use super::function::{FunctionLowering, Scalars};
use super::{Lowered, unsupported};
use crate::ast::{Atomicity, Instruction, Op, Operand, Ordering, RmwOp};
use crate::error::Fault;
use crate::types::{Type, TypeId};
use ir::Operand::Const;
use selvedge_ir as ir;
use smallvec::smallvec;

/// The representation's memory order. LLVM's `unordered` only forbids tearing, which relaxed does too.
fn order(ordering: Ordering) -> ir::Order {
    match ordering {
        Ordering::Unordered | Ordering::Monotonic => ir::Order::Relaxed,
        Ordering::Acquire => ir::Order::Acquire,
        Ordering::Release => ir::Order::Release,
        Ordering::AcqRel => ir::Order::AcqRel,
        Ordering::SeqCst => ir::Order::SeqCst,
    }
}

/// The order of an access; one that orders only against signal handlers of the same thread is relaxed to others.
fn access_order(atomic: Option<Atomicity<'_>>) -> Lowered<ir::Order> {
    match atomic {
        None => Ok(ir::Order::Plain),
        Some(Atomicity { ordering, scope: None | Some("") }) => Ok(order(ordering)),
        Some(Atomicity { scope: Some("singlethread"), .. }) => Ok(ir::Order::Relaxed),
        Some(Atomicity { scope: Some(scope), .. }) => unsupported(format!("the synchronisation scope `{scope}`")),
    }
}

impl<'m, 'a> FunctionLowering<'_, 'm, 'a> {
    fn refuse_order<T>(&self, order: ir::Order) -> Lowered<T> {
        Err(Fault::syntax(self.source.offset, format!("an access in this function cannot have the order `{order}`"))
            .into())
    }

    pub(super) fn alloca(
        &mut self,
        instruction: &Instruction<'a>,
        element: TypeId,
        count: Option<Operand<'a>>,
        align: Option<u64>,
        special: Option<&'static str>,
    ) -> Lowered<Scalars> {
        if let Some(special) = special {
            return unsupported(format!("a stack variable with `{special}`"));
        }
        self.want_default_space(instruction.ty)?;
        let types = &self.unit.module.types;
        let Some(extent) = self.unit.extents.get(types, element) else {
            return unsupported(format!("a stack variable of type `{}`", types.display(element)));
        };
        let size = match count {
            None => Const(extent.size),
            Some(count) => {
                let ty = self.unit.scalar_type(count.ty)?;
                let count = self.scalar(count)?;
                let count = self.resize(ty, ir::Type::I64, count);
                match extent.size {
                    1 => count,
                    size => self.binary(ir::BinaryOp::Mul, ir::Type::I64, count, Const(size)),
                }
            }
        };
        let align = u32::try_from(align.unwrap_or(extent.align)).unwrap_or(1 << 31);
        let (name, debug_type) = match instruction.result {
            Some(local) => self.variable(local),
            None => (String::new(), None),
        };
        Ok(smallvec![self.emit1(ir::InstKind::Alloca { size, align, name, debug_type }, ir::Type::Ptr)])
    }

    /// Refuses pointers into address spaces other than the default one.
    fn want_default_space(&self, ty: TypeId) -> Lowered<()> {
        match self.unit.module.types.get(ty) {
            Type::Pointer(0) => Ok(()),
            Type::Pointer(space) => unsupported(format!("memory in address space {space}")),
            _ => unsupported("an address that is not a pointer"),
        }
    }

    fn address_of(&mut self, address: Operand<'a>) -> Lowered<ir::Operand> {
        self.want_default_space(address.ty)?;
        self.scalar(address)
    }

    pub(super) fn load(
        &mut self,
        ty: TypeId,
        address: Operand<'a>,
        atomic: Option<Atomicity<'a>>,
        volatile: bool,
    ) -> Lowered<Scalars> {
        let order = access_order(atomic)?;
        if matches!(order, ir::Order::Release | ir::Order::AcqRel) {
            return self.refuse_order(order);
        }
        let shape = self.unit.shape(ty)?;
        if !shape.in_memory {
            return unsupported(format!("a vector of bits in memory (`{}`)", self.unit.module.types.display(ty)));
        }
        if order.is_atomic() && shape.leaves.len() != 1 {
            return unsupported("an atomic access of more than 8 bytes");
        }
        let base = self.address_of(address)?;
        let mut all = Scalars::new();
        for leaf in shape.leaves.iter() {
            let path = self.path(address, leaf.offset, u64::from(leaf.ty.store_size()));
            let addr = self.ptr_add(base, leaf.offset as i64);
            all.push(
                self.emit1(ir::InstKind::Load { ty: leaf.ty, addr, order, volatile, speculative: None, path }, leaf.ty),
            );
        }
        Ok(all)
    }

    pub(super) fn store(
        &mut self,
        value: Operand<'a>,
        address: Operand<'a>,
        atomic: Option<Atomicity<'a>>,
        volatile: bool,
    ) -> Lowered<()> {
        let order = access_order(atomic)?;
        if matches!(order, ir::Order::Acquire | ir::Order::AcqRel) {
            return self.refuse_order(order);
        }
        let shape = self.unit.shape(value.ty)?;
        if !shape.in_memory {
            return unsupported(format!("a vector of bits in memory (`{}`)", self.unit.module.types.display(value.ty)));
        }
        if order.is_atomic() && shape.leaves.len() != 1 {
            return unsupported("an atomic access of more than 8 bytes");
        }
        let scalars = self.operand(value)?;
        let base = self.address_of(address)?;
        for (leaf, &value) in shape.leaves.iter().zip(&scalars) {
            let path = self.path(address, leaf.offset, u64::from(leaf.ty.store_size()));
            let addr = self.ptr_add(base, leaf.offset as i64);
            self.emit(ir::InstKind::Store { ty: leaf.ty, addr, value, order, volatile, path }, &[]);
        }
        Ok(())
    }

    /// A fence; one that concerns only signal handlers of the same thread has no effect between threads.
    pub(super) fn fence(&mut self, atomic: Atomicity<'a>) -> Lowered<()> {
        match atomic.scope {
            None | Some("") => {}
            Some("singlethread") => return Ok(()),
            Some(scope) => return unsupported(format!("the synchronisation scope `{scope}`")),
        }
        let order = order(atomic.ordering);
        if order == ir::Order::Relaxed {
            return self.refuse_order(order);
        }
        self.emit(ir::InstKind::Fence { order }, &[]);
        Ok(())
    }

    pub(super) fn compare_exchange(&mut self, instruction: &'m Instruction<'a>) -> Lowered<Scalars> {
        let Op::CmpXchg { address, expected, new, success, failure, weak } = &instruction.op else {
            return unsupported("this instruction");
        };
        let success = access_order(Some(*success))?;
        let failure = order(*failure);
        if matches!(failure, ir::Order::Release | ir::Order::AcqRel) {
            return self.refuse_order(failure);
        }
        let shape = self.unit.shape(new.ty)?;
        let [leaf] = shape.leaves[..] else {
            return unsupported("an atomic access of more than 8 bytes");
        };
        let ty = leaf.ty;
        let (expected, new) = (self.scalar(*expected)?, self.scalar(*new)?);
        let path = self.path(*address, 0, u64::from(ty.store_size()));
        let addr = self.address_of(*address)?;
        let (weak, confirms) = (*weak, false);
        let kind = ir::InstKind::Cas { ty, addr, expected, new, success, failure, weak, confirms, path };
        let inst = self.emit(kind, &[ty, ir::Type::I1]);
        Ok(self.f.insts[inst].results.iter().map(|&value| ir::Operand::Value(value)).collect())
    }

    pub(super) fn read_modify_write(
        &mut self,
        op: RmwOp,
        address: Operand<'a>,
        value: Operand<'a>,
        atomic: Atomicity<'a>,
    ) -> Lowered<Scalars> {
        let rmw = match op {
            RmwOp::Xchg => ir::RmwOp::Xchg,
            RmwOp::Add => ir::RmwOp::Add,
            RmwOp::Sub => ir::RmwOp::Sub,
            RmwOp::And => ir::RmwOp::And,
            RmwOp::Nand => ir::RmwOp::Nand,
            RmwOp::Or => ir::RmwOp::Or,
            RmwOp::Xor => ir::RmwOp::Xor,
            RmwOp::Max => ir::RmwOp::Max,
            RmwOp::Min => ir::RmwOp::Min,
            RmwOp::UMax => ir::RmwOp::UMax,
            RmwOp::UMin => ir::RmwOp::UMin,
            RmwOp::FAdd => ir::RmwOp::FAdd,
            RmwOp::FSub => ir::RmwOp::FSub,
            _ => return unsupported(format!("the atomic operation {op:?}")),
        };
        let order = access_order(Some(atomic))?;
        let shape = self.unit.shape(value.ty)?;
        let [leaf] = shape.leaves[..] else {
            return unsupported("an atomic access of more than 8 bytes");
        };
        if matches!(rmw, ir::RmwOp::FAdd | ir::RmwOp::FSub) {
            self.want_float(value.ty)?;
        }
        let value = self.scalar(value)?;
        let path = self.path(address, 0, u64::from(leaf.ty.store_size()));
        let addr = self.address_of(address)?;
        let kind = ir::InstKind::Rmw { op: rmw, ty: leaf.ty, addr, value, order, path };
        Ok(smallvec![self.emit1(kind, leaf.ty)])
    }
}

//! Stack objects whose address stays within the function.
//!
//! If the address of an `alloca` is only ever used to load, store and fill bytes at constant offsets within the object,
//! nobody else can reach it: the object can be split (`sroa.rs`) and kept in values (`mem2reg.rs`). Everything else that
//! could be done with the address makes it *escape*: storing it, passing it on, comparing it, choosing by a phi or
//! select, copying memory, atomic or volatile accesses, an offset that is not constant. An access out of bounds counts
//! as an escape as well, since it is an error that the machine has to see.

use crate::rewrite;
use selvedge_ir::{EntityVec, Function, Inst, InstKind, Operand, Order, Type, Value};

/// A stack object of constant size that does not escape.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalObject {
    /// The `alloca`.
    pub alloca: Inst,
    /// Its size in bytes.
    pub size: u64,
    /// Its alignment in bytes.
    pub align: u32,
    /// Everything that is done with it, in no particular order.
    pub accesses: Vec<LocalAccess>,
}

/// An access to a stack object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalAccess {
    /// The instruction.
    pub inst: Inst,
    /// Where in the object, in bytes.
    pub offset: u64,
    /// How many bytes.
    pub len: u64,
    /// What it does.
    pub kind: AccessKind,
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// Loads a value of this type.
    Load(Type),
    /// Stores a value of this type.
    Store(Type),
    /// Fills with a constant byte.
    Fill(u8),
}

impl LocalAccess {
    /// The type of what is loaded or stored.
    pub fn ty(&self) -> Option<Type> {
        match self.kind {
            AccessKind::Load(ty) | AccessKind::Store(ty) => Some(ty),
            AccessKind::Fill(_) => None,
        }
    }
}

/// All stack objects of a function that do not escape, in the order of its blocks.
pub fn local_objects(func: &Function) -> Vec<LocalObject> {
    let uses = rewrite::uses(func);
    func.placed_insts().filter_map(|(_, inst)| local_object(func, &uses, inst)).collect()
}

fn local_object(func: &Function, uses: &EntityVec<Value, Vec<Inst>>, alloca: Inst) -> Option<LocalObject> {
    let InstKind::Alloca { size: Operand::Const(size), align, .. } = func.insts[alloca].kind else {
        return None;
    };
    let mut accesses = Vec::new();
    let mut pointers = vec![(func.result(alloca), 0u64)];
    while let Some((pointer, offset)) = pointers.pop() {
        for &inst in &uses[pointer] {
            match use_of(func, inst, pointer, offset, size)? {
                Use::Access(access) => accesses.push(access),
                Use::Pointer(derived, at) => pointers.push((derived, at)),
            }
        }
    }
    Some(LocalObject { alloca, size, align, accesses })
}

enum Use {
    Access(LocalAccess),
    /// A pointer into the object at this offset, possibly one behind its end.
    Pointer(Value, u64),
}

/// What an instruction does with a pointer into an object; none if the object escapes.
fn use_of(func: &Function, inst: Inst, pointer: Value, offset: u64, size: u64) -> Option<Use> {
    let this = Operand::Value(pointer);
    let access = |kind, len: u64| {
        let in_bounds = offset.checked_add(len).is_some_and(|end| end <= size);
        in_bounds.then_some(Use::Access(LocalAccess { inst, offset, len, kind }))
    };
    match func.insts[inst].kind {
        InstKind::Load { ty, order: Order::Plain, volatile: false, .. } => {
            access(AccessKind::Load(ty), ty.store_size().into())
        }
        InstKind::Store { ty, value, order: Order::Plain, volatile: false, .. } if value != this => {
            access(AccessKind::Store(ty), ty.store_size().into())
        }
        InstKind::MemSet { dst, byte: Operand::Const(byte), len: Operand::Const(len) } if dst == this => {
            access(AccessKind::Fill(byte as u8), len)
        }
        InstKind::PtrAdd { base, index: Operand::Const(index), scale, offset: add } if base == this => {
            // Exact arithmetic: a pointer that leaves the object on the way may not come back in here.
            let at = i128::from(offset) + i128::from(index as i64) * i128::from(scale) + i128::from(add);
            let at = u64::try_from(at).ok().filter(|&at| at <= size)?;
            Some(Use::Pointer(func.result(inst), at))
        }
        _ => None,
    }
}

//! The scalars of a value, and where they lie in memory.
//!
//! A type's *shape* is the list of scalars that a value of it is taken apart into, in memory order. Integers wider than
//! 64 bits become limbs, low first; floating-point formats that the representation does not have become integers of the
//! same bits, so that they can be copied and passed although nothing can be computed with them.

use super::{Lowered, Stop, Unit};
use crate::layout::scalar_bits;
use crate::types::{FloatKind, Type, TypeId};
use selvedge_ir as ir;
use std::cell::RefCell;
use std::rc::Rc;

/// Values with more scalars than this are not taken apart.
const MAX_LEAVES: u64 = 1024;

/// One scalar of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Leaf {
    /// Its type.
    pub(crate) ty: ir::Type,
    /// Its offset in memory, in bytes.
    pub(crate) offset: u64,
}

/// The shape of a type.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// The scalars.
    pub(crate) leaves: Rc<[Leaf]>,
    /// Whether the offsets are meaningful; a vector of `i1` is packed into bits and has none.
    pub(crate) in_memory: bool,
}

/// Shapes that were already computed.
pub(crate) struct Shapes {
    cache: RefCell<Vec<Option<Result<Shape, String>>>>,
}

impl Shapes {
    pub(crate) fn new(types: usize) -> Shapes {
        Shapes { cache: RefCell::new(vec![None; types]) }
    }
}

impl Unit<'_, '_> {
    /// The shape of a type.
    pub(crate) fn shape(&self, id: TypeId) -> Lowered<Shape> {
        let index = self.module.types.index_of(id);
        let known = self.shapes.cache.borrow()[index].clone();
        let result = match known {
            Some(result) => result,
            None => {
                let result = self.compute_shape(id);
                self.shapes.cache.borrow_mut()[index] = Some(result.clone());
                result
            }
        };
        result.map_err(Stop::Unsupported)
    }

    /// How many scalars a value of a type has.
    pub(crate) fn leaf_count(&self, id: TypeId) -> Lowered<usize> {
        Ok(self.shape(id)?.leaves.len())
    }

    /// The scalar type of a value that is a single scalar.
    pub(crate) fn scalar_type(&self, id: TypeId) -> Lowered<ir::Type> {
        let shape = self.shape(id)?;
        match shape.leaves[..] {
            [leaf] => Ok(leaf.ty),
            _ => super::unsupported(format!("the type `{}` as a scalar", self.module.types.display(id))),
        }
    }

    fn compute_shape(&self, id: TypeId) -> Result<Shape, String> {
        let mut leaves = Vec::new();
        let mut in_memory = true;
        if self.count_leaves(id, 0)? > MAX_LEAVES {
            return Err(format!("a value of the large type `{}`", self.module.types.display(id)));
        }
        self.add_leaves(id, 0, &mut leaves, &mut in_memory)?;
        Ok(Shape { leaves: leaves.into(), in_memory })
    }

    fn count_leaves(&self, id: TypeId, depth: u32) -> Result<u64, String> {
        let types = &self.module.types;
        // Names may nest without bound; a value this deep is large in any case.
        if depth > 64 {
            return Ok(u64::MAX);
        }
        Ok(match types.resolved(id) {
            Type::Array(0, _) => 0,
            Type::Array(length, element) => self.count_leaves(*element, depth + 1)?.saturating_mul(*length),
            Type::Vector { length, element, .. } => {
                self.count_leaves(*element, depth + 1)?.saturating_mul(u64::from(*length))
            }
            Type::Struct { fields, .. } => {
                let mut sum = 0u64;
                for &field in fields {
                    sum = sum.saturating_add(self.count_leaves(field, depth + 1)?);
                    if sum > MAX_LEAVES {
                        break;
                    }
                }
                sum
            }
            Type::Int(bits) => u64::from(bits.div_ceil(64)),
            Type::Float(kind) => u64::from(kind.bits().div_ceil(64)),
            _ => 1,
        })
    }

    fn add_leaves(&self, id: TypeId, offset: u64, leaves: &mut Vec<Leaf>, in_memory: &mut bool) -> Result<(), String> {
        let types = &self.module.types;
        let refuse = || Err(format!("a value of type `{}`", types.display(id)));
        match types.resolved(id) {
            Type::Int(bits) => add_limbs(*bits, offset, leaves),
            Type::Float(FloatKind::Single) => leaves.push(Leaf { ty: ir::Type::F32, offset }),
            Type::Float(FloatKind::Double) => leaves.push(Leaf { ty: ir::Type::F64, offset }),
            Type::Float(kind) => add_limbs(kind.bits(), offset, leaves),
            Type::Pointer(_) => leaves.push(Leaf { ty: ir::Type::Ptr, offset }),
            Type::Array(length, element) => {
                let Some(extent) = self.extents.get(types, *element) else {
                    return refuse();
                };
                for n in 0..*length {
                    let at = offset.saturating_add(extent.size.saturating_mul(n));
                    self.add_leaves(*element, at, leaves, in_memory)?;
                }
            }
            Type::Vector { length, element, scalable: false } => {
                let Some(bits) = scalar_bits(types, *element) else {
                    return refuse();
                };
                // Elements of a vector are adjacent in bits, not padded as those of an array.
                *in_memory &= bits % 8 == 0;
                for n in 0..u64::from(*length) {
                    self.add_leaves(*element, offset.saturating_add(n * (bits / 8)), leaves, in_memory)?;
                }
            }
            Type::Struct { fields, .. } => {
                for (n, &field) in fields.iter().enumerate() {
                    let Some(at) = self.extents.field_offset(types, id, n) else {
                        return refuse();
                    };
                    self.add_leaves(field, offset.saturating_add(at), leaves, in_memory)?;
                }
            }
            _ => return refuse(),
        }
        Ok(())
    }

    /// The scalars of a part of an aggregate: the first one and how many.
    pub(crate) fn part_range(&self, id: TypeId, path: &[u32]) -> Lowered<(usize, usize)> {
        let types = &self.module.types;
        let mut start = 0;
        let mut ty = id;
        for &index in path {
            match types.resolved(ty) {
                Type::Struct { fields, .. } => {
                    for &field in &fields[..index as usize] {
                        start += self.leaf_count(field)?;
                    }
                    ty = fields[index as usize];
                }
                Type::Array(_, element) => {
                    start += self.leaf_count(*element)? * index as usize;
                    ty = *element;
                }
                _ => return super::unsupported("a part of a value without parts"),
            }
        }
        Ok((start, self.leaf_count(ty)?))
    }
}

fn add_limbs(bits: u32, offset: u64, leaves: &mut Vec<Leaf>) {
    let mut left = bits;
    let mut at = offset;
    while left > 64 {
        leaves.push(Leaf { ty: ir::Type::I64, offset: at });
        left -= 64;
        at = at.saturating_add(8);
    }
    leaves.push(Leaf { ty: ir::Type::Int(left as u8), offset: at });
}

//! Constants and constant expressions.

use super::{BinaryOp, CastOp, ConstId, SymbolId};
use crate::types::TypeId;

/// A constant with its type.
#[derive(Clone, Debug)]
pub struct Constant<'a> {
    /// Its type.
    pub ty: TypeId,
    /// What it is.
    pub kind: ConstantKind<'a>,
    /// Where it stands in the text.
    pub offset: u32,
}

/// What a constant is.
#[derive(Clone, Debug)]
pub enum ConstantKind<'a> {
    /// Integer bits, cut to the type's width (which is at most 128 here).
    Int(u128),
    /// An integer that does not fit in 128 bits, as written.
    WideInt(&'a str),
    /// Floating-point bits in the type's format.
    Float(u128),
    /// The null pointer.
    Null,
    /// Undefined or poison.
    Undef,
    /// All zero.
    Zero,
    /// The token `none`.
    None,
    /// `c"..."`, still escaped.
    String(&'a str),
    /// Parts of an array, vector or struct.
    Parts(Vec<ConstId>),
    /// All elements of a vector the same.
    Splat(ConstId),
    /// Address of a symbol.
    Symbol(SymbolId),
    /// Address of a block: function and the block's name or number.
    BlockAddress(SymbolId, BlockName<'a>),
    /// A constant expression.
    Expression(Box<Expression>),
    /// A constant that parses but cannot be evaluated; its name.
    Other(&'static str),
}

/// A block as named from outside its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockName<'a> {
    /// By name, still escaped.
    Name(&'a str),
    /// By number.
    Number(u32),
}

/// A constant expression.
#[derive(Clone, Debug)]
pub enum Expression {
    /// Conversion to the constant's type.
    Cast(CastOp, ConstId),
    /// Address arithmetic.
    Gep {
        /// Type that the first index steps over.
        source: TypeId,
        /// Start.
        base: ConstId,
        /// Indices.
        indices: Vec<ConstId>,
    },
    /// Arithmetic.
    Binary(BinaryOp, ConstId, ConstId),
    /// Comparison; the predicate is one of `icmp`'s.
    ICmp(Box<str>, ConstId, ConstId),
    /// Choice.
    Select(ConstId, ConstId, ConstId),
    /// Anything else that parses but is not evaluated; its name.
    Other(&'static str),
}

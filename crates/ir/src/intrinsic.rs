//! The signatures of intrinsics: spelling, number of operands and their types, types of the results.
//!
//! Parser, printer, verifier and folder all read the one table in this file.

use crate::{Intrinsic, Type};
use smallvec::{SmallVec, smallvec};

/// What the operands and results of an intrinsic look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// Integer operands and result.
    Int(usize),
    /// An integer and an `i1`; integer result. The `i1` may be left out.
    IntFlag,
    /// Two integers; an integer and an `i1`.
    IntOverflow,
    /// Floating-point operands and result.
    Float(usize),
    /// A floating-point number and an `i32` mask; an `i1`.
    FloatClass,
}

macro_rules! intrinsics {
    ($($variant:ident = $text:literal, $shape:expr;)*) => {
        impl Intrinsic {
            /// Every intrinsic.
            pub const ALL: &'static [Intrinsic] = &[$(Intrinsic::$variant),*];

            /// The spelling in the text form.
            pub fn name(self) -> &'static str {
                match self { $(Intrinsic::$variant => $text),* }
            }

            /// The intrinsic with this spelling.
            pub fn from_name(name: &str) -> Option<Intrinsic> {
                match name { $($text => Some(Intrinsic::$variant),)* _ => None }
            }

            fn shape(self) -> Shape {
                match self { $(Intrinsic::$variant => $shape),* }
            }
        }
    };
}

intrinsics! {
    Ctpop = "ctpop", Shape::Int(1);
    Ctlz = "ctlz", Shape::IntFlag;
    Cttz = "cttz", Shape::IntFlag;
    Bswap = "bswap", Shape::Int(1);
    BitReverse = "bitreverse", Shape::Int(1);
    Abs = "abs", Shape::IntFlag;
    SMax = "smax", Shape::Int(2);
    SMin = "smin", Shape::Int(2);
    UMax = "umax", Shape::Int(2);
    UMin = "umin", Shape::Int(2);
    Fshl = "fshl", Shape::Int(3);
    Fshr = "fshr", Shape::Int(3);
    SAddOverflow = "sadd_overflow", Shape::IntOverflow;
    UAddOverflow = "uadd_overflow", Shape::IntOverflow;
    SSubOverflow = "ssub_overflow", Shape::IntOverflow;
    USubOverflow = "usub_overflow", Shape::IntOverflow;
    SMulOverflow = "smul_overflow", Shape::IntOverflow;
    UMulOverflow = "umul_overflow", Shape::IntOverflow;
    SAddSat = "sadd_sat", Shape::Int(2);
    UAddSat = "uadd_sat", Shape::Int(2);
    SSubSat = "ssub_sat", Shape::Int(2);
    USubSat = "usub_sat", Shape::Int(2);
    FAbs = "fabs", Shape::Float(1);
    Sqrt = "sqrt", Shape::Float(1);
    Floor = "floor", Shape::Float(1);
    Ceil = "ceil", Shape::Float(1);
    FTrunc = "ftrunc", Shape::Float(1);
    Round = "round", Shape::Float(1);
    RoundEven = "roundeven", Shape::Float(1);
    Fma = "fma", Shape::Float(3);
    FMulAdd = "fmuladd", Shape::Float(3);
    FMin = "fmin", Shape::Float(2);
    FMax = "fmax", Shape::Float(2);
    CopySign = "copysign", Shape::Float(2);
    IsFpClass = "is_fpclass", Shape::FloatClass;
    Pow = "pow", Shape::Float(2);
    Exp = "exp", Shape::Float(1);
    Log = "log", Shape::Float(1);
    Sin = "sin", Shape::Float(1);
    Cos = "cos", Shape::Float(1);
}

impl Intrinsic {
    /// How many operands the intrinsic takes: the least and the greatest number.
    pub fn arity(self) -> (usize, usize) {
        match self.shape() {
            Shape::Int(n) | Shape::Float(n) => (n, n),
            Shape::IntFlag => (1, 2),
            Shape::IntOverflow | Shape::FloatClass => (2, 2),
        }
    }

    /// The type of the n-th operand where the instruction works on `ty`.
    pub fn operand_type(self, ty: Type, n: usize) -> Type {
        match (self.shape(), n) {
            (Shape::IntFlag, 1) => Type::I1,
            (Shape::FloatClass, 1) => Type::I32,
            _ => ty,
        }
    }

    /// The types of the results where the instruction works on `ty`.
    pub fn result_types(self, ty: Type) -> SmallVec<[Type; 2]> {
        match self.shape() {
            Shape::IntOverflow => smallvec![ty, Type::I1],
            Shape::FloatClass => smallvec![Type::I1],
            _ => smallvec![ty],
        }
    }

    /// Whether the intrinsic can work on this type.
    pub fn works_on(self, ty: Type) -> bool {
        match self.shape() {
            Shape::Float(_) | Shape::FloatClass => ty.is_float(),
            _ if self == Intrinsic::Bswap => matches!(ty, Type::Int(bits) if bits % 8 == 0),
            _ => matches!(ty, Type::Int(_)),
        }
    }
}

impl std::fmt::Display for Intrinsic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

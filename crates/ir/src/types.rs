//! Scalar types, operators and memory orders.

use std::fmt;

/// A scalar type. Aggregates and vectors never appear in the representation: the front end takes them apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// An integer of 1 to 64 bits.
    Int(u8),
    /// A pointer: 64 bits.
    Ptr,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

impl Type {
    /// Boolean.
    pub const I1: Type = Type::Int(1);
    /// Byte.
    pub const I8: Type = Type::Int(8);
    /// 32-bit integer.
    pub const I32: Type = Type::Int(32);
    /// 64-bit integer.
    pub const I64: Type = Type::Int(64);

    /// Width in bits.
    #[inline]
    pub fn bits(self) -> u32 {
        match self {
            Type::Int(bits) => u32::from(bits),
            Type::Ptr | Type::F64 => 64,
            Type::F32 => 32,
        }
    }

    /// Bytes that a store of this type writes: the width rounded up to whole bytes (an `i24` writes three).
    #[inline]
    pub fn store_size(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// The bits of a 64-bit register that hold a value of this type.
    #[inline]
    pub fn mask(self) -> u64 {
        match self.bits() {
            64 => u64::MAX,
            bits => (1 << bits) - 1,
        }
    }

    /// Whether the type is one of the floating-point types.
    pub fn is_float(self) -> bool {
        matches!(self, Type::F32 | Type::F64)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Int(bits) => write!(f, "i{bits}"),
            Type::Ptr => f.write_str("ptr"),
            Type::F32 => f.write_str("f32"),
            Type::F64 => f.write_str("f64"),
        }
    }
}

/// Declares an enum whose variants have a fixed spelling in the text form.
macro_rules! spelled {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name { $($(#[$vdoc])* $variant),* }

        impl $name {
            /// Every variant, in the order of declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The spelling in the text form.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }

            /// The variant with this spelling.
            pub fn from_name(name: &str) -> Option<$name> {
                match name { $($text => Some($name::$variant),)* _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

spelled! {
    /// Two-operand arithmetic. Integer operations wrap; division by zero and `MIN / -1` are errors when reached.
    BinaryOp {
        /// Addition.
        Add = "add",
        /// Subtraction.
        Sub = "sub",
        /// Multiplication.
        Mul = "mul",
        /// Unsigned division.
        UDiv = "udiv",
        /// Signed division.
        SDiv = "sdiv",
        /// Unsigned remainder.
        URem = "urem",
        /// Signed remainder.
        SRem = "srem",
        /// Shift left.
        Shl = "shl",
        /// Logical shift right.
        LShr = "lshr",
        /// Arithmetic shift right.
        AShr = "ashr",
        /// Bitwise and.
        And = "and",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
        /// Floating-point addition.
        FAdd = "fadd",
        /// Floating-point subtraction.
        FSub = "fsub",
        /// Floating-point multiplication.
        FMul = "fmul",
        /// Floating-point division.
        FDiv = "fdiv",
        /// Floating-point remainder.
        FRem = "frem",
    }
}

spelled! {
    /// Comparisons. `F..` compare floating-point values: `O` is false on NaN, `U` is true on NaN.
    CmpOp {
        /// Equal.
        Eq = "eq",
        /// Not equal.
        Ne = "ne",
        /// Unsigned less.
        Ult = "ult",
        /// Unsigned less or equal.
        Ule = "ule",
        /// Unsigned greater.
        Ugt = "ugt",
        /// Unsigned greater or equal.
        Uge = "uge",
        /// Signed less.
        Slt = "slt",
        /// Signed less or equal.
        Sle = "sle",
        /// Signed greater.
        Sgt = "sgt",
        /// Signed greater or equal.
        Sge = "sge",
        /// Always false.
        FFalse = "ffalse",
        /// Ordered and equal.
        FOeq = "foeq",
        /// Ordered and greater.
        FOgt = "fogt",
        /// Ordered and greater or equal.
        FOge = "foge",
        /// Ordered and less.
        FOlt = "folt",
        /// Ordered and less or equal.
        FOle = "fole",
        /// Ordered and not equal.
        FOne = "fone",
        /// Neither is NaN.
        FOrd = "ford",
        /// Unordered or equal.
        FUeq = "fueq",
        /// Unordered or greater.
        FUgt = "fugt",
        /// Unordered or greater or equal.
        FUge = "fuge",
        /// Unordered or less.
        FUlt = "fult",
        /// Unordered or less or equal.
        FUle = "fule",
        /// Unordered or not equal.
        FUne = "fune",
        /// Either is NaN.
        FUno = "funo",
        /// Always true.
        FTrue = "ftrue",
    }
}

spelled! {
    /// Conversions between scalar types.
    CastOp {
        /// Drop high bits.
        Trunc = "trunc",
        /// Extend with zeros.
        ZExt = "zext",
        /// Extend with the sign.
        SExt = "sext",
        /// `f64` to `f32`.
        FpTrunc = "fptrunc",
        /// `f32` to `f64`.
        FpExt = "fpext",
        /// Floating point to unsigned integer.
        FpToUi = "fptoui",
        /// Floating point to signed integer.
        FpToSi = "fptosi",
        /// Unsigned integer to floating point.
        UiToFp = "uitofp",
        /// Signed integer to floating point.
        SiToFp = "sitofp",
        /// Pointer to integer (truncated or zero-extended).
        PtrToInt = "ptrtoint",
        /// Integer to pointer (truncated or zero-extended).
        IntToPtr = "inttoptr",
        /// The same bits as another type of the same width.
        Bitcast = "bitcast",
    }
}

spelled! {
    /// Atomic read-modify-write operations.
    RmwOp {
        /// Exchange.
        Xchg = "xchg",
        /// Addition.
        Add = "add",
        /// Subtraction.
        Sub = "sub",
        /// Bitwise and.
        And = "and",
        /// Bitwise not-and.
        Nand = "nand",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
        /// Signed maximum.
        Max = "max",
        /// Signed minimum.
        Min = "min",
        /// Unsigned maximum.
        UMax = "umax",
        /// Unsigned minimum.
        UMin = "umin",
        /// Floating-point addition.
        FAdd = "fadd",
        /// Floating-point subtraction.
        FSub = "fsub",
    }
}

spelled! {
    /// How an access is ordered. `Plain` is a non-atomic access.
    Order {
        /// Not atomic.
        Plain = "plain",
        /// Atomic without ordering (also LLVM's `unordered`).
        Relaxed = "rlx",
        /// Acquire (also `consume`).
        Acquire = "acq",
        /// Release.
        Release = "rel",
        /// Acquire and release.
        AcqRel = "acqrel",
        /// Sequentially consistent.
        SeqCst = "sc",
    }
}

spelled! {
    /// For which values a load is *speculative*: the thread goes on to a compare-and-exchange of the same location that
    /// expects the value just read, with no write to shared memory between the two, and starts again from before the load
    /// if that one fails. From "Unblocking Dynamic Partial Order Reduction" (CAV 2023), section 3.3, where it is all
    /// values. A load that is part of a walk along a list (the last pointer is null, and that one is exchanged) is
    /// speculative for one of its values only, and so is one after which the thread may give up.
    Speculation {
        /// Whatever is read.
        Always = "spec",
        /// If zero is read.
        IfZero = "spec_zero",
        /// Unless zero is read.
        IfNonzero = "spec_nonzero",
        /// If the compare-and-exchange is what the thread does next: whether it comes to that is computed from the value,
        /// and nothing that others could notice stands between.
        IfNext = "spec_next",
    }
}

impl Order {
    /// Whether the access is atomic.
    #[inline]
    pub fn is_atomic(self) -> bool {
        self != Order::Plain
    }

    /// Whether a read with this order acquires.
    #[inline]
    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcqRel | Order::SeqCst)
    }

    /// Whether a write with this order releases.
    #[inline]
    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcqRel | Order::SeqCst)
    }
}

//! What instructions do.

use super::{ConstId, FunctionAttributes, LocalId, Metadata, Operand, ParameterAttributes};
use crate::types::TypeId;

/// Memory order of an atomic access; `None` in an instruction means a plain access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ordering {
    /// Only free of tearing.
    Unordered,
    /// Relaxed.
    Monotonic,
    /// Acquire.
    Acquire,
    /// Release.
    Release,
    /// Both.
    AcqRel,
    /// Sequentially consistent.
    SeqCst,
}

/// The order and scope of an atomic access.
#[derive(Clone, Copy, Debug)]
pub struct Atomicity<'a> {
    /// The order.
    pub ordering: Ordering,
    /// A scope other than the whole system, such as `singlethread`.
    pub scope: Option<&'a str>,
}

/// Operators of `Binary`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
    FAdd,
    FSub,
    FMul,
    FDiv,
    FRem,
}

/// Operators of `Cast`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum CastOp {
    Trunc,
    ZExt,
    SExt,
    FpTrunc,
    FpExt,
    FpToUi,
    FpToSi,
    UiToFp,
    SiToFp,
    PtrToInt,
    IntToPtr,
    Bitcast,
    AddrSpaceCast,
}

/// Operators of `AtomicRmw`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum RmwOp {
    Xchg,
    Add,
    Sub,
    And,
    Nand,
    Or,
    Xor,
    Max,
    Min,
    UMax,
    UMin,
    FAdd,
    FSub,
    FMax,
    FMin,
    FMaximum,
    FMinimum,
    UIncWrap,
    UDecWrap,
    USubCond,
    USubSat,
}

/// What an instruction does.
#[derive(Debug)]
pub enum Op<'a> {
    /// Return.
    Ret(Option<Operand<'a>>),
    /// Jump.
    Br(LocalId),
    /// Two-way branch.
    CondBr {
        /// An `i1`.
        cond: Operand<'a>,
        /// If true.
        then_dest: LocalId,
        /// If false.
        else_dest: LocalId,
    },
    /// Many-way branch.
    Switch {
        /// What is compared.
        value: Operand<'a>,
        /// Cases.
        cases: Vec<(ConstId, LocalId)>,
        /// Otherwise.
        default: LocalId,
    },
    /// Jump to a computed address.
    IndirectBr {
        /// The address.
        address: Operand<'a>,
        /// All possible targets.
        dests: Vec<LocalId>,
    },
    /// A call that may unwind.
    Invoke {
        /// The call.
        call: Box<Call<'a>>,
        /// Where to go on.
        normal: LocalId,
        /// Where to unwind to.
        unwind: LocalId,
    },
    /// Assembly that may jump.
    CallBr {
        /// The call.
        call: Box<Call<'a>>,
        /// Where it falls through to.
        normal: LocalId,
        /// Where it may jump to.
        others: Vec<LocalId>,
    },
    /// Continue unwinding.
    Resume(Operand<'a>),
    /// Cannot be reached.
    Unreachable,
    /// A call.
    Call(Box<Call<'a>>),
    /// Receives an exception.
    LandingPad,
    /// Floating-point negation.
    FNeg(Operand<'a>),
    /// Arithmetic.
    Binary {
        /// Operator.
        op: BinaryOp,
        /// Left.
        a: Operand<'a>,
        /// Right.
        b: Operand<'a>,
    },
    /// Conversion to the instruction's type.
    Cast {
        /// Which.
        op: CastOp,
        /// Of what.
        a: Operand<'a>,
    },
    /// Integer or pointer comparison.
    ICmp {
        /// Predicate.
        predicate: &'a str,
        /// Left.
        a: Operand<'a>,
        /// Right.
        b: Operand<'a>,
    },
    /// Floating-point comparison.
    FCmp {
        /// Predicate.
        predicate: &'a str,
        /// Left.
        a: Operand<'a>,
        /// Right.
        b: Operand<'a>,
    },
    /// Choice.
    Select {
        /// An `i1` or a vector of them.
        cond: Operand<'a>,
        /// If true.
        a: Operand<'a>,
        /// If false.
        b: Operand<'a>,
    },
    /// Stops undefined values.
    Freeze(Operand<'a>),
    /// Choice by predecessor.
    Phi(Vec<(Operand<'a>, LocalId)>),
    /// A stack variable.
    Alloca {
        /// Type of an element.
        element: TypeId,
        /// How many.
        count: Option<Operand<'a>>,
        /// Alignment in bytes if given.
        align: Option<u64>,
        /// `inalloca` or `swifterror`.
        special: Option<&'static str>,
    },
    /// Read.
    Load {
        /// Where.
        address: Operand<'a>,
        /// Order if atomic.
        atomic: Option<Atomicity<'a>>,
        /// Volatile.
        volatile: bool,
    },
    /// Write.
    Store {
        /// What.
        value: Operand<'a>,
        /// Where.
        address: Operand<'a>,
        /// Order if atomic.
        atomic: Option<Atomicity<'a>>,
        /// Volatile.
        volatile: bool,
    },
    /// Fence.
    Fence(Atomicity<'a>),
    /// Compare and exchange.
    CmpXchg {
        /// Where.
        address: Operand<'a>,
        /// Expected.
        expected: Operand<'a>,
        /// New.
        new: Operand<'a>,
        /// Order on success.
        success: Atomicity<'a>,
        /// Order on failure.
        failure: Ordering,
        /// May fail spuriously.
        weak: bool,
    },
    /// Read-modify-write.
    AtomicRmw {
        /// Operation.
        op: RmwOp,
        /// Where.
        address: Operand<'a>,
        /// Operand.
        value: Operand<'a>,
        /// Order.
        atomic: Atomicity<'a>,
    },
    /// Address arithmetic.
    Gep {
        /// Type that the first index steps over.
        source: TypeId,
        /// Start.
        base: Operand<'a>,
        /// Indices.
        indices: Vec<Operand<'a>>,
    },
    /// Part of an aggregate.
    ExtractValue {
        /// The aggregate.
        aggregate: Operand<'a>,
        /// The path.
        path: Vec<u32>,
    },
    /// An aggregate with a part replaced.
    InsertValue {
        /// The aggregate.
        aggregate: Operand<'a>,
        /// The part.
        value: Operand<'a>,
        /// The path.
        path: Vec<u32>,
    },
    /// Element of a vector.
    ExtractElement {
        /// The vector.
        vector: Operand<'a>,
        /// The index.
        index: Operand<'a>,
    },
    /// A vector with an element replaced.
    InsertElement {
        /// The vector.
        vector: Operand<'a>,
        /// The element.
        value: Operand<'a>,
        /// The index.
        index: Operand<'a>,
    },
    /// A choice of elements from two vectors.
    ShuffleVector {
        /// First vector.
        a: Operand<'a>,
        /// Second vector.
        b: Operand<'a>,
        /// Constant indices.
        mask: ConstId,
    },
    /// Next variadic argument.
    VaArg(Operand<'a>),
    /// `dbg.declare`, `dbg.value` and their like, as calls or as records.
    Debug(Box<DebugRecord<'a>>),
    /// An instruction that parses but cannot be executed; its name.
    Other(&'static str),
}

impl Op<'_> {
    /// Whether it ends a block.
    pub fn is_terminator(&self) -> bool {
        matches!(
            self,
            Op::Ret(_)
                | Op::Br(_)
                | Op::CondBr { .. }
                | Op::Switch { .. }
                | Op::IndirectBr { .. }
                | Op::Invoke { .. }
                | Op::CallBr { .. }
                | Op::Resume(_)
                | Op::Unreachable
        )
    }
}

/// What a debug record says about a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DebugKind {
    /// The variable lives at this address.
    Declare,
    /// The variable has this value from here on.
    Value,
    /// Both, after optimisation.
    Assign,
}

/// A debug record.
#[derive(Debug)]
pub struct DebugRecord<'a> {
    /// Which.
    pub kind: DebugKind,
    /// Address or value, if it still exists.
    pub value: Option<Operand<'a>>,
    /// `!DILocalVariable`.
    pub variable: Metadata<'a>,
    /// `!DIExpression`.
    pub expression: Metadata<'a>,
}

/// A call.
#[derive(Debug)]
pub struct Call<'a> {
    /// Whom.
    pub callee: Operand<'a>,
    /// The function type if the call names it, as calls of variadic functions do.
    pub signature: Option<TypeId>,
    /// Arguments.
    pub args: Vec<Argument<'a>>,
    /// Attributes of the call.
    pub attributes: FunctionAttributes,
    /// Operand bundles, by name.
    pub bundles: Vec<&'a str>,
    /// Whether the caller's own variadic arguments are passed on, as thunks do.
    pub forwards_variadic: bool,
}

/// An argument of a call.
#[derive(Debug)]
pub struct Argument<'a> {
    /// The value.
    pub value: Operand<'a>,
    /// What its attributes mean for execution.
    pub attributes: ParameterAttributes,
}

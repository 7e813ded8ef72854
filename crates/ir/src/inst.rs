//! Instructions.
//!
//! The set follows LLVM's closely enough that purity conditions and access paths read like the source, but without
//! types on pointers, without aggregates and without flags that could make a value poison.

use crate::{
    BinaryOp, Block, CastOp, CmpOp, FuncId, GlobalId, LocId, Order, PathId, RmwOp, Speculation, Type, TypeId, Value,
};
use smallvec::SmallVec;

/// An argument of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// An SSA value.
    Value(Value),
    /// A constant; the bits of an integer, pointer or floating-point number, already cut to the type's width.
    Const(u64),
    /// The address of a global plus an offset in bytes.
    Global(GlobalId, i64),
    /// The address of a function.
    Func(FuncId),
    /// A value that was never defined. Reading it is not an error in itself; it is 0 when computed with.
    Undef,
}

impl From<Value> for Operand {
    fn from(value: Value) -> Operand {
        Operand::Value(value)
    }
}

/// An instruction with its results and its source position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstData {
    /// What it does.
    pub kind: InstKind,
    /// The values that it defines.
    pub results: SmallVec<[Value; 1]>,
    /// Where it stands in the source.
    pub loc: LocId,
}

/// Whom a call calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callee {
    /// A function known by name.
    Direct(FuncId),
    /// A function pointer.
    Indirect(Operand),
}

/// What an await does once its condition holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AwaitKind {
    /// Reads; yields the value.
    Load,
    /// Reads and writes; yields the old value.
    Rmw {
        /// The operation.
        op: RmwOp,
        /// Its right operand.
        value: Operand,
    },
    /// Compares and exchanges; yields the old value and an `i1` that says whether it was exchanged.
    Cas {
        /// The value that has to be there.
        expected: Operand,
        /// The value to put there.
        new: Operand,
        /// Memory order if it fails.
        failure: Order,
        /// Whether it confirms a speculative load.
        confirms: bool,
    },
}

/// What an instruction does.
///
/// Terminators: `Br`, `CondBr`, `Switch`, `Ret`, `Unreachable`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InstKind {
    /// Chooses by the block that control came from. Phis stand first in their block and take effect together.
    Phi {
        /// Type of the result.
        ty: Type,
        /// One value per predecessor.
        args: Vec<(Block, Operand)>,
    },
    /// `a op b`.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Type of operands and result.
        ty: Type,
        /// Left operand.
        a: Operand,
        /// Right operand.
        b: Operand,
    },
    /// Floating-point negation.
    FNeg {
        /// Type of operand and result.
        ty: Type,
        /// The operand.
        a: Operand,
    },
    /// `a op b` as `i1`.
    Cmp {
        /// The comparison.
        op: CmpOp,
        /// Type of the operands.
        ty: Type,
        /// Left operand.
        a: Operand,
        /// Right operand.
        b: Operand,
    },
    /// A conversion.
    Cast {
        /// Which one.
        op: CastOp,
        /// Type of the operand.
        from: Type,
        /// Type of the result.
        to: Type,
        /// The operand.
        a: Operand,
    },
    /// `cond ? a : b`.
    Select {
        /// Type of the result.
        ty: Type,
        /// An `i1`.
        cond: Operand,
        /// The value if it is true.
        a: Operand,
        /// The value if it is false.
        b: Operand,
    },
    /// `base + index * scale + offset`, a pointer. The index is an `i64`.
    PtrAdd {
        /// The pointer to start from.
        base: Operand,
        /// How many steps.
        index: Operand,
        /// Bytes per step.
        scale: i64,
        /// Bytes to add.
        offset: i64,
    },
    /// Makes a stack object that lives until the function returns, and yields its address.
    Alloca {
        /// Size in bytes, an `i64`.
        size: Operand,
        /// Alignment in bytes.
        align: u32,
        /// Source name of the variable, possibly empty.
        name: String,
        /// Its source-level type, if known.
        debug_type: Option<TypeId>,
    },
    /// Reads memory.
    Load {
        /// Type of the result.
        ty: Type,
        /// Where.
        addr: Operand,
        /// Memory order.
        order: Order,
        /// Whether the source says `volatile`.
        volatile: bool,
        /// Whether a compare-and-exchange will confirm the value. Engines may use it; it changes no behaviour.
        speculative: Option<Speculation>,
        /// What it touches, for reports.
        path: Option<PathId>,
    },
    /// Writes memory.
    Store {
        /// Type of the value.
        ty: Type,
        /// Where.
        addr: Operand,
        /// What.
        value: Operand,
        /// Memory order.
        order: Order,
        /// Whether the source says `volatile`.
        volatile: bool,
        /// What it touches, for reports.
        path: Option<PathId>,
    },
    /// Atomic read-modify-write; yields the old value.
    Rmw {
        /// The operation.
        op: RmwOp,
        /// Type of operand and result.
        ty: Type,
        /// Where.
        addr: Operand,
        /// The operand.
        value: Operand,
        /// Memory order.
        order: Order,
        /// What it touches, for reports.
        path: Option<PathId>,
    },
    /// Atomic compare-and-exchange; yields the old value and an `i1` that says whether it was exchanged.
    Cas {
        /// Type of the operands.
        ty: Type,
        /// Where.
        addr: Operand,
        /// The value that has to be there.
        expected: Operand,
        /// The value to put there.
        new: Operand,
        /// Memory order if it succeeds.
        success: Order,
        /// Memory order if it fails.
        failure: Order,
        /// Whether it may fail although the expected value is there.
        weak: bool,
        /// Whether it confirms a speculative load.
        confirms: bool,
        /// What it touches, for reports.
        path: Option<PathId>,
    },
    /// An access that waits until the value at its address satisfies a condition, and is one step with it. Yields
    /// what the access would yield. Made by the elimination of pure loop iterations.
    Await {
        /// What is done once the condition holds.
        access: AwaitKind,
        /// Type of the value in memory.
        ty: Type,
        /// Where.
        addr: Operand,
        /// Memory order (of success, for a compare-and-exchange).
        order: Order,
        /// The condition: `value & mask until operand`.
        until: CmpOp,
        /// The bits of the value that are compared; all bits of the type if nothing is masked.
        mask: u64,
        /// What the value is compared with.
        operand: Operand,
        /// Set if a thread that is left waiting would go round its loop again and might then get on, if something is
        /// different that it has read: the [`Iteration`](InstKind::Iteration) of the loop. Otherwise it spins forever,
        /// which is an error.
        retry: Option<Operand>,
        /// What it touches, for reports.
        path: Option<PathId>,
    },
    /// A memory fence between threads.
    Fence {
        /// Memory order.
        order: Order,
    },
    /// Copies bytes.
    MemCopy {
        /// Destination.
        dst: Operand,
        /// Source.
        src: Operand,
        /// Number of bytes, an `i64`.
        len: Operand,
        /// Whether the ranges may overlap (`memmove`).
        overlap: bool,
    },
    /// Fills bytes.
    MemSet {
        /// Destination.
        dst: Operand,
        /// The byte, an `i8`.
        byte: Operand,
        /// Number of bytes, an `i64`.
        len: Operand,
    },
    /// A function call. The results of the instruction are those of the callee.
    Call {
        /// Whom.
        callee: Callee,
        /// Arguments with their types (a variadic callee needs them).
        args: Vec<(Type, Operand)>,
    },
    /// A computation that has no operator of its own.
    Intrinsic {
        /// Which.
        op: Intrinsic,
        /// Type that it works on.
        ty: Type,
        /// Its operands.
        args: Vec<Operand>,
    },
    /// Starts the traversal of variadic arguments: writes a cursor for the current call into `list`.
    VaStart {
        /// Address of the `va_list`.
        list: Operand,
    },
    /// Takes the next variadic argument.
    VaArg {
        /// Address of the `va_list`.
        list: Operand,
        /// Type of the argument.
        ty: Type,
    },
    /// Copies a `va_list`.
    VaCopy {
        /// Destination.
        dst: Operand,
        /// Source.
        src: Operand,
    },
    /// The address of the current thread's instance of a thread-local global.
    ThreadLocal {
        /// The global.
        global: GlobalId,
    },
    /// Goes on only if the condition holds; otherwise the thread blocks and the execution counts as blocked.
    Assume {
        /// An `i1`.
        cond: Operand,
        /// Set if it cuts off a loop iteration that would change nothing, so that the thread would start it again: the
        /// [`Iteration`](InstKind::Iteration) of the loop.
        pure: Option<Operand>,
    },
    /// An iteration of a loop begins here. Yields how many steps the thread has made so far, an `i64`, for whoever cuts the
    /// iteration off. Stands at the header of the loop, whatever becomes of its back edges later.
    Iteration,
    /// What the front end could not express: an error when it is reached. May have results so that uses stay valid.
    Unsupported {
        /// The feature's name.
        feature: String,
    },
    /// Jump.
    Br {
        /// Where to.
        dest: Block,
    },
    /// Two-way branch.
    CondBr {
        /// An `i1`.
        cond: Operand,
        /// Where to if true.
        then_dest: Block,
        /// Where to if false.
        else_dest: Block,
    },
    /// Many-way branch.
    Switch {
        /// Type of the value.
        ty: Type,
        /// What to look at.
        value: Operand,
        /// Cases.
        cases: Vec<(u64, Block)>,
        /// Where to otherwise.
        default: Block,
    },
    /// Return.
    Ret {
        /// As many values as the function has results.
        values: Vec<Operand>,
    },
    /// Must not be reached.
    Unreachable,
}

/// Computations that LLVM has as intrinsics. Unless said otherwise they take and yield values of the instruction's type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Intrinsic {
    /// Number of one bits.
    Ctpop,
    /// Leading zeros; second operand `i1`: zero is undefined (ignored).
    Ctlz,
    /// Trailing zeros; second operand as for `Ctlz`.
    Cttz,
    /// Bytes in reverse order.
    Bswap,
    /// Bits in reverse order.
    BitReverse,
    /// Absolute value; second operand `i1` is ignored.
    Abs,
    /// Signed maximum.
    SMax,
    /// Signed minimum.
    SMin,
    /// Unsigned maximum.
    UMax,
    /// Unsigned minimum.
    UMin,
    /// Funnel shift left of three operands.
    Fshl,
    /// Funnel shift right of three operands.
    Fshr,
    /// Signed sum and `i1` overflow.
    SAddOverflow,
    /// Unsigned sum and `i1` overflow.
    UAddOverflow,
    /// Signed difference and `i1` overflow.
    SSubOverflow,
    /// Unsigned difference and `i1` overflow.
    USubOverflow,
    /// Signed product and `i1` overflow.
    SMulOverflow,
    /// Unsigned product and `i1` overflow.
    UMulOverflow,
    /// Signed saturating sum.
    SAddSat,
    /// Unsigned saturating sum.
    UAddSat,
    /// Signed saturating difference.
    SSubSat,
    /// Unsigned saturating difference.
    USubSat,
    /// Floating-point absolute value.
    FAbs,
    /// Square root.
    Sqrt,
    /// Round down.
    Floor,
    /// Round up.
    Ceil,
    /// Round towards zero.
    FTrunc,
    /// Round to nearest, ties away from zero.
    Round,
    /// Round to nearest, ties to even.
    RoundEven,
    /// Fused multiply-add of three operands.
    Fma,
    /// Multiply-add of three operands, rounded twice.
    FMulAdd,
    /// Floating-point minimum (a NaN operand gives the other one).
    FMin,
    /// Floating-point maximum (a NaN operand gives the other one).
    FMax,
    /// First operand with the sign of the second.
    CopySign,
    /// Floating-point class test; second operand the mask, result `i1`.
    IsFpClass,
    /// Power.
    Pow,
    /// Exponential.
    Exp,
    /// Natural logarithm.
    Log,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
}

impl InstKind {
    /// Whether the instruction ends a block.
    pub fn is_terminator(&self) -> bool {
        matches!(
            self,
            InstKind::Br { .. }
                | InstKind::CondBr { .. }
                | InstKind::Switch { .. }
                | InstKind::Ret { .. }
                | InstKind::Unreachable
        )
    }

    /// Where control may go from a terminator; empty for others.
    pub fn successors(&self) -> Vec<Block> {
        match self {
            InstKind::Br { dest } => vec![*dest],
            InstKind::CondBr { then_dest, else_dest, .. } => vec![*then_dest, *else_dest],
            InstKind::Switch { cases, default, .. } => {
                cases.iter().map(|&(_, block)| block).chain(std::iter::once(*default)).collect()
            }
            _ => Vec::new(),
        }
    }
}

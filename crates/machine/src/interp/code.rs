//! The bytecode.
//!
//! An instruction is 16 bytes: an opcode, up to four registers of 16 bits, and room for a constant or two branch
//! targets. Registers are numbered from the start of the running function's frame; a register always holds a value that
//! is cut to the width of its type, so that zero extension and most conversions between integers and pointers cost
//! nothing. The variants whose names end in `K` take a constant where the others take a register; `G` stands for a
//! constant address, which is what the address of a global variable is. Everything that can be decided when a program
//! is loaded has been: widths of the common operations, callees, addresses, branch targets.
//!
//! What only reports need (source positions, names) lies beside the code in [`Debug`], one entry per instruction, and
//! in the [`Program`]'s copies of the module's tables.

use crate::models::Model;
use rustc_hash::FxHashMap;
use selvedge_ir::{
    BinaryOp, CastOp, CmpOp, DebugType, EntityVec, FileId, FuncId, GlobalId, Intrinsic, LocId, Order, PathId, RmwOp,
    SourceFile, SourceLoc, Speculation, Type, TypeId,
};

/// A register of the current frame.
pub type Reg = u16;

/// An index into the code of a program.
pub type Pc = u32;

/// How an access is made.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    /// Bytes.
    pub size: u8,
    /// Memory order.
    pub order: Order,
    /// Whether bytes that were never written may be read.
    pub raw: bool,
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the fields are operands, explained by the comment of their variant
pub enum Ins {
    /// `dst = value`.
    Const {
        dst: Reg,
        value: u64,
    },
    /// `dst = src`.
    Move {
        dst: Reg,
        src: Reg,
    },
    /// 32-bit and 64-bit arithmetic.
    Add32 {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Add64 {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Sub32 {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Sub64 {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Mul32 {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Mul64 {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Add32K {
        dst: Reg,
        a: Reg,
        k: u32,
    },
    Add64K {
        dst: Reg,
        a: Reg,
        k: u64,
    },
    Mul32K {
        dst: Reg,
        a: Reg,
        k: u32,
    },
    Mul64K {
        dst: Reg,
        a: Reg,
        k: u64,
    },
    /// Bitwise operations, of any width.
    And {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Or {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Xor {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    AndK {
        dst: Reg,
        a: Reg,
        k: u64,
    },
    OrK {
        dst: Reg,
        a: Reg,
        k: u64,
    },
    XorK {
        dst: Reg,
        a: Reg,
        k: u64,
    },
    /// Any other binary operation.
    Binary {
        op: BinaryOp,
        ty: Type,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    BinaryK {
        op: BinaryOp,
        ty: Type,
        dst: Reg,
        a: Reg,
        k: u64,
    },
    FNeg {
        ty: Type,
        dst: Reg,
        a: Reg,
    },
    Cmp {
        op: CmpOp,
        ty: Type,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    CmpK {
        op: CmpOp,
        ty: Type,
        dst: Reg,
        a: Reg,
        k: u64,
    },
    /// Sign extension of the low `bits`, then the bits of `mask`.
    SExt {
        bits: u8,
        dst: Reg,
        a: Reg,
        mask: u64,
    },
    Cast {
        op: CastOp,
        from: Type,
        to: Type,
        dst: Reg,
        a: Reg,
    },
    Select {
        dst: Reg,
        cond: Reg,
        a: Reg,
        b: Reg,
    },
    /// `dst = base + index * scale + offset`.
    PtrAdd {
        dst: Reg,
        base: Reg,
        index: Reg,
        scale: i32,
        offset: i32,
    },
    PtrAddK {
        dst: Reg,
        index: Reg,
        scale: u16,
        base: u64,
    },
    Intrinsic {
        op: Intrinsic,
        ty: Type,
        dst: Reg,
        flag: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    /// A stack object of `size` bytes.
    Alloca {
        dst: Reg,
        size: Reg,
    },
    AllocaK {
        dst: Reg,
        size: u64,
    },
    /// Makes the thread's own object at `addr + offset` one that others can reach: an atomic access of it follows.
    Publish {
        addr: Reg,
        offset: i32,
    },
    /// Reads `mode.size` bytes at `addr + offset` and keeps the low `bits`.
    Load {
        mode: Mode,
        speculative: Option<Speculation>,
        bits: u8,
        dst: Reg,
        addr: Reg,
        offset: i32,
    },
    LoadG {
        mode: Mode,
        speculative: Option<Speculation>,
        bits: u8,
        dst: Reg,
        addr: u64,
    },
    Store {
        mode: Mode,
        src: Reg,
        addr: Reg,
        offset: i32,
    },
    StoreG {
        mode: Mode,
        src: Reg,
        addr: u64,
    },
    StoreK {
        mode: Mode,
        addr: Reg,
        offset: i16,
        k: u64,
    },
    /// Atomic read-modify-write; `used` says whether anybody looks at the old value.
    Rmw {
        op: RmwOp,
        order: Order,
        ty: Type,
        used: bool,
        dst: Reg,
        addr: Reg,
        value: Reg,
    },
    Cas {
        success: Order,
        failure: Order,
        confirms: bool,
        ty: Type,
        old: Reg,
        done: Reg,
        addr: Reg,
        expected: Reg,
        new: Reg,
    },
    /// Waits and accesses by an [`AwaitSite`].
    Await {
        site: u32,
    },
    Fence {
        order: Order,
    },
    MemCopy {
        dst: Reg,
        src: Reg,
        len: Reg,
        overlap: bool,
    },
    MemSet {
        dst: Reg,
        byte: Reg,
        len: Reg,
    },
    /// Calls by a [`CallSite`].
    Call {
        site: u32,
    },
    /// Returns what [`Program::returns`] lists from `first` on.
    Ret {
        first: u32,
        count: u16,
    },
    VaStart {
        list: Reg,
    },
    VaArg {
        ty: Type,
        dst: Reg,
        list: Reg,
    },
    VaCopy {
        dst: Reg,
        src: Reg,
    },
    /// The address of the current thread's instance of a thread-local variable, plus an offset.
    ThreadLocal {
        dst: Reg,
        global: GlobalId,
        offset: i32,
    },
    Assume {
        cond: Reg,
        /// Where it is noted when the iteration began, if it cuts off one that is pure.
        pure: Option<Reg>,
    },
    /// Notes when an iteration begins: how many Ops the thread has behind it.
    Iteration {
        dst: Reg,
    },
    /// Something that is an error when it is reached: an index into [`Program::messages`].
    Unsupported {
        message: u32,
    },
    Unreachable,
    /// Loop bounds: the counter starts over when a loop is entered, and counts its back edges.
    LoopReset {
        counter: Reg,
    },
    LoopCheck {
        counter: Reg,
        limit: u32,
    },
    /// Notes the state at the start of an iteration, by a [`LoopSite`].
    LoopEnter {
        site: u32,
    },
    /// Compares the state with that one iteration ago, and notes it.
    LoopAgain {
        site: u32,
    },
    Jump {
        to: Pc,
    },
    Branch {
        cond: Reg,
        then: Pc,
        other: Pc,
    },
    /// Comparison and branch in one; `Slt` is signed, and the constants are extended accordingly.
    BrEq {
        a: Reg,
        b: Reg,
        then: Pc,
        other: Pc,
    },
    BrEqK {
        a: Reg,
        k: u16,
        then: Pc,
        other: Pc,
    },
    BrUlt {
        a: Reg,
        b: Reg,
        then: Pc,
        other: Pc,
    },
    BrUltK {
        a: Reg,
        k: u16,
        then: Pc,
        other: Pc,
    },
    BrUgtK {
        a: Reg,
        k: u16,
        then: Pc,
        other: Pc,
    },
    BrSlt32 {
        a: Reg,
        b: Reg,
        then: Pc,
        other: Pc,
    },
    BrSlt64 {
        a: Reg,
        b: Reg,
        then: Pc,
        other: Pc,
    },
    BrSlt32K {
        a: Reg,
        k: i16,
        then: Pc,
        other: Pc,
    },
    BrSlt64K {
        a: Reg,
        k: i16,
        then: Pc,
        other: Pc,
    },
    BrSgt32K {
        a: Reg,
        k: i16,
        then: Pc,
        other: Pc,
    },
    BrSgt64K {
        a: Reg,
        k: i16,
        then: Pc,
        other: Pc,
    },
    /// Jumps by a [`Switch`].
    Switch {
        value: Reg,
        table: u32,
    },
}

const _: () = assert!(size_of::<Ins>() == 16, "an instruction is 16 bytes");

/// What reports need to know of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Debug {
    /// Its source position.
    pub loc: LocId,
    /// What it accesses, in the words of the source.
    pub path: Option<PathId>,
    /// The type of the value that it loads or stores, if it does.
    pub ty: Option<Type>,
    /// Whether it is a volatile load or store.
    pub volatile: bool,
}

/// An operand that may be a register or a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Src {
    /// The value of a register.
    Reg(Reg),
    /// A constant.
    Const(u64),
}

/// Whom a call calls.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// A function of the program or a model.
    Direct(FuncId),
    /// The function at an address.
    Indirect(Src),
}

/// A call in the code.
#[derive(Clone, Debug)]
pub struct CallSite {
    /// Whom it calls.
    pub target: Target,
    /// Arguments.
    pub args: Vec<Src>,
    /// Their types.
    pub types: Vec<Type>,
    /// Where the results go, and the bits that their types have.
    pub results: Vec<(Reg, u64)>,
}

/// An access that waits for a condition. Registers that its kind has no use for are 0.
#[derive(Clone, Copy, Debug)]
pub struct AwaitSite {
    /// What is done.
    pub kind: AwaitAccess,
    /// Type of the value in memory.
    pub ty: Type,
    /// Memory order.
    pub order: Order,
    /// Where the value goes, and whether it was exchanged.
    pub results: [Reg; 2],
    /// Address.
    pub addr: Reg,
    /// The comparison with the value in register `operand`.
    pub until: CmpOp,
    /// What the value is compared with.
    pub operand: Reg,
    /// The bits that are compared.
    pub mask: u64,
    /// Where it is noted when the iteration began that a thread which is left behind would start again, if it would.
    pub retry: Option<Reg>,
}

/// What an await does once its condition holds.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // operands
pub enum AwaitAccess {
    Load,
    Rmw { op: RmwOp, value: Reg, used: bool },
    Cas { expected: Reg, new: Reg, failure: Order, confirms: bool },
}

/// What the state of a loop is at the start of an iteration.
#[derive(Clone, Debug)]
pub struct LoopSite {
    /// The registers that hold the phis of its header.
    pub state: Vec<Reg>,
    /// The first of the registers that hold what was noted: Ops, effects, then the state.
    pub noted: Reg,
}

/// A many-way branch.
#[derive(Clone, Debug)]
pub struct Switch {
    /// Cases in ascending order.
    pub cases: Vec<(u64, Pc)>,
    /// Where to go otherwise.
    pub default: Pc,
}

/// A function of the program, defined or not.
#[derive(Clone, Debug)]
pub struct Func {
    /// Its linkage name.
    pub name: String,
    /// Its name in the source.
    pub source_name: String,
    /// Where its code starts; none if it is not defined in the program.
    pub entry: Option<Pc>,
    /// The model that answers for it if it is not defined.
    pub model: Option<Model>,
    /// How many registers a frame has.
    pub registers: u32,
    /// Types of its parameters: they come in the first registers.
    pub params: Vec<Type>,
    /// Whether it takes further arguments.
    pub vararg: bool,
    /// Where it is defined.
    pub loc: LocId,
}

/// What reports need to know of a global.
#[derive(Clone, Debug)]
pub struct GlobalInfo {
    /// Its linkage name.
    pub linkage: String,
    /// Its name in the source.
    pub name: String,
    /// Its type in the source.
    pub debug_type: Option<TypeId>,
    /// Where it is defined.
    pub loc: LocId,
    /// Whether it is only declared.
    pub external: bool,
    /// Size in bytes.
    pub size: u64,
    /// Initial bytes with addresses filled in, for thread-local instances.
    pub image: Vec<u8>,
    /// The address of the one instance; 0 if each thread has its own.
    pub addr: u64,
}

/// A loaded program: code and what belongs to it. Never changed once loaded.
#[derive(Clone, Default)]
pub struct Program {
    /// All code.
    pub code: Vec<Ins>,
    /// One entry per instruction.
    pub debug: Vec<Debug>,
    /// Functions.
    pub funcs: EntityVec<FuncId, Func>,
    /// Globals.
    pub globals: EntityVec<GlobalId, GlobalInfo>,
    /// Calls.
    pub calls: Vec<CallSite>,
    /// Accesses that wait.
    pub awaits: Vec<AwaitSite>,
    /// Loops whose iterations are compared.
    pub loops: Vec<LoopSite>,
    /// Many-way branches.
    pub switches: Vec<Switch>,
    /// Lists of returned values.
    pub returns: Vec<Src>,
    /// Texts of `Unsupported`.
    pub messages: Vec<String>,
    /// Names and types of local variables, by the instruction that makes them.
    pub locals: FxHashMap<Pc, (String, Option<TypeId>)>,
    /// Source positions.
    pub locs: EntityVec<LocId, SourceLoc>,
    /// Source files.
    pub files: EntityVec<FileId, SourceFile>,
    /// Which of them are headers of the C or C++ library.
    pub is_library: EntityVec<FileId, bool>,
    /// Source-level types.
    pub types: EntityVec<TypeId, DebugType>,
    /// Names of accesses.
    pub paths: EntityVec<PathId, String>,
}

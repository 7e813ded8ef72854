//! What the parser produces: the module as it was written, names resolved to indices, types checked.
//!
//! The tree borrows from the text. Three arenas keep it flat: types, constants and metadata nodes are referred to by
//! index. Locals (arguments, blocks and instruction results share one namespace in LLVM) are numbered per function in
//! order of first mention.
//!
//! Guarantees that the lowering relies on: every local is defined exactly once; every use agrees with the definition in
//! type; operands have the class (integer, pointer, floating point) that the instruction wants; indices of
//! `extractvalue` and `insertvalue` are in range; every block ends in exactly one terminator. Not guaranteed:
//! dominance of uses by definitions and the agreement of phis with predecessors, which the lowering checks.

use crate::types::{TypeId, TypeTable};
use rustc_hash::FxHashMap;

/// Declares a `u32` index type.
macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// The index as a `usize`.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index! {
    /// A local of a function: argument, block or result.
    LocalId
}
index! {
    /// A global symbol of the module.
    SymbolId
}
index! {
    /// A constant of the module.
    ConstId
}
index! {
    /// A metadata node of the module.
    NodeId
}

/// A module.
#[derive(Debug, Default)]
pub struct Module<'a> {
    /// The name under which the text was given.
    pub file: String,
    /// `source_filename`, still escaped.
    pub source_filename: &'a str,
    /// The target triple, still escaped.
    pub triple: &'a str,
    /// The data layout string and where it stands.
    pub data_layout: Option<(&'a str, u32)>,
    /// All types.
    pub types: TypeTable,
    /// All global symbols in order of first mention.
    pub symbols: Vec<Symbol<'a>>,
    /// All constants.
    pub constants: Vec<Constant<'a>>,
    /// All metadata nodes.
    pub nodes: Vec<Node<'a>>,
    /// Numbered metadata.
    pub numbered: FxHashMap<u32, NodeId>,
    /// Global variables.
    pub globals: Vec<GlobalVariable<'a>>,
    /// Functions, defined and declared.
    pub functions: Vec<Function<'a>>,
    /// Aliases and ifuncs.
    pub aliases: Vec<Alias>,
    /// Attribute groups.
    pub groups: FxHashMap<u32, FunctionAttributes>,
    /// Where module-level assembly stands, if there is any that does something.
    pub module_asm: Option<u32>,
}

/// A global symbol.
#[derive(Clone, Debug)]
pub struct Symbol<'a> {
    /// Its name, still escaped; empty for a numbered one.
    pub name: &'a str,
    /// Its number if it has no name.
    pub number: Option<u32>,
    /// What it names.
    pub definition: SymbolDefinition,
    /// Where it is first mentioned.
    pub offset: u32,
}

/// What a global symbol names: an index into the list of that kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolDefinition {
    /// Nothing yet.
    Missing,
    /// A global variable.
    Variable(u32),
    /// A function.
    Function(u32),
    /// An alias.
    Alias(u32),
}

/// How a symbol is seen by other modules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Linkage {
    /// Visible and unique.
    #[default]
    External,
    /// Not visible, not even by name.
    Private,
    /// Not visible.
    Internal,
    /// A copy of a definition that stands elsewhere.
    AvailableExternally,
    /// One of several copies, dropped if unused (`linkonce`, `linkonce_odr`).
    LinkOnce,
    /// One of several copies (`weak`, `weak_odr`).
    Weak,
    /// A tentative definition.
    Common,
    /// Concatenated.
    Appending,
    /// Null unless defined elsewhere.
    ExternWeak,
}

impl Linkage {
    /// Whether the symbol is visible in its own module only.
    pub fn is_local(self) -> bool {
        matches!(self, Linkage::Private | Linkage::Internal)
    }
}

/// A global variable.
#[derive(Debug)]
pub struct GlobalVariable<'a> {
    /// Its symbol.
    pub symbol: SymbolId,
    /// Type of its contents.
    pub ty: TypeId,
    /// Linkage.
    pub linkage: Linkage,
    /// Address space.
    pub address_space: u32,
    /// Whether each thread has its own.
    pub thread_local: bool,
    /// Whether it cannot be written.
    pub constant: bool,
    /// Initial contents; none for a declaration.
    pub initializer: Option<ConstId>,
    /// Alignment in bytes if given.
    pub align: Option<u64>,
    /// Section if given, still escaped.
    pub section: Option<&'a str>,
    /// Debug information: `!DIGlobalVariableExpression` nodes.
    pub debug: Vec<Metadata<'a>>,
    /// Where it is defined in the text.
    pub offset: u32,
}

/// An alias or ifunc.
#[derive(Debug)]
pub struct Alias {
    /// Its symbol.
    pub symbol: SymbolId,
    /// Linkage.
    pub linkage: Linkage,
    /// Whether it is an ifunc, whose target is found by a call at load time.
    pub ifunc: bool,
    /// What it stands for.
    pub target: ConstId,
    /// Where it is defined in the text.
    pub offset: u32,
}

/// A function.
#[derive(Debug)]
pub struct Function<'a> {
    /// Its symbol.
    pub symbol: SymbolId,
    /// Linkage.
    pub linkage: Linkage,
    /// Result type.
    pub result: TypeId,
    /// Parameters.
    pub params: Vec<Parameter>,
    /// Whether more arguments may follow.
    pub variadic: bool,
    /// Its type.
    pub ty: TypeId,
    /// Attributes.
    pub attributes: FunctionAttributes,
    /// Debug information: a `!DISubprogram`.
    pub debug: Option<Metadata<'a>>,
    /// Locals, by `LocalId`.
    pub locals: Vec<Local<'a>>,
    /// Blocks in textual order; empty for a declaration.
    pub blocks: Vec<Block<'a>>,
    /// Where it is defined in the text.
    pub offset: u32,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its type.
    pub ty: TypeId,
    /// Its local; none in a declaration.
    pub local: Option<LocalId>,
    /// What its attributes mean for execution.
    pub attributes: ParameterAttributes,
}

/// A local of a function.
#[derive(Clone, Copy, Debug)]
pub struct Local<'a> {
    /// Its name, still escaped; empty for a numbered one.
    pub name: &'a str,
    /// Its number if it has no name.
    pub number: u32,
    /// Its type.
    pub ty: TypeId,
    /// Whether the definition was seen.
    pub defined: bool,
    /// Where it is first mentioned.
    pub offset: u32,
}

/// A basic block.
#[derive(Debug)]
pub struct Block<'a> {
    /// Its label.
    pub label: LocalId,
    /// Its instructions, the last one a terminator.
    pub instructions: Vec<Instruction<'a>>,
}

/// An instruction.
#[derive(Debug)]
pub struct Instruction<'a> {
    /// The local that it defines.
    pub result: Option<LocalId>,
    /// Type of the result; void if none.
    pub ty: TypeId,
    /// What it does.
    pub op: Op<'a>,
    /// Its debug location.
    pub location: Option<Metadata<'a>>,
    /// Where it stands in the text.
    pub offset: u32,
}

/// An operand with its type.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// Its type.
    pub ty: TypeId,
    /// What it is.
    pub kind: OperandKind<'a>,
}

/// What an operand is.
#[derive(Clone, Copy, Debug)]
pub enum OperandKind<'a> {
    /// A local.
    Local(LocalId),
    /// A constant.
    Const(ConstId),
    /// Metadata, as an argument of an intrinsic.
    Metadata(Metadata<'a>),
    /// Inline assembly, as a callee.
    Asm(InlineAsm<'a>),
}

/// Inline assembly.
#[derive(Clone, Copy, Debug)]
pub struct InlineAsm<'a> {
    /// The template, still escaped.
    pub template: &'a str,
    /// The constraints, still escaped.
    pub constraints: &'a str,
}

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
}

/// An argument of a call.
#[derive(Debug)]
pub struct Argument<'a> {
    /// The value.
    pub value: Operand<'a>,
    /// What its attributes mean for execution.
    pub attributes: ParameterAttributes,
}

/// Parameter attributes that change what a call does. All others are known and ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParameterAttributes {
    /// The callee gets a copy of the pointee.
    pub byval: Option<TypeId>,
    /// The pointee receives the result; the pointer is passed as it is.
    pub sret: Option<TypeId>,
    /// Element type of a pointer argument of an intrinsic.
    pub element_type: Option<TypeId>,
    /// Alignment in bytes.
    pub align: Option<u64>,
    /// An attribute that this front end represents but does not execute, by name.
    pub unsupported: Option<&'static str>,
}

/// Function attributes that change what a function does. All others are known and ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionAttributes {
    /// Does not return.
    pub noreturn: bool,
    /// May return twice, as `setjmp` does.
    pub returns_twice: bool,
    /// An attribute that this front end represents but does not execute, by name.
    pub unsupported: Option<&'static str>,
    /// Attribute groups.
    pub groups: Vec<u32>,
}

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

/// A metadata operand.
#[derive(Clone, Copy, Debug)]
pub enum Metadata<'a> {
    /// `null`.
    Null,
    /// `!12`.
    Number(u32),
    /// A node written in place.
    Node(NodeId),
    /// `!"text"`, still escaped.
    String(&'a str),
    /// An integer field.
    Int(i128),
    /// A keyword or flags joined by `|`, as written.
    Word(&'a str),
    /// A local or constant wrapped as metadata.
    Local(TypeId, LocalId),
    /// A constant wrapped as metadata.
    Const(ConstId),
}

/// A metadata node, read without knowing its kind: new fields come with every release.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    /// `DILocation`, `DISubprogram`, ...; empty for a tuple.
    pub kind: &'a str,
    /// Fields with their keys; a key is empty where the syntax has none.
    pub fields: Box<[(&'a str, Metadata<'a>)]>,
}

impl<'a> Node<'a> {
    /// The field with this key.
    pub fn field(&self, key: &str) -> Option<Metadata<'a>> {
        self.fields.iter().find(|(k, _)| *k == key).map(|&(_, value)| value)
    }
}

impl<'a> Module<'a> {
    /// A constant.
    pub fn constant(&self, id: ConstId) -> &Constant<'a> {
        &self.constants[id.index()]
    }

    /// A symbol's name for people.
    pub fn symbol_name(&self, id: SymbolId) -> String {
        let symbol = &self.symbols[id.index()];
        match symbol.number {
            Some(number) => number.to_string(),
            None => crate::lexer::display_name(symbol.name),
        }
    }

    /// The node behind a metadata operand.
    pub fn node(&self, metadata: Metadata<'a>) -> Option<&Node<'a>> {
        match metadata {
            Metadata::Node(id) => Some(&self.nodes[id.index()]),
            Metadata::Number(number) => Some(&self.nodes[self.numbered.get(&number)?.index()]),
            _ => None,
        }
    }

    /// The merged attributes of a function or call with those of its groups.
    pub fn resolve_attributes(&self, attributes: &FunctionAttributes) -> FunctionAttributes {
        let mut merged = attributes.clone();
        for group in &attributes.groups {
            if let Some(group) = self.groups.get(group) {
                merged.noreturn |= group.noreturn;
                merged.returns_twice |= group.returns_twice;
                merged.unsupported = merged.unsupported.or(group.unsupported);
            }
        }
        merged
    }
}

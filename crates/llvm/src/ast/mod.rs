//! What the parser produces: the module as it was written, names resolved to indices, types checked.
//!
//! | file | owns |
//! |---|---|
//! | `mod.rs` | modules, globals, functions, blocks, operands, attributes |
//! | `instruction.rs` | what instructions do |
//! | `constant.rs` | constants |
//! | `metadata.rs` | metadata |
//!
//! The tree borrows from the text. Three arenas keep it flat: types, constants and metadata nodes are referred to by
//! index. Locals (arguments, blocks and instruction results share one namespace in LLVM) are numbered per function in
//! order of first mention.
//!
//! Guarantees that the lowering relies on: every local is defined exactly once; every use agrees with the definition in
//! type; operands have the class (integer, pointer, floating point) that the instruction wants; indices of
//! `extractvalue` and `insertvalue` are in range; every block ends in exactly one terminator. Not guaranteed:
//! dominance of uses by definitions and the agreement of phis with predecessors, which the lowering checks.

mod constant;
mod instruction;
mod metadata;

pub use constant::{BlockName, Constant, ConstantKind, Expression};
pub use instruction::{Argument, Atomicity, BinaryOp, Call, CastOp, DebugKind, DebugRecord, Op, Ordering, RmwOp};
pub use metadata::{Metadata, Node};

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

//! The program representation of Selvedge.
//!
//! A [`Module`] holds functions in SSA form, global variables with their initial bytes, and the debug information
//! that lets every event of a report speak of source lines and variable names. The representation is small on
//! purpose: scalars only (integers up to 64 bits, pointers, two floating-point types), pointer arithmetic instead
//! of typed address computation, aggregates already taken apart by the front end. What a front end cannot express
//! becomes an [`InstKind::Unsupported`] instruction, which is an error only when it is reached.
//!
//! | file | owns |
//! |---|---|
//! | `entity.rs` | typed indices and vectors over them |
//! | `types.rs` | scalar types, operators, memory orders |
//! | `inst.rs` | instructions and operands |
//! | `function.rs` | functions, blocks, values |
//! | `module.rs` | modules and globals |
//! | `debug.rs` | source positions and source-level types |
//! | `intrinsic.rs` | signatures of intrinsics |
//! | `eval.rs` | what every operator computes |
//! | `operands.rs` | generic access to the parts of an instruction |
//! | `cfg.rs`, `dominators.rs` | control-flow graph and dominator tree |
//! | `verify.rs`, `verify/` | the rules of the representation |
//! | `print.rs` | text form: printing |
//! | `lex.rs`, `parse.rs`, `parse/` | text form: parsing |

pub mod cfg;
pub mod debug;
pub mod dominators;
pub mod entity;
pub mod eval;
pub mod function;
pub mod inst;
pub mod intrinsic;
mod lex;
pub mod module;
pub mod operands;
pub mod parse;
pub mod print;
pub mod types;
pub mod verify;

pub use cfg::Cfg;
pub use debug::{DebugType, Field, FileId, LocId, PathId, SourceFile, SourceLoc, TypeId};
pub use dominators::Dominators;
pub use entity::{EntityRef, EntityVec};
pub use eval::EvalError;
pub use function::{Block, BlockData, FuncId, Function, Inst, Value, ValueData, ValueDef};
pub use inst::{AwaitKind, Callee, InstData, InstKind, Intrinsic, Operand};
pub use module::{Global, GlobalId, Module, Reloc, RelocTarget};
pub use parse::{ParseError, parse_module};
pub use types::{BinaryOp, CastOp, CmpOp, Order, RmwOp, Speculation, Type};
pub use verify::{VerifyError, VerifyErrors, verify_function, verify_module};

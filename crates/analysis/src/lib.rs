//! Analyses and transformations of the program representation.
//!
//! A front end hands over code in which every local variable lives in memory and every `&&` is a maze of blocks. The
//! passes here bring it into the form that the machine runs fast and that the analyses of loops can read: SSA values
//! instead of memory, few blocks, small functions inlined. [`pipeline::prepare`] runs them in order.
//!
//! What no pass may do: change which *events* a thread performs (accesses to memory that may be shared, atomics,
//! calls), or hide an error that the machine would report (an uninitialised read, a division by zero, an access out of
//! bounds). `tests/preserve.rs` compares programs before and after with a small interpreter.
//!
//! | file | owns |
//! |---|---|
//! | `frontier.rs` | dominance frontiers |
//! | `loops.rs` | natural loops, irreducible regions |
//! | `call_graph.rs` | who calls whom, recursion, bottom-up order |
//! | `rewrite.rs` | replacing values, reordering blocks, uses of values |
//! | `local_memory.rs` | stack objects whose address stays within the function |
//! | `sroa.rs` | splitting stack objects into scalars |
//! | `mem2reg.rs` | SSA construction |
//! | `fold.rs`, `peephole.rs` | constant folding, algebraic simplification |
//! | `dce.rs` | dead code |
//! | `cleanup.rs`, `thread_jumps.rs`, `known_branch.rs` | simpler control flow |
//! | `inline.rs` | inlining |
//! | `compact.rs` | dense numbering of what is left |
//! | `confirmation_cas/` | attempts to exchange what was read before, which are made again if they fail |
//! | `purity/` | iterations that do nothing are not explored |
//! | `pipeline.rs` | all of it in order, verified |

pub mod call_graph;
pub mod cleanup;
pub mod compact;
pub mod confirmation_cas;
pub mod dce;
pub mod fold;
pub mod frontier;
pub mod inline;
pub mod known_branch;
pub mod local_memory;
pub mod loops;
pub mod mem2reg;
mod peephole;
pub mod pipeline;
pub mod purity;
pub mod rewrite;
pub mod sroa;
pub mod thread_jumps;

pub use call_graph::CallGraph;
pub use frontier::Frontiers;
pub use loops::{Loop, LoopForest, LoopId};
pub use pipeline::{Options, PassError, USEFUL, prepare, prepare_and_report};
pub use purity::LoopReport;
pub use selvedge_ir::{Cfg, Dominators};

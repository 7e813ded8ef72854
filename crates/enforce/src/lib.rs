//! Runs native programs under safe schedules.
//!
//! A published tree becomes a plan: what each thread does, section by section, for whom it waits and whom it signals. The
//! program is compiled by the user's clang, from the module that was verified, with calls of a small run-time at the
//! instructions that the plan names. The run-time is in C and is compiled along with it, so that an installed
//! `selvedge` needs nothing but clang.
//!
//! | file | owns |
//! |---|---|
//! | `plan.rs`, `planner.rs` | from a tree to what each thread does |
//! | `waits.rs` | which events wait for which |
//! | `tails.rs` | what is still done in a section while the next one has begun |
//! | `emit/` | the program in LLVM's text, with calls of the run-time |
//! | `tables.rs` | the plan as tables of the run-time |
//! | `runtime/` | the run-time: threads and inputs, waiting, whose turn it is, what the program calls |
//! | `compile.rs` | all of it through clang |

pub mod compile;
pub mod emit;
pub mod plan;
mod planner;
mod tables;
mod tails;
pub mod waits;

pub use compile::{Binary, CompileOptions, EnforceError, compile};
pub use plan::{Level, Plan, PlanError, PlanOptions, plan};

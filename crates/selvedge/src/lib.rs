//! Checks concurrent Rust code exhaustively: a drop-in for loom.
//!
#![doc = include_str!("../README.md")]
//!
//! ## Files
//!
//! | file | owns |
//! |---|---|
//! | `model.rs` | `model`, `Builder` |
//! | `thread.rs`, `hint.rs` | threads |
//! | `sync/` | atomics, locks, condition variables, `Arc` |
//! | `cell.rs` | cells whose accesses are checked for races |
//! | `object.rs` | where the engine keeps what these are made of |
//! | `pointers.rs` | names for pointers |
//! | `threads.rs` | numbers and names of threads |
//! | `runtime.rs` | how an operation gets from the model's code to the machine |
//! | `machine.rs` | the machine that the engine drives |
//! | `spin.rs` | loops that wait for others |
//! | `coroutine.rs` | threads as coroutines on pooled stacks |
//! | `report.rs` | what went wrong, in words |

pub mod cell;
mod coroutine;
pub mod hint;
mod machine;
pub mod model;
mod object;
mod pointers;
mod report;
mod runtime;
mod spin;
pub mod sync;
pub mod thread;
mod threads;

#[doc(inline)]
pub use model::{MemoryModel, Stats, model};

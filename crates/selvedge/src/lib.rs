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
//! | `sync/` | atomics, locks, condition variables, channels, `Arc` |
//! | `future.rs`, `alloc.rs` | futures, values that must not be leaked |
//! | `cell.rs` | cells whose accesses are checked for races |
//! | `object.rs` | where the engine keeps what these are made of |
//! | `pointers.rs` | names for pointers |
//! | `threads.rs` | numbers and names of threads |
//! | `runtime.rs` | how an operation gets from the model's code to the machine |
//! | `machine.rs` | the machine that the engine drives |
//! | `spin.rs` | loops that wait for others |
//! | `coroutine.rs` | threads as coroutines on pooled stacks |
//! | `report.rs` | what went wrong, in words |
//!
//! `actors`, for processes that pass messages, is a crate of its own: `crates/actors`.

pub mod alloc;
pub mod cell;
mod coroutine;
pub mod future;
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

/// Processes that pass messages.
#[doc(inline)]
pub use selvedge_actors as actors;

#[doc(inline)]
pub use model::{MemoryModel, Stats, model};

/// How many threads a model may have.
pub const MAX_THREADS: usize = selvedge_machine::memory::MAX_THREADS;

/// Exploration goes on. It never stops here, so this does nothing.
pub fn explore() {}

/// Does nothing: in loom, what comes next is not explored in all ways; here it is.
pub fn stop_exploring() {}

//! Checks concurrent Rust code exhaustively: a drop-in for loom.
//!
#![doc = include_str!("../README.md")]
//!
//! ## Files
//!
//! | file | owns |
//! |---|---|
//! | `model.rs`, `pass.rs`, `pass/choices.rs`, `pass/one.rs` | `model`, `Builder`, `Stats`; how a model is explored |
//! | `thread.rs`, `scope.rs`, `hint.rs` | threads |
//! | `thread_local.rs`, `lazy_static.rs`, `macros.rs` | variables of threads, values that are made when they are used |
//! | `sync/` | atomics, locks, condition variables, channels (`channel.rs` says what they are to the engines), `Arc` |
//! | `future.rs`, `alloc.rs` | futures; memory and values that must not be leaked |
//! | `cell.rs`, `borrow.rs` | cells whose accesses are checked for races |
//! | `nondet.rs` | choices and assumptions |
//! | `object.rs` | the words that all of these are made of |
//! | `places.rs` | where objects are, so that they are known in every execution |
//! | `blocks.rs` and the files below `blocks/`, `virtual_address.rs` | memory that threads allocate, and pointers to it |
//! | `freed.rs` | objects in blocks that are freed |
//! | `content.rs`, `once.rs` | what locks protect; what happens once |
//! | `reachable.rs` | what statics own at the end, which is no leak |
//! | `threads.rs` | numbers and names of threads |
//! | `runtime.rs`, `request.rs`, `shared.rs` | how an operation gets from the model's code to the machine |
//! | `machine.rs`, `machine/determinism.rs` | the machine that the engine drives; whether a model does the same again |
//! | `script.rs` | the steps of a run that is repeated |
//! | `spin.rs`, `restored.rs`, `rounds.rs`, `endless.rs`, `machine/awaits.rs`, `machine/relayed.rs`, `machine/handover.rs` | loops that wait for others |
//! | `update.rs`, `retry.rs`, `machine/retries.rs` | loops that try again |
//! | `lately.rs` | what was found lately of places where operations stand |
//! | `coroutine.rs`, `overflow.rs` | threads as coroutines on pooled stacks |
//! | `exit.rs` | threads that end the process |
//! | `watch.rs` | threads that run on and on without an operation |
//! | `replay.rs` | an execution, written down so that it can be run again |
//! | `report.rs`, `table.rs`, `text.rs`, `left_out.rs`, `progress.rs` | what went wrong, and what was left out, in words; how far it is |
//!
//! `actors`, for processes that pass messages, is a crate of its own: `crates/actors`.

pub mod alloc;
mod blocks;
mod borrow;
pub mod cell;
mod command;
mod content;
mod coroutine;
#[cfg(test)]
mod disturbed;
mod endless;
#[cfg(unix)]
mod exit;
mod freed;
pub mod future;
pub mod hint;
#[cfg(test)]
mod interrupted;
mod lately;
pub mod lazy_static;
mod left_out;
mod machine;
mod macros;
pub mod model;
mod nondet;
mod number;
mod object;
mod once;
mod overflow;
mod pass;
mod places;
mod progress;
mod reachable;
mod replay;
mod report;
mod request;
mod restored;
mod retry;
mod rounds;
mod runtime;
mod scope;
mod script;
mod shared;
mod spin;
pub mod sync;
mod table;
mod text;
pub mod thread;
mod thread_local;
mod threads;
mod update;
mod virtual_address;
mod watch;

/// Processes that pass messages.
#[doc(inline)]
pub use selvedge_actors as actors;

#[doc(inline)]
pub use model::{Builder, Engine, MemoryModel, Stats, model};
pub use nondet::{Choice, assume, nondet, nondet_bool};

/// How many threads a model may have.
pub const MAX_THREADS: usize = selvedge_machine::memory::MAX_THREADS;

/// Exploration goes on. It never stops, so this does nothing.
pub fn explore() {}

/// Does nothing: in loom, what comes next is not explored in all ways; here it is.
pub fn stop_exploring() {}

/// Does nothing: in loom, what comes next is not explored in all ways; here it is.
pub fn skip_branch() {}

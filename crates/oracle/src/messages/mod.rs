//! Processes that pass messages: random programs, and an enumerator that is naive, slow and obviously right.
//!
//! | file | owns |
//! |---|---|
//! | `program.rs` | small programs as data, and what makes one well-formed |
//! | `text.rs` | their text form: printer and parser |
//! | `actor.rs` | how they run: the front end that yields Ops |
//! | `event.rs` | who makes a step, and what it touches |
//! | `naive.rs`, `signals.rs` | what the Ops mean |
//! | `dependence.rs` | which steps depend on each other, and which executions are therefore equivalent |
//! | `enumerate.rs` | every interleaving, and the classes that they fall into |
//! | `generate.rs` | random programs |
//! | `shrink.rs` | the smallest program that still fails |
//! | `check.rs` | what an engine has to agree with the enumerator on |
//! | `fuzz.rs` | one random program after another |
//!
//! The meaning of Ops is written down here once more, apart from the engine's: only their vocabulary is shared with it
//! (`selvedge-messages`). Nothing here is about the programs' language but the first three files: any front end can be
//! enumerated.

pub mod actor;
pub mod check;
pub mod dependence;
pub mod enumerate;
pub mod event;
pub mod fuzz;
pub mod generate;
pub mod naive;
pub mod program;
pub mod shrink;
mod signals;
pub mod text;

pub use actor::ActorMachine;
pub use dependence::Equivalence;
pub use enumerate::{Class, Ending, Enumeration, TooLarge, classes, interleavings};
pub use event::Actor;
pub use naive::{Delivery, Naive};
pub use program::Program;

//! Erlang: real modules, run by an interpreter of Core Erlang whose processes yield the Ops of the message-passing
//! engine.
//!
//! | file | owns |
//! |---|---|
//! | `loader.rs` | from files and the installed OTP to Core Erlang |
//! | `etf.rs` | terms as bytes |
//! | `core.rs` | Core Erlang as a tree |
//! | `compile.rs`, `compile/` | from the tree to instructions |
//! | `code.rs` | the instructions |
//! | `system.rs` | all loaded code, and how a call finds it |
//! | `atom.rs`, `term.rs`, `order.rs`, `display.rs` | terms: what they are, their order, their text |
//! | `bits.rs`, `bit_syntax.rs` | bit strings, building and matching them |
//! | `process.rs` | the state of a process |
//! | `interp.rs` | the interpreter |
//! | `bif.rs`, `bif/` | native functions |
//! | `evaluate.rs` | one call, without other processes |
//! | `request.rs` | what a process asks of the engine |
//! | `table.rs`, `ets.rs`, `match_spec.rs` | ETS tables, what is done with them, match specifications |
//! | `shared.rs` | counters, atomics, persistent terms |
//! | `stores.rs` | which keys are written to as observed operations |
//! | `machine.rs` | processes as the engine sees them |
//! | `report.rs` | what went wrong, in words and source places |
//! | `entry.rs` | what is run: an option's text, or the functions that a module exports |

pub mod atom;
pub mod bif;
pub mod bit_syntax;
pub mod bits;
pub mod code;
pub mod compile;
pub mod core;
pub mod display;
pub mod entry;
pub mod etf;
pub mod ets;
pub mod evaluate;
pub mod interp;
pub mod loader;
pub mod machine;
pub mod match_spec;
pub mod order;
pub mod process;
pub mod report;
pub mod request;
pub mod shared;
pub mod stores;
pub mod system;
pub mod table;
pub mod term;

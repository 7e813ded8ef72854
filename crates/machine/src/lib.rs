//! Threads that yield an Op and wait for its outcome.
//!
//! | file | owns |
//! |---|---|
//! | `op.rs` | the vocabulary between threads and engines |
//! | `machine.rs` | the trait that an engine drives |
//! | `stop.rs` | violations, unsupported features, bounds |
//! | `memory.rs` | memory objects: bounds, liveness, initialisation, sharing, undo |
//! | `sc.rs` | the sequentially consistent meaning of every Op, with undo |
//! | `schedule.rs` | one execution, written down and run again |
//! | `weak.rs` | runs an execution of a weak memory model again |
//! | `verdict.rs` | what an engine reports |
//! | `session.rs` | what an exploration has found so far, and when it stops |
//! | `racing.rs` | data races, in words |
//! | `stuck.rs` | threads that wait forever, in words |
//! | `interp/` | the interpreter of `selvedge_ir` programs |

pub mod interp;
pub mod machine;
pub mod memory;
pub mod models;
pub mod op;
pub mod racing;
pub mod sc;
pub mod schedule;
pub mod session;
pub mod stop;
pub mod stuck;
pub mod verdict;
mod weak;

pub use interp::{InterpOptions, Interpreter, LoadError};
pub use machine::{Machine, Site, Status};
pub use memory::{Fault, Memory};
pub use op::{Access, AccessKind, Addr, Cond, Op, Outcome, Purpose, ThreadId, apply_rmw, main_thread, truncate};
pub use sc::{Done, Sc};
pub use stop::{Bound, BoundKind, SourceSpan, Stop, Unsupported, Violation, ViolationKind};

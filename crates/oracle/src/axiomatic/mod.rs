//! Every execution graph of a small program that a memory model allows.
//!
//! | file | owns |
//! |---|---|
//! | `graph.rs` | execution graphs: events, reads-from, coherence order |
//! | `relation.rs` | the algebra of relations over events |
//! | `execution.rs` | the relations of a graph |
//! | `models/` | the axioms of SC, TSO, RA and RC11, a file each |
//! | `enumerate.rs` | all consistent graphs of a program, event by event |
//! | `ending.rs` | how a maximal graph ends: complete or blocked, final state, errors |
//! | `key.rs` | names for graphs, to compare those of different explorers |
//! | `render.rs` | graphs as text |
//! | `generate.rs` | random programs that are small enough |
//!
//! Programs with accesses that overlap in part, with condition variables or with atomic sections are refused: these have
//! no meaning in the models.

pub mod ending;
pub mod enumerate;
pub mod execution;
pub mod generate;
pub mod graph;
pub mod key;
pub mod models;
pub mod relation;
pub mod render;

pub use ending::{Ending, Finish, Outcome};
pub use enumerate::{Blocking, Limits, Summary, TooLarge, enumerate};
pub use graph::{EventRef, Source};
pub use key::{Entry, GraphKey};
pub use models::{MODELS, Model};

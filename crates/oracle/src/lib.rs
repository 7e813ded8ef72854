//! What every engine is compared with: random small programs, and an enumerator that is naive, slow and obviously right.
//!
//! | file | owns |
//! |---|---|
//! | `litmus.rs` | small multi-threaded programs as data, and what makes one well-formed |
//! | `text.rs` | their text form: printer and parser |
//! | `machine.rs` | how they run: the front end that yields Ops |
//! | `dependence.rs` | which steps depend on each other, and which executions are therefore equivalent |
//! | `relaxation.rs` | coarser equivalences, in which conflicts that nobody notices order nothing |
//! | `race.rs` | which executions have a data race |
//! | `enumerate.rs` | every interleaving, and the classes that they fall into |
//! | `classes.rs` | the classes of larger programs |
//! | `generate.rs` | random programs |
//! | `shrink.rs` | the smallest program that still fails |
//! | `check.rs` | what an engine has to agree with the enumerator on |
//! | `lower.rs` | litmus programs in the program representation, to compare front ends |
//! | `trial.rs`, `fuzz.rs` | one random program after another |
//! | `axiomatic/` | every execution graph that a memory model allows |
//! | `tree.rs` | whether a safe result of the verifier is one, and a counterexample |
//! | `published.rs` | the same for what is published of it, with the turns that were added |
//! | `automata.rs` | every state of a program as the verifier sees it |
//! | `concrete.rs` | these states, and what terms mean in them |
//! | `messages/` | the same for processes that pass messages |
//!
//! Nothing here uses code of an engine: the only things shared with one are the vocabulary of Ops and their
//! sequentially consistent meaning (`selvedge-machine`), and of the verifier its data: automata, terms, trees.

pub mod automata;
pub mod axiomatic;
pub mod check;
pub mod classes;
pub mod concrete;
pub mod dependence;
pub mod enumerate;
pub mod fuzz;
pub mod generate;
pub mod litmus;
pub mod lower;
pub mod machine;
pub mod messages;
pub mod published;
pub mod race;
pub mod relaxation;
pub mod shrink;
pub mod text;
pub mod tree;
pub mod trial;

pub use classes::enumerate_classes;
pub use dependence::{ClassKey, Trace};
pub use enumerate::{Class, Ending, Enumeration, TooLarge, enumerate};
pub use litmus::{Expr, Inst, Place, Program, Reg, Test, Thread, Var, VarId};
pub use machine::LitmusMachine;
pub use published::check_published;
pub use tree::{check_counterexample, check_tree};

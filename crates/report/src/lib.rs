//! Verdicts and how they are shown.
//!
//! An engine hands over an `Exploration`: counts, violations with their schedules, and what was not covered. A schedule
//! that is run again gives a `Replay`: what every step read and wrote, and where each thread was left. This crate turns
//! the two into something that a person, a script or a graph viewer can read. It never decides anything about a program.
//!
//! | file | owns |
//! |---|---|
//! | `verdict.rs` | the answer to a question: what was asked, what was found, what was not covered |
//! | `words.rs` | one step of an execution in words: `x = 1`, `lock m`, `CAS head: 0 -> 3 ok` |
//! | `edges.rs` | which step comes before which, and why: reads-from, locks, spawn, join, signals |
//! | `weak.rs` | executions that no interleaving explains, and why |
//! | `fold.rs` | which steps of an execution matter for a violation |
//! | `interleaving.rs` | the rows of an execution, as a table with a column per thread or as a list |
//! | `waiting.rs` | what blocked threads wait for, and who holds it |
//! | `snippet.rs` | source places with their code |
//! | `terminal.rs` | the whole report for people |
//! | `events.rs` | the steps of an execution for scripts |
//! | `json.rs` | the report for scripts, which is also what `replay` reads |
//! | `dot.rs` | the graph of an execution |
//! | `style.rs` | the colours |

pub mod dot;
pub mod edges;
pub mod events;
pub mod fold;
pub mod interleaving;
pub mod json;
pub mod snippet;
pub mod style;
pub mod terminal;
pub mod verdict;
pub mod waiting;
pub mod weak;
pub mod words;

pub use json::{Document, ReadError};
pub use terminal::Layout;
pub use verdict::{Answer, Question, Shown, Verdict};

//! Impact for threads: verification of programs with unbounded loops and inputs, one schedule after the other.
//!
//! After P. Metzler, N. Suri, G. Weissenbacher, "Extracting Safe Thread Schedules from Incomplete Model Checking Results"
//! (SPIN 2019), which builds on B. Wachter, D. Kroening, J. Ouaknine, "Verifying Multi-threaded Software with Impact"
//! (FMCAD 2013). The verifier unwinds a program into an abstract reachability tree; a tree in which every node is covered or
//! has a thread that goes on safely is a scheduler under which no execution goes wrong, for any input.
//!
//! | file | owns |
//! |---|---|
//! | `term.rs`, `term/` | expressions over bit vectors and arrays, rewritten as they are built |
//! | `solver.rs`, `solver/` | whether formulas can hold together: rewriting, ranges, bits, SAT |
//! | `program.rs` | threads as control-flow automata |
//! | `build.rs`, `build/` | automata from the program representation |
//! | `art.rs` | abstract reachability trees |
//! | `verifier.rs` | the state of a verification |
//! | `iterate.rs` | algorithm 1: Main, Iteration, New_Schedule_Start |
//! | `close.rs` | algorithm 2: Close, with forced covering |
//! | `fairness.rs` | algorithm 2, line 11: the cycles that a covering closes |
//! | `enabledness.rs` | algorithm 2: Check_Enabledness, Backtrack |
//! | `expand.rs` | algorithms 2 and 5: Expand, Expand_Thread, Schedule_Thread, Skip |
//! | `refine.rs` | algorithm 5: Refine |
//! | `interpolant.rs` | interpolants by weakest preconditions and unsatisfiable cores |
//! | `remove_error_paths.rs` | algorithm 1, line 9: the part of a tree that is safe |
//! | `publish.rs` | the safe part as plain data, for `selvedge_schedule` |
//! | `open_turns.rs` | turns that other threads could take as well: from fair trees to trees that admit fairness |

pub mod art;
pub mod build;
mod close;
mod enabledness;
mod expand;
mod fairness;
mod interpolant;
pub mod iterate;
pub mod open_turns;
pub mod program;
pub mod publish;
mod refine;
pub mod remove_error_paths;
pub mod solver;
pub mod term;
pub mod verifier;

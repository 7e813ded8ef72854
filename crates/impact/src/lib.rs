//! Impact for threads.

pub mod art;
pub mod build;
mod close;
mod enabledness;
mod expand;
mod fairness;
mod interpolant;
pub mod iterate;
pub mod program;
mod refine;
pub mod remove_error_paths;
pub mod solver;
pub mod term;
pub mod verifier;

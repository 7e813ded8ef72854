//! The enumerator of execution graphs.

#[path = "weak/interleavings.rs"]
mod interleavings;

//! The enumerator of execution graphs.

#[path = "weak/axioms.rs"]
mod axioms;
#[path = "weak/families.rs"]
mod families;
#[path = "weak/interleavings.rs"]
mod interleavings;

//! The enumerator of execution graphs.

#[path = "weak/axioms.rs"]
mod axioms;
#[path = "weak/common.rs"]
mod common;
#[path = "weak/families.rs"]
mod families;
#[path = "weak/interleavings.rs"]
mod interleavings;
#[path = "weak/properties.rs"]
mod properties;

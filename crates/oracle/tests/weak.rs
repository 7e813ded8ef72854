//! The enumerator of execution graphs.

#[path = "weak/axioms.rs"]
mod axioms;
#[path = "weak/common.rs"]
mod common;
#[path = "weak/exhaustive.rs"]
mod exhaustive;
#[path = "weak/families.rs"]
mod families;
#[path = "weak/interleavings.rs"]
mod interleavings;
#[path = "weak/operational.rs"]
mod operational;
#[path = "weak/properties.rs"]
mod properties;
#[path = "weak/store_buffers.rs"]
mod store_buffers;
#[path = "weak/views.rs"]
mod views;

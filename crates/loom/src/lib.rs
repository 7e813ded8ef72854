//! The library `selvedge` under the name of loom.
//!
//! To run the loom tests of a crate under Selvedge, add to its `Cargo.toml`:
//!
//! ```toml
//! [patch.crates-io]
//! loom = { path = "path/to/selvedge/crates/loom" }
//! ```

pub use selvedge::*;

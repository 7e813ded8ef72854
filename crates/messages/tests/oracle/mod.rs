//! A naive oracle: all interleavings of random programs.

pub mod classes;
pub mod generate;
pub mod lang;

//! The graph engine compared with others: the axiomatic oracle, Optimal-DPOR, all interleavings.

mod common;
mod conditions;
mod families;
mod optimal_dpor;
mod oracle;
mod preemptions;
mod sizes;
mod tested;

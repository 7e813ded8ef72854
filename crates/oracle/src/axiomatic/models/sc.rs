//! Sequential consistency (Lamport 1979), as Shasha and Snir have it ("Efficient and correct execution of parallel
//! programs that share memory", 1988): `po`, `rf`, `co` and `fr` fit into one order of all events. Memory orders do not
//! matter.

use super::{Axiom, atomicity};
use crate::axiomatic::execution::Execution;

/// What sequentially consistent executions satisfy.
pub const AXIOMS: &[Axiom] = &[Axiom { name: "atomicity", holds: atomicity }, Axiom { name: "order", holds: order }];

/// `acyclic(po ∪ rf ∪ co ∪ fr)`.
fn order(x: &Execution) -> bool {
    (x.po | x.rf | x.co | x.fr).is_acyclic()
}

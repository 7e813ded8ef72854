//! Total store order as x86 has it, in the manner of Alglave, Maranget and Tautschnig ("Herding cats", TOPLAS 2014).
//!
//! Every load and store is a plain move, whatever its memory order; what memory orders and other constructs become:
//!
//! 1. a sequentially consistent fence is an `mfence`, and other fences are nothing;
//! 2. a read-modify-write or compare-and-exchange is a locked instruction, and thus a fence before and after it; even if
//!    it fails or, having to wait for a value, does not get on;
//! 3. a sequentially consistent store has an `mfence` behind it (the usual way to compile it), and a load has none;
//! 4. creating a thread and joining one are fences, too: the library and the system do both with locked instructions.

use super::{Axiom, atomicity};
use crate::axiomatic::execution::Execution;
use crate::axiomatic::graph::{Event, Kind};
use crate::axiomatic::relation::{Relation, Set};

/// What TSO executions satisfy.
pub const AXIOMS: &[Axiom] = &[
    Axiom { name: "atomicity", holds: atomicity },
    Axiom { name: "coherence", holds: coherence },
    Axiom { name: "global order", holds: global_order },
];

/// `acyclic(po-loc ∪ rf ∪ co ∪ fr)`: sequential consistency per location.
fn coherence(x: &Execution) -> bool {
    ((x.po & x.loc) | x.rf | x.co | x.fr).is_acyclic()
}

/// `acyclic(ppo ∪ fence ∪ rfe ∪ co ∪ fr)`.
fn global_order(x: &Execution) -> bool {
    let rfe = x.rf & x.ext;
    (ppo(x) | fence(x) | rfe | x.co | x.fr).is_acyclic()
}

/// Preserved program order: of accesses of a thread, all but a store before a load.
fn ppo(x: &Execution) -> Relation {
    let (accesses, own) = (x.reads | x.writes, x.po - x.ext);
    (own & Relation::product(accesses, accesses)) - Relation::product(x.writes, x.reads)
}

/// Program order around what acts as a fence (1, 2, 3, 4), and what creations and joins order between threads.
fn fence(x: &Execution) -> Relation {
    let both_sides = Relation::on((x.fences & x.seq_cst) | x.locked | creations_and_joins(x));
    let behind = Relation::on(x.writes & x.seq_cst);
    both_sides.seq(x.po) | x.po.seq(both_sides) | behind.seq(x.po)
}

fn creations_and_joins(x: &Execution) -> Set {
    let mut set = Set::new(x.nodes.len());
    for (n, node) in x.nodes.iter().enumerate() {
        if let Some((_, Event { kind: Kind::Spawn { .. } | Kind::Join { .. }, .. })) = node {
            set.insert(n);
        }
    }
    set
}

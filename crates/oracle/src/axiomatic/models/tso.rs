//! Total store order as x86 has it, in the manner of Alglave, Maranget and Tautschnig ("Herding cats", TOPLAS 2014).
//!
//! Every load and store is a plain move, whatever its memory order; what memory orders and other constructs become:
//!
//! 1. a sequentially consistent fence is an `mfence`, and other fences are nothing;
//! 2. a read-modify-write or compare-and-exchange is a locked instruction, and thus a fence before and after it; even if
//!    it fails or, having to wait for a value, does not get on;
//! 3. a sequentially consistent store has an `mfence` behind it (the usual way to compile it), and a load has none;
//! 4. the creation of a thread comes through the store buffer as a store does: what the creator did before it has been
//!    done for everybody when the thread starts, but the creator need not wait. A join is a read of what the thread did
//!    last: what comes after it sees all that the thread did, but stores of its own before it may be delayed.

use super::{Axiom, atomicity};
use crate::axiomatic::execution::Execution;
use crate::axiomatic::graph::Kind;
use crate::axiomatic::relation::{Relation, Set};

/// What TSO executions satisfy.
pub const AXIOMS: &[Axiom] = &[
    Axiom { name: "coherence", holds: coherence },
    Axiom { name: "atomicity", holds: atomicity },
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

/// Preserved program order: all but a store before a load. Creations count as stores and joins as loads (4); other
/// events that are neither pass nothing on. Between threads, program order is that of creations and joins.
fn ppo(x: &Execution) -> Relation {
    let (mut stores, mut loads) = (x.writes, x.reads);
    for (n, node) in x.nodes.iter().enumerate() {
        match node.map(|(_, event)| event.kind) {
            Some(Kind::Spawn { .. }) => stores.insert(n),
            Some(Kind::Join { .. }) => loads.insert(n),
            _ => {}
        }
    }
    let own = x.po - x.ext;
    let accesses = Relation::product(stores | loads, stores | loads);
    ((own & accesses) - Relation::product(stores, loads)) | between_threads(x)
}

/// From a creation to the events of the thread, and from these to a join of it.
fn between_threads(x: &Execution) -> Relation {
    let (mut spawns, mut joins) = (Set::default(), Set::default());
    for (n, node) in x.nodes.iter().enumerate() {
        match node.map(|(_, event)| event.kind) {
            Some(Kind::Spawn { .. }) => spawns.insert(n),
            Some(Kind::Join { .. }) => joins.insert(n),
            _ => {}
        }
    }
    x.po & x.ext & (Relation::product(spawns, everything(x)) | Relation::product(everything(x), joins))
}

fn everything(x: &Execution) -> Set {
    let mut all = Set::default();
    (0..x.nodes.len()).for_each(|n| all.insert(n));
    all
}

/// Program order around what acts as a fence: 1, 2, 3.
fn fence(x: &Execution) -> Relation {
    let own = x.po - x.ext;
    let both_sides = Relation::on((x.fences & x.seq_cst) | x.locked);
    let behind = Relation::on(x.writes & x.seq_cst);
    both_sides.seq(own) | own.seq(both_sides) | behind.seq(own)
}

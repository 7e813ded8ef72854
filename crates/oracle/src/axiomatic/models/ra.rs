//! Release and acquire: RC11 in which every atomic read acquires, every atomic write releases, and no access is
//! sequentially consistent. Sequentially consistent fences remain, with `psc_F` (`psc_base` adds nothing if only fences
//! are sequentially consistent, since `[Fsc] ; hb ; (mo ∪ rb) ; hb ; [Fsc]` is a part of `psc_F` and the rest of it is
//! a part of `hb`).

use super::rc11::{self, eco, hb, psc_f};
use super::{Axiom, atomicity};
use crate::axiomatic::execution::Execution;

/// What executions of the model satisfy.
pub const AXIOMS: &[Axiom] = &[
    Axiom { name: "atomicity", holds: atomicity },
    Axiom { name: "coherence", holds: coherence },
    Axiom { name: "sc fences", holds: sc_fences },
    Axiom { name: "no thin air", holds: rc11::no_thin_air },
];

/// The execution with the orders that the model gives to accesses.
fn strengthened(x: &Execution) -> Execution {
    Execution { acquire: x.acquire | (x.atomic & x.reads), release: x.release | (x.atomic & x.writes), ..x.clone() }
}

fn coherence(x: &Execution) -> bool {
    rc11::coherence(&strengthened(x))
}

/// `acyclic(psc_F)`.
fn sc_fences(x: &Execution) -> bool {
    if (x.fences & x.seq_cst).is_empty() {
        return true;
    }
    let x = strengthened(x);
    psc_f(&x, hb(&x), eco(&x)).is_acyclic()
}

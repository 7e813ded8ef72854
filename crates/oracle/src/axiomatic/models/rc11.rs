//! RC11: Lahav, Vafeiadis, Kang, Hur, Dreyer, "Repairing sequential consistency in C/C++11", PLDI 2017, Sec. 3 (Def. 1).
//!
//! | in the paper | here |
//! |---|---|
//! | `sb`, `mo`, `rb` | `po`, `co`, `fr` |
//! | `rs`, `sw`, `hb`, `eco`, `scb`, `psc_base`, `psc_F` | functions of these names |
//!
//! Deviations:
//! 1. Release sequences are those of C++20: a store of the same thread does not continue one. The paper has
//!    `rs = [W] ; sb|loc? ; [W⊒rlx] ; (rf ; rmw)*`.
//! 2. The paper's programs are a fixed number of threads. Here creations and joins are part of `po`: they synchronise,
//!    and they order sequentially consistent accesses as `sb` does. But a fence makes up for the order of accesses of its
//!    own thread only, so in `sw` there is the `sb` of single threads.

use super::{Axiom, atomicity};
use crate::axiomatic::execution::Execution;
use crate::axiomatic::relation::Relation;

/// What RC11 executions satisfy.
pub const AXIOMS: &[Axiom] = &[
    Axiom { name: "atomicity", holds: atomicity },
    Axiom { name: "coherence", holds: coherence },
    Axiom { name: "sc", holds: sc },
    Axiom { name: "no thin air", holds: no_thin_air },
];

/// COHERENCE: `irreflexive(hb ; eco?)`.
pub(super) fn coherence(x: &Execution) -> bool {
    hb(x).seq(eco(x).opt()).is_irreflexive()
}

/// SC: `acyclic(psc_base ∪ psc_F)`.
fn sc(x: &Execution) -> bool {
    if x.seq_cst.is_empty() {
        return true;
    }
    let (hb, eco) = (hb(x), eco(x));
    (psc_base(x, hb) | psc_f(x, hb, eco)).is_acyclic()
}

/// NO-THIN-AIR: `acyclic(sb ∪ rf)`.
pub(super) fn no_thin_air(x: &Execution) -> bool {
    (x.po | x.rf).is_acyclic()
}

/// Release sequence: `rs = [W⊒rlx] ; (rf ; rmw)*`.
fn rs(x: &Execution) -> Relation {
    Relation::on(x.writes & x.atomic).seq(x.rf.seq(x.rmw).star())
}

/// Synchronises-with: `sw = [E⊒rel] ; ([F] ; sb)? ; rs ; rf ; [R⊒rlx] ; (sb ; [F])? ; [E⊒acq]`.
fn sw(x: &Execution) -> Relation {
    let (f, sb) = (Relation::on(x.fences), x.po - x.ext);
    Relation::on(x.release)
        .seq(f.seq(sb).opt())
        .seq(rs(x))
        .seq(x.rf)
        .seq(Relation::on(x.reads & x.atomic))
        .seq(sb.seq(f).opt())
        .seq(Relation::on(x.acquire))
}

/// Happens-before: `hb = (sb ∪ sw)+`.
pub fn hb(x: &Execution) -> Relation {
    (x.po | sw(x)).plus()
}

/// Extended coherence order: `eco = (rf ∪ mo ∪ rb)+`.
pub(super) fn eco(x: &Execution) -> Relation {
    (x.rf | x.co | x.fr).plus()
}

/// SC-before: `scb = sb ∪ sb|≠loc ; hb ; sb|≠loc ∪ hb|loc ∪ mo ∪ rb`.
fn scb(x: &Execution, hb: Relation) -> Relation {
    let elsewhere = x.po - x.loc;
    x.po | elsewhere.seq(hb).seq(elsewhere) | (hb & x.loc) | x.co | x.fr
}

/// `psc_base = ([Esc] ∪ [Fsc] ; hb?) ; scb ; ([Esc] ∪ hb? ; [Fsc])`.
fn psc_base(x: &Execution, hb: Relation) -> Relation {
    let (e, f) = (Relation::on(x.seq_cst), Relation::on(x.fences & x.seq_cst));
    (e | f.seq(hb.opt())).seq(scb(x, hb)).seq(e | hb.opt().seq(f))
}

/// `psc_F = [Fsc] ; (hb ∪ hb ; eco ; hb) ; [Fsc]`.
pub(super) fn psc_f(x: &Execution, hb: Relation, eco: Relation) -> Relation {
    let f = Relation::on(x.fences & x.seq_cst);
    f.seq(hb | hb.seq(eco).seq(hb)).seq(f)
}

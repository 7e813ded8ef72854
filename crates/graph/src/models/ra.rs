//! Release/acquire: RC11 in which every read acquires and every write releases, so that hb = (po ∪ rf)+, and
//! `seq_cst` accesses are no more than that. Plain accesses are treated alike: only a program with a data race, which is
//! reported, could tell.
//!
//! - coherence: irreflexive(hb ; eco?)
//! - atomicity of read-modify-writes
//! - acyclic(psc_F) for `seq_cst` fences

use super::psc::{self, Strength};
use super::{Model, Scratch, coherent_from};
use crate::clocks::PORF;
use crate::event::EventId;
use crate::graph::Graph;

/// Release/acquire.
pub struct Ra;

impl Model for Ra {
    fn lower_bound(graph: &Graph, e: EventId, _: &mut Scratch) -> u32 {
        coherent_from(graph, e, PORF)
    }

    fn consistent(graph: &Graph, changed: &[EventId], scratch: &mut Scratch) -> bool {
        psc::is_acyclic(graph, PORF, Strength::Fences, changed, scratch)
    }
}

//! RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer 2017), with the release sequences of C++20.
//!
//! - coherence: irreflexive(hb ; eco?)
//! - atomicity of read-modify-writes
//! - SC: acyclic(psc_base ∪ psc_F)
//! - no thin air: acyclic(po ∪ rf)

use super::psc::{self, Strength};
use super::{Model, Scratch, coherent_from};
use crate::clocks::HB;
use crate::event::EventId;
use crate::graph::Graph;

/// RC11.
pub struct Rc11;

impl Model for Rc11 {
    #[inline]
    fn lower_bound(graph: &Graph, e: EventId, _: &mut Scratch) -> u32 {
        coherent_from(graph, e, HB)
    }

    fn consistent(graph: &Graph, changed: &[EventId], scratch: &mut Scratch) -> bool {
        psc::is_acyclic(graph, HB, Strength::All, changed, scratch)
    }
}

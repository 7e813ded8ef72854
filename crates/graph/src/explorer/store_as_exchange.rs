//! Stores as exchanges (section 7).
//!
//! In-place revisits need the writes of a location to be ordered by program order and reads-from. "This restriction is
//! trivially satisfied for models like SC or TSO: in such models, it is sound to transform writes to atomic exchange
//! statements", because program order, reads-from and coherence together have no cycle there. So a store to a location
//! that is awaited, and whose writes have turned out not to be ordered, gets a *phantom* read in front of it: an exclusive
//! read of the write that the store overwrites.
//!
//! A phantom read takes part in what the exploration does with reads: it is in PORF, later writes revisit it, and
//! two of them do not read from the same write. To the program it does not exist: it does not synchronise, it is no fence
//! under TSO, it is in no axiom, and it races with nothing. What it reads from is the write before its own in coherence
//! order. So two full graphs that differ in what phantom reads read from differ in coherence order as well, and there are
//! as many as without phantom reads.
//!
//! The lower bound of a phantom read is that of its write: it may read from any write that the store may be placed behind.

use super::Explorer;
use crate::event::LocId;
use crate::models::Model;
use crate::request::Request;
use selvedge_ir::EntityRef;
use selvedge_machine::Machine;

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// Whether a store to a location counts as an exchange.
    pub(super) fn is_exchange(&self, request: &Request, loc: LocId) -> bool {
        let exchanges = self.options.reductions.in_place && self.habits[loc.index()].stores_as_exchanges();
        exchanges && request.part.is_none()
    }

    /// Notes that a write is not ordered after the coherence-last one by program order and reads-from (line 21). A store to
    /// several granules, which is plain, does not become several exchanges: it has a data race.
    pub(super) fn note_unordered(&mut self, loc: LocId, request: &Request) {
        if self.schedules.is_some() {
            return self.note_unordered_in_run(loc);
        }
        self.note(loc, |habits| match Mo::STORES_AS_EXCHANGES && request.part.is_none() {
            true => habits.racing = true,
            false => habits.unordered = true,
        });
    }
}

//! Accesses of different sizes to the same bytes.
//!
//! A location is some bytes that are always accessed together. Where accesses of different sizes overlap, and all but
//! those that coincide with a location are plain, the bytes are cut into *granules*: locations that no access crosses the
//! border of. A plain access to several granules becomes one event for each of them, in the order of addresses; a read
//! has its value when it has read all of them, and only the last event is executed. `memset`, the copy of a struct, and a
//! union that is written as one member and read as another are such accesses.
//!
//! That is right under all models, because plain accesses have a meaning only if they do not race. The granules of a
//! plain access come next to each other in program order, so that an event of another thread happens before all of them
//! or none, and after all of them or none. Hence every granule has one write that happens before the access and after all
//! other writes that do, and it is the only one that can be read without a race; and each granule is looked at for races.
//!
//! If races are not looked for, a program in which such an access has one is refused.
//!
//! Atomic accesses, and those that wait, are never cut: they would have to be performed at once. If one of them does not
//! coincide with a location, the program is refused at the access that shows it.
//!
//! What accesses a program makes is found out while it is explored. If a location has to be cut, the exploration starts
//! again; bytes that nothing has accessed yet are just taken as they come.

use super::Explorer;
use crate::event::{EventId, LocId};
use crate::models::Model;
use crate::request::{Part, Request};
use selvedge_ir::EntityRef;
use selvedge_machine::{Access, Addr, Machine, Stop, ThreadId, Unsupported};
use smallvec::SmallVec;

/// The bytes of a location: where it is, and its size.
pub type Place = (Addr, u8);

/// So many locations are looked at one by one.
const FEW: usize = 32;

/// What a thread accesses next.
pub(super) enum Located {
    /// One location.
    Whole(LocId),
    /// One of several granules.
    Part(LocId, Request),
    /// A location had to be cut: the exploration starts again.
    Cut,
}

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// The location that an access is to, or the next one if it is to several.
    #[inline]
    pub(super) fn locate(&mut self, thread: ThreadId, request: &Request) -> Result<Located, Stop> {
        let access = &request.access;
        let found = self.locations.get(access.addr);
        match found.filter(|&loc| self.runner.place(loc).1 == access.size) {
            Some(loc) => {
                self.habits[loc.index()].whole |= !request.can_be_cut();
                Ok(Located::Whole(loc))
            }
            None => self.locate_granules(thread, request),
        }
    }

    /// The same if there is no location yet with just these bytes.
    #[inline(never)]
    fn locate_granules(&mut self, thread: ThreadId, request: &Request) -> Result<Located, Stop> {
        let access = &request.access;
        if self.overlapping((access.addr, access.size)).is_empty() {
            let loc = self.new_location((access.addr, access.size));
            self.habits[loc.index()].whole |= !request.can_be_cut();
            return Ok(Located::Whole(loc));
        }
        if !self.cut(request) {
            return Err(self.mixed(thread));
        }
        if self.restart {
            return Ok(Located::Cut);
        }
        let before = self.graph().parts_done(thread);
        let mut parts = self.parts(access).skip(usize::from(before));
        let part = parts.next().expect("an access has as many parts as it had when it was begun");
        let more = parts.next().is_some();
        let request = request.part(self.runner.place(part), Part { before, more });
        Ok(Located::Part(part, request))
    }

    /// The access that an event belongs to, or the part of it.
    pub(super) fn request_of(&self, e: EventId) -> Request {
        let event = self.graph().event(e);
        let request = self.pending_request(event.thread);
        match event.part {
            Some(part) => request.part(self.runner.place(event.loc), part),
            None => request,
        }
    }

    /// The locations that have bytes in common with some bytes, in the order of addresses.
    fn overlapping(&self, (addr, size): Place) -> SmallVec<[LocId; 8]> {
        // Most often there are few, and all are elsewhere. (Those that were cut are in the list, too.)
        let is_elsewhere = |&place: &Place| end(place) <= addr.0 || place.0.0 >= end((addr, size));
        if self.runner.places.len() <= FEW && self.runner.places.iter().all(is_elsewhere) {
            return SmallVec::new();
        }
        let near = (addr.0.saturating_sub(7)..addr.0 + u64::from(size)).map(Addr);
        let locations = near.filter_map(|at| self.locations.get(at));
        locations.filter(|&loc| end(self.runner.place(loc)) > addr.0).collect()
    }

    /// Makes an access one to whole locations: cuts those that it has a part of, and takes up bytes that nothing has
    /// accessed yet. False if that cannot be done.
    fn cut(&mut self, request: &Request) -> bool {
        let place = (request.access.addr, request.access.size);
        let known = self.overlapping(place);
        let crosses = |loc: &LocId| {
            let (at, size) = self.runner.place(*loc);
            at < place.0 || end((at, size)) > end(place)
        };
        let crossed: SmallVec<[LocId; 8]> = known.iter().copied().filter(crosses).collect();
        if crossed.iter().any(|loc| self.habits[loc.index()].whole) {
            return false;
        }
        let within = |loc: LocId| {
            let (at, size) = self.runner.place(loc);
            at <= place.0 && end((at, size)) >= end(place)
        };
        if !request.can_be_cut() && !known.iter().all(|&loc| within(loc)) {
            return false;
        }
        for loc in crossed {
            let (at, size) = self.runner.place(loc);
            self.locations.remove(at);
            let borders = [at.0, place.0.0.max(at.0), end(place).min(end((at, size))), end((at, size))];
            for ends in borders.windows(2).filter(|ends| ends[0] < ends[1]) {
                self.new_location((Addr(ends[0]), (ends[1] - ends[0]) as u8));
            }
            self.restart = true;
        }
        let mut at = place.0.0;
        for loc in self.overlapping(place) {
            let (start, size) = self.runner.place(loc);
            if at < start.0 {
                self.new_location((Addr(at), (start.0 - at) as u8));
            }
            at = end((start, size));
        }
        if at < end(place) {
            self.new_location((Addr(at), (end(place) - at) as u8));
        }
        true
    }

    /// The locations of an access that has been cut, in the order of addresses.
    fn parts(&self, access: &Access) -> impl Iterator<Item = LocId> {
        let mut at = access.addr.0;
        let end_of_access = end((access.addr, access.size));
        std::iter::from_fn(move || {
            let loc = self.locations.get(Addr(at)).filter(|_| at < end_of_access)?;
            at = end(self.runner.place(loc));
            Some(loc)
        })
    }

    fn new_location(&mut self, place: Place) -> LocId {
        let loc = LocId::new(self.runner.places.len());
        self.runner.places.push(place);
        self.habits.push(self.crew.map_or_else(Default::default, |crew| crew.habits(place)));
        self.locations.insert(place.0, loc);
        self.speculation |= self.habits[loc.index()].speculative && self.habits[loc.index()].speculates();
        loc
    }

    /// The location at these bytes; none if they were cut in another way here.
    pub(super) fn known_location(&mut self, place: Place) -> Option<LocId> {
        match self.overlapping(place)[..] {
            [] => Some(self.new_location(place)),
            [loc] => (self.runner.place(loc) == place).then_some(loc),
            _ => None,
        }
    }

    /// Accesses of different sizes cannot be cut to fit.
    pub(super) fn mixed(&self, thread: ThreadId) -> Stop {
        let site = self.runner.machine.site(thread);
        let object = if site.object.is_empty() { "the same memory".to_owned() } else { site.object };
        let how = if self.options.limits.data_races { "some of them atomic" } else { "without looking for data races" };
        let feature = format!(
            "accesses of different sizes to {object}, {how}, under the graph engine \
             (`--engine trace` can run them, under sequential consistency)"
        );
        Stop::Unsupported(Box::new(Unsupported { feature, place: site.span }))
    }
}

/// Where bytes end.
fn end((addr, size): Place) -> u64 {
    addr.0 + u64::from(size)
}

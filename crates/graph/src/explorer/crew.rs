//! Work that is given to other workers and taken from them (`parallel.rs`).

use super::granules::Place;
use super::{Explorer, Frame, Habits};
use crate::models::Model;
use crate::parallel::{Crew, Parcel, same_threads, translation};
use rustc_hash::FxHashMap;
use selvedge_ir::EntityRef;
use selvedge_machine::session::Over;
use selvedge_machine::{Machine, ThreadId};

impl<'a, M: Machine, Mo: Model> Explorer<'a, '_, '_, M, Mo> {
    /// Explores together with others.
    pub(crate) fn join_crew(&mut self, crew: &'a Crew) {
        self.crew = Some(crew);
        // Memory is cut into locations as it was when all this became known.
        for place in crew.places() {
            self.known_location(place);
        }
    }

    /// Gives the oldest entry of the oldest graph away, unless it is the only one left.
    pub(super) fn give_work_away(&mut self) {
        let Some(crew) = self.crew else { return };
        if self.frames.iter().map(|frame| frame.todo.len()).sum::<usize>() < 2 {
            return;
        }
        let Some(oldest) = self.frames.iter_mut().find(|frame| !frame.todo.is_empty()) else { return };
        let todo = vec![oldest.todo.remove(0)];
        let frame = Frame { graph: oldest.graph.clone(), todo };
        let machine = &self.runner.machine;
        let threads = (0..machine.thread_limit()).map(|n| machine.thread_path(ThreadId::new(n))).collect();
        crew.give(Parcel { frame, places: self.runner.places.clone(), habits: self.habits.clone(), threads });
    }

    /// Takes work on; false if its threads have other numbers here.
    pub(crate) fn adopt(&mut self, parcel: Parcel) -> bool {
        let Parcel { mut frame, places, habits, threads } = parcel;
        if !same_threads(&mut self.runner.machine, &threads) {
            return false;
        }
        let Some(names) = translation(&places, |place| self.known_location(place)) else {
            // Memory is cut in another way there: both have to know of it.
            self.restart = true;
            return true;
        };
        for (name, habits) in names.iter().zip(habits) {
            self.note(*name, |own| own.merge(habits));
        }
        if names.iter().enumerate().any(|(n, name)| name.index() != n) {
            frame.graph.rename_locations(&names);
        }
        self.spare.append(&mut self.frames);
        self.runner.switch(&frame.graph);
        self.frames.push(frame);
        true
    }

    /// Everybody stops, and starts again with more knowledge.
    pub(super) fn crew_starts_again(&mut self) -> Result<(), Over> {
        if let Some(crew) = self.crew {
            crew.start_again();
        }
        Err(Over)
    }

    /// Explores alone until so many graphs have been visited since the last start: what is known of locations then, or
    /// nothing if it has come to an end.
    pub(crate) fn run_for(&mut self, graphs: u64) -> Option<FxHashMap<Place, Habits>> {
        self.budget = Some(graphs);
        // An early end is noted in the result.
        let _ = self.run();
        let graphs = self.session.result.complete + self.session.result.blocked;
        // Whether a composite await is put off shows only when all else has been explored: that is for one worker.
        let stopped = self.budget.is_some_and(|budget| graphs >= budget) && self.composites.is_empty();
        stopped.then(|| self.known_habits().collect())
    }

    /// What is known of locations that have not been cut.
    pub(crate) fn known_habits(&self) -> impl Iterator<Item = (Place, Habits)> {
        let all = self.runner.places.iter().zip(&self.habits).enumerate();
        let is_there = |place: &Place, n: usize| self.locations.get(&place.0).is_some_and(|loc| loc.index() == n);
        all.filter(move |&(n, (place, _))| is_there(place, n)).map(|(_, (&place, &habits))| (place, habits))
    }
}

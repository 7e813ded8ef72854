//! Work that is given to other workers and taken from them (`parallel.rs`).

use super::composite::Open;
use super::granules::Place;
use super::{Explorer, Frame, Habits, Storage, Todo};
use crate::event::{EventId, LocId};
use crate::joint::{Findings, Rest};
use crate::models::Model;
use crate::parallel::{Crew, Knowledge, Parcel, Stretch, ends_all, same_threads, translation};
use crate::rank::Rank;
use selvedge_ir::EntityRef;
use selvedge_machine::session::Over;
use selvedge_machine::verdict::{Exploration, Interruption};
use selvedge_machine::{Machine, ThreadId};
use std::sync::Arc;

/// What a worker knows of its place in the whole.
#[derive(Default)]
pub(super) struct Post {
    /// What it explores now.
    rank: Rank,
    /// What it has explored without interruption ends with that, and begins with this.
    first: Option<Rank>,
    /// What it has explored before.
    stretches: Vec<Stretch>,
    /// How many of the turns that are being explored were taken by others.
    held: usize,
    /// The rest of its work is void.
    void: bool,
    /// Complete and blocked executions that the others have not been told of.
    untold: [u64; 2],
}

impl<'a, M: Machine, Mo: Model> Explorer<'a, '_, '_, M, Mo> {
    /// Explores together with others.
    pub(crate) fn join_crew(&mut self, crew: &'a Crew) {
        self.crew = Some(crew);
        if let Some(attempts) = crew.attempts() {
            self.composites.learn(attempts);
        }
        // Memory is cut into locations as it was when all this became known.
        for place in crew.places() {
            self.known_location(place);
        }
    }

    /// Explores everything, together with others. Whether there may be more to do.
    pub(crate) fn begin(&mut self) -> bool {
        self.post.first = Some(Rank::default());
        let end = self.run();
        self.finish(end)
    }

    /// Explores alone until so many graphs have been visited since the last start; then tells the others what is known.
    /// False if it has come to an end before.
    pub(crate) fn begin_alone(&mut self, crew: &'a Crew, graphs: u64) -> bool {
        self.post.first = Some(Rank::default());
        if !self.run_for(graphs) {
            self.end_stretch();
            return false;
        }
        self.budget = None;
        let known = Knowledge { habits: self.known_habits().collect(), attempts: self.composites.known() };
        crew.tell(known, [self.session.result.complete, self.session.result.blocked]);
        self.crew = Some(crew);
        true
    }

    /// Explores what is left when it has been alone. Whether there may be more to do.
    pub(crate) fn go_on_with_others(&mut self) -> bool {
        let end = self.go_on();
        self.finish(end)
    }

    /// Explores what it was given. Whether there may be more to do.
    pub(crate) fn go_on_with_parcel(&mut self) -> bool {
        let end = self.go_on();
        self.finish(end)
    }

    /// The end: what was explored.
    pub(crate) fn into_stretches(self) -> Vec<Stretch> {
        self.post.stretches
    }

    /// Has come to the end of some work.
    fn finish(&mut self, end: Result<(), Over>) -> bool {
        let Some(crew) = self.crew else { return false };
        let found = self.end_stretch();
        if end.is_ok() {
            if !self.post.void {
                self.leave_turns(crew);
            }
            return true;
        }
        if found {
            crew.found(&self.post.rank);
        }
        found
    }

    /// What comes next would not come next if one worker did all. Whether something was found that ends everything.
    fn end_stretch(&mut self) -> bool {
        let first = self.post.first.take().unwrap_or_else(|| self.post.rank.clone());
        let result = self.session.take();
        let ends = ends_all(&result);
        if result == (Exploration { steps: result.steps, ..Exploration::default() }) {
            self.session.result.steps = result.steps;
        } else {
            self.post.stretches.push(Stretch { first, result });
        }
        ends
    }

    /// Looks at an entry that was taken from the list: whether it is for this worker to explore. It is not if it was given
    /// away, or if one worker alone would not have come to it.
    #[inline]
    pub(super) fn is_wanted(&mut self, entry: &Todo) -> bool {
        let Some(crew) = self.crew else { return true };
        if matches!(entry, Todo::Given) {
            self.end_stretch();
            return false;
        }
        let height = self.frames.iter().map(|frame| frame.todo.len()).sum();
        self.post.rank.take(height);
        if self.post.first.is_none() {
            self.post.first = Some(self.post.rank.clone());
        }
        if crew.is_void(&self.post.rank) {
            self.post.void = true;
            self.frames.iter_mut().for_each(|frame| frame.todo.clear());
            return false;
        }
        true
    }

    /// Counts an execution for all workers. What all workers write to slows them down, so it is done seldom unless
    /// somebody has to stop in time. False if there are more than are wanted.
    pub(super) fn count(&mut self, crew: &Crew, blocked: bool) -> Result<bool, Over> {
        let limit = self.options.limits.max_executions;
        self.post.untold[usize::from(blocked)] += 1;
        let untold = self.post.untold[0] + self.post.untold[1];
        if limit.is_none() && untold < 128 {
            return Ok(true);
        }
        let all = crew.count(std::mem::take(&mut self.post.untold));
        match limit {
            Some(limit) if all > limit => self.session.interrupted(Interruption::MaxExecutions).map(|()| false),
            Some(limit) => Ok(all < limit),
            None => Ok(true),
        }
    }

    /// Gives the oldest entry of the oldest graph away, unless it is the only one left. Turns are not given away: what they
    /// need to know only comes out when all that lies above them has been explored.
    pub(super) fn give_work_away(&mut self) {
        let Some(crew) = self.crew else { return };
        let can_be_given = |entry: &&Todo| !matches!(entry, Todo::Given | Todo::Later { .. } | Todo::Wait { .. });
        if self.frames.iter().flat_map(|frame| &frame.todo).filter(can_be_given).nth(1).is_none() {
            return;
        }
        let is_turn = |entry: &&Todo| matches!(entry, Todo::Later { .. } | Todo::Wait { .. });
        let (mut height, mut around) = (0, self.post.held);
        for n in 0..self.frames.len() {
            let todo = &self.frames.at(n).todo;
            let at = todo.iter().position(|entry| can_be_given(&entry));
            let below = &todo[..at.unwrap_or(todo.len())];
            height += below.len();
            around += below.iter().filter(is_turn).count();
            if let Some(at) = at {
                let entry = std::mem::replace(&mut self.frames.at(n).todo[at], Todo::Given);
                let parcel = self.parcel(n, entry, (around, None), self.post.rank.of(height));
                crew.give(parcel);
                return;
            }
        }
    }

    /// An entry of one of the graphs, with what another worker has to know to explore it: so many turns are being explored
    /// around it.
    fn parcel(&mut self, frame: usize, entry: Todo, (around, rest): (usize, Option<Rest>), rank: Rank) -> Parcel {
        let mut graph = self.frames.at(frame).graph.clone();
        // Attempts that were put off, from the oldest on.
        let hopes = graph.put_off().map(|&mut number| self.composites.put_off.get(number)).collect();
        let hold = |open: &mut Open| open.joint.get_or_insert_with(crate::joint::Joint::held_by_one).hold();
        let turns = self.composites.turns[..around].iter_mut().map(hold).collect();
        let machine = &self.runner.machine;
        Parcel {
            frame: Frame { graph, todo: vec![entry], common: 0 },
            places: self.runner.places.clone(),
            habits: self.habits.clone(),
            threads: paths_of_threads(machine),
            footprints: self.composites.footprints().to_vec(),
            hopes,
            turns,
            rest,
            rank: rank.given(),
        }
    }

    /// Takes work on; false if its threads have other numbers here.
    pub(crate) fn adopt(&mut self, parcel: Parcel) -> bool {
        let Parcel { mut frame, places, habits, threads, footprints, hopes, turns, rest, rank } = parcel;
        if !same_threads(&mut self.runner.machine, &threads) {
            return false;
        }
        self.frames.move_to(&mut self.spare);
        // Every parcel brings memory for a graph.
        self.spare.truncate(Storage::FRAMES);
        self.composites.forget_turns();
        self.post.void = false;
        self.post.rank = rank;
        self.post.held = turns.len();
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
        let footprints = footprints.iter().map(|set| set.iter().map(|loc| names[loc.index()]).collect());
        let numbers: Vec<u64> = footprints.map(|set| self.composites.number(set)).collect();
        frame.graph.renumber_turns(&numbers);
        for (number, hope) in frame.graph.put_off().zip(hopes) {
            *number = hope.map_or(0, |hope| self.composites.put_off.adopt(hope));
        }
        self.composites.turns.extend(turns.into_iter().map(|joint| Open { joint: Some(joint), ..Open::default() }));
        if let Some(Rest { joint, path }) = rest {
            let Some(open) = self.known_turn(joint.findings(), path) else { return true };
            self.composites.turns.push(open);
        }
        self.runner.switch(&frame.graph);
        self.frames.push(frame);
        true
    }

    /// All that this worker was given is explored: turns around it may come to their rest.
    fn leave_turns(&mut self, crew: &Crew) {
        debug_assert_eq!(self.composites.turns.len(), self.post.held, "turns of one's own have been closed");
        for open in std::mem::take(&mut self.composites.turns) {
            let findings = self.findings(&open);
            let rest = open.joint.as_ref().and_then(|joint| joint.leave(findings));
            rest.into_iter().for_each(|parcel| crew.give(*parcel));
        }
    }

    /// A turn comes to its rest: what is known of it, unless others still explore a part of what follows from it. Then the
    /// rest is left to the last of them.
    pub(super) fn close_turn(&mut self, turn: EventId, entry: Todo) -> Option<Open> {
        let open = self.composites.turns.pop().expect("turns are taken from the list in order");
        let Some(joint) = open.joint.clone() else { return Some(open) };
        let (findings, path) = (self.findings(&open), open.path);
        let rest = Rest { joint: Arc::clone(&joint), path: path.clone() };
        let around = self.composites.turns.len();
        let known = joint.close(findings, || {
            self.cut_behind(turn);
            self.parcel(self.frames.len() - 1, entry, (around, Some(rest)), self.post.rank.clone())
        });
        match known {
            Some(findings) => self.known_turn(findings, path),
            None => {
                self.end_stretch();
                None
            }
        }
    }

    fn findings(&self, open: &Open) -> Findings {
        let places = |set: &[LocId]| set.iter().map(|&loc| self.runner.place(loc)).collect();
        let ways = open.ways.renamed(|loc| Some(self.runner.place(loc))).expect("all locations have places");
        let threads = paths_of_threads(&self.runner.machine);
        Findings { threads, footprint: places(&open.footprint), news: places(&open.news), ways }
    }

    /// A turn that all workers together know.
    fn known_turn(&mut self, mut findings: Findings, path: Vec<selvedge_machine::Addr>) -> Option<Open> {
        if !same_threads(&mut self.runner.machine, &findings.threads) {
            findings.ways.give_up();
        }
        let mut located = |places: &[Place]| translation(places, |place| self.known_location(place));
        let known = located(&findings.footprint).zip(located(&findings.news));
        let ways = findings.ways.renamed(|place| self.known_location(place));
        // Otherwise memory is cut in another way elsewhere.
        self.restart |= known.is_none() || ways.is_none();
        known.zip(ways).map(|((footprint, news), ways)| Open { footprint, news, ways, path, joint: None })
    }

    /// Everybody stops, and starts again with more knowledge.
    pub(super) fn crew_starts_again(&mut self) -> Result<(), Over> {
        if let Some(crew) = self.crew {
            crew.start_again();
        }
        Err(Over)
    }

    /// Explores alone until so many graphs have been visited since the last start. False if it has come to an end before.
    pub(crate) fn run_for(&mut self, graphs: u64) -> bool {
        self.budget = Some(graphs);
        // An early end is noted in the result.
        let end = self.run();
        end.is_err() && self.session.result.interruption.is_none() && self.is_at_budget()
    }

    /// Whether as many graphs have been visited as were asked for.
    pub(super) fn is_at_budget(&self) -> bool {
        let graphs = self.session.result.complete + self.session.result.blocked;
        self.budget.is_some_and(|budget| graphs >= budget)
    }

    /// What is known of locations that have not been cut.
    pub(crate) fn known_habits(&self) -> impl Iterator<Item = (Place, Habits)> {
        let all = self.runner.places.iter().zip(&self.habits).enumerate();
        let is_there = |place: &Place, n: usize| self.locations.get(place.0).is_some_and(|loc| loc.index() == n);
        all.filter(move |&(n, (place, _))| is_there(place, n)).map(|(_, (&place, &habits))| (place, habits))
    }
}

/// What the threads of a machine are, by their numbers.
fn paths_of_threads<M: Machine>(machine: &M) -> Vec<Vec<u32>> {
    (0..machine.thread_limit()).map(|n| machine.thread_path(ThreadId::new(n))).collect()
}

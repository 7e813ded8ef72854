//! The interleaving of an execution graph, or of a part of one, that takes fewest preemptions.
//!
//! A thread runs from one stop (`stops.rs`) to another, so a state is how many of its stops each thread has passed. States are
//! visited in the order of the preemptions that they take, each once.

use super::Part;
use super::stops::{self, Place, Stop, Stops, Waits};
use crate::graph::Graph;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// So many stops are looked at. If that is not enough, a graph is taken to be within the bound.
const MOST_LOOKS: usize = 200_000;

/// How many of its stops each thread has passed.
type State = SmallVec<[u16; 8]>;

/// A thread, the stop to which it is let run, and whether it makes room there although it does not wait.
type Run = (usize, u16, bool);

/// A stop that a thread may be let run to, and the locks that it holds there.
#[derive(Clone, Copy)]
struct Later {
    held: u64,
    is_preempted: bool,
    /// Which of them it holds there and wherever it could be stopped before.
    always_held: u64,
    /// Which ones it holds anywhere before.
    held_on_the_way: u64,
}

impl Later {
    fn new(held: u64, is_preempted: bool) -> Later {
        Later { held, is_preempted, always_held: held, held_on_the_way: 0 }
    }

    /// Whether to stop there is as good as to stop earlier, where these locks are held.
    fn is_as_good_as(&self, held: u64) -> bool {
        held & !self.always_held == 0 || self.held_on_the_way & !self.held == 0
    }
}

/// How many preemptions so many events of each thread take; none if more than `limit`. It may be less than what is told.
/// `in_order` is as for [`super::exceeds`].
pub fn fewest(graph: &Graph, part: Part<'_>, limit: u32, in_order: bool) -> Option<u32> {
    // Stops are counted in 16 bits.
    if graph.len() > usize::from(u16::MAX) {
        return Some(limit);
    }
    let stops = stops::stops(graph, part, in_order);
    stops.greedily(limit).or_else(|| stops.fewest(limit))
}

impl Stops {
    /// How many preemptions it takes if threads are let run as it comes.
    fn greedily(&self, limit: u32) -> Option<u32> {
        let (mut state, mut runs) = (self.start(), SmallVec::new());
        let mut preemptions = 0;
        loop {
            self.settle(&mut state, &mut runs);
            let Some(&(thread, stop, is_preempted)) = runs.iter().min_by_key(|run| run.2) else {
                return Some(preemptions);
            };
            preemptions += u32::from(is_preempted);
            if preemptions > limit {
                return None;
            }
            state[thread] = stop;
        }
    }

    /// How many preemptions it takes.
    fn fewest(&self, limit: u32) -> Option<u32> {
        let mut visited: FxHashSet<State> = FxHashSet::default();
        let mut runs = SmallVec::new();
        let (mut now, mut next) = (vec![self.start()], Vec::new());
        let mut looks = 0;
        for preemptions in 0..=limit {
            while let Some(mut state) = now.pop() {
                looks += self.settle(&mut state, &mut runs);
                // Nobody can go on: all has taken place.
                if runs.is_empty() {
                    return Some(preemptions);
                }
                if looks > MOST_LOOKS {
                    return Some(limit);
                }
                if !visited.insert(state.clone()) {
                    continue;
                }
                for &(thread, stop, is_preempted) in &runs {
                    let states = if is_preempted { &mut next } else { &mut now };
                    if !is_preempted || preemptions < limit {
                        let mut after = state.clone();
                        after[thread] = stop;
                        states.push(after);
                    }
                }
            }
            std::mem::swap(&mut now, &mut next);
        }
        None
    }

    fn start(&self) -> State {
        State::from_elem(0, self.threads)
    }

    /// Lets threads run whose run takes no preemption, and makes no difference to those who could still come to wait. Then,
    /// finds how far others may be let run. Returns how many stops were looked at.
    fn settle(&self, state: &mut State, runs: &mut SmallVec<[Run; 16]>) -> usize {
        let mut looks = 0;
        'again: loop {
            runs.clear();
            for thread in 0..self.threads {
                let (count, stop) = self.add_runs(thread, state, runs);
                looks += count;
                if let Some(stop) = stop {
                    state[thread] = stop;
                    continue 'again;
                }
            }
            return looks;
        }
    }

    /// How far a thread may be let run. Returns how many stops it can pass, and how far it may be let run at once, if it may.
    fn add_runs(&self, thread: usize, state: &State, runs: &mut SmallVec<[Run; 16]>) -> (usize, Option<u16>) {
        let begin = state[thread];
        let count = (self.first[thread + 1] - self.first[thread]) as u16;
        let (mut end, mut is_harmless) = (begin, true);
        while end < count && self.is_ready(thread, end, state) {
            is_harmless &= !self.matters(thread, end, state);
            end += 1;
        }
        let looks = usize::from(end - begin) + 1;
        if end == begin {
            return (looks, None);
        }
        let is_preempted = end < count && {
            let mut after = state.clone();
            after[thread] = end;
            !self.makes_room(thread, end, &after)
        };
        if is_harmless && !is_preempted {
            return (looks, Some(end));
        }
        runs.push((thread, end, is_preempted));
        self.add_early_runs(thread, begin, state, runs);
        (looks, None)
    }

    /// Adds runs that end before they must.
    ///
    /// Others may come to wait then for locks that the thread holds, so to let it run further is as good if that takes no more
    /// preemptions, and it holds the same locks there and wherever it could be stopped in between: others run where it is stopped
    /// next. Or if it then holds all that it has held anywhere in between: others run there. (Not so if somebody waits who only
    /// reads: in between, there may be what makes them go on.)
    fn add_early_runs(&self, thread: usize, begin: u16, state: &State, runs: &mut SmallVec<[Run; 16]>) {
        let Some(&(_, end, is_preempted)) = runs.last() else { return };
        let count = (self.first[thread + 1] - self.first[thread]) as u16;
        let last = if end < count { self.stop(thread, end).held } else { 0 };
        let mut later: SmallVec<[Later; 8]> = SmallVec::from_slice(&[Later::new(last, is_preempted)]);
        for stop in (begin + 1..end).rev() {
            let &Stop { yields, lock, held, .. } = self.stop(thread, stop);
            let matters = self.matters(thread, stop, state);
            if matters && lock.is_none() {
                later.clear();
            }
            if !yields && !matters {
                continue;
            }
            later.iter_mut().for_each(|later| later.held_on_the_way |= held);
            let is_as_good = |later: &Later| !(yields && later.is_preempted) && later.is_as_good_as(held);
            if !later.iter().any(is_as_good) {
                runs.push((thread, stop, !yields));
                later.push(Later::new(held, !yields));
            }
            later.iter_mut().for_each(|later| later.always_held &= held);
        }
    }

    fn stop(&self, thread: usize, stop: u16) -> &Stop {
        &self.stops[self.number(thread, stop)]
    }

    /// The numbers for each thread that belong to a stop.
    fn row<'a>(&self, rows: &'a [u16], thread: usize, stop: u16) -> &'a [u16] {
        &rows[self.number(thread, stop) * self.threads..][..self.threads]
    }

    /// Whether what a stop depends on has taken place, if that is not its own thread's.
    fn is_ready(&self, thread: usize, stop: u16, state: &State) -> bool {
        self.row(&self.needs, thread, stop).iter().zip(state).all(|(needs, passed)| passed >= needs)
    }

    /// Whether it makes a difference to somebody who may wait, and has not come there yet, that a stop takes place.
    fn matters(&self, thread: usize, stop: u16, state: &State) -> bool {
        self.stop(thread, stop).concerns
            && self.row(&self.concerned, thread, stop).iter().zip(state).any(|(last, passed)| passed < last)
    }

    /// Whether a thread that has come to a stop makes room without a preemption.
    fn makes_room(&self, thread: usize, stop: u16, state: &State) -> bool {
        let Stop { waits, yields, .. } = *self.stop(thread, stop);
        let is_done = |(thread, count): Place| state[thread] >= count;
        yields
            || match waits {
                Waits::Never => false,
                Waits::Always => true,
                Waits::For(source) => !is_done(source),
                Waits::ForValue(source, location, value) => {
                    let (initial, writes) = &self.written[location];
                    let last = writes.iter().rfind(|(write, _)| is_done(*write));
                    !is_done(source) && last.map_or(*initial, |&(_, value)| value) != value
                }
            }
    }
}

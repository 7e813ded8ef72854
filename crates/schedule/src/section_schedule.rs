//! Section schedules: the partial order of the transitions on a section path.
//!
//! Definitions 34 and 35: the events of a section path, ordered where their transitions are dependent. The order is kept as
//! vector clocks, one per event: how many events of each thread have to come before it. A thread that
//! counts its events and looks at the counters of the others before each can keep to it without any other knowledge.
//!
//! | paper | here |
//! |---|---|
//! | e = (T, k) | [`Event`]: `thread`, `k` |
//! | σ = (Vσ, →σ) | [`SectionSchedule`]: `events`, in the order of the path; `clocks` |

use crate::events::Events;
use crate::independence::{Precision, dependent};
use crate::section_path::SectionPath;
use crate::{Access, Edge, PublishedArt, StepKind, ThreadId, TransitionId};
use selvedge_ir::EntityRef;

/// An event: the k-th occurrence of a thread in a section.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// tid(e).
    pub thread: ThreadId,
    /// How many events of the thread come before it in the section.
    pub k: u32,
    /// Its transition.
    pub transition: TransitionId,
}

/// How many events of each thread, by thread.
pub type Clock = Vec<u32>;

/// A section schedule σ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SectionSchedule {
    /// The events in the order of the section path, which is one of the orders that σ allows.
    pub events: Vec<Event>,
    /// For each event, how many events of each thread precede it in σ.
    pub clocks: Vec<Clock>,
    /// How many events each thread has in all.
    pub lengths: Clock,
}

/// The section schedule of a section path.
pub fn section_schedule(
    art: &PublishedArt,
    path: &SectionPath,
    precision: Precision,
    events: &Events,
) -> SectionSchedule {
    let edges = path.edges(art).filter(|edge| events.has(edge.transition));
    let ends = |edge: &Edge| art.transition(edge.transition).steps.iter().any(|step| step.kind == StepKind::Exit);
    let moves = edges.map(|edge| Move {
        thread: art.thread_of(edge),
        transition: edge.transition,
        accesses: art.accesses(edge),
        // What comes before the end of the process might not come any more if it came later.
        last: ends(edge),
    });
    partial_order(art.threads.len(), moves, precision)
}

/// A transition on a section path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move<'a> {
    /// Who moves.
    pub thread: ThreadId,
    /// How.
    pub transition: TransitionId,
    /// What it accesses.
    pub accesses: &'a [Access],
    /// Whether it depends on everything before it.
    pub last: bool,
}

/// The smallest partial order that has each pair of dependent transitions in the order in which they stand.
pub fn partial_order<'a>(
    threads: usize,
    moves: impl Iterator<Item = Move<'a>>,
    precision: Precision,
) -> SectionSchedule {
    let mut events: Vec<Event> = Vec::new();
    let mut clocks: Vec<Clock> = Vec::new();
    let mut lengths = vec![0; threads];
    let mut accesses: Vec<&[Access]> = Vec::new();
    for Move { thread, transition, accesses: touched, last } in moves {
        let k = lengths[thread.index()];
        let mut clock: Clock = vec![0; threads];
        // The latest events first: what they have seen need not be looked at again.
        for (n, earlier) in events.iter().enumerate().rev() {
            let seen = clock[earlier.thread.index()] > earlier.k;
            if !seen && (last || earlier.thread == thread || dependent(accesses[n], touched, precision)) {
                join(&mut clock, &clocks[n]);
                clock[earlier.thread.index()] = earlier.k + 1;
            }
        }
        debug_assert_eq!(clock[thread.index()], k, "a thread's events are in order");
        lengths[thread.index()] += 1;
        events.push(Event { thread, k, transition });
        clocks.push(clock);
        accesses.push(touched);
    }
    SectionSchedule { events, clocks, lengths }
}

fn join(clock: &mut Clock, other: &Clock) {
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

impl SectionSchedule {
    /// Whether e_i →σ e_j.
    pub fn precedes(&self, i: usize, j: usize) -> bool {
        self.clocks[j][self.events[i].thread.index()] > self.events[i].k
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure_3::figure_3;
    use crate::section_path::section_path;
    use crate::{NodeId, ObjectId, Silent};

    #[test]
    fn the_first_section_of_figure_3_is_ordered_as_in_the_paper() {
        let art = figure_3();
        let path = section_path(&art, art.root(), 0, |_| false);
        assert_eq!(path.end, NodeId::new(3));
        let schedule = section_schedule(&art, &path, Precision::Objects, &Events::new(&art, false, Silent::Kept));
        // ({e1, e2, e3}, {(e1, e2), (e1, e3)})
        let pairs: Vec<(usize, usize)> =
            (0..3).flat_map(|i| (0..3).map(move |j| (i, j))).filter(|&(i, j)| schedule.precedes(i, j)).collect();
        assert_eq!(pairs, [(0, 1), (0, 2)]);
    }

    /// The definition as it is written: the transitive closure of all dependent pairs.
    fn closure(moves: &[(ThreadId, TransitionId, Vec<Access>)], precision: Precision) -> Vec<Vec<bool>> {
        let n = moves.len();
        let mut before = vec![vec![false; n]; n];
        for j in 0..n {
            for i in 0..j {
                before[i][j] = moves[i].0 == moves[j].0 || dependent(&moves[i].2, &moves[j].2, precision);
            }
        }
        for k in 0..n {
            for i in 0..n {
                for j in 0..n {
                    before[i][j] |= before[i][k] && before[k][j];
                }
            }
        }
        before
    }

    #[test]
    fn clocks_are_the_transitive_closure_of_dependence() {
        let mut seed = 7_u64;
        let mut below = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        for _ in 0..300 {
            let precision = [Precision::Order, Precision::Objects, Precision::Bytes][below(3) as usize];
            let length = 1 + below(14);
            let moves: Vec<(ThreadId, TransitionId, Vec<Access>)> = (0..length)
                .map(|n| {
                    let start = below(3) * 4;
                    let bytes = (below(2) == 0).then_some((start, start + 4));
                    let access = Access { object: ObjectId::new(below(3) as usize), bytes, write: below(2) == 0 };
                    let accesses = if below(5) == 0 { Vec::new() } else { vec![access] };
                    (ThreadId::new(below(3) as usize), TransitionId::new(n as usize), accesses)
                })
                .collect();
            let expected = closure(&moves, precision);
            let schedule = partial_order(
                3,
                moves.iter().map(|(thread, transition, a)| Move {
                    thread: *thread,
                    transition: *transition,
                    accesses: a,
                    last: false,
                }),
                precision,
            );
            for (i, row) in expected.iter().enumerate() {
                for (j, &before) in row.iter().enumerate() {
                    assert_eq!(schedule.precedes(i, j), before, "{moves:?} {i} {j}");
                }
            }
        }
    }
}

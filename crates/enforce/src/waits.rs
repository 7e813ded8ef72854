//! Which events wait for which, and which events are waited for.
//!
//! A section schedule says how many events of each thread precede an event. Most of that a thread knows already when it gets
//! there: from what it waited for before, and from what those had waited for. What remains is the transitive reduction of the
//! order between threads; only events that somebody waits for have to be signalled. This is how events are
//! *merged* (Definition 34 and the optimisations of section 5.5): accesses between two signals of a thread are one event for
//! all others.

use selvedge_ir::EntityRef;
use selvedge_schedule::{SectionSchedule, ThreadId};

/// What is done at each event of a section, in the order of its events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Waits {
    /// For which signals of other threads it waits: thread, and how many of its signals in the section.
    pub waits: Vec<Vec<(ThreadId, u32)>>,
    /// The number of the signal that it gives, from 1; 0 if it gives none.
    pub signals: Vec<u32>,
    /// How many signals each thread gives in all.
    pub totals: Vec<u32>,
    /// How many of them before its tail: when all threads have given these, the next section may begin.
    pub early: Vec<u32>,
}

/// The waits and signals of a section schedule. Of the events of each thread, so many come before its tail. With `every`, every event is signalled and waits for the one before it in
/// the order of the path: nothing is merged.
pub fn waits(schedule: &SectionSchedule, early: &[u32], every: bool) -> Waits {
    let threads = schedule.lengths.len();
    let mut needed: Vec<Vec<(usize, u32)>> = Vec::new();
    let mut known = vec![vec![0; threads]; threads];
    // Position of the k-th event of each thread.
    let mut positions: Vec<Vec<usize>> = vec![Vec::new(); threads];
    for (n, event) in schedule.events.iter().enumerate() {
        let me = event.thread.index();
        let clock = &schedule.clocks[n];
        let open: Vec<(usize, u32)> = (0..threads)
            .filter(|&other| other != me && clock[other] > known[me][other])
            .map(|other| (other, clock[other]))
            .collect();
        // What an event that is waited for has waited for itself need not be waited for again.
        let implied = |&(other, k): &(usize, u32)| {
            open.iter()
                .any(|&(via, count)| via != other && schedule.clocks[positions[via][count as usize - 1]][other] >= k)
        };
        needed.push(open.iter().copied().filter(|wait| !implied(wait)).collect());
        for (mine, &other) in known[me].iter_mut().zip(clock) {
            *mine = (*mine).max(other);
        }
        positions[me].push(n);
    }
    number(schedule, &needed, &positions, early, every)
}

/// Numbers the signals, and says waits in these numbers.
fn number(
    schedule: &SectionSchedule,
    needed: &[Vec<(usize, u32)>],
    positions: &[Vec<usize>],
    early: &[u32],
    every: bool,
) -> Waits {
    let mut signalled = vec![every; schedule.events.len()];
    for &(other, k) in needed.iter().flatten() {
        signalled[positions[other][k as usize - 1]] = true;
    }
    // The end of a section, but for tails, is waited for by whoever starts the next one; tails by who depends on them.
    let ends: Vec<Option<usize>> =
        positions.iter().zip(early).map(|(all, &early)| all[..early as usize].last().copied()).collect();
    for last in positions.iter().filter_map(|all| all.last()).chain(ends.iter().flatten()) {
        signalled[*last] = true;
    }
    let mut totals = vec![0; positions.len()];
    let mut signals = vec![0; schedule.events.len()];
    for (n, event) in schedule.events.iter().enumerate().filter(|(n, _)| signalled[*n]) {
        totals[event.thread.index()] += 1;
        signals[n] = totals[event.thread.index()];
    }
    let wait = |&(other, k): &(usize, u32)| (ThreadId::new(other), signals[positions[other][k as usize - 1]]);
    let waits = needed.iter().map(|all| all.iter().map(wait).collect()).collect();
    let early = ends.iter().map(|end| end.map_or(0, |n| signals[n])).collect();
    Waits { waits, signals, totals, early }
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_schedule::section_schedule::{Move, partial_order};
    use selvedge_schedule::{Access, ObjectId, Precision, TransitionId};

    fn random(seed: &mut u64, below: u64) -> u64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) % below
    }

    fn random_schedule(seed: &mut u64) -> SectionSchedule {
        let length = 1 + random(seed, 20);
        let precision = [Precision::Order, Precision::Objects][random(seed, 2) as usize];
        let moves: Vec<(ThreadId, TransitionId, Vec<Access>)> = (0..length)
            .map(|n| {
                let object = ObjectId::new(random(seed, 3) as usize);
                let access = Access { object, bytes: None, write: random(seed, 2) == 0 };
                (ThreadId::new(random(seed, 4) as usize), TransitionId::new(n as usize), vec![access])
            })
            .collect();
        let moves = moves.iter().map(|(thread, transition, accesses)| Move {
            thread: *thread,
            transition: *transition,
            accesses,
            last: false,
        });
        partial_order(4, moves, precision)
    }

    /// Executes a section as the threads of the run-time would, in a random order of their steps; the events in order.
    fn simulate(schedule: &SectionSchedule, waits: &Waits, seed: &mut u64) -> Vec<usize> {
        let threads = schedule.lengths.len();
        let mut words = vec![0; threads];
        let mut todo: Vec<Vec<usize>> = (0..threads)
            .map(|t| (0..schedule.events.len()).filter(|&n| schedule.events[n].thread.index() == t).rev().collect())
            .collect();
        let mut order = Vec::new();
        while order.len() < schedule.events.len() {
            let ready: Vec<usize> = (0..threads)
                .filter(|&t| {
                    let waits_of = |n: &usize| waits.waits[*n].iter().all(|&(other, k)| words[other.index()] >= k);
                    todo[t].last().is_some_and(waits_of)
                })
                .collect();
            assert!(!ready.is_empty(), "everybody waits: {schedule:?} {waits:?}");
            let t = ready[random(seed, ready.len() as u64) as usize];
            let n = todo[t].pop().expect("it is ready");
            words[t] = words[t].max(waits.signals[n]);
            order.push(n);
        }
        order
    }

    #[test]
    fn threads_that_wait_as_they_are_told_keep_the_partial_order() {
        let mut seed = 11;
        for _ in 0..400 {
            let schedule = random_schedule(&mut seed);
            let early: Vec<u32> =
                schedule.lengths.iter().map(|&all| all - random(&mut seed, u64::from(all).max(1)) as u32).collect();
            let waits = waits(&schedule, &early, random(&mut seed, 2) == 0);
            for _ in 0..10 {
                let order = simulate(&schedule, &waits, &mut seed);
                for (at, &j) in order.iter().enumerate() {
                    let late = order[at..].iter().find(|&&i| schedule.precedes(i, j));
                    assert_eq!(late, None, "{schedule:?} {waits:?} {order:?}");
                }
            }
        }
    }

    #[test]
    fn an_access_between_two_threads_is_one_signal() {
        // Both read and write a buffer and a count, in turns.
        let access = |object: usize, write: bool| vec![Access { object: ObjectId::new(object), bytes: None, write }];
        let turn = [access(0, false), access(1, true), access(0, true)];
        let moves: Vec<(ThreadId, Vec<Access>)> =
            (0..4).flat_map(|n| turn.iter().map(move |a| (ThreadId::new(n % 2), a.clone()))).collect();
        let all = moves.iter().enumerate().map(|(n, (thread, accesses))| Move {
            thread: *thread,
            transition: TransitionId::new(n),
            accesses,
            last: false,
        });
        let schedule = partial_order(2, all, Precision::Objects);
        let waits = waits(&schedule, &schedule.lengths, false);
        assert_eq!((&waits.totals[..], &waits.early[..]), (&[2, 2][..], &[2, 2][..]));
        assert_eq!(waits.waits.iter().flatten().count(), 3);
    }
}

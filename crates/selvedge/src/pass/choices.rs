//! Choices that were not offered.
//!
//! In the second pass, exchanges that end attempts of loops, or that threads wait with, are not asked whether they fail for no
//! reason (`retry.rs`). Whoever
//! runs an execution of that pass again knows nothing of loops, and asks all of them. So before it is written down, it is run
//! once more with what is known, and every answer that was not asked for becomes a step: no.

use super::on_sound_thread;
use super::one::replay_as_it_is;
use crate::machine::Body;
use crate::nondet;
use selvedge_machine::Op;
use selvedge_machine::schedule::{EventRecord, Link, Schedule, ScheduleStep, Source};

/// A schedule of the second pass with all choices.
pub(super) fn all(body: &Body, schedule: Schedule) -> Schedule {
    let not_offered = on_sound_thread(|| replay_as_it_is(body, &schedule).map(|replay| not_offered(&replay.events)));
    // If there is an error, it cannot be run again at all, which is said where that is tried.
    add(schedule, &not_offered.unwrap_or_default())
}

/// For every step, whether a choice was not offered before it. A thread has none any more once something has happened to it for no
/// reason.
fn not_offered(events: &[EventRecord]) -> Vec<bool> {
    let mut over = Vec::new();
    let step = |event: &EventRecord| {
        if nondet::without_reason(&event.site.span).is_none() {
            return false;
        }
        if matches!(event.op, Op::Choose { .. }) && event.choice == 1 {
            over.push(event.thread);
        }
        matches!(event.op, Op::Access(access) if access.confirms || access.spins) && !over.contains(&event.thread)
    };
    events.iter().map(step).collect()
}

/// Adds a step of the same thread before some.
fn add(schedule: Schedule, before: &[bool]) -> Schedule {
    let is_before = |n: usize| before.get(n).copied().unwrap_or(false);
    let mut place = 0;
    let places: Vec<usize> = (0..schedule.steps.len())
        .map(|n| {
            place += 1 + usize::from(is_before(n));
            place - 1
        })
        .collect();
    let moved = |link: Link| Link {
        from: link.from.map(|from| if let Source::Step(n) = from { Source::Step(places[n]) } else { from }),
        ..link
    };
    let links = schedule.links.map(|links| {
        let each = links.into_iter().enumerate();
        each.flat_map(|(n, link)| is_before(n).then(Link::default).into_iter().chain([moved(link)])).collect()
    });
    let each = schedule.steps.into_iter().enumerate();
    let steps = each.flat_map(|(n, step)| {
        let choice = ScheduleStep { choice: 0, ..step.clone() };
        is_before(n).then_some(choice).into_iter().chain([step])
    });
    Schedule { steps: steps.collect(), links, ..schedule }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_are_read_from_are_still_the_same() {
        let step = |thread: u32, choice| ScheduleStep { thread: vec![thread], choice };
        let from = |n| Link { from: Some(Source::Step(n)), place: 1 };
        let links = Some(vec![Link::default(), from(0), from(1), Link { from: Some(Source::Initial), place: 0 }]);
        let schedule =
            Schedule { steps: vec![step(0, 0), step(1, 1), step(2, 0), step(3, 0)], links, ..Schedule::default() };
        let all = add(schedule, &[false, true, true, false]);
        assert_eq!(all.steps, [step(0, 0), step(1, 0), step(1, 1), step(2, 0), step(2, 0), step(3, 0)]);
        let wanted = [
            Link::default(),
            Link::default(),
            from(0),
            Link::default(),
            from(2),
            Link { from: Some(Source::Initial), place: 0 },
        ];
        assert_eq!(all.links, Some(wanted.to_vec()));
    }
}

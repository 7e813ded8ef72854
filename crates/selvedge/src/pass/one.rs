//! One execution that is run again: the one that the environment asks for, or that the checkpoint file has kept.

use super::is_forever;
use crate::machine::{self, Body, RustMachine};
use crate::model::{Builder, Stats};
use crate::replay::{Recorded, model_at, place_of};
use crate::report;
use crate::runtime::{self, At};
use crate::shared::Shared;
use crate::table::{round_with_writes, table};
use crate::update::Updates;
use selvedge_machine::schedule::{self, Replay, ReplayError, Schedule, ThreadEnd};
use selvedge_machine::{Op, Purpose, Status, Stop, ViolationKind};
use std::sync::{Arc, Mutex, PoisonError};

/// One execution of this model that was run, or should be.
pub(super) enum One {
    /// None: all are explored.
    None,
    /// This one, and why.
    Recorded(Recorded, Why),
    /// The environment asks for something that is no execution: what is said of it.
    Unreadable(String),
}

/// Why an execution is run again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// The environment asks for it.
    Asked,
    /// The checkpoint file has kept it.
    Kept,
    /// The same; but it may be one of another model at the same place, so that it says nothing if threads wait in it.
    KeptOfOther,
}

/// The execution that the environment asks for, or the checkpoint file has kept.
pub(super) fn recorded(builder: &Builder, (at, nth): (At, u32)) -> One {
    let is_here = |recorded: &Recorded| recorded.model == model_at(at, nth);
    if let Some(text) = std::env::var("SELVEDGE_REPLAY").ok().filter(|text| !text.is_empty()) {
        let Some(recorded) = Recorded::read(&text) else { return One::Unreadable(unreadable(&text)) };
        if is_here(&recorded) {
            return One::Recorded(recorded, Why::Asked);
        }
        say_that_it_is_of_another(&recorded.model, at);
        return One::None;
    }
    let kept = builder.checkpoint_file.as_ref().and_then(|file| Recorded::read(&std::fs::read_to_string(file).ok()?));
    match kept {
        Some(recorded) if is_here(&recorded) => One::Recorded(recorded, Why::Kept),
        Some(recorded) if place_of(&recorded.model) == model_at(at, 1) => One::Recorded(recorded, Why::KeptOfOther),
        _ => One::None,
    }
}

/// What is said of a text that is no execution.
fn unreadable(text: &str) -> String {
    format!(
        "`SELVEDGE_REPLAY` is not an execution of a model: {text}\n\
         It was cut off, or mistyped: it has four parts, with semicolons between them, and ends with a full stop. Copy it from the \
         last line of a failure as a whole, with the quotes that the shell needs; or unset it, and everything is explored\n"
    )
}

/// Says, once for each model, that the execution which the environment asks for is one of another model.
fn say_that_it_is_of_another(model: &str, at: At) {
    static SAID: Mutex<Vec<At>> = Mutex::new(Vec::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if !said.contains(&at) {
        said.push(at);
        eprintln!(
            "selvedge: `SELVEDGE_REPLAY` is an execution of the model at {model}; the model that runs here, at {at}, is another one: \
             everything is explored"
        );
    }
}

/// Runs one execution; none if it is not one of this model. What is seen of executions as a whole is not seen when one is run. So if
/// it was only kept, and does not fail by itself, that is none either: all are explored.
pub(super) fn run_again(body: &Body, recorded: Recorded, why: Why) -> Option<Stats> {
    let updates = runtime::shared(|shared| {
        let updates = shared.config.updates;
        shared.config.spurious = recorded.spurious;
        shared.config.count_arcs = recorded.count_arcs;
        shared.config.count_senders = recorded.count_senders;
        shared.config.many_senders = recorded.many_senders;
        shared.config.sees_ends = recorded.sees_ends;
        shared.config.drops_results = recorded.drops_results;
        shared.config.updates = if recorded.one_by_one { Updates::OneByOne } else { Updates::Sometimes };
        updates
    });
    let result = replay(body, &recorded);
    runtime::shared(|shared| {
        shared.config.spurious = false;
        shared.config.updates = updates;
    });
    let mut replay = match result {
        Ok(replay) => replay,
        Err(error) => {
            eprintln!("selvedge: {error}");
            return None;
        }
    };
    let is_livelock = recorded.kind == Some(ViolationKind::Livelock);
    let spinning = if is_livelock { spinning(&mut replay) } else { Vec::new() };
    let waits = || replay.threads.iter().any(|end| end.status != Status::Finished);
    let goes_on = replay.threads.iter().any(could_go_on);
    let found = match &replay.stop {
        Some((_, Stop::Violation(violation))) => Some(report::violation(violation)),
        _ if why == Why::KeptOfOther && waits() => None,
        Some((_, Stop::Unsupported(unsupported))) => Some(report::unsupported(unsupported)),
        Some((_, Stop::Bound(bound))) => Some(format!("{}\n", bound.what)),
        None if recorded.is_cut() || goes_on || !spinning.is_empty() => None,
        None if waits() => Some(format!("deadlock: {} forever\n", they(&waiting(&replay), "wait"))),
        None => machine::leak().map(|violation| report::violation(&violation)),
    };
    if found.is_none() && why != Why::Asked {
        return None;
    }
    let mut failure = found.unwrap_or_else(|| {
        let was = match recorded.kind {
            Some(ViolationKind::Livelock) if waits() => format!("livelock: {} forever\n", they(&spinning, "spin")),
            _ if recorded.is_cut() => report::cut_off(recorded.kind, &replay.events),
            _ => return "nothing is wrong with this execution any more; without `SELVEDGE_REPLAY` all are explored\n".to_owned(),
        };
        format!("{was}(that is what was found; whether it is still so, only an exploration tells, without `SELVEDGE_REPLAY`)\n")
    });
    failure.push_str("in this execution, which was run again:\n");
    let forever = match &replay.stop {
        Some((_, Stop::Violation(violation))) => is_forever(violation.kind),
        Some(_) => false,
        None => !recorded.is_cut() && (is_livelock || !goes_on),
    };
    failure.push_str(&table(&replay, forever));
    let not_covered = vec!["one execution was run again, and no other".to_owned()];
    Some(Stats { failure: Some(failure), replay: Some(recorded.write()), not_covered, ..Stats::default() })
}

/// Whether a thread could make another step. In an execution that no interleaving explains, all that is known is which operations
/// never wait; one that reads may.
fn could_go_on(end: &ThreadEnd) -> bool {
    end.status != Status::Finished && (end.enabled || end.status == Status::Ready && never_waits(end))
}

/// Whether a thread stands at an operation that never waits.
fn never_waits(end: &ThreadEnd) -> bool {
    match &end.waiting {
        Some((Op::Access(access), _)) => !access.reads() && !access.may_wait(),
        Some((op, _)) => !matches!(op, Op::Join { .. } | Op::CondWake { .. }),
        None => false,
    }
}

/// The names of threads that are at a livelock's end where they spin, which is noted in what they wait with, or said of them if they
/// do not wait: when one execution is run, nobody looks whether they come back to where they are.
fn spinning(replay: &mut Replay) -> Vec<String> {
    let events = &replay.events;
    let begins_round = |end: &ThreadEnd| {
        let first = round_with_writes(events, end.thread).map(|round| &events[round[0]].site.span);
        first.is_some_and(|first| end.waiting.as_ref().is_some_and(|(_, site)| site.span == *first))
    };
    let spins = |end: &mut ThreadEnd| {
        if end.status == Status::Ready && (never_waits(end) || begins_round(end)) {
            // It is about to begin the next round.
            end.spins = end.waiting.take().map(|(_, site)| site);
            end.status = Status::AssumeBlocked;
        } else if end.status == Status::Ready
            && let Some((Op::Access(access), _)) = &mut end.waiting
            && access.purpose == Purpose::Data
            && access.reads()
        {
            access.spins = true;
            return true;
        }
        end.spins.is_some()
    };
    replay.threads.iter_mut().filter_map(|end| spins(end).then(|| end.name.clone())).collect()
}

/// The names of threads that wait. Who waits for the end of another is not the one to blame, unless all do.
fn waiting(replay: &Replay) -> Vec<String> {
    let waits = |end: &&ThreadEnd| end.status != Status::Finished;
    let joins = |end: &&ThreadEnd| matches!(end.waiting, Some((Op::Join { .. }, _)));
    let names = |ends: Vec<&ThreadEnd>| ends.into_iter().map(|end| end.name.clone()).collect::<Vec<_>>();
    let to_blame = names(replay.threads.iter().filter(|end| waits(end) && !joins(end)).collect());
    if to_blame.is_empty() { names(replay.threads.iter().filter(waits).collect()) } else { to_blame }
}

/// Some threads, and what they do.
fn they(names: &[String], what: &str) -> String {
    match names {
        [] => format!("threads {what}"),
        [one] => format!("{one} {what}s"),
        [first @ .., last] => format!("{} and {last} {what}", first.join(", ")),
    }
}

/// An execution as it is without what is known of loops.
pub(super) fn replay(body: &Body, recorded: &Recorded) -> Result<Replay, ReplayError> {
    runtime::shared(|shared| {
        shared.retries.on = false;
        shared.for_ever = recorded.kind == Some(ViolationKind::Livelock);
    });
    let result = replay_as_it_is(body, &recorded.schedule);
    runtime::shared(|shared| shared.for_ever = false);
    result
}

/// The same with what is known of loops.
pub(super) fn replay_as_it_is(body: &Body, schedule: &Schedule) -> Result<Replay, ReplayError> {
    runtime::shared(|shared| shared.once = true);
    loop {
        runtime::shared(Shared::start);
        let machine = RustMachine::new(Arc::clone(body));
        let result = schedule::replay(machine, schedule);
        let again = runtime::shared(|shared| {
            // A thread may wait too early that came round with a lock: others try to take it later on.
            let waits_early = matches!(result, Err(ReplayError::NotEnabled { .. }));
            std::mem::take(&mut shared.restart) || waits_early && !std::mem::replace(&mut shared.all_are_tried, true)
        });
        if !again {
            runtime::shared(|shared| (shared.once, shared.all_are_tried) = (false, false));
            return result;
        }
    }
}

//! How a model is explored: first as it is; then, if there is something that may fail or wake for no reason, once more with
//! that. Two passes, since a thread that may wake for no reason is never stuck: a notification that gets lost would not
//! be found in the second one, nor a missing loop around a wait in the first.
//!
//! What loops do is learned on the way (`machine/awaits.rs`, `retry.rs`), and when something was learned that changes what has
//! to be explored, the exploration starts again. Every start knows more than the one before about some place in the source,
//! so that comes to an end; but there may be many places. So after [`MOST_STARTS`] of them nothing is learned any more, and
//! loops are explored iteration by iteration. The bound on time holds for all of them together, and for both passes.

mod choices;
mod one;
mod without_bound;

use crate::machine::determinism::not_deterministic;
use crate::machine::{Body, RustMachine};
use crate::model::{Builder, Engine, Stats, elsewhere};
use crate::progress::Line;
use crate::replay::Recorded;
use crate::report;
use crate::rounds::Longest;
use crate::runtime::{self, At, Running};
use crate::shared::{Config, Shared};
use crate::table::table;
use crate::update::Updates;
use one::{One, recorded, replay, run_again};
use rustc_hash::FxHashSet;
use selvedge_graph::MemoryModel;
use selvedge_machine::schedule::{Replay, ReplayError, ThreadEnd};
use selvedge_machine::session::Limits;
use selvedge_machine::verdict::{Exploration, Found, Interruption};
use selvedge_machine::{BoundKind, Op, SourceSpan, Status, Stop, ViolationKind};
use std::sync::Arc;
use std::time::Instant;
use without_bound::explore;

/// How executions are reduced.
const REDUCTIONS: selvedge_graph::Reductions =
    selvedge_graph::Reductions { direct: true, tested: true, ..selvedge_graph::Reductions::ALL };
/// After so many starts loops are not learned any more.
const MOST_STARTS: u32 = if cfg!(test) { 6 } else { 64 };

/// Runs a model. None if something that was tried out has left this thread of the operating system in the middle of a panic: then
/// it has to be run on another one, and nothing can be tried out there.
#[track_caller]
pub(crate) fn run(builder: &Builder, body: &Body, (at, nth): (At, u32)) -> Option<Stats> {
    let updates = if builder.attempts_one_by_one { Updates::OneByOne } else { Updates::default() };
    let panics_end_threads = builder.panics_end_threads;
    let config = Config { nth, timeouts: builder.max_timeouts, panics_end_threads, updates, ..Config::default() };
    let running = Running::start(config);
    let again = match recorded(builder, (at, nth)) {
        One::None => None,
        One::Recorded(recorded, why) => run_again(body, recorded, why),
        One::Unreadable(failure) => {
            let not_covered = vec!["no execution was run".to_owned()];
            Some(Stats { failure: Some(failure), not_covered, ..Stats::default() })
        }
    };
    let mut stats = again.unwrap_or_default();
    if stats.failure.is_none() {
        stats = all(builder, body, at)?;
    }
    stats.leaked = runtime::shared(|shared| {
        shared.new_run();
        shared.blocks.leaked as u64
    });
    drop(running);
    Some(stats)
}

/// Explores everything.
fn all(builder: &Builder, body: &Body, at: At) -> Option<Stats> {
    let mut line = Line::new();
    // The bound is one for all: whatever starts again has what is left of the time.
    let deadline = builder.max_duration.and_then(|limit| Instant::now().checked_add(limit));
    let mut first = explore(builder, body, deadline, &mut line)?;
    if is_without_end(&first) && runtime::shared(Shared::has_more_patience) {
        first = explore(builder, body, deadline, &mut line)?;
    }
    let (first, mut stats) = shown_as_found(builder, body, at, first, || explore(builder, body, deadline, &mut line))?;
    let (left_out, config) = runtime::shared(|shared| (shared.left_out, shared.config));
    if left_out.spurious && stats.failure.is_none() {
        if builder.spurious && builder.preemption_bound != Some(0) && first.interruption.is_none() {
            runtime::shared(|shared| shared.config = Config { spurious: true, ..config });
            second(builder, body, at, deadline, &mut stats, &mut line)?;
        } else {
            stats.not_covered.push("exchanges that fail and waits that end for no reason".to_owned());
        }
    }
    if builder.engine == Engine::Trace && builder.memory_model != MemoryModel::Sc {
        let asked = builder.memory_model.name();
        stats.not_covered.push(format!(
            "what {asked} allows beyond sequential consistency: `Engine::Trace` explores interleavings, whatever the memory \
             model is set to"
        ));
    }
    // Whatever pass it was in.
    let left_out = runtime::shared(|shared| shared.left_out);
    if left_out.pointers {
        stats.not_covered.push(
            "races of what is done through a pointer to a cell between the last operation before it is dropped and that: guards \
             give a lock back and drop their fields then, so it is taken not to be used any more, unless the cell has changed"
                .to_owned(),
        );
    }
    if left_out.raw_cells {
        stats.not_covered.push(
            "races of what is done through a pointer to a `RawCell`: it counts as used when the pointer is got, and not after that"
                .to_owned(),
        );
    }
    if left_out.poison {
        stats.not_covered.push(
            "what else `is_poisoned` could see, and `clear_poison` clear, of threads that run at the same time"
                .to_owned(),
        );
    }
    if left_out.rendezvous {
        stats.not_covered.push("`try_send` to a receiver that waits at a channel without room".to_owned());
    }
    if left_out.again {
        stats.not_covered.push(
            "executions in which a thread has more than one exchange fail, wait end or future polled for no reason"
                .to_owned(),
        );
    }
    if left_out.timeouts {
        let n = builder.max_timeouts;
        stats.not_covered.push(format!("executions in which a thread times out more than {n} times"));
    }
    stats.not_covered.extend(left_out.loops());
    // What the second pass has found is not lost for that.
    if is_without_end(&first) && stats.failure.is_none() {
        let longest = runtime::shared(|shared| shared.unmarked.longest());
        let named =
            |why: String| longest.map_or_else(|| why.clone(), |longest| format!("{why}: {}", in_words(longest)));
        stats.failure = left_out.never_ends().map(named).or_else(|| left_out.timeouts.then(|| times_out(builder)));
    }
    if is_empty(&first) && stats.failure.is_none() {
        stats.failure = Some("nothing was explored. That is an error of Selvedge; please report it\n".to_owned());
    }
    if let Some(bound) = builder.preemption_bound.filter(|_| is_bounded(&first) && first.complete == 0)
        && stats.failure.is_none()
        && !stats.interrupted
    {
        stats.failure = Some(format!(
            "no execution that was explored comes to its end, since others take more than {bound} preemptions \
             (`preemption_bound`): nothing can be said of the model\n"
        ));
    }
    if left_out.again_there {
        let note = "where a thread tries again after something has failed or ended for no reason, it does not do so a second time";
        stats.notes.push(note.to_owned());
    }
    if left_out.choices {
        let note =
            "whether loops that spin and choose (`nondet`) ever end: a thread that comes round is not followed further";
        stats.notes.push(note.to_owned());
    }
    Some(stats)
}

/// What an exploration has shown. A failing execution is run again to be shown, and threads run in another order then: if it turns out
/// that something has to be counted that was not, all is explored again, with that.
fn shown_as_found(
    builder: &Builder,
    body: &Body,
    at: At,
    mut result: Exploration,
    mut explore: impl FnMut() -> Option<Exploration>,
) -> Option<(Exploration, Stats)> {
    let mut starts = 0;
    loop {
        let before = runtime::shared(|shared| shared.config);
        let stats = stats(builder, body, &mut result, at);
        starts += 1;
        if starts == MOST_STARTS || runtime::is_spoiled() || runtime::shared(|shared| shared.config) == before {
            return Some((result, stats));
        }
        result = explore()?;
    }
}

/// What is wrong if threads do nothing but time out.
fn times_out(builder: &Builder) -> String {
    format!(
        "no execution comes to its end: a thread would have to time out more than {} times (`max_timeouts`), and nobody makes it \
         go on before that\n",
        builder.max_timeouts
    )
}

/// Whether nothing is wrong, but no execution has come to its end.
fn is_without_end(result: &Exploration) -> bool {
    let is_over = result.violations.is_empty() && result.unsupported.is_none() && result.interruption.is_none();
    is_over && result.complete == 0 && !is_bounded(result)
}

/// Whether there is no execution at all, though nothing has ended the exploration.
fn is_empty(result: &Exploration) -> bool {
    is_without_end(result) && result.blocked == 0
}

/// Whether executions were left out because they take too many preemptions.
fn is_bounded(result: &Exploration) -> bool {
    result.bounds.iter().any(|(bound, _)| matches!(bound.kind, BoundKind::Preemptions { .. }))
}

/// The second pass.
fn second(
    builder: &Builder,
    body: &Body,
    at: At,
    deadline: Option<Instant>,
    stats: &mut Stats,
    line: &mut Line,
) -> Option<()> {
    let result = explore(builder, body, deadline, line)?;
    let (_, second) = shown_as_found(builder, body, at, result, || explore(builder, body, deadline, line))?;
    stats.spurious = second.complete + second.blocked;
    stats.failure = second.failure;
    stats.replay = second.replay;
    stats.interrupted = second.interrupted;
    let not_covered = second.not_covered.into_iter().filter(|what| !stats.not_covered.contains(what));
    let not_covered: Vec<String> = not_covered.collect();
    stats.not_covered.extend(not_covered);
    let notes: Vec<String> = second.notes.into_iter().filter(|note| !stats.notes.contains(note)).collect();
    stats.notes.extend(notes);
    Some(())
}

/// How far a pass goes.
#[derive(Clone, Copy)]
struct Scope {
    /// Executions that take more preemptions are left out, if it is set.
    preemptions: Option<usize>,
    /// No more executions are explored.
    executions: Option<u64>,
    /// Whether those count that have to be explored again: it is only tried how many there are.
    is_tried: bool,
    /// Until when.
    deadline: Option<Instant>,
}

fn explore_within(builder: &Builder, body: &Body, scope: Scope, line: &mut Line) -> Option<Exploration> {
    let mut limits = Limits { max_events: builder.max_branches, ..Limits::default() };
    runtime::shared(|shared| {
        // What was found out in another pass need not hold in this one.
        shared.awaits.clear();
        shared.awaits.on = builder.engine == Engine::Graph;
        // But which loops there are does; and in the second pass, those whose exchanges may fail for no reason are not learned.
        if shared.config.spurious {
            shared.retries.next_pass();
        } else {
            shared.retries.clear();
        }
        shared.unmarked.forget_longest();
        shared.ended = 0;
        shared.blocks.freed_early = (!shared.retries.is_empty()).then(FxHashSet::default);
        shared.retries.on = builder.engine == Engine::Graph && !builder.attempts_one_by_one;
        shared.retries.spurious = builder.spurious;
        shared.bounded = scope.preemptions.is_some();
        shared.reorders = builder.tries_out;
        shared.beginnings.clear();
        shared.rooms.clear();
    });
    let (mut starts, mut in_vain, mut was_empty) = (0, 0, false);
    loop {
        starts += 1;
        if starts == MOST_STARTS || !builder.tries_out {
            learn_no_more();
        }
        // What is known of loops says what cannot fail for no reason.
        runtime::shared(|shared| {
            let left_out = &mut shared.left_out;
            (left_out.spurious, left_out.again, left_out.again_there) = (false, false, false);
        });
        limits.time = scope.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        limits.max_executions = scope.executions;
        runtime::shared(Shared::start);
        let machine = RustMachine::new(Arc::clone(body));
        let mut result = match builder.engine {
            Engine::Trace => {
                let (reductions, limits) = (selvedge_trace::Reductions::ALL, limits.clone());
                let options = selvedge_trace::Options { reductions, limits, ..selvedge_trace::Options::default() };
                selvedge_trace::explore_with(machine, &options, line)
            }
            Engine::Graph => {
                let (model, limits) = (builder.memory_model, limits.clone());
                let reductions = REDUCTIONS;
                let preemptions = scope.preemptions.map(|bound| u32::try_from(bound).unwrap_or(u32::MAX));
                let options = selvedge_graph::Options { model, reductions, preemptions, limits };
                let mut storage = runtime::shared(|shared| std::mem::take(&mut shared.storage));
                let result = selvedge_graph::explore_in(machine, &options, line, None, &mut storage);
                runtime::shared(|shared| shared.storage = storage);
                result
            }
        };
        runtime::shared(|shared| shared.restart |= shared.looks_into_freed());
        if result.violations.is_empty() && result.unsupported.is_none() && result.interruption.is_none() {
            runtime::shared(|shared| shared.restart |= shared.awaits.owes());
        }
        // Every model has an execution. That there is none is an error of the library's own, in what it takes together.
        if is_empty(&result) && runtime::shared(|shared| shared.awaits.on || shared.retries.on) {
            learn_no_more();
            runtime::shared(|shared| shared.restart = true);
            was_empty = true;
        }
        // What was explored does not count if something has to be done otherwise from the start.
        if !runtime::shared(|shared| std::mem::take(&mut shared.restart)) {
            say_what_was_in_vain(&mut result, starts, in_vain);
            if !builder.tries_out {
                result.notes.push(SPOILED.to_owned());
            }
            if was_empty {
                result.notes.push(EMPTY.to_owned());
            }
            return Some(result);
        }
        if runtime::is_spoiled() {
            return None;
        }
        in_vain += result.complete + result.blocked;
        if scope.is_tried && scope.executions.is_some_and(|most| in_vain >= most) {
            // What was found does not count either.
            return Some(Exploration { interruption: Some(Interruption::MaxExecutions), ..Exploration::default() });
        }
    }
}

/// Why loops are explored iteration by iteration if nothing can be tried out.
const SPOILED: &str = "loops are explored iteration by iteration: when it was tried out what one does, a destructor panicked \
                       because of a panic, or did not come to an end";

/// The same if nothing was left.
const EMPTY: &str = "loops are explored iteration by iteration: no execution was left when they were taken together. That is an \
                     error of Selvedge; please report it";

/// What loops do is not found out any more.
fn learn_no_more() {
    runtime::shared(|shared| {
        shared.awaits.clear();
        shared.retries.clear();
        (shared.awaits.on, shared.retries.on) = (false, false);
    });
}

/// What an exploration that starts again and again has done without.
fn say_what_was_in_vain(result: &mut Exploration, starts: u32, in_vain: u64) {
    if starts >= MOST_STARTS {
        result.notes.push(format!(
            "loops are explored iteration by iteration: there was something new to learn about them {starts} times"
        ));
    }
    if result.interruption == Some(Interruption::Time) && in_vain > 0 {
        result.notes.push(format!(
            "a part of the time was spent on {in_vain} executions that had to be explored again, with what was learned \
             about loops"
        ));
    }
}

fn stats(builder: &Builder, body: &Body, result: &mut Exploration, at: At) -> Stats {
    let mut stats = Stats { complete: result.complete, blocked: result.blocked, ..Stats::default() };
    let schedule = result.violations.first_mut().map(|found| std::mem::take(&mut found.schedule));
    if let (Some(found), Some(schedule)) = (result.violations.first(), schedule) {
        let config = runtime::shared(|shared| shared.config);
        let schedule = if config.spurious { choices::all(body, schedule) } else { schedule };
        let recorded = Recorded::new(at, config, found.violation.kind, schedule);
        stats.failure = Some(failure(builder, body, found, result, &recorded));
        stats.replay = Some(recorded.write());
    } else if let Some(unsupported) = &result.unsupported {
        stats.failure = Some(report::unsupported(unsupported));
    } else if result.interruption == Some(Interruption::MaxEvents) {
        stats.failure = Some(too_long(builder, result));
    }
    if let Some(why) = result.interruption {
        let explored = result.complete + result.blocked;
        stats.not_covered.push(format!("{}; {explored} executions were explored before", report::interruption(why)));
        stats.interrupted = matches!(why, Interruption::Time | Interruption::MaxExecutions);
    }
    if let Some(bound) = builder.preemption_bound.filter(|_| is_bounded(result)) {
        let counted = if runtime::shared(|shared| shared.config.spurious) {
            ", counting what happens for no reason as one each"
        } else {
            ""
        };
        let what = format!("executions that take more than {bound} preemptions{counted} (`preemption_bound`)");
        stats.not_covered.push(what);
    }
    stats.not_covered.extend(result.not_covered.iter().cloned());
    stats.notes = runtime::shared(|shared| shared.retries.notes().to_vec());
    stats.notes.extend(result.notes.iter().cloned());
    stats
}

/// What is wrong, if a violation does not come again when its execution is run once more.
fn comes_not_again(found: &Found, again: &Result<Replay, ReplayError>) -> Option<String> {
    let what = match again {
        Ok(Replay { stop: Some((_, Stop::Unsupported(unsupported))), .. }) => {
            return Some(report::unsupported(unsupported));
        }
        Ok(Replay { stop: None, threads, .. }) => match found.violation.kind {
            ViolationKind::Assertion => "no thread fails",
            kind if is_forever(kind) && threads.iter().all(|end| end.status == Status::Finished) => "all threads end",
            kind if is_forever(kind) && threads.iter().any(|end| goes_on(end, kind)) => "not all threads wait",
            _ => return None,
        },
        Err(ReplayError::NoThread { .. }) => "not all threads are there",
        _ => return None,
    };
    let violation = report::violation(&found.violation);
    let what = format!("this was found in one run: {}; and this in another: {what}", found.violation.message);
    let Stop::Unsupported(differs) = not_deterministic(&what, SourceSpan::default()) else { return None };
    Some(format!("{}\n{violation}", differs.feature))
}

/// Whether a thread could go on though all are said to wait. If some are said to spin, those that read are not asked: replays do
/// not know with which operations threads wait.
fn goes_on(end: &ThreadEnd, kind: ViolationKind) -> bool {
    let spawns = || matches!(end.waiting, Some((Op::Spawn { .. }, _)));
    end.enabled && (kind == ViolationKind::Deadlock || spawns())
}

/// What is wrong if an execution has more operations than it may have.
fn too_long(builder: &Builder, result: &Exploration) -> String {
    let places = result.bounds.iter().filter(|(bound, _)| matches!(bound.kind, BoundKind::Execution { .. }));
    let next = places.map(|(bound, _)| format!("the next one would be at {}", bound.place)).next();
    let what = runtime::shared(|shared| shared.unmarked.longest()).map(in_words).or(next);
    let what = what.map_or_else(String::new, |what| format!(": {what}"));
    format!(
        "an execution has more than {} operations{what}. If the model is that long, raise `Builder::max_branches` \
         (`LOOM_MAX_BRANCHES`); if it should not be, look for a loop that does not end\n",
        builder.max_branches,
    )
}

/// A loop that may never end.
fn in_words(longest: Longest) -> String {
    let Longest { rounds, thread, op, at } = longest;
    let (name, what, place) = (report::name(thread), report::operation(&op), runtime::span(at));
    format!(
        "{name} has performed this {rounds} times, and nothing has come of it: {what}, at {place}. A loop that waits \
         for others ends with `hint::spin_loop()` or `thread::yield_now()`, and is then explored without a bound unless it \
         also changes something itself, such as a counter"
    )
}

/// Whether what is wrong is that threads stay where they are.
fn is_forever(kind: ViolationKind) -> bool {
    matches!(kind, ViolationKind::Deadlock | ViolationKind::Livelock)
}

/// A violation with the execution that shows it.
fn failure(builder: &Builder, body: &Body, found: &Found, result: &Exploration, recorded: &Recorded) -> String {
    let mut text = report::violation(&found.violation);
    let model = match builder.engine {
        Engine::Graph => builder.memory_model,
        Engine::Trace => MemoryModel::Sc,
    };
    let explored = result.complete + result.blocked;
    let model = model.name();
    let (differs, lines) = on_sound_thread(|| shown(body, found, recorded));
    if let Some(differs) = differs {
        text = differs;
    }
    let before = match explored {
        0 => "the first that was explored".to_owned(),
        1 => "one other was explored before it".to_owned(),
        n => format!("{n} others were explored before it"),
    };
    text.push_str(&format!("in this execution (memory model {model}; {before}):\n"));
    text.push_str(&lines);
    text
}

/// Does something with a model on this thread of the operating system, or if what was tried out has spoiled that, on another.
fn on_sound_thread<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    if !runtime::is_spoiled() {
        return f();
    }
    let (config, retries) = runtime::shared(|shared| (shared.config, std::mem::take(&mut shared.retries)));
    let (result, retries) = elsewhere(|| {
        let running = Running::start(config);
        runtime::shared(|shared| shared.retries = retries);
        let result = f();
        let retries = runtime::shared(|shared| std::mem::take(&mut shared.retries));
        drop(running);
        (result, retries)
    });
    runtime::shared(|shared| shared.retries = retries);
    result
}

/// Runs the execution of a violation again: what is wrong if that does not come again, and a table of its steps.
fn shown(body: &Body, found: &Found, recorded: &Recorded) -> (Option<String>, String) {
    let again = replay(body, recorded);
    let differs = comes_not_again(found, &again);
    let shown = |replay: Replay| table(&replay, is_forever(found.violation.kind));
    // A thread that cannot be run again for the table is no reason to lose the verdict.
    let not_shown = |error| format!("  (the steps cannot be shown: {error} Or is the model not deterministic?)\n");
    (differs, again.map_or_else(not_shown, shown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::atomic::AtomicUsize;
    use crate::sync::atomic::Ordering::{AcqRel, Relaxed};
    use crate::thread;
    use std::panic::Location;
    use std::time::Duration;

    fn repeat(load: impl Fn() -> usize, exchange: impl Fn(usize) -> bool) {
        while !exchange(load()) {}
    }

    /// Many loops, each of which is learned when a thread first comes to it.
    fn loops(all: bool) {
        let x = AtomicUsize::new(0);
        x.store(1, Relaxed);
        repeat(|| x.load(Relaxed), |old| x.compare_exchange(old, old + 1, AcqRel, Relaxed).is_ok());
        repeat(|| x.load(Relaxed), |old| x.compare_exchange(old, old + 1, AcqRel, Relaxed).is_ok());
        if all {
            repeat(|| x.load(Relaxed), |old| x.compare_exchange(old, old + 1, AcqRel, Relaxed).is_ok());
            repeat(|| x.load(Relaxed), |old| x.compare_exchange(old, old + 1, AcqRel, Relaxed).is_ok());
            repeat(|| x.load(Relaxed), |old| x.compare_exchange(old, old + 1, AcqRel, Relaxed).is_ok());
            repeat(|| x.load(Relaxed), |old| x.compare_exchange(old, old + 1, AcqRel, Relaxed).is_ok());
            repeat(|| x.load(Relaxed), |old| x.compare_exchange(old, old + 1, AcqRel, Relaxed).is_ok());
        }
        assert_eq!(x.load(Relaxed), if all { 8 } else { 3 });
    }

    #[test]
    fn an_exploration_does_not_start_again_for_ever() {
        let few = Builder::new().explore(|| loops(false));
        assert_eq!((few.failure, few.complete, few.notes), (None, 1, vec![]));
        let many = Builder::new().explore(|| loops(true));
        assert_eq!((many.failure, many.complete), (None, 1));
        assert!(many.notes.iter().any(|note| note.contains("iteration by iteration")), "{:?}", many.notes);
    }

    /// Too many executions for the time that there is.
    fn long() {
        let x = Arc::new([const { AtomicUsize::new(0) }; 4]);
        let handles = [0, 1, 2].map(|n| {
            let x = Arc::clone(&x);
            thread::spawn(move || {
                for m in 0..4 {
                    x[(n + m) % 4].store(n, Relaxed);
                    let _ = x[m].compare_exchange_weak(n, 7, Relaxed, Relaxed);
                }
            })
        });
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    }

    #[test]
    fn what_a_pass_has_no_time_left_for_is_not_covered() {
        let mut builder = Builder::new();
        builder.max_duration = Some(Duration::ZERO);
        let stats = builder.explore(long);
        assert_eq!((stats.failure, stats.spurious, stats.interrupted), (None, 0, true));
        for what in ["the bound on time", "for no reason"] {
            assert!(stats.not_covered.iter().any(|line| line.contains(what)), "{:?}", stats.not_covered);
        }
    }

    #[test]
    fn the_second_pass_has_what_the_first_one_has_left_of_the_time() {
        let running = Running::start(Config { spurious: true, ..Config::default() });
        let body: Body = Arc::new(long);
        let mut stats = Stats::default();
        let now = Some(Instant::now());
        second(&Builder::new(), &body, Location::caller(), now, &mut stats, &mut Line::new()).unwrap();
        drop(running);
        assert!(stats.not_covered.iter().any(|line| line.contains("the bound on time")), "{:?}", stats.not_covered);
    }
}

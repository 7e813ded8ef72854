//! A bound on preemptions leaves things out, and most who set one do so for models of which they do not know how large they are.
//! So it is tried first whether all can be explored without.
//!
//! [`Builder::bound_after`] executions are explored. If that is not all, random walks tell how many there are, and if these are no
//! more than [`NEAR`] times as many, all is explored from the start, up to [`FAR`] times as many: a hundred walks often miss branches
//! in which there is much. (An execution takes several times as long within a bound: what has been there is remembered, so
//! that nothing is explored twice.) Where that was in vain, what is explored within the bound comes later, but it comes. How far
//! one goes depends on the model only, and not on how fast it runs, unless there is a bound on time, or walks take longer than
//! [`LONGEST`].

use super::{REDUCTIONS, Scope, explore_within, is_without_end};
use crate::machine::{Body, RustMachine};
use crate::model::{Builder, Engine};
use crate::progress::Line;
use crate::runtime;
use crate::shared::Shared;
use selvedge_graph::{Effort, Options};
use selvedge_machine::session::Limits;
use selvedge_machine::verdict::{Exploration, Interruption};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// If there seem to be no more than so many times [`Builder::bound_after`] executions, they are explored,
const NEAR: u64 = 8;
/// up to so many times as many.
const FAR: u64 = 20;
/// The guess is made from so many walks, unless they take longer than this.
const WALKS: u32 = 100;
const LONGEST: Duration = Duration::from_secs(5);
/// So often it is made anew, since something was learned.
const GUESSES: u32 = 4;

/// Explores a pass. If there is a bound on preemptions, it is tried first whether all can be explored without.
pub(super) fn explore(
    builder: &Builder,
    body: &Body,
    deadline: Option<Instant>,
    line: &mut Line,
) -> Option<Exploration> {
    let executions = builder.max_permutations.map(|n| n as u64);
    let preemptions = builder.preemption_bound.filter(|_| builder.engine == Engine::Graph);
    if preemptions.is_some() && builder.bound_after > 0 {
        // Most of the time is for what was asked for.
        let now = Instant::now();
        let deadline = deadline.map(|deadline| now + deadline.saturating_duration_since(now) / 4);
        let left_out = runtime::shared(|shared| shared.left_out);
        let mut try_all = |most: u64| {
            let executions = Some(executions.map_or(most, |limit| limit.min(most)));
            runtime::shared(|shared| shared.left_out = left_out);
            explore_within(builder, body, Scope { preemptions: None, executions, is_tried: true, deadline }, line)
        };
        let most = builder.bound_after as u64;
        let mut all = try_all(most)?;
        if all.interruption == Some(Interruption::MaxExecutions)
            && all.violations.is_empty()
            && executions.is_none_or(|limit| limit > most)
        {
            let guess = guess(builder, body, deadline);
            if runtime::is_spoiled() {
                return None;
            }
            if guess.is_some_and(|guess| guess <= NEAR.saturating_mul(most)) {
                all = try_all(FAR.saturating_mul(most))?;
            }
        }
        let has_ended = all.interruption.is_none() && all.unsupported.is_none() && !is_without_end(&all);
        if has_ended || !all.violations.is_empty() {
            return Some(all);
        }
        runtime::shared(|shared| shared.left_out = left_out);
    }
    explore_within(builder, body, Scope { preemptions, executions, is_tried: false, deadline }, line)
}

/// How many executions there are without a bound, with what is known of the model's loops; none if walks find out something about
/// these again and again that was not.
fn guess(builder: &Builder, body: &Body, deadline: Option<Instant>) -> Option<u64> {
    let limits = Limits { max_events: builder.max_branches, ..Limits::default() };
    let options = Options { model: builder.memory_model, reductions: REDUCTIONS, preemptions: None, limits };
    for _ in 0..GUESSES {
        let left = deadline.map_or(LONGEST, |deadline| deadline.saturating_duration_since(Instant::now()).min(LONGEST));
        runtime::shared(Shared::start);
        let machine = RustMachine::new(Arc::clone(body));
        let guess = selvedge_graph::estimate_with(machine, &options, Effort { time: left, walks: WALKS });
        let is_news = runtime::shared(|shared| std::mem::take(&mut shared.restart));
        if !is_news || runtime::is_spoiled() {
            let executions = guess.map(|guess| guess.complete + guess.blocked);
            // Numbers that are too large for it become the largest.
            return executions.filter(|n| *n >= 1.0).map(|n| n as u64);
        }
    }
    None
}

//! `check --estimate`: how much there is to explore, from random walks.
//!
//! Nothing is checked, so the exit code is that of an incomplete exploration.

use crate::args::CheckArgs;
use crate::check;
use crate::engine::Engine;
use crate::exit::{Exit, Failure};
use crate::{interrupt, output};
use indicatif::{HumanCount, HumanDuration};
use selvedge_graph::Estimate;
use std::time::Duration;

/// How long the random walks go on, unless the user says otherwise.
const TIME: Duration = Duration::from_secs(2);

/// Runs the command.
pub fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    let loaded = check::prepare(args)?;
    let Engine::Graph(_) = loaded.engine else {
        return Err(Failure::usage(
            "--estimate belongs to the graph engine: add --engine graph, perhaps with --model sc",
        ));
    };
    let options = check::limits(args, &loaded.question, interrupt::flag());
    let estimate = loaded.engine.estimate(
        &|| check::machine(&loaded),
        &loaded.question.reductions,
        options,
        args.limits.time.unwrap_or(TIME),
    );
    let Some(estimate) = estimate else {
        return Err(Failure::input("no estimate: the program stops before it does anything, or cannot be run"));
    };
    output::print(&describe(&estimate));
    Ok(Exit::Incomplete)
}

fn describe(estimate: &Estimate) -> String {
    let all = estimate.complete + estimate.blocked;
    let off = if all > 0.0 { 100.0 * estimate.error / all } else { 0.0 };
    let blocked = match estimate.blocked {
        none if none < 0.5 => String::new(),
        some => format!(", {} of them blocked", count(some)),
    };
    let time = match estimate.seconds {
        short if short < 1.0 => "less than a second".to_owned(),
        long if long > 1e9 => "more than a human life".to_owned(),
        seconds => HumanDuration(Duration::from_secs_f64(seconds)).to_string(),
    };
    format!(
        "estimate: about {} executions (standard error {off:.0} %){blocked}; about {time} with one job\n  \
         from {} random walks; nothing was checked\n",
        count(all),
        HumanCount(u64::from(estimate.walks)),
    )
}

fn count(number: f64) -> String {
    if number < 1e15 { HumanCount(number.round() as u64).to_string() } else { format!("{number:.1e}") }
}

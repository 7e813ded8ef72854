//! `check --estimate`: how much there is to explore, from random walks.
//!
//! Nothing is checked, so the exit code is that of an incomplete exploration.

use crate::args::CheckArgs;
use crate::check;
use crate::engine::Engine;
use crate::exit::{Exit, Failure};
use crate::progress::Line;
use crate::{interrupt, output};
use indicatif::{HumanCount, HumanDuration};
use selvedge_graph::Estimate;
use selvedge_machine::Unsupported;
use selvedge_machine::session::Limits;
use selvedge_machine::verdict::{Exploration, Interruption};
use std::path::Path;
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
    let limits = check::limits(args, &loaded.question, interrupt::flag());
    let (reductions, time) = (&loaded.question.reductions, args.limits.time.unwrap_or(TIME));
    let estimate = loaded.engine.estimate(&|| check::machine(&loaded), reductions, limits.clone(), time);
    let Some(estimate) = estimate else {
        let first = Limits { max_executions: Some(1), time: Some(time), ..limits };
        let algorithm = args.search.algorithm.algorithm();
        let line = &mut Line::new(true);
        let explored = loaded.engine.explore(&|| check::machine(&loaded), 1, reductions, algorithm, first, line);
        return Err(Failure::input(format!("no estimate: {}", reason(&explored))));
    };
    if let Some(path) = &args.report.json {
        output::write(path, &as_json(&estimate))?;
    }
    if args.report.json.as_deref() != Some(Path::new("-")) {
        output::print(&describe(&estimate));
    }
    Ok(Exit::Incomplete)
}

/// Why there is no estimate.
fn reason(explored: &Exploration) -> String {
    if let Some(Unsupported { feature, place }) = &explored.unsupported {
        return format!("{feature} at {place} is not supported");
    }
    if let Some(found) = explored.violations.first() {
        return format!(
            "the first execution ends with a violation ({}); check without --estimate",
            found.violation.kind
        );
    }
    if let Some((bound, _)) = explored.bounds.first() {
        return format!("a bound was reached: {} at {}", bound.what, bound.place);
    }
    match explored.interruption {
        Some(Interruption::MaxEvents) => {
            "an execution has more steps than --max-events allows, so a loop may never end".to_owned()
        }
        Some(Interruption::User) => "it was interrupted".to_owned(),
        _ => "no random walk came to an end in time; --time gives it more".to_owned(),
    }
}

fn as_json(estimate: &Estimate) -> String {
    let Estimate { complete, blocked, error, seconds, walks } = estimate;
    let json = serde_json::json!({
        "estimate": {
            "complete": complete, "blocked": blocked, "standard_error": error, "seconds": seconds, "walks": walks,
        }
    });
    format!("{json:#}\n")
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
        seconds => format!("about {}", HumanDuration(Duration::from_secs_f64(seconds))),
    };
    let executions = if all.round() == 1.0 { "execution" } else { "executions" };
    format!(
        "estimate: about {} {executions} (standard error {off:.0} %){blocked}; {time} with one job\n  \
         from {} random walks; nothing was checked\n",
        count(all),
        HumanCount(u64::from(estimate.walks)),
    )
}

fn count(number: f64) -> String {
    if number < 1e15 { HumanCount(number.round() as u64).to_string() } else { format!("{number:.1e}") }
}

//! The report for people: what is wrong, where, the interleaving as a message sequence chart, how to see it again; then
//! the answer, what it stands on and what it leaves open.

use super::document::{Document, Run, Seen};
use annotate_snippets::Level;
use selvedge_machine::{SourceSpan, Stop, Violation};
use selvedge_messages::chart;
use selvedge_messages::replay::Replay;
use selvedge_report::snippet;
use selvedge_report::style::{self, paint};
use selvedge_report::verdict::plural;
use std::fmt::Write;

/// How to lay out a report.
pub struct Layout {
    pub width: usize,
    pub quiet: bool,
    pub all: bool,
}

/// The whole report.
pub fn render(document: &Document, trace: Option<&str>, layout: &Layout) -> String {
    let mut out = String::new();
    let several = document.runs.iter().map(|run| run.seen.len()).sum::<usize>() > 1;
    let mut number = 0;
    for run in &document.runs {
        for seen in &run.seen {
            number += 1;
            if layout.quiet {
                let v = &seen.violation;
                let place = v.places.first().map_or(String::new(), |(span, _)| format!("{span}: "));
                let _ = writeln!(out, "{place}{} {}", paint(style::BAD, format!("error[{}]:", v.kind)), v.message);
                continue;
            }
            out.push_str(&violation(seen, layout.width));
            if let Some(trace) = trace {
                let which = if several { format!(" --violation {number}") } else { String::new() };
                let _ = writeln!(out, "{} selvedge replay {trace}{which}\n", paint(style::STRONG, "Replay:"));
            }
        }
        if let Some(unsupported) = &run.exploration.unsupported {
            let title = format!("not supported: {}", unsupported.feature);
            let places = [(unsupported.place.clone(), "reached here".to_owned())];
            out.push_str(&code(None, &title, &places, layout.width));
            out.push('\n');
        }
        out.push_str(&summary(document, run, layout));
    }
    out
}

fn code(kind: Option<&str>, title: &str, places: &[(SourceSpan, String)], width: usize) -> String {
    snippet::render(Level::ERROR, kind, title, places, width, &snippet::from_disk) + "\n"
}

/// What was found when a schedule was run again.
pub fn violation_of(replay: &Replay) -> Option<Violation> {
    replay.stops.iter().find_map(|stop| match stop {
        Stop::Violation(violation) => Some((**violation).clone()),
        _ => None,
    })
}

/// A violation with the execution that shows it.
pub fn violation(seen: &Seen, width: usize) -> String {
    let v = &seen.violation;
    let mut out = code(Some(v.kind.name()), &v.message, &v.places, width);
    out.push('\n');
    let heading = paint(style::STRONG, "Interleaving:");
    match &seen.shown {
        Err(why) => {
            let _ = writeln!(out, "{heading} cannot be shown: {why}");
        }
        Ok((replay, printed)) => {
            let _ = writeln!(out, "{heading} {}", plural(replay.records.len() as u64, "step"));
            for line in chart::text(replay).lines() {
                let _ = writeln!(out, "  {line}");
            }
            if !printed.is_empty() {
                let _ = writeln!(out, "{}", paint(style::STRONG, "Output of this execution, by process:"));
                for line in printed.lines() {
                    let _ = writeln!(out, "  | {line}");
                }
            }
        }
    }
    out.push('\n');
    out
}

fn summary(document: &Document, run: &Run, layout: &Layout) -> String {
    let e = &run.exploration;
    let headline = match run.answer() {
        "violation" => {
            let noun = if layout.all { "distinct violation" } else { "violation" };
            format!("{} {} found", paint(style::BAD, "violation:"), plural(e.violations.len() as u64, noun))
        }
        "verified" => format!("{} no violation in any interleaving", paint(style::GOOD, "verified:")),
        _ => format!("{} not everything was explored", paint(style::WARN, "incomplete:")),
    };
    let mut out = format!("{headline} ({})\n", run.entry);
    if layout.quiet {
        return out;
    }
    let asked = &document.asked;
    let delivery = if asked.fifo { "messages arrive in order per sender" } else { "messages arrive at once" };
    let observers = if asked.observers { "with observers" } else { "without observers" };
    let mut explored = plural(e.complete, "interleaving");
    if e.blocked > 0 {
        let _ = write!(explored, ", {} blocked", e.blocked);
    }
    let rate = (e.complete + e.blocked) as f64 / run.seconds.max(1e-6);
    let _ = write!(explored, ", at most {}, {:.2} s", plural(e.longest as u64, "step"), run.seconds);
    if e.complete + e.blocked > 1000 {
        let _ = write!(explored, " ({rate:.0} a second)");
    }
    let checked = if asked.deadlocks {
        "abnormal ends of processes, processes that wait forever"
    } else {
        "abnormal ends of processes"
    };
    let rows = [
        ("asked", format!("Erlang, {delivery}, {observers}; loaded in {:.2} s", document.load_seconds)),
        ("explored", explored),
        ("checked", checked.to_owned()),
    ];
    for (name, text) in rows {
        let _ = writeln!(out, "  {} {text}", paint(style::FAINT, format!("{name:<8}")));
    }
    let _ = writeln!(out, "  {}", paint(style::FAINT, "not covered"));
    for item in run.not_covered().into_iter().chain(taken_for_granted(document)) {
        let _ = writeln!(out, "    - {item}");
    }
    out
}

/// What every answer stands on.
fn taken_for_granted(document: &Document) -> Vec<String> {
    let mut list = vec!["time: clocks stand still, a timeout or timer may come at any moment".to_owned()];
    if let Some(time) = document.asked.after_timeout {
        list.push(format!("timeouts of receives of {time} ms and more: they never come (--after-timeout)"));
    }
    if !document.asked.deadlocks {
        list.push("processes that wait forever (--no-deadlocks)".to_owned());
    }
    list.push("other nodes, ports, code that is changed while it runs".to_owned());
    list
}

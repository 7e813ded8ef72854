//! The report for people.
//!
//! A violation is told in the order in which a reader asks: what happened, where in the source, how the execution came
//! to it, who waits for whom, what the program had printed, how to see it again. A success says what was proved before
//! it says how much work it was, and then what was *not* covered.

use crate::snippet::{self, Sources};
use crate::style::{self, paint};
use crate::verdict::{Answer, Question, Shown, Verdict, model_name, plural};
use crate::words::Names;
use crate::{fold, interleaving, waiting, weak};
use annotate_snippets::Level;
use selvedge_machine::schedule::Replay;
use selvedge_machine::verdict::Interruption;
use selvedge_machine::{Bound, BoundKind, Unsupported};
use std::fmt::Write;

/// How to lay out a report.
#[derive(Clone, Copy)]
pub struct Layout<'s> {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether to show every step.
    pub full: bool,
    /// Where the source comes from.
    pub sources: Sources<'s>,
}

impl Default for Layout<'_> {
    fn default() -> Self {
        Layout { width: 100, full: false, sources: &snippet::from_disk }
    }
}

/// The whole report: violations first, the answer last. `trace` is the file that `replay` can read.
pub fn render(verdict: &Verdict, trace: Option<&str>, layout: &Layout) -> String {
    let mut out = String::new();
    let several = verdict.shown.len() > 1;
    for (n, shown) in verdict.shown.iter().enumerate() {
        out.push_str(&violation(shown, &verdict.question.model, layout));
        if let Some(trace) = trace {
            let which = if several { format!(" --violation {}", n + 1) } else { String::new() };
            heading(&mut out, "Replay", &format!("selvedge replay {}{which}", shell_word(trace)));
        }
        out.push('\n');
    }
    if let Some(unsupported) = &verdict.exploration.unsupported {
        out.push_str(&unsupported_feature(unsupported, layout));
        out.push('\n');
    }
    out.push_str(&summary(verdict));
    out
}

/// One line per violation, and one for the answer.
pub fn brief(verdict: &Verdict) -> String {
    let mut out = String::new();
    for found in &verdict.exploration.violations {
        let v = &found.violation;
        let place = v.places.first().map_or(String::new(), |(span, _)| format!("{span}: "));
        let kind = paint(style::BAD, format!("error[{}]:", v.kind));
        writeln!(out, "{place}{kind} {}", v.message).expect("writing to a string succeeds");
    }
    if let Some(u) = &verdict.exploration.unsupported {
        let what = paint(style::BAD, "error: not supported:");
        writeln!(out, "{}: {what} {}", u.place, u.feature).expect("writing to a string succeeds");
    }
    out + &headline(verdict) + "\n"
}

/// A violation with the execution that shows it, found under a memory model.
pub fn violation(shown: &Shown, model: &str, layout: &Layout) -> String {
    let v = &shown.violation;
    let kind = v.kind.name();
    let mut out = snippet::render(Level::ERROR, Some(kind), &v.message, &v.places, layout.width, layout.sources);
    out.push_str("\n\n");
    let replay = match &shown.replay {
        Ok(replay) => replay,
        Err(reason) => {
            heading(&mut out, "Interleaving", &format!("cannot be shown: {reason}"));
            return out;
        }
    };
    if replay.events.is_empty() {
        heading(&mut out, "Interleaving", "none: it happens before any step that another thread could notice");
    } else {
        execution(&mut out, replay, model);
        out.push_str(&interleaving::render(replay, v, layout.width, layout.full));
    }
    let names = Names::of(replay);
    if replay.weak {
        let why = "No interleaving explains it, since each of these steps would have to come before the next";
        section(&mut out, why, "", weak::explain(replay, &names).iter().map(String::as_str));
    }
    // Other violations are shown up to where they happen: threads that are not there yet do not wait.
    let blocked = if fold::is_about_waiting(v) { waiting::describe(replay, &names) } else { Vec::new() };
    section(&mut out, "Blocked", "", blocked.iter().map(String::as_str));
    section(&mut out, "Output of this execution", "| ", replay.output.lines());
    out.push('\n');
    out
}

/// What the list of steps is.
fn execution(out: &mut String, replay: &Replay, model: &str) {
    if replay.weak {
        return heading(out, "Execution", &weak::heading(replay, model));
    }
    let steps = plural(replay.events.len() as u64, "step");
    let switches = match interleaving::context_switches(replay) {
        1 => "1 context switch".to_owned(),
        n => format!("{n} context switches"),
    };
    heading(out, "Interleaving", &format!("{steps}, {switches} (>)"));
}

/// Something that cannot be executed, at its place in the source.
pub fn unsupported_feature(unsupported: &Unsupported, layout: &Layout) -> String {
    let title = format!("not supported: {}", unsupported.feature);
    let places = [(unsupported.place.clone(), "reached here".to_owned())];
    snippet::render(Level::ERROR, None, &title, &places, layout.width, layout.sources) + "\n"
}

/// The answer, what it stands on, and what it leaves open.
pub fn summary(verdict: &Verdict) -> String {
    let mut out = headline(verdict) + "\n";
    let rows =
        [("asked", asked(&verdict.question)), ("explored", explored(verdict)), ("checked", checked(&verdict.question))];
    for (name, text) in rows {
        writeln!(out, "  {} {text}", paint(style::FAINT, format!("{name:<8}"))).expect("writing to a string succeeds");
    }
    for note in &verdict.exploration.notes {
        writeln!(out, "  {} {note}", paint(style::FAINT, "note    ")).expect("writing to a string succeeds");
    }
    let not_covered = verdict.not_covered();
    if !not_covered.is_empty() {
        writeln!(out, "  {}", paint(style::FAINT, "not covered")).expect("writing to a string succeeds");
    }
    for item in not_covered {
        writeln!(out, "    - {item}").expect("writing to a string succeeds");
    }
    out
}

fn headline(verdict: &Verdict) -> String {
    let e = &verdict.exploration;
    match verdict.answer() {
        Answer::Violation => {
            let noun = if verdict.question.options.all { "distinct violation" } else { "violation" };
            format!("{} {} found", paint(style::BAD, "violation:"), plural(e.violations.len() as u64, noun))
        }
        Answer::Verified => {
            format!("{} {}", paint(style::GOOD, "verified:"), within(&e.bounds))
        }
        Answer::Incomplete => format!("{} {}", paint(style::WARN, "incomplete:"), incomplete_because(verdict)),
    }
}

/// What was verified, up to the bounds of loops.
fn within(bounds: &[(Bound, u64)]) -> String {
    let mut loops: Vec<(u32, String)> = Vec::new();
    for (bound, _) in bounds {
        if let BoundKind::Loop { iterations } = bound.kind {
            loops.push((iterations, bound.place.to_string()));
        }
    }
    loops.sort();
    loops.dedup();
    match &loops[..] {
        [] => "no violation in any execution".to_owned(),
        [(n, place)] => format!("no error up to {} of the loop at {place}", plural(u64::from(*n), "iteration")),
        [(n, place), others @ ..] => {
            let others = plural(others.len() as u64, "other loop");
            format!("no error up to {} of the loop at {place} and {others}", plural(u64::from(*n), "iteration"))
        }
    }
}

fn incomplete_because(verdict: &Verdict) -> String {
    let e = &verdict.exploration;
    let why = match (e.interruption, &e.unsupported) {
        (_, Some(_)) => "the program reaches something that is not supported",
        (Some(Interruption::User), _) => "interrupted",
        (Some(Interruption::Time), _) => "the given time is over",
        (Some(Interruption::MaxExecutions), _) => "the given number of executions is reached",
        (Some(Interruption::MaxEvents), _) => "an execution does not end within the given number of steps",
        _ if verdict.failure.is_some() => "the program could not be loaded",
        _ => "some executions were cut off",
    };
    format!("no violation found so far, but {why}")
}

fn asked(question: &Question) -> String {
    let model = model_name(&question.model);
    let reductions = match question.reductions.as_slice() {
        [] => "no further reductions".to_owned(),
        list => format!("reductions {}", list.join(", ")),
    };
    let o = &question.options;
    let mut text = format!("{model}, {} engine, algorithm {}, {reductions}", question.engine, question.algorithm);
    if let Some(unroll) = o.unroll {
        write!(text, "; loops up to {}", plural(u64::from(unroll), "round")).expect("writing to a string succeeds");
    }
    if let Some((low, high)) = o.nondet {
        write!(text, "; nondeterministic values {low}..{high}").expect("writing to a string succeeds");
    }
    text
}

fn explored(verdict: &Verdict) -> String {
    let e = &verdict.exploration;
    let mut text = format!("{} complete, {} blocked", plural(e.complete, "execution"), e.blocked);
    if e.redundant > 0 {
        write!(text, ", {} redundant", e.redundant).expect("writing to a string succeeds");
    }
    let longest = plural(e.longest as u64, "step");
    write!(text, "; the longest has {longest}; {}", time(verdict.seconds)).expect("writing to a string succeeds");
    let all = (e.complete + e.blocked + e.redundant) as f64;
    if verdict.seconds >= 0.1 && all > 0.0 {
        write!(text, " ({:.0} executions/s)", all / verdict.seconds).expect("writing to a string succeeds");
    }
    write!(text, " after {} to load", time(verdict.load_seconds)).expect("writing to a string succeeds");
    text
}

fn checked(question: &Question) -> String {
    let o = &question.options;
    let mut checks = vec!["assertions", "memory errors", "misuse of locks", "arithmetic", "abort"];
    let optional = [
        (o.data_races, "data races"),
        (o.deadlocks, "deadlocks"),
        (o.leaks, "leaks"),
        (o.exit_code_errors, "exit status"),
    ];
    checks.extend(optional.into_iter().filter_map(|(on, name)| on.then_some(name)));
    checks.join(", ")
}

/// A duration with about three digits.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{:.0} ms", s * 1000.0),
        s if s < 100.0 => format!("{s:.2} s"),
        s => format!("{}m{:02.0}s", (s / 60.0).floor(), (s % 60.0).floor()),
    }
}

fn heading(out: &mut String, name: &str, text: &str) {
    writeln!(out, "{} {text}", paint(style::STRONG, format!("{name}:"))).expect("writing to a string succeeds");
}

fn section<'l>(out: &mut String, name: &str, bar: &str, lines: impl Iterator<Item = &'l str>) {
    let mut lines = lines.peekable();
    if lines.peek().is_some() {
        writeln!(out, "\n{}", paint(style::STRONG, format!("{name}:"))).expect("writing to a string succeeds");
    }
    for line in lines {
        // A program may print anything; control characters must not reach the terminal.
        let line: String = line.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect();
        writeln!(out, "  {}{line}", style::paint_some(style::FAINT, bar)).expect("writing to a string succeeds");
    }
}

/// A word as a shell reads it.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

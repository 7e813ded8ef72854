//! The rows of an execution, as a table with one column per thread or, where that is too wide, as a list.
//!
//! ```text
//!  step  line | main             | worker#1     | worker#2
//!     1    31 | >create worker#1 |              |
//!     2    32 |  create worker#2 |              |
//!     3    12 |                  | >read x (0)  |
//!     4    12 |                  |              | >read x (0)
//! ```
//!
//! A `>` marks a context switch: the step was made by another thread than the one before it. A `*` marks the steps that
//! the violation is about. If no interleaving explains the execution, a read also says what it reads from (`<-`), and what
//! it does not see (`!`). What a thread was doing when the execution ended follows behind the last step.

use crate::fold::{self, Part};
use crate::style;
use crate::verdict::plural;
use crate::weak;
use crate::words::{self, Names};
use anstyle::Style;
use selvedge_machine::schedule::Replay;
use selvedge_machine::{Op, SourceSpan, Status, Stop, ThreadId, Violation, ViolationKind};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Narrower columns than this are hard to read.
const MIN_COLUMN: usize = 16;

/// A line of an execution.
struct Row {
    /// The number of the step, from 1; none behind the last.
    step: Option<usize>,
    /// Where, in short.
    place: String,
    /// Whose it is; none for a fold over several threads.
    thread: Option<ThreadId>,
    /// What happens, one or more lines.
    text: Vec<String>,
    mark: Mark,
    /// Whether another thread made the step before.
    switched: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Plain,
    Culprit,
    Fold,
    End,
}

/// The interleaving that shows a violation.
pub fn render(replay: &Replay, violation: &Violation, width: usize, full: bool) -> String {
    let names = Names::for_violation(replay, violation);
    let parts = if full { fold::unfolded(replay) } else { fold::fold(replay, violation) };
    let rows = rows(replay, violation, &parts, &names);
    let columns: Vec<ThreadId> =
        rows.iter().filter_map(|row| row.thread).collect::<BTreeSet<_>>().into_iter().collect();
    let gutter = Gutter::fit(&rows);
    match column_widths(&rows, &columns, &names, width.saturating_sub(gutter.width())) {
        Some(widths) => table(&rows, &columns, &widths, &gutter, &names),
        None => list(&rows, &columns, width, &gutter, &names),
    }
}

/// How often another thread goes on.
pub fn context_switches(replay: &Replay) -> usize {
    replay.events.windows(2).filter(|pair| pair[0].thread != pair[1].thread).count()
}

fn rows(replay: &Replay, violation: &Violation, parts: &[Part], names: &Names) -> Vec<Row> {
    let culprits = fold::culprits(replay, violation);
    let short = ShortPlaces::of(replay, violation);
    let failed = failed_step(replay, violation);
    let mut rows = Vec::new();
    let switched = |n: usize| n == 0 || replay.events[n - 1].thread != replay.events[n].thread;
    for part in parts {
        rows.push(match part {
            Part::Step(n) => {
                let event = &replay.events[*n];
                let switched = switched(*n);
                let mark = if culprits.contains(n) { Mark::Culprit } else { Mark::Plain };
                let text = match failed == Some(*n) {
                    true => words::describe_failed(event, names),
                    false if replay.weak => describe_weak(replay, *n, names),
                    false => words::describe(event, names),
                };
                Row {
                    step: Some(n + 1),
                    place: short.show(&event.site.span),
                    thread: Some(event.thread),
                    text,
                    mark,
                    switched,
                }
            }
            Part::Fold(steps) => {
                Row { switched: steps.first().is_some_and(|n| switched(*n)), ..fold_row(replay, steps) }
            }
        });
    }
    rows.extend(end_rows(replay, violation, &short, names));
    rows
}

/// A step of an execution that no interleaving explains, with what it reads from and what it misses.
fn describe_weak(replay: &Replay, n: usize, names: &Names) -> Vec<String> {
    let event = &replay.events[n];
    let mut text = words::describe(event, names);
    if let (Some(first), Some(source)) = (text.first_mut(), weak::source(event)) {
        *first = format!("{first} {source}");
    }
    text.extend(weak::notes(replay, n, names));
    text
}

/// The step that could not be made because of what it would have touched: it is the last of its thread.
fn failed_step(replay: &Replay, violation: &Violation) -> Option<usize> {
    use ViolationKind::{InvalidPointer, OutOfBounds, UninitialisedRead, UseAfterFree};
    let (thread, _) = replay.stop.as_ref()?;
    let is_about_memory = matches!(violation.kind, UseAfterFree | OutOfBounds | UninitialisedRead | InvalidPointer);
    let last = replay.events.iter().rposition(|event| event.thread == *thread)?;
    let place = violation.places.first().map(|(span, _)| span);
    (is_about_memory && place == Some(&replay.events[last].site.span)).then_some(last)
}

fn fold_row(replay: &Replay, steps: &[usize]) -> Row {
    let threads: BTreeSet<ThreadId> = steps.iter().map(|&n| replay.events[n].thread).collect();
    let count = plural(steps.len() as u64, "step");
    let single = if threads.len() == 1 { threads.first().copied() } else { None };
    let text =
        if single.is_some() { format!("... {count}") } else { format!("... {count} of {} threads", threads.len()) };
    Row { step: None, place: String::new(), thread: single, text: vec![text], mark: Mark::Fold, switched: false }
}

/// What threads were left with: the one that stopped, and those that wait.
fn end_rows(replay: &Replay, violation: &Violation, short: &ShortPlaces, names: &Names) -> Vec<Row> {
    let mut rows = Vec::new();
    for end in &replay.threads {
        if let Some(site) = &end.spins
            && fold::is_about_waiting(violation)
        {
            let (text, place) = (vec!["spins".to_owned()], short.show(&site.span));
            rows.push(Row { step: None, place, thread: Some(end.thread), text, mark: Mark::End, switched: false });
        }
        if let (Status::Ready, Some((op, site))) = (end.status, &end.waiting)
            && (fold::is_about_waiting(violation) || waits_at(op, &site.span, violation))
        {
            let text = vec![format!("waits {}", words::describe_wait(op, site, names))];
            let place = short.show(&site.span);
            rows.push(Row { step: None, place, thread: Some(end.thread), text, mark: Mark::End, switched: false });
        }
    }
    if let Some((thread, Stop::Violation(_))) = &replay.stop
        // A data race is shown up to its second access; what the thread does next is not part of it.
        && violation.kind != ViolationKind::DataRace
    {
        let place = violation.places.first().map_or(String::new(), |(span, _)| short.show(span));
        let text = vec![format!("!! {}", violation.kind)];
        rows.push(Row { step: None, place, thread: Some(*thread), text, mark: Mark::End, switched: false });
    }
    rows
}

/// Whether a thread waits for a value at a place of a violation: one of two accesses that race may be such a wait.
fn waits_at(op: &Op, span: &SourceSpan, violation: &Violation) -> bool {
    let waits = matches!(op, Op::Access(access) if access.until.is_some());
    waits && fold::is_about(violation, span)
}

/// Shows a line alone where the whole execution is in one file.
struct ShortPlaces {
    single_file: bool,
}

impl ShortPlaces {
    fn of(replay: &Replay, violation: &Violation) -> ShortPlaces {
        let spans = replay.events.iter().map(|e| &e.site.span).chain(violation.places.iter().map(|(span, _)| span));
        let files: BTreeSet<&str> = spans.filter(|s| s.line != 0).map(|s| s.file.as_str()).collect();
        ShortPlaces { single_file: files.len() <= 1 }
    }

    fn show(&self, span: &SourceSpan) -> String {
        let file = span.file.rsplit('/').next().unwrap_or_default();
        match (span.line, self.single_file) {
            (0, _) => "?".to_owned(),
            (line, true) => line.to_string(),
            (line, false) => format!("{file}:{line}"),
        }
    }
}

/// The two columns on the left.
struct Gutter {
    step: usize,
    place: usize,
}

impl Gutter {
    fn fit(rows: &[Row]) -> Gutter {
        let step = rows.iter().filter_map(|row| row.step).max().unwrap_or(0).to_string().len().max("step".len());
        let place = rows.iter().map(|row| row.place.chars().count()).max().unwrap_or(0).max("line".len());
        Gutter { step, place }
    }

    fn width(&self) -> usize {
        self.step + self.place + 4
    }

    fn show(&self, row: &Row) -> String {
        let step = row.step.map_or(String::new(), |n| n.to_string());
        style::paint(style::FAINT, format!(" {step:>0$}  {1:>2$} ", self.step, row.place, self.place))
    }

    fn head(&self) -> String {
        style::paint(style::FAINT, format!(" {:>1$}  {2:>3$} ", "step", self.step, "line", self.place))
    }
}

/// The width of each column, its separator not included; none if they do not fit.
fn column_widths(rows: &[Row], columns: &[ThreadId], names: &Names, room: usize) -> Option<Vec<usize>> {
    const SEPARATOR: usize = 2;
    let natural = |thread: &ThreadId| {
        let cells = rows.iter().filter(|row| row.thread == Some(*thread)).flat_map(|row| &row.text);
        let cell = cells.map(|text| text.chars().count() + 2).max().unwrap_or(0);
        cell.max(names.thread(*thread).chars().count() + 2)
    };
    let widths: Vec<usize> = columns.iter().map(natural).collect();
    let separators = SEPARATOR * columns.len();
    if widths.iter().sum::<usize>() + separators <= room {
        return Some(widths);
    }
    let fair = fair_width(&widths, room.saturating_sub(separators));
    (fair >= MIN_COLUMN).then(|| widths.into_iter().map(|w| w.min(fair)).collect())
}

/// The largest width to which columns can be cut so that all fit: those that need less leave room to the others.
fn fair_width(widths: &[usize], room: usize) -> usize {
    let mut sorted = widths.to_vec();
    sorted.sort_unstable();
    let mut left = room;
    for (n, width) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - n);
        if *width > share {
            return share;
        }
        left -= width;
    }
    sorted.last().copied().unwrap_or(0)
}

fn table(rows: &[Row], columns: &[ThreadId], widths: &[usize], gutter: &Gutter, names: &Names) -> String {
    let bar = style::paint(style::FAINT, "|");
    let mut out = gutter.head();
    for (n, (thread, width)) in columns.iter().zip(widths).enumerate() {
        let name = cut(&names.thread(*thread), *width);
        let blanks = " ".repeat(width.saturating_sub(name.chars().count()));
        write!(out, "{bar} {}{blanks}", style::paint(style::thread(n).bold(), name))
            .expect("writing to a string succeeds");
    }
    trim_line(&mut out);
    for row in rows {
        let Some(column) = row.thread.and_then(|thread| columns.iter().position(|c| *c == thread)) else {
            let room = widths.iter().map(|width| width + 2).sum::<usize>().saturating_sub(2);
            let text = cut(&row.text.join(" "), room);
            writeln!(out, "{}{bar} {}", gutter.show(row), style::paint(style::FAINT, text))
                .expect("writing to a string succeeds");
            continue;
        };
        let room = widths[column] - 1;
        let cells: Vec<String> = row.text.iter().flat_map(|line| wrap(line, room)).collect();
        for (k, cell) in cells.iter().enumerate() {
            let mut line = if k == 0 { gutter.show(row) } else { " ".repeat(gutter.width()) };
            for (n, width) in widths.iter().enumerate() {
                let cell = if n == column { format!("{}{cell}", sign(row, k)) } else { String::new() };
                let blanks = " ".repeat(width.saturating_sub(cell.chars().count()) + 1);
                write!(line, "{bar}{}{blanks}", style::paint_some(row_style(row.mark, n), &cell))
                    .expect("writing to a string succeeds");
            }
            out.push_str(&line);
            trim_line(&mut out);
        }
    }
    out
}

fn list(rows: &[Row], columns: &[ThreadId], width: usize, gutter: &Gutter, names: &Names) -> String {
    let name_width = columns.iter().map(|t| names.thread(*t).chars().count()).max().unwrap_or(0);
    let name_width = name_width.min(MIN_COLUMN);
    let room = width.saturating_sub(gutter.width() + name_width + 2).max(MIN_COLUMN / 2);
    let mut out = String::new();
    for row in rows {
        let column = row.thread.and_then(|thread| columns.iter().position(|c| *c == thread)).unwrap_or(0);
        let name = row.thread.map_or(String::new(), |thread| cut(&names.thread(thread), name_width));
        let name = style::paint(style::thread(column).bold(), format!("{name:<name_width$}"));
        for (k, text) in row.text.iter().flat_map(|line| wrap(line, room)).enumerate() {
            let left = if k == 0 { gutter.show(row) } else { " ".repeat(gutter.width()) };
            let text = style::paint(row_style(row.mark, column), format!("{}{text}", sign(row, k)));
            writeln!(out, "{left}{name} {text}").expect("writing to a string succeeds");
        }
    }
    out
}

/// A name that is too long loses its end.
fn cut(name: &str, width: usize) -> String {
    match name.chars().count() <= width {
        true => name.to_owned(),
        false => name.chars().take(width.saturating_sub(1)).chain(['~']).collect(),
    }
}

fn sign(row: &Row, line: usize) -> char {
    match (row.mark, row.switched) {
        _ if line > 0 => ' ',
        (Mark::Culprit, _) => '*',
        (_, true) => '>',
        (_, false) => ' ',
    }
}

fn row_style(mark: Mark, column: usize) -> Style {
    match mark {
        Mark::Culprit | Mark::End => style::BAD,
        Mark::Fold => style::FAINT,
        Mark::Plain => style::thread(column),
    }
}

/// Ends a line without blanks at its end.
fn trim_line(out: &mut String) {
    out.truncate(out.trim_end().len());
    out.push('\n');
}

/// Breaks a line at blanks, and in the middle of a word only if there is no blank.
fn wrap(line: &str, room: usize) -> Vec<String> {
    let mut rest: Vec<char> = line.chars().collect();
    let mut lines = Vec::new();
    while rest.len() > room {
        let blank = rest[..=room].iter().rposition(|c| *c == ' ').filter(|at| *at > room / 2);
        let at = blank.unwrap_or(room);
        lines.push(rest[..at].iter().collect());
        let tail = rest[at..].iter().skip_while(|c| **c == ' ');
        rest = "  ".chars().chain(tail.copied()).collect();
    }
    lines.push(rest.into_iter().collect());
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn long_cells_break_at_blanks() {
        assert_eq!(wrap("CAS head: 0 -> 3 failed, found 2", 20), ["CAS head: 0 -> 3", "  failed, found 2"]);
        assert_eq!(wrap("a_very_long_name_without_blanks", 20), ["a_very_long_name_wit", "  hout_blanks"]);
        assert_eq!(wrap("short", 20), ["short"]);
    }
}

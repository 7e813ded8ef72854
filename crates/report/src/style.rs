//! The colours of reports.
//!
//! Renderers always write styled text; whoever prints it strips the styles where they are not wanted (a file, a pipe,
//! `NO_COLOR`). Meaning never depends on colour alone: whatever is red also says what is wrong.

use anstyle::{AnsiColor, Style};
use std::fmt::Display;

/// What is wrong.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// What went well.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// What is neither.
pub const WARN: Style = AnsiColor::Yellow.on_default().bold();
/// Headings and names.
pub const STRONG: Style = Style::new().bold();
/// What can be skipped at first reading.
pub const FAINT: Style = Style::new().dimmed();

const THREADS: [AnsiColor; 5] =
    [AnsiColor::Cyan, AnsiColor::Yellow, AnsiColor::Magenta, AnsiColor::Green, AnsiColor::Blue];

/// The colour of the n-th thread of a report.
pub fn thread(n: usize) -> Style {
    THREADS[n % THREADS.len()].on_default()
}

/// A text in a style.
pub fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// A text in a style, and nothing at all for an empty text.
pub fn paint_some(style: Style, text: &str) -> String {
    if text.is_empty() { String::new() } else { paint(style, text) }
}

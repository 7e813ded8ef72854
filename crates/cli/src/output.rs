//! Where reports go: terminal, files, standard output.

use crate::exit::Failure;
use selvedge_report::style::{self, paint};
use std::io::Write;
use std::path::Path;

/// The width of reports that do not go to a terminal.
const DEFAULT_WIDTH: usize = 120;

/// The columns of the terminal that reports are printed on.
pub fn width() -> usize {
    match terminal_size::terminal_size() {
        Some((terminal_size::Width(width), _)) => usize::from(width).max(20),
        None => DEFAULT_WIDTH,
    }
}

/// Prints a report. A reader that has seen enough (`| head`) is no error.
pub fn print(text: &str) {
    let mut out = anstream::stdout().lock();
    // The exit code says what matters even if nobody listens.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints what a program printed, unchanged.
pub fn print_raw(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints an error.
pub fn error(failure: &Failure) {
    anstream::eprintln!("{} {failure}", paint(style::BAD, "error:"));
    if let Some(help) = failure.help() {
        anstream::eprintln!("{} {help}", paint(style::STRONG, "help:"));
    }
}

/// Prints what clang had to say about a program that it accepted.
pub fn clang_said(warnings: &str) {
    if !warnings.is_empty() {
        anstream::eprintln!("{}", warnings.trim_end());
    }
}

/// Prints a warning.
pub fn warning(text: &str) {
    anstream::eprintln!("{} {text}", paint(style::WARN, "warning:"));
}

/// Writes a file, or standard output for `-`.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    if is_stdout(path) {
        print_raw(text);
        return Ok(());
    }
    let cannot = |error| Failure::usage(format!("{}: cannot be written: {error}", path.display()));
    std::fs::write(path, text).map_err(cannot)
}

/// Whether a path means standard output.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

//! How far an exploration is: a line on a terminal, if it takes longer than a second.

use selvedge_machine::verdict::Progress;
use selvedge_trace::Observer;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Shows a line now and then.
pub(crate) struct Line {
    started: Instant,
    shown: Option<Instant>,
    /// Not on a terminal, or nobody looks at it.
    silent: bool,
}

const AFTER: Duration = Duration::from_secs(1);
const EVERY: Duration = Duration::from_millis(200);

impl Line {
    /// A line that is not shown yet.
    pub fn new() -> Line {
        let silent = std::env::var_os("CI").is_some() || !std::io::stderr().is_terminal();
        Line { started: Instant::now(), shown: None, silent }
    }
}

/// The line.
fn text(progress: &Progress, time: Duration) -> String {
    let blocked = match progress.blocked {
        0 => String::new(),
        n => format!(", {n} blocked"),
    };
    format!("selvedge: {} executions{blocked}, {} s", progress.complete, time.as_secs())
}

impl Observer for Line {
    fn progress(&mut self, progress: &Progress) {
        if self.silent {
            return;
        }
        let now = Instant::now();
        let due = match self.shown {
            None => now.duration_since(self.started) >= AFTER,
            Some(shown) => now.duration_since(shown) >= EVERY,
        };
        if due {
            self.shown = Some(now);
            // A terminal that is gone is no reason to stop.
            let _ = write!(std::io::stderr(), "\r\x1b[K{}", text(progress, now.duration_since(self.started)));
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_many_executions_there_were() {
        let progress = Progress { complete: 12, blocked: 3, depth: 1, fraction: 0.0 };
        assert_eq!(text(&progress, Duration::from_secs(4)), "selvedge: 12 executions, 3 blocked, 4 s");
    }
}

//! How far an exploration is: a line on a terminal, if it takes longer than a second.

use selvedge_machine::session::Observer;
use selvedge_machine::verdict::Progress;
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Shows a line now and then.
pub(crate) struct Line {
    started: Instant,
    shown: Option<Instant>,
    /// The terminal; none if nobody looks at it.
    out: Option<Box<dyn Write>>,
}

const AFTER: Duration = Duration::from_secs(1);
const EVERY: Duration = Duration::from_millis(200);

impl Line {
    /// A line that is not shown yet.
    pub fn new() -> Line {
        // It is the same for all models of a process, and to ask takes as long as a small one.
        static WATCHED: OnceLock<bool> = OnceLock::new();
        let look = || is_watched(std::env::var_os("CI").is_some(), std::io::stderr().is_terminal());
        let watched = *WATCHED.get_or_init(look);
        let out = watched.then(|| Box::new(std::io::stderr()) as Box<dyn Write>);
        Line { started: Instant::now(), shown: None, out }
    }
}

/// Whether somebody looks at the error output.
fn is_watched(ci: bool, terminal: bool) -> bool {
    terminal && !ci
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
        let Some(out) = &mut self.out else { return };
        let now = Instant::now();
        let due = match self.shown {
            None => now.duration_since(self.started) >= AFTER,
            Some(shown) => now.duration_since(shown) >= EVERY,
        };
        if due {
            self.shown = Some(now);
            // A terminal that is gone is no reason to stop.
            let _ = write!(out, "\r\x1b[K{}", text(progress, now.duration_since(self.started)));
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let (Some(out), Some(_)) = (&mut self.out, self.shown) {
            let _ = write!(out, "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    const PROGRESS: Progress = Progress { complete: 12, blocked: 3, depth: 1, fraction: 0.0 };

    #[derive(Clone, Default)]
    struct Terminal(Arc<Mutex<Vec<u8>>>);

    impl Terminal {
        fn shows(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Terminal {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// A line of an exploration that has run for so long.
    fn line(terminal: &Terminal, time: Duration) -> Line {
        let started = Instant::now().checked_sub(time).expect("the clock has run that long");
        Line { started, shown: None, out: Some(Box::new(terminal.clone())) }
    }

    #[test]
    fn the_line_says_how_many_executions_there_were() {
        assert_eq!(text(&PROGRESS, Duration::from_secs(4)), "selvedge: 12 executions, 3 blocked, 4 s");
    }

    #[test]
    fn the_line_comes_after_a_second_and_not_all_the_time_and_goes_again() {
        let terminal = Terminal::default();
        let mut early = line(&terminal, Duration::ZERO);
        early.progress(&PROGRESS);
        drop(early);
        assert_eq!(terminal.shows(), "");
        let mut late = line(&terminal, Duration::from_secs(2));
        late.progress(&PROGRESS);
        let shown = "\r\x1b[Kselvedge: 12 executions, 3 blocked, 2 s";
        assert_eq!(terminal.shows(), shown);
        late.shown = Some(Instant::now());
        late.progress(&PROGRESS);
        assert_eq!(terminal.shows(), shown, "the next one comes later");
        drop(late);
        assert_eq!(terminal.shows(), format!("{shown}\r\x1b[K"));
    }

    #[test]
    fn nobody_looks_at_it_in_a_file_or_under_ci() {
        assert!(is_watched(false, true));
        assert!(!is_watched(true, true) && !is_watched(false, false));
    }
}

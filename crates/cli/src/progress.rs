//! The progress line: executions, rate, elapsed time, depth, and an estimate of what is left.
//!
//! It is drawn on standard error, and only if that is a terminal.

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use selvedge_machine::verdict::Progress;
use std::time::{Duration, Instant};

/// How often the line is drawn.
const INTERVAL: Duration = Duration::from_millis(100);
/// Estimates before this are guesses.
const SETTLING: Duration = Duration::from_secs(1);

/// The line.
pub struct Line {
    bar: ProgressBar,
    start: Instant,
    drawn: Instant,
}

impl Line {
    /// A new line; hidden if `quiet` or if there is no terminal.
    pub fn new(quiet: bool) -> Line {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::with_template("{spinner} {msg}").expect("the template is well-formed"));
        let now = Instant::now();
        Line { bar, start: now, drawn: now }
    }

    /// Shows what is being done before there is anything to count.
    pub fn stage(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.tick();
    }

    /// Shows how far the exploration is, now and then.
    pub fn update(&mut self, progress: &Progress) {
        if self.bar.is_hidden() || self.drawn.elapsed() < INTERVAL {
            return;
        }
        self.drawn = Instant::now();
        self.bar.set_message(describe(progress, self.start.elapsed()));
        self.bar.tick();
    }

    /// Takes the line away while something else is printed.
    pub fn suspend(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

fn describe(progress: &Progress, elapsed: Duration) -> String {
    let done = progress.complete + progress.blocked;
    let rate = done as f64 / elapsed.as_secs_f64().max(0.001);
    let mut text = format!("{} executions", HumanCount(done));
    if progress.blocked > 0 {
        text += &format!(" ({} blocked)", HumanCount(progress.blocked));
    }
    text += &format!(", {}/s, {}s, depth {}", HumanCount(rate as u64), elapsed.as_secs(), progress.depth);
    if progress.fraction > 0.0 && progress.fraction < 1.0 && elapsed >= SETTLING {
        let left = elapsed.as_secs_f64() * (1.0 - progress.fraction) / progress.fraction;
        text += &format!(", about {:.3}% done", 100.0 * progress.fraction);
        // Longer estimates are worth nothing to anybody.
        if left < 1e7 {
            text += &format!(", {} left", HumanDuration(Duration::from_secs_f64(left)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_appears_once_it_can_be_trusted() {
        let progress = Progress { complete: 900, blocked: 100, depth: 17, fraction: 0.25 };
        let early = describe(&progress, Duration::from_millis(500));
        assert_eq!(early, "1,000 executions (100 blocked), 2,000/s, 0s, depth 17");
        let later = describe(&progress, Duration::from_secs(10));
        assert_eq!(later, "1,000 executions (100 blocked), 100/s, 10s, depth 17, about 25.000% done, 30 seconds left");
    }
}

//! The progress line: a bar where a part of the whole is known, executions, rate, elapsed time, depth, and an estimate of what
//! is left.
//!
//! It is drawn on standard error, and only if that is a terminal.

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use selvedge_machine::verdict::Progress;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How often the line is drawn.
const INTERVAL: Duration = Duration::from_millis(100);
/// The speed of the last seconds says more than that of the whole run.
const WINDOW: Duration = Duration::from_secs(5);

/// The line.
pub struct Line {
    bar: ProgressBar,
    start: Instant,
    drawn: Instant,
    estimate: Estimate,
    /// What the part that is done is a part of.
    whole: &'static str,
}

/// The bar has so many steps.
const STEPS: u64 = 1000;

/// When it will be over, from the part that is done now and the part that was done a while ago.
///
/// An engine knows only the part of the whole that it has seen; new parts come up as it goes, and the part that is done
/// may even become smaller. Time that is left is shown only while it grows.
#[derive(Default)]
struct Estimate {
    samples: VecDeque<(Duration, f64)>,
}

impl Estimate {
    fn add(&mut self, elapsed: Duration, fraction: f64) {
        self.samples.push_back((elapsed, fraction));
        while self.samples.get(1).is_some_and(|(then, _)| elapsed.saturating_sub(*then) >= WINDOW) {
            self.samples.pop_front();
        }
    }

    fn left(&self) -> Option<Duration> {
        let ((then, before), (now, fraction)) = (self.samples.front()?, self.samples.back()?);
        let window = now.saturating_sub(*then);
        let growth = fraction - before;
        if window < WINDOW / 2 || growth <= 0.0 {
            return None;
        }
        let seconds = window.as_secs_f64() * (1.0 - fraction) / growth;
        // Longer estimates are worth nothing to anybody.
        (seconds < 1e7).then(|| Duration::from_secs_f64(seconds))
    }
}

impl Line {
    /// A new line; hidden if `quiet` or if there is no terminal.
    pub fn new(quiet: bool) -> Line {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(style("{spinner} {msg}"));
        let now = Instant::now();
        Line { bar, start: now, drawn: now, estimate: Estimate::default(), whole: "what is known" }
    }

    /// What is done is from now on told as a part of what was estimated.
    pub fn is_estimated(&mut self) {
        self.whole = "the estimate";
    }

    /// Whether anybody sees it.
    pub fn is_seen(&self) -> bool {
        !self.bar.is_hidden()
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
        let elapsed = self.start.elapsed();
        self.estimate.add(elapsed, progress.fraction);
        if progress.fraction > 0.0 && self.bar.length().is_none() {
            self.bar.set_length(STEPS);
            self.bar.set_style(style("{bar:24} {msg}"));
        }
        self.bar.set_position((progress.fraction * STEPS as f64) as u64);
        self.bar.set_message(describe(progress, elapsed, self.whole, self.estimate.left()));
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

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is well-formed")
}

fn describe(progress: &Progress, elapsed: Duration, whole: &str, left: Option<Duration>) -> String {
    let done = progress.complete + progress.blocked;
    let rate = done as f64 / elapsed.as_secs_f64().max(0.001);
    let mut text = format!("{} executions", HumanCount(done));
    if progress.blocked > 0 {
        text += &format!(" ({} blocked)", HumanCount(progress.blocked));
    }
    text += &format!(", {}/s, {}s, depth {}", HumanCount(rate as u64), elapsed.as_secs(), progress.depth);
    if progress.fraction > 0.0 && progress.fraction < 1.0 {
        text += &format!(", {:.1}% of {whole}", 100.0 * progress.fraction);
    }
    if let Some(left) = left {
        text += &format!(", {} left", HumanDuration(left));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_all_figures() {
        let progress = Progress { complete: 900, blocked: 100, depth: 17, fraction: 0.25 };
        let text = describe(&progress, Duration::from_secs(10), "what is known", Some(Duration::from_secs(30)));
        let expected = "1,000 executions (100 blocked), 100/s, 10s, depth 17, 25.0% of what is known, 30 seconds left";
        assert_eq!(text, expected);
    }

    #[test]
    fn an_estimate_is_given_only_while_the_part_that_is_done_grows() {
        let estimate = |samples: &[(u64, f64)]| {
            let mut estimate = Estimate::default();
            samples.iter().for_each(|&(at, fraction)| estimate.add(Duration::from_secs(at), fraction));
            estimate.left().map(|left| left.as_secs_f64().round() as u64)
        };
        assert_eq!(estimate(&[(1, 0.1)]), None, "a single sample says nothing");
        assert_eq!(estimate(&[(1, 0.1), (2, 0.2)]), None, "nor does a short time");
        assert_eq!(estimate(&[(0, 0.0), (10, 0.5), (15, 0.6)]), Some(20), "old samples are forgotten");
        assert_eq!(estimate(&[(0, 0.5), (5, 0.4)]), None, "new parts have come up");
    }
}

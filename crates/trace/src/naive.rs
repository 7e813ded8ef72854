//! All interleavings, without any reduction.
//!
//! The slowest algorithm and the one that is hardest to get wrong: at every state, every enabled thread with every
//! alternative is tried. It serves small programs, comparisons, and doubts.

use crate::ending::conclude;
use selvedge_machine::schedule::Schedule;
use selvedge_machine::session::{Over, Session};
use selvedge_machine::verdict::Progress;
use selvedge_machine::{Done, Machine, Op, Sc, Stop, ThreadId};

/// The steps that are left to try at one state, the next one last.
type Left = Vec<(ThreadId, u32)>;

/// Explores every interleaving.
pub fn explore_naive<M: Machine>(sc: &mut Sc<M>, session: &mut Session<'_>) -> Result<(), Over> {
    let mut path: Vec<(ThreadId, u32)> = Vec::new();
    let mut made: Vec<(ThreadId, Op, Done)> = Vec::new();
    let mut left: Vec<Left> = Vec::new();
    let mut width: Vec<usize> = Vec::new();
    let mut bounded: Vec<usize> = Vec::new();
    loop {
        let options = steps(sc);
        if options.is_empty() {
            let schedule = |sc: &Sc<M>| Schedule::record(&sc.machine, path.iter().copied());
            let ending = conclude(sc, session, !bounded.is_empty(), &made, schedule)?;
            if session.observer.wants_executions() {
                session.observer.execution(&path);
            }
            session.ended(ending, path.len())?;
        } else if path.len() >= session.limits.max_events {
            return session.too_long(&sc.machine, path[path.len() - 1].0);
        }
        width.push(options.len().max(1));
        left.push(options);
        while left.last().is_some_and(Vec::is_empty) {
            left.pop();
            width.pop();
            if path.pop().is_some() {
                made.pop();
                sc.undo();
            }
            bounded.pop_if(|depth| *depth > path.len());
        }
        let Some(next) = left.last_mut().and_then(Vec::pop) else { return Ok(()) };
        path.push(next);
        let op = *sc.machine.pending(next.0);
        let result = sc.step(next.0, next.1);
        let (Ok(done) | Err((done, _))) = &result;
        made.push((next.0, op, *done));
        let depth = path.len();
        session.tick(|result| Progress {
            complete: result.complete,
            blocked: result.blocked,
            depth,
            fraction: fraction(&left, &width),
        })?;
        if let Err((_, stop)) = result {
            if matches!(stop, Stop::Bound(_)) {
                bounded.push(path.len());
            }
            session.stopped(stop, || Schedule::record(&sc.machine, path.iter().copied()))?;
        }
    }
}

fn steps<M: Machine>(sc: &Sc<M>) -> Left {
    let enabled = sc.threads().filter(|&t| sc.enabled(t));
    let mut steps: Left = enabled.flat_map(|t| (0..sc.alternatives(t)).map(move |choice| (t, choice))).collect();
    steps.reverse();
    steps
}

fn fraction(left: &[Left], width: &[usize]) -> f64 {
    let (mut done, mut part) = (0.0, 1.0);
    for (left, &width) in left.iter().zip(width) {
        part /= width as f64;
        done += part * (width - 1 - left.len().min(width - 1)) as f64;
    }
    done
}

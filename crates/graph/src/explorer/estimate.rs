//! How much there is to explore, before it is explored.
//!
//! The graphs that an exploration visits are a tree: the children of a graph are the graphs that the next event leads to.
//! A random walk from the root that takes each of the k children of a node with probability 1/k, and multiplies the k on
//! its way, gives at its end a number whose mean is the number of leaves, and on its way numbers whose mean is the number
//! of nodes (Knuth, Estimating the efficiency of backtrack programs, 1975). Walks are independent of each other, so the
//! spread of their results says how far the mean of them may be off.

use super::{Explorer, Go};
use crate::models::Model;
use selvedge_machine::Machine;
use selvedge_machine::session::{Ending, Over};
use std::time::{Duration, Instant};

/// An estimate of an exploration.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Estimate {
    /// Executions in which every thread ends.
    pub complete: f64,
    /// Executions in which some thread is stuck.
    pub blocked: f64,
    /// The standard error of the number of all of them.
    pub error: f64,
    /// How long it would take, in seconds.
    pub seconds: f64,
    /// How many random walks it is made from.
    pub walks: u32,
}

/// Random numbers (splitmix64: Steele, Lea, Flood, OOPSLA 2014), the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

/// What a walk has come to.
#[derive(Default)]
struct Walk {
    complete: f64,
    blocked: f64,
    nodes: f64,
    steps: u32,
}

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// Estimates the exploration by random walks, for at most this time.
    pub fn estimate(&mut self, time: Duration) -> Result<Estimate, Over> {
        // What a random walk would have to know of composite awaits, only an exploration finds out.
        self.composites.give_up();
        let mut random = Random(0x5e1_7ed9e);
        let (mut sum, mut squares, mut nodes, mut steps) = (Estimate::default(), 0.0, 0.0, 0u64);
        let mut start = Instant::now();
        let deadline = start + time;
        while sum.walks < 4 || Instant::now() < deadline && sum.walks < 100_000 {
            let walk = self.walk(&mut random)?;
            if self.restart {
                // What was walked through is not what will be explored.
                self.restart = false;
                (sum, squares, nodes, steps) = (Estimate::default(), 0.0, 0.0, 0);
                start = Instant::now();
                continue;
            }
            sum.walks += 1;
            sum.complete += walk.complete;
            sum.blocked += walk.blocked;
            squares += (walk.complete + walk.blocked).powi(2);
            nodes += walk.nodes;
            steps += u64::from(walk.steps);
        }
        let n = f64::from(sum.walks);
        let mean = (sum.complete + sum.blocked) / n;
        let variance = (squares / n - mean * mean).max(0.0);
        let seconds_per_step = start.elapsed().as_secs_f64() / steps.max(1) as f64;
        Ok(Estimate {
            complete: sum.complete / n,
            blocked: sum.blocked / n,
            error: (variance / n).sqrt(),
            seconds: nodes / n * seconds_per_step,
            walks: sum.walks,
        })
    }

    fn walk(&mut self, random: &mut Random) -> Result<Walk, Over> {
        self.empty_graph();
        let mut walk = Walk::default();
        let mut weight = 1.0;
        let mut go = Go::On;
        loop {
            if go == Go::On {
                walk.nodes += weight;
                walk.steps += 1;
                self.reached = None;
                go = self.extend()?;
                match self.reached {
                    Some(Ending::Complete) => walk.complete = weight,
                    Some(Ending::Blocked) => walk.blocked = weight,
                    None => {}
                }
            }
            let children = self.frame().todo.len() + usize::from(go == Go::On);
            if children == 0 || self.restart {
                return Ok(walk);
            }
            let todo = &mut self.frame().todo;
            weight *= children as f64;
            let chosen = random.below(children);
            let entry = todo.get(chosen).copied();
            todo.clear();
            if let Some(entry) = entry {
                go = self.take_up(entry)?;
            }
        }
    }
}

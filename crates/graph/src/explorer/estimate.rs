//! How much there is to explore, before it is explored.
//!
//! The graphs that an exploration visits are a tree: the children of a graph are the graphs that the next event leads to.
//! A random walk from the root that takes each of the k children of a node with probability 1/k, and multiplies the k on
//! its way, gives at its end a number whose mean is the number of leaves, and on its way numbers whose mean is the number
//! of nodes (Knuth, Estimating the efficiency of backtrack programs, 1975). Walks are independent of each other, so the
//! spread of their results says how far the mean of them may be off.
//!
//! That needs a tree in which the children of a node are known when it is visited. Composite awaits are not like that: for
//! what an await waits, and whether it waits at all if it could read, shows when all that follows from reading has been
//! explored (`composite.rs`). So a walk that is about to take the branch in which the await waits looks ahead: it tries all
//! combinations that the await can read now, which tells what it looks at, and explores what follows from reading until
//! somebody writes that. What was found out about a graph is remembered for the walks to come. If nobody does so in as many
//! graphs as it can afford ([`LOOK_AHEAD`]), it takes it that nobody does. If that is wrong, the branch is missed by all
//! walks; short of that, means are what they should be.

use super::composite::{Next, Open};
use super::{Explorer, Frame, Go, Todo};
use crate::event::{EventId, Kind, LocId};
use crate::graph::Graph;
use crate::models::Model;
use rustc_hash::{FxHashMap, FxHasher};
use selvedge_machine::session::{Ending, Over};
use selvedge_machine::{Machine, ThreadId};
use std::hash::{Hash, Hasher};
use std::time::{Duration, Instant};

/// So many graphs are explored at most to find out whether somebody writes what an await looks at.
const LOOK_AHEAD: u32 = 10_000;

/// As many graphs are remembered.
const REMEMBERED: usize = 10_000;

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

/// When random walks come to an end: at the first of these.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// After this time.
    pub time: Duration,
    /// After so many walks.
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

/// What looking ahead has found out about a turn: what the attempt looks at, and what of that is written.
#[derive(Clone)]
struct Seen {
    footprint: Vec<LocId>,
    news: Vec<LocId>,
}

/// What looking ahead has found out, by graphs.
struct Ahead {
    seen: FxHashMap<u64, Seen>,
    deadline: Instant,
    /// How long it took.
    took: Duration,
}

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// Estimates the exploration by random walks.
    pub fn estimate(&mut self, effort: Effort) -> Result<Estimate, Over> {
        let mut random = Random(0x5e1_7ed9e);
        let (mut sum, mut squares, mut nodes, mut steps) = (Estimate::default(), 0.0, 0.0, 0u64);
        let mut start = Instant::now();
        let deadline = start + effort.time;
        let mut ahead = Ahead { seen: FxHashMap::default(), deadline, took: Duration::ZERO };
        while sum.walks < 4 || Instant::now() < deadline && sum.walks < effort.walks {
            let walk = self.walk(&mut random, &mut ahead)?;
            if self.restart {
                // What was walked through is not what will be explored.
                self.restart = false;
                (sum, squares, nodes, steps) = (Estimate::default(), 0.0, 0.0, 0);
                start = Instant::now();
                ahead = Ahead { seen: FxHashMap::default(), deadline, took: Duration::ZERO };
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
        let walking = start.elapsed().saturating_sub(ahead.took);
        let seconds_per_step = walking.as_secs_f64() / steps.max(1) as f64;
        Ok(Estimate {
            complete: sum.complete / n,
            blocked: sum.blocked / n,
            error: (variance / n).sqrt(),
            seconds: nodes / n * seconds_per_step,
            walks: sum.walks,
        })
    }

    fn walk(&mut self, random: &mut Random, ahead: &mut Ahead) -> Result<Walk, Over> {
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
                if let Todo::Later { turn } | Todo::Wait { turn } = entry {
                    self.look_ahead(turn, matches!(entry, Todo::Later { .. }), ahead)?;
                    if self.restart {
                        return Ok(walk);
                    }
                }
                go = self.take_up(entry)?;
            }
        }
    }

    /// Finds out what an exploration would know of the newest event, a turn, when it comes to its rest.
    fn look_ahead(&mut self, turn: EventId, news: bool, ahead: &mut Ahead) -> Result<(), Over> {
        let key = fingerprint(self.graph());
        let open = self.composites.turns.last_mut().expect("the turn has just been taken");
        if let Some(seen) = ahead.seen.get(&key) {
            (open.footprint, open.news) = (seen.footprint.clone(), seen.news.clone());
            return Ok(());
        }
        let start = Instant::now();
        self.aside(|explorer| explorer.try_attempt(turn))?;
        if news && !self.restart {
            self.aside(|explorer| explorer.look_for_news(ahead.deadline))?;
        }
        ahead.took += start.elapsed();
        let Open { footprint, news, .. } = self.composites.turns.last().expect("turns are a stack");
        if ahead.seen.len() >= REMEMBERED {
            ahead.seen.clear();
        }
        ahead.seen.insert(key, Seen { footprint: footprint.clone(), news: news.clone() });
        Ok(())
    }

    /// Does something with a copy of the graph, and goes back to where it was.
    fn aside(&mut self, act: impl FnOnce(&mut Self) -> Result<(), Over>) -> Result<(), Over> {
        let copy = Frame { graph: self.graph().clone(), todo: Vec::new() };
        let frames = std::mem::replace(&mut self.frames, vec![copy]);
        let turns = self.composites.turns.len();
        let result = act(self);
        self.composites.turns.truncate(turns);
        self.spare.append(&mut self.frames);
        self.frames = frames;
        let graph = &self.frames.last().expect("there is a graph").graph;
        self.runner.switch(graph);
        result
    }

    /// Tries all combinations that an attempt can read, and nothing else.
    fn try_attempt(&mut self, turn: EventId) -> Result<(), Over> {
        let thread = self.graph().event(turn).thread;
        let mut go = Go::On;
        loop {
            while go == Go::On && self.goes_on_with_attempt(thread)? {
                go = self.extend()?;
            }
            if self.restart {
                return Ok(());
            }
            let Some(entry) = self.frame().todo.pop() else { return Ok(()) };
            go = self.take_up(entry)?;
        }
    }

    /// Whether the next event is a read of the attempt that a thread has begun.
    fn goes_on_with_attempt(&mut self, thread: ThreadId) -> Result<bool, Over> {
        self.catch_up()?;
        let graph = self.graph();
        let writes = graph.last(thread).is_some_and(|last| graph.awaits_write(last));
        Ok(!writes && matches!(self.finish_attempt(), Some(Next::Thread(next)) if next == thread))
    }

    /// Explores what follows from the newest turn until somebody writes what it looks at.
    fn look_for_news(&mut self, deadline: Instant) -> Result<(), Over> {
        let number = self.composites.turns.len() - 1;
        for graphs in 0..LOOK_AHEAD {
            while self.extend()? == Go::On {}
            let late = graphs % 64 == 63 && Instant::now() > deadline;
            if late || self.restart || self.composites.turns[number].has_news() || !self.next_todo()? {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// A number that tells graphs apart.
fn fingerprint(graph: &Graph) -> u64 {
    let mut hasher = FxHasher::default();
    for event in graph.ids().map(|e| graph.event(e)) {
        std::mem::discriminant(&event.kind).hash(&mut hasher);
        std::mem::discriminant(&event.turn).hash(&mut hasher);
        // The number of a turn that has not come to its rest depends on what was explored before it.
        let value = if event.kind == Kind::Turn { 0 } else { event.value };
        let numbers = (event.thread, event.loc, value, event.co, event.choice);
        (numbers, event.rf, event.base, event.primary, event.blocked).hash(&mut hasher);
    }
    hasher.finish()
}

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
//! explored (`composite.rs`). So when an await takes its turn, a walk looks ahead. It tries all combinations that the await
//! can read now: those with which it gets on are children, and together they tell what it looks at. And it explores what
//! follows from reading until somebody writes that: if nobody does, the await does not wait. If that is not known after a
//! few graphs ([`FIRST_LOOK`]), waiting is a child all the same, and if that is taken, more graphs are explored
//! ([`LOOK_AHEAD`]). If nobody has written anything then, the walk takes it that nobody does. Where that is wrong, the branch
//! is missed by all walks; short of that, means are what they should be.

use super::composite::Next;
use super::{Explorer, Frame, Frames, Go, Todo};
use crate::event::{EventId, Kind, LocId};
use crate::graph::Graph;
use crate::models::Model;
use rustc_hash::{FxHashMap, FxHasher};
use selvedge_ir::EntityRef;
use selvedge_machine::session::{Ending, Over};
use selvedge_machine::{Machine, ThreadId};
use std::hash::{Hash, Hasher};
use std::time::{Duration, Instant};

/// So many graphs are explored before the first walk.
const FIRST_GRAPHS: u64 = 500;
/// So many graphs are explored to find out whether an await waits.
const FIRST_LOOK: u32 = 20;
/// So many are explored before it does.
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

/// What looking ahead has found out.
struct Ahead {
    /// What somebody writes that the newest turn of a graph looks at, if anybody does so.
    news: FxHashMap<u64, Option<LocId>>,
    deadline: Instant,
    /// How long it took.
    took: Duration,
}

impl<M: Machine, Mo: Model> Explorer<'_, '_, '_, M, Mo> {
    /// Estimates the exploration by random walks.
    pub fn estimate(&mut self, effort: Effort) -> Result<Estimate, Over> {
        self.prepare()?;
        let mut random = Random(0x5e1_7ed9e);
        let (mut sum, mut squares, mut nodes, mut steps) = (Estimate::default(), 0.0, 0.0, 0u64);
        let mut start = Instant::now();
        let deadline = start + effort.time;
        let mut ahead = Ahead { news: FxHashMap::default(), deadline, took: Duration::ZERO };
        while sum.walks < 4 || Instant::now() < deadline && sum.walks < effort.walks {
            let walk = self.walk(&mut random, &mut ahead)?;
            if self.restart {
                // What was walked through is not what will be explored.
                self.restart = false;
                (sum, squares, nodes, steps) = (Estimate::default(), 0.0, 0.0, 0);
                start = Instant::now();
                ahead = Ahead { news: FxHashMap::default(), deadline, took: Duration::ZERO };
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

    /// Explores a little in the usual order: what is known of locations and attempts then is what the exploration will know.
    fn prepare(&mut self) -> Result<(), Over> {
        let stopped = self.run_for(FIRST_GRAPHS);
        self.budget = None;
        let result = &self.session.result;
        let fails = result.unsupported.is_some() || result.interruption.is_some();
        if fails && !stopped { Err(Over) } else { Ok(()) }
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
                    // It would be found out before that news does not come to somebody who was put off for it.
                    Some(Ending::Blocked) if self.is_put_off_in_vain() => {}
                    Some(Ending::Blocked) => walk.blocked = weight,
                    None => {}
                }
            }
            if let Some(&entry @ (Todo::Later { .. } | Todo::Wait { .. })) = self.frame().todo.last() {
                go = self.walk_turn(entry, &mut weight, random, ahead)?;
                continue;
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

    /// A turn has just been taken: takes a combination with which the attempt gets on, or waits.
    fn walk_turn(&mut self, entry: Todo, weight: &mut f64, random: &mut Random, ahead: &mut Ahead) -> Result<Go, Over> {
        self.frame().todo.clear();
        let start = Instant::now();
        let mut combinations = self.aside(Self::try_attempt)?;
        let could_read = matches!(entry, Todo::Later { .. });
        let waits = !could_read || !self.restart && self.look_ahead(FIRST_LOOK, ahead)? != Some(false);
        let children = combinations.len() + usize::from(waits);
        if self.restart || children == 0 {
            return Ok(Go::Back);
        }
        *weight *= children as f64;
        let chosen = random.below(children);
        if chosen == combinations.len() && could_read {
            self.look_ahead(LOOK_AHEAD, ahead)?;
            // It has not looked at all that follows.
            self.composites.turns.last_mut().expect("the turn has just been taken").ways.give_up();
        }
        ahead.took += start.elapsed();
        if chosen == combinations.len() {
            return if self.restart { Ok(Go::Back) } else { self.take_up(entry) };
        }
        let frame = &mut self.frames.top;
        frame.graph = combinations.swap_remove(chosen);
        self.runner.switch(&frame.graph);
        Ok(Go::On)
    }

    /// Finds out whether somebody writes what the newest event, a turn, looks at; none if that takes too many graphs.
    fn look_ahead(&mut self, graphs: u32, ahead: &mut Ahead) -> Result<Option<bool>, Over> {
        let key = fingerprint(self.graph());
        if let Some(news) = ahead.news.get(&key) {
            let open = self.composites.turns.last_mut().expect("the turn has just been taken");
            open.news.extend(news);
            return Ok(Some(news.is_some()));
        }
        let over = self.aside(|explorer| explorer.look_for_news(graphs, ahead.deadline))?;
        let open = self.composites.turns.last().expect("turns are a stack");
        let news = open.footprint.iter().copied().find(|loc| open.news.contains(loc));
        if news.is_none() && !over {
            return Ok(None);
        }
        if ahead.news.len() >= REMEMBERED {
            ahead.news.clear();
        }
        ahead.news.insert(key, news);
        Ok(Some(news.is_some()))
    }

    /// Does something with a copy of the graph, and goes back to where it was.
    fn aside<T>(&mut self, act: impl FnOnce(&mut Self) -> Result<T, Over>) -> Result<T, Over> {
        let copy = Frame { graph: self.graph().clone(), todo: Vec::new(), common: 0 };
        let frames = std::mem::replace(&mut self.frames, Frames::of(copy));
        let turns = self.composites.turns.len();
        let result = act(self);
        self.composites.turns.truncate(turns);
        self.frames.move_to(&mut self.spare);
        self.frames = frames;
        let graph = &self.frames.top.graph;
        self.runner.switch(graph);
        result
    }

    /// Tries all combinations that an attempt which has just begun can read, and nothing else: the graphs with which it gets
    /// on.
    fn try_attempt(&mut self) -> Result<Vec<Graph>, Over> {
        let turn = EventId::new(self.graph().len() - 1);
        let thread = self.graph().event(turn).thread;
        let mut found = Vec::new();
        let mut go = Go::On;
        loop {
            while go == Go::On && self.goes_on_with_attempt(thread)? {
                go = self.extend()?;
            }
            if go == Go::On && !matches!(self.finish_attempt(), Some(Next::Failed | Next::Spins(_))) {
                found.push(self.graph().clone());
            }
            let Some(entry) = self.frame().todo.pop().filter(|_| !self.restart) else { return Ok(found) };
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

    /// Explores what follows from the newest turn until somebody writes what it looks at; whether all was explored.
    fn look_for_news(&mut self, graphs: u32, deadline: Instant) -> Result<bool, Over> {
        let number = self.composites.turns.len() - 1;
        for graph in 0..graphs {
            while self.extend()? == Go::On {}
            let late = graph % 64 == 63 && Instant::now() > deadline;
            if late || self.restart || self.composites.turns[number].has_news() {
                return Ok(false);
            }
            if !self.next_todo()? {
                return Ok(true);
            }
        }
        Ok(false)
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

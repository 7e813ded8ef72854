//! Optimal DPOR with Observers (Aronis, Jonsson, Lång, Sagonas; TACAS 2018), Algorithm 1.
//!
//! | paper | here |
//! |---|---|
//! | `E` | `trace` |
//! | `done(E')` | those sleepers of the level of `E'` that were not inherited |
//! | `wut(E')` | the subtree of `tree` at the level's `node` |
//! | `Explore(E, WuT)` | one turn of the loop in [`Explorer::run`]; the recursion is the stack of levels |
//!
//! Deviations:
//! 1. `redundant(E', done)` is computed with sleepers that are passed on from level to level (`weak_initials.rs`) and not
//!    by looking at all `done` sets again. Lemma 4.2 says that none is left at a leaf of the wakeup tree.
//! 2. Alternatives of one step (nondeterministic choices) are sibling branches. All are added when the step is executed
//!    freely for the first time, or when it is the last event of a wakeup sequence.
//! 3. A step that ends another process changes what that does next ("A step of a process may not disable another process"
//!    holds, as what is left to do is to end). Whether such a race can be reversed, and what comes then, is found out by
//!    trying.

use crate::act::{ANY, Act, Action};
use crate::ending::conclude;
use crate::reversal::{Known, Plan, observed, observed_store, unobserved};
use crate::roster::{Actor, Role};
use crate::schedule::Schedule;
use crate::session::{Observer, Over, Session};
use crate::system::NONE;
use crate::trace::{EventId, Race, Trace};
use crate::weak_initials::{Fate, Initial, Passing, Phase, Sleeper, redundant, weak_initial};
use crate::{Machine, System};
use selvedge_ir::EntityRef;
use selvedge_machine::Stop;
use selvedge_machine::verdict::Progress;
use selvedge_trace::wakeup_tree::{Node, WakeupTree};
use std::rc::Rc;

/// A prefix of the present execution.
struct Level {
    /// The root of its wakeup tree.
    node: Node,
    /// Where its sleepers start in `sleeping`.
    sleep: usize,
    /// How many of them were inherited; the others were explored here.
    inherited: usize,
    /// Whether nothing was explored from here yet.
    fresh: bool,
}

/// How an exploration ended.
#[derive(PartialEq, Eq)]
enum Explored {
    All,
    Restart,
}

/// An exploration under way.
pub(crate) struct Explorer<'a, 'b, M: Machine> {
    system: System<M>,
    session: &'a mut Session<'b>,
    observer: &'a mut dyn Observer<M>,
    trace: Trace<M>,
    tree: WakeupTree<Action<M>>,
    levels: Vec<Level>,
    /// The sleepers of all levels, one behind the other.
    sleeping: Vec<Sleeper<M>>,
    plan: Plan<M>,
    /// Lengths of the execution at which processes met bounds.
    bounded: Vec<usize>,
}

impl<'a, 'b, M: Machine> Explorer<'a, 'b, M> {
    /// An exploration that has not begun.
    pub fn new(system: System<M>, session: &'a mut Session<'b>, observer: &'a mut dyn Observer<M>) -> Self {
        let mut tree = WakeupTree::default();
        let root = tree.make(Action { actor: Actor::new(0), choice: 0, act: None });
        Explorer {
            trace: Trace::new(session.options.observers),
            system,
            session,
            observer,
            tree,
            levels: vec![Level { node: root, sleep: 0, inherited: 0, fresh: true }],
            sleeping: Vec::new(),
            plan: Plan::default(),
            bounded: Vec::new(),
        }
    }

    /// Explores everything. Starts again when it turns out that somebody can notice ends, or that an operation is a store.
    pub fn run(&mut self) -> Result<(), Over> {
        while self.explore()? == Explored::Restart {
            while self.system.depth() > 0 {
                self.system.undo();
                self.trace.pop();
            }
            let stop = self.system.notice();
            self.tree = WakeupTree::default();
            let root = self.tree.make(Action { actor: Actor::new(0), choice: 0, act: None });
            self.levels.truncate(1);
            self.levels[0] = Level { node: root, sleep: 0, inherited: 0, fresh: true };
            self.sleeping.clear();
            self.bounded.clear();
            self.session.restart();
            self.observer.restart();
            if let Some(stop) = stop {
                self.stopped(stop)?;
            }
        }
        Ok(())
    }

    /// `Explore(⟨⟩, ⟨{⟨⟩}, ∅⟩)`.
    fn explore(&mut self) -> Result<Explored, Over> {
        loop {
            if self.system.machine.reclassified() && self.trace.observers || self.system.noticed {
                return Ok(Explored::Restart);
            }
            let level = self.levels.last().expect("the empty prefix is never left");
            let (node, fresh) = (level.node, level.fresh);
            let next = match self.tree.first_child(node) {
                Some(child) => Some(child),          // l. 20: the leftmost
                None if fresh => self.choose(node)?, // ll. 17-18
                None => None,
            };
            match next {
                Some(child) => self.advance(child)?,
                None if !self.backtrack() => return Ok(Explored::All),
                None => {}
            }
        }
    }

    /// At a leaf of the wakeup tree: picks an enabled actor (ll. 17-18), or ends the execution (l. 3).
    fn choose(&mut self, node: Node) -> Result<Option<Node>, Over> {
        debug_assert!(self.sleep(self.levels.len() - 1).is_empty(), "Lemma 4.2: at a leaf nothing is redundant");
        let last = self.trace.last_actor().filter(|&actor| self.system.enabled(actor));
        let picked = last.or_else(|| self.system.actors().find(|&actor| self.system.enabled(actor)));
        let Some(actor) = picked else {
            self.end()?;
            return Ok(None);
        };
        let alternatives = self.system.alternatives(actor);
        for choice in 0..alternatives {
            let act = (alternatives > 1).then(|| Rc::new(self.choice_of(actor)));
            self.tree.add_child(node, Action { actor, choice, act });
        }
        Ok(self.tree.first_child(node))
    }

    /// What a step does that chooses: nothing that others notice.
    fn choice_of(&self, actor: Actor) -> Act<M> {
        match self.system.roster.role(actor) {
            Role::Process(pid) => Act::of(Some(pid), None),
            _ => Act::default(),
        }
    }

    fn sleep(&self, level: usize) -> &[Sleeper<M>] {
        let end = self.levels.get(level + 1).map_or(self.sleeping.len(), |next| next.sleep);
        &self.sleeping[self.levels[level].sleep..end]
    }

    /// Executes a branch of the present level's wakeup tree (ll. 20-22).
    fn advance(&mut self, child: Node) -> Result<(), Over> {
        let Action { actor, mut choice, .. } = *self.tree.action(child);
        debug_assert!(self.system.enabled(actor), "a branch of a wakeup tree can be executed: {actor}");
        if self.trace.len() >= self.session.options.max_events {
            let pid = match self.system.roster.role(actor) {
                Role::Process(pid) => Some(pid),
                _ => None,
            };
            return self.session.too_long(&self.system.machine, pid);
        }
        if choice == ANY {
            choice = 0;
            for other in (1..self.system.alternatives(actor)).rev() {
                let action = Action { choice: other, ..self.tree.action(child).clone() };
                self.tree.add_sibling(child, action);
            }
        }
        let stepped = self.system.step(actor, choice);
        let predicted = self.tree.action(child).act.as_ref();
        debug_assert!(
            predicted.is_none_or(|predicted| predicted.same(&stepped.act)),
            "everything in a wakeup sequence happens as it was predicted"
        );
        let action = Action { actor, choice, act: Some(Rc::new(stepped.act)) };
        self.trace.push(&self.system.machine, action.clone(), stepped.cause, stepped.source);
        self.descend(child, &action, stepped.source);
        self.tree.set_action(child, action);
        if self.session.tick() {
            let now = self.progress();
            self.observer.progress(&now);
            self.session.look_around()?;
        }
        match stepped.stop {
            Some(stop) => self.stopped(stop),
            None => Ok(()),
        }
    }

    /// Lets an event pass by those that sleep, and goes to the level behind it: wut(E.p) := subtree(wut(E), p) (l. 21).
    fn descend(&mut self, child: Node, action: &Action<M>, source: u32) {
        let level = self.levels.last_mut().expect("the empty prefix is never left");
        level.fresh = false;
        let (start, end) = (level.sleep, self.sleeping.len());
        let passing = Passing { action, at: self.trace.len() as u32 - 1, source };
        for n in start..end {
            let Sleeper { action: sleeper, phase } = &self.sleeping[n];
            let mut phase = *phase;
            match phase.pass(sleeper, &self.system.machine, self.trace.observers, &passing) {
                Fate::Sleeps => self.sleeping.push(Sleeper { action: sleeper.clone(), phase }),
                Fate::Woken => {}
                Fate::Redundant => debug_assert!(false, "what is inserted into a wakeup tree is not redundant"),
            }
        }
        let fresh = self.tree.first_child(child).is_none();
        self.levels.push(Level { node: child, sleep: end, inherited: self.sleeping.len() - end, fresh });
    }

    fn stopped(&mut self, stop: Stop) -> Result<(), Over> {
        if matches!(stop, Stop::Bound(_)) {
            self.bounded.push(self.trace.len());
        }
        let (system, trace) = (&self.system, &self.trace);
        self.session.stopped(stop, || schedule(system, trace))
    }

    /// Ends a maximal execution: classifies it and reverses its races (ll. 4-12).
    fn end(&mut self) -> Result<(), Over> {
        let (system, trace) = (&self.system, &self.trace);
        let bounded = !self.bounded.is_empty();
        let complete = conclude(system, self.session, bounded, || schedule(system, trace))?;
        self.observer.execution(&self.trace, &self.system);
        self.session.ended(complete, self.trace.len())?;
        self.trace.order(&self.system.machine, self.system.roster.len());
        for n in 0..self.trace.races().len() {
            let race = self.trace.races()[n];
            self.reverse(race);
        }
        Ok(())
    }

    /// Reverses a race (ll. 5-12).
    fn reverse(&mut self, Race { e, e2, observer }: Race) {
        let mut plan = std::mem::take(&mut self.plan);
        let possible = match observer {
            Some(o) if self.trace.event(o).act().received.is_some() => {
                observed(&self.trace, e, e2, o, &mut plan);
                true
            }
            Some(o) => {
                observed_store(&self.system.machine, &self.trace, Race { e, e2, observer: Some(o) }, &mut plan);
                self.probe(e, &mut plan)
            }
            None => match unobserved(&self.system.machine, &self.trace, e, e2, &mut plan) {
                Known::All => true,
                Known::AllButLast => self.probe(e, &mut plan),
            },
        };
        let sleep = self.sleep(e.index());
        if possible && !redundant(&self.system.machine, self.trace.observers, sleep, &plan.sequence(&self.trace)) {
            self.insert(e.index(), &mut plan); // l. 12
        }
        self.plan = plan;
    }

    /// Goes back and finds out what the last step of the sequence does, and whether it is possible at all.
    fn probe(&mut self, e: EventId, plan: &mut Plan<M>) -> bool {
        let (last, others) = plan.v.split_last().expect("a sequence that reverses a race is not empty");
        let actor = self.trace.event(EventId::new(last.event as usize)).action.actor;
        while self.system.depth() > e.index() {
            self.system.undo();
        }
        for planned in others {
            let event = self.trace.event(EventId::new(planned.event as usize));
            self.system.step(event.action.actor, event.action.choice);
        }
        let possible = self.system.enabled(actor);
        if possible {
            let alternatives = self.system.alternatives(actor);
            let stepped = self.system.step(actor, 0);
            let choice = if alternatives > 1 { ANY } else { 0 };
            plan.revise(&self.trace, stepped.act, choice, stepped.source);
        }
        while self.system.depth() > e.index() {
            self.system.undo();
        }
        for event in &self.trace.events()[e.index()..] {
            self.system.step(event.action.actor, event.action.choice);
        }
        possible
    }

    /// `insert_[E'](v, wut(E'))`.
    fn insert(&mut self, level: usize, plan: &mut Plan<M>) {
        let (machine, observers) = (&self.system.machine, self.trace.observers);
        let mut node = self.levels[level].node;
        'descend: loop {
            let mut next = self.tree.first_child(node);
            while let Some(child) = next {
                let branch = self.tree.action(child);
                let phase = Phase::new(branch, level as u32);
                match weak_initial(machine, observers, branch, phase, &plan.sequence(&self.trace)) {
                    Initial::No => next = self.tree.next_sibling(child),
                    Initial::NotIn => return,
                    Initial::At(index) => {
                        let removed = plan.v.remove(index);
                        // What it has brought is now there before everything that follows.
                        plan.v.iter_mut().filter(|p| p.source == removed.at).for_each(|p| p.source = NONE);
                        node = child;
                        if plan.v.is_empty() || self.tree.first_child(node).is_none() {
                            return;
                        }
                        continue 'descend;
                    }
                }
            }
            break;
        }
        let sequence = plan.sequence(&self.trace);
        for planned in sequence.v {
            node = self.tree.add_child(node, sequence.action(planned).clone());
        }
    }

    /// ll. 23-24: when everything below a branch is explored, it is done, and the next branch is taken. False at the end.
    fn backtrack(&mut self) -> bool {
        while self.levels.len() > 1 {
            let level = self.levels.pop().expect("there are at least two");
            self.sleeping.truncate(level.sleep);
            let action = self.trace.pop();
            self.system.undo();
            while self.bounded.pop_if(|length| *length > self.trace.len()).is_some() {}
            let parent = self.levels.last().expect("the empty prefix is never left").node;
            self.tree.remove_first_child(parent);
            self.sleeping.push(Sleeper::new(action, self.trace.len() as u32));
            if self.tree.first_child(parent).is_some() {
                return true;
            }
        }
        false
    }

    fn progress(&self) -> Progress {
        let (mut fraction, mut part) = (0.0, 1.0);
        for (n, level) in self.levels.iter().enumerate() {
            let end = self.levels.get(n + 1).map_or(self.sleeping.len(), |next| next.sleep);
            let explored = end - level.sleep - level.inherited;
            let all = (explored + self.tree.children(level.node).count()).max(1) as f64;
            fraction += part * explored as f64 / all;
            part /= all;
        }
        let result = &self.session.result;
        Progress { complete: result.complete, blocked: result.blocked, depth: self.levels.len(), fraction }
    }
}

/// The present execution, written down.
pub(crate) fn schedule<M: Machine>(system: &System<M>, trace: &Trace<M>) -> Schedule {
    let role = |actor| system.roster.role(actor);
    Schedule::record(
        &system.roster,
        system.quiet,
        trace.events().iter().map(|e| (role(e.action.actor), e.action.choice)),
    )
}

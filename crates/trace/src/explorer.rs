//! Optimal-DPOR and Source-DPOR.
//!
//! Optimal-DPOR as in Algorithm 1 of "Awaiting for Godot" (FMCAD 2022), which extends Abdulla et al. (POPL 2014, JACM
//! 2017) by events that can be blocked. Source-DPOR (ibid.) is the same exploration with wakeup trees of depth one.
//!
//! | paper | here |
//! |---|---|
//! | `E` | `trace` |
//! | `sleep(E')` | `sleep` of the level of `E'`: what it inherited, then what was explored there |
//! | `wut(E')` | the subtree of `tree` at the level's `node` |
//! | `Explore(E)` | one turn of the loop in [`Explorer::run`]; the recursion is the stack of levels |
//!
//! Deviations:
//! 1. Races are reversed when the execution is maximal, as in the paper, but not those for which that is known to be in
//!    vain: `settled.rs` says which, and why.
//! 2. Going back is undo, not replay.
//! 3. Alternatives of one step (nondeterministic values, whom a signal wakes) are sibling branches. All are added when
//!    the step is executed freely for the first time, or when it is the reversed event of a race; in the middle of a
//!    wakeup sequence the alternative is the one of the execution that the sequence came from, and the others come from
//!    the executions with the other alternatives.

use crate::action::{ANY, Action, Footprint, footprint};
use crate::blocking_race::{Waiter, blocking_races};
use crate::data_race::DataRaces;
use crate::ending::conclude;
use crate::lazy_order::{Locations, reversed_observed};
use crate::reversal::{reversed, touches_more};
use crate::settled::Settled;
use crate::source_set::initials;
use crate::spin::{depends_on_the_order, would_try_again};
use crate::trace::{EventId, Race, Trace};
use crate::wakeup_tree::{Node, WakeupTree};
use crate::weak_initials::{Fate, Initial, Sleeper, redundant, weak_initial};
use crate::{Algorithm, Options};
use selvedge_ir::EntityRef;
use selvedge_machine::schedule::Schedule;
use selvedge_machine::session::{Over, Session};
use selvedge_machine::verdict::Progress;
use selvedge_machine::{Access, Addr, Machine, Op, Sc, Status, Stop, ThreadId};

/// A prefix of the present execution.
struct Level {
    /// The root of its wakeup tree.
    node: Node,
    /// Where its sleep set starts in `sleeping`.
    sleep: usize,
    /// How many of the sleeping steps were inherited; the others were explored here.
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
pub struct Explorer<'a, 'b, M> {
    sc: &'a mut Sc<M>,
    session: &'a mut Session<'b>,
    optimal: bool,
    trace: Trace,
    tree: WakeupTree,
    levels: Vec<Level>,
    /// The sleep sets of all levels, one behind the other.
    sleeping: Vec<Sleeper>,
    /// Races that need not be reversed again.
    settled: Settled,
    /// Lengths of the execution at which threads met bounds.
    bounded: Vec<usize>,
    data_races: DataRaces,
    v: Vec<Action>,
    locations: Locations,
}

impl<'a, 'b, M: Machine> Explorer<'a, 'b, M> {
    /// An exploration that has not begun.
    pub fn new(sc: &'a mut Sc<M>, options: &Options, session: &'a mut Session<'b>) -> Explorer<'a, 'b, M> {
        let mut tree = WakeupTree::default();
        let root = tree.make(no_action());
        let mut trace = Trace::default();
        trace.reserve_threads(sc.machine.thread_limit().max(1));
        trace.check_chains = options.limits.check_invariants;
        trace.dependence.ifaa = options.reductions.ifaa;
        trace.dependence.observers = options.reductions.observers;
        let mut data_races = DataRaces::default();
        data_races.silent_wakes = !sc.machine.notifications_synchronise();
        Explorer {
            optimal: options.algorithm == Algorithm::Optimal,
            sc,
            session,
            trace,
            tree,
            levels: vec![Level { node: root, sleep: 0, inherited: 0, fresh: true }],
            sleeping: Vec::new(),
            settled: Settled::default(),
            bounded: Vec::new(),
            data_races,
            v: Vec::new(),
            locations: Locations::default(),
        }
    }

    /// Explores everything. Starts again when a location turns out to be outside the theory of observers.
    pub fn run(&mut self) -> Result<(), Over> {
        while self.explore()? == Explored::Restart {
            while self.sc.depth() > 0 {
                self.sc.undo();
                self.trace.pop();
            }
            self.tree = WakeupTree::default();
            let root = self.tree.make(no_action());
            self.levels.truncate(1);
            self.levels[0] = Level { node: root, sleep: 0, inherited: 0, fresh: true };
            self.sleeping.clear();
            self.bounded.clear();
            self.data_races.forget_from(0);
            self.settled.clear();
            self.session.restart();
        }
        Ok(())
    }

    /// `Explore(⟨⟩)`.
    fn explore(&mut self) -> Result<Explored, Over> {
        loop {
            let level = self.levels.last().expect("the empty prefix is never left");
            let (node, fresh) = (level.node, level.fresh);
            let next = match self.tree.first_child(node) {
                Some(child) => Some(child),          // l. 28: the leftmost
                None if fresh => self.choose(node)?, // ll. 24-26
                None => None,
            };
            if let Some(child) = next {
                self.advance(child)?;
            }
            if std::mem::take(&mut self.locations.restart) {
                return Ok(Explored::Restart);
            }
            if next.is_none() && !self.backtrack() {
                return Ok(Explored::All);
            }
        }
    }

    /// At a leaf of the wakeup tree: picks an enabled thread (ll. 25-26), or ends the execution.
    fn choose(&mut self, node: Node) -> Result<Option<Node>, Over> {
        let last = self.trace.events().last().map(|event| event.action.thread);
        let preferred = last.filter(|&t| self.sc.enabled(t) && !self.is_asleep(t));
        let mut some_enabled = false;
        let picked = preferred.or_else(|| {
            self.sc.threads().find(|&t| {
                let enabled = self.sc.enabled(t);
                some_enabled |= enabled;
                enabled && !self.is_asleep(t)
            })
        });
        let Some(thread) = picked else {
            self.end(some_enabled)?;
            return Ok(None);
        };
        debug_assert!(!self.optimal || self.sleep(self.levels.len() - 1).is_empty(), "at a leaf nobody sleeps");
        let alternatives = self.sc.alternatives(thread);
        let footprint = Footprint::Anything;
        for choice in 0..alternatives {
            if alternatives == 1 || !self.is_asleep_with(thread, choice) {
                self.tree.add_child(node, Action { thread, choice, footprint });
            }
        }
        Ok(self.tree.first_child(node))
    }

    fn sleep(&self, level: usize) -> &[Sleeper] {
        let end = self.levels.get(level + 1).map_or(self.sleeping.len(), |next| next.sleep);
        &self.sleeping[self.levels[level].sleep..end]
    }

    /// Whether all alternatives of a thread sleep at the present level.
    fn is_asleep(&self, thread: ThreadId) -> bool {
        let sleep = self.sleep(self.levels.len() - 1);
        !sleep.is_empty() && {
            let asleep = sleep.iter().filter(|s| s.action.thread == thread).count();
            asleep > 0 && asleep as u32 >= self.sc.alternatives(thread)
        }
    }

    fn is_asleep_with(&self, thread: ThreadId, choice: u32) -> bool {
        self.sleep(self.levels.len() - 1).iter().any(|s| s.action.thread == thread && s.action.choice == choice)
    }

    /// Executes a branch of the present level's wakeup tree.
    fn advance(&mut self, child: Node) -> Result<(), Over> {
        let Action { thread, mut choice, .. } = *self.tree.action(child);
        if !self.sc.enabled(thread)
            && let Some(stop) = self.sc.machine.elsewhere(thread, None)
        {
            return self.stopped(stop);
        }
        debug_assert!(self.sc.enabled(thread), "a branch of a wakeup tree can be executed: {thread}");
        if self.trace.len() >= self.session.limits.max_events {
            return self.session.too_long(&self.sc.machine, thread);
        }
        if choice == ANY {
            choice = 0;
            for other in (1..self.sc.alternatives(thread)).rev() {
                let action = Action { choice: other, ..*self.tree.action(child) };
                self.tree.add_sibling(child, action);
            }
        }
        let op = *self.sc.machine.pending(thread);
        let woken_by = matches!(op, Op::CondWake { .. }).then(|| self.sc.woken_by(thread)).flatten();
        if let Op::Access(access) = &op
            && self.trace.dependence.observers
        {
            self.locations.note(access, &mut self.trace.dependence);
        }
        if let (Op::Access(access), Some(addr)) = (&op, self.tree.action(child).footprint.addr())
            && access.addr.0 != addr
            && let Some(stop) = self.sc.machine.elsewhere(thread, Some(Addr(addr)))
        {
            return self.stopped(stop);
        }
        let result = self.sc.step(thread, choice);
        let (done, stop) = match result {
            Ok(done) => (done, None),
            Err((done, stop)) => (done, Some(stop)),
        };
        let section = if op == Op::AtomicBegin { self.sc.section() } else { &[] };
        if self.trace.dependence.observers {
            section.iter().for_each(|(access, _)| self.locations.note(access, &mut self.trace.dependence));
        }
        let action = self.trace.push(thread, choice, op, done, section, woken_by);
        if !self.sc.performed() || self.sc.met_uninitialised() {
            // Of bytes whose object is dead it is not known whether they were ever written.
            self.trace.note(self.sc.performed(), true);
        }
        debug_assert!(
            self.is_as_predicted(child, &action),
            "{:?} was predicted, {action:?} happened",
            self.tree.action(child)
        );
        self.tree.set_action(child, action);
        self.descend(child, &action);
        self.session.tick(|result| Progress {
            complete: result.complete,
            blocked: result.blocked,
            depth: self.levels.len(),
            fraction: fraction(&self.levels, &self.sleeping, &self.tree),
        })?;
        match stop {
            Some(stop) => self.stopped(stop),
            None => Ok(()),
        }
    }

    /// Everything in a wakeup sequence must happen as it was predicted.
    fn is_as_predicted(&self, child: Node, action: &Action) -> bool {
        let predicted = self.tree.action(child);
        predicted.footprint == Footprint::Anything || predicted.footprint == action.footprint
    }

    /// l. 29: sleep(E.p) := {q ∈ sleep(E) | p, q independent after E}; l. 30: wut(E.p) := subtree(wut(E), p).
    #[inline]
    fn descend(&mut self, child: Node, action: &Action) {
        let level = self.levels.last_mut().expect("the empty prefix is never left");
        level.fresh = false;
        let (start, end) = (level.sleep, self.sleeping.len());
        for n in start..end {
            let mut sleeper = self.sleeping[n];
            match sleeper.pass(action, &self.trace.dependence) {
                Fate::Sleeps => self.sleeping.push(sleeper),
                Fate::Woken => {}
                Fate::Redundant => debug_assert!(!self.optimal, "what is inserted into a wakeup tree is not redundant"),
            }
        }
        let fresh = self.tree.first_child(child).is_none();
        self.levels.push(Level { node: child, sleep: end, inherited: self.sleeping.len() - end, fresh });
    }

    fn stopped(&mut self, stop: Stop) -> Result<(), Over> {
        if matches!(stop, Stop::Bound(_)) {
            self.bounded.push(self.trace.len());
        }
        let (sc, trace) = (&*self.sc, &self.trace);
        self.session.stopped(stop, || schedule(sc, trace))
    }

    /// Ends a maximal execution: classifies it and reverses its new races.
    fn end(&mut self, some_enabled: bool) -> Result<(), Over> {
        if some_enabled {
            // All enabled threads sleep: an equivalent execution was explored (never in Optimal-DPOR).
            self.session.result.redundant += 1;
        } else {
            self.find_data_race()?;
            self.note_spinning();
            let trace = &self.trace;
            let bounded = !self.bounded.is_empty();
            let ending = conclude(self.sc, self.session, bounded, trace, |sc| schedule(sc, trace))?;
            if self.session.observer.wants_executions() {
                let steps: Vec<_> = trace.events().iter().map(|e| (e.action.thread, e.action.choice)).collect();
                self.session.observer.execution(&steps);
            }
            self.session.ended(ending, self.trace.len())?;
        }
        self.reverse_races();
        Ok(())
    }

    /// Locations that threads which spin would read again are outside the theory of observers, if it matters.
    fn note_spinning(&mut self) {
        if !self.trace.dependence.observers {
            return;
        }
        for thread in self.sc.threads() {
            if would_try_again(self.sc, thread)
                && let Some(access) = depends_on_the_order(self.sc, thread, &self.trace)
            {
                self.locations.exclude(&access, &mut self.trace.dependence);
            }
        }
    }

    fn find_data_race(&mut self) -> Result<(), Over> {
        if !self.session.limits.data_races || !self.trace.may_have_races() {
            return Ok(());
        }
        self.data_races.find(&self.trace, self.sc.machine.memory());
        for race in std::mem::take(&mut self.data_races.found) {
            let violation = crate::data_race::describe(self.sc, &self.trace, race);
            // What comes behind the second access has nothing to do with it.
            let steps = self.trace.events()[..=race.newer().index()].iter().map(|e| (e.action.thread, e.action.choice));
            let sc = &*self.sc;
            self.session.violated(violation, || Schedule::record(&sc.machine, steps))?;
        }
        Ok(())
    }

    /// Alg. 1, ll. 3-22.
    fn reverse_races(&mut self) {
        if self.trace.dependence.observers {
            self.trace.order_lazily();
            self.settled.clear();
        }
        let mut v = std::mem::take(&mut self.v);
        self.settled.start(&self.trace);
        for n in 0..self.trace.races().len() {
            match self.trace.races()[n] {
                Race::NonBlocking(e, e2) if self.settled.holds(&self.trace, n, e, self.optimal) => {
                    debug_assert!(!self.session.limits.check_invariants || self.is_covered(e, e2, &mut v));
                }
                Race::NonBlocking(e, e2) => self.reverse(n, e, e2, &mut v),
                Race::Observed(e, e2, observer) => {
                    reversed_observed(&self.trace, e, e2, observer, &mut v);
                    self.probe(e, &mut v);
                    self.insert(e, &mut v);
                }
                Race::MayBlock(e2) => self.reverse_blocking(&Waiter::of_event(&self.trace, e2)),
            }
        }
        self.settled.end(&self.trace);
        for thread in self.sc.threads() {
            // l. 7: p is blocked after E
            if self.sc.machine.status(thread) == Status::Ready
                && let Op::Access(access @ Access { until: Some(_), .. }) = *self.sc.machine.pending(thread)
                && !self.sc.enabled(thread)
            {
                if self.trace.dependence.observers {
                    self.locations.note(&access, &mut self.trace.dependence);
                }
                let found = self.sc.machine.memory().load(thread, access.addr, access.size, true).unwrap_or(0);
                self.reverse_blocking(&Waiter { thread, access, executed: None, found });
            }
        }
        self.v = v;
    }

    /// What a settled race must have left behind: a step that sleeps, or is to be explored, and is a weak initial of `v`.
    fn is_covered(&mut self, e: EventId, e2: EventId, v: &mut Vec<Action>) -> bool {
        if !self.optimal {
            return true;
        }
        reversed(&self.trace, e, e2, v);
        self.probe(e, v);
        let dependence = &self.trace.dependence;
        let mut branches =
            self.tree.children(self.levels[e.index()].node).skip(1).map(|child| *self.tree.action(child));
        let is_initial = |action| weak_initial(Sleeper::new(action), v, dependence) != Initial::No;
        redundant(self.sleep(e.index()), v, dependence) || branches.any(is_initial)
    }

    /// Reverses the n-th race (ll. 4-6).
    fn reverse(&mut self, n: usize, e: EventId, e2: EventId, v: &mut Vec<Action>) {
        if self.optimal {
            reversed(&self.trace, e, e2, v);
        } else {
            crate::source_set::reversed_up_to(&self.trace, e, e2, v);
        }
        self.probe(e, v);
        let footprint = v.last().expect("a sequence ends in the event that was reversed").footprint;
        if touches_more(&self.trace, e, e2, &footprint) {
            self.settled.leave_open(n);
            if !self.optimal {
                reversed(&self.trace, e, e2, v);
                self.probe(e, v);
            }
        }
        self.insert(e, v);
    }

    fn reverse_blocking(&mut self, waiter: &Waiter) {
        let mut sequences = Vec::new();
        let (sc, trace) = (&mut *self.sc, &self.trace);
        let probe = |e: EventId, u: &[Action]| probe_enabled(sc, trace, e, u, waiter.thread);
        blocking_races(trace, waiter, probe, |e, v| sequences.push((e, v.clone())));
        for (e, mut v) in sequences {
            self.probe(e, &mut v);
            self.insert(e, &mut v);
        }
    }

    /// If it is not known what the last event of `v` touches (an atomic section, or an access to bytes that may not have
    /// been written), goes back and finds out.
    fn probe(&mut self, e: EventId, v: &mut [Action]) {
        let Some((last, others)) = v.split_last_mut() else { return };
        let known = last.footprint != Footprint::Anything;
        if known && (!self.trace.has_uninitialised() || last.footprint == Footprint::Nothing) {
            return;
        }
        go_to(self.sc, &self.trace, e, others);
        let op = *self.sc.machine.pending(last.thread);
        let choice = if last.choice == ANY { 0 } else { last.choice };
        let (Ok(done) | Err((done, _))) = self.sc.step(last.thread, choice);
        let (section, dependence) = (self.sc.section(), &mut self.trace.dependence);
        last.footprint = footprint(&op, &done, || dependence.intern(section));
        come_back(self.sc, &self.trace, e);
    }

    /// Inserts `v` at `pre(E, e)` unless it is redundant (ll. 6 and 21).
    fn insert(&mut self, e: EventId, v: &mut Vec<Action>) {
        let level = e.index();
        if self.optimal {
            if !redundant(self.sleep(level), v, &self.trace.dependence) {
                self.tree.insert(self.levels[level].node, v, &self.trace.dependence);
            }
        } else {
            self.add_to_source_set(level, v);
        }
    }

    /// Source-DPOR: adds an initial of `v` to the backtrack set unless one is there. What sleeps counts as there: it was
    /// explored at this level, or need not be.
    fn add_to_source_set(&mut self, level: usize, v: &[Action]) {
        let initials = initials(v, &self.trace.dependence);
        let node = self.levels[level].node;
        let is_initial = |a: &Action| initials.iter().any(|i| i.thread == a.thread);
        if self.sleep(level).iter().any(|sleeper| is_initial(&sleeper.action))
            || self.tree.children(node).any(|child| is_initial(self.tree.action(child)))
        {
            return;
        }
        let first = *initials.first().expect("the first event of a sequence is an initial");
        self.tree.add_child(node, Action { choice: ANY, ..first });
    }

    /// ll. 32-33: when everything below a branch is explored, it sleeps, and the next branch is taken. False at the end.
    fn backtrack(&mut self) -> bool {
        while self.levels.len() > 1 {
            let level = self.levels.pop().expect("there are at least two");
            self.sleeping.truncate(level.sleep);
            let event = self.trace.pop();
            self.sc.undo();
            self.settled.taken_back(&self.trace);
            self.data_races.forget_from(self.trace.len());
            while self.bounded.pop_if(|length| *length > self.trace.len()).is_some() {}
            let parent = self.levels.last().expect("the empty prefix is never left").node;
            self.tree.remove_first_child(parent);
            self.sleeping.push(Sleeper::new(event.action));
            if self.tree.first_child(parent).is_some() {
                return true;
            }
        }
        false
    }
}

/// Whether a thread is enabled after `pre(E, e).u`.
fn probe_enabled<M: Machine>(sc: &mut Sc<M>, trace: &Trace, e: EventId, u: &[Action], thread: ThreadId) -> bool {
    go_to(sc, trace, e, u);
    let enabled = sc.enabled(thread);
    come_back(sc, trace, e);
    enabled
}

/// Goes back to `pre(E, e)` and executes a sequence there. What happened before happens again, violations included.
fn go_to<M: Machine>(sc: &mut Sc<M>, trace: &Trace, e: EventId, u: &[Action]) {
    debug_assert_eq!(sc.depth(), trace.len(), "the execution is at its end");
    while sc.depth() > e.index() {
        sc.undo();
    }
    for step in u {
        let _ = sc.step(step.thread, step.choice);
    }
}

/// Returns to the end of the execution.
fn come_back<M: Machine>(sc: &mut Sc<M>, trace: &Trace, e: EventId) {
    while sc.depth() > e.index() {
        sc.undo();
    }
    for event in &trace.events()[e.index()..] {
        let _ = sc.step(event.action.thread, event.action.choice);
    }
}

/// What leads to the root of a wakeup tree.
fn no_action() -> Action {
    Action { thread: selvedge_machine::main_thread(), choice: 0, footprint: Footprint::Nothing }
}

fn schedule<M: Machine>(sc: &Sc<M>, trace: &Trace) -> Schedule {
    Schedule::record(&sc.machine, trace.events().iter().map(|e| (e.action.thread, e.action.choice)))
}

/// The part of the tree that has been explored, if every branch that is known so far weighs the same.
fn fraction(levels: &[Level], sleeping: &[Sleeper], tree: &WakeupTree) -> f64 {
    let (mut done, mut part) = (0.0, 1.0);
    for (n, level) in levels.iter().enumerate() {
        let end = levels.get(n + 1).map_or(sleeping.len(), |next| next.sleep);
        let explored = end - level.sleep - level.inherited;
        let left = tree.children(level.node).count();
        let all = (explored + left).max(1) as f64;
        done += part * explored as f64 / all;
        part /= all;
    }
    done
}

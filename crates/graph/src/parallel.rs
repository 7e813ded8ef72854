//! Exploration by several workers.
//!
//! Every entry of a list of what is left to explore, together with its graph, is a piece of work of its own: nobody needs
//! to know what the others do. A worker that has nothing to do says so, and one that has plenty gives the oldest entry of
//! its oldest graph away, with a copy of that graph; what is old is large. So counts do not depend on the number of
//! workers. Only whether a composite await is put off depends on what follows if it is not, all of it: whoever explores a
//! part of that says what it has found out when it is done (`joint.rs`).
//!
//! Nor does anything else depend on it. Every piece of work has a rank: when one worker alone would come to it
//! (`rank.rs`). If something is found that ends everything, like a violation, what one worker would have explored before
//! is still explored, and what it would not have come to is not counted. So it is the same violation that is reported, and
//! if all of them are asked for, they come in the same order.
//!
//! Where a reduction has to be left out for a location, or an attempt turns out to be a composite await, the exploration
//! starts again, and for how many that is depends on what is noticed first. So one worker alone finds that out: it
//! explores, and starts again if need be, until it has visited many graphs without having to. Then it tells the others
//! what it knows, and they take part in what is left. If that turns out not to be enough, one worker alone goes further.
//!
//! Each worker has a machine of its own. Machines number threads in the order in which they first meet them, and a
//! graph is meaningful to machines with the same numbers only: a parcel carries the paths of its threads, and a worker
//! with other numbers refuses it. Then the exploration starts again with one worker, and says so.

use crate::event::LocId;
use crate::explorer::{Attempts, Explorer, Frame, Habits, Hope, Place};
use crate::joint::{Joint, Rest};
use crate::models::{self, Model};
use crate::rank::Rank;
use crate::{MemoryModel, Options};
use rustc_hash::FxHashMap;
use selvedge_ir::EntityRef;
use selvedge_machine::session::{Limits, Observer, Session};
use selvedge_machine::verdict::{Exploration, Interruption, Progress};
use selvedge_machine::{Machine, ThreadId};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Programs may nest deeply; only what is used of it takes memory.
const STACK: usize = 1 << 26;

/// A graph, what is left to explore of it, and what its numbers mean.
pub(crate) struct Parcel {
    pub frame: Frame,
    pub places: Vec<Place>,
    pub habits: Vec<Habits>,
    pub threads: Vec<Vec<u32>>,
    /// Sets of locations that waiting turns of the graph refer to.
    pub footprints: Vec<Vec<LocId>>,
    /// How news comes to the attempts that were put off, from the oldest on, if that is known.
    pub hopes: Vec<Option<Arc<Hope>>>,
    /// The turns that it is part of what follows from, oldest first.
    pub turns: Vec<Arc<Joint>>,
    /// If it is the rest of a turn: which one.
    pub rest: Option<Rest>,
    pub rank: Rank,
}

/// What a worker has explored while nobody else explored anything that one worker alone would have explored in between.
pub(crate) struct Stretch {
    pub first: Rank,
    pub result: Exploration,
}

/// What is known of a program from the start.
#[derive(Default)]
pub(crate) struct Knowledge {
    pub habits: FxHashMap<Place, Habits>,
    pub attempts: Attempts,
}

#[derive(Default)]
struct Queue {
    parcels: Vec<Parcel>,
    idle: usize,
}

/// What the workers share.
pub(crate) struct Crew {
    team: Team,
    queue: Mutex<Queue>,
    changed: Condvar,
    /// How many parcels are wanted.
    wanted: AtomicUsize,
    /// Everybody stops.
    stop: Arc<AtomicBool>,
    /// Why everybody stops: what was explored counts no longer.
    restart: AtomicBool,
    /// Why everybody stops: numbers of threads differ.
    strangers: AtomicBool,
    /// Something was found that ends everything; the first of these that one worker alone would have found.
    has_found: AtomicBool,
    found: Mutex<Option<Rank>>,
    /// So many graphs the first worker visits alone before the others join it; none if all begin at once.
    alone: Option<u64>,
    /// What the first worker has found out alone.
    known: OnceLock<Knowledge>,
    /// What the workers that are done have come to know of locations.
    learned: Mutex<FxHashMap<Place, Habits>>,
    executions: AtomicU64,
    blocked: AtomicU64,
}

impl Crew {
    fn new(team: Team, alone: Option<u64>) -> Crew {
        Crew {
            team,
            queue: Mutex::default(),
            changed: Condvar::new(),
            wanted: AtomicUsize::new(0),
            stop: Arc::default(),
            restart: AtomicBool::new(false),
            strangers: AtomicBool::new(false),
            has_found: AtomicBool::new(false),
            found: Mutex::default(),
            alone,
            known: OnceLock::new(),
            learned: Mutex::default(),
            executions: AtomicU64::new(0),
            blocked: AtomicU64::new(0),
        }
    }

    /// Whether somebody waits for work.
    #[inline]
    pub fn is_hungry(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) > 0
    }

    /// Gives work away.
    pub fn give(&self, parcel: Parcel) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.parcels.push(parcel);
        self.wanted.store(queue.idle.saturating_sub(queue.parcels.len()), Ordering::Relaxed);
        self.changed.notify_one();
    }

    /// Waits until all others wait for work, if that is asked for.
    fn wait_for_others(&self) {
        let others = |queue: &Queue| queue.idle + 1 >= self.team.workers || self.stop.load(Ordering::Relaxed);
        while self.team.together && !others(&self.queue.lock().unwrap_or_else(PoisonError::into_inner)) {
            std::thread::yield_now();
        }
    }

    /// Waits for work; none if there will never be any.
    fn take(&self) -> Option<Parcel> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.idle += 1;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(parcel) = queue.parcels.pop() {
                if self.is_void(&parcel.rank) {
                    continue;
                }
                queue.idle -= 1;
                self.wanted.store(queue.idle.saturating_sub(queue.parcels.len()), Ordering::Relaxed);
                return Some(parcel);
            }
            if queue.idle == self.team.workers {
                // Everybody waits: there is nothing left.
                self.stop.store(true, Ordering::Relaxed);
                self.changed.notify_all();
                return None;
            }
            self.wanted.store(queue.idle, Ordering::Relaxed);
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Makes everybody stop.
    pub fn stop(&self) {
        let _queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        self.stop.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// What was explored counts no longer: everybody stops.
    pub fn start_again(&self) {
        self.restart.store(true, Ordering::Relaxed);
        self.stop();
    }

    /// Something was found that ends everything.
    pub fn found(&self, rank: &Rank) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.as_ref().is_none_or(|first| rank < first) {
            *found = Some(rank.clone());
        }
        self.has_found.store(true, Ordering::Relaxed);
    }

    /// Whether one worker alone would not have come to something.
    #[inline]
    pub fn is_void(&self, rank: &Rank) -> bool {
        let is_later = |first: &Rank| rank > first;
        self.has_found.load(Ordering::Relaxed)
            && self.found.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(is_later)
    }

    /// The first worker, which was alone, tells the others what it knows, and what it has counted.
    pub fn tell(&self, known: Knowledge, [complete, blocked]: [u64; 2]) {
        let _queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        self.executions.store(complete, Ordering::Relaxed);
        self.blocked.store(blocked, Ordering::Relaxed);
        let told = self.known.set(known);
        debug_assert!(told.is_ok(), "only the first worker is alone, and only once");
        self.changed.notify_all();
    }

    /// Waits until the first worker has found out what there is to know; false if that was the end.
    fn wait_to_be_told(&self) -> bool {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        while self.alone.is_some() && self.known.get().is_none() {
            if self.stop.load(Ordering::Relaxed) {
                return false;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    /// What is known of the attempts of the program from the start.
    pub fn attempts(&self) -> Option<&Attempts> {
        self.known.get().map(|known| &known.attempts)
    }

    /// What is known of a location from the start.
    pub fn habits(&self, place: Place) -> Habits {
        self.known.get().and_then(|known| known.habits.get(&place)).copied().unwrap_or_default()
    }

    /// The locations that are known from the start.
    pub fn places(&self) -> Vec<Place> {
        let mut places: Vec<Place> =
            self.known.get().into_iter().flat_map(|known| known.habits.keys()).copied().collect();
        places.sort_unstable();
        places
    }

    /// Keeps what a worker has come to know of locations.
    fn learn(&self, known: impl Iterator<Item = (Place, Habits)>) {
        let mut learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        known.for_each(|(place, habits)| learned.entry(place).or_default().merge(habits));
    }

    /// Whether all that the workers know together would have had a location treated otherwise.
    fn would_start_again(&self, options: &Options) -> bool {
        let learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        let treatment = |habits: Habits| habits.treatment(options.reductions);
        learned.iter().any(|(&place, &habits)| treatment(habits) != treatment(self.habits(place)))
    }

    /// Counts complete and blocked executions; how many there are now.
    pub fn count(&self, [complete, blocked]: [u64; 2]) -> u64 {
        let complete = complete + self.executions.fetch_add(complete, Ordering::Relaxed);
        complete + blocked + self.blocked.fetch_add(blocked, Ordering::Relaxed)
    }
}

/// Several workers.
#[derive(Clone, Copy, Debug)]
pub struct Team {
    /// How many there are.
    pub workers: usize,
    /// If there is something to find out first, so many graphs one worker visits alone without having to start again.
    pub alone: u64,
    /// Nobody begins before all are there.
    pub together: bool,
}

/// Explores with several workers, each with a machine of its own.
pub fn explore_parallel<M: Machine>(
    make: &(dyn Fn() -> M + Sync),
    options: &Options,
    jobs: usize,
    progress: &mut dyn FnMut(&Progress),
) -> Exploration {
    explore_with_team(make, options, Team { workers: jobs, alone: GRAPHS_ALONE, together: false }, progress)
}

/// As [`explore_parallel`], with workers that begin differently.
pub fn explore_with_team<M: Machine>(
    make: &(dyn Fn() -> M + Sync),
    options: &Options,
    team: Team,
    progress: &mut dyn FnMut(&Progress),
) -> Exploration {
    if options.preemptions.is_some() {
        let mut alone = crate::explore(make(), options, progress);
        alone.notes.push("one job instead of several: there is a bound on preemptions".to_owned());
        return alone;
    }
    let started = Instant::now();
    let mut alone = None;
    loop {
        let mut left = time_left(options, started);
        // Nobody would know which exchanges another worker has tested; nor does the first one, as long as it is alone.
        left.reductions.tested = false;
        let crew = Crew::new(team, alone);
        let stretches = run_crew(make, &left, &crew, progress);
        if crew.strangers.load(Ordering::Relaxed) {
            let mut alone = crate::explore(make(), &time_left(options, started), progress);
            alone.notes.push("one job instead of several: threads come into being in different orders".to_owned());
            return alone;
        }
        if !crew.restart.load(Ordering::Relaxed) && !crew.would_start_again(options) {
            return crew.conclude(stretches);
        }
        alone = Some(alone.map_or(team.alone, |graphs| 8 * graphs));
    }
}

/// The same with as much time as is left.
fn time_left(options: &Options, started: Instant) -> Options {
    let time = options.limits.time.map(|time| time.saturating_sub(started.elapsed()));
    Options { limits: Limits { time, ..options.limits.clone() }, ..options.clone() }
}

/// So many graphs one worker visits without having to start again before the others join it.
const GRAPHS_ALONE: u64 = 2_000;

/// Whether something was found that ends everything.
pub(crate) fn ends_all(result: &Exploration) -> bool {
    let found = [Interruption::FirstViolation, Interruption::MaxEvents];
    result.unsupported.is_some() || result.interruption.is_some_and(|why| found.contains(&why))
}

struct Quiet;

impl Observer for Quiet {}

/// Shows how far the first worker has come as long as it is alone.
struct Aloud<'a>(&'a Crew);

impl Observer for Aloud<'_> {
    fn progress(&mut self, progress: &Progress) {
        if self.0.alone.is_some() && self.0.known.get().is_none() {
            self.0.executions.store(progress.complete, Ordering::Relaxed);
            self.0.blocked.store(progress.blocked, Ordering::Relaxed);
        }
    }
}

fn run_crew<M: Machine>(
    make: &(dyn Fn() -> M + Sync),
    options: &Options,
    crew: &Crew,
    progress: &mut dyn FnMut(&Progress),
) -> Vec<Stretch> {
    std::thread::scope(|scope| {
        let worker = |first: bool| move || work(make, options, crew, first);
        let start = |n| std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker(n == 0));
        let workers: Vec<_> = (0..crew.team.workers).map(|n| start(n).expect("a thread can be started")).collect();
        let started = std::time::Instant::now();
        while !workers.iter().all(|worker| worker.is_finished()) {
            if options.limits.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                crew.stop();
            }
            std::thread::sleep(Duration::from_millis(if started.elapsed().as_millis() < 50 { 1 } else { 20 }));
            let (complete, blocked) = (&crew.executions, &crew.blocked);
            let (complete, blocked) = (complete.load(Ordering::Relaxed), blocked.load(Ordering::Relaxed));
            progress(&Progress { complete, blocked, depth: 0, fraction: 0.0 });
        }
        let joined = workers.into_iter().map(|worker| worker.join());
        joined.flat_map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// Makes everybody stop if a worker panics: nobody would do what it has taken on, and the others would wait for ever.
struct StopsAll<'a>(&'a Crew);

impl Drop for StopsAll<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

/// What one worker does.
fn work<M: Machine>(make: &(dyn Fn() -> M + Sync), options: &Options, crew: &Crew, first: bool) -> Vec<Stretch> {
    let _stops_all = StopsAll(crew);
    let mut limits = options.limits.clone();
    limits.interrupt = Some(Arc::clone(&crew.stop));
    let own = Options { limits, ..options.clone() };
    let mut aloud = Aloud(crew);
    let mut session = Session::new(&own.limits, &mut aloud);
    let mut machine = make();
    if machine.start().is_err() {
        // It stops before anything can be explored.
        crew.stop();
        if !first {
            return Vec::new();
        }
        return vec![Stretch { first: Rank::default(), result: crate::explore(make(), options, &mut |_| {}) }];
    }
    let mut stretches = match options.model {
        MemoryModel::Sc => labour::<M, models::sc::Sc>(machine, &own, &mut session, crew, first),
        MemoryModel::Tso => labour::<M, models::tso::Tso>(machine, &own, &mut session, crew, first),
        MemoryModel::Ra => labour::<M, models::ra::Ra>(machine, &own, &mut session, crew, first),
        MemoryModel::Rc11 => labour::<M, models::rc11::Rc11>(machine, &own, &mut session, crew, first),
    };
    let asked = options.limits.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
    for result in stretches.iter_mut().map(|stretch| &mut stretch.result) {
        if result.interruption == Some(Interruption::User) && !asked {
            // It was another worker that made an end.
            result.interruption = None;
        }
    }
    stretches
}

fn labour<M: Machine, Mo: Model>(
    machine: M,
    own: &Options,
    session: &mut Session<'_>,
    crew: &Crew,
    first: bool,
) -> Vec<Stretch> {
    let mut explorer = Explorer::<M, Mo>::new(machine, own, session, None);
    let mut goes_on = match crew.alone.filter(|_| first) {
        Some(graphs) => {
            if !explorer.begin_alone(crew, graphs) {
                crew.stop();
                return explorer.into_stretches();
            }
            crew.wait_for_others();
            explorer.go_on_with_others()
        }
        None => {
            if !crew.wait_to_be_told() {
                return Vec::new();
            }
            explorer.join_crew(crew);
            if first {
                crew.wait_for_others();
            }
            !first || explorer.begin()
        }
    };
    while goes_on {
        let Some(parcel) = crew.take() else { break };
        if !explorer.adopt(parcel) {
            crew.strangers.store(true, Ordering::Relaxed);
            break;
        }
        goes_on = explorer.go_on_with_parcel();
    }
    crew.learn(explorer.known_habits());
    crew.stop();
    explorer.into_stretches()
}

impl Crew {
    /// Puts together what was explored, in the order of one worker, up to what ends everything.
    fn conclude(&self, mut stretches: Vec<Stretch>) -> Exploration {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner).take();
        stretches.sort_by(|a, b| a.first.cmp(&b.first));
        let counts = |stretch: &Stretch| found.as_ref().is_none_or(|last| stretch.first <= *last);
        let results = stretches.into_iter().filter(counts).map(|stretch| stretch.result);
        // Violations that are the same are told once, as one worker would.
        let all = Limits { all: true, ..Limits::default() };
        let mut quiet = Quiet;
        let mut session = Session::new(&all, &mut quiet);
        results.for_each(|result| add(&mut session, result));
        session.result
    }
}

/// Adds a result to those that come before it.
fn add(session: &mut Session<'_>, result: Exploration) {
    for found in result.violations {
        // It goes on after a violation.
        let _ = session.violated(found.violation, || found.schedule);
    }
    let all = &mut session.result;
    all.complete += result.complete;
    all.blocked += result.blocked;
    all.redundant += result.redundant;
    all.steps += result.steps;
    all.longest = all.longest.max(result.longest);
    all.unsupported = all.unsupported.take().or(result.unsupported);
    all.interruption = all.interruption.or(result.interruption);
    for (bound, count) in result.bounds {
        match all.bounds.iter_mut().find(|(known, _)| *known == bound) {
            Some((_, known)) => *known += count,
            None => all.bounds.push((bound, count)),
        }
    }
    for note in result.notes {
        if !all.notes.contains(&note) {
            all.notes.push(note);
        }
    }
}

/// How another explorer's numbers of locations translate into this one's.
pub(crate) fn translation(places: &[Place], mut local: impl FnMut(Place) -> Option<LocId>) -> Option<Vec<LocId>> {
    places.iter().map(|&place| local(place)).collect()
}

/// Whether a machine numbers threads as another one does.
pub(crate) fn same_threads<M: Machine>(machine: &mut M, threads: &[Vec<u32>]) -> bool {
    threads.iter().enumerate().all(|(n, path)| machine.thread_at(path) == Some(ThreadId::new(n)))
}

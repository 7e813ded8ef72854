//! Exploration by several workers.
//!
//! Every entry of a list of what is left to explore, together with its graph, is a piece of work of its own: nobody needs
//! to know what the others do. A worker that has nothing to do says so, and one that has plenty gives the oldest entry of
//! its oldest graph away, with a copy of that graph; what is old is large. So counts do not depend on the number of
//! workers.
//!
//! Where a reduction has to be left out for a location, the exploration starts again, and for how many locations that is
//! depends on what is noticed first. So one worker alone finds that out: it explores, and starts again if need be, until it
//! has visited many graphs without having to. Then all workers start with what it knows. If that turns out not to be
//! enough, one worker alone goes further.
//!
//! Each worker has a machine of its own. Machines number threads in the order in which they first meet them, and a
//! graph is meaningful to machines with the same numbers only: a parcel carries the paths of its threads, and a worker
//! with other numbers refuses it. Then the exploration starts again with one worker, and says so.

use crate::event::LocId;
use crate::explorer::{Explorer, Frame, Habits, Place};
use crate::models::{self, Model};
use crate::{MemoryModel, Options};
use rustc_hash::FxHashMap;
use selvedge_ir::EntityRef;
use selvedge_machine::session::{Observer, Session};
use selvedge_machine::verdict::{Exploration, Interruption, Progress};
use selvedge_machine::{Machine, ThreadId};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Programs may nest deeply; only what is used of it takes memory.
const STACK: usize = 1 << 26;

/// A graph, what is left to explore of it, and what its numbers mean.
pub(crate) struct Parcel {
    pub frame: Frame,
    pub places: Vec<Place>,
    pub habits: Vec<Habits>,
    pub threads: Vec<Vec<u32>>,
}

#[derive(Default)]
struct Queue {
    parcels: Vec<Parcel>,
    idle: usize,
}

/// What the workers share.
pub(crate) struct Crew {
    workers: usize,
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
    habits: FxHashMap<Place, Habits>,
    /// What the workers that are done have come to know of locations.
    learned: Mutex<FxHashMap<Place, Habits>>,
    executions: AtomicU64,
    blocked: AtomicU64,
}

impl Crew {
    fn new(workers: usize, habits: FxHashMap<Place, Habits>) -> Crew {
        Crew {
            workers,
            queue: Mutex::default(),
            changed: Condvar::new(),
            wanted: AtomicUsize::new(0),
            stop: Arc::default(),
            restart: AtomicBool::new(false),
            strangers: AtomicBool::new(false),
            habits,
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

    /// Waits for work; none if there will never be any.
    fn take(&self) -> Option<Parcel> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.idle += 1;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(parcel) = queue.parcels.pop() {
                queue.idle -= 1;
                self.wanted.store(queue.idle.saturating_sub(queue.parcels.len()), Ordering::Relaxed);
                return Some(parcel);
            }
            if queue.idle == self.workers {
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

    /// What is known of a location from the start.
    pub fn habits(&self, place: Place) -> Habits {
        self.habits.get(&place).copied().unwrap_or_default()
    }

    /// The locations that are known from the start.
    pub fn places(&self) -> Vec<Place> {
        let mut places: Vec<Place> = self.habits.keys().copied().collect();
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

/// Explores with several workers, each with a machine of its own.
pub fn explore_parallel<M: Machine>(
    make: &(dyn Fn() -> M + Sync),
    options: &Options,
    jobs: usize,
    progress: &mut dyn FnMut(&Progress),
) -> Exploration {
    let (mut habits, mut notes) = (FxHashMap::default(), Vec::new());
    let mut graphs = GRAPHS_ALONE;
    loop {
        let crew = Crew::new(jobs, habits);
        let results = run_crew(make, options, &crew, progress);
        if crew.strangers.load(Ordering::Relaxed) {
            let mut alone = crate::explore(make(), options, progress);
            alone.notes.push("one job instead of several: threads come into being in different orders".to_owned());
            return alone;
        }
        let start_again = crew.restart.load(Ordering::Relaxed) || crew.would_start_again(options);
        if !start_again || results.iter().any(|result| is_over(result, options)) {
            let known = Exploration { notes, ..Exploration::default() };
            return results.into_iter().fold(known, merge);
        }
        match explore_alone(make(), options, graphs, progress) {
            Alone::Over(result) => return *result,
            Alone::Stopped(known, said) => (habits, notes) = (known, said),
        }
        graphs *= 8;
    }
}

/// So many graphs one worker visits without having to start again before the others join it.
const GRAPHS_ALONE: u64 = 2_000;

/// What one worker has come to.
enum Alone {
    /// The end.
    Over(Box<Exploration>),
    /// A number of graphs; with what it knows of locations, and what is to be said about that.
    Stopped(FxHashMap<Place, Habits>, Vec<String>),
}

/// Explores until so many graphs have been visited without having to start again.
fn explore_alone<M: Machine>(
    mut machine: M,
    options: &Options,
    graphs: u64,
    progress: &mut dyn FnMut(&Progress),
) -> Alone {
    let mut observer = crate::OnProgress(progress);
    let mut session = Session::new(&options.limits, &mut observer);
    if machine.start().is_err() {
        unreachable!("other machines for the same program have been started");
    }
    let stopped = match options.model {
        MemoryModel::Sc => Explorer::<M, models::sc::Sc>::new(machine, options, &mut session, None).run_for(graphs),
        MemoryModel::Tso => Explorer::<M, models::tso::Tso>::new(machine, options, &mut session, None).run_for(graphs),
        MemoryModel::Ra => Explorer::<M, models::ra::Ra>::new(machine, options, &mut session, None).run_for(graphs),
        MemoryModel::Rc11 => {
            Explorer::<M, models::rc11::Rc11>::new(machine, options, &mut session, None).run_for(graphs)
        }
    };
    match stopped {
        Some(habits) => Alone::Stopped(habits, session.result.notes),
        None => Alone::Over(Box::new(session.result)),
    }
}

/// Whether a worker has found something that ends everything.
fn is_over(result: &Exploration, options: &Options) -> bool {
    result.unsupported.is_some() || !options.limits.all && !result.violations.is_empty()
}

struct Quiet;

impl Observer for Quiet {}

fn run_crew<M: Machine>(
    make: &(dyn Fn() -> M + Sync),
    options: &Options,
    crew: &Crew,
    progress: &mut dyn FnMut(&Progress),
) -> Vec<Exploration> {
    std::thread::scope(|scope| {
        let worker = |first: bool| move || work(make, options, crew, first);
        let start = |n| std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker(n == 0));
        let workers: Vec<_> = (0..crew.workers).map(|n| start(n).expect("a thread can be started")).collect();
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
        joined.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// What one worker does.
fn work<M: Machine>(make: &(dyn Fn() -> M + Sync), options: &Options, crew: &Crew, first: bool) -> Exploration {
    let mut limits = options.limits.clone();
    limits.interrupt = Some(Arc::clone(&crew.stop));
    let own = Options { limits, ..options.clone() };
    let mut quiet = Quiet;
    let mut session = Session::new(&own.limits, &mut quiet);
    let mut machine = make();
    if let Err(stop) = machine.start() {
        if first {
            // It stops before anything can be explored.
            drop(session);
            crew.stop();
            return crate::explore(make(), options, &mut |_| {});
        }
        let _ = stop;
        return session.result;
    }
    match options.model {
        MemoryModel::Sc => labour::<M, models::sc::Sc>(machine, &own, &mut session, crew, first),
        MemoryModel::Tso => labour::<M, models::tso::Tso>(machine, &own, &mut session, crew, first),
        MemoryModel::Ra => labour::<M, models::ra::Ra>(machine, &own, &mut session, crew, first),
        MemoryModel::Rc11 => labour::<M, models::rc11::Rc11>(machine, &own, &mut session, crew, first),
    }
    let mut result = session.result;
    let asked = options.limits.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
    if result.interruption == Some(Interruption::User) && !asked {
        // It was another worker that made an end.
        result.interruption = None;
    }
    result
}

fn labour<M: Machine, Mo: Model>(machine: M, own: &Options, session: &mut Session<'_>, crew: &Crew, first: bool) {
    let mut explorer = Explorer::<M, Mo>::new(machine, own, session, None);
    explorer.join_crew(crew);
    let mut over = first && explorer.run().is_err();
    while !over {
        let Some(parcel) = crew.take() else { break };
        if !explorer.adopt(parcel) {
            crew.strangers.store(true, Ordering::Relaxed);
            break;
        }
        over = explorer.go_on().is_err();
    }
    crew.learn(explorer.known_habits());
    crew.stop();
}

/// Puts the results of two workers together.
fn merge(mut a: Exploration, b: Exploration) -> Exploration {
    a.complete += b.complete;
    a.blocked += b.blocked;
    a.redundant += b.redundant;
    a.steps += b.steps;
    a.longest = a.longest.max(b.longest);
    a.unsupported = a.unsupported.or(b.unsupported);
    a.interruption = a.interruption.or(b.interruption);
    for found in b.violations {
        let same = |known: &selvedge_machine::verdict::Found| known.violation == found.violation;
        if !a.violations.iter().any(same) {
            a.violations.push(found);
        }
    }
    for (bound, count) in b.bounds {
        match a.bounds.iter_mut().find(|(known, _)| *known == bound) {
            Some((_, known)) => *known += count,
            None => a.bounds.push((bound, count)),
        }
    }
    for note in b.notes {
        if !a.notes.contains(&note) {
            a.notes.push(note);
        }
    }
    a
}

/// How another explorer's numbers of locations translate into this one's.
pub(crate) fn translation(places: &[Place], mut local: impl FnMut(Place) -> Option<LocId>) -> Option<Vec<LocId>> {
    places.iter().map(|&place| local(place)).collect()
}

/// Whether a machine numbers threads as another one does.
pub(crate) fn same_threads<M: Machine>(machine: &mut M, threads: &[Vec<u32>]) -> bool {
    threads.iter().enumerate().all(|(n, path)| machine.thread_at(path) == Some(ThreadId::new(n)))
}

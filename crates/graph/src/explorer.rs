//! The exploration (Algorithm 1): every consistent execution graph, each once.
//!
//! Graphs are built event by event. Whatever else an event could have read, where else a write could have been placed
//! and which reads it could have revisited is put on a list. When a graph is full, the newest entry of the list is
//! taken: the graph is cut back to the event that the entry belongs to, changed, and built on. A backward revisit makes
//! a graph of its own, with a list of its own, on a stack of graphs (or of the present one, if nothing else is left to explore of
//! that); memory is the longest such stack.
//!
//! The recursion of the paper is the order in which entries are taken: the newest first.
//!
//! | file | lines of Algorithm 1 |
//! |---|---|
//! | `explorer.rs` | the loop, `next_P` (1 to 10) |
//! | `explorer/read.rs` | reads (14, 15, 19) |
//! | `explorer/granules.rs` | accesses of different sizes |
//! | `explorer/locations.rs` | where locations are |
//! | `explorer/overtake.rs` | read-modify-writes of what another one has read (15, 20) |
//! | `explorer/write.rs` | writes, backward revisits (20 to 24) |
//! | `explorer/in_place.rs` | reads that are read again in place (4, 22) |
//! | `explorer/store_as_exchange.rs` | writes that are ordered by making stores exchanges (section 7) |
//! | `explorer/speculative.rs` | confirmation loops (11 to 13, 16 to 18) |
//! | `explorer/tested.rs` | exchanges that wait, with a load before; not in the paper |
//! | `explorer/older_value.rs` | confirmations of a value that was written twice |
//! | `explorer/composite.rs` | attempts that read several things; not in the paper |
//! | `explorer/ways.rs` | how attempts that were put off get on |
//! | `explorer/whole.rs` | attempts that fail, but would not start again as a whole |
//! | `explorer/start_again.rs` | the last read of an attempt that fails |
//! | `explorer/schedules.rs` | schedules, with a bound on preemptions; not in the paper |
//! | `explorer/sites.rs` | places in the program |
//! | `explorer/other.rs` | everything else (25) |
//! | `explorer/estimate.rs` | random walks |
//! | `explorer/frames.rs` | the stack of graphs |
//! | `explorer/crew.rs` | work that is given away and taken on |

use crate::event::{EventId, Kind, LocId};
use crate::graph::Graph;
use crate::models::{Model, Scratch};
use crate::parallel::Crew;
use crate::request::Request;
use crate::runner::Runner;
use crate::{Full, OnFull, Options, ending};
pub(crate) use composite::Attempts;
use composite::{Composites, Next};
pub use estimate::{Effort, Estimate};
pub(crate) use frames::Frames;
pub(crate) use granules::Place;
pub(crate) use in_place::Habits;
use locations::Locations;
use rustc_hash::FxHashMap;
use schedules::{Schedules, Why};
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::session::{Ending, Over, Session};
use selvedge_machine::verdict::{Interruption, Progress};
use selvedge_machine::{Addr, Machine, Op, Status, Stop, ThreadId};
use std::marker::PhantomData;
pub(crate) use ways::{Hope, Ways};

mod composite;
mod crew;
mod estimate;
mod frames;
mod granules;
mod in_place;
mod locations;
mod older_value;
mod other;
mod overtake;
mod read;
mod schedules;
mod sites;
mod speculative;
mod start_again;
mod store_as_exchange;
mod tested;
mod ways;
mod whole;
mod write;

/// Something that is left to explore.
#[derive(Clone, Copy, Debug)]
enum Todo {
    /// A read reads from another write.
    Source { read: EventId, write: EventId, older: Option<EventId> },
    /// A read-modify-write reads from what another one has read from, and writes this; the newest read that it revisits.
    Overtake { read: EventId, write: EventId, value: u64, order: Order, newest: EventId },
    /// A write is placed elsewhere in coherence order.
    Place { write: EventId, position: u32, older: Option<EventId> },
    /// Another number is chosen.
    Choice { event: EventId, choice: u64 },
    /// A write revisits a read.
    Back { write: EventId, read: EventId },
    /// A speculative read takes what another one has read, which waits for it.
    Speculate { read: EventId, write: EventId, other: EventId, older: Option<EventId> },
    /// A composite await waits for writes, although it could read (if some came).
    Later { turn: EventId },
    /// A composite await that fails waits for writes.
    Wait { turn: EventId },
    /// A speculative read is read again in place when a write comes, but from an older write of the same value.
    Older { write: EventId, read: EventId, older: EventId },
    /// Another thread runs, as the last one makes room when there are so many events.
    Run { at: u32, thread: ThreadId, why: Why, loc: LocId, preemptions: u32, name: [u64; 2] },
    /// Nobody runs any more when there are so many events.
    End { at: u32 },
    /// Here was something that another worker explores.
    Given,
}

/// A graph and what is left to explore of it.
#[derive(Default)]
pub(crate) struct Frame {
    graph: Graph,
    todo: Vec<Todo>,
    /// How many of the first executed events are those of the graph below it on the stack as well.
    common: usize,
}

/// Memory that an exploration has used, and that the next one can use again.
#[derive(Default)]
pub struct Storage {
    spare: Vec<Frame>,
    frames: Frames,
    steps: Vec<crate::runner::Step>,
    places: Vec<(Addr, u8)>,
    locations: Locations,
    scratch: Box<Scratch>,
    names: Vec<EventId>,
    waiting: Vec<EventId>,
    habits: Vec<Habits>,
    waits: FxHashMap<(u64, u64), bool>,
}

impl Storage {
    /// As many graphs are kept.
    const FRAMES: usize = 32;
}

/// Whether the present graph goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Go {
    On,
    Back,
}

/// An exploration.
pub struct Explorer<'a, 's, 'f, M, Mo> {
    runner: Runner<M>,
    options: &'a Options,
    session: &'a mut Session<'s>,
    full: Option<&'a mut OnFull<'f>>,
    frames: Frames,
    /// Frames that are not in use, kept for their memory.
    spare: Vec<Frame>,
    locations: Locations,
    scratch: Box<Scratch>,
    names: Vec<EventId>,
    waiting: Vec<EventId>,
    /// What is known of locations over all graphs.
    habits: Vec<Habits>,
    /// Whether speculative reads of some location are treated as such.
    speculation: bool,
    /// Whether threads spin, by what has happened before and by the write that they look at.
    waits: FxHashMap<(u64, u64), bool>,
    /// What is known of composite awaits.
    composites: Composites,
    /// What was explored counts no longer.
    restart: bool,
    restarts: u32,
    /// For random walks: how the last graph ended, if it was full.
    reached: Option<Ending>,
    /// Others who explore the same program.
    crew: Option<&'a Crew>,
    /// Which part of it this one explores.
    post: crew::Post,
    /// What is known of schedules, if these are explored.
    schedules: Option<Box<Schedules>>,
    /// After so many full graphs since the last start it stops.
    budget: Option<u64>,
    model: PhantomData<Mo>,
}

impl<'a, 's, 'f, M: Machine, Mo: Model> Explorer<'a, 's, 'f, M, Mo> {
    /// An exploration of a machine that has been started.
    pub fn new(
        machine: M,
        options: &'a Options,
        session: &'a mut Session<'s>,
        full: Option<&'a mut OnFull<'f>>,
    ) -> Explorer<'a, 's, 'f, M, Mo> {
        Explorer::new_in(machine, options, session, full, Storage::default())
    }

    /// The same, in memory that was used before.
    pub(crate) fn new_in(
        machine: M,
        options: &'a Options,
        session: &'a mut Session<'s>,
        full: Option<&'a mut OnFull<'f>>,
        storage: Storage,
    ) -> Explorer<'a, 's, 'f, M, Mo> {
        let Storage { mut spare, frames: mut empty, steps, places, locations, scratch, names, waiting, habits, waits } =
            storage;
        let mut first: Frame = spare.pop().unwrap_or_default();
        first.graph.without_past = !machine.may_spin();
        first.graph.silent_wakes = !machine.notifications_synchronise();
        empty.push(first);
        Explorer {
            runner: Runner::new_in(machine, steps, places),
            options,
            session,
            full,
            frames: empty,
            spare,
            locations,
            scratch,
            names,
            waiting,
            habits,
            speculation: false,
            waits,
            composites: Composites::default(),
            restart: false,
            restarts: 0,
            reached: None,
            crew: None,
            post: crew::Post::default(),
            schedules: None,
            budget: None,
            model: PhantomData,
        }
    }

    /// The end: what is left for the next exploration.
    pub(crate) fn into_storage(self) -> Storage {
        let Explorer { runner, mut frames, mut spare, mut locations, scratch, names, waiting, .. } = self;
        let (mut habits, mut waits) = (self.habits, self.waits);
        frames.move_to(&mut spare);
        spare.truncate(Storage::FRAMES);
        for frame in &mut spare {
            frame.graph.reset();
            frame.todo.clear();
        }
        locations.clear();
        habits.clear();
        waits.clear();
        let (steps, places) = runner.into_storage();
        Storage { spare, frames, steps, places, locations, scratch, names, waiting, habits, waits }
    }

    fn frame(&mut self) -> &mut Frame {
        debug_assert!(!self.frames.is_empty(), "there is a graph while there is something to explore");
        &mut self.frames.top
    }

    fn graph(&self) -> &Graph {
        debug_assert!(!self.frames.is_empty(), "there is a graph while there is something to explore");
        &self.frames.top.graph
    }

    /// Explores everything.
    pub fn run(&mut self) -> Result<(), Over> {
        self.schedules = Schedules::new(self.options);
        // VISIT, lines 4 to 26; what does not go on returns.
        while self.extend()? == Go::On {}
        self.go_on()
    }

    /// Explores what is left.
    pub(crate) fn go_on(&mut self) -> Result<(), Over> {
        loop {
            if self.restart {
                self.start_again()?;
            } else if !self.next_todo()? && !self.has_learned() {
                return Ok(());
            }
            while self.extend()? == Go::On {}
        }
    }

    /// Starts from the empty graph again.
    fn start_again(&mut self) -> Result<(), Over> {
        self.restart = false;
        if self.crew.is_some() {
            return self.crew_starts_again();
        }
        self.look_around()?;
        self.restarts += 1;
        self.session.restart();
        self.empty_graph();
        Ok(())
    }

    /// Puts everything away.
    fn empty_graph(&mut self) {
        self.composites.forget_turns();
        self.clear_schedules();
        self.frames.move_to(&mut self.spare);
        let mut frame = self.spare.pop().unwrap_or_default();
        frame.graph.clear();
        frame.graph.without_past = !self.runner.machine.may_spin();
        frame.graph.silent_wakes = !self.runner.machine.notifications_synchronise();
        frame.todo.clear();
        self.runner.switch(&frame.graph);
        self.frames.push(frame);
    }

    /// Takes entries from the lists until one leads to a graph that goes on. False if there is none.
    fn next_todo(&mut self) -> Result<bool, Over> {
        if self.crew.is_some_and(Crew::is_hungry) {
            self.give_work_away();
        }
        while !self.frames.is_empty() {
            let go = match self.frames.top.todo.pop() {
                Some(entry) if self.is_wanted(&entry) => self.take_up(entry)?,
                Some(_) => Go::Back,
                None => {
                    let done = self.frames.pop().expect("there is a frame");
                    if !self.frames.is_empty() {
                        self.runner.switch_to_part(&self.frames.top.graph, done.common);
                    }
                    self.spare.push(done);
                    Go::Back
                }
            };
            if go == Go::On || self.restart {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes the graph that an entry stands for.
    fn take_up(&mut self, entry: Todo) -> Result<Go, Over> {
        match entry {
            Todo::Source { read, write, older } => self.read_from(read, write, older),
            Todo::Overtake { read, write, value, order, newest } => self.overtake(read, write, (value, order), newest),
            Todo::Place { write, position, older } => self.place(write, position, older),
            Todo::Choice { event, choice } => self.choose(event, choice),
            Todo::Back { write, read } => self.revisit(write, read),
            Todo::Speculate { read, write, other, older } => self.speculate(read, (write, older), other),
            Todo::Later { turn } => Ok(self.put_off(turn)),
            Todo::Wait { turn } => Ok(self.wait(turn)),
            Todo::Older { write, read, older } => self.read_again_older(write, read, older),
            Todo::Run { at, thread, why, loc, preemptions, name } => {
                Ok(self.begin_run(at, thread, (why, loc), (preemptions, name)))
            }
            Todo::End { at } => self.end_schedule(at),
            Todo::Given => Ok(Go::Back),
        }
    }

    /// Adds the next event (lines 5 and 6), if there is one.
    fn extend(&mut self) -> Result<Go, Over> {
        if self.restart {
            return Ok(Go::Back);
        }
        self.tick()?;
        debug_assert_eq!(self.broken(), None, "the graph is not what it should be: {:#?}", self.graph());
        self.catch_up()?;
        if self.schedules.is_some() {
            return self.run_on();
        }
        let thread = match self.next() {
            Next::Thread(thread) => thread,
            Next::Nobody => {
                self.conclude()?;
                return Ok(Go::Back);
            }
            Next::Failed => return Ok(Go::Back),
            Next::Spins(turn) if self.is_whole(turn) => return Ok(Go::Back),
            Next::Waits(turn) | Next::Spins(turn) => {
                self.refuse(turn);
                return Ok(Go::Back);
            }
        };
        self.look_up_place(thread);
        if self.is_at_turn(thread) {
            self.take_turn(thread);
            return Ok(Go::On);
        }
        if self.graph().len() >= self.options.limits.max_events {
            self.session.too_long(&self.runner.machine, thread)?;
        }
        let op = self.runner.machine.pending(thread);
        if let Op::Access(access) = op {
            return self.request(thread, Request::of_access(access));
        }
        match Request::of_condition(thread, op) {
            Some(request) => self.request(thread, request),
            None => {
                let op = *op;
                self.synchronise(thread, &op)
            }
        }
    }

    /// Adds what a thread asks for.
    #[inline]
    fn request(&mut self, thread: ThreadId, mut request: Request) -> Result<Go, Over> {
        self.make_composite(thread, &mut request);
        self.access(thread, &request)
    }

    /// An event is about to be added.
    #[inline]
    fn tick(&mut self) -> Result<(), Over> {
        let depth = self.graph().len();
        self.session.tick(|result| Progress {
            complete: result.complete,
            blocked: result.blocked,
            depth,
            fraction: 0.0,
        })
    }

    /// What is wrong with the graph, if that is to be looked at.
    fn broken(&self) -> Option<String> {
        self.options.limits.check_invariants.then(|| crate::axioms::broken(self.options.model, self.graph())).flatten()
    }

    /// Brings the machine to where the graph is, and notes it if a thread stops there.
    fn catch_up(&mut self) -> Result<(), Over> {
        let graph = &self.frames.top.graph;
        let newest = self.runner.bring(graph);
        if self.runner.has_earlier() {
            self.runner.take_earlier().into_iter().try_for_each(|stop| self.stopped(stop))?;
        }
        match newest {
            Ok(()) => Ok(()),
            Err(stop) => self.stopped(stop),
        }
    }

    /// Notes why a thread cannot go on.
    fn stopped(&mut self, stop: Stop) -> Result<(), Over> {
        let graph = &self.frames.top.graph;
        let machine = &self.runner.machine;
        self.session.stopped(stop, || ending::schedule(machine, graph, None))
    }

    /// `next_P`: the first thread, in the order of their numbers, that can add an event. A read-modify-write whose read
    /// has been added, or an access of which some granules have been, comes first of all, and then a thread that has
    /// something to confirm.
    fn next_thread(&mut self) -> Option<ThreadId> {
        if let Some(thread) = self.speculating() {
            return Some(thread);
        }
        if self.graph().may_be_open {
            if let Some(thread) = self.open_thread() {
                return Some(thread);
            }
            self.frame().graph.may_be_open = false;
        }
        if let Some(thread) = self.tester() {
            return Some(thread);
        }
        debug_assert_eq!(self.open_thread(), None, "it is noted when a thread has to go on");
        let mut parked = None;
        for thread in (0..self.runner.machine.thread_limit()).map(ThreadId::new) {
            let machine = &self.runner.machine;
            if machine.status(thread) != Status::Ready {
                continue;
            }
            let op = machine.pending(thread);
            if let Op::Join { thread: other } = op
                && !machine.can_be_joined(*other)
            {
                continue;
            }
            let graph = &self.frames.top.graph;
            if let Some(&last) = graph.thread(thread).last() {
                let last = graph.event(last);
                if last.blocked || last.kind == Kind::Turn && self.waits_for_news(thread) {
                    continue;
                }
            }
            let is_parked = self.may_park(thread, op) && self.is_parked(thread);
            if !is_parked && !self.comes_too_early(thread) {
                return Some(thread);
            }
            parked = parked.or(Some(thread));
        }
        parked
    }

    /// A thread that has added the read of a read-modify-write, or a part of an access.
    fn open_thread(&self) -> Option<ThreadId> {
        let graph = self.graph();
        let is_open = |&thread: &ThreadId| {
            let last = graph.last(thread).map(|last| graph.event(last));
            last.is_some_and(|last| last.is_read() && last.exclusive && !last.blocked || last.is_unfinished())
                && self.runner.machine.status(thread) == Status::Ready
        };
        (0..graph.thread_limit()).map(ThreadId::new).find(is_open)
    }

    /// The access that a thread stands at.
    fn pending_request(&self, thread: ThreadId) -> Request {
        let mut request =
            Request::of(thread, self.runner.machine.pending(thread)).expect("a read belongs to an access");
        self.make_composite(thread, &mut request);
        request
    }

    /// Goes back to the moment when an event was added: it is the newest one and not executed yet.
    fn cut_behind(&mut self, e: EventId) {
        let graph = &mut self.frames.top.graph;
        graph.cut(e.index() + 1);
        graph.back_to_newest();
        self.runner.forget_from(graph.executed.len());
        self.cut_schedule_behind(e);
    }

    /// The graph is full (line 7).
    fn conclude(&mut self) -> Result<(), Over> {
        self.end_attempts()?;
        let graph = &self.frames.top.graph;
        let ended = ending::conclude(&mut self.runner, graph, self.session)?;
        self.reached = Some(ended);
        if ended == Ending::Blocked && self.schedules.is_none() && self.note_composites() {
            return Ok(());
        }
        let graph = &self.frames.top.graph;
        if let Some(full) = &mut self.full {
            full(&Full { graph, places: &self.runner.places, ending: ended, restarts: self.restarts });
        }
        let steps = ending::steps(graph, self.session.result.longest);
        let wanted = match self.crew {
            Some(crew) => self.count(crew, ended == Ending::Blocked)?,
            None => true,
        };
        self.session.ended(ended, steps)?;
        if !wanted {
            return self.session.interrupted(Interruption::MaxExecutions);
        }
        if self.is_at_budget() { Err(Over) } else { Ok(()) }
    }
}

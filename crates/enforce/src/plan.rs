//! From a published tree to what each thread does: the plan that the run-time follows.
//!
//! | level | what it does |
//! |---|---|
//! | Opt0 | every transition in the order of the path; nothing is left out |
//! | Opt1 | the partial order of each section; operations on mutexes, barriers and condition variables are left out; nobody waits for the inputs of others |
//! | Opt2 | as Opt1, with bytes of objects told apart, sections replicated, and events merged; the next section begins while a thread is still busy with an input in the last one (`tails.rs`): the run-time is called only where a thread waits, is waited for, or decides; where the tree leaves open who goes on, that is decided when the program runs |
//!
//! At Opt0 and Opt1, Algorithm 4 decides beforehand where the tree leaves a choice.
//!
//! Operations of synchronisation stay where they are if the program may go on without its schedule, and if it tries a lock:
//! whether that succeeds depends on the others.

use crate::emit::{SiteId, Sites};
use crate::planner::Planner;
use selvedge_ir::{EntityRef, FuncId, Inst, InstKind, Module, Operand};
use selvedge_schedule::{
    Options, Precision, PublishedArt, Silent, StepKind, ThreadId, independently_fair, program_schedule,
};
use std::collections::{HashMap, HashSet};
use thiserror::Error;

/// How much is optimised.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// Every transition in order.
    Opt0,
    /// Partial orders, and no redundant synchronisation.
    Opt1,
    /// Longer sections, cells of arrays, merged events.
    Opt2,
}

/// What is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlanOptions {
    /// How much is optimised.
    pub level: Level,
    /// How many sections are made one at Opt2.
    pub replicate: usize,
    /// Whether a program that leaves its schedule goes on without it.
    pub continue_unconstrained: bool,
    /// Whether the run-time is called at every step, so that a run can be looked at; who waits for whom stays the same.
    pub every_step: bool,
}

impl Default for PlanOptions {
    fn default() -> PlanOptions {
        PlanOptions { level: Level::Opt2, replicate: 8, continue_unconstrained: false, every_step: false }
    }
}

/// Why a schedule cannot be followed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PlanError {
    /// It is not fair.
    #[error("it would leave out {0} forever")]
    Unfair(String),
    /// It is too large.
    #[error("it is too large: {0}")]
    TooLarge(String),
    /// A choice between threads cannot be seen.
    #[error("{0}")]
    Unseen(String),
    /// Two ways on cannot be told apart.
    #[error("it does not say how {thread} decides at {site}")]
    Undecided {
        /// The thread.
        thread: String,
        /// Where.
        site: String,
    },
    /// A step is no operation of its kind.
    #[error("it takes {0} for something else")]
    WrongKind(String),
    /// What is verified cannot be kept to yet.
    #[error("it cannot be enforced: {0}")]
    NotEnforced(String),
    /// The program cannot go on without it.
    #[error("a program that waits at barriers cannot go on without its schedule")]
    CannotContinue,
}

/// What a thread does at a named instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanStep {
    /// The instruction.
    pub site: SiteId,
    /// The successor that a branch has to take.
    pub successor: Option<u32>,
    /// For which signals of other threads it waits first.
    pub waits: Vec<(ThreadId, u32)>,
    /// Whose tails of earlier sections it waits for first, and which classes of them (`tails.rs`).
    pub tails: Vec<(ThreadId, u32)>,
    /// The signal that it gives afterwards; 0 is none.
    pub signal: u32,
}

/// A section, thread by thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanSection {
    /// The steps of each thread.
    pub steps: Vec<Vec<PlanStep>>,
    /// How many signals each thread gives before its tail: then the next section may begin.
    pub signals: Vec<u32>,
    /// How many signals each thread gives in all.
    pub totals: Vec<u32>,
    /// The class of each thread's tail, if it has one.
    pub tail_classes: Vec<u32>,
    /// Whether all other threads wait for a signal of its first thread before they do anything: then they need not hear
    /// of it earlier.
    pub waits_for_leader: bool,
    /// Whether one thread has all of its events. Then nobody hears of it, and nothing is signalled: the thread goes from one
    /// such section to the next until another one is to go on.
    pub alone: bool,
    /// Who sees to it that things go on behind it: a thread that is alone in it, else the one that starts the next
    /// section, or, where several may, that of its last event; nobody where the schedule ends.
    pub in_charge: Option<ThreadId>,
    /// Whether it writes what is shared, operations of synchronisation that are left out not included.
    pub writes: bool,
    /// Whether the thread that is alone in it takes an input when it is through, up to its tail: that may be long in coming.
    pub asks: bool,
    /// The node that it leads to.
    pub to: usize,
}

/// Where the leader of a node goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Nowhere: that way was not verified.
    Leave,
    /// Into a section, of which it has done some steps already.
    Section(usize, usize),
    /// To a choice.
    Choice(usize),
}

/// A step that the leader makes while it is not decided which section it belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The instruction.
    pub site: SiteId,
    /// Whether it is the branch that decides.
    pub branch: bool,
    /// Whose tails of earlier sections it waits for first, and which classes of them.
    pub tails: Vec<(ThreadId, u32)>,
    /// Where it leads, by successor of the branch; one entry if it is none.
    pub next: Vec<Next>,
}

/// How a thread goes on at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// The thread.
    pub leader: ThreadId,
    /// Where it goes.
    pub next: Next,
}

/// A node of the program schedule: who may start the next section. Several at an *open* node, nobody where the schedule ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanNode {
    /// One for each thread that may.
    pub offers: Vec<Position>,
}

/// What the run-time follows.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The named instructions and what becomes of them.
    pub sites: Sites,
    /// Their names, by number.
    pub site_names: Vec<String>,
    /// Sections.
    pub sections: Vec<PlanSection>,
    /// Nodes; the first is the root.
    pub nodes: Vec<PlanNode>,
    /// Choices.
    pub choices: Vec<Choice>,
    /// Whether operations of synchronisation are left out.
    pub omits_synchronisation: bool,
    /// Whether the program goes on without a schedule once it has left it.
    pub continue_unconstrained: bool,
}

/// Makes the plan of a tree that belongs to the module ([`selvedge_schedule::belongs_to`]).
pub fn plan(module: &Module, art: &PublishedArt, options: PlanOptions) -> Result<Plan, PlanError> {
    enforceable(module, art)?;
    selvedge_schedule::fairness::admits_fairness(art)
        .map_err(|(thread, _)| PlanError::Unfair(art.threads[thread.index()].name.clone()))?;
    let steps = resolved(module, art)?;
    let kinds: HashSet<StepKind> = steps.iter().flatten().map(|(_, kind)| *kind).collect();
    let barriers = kinds.contains(&StepKind::BarrierArrive) || kinds.contains(&StepKind::BarrierLeave);
    if options.continue_unconstrained && barriers {
        return Err(PlanError::CannotContinue);
    }
    let omit = options.level >= Level::Opt1 && !options.continue_unconstrained && !kinds.contains(&StepKind::TryLock);
    let precision = match options.level {
        Level::Opt0 => Precision::Order,
        Level::Opt1 => Precision::Objects,
        Level::Opt2 => Precision::Bytes,
    };
    let replicate = if options.level == Level::Opt2 { options.replicate.max(1) } else { 1 };
    let silent = match options.level {
        Level::Opt0 => Silent::Kept,
        Level::Opt1 => Silent::Branches,
        Level::Opt2 => Silent::Omitted,
    };
    let wanted = Options { precision, replicate, omit_synchronisation: omit, silent };
    if options.level == Level::Opt2
        && let Ok(schedule) = program_schedule(art, wanted)
    {
        return Planner { art, schedule: &schedule, steps: &steps, omit, precision, options }.plan();
    }
    // One thread at each node, which is decided here. Changes between threads cost time: what is done in a row is done by one
    // thread.
    let stay = if options.level == Level::Opt2 { options.replicate as u32 } else { 0 };
    let fair = independently_fair(art, stay).map_err(|error| PlanError::TooLarge(error.to_string()))?;
    let schedule = program_schedule(&fair, wanted).map_err(|error| PlanError::Unseen(error.to_string()))?;
    Planner { art: &fair, schedule: &schedule, steps: &steps, omit, precision, options }.plan()
}

/// Two things can be verified that the run-time cannot keep to: a block of memory is copied by one instruction, where others may
/// have to come between; and a function returns whose variables others may use, which is no instruction that could wait.
fn enforceable(module: &Module, art: &PublishedArt) -> Result<(), PlanError> {
    let mut steps = art.transitions.iter().flat_map(|transition| &transition.steps);
    let Some(step) = steps.find(|step| obstacle(step.kind).is_some()) else { return Ok(()) };
    let what = obstacle(step.kind).unwrap_or_default();
    Err(PlanError::NotEnforced(format!("{}: {what}", place_of(module, &step.site))))
}

/// Why a step of a kind cannot be enforced, if so.
fn obstacle(kind: StepKind) -> Option<&'static str> {
    match kind {
        StepKind::Piece => Some("several shared variables are copied as a block"),
        StepKind::Return => Some("a function returns whose variables other threads may use"),
        _ => None,
    }
}

/// `file.c:12:3`, or what else is known of an instruction.
fn place_of(module: &Module, site: &selvedge_schedule::Site) -> String {
    let loc = site.resolve(module).map(|(func, inst)| &module.locs[module.functions[func].insts[inst].loc]);
    match loc.and_then(|loc| Some((&module.files[loc.file?].name, loc))) {
        Some((file, loc)) if loc.line > 0 => format!("{file}:{}:{}", loc.line, loc.column),
        _ => site.to_string(),
    }
}

/// An instruction.
pub(crate) type Place = (FuncId, Inst);

/// The steps of each transition. Each has to be what the tree says it is.
fn resolved(module: &Module, art: &PublishedArt) -> Result<Vec<Vec<(Place, StepKind)>>, PlanError> {
    let mut known: HashMap<(&str, u32), Place> = HashMap::new();
    let mut all = Vec::new();
    for transition in &art.transitions {
        let mut steps = Vec::new();
        for step in &transition.steps {
            let wrong = || PlanError::WrongKind(step.site.to_string());
            let name = (step.site.function.as_str(), step.site.inst);
            let place = match known.get(&name) {
                Some(place) => *place,
                None => step.site.resolve(module).ok_or_else(wrong)?,
            };
            known.insert(name, place);
            if !fits(module, place, step.kind) {
                return Err(wrong());
            }
            steps.push((place, step.kind));
        }
        all.push(steps);
    }
    Ok(all)
}

/// Whether an instruction can be a step of a kind. Names of functions are not looked at, only what would go wrong.
fn fits(module: &Module, (func, inst): Place, kind: StepKind) -> bool {
    let function = &module.functions[func];
    let data = &function.insts[inst];
    let is_call = matches!(data.kind, InstKind::Call { .. });
    match kind {
        StepKind::Branch(n) => (n as usize) < data.kind.successors().len(),
        StepKind::Exit => is_call || matches!(data.kind, InstKind::Ret { .. } | InstKind::Unreachable),
        StepKind::Load | StepKind::Store | StepKind::Rmw | StepKind::Fence => !data.kind.is_terminator(),
        // The result says to one of the threads that it was the last: without the barrier, that is not known.
        StepKind::BarrierArrive | StepKind::BarrierLeave => {
            let used = |operand: &Operand| matches!(operand, Operand::Value(value) if data.results.contains(value));
            is_call && !function.placed_insts().any(|(_, other)| function.insts[other].kind.operands().iter().any(used))
        }
        _ => is_call,
    }
}

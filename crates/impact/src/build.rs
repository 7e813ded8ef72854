//! From the program representation to control-flow automata.
//!
//! Every thread is followed from its start, symbolically, along every path, up to the next access that another thread
//! could notice: that is a transition. Calls are followed into their bodies. What a thread knows for certain at a
//! location (a pointer, a loop counter of the main thread, a thread handle) is kept with the location, as constant
//! propagation would; so addresses are known when they are used, and a program whose addresses are not is refused.
//!
//! Which objects are shared, which are ever written, and which are arrays is found out on the way. When something turns
//! out that was assumed otherwise, everything is built again with that knowledge; it only grows, so that ends.
//!
//! | file | owns |
//! |---|---|
//! | `build.rs` | the order of things: facts, threads, locations |
//! | `build/objects.rs` | memory: objects, addresses, cells |
//! | `build/knowledge.rs` | what is known about values at a location |
//! | `build/liveness.rs` | which values matter where |
//! | `build/path.rs` | one path through a thread |
//! | `build/entry.rs` | where a thread starts |
//! | `build/access.rs` | accesses to memory along a path |
//! | `build/block.rs` | blocks of memory that are copied or filled |
//! | `build/heap.rs` | allocated memory, and memory without a first value |
//! | `build/pointers.rs` | pointers into one of several objects |
//! | `build/run.rs` | instructions along a path |
//! | `build/arithmetic.rs` | operators |
//! | `build/library.rs` | library functions |
//! | `build/sync.rs` | operations of synchronisation; mutexes, semaphores |
//! | `build/condition.rs` | condition variables |
//! | `build/barrier.rs` | barriers |
//! | `build/rwlock.rs` | read-write locks |
//! | `build/threads.rs` | creation and end of threads |

mod access;
mod arithmetic;
mod barrier;
mod block;
mod condition;
mod entry;
mod heap;
mod knowledge;
mod library;
mod liveness;
mod objects;
mod path;
mod pointers;
mod run;
mod rwlock;
mod sync;
mod threads;

use crate::program::{
    Location, LocationId, Object, ObjectId, Place, Program, Thread, ThreadId, TransitionData, TransitionId,
};
use crate::term::{State, Symbol, Terms};
use knowledge::Known;
use liveness::FunctionFacts;
use objects::{Facts, Layouts, Memory};
use path::{Key, Path, Slot};
use rustc_hash::FxHashMap;
use selvedge_ir::{EntityRef, EntityVec, FuncId, LocId, Module};
use std::collections::{BTreeMap, BTreeSet};

/// What cannot be encoded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not supported: {feature}")]
pub struct Unsupported {
    /// What.
    pub feature: String,
    /// Where.
    pub loc: LocId,
}

/// Most locations that a thread may have: more is a sign of a loop that is taken apart without end.
const LOCATIONS: usize = 20_000;
/// Most threads.
const THREADS: usize = 64;

/// A thread to be followed.
#[derive(Clone, PartialEq, Eq, Debug)]
struct ThreadStart {
    func: FuncId,
    /// The arguments, which are numbers.
    args: Vec<u64>,
    /// Who creates it, and how many threads that one has created before; none for the main thread.
    created_by: Option<(ThreadId, u32)>,
}

/// The state of building.
struct Builder<'m> {
    module: &'m Module,
    terms: Terms,
    facts: Facts,
    memory: Memory,
    functions: FxHashMap<FuncId, FunctionFacts>,
    starts: Vec<ThreadStart>,
    objects: EntityVec<ObjectId, Object>,
    object_names: FxHashMap<String, ObjectId>,
    contexts: Vec<Context>,
    context_ids: FxHashMap<Context, u32>,
    locals: FxHashMap<(ThreadId, Slot), Symbol>,
    locations: FxHashMap<Key, Known>,
    initial: State,
    /// Names of stack objects.
    stack_names: FxHashMap<objects::Place, String>,
    /// Variables that the operations of threads need for themselves.
    arrivals: FxHashMap<(ThreadId, objects::Place, u64), Symbol>,
    /// Variables that stand beside objects and variables of the program.
    companions: FxHashMap<(objects::Place, u64), Symbol>,
    /// What was met that cannot be encoded, at a point that could not say so.
    refused: Option<Unsupported>,
    /// Locations at which a thread may wait for an assumption.
    assuming: BTreeSet<Key>,
    /// Threads whose end somebody waits for, and where.
    joined: Vec<(ThreadId, LocId)>,
}

/// A call through which code is reached; none for the function that a thread runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Context {
    thread: ThreadId,
    func: FuncId,
    /// The calling context and the call in it.
    caller: Option<(u32, selvedge_ir::Block, usize)>,
    /// Whether the function is one atomic section.
    atomic: bool,
}

/// All contexts with their numbers, which stay the same when everything is built again: facts name objects by them.
type Contexts = (Vec<Context>, FxHashMap<Context, u32>);

/// Builds a program; the module must be in the form that `selvedge_analysis` makes.
pub fn build(module: &Module) -> Result<Program, Unsupported> {
    Ok(build_unless(module, &|| false)?.expect("nobody stops it"))
}

/// Builds a program, unless it is to be stopped: then there is none.
pub fn build_unless(module: &Module, stop: &dyn Fn() -> bool) -> Result<Option<Program>, Unsupported> {
    let Some(main) = module.function_named("main").filter(|&f| !module.functions[f].is_declaration()) else {
        return Err(Unsupported { feature: "a program without `main`".to_owned(), loc: module.no_loc() });
    };
    if let Some(&func) = module.constructors.first() {
        let loc = module.functions[func].loc;
        return Err(Unsupported { feature: "code that runs before `main`".to_owned(), loc });
    }
    let mut facts = Facts::new(module);
    let mut contexts = Contexts::default();
    loop {
        let mut builder = Builder::new(module, facts.clone(), contexts);
        let built = builder.build(main, stop);
        if stop() {
            return Ok(None);
        }
        if builder.facts == facts {
            return built;
        }
        facts = builder.facts;
        contexts = (builder.contexts, builder.context_ids);
    }
}

impl<'m> Builder<'m> {
    fn new(module: &'m Module, facts: Facts, (contexts, context_ids): Contexts) -> Builder<'m> {
        let memory = Memory::new(Layouts::of(&facts));
        Builder {
            module,
            terms: Terms::default(),
            facts,
            memory,
            functions: FxHashMap::default(),
            starts: Vec::new(),
            objects: EntityVec::new(),
            object_names: FxHashMap::default(),
            contexts,
            context_ids,
            locals: FxHashMap::default(),
            locations: FxHashMap::default(),
            initial: State::default(),
            stack_names: FxHashMap::default(),
            arrivals: FxHashMap::default(),
            companions: FxHashMap::default(),
            refused: None,
            assuming: BTreeSet::new(),
            joined: Vec::new(),
        }
    }

    fn build(&mut self, main: FuncId, stop: &dyn Fn() -> bool) -> Result<Option<Program>, Unsupported> {
        let args = vec![0; self.module.functions[main].params.len()];
        self.starts.push(ThreadStart { func: main, args, created_by: None });
        let mut threads = Vec::new();
        let mut n = 0;
        while n < self.starts.len() {
            let Some(followed) = self.follow(ThreadId::new(n), stop)? else { return Ok(None) };
            threads.push(followed);
            n += 1;
        }
        if let Some(&(_, loc)) = self.joined.iter().find(|(thread, _)| thread.index() >= n) {
            return Err(Unsupported { feature: "a wait for a thread that is never created".to_owned(), loc });
        }
        Ok(Some(self.assemble(threads)))
    }

    /// Finds all locations of a thread, and the paths between them; none if it is to be stopped.
    fn follow(&mut self, thread: ThreadId, stop: &dyn Fn() -> bool) -> Result<Option<Followed>, Unsupported> {
        let entry = self.entry(thread)?;
        let entry = self.past_local_code(entry)?;
        let mut todo = vec![entry.key.clone()];
        self.locations.insert(entry.key.clone(), entry.known.clone());
        let mut paths: BTreeMap<Key, Vec<Path>> = BTreeMap::new();
        while let Some(key) = todo.pop() {
            if stop() {
                return Ok(None);
            }
            if paths.len() > LOCATIONS {
                let loc = self.module.functions[self.starts[thread.index()].func].loc;
                return Err(Unsupported { feature: "a thread with so many places".to_owned(), loc });
            }
            let found = self.paths_from(&key)?;
            if let Some(refused) = self.refused.take() {
                return Err(refused);
            }
            for path in &found {
                if let Some(target) = path.target()
                    && self.merge(thread, target.clone(), path)
                {
                    todo.push(target.clone());
                }
            }
            paths.insert(key, found);
        }
        self.start_with(&entry);
        Ok(Some(Followed { thread, entry: entry.key, paths }))
    }

    /// Adds what a path knows at its end to what is known there; whether that changed anything.
    fn merge(&mut self, thread: ThreadId, target: Key, path: &Path) -> bool {
        debug_assert!(thread == target.thread, "a path stays in its thread");
        let arriving = knowledge::at_end(&self.terms, &self.memory, path);
        let Some(known) = self.locations.get_mut(&target) else {
            self.locations.insert(target, arriving);
            return true;
        };
        let joined = knowledge::join(known, &arriving, &self.memory);
        let changed = *known != joined;
        *known = joined;
        changed
    }

    /// The symbol of a local value.
    fn local(&mut self, thread: ThreadId, slot: Slot, bits: u8) -> Symbol {
        if let Slot::Cell(symbol) = slot {
            return symbol;
        }
        if let Some(&symbol) = self.locals.get(&(thread, slot)) {
            return symbol;
        }
        let name = self.local_name(thread, slot);
        let symbol = self.terms.symbol(name, bits, false, false);
        let zero = self.terms.number(0, bits);
        self.initial.values.insert(symbol, zero);
        self.locals.insert((thread, slot), symbol);
        symbol
    }

    fn local_name(&self, thread: ThreadId, slot: Slot) -> String {
        match slot {
            Slot::Value(context, value) => {
                let func = &self.module.functions[self.contexts[context as usize].func];
                let name = &func.values[value].name;
                let name = if name.is_empty() { value.to_string() } else { name.clone() };
                format!("{}.{name}", self.thread_name(thread))
            }
            Slot::Cell(symbol) => self.terms.symbols[symbol].name.clone(),
        }
    }

    /// `producer`, or `worker#2` if there are several of them.
    pub(super) fn thread_name(&self, thread: ThreadId) -> String {
        let func = self.starts[thread.index()].func;
        let alike = |n: &usize| self.starts[*n].func == func;
        let name = &self.module.functions[func].source_name;
        match (0..thread.index()).filter(alike).count() {
            0 if (0..self.starts.len()).filter(alike).count().max(self.memory.layouts.threads(func)) == 1 => {
                name.clone()
            }
            before => format!("{name}#{}", before + 1),
        }
    }

    fn object(&mut self, name: &str) -> ObjectId {
        if let Some(&object) = self.object_names.get(name) {
            return object;
        }
        let object = self.objects.push(Object { name: name.to_owned() });
        self.object_names.insert(name.to_owned(), object);
        object
    }

    fn loc_of(&self, key: &Key) -> LocId {
        let func = &self.module.functions[self.contexts[key.context as usize].func];
        let insts = &func.blocks[key.block].insts;
        insts.get(key.index).map_or(func.loc, |&inst| func.insts[inst].loc)
    }

    /// Puts everything together, now that all threads and everything known are known.
    fn assemble(&mut self, followed: Vec<Followed>) -> Program {
        let mut locations: EntityVec<LocationId, Location> = EntityVec::new();
        let mut transitions: EntityVec<TransitionId, TransitionData> = EntityVec::new();
        let mut threads: EntityVec<ThreadId, Thread> = EntityVec::new();
        let mut ids: FxHashMap<Key, LocationId> = FxHashMap::default();
        let mut ends = Vec::new();
        for one in &followed {
            let thread = one.thread;
            let func = self.starts[thread.index()].func;
            let loc = self.module.functions[func].loc;
            let mut place =
                |place| locations.push(Location { thread, place, transitions: Vec::new(), assumes: false, loc });
            let unborn = (thread.index() > 0).then(|| place(Place::Unborn));
            let (end, exit, error) = (place(Place::End), place(Place::Exit), place(Place::Error));
            ends.push((end, exit, error));
            for key in one.paths.keys() {
                let loc = self.loc_of(key);
                let assumes = self.assuming.contains(key);
                let data = Location { thread, place: Place::Code, transitions: Vec::new(), assumes, loc };
                ids.insert(key.clone(), locations.push(data));
            }
            let entry = ids[&one.entry];
            let name = self.thread_name(thread);
            let created_by = self.starts[thread.index()].created_by;
            threads.push(Thread { name, func, created_by, initial: unborn.unwrap_or(entry), entry, end });
        }
        for (one, &(end, exit, error)) in followed.iter().zip(&ends) {
            for (key, paths) in &one.paths {
                let from = ids[key];
                for path in paths {
                    let to = match &path.ending {
                        path::Ending::Cut(target) => ids[target],
                        path::Ending::ThreadEnd => end,
                        path::Ending::Exit => exit,
                        path::Ending::Error(_) => error,
                        path::Ending::Running => unreachable!("a path that was followed has an end"),
                    };
                    let data = self.transition(one.thread, from, to, path);
                    let id = transitions.push(data);
                    locations[from].transitions.push(id);
                }
            }
        }
        Program {
            terms: std::mem::take(&mut self.terms),
            threads,
            locations,
            transitions,
            objects: std::mem::take(&mut self.objects),
            initial: std::mem::take(&mut self.initial),
        }
    }
}

/// A thread that was followed.
struct Followed {
    thread: ThreadId,
    entry: Key,
    paths: BTreeMap<Key, Vec<Path>>,
}

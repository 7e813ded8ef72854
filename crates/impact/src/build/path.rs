//! One path through a thread, from a location to the next.

use super::knowledge::{self, Knowledge, Known};
use super::liveness::FunctionFacts;
use super::objects::unsupported;
use super::{Builder, Context, Unsupported};
use crate::program::{Access, ErrorData, ErrorKind, LocationId, Step, StepKind, ThreadId, TransitionData};
use crate::term::{State, Symbol, Term};
use selvedge_ir::{Block, FuncId, Inst, LocId, Value};
use std::collections::BTreeMap;

/// The most paths from one location.
const PATHS: usize = 1_000;

/// A value that a thread has to itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Slot {
    /// An SSA value in a context.
    Value(u32, Value),
    /// A cell of memory that only this thread touches.
    Cell(Symbol),
}

/// A location: what has to be equal for two to be the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Key {
    pub(super) thread: ThreadId,
    pub(super) context: u32,
    pub(super) block: Block,
    pub(super) index: usize,
    /// How far an operation has come that is several steps: 1 in the middle of one that blocks there.
    pub(super) phase: u16,
    /// Counters of loops that are taken apart.
    pub(super) counters: Vec<(u32, Value, u64)>,
    /// The objects that pointers point into.
    pub(super) targets: Vec<(Slot, u64)>,
}

/// Where a path ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Ending {
    /// Not yet.
    Running,
    /// At a location.
    Cut(Key),
    /// The thread ends.
    ThreadEnd,
    /// The process ends.
    Exit,
    /// Something goes wrong.
    Error(ErrorData),
}

/// A path.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) thread: ThreadId,
    pub(super) context: u32,
    pub(super) block: Block,
    pub(super) index: usize,
    pub(super) phase: u16,
    /// What the thread has to itself, over the state at the start of the path.
    pub(super) env: BTreeMap<Slot, Term>,
    /// What was written to shared memory and to arrays.
    pub(super) shared: State,
    pub(super) guard: Vec<Term>,
    pub(super) inputs: Vec<Symbol>,
    pub(super) steps: Vec<Step>,
    pub(super) accesses: Vec<Access>,
    /// Whether something was done that another thread could notice.
    pub(super) visible: bool,
    /// How many atomic sections it is in.
    pub(super) atomic: u32,
    pub(super) may_block: bool,
    pub(super) back_jump: bool,
    pub(super) spawns: Option<ThreadId>,
    pub(super) joins: Option<ThreadId>,
    pub(super) wakes: Vec<ThreadId>,
    /// Blocks that were entered.
    pub(super) visited: Vec<(u32, Block)>,
    pub(super) words: Vec<String>,
    pub(super) loc: Option<LocId>,
    pub(super) ending: Ending,
}

impl Path {
    pub(super) fn new(key: &Key, env: BTreeMap<Slot, Term>) -> Path {
        let (shared, guard, inputs, steps, accesses, words) = Default::default();
        Path {
            thread: key.thread,
            context: key.context,
            block: key.block,
            index: key.index,
            phase: key.phase,
            env,
            shared,
            guard,
            inputs,
            steps,
            accesses,
            visible: false,
            atomic: 0,
            may_block: false,
            back_jump: false,
            spawns: None,
            joins: None,
            wakes: Vec::new(),
            visited: Vec::new(),
            words,
            loc: None,
            ending: Ending::Running,
        }
    }

    /// The location that the path leads to, if it is one.
    pub(super) fn target(&self) -> Option<&Key> {
        match &self.ending {
            Ending::Cut(key) => Some(key),
            _ => None,
        }
    }

    /// Notes an instruction.
    pub(super) fn step(&mut self, func: FuncId, inst: Inst, kind: StepKind, loc: LocId) {
        self.steps.push(Step { func, inst, kind });
        self.loc.get_or_insert(loc);
    }

    /// Ends the path with an error.
    pub(super) fn fail(&mut self, kind: ErrorKind, message: impl Into<String>, loc: LocId) {
        self.ending = Ending::Error(ErrorData { kind, message: message.into(), loc });
        self.loc.get_or_insert(loc);
    }
}

impl Builder<'_> {
    /// The number of a context.
    pub(super) fn context(&mut self, context: Context) -> u32 {
        if let Some(&id) = self.context_ids.get(&context) {
            return id;
        }
        let id = self.contexts.len() as u32;
        self.contexts.push(context);
        self.context_ids.insert(context, id);
        id
    }

    /// The function that a path is in.
    pub(super) fn func_of(&self, context: u32) -> FuncId {
        self.contexts[context as usize].func
    }

    /// What is known about a function.
    pub(super) fn function(&mut self, func: FuncId) -> &FunctionFacts {
        let module = self.module;
        self.functions.entry(func).or_insert_with(|| FunctionFacts::new(module, func))
    }

    /// All paths from a location.
    pub(super) fn paths_from(&mut self, key: &Key) -> Result<Vec<Path>, Unsupported> {
        let known = self.locations[key].clone();
        let env = self.environment(key.thread, &known);
        let mut start = Path::new(key, env);
        let func = &self.module.functions[self.func_of(key.context)];
        if key.index == func.phis(key.block).count() {
            start.visited.push((key.context, key.block));
        }
        let mut todo = vec![start];
        let mut done = Vec::new();
        let mut stays = false;
        while let Some(mut path) = todo.pop() {
            while path.ending == Ending::Running {
                self.run(&mut path, &mut todo)?;
            }
            if path.steps.iter().any(|step| step.kind == StepKind::Assume) {
                self.assuming.insert(key.clone());
            }
            if path.guard.iter().any(|&g| self.terms.is_false(g)) {
                // An assumption that never holds is no transition, and yet the thread may wait there.
                stays |= path.may_block;
                continue;
            }
            let mut guard = std::mem::take(&mut path.guard);
            guard.retain(|&g| !self.terms.is_true(g));
            guard.dedup();
            path.guard = guard;
            done.push(path);
            if done.len() + todo.len() > PATHS {
                return Err(unsupported(
                    "code with so many ways through it between two shared accesses",
                    self.loc_of(key),
                ));
            }
        }
        done.iter_mut().for_each(|path| path.may_block |= stays);
        // The way that the source has first, first.
        done.reverse();
        Ok(done)
    }

    /// What a thread has to itself, by what is known about it.
    pub(super) fn environment(&mut self, thread: ThreadId, known: &Known) -> BTreeMap<Slot, Term> {
        let mut env = BTreeMap::new();
        for (&slot, &value) in known {
            let bits = self.slot_bits(slot);
            let term = match value {
                Knowledge::Number(number) => self.terms.number(number, bits),
                Knowledge::Unknown => {
                    let symbol = self.local(thread, slot, bits);
                    self.terms.var(symbol)
                }
                Knowledge::Scaled(base, stride) => {
                    let symbol = self.local(thread, slot, bits);
                    let variable = self.terms.var(symbol);
                    self.terms.sum(base, &[(stride, variable)], 64)
                }
            };
            env.insert(slot, term);
        }
        env
    }

    pub(super) fn slot_bits(&self, slot: Slot) -> u8 {
        match slot {
            Slot::Value(context, value) => self.module.functions[self.func_of(context)].values[value].ty.bits() as u8,
            Slot::Cell(symbol) => self.terms.symbols[symbol].bits,
        }
    }

    /// Ends a path at a place, and forgets what does not matter there.
    pub(super) fn cut(&mut self, path: &mut Path, phase: u16) {
        let mut live = std::collections::BTreeSet::new();
        let mut at = Some((path.context, path.block, path.index));
        while let Some((context, block, index)) = at {
            let func_id = self.func_of(context);
            let module = self.module;
            let facts = self.function(func_id);
            let values = facts.live_at(&module.functions[func_id], block, index);
            live.extend(values.into_iter().map(|value| Slot::Value(context, value)));
            at = self.contexts[context as usize].caller.map(|(outer, block, index)| (outer, block, index + 1));
        }
        path.env.retain(|slot, _| matches!(slot, Slot::Cell(_)) || live.contains(slot));
        let mut counters = Vec::new();
        for (&slot, &term) in &path.env {
            if let Slot::Value(context, value) = slot
                && let Some(number) = self.terms.constant(term)
                && self.functions[&self.contexts[context as usize].func].counters.contains(&value)
            {
                counters.push((context, value, number));
            }
        }
        let (thread, context, block, index) = (path.thread, path.context, path.block, path.index);
        let targets = self.targets(path);
        path.ending = Ending::Cut(Key { thread, context, block, index, phase, counters, targets });
    }

    /// A transition from a path.
    pub(super) fn transition(
        &mut self,
        thread: ThreadId,
        from: LocationId,
        to: LocationId,
        path: &Path,
    ) -> TransitionData {
        let mut updates: Vec<(Symbol, Term)> = path.shared.values.iter().map(|(&s, &t)| (s, t)).collect();
        updates.sort_unstable();
        if let Ending::Cut(target) = &path.ending {
            let known = self.locations[target].clone();
            for (slot, value) in known {
                let Some(&term) = path.env.get(&slot) else { continue };
                let Some(term) = knowledge::variable_part(&mut self.terms, value, term) else { continue };
                let symbol = self.local(thread, slot, self.slot_bits(slot));
                updates.push((symbol, term));
            }
        }
        updates.retain(|&(symbol, term)| self.terms.var(symbol) != term);
        let mut writes: Vec<_> = path.shared.arrays.iter().map(|(&s, v)| (s, v.writes.clone())).collect();
        writes.sort_unstable_by_key(|(symbol, _)| *symbol);
        let error = match &path.ending {
            Ending::Error(data) => Some(data.clone()),
            _ => None,
        };
        TransitionData {
            thread,
            from,
            to,
            guard: path.guard.clone(),
            updates,
            writes,
            inputs: path.inputs.clone(),
            spawns: path.spawns,
            joins: path.joins,
            wakes: path.wakes.clone(),
            may_block: path.may_block,
            back_jump: path.back_jump,
            error,
            accesses: path.accesses.clone(),
            steps: path.steps.clone(),
            text: self.words(path),
            loc: path.loc.unwrap_or(self.module.no_loc()),
        }
    }

    fn words(&self, path: &Path) -> String {
        let mut words = path.words.clone();
        let guard: Vec<String> = path.guard.iter().map(|&g| self.terms.text(g)).collect();
        if !guard.is_empty() && !path.may_block {
            words.push(format!("[{}]", guard.join(" && ")));
        }
        if words.is_empty() { "local".to_owned() } else { words.join("; ") }
    }
}

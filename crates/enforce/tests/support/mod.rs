//! Trees for tests, without a verifier: threads take turns, each goes once round its loop, no assertion fails, and every other
//! branch may go either way unless the test says otherwise. Whether such a tree is safe is the test's business.

// Each test uses a part of it.
#![allow(dead_code)]

pub mod overlapping;
pub mod recorded;
pub mod verified;

use selvedge_analysis::Options;
use selvedge_ir::{Callee, EntityRef, FuncId, Inst, InstKind, Module, Operand, ValueDef};
use selvedge_schedule::{
    Access, Edge, FORMAT, LocationId, Node, NodeId, Object, ObjectId, Program, PublishedArt, Site, Start, Step,
    StepKind, Thread, ThreadId, Transition, TransitionId,
};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::path::Path;

/// Reads a program as the verifier would.
pub fn load(path: &Path, defines: &[&str]) -> Module {
    let options = selvedge_llvm::ClangOptions {
        defines: defines.iter().map(|&define| define.to_owned()).collect(),
        ..selvedge_llvm::ClangOptions::default()
    };
    let mut module = selvedge_llvm::load(&[path.to_path_buf()], &options).expect("it compiles");
    selvedge_analysis::prepare(&mut module, &Options::for_schedules()).expect("it is well-formed");
    module
}

/// A program of `examples/schedules`.
pub fn example(name: &str, defines: &[&str]) -> Module {
    load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/schedules").join(name), defines)
}

/// Where a thread is: before an instruction; the second half of an operation that blocks in the middle.
type Place = (usize, usize, bool);

/// The tree of a program whose threads run these functions, one round after the other.
pub fn turns(module: &Module, functions: &[&str], feasible: &dyn Fn(usize, &Site, u32) -> bool) -> PublishedArt {
    interleaved(module, functions, None, feasible)
}

/// As [`turns`]; with a seed, threads interrupt each other within a round, in a way that depends on it.
pub fn interleaved(
    module: &Module,
    functions: &[&str],
    seed: Option<u64>,
    feasible: &dyn Fn(usize, &Site, u32) -> bool,
) -> PublishedArt {
    let mut builder = Builder {
        module,
        functions: functions.iter().map(|name| module.function_named(name).expect("it exists")).collect(),
        feasible,
        seed,
        art: PublishedArt {
            format: FORMAT,
            program: Program { hash: "test".to_owned(), ..Program::default() },
            iteration: 1,
            threads: Vec::new(),
            objects: module.globals.values().map(|global| Object { name: global.name.clone() }).collect(),
            transitions: Vec::new(),
            nodes: Vec::new(),
        },
        locations: HashMap::new(),
        made: HashMap::new(),
    };
    builder.build();
    selvedge_schedule::validate(&builder.art).expect("the test makes trees");
    selvedge_schedule::belongs_to(&builder.art, "test", module).expect("of this program");
    builder.art
}

struct Builder<'a> {
    module: &'a Module,
    functions: Vec<FuncId>,
    feasible: &'a dyn Fn(usize, &Site, u32) -> bool,
    seed: Option<u64>,
    art: PublishedArt,
    locations: HashMap<(usize, Place), LocationId>,
    /// The transitions from a place of a thread, and where they lead.
    made: HashMap<(usize, Place), Vec<(TransitionId, Place)>>,
}

impl Builder<'_> {
    fn build(&mut self) {
        for (n, &func) in self.functions.clone().iter().enumerate() {
            let function = self.module.functions[func].name.clone();
            let start = Start::Created(n as u32);
            self.art.threads.push(Thread { name: format!("T{}", n + 1), function, start });
        }
        let start: Vec<Place> = (0..self.functions.len()).map(|t| self.next_named(t, (0, 0, false))).collect();
        // All transitions of all threads, as a published tree has them.
        for (thread, &place) in start.iter().enumerate() {
            let mut open = vec![place];
            while let Some(place) = open.pop() {
                if !self.made.contains_key(&(thread, place)) {
                    open.extend(self.transitions(thread, place).into_iter().map(|(_, to)| to));
                }
            }
        }
        let mut known: HashMap<(Vec<Place>, Vec<bool>), NodeId> = HashMap::new();
        let root = self.node(&start);
        let mut work = vec![(root, start.clone(), vec![false; start.len()])];
        while let Some((node, places, mut went)) = work.pop() {
            // Who has gone round, or has ended, waits for the others.
            let ended = |t: usize, builder: &mut Self| builder.transitions(t, places[t]).is_empty();
            let ends: Vec<bool> = (0..places.len()).map(|t| ended(t, self)).collect();
            if went.iter().zip(&ends).all(|(went, ended)| *went || *ended) {
                went.fill(false);
            }
            if let Some(&by) = known.get(&(places.clone(), went.clone())) {
                self.art.nodes[node.index()].covered_by = Some(by);
                continue;
            }
            known.insert((places.clone(), went.clone()), node);
            let able: Vec<usize> = (0..places.len()).filter(|&t| !went[t] && !ends[t]).collect();
            let Some(&turn) = able.get(self.pick(&places, able.len())) else {
                continue;
            };
            for (transition, to) in self.transitions(turn, places[turn]) {
                let mut after = places.clone();
                after[turn] = to;
                let child = self.node(&after);
                self.art.nodes[node.index()].edges.push(Edge { transition, to: child, accesses: None });
                let step = self.art.transition(transition).steps[0].clone();
                let failed = matches!(self.kind(turn, to), InstKind::Unreachable);
                let excluded = matches!(step.kind, StepKind::Branch(n) if !(self.feasible)(turn, &step.site, n));
                if failed || excluded {
                    self.art.nodes[child.index()].infeasible = true;
                    continue;
                }
                // A round ends where the loop comes back to its start.
                let mut went = went.clone();
                went[turn] = to == start[turn] && places[turn] != to;
                work.push((child, after, went));
            }
        }
    }

    /// One of so many.
    fn pick(&self, places: &[Place], count: usize) -> usize {
        let Some(seed) = self.seed else { return 0 };
        let mut hasher = std::hash::DefaultHasher::new();
        (seed, places).hash(&mut hasher);
        (hasher.finish() % count.max(1) as u64) as usize
    }

    fn node(&mut self, places: &[Place]) -> NodeId {
        let locations = places.iter().enumerate().map(|(t, &place)| self.location(t, place)).collect();
        let node = Node {
            locations,
            label: String::new(),
            infeasible: false,
            ended: false,
            covered_by: None,
            edges: Vec::new(),
        };
        self.art.nodes.push(node);
        NodeId::new(self.art.nodes.len() - 1)
    }

    fn location(&mut self, thread: usize, place: Place) -> LocationId {
        let next = LocationId::new(self.locations.len());
        *self.locations.entry((thread, place)).or_insert(next)
    }

    /// The transitions of a thread at a place, made when they are asked for first.
    fn transitions(&mut self, thread: usize, place: Place) -> Vec<(TransitionId, Place)> {
        if let Some(made) = self.made.get(&(thread, place)) {
            return made.clone();
        }
        let func = self.functions[thread];
        let inst = self.inst(thread, place);
        let mut all = Vec::new();
        for (kind, accesses, to) in self.steps(thread, place) {
            let to = self.next_named(thread, to);
            let site = Site::of(self.module, func, inst);
            let transition = Transition {
                thread: ThreadId::new(thread),
                from: self.location(thread, place),
                to: self.location(thread, to),
                steps: vec![Step { site, kind }],
                accesses,
                spawns: None,
                may_block: matches!(kind, StepKind::Lock | StepKind::BarrierLeave),
                text: String::new(),
            };
            self.art.transitions.push(transition);
            all.push((TransitionId::new(self.art.transitions.len() - 1), to));
        }
        self.made.insert((thread, place), all.clone());
        all
    }

    fn inst(&self, thread: usize, (block, at, _): Place) -> Inst {
        let function = &self.module.functions[self.functions[thread]];
        let block = function.blocks.keys().nth(block).expect("a block");
        function.blocks[block].insts[at]
    }

    fn kind(&self, thread: usize, place: Place) -> &InstKind {
        &self.module.functions[self.functions[thread]].insts[self.inst(thread, place)].kind
    }

    /// The next place at or behind this one where something is to be named.
    fn next_named(&self, thread: usize, mut place: Place) -> Place {
        let function = &self.module.functions[self.functions[thread]];
        loop {
            match &function.insts[self.inst(thread, place)].kind {
                InstKind::Br { dest } => place = (dest.index(), 0, false),
                InstKind::Unreachable | InstKind::Ret { .. } => return place,
                _ if !self.steps(thread, place).is_empty() => return place,
                _ => place.1 += 1,
            }
        }
    }

    /// What may happen at a place, what it accesses, and where it leads.
    fn steps(&self, thread: usize, place: Place) -> Vec<(StepKind, Vec<Access>, Place)> {
        let function = &self.module.functions[self.functions[thread]];
        let (block, at, second) = place;
        let behind = (block, at + 1, false);
        let access = |addr: Operand, write: bool| {
            let object = self.object(self.functions[thread], addr);
            object.map(|object| vec![Access { object, bytes: None, write }])
        };
        match &function.insts[self.inst(thread, place)].kind {
            InstKind::Load { addr, .. } => {
                access(*addr, false).into_iter().map(|a| (StepKind::Load, a, behind)).collect()
            }
            InstKind::Store { addr, .. } => {
                access(*addr, true).into_iter().map(|a| (StepKind::Store, a, behind)).collect()
            }
            InstKind::CondBr { then_dest, else_dest, .. } => vec![
                (StepKind::Branch(0), Vec::new(), (then_dest.index(), 0, false)),
                (StepKind::Branch(1), Vec::new(), (else_dest.index(), 0, false)),
            ],
            InstKind::Ret { .. } if !second => vec![(StepKind::Exit, Vec::new(), (block, at, true))],
            InstKind::Call { callee: Callee::Direct(callee), args } => {
                let on = || access(args[0].1, true).unwrap_or_default();
                match (self.module.functions[*callee].name.as_str(), second) {
                    ("pthread_mutex_lock", _) => vec![(StepKind::Lock, on(), behind)],
                    ("pthread_mutex_unlock", _) => vec![(StepKind::Unlock, on(), behind)],
                    ("pthread_barrier_wait", false) => vec![(StepKind::BarrierArrive, on(), (block, at, true))],
                    ("pthread_barrier_wait", true) => vec![(StepKind::BarrierLeave, on(), behind)],
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    /// The global that an address points into.
    fn object(&self, func: FuncId, addr: Operand) -> Option<ObjectId> {
        let function = &self.module.functions[func];
        match addr {
            Operand::Global(id, _) => Some(ObjectId::new(id.index())),
            Operand::Value(value) => match function.values[value].def {
                ValueDef::Result(inst, _) => match function.insts[inst].kind {
                    InstKind::PtrAdd { base, .. } => self.object(func, base),
                    _ => None,
                },
                ValueDef::Param(_) => None,
            },
            _ => None,
        }
    }
}

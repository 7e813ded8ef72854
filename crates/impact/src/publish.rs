//! A safe result as plain data: the tree that `selvedge_schedule` makes schedules of.

use crate::art::NodeId;
use crate::program::{Place, StepKind};
use crate::remove_error_paths::Ivr;
use crate::verifier::Verifier;
use selvedge_ir::{EntityRef, Module};
use selvedge_schedule as to;

impl Verifier {
    /// The part of the tree that a safe result permits. The result must be the last one: what comes later may take back
    /// coverings that it needs.
    pub fn publish(&self, ivr: &Ivr, module: &Module, program: to::Program, iteration: u32) -> to::PublishedArt {
        let mut numbers = vec![None; self.art.nodes.len()];
        let part: Vec<NodeId> = ivr.nodes.keys().filter(|&n| ivr.nodes[n]).collect();
        for (n, &node) in part.iter().enumerate() {
            numbers[node.index()] = Some(to::NodeId::new(n));
        }
        let number = |node: NodeId| numbers[node.index()].expect("an edge of the result stays in it");
        let nodes = part.iter().map(|&node| self.published_node(node, ivr, &number)).collect();
        let threads = self.program.threads.values().map(|thread| to::Thread {
            name: thread.name.clone(),
            function: module.functions[thread.func].name.clone(),
            start: match thread.created_by {
                None => to::Start::Main,
                Some((creator, n)) if creator.index() == 0 => to::Start::Created(n),
                Some((creator, n)) => to::Start::CreatedBy(to::ThreadId::new(creator.index()), n),
            },
        });
        let objects = self.program.objects.values().map(|object| to::Object { name: object.name.clone() });
        to::PublishedArt {
            format: to::FORMAT,
            program,
            iteration,
            threads: threads.collect(),
            objects: objects.collect(),
            transitions: self.published_transitions(module),
            nodes,
        }
    }

    fn published_node(&self, node: NodeId, ivr: &Ivr, number: &impl Fn(NodeId) -> to::NodeId) -> to::Node {
        let data = &self.art.nodes[node];
        let infeasible = ivr.labels[node].iter().any(|&term| self.program.terms.is_false(term));
        let label: Vec<String> = ivr.labels[node].iter().map(|&term| self.program.terms.text(term)).collect();
        let mut edges = Vec::new();
        for thread in ivr.permitted[node].iter() {
            for child in self.art.by(node, thread) {
                let edge = self.art.nodes[child].parent.expect("a child has a parent");
                let transition = to::TransitionId::new(edge.transition.index());
                edges.push(to::Edge { transition, to: number(child), accesses: None });
            }
        }
        let ended = !infeasible && self.is_terminal(node);
        to::Node {
            locations: data.locations.iter().map(|l| to::LocationId::new(l.index())).collect(),
            label: if label.is_empty() { "true".to_owned() } else { label.join(" && ") },
            infeasible,
            ended,
            // Where nothing goes on, it does not matter that another node says the same.
            covered_by: ivr.covered_by[node].filter(|_| !infeasible && !ended).map(number),
            edges,
        }
    }

    fn published_transitions(&self, module: &Module) -> Vec<to::Transition> {
        let mut all = Vec::new();
        for data in self.program.transitions.values() {
            let steps = data.steps.iter().map(|step| to::Step {
                site: to::Site::of(module, step.func, step.inst),
                kind: published_kind(step.kind),
            });
            let accesses = data.accesses.iter().map(|access| to::Access {
                object: to::ObjectId::new(access.object.index()),
                bytes: access.bytes,
                write: access.write,
            });
            debug_assert!(self.program.locations[data.from].place == Place::Code, "only code has transitions");
            all.push(to::Transition {
                thread: to::ThreadId::new(data.thread.index()),
                from: to::LocationId::new(data.from.index()),
                to: to::LocationId::new(data.to.index()),
                steps: steps.collect(),
                accesses: accesses.collect(),
                spawns: data.spawns.map(|thread| to::ThreadId::new(thread.index())),
                may_block: data.may_block,
                text: data.text.clone(),
            });
        }
        all
    }
}

fn published_kind(kind: StepKind) -> to::StepKind {
    match kind {
        StepKind::Load => to::StepKind::Load,
        StepKind::Store => to::StepKind::Store,
        StepKind::Rmw => to::StepKind::Rmw,
        StepKind::Fence => to::StepKind::Fence,
        StepKind::Lock => to::StepKind::Lock,
        StepKind::TryLock => to::StepKind::TryLock,
        StepKind::Unlock => to::StepKind::Unlock,
        StepKind::BarrierArrive => to::StepKind::BarrierArrive,
        StepKind::BarrierLeave => to::StepKind::BarrierLeave,
        StepKind::CondWait => to::StepKind::CondWait,
        StepKind::CondWake => to::StepKind::CondWake,
        StepKind::CondSignal => to::StepKind::CondSignal,
        StepKind::CondBroadcast => to::StepKind::CondBroadcast,
        StepKind::AtomicBegin => to::StepKind::AtomicBegin,
        StepKind::AtomicEnd => to::StepKind::AtomicEnd,
        StepKind::Nondet => to::StepKind::Nondet,
        StepKind::Assume => to::StepKind::Assume,
        StepKind::Branch(n) => to::StepKind::Branch(n),
        StepKind::Spawn => to::StepKind::Spawn,
        StepKind::Join => to::StepKind::Join,
        StepKind::Call => to::StepKind::Call,
        StepKind::Piece => to::StepKind::Piece,
        StepKind::Return => to::StepKind::Return,
        StepKind::Exit => to::StepKind::Exit,
    }
}

//! Which engine runs, and under which memory model.
//!
//! The user may say; otherwise a program that uses C11 atomics runs under RC11, on the graph engine, and any other under
//! sequential consistency, on the trace engine. If nobody asked for the graph engine and the program does something that
//! only the trace engine can run, that one takes over, and the verdict says so.

use crate::args::{AlgorithmArg, SearchArgs};
use crate::exit::Failure;
use crate::program;
use crate::progress::Line;
use crate::values::{GRAPH_REDUCTIONS, TRACE_REDUCTIONS};
use selvedge_graph::{Estimate, MemoryModel};
use selvedge_ir::{InstKind, Module};
use selvedge_machine::interp::Interpreter;
use selvedge_machine::session::Limits;
use selvedge_machine::verdict::{Exploration, Progress};
use selvedge_report::Question;
use selvedge_trace::Algorithm;
use std::time::Duration;

/// How long a run with a progress line looks ahead, to know how much there is.
const FIRST_LOOK: Duration = Duration::from_millis(100);

/// An engine and a memory model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// Interleavings under sequential consistency.
    Trace,
    /// Execution graphs.
    Graph(MemoryModel),
}

impl Engine {
    /// What the command line asks for; nothing if it leaves the choice.
    pub fn asked_for(search: &SearchArgs) -> Result<Option<Engine>, Failure> {
        let model = |name: &String| MemoryModel::ALL.into_iter().find(|model| model.name() == name);
        let model = search.model.as_ref().and_then(model);
        let trace = search.engine.as_deref() == Some("trace") || search.algorithm != AlgorithmArg::Optimal;
        if trace && search.jobs > 1 {
            return Err(Failure::usage("the trace engine has one job only; leave --jobs out, or use --engine graph"));
        }
        match (search.engine.as_deref(), model) {
            (Some("graph"), _) if search.algorithm != AlgorithmArg::Optimal => {
                Err(Failure::usage("--algorithm belongs to the trace engine; leave it out with --engine graph"))
            }
            (Some("graph"), model) => Ok(Some(Engine::Graph(model.unwrap_or_default()))),
            (_, None | Some(MemoryModel::Sc)) if trace => Ok(Some(Engine::Trace)),
            (_, Some(model)) if trace => Err(Failure::usage(format!(
                "the trace engine knows sequential consistency only; use --engine graph for --model {}",
                model.name()
            ))),
            (_, Some(MemoryModel::Sc)) => Ok(Some(Engine::Trace)),
            (_, Some(model)) => Ok(Some(Engine::Graph(model))),
            (_, None) => Ok(None),
        }
    }

    /// The engine for a program if the user leaves the choice.
    pub fn suitable(module: &Module) -> Engine {
        let atomic = |kind: &InstKind| match kind {
            InstKind::Load { order, .. } | InstKind::Store { order, .. } => order.is_atomic(),
            InstKind::Await { order, .. } => order.is_atomic(),
            InstKind::Rmw { .. } | InstKind::Cas { .. } | InstKind::Fence { .. } => true,
            _ => false,
        };
        let uses_atomics = module.functions.values().flat_map(|f| f.insts.values()).any(|inst| atomic(&inst.kind));
        if uses_atomics { Engine::Graph(MemoryModel::Rc11) } else { Engine::Trace }
    }

    /// The engine's name.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Trace => "trace",
            Engine::Graph(_) => "graph",
        }
    }

    /// The model's name.
    pub fn model(self) -> &'static str {
        match self {
            Engine::Trace => "sc",
            Engine::Graph(model) => model.name(),
        }
    }

    /// Puts what was decided into the question.
    pub fn put_into(self, question: &mut Question, algorithm: AlgorithmArg) {
        question.engine = self.name().to_owned();
        question.model = self.model().to_owned();
        question.options.private_atomics = self != Engine::Trace;
        let (other, algorithm) = match self {
            Engine::Trace => (GRAPH_REDUCTIONS, algorithm.name()),
            Engine::Graph(_) => (TRACE_REDUCTIONS, "trust"),
        };
        question.algorithm = algorithm.to_owned();
        question.reductions.retain(|name| !other.contains(&name.as_str()));
    }

    /// Explores a program.
    pub fn explore(
        self,
        make: &(dyn Fn() -> Interpreter + Sync),
        jobs: usize,
        reductions: &[String],
        algorithm: Algorithm,
        limits: Limits,
        line: &mut Line,
    ) -> Exploration {
        let has = |name| program::has(reductions, name);
        match self {
            Engine::Trace => {
                let reductions = selvedge_trace::Reductions { ifaa: has("ifaa"), observers: has("observers") };
                let options = selvedge_trace::Options { algorithm, reductions, limits };
                selvedge_trace::explore(make(), &options, &mut |progress| line.update(progress))
            }
            Engine::Graph(model) => {
                let options = graph_options(model, reductions, limits);
                let expected = line
                    .is_seen()
                    .then(|| selvedge_graph::estimate(make(), &options, FIRST_LOOK))
                    .flatten()
                    .map_or(0.0, |estimate| estimate.complete + estimate.blocked);
                if expected > 0.0 {
                    line.is_estimated();
                }
                let mut update = |progress: &Progress| {
                    let done = (progress.complete + progress.blocked) as f64;
                    // It is an estimate: there may be more in the end.
                    let fraction = if expected > 0.0 { (done / expected).min(0.999) } else { 0.0 };
                    line.update(&Progress { fraction, ..*progress });
                };
                match jobs {
                    1 => selvedge_graph::explore(make(), &options, &mut update),
                    jobs => selvedge_graph::parallel::explore_parallel(make, &options, jobs, &mut update),
                }
            }
        }
    }

    /// Estimates how much there is to explore; none if that is not possible.
    pub fn estimate(
        self,
        make: &dyn Fn() -> Interpreter,
        reductions: &[String],
        limits: Limits,
        time: Duration,
    ) -> Option<Estimate> {
        let Engine::Graph(model) = self else { return None };
        selvedge_graph::estimate(make(), &graph_options(model, reductions, limits), time)
    }
}

fn graph_options(model: MemoryModel, reductions: &[String], limits: Limits) -> selvedge_graph::Options {
    let has = |name| program::has(reductions, name);
    let (stale, in_place, speculative) = (has("stale"), has("in-place"), has("speculative"));
    let reductions = selvedge_graph::Reductions {
        stale,
        in_place,
        speculative,
        composite: has("composite"),
        direct: has("direct"),
        tested: false,
    };
    selvedge_graph::Options { model, reductions, preemptions: None, limits }
}

//! All passes in order, with the verifier after each.
//!
//! Functions are treated bottom-up in the call graph, each one completely: SSA construction and clean-up first, so that
//! its size says something when its callers are looked at; then inlining into it, and the same again, since an object
//! whose address was passed to an inlined function may have become local.

use crate::call_graph::CallGraph;
use crate::purity::{self, LoopReport};
use crate::{cleanup, compact, confirmation_cas, dce, fold, inline, mem2reg, sroa};
use selvedge_ir::{FuncId, Function, Module, VerifyErrors, verify_function, verify_module};
use std::fmt;

/// A function without effect whose calls are counted when a program is run under a schedule, so they have to stay.
pub const USEFUL: &str = "selvedge_useful";

/// What to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Keep local variables in values where possible.
    pub promote: bool,
    /// Simplify computations and control flow.
    pub simplify: bool,
    /// What to inline; nothing if absent.
    pub inline: Option<inline::Limits>,
    /// Cut off loop iterations that do nothing (`purity/`).
    pub purity: bool,
    /// With `purity`: wait for a condition where a loop would only test it again and again.
    pub await_: bool,
    /// Cut off failing attempts of confirmation-CAS loops, and mark speculative loads and what confirms them
    /// (`confirmation_cas/`).
    pub confirm: bool,
    /// With `confirm`: mark those of loops with further exits as well.
    pub confirm_exits: bool,
    /// Run the verifier after every pass. Without it, only the given module is verified.
    pub verify: bool,
}

impl Default for Options {
    fn default() -> Options {
        let inline = Some(inline::Limits::default());
        Options {
            promote: true,
            simplify: true,
            inline,
            purity: false,
            await_: false,
            confirm: false,
            confirm_exits: false,
            verify: cfg!(debug_assertions),
        }
    }
}

impl Options {
    /// For safe schedules: the verifier reads the module that is made with these options, and the program that is run
    /// under a schedule is compiled from the same module. An instruction that is named in a schedule is an instruction
    /// of that module.
    pub fn for_schedules() -> Options {
        let keep = [USEFUL.to_owned()].into();
        Options { inline: Some(inline::Limits { keep, ..inline::Limits::default() }), ..Options::default() }
    }
}

/// A pass broke the rules of the representation, or the module did so from the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PassError {
    /// The pass; none if the module was wrong from the start.
    pub pass: Option<&'static str>,
    /// The rules that are broken.
    pub errors: VerifyErrors,
}

impl fmt::Display for PassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pass {
            Some(pass) => write!(f, "the pass `{pass}` broke the program: {}", self.errors),
            None => write!(f, "the program is not well-formed: {}", self.errors),
        }
    }
}

impl std::error::Error for PassError {}

/// Brings a module into the form that the machine and the analyses of loops want.
pub fn prepare(module: &mut Module, options: &Options) -> Result<(), PassError> {
    prepare_and_report(module, options).map(drop)
}

/// As [`prepare`]; with `purity` or `confirm`, says what became of each loop, in the order of the functions.
pub fn prepare_and_report(module: &mut Module, options: &Options) -> Result<Vec<LoopReport>, PassError> {
    verify_module(module).map_err(|errors| PassError { pass: None, errors })?;
    let graph = CallGraph::new(module);
    for id in graph.bottom_up() {
        if module.functions[id].is_declaration() {
            continue;
        }
        simplify_function(module, id, options)?;
        if let Some(limits) = &options.inline
            && inline::run(module, id, &graph, limits)
        {
            check(module, id, options, "inline")?;
            simplify_function(module, id, options)?;
        }
        compact::run(&mut module.functions[id]);
        check(module, id, options, "compact")?;
    }
    if options.purity || options.confirm { treat_loops(module, options) } else { Ok(Vec::new()) }
}

/// Loops are looked at when everything that they call has been inlined.
fn treat_loops(module: &mut Module, options: &Options) -> Result<Vec<LoopReport>, PassError> {
    let mut reports = Vec::new();
    let simplify: [Pass; 3] = [("fold", fold::run), ("dce", dce::run), ("cleanup", cleanup::run)];
    let ids: Vec<FuncId> = module.functions.keys().collect();
    for id in ids {
        let confirmation = confirmation_cas::Options { transform: options.confirm, exits: options.confirm_exits };
        let (confirmed, notes) = confirmation_cas::run(module, id, confirmation);
        check(module, id, options, "confirmation-CAS")?;
        let mut about = if options.purity { purity::run(module, id, options.await_) } else { Vec::new() };
        check(module, id, options, "purity")?;
        confirmed.into_iter().for_each(|report| confirmation_cas::attach(report, &mut about));
        if about.is_empty() {
            continue;
        }
        notes.into_iter().for_each(|note| note.attach(&mut about));
        reports.extend(about);
        run_passes(module, id, options, &simplify)?;
        compact::run(&mut module.functions[id]);
        check(module, id, options, "compact")?;
    }
    Ok(reports)
}

/// A pass over one function.
type Pass = (&'static str, fn(&mut Function) -> bool);

fn simplify_function(module: &mut Module, id: FuncId, options: &Options) -> Result<(), PassError> {
    let promote: [Pass; 2] = [("sroa", sroa::run), ("mem2reg", mem2reg::run)];
    let simplify: [Pass; 3] = [("fold", fold::run), ("dce", dce::run), ("cleanup", cleanup::run)];
    if options.simplify {
        run_passes(module, id, options, &simplify)?;
    }
    if options.promote {
        // Folding brings constant offsets to light, promotion brings constants to light: twice is enough in practice.
        for _ in 0..2 {
            let changed = run_passes(module, id, options, &promote)?;
            if options.simplify {
                run_passes(module, id, options, &simplify)?;
            }
            if !changed {
                break;
            }
        }
    }
    Ok(())
}

fn run_passes(module: &mut Module, id: FuncId, options: &Options, passes: &[Pass]) -> Result<bool, PassError> {
    let mut changed = false;
    for &(name, pass) in passes {
        if pass(&mut module.functions[id]) {
            changed = true;
            check(module, id, options, name)?;
        }
    }
    Ok(changed)
}

fn check(module: &Module, id: FuncId, options: &Options, pass: &'static str) -> Result<(), PassError> {
    if !options.verify {
        return Ok(());
    }
    verify_function(module, id).map_err(|errors| PassError { pass: Some(pass), errors })
}

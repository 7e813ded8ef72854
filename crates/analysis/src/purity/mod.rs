//! Partial loop purity elimination: executions in which a loop goes round without doing anything are not explored.
//!
//! An iteration of a loop is *pure* if it comes back to the header in the local state that it began in, without having
//! written to memory. Leaving it out of an execution changes nothing for anybody, so executions with pure iterations need
//! not be explored at all. The transformation (B. Jonsson, M. Lång, K. Sagonas, "Awaiting for Godot", FMCAD 2022, section
//! III) computes under which condition an iteration is going to be pure, and cuts it off by an assumption as soon as that
//! is certain; where possible, an access and the assumption on its value become an await.
//!
//! | file | owns |
//! |---|---|
//! | `purity_condition.rs` | conditions in disjunctive normal form |
//! | `guards.rs` | conditions from truth values |
//! | `forward_purity.rs` | forward purity conditions, by a backward pass |
//! | `header_phis.rs` | whether the local state is unchanged |
//! | `private_store.rs` | stores that leave nothing behind |
//! | `facts.rs` | what is known at a place |
//! | `insertion.rs` | where assumptions go |
//! | `ssa_repair.rs` | phis for registers that do not reach the place |
//! | `assume_to_await.rs` | awaits |
//! | `wait_for_change.rs` | awaits after which an iteration is not pure |
//! | `reasons.rs`, `report.rs` | what was done, and why a loop was left alone, in words |
//!
//! Loops are treated from the inside out, and branches that are decided by an inserted assumption are removed before the
//! next loop is looked at. So a lock that spins in an inner loop leaves a straight line for the loop around it.

pub mod assume_to_await;
pub mod facts;
pub mod forward_purity;
pub mod guards;
pub mod header_phis;
pub mod insertion;
pub mod private_store;
pub mod purity_condition;
pub mod reasons;
pub mod report;
pub mod ssa_repair;
pub mod wait_for_change;

pub use report::{Insertion, LoopReport, Outcome};

use crate::{Loop, LoopForest};
use forward_purity::Context;
use insertion::Plan;
use purity_condition::Condition;
use selvedge_ir::{Block, Cfg, Dominators, EntityVec, FuncId, Module, Operand};
use ssa_repair::Flow;

/// Transforms the loops of a function; what was done with each, inner loops first. With `awaits`, assumptions become
/// awaits where possible.
pub fn run(module: &mut Module, id: FuncId, awaits: bool) -> Vec<LoopReport> {
    let mut reports = Vec::new();
    if module.functions[id].is_declaration() {
        return reports;
    }
    let mut done: EntityVec<Block, bool> = module.functions[id].blocks.keys().map(|_| false).collect();
    while let Some(flow) = next_loop(module, id, &mut done) {
        reports.push(eliminate(module, id, &flow, awaits));
    }
    reports.extend(report::irreducible(module, id));
    reports
}

/// An innermost loop among those that were not treated yet.
fn next_loop(module: &Module, id: FuncId, done: &mut EntityVec<Block, bool>) -> Option<Flow> {
    let func = &module.functions[id];
    let cfg = Cfg::new(func);
    let dominators = Dominators::new(&cfg);
    let forest = LoopForest::new(&cfg, &dominators);
    let is_new = |this: &&Loop| !done.get(this.header).copied().unwrap_or(false);
    let this = forest.loops.values().rev().find(is_new)?.clone();
    while !done.is_valid(this.header) {
        done.push(false);
    }
    done[this.header] = true;
    Some(Flow { cfg, dominators, this })
}

/// Treats one loop.
fn eliminate(module: &mut Module, id: FuncId, flow: &Flow, awaits: bool) -> LoopReport {
    let context = Context { module, func: &module.functions[id], cfg: &flow.cfg, this: &flow.this };
    let (condition, reasons) = forward_purity::forward_purity(&context);
    let mut report = LoopReport::new(&context, &condition, &reasons);
    let Ok(condition) = condition else { return report };
    let plans = plans(&context, flow, &condition);
    if !condition.is_never() && plans.is_empty() {
        report.outcome = Outcome::Eliminated;
    }
    let insertions: Vec<Insertion> = plans.iter().map(|plan| Insertion::new(&context, plan)).collect();
    report.insertions = insertions;
    carry_out(module, id, flow, plans, awaits, &mut report);
    while facts::decide_branches(&mut module.functions[id]) {}
    report
}

fn plans(context: &Context<'_>, flow: &Flow, condition: &Condition) -> Vec<Plan> {
    let disjuncts = condition.disjuncts.iter();
    disjuncts.filter_map(|disjunct| insertion::plan(context, &flow.dominators, disjunct)).collect()
}

/// Inserts assumptions first, since splitting a block changes where others stand; at most one await per access.
fn carry_out(module: &mut Module, id: FuncId, flow: &Flow, plans: Vec<Plan>, awaits: bool, report: &mut LoopReport) {
    let mut waiting = Vec::new();
    let header = flow.this.header;
    let loc = insertion::loop_position(module, &module.functions[id], header);
    let start = insertion::make_start(&mut module.functions[id], loc);
    let began = Operand::Value(module.functions[id].result(start));
    for (n, plan) in plans.into_iter().enumerate() {
        let insertion = &mut report.insertions[n];
        if plan.has_no_end() {
            insertion.kind = report::Kind::Never;
            insertion::insert_never(module, id, &plan);
            continue;
        }
        let func = &mut module.functions[id];
        let form = if awaits { assume_to_await::form(func, &plan, flow, began) } else { None };
        match form {
            Some(form)
                if !waiting.iter().any(|(_, other): &(Plan, assume_to_await::Form)| other.access == form.access) =>
            {
                insertion.kind = report::Kind::Await;
                waiting.push((plan, form));
            }
            _ => insertion::insert_assume(func, &plan, flow, began),
        }
    }
    waiting.sort_by_key(|(_, form)| !form.is_direct());
    for (plan, form) in waiting {
        let func = &mut module.functions[id];
        let fresh = if form.is_direct() { None } else { flow_of(func, header) };
        assume_to_await::convert(func, &plan, form, fresh.as_ref().unwrap_or(flow));
    }
    insertion::place_start(&mut module.functions[id], header, start);
}

fn flow_of(func: &selvedge_ir::Function, header: Block) -> Option<Flow> {
    let cfg = Cfg::new(func);
    let dominators = Dominators::new(&cfg);
    let forest = LoopForest::new(&cfg, &dominators);
    let this = forest.loops.values().find(|this| this.header == header)?.clone();
    Some(Flow { cfg, dominators, this })
}

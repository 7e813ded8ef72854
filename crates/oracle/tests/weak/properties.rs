//! What holds between models, on random programs.

use crate::common::{LIMITS, each_program, fails_smaller};
use selvedge_ir::Order;
use selvedge_oracle::Program;
use selvedge_oracle::axiomatic::{GraphKey, Model, enumerate};
use selvedge_oracle::litmus::Inst;
use std::collections::BTreeSet;

fn graphs(program: &Program, model: Model) -> BTreeSet<GraphKey> {
    enumerate(program, model, LIMITS).map(|summary| summary.graphs.into_keys().collect()).unwrap_or_default()
}

/// The graphs of one model are among those of another.
fn within(program: &Program, smaller: Model, larger: Model) -> Result<(), String> {
    match graphs(program, smaller).is_subset(&graphs(program, larger)) {
        true => Ok(()),
        false => Err(format!("{smaller} has a graph that {larger} does not have")),
    }
}

fn orders(program: &Program) -> impl Iterator<Item = (bool, bool, Order)> + '_ {
    program.threads.iter().flatten().flat_map(|inst| {
        let (one, other) = match *inst {
            Inst::Load { order, .. } => ((true, false, order), None),
            Inst::Store { order, .. } => ((false, true, order), None),
            Inst::Rmw { order, .. } => ((true, true, order), None),
            Inst::Cas { success, failure, .. } => ((true, true, success), Some((true, false, failure))),
            Inst::Lock { .. } => ((true, true, Order::Acquire), None),
            Inst::Unlock { .. } => ((false, true, Order::Release), None),
            _ => return Vec::new(),
        };
        std::iter::once(one).chain(other).collect()
    })
}

/// Everything sequentially consistent is allowed by all models. What x86 does is allowed in the language, as Lahav et
/// al. (PLDI 2017, Sec. 5.1) prove for the way in which accesses are compiled; and likewise in RA.
#[test]
fn stronger_models_allow_less() {
    let pairs = [
        (Model::Sc, Model::Tso),
        (Model::Sc, Model::Ra),
        (Model::Sc, Model::Rc11),
        (Model::Tso, Model::Ra),
        (Model::Tso, Model::Rc11),
    ];
    each_program(60, |program| pairs.into_iter().try_for_each(|(smaller, larger)| within(program, smaller, larger)));
}

/// RA is RC11 with stronger accesses, but for sequentially consistent ones, which it weakens.
#[test]
fn ra_allows_less_than_rc11_without_sc_accesses_and_more_with_strong_ones() {
    let (mut without_sc, mut strong) = (0, 0);
    each_program(60, |program| {
        if orders(program).all(|(_, _, order)| order != Order::SeqCst) {
            without_sc += 1;
            within(program, Model::Ra, Model::Rc11)?;
        }
        if orders(program).all(|(reads, writes, order)| (!reads || order.acquires()) && (!writes || order.releases())) {
            strong += 1;
            within(program, Model::Rc11, Model::Ra)?;
        }
        Ok(())
    });
    assert!(without_sc > 40 && strong > 10, "{without_sc} and {strong} programs");
}

/// The program with other orders of its accesses.
fn reordered(program: &Program, new: Order) -> Program {
    let mut program = program.clone();
    for inst in program.threads.iter_mut().flatten() {
        match inst {
            Inst::Load { order, .. } | Inst::Store { order, .. } | Inst::Rmw { order, .. } => *order = new,
            Inst::Cas { success, failure, .. } => (*success, *failure) = (new, new),
            _ => {}
        }
    }
    program
}

fn has_locks(program: &Program) -> bool {
    program.threads.iter().flatten().any(|inst| matches!(inst, Inst::Lock { .. } | Inst::Unlock { .. }))
}

/// A program of sequentially consistent accesses only is sequentially consistent in RC11 (Lahav et al., PLDI 2017,
/// Theorem 4); on x86 too.
#[test]
fn sequentially_consistent_accesses_restore_sequential_consistency() {
    let mut programs = 0;
    each_program(60, |program| {
        if has_locks(program) {
            return Ok(());
        }
        programs += 1;
        let program = reordered(program, Order::SeqCst);
        within(&program, Model::Rc11, Model::Sc)?;
        within(&program, Model::Tso, Model::Sc)
    });
    assert!(programs > 500, "{programs} programs");
}

/// So do sequentially consistent fences between any two accesses, in all models (Theorem 5). Creations and joins are no
/// accesses, but an access may come before one and its counterpart after it, so there is a fence on every side.
#[test]
fn fences_everywhere_restore_sequential_consistency() {
    each_program(60, |program| {
        let mut fenced = reordered(program, Order::Relaxed);
        for thread in &mut fenced.threads {
            // Jumps would have to be adapted.
            if thread.iter().any(|inst| matches!(inst, Inst::Skip { .. } | Inst::Repeat { .. })) {
                return Ok(());
            }
            *thread = thread.iter().flat_map(|inst| [Inst::Fence(Order::SeqCst), inst.clone()]).collect();
        }
        [Model::Tso, Model::Ra, Model::Rc11].into_iter().try_for_each(|model| within(&fenced, model, Model::Sc))
    });
}

#[test]
fn a_failing_property_is_shrunk_and_shown() {
    let found = std::panic::catch_unwind(|| each_program(40, |program| within(program, Model::Rc11, Model::Sc)));
    let message = *found.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("rc11 has a graph that sc does not have") && message.contains("thread t2"), "{message}");
    assert!(fails_smaller(&message) <= 12, "{message}");
}

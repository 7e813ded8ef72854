//! The smallest program that still fails.
//!
//! Delta debugging in the manner of Zeller and Hildebrandt ("Simplifying and isolating failure-inducing input", 2002):
//! whole threads are dropped, then runs of instructions, halving their length, and then what is left is made plainer
//! instruction by instruction, until nothing helps any more. Jumps keep jumping over the same instructions.

use crate::litmus::{Expr, Inst, Place, Program, Reg, Test, Thread, Until, VarId};
use selvedge_ir::{EntityRef, Order};
use selvedge_machine::ThreadId;

/// Makes a failing program as small as possible. `fails` is asked about valid programs only.
pub fn shrink(program: &Program, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    loop {
        let mut smaller = false;
        for pass in [drop_threads, drop_instructions, simplify_instructions, simplify_variables] {
            smaller |= pass(&mut best, &mut |candidate| candidate.validate().is_ok() && fails(candidate));
        }
        if !smaller {
            return best;
        }
    }
}

type Fails<'a> = &'a mut dyn FnMut(&Program) -> bool;

/// Takes a candidate if it fails.
fn take(best: &mut Program, candidate: Program, fails: Fails<'_>) -> bool {
    let taken = candidate != *best && fails(&candidate);
    if taken {
        *best = candidate;
    }
    taken
}

fn drop_threads(best: &mut Program, fails: Fails<'_>) -> bool {
    let mut any = false;
    for thread in (1..best.threads.len()).rev() {
        any |= take(best, without_thread(best, ThreadId::new(thread)), fails);
    }
    any
}

/// The program without a thread, and without its creation and joins.
fn without_thread(program: &Program, gone: ThreadId) -> Program {
    let mut program = program.clone();
    program.threads.remove(gone.index());
    for thread in &mut program.threads {
        for at in (0..thread.len()).rev() {
            match &mut thread[at] {
                Inst::Spawn(other) | Inst::Join(other) if *other == gone => remove(thread, at),
                Inst::Spawn(other) | Inst::Join(other) if *other > gone => *other = ThreadId::new(other.index() - 1),
                _ => {}
            }
        }
    }
    program
}

/// Removes an instruction; jumps over it become shorter.
fn remove(thread: &mut Thread, gone: usize) {
    for (at, inst) in thread.iter_mut().enumerate() {
        match inst {
            Inst::Skip { count, .. } if at < gone && gone <= at + usize::from(*count) => *count -= 1,
            Inst::Repeat { count, .. } if gone < at && at - usize::from(*count) <= gone => *count -= 1,
            _ => {}
        }
    }
    thread.remove(gone);
}

fn drop_instructions(best: &mut Program, fails: Fails<'_>) -> bool {
    let mut any = false;
    for thread in 0..best.threads.len() {
        let mut length = best.threads[thread].len();
        while length > 0 {
            let mut at = best.threads[thread].len();
            while at > 0 {
                let mut candidate = best.clone();
                at = at.min(candidate.threads[thread].len());
                let from = at.saturating_sub(length);
                (from..at).rev().for_each(|gone| remove(&mut candidate.threads[thread], gone));
                any |= take(best, candidate, fails);
                at = from;
            }
            length /= 2;
        }
    }
    any
}

fn simplify_instructions(best: &mut Program, fails: Fails<'_>) -> bool {
    let mut any = false;
    for thread in 0..best.threads.len() {
        for at in 0..best.threads[thread].len() {
            // Each step makes the instruction plainer, so this ends.
            while plainer(&best.threads[thread][at]).into_iter().any(|inst| {
                let mut candidate = best.clone();
                candidate.threads[thread][at] = inst;
                take(best, candidate, fails)
            }) {
                any = true;
            }
        }
    }
    any
}

/// Instructions that are plainer than this one; none is reachable from itself.
fn plainer(inst: &Inst) -> Vec<Inst> {
    let mut all = Vec::new();
    match inst.clone() {
        Inst::Load { dst, place, order, speculative, until } => {
            let load = |dst, order, speculative, until| Inst::Load { dst, place, order, speculative, until };
            all.extend(plainer_until(until).map(|until| load(dst, order, speculative, until)));
            all.extend(plainer_order(order).map(|order| load(dst, order, speculative, until)));
            all.extend(plainer_reg(dst).map(|dst| load(dst, order, speculative, until)));
            all.extend(speculative.map(|_| load(dst, order, None, until)));
        }
        Inst::Store { place, value, order, until } => {
            all.extend(plainer_until(until).map(|until| Inst::Store { place, value, order, until }));
            all.extend(plainer_order(order).map(|order| Inst::Store { place, value, order, until }));
            all.extend(plainer_expr(value).map(|value| Inst::Store { place, value, order, until }));
        }
        Inst::Rmw { dst, op, place, value, order, until } => {
            all.push(Inst::Store { place, value, order, until });
            all.extend(dst.map(|dst| Inst::Load { dst, place, order, speculative: None, until }));
            all.extend(plainer_until(until).map(|until| Inst::Rmw { dst, op, place, value, order, until }));
            all.extend(plainer_order(order).map(|order| Inst::Rmw { dst, op, place, value, order, until }));
            all.extend(plainer_expr(value).map(|value| Inst::Rmw { dst, op, place, value, order, until }));
            all.extend(dst.map(|_| Inst::Rmw { dst: None, op, place, value, order, until }));
        }
        Inst::Cas { dst, place, expected, new, success, failure, confirms, until } => {
            let cas = |expected, new, until| Inst::Cas { dst, place, expected, new, success, failure, confirms, until };
            all.push(Inst::Store { place, value: new, order: success, until });
            all.extend(dst.map(|dst| Inst::Load { dst, place, order: failure, speculative: None, until }));
            all.extend(plainer_until(until).map(|until| cas(expected, new, until)));
            all.extend(plainer_expr(expected).map(|expected| cas(expected, new, until)));
            all.extend(plainer_expr(new).map(|new| cas(expected, new, until)));
            let without = |dst, confirms| Inst::Cas { dst, place, expected, new, success, failure, confirms, until };
            all.extend(dst.map(|_| without(None, confirms)));
            all.extend(confirms.then(|| without(dst, false)));
        }
        Inst::Set { dst, value } => all.extend(plainer_expr(value).map(|value| Inst::Set { dst, value })),
        Inst::Assume(test) => all.extend(plainer_test(test).map(Inst::Assume)),
        Inst::Retry { reg, when } => {
            all.extend(plainer_expr(when.operand).map(|operand| Inst::Retry { reg, when: Until { operand, ..when } }));
        }
        Inst::Assert(test) => all.extend(plainer_test(test).map(Inst::Assert)),
        Inst::Skip { count, when: Some(test) } => {
            all.push(Inst::Skip { count, when: None });
            all.extend(plainer_test(test).map(|test| Inst::Skip { count, when: Some(test) }));
        }
        Inst::Repeat { count, max, when, bound } => {
            all.extend((max > 1).then(|| Inst::Repeat { count, max: max - 1, when, bound }));
            all.extend(bound.then_some(Inst::Repeat { count, max, when, bound: false }));
        }
        Inst::Wake { var, early, dst } => {
            all.extend(early.then_some(Inst::Wake { var, early: false, dst }));
            all.extend(dst.map(|_| Inst::Wake { var, early, dst: None }));
        }
        Inst::Broadcast(var) => all.push(Inst::Signal(var)),
        Inst::Choose { dst, alternatives } if alternatives > 1 => {
            all.push(Inst::Choose { dst, alternatives: alternatives - 1 });
        }
        _ => {}
    }
    all
}

fn plainer_until(until: Option<Until>) -> impl Iterator<Item = Option<Until>> {
    let operands =
        until.into_iter().flat_map(|u| plainer_expr(u.operand).map(move |operand| Some(Until { operand, ..u })));
    until.map(|_| None).into_iter().chain(operands)
}

fn plainer_order(order: Order) -> impl Iterator<Item = Order> {
    (!matches!(order, Order::Relaxed | Order::Plain)).then_some(Order::Relaxed).into_iter()
}

fn plainer_reg(reg: Reg) -> impl Iterator<Item = Reg> {
    (reg.index() > 0).then(|| Reg::new(0)).into_iter()
}

fn plainer_expr(expr: Expr) -> impl Iterator<Item = Expr> {
    let constant = expr.reg.map(|_| Expr { reg: None, ..expr });
    let zero = (expr.add > 0).then_some(Expr { add: 0, ..expr });
    let one = (expr.add > 1).then_some(Expr { add: 1, ..expr });
    [constant, zero, one].into_iter().flatten()
}

fn plainer_test(test: Test) -> impl Iterator<Item = Test> {
    (test.value > 0).then_some(Test { value: 0, ..test }).into_iter()
}

fn simplify_variables(best: &mut Program, fails: Fails<'_>) -> bool {
    let mut any = false;
    for var in (0..best.vars.len()).rev() {
        let id = VarId::new(var);
        let used = best.threads.iter().flatten().any(|inst| inst.var() == Some(id));
        if !used {
            let mut candidate = best.clone();
            candidate.vars.remove(var);
            for inst in candidate.threads.iter_mut().flatten() {
                rename(inst, |other| if other > id { VarId::new(other.index() - 1) } else { other });
            }
            any |= take(best, candidate, fails);
            continue;
        }
        if best.vars[var].init != Some(0) {
            let mut candidate = best.clone();
            candidate.vars[var].init = Some(0);
            any |= take(best, candidate, fails);
        }
        if var > 0 {
            let mut candidate = best.clone();
            for inst in candidate.threads.iter_mut().flatten() {
                rename(inst, |other| if other == id { VarId::new(var - 1) } else { other });
            }
            any |= take(best, candidate, fails);
        }
    }
    any
}

fn rename(inst: &mut Inst, name: impl Fn(VarId) -> VarId) {
    match inst {
        Inst::Wait(var) | Inst::Wake { var, .. } | Inst::Signal(var) | Inst::Broadcast(var) | Inst::Free(var) => {
            *var = name(*var);
        }
        Inst::Load { place, .. }
        | Inst::Store { place, .. }
        | Inst::Rmw { place, .. }
        | Inst::Cas { place, .. }
        | Inst::Lock { place }
        | Inst::Unlock { place } => *place = Place { var: name(place.var), ..*place },
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{PROFILES, generate};

    #[test]
    fn a_property_of_two_instructions_shrinks_to_these() {
        let text = "\
var v0 4 = 1
var v1 8 = 2
var v2 4 = 0
thread t0
  spawn t1
  spawn t2
  store.sc v0:4 2
  join t1
thread t1
  r0 = load.acq v0:4
  skip 2 if r0 eq 1
  store.rel v2:4 r0+3
  r1 = rmw.acqrel add v1:8 1 until ne 7
  free v0
thread t2
  r0 = load.acq v0:4
";
        let program: Program = text.parse().unwrap();
        let has = |program: &Program, wanted: fn(&Inst) -> bool| program.threads.iter().flatten().any(wanted);
        let fails = |program: &Program| {
            has(program, |inst| matches!(inst, Inst::Rmw { .. })) && has(program, |inst| matches!(inst, Inst::Free(_)))
        };
        let small = shrink(&program, fails);
        let expected = "var v0 4 = 0\nvar v1 8 = 0\nthread t0\nthread t1\n  rmw.rlx add v1:8 0\n  free v0\n";
        assert_eq!(small.to_string(), expected);
    }

    #[test]
    fn shrinking_a_program_that_always_fails_leaves_nothing() {
        for profile in PROFILES {
            let (program, _) = generate(profile, 1, 300);
            assert_eq!(shrink(&program, |_| true).to_string(), "thread t0\n");
        }
    }
}

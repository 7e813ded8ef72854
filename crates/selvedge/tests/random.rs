//! Random programs, run as Rust closures: as many executions as the oracle has graphs.

use selvedge::model::{Builder, MemoryModel};
use selvedge::sync::Mutex;
use selvedge::sync::atomic::{AtomicU32, Ordering, fence};
use selvedge::thread::{self, JoinHandle};
use selvedge_ir::{CmpOp, EntityRef, Order, RmwOp};
use selvedge_oracle::axiomatic::generate::{Family, generate};
use selvedge_oracle::axiomatic::{Limits, Model, enumerate};
use selvedge_oracle::litmus::{Expr, Inst, Program, REGISTERS};
use std::sync::Arc;

/// What the threads of a program share.
struct Shared {
    program: Arc<Program>,
    vars: Vec<AtomicU32>,
    mutex: Mutex<()>,
}

fn ordering(order: Order) -> Ordering {
    match order {
        Order::Plain => panic!("plain accesses are not made"),
        Order::Relaxed => Ordering::Relaxed,
        Order::Acquire => Ordering::Acquire,
        Order::Release => Ordering::Release,
        Order::AcqRel => Ordering::AcqRel,
        Order::SeqCst => Ordering::SeqCst,
    }
}

/// Whether a closure can do what a program does, and `run` does it.
fn is_covered(program: &Program) -> bool {
    program.threads.iter().all(|thread| {
        thread.iter().enumerate().all(|(n, inst)| match inst {
            Inst::Load { until, .. }
            | Inst::Store { until, .. }
            | Inst::Rmw { until, .. }
            | Inst::Cas { until, .. } => until.is_none(),
            Inst::Join(child) => thread[..n].contains(&Inst::Spawn(*child)),
            Inst::Lock { .. } | Inst::Unlock { .. } | Inst::Spawn(_) | Inst::Fence(_) | Inst::Skip { .. } => true,
            _ => false,
        })
    })
}

/// Runs a thread of a program.
fn run(shared: &Arc<Shared>, thread: usize) {
    let mut regs = [0u32; REGISTERS];
    let mut handles: Vec<(usize, JoinHandle<()>)> = Vec::new();
    let mut guard = None;
    let mut pc = 0;
    let value = |regs: &[u32; REGISTERS], expr: &Expr| expr.reg.map_or(0, |reg| regs[reg.index()]) + expr.add as u32;
    while let Some(inst) = shared.program.threads[thread].get(pc) {
        pc += 1;
        let var = |inst: &Inst| &shared.vars[inst.place().expect("an access has a place").var.index()];
        match inst {
            Inst::Load { dst, order, .. } => regs[dst.index()] = var(inst).load(ordering(*order)),
            Inst::Store { value: v, order, .. } => var(inst).store(value(&regs, v), ordering(*order)),
            Inst::Rmw { dst, op, value: v, order, .. } => {
                let (operand, order) = (value(&regs, v), ordering(*order));
                let old = match op {
                    RmwOp::Add => var(inst).fetch_add(operand, order),
                    RmwOp::Xchg => var(inst).swap(operand, order),
                    other => panic!("{other} is not made"),
                };
                if let Some(dst) = dst {
                    regs[dst.index()] = old;
                }
            }
            Inst::Cas { dst, expected, new, success, failure, .. } => {
                let (expected, new) = (value(&regs, expected), value(&regs, new));
                let result = var(inst).compare_exchange(expected, new, ordering(*success), ordering(*failure));
                if let Some(dst) = dst {
                    regs[dst.index()] = result.unwrap_or_else(|old| old);
                }
            }
            Inst::Lock { .. } => guard = Some(shared.mutex.lock().unwrap()),
            Inst::Unlock { .. } => drop(guard.take()),
            Inst::Fence(order) => fence(ordering(*order)),
            Inst::Skip { count, when } => {
                let holds = when.is_none_or(|test| match test.op {
                    CmpOp::Eq => u64::from(regs[test.reg.index()]) == test.value,
                    _ => u64::from(regs[test.reg.index()]) != test.value,
                });
                pc += if holds { usize::from(*count) } else { 0 };
            }
            Inst::Spawn(child) => {
                let (shared, child) = (Arc::clone(shared), child.index());
                handles.push((child, thread::spawn(move || run(&shared, child))));
            }
            Inst::Join(child) => {
                let at = handles.iter().position(|(other, _)| *other == child.index()).expect("it was created here");
                handles.swap_remove(at).1.join().unwrap();
            }
            other => panic!("{other:?} is not made"),
        }
    }
}

fn executions(program: &Arc<Program>, memory_model: MemoryModel) -> u64 {
    let mut builder = Builder::new();
    builder.memory_model = memory_model;
    let program = Arc::clone(program);
    let stats = builder.explore(move || {
        let vars = program.vars.iter().map(|_| AtomicU32::new(0)).collect();
        run(&Arc::new(Shared { program: Arc::clone(&program), vars, mutex: Mutex::new(()) }), 0);
    });
    assert_eq!(stats.failure, None);
    stats.complete
}

#[test]
fn random_programs_have_as_many_executions_as_the_oracle_has_graphs() {
    let limits = Limits { graphs: 400, events: 40 };
    let models = [
        (MemoryModel::Sc, Model::Sc),
        (MemoryModel::Tso, Model::Tso),
        (MemoryModel::Ra, Model::Ra),
        (MemoryModel::Rc11, Model::Rc11),
    ];
    let mut covered = 0;
    for name in ["cycles", "fences", "accesses", "locks", "trees"] {
        let family = Family::named(name).expect("a family");
        for seed in 0..60 {
            let program = Arc::new(generate(family, seed, limits));
            if !is_covered(&program) {
                continue;
            }
            covered += 1;
            for (ours, theirs) in models {
                let graphs = enumerate(&program, theirs, limits).expect("it is small enough");
                let expected = graphs.complete().count() as u64;
                assert_eq!(executions(&program, ours), expected, "{name} {seed} under {ours:?}:\n{program}");
            }
        }
    }
    assert!(covered > 200, "{covered} programs were tried");
}

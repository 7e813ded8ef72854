//! Random programs, run as Rust closures: as many executions as the oracle has graphs.

use selvedge::hint;
use selvedge::model::{Builder, MemoryModel, Stats};
use selvedge::sync::Mutex;
use selvedge::sync::atomic::{AtomicU32, Ordering, fence};
use selvedge::thread::{self, JoinHandle};
use selvedge_ir::{CmpOp, EntityRef, Order, RmwOp};
use selvedge_machine::Cond;
use selvedge_oracle::axiomatic::generate::{Family, generate};
use selvedge_oracle::axiomatic::{Ending, Finish, Limits, Model, enumerate};
use selvedge_oracle::litmus::{Expr, Inst, Program, REGISTERS};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How a load waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waits {
    /// With `spin_while`.
    SpinWhile,
    /// In a loop with `spin_loop`.
    Loop,
}

/// The registers of a program's threads in the end.
type Registers = Vec<Option<[u32; REGISTERS]>>;

/// What the threads of a program share.
struct Shared {
    program: Arc<Program>,
    vars: Vec<AtomicU32>,
    mutex: Mutex<()>,
    waits: Waits,
    /// Not part of the model: what threads end with, in this execution and in all.
    ends: std::sync::Mutex<Registers>,
    outcomes: Arc<std::sync::Mutex<BTreeSet<Registers>>>,
}

impl Shared {
    /// A load that waits, if it does, for a condition.
    fn load(&self, var: &AtomicU32, order: Ordering, condition: Option<impl Fn(u32) -> bool>) -> u32 {
        let Some(condition) = condition else { return var.load(order) };
        let mut value = 0;
        match self.waits {
            Waits::SpinWhile => hint::spin_while(|| {
                // Not kept before it is the last one: a thread that has changed something has not come back.
                let found = var.load(order);
                let holds = condition(found);
                value = if holds { found } else { value };
                !holds
            }),
            Waits::Loop => loop {
                value = var.load(order);
                if condition(value) {
                    break;
                }
                hint::spin_loop();
            },
        }
        value
    }
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
            Inst::Load { .. } => true,
            Inst::Store { until, .. } | Inst::Rmw { until, .. } | Inst::Cas { until, .. } => until.is_none(),
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
            Inst::Load { dst, order, until, .. } => {
                let until = until.map(|until| Cond::new(until.op, u64::from(value(&regs, &until.operand))));
                let condition = until.map(|until| move |value| until.holds(u64::from(value), 4));
                regs[dst.index()] = shared.load(var(inst), ordering(*order), condition);
            }
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
    let mut ends = shared.ends.lock().unwrap();
    ends[thread] = Some(regs);
    if ends.iter().all(Option::is_some) {
        shared.outcomes.lock().unwrap().insert(ends.clone());
    }
}

/// What comes of a program, and what its threads end with.
fn explore(program: &Arc<Program>, memory_model: MemoryModel, waits: Waits) -> (Stats, BTreeSet<Registers>) {
    let mut builder = Builder::new();
    builder.memory_model = memory_model;
    let program = Arc::clone(program);
    let outcomes = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&outcomes);
    let stats = builder.explore(move || {
        let vars = program.vars.iter().map(|_| AtomicU32::new(0)).collect();
        let ends = std::sync::Mutex::new(vec![None; program.threads.len()]);
        let (program, outcomes) = (Arc::clone(&program), Arc::clone(&noted));
        run(&Arc::new(Shared { program, vars, mutex: Mutex::new(()), waits, ends, outcomes }), 0);
    });
    let outcomes = std::mem::take(&mut *outcomes.lock().unwrap());
    (stats, outcomes)
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
    let (mut covered, mut livelocks) = (0, 0);
    for name in ["cycles", "fences", "accesses", "awaits", "locks", "trees"] {
        let family = Family::named(name).expect("a family");
        for seed in 0..60 {
            let program = Arc::new(generate(family, seed, limits));
            if !is_covered(&program) {
                continue;
            }
            covered += 1;
            for (ours, theirs) in models {
                let graphs = enumerate(&program, theirs, limits).expect("it is small enough");
                let stuck = |ending: &Ending| ending.finish == Finish::Blocked { stale: false };
                let (stats, outcomes) = explore(&program, ours, Waits::SpinWhile);
                let what = format!("{name} {seed} under {ours:?}:\n{program}");
                assert_eq!(stats.failure.is_some(), graphs.graphs.values().any(stuck), "{what}{:?}", stats.failure);
                if stats.failure.is_some() {
                    livelocks += 1;
                    continue;
                }
                assert_eq!(stats.complete, graphs.complete().count() as u64, "{what}");
                if name == "awaits" {
                    let (looped, same) = explore(&program, ours, Waits::Loop);
                    assert_eq!(looped.failure, None, "{what}");
                    assert_eq!(outcomes, same, "{what}");
                    assert!(looped.complete >= stats.complete, "{what}");
                }
            }
        }
    }
    assert!(covered > 250 && livelocks > 5, "{covered} programs were tried, with {livelocks} livelocks");
}

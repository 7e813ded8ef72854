//! Plain accesses of different sizes to the same bytes: programs that do not race end in the same ways as by every
//! interleaving, under every model; and races are found.
//!
//! Threads access parts of a word inside critical sections, or hand them over by a flag. Now and then one does so without
//! either, which is a race; and now and then some of the bytes are an atomic variable.

use crate::common::{self, ends_with};
use selvedge_graph::event::Kind;
use selvedge_graph::{Full, MemoryModel, Reductions, linear};
use selvedge_ir::{CmpOp, EntityRef, Order, RmwOp};
use selvedge_machine::schedule::{Schedule, replay};
use selvedge_machine::{ThreadId, ViolationKind};
use selvedge_oracle::generate::Rng;
use selvedge_oracle::litmus::{Expr, Inst, Place, Program, Reg, Thread, Until, Var, VarId};
use selvedge_oracle::machine::LitmusMachine;
use selvedge_oracle::shrink::shrink;
use std::collections::BTreeSet;

const WORD: usize = 0;
const MUTEX: usize = 1;
const FLAG: usize = 2;

struct Generator {
    rng: Rng,
    /// Whether the last four bytes of the word are an atomic variable.
    atomic: bool,
    next: u64,
    reg: usize,
}

fn place(var: usize, offset: u8, size: u8) -> Place {
    Place { var: VarId::new(var), offset, size }
}

fn program(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let init = rng.percent(80).then_some(0x1122_3344_5566_7788);
    let (threads, atomic) = (2 + rng.below(2), rng.percent(25));
    let mut generator = Generator { rng, atomic, next: 0, reg: 0 };
    let mut bodies = vec![Thread::new()];
    for _ in 0..threads {
        let mut body = Thread::new();
        generator.reg = 0;
        for _ in 0..1 + generator.rng.below(2) {
            generator.phrase(&mut body);
        }
        bodies.push(body);
    }
    generator.reg = 0;
    let mut main = Thread::new();
    if generator.rng.percent(50) {
        generator.fill(&mut main);
    }
    main.extend((1..=threads).map(|child| Inst::Spawn(ThreadId::new(child))));
    if generator.rng.percent(70) {
        main.extend((1..=threads).map(|child| Inst::Join(ThreadId::new(child))));
        generator.read(&mut main, place(WORD, 0, 8));
    }
    bodies[0] = main;
    let var = |size, init| Var { size, init };
    Program { vars: vec![var(8, init), var(4, Some(0)), var(4, Some(0))], threads: bodies }
}

impl Generator {
    fn phrase(&mut self, out: &mut Thread) {
        let until = Some(Until { op: CmpOp::Ne, operand: Expr::constant(0) });
        let flag = place(FLAG, 0, 4);
        match self.rng.below(10) {
            0..5 => {
                out.push(Inst::Lock { place: place(MUTEX, 0, 4) });
                (0..1 + self.rng.below(2)).for_each(|_| self.access(out));
                out.push(Inst::Unlock { place: place(MUTEX, 0, 4) });
            }
            5 | 6 => {
                self.access(out);
                out.push(Inst::Store { place: flag, value: Expr::constant(1), order: Order::Release, until: None });
            }
            7 | 8 => {
                let dst = self.register();
                out.push(Inst::Load { dst, place: flag, order: Order::Acquire, speculative: None, until });
                self.access(out);
            }
            _ if self.atomic => {
                let (dst, order) = (Some(self.register()), Order::AcqRel);
                let value = Expr::constant(1);
                out.push(Inst::Rmw { dst, op: RmwOp::Add, place: place(WORD, 4, 4), value, order, until: None });
            }
            _ => self.access(out),
        }
    }

    /// A plain access to some bytes, aligned or not.
    fn access(&mut self, out: &mut Thread) {
        let size: u8 = self.rng.pick(&[1, 2, 4, 4, 8, 3]);
        let step = if self.rng.percent(70) && size != 3 { size } else { 1 };
        let offset = self.rng.below(usize::from((8 - size) / step) + 1) as u8 * step;
        let place = place(WORD, offset, size);
        if self.rng.percent(50) { self.read(out, place) } else { self.write(out, place) }
    }

    fn fill(&mut self, out: &mut Thread) {
        self.write(out, place(WORD, 0, 8));
    }

    fn read(&mut self, out: &mut Thread, place: Place) {
        let dst = self.register();
        out.push(Inst::Load { dst, place, order: Order::Plain, speculative: None, until: None });
    }

    fn write(&mut self, out: &mut Thread, place: Place) {
        self.next += 1;
        let value = Expr::constant(self.next * 0x0101_0101_0101_0101);
        out.push(Inst::Store { place, value, order: Order::Plain, until: None });
    }

    fn register(&mut self) -> Reg {
        self.reg += 1;
        Reg::new((self.reg - 1) % 6)
    }
}

/// What was seen of a program: whether it was refused, whether it races, and whether some access was to several locations.
#[derive(Clone, Copy, Default)]
struct Seen {
    refused: bool,
    races: bool,
    cut: bool,
}

/// Two threads that each store to one variable and read the other: under weak models neither need see the other's.
fn with_store_buffering(mut program: Program) -> Program {
    for n in 0..2 {
        let at = |n: usize| place(FLAG + 1 + n, 0, 4);
        let store = Inst::Store { place: at(n), value: Expr::constant(1), order: Order::Relaxed, until: None };
        let dst = Reg::new(7);
        let load = Inst::Load { dst, place: at(1 - n), order: Order::Relaxed, speculative: None, until: None };
        program.threads[1 + n].extend([store, load]);
    }
    program.vars.extend([Var { size: 4, init: Some(0) }, Var { size: 4, init: Some(0) }]);
    program
}

/// Runs an execution again as a sequence of steps; whether only a weak memory model allows it.
fn run_again(program: &Program, full: &Full<'_>) -> Result<bool, String> {
    let machine = || LitmusMachine::new(program.clone()).expect("the program is valid");
    let linear = linear::order(full.graph, None);
    let steps = linear.steps.iter().map(|&e| (full.graph.event(e).thread, linear::choice(full.graph, e)));
    let schedule = Schedule { links: linear.links, ..Schedule::record(&machine(), steps) };
    let replay = replay(machine(), &schedule).map_err(|error| error.to_string())?;
    for (&e, record) in linear.steps.iter().zip(&replay.events) {
        let event = full.graph.event(e);
        let same = match event.kind {
            Kind::Read => common::whole(full, e) == record.done.old,
            Kind::Write => Some(common::whole(full, e)) == record.done.new,
            _ => true,
        };
        if !same || record.thread != event.thread {
            return Err(format!("{e} is not {record:?}"));
        }
    }
    Ok(replay.weak)
}

#[test]
fn executions_with_accesses_of_different_sizes_can_be_run_again() {
    let first = common::number("SEED", 0);
    let (mut again, mut weak) = (0, 0);
    for seed in first..first + common::number("PROGRAMS", 150) {
        let program = with_store_buffering(program(seed));
        let model = MemoryModel::ALL[1 + seed as usize % 3];
        let mut wrong = None;
        let (mut cut, mut blind) = (0, 0);
        let mut on_full = |full: &Full<'_>| {
            if full.graph.ids().any(|e| full.graph.event(e).part.is_some()) {
                match run_again(&program, full) {
                    Ok(weak) => (cut, blind) = (cut + 1, blind + u32::from(weak)),
                    Err(why) => wrong = Some(why),
                }
            }
        };
        let mut options = common::options(model, Reductions::ALL);
        (options.limits.check_invariants, options.limits.max_executions) = (false, Some(500));
        let machine = LitmusMachine::new(program.clone()).expect("the program is valid");
        let result = selvedge_graph::explore_with(machine, &options, &mut common::Quiet, Some(&mut on_full));
        if result.violations.iter().any(|found| found.violation.kind == ViolationKind::DataRace) {
            continue;
        }
        if let Some(why) = wrong {
            panic!("seed {seed}, {}: {why}\n{program}", model.name());
        }
        (again, weak) = (again + cut, weak + blind);
    }
    assert!(again > 500 && weak > 100, "{again} executions, {weak} of them weak");
}

fn compare(program: &Program, model: MemoryModel, reductions: Reductions) -> Result<Seen, String> {
    let machine = || LitmusMachine::new(program.clone()).expect("the program is valid");
    let Ok(found) = selvedge_oracle::enumerate::enumerate(machine(), 2_000) else { return Ok(Seen::default()) };
    let mut ends = BTreeSet::new();
    let (mut told, mut seen) = (0, Seen::default());
    let mut on_full = |full: &Full<'_>| {
        if full.restarts > told {
            told = full.restarts;
            ends.clear();
        }
        seen.cut |= full.graph.ids().any(|e| full.graph.event(e).part.is_some());
        ends.insert(ends_with(program, full));
    };
    let options = common::options(model, reductions);
    let result = selvedge_graph::explore_with(machine(), &options, &mut common::Quiet, Some(&mut on_full));
    let atomic = |inst: &Inst| matches!(inst, Inst::Rmw { .. });
    if let Some(what) = result.unsupported {
        seen.refused = true;
        let is_right = program.threads.iter().flatten().any(atomic);
        return if is_right { Ok(seen) } else { Err(format!("refused: {}", what.feature)) };
    }
    let kinds: BTreeSet<ViolationKind> = result.violations.iter().map(|found| found.violation.kind).collect();
    seen.races = found.classes.values().any(|class| class.race);
    if seen.races != kinds.contains(&ViolationKind::DataRace) {
        return Err(format!("a race is {}: {kinds:?}", if seen.races { "missed" } else { "made up" }));
    }
    if seen.races {
        return Ok(seen);
    }
    let endings = || found.classes.values().map(|class| &class.ending);
    let wanted_kinds = endings().flat_map(|ending| ending.violations.iter().map(|(kind, _)| *kind)).collect();
    if kinds != wanted_kinds {
        return Err(format!("the engine finds {kinds:?}, the oracle {wanted_kinds:?}"));
    }
    let wanted: BTreeSet<_> = endings().map(|ending| (ending.complete, ending.threads.clone())).collect();
    let missing = wanted.difference(&ends).next();
    let extra = ends.difference(&wanted).find(|end| end.0);
    match (missing, extra) {
        (None, None) => Ok(seen),
        _ => Err(format!("missing {missing:?}, not possible {extra:?}")),
    }
}

#[test]
fn plain_accesses_of_different_sizes_are_those_of_every_interleaving() {
    let first = common::number("SEED", 0);
    let mut all = Vec::new();
    for seed in first..first + common::number("PROGRAMS", 600) {
        let program = program(seed);
        let model = MemoryModel::ALL[seed as usize % 4];
        let reductions = if seed / 4 % 2 == 0 { Reductions::ALL } else { Reductions::NONE };
        match compare(&program, model, reductions) {
            Ok(seen) => all.push(seen),
            Err(why) => {
                let small = shrink(&program, |p| compare(p, model, reductions).is_err());
                let why = compare(&small, model, reductions).err().unwrap_or(why);
                panic!("seed {seed}, {}, {reductions:?}: {why}\n{small}", model.name());
            }
        }
    }
    let percent = |test: fn(&Seen) -> bool| all.iter().filter(|seen| test(seen)).count() * 100 / all.len();
    let figures = (percent(|s| s.refused), percent(|s| s.races), percent(|s| s.cut && !s.races));
    assert!(figures.0 <= 10 && figures.1 >= 20 && figures.2 >= 20, "refused, with races, cut without: {figures:?}");
}

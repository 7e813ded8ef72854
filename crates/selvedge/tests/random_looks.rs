//! Random programs in which a thread waits, and then uses what it has seen before only for some of what others may have left
//! in memory; compared with the engine that explores interleavings, which makes every look.

#![allow(unsafe_code)]

use selvedge::model::{Builder, Engine, MemoryModel};
use selvedge::sync::Arc;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use selvedge::{hint, thread};
use std::cell::UnsafeCell;
use std::collections::BTreeSet;

struct Shared {
    /// What is waited for: 1 is waited with.
    x: AtomicUsize,
    others: [AtomicUsize; 3],
    data: UnsafeCell<usize>,
}
// SAFETY: one thread writes the data and then 2; who has found 2 reads it.
unsafe impl Send for Shared {}
// SAFETY: the same.
unsafe impl Sync for Shared {}

#[derive(Clone, Copy, Debug)]
enum Statement {
    Set(usize, usize),
    /// Ends the thread unless a variable has this value.
    If(usize, usize),
    /// Leaves out the next statement unless it has.
    Skip(usize, usize),
    Wait(usize),
    /// Data that depend on a variable.
    Publish(usize),
    /// A value that is waited with, and one that is not.
    WriteX,
}

type Program = Vec<Vec<Statement>>;

/// What was found in the end, and whether anybody can tell that something else was found before.
#[inline(never)]
fn wait(shared: &Shared) -> (usize, bool) {
    let mut last = [0; 4];
    loop {
        let last = std::hint::black_box(&mut last);
        match shared.x.load(Acquire) {
            // SAFETY: nobody writes the data any more.
            2 => return (2, unsafe { *shared.data.get() } == 1 && last[0] == 1),
            1 => last[0] = 1,
            found => return (found, false),
        }
        hint::spin_loop();
    }
}

fn run(shared: &Shared, statements: &[Statement]) {
    let mut skips = false;
    for statement in statements {
        if std::mem::take(&mut skips) {
            continue;
        }
        match *statement {
            Statement::Set(n, value) => shared.others[n].store(value, Relaxed),
            Statement::If(n, value) if shared.others[n].load(Relaxed) != value => return,
            Statement::If(..) => {}
            Statement::Skip(n, value) => skips = shared.others[n].load(Relaxed) != value,
            Statement::Wait(n) => {
                while shared.others[n].load(Relaxed) == 0 {
                    hint::spin_loop();
                }
            }
            Statement::Publish(n) => {
                let data = shared.others[n].load(Relaxed);
                // SAFETY: nobody reads it yet.
                unsafe { *shared.data.get() = data };
                shared.x.store(2, Release);
            }
            Statement::WriteX => {
                shared.x.store(1, Relaxed);
                shared.x.store(4, Relaxed);
            }
        }
    }
}

/// What the thread in this place may find; none if some thread waits for ever.
fn outcomes(engine: Engine, place: usize, program: &Program) -> Option<BTreeSet<(usize, usize, bool)>> {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let noted = std::sync::Arc::clone(&seen);
    let program = std::sync::Arc::new(program.clone());
    let mut builder = Builder::new();
    (builder.engine, builder.memory_model) = (engine, MemoryModel::Sc);
    let stats = builder.explore(move || {
        let others = [const { AtomicUsize::new(0) }; 3];
        let shared = Arc::new(Shared { x: AtomicUsize::new(0), others, data: UnsafeCell::new(0) });
        let start = |n: usize| {
            let (shared, program) = (Arc::clone(&shared), std::sync::Arc::clone(&program));
            thread::spawn(move || run(&shared, &program[n]))
        };
        let mut handles: Vec<_> = (0..place).map(start).collect();
        let reader = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let other = shared.others[0].load(Relaxed);
                let (found, noticed) = wait(&shared);
                shared.x.load(Relaxed);
                (other, found, noticed)
            })
        };
        handles.extend((place..program.len()).map(start));
        let found = reader.join().unwrap();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        if !selvedge::model::is_tried_out() {
            noted.lock().unwrap().insert(found);
        }
    });
    let seen = seen.lock().unwrap().clone();
    stats.failure.is_none().then_some(seen)
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn guard(&mut self, statements: &mut Vec<Statement>) {
        let (n, value) = (self.below(3), self.below(2));
        match self.below(6) {
            0 => statements.push(Statement::If(n, value)),
            1 => statements.push(Statement::Skip(n, value)),
            2 => statements.push(Statement::Wait(n)),
            3 => statements.extend([Statement::Skip(n, value), Statement::Wait(self.below(3))]),
            _ => {}
        }
    }

    /// A program, and the place of the thread that waits.
    fn program(&mut self) -> (usize, Program) {
        let threads = 3 + self.below(2);
        let mut program = Program::new();
        for n in 0..threads {
            let mut statements = Vec::new();
            self.guard(&mut statements);
            match n {
                0 => {
                    statements.push(Statement::Publish(1 + self.below(2)));
                    self.guard(&mut statements);
                    statements.push(Statement::Set(self.below(3), self.below(2)));
                }
                1 => statements.push(Statement::WriteX),
                _ => statements.push(Statement::Set(self.below(3), self.below(2))),
            }
            let at = self.below(n + 1);
            program.insert(at, statements);
        }
        (self.below(threads + 1), program)
    }
}

#[test]
fn whatever_others_have_left_in_memory_looks_that_matter_are_made() {
    let (mut random, mut compared, mut noticed) = (Random(7), 0, 0);
    for _ in 0..1000 {
        let (place, program) = random.program();
        let Some(found) = outcomes(Engine::Graph, place, &program) else { continue };
        let Some(wanted) = outcomes(Engine::Trace, place, &program) else { continue };
        assert_eq!(found, wanted, "place {place} {program:?}");
        compared += 1;
        noticed += usize::from(wanted.iter().any(|(_, _, noticed)| *noticed));
    }
    assert!(compared > 200 && noticed > 40, "{compared} {noticed}");
}

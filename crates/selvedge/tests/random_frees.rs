//! Random programs that free what others may still use, in a `Box`; compared with the same programs with blocks from
//! `selvedge::alloc`, where each free is an operation by itself. A use after free must be found in both or in none, and in the latter
//! case there are as many executions.

#![allow(unsafe_code)]

use selvedge::alloc::{Layout, alloc, dealloc};
use selvedge::model::{Builder, Engine, MemoryModel};
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
use selvedge::sync::{Arc, Mutex};
use selvedge::{hint, thread};
use std::ptr::null_mut;

/// What is freed.
struct Node {
    words: [AtomicUsize; 2],
    lock: Mutex<usize>,
}

/// The node, and what threads tell each other.
struct Shared {
    node: AtomicPtr<Node>,
    others: [AtomicUsize; 2],
}

#[derive(Clone, Copy, Debug)]
enum Statement {
    /// Looks where the node is.
    Find(Ordering),
    Load(usize),
    Store(usize),
    Add(usize),
    Lock,
    /// Takes the node away and frees it.
    Free(Ordering),
    /// The same, unless another thread has been told something.
    FreeUnless(usize, Ordering),
    Tell(usize, Ordering),
    /// Ends the thread unless it was told something.
    If(usize, Ordering),
    Wait(usize, Ordering),
    Fence,
}

type Program = Vec<Vec<Statement>>;

/// How nodes are allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    Box,
    Alloc,
}

impl By {
    fn make(self) -> *mut Node {
        let node = Node { words: [0, 0].map(AtomicUsize::new), lock: Mutex::new(0) };
        match self {
            By::Box => Box::into_raw(Box::new(node)),
            // SAFETY: the block is large enough.
            By::Alloc => unsafe {
                let place = alloc(Layout::new::<Node>()).cast::<Node>();
                place.write(node);
                place
            },
        }
    }

    fn free(self, node: *mut Node) {
        // SAFETY: it is freed once. Others may use it: the model is there to find that out.
        unsafe {
            match self {
                By::Box => drop(Box::from_raw(node)),
                By::Alloc => dealloc(node.cast(), Layout::new::<Node>()),
            }
        }
    }
}

fn run(shared: &Shared, by: By, statements: &[Statement]) {
    let mut node = null_mut::<Node>();
    let free = |order| {
        let taken = shared.node.swap(null_mut(), order);
        if !taken.is_null() {
            by.free(taken);
        }
    };
    for statement in statements {
        // SAFETY: it may have been freed: the model finds that out.
        let known = unsafe { node.as_ref() };
        match (*statement, known) {
            (Statement::Find(order), _) => node = shared.node.load(order),
            (Statement::Load(n), Some(node)) => _ = node.words[n].load(Relaxed),
            (Statement::Store(n), Some(node)) => node.words[n].store(1, Relaxed),
            (Statement::Add(n), Some(node)) => _ = node.words[n].fetch_add(1, AcqRel),
            (Statement::Lock, Some(node)) => *node.lock.lock().unwrap() += 1,
            (Statement::Load(_) | Statement::Store(_) | Statement::Add(_) | Statement::Lock, None) => {}
            (Statement::Free(order), _) => {
                node = null_mut();
                free(order);
            }
            (Statement::FreeUnless(n, order), _) => {
                node = null_mut();
                if shared.others[n].load(order) == 0 {
                    free(AcqRel);
                }
            }
            (Statement::Tell(n, order), _) => shared.others[n].store(1, order),
            (Statement::If(n, order), _) => {
                if shared.others[n].load(order) == 0 {
                    return;
                }
            }
            (Statement::Wait(n, order), _) => {
                while shared.others[n].load(order) == 0 {
                    hint::spin_loop();
                }
            }
            (Statement::Fence, _) => fence(SeqCst),
        }
    }
}

/// The failure, and how many executions there are.
fn explore(program: &Program, by: By, way: (Engine, MemoryModel)) -> (Option<String>, u64) {
    let mut builder = Builder::new();
    (builder.engine, builder.memory_model, builder.max_permutations) = (way.0, way.1, Some(20_000));
    let program = program.clone();
    let stats = builder.explore(move || {
        let shared = Arc::new(Shared { node: AtomicPtr::new(by.make()), others: [0, 0].map(AtomicUsize::new) });
        let handles: Vec<_> = program[1..]
            .iter()
            .map(|statements| {
                let (shared, statements) = (Arc::clone(&shared), statements.clone());
                thread::spawn(move || run(&shared, by, &statements))
            })
            .collect();
        run(&shared, by, &program[0]);
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        run(&shared, by, &[Statement::Free(AcqRel)]);
    });
    (stats.failure, stats.complete)
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn order(&mut self, [weak, strong]: [Ordering; 2]) -> Ordering {
        [weak, strong, strong, SeqCst][self.below(4)]
    }

    fn statement(&mut self) -> Statement {
        let n = self.below(2);
        match self.below(17) {
            0..=3 => Statement::Find(self.order([Relaxed, Acquire])),
            4 | 5 => Statement::Load(n),
            6 => Statement::Store(n),
            7 => Statement::Add(n),
            8 => Statement::Lock,
            9 => Statement::Free(self.order([Relaxed, AcqRel])),
            10 => Statement::FreeUnless(n, self.order([Relaxed, Acquire])),
            11..=13 => Statement::Tell(n, self.order([Relaxed, Release])),
            14 => Statement::If(n, self.order([Relaxed, Acquire])),
            15 => Statement::Wait(n, self.order([Relaxed, Acquire])),
            _ => Statement::Fence,
        }
    }

    fn program(&mut self) -> Program {
        let threads = 2 + self.below(2);
        (0..threads).map(|_| (0..3 + self.below(4)).map(|_| self.statement()).collect()).collect()
    }
}

#[test]
fn a_box_is_freed_as_a_block_is() {
    let seeds = std::env::var("RANDOM_FREES").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let ways = [(Engine::Graph, MemoryModel::Rc11), (Engine::Graph, MemoryModel::Sc), (Engine::Trace, MemoryModel::Sc)];
    let (mut wrong, mut right) = (0, 0);
    for seed in 0..seeds {
        let program = Random(seed).program();
        for way in ways {
            let [one, other] = [By::Box, By::Alloc].map(|by| explore(&program, by, way));
            let kind = |failure: &Option<String>| {
                failure.as_ref().map(|failure| failure.split(':').next().unwrap_or_default().to_owned())
            };
            let is_same = match (kind(&one.0).as_deref(), kind(&other.0).as_deref()) {
                // An operation more or less may make a difference there.
                (None, None) => one.1 == other.1 || way.1 == MemoryModel::Rc11,
                // Which of several failures is found first is not the same.
                (Some(one), Some(other)) => (one == "use-after-free") == (other == "use-after-free"),
                _ => false,
            };
            assert!(is_same, "seed {seed}, {way:?}: {program:#?}\n{one:?}\n{other:?}");
            match one.0 {
                Some(_) => wrong += 1,
                None => right += 1,
            }
        }
    }
    println!("{wrong} fail, {right} pass");
    assert!(wrong.min(right) > seeds / 4, "{wrong} fail, {right} pass");
}

//! Random programs that free what others may still use, in a `Box`; compared with the same programs with blocks from
//! `selvedge::alloc`, where each free is an operation by itself. A use after free must be found in both or in none, and is found again. If objects that were in the box are used after it was freed, since they have moved, a use
//! after free that is found is one.

#![allow(unsafe_code)]

use selvedge::alloc::{Layout, alloc, dealloc};
use selvedge::model::{Builder, Engine, MemoryModel};
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
use selvedge::sync::{Arc, Mutex};
use selvedge::{hint, thread};
use std::path::Path;
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
    /// In a box too, and moved out of it when it is freed.
    Moved,
    /// The same, and used after that.
    Apart,
    Alloc,
}

impl By {
    fn make(self) -> *mut Node {
        let node = Node { words: [0, 0].map(AtomicUsize::new), lock: Mutex::new(0) };
        match self {
            By::Box | By::Moved | By::Apart => Box::into_raw(Box::new(node)),
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
                By::Moved => drop(std::hint::black_box(*Box::from_raw(node))),
                By::Apart => {
                    let node = *Box::from_raw(node);
                    node.words[1].fetch_add(2, Relaxed);
                }
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
    explore_with(&builder, program, by)
}

fn explore_with(builder: &Builder, program: &Program, by: By) -> (Option<String>, u64) {
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

/// What is wrong, in a word or two.
fn kind((failure, _): &(Option<String>, u64)) -> &str {
    failure.as_ref().map_or("", |failure| failure.split(':').next().unwrap_or_default())
}

/// Whether what is found is found again if the execution that was kept is run first. (By itself it need not fail: that nothing orders
/// two of its steps is seen by explorations.)
fn fails_again(program: &Program, way: (Engine, MemoryModel), file: &Path) {
    let mut builder = Builder::new();
    (builder.engine, builder.memory_model, builder.checkpoint_file) = (way.0, way.1, Some(file.to_owned()));
    let [first, again] = [0, 1].map(|_| explore_with(&builder, program, By::Box));
    std::fs::remove_file(file).expect("the execution is written");
    // In the order in which it is run again, it may be seen elsewhere.
    assert_eq!([kind(&first), kind(&again)], ["use-after-free"; 2], "{way:?} {program:#?}\n{first:?}\n{again:?}");
    for one in [first, again].into_iter().filter_map(|(failure, _)| failure) {
        assert!(!one.contains("cannot be shown"), "{way:?} {program:#?}\n{one}");
    }
}

#[test]
fn a_box_is_freed_as_a_block_is() {
    let seeds = std::env::var("RANDOM_FREES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let ways = [(Engine::Graph, MemoryModel::Rc11), (Engine::Graph, MemoryModel::Sc), (Engine::Trace, MemoryModel::Sc)];
    let file = std::env::temp_dir().join(format!("selvedge-random-frees-{}", std::process::id()));
    let (mut wrong, mut right) = (0, 0);
    for seed in 0..seeds {
        let program = Random(seed).program();
        for way in ways {
            let [one, moved, apart, other] =
                [By::Box, By::Moved, By::Apart, By::Alloc].map(|by| explore(&program, by, way));
            let is_same = |one: &(Option<String>, u64)| match (kind(one), kind(&other)) {
                // An operation more or less may make a difference there.
                ("", "") => one.1 == other.1 || way.1 == MemoryModel::Rc11,
                // Which of several failures is found first is not the same.
                (one, other) => {
                    !one.is_empty() && !other.is_empty() && (one == "use-after-free") == (other == "use-after-free")
                }
            };
            assert!(
                is_same(&one) && is_same(&moved),
                "seed {seed}, {way:?}: {program:#?}\n{one:?}\n{moved:?}\n{other:?}"
            );
            let is_one = kind(&apart) != "use-after-free" || kind(&other) == "use-after-free";
            let is_known = kind(&apart).is_empty() || !kind(&other).is_empty();
            assert!(is_one && is_known, "seed {seed}, {way:?}: {program:#?}\n{apart:?}\n{other:?}");
            match kind(&one) {
                "" => right += 1,
                "use-after-free" => {
                    fails_again(&program, way, &file);
                    wrong += 1;
                }
                _ => {}
            }
        }
    }
    println!("{wrong} fail, {right} pass");
    assert!(wrong.min(right) > seeds / 4, "{wrong} fail, {right} pass");
}

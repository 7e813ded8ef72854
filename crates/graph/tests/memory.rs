//! How much memory an exploration takes does not depend on how many executions there are.

#![allow(unsafe_code, reason = "an allocator counts what is allocated")]

use selvedge_analysis::{Options as Passes, prepare};
use selvedge_graph::{MemoryModel, Options, Reductions};
use selvedge_machine::interp::{InterpOptions, Interpreter};
use selvedge_machine::session::Limits;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts the bytes that are in use, and the most that ever were.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(now, Relaxed);
        // SAFETY: the caller keeps to what `alloc` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: it was allocated above, with this layout.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Threads that do this each.
fn machine(threads: usize, code: &str) -> Interpreter {
    let mut text = "global @x : 4 align 4\nglobal @y : 4 align 4\n".to_owned();
    text.push_str("declare @pthread_create(ptr, ptr, ptr, ptr) -> i32\n");
    text.push_str(&format!("func @t(arg: ptr) -> ptr {{\nentry:\n{code}  ret null\n}}\n"));
    text.push_str("func @main() -> i32 {\nentry:\n");
    for n in 0..threads {
        text.push_str(&format!("  h{n}: ptr = alloca 8 align 8\n"));
        text.push_str(&format!("  c{n}: i32 = call @pthread_create(ptr h{n}, ptr null, ptr @t, ptr null)\n"));
    }
    text.push_str("  ret 0\n}\n");
    let passes = Passes { verify: true, purity: true, await_: true, confirm: true, ..Passes::default() };
    let mut module = selvedge_ir::parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    prepare(&mut module, &passes).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = InterpOptions { dynamic_purity: true, atomics_publish: true, ..InterpOptions::default() };
    Interpreter::new(&module, options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The most bytes that the first executions of a program take, and how many there were.
fn most(threads: usize, code: &str, model: MemoryModel, executions: u64) -> (usize, u64) {
    let before = NOW.load(Relaxed);
    MOST.store(before, Relaxed);
    let limits = Limits { max_executions: Some(executions), ..Limits::default() };
    let options = Options { model, reductions: Reductions::ALL, preemptions: None, limits };
    let explored = selvedge_graph::explore(machine(threads, code), &options, &mut |_| {});
    assert_eq!(explored.unsupported, None);
    assert!(explored.violations.is_empty(), "{:?}", explored.violations);
    (MOST.load(Relaxed) - before, explored.complete + explored.blocked)
}

// One test, since everybody's bytes are counted.
#[test]
fn memory_is_flat_in_the_number_of_executions() {
    let increments = "  a: i32 = rmw add i32 @x, 1, rlx\n";
    let buffering = "  store i32 1, @x, rlx\n  a: i32 = load i32 @y, acq\n  store i32 a, @y, rel\n";
    // A lock that spins, and a loop that confirms what it has read.
    let lock = "  br look\nlook:\n  a: i32 = rmw xchg i32 @x, 1, acq\n  b: i1 = cmp eq i32 a, 0\n  condbr b, in, look\nin:\n  \
                store i32 0, @x, rel\n";
    let confirm = "  br look\nlook:\n  a: i32 = load i32 @x, acq\n  n: i32 = add i32 a, 1\n  c: i32, d: i1 = cas i32 @x, a, \
                   n, acqrel, rlx\n  condbr d, in, look\nin:\n  s: i32 = rmw add i32 @y, 1, rlx\n";
    // What is made once and for all does not count.
    most(2, increments, MemoryModel::Sc, 1);
    for (threads, code) in [(8, increments), (4, buffering), (7, lock), (5, confirm)] {
        for model in [MemoryModel::Sc, MemoryModel::Rc11] {
            let (many, all) = most(threads, code, model, 40_000);
            assert!(all > 2_000, "{all} executions are not many\n{code}");
            let (few, some) = most(threads, code, model, all / 10);
            // The deepest of the nested revisits need not be among the first executions.
            assert!(many <= few + few / 4, "{}: {few} bytes for {some}, {many} for {all}\n{code}", model.name());
        }
    }
}

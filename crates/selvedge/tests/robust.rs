//! Whatever a model does, there is one message: no second panic, no abort, no hang.

#![allow(unsafe_code)]

use selvedge::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use selvedge::cell::UnsafeCell;
use selvedge::model::{Builder, Stats};
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use selvedge::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use selvedge::sync::{Arc, Mutex};
use selvedge::{hint, thread};

fn explore(f: impl Fn() + Send + Sync + 'static) -> Stats {
    Builder::new().explore(f)
}

fn fails(words: &[&str], f: impl Fn() + Send + Sync + 'static) -> String {
    let failure = explore(f).failure.expect("the model has a bug");
    for word in words {
        assert!(failure.contains(word), "`{word}` is not in:\n{failure}");
    }
    failure
}

/// Later models of the same thread of the operating system are run as if nothing had happened.
fn all_is_well() {
    let stats = explore(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let handle = thread::spawn(move || *other.lock().unwrap() += 1);
        *lock.lock().unwrap() += 1;
        handle.join().unwrap();
        assert_eq!(*lock.lock().unwrap(), 2);
    });
    assert_eq!((stats.failure, stats.complete), (None, 2));
}

struct Panics;

impl Drop for Panics {
    fn drop(&mut self) {
        panic!("in the destructor");
    }
}

#[test]
fn a_destructor_that_panics_is_a_failure() {
    fails(&["assertion: in the destructor", "robust.rs"], || drop(Panics));
    all_is_well();
}

#[test]
fn a_destructor_that_panics_while_a_panic_unwinds_is_a_failure() {
    let failure = fails(&["in the destructor", "a destructor that runs because of this panic panics too"], || {
        let x = AtomicUsize::new(0);
        let _panics = Panics;
        x.store(1, Relaxed);
        panic!("first of all");
    });
    assert!(failure.starts_with("assertion: first of all"), "what came first is what went wrong: {failure}");
    assert!(failure.contains("store of 1"), "the steps are shown: {failure}");
    all_is_well();
    // And what fails once more is found once more.
    fails(&["assertion: again"], || panic!("again"));
}

/// As workers of tokio do where assertions are on.
struct Aborts;

impl Drop for Aborts {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

#[test]
fn a_thread_that_aborts_is_a_failure() {
    let aborts = |abort: fn()| {
        fails(&["aborts the process; its last operation was that at", "in this execution", "thread 1"], move || {
            let flag = Arc::new(AtomicBool::new(false));
            let other = Arc::clone(&flag);
            thread::spawn(move || other.store(true, Relaxed));
            if flag.load(Relaxed) {
                abort();
            }
        })
    };
    aborts(|| std::process::abort());
    // Nobody has so much memory.
    aborts(|| drop(std::hint::black_box(Vec::<u8>::with_capacity(1 << 46))));
    // The only way to abort without a panic that `std` has elsewhere.
    aborts(|| {
        let counted = std::sync::Arc::new(());
        let counted = std::mem::ManuallyDrop::new(counted);
        let at = std::sync::Arc::as_ptr(&counted).cast::<usize>();
        // SAFETY: the count of references comes first in the block; it is made too large.
        unsafe { at.sub(2).cast_mut().write(usize::MAX / 2 + 1) };
        let _ = std::hint::black_box(std::mem::ManuallyDrop::new(std::sync::Arc::clone(&counted)));
    });
}

#[test]
fn a_destructor_that_aborts_because_of_a_panic_is_a_failure() {
    let failure = fails(&["and what is done because of this panic goes wrong: main aborts the process"], || {
        let x = AtomicUsize::new(0);
        let _aborts = Aborts;
        x.store(1, Relaxed);
        panic!("first of all");
    });
    assert!(failure.starts_with("assertion: first of all"), "what came first is what went wrong: {failure}");
    assert!(failure.contains("store of 1"), "the steps are shown: {failure}");
    all_is_well();
}

#[test]
#[should_panic(expected = "in the destructor")]
fn check_fails_once_after_two_panics() {
    selvedge::model(|| {
        let _panics = Panics;
        panic!("first of all");
    });
}

#[inline(never)]
fn deeper(n: u64) -> u64 {
    let array = std::hint::black_box([n; 64]);
    if n == u64::MAX { array[0] } else { deeper(n + 1).wrapping_add(array[63]) }
}

#[test]
fn a_thread_that_uses_up_its_stack_is_a_failure() {
    fails(&["stack overflow: main has", "performed no operation"], || {
        std::hint::black_box(deeper(0));
    });
    let line = line!() + 3;
    let last = format!("its last operation was that at crates/selvedge/tests/robust.rs:{line}");
    fails(&["stack overflow: main has", &last], || {
        AtomicUsize::new(0).store(1, Relaxed);
        std::hint::black_box(deeper(0));
    });
    fails(&["stack overflow: thread 1 has", "robust.rs"], || {
        let x = Arc::new(AtomicUsize::new(0));
        fn forever(x: &AtomicUsize) -> usize {
            let array = std::hint::black_box([x.load(Relaxed); 512]);
            if array[0] == 1 { 0 } else { forever(x) + array[511] }
        }
        let other = Arc::clone(&x);
        thread::spawn(move || forever(&other)).join().unwrap();
    });
    all_is_well();
}

/// Never zero, but for destructors that run because of a panic: these are told zero.
struct NeverZero(Arc<AtomicUsize>);

impl NeverZero {
    /// No other thread changes it, so that never fails; what is tried out does (`retry.rs`).
    fn changes(&self, to: usize) {
        let old = self.0.load(Relaxed);
        assert!(self.0.compare_exchange(old, to, AcqRel, Relaxed).is_ok(), "there is nobody else");
    }
}

impl Drop for NeverZero {
    fn drop(&mut self) {
        assert_ne!(self.0.swap(7, AcqRel), 0);
    }
}

#[test]
fn what_is_tried_out_may_panic_twice() {
    let stats = explore(|| {
        let x = NeverZero(Arc::new(AtomicUsize::new(1)));
        for to in 2..5 {
            x.changes(to);
        }
    });
    assert_eq!((stats.failure, stats.complete), (None, 1));
    assert!(stats.notes.iter().any(|note| note.contains("because of a panic")), "{:?}", stats.notes);
    // Or abort.
    let stats = explore(|| {
        let _aborts = Aborts;
        let x = std::mem::ManuallyDrop::new(NeverZero(Arc::new(AtomicUsize::new(1))));
        for to in 2..5 {
            x.changes(to);
        }
        drop(std::mem::ManuallyDrop::into_inner(x));
    });
    assert_eq!((stats.failure, stats.complete), (None, 1));
    // The same where it really fails: that is what is said, and not what came of it.
    let failure = fails(&["there is nobody else", "having found zero in atomics"], || {
        let x = Arc::new(AtomicUsize::new(1));
        let other = NeverZero(Arc::clone(&x));
        let handle = thread::spawn(move || other.changes(2));
        x.store(3, Relaxed);
        handle.join().unwrap();
    });
    assert!(failure.starts_with("assertion: there is nobody else"), "{failure}");
    all_is_well();
}

#[test]
fn a_destructor_that_waits_because_of_a_panic_does_not_hang() {
    struct Waits(Arc<AtomicUsize>);
    impl Drop for Waits {
        fn drop(&mut self) {
            while self.0.load(Acquire) == 0 {
                hint::spin_loop();
            }
        }
    }
    fails(&["it goes wrong", "does not come to an end"], || {
        let _waits = Waits(Arc::new(AtomicUsize::new(0)));
        panic!("it goes wrong");
    });
    all_is_well();
}

#[test]
fn destructors_may_use_locks_and_join_threads_while_a_panic_unwinds() {
    struct Uses(Arc<Mutex<usize>>, Option<thread::JoinHandle<()>>);
    impl Drop for Uses {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
            drop(self.1.take().unwrap().join());
        }
    }
    fails(&["assertion: it goes wrong"], || {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let handle = thread::spawn(move || *other.lock().unwrap() += 1);
        let _uses = Uses(lock, Some(handle));
        panic!("it goes wrong");
    });
    all_is_well();
}

#[test]
fn memory_that_is_not_freed_is_a_leak() {
    let layout = Layout::new::<u64>();
    fails(&["leak", "block of memory", "robust.rs"], move || {
        // SAFETY: the size is not zero.
        unsafe { alloc(layout) };
    });
    let stats = explore(move || {
        // SAFETY: the size is not zero, and the block is freed once.
        unsafe {
            let block = alloc_zeroed(layout);
            assert_eq!(*block.cast::<u64>(), 0);
            dealloc(block, layout);
        }
    });
    assert_eq!(stats.failure, None);
}

#[test]
fn memory_that_is_freed_twice_is_a_failure() {
    fails(&["freed already", "robust.rs"], || {
        let layout = Layout::new::<u64>();
        // SAFETY: it is not safe; the model is there to find that out.
        unsafe {
            let block = alloc(layout);
            dealloc(block, layout);
            dealloc(block, layout);
        }
    });
}

/// One thread frees what the other one may still look at.
#[test]
fn an_atomic_must_not_be_used_when_its_memory_was_freed() {
    let model = |waits: bool| {
        move || {
            let layout = Layout::new::<AtomicUsize>();
            // SAFETY: the block is large enough for what is written.
            let block = unsafe {
                let block = alloc(layout).cast::<AtomicUsize>();
                block.write(AtomicUsize::new(0));
                block
            };
            let shared = Arc::new(AtomicPtr::new(block));
            let other = Arc::clone(&shared);
            // SAFETY: it is safe only if the other thread waits; the model is there to find that out.
            let handle = thread::spawn(move || unsafe { (*other.load(Acquire)).fetch_add(1, Relaxed) });
            if waits {
                handle.join().unwrap();
                // SAFETY: nobody else has it.
                unsafe { dealloc(block.cast(), layout) };
            } else {
                // SAFETY: as above.
                unsafe { dealloc(block.cast(), layout) };
                handle.join().unwrap();
            }
        }
    };
    assert_eq!(explore(model(true)).failure, None);
    fails(&["use-after-free"], model(false));
}

#[test]
fn a_box_that_was_freed_is_not_used() {
    // If it was not used before, what it is would have to be read from memory that was freed.
    fails(&["use-after-free", "AtomicUsize", "robust.rs"], || {
        let boxed = Box::new(AtomicUsize::new(1));
        boxed.store(2, Relaxed);
        let pointer = std::hint::black_box(std::ptr::from_ref(&*boxed));
        drop(boxed);
        // SAFETY: it is not safe; the model is there to find that out. The memory is still there.
        unsafe { (*pointer).load(Relaxed) };
    });
}

#[test]
fn the_message_is_a_table_with_a_line_for_every_step() {
    let failure = fails(&[], || {
        let xy = Arc::new([0, 0].map(AtomicUsize::new));
        let other = Arc::clone(&xy);
        let writer = thread::Builder::new().name("writer".to_owned());
        let handle = writer.spawn(move || {
            other[0].store(1, Relaxed);
            other[1].store(1, Relaxed);
        });
        let seen = (xy[1].load(Relaxed), xy[0].load(Relaxed));
        handle.unwrap().join().unwrap();
        assert!(seen != (1, 0), "out of order");
    });
    let lines: Vec<&str> = failure.lines().collect();
    assert_eq!(lines[0], "assertion: out of order");
    assert!(lines[2].contains("memory model rc11"), "{failure}");
    let of = |step: &str| lines.iter().find(|line| line.trim_start().starts_with(step)).expect("there is such a step");
    assert!(of("step ").contains("thread") && of("1 ").contains("spawns writer"), "{failure}");
    assert!(lines.iter().any(|line| line.contains("store of 1, Relaxed, to AtomicUsize")), "{failure}");
    assert!(lines.iter().any(|line| line.contains("-> 1 (from step ")), "{failure}");
    let stale = lines.iter().find(|line| line.contains("-> 0 (its first value)")).expect("a load is stale");
    assert!(stale.contains("not the newer one of step"), "{failure}");
    assert!(lines.last().unwrap().contains("SELVEDGE_REPLAY='"), "{failure}");
}

#[test]
fn a_livelock_and_a_deadlock_say_who_waits_for_what() {
    fails(&["livelock", "spins forever at", "robust.rs"], || {
        let flag = AtomicUsize::new(0);
        while flag.load(Acquire) == 0 {
            hint::spin_loop();
        }
    });
    fails(&["deadlock", "main waits forever at", "locks Mutex"], || {
        let lock = Mutex::new(());
        let _first = lock.lock();
        let _second = lock.lock();
    });
}

#[test]
fn a_model_that_is_not_deterministic_is_reported_with_the_operation_that_differs() {
    let runs = std::sync::atomic::AtomicUsize::new(0);
    fails(&["not deterministic", "store of", "robust.rs"], move || {
        let run = runs.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || other.store(run, Relaxed));
        x.load(Relaxed);
        x.load(Relaxed);
        handle.join().unwrap();
    });
}

#[test]
fn a_bound_that_is_reached_says_what_was_covered() {
    let model = || {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || (0..3).for_each(|n| other.store(n, Release)));
        for _ in 0..3 {
            x.load(Acquire);
        }
        handle.join().unwrap();
    };
    let mut builder = Builder::new();
    builder.max_permutations = Some(2);
    let stats = builder.explore(model);
    assert_eq!((stats.failure, stats.complete), (None, 2));
    assert_eq!(
        stats.not_covered,
        ["the bound on the number of executions was reached; 2 executions were explored before"]
    );
    let mut builder = Builder::new();
    builder.max_branches = 5;
    let failure = builder.explore(model).failure.expect("it is longer");
    let (what, advice) = failure.split_once(". If the model is that long, ").expect("there is some advice");
    assert!(what.starts_with("an execution has more than 5 operations: the next one would be at "), "{failure}");
    assert!(what.contains("robust.rs:"), "{failure}");
    assert!(advice.starts_with("raise `Builder::max_branches` (`LOOM_MAX_BRANCHES`)"), "{failure}");
}

#[test]
fn a_model_inside_a_model_is_a_failure() {
    fails(&["a model cannot be run inside a model\n  at crates/selvedge/tests/robust.rs:"], || selvedge::model(|| {}));
    all_is_well();
}

#[test]
fn settings_without_effect_are_named() {
    let mut builder = Builder::new();
    assert_eq!(builder.explore(|| ()).ignored, [""; 0]);
    builder.expect_explicit_explore = true;
    let ignored = builder.explore(|| ()).ignored;
    assert!(ignored[0].contains("`expect_explicit_explore` is not used"), "{ignored:?}");
}

#[test]
fn what_executions_leak_that_are_given_up_is_counted() {
    let model = |holds: fn(usize) -> bool| {
        explore(move || {
            // A compiler may leave out what nobody looks at.
            let numbers = std::hint::black_box(vec![0u64; 1000]);
            selvedge::assume(holds(selvedge::nondet(0..4usize)));
            drop(numbers);
        })
    };
    let all = model(|_| true);
    assert_eq!((all.complete, all.leaked), (4, 0));
    let one = model(|n| n == 2);
    assert_eq!((one.complete, one.blocked), (1, 3));
    assert!((24_000..25_000).contains(&one.leaked), "{}", one.leaked);
}

/// The compiler may leave out what makes an object that is used only after it was freed.
#[test]
fn what_was_never_used_before_it_was_freed_is_found() {
    fails(&["use-after-free", "is used after the memory that it is in was freed"], || {
        let object = Box::into_raw(Box::new(AtomicUsize::new(0)));
        // SAFETY: it comes from a box; that it is used again is the bug.
        unsafe {
            drop(Box::from_raw(object));
            (*object).load(Relaxed);
        }
    });
    all_is_well();
}

/// Ends the process, if that is what the one below has started.
#[test]
fn target_message_that_panics() {
    if std::env::var_os("ENDS_PROCESS").is_none() {
        return;
    }
    struct Shown;
    impl std::fmt::Debug for Shown {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("it cannot be shown")
        }
    }
    explore(|| panic!("{Shown:?}"));
}

/// `std` does not get over a panic in the message of another one: it holds a lock then. What was found is told, and there is no hang.
#[test]
fn a_message_that_panics_ends_the_process() {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = command.args(["target_message_that_panics", "--exact"]).env("ENDS_PROCESS", "1").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(101), "{said}");
    for words in ["it cannot be shown", "main aborts the process", "the process ends here", "SELVEDGE_REPLAY="] {
        assert!(said.contains(words), "`{words}` is not in:\n{said}");
    }
}

#[test]
fn a_data_race_is_told_again() {
    let file = std::env::temp_dir().join(format!("selvedge-race-{}", std::process::id()));
    let mut builder = Builder::new();
    builder.checkpoint_file = Some(file.clone());
    let [first, again] = [0, 1].map(|_| {
        let stats = builder.explore(|| {
            let x = Arc::new(Unchecked(UnsafeCell::new(0)));
            let other = Arc::clone(&x);
            // SAFETY: of course not; that is what is found.
            let handle = thread::spawn(move || other.0.with_mut(|p| unsafe { *p = 1 }));
            x.0.with(|p| unsafe { assert!(*p < 2) });
            handle.join().unwrap();
        });
        stats.failure.expect("it is found")
    });
    std::fs::remove_file(&file).expect("the execution is written");
    assert!(first.contains("data race on UnsafeCell") && !first.contains("run again:"), "{first}");
    // Whether one execution races is not seen when it is run: it is found again, in the second model at this place.
    assert_eq!(first, again.replace("#2;", ";"));
}

struct Unchecked(UnsafeCell<u32>);

// SAFETY: it is shared for the sake of the race.
unsafe impl Sync for Unchecked {}
unsafe impl Send for Unchecked {}

#[test]
fn a_null_pointer_that_is_followed_is_a_failure() {
    let model = || {
        let (x, pointer) =
            (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicPtr::new(std::ptr::null_mut::<[usize; 4]>())));
        let other = (Arc::clone(&x), Arc::clone(&pointer));
        let handle = thread::spawn(move || {
            // The flag is set before the pointer is.
            other.0.store(1, Release);
            other.1.store(Box::into_raw(Box::new([7; 4])), Release);
        });
        if x.load(Acquire) == 1 {
            let found = std::hint::black_box(pointer.load(Acquire));
            // SAFETY: none: that is the bug.
            assert_eq!(unsafe { (&raw const (*found)[2]).read_volatile() }, 7);
        }
        handle.join().unwrap();
    };
    let failure =
        fails(&["main has followed a null pointer, plus 16", "its last operation was that at", "robust.rs"], model);
    assert!(failure.starts_with("invalid-pointer: "), "{failure}");
    assert!(failure.contains("SELVEDGE_REPLAY="), "{failure}");
    all_is_well();
}

#[test]
fn a_wild_pointer_that_is_followed_is_a_failure() {
    for wild in [0x7000_0000_0000_usize, 0xdead_0000_0000_0000] {
        let failure = fails(
            &["has followed a pointer to memory that is not there", "it has performed no operation"],
            move || {
                let wild: *const u64 = std::ptr::with_exposed_provenance(std::hint::black_box(wild));
                // SAFETY: none: that is the bug.
                std::hint::black_box(unsafe { wild.read_volatile() });
            },
        );
        assert!(failure.starts_with("invalid-pointer: "), "{failure}");
        all_is_well();
    }
    // Also by what the system's library does.
    fails(&["has followed a pointer to memory that is not there"], || {
        let wild: *const [u64; 100] = std::ptr::with_exposed_provenance(std::hint::black_box(0x7000_0000_0000));
        let mut copy = [0_u64; 100];
        // SAFETY: none: that is the bug.
        unsafe { std::ptr::copy_nonoverlapping(wild, &raw mut copy, std::hint::black_box(1)) };
        std::hint::black_box(copy);
    });
    all_is_well();
}

/// Follows a wild pointer when it is dropped.
struct Wild;

impl Drop for Wild {
    fn drop(&mut self) {
        let wild: *const u64 = std::ptr::with_exposed_provenance(std::hint::black_box(0x7000_0000_0000));
        // SAFETY: none: that is the bug.
        std::hint::black_box(unsafe { wild.read_volatile() });
    }
}

#[test]
fn a_panic_that_leads_to_a_wild_pointer_is_told_first() {
    let failure = fails(&["first of all", "goes wrong: main has followed a pointer"], || {
        let _wild = Wild;
        panic!("first of all");
    });
    assert!(failure.starts_with("invalid-pointer: first of all; "), "{failure}");
    all_is_well();
}

#[test]
fn a_box_that_is_freed_twice_is_a_failure() {
    let failure = fails(&["frees a block of memory that was freed before", "robust.rs"], || {
        let owned = Arc::new(AtomicPtr::new(Box::into_raw(Box::new(5_u64))));
        let other = Arc::clone(&owned);
        let take = |owned: &AtomicPtr<u64>| {
            let found = owned.load(Acquire);
            if !found.is_null() {
                owned.store(std::ptr::null_mut(), Release);
                // SAFETY: none if two threads have found it: that is the bug.
                drop(unsafe { Box::from_raw(found) });
            }
        };
        let handle = thread::spawn(move || take(&other));
        take(&owned);
        handle.join().unwrap();
    });
    assert!(failure.starts_with("double-free: "), "{failure}");
    all_is_well();
}

#[test]
fn a_panic_that_says_nothing_when_it_starts_is_told() {
    fails(&["assertion: quiet"], || std::panic::resume_unwind(Box::new("quiet")));
    fails(&["assertion: a panic without a message"], || std::panic::resume_unwind(Box::new(5)));
    all_is_well();
}

#[test]
fn what_is_thrown_may_panic_when_it_is_dropped() {
    let failure = fails(&["assertion: a panic without a message", "robust.rs"], || std::panic::panic_any(Panics));
    assert!(!failure.contains("in the destructor"), "{failure}");
    all_is_well();
}

/// Looks at an atomic when it is dropped, and says what is there.
struct Looks(Arc<AtomicUsize>, std::sync::Arc<std::sync::atomic::AtomicUsize>);

impl Drop for Looks {
    fn drop(&mut self) {
        self.1.store(self.0.load(Relaxed), std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn what_a_destructor_finds_during_a_panic_that_is_caught_is_not_made_up() {
    fn catch() -> usize {
        let (x, seen) = (Arc::new(AtomicUsize::new(7)), std::sync::Arc::default());
        let looks = Looks(x, std::sync::Arc::clone(&seen));
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _looks = looks;
            panic!("caught");
        }));
        assert!(caught.is_err());
        seen.load(std::sync::atomic::Ordering::Relaxed)
    }
    let words = ["a panic that the model catches, during which destructors use shared objects"];
    // Nothing comes after it.
    fails(&words, || {
        catch();
    });
    fails(&words, || {
        thread::spawn(catch).join().unwrap();
    });
    // It makes a difference.
    fails(&words, || assert_eq!(catch(), 7));
    all_is_well();
}

/// Memory that the system gives out zeroed is not there before somebody writes to it.
#[test]
#[cfg(target_os = "linux")]
fn who_asks_for_a_lot_of_zeroed_memory_and_does_not_use_it_needs_none() {
    /// How much of this process is in memory, in pages.
    fn resident() -> usize {
        let pages = std::fs::read_to_string("/proc/self/statm").expect("Linux says that");
        pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("it is the second number")
    }
    let before = resident();
    let stats = Builder::new().explore(move || {
        let much = vec![0_u8; 2 << 30];
        let handle = thread::spawn(|| ());
        handle.join().unwrap();
        assert_eq!(much[1 << 20], 0);
        assert!(resident() < before + (1 << 18), "not all of it is there");
    });
    assert_eq!(stats.failure, None);
}

/// Ends the process, if that is what the one below has started.
#[test]
fn target_exit() {
    if std::env::var_os("EXITS").is_none() {
        return;
    }
    let _ = explore(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        thread::spawn(move || {
            if other.load(Relaxed) {
                std::process::exit(0);
            }
        });
        flag.store(true, Relaxed);
    });
}

#[test]
#[cfg(unix)]
fn a_thread_that_ends_the_process_is_a_failure() {
    let run = |exits: bool| {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["target_exit", "--exact"]);
        if exits {
            command.env("EXITS", "1");
        }
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, told) = run(true);
    assert_eq!(code, Some(101), "{told}");
    assert!(told.contains("thread 1 of a model has ended the process"), "{told}");
    let (code, told) = run(false);
    assert_eq!((code, told.as_str()), (Some(0), ""));
}

//! What can be seen of a lock, a channel or a thread from outside: others may see it late, and loops may wait for it.

use selvedge::model::{Builder, Engine, MemoryModel, Stats};
use selvedge::sync::{Arc, Mutex, RwLock, mpsc};
use selvedge::thread;
use std::collections::BTreeSet;

type Noted = std::sync::Arc<std::sync::Mutex<BTreeSet<usize>>>;

/// Explores a model with both engines; what it has noted, and what was explored with graphs.
fn explored(body: fn() -> usize) -> (BTreeSet<usize>, Stats) {
    let explore = |engine| {
        let mut builder = Builder::new();
        builder.engine = engine;
        if engine == Engine::Trace {
            builder.memory_model = MemoryModel::Sc;
        }
        let noted = Noted::default();
        let inner = noted.clone();
        let stats = builder.explore(move || {
            let seen = body();
            if !selvedge::model::is_tried_out() {
                inner.lock().unwrap().insert(seen);
            }
        });
        let noted = noted.lock().unwrap().clone();
        (noted, stats)
    };
    let (graph, trace) = (explore(Engine::Graph), explore(Engine::Trace));
    assert_eq!(graph.0, trace.0, "{:?} {:?}", graph.1, trace.1);
    graph
}

/// Waits for something; whether that took more than one look.
fn wait(mut is_there: impl FnMut() -> bool) -> usize {
    let mut in_vain = 0;
    while !is_there() {
        in_vain = 1;
        thread::yield_now();
    }
    in_vain
}

fn may_look_in_vain(body: fn() -> usize) {
    let (noted, stats) = explored(body);
    assert_eq!((stats.failure, noted), (None, BTreeSet::from([0, 1])));
}

#[test]
fn a_loop_that_polls_a_channel_may_look_in_vain() {
    may_look_in_vain(|| {
        let (sender, receiver) = mpsc::channel();
        let handle = thread::spawn(move || sender.send(1).unwrap());
        let in_vain = wait(|| receiver.try_recv().is_ok());
        handle.join().unwrap();
        in_vain
    });
}

#[test]
fn a_loop_that_waits_for_the_end_of_a_thread_may_look_in_vain() {
    may_look_in_vain(|| {
        let handle = thread::spawn(|| ());
        let in_vain = wait(|| handle.is_finished());
        handle.join().unwrap();
        in_vain
    });
}

#[test]
fn what_is_poisoned_could_see_is_not_covered() {
    let mut builder = Builder::new();
    builder.panics_end_threads = true;
    let stats = builder.explore(|| {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let handle = thread::spawn(move || {
            let _guard = other.write().unwrap();
            panic!("with the lock");
        });
        let _ = lock.is_poisoned();
        handle.join().unwrap_err();
        assert!(lock.is_poisoned());
    });
    assert_eq!(stats.failure, None);
    assert!(stats.not_covered.iter().any(|what| what.contains("`is_poisoned`")), "{:?}", stats.not_covered);
}

#[test]
fn loops_that_wait_for_a_lock_to_be_poisoned_are_refused() {
    let refused = |body: fn()| {
        let mut builder = Builder::new();
        builder.panics_end_threads = true;
        let failure = builder.explore(body).failure.unwrap_or_default();
        assert!(failure.contains("(`is_poisoned`, for instance)") && failure.contains("outside.rs:"), "{failure}");
    };
    refused(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let handle = thread::spawn(move || {
            let _guard = other.lock().unwrap();
            panic!("with the lock");
        });
        while !lock.is_poisoned() {
            thread::yield_now();
        }
        handle.join().unwrap_err();
    });
    refused(|| {
        let lock = Mutex::new(0);
        while !lock.is_poisoned() {
            thread::yield_now();
        }
    });
}

#[test]
fn a_loop_that_only_pauses_for_very_long_is_refused_for_that() {
    let pauses = |times: usize| {
        let stats = Builder::new().explore(move || {
            for _ in 0..times {
                selvedge::hint::spin_loop();
            }
        });
        stats.failure
    };
    assert_eq!(pauses(5000), None);
    let failure = pauses(20_000).expect("it pauses for too long");
    let pauses = "a loop that calls `hint::spin_loop` or `thread::yield_now` more than 10000 times";
    assert!(failure.contains(pauses) && failure.contains("let it pause for less in the model"), "{failure}");
    assert!(failure.contains("outside.rs:") && !failure.contains("is_poisoned"), "{failure}");
}

selvedge::lazy_static! {
    static ref LAZY: selvedge::sync::atomic::AtomicUsize = selvedge::sync::atomic::AtomicUsize::new(0);
}

#[test]
fn a_loop_may_look_at_what_is_initialised_once() {
    use selvedge::sync::OnceLock;
    use selvedge::sync::atomic::AtomicUsize;
    use selvedge::sync::atomic::Ordering::{Acquire, Release};
    let (noted, stats) = explored(|| {
        let handle = thread::spawn(|| LAZY.store(1, Release));
        while LAZY.load(Acquire) == 0 {
            thread::yield_now();
        }
        handle.join().unwrap();
        let once = Arc::new(OnceLock::new());
        let other = Arc::clone(&once);
        let handle = thread::spawn(move || other.get_or_init(|| AtomicUsize::new(1)).store(2, Release));
        while once.get_or_init(|| AtomicUsize::new(1)).load(Acquire) == 1 {
            thread::yield_now();
        }
        handle.join().unwrap();
        0
    });
    assert_eq!((stats.failure, noted), (None, BTreeSet::from([0])));
}

/// The one could see what the other writes, if both go on for long enough: it is only not known.
#[test]
fn loops_that_could_see_each_other_are_no_livelock() {
    use selvedge::sync::atomic::AtomicUsize;
    use selvedge::sync::atomic::Ordering::SeqCst;
    let stats = Builder::new().explore(|| {
        let words = Arc::new([const { AtomicUsize::new(0) }; 2]);
        let other = Arc::clone(&words);
        let handle = thread::spawn(move || {
            while other[0].load(SeqCst) == 0 {
                thread::yield_now();
            }
            other[1].store(1, SeqCst);
        });
        loop {
            words[0].store(1, SeqCst);
            words[0].store(0, SeqCst);
            if words[1].load(SeqCst) == 1 {
                break;
            }
            thread::yield_now();
        }
        handle.join().unwrap();
    });
    assert_eq!(stats.failure, None);
    assert!(stats.not_covered.iter().any(|what| what.contains("writes the same each time")), "{:?}", stats.not_covered);
}

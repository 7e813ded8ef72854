//! Models that are explored side by side, as tests are, and use the same statics: none notices the others.

use selvedge::model::Builder;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::Relaxed;
use selvedge::sync::{Mutex, OnceLock, RwLock};
use selvedge::thread;

/// Two threads add to every static; all have what was added in the end.
fn adds_to_statics() {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    static LOCKED: Mutex<usize> = Mutex::new(0);
    static READ: RwLock<usize> = RwLock::new(0);
    static MADE: OnceLock<usize> = OnceLock::new();
    let add = || {
        COUNT.fetch_add(1, Relaxed);
        *LOCKED.lock().unwrap() += 1;
        *READ.write().unwrap() += 1;
        assert_eq!(*MADE.get_or_init(|| 7), 7);
    };
    let handle = thread::spawn(add);
    add();
    handle.join().unwrap();
    let all = [COUNT.load(Relaxed), *LOCKED.lock().unwrap(), *READ.read().unwrap()];
    assert_eq!(all, [2; 3]);
}

#[test]
fn models_do_not_notice_others_that_use_the_same_statics() {
    let explore = || {
        let builder = Builder::new();
        let all = (0..40).map(|_| builder.explore(adds_to_statics));
        all.map(|stats| (stats.failure, stats.complete)).collect::<Vec<_>>()
    };
    let alone = Builder::new().explore(adds_to_statics);
    assert_eq!(alone.failure, None);
    let explored = std::thread::scope(|scope| {
        let threads = [0; 4].map(|_| scope.spawn(explore));
        threads.map(|thread| thread.join().unwrap())
    });
    for stats in explored.into_iter().flatten() {
        assert_eq!(stats, (None, alone.complete));
    }
}

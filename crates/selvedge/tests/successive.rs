//! Models that run one after the other on one thread use the same memory again; nothing else is left of the ones before.

use selvedge::model::{Builder, Stats};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use selvedge::sync::{Arc, Condvar, Mutex, mpsc};
use selvedge::{hint, thread};

fn explore(f: impl Fn() + Send + Sync + 'static) -> Stats {
    Builder::new().explore(f)
}

fn store_buffering() {
    let [x, y] = [0, 1].map(|_| Arc::new(AtomicUsize::new(0)));
    let other = thread::spawn({
        let (x, y) = (Arc::clone(&x), Arc::clone(&y));
        move || {
            x.store(1, Relaxed);
            y.load(Relaxed)
        }
    });
    y.store(1, Relaxed);
    x.load(Relaxed);
    other.join().unwrap();
}

fn many_threads() {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let handles: Vec<_> = (0..9)
        .map(|n| {
            let cells: Vec<_> = (0..n).map(AtomicUsize::new).collect();
            let add = move || COUNT.fetch_add(cells.iter().map(|cell| cell.load(Relaxed)).sum(), Relaxed);
            thread::Builder::new().name(format!("adder {n}")).spawn(add).unwrap()
        })
        .collect();
    // One at a time: what they do is in one order only.
    for handle in handles.into_iter().take(1) {
        handle.join().unwrap();
    }
}

fn race() {
    let cell = Arc::new(selvedge::cell::Cell::new(0));
    let other = thread::spawn({
        let cell = Arc::clone(&cell);
        move || cell.set(1)
    });
    cell.set(2);
    other.join().unwrap();
}

fn deadlock() {
    let pair = Arc::new((Mutex::new(()), Condvar::new()));
    drop(pair.1.wait(pair.0.lock().unwrap()).unwrap());
}

fn spin() {
    let flag = Arc::new(AtomicUsize::new(0));
    let other = thread::spawn({
        let flag = Arc::clone(&flag);
        move || flag.store(1, Release)
    });
    while flag.load(Acquire) == 0 {
        hint::spin_loop();
    }
    other.join().unwrap();
}

fn panics() {
    let flag = Arc::new(AtomicUsize::new(0));
    let other = thread::spawn({
        let flag = Arc::clone(&flag);
        move || flag.store(1, Relaxed)
    });
    assert_eq!(flag.load(Relaxed), 0, "it was set");
    other.join().unwrap();
}

/// Without the number of a model among those that are run at the same place.
fn uncounted(text: String) -> String {
    let Some((before, (number, after))) = text.split_once('#').and_then(|(a, b)| Some((a, b.split_once(';')?))) else {
        return text;
    };
    assert!(number.parse::<u32>().is_ok(), "{text}");
    format!("{before};{after}")
}

#[test]
fn what_a_model_shows_does_not_depend_on_the_models_before() {
    let models = [store_buffering, race, spin, deadlock, panics, spin, store_buffering];
    // Each on a thread of its own, of the same name, which is part of reports.
    let alone = models.map(|model| {
        let name = std::thread::current().name().unwrap().to_owned();
        std::thread::Builder::new().name(name).spawn(move || explore(model)).unwrap().join().unwrap()
    });
    for round in 0..3 {
        for (model, alone) in models.into_iter().zip(&alone) {
            let stats = explore(model);
            assert_eq!((stats.complete, stats.blocked), (alone.complete, alone.blocked), "round {round}");
            assert_eq!(stats.failure.map(uncounted), alone.failure, "round {round}");
            assert_eq!(stats.replay.map(uncounted), alone.replay, "round {round}");
        }
        let mut builder = Builder::new();
        builder.max_permutations = Some(50);
        let wide = builder.explore(many_threads);
        assert_eq!(wide.complete + wide.blocked, 50);
    }
}

#[test]
fn a_model_whose_drop_panics_leaves_nothing_behind() {
    struct Bad(AtomicUsize);
    impl Drop for Bad {
        fn drop(&mut self) {
            self.0.store(1, Relaxed);
            panic!("a bad end");
        }
    }
    let bad = explore(|| drop(Bad(AtomicUsize::new(0))));
    assert!(bad.failure.is_some_and(|failure| failure.contains("a bad end")));
    assert_eq!(explore(store_buffering).complete, 4);
}

/// What a thread does in [`the_same_model_has_the_same_executions_each_time`].
#[derive(Clone, Copy)]
enum Does {
    /// Adds one, and gives up after two attempts.
    Adds,
    Sends,
    Notifies,
    Locks,
}

/// Never inlined, so that its frame lies where others have been before.
#[inline(never)]
fn does_all(
    all: &[Does],
    x: &AtomicUsize,
    (tx, lock, changed): (&mpsc::Sender<usize>, &Mutex<usize>, &Condvar),
) -> [usize; 3] {
    let mut found = [0; 3];
    for (n, does) in all.iter().enumerate() {
        match does {
            Does::Adds => {
                let mut old = x.load(Acquire);
                found[n] = 50;
                for _ in 0..2 {
                    match x.compare_exchange(old, old + 1, AcqRel, Acquire) {
                        Ok(_) => {
                            found[n] = old;
                            break;
                        }
                        Err(now) => old = now,
                    }
                }
            }
            Does::Sends => tx.send(n).unwrap(),
            Does::Notifies => changed.notify_one(),
            Does::Locks => *lock.lock().unwrap() += 1,
        }
    }
    found
}

#[test]
fn the_same_model_has_the_same_executions_each_time() {
    // What an operation leaves unwritten of what it hands over must not be left over from others before: pointers that differ
    // from run to run, of which a byte was overwritten, so that nobody knows them any more.
    const MODELS: [[&[Does]; 2]; 3] = [
        [&[Does::Adds, Does::Sends], &[Does::Sends, Does::Adds, Does::Sends]],
        [&[Does::Adds, Does::Notifies], &[Does::Notifies, Does::Adds, Does::Notifies]],
        [&[Does::Adds, Does::Locks], &[Does::Locks, Does::Adds, Does::Locks]],
    ];
    for threads in MODELS {
        let mut seen = std::collections::BTreeMap::new();
        for n in 0..200 {
            // Memory is not where it was the time before.
            std::mem::forget(vec![0u8; 16 * (n % 7)]);
            let stats = Builder::new().explore(move || {
                let (tx, rx) = mpsc::channel();
                let shared = Arc::new((AtomicUsize::new(0), Mutex::new(0), Condvar::new()));
                let handles: Vec<_> = threads
                    .into_iter()
                    .map(|all| {
                        let (shared, tx) = (Arc::clone(&shared), tx.clone());
                        thread::spawn(move || (does_all(all, &shared.0, (&tx, &shared.1, &shared.2)), tx))
                    })
                    .collect();
                let kept: Vec<_> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
                drop((kept, rx));
            });
            assert_eq!(stats.failure, None);
            *seen.entry((stats.complete, stats.blocked, stats.notes)).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 1, "{seen:?}");
    }
}

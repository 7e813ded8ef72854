//! Loops that try an exchange again, and leave something in attempts after which no exchange is made, or in which they look at
//! what others write later.

use selvedge::model::{Builder, MemoryModel, Stats};
use selvedge::sync::Arc;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use selvedge::thread;

fn explore(model: MemoryModel, one_by_one: bool, body: fn()) -> Stats {
    let mut builder = Builder::new();
    builder.memory_model = model;
    builder.attempts_one_by_one = one_by_one;
    builder.spurious = false;
    builder.explore(body)
}

/// Under all models, with and without an execution for every attempt.
fn is_found(what: &str, body: fn()) {
    for model in [MemoryModel::Rc11, MemoryModel::Ra, MemoryModel::Tso, MemoryModel::Sc] {
        for one_by_one in [false, true] {
            let stats = explore(model, one_by_one, body);
            assert!(stats.failure.as_ref().is_some_and(|failure| failure.contains(what)), "{model:?} {stats:?}");
        }
    }
}

fn add(x: &AtomicUsize) {
    x.fetch_update(AcqRel, Acquire, |n| Some(n + 1)).unwrap();
}

/// How often an exchange has failed before there was nothing to be exchanged.
fn fails_before_the_end(x: &AtomicUsize) -> usize {
    let mut fails = 0;
    let mut old = x.load(Relaxed);
    while old != 1 {
        match x.compare_exchange(old, old + 10, AcqRel, Relaxed) {
            Ok(_) => return 0,
            Err(now) => {
                fails += 1;
                old = now;
            }
        }
    }
    fails
}

#[test]
fn an_attempt_that_fails_before_a_loop_ends_without_an_exchange() {
    is_found("it has failed", || {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || add(&other));
        let fails = fails_before_the_end(&x);
        handle.join().unwrap();
        assert_eq!(fails, 0, "it has failed");
    });
}

#[test]
fn an_attempt_that_fails_before_a_thread_ends() {
    is_found("it has failed", || {
        let x = Arc::new(AtomicUsize::new(0));
        let handle = {
            let x = Arc::clone(&x);
            thread::spawn(move || {
                let fails = [0, 1].map(|_| fails_before_the_end(&x));
                fails[0] + fails[1]
            })
        };
        add(&x);
        assert_eq!(handle.join().unwrap(), 0, "it has failed");
    });
}

/// It gives up when its exchange has failed, without another look.
#[test]
fn an_attempt_that_fails_and_is_the_last() {
    is_found("it has given up", || {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || other.store(1, Release));
        let old = x.load(Relaxed);
        let gives_up = old != 1 && x.compare_exchange(old, old + 10, AcqRel, Relaxed).is_err();
        handle.join().unwrap();
        assert!(!gives_up, "it has given up");
    });
}

/// Only attempts that begin with the first value look at `z`, and nobody has written there when the exchange is made.
#[test]
fn an_attempt_that_fails_sees_what_is_written_later() {
    is_found("it is odd", || {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let [first, second, third] = [0, 1, 2].map(|_| Arc::clone(&shared));
        let handles = [
            thread::spawn(move || add(&first.0)),
            thread::spawn(move || {
                let (x, z) = &*second;
                loop {
                    let old = x.load(Acquire);
                    let odd = old == 0 && z.load(Acquire) == 1;
                    match x.compare_exchange(old, old + 10, AcqRel, Acquire) {
                        Ok(_) => break,
                        Err(_) => assert!(!odd, "it is odd"),
                    }
                }
            }),
            thread::spawn(move || third.1.store(1, Release)),
        ];
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    });
}

/// With what it has found, a loop ends without an exchange, and the next one begins.
#[test]
fn an_attempt_that_fails_is_followed_by_another_loop() {
    is_found("it has failed", || {
        let x = Arc::new(AtomicUsize::new(0));
        let [first, second] = [0, 1].map(|_| Arc::clone(&x));
        let put = |x: &AtomicUsize| while x.compare_exchange(x.load(Acquire), 2, AcqRel, Acquire).is_err() {};
        let first = thread::spawn(move || put(&first));
        let second = thread::spawn(move || {
            let old = second.load(Relaxed);
            let fails = old != 2 && second.compare_exchange(old, old + 2, Relaxed, Acquire).is_err();
            put(&second);
            fails
        });
        let seen = x.load(Acquire);
        first.join().unwrap();
        assert!(!second.join().unwrap() || seen == 0, "it has failed");
    });
}

/// A word that is exchanged until another one says that it is closed.
#[derive(Default)]
struct Closable {
    word: AtomicUsize,
    closed: AtomicUsize,
}

impl Closable {
    fn is_closed(&self) -> bool {
        self.closed.load(Acquire) != 0
    }

    fn close(&self) {
        let _ = self.word.compare_exchange(0, 1, AcqRel, Relaxed);
        self.closed.store(1, Release);
    }

    /// If no exchange was made, a number for what was loaded last.
    fn push(&self) -> Result<usize, usize> {
        let mut tried = 0;
        while !self.is_closed() {
            let old = self.word.load(Relaxed);
            tried = old + 1;
            if self.word.compare_exchange(old, old + 2, AcqRel, Relaxed).is_ok() {
                return Ok(old);
            }
        }
        Err(tried)
    }
}

/// Where attempts begin, a thread comes by once more after the loop.
#[test]
fn an_attempt_that_fails_where_a_thread_comes_by_twice() {
    is_found("it has tried before", || {
        let shared: Arc<Closable> = Arc::default();
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || match other.push() {
            Ok(_) => (0, false),
            Err(tried) => (tried, other.is_closed()),
        });
        shared.close();
        assert_eq!(handle.join().unwrap().0, 0, "it has tried before");
    });
}

/// The same in a loop around it: no attempt is made at the second word.
#[test]
fn an_attempt_that_fails_in_a_loop_in_a_loop() {
    is_found("it has tried before", || {
        let shared: Arc<([AtomicUsize; 2], AtomicUsize)> = Arc::default();
        let [first, second] = [0, 1].map(|_| Arc::clone(&shared));
        let handle = thread::spawn(move || {
            let (words, closed) = &*first;
            let mut last = 9;
            for word in words {
                loop {
                    if closed.load(Acquire) != 0 {
                        break;
                    }
                    let old = word.load(Relaxed);
                    last = old;
                    if word.compare_exchange(old, old + 1, AcqRel, Relaxed).is_ok() {
                        return vec![last, 1];
                    }
                }
            }
            vec![last]
        });
        let other = thread::spawn(move || {
            second.0[0].fetch_add(5, AcqRel);
            second.1.store(1, Release);
        });
        assert_ne!(handle.join().unwrap(), vec![0], "it has tried before");
        other.join().unwrap();
    });
}

#[test]
fn an_attempt_that_fails_before_an_update() {
    is_found("it has tried before", || {
        let shared: Arc<(Closable, AtomicUsize)> = Arc::default();
        let [first, second] = [0, 1].map(|_| Arc::clone(&shared));
        let handle = thread::spawn(move || {
            let (Closable { word, closed }, updated) = &*first;
            let mut last = 9;
            loop {
                if closed.load(Acquire) != 0 {
                    break;
                }
                let old = word.load(Relaxed);
                last = old;
                if word.compare_exchange(old, old + 2, AcqRel, Relaxed).is_ok() {
                    break;
                }
            }
            (last, updated.fetch_update(AcqRel, Relaxed, |n| Some(n + 1)))
        });
        let closes = thread::spawn(move || second.0.close());
        let (last, _) = handle.join().unwrap();
        closes.join().unwrap();
        assert_ne!((last, shared.0.word.load(Relaxed)), (0, 1), "it has tried before");
    });
}

//! What libraries do: hazard pointers, sequence locks, epochs, futures, flags.

use super::{Body, Words, add, all_ways, together, words};
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicBool, AtomicUsize, fence};
use selvedge::{hint, thread};

/// As with hazard pointers: what was loaded is announced, and is loaded again before it is used.
#[test]
fn what_is_loaded_is_announced_and_checked() {
    let body: Body = || {
        together(
            words(),
            [
                |w| loop {
                    let old = w[0].load(Acquire);
                    w[1].store(old + 1, SeqCst);
                    if w[0].load(SeqCst) != old {
                        continue;
                    }
                    if w[0].compare_exchange(old, old + 1, AcqRel, Acquire).is_ok() {
                        w[1].store(0, Release);
                        return old;
                    }
                },
                |w| {
                    let old = w[0].fetch_add(1, SeqCst);
                    old + 10 * w[1].load(SeqCst)
                },
            ],
        )
    };
    all_ways("announced", body, &[&[1, 10], &[1, 20], &[1, 0]]);
    let body: Body = || {
        together(
            words(),
            [
                |w| loop {
                    let old = w[0].load(Relaxed);
                    fence(SeqCst);
                    let other = w[1].load(Relaxed);
                    if w[0].load(Acquire) != old {
                        continue;
                    }
                    if w[0].compare_exchange(old, old + 1, AcqRel, Acquire).is_ok() {
                        return old + 10 * other;
                    }
                },
                |w| {
                    w[1].store(1, Relaxed);
                    let old = add(&w[0]);
                    w[1].store(2, Relaxed);
                    old
                },
                |w| add(&w[0]),
            ],
        )
    };
    all_ways("a snapshot", body, &[]);
    let body: Body = || {
        together(
            words(),
            [
                |w| loop {
                    let old = w[0].load(Acquire);
                    let other = w[1].load(Acquire);
                    if old != w[0].load(Acquire) {
                        continue;
                    }
                    let new = if other == 0 { old + 1 } else { old + 2 };
                    if w[0].compare_exchange(old, new, AcqRel, Acquire).is_ok() {
                        return old + 10 * other;
                    }
                },
                |w| {
                    let old = add(&w[0]);
                    w[1].store(1, Release);
                    old
                },
                |w| add(&w[0]),
            ],
        )
    };
    all_ways("checked", body, &[&[12, 0, 1], &[11, 0, 3]]);
}

/// A sequence lock: readers look until the sequence is even, and the same before and after.
#[test]
fn sequence_locks() {
    fn read(w: &Words) -> usize {
        loop {
            let before = w[0].load(Acquire);
            if before % 2 == 1 {
                hint::spin_loop();
                continue;
            }
            let found = [&w[1], &w[2]].map(|x| x.load(Relaxed));
            fence(Acquire);
            if w[0].load(Relaxed) == before {
                return before + 10 * found[0] + 100 * found[1];
            }
            hint::spin_loop();
        }
    }
    fn write(w: &Words, value: usize) -> usize {
        let mut old = w[0].load(Relaxed);
        loop {
            if old % 2 == 1 {
                hint::spin_loop();
                old = w[0].load(Relaxed);
                continue;
            }
            match w[0].compare_exchange_weak(old, old + 1, Acquire, Relaxed) {
                Ok(_) => break,
                Err(now) => old = now,
            }
        }
        fence(Release);
        w[1].store(value, Relaxed);
        w[2].store(value, Relaxed);
        w[0].store(old + 2, Release);
        old
    }
    let body: Body = || together([0; 3].map(AtomicUsize::new), [read, |w| write(w, 1)]);
    all_ways("a reader and a writer", body, &[&[0, 0], &[112, 0]]);
    let body: Body = || together([0; 3].map(AtomicUsize::new), [|w| write(w, 2), |w| write(w, 1)]);
    all_ways("two writers", body, &[&[0, 2], &[2, 0]]);
    let body: Body = || {
        let found = together([0; 3].map(AtomicUsize::new), [read, |w| write(w, 2), |w| write(w, 1)]);
        assert!([0, 112, 222, 114, 224].contains(&found[0]), "{found:?}");
        found
    };
    all_ways("a reader and two writers", body, &[&[112, 2, 0], &[114, 0, 2], &[0, 0, 2]]);
}

/// The epoch is pinned, and advanced if nobody is behind.
#[test]
fn epochs() {
    fn pin(w: &Words, own: &AtomicUsize) -> usize {
        loop {
            let epoch = w[0].load(Relaxed);
            own.store(2 * epoch + 1, SeqCst);
            if w[0].load(SeqCst) == epoch {
                return epoch;
            }
        }
    }
    fn advance(w: &Words, others: &[&AtomicUsize]) -> usize {
        let epoch = w[0].load(SeqCst);
        for other in others {
            let other = other.load(SeqCst);
            if other % 2 == 1 && other / 2 != epoch {
                return 100;
            }
        }
        w[0].compare_exchange(epoch, epoch + 1, AcqRel, Acquire).unwrap_or_else(|now| 200 + now)
    }
    let body: Body = || {
        together(
            [0; 3].map(AtomicUsize::new),
            [|w| pin(w, &w[1]) + 1000 * advance(w, &[&w[2]]), |w| pin(w, &w[2]) + 1000 * advance(w, &[&w[1]])],
        )
    };
    all_ways("two who pin and advance", body, &[&[100_001, 0], &[0, 201_000]]);
}

/// As futures are polled: whether to go on is decided by what was found, and a flag says that there is something to do.
#[test]
fn polls() {
    #[derive(Clone, Copy, PartialEq)]
    enum Poll {
        Ready(usize),
        Pending,
    }
    fn poll(w: &Words, state: &mut usize) -> Poll {
        if *state == 0 {
            let old = w[0].load(Acquire);
            if old == 0 {
                return Poll::Pending;
            }
            if w[0].compare_exchange(old, old - 1, AcqRel, Acquire).is_err() {
                return Poll::Pending;
            }
            *state = old;
        }
        match w[1].load(Acquire) {
            0 => Poll::Pending,
            other => Poll::Ready(*state + 10 * other),
        }
    }
    fn run(w: &Words) -> usize {
        let mut state = 0;
        loop {
            if let Poll::Ready(value) = poll(w, &mut state) {
                return value;
            }
            thread::yield_now();
        }
    }
    let body: Body = || {
        together(
            [1, 0, 0].map(AtomicUsize::new),
            [run, run, |w| {
                w[0].fetch_add(1, AcqRel);
                w[1].store(1, Release);
                0
            }],
        )
    };
    all_ways("two who poll", body, &[&[11, 12, 0], &[12, 11, 0], &[11, 11, 0]]);
}

/// A flag that is taken with an exchange and given back with a store: attempts are polls of the flag.
#[test]
fn flags_that_are_taken() {
    fn lock(flag: &AtomicBool) -> usize {
        let mut spins = 0;
        while flag.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
            while flag.load(Relaxed) {
                hint::spin_loop();
            }
            spins = 1;
        }
        spins
    }
    let body: Body = || {
        together(
            (AtomicBool::new(false), AtomicUsize::new(0)),
            [
                |(flag, count)| {
                    let spins = lock(flag);
                    let now = count.load(Relaxed);
                    count.store(now + 1, Relaxed);
                    flag.store(false, Release);
                    now + 10 * spins
                },
                |(flag, count)| {
                    lock(flag);
                    let now = count.load(Relaxed);
                    count.store(now + 1, Relaxed);
                    flag.store(false, Release);
                    now
                },
            ],
        )
    };
    all_ways("a lock that notes whether it has waited", body, &[&[0, 1], &[1, 0], &[11, 0]]);
}

//! Threads that are tried out do what they do twice. What they own outside of the model is dropped once all the same.

#![allow(missing_docs)]

use selvedge::model::{Builder, is_tried_out};
use selvedge::sync::Arc;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};
use selvedge::{hint, thread};
use std::collections::BTreeSet;
use std::sync::Mutex;

type Outside<T> = std::sync::Arc<Mutex<T>>;

/// Something that is to be dropped once: by number, how often it was.
struct Owned(Outside<Vec<u32>>, usize);

impl Owned {
    fn new(all: &Outside<Vec<u32>>) -> Owned {
        let mut drops = all.lock().unwrap();
        drops.push(0);
        Owned(Outside::clone(all), drops.len() - 1)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.lock().unwrap()[self.1] += 1;
    }
}

/// Explores a model that owns two things from outside of it: how often one of them was dropped at the most.
fn drops(threads: fn([Owned; 2])) -> u32 {
    let all = Outside::default();
    // If there are too few references, nothing is freed that is in use.
    std::mem::forget(vec![Outside::clone(&all); 1000]);
    let given = Outside::clone(&all);
    let stats = Builder::new().explore(move || threads([(); 2].map(|()| Owned::new(&given))));
    assert_eq!(stats.failure, None);
    let all = all.lock().unwrap();
    *all.iter().max().unwrap()
}

#[test]
fn what_is_captured_is_dropped_once_by_a_thread_that_is_tried_out_to_its_end() {
    let outside = Outside::new(Mutex::new(0));
    std::mem::forget(vec![Outside::clone(&outside); 100]);
    let given = Outside::clone(&outside);
    let stats = Builder::new().explore(move || {
        let x = Arc::new(AtomicU32::new(0));
        let (y, outside) = (Arc::clone(&x), Outside::clone(&given));
        let handle = thread::spawn(move || {
            y.load(SeqCst);
            let _ = y.compare_exchange(2, 3, Release, Acquire);
            if !is_tried_out() {
                *outside.lock().unwrap() += 1;
            }
        });
        x.store(2, Release);
        handle.join().unwrap();
    });
    assert_eq!(stats.failure, None);
    assert!(Outside::strong_count(&outside) > 100, "a reference was dropped that is somebody else's");
}

#[test]
fn what_is_owned_is_dropped_once_by_a_thread_that_waits() {
    let most = drops(|[outside, _other]| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let handle = thread::spawn(move || {
            while !other.load(Acquire) {
                hint::spin_loop();
            }
            drop(outside);
        });
        flag.store(true, Release);
        handle.join().unwrap();
    });
    assert_eq!(most, 1);
}

#[test]
fn what_is_owned_is_dropped_once_between_two_operations() {
    let most = drops(|both| {
        let n = Arc::new(AtomicUsize::new(0));
        let handles = both.map(|outside| {
            let n = Arc::clone(&n);
            thread::spawn(move || {
                let mut found = n.load(Relaxed);
                let mut boxed = Some(Box::new(outside));
                while let Err(now) = n.compare_exchange(found, found + 1, AcqRel, Relaxed) {
                    found = now;
                }
                boxed.take();
                n.load(Relaxed);
            })
        });
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    });
    assert_eq!(most, 1);
}

#[test]
fn outcomes_may_be_collected_in_what_allocates() {
    let outcomes: Outside<BTreeSet<(u32, String)>> = Outside::default();
    let noted = Outside::clone(&outcomes);
    let stats = Builder::new().explore(move || {
        let x = Arc::new(AtomicU32::new(0));
        let (y, noted) = (Arc::clone(&x), Outside::clone(&noted));
        let handle = thread::spawn(move || {
            let first = y.load(SeqCst);
            let second = y.compare_exchange(2, 3, Release, Acquire).unwrap_or_else(|found| found);
            if !is_tried_out() {
                noted.lock().unwrap().insert((first, second.to_string()));
            }
        });
        x.store(2, Release);
        handle.join().unwrap();
    });
    assert_eq!(stats.failure, None);
    let all: Vec<_> = outcomes.lock().unwrap().iter().cloned().collect();
    assert_eq!(all, [(0, 0), (0, 2), (2, 2)].map(|(first, second): (u32, u32)| (first, second.to_string())));
}

/// Who does not ask whether something is tried out collects outcomes that there are not. That is all that goes wrong.
#[test]
fn what_is_collected_while_a_thread_is_tried_out_stays_whole() {
    let seen: Outside<Vec<Box<usize>>> = Outside::default();
    let noted = Outside::clone(&seen);
    let stats = Builder::new().explore(move || {
        let n = Arc::new(AtomicUsize::new(0));
        let handles = [(); 2].map(|()| {
            let (n, noted) = (Arc::clone(&n), Outside::clone(&noted));
            thread::spawn(move || {
                let mut found = n.load(Relaxed);
                while let Err(now) = n.compare_exchange(found, found + 1, AcqRel, Relaxed) {
                    found = now;
                }
                noted.lock().unwrap().push(Box::new(found));
            })
        });
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    });
    assert_eq!(stats.failure, None);
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    let places: BTreeSet<*const usize> = seen.iter().map(|one| std::ptr::from_ref(&**one)).collect();
    assert_eq!(places.len(), seen.len(), "every value has memory of its own");
    assert!(seen.iter().all(|found| **found < 3), "{seen:?}");
}

#[test]
fn the_closure_lives_as_long_as_the_model_also_if_its_end_is_tried_out() {
    static FLAG: AtomicBool = AtomicBool::new(false);
    let captured = std::sync::Arc::new(String::from("captured"));
    for _ in 0..200 {
        let captured = std::sync::Arc::clone(&captured);
        let stats = Builder::new().explore(move || {
            assert_eq!(*captured, "captured");
            thread::spawn(|| FLAG.store(true, Release));
            while !FLAG.load(Acquire) {
                hint::spin_loop();
            }
        });
        assert_eq!(stats.failure, None);
    }
    assert_eq!(std::sync::Arc::strong_count(&captured), 1);
}

/// The count of a channel's senders is far from its start.
#[test]
fn a_sender_is_dropped_once() {
    let (sender, receiver) = std::sync::mpsc::channel::<u32>();
    let kept = sender.clone();
    let given = Mutex::new(sender);
    let stats = Builder::new().explore(move || {
        let x = Arc::new(AtomicU32::new(0));
        let (y, own) = (Arc::clone(&x), given.lock().unwrap().clone());
        let handle = thread::spawn(move || {
            y.load(SeqCst);
            let _ = y.compare_exchange(2, 3, Release, Acquire);
            drop(own);
        });
        x.store(2, Release);
        handle.join().unwrap();
    });
    assert_eq!(stats.failure, None);
    assert_eq!((kept.send(1), receiver.try_recv()), (Ok(()), Ok(1)));
}

#[test]
fn what_another_thread_owns_is_dropped_once_by_who_has_borrowed_it() {
    let outside = std::sync::Arc::new(0);
    std::mem::forget(vec![std::sync::Arc::clone(&outside); 100]);
    let given = std::sync::Arc::clone(&outside);
    let stats = Builder::new().explore(move || {
        let x = AtomicU32::new(0);
        let mut own = Some(std::sync::Arc::clone(&given));
        thread::scope(|scope| {
            let (x, own) = (&x, &mut own);
            scope.spawn(move || {
                x.load(SeqCst);
                let _ = x.compare_exchange(2, 3, Release, Acquire);
                own.take();
            });
            x.store(2, Release);
        });
    });
    assert_eq!(stats.failure, None);
    assert!(std::sync::Arc::strong_count(&outside) > 100, "a reference was dropped that is somebody else's");
}

/// The elements of the vector are in memory that the model has allocated, and its length is not.
#[test]
fn a_vector_that_grows_while_a_thread_is_tried_out_stays_whole() {
    fn count(n: &AtomicU32) -> u32 {
        let mut found = n.load(Relaxed);
        while let Err(now) = n.compare_exchange(found, found + 1, AcqRel, Relaxed) {
            found = now;
        }
        found
    }
    let seen: Outside<Vec<u32>> = Outside::default();
    let noted = Outside::clone(&seen);
    let stats = Builder::new().explore(move || {
        let n = Arc::new(AtomicU32::new(1));
        let handles = [(); 2].map(|()| {
            let (n, noted) = (Arc::clone(&n), Outside::clone(&noted));
            thread::spawn(move || {
                for _ in 0..2 {
                    let found = count(&n);
                    noted.lock().unwrap().push(found);
                }
            })
        });
        n.fetch_add(2, AcqRel);
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    });
    assert_eq!(stats.failure, None);
    let seen = seen.lock().unwrap();
    assert!(
        seen.iter().all(|&found| found > 0),
        "{} of {} are gone",
        seen.iter().filter(|n| **n == 0).count(),
        seen.len()
    );
}

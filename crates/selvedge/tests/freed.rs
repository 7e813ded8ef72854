//! What is freed through `Box` and the like while others may still use it is a failure, in whatever order threads have run; and what
//! is freed in time, or only moves, is none.

#![allow(unsafe_code)]

#[path = "support/freeing.rs"]
mod freeing;

use freeing::{WAYS, explore, fails, passes};
use selvedge::cell::UnsafeCell;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence};
use selvedge::sync::{Arc, Mutex, mpsc};
use selvedge::thread;
use std::collections::HashMap;
use std::ptr::null_mut;

/// What is shared, with something of each kind.
struct Node {
    cell: UnsafeCell<usize>,
    atomic: AtomicUsize,
    flag: AtomicBool,
    lock: Mutex<usize>,
}

// SAFETY: the cell is one whose accesses are checked.
unsafe impl Sync for Node {}

impl Node {
    fn new() -> Node {
        Node {
            cell: UnsafeCell::new(0),
            atomic: AtomicUsize::new(0),
            flag: AtomicBool::new(false),
            lock: Mutex::new(0),
        }
    }
}

/// Does nothing with what is told.
fn ignore<T>(_: T) {}

type Use = fn(&Node);

const USES: [(&str, Use); 7] = [
    ("a read of a cell", |node| node.cell.with(|_| ())),
    ("a write to a cell", |node| node.cell.with_mut(|_| ())),
    ("a load", |node| ignore(node.atomic.load(Relaxed))),
    ("a store", |node| node.flag.store(true, Relaxed)),
    ("an addition", |node| ignore(node.atomic.fetch_add(1, AcqRel))),
    ("an exchange", |node| ignore(node.atomic.compare_exchange(0, 1, SeqCst, Relaxed))),
    ("a lock", |node| *node.lock.lock().unwrap() += 1),
];

fn node() -> AtomicPtr<Node> {
    AtomicPtr::new(Box::into_raw(Box::new(Node::new())))
}

fn shared() -> Arc<AtomicPtr<Node>> {
    Arc::new(node())
}

fn free(p: &AtomicPtr<Node>) {
    let node = p.swap(null_mut(), AcqRel);
    if !node.is_null() {
        // SAFETY: only one thread gets it, but another one may use it: the model finds that out.
        drop(unsafe { Box::from_raw(node) });
    }
}

fn use_with(p: &AtomicPtr<Node>, with: Use) {
    let node = p.load(Acquire);
    if !node.is_null() {
        // SAFETY: it may have been freed: the model finds that out.
        with(unsafe { &*node });
    }
}

#[test]
fn whoever_is_created_frees_too_early() {
    for (name, with) in USES {
        fails(&format!("{name}, freed by another"), move || {
            let p = shared();
            let other = Arc::clone(&p);
            let handle = thread::spawn(move || free(&other));
            use_with(&p, with);
            handle.join().unwrap();
            free(&p);
        });
        fails(&format!("{name} of another"), move || {
            let p = shared();
            let other = Arc::clone(&p);
            let handle = thread::spawn(move || use_with(&other, with));
            free(&p);
            handle.join().unwrap();
        });
        for swapped in [false, true] {
            fails(&format!("{name} of another, freed by a third, {swapped}"), move || {
                let p = shared();
                let [first, second] = [Arc::clone(&p), Arc::clone(&p)];
                let uses = move || use_with(&first, with);
                let frees = move || free(&second);
                let handles = match swapped {
                    false => (thread::spawn(uses), thread::spawn(frees)),
                    true => {
                        let frees = thread::spawn(frees);
                        (thread::spawn(uses), frees)
                    }
                };
                handles.0.join().unwrap();
                handles.1.join().unwrap();
            });
        }
    }
}

#[test]
fn who_has_used_it_before_may_free_it_too_early() {
    for (name, with) in USES {
        fails(name, move || {
            let p = shared();
            let other = Arc::clone(&p);
            use_with(&p, with);
            let handle = thread::spawn(move || {
                use_with(&other, |node| ignore(node.atomic.load(Relaxed)));
                free(&other);
            });
            if !name.contains("cell") {
                use_with(&p, with);
            } else {
                use_with(&p, |node| node.cell.with(|_| ()));
            }
            handle.join().unwrap();
        });
    }
}

#[test]
fn what_is_freed_at_the_end_of_a_thread_is_found() {
    fails("at the end of a thread", || {
        let p = Box::into_raw(Box::new(Node::new())) as usize;
        // SAFETY: it is not safe; the model is there to find that out.
        let handle = thread::spawn(move || drop(unsafe { Box::from_raw(p as *mut Node) }));
        // SAFETY: as above.
        unsafe { (*(p as *const Node)).atomic.load(Relaxed) };
        handle.join().unwrap();
    });
    fails("at the end of the model", || {
        let p = Box::into_raw(Box::new(Node::new())) as usize;
        // SAFETY: as above.
        thread::spawn(move || unsafe { (*(p as *const Node)).atomic.load(Relaxed) });
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(p as *mut Node) });
    });
}

/// A reference count by hand.
struct Counted {
    count: AtomicUsize,
    value: UnsafeCell<usize>,
}

fn let_go(p: *mut Counted, order: Ordering, fences: bool) {
    // SAFETY: there is a reference left.
    if unsafe { (*p).count.fetch_sub(1, order) } == 1 {
        if fences {
            fence(Acquire);
        }
        // SAFETY: it was the last one, if orders are right.
        drop(unsafe { Box::from_raw(p) });
    }
}

fn counted(order: Ordering, fences: bool) -> impl Fn() + Clone + Send + Sync + 'static {
    move || {
        let p = Box::into_raw(Box::new(Counted { count: AtomicUsize::new(2), value: UnsafeCell::new(1) })) as usize;
        let handle = thread::spawn(move || {
            let p = p as *mut Counted;
            // SAFETY: it has a reference.
            unsafe { (*p).value.with(|_| ()) };
            let_go(p, order, fences);
        });
        let p = p as *mut Counted;
        // SAFETY: as above.
        unsafe { (*p).value.with(|_| ()) };
        let_go(p, order, fences);
        handle.join().unwrap();
    }
}

#[test]
fn references_that_are_counted_by_hand_need_their_orders() {
    passes("AcqRel", counted(AcqRel, false));
    passes("SeqCst", counted(SeqCst, false));
    passes("Release and a fence", counted(Release, true));
    let stats = explore(WAYS[0], counted(AcqRel, false));
    assert_eq!(stats.complete, 2, "that it is freed is no reason for more executions");
    for (order, fences) in [(Relaxed, true), (Relaxed, false), (Acquire, false), (Release, false)] {
        let stats = explore(WAYS[0], counted(order, fences));
        assert!(stats.failure.is_some_and(|failure| failure.contains("use-after-free")), "{order:?} {fences}");
    }
}

fn hazard(order: Ordering) -> impl Fn() + Clone + Send + Sync + 'static {
    move || {
        let p = shared();
        let hazard = Arc::new(AtomicPtr::new(null_mut::<Node>()));
        let (other, others) = (Arc::clone(&p), Arc::clone(&hazard));
        let handle = thread::spawn(move || {
            let node = other.load(order);
            others.store(node, order);
            if !node.is_null() && other.load(order) == node {
                // SAFETY: it is protected.
                unsafe { (*node).atomic.fetch_add(1, Relaxed) };
            }
            others.store(null_mut(), Release);
        });
        let node = p.swap(null_mut(), order);
        if hazard.load(order) != node {
            // SAFETY: nobody has it.
            drop(unsafe { Box::from_raw(node) });
            handle.join().unwrap();
        } else {
            handle.join().unwrap();
            // SAFETY: as above.
            drop(unsafe { Box::from_raw(node) });
        }
    }
}

#[test]
fn hazard_pointers_protect_if_they_are_sequentially_consistent() {
    passes("SeqCst", hazard(SeqCst));
    let stats = explore(WAYS[0], hazard(Relaxed));
    assert!(stats.failure.is_some_and(|failure| failure.contains("use-after-free")));
}

#[test]
fn what_is_handed_over_may_be_freed() {
    passes("by a channel", || {
        let (sender, receiver) = mpsc::channel();
        let handle = thread::spawn(move || {
            let node: Box<Node> = receiver.recv().unwrap();
            node.atomic.fetch_add(1, Relaxed);
            drop(node);
        });
        let node = Box::new(Node::new());
        node.atomic.fetch_add(1, Relaxed);
        node.cell.with_mut(|_| ());
        sender.send(node).unwrap();
        handle.join().unwrap();
    });
    passes("by a lock", || {
        let place = Arc::new(Mutex::new(Some(Box::new(Node::new()))));
        let other = Arc::clone(&place);
        let take = |place: &Mutex<Option<Box<Node>>>| {
            if let Some(node) = &*place.lock().unwrap() {
                node.cell.with_mut(|_| ());
            }
            drop(place.lock().unwrap().take());
        };
        let handle = thread::spawn(move || take(&other));
        take(&place);
        handle.join().unwrap();
    });
    passes("by a join", || {
        let p = Box::into_raw(Box::new(Node::new())) as usize;
        // SAFETY: it lives until it was joined.
        let handle = thread::spawn(move || unsafe { (*(p as *const Node)).cell.with_mut(|_| ()) });
        handle.join().unwrap();
        // SAFETY: nobody else has it.
        drop(unsafe { Box::from_raw(p as *mut Node) });
    });
    passes("by a flag, to a thread that is not joined", || {
        let p = Box::into_raw(Box::new(Node::new())) as usize;
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        thread::spawn(move || {
            if other.load(Acquire) {
                // SAFETY: nobody else has it.
                drop(unsafe { Box::from_raw(p as *mut Node) });
            }
        });
        // SAFETY: nobody has freed it.
        unsafe { (*(p as *const Node)).cell.with_mut(|_| ()) };
        flag.store(true, Release);
    });
}

#[test]
fn what_moves_is_not_freed() {
    passes("a vector that grows", || {
        let all = Arc::new(Mutex::new(Vec::<AtomicUsize>::with_capacity(1)));
        let work = |all: &Mutex<Vec<AtomicUsize>>| {
            let mut all = all.lock().unwrap();
            all.push(AtomicUsize::new(0));
            all.iter().for_each(|one| ignore(one.fetch_add(1, Relaxed)));
        };
        let other = Arc::clone(&all);
        let handle = thread::spawn(move || {
            work(&other);
            work(&other);
        });
        work(&all);
        work(&all);
        handle.join().unwrap();
    });
    passes("a table that grows", || {
        type Table = HashMap<usize, AtomicUsize, std::hash::BuildHasherDefault<std::hash::DefaultHasher>>;
        let all = Arc::new(Mutex::new(Table::default()));
        let work = |all: &Mutex<Table>, from: usize| {
            let mut all = all.lock().unwrap();
            for n in from..from + 4 {
                all.insert(n, AtomicUsize::new(0));
            }
            let mut known: Vec<_> = all.iter().collect();
            known.sort_by_key(|(n, _)| **n);
            known.iter().for_each(|(_, one)| ignore(one.fetch_add(1, Relaxed)));
        };
        let other = Arc::clone(&all);
        let handle = thread::spawn(move || work(&other, 0));
        work(&all, 4);
        handle.join().unwrap();
    });
    passes("elements that go to threads", || {
        let all = vec![Node::new(), Node::new()];
        all.iter().for_each(|node| node.atomic.store(1, Relaxed));
        let all = Arc::new(all);
        let other = Arc::clone(&all);
        let handle = thread::spawn(move || other.iter().for_each(|node| ignore(node.atomic.load(Relaxed))));
        handle.join().unwrap();
        let all = Arc::into_inner(all).unwrap();
        let handles: Vec<_> =
            all.into_iter().map(|node| thread::spawn(move || node.atomic.fetch_add(1, Relaxed))).collect();
        for handle in handles {
            handle.join().unwrap();
        }
    });
    passes("out of a box", || {
        let p = shared();
        let other = Arc::clone(&p);
        let done = Arc::new(AtomicBool::new(false));
        let says = Arc::clone(&done);
        let handle = thread::spawn(move || {
            use_with(&other, |node| ignore(node.atomic.fetch_add(1, Relaxed)));
            says.store(true, Release);
        });
        if done.load(Acquire) {
            // SAFETY: the other thread is done with it.
            let node = *unsafe { Box::from_raw(p.swap(null_mut(), AcqRel)) };
            let shared = Arc::new(node);
            let other = Arc::clone(&shared);
            let handle = thread::spawn(move || other.atomic.fetch_add(1, Relaxed));
            shared.atomic.fetch_add(1, Relaxed);
            handle.join().unwrap();
        }
        handle.join().unwrap();
        free(&p);
    });
    passes("from box to box", || {
        type Both = (Option<Box<Node>>, Option<Box<Node>>);
        let both = Arc::new(Mutex::new((Some(Box::new(Node::new())), Some(Box::new(Node::new())))));
        let work = |both: &Mutex<Both>| {
            let mut both = both.lock().unwrap();
            if let (Some(one), Some(other)) = &mut *both {
                one.atomic.fetch_add(1, Relaxed);
                std::mem::swap(&mut **one, &mut **other);
                one.cell.with_mut(|_| ());
            } else if let (_, Some(other)) = &*both {
                other.atomic.fetch_add(1, Relaxed);
                other.cell.with_mut(|_| ());
            }
            both.0.take();
        };
        let other = Arc::clone(&both);
        let handle = thread::spawn(move || work(&other));
        work(&both);
        handle.join().unwrap();
    });
}

/// What frees what it points to, without an operation.
struct List(AtomicPtr<Node>);

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: nobody else has it.
        let node = std::mem::replace(&mut self.0, AtomicPtr::new(null_mut())).into_inner();
        drop(unsafe { Box::from_raw(node) });
    }
}

#[test]
fn what_std_counts_is_left_alone() {
    passes("an object in an `Arc`", || {
        let one = std::sync::Arc::new(Node::new());
        let other = std::sync::Arc::clone(&one);
        thread::spawn(move || other.atomic.fetch_add(1, Relaxed));
        one.atomic.fetch_add(1, Relaxed);
    });
    passes("a box in an `Arc`", || {
        let one = std::sync::Arc::new(Box::new(Node::new()));
        let other = std::sync::Arc::clone(&one);
        thread::spawn(move || other.atomic.fetch_add(1, Relaxed));
        one.atomic.fetch_add(1, Relaxed);
    });
    passes("boxes in a vector in an `Arc`", || {
        let one = std::sync::Arc::new(vec![Box::new(Node::new()), Box::new(Node::new())]);
        let other = std::sync::Arc::clone(&one);
        thread::spawn(move || other[1].atomic.fetch_add(1, Relaxed));
        one[1].atomic.fetch_add(1, Relaxed);
    });
    passes("what a box points to, in an `Arc`", || {
        let one = std::sync::Arc::new(Box::new(List(node())));
        let other = std::sync::Arc::clone(&one);
        thread::spawn(move || use_with(&other.0, |node| ignore(node.atomic.load(Relaxed))));
        use_with(&one.0, |node| ignore(node.atomic.load(Relaxed)));
    });
    passes("references that are not counted", || {
        let one = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&one);
        thread::spawn(move || other.fetch_add(1, Relaxed));
        one.fetch_add(1, Relaxed);
    });
    passes("references that are counted", || {
        let one = Arc::new(Box::new(Node::new()));
        let other = Arc::clone(&one);
        thread::spawn(move || other.atomic.fetch_add(1, Relaxed));
        one.atomic.fetch_add(1, Relaxed);
    });
    passes("references that do not keep it", || {
        let one = Arc::new(Box::new(Node::new()));
        let other = Arc::downgrade(&one);
        thread::spawn(move || {
            if let Some(one) = other.upgrade() {
                one.atomic.fetch_add(1, Relaxed);
            }
        });
        one.atomic.fetch_add(1, Relaxed);
    });
}

/// What a value owns whose references are counted is freed when it is dropped, and that is no reason to say nothing.
#[test]
fn what_counted_values_own_is_freed() {
    for swapped in [false, true] {
        fails("behind an `Arc`", move || {
            let one = Arc::new(Box::new(Node::new()));
            let p = std::ptr::from_ref(&**one) as usize;
            // SAFETY: it is not safe; the model is there to find that out.
            let uses = move || ignore(unsafe { (*(p as *const Node)).atomic.load(Relaxed) });
            let handle = match swapped {
                false => {
                    let handle = thread::spawn(move || drop(one));
                    uses();
                    handle
                }
                true => {
                    let handle = thread::spawn(uses);
                    drop(one);
                    handle
                }
            };
            handle.join().unwrap();
        });
    }
}

/// A stack whose nodes are taken apart when they are taken from it.
struct Stack(AtomicPtr<Item>);

struct Item {
    value: UnsafeCell<usize>,
    next: AtomicPtr<Item>,
}

impl Stack {
    fn push(&self, value: usize) {
        let item = Item { value: UnsafeCell::new(value), next: AtomicPtr::new(self.0.load(Relaxed)) };
        let item = Box::into_raw(Box::new(item));
        loop {
            // SAFETY: nobody else has it yet.
            let next = unsafe { (*item).next.load(Relaxed) };
            match self.0.compare_exchange(next, item, Release, Relaxed) {
                Ok(_) => return,
                // SAFETY: as above.
                Err(other) => unsafe { (*item).next.store(other, Relaxed) },
            }
        }
    }

    fn pop(&self) -> Option<usize> {
        loop {
            let item = self.0.load(Acquire);
            if item.is_null() {
                return None;
            }
            // SAFETY: it is not safe if there is another thread that pops; the model is there to find that out.
            let next = unsafe { (*item).next.load(Relaxed) };
            if self.0.compare_exchange(item, next, AcqRel, Relaxed).is_ok() {
                // SAFETY: as above.
                let item = *unsafe { Box::from_raw(item) };
                return Some(item.value.into_inner());
            }
        }
    }
}

#[test]
fn what_is_taken_apart_was_freed_all_the_same() {
    let model = |poppers: usize| {
        move || {
            let stack = Arc::new(Stack(AtomicPtr::new(null_mut())));
            stack.push(1);
            let handles: Vec<_> = (0..poppers)
                .map(|_| {
                    let stack = Arc::clone(&stack);
                    thread::spawn(move || stack.pop())
                })
                .collect();
            stack.push(2);
            for handle in handles {
                handle.join().unwrap();
            }
            while stack.pop().is_some() {}
        }
    };
    passes("one pops", model(1));
    fails("two pop", model(2));
}

#[test]
fn who_waits_for_what_was_freed_uses_it() {
    fails("a loop that waits", || {
        let p = shared();
        let other = Arc::clone(&p);
        let handle = thread::spawn(move || {
            use_with(&other, |node| {
                while !node.flag.load(Acquire) {
                    selvedge::hint::spin_loop();
                }
            });
        });
        free(&p);
        handle.join().unwrap();
    });
}

#[test]
fn who_frees_may_not_come_back() {
    for (name, with) in USES {
        for uses_before in [true, false] {
            fails(name, move || {
                let handle = thread::spawn(move || {
                    let node = Box::into_raw(Box::new(Node::new()));
                    // SAFETY: the second use is one too many: the model finds that out.
                    unsafe {
                        if uses_before {
                            with(&*node);
                        }
                        drop(Box::from_raw(node));
                        with(&*node);
                    }
                });
                handle.join().unwrap();
            });
        }
    }
}

#[test]
fn who_has_waited_for_its_own_may_free_it() {
    fn wait(flag: &AtomicUsize) {
        while flag.load(Acquire) == 0 {
            selvedge::hint::spin_loop();
        }
    }
    // The loop is known from the first one when it looks at the second one, and is out of it at once.
    passes("a loop that waits", || {
        let told = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&told);
        let handle = thread::spawn(move || {
            wait(&other);
            let own = Box::new([AtomicUsize::new(1), AtomicUsize::new(2)]);
            wait(&own[0]);
            drop(own);
            other.store(2, Release);
        });
        told.store(1, Release);
        handle.join().unwrap();
    });
}

#[test]
fn the_failure_says_who_frees_and_who_uses() {
    for way in WAYS {
        let stats = explore(way, || {
            let p = shared();
            let other = Arc::clone(&p);
            let handle = thread::spawn(move || free(&other));
            use_with(&p, |node| ignore(node.atomic.load(Relaxed)));
            handle.join().unwrap();
        });
        let failure = stats.failure.unwrap();
        let words = [
            "thread 1 frees AtomicUsize (made at crates/selvedge/tests/freed.rs",
            "while main may still access it: the atomic read does not happen before the free",
            "frees the memory of AtomicUsize (made at",
        ];
        assert!(words.iter().all(|words| failure.contains(words)), "{failure}");
        assert!(!failure.contains("src/freed.rs"), "a place in the library says nothing: {failure}");
    }
}

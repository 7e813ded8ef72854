//! Channels: how many executions they have, what reports say of them, and random programs, whose outcomes are those of a
//! channel that is made of a mutex and condition variables.

#[path = "support/mutex_channel.rs"]
mod mutex_channel;

use selvedge::model::{Builder, Engine, MemoryModel, Stats};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use selvedge::sync::mpsc::{self, TryRecvError, TrySendError};
use selvedge::{hint, thread};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn explore(f: impl Fn() + Send + Sync + 'static) -> Stats {
    Builder::new().explore(f)
}

/// The number of executions of a model that passes, with both engines and all memory models.
fn executions(f: impl Fn() + Send + Sync + Clone + 'static) -> u64 {
    let stats = explore(f.clone());
    assert_eq!((stats.failure, stats.blocked, stats.spurious), (None, 0, 0));
    assert_eq!(stats.not_covered, [""; 0]);
    for (engine, memory_model) in [
        (Engine::Trace, MemoryModel::Sc),
        (Engine::Graph, MemoryModel::Sc),
        (Engine::Graph, MemoryModel::Tso),
        (Engine::Graph, MemoryModel::Ra),
    ] {
        let mut builder = Builder::new();
        (builder.engine, builder.memory_model) = (engine, memory_model);
        let other = builder.explore(f.clone());
        assert_eq!((other.failure, other.complete, other.blocked), (None, stats.complete, 0), "{memory_model:?}");
    }
    stats.complete
}

fn fails(words: &[&str], f: impl Fn() + Send + Sync + 'static) {
    let failure = explore(f).failure.expect("the model has a bug");
    words.iter().for_each(|word| assert!(failure.contains(word), "no {word:?} in: {failure}"));
    assert!(!failure.contains("Mutex") && !failure.contains("Condvar"), "{failure}");
}

/// Threads that send so many messages each; all are received.
fn sends(senders: usize, each: usize) {
    let (sender, receiver) = mpsc::channel();
    let handles: Vec<_> = (0..senders)
        .map(|_| {
            let sender = sender.clone();
            thread::spawn(move || (0..each).for_each(|n| sender.send(n).unwrap()))
        })
        .collect();
    let received: usize = (0..senders * each).map(|_| receiver.recv().unwrap()).sum();
    assert_eq!(received, senders * each * (each - 1) / 2);
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}

#[test]
fn executions_are_the_orders_of_messages() {
    for (senders, each, expected) in [(1, 1, 1), (1, 3, 1), (1, 10, 1), (2, 1, 2), (2, 2, 6), (3, 1, 6), (2, 3, 20)] {
        assert_eq!(executions(move || sends(senders, each)), expected, "{senders} senders, {each} messages each");
    }
}

#[test]
fn a_bounded_channel_has_no_more_executions() {
    for bound in 0..4 {
        let count = executions(move || {
            let (sender, receiver) = mpsc::sync_channel(bound);
            let other = sender.clone();
            let handles =
                [thread::spawn(move || sender.send(1).unwrap()), thread::spawn(move || other.send(2).unwrap())];
            assert_eq!(receiver.recv().unwrap() + receiver.recv().unwrap(), 3);
            handles.into_iter().for_each(|handle| handle.join().unwrap());
        });
        assert_eq!(count, 2, "bound {bound}");
    }
}

#[test]
fn the_end_of_a_channel_is_known_whoever_is_dropped_last() {
    // In each order of messages the senders are dropped in each order.
    let count = executions(|| {
        let (sender, receiver) = mpsc::channel();
        let other = sender.clone();
        let handles = [thread::spawn(move || sender.send(1).unwrap()), thread::spawn(move || other.send(2).unwrap())];
        assert_eq!(receiver.iter().sum::<i32>(), 3);
        assert!(receiver.recv().is_err());
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    });
    assert_eq!(count, 4);
}

#[test]
fn a_message_is_sent_before_or_after_its_receiver_is_gone() {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&seen);
    let count = executions(move || {
        let (sender, receiver) = mpsc::channel();
        let handle = thread::spawn(move || sender.send(1).is_ok());
        drop(receiver);
        let sent = handle.join().unwrap();
        noted.lock().unwrap().insert(sent);
    });
    assert_eq!((count, seen.lock().unwrap().len()), (2, 2));
}

#[test]
fn what_was_sent_happens_before_it_is_received() {
    for bound in [0, 1] {
        executions(move || {
            let [x, y] = [0, 1].map(|_| Arc::new(AtomicUsize::new(0)));
            let (sender, receiver) = mpsc::sync_channel(bound);
            let (a, b) = (Arc::clone(&x), Arc::clone(&y));
            let handle = thread::spawn(move || {
                a.store(1, Relaxed);
                (0..=bound).for_each(|_| sender.send(()).unwrap());
                // There was room for one less, so the first was received.
                assert_eq!(b.load(Relaxed), 1);
            });
            y.store(1, Relaxed);
            receiver.recv().unwrap();
            assert_eq!(x.load(Relaxed), 1);
            (0..bound).for_each(|_| receiver.recv().unwrap());
            handle.join().unwrap();
        });
    }
    // While there is room, nothing is known of the receiver.
    fails(&["assertion"], || {
        let x = Arc::new(AtomicUsize::new(0));
        let (sender, receiver) = mpsc::sync_channel(1);
        let other = Arc::clone(&x);
        let handle = thread::spawn(move || {
            sender.send(()).unwrap();
            assert_eq!(other.load(Relaxed), 1);
        });
        x.store(1, Relaxed);
        receiver.recv().unwrap();
        handle.join().unwrap();
    });
}

#[test]
fn reports_speak_of_the_channel() {
    fails(&["deadlock", "main waits here for a message from a channel (made at", "receives from a channel"], || {
        let (sender, receiver) = mpsc::channel::<u32>();
        let _ = receiver.recv();
        drop(sender);
    });
    fails(
        &["deadlock", "waits here for room in a channel", "sends to a channel", "waits for room in a channel"],
        || {
            let (sender, receiver) = mpsc::sync_channel(1);
            sender.send(1).unwrap();
            sender.send(2).unwrap();
            drop(receiver);
        },
    );
    fails(&["deadlock", "waits here for the receiver of a channel"], || {
        let (sender, receiver) = mpsc::sync_channel(0);
        sender.send(1).unwrap();
        drop(receiver);
    });
    fails(&["leak", "channel that the model has made still lives"], || {
        let (sender, receiver) = mpsc::channel::<u32>();
        std::mem::forget(receiver);
        drop(sender);
    });
    fails(&["assertion", "drops the receiver of a channel"], || {
        let (sender, receiver) = mpsc::channel();
        let handle = thread::spawn(move || drop(receiver));
        assert!(sender.send(1).is_ok());
        handle.join().unwrap();
    });
}

#[test]
fn a_failure_at_the_end_of_a_channel_can_be_run_again() {
    fails(&["assertion", "drops the last sender of a channel", "ends a channel", "SELVEDGE_REPLAY"], || {
        let (sender, receiver) = mpsc::channel::<u32>();
        let handle = thread::spawn(move || drop(sender));
        receiver.recv().unwrap();
        handle.join().unwrap();
    });
}

#[test]
fn a_loop_that_polls_is_an_await() {
    let stats = explore(|| {
        let (sender, receiver) = mpsc::channel();
        let handle = thread::spawn(move || sender.send(7).unwrap());
        let value = loop {
            match receiver.try_recv() {
                Ok(value) => break value,
                Err(error) => assert_eq!(error, TryRecvError::Empty),
            }
            hint::spin_loop();
        };
        assert_eq!(value, 7);
        handle.join().unwrap();
    });
    assert_eq!(stats.failure, None);
    assert!(stats.complete + stats.blocked <= 4, "{stats:?}");
}

#[test]
fn every_message_is_dropped_once() {
    struct Counted(Arc<std::sync::atomic::AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    for bound in [None, Some(0), Some(1), Some(2)] {
        let count = explore(move || {
            let drops = Arc::new(std::sync::atomic::AtomicUsize::new(0));
            let counted = |n: usize| -> Vec<Counted> { (0..n).map(|_| Counted(Arc::clone(&drops))).collect() };
            let (first, second) = (counted(2), counted(1));
            let (all, any): (Box<dyn Fn(Counted) -> bool>, _) = match bound {
                Some(bound) => {
                    let (sender, receiver) = mpsc::sync_channel(bound);
                    (Box::new(move |message| sender.send(message).is_ok()), receiver)
                }
                None => {
                    let (sender, receiver) = mpsc::channel();
                    (Box::new(move |message| sender.send(message).is_ok()), receiver)
                }
            };
            let handle = thread::spawn(move || first.into_iter().map(&all).filter(|sent| *sent).count());
            let received = any.recv().is_ok();
            drop(any);
            let sent = handle.join().unwrap();
            assert!(received && sent >= 1);
            drop(second);
            assert_eq!(drops.load(Relaxed), 3);
        });
        assert_eq!(count.failure, None, "{bound:?}");
    }
}

#[test]
fn a_channel_from_outside_of_the_model_is_refused() {
    let (sender, _receiver) = mpsc::channel();
    let failure = explore(move || sender.send(1).unwrap()).failure.unwrap();
    assert!(failure.contains("a channel that was made outside of the model"), "{failure}");
}

#[test]
fn who_would_time_out_does_not_wait_forever() {
    let stats = explore(|| {
        let (sender, receiver) = mpsc::channel::<u32>();
        assert!(receiver.recv_timeout(Duration::from_secs(1)).is_err());
        thread::park_timeout(Duration::from_secs(1));
        drop(sender);
    });
    assert_eq!((stats.failure, stats.complete, stats.blocked), (None, 1, 2));
}

/// Also if it is tried only where something fails for no reason.
#[test]
fn what_only_the_second_pass_leaves_out_is_not_covered() {
    let stats = explore(|| {
        let (sender, receiver) = mpsc::sync_channel::<u32>(0);
        let handle = thread::spawn(move || receiver.recv().is_ok());
        let x = AtomicUsize::new(0);
        if x.compare_exchange_weak(0, 1, Relaxed, Relaxed).is_err() {
            assert!(sender.try_send(1).is_err(), "the receiver waits");
        }
        drop(sender);
        handle.join().unwrap();
    });
    assert_eq!(stats.failure, None);
    assert!(stats.not_covered.iter().any(|what| what.contains("try_send")), "{:?}", stats.not_covered);
}

#[test]
fn a_rendezvous_that_is_only_tried_is_not_covered() {
    let stats = explore(|| {
        let (sender, _receiver) = mpsc::sync_channel(0);
        assert_eq!(sender.try_send(1), Err(TrySendError::Full(1)));
    });
    assert_eq!((stats.failure, stats.not_covered.len()), (None, 1));
}

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    Send,
    TrySend,
    DropSender,
    Receive,
    TryReceive,
    ReceiveInTime,
    DropReceiver,
}

/// Threads and what they do with which channel.
#[derive(Clone, Debug)]
struct Program {
    /// For each channel, its bound and the thread that receives.
    channels: Vec<(Option<usize>, usize)>,
    threads: Vec<Vec<(Act, usize)>>,
}

/// What threads have seen.
type Outcome = Vec<Vec<String>>;

/// A kind of channels.
trait Library {
    type Sender: Clone + 'static;
    type Receiver: 'static;
    fn channel(bound: Option<usize>) -> (Self::Sender, Self::Receiver);
    fn act(
        act: Act,
        message: usize,
        sender: &mut Option<Self::Sender>,
        receiver: &mut Option<Self::Receiver>,
    ) -> String;
}

/// The ends of channels that a thread has.
type Ends<L> = Vec<(Option<<L as Library>::Sender>, Option<<L as Library>::Receiver>)>;

macro_rules! library {
    ($name:ident, $module:ident, $either:ident) => {
        struct $name;

        #[derive(Clone)]
        enum $either {
            Free($module::Sender<usize>),
            Bounded($module::SyncSender<usize>),
        }

        impl Library for $name {
            type Sender = $either;
            type Receiver = $module::Receiver<usize>;

            fn channel(bound: Option<usize>) -> (Self::Sender, Self::Receiver) {
                match bound {
                    None => {
                        let (sender, receiver) = $module::channel();
                        ($either::Free(sender), receiver)
                    }
                    Some(bound) => {
                        let (sender, receiver) = $module::sync_channel(bound);
                        ($either::Bounded(sender), receiver)
                    }
                }
            }

            fn act(
                act: Act,
                message: usize,
                sender: &mut Option<Self::Sender>,
                receiver: &mut Option<Self::Receiver>,
            ) -> String {
                match (act, &sender, &receiver) {
                    (Act::Send, Some($either::Free(sender)), _) => format!("{:?}", sender.send(message)),
                    (Act::Send, Some($either::Bounded(sender)), _) => format!("{:?}", sender.send(message)),
                    (Act::TrySend, Some($either::Bounded(sender)), _) => format!("{:?}", sender.try_send(message)),
                    (Act::Receive, _, Some(receiver)) => format!("{:?}", receiver.recv()),
                    (Act::TryReceive, _, Some(receiver)) => format!("{:?}", receiver.try_recv()),
                    (Act::ReceiveInTime, _, Some(receiver)) => {
                        format!("{:?}", receiver.recv_timeout(Duration::from_secs(1)))
                    }
                    (Act::DropSender, ..) => {
                        *sender = None;
                        String::new()
                    }
                    (Act::DropReceiver, ..) => {
                        *receiver = None;
                        String::new()
                    }
                    _ => String::new(),
                }
            }
        }
    };
}

library!(Own, mpsc, OwnSender);
library!(Plain, mutex_channel, PlainSender);

/// Runs a program as a model, and notes what its threads have seen.
fn run<L: Library>(program: &Program, note: impl Fn(Outcome)) {
    let (senders, mut receivers): (Vec<_>, Vec<_>) = program
        .channels
        .iter()
        .map(|&(bound, _)| L::channel(bound))
        .map(|(sender, receiver)| (sender, Some(receiver)))
        .unzip();
    let sends = |acts: &[(Act, usize)], channel| {
        acts.iter().any(|&(act, of)| of == channel && matches!(act, Act::Send | Act::TrySend | Act::DropSender))
    };
    let parts: Vec<_> = program
        .threads
        .iter()
        .enumerate()
        .map(|(n, acts)| {
            let ends = senders.iter().enumerate().map(|(channel, sender)| {
                let receiver = if program.channels[channel].1 == n { receivers[channel].take() } else { None };
                (sends(acts, channel).then(|| sender.clone()), receiver)
            });
            (n, acts.clone(), ends.collect::<Vec<_>>())
        })
        .collect();
    drop(senders);
    let body = |(n, acts, mut ends): (usize, Vec<(Act, usize)>, Ends<L>)| {
        let see = |(step, (act, channel)): (usize, (Act, usize))| {
            let (sender, receiver) = &mut ends[channel];
            L::act(act, 10 * n + step, sender, receiver)
        };
        acts.into_iter().enumerate().map(see).collect::<Vec<String>>()
    };
    let handles: Vec<_> = parts.into_iter().map(|part| thread::spawn(move || body(part))).collect();
    note(handles.into_iter().map(|handle| handle.join().unwrap()).collect());
}

/// The outcomes of a program, and whether it can get stuck; and whether that is all.
fn outcomes<L: Library>(program: &Program, builder: &Builder) -> (BTreeSet<Outcome>, bool, bool, u64) {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let (noted, body) = (Arc::clone(&seen), program.clone());
    let stats = builder.explore(move || run::<L>(&body, |outcome| noted.lock().unwrap().extend([outcome])));
    if let Some(failure) = &stats.failure {
        assert!(failure.starts_with("deadlock"), "{failure}\n{program:?}");
    }
    let all = stats.failure.is_none() && !stats.not_covered.iter().any(|what| what.contains("bound on"));
    let outcomes = seen.lock().unwrap().clone();
    (outcomes, stats.failure.is_some(), all, stats.complete)
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

fn random(seed: u64) -> Program {
    let mut random = Random(seed);
    let (channels, threads) = (1 + random.below(2), 2 + random.below(2));
    let channels: Vec<_> = (0..channels)
        .map(|_| ([None, None, Some(0), Some(1), Some(1), Some(2)][random.below(6)], random.below(threads)))
        .collect();
    let mut acts = || {
        let channel = random.below(channels.len());
        let act = [
            Act::Send,
            Act::Send,
            Act::Send,
            Act::TrySend,
            Act::DropSender,
            Act::Receive,
            Act::Receive,
            Act::Receive,
            Act::TryReceive,
            Act::ReceiveInTime,
            Act::DropReceiver,
        ][random.below(11)];
        let receives = !matches!(act, Act::Send | Act::TrySend | Act::DropSender);
        let thread = if receives { channels[channel].1 } else { random.below(threads) };
        (thread, (act, channel))
    };
    let drawn: Vec<_> = (0..5).map(|_| acts()).collect();
    let threads =
        (0..threads).map(|n| drawn.iter().filter(|(thread, _)| *thread == n).map(|&(_, act)| act).collect()).collect();
    Program { channels, threads }
}

#[test]
fn outcomes_are_those_of_a_mutex_and_condition_variables() {
    let (mut compared, mut stuck) = (0, 0);
    for seed in 0..120 {
        let program = random(seed);
        let mut builder = Builder::new();
        (builder.spurious, builder.max_permutations) = (false, Some(3000));
        let (expected, expected_stuck, all, many) = outcomes::<Plain>(&program, &builder);
        for (engine, memory_model) in
            [(Engine::Graph, MemoryModel::Rc11), (Engine::Graph, MemoryModel::Sc), (Engine::Trace, MemoryModel::Sc)]
        {
            (builder.engine, builder.memory_model, builder.max_permutations) = (engine, memory_model, None);
            let (found, found_stuck, _, few) = outcomes::<Own>(&program, &builder);
            let what = format!("seed {seed}, {engine:?}, {memory_model:?}: {program:?}");
            if expected_stuck || all {
                assert_eq!(found_stuck, expected_stuck, "{what}");
            }
            if expected_stuck || found_stuck {
                continue;
            }
            if all {
                assert_eq!(found, expected, "{what}");
                assert!(few <= many, "{few} executions, not {many}: {what}");
            } else {
                assert!(found.is_superset(&expected), "{what}");
            }
        }
        compared += u32::from(all);
        stuck += u32::from(expected_stuck);
    }
    assert!(compared > 40 && stuck > 10, "{compared} programs were compared, {stuck} get stuck");
}

/// How many executions a model has.
fn all_executions(body: fn()) -> u64 {
    let stats = Builder::new().explore(body);
    assert_eq!(stats.failure, None);
    stats.complete + stats.blocked
}

/// loom has 2 executions of the first two, and 15 of the third one.
#[test]
fn a_loop_that_looks_until_a_message_is_there_waits_for_it() {
    let one = all_executions(|| {
        let (sender, receiver) = mpsc::channel();
        let handle = thread::spawn(move || sender.send(1).unwrap());
        while receiver.try_recv().is_err() {
            thread::yield_now();
        }
        handle.join().unwrap();
    });
    let two = all_executions(|| {
        let (sender, receiver) = mpsc::channel();
        let handle = thread::spawn(move || (0..2).for_each(|n| sender.send(n).unwrap()));
        let mut received = 0;
        while received < 2 {
            match receiver.try_recv() {
                Ok(_) => received += 1,
                Err(_) => thread::yield_now(),
            }
        }
        handle.join().unwrap();
    });
    let of_two = all_executions(|| {
        let (sender, receiver) = mpsc::channel();
        let send = |n| {
            let sender = sender.clone();
            thread::spawn(move || sender.send(n).unwrap())
        };
        let handles = [1, 2].map(send);
        let mut received = 0;
        while received < 2 {
            match receiver.try_recv() {
                Ok(_) => received += 1,
                Err(_) => thread::yield_now(),
            }
        }
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    });
    assert!(one <= 2 && two <= 2 && of_two <= 15, "{one}, {two}, {of_two}");
}

/// How many executions a model has, and how many outcomes.
fn counts<T: Ord + Send + 'static>(body: fn() -> T) -> (u64, usize) {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&seen);
    let stats = Builder::new().explore(move || {
        let outcome = body();
        noted.lock().unwrap().insert(outcome);
    });
    assert_eq!(stats.failure, None);
    let outcomes = seen.lock().unwrap().len();
    (stats.complete + stats.blocked, outcomes)
}

/// Looks while threads send a message each; what comes of it, and then what is left. The first sender is one of theirs.
fn looks(senders: usize, looks: usize) -> (Vec<String>, Vec<usize>) {
    let (sender, receiver) = mpsc::channel();
    looks_at(std::iter::repeat_n(sender, senders), &receiver, looks)
}

/// The same if all of them have clones of it, and it is dropped before the looks.
fn looks_and_drops(senders: usize, looks: usize) -> (Vec<String>, Vec<usize>) {
    let (sender, receiver) = mpsc::channel();
    let (mut first, mut left) = (Some(sender), senders);
    let clones = std::iter::from_fn(|| {
        left = left.checked_sub(1).or_else(|| first.take().and(None))?;
        first.clone()
    });
    looks_at(clones, &receiver, looks)
}

fn looks_at(
    senders: impl Iterator<Item = mpsc::Sender<usize>>,
    receiver: &mpsc::Receiver<usize>,
    looks: usize,
) -> (Vec<String>, Vec<usize>) {
    let send = |(n, sender): (usize, mpsc::Sender<usize>)| thread::spawn(move || sender.send(n).unwrap());
    let handles: Vec<_> = senders.enumerate().map(send).collect();
    let found = (0..looks).map(|_| format!("{:?}", receiver.try_recv())).collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    (found, receiver.try_iter().collect())
}

/// loom has 1 execution of the first two, and 9 of the next two: no look finds a message there.
#[test]
fn looks_have_an_execution_for_every_answer() {
    assert_eq!(counts(|| looks(1, 1)), (2, 2));
    assert_eq!(counts(|| looks(1, 2)), (4, 4));
    // There is one more for each order in which senders are dropped.
    assert_eq!(counts(|| looks(2, 1)), (8, 4));
    assert_eq!(counts(|| looks(2, 2)), (16, 8));
    assert_eq!(counts(|| looks_and_drops(1, 1)), (3, 2));
    assert_eq!(counts(|| looks_and_drops(2, 1)), (18, 4));
}

/// Two send, and one of them tells the receiver.
fn tells() -> usize {
    let (sender, receiver) = mpsc::channel();
    let other = sender.clone();
    let told = Arc::new(AtomicUsize::new(0));
    let telling = Arc::clone(&told);
    let first = thread::spawn(move || other.send(1).unwrap());
    let second = thread::spawn(move || {
        sender.send(2).unwrap();
        telling.store(1, Release);
    });
    let knows = told.load(Acquire) == 1;
    let found = receiver.try_recv().unwrap_or(0);
    assert!(!knows || found > 0, "it was told of a message");
    first.join().unwrap();
    second.join().unwrap();
    found
}

/// Also if the sender of the message before it has not finished.
#[test]
fn who_was_told_of_a_message_finds_one() {
    let (_, outcomes) = counts(tells);
    assert_eq!(outcomes, 3);
}

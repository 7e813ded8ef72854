//! An execution that fails is run again: this program starts itself with what the message says.

// A cell that two threads share.
#![allow(unsafe_code)]

use selvedge::model::{Builder, Stats};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use selvedge::sync::mpsc::channel;
use selvedge::sync::{Arc, Mutex};
use selvedge::{hint, thread};
use std::process::Command;

/// A reader sees the flag and an old value, which no interleaving explains.
fn out_of_order(builder: &Builder) -> Stats {
    builder.explore(|| {
        let xy = Arc::new([0, 0].map(AtomicUsize::new));
        let other = Arc::clone(&xy);
        let handle = thread::spawn(move || {
            other[0].store(1, Relaxed);
            other[1].store(1, Relaxed);
        });
        let seen = (xy[1].load(Relaxed), xy[0].load(Relaxed));
        println!("seen {seen:?}");
        handle.join().unwrap();
        assert_ne!(seen, (1, 0));
    })
}

/// A lock that is taken by an exchange that may fail, and a thread that spins for it.
fn spins() -> Stats {
    Builder::new().explore(|| {
        let lock = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&lock);
        let handle = thread::spawn(move || {
            while other.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
                hint::spin_loop();
            }
            println!("other has it");
            other.store(0, Release);
        });
        if lock.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
            println!("main has it not");
            assert_eq!(lock.load(Relaxed), 1, "it was free");
        }
        lock.store(0, Release);
        handle.join().unwrap();
    })
}

#[test]
fn target_out_of_order() {
    let stats = out_of_order(&Builder::new());
    println!("failure: {}", stats.failure.unwrap());
}

#[test]
fn target_spins() {
    let stats = spins();
    println!("failure: {}", stats.failure.unwrap());
}

/// One that is left over is found when the execution is run again, too.
#[test]
fn a_leak_is_found_again() {
    let file = std::env::temp_dir().join(format!("selvedge-leak-{}", std::process::id()));
    let mut builder = Builder::new();
    builder.checkpoint_file = Some(file.clone());
    let [first, again] = [0, 1].map(|_| {
        let stats = builder.explore(|| {
            let x = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&x);
            let handle = thread::spawn(move || other.store(1, Relaxed));
            if x.load(Relaxed) == 1 {
                std::mem::forget(Arc::clone(&x));
            }
            handle.join().unwrap();
        });
        stats.failure.expect("it is found")
    });
    std::fs::remove_file(&file).expect("the execution is written");
    assert!(first.contains("still lives") && !first.contains("run again"), "{first}");
    assert!(again.contains("still lives") && again.contains("run again"), "{again}");
}

/// What another process with this execution prints.
fn run_again(target: &str, replay: &str) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([target, "--exact", "--nocapture", "--test-threads=1"]).env("SELVEDGE_REPLAY", replay);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
}

#[test]
fn one_execution_is_run_again_and_what_it_prints_is_seen() {
    let stats = out_of_order(&Builder::new());
    let again = run_again("target_out_of_order", &stats.replay.unwrap());
    assert_eq!(again.matches("seen ").count(), 1, "{again}");
    assert!(again.contains("seen (1, 0)") && again.contains("which was run again"), "{again}");
}

#[test]
fn an_execution_in_which_an_exchange_fails_is_run_again() {
    let stats = spins();
    let failure = stats.failure.expect("an exchange may fail although the lock is free");
    assert!(failure.contains("it was free"), "{failure}");
    let again = run_again("target_spins", &stats.replay.unwrap());
    assert!(again.contains("main has it not") && again.contains("it was free"), "{again}");
    assert!(again.contains("which was run again"), "{again}");
}

#[test]
fn what_is_no_execution_is_a_failure() {
    let whole = out_of_order(&Builder::new()).replay.unwrap();
    let cut_off = &whole[..whole.len() - 1];
    let (first, _) = whole.rsplit_once(";-/0;").expect("there are two threads");
    for text in ["nonsense", cut_off, first, &format!("{first};;"), &format!("{whole}x"), &format!("{whole}'")] {
        let again = run_again("target_out_of_order", text);
        assert!(again.contains("failure: `SELVEDGE_REPLAY` is not an execution of a model"), "{again}");
        assert!(again.contains("It was cut off, or mistyped") && !again.contains("seen "), "{again}");
    }
    let again = run_again("target_out_of_order", &format!(" {whole}\n"));
    assert!(again.contains("seen (1, 0)") && again.contains("which was run again"), "{again}");
}

/// Several models at one place, of which one fails.
fn one_of_several() -> Option<Stats> {
    let run = |n: usize| {
        Builder::new().explore(move || {
            let x = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&x);
            let handle = thread::spawn(move || other.store(1, Relaxed));
            let seen = x.load(Relaxed);
            println!("seen {seen} in {n}");
            handle.join().unwrap();
            assert!(n != 2 || seen == 0, "it is wrong in {n}");
        })
    };
    (0..4).map(run).find(|stats| stats.failure.is_some())
}

#[test]
fn target_one_of_several() {
    println!("failure: {}", one_of_several().and_then(|stats| stats.failure).unwrap());
}

#[test]
fn one_of_several_models_is_run_again() {
    let replay = one_of_several().and_then(|stats| stats.replay).expect("one is wrong");
    let again = run_again("target_one_of_several", &replay);
    assert!(again.contains("failure: assertion: it is wrong in 2") && again.contains("which was run again"), "{again}");
    assert_eq!(again.matches(" in 2\n").count(), 2, "it prints once, and fails: {again}");
    // If there is no such model, all are explored.
    let again = run_again("target_one_of_several", &replay.replacen("#3;", "#7;", 1));
    assert!(again.contains("failure: assertion: it is wrong in 2") && again.contains("memory model rc11"), "{again}");
    for number in ["#0;", "#1;", "#x;", "#;"] {
        let again = run_again("target_one_of_several", &replay.replacen("#3;", number, 1));
        assert!(again.contains("is not an execution of a model"), "{number}: {again}");
    }
}

/// A file that several models at one place share has an execution of one of them. That it waits in another one says nothing.
#[test]
fn what_was_kept_of_another_model_at_the_same_place_is_no_deadlock() {
    let file = std::env::temp_dir().join(format!("selvedge-shared-{}", std::process::id()));
    let mut builder = Builder::new();
    builder.checkpoint_file = Some(file.clone());
    for round in 0..2 {
        let failures = [true, false].map(|updates| {
            let stats = builder.explore(move || {
                let x = Arc::new(AtomicUsize::new(0));
                let other = Arc::clone(&x);
                if updates {
                    let handle = thread::spawn(move || other.fetch_update(Relaxed, Relaxed, |n| Some(n + 1)).unwrap());
                    x.fetch_update(Relaxed, Relaxed, |n| Some(n + 1)).unwrap();
                    handle.join().unwrap();
                } else {
                    let handle = thread::spawn(move || other.fetch_add(1, Relaxed));
                    let seen = x.load(Relaxed);
                    handle.join().unwrap();
                    assert_eq!(seen, 0);
                }
            });
            stats.failure
        });
        assert!(failures[0].is_none() && failures[1].is_some(), "round {round}: {failures:?}");
    }
    std::fs::remove_file(&file).expect("an execution is written");
}

/// Whose first steps are those of an execution, but which goes on.
#[test]
fn threads_of_a_part_of_an_execution_do_not_wait_forever() {
    let whole = out_of_order(&Builder::new()).replay.unwrap();
    let (first, _) = whole.rsplit_once(";-/0;").expect("there are two threads");
    let again = run_again("target_out_of_order", &format!("{first};;."));
    assert!(again.contains("nothing is wrong with this execution any more"), "{again}");
    assert!(again.contains("main has come to") && !again.contains("forever"), "{again}");
}

#[test]
fn that_an_execution_is_one_of_another_model_is_told() {
    let other = spins().replay.unwrap();
    let again = run_again("target_out_of_order", &other);
    let (model, _) = other.split_once(';').unwrap();
    let told = format!("`SELVEDGE_REPLAY` is an execution of the model at {model}; the model that runs here, at ");
    assert!(again.contains(&told) && again.contains("replay.rs:16:13, is another one"), "{again}");
    assert_eq!(again.matches("is another one").count(), 1, "{again}");
    assert!(again.matches("seen ").count() > 1 && again.contains("memory model rc11"), "{again}");
    // One that is empty is none.
    let again = run_again("target_out_of_order", "");
    assert!(!again.contains("is another one") && again.matches("seen ").count() > 1, "{again}");
}

#[test]
fn what_a_model_cannot_do_is_told_and_everything_is_explored() {
    // One of the same model that the model cannot make.
    let stats = out_of_order(&Builder::new());
    let other = stats.replay.unwrap().replace(";0,", ";0*900,");
    let again = run_again("target_out_of_order", &other);
    assert!(again.contains("is it a schedule of another program?"), "{again}");
    assert!(again.contains("memory model rc11"), "{again}");
}

#[test]
fn a_checkpoint_file_keeps_the_execution_that_failed() {
    let file = std::env::temp_dir().join(format!("selvedge-checkpoint-{}", std::process::id()));
    let mut builder = Builder::new();
    builder.checkpoint_file(file.to_str().unwrap());
    let first = out_of_order(&builder);
    assert!(first.complete > 0 && file.exists());
    let second = out_of_order(&builder);
    std::fs::remove_file(&file).unwrap();
    assert_eq!((second.complete, second.replay), (0, first.replay));
    assert_eq!(second.not_covered, ["one execution was run again, and no other"]);
}

/// What is wrong with a model in several ways, or with none.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Wrong {
    Race,
    Deadlock,
    Livelock,
    Assertion,
    Leak,
}

fn wrong_in_some_way(builder: &Builder, way: Option<Wrong>) -> Stats {
    builder.explore(move || {
        let shared = Arc::new((AtomicUsize::new(0), Cell::new(0), Mutex::new(0), Mutex::new(0)));
        let other = Arc::clone(&shared);
        let handle = thread::spawn(move || {
            other.1.set(1);
            other.0.store(1, if way == Some(Wrong::Race) { Relaxed } else { Release });
            let (one, two) = (&other.2, &other.3);
            let (one, two) = if way == Some(Wrong::Deadlock) { (two, one) } else { (one, two) };
            let _both = (one.lock().unwrap(), two.lock().unwrap());
        });
        if shared.0.load(Acquire) == 1 {
            assert_eq!(shared.1.get(), 1);
            assert_ne!(way, Some(Wrong::Assertion));
            if way == Some(Wrong::Leak) {
                std::mem::forget(Arc::clone(&shared));
            }
        }
        drop((shared.2.lock().unwrap(), shared.3.lock().unwrap()));
        while way == Some(Wrong::Livelock) && shared.0.load(Relaxed) != 2 {
            hint::spin_loop();
        }
        handle.join().unwrap();
    })
}

/// Shared without a lock: that is what is looked at.
struct Cell(selvedge::cell::Cell<usize>);

// SAFETY: whether two threads use it at a time is what is looked for.
unsafe impl Sync for Cell {}

impl Cell {
    fn new(value: usize) -> Cell {
        Cell(selvedge::cell::Cell::new(value))
    }

    fn set(&self, value: usize) {
        self.0.set(value);
    }

    fn get(&self) -> usize {
        self.0.get()
    }
}

/// The execution is kept in a file for the next time, but when the model is right, that is what is said.
#[test]
fn a_model_that_was_mended_passes() {
    for way in [Wrong::Race, Wrong::Deadlock, Wrong::Livelock, Wrong::Assertion, Wrong::Leak] {
        let file = std::env::temp_dir().join(format!("selvedge-mended-{way:?}-{}", std::process::id()));
        let mut builder = Builder::new();
        builder.checkpoint_file(file.to_str().unwrap());
        let first = wrong_in_some_way(&builder, Some(way)).failure.expect("it is wrong");
        let again = wrong_in_some_way(&builder, Some(way)).failure.expect("it still is");
        let kind = |failure: &str| failure.split(':').next().unwrap_or_default().to_owned();
        assert_eq!(kind(&first), kind(&again), "{first}\n{again}");
        let mended = wrong_in_some_way(&builder, None);
        assert_eq!(mended.failure, None, "{way:?}");
        assert!(mended.complete > 1, "{way:?}: all is explored");
        let _ = std::fs::remove_file(&file);
    }
}

#[test]
fn target_wrong_in_some_way() {
    let way = match std::env::var("WAY").as_deref() {
        Ok("Race") => Some(Wrong::Race),
        Ok("Deadlock") => Some(Wrong::Deadlock),
        Ok("Livelock") => Some(Wrong::Livelock),
        _ => None,
    };
    println!("failure: {:?}", wrong_in_some_way(&Builder::new(), way).failure);
}

/// An execution that is run again on its own says what it was kept for, and does not say so of a model in which that cannot be seen.
#[test]
fn what_is_run_again_says_what_was_found() {
    for way in [Wrong::Race, Wrong::Deadlock, Wrong::Livelock] {
        let replay = wrong_in_some_way(&Builder::new(), Some(way)).replay.expect("it is wrong");
        // In the other process it is the first model at its place.
        let (model, rest) = replay.split_once(';').expect("there are four parts");
        let replay = format!("{};{rest}", model.split('#').next().unwrap_or_default());
        let run = |way: &str| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["target_wrong_in_some_way", "--exact", "--nocapture"]);
            let output = command.env("SELVEDGE_REPLAY", &replay).env("WAY", way).output().unwrap();
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
        };
        let again = run(&format!("{way:?}"));
        let name = match way {
            Wrong::Race => "data-race: step",
            Wrong::Deadlock => "deadlock: main and thread 1 wait forever",
            _ => "livelock: main spins forever",
        };
        assert!(again.contains(name) && again.contains("which was run again"), "{again}");
        let reads = again.contains("again and again: load, Relaxed, of AtomicUsize");
        assert_eq!(reads, way == Wrong::Livelock, "{again}");
        let mended = run("");
        let open = mended.contains("only an exploration tells") || mended.contains("nothing is wrong with this");
        let none = mended.contains("failure: None") || mended.contains("is not possible");
        assert!(open || none, "{way:?}: {mended}");
    }
}

/// Two threads send, which is found out only when the execution is run again to be shown: threads run in another order then.
#[test]
fn what_is_counted_when_it_is_shown_is_counted_when_it_is_found() {
    let stats = Builder::new().explore(|| {
        let cell = std::sync::Arc::new(Cell::new(0));
        let (sender, receiver) = channel();
        let (other, again) = (sender.clone(), std::sync::Arc::clone(&cell));
        let one = thread::spawn(move || {
            other.send(1).unwrap();
            other.send(1).unwrap();
        });
        let two = thread::spawn(move || {
            again.get();
            sender.send(1).unwrap();
        });
        receiver.recv().unwrap();
        let _ = receiver.try_recv();
        cell.set(1);
        one.join().unwrap();
        two.join().unwrap();
    });
    let failure = stats.failure.expect("it races");
    assert!(failure.starts_with("data-race") && !failure.contains("cannot be shown"), "{failure}");
}

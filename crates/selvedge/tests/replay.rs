//! An execution that fails is run again: this program starts itself with what the message says.

use selvedge::model::{Builder, Stats};
use selvedge::sync::Arc;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{Acquire, Relaxed, Release};
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
fn what_is_no_execution_is_told_and_everything_is_explored() {
    let again = run_again("target_out_of_order", "nonsense");
    assert!(again.contains("is not an execution of a model") && again.matches("seen ").count() > 1, "{again}");
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

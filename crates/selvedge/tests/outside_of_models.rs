//! What is used outside of a model is blamed on who uses it. In a file of its own, since it replaces the hook for panics.

use selvedge::sync::Mutex;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use selvedge::sync::atomic::{AtomicUsize, fence};
use selvedge::{hint, thread};

#[test]
fn operations_outside_of_models_say_so_and_where() {
    type Operation = fn();
    let outside: [(&str, Operation); 10] = [
        ("load", || _ = AtomicUsize::new(0).load(Relaxed)),
        ("exchange", || _ = AtomicUsize::new(0).compare_exchange_weak(0, 1, AcqRel, Acquire)),
        ("lock", || _ = Mutex::new(0).lock().is_ok()),
        ("spawn", || drop(thread::spawn(|| ()))),
        ("choice", || _ = selvedge::nondet_bool()),
        ("park", || thread::park()),
        ("fence", || fence(SeqCst)),
        ("spin_loop", || hint::spin_loop()),
        ("spin_while", || hint::spin_while(|| true)),
        ("yield_now", || thread::yield_now()),
    ];
    static FILE: std::sync::Mutex<String> = std::sync::Mutex::new(String::new());
    // The library has a hook of its own, from the first model on.
    selvedge::model(|| ());
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.payload_as_str().is_some_and(|message| message.contains("inside `selvedge::model` only")) {
            *FILE.lock().unwrap() = info.location().map_or_else(String::new, |at| at.file().to_owned());
        }
        hook(info);
    }));
    for (what, operation) in outside {
        let error = std::panic::catch_unwind(operation).expect_err("there is no model");
        assert!(FILE.lock().unwrap().ends_with("outside_of_models.rs"), "{what}: {}", FILE.lock().unwrap());
        let message = error.downcast_ref::<&str>().copied().unwrap_or_default();
        assert!(message.contains("inside `selvedge::model` only"), "{what}: {message}");
    }
}

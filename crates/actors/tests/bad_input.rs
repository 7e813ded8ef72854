//! Programs that are wrong, or do what they should not.

use selvedge_actors::{Builder, ExitReason, Pid, Stats, check, process, replay};

fn failure(f: impl Fn() + Send + Sync + 'static) -> String {
    Builder::new().explore(f).failure.expect("the program is wrong")
}

#[test]
fn a_message_to_a_process_that_has_ended_is_lost() {
    check(|| {
        let short: Pid<u32> = process::spawn_named("short", || {});
        short.send(1);
        process::monitor(short, |down| down.reason);
        assert!(matches!(process::receive(), ExitReason::Normal | ExitReason::NoProcess));
        assert!(!process::is_alive(short));
        short.send(2);
    });
}

#[test]
fn who_waits_for_what_nobody_sends_is_named() {
    let text = failure(|| {
        let who: Pid<u32> = process::spawn_named("collector", || {
            process::receive_match(|m: &u32| *m > 10);
        });
        who.send(7);
    });
    assert!(text.starts_with("deadlock: collector waits forever"), "{text}");
    assert!(text.contains("waits here for a message of type u32"), "{text}");
    assert!(text.contains("in its mailbox, and not accepted: 7"), "{text}");
    assert!(text.contains("bad_input.rs:"), "{text}");
}

#[test]
fn a_message_of_another_type_is_shown_with_its_type() {
    let text = failure(|| {
        let who: Pid<i64> = process::spawn_named("typed", || {
            process::receive::<u32>();
        });
        who.send(7);
    });
    assert!(text.contains("not accepted: 7 (of type i64)"), "{text}");
}

#[test]
fn a_server_may_wait_forever() {
    let server = |is_server: bool| {
        Builder::new().explore(move || {
            process::spawn_named::<u32>("server", move || {
                if is_server {
                    process::server();
                }
                loop {
                    process::receive::<u32>();
                }
            })
            .send(1);
        })
    };
    let Stats { complete, blocked, failure, .. } = server(true);
    assert_eq!((complete, blocked, failure), (1, 0, None));
    assert!(server(false).failure.is_some_and(|text| text.contains("server waits forever")));
}

#[test]
fn a_loop_of_timeouts_is_bounded_and_the_verdict_says_so() {
    let mut builder = Builder::new();
    builder.max_steps = 200;
    let stats = builder.explore(|| while process::receive_timeout::<u32>().is_none() {});
    assert_eq!(stats.failure, None);
    assert!(stats.not_covered.iter().any(|what| what.contains("executions to 200 steps (main may never end)")));
}

#[test]
fn a_process_that_creates_processes_forever_is_bounded() {
    let stats = Builder::new().explore(|| {
        loop {
            process::spawn::<()>(|| {});
        }
    });
    assert_eq!(stats.failure, None);
    assert!(stats.not_covered.iter().any(|what| what.contains("4096 processes")), "{:?}", stats.not_covered);
}

#[test]
fn a_panic_is_a_failure_even_if_others_hold_a_link() {
    let text = failure(|| {
        process::spawn_link::<()>("broken", || panic!("out of order"));
        process::receive::<()>();
    });
    assert!(text.starts_with("assertion: out of order"), "{text}");
    assert!(text.contains("bad_input.rs:"), "{text}");
}

#[test]
fn a_panic_that_was_declared_ends_the_process_and_those_who_are_linked() {
    let told = || {
        let (_, monitor) = process::spawn_monitor::<(), _>(
            "supervisor",
            || {
                process::spawn_link::<()>("broken", || {
                    process::may_panic();
                    panic!("out of order");
                });
                process::receive::<()>();
            },
            |down| (down.monitor, down.reason),
        );
        let (from, reason) = process::receive::<(process::Monitor, ExitReason)>();
        assert_eq!(from, monitor);
        assert_eq!(reason, ExitReason::Error("panicked: out of order".to_owned()));
    };
    check(told);
}

#[test]
fn a_process_that_is_not_deterministic_is_refused() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let text = failure(|| {
        let me = process::me::<u32>();
        for i in 0..3 {
            process::spawn::<()>(move || me.send(i));
        }
        if RUNS.fetch_add(1, Ordering::Relaxed) > 0 {
            process::nondet(2);
        }
        for _ in 0..3 {
            process::receive::<u32>();
        }
    });
    assert!(text.contains("not deterministic"), "{text}");
}

#[test]
fn operations_outside_a_check_and_in_predicates_are_refused() {
    let outside = std::panic::catch_unwind(|| process::me::<u32>());
    assert!(outside.is_err());
    let inside = std::panic::catch_unwind(|| {
        check(|| {
            let me = process::me::<u32>();
            me.send(1);
            process::receive_match(move |_: &u32| {
                me.send(2);
                true
            });
        });
    });
    assert!(inside.is_err());
}

#[test]
fn a_choice_of_nothing_is_refused() {
    assert!(failure(|| assert_eq!(process::nondet(0), 0)).contains("without alternatives"));
}

#[test]
fn what_processes_own_is_dropped_in_every_execution() {
    use std::sync::atomic::{AtomicI64, Ordering};
    static LIVE: AtomicI64 = AtomicI64::new(0);
    #[derive(Debug)]
    struct Owned;
    impl Owned {
        fn new() -> Owned {
            LIVE.fetch_add(1, Ordering::Relaxed);
            Owned
        }
    }
    impl Drop for Owned {
        fn drop(&mut self) {
            LIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }
    check(|| {
        let server: Pid<u32> = process::spawn_named("server", || {
            process::server();
            let _owned = Owned::new();
            loop {
                process::receive::<u32>();
            }
        });
        for i in 0..4 {
            process::spawn::<()>(move || server.send(i));
        }
    });
    assert_eq!(LIVE.load(Ordering::Relaxed), 0);
}

#[test]
fn schedules_of_other_programs_are_refused() {
    let program = || assert_eq!(process::receive_timeout::<u32>(), None);
    assert!(replay("0 0 0 0", program).is_err());
    assert!(replay("0.7", program).is_err());
    assert!(replay("nonsense", program).is_err());
    assert!(replay("@0.99999999 0", program).is_err());
    assert!(replay("0", program).is_ok());
    assert!(replay("", program).is_ok());
}

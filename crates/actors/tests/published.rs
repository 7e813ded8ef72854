//! Published counts: message-passing rows of "Optimal DPOR with Observers" (Table 2, Sec. 3.2), and counts that follow from
//! the number of ways in which messages can be received.

use selvedge_actors::{Builder, Delivery, Pid, process};

fn count(observers: bool, f: impl Fn() + Send + Sync + 'static) -> u64 {
    let mut builder = Builder::new();
    builder.observers = observers;
    let stats = builder.explore(f);
    assert_eq!(stats.failure, None);
    assert_eq!(stats.blocked, 0);
    assert!(stats.not_covered.is_empty(), "{:?}", stats.not_covered);
    stats.complete
}

fn not_selective(n: u32) {
    let me = process::me::<u32>();
    for i in 0..n {
        process::spawn::<()>(move || me.send(i));
    }
    for _ in 0..n {
        process::receive::<u32>();
    }
}

fn selective(n: u32) {
    let me = process::me::<u32>();
    for i in 0..n {
        process::spawn::<()>(move || me.send(i));
    }
    for i in 0..n {
        process::receive_match(move |m: &u32| *m == i);
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Lock {
    Acquire(Pid<()>),
    Release,
}

fn lock(n: u32) {
    let lock: Pid<Lock> = process::spawn_named("lock", || {
        process::server();
        loop {
            let Lock::Acquire(who) = process::receive_match(|m| matches!(m, Lock::Acquire(_))) else { unreachable!() };
            who.send(());
            process::receive_match(|m: &Lock| *m == Lock::Release);
        }
    });
    for _ in 0..n {
        process::spawn::<()>(move || {
            lock.send(Lock::Acquire(process::me()));
            process::receive::<()>();
            lock.send(Lock::Release);
        });
    }
}

#[test]
fn table_2_not_selective() {
    for observers in [false, true] {
        assert_eq!(count(observers, || not_selective(2)), 2);
        assert_eq!(count(observers, || not_selective(6)), 720);
        assert_eq!(count(observers, || not_selective(7)), 5040);
        assert_eq!(count(observers, || not_selective(8)), 40320);
    }
}

#[test]
fn table_2_selective() {
    for (n, optimal) in [(2, 2), (6, 720), (7, 5040), (8, 40320)] {
        assert_eq!(count(false, move || selective(n)), optimal);
        assert_eq!(count(true, move || selective(n)), 1);
    }
}

#[test]
fn table_2_lock() {
    for (n, optimal, observers) in [(3, 30, 6), (4, 336, 24), (5, 5040, 120), (6, 95040, 720)] {
        assert_eq!(count(false, move || lock(n)), optimal, "lock({n})");
        assert_eq!(count(true, move || lock(n)), observers, "lock({n})");
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Tagged {
    A(char),
    B(char),
}

fn section_3_2() {
    let r: Pid<Tagged> = process::spawn_named("r", || {
        let Tagged::A(x) = process::receive_match(|m| matches!(m, Tagged::A(_))) else { unreachable!() };
        if x == 'p' {
            process::receive_match(|m| matches!(m, Tagged::B(_)));
        }
    });
    process::spawn::<()>(move || {
        r.send(Tagged::B('p'));
        r.send(Tagged::A('p'));
    });
    process::spawn::<()>(move || r.send(Tagged::A('q')));
    process::spawn::<()>(move || r.send(Tagged::B('s')));
}

#[test]
fn section_3_2_has_twelve_orders_and_three_that_differ() {
    assert_eq!(count(false, section_3_2), 12);
    assert_eq!(count(true, section_3_2), 3);
}

fn first_message(n: u32) {
    let me = process::me::<u32>();
    for i in 0..n {
        process::spawn::<()>(move || me.send(i));
    }
    process::receive::<u32>();
}

#[test]
fn of_n_messages_only_the_first_is_received() {
    for (n, factorial) in [(2, 2), (3, 6), (4, 24), (6, 720)] {
        assert_eq!(count(false, move || first_message(n)), factorial);
        assert_eq!(count(true, move || first_message(n)), u64::from(n));
    }
}

fn first_message_or_timeout(n: u32) {
    let me = process::me::<u32>();
    for i in 0..n {
        process::spawn::<()>(move || me.send(i));
    }
    process::receive_timeout::<u32>();
}

#[test]
fn the_first_of_two_messages_or_a_timeout() {
    assert_eq!(count(false, || first_message_or_timeout(2)), 4);
    assert_eq!(count(true, || first_message_or_timeout(2)), 3);
}

#[derive(Clone, Debug)]
enum Commit {
    Prepare(Pid<bool>),
    Decide(bool),
}

/// Two-phase commit with nondeterministic votes: the coordinator collects votes in any order.
fn two_phase_commit(n: u32) {
    let me = process::me::<bool>();
    let participants: Vec<Pid<Commit>> = (0..n)
        .map(|i| {
            process::spawn_named(&format!("participant {i}"), || {
                let Commit::Prepare(coordinator) = process::receive() else { panic!("prepare comes first") };
                let vote = process::nondet_bool();
                coordinator.send(vote);
                let Commit::Decide(commit) = process::receive() else { panic!("the decision comes second") };
                assert!(vote || !commit, "nobody commits against a vote");
            })
        })
        .collect();
    for participant in &participants {
        participant.send(Commit::Prepare(me));
    }
    let mut commit = true;
    for _ in &participants {
        commit &= process::receive::<bool>();
    }
    for participant in &participants {
        participant.send(Commit::Decide(commit));
    }
}

#[test]
fn two_phase_commit_has_2_to_the_n_times_n_factorial_executions() {
    for (n, executions) in [(3, 48), (4, 384), (5, 3840)] {
        assert_eq!(count(true, move || two_phase_commit(n)), executions);
    }
}

/// Every client sends a ping and waits for the pong, twice.
fn ping_pong(clients: u32) {
    let server = process::spawn_named("server", move || {
        for _ in 0..2 * clients {
            process::receive::<Pid<()>>().send(());
        }
    });
    for _ in 0..clients {
        process::spawn::<()>(move || {
            for _ in 0..2 {
                server.send(process::me::<()>());
                process::receive::<()>();
            }
        });
    }
}

#[test]
fn ping_pong_has_all_orders_of_the_rounds() {
    assert_eq!(count(true, || ping_pong(3)), 90);
    assert_eq!(count(true, || ping_pong(4)), 2520);
}

#[test]
fn with_fifo_delivery_other_orders_of_different_senders_are_possible() {
    // a sends to c and then to b; b forwards to c. At once, the message of a is always first.
    let program = || {
        let c = process::me::<u32>();
        let b = process::spawn_named::<u32>("b", move || c.send(process::receive::<u32>()));
        process::spawn_named::<()>("a", move || {
            c.send(1);
            b.send(2);
        });
        let (first, second) = (process::receive::<u32>(), process::receive::<u32>());
        assert_eq!((first, second), (1, 2));
    };
    let mut builder = Builder::new();
    assert_eq!(builder.explore(program).failure, None);
    builder.delivery = Delivery::Fifo;
    let failure = builder.explore(program).failure.expect("the forwarded message can overtake");
    assert!(failure.contains("(2, 1)"), "{failure}");
}

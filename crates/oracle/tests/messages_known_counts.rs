//! The enumerator of processes that pass messages on programs whose classes are known: from "Optimal DPOR with Observers",
//! or counted by hand.

use selvedge_oracle::messages::enumerate::check_linearizations;
use selvedge_oracle::messages::{
    ActorMachine, Delivery, Enumeration, Equivalence, Naive, Program, classes, interleavings,
};

const MOST: u64 = 400_000;

fn program(text: &str) -> Program {
    text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run(text: &str, delivery: Delivery) -> Naive<ActorMachine> {
    Naive::start(ActorMachine::new(program(text)).unwrap(), delivery)
}

/// Plain classes and classes with observers, with both kinds of delivery. Small programs are enumerated in full too.
#[track_caller]
fn count(text: &str, plain: usize, observers: usize) -> Enumeration {
    for delivery in [Delivery::Fifo, Delivery::Instant] {
        let mut run = run(text, delivery);
        let found = classes(&mut run, MOST).unwrap_or_else(|why| panic!("{why:?}\n{text}"));
        assert_eq!((found.plain.len(), found.observers.len()), (plain, observers), "{delivery:?}\n{text}");
        if let Ok(all) = interleavings(&mut run, 3_000) {
            assert_eq!((all.plain.len(), all.observers.len()), (plain, observers), "{delivery:?}, all\n{text}");
            for equivalence in [Equivalence::Plain, Equivalence::Observers] {
                check_linearizations(&mut run, &all, equivalence).unwrap_or_else(|why| panic!("{why}\n{text}"));
            }
        }
        if delivery == Delivery::Instant {
            return found;
        }
    }
    unreachable!("the last one is returned")
}

fn spawns(n: usize, body: &str) -> String {
    format!("  r7 = spawn {body}\n").repeat(n)
}

#[test]
fn section_3_2_has_12_and_3_classes() {
    let text = "
body b0
  r0 = set me
  r1 = spawn b1
  r2 = spawn b2
  r3 = spawn b3
  _ r4 = receive tag 1
  skip 1 if r4 ne r1
  receive tag 2
body b1
  send r0 2 me
  send r0 1 me
body b2
  send r0 1 me
body b3
  send r0 2 me
";
    count(text, 12, 3);
}

#[test]
fn order_behind_the_first_message_is_not_observed() {
    for (n, plain) in [(1, 1), (2, 2), (3, 6)] {
        let text = format!("body b0\n  r0 = set me\n{}  receive any\nbody b1\n  send r0 1 me\n", spawns(n, "b1"));
        count(&text, plain, n);
    }
}

/// Table 1 of the paper, with places of the shared table for variables: who writes last, n; nobody reads, 1.
#[test]
fn table_1_lastwrite() {
    for (n, plain) in [(2, 2), (3, 6)] {
        let joined = "  receive tag 1\n".repeat(n);
        for (reads, observers) in [("  r1 = get c0\n", n), ("", 1)] {
            // All messages are taken, and who sent them is not seen: but their order is.
            let text = format!(
                "body b0\n  r0 = set me\n{}{joined}{reads}body b1\n  put c0 me\n  send r0 1 me\n",
                spawns(n, "b1")
            );
            let orders = plain;
            count(&text, plain * orders, orders * observers);
        }
    }
}

/// Table 1 of the paper: n writers and one reader have n * 2^(n-1) + 1 classes.
#[test]
fn table_1_floating_read() {
    for (n, plain, observers) in [(1, 2, 2), (2, 6, 5), (3, 24, 13), (4, 120, 33)] {
        let text = format!("body b0\n{}  r1 = get c0\nbody b1\n  put c0 me\n", spawns(n, "b1"));
        count(&text, plain, observers);
        let text = format!("body b0\n{}  r1 = scan\nbody b1\n  put c0 me\n", spawns(n, "b1"));
        count(&text, plain, observers);
    }
}

/// An operation that writes several places is ordered with everything, but what it hides nobody sees.
#[test]
fn stores_that_are_hidden_are_not_ordered() {
    let text = |last: &str| {
        format!(
            "body b0\n  r0 = set me\n  r1 = spawn b1\n  put c0 1\n  receive tag 1\n{last}body b1\n  put c0 2\n  send r0 1 0\n"
        )
    };
    count(&text(""), 2, 1);
    count(&text("  fill 0\n  r1 = get c0\n"), 2, 1);
    count(&text("  put c0 0\n  r1 = get c0\n"), 2, 1);
    count(&text("  bump c0\n"), 2, 2);
    count(&text("  r1 = get c0\n"), 2, 2);
    count(&text("  r1 = get c1\n"), 2, 1);
}

#[test]
fn first_message_or_timeout_has_4_and_3_classes() {
    let text = format!("body b0\n  r0 = set me\n{}  receive any | timeout\nbody b1\n  send r0 1 me\n", spawns(2, "b1"));
    count(&text, 4, 3);
}

#[test]
fn table_2_not_selective() {
    for (n, all) in [(1, 1), (2, 2), (3, 6)] {
        let receives = "  receive any\n".repeat(n);
        let text = format!("body b0\n  r0 = set me\n{}{receives}body b1\n  send r0 1 me\n", spawns(n, "b1"));
        count(&text, all, all);
    }
}

#[test]
fn table_2_selective() {
    for (n, all) in [(1, 1), (2, 2), (3, 6)] {
        let spawns: String = (1..=n).map(|k| format!("  r{k} = spawn b1\n")).collect();
        let receives: String = (1..=n).map(|k| format!("  receive tag 1 r{k}\n")).collect();
        let text = format!("body b0\n  r0 = set me\n{spawns}{receives}body b1\n  send r0 1 me\n");
        count(&text, all, 1);
    }
}

fn lock(n: usize) -> String {
    format!(
        "body b0
  r0 = spawn b1
{}body b1 server
  _ r1 = receive tag 1
  send r1 2 0
  receive tag 3
  back 3 max 9
body b2
  send r0 1 me
  receive tag 2
  send r0 3 0
",
        spawns(n, "b2")
    )
}

#[test]
fn table_2_lock() {
    // Table 2 has lock(3); for two workers, the order of the acquires (2) times whether the first release comes before
    // or after the second acquire (2).
    count(&lock(2), 4, 2);
    let found = classes(&mut run(&lock(3), Delivery::Instant), MOST).unwrap();
    assert_eq!((found.plain.len(), found.observers.len()), (30, 6));
}

#[test]
fn two_phase_commit_has_a_class_for_each_vote_and_order() {
    let text = "
body b0
  r0 = set me
  r1 = spawn b1
  r2 = spawn b1
  send r1 1 0
  send r2 1 0
  r3 r4 = receive tag 2 | tag 3
  r5 r4 = receive tag 2 | tag 3
  r6 = set 5
  skip 2 if r3 ne 2
  skip 1 if r5 ne 2
  r6 = set 4
  send r1 6 r6
  send r2 6 r6
body b1
  receive tag 1
  r1 = choose 2
  skip 2 if r1 eq 0
  send r0 2 me
  skip 1
  send r0 3 me
  receive tag 6
";
    count(text, 8, 8);
}

#[test]
fn ping_pong_has_every_order_of_pings() {
    let text = "
body b0
  r0 = set me
  r1 = spawn b1
  r1 = spawn b1
  _ r2 = receive tag 1
  send r2 2 0
  back 2 max 3
body b1
  send r0 1 me
  receive tag 2
  back 2 max 1
";
    count(text, 6, 6);
}

#[test]
fn receives_that_wait_forever_are_a_deadlock_unless_they_serve() {
    let waits = count("body b0\n  receive tag 1\n", 1, 1);
    assert!(waits.plain.values().all(|class| !class.ending.complete() && class.ending.deadlock()));
    let serves = count("body b0 server\n  receive tag 1\n", 1, 1);
    assert!(serves.plain.values().all(|class| class.ending.complete() && !class.ending.deadlock()));
}

#[test]
fn messages_to_who_has_ended_are_lost() {
    let text = "
body b0
  r1 = spawn b1 monitor r2
  receive down r2
  send r1 1 0
  r3 = inspect r1 alive
  check r3 eq -1
body b1
";
    let found = count(text, 1, 1);
    assert!(found.plain.values().all(|class| class.ending.complete() && class.ending.violations.is_empty()));
}

#[test]
fn a_killed_process_stops_anywhere() {
    // Before its send, between send and spawn, between spawn and end, or too late.
    let text = "
body b0
  r0 = spawn b1
  signal r0 kill
body b1
  send me 1 1
  r1 = spawn b2
body b2
";
    let found = count(text, 4, 4);
    let children: std::collections::BTreeSet<usize> =
        found.plain.values().map(|class| class.ending.processes.len()).collect();
    assert_eq!(children, [2, 3].into());
}

#[test]
fn trapping_races_with_the_signal() {
    let text = "
body b0
  r1 = spawn b1 link
  trap on
  r2 r3 = receive exit | timeout
body b1
  exit 3
";
    // Dead before it trapped (before or after the link has told, its end comes at any time), or a message, or a timeout
    // before that.
    let found = classes(&mut run(text, Delivery::Instant), MOST).unwrap();
    let ends: std::collections::BTreeSet<String> =
        found.plain.values().map(|class| format!("{:?}", class.ending.processes.values().next().unwrap())).collect();
    assert_eq!(ends.len(), 3, "{ends:?}");
}

//! What the enumerator of message passing calls equivalent has to be so: on random programs of every profile, every
//! linearization of an execution's happens-before is an execution of the same class (Property 4 of Def. 1 of "Optimal DPOR
//! with Observers"), and all executions of a class show every process the same (which the enumerator asserts).

use selvedge_oracle::messages::Delivery;
use selvedge_oracle::messages::check::{Known, Size};
use selvedge_oracle::messages::generate::{PROFILES, generate_sized};
use std::collections::HashMap;

const DELIVERIES: [Delivery; 2] = [Delivery::Instant, Delivery::Fifo];

#[test]
fn classes_consist_of_linearizations() {
    for profile in PROFILES {
        let mut checked = 0;
        for seed in 0..60 {
            let (program, _) = generate_sized(profile, 5_000_000 + seed, Size::Interleavings(400));
            for delivery in DELIVERIES {
                let known = Known::new(&program, delivery, Size::Interleavings(2_000));
                let Some(mut known) = known else { continue };
                if let Err(why) = known.check_linearizations() {
                    panic!("{}, seed {seed}, {delivery:?}: {why}\n{program}", profile.name);
                }
                checked += 1;
            }
        }
        assert!(checked >= 60, "{}: {checked} programs are few", profile.name);
    }
}

#[test]
fn looking_at_one_execution_of_each_class_finds_all_classes() {
    for profile in PROFILES {
        for seed in 0..25 {
            let (program, all) = generate_sized(profile, 6_000_000 + seed, Size::Interleavings(600));
            for (one, delivery) in all.into_iter().zip(DELIVERIES) {
                let fewer = Known::new(&program, delivery, Size::Prefixes(1_000_000)).expect("that is enough");
                let keys = |classes: &HashMap<_, _>| {
                    let mut keys: Vec<_> = classes.keys().cloned().collect();
                    keys.sort();
                    keys
                };
                assert_eq!(keys(&one.found.plain), keys(&fewer.found.plain), "{delivery:?}\n{program}");
                assert_eq!(keys(&one.found.observers), keys(&fewer.found.observers), "{delivery:?}\n{program}");
            }
        }
    }
}

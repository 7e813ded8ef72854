//! Errors that only weak memory models have: what each model says of the programs in `examples/weak`, how the report
//! shows it, and that it can be run again.

mod common;

use common::{Ended, Place, finish, workspace};
use serde_json::{Value, json};
use std::process::Command;

const MODELS: [&str; 4] = ["sc", "tso", "ra", "rc11"];

/// `selvedge` in the root of the workspace.
fn selvedge(args: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    command.args(args).current_dir(workspace()).env_remove("SELVEDGE_CLANG").env_remove("RUST_BACKTRACE");
    finish(command)
}

/// Checks an example under a model, with a trace and a drawing.
fn check(place: &Place, name: &str, model: &str, more: &[&str]) -> Ended {
    check_with(place, name, "graph", model, more)
}

fn check_with(place: &Place, name: &str, engine: &str, model: &str, more: &[&str]) -> Ended {
    let file = format!("examples/weak/{name}.c");
    let (trace, dot) = (place.path("t.json").display().to_string(), place.path("t.dot").display().to_string());
    let mut args =
        vec!["check", &file, "--engine", engine, "--model", model, "--trace", &trace, "--dot", &dot, "--full"];
    args.extend(more);
    selvedge(&args)
}

/// The lines of the table of steps.
fn table(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.contains(" | ")).collect()
}

/// Runs the trace of a violation again and fails unless the same execution is shown.
#[track_caller]
fn replays(place: &Place, shown: &Ended) {
    let trace = place.path("t.json").display().to_string();
    let again = selvedge(&["replay", &trace, "--full"]);
    again.exits_with(1);
    assert!(again.err.is_empty(), "no warning:\n{again}");
    assert!(table(&shown.out).len() > 5, "there is a table:\n{shown}");
    assert_eq!(table(&shown.out), table(&again.out), "the same execution is shown");
}

/// Fails unless the example has a violation of this kind exactly under these models, and each can be run again.
#[track_caller]
fn violated_under(name: &str, more: &[&str], kind: &str, models: &[&str]) {
    for (engine, model) in MODELS.map(|model| ("graph", model)).into_iter().chain([("trace", "sc")]) {
        let place = Place::new();
        let ended = check_with(&place, name, engine, model, more);
        if models.contains(&model) {
            ended.exits_with(1).says(&[&format!("error[{kind}]")]);
            replays(&place, &ended);
        } else {
            ended.exits_with(0).says(&["verified"]);
        }
    }
}

#[test]
fn store_buffering_breaks_dekkers_algorithm() {
    violated_under("dekker", &[], "assertion", &["tso", "ra", "rc11"]);
    // Release/acquire knows no sequentially consistent accesses.
    violated_under("dekker", &["-D", "ORDER=memory_order_seq_cst"], "assertion", &["ra"]);
}

#[test]
fn a_relaxed_flag_does_not_publish_data() {
    violated_under("publish", &[], "assertion", &["rc11"]);
    violated_under("publish", &["-D", "PUBLISH=memory_order_release"], "assertion", &[]);
}

#[test]
fn a_relaxed_flag_makes_plain_data_race() {
    for name in ["publish_plain", "publish_node"] {
        violated_under(name, &[], "data-race", &MODELS);
        violated_under(name, &["-D", "PUBLISH=memory_order_release"], "data-race", &[]);
    }
}

#[test]
fn readers_may_see_independent_writes_in_opposite_order() {
    violated_under("iriw", &[], "assertion", &["ra", "rc11"]);
    let seq_cst = ["-D", "STORE=memory_order_seq_cst", "-D", "LOAD=memory_order_seq_cst"];
    violated_under("iriw", &seq_cst, "assertion", &["ra"]);
}

#[test]
fn a_relaxed_decrement_does_not_let_the_last_one_free() {
    violated_under("refcount", &[], "use-after-free", &MODELS);
    violated_under("refcount", &["-D", "RELEASE=memory_order_acq_rel"], "use-after-free", &[]);
    for (release, exit) in [("relaxed", 1), ("acq_rel", 0)] {
        let release = format!("RELEASE=memory_order_{release}");
        selvedge(&["check", "examples/weak/refcount.c", "--model", "sc", "-D", &release]).exits_with(exit);
    }
}

#[test]
fn the_report_says_what_was_read_what_was_missed_and_why_no_interleaving_explains_it() {
    let place = Place::new();
    let ended = check(&place, "dekker", "rc11", &[]);
    ended.exits_with(1).says(&[
        "RC11 allows this, but no interleaving explains it",
        "1 read that misses a newer write",
        "left_wants = 1 [relaxed]",
        "read right_wants (0) [relaxed] <- initial",
        "! misses step 3: left_wants = 1 [relaxed] by",
        "each of these steps would have to come before the next",
        "step 3 again, which overwrites what that one read",
    ]);
    assert!(!ended.out.contains("Interleaving:"), "{ended}");
    let ended = check(&place, "publish", "rc11", &[]);
    ended.exits_with(1).says(&["read ready (1) [acquire] <- step 4", "read data (0) [relaxed] <- initial"]);
}

#[test]
fn a_thread_that_waits_forever_because_of_what_it_missed() {
    let program = r#"#include <pthread.h>
        #include <stdatomic.h>
        #define GET(v) atomic_load_explicit(&v, memory_order_relaxed)
        #define SET(v) atomic_store_explicit(&v, 1, memory_order_relaxed)
        atomic_int sleeps, work, wake;
        void *sleeper(void *arg) { SET(sleeps); if (!GET(work)) while (!GET(wake)) { } return arg; }
        void *worker(void *arg) { SET(work); if (GET(sleeps)) SET(wake); return arg; }
        int main(void) {
            pthread_t a, b;
            pthread_create(&a, 0, sleeper, 0);
            pthread_create(&b, 0, worker, 0);
            pthread_join(a, 0);
            pthread_join(b, 0);
            return 0;
        }"#;
    let place = Place::with("a.c", program);
    place.run(&["check", "a.c", "--model", "sc"]).exits_with(0).says(&["verified"]);
    let ended = place.run(&["check", "a.c", "--model", "rc11"]);
    let words = ["error[livelock]", "no interleaving explains it", "! misses", "waits until wake != 0"];
    ended.exits_with(1).says(&words);
    place.run(&["replay", "selvedge-trace.json"]).exits_with(1).says(&words);
}

#[test]
fn a_race_that_no_interleaving_has() {
    let program = r#"#include <pthread.h>
        #include <stdatomic.h>
        #define GET(v) atomic_load_explicit(&v, memory_order_relaxed)
        #define SET(v) atomic_store_explicit(&v, 1, memory_order_relaxed)
        atomic_int x, y;
        int d;
        void *one(void *arg) { SET(x); if (!GET(y)) d = 1; return arg; }
        void *two(void *arg) { SET(y); if (!GET(x)) __atomic_fetch_add(&d, 1, __ATOMIC_RELAXED); return arg; }
        int main(void) {
            pthread_t a, b;
            pthread_create(&a, 0, one, 0);
            pthread_create(&b, 0, two, 0);
            pthread_join(a, 0);
            pthread_join(b, 0);
            return 0;
        }"#;
    let place = Place::with("a.c", program);
    place.run(&["check", "a.c", "--model", "sc"]).exits_with(0).says(&["verified"]);
    let ended = place.run(&["check", "a.c", "--model", "rc11"]);
    // Both accesses are there, the second one as a whole although the race is with its read.
    let words = ["error[data-race]", "no interleaving explains it", "*d = 1", "*d += 1 (1 -> 2) [relaxed] <- step 5"];
    ended.exits_with(1).says(&words);
    place.run(&["replay", "selvedge-trace.json"]).exits_with(1).says(&words);
}

#[test]
fn the_report_in_the_guide_is_a_real_one() {
    let guide = include_str!("../../../docs/guide/weak-memory.md");
    let place = Place::new();
    let trace = place.path("t.json").display().to_string();
    let ended = selvedge(&["check", "examples/weak/dekker.c", "--trace", &trace]);
    let report = ended.exits_with(1).out.split("Replay:").next().unwrap_or_default();
    let is_missing = |line: &&str| !line.is_empty() && !guide.contains(&format!("    {line}\n"));
    let missing: Vec<&str> = report.lines().filter(is_missing).collect();
    assert!(missing.is_empty(), "the guide lacks {missing:#?}");
}

#[test]
fn a_race_shows_the_orders_that_do_not_order_and_nobody_who_waits() {
    let place = Place::new();
    let ended = check(&place, "publish_plain", "rc11", &[]);
    ended.exits_with(1).says(&["Interleaving:", "*data = 42", "ready = 1 [relaxed]", "*read data (42)"]);
    assert!(!ended.out.contains("Blocked") && !ended.out.contains("waits to join"), "{ended}");
}

#[test]
fn json_and_dot_carry_the_graph() {
    let place = Place::new();
    check(&place, "dekker", "rc11", &[]).exits_with(1);
    let report: Value = serde_json::from_str(&place.read("t.json")).expect("the trace is JSON");
    let violation = &report["violations"][0];
    let events = violation["events"].as_array().expect("a list");
    let blind: Vec<&Value> = events.iter().filter(|event| !event["misses"].is_null()).collect();
    let [blind] = blind.as_slice() else { panic!("one read misses a write: {events:#?}") };
    assert_eq!(blind["read"], 0);
    assert_eq!(blind["reads_from"], json!([0]));
    let missed = blind["misses"].as_u64().expect("a number");
    let missed = &events[missed as usize - 1];
    assert_eq!((&missed["object"], &missed["written"]), (&blind["object"], &json!(1)));
    assert!(violation["schedule"]["reads_from"].as_array().is_some_and(|list| list.len() == events.len()));
    assert!(violation["schedule"]["coherence"].as_array().is_some_and(|list| list.len() == events.len()));
    let edge = json!([blind["step"], missed["step"], "fr"]);
    assert!(violation["edges"].as_array().is_some_and(|edges| edges.contains(&edge)), "{edge}");

    let dot = place.read("t.dot");
    for text in ["label=fr", "label=rf", "[relaxed]", "(initial value)", "dekker.c:", "fillcolor", "cluster_t2"] {
        assert!(dot.contains(text), "`{text}` is not in the drawing:\n{dot}");
    }
}

#[test]
fn a_trace_that_does_not_fit_is_refused_in_words() {
    let place = Place::new();
    check(&place, "dekker", "rc11", &[]).exits_with(1);
    let trace: Value = serde_json::from_str(&place.read("t.json")).expect("the trace is JSON");
    let refused = |field: &str, at: usize, value: Value, words: &[&str]| {
        let mut broken = trace.clone();
        broken["violations"][0]["schedule"][field][at] = value;
        place.write("broken.json", broken.to_string());
        selvedge(&["replay", &place.path("broken.json").display().to_string()]).fails_with(3, words);
    };
    // Steps: two creations, a store, a load, the critical section; then those of the other thread.
    refused("reads_from", 3, Value::Null, &["step 4", "does not say from where"]);
    refused("reads_from", 3, json!(3), &["step 4", "not an earlier write to the same memory"]);
    refused("reads_from", 3, json!(9), &["step 4", "not an earlier write to the same memory"]);
    refused("reads_from", 2, json!(0), &["step 3", "reads nothing"]);
    refused("reads_from", 0, json!(0), &["step 1", "no access"]);
    refused("coherence", 2, json!(0), &["step 3", "no place in coherence order"]);
    refused("coherence", 2, json!(2), &["step 3", "has no coherence order"]);
    refused("coherence", 3, json!(1), &["step 4", "writes nothing"]);
}

/// Two threads write a variable that holds the only pointer to an object; main frees it or not by what is left there.
fn keeps(frees: &str, first: &str, second: &str) -> String {
    format!(
        r#"#include <pthread.h>
        #include <stdatomic.h>
        #include <stdlib.h>
        _Atomic(int *) keep;
        int *made;
        void *set(void *arg) {{ atomic_store(&keep, made); return arg; }}
        void *clear(void *arg) {{ atomic_store(&keep, 0); return arg; }}
        int main(void) {{
            made = malloc(4);
            pthread_t a, b;
            pthread_create(&a, 0, {first}, 0);
            pthread_create(&b, 0, {second}, 0);
            pthread_join(a, 0);
            pthread_join(b, 0);
            int *m = made;
            made = 0;
            if ({frees}) free(m);
            return 0;
        }}"#
    )
}

#[test]
fn what_leaks_depends_on_the_coherence_last_write() {
    for (first, second) in [("set", "clear"), ("clear", "set")] {
        for (engine, model) in [("trace", "sc"), ("graph", "sc"), ("graph", "tso"), ("graph", "rc11")] {
            let check = |frees: &str| {
                let place = Place::with("a.c", &keeps(frees, first, second));
                place.run(&["check", "a.c", "--leaks", "--engine", engine, "--model", model])
            };
            check("atomic_load(&keep) == 0").exits_with(0);
            check("atomic_load(&keep) != 0").exits_with(1).says(&["error[leak]"]);
        }
    }
}

#[test]
fn an_interleaving_is_shown_as_one_under_every_model() {
    let place = Place::with("a.c", common::LOST_UPDATE);
    for model in MODELS {
        let ended = place.run(&["check", "a.c", "--engine", "graph", "--model", model]);
        ended.exits_with(1).says(&["Interleaving:", "error[assertion]"]);
        place.run(&["replay", "selvedge-trace.json"]).exits_with(1).says(&["Interleaving:", "!! assertion"]);
        assert!(!place.read("selvedge-trace.json").contains("\"coherence\": ["), "the short form is enough");
    }
}
